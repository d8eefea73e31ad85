"""One tree over the binned rows of a `BinStore`: the scores of rows it was not grown on.

The columns of bytes of the store are those that `leaves` tests, where the codes that go right
at a node are neighbors. For other nodes columns of bits are made tile by tile, one for up to
eight nodes of a feature.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from skgoss._engine.binning.stored_columns cimport first_from
from skgoss._engine.binning.store cimport BinColumn, BinStore, bin_of_code, bin_of_stored
from skgoss._engine.model.leaves cimport (
    LEAF_TILE, Pile, Routes, Test, add_route, add_values, clear_routes, free_routes, more,
    write_leaves)
from skgoss._engine.model.linear_kernels cimport Lines, Values, add_line_values, lines_memory
from skgoss._engine.threads cimport FEW_VALUES, parallel_shares
from skgoss._engine.training.forest cimport Forest, StoredLeaf, StoredNode, nodes_of

cdef enum:
    BYTE_CODES = 256
    NODES_PER_BYTE = 8
    # Rows that a thread takes at once.
    SCORE_ROWS = 16 * LEAF_TILE
    # Bytes of a thread for each source.
    SOURCE_BYTES = sizeof(void*) + LEAF_TILE
    VALUE_STRIDE = sizeof(StoredLeaf) // sizeof(double)


# A column of bytes of a tile: codes of the store, or a bit for each of some nodes.
cdef struct Source:
    const BinColumn* column
    int64_t table             # where the bits by code or stored bin begin; -1: codes
    uint8_t others            # the bits of rows that a list does not have
    int n_nodes


# A tree, as its nodes are stored.
cdef struct Tree:
    const StoredNode* nodes
    const double* leaf_value
    Py_ssize_t stride         # doubles from a leaf's value to the next
    int32_t n_nodes
    const uint32_t* words


# The lines of a tree's leaves, and the values of the rows' columns.
cdef struct LeafLines:
    Values values
    Lines lines
    int64_t n_leaves
    const double* leaf_value
    Py_ssize_t stride         # doubles from a leaf's value to the next
    const uint32_t* at        # of each of the plan's rows, its score; NULL: one after the other


# What a tree tests, and the columns of bytes that its tests read.
cdef struct ScorePlan:
    const LeafLines* leaf_lines  # NULL: leaves are constant
    const BinColumn* columns  # of the store, by feature
    const int32_t* missing_bin
    Py_ssize_t n_rows         # of the store
    const uint32_t* numbers   # of the rows that have scores, ascending; NULL: all
    Py_ssize_t n_numbers
    Routes routes
    Pile sources              # of Source
    Pile tables               # of uint8_t
    Pile slots                # of int32_t: `slot_of` finds them
    Pile memory                 # of bytes: a tree's tests, values and children, then the tiles


# ------------------------------------------------------------------ what goes right


cdef inline int32_t n_codes(const BinColumn* column) noexcept nogil:
    """The number of codes, or stored bins of a list, that occur."""
    if column.width == 1 and column.default_bin >= 0:
        return BYTE_CODES
    return column.n_bins - (column.width == 0)


cdef inline bint bin_goes_right(
    const Tree* tree, const StoredNode* node, int32_t missing_bin, int32_t b
) noexcept nogil:
    """Whether rows in a bin go right at a node."""
    if node.last_word > node.first_word:
        return not tree.words[node.first_word + b // 32] >> (b % 32) & 1
    return not node.missing_left if b == missing_bin else b > node.bin


cdef inline bint code_goes_right(
    const Tree* tree, const StoredNode* node, int32_t missing_bin, const BinColumn* column,
    int32_t code,
) noexcept nogil:
    """Whether rows with a code of a column go right at a node."""
    return bin_goes_right(
        tree, node, missing_bin,
        bin_of_code(column, code) if column.width > 0 else bin_of_stored(column, code))


cdef bint is_cut(
    const BinColumn* column, const StoredNode* node, int32_t missing_bin,
) noexcept nogil:
    """Whether all bytes above a threshold go right, and no others."""
    return (
        column.width == 1 and column.default_bin < 0 and node.last_word == node.first_word
        and (missing_bin < 0 or node.missing_left == (missing_bin <= node.bin)))


cdef bint find_interval(
    const Tree* tree, const StoredNode* node, int32_t missing_bin, const BinColumn* column,
    Test* test_out,
) noexcept nogil:
    """Look whether the bytes that go left are neighbors on the circle."""
    cdef int32_t n = n_codes(column)
    cdef bint last = code_goes_right(tree, node, missing_bin, column, n - 1)
    cdef bint before = last
    cdef bint right
    cdef int n_changes = 0
    # Codes that do not occur do as the last one does.
    cdef int n_left = 0 if last else BYTE_CODES - n
    cdef int32_t c
    for c in range(n):
        right = code_goes_right(tree, node, missing_bin, column, c)
        n_left += not right
        if before and not right:
            test_out.low = <uint8_t>c
            n_changes += 1
        before = right
    test_out.bits = 0xFF
    test_out.limit = <uint8_t>(n_left - 1)
    return n_changes == 1


# ------------------------------------------------------------------ columns of a tile


cdef void make_bits(
    const Source* source, const uint8_t* table, Py_ssize_t start, Py_ssize_t n,
    uint8_t* bits_out,
) noexcept nogil:
    """Of each row of a tile, at which of the source's nodes it goes right."""
    cdef const BinColumn* column = source.column
    cdef const uint8_t* bytes = <const uint8_t*>column.codes + start
    cdef const uint16_t* shorts = <const uint16_t*>column.codes + start
    cdef Py_ssize_t i
    cdef int64_t at
    if column.width == 1:
        for i in range(n):
            bits_out[i] = table[bytes[i]]
    elif column.width == 2:
        for i in range(n):
            bits_out[i] = table[shorts[i]]
    else:
        memset(bits_out, source.others, n)
        at = first_from(column.rows, column.length, start)
        while at < column.length and column.rows[at] < start + n:
            bits_out[column.rows[at] - start] = table[column.stored[at]]
            at += 1


