from libc.stdint cimport int32_t, int64_t, uint32_t

from skgoss._engine.binning.store cimport BinStore
from skgoss._engine.model.linear_kernels cimport LeafModels, Values
from skgoss._engine.training.forest cimport Forest

# Adds the values of some rows in tree ``number`` of a forest, whose leaves are linear, to their
# scores. ``models`` begin with those of the tree. ``numbers`` are those of the rows in the store,
# ascending, and ``score_index`` says where their scores and values are.
cdef int add_leaf_models(
    Forest forest, int64_t number, BinStore store, const int32_t* missing_bin, int n_threads,
    const Values* values, const LeafModels* models, const uint32_t* numbers,
    const uint32_t* score_index, Py_ssize_t n, double* score_inout,
) except -1
