from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from skgoss._engine.binning.store cimport BinStore
from skgoss._engine.model.linear_kernels cimport Lines, Values
from skgoss._engine.training.forest cimport Forest

# Adds the values of the lines of a tree of a forest to the scores of the ``wanted`` ones of
# ``n_rows`` rows: see `add_trees`. ``lines`` begin with those of the tree.
cdef int add_lines(
    Forest forest, int64_t number, BinStore store, const int32_t* missing_bin, int n_threads,
    const uint32_t[::1] numbers, const Values* values, const Lines* lines,
    const uint8_t* wanted, Py_ssize_t n_rows, double* score_inout,
) except -1
