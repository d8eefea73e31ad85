from libc.stdint cimport uint8_t

from skgoss._engine.training.layout cimport Histogram
from skgoss._engine.training.tasks cimport Batch, Siblings
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace


cdef bint is_to_sum(const Siblings* siblings) noexcept nogil

cdef void sum_rows(Shared* shared, Siblings* siblings) noexcept nogil

cdef double updates_of(const Siblings* siblings) noexcept nogil

cdef int sum_together(Shared* shared, Batch* batch) noexcept nogil

cdef void fill_rows_histogram(
    Shared* shared, const Workspace* ws, const Leaf* leaf, uint8_t* seen,
) noexcept nogil

cdef void clear_rows_histogram(
    Shared* shared, const Workspace* ws, const Leaf* leaf,
) noexcept nogil

cdef Histogram sums_with(
    const Shared* shared, const Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil
