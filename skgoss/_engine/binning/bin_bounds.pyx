"""The bounds of bins.

The boundaries follow LightGBM's rules (Ke et al., "LightGBM: A Highly Efficient Gradient
Boosting Decision Tree", NeurIPS 2017, and its documentation): bins have about equal mass, a heavy
value has a bin of its own, and so has zero.
"""

from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, fabs, isnan, llround, nextafter
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from skgoss._engine.binning.column_values cimport BLOCK, ZERO, is_zero
from skgoss._engine.binning.radix_sort cimport (
    SortScratch, ordered_key, sort_keys, value_of_key)
from skgoss._engine.columns.column_kernels cimport (
    InputColumns, is_sparse, load_block, load_rows, load_values, read_columns)
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for, parallel_shares

import numpy as np

cdef enum:
    MISSING_NONE = 0
    MISSING_ZERO = 1
    MISSING_NAN = 2

# What counts as missing in a column. Where missing values go that no training row of a node has is
# decided in several places:
# - A column with missing values: to the node's larger child (`NONE_MISSING` of training/gains.h).
# - NAN_IS_UNSEEN: the same, as no node of the column has them.
# - NO_MISSING: NaN counts as zero (`nan_goes_left` of skgoss/model/trees.py), whatever the nodes
#   say. They say "left", as LightGBM's do (skgoss/training/ensemble_builder.py).
NO_MISSING: int = MISSING_NONE
ZERO_IS_MISSING: int = MISSING_ZERO
NAN_IS_MISSING: int = MISSING_NAN
# NaN is missing, but no row has it, so it has no bin.
NAN_IS_UNSEEN: int = 3
ZERO_BOUND: float = ZERO

cdef enum:
    # The number of columns that are read together, because a cache line of row-major data holds
    # values of several columns. It is larger for several threads, each of which sorts a column, and
    # if there are few values. It is limited, because new memory costs as much time as sorting.
    GROUP = 8
    GROUP_PER_THREAD = 2
    GROUP_VALUES = 1 << 19


