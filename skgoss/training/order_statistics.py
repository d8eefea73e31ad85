"""Order statistics of rows that several processes hold, found by counting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training.sampling import (
    count_bins,
    masses_beside,
    rows_between,
)
from skgoss.data.collectives import Collectives

# So many rows in question are gathered, and sorted.
FEW = 8192

# So many rows of all groups are looked at first, and of each group at least.
TRIED = 1 << 14
LEAST_TRIED = 16

# So many standard deviations from the mean, a random number is hardly ever.
WINDOW_SIGMAS = 5.0

# All of one search have the same dtype.
Keys = NDArray[np.uint64] | NDArray[np.uint32]
Ints = NDArray[np.int64]


def ordered_keys(values: NDArray[np.float64]) -> Keys:
    """Whole numbers that are ordered as ``values`` are; 0.0 and -0.0 have the same."""
    bits = (values + 0.0).view(np.int64)
    return (bits ^ (bits >> 63 & np.int64(2**63 - 1))).view(np.uint64) ^ np.uint64(
        1 << 63
    )


def values_of(keys: Keys) -> NDArray[np.float64]:
    """The values that have these `ordered_keys`."""
    bits = (keys ^ np.uint64(1 << 63)).view(np.int64)
    return (bits ^ (bits >> 63 & np.int64(2**63 - 1))).view(np.float64)


@dataclass(frozen=True, eq=False)
class Ordered:
    """Groups of rows, each of which is ordered by keys.

    Attributes
    ----------
    keys : ndarray of shape (n,), uint64; or uint32, where rows have no masses
        Those of this process's rows, sorted by group.
    start : ndarray of shape (n_groups + 1,), int64
        Where the rows of each group begin, and the end.
    mass : ndarray of shape (n,), int64, or None
        What each row weighs; the sum over all processes is below 2**53. None: 1.
    size, total : ndarray of shape (n_groups,), int64
        The number of rows of all processes in each group, and what they weigh.
    number : ndarray of shape (n,), int64, or None
        Rows of equal keys come in the order of these numbers. None: in any order.
    by_number : ndarray of shape (n_groups,), bool, or None
        The groups whose rows have numbers; None: all, or none without numbers.
    columns : sequence of ndarray of shape (n,), float64
        What else is asked about the rows.
    """

    keys: Keys
    start: Ints
    mass: Ints | None
    size: Ints
    total: Ints
    number: Ints | None = None
    by_number: NDArray[np.bool_] | None = None
    columns: Sequence[NDArray[np.float64]] = ()


@dataclass(frozen=True, eq=False)
class Found:
    """A row of each group, and those beside it; by group.

    Attributes
    ----------
    key : ndarray, as the keys
        0 in groups without rows.
    number : ndarray of int64
        0 in groups without numbers.
    before : ndarray of int64
        What the rows before it weigh. Without numbers, rows of equal keys may or may
        not be among them.
    has_previous : ndarray of bool
        Whether there are rows before it.
    previous : ndarray, as the keys
        The key of the row before it.
    is_last : ndarray of bool
        Whether there are no rows after it.
    columns : ndarray of shape (n_columns, n_groups), float64
        Those of the row, in groups with numbers.
    """

    key: Keys
    number: Ints
    before: Ints
    has_previous: NDArray[np.bool_]
    previous: Keys
    is_last: NDArray[np.bool_]
    columns: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _InQuestion:
    """The rows that are still in question: those with keys in a range.

    Attributes
    ----------
    keys, start, mass
        See `Ordered`.
    at : ndarray of shape (n,), uint32, or None
        Their places among the rows that were given; None: these are all.
    low, high : ndarray of shape (n_groups,), as the keys
        The least and the largest key of the range.
    size, total : ndarray of shape (n_groups,), int64
        The number of such rows of all processes, and what they weigh.
    n_before, before : ndarray of shape (n_groups,), int64
        The number of the rows of all processes with smaller keys, and what they weigh.
    largest : ndarray of shape (n_groups,), as the keys
        The largest key of this process below the range; 0 if there is none.
    """

    keys: Keys
    start: Ints
    mass: Ints | None
    at: Ints | None
    low: Keys
    high: Keys
    size: Ints
    total: Ints
    n_before: Ints
    before: Ints
    largest: Keys

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Which groups have rows in question, and a range of several keys."""
        return (self.size > 0) & (self.low < self.high)

    @property
    def group(self) -> NDArray[np.intp]:
        """The group of each row."""
        return np.repeat(np.arange(len(self.size)), np.diff(self.start))

    def places(self) -> Ints:
        """The places of the rows among those that were given."""
        return np.arange(len(self.keys)) if self.at is None else self.at

    def between(self, low: Keys, high: Keys) -> tuple[_InQuestion, Ints]:
        """The rows with keys in a smaller range, and how many have smaller keys.

        What is known of all rows stays.
        """
        at, start, n_below, largest = rows_between(self.keys, self.start, low, high)
        found = replace(
            self,
            keys=self.keys[at],
            start=start,
            mass=None if self.mass is None else self.mass[at],
            at=at if self.at is None else self.at[at],
            low=low,
            high=high,
            largest=np.maximum(largest, self.largest),
        )
        return found, n_below


