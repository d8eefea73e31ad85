"""Exclusive feature bundling: which sparse columns share one column of codes, and how.

Algorithms 3 and 4 of Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision
Tree" (NeurIPS 2017). Columns are sparse: ``rows[start[j]:start[j + 1]]`` are, ascending, the rows
where column j is not in its default bin: its entries. A conflict is an entry in a row where an
earlier column of the bundle has one, too. As all entries are listed, conflicts are counted exactly.

A bundle is a group of columns that share one column of codes: code 0 means that no column has an
entry in the row, and each stored bin (a bin that is not the default one) of a column has a code.
While bundles are found, 64 of them are open at a time. Each has a slot, 0 to 63, which is a bit of
the 64-bit words below.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from skgoss._engine.atomics cimport fetch_add
from skgoss._engine.bits cimport bits_set, lowest_bit
from skgoss._engine.binning.stored_columns cimport first_from, stored_bin
from skgoss._engine.random cimport mix
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for

cdef enum:
    SLOTS = 64              # bundles that are tried at a time: one for each bit of a row's word
    LONG_COLUMN = 64        # entries; longer columns are first compared with each bundle's room
    MAX_GRAPH = 16384       # columns; their graph, two bits a pair, takes 32 MB
    GRAPH_BUDGET = 1 << 26  # words or bits that are written to the graph: about 0.2 s
    MAX_TRIALS = 1 << 23    # columns that are tried, summed over the passes: about 3 s
    WATCH_EVERY = 64        # columns
    COLUMNS_PER_TASK = 16
    ROWS_PER_BLOCK = 8192   # whose newest columns fit into the nearest cache
    ENTRIES_PER_LOOK = 16   # to find a block's first row in a column costs about as many entries

ctypedef fused code_t:
    uint8_t
    uint16_t

cdef struct SparseColumns:
    const int64_t* start    # of each column: where its entries begin in `rows`; then the end
    const uint32_t* rows    # of each entry, ascending within a column
    const int32_t* n_codes  # of each column: its stored bins
    Py_ssize_t n_columns
    Py_ssize_t n_rows
    int64_t max_conflicts   # of a bundle
    int64_t max_codes       # of a bundle, including code 0
    int64_t min_rows        # the entries of the column that has fewest
    int64_t min_codes       # the codes of the column that has fewest

cdef struct Slots:
    uint64_t* taken           # by row: a bit for each slot whose bundle has an entry there
    uint64_t open             # the slots that may have room for another column
    int64_t n_rows[SLOTS]     # rows with an entry in the slot's bundle
    int64_t conflicts[SLOTS]  # entries in rows that an earlier column of the bundle has, too
    int64_t codes[SLOTS]      # of the bundle, including code 0


cdef bint may_fit(
    const SparseColumns* sparse, const Slots* slots, int slot, int64_t n_rows, int64_t n_codes,
) noexcept nogil:
    """A necessary condition for a column to fit into the bundle of ``slot``.

    The column has ``n_rows`` entries and ``n_codes`` codes. There are enough codes. And the entries
    of column and bundle that exceed the number of rows, which must be conflicts, are within the
    limit. With ``n_rows`` = 0, only codes and the conflicts that the bundle already has are
    compared with the limits.
    """
    return (
        slots.codes[slot] + n_codes <= sparse.max_codes
        and slots.n_rows[slot] + n_rows - sparse.n_rows
        <= sparse.max_conflicts - slots.conflicts[slot]
    )


cdef int find_slot(
    const SparseColumns* sparse, const Slots* slots, Py_ssize_t column, int first,
    int64_t* conflicts_out,
) noexcept nogil:
    """The first slot whose bundle the column fits, from `first` on, cyclically; -1: none.

    ``conflicts_out``, by slot, gets the conflicts that each bundle would have with the column.
    Those of a slot that it does not fit are incomplete. All bundles are tried in one pass over the
    column's entries: ``fitting`` has a bit for each slot that is still possible.
    """
    cdef uint64_t fitting = slots.open
    cdef uint64_t hit, bit
    cdef int64_t begin = sparse.start[column]
    cdef int64_t end = sparse.start[column + 1]
    cdef int64_t n_codes = sparse.n_codes[column]
    cdef int64_t i
    cdef int slot
    if end - begin > LONG_COLUMN:
        hit = fitting
        while hit:
            slot = lowest_bit(hit)
            hit &= hit - 1
            if not may_fit(sparse, slots, slot, end - begin, n_codes):
                fitting &= ~(<uint64_t>1 << slot)
    if fitting == 0:
        return -1
    memcpy(conflicts_out, slots.conflicts, SLOTS * sizeof(int64_t))
    for i in range(begin, end):
        hit = slots.taken[sparse.rows[i]] & fitting
        while hit:
            slot = lowest_bit(hit)
            bit = hit & (~hit + 1)
            hit ^= bit
            conflicts_out[slot] += 1
            if conflicts_out[slot] > sparse.max_conflicts:
                fitting ^= bit
                if fitting == 0:
                    return -1
    # Rotate, so that the lowest bit is that of slot `first`.
    fitting = (fitting >> first) | (fitting << ((SLOTS - first) % SLOTS))
    while fitting:
        slot = (lowest_bit(fitting) + first) % SLOTS
        if may_fit(sparse, slots, slot, 0, n_codes):
            return slot
        fitting &= fitting - 1
    return -1


cdef void open_slot(Slots* slots, int slot, int64_t* conflicts_out) noexcept nogil:
    """Begin an empty bundle, whose code 0 stands for "no column".

    ``conflicts_out``, by slot: only the slot's number is set, to 0.
    """
    slots.open |= <uint64_t>1 << slot
    slots.n_rows[slot] = 0
    slots.codes[slot] = 1
    conflicts_out[slot] = 0


cdef void add_column(
    const SparseColumns* sparse, Slots* slots, Py_ssize_t column, int slot, int64_t conflicts,
) noexcept nogil:
    """Add the column's rows and codes to the slot's bundle.

    ``conflicts``: those of the bundle with the column, from `find_slot`.
    """
    cdef uint64_t bit = <uint64_t>1 << slot
    cdef uint64_t* word
    cdef int64_t i
    for i in range(sparse.start[column], sparse.start[column + 1]):
        word = &slots.taken[sparse.rows[i]]
        slots.n_rows[slot] += (word[0] & bit) == 0
        word[0] |= bit
    slots.conflicts[slot] = conflicts
    add_codes(sparse, slots, column, slot)


cdef void add_codes(
    const SparseColumns* sparse, Slots* slots, Py_ssize_t column, int slot,
) noexcept nogil:
    """Add the column's codes to the slot's bundle, and close it if no further column can fit."""
    slots.codes[slot] += sparse.n_codes[column]
    if not may_fit(sparse, slots, slot, sparse.min_rows, sparse.min_codes):
        slots.open &= ~(<uint64_t>1 << slot)


cdef Py_ssize_t fill_slots(
    const SparseColumns* sparse, Slots* slots, int64_t* columns_inout, Py_ssize_t n,
    int32_t first_bundle, int* n_opened_out, int32_t* bundle_out, Watch* watch,
) noexcept nogil:
    """First fit into at most 64 new bundles: one pass of `first_fit_passes`.

    - ``columns_inout``, (n,): the columns to add, in this order. Those that fit none of the bundles
      are moved to its front; their number is returned.
    - ``first_bundle``: the number of the first new bundle.
    - ``n_opened_out``: the number of new bundles.
    - ``bundle_out``, by column: the numbers of the bundles of the columns that were added.
    """
    cdef int64_t conflicts[SLOTS]
    cdef Py_ssize_t n_left = 0
    cdef Py_ssize_t i, column
    cdef int n_opened = 0
    cdef int slot
    slots.open = 0
    memset(slots.taken, 0, sparse.n_rows * sizeof(uint64_t))
    for i in range(n):
        if i % WATCH_EVERY == 0 and is_stopped(watch):
            break
        column = columns_inout[i]
        slot = find_slot(sparse, slots, column, 0, conflicts)
        if slot < 0 and n_opened < SLOTS:
            slot = n_opened
            open_slot(slots, slot, conflicts)
            n_opened += 1
        if slot < 0:
            columns_inout[n_left] = column
            n_left += 1
        else:
            add_column(sparse, slots, column, slot, conflicts[slot])
            bundle_out[column] = first_bundle + slot
    n_opened_out[0] = n_opened
    return n_left


cdef void first_fit_passes(
    const SparseColumns* sparse, Slots* slots, int64_t* columns_inout, int64_t max_passes,
    int32_t* bundle_out, Watch* watch,
) noexcept nogil:
    """First fit, 64 bundles a pass: columns that fit none of them are tried in the next pass.

    The result is that of a search through all bundles for each column: whether a column fits a
    bundle only depends on earlier columns of that bundle, and these are added in the same order.

    - ``columns_inout``, (n_columns,): in the order in which they are added; overwritten.
    - ``max_passes``: -1: until all columns have a bundle.
    - ``bundle_out``, by column; columns of later passes keep what it has.
    """
    cdef Py_ssize_t n = sparse.n_columns
    cdef int32_t n_bundles = 0
    cdef int n_opened
    while n > 0 and max_passes != 0 and not is_stopped(watch):
        n = fill_slots(sparse, slots, columns_inout, n, n_bundles, &n_opened, bundle_out, watch)
        n_bundles += n_opened
        max_passes -= 1


cdef struct NeighborLoop:
    # For each column, the last earlier column that shares a row with it: by blocks of rows, in each
    # of them column by column.
    const SparseColumns* sparse
    Py_ssize_t block          # rows
    int32_t* before           # by block and column: see `before_body`
    Watch* watch


cdef void before_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Of each column, the last earlier one that shares a row of the block with it; -1: none.

    The block is the rows ``first`` to ``end``. ``newest`` has, for each of its rows, the last
    column with an entry there so far.
    """
    cdef NeighborLoop* loop = <NeighborLoop*>context
    cdef const SparseColumns* sparse = loop.sparse
    cdef int32_t* before = loop.before + first // loop.block * sparse.n_columns
    cdef int32_t* newest = <int32_t*>malloc((end - first) * sizeof(int32_t))
    cdef int64_t i, last
    cdef Py_ssize_t j
    cdef int32_t found
    if newest == NULL:
        # The safe answer: each column may share a row with the one before it.
        for j in range(sparse.n_columns):
            before[j] = <int32_t>j - 1
        return
    memset(newest, -1, (end - first) * sizeof(int32_t))
    for j in range(sparse.n_columns):
        i = sparse.start[j]
        i += first_from(sparse.rows + i, sparse.start[j + 1] - i, first)
        last = i + first_from(sparse.rows + i, sparse.start[j + 1] - i, end)
        found = -1
        while i < last:
            found = max(found, newest[sparse.rows[i] - first])
            newest[sparse.rows[i] - first] = <int32_t>j
            i += 1
        before[j] = found
        if j % WATCH_EVERY == 0 and is_stopped(loop.watch):
            break
    free(newest)


cdef struct Ring:
    # The 64 newest bundles: bundle b is in slot -b % 64, until bundle b + 64 replaces it. The rows
    # of a bundle's columns are written to `slots.taken` only when another column is compared with
    # them: most neighbors of one-hot encoded data join the newest bundle without a comparison.
    Slots* slots
    int64_t newest_column[SLOTS]  # the last one that was added to the slot's bundle; -1: none
    int64_t* previous         # by column: the one that was added to its bundle before; -1: none
    int64_t written[SLOTS]    # the last column of a slot whose rows are written; -1: none
    Py_ssize_t first_newest   # the first column of the newest bundle


cdef void write_slot(const SparseColumns* sparse, Ring* ring, int slot) noexcept nogil:
    """Write the rows of a slot's columns that are not written to ``taken`` yet."""
    cdef uint64_t bit = <uint64_t>1 << slot
    cdef int64_t column = ring.newest_column[slot]
    cdef int64_t i
    while column != ring.written[slot]:
        for i in range(sparse.start[column], sparse.start[column + 1]):
            ring.slots.taken[sparse.rows[i]] |= bit
        column = ring.previous[column]
    ring.written[slot] = ring.newest_column[slot]


cdef void clear_slot(const SparseColumns* sparse, Ring* ring, int slot) noexcept nogil:
    """Erase the rows of a slot's columns from ``taken``, so that the slot can get a new bundle."""
    cdef int64_t column = ring.written[slot]
    cdef int64_t i
    while column >= 0:
        for i in range(sparse.start[column], sparse.start[column + 1]):
            ring.slots.taken[sparse.rows[i]] &= ~(<uint64_t>1 << slot)
        column = ring.previous[column]
    ring.newest_column[slot] = ring.written[slot] = -1


cdef void push_column(
    const SparseColumns* sparse, Ring* ring, Py_ssize_t column, int slot,
) noexcept nogil:
    """Put a column into a slot, without writing its rows."""
    ring.previous[column] = ring.newest_column[slot]
    ring.newest_column[slot] = column
    add_codes(sparse, ring.slots, column, slot)


cdef bint joins_newest(
    const SparseColumns* sparse, const Ring* ring, Py_ssize_t column, int newest,
    const int32_t* before,
) noexcept nogil:
    """Whether a column fits into the newest bundle, and by ``before`` has no conflict with it.

    ``newest``: the bundle's slot. ``before``, by column: the last earlier column that shares a row
    with it; -1: none. If that is before the bundle's first column, no column of the bundle shares a
    row with this one.
    """
    cdef int64_t n_entries = sparse.start[column + 1] - sparse.start[column]
    return (
        ring.slots.open >> newest & 1
        and may_fit(sparse, ring.slots, newest, n_entries, sparse.n_codes[column])
        and before[column] < ring.first_newest)


cdef void write_candidates(
    const SparseColumns* sparse, Ring* ring, Py_ssize_t column,
) noexcept nogil:
    """Write the rows of all slots that a column may fit into: those that `find_slot` compares.

    Like `find_slot`, it tests short columns without their number of entries (0 in `may_fit`).
    """
    cdef int64_t n_entries = sparse.start[column + 1] - sparse.start[column]
    cdef uint64_t hit = ring.slots.open
    cdef int slot
    while hit:
        slot = lowest_bit(hit)
        hit &= hit - 1
        if may_fit(
            sparse, ring.slots, slot, n_entries if n_entries > LONG_COLUMN else 0,
            sparse.n_codes[column],
        ):
            write_slot(sparse, ring, slot)


cdef void recent_fit_pass(
    const SparseColumns* sparse, Slots* slots, int64_t* previous, const int32_t* before,
    int32_t* bundle_out, Watch* watch,
) noexcept nogil:
    """Put columns into the newest of 64 bundles that they fit, or into a new one.

    - ``previous``, (n_columns,): work space: see `Ring`.
    - ``before``, by column: the last earlier one that shares a row with it; -1: none.
    - ``bundle_out``, by column: its bundle, numbered as they are opened.

    The slots of bundles descend, so that `find_slot`, from the newest one on, tries newer bundles
    before older ones.
    """
    cdef int64_t conflicts[SLOTS]
    cdef Ring ring
    cdef Py_ssize_t column
    cdef int32_t n_bundles = 0
    cdef int newest = 0
    cdef int slot
    ring.slots, ring.previous, ring.first_newest = slots, previous, 0
    memset(ring.newest_column, -1, sizeof(ring.newest_column))
    memset(ring.written, -1, sizeof(ring.written))
    slots.open = 0
    memset(slots.taken, 0, sparse.n_rows * sizeof(uint64_t))
    for column in range(sparse.n_columns):
        if column % WATCH_EVERY == 0 and is_stopped(watch):
            break
        if joins_newest(sparse, &ring, column, newest, before):
            slots.n_rows[newest] += sparse.start[column + 1] - sparse.start[column]
            push_column(sparse, &ring, column, newest)
            bundle_out[column] = n_bundles - 1
            continue
        write_candidates(sparse, &ring, column)
        slot = find_slot(sparse, slots, column, newest, conflicts)
        if slot < 0:
            slot = newest = (SLOTS - n_bundles % SLOTS) % SLOTS
            clear_slot(sparse, &ring, slot)
            open_slot(slots, slot, conflicts)
            n_bundles += 1
            ring.first_newest = column
        add_column(sparse, slots, column, slot, conflicts[slot])
        ring.previous[column] = ring.newest_column[slot]
        ring.newest_column[slot] = ring.written[slot] = column
        bundle_out[column] = n_bundles - 1 - (slot - newest + SLOTS) % SLOTS


cdef struct CheckLoop:
    # The columns that are checked: see `SparseColumns`.
    const int64_t* start
    const uint32_t* rows
    Py_ssize_t n_rows
    int64_t n_wrong           # columns


