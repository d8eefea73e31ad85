from skgoss._engine.training.tasks cimport Batch
from skgoss._engine.training.workspace cimport Round, Shared, Workspace


cdef int grow_trees(
    Shared* shared, Batch* batch, Workspace* trees, const Round* rounds, int n_trees,
) noexcept nogil

cdef int fill_score(
    Shared* shared, Workspace* ws, const Round* round, double extra_l2,
) noexcept nogil