def select(
    rows: Ordered, place: Ints, collectives: Collectives, expected: Keys | None = None
) -> Found:
    """Find the first row up to which the rows of a group weigh more than ``place``.

    A sample of the rows tells between which keys it is expected, and is a list of keys
    that cut this window into bins. What the rows of all processes in each bin weigh
    tells in which bin it is. The rows of the bin are gathered if they are few; else
    they are looked at in the same way.

    Parameters
    ----------
    rows : Ordered
    place : ndarray of shape (n_groups,), int64
        Less than all rows of the group weigh; not read in groups without rows.
    collectives : Collectives
    expected : ndarray, as the keys, default=None
        Where there is one group: ascending keys, between which the place is expected.
        None: those of a sample are taken.
    """
    n_groups = len(place)
    none = np.zeros(n_groups, rows.keys.dtype)
    by_key = _narrowed(
        _InQuestion(
            *(rows.keys, rows.start, rows.mass, None, none, ~none),
            *(rows.size, rows.total, np.zeros_like(place), np.zeros_like(place), none),
        ),
        place,
        collectives,
        expected,
    )
    has_number = np.full(n_groups, rows.number is not None)
    if rows.by_number is not None:
        has_number &= rows.by_number
    # Rows of equal keys, of which nothing more is asked, need not be known.
    is_equal = by_key.low == by_key.high
    known = by_key
    if (is_equal & ~has_number).any():
        asked = np.where(is_equal & ~has_number, ~none, by_key.low)
        known, _ = by_key.between(asked, by_key.high)
    found = _narrowed_by_number(rows, known, is_equal & has_number, place, collectives)
    return _found(rows, by_key, found, place, collectives)


def _narrowed_by_number(
    rows: Ordered,
    found: _InQuestion,
    is_equal: NDArray[np.bool_],
    place: Ints,
    collectives: Collectives,
) -> _InQuestion:
    """The rows in question, of which those of equal keys are selected by number."""
    if not is_equal.any():
        return found
    number = rows.number[found.places()].astype(np.uint64)
    by_number = replace(
        found,
        keys=np.where(is_equal[found.group], number, np.uint64(0)),
        low=np.zeros(len(place), np.uint64),
        high=np.where(is_equal, np.iinfo(np.uint64).max, np.uint64(0)),
    )
    return _narrowed(by_number, place, collectives)


def _narrowed(
    rows: _InQuestion, place: Ints, collectives: Collectives, edges: Keys | None = None
) -> _InQuestion:
    """Rows in question that are few, or of one key in each group."""
    while rows.size[rows.is_open].sum() > FEW:
        if edges is None:
            edges, first_edge = _edges(rows, place, collectives)
        else:
            first_edge = np.array([0, len(edges)])
        window, own = _counts(rows, edges, first_edge)
        rows = _in_bin(
            rows, window, place, edges, first_edge, collectives.all_reduce(own)
        )
        edges = None
    return rows


def _counts(
    rows: _InQuestion, edges: Keys, first_edge: Ints
) -> tuple[_InQuestion, Ints]:
    """The rows from the first to the last edge, and what all rows of each bin weigh."""
    low, high = edges[first_edge[:-1]], edges[first_edge[1:] - 1]
    window, n_below = rows.between(low, high)
    counts = count_bins(window.keys, window.mass, window.start, edges, first_edge)
    n_groups = len(n_below)
    first_bin = 2 * first_edge + np.arange(n_groups + 1)
    n_above = np.diff(rows.start) - np.diff(window.start) - n_below
    outside = [[n_below, n_above]]
    if rows.mass is not None:
        outside.append(masses_beside(rows.keys, rows.mass, rows.start, low, high))
    for of_bin, (below, above) in zip(counts, outside, strict=True):
        of_bin[first_bin[:-1]] += below
        of_bin[first_bin[1:] - 1] += above
    return window, counts


