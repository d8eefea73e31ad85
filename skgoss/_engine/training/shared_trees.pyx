"""One tree for all scores: its splits are chosen for a random direction of the scores."""

from libc.stdint cimport uint64_t

import numpy as np

from skgoss._engine.random cimport DIRECTION, bounded, draw, key
from skgoss._engine.threads cimport parallel_shares

cdef enum:
    SIGNED_BLOCK = 8192       # rows whose sums stay in the cache while all scores are added


cdef random_direction(uint64_t seed, uint64_t round_index, int n_scores):
    """Give half of the scores, at random, the sign 1 and the others -1: (n_scores,), float32.

    Selection sampling with hashes of (seed, round, score): see `sample_features`.
    """
    signs = np.full(n_scores, -1.0, dtype=np.float32)
    cdef float[::1] signs_out = signs
    cdef uint64_t random = key(seed, DIRECTION, round_index)
    cdef int n_left = n_scores // 2
    cdef int k
    for k in range(n_scores):
        if bounded(draw(random, k), n_scores - k) < n_left:
            signs_out[k] = 1.0
            n_left -= 1
    return signs


cdef struct SignedSumLoop:
    const float* values
    const float* signs
    Py_ssize_t n_scores
    Py_ssize_t n
    float* sums


cdef void signed_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Add the values of all scores, times their signs, to the sums of some rows."""
    cdef SignedSumLoop* loop = <SignedSumLoop*>context
    cdef const float* values
    cdef Py_ssize_t i, k
    for k in range(loop.n_scores):
        values = loop.values + k * loop.n
        for i in range(first, end):
            loop.sums[i] += loop.signs[k] * values[i]


cdef signed_sums(const float[:, ::1] values, const float[::1] signs, int n_threads):
    """The sum over the scores of each row's values times the signs of the scores, (1, n_rows)."""
    cdef Py_ssize_t n = values.shape[1]
    sums = np.zeros((1, n), dtype=np.float32)
    cdef float[:, ::1] sums_out = sums
    cdef SignedSumLoop loop = SignedSumLoop(
        &values[0, 0], &signs[0], values.shape[0], n, &sums_out[0, 0])
    with nogil:
        parallel_shares(signed_body, &loop, n, SIGNED_BLOCK, n_threads)
    return sums
