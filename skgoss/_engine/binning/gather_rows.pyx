# cython: language_level=3
"""The bins of some rows, gathered from those of all rows, as for a fold or a subset.

Rows are always ascending and distinct. They are not checked here.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

import numpy as np

from skgoss._engine.binning.stored_columns cimport stored_bins
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch

cdef enum:
    BLOCK = 2048    # rows whose numbers stay in the first cache while columns follow
    COLUMNS_PER_TASK = 16

ctypedef fused item_t:
    uint8_t
    uint16_t


cdef void gather_items(
    const item_t* column, const int64_t* rows, Py_ssize_t n, item_t* out,
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = column[rows[i]]


def gather_columns(
    const item_t[:, ::1] columns, const int64_t[::1] rows, int n_threads, item_t[:, ::1] taken_out,
):
    """Gather rows of columns: the elements ``columns[:, rows]``."""
    cdef Py_ssize_t n_taken = rows.shape[0]
    cdef Py_ssize_t block, j, n
    cdef Watch watch = start_watch()
    if columns.shape[0] == 0:
        return
    for block in prange(
        (n_taken + BLOCK - 1) // BLOCK, nogil=True, schedule="dynamic",
        num_threads=n_threads,
    ):
        if is_stopped(&watch):
            continue
        n = min(<Py_ssize_t>BLOCK, n_taken - block * BLOCK)
        for j in range(columns.shape[0]):
            gather_items(&columns[j, 0], &rows[block * BLOCK], n, &taken_out[j, block * BLOCK])
    end_watch(&watch)


cdef int64_t count_gathered(
    const uint32_t* rows, int64_t length, const int32_t* place,
) noexcept nogil:
    cdef int64_t n = 0
    cdef int64_t i
    for i in range(length):
        n += place[rows[i]] >= 0
    return n


cdef void gather_sparse_column(
    const uint32_t* rows, const uint16_t* bins, const int32_t* place, int64_t n,
    uint32_t* rows_out, uint16_t* bins_out,
) noexcept nogil:
    """Write the ``n`` stored rows of a column that are gathered."""
    cdef int64_t i = 0
    cdef int64_t at = 0
    # Each stored row is written, and the next one over it if it is not gathered.
    while at < n:
        rows_out[at] = <uint32_t> place[rows[i]]
        if bins != NULL:
            bins_out[at] = bins[i]
        at += place[rows[i]] >= 0
        i += 1


def gather_sparse_columns(
    const int64_t[::1] start, const uint32_t[::1] sparse_rows, const int64_t[::1] bin_start,
    const uint16_t[::1] bins, const int32_t[::1] place, int n_threads,
):
    """Keep the stored rows of sparse columns that are gathered, and number them anew.

    - ``start``, (n_columns + 1,): where each column begins in ``sparse_rows``.
    - ``bin_start``, (n_columns + 1,): where the stored bins of each column begin in ``bins``;
      without any, all are 0.
    - ``place``, (n_rows,): where each row is among the gathered ones; -1: it is not.

    Returns start, sparse_rows, bin_start, bins: as the arguments.
    """
    cdef Py_ssize_t n_columns = start.shape[0] - 1
    cdef Py_ssize_t j
    cdef Watch watch
    taken_start = np.zeros(n_columns + 1, dtype=np.int64)
    cdef int64_t[::1] start_out = taken_start
    if sparse_rows.shape[0] == 0:
        return taken_start, np.empty(0, np.uint32), taken_start, np.empty(0, np.uint16)
    watch = start_watch()
    for j in prange(
        n_columns, nogil=True, schedule="dynamic", chunksize=COLUMNS_PER_TASK,
        num_threads=n_threads,
    ):
        if start[j] < start[j + 1] and not is_stopped(&watch):
            start_out[j + 1] = count_gathered(
                &sparse_rows[start[j]], start[j + 1] - start[j], &place[0])
    taken_bin_start = np.zeros(n_columns + 1, dtype=np.int64)
    np.cumsum(taken_start[1:] * (np.diff(bin_start) > 0), out=taken_bin_start[1:])
    np.cumsum(taken_start, out=taken_start)
    taken_rows = np.empty(start_out[n_columns] + 1, dtype=np.uint32)
    cdef int64_t[::1] bin_start_out = taken_bin_start
    taken_bins = np.empty(bin_start_out[n_columns] + 1, dtype=np.uint16)
    cdef uint32_t[::1] rows_out = taken_rows
    cdef uint16_t[::1] bins_out = taken_bins
    for j in prange(
        n_columns, nogil=True, schedule="dynamic", chunksize=COLUMNS_PER_TASK,
        num_threads=n_threads,
    ):
        if start[j] < start[j + 1] and not is_stopped(&watch):
            gather_sparse_column(
                &sparse_rows[start[j]], stored_bins(bins, bin_start, j), &place[0],
                start_out[j + 1] - start_out[j], &rows_out[start_out[j]],
                &bins_out[bin_start_out[j]])
    end_watch(&watch)
    return (
        taken_start, taken_rows[:start_out[n_columns]],
        taken_bin_start, taken_bins[:bin_start_out[n_columns]],
    )
