"""Percentiles of rows that several processes hold, found by counting.

The results have the bits of `skgoss.training.percentiles`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training import losses
from skgoss.data.shares import Exchange, Share
from skgoss.training.percentiles import (
    at_threshold,
    between,
    grain_of,
    percentile,
    rank_from_top,
)
from skgoss.training.selection import FEW, Keys, ordered_keys, select, values_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Whole floats below this number have exact sums.
MOST_EXACT = 2.0**52

# Grains of other sizes might round or overflow when weights are divided by them.
GRAINS = (2.0**-900, 2.0**900)


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the rows of all peers; a row may be in several groups.

    Attributes
    ----------
    group : ndarray of shape (n,), intp
        The group of each row of this peer, ascending.
    number : ndarray of shape (n,), int64
        Rows of equal value come in the order of these numbers.
    values : ndarray of shape (n,), float64
    weight, unit : ndarray of shape (n,), float64, or None
        See `percentile`.
    n_groups : int
    exchange : Exchange
    """

    group: NDArray[np.intp]
    number: Ints
    values: Floats
    weight: Floats | None
    unit: Floats | None
    n_groups: int
    exchange: Exchange

    @classmethod
    def of(
        cls,
        share: Share,
        groups: Sequence[Sequence[NDArray[np.integer]]],
        columns: Callable[
            [NDArray[np.integer]], tuple[Floats, Floats | None, Floats | None]
        ],
    ) -> Groups:
        """Groups of rows of shares.

        Parameters
        ----------
        share : Share
        groups : sequence of sequences of ndarray
            The lists of rows that each group joins. Rows of equal value come in the
            order of the lists.
        columns : callable
            Takes rows, and returns their values, weights and units.
        """
        rows = np.concatenate([rows for lists in groups for rows in lists])
        size = [sum(map(len, lists)) for lists in groups]
        place = np.concatenate(
            [np.full(len(rows), i) for lists in groups for i, rows in enumerate(lists)]
        )
        return cls(
            np.repeat(np.arange(len(groups)), size),
            place * share.n_rows + share.numbers[rows],
            *columns(rows),
            len(groups),
            share.exchange,
        )

    def percentiles(self, level: float) -> Floats:
        """The `percentile` of each group.

        The rows are gathered only if they are few, or if their weights have no exact
        sums.
        """
        rows = self if self.weight is None else self.take(self.weight > 0)
        size = rows.total(None)
        weighed = _weighed(rows) if size.sum() > FEW else None
        places = weighed and _places(weighed, size, level)
        if places is None:
            return np.array([*rows.gathered(level)])
        return _counted(weighed, places)

    def take(self, kept: NDArray[np.bool_]) -> Groups:
        """Some of the rows."""
        return replace(
            self,
            group=self.group[kept],
            number=self.number[kept],
            values=self.values[kept],
            weight=None if self.weight is None else self.weight[kept],
            unit=None if self.unit is None else self.unit[kept],
        )

    def total(self, own: Floats | None) -> NDArray[np.float64] | Ints:
        """The sums by group of numbers of rows; None: ones."""
        sums = np.bincount(self.group, own, self.n_groups)
        return np.sum(self.exchange.gather(sums), axis=0)

    def gathered(self, level: float) -> Iterator[float]:
        """The percentiles of all rows, gathered in order."""
        parts = self.exchange.gather(
            (self.group, self.number, self.values, self.weight, self.unit)
        )
        group, number, *columns = (
            None if column[0] is None else np.concatenate(column)
            for column in zip(*parts, strict=True)
        )
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
    copies : ndarray of shape (n,), float64
        The number of copies of each row.
    grains : ndarray of shape (n,), float64
        The weight of each copy in grains, a whole number.
    total : ndarray of shape (n_groups,), float64
        The weight of all rows in grains.
    """

    rows: Groups
    by_unit: NDArray[np.bool_]
    grain: Floats
    copies: Floats
    grains: Floats
    total: Floats

    @property
    def mass(self) -> Floats:
        """The weight of each row in grains."""
        return self.grains * self.copies


@dataclass(frozen=True, eq=False)
class _Places:
    """Where the percentiles of groups lie.

    Attributes
    ----------
    threshold : ndarray of shape (n_groups,), float64
        The weight up to the percentile.
    place : ndarray of shape (n_groups,), int64
        The percentile is at the first row up to which rows weigh more grains.
    part : list of float
        The distance from this row, for the rule of copies.
    """

    threshold: Floats
    place: Ints
    part: list[float]


def _weighed(rows: Groups) -> _Weighed | None:
    """The weights of rows in grains; None if these have no exact sums."""
    copies, unit = np.ones((2, len(rows.values)))
    by_unit = np.full(rows.n_groups, rows.unit is not None)
    if rows.unit is not None:
        unit = rows.unit
    if rows.weight is not None:
        is_whole = rows.total((rows.weight % 1.0 != 0).astype(np.float64)) == 0
        by_unit |= ~is_whole
        of_row = is_whole[rows.group]
        copies = np.where(of_row, rows.weight, 1.0)
        unit = unit * np.where(of_row, 1.0, rows.weight)
    grain = _grains(rows, by_unit, unit, copies)
    if not ((grain > GRAINS[0]) & (grain < GRAINS[1])).all():
        return None
    grains = np.rint(unit / grain[rows.group])
    total = rows.total(grains * copies)
    if not (total < MOST_EXACT).all():
        return None
    return _Weighed(rows, by_unit, grain, copies, grains, total)


def _grains(
    rows: Groups, by_unit: NDArray[np.bool_], unit: Floats, copies: Floats
) -> Floats:
    """The grain of each group; 1 for copies."""
    grain = np.ones(rows.n_groups)
    start = np.searchsorted(rows.group, np.arange(rows.n_groups + 1)).tolist()
    chosen = np.flatnonzero(by_unit).tolist()
    own = [
        losses.whole_sum(unit[start[g] : start[g + 1]], copies[start[g] : start[g + 1]])
        for g in chosen
    ]
    sums = rows.exchange.gather(own) if chosen else []
    for g, *parts in zip(chosen, *sums, strict=True):
        grain[g] = grain_of(losses.rounded(sum(parts)))
    return grain


def _places(weighed: _Weighed, size: Ints, level: float) -> _Places | None:
    """The places of percentiles; None if one lies behind all rows."""
    total, grain = weighed.total, weighed.grain
    ranks = [rank_from_top(int(n), level) for n in total]
    threshold = total * grain * level
    place = np.where(
        weighed.by_unit,
        np.floor(threshold / grain),
        total - 1 - np.array([rank for rank, _ in ranks]),
    )
    if not ((place < total) | (size == 0)).all():
        return None
    return _Places(threshold, place.astype(np.int64), [part for _, part in ranks])


def _counted(weighed: _Weighed, places: _Places) -> Floats:
    """The percentiles of groups, of which only counts are exchanged."""
    rows, by_unit, mass = weighed.rows, weighed.by_unit, weighed.mass
    keys = ordered_keys(rows.values)
    key, before = select(keys, mass, rows.group, places.place, rows.exchange)
    # Copies of equal values are the same, but rows may weigh different units.
    equal = (keys == key[rows.group]) & by_unit[rows.group]
    number, before_equal = select(
        rows.number[equal].astype(np.uint64),
        mass[equal],
        rows.group[equal],
        places.place - before,
        rows.exchange,
    )
    before += before_equal
    here = values_of(key)
    near = _neighbours(weighed, keys, key, number.astype(np.int64))
    result = np.zeros(rows.n_groups)
    for g in np.flatnonzero(weighed.total).tolist():
        has_previous, previous = near.n_before[g] > 0, float(near.previous[g])
        if by_unit[g]:
            result[g] = at_threshold(
                here=float(here[g]),
                previous=previous if has_previous else None,
                inside=places.threshold[g] - before[g] * weighed.grain[g],
                unit=near.unit[g],
                is_last_copy=near.n_after[g] == 0 and near.copies[g] <= 1.0,
            )
        else:
            is_within = before[g] < places.place[g] or not has_previous
            below = here[g] if is_within else previous
            result[g] = between(below, here[g], places.part[g])
    return result


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """The chosen row of each group, and those beside it; by group.

    Attributes
    ----------
    n_before, n_after : ndarray of int64
        The numbers of rows before and after the chosen one.
    previous : ndarray of float64
        The value of the row before.
    unit, copies : ndarray of float64
        The weight of a copy of the chosen row, and the number of its copies.
    """

    n_before: Ints
    n_after: Ints
    previous: Floats
    unit: Floats
    copies: Floats


def _neighbours(weighed: _Weighed, keys: Keys, key: Keys, number: Ints) -> _Neighbours:
    rows, n_groups = weighed.rows, weighed.rows.n_groups
    group = rows.group
    chosen = key[group]
    equal, later = keys == chosen, rows.number > number[group]
    is_before = (keys < chosen) | (equal & (rows.number < number[group]))
    is_after = (keys > chosen) | (equal & later)
    is_here = equal & (rows.number == number[group])
    previous = np.full(n_groups, -np.inf)
    np.maximum.at(previous, group[is_before], rows.values[is_before])

    def by_group(taken: NDArray[np.bool_], of_row: Floats | None = None) -> Floats:
        own = None if of_row is None else of_row[taken]
        return np.bincount(group[taken], own, n_groups).astype(np.float64)

    unit = weighed.grains * weighed.grain[group]
    sums = np.array(
        [
            by_group(is_before),
            by_group(is_after),
            by_group(is_here, unit),
            by_group(is_here, weighed.copies),
        ]
    )
    parts = rows.exchange.gather((sums, previous))
    n_before, n_after, unit, copies = np.sum([part[0] for part in parts], axis=0)
    largest = np.max([part[1] for part in parts], axis=0)
    return _Neighbours(n_before, n_after, largest, unit, copies)


def percentile_of_share(
    values: Floats,
    level: float,
    weight: Floats | None,
    unit: Floats | None,
    share: Share,
) -> float:
    """The `percentile` of the rows of all peers."""
    if share.is_alone:
        return percentile(values, level, weight, unit)
    group = np.zeros(len(values), dtype=np.intp)
    rows = Groups(group, share.numbers, values, weight, unit, 1, share.exchange)
    return float(rows.percentiles(level)[0])
