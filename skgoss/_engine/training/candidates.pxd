from skgoss._engine.training.search cimport Look
from skgoss._engine.training.workspace cimport Shared, Workspace


cdef int share_splits(Shared* shared, Workspace* ws, Look* looks, int n) noexcept nogil
