"""The estimator behind `train` and `cv`, and the arguments that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss import parameters
from skgoss.data import queries
from skgoss.data.row_partition import Parts
from skgoss.dataset.dataset import Dataset
from skgoss.estimators.base import MANY_CLASSES, LGBMModel
from skgoss.fit import callbacks
from skgoss.fit.arguments import GivenSet
from skgoss.parameters.domains import integer
from skgoss.training.objectives import OBJECTIVES, canonical_name
from skgoss.utils.messages import UnusedParameterWarning, type_name, warn

# Names of the number of classes, LightGBM's main name first.
_NUM_CLASS = ("num_class", "num_classes")


class Training(LGBMModel):
    """The estimator of `train`, whose targets are numbers, including class numbers.

    Parameters
    ----------
    num_class : int, default=1
        The number of classes, for objectives of more than two classes and functions.
    **kwargs : dict
        The parameters of `LGBMModel`.
    """

    _owner = "train"
    _functions_take_dataset = True

    # The names of the options that the user has given, if it was made by `of`.
    _given: frozenset[str] | None = None
    # The options of data files that the user has given.
    _of_files: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, *, num_class: int = 1, **kwargs: Any) -> None:
        self.num_class = num_class
        super().__init__(**kwargs)

    @classmethod
    def of(
        cls,
        params: Mapping[str, Any] | None,
        *,
        owner: str = "train",
        fobj: Callable[..., Any] | None = None,
        **defaults: Any,
    ) -> Training:
        """Make an estimator of the parameters that a user gives `train`.

        Parameters
        ----------
        params : dict or None
            Options by any of their names.
        owner : str, default='train'
            The name of the function, for messages.
        fobj : callable, default=None
            The objective, instead of that in ``params``.
        **defaults : dict
            Options by their own names, for those that are not in ``params``.

        Raises
        ------
        TypeError
            If ``params`` is not a dict, or ``fobj`` not callable.
        ValueError
            If the number of classes is not an int above 0. `fitting.settings` checks
            the options.

        Warns
        -----
        UnusedParameterWarning
            For unknown names, and for several names of one option with different
            values.
        """
        if params is not None and not isinstance(params, Mapping):
            raise TypeError(f"params must be a dict, got {type_name(params)}.")
        given = dict(params or {})
        n_classes = _n_classes(
            [given.pop(word) for word in _NUM_CLASS if word in given], owner
        )
        of_files, given = parameters.file_options(given, owner)
        options, others = parameters.resolve(given, owner)
        if options.pop("class_weight", None) is not None:
            warn(
                f"{owner} has no parameter 'class_weight': it has no effect. Pass"
                " the weights of the rows to the Dataset.",
                UnusedParameterWarning,
            )
        if fobj is not None:
            options["objective"] = _function(fobj)
        # Warnings of the constructor name the owner.
        estimator = cls.__new__(cls)
        estimator._owner = owner
        estimator._given = frozenset(options)
        estimator._of_files = of_files
        estimator.__init__(num_class=n_classes, **others, **(defaults | options))
        return estimator

    def _given_parameters(self) -> dict[str, Any]:
        if self._given is None:
            return super()._given_parameters()
        return {name: getattr(self, name) for name in self._given}

    @property
    def _n_classes(self) -> int | None:
        return self.num_class if self.num_class > 1 else None

    @property
    def _n_scores(self) -> int:
        return self.num_class

    def _encoded(self, y: NDArray[Any], given: GivenSet) -> NDArray[np.float64]:
        target = super()._encoded(y, given)
        name = self._objective_name
        if name is not None:
            self._check_objective(name)
        if name in MANY_CLASSES:
            _check_codes(target, range(self.num_class), f"num_class={self.num_class}")
        elif name == "binary":
            other = -1 if (target < 0).any() else 0
            _check_codes(target, (other, 1), "objective='binary'")
        return target

    def _queries(
        self, n_rows: int, group: Any, qid: Any, prefix: str, parts: Parts | None = None
    ) -> queries.Queries | None:
        name = self._objective_name
        if group is None and name is not None and OBJECTIVES[name].ranks is not None:
            raise ValueError(
                f"objective={name!r} is for ranking and needs queries: pass their sizes"
                " to the Dataset, Dataset(X, label=y, group=sizes)."
            )
        return super()._queries(n_rows, group, qid, prefix, parts)

    @property
    def _objective_name(self) -> str | None:
        """The canonical name of the objective; None for a function."""
        objective = self.objective or self._default_objective()
        return None if callable(objective) else canonical_name(objective)

    def _default_objective(self) -> str | None:
        return None if callable(self.objective) else "regression"

    def _check_objective(self, name: str) -> None:
        is_many = name in MANY_CLASSES
        if is_many and self.num_class == 1:
            raise ValueError(
                f"objective={name!r} needs num_class, the number of classes."
            )
        if self.num_class > 1 and not is_many:
            raise ValueError(f"objective={name!r} needs num_class=1.")


def _check_codes(
    target: NDArray[np.float64], codes: Sequence[int], needed_by: str
) -> None:
    """Check that the numbers of a target are codes of classes."""
    known = np.isin(target, codes)
    if not known.all():
        to = "and" if len(codes) == 2 else "to"
        raise ValueError(
            f"The label must hold the numbers {codes[0]} {to} {codes[-1]} for"
            f" {needed_by}, got {target[~known][0]:g}. For codes of other labels, use"
            " numpy.unique(y, return_inverse=True)[1]."
        )


def _n_classes(given: Sequence[Any], owner: str) -> int:
    """The number of classes, by the first of its names; 1 if none is given."""
    if not given:
        return 1
    domain = integer(1)
    value = domain.convert(domain.parse(given[0]))
    if value is NotImplemented:
        raise ValueError(
            f"The 'num_class' parameter of {owner} must be an int >= 1. Got"
            f" {given[0]!r} instead."
        )
    return value


def _function(fobj: Any) -> Callable[..., Any]:
    if not callable(fobj):
        raise TypeError(f"fobj must be a function, got {fobj!r}.")
    return fobj


# --- Arguments that `train` and `cv` share --------------------------------------------


def check_training_set(train_set: Any, owner: str) -> None:
    """Check that there is a `Dataset`; else TypeError."""
    if not isinstance(train_set, Dataset):
        raise TypeError(
            f"train_set of {owner} must be a Dataset, got {type_name(train_set)}:"
            " pass Dataset(X, label=y)."
        )


def check_label(rows: Dataset, learner: Training, name: str) -> None:
    """Check that a `Dataset` has a label; else ValueError.

    A file that has not been read yet is read by the learner's options of files.
    """
    rows._read_by(learner._of_files)
    if rows.get_label() is None:
        raise ValueError(
            f"The label of {name} is None: pass Dataset(X, label=y), or call"
            " set_label(y)."
        )


def check_rounds(num_boost_round: Any) -> None:
    """Check ``num_boost_round``; ValueError unless it is an int above 0."""
    if integer(1).convert(num_boost_round) is NotImplemented:
        raise ValueError(
            f"num_boost_round must be an int >= 1, got {num_boost_round!r}."
        )


def functions_of(feval: Any) -> list[Callable[..., Any]]:
    """The user's metrics; TypeError if one of them is not callable."""
    if feval is None:
        return []
    functions = list(feval) if isinstance(feval, list | tuple) else [feval]
    if not all(map(callable, functions)):
        raise TypeError(
            f"feval must be a function or a list of functions, got {feval!r}."
        )
    return functions


