"""Percentiles of rows that several processes hold, found by counting.

The results have the bits of `skgoss.objectives.percentiles`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum
from skgoss.columns.collectives import Collectives
from skgoss.columns.row_partition import RowPartition
from skgoss.objectives.order_statistics import (
    FEW,
    KeyedRows,
    ordered_keys,
    select,
    values_of,
)
from skgoss.objectives.percentiles import (
    at_threshold,
    between,
    grain_of,
    percentile,
    rank_from_top,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Whole floats below this number have exact sums.
MOST_EXACT = 2.0**52

# Grains of other sizes might round or overflow when weights are divided by them.
GRAINS = (2.0**-900, 2.0**900)


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the rows of all processes; a row may be in several groups.

    Attributes
    ----------
    group : ndarray of shape (n,), intp
        The group of each row of this process, ascending.
    number : ndarray of shape (n,), int64, or None
        Rows of equal value come in the order of these numbers. None: in any order,
        which does not matter for rows without weights and units.
    values : ndarray of shape (n,), float64
    weight, unit : ndarray of shape (n,), float64, or None
        See `percentile`.
    n_groups : int
    collectives : Collectives
    """

    group: NDArray[np.intp]
    number: Ints | None
    values: Floats
    weight: Floats | None
    unit: Floats | None
    n_groups: int
    collectives: Collectives

    @classmethod
    def of(
        cls,
        partition: RowPartition,
        groups: Sequence[Sequence[NDArray[np.integer]]],
        columns: Callable[
            [NDArray[np.integer]], tuple[Floats, Floats | None, Floats | None]
        ],
    ) -> Groups:
        """Groups of the rows of a partition.

        Parameters
        ----------
        partition : RowPartition
        groups : sequence of sequences of ndarray
            The lists of rows that each group joins. Rows of equal value come in the
            order of the lists.
        columns : callable
            Takes rows, and returns their values, weights and units.
        """
        rows = np.concatenate([rows for lists in groups for rows in lists])
        size = [sum(map(len, lists)) for lists in groups]
        values, weight, unit = columns(rows)
        number = None
        if weight is not None or unit is not None:
            places = [i for lists in groups for i, _ in enumerate(lists)]
            sizes = [len(rows) for lists in groups for rows in lists]
            number = np.repeat(np.array(places), sizes) * partition.n_rows
            number += partition.numbers[rows]
        return cls(
            np.repeat(np.arange(len(groups)), size),
            *(number, values, weight, unit),
            len(groups),
            partition.collectives,
        )

    def percentiles(self, level: float) -> Floats:
        """The `percentile` of each group.

        The rows are gathered only if they are few, or if their weights have no exact
        sums.
        """
        rows = self if self.weight is None else self.take(self.weight > 0)
        size = rows.sums(None)
        weighed = _weighed(rows, size) if size.sum() > FEW else None
        places = weighed and _places(weighed, size, level)
        if places is None:
            return np.array([*rows.gathered(level)])
        return _counted(weighed, size, places)

    @property
    def start(self) -> Ints:
        """Where the rows of each group begin, and the end."""
        return np.searchsorted(self.group, np.arange(self.n_groups + 1))

    def take(self, kept: NDArray[np.bool_]) -> Groups:
        """Some of the rows."""
        if kept.all():
            return self
        return replace(
            self,
            group=self.group[kept],
            number=None if self.number is None else self.number[kept],
            values=self.values[kept],
            weight=None if self.weight is None else self.weight[kept],
            unit=None if self.unit is None else self.unit[kept],
        )

    def sums(self, values: Floats | None) -> NDArray[np.float64] | Ints:
        """The sums by group of values of the rows; None: the numbers of rows."""
        sums = np.bincount(self.group, values, self.n_groups)
        return np.sum(self.collectives.all_gather(sums), axis=0)

    def gathered(self, level: float) -> Iterator[float]:
        """The percentiles, by gathering all rows."""
        parts = self.collectives.all_gather(
            (self.group, self.number, self.values, self.weight, self.unit)
        )
        group, number, *columns = (
            None if column[0] is None else np.concatenate(column)
            for column in zip(*parts, strict=True)
        )
        order = np.argsort(group, kind="stable")
        if number is not None:
            order = np.lexsort((number, group))
        stop = np.cumsum(np.bincount(group, minlength=self.n_groups))
        for rows in np.split(order, stop[:-1]):
            values, weight, unit = (None if c is None else c[rows] for c in columns)
            yield percentile(values, level, weight, unit)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Groups of rows whose weights are whole numbers of grains.

    Attributes
    ----------
    rows : Groups
    by_unit : ndarray of shape (n_groups,), bool
        Whether LightGBM's rule for weights is applied; else, that for copies.
    grain : ndarray of shape (n_groups,), float64
        See `grain_of`.
    copies : ndarray of shape (n,), float64
        The number of copies of each row.
    grains : ndarray of shape (n,), float64
        The weight of each copy in grains, a whole number.
    mass : ndarray of shape (n,), int64, or None
        The weight of each row in grains. None: all rows weigh 1; then there are no
        copies and grains.
    total : ndarray of shape (n_groups,), float64
        The weight of all rows in grains.
    """

    rows: Groups
    by_unit: NDArray[np.bool_]
    grain: Floats
    copies: Floats | None
    grains: Floats | None
    mass: Ints | None
    total: Floats


@dataclass(frozen=True, eq=False)
class _Places:
    """Where the percentiles of groups lie.

    Attributes
    ----------
    threshold : ndarray of shape (n_groups,), float64
        The weight up to the percentile.
    place : ndarray of shape (n_groups,), int64
        The percentile is at the first row up to which the mass is more.
    part : list of float
        The distance from this row, for the rule of copies.
    """

    threshold: Floats
    place: Ints
    part: list[float]


def _weighed(rows: Groups, size: Ints) -> _Weighed | None:
    """The weights of rows in grains; None if these have no exact sums."""
    if rows.weight is None and rows.unit is None:
        by_unit, grain = np.zeros(rows.n_groups, np.bool_), np.ones(rows.n_groups)
        return _Weighed(rows, by_unit, grain, None, None, None, size * 1.0)
    copies, unit = np.ones((2, len(rows.values)))
    by_unit = np.full(rows.n_groups, rows.unit is not None)
    if rows.unit is not None:
        unit = rows.unit
    if rows.weight is not None:
        is_whole = rows.sums((rows.weight % 1.0 != 0).astype(np.float64)) == 0
        by_unit |= ~is_whole
        of_row = is_whole[rows.group]
        copies = np.where(of_row, rows.weight, 1.0)
        unit = unit * np.where(of_row, 1.0, rows.weight)
    grain = _grains(rows, by_unit, unit, copies)
    if not ((grain > GRAINS[0]) & (grain < GRAINS[1])).all():
        return None
    grains = np.rint(unit / grain[rows.group])
    mass = grains * copies
    total = rows.sums(mass)
    if not (total < MOST_EXACT).all():
        return None
    return _Weighed(rows, by_unit, grain, copies, grains, mass.astype(np.int64), total)


def _grains(
    rows: Groups, by_unit: NDArray[np.bool_], unit: Floats, copies: Floats
) -> Floats:
    """The grain of each group; 1 for copies."""
    grain = np.ones(rows.n_groups)
    start = rows.start.tolist()
    chosen = np.flatnonzero(by_unit).tolist()
    if not chosen:
        return grain
    own = [
        exact_sum.exact_sum(
            unit[start[g] : start[g + 1]], copies[start[g] : start[g + 1]]
        )
        for g in chosen
    ]
    weights = rows.collectives.all_reduce(np.stack(own))
    for g, weight in zip(chosen, weights, strict=True):
        grain[g] = grain_of(exact_sum.rounded(weight))
    return grain


def _places(weighed: _Weighed, size: Ints, level: float) -> _Places | None:
    """The places of percentiles; None if one lies behind all rows."""
    total, grain = weighed.total, weighed.grain
    from_top, part = zip(*(rank_from_top(int(n), level) for n in total), strict=True)
    threshold = total * grain * level
    place = np.where(
        weighed.by_unit,
        np.floor(threshold / grain),
        total - 1 - np.array(from_top),
    )
    if not ((place < total) | (size == 0)).all():
        return None
    return _Places(threshold, place.astype(np.int64), list(part))


def _counted(weighed: _Weighed, size: Ints, places: _Places) -> Floats:
    """The percentiles of groups, by counting: only counts are sent."""
    rows, by_unit = weighed.rows, weighed.by_unit
    selected = select(
        KeyedRows(
            ordered_keys(rows.values),
            rows.start,
            weighed.mass,
            size,
            weighed.total.astype(np.int64),
            # Copies of equal values are the same, but rows may weigh different units.
            rows.number if by_unit.any() else None,
            by_unit,
            (weighed.grains, weighed.copies) if by_unit.any() else (),
        ),
        places.place,
        rows.collectives,
    )
    here, previous = values_of(selected.key), values_of(selected.previous)
    before, has_previous = selected.before, selected.has_previous
    result = np.zeros(rows.n_groups)
    for g in np.flatnonzero(weighed.total).tolist():
        if by_unit[g]:
            grains, copies = selected.columns[:, g]
            result[g] = at_threshold(
                here=float(here[g]),
                previous=float(previous[g]) if has_previous[g] else None,
                inside=places.threshold[g] - before[g] * weighed.grain[g],
                unit=grains * weighed.grain[g],
                is_last_copy=bool(selected.is_last[g]) and copies <= 1.0,
            )
        else:
            is_within = before[g] < places.place[g] or not has_previous[g]
            below = here[g] if is_within else previous[g]
            result[g] = between(below, here[g], places.part[g])
    return result


def distributed_percentile(
    values: Floats,
    level: float,
    weight: Floats | None,
    unit: Floats | None,
    partition: RowPartition,
) -> float:
    """The `percentile` of the rows of all processes."""
    if partition.is_alone:
        return percentile(values, level, weight, unit)
    group, collectives = np.zeros(len(values), dtype=np.intp), partition.collectives
    rows = Groups(group, partition.numbers, values, weight, unit, 1, collectives)
    return float(rows.percentiles(level)[0])
