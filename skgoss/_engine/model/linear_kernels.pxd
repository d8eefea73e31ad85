"""Linear leaves, for the code that grows trees."""

from libc.math cimport NAN, isfinite, isnan
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


# Columns of float64: where each begins, and the bytes between its values.
cdef struct Values:
    const uint64_t* address
    const int64_t* stride


# What a leaf's model is fitted from: its columns and its rows.
cdef struct LeafRows:
    int32_t* feature        # the fit moves those without a slope to the end
    int64_t p
    const uint32_t* rows
    int64_t n


cdef struct Derivatives:
    const float* gradient
    const float* hessian    # NULL: ones
    const double* weight    # multiplies both; NULL: ones


cdef struct Rates:
    double penalty
    double rate
    double self_concordance      # of the loss: limits the steps in `shortened`
    int64_t min_rows             # that have values in all columns of a line


# The model of a leaf: a line, between two values.
cdef struct Line:
    double* constant
    double* coefficient
    double* mean            # of the columns
    double* lower
    double* upper
    double otherwise        # the value of rows that miss a column


# The linear leaves of one or more trees.
cdef struct Lines:
    const int64_t* start
    const int32_t* feature
    const double* coefficient
    const double* constant
    const double* lower
    const double* upper


# The doubles of memory that a leaf of n rows and p columns needs.
cdef int64_t line_memory(int64_t p, int64_t n) noexcept nogil

# Fits one leaf, and adds the values of its rows to their scores unless these are NULL.
cdef void fit_or_keep_constant(
    const Values* values, const LeafRows* leaf, const Derivatives* derivatives,
    const Rates* rates, const Line* line_out, double* memory, double* score,
) noexcept nogil

# Adds the values of ``n`` rows to their scores, which lie ``step`` apart. ``leaf`` has the leaf of
# each row, and ``rows`` have their numbers among the values and scores.
cdef void add_line_values(
    const Values* values, const Lines* lines, int64_t n_leaves, const double* leaf_value,
    int64_t value_step, const int32_t* leaf, const uint32_t* rows, int64_t n, double* memory,
    int64_t step, double* score_inout,
) noexcept nogil

# The doubles of memory that this needs for up to ``n`` rows.
cdef int64_t lines_memory(const Lines* lines, int64_t n_leaves, int64_t n) noexcept nogil

# Moves the coefficients that are not 0 to the front; their number. Those of the first leaf
# begin at start[0], and stay where they are.
cdef int64_t keep_slopes(
    int64_t n_leaves, const Line* lines, int64_t* start_inout, int32_t* feature_inout,
) noexcept


cdef inline const double* address_of(
    const Values* values, int32_t feature, int64_t row,
) noexcept nogil:
    return <const double*>(
        values.address[feature] + <uint64_t>(row * values.stride[feature]))


cdef inline double bounded(
    double value, double lower, double upper, double otherwise,
) noexcept nogil:
    """What a leaf says where its line has a value, or else NaN; bounds of NaN are none."""
    value = lower if value < lower else upper if value > upper else value
    return otherwise if isnan(value) else value


cdef inline double value_of(
    const Values* values, const Lines* lines, int64_t leaf, int64_t row, double otherwise,
) noexcept nogil:
    """The value of one row in its leaf."""
    cdef double value = lines.constant[leaf]
    cdef int64_t j
    for j in range(lines.start[leaf], lines.start[leaf + 1]):
        value += lines.coefficient[j] * address_of(values, lines.feature[j], row)[0]
    return bounded(
        value if isfinite(value) else NAN, lines.lower[leaf], lines.upper[leaf], otherwise)
