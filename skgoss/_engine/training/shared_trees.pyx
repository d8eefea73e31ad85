"""One tree for all scores: its splits are chosen for a random direction of the scores."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from skgoss._engine.random cimport DIRECTION, bounded, draw, key
from skgoss._engine.threads cimport parallel_shares
from skgoss._engine.training.forest cimport Forest

cdef extern from "shared_trees.h" nogil:
    void add_values_of_leaves(
        const int32_t* leaf, const double* value, Py_ssize_t n, double* score_inout)

cdef enum:
    SUM_BLOCK = 8192          # rows whose sums stay in the cache while all scores are added
    N_UNIFORM = 4             # random numbers whose sum is nearly normally distributed


cdef random_halves(uint64_t seed, uint64_t round_index, int n_scores):
    """Give the gradients of half of the scores, at random, the factor 1, and the others -1.

    Returns (2, n_scores), float32: the factors of gradients and of hessians. Selection sampling
    with hashes of (seed, round, score): see `sample_features`.
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
    return np.stack([signs, np.ones_like(signs)])


cdef random_direction(uint64_t seed, uint64_t round_index, const double[:, ::1] unit):
    """A random unit vector: the factors of the scores, nearly normally distributed.

    Returns (2, n_scores): the factors of gradients, and those of hessians, their squares. Both are
    divided by ``unit``, (2, n_scores), the typical gradient and hessian of each score, so the
    direction does not depend on the units of the outputs.
    """
    cdef int n_scores = unit.shape[1]
    factors = np.empty(n_scores)
    cdef double[::1] factors_out = factors
    cdef uint64_t random = key(seed, DIRECTION, round_index)
    cdef int64_t total
    cdef int k, i
    for k in range(n_scores):
        total = -<int64_t>N_UNIFORM * (1 << 31)
        for i in range(N_UNIFORM):
            total += <int64_t>(draw(random, N_UNIFORM * k + i) >> 32)
        # Of an output without gradients, the unit is infinite.
        factors_out[k] = total if unit[0, k] < INFINITY else 0.0
    factors /= np.sqrt((factors * factors).sum()) or 1.0
    return (np.stack([factors, factors * factors]) / unit).astype(np.float32)


cdef struct DirectedSumLoop:
    const float* values
    const float* factors      # of each score
    const double* weight      # of each value; NULL: 1
    Py_ssize_t n_scores
    Py_ssize_t n
    float* sums


cdef void directed_body(
    void* context, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    """Add the values of all scores, times their factors, to the sums of some rows."""
    cdef DirectedSumLoop* loop = <DirectedSumLoop*>context
    cdef const float* values
    cdef const double* weight
    cdef float factor
    cdef Py_ssize_t i, k
    for k in range(loop.n_scores):
        values = loop.values + k * loop.n
        factor = loop.factors[k]
        if loop.weight == NULL:
            for i in range(first, end):
                loop.sums[i] += factor * values[i]
        else:
            weight = loop.weight + k * loop.n
            for i in range(first, end):
                loop.sums[i] += <float>(factor * weight[i] * values[i])


cdef directed_sums(
    const float[:, ::1] values, const float[::1] factors, const double[:, ::1] weight,
    int n_threads,
):
    """The sum over the scores of each row's values times a factor of each score, (1, n_rows).

    ``weight``, (n_scores, n_rows): also multiplies the values; None: 1.
    """
    cdef Py_ssize_t n = values.shape[1]
    sums = np.zeros((1, n), dtype=np.float32)
    cdef float[:, ::1] sums_out = sums
    cdef DirectedSumLoop loop = DirectedSumLoop(
        &values[0, 0], &factors[0], NULL, values.shape[0], n, &sums_out[0, 0])
    if weight is not None:
        loop.weight = &weight[0, 0]
    with nogil:
        parallel_shares(directed_body, &loop, n, SUM_BLOCK, n_threads)
    return sums


cdef struct AdditionLoop:
    const int32_t* leaf       # of each row
    const double* values      # of the leaves
    double* score


cdef void addition_body(
    void* context, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    cdef AdditionLoop* loop = <AdditionLoop*>context
    add_values_of_leaves(loop.leaf + first, loop.values, end - first, loop.score + first)


cdef int add_shared_trees(
    Forest forest, int64_t first_tree, const int32_t* leaf, Py_ssize_t n_rows, int n_threads,
    double* scores_inout, int64_t n_scores,
) except -1 nogil:
    """Add trees of a forest that have the same splits, one for each score, to scores.

    ``leaf``, (n_rows,): the leaf of each row. ``scores_inout``, (n_scores, n_rows).
    """
    cdef const int64_t* start = forest.leaf_start + first_tree
    cdef int64_t n_leaves = start[1] - start[0]
    cdef double* values = <double*>malloc(n_leaves * sizeof(double))
    cdef AdditionLoop loop
    cdef int64_t k, i
    if values == NULL:
        raise MemoryError("could not allocate memory for leaf values")
    for k in range(n_scores):
        for i in range(n_leaves):
            values[i] = forest.leaves[start[k] + i].value
        loop = AdditionLoop(leaf, values, scores_inout + k * n_rows)
        parallel_shares(addition_body, &loop, n_rows, SUM_BLOCK, n_threads)
    free(values)
    return 0
