"""One tree for all scores: the direction that its splits are chosen for."""

from libc.stdint cimport uint64_t

import numpy as np

from skgoss._engine.random cimport DIRECTION, below, draw, key
from skgoss._engine.threads cimport parallel_shares

cdef enum:
    SIGNED_BLOCK = 8192       # rows whose sums stay in the cache while scores are added


cdef direction(uint64_t seed, uint64_t round_index, int n_scores):
    """Give half of the scores, at random, the sign 1 and the others -1."""
    signs = np.full(n_scores, -1.0, dtype=np.float32)
    cdef float[::1] signs_out = signs
    cdef uint64_t random = key(seed, DIRECTION, round_index)
    cdef int n_left = n_scores // 2
    cdef int k
    for k in range(n_scores):
        if below(draw(random, k), n_scores - k) < n_left:
            signs_out[k] = 1.0
            n_left -= 1
    return signs


cdef struct SignedSums:
    const float* values
    const float* signs
    Py_ssize_t n_scores
    Py_ssize_t n
    float* sums


cdef void add_signed(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Of some rows, the sum of the scores' values, with signs."""
    cdef SignedSums* all = <SignedSums*>context
    cdef const float* values
    cdef Py_ssize_t i, k
    for k in range(all.n_scores):
        values = all.values + k * all.n
        for i in range(first, end):
            all.sums[i] += all.signs[k] * values[i]


cdef signed_sums(const float[:, ::1] values, const float[::1] signs, int n_threads):
    """Of each row, the sum of the scores' values, with signs."""
    cdef Py_ssize_t n = values.shape[1]
    sums = np.zeros((1, n), dtype=np.float32)
    cdef float[:, ::1] sums_out = sums
    cdef SignedSums context = SignedSums(
        &values[0, 0], &signs[0], values.shape[0], n, &sums_out[0, 0])
    with nogil:
        parallel_shares(add_signed, &context, n, SIGNED_BLOCK, n_threads)
    return sums
