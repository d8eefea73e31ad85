r"""The steps by which a block of rows passes through a tree for its SHAP values.

All rows of a block take the same steps: DOWN computes the weights P of a node's children from the
node's, and UP computes the expected value G of a node from its children's. `contribution_kernels.h`
has the formulas of P and G. This tree has tests of x at nodes 0 and 2, and the numbers of training
rows at the edges:

    depth 0             node 0: x <= 3
                    near 80 /       \ far 20
    depth 1        node 1: y <= 5    leaf c
               near 60 /     \ far 20
    depth 2  node 2: x <= 1   leaf b
        near 45 /     \ far 15
            leaf a     leaf d

The near child is the one whose steps come first: the left one, unless only the left one is a leaf.
The place of a node in the arrays P and G is 2 * depth, + 1 if it is a far child; a place is reused
after its branch is finished. The number of an edge is 2 * depth of its upper node, + 1 if its lower
node is the far child. The steps are

    step  node  place  edge_above  z    p     meaning
    DOWN  0     0      none        1    0.8   P of place 2, node 1
    DOWN  1     2      none        1    0.75  P of place 4, node 2
    FORK  2     4      0           0.8  0.75  G of place 4, from the values of leaves a and d
    UP    1     2                             G of place 2, from place 4 and the value of leaf b
    UP    0     0                             G of place 0, from place 2 and the value of leaf c

where FORK and UP also add to the SHAP value of the node's feature. p is the fraction of the node's
training rows that go to the near child. z is the product of these fractions over the nodes above
that test the same feature: at node 2, z = 80 / 100, the fraction of node 0 towards node 2. There,
rows with x > 3 are off the path of x, as they have left it at node 0, whose near edge 0 is
`edge_above`.

If both children are inner nodes, the steps of the far child follow those of the near one; its place
is that of the near child + 1. Constant leaves need no steps. A linear leaf has a step, LEAF, as its
G depends on the row; then there are no forks.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from skgoss._engine.model.predict cimport Predictor, TestNode

import numpy as np


# A node of the path from the root to the node whose steps are written.
cdef struct PathNode:
    int64_t at              # the index in the predictor's nodes, and those of the children
    int64_t near
    int64_t far
    int32_t node            # the number in the order of the steps
    int32_t slot
    int32_t depth_above     # of the last node above with the same feature; -1: there is none
    int32_t side            # of the child on the path: 0 near, 1 far
    int32_t n_children      # the number of children whose steps are written
    double[2] fraction      # z of nodes with the same feature below the near and the far child


# The state of writing the steps of trees.
cdef struct Writer:
    const TestNode* nodes
    const double* leaf_value
    const int64_t* leaf_count
    LeafModel* leaf_models      # of the tree's leaves; NULL: all are constant
    Term* terms                 # of all leaves
    const int32_t* slot         # of each node
    double* cover               # the number of training rows of each node
    PathNode* path
    int32_t* last_depth         # of the last node of each slot on the path; -1: there is none
    Step* steps
    StepNode* step_nodes
    int64_t root                # the index of the tree's root
    int32_t n_steps             # of this tree, written so far
    int32_t n_nodes
    int64_t n_slots
    int64_t n_distinct          # the number of different features on the path
    int64_t max_distinct
    int64_t max_depth
    Pair* pairs                 # of all trees; `pair` is slot * n_slots + slot until it is numbered
    int64_t n_pairs
    int64_t capacity            # for pairs
    bint with_pairs
    bint has_foreign_term       # whether a term has a column that no node on its path tests


cdef inline bint is_leaf(const Writer* w, int64_t at) noexcept nogil:
    """Whether the node at an index of ``w.nodes`` is a leaf, which is its own child."""
    return w.nodes[at].child == at


cdef inline int64_t number(const Writer* w, int64_t at) noexcept nogil:
    """The number of an inner node: the children of node i lie at root + 2 i + 1."""
    return (w.nodes[at].child - w.root - 1) // 2


cdef inline double value_at(const Writer* w, int64_t at) noexcept nogil:
    """The value of a leaf; the threshold of its node is its number in the tree."""
    return w.leaf_value[<int64_t> w.nodes[at].threshold]


cdef inline double cover_at(const Writer* w, int64_t at) noexcept nogil:
    """The number of training rows of a leaf or inner node; negative numbers count as 0."""
    if is_leaf(w, at):
        return <double> max(w.leaf_count[<int64_t> w.nodes[at].threshold], 0)
    return w.cover[number(w, at)]


cdef inline double child_fraction(const Writer* w, int64_t at, int64_t sibling) noexcept nogil:
    """The fraction of the parent's training rows in a child; one half if there are no rows.

    ``at``, ``sibling``: the indices of the child and of its sibling.
    """
    cdef double rows = cover_at(w, at)
    cdef double both = rows + cover_at(w, sibling)
    return rows / both if both > 0.0 else 0.5


cdef double expected_value(Writer* w, int64_t n_nodes, double* expected) noexcept nogil:
    """The expected value of a tree of n_nodes inner nodes; fills the cover of all of them.

    It is the mean of the leaf values, weighted by their training rows. ``expected``, (n_nodes,):
    work space, the expected value below each node. Children have later numbers than their parents.
    """
    cdef int64_t i, left
    cdef double low, high
    if n_nodes == 0:
        return value_at(w, w.root)
    for i in range(n_nodes - 1, -1, -1):
        left = w.root + 2 * i + 1
        w.cover[i] = cover_at(w, left) + cover_at(w, left + 1)
        low = value_at(w, left) if is_leaf(w, left) else expected[number(w, left)]
        high = value_at(w, left + 1) if is_leaf(w, left + 1) else expected[number(w, left + 1)]
        expected[i] = high + child_fraction(w, left, left + 1) * (low - high)
    return expected[0]


cdef inline int32_t place(const Writer* w, int64_t depth) noexcept nogil:
    """The place of the path's node at a depth: 2 * depth, + 1 if it is a far child."""
    return <int32_t> (2 * depth + (w.path[depth - 1].side if depth else 0))


