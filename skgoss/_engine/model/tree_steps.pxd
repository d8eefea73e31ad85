from libc.stdint cimport int32_t, int64_t, uint8_t

from skgoss._engine.model.predict cimport TestNode

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
        uint8_t is_new
        int32_t node
        int32_t at
        int32_t above
        int32_t column
        int32_t slot
        int32_t n_pairs
        int64_t first_pair
        int64_t flip
        double threshold
        double with_ "with"
        double without
        double far_value
        double cold
    ctypedef struct Pair "shap_pair":
        int32_t node
        int32_t above
        int64_t pair
    ctypedef struct Line "shap_line":
        int64_t first_term
        int64_t stop_term
        double constant
        double base
        double lower
        double upper
        double otherwise
    ctypedef struct Term "shap_term":
        double coefficient
        double mean
        double share
        int32_t column
        int32_t slot
        int32_t above
        int32_t n_pairs
        int64_t first_pair
    ctypedef struct Origin "shap_node":
        double before
        double share
        double far_value
        double difference
        int is_new
        int is_fork


# A tree's share of the steps and nodes.
cdef struct TreeSteps:
    int64_t first_step
    int64_t n_steps
    int64_t first_node
    int64_t n_nodes
    int64_t rule


# A node of the path that the steps are written along.
cdef struct PathNode:
    int64_t at              # where it lies, and its children
    int64_t near
    int64_t far
    int32_t node            # counted in the order of the steps
    int32_t slot
    int32_t above           # the depth of the last node with its feature; -1: there is none
    int32_t side            # at which child the path goes on
    int32_t turn            # children that are written
    double[2] share         # of the rows, that follow the feature's path as far as a child


# The steps of a tree while they are written.
cdef struct Writer:
    const TestNode* nodes
    const double* leaf_value
    const int64_t* leaf_count
    Line* lines                 # of the tree's leaves; NULL: all are constant
    Term* terms                 # of all leaves
    const int32_t* slot         # by node, in order of creation
    double* cover
    PathNode* path
    int32_t* last               # by slot: the depth of the last node on the path; -1: none
    Step* steps
    Origin* origins
    int64_t root
    int32_t n_steps
    int32_t n_nodes
    int64_t n_slots
    int64_t n_distinct          # features on the path
    int64_t most_distinct
    int64_t max_depth
    Pair* pairs                 # of all trees; those of a step carry slot * n_slots + slot
    int64_t n_pairs
    int64_t room
    bint with_pairs
    bint is_astray              # whether a line has a column that is not on its path


# Fill in the cover of all nodes, and return the expected value of the tree.
cdef double expected_value(Writer* w, int64_t n_nodes, double* expected) noexcept nogil

# Write the steps of a tree with an inner node; false when memory ran out.
cdef bint write_tree(Writer* w) noexcept nogil
