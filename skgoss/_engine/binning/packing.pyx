"""The row-major bin matrix, written from columns: lanes, shorts and entries.

``layout.h`` describes how rows lie in memory.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

import numpy as np

from skgoss._engine.binning.stored_columns cimport stored_bin, stored_bins
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_shares

# Where a run of codes goes in a histogram: `Piece` of layout.h.
PIECE: np.dtype[np.void] = np.dtype(
    [("hist_bin", np.int64), ("code", np.int32), ("length", np.int32)])

ctypedef fused code_t:
    uint8_t
    uint16_t


cdef enum:
    BLOCK = 512    # rows whose lanes stay in the nearest cache while all columns are added


cdef struct PackLoop:
    # The arguments of `pack_rows`.
    int width                 # bytes of a number
    const void* columns       # (n_columns, n_rows)
    void* rows                # (n_rows, stride)
    Py_ssize_t n_rows
    Py_ssize_t n_columns
    const int32_t* lane       # of each column: its number in a row
    const int32_t* radix      # of each column: the factor of its digit
    Py_ssize_t stride         # numbers of a row
    Watch watch


cdef void pack_numbers(
    const PackLoop* loop, const code_t* columns, Py_ssize_t first, Py_ssize_t n,
) noexcept nogil:
    """Write the numbers of n rows, from row ``first`` on, as the sums of the columns' digits."""
    cdef code_t* out = <code_t*>loop.rows + first * loop.stride
    cdef const code_t* column
    cdef Py_ssize_t stride = loop.stride, i, j
    cdef int32_t lane, radix
    memset(out, 0, n * stride * sizeof(code_t))
    for j in range(loop.n_columns):
        column = columns + j * loop.n_rows + first
        lane, radix = loop.lane[j], loop.radix[j]
        for i in range(n):
            out[i * stride + lane] += <code_t>(column[i] * radix)


cdef void pack_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Write a block of rows, in numbers of one or two bytes."""
    cdef PackLoop* loop = <PackLoop*>context
    if is_stopped(&loop.watch):
        return
    if loop.width == 1:
        pack_numbers(loop, <const uint8_t*>loop.columns, first, end - first)
    else:
        pack_numbers(loop, <const uint16_t*>loop.columns, first, end - first)


def pack_rows(
    const code_t[:, ::1] columns, const int32_t[::1] lane, const int32_t[::1] radix,
    int n_threads, code_t[:, ::1] rows_out,
) -> None:
    """Write columns as digits of the numbers of rows: of one byte (lanes) or two bytes (shorts).

    ``rows_out[i, lane[j]]`` is the sum of ``radix[j] * columns[j, i]`` over all columns j of the
    lane; 0 if there are none. So columns of few codes share a byte, as digits of a number of mixed
    radix: ``radix[j]`` is the product of the numbers of codes of the lane's earlier columns.

    - ``columns``, (n_columns, n_rows): codes.
    - ``lane``, ``radix``, (n_columns,).
    - ``rows_out``, (n_rows, n_numbers).
    """
    cdef Py_ssize_t n_rows = rows_out.shape[0]
    cdef PackLoop loop
    if n_rows == 0 or lane.shape[0] == 0:
        return
    loop = PackLoop(
        sizeof(code_t), &columns[0, 0], &rows_out[0, 0], n_rows, columns.shape[0], &lane[0],
        &radix[0], rows_out.shape[1], start_watch())
    with nogil:
        parallel_shares(pack_body, &loop, n_rows, BLOCK, n_threads)
    end_watch(&loop.watch)


def pack_entries(
    const int64_t[::1] sparse_start, const uint32_t[::1] sparse_rows,
    const int64_t[::1] bin_start, const uint16_t[::1] bins, const int64_t[::1] chosen,
    const int64_t[::1] sparse_hist_bin, int64_t[::1] entry_start_out,
    uint32_t[::1] entries_out,
) -> None:
    """Write each row's entries: the histogram bins of the sparse columns that store the row.

    A stored row of a sparse column is one that is not in its default bin, and its stored bin is its
    bin, numbered without the default one.

    - ``sparse_start``, (n_columns + 1,): where the stored rows of each column begin in
      ``sparse_rows``.
    - ``sparse_rows``: stored rows, column by column.
    - ``bin_start``, (n_columns + 1,): where the stored bins of each column begin in ``bins``;
      a column without stored bins has stored bin 0 in all of its rows.
    - ``chosen``, (n_chosen,): numbers of sparse columns.
    - ``sparse_hist_bin``, (n_chosen,): the histogram bin of each one's stored bin 0.
    - ``entry_start_out``, (n_rows + 1,): where the entries of each row begin.
    - ``entries_out``: of the length of all chosen columns together.
    """
    cdef Py_ssize_t n_rows = entry_start_out.shape[0] - 1
    cdef Py_ssize_t i, j, k
    cdef int64_t* at = &entry_start_out[0]
    cdef const uint16_t* stored
    cdef Watch watch = start_watch()
    with nogil:
        memset(at, 0, (n_rows + 1) * sizeof(int64_t))
        for k in range(chosen.shape[0]):
            if is_stopped(&watch):
                break
            for i in range(sparse_start[chosen[k]], sparse_start[chosen[k] + 1]):
                at[sparse_rows[i] + 1] += 1
        for i in range(n_rows):
            at[i + 1] += at[i]
        # Each start moves to the end of its row, which is the start of the next row. At the end,
        # all are shifted back.
        for k in range(chosen.shape[0]):
            if is_stopped(&watch):
                break
            j = chosen[k]
            stored = stored_bins(bins, bin_start, j)
            for i in range(sparse_start[j], sparse_start[j + 1]):
                entries_out[at[sparse_rows[i]]] = <uint32_t>(
                    sparse_hist_bin[k] + stored_bin(stored, i - sparse_start[j]))
                at[sparse_rows[i]] += 1
        for i in range(n_rows, 0, -1):
            at[i] = at[i - 1]
        at[0] = 0
    end_watch(&watch)
