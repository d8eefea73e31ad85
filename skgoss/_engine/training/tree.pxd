from skgoss._engine.training.workspace cimport Round, Shared, Workspace


cdef int grow_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil
