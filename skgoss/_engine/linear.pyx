# cython: language_level=3
"""Linear leaves: sums for the normal equations, and the values of rows.

Columns are read as float64 arrays, named by their addresses. Leaves share nothing, so
threads take whole leaves, and sums do not depend on them.
"""

from cython.parallel cimport prange
from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef enum:
    # Fewer rows are not worth a team of threads.
    SERIAL = 20000
    # Rows that a thread takes at a time.
    BLOCK = 4096


cdef inline double cell(uint64_t column, int64_t row) noexcept nogil:
    return (<const double*> column)[row]


cdef inline bint is_whole(
    const uint64_t* columns, const int32_t* feature, int64_t n, int64_t row,
) noexcept nogil:
    """Whether a row has a value in each of the features."""
    cdef int64_t j
    for j in range(n):
        if isnan(cell(columns[feature[j]], row)):
            return False
    return True


cdef void sum_leaf(
    const uint64_t* columns, const int32_t* feature, int64_t p, const int64_t* rows, int64_t n,
    const double* gradient, const double* hessian, double* mean_out, double* moment_out,
    double* slope_out, double* total_out,
) noexcept nogil:
    """Means first, so that the second moments about them are exact."""
    cdef double g = 0.0, h = 0.0, x
    cdef int64_t i, j, k, n_whole = 0
    for i in range(n):
        if is_whole(columns, feature, p, rows[i]):
            n_whole += 1
            g += gradient[rows[i]]
            h += hessian[rows[i]]
            for j in range(p):
                mean_out[j] += hessian[rows[i]] * cell(columns[feature[j]], rows[i])
    total_out[0] = g
    total_out[1] = h
    total_out[2] = n_whole
    if not h > 0:
        return
    for j in range(p):
        mean_out[j] /= h
    for i in range(n):
        if is_whole(columns, feature, p, rows[i]):
            for j in range(p):
                x = cell(columns[feature[j]], rows[i]) - mean_out[j]
                slope_out[j] += gradient[rows[i]] * x
                x *= hessian[rows[i]]
                for k in range(j + 1):
                    moment_out[j * p + k] += x * (
                        cell(columns[feature[k]], rows[i]) - mean_out[k])


def sums(
    const uint64_t[::1] columns, const int64_t[::1] feature_start, const int32_t[::1] feature,
    const int64_t[::1] row_start, const int64_t[::1] rows, const double[::1] gradient,
    const double[::1] hessian, const int64_t[::1] moment_start, int n_threads,
    double[::1] mean_out, double[::1] moment_out, double[::1] slope_out,
    double[:, ::1] total_out,
):
    """What a linear model of each leaf is fitted from.

    Rows without a value in one of the leaf's features do not count.

    Parameters
    ----------
    columns : (n_features,) uint64
        Addresses of float64 columns; those of features that no leaf uses are not read.
    feature_start : (n_leaves + 1,) int64
        Where the features of each leaf begin in ``feature``.
    feature : (n_used,) int32
    row_start : (n_leaves + 1,) int64
        Where the rows of each leaf begin in ``rows``.
    rows : (m,) int64
    gradient, hessian : (n,) float64
        Weighted, of all rows.
    moment_start : (n_leaves + 1,) int64
        Where the p x p moments of each leaf begin.
    n_threads : int
    mean_out, slope_out : (n_used,) float64, zeros
        Means of the features weighted by hessians, and sums of gradients times the
        features less their means.
    moment_out : float64, zeros
        Lower triangles of the sums of hessians times products of such features.
    total_out : (n_leaves, 3) float64
        Sums of gradients and of hessians, and the number of rows.
    """
    cdef int64_t n_leaves = feature_start.shape[0] - 1
    cdef int64_t leaf, at
    if rows.shape[0] < SERIAL:
        n_threads = 1
    for leaf in prange(
        n_leaves, nogil=True, schedule="dynamic", chunksize=1, num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        at = feature_start[leaf]
        sum_leaf(
            &columns[0], &feature[0] + at, feature_start[leaf + 1] - at,
            &rows[0] + row_start[leaf], row_start[leaf + 1] - row_start[leaf], &gradient[0],
            &hessian[0], &mean_out[0] + at, &moment_out[0] + moment_start[leaf],
            &slope_out[0] + at, &total_out[leaf, 0])


cdef inline double value_of(
    const uint64_t* columns, const int32_t* feature, const double* coefficient, int64_t n,
    double constant, double otherwise, int64_t row,
) noexcept nogil:
    cdef double value = constant
    cdef int64_t j
    for j in range(n):
        value += coefficient[j] * cell(columns[feature[j]], row)
    return otherwise if isnan(value) else value


def add(
    const uint64_t[::1] columns, const int32_t[::1] leaf, const int64_t[::1] start,
    const int32_t[::1] feature, const double[::1] coefficient, const double[::1] constant,
    const double[::1] leaf_value, double factor, int n_threads, double[::1] score_inout,
):
    """Add a multiple of a tree's linear leaves to the scores of rows.

    Parameters
    ----------
    columns : (n_features,) uint64
        Addresses of float64 columns; those of features that no leaf uses are not read.
    leaf : (n,) int32
        The leaf of each row.
    start : (n_leaves + 1,) int64
        Where the features and coefficients of each leaf begin.
    feature : int32
    coefficient : float64
    constant : (n_leaves,) float64
    leaf_value : (n_leaves,) float64
        Of rows without a value in one of the leaf's features.
    factor : float
    n_threads : int
    score_inout : (n,) float64
    """
    cdef int64_t n = leaf.shape[0]
    cdef int64_t n_blocks = (n + BLOCK - 1) // BLOCK
    cdef int64_t block, i, at, k
    if n < SERIAL:
        n_threads = 1
    for block in prange(
        n_blocks, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            k = leaf[i]
            at = start[k]
            score_inout[i] += factor * value_of(
                &columns[0], &feature[0] + at, &coefficient[0] + at, start[k + 1] - at,
                constant[k], leaf_value[k], i)
