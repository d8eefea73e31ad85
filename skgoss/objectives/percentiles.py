"""Weighted percentiles: start scores, and the values of renewed leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum, percentile_kernels
from skgoss.distributed.collectives import Collectives
from skgoss.distributed.order_statistics import nearest, ordered_keys, reduced
from skgoss.distributed.row_partition import RowPartition
from skgoss.utils.messages import STANDS_FOR_LIGHTGBM

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Sums of whole numbers below this limit are exact in floating point.
MAX_EXACT_SUM = 2.0**52


class LeafRows(NamedTuple):
    """The rows of each leaf, or of each of some groups of leaves."""

    start: Ints  # (n_groups + 1,): where the rows of each group begin, and the end
    # (m,): the numbers of the rows in this process, ascending in each group.
    rows: Ints

    @classmethod
    def joined(cls, groups: Sequence[Sequence[NDArray[np.integer]]]) -> Self:
        """Join the rows of the leaves of each group."""
        each = [np.sort(np.concatenate(leaves)) for leaves in groups]
        return cls(np.cumsum([0, *map(len, each)]), np.concatenate(each))

    def leaves(self) -> list[Ints]:
        """The rows of each group."""
        return np.split(self.rows, self.start[1:-1])

    def of_subset(self, rows: Ints, n_rows: int) -> LeafRows:
        """Those of these rows that are among others, by their places there.

        ``rows``, ascending, are the others' numbers, from 0 to ``n_rows`` - 1.
        """
        place = np.full(n_rows, -1)
        place[rows] = np.arange(len(rows))
        at = place[self.rows]
        n_before = np.append(0, np.cumsum(at >= 0))
        return LeafRows(n_before[self.start], at[at >= 0])


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """The rows of this process in groups; groups extend over all processes."""

    start: Ints  # (n_groups + 1,): where the rows of each group begin, and the end
    # (m,): the numbers of the rows in this process, ascending in each group.
    rows: NDArray[np.integer]
    values: Floats  # (m,)
    # (m,): see `percentiles`. None: 1.
    weight: Floats | None
    unit: Floats | None


def percentiles(groups: GroupedRows, level: float, partition: RowPartition) -> Floats:
    """The percentile of each group of rows, (n_groups,); 0.0 for groups without rows.

    ``level`` is between 0 and 1. A group may be a leaf with rows in all processes.
    Percentiles have the lowest pinball loss. A percentile is the first of the sorted
    values whose cumulative weight exceeds ``level`` times the total weight. If the
    weight of the values before it equals that product, it is the mean of this value and
    the one before. For example, the levels 0.5 and 0.6 of the values 1, 2, 3, 4 are 2.5
    and 3.

    Whole weights are frequency weights: a row of weight 3 counts as three rows. The
    ``unit`` of a row is the weight of one of these. Rows with less than 2**-51 of the
    total weight are left out.

    Where skgoss stands for LightGBM, percentiles with frequency weights interpolate
    between order statistics, as LightGBM does (and NumPy by default), which can have a
    larger loss.
    """
    weighted = _weighted(groups, partition.collectives)
    totals = weighted.totals(partition.collectives)
    if not partition.is_alone:
        weighted = _gathered(weighted, totals, level, partition)
    return np.array(
        [
            weighted.percentile(g, total, level) if total else 0.0
            for g, total in enumerate(totals)
        ]
    )


def of_residuals(
    y: Floats,
    score: Floats,
    leaves: LeafRows,
    weight: Floats | None,
    unit: Floats | None,
    level: float,
    partition: RowPartition,
    n_threads: int = 1,
) -> Floats:
    """The percentiles of ``y - score`` of the rows of leaves: see `percentiles`.

    ``weight`` and ``unit`` are those of all rows.
    """
    start, rows = leaves
    is_plain = weight is None and unit is None and partition.is_alone
    if is_plain and not STANDS_FOR_LIGHTGBM.is_set():
        return percentile_kernels.residual_percentiles(
            y, score, start, rows, level, n_threads
        )
    residuals = GroupedRows(
        start,
        rows,
        y[rows] - score[rows],
        None if weight is None else weight[rows],
        None if unit is None else unit[rows],
    )
    return percentiles(residuals, level, partition)


def percentile(
    values: Floats,
    level: float,
    weight: Floats | None = None,
    unit: Floats | None = None,
    partition: RowPartition | None = None,
) -> float:
    """The percentile of all rows: see `percentiles`."""
    n_rows = len(values)
    groups = GroupedRows(np.array([0, n_rows]), np.arange(n_rows), values, weight, unit)
    partition = partition or RowPartition(n_rows)
    return float(percentiles(groups, level, partition)[0])


def are_frequencies(weight: Floats) -> bool:
    """Whether all weights are whole, so that they are frequency weights."""
    return not (weight % 1.0).any()


@dataclass(frozen=True, eq=False)
class _Weighted:
    """Groups of rows, and their weights in *grains*.

    A grain is a small fraction of the weight of a group. Sums of whole numbers of
    grains are exact, in any order and for any frequency weights.
    """

    start: Ints  # (n_groups + 1,): where the rows of each group begin, and the end
    rows: NDArray[np.integer]
    values: Floats
    weights: Floats | None  # (m,): of the rows, whole numbers above 0; None: ones
    # (n_groups,): whether the percentile is LightGBM's.
    interpolates: NDArray[np.bool_]
    # (n_groups,): the weight of the rows with smaller values that have been left out.
    before: Ints
    below: Floats  # (n_groups,): the largest value of those rows

    def totals(self, collectives: Collectives) -> list[int]:
        """The weight of each group on all processes."""
        local: NDArray[Any] = np.diff(self.start)
        if self.weights is not None:
            local = reduced(np.add, self.weights, self.start, 0.0)
        sums = np.sum(collectives.all_gather(local), axis=0)
        return list(map(int, sums))

    def position(self, g: int, total: int, level: float) -> int:
        """The cumulative weight above which the percentile of group ``g`` is reached.

        ``total`` is the weight of the group in all processes, in grains.
        """
        if self.interpolates[g]:
            return total - 1 - int(_from_top(total, level))
        return min(int(total * level), total - 1)

    def percentile(self, g: int, total: int, level: float) -> float:
        """The percentile of group ``g``, whose weight in all processes is ``total``.

        ``here`` is the value at the `position`, ``previous`` the one before it: the
        result is one of them, their mean, or between them by interpolation.
        """
        position, before = self.position(g, total, level), int(self.before[g])
        rows = slice(self.start[g], self.start[g + 1])
        values, last = self.values[rows], self.start[g + 1] - self.start[g] - 1
        if self.weights is None:
            start, i = position, position - before
            both = [min(max(i - 1, 0), last), min(i, last)]
            previous, here = np.partition(values, both)[both].tolist()
        else:
            order = np.argsort(values, kind="stable")
            grains = self.weights[rows][order]
            up_to = before + np.cumsum(grains)
            i = int(np.searchsorted(up_to, position, side="right"))
            both = [min(max(i - 1, 0), last), min(i, last)]
            previous, here = values[order[both]].tolist()
            start = int(up_to[both[1]] - grains[both[1]])
        if i == 0 and before > 0:
            previous = float(self.below[g])
        if self.interpolates[g]:
            above = _from_top(total, level)
            below = here if start < position else previous
            # The sign of a zero would depend on the order of equal values.
            return float(here - (here - below) * (above - int(above)) + 0.0)
        is_first = i == 0 and before == 0
        if start < total * level or is_first:
            return float(here + 0.0)
        return float(0.5 * (previous + here) + 0.0)


def _from_top(total: int, level: float) -> float:
    """The number of rows above the percentile, with a fraction of the next row."""
    # LightGBM's interpolation counts from the top; its rounding depends on that.
    return (total - 1) * (1.0 - level)


def _weighted(groups: GroupedRows, collectives: Collectives) -> _Weighted:
    """The groups with the weights of rows in grains: see `_Weighted`.

    In a group whose weights are all whole, in all processes, the grain is 1, or the
    unit's. Other weights are rounded to grains of about 2**-50 of the group's total;
    rows without a grain are left out. All processes call this at the same time.
    """
    rows, values, start = groups.rows, groups.values, groups.start
    n_groups = len(start) - 1
    is_whole = np.full(n_groups, True)
    # No rows are left out: their weight, and the largest of their values.
    left_out = np.zeros(n_groups, np.int64), np.zeros(n_groups)
    if groups.weight is None and groups.unit is None:
        interpolates = is_whole & STANDS_FOR_LIGHTGBM.is_set()
        return _Weighted(start, rows, values, None, interpolates, *left_out)
    group = np.repeat(np.arange(n_groups), np.diff(start))
    frequency, unit = np.ones((2, len(rows)))
    if groups.unit is not None:
        unit = groups.unit
    if groups.weight is not None:
        has_fraction = reduced(np.logical_or, groups.weight % 1.0 > 0, start, False)
        local = has_fraction, reduced(np.add, groups.weight, start, 0.0)
        n_with_fraction, total = np.sum(collectives.all_gather(local), axis=0)
        is_whole = (n_with_fraction == 0) & (total < MAX_EXACT_SUM)
        frequency = np.where(is_whole[group], groups.weight, 1.0)
        unit = unit * np.where(is_whole[group], 1.0, groups.weight)
    is_counted = is_whole & (groups.unit is None)
    grain = np.ones(n_groups)
    if not is_counted.all():
        spans = [slice(*ends) for ends in pairwise(start.tolist())]
        exact = [exact_sum.exact_sum(unit[span], frequency[span]) for span in spans]
        sums = collectives.all_reduce(np.stack(exact))
        exponent = np.frexp([exact_sum.rounded(one) for one in sums])[1]
        grain = np.ldexp(1.0, np.maximum(exponent - 50, -1074))
        grain[is_counted] = 1.0
    weights = np.rint(unit / grain[group]) * frequency
    kept = np.flatnonzero(weights > 0)
    rows, values, weights = rows[kept], values[kept], weights[kept]
    start = np.searchsorted(kept, start)
    interpolates = is_counted & STANDS_FOR_LIGHTGBM.is_set()
    return _Weighted(start, rows, values, weights, interpolates, *left_out)


def _gathered(
    groups: _Weighted, totals: list[int], level: float, partition: RowPartition
) -> _Weighted:
    """The rows near the percentiles, gathered from all processes.

    What lies below them is summed up in ``before`` and ``below``. ``totals`` has the
    weight of each group in all processes.
    """
    position = [groups.position(g, total, level) for g, total in enumerate(totals)]
    collectives, weights = partition.collectives, groups.weights
    keys = ordered_keys(groups.values)
    near = nearest(keys, groups.start, weights, np.array(position), collectives)
    below = np.full(len(position), -np.inf)
    if near.before.any():
        is_below = keys < np.repeat(near.low, np.diff(groups.start))
        values = np.where(is_below, groups.values, -np.inf)
        below = reduced(np.maximum, values, groups.start, -np.inf)
    local = (
        below,
        np.repeat(np.arange(len(position)), np.diff(near.start)),
        partition.numbers[groups.rows[near.at]],
        groups.values[near.at],
        np.empty(0) if weights is None else weights[near.at],
    )
    below_by_rank, *columns = zip(*collectives.all_gather(local), strict=True)
    group, rows, values, gathered = (np.concatenate(c) for c in columns)
    order = np.lexsort((rows, group))
    return _Weighted(
        np.searchsorted(group[order], np.arange(len(position) + 1)),
        rows[order],
        values[order],
        None if weights is None else gathered[order],
        groups.interpolates,
        near.before,
        np.max(below_by_rank, axis=0),
    )
