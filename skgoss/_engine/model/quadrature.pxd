from libc.stdint cimport int64_t


# The points s of a Gauss-Legendre rule on [0, 1], in passes of up to `capacity` points each.
cdef struct QuadratureRule:
    int64_t n_passes
    int n                   # the number of points of a pass
    double* known           # s
    double* unknown         # 1 - s
    double* weight
    double* minus_inverse   # -1 / (1 - s)


# Makes a rule of at least n points, the same number in each pass; false if there is not enough
# memory.
cdef bint make_rule(int64_t n, int64_t capacity, QuadratureRule* rule_out) noexcept nogil

cdef void free_rule(QuadratureRule* rule) noexcept nogil
