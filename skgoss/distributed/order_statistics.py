"""Order statistics of rows that several processes hold, by counting.

An order statistic is the value at a position among sorted values. No process has the
values of all rows. Each counts its rows by the leading bits of their keys. The sum of
the counts shows which leading bits the wanted row has. The rows with these bits are
then counted by their next bits, until all processes can gather the remaining rows.
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
MAX_GATHERED_ROWS = 65_536

# Rows are counted by this number of bits of group and key together, of which the key
# has at least the second number.
DIGIT_BITS = 17
MIN_KEY_BITS = 8


def ordered_keys(values: Floats) -> Keys:
    """Unsigned integers in the order of ``values``, which are not NaN.

    0.0 and -0.0 have the same key.
    """
    bits = (values + 0.0).view(np.int64)
    # As integers, the bits of negative numbers descend, and are above all others.
    flipped = bits >> 63
    flipped |= np.iinfo(np.int64).min
    bits ^= flipped
    return bits.view(np.uint64)


def reduced(function: np.ufunc, values: NDArray[Any], start: Ints, empty: Any) -> Any:
    """The values of each group, reduced by a function like ``np.add``.

    The values of group j are ``values[start[j]:start[j + 1]]``. The result of a group
    without values is ``empty``.
    """
    result = np.full(len(start) - 1, empty, dtype=values.dtype)
    has_values = np.diff(start) > 0
    result[has_values] = function.reduceat(values, start[:-1][has_values])
    return result


class Nearest(NamedTuple):
    """The rows of a process that are near the wanted one of each group."""

    # (m,): their positions among the rows of the process, group by group. If all near
    # rows of a group have one key, only the first of them.
    at: Ints
    start: Ints  # (n_groups + 1,): where those of each group begin, and the end
    # (n_groups,): the weight of the rows of all processes that are before the near
    # ones.
    before: Ints
    low: Keys  # (n_groups,): the smallest key of the near rows of all processes


def nearest(
    keys: Keys,
    start: Ints,
    weight: Floats | None,
    position: Ints,
    collectives: Collectives,
) -> Nearest:
    """The rows among which the wanted order statistic of each group is.

    A group has rows of its own, such as those of a leaf. If its rows of all processes
    are sorted by key, the wanted one is the first up to which the sum of weights is
    more than the group's ``position``, (n_groups,). Without weights (None), that is the
    row at the index ``position``.

    The ``keys`` of the rows of this process lie group by group; ``start``,
    (n_groups + 1,), is where those of each group begin, and the end. Weights are whole
    numbers above 0, whose sum over all processes is below 2**53. The position of a
    group is less than its weight, and not read in groups without rows. All processes
    together return at most `MAX_GATHERED_ROWS` rows, plus one for each group and
    process, which are few enough to be gathered and sorted.
    """
    n_groups, row = len(position), np.arange(len(keys))
    before = np.zeros(n_groups, np.int64)
    n_bits = max(DIGIT_BITS - n_groups.bit_length(), MIN_KEY_BITS)
    while True:
        size = np.diff(start)
        own_low = reduced(np.minimum, keys, start, np.iinfo(np.uint64).max)
        own_high = reduced(np.maximum, keys, start, 0)
        gathered = collectives.all_gather((size, own_low, own_high))
        sizes, lows, highs = zip(*gathered, strict=True)
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
        # A group whose rows all have one key is done: any of them is the wanted one.
        is_open = low < high
        if np.sum(sizes, axis=0)[is_open].sum() <= MAX_GATHERED_ROWS:
            break
        width = int((high - low)[is_open].max()).bit_length()
        shift = max(width - n_bits, 0)
        counts = count_digits(keys, start, low, shift, n_bits, weight)
        up_to = np.cumsum(collectives.all_reduce(counts), axis=1)
        up_to = np.pad(up_to, ((0, 0), (1, 0)))
        digit = np.sum(up_to[:, 1:] <= (position - before)[:, None], axis=1)
        before += up_to[np.arange(n_groups), digit]
        rows = rows_with_digit(keys, start, low, shift, digit)
        row, keys = row[rows], keys[rows]
        weight = None if weight is None else weight[rows]
        start = np.searchsorted(rows, start)
    is_left = np.repeat(is_open, size)
    is_left[start[:-1][size > 0]] = True
    kept = np.flatnonzero(is_left)
    return Nearest(row[kept], np.searchsorted(kept, start), before, low)


def largest_of_smallest(keys: Keys, n: int, collectives: Collectives) -> np.uint64:
    """The largest of the ``n`` >= 1 smallest keys of all processes.

    ``keys`` are those of this process. No two keys of all processes are the same.
    """
    start, position = np.array([0, len(keys)]), np.array([n - 1])
    near = nearest(keys, start, None, position, collectives)
    few = np.concatenate(collectives.all_gather(keys[near.at]))
    return np.sort(few)[n - 1 - near.before[0]]
