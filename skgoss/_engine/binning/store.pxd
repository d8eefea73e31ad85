"""The bins of the training rows, column by column.

The stored bins of a feature are its bins without the `default_bin`, if it has one, numbered 0, 1,
... They are stored as codes of a column of 8-bit or 16-bit numbers, which a bundle of features
shares; or as a sparse column, which lists the rows that have them; or as both.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint8_t

cdef struct BinColumn:
    const void* codes         # by row; NULL: the feature is sparse only
    int width                 # bytes of a code: 1 or 2
    int32_t first_code        # the code of stored bin 0
    int32_t n_bins
    int32_t default_bin       # the bin of rows with other codes or not stored; -1: none
    const uint32_t* rows      # stored rows, ascending; NULL: it is not sparse
    const uint16_t* stored    # their stored bins; features of two bins share an array of zeros
    int64_t length


cdef class BinStore:
    cdef BinColumn* columns   # by feature
    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t n_features
    cdef readonly bint has_sparse
    cdef object _arrays       # the columns point into these arrays
    cdef object zeros         # and into this one


cdef inline int32_t bin_of_stored(const BinColumn* column, int32_t stored) noexcept nogil:
    """The bin of a stored bin: those from the default bin on are one more."""
    return stored + (column.default_bin >= 0 and stored >= column.default_bin)


cdef inline int32_t bin_of_code(const BinColumn* column, int32_t code) noexcept nogil:
    """The bin of a code; the default bin for codes of other features of a bundle."""
    cdef int32_t stored = code - column.first_code
    if column.default_bin < 0:
        return stored
    if stored < 0 or stored >= column.n_bins - 1:
        return column.default_bin
    return bin_of_stored(column, stored)
