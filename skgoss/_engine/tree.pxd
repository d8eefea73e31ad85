from skgoss._engine.workspace cimport Round, Shared, Workspace


cdef int grow_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil
