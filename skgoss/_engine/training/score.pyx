# cython: language_level=3
"""One tree over the binned rows of a `BinStore`: the scores of rows it was not grown on.

Small trees are scored by masks of leaves, tile by tile (see predict.pyx): a node's test is
one vector comparison where the codes that go right are neighbours. Rows walk large trees.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from skgoss._engine.runtime cimport omp_get_thread_num
from skgoss._engine.data.store cimport BinColumn, BinStore, bin_of_code, bin_of_stored
from skgoss._engine.training.forest cimport StoredNode, nodes_of

import numpy as np

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


# Which rows a node sends to the right.
cdef struct Test:
    const BinColumn* column
    const uint8_t* right      # 0xFF by code, or by stored bin where the column is a list
    uint8_t others            # of a list: of rows that are not in it
    bint is_interval          # of bytes: `right` is 0xFF for span + 1 codes from low on
    uint8_t low
    uint8_t span


cdef struct Plan:
    const StoredNode* nodes
    Test* tests
    int32_t n_nodes
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


cdef void span_leaves(Plan* plan, const double* leaf_value) noexcept nogil:
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
                plan.value[start] = leaf_value[~child]
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
    cdef const StoredNode* node
    cdef double[::1] value = np.array(leaf_value)
    cdef int32_t[:, ::1] spans
    cdef uint8_t[::1] table
    cdef Plan plan
    cdef int64_t n_table = 0
    cdef int32_t i
    plan.n_nodes = len(nodes)
    if plan.n_nodes == 0:
        np.asarray(score_inout)[:] += leaf_value[0]
        return
    plan.nodes = nodes_of(nodes)
    for i in range(plan.n_nodes):
        n_table += n_codes(&store.columns[plan.nodes[i].feature])
    table = np.empty(n_table, dtype=np.uint8)
    spans = np.empty((2, plan.n_nodes), dtype=np.int32)
    plan.first = &spans[0, 0]
    plan.size = &spans[1, 0]
    plan.value = &value[0]
    plan.tests = <Test*>calloc(plan.n_nodes, sizeof(Test))
    if plan.tests == NULL:
        raise MemoryError
    n_table = 0
    for i in range(plan.n_nodes):
        node = &plan.nodes[i]
        fill_test(
            store.columns + node.feature, node.bin, node.missing_left,
            missing_bin[node.feature],
            &words[node.first_word] if node.last_word > node.first_word else NULL,
            node.last_word - node.first_word, &table[n_table], &plan.tests[i])
        n_table += n_codes(&store.columns[node.feature])
    if plan.n_nodes < MAX_MASKED_LEAVES:
        span_leaves(&plan, &leaf_value[0])
    try:
        score_tiles(&plan, n_threads, score_inout)
    finally:
        free(plan.tests)


cdef score_tiles(const Plan* plan, int n_threads, double[::1] score_inout):
    cdef Py_ssize_t n_rows = score_inout.shape[0]
    cdef Py_ssize_t n_tiles = (n_rows + SCORE_TILE - 1) // SCORE_TILE
    cdef Py_ssize_t tile, start, n
    n_threads = <int>max(1, min(<Py_ssize_t>n_threads, n_tiles))
    cdef uint8_t[:, ::1] scratch = np.empty(
        (n_threads, (MAX_PLANES + 2) * SCORE_TILE), dtype=np.uint8)
    for tile in prange(
        n_tiles, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        start = tile * SCORE_TILE
        n = min(<Py_ssize_t>SCORE_TILE, n_rows - start)
        if plan.n_nodes < MAX_MASKED_LEAVES:
            mask_tile(
                plan, start, n, &scratch[omp_get_thread_num(), 0], &score_inout[0])
        else:
            walk_tile(plan, start, n, &score_inout[0])


cdef void fill_test(
    const BinColumn* column, int32_t threshold, bint missing_left, int32_t missing_bin,
    const uint32_t* words, int64_t n_words, uint8_t* right, Test* test_out,
) noexcept nogil:
    """Tabulate which codes of a column go right."""
    cdef int32_t last = n_codes(column)
    cdef int32_t c, b
    test_out.column = column
    test_out.right = right
    if column.width == 1 and column.implied < 0:
        last = column.n_bins
    elif column.width == 0:
        last = column.n_bins - 1
        test_out.others = 0 if bin_goes_left(
            column.implied, threshold, missing_left, missing_bin, words, n_words) else 255
    for c in range(last):
        b = bin_of_code(column, c) if column.width > 0 else bin_of_stored(column, c)
        right[c] = 0 if bin_goes_left(
            b, threshold, missing_left, missing_bin, words, n_words) else 255
    if column.width == 1:
        # Codes that do not occur do as the last one does, for the intervals' sake.
        memset(right + last, right[last - 1], BYTE_CODES - last)
        find_interval(test_out)
