"""Losses: gradients and hessians for objectives, and sums of losses for metrics.

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
    void log_losses(const double* correct, int64_t n, double* loss_out) noexcept
    void class_errors(
        const double* score, int64_t stride, int64_t n_classes, const double* correct,
        double top_k, int64_t n, double* loss_out
    ) noexcept
    void softmax_rows "softmax"(
        const double* score, const double* y, int64_t is_soft, int64_t n_classes,
        int64_t stride, double factor, int64_t n, double* work, float* gradient_out,
        float* hessian_out
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
    void limited_slopes(
        const double* score, double limit, float threshold, float replacement, int64_t n,
        float* slope_inout
    ) noexcept


# The numbers of the losses of objectives, of the losses of metrics, and of distributions.
LOSSES: dict[str, int] = numbers_of(LOSS_NAMES)
VALUES: dict[str, int] = numbers_of(VALUE_NAMES)
DISTRIBUTIONS: dict[str, int] = numbers_of(DISTRIBUTION_NAMES)

cdef enum:
    # For fewer rows, one thread has computed the derivatives before another one wakes up.
    MIN_ROWS_FOR_TEAM = 8000
    # The same limit for loops that sum values.
    MIN_SUMMED_FOR_TEAM = 500000


cdef void pointwise_body(
    void* context, Py_ssize_t start, Py_ssize_t end, int thread,
) noexcept nogil:
    """Derive a loss of one score for the rows ``start`` to ``end``."""
    cdef DerivativeLoop* loop = <DerivativeLoop*>context
    loop.derive_pointwise(
        loop.score + start, loop.y + start, loop.a, loop.b, end - start, loop.gradient + start,
        loop.hessian + start if loop.hessian != NULL else NULL)


cdef void intensity_body(
    void* context, Py_ssize_t start, Py_ssize_t end, int thread,
) noexcept nogil:
    """Derive the loss `Intensity` for the rows ``start`` to ``end``."""
    cdef DerivativeLoop* loop = <DerivativeLoop*>context
    intensity_rows(
        loop.score + start, loop.y + start, loop.weight + start, end - start, loop.gradient + start,
        loop.hessian + start)


cdef void softmax_body(
    void* context, Py_ssize_t start, Py_ssize_t end, int thread,
) noexcept nogil:
    """Derive the loss `Softmax` for the rows ``start`` to ``end``; ``loop.a`` is its factor."""
    cdef DerivativeLoop* loop = <DerivativeLoop*>context
    softmax_rows(
        loop.score + start, loop.y + start, loop.is_soft, loop.n_scores, loop.n, loop.a,
        end - start, loop.work + thread * loop.work_size, loop.gradient + start,
        loop.hessian + start)


cdef class Loss:
    """A loss whose derivatives are computed by a kernel.

    A call takes ``scores``, ``gradient_out`` and ``hessian_out``, all (K, n), and the number of
    threads. ``hessian_out`` may be None if hessians are always 1: then they are not written. The
    engine's boosting loop calls `derive`, which does the same.
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
        """Write the derivatives: the fields of all losses, then `_derive`, which each has."""
        cdef DerivativeLoop loop
        loop.n_scores, loop.n = scores.shape[0], scores.shape[1]
        if loop.n == 0:
            return 0
        if loop.n * loop.n_scores < MIN_ROWS_FOR_TEAM:
            n_threads = 1
        loop.score, loop.gradient = &scores[0, 0], &gradient_out[0, 0]
        loop.hessian = &hessian_out[0, 0] if hessian_out is not None else NULL
        loop.y = &self.y[0]
        return self._derive(&loop, n_threads)

    cdef int _derive(self, DerivativeLoop* loop, int n_threads) except -1:
        """Run the kernel of the loss over all rows; ``loop`` has scores, targets and results."""
        raise NotImplementedError