cdef void check_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Count the columns whose rows are not within bounds, or do not ascend."""
    cdef CheckLoop* loop = <CheckLoop*>context
    cdef const int64_t* start = loop.start
    cdef Py_ssize_t j
    cdef int64_t i
    cdef uint32_t descends
    for j in range(first, end):
        # Compilers vectorize a loop without an early exit.
        descends = 0
        for i in range(start[j] + 1, start[j + 1]):
            descends |= loop.rows[i - 1] >= loop.rows[i]
        if descends or (start[j] < start[j + 1] and loop.rows[start[j + 1] - 1] >= loop.n_rows):
            fetch_add(&loop.n_wrong, 1)


cdef bint are_valid(
    const int64_t* start, const uint32_t* rows, Py_ssize_t n_columns, Py_ssize_t n_entries,
    Py_ssize_t n_rows, int n_threads,
) noexcept nogil:
    """Whether the arrays are lists of columns, which kernels can read without checks.

    ``start`` must ascend from 0 to ``n_entries``, and rows within each column, below ``n_rows``.
    The arguments come from user data, which another thread may have changed.
    """
    cdef CheckLoop loop = CheckLoop(start, rows, n_rows, 0)
    cdef Py_ssize_t j
    if start[0] != 0 or start[n_columns] != n_entries:
        return False
    for j in range(n_columns):
        if start[j] > start[j + 1]:
            return False
    parallel_for(check_body, &loop, n_columns, COLUMNS_PER_TASK, n_threads)
    return loop.n_wrong == 0


cdef SparseColumns as_sparse_columns(
    const int64_t[::1] start, const uint32_t[::1] rows, Py_ssize_t n_rows, int n_threads=1,
) except *:
    """The sparse columns in arrays; ValueError if the arrays do not fit each other."""
    cdef SparseColumns sparse
    cdef bint valid = start.shape[0] > 0
    memset(&sparse, 0, sizeof(SparseColumns))
    if valid:
        sparse.start = &start[0]
        sparse.rows = &rows[0] if rows.shape[0] else NULL
        sparse.n_columns = start.shape[0] - 1
        sparse.n_rows = n_rows
        with nogil:
            valid = are_valid(
                sparse.start, sparse.rows, sparse.n_columns, rows.shape[0], n_rows, n_threads)
    if not valid:
        raise ValueError(
            "start and rows must be lists of columns: start from 0 to len(rows), rows "
            "ascending within a column and below n_rows")
    return sparse


cdef SparseColumns with_limits(
    SparseColumns sparse, int64_t max_conflicts, const int32_t[::1] n_codes, int64_t max_codes,
) except *:
    """Add the limits of bundles: the arguments of `recent_fit`.

    The result points into ``n_codes``.
    """
    cdef Py_ssize_t j
    if n_codes.shape[0] != sparse.n_columns:
        raise ValueError("n_codes must have one entry for each column")
    sparse.max_conflicts = max_conflicts
    sparse.max_codes = max_codes
    sparse.min_rows = sparse.n_rows
    sparse.min_codes = max_codes
    if sparse.n_columns:
        sparse.n_codes = &n_codes[0]
    for j in range(sparse.n_columns):
        sparse.min_rows = min(sparse.min_rows, sparse.start[j + 1] - sparse.start[j])
        sparse.min_codes = min(sparse.min_codes, <int64_t>n_codes[j])
    return sparse


def first_fit(
    const int64_t[::1] start, const uint32_t[::1] rows, Py_ssize_t n_rows, order: NDArray[np.intp],
    int64_t max_conflicts, const int32_t[::1] n_codes, int64_t max_codes,
    int64_t max_passes=-1,
) -> NDArray[np.int32]:
    """Put each column into the first bundle that it fits (Algorithm 3).

    It fits if the bundle then has at most ``max_conflicts`` conflicts and ``max_codes`` codes: one,
    and those of its columns. Otherwise, it opens a new bundle.

    - ``start``, ``rows``: where the entries of each column begin, and their rows.
    - ``order``, (n_columns,): the columns in the order in which they are added.
    - ``n_codes``, (n_columns,): the codes of each column: its bins without the default bin.
    - ``max_passes``: each opens at most 64 bundles; -1: as many passes as are needed.

    Returns (n_columns,), int32: each column's bundle, numbered 0, 1, ... as they are opened; -1:
    the column fits no bundle of these passes.
    """
    cdef SparseColumns sparse = with_limits(
        as_sparse_columns(start, rows, n_rows), max_conflicts, n_codes, max_codes)
    if not np.array_equal(np.sort(order), np.arange(sparse.n_columns)):
        raise ValueError("order must name each column once")
    cdef int64_t[::1] columns = np.array(order, dtype=np.int64)
    cdef uint64_t[::1] taken = np.empty(n_rows + 1, dtype=np.uint64)
    bundle = np.full(sparse.n_columns, -1, dtype=np.int32)
    cdef int32_t[::1] bundle_out = bundle
    cdef Slots slots
    cdef Watch watch = start_watch()
    slots.taken = &taken[0]
    if sparse.n_columns:
        with nogil:
            first_fit_passes(
                &sparse, &slots, &columns[0], max_passes, &bundle_out[0], &watch)
    end_watch(&watch)
    return bundle


cdef columns_before(const SparseColumns* sparse, int n_threads, Watch* watch):
    """Of each column, the last earlier one that shares a row with it; -1: none.

    Returns (n_columns,), int32. ``sparse`` has at least one column.
    """
    cdef Py_ssize_t n_entries = sparse.start[sparse.n_columns]
    # Each block of rows searches all columns for its first row.
    cdef Py_ssize_t n_blocks = 1 + min(
        sparse.n_rows // ROWS_PER_BLOCK, n_entries // (ENTRIES_PER_LOOK * sparse.n_columns))
    cdef NeighborLoop loop = NeighborLoop(sparse, sparse.n_rows // n_blocks + 1, NULL, watch)
    before = np.full(
        (sparse.n_rows // loop.block + 1, sparse.n_columns), -1, dtype=np.int32)
    cdef int32_t[:, ::1] before_out = before
    loop.before = &before_out[0, 0]
    with nogil:
        parallel_for(before_body, &loop, sparse.n_rows, loop.block, n_threads)
    return before.max(axis=0)


def recent_fit(
    const int64_t[::1] start, const uint32_t[::1] rows, Py_ssize_t n_rows,
    int64_t max_conflicts, const int32_t[::1] n_codes, int64_t max_codes, int n_threads=1,
) -> NDArray[np.int32]:
    """Put each column, in the order of the columns, into the newest bundle that it fits.

    Only the 64 newest bundles are tried. Neighboring columns, such as those of a one-hot encoded
    category, stay together.

    - ``start``, ``rows``: where the entries of each column begin, and their rows.
    - ``n_codes``, (n_columns,): the codes of each column: its bins without the default bin.
    - ``max_conflicts``, ``max_codes``: the limits of a bundle.

    Returns (n_columns,), int32: each column's bundle, numbered 0, 1, ... as they are opened.
    """
    cdef SparseColumns sparse = with_limits(
        as_sparse_columns(start, rows, n_rows, n_threads), max_conflicts, n_codes, max_codes)
    cdef int64_t[::1] previous = np.empty(sparse.n_columns, dtype=np.int64)
    cdef uint64_t[::1] taken = np.empty(n_rows + 1, dtype=np.uint64)
    bundle = np.empty(sparse.n_columns, dtype=np.int32)
    cdef int32_t[::1] bundle_out = bundle
    cdef int32_t[::1] before
    cdef Slots slots
    cdef Watch watch = start_watch()
    slots.taken = &taken[0]
    if sparse.n_columns:
        before = columns_before(&sparse, n_threads, &watch)
        with nogil:
            recent_fit_pass(
                &sparse, &slots, &previous[0], &before[0], &bundle_out[0], &watch)
    end_watch(&watch)
    return bundle


cdef struct Graph:
    # The conflict graph: an edge joins columns that share a row. A bit for each pair of columns.
    uint64_t* edges           # n_words words a column: bit k: it shares a row with column k
    uint64_t* members         # n_words words: the columns of the row at hand
    Py_ssize_t n_words


cdef void add_clique(const Graph* graph, const int32_t* columns, Py_ssize_t n) noexcept nogil:
    """Add edges between all columns of a row: bit by bit, or whole words if that writes less.

    ``columns``, (n,): the columns with an entry in the row.
    """
    cdef Py_ssize_t n_words = graph.n_words
    cdef uint64_t* edges
    cdef Py_ssize_t i, k
    if n < n_words:
        for i in range(n):
            edges = graph.edges + columns[i] * n_words
            for k in range(n):
                edges[columns[k] // 64] |= <uint64_t>1 << (columns[k] % 64)
        return
    memset(graph.members, 0, n_words * sizeof(uint64_t))
    for k in range(n):
        graph.members[columns[k] // 64] |= <uint64_t>1 << (columns[k] % 64)
    for i in range(n):
        edges = graph.edges + columns[i] * n_words
        for k in range(n_words):
            edges[k] |= graph.members[k]


cdef inline bint is_sampled(uint32_t row, int64_t stride) noexcept nogil:
    """Whether a row is sampled: a hash draws one of each ``stride`` consecutive rows.

    A stride of 1 samples all rows.
    """
    cdef int64_t stratum = row // stride
    return row - stratum * stride == <int64_t>(mix(stratum + 1) % <uint64_t>stride)


cdef int64_t sample_stride(
    const SparseColumns* sparse, Py_ssize_t n_words, int64_t budget, int64_t* n_columns_out,
) noexcept nogil:
    """The stride of a sample (`is_sampled`) with which the graph costs about ``budget`` writes.

    A row of c columns costs c * min(c, n_words) writes: see `add_clique`. ``n_columns_out``, by
    row, is zeros, and gets the number of columns that have an entry in each row.
    """
    cdef int64_t work = 0
    cdef int64_t i
    for i in range(sparse.start[sparse.n_columns]):
        n_columns_out[sparse.rows[i]] += 1
    for i in range(sparse.n_rows):
        work += n_columns_out[i] * min(n_columns_out[i], <int64_t>n_words)
    return 1 + work // max(budget, 1)


cdef void fill_graph(
    const SparseColumns* sparse, const Graph* graph, int64_t stride,
    int64_t* next_entry_inout, int32_t* columns_out, Watch* watch,
) noexcept nogil:
    """List the columns of each sampled row, and add the edges between them.

    - ``next_entry_inout``, by row: where the list of each row begins in ``columns_out``; then where
      it ends.
    - ``columns_out``: the lists of the sampled rows, one after the other.
    """
    cdef Py_ssize_t j
    cdef int64_t i, row
    cdef int64_t begin = 0
    for j in range(sparse.n_columns):
        if is_stopped(watch):
            return
        for i in range(sparse.start[j], sparse.start[j + 1]):
            row = sparse.rows[i]
            if is_sampled(row, stride):
                columns_out[next_entry_inout[row]] = j
                next_entry_inout[row] += 1
    for row in range(sparse.n_rows):
        if is_sampled(row, stride):
            add_clique(graph, columns_out + begin, next_entry_inout[row] - begin)
            begin = next_entry_inout[row]


cdef int64_t counts_to_starts(
    Py_ssize_t n_rows, int64_t stride, int64_t* next_entry_inout,
) noexcept nogil:
    """Turn the counts of sampled rows into the starts of their lists; returns their sum.

    ``next_entry_inout``, by row: the number of its columns; then where its list begins.
    """
    cdef int64_t total = 0
    cdef int64_t row, n
    for row in range(n_rows):
        if is_sampled(row, stride):
            n = next_entry_inout[row]
            next_entry_inout[row] = total
            total += n
    return total


def conflict_degrees(
    const int64_t[::1] start, const uint32_t[::1] rows, Py_ssize_t n_rows,
    int64_t budget=GRAPH_BUDGET,
) -> NDArray[np.int64] | None:
    """Count the columns that each column shares a row with: degrees of the conflict graph.

    - ``start``, (n_columns + 1,): where the entries of each column begin in ``rows``.
    - ``rows``, (n_entries,): their rows.
    - ``budget``: the number of words of the graph that may be written, about. If all rows need
      more, a sample of the rows is used: one of each ``sample_stride``.

    Returns (n_columns,), int64, or None: None if there are more than 16384 columns.
    """
    cdef SparseColumns sparse = as_sparse_columns(start, rows, n_rows)
    cdef Py_ssize_t n = sparse.n_columns
    if n > MAX_GRAPH:
        return None
    degrees = np.zeros(n, dtype=np.int64)
    cdef Py_ssize_t n_words = (n + 63) // 64
    cdef uint64_t[::1] edges = np.zeros((n + 1) * n_words + 1, dtype=np.uint64)
    cdef int64_t[::1] next_entry = np.zeros(n_rows + 1, dtype=np.int64)
    cdef int64_t stride = sample_stride(&sparse, n_words, budget, &next_entry[0])
    cdef int32_t[::1] columns = np.empty(
        counts_to_starts(n_rows, stride, &next_entry[0]) + 1, dtype=np.int32)
    cdef Graph graph
    cdef int64_t[::1] degrees_out = degrees
    cdef Py_ssize_t j, k
    cdef Watch watch = start_watch()
    graph.edges = &edges[0]
    graph.members = &edges[n * n_words]
    graph.n_words = n_words
    with nogil:
        fill_graph(&sparse, &graph, stride, &next_entry[0], &columns[0], &watch)
        for j in range(n):
            edges[j * n_words + j // 64] &= ~(<uint64_t>1 << (j % 64))
            for k in range(n_words):
                degrees_out[j] += bits_set(edges[j * n_words + k])
    end_watch(&watch)
    return degrees


def max_row_columns(const int64_t[::1] start, const uint32_t[::1] rows, Py_ssize_t n_rows) -> int:
    """The largest number of columns that have an entry in the same row.

    ``start``, ``rows``: where the entries of each column begin, and their rows. Without conflicts,
    at least this number of bundles is needed.
    """
    cdef SparseColumns sparse = as_sparse_columns(start, rows, n_rows)
    counts = np.zeros(n_rows, dtype=np.int32)
    cdef int32_t[::1] count = counts
    cdef int64_t i
    with nogil:
        for i in range(rows.shape[0]):
            count[sparse.rows[i]] += 1
    return int(counts.max(initial=0))


def find_bundles(
    start: NDArray[np.int64], rows: NDArray[np.uint32], Py_ssize_t n_rows,
    n_codes: NDArray[np.int32], double max_conflict_rate, int64_t max_codes, int64_t max_passes=-1,
    int n_threads=1,
) -> NDArray[np.int32]:
    """Find few bundles of columns that hardly conflict (Algorithm 3).

    The packing with the fewest bundles of three (the first of equals): that of `recent_fit`, and
    those of first fit in descending order of the number of entries, with and without the degree in
    the conflict graph as tie-breaker. That graph is not built for too many columns.

    - ``start``, ``rows``: where the entries of each column begin, and their rows.
    - ``n_codes``, (n_columns,): the codes of each column: its bins without the default bin.
    - ``max_conflict_rate``: a bundle may have ``int(max_conflict_rate * n_rows)`` conflicts.
    - ``max_codes``: the limit of a bundle, which has one code and those of its columns. A column
      that has more has a bundle of its own.
    - ``max_passes``: of `first_fit`; -1: as many as take a few seconds. Columns that fit no bundle
      of these passes get bundles of their own.

    Returns (n_columns,), int32: each column's bundle, numbered by their first columns.
    """
    cdef int64_t max_conflicts = <int64_t>(max_conflict_rate * n_rows)
    if max_passes < 0:
        max_passes = 1 + MAX_TRIALS // max(len(n_codes), 1)
    entries = np.diff(start)
    packings = [
        recent_fit(start, rows, n_rows, max_conflicts, n_codes, max_codes, n_threads)]
    keys = []
    n_bundles = packings[0].max(initial=-1) + 1
    # If each column was compared with all before it, and is alone, no two fit together. And without
    # conflicts, no packing has fewer bundles than any row has columns.
    are_apart = n_bundles == len(n_codes) <= SLOTS
    if not are_apart and (max_conflicts > 0 or (
        (n_bundles - 1) * n_rows >= len(rows) and n_bundles > max_row_columns(start, rows, n_rows)
    )):
        degrees = conflict_degrees(start, rows, n_rows)
        keys = [(-entries,)] if degrees is None else [(-entries, -degrees), (-entries,)]
    for key in keys:
        bundle = first_fit(
            start, rows, n_rows, np.lexsort(key), max_conflicts, n_codes, max_codes, max_passes)
        alone = np.flatnonzero(bundle < 0)
        bundle[alone] = bundle.max(initial=-1) + 1 + np.arange(len(alone), dtype=np.int32)
        packings.append(bundle)
    best = min(packings, key=lambda bundle: bundle.max(initial=-1))
    _, first, bundle = np.unique(best, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first)).astype(np.int32)[bundle]


cdef void write_codes(
    const uint32_t* rows, int64_t n, const uint16_t* stored, int32_t first_code,
    code_t* codes_out,
) noexcept nogil:
    """Write the codes of one column of a bundle.

    - ``rows``, ``stored``, (n,): the rows of the column's entries, and their stored bins; NULL: all
      are 0.
    - ``first_code``: the code of stored bin 0.
    - ``codes_out``, (n_rows,): other rows keep their codes.
    """
    cdef int64_t i
    for i in range(n):
        codes_out[rows[i]] = <code_t>(first_code + stored_bin(stored, i))


def have_bins(
    start: NDArray[np.int64], bin_start: NDArray[np.int64], n_bins: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Whether each column has a stored bin for each of its rows, or no stored bins.

    - ``start``, ``bin_start``, (n_columns + 1,): where each column begins in the array of rows, and
      in that of stored bins.
    - ``n_bins``: the length of the array of stored bins, a number.
    """
    length = np.diff(bin_start)
    return (
        len(start) == len(bin_start)
        and bin_start[0] == 0
        and length.sum() == n_bins
        and bool(((length == 0) | (length == np.diff(start))).all())
    )


