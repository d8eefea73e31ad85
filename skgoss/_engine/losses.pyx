# cython: language_level=3
"""Gradients and hessians of the losses, and exact sums for their start scores."""

from cython.parallel cimport prange
from libc.math cimport isfinite
from libc.stdint cimport int64_t

from skgoss._engine.runtime cimport omp_get_thread_num

cdef extern from "losses.h" nogil:
    ctypedef void (*pointwise_loss)(
        const double*, const double*, double, double, int64_t, float*, float*
    ) noexcept nogil
    const pointwise_loss* POINTWISE
    const int simd_level
    void softmax_rows "softmax"(
        const double* score, const double* y, int64_t n_classes, int64_t stride,
        double factor, int64_t n, double* work, float* gradient_out, float* hessian_out
    ) noexcept
    void exponential_rows "exponentials"(
        const double* x, int64_t n, double* x_out
    ) noexcept

# The pointwise losses and the place of each in the table POINTWISE of losses.h.
LOSSES = {
    name: code
    for code, name in enumerate((
        "regression", "regression_l1", "huber", "quantile", "poisson", "gamma",
        "tweedie", "binary", "cross_entropy",
    ))
}

# Rows a block: scores, targets and results of one block fit the level 1 cache.
cdef enum:
    BLOCK = 1024
    # Doubles of work space a thread has for softmax (it must stay in the level 2 cache).
    WORK = 32768
    # Below this many rows (times classes) starting a thread team costs more than it saves.
    SERIAL = 20000


def simd_level_name() -> str:
    """The instruction set the kernels use: plain, avx2 or avx512."""
    return ("plain", "avx2", "avx512")[simd_level]


def pointwise(
    int loss, const double[::1] scores, const double[::1] y, double a, double b,
    int n_threads, float[::1] gradient_out, float[::1] hessian_out,
):
    """First and second derivative of a loss in the score, row by row.

    Parameters
    ----------
    loss : int
        A value of ``LOSSES``.
    scores, y : (n,) float64
    a, b : float
        The loss's parameters: see losses.h.
    n_threads : int
    gradient_out : (n,) float32
    hessian_out : (n,) float32 or None
        Not written, and may be None, if the hessian is 1.
    """
    cdef:
        int64_t n = scores.shape[0]
        int64_t n_blocks = (n + BLOCK - 1) // BLOCK
        int64_t block, start
        pointwise_loss rows = POINTWISE[loss]
        const double* score = &scores[0] if n else NULL
        const double* target = &y[0] if n else NULL
        float* gradient = &gradient_out[0] if n else NULL
        float* hessian = NULL
    if hessian_out is not None and n:
        hessian = &hessian_out[0]
    if n < SERIAL:
        n_threads = 1
    for block in prange(
        n_blocks, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        start = block * BLOCK
        rows(
            score + start, target + start, a, b, min(n - start, BLOCK),
            gradient + start, hessian + start if hessian != NULL else NULL,
        )


def softmax_rows_per_block(int n_classes) -> int:
    """Rows of a block of ``softmax``, which needs n_classes + 2 doubles for each."""
    return max(16, min(<int> BLOCK, <int> WORK // (n_classes + 2)))


def softmax(
    const double[:, ::1] scores, const double[::1] y, double factor,
    double[:, ::1] work, int n_threads,
    float[:, ::1] gradient_out, float[:, ::1] hessian_out,
):
    """Derivatives of the cross entropy of softmax(scores), class-major.

    Parameters
    ----------
    scores : (K, n) float64
    y : (n,) float64
        Class codes 0..K-1.
    factor : float
        Multiplies the hessian p (1 - p).
    work : (n_threads, (K + 2) * softmax_rows_per_block(K)) float64
    n_threads : int
    gradient_out, hessian_out : (K, n) float32
    """
    cdef:
        int64_t n_classes = scores.shape[0]
        int64_t n = scores.shape[1]
        int64_t size = work.shape[1] // (n_classes + 2)
        int64_t n_blocks = (n + size - 1) // size
        int64_t block, start
    if n * n_classes < SERIAL:
        n_threads = 1
    for block in prange(
        n_blocks, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        start = block * size
        softmax_rows(
            &scores[0, start], &y[start], n_classes, n, factor, min(n - start, size),
            &work[omp_get_thread_num(), 0], &gradient_out[0, start],
            &hessian_out[0, start],
        )


def exponential(const double[::1] x, double[::1] x_out):
    """exp(x) as the kernels compute it, x clipped to [-708, 708]."""
    if x.shape[0]:
        exponential_rows(&x[0], x.shape[0], &x_out[0])


def weighted_sum(const double[::1] values, const double[::1] weight=None) -> float:
    """The sum of values * weight as if computed in twice double's precision.

    A whole weight k then gives the very same sum as k copies of the row.

    Parameters
    ----------
    values : (n,) float64
    weight : (n,) float64 or None
        None means 1.

    Notes
    -----
    The compensated dot product of Ogita, Rump and Oishi, "Accurate sum and dot
    product", SIAM J. Sci. Comput. 26 (2005), algorithm 5.3.
    """
    cdef:
        int64_t n = values.shape[0]
        int64_t i
        double total = 0.0, rest = 0.0
        double product, sum_, part
        double v, v_high, w = 1.0, w_high
        bint weighted = weight is not None
    with nogil:
        for i in range(n):
            v = values[i]
            product = v
            if weighted:
                w = weight[i]
                product = v * w
                # Veltkamp's split into halves whose products are exact.
                v_high = v * 134217729.0
                v_high = v_high - (v_high - v)
                w_high = w * 134217729.0
                w_high = w_high - (w_high - w)
                rest += (
                    (v_high * w_high - product)
                    + v_high * (w - w_high) + (v - v_high) * w_high
                ) + (v - v_high) * (w - w_high)
            sum_ = total + product
            part = sum_ - total
            rest += (total - (sum_ - part)) + (product - part)
            total = sum_
    # Beyond 1e300 the split overflows.
    return total + rest if isfinite(rest) else total
