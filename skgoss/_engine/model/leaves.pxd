from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "leaves.h" nogil:
    enum:
        LEAF_TILE

    ctypedef struct Test:
        int32_t column
        uint8_t low
        uint8_t bits
        uint8_t limit

    ctypedef struct MaskOp:
        Test test
        uint8_t below
        uint8_t change

    ctypedef struct Plane:
        int32_t n_plain
        int32_t n_masked

    ctypedef struct WalkNode:
        Test test
        int32_t child
        int32_t leaf


# The positions of a tree in the tables. Masks lead rows to exits of the top of the tree; if these
# are not leaves (`is_walked`), rows go down from there node by node.
cdef struct Route:
    int64_t first_op
    int64_t first_plane
    int64_t first_node
    int64_t first_leaf
    int32_t n_planes
    bint is_walked


# An array that grows.
cdef struct Pile:
    void* items
    int64_t n
    int64_t room


# Appends n items to a pile, not initialized; returns their address. May move the other items.
cdef void* append(Pile* pile, int64_t n, size_t size) except NULL nogil


# Trees as tests of bytes; all zero: none.
cdef struct Routes:
    Pile trees                # of Route
    Pile ops                  # of MaskOp, plane by plane
    Pile planes               # of Plane
    Pile nodes                # of WalkNode: the subtrees below exits
    Pile order                # of int32_t: leaves, by exit, or in order if exits are fewer
    Pile values               # of double: the leaf values in this order
    Pile scratch              # of int32_t


# Adds a tree. It must be valid, which is not checked: children are later nodes, or ~leaf. `tests`
# has the test of each node.
cdef int add_route(
    Routes* routes, const int32_t* left, const int32_t* right, const Test* tests,
    const double* leaf_value, int32_t n_leaves,
) except -1 nogil
cdef void clear_routes(Routes* routes) noexcept nogil
cdef void free_routes(Routes* routes) noexcept nogil

# The kernels. Each column has LEAF_TILE bytes, of which the first n are used.
cdef void add_values(
    const Routes* routes, int64_t tree, const uint8_t* const* columns, int n, int64_t step,
    double* score_inout,
) noexcept nogil
cdef void write_leaves(
    const Routes* routes, int64_t tree, const uint8_t* const* columns, int n, int64_t step,
    int32_t* leaf_out,
) noexcept nogil
