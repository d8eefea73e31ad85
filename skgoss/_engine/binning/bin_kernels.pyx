# cython: language_level=3
"""Boundaries of bins, and the bins of values.

The boundaries follow LightGBM's rules (Ke et al., "LightGBM: A Highly Efficient Gradient
Boosting Decision Tree", NeurIPS 2017, and its documentation): equal mass in the bins, heavy
values alone in theirs, zero always in its own.
"""

from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, fabs, isnan, llround, nextafter
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from skgoss._engine.atomics cimport fetch_add
from skgoss._engine.columns.column_kernels cimport (
    InputColumns, is_sparse, load_block, load_rows, load_values, read_columns)
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for, parallel_shares

import numpy as np

cdef enum:
    # Rows read at a time: their values and bins stay in the first cache.
    BLOCK = 256
    # Values searched together, to hide the latency of one search behind the others.
    SEARCH_WIDTH = 8
    SMALL_RADIX_BITS = 8
    RADIX_BITS = 11
    # One histogram of digits a pass: 8 x 256 or 6 x 2048.
    RADIX_COUNTERS = 6 * 2048
    # Below this many values the short histograms are cheaper than the fewer passes.
    SMALL_SORT = 4096
    # Keys are sorted by about so many of their highest bits first: few share them and differ.
    SORTED_BITS = 32

cdef enum:
    MISSING_NONE = 0
    MISSING_ZERO = 1
    MISSING_NAN = 2

NO_MISSING = MISSING_NONE
ZERO_IS_MISSING = MISSING_ZERO
NAN_IS_MISSING = MISSING_NAN

# The float32 nearest to 1e-35: values no farther from zero than this are zero.
cdef double ZERO = 1.0000000180025095e-35
ZERO_BOUND = ZERO

cdef enum:
    SCRATCH_PER_VALUE = 7
    # Columns read together: where a row's values lie side by side, a line of the cache
    # holds several of them. Fewer where each needs room for all its values.
    TILE = 4
    SPARSE_TILE = 8
    COLUMNS_PER_TASK = 16     # to count: they differ


