"""Checks of the scorers of a search, before anything is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer, get_scorer_names

from skgoss.parameters.other_libraries import SEARCH_SCORERS
from skgoss.utils.messages import hint
from skgoss.utils.sklearn_private import instead_of

# Scorers of two classes, and those to use if there are more.
_OF_SEVERAL = {
    **{name: f"{name}_macro" for name in ("f1", "jaccard", "precision", "recall")},
    "roc_auc": "roc_auc_ovr",
}
# Scorers that cannot score all labels.
_OF_LABELS = {*_OF_SEVERAL, "average_precision", "neg_brier_score"}


def check_names(scoring: Any) -> None:
    """Raise ValueError if there is no scorer of a name in ``scoring``.

    What is neither a name nor holds names is left to scikit-learn.
    """
    known = get_scorer_names()
    for name in _names(scoring):
        if name not in known:
            instead = SEARCH_SCORERS.get(name.lower().replace("-", "_"))
            if instead == "skgoss.ndcg_scorer":
                advice = " Pass the function skgoss.ndcg_scorer."
            elif instead is not None:
                advice = f" Use {instead}."
            else:
                advice = hint(name, known)
                advice += " sklearn.metrics.get_scorer_names() lists all names."
            raise ValueError(f"scoring={name!r} is not a scorer of a search.{advice}")


def check_labels(scoring: Any, y: Any) -> None:
    """Raise ValueError if a scorer cannot score the labels, such as text.

    scikit-learn would give NaN to all candidates, and refit the first one.
    """
    names = [name for name in _names(scoring) if name in _OF_LABELS]
    labels = _labels(y) if names else None
    if labels is None or len(labels) < 2:
        return
    for name in names:
        several = _OF_SEVERAL.get(name)
        if len(labels) > 2 and several is not None:
            raise ValueError(
                f"scoring={name!r} is for two classes, but y holds {len(labels)}:"
                f" {_listed(labels)}. Use {several!r}, the mean over the classes."
            )
        # The Brier score takes the larger number as the positive label.
        is_known = 1 in labels.tolist() or name == "roc_auc"
        is_known |= name == "neg_brier_score" and labels.dtype.kind in "biuf"
        if len(labels) == 2 and not is_known:
            raise ValueError(
                f"scoring={name!r} needs the positive label 1, but y holds"
                f" {_listed(labels)}{instead_of(get_scorer(name), name, labels)}"
                " pos_label is the class that counts as positive."
            )


def _names(scoring: Any) -> list[str]:
    """The names of scorers in ``scoring``."""
    if isinstance(scoring, Mapping):
        values = list(scoring.values())
    elif isinstance(scoring, list | tuple | set):
        values = list(scoring)
    else:
        values = [scoring]
    return [value for value in values if isinstance(value, str)]


def _labels(y: Any) -> NDArray[Any] | None:
    """The labels of a one-dimensional target; None if they cannot be listed."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        return None
    try:
        return np.unique(values)
    except TypeError:
        return None


def _listed(labels: NDArray[Any]) -> str:
    shown = ", ".join(map(repr, labels[:5].tolist()))
    return f"{shown}, ..." if len(labels) > 5 else shown
