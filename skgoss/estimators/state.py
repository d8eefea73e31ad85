"""Estimators that are kept: plain states in files, checked when they are loaded."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skgoss import parameters
from skgoss.booster.booster import Booster
from skgoss.data.state import are_numbers, check_scores, entries
from skgoss.model import estimator_record
from skgoss.training.objectives import OBJECTIVES
from skgoss.utils.messages import type_name

if TYPE_CHECKING:
    from skgoss.estimators.base import LGBMModel

    Model = TypeVar("Model", bound=LGBMModel)

_LEARNED = {"_booster": dict, "n_features_in_": Integral, "_history": dict}


def plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an estimator, without objects of skgoss."""
    if "_booster" not in state:
        return dict(state)
    check_unchanged(state)
    # The estimator itself has what the model remembers of it.
    booster = state["_booster"].__getstate__() | {"origin": None}
    plain = {**state, "_booster": booster}
    # The model has the same categories.
    del plain["_categories"]
    return plain


def check_unchanged(state: Mapping[str, Any]) -> None:
    """Check that the Booster of a fitted estimator still is the model of the fit.

    Raises
    ------
    ValueError
        If it has become the model of another text.
    """
    if state["_booster"]._categories is not state["_categories"]:
        raise ValueError(
            "booster_ was replaced by another model. Create an estimator from it with"
            " from_booster."
        )


def restored(state: Any, owner: str, task: str) -> dict[str, Any]:
    """The attributes of an estimator, from its plain state.

    Parameters
    ----------
    state : dict
        A state as returned by `plain`; it may have been changed since.
    owner : str
        The name of the estimator's class, for messages.
    task : str
        The first task of the class: see `Origin`.

    Raises
    ------
    ValueError
        If an attribute that fit sets is missing, has another type, or contradicts the
        others.
    """
    entries(state, {}, f"the state of {owner}")
    if "_booster" not in state:
        return state
    classifies = task == "classification"
    entries(
        state,
        _LEARNED | ({"_classes": np.ndarray} if classifies else {}),
        f"the state of {owner}",
    )
    check_scores(state["_history"], "_history", are_numbers)
    booster = Booster.__new__(Booster)
    booster.__setstate__(state["_booster"])
    _check_columns(state, booster.num_feature())
    estimator_record.check_classes(
        state["_classes"] if classifies else None,
        booster.num_model_per_iteration(),
        task,
    )
    return {**state, "_booster": booster, "_categories": booster._categories}


def _check_columns(state: dict[str, Any], n_features: int) -> None:
    if state["n_features_in_"] != n_features:
        raise ValueError(
            f"n_features_in_ is {state['n_features_in_']}, but the trees were fitted on"
            f" {n_features} features"
        )
    if "feature_names_in_" in state:
        estimator_record.check_names(state["feature_names_in_"], n_features)


# --- Estimators of models -------------------------------------------------------------

# The tasks of the objectives of other libraries' files; the rest are for regression.
_TASKS = {
    "binary": ("classification",),
    "multiclass": ("classification",),
    "multiclassova": ("classification",),
    "cross_entropy": ("classification", "regression"),
    "lambdarank": ("ranking",),
    "rank_xendcg": ("ranking",),
}
_ALL_TASKS = ("classification", "regression", "ranking", "any")


def estimator(
    estimator_class: type[Model], booster: Booster, classes: ArrayLike | None
) -> Model:
    """Make a fitted estimator of a model.

    Parameters
    ----------
    estimator_class : type
    booster : Booster
    classes : array-like of shape (n_classes,), or None
        The labels, for a model that does not know them.

    Raises
    ------
    TypeError
        If ``booster`` is not a Booster of skgoss.
    ValueError
        If the model is for another task, or has other parameters, or if ``classes`` do
        not fit.
    """
    if not isinstance(booster, Booster):
        raise TypeError(
            f"booster must be a Booster of skgoss, got {type_name(booster)}. For a"
            " Booster of LightGBM, pass Booster(model_str=model.model_to_string())."
        )
    booster = copy.copy(booster)
    _check_task(estimator_class, booster)
    make = _of_foreign if booster._origin is None else _of_origin
    model = make(estimator_class, booster, classes)
    model._booster = booster._with_origin(
        estimator_record.Origin.of(model, model._history)
    )
    return model