cdef inline int32_t edge(const Writer* w, int64_t depth) noexcept nogil:
    """The number of the path's edge below its node at a depth."""
    return <int32_t> (2 * depth + w.path[depth].side)


cdef inline double fraction_above(const Writer* w, const PathNode* node) noexcept nogil:
    """z: the product of the fractions that follow the path at all nodes above with the feature."""
    if node.depth_above < 0:
        return 1.0
    return w.path[node.depth_above].fraction[w.path[node.depth_above].side]


cdef bint write_pairs(
    Writer* w, int32_t slot, int64_t depth, int64_t* first_out, int32_t* n_out,
) noexcept nogil:
    """List the features on the path above a depth, except a slot's; False: not enough memory.

    A slot is a column in the trees of one score. Each feature is listed once, at the last node that
    tests it, as a pair with ``slot``; nothing is listed unless interactions are computed.
    ``first_out``, ``n_out``: the first of these pairs, and their number.
    """
    cdef Pair* grown
    cdef PathNode* node
    cdef int64_t d
    first_out[0] = w.n_pairs
    for d in range(depth if w.with_pairs else 0):
        node = &w.path[d]
        if w.last_depth[node.slot] != d or node.slot == slot:
            continue
        if w.n_pairs == w.capacity:
            w.capacity = 2 * w.capacity + 64
            grown = <Pair*> realloc(w.pairs, w.capacity * sizeof(Pair))
            if grown == NULL:
                return False
            w.pairs = grown
        w.pairs[w.n_pairs] = Pair(
            node.node, edge(w, d), min(node.slot, slot) * w.n_slots + max(node.slot, slot))
        w.n_pairs += 1
    n_out[0] = <int32_t> (w.n_pairs - first_out[0])
    return True


cdef bint write_leaf(Writer* w, int64_t depth, int64_t at) noexcept nogil:
    """Write the step of a linear leaf at the end of the path; False: not enough memory.

    ``depth``: of the leaf; ``at``: its index. Its terms get the edge of the path at the last node
    that tests their column, and the fraction z there.
    """
    cdef Step* step = &w.steps[w.n_steps]
    cdef int64_t leaf = <int64_t> w.nodes[at].threshold
    cdef PathNode* node
    cdef Term* term
    cdef int64_t i, d
    w.n_steps += 1
    step.kind = SHAP_LEAF
    step.node = <int32_t> leaf
    step.place = place(w, depth)
    for i in range(w.leaf_models[leaf].first_term, w.leaf_models[leaf].stop_term):
        term = &w.terms[i]
        d = w.last_depth[term.slot]
        if d < 0:
            w.has_foreign_term = True
            return True
        node = &w.path[d]
        term.edge = edge(w, d)
        term.fraction = node.fraction[node.side]
        if not write_pairs(w, term.slot, depth, &term.first_pair, &term.n_pairs):
            return False
    return True


