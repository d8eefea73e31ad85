"""The bins of some rows, such as a fold or a subset, gathered from those of all rows.

Rows are ascending and distinct, which is not checked here.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

import numpy as np

from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for

cdef enum:
    BLOCK = 2048    # rows whose numbers stay in the nearest cache while all columns are read
    COLUMNS_PER_TASK = 16

ctypedef fused item_t:
    uint8_t
    uint16_t


cdef struct DenseLoop:
    int width                 # bytes of an item
    const void* columns       # (n_columns, n_rows)
    void* taken               # (n_columns, n_taken): the result
    Py_ssize_t n_columns
    Py_ssize_t n_rows
    Py_ssize_t n_taken
    const int64_t* rows       # (n_taken,): the rows to gather
    Watch watch


cdef void gather_items(
    const DenseLoop* loop, const item_t* columns, Py_ssize_t first, Py_ssize_t end,
) noexcept nogil:
    """Copy the gathered rows, from number ``first`` to ``end`` in ``loop.rows``, in all columns."""
    cdef const item_t* column
    cdef item_t* out
    cdef Py_ssize_t i, j
    for j in range(loop.n_columns):
        column = columns + j * loop.n_rows
        out = <item_t*> loop.taken + j * loop.n_taken
        for i in range(first, end):
            out[i] = column[loop.rows[i]]


cdef void dense_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Gather a block of rows, in items of one or two bytes."""
    cdef DenseLoop* loop = <DenseLoop*> context
    if is_stopped(&loop.watch):
        return
    if loop.width == 1:
        gather_items(loop, <const uint8_t*> loop.columns, first, end)
    else:
        gather_items(loop, <const uint16_t*> loop.columns, first, end)


def gather_columns(
    const item_t[:, ::1] columns, const int64_t[::1] rows, int n_threads, item_t[:, ::1] taken_out,
):
    """Gather rows of columns: the elements ``columns[:, rows]``.

    - ``columns``, (n_columns, n_rows).
    - ``rows``, (n_taken,).
    - ``taken_out``, (n_columns, n_taken).
    """
    cdef DenseLoop loop
    if columns.shape[0] == 0 or rows.shape[0] == 0:
        return
    loop = DenseLoop(
        sizeof(item_t), &columns[0, 0], &taken_out[0, 0], columns.shape[0], columns.shape[1],
        rows.shape[0], &rows[0], start_watch())
    with nogil:
        parallel_for(dense_body, &loop, rows.shape[0], BLOCK, n_threads)
    end_watch(&loop.watch)


cdef int64_t count_gathered(
    const uint32_t* rows, int64_t length, const int32_t* position,
) noexcept nogil:
    """The number of a column's stored rows that are gathered.

    ``rows``, (length,): the stored rows, those that are not in the default bin. ``position``, by
    row: its position among the gathered rows; -1: it is not gathered.
    """
    cdef int64_t n = 0
    cdef int64_t i
    for i in range(length):
        n += position[rows[i]] >= 0
    return n


cdef void gather_sparse_column(
    const uint32_t* rows, const uint16_t* bins, const int32_t* position, int64_t n,
    uint32_t* rows_out, uint16_t* bins_out,
) noexcept nogil:
    """Write the ``n`` stored rows of a column that are gathered, with their new numbers.

    - ``rows``, ``bins``: the stored rows, and their stored bins; NULL: all are 0, and none are
      written.
    - ``position``: see `count_gathered`, which has counted ``n``.
    """
    cdef int64_t i = 0
    cdef int64_t at = 0
    # Without branches: each stored row is written, and overwritten by the next if not gathered.
    while at < n:
        rows_out[at] = <uint32_t> position[rows[i]]
        if bins != NULL:
            bins_out[at] = bins[i]
        at += position[rows[i]] >= 0
        i += 1


cdef struct SparseLoop:
    # The arguments and results of `gather_sparse_columns`.
    const int64_t* start
    const uint32_t* rows
    const int64_t* bin_start
    const uint16_t* bins
    const int32_t* position
    int64_t* start_out        # of each column, and the end; first its length instead
    const int64_t* bin_start_out
    uint32_t* rows_out
    uint16_t* bins_out
    Watch watch


