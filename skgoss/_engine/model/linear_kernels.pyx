# cython: language_level=3
"""Linear leaves: their coefficients, and the values of rows.

A leaf's model is the Newton step of the loss in the coefficients, with a ridge penalty (Shi, Li
and Li, "Gradient boosting with piece-wise linear regression trees", IJCAI 2019): normal equations
of columns counted from their means, which are solved by Cholesky's factor.

Columns are float64, each with an address and a stride of its own. Leaves share nothing, so
threads take whole leaves of a fit, and sums do not depend on them.
"""

from libc.math cimport INFINITY, NAN, fabs, isfinite, isnan, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for, parallel_shares

import numpy as np

cdef extern from "elementary.h" nogil:
    double logarithm_1p(double) noexcept

cdef extern from "linear_kernels.h" nogil:
    enum:
        LINEAR_ROWS
    void are_finite(const double* block, Py_ssize_t n, int64_t p, int* finite_out) noexcept
    void add_products(
        const double* source, double* block, Py_ssize_t n, int64_t p, const double* center,
        double* plain_sum_inout, double* sum_inout, double* slope_inout,
        double* moment_inout) noexcept
    void line_values(
        const double* block, Py_ssize_t n, int64_t p, const double* coefficient,
        double constant, int is_fitted, double* value_out) noexcept
    void bound_values(
        double* value, Py_ssize_t n, double lower, double upper, double otherwise) noexcept
    void find_range(
        const double* value, Py_ssize_t n, double* lower_inout, double* upper_inout) noexcept

cdef enum:
    # Fewer rows, times trees, are not worth a team of threads.
    MIN_ROWS_FOR_TEAM = 20000
    # Rows that a thread takes at a time when it adds values to scores.
    BLOCK = 2048
    # Fewer rows for each leaf are not put in the order of the leaves.
    MIN_ROWS_OF_LEAF = 4
    # Rows whose columns are read one after the other: they stay in the nearest cache.
    ROWS_AT_ONCE = 32

# A column whose variance is less than this share of its squares, counted from its center, or
# keeps no more of it besides the columns before it, has no slope.
cdef double TINY_VARIATION = 1e-10
# A coefficient that is not larger is none.
cdef double TINY_COEFFICIENT = 1e-35
# How far a line leads beyond its values in the leaf's rows, as a share of their range.
cdef double WIDENED = 0.5


cdef struct Values:
    const uint64_t* address
    const int64_t* stride


# What a leaf's model is fitted from: its columns and its rows.
cdef struct Leaf:
    const int32_t* feature
    int64_t p
    const int64_t* rows
    int64_t n


cdef struct Gradients:
    const float* gradient
    const float* hessian    # NULL: ones
    const double* weight    # multiplies both; NULL: ones


# Sums over rows without missing values.
cdef struct Total:
    double gradient
    double hessian
    int64_t n


cdef struct Rates:
    double penalty
    double rate
    double self_concordance      # of the loss: limits the steps in `shortened`


# The model of a leaf: a line, between two values.
cdef struct Line:
    double* constant
    double* coefficient
    double* mean            # of the columns
    double* lower
    double* upper
    double otherwise        # the value of rows that miss a column


# A thread's memory, for leaves of p columns.
cdef struct LeafScratch:
    double* center
    double* sum         # of the columns from their centers, weighted by hessians
    double* scale       # makes the diagonal of moments 1; 0: a column has no slope
    double* moment      # p x p, the lower triangle
    double* block       # p + 2 columns of LINEAR_ROWS
    double* value       # of the rows
    double* kept        # p columns of LINEAR_ROWS for each block of rows


cdef inline double cell(const Values* values, int32_t feature, int64_t row) noexcept nogil:
    return (<const double*> (
        values.address[feature] + <uint64_t> (row * values.stride[feature])))[0]


# ------------------------------------------------------------------ fit


