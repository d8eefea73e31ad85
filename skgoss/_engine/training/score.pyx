"""Trees applied to the binned rows of a `BinStore`: the scores of rows they were not grown on.

`leaves` finds the leaves of rows by tests of bytes. A node tests the byte codes of the store if
those that go right are consecutive. For the other nodes of a feature, up to eight at a time, a
column with a bit for each node is made tile by tile.

A code stands for a bin of a feature (`BinColumn`): bytes or 16-bit numbers, by row of the store. A
source is a column of bytes that tests read in a tile of LEAF_TILE rows.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from skgoss._engine.binning.stored_columns cimport first_from
from skgoss._engine.binning.store cimport BinColumn, BinStore, bin_of_code, bin_of_stored
from skgoss._engine.model.leaves cimport (
    LEAF_TILE, Pile, Routes, Test, add_route, add_values, append, clear_routes, free_routes,
    write_leaves)
from skgoss._engine.model.linear_kernels cimport (
    LeafModels, Values, add_memory, add_model_values, models_from)
from skgoss._engine.threads cimport FEW_VALUES, parallel_shares
from skgoss._engine.training.forest cimport Forest, StoredLeaf, StoredNode, nodes_of
from skgoss._engine.training.shared_trees cimport add_shared_trees

cdef enum:
    BYTE_CODES = 256
    NODES_PER_BYTE = 8
    # Rows of a block, which one thread scores.
    SCORE_ROWS = 16 * LEAF_TILE
    # Rows whose leaf numbers a thread converts at a time.
    NUMBER_BLOCK = 8192
    # Memory of a thread for each source.
    SOURCE_BYTES = sizeof(void*) + LEAF_TILE
    VALUE_STRIDE = sizeof(StoredLeaf) // sizeof(double)


# A column of bytes of a tile: codes of the store, or a bit for each of some nodes.
cdef struct Source:
    const BinColumn* column
    int64_t table             # where the bits by code or stored bin begin; -1: codes
    uint8_t default_bits      # the bits of rows that a sparse column does not store
    int n_nodes


# A tree, as its nodes are stored.
cdef struct Tree:
    const StoredNode* nodes
    const double* leaf_value
    Py_ssize_t stride         # doubles from a leaf's value to the next
    int32_t n_nodes
    const uint32_t* words


# The models of a tree's leaves, and the values of the rows' columns.
cdef struct TreeModels:
    Values values
    LeafModels models
    int64_t n_leaves
    const double* leaf_value
    Py_ssize_t stride         # doubles from a leaf's value to the next
    const uint32_t* score_index  # of each of the plan's rows; NULL: one after the other


# What a tree tests, and the columns of bytes that its tests read.
cdef struct ScorePlan:
    const TreeModels* tree_models  # NULL: leaves are constant
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
    """The number of codes that may occur; of a sparse column, of stored bins."""
    if column.width == 1 and column.default_bin >= 0:
        return BYTE_CODES
    return column.n_bins - (column.width == 0)


cdef inline bint bin_goes_right(
    const Tree* tree, const StoredNode* node, int32_t missing_bin, int32_t b
) noexcept nogil:
    """Whether rows in bin b of the node's feature go right there.

    ``missing_bin``: of the feature; -1: it has none. A set of bins is a bitset in ``tree.words``.
    """
    if node.last_word > node.first_word:
        return not tree.words[node.first_word + b // 32] >> (b % 32) & 1
    return not node.missing_left if b == missing_bin else b > node.bin


cdef inline bint code_goes_right(
    const Tree* tree, const StoredNode* node, int32_t missing_bin, const BinColumn* column,
    int32_t code,
) noexcept nogil:
    """Whether rows with a code of a column go right at a node.

    ``code``: of a sparse column, its stored bin. ``missing_bin``: of the feature; -1: none.
    """
    return bin_goes_right(
        tree, node, missing_bin,
        bin_of_code(column, code) if column.width > 0 else bin_of_stored(column, code))


cdef bint is_cut(
    const BinColumn* column, const StoredNode* node, int32_t missing_bin,
) noexcept nogil:
    """Whether exactly the bytes above a threshold go right: then a test can read the codes.

    It needs byte codes of one feature alone, a numeric split, and missing values on their side of
    it.
    """
    return (
        column.width == 1 and column.default_bin < 0 and node.last_word == node.first_word
        and (missing_bin < 0 or node.missing_left == (missing_bin <= node.bin)))


cdef bint find_interval(
    const Tree* tree, const StoredNode* node, int32_t missing_bin, const BinColumn* column,
    Test* test_out,
) noexcept nogil:
    """Find the interval of bytes, modulo 256, that go left; False if they are not an interval.

    ``test_out``: a byte goes left if (byte - low) modulo 256 is at most the limit.
    """
    cdef int32_t n = n_codes(column)
    cdef bint last = code_goes_right(tree, node, missing_bin, column, n - 1)
    cdef bint previous = last
    cdef bint right
    cdef int n_changes = 0
    # Codes that do not occur go where the last one does.
    cdef int n_left = 0 if last else BYTE_CODES - n
    cdef int32_t c
    for c in range(n):
        right = code_goes_right(tree, node, missing_bin, column, c)
        n_left += not right
        if previous and not right:
            test_out.low = <uint8_t>c
            n_changes += 1
        previous = right
    test_out.bits = 0xFF
    test_out.limit = <uint8_t>(n_left - 1)
    return n_changes == 1


# ------------------------------------------------------------------ columns of a tile


cdef void make_bits(
    const Source* source, const uint8_t* table, Py_ssize_t start, Py_ssize_t n,
    uint8_t* bits_out,
) noexcept nogil:
    """Write a bit for each row of a tile and each node of a source: whether the row goes right.

    - ``table``: the byte of bits for each code of the column, or for each stored bin of a sparse
      one.
    - ``start``, ``n``: the tile's first row, and its number of rows.
    """
    cdef const BinColumn* column = source.column
    cdef const uint8_t* bytes = <const uint8_t*>column.codes + start
    cdef const uint16_t* shorts = <const uint16_t*>column.codes + start
    cdef Py_ssize_t i
    cdef int64_t j
    if column.width == 1:
        for i in range(n):
            bits_out[i] = table[bytes[i]]
    elif column.width == 2:
        for i in range(n):
            bits_out[i] = table[shorts[i]]
    else:
        memset(bits_out, source.default_bits, n)
        j = first_from(column.rows, column.length, start)
        while j < column.length and column.rows[j] < start + n:
            bits_out[column.rows[j] - start] = table[column.stored[j]]
            j += 1


cdef Py_ssize_t load_tile(
    const ScorePlan* plan, Py_ssize_t start, const uint8_t** columns,
) noexcept nogil:
    """Find the bytes of the tile from row ``start`` on that the tests read; returns its rows.

    ``columns`` gets an address for each source. Behind the addresses is memory for bits that are
    made of codes, and for copies of codes in a short last tile.
    """
    cdef Py_ssize_t n = min(<Py_ssize_t>LEAF_TILE, plan.n_rows - start)
    cdef const Source* source = <const Source*>plan.sources.items
    cdef uint8_t* buffer = <uint8_t*>(columns + plan.sources.n)
    cdef const uint8_t* codes
    cdef int64_t j
    for j in range(plan.sources.n):
        columns[j] = buffer
        if source[j].table >= 0:
            make_bits(
                &source[j], <const uint8_t*>plan.tables.items + source[j].table, start, n,
                buffer)
            buffer += LEAF_TILE
            continue
        codes = <const uint8_t*>source[j].column.codes + start
        if n == LEAF_TILE:
            columns[j] = codes
        else:
            memcpy(buffer, codes, n)
            buffer += LEAF_TILE
    return n


cdef void score_tile(
    const ScorePlan* plan, Py_ssize_t start, const uint8_t** columns, double* score_inout,
) noexcept nogil:
    """Add the values of a tile's rows, from ``start`` on, to scores, which lie one after the other.

    ``columns``: work space: see `load_tile`.
    """
    cdef Py_ssize_t n = load_tile(plan, start, columns)
    add_values(&plan.routes, 0, columns, <int>n, 1, score_inout)


cdef void score_linear(
    const ScorePlan* plan, Py_ssize_t first, Py_ssize_t last, const uint8_t** columns,
    double* score_inout,
) noexcept nogil:
    """Add the values of the rows from ``first`` to ``last`` in linear leaves to their scores.

    It finds the leaf of each row that has a score, and then computes the values of all.
    ``columns``: work space: see `load_tile`; behind it is memory for the leaves and their models.
    """
    cdef const TreeModels* tree_models = plan.tree_models
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
            rows[n_rows] = <uint32_t>k
            if tree_models.score_index != NULL:
                rows[n_rows] = tree_models.score_index[k]
            n_rows += 1
            k += 1
    add_model_values(
        &tree_models.values, &tree_models.models, tree_models.n_leaves, tree_models.leaf_value,
        tree_models.stride, leaf, rows, n_rows, memory + SCORE_ROWS, 1, score_inout)


cdef void score_rows(
    const ScorePlan* plan, Py_ssize_t first, const uint8_t** columns, double* score_inout,
) noexcept nogil:
    """Add the values of up to SCORE_ROWS rows of the store, from ``first`` on, to their scores.

    ``score_inout``: by row, or, if the plan has ``numbers``, by position in these.
    """
    cdef Py_ssize_t last = min(first + SCORE_ROWS, plan.n_rows)
    cdef Py_ssize_t start
    cdef int64_t k
    cdef double[LEAF_TILE] values
    if plan.tree_models != NULL:
        score_linear(plan, first, last, columns, score_inout)
        return
    if plan.numbers == NULL:
        for start from first <= start < last by LEAF_TILE:
            score_tile(plan, start, columns, score_inout + start)
        return
    k = first_from(plan.numbers, plan.n_numbers, first)
    for start from first <= start < last by LEAF_TILE:
        memset(values, 0, sizeof(values))
        score_tile(plan, start, columns, values)
        while k < plan.n_numbers and plan.numbers[k] < start + LEAF_TILE:
            score_inout[k] += values[plan.numbers[k] - start]
            k += 1


cdef struct ScoreLoop:
    const ScorePlan* plan
    char* memory              # of each thread, ``thread_bytes`` bytes
    Py_ssize_t thread_bytes
    double* score


cdef void score_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Score one block of rows."""
    cdef ScoreLoop* loop = <ScoreLoop*>context
    score_rows(
        loop.plan, first, <const uint8_t**>(loop.memory + thread * loop.thread_bytes),
        loop.score)


cdef int score_all(ScorePlan* plan, int n_threads, double* score_inout) except -1 nogil:
    """Add the values of a tree to the scores of all rows of a plan, block by block."""
    cdef Py_ssize_t n_blocks = (plan.n_rows + SCORE_ROWS - 1) // SCORE_ROWS
    cdef Py_ssize_t thread_bytes = plan.sources.n * SOURCE_BYTES
    cdef const TreeModels* models = plan.tree_models
    cdef ScoreLoop loop
    if models != NULL:
        thread_bytes += sizeof(double) * (
            SCORE_ROWS + add_memory(&models.models, models.n_leaves, SCORE_ROWS))
    if plan.n_rows <= FEW_VALUES:
        n_threads = 1
    n_threads = <int>max(1, min(<Py_ssize_t>n_threads, n_blocks))
    plan.memory.n = 0
    loop = ScoreLoop(
        plan, <char*>append(&plan.memory, n_threads * thread_bytes, 1), thread_bytes, score_inout)
    parallel_shares(score_body, &loop, plan.n_rows, SCORE_ROWS, n_threads)
    return 0


# ------------------------------------------------------------------ the tree


cdef int make_slots(ScorePlan* plan, int32_t n_nodes) except -1 nogil:
    """Make an empty hash table of sources, with at least two slots for each node.

    A slot is -1, or the number of a source: see `slot_of`.
    """
    cdef int64_t n_slots = 4
    while n_slots < 2 * n_nodes:
        n_slots *= 2
    plan.slots.n = 0
    memset(append(&plan.slots, n_slots, sizeof(int32_t)), 255, n_slots * sizeof(int32_t))
    return 0


cdef int32_t* slot_of(ScorePlan* plan, const BinColumn* column, bint has_bits) noexcept nogil:
    """The slot in the hash table for a feature's last source of codes, or (``has_bits``) of bits.

    It has the number of the source; -1: there is none yet. Linear probing; the key is the number of
    the feature and ``has_bits``.
    """
    cdef int32_t* slots = <int32_t*>plan.slots.items
    cdef const Source* sources = <const Source*>plan.sources.items
    cdef const Source* source
    cdef int64_t last = plan.slots.n - 1
    cdef int64_t slot = 2 * (column - plan.columns) + has_bits & last
    while slots[slot] >= 0:
        source = &sources[slots[slot]]
        if source.column == column and (source.table >= 0) == has_bits:
            break
        slot = slot + 1 & last
    return &slots[slot]


cdef int32_t new_source(
    ScorePlan* plan, const BinColumn* column, int64_t table,
) except -1 nogil:
    """Append a source; returns its number. ``table``: see `Source`."""
    (<Source*>append(&plan.sources, 1, sizeof(Source)))[0] = Source(column, table, 0, 0)
    return <int32_t>(plan.sources.n - 1)


cdef int test_codes(
    ScorePlan* plan, const BinColumn* column, Test* test_inout,
) except -1 nogil:
    """Make a test read the codes of the store.

    The number of the source, which is made if the tree has none of this column yet, becomes
    ``test_inout.column``.
    """
    cdef int32_t* slot = slot_of(plan, column, False)
    if slot[0] < 0:
        slot[0] = new_source(plan, column, -1)
    test_inout.column = slot[0]
    return 0


