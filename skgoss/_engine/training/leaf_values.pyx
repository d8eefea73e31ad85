"""The values of a tree's leaves, from the exact sums of their rows, and the scores of the rows.

The rows of a leaf lie scattered over all rows. So rows are visited window by window, and within a
window leaf by leaf: the gradients and scores of a window stay in the cache.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from skgoss._engine.threads cimport parallel_shares
from skgoss._engine.training.kernel_collectives cimport all_reduce
from skgoss._engine.training.layout cimport Gradients, Sums
from skgoss._engine.training.partition cimport gather
from skgoss._engine.training.split cimport (
    HESSIAN_EPSILON, SplitRules, clamp, leaf_output, leaf_step)
from skgoss._engine.training.workspace cimport (
    MIN_ROWS_FOR_TEAM, Leaf, LeafVisit, Node, Round, Shared, Workspace, gallop, position_of)

cdef extern from "leaf_values.h" nogil:
    void add_leaf_rows(
        const Gradients* rows, const uint32_t* position, const uint64_t* records, Py_ssize_t n,
        uint64_t id_mask, double gradient_scale, double hessian_scale, Sums* sums_inout)
    void add_leaf_value(
        double value, const uint32_t* position, const uint64_t* records, Py_ssize_t n,
        uint64_t id_mask, double* score_inout)

cdef enum Visit:
    # What a visit of rows does: it sums them by leaf, adds the values of the leaves to their
    # scores, or writes the numbers of the leaves.
    SUM
    ADD
    NUMBER

cdef enum:
    ROWS_PER_WINDOW = 32768
    # Trees of many leaves have larger windows, with at least this number of rows for each leaf.
    ROWS_PER_VISIT = 64


cdef void visit_leaf(
    const Workspace* ws, const Round* round, Visit kind, int index, uint64_t end_row,
    LeafVisit* visit,
) noexcept nogil:
    """Visit the next rows of leaf ``index``, those below ``end_row``.

    ``kind`` says what a visit does: see `Visit`. Gradients and hessians are added to
    ``visit.sums``. ``visit.next`` is the next record.
    """
    cdef const Leaf* leaf = &ws.leaves[index]
    cdef const uint64_t* records = ws.records[leaf.buffer]
    cdef uint64_t id_mask = ws.encoding.id_mask
    cdef Py_ssize_t begin = visit.next
    cdef Py_ssize_t i
    visit.next = gallop(records, begin, leaf.end, id_mask, end_row)
    if kind == NUMBER:
        for i in range(begin, visit.next):
            round.leaf_number[position_of(ws, records[i])] = index
    elif kind == ADD:
        add_leaf_value(
            ws.leaf_value[index], ws.data.position, records + begin, visit.next - begin, id_mask,
            round.score)
    else:
        add_leaf_rows(
            &round.gradients, ws.data.position, records + begin, visit.next - begin, id_mask,
            ws.gradient_scale, ws.hessian_scale, &visit.sums)


cdef void visit_rows(
    const Workspace* ws, const Round* round, Visit kind, Py_ssize_t row, Py_ssize_t end_row,
    LeafVisit* leaf_visits,
) noexcept nogil:
    """Visit the rows ``row`` to ``end_row``, leaf by leaf: see `Visit`.

    ``leaf_visits``, (n_leaves,): the progress and the sums of each leaf.
    """
    cdef Py_ssize_t step = max(ROWS_PER_WINDOW, ROWS_PER_VISIT * <Py_ssize_t>ws.n_leaves)
    cdef const Leaf* leaf
    cdef int index
    memset(leaf_visits, 0, ws.n_leaves * sizeof(LeafVisit))
    for index in range(ws.n_leaves):
        leaf = &ws.leaves[index]
        leaf_visits[index].next = gallop(
            ws.records[leaf.buffer], leaf.begin, leaf.end, ws.encoding.id_mask, row)
    while row < end_row:
        row = min(row + step, end_row)
        for index in range(ws.n_leaves):
            visit_leaf(ws, round, kind, index, row, &leaf_visits[index])


cdef struct VisitLoop:
    # Each thread visits a range (share) of the rows in all trees.
    Workspace* trees
    const Round* rounds
    int n_trees
    Visit kind
    int n_shares
    Py_ssize_t n_rows
    Py_ssize_t max_leaves


cdef void visit_body(void* context, Py_ssize_t share, Py_ssize_t end, int thread) noexcept nogil:
    """Visit the rows of one share in all trees with a split."""
    cdef VisitLoop* loop = <VisitLoop*>context
    cdef Workspace* ws
    cdef int k
    for k in range(loop.n_trees):
        ws = &loop.trees[k]
        if ws.n_leaves > 1 and not (
                loop.kind == ADD and loop.rounds[k].score == NULL):
            visit_rows(
                ws, &loop.rounds[k], loop.kind, share * loop.n_rows // loop.n_shares,
                end * loop.n_rows // loop.n_shares,
                ws.leaf_visits + share * loop.max_leaves)


cdef void sum_shares(Workspace* ws, const VisitLoop* loop) noexcept nogil:
    """Sum the sums of a tree's leaves over all shares.

    A share is the range of rows that a thread has visited. Sums are integers, so their order does
    not matter.
    """
    cdef const LeafVisit* visit
    cdef int leaf, share
    memset(ws.leaf_sums, 0, 2 * ws.n_leaves * sizeof(int64_t))
    for share in range(loop.n_shares):
        for leaf in range(ws.n_leaves):
            visit = &ws.leaf_visits[share * loop.max_leaves + leaf]
            ws.leaf_sums[2 * leaf] += visit.sums.gradient
            ws.leaf_sums[2 * leaf + 1] += visit.sums.hessian


cdef void set_value(Workspace* ws, int index) noexcept nogil:
    """Compute the value and the weight (sum of hessians) of leaf ``index`` from its sums.

    The sums are integers, at the scales of the tree. The value is the output, clipped to the bounds
    of the leaf, times the learning rate.
    """
    cdef const Leaf* leaf = &ws.leaves[index]
    cdef const int64_t* sums = ws.leaf_sums + 2 * index
    cdef SplitRules rules = ws.rules
    cdef double value
    rules.l2 = leaf.l2
    ws.leaf_weight[index] = sums[1] / ws.hessian_scale
    value = leaf_output(
        sums[0] / ws.gradient_scale, ws.leaf_weight[index] + HESSIAN_EPSILON,
        leaf.stats.sums.count, ws.nodes[leaf.node].stats.output, &rules)
    ws.leaf_value[index] = leaf_step(
        clamp(value, leaf.stats.lower, leaf.stats.upper), ws.learning_rate, ws.self_concordance)


cdef void fill_stump(Workspace* ws) noexcept nogil:
    """Set the value and the weight of the only leaf of a tree without a split."""
    ws.leaf_value[0] = 0.0
    ws.leaf_weight[0] = ws.leaves[0].stats.sums.hessian * ws.rules.hessian_unit


cdef int fill_leaves(
    Shared* shared, Workspace* trees, const Round* rounds, int n_trees,
) noexcept nogil:
    """Compute the values of the leaves of some trees, and add them to the scores.

    Returns 0 or COLLECTIVE_FAILED.
    """
    cdef int n_shares = trees.n_threads if rounds.gradients.n > MIN_ROWS_FOR_TEAM else 1
    cdef VisitLoop loop = VisitLoop(
        trees, rounds, n_trees, SUM, n_shares, shared.data.n_rows, shared.settings.max_leaves)
    cdef Workspace* ws
    cdef int status = 0
    cdef int k, leaf
    for k in range(n_trees):
        for leaf in range(trees[k].n_leaves):
            gather(&trees[k], &trees[k].leaves[leaf], n_shares)
    parallel_shares(visit_body, &loop, n_shares, 1, n_shares)
    for k in range(n_trees):
        ws = &trees[k]
        if ws.n_leaves == 1:
            fill_stump(ws)
            continue
        sum_shares(ws, &loop)
        if shared.collectives != NULL:
            status = all_reduce(shared.collectives, ws.leaf_sums, 2 * ws.n_leaves)
        if status < 0:
            return status
        for leaf in range(ws.n_leaves):
            set_value(ws, leaf)
    loop.kind = ADD
    parallel_shares(visit_body, &loop, n_shares, 1, n_shares)
    return 0


cdef void number_rows(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Write the number of the leaf of each row of a tree whose leaves have values.

    ``round`` has the `leaf_number` of each row; rows outside a sample keep theirs.
    """
    cdef int n_shares = ws.n_threads if round.gradients.n > MIN_ROWS_FOR_TEAM else 1
    cdef VisitLoop loop = VisitLoop(
        ws, round, 1, NUMBER, n_shares, shared.data.n_rows, shared.settings.max_leaves)
    parallel_shares(visit_body, &loop, n_shares, 1, n_shares)


