"""Percentiles of the residuals of groups of rows, such as those of leaves."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

import numpy as np

from skgoss._engine.atomics cimport fetch_add
from skgoss._engine.threads cimport parallel_for

cdef extern from "percentile_kernels.h" nogil:
    double residual_percentile(
        const double* y, const double* score, const int64_t* rows, Py_ssize_t n, double level,
        double* work_out)


cdef struct PercentileLoop:
    const double* y
    const double* score
    const int64_t* start
    const int64_t* rows
    double level
    double* percentiles
    int64_t n_failed          # of allocations


cdef void percentile_body(
    void* context, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    cdef PercentileLoop* loop = <PercentileLoop*>context
    cdef double* work
    cdef int64_t n
    cdef Py_ssize_t g
    for g in range(first, end):
        n = loop.start[g + 1] - loop.start[g]
        if n == 0:
            continue
        work = <double*>malloc((n + 1) * sizeof(double))
        if work == NULL:
            fetch_add(&loop.n_failed, 1)
            return
        loop.percentiles[g] = residual_percentile(
            loop.y, loop.score, loop.rows + loop.start[g], n, loop.level, work)
        free(work)


def residual_percentiles(
    const double[::1] y, const double[::1] score, const int64_t[::1] start,
    const int64_t[::1] rows, double level, int n_threads,
) -> NDArray[np.float64]:
    """The percentiles of ``y - score`` of groups of rows; 0 for groups without rows.

    - ``start``, (n_groups + 1,): where the rows of each group begin in ``rows``, and the end.
    - ``level``: from 0 to 1.
    """
    percentiles = np.zeros(start.shape[0] - 1)
    cdef double[::1] percentiles_out = percentiles
    cdef PercentileLoop loop
    if rows.shape[0] == 0:
        return percentiles
    loop = PercentileLoop(
        &y[0], &score[0], &start[0], &rows[0], level, &percentiles_out[0], 0)
    with nogil:
        parallel_for(percentile_body, &loop, percentiles_out.shape[0], 1, n_threads)
    if loop.n_failed:
        raise MemoryError("could not allocate memory for percentiles")
    return percentiles
