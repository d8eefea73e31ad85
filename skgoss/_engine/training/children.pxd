from skgoss._engine.training.search cimport Siblings
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace


cdef int search_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil

cdef int search_children(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
) noexcept nogil

cdef int sum_siblings(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
    Siblings* siblings_out,
) noexcept nogil

cdef int finish_siblings(Shared* shared, Workspace* ws, Siblings* siblings, int n) noexcept nogil
