# cython: language_level=3
"""Metrics: losses of predictions summed over rows, and areas under curves of ranks.

Sums are made in blocks of rows that do not depend on threads, and so are the results.
"""

from cython.parallel cimport prange
from libc.math cimport exp, fabs, log, log1p, pow
from libc.stdint cimport int64_t

import numpy as np

cdef enum:
    BLOCK = 4096
    # Fewer rows are summed without a team of threads.
    SERIAL = 32768

cdef enum Loss:
    L2
    L1
    QUANTILE
    MAPE
    HUBER
    FAIR
    POISSON
    TWEEDIE
    GAMMA
    GAMMA_DEVIANCE
    BINARY_LOGLOSS
    BINARY_ERROR
    CROSS_ENTROPY
    ENTROPY

LOSSES = {
    "l2": L2, "l1": L1, "quantile": QUANTILE, "mape": MAPE, "huber": HUBER, "fair": FAIR,
    "poisson": POISSON, "tweedie": TWEEDIE, "gamma": GAMMA, "gamma_deviance": GAMMA_DEVIANCE,
    "binary_logloss": BINARY_LOGLOSS, "binary_error": BINARY_ERROR,
    "cross_entropy": CROSS_ENTROPY, "entropy": ENTROPY,
}

# LightGBM's limits: what logarithms are taken of is no smaller.
cdef double TINY = 1e-15
cdef double TINY_SHARE = 1e-12
cdef double TINY_MEAN = 1e-10


cdef inline double share_loss(double y, double p) noexcept nogil:
    return -(y * log(max(p, TINY_SHARE)) + (1 - y) * log(max(1 - p, TINY_SHARE)))


cdef inline double huber(double x, double a) noexcept nogil:
    return 0.5 * x * x if x <= a else a * (x - 0.5 * a)


cdef double loss_of(Loss kind, double y, double p, double a) noexcept nogil:
    """The loss of one prediction; ``a`` is the parameter of the kind."""
    cdef double x = y - p
    if kind == L2:
        return x * x
    if kind == L1:
        return fabs(x)
    if kind == QUANTILE:
        return a * x if x >= 0 else (a - 1) * x
    if kind == MAPE:
        return fabs(x) / max(1.0, fabs(y))
    if kind == HUBER:
        return huber(fabs(x), a)
    if kind == FAIR:
        return a * fabs(x) - a * a * log1p(fabs(x) / a)
    if kind == POISSON:
        return p - y * log(max(p, TINY_MEAN)) if p > TINY_MEAN else (
            TINY_MEAN - y * log(TINY_MEAN))
    if kind == TWEEDIE:
        p = max(p, TINY_MEAN)
        return pow(p, 2 - a) / (2 - a) - y * (log(p) if a == 1 else pow(p, 1 - a) / (1 - a))
    if kind == GAMMA:
        return y / p + log(p)
    if kind == GAMMA_DEVIANCE:
        x = y / (p + 1e-9)
        return 2 * (x - log(x) - 1)
    if kind == BINARY_LOGLOSS:
        return -log(max(p if y > 0 else 1 - p, TINY))
    if kind == BINARY_ERROR:
        return (p > 0.5) != (y > 0)
    if kind == CROSS_ENTROPY:
        return share_loss(y, p)
    return share_loss(y, y) if 0 < y < 1 else 0.0


