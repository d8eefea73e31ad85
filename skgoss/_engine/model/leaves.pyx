"""The leaves of many rows, in trees whose tests each compare one byte.

A tile of rows is scored tree by tree. Each test removes the leaves on one side of its node
from the rows that go to the other side, in vectors of rows; the leftmost leaf that remains
is the row's. This is QuickScorer (Lucchese et al., SIGIR 2015) with the byte-wise masks of
RapidScorer (Ye et al., KDD 2018). Here a node removes the side with fewer leaves, which
touches fewer masks. Masks of large trees end at inner nodes, from which rows walk on.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

cdef extern from "leaves.h" nogil:
    void leftmost_exits(
        const MaskOp* ops, const Plane* planes, int n_planes, const uint8_t* const* columns,
        uint8_t* exit_out)
    void walk_from_exits(
        const WalkNode* nodes, const uint8_t* exits,
        const uint8_t* const* columns, int n, int32_t* leaf_out)

cdef enum:
    # Exits of the masks of a tree; their numbers are bytes.
    MAX_EXITS = 256

ctypedef fused index_t:
    uint8_t
    int32_t


cdef void* append(Pile* pile, int64_t n, size_t size) except NULL nogil:
    """Room for n more items at the end of a pile, which grows if it must."""
    cdef int64_t room
    cdef void* items
    if pile.items == NULL or pile.n + n > pile.room:
        room = max(pile.n + n, 2 * pile.room, 16)
        items = realloc(pile.items, room * size)
        if items == NULL:
            with gil:
                raise MemoryError
        pile.items = items
        pile.room = room
    pile.n += n
    return <char*> pile.items + (pile.n - n) * size


# ---------------------------------------------------------------------------- one tree


cdef void count_leaves(
    const int32_t* left, const int32_t* right, int32_t n_nodes, int32_t* size_out,
) noexcept nogil:
    """The number of leaves below each node."""
    cdef int32_t i
    for i in range(n_nodes - 1, -1, -1):
        size_out[i] = (size_out[left[i]] if left[i] >= 0 else 1) + (
            size_out[right[i]] if right[i] >= 0 else 1)


cdef int32_t most_leaves_of_exits(
    const int32_t* size, int32_t n_nodes, int32_t* count,
) noexcept nogil:
    """The least s for which the nodes of more than s leaves have at most MAX_EXITS exits."""
    cdef int32_t n_leaves = n_nodes + 1
    cdef int32_t n_above = 0
    cdef int32_t i, s
    memset(count, 0, (n_leaves + 1) * sizeof(int32_t))
    for i in range(n_nodes):
        count[size[i]] += 1
    s = n_leaves
    while s > 1 and n_above + count[s] < MAX_EXITS:
        n_above += count[s]
        s -= 1
    return s


cdef void count_exits(
    const int32_t* left, const int32_t* right, const int32_t* size, int32_t n_nodes,
    int32_t most, int32_t* exits_out,
) noexcept nogil:
    """The number of exits below each node; 1 for exits."""
    cdef int32_t i
    for i in range(n_nodes - 1, -1, -1):
        exits_out[i] = 1
        if size[i] > most:
            exits_out[i] = (exits_out[left[i]] if left[i] >= 0 else 1) + (
                exits_out[right[i]] if right[i] >= 0 else 1)


cdef inline int32_t exits_of(const int32_t* exits, int32_t child) noexcept nogil:
    return exits[child] if child >= 0 else 1


cdef inline bint right_is_first(
    const int32_t* left, const int32_t* right, const int32_t* exits, int32_t i,
) noexcept nogil:
    return exits_of(exits, right[i]) < exits_of(exits, left[i])


cdef void number_exits(
    const int32_t* left, const int32_t* right, const int32_t* exits, int32_t n_nodes,
    int32_t* first_out, int32_t* child_out,
) noexcept nogil:
    """Number the exits, those on a node's smaller side first; find the child at each."""
    cdef int32_t i, child, side, at
    first_out[0] = 0
    child_out[0] = 0 if n_nodes else ~0
    for i in range(n_nodes):
        if exits[i] == 1:
            continue
        at = first_out[i]
        for side in range(2):
            child = left[i] if side == right_is_first(left, right, exits, i) else right[i]
            child_out[at] = child
            if child >= 0:
                first_out[child] = at
            at += exits_of(exits, child)