cdef void load_columns(
    const Values* values, const int32_t* feature, int64_t p, const int64_t* rows, int64_t n,
    double* source_out,
) noexcept nogil:
    """Copy the values of some rows in p columns into a block."""
    cdef uint64_t address
    cdef int64_t stride, first, i, j
    cdef double* x
    for first from 0 <= first < n by ROWS_AT_ONCE:
        for j in range(p):
            address = values.address[feature[j]]
            stride = values.stride[feature[j]]
            x = source_out + j * LINEAR_ROWS
            for i in range(first, min(n, first + ROWS_AT_ONCE)):
                x[i] = (<const double*> (address + <uint64_t> (rows[i] * stride)))[0]


cdef void load_gradients(
    const Gradients* gradients, const int64_t* rows, int64_t n, double* gradient_out,
    double* hessian_out,
) noexcept nogil:
    """Copy the gradients and hessians of some rows, times their weights."""
    cdef int64_t i
    for i in range(n):
        gradient_out[i] = gradients.gradient[rows[i]]
        hessian_out[i] = gradients.hessian[rows[i]] if gradients.hessian != NULL else 1.0
    if gradients.weight != NULL:
        for i in range(n):
            gradient_out[i] *= gradients.weight[rows[i]]
            hessian_out[i] *= gradients.weight[rows[i]]


cdef int64_t leave_out_broken(
    const double* source, int64_t n, int64_t p, double* block_inout,
) noexcept nogil:
    """Copy the rows without missing values into the block; the number of rows kept.

    Their gradients and hessians, the last two columns of the block, are moved with them.
    """
    cdef uint8_t whole[LINEAR_ROWS]
    cdef const double* x
    cdef double* x_out
    cdef int64_t i, j, n_whole = 0
    memset(whole, 1, n)
    for j in range(p):
        for i in range(n):
            whole[i] &= isfinite(source[j * LINEAR_ROWS + i]) != 0
    for j in range(p + 2):
        x_out = block_inout + j * LINEAR_ROWS
        x = source + j * LINEAR_ROWS if j < p else x_out
        n_whole = 0
        for i in range(n):
            x_out[n_whole] = x[i]
            n_whole += whole[i]
    return n_whole


cdef void choose_centers(
    const double* block, int64_t n, int64_t p, double* center_out,
) noexcept nogil:
    """Means of a block, counted from the first row: exact where all rows are alike."""
    cdef int64_t i, j
    memset(center_out, 0, p * sizeof(double))
    # Column by column, each addition would wait for the one before.
    for i in range(n):
        for j in range(p):
            center_out[j] += block[j * LINEAR_ROWS + i] - block[j * LINEAR_ROWS]
    for j in range(p):
        center_out[j] = block[j * LINEAR_ROWS] + center_out[j] / n


cdef Total sum_rows(
    const Values* values, const Leaf* leaf, const Gradients* gradients,
    const LeafScratch* scratch, double* plain_sum_out, double* slope_out,
) noexcept nogil:
    """Sums over a leaf's rows of products of columns, counted from centers; keep columns."""
    cdef Total total = Total(0.0, 0.0, 0)
    cdef int64_t p = leaf.p
    cdef double* gradient = scratch.block + p * LINEAR_ROWS
    cdef double* kept
    cdef const double* source
    cdef int64_t begin, i, n
    cdef int finite
    memset(plain_sum_out, 0, p * sizeof(double))
    memset(scratch.sum, 0, p * sizeof(double))
    memset(slope_out, 0, p * sizeof(double))
    memset(scratch.moment, 0, p * p * sizeof(double))
    for begin from 0 <= begin < leaf.n by LINEAR_ROWS:
        n = min(<int64_t> LINEAR_ROWS, leaf.n - begin)
        kept = scratch.kept + begin * p
        load_columns(values, leaf.feature, p, leaf.rows + begin, n, kept)
        load_gradients(gradients, leaf.rows + begin, n, gradient, gradient + LINEAR_ROWS)
        are_finite(kept, n, p, &finite)
        source = kept
        if not finite:
            n = leave_out_broken(kept, n, p, scratch.block)
            source = scratch.block
        if n == 0:
            continue
        if total.n == 0:
            choose_centers(source, n, p, scratch.center)
        for i in range(n):
            total.gradient += gradient[i]
            total.hessian += gradient[LINEAR_ROWS + i]
        total.n += n
        add_products(
            source, scratch.block, n, p, scratch.center, plain_sum_out, scratch.sum,
            slope_out, scratch.moment)
    return total


