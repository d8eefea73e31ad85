"""Linear leaves: their coefficients, and the values of rows.

A leaf's model is the Newton step of the loss in the coefficients, with a ridge penalty (Shi, Li
and Li, "Gradient boosting with piece-wise linear regression trees", IJCAI 2019): normal equations
of columns counted from their means, which are solved by Cholesky's factor. The value of a row is

    constant + sum of coefficient_j * (value of the row in column j),

clipped to bounds. Rows without a finite value in one of these columns get the leaf's fallback, the
value of a constant leaf. Rows with finite values in all of them are called whole.

Comments count values "from" a center: the difference to it, which loses fewer digits in products.

Columns are float64, each with an address and a stride of its own. In a fit each leaf is computed by
one thread, so sums do not depend on the number of threads.
"""

from libc.math cimport INFINITY, NAN, fabs, isfinite, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for, parallel_shares

import numpy as np

cdef extern from "elementary.h" nogil:
    double exponential_minus_1(double) noexcept
    double logarithm_1p(double) noexcept

cdef extern from "linear_kernels.h" nogil:
    enum:
        LINEAR_ROWS
    void load_columns(
        const uint64_t* address, const int64_t* stride, const int32_t* feature, int64_t p,
        const uint32_t* rows, Py_ssize_t n, double* block_out) noexcept
    void find_whole(
        const double* block, Py_ssize_t n, int64_t p, uint64_t* whole_out,
        int64_t* n_whole_out) noexcept
    void find_centers(
        const double* block, const uint64_t* whole, Py_ssize_t n, int64_t n_whole, int64_t p,
        double* center_out) noexcept
    ctypedef struct LeafSums:
        double gradient
        double hessian
        double* plain
        double* weighted
        double* slope
        double* moment
    void add_products(
        const double* source, const uint64_t* whole, double* block, Py_ssize_t n, int64_t p,
        const double* center, LeafSums* sums) noexcept
    void model_values(
        const double* block, Py_ssize_t n, int64_t p, const double* coefficient,
        double constant, int is_fitted, double* value_out) noexcept
    ctypedef struct ChangeSums:
        double slope
        double curve
        int64_t n_values
    void add_changes(
        const double* value, double fallback, const double* gradient, const double* hessian,
        Py_ssize_t n, ChangeSums* sums) noexcept
    void bound_values(
        double* value, Py_ssize_t n, double lower, double upper, double fallback) noexcept
    void find_range(
        const double* value, Py_ssize_t n, double* lower_inout, double* upper_inout) noexcept

cdef enum:
    # With fewer rows times trees, one thread is faster than a team.
    MIN_ROWS_FOR_TEAM = 20000
    # Rows that a thread takes at a time when it adds values to scores.
    BLOCK = 2048
    # With at least this number of rows for each leaf, rows are put in the order of the leaves.
    MIN_ROWS_PER_LEAF = 4

# A column has no slope if its variance is less than this fraction of its mean square, counted from
# its center, or if the columns before it explain all but this fraction of its variance.
cdef double TINY_VARIATION = 1e-10
# If the product of the smallest such fractions is larger, rounding errors of coefficients are
# small.
cdef double SAFE_VARIATION = 1e-3
# If the variance of each column is more than this fraction of its squared mean, rounding errors of
# values are small, too.
cdef double SAFE_DISTANCE = 1e-12
# A coefficient that is not larger counts as 0.
cdef double TINY_COEFFICIENT = 1e-35
# The bounds of a model are wider than the range of its values in the leaf's rows, by this fraction
# of the range on each side.
cdef double BOUND_MARGIN = 0.5


# A thread's memory, for leaves of p columns.
cdef struct LeafScratch:
    double* center
    double* sum         # of the columns from their centers, weighted by hessians; p numbers
    double* scale       # makes the diagonal of moments 1; 0: a column has no slope
    double* moment      # p x p, the lower triangle
    double* block       # p + 2 columns of LINEAR_ROWS: one block of rows, gradients and hessians
    double* value       # of the rows, in the leaf's model
    double* kept        # p columns of LINEAR_ROWS for each block of rows: all values of the leaf


# ------------------------------------------------------------------ fit


cdef void load_derivatives(
    const Derivatives* derivatives, const uint32_t* rows, int64_t n, double* gradient_out,
    double* hessian_out,
) noexcept nogil:
    """Copy the gradients and hessians of n rows, times their weights.

    ``rows``, (n,): their numbers in the data.
    """
    cdef int64_t i
    for i in range(n):
        gradient_out[i] = derivatives.gradient[rows[i]]
        hessian_out[i] = derivatives.hessian[rows[i]] if derivatives.hessian != NULL else 1.0
    if derivatives.weight != NULL:
        for i in range(n):
            gradient_out[i] *= derivatives.weight[rows[i]]
            hessian_out[i] *= derivatives.weight[rows[i]]


cdef int64_t sum_rows(
    const Values* values, const LeafRows* leaf, const Derivatives* derivatives,
    const LeafScratch* scratch, LeafSums* sums_out,
) noexcept nogil:
    """Sum over the whole rows of a leaf, those without missing values; returns their number.

    Columns are counted from centers, the means in the first block with a whole row, which are
    written to ``scratch.center``. The values of all rows are written to ``scratch.kept``. ``leaf``
    has the columns and rows of the leaf.
    """
    cdef int64_t p = leaf.p
    cdef double* gradient = scratch.block + p * LINEAR_ROWS
    cdef double* kept
    cdef uint64_t[LINEAR_ROWS] whole
    cdef int64_t begin, n, n_new, n_whole = 0
    sums_out.gradient = sums_out.hessian = 0.0
    memset(sums_out.plain, 0, p * sizeof(double))
    memset(sums_out.weighted, 0, p * sizeof(double))
    memset(sums_out.slope, 0, p * sizeof(double))
    memset(sums_out.moment, 0, p * p * sizeof(double))
    for begin from 0 <= begin < leaf.n by LINEAR_ROWS:
        n = min(<int64_t> LINEAR_ROWS, leaf.n - begin)
        kept = scratch.kept + begin * p
        load_columns(
            values.address, values.stride, leaf.feature, p, leaf.rows + begin, n, kept)
        load_derivatives(derivatives, leaf.rows + begin, n, gradient, gradient + LINEAR_ROWS)
        find_whole(kept, n, p, whole, &n_new)
        if n_new == 0:
            continue
        if n_whole == 0:
            find_centers(kept, whole, n, n_new, p, scratch.center)
        n_whole += n_new
        add_products(kept, whole, scratch.block, n, p, scratch.center, sums_out)
    return n_whole


cdef double move_to_means(
    int64_t p, double penalty, const LeafScratch* scratch, LeafSums* sums_inout,
) noexcept nogil:
    """Count columns from their means, which become the centers; add the penalty, and scale.

    With the mean m of a column, weighted by hessians h, sums over rows change as

        slope_j:      sum of g (x - m) = sum of g x - m * sum of g,
        moment_j,k:   sum of h (x_j - m_j) (x_k - m_k) = sum of h x_j x_k - m_j * sum of h x_k.

    ``penalty`` is added to the diagonal of moments. ``scratch.scale`` gets 1 / sqrt(diagonal), or 0
    for a column that hardly varies and so gets no slope. Returns the smallest fraction of a
    column's mean square that is variance, or 0 if a column is far from 0 compared with its variance
    (SAFE_DISTANCE).
    """
    cdef double mean, square, remainder, distance, min_fraction = 1.0
    cdef double* row
    cdef int64_t j, k
    for j in range(p):
        row = sums_inout.moment + j * p
        square = row[j]
        mean = sums_inout.weighted[j] / sums_inout.hessian
        sums_inout.slope[j] -= sums_inout.gradient * mean
        scratch.center[j] += mean
        for k in range(j + 1):
            row[k] -= mean * sums_inout.weighted[k]
        remainder = row[j] + penalty
        scratch.scale[j] = 0.0
        if row[j] > TINY_VARIATION * square and isfinite(remainder):
            scratch.scale[j] = 1.0 / sqrt(remainder)
            min_fraction = min(min_fraction, row[j] / square)
            distance = scratch.center[j]
            if row[j] < SAFE_DISTANCE * sums_inout.hessian * distance * distance:
                min_fraction = 0.0
        row[j] = remainder
    return min_fraction


cdef double factor(int64_t p, const double* scale, double* moment_inout) noexcept nogil:
    """Cholesky's factor of the moments, whose diagonal is scaled to 1.

    ``moment_inout``: p x p, row by row, of which only the lower triangle is used; it becomes the
    factor L with L L^T = moments, but its diagonal is inverted. ``scale``, (p,): factors of the
    columns; 0: the column has no slope. The rows of columns that those before them determine, or
    that have no scale, become zero. Returns the smallest fraction of the variance of another column
    that those before it do not explain.
    """
    cdef double remainder, min_fraction = 1.0
    cdef double* row
    cdef double* other
    cdef int64_t i, j, k
    for j in range(p):
        row = moment_inout + j * p
        for k in range(j + 1):
            other = moment_inout + k * p
            remainder = row[k] * scale[j] * scale[k]
            for i in range(k):
                remainder -= row[i] * other[i]
            if k < j:
                row[k] = remainder * other[k]
            else:
                row[k] = 1.0 / sqrt(remainder) if remainder > TINY_VARIATION else 0.0
        if row[j] > 0:
            min_fraction = min(min_fraction, remainder)
        else:
            memset(row, 0, (j + 1) * sizeof(double))
    return min_fraction


