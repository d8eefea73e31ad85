# cython: language_level=3
"""Counts and bins of columns of categories.

A value is the number of a category; NaN and numbers that no category has are missing.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint16_t, uint8_t

from skgoss._engine.columns.column_kernels cimport InputColumns, load_block, read_columns
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch

cdef enum:
    # Rows read at a time: their values stay in the first cache.
    BLOCK = 256
    # Rows whose bins one thread writes at a time.
    ROWS_PER_TASK = 1 << 14

ctypedef fused bin_t:
    uint8_t
    uint16_t


cdef inline int64_t entry_of(double value, int64_t n_categories) noexcept nogil:
    """The place of a category in a table whose first entry is that of missing values."""
    return 1 + <int64_t> value if 0.0 <= value < <double> n_categories else 0


cdef void count_column(
    const InputColumns* inputs, Py_ssize_t column, const int64_t* rows,
    const double* weight, int64_t n_rows, int64_t n_categories, int64_t* count_out,
    double* mass_out,
) noexcept nogil:
    """Count the rows of each category of a column, and sum their masses."""
    cdef double[BLOCK] values
    cdef int64_t start = 0
    cdef int64_t n, i, entry
    while start < n_rows:
        n = min(<int64_t> BLOCK, n_rows - start)
        load_block(inputs, column, rows, start, n, values)
        for i in range(n):
            entry = entry_of(values[i], n_categories)
            count_out[entry] += 1
            mass_out[entry] += weight[start + i] if weight != NULL else 1.0
        start += n


def count_categories(
    columns, const int64_t[::1] rows, const double[::1] weight, int64_t n_rows,
    const int64_t[::1] first, int n_threads, int64_t[::1] count_out, double[::1] mass_out,
) -> None:
    """Count the rows of every category of every column.

    - ``columns``, `Columns`.
    - ``rows``, (n_rows,) or None: the rows to read, ascending; None reads the first ``n_rows``.
    - ``weight``, (n_rows,) or None: the mass of each row read; None is 1.
    - ``first``, (n_columns + 1,): where a column's entries begin: that of missing values, then one
      a category.
    - ``count_out``, ``mass_out``, (first[-1],): rows and their masses, added to what is there.
    """
    cdef const int64_t* row = NULL if rows is None else &rows[0]
    cdef const double* row_mass = NULL if weight is None else &weight[0]
    cdef InputColumns inputs = read_columns(columns)
    cdef Py_ssize_t j
    cdef Watch watch = start_watch()
    for j in prange(first.shape[0] - 1, nogil=True, schedule="dynamic", num_threads=n_threads):
        if not is_stopped(&watch):
            count_column(
                &inputs, j, row, row_mass, n_rows, first[j + 1] - first[j] - 1,
                &count_out[first[j]], &mass_out[first[j]],
            )
    end_watch(&watch)


cdef void bin_rows(
    const InputColumns* inputs, Py_ssize_t column, const int64_t* rows, int64_t start,
    int64_t stop, const uint16_t* bin_of, int64_t n_categories, bin_t* bins_out,
) noexcept nogil:
    """Put some rows of a column of categories into their bins."""
    cdef double[BLOCK] values
    cdef int64_t n, i
    while start < stop:
        n = min(<int64_t> BLOCK, stop - start)
        load_block(inputs, column, rows, start, n, values)
        for i in range(n):
            bins_out[start + i] = <bin_t> bin_of[entry_of(values[i], n_categories)]
        start += n


def bin_categories(
    columns, const int64_t[::1] rows, const uint16_t[::1] bin_of, const int64_t[::1] first,
    int n_threads, bin_t[:, ::1] bins_out,
) -> None:
    """Put every category of every column into its bin.

    - ``columns``, ``rows``: as for `count_categories`.
    - ``bin_of``, (first[-1],): for each of the columns, the bin of missing values and of each
      category.
    - ``first``, (n_columns + 1,): where the bins of a column begin.
    - ``bins_out``, (n_columns, n_rows).
    """
    cdef const int64_t* row = NULL if rows is None else &rows[0]
    cdef InputColumns inputs = read_columns(columns)
    cdef int64_t n_rows = bins_out.shape[1]
    cdef int64_t n_parts = (n_rows + ROWS_PER_TASK - 1) // ROWS_PER_TASK
    cdef int64_t task, j, start
    cdef Watch watch = start_watch()
    for task in prange(
        bins_out.shape[0] * n_parts, nogil=True, schedule="dynamic", num_threads=n_threads,
    ):
        j = task // n_parts
        start = task % n_parts * ROWS_PER_TASK
        if not is_stopped(&watch):
            bin_rows(
                &inputs, j, row, start, min(start + ROWS_PER_TASK, n_rows), &bin_of[first[j]],
                first[j + 1] - first[j] - 1, &bins_out[j, 0],
            )
    end_watch(&watch)
