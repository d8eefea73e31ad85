# cython: language_level=3
"""Gradients and hessians of the losses."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from skgoss._engine.runtime cimport omp_get_thread_num

cdef extern from "loss_kernels.h" nogil:
    ctypedef void (*pointwise_loss)(
        const double*, const double*, double, double, int64_t, float*, float*
    ) noexcept nogil
    const pointwise_loss* POINTWISE
    void softmax_rows "softmax"(
        const double* score, const double* y, int64_t n_classes, int64_t stride,
        double factor, int64_t n, double* work, float* gradient_out, float* hessian_out
    ) noexcept
    void intensity_rows "intensity"(
        const double* score, const double* y, const double* weight, int64_t n,
        float* gradient_out, float* hessian_out
    ) noexcept

# The pointwise losses and the place of each in the table POINTWISE of losses.h.
LOSSES = {
    name: code
    for code, name in enumerate((
        "regression", "regression_l1", "huber", "quantile", "mape", "fair", "poisson",
        "gamma", "tweedie", "binary", "cross_entropy",
    ))
}

# Rows a block: scores, targets and results of one block fit the level 1 cache.
cdef enum:
    BLOCK = 1024
    # Doubles a block of softmax works on (they must stay in the level 2 cache).
    WORK = 32768
    # Below this many rows (times classes) starting a thread team costs more than it saves.
    MIN_ROWS_FOR_TEAM = 20000


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
    if n < MIN_ROWS_FOR_TEAM:
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


def cross_entropy_lambda(
    const double[::1] scores, const double[::1] y, const double[::1] weight,
    int n_threads, float[::1] gradient_out, float[::1] hessian_out,
):
    """Derivatives of the cross entropy of y and 1 - exp(-weight log(1 + exp(score))).

    Parameters
    ----------
    scores, y, weight : (n,) float64
    n_threads : int
    gradient_out, hessian_out : (n,) float32
    """
    cdef:
        int64_t n = scores.shape[0]
        int64_t n_blocks = (n + BLOCK - 1) // BLOCK
        int64_t block, start
    if n < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    for block in prange(
        n_blocks, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_threads > 1,
    ):
        start = block * BLOCK
        intensity_rows(
            &scores[start], &y[start], &weight[start], min(n - start, BLOCK),
            &gradient_out[start], &hessian_out[start],
        )


cdef int64_t _softmax_block(int64_t n_classes) noexcept nogil:
    return max(<int64_t> 16, min(<int64_t> BLOCK, <int64_t> WORK // (n_classes + 2)))


def softmax_rows_per_block(int n_classes) -> int:
    """Rows of a block of ``softmax``, which needs n_classes + 2 doubles for each."""
    return _softmax_block(n_classes)


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
    if n * n_classes < MIN_ROWS_FOR_TEAM:
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
