"""Exact sums over rows of what a change of their scores explains of their errors."""

from libc.stdint cimport int64_t

import numpy as np

from skgoss._engine.objectives.exact_sum cimport EXACT_BLOCK, EXACT_SIZE, add_products

cdef extern from "error_sums.h" nogil:
    enum:
        N_ERROR_SUMS
        TERM_STRIDE
    void error_terms(
        const double* slope, const double* curve, const double* visible, const double* change,
        int64_t n, double* term_out)


def error_sums(
    const double[::1] slope, const double[::1] curve, const double[::1] visible,
    const double[::1] change, const double[::1] weight=None,
) -> NDArray[np.int64]:
    """The weighted sums of slope**2, visible**2, (visible + curve change)**2, slope**2 / curve,
    curve change**2 and visible change.

    All arguments are (n,); rows whose ``curve`` is 0 do not count in the fourth sum. Returns
    (6, EXACT_SIZE) integers: see `rounded` in `exact_sum`.
    """
    cdef double[N_ERROR_SUMS * TERM_STRIDE] term
    cdef int64_t n = slope.shape[0]
    cdef int64_t first, size, k
    sums = np.zeros((N_ERROR_SUMS, EXACT_SIZE), dtype=np.int64)
    cdef int64_t[:, ::1] sums_out = sums
    with nogil:
        for first from 0 <= first < n by EXACT_BLOCK:
            size = min(n - first, <int64_t>EXACT_BLOCK)
            error_terms(
                &slope[first], &curve[first], &visible[first], &change[first], size, term)
            for k in range(N_ERROR_SUMS):
                add_products(
                    term + k * TERM_STRIDE, NULL if weight is None else &weight[first], size,
                    &sums_out[k, 0])
    return sums
