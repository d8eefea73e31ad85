from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from skgoss._engine.training.layout cimport Binned, Encoding, Histogram, Gradients, Sums
from skgoss._engine.training.workspace cimport Shared, Workspace

cdef extern from "histogram.h" nogil:
    ctypedef struct GradientStats:
        double gradient_max
        double hessian_max
        double hessian_min
        double zero             # NaN where a number is not finite

    enum:
        WIDE_PARTS              # integers of an accumulator of a wide round

    ctypedef struct Roots:
        int64_t gradient
        int64_t hessian
        int64_t n               # copies of the rows

    void prefetch(const void* address)


cdef enum:
    FOLD_ROOM = 256         # digits of a shared lane, at the end of the accumulators
    MAX_COUNT_BITS = 12     # of a packed round with hessians: blocks of 4095 rows
    MIN_COUNT_BITS = 8      # spilling smaller blocks costs more than a wide round


cdef int read_round(
    Shared* shared, Workspace* ws, Gradients* gradients, GradientStats* stats_out,
) noexcept nogil

cdef int encode_round(
    Workspace* ws, const Gradients* gradients, const GradientStats* stats, bint wide,
    uint64_t* records_out, Roots* roots_out,
) noexcept nogil

cdef bint is_fine(const Gradients* rows, const Roots* roots) noexcept nogil

cdef void accumulate(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, bint fresh, int64_t* sums, Histogram* out,
) noexcept nogil

cdef void add_places(
    const Encoding* encoding, int64_t first, int64_t last, int sign, const Histogram* part,
    Histogram* out,
) noexcept nogil

cdef void take_places(
    const Encoding* part_code, const Encoding* before, const Encoding* after, int64_t first,
    int64_t last, const Histogram* part, Histogram* out,
) noexcept nogil

cdef void move_rows(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int sign, Histogram* out, uint8_t* seen, int32_t* touched,
    int* n_touched,
) noexcept nogil

cdef Sums sum_records(
    const Encoding* encoding, const uint64_t* records, Py_ssize_t n, const int64_t* pairs,
) noexcept nogil
