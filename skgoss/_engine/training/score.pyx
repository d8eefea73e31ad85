# cython: language_level=3
"""One tree over the binned rows of a `BinStore`: the scores of rows it was not grown on.

Small trees are scored by masks of leaves, tile by tile (see predict.pyx): a node's test is
one vector comparison where the codes that go right are neighbours. Rows walk large trees.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skgoss._engine.runtime cimport omp_get_thread_num
from skgoss._engine.data.store cimport BinColumn, BinStore, bin_of_code, bin_of_stored
from skgoss._engine.training.forest cimport Forest, StoredLeaf, StoredNode, nodes_of

cdef extern from "score.h" nogil:
    enum:
        SCORE_TILE
    void right_interval(
        const uint8_t* code, Py_ssize_t n, uint8_t low, uint8_t span, uint8_t* right_out)
    void keep_leaves(const uint8_t* right, Py_ssize_t n, uint8_t mask, uint8_t* plane)
    void first_leaf(const uint8_t* planes, int n_planes, uint8_t* leaf_out)

cdef enum:
    BYTE_CODES = 256
    MAX_MASKED_LEAVES = 256
    MAX_PLANES = 32
    TILE_ROOM = (MAX_PLANES + 2) * SCORE_TILE


# Which rows a node sends to the right.
cdef struct Test:
    const BinColumn* column
    const uint8_t* right      # 0xFF by code, or by stored bin where the column is a list
    uint8_t others            # of a list: of rows that are not in it
    bint is_interval          # of bytes: span + 1 codes from low on go right
    uint8_t low
    uint8_t span


cdef struct Plan:
    const StoredNode* nodes
    Test* tests
    int32_t n_nodes
    bint is_masked            # tiles are masked, else walked
    int32_t* first            # leaf under each node's left child, from left to right
    int32_t* size             # leaves under it
    double* value             # of the leaves, from left to right if rows are masked


# ------------------------------------------------------------------ what goes right


cdef inline bint bin_goes_left(
    int32_t b, int32_t threshold, bint missing_left, int32_t missing_bin,
    const uint32_t* words, int64_t n_words,
) noexcept nogil:
    if n_words > 0:
        return words[b // 32] >> (b % 32) & 1
    return missing_left if b == missing_bin else b <= threshold


cdef int32_t n_codes(const BinColumn* column) noexcept nogil:
    if column.width == 1:
        return BYTE_CODES
    return column.n_bins


cdef void find_interval(Test* test) noexcept nogil:
    """Look whether the bytes that go right are neighbours on the circle."""
    cdef int n_changes = 0
    cdef int n_right = 0
    cdef int c
    for c in range(BYTE_CODES):
        n_right += test.right[c] & 1
        if test.right[c] and not test.right[(c + BYTE_CODES - 1) % BYTE_CODES]:
            test.low = <uint8_t>c
            n_changes += 1
    test.is_interval = n_changes == 1
    test.span = <uint8_t>(n_right - 1)


# ------------------------------------------------------------------ tiles


cdef inline int64_t first_in_list(const BinColumn* column, Py_ssize_t row) noexcept nogil:
    cdef int64_t low = 0
    cdef int64_t high = column.length
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if column.rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


cdef void right_rows(
    const Test* test, Py_ssize_t start, Py_ssize_t n, uint8_t* right_out,
) noexcept nogil:
    """0xFF for the rows of a tile that go right at a node, else 0."""
    cdef const BinColumn* column = test.column
    cdef const uint8_t* bytes = <const uint8_t*>column.codes + start
    cdef const uint16_t* shorts = <const uint16_t*>column.codes + start
    cdef Py_ssize_t i
    cdef int64_t at
    if test.is_interval:
        right_interval(bytes, n, test.low, test.span, right_out)
    elif column.width == 1:
        for i in range(n):
            right_out[i] = test.right[bytes[i]]
    elif column.width == 2:
        for i in range(n):
            right_out[i] = test.right[shorts[i]]
    else:
        memset(right_out, test.others, n)
        at = first_in_list(column, start)
        while at < column.length and column.rows[at] < start + n:
            right_out[column.rows[at] - start] = test.right[column.stored[at]]
            at += 1


cdef void mask_tile(
    const Plan* plan, Py_ssize_t start, Py_ssize_t n, uint8_t* scratch, double* score_inout,
) noexcept nogil:
    cdef int n_planes = (plan.n_nodes + 8) // 8
    cdef uint8_t* planes = scratch
    cdef uint8_t* right = scratch + MAX_PLANES * SCORE_TILE
    cdef uint8_t* leaf = right + SCORE_TILE
    cdef int plane, begin, end
    cdef int32_t node
    cdef Py_ssize_t i
    memset(planes, 255, n_planes * SCORE_TILE)
    for node in range(plan.n_nodes):
        right_rows(&plan.tests[node], start, n, right)
        for plane in range(
            plan.first[node] // 8, (plan.first[node] + plan.size[node] - 1) // 8 + 1,
        ):
            begin = max(plan.first[node] - 8 * plane, 0)
            end = min(plan.first[node] + plan.size[node] - 8 * plane, 8)
            keep_leaves(
                right, n, <uint8_t>(255 ^ ((1 << end) - (1 << begin))),
                planes + plane * SCORE_TILE)
    first_leaf(planes, n_planes, leaf)
    for i in range(n):
        score_inout[start + i] += plan.value[leaf[i]]


cdef inline bint row_goes_right(const Test* test, Py_ssize_t row) noexcept nogil:
    cdef const BinColumn* column = test.column
    cdef int64_t at
    if column.width == 1:
        return test.right[(<const uint8_t*>column.codes)[row]]
    if column.width == 2:
        return test.right[(<const uint16_t*>column.codes)[row]]
    at = first_in_list(column, row)
    if at < column.length and column.rows[at] == row:
        return test.right[column.stored[at]]
    return test.others


cdef void walk_tile(
    const Plan* plan, Py_ssize_t start, Py_ssize_t n, double* score_inout,
) noexcept nogil:
    cdef Py_ssize_t row
    cdef int32_t node
    for row in range(start, start + n):
        node = 0
        while node >= 0:
            if row_goes_right(&plan.tests[node], row):
                node = plan.nodes[node].right
            else:
                node = plan.nodes[node].left
        score_inout[row] += plan.value[~node]


# ------------------------------------------------------------------ the tree


cdef void span_leaves(Plan* plan, const double* leaf_value, Py_ssize_t stride) noexcept nogil:
    """Number the leaves from left to right, and find those under each left child."""
    cdef int32_t i, side, child, start
    for i in range(plan.n_nodes - 1, -1, -1):
        # All leaves below node i, until the second loop comes to it.
        plan.size[i] = 0
        for side in range(2):
            child = plan.nodes[i].right if side else plan.nodes[i].left
            plan.size[i] += plan.size[child] if child >= 0 else 1
    plan.first[0] = 0
    for i in range(plan.n_nodes):
        start = plan.first[i]
        child = plan.nodes[i].left
        plan.size[i] = plan.size[child] if child >= 0 else 1
        for side in range(2):
            child = plan.nodes[i].right if side else plan.nodes[i].left
            if child >= 0:
                plan.first[child] = start
            else:
                plan.value[start] = leaf_value[~child * stride]
            start += plan.size[i]


def add_tree(
    BinStore store,
    nodes,
    const int32_t[::1] missing_bin,
    const uint32_t[::1] words,
    const double[::1] leaf_value,
    int n_threads,
    double[::1] score_inout,
):
    """Add one tree's leaf values to the scores of all rows.

    Parameters
    ----------
    store : BinStore
    nodes : structured ndarray of shape (n_nodes,)
        Contiguous, as from `Forest.arrays`.
    missing_bin : ndarray of shape (n_features,), int32
        By feature; -1 where there is none.
    words : ndarray of uint32
        The sets of the categorical nodes, as from `Forest.words`.
    leaf_value : ndarray of shape (n_nodes + 1,), float64
    n_threads : int
    score_inout : ndarray of shape (n_rows,), float64
    """
    score_tree(
        store, nodes_of(nodes), len(nodes), &missing_bin[0],
        &words[0] if words.shape[0] else NULL, &leaf_value[0], 1, n_threads,
        &score_inout[0], score_inout.shape[0])


def add_trees(
    Forest forest, int64_t first_tree, BinStore store, const int32_t[::1] missing_bin,
    int n_threads, double[:, ::1] scores_inout,
):
    """Add the trees of a forest from one on, a tree for each score: see `add_tree`.

    Parameters
    ----------
    forest : Forest
    first_tree : int
    store : BinStore
    missing_bin : ndarray of shape (n_features,), int32
    n_threads : int
    scores_inout : ndarray of shape (n_scores, n_rows), float64
    """
    cdef const int64_t* start = forest.leaf_start + first_tree
    cdef Py_ssize_t k
    for k in range(scores_inout.shape[0]):
        score_tree(
            store, forest.nodes + start[k] - first_tree - k,
            <int32_t>(start[k + 1] - start[k] - 1), &missing_bin[0], forest.set_words,
            &forest.leaves[start[k]].value, sizeof(StoredLeaf) // sizeof(double), n_threads,
            &scores_inout[k, 0], scores_inout.shape[1])


cdef size_t aligned(size_t size) noexcept nogil:
    """The size, rounded up so that numbers of any type may follow."""
    return (size + 15) // 16 * 16


cdef int score_tree(
    BinStore store, const StoredNode* nodes, int32_t n_nodes, const int32_t* missing_bin,
    const uint32_t* words, const double* leaf_value, Py_ssize_t stride, int n_threads,
    double* score_inout, Py_ssize_t n_rows,
) except -1:
    """Add one tree. ``stride``: how many doubles lie from a leaf's value to the next."""
    cdef Py_ssize_t n_tiles = (n_rows + SCORE_TILE - 1) // SCORE_TILE
    cdef size_t at_first = aligned(n_nodes * sizeof(Test))
    cdef size_t at_values = at_first + aligned(2 * n_nodes * sizeof(int32_t))
    cdef size_t at_tiles = at_values + aligned((n_nodes + 1) * sizeof(double))
    cdef size_t at_table
    cdef size_t n_table = 0
    cdef Plan plan
    cdef char* room
    cdef Py_ssize_t i
    if n_nodes == 0:
        for i in range(n_rows):
            score_inout[i] += leaf_value[0]
        return 0
    n_threads = <int>max(1, min(<Py_ssize_t>n_threads, n_tiles))
    at_table = at_tiles + n_threads * TILE_ROOM
    for i in range(n_nodes):
        n_table += n_codes(&store.columns[nodes[i].feature])
    room = <char*>malloc(at_table + n_table)
    if room == NULL:
        raise MemoryError("could not allocate memory for scores")
    plan.nodes = nodes
    plan.n_nodes = n_nodes
    plan.is_masked = n_nodes < MAX_MASKED_LEAVES
    plan.tests = <Test*>room
    plan.first = <int32_t*>(room + at_first)
    plan.size = plan.first + n_nodes
    plan.value = <double*>(room + at_values)
    fill_tests(&plan, store.columns, missing_bin, words, <uint8_t*>room + at_table)
    if plan.is_masked:
        span_leaves(&plan, leaf_value, stride)
    else:
        for i in range(n_nodes + 1):
            plan.value[i] = leaf_value[i * stride]
    score_tiles(&plan, n_tiles, n_threads, <uint8_t*>room + at_tiles, score_inout, n_rows)
    free(room)
    return 0


