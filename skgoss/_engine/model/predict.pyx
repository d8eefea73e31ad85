# cython: language_level=3
"""Rows through trees: scores and leaves of an ensemble, and of one tree on binned data.

Two engines give the same leaf. Few rows walk the nodes, eight walks at a time so that
their latencies overlap. A tile of rows is scored by masks: each value becomes its rank
among the ensemble's own thresholds (value <= threshold k exactly when rank <= k), and each
node removes the leaves of its left subtree from the rows that go right; the leftmost leaf
that remains is the row's. This is QuickScorer (Lucchese et al., SIGIR 2015) with the
byte-wise masks of RapidScorer (Ye et al., KDD 2018). Trees of more than 128 leaves are
always walked.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY, NAN, fabs, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skgoss._engine.data.columns cimport Frame, load_block, read_frame
from skgoss._engine.runtime cimport omp_get_thread_num
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch

import numpy as np

cdef extern from "predict.h" nogil:
    void ranks_u8 "skgoss_ranks_u8"(
        const double*, int64_t, const double*, uint8_t*) noexcept
    void ranks_u16 "skgoss_ranks_u16"(
        const double*, int64_t, const double*, uint16_t*) noexcept
    void masked_leaves_u8 "skgoss_masked_leaves_u8"(
        const MaskOp*, int64_t, int, const uint8_t*, uint8_t*, uint8_t*) noexcept
    void masked_leaves_u16 "skgoss_masked_leaves_u16"(
        const MaskOp*, int64_t, int, const uint16_t*, uint8_t*, uint8_t*) noexcept

cdef enum:
    LANES = 16
    FEW_ROWS = 64
    MAX_MASKED_LEAVES = 128
    MISSING_NONE = 0
    MISSING_ZERO = 1

# Row-trees below which a second thread costs more than it brings.
cdef int64_t SMALL_WORK = 50_000
# float32's 1e-35, as in LightGBM.
cdef double ZERO = 1.0000000180025095e-35
# The first integer that no int32 holds.
cdef double INT32_END = 2147483648.0

ctypedef fused rank_t:
    uint8_t
    uint16_t


# ---------------------------------------------------------------------------- values


cdef inline bint is_missing(double value, const Slot* slot) noexcept nogil:
    """Whether a value is missing; never where missing has no meaning, see `load_slot`."""
    return isnan(value) or (slot.missing == MISSING_ZERO and fabs(value) <= ZERO)


cdef inline bint is_member(double value, const Slot* slot) noexcept nogil:
    """Whether a value is a category in the slot's set; NaN never is.

    As in LightGBM, fractions are cut off (also that of -0.5), and numbers that no int32
    holds are in no set.
    """
    cdef int64_t category
    if not -1.0 < value < INT32_END:
        return False
    category = <int64_t>value
    return (
        category < 32 * slot.n_words
        and slot.words[category // 32] >> (category % 32) & 1
    )


cdef void load_slot(
    const Slot* slot, const Frame* frame, Py_ssize_t start, Py_ssize_t n, double* out
) noexcept nogil:
    """Load one slot's values; where missing has no meaning, NaN becomes zero.

    Of a set of categories: 0 for those in it, 1 for others.
    """
    cdef Py_ssize_t i
    load_block(frame, slot.feature, NULL, start, n, out)
    if slot.n_words >= 0:
        for i in range(n):
            out[i] = 0.0 if is_member(out[i], slot) else 1.0
    elif slot.missing == MISSING_NONE:
        for i in range(n):
            out[i] = 0.0 if isnan(out[i]) else out[i]


cdef void spread_values(
    const Slot* slot, const double* values, Py_ssize_t n, Py_ssize_t row_length,
    double* rows_out,
) noexcept nogil:
    """Put a slot's values in row-major rows.

    Missing values become -inf, which goes left at every threshold, or NaN, which goes
    right.
    """
    cdef Py_ssize_t i
    cdef double* out
    if slot.left_column > 0:
        out = rows_out + slot.left_column
        for i in range(n):
            out[i * row_length] = -INFINITY if is_missing(values[i], slot) else values[i]
    if slot.right_column > 0:
        out = rows_out + slot.right_column
        for i in range(n):
            out[i * row_length] = NAN if is_missing(values[i], slot) else values[i]


cdef void rank_values(
    const Slot* slot, const double* values, rank_t* ranks_out
) noexcept nogil:
    """Rank a tile's values among the slot's thresholds, one column for each side.

    A missing value has rank 0, which goes left everywhere, or the highest rank, which
    goes right.
    """
    cdef rank_t* left = ranks_out + <int64_t> slot.left_column * TILE
    cdef rank_t* right = ranks_out + <int64_t> slot.right_column * TILE
    cdef rank_t* found = left if slot.left_column > 0 else right
    cdef Py_ssize_t i
    if rank_t is uint8_t:
        ranks_u8(slot.thresholds, slot.n_thresholds, values, found)
    else:
        ranks_u16(slot.thresholds, slot.n_thresholds, values, found)
    if slot.missing == MISSING_NONE:
        return
    if slot.right_column > 0:
        for i in range(TILE):
            right[i] = <rank_t> slot.n_thresholds if is_missing(values[i], slot) else found[i]
    if slot.left_column > 0:
        for i in range(TILE):
            left[i] = 0 if is_missing(values[i], slot) else found[i]


# ----------------------------------------------------------------------------- engines


cdef inline int32_t next_node(
    const Node* nodes, int32_t at, const double* row
) noexcept nogil:
    cdef const Node* node = nodes + at
    # Not `>`: NaN goes right.
    return node.child + (not row[node.column] <= node.threshold)


cdef inline void walk(
    const Node* nodes, const double** rows, int32_t* at_inout
) noexcept nogil:
    """Walk LANES rows down to their leaves; look whether all have arrived every other step."""
    cdef int lane
    cdef int32_t moved = 1
    while moved:
        moved = 0
        for lane in range(LANES):
            at_inout[lane] = next_node(nodes, at_inout[lane], rows[lane])
        for lane in range(LANES):
            moved |= nodes[at_inout[lane]].child ^ at_inout[lane]
            at_inout[lane] = next_node(nodes, at_inout[lane], rows[lane])


cdef inline void deliver(
    const Tables* model, const Sink* sink, int64_t tree, Py_ssize_t row, int32_t leaf
) noexcept nogil:
    if sink.scores != NULL:
        sink.scores[row * model.n_scores + tree % model.n_scores] += model.leaf_value[
            model.trees[tree].first_leaf + leaf]
    else:
        sink.leaves[row * (sink.stop_tree - sink.first_tree) + tree - sink.first_tree] = leaf


cdef void deliver_tile(
    const Tables* model, const Sink* sink, int64_t tree, const uint8_t* leaf,
    Py_ssize_t start, Py_ssize_t n,
) noexcept nogil:
    """Deliver the leaves of a tile; `leaf` numbers them from left to right."""
    cdef int64_t first = model.trees[tree].first_leaf
    cdef int64_t width = sink.stop_tree - sink.first_tree
    cdef int64_t n_scores = model.n_scores
    cdef const double* value = model.ordered_value + first
    cdef const int32_t* order = model.leaf_order + first
    cdef double* score
    cdef int32_t* leaf_out
    cdef Py_ssize_t i
    if sink.scores != NULL:
        score = sink.scores + start * n_scores + tree % n_scores
        for i in range(n):
            score[i * n_scores] += value[leaf[i]]
    else:
        leaf_out = sink.leaves + start * width + tree - sink.first_tree
        for i in range(n):
            leaf_out[i * width] = order[leaf[i]]


cdef void walk_one_row(
    const Tables* model, const double* values, Py_ssize_t row, const Sink* sink
) noexcept nogil:
    """Send one row through all trees, LANES trees at a time."""
    cdef const double* rows[LANES]
    cdef int32_t at[LANES]
    cdef int64_t tree
    cdef int lane
    for lane in range(LANES):
        rows[lane] = values
    tree = sink.first_tree
    while tree < sink.stop_tree:
        for lane in range(LANES):
            at[lane] = <int32_t> model.trees[min(tree + lane, sink.stop_tree - 1)].root
        walk(model.nodes, rows, at)
        for lane in range(<int> min(<int64_t> LANES, sink.stop_tree - tree)):
            deliver(model, sink, tree + lane, row, <int32_t> model.nodes[at[lane]].threshold)
        tree += LANES


cdef void walk_one_tree(
    const Tables* model, int64_t tree, const double* values, Py_ssize_t start, Py_ssize_t n,
    const Sink* sink,
) noexcept nogil:
    """Send a tile of rows through one tree, LANES rows at a time."""
    cdef const double* rows[LANES]
    cdef int32_t at[LANES]
    cdef Py_ssize_t width = model.n_columns
    cdef Py_ssize_t i
    cdef int lane
    for i from 0 <= i < n by LANES:
        for lane in range(LANES):
            rows[lane] = values + min(i + lane, n - 1) * width
            at[lane] = <int32_t> model.trees[tree].root
        walk(model.nodes, rows, at)
        for lane in range(<int> min(<Py_ssize_t> LANES, n - i)):
            deliver(
                model, sink, tree, start + i + lane,
                <int32_t> model.nodes[at[lane]].threshold)


cdef void mask_one_tree(
    const Tables* model, int64_t tree, const rank_t* ranks, Py_ssize_t start, Py_ssize_t n,
    uint8_t* planes, const Sink* sink,
) noexcept nogil:
    """Send a tile of rows through one tree by masks."""
    cdef const TreeTables* tables = &model.trees[tree]
    cdef uint8_t* leaf = planes + tables.n_planes * TILE
    if rank_t is uint8_t:
        masked_leaves_u8(
            model.ops + tables.first_op, tables.n_ops, tables.n_planes, ranks, planes, leaf)
    else:
        masked_leaves_u16(
            model.ops + tables.first_op, tables.n_ops, tables.n_planes, ranks, planes, leaf)
    deliver_tile(model, sink, tree, leaf, start, n)


# ------------------------------------------------------------------------------- tiles


# A thread's memory, one allocation; arrays that no engine reads have no room in it.
cdef struct Scratch:
    double* values
    double* rows
    uint8_t* planes
    void* ranks


cdef size_t carve(
    const Tables* model, Py_ssize_t tile, bint walked, bint masked, char* memory,
    Scratch* scratch_out,
) noexcept nogil:
    """Divide a thread's memory among its arrays; return the number of bytes."""
    cdef size_t used = 0
    cdef size_t cells = tile * model.n_columns
    scratch_out.values = <double*> memory
    used += tile * sizeof(double)
    scratch_out.rows = <double*> (memory + used)
    used += cells * sizeof(double) * walked
    scratch_out.planes = <uint8_t*> (memory + used)
    used += (MAX_MASKED_LEAVES // 8 + 1) * tile * masked
    scratch_out.ranks = memory + used
    used += cells * (2 if model.wide_ranks else 1) * masked
    return (used + 63) // 64 * 64


cdef void fill_rows(
    const Tables* model, const Frame* frame, Py_ssize_t start, Py_ssize_t n,
    const Scratch* scratch,
) noexcept nogil:
    cdef Py_ssize_t width = model.n_columns
    cdef Py_ssize_t i, s
    for i in range(n):
        scratch.rows[i * width] = -INFINITY
    for s in range(model.n_slots):
        load_slot(&model.slots[s], frame, start, n, scratch.values)
        spread_values(&model.slots[s], scratch.values, n, width, scratch.rows)


cdef void fill_ranks(
    const Tables* model, const Frame* frame, Py_ssize_t start, Py_ssize_t n,
    double* values, rank_t* ranks_out,
) noexcept nogil:
    cdef Py_ssize_t s
    memset(values, 0, TILE * sizeof(double))
    for s in range(model.n_slots):
        load_slot(&model.slots[s], frame, start, n, values)
        rank_values(&model.slots[s], values, ranks_out)


cdef void score_tile(
    const Tables* model, const Frame* frame, Py_ssize_t start, Py_ssize_t n,
    const Scratch* scratch, rank_t* ranks, const Sink* sink,
) noexcept nogil:
    cdef int64_t tree
    if model.any_walked:
        fill_rows(model, frame, start, n, scratch)
    if model.any_masked:
        fill_ranks(model, frame, start, n, scratch.values, ranks)
    for tree in range(sink.first_tree, sink.stop_tree):
        if model.trees[tree].n_planes > 0:
            mask_one_tree(model, tree, ranks, start, n, scratch.planes, sink)
        else:
            walk_one_tree(model, tree, scratch.rows, start, n, sink)


cdef bint score_few_rows(
    const Tables* model, const Frame* frame, Py_ssize_t n, const Sink* sink
) noexcept nogil:
    """Score some rows without tiles; false when memory ran out."""
    cdef Scratch scratch
    cdef char* memory = <char*> malloc(carve(model, n, True, False, NULL, &scratch))
    cdef Py_ssize_t row
    if memory == NULL:
        return False
    carve(model, n, True, False, memory, &scratch)
    fill_rows(model, frame, 0, n, &scratch)
    for row in range(n):
        walk_one_row(model, scratch.rows + row * model.n_columns, row, sink)
    free(memory)
    return True


cdef bint score_many_rows(
    const Tables* model, const Frame* frame, Py_ssize_t n, int n_threads, const Sink* sink,
    Watch* watch,
) noexcept nogil:
    """Score all rows, tile by tile; false when memory ran out."""
    cdef Scratch scratch
    cdef Py_ssize_t n_tiles = (n + TILE - 1) // TILE
    cdef Py_ssize_t tile
    cdef size_t share = carve(
        model, TILE, model.any_walked, model.any_masked, NULL, &scratch)
    cdef char* memory = <char*> malloc(share * n_threads)
    if memory == NULL:
        return False
    for tile in prange(
        n_tiles, schedule="dynamic", num_threads=n_threads, use_threads_if=n_threads > 1
    ):
        if not is_stopped(watch):
            run_tile(
                model, frame, tile * TILE, min(<Py_ssize_t> TILE, n - tile * TILE),
                memory + share * omp_get_thread_num(), sink)
    free(memory)
    return True


cdef void run_tile(
    const Tables* model, const Frame* frame, Py_ssize_t start, Py_ssize_t n, char* memory,
    const Sink* sink,
) noexcept nogil:
    cdef Scratch scratch
    carve(model, TILE, model.any_walked, model.any_masked, memory, &scratch)
    if model.wide_ranks:
        score_tile(model, frame, start, n, &scratch, <uint16_t*> scratch.ranks, sink)
    else:
        score_tile(model, frame, start, n, &scratch, <uint8_t*> scratch.ranks, sink)


# ------------------------------------------------------------------------------ tables


cdef void plant(
    const int32_t* left, const int32_t* right, const double* threshold,
    const int32_t* column, int32_t n_leaves, int64_t root, int32_t* place_out,
    Node* nodes_out,
) noexcept nogil:
    """Lay out a tree's nodes: the children of node i stand at root + 2i + 1 and + 2i + 2."""
    cdef int32_t i, child, side, place
    if n_leaves == 1:
        nodes_out[root] = Node(0.0, 0, <int32_t> root)
    else:
        place_out[0] = <int32_t> root
    for i in range(n_leaves - 1):
        nodes_out[place_out[i]] = Node(threshold[i], column[i], <int32_t> root + 2 * i + 1)
        for side in range(2):
            child = right[i] if side else left[i]
            place = <int32_t> root + 2 * i + 1 + side
            if child < 0:
                nodes_out[place] = Node(<double> ~child, 0, place)
            else:
                place_out[child] = place


cdef int32_t span(
    const int32_t* left, const int32_t* right, int32_t n_leaves,
    int32_t* first_out, int32_t* size_out, int32_t* order_out,
) noexcept nogil:
    """Find which leaves, counted from left to right, lie under each node's left child.

    Returns how many planes of eight leaves these spans touch, all nodes together.
    """
    cdef int32_t i, child, start, size
    cdef int32_t touched = 0
    for i in range(n_leaves - 2, -1, -1):
        # All leaves below node i, until the second loop comes to it.
        size_out[i] = (size_out[left[i]] if left[i] >= 0 else 1) + (
            size_out[right[i]] if right[i] >= 0 else 1)
    if n_leaves == 1:
        order_out[0] = 0
    else:
        first_out[0] = 0
    for i in range(n_leaves - 1):
        start = first_out[i]
        size = size_out[left[i]] if left[i] >= 0 else 1
        child = left[i]
        if child >= 0:
            first_out[child] = start
        else:
            order_out[start] = ~child
        child = right[i]
        if child >= 0:
            first_out[child] = start + size
        else:
            order_out[start + size] = ~child
        size_out[i] = size
        touched += (start + size - 1) // 8 - start // 8 + 1
    return touched


cdef int64_t write_masks(
    const int32_t* first, const int32_t* size, const int32_t* column, const int32_t* rank,
    int32_t n_nodes, MaskOp* ops_out,
) noexcept nogil:
    """Write the operations of one tree; return their number."""
    cdef int64_t n_ops = 0
    cdef int32_t i, plane, begin, end
    for i in range(n_nodes):
        for plane in range(first[i] // 8, (first[i] + size[i] - 1) // 8 + 1):
            begin = max(first[i] - 8 * plane, 0)
            end = min(first[i] + size[i] - 8 * plane, 8)
            ops_out[n_ops] = MaskOp(
                column[i], <uint16_t> rank[i], <uint8_t> plane,
                <uint8_t> (0xFF ^ ((1 << end) - (1 << begin))))
            n_ops += 1
    return n_ops


cdef class Predictor:
    """The tables that prediction reads. They do not change.

    The children and leaves must make trees; this is not checked here.

    Parameters
    ----------
    left, right : (n_nodes,) int32
        Children of the inner nodes, numbered within their tree; a leaf is ``~leaf``.
    threshold : (n_nodes,) float64
        A value goes left when it is at most the threshold.
    column : (n_nodes,) int32
        One of the two columns of the node's slot.
    rank : (n_nodes,) int32
        The rank of the threshold among those of its slot.
    leaf_start : (n_trees + 1,) int64
        First leaf of each tree.
    leaf_value : (n_leaves,) float64
    slot_feature : (n_slots,) int32
        Input column of each slot: one column under one meaning of "missing".
    slot_missing : (n_slots,) uint8
        0: NaN counts as zero; 1: zeros and NaN are missing; 2: NaN is missing.
    slot_column : (n_slots, 2) int32
        The column with missing values on the left, and that with them on the right, both
        from 1 on; 0 where there is none.
    slot_start : (n_slots + 1,) int64
        First threshold of each slot.
    slot_threshold : (n_thresholds,) float64
        The thresholds of each slot, ascending and distinct.
    slot_set : (n_slots,) int64
        The number of each slot's set of categories; -1: its values are numbers.
    set_start : (n_sets + 1,) int64
        Where the words of each set begin.
    set_words : (n_words,) uint32
    n_scores : int
        Trees per round.
    """

    cdef Tables tables
    cdef Node* nodes
    cdef TreeTables* trees
    cdef Slot* slots
    cdef MaskOp* ops
    cdef int32_t* leaf_order
    cdef double* ordered_value
    cdef const double[::1] leaf_value
    cdef const double[::1] slot_threshold
    cdef const uint32_t[::1] set_words

    def __cinit__(
        self,
        const int32_t[::1] left,
        const int32_t[::1] right,
        const double[::1] threshold,
        const int32_t[::1] column,
        const int32_t[::1] rank,
        const int64_t[::1] leaf_start,
        const double[::1] leaf_value,
        const int32_t[::1] slot_feature,
        const uint8_t[::1] slot_missing,
        const int32_t[:, ::1] slot_column,
        const int64_t[::1] slot_start,
        const double[::1] slot_threshold,
        const int64_t[::1] slot_set,
        const int64_t[::1] set_start,
        const uint32_t[::1] set_words,
        int n_scores,
    ):
        cdef int64_t n_trees = leaf_start.shape[0] - 1
        cdef int64_t n_leaves = leaf_value.shape[0]
        self.leaf_value = leaf_value
        self.slot_threshold = slot_threshold
        self.set_words = set_words
        self.nodes = <Node*> malloc((2 * n_leaves - n_trees + 1) * sizeof(Node))
        self.trees = <TreeTables*> malloc((n_trees + 1) * sizeof(TreeTables))
        self.slots = <Slot*> malloc((slot_feature.shape[0] + 1) * sizeof(Slot))
        self.leaf_order = <int32_t*> malloc((n_leaves + 1) * sizeof(int32_t))
        self.ordered_value = <double*> malloc((n_leaves + 1) * sizeof(double))
        if (
            self.nodes == NULL or self.trees == NULL or self.slots == NULL
            or self.leaf_order == NULL or self.ordered_value == NULL
        ):
            raise MemoryError
        self.tables.n_scores = n_scores
        self.tables.n_slots = slot_feature.shape[0]
        self.fill_slots(
            slot_feature, slot_missing, slot_column, slot_start, slot_set, set_start)
        self.fill_trees(left, right, threshold, column, rank, leaf_start)
        self.tables.nodes = self.nodes
        self.tables.trees = self.trees
        self.tables.slots = self.slots
        self.tables.ops = self.ops
        self.tables.leaf_order = self.leaf_order
        self.tables.ordered_value = self.ordered_value
        self.tables.leaf_value = &leaf_value[0] if n_leaves else NULL

    def __dealloc__(self):
        free(self.nodes)
        free(self.trees)
        free(self.slots)
        free(self.ops)
        free(self.leaf_order)
        free(self.ordered_value)

    cdef void fill_slots(
        self,
        const int32_t[::1] feature,
        const uint8_t[::1] missing,
        const int32_t[:, ::1] column,
        const int64_t[::1] start,
        const int64_t[::1] set_of,
        const int64_t[::1] set_start,
    ) noexcept:
        cdef Py_ssize_t s
        self.tables.n_columns = 1
        for s in range(feature.shape[0]):
            self.slots[s].feature = feature[s]
            self.slots[s].left_column = column[s, 0]
            self.slots[s].right_column = column[s, 1]
            self.tables.n_columns = max(
                self.tables.n_columns, column[s, 0] + 1, column[s, 1] + 1)
            self.slots[s].missing = missing[s]
            self.slots[s].words = NULL
            self.slots[s].n_words = -1
            if set_of[s] >= 0:
                self.slots[s].n_words = set_start[set_of[s] + 1] - set_start[set_of[s]]
                if self.slots[s].n_words > 0:
                    self.slots[s].words = &self.set_words[set_start[set_of[s]]]
            self.slots[s].thresholds = &self.slot_threshold[start[s]]
            self.slots[s].n_thresholds = start[s + 1] - start[s]
            self.tables.wide_ranks |= self.slots[s].n_thresholds > 0xFF
            self.tables.huge_ranks |= self.slots[s].n_thresholds > 0xFFFF

    cdef int fill_trees(
        self,
        const int32_t[::1] left,
        const int32_t[::1] right,
        const double[::1] threshold,
        const int32_t[::1] column,
        const int32_t[::1] rank,
        const int64_t[::1] leaf_start,
    ) except -1:
        """Fill the tables tree by tree; the masks last, when their number is known."""
        cdef Py_ssize_t n_trees = leaf_start.shape[0] - 1
        cdef int32_t[::1] first = np.empty(left.shape[0] + 1, dtype=np.int32)
        cdef int32_t[::1] size = np.empty(left.shape[0] + 1, dtype=np.int32)
        cdef int64_t node, n_ops = 0
        cdef int32_t n_leaves
        cdef Py_ssize_t t, i
        cdef TreeTables* tree
        for t in range(n_trees):
            tree = &self.trees[t]
            node = leaf_start[t] - t
            n_leaves = <int32_t> (leaf_start[t + 1] - leaf_start[t])
            tree.root = 2 * leaf_start[t] - t
            tree.first_leaf = leaf_start[t]
            tree.first_op = n_ops
            tree.n_ops = 0
            tree.n_planes = 0
            plant(
                &left[0] + node, &right[0] + node, &threshold[0] + node, &column[0] + node,
                n_leaves, tree.root, &first[node], self.nodes)
            if n_leaves > MAX_MASKED_LEAVES or self.tables.huge_ranks:
                self.tables.any_walked = True
                continue
            self.tables.any_masked = True
            tree.n_planes = (n_leaves + 7) // 8
            tree.n_ops = span(
                &left[0] + node, &right[0] + node, n_leaves, &first[node], &size[node],
                self.leaf_order + leaf_start[t])
            for i in range(leaf_start[t], leaf_start[t + 1]):
                self.ordered_value[i] = self.leaf_value[leaf_start[t] + self.leaf_order[i]]
            n_ops += tree.n_ops
        self.ops = <MaskOp*> malloc((n_ops + 1) * sizeof(MaskOp))
        if self.ops == NULL:
            raise MemoryError
        for t in range(n_trees):
            tree = &self.trees[t]
            if tree.n_planes > 0:
                node = leaf_start[t] - t
                write_masks(
                    &first[node], &size[node], &column[0] + node, &rank[0] + node,
                    <int32_t> (leaf_start[t + 1] - leaf_start[t]) - 1,
                    self.ops + tree.first_op)
        return 0

    def scores(
        self,
        columns,
        int64_t first_tree,
        int64_t stop_tree,
        int n_threads,
        double[:, ::1] scores_out,
    ):
        """Add the leaf values of trees ``first_tree`` to ``stop_tree`` to the scores."""
        if scores_out.size == 0 or first_tree >= stop_tree:
            return
        self.run(
            read_frame(columns), scores_out.shape[0], n_threads,
            Sink(&scores_out[0, 0], NULL, first_tree, stop_tree))

    def leaves(
        self,
        columns,
        int64_t first_tree,
        int64_t stop_tree,
        int n_threads,
        int32_t[:, ::1] leaves_out,
    ):
        """Write the number of the leaf that each row reaches in each tree."""
        if leaves_out.size == 0:
            return
        self.run(
            read_frame(columns), leaves_out.shape[0], n_threads,
            Sink(NULL, &leaves_out[0, 0], first_tree, stop_tree))

    cdef int run(self, Frame frame, Py_ssize_t n, int n_threads, Sink sink) except -1:
        cdef bint done
        cdef Watch watch = start_watch()
        if n * (sink.stop_tree - sink.first_tree) < SMALL_WORK:
            n_threads = 1
        n_threads = <int> max(1, min(<Py_ssize_t> n_threads, (n + TILE - 1) // TILE))
        with nogil:
            if n <= FEW_ROWS:
                done = score_few_rows(&self.tables, &frame, n, &sink)
            else:
                done = score_many_rows(&self.tables, &frame, n, n_threads, &sink, &watch)
        end_watch(&watch)
        if not done:
            raise MemoryError
        return 0
