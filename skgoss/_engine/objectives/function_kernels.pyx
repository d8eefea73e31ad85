"""Functions of arrays: exponentials, logarithms, and gamma functions.

They are those of `elementary.h` and `gamma_functions.h`. Unlike NumPy's and SciPy's, their results
are the same on every machine.
"""

from libc.stdint cimport int64_t

import numpy as np

ctypedef void (*function_of_each)(double* x, int64_t n) noexcept nogil

cdef extern from "function_kernels.h" nogil:
    void exp_of_each(double* x, int64_t n) noexcept
    void log_of_each(double* x, int64_t n) noexcept
    void log1p_of_each(double* x, int64_t n) noexcept
    void log_gamma_of_each(double* x, int64_t n) noexcept
    void digamma_of_each(double* x, int64_t n) noexcept
    void trigamma_of_each(double* x, int64_t n) noexcept


cdef object mapped(function_of_each function, values):
    """Apply a kernel to each element of a copy of an array of any shape; returns float64."""
    result = np.array(values, dtype=np.float64, order="C")
    cdef double[::1] flat = result.reshape(-1)
    if flat.shape[0]:
        function(&flat[0], flat.shape[0])
    return result


def exp(values: ArrayLike) -> NDArray[np.float64]:
    """The exponential of each number."""
    return mapped(exp_of_each, values)


def log(values: ArrayLike) -> NDArray[np.float64]:
    """The natural logarithm of each number, which must be at least 2**-1022."""
    return mapped(log_of_each, values)


def log1p(values: ArrayLike) -> NDArray[np.float64]:
    """log(1 + x) of each number x > -1."""
    return mapped(log1p_of_each, values)


def log_gamma(values: ArrayLike) -> NDArray[np.float64]:
    """The logarithm of the gamma function of each number above 0."""
    return mapped(log_gamma_of_each, values)


def digamma(values: ArrayLike) -> NDArray[np.float64]:
    """The derivative of `log_gamma`."""
    return mapped(digamma_of_each, values)


def trigamma(values: ArrayLike) -> NDArray[np.float64]:
    """The derivative of `digamma`."""
    return mapped(trigamma_of_each, values)
