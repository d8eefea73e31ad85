from libc.stdint cimport int32_t, int64_t, uint32_t

from skgoss._engine.binning.store cimport BinStore
from skgoss._engine.model.linear_kernels cimport Lines, Values
from skgoss._engine.training.forest cimport Forest

# Adds the values of some rows in a tree of a forest to their scores. ``lines`` begin with those of
# the tree, ``numbers`` are those of the rows in the store, ascending, and ``at`` are those of
# their scores and values.
cdef int add_lines(
    Forest forest, int64_t number, BinStore store, const int32_t* missing_bin, int n_threads,
    const Values* values, const Lines* lines, const uint32_t* numbers, const uint32_t* at,
    Py_ssize_t n, double* score_inout,
) except -1
