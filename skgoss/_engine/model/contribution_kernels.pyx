# cython: language_level=3
"""Exact SHAP values of trees, and their interactions.

They are the path-dependent values of Lundberg et al. ("Consistent Individualized Feature
Attribution for Tree Ensembles", 2018): where a feature is not known, the rows of both children
count by their numbers. `contributions.h` has the formulas. Rows are taken in tiles, a tile tree
by tree, a tree in blocks of SHAP_ROWS rows, so that what is made of a tree serves the whole tile.
No sum crosses rows, so the values of a row depend on nothing else.
"""

from libc.math cimport M_PI
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from skgoss._engine.columns.column_kernels cimport InputColumns, load_block, read_columns
from skgoss._engine.model.predict cimport Predictor, Tables, TestNode, fill_values
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for

import numpy as np

cdef extern from "contribution_kernels.h" nogil:
    enum:
        SHAP_ROWS
        SHAP_POINTS
        SHAP_CONSTANTS
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
    ctypedef struct Run "shap_run":
        const Step* steps
        int64_t n_steps
        const Pair* pairs
        const Line* lines
        const Term* terms
        const double* table
        const double* known
        const double* unknown
        const double* weight
        const double* away
        const double* values
        int64_t stride
        int n
        double* P
        double* G
        int64_t* goes_near
        int64_t* hot
        double* sum
        double* pair_sum
    void shap_fill(
        const Origin*, int64_t, const double* known, const double* unknown, int with_pairs,
        double* table_out) noexcept
    void shap_block(const Run*, int with_pairs) noexcept

cdef enum:
    # Blocks of a tile, and the memory of a tile that a thread should need at most.
    LEAST_BLOCKS = 4
    MOST_BLOCKS = 32
    TILE_BYTES = 1 << 19
    CACHE_LINE = 64

# Nodes times rows below which a second thread costs more than it brings.
cdef int64_t MIN_WORK_FOR_TEAM = 20_000


# ------------------------------------------------------------------------------ points


# The points of a Gauss-Legendre rule on [0, 1], in passes of SHAP_POINTS points each.
cdef struct QuadratureRule:
    int64_t n_passes
    int n                   # points of a pass
    double* known           # s
    double* unknown         # 1 - s
    double* weight
    double* away            # -1 / (1 - s)


cdef void legendre(int64_t n, double x, double* value_out, double* slope_out) noexcept nogil:
    """The Legendre polynomial of degree n and its derivative."""
    cdef double before = 1.0
    cdef double value = x
    cdef int64_t k
    for k in range(2, n + 1):
        before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
    value_out[0] = value
    slope_out[0] = n * (before - x * value) / (1.0 - x * x)


cdef void set_point(
    const QuadratureRule* rule, int64_t point, double known, double unknown, double weight
) noexcept nogil:
    """Set a point of a rule: the factors of features that are known or not, and its weight."""
    cdef int64_t at = point // rule.n * SHAP_POINTS + point % rule.n
    rule.known[at] = known
    rule.unknown[at] = unknown
    rule.weight[at] = weight
    rule.away[at] = -1.0 / unknown


cdef double rough_cosine(double x) noexcept nogil:
    """The cosine of x in [0, pi / 2], within 1e-6, the same on every machine."""
    cdef double z = x * x
    return 1 - z / 2 * (1 - z / 12 * (1 - z / 30 * (1 - z / 56 * (1 - z / 90))))


