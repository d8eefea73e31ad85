"""Counts and bins of columns of categories.

A value is the number of a category; NaN and numbers that are not those of a category are missing.
"""

from libc.stdint cimport int64_t, uint16_t, uint8_t

from skgoss._engine.columns.column_kernels cimport InputColumns, load_block, read_columns
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for

cdef enum:
    # Rows read at a time: their values stay in the first cache.
    BLOCK = 256
    # Rows whose bins one thread writes at a time.
    ROWS_PER_TASK = 1 << 14

ctypedef fused bin_t:
    uint8_t
    uint16_t


cdef inline int64_t entry_of(double value, int64_t n_categories) noexcept nogil:
    """The index of a category in a table whose first entry is that of missing values."""
    return 1 + <int64_t> value if 0.0 <= value < <double> n_categories else 0


cdef void count_column(
    const InputColumns* inputs, Py_ssize_t column, const int64_t* rows,
    const double* weight, int64_t n_rows, int64_t n_categories, int64_t* count_out,
    double* mass_out,
) noexcept nogil:
    """Count the rows of each category of a column, and sum their masses (weights).

    - ``rows``, (n_rows,): the rows to read; NULL: the first ones.
    - ``weight``, (n_rows,): the mass of each row read; NULL: 1.
    - ``count_out``, ``mass_out``, (1 + n_categories,): by `entry_of`; added to what is there.
    """
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


cdef struct CategoryLoop:
    # The arguments of `count_categories` or `bin_categories`.
    InputColumns inputs
    const int64_t* rows       # to read; NULL: the first ones
    const double* weight
    int64_t n_rows
    const int64_t* first      # of each column, where its entries begin in the tables; and the end
    int64_t* count
    double* mass
    const uint16_t* bin_of
    int width                 # bytes of a bin
    void* bins
    Watch watch


cdef void count_body(void* context, Py_ssize_t j, Py_ssize_t end, int thread) noexcept nogil:
    """Count the rows of each category of column j (``end`` = j + 1)."""
    cdef CategoryLoop* loop = <CategoryLoop*> context
    cdef int64_t first = loop.first[j]
    if not is_stopped(&loop.watch):
        count_column(
            &loop.inputs, j, loop.rows, loop.weight, loop.n_rows, loop.first[j + 1] - first - 1,
            loop.count + first, loop.mass + first)


def count_categories(
    columns, const int64_t[::1] rows or None, const double[::1] weight or None, int64_t n_rows,
    const int64_t[::1] first, int n_threads, int64_t[::1] count_out, double[::1] mass_out,
) -> None:
    """Count the rows of every category of every column.

    - ``columns``, `Columns`.
    - ``rows``, (n_rows,) or None: the rows to read, ascending; None reads the first ``n_rows``.
    - ``weight``, (n_rows,) or None: the mass of each row read; None is 1.
    - ``first``, (n_columns + 1,): where a column's entries begin: that of missing values, then
      those of the categories.
    - ``count_out``, ``mass_out``, (first[-1],): rows and their masses, added to what is there.
    """
    cdef CategoryLoop loop
    if first.shape[0] == 1:
        return
    loop.inputs, loop.first, loop.n_rows = read_columns(columns), &first[0], n_rows
    loop.rows = NULL if rows is None else &rows[0]
    loop.weight = NULL if weight is None else &weight[0]
    loop.count, loop.mass = &count_out[0], &mass_out[0]
    loop.watch = start_watch()
    with nogil:
        parallel_for(count_body, &loop, first.shape[0] - 1, 1, n_threads)
    end_watch(&loop.watch)


cdef void bin_rows(
    const CategoryLoop* loop, Py_ssize_t column, int64_t start, int64_t stop, bin_t* bins_out,
) noexcept nogil:
    """Put the rows ``start`` to ``stop`` (numbers among those read) of a column into their bins.

    ``bins_out``: the bins of the column, from row 0 on.
    """
    cdef const uint16_t* bin_of = loop.bin_of + loop.first[column]
    cdef int64_t n_categories = loop.first[column + 1] - loop.first[column] - 1
    cdef double[BLOCK] values
    cdef int64_t n, i
    while start < stop:
        n = min(<int64_t> BLOCK, stop - start)
        load_block(&loop.inputs, column, loop.rows, start, n, values)
        for i in range(n):
            bins_out[start + i] = <bin_t> bin_of[entry_of(values[i], n_categories)]
        start += n


cdef void bin_body(void* context, Py_ssize_t task, Py_ssize_t end, int thread) noexcept nogil:
    """One task of `bin_categories`: up to ROWS_PER_TASK rows of a column.

    ``task``: its number; the tasks of a column follow each other.
    """
    cdef CategoryLoop* loop = <CategoryLoop*> context
    cdef int64_t n_blocks = (loop.n_rows + ROWS_PER_TASK - 1) // ROWS_PER_TASK
    cdef Py_ssize_t j = task // n_blocks
    cdef int64_t start = task % n_blocks * ROWS_PER_TASK
    cdef int64_t stop = min(start + ROWS_PER_TASK, loop.n_rows)
    if is_stopped(&loop.watch):
        return
    if loop.width == 1:
        bin_rows(loop, j, start, stop, <uint8_t*> loop.bins + j * loop.n_rows)
    else:
        bin_rows(loop, j, start, stop, <uint16_t*> loop.bins + j * loop.n_rows)


def bin_categories(
    columns, const int64_t[::1] rows or None, const uint16_t[::1] bin_of, const int64_t[::1] first,
    int n_threads, bin_t[:, ::1] bins_out,
) -> None:
    """Put every category of every column into its bin.

    - ``columns``, ``rows``: as for `count_categories`.
    - ``bin_of``, (first[-1],): for each of the columns, the bin of missing values and of each
      category.
    - ``first``, (n_columns + 1,): where the bins of a column begin.
    - ``bins_out``, (n_columns, n_rows).
    """
    cdef int64_t n_rows = bins_out.shape[1]
    cdef int64_t n_blocks = (n_rows + ROWS_PER_TASK - 1) // ROWS_PER_TASK
    cdef CategoryLoop loop
    if bins_out.shape[0] * n_rows == 0:
        return
    loop.inputs, loop.first, loop.n_rows = read_columns(columns), &first[0], n_rows
    loop.rows = NULL if rows is None else &rows[0]
    loop.bin_of, loop.bins, loop.width = &bin_of[0], &bins_out[0, 0], sizeof(bin_t)
    loop.watch = start_watch()
    with nogil:
        parallel_for(bin_body, &loop, bins_out.shape[0] * n_blocks, 1, n_threads)
    end_watch(&loop.watch)