cdef Py_ssize_t load_tile(
    const ScorePlan* plan, Py_ssize_t start, const uint8_t** columns,
) noexcept nogil:
    """Find what the tests read of a tile; the number of its rows.

    ``columns``: room for what tests read, first an address for each source. Behind these is
    memory for bits that are made of codes, and for copies of codes in a short last tile.
    """
    cdef Py_ssize_t n = min(<Py_ssize_t>LEAF_TILE, plan.n_rows - start)
    cdef const Source* source = <const Source*>plan.sources.items
    cdef uint8_t* made = <uint8_t*>(columns + plan.sources.n)
    cdef const uint8_t* codes
    cdef int64_t j
    for j in range(plan.sources.n):
        columns[j] = made
        if source[j].table >= 0:
            make_bits(
                &source[j], <const uint8_t*>plan.tables.items + source[j].table, start, n,
                made)
            made += LEAF_TILE
            continue
        codes = <const uint8_t*>source[j].column.codes + start
        if n == LEAF_TILE:
            columns[j] = codes
        else:
            memcpy(made, codes, n)
            made += LEAF_TILE
    return n


cdef void score_tile(
    const ScorePlan* plan, Py_ssize_t start, const uint8_t** columns, double* score_inout,
) noexcept nogil:
    """Add the values of a tile's rows, one after the other, to scores."""
    cdef Py_ssize_t n = load_tile(plan, start, columns)
    add_values(&plan.routes, 0, columns, <int>n, 1, score_inout)