cdef void solve(
    int64_t p, const double* scale, const double* moment, double* slope_inout,
) noexcept nogil:
    """Turn sums of gradients into coefficients: minus the inverse of the moments times the sums.

    ``slope_inout``, (p,): of each column, the sum of gradients times values; then its coefficient.
    ``moment`` is what `factor` has written: a lower triangle by rows, whose diagonal is inverted.
    Columns whose rows are zero get the coefficient 0.
    """
    cdef const double* row
    cdef int64_t j, k
    # Forward through the factor, of scaled columns; then backward through its transpose.
    for j in range(p):
        row = moment + j * p
        slope_inout[j] *= scale[j]
        for k in range(j):
            slope_inout[j] -= row[k] * slope_inout[k]
        slope_inout[j] *= row[j]
    for j in range(p - 1, -1, -1):
        row = moment + j * p
        slope_inout[j] *= row[j]
        for k in range(j):
            slope_inout[k] -= row[k] * slope_inout[j]
    for j in range(p):
        slope_inout[j] *= -scale[j]


cdef bint solve_leaf(
    const LeafRows* leaf, int64_t n_whole, double penalty, const LeafScratch* scratch,
    LeafSums* sums, const LeafModel* model_out, bint* is_accurate_out,
) noexcept nogil:
    """Compute the Newton step of a leaf from its sums; False: it has none.

    - ``n_whole``: the rows that were summed.
    - ``sums``: those of `sum_rows`; overwritten. ``sums.slope`` is ``model_out.coefficient``, and
      ``sums.plain`` is ``model_out.mean``.
    - ``model_out``: gets the coefficients, the means, and the constant, which is the value at 0:
      the step -g / h of the rows together, minus what the coefficients give at the centers.
    - ``is_accurate_out``: whether rounding errors are small compared with the step.
    """
    cdef double* coefficient = model_out.coefficient
    cdef double constant, kept
    cdef int64_t j
    if not sums.hessian > 0:
        return False
    constant = -sums.gradient / sums.hessian
    for j in range(leaf.p):
        model_out.mean[j] = scratch.center[j] + model_out.mean[j] / n_whole
    kept = move_to_means(leaf.p, penalty, scratch, sums)
    kept *= factor(leaf.p, scratch.scale, scratch.moment)
    is_accurate_out[0] = kept > SAFE_VARIATION
    solve(leaf.p, scratch.scale, scratch.moment, coefficient)
    for j in range(leaf.p):
        if fabs(coefficient[j]) <= TINY_COEFFICIENT:
            coefficient[j] = 0.0
        constant -= coefficient[j] * scratch.center[j]
    model_out.constant[0] = constant
    return isfinite(constant)


cdef void multiply(
    const LeafRows* leaf, double factor, const LeafModel* model_inout,
) noexcept nogil:
    """Multiply the constant and the p coefficients of a leaf's model."""
    cdef int64_t j
    model_inout.constant[0] *= factor
    for j in range(leaf.p):
        model_inout.coefficient[j] *= factor


cdef double growth(double u) noexcept nogil:
    """(exp(u) - u - 1) / u^2, for u >= 0."""
    if u < 1e-3:
        return 0.5 + u * (1.0 / 6.0 + u / 24.0)
    return (exponential_minus_1(u) - u) / (u * u)


cdef double shortened(const Rates* rates, double lower, double upper) noexcept nogil:
    """The fraction to which steps between two values are shortened, so that the loss cannot rise.

    Let c be the self-concordance of the loss (`leaf_step` in training/gains.h), d the Newton
    step of a row, and D the largest |d|. A fraction t of all steps changes the loss of the leaf by
    no more than the sum of h d^2 times (exp(c t D) - c t D - 1) / (c D)^2 - t. This falls up to
    t = log(1 + c D) / (c D). For one value it is the limit of a constant leaf.

    ``lower``, ``upper``: the smallest and the largest value in the leaf's rows. These are steps
    times ``rates.rate``, the learning rate, so a result of 1 or more (then 1) leaves them as they
    are.
    """
    cdef double max_step = rates.self_concordance * max(fabs(lower), fabs(upper)) / rates.rate
    if not 0.0 < max_step < INFINITY:
        return 1.0
    return min(1.0, logarithm_1p(max_step) / (max_step * rates.rate))


