"""Losses: gradients and hessians by scores, and sums of their values for metrics.

Sums are exact, so they do not depend on the number of threads.
"""

from libc.stdint cimport int64_t

from skgoss._engine.objectives.exact_sum cimport EXACT_BLOCK, EXACT_SIZE, add_exact
from skgoss._engine.objectives.link_kernels cimport BLOCK, numbers_of, softmax_block
from skgoss._engine.threads cimport run_shares

import numpy as np

cdef extern from "loss_kernels.h" nogil:
    const pointwise_loss* LOSS_KERNELS
    const char* const* LOSS_NAMES
    ctypedef void (*loss_values)(
        const double*, const double*, double, int64_t, double*
    ) noexcept nogil
    const loss_values* VALUE_KERNELS
    const char* const* VALUE_NAMES
    void share_losses(const double* own, int64_t n, double* loss_out) noexcept
    void class_errors(
        const double* score, int64_t stride, int64_t n_classes, const double* own,
        double top_k, int64_t n, double* loss_out
    ) noexcept
    void softmax_rows "softmax"(
        const double* score, const double* y, int64_t n_classes, int64_t stride,
        double factor, int64_t n, double* work, float* gradient_out, float* hessian_out
    ) noexcept
    void intensity_rows "intensity"(
        const double* score, const double* y, const double* weight, int64_t n,
        float* gradient_out, float* hessian_out
    ) noexcept

cdef extern from "distribution_kernels.h" nogil:
    const distribution_derivatives* DERIVATIVE_KERNELS
    ctypedef void (*distribution_likelihood)(
        const double*, const double*, int64_t, int64_t, double*
    ) noexcept nogil
    const distribution_likelihood* LIKELIHOOD_KERNELS
    const char* const* DISTRIBUTION_NAMES


# The losses of objectives, those of metrics, and the distributions.
LOSSES: dict[str, int] = numbers_of(LOSS_NAMES)
VALUES: dict[str, int] = numbers_of(VALUE_NAMES)
DISTRIBUTIONS: dict[str, int] = numbers_of(DISTRIBUTION_NAMES)

cdef enum:
    # Derivatives of fewer rows are computed before a thread that is woken has come.
    MIN_ROWS_FOR_TEAM = 8000
    # The same for loops that sum values.
    MIN_SUMMED_FOR_TEAM = 500000


cdef void pointwise_block(
    void* context, Py_ssize_t start, Py_ssize_t end, int thread,
) noexcept nogil:
    cdef Derivatives* of = <Derivatives*>context
    of.pointwise(
        of.score + start, of.y + start, of.a, of.b, end - start, of.gradient + start,
        of.hessian + start if of.hessian != NULL else NULL)


cdef void intensity_block(
    void* context, Py_ssize_t start, Py_ssize_t end, int thread,
) noexcept nogil:
    cdef Derivatives* of = <Derivatives*>context
    intensity_rows(
        of.score + start, of.y + start, of.weight + start, end - start, of.gradient + start,
        of.hessian + start)


cdef void softmax_rows_of_block(
    void* context, Py_ssize_t start, Py_ssize_t end, int thread,
) noexcept nogil:
    cdef Derivatives* of = <Derivatives*>context
    softmax_rows(
        of.score + start, of.y + start, of.n_scores, of.n, of.a, end - start,
        of.work + thread * of.work_size, of.gradient + start, of.hessian + start)


cdef class Loss:
    """A loss whose derivatives kernels compute, also between the rounds of a fit.

    It is called with the scores, where gradients and hessians go, all (K, n), and the number of
    threads. Hessians may be None where they are always 1: then they are not written.
    """

    def __call__(
        self, const double[:, ::1] scores, float[:, ::1] gradient_out,
        float[:, ::1] hessian_out or None, int n_threads,
    ):
        self.derive(scores, gradient_out, hessian_out, n_threads)

    cdef int derive(
        self, const double[:, ::1] scores, float[:, ::1] gradient_out,
        float[:, ::1] hessian_out, int n_threads,
    ) except -1:
        cdef Derivatives of
        of.n_scores, of.n = scores.shape[0], scores.shape[1]
        if of.n == 0:
            return 0
        if of.n * of.n_scores < MIN_ROWS_FOR_TEAM:
            n_threads = 1
        of.score, of.gradient = &scores[0, 0], &gradient_out[0, 0]
        of.hessian = &hessian_out[0, 0] if hessian_out is not None else NULL
        of.y = &self.y[0]
        return self._derive(&of, n_threads)

    cdef int _derive(self, Derivatives* of, int n_threads) except -1:
        raise NotImplementedError


