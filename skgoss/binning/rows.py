"""Rows of a fit, with targets, weights and queries; leaves out rows of weight 0."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.columns.columns import RELEASED, Columns, numbers
from skgoss.columns.computed_columns import ComputedColumns
from skgoss.columns.floats import as_floats
from skgoss.columns.queries import Queries
from skgoss.distributed.collectives import ALONE, Collectives
from skgoss.distributed.row_partition import RowPartition

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of columns with their targets, weights, queries and start scores."""

    columns: Columns  # `RELEASED`: only their bins are left
    # (n_rows,) or (n_rows, n_targets): NaN where one of several targets is missing.
    # Empty before targets are known.
    target: Floats = field(default_factory=partial(np.empty, 0))
    weight: Floats | None = None  # (n_rows,): None: ones
    queries: Queries | None = None  # None: the rows are not ranked
    # (n_scores, n_rows): the scores before the first round; None: the best constant.
    init_score: Floats | None = None
    # (n_rows,): the rows of the columns that these are, ascending; None: all.
    numbers: NDArray[np.int64] | None = None
    binned: BinnedDataset | None = None  # the bins of the rows, if they have been found
    # The `Dataset` that functions of users get in place of targets and weights; None:
    # they get targets and weights.
    source: Any = None
    # Which of the rows of all processes these are; None: all.
    partition: RowPartition | None = None
    # (n_rows,): the position at which each document was shown, as a number from 0.
    position: NDArray[np.int64] | None = None
    # (n_rows, n_targets): the weights for each target, if they differ: ``weight`` times
    # the weights of the classes.
    output_weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.target)

    @property
    def collectives(self) -> Collectives:
        """The collective operations of the processes that hold the rows."""
        return ALONE if self.partition is None else self.partition.collectives

    def local(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of this process among chosen rows of all processes.

        ``at`` has the numbers of the chosen rows among the rows of all processes; the
        result has those of this process, by their positions among its own rows.
        """
        if self.partition is None:
            return at
        is_chosen = np.zeros(self.partition.n_rows, dtype=bool)
        is_chosen[at] = True
        return np.flatnonzero(is_chosen[self.partition.numbers])

    def take(self, at: NDArray[np.int64], *, is_view: bool = False) -> Rows:
        """Some of these rows, with all that belongs to them.

        ``at`` are their positions among these rows, ascending. The bins are copied,
        unless the result ``is_view``. In a distributed fit, all processes call this at
        the same time, because queries may extend over several.
        """
        taken: dict[str, Any] = {
            name: getattr(self, name)[at]
            for name in ("target", "weight", "position", "output_weight")
            if getattr(self, name) is not None
        }
        if self.binned is not None:
            view = self.binned.view(at)
            taken["binned"] = view if is_view else view.alone()
        return replace(
            self,
            queries=self.queries and self.queries.take(at, self.collectives),
            init_score=None if self.init_score is None else self.init_score[:, at],
            numbers=at if self.numbers is None else self.numbers[at],
            source=self.source and self.source.subset(at),
            partition=self.partition and self.partition.take(at),
            **taken,
        )

    def select_output(self, number: int, first: int, stop: int) -> Rows:
        """The rows with the target, weights and start scores of one output.

        An output is one of several targets or quantiles: that of this ``number``. Its
        scores are those from ``first`` to ``stop - 1``: one, or one for each class. If
        all outputs have the same target or weights, these are kept.
        """
        start, weight = self.init_score, self.output_weight
        return replace(
            self,
            target=self.target if self.target.ndim == 1 else self.target[:, number],
            weight=self.weight if weight is None else weight[:, number],
            init_score=None if start is None else start[first:stop],
            output_weight=None,
        )

    def without_missing_targets(self) -> Rows:
        """The rows that have a target; ValueError if none has one."""
        has_target = ~np.isnan(self.target)
        if len(self) and not has_target.any():
            raise ValueError("All values are missing in the training rows.")
        return self if has_target.all() else self.take(np.flatnonzero(has_target))

    def values(self, column: int) -> Floats:
        """The values of a column of numbers in these rows."""
        (values,) = numbers(self.columns.take(np.array([column]))).T
        return values if self.numbers is None else values[self.numbers]

    def also_computing(self, computed: ComputedColumns, n_threads: int) -> Rows:
        """The rows with further columns, which are not in bins yet."""
        columns = computed.appended_to(self.columns, n_threads)
        return replace(self, columns=columns, binned=None)

    def without_zero_weights(self) -> Rows:
        """The rows of positive weight; their weights are None if all of them are 1.

        All processes call this at the same time. All have weights, or none.
        """
        if self.weight is None:
            return self
        rows, total = self, self.collectives.total
        is_positive = self.weight > 0
        if total(int((~is_positive).sum())):
            rows = self.take(np.flatnonzero(is_positive))
        if total(int((self.weight[is_positive] != 1).sum())) == 0:
            rows = replace(rows, weight=None)
        return rows

    def without_values(self) -> Rows:
        """The rows without the values of columns, which frees memory.

        Only rows of a distributed fit: these are used by their bins alone. Others stay
        as they are.
        """
        if self.partition is None:
            return self
        return replace(self, columns=RELEASED, numbers=None)

    def scattered_weight(self) -> Floats | None:
        """A weight for each row of ``columns``; 0 for rows that are not among these.

        None: all weights are 1.
        """
        if self.weight is None or self.numbers is None:
            return self.weight
        weight = np.zeros(self.columns.n_rows)
        weight[self.numbers] = self.weight
        return weight


def checked_init_score(
    init_score: ArrayLike, n_rows: int, n_scores: int, name: str
) -> Any:
    """Check an ``init_score``, and return it as (n_scores, n_rows).

    ``n_scores`` is the number of scores of a row: one, or one for each class. The
    argument's shape is (n_rows, n_scores) or (n_scores * n_rows,). In one dimension,
    the scores of all rows for the first class come first. ``name`` is what errors call
    the argument.
    """
    scores = as_floats(init_score, name)
    is_flat = scores.shape in ((n_rows * n_scores,), (n_rows, 1))
    if is_flat and scores.size == n_rows * n_scores:
        scores = scores.reshape(n_scores, n_rows)
    elif scores.shape == (n_rows, n_scores):
        scores = scores.T
    else:
        expected = (n_rows,) if n_scores == 1 else (n_rows, n_scores)
        raise ValueError(
            f"{name} must have the shape {expected}, got an array of shape"
            f" {scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError(f"{name} must be finite; it contains NaN or infinity.")
    return np.array(scores, order="C")
