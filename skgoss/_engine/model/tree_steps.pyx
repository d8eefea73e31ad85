"""The steps in which a block of rows passes a tree for its SHAP values."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport realloc

from skgoss._engine.model.predict cimport TestNode


cdef inline bint is_leaf(const Writer* w, int64_t at) noexcept nogil:
    return w.nodes[at].child == at


cdef inline int64_t number(const Writer* w, int64_t at) noexcept nogil:
    """The number of an inner node: the children of node i lie at root + 2 i + 1."""
    return (w.nodes[at].child - w.root - 1) // 2


cdef inline double value_at(const Writer* w, int64_t at) noexcept nogil:
    return w.leaf_value[<int64_t> w.nodes[at].threshold]


cdef inline double cover_at(const Writer* w, int64_t at) noexcept nogil:
    """Rows in a leaf or inner node; less than none counts as none."""
    if is_leaf(w, at):
        return <double> max(w.leaf_count[<int64_t> w.nodes[at].threshold], 0)
    return w.cover[number(w, at)]


cdef inline double share_at(const Writer* w, int64_t at, int64_t sibling) noexcept nogil:
    """The share of a parent's rows that a child has; one half if there are no rows."""
    cdef double rows = cover_at(w, at)
    cdef double both = rows + cover_at(w, sibling)
    return rows / both if both > 0.0 else 0.5


cdef double expected_value(Writer* w, int64_t n_nodes, double* expected) noexcept nogil:
    """Fill in the cover of all nodes; children have later numbers than their parents."""
    cdef int64_t i, left
    cdef double low, high
    if n_nodes == 0:
        return value_at(w, w.root)
    for i in range(n_nodes - 1, -1, -1):
        left = w.root + 2 * i + 1
        w.cover[i] = cover_at(w, left) + cover_at(w, left + 1)
        low = value_at(w, left) if is_leaf(w, left) else expected[number(w, left)]
        high = value_at(w, left + 1) if is_leaf(w, left + 1) else expected[number(w, left + 1)]
        expected[i] = high + share_at(w, left, left + 1) * (low - high)
    return expected[0]


cdef bint write_pairs(
    Writer* w, int32_t slot, int64_t depth, int64_t* first_out, int32_t* n_out,
) noexcept nogil:
    """List the other features on the path of a slot's; false when memory ran out."""
    cdef Pair* more
    cdef PathNode* passed
    cdef int64_t d
    first_out[0] = w.n_pairs
    for d in range(depth if w.with_pairs else 0):
        passed = &w.path[d]
        if w.last[passed.slot] != d or passed.slot == slot:
            continue
        if w.n_pairs == w.room:
            w.room = 2 * w.room + 64
            more = <Pair*> realloc(w.pairs, w.room * sizeof(Pair))
            if more == NULL:
                return False
            w.pairs = more
        w.pairs[w.n_pairs] = Pair(
            passed.node, <int32_t> (2 * d + passed.side),
            min(passed.slot, slot) * w.n_slots + max(passed.slot, slot))
        w.n_pairs += 1
    n_out[0] = <int32_t> (w.n_pairs - first_out[0])
    return True


cdef bint write_leaf(Writer* w, int64_t depth, int64_t at) noexcept nogil:
    """Write the step of a leaf at the end of the path; false when memory ran out."""
    cdef Step* step = &w.steps[w.n_steps]
    cdef int64_t number = <int64_t> w.nodes[at].threshold
    cdef PathNode* passed
    cdef Term* term
    cdef int64_t i, d
    w.n_steps += 1
    step.kind = SHAP_LEAF
    step.node = <int32_t> number
    step.at = <int32_t> (2 * depth + w.path[depth - 1].side)
    for i in range(w.lines[number].first_term, w.lines[number].stop_term):
        term = &w.terms[i]
        d = w.last[term.slot]
        if d < 0:
            w.is_astray = True
            return True
        passed = &w.path[d]
        term.above = <int32_t> (2 * d + passed.side)
        term.share = passed.share[passed.side]
        if not write_pairs(w, term.slot, depth, &term.first_pair, &term.n_pairs):
            return False
    return True


