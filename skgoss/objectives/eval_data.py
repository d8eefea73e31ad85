"""What metrics are computed from: the targets, scores and weights of a data set."""

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
    """The data that a metric is computed from."""

    # (n,) or (n, n_targets): the target: numbers, codes of classes, or grades.
    y: Floats
    scores: Floats  # (n_scores, n): raw scores if it uses them, else predictions
    weight: Floats | None  # (n,)
    # (n_queries + 1,): the first row of each query, and the number of rows; rows are
    # sorted by query.
    boundaries: NDArray[np.int64] | None
    n_threads: int
    source: Any = None  # the `Dataset` that functions f(predictions, dataset) get
    # What `cached` has computed from the same targets and weights; None: nothing.
    cache: dict[Any, Any] | None = None
    # Which of the rows of all processes these are; None: all.
    partition: RowPartition | None = None
    # Which of the queries of all processes these are; None: all.
    queries: RowPartition | None = None
    # (n, n_targets): the weights for each target, if they differ.
    output_weight: Floats | None = None

    @property
    def collectives(self) -> Collectives:
        """The collective operations of the processes that hold the rows."""
        return ALONE if self.partition is None else self.partition.collectives

    @property
    def others(self) -> Collectives | None:
        """The same; None if there are no other processes."""
        return None if self.partition is None else self.partition.collectives

    def select_output(self, number: int, first: int, stop: int) -> EvalData:
        """The data of one of several outputs, and its scores ``first : stop``.

        Rows whose target is missing are left out.
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
        """A target and its weights without missing values, where those are, a cache."""
        y = np.ascontiguousarray(self.y[:, number])
        weights = self.output_weight
        weight = self.weight if weights is None else weights[:, number].copy()
        rows = ~np.isnan(y)
        if rows.all():
            return y, weight, None, {}
        return y[rows], None if weight is None else weight[rows], rows, {}

    def on_all_rows(self, compute: Callable[[EvalData], Any]) -> Any:
        """The result of a function of the rows of all processes, in order.

        The first process alone gets them and calls the function.
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
        """The data of all rows, but for its scores; of use on the first process."""
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
        """An exact sum over the rows of all processes, rounded once."""
        if self.partition is not None:
            self.partition.collectives.all_reduce(total)
        return exact_sum.rounded(total)

    def mean(self, values: Floats) -> float:
        """The weighted mean of a value of each row of all processes."""
        total = exact_sum.weighted_sum(values, self.weight, self.others)
        return total / self.total_weight

    def of_all_queries(self, values: Floats) -> Floats:
        """The values of the queries of all processes, along the last axis, in order."""
        return values if self.queries is None else self.queries.all_gather(values)

    def query_weights(self) -> Floats | None:
        """The weights of the queries of all processes; None: ones."""
        assert self.boundaries is not None
        weights = ranking.query_weights(self.weight, self.boundaries)
        return None if weights is None else self.of_all_queries(weights)

    def cached(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The result of ``compute``, which depends on targets and weights alone."""
        if self.cache is None:
            return compute()
        if key not in self.cache:
            self.cache[key] = compute()
        return self.cache[key]

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all processes; ValueError unless it is above 0."""

        def compute() -> float:
            others = self.others
            if self.weight is None:
                n_rows = len(self.y)
                return float(n_rows if others is None else others.total(n_rows))
            return exact_sum.weighted_sum(self.weight, collectives=others)

        total_weight = self.cached(("total weight", self.weight is None), compute)
        if not total_weight > 0:
            raise ValueError(
                "An evaluation set has no row of positive weight. Pass other weights or"
                " leave the set out."
            )
        return total_weight
