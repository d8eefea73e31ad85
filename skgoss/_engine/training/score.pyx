# cython: language_level=3
"""One tree over the binned rows of a `BinStore`: the scores of rows it was not grown on.

The columns of bytes of the store are those that `leaves` tests, where the codes that go right
at a node are neighbours. For other nodes columns of bits are made tile by tile, one for up to
eight nodes of a feature.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from skgoss._engine.runtime cimport omp_get_thread_num
from skgoss._engine.data.store cimport BinColumn, BinStore, bin_of_code, bin_of_stored
from skgoss._engine.model.leaves cimport (
    LEAF_TILE, Routes, Test, add_route, add_values, free_routes,
)
from skgoss._engine.training.forest cimport StoredNode, nodes_of

import numpy as np

cdef enum:
    BYTE_CODES = 256
    NODES_OF_A_BYTE = 8
    # Rows that a thread takes at once.
    SCORE_ROWS = 16 * LEAF_TILE


# What a node says of the codes of its column.
cdef struct Codes:
    uint8_t right[65536]      # 1 by code, or by stored bin where the column is a list
    uint8_t others            # of a list: for rows that are not in it


# A column of bytes of a tile: codes of the store, or a bit for each of some nodes.
cdef struct Source:
    const BinColumn* column
    uint8_t* table            # the bits by code or stored bin; NULL: the codes themselves
    uint8_t others
    int n_nodes


cdef struct Plan:
    Routes routes
    Source* sources
    int32_t n_sources
    Py_ssize_t n_rows


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


cdef void fill_codes(
    const BinColumn* column, const StoredNode* node, int32_t missing_bin,
    const uint32_t* words, Codes* codes_out,
) noexcept nogil:
    """Tabulate which codes of a column go right."""
    cdef int64_t n_words = node.last_word - node.first_word
    cdef int32_t last = n_codes(column)
    cdef int32_t c, b
    codes_out.others = 0
    if column.width == 1 and column.implied < 0:
        last = column.n_bins
    elif column.width == 0:
        last = column.n_bins - 1
        codes_out.others = not bin_goes_left(
            column.implied, node.bin, node.missing_left, missing_bin, words, n_words)
    for c in range(last):
        b = bin_of_code(column, c) if column.width > 0 else bin_of_stored(column, c)
        codes_out.right[c] = not bin_goes_left(
            b, node.bin, node.missing_left, missing_bin, words, n_words)
    if column.width == 1:
        # Codes that do not occur do as the last one does, for the intervals' sake.
        memset(codes_out.right + last, codes_out.right[last - 1], BYTE_CODES - last)


cdef bint is_ordinary(
    const BinColumn* column, const StoredNode* node, int32_t missing_bin
) noexcept nogil:
    """Whether the codes above the threshold go right, and the others left."""
    return (
        column.width == 1 and column.implied < 0 and node.last_word == node.first_word
        and (missing_bin < 0 or (missing_bin == column.n_bins - 1 and not node.missing_left))
    )


cdef bint find_interval(const uint8_t* right, Test* test_out) noexcept nogil:
    """Look whether the bytes that go left are neighbours on the circle."""
    cdef int n_changes = 0
    cdef int n_left = 0
    cdef int c
    for c in range(BYTE_CODES):
        n_left += not right[c]
        if not right[c] and right[(c + BYTE_CODES - 1) % BYTE_CODES]:
            test_out.low = <uint8_t>c
            n_changes += 1
    test_out.bits = 0xFF
    test_out.limit = <uint8_t>(n_left - 1)
    return n_changes == 1


# ------------------------------------------------------------------ columns of a tile


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


cdef void make_bits(
    const Source* source, Py_ssize_t start, Py_ssize_t n, uint8_t* bits_out,
) noexcept nogil:
    """Of each row of a tile, at which of the source's nodes it goes right."""
    cdef const BinColumn* column = source.column
    cdef const uint8_t* bytes = <const uint8_t*>column.codes + start
    cdef const uint16_t* shorts = <const uint16_t*>column.codes + start
    cdef Py_ssize_t i
    cdef int64_t at
    if column.width == 1:
        for i in range(n):
            bits_out[i] = source.table[bytes[i]]
    elif column.width == 2:
        for i in range(n):
            bits_out[i] = source.table[shorts[i]]
    else:
        memset(bits_out, source.others, n)
        at = first_in_list(column, start)
        while at < column.length and column.rows[at] < start + n:
            bits_out[column.rows[at] - start] = source.table[column.stored[at]]
            at += 1


cdef void score_tile(
    const Plan* plan, Py_ssize_t start, uint8_t* made, const uint8_t** columns,
    double* score_inout,
) noexcept nogil:
    """Add the values of a tile's rows; `made` has room for all columns of a tile."""
    cdef Py_ssize_t n = min(<Py_ssize_t>LEAF_TILE, plan.n_rows - start)
    cdef const Source* source
    cdef const uint8_t* codes
    cdef int32_t j
    for j in range(plan.n_sources):
        source = &plan.sources[j]
        columns[j] = made
        if source.table != NULL:
            make_bits(source, start, n, made)
            made += LEAF_TILE
            continue
        codes = <const uint8_t*>source.column.codes + start
        if n == LEAF_TILE:
            columns[j] = codes
        else:
            memcpy(made, codes, n)
            made += LEAF_TILE
    add_values(&plan.routes, 0, columns, <int>n, 1, score_inout + start)


