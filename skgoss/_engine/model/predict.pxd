from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "predict.h" nogil:
    enum:
        TILE "SKGOSS_TILE"

    ctypedef struct MaskOp "skgoss_mask_op":
        int32_t column
        uint16_t rank
        uint8_t plane
        uint8_t mask


# The children of a node lie side by side: `child` is the left one. A leaf is its own left
# child, looks at column 0, where nothing goes right, and its threshold is its number.
cdef struct Node:
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
    uint8_t missing
    const uint32_t* words     # of a set of categories, which have 0 in it and 1 outside
    int64_t n_words           # -1: there is no set


# A tree's share of the tables: masks score it when `n_planes` > 0, else its nodes are walked.
cdef struct TreeTables:
    int64_t root
    int64_t first_leaf
    int64_t first_op
    int64_t n_ops
    int32_t n_planes


cdef struct Tables:
    const Node* nodes
    const TreeTables* trees
    const Slot* slots
    const MaskOp* ops
    const int32_t* leaf_order
    const double* ordered_value
    const double* leaf_value
    int64_t n_slots
    int64_t n_columns
    int64_t n_trees
    int n_scores
    bint any_walked
    bint any_masked
    bint wide_ranks
    bint huge_ranks


# Where the results go: one of the two is NULL.
cdef struct Sink:
    double* scores
    int32_t* leaves
    int64_t first_tree
    int64_t stop_tree
