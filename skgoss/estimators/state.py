"""States of estimators in files, and estimators of models."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss import parameters
from skgoss.booster.booster import Booster
from skgoss.data.values import entries
from skgoss.fit.task import Classification, tasks_of
from skgoss.model.estimator_record import EstimatorRecord, defaults
from skgoss.model.fitted import FittedModel, check_classes
from skgoss.model.objective_names import OBJECTIVES
from skgoss.utils.messages import type_name

if TYPE_CHECKING:
    from skgoss.estimators.base import LGBMModel

    Model = TypeVar("Model", bound=LGBMModel)

# The attributes that fit sets.
_LEARNED = ("_booster", "n_features_in_", "feature_names_in_")


def learned(model: FittedModel) -> dict[str, Any]:
    """The attributes of an estimator that has fitted a model."""
    attributes = {
        "_booster": Booster._of(model),
        "n_features_in_": model.schema.n_features,
    }
    if model.schema.feature_names is not None:
        attributes["feature_names_in_"] = model.schema.feature_names
    return attributes


def without_learned(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an estimator without those that fit sets."""
    return {k: value for k, value in attributes.items() if k not in _LEARNED}


def plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an estimator, without objects of skgoss."""
    if "_booster" not in state:
        return dict(state)
    booster = state["_booster"]
    check_unchanged(booster)
    # The estimator itself has the parameters.
    record = replace(booster._model.record, parameters={}, unused={})
    model = booster._model.with_record(record)
    return without_learned(state) | {"_booster": model.state()}


def check_unchanged(booster: Booster) -> None:
    """Check that the Booster of a fitted estimator still is the model of the fit.

    Raises
    ------
    ValueError
        If it has become the model of another text.
    """
    if booster._is_replaced:
        raise ValueError(
            "booster_ was replaced by another model. Create an estimator from it with"
            " from_booster."
        )


def restored(
    state: Any, estimator_class: type[LGBMModel]
) -> tuple[dict[str, Any], FittedModel | None]:
    """The parameters and the model of an estimator, from its plain state.

    Parameters
    ----------
    state : dict
        A state as returned by `plain`; it may have been changed since.
    estimator_class : type

    Raises
    ------
    ValueError
        If the model is missing an entry, contradicts itself or is for another task.
    """
    owner = f"the state of {estimator_class.__name__}"
    entries(state, {}, owner)
    if "_booster" not in state:
        return state, None
    model = FittedModel.from_state(state["_booster"])
    task = estimator_class._task.name
    if model.task != task:
        raise ValueError(f"{owner} must hold a model for the task {task!r}")
    return without_learned(state), model


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
    model = booster._saved_model()
    _check_task(estimator_class, model)
    make = _of_foreign if model.record is None else _of_record
    unfitted = make(estimator_class, model)
    model = replace(
        model,
        classes=_classes(estimator_class, model, classes),
        history=copy.deepcopy(model.history),
        record=unfitted._record(),
    )
    unfitted._keep(model)
    return unfitted


def _check_task(estimator_class: type[LGBMModel], model: FittedModel) -> None:
    tasks, source = tasks_of(model)
    if not set(tasks) & set(estimator_class._task.serves):
        words = " or ".join(task for task in tasks if task != "any")
        raise ValueError(
            f"{estimator_class.__name__} cannot be created from {source}. Use the class"
            f" for {words}."
        )


def _of_record(estimator_class: type[Model], model: FittedModel) -> Model:
    """An estimator with the parameters of the one that was fitted."""
    record: EstimatorRecord = model.record
    names = defaults(estimator_class).keys()
    options = parameters.canonical(record.parameters, record.estimator, names)
    unknown = options.keys() - names
    if unknown:
        raise ValueError(
            f"{estimator_class.__name__} has no parameter {min(unknown)!r}. The model"
            f" was saved by {record.estimator}: use this class."
        )
    estimator = estimator_class(**copy.deepcopy(options))
    if record.unused:
        estimator._unused_params = copy.deepcopy(record.unused)
    return estimator


def _of_foreign(estimator_class: type[Model], model: FittedModel) -> Model:
    """An estimator with the parameters that the objective and the link tell."""
    estimator = estimator_class()
    name, link = model.objective, model.link
    if isinstance(name, str) and name != _default_objective(estimator_class, model):
        estimator.objective = name
    if name is not None and OBJECTIVES[name].has_slope:
        estimator.sigmoid = link.slope
    estimator.reg_sqrt = link.kind == "signed_square"
    return estimator


def _default_objective(estimator_class: type[LGBMModel], model: FittedModel) -> Any:
    task = estimator_class._task
    if task is Classification:
        labels = np.arange(max(model.trees.n_scores, 2))
        return Classification("", labels).default_objective
    return task.default_objective


def _classes(
    estimator_class: type[LGBMModel], model: FittedModel, classes: ArrayLike | None
) -> NDArray[Any] | None:
    """The labels: those of the model, or else those that are passed."""
    owner, task = estimator_class.__name__, estimator_class._task
    labels, n_scores = model.classes, model.trees.n_scores
    if task.name == "classification" and labels is None:
        labels = _labels(classes, max(n_scores, 2))
    elif classes is not None:
        reason = f"{owner} has no classes" if labels is None else "the model has them"
        raise ValueError(f"classes must be None: {reason}.")
    check_classes(labels, n_scores, task.name)
    return labels


def _labels(classes: ArrayLike | None, n_classes: int) -> NDArray[Any]:
    labels = np.arange(n_classes) if classes is None else np.asarray(classes)
    if labels.shape != (n_classes,):
        raise ValueError(
            f"classes must be {n_classes} labels, got an array of shape {labels.shape}."
        )
    if len(set(labels.tolist())) < n_classes:
        raise ValueError(f"classes must differ, got {labels.tolist()}.")
    return labels