cdef class Pointwise(Loss):
    """A loss of one score, applied to each of K scores with its own parameters.

    - ``name``: a key of ``LOSSES``.
    - ``y``, (n,).
    - ``parameters``: a and b for each score: see loss_kernels.h.
    """

    cdef pointwise_loss derive_rows
    cdef double[:, ::1] parameters
    cdef object name

    def __init__(self, name: str, const double[::1] y, parameters: Sequence[tuple[float, float]]):
        self.name, self.y, self.derive_rows = name, y, LOSS_KERNELS[<int>LOSSES[name]]
        self.parameters = np.array(parameters, dtype=np.float64)

    def __reduce__(self):
        return Pointwise, (self.name, np.asarray(self.y), np.asarray(self.parameters))

    cdef int _derive(self, DerivativeLoop* loop, int n_threads) except -1:
        cdef int k
        loop.derive_pointwise = self.derive_rows
        for k in range(loop.n_scores):
            loop.a, loop.b = self.parameters[k, 0], self.parameters[k, 1]
            run_shares(pointwise_body, loop, loop.n, BLOCK, n_threads, loop.n)
            loop.score += loop.n
            loop.gradient += loop.n
            loop.hessian = loop.hessian + loop.n if loop.hessian != NULL else NULL
        return 0


cdef class Intensity(Loss):
    """The cross entropy of ``y`` and 1 - exp(-weight log(1 + exp(score))).

    It is LightGBM's 'cross_entropy_lambda'. ``y``, ``weight``, (n,).
    """

    cdef const double[::1] weight

    def __init__(self, const double[::1] y, const double[::1] weight):
        self.y, self.weight = y, weight

    def __reduce__(self):
        return Intensity, (np.asarray(self.y), np.asarray(self.weight))

    cdef int _derive(self, DerivativeLoop* loop, int n_threads) except -1:
        loop.weight = &self.weight[0]
        run_shares(intensity_body, loop, loop.n, BLOCK, n_threads, loop.n)
        return 0


cdef class Softmax(Loss):
    """The cross entropy of the softmax of K scores, with hessians K / (K - 1) p (1 - p).

    The factor is that of LightGBM: J. Friedman, "Greedy function approximation: a gradient boosting
    machine", Annals of Statistics 29, 2001, algorithm 6.

    ``y``, (n,): the classes, 0 to K - 1; or (K, n): their probabilities, the soft labels.
    """

    cdef double[:, ::1] work  # of each thread: K + 2 doubles for each row of a block
    cdef object shape         # of ``y``

    def __init__(self, y: NDArray[np.float64]):
        self.y, self.shape = y.ravel(), y.shape

    def __reduce__(self):
        return Softmax, (np.asarray(self.y).reshape(self.shape),)

    cdef int _derive(self, DerivativeLoop* loop, int n_threads) except -1:
        cdef int64_t n_rows = softmax_block(loop.n_scores)
        loop.work_size = (loop.n_scores + 2) * n_rows
        if self.work is None or self.work.shape[0] < n_threads:
            self.work = np.empty((n_threads, loop.work_size))
        loop.is_soft = len(self.shape) == 2
        loop.work, loop.a = &self.work[0, 0], loop.n_scores / max(loop.n_scores - 1.0, 1.0)
        run_shares(
            softmax_body, loop, loop.n, n_rows, n_threads, loop.n * loop.n_scores)
        return 0


cdef void distribution_body(
    void* context, Py_ssize_t start, Py_ssize_t end, int thread,
) noexcept nogil:
    """Derive the likelihood of a distribution for the rows ``start`` to ``end``."""
    cdef DerivativeLoop* loop = <DerivativeLoop*>context
    loop.derive_distribution(
        loop.score + start, loop.y + start, loop.n, end - start, loop.gradient + start,
        loop.hessian + start)


