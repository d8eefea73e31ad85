# cython: language_level=3
"""Linear leaves: their coefficients, and the values of rows.

Columns are float64, each with an address and a stride of its own. Leaves share nothing, so
threads take whole leaves of a fit, and sums do not depend on them.
"""

from cython.parallel cimport prange
from libc.math cimport fabs, isfinite, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from skgoss._engine.runtime cimport omp_get_thread_num
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch

import numpy as np

cdef extern from "linear.h" nogil:
    enum:
        LINEAR_ROWS
    void add_products(
        double* block, Py_ssize_t n, int64_t p, const double* center, double* sum_inout,
        double* slope_inout, double* moment_inout) noexcept

cdef enum:
    # Fewer rows, times trees, are not worth a team of threads.
    SERIAL = 20000
    # Rows that a thread takes at a time.
    BLOCK = 512

# A column whose variance is less than this part of its squares, counted from its center, or
# keeps no more of it besides the columns before it, has no slope.
cdef double TINY_VARIATION = 1e-10
# A coefficient that is not larger is none.
cdef double TINY_COEFFICIENT = 1e-35


cdef struct Values:
    const uint64_t* address
    const int64_t* stride


# What a leaf's model is fitted from: its columns and its rows.
cdef struct Leaf:
    const int32_t* feature
    int64_t p
    const int64_t* rows
    int64_t n


cdef struct Slopes:
    const double* gradient
    const double* hessian


# Sums over rows without missing values.
cdef struct Total:
    double gradient
    double hessian
    int64_t n


# A thread's memory, for leaves of p columns.
cdef struct Scratch:
    double* center
    double* sum         # of the columns from their centers, weighted by hessians
    double* scale       # makes the diagonal of moments 1; 0: a column has no slope
    double* moment      # p x p, the lower triangle
    double* block       # p + 2 columns of LINEAR_ROWS


cdef inline double cell(const Values* values, int32_t feature, int64_t row) noexcept nogil:
    return (<const double*> (
        values.address[feature] + <uint64_t> (row * values.stride[feature])))[0]


# ------------------------------------------------------------------ fit


cdef int64_t load_rows(
    const Values* values, const Leaf* leaf, int64_t begin, int64_t n, const Slopes* slopes,
    double* block_out,
) noexcept nogil:
    """Put some rows into a block, gradients and hessians last; the number of rows kept.

    Those that lack a finite value in a column are left out.
    """
    cdef const int64_t* rows = leaf.rows + begin
    cdef double* x
    cdef uint8_t whole[LINEAR_ROWS]
    cdef int64_t i, j, n_whole = 0
    memset(whole, 1, n)
    for j in range(leaf.p):
        x = block_out + j * LINEAR_ROWS
        for i in range(n):
            x[i] = cell(values, leaf.feature[j], rows[i])
            whole[i] &= isfinite(x[i]) != 0
    x = block_out + leaf.p * LINEAR_ROWS
    for i in range(n):
        x[i] = slopes.gradient[rows[i]]
        x[LINEAR_ROWS + i] = slopes.hessian[rows[i]]
        n_whole += whole[i]
    if n_whole == n:
        return n
    for j in range(leaf.p + 2):
        x = block_out + j * LINEAR_ROWS
        n_whole = 0
        for i in range(n):
            x[n_whole] = x[i]
            n_whole += whole[i]
    return n_whole


cdef void choose_centers(
    const double* block, int64_t n, int64_t p, double* center_out,
) noexcept nogil:
    """Means of a block, counted from the first row: exact where all rows are alike."""
    cdef const double* x
    cdef double rest
    cdef int64_t i, j
    for j in range(p):
        x = block + j * LINEAR_ROWS
        rest = 0.0
        for i in range(n):
            rest += x[i] - x[0]
        center_out[j] = x[0] + rest / n


cdef Total sum_rows(
    const Values* values, const Leaf* leaf, const Slopes* slopes, const Scratch* scratch,
    double* slope_out,
) noexcept nogil:
    """Sums over a leaf's rows of products of columns, counted from centers."""
    cdef Total total = Total(0.0, 0.0, 0)
    cdef const double* gradient = scratch.block + leaf.p * LINEAR_ROWS
    cdef int64_t begin, i, n
    memset(scratch.sum, 0, leaf.p * sizeof(double))
    memset(slope_out, 0, leaf.p * sizeof(double))
    memset(scratch.moment, 0, leaf.p * leaf.p * sizeof(double))
    for begin from 0 <= begin < leaf.n by LINEAR_ROWS:
        n = load_rows(
            values, leaf, begin, min(<int64_t> LINEAR_ROWS, leaf.n - begin), slopes,
            scratch.block)
        if n == 0:
            continue
        if total.n == 0:
            choose_centers(scratch.block, n, leaf.p, scratch.center)
        for i in range(n):
            total.gradient += gradient[i]
            total.hessian += gradient[LINEAR_ROWS + i]
        total.n += n
        add_products(
            scratch.block, n, leaf.p, scratch.center, scratch.sum, slope_out, scratch.moment)
    return total


