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


cdef struct Gathering:
    int width                 # bytes of an item
    const void* columns
    void* taken
    Py_ssize_t n_columns
    Py_ssize_t n_rows
    Py_ssize_t n_taken
    const int64_t* rows
    Watch watch


cdef void gather_items(
    const Gathering* call, const item_t* columns, Py_ssize_t first, Py_ssize_t end,
) noexcept nogil:
    """Copy the gathered rows from ``first`` to ``end``, in all columns."""
    cdef const item_t* column
    cdef item_t* out
    cdef Py_ssize_t i, j
    for j in range(call.n_columns):
        column = columns + j * call.n_rows
        out = <item_t*> call.taken + j * call.n_taken
        for i in range(first, end):
            out[i] = column[call.rows[i]]


cdef void gather_block(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef Gathering* call = <Gathering*> context
    if is_stopped(&call.watch):
        return
    if call.width == 1:
        gather_items(call, <const uint8_t*> call.columns, first, end)
    else:
        gather_items(call, <const uint16_t*> call.columns, first, end)


def gather_columns(
    const item_t[:, ::1] columns, const int64_t[::1] rows, int n_threads, item_t[:, ::1] taken_out,
):
    """Gather rows of columns: the elements ``columns[:, rows]``."""
    cdef Gathering call
    if columns.shape[0] == 0 or rows.shape[0] == 0:
        return
    call = Gathering(
        sizeof(item_t), &columns[0, 0], &taken_out[0, 0], columns.shape[0], columns.shape[1],
        rows.shape[0], &rows[0], start_watch())
    with nogil:
        parallel_for(gather_block, &call, rows.shape[0], BLOCK, n_threads)
    end_watch(&call.watch)


cdef int64_t count_gathered(
    const uint32_t* rows, int64_t length, const int32_t* position,
) noexcept nogil:
    """The number of a column's stored rows that are gathered."""
    cdef int64_t n = 0
    cdef int64_t i
    for i in range(length):
        n += position[rows[i]] >= 0
    return n


cdef void gather_sparse_column(
    const uint32_t* rows, const uint16_t* bins, const int32_t* position, int64_t n,
    uint32_t* rows_out, uint16_t* bins_out,
) noexcept nogil:
    """Write the ``n`` stored rows of a column that are gathered."""
    cdef int64_t i = 0
    cdef int64_t at = 0
    # Without branches: each stored row is written, and overwritten by the next if not gathered.
    while at < n:
        rows_out[at] = <uint32_t> position[rows[i]]
        if bins != NULL:
            bins_out[at] = bins[i]
        at += position[rows[i]] >= 0
        i += 1


cdef struct SparseGathering:
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


cdef void count_some(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef SparseGathering* call = <SparseGathering*> context
    cdef const int64_t* start = call.start
    cdef Py_ssize_t j
    for j in range(first, end):
        if start[j] < start[j + 1] and not is_stopped(&call.watch):
            call.start_out[j + 1] = count_gathered(
                call.rows + start[j], start[j + 1] - start[j], call.position)


cdef void gather_some(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef SparseGathering* call = <SparseGathering*> context
    cdef const int64_t* start = call.start
    cdef const int64_t* to = call.start_out
    cdef const uint16_t* bins
    cdef Py_ssize_t j
    for j in range(first, end):
        if start[j] < start[j + 1] and not is_stopped(&call.watch):
            bins = NULL
            if call.bin_start[j] < call.bin_start[j + 1]:
                bins = call.bins + call.bin_start[j]
            gather_sparse_column(
                call.rows + start[j], bins, call.position, to[j + 1] - to[j],
                call.rows_out + to[j], call.bins_out + call.bin_start_out[j])


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
    cdef SparseGathering call
    taken_start = np.zeros(n_columns + 1, dtype=np.int64)
    cdef int64_t[::1] start_out = taken_start
    if sparse_rows.shape[0] == 0:
        return taken_start, np.empty(0, np.uint32), taken_start, np.empty(0, np.uint16)
    call.start, call.rows, call.position = &start[0], &sparse_rows[0], &position[0]
    call.bin_start = &bin_start[0]
    call.bins = &bins[0] if bins.shape[0] > 0 else NULL
    call.start_out = &start_out[0]
    call.watch = start_watch()
    with nogil:
        parallel_for(count_some, &call, n_columns, COLUMNS_PER_TASK, n_threads)
    taken_bin_start = np.zeros(n_columns + 1, dtype=np.int64)
    np.cumsum(taken_start[1:] * (np.diff(bin_start) > 0), out=taken_bin_start[1:])
    np.cumsum(taken_start, out=taken_start)
    taken_rows = np.empty(start_out[n_columns] + 1, dtype=np.uint32)
    cdef int64_t[::1] bin_start_out = taken_bin_start
    taken_bins = np.empty(bin_start_out[n_columns] + 1, dtype=np.uint16)
    cdef uint32_t[::1] rows_out = taken_rows
    cdef uint16_t[::1] bins_out = taken_bins
    call.bin_start_out, call.rows_out, call.bins_out = (
        &bin_start_out[0], &rows_out[0], &bins_out[0])
    with nogil:
        parallel_for(gather_some, &call, n_columns, COLUMNS_PER_TASK, n_threads)
    end_watch(&call.watch)
    return (
        taken_start, taken_rows[:start_out[n_columns]],
        taken_bin_start, taken_bins[:bin_start_out[n_columns]],
    )
