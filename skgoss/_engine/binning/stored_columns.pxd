"""Sparse columns: the rows that are not in the default bin, and their bins.

These are the stored rows. Each has a stored bin: its bin, numbered without the default bin. A
column whose stored rows all have stored bin 0, such as one of two bins, only has row numbers.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

ctypedef fused row_t:
    int32_t
    uint32_t


cdef inline const uint16_t* stored_bins(
    const uint16_t[::1] bins, const int64_t[::1] bin_start, Py_ssize_t j,
) noexcept nogil:
    """The stored bins of column j, in the order of its stored rows; NULL: all are 0.

    ``bin_start``, (n_columns + 1,): where those of each column begin in ``bins``.
    """
    return &bins[bin_start[j]] if bin_start[j] < bin_start[j + 1] else NULL


cdef inline uint16_t stored_bin(const uint16_t* bins, int64_t i) noexcept nogil:
    """The stored bin of a column's stored row number i; ``bins`` is from `stored_bins`."""
    return bins[i] if bins != NULL else 0


cdef inline int64_t first_from(const row_t* rows, int64_t n, int64_t row) noexcept nogil:
    """The index of the first of n ascending row numbers that is at least ``row``; n if none is."""
    cdef int64_t low = 0
    cdef int64_t high = n
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low