cdef void find_values(
    const LeafRows* leaf, const double* weight, const LeafModel* model, const LeafScratch* scratch,
    double* lower_out, double* upper_out,
) noexcept nogil:
    """Compute the values of a leaf's rows, NaN for those that miss a column, and their range.

    Values are written to ``scratch.value``. The range is that of the rows with a weight above 0;
    ``weight`` has the weight of each row of the data, NULL: 1.
    """
    cdef const uint32_t* rows
    cdef double* value
    cdef int64_t begin, i, n
    lower_out[0] = INFINITY
    upper_out[0] = -INFINITY
    for begin from 0 <= begin < leaf.n by LINEAR_ROWS:
        n = min(<int64_t> LINEAR_ROWS, leaf.n - begin)
        rows = leaf.rows + begin
        value = scratch.value + begin
        model_values(
            scratch.kept + begin * leaf.p, n, leaf.p, model.coefficient, model.constant[0], True,
            value)
        if weight != NULL:
            for i in range(n):
                scratch.block[i] = value[i] if weight[rows[i]] > 0 else NAN
            value = scratch.block
        find_range(value, n, lower_out, upper_out)


cdef ChangeSums sum_changes(
    const LeafRows* leaf, const Derivatives* derivatives, double fallback,
    const LeafScratch* scratch,
) noexcept nogil:
    """Sum the changes of the loss of a leaf's rows by their values (`ChangeSums`).

    Values are in ``scratch.value``; rows whose value is NaN get ``fallback``.
    """
    cdef double* gradient = scratch.block
    cdef double* hessian = gradient + LINEAR_ROWS
    cdef ChangeSums sums = ChangeSums(0.0, 0.0, 0)
    cdef int64_t begin, n
    for begin from 0 <= begin < leaf.n by LINEAR_ROWS:
        n = min(<int64_t> LINEAR_ROWS, leaf.n - begin)
        load_derivatives(derivatives, leaf.rows + begin, n, gradient, hessian)
        add_changes(scratch.value + begin, fallback, gradient, hessian, n, &sums)
    return sums


cdef void exclude(LeafRows* leaf_inout, int64_t j) noexcept nogil:
    """Exclude column j of a leaf from the fit: move its feature behind the others."""
    cdef int32_t feature = leaf_inout.feature[j]
    cdef int64_t k
    leaf_inout.p -= 1
    for k in range(j, leaf_inout.p):
        leaf_inout.feature[k] = leaf_inout.feature[k + 1]
    leaf_inout.feature[leaf_inout.p] = feature


cdef void exclude_rarest(LeafRows* leaf_inout, const LeafScratch* scratch) noexcept nogil:
    """Exclude the columns with the largest number of missing values in the leaf's rows.

    It reads the values in ``scratch.kept``.
    """
    cdef double* n_missing = scratch.sum
    cdef double max_missing = 0.0
    cdef const double* column
    cdef int64_t begin, i, j, n, p = leaf_inout.p
    memset(n_missing, 0, p * sizeof(double))
    for begin from 0 <= begin < leaf_inout.n by LINEAR_ROWS:
        n = min(<int64_t> LINEAR_ROWS, leaf_inout.n - begin)
        for j in range(p):
            column = scratch.kept + begin * p + j * LINEAR_ROWS
            for i in range(n):
                n_missing[j] += not isfinite(column[i])
    for j in range(p):
        max_missing = max(max_missing, n_missing[j])
    for j in range(p - 1, -1, -1):
        if n_missing[j] == max_missing:
            exclude(leaf_inout, j)


cdef void exclude_flat(LeafRows* leaf_inout, const double* coefficient) noexcept nogil:
    """Exclude the columns without a slope, whose coefficient is 0."""
    cdef int64_t j
    for j in range(leaf_inout.p - 1, -1, -1):
        if coefficient[j] == 0.0:
            exclude(leaf_inout, j)


cdef bint lowers_loss(const Rates* rates, const ChangeSums* sums, double longest) noexcept nogil:
    """Whether changes of scores, of which ``longest`` is the largest, cannot raise the loss.

    By the bound of `shortened`, which is exact if the loss is quadratic: with changes v of the
    scores, the loss changes by at most the sum of g v, plus the sum of h v^2 times growth(c
    longest), which is 1/2 for c = 0.
    """
    return sums.slope + sums.curve * growth(rates.self_concordance * longest) <= 0


