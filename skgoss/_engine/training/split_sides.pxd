from libc.stdint cimport uint8_t, uint32_t

from skgoss._engine.training.layout cimport Sums
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace


cdef double choose_left(
    Shared* shared, Workspace* ws, Leaf* leaf, Sums* left_out,
) noexcept nogil

cdef double recall_left(Workspace* ws, const Leaf* leaf, Sums* left_out) noexcept nogil

cdef void write_set(const uint8_t* goes_left, int n_bins, uint32_t* words_out) noexcept nogil
