from skgoss._engine.training.workspace cimport Round, Shared, Workspace


cdef int grow_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil

cdef int fill_score(Shared* shared, Workspace* ws, const Round* round) noexcept nogil