cdef class Pointwise(Loss):
    """A loss of single scores, which the scores have with different parameters.

    - ``name``: of ``LOSSES``.
    - ``y``, (n,).
    - ``parameters``: two for each score: see loss_kernels.h.
    """

    cdef pointwise_loss rows
    cdef double[:, ::1] parameters
    cdef object name

    def __init__(self, name: str, const double[::1] y, parameters: Sequence[tuple[float, float]]):
        self.name, self.y, self.rows = name, y, LOSS_KERNELS[<int>LOSSES[name]]
        self.parameters = np.array(parameters, dtype=np.float64)

    def __reduce__(self):
        return Pointwise, (self.name, np.asarray(self.y), np.asarray(self.parameters))

    cdef int _derive(self, Derivatives* of, int n_threads) except -1:
        cdef int k
        of.pointwise = self.rows
        for k in range(of.n_scores):
            of.a, of.b = self.parameters[k, 0], self.parameters[k, 1]
            run_shares(pointwise_block, of, of.n, BLOCK, n_threads, of.n)
            of.score += of.n
            of.gradient += of.n
            of.hessian = of.hessian + of.n if of.hessian != NULL else NULL
        return 0


cdef class Intensity(Loss):
    """The cross entropy of ``y`` and 1 - exp(-weight log(1 + exp(score))), both (n,)."""

    cdef const double[::1] weight

    def __init__(self, const double[::1] y, const double[::1] weight):
        self.y, self.weight = y, weight

    def __reduce__(self):
        return Intensity, (np.asarray(self.y), np.asarray(self.weight))

    cdef int _derive(self, Derivatives* of, int n_threads) except -1:
        of.weight = &self.weight[0]
        run_shares(intensity_block, of, of.n, BLOCK, n_threads, of.n)
        return 0


cdef class Softmax(Loss):
    """The cross entropy of classes that share one softmax; hessians are K / (K - 1) p (1 - p).

    ``y``, (n,): the classes, 0 to K - 1.
    """

    cdef double[:, ::1] work  # of each thread: K + 2 doubles for each row of a block

    def __init__(self, const double[::1] y):
        self.y = y

    def __reduce__(self):
        return Softmax, (np.asarray(self.y),)

    cdef int _derive(self, Derivatives* of, int n_threads) except -1:
        cdef int64_t n_rows = softmax_block(of.n_scores)
        of.work_size = (of.n_scores + 2) * n_rows
        if self.work is None or self.work.shape[0] < n_threads:
            self.work = np.empty((n_threads, of.work_size))
        of.work, of.a = &self.work[0, 0], of.n_scores / max(of.n_scores - 1.0, 1.0)
        run_shares(
            softmax_rows_of_block, of, of.n, n_rows, n_threads, of.n * of.n_scores)
        return 0


cdef void distribution_block(
    void* context, Py_ssize_t start, Py_ssize_t end, int thread,
) noexcept nogil:
    cdef Derivatives* of = <Derivatives*>context
    of.distribution(
        of.score + start, of.y + start, of.n, end - start, of.gradient + start,
        of.hessian + start)


def distribution(
    int kind, const double[:, ::1] scores, const double[::1] y, int n_threads,
    float[:, ::1] gradient_out, float[:, ::1] hessian_out,
):
    """Derivatives of the negative log-likelihood, and the Fisher information, of each score.

    ``kind`` is a value of ``DISTRIBUTIONS``. All arrays but ``y`` have the shape (K, n). If
    targets are bounds, ``y`` has the n upper ones after the lower ones.
    """
    cdef int64_t n = scores.shape[1]
    cdef Derivatives of
    if n == 0:
        return
    of.distribution = DERIVATIVE_KERNELS[kind]
    of.score, of.y, of.n = &scores[0, 0], &y[0], n
    of.gradient, of.hessian = &gradient_out[0, 0], &hessian_out[0, 0]
    if n < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    run_shares(distribution_block, &of, n, BLOCK, n_threads, n)


def likelihoods(
    int kind, const double[::1] y, const double[:, ::1] scores, double[::1] losses_out,
):
    """The negative log-likelihood of each row: see `distribution`."""
    cdef int64_t n = scores.shape[1]
    if n:
        LIKELIHOOD_KERNELS[kind](&scores[0, 0], &y[0], n, n, &losses_out[0])


