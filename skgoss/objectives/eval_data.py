"""The input of metrics: the targets, scores and weights of an evaluation set."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum
from skgoss.distributed.collectives import ALONE, Collectives
from skgoss.distributed.row_partition import RowPartition
from skgoss.objectives import ranking

Floats = NDArray[np.float64]


class EvalData(NamedTuple):
    """The targets, scores and weights from which a metric is computed."""

    # (n,) or (n, n_targets): numbers, class codes, or grades; (n, n_classes): soft
    # labels, the probabilities of classes.
    y: Floats
    # (n_scores, n): raw scores if the metric uses them, else predictions.
    scores: Floats
    weight: Floats | None  # (n,)
    # (n_queries + 1,): the first row of each query, and the number of rows; rows are
    # sorted by query.
    boundaries: NDArray[np.int64] | None
    n_threads: int
    source: Any = None  # the `Dataset` argument of functions f(predictions, dataset)
    # The results of `cached` for these targets and weights; None: nothing is cached.
    cache: dict[Any, Any] | None = None
    # The place of these rows among those of all processes; None: these are all rows.
    partition: RowPartition | None = None
    # The place of these queries among those of all processes; None: these are all.
    queries: RowPartition | None = None
    # (n, n_targets): the weights for each target, if they differ.
    output_weight: Floats | None = None

    @property
    def collectives(self) -> Collectives:
        """The collective operations of the processes that hold the rows."""
        return ALONE if self.partition is None else self.partition.collectives

    @property
    def collectives_or_none(self) -> Collectives | None:
        """`collectives`; None if one process holds all rows."""
        return None if self.partition is None else self.partition.collectives

    def select_output(self, number: int, first: int, stop: int) -> EvalData:
        """The data of one of several outputs: targets, or quantiles of one target.

        ``number`` is that of the output, whose scores are those from ``first`` to
        ``stop - 1``. Rows whose target is missing are left out. If there is one target,
        only the scores are chosen.
        """
        scores = self.scores[first:stop]
        if self.y.ndim == 1:
            return self._replace(scores=scores)
        y, weight, is_present, cache = self.cached(
            ("output", number), lambda: self._column(number)
        )
        if is_present is not None:
            scores = np.ascontiguousarray(scores[:, is_present])
        return self._replace(y=y, scores=scores, weight=weight, cache=cache)

    def _column(self, number: int) -> tuple[Floats, Floats | None, Any, dict[Any, Any]]:
        """One target without its missing values.

        Returns its values, their weights, which rows have one (None: all), and a cache
        for the metrics of this target.
        """
        y = np.ascontiguousarray(self.y[:, number])
        weights = self.output_weight
        weight = self.weight if weights is None else weights[:, number].copy()
        rows = ~np.isnan(y)
        if rows.all():
            return y, weight, None, {}
        return y[rows], None if weight is None else weight[rows], rows, {}

    def copies_by_class(self) -> tuple[Floats, Floats]:
        """The labels and weights of a copy of each row for each class.

        Both have the shape (n_classes, n). The weights are those of the rows times the
        probabilities of the classes, which are the targets.
        """
        weights = np.ascontiguousarray(self.y.T)
        if self.weight is not None:
            weights *= self.weight
        n_classes = len(weights)
        codes = np.repeat(np.arange(n_classes, dtype=np.float64), len(self.y))
        return codes.reshape(n_classes, -1), weights

    def as_copies(self) -> EvalData:
        """The data in which a row with soft labels is a row for each class."""

        def copies() -> tuple[Floats, Floats, dict[Any, Any]]:
            codes, weights = self.copies_by_class()
            return codes.ravel(), weights.ravel(), {}

        y, weight, cache = self.cached("copies", copies)
        scores = np.tile(self.scores, self.y.shape[1])
        return self._replace(y=y, scores=scores, weight=weight, cache=cache)

    def on_all_rows(self, compute: Callable[[EvalData], Any]) -> Any:
        """The result of a function of the rows of all processes, in order.

        The first process alone gathers the rows and calls the function; all processes
        get the result. All call this at the same time.
        """
        partition = self.partition
        if partition is None or partition.is_alone:
            return compute(self)
        all_rows = self.cached("all rows", partial(self._on_first, partition))
        scores = partition.gather_on_first(self.scores)
        return self.collectives.broadcast(
            lambda: compute(all_rows._replace(scores=scores))
        )

    def _on_first(self, partition: RowPartition) -> EvalData:
        """The data of all rows except scores; complete on the first process only."""
        weight, boundaries, queries = self.weight, self.boundaries, self.queries
        if boundaries is not None and queries is not None:
            sizes = queries.gather_on_first(np.diff(boundaries))
            boundaries = np.append(0, np.cumsum(sizes))
        return self._replace(
            y=partition.gather_on_first(self.y),
            weight=None if weight is None else partition.gather_on_first(weight),
            boundaries=boundaries,
            cache=None if self.cache is None else {},
            partition=None,
            queries=None,
        )

    def summed(self, total: NDArray[np.int64]) -> float:
        """An exact sum over the rows of all processes, rounded once.

        ``total`` is that of this process, as the integers of `exact_sum`. It changes.
        """
        if self.partition is not None:
            self.partition.collectives.all_reduce(total)
        return exact_sum.rounded(total)

    def mean(self, values: Floats) -> float:
        """The weighted mean of a value of each row of all processes."""
        total = exact_sum.weighted_sum(values, self.weight, self.collectives_or_none)
        return total / self.total_weight

    def gather_query_values(self, values: Floats) -> Floats:
        """The values of the queries of all processes, along the last axis, in order."""
        return values if self.queries is None else self.queries.all_gather(values)

    def query_weights(self) -> Floats | None:
        """The weights of the queries of all processes, (n_queries,); None: ones."""
        assert self.boundaries is not None
        weights = ranking.query_weights(self.weight, self.boundaries)
        return None if weights is None else self.gather_query_values(weights)

    def cached(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The result of ``compute``, computed once for each key.

        It must depend on targets and weights alone, as rounds have different scores.
        """
        if self.cache is None:
            return compute()
        if key not in self.cache:
            self.cache[key] = compute()
        return self.cache[key]

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all processes; ValueError unless it is above 0."""

        def compute() -> float:
            collectives = self.collectives_or_none
            if self.weight is None:
                n_rows = len(self.y)
                return float(
                    n_rows if collectives is None else collectives.total(n_rows)
                )
            return exact_sum.weighted_sum(self.weight, collectives=collectives)

        total_weight = self.cached(("total weight", self.weight is None), compute)
        if not total_weight > 0:
            raise ValueError(
                "An evaluation set has no row of positive weight. Pass other weights or"
                " leave the set out."
            )
        return total_weight
