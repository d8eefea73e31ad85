from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from skgoss._engine.binning.store cimport BinStore
from skgoss._engine.model.leaves cimport Pile
from skgoss._engine.model.linear_kernels cimport LeafModel, LeafModels, Values
from skgoss._engine.training.forest cimport Forest
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace


cdef class LeafModelFit:
    cdef object raw
    cdef const uint64_t[::1] address
    cdef const int64_t[::1] stride
    cdef const uint8_t[::1] is_ready  # by column: whether address and stride are valid
    cdef const int32_t[::1] column
    cdef const uint8_t[::1] categorical
    cdef const double[:, ::1] weight
    cdef double penalty
    cdef int64_t min_rows
    cdef Values values
    cdef int64_t leaves_before  # of the forest, before the round
    # The arrays of the round's `LinearLeaves`. By leaf:
    cdef Pile start           # of int64_t
    cdef Pile constant        # of double
    cdef Pile lower
    cdef Pile upper
    # By coefficient:
    cdef Pile feature         # of int32_t
    cdef Pile coefficient     # of double
    cdef Pile mean
    cdef Py_ssize_t n_rows
    cdef const uint32_t[::1] numbers  # of the rows in the store; None: all of the store's
    cdef const uint32_t[::1] rows  # that trees are grown on; None: all
    # The rows outside the sample, and which rows of the store they are.
    cdef Py_ssize_t n_other_rows  # 0: they are not listed yet
    cdef Pile other_rows      # of uint32_t
    cdef Pile other_store_rows   # of uint32_t
    cdef Pile is_outside      # of uint8_t, by row
    cdef Pile tasks
    cdef Pile memory          # of double, of all threads

    cdef begin(self, Forest forest, const uint32_t[::1] rows)
    cdef fit(
        self, Shared* shared, Workspace* workspaces, const Round* rounds, int n, int first,
        int n_threads, double[:, ::1] scores)
    cdef add_to_other_rows(
        self, Forest forest, BinStore store, const int32_t* missing_bin, int n_threads,
        double* score)
    cdef leaves(self)
    cdef _plan_tree(self, const Workspace* ws, const Round* round, double* score, int k)
    cdef _add_path(self, const Workspace* ws, const Leaf* leaf)
    cdef _prepare(self, int64_t first)
    cdef _find_other_rows(self)