def pointwise(
    int kind, const double[::1] y, const double[::1] prediction, const double[::1] weight,
    double parameter, int n_threads,
):
    """The weighted sum of a loss over rows.

    Parameters
    ----------
    kind : int
        One of ``LOSSES``.
    y, prediction : (n,) float64
    weight : (n,) float64 or None
        None: ones.
    parameter : float
        Of 'quantile' its level, of 'huber' its width, of 'fair' its c, of 'tweedie' the
        power of the variance.
    n_threads : int

    Returns
    -------
    float
    """
    cdef Py_ssize_t n = y.shape[0]
    cdef Py_ssize_t n_blocks = (n + BLOCK - 1) // BLOCK
    cdef double[::1] sums = np.zeros(n_blocks)
    cdef Loss loss = <Loss>kind
    cdef bint is_weighted = weight is not None
    cdef Py_ssize_t block
    if n < SERIAL:
        n_threads = 1
    for block in prange(
        n_blocks, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        sums[block] = sum_block(
            loss, &y[block * BLOCK], &prediction[block * BLOCK],
            &weight[block * BLOCK] if is_weighted else NULL,
            min(<Py_ssize_t>BLOCK, n - block * BLOCK), parameter)
    return total(sums)


cdef double sum_block(
    Loss kind, const double* y, const double* prediction, const double* weight, Py_ssize_t n,
    double parameter,
) noexcept nogil:
    cdef double found = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        found += loss_of(kind, y[i], prediction[i], parameter) * (
            weight[i] if weight != NULL else 1.0)
    return found


cdef double total(const double[::1] sums) noexcept:
    cdef double found = 0.0
    cdef Py_ssize_t i
    for i in range(sums.shape[0]):
        found += sums[i]
    return found


def lambda_entropy(
    const double[::1] y, const double[::1] prediction, const double[::1] weight,
):
    """The sum of LightGBM's ``cross_entropy_lambda``, whose weights act inside the loss.

    Parameters
    ----------
    y : (n,) float64
    prediction : (n,) float64
        log(1 + exp(score)).
    weight : (n,) float64 or None

    Returns
    -------
    float
    """
    cdef double found = 0.0, w
    cdef Py_ssize_t i
    with nogil:
        for i in range(y.shape[0]):
            w = weight[i] if weight is not None else 1.0
            found += share_loss(y[i], 1 - exp(-w * prediction[i]))
    return found


cdef inline double class_loss(
    const double* score, Py_ssize_t stride, Py_ssize_t n_classes, Py_ssize_t own, int top_k,
) noexcept nogil:
    """The log loss of a row, or for ``top_k > 0`` whether its class is not among the best."""
    cdef double value = score[own * stride]
    cdef Py_ssize_t k, n_better = 0
    if top_k == 0:
        return -log(max(value, TINY))
    for k in range(n_classes):
        n_better += score[k * stride] >= value
    return n_better > top_k


def by_class(
    const double[::1] y, const double[:, ::1] prediction, const double[::1] weight, int top_k,
    int n_threads,
):
    """The weighted sum of the log losses, or of the errors, of class probabilities.

    Parameters
    ----------
    y : (n,) float64
        The number of the class of each row.
    prediction : (n_classes, n) float64
    weight : (n,) float64 or None
        None: ones.
    top_k : int
        0: log loss; else a row is an error whose class has no place of its own among so
        many best.
    n_threads : int

    Returns
    -------
    float
    """
    cdef Py_ssize_t n = y.shape[0]
    cdef Py_ssize_t n_classes = prediction.shape[0]
    cdef Py_ssize_t n_blocks = (n + BLOCK - 1) // BLOCK
    cdef double[::1] sums = np.zeros(n_blocks)
    cdef Py_ssize_t block, i
    cdef double found
    if n < SERIAL:
        n_threads = 1
    for block in prange(
        n_blocks, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        found = 0.0
        for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            found = found + class_loss(
                &prediction[0, i], n, n_classes, <Py_ssize_t>y[i], top_k) * (
                    weight[i] if weight is not None else 1.0)
        sums[block] = found
    return total(sums)


def auc(
    const double[::1] y, const double[::1] score, const double[::1] weight,
    const int64_t[::1] order,
):
    """The area under the ROC curve.

    Parameters
    ----------
    y : (n,) float64
        Rows above 0 are positive.
    score : (n,) float64
    weight : (n,) float64 or None
        None: ones.
    order : (n,) int64
        The rows by rising score.

    Returns
    -------
    float
        1 if all rows are of one class; pairs of equal scores count one half.
    """
    cdef double n_below = 0.0, n_positive = 0.0, area = 0.0, positive, negative, w
    cdef Py_ssize_t i = 0, n = y.shape[0]
    cdef double value
    with nogil:
        while i < n:
            value = score[order[i]]
            positive = 0.0
            negative = 0.0
            while i < n and score[order[i]] == value:
                w = weight[order[i]] if weight is not None else 1.0
                if y[order[i]] > 0:
                    positive += w
                else:
                    negative += w
                i += 1
            area += positive * (n_below + 0.5 * negative)
            n_below += negative
            n_positive += positive
    return area / (n_below * n_positive) if n_below > 0 and n_positive > 0 else 1.0


def average_precision(
    const double[::1] y, const double[::1] score, const double[::1] weight,
    const int64_t[::1] order,
):
    """The mean of the precisions at each threshold, weighted by the gain in recall.

    Parameters
    ----------
    y, score, weight, order
        As for `auc`.

    Returns
    -------
    float
        1 if all rows are of one class.
    """
    cdef double found = 0.0, n_above = 0.0, n_seen = 0.0, positive, w
    cdef Py_ssize_t i = y.shape[0] - 1
    cdef double value
    with nogil:
        while i >= 0:
            value = score[order[i]]
            positive = 0.0
            while i >= 0 and score[order[i]] == value:
                w = weight[order[i]] if weight is not None else 1.0
                n_seen += w
                if y[order[i]] > 0:
                    positive += w
                i -= 1
            n_above += positive
            if n_seen > 0:
                found += positive * n_above / n_seen
    return found / n_above if 0 < n_above < n_seen else 1.0
