"""The rows of sparse columns that are not in the bin of zero, counted and listed."""

from libc.math cimport INFINITY, isnan
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from skgoss._engine.atomics cimport fetch_add
from skgoss._engine.binning.bin_search cimport SEARCH_WIDTH, BinSearch, Plan, search_block
from skgoss._engine.binning.column_values cimport BLOCK, is_zero
from skgoss._engine.columns.column_kernels cimport (
    InputColumns, is_sparse, load_block, load_rows, load_values, read_columns)
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for

cdef enum:
    # The number of columns that are read together, because a cache line of row-major data holds
    # values of several columns.
    SPARSE_TILE = 8
    COLUMNS_PER_TASK = 16     # to count rows


cdef struct ZeroBin:
    # The bin of zero of a column whose rows are listed: `low` < value <= `high`.
    Py_ssize_t column
    double low
    double high
    int32_t number
    bint nan_is_zero          # NaN is in the bin of zero, too


cdef ZeroBin zero_bin_of(const Plan* plan, Py_ssize_t column) noexcept nogil:
    """The bin of zero of a column: its number, and the values in it.

    ``plan``: the bounds of the bins of all columns.
    """
    cdef const double* bound = plan.bounds + plan.bounds_start[column]
    cdef ZeroBin zero
    zero.column = column
    zero.number = plan.zero_bin[column]
    zero.low = bound[zero.number - 1] if zero.number > 0 else -INFINITY
    zero.high = bound[zero.number]
    zero.nan_is_zero = plan.nan_bin[column] == zero.number
    return zero


cdef int64_t keep_stored(
    const double* values, int64_t n, const ZeroBin* zero, const int32_t* numbers, int64_t start,
    const int32_t* position, double* values_out, uint32_t* rows_out,
) noexcept nogil:
    """Keep the values of a block that are not in the bin of zero, and the numbers of their rows.

    - ``numbers``, (n,): those of the block's rows; NULL: they are consecutive, from ``start`` on,
      and are new numbers already.
    - ``position``, by row: its new number, -1 if it is left out; NULL: the rows keep their numbers.
    - ``values_out``, ``rows_out``: room for n elements each.

    Returns the number of values that are kept.
    """
    cdef int64_t i, row
    cdef int64_t n_kept = 0
    cdef bint is_stored
    # Without branches to mispredict: each value is written, and overwritten by the next one if it
    # is not kept.
    for i in range(n):
        row = start + i
        if numbers != NULL:
            row = position[numbers[i]] if position != NULL else numbers[i]
        is_stored = not (zero.low < values[i] <= zero.high)
        values_out[n_kept] = values[i]
        rows_out[n_kept] = <uint32_t> row
        n_kept += is_stored and row >= 0 and not (zero.nan_is_zero and isnan(values[i]))
    return n_kept


cdef int64_t list_block(
    const double* values, int64_t n, const Plan* plan, const ZeroBin* zero,
    const int32_t* numbers, int64_t start, const int32_t* position, int64_t room,
    uint32_t* rows_out, uint16_t* bins_out,
) noexcept nogil:
    """List the rows that `keep_stored` keeps, and their stored bins. Returns their number.

    Stored bins are numbered without the bin of zero: those above it are one less than the bins of
    the column. Rows or bins are left out if their array is NULL. Nothing is written if there are
    more than ``room``: another thread may have changed the data since they were counted.

    ``numbers``, ``start``, ``position``: see `keep_stored`.
    """
    cdef double[BLOCK + SEARCH_WIDTH] stored_values
    cdef uint32_t[BLOCK] stored_rows
    cdef uint16_t[BLOCK + SEARCH_WIDTH] bins
    cdef int64_t i
    cdef int64_t n_listed = keep_stored(
        values, n, zero, numbers, start, position, stored_values, stored_rows)
    if n_listed > room:
        return n_listed
    if rows_out != NULL:
        memcpy(rows_out, stored_rows, n_listed * sizeof(uint32_t))
    if bins_out == NULL:
        return n_listed
    # The search also reads values behind the last one.
    memset(stored_values + n_listed, 0, SEARCH_WIDTH * sizeof(double))
    search_block(stored_values, n_listed, plan, zero.column, &bins[0])
    for i in range(n_listed):
        bins_out[i] = bins[i] - (bins[i] > zero.number)
    return n_listed


cdef inline int64_t n_read(
    const InputColumns* inputs, Py_ssize_t column, int64_t n_rows,
) noexcept nogil:
    """The number of values to read of a column: those that are stored if it is sparse."""
    return inputs.length[column] if is_sparse(inputs, column) else n_rows