cdef void score_lines(
    const ScorePlan* plan, Py_ssize_t first, Py_ssize_t last, const uint8_t** columns,
    double* score_inout,
) noexcept nogil:
    """Add the values of the rows from ``first`` to ``last`` to their scores."""
    cdef const LeafLines* of = plan.leaf_lines
    cdef double* memory = <double*>(<char*>columns + plan.sources.n * SOURCE_BYTES)
    cdef int32_t* leaf = <int32_t*>memory
    cdef uint32_t* rows = <uint32_t*>(leaf + SCORE_ROWS)
    cdef int32_t[LEAF_TILE] leaf_of_tile
    cdef Py_ssize_t start, n, i
    cdef int64_t n_rows = 0, k = 0
    if plan.numbers != NULL:
        k = first_from(plan.numbers, plan.n_numbers, first)
    for start from first <= start < last by LEAF_TILE:
        n = load_tile(plan, start, columns)
        write_leaves(&plan.routes, 0, columns, <int>n, 1, leaf_of_tile)
        if plan.numbers == NULL:
            for i in range(n):
                leaf[n_rows] = leaf_of_tile[i]
                rows[n_rows] = <uint32_t>(start + i)
                n_rows += 1
            continue
        while k < plan.n_numbers and plan.numbers[k] < start + LEAF_TILE:
            leaf[n_rows] = leaf_of_tile[plan.numbers[k] - start]
            rows[n_rows] = <uint32_t>k if of.at == NULL else of.at[k]
            n_rows += 1
            k += 1
    add_line_values(
        &of.values, &of.lines, of.n_leaves, of.leaf_value, of.stride, leaf, rows, n_rows,
        memory + SCORE_ROWS, 1, score_inout)


cdef void score_rows(
    const ScorePlan* plan, Py_ssize_t first, const uint8_t** columns, double* score_inout,
) noexcept nogil:
    """Add the values of up to SCORE_ROWS rows, from ``first`` on, to their scores."""
    cdef Py_ssize_t last = min(first + SCORE_ROWS, plan.n_rows)
    cdef Py_ssize_t start
    cdef int64_t at
    cdef double[LEAF_TILE] values
    if plan.leaf_lines != NULL:
        score_lines(plan, first, last, columns, score_inout)
        return
    if plan.numbers == NULL:
        for start from first <= start < last by LEAF_TILE:
            score_tile(plan, start, columns, score_inout + start)
        return
    at = first_from(plan.numbers, plan.n_numbers, first)
    for start from first <= start < last by LEAF_TILE:
        memset(values, 0, sizeof(values))
        score_tile(plan, start, columns, values)
        while at < plan.n_numbers and plan.numbers[at] < start + LEAF_TILE:
            score_inout[at] += values[plan.numbers[at] - start]
            at += 1


cdef struct Scoring:
    const ScorePlan* plan
    char* memory                # of each thread, ``share`` bytes
    Py_ssize_t share
    double* score