def describe_columns(
    train_set: Dataset,
    learner: Training,
    feature_name: str | Sequence[str] = "auto",
    categorical_feature: str | Iterable[str | int] | None = "auto",
) -> None:
    """Give the training set the names and categorical columns that are passed."""
    if not _is_auto(feature_name):
        train_set.set_feature_name(feature_name)
    if _is_auto(categorical_feature):
        categorical_feature = learner.categorical_feature
    if not _is_auto(categorical_feature):
        train_set.set_categorical_feature(categorical_feature)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def callbacks_of(
    given: Iterable[Callable[..., Any]] | None,
    *,
    evals_result: dict[str, Any] | None = None,
    learning_rates: Sequence[float] | Callable[[int], float] | None = None,
) -> list[Callable[..., Any]]:
    """The user's callbacks, and those that older arguments stand for."""
    calls = [] if given is None else callbacks.checked(given)
    if evals_result is not None:
        calls.append(callbacks.record_evaluation(evals_result))
    if learning_rates is not None:
        calls.append(callbacks.reset_parameter(learning_rate=learning_rates))
    return calls


def period_of(verbose_eval: Any) -> int:
    """After how many rounds metrics are printed, again and again; 0: never."""
    if not isinstance(verbose_eval, int | np.bool_ | np.integer | None):
        raise TypeError(
            f"verbose_eval must be a bool or an int, got {type_name(verbose_eval)}."
        )
    return int(verbose_eval or 0)