cdef void flatten_tree(
    const int32_t* left, const int32_t* right, const Test* tests, const int32_t* exits,
    int32_t n_nodes, const int32_t* child, int32_t n_exits, int32_t* index_out,
    WalkNode* nodes_out,
) noexcept nogil:
    """Lay out the subtrees below exits: first their roots, then pairs of children."""
    cdef int32_t next_index = n_exits
    cdef int32_t i, side
    for i in range(n_exits):
        set_down(child[i], i, index_out, nodes_out)
    for i in range(n_nodes):
        if exits[i] > 1:
            continue
        nodes_out[index_out[i]] = WalkNode(tests[i], next_index, 0)
        for side in range(2):
            set_down(right[i] if side else left[i], next_index, index_out, nodes_out)
            next_index += 1


cdef inline void set_down(
    int32_t child, int32_t index, int32_t* index_out, WalkNode* nodes_out,
) noexcept nogil:
    """Write a child that is a leaf at its index, or note the index of an inner node."""
    if child < 0:
        nodes_out[index] = WalkNode(Test(0, 0, 0, 0), index, ~child)
    else:
        index_out[child] = index


# --------------------------------------------------------------------------- all trees


cdef void clear_routes(Routes* routes) noexcept nogil:
    routes.trees.n = routes.ops.n = routes.planes.n = 0
    routes.nodes.n = routes.order.n = routes.values.n = 0


cdef void free_routes(Routes* routes) noexcept nogil:
    free(routes.trees.items)
    free(routes.ops.items)
    free(routes.planes.items)
    free(routes.nodes.items)
    free(routes.order.items)
    free(routes.values.items)
    free(routes.scratch.items)


cdef int add_route(
    Routes* routes, const int32_t* left, const int32_t* right, const Test* tests,
    const double* leaf_value, int32_t n_leaves,
) except -1 nogil:
    """Add one tree; the children and leaves must make a tree, which is not checked."""
    cdef int32_t n_nodes = n_leaves - 1
    cdef int32_t n_exits, most, i
    cdef int32_t* order
    cdef double* values
    cdef Route* route = <Route*> append(&routes.trees, 1, sizeof(Route))
    routes.scratch.n = 0
    cdef int32_t* size = <int32_t*> append(
        &routes.scratch, 4 * n_leaves + MAX_EXITS + 1, sizeof(int32_t))
    cdef int32_t* exits = size + n_leaves
    cdef int32_t* first = exits + n_leaves
    cdef int32_t* index = first + n_leaves
    cdef int32_t* child = index + n_leaves + 1
    count_leaves(left, right, n_nodes, size)
    most = most_leaves_of_exits(size, n_nodes, index)
    count_exits(left, right, size, n_nodes, most, exits)
    number_exits(left, right, exits, n_nodes, first, child)
    n_exits = exits[0] if n_nodes else 1
    route[0] = Route(
        routes.ops.n, routes.planes.n, routes.nodes.n, routes.order.n, (n_exits + 7) // 8,
        n_exits < n_leaves)
    order = <int32_t*> append(&routes.order, n_leaves, sizeof(int32_t))
    values = <double*> append(&routes.values, n_leaves, sizeof(double))
    for i in range(n_leaves):
        order[i] = i if n_exits < n_leaves else ~child[i]
        values[i] = leaf_value[order[i]]
    if n_exits < n_leaves:
        flatten_tree(
            left, right, tests, exits, n_nodes, child, n_exits, index,
            <WalkNode*> append(
                &routes.nodes, 2 * n_leaves - n_exits, sizeof(WalkNode)))
    write_masks(
        routes, left, right, tests, n_nodes, first, exits, route.n_planes, index)
    return 0