cdef Py_ssize_t group_size(
    Py_ssize_t n_features, int n_threads, int64_t n_values,
) noexcept nogil:
    """The number of columns that are read at a time, in groups of about equal size.

    It is a multiple of ``n_threads``, unless that exceeds ``n_features``: each thread sorts a
    column. ``n_values``: the largest number of values that are read of a column.
    """
    cdef Py_ssize_t max_columns = max(
        <Py_ssize_t> GROUP, <Py_ssize_t> GROUP_PER_THREAD * n_threads,
        <Py_ssize_t> (GROUP_VALUES // max(n_values, <int64_t> 1)))
    cdef Py_ssize_t n_groups = (n_features + max_columns - 1) // max_columns
    cdef Py_ssize_t n = (n_features + n_groups - 1) // n_groups
    return min(n_features, (n + n_threads - 1) // n_threads * n_threads)


def scratch_size(
    Py_ssize_t n_features, int n_threads, int64_t n_values, bint weighted
) -> int:
    """The 64-bit numbers that ``find_bounds`` needs for columns of at most ``n_values`` values.

    These are the values of a group of columns, and arrays to sort a column for each thread:
    `split_scratch`.
    """
    cdef Py_ssize_t n_columns = group_size(n_features, n_threads, n_values)
    return n_columns * whole_blocks(n_values) + n_threads * sort_size(n_values, weighted)


cdef inline int64_t sort_size(int64_t n_values, bint weighted) noexcept nogil:
    """The 64-bit numbers that a thread needs to sort values, with or without their weights."""
    return (4 if weighted else 2) * n_values


cdef inline int64_t whole_blocks(int64_t n) noexcept nogil:
    """A number of rows, rounded up to whole blocks."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


cdef struct BinningRules:
    # Options of these names: the largest number of bins of a column, the fewest sampled rows of a
    # bin, whether NaN is a missing value, and whether zero is.
    int32_t max_bin
    int64_t min_data_in_bin
    bint use_missing
    bint zero_as_missing


cdef struct Side:
    # The distinct values of one sign, ascending. Keys are integers in the order of the values
    # (`ordered_key`), one for each sampled row. Those of value i are the keys from end[i - 1] (or
    # `first`, for value 0) to end[i].
    const uint64_t* key       # of all rows of both signs, sorted
    int64_t first
    const int64_t* end        # of each value
    const double* mass        # of each value: the weight of its rows; NULL: their number
    int64_t n_values
    int64_t n_rows
    double total              # mass of all values


cdef inline double value_at(const Side* side, int64_t i) noexcept nogil:
    """A distinct value: the largest of the neighboring floats that count as equal."""
    return value_of_key(side.key[side.end[i] - 1])


cdef inline int64_t count_at(const Side* side, int64_t i) noexcept nogil:
    """The number of rows of distinct value i."""
    return side.end[i] - (side.end[i - 1] if i > 0 else side.first)


cdef inline double mass_at(const Side* side, int64_t i) noexcept nogil:
    """The weight of the rows of distinct value i, or their number if rows have no weights."""
    return side.mass[i] if side.mass != NULL else count_at(side, i)


cdef struct Tally:
    # The sampled values of a column: zeros, NaN, and others, of which there are `max_other` at
    # most.
    int64_t max_other
    int64_t n_other
    int64_t n_zero
    int64_t n_nan
    double nan_mass           # weight of the rows with NaN


cdef struct Forced:
    # Upper bounds of bins that the user passes for a column, ascending. If there are more than
    # bins, those that come first in the user's order, by `rank` (0, 1, ...), are used.
    const double* bound
    const int32_t* rank
    int64_t n


cdef inline void tally_value(
    double value, double mass, bint weighted, Tally* tally, SortScratch* scratch_out
) noexcept nogil:
    """Count NaN and its mass; keep the key of a value but zero, and its mass if ``weighted``.

    Zeros are not counted here: they are the remaining rows, see `read_sparse`.
    """
    if isnan(value):
        tally.n_nan += 1
        tally.nan_mass += mass
    elif not is_zero(value, False) and tally.n_other < tally.max_other:
        scratch_out.key[tally.n_other] = ordered_key(value)
        if weighted:
            scratch_out.mass[tally.n_other] = mass
        tally.n_other += 1


cdef Tally read_dense(
    const double* values, Py_ssize_t stride, const double* weight, int64_t n,
    SortScratch* scratch_out,
) noexcept nogil:
    """Prepare the values of a dense column to be sorted, and count zeros and NaN.

    - ``values``: n values, in blocks of BLOCK; each block begins ``stride`` numbers after the one
      before, because the blocks of other columns are between them.
    - ``weight``, (n,): the masses of the values; NULL: 1.
    - ``scratch_out``: gets the keys (`ordered_key`) and masses of values that are neither zero nor
      NaN, not sorted yet.
    """
    cdef Tally tally = Tally(n, 0, 0, 0, 0.0)
    cdef uint64_t* key = scratch_out.key
    cdef int64_t start = 0, n_other = 0, n_nan = 0
    cdef int64_t n_block, i
    # Without branches to mispredict: each key is written, and overwritten by the next one if it is
    # that of a zero or NaN.
    while start < n:
        n_block = min(<int64_t> BLOCK, n - start)
        if weight != NULL:
            weigh_block(values, weight + start, n_block, scratch_out.mass + n_other, &tally)
        for i in range(n_block):
            key[n_other] = ordered_key(values[i])
            n_other += fabs(values[i]) > ZERO
            n_nan += values[i] != values[i]
        start += BLOCK
        values += stride
    tally.n_other, tally.n_nan, tally.n_zero = n_other, n_nan, n - n_other - n_nan
    if weight == NULL:
        tally.nan_mass = n_nan
    return tally


cdef void weigh_block(
    const double* values, const double* weight, int64_t n, double* mass_out, Tally* tally,
) noexcept nogil:
    """Keep the masses of values that are neither zero nor NaN, and add up those of NaN.

    ``mass_out``: room for n masses; the kept ones come first. The sum of NaN's masses is added to
    ``tally.nan_mass``.
    """
    cdef int64_t n_other = 0
    cdef int64_t i
    for i in range(n):
        mass_out[n_other] = weight[i]
        n_other += fabs(values[i]) > ZERO
        tally.nan_mass += weight[i] if isnan(values[i]) else 0.0


cdef Tally read_sparse(
    const InputColumns* inputs, Py_ssize_t column, const int32_t* position,
    const double* weight, int64_t n, SortScratch* scratch_out,
) noexcept nogil:
    """Prepare the values of a sparse column to be sorted, and count zeros and NaN.

    - ``position``, by row of the data: its position in the sample; -1: it is not in the sample;
      NULL: all rows are.
    - ``weight``, (n,), by position in the sample: masses; NULL: 1.
    - ``n``: the rows of the sample. Those that the column does not store are zeros.
    - ``scratch_out``: gets the keys and masses of values that are neither zero nor NaN.

    The numbers of the stored rows are only read if there are positions or weights.
    """
    cdef double[BLOCK] values
    cdef int32_t[BLOCK] row
    cdef Tally tally = Tally(min(n, inputs.length[column]), 0, 0, 0, 0.0)
    cdef int64_t block, start, i, n_block, n_read
    for block in range((inputs.length[column] + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        n_block = min(<int64_t> BLOCK, inputs.length[column] - start)
        load_values(
            inputs.address[column], inputs.stride[column], inputs.kind[column], NULL, start,
            n_block, values)
        if position != NULL or weight != NULL:
            load_rows(inputs, column, start, n_block, row)
        if position != NULL:
            # Without a branch, as it is unpredictable whether a row is in the sample.
            n_read = n_block
            n_block = 0
            for i in range(n_read):
                values[n_block] = values[i]
                row[n_block] = position[row[i]]
                n_block += row[n_block] >= 0
        for i in range(n_block):
            tally_value(
                values[i], weight[row[i]] if weight != NULL else 1.0, weight != NULL, &tally,
                scratch_out)
    tally.n_zero = n - tally.n_other - tally.n_nan
    return tally


cdef Side distinct_values(
    const SortScratch* scratch, int64_t first, int64_t last, bint weighted, int64_t n_before
) noexcept nogil:
    """Merge equal and neighboring values of sorted keys first, ..., last - 1.

    Neighboring floats, whose keys differ by 1, count as equal: no bound could lie between them.
    Ends and masses are written to the swap arrays of the finished sort, which are free, after the
    ``n_before`` distinct values that are there already.
    """
    cdef Side side
    cdef const uint64_t* key = scratch.key
    cdef int64_t* end = <int64_t*> scratch.key_swap + n_before
    cdef double* mass = scratch.mass_swap + n_before if weighted else NULL
    cdef int64_t at = -1
    cdef int64_t i
    side.total = 0.0 if weighted else last - first
    for i in range(first, last):
        if i == first or key[i] > key[i - 1] + 1:
            at += 1
            if weighted:
                mass[at] = 0.0
        end[at] = i + 1
        if weighted:
            mass[at] += scratch.mass[i]
            side.total += scratch.mass[i]
    side.key, side.first, side.end = key, first, end
    side.mass = mass if weighted else NULL
    side.n_values = at + 1
    side.n_rows = last - first
    return side


cdef inline double boundary(double below, double above) noexcept nogil:
    """The smallest float64 above the middle; finite, so that only infinity is above the last."""
    cdef double middle = (below + above) / 2.0
    if middle == INFINITY:
        middle = below / 2.0 + above / 2.0
    return min(nextafter(middle, INFINITY), DBL_MAX)


cdef inline int32_t add_boundary(
    double below, double above, double* bounds_out, int32_t n_bounds
) noexcept nogil:
    """Append the boundary of two neighboring distinct values, unless it touches the last one.

    Returns the new number of bounds, ``n_bounds`` or one more.
    """
    cdef double bound = boundary(below, above)
    if n_bounds > 0 and bound <= nextafter(bounds_out[n_bounds - 1], INFINITY):
        return n_bounds
    bounds_out[n_bounds] = bound
    return n_bounds + 1


cdef int32_t bound_each_value(
    const Side* side, int64_t min_count, double* bounds_out
) noexcept nogil:
    """A bin for each distinct value, or for several if one has fewer than ``min_count`` rows.

    Returns the number of boundaries, which are between bins: one less than there are bins.
    """
    cdef int32_t n_bounds = 0
    cdef int32_t n_new
    cdef int64_t held = 0
    cdef int64_t i
    for i in range(side.n_values - 1):
        held += count_at(side, i)
        if held >= min_count:
            n_new = add_boundary(value_at(side, i), value_at(side, i + 1), bounds_out, n_bounds)
            if n_new > n_bounds:
                held = 0
            n_bounds = n_new
    return n_bounds


cdef int32_t bound_equal_mass(
    const Side* side, int32_t max_bin, double* bounds_out
) noexcept nogil:
    """Bins of about equal mass; a value at least as heavy as the mean bin has its own.

    A heavy value has at least the mass ``total / max_bin``. The others are light: a bin of light
    values ends when its mass, ``held``, reaches the mean mass of the remaining light bins,
    ``light_mass / light_bins``, which is updated after each of them; or half of it before a heavy
    value, so that the heavy one has its bin alone. Returns the number of boundaries, which are
    between bins: one less than there are bins, at most ``max_bin`` - 1.
    """
    cdef double heavy = side.total / max_bin
    cdef double light_mass = side.total
    cdef int64_t light_bins = max_bin
    cdef double held = 0.0
    cdef double mean, mass, next_mass
    cdef int32_t n_closed = 0
    cdef int32_t n_bounds = 0
    cdef int64_t i
    for i in range(side.n_values):
        mass = mass_at(side, i)
        if mass >= heavy:
            light_mass -= mass
            light_bins -= 1
    mean = light_mass / light_bins
    next_mass = mass_at(side, 0)
    for i in range(side.n_values - 1):
        if n_closed >= max_bin - 1:
            break
        mass, next_mass = next_mass, mass_at(side, i + 1)
        if mass < heavy:
            light_mass -= mass
        held += mass
        if mass >= heavy or held >= mean or (next_mass >= heavy and held >= mean * 0.5):
            n_bounds = add_boundary(value_at(side, i), value_at(side, i + 1), bounds_out, n_bounds)
            n_closed += 1
            held = 0.0
            if mass < heavy:
                light_bins -= 1
                mean = light_mass / light_bins
    return n_bounds


cdef int32_t bound_side(
    const Side* side, int32_t max_bin, int64_t min_count, double* bounds_out
) noexcept nogil:
    """Boundaries between the values of one sign, and infinity after the last; returns their number.

    ``max_bin``: the bins of this side, at least 1. ``min_count``: the rows that a bin should have,
    0 for no limit. ``bounds_out``: room for ``max_bin`` numbers.
    """
    cdef int32_t n_bounds
    if side.n_values <= max_bin:
        n_bounds = bound_each_value(side, min_count, bounds_out)
    else:
        if min_count > 0:
            max_bin = max(<int32_t> 1, <int32_t> min(<int64_t> max_bin, side.n_rows // min_count))
        n_bounds = bound_equal_mass(side, max_bin, bounds_out)
    bounds_out[n_bounds] = INFINITY
    return n_bounds + 1


cdef int32_t bound_around_zero(
    const Side* left, const Side* right, int64_t n_zero, int32_t max_bin, int64_t min_count,
    double* bounds_out, int32_t* n_occupied_out,
) noexcept nogil:
    """Boundaries of a column: the negative values, zero alone, the positive values.

    Returns their number: one for each bin, with infinity for the last. ``n_occupied_out`` is the
    number of bins that have rows; only that of zero may have none. The bin of zero is set aside
    first: it has the values from just above -ZERO to ZERO. Of the other bins, negative values get
    their part by mass, at least one, and positive values the rest. A sign that gets none shares the
    bin of zero.

    ``left``, ``right``: the negative and the positive values. ``n_zero``: the rows that are zero.
    """
    cdef int32_t n_left = 0
    cdef int32_t n_right = 0
    cdef int32_t budget
    cdef bint zero_is_occupied
    if left.n_values > 0 and max_bin > 1:
        budget = <int32_t> (left.total / (left.total + right.total) * (max_bin - 1))
        n_left = bound_side(left, max(<int32_t> 1, budget), min_count, bounds_out)
        bounds_out[n_left - 1] = -ZERO      # was infinity
    budget = max_bin - 1 - n_left
    if right.n_values > 0 and budget > 0:
        bounds_out[n_left] = ZERO
        n_right = bound_side(right, budget, min_count, bounds_out + n_left + 1)
    else:
        bounds_out[n_left] = INFINITY
    zero_is_occupied = (
        n_zero > 0 or (right.n_rows > 0 and n_right == 0) or (left.n_rows > 0 and n_left == 0))
    n_occupied_out[0] = n_left + n_right + zero_is_occupied
    return n_left + 1 + n_right


cdef int32_t fixed_bounds(
    const Forced* forced, bint has_left, bint has_right, int32_t max_bin, double* fixed_out
) noexcept nogil:
    """The bounds around zero, as many of the user's as there is room for, and infinity.

    They are the upper bounds of at most ``max_bin`` bins, ascending; returns their number.
    ``has_left``, ``has_right``: whether there are negative and positive values.
    """
    cdef bint below = has_left and max_bin > 1
    cdef bint above = has_right and max_bin > 2 or max_bin == 2 and not has_left
    cdef int64_t room = max_bin - 1 - below - above
    cdef int32_t n = 0
    cdef int64_t i
    for i in range(forced.n):
        if below and forced.bound[i] > 0.0:
            fixed_out[n] = -ZERO
            n += 1
            below = False
        if above and forced.bound[i] > 0.0:
            fixed_out[n] = ZERO
            n += 1
            above = False
        if forced.rank[i] < room:
            fixed_out[n] = forced.bound[i]
            n += 1
    if below:
        fixed_out[n] = -ZERO
        n += 1
    if above:
        fixed_out[n] = ZERO
        n += 1
    fixed_out[n] = INFINITY
    return n + 1


cdef Side side_below(const Side* side, double bound, int64_t first) noexcept nogil:
    """The values of a side that are at most a bound, from distinct value number ``first`` on."""
    cdef Side below = side[0]
    cdef int64_t i
    below.n_values = below.n_rows = 0
    below.total = 0.0
    for i in range(first, side.n_values):
        if value_at(side, i) > bound:
            break
        below.n_values += 1
        below.n_rows += count_at(side, i)
        below.total += mass_at(side, i)
    if first > 0:
        below.first = side.end[first - 1]
        below.end = side.end + first
        below.mass = side.mass + first if side.mass != NULL else NULL
    return below


cdef int32_t count_occupied(
    const Side* left, const Side* right, int64_t n_zero, const double* bound
) noexcept nogil:
    """The number of bins that hold values, of which ``left`` are negative and ``right`` positive.

    ``bound``: the upper bounds of the bins, ascending; the last one is infinite.
    """
    cdef int32_t last = -1, at = 0, n_occupied = 0
    cdef int64_t i, n_left = left.n_values, n_middle = left.n_values + (n_zero > 0)
    cdef double value
    for i in range(n_middle + right.n_values):
        value = (
            value_at(left, i) if i < n_left
            else value_at(right, i - n_middle) if i >= n_middle else 0.0
        )
        while value > bound[at]:
            at += 1
        n_occupied += at != last
        last = at
    return n_occupied


cdef int32_t bound_between(
    const Side* left, const Side* right, const Forced* forced, double total,
    int32_t max_bin, int64_t min_count, double* fixed, double* bounds_out,
) noexcept nogil:
    """Boundaries of a column for which the user passes some.

    The remaining bins are distributed by mass: the values between two of the user's boundaries are
    divided like a column of their own, but no interval gets bins that earlier ones have used.

    - ``left``, ``right``: the negative and the positive values.
    - ``forced``: the user's boundaries.
    - ``min_count``: the minimum number of rows of the other bins.
    - ``total``: the mass of all values, including zeros.
    - ``fixed``: work space of ``max_bin`` numbers, for `fixed_bounds`.

    Returns the number of bounds: one for each bin, with infinity for the last.
    """
    cdef int32_t n_fixed = fixed_bounds(
        forced, left.n_values > 0, right.n_values > 0, max_bin, fixed)
    cdef int32_t n_free = max_bin - n_fixed
    cdef int32_t n_unused = n_free, n_bounds = 0, n_new, i
    cdef int64_t n_wanted
    cdef int64_t[2] first
    cdef bint is_right
    cdef Side between
    first[0] = first[1] = 0
    for i in range(n_fixed):
        is_right = fixed[i] > 0.0
        between = side_below(right if is_right else left, fixed[i], first[is_right])
        first[is_right] += between.n_values
        n_wanted = n_unused
        if i < n_fixed - 1:
            n_wanted = min(<int64_t> n_unused, llround(between.total * n_free / total))
        n_new = bound_side(&between, <int32_t> n_wanted + 1, min_count, bounds_out + n_bounds) - 1
        n_unused -= n_new
        n_bounds += n_new
        bounds_out[n_bounds] = fixed[i]
        n_bounds += 1
    return n_bounds


cdef void find_column_bounds(
    const InputColumns* inputs, Py_ssize_t column, const double* values, Py_ssize_t stride,
    const int32_t* position, const double* weight, int64_t n, double total, BinningRules rule,
    bint has_nan, Forced forced, SortScratch scratch, double* bounds_out, int32_t* n_bounds_out,
    uint8_t* missing_type_out, int32_t* n_occupied_out, double* range_out,
    double* zero_share_out,
) noexcept nogil:
    """Find the boundaries of one column: sort its sampled values, and merge equal ones.

    - ``values``, ``stride``: of a dense column: see `read_dense`.
    - ``position``, ``weight``, ``n``: see `read_sparse`; ``total`` is the mass of all n rows.
    - ``has_nan``: whether rows outside the sample have NaN.
    - ``bounds_out``: room for ``max_bin`` bounds, and for as many again if ``forced`` has any.
    - ``range_out``, (2,); the other results are single numbers: see `find_bounds`.
    """
    cdef bint weighted = weight != NULL
    cdef Tally tally
    cdef Side left, right
    cdef int64_t n_negative = 0
    cdef int32_t max_bin = rule.max_bin
    if is_sparse(inputs, column):
        tally = read_sparse(inputs, column, position, weight, n, &scratch)
    else:
        tally = read_dense(values, stride, weight, n, &scratch)
    sort_keys(&scratch, tally.n_other, weighted)
    # The highest bit of a key is set if the value is not negative.
    while n_negative < tally.n_other and not scratch.key[n_negative] >> 63:
        n_negative += 1
    left = distinct_values(&scratch, 0, n_negative, weighted, 0)
    right = distinct_values(&scratch, n_negative, tally.n_other, weighted, left.n_values)
    missing_type_out[0] = MISSING_NONE
    if rule.use_missing and not rule.zero_as_missing and (has_nan or tally.n_nan > 0):
        missing_type_out[0] = MISSING_NAN
        max_bin -= 1
        total -= tally.nan_mass
    else:
        # Without a bin of its own, NaN counts as zero.
        tally.n_zero += tally.n_nan
        tally.n_nan = 0
    if forced.n > 0:
        n_bounds_out[0] = bound_between(
            &left, &right, &forced, total, max_bin, rule.min_data_in_bin,
            bounds_out + rule.max_bin, bounds_out)
        n_occupied_out[0] = count_occupied(&left, &right, tally.n_zero, bounds_out)
    else:
        n_bounds_out[0] = bound_around_zero(
            &left, &right, tally.n_zero, max_bin, rule.min_data_in_bin, bounds_out,
            n_occupied_out)
    n_occupied_out[0] += missing_type_out[0] == MISSING_NAN
    if rule.use_missing and rule.zero_as_missing and n_bounds_out[0] > 2:
        missing_type_out[0] = MISSING_ZERO
    zero_share_out[0] = tally.n_zero / <double> max(n, <int64_t> 1)
    range_out[0] = range_out[1] = 0.0
    if left.n_values > 0:
        range_out[0] = value_at(&left, 0)
        range_out[1] = 0.0 if tally.n_zero > 0 else value_at(&left, left.n_values - 1)
    if right.n_values > 0:
        range_out[1] = value_at(&right, right.n_values - 1)
        if left.n_values == 0 and tally.n_zero == 0:
            range_out[0] = value_at(&right, 0)


cdef struct BoundsLoop:
    InputColumns inputs
    # The rows to read, and the position of each row of the data among them; NULL: all rows are
    # read.
    const int64_t* rows
    const int32_t* position
    const double* weight      # of each row read; NULL: 1
    int64_t n_rows            # that are read
    double total              # of their weights
    BinningRules rule
    const uint8_t* has_nan    # of each column; NULL: all rows are read here
    const int64_t* forced_start
    const double* forced_bound
    const int32_t* forced_rank
    Py_ssize_t first          # of the group of columns
    Py_ssize_t n_columns
    double* values            # of each block of rows: a block of each column of the group
    int64_t room              # values of a column that the scratch space of a thread can hold
    uint64_t* scratch
    const int64_t* bounds_start
    double* bounds
    int32_t* n_bounds
    uint8_t* missing_type
    int32_t* n_occupied
    double* range
    double* zero_share
    Watch watch


cdef bint has_dense(const BoundsLoop* loop) noexcept nogil:
    """Whether a column of the group is not sparse."""
    cdef Py_ssize_t j
    for j in range(loop.first, loop.first + loop.n_columns):
        if not is_sparse(&loop.inputs, j):
            return True
    return False


cdef void read_body(void* context, Py_ssize_t start, Py_ssize_t end, int thread) noexcept nogil:
    """Read a block of rows, ``start`` to ``end``, of the columns of a group that are not sparse."""
    cdef BoundsLoop* loop = <BoundsLoop*> context
    cdef double* values = loop.values + start * loop.n_columns
    cdef Py_ssize_t j
    if is_stopped(&loop.watch):
        return
    for j in range(loop.n_columns):
        if not is_sparse(&loop.inputs, loop.first + j):
            load_block(
                &loop.inputs, loop.first + j, loop.rows, start, end - start, values + j * BLOCK)


cdef void find_body(void* context, Py_ssize_t number, Py_ssize_t end, int thread) noexcept nogil:
    """Find the boundaries of one column, by its number in the group."""
    cdef BoundsLoop* loop = <BoundsLoop*> context
    cdef Py_ssize_t j = loop.first + number
    if is_stopped(&loop.watch):
        return
    find_column_bounds(
        &loop.inputs, j, loop.values + number * BLOCK, loop.n_columns * BLOCK, loop.position,
        loop.weight, loop.n_rows, loop.total, loop.rule,
        loop.has_nan != NULL and loop.has_nan[j], forced_of(loop, j),
        split_scratch(
            loop.scratch + thread * sort_size(loop.room, loop.weight != NULL), loop.room,
            loop.weight != NULL),
        loop.bounds + loop.bounds_start[j], &loop.n_bounds[j], &loop.missing_type[j],
        &loop.n_occupied[j], &loop.range[2 * j], &loop.zero_share[j])


def find_bounds(
    columns, const int64_t[::1] rows or None, const int32_t[::1] position or None,
    const double[::1] weight or None, const uint8_t[::1] has_nan or None, int64_t n_rows,
    int32_t max_bin, int64_t min_data_in_bin,
    bint use_missing, bint zero_as_missing, const int64_t[::1] forced_start,
    const double[::1] forced_bound, const int32_t[::1] forced_rank, int n_threads,
    const int64_t[::1] bounds_start, int64_t room, uint64_t[::1] scratch_out,
    double[::1] bounds_out, int32_t[::1] n_bounds_out, uint8_t[::1] missing_type_out,
    int32_t[::1] n_occupied_out, double[:, ::1] range_out, double[::1] zero_share_out,
) -> None:
    """Find the boundaries of every column.

    - ``columns``, `Columns`.
    - ``rows``, (n_rows,) or None: the rows to read; None reads the first ``n_rows``.
    - ``position``, (columns.n_rows,) or None: the position of each row of the data in ``rows``, -1
      if it is not there. Sparse columns need it; None if all rows are read.
    - ``weight``, (n_rows,) or None: the mass of each row read.
    - ``has_nan``, (n_features,) or None: whether a column has NaN in other rows than these.
    - ``forced_start``, ``forced_bound``, ``forced_rank``: the bounds that the user passes: see
      ``skgoss.binning.forced_bins.packed``.
    - ``max_bin``, ``min_data_in_bin``, ``use_missing``, ``zero_as_missing``: the options.
    - ``bounds_start``, (n_features + 1,): where the room for the bounds of a column begins in
      ``bounds_out``: max_bin numbers, or 2 * max_bin if the user passes some.
    - ``room``: at least the number of values read of any column.
    - ``scratch_out``, (scratch_size(n_features, n_threads, room, weighted),): work space.
    - ``bounds_out``, (bounds_start[-1],): upper bounds of the bins of numbers, the last one
      infinite.
    - ``n_bounds_out``, ``n_occupied_out``, (n_features,): the number of bounds, and the number of
      bins that hold rows, including the bin of NaN.
    - ``missing_type_out``, (n_features,): NO_MISSING, ZERO_IS_MISSING or NAN_IS_MISSING.
    - ``range_out``, (n_features, 2): smallest and greatest number.
    - ``zero_share_out``, (n_features,): the proportion of rows that are zero, or count as zero.
    """
    cdef Py_ssize_t n_features = n_bounds_out.shape[0]
    cdef Py_ssize_t n_group
    cdef BoundsLoop loop
    if n_features == 0:
        return
    loop.inputs, loop.n_rows, loop.total = read_columns(columns), n_rows, n_rows
    loop.rows = NULL if rows is None else &rows[0]
    loop.position = NULL if position is None else &position[0]
    loop.weight = NULL if weight is None else &weight[0]
    loop.has_nan = NULL if has_nan is None else &has_nan[0]
    if weight is not None:
        loop.total = np.sum(weight)
    loop.rule = BinningRules(max_bin, min_data_in_bin, use_missing, zero_as_missing)
    loop.forced_start = &forced_start[0]
    loop.forced_bound = &forced_bound[0] if forced_bound.shape[0] else NULL
    loop.forced_rank = &forced_rank[0] if forced_rank.shape[0] else NULL
    loop.n_columns = n_features
    loop.first, loop.room, loop.scratch = 0, room, &scratch_out[0]
    # Sparse columns are not read in groups, and need no room for their values.
    n_group = group_size(n_features, n_threads, room) if has_dense(&loop) else n_features
    loop.values = <double*> (
        loop.scratch + n_threads * sort_size(room, weight is not None))
    loop.bounds_start, loop.bounds, loop.n_bounds = (
        &bounds_start[0], &bounds_out[0], &n_bounds_out[0])
    loop.missing_type, loop.n_occupied = &missing_type_out[0], &n_occupied_out[0]
    loop.range, loop.zero_share = &range_out[0, 0], &zero_share_out[0]
    loop.watch = start_watch()
    with nogil:
        while loop.first < n_features:
            loop.n_columns = min(n_group, n_features - loop.first)
            if has_dense(&loop):
                parallel_shares(read_body, &loop, n_rows, BLOCK, n_threads)
            parallel_for(find_body, &loop, loop.n_columns, 1, n_threads)
            loop.first += n_group
    end_watch(&loop.watch)


cdef inline Forced forced_of(const BoundsLoop* loop, Py_ssize_t column) noexcept nogil:
    """The bounds that the user passes for a column."""
    cdef int64_t start = loop.forced_start[column]
    return Forced(
        loop.forced_bound + start, loop.forced_rank + start,
        loop.forced_start[column + 1] - start)


cdef SortScratch split_scratch(uint64_t* room, int64_t n, bint weighted) noexcept nogil:
    """Divide a thread's memory, `sort_size`, among the arrays for n values."""
    cdef double* mass = <double*> (room + 2 * n)
    if not weighted:
        return SortScratch(room, room + n, NULL, NULL)
    return SortScratch(room, room + n, mass, mass + n)


# ------------------------------------------------------------------ NaN


cdef struct NanLoop:
    InputColumns inputs
    # As for `find_bounds`; NULL: all rows are read.
    const int64_t* rows
    const int32_t* position
    Py_ssize_t n_features
    uint8_t* found            # by thread and column
    Watch watch


cdef inline bint holds_nan(const double* values, int64_t n) noexcept nogil:
    """Whether any of n values is NaN; without an early exit, so that the compiler vectorizes it."""
    cdef bint found = False
    cdef int64_t i
    for i in range(n):
        found |= values[i] != values[i]
    return found


cdef void scan_rows_body(
    void* context, Py_ssize_t start, Py_ssize_t end, int thread
) noexcept nogil:
    """Look for NaN in a block of rows of the columns that are not sparse."""
    cdef NanLoop* loop = <NanLoop*> context
    cdef uint8_t* found = loop.found + thread * loop.n_features
    cdef double[BLOCK] values
    cdef Py_ssize_t j
    if is_stopped(&loop.watch):
        return
    for j in range(loop.n_features):
        if not (found[j] or is_sparse(&loop.inputs, j)):
            load_block(&loop.inputs, j, loop.rows, start, end - start, values)
            found[j] = holds_nan(values, end - start)


cdef void scan_stored_body(
    void* context, Py_ssize_t j, Py_ssize_t end, int thread
) noexcept nogil:
    """Look for NaN among the stored values of a column, if it is sparse."""
    cdef NanLoop* loop = <NanLoop*> context
    cdef uint8_t* found = loop.found + thread * loop.n_features
    cdef double[BLOCK] values
    cdef int32_t[BLOCK] row
    cdef int64_t start, n, i
    if is_stopped(&loop.watch) or not is_sparse(&loop.inputs, j):
        return
    for start from 0 <= start < loop.inputs.length[j] by BLOCK:
        n = min(<int64_t> BLOCK, loop.inputs.length[j] - start)
        load_values(
            loop.inputs.address[j], loop.inputs.stride[j], loop.inputs.kind[j], NULL, start, n,
            values)
        # NaN of rows that are not in the sample does not count.
        if holds_nan(values, n) and loop.position != NULL:
            load_rows(&loop.inputs, j, start, n, row)
            for i in range(n):
                values[i] = 0.0 if loop.position[row[i]] < 0 else values[i]
        if holds_nan(values, n):
            found[j] = True
            break


def find_nan(
    columns, const int64_t[::1] rows or None, const int32_t[::1] position or None,
    int64_t n_rows, int n_threads, uint8_t[:, ::1] found_out,
) -> None:
    """Find the columns that have NaN.

    - ``rows``, ``position``: as for `find_bounds`.
    - ``found_out``, (n_threads, n_features): zeros; whether a thread has found NaN in a column.
    """
    cdef NanLoop loop
    if found_out.shape[1] == 0:
        return
    loop.inputs, loop.n_features = read_columns(columns), found_out.shape[1]
    loop.rows = NULL if rows is None else &rows[0]
    loop.position = NULL if position is None else &position[0]
    loop.found, loop.watch = &found_out[0, 0], start_watch()
    with nogil:
        parallel_shares(scan_rows_body, &loop, n_rows, BLOCK, n_threads)
        parallel_for(scan_stored_body, &loop, loop.n_features, 1, n_threads)
    end_watch(&loop.watch)