cdef Sums child_sums(const Workspace* ws, int child) noexcept nogil:
    """The sums of a node's child: an inner node (``child >= 0``), or the leaf ``~child``."""
    cdef Sums sums
    if child >= 0:
        return ws.nodes[child].stats.sums
    sums.gradient = ws.leaf_sums[2 * ~child]
    sums.hessian = ws.leaf_sums[2 * ~child + 1]
    sums.count = 0
    return sums


cdef void fill_nodes(Workspace* ws) noexcept nogil:
    """Compute the sums and the outputs of the inner nodes from the sums of the leaves."""
    cdef Node* node
    cdef Sums left, right
    cdef int index
    ws.rules.hessian_unit = 1.0 / ws.hessian_scale
    # The children of a node have larger numbers.
    for index in range(ws.n_leaves - 2, -1, -1):
        node = &ws.nodes[index]
        left = child_sums(ws, node.left)
        right = child_sums(ws, node.right)
        node.stats.sums.gradient = left.gradient + right.gradient
        node.stats.sums.hessian = left.hessian + right.hessian
        node.stats.output = leaf_output(
            node.stats.sums.gradient / ws.gradient_scale,
            node.stats.sums.hessian / ws.hessian_scale + HESSIAN_EPSILON,
            node.stats.sums.count, 0.0, &ws.rules)
