from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from skgoss._engine.columns.column_kernels cimport InputColumns
from skgoss._engine.model.leaves cimport Routes
from skgoss._engine.objectives.link_kernels cimport Finish


cdef extern from "predict.h" nogil:
    enum:
        MISSING_NONE
        MISSING_ZERO
        NO_CATEGORY
    const double ZERO
    const double INT32_END


cdef inline int32_t category_of(double value) noexcept nogil:
    """The number of a category.

    As in LightGBM, fractions are cut off (-0.5 becomes 0). NaN and numbers outside of int32 are in
    no set.
    """
    return <int32_t> value if -1.0 < value < INT32_END else NO_CATEGORY


# The children of a node are neighbors: `child` is the left one. A leaf is its own left child; it
# tests column 0, where no row goes right, and its threshold is the number of the leaf.
cdef struct TestNode:
    double threshold
    int32_t column
    int32_t child


# An input column with one meaning of "missing", and all thresholds of its nodes. Its values are in
# up to two columns: in the left one, missing values are below all thresholds, in the right one
# above. A column is 0 if no node uses it.
cdef struct Slot:
    int64_t feature
    const double* thresholds
    int64_t n_thresholds
    int32_t left_column
    int32_t right_column
    # The number of the first column of bytes of each (there is one for every 255 thresholds), or of
    # the one with the bit of the set; -1: there is none.
    int32_t left_byte_column
    int32_t right_byte_column
    uint8_t missing
    const uint32_t* words     # of a set: the values of its categories are 0, all others 1
    int64_t n_words           # -1: the slot has no set


# The tests of up to 64 sets of one input column, each with a bit in eight columns of bytes.
cdef struct SetBytes:
    int64_t feature
    int64_t column
    int32_t n_categories
    const uint64_t* outside   # of each category, and of all others: bits of sets without it


# Writes a tree's nodes: the children of node i are at root + 2i + 1 and root + 2i + 2.
cdef void flatten_tree(
    const int32_t* left, const int32_t* right, const double* threshold,
    const int32_t* column, int32_t n_leaves, int64_t root, int32_t* index_out,
    TestNode* nodes_out,
) noexcept nogil


cdef struct TreeTables:
    int64_t root              # its number in the nodes of all trees
    int64_t first_leaf        # its number in the leaves of all trees


# The tables of a `Predictor`.
cdef struct Tables:
    const TestNode* nodes
    const TreeTables* trees
    const Slot* slots
    const SetBytes* set_bytes
    const double* leaf_value
    int64_t n_slots
    int64_t n_columns         # of values that nodes test, with column 0: see `fill_values`
    int64_t n_set_bytes       # tables of sets
    int64_t n_byte_columns    # columns of bytes
    int n_scores              # trees of a round


# The output: scores or leaves, of which the other is NULL.
cdef struct Sink:
    double* scores            # (n, n_scores): leaf values are added
    int32_t* leaves           # (n, n_trees)
    int64_t first_tree
    int64_t stop_tree


# Writes the values that nodes compare with thresholds: value i of column j >= 1 to
# `values_out[i * row_step + j * column_step]`. `slot_values` is work space for n values.
cdef void fill_values(
    const Tables* model, const InputColumns* inputs, Py_ssize_t start, Py_ssize_t n,
    Py_ssize_t row_step, Py_ssize_t column_step, double* slot_values, double* values_out,
) noexcept nogil


cdef class Predictor:
    cdef Tables tables
    cdef Routes routes
    cdef TestNode* nodes
    cdef TreeTables* trees
    cdef Slot* slots
    cdef SetBytes* set_bytes
    cdef const double[::1] leaf_value
    cdef const double[::1] slot_threshold
    cdef const uint32_t[::1] set_words
    cdef uint64_t[::1] outside

    cdef int run(
        self, const InputColumns* inputs, uint8_t* all_bytes, Py_ssize_t n, int n_threads,
        Sink sink, const Finish* finish,
    ) except -1
