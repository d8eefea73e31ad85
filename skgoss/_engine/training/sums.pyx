"""The sums of a leaf's rows: by a team of threads, of a tile, or row by row."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t

from skgoss._engine.atomics cimport fetch_increment
from skgoss._engine.training.histogram cimport (
    Unspilled, add_few_rows, add_places, add_rows, spill_all, start_sums)
from skgoss._engine.training.layout cimport Encoding, Histogram
from skgoss._engine.training.tiles cimport sum_tile
from skgoss._engine.training.workspace cimport (
    CHUNKS_PER_THREAD, MIN_WORK_FOR_TEAM, Leaf, Shared, Workspace, encoding_of)

cdef enum:
    MIN_CHUNK = 512
    # The tiles of so many rows are near while the threads share them out, and those of more
    # rows if there are too many lanes to sum all of them at once.
    MAX_TILED_ROWS = 8192
    MIN_TILED_LANES = 512
    TILES_PER_THREAD = 4


cdef void sum_part(
    Shared* shared, Workspace* ws, const Leaf* leaf, int part, Py_ssize_t size,
) noexcept nogil:
    """Sum the chunk of rows that has the number of the part, and others that are left."""
    cdef const Encoding* encoding = encoding_of(ws, leaf)
    cdef int thread = ws.first_thread + part
    cdef Py_ssize_t first = leaf.begin + part * size
    cdef Unspilled rows = start_sums(
        encoding, shared.accumulators[thread],
        &ws.slots[leaf.slot] if part == 0 else &shared.partial[thread])
    while first < leaf.end:
        add_rows(
            &ws.data, encoding, ws.records[leaf.buffer] + first, min(size, leaf.end - first),
            ws.pairs, &rows)
        first = leaf.begin + fetch_increment(&ws.next_chunk) * size
    spill_all(&ws.data, encoding, &rows)


cdef int sum_rows(Shared* shared, Workspace* ws, const Leaf* leaf) noexcept nogil:
    """Sum the rows of a leaf into its slot and the partial histograms of more threads.

    Returns the number of threads that took part; 0: tiles are better.
    """
    cdef Py_ssize_t n = leaf.end - leaf.begin
    cdef bint many = n * ws.data.row_updates > MIN_WORK_FOR_TEAM
    cdef int n_parts = ws.n_threads if many else 1
    cdef Py_ssize_t size
    cdef int part
    if (ws.n_tiles >= TILES_PER_THREAD * n_parts
            and (n <= MAX_TILED_ROWS or ws.data.n_lanes >= MIN_TILED_LANES)):
        return 0
    ws.next_chunk = n_parts
    if n_parts == 1:
        sum_part(shared, ws, leaf, 0, n)
        return 1
    size = max(n // (n_parts * CHUNKS_PER_THREAD) + 1, <Py_ssize_t>MIN_CHUNK)
    for part in prange(n_parts, num_threads=n_parts, schedule="static", chunksize=1):
        sum_part(shared, ws, leaf, part, size)
    return n_parts


cdef void add_parts(
    Shared* shared, Workspace* ws, const Leaf* leaf, int n_parts, int64_t first, int64_t last,
    Histogram* built,
) noexcept nogil:
    """Some places of a leaf: add what other threads have summed to what the first one has."""
    cdef int part
    for part in range(1, n_parts):
        add_places(
            encoding_of(ws, leaf), first, last, 1, &shared.partial[ws.first_thread + part],
            built)


cdef void fill_rows_histogram(
    Workspace* ws, Leaf* leaf, uint8_t* seen,
) noexcept nogil:
    """Put a leaf's few rows into `Scratch.rows_histogram`, which is empty."""
    ws.scratch.n_touched = 0
    add_few_rows(
        &ws.data, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, 1, &ws.scratch.rows_histogram, seen, ws.scratch.touched,
        &ws.scratch.n_touched)


cdef void clear_rows_histogram(Workspace* ws, const Leaf* leaf) noexcept nogil:
    """Take them out again: sooner than to clear all places."""
    add_few_rows(
        &ws.data, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, -1, &ws.scratch.rows_histogram, NULL, NULL, NULL)


cdef Histogram sums_with(
    const Shared* shared, Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """A histogram that has at least the sums of one feature.

    Without tiles, the rows of a leaf without a slot must be in ``rows_histogram``.
    """
    if leaf.slot >= 0:
        return ws.slots[leaf.slot]
    if ws.n_tiles > 0:
        return sum_tile(
            shared, ws, &ws.tiles[ws.tile_of[feature]], leaf, ws.first_thread)
    return ws.scratch.rows_histogram
