from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from skgoss._engine.binning.store cimport BinStore
from skgoss._engine.model.leaves cimport Pile
from skgoss._engine.model.linear_kernels cimport Line, Lines, Values
from skgoss._engine.training.forest cimport Forest
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace


cdef class LineFit:
    cdef object raw
    cdef const uint64_t[::1] address
    cdef const int64_t[::1] stride
    cdef const uint8_t[::1] is_ready  # by column: whether address and stride are valid
    cdef const int32_t[::1] column
    cdef const uint8_t[::1] categorical
    cdef const double[:, ::1] weight
    cdef double penalty
    cdef Values values
    # Of the round: by tree, by leaf, and by coefficient.
    cdef Pile first_leaf      # of int64_t
    cdef Pile mask_of         # of int32_t: of `masks`; -1: all rows are in the tree's leaves
    cdef Pile start           # of int64_t
    cdef Pile constant        # of double
    cdef Pile lower
    cdef Pile upper
    cdef Pile feature         # of int32_t
    cdef Pile coefficient     # of double
    cdef Pile mean
    # By row, then: whether it is in none of the leaves of some trees.
    cdef Pile masks           # of uint8_t
    cdef Py_ssize_t n_rows
    cdef Py_ssize_t n_sampled
    cdef Pile tasks
    cdef Pile memory          # of double, of all threads

    cdef begin(self, Py_ssize_t n_rows, const uint32_t[::1] rows)
    cdef fit(
        self, Shared* shared, Workspace* workspaces, const Round* rounds, int n, int first,
        int n_threads, double[:, ::1] scores)
    cdef add_to_others(
        self, Forest forest, int64_t first_tree, BinStore store, const int32_t* missing_bin,
        int n_threads, const uint32_t[::1] numbers, double[:, ::1] scores)
    cdef leaves(self)
    cdef _plan_tree(self, const Workspace* ws, const Round* round, double* score, int k)
    cdef _add_path(self, const Workspace* ws, const Leaf* leaf)
    cdef _note_others(self, const Workspace* ws, int64_t n_rows)
    cdef _prepare(self, int64_t first)