cdef void write_step(Writer* w, int64_t depth, uint8_t kind) noexcept nogil:
    """Write a step of the path's node at a depth: DOWN, UP or FORK.

    With z and p of the node (see the table above) and z' = z p, the kernels need for each row

        row                       fraction a of P      factor f of
                                  for the near child   the SHAP value
        on the path, goes near    (s + (1-s) z') / c   z - z' = near_factor
        on the path, goes far     (1-s) z' / c         -z'    = far_factor
        off the path              p      = off_path    0

    at each quadrature point s, with c = s + (1 - s) z. `shap_fill` computes the fractions that
    depend on s, once for all rows, from the `StepNode`.

    The children of a fork are leaves with the values v, so its step stores G = v_far + a (v_near -
    v_far) in place of a, and f times (v_near - v_far).
    """
    cdef PathNode* at = &w.path[depth]
    cdef const TestNode* test = &w.nodes[at.at]
    cdef Step* step = &w.steps[w.n_steps]
    cdef double z = fraction_above(w, at)
    cdef double p = child_fraction(w, at.near, at.far)
    cdef double difference = 1.0
    w.n_steps += 1
    step.kind = kind
    step.is_first = at.depth_above < 0
    step.far_is_leaf = is_leaf(w, at.far) and w.leaf_models == NULL
    step.node = at.node
    step.place = place(w, depth)
    step.edge_above = 0 if step.is_first else edge(w, at.depth_above)
    step.column = test.column
    step.slot = at.slot
    step.flip = -1 if at.near > at.far else 0
    step.threshold = test.threshold
    step.far_value = value_at(w, at.far) if step.far_is_leaf else 0.0
    step.off_path = p
    if kind == SHAP_FORK:
        difference = value_at(w, at.near) - step.far_value
        step.off_path = step.far_value + difference * p
    step.near_factor = difference * (z - z * p)
    step.far_factor = difference * (0.0 - z * p)
    if kind != SHAP_UP:
        w.step_nodes[at.node] = StepNode(
            z, p, step.far_value, difference, step.is_first, kind == SHAP_FORK)


cdef bint write_step_pairs(Writer* w, int64_t depth) noexcept nogil:
    """List the pairs of the last step; false if there is not enough memory."""
    cdef Step* step = &w.steps[w.n_steps - 1]
    return write_pairs(w, step.slot, depth, &step.first_pair, &step.n_pairs)


cdef bint open_node(Writer* w, int64_t depth, int64_t at, bint* is_fork_out) noexcept nogil:
    """Append a node to the path and write its first step; False: there is not enough memory.

    - ``depth``: of the node, which is its position on the path.
    - ``at``: its index in ``w.nodes``.
    - ``is_fork_out``: whether both children are constant leaves. A fork has one step only, so it is
      removed from the path again.
    """
    cdef PathNode* node = &w.path[depth]
    cdef int64_t left = w.nodes[at].child
    cdef bint flip = is_leaf(w, left) and not is_leaf(w, left + 1)
    cdef double z
    node.at = at
    node.near = left + flip
    node.far = left + (not flip)
    node.node = w.n_nodes
    node.slot = w.slot[number(w, at)]
    node.depth_above = w.last_depth[node.slot]
    node.n_children = 0
    z = fraction_above(w, node)
    node.fraction[0] = z * child_fraction(w, node.near, node.far)
    node.fraction[1] = z - node.fraction[0]
    is_fork_out[0] = is_leaf(w, node.near) and w.leaf_models == NULL
    write_step(w, depth, SHAP_FORK if is_fork_out[0] else SHAP_DOWN)
    w.n_nodes += 1
    w.n_distinct += node.depth_above < 0
    w.max_distinct = max(w.max_distinct, w.n_distinct)
    w.max_depth = max(w.max_depth, depth)
    if not is_fork_out[0]:
        w.last_depth[node.slot] = <int32_t> depth
        return True
    w.n_distinct -= node.depth_above < 0
    return write_step_pairs(w, depth)