cdef int test_bit(
    ScorePlan* plan, const Tree* tree, const StoredNode* node, Test* test_out
) except -1 nogil:
    """Make a test read a bit of a column that is made for it: a byte has those of eight nodes.

    The bits by code are added to the table of the source.
    """
    cdef const BinColumn* column = &plan.columns[node.feature]
    cdef int32_t missing_bin = plan.missing_bin[node.feature]
    cdef int32_t* slot = slot_of(plan, column, True)
    cdef Source* source
    cdef uint8_t* table
    cdef uint8_t bit
    cdef int32_t c
    if slot[0] < 0 or (<Source*>plan.sources.items)[slot[0]].n_nodes == NODES_PER_BYTE:
        slot[0] = new_source(plan, column, plan.tables.n)
        memset(append(&plan.tables, n_codes(column), 1), 0, n_codes(column))
    source = &(<Source*>plan.sources.items)[slot[0]]
    bit = <uint8_t>(1 << source.n_nodes)
    source.n_nodes += 1
    table = <uint8_t*>plan.tables.items + source.table
    for c in range(n_codes(column)):
        table[c] |= bit * code_goes_right(tree, node, missing_bin, column, c)
    if column.width == 0:
        source.default_bits |= bit * bin_goes_right(tree, node, missing_bin, column.default_bin)
    test_out[0] = Test(slot[0], 0, bit, 0)
    return 0