cdef bint fit_model(
    const Values* values, LeafRows* leaf_inout, const Derivatives* derivatives,
    const Rates* rates, const LeafScratch* scratch, double* lower_out, double* upper_out,
    const LeafModel* model_out,
) noexcept nogil:
    """Fit one leaf, with shortened steps; False: it stays constant.

    Only the rows that a model is fitted on get values of it. So columns that too many rows miss, or
    without a slope but with missing values, are excluded, and the model is fitted again.

    - ``leaf_inout``: its columns and rows; excluded columns move to the end, and ``p`` falls.
    - ``lower_out``, ``upper_out``: the smallest and the largest value in its rows.
    - ``model_out``: ``fallback`` is the value of the constant leaf, which rows that are not whole
      get.

    It also stays constant if, with rows that miss a column or with large rounding errors, the model
    could raise the loss.
    """
    cdef LeafSums sums = LeafSums(
        0.0, 0.0, model_out.mean, scratch.sum, model_out.coefficient, scratch.moment)
    cdef ChangeSums change
    cdef double fraction, longest
    cdef int64_t n_whole
    cdef bint is_accurate
    while True:
        if leaf_inout.p == 0:
            return False
        n_whole = sum_rows(values, leaf_inout, derivatives, scratch, &sums)
        if n_whole < max(min(rates.min_rows, leaf_inout.n), leaf_inout.p + 1):
            if n_whole == leaf_inout.n:
                return False
            exclude_rarest(leaf_inout, scratch)
            continue
        if not solve_leaf(
            leaf_inout, n_whole, rates.penalty, scratch, &sums, model_out, &is_accurate,
        ):
            return False
        multiply(leaf_inout, rates.rate, model_out)
        find_values(leaf_inout, derivatives.weight, model_out, scratch, lower_out, upper_out)
        if n_whole == leaf_inout.n and is_accurate:
            break
        change = sum_changes(leaf_inout, derivatives, model_out.fallback, scratch)
        if change.n_values == n_whole:
            break
        if change.n_values < n_whole:
            return False
        exclude_flat(leaf_inout, model_out.coefficient)
    fraction = shortened(rates, lower_out[0], upper_out[0])
    if fraction < 1.0:
        multiply(leaf_inout, fraction, model_out)
        find_values(leaf_inout, derivatives.weight, model_out, scratch, lower_out, upper_out)
    if n_whole == leaf_inout.n and is_accurate:
        return lower_out[0] <= upper_out[0]
    if fraction < 1.0:
        change = sum_changes(leaf_inout, derivatives, model_out.fallback, scratch)
    longest = max(fabs(lower_out[0]), fabs(upper_out[0]))
    if n_whole < leaf_inout.n:
        longest = max(longest, fabs(model_out.fallback))
    return lower_out[0] <= upper_out[0] and lowers_loss(rates, &change, longest)


cdef int64_t fit_memory(int64_t p, int64_t n) noexcept nogil:
    """The doubles of memory that fitting a leaf of n rows and p columns needs: `LeafScratch`."""
    cdef int64_t n_blocks = (n + LINEAR_ROWS - 1) // LINEAR_ROWS
    return p * (p + 3) + (p + 2 + (p + 1) * n_blocks) * LINEAR_ROWS


