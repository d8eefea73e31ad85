from libc.stdint cimport int64_t


# The points of a Gauss-Legendre rule on [0, 1], in passes of SHAP_POINTS points each.
cdef struct QuadratureRule:
    int64_t n_passes
    int n                   # points of a pass
    double* known           # s
    double* unknown         # 1 - s
    double* weight
    double* away            # -1 / (1 - s)


# At least n points, the same number in each pass; false when memory ran out.
cdef bint make_rule(int64_t n, QuadratureRule* rule_out) noexcept nogil
