from libc.stdint cimport int32_t

from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace


cdef void start_constraints(Workspace* ws) noexcept nogil

cdef void prepare_constraints(
    Shared* shared, Workspace* ws, const Leaf* leaf, int side) noexcept nogil

cdef void mark_allowed(const Shared* shared, Workspace* ws, const Leaf* leaf) noexcept nogil

cdef int list_allowed(Workspace* ws) noexcept nogil

cdef void bound_children(
    const Shared* shared, Workspace* ws, int index, const Leaf* parent, Leaf* left,
    Leaf* right,
) noexcept nogil

cdef void order_children(
    const Shared* shared, Workspace* ws, int index, const Leaf* parent, Leaf* left,
    Leaf* right,
) noexcept nogil

cdef int next_stale(
    const Shared* shared, Workspace* ws, int index, int first) noexcept nogil

cdef void bound_leaves(const Shared* shared, Workspace* ws) noexcept nogil
