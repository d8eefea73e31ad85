"""Numbers of a column: which of them are zero, and how many rows are read at a time."""

from libc.math cimport fabs, isnan

cdef enum:
    # Rows read at a time: their values and bins stay in the first cache.
    BLOCK = 256

# Values of at most this magnitude count as zero: the float32 nearest to 1e-35.
cdef extern from *:
    """
    #define ZERO 1.0000000180025095e-35
    """
    const double ZERO


cdef inline bint is_zero(double value, bint nan_is_zero) noexcept nogil:
    """Whether a number counts as zero; NaN does if ``nan_is_zero``."""
    return nan_is_zero if isnan(value) else fabs(value) <= ZERO
