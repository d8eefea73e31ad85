"""Evaluation sets: rows whose metrics are computed after each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.rows import Rows
from skgoss.objectives.link import IDENTITY, Link, transform
from skgoss.objectives.metric_functions import EvalData
from skgoss.objectives.metrics import CustomMetric, Result
from skgoss.objectives.output_metrics import AnyMetric
from skgoss.training.binned import BinnedRows
from skgoss.training.callback_api import EvalResult
from skgoss.utils.messages import warn

Floats = NDArray[np.float64]


class NamedRows(NamedTuple):
    """The rows of an evaluation set, and the ``data`` that the user passed.

    Early stopping ignores it if it ``is_training``: the model learns from the rows.
    """

    name: str
    rows: Rows
    is_training: bool = False
    data: Any = None


@dataclass(eq=False)
class EvaluationSet:
    """Rows whose metrics are computed after each round."""

    name: str
    rows: Rows
    metrics: list[AnyMetric]
    # The rows in bins; None: the set is the training set, whose scores are used.
    binned: BinnedRows | None
    is_training: bool = False  # whether the model learns from the rows
    data: Any = None  # what the user passed
    # (n_scores, n_rows): raw scores; set by `Boosting` unless ``binned`` is None.
    scores: Floats = field(init=False)

    def __post_init__(self) -> None:
        queries = self.rows.queries
        self._boundaries = None if queries is None else queries.boundaries
        self._target = self._by_query(self.rows.target)
        weight = self.rows.weight
        self._weight = None if weight is None else self._by_query(weight)
        partition, self._queries = self.rows.partition, None
        if partition is not None and queries is not None:
            self._queries = queries.partition(partition.collectives)
            # Metrics see rows sorted by query.
            first = queries.first_rows(partition.collectives)
            partition = replace(partition, first=first, length=queries.sizes)
        self._partition = partition
        self._warned = self._warned_of_nan = False
        # What metrics compute from targets and weights alone, for all rounds.
        self._cache: dict[Any, Any] = {}

    def _by_query(self, values: Floats) -> Floats:
        """The values of the rows, sorted by query if there are queries."""
        queries = self.rows.queries
        return np.ascontiguousarray(
            values if queries is None else queries.gathered(values)
        )

    def measure(
        self, scores: Floats, n_threads: int, more: Sequence[CustomMetric] = ()
    ) -> list[EvalResult]:
        """Compute all metrics, and ``more``, from raw scores, (n_scores, n_rows).

        No two of the results have the same name.
        """
        raw = self._by_query(scores)
        # Predictions are computed once for all metrics with the same link.
        predictions: dict[Link | None, Floats] = {None: raw, IDENTITY: raw}
        results: list[Result] = []
        for metric in (*self.metrics, *more):
            link = metric.link
            if link is not None and link not in predictions:
                predictions[link] = transform(link, raw, n_threads)
            results += metric(
                EvalData(
                    self._target,
                    predictions[link],
                    self._weight,
                    self._boundaries,
                    n_threads,
                    self.rows.source,
                    self._cache,
                    self._partition,
                    self._queries,
                    self.rows.output_weight,
                )
            )
        distinct = self._distinct(results)
        self._warn_of_nan(distinct)
        return [EvalResult(self.name, *result) for result in distinct]

    def _warn_of_nan(self, results: list[Result]) -> None:
        """Warn once if a metric is NaN, which is never the best value."""
        undefined = [result.name for result in results if isnan(result.value)]
        if not undefined or self._warned_of_nan:
            return
        self._warned_of_nan = True
        reason = (
            " All its labels are equal." if len(set(self._target.flat)) == 1 else ""
        )
        warn(
            f"The metric {', '.join(map(repr, undefined))} of {self.name!r} is NaN."
            f"{reason} Early stopping ignores it."
        )

    def _distinct(self, results: list[Result]) -> list[Result]:
        """The results, renamed if an earlier result has the same name."""
        distinct: dict[str, Result] = {}
        renamed = []
        for result in results:
            name, number = result.name, 1
            while name in distinct:
                number += 1
                name = f"{result.name} ({number})"
            distinct[name] = result
            if number > 1:
                distinct[name] = result._replace(name=name)
                renamed.append(repr(name))
        if renamed and not self._warned:
            self._warned = True
            warn(
                "Several metrics have the same name; the later ones are recorded as"
                f" {', '.join(renamed)}. Return another name from each metric function."
            )
        return list(distinct.values())


def loss_of(result: EvalResult) -> float:
    """The metric, so that less is better."""
    return -result.metric_value if result.maximize else result.metric_value


def by_name(results: Sequence[EvalResult]) -> dict[str, dict[str, float]]:
    """The metrics of one round, by evaluation set and name."""
    scores: dict[str, dict[str, float]] = {}
    for result in results:
        dataset_name, metric_name, value = tuple(result)[:3]
        scores.setdefault(dataset_name, {})[metric_name] = value
    return scores