cdef int make_test(
    ScorePlan* plan, const Tree* tree, const StoredNode* node, Test* test_out
) except -1 nogil:
    """Choose the test of a node: a threshold of codes, an interval of them, or a bit."""
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
    """Turn the splits of a tree into tests of bytes, and score all rows of a plan.

    ``score_inout``: see `score_rows`.
    """
    cdef int32_t n_leaves = tree.n_nodes + 1
    cdef double* values
    cdef Test* tests
    cdef int32_t* left
    cdef int32_t* right
    cdef int32_t i
    clear_routes(&plan.routes)
    plan.sources.n = plan.tables.n = plan.memory.n = 0
    make_slots(plan, tree.n_nodes)
    values = <double*>append(
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
    """Free the memory of a plan."""
    free_routes(&plan.routes)
    free(plan.sources.items)
    free(plan.tables.items)
    free(plan.slots.items)
    free(plan.memory.items)


cdef class LeafModelTable:
    """The models of a round's leaves, and the values of the columns of some rows.

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

    cdef LeafModels models(self) noexcept:
        """Pointers to the models, valid as long as this object."""
        return LeafModels(
            &self.start[0], &self.feature[0], &self.coefficient[0], &self.constant[0],
            &self.lower[0], &self.upper[0])


def add_tree(
    BinStore store, nodes: NDArray[np.void], const int32_t[::1] missing_bin,
    const uint32_t[::1] words, const double[::1] leaf_value, int n_threads,
    double[::1] score_inout, const uint32_t[::1] numbers=None, LeafModelTable leaf_models=None,
    int64_t first_leaf=0,
):
    """Add one tree's leaf values to the scores of all rows, or of some.

    - ``nodes``, (n_nodes,), ``words``: contiguous, as from `Forest.arrays`.
    - ``missing_bin``, (n_features,): -1 where there is none.
    - ``leaf_value``, (n_nodes + 1,).
    - ``numbers``, (n_rows,): the rows of the store that have scores, ascending; None: all.
    - ``leaf_models``: the models of the leaves, from ``first_leaf`` on; None: they are constant.
    """
    cdef ScorePlan plan = new_plan(store, &missing_bin[0], score_inout.shape[0], numbers)
    cdef const uint32_t* sets = &words[0] if words.shape[0] else NULL
    cdef Tree tree = Tree(nodes_of(nodes), &leaf_value[0], 1, <int32_t>len(nodes), sets)
    cdef TreeModels tree_models
    cdef LeafModels models
    if leaf_models is not None:
        models = leaf_models.models()
        tree_models = TreeModels(
            leaf_models.values, models_from(&models, first_leaf), leaf_value.shape[0],
            &leaf_value[0], 1, NULL)
        plan.tree_models = &tree_models
    try:
        with nogil:
            score_tree(&plan, &tree, n_threads, &score_inout[0])
    finally:
        free_plan(&plan)


# The trees of a forest. Only the thread that trains changes them, and it reads them here.
cdef struct Trees:
    const StoredNode* nodes
    const StoredLeaf* leaves
    const int64_t* leaf_start
    const uint32_t* words


cdef Trees trees_of(Forest forest) noexcept:
    """Pointers to a forest's trees, valid until trees are added."""
    return Trees(forest.nodes, forest.leaves, forest.leaf_start, forest.set_words)


cdef Tree tree_of(const Trees* trees, int64_t number) noexcept nogil:
    """Tree ``number``; as a tree of k leaves has k - 1 nodes, its nodes begin that much earlier."""
    cdef const int64_t* start = trees.leaf_start + number
    return Tree(
        trees.nodes + start[0] - number, &trees.leaves[start[0]].value, VALUE_STRIDE,
        <int32_t>(start[1] - start[0] - 1), trees.words)


cdef struct AddedTrees:
    int64_t first             # of the trees
    int64_t end
    int64_t n_scores
    const Values* values      # of the rows, if leaves are linear; NULL: they are constant
    LeafModels models         # of the leaves of all of these trees
    const double* base_scores  # to which the trees are added; NULL: the scores themselves


cdef int score_trees(
    ScorePlan* plan, const Trees* trees, const AddedTrees* added, int n_threads,
    double* scores_inout, Py_ssize_t stride,
) except -1 nogil:
    """Add the leaf values of some trees, one for each score in turn.

    ``scores_inout``: (n_scores, stride).
    """
    cdef int64_t first_leaf = trees.leaf_start[added.first]
    cdef TreeModels tree_models
    cdef Tree tree
    cdef int64_t k
    if added.base_scores != NULL:
        memcpy(scores_inout, added.base_scores, added.n_scores * stride * sizeof(double))
    for k in range(added.first, added.end):
        tree = tree_of(trees, k)
        if added.values != NULL:
            tree_models = TreeModels(
                added.values[0], models_from(&added.models, trees.leaf_start[k] - first_leaf),
                tree.n_nodes + 1, tree.leaf_value, tree.stride, NULL)
            plan.tree_models = &tree_models
        score_tree(
            plan, &tree, n_threads, scores_inout + (k - added.first) % added.n_scores * stride)
    return 0


cdef struct NumberLoop:
    const double* number
    int32_t* leaf


cdef void number_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef NumberLoop* loop = <NumberLoop*>context
    cdef Py_ssize_t i
    for i in range(first, end):
        loop.leaf[i] = <int32_t>loop.number[i]


cdef int find_leaves(
    ScorePlan* plan, Tree tree, int n_threads, double* number, Py_ssize_t n_rows, int32_t* leaf_out,
) except -1 nogil:
    """Find the leaf of each row in a tree: the score that its number as a value would give."""
    cdef NumberLoop loop = NumberLoop(number, leaf_out)
    cdef double* values = <double*>malloc((tree.n_nodes + 1) * sizeof(double))
    cdef int32_t i
    if values == NULL:
        raise MemoryError("could not allocate memory for leaf numbers")
    for i in range(tree.n_nodes + 1):
        values[i] = i
    tree.leaf_value, tree.stride = values, 1
    memset(number, 0, n_rows * sizeof(double))
    try:
        score_tree(plan, &tree, n_threads, number)
    finally:
        free(values)
    parallel_shares(number_body, &loop, n_rows, NUMBER_BLOCK, n_threads)
    return 0


cdef int score_shared_trees(
    ScorePlan* plan, Forest forest, const Trees* trees, const AddedTrees* added, int n_threads,
    double* scores_inout, Py_ssize_t n_rows,
) except -1 nogil:
    """`score_trees` of constant leaves, where the trees of a round have the same splits."""
    cdef Py_ssize_t n_values = added.n_scores * n_rows
    cdef double* number = <double*>malloc(n_rows * (sizeof(double) + sizeof(int32_t)))
    cdef int32_t* leaf = <int32_t*>(number + n_rows)
    cdef int64_t first = added.first
    if number == NULL:
        raise MemoryError("could not allocate memory for leaf numbers")
    if added.base_scores != NULL:
        memcpy(scores_inout, added.base_scores, n_values * sizeof(double))
    try:
        while first < added.end:
            find_leaves(plan, tree_of(trees, first), n_threads, number, n_rows, leaf)
            add_shared_trees(
                forest, first, leaf, n_rows, n_threads, scores_inout, added.n_scores)
            first += added.n_scores
    finally:
        free(number)
    return 0


def add_trees(
    Forest forest, int64_t first_tree, BinStore store, const int32_t[::1] missing_bin,
    int n_threads, double[:, ::1] scores_inout, const uint32_t[::1] numbers=None,
    LeafModelTable leaf_models=None, const double[:, ::1] base_scores=None,
    bint are_shared=False,
):
    """Add the trees of a forest from ``first_tree`` on to scores, in turn one for each score.

    - ``missing_bin``, (n_features,): -1 where there is none.
    - ``numbers``, (n_rows,): the rows of the store that have scores, ascending; None: all.
    - ``leaf_models``: the models of the trees' leaves; None: they are constant.
    - ``base_scores``: the scores that the trees are added to; None: those of ``scores_inout``.
    - ``are_shared``: whether the trees of a round have the same splits.
    """
    cdef ScorePlan plan = new_plan(store, &missing_bin[0], scores_inout.shape[1], numbers)
    cdef Trees trees = trees_of(forest)
    cdef AddedTrees added
    cdef Py_ssize_t n_rows = scores_inout.shape[1]
    added.first, added.end = first_tree, forest.n_trees
    added.n_scores, added.values = scores_inout.shape[0], NULL
    added.base_scores = &base_scores[0, 0] if base_scores is not None else NULL
    if leaf_models is not None:
        added.values, added.models = &leaf_models.values, leaf_models.models()
    try:
        if are_shared and leaf_models is None and n_rows > 0:
            with nogil:
                score_shared_trees(
                    &plan, forest, &trees, &added, n_threads, &scores_inout[0, 0], n_rows)
        elif n_rows <= FEW_VALUES:
            score_trees(&plan, &trees, &added, n_threads, &scores_inout[0, 0], n_rows)
        else:
            with nogil:
                score_trees(&plan, &trees, &added, n_threads, &scores_inout[0, 0], n_rows)
    finally:
        free_plan(&plan)


cdef int add_leaf_models(
    Forest forest, int64_t number, BinStore store, const int32_t* missing_bin, int n_threads,
    const Values* values, const LeafModels* models, const uint32_t* numbers,
    const uint32_t* score_index, Py_ssize_t n, double* score_inout,
) except -1:
    """Add the values of n rows in tree ``number`` of a forest, whose leaves are linear, to scores.

    - ``models``: begin with that of the tree's first leaf.
    - ``numbers``, (n,): the rows' numbers in the store, ascending.
    - ``score_index``, (n,): where their scores and values are.
    """
    cdef ScorePlan plan = new_plan(store, missing_bin, store.n_rows, None)
    cdef Trees trees = trees_of(forest)
    cdef Tree tree = tree_of(&trees, number)
    cdef TreeModels tree_models = TreeModels(
        values[0], models[0], tree.n_nodes + 1, tree.leaf_value, tree.stride, score_index)
    plan.tree_models = &tree_models
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
    """A plan without trees, for all rows of a store or for those of ``numbers``.

    ``n_rows``: the number of rows that have scores. ``numbers``, (n_rows,): theirs in the store,
    ascending; None: all rows.
    """
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
