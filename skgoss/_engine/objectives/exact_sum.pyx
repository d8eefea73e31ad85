"""Exact sums of doubles, which do not depend on the order of the terms."""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t

import numpy as np

cdef extern from "exact_sum.h" nogil:
    enum:
        EXACT_LIMBS
        EXACT_INFINITE
        EXACT_MINUS_INFINITE
        EXACT_NAN


def exact_sum(const double[::1] values, const double[::1] weight=None) -> NDArray[np.int64]:
    """The exact sum of values * weight: no product is rounded.

    So a whole weight k gives the same sum as k copies of the row. ``values``, ``weight``, (n,);
    None means 1. Returns EXACT_SIZE integers: see `rounded`. The sums of several processes are
    added element by element.
    """
    cdef:
        double[EXACT_BLOCK] term
        int64_t first, i, size, n = values.shape[0]
        int64_t[::1] sum_out
    total = np.zeros(EXACT_SIZE, dtype=np.int64)
    sum_out = total
    with nogil:
        for first from 0 <= first < n by EXACT_BLOCK:
            size = min(n - first, <int64_t>EXACT_BLOCK)
            for i in range(size):
                term[i] = values[first + i]
            add_products(
                term, NULL if weight is None else &weight[first], size, &sum_out[0])
    return total


def rounded(const int64_t[::1] total) -> float:
    """The double nearest to an exact sum.

    - ``total``, (EXACT_SIZE,): limbs, and counts of the terms that are not finite. The sum is
      2**-1074 times the sum of limb[i] * 2**(32 i).
    """
    cdef Py_ssize_t i
    if total[EXACT_NAN] or (total[EXACT_INFINITE] and total[EXACT_MINUS_INFINITE]):
        return NAN
    if total[EXACT_INFINITE] or total[EXACT_MINUS_INFINITE]:
        return INFINITY if total[EXACT_INFINITE] else -INFINITY
    whole = 0
    for i in range(EXACT_LIMBS):
        if total[i]:
            whole += <object>total[i] << <object>(32 * i)
    try:
        return whole / (1 << 1074)
    except OverflowError:
        return INFINITY if whole > 0 else -INFINITY


def weighted_sum(
    const double[::1] values, const double[::1] weight=None, collectives=None,
) -> float:
    """The sum of values * weight, rounded once.

    - ``values``, (n,).
    - ``weight``, (n,) or None: None means 1.
    - ``collectives``, `Collectives` or None: the sum is over the rows of all processes; None: over
      these rows.
    """
    total = exact_sum(values, weight)
    return rounded(total if collectives is None else collectives.all_reduce(total))