cdef void score_rows(
    const Plan* plan, Py_ssize_t first, uint8_t* made, const uint8_t** columns,
    double* score_inout,
) noexcept nogil:
    cdef Py_ssize_t start
    for start from first <= start < min(first + SCORE_ROWS, plan.n_rows) by LEAF_TILE:
        score_tile(plan, start, made, columns, score_inout)


cdef score_all(const Plan* plan, int n_threads, double[::1] score_inout):
    cdef Py_ssize_t n_parts = (plan.n_rows + SCORE_ROWS - 1) // SCORE_ROWS
    cdef Py_ssize_t part
    cdef int thread
    n_threads = <int>max(1, min(<Py_ssize_t>n_threads, n_parts))
    cdef uint8_t[:, ::1] made = np.empty(
        (n_threads, plan.n_sources * LEAF_TILE), dtype=np.uint8)
    cdef uint64_t[:, ::1] columns = np.empty((n_threads, plan.n_sources), dtype=np.uint64)
    for part in prange(
        n_parts, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        thread = omp_get_thread_num()
        score_rows(
            plan, part * SCORE_ROWS, &made[thread, 0],
            <const uint8_t**> &columns[thread, 0], &score_inout[0])


# ------------------------------------------------------------------ the tree


cdef class Planner:
    """What a tree tests, and the columns of bytes that its tests read."""

    cdef Plan plan
    cdef Codes codes
    cdef int32_t[::1] open_codes      # by feature: its source of codes, -1: none
    cdef int32_t[::1] open_bits       # its last source of bits
    cdef list tables

    def __dealloc__(self):
        free_routes(&self.plan.routes)
        free(self.plan.sources)

    cdef int start(self, BinStore store, Py_ssize_t n_nodes) except -1:
        self.plan.sources = <Source*>calloc(2 * n_nodes, sizeof(Source))
        if self.plan.sources == NULL:
            raise MemoryError
        self.plan.n_rows = store.n_rows
        self.open_codes = np.full(store.n_features, -1, dtype=np.int32)
        self.open_bits = np.full(store.n_features, -1, dtype=np.int32)
        self.tables = []
        return 0

    cdef int test(
        self, const BinColumn* column, const StoredNode* node, int32_t missing_bin,
        const uint32_t* words, Test* test_out,
    ) except -1:
        if is_ordinary(column, node, missing_bin):
            test_out[0] = Test(0, 0, 0xFF, <uint8_t>(column.first_code + node.bin))
        else:
            fill_codes(column, node, missing_bin, words, &self.codes)
            if column.width != 1 or not find_interval(self.codes.right, test_out):
                return self.test_bit(column, node.feature, test_out)
        if self.open_codes[node.feature] < 0:
            self.open_codes[node.feature] = self.source(column, NULL)
        test_out.column = self.open_codes[node.feature]
        return 0

    cdef int test_bit(
        self, const BinColumn* column, int32_t feature, Test* test_out
    ) except -1:
        """Let the node have a bit of a column that is made for it."""
        cdef uint8_t[::1] table
        cdef int32_t at = self.open_bits[feature]
        cdef Source* source
        cdef uint8_t bit
        cdef int32_t c
        if at < 0 or self.plan.sources[at].n_nodes == NODES_OF_A_BYTE:
            table = np.zeros(n_codes(column), dtype=np.uint8)
            self.tables.append(table)
            at = self.open_bits[feature] = self.source(column, &table[0])
        source = &self.plan.sources[at]
        bit = <uint8_t>(1 << source.n_nodes)
        source.n_nodes += 1
        source.others |= bit * self.codes.others
        for c in range(n_codes(column)):
            source.table[c] |= bit * self.codes.right[c]
        test_out[0] = Test(at, 0, bit, 0)
        return 0

    cdef int32_t source(self, const BinColumn* column, uint8_t* table) noexcept:
        self.plan.sources[self.plan.n_sources] = Source(column, table, 0, 0)
        self.plan.n_sources += 1
        return self.plan.n_sources - 1


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
    cdef int32_t n_nodes = <int32_t>len(nodes)
    cdef Planner planner = Planner()
    cdef const StoredNode* stored
    cdef int32_t i
    if n_nodes == 0:
        np.asarray(score_inout)[:] += leaf_value[0]
        return
    stored = nodes_of(nodes)
    planner.start(store, n_nodes)
    cdef int32_t[:, ::1] children = np.empty((2, n_nodes), dtype=np.int32)
    cdef uint8_t[::1] memory = np.empty(n_nodes * sizeof(Test), dtype=np.uint8)
    cdef Test* tests = <Test*> &memory[0]
    for i in range(n_nodes):
        children[0, i] = stored[i].left
        children[1, i] = stored[i].right
        planner.test(
            store.columns + stored[i].feature, &stored[i],
            missing_bin[stored[i].feature],
            &words[stored[i].first_word] if stored[i].last_word > stored[i].first_word
            else NULL,
            &tests[i])
    add_route(
        &planner.plan.routes, &children[0, 0], &children[1, 0], tests, &leaf_value[0],
        n_nodes + 1)
    score_all(&planner.plan, n_threads, score_inout)