def distribution(
    int kind, const double[:, ::1] scores, const double[::1] y, int n_threads,
    float[:, ::1] gradient_out, float[:, ::1] hessian_out,
):
    """Write the derivatives of the negative log-likelihood and the Fisher information.

    The K scores of a row are the parameters of its distribution: see distribution_kernels.h.

    - ``kind``: a value of ``DISTRIBUTIONS``.
    - ``scores``, ``gradient_out``, ``hessian_out``, (K, n): hessians get the Fisher information.
    - ``y``, (n,): targets. If these are bounds of event times, (2 n,): the lower ones, then the
      upper ones.
    """
    cdef int64_t n = scores.shape[1]
    cdef DerivativeLoop loop
    if n == 0:
        return
    loop.derive_distribution = DERIVATIVE_KERNELS[kind]
    loop.score, loop.y, loop.n = &scores[0, 0], &y[0], n
    loop.gradient, loop.hessian = &gradient_out[0, 0], &hessian_out[0, 0]
    if n < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    run_shares(distribution_body, &loop, n, BLOCK, n_threads, n)


def limit_slopes(
    const double[::1] score, double limit, float threshold, float replacement,
    float[::1] slope_inout,
):
    """Replace slopes below the threshold, and set those to 0 that move scores beyond +- limit.

    ``score``, ``slope_inout``, (n,): a score of each row, and the derivative of the loss by it.
    """
    cdef int64_t n = score.shape[0]
    if n:
        limited_slopes(&score[0], limit, threshold, replacement, n, &slope_inout[0])


def likelihoods(
    int kind, const double[::1] y, const double[:, ::1] scores, double[::1] losses_out,
):
    """Write the negative log-likelihood of each row, (n,).

    ``kind``, ``y``, ``scores``: see `distribution`.
    """
    cdef int64_t n = scores.shape[1]
    if n:
        LIKELIHOOD_KERNELS[kind](&scores[0, 0], &y[0], n, n, &losses_out[0])


# ------------------------------------------------------------------------ sums of values


cdef void class_losses(
    const double* y, const double* score, int64_t stride, int64_t n_classes, int top_k,
    int64_t n, double* correct, double* loss_out,
) noexcept nogil:
    """Write the log losses of n rows, or their top-k errors.

    - ``y``, (n,): class numbers.
    - ``score``, (n_classes, stride): probabilities, of which the first n of each class are used.
    - ``top_k``: 0: log losses; otherwise, errors: see `sum_by_class`.
    - ``correct``: work space of n doubles, for the probability of each row's class.
    """
    cdef int64_t i
    for i in range(n):
        correct[i] = score[<int64_t>y[i] * stride + i]
    if top_k == 0:
        log_losses(correct, n, loss_out)
    else:
        class_errors(score, stride, n_classes, correct, top_k, n, loss_out)


cdef struct SumLoop:
    # The kernel: the first one for losses of one score, the second one for distributions. The other
    # is NULL. If both are NULL, the losses are those of classes.
    loss_values loss_of_rows
    distribution_likelihood likelihood_of_rows
    const double* y           # by row
    const double* prediction  # (n_classes, n): predictions, or scores of a distribution
    const double* weight      # (n,); NULL: 1
    double parameter          # of the loss; of classes: `top_k` of `sum_by_class`
    int64_t n_classes         # or scores; 1 for losses of one score
    int64_t stride            # n: from the predictions of a class to those of the next
    double* losses            # for each thread, 2 EXACT_BLOCK doubles
    int64_t* sums             # for each thread, EXACT_SIZE integers


