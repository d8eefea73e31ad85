"""Which rows and which features a tree sees."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from skgoss._engine.random cimport BAGGING, below, draw, key

cdef enum:
    BLOCK = 65536


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
