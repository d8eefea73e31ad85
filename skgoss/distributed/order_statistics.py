"""Order statistics of rows that several processes hold, by counting.

An order statistic is the value at a position among sorted values. No process sees the
values of all rows. Each counts its rows by the leading bits of their keys. The sum of
the counts tells which bits the wanted row has, and the rows with these bits are counted
by their next bits, until so few are left that all processes can gather them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training.sampling_kernels import count_digits, rows_with_digit
from skgoss.distributed.collectives import Collectives

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

# The maximum number of rows of all groups that are gathered.
FEW = 65_536

# The number of bits of group and key together by which rows are counted, and the least
# number of bits of the key.
MOST_BITS = 17
LEAST_BITS = 8


def ordered_keys(values: Floats) -> Keys:
    """Integers that are ordered as ``values`` are; 0.0 and -0.0 have the same."""
    bits = (values + 0.0).view(np.int64)
    # The bits of negative numbers are in descending order, and above those of others.
    flipped = bits >> 63
    flipped |= np.iinfo(np.int64).min
    bits ^= flipped
    return bits.view(np.uint64)


def reduced(function: np.ufunc, values: NDArray[Any], start: Ints, empty: Any) -> Any:
    """What a function like ``np.add`` makes of the values of each group.

    ``start`` tells where the values of each group begin, and the end. For groups
    without values, the result is ``empty``.
    """
    result = np.full(len(start) - 1, empty, dtype=values.dtype)
    has_values = np.diff(start) > 0
    result[has_values] = function.reduceat(values, start[:-1][has_values])
    return result


class Nearest(NamedTuple):
    """The rows of a process that are near the wanted one of each group."""

    # (m,): their positions among the rows of the process, group by group. Of rows that
    # have the same key as all others near it, only the first.
    at: Ints
    start: Ints  # (n_groups + 1,): where those of each group begin, and the end
    before: Ints  # (n_groups,): the weight of the rows of all processes before these
    # (n_groups,): the smallest key of the rows of all processes that are near.
    low: Keys


def nearest(
    keys: Keys,
    start: Ints,
    weight: Floats | None,
    position: Ints,
    collectives: Collectives,
) -> Nearest:
    """The rows near the first one up to which the weight is more than ``position``.

    They are at most `FEW` of all processes, and one for each group and process. The
    ``keys`` of the rows of this process lie group by group; ``start`` is where those of
    each group begin, and the end. Weights are whole numbers above 0, whose sum over all
    processes is below 2**53. The position of a group is less than its weight, and not
    read in groups without rows.
    """
    n_groups, at = len(position), np.arange(len(keys))
    before = np.zeros(n_groups, np.int64)
    n_bits = max(MOST_BITS - n_groups.bit_length(), LEAST_BITS)
    while True:
        size = np.diff(start)
        least = reduced(np.minimum, keys, start, np.iinfo(np.uint64).max)
        most = reduced(np.maximum, keys, start, 0)
        everyones = collectives.all_gather((size, least, most))
        sizes, lows, highs = zip(*everyones, strict=True)
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
        is_open = low < high
        if np.sum(sizes, axis=0)[is_open].sum() <= FEW:
            break
        width = int((high - low)[is_open].max()).bit_length()
        shift = max(width - n_bits, 0)
        counts = count_digits(keys, start, low, shift, n_bits, weight)
        up_to = np.cumsum(collectives.all_reduce(counts), axis=1)
        up_to = np.pad(up_to, ((0, 0), (1, 0)))
        digit = np.sum(up_to[:, 1:] <= (position - before)[:, None], axis=1)
        before += up_to[np.arange(n_groups), digit]
        rows = rows_with_digit(keys, start, low, shift, digit)
        at, keys = at[rows], keys[rows]
        weight = None if weight is None else weight[rows]
        start = np.searchsorted(rows, start)
    is_left = np.repeat(is_open, size)
    is_left[start[:-1][size > 0]] = True
    kept = np.flatnonzero(is_left)
    return Nearest(at[kept], np.searchsorted(kept, start), before, low)


def largest_of_smallest(keys: Keys, n: int, collectives: Collectives) -> np.uint64:
    """The largest of the ``n`` >= 1 smallest keys of all processes.

    ``keys`` are those of this process. No two keys of all processes are the same.
    """
    start, position = np.array([0, len(keys)]), np.array([n - 1])
    near = nearest(keys, start, None, position, collectives)
    few = np.concatenate(collectives.all_gather(keys[near.at]))
    return np.sort(few)[n - 1 - near.before[0]]
