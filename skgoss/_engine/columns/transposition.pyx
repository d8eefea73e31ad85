# cython: language_level=3
"""Columns of a CSR matrix, some at a time.

The rows of the matrix are cut into chunks, one for each thread; as rows
ascend within a chunk, and from chunk to chunk, they ascend within each column.

The columns of entries are in memory of the user, which may change while it is read. So each is
compared with the number of columns, and each place with the number of entries that were counted.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch

cdef enum:
    WATCH_EVERY = 4096    # rows

ctypedef fused index_t:
    int32_t
    int64_t

# Values are moved as bits, whatever they stand for.
ctypedef fused bits_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef bint count_rows(
    const index_t* start, const index_t* columns, int64_t first, int64_t stop,
    uint64_t n_columns, int32_t* count_out, Watch* watch,
) noexcept nogil:
    """Add up the entries of each column; false if a row's columns do not ascend."""
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


def count_columns(
    const index_t[::1] start, const index_t[::1] columns, const int64_t[::1] chunk_start,
    int32_t[:, ::1] count_out,
):
    """Count the entries of each column.

    - ``start``, ``columns``: where each row begins, and the columns of all entries. Only
      ``columns`` may change.
    - ``chunk_start``, (n_chunks + 1,): the first row of each chunk.
    - ``count_out``, (n_chunks, n_columns): zeros; gets the counts in each chunk.

    Returns whether the columns of all rows ascend and are distinct.
    """
    cdef Py_ssize_t n_chunks = count_out.shape[0]
    cdef Py_ssize_t n_wrong = 0
    cdef Py_ssize_t k
    cdef Watch watch = start_watch()
    if columns.shape[0] == 0:
        return True
    for k in prange(
        n_chunks, nogil=True, schedule="static", chunksize=1, num_threads=n_chunks,
    ):
        n_wrong += not count_rows(
            &start[0], &columns[0], chunk_start[k], chunk_start[k + 1], count_out.shape[1],
            &count_out[k, 0], &watch)
    end_watch(&watch)
    return n_wrong == 0


cdef void move_rows(
    const index_t* start, const index_t* columns, const bits_t* values, int64_t first,
    int64_t stop, int64_t first_column, int64_t n_columns, int32_t* read_inout,
    int64_t* place_inout, const int64_t* place_stop, int32_t* rows_out, bits_t* values_out,
    Watch* watch,
) noexcept nogil:
    """Write the entries that rows have in some columns, column by column.

    A row's entries are read on from where the last call has stopped.
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
            at = place_inout[column]
            if at < place_stop[column]:
                rows_out[at] = <int32_t> row
                if values != NULL:
                    values_out[at] = values[i - 1]
                place_inout[column] = at + 1
        read_inout[row] = <int32_t> (i - start[row])


def move_columns(
    const index_t[::1] start, const index_t[::1] columns, const bits_t[::1] values,
    const int64_t[::1] chunk_start, int64_t first_column, int32_t[::1] read_inout,
    int64_t[:, ::1] place_inout, const int64_t[:, ::1] place_stop, int32_t[::1] rows_out,
    bits_t[::1] values_out,
) -> None:
    """Write the entries of the next columns, one column after the other.

    - ``start``, ``columns``, ``values``, ``chunk_start``: as for ``count_columns``; the columns of
      a row ascend.
    - ``first_column``: the first one of the next columns.
    - ``read_inout``, (n_rows,): how many of each row's entries belong to columns before these; then
      those of these, too.
    - ``place_inout``, (n_chunks, n): where the entries of each of the n next columns go, by chunk;
      then where they end.
    - ``place_stop``, (n_chunks, n): where they must end; further entries are not written.
    - ``values_out``: empty if only rows are wanted; so is ``values`` then.
    """
    cdef Py_ssize_t n_chunks = place_inout.shape[0]
    cdef const bits_t* from_values = &values[0] if values.shape[0] > 0 else NULL
    cdef bits_t* to_values = &values_out[0] if values.shape[0] > 0 else NULL
    cdef Py_ssize_t k
    cdef Watch watch = start_watch()
    for k in prange(
        n_chunks, nogil=True, schedule="static", chunksize=1, num_threads=n_chunks,
    ):
        move_rows(
            &start[0], &columns[0], from_values, chunk_start[k], chunk_start[k + 1],
            first_column, place_inout.shape[1], &read_inout[0], &place_inout[k, 0],
            &place_stop[k, 0], &rows_out[0], to_values, &watch)
    end_watch(&watch)
