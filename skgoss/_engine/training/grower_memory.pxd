from skgoss._engine.training.arena cimport Arena
from skgoss._engine.training.feature_subset cimport SubsetBuffers
from skgoss._engine.training.tasks cimport Batch
from skgoss._engine.training.workspace cimport Scratch, Shared, TileSums, Workspace


cdef class GrowerMemory(Arena):
    cdef Workspace* workspaces
    cdef Batch* batches       # of all threads, then of each tree that one thread grows
    cdef TileSums* tile_sums  # of each thread
    cdef int n_workspaces
    cdef int n_threads
    cdef int max_leaves

    cdef int allocate_threads(self, Shared* shared, int n_threads) except -1
    cdef int allocate_trees(self, const Shared* shared, int n) except -1
    cdef int _batch(self, Batch* out, int first_thread, int max_divisions) except -1
    cdef int _workspace(self, const Shared* shared, Workspace* ws) except -1
    cdef int _scratch(self, const Shared* shared, Scratch* out) except -1
    cdef int _speculation(self, const Shared* shared) except -1
    cdef int _children(self, const Shared* shared, Workspace* ws) except -1
    cdef int _subset(self, const Shared* shared, SubsetBuffers* out) except -1
    cdef int _constraints(self, const Shared* shared, Workspace* ws) except -1
