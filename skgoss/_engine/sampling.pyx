"""Which rows and which features a tree sees."""

from cython.parallel cimport prange
from libc.math cimport fabsf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from skgoss._engine.random cimport BAGGING, ONE_SIDE, below, draw, key

cdef enum:
    BLOCK = 65536
    # Digits of a radix selection: 12 bits, then 10 and 10.
    DIGITS = 4096


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
    # The keys below `value` are taken, and so many of those that are equal, first rows first.
    uint32_t value
    int64_t n_equal


cdef void count_digits(
    const uint32_t* keys, Py_ssize_t first, Py_ssize_t last, int shift, uint32_t mask,
    uint64_t prefix, int prefix_shift, int64_t* count_out,
) noexcept nogil:
    """Count a digit of the keys whose higher digits are ``prefix``."""
    cdef Py_ssize_t i
    for i in range(first, last):
        if <uint64_t>keys[i] >> prefix_shift == prefix:
            count_out[(keys[i] >> shift) & mask] += 1


cdef Cut find_cut(
    const uint32_t* keys, Py_ssize_t n, int64_t n_wanted, int n_threads,
    int64_t[:, ::1] counts,
) noexcept nogil:
    """The cut that takes the ``n_wanted`` smallest keys, by radix selection.

    ``counts``: room for DIGITS counts of each block of rows. Integer counts add up to the
    same whoever counts.
    """
    cdef Py_ssize_t n_blocks = (n + BLOCK - 1) // BLOCK
    cdef int[4] shifts = [20, 10, 0, 0]
    cdef int[4] bits = [12, 10, 10, 0]
    cdef uint64_t prefix = 0
    cdef int64_t left = n_wanted
    cdef int64_t total
    cdef Py_ssize_t block
    cdef int step
    cdef int digit = 0
    cdef Cut cut
    for step in range(3):
        for block in prange(n_blocks, num_threads=n_threads, use_threads_if=n_threads > 1):
            memset(&counts[block, 0], 0, DIGITS * sizeof(int64_t))
            count_digits(
                keys, block * BLOCK, min((block + 1) * BLOCK, n), shifts[step],
                (<uint32_t>1 << bits[step]) - 1, prefix, shifts[step] + bits[step],
                &counts[block, 0])
        for digit in range(1 << bits[step]):
            total = 0
            for block in range(n_blocks):
                total = total + counts[block, digit]
            if total >= left:
                break
            left = left - total
        prefix = prefix << bits[step] | <uint64_t>digit
    cut.value = <uint32_t>prefix
    cut.n_equal = left
    return cut


cdef void rank_rows(
    const float[:, ::1] gradient, const float[:, ::1] hessian, const double[:, ::1] weight,
    Py_ssize_t first, Py_ssize_t last, uint32_t* keys_out,
) noexcept nogil:
    """Keys that fall as the sum over the scores of a row's |gradient| rises.

    The bits of floats that are not negative are ordered as they are.
    """
    cdef Py_ssize_t i, k
    cdef float total
    cdef uint32_t bits
    for i in range(first, last):
        total = 0
        for k in range(gradient.shape[0]):
            if hessian is not None:
                total += fabsf(gradient[k, i] * hessian[k, i])
            else:
                total += fabsf(gradient[k, i])
        if weight is not None:
            total = <float>(total * weight[0, i])
        memcpy(&bits, &total, sizeof(bits))
        keys_out[i] = ~bits


cdef void draw_rest(
    uint64_t row_key, Cut cut, Py_ssize_t first, Py_ssize_t last, int64_t n_equal_before,
    uint32_t* keys,
) noexcept nogil:
    """Replace keys by 0 for rows of large gradients and by random numbers for the others."""
    cdef Py_ssize_t i
    cdef bint top
    for i in range(first, last):
        top = keys[i] < cut.value
        if keys[i] == cut.value:
            top = n_equal_before < cut.n_equal
            n_equal_before += 1
        keys[i] = 0 if top else <uint32_t>(draw(row_key, i) >> 32) | 1


cdef int64_t count_equal(
    const uint32_t* keys, uint32_t value, Py_ssize_t first, Py_ssize_t last,
) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t n = 0
    for i in range(first, last):
        n += keys[i] == value
    return n


cdef int64_t count_below(
    const uint32_t* keys, uint32_t value, Py_ssize_t first, Py_ssize_t last,
) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t n = 0
    for i in range(first, last):
        n += keys[i] < value
    return n


