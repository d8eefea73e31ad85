"""Order statistics of rows that several processes hold, found by counting.

An order statistic is the value of given rank among sorted values. No process sees the
values of all rows: they agree on ranges of values, count their rows in each, and add
the counts up, until few rows are left, which are gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training.sampling_kernels import (
    count_bins,
    masses_beside,
    rows_between,
)
from skgoss.columns.collectives import Collectives

# At most so many candidates are gathered and sorted.
FEW = 8192

# About so many rows of all groups are sampled, and of each group at least.
SAMPLED = 1 << 14
LEAST_SAMPLED = 16

# A random number is hardly ever farther from its mean than so many sigmas.
WINDOW_SIGMAS = 5.0

# The keys of one search have one dtype.
Keys = NDArray[np.uint64] | NDArray[np.uint32]
Ints = NDArray[np.int64]


def ordered_keys(values: NDArray[np.float64]) -> Keys:
    """Integers that are ordered as ``values`` are; 0.0 and -0.0 have the same."""
    bits = (values + 0.0).view(np.int64)
    return (bits ^ (bits >> 63 & np.int64(2**63 - 1))).view(np.uint64) ^ np.uint64(
        1 << 63
    )


def values_of(keys: Keys) -> NDArray[np.float64]:
    """The values that have these `ordered_keys`."""
    bits = (keys ^ np.uint64(1 << 63)).view(np.int64)
    return (bits ^ (bits >> 63 & np.int64(2**63 - 1))).view(np.float64)


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Groups of rows, each of which is ordered by keys.

    Attributes
    ----------
    keys : ndarray of shape (n,), uint64; or uint32, where rows have no masses
        The keys of the rows of this process, group by group.
    start : ndarray of shape (n_groups + 1,), int64
        Where the rows of each group begin, and the end.
    mass : ndarray of shape (n,), int64, or None
        The weight of each row; the sum over all processes is below 2**53. None: 1.
    size, total : ndarray of shape (n_groups,), int64
        The number of rows of each group on all processes, and their mass.
    number : ndarray of shape (n,), int64, or None
        Rows of equal keys come in the order of these numbers. None: in any order.
    by_number : ndarray of shape (n_groups,), bool, or None
        The groups whose rows have numbers; None: all, or none without numbers.
    columns : sequence of ndarray of shape (n,), float64
        What is to be known of the selected rows.
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
class Selected:
    """The selected row of each group, and its neighbors.

    Attributes
    ----------
    key : ndarray of shape (n_groups,), as the keys
        0 in groups without rows.
    number : ndarray of shape (n_groups,), int64
        0 in groups without numbers.
    before : ndarray of shape (n_groups,), int64
        The mass of the rows before it. Without numbers, rows of equal keys may or may
        not be among them.
    has_previous : ndarray of shape (n_groups,), bool
        Whether there are rows before it.
    previous : ndarray of shape (n_groups,), as the keys
        The key of the row before it.
    is_last : ndarray of shape (n_groups,), bool
        Whether there are no rows after it.
    columns : ndarray of shape (n_columns, n_groups), float64
        The columns of the row, in groups with numbers.
    """

    key: Keys
    number: Ints
    before: Ints
    has_previous: NDArray[np.bool_]
    previous: Keys
    is_last: NDArray[np.bool_]
    columns: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The rows that may still be selected: those with keys in a range.

    Attributes
    ----------
    keys, start, mass
        See `KeyedRows`.
    at : ndarray of shape (n,), uint32, or None
        Their places among the `KeyedRows`; None: these are all.
    low, high : ndarray of shape (n_groups,), as the keys
        The smallest and the largest key of the range.
    size, total : ndarray of shape (n_groups,), int64
        The number of candidates on all processes, and their mass.
    n_before, before : ndarray of shape (n_groups,), int64
        The number of rows with smaller keys on all processes, and their mass.
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

    @classmethod
    def all_of(cls, rows: KeyedRows) -> _Candidates:
        """All rows."""
        n_groups = len(rows.size)
        none, zeros = np.zeros(n_groups, rows.keys.dtype), np.zeros(n_groups, np.int64)
        return cls(
            *(rows.keys, rows.start, rows.mass, None, none, ~none),
            *(rows.size, rows.total, zeros, zeros, none),
        )

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Which groups have candidates, and a range of several keys."""
        return (self.size > 0) & (self.low < self.high)

    @property
    def group(self) -> NDArray[np.intp]:
        """The group of each row."""
        return np.repeat(np.arange(len(self.size)), np.diff(self.start))

    def places(self) -> Ints:
        """The places of the rows among the `KeyedRows`."""
        return np.arange(len(self.keys)) if self.at is None else self.at

    def between(self, low: Keys, high: Keys) -> tuple[_Candidates, Ints]:
        """The candidates in a smaller range, and how many have smaller keys.

        These are rows of this process; the sums over all processes stay as they are.
        """
        at, start, n_below, largest = rows_between(self.keys, self.start, low, high)
        narrowed = replace(
            self,
            keys=self.keys[at],
            start=start,
            mass=None if self.mass is None else self.mass[at],
            at=at if self.at is None else self.at[at],
            low=low,
            high=high,
            largest=np.maximum(largest, self.largest),
        )
        return narrowed, n_below


