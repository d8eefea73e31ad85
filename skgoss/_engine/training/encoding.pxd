from libc.stdint cimport int64_t, uint64_t

from skgoss._engine.training.layout cimport Gradients, Sums
from skgoss._engine.training.workspace cimport Shared, Workspace

cdef extern from "encoding.h" nogil:
    ctypedef struct GradientStats:
        double gradient_max
        double hessian_max
        double hessian_min
        double zero             # NaN where a number is not finite

    ctypedef struct Roots:
        int64_t gradient
        int64_t hessian
        int64_t n               # copies of the rows


cdef enum:
    MAX_COUNT_BITS = 12     # of a packed round with hessians: room for 4095 rows
    MIN_COUNT_BITS = 8      # spilling more often costs more than a wide round


cdef int read_round(
    Shared* shared, Workspace* ws, Gradients* gradients, GradientStats* stats_out,
) noexcept nogil

cdef int encode_round(
    Workspace* ws, const Gradients* gradients, const GradientStats* stats, bint wide,
    uint64_t* records_out, Sums* sums_out, Roots* roots_out,
) noexcept nogil

cdef void set_fine_scales(
    Workspace* ws, const Gradients* gradients, const GradientStats* stats,
) noexcept nogil

cdef bint is_fine(const Gradients* rows, const Roots* roots) noexcept nogil