cdef void sum_body(void* context, Py_ssize_t start, Py_ssize_t end, int thread) noexcept nogil:
    """Compute the losses of up to EXACT_BLOCK rows, and add them to the sum of the thread."""
    cdef:
        SumLoop* loop = <SumLoop*>context
        double* loss = loop.losses + thread * 2 * EXACT_BLOCK
        const double* y = loop.y + start
        const double* prediction = loop.prediction + start
        int64_t size = end - start
    if loop.loss_of_rows != NULL:
        loop.loss_of_rows(y, prediction, loop.parameter, size, loss)
    elif loop.likelihood_of_rows != NULL:
        loop.likelihood_of_rows(prediction, y, loop.stride, size, loss)
    else:  # the second half of the losses is work space
        class_losses(
            y, prediction, loop.stride, loop.n_classes, <int>loop.parameter, size,
            loss + EXACT_BLOCK, loss)
    add_exact(
        loss, loop.weight + start if loop.weight != NULL else NULL, size,
        loop.sums + thread * EXACT_SIZE)


cdef sum_losses(
    loss_values loss_of_rows, distribution_likelihood likelihood_of_rows, const double[::1] y,
    const double[:, ::1] prediction, const double[::1] weight, double parameter,
    int n_threads,
):
    """The exact sum of the losses times weights, (EXACT_SIZE,) int64.

    The arguments are fields of `SumLoop`. Exact sums of threads are added element by element, so
    the result does not depend on which thread summed which rows.
    """
    cdef:
        int64_t n_classes = prediction.shape[0]
        int64_t n = prediction.shape[1]
        int64_t[:, ::1] sums
        double[:, ::1] losses
        SumLoop loop
    if n * n_classes < MIN_SUMMED_FOR_TEAM:
        n_threads = 1
    thread_sums = np.zeros((n_threads, EXACT_SIZE), dtype=np.int64)
    sums, losses = thread_sums, np.empty((n_threads, 2 * EXACT_BLOCK))
    if n > 0:
        loop = SumLoop(
            loss_of_rows, likelihood_of_rows, &y[0], &prediction[0, 0], NULL, parameter,
            n_classes, n, &losses[0, 0], &sums[0, 0])
        if weight is not None:
            loop.weight = &weight[0]
        run_shares(sum_body, &loop, n, EXACT_BLOCK, n_threads, n * n_classes)
    return thread_sums[0] if n_threads == 1 else thread_sums.sum(axis=0)


def sum_values(
    int kind, const double[::1] y, prediction: NDArray[np.float64],
    const double[::1] weight or None, double parameter, int n_threads,
) -> NDArray[np.int64]:
    """The weighted sum of a loss over rows.

    - ``kind``: a value of ``VALUES``.
    - ``y``, ``prediction``, (n,).
    - ``weight``, (n,) or None: None means 1.
    - ``parameter``: the level of 'quantile' and 'expectile', the width of 'huber', the scale of
      'fair', or the variance power of 'tweedie', above 1.

    Returns an exact sum, (EXACT_SIZE,) int64, of the products of losses and weights, each of which
    is rounded: see `exact_sum.rounded`. The sums of several processes are added element by element.
    """
    return sum_losses(
        VALUE_KERNELS[kind], NULL, y, prediction[None], weight, parameter, n_threads)


def sum_by_class(
    const double[::1] y, const double[:, ::1] prediction, const double[::1] weight or None,
    int top_k, int n_threads,
) -> NDArray[np.int64]:
    """The exact sum of the log losses, or of the top-k errors, of class probabilities.

    ``y`` has the class number of each row, and ``prediction`` a row for each class. ``top_k`` = 0
    means log losses. Otherwise, a row is an error if more than ``top_k`` classes have at least the
    probability of its class: in ties, it needs a place for each tied class.
    """
    return sum_losses(NULL, NULL, y, prediction, weight, top_k, n_threads)


def sum_by_distribution(
    int kind, const double[::1] y, const double[:, ::1] scores, const double[::1] weight or None,
    int n_threads,
) -> NDArray[np.int64]:
    """The exact sum of the negative log-likelihoods of a distribution with these scores.

    ``kind``, ``y``, ``scores``: see `distribution`; the result: see `sum_values`.
    """
    return sum_losses(NULL, LIKELIHOOD_KERNELS[kind], y, scores, weight, 0.0, n_threads)