# ------------------------------------------------------------------------ sums of values


cdef void class_losses(
    const double* y, const double* score, int64_t stride, int64_t n_classes, int top_k,
    int64_t n, double* own, double* loss_out,
) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        own[i] = score[<int64_t>y[i] * stride + i]
    if top_k == 0:
        share_losses(own, n, loss_out)
    else:
        class_errors(score, stride, n_classes, own, top_k, n, loss_out)


cdef struct LossSums:
    loss_values rows          # or a distribution; without either: losses of classes
    distribution_likelihood by_scores
    const double* y
    const double* prediction
    const double* weight
    double parameter
    int64_t n_classes
    int64_t n
    double* losses            # of each thread, twice EXACT_BLOCK
    int64_t* sums             # of each thread, EXACT_SIZE


cdef void sum_block(void* context, Py_ssize_t start, Py_ssize_t end, int thread) noexcept nogil:
    cdef:
        LossSums* of = <LossSums*>context
        double* loss = of.losses + thread * 2 * EXACT_BLOCK
        const double* y = of.y + start
        const double* prediction = of.prediction + start
        int64_t size = end - start
    if of.rows != NULL:
        of.rows(y, prediction, of.parameter, size, loss)
    elif of.by_scores != NULL:
        of.by_scores(prediction, y, of.n, size, loss)
    else:
        class_losses(
            y, prediction, of.n, of.n_classes, <int>of.parameter, size, loss + EXACT_BLOCK,
            loss)
    add_exact(
        loss, of.weight + start if of.weight != NULL else NULL, size,
        of.sums + thread * EXACT_SIZE)


cdef sum_losses(
    loss_values rows, distribution_likelihood by_scores, const double[::1] y,
    const double[:, ::1] prediction, const double[::1] weight, double parameter,
    int n_threads,
):
    """The sum of the losses times weights; without functions of the losses of classes."""
    cdef:
        int64_t n_classes = prediction.shape[0]
        int64_t n = prediction.shape[1]
        int64_t[:, ::1] sums
        double[:, ::1] losses
        LossSums of
    if n * n_classes < MIN_SUMMED_FOR_TEAM:
        n_threads = 1
    of_threads = np.zeros((n_threads, EXACT_SIZE), dtype=np.int64)
    sums, losses = of_threads, np.empty((n_threads, 2 * EXACT_BLOCK))
    if n > 0:
        of = LossSums(
            rows, by_scores, &y[0], &prediction[0, 0], NULL, parameter, n_classes, n,
            &losses[0, 0], &sums[0, 0])
        if weight is not None:
            of.weight = &weight[0]
        run_shares(sum_block, &of, n, EXACT_BLOCK, n_threads, n * n_classes)
    return of_threads[0] if n_threads == 1 else of_threads.sum(axis=0)


def sum_values(
    int kind, const double[::1] y, prediction: NDArray[np.float64],
    const double[::1] weight or None, double parameter, int n_threads,
) -> NDArray[np.int64]:
    """The weighted sum of a loss over rows.

    - ``kind``: a value of ``VALUES``.
    - ``y``, ``prediction``, (n,).
    - ``weight``, (n,) or None: ones.
    - ``parameter``: of 'quantile' its level, of 'huber' its width, of 'fair' its c, of 'tweedie'
      the power of the variance, above 1.

    Returns (EXACT_SIZE,) int64: the exact sum of the losses times weights, each rounded: see
    `exact_sum.rounded`. Sums are added element by element.
    """
    return sum_losses(
        VALUE_KERNELS[kind], NULL, y, prediction[None], weight, parameter, n_threads)


def sum_by_class(
    const double[::1] y, const double[:, ::1] prediction, const double[::1] weight or None,
    int top_k, int n_threads,
) -> NDArray[np.int64]:
    """The same of the log losses, or of the errors, of class probabilities.

    ``y`` has the number of the class of each row, and ``prediction`` a row for each class.
    ``top_k``: 0: log loss; else a row is an error whose class has no place of its own among
    so many best.
    """
    return sum_losses(NULL, NULL, y, prediction, weight, top_k, n_threads)


def sum_by_distribution(
    int kind, const double[::1] y, const double[:, ::1] scores, const double[::1] weight or None,
    int n_threads,
) -> NDArray[np.int64]:
    """The same of the negative log-likelihoods of a distribution with these scores."""
    return sum_losses(NULL, LIKELIHOOD_KERNELS[kind], y, scores, weight, 0.0, n_threads)