cdef int64_t next_child(Writer* w, int64_t depth, bint* done_inout) noexcept nogil:
    """The next child of the path's last node that is an inner node; -1: there is none.

    ``depth``: of the children. Writes the steps of children that are linear leaves. ``done_inout``
    becomes False if there is not enough memory.
    """
    cdef PathNode* node = &w.path[depth - 1]
    cdef int64_t at
    while node.n_children < 2:
        node.side = node.n_children
        node.n_children += 1
        at = node.far if node.side else node.near
        if not is_leaf(w, at):
            return at
        if w.leaf_models != NULL:
            done_inout[0] = done_inout[0] and write_leaf(w, depth, at)
    return -1


cdef bint close_node(Writer* w, int64_t depth) noexcept nogil:
    """Write the UP step of the path's last node, at this depth, and remove it.

    False: there is not enough memory.
    """
    cdef PathNode* node = &w.path[depth]
    write_step(w, depth, SHAP_UP)
    w.last_depth[node.slot] = node.depth_above
    w.n_distinct -= node.depth_above < 0
    return write_step_pairs(w, depth)


cdef bint write_tree(Writer* w) noexcept nogil:
    """Write the steps of a tree with an inner node; False: there is not enough memory.

    A depth-first walk without recursion: ``depth`` is the number of nodes on the path. A fork does
    not stay on it: its children are constant leaves.
    """
    cdef int64_t depth = 0
    cdef int64_t at = w.root
    cdef bint is_fork
    cdef bint done = True
    while True:
        if not open_node(w, depth, at, &is_fork):
            return False
        depth += not is_fork
        while depth > 0:
            at = next_child(w, depth, &done)
            if at >= 0:
                break
            depth -= 1
            if not close_node(w, depth):
                return False
        if depth == 0:
            return done


