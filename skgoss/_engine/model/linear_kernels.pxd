"""Linear leaves, for the code that grows trees."""

from libc.math cimport NAN, isfinite, isnan
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


# Columns of float64: where each begins, and the bytes between its values.
cdef struct Values:
    const uint64_t* address
    const int64_t* stride


# The columns and the rows that a leaf's model is fitted on.
cdef struct LeafRows:
    int32_t* feature        # the fit moves those without a slope to the end
    int64_t p               # columns
    const uint32_t* rows
    int64_t n               # rows


# The derivatives of the loss of all rows of the data, by row.
cdef struct Derivatives:
    const float* gradient
    const float* hessian    # NULL: ones
    const double* weight    # multiplies both; NULL: ones


# The options of a leaf's fit.
cdef struct Rates:
    double penalty               # on the squares of the coefficients
    double rate                  # what coefficients and constants are multiplied by
    double self_concordance      # of the loss: limits the steps in `shortened`
    int64_t min_rows             # with values in all columns of a model


# The linear model of a leaf, whose values are bounded. The pointers are to the first of its values.
cdef struct LeafModel:
    double* constant
    double* coefficient
    double* mean            # of the columns
    double* lower
    double* upper
    double fallback         # the value of rows that miss a column


# The models of the leaves of one or more trees.
cdef struct LeafModels:
    const int64_t* start        # of each leaf: where its columns begin in the next two arrays
    const int32_t* feature
    const double* coefficient
    const double* constant      # of each leaf
    const double* lower         # of each leaf, the bounds of its values; NaN: none
    const double* upper


# The doubles of memory that fitting a leaf of n rows and p columns needs.
cdef int64_t fit_memory(int64_t p, int64_t n) noexcept nogil

# Fits one leaf, and adds the values of its rows to their scores unless these are NULL.
cdef void fit_or_keep_constant(
    const Values* values, const LeafRows* leaf, const Derivatives* derivatives,
    const Rates* rates, const LeafModel* model_out, double* memory, double* score,
) noexcept nogil

# Adds the values of ``n`` rows to their scores, which lie ``step`` apart. ``leaf`` has the leaf of
# each row, and ``rows`` have their numbers among the values and scores.
cdef void add_model_values(
    const Values* values, const LeafModels* models, int64_t n_leaves, const double* leaf_value,
    int64_t value_step, const int32_t* leaf, const uint32_t* rows, int64_t n, double* memory,
    int64_t step, double* score_inout,
) noexcept nogil

# The doubles of memory that `add_model_values` needs for up to ``n`` rows.
cdef int64_t add_memory(const LeafModels* models, int64_t n_leaves, int64_t n) noexcept nogil

# Moves the coefficients that are not 0 to the front, with their features and means, and updates
# where those of each leaf begin. The first leaf's begin at start[0]. Returns where the last end.
cdef int64_t keep_slopes(
    int64_t n_leaves, const LeafModel* models, int64_t* start_inout, int32_t* feature_inout,
) noexcept


cdef inline LeafModels models_from(const LeafModels* models, int64_t first_leaf) noexcept nogil:
    """The models of leaf ``first_leaf`` and of those after it; leaf 0 of the result is this one."""
    return LeafModels(
        models.start + first_leaf, models.feature, models.coefficient,
        models.constant + first_leaf, models.lower + first_leaf, models.upper + first_leaf)


cdef inline const double* address_of(
    const Values* values, int32_t feature, int64_t row,
) noexcept nogil:
    """Where the value of a row in a column lies."""
    return <const double*>(
        values.address[feature] + <uint64_t>(row * values.stride[feature]))


cdef inline double bounded(
    double value, double lower, double upper, double fallback,
) noexcept nogil:
    """The value of a leaf, clipped to its bounds, or the fallback if it is NaN.

    Bounds that are NaN have no effect.
    """
    value = lower if value < lower else upper if value > upper else value
    return fallback if isnan(value) else value


cdef inline double value_of(
    const Values* values, const LeafModels* models, int64_t leaf, int64_t row, double fallback,
) noexcept nogil:
    """The value of one row in its leaf; ``fallback`` if it misses one of the leaf's columns."""
    cdef double value = models.constant[leaf]
    cdef int64_t j
    for j in range(models.start[leaf], models.start[leaf + 1]):
        value += models.coefficient[j] * address_of(values, models.feature[j], row)[0]
    return bounded(
        value if isfinite(value) else NAN, models.lower[leaf], models.upper[leaf], fallback)