cdef bint make_rule(int64_t n, QuadratureRule* rule_out) noexcept nogil:
    """At least n points, the same number in each pass; false when memory ran out."""
    cdef int64_t n_passes = max(1, (n + SHAP_POINTS - 1) // SHAP_POINTS)
    cdef int64_t size = n_passes * SHAP_POINTS
    cdef int64_t i
    cdef int _step
    cdef double x, value, slope, weight
    rule_out.n_passes = n_passes
    rule_out.n = <int> max(1, (n + n_passes - 1) // n_passes)
    rule_out.known = <double*> malloc(4 * size * sizeof(double))
    if rule_out.known == NULL:
        return False
    rule_out.unknown = rule_out.known + size
    rule_out.weight = rule_out.unknown + size
    rule_out.away = rule_out.weight + size
    n = n_passes * rule_out.n
    for i in range(size):
        # Places without a point are computed, too.
        rule_out.known[i] = rule_out.unknown[i] = 0.5
    for i in range((n + 1) // 2):
        x = rough_cosine(M_PI * (i + 0.75) / (n + 0.5)) if 2 * i + 1 < n else 0.0
        legendre(n, x, &value, &slope)
        # Newton's method: each step squares the error, and four are enough for any n.
        for _step in range(5):
            x -= value / slope
            legendre(n, x, &value, &slope)
        weight = 1.0 / ((1.0 - x * x) * slope * slope)
        set_point(rule_out, i, (1.0 - x) / 2.0, (1.0 + x) / 2.0, weight)
        set_point(rule_out, n - 1 - i, (1.0 + x) / 2.0, (1.0 - x) / 2.0, weight)
    return True


# ------------------------------------------------------------------------------- steps


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


# ------------------------------------------------------------------------------- tiles


# What the rows of a call have in common.
cdef struct Call:
    const Tables* tables
    InputColumns inputs
    const TreeSteps* trees
    const QuadratureRule* rules
    const Step* steps
    const Origin* origins
    const Pair* pairs
    const Line* lines
    const int64_t* leaf_start       # by tree: where its lines begin
    const Term* terms
    const int64_t* raw_feature      # columns of lines: their values follow those of nodes
    int64_t n_raw
    const int32_t* pair_slots       # two a pair
    int64_t n_slots
    int64_t n_pairs
    int64_t max_nodes
    int64_t max_depth
    bint with_pairs
    int64_t first_tree
    int64_t stop_tree
    int64_t n_rows
    int64_t n_blocks                # of a tile
    double divisor
    const int64_t* target           # by slot: where a row's value goes
    const int64_t* pair_target      # by pair: the two slots
    const double* constant          # the expected value of each score,
    const int64_t* constant_target  # and where it goes
    int64_t n_constants
    int64_t width                   # of a row of the output
    double* out


# A thread's memory, one allocation.
cdef struct RowScratch:
    double* slot_values
    double* values
    double* table
    double* P
    double* G
    int64_t* goes_near
    int64_t* hot
    double* sum             # by block, slot and row; the pairs of a block follow its slots


cdef size_t carve(const Call* call, char* memory, RowScratch* scratch_out) noexcept nogil:
    """Divide a thread's memory among its arrays, all of whole cache lines; return the bytes."""
    cdef size_t rows = call.n_blocks * SHAP_ROWS
    cdef size_t weights = 2 * (call.max_depth + 2) * SHAP_POINTS * SHAP_ROWS
    cdef size_t used = 0
    scratch_out.table = <double*> memory
    used += call.max_nodes * SHAP_CONSTANTS
    scratch_out.P = <double*> memory + used
    used += weights
    scratch_out.G = <double*> memory + used
    used += weights
    scratch_out.goes_near = <int64_t*> memory + used
    used += (call.max_depth + 1) * SHAP_ROWS
    scratch_out.hot = <int64_t*> memory + used
    used += (call.max_depth + 1) * SHAP_ROWS
    scratch_out.slot_values = <double*> memory + used
    used += rows
    scratch_out.values = <double*> memory + used
    used += rows * (call.tables.n_columns + call.n_raw)
    scratch_out.sum = <double*> memory + used
    used += rows * (call.n_slots + call.n_pairs)
    return used * sizeof(double)


cdef void explain_tree(
    const Call* call, int64_t tree, int64_t n_blocks, const RowScratch* scratch, Watch* watch
) noexcept nogil:
    """Add the contributions of a tree to the sums of a tile's rows, block by block."""
    cdef const TreeSteps* tree_steps = &call.trees[tree]
    cdef const QuadratureRule* rule = &call.rules[tree_steps.rule]
    cdef int64_t size = (call.n_slots + call.n_pairs) * SHAP_ROWS
    cdef int64_t turn, block, at
    cdef Run run
    run.steps = call.steps + tree_steps.first_step
    run.n_steps = tree_steps.n_steps
    run.pairs = call.pairs
    run.lines = call.lines + call.leaf_start[tree] if call.lines != NULL else NULL
    run.terms = call.terms
    run.table = scratch.table
    run.stride = call.n_blocks * SHAP_ROWS
    run.n = rule.n
    run.P = scratch.P
    run.G = scratch.G
    run.goes_near = scratch.goes_near
    run.hot = scratch.hot
    for turn in range(rule.n_passes if tree_steps.n_steps else 0):
        if is_stopped(watch):
            return
        at = turn * SHAP_POINTS
        shap_fill(
            call.origins + tree_steps.first_node, tree_steps.n_nodes, rule.known + at,
            rule.unknown + at, call.with_pairs, scratch.table)
        run.known = rule.known + at
        run.unknown = rule.unknown + at
        run.weight = rule.weight + at
        run.away = rule.away + at
        for block in range(n_blocks):
            run.values = scratch.values + block * SHAP_ROWS
            run.sum = scratch.sum + block * size
            run.pair_sum = run.sum + call.n_slots * SHAP_ROWS
            shap_block(&run, call.with_pairs)


cdef void settle_pairs(const Call* call, double* sum) noexcept nogil:
    """Halve the sums of the pairs of a block, and leave the rest to the features alone."""
    cdef double* pair = sum + call.n_slots * SHAP_ROWS
    cdef double* first
    cdef double* second
    cdef int64_t p
    cdef int r
    for p in range(call.n_pairs):
        first = sum + <int64_t> call.pair_slots[2 * p] * SHAP_ROWS
        second = sum + <int64_t> call.pair_slots[2 * p + 1] * SHAP_ROWS
        for r in range(SHAP_ROWS):
            pair[r] *= 0.5
            first[r] -= pair[r]
            second[r] -= pair[r]
        pair += SHAP_ROWS


cdef void write_values(
    const Call* call, const double* sum, int64_t start, int64_t n
) noexcept nogil:
    """Write the values of a block's rows; zeros are where nothing goes."""
    cdef const double* pair = sum + call.n_slots * SHAP_ROWS
    cdef double* out
    cdef double value
    cdef int64_t r, i
    for r in range(n):
        out = call.out + (start + r) * call.width
        memset(out, 0, call.width * sizeof(double))
        for i in range(call.n_constants):
            out[call.constant_target[i]] = call.constant[i]
        for i in range(call.n_slots):
            out[call.target[i]] = sum[i * SHAP_ROWS + r] / call.divisor
        for i in range(call.n_pairs):
            value = pair[i * SHAP_ROWS + r] / call.divisor
            out[call.pair_target[2 * i]] = out[call.pair_target[2 * i + 1]] = value


cdef void explain_tile(const Call* call, int64_t start, char* memory, Watch* watch) noexcept nogil:
    """Explain the rows of a tile, from ``start`` on, by all trees."""
    cdef RowScratch scratch
    cdef size_t size = (call.n_slots + call.n_pairs) * SHAP_ROWS
    cdef int64_t n_rows = min(call.n_rows - start, call.n_blocks * SHAP_ROWS)
    cdef int64_t n_blocks = (n_rows + SHAP_ROWS - 1) // SHAP_ROWS
    cdef int64_t tree, block, i
    cdef double* sum
    cdef size_t share = carve(call, memory, &scratch)
    # Rows that a last block does not have are computed, too.
    if n_rows % SHAP_ROWS != 0:
        memset(memory, 0, share)
    memset(scratch.sum, 0, n_blocks * size * sizeof(double))
    fill_values(
        call.tables, &call.inputs, start, n_rows, 1, call.n_blocks * SHAP_ROWS,
        scratch.slot_values, scratch.values)
    for i in range(call.n_raw):
        load_block(
            &call.inputs, call.raw_feature[i], NULL, start, n_rows,
            scratch.values + (call.tables.n_columns + i) * call.n_blocks * SHAP_ROWS)
    for tree in range(call.first_tree, call.stop_tree):
        explain_tree(call, tree, n_blocks, &scratch, watch)
    # The first writes to fresh memory are slow.
    for block in range(n_blocks):
        if is_stopped(watch):
            break
        sum = scratch.sum + block * size
        settle_pairs(call, sum)
        write_values(
            call, sum, start + block * SHAP_ROWS,
            min(<int64_t> SHAP_ROWS, n_rows - block * SHAP_ROWS))


cdef struct TileLoop:
    const Call* call
    char* memory              # of each thread, so many bytes
    size_t share
    Watch* watch


cdef void explain_some(void* context, Py_ssize_t start, Py_ssize_t end, int thread) noexcept nogil:
    cdef TileLoop* loop = <TileLoop*>context
    if not is_stopped(loop.watch):
        explain_tile(loop.call, start, loop.memory + loop.share * thread, loop.watch)


cdef bint explain_rows(const Call* call, int n_threads, Watch* watch) noexcept nogil:
    """Explain all rows, tile by tile; false when memory ran out."""
    cdef RowScratch scratch
    cdef size_t share = carve(call, NULL, &scratch)
    cdef char* memory = <char*> malloc(share * n_threads + CACHE_LINE)
    cdef char* aligned = memory + CACHE_LINE - <size_t> memory % CACHE_LINE
    if memory == NULL:
        return False
    cdef TileLoop loop = TileLoop(call, aligned, share, watch)
    parallel_for(explain_some, &loop, call.n_rows, call.n_blocks * SHAP_ROWS, n_threads)
    free(memory)
    return True


# --------------------------------------------------------------------------- explainer


cdef class Explainer:
    """The steps of all trees. They do not change.

    A slot is a column in the trees of one score.

    - ``predictor``: the tables of the same trees.
    - ``leaf_start``, (n_trees + 1,).
    - ``leaf_count``, (n_leaves,): rows that the leaves hold; below zero counts as zero.
    - ``leaf_value``, (n_leaves,): of a linear leaf, its value at the means of its columns.
    - ``slot``, (n_nodes,): the slot of each inner node.
    - ``with_pairs``: whether it is for interactions.
    - ``lines``: None, or a dict of arrays that tell of linear leaves. By leaf ``start``,
      (n_leaves + 1,), where its terms begin; ``constant``, the value at the means, without
      bounds; ``lower``, ``upper``; ``otherwise``, of rows that miss a column. By term
      ``coefficient``; ``mean``; ``slot``; ``column``, an index in ``feature``, the columns that
      terms have.

    ``expected``, (n_trees,), is the mean of each tree, its leaves weighted with their counts.
    ``pairs``, (n_pairs, 2), are the slots that share a path, each pair once; with
    ``with_pairs`` only.
    """

    cdef Predictor predictor
    cdef Step* steps
    cdef Origin* origins
    cdef Pair* pair_list
    cdef Line* lines
    cdef Term* terms
    cdef const int64_t[::1] leaf_start
    cdef const int64_t[::1] raw_feature
    cdef TreeSteps* trees
    cdef QuadratureRule* rules
    cdef int64_t n_rules
    cdef int64_t n_pair_list
    cdef Call call
    cdef readonly object expected
    cdef readonly object pairs

    def __cinit__(
        self, Predictor predictor, const int64_t[::1] leaf_start,
        const int64_t[::1] leaf_count, const double[::1] leaf_value, const int32_t[::1] slot,
        int64_t n_slots, bint with_pairs, lines=None,
    ):
        cdef int64_t n_trees = leaf_start.shape[0] - 1
        cdef int64_t n_nodes = slot.shape[0]
        cdef int64_t n_steps = 2 * n_nodes
        self.predictor = predictor
        self.leaf_start = leaf_start
        if lines is not None:
            n_steps += leaf_value.shape[0]
            self.read_lines(leaf_value, **lines)
        self.steps = <Step*> malloc((n_steps + 1) * sizeof(Step))
        self.origins = <Origin*> malloc((n_nodes + 1) * sizeof(Origin))
        self.trees = <TreeSteps*> malloc((n_trees + 1) * sizeof(TreeSteps))
        if self.steps == NULL or self.origins == NULL or self.trees == NULL:
            raise MemoryError
        self.call.tables = &predictor.tables
        self.call.n_slots = n_slots
        self.call.with_pairs = with_pairs
        n_distinct = self.write(leaf_start, leaf_count, leaf_value, slot)
        self.number_pairs()
        self.make_rules(n_distinct)
        self.call.steps = self.steps
        self.call.origins = self.origins
        self.call.pairs = self.pair_list
        self.call.lines = self.lines
        self.call.leaf_start = &leaf_start[0]
        self.call.terms = self.terms
        self.call.trees = self.trees
        self.call.rules = self.rules

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_rules):
            free(self.rules[i].known)
        free(self.rules)
        free(self.steps)
        free(self.origins)
        free(self.pair_list)
        free(self.lines)
        free(self.terms)
        free(self.trees)

    def read_lines(
        self, const double[::1] leaf_value, const int64_t[::1] start,
        const double[::1] constant, const double[::1] lower, const double[::1] upper,
        const double[::1] otherwise, const double[::1] coefficient, const double[::1] mean,
        const int32_t[::1] slot, const int32_t[::1] column, const int64_t[::1] feature,
    ):
        """Keep the lines of linear leaves."""
        cdef int64_t n_leaves = leaf_value.shape[0], n_terms = mean.shape[0]
        cdef int32_t first = <int32_t> self.predictor.tables.n_columns
        cdef int64_t i
        self.lines = <Line*> malloc((n_leaves + 1) * sizeof(Line))
        self.terms = <Term*> malloc((n_terms + 1) * sizeof(Term))
        if self.lines == NULL or self.terms == NULL:
            raise MemoryError
        for i in range(n_leaves):
            self.lines[i] = Line(
                start[i], start[i + 1], constant[i], leaf_value[i], lower[i], upper[i],
                otherwise[i])
        for i in range(n_terms):
            self.terms[i] = Term(
                coefficient[i], mean[i], 1.0, first + column[i], slot[i], 0, 0, 0)
        self.raw_feature = feature
        self.call.raw_feature = &feature[0]
        self.call.n_raw = feature.shape[0]

    cdef object write(
        self, const int64_t[::1] leaf_start, const int64_t[::1] leaf_count,
        const double[::1] leaf_value, const int32_t[::1] slot,
    ):
        """Write the steps; return the most features on a path of each tree."""
        cdef int64_t n_trees = leaf_start.shape[0] - 1
        cdef int64_t most_nodes = max(0, np.diff(leaf_start).max(initial=1) - 1)
        cdef double[::1] cover = np.empty(most_nodes + 1)
        cdef double[::1] node_expected = np.empty(most_nodes + 1)
        cdef int32_t[::1] last = np.full(self.call.n_slots + 1, -1, dtype=np.int32)
        cdef int64_t[::1] n_distinct = np.zeros(n_trees, dtype=np.int64)
        cdef double[::1] expected = np.empty(n_trees)
        cdef int64_t t, first_node, first_step
        cdef bint done = True
        cdef Writer w
        memset(&w, 0, sizeof(Writer))
        w.path = <PathNode*> malloc((most_nodes + 1) * sizeof(PathNode))
        if w.path == NULL:
            raise MemoryError
        w.nodes = self.predictor.nodes
        w.n_slots = self.call.n_slots
        w.with_pairs = self.call.with_pairs
        w.cover = &cover[0]
        w.last = &last[0]
        w.terms = self.terms
        with nogil:
            for t in range(n_trees):
                first_node = leaf_start[t] - t
                first_step = 2 * first_node
                w.leaf_value = &leaf_value[0] + leaf_start[t]
                if self.lines != NULL:
                    first_step += leaf_start[t]
                    w.lines = self.lines + leaf_start[t]
                w.leaf_count = &leaf_count[0] + leaf_start[t]
                w.slot = &slot[0] + first_node
                w.root = self.predictor.trees[t].root
                w.steps = self.steps + first_step
                w.origins = self.origins + first_node
                w.n_steps = w.n_nodes = 0
                w.most_distinct = 0
                self.trees[t].n_nodes = leaf_start[t + 1] - leaf_start[t] - 1
                expected[t] = expected_value(&w, self.trees[t].n_nodes, &node_expected[0])
                if self.trees[t].n_nodes > 0:
                    done = done and write_tree(&w)
                elif w.lines != NULL and w.lines[0].first_term < w.lines[0].stop_term:
                    w.is_astray = True
                n_distinct[t] = w.most_distinct
                self.trees[t].first_step = first_step
                self.trees[t].first_node = first_node
                self.trees[t].n_steps = w.n_steps
        free(w.path)
        self.pair_list = w.pairs
        self.n_pair_list = w.n_pairs
        self.call.max_nodes = most_nodes
        self.call.max_depth = w.max_depth
        self.expected = np.asarray(expected)
        if not done:
            raise MemoryError
        if w.is_astray:
            raise ValueError(
                "a linear leaf has a column that no node on its path tests, so it has no SHAP"
                " values")
        return np.asarray(n_distinct)

    cdef int number_pairs(self) except -1:
        """Number the pairs from 0."""
        cdef int64_t[::1] key = np.empty(self.n_pair_list, dtype=np.int64)
        cdef int64_t i
        for i in range(self.n_pair_list):
            key[i] = self.pair_list[i].pair
        found, index = np.unique(key, return_inverse=True)
        cdef const int64_t[::1] at = index.astype(np.int64).ravel()
        for i in range(self.n_pair_list):
            self.pair_list[i].pair = at[i]
        slots = max(1, self.call.n_slots)
        self.pairs = np.stack([found // slots, found % slots], axis=1).astype(np.int32)
        self.call.n_pairs = len(found)
        return 0

    cdef int make_rules(self, n_distinct) except -1:
        """Choose the points of each tree: n are exact for 2 n features on a path."""
        cdef int64_t i
        found, index = np.unique((n_distinct + 1) // 2, return_inverse=True)
        cdef const int64_t[::1] n_points = found
        cdef const int64_t[::1] rule = index.astype(np.int64).ravel()
        self.rules = <QuadratureRule*> malloc((len(found) + 1) * sizeof(QuadratureRule))
        if self.rules == NULL:
            raise MemoryError
        for i in range(n_points.shape[0]):
            if not make_rule(n_points[i], &self.rules[i]):
                raise MemoryError
            self.n_rules += 1
        for i in range(rule.shape[0]):
            self.trees[i].rule = rule[i]
        return 0

    def run(
        self, columns, int64_t first_tree, int64_t stop_tree, double divisor,
        const int64_t[::1] target, const int64_t[:, ::1] pair_target,
        const double[::1] constant, const int64_t[::1] constant_target, int n_threads,
        double[:, ::1] values_out,
    ):
        """Explain the sum over trees ``first_tree`` to ``stop_tree``.

        - ``columns``, Columns.
        - ``divisor``: of all values.
        - ``target``, (n_slots,): where in a row of the output the value of each slot goes.
        - ``pair_target``, (n_pairs, 2): the two slots of each pair; the slots then have what
          remains of their values.
        - ``constant``, ``constant_target``: the expected values, and where in a row they go.
        - ``values_out``, (n_rows, width): zeros are written where nothing goes.
        """
        cdef Call call = self.call
        cdef const int32_t[:, ::1] pairs = self.pairs
        cdef int64_t size, blocks, blocks_of_thread
        cdef bint done
        if values_out.size == 0:
            return
        call.inputs = read_columns(columns)
        call.first_tree = first_tree
        call.stop_tree = stop_tree
        call.n_rows = values_out.shape[0]
        call.divisor = divisor
        call.constant, call.constant_target = &constant[0], &constant_target[0]
        call.n_constants = constant.shape[0]
        if call.n_slots > 0:
            call.target = &target[0]
        if call.n_pairs > 0:
            call.pair_slots = &pairs[0, 0]
            call.pair_target = &pair_target[0, 0]
        call.width = values_out.shape[1]
        call.out = &values_out[0, 0]
        blocks = (call.n_rows + SHAP_ROWS - 1) // SHAP_ROWS
        if blocks * SHAP_ROWS * (stop_tree - first_tree) * call.max_nodes < MIN_WORK_FOR_TEAM:
            n_threads = 1
        size = call.tables.n_columns + call.n_raw + call.n_slots + call.n_pairs
        size *= SHAP_ROWS * sizeof(double)
        call.n_blocks = min(max(TILE_BYTES // size, LEAST_BLOCKS), MOST_BLOCKS)
        # A tile that is an eighth of a thread's rows delays no other thread for long.
        blocks_of_thread = blocks // (8 * n_threads) if n_threads > 1 else blocks
        call.n_blocks = max(1, min(call.n_blocks, blocks_of_thread))
        n_threads = <int> min(<int64_t> n_threads, (blocks + call.n_blocks - 1) // call.n_blocks)
        cdef Watch watch = start_watch()
        with nogil:
            done = explain_rows(&call, n_threads, &watch)
        end_watch(&watch)
        if not done:
            raise MemoryError
