"""The bins of values, by a search among the bounds of a column.

A grid of equal buckets limits the binary search of a value to the bounds in its bucket.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy, memset

from skgoss._engine.binning.column_values cimport BLOCK
from skgoss._engine.columns.column_kernels cimport InputColumns, load_block, read_columns
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_shares

import numpy as np


cdef int32_t steps_in_bucket(const double* bound, int64_t n, const Grid* grid) noexcept nogil:
    """The steps of a binary search among the bounds of the bucket that has most.

    ``bound``, (n,): ascending. ``first`` is the number of the first bound of the bucket of bound i.
    A search among m bounds has m + 1 results, and so ceil(log2(m + 1)) steps.
    """
    cdef int64_t most = 0
    cdef int64_t first = 0
    cdef int64_t i
    cdef int32_t n_steps = 0
    for i in range(n):
        if bucket_of(bound[i], grid) != bucket_of(bound[first], grid):
            first = i
        most = max(most, i + 1 - first)
    while most >> n_steps:
        n_steps += 1
    return n_steps


cdef Grid plan_grid(const double* bound, int64_t n, int64_t n_buckets) noexcept nogil:
    """A grid over all bounds, or over the middle ones if that needs fewer steps.

    ``bound``, (n,): the upper bounds of a column's bins but the last, ascending. The search without
    a grid (scale 0, one bucket) is the first candidate.
    """
    cdef Grid best = Grid(0.0, 0.0, 0.0, 0)
    cdef Grid grid = Grid(0.0, 0.0, <double> (n_buckets - 1), 0)
    cdef int64_t outside = 0
    best.n_steps = steps_in_bucket(bound, n, &best)
    # The first and the last bucket take the bounds outside the grid. With the first one inside,
    # they are 1, 3, 7, ... bounds: as many as a search of 1, 2, 3, ... steps can distinguish.
    while 2 * outside < n - 1 and best.n_steps > 1:
        grid.origin = bound[outside]
        grid.scale = grid.last / (bound[n - 1 - outside] - grid.origin)
        if 0.0 < grid.scale < INFINITY:
            grid.n_steps = steps_in_bucket(bound, n, &grid)
            if grid.n_steps < best.n_steps:
                best = grid
        outside = 2 * outside + 2
        if outside >> best.n_steps:
            break
    return best


cdef class BinSearch:
    """The bounds of some columns of numbers, and grids to search them.

    - ``bounds``: of each column, all upper bounds but that of the last bin, and then more
      infinities than there are bounds.
    - ``bounds_start``, ``n_bounds``, (n_columns,): where the bounds of a column begin, and how many
      there are.
    - ``first_start``, (n_columns + 1,): where the buckets of a column's grid begin, in an array
      with the number of bounds in lower buckets; so it also says how many buckets each grid has.
    - ``nan_bin``, ``zero_bin``, (n_columns,): the bins of NaN and zero.
    """

    def __cinit__(
        self, const double[::1] bounds, const int64_t[::1] bounds_start,
        const int64_t[::1] n_bounds, const int64_t[::1] first_start,
        const int32_t[::1] nan_bin, const int32_t[::1] zero_bin,
    ):
        cdef Py_ssize_t n_columns = n_bounds.shape[0]
        cdef uint8_t[::1] grids = np.empty(n_columns * sizeof(Grid), dtype=np.uint8)
        cdef uint16_t[::1] first = np.empty(first_start[n_columns], dtype=np.uint16)
        cdef Py_ssize_t j
        self.arrays = bounds, bounds_start, first_start, nan_bin, zero_bin, grids, first
        self.plan = Plan(
            &bounds[0], &bounds_start[0], <Grid*> &grids[0], &first_start[0], &first[0],
            &nan_bin[0], &zero_bin[0])
        with nogil:
            for j in range(n_columns):
                plan_column(&self.plan, j, n_bounds[j])


cdef void plan_column(const Plan* plan, Py_ssize_t column, int64_t n_bounds) noexcept nogil:
    """Choose the grid of a column, and count the bounds below each of its buckets.

    Both are written to ``plan.grid`` and ``plan.first``. ``n_bounds``: without that of the last
    bin.
    """
    cdef const double* bound = plan.bounds + plan.bounds_start[column]
    cdef uint16_t* first = plan.first + plan.first_start[column]
    cdef Grid* grid = plan.grid + column
    cdef int64_t n_buckets = plan.first_start[column + 1] - plan.first_start[column]
    cdef int64_t bucket = 0
    cdef int64_t i
    grid[0] = plan_grid(bound, n_bounds, n_buckets)
    for i in range(n_bounds):
        while bucket <= bucket_of(bound[i], grid):
            first[bucket] = <uint16_t> i
            bucket += 1
    for bucket in range(bucket, n_buckets):
        first[bucket] = <uint16_t> n_bounds


cdef struct BinLoop:
    InputColumns inputs
    const int64_t* rows       # to read; NULL: all
    const Plan* plan
    int64_t n_columns
    int64_t stride            # bins from a column to the next
    int width                 # bytes of a bin
    void* bins
    Watch watch


cdef void bin_rows(
    const BinLoop* loop, int64_t start, int64_t n, bin_t* columns_out,
) noexcept nogil:
    """Put n rows, at most BLOCK, from number ``start`` on, into their bins in all columns.

    ``columns_out``: the bins of row 0 of column 0; those of column j begin ``loop.stride`` bins
    after those of column j - 1.
    """
    cdef double[BLOCK] values
    cdef bin_t[BLOCK] bins
    cdef int64_t j
    memset(values, 0, sizeof(values))
    for j in range(loop.n_columns):
        load_block(&loop.inputs, j, loop.rows, start, n, values)
        search_block(values, n, loop.plan, j, &bins[0])
        memcpy(columns_out + j * loop.stride + start, &bins[0], n * sizeof(bin_t))


cdef void bin_body(void* context, Py_ssize_t start, Py_ssize_t end, int thread) noexcept nogil:
    """Put a block of rows into bins of one or two bytes."""
    cdef BinLoop* loop = <BinLoop*> context
    if is_stopped(&loop.watch):
        return
    if loop.width == 1:
        bin_rows(loop, start, end - start, <uint8_t*> loop.bins)
    else:
        bin_rows(loop, start, end - start, <uint16_t*> loop.bins)


def bin_columns(
    columns, const int64_t[::1] rows or None, BinSearch search, int n_threads,
    bin_t[:, :] columns_out,
) -> None:
    """Put every value of every column into its bin.

    ``rows``: those to read; None reads all. ``columns_out``, of shape (n_columns, n_rows): the
    bins of a column lie one after the other, columns anywhere.
    """
    cdef int64_t n_rows = columns_out.shape[1]
    cdef BinLoop loop
    if n_rows > 1 and columns_out.strides[1] != <int64_t> sizeof(bin_t):
        raise ValueError("the bins of a column must lie one after the other")
    if columns_out.shape[0] * n_rows == 0:
        return
    loop.inputs, loop.plan = read_columns(columns), &search.plan
    loop.rows = NULL if rows is None else &rows[0]
    loop.n_columns, loop.width = columns_out.shape[0], sizeof(bin_t)
    loop.stride = columns_out.strides[0] // <int64_t> sizeof(bin_t)
    loop.bins = &columns_out[0, 0]
    loop.watch = start_watch()
    with nogil:
        parallel_shares(bin_body, &loop, n_rows, BLOCK, n_threads)
    end_watch(&loop.watch)