cdef struct MergeLoop:
    # The arguments of `merge_bundles`.
    SparseColumns sparse
    const int64_t* bin_start
    const uint16_t* bins
    const int64_t* member_start
    const int32_t* members
    const int32_t* first_code
    int width                 # bytes of a code
    void* codes               # (n_bundles, n_rows), of `width` bytes
    Watch watch


cdef void merge_bundle(MergeLoop* loop, Py_ssize_t b, code_t* codes_out) noexcept nogil:
    """Write the codes of all rows in bundle ``b``; in a conflict, the last column counts.

    ``codes_out``, (n_rows,): the bundle's row of ``loop.codes``.
    """
    cdef const int64_t* start = loop.sparse.start
    cdef const uint16_t* stored
    cdef Py_ssize_t k, j
    memset(codes_out, 0, loop.sparse.n_rows * sizeof(code_t))
    for k in range(loop.member_start[b], loop.member_start[b + 1]):
        j = loop.members[k]
        stored = NULL
        if loop.bin_start[j] < loop.bin_start[j + 1]:
            stored = loop.bins + loop.bin_start[j]
        write_codes(
            loop.sparse.rows + start[j], start[j + 1] - start[j], stored, loop.first_code[j],
            codes_out)


cdef void merge_body(void* context, Py_ssize_t b, Py_ssize_t end, int thread) noexcept nogil:
    """Write the codes of bundle ``b`` (``end`` = ``b`` + 1)."""
    cdef MergeLoop* loop = <MergeLoop*>context
    cdef Py_ssize_t first = b * loop.sparse.n_rows
    if is_stopped(&loop.watch):
        return
    if loop.width == 1:
        merge_bundle(loop, b, <uint8_t*>loop.codes + first)
    else:
        merge_bundle(loop, b, <uint16_t*>loop.codes + first)