def select(
    rows: KeyedRows,
    place: Ints,
    collectives: Collectives,
    expected: Keys | None = None,
) -> Selected:
    """Select the first row of each group up to which the mass is more than ``place``.

    A sample of the rows tells between which keys this row is expected. The sampled keys
    in this window are the edges of bins. The mass of the rows of all processes in each
    bin tells in which bin the row is: the rows of this bin are the next candidates.
    They are gathered as soon as they are few.

    Parameters
    ----------
    rows : KeyedRows
    place : ndarray of shape (n_groups,), int64
        Less than the mass of the group; not read in groups without rows.
    collectives : Collectives
    expected : ndarray, as the keys, default=None
        Where there is one group: the edges of the first bins, ascending. None: those of
        a sample.
    """
    n_groups = len(place)
    by_key = _narrowed(_Candidates.all_of(rows), place, collectives, expected)
    has_number = np.full(n_groups, rows.number is not None)
    if rows.by_number is not None:
        has_number &= rows.by_number
    # Without numbers, one of the rows of equal keys is as good as any other: no row of
    # them needs to be gathered.
    is_equal = by_key.low == by_key.high
    to_gather = by_key
    if (is_equal & ~has_number).any():
        past_all = np.full_like(by_key.low, np.iinfo(by_key.low.dtype).max)
        low = np.where(is_equal & ~has_number, past_all, by_key.low)
        to_gather, _ = by_key.between(low, by_key.high)
    to_gather = _narrowed_by_number(
        rows, to_gather, is_equal & has_number, place, collectives
    )
    return _selected(rows, by_key, to_gather, place, collectives)


def _narrowed_by_number(
    rows: KeyedRows,
    candidates: _Candidates,
    is_equal: NDArray[np.bool_],
    place: Ints,
    collectives: Collectives,
) -> _Candidates:
    """The candidates; those of groups with equal keys are narrowed down by number."""
    if not is_equal.any():
        return candidates
    number = rows.number[candidates.places()].astype(np.uint64)
    by_number = replace(
        candidates,
        keys=np.where(is_equal[candidates.group], number, np.uint64(0)),
        low=np.zeros(len(place), np.uint64),
        high=np.where(is_equal, np.iinfo(np.uint64).max, np.uint64(0)),
    )
    return _narrowed(by_number, place, collectives)