cdef void fit_or_keep_constant(
    const Values* values, const LeafRows* leaf, const Derivatives* derivatives,
    const Rates* rates, const LeafModel* model_out, double* memory, double* score,
) noexcept nogil:
    """Fit one leaf, or make it constant, and add its values to the scores of its rows.

    - ``leaf``: its columns (excluded ones move to the end) and rows.
    - ``model_out``: coefficients of excluded columns become 0; the bounds are wider than the range
      of the values by BOUND_MARGIN. ``fallback`` is an argument.
    - ``memory``: `fit_memory` doubles.
    - ``score``, by row of the data; NULL: nothing is added.
    """
    cdef int64_t p = leaf.p
    cdef double* block = memory + p * (p + 3)
    cdef double* value = block + (p + 2) * LINEAR_ROWS
    cdef LeafScratch scratch = LeafScratch(
        memory, memory + p, memory + 2 * p, memory + 3 * p, block, value,
        value + (leaf.n + LINEAR_ROWS - 1) // LINEAR_ROWS * LINEAR_ROWS)
    cdef LeafRows used = leaf[0]
    cdef double lower, upper, width
    cdef bint is_linear = fit_model(
        values, &used, derivatives, rates, &scratch, &lower, &upper, model_out)
    cdef int64_t i
    if not is_linear:
        model_out.constant[0] = lower = upper = model_out.fallback
        used.p = 0
    memset(model_out.coefficient + used.p, 0, (p - used.p) * sizeof(double))
    width = BOUND_MARGIN * (upper - lower)
    lower -= width
    upper += width
    model_out.lower[0] = lower
    model_out.upper[0] = upper
    if score == NULL:
        return
    if is_linear:
        bound_values(value, leaf.n, lower, upper, model_out.fallback)
    for i in range(leaf.n):
        score[leaf.rows[i]] += value[i] if is_linear else model_out.fallback


cdef struct LeafLoop:
    # The arguments of `fit`.
    const int64_t* order      # in which leaves are fitted
    Values values
    const int64_t* start
    int32_t* feature
    const int64_t* row_start
    const uint32_t* rows
    Derivatives derivatives
    Rates rates
    LeafModel models                # of the first leaf; those of the others follow
    const double* leaf_value
    double* memory            # of each thread, ``memory_size`` doubles
    Py_ssize_t memory_size
    double* score
    Watch watch


cdef void fit_body(void* context, Py_ssize_t i, Py_ssize_t end, int thread) noexcept nogil:
    """Fit the leaf that is number i in the order of the loop."""
    cdef LeafLoop* loop = <LeafLoop*>context
    cdef int64_t k = loop.order[i]
    cdef int64_t first = loop.start[k]
    cdef LeafModel* models = &loop.models
    cdef LeafRows leaf = LeafRows(
        loop.feature + first, loop.start[k + 1] - first, loop.rows + loop.row_start[k],
        loop.row_start[k + 1] - loop.row_start[k])
    cdef LeafModel model = LeafModel(
        models.constant + k, models.coefficient + first, models.mean + first, models.lower + k,
        models.upper + k, loop.leaf_value[k])
    if not is_stopped(&loop.watch):
        fit_or_keep_constant(
            &loop.values, &leaf, &loop.derivatives, &loop.rates, &model,
            loop.memory + thread * loop.memory_size, loop.score)


cdef int64_t max_fit_memory(const int64_t[::1] start, const int64_t[::1] row_start) noexcept:
    """The doubles of memory that the largest leaf needs.

    ``start``, ``row_start``, (n_leaves + 1,): where the columns and the rows of each leaf begin.
    """
    cdef int64_t size = 0, k
    for k in range(start.shape[0] - 1):
        size = max(
            size, fit_memory(start[k + 1] - start[k], row_start[k + 1] - row_start[k]))
    return size


def fit(
    const uint64_t[::1] address, const int64_t[::1] stride, int64_t[::1] start_inout,
    int32_t[::1] feature_inout, const int64_t[::1] row_start, const uint32_t[::1] rows,
    const float[::1] gradient, const float[::1] hessian or None, const double[::1] weight or None,
    const double[::1] leaf_value, double penalty, double rate, double self_concordance,
    int64_t min_rows, int n_threads, double[::1] score_inout or None, double[::1] constant_out,
    double[::1] coefficient_out, double[::1] mean_out, double[::1] lower_out,
    double[::1] upper_out,
) -> int:
    """Fit the linear models of a tree's leaves.

    Rows without a finite value in one of the columns of a leaf's model do not count. A column
    that those before it determine gets no slope, and columns that too many rows miss are not part
    of the model: see `fit_model`.

    - ``address``, (n_features,): where the first float64 value of each column lies.
    - ``stride``, (n_features,): bytes between the values of a column; columns that no leaf uses are
      not read.
    - ``start_inout``, (n_leaves + 1,): where the columns of each leaf begin in ``feature_inout``.
    - ``feature_inout``, (n_used,): the columns of the leaves; those with slopes come first.
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
    - ``min_rows``: the minimum number of rows with finite values in all columns of a model.
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
    cdef Derivatives derivatives = Derivatives(&gradient[0], NULL, NULL)
    cdef Rates rates = Rates(penalty, rate, self_concordance, min_rows)
    cdef LeafModel models = LeafModel(
        &constant_out[0], &coefficient_out[0], &mean_out[0], &lower_out[0], &upper_out[0], 0.0)
    if hessian is not None:
        derivatives.hessian = &hessian[0]
    if weight is not None:
        derivatives.weight = &weight[0]
    if score_inout is not None:
        score = &score_inout[0]
    if rows.shape[0] < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    memory = np.empty((n_threads, max_fit_memory(start_inout, row_start)))
    order = np.arange(n_leaves)
    if n_threads > 1:
        # The leaves with the most work come first, so that threads end at about the same time.
        order = np.argsort(-np.diff(start_inout) * np.diff(row_start), kind="stable")
    cdef const int64_t[::1] by_work = order
    cdef LeafLoop loop = LeafLoop(
        &by_work[0], values, &start_inout[0], &feature_inout[0], &row_start[0], &rows[0],
        derivatives, rates, models, &leaf_value[0], &memory[0, 0], memory.shape[1], score,
        start_watch())
    with nogil:
        parallel_for(fit_body, &loop, n_leaves, 1, n_threads)
    end_watch(&loop.watch)
    return keep_slopes(n_leaves, &models, &start_inout[0], &feature_inout[0])


cdef int64_t keep_slopes(
    int64_t n_leaves, const LeafModel* models, int64_t* start_inout, int32_t* feature_inout,
) noexcept:
    """Move the coefficients that are not 0 to the front, with their features and means.

    - ``models``: of the first leaf; those of the others follow it.
    - ``start_inout``, (n_leaves + 1,): where the columns of each leaf begin; updated.
    - ``feature_inout``: the features of the columns.

    Returns where the last leaf's end.
    """
    cdef int64_t j, k, begin = start_inout[0], n = begin
    for k in range(n_leaves):
        for j in range(begin, start_inout[k + 1]):
            if models.coefficient[j] != 0.0:
                models.coefficient[n] = models.coefficient[j]
                models.mean[n] = models.mean[j]
                feature_inout[n] = feature_inout[j]
                n += 1
        begin = start_inout[k + 1]
        start_inout[k + 1] = n
    return n


# ------------------------------------------------------------------ values


cdef void add_leaf(
    const Values* values, const LeafModels* models, int64_t leaf, double fallback,
    const uint32_t* rows, int64_t n, double* memory, int64_t step, double* score_inout,
) noexcept nogil:
    """Add the values of one leaf to the scores of n rows, whose numbers are ``rows``.

    - ``fallback``: the value of rows that are not whole.
    - ``memory``: LINEAR_ROWS doubles for each of the leaf's columns, and as many for values.
    - ``step``: the numbers from the score of a row to that of the next.
    """
    cdef int64_t first = models.start[leaf]
    cdef int64_t p = models.start[leaf + 1] - first
    cdef double* block = memory + LINEAR_ROWS
    cdef int64_t begin, i, n_now
    for begin from 0 <= begin < n by LINEAR_ROWS:
        n_now = min(<int64_t> LINEAR_ROWS, n - begin)
        load_columns(
            values.address, values.stride, models.feature + first, p, rows + begin, n_now, block)
        model_values(
            block, n_now, p, models.coefficient + first, models.constant[leaf], False, memory)
        bound_values(memory, n_now, models.lower[leaf], models.upper[leaf], fallback)
        for i in range(n_now):
            score_inout[rows[begin + i] * step] += memory[i]


cdef void group_rows(
    const int32_t* leaf, const uint32_t* rows, int64_t n, int64_t n_leaves,
    uint32_t* grouped_out, int64_t* stop_out,
) noexcept nogil:
    """Put n rows in the order of their leaves, and find where those of each leaf end.

    - ``leaf``, ``rows``, (n,): the leaf and the number of each row.
    - ``grouped_out``, (n,): the numbers of the rows.
    - ``stop_out``, (n_leaves + 1,): where those of leaf k end; the last element is not used.
    """
    cdef int64_t i, k
    memset(stop_out, 0, (n_leaves + 1) * sizeof(int64_t))
    for i in range(n):
        stop_out[leaf[i] + 1] += 1
    for k in range(n_leaves):
        stop_out[k + 1] += stop_out[k]
    for i in range(n):
        k = leaf[i]
        grouped_out[stop_out[k]] = rows[i]
        stop_out[k] += 1


cdef int64_t add_memory(const LeafModels* models, int64_t n_leaves, int64_t n) noexcept nogil:
    """The doubles of memory that `add_model_values` needs for up to n rows of a tree."""
    cdef int64_t p = 0, k
    for k in range(n_leaves):
        p = max(p, models.start[k + 1] - models.start[k])
    return n_leaves + 1 + (p + 1) * LINEAR_ROWS + (n + 1) // 2


cdef void add_model_values(
    const Values* values, const LeafModels* models, int64_t n_leaves, const double* leaf_value,
    int64_t value_step, const int32_t* leaf, const uint32_t* rows, int64_t n, double* memory,
    int64_t step, double* score_inout,
) noexcept nogil:
    """Add the values of n rows in a tree of linear leaves to their scores.

    - ``models``: those of the tree's leaves.
    - ``leaf_value``: of each leaf, ``value_step`` doubles apart: of rows that are not whole.
    - ``leaf``, ``rows``, (n,): the leaf of each row, and its number among the values and scores.
    - ``memory``: `add_memory` doubles.
    - ``step``: the doubles from the score of a row to that of the next.

    Many rows are put in the order of their leaves, and each leaf is computed in vectors of rows.
    """
    cdef int64_t* stop = <int64_t*>memory
    cdef uint32_t* grouped = <uint32_t*>(memory + n_leaves + 1)
    cdef int64_t i, k, begin = 0
    if n < MIN_ROWS_PER_LEAF * n_leaves:
        for i in range(n):
            score_inout[rows[i] * step] += value_of(
                values, models, leaf[i], rows[i], leaf_value[leaf[i] * value_step])
        return
    group_rows(leaf, rows, n, n_leaves, grouped, stop)
    for k in range(n_leaves):
        add_leaf(
            values, models, k, leaf_value[k * value_step], grouped + begin, stop[k] - begin,
            memory + n_leaves + 1 + (n + 1) // 2, step, score_inout)
        begin = stop[k]


cdef struct AddLoop:
    # The arguments of `add`.
    Values values
    LeafModels models
    const double* leaf_value
    const int32_t* leaf       # of each row, one for each tree
    const int64_t* leaf_start
    int64_t n_trees
    int64_t first_score
    int64_t n_scores
    double* score
    double* memory            # of each thread, ``memory_size`` doubles
    int64_t memory_size
    Watch watch


cdef void add_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Add the values of some rows, tree by tree."""
    cdef AddLoop* loop = <AddLoop*>context
    cdef int32_t[BLOCK] leaf
    cdef uint32_t[BLOCK] rows
    cdef const int64_t* start
    cdef LeafModels models
    cdef int64_t i, tree
    if is_stopped(&loop.watch):
        return
    for i in range(end - first):
        rows[i] = <uint32_t>(first + i)
    for tree in range(loop.n_trees):
        start = loop.leaf_start + tree
        models = models_from(&loop.models, start[0])
        for i in range(end - first):
            leaf[i] = loop.leaf[(first + i) * loop.n_trees + tree]
        add_model_values(
            &loop.values, &models, start[1] - start[0], loop.leaf_value + start[0], 1, leaf,
            rows, end - first, loop.memory + thread * loop.memory_size, loop.n_scores,
            loop.score + (loop.first_score + tree) % loop.n_scores)


def add(
    const uint64_t[::1] address, const int64_t[::1] stride, const int32_t[:, ::1] leaf,
    const int64_t[::1] leaf_start, const int64_t[::1] start, const int32_t[::1] feature,
    const double[::1] coefficient, const double[::1] constant, const double[::1] lower,
    const double[::1] upper, const double[::1] leaf_value, int64_t first_score, int n_threads,
    double[:, ::1] score_inout,
):
    """Add the linear leaves of trees to the scores of rows.

    - ``address``, ``stride``, (n_features,): where the values of each column lie.
    - ``leaf``, (n, n_trees): the leaf of each row in each tree.
    - ``leaf_start``, (n_trees + 1,): where each tree's leaves begin among all leaves.
    - ``start``, (n_leaves + 1,): where the features and coefficients of each leaf begin.
    - ``constant``, (n_leaves,).
    - ``lower``, ``upper``, (n_leaves,): the bounds of the values of models; NaN: none.
    - ``leaf_value``, (n_leaves,): of rows without a finite value in one of the leaf's columns.
    - ``first_score``: the score of the first tree; the others follow one after the other.
    - ``score_inout``, (n, n_scores).
    """
    cdef int64_t n = leaf.shape[0], n_trees = leaf.shape[1], tree
    cdef double[:, ::1] memory
    cdef AddLoop loop
    cdef LeafModels models
    if n * n_trees == 0:
        return
    if n * n_trees < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    loop.values = Values(&address[0], &stride[0])
    loop.models = LeafModels(
        &start[0], &feature[0], &coefficient[0], &constant[0], &lower[0], &upper[0])
    loop.leaf_value = &leaf_value[0]
    loop.leaf, loop.leaf_start, loop.n_trees = &leaf[0, 0], &leaf_start[0], n_trees
    loop.score, loop.n_scores = &score_inout[0, 0], score_inout.shape[1]
    loop.first_score = first_score
    loop.memory_size = 0
    for tree in range(n_trees):
        models = models_from(&loop.models, leaf_start[tree])
        loop.memory_size = max(
            loop.memory_size, add_memory(&models, leaf_start[tree + 1] - leaf_start[tree], BLOCK))
    memory = np.empty((n_threads, loop.memory_size))
    loop.memory = &memory[0, 0]
    loop.watch = start_watch()
    with nogil:
        parallel_shares(add_body, &loop, n, BLOCK, n_threads)
    end_watch(&loop.watch)