cdef void move_to_means(
    int64_t p, const Total* total, double penalty, const Scratch* scratch,
    double* slope_inout,
) noexcept nogil:
    """Count columns from their means, which become the centers; penalise and scale."""
    cdef double mean, square, rest
    cdef double* row
    cdef int64_t j, k
    for j in range(p):
        row = scratch.moment + j * p
        square = row[j]
        mean = scratch.sum[j] / total.hessian
        slope_inout[j] -= total.gradient * mean
        scratch.center[j] += mean
        for k in range(j + 1):
            row[k] -= mean * scratch.sum[k]
        rest = row[j] + penalty
        scratch.scale[j] = 0.0
        if row[j] > TINY_VARIATION * square and isfinite(rest):
            scratch.scale[j] = 1.0 / sqrt(rest)
        row[j] = rest


cdef void factor(int64_t p, const Scratch* scratch) noexcept nogil:
    """Cholesky's factor of the moments, whose diagonal is scaled to 1.

    The rows of columns that do not vary besides those before them, or too much for
    doubles, become zero.
    """
    cdef double rest
    cdef double* row
    cdef double* other
    cdef int64_t i, j, k
    for j in range(p):
        row = scratch.moment + j * p
        for k in range(j + 1):
            other = scratch.moment + k * p
            rest = row[k] * scratch.scale[j] * scratch.scale[k]
            for i in range(k):
                rest -= row[i] * other[i]
            if k < j:
                row[k] = rest / other[k] if other[k] > 0 else 0.0
            else:
                row[k] = sqrt(rest) if rest > TINY_VARIATION else 0.0
        if not row[j] > 0:
            memset(row, 0, (j + 1) * sizeof(double))


cdef void solve(int64_t p, const Scratch* scratch, double* slope_inout) noexcept nogil:
    """From sums of gradients to coefficients, by the factor."""
    cdef const double* row
    cdef int64_t j, k
    for j in range(p):
        row = scratch.moment + j * p
        slope_inout[j] *= scratch.scale[j]
        for k in range(j):
            slope_inout[j] -= row[k] * slope_inout[k]
        slope_inout[j] = slope_inout[j] / row[j] if row[j] > 0 else 0.0
    for j in range(p - 1, -1, -1):
        row = scratch.moment + j * p
        slope_inout[j] = slope_inout[j] / row[j] if row[j] > 0 else 0.0
        for k in range(j):
            slope_inout[k] -= row[k] * slope_inout[j]
    for j in range(p):
        slope_inout[j] *= -scratch.scale[j]


cdef bint fit_leaf(
    const Values* values, const Leaf* leaf, const Slopes* slopes, double penalty, double rate,
    const Scratch* scratch, double* constant_out, double* coefficient_out,
) noexcept nogil:
    """Fit one leaf; False: it stays constant, and the outputs mean nothing."""
    cdef int64_t p = leaf.p
    cdef double constant
    cdef Total total
    cdef int64_t j
    if p == 0:
        return False
    total = sum_rows(values, leaf, slopes, scratch, coefficient_out)
    if total.n < p + 1 or not total.hessian > 0:
        return False
    move_to_means(p, &total, penalty, scratch, coefficient_out)
    factor(p, scratch)
    solve(p, scratch, coefficient_out)
    constant = -total.gradient / total.hessian
    for j in range(p):
        if fabs(coefficient_out[j]) <= TINY_COEFFICIENT:
            coefficient_out[j] = 0.0
        constant -= coefficient_out[j] * scratch.center[j]
        coefficient_out[j] *= rate
    constant_out[0] = rate * constant
    return isfinite(constant)


cdef void group_rows(
    const int32_t[::1] leaf, const int64_t[::1] rows, int64_t[::1] start_out,
    int64_t[::1] rows_out,
) noexcept nogil:
    """Put rows in the order of their leaves; leaf k gets start_out[k] to start_out[k + 1]."""
    cdef int64_t i, k
    for i in range(rows.shape[0]):
        start_out[leaf[rows[i]] + 2] += 1
    for k in range(2, start_out.shape[0]):
        start_out[k] += start_out[k - 1]
    for i in range(rows.shape[0]):
        k = leaf[rows[i]] + 1
        rows_out[start_out[k]] = rows[i]
        start_out[k] += 1


