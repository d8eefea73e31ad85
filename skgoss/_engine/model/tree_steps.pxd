from libc.stdint cimport int32_t, int64_t, uint8_t

from skgoss._engine.model.predict cimport Predictor


cdef extern from "tree_steps.h" nogil:
    enum:
        SHAP_ROWS
        SHAP_POINTS
        SHAP_DOWN
        SHAP_UP
        SHAP_FORK
        SHAP_LEAF
    ctypedef struct Step "shap_step":
        uint8_t kind
        uint8_t far_is_leaf
        uint8_t is_first
        int32_t node
        int32_t place
        int32_t edge_above
        int32_t column
        int32_t slot
        int32_t n_pairs
        int64_t first_pair
        int64_t flip
        double threshold
        double near_factor
        double far_factor
        double far_value
        double off_path
    ctypedef struct Pair "shap_pair":
        int32_t node
        int32_t edge
        int64_t pair
    ctypedef struct LeafModel "shap_leaf_model":
        int64_t first_term
        int64_t stop_term
        double constant
        double base
        double lower
        double upper
        double fallback
    ctypedef struct Term "shap_term":
        double coefficient
        double mean
        double fraction
        int32_t column
        int32_t slot
        int32_t edge
        int32_t n_pairs
        int64_t first_pair
    ctypedef struct StepNode "shap_node":
        double fraction_above
        double near_fraction
        double far_value
        double difference
        int is_first
        int is_fork


# The positions of the steps and nodes of a tree in the tables of all trees.
cdef struct TreeRange:
    int64_t first_step
    int64_t n_steps
    int64_t first_node
    int64_t n_nodes


# The steps of all trees, and the tables that they refer to.
cdef struct StepTables:
    Step* steps
    StepNode* nodes                 # in the order of the steps
    TreeRange* trees
    Pair* pairs
    const int64_t* leaf_start       # the first leaf of each tree
    LeafModel* leaf_models          # of each leaf; NULL: all leaves are constant
    Term* terms
    const int64_t* raw_feature      # the columns of terms, whose values follow those of nodes
    int64_t n_raw
    int64_t n_slots
    int64_t n_pairs
    int64_t max_nodes
    int64_t max_depth
    bint with_pairs


cdef class TreeSteps:
    cdef StepTables tables
    cdef Predictor predictor
    cdef const int64_t[::1] leaf_start
    cdef const int64_t[::1] raw_feature
    cdef int64_t n_listed_pairs
    cdef object expected
    cdef object pairs
    cdef object n_distinct

    cdef int _write(
        self, const int64_t[::1] leaf_count, const double[::1] leaf_value,
        const int32_t[::1] slot,
    ) except -1
    cdef int _number_pairs(self) except -1