def inherit(model: LGBMModel, booster: Booster) -> None:
    """Give an estimator the columns, their names and categories, and the classes."""
    known = booster._origin
    learned = {
        "n_features_in_": booster.num_feature(),
        "_categories": booster._categories,
        "feature_names_in_": known and known.feature_names,
    }
    if "classification" in model._tasks:
        learned["_classes"] = known and known.classes
    for name, value in learned.items():
        vars(model).pop(name, None)
        if value is not None:
            setattr(model, name, value)


def _check_task(estimator_class: type[LGBMModel], booster: Booster) -> None:
    tasks, source = tasks_of(booster)
    if not set(tasks) & set(estimator_class._tasks):
        words = " or ".join(task for task in tasks if task != "any")
        raise ValueError(
            f"{estimator_class.__name__} cannot be created from {source}. Use the class"
            f" for {words}."
        )


def tasks_of(booster: Booster) -> tuple[tuple[str, ...], str]:
    """The tasks that a model serves, and what it is, for messages.

    A model of another library whose objective is unknown may serve any task.
    """
    known, name = booster._origin, booster._objective
    if known is not None and known.task != "any":
        return (known.task,), f"an {known.estimator}"
    if isinstance(name, str):
        tasks = _TASKS.get(name, ("regression",))
        if known is not None:
            tasks = (*tasks, "any")
        return tasks, f"a model with objective={name!r}"
    return _ALL_TASKS, "a model without a known objective"


def _of_origin(
    estimator_class: type[Model], booster: Booster, classes: ArrayLike | None
) -> Model:
    known, defaults = booster._origin, estimator_record.defaults(estimator_class)
    given = parameters.canonical(known.parameters, known.estimator, defaults)
    strange = given.keys() - defaults.keys()
    if strange:
        raise ValueError(
            f"{estimator_class.__name__} has no parameter {min(strange)!r}. The model"
            f" was saved by {known.estimator}: use this class."
        )
    model = estimator_class(**copy.deepcopy(given))
    if known.unused:
        model._unused_params = copy.deepcopy(known.unused)
    inherit(model, booster)
    _set_classes(model, classes, booster.num_model_per_iteration())
    model._history = copy.deepcopy(known.history)
    if known.is_foreign:
        model._is_foreign = True
    return model


def _of_foreign(
    estimator_class: type[Model], booster: Booster, classes: ArrayLike | None
) -> Model:
    model = estimator_class()
    inherit(model, booster)
    _set_classes(model, classes, booster.num_model_per_iteration())
    name, link = booster._objective, booster._link
    if isinstance(name, str) and name != model._default_objective():
        model.objective = name
    if name is not None and OBJECTIVES[name].has_slope:
        model.sigmoid = link.slope
    model.reg_sqrt = link.kind == "signed_square"
    model._history, model._is_foreign = {}, True
    return model


def _set_classes(model: LGBMModel, classes: ArrayLike | None, n_scores: int) -> None:
    """Give a classifier its labels, if the model does not know them."""
    owner, known = type(model).__name__, vars(model).get("_classes")
    if "classification" in model._tasks and known is None:
        known = model._classes = _labels(classes, max(n_scores, 2))
    elif classes is not None:
        reason = f"{owner} has no classes" if known is None else "the model has them"
        raise ValueError(f"classes must be None: {reason}.")
    estimator_record.check_classes(known, n_scores, model._tasks[0])


def _labels(classes: ArrayLike | None, n_classes: int) -> np.ndarray:
    labels = np.arange(n_classes) if classes is None else np.asarray(classes)
    if labels.shape != (n_classes,):
        raise ValueError(
            f"classes must be {n_classes} labels, got an array of shape {labels.shape}."
        )
    if len(set(labels.tolist())) < n_classes:
        raise ValueError(f"classes must differ, got {labels.tolist()}.")
    return labels
