from skgoss._engine.training.search cimport Look
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace


cdef int search_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil

cdef int search_children(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
) noexcept nogil

cdef int build_look(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
    Look* look_out,
) noexcept nogil

cdef int finish_looks(Shared* shared, Workspace* ws, Look* looks, int n) noexcept nogil
