"""Order statistics of rows that several processes hold, found by counting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.data.shares import Exchange

# The keys of so many rows in question are gathered, and sorted.
FEW = 4096

# The number of counters of a pass is about 2 to the power of this, for all groups. Each
# group has 2 to the power of ``MIN_DIGIT`` at least.
ALL_DIGITS = 16
MIN_DIGIT = 6

Keys = NDArray[np.uint64]
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


def select(
    keys: Keys,
    mass: NDArray[np.float64] | None,
    group: NDArray[np.intp],
    place: Ints,
    exchange: Exchange,
) -> tuple[Keys, Ints]:
    """Find the first key up to which the rows of a group weigh more than ``place``.

    The range of keys in question is cut into equal parts; what all rows of each part
    weigh tells in which part to go on.

    Parameters
    ----------
    keys : ndarray of shape (n,), uint64
        Those of this peer's rows.
    mass : ndarray of shape (n,), float64, or None
        What each row weighs: whole numbers whose sum is below 2**53. None: 1.
    group : ndarray of shape (n,), intp
        The group of each row, ascending.
    place : ndarray of shape (n_groups,), int64
        Less than all rows of the group weigh; not read in groups without rows.
    exchange : Exchange

    Returns
    -------
    key : ndarray of shape (n_groups,), uint64
        0 in groups without rows.
    before : ndarray of shape (n_groups,), int64
        What the rows with smaller keys weigh.
    """
    n_groups = len(place)
    found, before = np.zeros(n_groups, np.uint64), np.zeros(n_groups, np.int64)
    while True:
        n_rows, low, high = _ranges(keys, group, n_groups, exchange)
        is_found = (n_rows > 0) & (low == high)
        found[is_found] = low[is_found]
        is_open = low < high
        if is_found.any():
            keys, mass, group = _kept(is_open[group], keys, mass, group)
        if n_rows[is_open].sum() <= FEW:
            break
        bits = max(ALL_DIGITS - n_groups.bit_length(), MIN_DIGIT)
        shift = _shifts(low, high, bits)
        digit = ((keys - low[group]) >> shift[group]).astype(np.intp)
        count = _masses((group << bits) + digit, mass, n_groups << bits)
        up_to = np.cumsum(exchange.sum(count).reshape(n_groups, -1), axis=1)
        up_to += before[:, None]
        chosen = np.sum(up_to <= place[:, None], axis=1)
        later = np.flatnonzero(is_open & (chosen > 0))
        before[later] = up_to[later, chosen[later] - 1]
        keys, mass, group = _kept(digit == chosen[group], keys, mass, group)
    if is_open.any():
        few = exchange.gather((keys, mass, group))
        _select_few(few, place, found, before)
    return found, before


def _ranges(
    keys: Keys, group: NDArray[np.intp], n_groups: int, exchange: Exchange
) -> tuple[Ints, Keys, Keys]:
    """The number of all rows of each group, and their smallest and largest key."""
    start = np.searchsorted(group, np.arange(n_groups + 1))
    size = np.diff(start)
    low = np.full(n_groups, np.iinfo(np.uint64).max)
    high = np.zeros(n_groups, dtype=np.uint64)
    held = size > 0
    if held.any():
        low[held] = np.minimum.reduceat(keys, start[:-1][held])
        high[held] = np.maximum.reduceat(keys, start[:-1][held])
    sizes, lows, highs = zip(*exchange.gather((size, low, high)), strict=True)
    return np.sum(sizes, axis=0), np.min(lows, axis=0), np.max(highs, axis=0)


def _shifts(low: Keys, high: Keys, bits: int) -> Keys:
    """By how many bits to shift distances from ``low``, so that ``bits`` are left."""
    lengths = [(int(h) - int(b)).bit_length() for b, h in zip(low, high, strict=True)]
    return np.maximum(np.array(lengths) - bits, 0).astype(np.uint64)


def _masses(
    place: NDArray[np.intp], mass: NDArray[np.float64] | None, n_places: int
) -> Ints:
    return np.bincount(place, mass, n_places).astype(np.int64, copy=False)


def _kept(
    kept: NDArray[np.bool_],
    keys: Keys,
    mass: NDArray[np.float64] | None,
    group: NDArray[np.intp],
) -> tuple[Keys, NDArray[np.float64] | None, NDArray[np.intp]]:
    return keys[kept], None if mass is None else mass[kept], group[kept]


def _select_few(few: list[Any], place: Ints, found: Keys, before: Ints) -> None:
    """Set the keys of the groups of some rows, and what weighs before."""
    keys = np.concatenate([part[0] for part in few])
    group = np.concatenate([part[2] for part in few])
    mass = np.concatenate([np.ones(len(k)) if m is None else m for k, m, _ in few])
    order = np.lexsort((keys, group))
    keys, group, mass = keys[order], group[order], mass[order].astype(np.int64)
    for g in np.unique(group):
        first, stop = np.searchsorted(group, (g, g + 1))
        own = keys[first:stop]
        up_to = before[g] + np.cumsum(mass[first:stop])
        found[g] = own[np.searchsorted(up_to, place[g], side="right")]
        equal = np.searchsorted(own, found[g])
        before[g] = up_to[equal - 1] if equal else before[g]