def _narrowed(
    candidates: _Candidates,
    place: Ints,
    collectives: Collectives,
    edges: Keys | None = None,
) -> _Candidates:
    """Narrow candidates down until they are few, or of one key in each group."""
    while candidates.size[candidates.is_open].sum() > FEW:
        if edges is None:
            edges, first_edge = _edges(candidates, place, collectives)
        else:
            first_edge = np.array([0, len(edges)])
        window, own = _counts(candidates, edges, first_edge)
        counts = collectives.all_reduce(own)
        candidates = _in_bin(candidates, window, place, edges, first_edge, counts)
        edges = None
    return candidates


def _counts(
    candidates: _Candidates, edges: Keys, first_edge: Ints
) -> tuple[_Candidates, Ints]:
    """The candidates from the first to the last edge, and the mass of each bin."""
    low, high = edges[first_edge[:-1]], edges[first_edge[1:] - 1]
    window, n_below = candidates.between(low, high)
    counts = count_bins(window.keys, window.mass, window.start, edges, first_edge)
    n_groups = len(n_below)
    first_bin = 2 * first_edge + np.arange(n_groups + 1)
    n_above = np.diff(candidates.start) - np.diff(window.start) - n_below
    outside = [[n_below, n_above]]
    if candidates.mass is not None:
        outside.append(
            masses_beside(candidates.keys, candidates.mass, candidates.start, low, high)
        )
    for of_bin, (below, above) in zip(counts, outside, strict=True):
        of_bin[first_bin[:-1]] += below
        of_bin[first_bin[1:] - 1] += above
    return window, counts


