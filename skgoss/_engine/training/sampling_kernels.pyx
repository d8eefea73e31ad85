"""Samples of rows and features: which of them a tree is grown on."""

from libc.math cimport sqrt
from libc.stdint cimport (
    UINT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t,
)
from libc.string cimport memcpy, memmove, memset

import numpy as np

from skgoss._engine.bits cimport bit_length
from skgoss._engine.random cimport BAGGING, ONE_SIDE, bounded, draw, key
from skgoss._engine.threads cimport parallel_shares, run_shares

cdef extern from "sampling_kernels.h" nogil:
    enum:
        COMPRESS_SPARE
        SAMPLING_TILE
    Py_ssize_t compress(
        const uint8_t* kept, const uint32_t* values, uint32_t first, Py_ssize_t n,
        uint32_t* numbers_out)
    void count_kept(const uint8_t* kept, Py_ssize_t n, int64_t* n_out)
    void bag_rows(
        uint64_t row_key, uint64_t threshold, Py_ssize_t first, Py_ssize_t n,
        uint8_t* kept_out)
    void rank_rows(
        const float* gradient, Py_ssize_t stride, int n_scores, const double* weight,
        Py_ssize_t weight_stride, Py_ssize_t step, int n, uint32_t* keys_out)
    void keep_either(
        const uint32_t* keys, uint32_t last_key, uint64_t row_key, uint32_t last_draw,
        Py_ssize_t first, Py_ssize_t n, uint8_t* kept_out)
    void draw_rows(
        uint64_t row_key, const uint32_t* rows, const uint32_t* keys, uint32_t threshold,
        Py_ssize_t n, uint32_t* draws_out)
    void keep_between(
        const uint32_t* values, uint32_t low, uint32_t high, Py_ssize_t n,
        uint8_t* kept_out, int64_t* n_below)
    void raise_equals(uint32_t threshold, Py_ssize_t n, uint32_t* values, int64_t* n_left)
    void find_range(
        const uint32_t* values, Py_ssize_t n, uint32_t* low_out, uint32_t* high_out)
    void scale_rows(const uint32_t* rows, Py_ssize_t n, float factor, float* values)
    void set_rows(const uint32_t* rows, Py_ssize_t n, float value, float* values)

cdef enum:
    BLOCK = 8192
    # Of a digit of a radix selection; its counters stay in the first cache.
    DIGIT_BITS = 10
    # About the maximum number of rows of the pilot sample from which one-side sampling estimates a
    # threshold. It has at most every MIN_PILOT_STRIDE-th row.
    MAX_PILOT_ROWS = 8192
    MIN_PILOT_STRIDE = 64
    # The largest draw of a row.
    MAX_DRAW = 0x80000000

# Windows reach this number of standard deviations to either side of what is expected.
cdef double WINDOW_SIGMAS = 5.0


cdef int sample_features(
    const int32_t* candidates, int n_candidates, double fraction, uint64_t node_key,
    int32_t* sample_out,
) noexcept nogil:
    """Draw a fraction of the candidates, rounded, but at least one, in their order.

    - ``candidates``: numbers of features.
    - ``node_key``: of the random numbers (`random.key`): the same features on any thread.
    - ``sample_out``: room for all candidates.

    Returns the number that is drawn. Selection sampling (Knuth, TAOCP 2, 3.4.2, algorithm S) with
    keyed draws.
    """
    cdef int n_sampled = <int>max(1.0, fraction * n_candidates + 0.5)
    cdef int n_drawn = 0
    cdef int i
    if n_sampled >= n_candidates:
        memcpy(sample_out, candidates, n_candidates * sizeof(int32_t))
        return n_candidates
    for i in range(n_candidates):
        if bounded(draw(node_key, i), n_candidates - i) < n_sampled - n_drawn:
            sample_out[n_drawn] = candidates[i]
            n_drawn += 1
    return n_drawn


# ------------------------------------------------------------------ bagging

# Draws are whole numbers below this.
cdef double DRAWS = 2.0**53


cdef struct BagLoop:
    uint64_t row_key          # of the random numbers of rows
    uint64_t threshold        # rows with a smaller draw are kept
    Py_ssize_t first          # the number of row 0
    uint8_t* kept             # by row: the result