cdef inline void load_read(
    const InputColumns* inputs, Py_ssize_t column, const int64_t* rows, int64_t start, int64_t n,
    double* values_out,
) noexcept nogil:
    """Load n values of a column, from number ``start`` on, as float64.

    They are its stored values if the column is sparse. Otherwise, they are those of
    ``rows[start:start + n]``; NULL: of the rows ``start`` to ``start + n``.
    """
    if not is_sparse(inputs, column):
        load_block(inputs, column, rows, start, n, values_out)
        return
    load_values(
        inputs.address[column], inputs.stride[column], inputs.kind[column], NULL, start, n,
        values_out)


cdef int64_t count_column(
    const InputColumns* inputs, Py_ssize_t column, const int64_t* rows, const int32_t* position,
    int64_t n_rows, int64_t limit, bint nan_is_zero,
) noexcept nogil:
    """Count the rows of a column that are not zero, until ``limit`` is reached.

    For the arguments, read `count_nonzero`.
    """
    cdef double[BLOCK] values
    cdef int32_t[BLOCK] numbers
    cdef bint is_sampled = position != NULL and is_sparse(inputs, column)
    cdef int64_t n = n_read(inputs, column, n_rows)
    cdef int64_t n_other = 0
    cdef int64_t block, n_block, i
    for block in range((n + BLOCK - 1) // BLOCK):
        n_block = min(<int64_t> BLOCK, n - block * BLOCK)
        load_read(inputs, column, rows, block * BLOCK, n_block, values)
        if is_sampled:
            load_rows(inputs, column, block * BLOCK, n_block, numbers)
        for i in range(n_block):
            if not is_zero(values[i], nan_is_zero):
                n_other += not is_sampled or position[numbers[i]] >= 0
        if n_other >= limit:
            break
    return n_other


cdef struct CountLoop:
    # The arguments of `count_nonzero`.
    InputColumns inputs
    const int64_t* rows
    const int32_t* position
    int64_t n_rows
    int64_t limit
    bint nan_is_zero
    int64_t* count
    Watch watch


cdef void count_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Count the rows of the columns from ``first`` to ``end``."""
    cdef CountLoop* loop = <CountLoop*> context
    cdef Py_ssize_t j
    for j in range(first, end):
        if is_stopped(&loop.watch):
            break
        loop.count[j] = count_column(
            &loop.inputs, j, loop.rows, loop.position, loop.n_rows, loop.limit, loop.nan_is_zero)


def count_nonzero(
    columns, const int64_t[::1] rows or None, const int32_t[::1] position or None, int64_t n_rows,
    int64_t limit, bint nan_is_zero, int n_threads, int64_t[::1] count_out,
) -> None:
    """Count the rows of every column that are not zero.

    - ``columns``, `Columns`.
    - ``rows``, (n_rows,) or None: the rows to read; None reads the first ``n_rows``.
    - ``position``, (columns.n_rows,) or None: the position of each row of the data in ``rows``, -1
      if it is not there. Sparse columns need it; None if all rows are read.
    - ``limit``: counts stop soon after they reach it.
    - ``nan_is_zero``: whether NaN counts as zero.
    - ``count_out``, (n_columns,).
    """
    cdef CountLoop loop
    if count_out.shape[0] == 0:
        return
    loop.inputs, loop.n_rows, loop.limit = read_columns(columns), n_rows, limit
    loop.rows = NULL if rows is None else &rows[0]
    loop.position = NULL if position is None else &position[0]
    loop.nan_is_zero, loop.count = nan_is_zero, &count_out[0]
    loop.watch = start_watch()
    with nogil:
        parallel_for(count_body, &loop, count_out.shape[0], COLUMNS_PER_TASK, n_threads)
    end_watch(&loop.watch)


cdef bint ascends(const uint32_t* rows, int64_t n) noexcept nogil:
    """Whether the numbers of rows strictly ascend."""
    cdef bint disorder = False
    cdef int64_t i
    for i in range(1, n):
        disorder |= rows[i] <= rows[i - 1]
    return not disorder


cdef bint list_tile(
    const InputColumns* inputs, Py_ssize_t first, Py_ssize_t n_columns, const int64_t* rows,
    const int32_t* position, int64_t n_rows, const Plan* plan, int64_t* start_inout,
    const int64_t* bin_start, uint32_t* rows_out, uint16_t* bins_out,
) noexcept nogil:
    """List the rows of the columns from ``first`` on, or count them if ``rows_out`` is NULL.

    - ``start_inout``, (columns + 1,): where the list of each column begins in ``rows_out``. If rows
      are counted, element j + 1 gets the length of the list of column j instead.
    - ``bin_start``: where its bins begin in ``bins_out``; a column without room has no list of
      bins.
    - The other arguments are those of `list_columns`.

    Blocks of rows are read in the outer loop, and columns in the inner one, because a cache line of
    row-major data has values of several columns. Returns False if a list does not ascend, or if its
    length is not the one that was counted.
    """
    cdef double[BLOCK] values
    cdef int32_t[BLOCK] numbers
    cdef int64_t[SPARSE_TILE] length
    cdef bint is_filled = True
    cdef ZeroBin[SPARSE_TILE] zero
    cdef uint32_t* to_rows[SPARSE_TILE]
    cdef uint16_t* to_bins[SPARSE_TILE]
    cdef int64_t[SPARSE_TILE] at
    cdef int64_t n_longest = 0
    cdef int64_t n
    cdef int64_t start = 0
    cdef Py_ssize_t k
    for k in range(n_columns):
        zero[k] = zero_bin_of(plan, first + k)
        to_rows[k] = NULL
        to_bins[k] = NULL
        length[k] = n_rows
        if rows_out != NULL:
            length[k] = start_inout[first + k + 1] - start_inout[first + k]
            to_rows[k] = rows_out + start_inout[first + k]
            if bin_start[first + k] < bin_start[first + k + 1]:
                to_bins[k] = bins_out + bin_start[first + k]
        at[k] = 0
        n_longest = max(n_longest, n_read(inputs, first + k, n_rows))
    while start < n_longest:
        for k in range(n_columns):
            n = min(<int64_t> BLOCK, n_read(inputs, first + k, n_rows) - start)
            if n > 0:
                load_read(inputs, first + k, rows, start, n, values)
                if is_sparse(inputs, first + k):
                    load_rows(inputs, first + k, start, n, numbers)
                at[k] += list_block(
                    values, n, plan, &zero[k],
                    numbers if is_sparse(inputs, first + k) else NULL, start, position,
                    length[k] - at[k],
                    to_rows[k] + at[k] if to_rows[k] != NULL else NULL,
                    to_bins[k] + at[k] if to_bins[k] != NULL else NULL)
        start += BLOCK
    for k in range(n_columns):
        if rows_out == NULL:
            start_inout[first + k + 1] = at[k]
        else:
            is_filled &= at[k] == length[k] and ascends(to_rows[k], length[k])
    return is_filled


cdef struct ListLoop:
    # The arguments of `list_columns`.
    InputColumns inputs
    const int64_t* rows
    const int32_t* position
    int64_t n_rows
    const Plan* plan
    int64_t* start
    const int64_t* bin_start
    uint32_t* rows_out
    uint16_t* bins_out
    int64_t n_wrong           # tiles whose data have changed
    Watch watch


cdef void list_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """List, or count, the rows of the columns from ``first`` to ``end``."""
    cdef ListLoop* loop = <ListLoop*> context
    if not is_stopped(&loop.watch):
        fetch_add(&loop.n_wrong, not list_tile(
            &loop.inputs, first, end - first, loop.rows, loop.position, loop.n_rows, loop.plan,
            loop.start, loop.bin_start, loop.rows_out, loop.bins_out))


def list_columns(
    columns, const int64_t[::1] rows or None, const int32_t[::1] position or None, int64_t n_rows,
    BinSearch search, int n_threads, int64_t[::1] start_inout,
    const int64_t[::1] bin_start or None, uint32_t[::1] rows_out or None,
    uint16_t[::1] bins_out or None,
) -> bool:
    """List the rows of every column that are not in its bin of zero.

    - ``columns``, ``rows``, ``position``, ``n_rows``: as for `find_bounds`.
    - ``search``, BinSearch: of these columns.
    - ``start_inout``, (n_columns + 1,): where the lists begin. If ``rows_out`` is None, only this
      is written.
    - ``bin_start``, (n_columns + 1,) or None: where the bins of each list begin in ``bins_out``; no
      bins are written for lists without room there.
    - ``rows_out``, (start_inout[-1],) or None: row numbers.
    - ``bins_out``, (bin_start[-1],) or None: their bins, numbered without that of zero.

    Returns False if the data have changed since the lists were counted; the lists are then wrong.
    """
    cdef Py_ssize_t n_columns = start_inout.shape[0] - 1
    cdef bint counts = rows_out is None
    cdef Py_ssize_t width = max(
        1, min(<Py_ssize_t> SPARSE_TILE, n_columns // (2 * n_threads)))
    cdef Py_ssize_t j
    cdef ListLoop loop
    loop.inputs, loop.plan, loop.n_rows = read_columns(columns), &search.plan, n_rows
    loop.rows = NULL if rows is None else &rows[0]
    loop.position = NULL if position is None else &position[0]
    loop.start = &start_inout[0]
    loop.bin_start = NULL if bin_start is None else &bin_start[0]
    loop.rows_out = NULL if rows_out is None or len(rows_out) == 0 else &rows_out[0]
    loop.bins_out = NULL if bins_out is None or len(bins_out) == 0 else &bins_out[0]
    loop.n_wrong = 0
    loop.watch = start_watch()
    if not counts and loop.rows_out == NULL:
        return True
    with nogil:
        parallel_for(list_body, &loop, n_columns, width, n_threads)
    end_watch(&loop.watch)
    if counts:
        for j in range(n_columns):
            start_inout[j + 1] += start_inout[j]
    return loop.n_wrong == 0
