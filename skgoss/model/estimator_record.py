"""The attributes of a fitted estimator that its model keeps."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import NoneType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from skgoss.data.state import are_numbers, check_scores, entries

if TYPE_CHECKING:
    from skgoss.estimators.base import LGBMModel

# The defaults of constructors, by class.
_DEFAULTS: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Origin:
    """The attributes of a fitted estimator that its model keeps.

    Attributes
    ----------
    estimator : str
        The name of its class.
    task : str
        'classification', 'regression', 'ranking', or 'any' for a `LGBMModel`.
    parameters : dict
        The parameters that differ from the defaults of the class.
    unused : dict
        Unknown names that the constructor was given, with their values.
    classes : ndarray of shape (n_classes,), or None
        The labels; None without classes.
    feature_names : ndarray of shape (n_features,) of str objects, or None
        The names of the columns in ``X``, if it had names.
    history : dict
        Metrics of all rounds by evaluation set and name.
    is_foreign : bool
        Whether the trees are of another library: the names of its columns may not be
        those in ``X``, and its categories have other numbers than in training.
    """

    estimator: str
    task: str
    parameters: dict[str, Any]
    unused: dict[str, Any]
    classes: NDArray[Any] | None
    feature_names: NDArray[Any] | None
    history: dict[str, dict[str, list[float]]]
    is_foreign: bool = False

    @classmethod
    def of(cls, estimator: LGBMModel, history: dict[str, Any]) -> Origin:
        """Take what is to be remembered from an estimator, and the history."""
        estimator = estimator._as_remembered()
        known = vars(estimator)
        return cls(
            type(estimator).__name__,
            estimator._tasks[0],
            changed(estimator),
            dict(estimator._unused_params),
            known.get("_classes"),
            known.get("feature_names_in_"),
            history,
            estimator._is_foreign,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        types = {
            "estimator": str,
            "task": str,
            "parameters": dict,
            "unused": dict,
            "classes": (np.ndarray, NoneType),
            "feature_names": (np.ndarray, NoneType),
            "history": dict,
            "is_foreign": bool,
        }
        self.__init__(*entries(state, types, "the state of the estimator"))
        for name in ("parameters", "unused"):
            if not all(isinstance(word, str) for word in getattr(self, name)):
                raise ValueError(f"the names of {name} must be strings")

    def check(self, n_features: int, n_scores: int) -> None:
        """Check what is remembered against the trees.

        Raises
        ------
        ValueError
            If it contradicts them.
        """
        if self.feature_names is not None:
            check_names(self.feature_names, n_features)
        check_classes(self.classes, n_scores, self.task)
        check_scores(self.history, "the history", are_numbers)
        if (self.classes is None) == (self.task == "classification"):
            raise ValueError("models for classification must have classes, others none")


def defaults(estimator_class: type) -> Mapping[str, Any]:
    """The parameters of an estimator's constructor, with their defaults."""
    known = _DEFAULTS.get(estimator_class)
    if known is None:
        parameters = list(inspect.signature(estimator_class).parameters.values())
        known = _DEFAULTS[estimator_class] = {
            parameter.name: parameter.default
            for parameter in parameters
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        }
    return known


def changed(estimator: LGBMModel) -> dict[str, Any]:
    """The parameters of an estimator that differ from the defaults of its class."""
    known = vars(estimator)
    return {
        name: known[name]
        for name, default in defaults(type(estimator)).items()
        if name in known
        and known[name] is not default
        and not _equal(known[name], default)
        and not (estimator._functions_take_dataset and _holds_function(known[name]))
    }


def _holds_function(value: Any) -> bool:
    values = value if isinstance(value, list | tuple | set) else [value]
    return any(map(callable, values))


def _equal(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(np.array_equal(value, default))


def check_names(names: Any, n_features: int) -> None:
    """Check ``feature_names_in_``; ValueError if they are not one for each column."""
    is_array = isinstance(names, np.ndarray) and names.shape == (n_features,)
    if not is_array or not all(isinstance(name, str) for name in names.tolist()):
        raise ValueError(f"feature_names_in_ must be an array of {n_features} names")


def check_classes(classes: NDArray[Any] | None, n_scores: int, task: str) -> None:
    """Check labels; ValueError if they do not fit the number of trees a round."""
    if classes is None:
        possible = {n_scores if task == "any" else 1}
    else:
        _check_labels(classes)
        n_classes = len(classes)
        # Models of `train` may have a tree for each of two classes.
        possible = {n_classes, 1} if n_classes <= 2 else {n_classes}
    if n_scores not in possible:
        words = " or ".join(map(str, sorted(possible)))
        raise ValueError(f"n_scores must be {words}, got {n_scores}")


def _check_labels(classes: NDArray[Any]) -> None:
    if classes.ndim != 1 or len(classes) == 0:
        raise ValueError("the classes must be a one-dimensional array of labels")
    try:
        distinct = set(classes.tolist())
    except TypeError as error:
        raise ValueError(f"the classes must be hashable: {error}") from error
    if len(distinct) < len(classes):
        raise ValueError("the classes must differ")