cdef void move_to_means(
    int64_t p, const Total* total, double penalty, const LeafScratch* scratch,
    double* slope_inout,
) noexcept nogil:
    """Count columns from their means, which become the centers; penalize and scale."""
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


cdef void factor(int64_t p, const LeafScratch* scratch) noexcept nogil:
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


cdef void solve(int64_t p, const LeafScratch* scratch, double* slope_inout) noexcept nogil:
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
    const Values* values, const Leaf* leaf, const Gradients* gradients, const Rates* rates,
    const LeafScratch* scratch, const Line* line_out,
) noexcept nogil:
    """Fit one leaf; False: it stays constant, and the outputs mean nothing."""
    cdef int64_t p = leaf.p
    cdef double* coefficient = line_out.coefficient
    cdef double constant
    cdef Total total
    cdef int64_t j
    if p == 0:
        return False
    total = sum_rows(values, leaf, gradients, scratch, line_out.mean, coefficient)
    if total.n < p + 1 or not total.hessian > 0:
        return False
    for j in range(p):
        line_out.mean[j] = scratch.center[j] + line_out.mean[j] / total.n
    move_to_means(p, &total, rates.penalty, scratch, coefficient)
    factor(p, scratch)
    solve(p, scratch, coefficient)
    constant = -total.gradient / total.hessian
    for j in range(p):
        if fabs(coefficient[j]) <= TINY_COEFFICIENT:
            coefficient[j] = 0.0
        constant -= coefficient[j] * scratch.center[j]
        coefficient[j] *= rates.rate
    line_out.constant[0] = rates.rate * constant
    return isfinite(constant)


cdef double shortened(const Rates* rates, double lower, double upper) noexcept nogil:
    """The fraction of the steps between two values after which the loss has surely not risen.

    Let c be the self-concordance of the loss (`leaf_step` in training/gains.h), d the Newton
    step of a row, and D the largest |d|. A fraction t of all steps changes the loss of the leaf by
    no more than the sum of h d^2 times (exp(c t D) - c t D - 1) / (c D)^2 - t. This falls up to
    t = log(1 + c D) / (c D). For one value it is the limit of a constant leaf.
    """
    cdef double most = rates.self_concordance * max(fabs(lower), fabs(upper)) / rates.rate
    if not 0.0 < most < INFINITY:
        return 1.0
    return min(1.0, logarithm_1p(most) / (most * rates.rate))


cdef void find_values(
    const Leaf* leaf, const double* weight, const Line* line, const LeafScratch* scratch,
    double* lower_out, double* upper_out,
) noexcept nogil:
    """The values of a leaf's rows, NaN for those that miss a column, and their range.

    Rows without weight are not in it.
    """
    cdef const int64_t* rows
    cdef double* value
    cdef int64_t begin, i, n
    lower_out[0] = INFINITY
    upper_out[0] = -INFINITY
    for begin from 0 <= begin < leaf.n by LINEAR_ROWS:
        n = min(<int64_t> LINEAR_ROWS, leaf.n - begin)
        rows = leaf.rows + begin
        value = scratch.value + begin
        line_values(
            scratch.kept + begin * leaf.p, n, leaf.p, line.coefficient, line.constant[0], True,
            value)
        if weight != NULL:
            for i in range(n):
                scratch.block[i] = value[i] if weight[rows[i]] > 0 else NAN
            value = scratch.block
        find_range(value, n, lower_out, upper_out)