cdef void score_block(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef Scoring* scoring = <Scoring*>context
    score_rows(
        scoring.plan, first, <const uint8_t**>(scoring.memory + thread * scoring.share),
        scoring.score)


cdef int score_all(ScorePlan* plan, int n_threads, double* score_inout) except -1 nogil:
    """Add the values of a tree to the scores of all rows, block by block."""
    cdef Py_ssize_t n_blocks = (plan.n_rows + SCORE_ROWS - 1) // SCORE_ROWS
    cdef Py_ssize_t share = plan.sources.n * SOURCE_BYTES
    cdef const LeafLines* of = plan.leaf_lines
    cdef Scoring scoring
    if of != NULL:
        share += sizeof(double) * (
            SCORE_ROWS + lines_memory(&of.lines, of.n_leaves, SCORE_ROWS))
    if plan.n_rows <= FEW_VALUES:
        n_threads = 1
    n_threads = <int>max(1, min(<Py_ssize_t>n_threads, n_blocks))
    plan.memory.n = 0
    scoring = Scoring(plan, <char*>more(&plan.memory, n_threads * share, 1), share, score_inout)
    parallel_shares(score_block, &scoring, plan.n_rows, SCORE_ROWS, n_threads)
    return 0


# ------------------------------------------------------------------ the tree


cdef int make_slots(ScorePlan* plan, int32_t n_nodes) except -1 nogil:
    """Empty a hash table of sources, two entries a node or more."""
    cdef int64_t n_slots = 4
    while n_slots < 2 * n_nodes:
        n_slots *= 2
    plan.slots.n = 0
    memset(more(&plan.slots, n_slots, sizeof(int32_t)), 255, n_slots * sizeof(int32_t))
    return 0


cdef int32_t* slot_of(ScorePlan* plan, const BinColumn* column, bint has_bits) noexcept nogil:
    """Where to look up, or to note, a feature's last source of codes or of bits."""
    cdef int32_t* slots = <int32_t*>plan.slots.items
    cdef const Source* sources = <const Source*>plan.sources.items
    cdef const Source* source
    cdef int64_t last = plan.slots.n - 1
    cdef int64_t at = 2 * (column - plan.columns) + has_bits & last
    while slots[at] >= 0:
        source = &sources[slots[at]]
        if source.column == column and (source.table >= 0) == has_bits:
            break
        at = at + 1 & last
    return &slots[at]


cdef int32_t new_source(
    ScorePlan* plan, const BinColumn* column, int64_t table,
) except -1 nogil:
    (<Source*>more(&plan.sources, 1, sizeof(Source)))[0] = Source(column, table, 0, 0)
    return <int32_t>(plan.sources.n - 1)


cdef int test_codes(
    ScorePlan* plan, const BinColumn* column, Test* test_inout,
) except -1 nogil:
    """Let a test read the codes of the store."""
    cdef int32_t* slot = slot_of(plan, column, False)
    if slot[0] < 0:
        slot[0] = new_source(plan, column, -1)
    test_inout.column = slot[0]
    return 0


cdef int test_bit(
    ScorePlan* plan, const Tree* tree, const StoredNode* node, Test* test_out
) except -1 nogil:
    """Let a test read a bit of a column that is made for it."""
    cdef const BinColumn* column = &plan.columns[node.feature]
    cdef int32_t missing_bin = plan.missing_bin[node.feature]
    cdef int32_t* slot = slot_of(plan, column, True)
    cdef Source* source
    cdef uint8_t* table
    cdef uint8_t bit
    cdef int32_t c
    if slot[0] < 0 or (<Source*>plan.sources.items)[slot[0]].n_nodes == NODES_PER_BYTE:
        slot[0] = new_source(plan, column, plan.tables.n)
        memset(more(&plan.tables, n_codes(column), 1), 0, n_codes(column))
    source = &(<Source*>plan.sources.items)[slot[0]]
    bit = <uint8_t>(1 << source.n_nodes)
    source.n_nodes += 1
    table = <uint8_t*>plan.tables.items + source.table
    for c in range(n_codes(column)):
        table[c] |= bit * code_goes_right(tree, node, missing_bin, column, c)
    if column.width == 0:
        source.others |= bit * bin_goes_right(tree, node, missing_bin, column.default_bin)
    test_out[0] = Test(slot[0], 0, bit, 0)
    return 0


cdef int make_test(
    ScorePlan* plan, const Tree* tree, const StoredNode* node, Test* test_out
) except -1 nogil:
    """Choose the test of a node: a cut of codes, an interval of them, or a bit made for it."""
    cdef const BinColumn* column = &plan.columns[node.feature]
    cdef int32_t missing_bin = plan.missing_bin[node.feature]
    if is_cut(column, node, missing_bin):
        test_out[0] = Test(0, 0, 0xFF, <uint8_t>(column.first_code + node.bin))
    elif column.width != 1 or not find_interval(tree, node, missing_bin, column, test_out):
        return test_bit(plan, tree, node, test_out)
    return test_codes(plan, column, test_out)


cdef int score_tree(
    ScorePlan* plan, const Tree* tree, int n_threads, double* score_inout,
) except -1 nogil:
    """Turn the splits of a tree into tests of bytes, and score all rows."""
    cdef int32_t n_leaves = tree.n_nodes + 1
    cdef double* values
    cdef Test* tests
    cdef int32_t* left
    cdef int32_t* right
    cdef int32_t i
    clear_routes(&plan.routes)
    plan.sources.n = plan.tables.n = plan.memory.n = 0
    make_slots(plan, tree.n_nodes)
    values = <double*>more(
        &plan.memory, n_leaves * (sizeof(double) + sizeof(Test) + 2 * sizeof(int32_t)), 1)
    tests = <Test*>(values + n_leaves)
    left = <int32_t*>(tests + n_leaves)
    right = left + n_leaves
    for i in range(tree.n_nodes):
        left[i] = tree.nodes[i].left
        right[i] = tree.nodes[i].right
        make_test(plan, tree, &tree.nodes[i], &tests[i])
    for i in range(n_leaves):
        values[i] = tree.leaf_value[i * tree.stride]
    add_route(&plan.routes, left, right, tests, values, n_leaves)
    return score_all(plan, n_threads, score_inout)


cdef void free_plan(ScorePlan* plan) noexcept nogil:
    free_routes(&plan.routes)
    free(plan.sources.items)
    free(plan.tables.items)
    free(plan.slots.items)
    free(plan.memory.items)


cdef class LineTable:
    """The lines of a round's leaves, and the values of the columns of some rows.

    - ``raw``: a `RawColumns`, whose columns are prepared.
    - ``leaves``: a `LinearLeaves`.
    """

    cdef const uint64_t[::1] address
    cdef const int64_t[::1] stride
    cdef const int64_t[::1] start
    cdef const int32_t[::1] feature
    cdef const double[::1] coefficient
    cdef const double[::1] constant
    cdef const double[::1] lower
    cdef const double[::1] upper
    cdef Values values

    def __cinit__(self, raw, leaves):
        self.address, self.stride = raw.address, raw.stride
        self.start, self.feature = leaves.start, leaves.feature
        self.coefficient, self.constant = leaves.coefficient, leaves.constant
        self.lower, self.upper = leaves.lower, leaves.upper
        self.values = Values(&self.address[0], &self.stride[0])

    cdef Lines lines(self) noexcept:
        return Lines(
            &self.start[0], &self.feature[0], &self.coefficient[0], &self.constant[0],
            &self.lower[0], &self.upper[0])


cdef Lines lines_from(const Lines* lines, int64_t first_leaf) noexcept nogil:
    """Those of a tree whose first leaf is this one."""
    return Lines(
        lines.start + first_leaf, lines.feature, lines.coefficient,
        lines.constant + first_leaf, lines.lower + first_leaf, lines.upper + first_leaf)


def add_tree(
    BinStore store, nodes: NDArray[np.void], const int32_t[::1] missing_bin,
    const uint32_t[::1] words, const double[::1] leaf_value, int n_threads,
    double[::1] score_inout, const uint32_t[::1] numbers=None, LineTable table=None,
    int64_t first_leaf=0,
):
    """Add one tree's leaf values to the scores of all rows, or of some.

    - ``nodes``, (n_nodes,), ``words``: contiguous, as from `Forest.arrays`.
    - ``missing_bin``, (n_features,): -1 where there is none.
    - ``leaf_value``, (n_nodes + 1,).
    - ``numbers``, (n_rows,): the rows of the store that have scores, ascending; None: all.
    - ``table``: the lines of the leaves, from ``first_leaf`` on; None: they are constant.
    """
    cdef ScorePlan plan = new_plan(store, &missing_bin[0], score_inout.shape[0], numbers)
    cdef const uint32_t* sets = &words[0] if words.shape[0] else NULL
    cdef Tree tree = Tree(nodes_of(nodes), &leaf_value[0], 1, <int32_t>len(nodes), sets)
    cdef LeafLines of_leaves
    cdef Lines lines
    if table is not None:
        lines = table.lines()
        of_leaves = LeafLines(
            table.values, lines_from(&lines, first_leaf), leaf_value.shape[0], &leaf_value[0], 1,
            NULL)
        plan.leaf_lines = &of_leaves
    try:
        with nogil:
            score_tree(&plan, &tree, n_threads, &score_inout[0])
    finally:
        free_plan(&plan)


# The trees of a forest, which its own thread reads without the GIL: no other one changes them.
cdef struct Trees:
    const StoredNode* nodes
    const StoredLeaf* leaves
    const int64_t* leaf_start
    const uint32_t* words


cdef Trees trees_of(Forest forest) noexcept:
    return Trees(forest.nodes, forest.leaves, forest.leaf_start, forest.set_words)


cdef Tree tree_of(const Trees* trees, int64_t number) noexcept nogil:
    """One of the trees."""
    cdef const int64_t* start = trees.leaf_start + number
    return Tree(
        trees.nodes + start[0] - number, &trees.leaves[start[0]].value, VALUE_STRIDE,
        <int32_t>(start[1] - start[0] - 1), trees.words)


cdef struct AddedTrees:
    int64_t first             # of the trees
    int64_t end
    int64_t n_scores
    const Values* values      # of the rows, if leaves have lines; NULL: they are constant
    Lines lines               # of the leaves of all of these trees
    const double* before      # what the scores are at first; NULL: what they are


cdef int score_trees(
    ScorePlan* plan, const Trees* trees, const AddedTrees* which, int n_threads,
    double* scores_inout, Py_ssize_t stride,
) except -1 nogil:
    """Add the leaf values of some trees, of which each score in turn has one."""
    cdef int64_t first_leaf = trees.leaf_start[which.first]
    cdef LeafLines of_leaves
    cdef Tree tree
    cdef int64_t k
    if which.before != NULL:
        memcpy(scores_inout, which.before, which.n_scores * stride * sizeof(double))
    for k in range(which.first, which.end):
        tree = tree_of(trees, k)
        if which.values != NULL:
            of_leaves = LeafLines(
                which.values[0], lines_from(&which.lines, trees.leaf_start[k] - first_leaf),
                tree.n_nodes + 1, tree.leaf_value, tree.stride, NULL)
            plan.leaf_lines = &of_leaves
        score_tree(
            plan, &tree, n_threads, scores_inout + (k - which.first) % which.n_scores * stride)
    return 0


def add_trees(
    Forest forest, int64_t first_tree, BinStore store, const int32_t[::1] missing_bin,
    int n_threads, double[:, ::1] scores_inout, const uint32_t[::1] numbers=None,
    LineTable table=None, const double[:, ::1] before=None,
):
    """Add the trees of a forest from one on to scores, of each round a tree for each score.

    - ``missing_bin``, (n_features,): -1 where there is none.
    - ``numbers``, (n_rows,): the rows of the store that have scores, ascending; None: all.
    - ``table``: the lines of the trees' leaves; None: they are constant.
    - ``before``: the scores that they are added to; None: those of ``scores_inout``.
    """
    cdef ScorePlan plan = new_plan(store, &missing_bin[0], scores_inout.shape[1], numbers)
    cdef Trees trees = trees_of(forest)
    cdef AddedTrees which
    cdef Py_ssize_t n_rows = scores_inout.shape[1]
    which.first, which.end = first_tree, forest.n_trees
    which.n_scores, which.values = scores_inout.shape[0], NULL
    which.before = &before[0, 0] if before is not None else NULL
    if table is not None:
        which.values, which.lines = &table.values, table.lines()
    try:
        if n_rows <= FEW_VALUES:
            score_trees(&plan, &trees, &which, n_threads, &scores_inout[0, 0], n_rows)
        else:
            with nogil:
                score_trees(&plan, &trees, &which, n_threads, &scores_inout[0, 0], n_rows)
    finally:
        free_plan(&plan)


cdef int add_lines(
    Forest forest, int64_t number, BinStore store, const int32_t* missing_bin, int n_threads,
    const Values* values, const Lines* lines, const uint32_t* numbers, const uint32_t* at,
    Py_ssize_t n, double* score_inout,
) except -1:
    cdef ScorePlan plan = new_plan(store, missing_bin, store.n_rows, None)
    cdef Trees trees = trees_of(forest)
    cdef Tree tree = tree_of(&trees, number)
    cdef LeafLines of_leaves = LeafLines(
        values[0], lines[0], tree.n_nodes + 1, tree.leaf_value, tree.stride, at)
    plan.leaf_lines = &of_leaves
    plan.numbers, plan.n_numbers = numbers, n
    try:
        with nogil:
            score_tree(&plan, &tree, n_threads, score_inout)
    finally:
        free_plan(&plan)
    return 0


cdef ScorePlan new_plan(
    BinStore store, const int32_t* missing_bin, Py_ssize_t n_rows, const uint32_t[::1] numbers,
) noexcept:
    """A plan without trees, for all rows of a store or for those of ``numbers``."""
    cdef ScorePlan plan
    memset(&plan, 0, sizeof(ScorePlan))
    plan.columns = store.columns
    plan.missing_bin = missing_bin
    plan.n_rows = n_rows
    if numbers is not None and n_rows > 0:
        plan.n_rows = store.n_rows
        plan.numbers = &numbers[0]
        plan.n_numbers = n_rows
    return plan
