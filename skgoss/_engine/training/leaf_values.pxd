from skgoss._engine.training.workspace cimport Round, Shared, Workspace


cdef int fill_leaves(Shared* shared, Workspace* ws, const Round* round) noexcept nogil

cdef void fill_nodes(Workspace* ws) noexcept nogil