def merge_bundles(
    const int64_t[::1] start, const uint32_t[::1] rows, const int64_t[::1] bin_start,
    const uint16_t[::1] bins, const int64_t[::1] member_start, const int32_t[::1] members,
    const int32_t[::1] first_code, code_t[:, ::1] codes_out, int n_threads=1,
):
    """Write the codes of bundles, one column for each (Algorithm 4).

    A row's code is ``first_code`` plus its stored bin, both of the last member that stores the row;
    or 0 if none does.

    - ``start``, ``rows``: where the entries of each column begin, and their rows.
    - ``bin_start``, (n_columns + 1,): where the stored bins of each column begin in ``bins``;
      without any, all are 0.
    - ``member_start``, (n_bundles + 1,): where each bundle's columns begin in ``members``.
    - ``members``, (n_members,): numbers of columns.
    - ``first_code``, (n_columns,): the code of each column's stored bin 0.
    - ``codes_out``, (n_bundles, n_rows): its type must hold the codes; that is not checked.
    """
    cdef SparseColumns sparse = as_sparse_columns(start, rows, codes_out.shape[1], n_threads)
    cdef Py_ssize_t n_bundles = codes_out.shape[0]
    cdef MergeLoop loop
    if (
        not have_bins(start, bin_start, len(bins))
        or first_code.shape[0] != sparse.n_columns
        or member_start.shape[0] != n_bundles + 1
        or not np.array_equal(np.clip(members, 0, sparse.n_columns - 1), members)
        or not np.array_equal(
            np.clip(np.maximum.accumulate(member_start), 0, len(members)), member_start)
    ):
        raise ValueError("the arrays must fit start, rows, codes_out and each other")
    if sparse.rows == NULL or members.shape[0] == 0 or sparse.n_rows == 0:
        np.asarray(codes_out)[:] = 0
        return
    loop = MergeLoop(
        sparse, &bin_start[0], NULL, &member_start[0], &members[0], &first_code[0],
        sizeof(code_t), &codes_out[0, 0], start_watch())
    if bins.shape[0] > 0:
        loop.bins = &bins[0]
    with nogil:
        parallel_for(merge_body, &loop, n_bundles, 1, n_threads)
    end_watch(&loop.watch)
