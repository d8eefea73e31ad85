r"""The leaves of many rows, in trees whose tests each compare one byte.

A tile of rows is scored tree by tree. For the rows that go to one side of a node, the test removes
the leaves on the other side, in vectors of rows. The first leaf that remains is the row's. This is
QuickScorer (Lucchese et al., SIGIR 2015) with the byte-wise masks of RapidScorer (Ye et al., KDD
2018). Here a node only removes the side with fewer leaves, which comes first: it needs fewer masks.
In this tree, exits are numbered in the order a, b, c:

    node 0: x <= 3           rows that go right at node 0: a is removed
       /       \             rows that go right at node 1: b is removed
      a     node 1: y <= 5
              /     \        x = 4, y = 2: exits {a, b, c} -> {b, c}, of which b is the first
             b       c

Only up to MAX_EXITS exits of a tree have masks. In larger trees, some exits are inner nodes, from
which rows go down node by node.
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
    # The maximum number of exits of a tree, whose numbers are bytes.
    MAX_EXITS = 256

ctypedef fused index_t:
    uint8_t
    int32_t


cdef void* append(Pile* pile, int64_t n, size_t size) except NULL nogil:
    """Room for n more items of ``size`` bytes at the end of a pile (an array that grows).

    Returns the address of the first of them; the others may have moved.
    """
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
    """Write the number of leaves below each inner node.

    ``left``, ``right``, (n_nodes,), here and below: the children, each a later node or ~leaf.
    """
    cdef int32_t i
    for i in range(n_nodes - 1, -1, -1):
        size_out[i] = (size_out[left[i]] if left[i] >= 0 else 1) + (
            size_out[right[i]] if right[i] >= 0 else 1)


cdef int32_t max_exit_size(
    const int32_t* size, int32_t n_nodes, int32_t* count,
) noexcept nogil:
    """The smallest s for which the nodes with more than s leaves have at most MAX_EXITS exits.

    k nodes at the top of a binary tree have k + 1 exits. ``size``: the leaves below each node.
    ``count``: work space of n_nodes + 2 numbers.
    """
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
    int32_t max_size, int32_t* exits_out,
) noexcept nogil:
    """Write the number of exits below each node; 1 for exits, which have up to max_size leaves.

    ``size``: the leaves below each node.
    """
    cdef int32_t i
    for i in range(n_nodes - 1, -1, -1):
        exits_out[i] = 1
        if size[i] > max_size:
            exits_out[i] = (exits_out[left[i]] if left[i] >= 0 else 1) + (
                exits_out[right[i]] if right[i] >= 0 else 1)


cdef inline int32_t exits_of(const int32_t* exits, int32_t child) noexcept nogil:
    """The number of exits below a child, which may be a leaf."""
    return exits[child] if child >= 0 else 1


cdef inline bint right_is_smaller(
    const int32_t* left, const int32_t* right, const int32_t* exits, int32_t i,
) noexcept nogil:
    """Whether the right child of a node has fewer exits, so that they come first."""
    return exits_of(exits, right[i]) < exits_of(exits, left[i])


cdef void number_exits(
    const int32_t* left, const int32_t* right, const int32_t* exits, int32_t n_nodes,
    int32_t* first_out, int32_t* child_out,
) noexcept nogil:
    """Number the exits, those on a node's smaller side first.

    ``exits``: the number of exits below each node. Writes the first exit below each node, and the
    child at each exit: a node, or ~leaf.
    """
    cdef int32_t i, child, side, at
    first_out[0] = 0
    child_out[0] = 0 if n_nodes else ~0
    for i in range(n_nodes):
        if exits[i] == 1:
            continue
        at = first_out[i]
        for side in range(2):
            child = left[i] if side == right_is_smaller(left, right, exits, i) else right[i]
            child_out[at] = child
            if child >= 0:
                first_out[child] = at
            at += exits_of(exits, child)


cdef void flatten_tree(
    const int32_t* left, const int32_t* right, const Test* tests, const int32_t* exits,
    int32_t n_nodes, const int32_t* child, int32_t n_exits, int32_t* index_out,
    WalkNode* nodes_out,
) noexcept nogil:
    """Write the nodes of the subtrees below exits: first their roots, then pairs of children.

    - ``exits``: of each node, the number of exits below it; 1: it is an exit, or below one.
    - ``child``, (n_exits,): the node, or ~leaf, at each exit.
    - ``index_out``, (n_nodes,): work space: where each node lies.
    """
    cdef int32_t next_index = n_exits
    cdef int32_t i, side
    for i in range(n_exits):
        place_child(child[i], i, index_out, nodes_out)
    for i in range(n_nodes):
        if exits[i] > 1:
            continue
        nodes_out[index_out[i]] = WalkNode(tests[i], next_index, 0)
        for side in range(2):
            place_child(right[i] if side else left[i], next_index, index_out, nodes_out)
            next_index += 1


cdef inline void place_child(
    int32_t child, int32_t index, int32_t* index_out, WalkNode* nodes_out,
) noexcept nogil:
    """Write a leaf at its index, or store the index of an inner node for later."""
    if child < 0:
        nodes_out[index] = WalkNode(Test(0, 0, 0, 0), index, ~child)
    else:
        index_out[child] = index


# --------------------------------------------------------------------------- all trees


cdef void clear_routes(Routes* routes) noexcept nogil:
    """Remove all trees, and keep the memory."""
    routes.trees.n = routes.ops.n = routes.planes.n = 0
    routes.nodes.n = routes.order.n = routes.values.n = 0


cdef void free_routes(Routes* routes) noexcept nogil:
    """Free the memory of all tables."""
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
    """Add one tree of n_leaves leaves, which must be valid.

    ``left``, ``right``, ``tests``, (n_leaves - 1,): the children (later nodes, or ~leaf) and the
    test of each inner node.
    """
    cdef int32_t n_nodes = n_leaves - 1
    cdef int32_t n_exits, max_size, i
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
    max_size = max_exit_size(size, n_nodes, index)
    count_exits(left, right, size, n_nodes, max_size, exits)
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
    """Write the operations of one tree, sorted by plane; in a plane, plain operations come first.

    A plane is eight neighboring exits, a byte of the mask of exits. A node has an operation in each
    plane where its test removes exits.

    - ``first``, ``exits``: of each node, the first exit below it, and their number.
    - ``at``: work space for two numbers for each plane: the places of its next plain and its next
      other operation.
    """
    cdef Plane* planes = <Plane*> append(&routes.planes, n_planes, sizeof(Plane))
    cdef MaskOp* ops
    cdef int32_t i, p, end, n_ops
    cdef bint is_flipped
    cdef int pass_
    memset(planes, 0, n_planes * sizeof(Plane))
    for i in range(n_nodes):
        if exits[i] > 1:
            end = first[i] + n_removed(left, right, exits, i)
            for p in range(first[i] // 8, (end - 1) // 8 + 1):
                if is_plain(&tests[i]):
                    planes[p].n_plain += 1
                else:
                    planes[p].n_masked += 1
    n_ops = 0
    for p in range(n_planes):
        at[2 * p] = n_ops
        at[2 * p + 1] = n_ops + planes[p].n_plain
        n_ops += planes[p].n_plain + planes[p].n_masked
    ops = <MaskOp*> append(&routes.ops, n_ops, sizeof(MaskOp))
    for i in range(n_nodes):
        if exits[i] > 1:
            end = first[i] + n_removed(left, right, exits, i)
            is_flipped = right_is_smaller(left, right, exits, i)
            for p in range(first[i] // 8, (end - 1) // 8 + 1):
                pass_ = 2 * p + (not is_plain(&tests[i]))
                ops[at[pass_]] = mask_op(
                    &tests[i], max(first[i] - 8 * p, 0), min(end - 8 * p, 8), is_flipped)
                at[pass_] += 1
    return 0


cdef void add_values(
    const Routes* routes, int64_t tree, const uint8_t* const* columns, int n, int64_t step,
    double* score_inout,
) noexcept nogil:
    """Add the values of the leaves of n rows in a tree to scores that are ``step`` apart.

    ``columns``: of the tile's columns of bytes, the address of each.
    """
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
    """Write the numbers of the leaves of n rows in a tree, ``step`` elements apart.

    ``columns``: of the tile's columns of bytes, the address of each.
    """
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
    """Write the exit by which each row leaves the top of a tree.

    ``columns``: the address of each column of bytes of a tile; ``exits_out``, (LEAF_TILE,).
    """
    leftmost_exits(
        <const MaskOp*> routes.ops.items + route.first_op,
        <const Plane*> routes.planes.items + route.first_plane, route.n_planes, columns,
        exits_out)


cdef void walk(
    const Routes* routes, const Route* route, const uint8_t* exits,
    const uint8_t* const* columns, int n, int32_t* leaf_out,
) noexcept nogil:
    """Write the leaf that each of n rows reaches from its exit.

    ``exits``, ``columns``: see `find_exits`.
    """
    walk_from_exits(
        <const WalkNode*> routes.nodes.items + route.first_node, exits, columns, n,
        leaf_out)


cdef inline bint is_plain(const Test* test) noexcept nogil:
    """Whether a test compares the whole byte with its limit."""
    return test.low == 0 and test.bits == 0xFF


cdef inline int32_t n_removed(
    const int32_t* left, const int32_t* right, const int32_t* exits, int32_t i,
) noexcept nogil:
    """The number of exits on a node's smaller side, which its test removes."""
    return min(exits_of(exits, left[i]), exits_of(exits, right[i]))


cdef inline MaskOp mask_op(const Test* test, int begin, int end, bint is_flipped) noexcept nogil:
    """Remove the exits ``begin`` to ``end`` - 1 of a plane (0 to 7) for rows that go right.

    If flipped, for rows that go left.
    """
    cdef uint8_t kept = <uint8_t> (0xFF ^ ((1 << end) - (1 << begin)))
    return MaskOp(test[0], kept if is_flipped else 0xFF, 0xFF ^ kept)


cdef inline void add_at(
    const double* values, const index_t* index, int n, int64_t step, double* score_inout,
) noexcept nogil:
    """Add the indexed values to scores that are ``step`` apart."""
    cdef int i
    if step == 1:
        for i in range(n):
            score_inout[i] += values[index[i]]
    else:
        for i in range(n):
            score_inout[i * step] += values[index[i]]
