from skgoss._engine.training.tasks cimport Batch, Siblings
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace


cdef int search_roots(
    Shared* shared, Batch* batch, Workspace* trees, const Round* rounds, int n_trees,
) noexcept nogil

cdef int list_children(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right, Siblings* out,
) noexcept nogil

cdef int search_children(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
) noexcept nogil

cdef int reduce_batch(Shared* shared, Workspace* ws, Batch* batch) noexcept nogil
