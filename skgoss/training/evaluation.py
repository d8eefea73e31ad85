"""Evaluation sets: rows whose metrics are followed round by round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skgoss.data.rows import Rows
from skgoss.training.binned import BinnedRows
from skgoss.training.metrics import Custom, Metric, Sample
from skgoss.training.rounds import EvalResult

Floats = NDArray[np.float64]


@dataclass(eq=False)
class EvaluationSet:
    """Rows whose scores are followed during a fit.

    Attributes
    ----------
    name : str
    rows : Rows
    metrics : list of Metric and Custom
    binned : BinnedRows or None
        The bins of the rows; None: they are those of the training set.
    scores : ndarray of shape (n_scores, n_rows), float64
        Raw scores; set by `Boosting`.
    """

    name: str
    rows: Rows
    metrics: list[Metric | Custom]
    binned: BinnedRows | None
    scores: Floats = field(init=False)

    def __post_init__(self) -> None:
        queries = self.rows.queries
        self._boundaries = None if queries is None else queries.boundaries
        self._order = None if queries is None else queries.order
        self._target = self._gathered(self.rows.target)
        weight = self.rows.weight
        self._weight = None if weight is None else self._gathered(weight)

    def _gathered(self, values: Floats) -> Floats:
        if self._order is None:
            return np.ascontiguousarray(values)
        return np.ascontiguousarray(values[..., self._order])

    def measure(
        self, scores: Floats, link: Callable[[Floats], Floats], n_threads: int
    ) -> list[EvalResult]:
        """The metrics of raw scores, (n_scores, n_rows)."""
        raw = self._gathered(scores)
        # One transformation serves all metrics, and none where only ranks matter.
        wants = any(not metric.on_raw for metric in self.metrics)
        predictions = link(raw) if wants else raw
        return [
            EvalResult(self.name, *result)
            for metric in self.metrics
            for result in metric(
                Sample(
                    self._target,
                    raw if metric.on_raw else predictions,
                    self._weight,
                    self._boundaries,
                    n_threads,
                )
            )
        ]


def by_name(results: Sequence[EvalResult]) -> dict[str, dict[str, float]]:
    """Metrics of one round by set and name."""
    scores: dict[str, dict[str, float]] = {}
    for result in results:
        by_metric = scores.setdefault(result.dataset_name, {})
        by_metric[result.metric_name] = result.metric_value
    return scores
