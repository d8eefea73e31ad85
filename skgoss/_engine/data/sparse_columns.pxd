# cython: language_level=3
"""Columns as lists of the rows that are not in one bin of theirs.

Each listed row has a stored bin: numbered without the bin that is left out. Lists of which
all rows have stored bin 0, as those of columns of two bins, hold row numbers alone.
"""

from libc.stdint cimport int64_t, uint16_t


cdef inline const uint16_t* stored_bins(
    const uint16_t[::1] bins, const int64_t[::1] bin_start, Py_ssize_t j,
) noexcept nogil:
    """The stored bins of list j; NULL: all are 0."""
    return &bins[bin_start[j]] if bin_start[j] < bin_start[j + 1] else NULL


cdef inline uint16_t stored_bin(const uint16_t* bins, int64_t i) noexcept nogil:
    return bins[i] if bins != NULL else 0
