from skgoss._engine.training.workspace cimport Round, Shared, Workspace


cdef int fill_leaves(
    Shared* shared, Workspace* trees, const Round* rounds, int n_trees,
) noexcept nogil

cdef void fill_nodes(Workspace* ws) noexcept nogil

cdef void number_rows(Shared* shared, Workspace* ws, const Round* round) noexcept nogil