cdef int write_masks(
    Routes* routes, const int32_t* left, const int32_t* right, const Test* tests, int32_t n_nodes,
    const int32_t* first, const int32_t* exits, int32_t n_planes, int32_t* at,
) except -1 nogil:
    """Write the operations of one tree, sorted by plane, plain ones first.

    `at` is memory for two numbers a plane.
    """
    cdef Plane* planes = <Plane*> append(&routes.planes, n_planes, sizeof(Plane))
    cdef MaskOp* ops
    cdef int32_t i, p, end, n_ops
    cdef bint turned
    cdef int pass_
    memset(planes, 0, n_planes * sizeof(Plane))
    for i in range(n_nodes):
        if exits[i] > 1:
            end = first[i] + removed(left, right, exits, i)
            for p in range(first[i] // 8, (end - 1) // 8 + 1):
                if is_plain(&tests[i]):
                    planes[p].n_plain += 1
                else:
                    planes[p].n_others += 1
    n_ops = 0
    for p in range(n_planes):
        at[2 * p] = n_ops
        at[2 * p + 1] = n_ops + planes[p].n_plain
        n_ops += planes[p].n_plain + planes[p].n_others
    ops = <MaskOp*> append(&routes.ops, n_ops, sizeof(MaskOp))
    for i in range(n_nodes):
        if exits[i] > 1:
            end = first[i] + removed(left, right, exits, i)
            turned = right_is_first(left, right, exits, i)
            for p in range(first[i] // 8, (end - 1) // 8 + 1):
                pass_ = 2 * p + (not is_plain(&tests[i]))
                ops[at[pass_]] = mask_op(
                    &tests[i], max(first[i] - 8 * p, 0), min(end - 8 * p, 8), turned)
                at[pass_] += 1
    return 0


cdef void add_values(
    const Routes* routes, int64_t tree, const uint8_t* const* columns, int n, int64_t step,
    double* score_inout,
) noexcept nogil:
    """Add the values of the rows' leaves to every `step`-th score."""
    cdef const Route* route = <const Route*> routes.trees.items + tree
    cdef const double* values = <const double*> routes.values.items + route.first_leaf
    cdef uint8_t exits[LEAF_TILE]
    cdef int32_t leaves[LEAF_TILE]
    find_exits(routes, route, columns, exits)
    if route.is_walked:
        walk(routes, route, exits, columns, n, leaves)
        add_at(values, leaves, n, step, score_inout)
    else:
        add_at(values, exits, n, step, score_inout)


cdef void write_leaves(
    const Routes* routes, int64_t tree, const uint8_t* const* columns, int n, int64_t step,
    int32_t* leaf_out,
) noexcept nogil:
    """Write the rows' leaves into every `step`-th entry."""
    cdef const Route* route = <const Route*> routes.trees.items + tree
    cdef const int32_t* order = <const int32_t*> routes.order.items + route.first_leaf
    cdef uint8_t exits[LEAF_TILE]
    cdef int32_t leaves[LEAF_TILE]
    cdef int i
    find_exits(routes, route, columns, exits)
    if route.is_walked:
        walk(routes, route, exits, columns, n, leaves)
        for i in range(n):
            leaf_out[i * step] = leaves[i]
    else:
        for i in range(n):
            leaf_out[i * step] = order[exits[i]]


cdef void find_exits(
    const Routes* routes, const Route* route, const uint8_t* const* columns, uint8_t* exits_out,
) noexcept nogil:
    """The leaf, or the group of leaves, where each row leaves the top of a tree."""
    leftmost_exits(
        <const MaskOp*> routes.ops.items + route.first_op,
        <const Plane*> routes.planes.items + route.first_plane, route.n_planes, columns,
        exits_out)


cdef void walk(
    const Routes* routes, const Route* route, const uint8_t* exits,
    const uint8_t* const* columns, int n, int32_t* leaf_out,
) noexcept nogil:
    """The leaf of each row, from the node where it left the top of a tree."""
    walk_from_exits(
        <const WalkNode*> routes.nodes.items + route.first_node, exits, columns, n,
        leaf_out)


cdef inline bint is_plain(const Test* test) noexcept nogil:
    return test.low == 0 and test.bits == 0xFF


cdef inline int32_t removed(
    const int32_t* left, const int32_t* right, const int32_t* exits, int32_t i,
) noexcept nogil:
    """The number of exits on a node's smaller side."""
    return min(exits_of(exits, left[i]), exits_of(exits, right[i]))


cdef inline MaskOp mask_op(const Test* test, int begin, int end, bint turned) noexcept nogil:
    """Remove the exits from `begin` to `end` - 1 from rows that go right, if turned left."""
    cdef uint8_t kept = <uint8_t> (0xFF ^ ((1 << end) - (1 << begin)))
    return MaskOp(test[0], kept if turned else 0xFF, 0xFF ^ kept)


cdef inline void add_at(
    const double* values, const index_t* index, int n, int64_t step, double* score_inout,
) noexcept nogil:
    """Add the indexed values to scores that lie ``step`` apart."""
    cdef int i
    if step == 1:
        for i in range(n):
            score_inout[i] += values[index[i]]
    else:
        for i in range(n):
            score_inout[i * step] += values[index[i]]
