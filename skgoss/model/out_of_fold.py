"""Predictions for rows that a model was tested on, but not fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss.data.values import are_numbers, check_scores, entries

_ENTRIES = {"scores": np.ndarray, "metrics": dict}


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What the models of folds predict for rows that they have not learned from.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, n_scores), float64
        The raw score of each row, by the model that was not fitted on it; the mean if
        there are several, NaN if there is none.
    metrics : dict
        Metrics by name: a list with the value of each fold.
    """

    scores: NDArray[np.float64]
    metrics: Mapping[str, list[float]]

    def mean(self) -> dict[str, float]:
        """The mean of each metric over the folds."""
        return {name: float(np.mean(v)) for name, v in self.metrics.items()}

    def standard_error(self) -> dict[str, float]:
        """The standard error of each mean: NaN for a single fold."""
        return {
            name: float(np.std(v, ddof=1) / np.sqrt(len(v))) if len(v) > 1 else np.nan
            for name, v in self.metrics.items()
        }

    def state(self) -> dict[str, Any]:
        """The object as dicts, numbers and arrays."""
        return {"scores": self.scores, "metrics": dict(self.metrics)}

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """The object of what `state` returned; ValueError if it is damaged."""
        owner = "the out-of-fold predictions"
        scores, metrics = entries(state, _ENTRIES, owner)
        if scores.dtype != np.float64 or scores.ndim != 2:
            raise ValueError(f"{owner} must be a two-dimensional array of float64")
        check_scores({"folds": metrics}, owner, are_numbers)
        return cls(scores, metrics)
