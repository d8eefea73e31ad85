"""States of estimators: plain types in files, checked when they are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from types import NoneType
from typing import Any

import numpy as np

from skgoss.data.categories import Categories
from skgoss.data.state import entries
from skgoss.model.ensemble import Ensemble
from skgoss.training.objectives import OBJECTIVES, Link

# Attributes of an estimator that are objects of skgoss. In the estimator's state, the
# states of these objects, which consist of plain types, replace them.
_PARTS = {"_ensemble": Ensemble, "_categories": Categories, "_link": Link}

_LEARNED = {
    **_PARTS,
    "n_features_in_": Integral,
    "_feature_name": (list, NoneType),
    "_objective": (str, Callable),
    "_best_iteration": Integral,
    "_best_score": dict,
    "_history": dict,
}


def plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an estimator, without objects of skgoss."""
    parts = {name: state[name].__getstate__() for name in _PARTS if name in state}
    return {**state, **parts}


def restored(state: Any, owner: str, *, classifies: bool) -> dict[str, Any]:
    """The attributes of an estimator, from its plain state.

    Parameters
    ----------
    state : dict
        A state as returned by `plain`; it may have been changed since.
    owner : str
        The name of the estimator's class, for messages.
    classifies : bool
        Whether the estimator has classes when it is fitted.

    Raises
    ------
    ValueError
        If an attribute that fit sets is missing, has another type, or contradicts the
        others.
    """
    entries(state, {}, f"the state of {owner}")
    parts = {
        name: _part(kind, state[name]) for name, kind in _PARTS.items() if name in state
    }
    state = {**state, **parts}
    if "_ensemble" in state:
        _check_fitted(state, owner, classifies)
    return state


def _part(kind: type, state: Any) -> Any:
    part = kind.__new__(kind)
    part.__setstate__(state)
    return part


def _check_fitted(state: dict[str, Any], owner: str, classifies: bool) -> None:
    types = _LEARNED | ({"_classes": np.ndarray} if classifies else {})
    entries(state, types, f"the state of {owner}")
    ensemble, objective = state["_ensemble"], state["_objective"]
    if isinstance(objective, str) and objective not in OBJECTIVES:
        raise ValueError(
            f"the state of {owner} has the unknown objective {objective!r}"
        )
    if state["_best_iteration"] < 0:
        raise ValueError("best_iteration_ must be at least 0")
    if state["n_features_in_"] != ensemble.n_features:
        raise ValueError(
            f"n_features_in_ is {state['n_features_in_']}, but the trees were fitted on"
            f" {ensemble.n_features} features"
        )
    _check_columns(state, ensemble.n_features)
    _check_n_scores(ensemble.n_scores, state["_classes"] if classifies else None)


def _check_columns(state: dict[str, Any], n_features: int) -> None:
    """Check the names of columns, and which columns hold categories."""
    names = state.get("feature_names_in_", np.empty(n_features, dtype=object))
    if not (isinstance(names, np.ndarray) and names.shape == (n_features,)):
        raise ValueError(f"feature_names_in_ must be an array of {n_features} names")
    names = state["_feature_name"]
    if names is not None and not (
        len(names) == n_features and all(isinstance(name, str) for name in names)
    ):
        raise ValueError(f"_feature_name must be a list of {n_features} names")
    last = max(state["_categories"].vocabularies, default=0)
    if last >= n_features:
        raise ValueError(
            f"column {last} has categories, but there are only {n_features} columns"
        )


def _check_n_scores(n_scores: int, classes: Any) -> None:
    if classes is not None and (classes.ndim != 1 or len(classes) == 0):
        raise ValueError("the classes must be a one-dimensional array of labels")
    n_classes = 1 if classes is None else len(classes)
    needed = n_classes if n_classes > 2 else 1
    if n_scores != needed:
        raise ValueError(f"n_scores must be {needed}, got {n_scores}")
