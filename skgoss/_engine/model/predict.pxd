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

    As in LightGBM, fractions are cut off (also that of -0.5), and numbers that no int32
    holds, like NaN, are in no set.
    """
    return <int32_t> value if -1.0 < value < INT32_END else NO_CATEGORY


# The children of a node lie side by side: `child` is the left one. A leaf is its own left
# child, looks at column 0, where nothing goes right, and its threshold is its number.
cdef struct TestNode:
    double threshold
    int32_t column
    int32_t child


# One input column under one meaning of "missing", with all the thresholds put to it. Its
# values stand in up to two columns, with missing ones on the left or on the right of all
# thresholds; 0 where no node asks for that column.
cdef struct Slot:
    int64_t feature
    const double* thresholds
    int64_t n_thresholds
    int32_t left_column
    int32_t right_column
    int32_t left_bytes        # the first column of bytes of each, one for 255 thresholds;
    int32_t right_bytes       # of a set, the column that has its bit; -1: there is none
    uint8_t missing
    const uint32_t* words     # of a set of categories, which have 0 in it and 1 outside
    int64_t n_words           # -1: there is no set


# The tests of up to 64 sets of one input column: a bit each in eight columns of bytes.
cdef struct SetBytes:
    int64_t feature
    int64_t column
    int32_t n_categories
    const uint64_t* outside   # by category; the last for all from n_categories on


# Lay out a tree's nodes: the children of node i stand at root + 2i + 1 and + 2i + 2.
cdef void flatten_tree(
    const int32_t* left, const int32_t* right, const double* threshold,
    const int32_t* column, int32_t n_leaves, int64_t root, int32_t* index_out,
    TestNode* nodes_out,
) noexcept nogil


cdef struct TreeTables:
    int64_t root
    int64_t first_leaf


cdef struct Tables:
    const TestNode* nodes
    const TreeTables* trees
    const Slot* slots
    const SetBytes* set_bytes
    const double* leaf_value
    int64_t n_slots
    int64_t n_columns
    int64_t n_set_bytes
    int64_t n_bytes
    int n_scores


# Where the results go: one of the two is NULL.
cdef struct Sink:
    double* scores            # n_scores of each row, to add to
    int32_t* leaves
    int64_t first_tree
    int64_t stop_tree


# Write what nodes compare with their thresholds: value i of column j, from column 1 on, to
# `values_out[i * row_step + j * column_step]`; `slot_values` has room for n values.
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
        self, const InputColumns* inputs, uint8_t* kept, Py_ssize_t n, int n_threads, Sink sink,
        const Finish* finish,
    ) except -1