cdef void bag_body(void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil:
    """Draw the rows of a block."""
    cdef BagLoop* loop = <BagLoop*>context
    bag_rows(
        loop.row_key, loop.threshold, loop.first + begin, end - begin, loop.kept + begin)


def bagging_mask(Py_ssize_t n_rows, double fraction, uint64_t seed, uint64_t round,
                 int n_threads=1, Py_ssize_t first=0) -> NDArray[np.bool_]:
    """Draw each row with probability ``fraction``, by a hash of (seed, round, row).

    A row is drawn if 53 bits of the hash, as a whole number, are below fraction * 2**53. The rows
    are numbered from ``first`` on. Returns a bool array of shape (n_rows,). As in LightGBM the
    number of rows is random.
    """
    kept = np.empty(n_rows, dtype=np.bool_)
    cdef uint8_t[::1] view = kept.view(np.uint8)
    cdef BagLoop loop
    if n_rows == 0:
        return kept
    loop = BagLoop(key(seed, BAGGING, round), <uint64_t>(fraction * DRAWS), first, &view[0])
    run_shares(bag_body, &loop, n_rows, BLOCK, n_threads, n_rows)
    return kept


cdef struct RowListLoop:
    const uint8_t* kept       # by row: 0 or 1
    int64_t* start            # of the rows of each block, and the end
    uint32_t* rows


cdef void count_body(void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil:
    """Count the rows that are kept in block b, in ``start[b + 1]``."""
    cdef RowListLoop* loop = <RowListLoop*>context
    count_kept(loop.kept + begin, end - begin, &loop.start[begin // BLOCK + 1])


cdef void list_body(void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil:
    """List the rows that are kept in a block."""
    cdef RowListLoop* loop = <RowListLoop*>context
    cdef uint32_t* rows_out = loop.rows + loop.start[begin // BLOCK]
    cdef uint32_t[SAMPLING_TILE + COMPRESS_SPARE] listed
    cdef Py_ssize_t start, n_listed
    for start from begin <= start < end by SAMPLING_TILE:
        n_listed = compress(
            loop.kept + start, NULL, <uint32_t>start,
            min(<Py_ssize_t>SAMPLING_TILE, end - start), listed)
        memcpy(rows_out, listed, n_listed * sizeof(uint32_t))
        rows_out += n_listed


def kept_rows(mask: NDArray[np.bool_], int n_threads=1) -> NDArray[np.uint32]:
    """The numbers of the rows that a mask keeps, ascending, as uint32."""
    cdef const uint8_t[::1] kept = mask.view(np.uint8)
    cdef Py_ssize_t n = kept.shape[0]
    cdef Py_ssize_t n_blocks = (n + BLOCK - 1) // BLOCK
    cdef int64_t[::1] start = np.zeros(n_blocks + 1, dtype=np.int64)
    cdef Py_ssize_t block
    cdef RowListLoop loop
    cdef uint32_t[::1] rows_out
    if n == 0:
        return np.empty(0, dtype=np.uint32)
    loop.kept, loop.start = &kept[0], &start[0]
    run_shares(count_body, &loop, n, BLOCK, n_threads, n)
    for block in range(n_blocks):
        start[block + 1] += start[block]
    rows_out = rows = np.empty(start[n_blocks], dtype=np.uint32)
    if start[n_blocks] > 0:
        loop.rows = &rows_out[0]
        run_shares(list_body, &loop, n, BLOCK, n_threads, n)
    return rows


# ------------------------------------------------------------------ one-side sampling

# Gradient-based one-side sampling (GOSS; Ke et al., NeurIPS 2017, algorithm 2): the rows with the
# largest gradients, and some of the others, which are drawn.
#
# The larger a row's gradients, the smaller is its key. A row's draw is a hash of its number, but 0
# for the rows with the smallest keys. The sample has the rows with the smallest draws. Selecting
# both thresholds among all rows would take several passes. So each is first searched in a window
# around an estimate. One pass over all rows keeps only those up to the upper ends of the windows,
# and the thresholds are selected among these.


cdef struct Window:
    # The range of keys or draws in which a threshold is expected: low <= threshold <= high.
    uint32_t low
    uint32_t high


cdef struct Threshold:
    # What divides the numbers that are taken, the smallest ones, from the others.
    uint32_t value       # the largest number taken
    int64_t n_equal      # the numbers taken that equal it, those of the first rows
    bint all_equal       # whether these are all that equal it


cdef struct Goss:
    # The arguments and the work space of one-side sampling.
    const float* gradient      # (n_scores, n)
    const double* weight       # of gradients where rows are ranked; NULL: 1
    Py_ssize_t weight_stride   # from the weights of a score to the next; 0: all have the same
    Py_ssize_t n               # rows
    int n_scores
    uint64_t row_key           # of the random numbers of rows
    int n_threads
    Py_ssize_t n_blocks
    # Of the rows that are kept, those of block b from position b * BLOCK on.
    uint32_t* rows
    uint32_t* keys
    uint32_t* draws
    # By block.
    int64_t* n_kept
    int64_t* n_below     # of the keys or draws of these rows, those below the window
    int64_t* n_inside    # those in the window


cdef Threshold select_threshold(uint32_t* values, int64_t n, int64_t n_smallest) noexcept nogil:
    """The threshold that takes the ``n_smallest`` > 0 of n values, by radix selection.

    Moves the values that equal the threshold to the front of ``values``. In each step, the
    remaining values have a digit: their highest bits that differ. Values are counted by digit, and
    only those with the digit of the threshold remain.
    """
    cdef uint32_t[1 << DIGIT_BITS] count
    cdef int64_t n_below = 0
    cdef int64_t i, n_kept
    cdef uint32_t low, high, digit
    cdef int shift
    cdef Threshold threshold
    find_range(values, n, &low, &high)
    while low < high:
        shift = max(bit_length(high - low) - DIGIT_BITS, 0)
        memset(count, 0, sizeof(count))
        for i in range(n):
            count[(values[i] - low) >> shift] += 1
        digit = 0
        while n_below + count[digit] < n_smallest:
            n_below += count[digit]
            digit += 1
        n_kept = 0
        for i in range(n):
            values[n_kept] = values[i]
            n_kept += (values[i] - low) >> shift == digit
        n = n_kept
        find_range(values, n, &low, &high)
    threshold.value = low
    threshold.n_equal = n_smallest - n_below
    threshold.all_equal = threshold.n_equal == n
    return threshold


cdef Window expected_keys(const Goss* goss, int64_t n_top) noexcept nogil:
    """The window in which the threshold of the keys is expected, estimated from a pilot sample.

    The sample has every ``step``-th row. ``n_top``: the number of rows with the smallest keys that
    are taken. Of n sampled rows, a binomial number is below the threshold, with the mean n * share
    and the standard deviation sqrt(n * share * (1 - share)): the window reaches WINDOW_SIGMAS of
    these.
    """
    cdef Py_ssize_t step = max(<Py_ssize_t>MIN_PILOT_STRIDE, goss.n // MAX_PILOT_ROWS)
    cdef Py_ssize_t n = goss.n // step
    cdef double share = n_top / <double>goss.n
    cdef double spread = WINDOW_SIGMAS * sqrt(n * share * (1.0 - share))
    cdef int64_t low = <int64_t>(n * share - spread)
    cdef int64_t high = <int64_t>(n * share + spread) + 2
    cdef uint32_t* copied_keys = goss.draws + n
    cdef Py_ssize_t tile, start
    cdef Window window
    for tile in range((n + SAMPLING_TILE - 1) // SAMPLING_TILE):
        start = tile * SAMPLING_TILE
        rank_rows(
            goss.gradient + start * step, goss.n, goss.n_scores,
            goss.weight + start * step if goss.weight != NULL else NULL,
            goss.weight_stride, step, <int>min(<Py_ssize_t>SAMPLING_TILE, n - start),
            goss.draws + start)
    memcpy(copied_keys, goss.draws, n * sizeof(uint32_t))
    window.low = select_threshold(goss.draws, n, low).value if low > 0 else 0
    window.high = select_threshold(copied_keys, n, high).value if high <= n else UINT32_MAX
    return window


cdef Window expected_draws(int64_t n_remaining, int64_t n_other) noexcept nogil:
    """The window in which the threshold of the draws is expected.

    Draws are uniform in 1 to MAX_DRAW. ``n_remaining``: the rows that are not taken for their
    gradients; ``n_other``: those of them that are drawn. With share = n_other / n_remaining, the
    standard deviation of the order statistic is about sqrt(share * (1 - share) / n_remaining), in
    units of MAX_DRAW.
    """
    cdef double share = n_other / <double>n_remaining
    cdef double spread = WINDOW_SIGMAS * sqrt(share * (1.0 - share) / n_remaining)
    cdef Window window
    window.low = 1 + <uint32_t>(max(share - spread, 0.0) * (MAX_DRAW - 1))
    window.high = 1 + <uint32_t>(min(share + spread, 1.0) * (MAX_DRAW - 1))
    return window


cdef void sift_block(
    const Goss* goss, Py_ssize_t block, Window window, const uint32_t* values,
    uint32_t* inside_out,
) noexcept nogil:
    """Copy the values of a block's kept rows that are in a window, and count those below it.

    The counts are written to ``goss.n_inside`` and ``goss.n_below``.
    """
    cdef uint8_t[SAMPLING_TILE] kept
    cdef uint32_t[SAMPLING_TILE + COMPRESS_SPARE] found
    cdef uint32_t* out = inside_out
    cdef Py_ssize_t tile, start, m, n_found
    goss.n_below[block] = 0
    for tile in range((goss.n_kept[block] + SAMPLING_TILE - 1) // SAMPLING_TILE):
        start = tile * SAMPLING_TILE
        m = min(<Py_ssize_t>SAMPLING_TILE, goss.n_kept[block] - start)
        keep_between(
            values + start, window.low, window.high, m, kept, &goss.n_below[block])
        n_found = compress(kept, values + start, 0, m, found)
        memcpy(out, found, n_found * sizeof(uint32_t))
        out += n_found
    goss.n_inside[block] = out - inside_out


cdef void keep_block(
    const Goss* goss, Py_ssize_t block, uint32_t last_key, uint32_t last_draw,
) noexcept nogil:
    """Keep the rows of a block whose key or draw is not above its limit, with their keys.

    Only these can be taken if both thresholds are in their windows.
    """
    cdef uint8_t[SAMPLING_TILE] kept
    cdef uint32_t[SAMPLING_TILE] keys
    cdef uint32_t[SAMPLING_TILE + COMPRESS_SPARE] found
    cdef Py_ssize_t last = min((block + 1) * <Py_ssize_t>BLOCK, goss.n)
    cdef Py_ssize_t out = block * BLOCK
    cdef Py_ssize_t first = block * BLOCK
    cdef Py_ssize_t m, n_found
    while first < last:
        m = min(<Py_ssize_t>SAMPLING_TILE, last - first)
        rank_rows(
            goss.gradient + first, goss.n, goss.n_scores,
            goss.weight + first if goss.weight != NULL else NULL, goss.weight_stride,
            1, <int>m, keys)
        keep_either(keys, last_key, goss.row_key, last_draw, first, m, kept)
        n_found = compress(kept, NULL, <uint32_t>first, m, found)
        memcpy(goss.rows + out, found, n_found * sizeof(uint32_t))
        compress(kept, keys, 0, m, found)
        memcpy(goss.keys + out, found, n_found * sizeof(uint32_t))
        out += n_found
        first += m
    goss.n_kept[block] = out - block * BLOCK


cdef bint find_threshold(
    const Goss* goss, uint32_t* inside, int64_t n_smallest, Threshold* threshold_out,
) noexcept nogil:
    """Find the threshold that takes the ``n_smallest`` numbers; False if it is not in the window.

    ``inside`` has the numbers in the window, block by block; they are overwritten.
    """
    cdef int64_t n_below = 0
    cdef int64_t n_inside = 0
    cdef Py_ssize_t block
    for block in range(goss.n_blocks):
        memmove(
            inside + n_inside, inside + block * BLOCK,
            goss.n_inside[block] * sizeof(uint32_t))
        n_below += goss.n_below[block]
        n_inside += goss.n_inside[block]
    if not n_below < n_smallest <= n_below + n_inside:
        return False
    threshold_out[0] = select_threshold(inside, n_inside, n_smallest - n_below)
    return True


cdef void drop_equals(const Goss* goss, Threshold threshold, uint32_t* values) noexcept nogil:
    """Raise the values that equal the threshold and are not taken, those of the last rows.

    ``values``: the keys or draws of the kept rows, by block. A raised value is above the threshold,
    so that exactly the number of rows that is wanted is at or below it.
    """
    cdef int64_t n_left = threshold.n_equal
    cdef Py_ssize_t block
    if not threshold.all_equal:
        for block in range(goss.n_blocks):
            raise_equals(threshold.value, goss.n_kept[block], values + block * BLOCK, &n_left)


cdef struct SiftLoop:
    const Goss* goss
    Window keys               # where the threshold of the keys is expected
    Window draws              # where that of the draws is
    uint32_t last_key         # the threshold of the keys, once it is known


cdef void sift_keys_body(
    void* context, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    """Keep the rows of a block that may be taken.

    Their keys in the window are copied to ``goss.draws``.
    """
    cdef SiftLoop* loop = <SiftLoop*>context
    cdef const Goss* goss = loop.goss
    keep_block(goss, first // BLOCK, loop.keys.high, loop.draws.high)
    sift_block(goss, first // BLOCK, loop.keys, goss.keys + first, goss.draws + first)


cdef void sift_draws_body(
    void* context, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    """Draw numbers for the kept rows of a block; copy those in the window to ``goss.keys``."""
    cdef SiftLoop* loop = <SiftLoop*>context
    cdef const Goss* goss = loop.goss
    draw_rows(
        goss.row_key, goss.rows + first, goss.keys + first, loop.last_key,
        goss.n_kept[first // BLOCK], goss.draws + first)
    # The keys are no longer needed, so the draws in the window replace them.
    sift_block(goss, first // BLOCK, loop.draws, goss.draws + first, goss.keys + first)


cdef bint find_draws(
    const Goss* goss, Window keys, Window draws, int64_t n_top, int64_t n_other,
    Threshold* threshold_out,
) noexcept nogil:
    """Find the draws of rows that may be taken, and their threshold.

    - ``keys``, ``draws``: the windows of both thresholds. False: one of them is not in its window.
    - ``n_top``: the rows with the largest gradients, whose draw becomes 0.
    - ``n_other``: the others that are drawn; so the n_top + n_other smallest draws are taken.
    """
    cdef SiftLoop loop = SiftLoop(goss, keys, draws, 0)
    cdef Threshold threshold
    parallel_shares(sift_keys_body, &loop, goss.n, BLOCK, goss.n_threads)
    if not find_threshold(goss, goss.draws, n_top, &threshold):
        return False
    drop_equals(goss, threshold, goss.keys)
    loop.last_key = threshold.value
    parallel_shares(sift_draws_body, &loop, goss.n, BLOCK, goss.n_threads)
    if not find_threshold(goss, goss.keys, n_top + n_other, threshold_out):
        return False
    drop_equals(goss, threshold_out[0], goss.draws)
    return True


cdef void take_block(
    const Goss* goss, Py_ssize_t block, uint32_t threshold, float factor,
    float* gradient, float* hessian, bint constant_hessian,
) noexcept nogil:
    """Write the rows of a block that are taken to ``goss.keys``, and scale those that were drawn.

    - ``threshold``: of the draws; 0 are the rows with the largest gradients.
    - ``factor``: of the gradients and hessians of the others.
    - ``gradient``, ``hessian``, (n_scores, n): changed in place; with ``constant_hessian``,
      hessians are set to 1 first.
    """
    cdef uint8_t[SAMPLING_TILE] kept
    cdef uint32_t[SAMPLING_TILE + COMPRESS_SPARE] drawn
    cdef uint32_t[SAMPLING_TILE + COMPRESS_SPARE] taken
    cdef int64_t n_tops = 0
    cdef Py_ssize_t begin = block * BLOCK
    cdef Py_ssize_t first = begin
    cdef Py_ssize_t out = begin
    cdef Py_ssize_t last = begin + goss.n_kept[block]
    cdef Py_ssize_t m, n_drawn, n_taken, k
    while first < last:
        m = min(<Py_ssize_t>SAMPLING_TILE, last - first)
        keep_between(goss.draws + first, 1, threshold, m, kept, &n_tops)
        n_drawn = compress(kept, goss.rows + first, 0, m, drawn)
        keep_between(goss.draws + first, 0, threshold, m, kept, &n_tops)
        n_taken = compress(kept, goss.rows + first, 0, m, taken)
        memcpy(goss.keys + out, taken, n_taken * sizeof(uint32_t))
        for k in range(goss.n_scores):
            if constant_hessian:
                set_rows(taken, n_taken, 1.0, hessian + k * goss.n)
            scale_rows(drawn, n_drawn, factor, gradient + k * goss.n)
            scale_rows(drawn, n_drawn, factor, hessian + k * goss.n)
        out += n_taken
        first += m
    goss.n_kept[block] = out - begin


cdef struct TakeLoop:
    # The arguments of `take_block`, and the result.
    const Goss* goss
    uint32_t threshold
    float factor
    float* gradient
    float* hessian
    bint constant_hessian
    uint32_t* rows


cdef void take_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Take the rows of a block."""
    cdef TakeLoop* loop = <TakeLoop*>context
    take_block(
        loop.goss, first // BLOCK, loop.threshold, loop.factor, loop.gradient,
        loop.hessian, loop.constant_hessian)


cdef void copy_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Copy the taken rows of a block behind those of earlier blocks (``goss.n_below``)."""
    cdef TakeLoop* loop = <TakeLoop*>context
    cdef const Goss* goss = loop.goss
    memcpy(
        loop.rows + goss.n_below[first // BLOCK], goss.keys + first,
        goss.n_kept[first // BLOCK] * sizeof(uint32_t))


cdef Threshold find_any_draws(
    const Goss* goss, int64_t n_top, int64_t n_other,
) noexcept nogil:
    """As `find_draws`, but with windows of all numbers if the estimated ones fail."""
    cdef Window keys = expected_keys(goss, n_top)
    cdef Window draws = expected_draws(goss.n - n_top, n_other)
    cdef Threshold threshold
    if not find_draws(goss, keys, draws, n_top, n_other, &threshold):
        keys.low, keys.high = 0, UINT32_MAX
        draws.low, draws.high = 1, MAX_DRAW
        find_draws(goss, keys, draws, n_top, n_other, &threshold)
    return threshold


def one_side_keys(
    const float[:, ::1] gradient, const double[:, ::1] weight or None,
) -> NDArray[np.uint32]:
    """Keys of rows, (n_rows,) uint32: the larger a row's gradients, the smaller is its key.

    ``gradient``, (n_scores, n_rows); ``weight``, (1 or n_scores, n_rows), or None for ones.

    They are needed if the rows lie on several processes, which find the threshold of the keys
    together. On one, `one_side_sample` does.
    """
    cdef Py_ssize_t n = gradient.shape[1]
    cdef Py_ssize_t stride = n if weight is not None and weight.shape[0] > 1 else 0
    cdef Py_ssize_t first
    keys = np.empty(n, dtype=np.uint32)
    cdef uint32_t[::1] keys_out = keys
    with nogil:
        for first from 0 <= first < n by SAMPLING_TILE:
            rank_rows(
                &gradient[0, first], n, <int>gradient.shape[0],
                &weight[0, first] if weight is not None else NULL, stride, 1,
                <int>min(<Py_ssize_t>SAMPLING_TILE, n - first), &keys_out[first])
    return keys


def one_side_draws(
    const uint32_t[::1] numbers, is_top: NDArray[np.bool_], uint64_t seed, uint64_t round,
) -> NDArray[np.uint32]:
    """Random numbers of rows, uint32: the rows with the smallest ones are taken.

    ``numbers``, ``is_top``, (n,): the rows' numbers among those of all processes, and whether they
    are always taken. The draws are 0 for these, and from 1 to 2**31 for others.
    """
    cdef Py_ssize_t n = numbers.shape[0]
    cdef const uint32_t[::1] is_other = (~is_top).astype(np.uint32)
    draws = np.empty(n, dtype=np.uint32)
    cdef uint32_t[::1] draws_out = draws
    if n:
        with nogil:
            draw_rows(key(seed, ONE_SIDE, round), &numbers[0], &is_other[0], 0, n, &draws_out[0])
    return draws


def one_side_sample(
    float[:, ::1] gradient, float[:, ::1] hessian, const double[:, ::1] weight or None,
    int64_t n_top, int64_t n_other, uint64_t seed, uint64_t round, int n_threads,
    bint constant_hessian=False, uint32_t[:, ::1] scratch=None,
) -> NDArray[np.uint32]:
    """Gradient-based one-side sampling: Algorithm 2 of Ke et al., NeurIPS 2017.

    Keeps the rows with the largest sums of |gradient| over the scores and draws some of
    the others, whose gradients and hessians are then multiplied by
    ``(n_rows - n_top) / n_other``. Of equal gradients the first rows are kept. The others
    are drawn by a hash of (seed, round, row): the same rows on any number of threads.
    Returns all of these rows, (n_top + n_other,), uint32, ascending.

    - ``gradient``, ``hessian``, (n_scores, n_rows): changed in place for the rows drawn.
    - ``weight``, (1 or n_scores, n_rows), or None: counts where rows are ranked.
    - ``n_top``: the number of rows that are kept; at least 1.
    - ``n_other``: the number of other rows that are drawn; at least 1.
    - ``constant_hessian``: whether hessians are ones, whatever the array contains. Those of the
      rows that are returned are set.
    - ``scratch``, (3, n_rows): memory for intermediate results.
    """
    cdef Py_ssize_t n = gradient.shape[1]
    cdef Py_ssize_t n_blocks = (n + BLOCK - 1) // BLOCK
    cdef int64_t[:, ::1] counts = np.empty((3, n_blocks), dtype=np.int64)
    cdef uint32_t[::1] rows_out
    cdef Goss goss
    cdef Py_ssize_t block
    cdef TakeLoop loop
    if scratch is None:
        scratch = np.empty((3, n), dtype=np.uint32)
    rows = np.empty(n_top + n_other, dtype=np.uint32)
    rows_out = rows
    goss.gradient = &gradient[0, 0]
    goss.weight = &weight[0, 0] if weight is not None else NULL
    goss.weight_stride = n if weight is not None and weight.shape[0] > 1 else 0
    goss.n = n
    goss.n_scores = <int>gradient.shape[0]
    goss.row_key = key(seed, ONE_SIDE, round)
    goss.n_threads = n_threads
    goss.n_blocks = n_blocks
    goss.rows, goss.keys, goss.draws = &scratch[0, 0], &scratch[1, 0], &scratch[2, 0]
    goss.n_kept, goss.n_below, goss.n_inside = &counts[0, 0], &counts[1, 0], &counts[2, 0]
    loop = TakeLoop(
        &goss, 0, <float>((n - n_top) / <double>n_other), &gradient[0, 0], &hessian[0, 0],
        constant_hessian, &rows_out[0])
    with nogil:
        loop.threshold = find_any_draws(&goss, n_top, n_other).value
        parallel_shares(take_body, &loop, n, BLOCK, n_threads)
        # From here on, where the rows of each block begin.
        goss.n_below[0] = 0
        for block in range(1, n_blocks):
            goss.n_below[block] = goss.n_below[block - 1] + goss.n_kept[block - 1]
        parallel_shares(copy_body, &loop, n, BLOCK, n_threads)
    return rows


# ------------------------------------------------------------------ order statistics

# An order statistic of each group (a leaf) is found digit by digit. With ``low`` the smallest key
# of its group, a key has the digit (key - low) >> shift.

def count_digits(
    const uint64_t[::1] keys, const int64_t[::1] start, const uint64_t[::1] low, int shift,
    int n_bits, const double[::1] weight=None,
) -> NDArray[np.int64]:
    """Sum the weights of the rows of each group by digit, (n_groups, 2**n_bits) int64.

    - ``keys``, (n,): group by group.
    - ``start``, (n_groups + 1,): where the rows of each group begin, and the end.
    - ``low``, (n_groups,): the smallest key of each group.
    - ``shift``, ``n_bits``: the digits are (key - low) >> shift, below 2**n_bits.
    - ``weight``, (n,): whole numbers; None: 1.
    """
    cdef Py_ssize_t g, i
    counts = np.zeros((low.shape[0], 1 << n_bits), dtype=np.int64)
    cdef int64_t[:, ::1] counts_out = counts
    with nogil:
        for g in range(low.shape[0]):
            for i in range(start[g], start[g + 1]):
                counts_out[g, (keys[i] - low[g]) >> shift] += (
                    1 if weight is None else <int64_t>weight[i])
    return counts


def rows_with_digit(
    const uint64_t[::1] keys, const int64_t[::1] start, const uint64_t[::1] low, int shift,
    const int64_t[::1] digit,
) -> NDArray[np.uint32]:
    """The rows whose key has the digit of its group, ascending, int64.

    ``digit``, (n_groups,): of each group; the other arguments: see `count_digits`.
    """
    cdef Py_ssize_t g, i
    cdef Py_ssize_t n_found = 0
    rows = np.empty(keys.shape[0] + 1, dtype=np.int64)
    cdef int64_t[::1] rows_out = rows
    with nogil:
        for g in range(low.shape[0]):
            for i in range(start[g], start[g + 1]):
                rows_out[n_found] = i
                n_found += (keys[i] - low[g]) >> shift == <uint64_t>digit[g]
    return rows[:n_found].copy()