cdef inline double bounded(
    double value, double lower, double upper, double otherwise,
) noexcept nogil:
    """What a leaf says where its line has a value, or else NaN; bounds of NaN are none."""
    value = lower if value < lower else upper if value > upper else value
    return otherwise if isnan(value) else value


cdef bint fit_line(
    const Values* values, const Leaf* leaf, const Gradients* gradients, const Rates* rates,
    const LeafScratch* scratch, double* lower_out, double* upper_out, const Line* line_out,
) noexcept nogil:
    """Fit one leaf, with steps that are not too long; False: it stays constant."""
    cdef double fraction
    cdef int64_t j
    if not fit_leaf(values, leaf, gradients, rates, scratch, line_out):
        return False
    find_values(leaf, gradients.weight, line_out, scratch, lower_out, upper_out)
    fraction = shortened(rates, lower_out[0], upper_out[0])
    if fraction < 1.0:
        line_out.constant[0] *= fraction
        for j in range(leaf.p):
            line_out.coefficient[j] *= fraction
        find_values(leaf, gradients.weight, line_out, scratch, lower_out, upper_out)
    return lower_out[0] <= upper_out[0]


cdef void fit_or_keep_constant(
    const Values* values, const Leaf* leaf, const Gradients* gradients, const Rates* rates,
    const Line* line_out, double* memory, double* score,
) noexcept nogil:
    """Fit one leaf, bound its line, and add the values of its rows to their scores."""
    cdef int64_t p = leaf.p
    cdef double* block = memory + p * (p + 3)
    cdef double* value = block + (p + 2) * LINEAR_ROWS
    cdef LeafScratch scratch = LeafScratch(
        memory, memory + p, memory + 2 * p, memory + 3 * p, block, value,
        value + (leaf.n + LINEAR_ROWS - 1) // LINEAR_ROWS * LINEAR_ROWS)
    cdef double lower, upper, width
    cdef bint is_line = fit_line(
        values, leaf, gradients, rates, &scratch, &lower, &upper, line_out)
    cdef int64_t i
    if not is_line:
        line_out.constant[0] = lower = upper = line_out.otherwise
        memset(line_out.coefficient, 0, p * sizeof(double))
    width = WIDENED * (upper - lower)
    lower -= width
    upper += width
    line_out.lower[0] = lower
    line_out.upper[0] = upper
    if score == NULL:
        return
    if is_line:
        bound_values(value, leaf.n, lower, upper, line_out.otherwise)
    for i in range(leaf.n):
        score[leaf.rows[i]] += value[i] if is_line else line_out.otherwise


def group_rows(const int32_t[::1] leaf, const int64_t[::1] rows, int64_t n_leaves):
    """Put rows in the order of their leaves; ``leaf`` has that of each row.

    Returns where the rows of each leaf begin, (n_leaves + 1,) int64, and the rows. Those of a
    leaf keep their order.
    """
    starts = np.zeros(n_leaves + 2, dtype=np.int64)
    grouped = np.empty(rows.shape[0], dtype=np.int64)
    cdef int64_t[::1] start_out = starts, rows_out = grouped
    cdef int64_t i, k
    for i in range(rows.shape[0]):
        start_out[leaf[rows[i]] + 2] += 1
    for k in range(2, n_leaves + 2):
        start_out[k] += start_out[k - 1]
    for i in range(rows.shape[0]):
        k = leaf[rows[i]] + 1
        rows_out[start_out[k]] = rows[i]
        start_out[k] += 1
    return starts[:n_leaves + 1], grouped


def paths(
    const int32_t[:] left, const int32_t[:] right, const int32_t[:] feature,
    const int32_t[::1] column, const uint8_t[::1] is_numeric,
):
    """The numeric columns on the path to each leaf of a tree, ascending.

    - ``left``, ``right``, (n_nodes,): later nodes, or ``~leaf``.
    - ``feature``, (n_nodes,).
    - ``column``, ``is_numeric``, (n_features,).

    Returns where the columns of each leaf begin, (n_leaves + 1,) int64, and the columns, int32.
    """
    cdef int64_t n_nodes = left.shape[0]
    cdef int64_t[::1] parent = np.full(2 * n_nodes + 1, -1, dtype=np.int64)
    cdef int64_t[::1] depth = np.zeros(n_nodes + 1, dtype=np.int64)
    cdef int64_t k, node, most = 0
    for node in range(n_nodes):
        for k in (left[node], right[node]):
            if k < 0:
                parent[n_nodes + ~k] = node
                most += depth[node] + 1
            else:
                parent[k] = node
                depth[k] = depth[node] + 1
    start = np.zeros(n_nodes + 2, dtype=np.int64)
    columns = np.empty(most, dtype=np.int32)
    cdef int64_t[::1] start_out = start
    cdef int32_t[::1] columns_out = columns
    for k in range(n_nodes + 1):
        start_out[k + 1] = start_out[k]
        node = parent[n_nodes + k]
        while node >= 0:
            if is_numeric[feature[node]]:
                start_out[k + 1] += insert(
                    column[feature[node]], &columns_out[start_out[k]],
                    start_out[k + 1] - start_out[k])
            node = parent[node]
    return start, columns[:start_out[n_nodes + 1]]


cdef bint insert(int32_t value, int32_t* values_inout, int64_t n) noexcept nogil:
    """Insert a value among ascending ones; False if it is there."""
    cdef int64_t i, at = n
    while at > 0 and values_inout[at - 1] >= value:
        at -= 1
    if at < n and values_inout[at] == value:
        return False
    for i in range(n, at, -1):
        values_inout[i] = values_inout[i - 1]
    values_inout[at] = value
    return True


cdef int64_t _memory(const int64_t[::1] start, const int64_t[::1] row_start) noexcept:
    """Doubles of memory that the leaf needs that needs most."""
    cdef int64_t most = 0, n_blocks, p, k
    for k in range(start.shape[0] - 1):
        p = start[k + 1] - start[k]
        n_blocks = 1 + (row_start[k + 1] - row_start[k]) // LINEAR_ROWS
        most = max(most, p * (p + 3) + (p + 2 + (p + 1) * n_blocks) * LINEAR_ROWS)
    return most


cdef struct LeafLoop:
    const int64_t* order      # in which leaves are fitted
    Values values
    const int64_t* start
    const int32_t* feature
    const int64_t* row_start
    const int64_t* rows
    Gradients gradients
    Rates rates
    Line lines                # of the first leaf; those of the others follow
    const double* leaf_value
    double* memory            # of each thread, so many doubles
    Py_ssize_t memory_size
    double* score
    Watch watch


cdef void fit_number(void* context, Py_ssize_t at, Py_ssize_t end, int thread) noexcept nogil:
    cdef LeafLoop* loop = <LeafLoop*>context
    cdef int64_t k = loop.order[at]
    cdef int64_t first = loop.start[k]
    cdef Line* lines = &loop.lines
    cdef Leaf leaf = Leaf(
        loop.feature + first, loop.start[k + 1] - first, loop.rows + loop.row_start[k],
        loop.row_start[k + 1] - loop.row_start[k])
    cdef Line line = Line(
        lines.constant + k, lines.coefficient + first, lines.mean + first, lines.lower + k,
        lines.upper + k, loop.leaf_value[k])
    if not is_stopped(&loop.watch):
        fit_or_keep_constant(
            &loop.values, &leaf, &loop.gradients, &loop.rates, &line,
            loop.memory + thread * loop.memory_size, loop.score)


def fit(
    const uint64_t[::1] address, const int64_t[::1] stride, int64_t[::1] start_inout,
    int32_t[::1] feature_inout, const int64_t[::1] row_start, const int64_t[::1] rows,
    const float[::1] gradient, const float[::1] hessian, const double[::1] weight,
    const double[::1] leaf_value, double penalty, double rate, double self_concordance,
    int n_threads, double[::1] score_inout, double[::1] constant_out,
    double[::1] coefficient_out, double[::1] mean_out, double[::1] lower_out,
    double[::1] upper_out,
):
    """Fit the linear models of a tree's leaves.

    Rows without a finite value in one of the leaf's columns do not count. A column that
    those before it determine gets no slope.

    - ``address``, (n_features,).
    - ``stride``, (n_features,): bytes between the float64 values of a column; columns that no leaf
      uses are not read.
    - ``start_inout``, (n_leaves + 1,): where the columns of each leaf begin in ``feature_inout``.
    - ``feature_inout``, (n_used,).
    - ``row_start``, (n_leaves + 1,): where the rows of each leaf begin in ``rows``.
    - ``rows``, (m,): the rows that count.
    - ``gradient``, (n,): of all rows.
    - ``hessian``, (n,), or None for ones.
    - ``weight``, (n,), or None for ones: multiplies gradients and hessians.
    - ``leaf_value``, (n_leaves,): of leaves that stay constant, and of rows without a finite value
      in one of the leaf's columns.
    - ``penalty``: on the squares of the coefficients.
    - ``rate``: what coefficients and constants are multiplied by.
    - ``self_concordance``: of the loss; 0: its steps have no limit.
    - ``score_inout``, (n,), or None: the leaves' values are added for the rows that count, unless
      None.
    - ``constant_out``, (n_leaves,).
    - ``coefficient_out``, (n_used,).
    - ``mean_out``, (n_used,): the means of the columns in the leaf's rows without missing values.
    - ``lower_out``, ``upper_out``, (n_leaves,): the least and greatest value in rows that count and
      have a weight above 0, widened by half of their difference.

    Returns the number of slopes, which are moved to the front with their features and means.
    """
    cdef int64_t n_leaves = leaf_value.shape[0]
    cdef double* score = NULL
    cdef double[:, ::1] memory
    cdef Values values = Values(&address[0], &stride[0])
    cdef Gradients gradients = Gradients(&gradient[0], NULL, NULL)
    cdef Rates rates = Rates(penalty, rate, self_concordance)
    cdef Line lines = Line(
        &constant_out[0], &coefficient_out[0], &mean_out[0], &lower_out[0], &upper_out[0], 0.0)
    if hessian is not None:
        gradients.hessian = &hessian[0]
    if weight is not None:
        gradients.weight = &weight[0]
    if score_inout is not None:
        score = &score_inout[0]
    if rows.shape[0] < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    memory = np.empty((n_threads, _memory(start_inout, row_start)))
    order = np.arange(n_leaves)
    if n_threads > 1:
        # The leaves with the most work first: threads end at the same time.
        order = np.argsort(-np.diff(start_inout) * np.diff(row_start), kind="stable")
    cdef const int64_t[::1] by_work = order
    cdef LeafLoop loop = LeafLoop(
        &by_work[0], values, &start_inout[0], &feature_inout[0], &row_start[0], &rows[0],
        gradients, rates, lines, &leaf_value[0], &memory[0, 0], memory.shape[1], score,
        start_watch())
    with nogil:
        parallel_for(fit_number, &loop, n_leaves, 1, n_threads)
    end_watch(&loop.watch)
    return keep_slopes(n_leaves, &lines, &start_inout[0], &feature_inout[0])


cdef int64_t keep_slopes(
    int64_t n_leaves, const Line* lines, int64_t* start_inout, int32_t* feature_inout,
) noexcept:
    """Move the coefficients that are not 0 to the front; their number."""
    cdef int64_t j, k, begin = 0, n = 0
    for k in range(n_leaves):
        for j in range(begin, start_inout[k + 1]):
            if lines.coefficient[j] != 0.0:
                lines.coefficient[n] = lines.coefficient[j]
                lines.mean[n] = lines.mean[j]
                feature_inout[n] = feature_inout[j]
                n += 1
        begin = start_inout[k + 1]
        start_inout[k + 1] = n
    return n


# ------------------------------------------------------------------ values


# The linear leaves of several trees.
cdef struct Lines:
    const int64_t* start
    const int32_t* feature
    const double* coefficient
    const double* constant
    const double* lower
    const double* upper
    const double* otherwise


# A thread's memory.
cdef struct RowScratch:
    int64_t* row            # the numbers of a block's rows
    int64_t* grouped        # the same, leaf by leaf
    int64_t* stop           # where the rows of each leaf end
    double* block           # columns of LINEAR_ROWS
    double* value


# Scores of rows that lie ``step`` apart.
cdef struct Scores:
    double* first
    int64_t step


cdef inline double value_of(
    const Values* values, const Lines* lines, int64_t leaf, int64_t row,
) noexcept nogil:
    """The value of one row in its leaf."""
    cdef double value = lines.constant[leaf]
    cdef int64_t j
    for j in range(lines.start[leaf], lines.start[leaf + 1]):
        value += lines.coefficient[j] * cell(values, lines.feature[j], row)
    return bounded(
        value if isfinite(value) else NAN, lines.lower[leaf], lines.upper[leaf],
        lines.otherwise[leaf])


cdef void add_leaf(
    const Values* values, const Lines* lines, int64_t leaf, const int64_t* rows, int64_t n,
    const RowScratch* scratch, const Scores* scores,
) noexcept nogil:
    """Add the values of one leaf to the scores of its rows."""
    cdef int64_t first = lines.start[leaf]
    cdef int64_t p = lines.start[leaf + 1] - first
    cdef int64_t begin, i, n_now
    for begin from 0 <= begin < n by LINEAR_ROWS:
        n_now = min(<int64_t> LINEAR_ROWS, n - begin)
        load_columns(values, lines.feature + first, p, rows + begin, n_now, scratch.block)
        line_values(
            scratch.block, n_now, p, lines.coefficient + first, lines.constant[leaf], False,
            scratch.value)
        bound_values(
            scratch.value, n_now, lines.lower[leaf], lines.upper[leaf], lines.otherwise[leaf])
        for i in range(n_now):
            scores.first[rows[begin + i] * scores.step] += scratch.value[i]


cdef void group_block(
    const int32_t* leaf, int64_t step, int64_t n, int64_t n_leaves, const RowScratch* scratch,
) noexcept nogil:
    """Put the rows of a block in the order of their leaves."""
    cdef int64_t* stop = scratch.stop
    cdef int64_t i, k
    memset(stop, 0, (n_leaves + 1) * sizeof(int64_t))
    for i in range(n):
        stop[leaf[i * step] + 1] += 1
    for k in range(n_leaves):
        stop[k + 1] += stop[k]
    for i in range(n):
        k = leaf[i * step]
        scratch.grouped[stop[k]] = scratch.row[i]
        stop[k] += 1


cdef void add_tree(
    const Values* values, const Lines* lines, int64_t first_leaf, int64_t n_leaves,
    const int32_t* leaf, int64_t step, int64_t n, const RowScratch* scratch,
    const Scores* scores,
) noexcept nogil:
    """Add the values of one tree to the scores of a block of rows."""
    cdef int64_t i, k, begin = 0
    if n < MIN_ROWS_OF_LEAF * n_leaves:
        for i in range(n):
            scores.first[scratch.row[i] * scores.step] += value_of(
                values, lines, first_leaf + leaf[i * step], scratch.row[i])
        return
    group_block(leaf, step, n, n_leaves, scratch)
    for k in range(n_leaves):
        add_leaf(
            values, lines, first_leaf + k, scratch.grouped + begin, scratch.stop[k] - begin,
            scratch, scores)
        begin = scratch.stop[k]


cdef int64_t largest(const int64_t[::1] start) noexcept:
    """The size of the largest of several spans."""
    cdef int64_t most = 0, i
    for i in range(start.shape[0] - 1):
        most = max(most, start[i + 1] - start[i])
    return most


cdef struct AddLoop:
    Values values
    Lines lines
    const int32_t* leaf       # of each row, one for each tree
    const int64_t* rows       # or NULL: all, in order
    const int64_t* leaf_start
    int64_t n_trees
    int64_t first_score
    int64_t n_scores
    double* score
    int64_t* numbers          # of each thread, so many
    int64_t n_numbers
    double* memory            # of each thread, so many
    int64_t n_values
    Watch watch


cdef void add_block(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef AddLoop* loop = <AddLoop*>context
    cdef int64_t* numbers = loop.numbers + thread * loop.n_numbers
    cdef double* memory = loop.memory + thread * loop.n_values
    cdef RowScratch scratch = RowScratch(
        numbers, numbers + BLOCK, numbers + 2 * BLOCK, memory + LINEAR_ROWS, memory)
    cdef const int64_t* leaf_start = loop.leaf_start
    cdef Scores scores
    cdef int64_t i, tree
    if is_stopped(&loop.watch):
        return
    for i in range(first, end):
        scratch.row[i - first] = loop.rows[i] if loop.rows != NULL else i
    for tree in range(loop.n_trees):
        scores = Scores(
            loop.score + (loop.first_score + tree) % loop.n_scores, loop.n_scores)
        add_tree(
            &loop.values, &loop.lines, leaf_start[tree], leaf_start[tree + 1] - leaf_start[tree],
            loop.leaf + first * loop.n_trees + tree, loop.n_trees, end - first, &scratch,
            &scores)


def add(
    const uint64_t[::1] address, const int64_t[::1] stride, const int32_t[:, ::1] leaf,
    const int64_t[::1] rows, const int64_t[::1] leaf_start, const int64_t[::1] start,
    const int32_t[::1] feature, const double[::1] coefficient, const double[::1] constant,
    const double[::1] lower, const double[::1] upper, const double[::1] leaf_value,
    int64_t first_score, int n_threads, double[:, ::1] score_inout,
):
    """Add the linear leaves of trees to the scores of rows.

    - ``address``, ``stride``, (n_features,): where the values of each column lie.
    - ``leaf``, (n, n_trees): the leaf of each row in each tree.
    - ``rows``, (n,): the numbers of the rows, each once; None: all, in order.
    - ``leaf_start``, (n_trees + 1,): where each tree's leaves begin among all leaves.
    - ``start``, (n_leaves + 1,): where the features and coefficients of each leaf begin.
    - ``constant``, (n_leaves,).
    - ``lower``, ``upper``, (n_leaves,): what the values of lines are clipped to; NaN: to nothing.
    - ``leaf_value``, (n_leaves,): of rows without a finite value in one of the leaf's columns.
    - ``first_score``: the score of the first tree; the others follow one after the other.
    - ``score_inout``, (n_rows, n_scores).
    """
    cdef int64_t n = leaf.shape[0], n_trees = leaf.shape[1]
    cdef int64_t[:, ::1] numbers
    cdef double[:, ::1] memory
    cdef AddLoop loop
    if n * n_trees == 0:
        return
    if n * n_trees < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    loop.n_numbers = 2 * BLOCK + largest(leaf_start) + 1
    loop.n_values = (largest(start) + 1) * LINEAR_ROWS
    numbers = np.empty((n_threads, loop.n_numbers), dtype=np.int64)
    memory = np.empty((n_threads, loop.n_values))
    loop.values = Values(&address[0], &stride[0])
    loop.lines = Lines(
        &start[0], &feature[0], &coefficient[0], &constant[0], &lower[0], &upper[0],
        &leaf_value[0])
    loop.leaf, loop.leaf_start, loop.n_trees = &leaf[0, 0], &leaf_start[0], n_trees
    loop.rows = &rows[0] if rows is not None else NULL
    loop.score, loop.n_scores = &score_inout[0, 0], score_inout.shape[1]
    loop.first_score = first_score
    loop.numbers, loop.memory = &numbers[0, 0], &memory[0, 0]
    loop.watch = start_watch()
    with nogil:
        parallel_shares(add_block, &loop, n, BLOCK, n_threads)
    end_watch(&loop.watch)