cdef void write_step(Writer* w, int64_t depth, uint8_t kind) noexcept nogil:
    """Write a step and, unless it goes up, the origin of its constants."""
    cdef PathNode* passed = &w.path[depth]
    cdef PathNode* above = &w.path[passed.above] if passed.above >= 0 else NULL
    cdef const TestNode* node = &w.nodes[passed.at]
    cdef Step* step = &w.steps[w.n_steps]
    cdef double before = above.share[above.side] if above != NULL else 1.0
    cdef double share = share_at(w, passed.near, passed.far)
    cdef double scale = 1.0
    w.n_steps += 1
    step.kind = kind
    step.is_new = above == NULL
    step.far_is_leaf = is_leaf(w, passed.far) and w.lines == NULL
    step.node = passed.node
    step.at = <int32_t> (2 * depth + (w.path[depth - 1].side if depth else 0))
    step.above = 2 * passed.above + above.side if above != NULL else 0
    step.column = node.column
    step.slot = passed.slot
    step.flip = -1 if passed.near > passed.far else 0
    step.threshold = node.threshold
    step.far_value = value_at(w, passed.far) if step.far_is_leaf else 0.0
    step.cold = share
    if kind == SHAP_FORK:
        scale = value_at(w, passed.near) - step.far_value
        step.cold = step.far_value + scale * share
    step.with_ = scale * (before - before * share)
    step.without = scale * (0.0 - before * share)
    if kind != SHAP_UP:
        w.origins[passed.node] = Origin(
            before, share, step.far_value, scale, step.is_new, kind == SHAP_FORK)


cdef bint open_node(Writer* w, int64_t depth, int64_t at, bint* is_fork_out) noexcept nogil:
    """Begin a node at the end of the path, a fork also ends; false when memory ran out."""
    cdef PathNode* passed = &w.path[depth]
    cdef int64_t left = w.nodes[at].child
    cdef bint flip = is_leaf(w, left) and not is_leaf(w, left + 1)
    cdef double before = 1.0
    passed.at = at
    passed.near = left + flip
    passed.far = left + (not flip)
    passed.node = w.n_nodes
    passed.slot = w.slot[number(w, at)]
    passed.above = w.last[passed.slot]
    passed.turn = 0
    if passed.above >= 0:
        before = w.path[passed.above].share[w.path[passed.above].side]
    passed.share[0] = before * share_at(w, passed.near, passed.far)
    passed.share[1] = before - passed.share[0]
    is_fork_out[0] = is_leaf(w, passed.near) and w.lines == NULL
    write_step(w, depth, SHAP_FORK if is_fork_out[0] else SHAP_DOWN)
    w.n_nodes += 1
    w.n_distinct += passed.above < 0
    w.most_distinct = max(w.most_distinct, w.n_distinct)
    w.max_depth = max(w.max_depth, depth)
    if not is_fork_out[0]:
        w.last[passed.slot] = <int32_t> depth
        return True
    w.n_distinct -= passed.above < 0
    return write_pairs_of_step(w, depth)


cdef bint write_pairs_of_step(Writer* w, int64_t depth) noexcept nogil:
    cdef Step* step = &w.steps[w.n_steps - 1]
    return write_pairs(w, step.slot, depth, &step.first_pair, &step.n_pairs)


cdef int64_t next_child(Writer* w, int64_t depth, bint* done_inout) noexcept nogil:
    """Turn to the next child of the path's last node that is an inner node; -1: none.

    Steps of leaves are written. ``done_inout`` becomes false when memory ran out.
    """
    cdef PathNode* passed = &w.path[depth - 1]
    cdef int64_t at
    while passed.turn < 2:
        passed.side = passed.turn
        passed.turn += 1
        at = passed.far if passed.side else passed.near
        if not is_leaf(w, at):
            return at
        if w.lines != NULL:
            done_inout[0] = done_inout[0] and write_leaf(w, depth, at)
    return -1


cdef bint close_node(Writer* w, int64_t depth) noexcept nogil:
    """End a node whose children are written; false when memory ran out."""
    cdef PathNode* passed = &w.path[depth]
    write_step(w, depth, SHAP_UP)
    w.last[passed.slot] = passed.above
    w.n_distinct -= passed.above < 0
    return write_pairs_of_step(w, depth)


cdef bint write_tree(Writer* w) noexcept nogil:
    """Write the steps of a tree with an inner node; false when memory ran out."""
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