cdef class TreeSteps:
    """The steps of all trees. They do not change.

    See `Explainer` for the arguments. ``n_distinct``, (n_trees,), is the largest number of
    different features on a path of each tree.
    """

    def __cinit__(
        self, Predictor predictor, const int64_t[::1] leaf_start,
        const int64_t[::1] leaf_count, const double[::1] leaf_value, const int32_t[::1] slot,
        int64_t n_slots, bint with_pairs, leaf_models,
    ):
        cdef StepTables* tables = &self.tables
        cdef int64_t n_trees = leaf_start.shape[0] - 1
        cdef int64_t n_nodes = slot.shape[0]
        cdef int64_t n_steps = 2 * n_nodes
        self.predictor = predictor
        self.leaf_start = leaf_start
        if leaf_models is not None:
            n_steps += leaf_value.shape[0]
            self._read_leaf_models(leaf_value, **leaf_models)
        tables.steps = <Step*> malloc((n_steps + 1) * sizeof(Step))
        tables.nodes = <StepNode*> malloc((n_nodes + 1) * sizeof(StepNode))
        tables.trees = <TreeRange*> malloc((n_trees + 1) * sizeof(TreeRange))
        if tables.steps == NULL or tables.nodes == NULL or tables.trees == NULL:
            raise MemoryError
        tables.leaf_start = &leaf_start[0]
        tables.n_slots = n_slots
        tables.with_pairs = with_pairs
        self._write(leaf_count, leaf_value, slot)
        self._number_pairs()

    def __dealloc__(self):
        free(self.tables.steps)
        free(self.tables.nodes)
        free(self.tables.trees)
        free(self.tables.pairs)
        free(self.tables.leaf_models)
        free(self.tables.terms)

    def _read_leaf_models(
        self, const double[::1] leaf_value, const int64_t[::1] start,
        const double[::1] constant, const double[::1] lower, const double[::1] upper,
        const double[::1] fallback, const double[::1] coefficient, const double[::1] mean,
        const int32_t[::1] slot, const int32_t[::1] column, const int64_t[::1] feature,
    ):
        """Copy the models of linear leaves into tables: ``leaf_models`` of `Explainer`."""
        cdef StepTables* tables = &self.tables
        cdef int64_t n_leaves = leaf_value.shape[0], n_terms = mean.shape[0]
        cdef int32_t first = <int32_t> self.predictor.tables.n_columns
        cdef int64_t i
        tables.leaf_models = <LeafModel*> malloc((n_leaves + 1) * sizeof(LeafModel))
        tables.terms = <Term*> malloc((n_terms + 1) * sizeof(Term))
        if tables.leaf_models == NULL or tables.terms == NULL:
            raise MemoryError
        for i in range(n_leaves):
            tables.leaf_models[i] = LeafModel(
                start[i], start[i + 1], constant[i], leaf_value[i], lower[i], upper[i],
                fallback[i])
        for i in range(n_terms):
            tables.terms[i] = Term(
                coefficient[i], mean[i], 1.0, first + column[i], slot[i], 0, 0, 0)
        self.raw_feature = feature
        tables.raw_feature = &feature[0]
        tables.n_raw = feature.shape[0]

    cdef int _write(
        self, const int64_t[::1] leaf_count, const double[::1] leaf_value,
        const int32_t[::1] slot,
    ) except -1:
        """Write the steps of all trees, and their expected values.

        The arguments are those of `Explainer`. ValueError: a linear leaf has a column that no node
        on its path tests.
        """
        cdef StepTables* tables = &self.tables
        cdef const int64_t[::1] leaf_start = self.leaf_start
        cdef int64_t n_trees = leaf_start.shape[0] - 1
        cdef int64_t max_nodes = max(0, np.diff(leaf_start).max(initial=1) - 1)
        cdef double[::1] cover = np.empty(max_nodes + 1)
        cdef double[::1] node_expected = np.empty(max_nodes + 1)
        cdef int32_t[::1] last_depth = np.full(tables.n_slots + 1, -1, dtype=np.int32)
        cdef int64_t[::1] n_distinct = np.zeros(n_trees, dtype=np.int64)
        cdef double[::1] expected = np.empty(n_trees)
        cdef int64_t t, first_node, first_step, n_nodes
        cdef bint done = True
        cdef Writer w
        memset(&w, 0, sizeof(Writer))
        w.path = <PathNode*> malloc((max_nodes + 1) * sizeof(PathNode))
        if w.path == NULL:
            raise MemoryError
        w.nodes = self.predictor.nodes
        w.n_slots = tables.n_slots
        w.with_pairs = tables.with_pairs
        w.cover = &cover[0]
        w.last_depth = &last_depth[0]
        w.terms = tables.terms
        with nogil:
            for t in range(n_trees):
                first_node = leaf_start[t] - t
                first_step = 2 * first_node
                n_nodes = leaf_start[t + 1] - leaf_start[t] - 1
                w.leaf_value = &leaf_value[0] + leaf_start[t]
                if tables.leaf_models != NULL:
                    first_step += leaf_start[t]
                    w.leaf_models = tables.leaf_models + leaf_start[t]
                w.leaf_count = &leaf_count[0] + leaf_start[t]
                w.slot = &slot[0] + first_node
                w.root = self.predictor.trees[t].root
                w.steps = tables.steps + first_step
                w.step_nodes = tables.nodes + first_node
                w.n_steps = w.n_nodes = 0
                w.max_distinct = 0
                expected[t] = expected_value(&w, n_nodes, &node_expected[0])
                if n_nodes > 0:
                    done = done and write_tree(&w)
                elif (w.leaf_models != NULL
                        and w.leaf_models[0].first_term < w.leaf_models[0].stop_term):
                    w.has_foreign_term = True
                n_distinct[t] = w.max_distinct
                tables.trees[t] = TreeRange(first_step, w.n_steps, first_node, n_nodes)
        free(w.path)
        tables.pairs = w.pairs
        self.n_listed_pairs = w.n_pairs
        tables.max_nodes = max_nodes
        tables.max_depth = w.max_depth
        self.expected = np.asarray(expected)
        self.n_distinct = np.asarray(n_distinct)
        if not done:
            raise MemoryError
        if w.has_foreign_term:
            raise ValueError(
                "a linear leaf has a column that no node on its path tests, so it has no SHAP"
                " values")
        return 0

    cdef int _number_pairs(self) except -1:
        """Replace the keys of pairs of slots (slot * n_slots + slot) by consecutive numbers."""
        cdef Pair* listed = self.tables.pairs
        cdef int64_t[::1] key = np.empty(self.n_listed_pairs, dtype=np.int64)
        cdef int64_t i
        for i in range(self.n_listed_pairs):
            key[i] = listed[i].pair
        found, index = np.unique(key, return_inverse=True)
        cdef const int64_t[::1] pair = index.astype(np.int64).ravel()
        for i in range(self.n_listed_pairs):
            listed[i].pair = pair[i]
        slots = max(1, self.tables.n_slots)
        self.pairs = np.stack([found // slots, found % slots], axis=1).astype(np.int32)
        self.tables.n_pairs = len(found)
        return 0