def _edges(
    candidates: _Candidates, place: Ints, collectives: Collectives
) -> tuple[Keys, NDArray[np.int64]]:
    """Sampled keys near the place of each group, and where those of a group begin."""
    n_groups, is_open = len(place), candidates.is_open
    n_sampled = max(SAMPLED // n_groups, LEAST_SAMPLED)
    step = np.maximum(-(-candidates.size // n_sampled), 1)
    bounds = zip(candidates.start[:-1], candidates.start[1:], step, strict=True)
    at = [
        np.arange(*bound) if is_sampled else np.arange(0)
        for bound, is_sampled in zip(bounds, is_open, strict=True)
    ]
    ends = np.cumsum([len(own) for own in at])[:-1]
    own = np.concatenate(at)
    own_mass = None if candidates.mass is None else candidates.mass[own]
    samples = collectives.all_gather((ends, candidates.keys[own], own_mass))
    keys = [np.split(part, ends) for ends, part, _ in samples]
    masses = None
    if candidates.mass is not None:
        masses = [np.split(part, ends) for ends, _, part in samples]
    fraction = (place - candidates.before) / np.maximum(candidates.total, 1)
    edges = [
        _window(
            np.concatenate([part[g] for part in keys]),
            masses and np.concatenate([part[g] for part in masses]),
            fraction[g],
        )
        if is_open[g]
        else candidates.low[g : g + 1]
        for g in range(n_groups)
    ]
    first_edge = np.cumsum([0, *map(len, edges)], dtype=np.int64)
    return np.concatenate(edges), first_edge


def _window(keys: Keys, mass: Ints | None, fraction: float) -> Keys:
    """The keys of a sample near the one up to which this fraction of the mass lies."""
    if mass is None:
        keys = np.sort(keys)
        up_to, n = np.arange(1.0, len(keys) + 1), float(len(keys))
    else:
        order = np.argsort(keys, kind="stable")
        keys, mass = keys[order], mass[order].astype(np.float64)
        up_to = np.cumsum(mass)
        # As many rows of equal masses would have the same deviation.
        n = float(up_to[-1] ** 2 / max(np.cumsum(mass**2)[-1], 1.0))
    spread = WINDOW_SIGMAS * np.sqrt(fraction * (1.0 - fraction) / max(n, 1.0))
    first, last = np.searchsorted(
        up_to, ((fraction - spread) * up_to[-1], (fraction + spread) * up_to[-1])
    )
    first = min(max(first - 1, 0), len(keys) - 1)
    window = keys[first : last + 2]
    return window[np.append(True, window[1:] != window[:-1])]


def _in_bin(
    candidates: _Candidates,
    window: _Candidates,
    place: Ints,
    edges: Keys,
    first_edge: Ints,
    counts: Ints,
) -> _Candidates:
    """The candidates in the bins that the places are in.

    A group of n edges has 2 n + 1 bins: before the first edge, the first edge itself,
    between the first and the second, and so on.
    """
    n_groups = len(place)
    first_bin = 2 * first_edge + np.arange(n_groups + 1)
    n_up_to, up_to = np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1)[[0, -1]]
    start, last = first_bin[:-1], first_bin[1:] - 1
    chosen = np.searchsorted(
        up_to[1:], up_to[start] + place - candidates.before, side="right"
    )
    chosen = np.clip(chosen, start, last)
    side, is_edge = np.divmod(chosen - start, 2)
    below, above = first_edge[:-1] + side - 1, first_edge[:-1] + side
    low, high = candidates.low.copy(), candidates.high.copy()
    is_edge = is_edge == 1
    low[is_edge] = high[is_edge] = edges[above[is_edge]]
    has_below = ~is_edge & (below >= first_edge[:-1])
    has_above = ~is_edge & (above < first_edge[1:])
    low[has_below] = edges[below[has_below]] + 1
    high[has_above] = edges[above[has_above]] - 1
    is_outside = (candidates.size > 0) & ((chosen == start) | (chosen == last))
    source = candidates if is_outside.any() else window
    narrowed, _ = source.between(low, high)
    return replace(
        narrowed,
        size=counts[0, chosen],
        total=counts[-1, chosen],
        n_before=candidates.n_before + n_up_to[chosen] - n_up_to[start],
        before=candidates.before + up_to[chosen] - up_to[start],
    )


def _selected(
    rows: KeyedRows,
    by_key: _Candidates,
    to_gather: _Candidates,
    place: Ints,
    collectives: Collectives,
) -> Selected:
    """Gather the last candidates, and select one in each group.

    Parameters
    ----------
    by_key : _Candidates
        The last candidates.
    to_gather : _Candidates
        Those of them that need to be gathered.
    """
    n_groups, at = len(place), to_gather.places()
    mass = np.ones(len(at), np.int64) if to_gather.mass is None else to_gather.mass
    number = np.zeros(len(at), np.int64) if rows.number is None else rows.number[at]
    columns = np.empty((len(rows.columns), len(at)))
    for i, column in enumerate(rows.columns):
        columns[i] = column[at]
    own = (to_gather.group, rows.keys[at], number, mass, columns, by_key.largest)
    *parts, largest = zip(*collectives.all_gather(own), strict=True)
    group, keys, number, mass, columns = (
        np.concatenate(part, axis=-1) for part in parts
    )
    order = np.lexsort((number, keys, group))
    start = np.searchsorted(group[order], np.arange(n_groups + 1))
    previous = np.max(largest, axis=0)
    np.copyto(previous, by_key.low, where=to_gather.n_before > by_key.n_before)
    selected = Selected(
        by_key.low * (by_key.size > 0),
        np.zeros(n_groups, np.int64),
        to_gather.before.copy(),
        to_gather.n_before > 0,
        previous,
        to_gather.n_before + to_gather.size == rows.size,
        np.zeros((len(columns), n_groups)),
    )
    for g in np.flatnonzero(np.diff(start)):
        own = order[start[g] : start[g + 1]]
        up_to = to_gather.before[g] + np.cumsum(mass[own])
        i = int(np.searchsorted(up_to, place[g], side="right"))
        selected.key[g], selected.number[g] = keys[own[i]], number[own[i]]
        selected.columns[:, g] = columns[:, own[i]]
        selected.is_last[g] &= i == len(own) - 1
        if i > 0:
            selected.before[g] = up_to[i - 1]
            selected.has_previous[g] = True
            selected.previous[g] = keys[own[i - 1]]
    return selected
