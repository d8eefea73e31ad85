"""Prediction: the scores and the leaves of rows.

Tile by tile, each value is replaced by its rank among the thresholds of its column in the ensemble
(value <= threshold k exactly if rank <= k), and each category by a byte with the tests of eight
sets. Then `leaves` finds the leaves, which only needs tests of bytes. `few_rows` finds the same
leaves for few rows.
"""

from libc.math cimport INFINITY, NAN, fabs, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from skgoss._engine.bits cimport lowest_bit
from skgoss._engine.columns.column_kernels cimport InputColumns, load_block, read_columns
from skgoss._engine.model.leaves cimport (
    LEAF_TILE, Routes, Test, add_route, add_values, free_routes, write_leaves)
from skgoss._engine.objectives.link_kernels cimport Finish, RowLink, finish_rows, scores_of
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for

import numpy as np

cdef extern from "predict.h" nogil:
    enum:
        RANKS_PER_BYTE
    void rank_values(
        const double* threshold, int64_t n, const double* value, int64_t* rank_out)
    void find_missing(
        int missing, double zero, double* value_inout, uint8_t* missing_out,
        uint8_t* any_out)
    void ranks_to_bytes(
        const int64_t* rank, int64_t first, const uint8_t* missing, uint8_t filled,
        uint8_t* byte_out)
    void words_to_bytes(
        const uint64_t* word, int shift, uint8_t* byte_out)

cdef enum:
    # The number of columns of bytes of a table of sets.
    BYTES_PER_WORD = 8
    # The bytes of a block: tiles that pass through a tree one after the other.
    BLOCK_BYTES = 1 << 16

# Below this number of rows times trees, starting threads costs more than it saves.
cdef int64_t MIN_WORK_FOR_TEAM = 50_000


# ---------------------------------------------------------------------------- values


cdef inline bint is_missing(double value, const Slot* slot) noexcept nogil:
    """Whether a value is missing; `load_slot` has replaced NaN if no value can be missing."""
    return isnan(value) or (slot.missing == MISSING_ZERO and fabs(value) <= ZERO)