cdef void count_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Count the gathered rows of the columns ``first`` to ``end``; of column j in element j + 1."""
    cdef SparseLoop* loop = <SparseLoop*> context
    cdef const int64_t* start = loop.start
    cdef Py_ssize_t j
    for j in range(first, end):
        if start[j] < start[j + 1] and not is_stopped(&loop.watch):
            loop.start_out[j + 1] = count_gathered(
                loop.rows + start[j], start[j + 1] - start[j], loop.position)


cdef void sparse_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Write the gathered rows of the columns from ``first`` to ``end``."""
    cdef SparseLoop* loop = <SparseLoop*> context
    cdef const int64_t* start = loop.start
    cdef const int64_t* to = loop.start_out
    cdef const uint16_t* bins
    cdef Py_ssize_t j
    for j in range(first, end):
        if start[j] < start[j + 1] and not is_stopped(&loop.watch):
            bins = NULL
            if loop.bin_start[j] < loop.bin_start[j + 1]:
                bins = loop.bins + loop.bin_start[j]
            gather_sparse_column(
                loop.rows + start[j], bins, loop.position, to[j + 1] - to[j],
                loop.rows_out + to[j], loop.bins_out + loop.bin_start_out[j])


def gather_sparse_columns(
    const int64_t[::1] start, const uint32_t[::1] sparse_rows, const int64_t[::1] bin_start,
    const uint16_t[::1] bins, const int32_t[::1] position, int n_threads,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint16]]:
    """Keep the stored rows of sparse columns that are gathered, with their new numbers.

    - ``start``, (n_columns + 1,): where each column begins in ``sparse_rows``.
    - ``bin_start``, (n_columns + 1,): where the stored bins of each column begin in ``bins``;
      a column without stored bins has stored bin 0 in all of its rows.
    - ``position``, (n_rows,): the position of each row among the gathered ones; -1: it is not
      there.

    Returns ``start``, ``sparse_rows``, ``bin_start`` and ``bins`` of the gathered rows.
    """
    cdef Py_ssize_t n_columns = start.shape[0] - 1
    cdef SparseLoop loop
    taken_start = np.zeros(n_columns + 1, dtype=np.int64)
    cdef int64_t[::1] start_out = taken_start
    if sparse_rows.shape[0] == 0:
        return taken_start, np.empty(0, np.uint32), taken_start, np.empty(0, np.uint16)
    loop.start, loop.rows, loop.position = &start[0], &sparse_rows[0], &position[0]
    loop.bin_start = &bin_start[0]
    loop.bins = &bins[0] if bins.shape[0] > 0 else NULL
    loop.start_out = &start_out[0]
    loop.watch = start_watch()
    with nogil:
        parallel_for(count_body, &loop, n_columns, COLUMNS_PER_TASK, n_threads)
    taken_bin_start = np.zeros(n_columns + 1, dtype=np.int64)
    np.cumsum(taken_start[1:] * (np.diff(bin_start) > 0), out=taken_bin_start[1:])
    np.cumsum(taken_start, out=taken_start)
    taken_rows = np.empty(start_out[n_columns] + 1, dtype=np.uint32)
    cdef int64_t[::1] bin_start_out = taken_bin_start
    taken_bins = np.empty(bin_start_out[n_columns] + 1, dtype=np.uint16)
    cdef uint32_t[::1] rows_out = taken_rows
    cdef uint16_t[::1] bins_out = taken_bins
    loop.bin_start_out, loop.rows_out, loop.bins_out = (
        &bin_start_out[0], &rows_out[0], &bins_out[0])
    with nogil:
        parallel_for(sparse_body, &loop, n_columns, COLUMNS_PER_TASK, n_threads)
    end_watch(&loop.watch)
    return (
        taken_start, taken_rows[:start_out[n_columns]],
        taken_bin_start, taken_bins[:bin_start_out[n_columns]],
    )