def fit(
    const uint64_t[::1] address, const int64_t[::1] stride, const int64_t[::1] start,
    const int32_t[::1] feature, const int32_t[::1] leaf, const int64_t[::1] rows,
    const double[::1] gradient, const double[::1] hessian, const double[::1] leaf_value,
    double penalty, double rate, int n_threads, double[::1] constant_out,
    double[::1] coefficient_out,
):
    """Fit the linear models of a tree's leaves.

    Rows without a finite value in one of the leaf's columns do not count. A column that
    those before it determine gets no slope.

    Parameters
    ----------
    address : (n_features,) uint64
    stride : (n_features,) int64
        Bytes between the float64 values of a column; columns that no leaf uses are not
        read.
    start : (n_leaves + 1,) int64
        Where the columns of each leaf begin in ``feature``.
    feature : (n_used,) int32
    leaf : (n,) int32
        The leaf of each row.
    rows : (m,) int64
        The rows that count.
    gradient, hessian : (n,) float64
        Weighted, of all rows.
    leaf_value : (n_leaves,) float64
        Of leaves that stay constant.
    penalty : float
        On the squares of the coefficients.
    rate : float
        What coefficients and constants are multiplied by.
    n_threads : int
    constant_out : (n_leaves,) float64
    coefficient_out : (n_used,) float64
        Zeros where there is no slope.
    """
    cdef int64_t n_leaves = leaf_value.shape[0]
    cdef int64_t[::1] row_start = np.zeros(n_leaves + 2, dtype=np.int64)
    cdef int64_t[::1] order = np.empty(rows.shape[0], dtype=np.int64)
    cdef int64_t p = np.diff(start).max()
    cdef double[:, ::1] memory
    cdef Values values = Values(&address[0], &stride[0])
    cdef Slopes slopes = Slopes(&gradient[0], &hessian[0])
    cdef int64_t k
    cdef Watch watch = start_watch()
    if rows.shape[0] < SERIAL:
        n_threads = 1
    memory = np.empty((n_threads, p * (p + 3) + (p + 2) * LINEAR_ROWS))
    group_rows(leaf, rows, row_start, order)
    for k in prange(
        n_leaves, nogil=True, schedule="dynamic", chunksize=1, num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        if not is_stopped(&watch):
            fit_or_stay(
                &values, &feature[0] + start[k], start[k + 1] - start[k],
                &order[0] + row_start[k], row_start[k + 1] - row_start[k], &slopes,
                leaf_value[k], penalty, rate, &memory[omp_get_thread_num(), 0],
                &constant_out[k], &coefficient_out[0] + start[k])
    end_watch(&watch)


cdef void fit_or_stay(
    const Values* values, const int32_t* feature, int64_t p, const int64_t* rows, int64_t n,
    const Slopes* slopes, double leaf_value, double penalty, double rate, double* memory,
    double* constant_out, double* coefficient_out,
) noexcept nogil:
    cdef Leaf leaf = Leaf(feature, p, rows, n)
    cdef Scratch scratch = Scratch(
        memory, memory + p, memory + 2 * p, memory + 3 * p, memory + p * (p + 3))
    if not fit_leaf(
        values, &leaf, slopes, penalty, rate, &scratch, constant_out, coefficient_out,
    ):
        constant_out[0] = leaf_value
        memset(coefficient_out, 0, p * sizeof(double))


# ------------------------------------------------------------------ values


cdef inline double value_of(
    const Values* values, const int32_t* feature, const double* coefficient, int64_t n,
    double constant, double otherwise, int64_t row,
) noexcept nogil:
    cdef double value = constant
    cdef int64_t j
    for j in range(n):
        value += coefficient[j] * cell(values, feature[j], row)
    return value if isfinite(value) else otherwise


def add(
    const uint64_t[::1] address, const int64_t[::1] stride, const int32_t[:, ::1] leaf,
    const int64_t[::1] leaf_start, const int64_t[::1] start, const int32_t[::1] feature,
    const double[::1] coefficient, const double[::1] constant, const double[::1] leaf_value,
    int64_t first_score, int n_threads, double[:, ::1] score_inout,
):
    """Add the linear leaves of trees to the scores of rows.

    Parameters
    ----------
    address : (n_features,) uint64
    stride : (n_features,) int64
        Bytes between the float64 values of a column; columns that no leaf uses are not
        read.
    leaf : (n, n_trees) int32
        The leaf of each row in each tree.
    leaf_start : (n_trees + 1,) int64
        Where each tree's leaves begin among all leaves.
    start : (n_leaves + 1,) int64
        Where the features and coefficients of each leaf begin.
    feature : int32
    coefficient : float64
    constant : (n_leaves,) float64
    leaf_value : (n_leaves,) float64
        Of rows without a finite value in one of the leaf's columns.
    first_score : int
        The score of the first tree; the others follow in turn.
    n_threads : int
    score_inout : (n, n_scores) float64
    """
    cdef int64_t n = leaf.shape[0], n_trees = leaf.shape[1]
    cdef int64_t n_scores = score_inout.shape[1]
    cdef int64_t n_blocks = (n + BLOCK - 1) // BLOCK
    cdef int64_t block, i, at, k, tree
    cdef Values values = Values(&address[0], &stride[0])
    cdef Watch watch = start_watch()
    if n * n_trees < SERIAL:
        n_threads = 1
    for block in prange(
        n_blocks, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        if is_stopped(&watch):
            continue
        for tree in range(n_trees):
            for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
                k = leaf_start[tree] + leaf[i, tree]
                at = start[k]
                score_inout[i, (first_score + tree) % n_scores] += value_of(
                    &values, &feature[0] + at, &coefficient[0] + at, start[k + 1] - at,
                    constant[k], leaf_value[k], i)
    end_watch(&watch)
