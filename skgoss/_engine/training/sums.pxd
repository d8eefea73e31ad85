from libc.stdint cimport int64_t, uint8_t

from skgoss._engine.training.layout cimport Histogram
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace


cdef int sum_rows(Shared* shared, Workspace* ws, const Leaf* leaf) noexcept nogil

cdef void add_parts(
    Shared* shared, Workspace* ws, const Leaf* leaf, int n_parts, int64_t first, int64_t last,
    Histogram* built,
) noexcept nogil

cdef void fill_rows_histogram(Workspace* ws, Leaf* leaf, uint8_t* seen) noexcept nogil

cdef void clear_rows_histogram(Workspace* ws, const Leaf* leaf) noexcept nogil

cdef Histogram sums_with(
    const Shared* shared, Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil
