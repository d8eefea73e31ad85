"""States of estimators: in files, and from the model of a Booster."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from skgoss import parameters
from skgoss.booster.booster import Booster
from skgoss.fit.task import Classification, Task, tasks_of
from skgoss.model.fitted import EstimatorRecord, FittedModel, check_classes
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.utils.messages import type_name
from skgoss.utils.plain_values import Types, entries

# The attributes that fit sets.
LEARNED = ("_fitted", "_booster", "n_features_in_", "feature_names_in_")

# What an estimator remembers of its constructor, if there is anything.
_REMEMBERED: Types = {"_passed": tuple, "_unused_params": dict}


def without_learned(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an estimator without those that fit sets."""
    return {k: value for k, value in attributes.items() if k not in LEARNED}


def plain(attributes: Mapping[str, Any], model: FittedModel) -> dict[str, Any]:
    """The state of a fitted estimator, without objects of skgoss."""
    # The estimator itself has the parameters.
    record = model.record and replace(model.record, parameters={}, unused={})
    state = replace(model, record=record).state()
    return without_learned(attributes) | {"_booster": state}


def restored(state: Any, task: Task) -> tuple[dict[str, Any], FittedModel | None]:
    """The parameters and the model of an estimator, from what `plain` returned.

    ValueError if the model is missing an entry, contradicts itself or is for another
    task.
    """
    owner = f"the state of {task.owner}"
    entries(state, {}, owner)
    remembered = {name: kind for name, kind in _REMEMBERED.items() if name in state}
    entries(state, remembered, owner)
    for name in state.get("_passed", ()):
        if not isinstance(name, str) or name not in state:
            raise ValueError(f"{owner} has no {name!r}, which was passed")
    if "_booster" not in state:
        return state, None
    model = FittedModel.from_state(state["_booster"])
    if model.task != task.name:
        raise ValueError(f"{owner} must hold a model for the task {task.name!r}")
    return without_learned(state), model


def _booster_advice(model: Any) -> str:
    """How to get a Booster of what is none."""
    # Modules do not tell them apart: see `skgoss.as_lightgbm`.
    if hasattr(type(model), "_model"):
        return "Pass its attribute booster_."
    attribute = ".booster_" if isinstance(model, BaseEstimator) else ""
    return (
        "For a model of LightGBM, pass"
        f" Booster(model_str=model{attribute}.model_to_string())."
    )


def of_booster(
    booster: Booster, classes: ArrayLike | None, task: Task, names: Collection[str]
) -> tuple[dict[str, Any], dict[str, Any], FittedModel]:
    """The parameters, unused parameters and model of an estimator of a Booster's model.

    ``classes`` are the labels, if the model does not have them, and ``names`` the
    parameters of the constructor. TypeError if it is not a Booster of skgoss.
    ValueError if the model is for another task, or has other parameters, or if
    ``classes`` do not fit.
    """
    if not isinstance(booster, Booster):
        raise TypeError(
            f"booster must be a Booster of skgoss, got {type_name(booster)}."
            f" {_booster_advice(booster)}"
        )
    model = booster._best_model()
    _check_task(task, model)
    labels = _classes(task, model, classes)
    model = replace(model, classes=labels, history=copy.deepcopy(model.history))
    if model.record is None:
        return _of_foreign(task, model), {}, model
    parameters = _of_record(task, model.record, names)
    return copy.deepcopy(parameters), copy.deepcopy(model.record.unused), model


def _check_task(task: Task, model: FittedModel) -> None:
    """Check that the model may become an estimator for ``task``; else ValueError.

    It may if one of the tasks that the model serves is among ``task.serves``. 'any' is
    the task of `train`, which no class of estimators is for, so the message omits it.
    """
    tasks, source = tasks_of(model)
    if not set(tasks) & set(task.serves):
        words = " or ".join(name for name in tasks if name != "any")
        raise ValueError(
            f"{task.owner} cannot be created from {source}. Use the class for {words}."
        )


def _of_record(
    task: Task, record: EstimatorRecord, names: Collection[str]
) -> dict[str, Any]:
    """The parameters of the estimator whose fit the record describes, by name.

    ValueError if one is not among ``names``, those of the estimator to create.
    """
    options = parameters.canonical(record.parameters, record.estimator, names)
    unknown = options.keys() - set(names)
    if unknown:
        raise ValueError(
            f"{task.owner} has no parameter {min(unknown)!r}. The model was saved by"
            f" {record.estimator}: use this class."
        )
    return options


def _of_foreign(task: Task, model: FittedModel) -> dict[str, Any]:
    """The parameters that follow from the objective and the link, by name.

    ``model`` is of another library, so it has no record of its parameters.
    """
    name, link = model.objective, model.link
    options: dict[str, Any] = {"reg_sqrt": link.kind == "signed_square"}
    if isinstance(name, str):
        if name != _default_objective(task, model):
            options["objective"] = name
        if OBJECTIVES[name].has_slope:
            options["sigmoid"] = link.slope
    return options


def _default_objective(task: Task, model: FittedModel) -> str | None:
    if isinstance(task, Classification):
        task = task.with_classes(np.arange(max(model.trees.n_scores, 2)))
    return task.default_objective


def _classes(
    task: Task, model: FittedModel, classes: ArrayLike | None
) -> NDArray[Any] | None:
    """The labels: those of the model, or else those that are passed; None: no classes.

    ValueError if labels are passed although the model has them, or the ``task`` has
    none.
    """
    labels, n_scores = model.classes, model.trees.n_scores
    if task.name == "classification" and labels is None:
        labels = _labels(classes, max(n_scores, 2))
    elif classes is not None:
        has_none = f"{task.owner} has no classes"
        reason = has_none if labels is None else "the model has them"
        raise ValueError(f"classes must be None: {reason}.")
    check_classes(labels, n_scores, task.name)
    return labels


def _labels(classes: ArrayLike | None, n_classes: int) -> NDArray[Any]:
    """The labels that are passed, checked; None: 0, 1, ..., ``n_classes - 1``."""
    labels = np.arange(n_classes) if classes is None else np.asarray(classes)
    if labels.shape != (n_classes,):
        raise ValueError(
            f"classes must be {n_classes} labels, got an array of shape {labels.shape}."
        )
    if len(set(labels.tolist())) < n_classes:
        raise ValueError(f"classes must differ, got {labels.tolist()}.")
    return labels
