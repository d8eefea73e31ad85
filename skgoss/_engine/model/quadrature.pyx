"""Gauss-Legendre points and weights on [0, 1].

A rule of n points integrates polynomials of degree 2 n - 1 exactly. Its points are the roots x of
the Legendre polynomial P of degree n, mapped from [-1, 1] to [0, 1]: s = (1 - x) / 2, with the
weight 1 / ((1 - x^2) P'(x)^2).
"""

from libc.math cimport M_PI
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc


cdef void legendre(int64_t n, double x, double* value_out, double* slope_out) noexcept nogil:
    """The Legendre polynomial of degree n > 0 and its derivative at x, -1 < x < 1.

    By the recurrence k P_k = (2 k - 1) x P_{k-1} - (k - 1) P_{k-2}.
    """
    cdef double before = 1.0
    cdef double value = x
    cdef int64_t k
    for k in range(2, n + 1):
        before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
    value_out[0] = value
    slope_out[0] = n * (before - x * value) / (1.0 - x * x)


cdef void set_point(
    const QuadratureRule* rule, int64_t capacity, int64_t point, double known, double unknown,
    double weight,
) noexcept nogil:
    """Write point number ``point`` of a rule: s, 1 - s and its weight.

    A pass has ``capacity`` places, of which the first ``rule.n`` have points.
    """
    cdef int64_t at = point // rule.n * capacity + point % rule.n
    rule.known[at] = known
    rule.unknown[at] = unknown
    rule.weight[at] = weight
    rule.minus_inverse[at] = -1.0 / unknown


cdef double rough_cosine(double x) noexcept nogil:
    """The cosine of x in [0, pi / 2], within 1e-6, the same on every machine: its Taylor series."""
    cdef double z = x * x
    return 1 - z / 2 * (1 - z / 12 * (1 - z / 30 * (1 - z / 56 * (1 - z / 90))))


cdef bint make_rule(int64_t n, int64_t capacity, QuadratureRule* rule_out) noexcept nogil:
    """Make a rule of at least n points; False if there is not enough memory.

    They are divided equally into passes of at most ``capacity`` points, so their number is rounded
    up to a multiple of the number of passes. Newton's method finds the roots x from the
    approximation cos(pi (i + 3/4) / (n + 1/2)); those at -x follow by symmetry.
    """
    cdef int64_t n_passes = max(1, (n + capacity - 1) // capacity)
    cdef int64_t size = n_passes * capacity
    cdef int64_t i
    cdef int _step
    cdef double x, value, slope, weight
    rule_out.n_passes = n_passes
    rule_out.n = <int> max(1, (n + n_passes - 1) // n_passes)
    rule_out.known = <double*> malloc(4 * size * sizeof(double))
    if rule_out.known == NULL:
        return False
    rule_out.unknown = rule_out.known + size
    rule_out.weight = rule_out.unknown + size
    rule_out.minus_inverse = rule_out.weight + size
    n = n_passes * rule_out.n
    for i in range(size):
        # Kernels also compute the places of a pass that have no point.
        rule_out.known[i] = rule_out.unknown[i] = 0.5
    for i in range((n + 1) // 2):
        x = rough_cosine(M_PI * (i + 0.75) / (n + 0.5)) if 2 * i + 1 < n else 0.0
        legendre(n, x, &value, &slope)
        # Newton's method: each step squares the error; four steps are enough for any n.
        for _step in range(5):
            x -= value / slope
            legendre(n, x, &value, &slope)
        weight = 1.0 / ((1.0 - x * x) * slope * slope)
        set_point(rule_out, capacity, i, (1.0 - x) / 2.0, (1.0 + x) / 2.0, weight)
        set_point(rule_out, capacity, n - 1 - i, (1.0 + x) / 2.0, (1.0 - x) / 2.0, weight)
    return True


cdef void free_rule(QuadratureRule* rule) noexcept nogil:
    """Free the arrays of a rule, which are one allocation."""
    free(rule.known)
