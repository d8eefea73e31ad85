from libc.stdint cimport int64_t, uint32_t, uint64_t

from skgoss._engine.training.layout cimport Gradients, Sums
from skgoss._engine.training.workspace cimport Shared, Workspace

cdef extern from "encoding.h" nogil:
    ctypedef struct GradientStats:
        double gradient_max
        double hessian_max
        double hessian_min
        double nan_check        # NaN if a number is not finite

    ctypedef struct Gathered:
        float* gradient
        float* hessian
        double* weight
        uint32_t* frequency

    ctypedef struct Roots:
        int64_t gradient
        int64_t hessian
        int64_t n               # of the rows, times frequency weights


cdef enum:
    MAX_COUNT_BITS = 12     # of a packed round with hessians: 4095 rows
    MIN_COUNT_BITS = 8      # with fewer bits, spilling would cost more than a wide round


cdef struct RootRows:
    # The rows of a tree's root in a round.
    Workspace* ws
    Gradients gradients       # of the sampled rows, one after the other
    Gathered gathered         # memory for these
    GradientStats stats
    uint64_t* records
    Roots roots
    Sums sums                 # of the integers
    bint is_precise           # whether the format is final: see the function `is_precise`


cdef int gather_stats(Shared* shared, RootRows* roots, int n_roots) noexcept nogil

cdef int encode_rounds(RootRows* roots, int n_roots, bint wide) noexcept nogil

cdef void set_leaf_scales(RootRows* root) noexcept nogil

cdef bint is_precise(const Gradients* rows, const Roots* roots) noexcept nogil