cdef void score_tiles(
    const Plan* plan, Py_ssize_t n_tiles, int n_threads, uint8_t* scratch,
    double* score_inout, Py_ssize_t n_rows,
) noexcept:
    cdef Py_ssize_t tile, start, n
    for tile in prange(
        n_tiles, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        start = tile * SCORE_TILE
        n = min(<Py_ssize_t>SCORE_TILE, n_rows - start)
        if plan.is_masked:
            mask_tile(
                plan, start, n, scratch + omp_get_thread_num() * TILE_ROOM, score_inout)
        else:
            walk_tile(plan, start, n, score_inout)


cdef void fill_tests(
    Plan* plan, const BinColumn* columns, const int32_t* missing_bin, const uint32_t* words,
    uint8_t* right,
) noexcept nogil:
    cdef const StoredNode* node
    cdef const BinColumn* column
    cdef const uint32_t* of_node
    cdef int32_t i
    for i in range(plan.n_nodes):
        node = &plan.nodes[i]
        column = &columns[node.feature]
        of_node = words + node.first_word
        plan.tests[i].column = column
        plan.tests[i].right = right
        if not plan.is_masked or not is_cut(column, node, missing_bin[node.feature]):
            fill_test(
                node.bin, node.missing_left, missing_bin[node.feature], of_node,
                node.last_word - node.first_word, right, &plan.tests[i])
        else:
            plan.tests[i].is_interval = True
            plan.tests[i].low = <uint8_t>(column.first_code + node.bin + 1)
            plan.tests[i].span = <uint8_t>(BYTE_CODES - 1 - plan.tests[i].low)
        right += n_codes(column)


cdef bint is_cut(
    const BinColumn* column, const StoredNode* node, int32_t missing_bin,
) noexcept nogil:
    """Whether all bytes above a threshold go right, and no others."""
    return (
        column.width == 1 and column.implied < 0 and node.last_word == node.first_word
        and (missing_bin < 0 or node.missing_left == (missing_bin <= node.bin)))


cdef void fill_test(
    int32_t threshold, bint missing_left, int32_t missing_bin, const uint32_t* words,
    int64_t n_words, uint8_t* right, Test* test_inout,
) noexcept nogil:
    """Tabulate which codes of a column go right."""
    cdef const BinColumn* column = test_inout.column
    cdef int32_t last = n_codes(column)
    cdef int32_t c, b
    test_inout.is_interval = False
    if column.width == 1 and column.implied < 0:
        last = column.n_bins
    elif column.width == 0:
        last = column.n_bins - 1
        test_inout.others = 0 if bin_goes_left(
            column.implied, threshold, missing_left, missing_bin, words, n_words) else 255
    for c in range(last):
        b = bin_of_code(column, c) if column.width > 0 else bin_of_stored(column, c)
        right[c] = 0 if bin_goes_left(
            b, threshold, missing_left, missing_bin, words, n_words) else 255
    if column.width == 1:
        # Codes that do not occur do as the last one does, for the intervals' sake.
        memset(right + last, right[last - 1], BYTE_CODES - last)
        find_interval(test_inout)
