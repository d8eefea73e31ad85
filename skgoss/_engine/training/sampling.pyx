"""Which rows and which features a tree sees."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from skgoss._engine.random cimport BAGGING, ONE_SIDE, below, draw, key

cdef extern from "sampling.h" nogil:
    void rank_rows(
        const float* gradient, Py_ssize_t stride, int n_scores, const double* weight,
        Py_ssize_t weight_stride, Py_ssize_t n, uint32_t* keys_out)
    void draw_rest(
        uint64_t row_key, uint32_t cut, Py_ssize_t first, Py_ssize_t n, uint32_t* keys)
    Py_ssize_t list_rows(
        const uint32_t* keys, uint32_t cut, Py_ssize_t first, Py_ssize_t n,
        uint32_t* rows_out)
    void scale_drawn(
        const uint32_t* keys, uint32_t cut, Py_ssize_t n, float factor, int write,
        float* slope)
    void collect_keys(
        const uint32_t* keys, int low_bits, uint32_t digit, Py_ssize_t n_wanted,
        uint32_t* keys_out)

cdef enum:
    BLOCK = 65536
    # A radix selection looks at the 12 highest bits of all keys, then twice at 10 of few.
    DIGITS = 4096
    LOW_BITS = 20
    LOW_DIGITS = 1024


cdef int sample_features(
    const int32_t* pool, int n_pool, double fraction, uint64_t node_key, int32_t* sample_out,
) noexcept nogil:
    """Draw fraction * n_pool, rounded, of the pool, but one at least, in the pool's order.

    Returns how many. Selection sampling (Knuth, TAOCP 2, 3.4.2, algorithm S) with keyed draws.
    """
    cdef int n_wanted = <int>max(1.0, fraction * n_pool + 0.5)
    cdef int taken = 0
    cdef int i
    if n_wanted >= n_pool:
        memcpy(sample_out, pool, n_pool * sizeof(int32_t))
        return n_pool
    for i in range(n_pool):
        if below(draw(node_key, i), n_pool - i) < n_wanted - taken:
            sample_out[taken] = pool[i]
            taken += 1
    return taken


cdef void draw_block(
    uint64_t row_key, uint64_t threshold, Py_ssize_t first, Py_ssize_t last, uint8_t* kept_out,
) noexcept nogil:
    cdef Py_ssize_t row
    for row in range(first, last):
        kept_out[row] = (draw(row_key, row) >> 11) < threshold


def bagging_mask(Py_ssize_t n_rows, double fraction, uint64_t seed, uint64_t round,
                 int n_threads=1):
    """Draw each row with probability ``fraction``, by a hash of (seed, round, row).

    Returns a bool array of shape (n_rows,). As in LightGBM the number of rows is random.
    """
    kept = np.empty(n_rows, dtype=np.bool_)
    cdef uint8_t[::1] view = kept.view(np.uint8)
    cdef uint64_t row_key = key(seed, BAGGING, round)
    cdef uint64_t threshold = <uint64_t>(fraction * 9007199254740992.0)
    cdef Py_ssize_t block
    if n_rows == 0:
        return kept
    for block in prange(
        (n_rows + BLOCK - 1) // BLOCK, nogil=True, num_threads=n_threads,
        use_threads_if=n_threads > 1 and n_rows > BLOCK,
    ):
        draw_block(
            row_key, threshold, block * BLOCK, min((block + 1) * BLOCK, n_rows), &view[0])
    return kept


# ------------------------------------------------------------------ one-side sampling


cdef struct Cut:
    uint32_t value       # of the last key taken
    int64_t n_below      # keys below it
    int64_t n_equal      # how many that are equal are taken, first rows first
    bint all_equal       # all of them


cdef void count_block(
    const uint32_t* keys, Py_ssize_t first, Py_ssize_t last, uint32_t* count_out,
) noexcept nogil:
    """Count the highest digits of some keys.

    In two tables by turns, as keys that are alike wait for one another in one counter.
    """
    cdef uint32_t[DIGITS] odd
    cdef Py_ssize_t i
    memset(count_out, 0, DIGITS * sizeof(uint32_t))
    memset(odd, 0, sizeof(odd))
    for i in range(first, last - 1, 2):
        count_out[keys[i] >> LOW_BITS] += 1
        odd[keys[i + 1] >> LOW_BITS] += 1
    if (last - first) % 2:
        count_out[keys[last - 1] >> LOW_BITS] += 1
    for i in range(DIGITS):
        count_out[i] += odd[i]


cdef bint are_equal(const uint32_t* keys, int64_t n) noexcept nogil:
    cdef uint32_t difference = 0
    cdef int64_t i
    for i in range(1, n):
        difference |= keys[i] ^ keys[0]
    return difference == 0


cdef Cut cut_few(uint32_t* keys, int64_t n, int64_t n_wanted) noexcept nogil:
    """The cut that takes the ``n_wanted`` smallest of some keys with one highest digit."""
    cdef uint32_t[LOW_DIGITS] count
    cdef uint32_t digit
    cdef int shift
    cdef int64_t i, n_kept
    cdef Cut cut
    cut.n_below = 0
    for shift in range(10, -1, -10):
        # Gradients of one size would wait for one another in a single counter.
        if are_equal(keys, n):
            break
        memset(count, 0, sizeof(count))
        for i in range(n):
            count[keys[i] >> shift & (LOW_DIGITS - 1)] += 1
        digit = 0
        while cut.n_below + count[digit] < n_wanted:
            cut.n_below += count[digit]
            digit += 1
        n_kept = 0
        for i in range(n):
            keys[n_kept] = keys[i]
            n_kept += (keys[i] >> shift & (LOW_DIGITS - 1)) == digit
        n = n_kept
    cut.value = keys[0]
    cut.n_equal = n_wanted - cut.n_below
    cut.all_equal = cut.n_equal == n
    return cut


cdef Cut find_cut(
    const uint32_t* keys, int64_t n_wanted, int n_threads, const uint32_t[:, ::1] counts,
    int64_t[::1] start, uint32_t* room,
) noexcept nogil:
    """The cut that takes the ``n_wanted`` smallest keys, by radix selection.

    ``counts`` holds the counts of each block's highest digits: integers, whose sums are the
    same whoever counts. ``start``: room for a number of each block; ``room``: for all keys.
    """
    cdef Py_ssize_t n_blocks = counts.shape[0]
    cdef int64_t n_below = 0
    cdef int64_t total = 0
    cdef Py_ssize_t block
    cdef uint32_t digit = 0
    cdef Cut cut
    while True:
        total = 0
        for block in range(n_blocks):
            total += counts[block, digit]
        if n_below + total >= n_wanted:
            break
        n_below += total
        digit += 1
    total = 0
    for block in range(n_blocks):
        start[block] = total
        total += counts[block, digit]
    for block in prange(n_blocks, num_threads=n_threads, use_threads_if=n_threads > 1):
        collect_keys(
            keys + block * BLOCK, LOW_BITS, digit, counts[block, digit],
            room + start[block])
    cut = cut_few(room, total, n_wanted - n_below)
    cut.n_below += n_below
    return cut


cdef void part_equals(uint32_t* keys, Py_ssize_t n, Cut cut) noexcept nogil:
    """Move the equals that are not taken, the last rows, above the cut."""
    cdef int64_t n_seen = 0
    cdef bint is_equal
    cdef Py_ssize_t i
    if cut.all_equal:
        return
    for i in range(n):
        is_equal = keys[i] == cut.value
        n_seen += is_equal
        keys[i] += is_equal & (n_seen > cut.n_equal)


def one_side_sample(
    float[:, ::1] gradient,
    float[:, ::1] hessian,
    const double[:, ::1] weight,
    int64_t n_top,
    int64_t n_other,
    uint64_t seed,
    uint64_t round,
    int n_threads,
    bint constant_hessian=False,
):
    """Gradient-based one-side sampling: Algorithm 2 of Ke et al., NeurIPS 2017.

    Keeps the rows with the largest sums of |gradient| over the scores and draws some of
    the others, whose gradients and hessians are then multiplied by
    ``(n_rows - n_top) / n_other``. Of equal gradients the first rows are kept. The others
    are drawn by a hash of (seed, round, row): the same rows on any number of threads.

    Parameters
    ----------
    gradient, hessian : (n_scores, n_rows) float32
        Changed in place for the rows drawn.
    weight : (1 or n_scores, n_rows) float64 or None
        The rows' weights, which count where rows are ranked.
    n_top : int
        How many rows are kept; at least 1.
    n_other : int
        How many of the rest are drawn; at least 1.
    seed, round : int
    n_threads : int
    constant_hessian : bool, default=False
        Whether hessians are ones, however the array is filled.

    Returns
    -------
    (n_top + n_other,) uint32
        The rows, ascending.
    """
    cdef Py_ssize_t n = gradient.shape[1]
    cdef Py_ssize_t n_blocks = (n + BLOCK - 1) // BLOCK
    cdef Py_ssize_t n_taken = n_top + n_other
    cdef Py_ssize_t weight_stride = n if weight is not None and weight.shape[0] > 1 else 0
    cdef float factor = <float>((n - n_top) / <double>n_other)
    cdef uint64_t row_key = key(seed, ONE_SIDE, round)
    cdef uint32_t[::1] keys = np.empty(n, dtype=np.uint32)
    cdef uint32_t[::1] room = np.empty(n + n_blocks + 1, dtype=np.uint32)
    cdef int64_t[::1] place = np.empty(n_blocks, dtype=np.int64)
    cdef uint32_t[:, ::1] counts = np.empty((n_blocks, DIGITS), dtype=np.uint32)
    rows = np.empty(n_taken, dtype=np.uint32)
    cdef uint32_t[::1] rows_out = rows
    cdef Py_ssize_t block, first, m, k
    cdef Cut cut
    n_threads = min(n_threads, n_blocks)
    with nogil:
        for block in prange(n_blocks, num_threads=n_threads, use_threads_if=n_threads > 1):
            first = block * BLOCK
            m = min(<Py_ssize_t>BLOCK, n - first)
            rank_rows(
                &gradient[0, first], n, <int>gradient.shape[0],
                &weight[0, first] if weight is not None else NULL, weight_stride, m,
                &keys[first])
            count_block(&keys[0], first, first + m, &counts[block, 0])
        cut = find_cut(&keys[0], n_top, n_threads, counts, place, &room[0])
        part_equals(&keys[0], n, cut)
        for block in prange(n_blocks, num_threads=n_threads, use_threads_if=n_threads > 1):
            first = block * BLOCK
            m = min(<Py_ssize_t>BLOCK, n - first)
            draw_rest(row_key, cut.value, first, m, &keys[first])
            count_block(&keys[0], first, first + m, &counts[block, 0])
        cut = find_cut(&keys[0], n_taken, n_threads, counts, place, &room[0])
        part_equals(&keys[0], n, cut)
        for block in prange(n_blocks, num_threads=n_threads, use_threads_if=n_threads > 1):
            first = block * BLOCK
            m = min(<Py_ssize_t>BLOCK, n - first)
            for k in range(gradient.shape[0]):
                scale_drawn(
                    &keys[first], cut.value, m, factor, False, &gradient[k, first])
                scale_drawn(
                    &keys[first], cut.value, m, factor, constant_hessian,
                    &hessian[k, first])
            place[block] = list_rows(
                &keys[first], cut.value, first, m, &room[first + block])
        first = 0
        for block in range(n_blocks):
            memcpy(
                &rows_out[first], &room[block * (BLOCK + 1)],
                place[block] * sizeof(uint32_t))
            first = first + place[block]
    return rows