cdef inline bint is_member(double value, const Slot* slot) noexcept nogil:
    """Whether a value is a category in the slot's set, a set of bits in words; NaN is in no set."""
    cdef int64_t category = category_of(value)
    return (
        category < 32 * slot.n_words
        and slot.words[category // 32] >> (category % 32) & 1
    )


cdef void load_slot(
    const Slot* slot, const InputColumns* inputs, Py_ssize_t start, Py_ssize_t n, double* out
) noexcept nogil:
    """Load the values of a slot in n rows from ``start`` on.

    NaN becomes 0 if no value can be missing. With a set of categories, values become 0 if they are
    in the set, else 1, so that nodes compare them with a threshold between these.
    """
    cdef Py_ssize_t i
    load_block(inputs, slot.feature, NULL, start, n, out)
    if slot.n_words >= 0:
        for i in range(n):
            out[i] = 0.0 if is_member(out[i], slot) else 1.0
    elif slot.missing == MISSING_NONE:
        for i in range(n):
            out[i] = 0.0 if isnan(out[i]) else out[i]


cdef void spread_values(
    const Slot* slot, const double* values, Py_ssize_t n, Py_ssize_t row_step,
    Py_ssize_t column_step, double* values_out,
) noexcept nogil:
    """Write a slot's n values into its columns of a matrix.

    Missing values become -inf, which goes left at every threshold, or NaN, which goes right.
    ``row_step``, ``column_step``: the doubles from a row, or a column, to the next.
    """
    cdef Py_ssize_t i
    cdef double* out
    if slot.left_column > 0:
        out = values_out + slot.left_column * column_step
        for i in range(n):
            out[i * row_step] = -INFINITY if is_missing(values[i], slot) else values[i]
    if slot.right_column > 0:
        out = values_out + slot.right_column * column_step
        for i in range(n):
            out[i * row_step] = NAN if is_missing(values[i], slot) else values[i]


cdef void fill_values(
    const Tables* model, const InputColumns* inputs, Py_ssize_t start, Py_ssize_t n,
    Py_ssize_t row_step, Py_ssize_t column_step, double* slot_values, double* values_out,
) noexcept nogil:
    """Write the values of n rows from ``start`` on into the columns that nodes test.

    Column 0 is -infinity, for leaves. ``slot_values``: work space for n values. ``row_step``,
    ``column_step``: see `spread_values`.
    """
    cdef Py_ssize_t i, s
    for i in range(n):
        values_out[i * row_step] = -INFINITY
    for s in range(model.n_slots):
        load_slot(&model.slots[s], inputs, start, n, slot_values)
        spread_values(&model.slots[s], slot_values, n, row_step, column_step, values_out)


# ------------------------------------------------------------------------------ ranks


cdef void rank_slot(
    const Slot* slot, const InputColumns* inputs, Py_ssize_t start, Py_ssize_t n, double* values,
    uint8_t* bytes_out,
) noexcept nogil:
    """Write the ranks of a tile's values among the slot's thresholds, as bytes.

    In the left columns, missing values have rank 0, which goes left everywhere; in the right ones,
    they have the highest rank, which goes right. A column of bytes has the ranks among
    RANKS_PER_BYTE thresholds; further thresholds have further columns.

    - ``start``, ``n``: the tile's first row, and its number of rows, at most LEAF_TILE.
    - ``values``: work space of LEAF_TILE doubles, all of which must be initialized.
    - ``bytes_out``: the columns of bytes of the tile, LEAF_TILE bytes each.
    """
    cdef int64_t rank[LEAF_TILE]
    cdef uint8_t missing[LEAF_TILE]
    cdef uint8_t any_missing
    cdef uint8_t* left = bytes_out + max(slot.left_byte_column, 0) * LEAF_TILE
    cdef uint8_t* right = bytes_out + max(slot.right_byte_column, 0) * LEAF_TILE
    cdef int64_t first = 0
    load_block(inputs, slot.feature, NULL, start, n, values)
    find_missing(slot.missing, ZERO, values, missing, &any_missing)
    rank_values(slot.thresholds, slot.n_thresholds, values, rank)
    while first < slot.n_thresholds:
        if slot.left_byte_column >= 0:
            ranks_to_bytes(rank, first, missing, 0, left)
        if slot.right_byte_column >= 0 and slot.left_byte_column >= 0 and not any_missing:
            memcpy(right, left, LEAF_TILE)
        elif slot.right_byte_column >= 0:
            ranks_to_bytes(rank, first, missing, 0xFF, right)
        first += RANKS_PER_BYTE
        left += LEAF_TILE
        right += LEAF_TILE


cdef void look_up_sets(
    const SetBytes* sets, const int32_t* category, uint8_t* bytes_out
) noexcept nogil:
    """Write, for each row, the bits of the sets of a table that do not have its category.

    ``category``, (LEAF_TILE,): of each row. The bits of a 64-bit word become eight columns of
    bytes.
    """
    cdef uint64_t outside[LEAF_TILE]
    cdef int i
    for i in range(LEAF_TILE):
        outside[i] = sets.outside[min(category[i], sets.n_categories)]
    for i in range(BYTES_PER_WORD):
        words_to_bytes(outside, 8 * i, bytes_out + (sets.column + i) * LEAF_TILE)


cdef void rank_tile(
    const Tables* model, const InputColumns* inputs, Py_ssize_t start, Py_ssize_t n,
    uint8_t* bytes_out,
) noexcept nogil:
    """Write the bytes of a tile's n rows from ``start`` on, LEAF_TILE bytes for each column.

    Rows after the n-th also get bytes, which are not used.
    """
    cdef double values[LEAF_TILE]
    cdef int32_t category[LEAF_TILE]
    cdef int64_t feature = -1
    cdef Py_ssize_t s, i
    memset(values, 0, sizeof(values))
    for s in range(model.n_slots):
        if model.slots[s].n_words < 0:
            rank_slot(&model.slots[s], inputs, start, n, values, bytes_out)
    for s in range(model.n_set_bytes):
        if model.set_bytes[s].feature != feature:
            feature = model.set_bytes[s].feature
            load_block(inputs, feature, NULL, start, n, values)
            for i in range(LEAF_TILE):
                category[i] = category_of(values[i])
        look_up_sets(&model.set_bytes[s], category, bytes_out)


# ------------------------------------------------------------------------------ tiles


# The tiles that pass through each tree one after the other, while it is in the cache.
cdef struct RowBlock:
    uint8_t* bytes            # (tiles, columns, LEAF_TILE)
    const uint8_t** columns   # work space for the addresses of the columns
    double* scores            # of the first row
    Py_ssize_t start          # the first row
    Py_ssize_t stop


cdef void score_block(
    const Tables* model, const Routes* routes, const RowBlock* block, const Sink* sink,
) noexcept nogil:
    """Add leaf values to the scores, or write the leaves, of the tiles of a block, tree by tree.

    Tree t belongs to score t % n_scores. The sink has the trees, and the array of leaves.
    """
    cdef int64_t width = sink.stop_tree - sink.first_tree
    cdef Py_ssize_t n_tiles = (block.stop - block.start + LEAF_TILE - 1) // LEAF_TILE
    cdef int64_t tree, j
    cdef Py_ssize_t t, row
    cdef int n
    for j in range(n_tiles * model.n_byte_columns):
        block.columns[j] = block.bytes + j * LEAF_TILE
    for tree in range(sink.first_tree, sink.stop_tree):
        for t in range(n_tiles):
            row = block.start + t * LEAF_TILE
            n = <int> min(<Py_ssize_t> LEAF_TILE, block.stop - row)
            if block.scores != NULL:
                add_values(
                    routes, tree, block.columns + t * model.n_byte_columns, n, model.n_scores,
                    block.scores + t * LEAF_TILE * model.n_scores + tree % model.n_scores)
            else:
                write_leaves(
                    routes, tree, block.columns + t * model.n_byte_columns, n, width,
                    sink.leaves + row * width + tree - sink.first_tree)


cdef void run_block(
    const Tables* model, const Routes* routes, const InputColumns* inputs, const RowBlock* block,
    const Sink* sink,
) noexcept nogil:
    """Rank the values of a block's rows, unless they are ranked already, and score them."""
    cdef Py_ssize_t row
    if inputs != NULL:
        for row from block.start <= row < block.stop by LEAF_TILE:
            rank_tile(
                model, inputs, row, min(<Py_ssize_t> LEAF_TILE, block.stop - row),
                block.bytes + (row - block.start) * model.n_byte_columns)
    score_block(model, routes, block, sink)


cdef Py_ssize_t cut_blocks(
    Py_ssize_t n, Py_ssize_t max_tiles, int n_threads, Py_ssize_t* start_out,
) noexcept nogil:
    """Cut n rows into blocks of whole tiles, and write the first row of each, and n.

    Blocks get shorter, so that threads end at about the same time. A block has at most
    ``max_tiles`` tiles. Returns the number of blocks; ``start_out`` may be NULL, to count them.
    """
    cdef Py_ssize_t n_parts = 2 * n_threads if n_threads > 1 else 1
    cdef Py_ssize_t start = 0, n_blocks = 0
    while start < n:
        if start_out != NULL:
            start_out[n_blocks] = start
        start += LEAF_TILE * max(1, min(max_tiles, (n - start) // (n_parts * LEAF_TILE)))
        n_blocks += 1
    if start_out != NULL:
        start_out[n_blocks] = n
    return n_blocks


cdef struct BlockLoop:
    const Tables* model
    const Routes* routes
    const InputColumns* inputs  # NULL: the bytes are there already
    uint8_t* all_bytes        # of all rows; NULL: those of a block are in `memory`
    const Py_ssize_t* start   # the first row of each block, and n
    char* memory              # for each thread, `thread_bytes` bytes
    size_t thread_bytes
    size_t block_bytes        # of them, the ranked bytes of a block
    const Sink* sink
    const Finish* finish
    Watch* watch


cdef void score_body(void* context, Py_ssize_t number, Py_ssize_t end, int thread) noexcept nogil:
    """Score the rows of block ``number``; with ``finish``, turn their scores into predictions.

    The memory of the thread has the ranked bytes of the rows, and the addresses of their columns.
    After the scoring, it is the work space of `finish_rows`. With ``finish``, the rows have
    ``finish.width`` numbers each in the sink's scores. The raw scores are at the end of this space,
    and the predictions replace them.

    ``end``: not used, as a task is a single block: see `LoopBody`.
    """
    cdef BlockLoop* loop = <BlockLoop*>context
    cdef char* memory = loop.memory + loop.thread_bytes * thread
    cdef Py_ssize_t start = loop.start[number]
    cdef Py_ssize_t n = loop.start[number + 1] - start
    cdef double* out = NULL
    cdef RowBlock block = RowBlock(
        <uint8_t*> memory, <const uint8_t**> (memory + loop.block_bytes), NULL, start, start + n)
    if is_stopped(loop.watch):
        return
    if loop.all_bytes != NULL:
        block.bytes = loop.all_bytes + start * loop.model.n_byte_columns
    if loop.finish != NULL:
        out = loop.sink.scores + start * loop.finish.width
        block.scores = scores_of(loop.finish, n, out)
        memset(block.scores, 0, n * loop.model.n_scores * sizeof(double))
    elif loop.sink.scores != NULL:
        block.scores = loop.sink.scores + start * loop.model.n_scores
    run_block(loop.model, loop.routes, loop.inputs, &block, loop.sink)
    if loop.finish != NULL:
        finish_rows(loop.finish, n, out, <double*> memory)


cdef bint score_many_rows(
    const Tables* model, const Routes* routes, const InputColumns* inputs, uint8_t* all_bytes,
    Py_ssize_t n, int n_threads, const Sink* sink, const Finish* finish, Watch* watch,
) noexcept nogil:
    """Score all rows, block by block; false if there is not enough memory.

    `all_bytes` has the bytes of all rows, which are written if `inputs` is not NULL. If it is NULL,
    the bytes of each block are temporary. With `finish`, the scores of the sink are overwritten by
    predictions, for which it must have space.
    """
    cdef Py_ssize_t max_tiles = BLOCK_BYTES // (LEAF_TILE * max(model.n_byte_columns, 1))
    cdef Py_ssize_t n_blocks = cut_blocks(n, max_tiles, n_threads, NULL)
    cdef Py_ssize_t* start = <Py_ssize_t*> malloc((n_blocks + 1) * sizeof(Py_ssize_t))
    cdef BlockLoop loop = BlockLoop(
        model, routes, inputs, all_bytes, start, NULL, 0, 0, sink, finish, watch)
    cdef size_t n_columns
    if start == NULL:
        return False
    cut_blocks(n, max_tiles, n_threads, start)
    # The first block is the largest.
    n_columns = (start[1] + LEAF_TILE - 1) // LEAF_TILE * model.n_byte_columns
    loop.block_bytes = LEAF_TILE * n_columns
    if finish != NULL:
        loop.block_bytes = max(loop.block_bytes, finish.n_work * sizeof(double))
    loop.thread_bytes = loop.block_bytes + (n_columns // 8 + 1) * 8 * sizeof(void*)
    loop.memory = <char*> malloc(loop.thread_bytes * n_threads)
    if loop.memory != NULL:
        parallel_for(score_body, &loop, n_blocks, 1, n_threads)
    free(loop.memory)
    free(start)
    return loop.memory != NULL


# ------------------------------------------------------------------------------ tables


cdef void flatten_tree(
    const int32_t* left, const int32_t* right, const double* threshold,
    const int32_t* column, int32_t n_leaves, int64_t root, int32_t* index_out,
    TestNode* nodes_out,
) noexcept nogil:
    """Write a tree's nodes into an array, in which the children of a node are neighbors.

    The children of node i are at root + 2i + 1 and root + 2i + 2. A leaf is its own child.

    - ``left``, ``right``, ``threshold``, ``column``, (n_leaves - 1,): the inner nodes, parents
      before children; a child that is a leaf is ``~leaf``.
    - ``root``: where the tree begins in ``nodes_out``.
    - ``index_out``, (n_leaves - 1,): work space: where each inner node lies.
    """
    cdef int32_t i, child, side, index
    if n_leaves == 1:
        nodes_out[root] = TestNode(0.0, 0, <int32_t> root)
    else:
        index_out[0] = <int32_t> root
    for i in range(n_leaves - 1):
        nodes_out[index_out[i]] = TestNode(threshold[i], column[i], <int32_t> root + 2 * i + 1)
        for side in range(2):
            child = right[i] if side else left[i]
            index = <int32_t> root + 2 * i + 1 + side
            if child < 0:
                nodes_out[index] = TestNode(<double> ~child, 0, index)
            else:
                index_out[child] = index


cdef class Predictor:
    """The tables for prediction, which do not change.

    The trees must be valid; this is not checked. A slot is an input column with one meaning of
    "missing", or a set of its categories.

    - ``left``, ``right``, (n_nodes,): children of the inner nodes, numbered within their tree; a
      leaf is ``~leaf``.
    - ``threshold``, (n_nodes,): values up to the threshold go left.
    - ``column``, (n_nodes,): one of the two columns of the node's slot.
    - ``byte_column``, (n_nodes,): the column of bytes that the node tests.
    - ``bits``, ``limit``, (n_nodes,): a byte goes left if its ``bits`` are at most the limit.
    - ``leaf_start``, (n_trees + 1,): the first leaf of each tree, and n_leaves.
    - ``leaf_value``, (n_leaves,).
    - ``slot_feature``, (n_slots,): the input column of each slot.
    - ``slot_missing``, (n_slots,): 0: NaN counts as zero; 1: zeros and NaN are missing; 2: NaN is
      missing.
    - ``slot_column``, (n_slots, 2): the number, >= 1, of the column with missing values on the
      left, and of the column with missing values on the right; 0 if there is none.
    - ``slot_byte_column``, (n_slots, 2): the first column of bytes of each, >= 0; -1: none.
    - ``slot_start``, (n_slots + 1,): the first threshold of each slot.
    - ``slot_threshold``, (n_thresholds,): the thresholds of each slot, ascending and distinct.
    - ``slot_set``, (n_slots,): the number of each slot's set of categories; -1: its values are
      numbers.
    - ``set_start``, (n_sets + 1,): the first word of each set.
    - ``set_words``, (n_words,).
    - ``slot_bit``, (n_slots,): for a slot with a set, its bit in the words of a table of 64 sets.
    - ``outside_start``, (n_tables + 1,): the first word of each of these tables, which have one
      word for each category, and one for all others. Each table has eight of the last columns of
      bytes.
    - ``n_byte_columns``: the number of columns of bytes.
    - ``n_scores``: the number of trees of a round.
    """

    def __cinit__(
        self, const int32_t[::1] left, const int32_t[::1] right,
        const double[::1] threshold, const int32_t[::1] column,
        const int32_t[::1] byte_column, const uint8_t[::1] bits, const uint8_t[::1] limit,
        const int64_t[::1] leaf_start, const double[::1] leaf_value,
        const int32_t[::1] slot_feature, const uint8_t[::1] slot_missing,
        const int32_t[:, ::1] slot_column, const int32_t[:, ::1] slot_byte_column,
        const int64_t[::1] slot_start, const double[::1] slot_threshold,
        const int64_t[::1] slot_set, const int64_t[::1] set_start,
        const uint32_t[::1] set_words, const uint8_t[::1] slot_bit,
        const int64_t[::1] outside_start, int64_t n_byte_columns, int n_scores,
    ):
        cdef int64_t n_trees = leaf_start.shape[0] - 1
        cdef int64_t n_leaves = leaf_value.shape[0]
        cdef int64_t n_set_bytes = outside_start.shape[0] - 1
        self.leaf_value = leaf_value
        self.slot_threshold = slot_threshold
        self.set_words = set_words
        self.outside = np.full(
            outside_start[n_set_bytes], 0xFFFFFFFFFFFFFFFF, dtype=np.uint64)
        self.nodes = <TestNode*> malloc((2 * n_leaves - n_trees + 1) * sizeof(TestNode))
        self.trees = <TreeTables*> malloc((n_trees + 1) * sizeof(TreeTables))
        self.slots = <Slot*> malloc((slot_feature.shape[0] + 1) * sizeof(Slot))
        self.set_bytes = <SetBytes*> malloc((n_set_bytes + 1) * sizeof(SetBytes))
        if (
            self.nodes == NULL or self.trees == NULL or self.slots == NULL
            or self.set_bytes == NULL
        ):
            raise MemoryError
        self.tables.n_scores = n_scores
        self.tables.n_slots = slot_feature.shape[0]
        self.tables.n_byte_columns = n_byte_columns
        self.tables.n_set_bytes = n_set_bytes
        fill_slots(
            self, slot_feature, slot_missing, slot_column, slot_byte_column, slot_start, slot_set,
            set_start)
        fill_sets(self, slot_bit, outside_start)
        fill_trees(self, left, right, threshold, column, leaf_start)
        fill_routes(self, left, right, byte_column, bits, limit, leaf_start)
        self.tables.nodes = self.nodes
        self.tables.trees = self.trees
        self.tables.slots = self.slots
        self.tables.set_bytes = self.set_bytes
        self.tables.leaf_value = &leaf_value[0] if n_leaves else NULL

    def __dealloc__(self):
        free(self.nodes)
        free(self.trees)
        free(self.slots)
        free(self.set_bytes)
        free_routes(&self.routes)

    def predict(
        self, columns, int64_t first_tree, int64_t stop_tree, RowLink link, double divisor,
        int n_threads, double[:, ::1] out,
    ):
        """Write the predictions of trees ``first_tree`` to ``stop_tree``.

        - ``link``, ``divisor``: the sums of leaf values are divided by ``divisor``; the link turns
          these scores into predictions.
        - ``out``, (n_rows, ``link.width``).
        """
        if out.shape[0] == 0:
            return
        cdef InputColumns inputs = read_columns(columns)
        cdef Finish finish = link.finish
        finish.divisor = divisor
        self.run(
            &inputs, NULL, out.shape[0], n_threads,
            Sink(&out[0, 0], NULL, first_tree, stop_tree), &finish)

    def ranked(self, columns, Py_ssize_t n_rows, int n_threads) -> NDArray[np.uint8]:
        """The bytes of all rows, for `add_ranked`: the values of the columns, ranked once.

        ``columns``, Columns. Only scores of the same trees can be computed from them.
        """
        cdef InputColumns inputs = read_columns(columns)
        cdef Py_ssize_t n_tiles = (n_rows + LEAF_TILE - 1) // LEAF_TILE
        cdef uint8_t[::1] bytes = np.empty(
            n_tiles * LEAF_TILE * self.tables.n_byte_columns + 1, dtype=np.uint8)
        self.run(&inputs, &bytes[0], n_rows, n_threads, Sink(NULL, NULL, 0, 0), NULL)
        return np.asarray(bytes)

    def add_ranked(
        self, uint8_t[::1] bytes, int64_t first_tree, int64_t stop_tree, int n_threads,
        double[:, ::1] scores_inout,
    ):
        """Add the leaf values of some trees to the scores of rows from `ranked`."""
        if scores_inout.size > 0:
            self.run(
                NULL, &bytes[0], scores_inout.shape[0], n_threads,
                Sink(&scores_inout[0, 0], NULL, first_tree, stop_tree), NULL)

    def leaves(
        self, columns, int64_t first_tree, int64_t stop_tree, int n_threads,
        int32_t[:, ::1] leaves_out,
    ):
        """Write the number of the leaf that each row reaches in each tree.

        ``leaves_out``, (n_rows, stop_tree - first_tree): numbered from 0 in each tree.
        """
        if leaves_out.size == 0:
            return
        cdef InputColumns inputs = read_columns(columns)
        self.run(
            &inputs, NULL, leaves_out.shape[0], n_threads,
            Sink(NULL, &leaves_out[0, 0], first_tree, stop_tree), NULL)

    cdef int run(
        self, const InputColumns* inputs, uint8_t* all_bytes, Py_ssize_t n, int n_threads,
        Sink sink, const Finish* finish,
    ) except -1:
        """Run n rows through the trees, and write to the sink: scores or leaves.

        - ``inputs``: the columns; NULL: ``all_bytes`` has the ranks of all rows already.
        - ``all_bytes``: where they are, or are written; NULL: they are not kept.
        - ``finish``: turns scores into predictions; NULL: leaf values are added to the scores.
        """
        cdef bint done
        cdef Watch watch = start_watch()
        if n * max(sink.stop_tree - sink.first_tree, 1) < MIN_WORK_FOR_TEAM:
            n_threads = 1
        n_threads = <int> max(1, min(<Py_ssize_t> n_threads, (n + LEAF_TILE - 1) // LEAF_TILE))
        with nogil:
            done = score_many_rows(
                &self.tables, &self.routes, inputs, all_bytes, n, n_threads, &sink, finish, &watch)
        end_watch(&watch)
        if not done:
            raise MemoryError
        return 0


cdef void fill_slots(
    Predictor self, const int32_t[::1] feature, const uint8_t[::1] missing,
    const int32_t[:, ::1] column, const int32_t[:, ::1] bytes, const int64_t[::1] start,
    const int64_t[::1] slot_set, const int64_t[::1] set_start,
) noexcept:
    """Fill the table of slots, and count the columns that nodes test.

    The arguments are those of `Predictor` that begin with ``slot_``.
    """
    cdef Py_ssize_t s
    self.tables.n_columns = 1
    for s in range(feature.shape[0]):
        self.slots[s].feature = feature[s]
        self.slots[s].left_column = column[s, 0]
        self.slots[s].right_column = column[s, 1]
        self.slots[s].left_byte_column = bytes[s, 0]
        self.slots[s].right_byte_column = bytes[s, 1]
        self.tables.n_columns = max(
            self.tables.n_columns, column[s, 0] + 1, column[s, 1] + 1)
        self.slots[s].missing = missing[s]
        self.slots[s].words = NULL
        self.slots[s].n_words = -1
        if slot_set[s] >= 0:
            self.slots[s].n_words = set_start[slot_set[s] + 1] - set_start[slot_set[s]]
            if self.slots[s].n_words > 0:
                self.slots[s].words = &self.set_words[set_start[slot_set[s]]]
        self.slots[s].thresholds = &self.slot_threshold[start[s]]
        self.slots[s].n_thresholds = start[s + 1] - start[s]


cdef void fill_sets(
    Predictor self, const uint8_t[::1] bit, const int64_t[::1] start
) noexcept:
    """Fill the tables of sets: for each category, the bits of the sets that do not have it.

    ``bit``, ``start``: ``slot_bit`` and ``outside_start`` of `Predictor`. All bits are set at
    first.
    """
    cdef int64_t first = self.tables.n_byte_columns - BYTES_PER_WORD * self.tables.n_set_bytes
    cdef const Slot* slot
    cdef int64_t table, word
    cdef uint64_t bits
    cdef Py_ssize_t s
    for s in range(self.tables.n_slots):
        slot = &self.slots[s]
        if slot.n_words < 0:
            continue
        table = (slot.left_byte_column - first) // BYTES_PER_WORD
        self.set_bytes[table] = SetBytes(
            slot.feature, first + BYTES_PER_WORD * table,
            <int32_t> (start[table + 1] - start[table] - 1),
            &self.outside[start[table]])
        for word in range(slot.n_words):
            bits = slot.words[word]
            while bits:
                self.outside[start[table] + 32 * word + lowest_bit(bits)] &= ~(
                    <uint64_t> 1 << bit[s])
                bits &= bits - 1


cdef int fill_trees(
    Predictor self, const int32_t[::1] left, const int32_t[::1] right,
    const double[::1] threshold, const int32_t[::1] column, const int64_t[::1] leaf_start,
) except -1:
    """Write the nodes of all trees, which `tree_steps` reads.

    The arguments are those of `Predictor`. A tree of k leaves has k - 1 inner nodes, so tree t has
    ``leaf_start[t] - t`` inner nodes before it, and ``2 * leaf_start[t] - t`` nodes of both kinds.
    """
    cdef int32_t[::1] index = np.empty(left.shape[0] + 1, dtype=np.int32)
    cdef int64_t node
    cdef Py_ssize_t t
    for t in range(leaf_start.shape[0] - 1):
        node = leaf_start[t] - t
        self.trees[t] = TreeTables(2 * leaf_start[t] - t, leaf_start[t])
        flatten_tree(
            &left[0] + node, &right[0] + node, &threshold[0] + node, &column[0] + node,
            <int32_t> (leaf_start[t + 1] - leaf_start[t]), self.trees[t].root, &index[0],
            self.nodes)
    return 0


cdef int fill_routes(
    Predictor self, const int32_t[::1] left, const int32_t[::1] right,
    const int32_t[::1] column, const uint8_t[::1] bits, const uint8_t[::1] limit,
    const int64_t[::1] leaf_start,
) except -1:
    """Add all trees to the tables of `leaves`, with tests of ranks.

    The arguments are those of `Predictor`; ``column`` is ``byte_column``.
    """
    cdef Test* tests = <Test*> malloc((left.shape[0] + 1) * sizeof(Test))
    cdef int64_t node
    cdef Py_ssize_t i, t
    if tests == NULL:
        raise MemoryError
    for i in range(left.shape[0]):
        tests[i] = Test(column[i], 0, bits[i], limit[i])
    try:
        for t in range(leaf_start.shape[0] - 1):
            node = leaf_start[t] - t
            add_route(
                &self.routes, &left[0] + node, &right[0] + node, tests + node,
                &self.leaf_value[leaf_start[t]],
                <int32_t> (leaf_start[t + 1] - leaf_start[t]))
    finally:
        free(tests)
    return 0
