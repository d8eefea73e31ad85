from skgoss._engine.training.tasks cimport Siblings
from skgoss._engine.training.workspace cimport Shared, Workspace


cdef int share_splits(Shared* shared, Workspace* ws, Siblings* siblings, int n) noexcept nogil