cdef Py_ssize_t tile_width(Py_ssize_t n_features, int n_threads) noexcept nogil:
    """How many columns are read together; beside few, the room for values would be much."""
    return max(1, min(<Py_ssize_t> TILE, n_features // (8 * n_threads)))


def scratch_per_value(Py_ssize_t n_features, int n_threads) -> int:
    """64-bit numbers that ``find_bounds`` needs for each value of a column and thread."""
    return SCRATCH_PER_VALUE + tile_width(n_features, n_threads)


ctypedef fused bin_t:
    uint8_t
    uint16_t


cdef struct BinningRules:
    int32_t max_bin
    int64_t min_data_in_bin
    bint use_missing
    bint zero_as_missing


cdef struct SortScratch:
    uint64_t* key
    uint64_t* key_swap
    double* mass
    double* mass_swap
    double* value
    int64_t* count
    double* value_mass


cdef struct Side:
    # The distinct values of one sign, ascending, and what they hold.
    const double* value
    const int64_t* count
    const double* mass
    int64_t n_values
    int64_t n_rows
    double total


cdef struct Grid:
    # Equal buckets: that of x is (x - origin) * scale, at least 0 and at most last.
    double origin
    double scale
    double last
    # Steps of the search within a bucket.
    int32_t n_steps


cdef struct Plan:
    # How the bins of columns are found: see `BinSearch`.
    const double* bounds
    const int64_t* bounds_start
    Grid* grid
    const int64_t* first_start
    uint16_t* first
    const int32_t* nan_bin
    const int32_t* zero_bin


cdef struct Tally:
    # What a sampled column consists of. There is room for `max_other` other values.
    int64_t max_other
    int64_t n_other
    int64_t n_zero
    int64_t n_nan
    double nan_mass


cdef struct Forced:
    # Upper bounds that the user passes for a column, ascending; the first ones in his
    # order, by rank, are used.
    const double* bound
    const int32_t* rank
    int64_t n


cdef inline uint64_t ordered_key(double value) noexcept nogil:
    """An integer that sorts as the value does; neighbors differ by one."""
    cdef uint64_t bits
    memcpy(&bits, &value, sizeof(bits))
    return ~bits if bits >> 63 else bits | (<uint64_t> 1 << 63)


cdef inline double value_of_key(uint64_t key) noexcept nogil:
    cdef uint64_t bits = key & ~(<uint64_t> 1 << 63) if key >> 63 else ~key
    cdef double value
    memcpy(&value, &bits, sizeof(value))
    return value


cdef bint count_digits(
    const uint64_t* key, int64_t n, int bits, int n_passes, uint32_t* counters_out
) noexcept nogil:
    """Count every digit of every pass in one sweep; false if the keys are sorted."""
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef uint64_t previous = 0
    cdef uint64_t disorder = 0
    cdef int64_t i
    cdef int digit
    memset(counters_out, 0, (n_passes << bits) * sizeof(uint32_t))
    for i in range(n):
        disorder |= key[i] < previous
        previous = key[i]
        for digit in range(n_passes):
            counters_out[(digit << bits) + ((previous >> (digit * bits)) & mask)] += 1
    return disorder != 0


cdef int first_digit(const uint32_t* counters, int64_t n, int bits, int n_passes) noexcept nogil:
    """The lowest of those digits that sort keys of ``SORTED_BITS`` bits."""
    cdef int digit = n_passes
    cdef int n_left = (SORTED_BITS + bits - 1) // bits
    while digit > 0 and n_left > 0:
        digit -= 1
        n_left -= not is_shared(counters + (digit << bits), n, bits)
    return digit


cdef bint is_shared(const uint32_t* counter, int64_t n, int bits) noexcept nogil:
    """Whether all keys share the digit."""
    cdef int64_t digit
    for digit in range(<int64_t> 1 << bits):
        if counter[digit] > 0:
            return counter[digit] == n
    return True


cdef void sort_by_digit(
    SortScratch* scratch, int64_t n, bint weighted, int bits, int digit, uint32_t* counter,
) noexcept nogil:
    """Stable sort of the keys by one of their digits, given how many have each."""
    cdef uint64_t mask = (<uint64_t> 1 << bits) - 1
    cdef uint32_t start = 0
    cdef uint32_t count, place
    cdef int64_t i
    for i in range(<int64_t> 1 << bits):
        count = counter[i]
        counter[i] = start
        start += count
    for i in range(n):
        place = (scratch.key[i] >> (digit * bits)) & mask
        scratch.key_swap[counter[place]] = scratch.key[i]
        if weighted:
            scratch.mass_swap[counter[place]] = scratch.mass[i]
        counter[place] += 1
    scratch.key, scratch.key_swap = scratch.key_swap, scratch.key
    scratch.mass, scratch.mass_swap = scratch.mass_swap, scratch.mass


cdef bint insert_keys(SortScratch* scratch, int64_t n, bint weighted) noexcept nogil:
    """Stable insertion sort; false if it gave up, after as many moves as there are keys."""
    cdef int64_t n_moves = 0
    cdef int64_t i, at
    cdef uint64_t key
    cdef double mass = 0.0
    for i in range(1, n):
        if scratch.key[i - 1] <= scratch.key[i]:
            continue
        key = scratch.key[i]
        if weighted:
            mass = scratch.mass[i]
        at = i
        while at > 0 and scratch.key[at - 1] > key:
            scratch.key[at] = scratch.key[at - 1]
            if weighted:
                scratch.mass[at] = scratch.mass[at - 1]
            at -= 1
        scratch.key[at] = key
        if weighted:
            scratch.mass[at] = mass
        n_moves += i - at
        if n_moves > n:
            return False
    return True


cdef void sort_keys(SortScratch* scratch, int64_t n, bint weighted) noexcept nogil:
    """Stable sort of the keys, which takes their masses along.

    A radix sort by the highest digits leaves few keys out of order, for an insertion sort. If
    they are many, it sorts by all digits.
    """
    cdef uint32_t[RADIX_COUNTERS] counters
    cdef int bits = SMALL_RADIX_BITS if n < SMALL_SORT else RADIX_BITS
    cdef int n_passes = (64 + bits - 1) // bits
    cdef int first = -1
    cdef int digit
    while first != 0 and count_digits(scratch.key, n, bits, n_passes, counters):
        first = 0 if first > 0 else first_digit(counters, n, bits, n_passes)
        for digit in range(first, n_passes):
            if not is_shared(&counters[digit << bits], n, bits):
                sort_by_digit(scratch, n, weighted, bits, digit, &counters[digit << bits])
        if first > 0 and insert_keys(scratch, n, weighted):
            return


cdef inline bint is_zero(double value, bint nan_is_zero) noexcept nogil:
    return nan_is_zero if isnan(value) else fabs(value) <= ZERO


cdef inline void tally_value(
    double value, double mass, bint weighted, Tally* tally, SortScratch* scratch_out
) noexcept nogil:
    """Count a zero or NaN; keep the key of any other value."""
    if isnan(value):
        tally.n_nan += 1
        tally.nan_mass += mass
    elif is_zero(value, True):
        tally.n_zero += 1
    elif tally.n_other < tally.max_other:
        scratch_out.key[tally.n_other] = ordered_key(value)
        if weighted:
            scratch_out.mass[tally.n_other] = mass
        tally.n_other += 1


cdef void load_tile(
    const InputColumns* inputs, Py_ssize_t first, Py_ssize_t n_columns, const int64_t* rows,
    int64_t n, double* values_out,
) noexcept nogil:
    """Read some columns, those that are not sparse, each n values after the last."""
    cdef int64_t block, start
    cdef Py_ssize_t k
    for block in range((n + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        for k in range(n_columns):
            if not is_sparse(inputs, first + k):
                load_block(
                    inputs, first + k, rows, start, min(<int64_t> BLOCK, n - start),
                    values_out + k * n + start)


cdef Tally read_values(
    const double* values, const double* weight, int64_t n, SortScratch* scratch_out,
) noexcept nogil:
    cdef Tally tally = Tally(n, 0, 0, 0, 0.0)
    cdef int64_t i
    for i in range(n):
        tally_value(
            values[i], weight[i] if weight != NULL else 1.0, weight != NULL, &tally,
            scratch_out)
    return tally


cdef Tally read_sparse(
    const InputColumns* inputs, Py_ssize_t column, const int32_t* place,
    const double* weight, int64_t n, SortScratch* scratch_out,
) noexcept nogil:
    """The same of a sparse column; ``place``: of each row in the sample, -1 if outside.

    Without places and weights no row numbers are read.
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
        if place != NULL or weight != NULL:
            load_rows(inputs, column, start, n_block, row)
        if place != NULL:
            # Nobody can predict whether a row is in the sample, so there is no branch.
            n_read = n_block
            n_block = 0
            for i in range(n_read):
                values[n_block] = values[i]
                row[n_block] = place[row[i]]
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

    The greatest of the neighbors stands for all. ``n_before`` distinct values are in
    the scratch space already.
    """
    cdef Side side
    cdef int64_t at = n_before - 1
    cdef int64_t begin = first
    cdef int64_t i
    side.total = 0.0 if weighted else last - first
    for i in range(first, last):
        if i == first or scratch.key[i] > scratch.key[i - 1] + 1:
            at += 1
            begin = i
            scratch.value_mass[at] = 0.0
        # A count that is read again where it was just written would have to be waited for.
        scratch.value[at] = value_of_key(scratch.key[i])
        scratch.count[at] = i + 1 - begin
        if weighted:
            scratch.value_mass[at] += scratch.mass[i]
            side.total += scratch.mass[i]
        else:
            scratch.value_mass[at] = i + 1 - begin
    side.value = scratch.value + n_before
    side.count = scratch.count + n_before
    side.mass = scratch.value_mass + n_before
    side.n_values = at + 1 - n_before
    side.n_rows = last - first
    return side


cdef inline double boundary(double below, double above) noexcept nogil:
    """The smallest float64 above the middle; finite, so that infinity stays apart."""
    cdef double middle = (below + above) / 2.0
    if middle == INFINITY:
        middle = below / 2.0 + above / 2.0
    return min(nextafter(middle, INFINITY), DBL_MAX)


cdef inline int32_t add_boundary(
    double below, double above, double* bounds_out, int32_t n_bounds
) noexcept nogil:
    """Append a boundary unless it touches the last one; return the new number."""
    cdef double bound = boundary(below, above)
    if n_bounds > 0 and bound <= nextafter(bounds_out[n_bounds - 1], INFINITY):
        return n_bounds
    bounds_out[n_bounds] = bound
    return n_bounds + 1


cdef int32_t bound_each_value(
    const Side* side, int64_t min_count, double* bounds_out
) noexcept nogil:
    """A bin a distinct value, or more values where one holds too few rows."""
    cdef int32_t n_bounds = 0
    cdef int32_t n_new
    cdef int64_t held = 0
    cdef int64_t i
    for i in range(side.n_values - 1):
        held += side.count[i]
        if held >= min_count:
            n_new = add_boundary(side.value[i], side.value[i + 1], bounds_out, n_bounds)
            if n_new > n_bounds:
                held = 0
            n_bounds = n_new
    return n_bounds


cdef int32_t bound_equal_mass(
    const Side* side, int32_t max_bin, double* bounds_out
) noexcept nogil:
    """Bins of about equal mass; a value heavier than the mean has its own."""
    cdef double heavy = side.total / max_bin
    cdef double rest_mass = side.total
    cdef int64_t rest_bins = max_bin
    cdef double held = 0.0
    cdef double mean
    cdef int32_t n_closed = 0
    cdef int32_t n_bounds = 0
    cdef int64_t i
    for i in range(side.n_values):
        if side.mass[i] >= heavy:
            rest_mass -= side.mass[i]
            rest_bins -= 1
    mean = rest_mass / rest_bins
    for i in range(side.n_values - 1):
        if n_closed >= max_bin - 1:
            break
        if side.mass[i] < heavy:
            rest_mass -= side.mass[i]
        held += side.mass[i]
        if (
            side.mass[i] >= heavy
            or held >= mean
            or (side.mass[i + 1] >= heavy and held >= mean * 0.5)
        ):
            n_bounds = add_boundary(side.value[i], side.value[i + 1], bounds_out, n_bounds)
            n_closed += 1
            held = 0.0
            if side.mass[i] < heavy:
                rest_bins -= 1
                mean = rest_mass / rest_bins
    return n_bounds


cdef int32_t bound_side(
    const Side* side, int32_t max_bin, int64_t min_count, double* bounds_out
) noexcept nogil:
    """Boundaries between the values of one sign, and infinity after the last."""
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
    """Boundaries of a column: the negative values, zero alone, the positive values."""
    cdef int32_t n_left = 0
    cdef int32_t n_right = 0
    cdef int32_t budget
    cdef bint shared
    if left.n_values > 0 and max_bin > 1:
        budget = <int32_t> (left.total / (left.total + right.total) * (max_bin - 1))
        n_left = bound_side(left, max(<int32_t> 1, budget), min_count, bounds_out)
        bounds_out[n_left - 1] = -ZERO
    budget = max_bin - 1 - n_left
    if right.n_values > 0 and budget > 0:
        bounds_out[n_left] = ZERO
        n_right = bound_side(right, budget, min_count, bounds_out + n_left + 1)
    else:
        bounds_out[n_left] = INFINITY
    shared = n_zero > 0 or (right.n_rows > 0 and n_right == 0) or (left.n_rows > 0 and n_left == 0)
    n_occupied_out[0] = n_left + n_right + shared
    return n_left + 1 + n_right


cdef int32_t fixed_bounds(
    const Forced* forced, bint has_left, bint has_right, int32_t max_bin, double* fixed_out
) noexcept nogil:
    """Bounds around zero, those of the user as far as there is room, and infinity."""
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
    """The values of a side from number ``first`` that are below a bound."""
    cdef Side part
    cdef int64_t i
    part.n_values = part.n_rows = 0
    part.total = 0.0
    for i in range(first, side.n_values):
        if side.value[i] >= bound:
            break
        part.n_values += 1
        part.n_rows += side.count[i]
        part.total += side.mass[i]
    part.value = side.value + first
    part.count = side.count + first
    part.mass = side.mass + first
    return part


cdef int32_t count_occupied(
    const Side* left, const Side* right, int64_t n_zero, const double* bound
) noexcept nogil:
    """The bins that hold values."""
    cdef int32_t last = -1, at = 0, n_occupied = 0
    cdef int64_t i, n_left = left.n_values, n_middle = left.n_values + (n_zero > 0)
    cdef double value
    for i in range(n_middle + right.n_values):
        value = (
            left.value[i] if i < n_left else right.value[i - n_middle] if i >= n_middle else 0.0
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

    The bins that are left are shared out by mass: each part between two of these boundaries
    is divided as a column of its own. ``fixed``: room for ``max_bin`` numbers.
    """
    cdef int32_t n_fixed = fixed_bounds(
        forced, left.n_values > 0, right.n_values > 0, max_bin, fixed)
    cdef int32_t n_free = max_bin - n_fixed
    cdef int32_t n_rest = n_free, n_bounds = 0, n_new, i
    cdef int64_t n_wanted
    cdef int64_t[2] first
    cdef bint is_right
    cdef Side part
    first[0] = first[1] = 0
    for i in range(n_fixed):
        is_right = fixed[i] > 0.0
        part = side_below(right if is_right else left, fixed[i], first[is_right])
        first[is_right] += part.n_values
        n_wanted = n_rest
        if i < n_fixed - 1:
            n_wanted = min(<int64_t> n_rest, llround(part.total * n_free / total))
        n_new = bound_side(&part, <int32_t> n_wanted + 1, min_count, bounds_out + n_bounds) - 1
        n_rest -= n_new
        n_bounds += n_new
        bounds_out[n_bounds] = fixed[i]
        n_bounds += 1
    return n_bounds


cdef void find_column_bounds(
    const InputColumns* inputs, Py_ssize_t column, const double* values,
    const int32_t* place, const double* weight, int64_t n, double total, BinningRules rule,
    Forced forced, SortScratch scratch, double* bounds_out, int32_t* n_bounds_out,
    uint8_t* missing_type_out, int32_t* n_occupied_out, double* range_out,
    double* zero_share_out,
) noexcept nogil:
    """Find the boundaries of one column: sort its sampled values, and merge equal ones.

    What the arguments mean says `find_bounds`.
    """
    cdef bint weighted = weight != NULL
    cdef Tally tally
    cdef Side left, right
    cdef int64_t n_negative = 0
    cdef int32_t max_bin = rule.max_bin
    if is_sparse(inputs, column):
        tally = read_sparse(inputs, column, place, weight, n, &scratch)
    else:
        tally = read_values(values, weight, n, &scratch)
    sort_keys(&scratch, tally.n_other, weighted)
    while n_negative < tally.n_other and not scratch.key[n_negative] >> 63:
        n_negative += 1
    left = distinct_values(&scratch, 0, n_negative, weighted, 0)
    right = distinct_values(&scratch, n_negative, tally.n_other, weighted, left.n_values)
    missing_type_out[0] = MISSING_NONE
    if rule.use_missing and not rule.zero_as_missing and tally.n_nan > 0:
        missing_type_out[0] = MISSING_NAN
        max_bin -= 1
        total -= tally.nan_mass
    else:
        # Without a bin of its own NaN is treated as zero.
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
    n_occupied_out[0] += tally.n_nan > 0
    if rule.use_missing and rule.zero_as_missing and n_bounds_out[0] > 2:
        missing_type_out[0] = MISSING_ZERO
    zero_share_out[0] = tally.n_zero / <double> max(n, <int64_t> 1)
    range_out[0] = range_out[1] = 0.0
    if left.n_values > 0:
        range_out[0] = left.value[0]
        range_out[1] = 0.0 if tally.n_zero > 0 else left.value[left.n_values - 1]
    if right.n_values > 0:
        range_out[1] = right.value[right.n_values - 1]
        if left.n_values == 0 and tally.n_zero == 0:
            range_out[0] = right.value[0]


cdef struct BoundsLoop:
    InputColumns inputs
    const int64_t* rows       # to read, and where each row is among them; or NULL
    const int32_t* place
    const double* weight
    int64_t n_rows
    double total
    BinningRules rule
    const int64_t* forced_start
    const double* forced_bound
    const int32_t* forced_rank
    uint64_t* scratch         # of each thread, `scratch_size`; a sort has room for `room` values
    Py_ssize_t scratch_size
    int64_t room
    const int64_t* bounds_start
    double* bounds
    int32_t* n_bounds
    uint8_t* missing_type
    int32_t* n_occupied
    double* range
    double* zero_share
    Watch watch


cdef void find_some(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Find the boundaries of a tile of columns."""
    cdef BoundsLoop* loop = <BoundsLoop*> context
    cdef uint64_t* scratch = loop.scratch + thread * loop.scratch_size
    cdef double* values = <double*> (scratch + SCRATCH_PER_VALUE * loop.room)
    cdef Py_ssize_t j
    if is_stopped(&loop.watch):
        return
    load_tile(&loop.inputs, first, end - first, loop.rows, loop.n_rows, values)
    for j in range(first, end):
        if is_stopped(&loop.watch):
            break
        find_column_bounds(
            &loop.inputs, j, values + (j - first) * loop.n_rows, loop.place, loop.weight,
            loop.n_rows, loop.total, loop.rule, forced_of(loop, j),
            split_scratch(scratch, loop.room), loop.bounds + loop.bounds_start[j],
            &loop.n_bounds[j], &loop.missing_type[j], &loop.n_occupied[j],
            &loop.range[2 * j], &loop.zero_share[j])


def find_bounds(
    columns, const int64_t[::1] rows, const int32_t[::1] place, const double[::1] weight,
    int64_t n_rows, int32_t max_bin, int64_t min_data_in_bin, bint use_missing,
    bint zero_as_missing, const int64_t[::1] forced_start, const double[::1] forced_bound,
    const int32_t[::1] forced_rank, int n_threads, const int64_t[::1] bounds_start,
    uint64_t[:, ::1] scratch_out, double[::1] bounds_out, int32_t[::1] n_bounds_out,
    uint8_t[::1] missing_type_out, int32_t[::1] n_occupied_out, double[:, ::1] range_out,
    double[::1] zero_share_out,
) -> None:
    """Find the boundaries of every column.

    - ``columns``, `Columns`.
    - ``rows``, (n_rows,) or None: the rows to read; None reads the first ``n_rows``.
    - ``place``, (columns.n_rows,) or None: where each row of the data is in ``rows``, -1 if it is
      not. Sparse columns are read by it; None where all rows are read.
    - ``weight``, (n_rows,) or None: the mass of each row read.
    - ``forced_start``, ``forced_bound``, ``forced_rank``: the bounds that the user passes: see
      ``skgoss.binning.forced_bins.packed``.
    - ``bounds_start``, (n_features + 1,): where the room for the bounds of a column begins: 2 *
      max_bin numbers if the user passes some.
    - ``scratch_out``, (n_threads, scratch_per_value(n_features, n_threads) * n): n: at least the
      number of values read of any column.
    - ``bounds_out``, (bounds_start[-1],): upper bounds of the bins of numbers, the last one
      infinite.
    - ``n_bounds_out``, ``n_occupied_out``, (n_features,): how many there are, and how many of the
      bins hold rows.
    - ``range_out``, (n_features, 2): smallest and greatest number.
    - ``zero_share_out``, (n_features,): the share of rows that are zero, or count as zero.
    """
    cdef Py_ssize_t n_features = n_bounds_out.shape[0]
    cdef Py_ssize_t width = tile_width(n_features, n_threads)
    cdef BoundsLoop loop
    if n_features == 0:
        return
    loop.inputs, loop.n_rows, loop.total = read_columns(columns), n_rows, n_rows
    loop.rows = NULL if rows is None else &rows[0]
    loop.place = NULL if place is None else &place[0]
    loop.weight = NULL if weight is None else &weight[0]
    if weight is not None:
        loop.total = np.sum(weight)
    loop.rule = BinningRules(max_bin, min_data_in_bin, use_missing, zero_as_missing)
    loop.forced_start = &forced_start[0]
    loop.forced_bound = &forced_bound[0] if forced_bound.shape[0] else NULL
    loop.forced_rank = &forced_rank[0] if forced_rank.shape[0] else NULL
    loop.scratch, loop.scratch_size = &scratch_out[0, 0], scratch_out.shape[1]
    loop.room = loop.scratch_size // (SCRATCH_PER_VALUE + width)
    loop.bounds_start, loop.bounds, loop.n_bounds = (
        &bounds_start[0], &bounds_out[0], &n_bounds_out[0])
    loop.missing_type, loop.n_occupied = &missing_type_out[0], &n_occupied_out[0]
    loop.range, loop.zero_share = &range_out[0, 0], &zero_share_out[0]
    loop.watch = start_watch()
    with nogil:
        parallel_for(find_some, &loop, n_features, width, n_threads)
    end_watch(&loop.watch)


cdef inline Forced forced_of(const BoundsLoop* loop, Py_ssize_t column) noexcept nogil:
    cdef int64_t start = loop.forced_start[column]
    return Forced(
        loop.forced_bound + start, loop.forced_rank + start,
        loop.forced_start[column + 1] - start)


cdef SortScratch split_scratch(uint64_t* room, int64_t n) noexcept nogil:
    cdef SortScratch scratch
    scratch.key = room
    scratch.key_swap = room + n
    scratch.mass = <double*> (room + 2 * n)
    scratch.mass_swap = <double*> (room + 3 * n)
    scratch.value = <double*> (room + 4 * n)
    scratch.count = <int64_t*> (room + 5 * n)
    scratch.value_mass = <double*> (room + 6 * n)
    return scratch


cdef inline int64_t bucket_of(double value, const Grid* grid) noexcept nogil:
    """The bucket of a value, which never falls as the value rises; NaN has one too."""
    cdef double at = (value - grid.origin) * grid.scale
    at = at if at < grid.last else grid.last
    return <int64_t> (at if at > 0.0 else 0.0)


cdef int32_t steps_in_bucket(const double* bound, int64_t n, const Grid* grid) noexcept nogil:
    """Steps of a binary search among the bounds of the fullest bucket."""
    cdef int64_t most = 0
    cdef int64_t first = 0
    cdef int64_t i
    cdef int32_t n_steps = 0
    for i in range(n):
        if bucket_of(bound[i], grid) != bucket_of(bound[first], grid):
            first = i
        most = max(most, i + 1 - first)
    while most >> n_steps:
        n_steps += 1
    return n_steps


cdef Grid plan_grid(const double* bound, int64_t n, int64_t n_buckets) noexcept nogil:
    """Equal buckets over all bounds, or over the middle ones if that parts more."""
    cdef Grid best = Grid(0.0, 0.0, 0.0, 0)
    cdef Grid grid = Grid(0.0, 0.0, <double> (n_buckets - 1), 0)
    cdef int64_t outside = 0
    best.n_steps = steps_in_bucket(bound, n, &best)
    # The outermost buckets hold the bounds outside: 1, 3, 7, ... with the first inside.
    while 2 * outside < n - 1 and best.n_steps > 1:
        grid.origin = bound[outside]
        grid.scale = grid.last / (bound[n - 1 - outside] - grid.origin)
        if 0.0 < grid.scale < INFINITY:
            grid.n_steps = steps_in_bucket(bound, n, &grid)
            if grid.n_steps < best.n_steps:
                best = grid
        outside = 2 * outside + 2
        if outside >> best.n_steps:
            break
    return best


cdef class BinSearch:
    """How the bins of some columns of numbers are found: grids say where a search starts.

    - ``bounds``: of each column all upper bounds but that of the last bin, and then more infinities
      than there are bounds.
    - ``bounds_start``, ``n_bounds``, (n_columns,): where the bounds of a column begin, and how many
      there are.
    - ``first_start``, (n_columns + 1,): where the buckets of a column's grid begin.
    - ``nan_bin``, ``zero_bin``, (n_columns,): the bins of NaN and zero.
    """

    cdef Plan plan
    cdef object arrays

    def __cinit__(
        self, const double[::1] bounds, const int64_t[::1] bounds_start,
        const int64_t[::1] n_bounds, const int64_t[::1] first_start,
        const int32_t[::1] nan_bin, const int32_t[::1] zero_bin,
    ):
        cdef Py_ssize_t n_columns = n_bounds.shape[0]
        cdef uint8_t[::1] grids = np.empty(n_columns * sizeof(Grid), dtype=np.uint8)
        cdef uint16_t[::1] first = np.empty(first_start[n_columns], dtype=np.uint16)
        cdef Py_ssize_t j
        self.arrays = bounds, bounds_start, first_start, nan_bin, zero_bin, grids, first
        self.plan = Plan(
            &bounds[0], &bounds_start[0], <Grid*> &grids[0], &first_start[0], &first[0],
            &nan_bin[0], &zero_bin[0])
        with nogil:
            for j in range(n_columns):
                plan_column(&self.plan, j, n_bounds[j])


cdef void plan_column(const Plan* plan, Py_ssize_t column, int64_t n_bounds) noexcept nogil:
    """Choose a grid, and write how many bounds are in lower buckets than each."""
    cdef const double* bound = plan.bounds + plan.bounds_start[column]
    cdef uint16_t* first = plan.first + plan.first_start[column]
    cdef Grid* grid = plan.grid + column
    cdef int64_t n_buckets = plan.first_start[column + 1] - plan.first_start[column]
    cdef int64_t bucket = 0
    cdef int64_t i
    grid[0] = plan_grid(bound, n_bounds, n_buckets)
    for i in range(n_bounds):
        while bucket <= bucket_of(bound[i], grid):
            first[bucket] = <uint16_t> i
            bucket += 1
    for bucket in range(bucket, n_buckets):
        first[bucket] = <uint16_t> n_bounds


cdef inline void search_block(
    const double* value, int64_t n, const Plan* plan, Py_ssize_t column, bin_t* bins_out,
) noexcept nogil:
    """Bins of ``n`` values of a column: for each the number of bounds below it.

    Values are read, and bins written, up to the next multiple of SEARCH_WIDTH.
    """
    cdef const double* bound = plan.bounds + plan.bounds_start[column]
    cdef const uint16_t* first = plan.first + plan.first_start[column]
    cdef int32_t nan_bin = plan.nan_bin[column]
    cdef Grid local = plan.grid[column]
    cdef int64_t _group
    cdef int i
    cdef uint64_t half
    cdef uint64_t[SEARCH_WIDTH] at
    for _group in range((n + SEARCH_WIDTH - 1) // SEARCH_WIDTH):
        for i in range(SEARCH_WIDTH):
            at[i] = first[bucket_of(value[i], &local)]
        half = (<uint64_t> 1 << local.n_steps) >> 1
        while half > 0:
            for i in range(SEARCH_WIDTH):
                at[i] += half * (bound[at[i] + half - 1] < value[i])
            half >>= 1
        for i in range(SEARCH_WIDTH):
            bins_out[i] = <bin_t> (nan_bin if isnan(value[i]) else at[i])
        value += SEARCH_WIDTH
        bins_out += SEARCH_WIDTH


cdef struct BinLoop:
    InputColumns inputs
    const int64_t* rows       # to read; NULL: all
    const Plan* plan
    int64_t n_columns
    int64_t stride            # bins from a column to the next
    int width                 # bytes of a bin
    void* bins
    Watch watch


cdef void bin_rows(
    const BinLoop* loop, int64_t start, int64_t n, bin_t* columns_out,
) noexcept nogil:
    """Put some rows of all columns into their bins."""
    cdef double[BLOCK] values
    cdef bin_t[BLOCK] bins
    cdef int64_t j
    memset(values, 0, sizeof(values))
    for j in range(loop.n_columns):
        load_block(&loop.inputs, j, loop.rows, start, n, values)
        search_block(values, n, loop.plan, j, &bins[0])
        memcpy(columns_out + j * loop.stride + start, &bins[0], n * sizeof(bin_t))


cdef void bin_block(void* context, Py_ssize_t start, Py_ssize_t end, int thread) noexcept nogil:
    cdef BinLoop* loop = <BinLoop*> context
    if is_stopped(&loop.watch):
        return
    if loop.width == 1:
        bin_rows(loop, start, end - start, <uint8_t*> loop.bins)
    else:
        bin_rows(loop, start, end - start, <uint16_t*> loop.bins)


def bin_columns(
    columns, const int64_t[::1] rows, BinSearch search, int n_threads,
    bin_t[:, :] columns_out,
) -> None:
    """Put every value of every column into its bin.

    ``rows``: those to read; None reads all. ``columns_out``, of shape (n_columns, n_rows): the
    bins of a column lie one after the other, columns anywhere.
    """
    cdef int64_t n_rows = columns_out.shape[1]
    cdef BinLoop loop
    if n_rows > 1 and columns_out.strides[1] != <int64_t> sizeof(bin_t):
        raise ValueError("the bins of a column must lie one after the other")
    if columns_out.shape[0] * n_rows == 0:
        return
    loop.inputs, loop.plan = read_columns(columns), &search.plan
    loop.rows = NULL if rows is None else &rows[0]
    loop.n_columns, loop.width = columns_out.shape[0], sizeof(bin_t)
    loop.stride = columns_out.strides[0] // <int64_t> sizeof(bin_t)
    loop.bins = &columns_out[0, 0]
    loop.watch = start_watch()
    with nogil:
        parallel_shares(bin_block, &loop, n_rows, BLOCK, n_threads)
    end_watch(&loop.watch)


cdef struct ZeroBin:
    # A column whose rows are listed: it has numbers from `low` on, without it, up to `high`
    # in the bin of zero.
    Py_ssize_t column
    double low
    double high
    int32_t number
    bint nan_is_zero


cdef ZeroBin zero_bin_of(const Plan* plan, Py_ssize_t column) noexcept nogil:
    cdef const double* bound = plan.bounds + plan.bounds_start[column]
    cdef ZeroBin zero
    zero.column = column
    zero.number = plan.zero_bin[column]
    zero.low = bound[zero.number - 1] if zero.number > 0 else -INFINITY
    zero.high = bound[zero.number]
    zero.nan_is_zero = plan.nan_bin[column] == zero.number
    return zero


cdef int64_t keep_others(
    const double* values, int64_t n, const ZeroBin* zero, const int32_t* numbers, int64_t start,
    const int32_t* place, double* values_out, uint32_t* rows_out,
) noexcept nogil:
    """Keep the values of a block that are not in the bin of zero, and their rows.

    ``numbers``: those of the rows, and ``place``, if any, what they become; NULL: from
    ``start`` on.
    """
    cdef int64_t i, row
    cdef int64_t n_kept = 0
    cdef bint is_other
    # Without branches to mispredict: each value is written, and the next one over it if it
    # is not kept.
    for i in range(n):
        row = start + i
        if numbers != NULL:
            row = place[numbers[i]] if place != NULL else numbers[i]
        is_other = not (zero.low < values[i] <= zero.high)
        values_out[n_kept] = values[i]
        rows_out[n_kept] = <uint32_t> row
        n_kept += is_other and row >= 0 and not (zero.nan_is_zero and isnan(values[i]))
    return n_kept


cdef int64_t list_block(
    const double* values, int64_t n, const Plan* plan, const ZeroBin* zero,
    const int32_t* numbers, int64_t start, const int32_t* place, int64_t room,
    uint32_t* rows_out, uint16_t* bins_out,
) noexcept nogil:
    """List the rows that `keep_others` keeps; NULL for out leaves rows or bins out.

    Nothing is written if they are more than there is room for.
    """
    cdef double[BLOCK + SEARCH_WIDTH] others
    cdef uint32_t[BLOCK] other_rows
    cdef uint16_t[BLOCK + SEARCH_WIDTH] bins
    cdef int64_t i
    cdef int64_t n_listed = keep_others(
        values, n, zero, numbers, start, place, others, other_rows)
    if n_listed > room:
        return n_listed
    if rows_out != NULL:
        memcpy(rows_out, other_rows, n_listed * sizeof(uint32_t))
    if bins_out == NULL:
        return n_listed
    memset(others + n_listed, 0, SEARCH_WIDTH * sizeof(double))
    search_block(others, n_listed, plan, zero.column, &bins[0])
    for i in range(n_listed):
        bins_out[i] = bins[i] - (bins[i] > zero.number)
    return n_listed


cdef inline int64_t n_read(
    const InputColumns* inputs, Py_ssize_t column, int64_t n_rows,
) noexcept nogil:
    """How many values stand for a column: of a sparse one those that are stored."""
    return inputs.length[column] if is_sparse(inputs, column) else n_rows


cdef inline void load_read(
    const InputColumns* inputs, Py_ssize_t column, const int64_t* rows, int64_t start, int64_t n,
    double* values_out,
) noexcept nogil:
    """Load some of these values."""
    if not is_sparse(inputs, column):
        load_block(inputs, column, rows, start, n, values_out)
        return
    load_values(
        inputs.address[column], inputs.stride[column], inputs.kind[column], NULL, start, n,
        values_out)


cdef int64_t count_column(
    const InputColumns* inputs, Py_ssize_t column, const int64_t* rows, const int32_t* place,
    int64_t n_rows, int64_t limit, bint nan_is_zero,
) noexcept nogil:
    """Count the rows of a column that are not zero, until `limit` is reached."""
    cdef double[BLOCK] values
    cdef int32_t[BLOCK] numbers
    cdef bint is_part = place != NULL and is_sparse(inputs, column)
    cdef int64_t n = n_read(inputs, column, n_rows)
    cdef int64_t n_other = 0
    cdef int64_t block, n_block, i
    for block in range((n + BLOCK - 1) // BLOCK):
        n_block = min(<int64_t> BLOCK, n - block * BLOCK)
        load_read(inputs, column, rows, block * BLOCK, n_block, values)
        if is_part:
            load_rows(inputs, column, block * BLOCK, n_block, numbers)
        for i in range(n_block):
            if not is_zero(values[i], nan_is_zero):
                n_other += not is_part or place[numbers[i]] >= 0
        if n_other >= limit:
            break
    return n_other


cdef struct CountLoop:
    InputColumns inputs
    const int64_t* rows
    const int32_t* place
    int64_t n_rows
    int64_t limit
    bint nan_is_zero
    int64_t* count
    Watch watch


cdef void count_some(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef CountLoop* loop = <CountLoop*> context
    cdef Py_ssize_t j
    for j in range(first, end):
        if is_stopped(&loop.watch):
            break
        loop.count[j] = count_column(
            &loop.inputs, j, loop.rows, loop.place, loop.n_rows, loop.limit, loop.nan_is_zero)


def count_others(
    columns, const int64_t[::1] rows, const int32_t[::1] place, int64_t n_rows,
    int64_t limit, bint nan_is_zero, int n_threads, int64_t[::1] count_out,
) -> None:
    """Count the rows of every column that are not zero.

    Counts that reach the limit need not be exact. ``rows`` and ``place``: see `find_bounds`.
    """
    cdef CountLoop loop
    if count_out.shape[0] == 0:
        return
    loop.inputs, loop.n_rows, loop.limit = read_columns(columns), n_rows, limit
    loop.rows = NULL if rows is None else &rows[0]
    loop.place = NULL if place is None else &place[0]
    loop.nan_is_zero, loop.count = nan_is_zero, &count_out[0]
    loop.watch = start_watch()
    with nogil:
        parallel_for(count_some, &loop, count_out.shape[0], COLUMNS_PER_TASK, n_threads)
    end_watch(&loop.watch)


cdef bint do_ascend(const uint32_t* rows, int64_t n) noexcept nogil:
    cdef bint disorder = False
    cdef int64_t i
    for i in range(1, n):
        disorder |= rows[i] <= rows[i - 1]
    return not disorder


cdef bint list_tile(
    const InputColumns* inputs, Py_ssize_t first, Py_ssize_t n_columns, const int64_t* rows,
    const int32_t* place, int64_t n_rows, const Plan* plan, int64_t* start_inout,
    const int64_t* bin_start, uint32_t* rows_out, uint16_t* bins_out,
) noexcept nogil:
    """List the rows of some columns, or with NULL for out count them.

    False if lists do not ascend or have other lengths than were counted.
    """
    cdef double[BLOCK] values
    cdef int32_t[BLOCK] numbers
    cdef int64_t[SPARSE_TILE] length
    cdef bint is_filled = True
    cdef ZeroBin[SPARSE_TILE] zero
    cdef uint32_t* to_rows[SPARSE_TILE]
    cdef uint16_t* to_bins[SPARSE_TILE]
    cdef int64_t[SPARSE_TILE] at
    cdef int64_t n_longest = 0
    cdef int64_t n
    cdef int64_t start = 0
    cdef Py_ssize_t k
    for k in range(n_columns):
        zero[k] = zero_bin_of(plan, first + k)
        to_rows[k] = NULL
        to_bins[k] = NULL
        length[k] = n_rows
        if rows_out != NULL:
            length[k] = start_inout[first + k + 1] - start_inout[first + k]
            to_rows[k] = rows_out + start_inout[first + k]
            if bin_start[first + k] < bin_start[first + k + 1]:
                to_bins[k] = bins_out + bin_start[first + k]
        at[k] = 0
        n_longest = max(n_longest, n_read(inputs, first + k, n_rows))
    while start < n_longest:
        for k in range(n_columns):
            n = min(<int64_t> BLOCK, n_read(inputs, first + k, n_rows) - start)
            if n > 0:
                load_read(inputs, first + k, rows, start, n, values)
                if is_sparse(inputs, first + k):
                    load_rows(inputs, first + k, start, n, numbers)
                at[k] += list_block(
                    values, n, plan, &zero[k],
                    numbers if is_sparse(inputs, first + k) else NULL, start, place,
                    length[k] - at[k],
                    to_rows[k] + at[k] if to_rows[k] != NULL else NULL,
                    to_bins[k] + at[k] if to_bins[k] != NULL else NULL)
        start += BLOCK
    for k in range(n_columns):
        if rows_out == NULL:
            start_inout[first + k + 1] = at[k]
        else:
            is_filled &= at[k] == length[k] and do_ascend(to_rows[k], length[k])
    return is_filled


cdef struct ListLoop:
    InputColumns inputs
    const int64_t* rows
    const int32_t* place
    int64_t n_rows
    const Plan* plan
    int64_t* start
    const int64_t* bin_start
    uint32_t* rows_out
    uint16_t* bins_out
    int64_t n_wrong           # tiles
    Watch watch


cdef void list_some(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef ListLoop* loop = <ListLoop*> context
    if not is_stopped(&loop.watch):
        fetch_add(&loop.n_wrong, not list_tile(
            &loop.inputs, first, end - first, loop.rows, loop.place, loop.n_rows, loop.plan,
            loop.start, loop.bin_start, loop.rows_out, loop.bins_out))


def list_columns(
    columns, const int64_t[::1] rows, const int32_t[::1] place, int64_t n_rows,
    BinSearch search, int n_threads, int64_t[::1] start_inout, const int64_t[::1] bin_start,
    uint32_t[::1] rows_out, uint16_t[::1] bins_out,
) -> bool:
    """List the rows of every column that are not in its bin of zero.

    - ``columns``, ``rows``, ``place``, ``n_rows``: as for `find_bounds`.
    - ``search``, BinSearch: of these columns.
    - ``start_inout``, (n_columns + 1,): where the lists begin; written, and nothing else, when
      ``rows_out`` is None.
    - ``bin_start``, (n_columns + 1,) or None: where the bins of each list begin in ``bins_out``;
      lists without any do not get them.
    - ``rows_out``, (start_inout[-1],) or None: row numbers.
    - ``bins_out``, (bin_start[-1],) or None: their bins, numbered without that of zero.

    Returns False if the data have changed since the lists were counted: what is written is of no
    use then.
    """
    cdef Py_ssize_t n_columns = start_inout.shape[0] - 1
    cdef bint counts = rows_out is None
    cdef Py_ssize_t width = max(
        1, min(<Py_ssize_t> SPARSE_TILE, n_columns // (2 * n_threads)))
    cdef Py_ssize_t j
    cdef ListLoop loop
    loop.inputs, loop.plan, loop.n_rows = read_columns(columns), &search.plan, n_rows
    loop.rows = NULL if rows is None else &rows[0]
    loop.place = NULL if place is None else &place[0]
    loop.start = &start_inout[0]
    loop.bin_start = NULL if bin_start is None else &bin_start[0]
    loop.rows_out = NULL if rows_out is None or len(rows_out) == 0 else &rows_out[0]
    loop.bins_out = NULL if bins_out is None or len(bins_out) == 0 else &bins_out[0]
    loop.n_wrong = 0
    loop.watch = start_watch()
    if not counts and loop.rows_out == NULL:
        return True
    with nogil:
        parallel_for(list_some, &loop, n_columns, width, n_threads)
    end_watch(&loop.watch)
    if counts:
        for j in range(n_columns):
            start_inout[j + 1] += start_inout[j]
    return loop.n_wrong == 0