cdef void take_rows(
    const uint32_t* keys, Cut cut, double factor, const double[:, ::1] weight,
    Py_ssize_t first, Py_ssize_t last, int64_t n_equal_before, int64_t at,
    uint32_t[::1] rows_out, double[:, ::1] weight_out,
) noexcept nogil:
    """List the rows taken; those not of large gradients count ``factor`` times."""
    cdef Py_ssize_t i, k
    cdef double times
    for i in range(first, last):
        if keys[i] > cut.value:
            continue
        if keys[i] == cut.value:
            n_equal_before += 1
            if n_equal_before > cut.n_equal:
                continue
        rows_out[at] = <uint32_t>i
        at += 1
        times = factor if keys[i] > 0 else 1.0
        for k in range(weight_out.shape[0]):
            weight_out[k, i] = times * weight[k, i] if weight is not None else times


cdef void prefix_sums(int64_t[:, ::1] counts, Py_ssize_t n_blocks, int column) noexcept nogil:
    """What the blocks before each block have in a column of their counts."""
    cdef int64_t total = 0
    cdef int64_t own
    cdef Py_ssize_t block
    for block in range(n_blocks):
        own = counts[block, column]
        counts[block, column] = total
        total += own


def one_side_sample(
    const float[:, ::1] gradient,
    const float[:, ::1] hessian,
    const double[:, ::1] weight,
    int64_t n_top,
    int64_t n_other,
    uint64_t seed,
    uint64_t round,
    int n_threads,
    double[:, ::1] weight_out,
):
    """Gradient-based one-side sampling: Algorithm 2 of Ke et al., NeurIPS 2017.

    Of equal gradients the first rows are taken, and the others are drawn by a hash of
    (seed, round, row): the same rows on any number of threads.

    Parameters
    ----------
    gradient : (n_scores, n_rows) float32
    hessian : (n_scores, n_rows) float32 or None
        Multiplies the gradients where rows are ranked.
    weight : (1 or n_scores, n_rows) float64 or None
        The rows' weights; the first counts where rows are ranked.
    n_top : int
        How many rows of the largest gradients are kept; at least 1.
    n_other : int
        How many of the rest are drawn; at least 1.
    seed, round : int
    n_threads : int
    weight_out : (1 or n_scores, n_rows) float64
        For the rows taken: their weight, times ``(n_rows - n_top) / n_other`` where they
        were drawn.

    Returns
    -------
    (n_top + n_other,) uint32
        The rows, ascending.
    """
    cdef Py_ssize_t n = gradient.shape[1]
    cdef Py_ssize_t n_blocks = (n + BLOCK - 1) // BLOCK
    cdef double factor = (n - n_top) / <double>n_other
    cdef uint64_t row_key = key(seed, ONE_SIDE, round)
    cdef uint32_t[::1] keys = np.empty(n, dtype=np.uint32)
    cdef int64_t[:, ::1] counts = np.empty((n_blocks, DIGITS), dtype=np.int64)
    rows = np.empty(n_top + n_other, dtype=np.uint32)
    cdef uint32_t[::1] rows_out = rows
    cdef Py_ssize_t block
    cdef Cut cut
    with nogil:
        for block in prange(n_blocks, num_threads=n_threads, use_threads_if=n_threads > 1):
            rank_rows(
                gradient, hessian, weight, block * BLOCK, min((block + 1) * BLOCK, n), &keys[0])
        cut = find_cut(&keys[0], n, n_top, n_threads, counts)
        for block in prange(n_blocks, num_threads=n_threads, use_threads_if=n_threads > 1):
            counts[block, 0] = count_equal(
                &keys[0], cut.value, block * BLOCK, min((block + 1) * BLOCK, n))
        prefix_sums(counts, n_blocks, 0)
        for block in prange(n_blocks, num_threads=n_threads, use_threads_if=n_threads > 1):
            draw_rest(
                row_key, cut, block * BLOCK, min((block + 1) * BLOCK, n), counts[block, 0],
                &keys[0])
        cut = find_cut(&keys[0], n, n_top + n_other, n_threads, counts)
        for block in prange(n_blocks, num_threads=n_threads, use_threads_if=n_threads > 1):
            counts[block, 0] = count_equal(
                &keys[0], cut.value, block * BLOCK, min((block + 1) * BLOCK, n))
            counts[block, 1] = count_below(
                &keys[0], cut.value, block * BLOCK, min((block + 1) * BLOCK, n))
        prefix_sums(counts, n_blocks, 0)
        prefix_sums(counts, n_blocks, 1)
        for block in prange(n_blocks, num_threads=n_threads, use_threads_if=n_threads > 1):
            take_rows(
                &keys[0], cut, factor, weight, block * BLOCK, min((block + 1) * BLOCK, n),
                counts[block, 0], counts[block, 1] + min(counts[block, 0], cut.n_equal),
                rows_out, weight_out)
    return rows
