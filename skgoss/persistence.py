"""States of estimators: plain types in files, checked when they are loaded."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from skgoss.booster import Booster
from skgoss.data.state import entries

_LEARNED = {"_booster": dict, "n_features_in_": Integral, "_history": dict}


def plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an estimator, without objects of skgoss."""
    if "_booster" not in state:
        return dict(state)
    plain = {**state, "_booster": state["_booster"].__getstate__()}
    # The model has the same categories.
    del plain["_categories"]
    return plain


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
    if "_booster" not in state:
        return state
    entries(
        state,
        _LEARNED | ({"_classes": np.ndarray} if classifies else {}),
        f"the state of {owner}",
    )
    booster = Booster.__new__(Booster)
    booster.__setstate__(state["_booster"])
    _check_columns(state, booster.num_feature())
    _check_n_scores(
        booster.num_model_per_iteration(), state["_classes"] if classifies else None
    )
    return {**state, "_booster": booster, "_categories": booster._categories}


def _check_columns(state: dict[str, Any], n_features: int) -> None:
    if state["n_features_in_"] != n_features:
        raise ValueError(
            f"n_features_in_ is {state['n_features_in_']}, but the trees were fitted on"
            f" {n_features} features"
        )
    names = state.get("feature_names_in_", np.empty(n_features, dtype=object))
    if not (isinstance(names, np.ndarray) and names.shape == (n_features,)):
        raise ValueError(f"feature_names_in_ must be an array of {n_features} names")


def _check_n_scores(n_scores: int, classes: Any) -> None:
    if classes is not None and (classes.ndim != 1 or len(classes) == 0):
        raise ValueError("the classes must be a one-dimensional array of labels")
    n_classes = 1 if classes is None else len(classes)
    needed = n_classes if n_classes > 2 else 1
    if n_scores != needed:
        raise ValueError(f"n_scores must be {needed}, got {n_scores}")
