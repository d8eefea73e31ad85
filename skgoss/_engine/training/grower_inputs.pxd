from libc.stdint cimport int64_t

from skgoss._engine.training.arena cimport Arena
from skgoss._engine.training.workspace cimport Shared

cdef int read_dataset(Shared* shared, Arena arena, dataset) except -1

cdef int read_settings(Shared* shared, settings, int64_t n_rows) except -1

cdef int read_constraints(Shared* shared, Arena arena, constraints) except -1

# Must be called after `read_constraints`: trees also read the features of forced splits.
cdef int read_subset_source(Shared* shared, Arena arena, storage, settings) except -1
