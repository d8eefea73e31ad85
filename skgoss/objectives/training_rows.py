"""The targets and weights that an objective learns from, and statistics of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum
from skgoss.columns.collectives import Collectives
from skgoss.columns.row_partition import RowPartition
from skgoss.objectives.percentiles import are_copies, percentile

Floats = NDArray[np.float64]

# The maximum number of rows. Weights with a larger sum are not treated as copies.
MAX_COPIES = 2**31 - 1


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The targets and weights of this process's rows, and statistics of all rows."""

    y: Floats
    weight: Floats | None
    partition: RowPartition

    @property
    def collectives(self) -> Collectives:
        return self.partition.collectives

    def mean(self) -> float:
        """The weighted mean of the targets of all processes."""
        total, everyones = float(self.partition.n_rows), self.partition.collectives
        collectives = None if everyones.n_ranks == 1 else everyones
        if self.weight is not None:
            total = exact_sum.weighted_sum(self.weight, collectives=collectives)
        return exact_sum.weighted_sum(self.y, self.weight, collectives) / total

    def percentile(self, level: float, unit: Floats | None = None) -> float:
        """The `percentile` of the targets of all processes."""
        return percentile(self.y, level, self.weight, unit, self.partition)

    def all(self, condition: NDArray[np.bool_]) -> bool:
        """Whether a condition holds for the rows of all processes."""
        holds, collectives = bool(condition.all()), self.partition.collectives
        return holds if collectives.n_ranks == 1 else all(collectives.all_gather(holds))

    def copies(self) -> NDArray[np.uint32] | None:
        """The number of copies of each row; None if a process has other weights."""
        if self.weight is None:
            return None
        local = (are_copies(self.weight), float(self.weight.sum()))
        whole, sums = zip(*self.collectives.all_gather(local), strict=True)
        all_copies = all(whole) and sum(sums) <= MAX_COPIES
        return self.weight.astype(np.uint32) if all_copies else None

    def sum_of(self, values: Floats) -> float:
        """The weighted sum of a value of each row over all processes, rounded once."""
        everyones = self.partition.collectives
        collectives = None if everyones.n_ranks == 1 else everyones
        return exact_sum.weighted_sum(values, self.weight, collectives)
