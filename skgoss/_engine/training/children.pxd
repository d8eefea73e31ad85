from skgoss._engine.training.layout cimport Sums
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace


cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil

cdef int search_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil

cdef int search_children(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
) noexcept nogil

cdef void search_again(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil

cdef double choose_left(
    Shared* shared, Workspace* ws, Leaf* leaf, Sums* left_out,
) noexcept nogil