def _edges(
    rows: _InQuestion, place: Ints, collectives: Collectives
) -> tuple[Keys, NDArray[np.int64]]:
    """Keys near those that are expected at the places, from a sample of the rows."""
    n_groups, is_open = len(place), rows.is_open
    n_tried = max(TRIED // n_groups, LEAST_TRIED)
    step = np.maximum(-(-rows.size // n_tried), 1)
    bounds = zip(rows.start[:-1], rows.start[1:], step, strict=True)
    at = [
        np.arange(*bound) if asked else np.arange(0)
        for bound, asked in zip(bounds, is_open, strict=True)
    ]
    ends = np.cumsum([len(own) for own in at])[:-1]
    own = np.concatenate(at)
    tried = collectives.all_gather(
        (ends, rows.keys[own], None if rows.mass is None else rows.mass[own])
    )
    keys = [np.split(part, ends) for ends, part, _ in tried]
    masses = None
    if rows.mass is not None:
        masses = [np.split(part, ends) for ends, _, part in tried]
    share = (place - rows.before) / np.maximum(rows.total, 1)
    edges = [
        _window(
            np.concatenate([part[g] for part in keys]),
            masses and np.concatenate([part[g] for part in masses]),
            share[g],
        )
        if is_open[g]
        else rows.low[g : g + 1]
        for g in range(n_groups)
    ]
    first_edge = np.cumsum([0, *map(len, edges)], dtype=np.int64)
    return np.concatenate(edges), first_edge


def _window(keys: Keys, mass: Ints | None, share: float) -> Keys:
    """The keys of a sample near the one up to which a share of the rows weighs."""
    if mass is None:
        keys = np.sort(keys)
        up_to, n = np.arange(1.0, len(keys) + 1), float(len(keys))
    else:
        order = np.argsort(keys, kind="stable")
        keys, mass = keys[order], mass[order].astype(np.float64)
        up_to = np.cumsum(mass)
        # As many rows of equal masses would have the same deviation.
        n = float(up_to[-1] ** 2 / max(np.cumsum(mass**2)[-1], 1.0))
    spread = WINDOW_SIGMAS * np.sqrt(share * (1.0 - share) / max(n, 1.0))
    first, last = np.searchsorted(
        up_to, ((share - spread) * up_to[-1], (share + spread) * up_to[-1])
    )
    first = min(max(first - 1, 0), len(keys) - 1)
    window = keys[first : last + 2]
    return window[np.append(True, window[1:] != window[:-1])]


def _in_bin(
    rows: _InQuestion,
    window: _InQuestion,
    place: Ints,
    edges: Keys,
    first_edge: Ints,
    counts: Ints,
) -> _InQuestion:
    """The rows of the bins that the places are in."""
    n_groups = len(place)
    first_bin = 2 * first_edge + np.arange(n_groups + 1)
    n_up_to, up_to = np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1)[[0, -1]]
    start, last = first_bin[:-1], first_bin[1:] - 1
    chosen = np.searchsorted(
        up_to[1:], up_to[start] + place - rows.before, side="right"
    )
    chosen = np.clip(chosen, start, last)
    side, is_edge = np.divmod(chosen - start, 2)
    below, above = first_edge[:-1] + side - 1, first_edge[:-1] + side
    low, high = rows.low.copy(), rows.high.copy()
    is_edge = is_edge == 1
    low[is_edge] = high[is_edge] = edges[above[is_edge]]
    has_below = ~is_edge & (below >= first_edge[:-1])
    has_above = ~is_edge & (above < first_edge[1:])
    low[has_below] = edges[below[has_below]] + 1
    high[has_above] = edges[above[has_above]] - 1
    is_outside = (rows.size > 0) & ((chosen == start) | (chosen == last))
    found, _ = (rows if is_outside.any() else window).between(low, high)
    return replace(
        found,
        size=counts[0, chosen],
        total=counts[-1, chosen],
        n_before=rows.n_before + n_up_to[chosen] - n_up_to[start],
        before=rows.before + up_to[chosen] - up_to[start],
    )


def _found(
    rows: Ordered,
    by_key: _InQuestion,
    known: _InQuestion,
    place: Ints,
    collectives: Collectives,
) -> Found:
    """What the rows that are left tell, when they are gathered."""
    n_groups, at = len(place), known.places()
    mass = np.ones(len(at), np.int64) if known.mass is None else known.mass
    number = np.zeros(len(at), np.int64) if rows.number is None else rows.number[at]
    columns = np.empty((len(rows.columns), len(at)))
    for i, column in enumerate(rows.columns):
        columns[i] = column[at]
    own = (known.group, rows.keys[at], number, mass, columns)
    *parts, largest = zip(*collectives.all_gather((*own, by_key.largest)), strict=True)
    group, keys, number, mass, columns = (
        np.concatenate(part, axis=-1) for part in parts
    )
    order = np.lexsort((number, keys, group))
    start = np.searchsorted(group[order], np.arange(n_groups + 1))
    previous = np.max(largest, axis=0)
    np.copyto(previous, by_key.low, where=known.n_before > by_key.n_before)
    found = Found(
        by_key.low * (by_key.size > 0),
        np.zeros(n_groups, np.int64),
        known.before.copy(),
        known.n_before > 0,
        previous,
        known.n_before + known.size == rows.size,
        np.zeros((len(columns), n_groups)),
    )
    for g in np.flatnonzero(np.diff(start)):
        own = order[start[g] : start[g + 1]]
        up_to = known.before[g] + np.cumsum(mass[own])
        i = int(np.searchsorted(up_to, place[g], side="right"))
        found.key[g], found.number[g] = keys[own[i]], number[own[i]]
        found.columns[:, g] = columns[:, own[i]]
        found.is_last[g] &= i == len(own) - 1
        if i > 0:
            found.before[g] = up_to[i - 1]
            found.has_previous[g] = True
            found.previous[g] = keys[own[i - 1]]
    return found
