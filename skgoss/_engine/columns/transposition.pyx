"""Columns of a CSR matrix, some at a time.

The rows of the matrix are cut into chunks, one for each thread; as rows
ascend within a chunk, and from chunk to chunk, they ascend within each column.

The column numbers of entries are in memory of the user, which may change while it is read. So each
is compared with the number of columns, and each target with the number of entries that were
counted.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from skgoss._engine.atomics cimport fetch_add
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for

cdef enum:
    WATCH_EVERY = 4096    # rows

ctypedef fused index_t:
    int32_t
    int64_t

# Values are moved as integers of their size, whatever their type is.
ctypedef fused bits_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef bint count_rows(
    const index_t* start, const index_t* columns, int64_t first, int64_t stop,
    uint64_t n_columns, int32_t* count_out, Watch* watch,
) noexcept nogil:
    """Count the entries of each column; False if a row's columns do not ascend.

    - ``start``, ``columns``: of the CSR matrix: where each row begins, and the columns of all
      entries.
    - ``first``, ``stop``: the rows to count.
    - ``count_out``, (n_columns,): the counts are added.
    """
    cdef int64_t row, i, column
    cdef int64_t previous
    cdef bint ascends = True
    for row in range(first, stop):
        if row % WATCH_EVERY == 0 and is_stopped(watch):
            break
        previous = -1
        for i in range(start[row], start[row + 1]):
            column = columns[i]
            ascends &= column > previous
            previous = column
            if <uint64_t> column < n_columns:
                count_out[column] += 1
    return ascends


cdef struct CountLoop:
    bint is_long              # whether numbers have eight bytes
    const void* start
    const void* columns
    const int64_t* chunk_start
    int64_t n_columns
    int32_t* count            # of each chunk, by column
    int64_t n_wrong           # chunks with a row whose columns do not ascend
    Watch watch


cdef void count_body(void* context, Py_ssize_t k, Py_ssize_t end, int thread) noexcept nogil:
    """Count the entries of chunk k by column."""
    cdef CountLoop* loop = <CountLoop*> context
    cdef int64_t first = loop.chunk_start[k], stop = loop.chunk_start[k + 1]
    cdef int32_t* count = loop.count + k * loop.n_columns
    cdef bint ascends
    if loop.is_long:
        ascends = count_rows(
            <const int64_t*> loop.start, <const int64_t*> loop.columns, first, stop,
            loop.n_columns, count, &loop.watch)
    else:
        ascends = count_rows(
            <const int32_t*> loop.start, <const int32_t*> loop.columns, first, stop,
            loop.n_columns, count, &loop.watch)
    fetch_add(&loop.n_wrong, not ascends)


def count_columns(
    const index_t[::1] start, const index_t[::1] columns, const int64_t[::1] chunk_start,
    int32_t[:, ::1] count_out,
) -> bool:
    """Count the entries of each column.

    - ``start``, ``columns``: where each row begins, and the columns of all entries. Only
      ``columns`` may change.
    - ``chunk_start``, (n_chunks + 1,): the first row of each chunk.
    - ``count_out``, (n_chunks, n_columns): zeros; gets the counts in each chunk.

    Returns whether the columns of all rows ascend and are distinct.
    """
    cdef Py_ssize_t n_chunks = count_out.shape[0]
    cdef CountLoop loop
    if columns.shape[0] == 0:
        return True
    loop = CountLoop(
        index_t is int64_t, &start[0], &columns[0], &chunk_start[0], count_out.shape[1],
        &count_out[0, 0], 0, start_watch())
    with nogil:
        parallel_for(count_body, &loop, n_chunks, 1, <int> n_chunks)
    end_watch(&loop.watch)
    return loop.n_wrong == 0


cdef void move_rows(
    const index_t* start, const index_t* columns, const bits_t* values, int64_t first,
    int64_t stop, int64_t first_column, int64_t n_columns, int32_t* read_inout,
    int64_t* next_entry_inout, const int64_t* entry_stop, int32_t* rows_out, bits_t* values_out,
    Watch* watch,
) noexcept nogil:
    """Write the entries that a chunk's rows have in the next columns, column by column.

    Each row is read from the entry where the last call has stopped.

    - ``first``, ``stop``: the rows of the chunk.
    - ``first_column``, ``n_columns``: the next columns.
    - ``values``, ``values_out``: NULL: only the rows of entries are written.
    - ``next_entry_inout``, ``entry_stop``, (n_columns,): of the chunk; these and the other
      arguments: see `move_columns`.
    """
    cdef int64_t row, i, at, column
    for row in range(first, stop):
        if row % WATCH_EVERY == 0 and is_stopped(watch):
            break
        i = start[row] + read_inout[row]
        while i < start[row + 1]:
            column = <int64_t> columns[i] - first_column
            if column >= n_columns:
                break
            i += 1
            if column < 0:
                continue
            at = next_entry_inout[column]
            if at < entry_stop[column]:
                rows_out[at] = <int32_t> row
                if values != NULL:
                    values_out[at] = values[i - 1]
                next_entry_inout[column] = at + 1
        read_inout[row] = <int32_t> (i - start[row])


cdef struct MoveLoop:
    bint is_long              # whether numbers have eight bytes
    int width                 # bytes of a value
    const void* start
    const void* columns
    const void* values        # NULL: only the rows of entries are written
    const int64_t* chunk_start
    int64_t first_column
    int64_t n_columns
    int32_t* n_read           # of each row: see `move_columns`, ``read_inout``
    int64_t* next_entry       # of each chunk, by column
    const int64_t* entry_stop
    int32_t* rows
    void* values_out
    Watch watch


cdef void move_values(
    MoveLoop* loop, const index_t* start, const bits_t* values, Py_ssize_t k
) noexcept nogil:
    """Write the entries of chunk k, whose values have the size of ``bits_t``."""
    move_rows(
        start, <const index_t*> loop.columns, values, loop.chunk_start[k],
        loop.chunk_start[k + 1], loop.first_column, loop.n_columns, loop.n_read,
        loop.next_entry + k * loop.n_columns, loop.entry_stop + k * loop.n_columns, loop.rows,
        <bits_t*> loop.values_out, &loop.watch)


cdef void move_of_width(MoveLoop* loop, const index_t* start, Py_ssize_t k) noexcept nogil:
    """Write the entries of chunk k, by the size of values."""
    if loop.width == 8:
        move_values(loop, start, <const uint64_t*> loop.values, k)
    elif loop.width == 4:
        move_values(loop, start, <const uint32_t*> loop.values, k)
    elif loop.width == 2:
        move_values(loop, start, <const uint16_t*> loop.values, k)
    else:
        move_values(loop, start, <const uint8_t*> loop.values, k)


cdef void move_body(void* context, Py_ssize_t k, Py_ssize_t end, int thread) noexcept nogil:
    """Write the entries of chunk k, by the size of its row and column numbers."""
    cdef MoveLoop* loop = <MoveLoop*> context
    if loop.is_long:
        move_of_width(loop, <const int64_t*> loop.start, k)
    else:
        move_of_width(loop, <const int32_t*> loop.start, k)


def move_columns(
    const index_t[::1] start, const index_t[::1] columns, const bits_t[::1] values,
    const int64_t[::1] chunk_start, int64_t first_column, int32_t[::1] read_inout,
    int64_t[:, ::1] next_entry_inout, const int64_t[:, ::1] entry_stop, int32_t[::1] rows_out,
    bits_t[::1] values_out,
) -> None:
    """Write the entries of the next columns, one column after the other.

    - ``start``, ``columns``, ``values``: the arrays of the CSR matrix; the columns of a row ascend.
    - ``chunk_start``, (n_chunks + 1,): where the rows of each chunk begin.
    - ``first_column``: the first one of the next columns.
    - ``read_inout``, (n_rows,): how many of each row's entries belong to columns before these; then
      those of these, too.
    - ``next_entry_inout``, (n_chunks, n): where the entries of each of the n next columns go, by
      chunk; then where they end.
    - ``entry_stop``, (n_chunks, n): where they must end; further entries are not written.
    - ``values``, ``values_out``: empty if only the rows of entries are written.
    """
    cdef Py_ssize_t n_chunks = next_entry_inout.shape[0]
    cdef MoveLoop loop = MoveLoop(
        index_t is int64_t, sizeof(bits_t), &start[0], &columns[0], NULL, &chunk_start[0],
        first_column, next_entry_inout.shape[1], &read_inout[0],
        &next_entry_inout[0, 0], &entry_stop[0, 0], &rows_out[0], NULL, start_watch())
    if values.shape[0] > 0:
        loop.values, loop.values_out = &values[0], &values_out[0]
    with nogil:
        parallel_for(move_body, &loop, n_chunks, 1, <int> n_chunks)
    end_watch(&loop.watch)
