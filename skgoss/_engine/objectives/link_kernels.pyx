# cython: language_level=3
"""Links: from raw scores to predictions."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from skgoss._engine.threads cimport run_shares

cdef extern from "link_kernels.h" nogil:
    ctypedef void (*link_rows)(double*, double, int64_t) noexcept nogil
    const link_rows* LINK_KERNELS
    const char* const* LINK_NAMES
    void softmax_link(
        double* x, int64_t n_classes, int64_t stride, int64_t n, double* work
    ) noexcept

cdef enum:
    # Doubles a block of softmax works on (they must stay in the level 2 cache).
    WORK = 32768


cdef dict numbers_of(const char* const* names):
    """The names of a table, which ends with NULL, and their numbers."""
    cdef int number = 0
    numbers = {}
    while names[number] != NULL:
        numbers[names[number].decode()] = number
        number += 1
    return numbers


# The links of single scores; that of all the scores of a row comes last.
LINKS = numbers_of(LINK_NAMES)
cdef int SOFTMAX = len(LINKS)
LINKS["softmax"] = SOFTMAX


cdef int64_t softmax_block(int64_t n_classes) noexcept nogil:
    """The rows of a block of softmax, which needs n_classes + 2 doubles for each."""
    return max(<int64_t> 16, min(<int64_t> BLOCK, <int64_t> WORK // (n_classes + 2)))


cdef struct Link:
    link_rows rows            # NULL: softmax
    const double* x
    double* x_out
    double slope
    int64_t n_classes
    int64_t n


cdef void link_block(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef:
        Link* link = <Link*>context
        double* x_out = link.x_out + first
        int64_t n = end - first, k
        double[2 * BLOCK] work
    if link.x_out != link.x:
        for k in range(link.n_classes):
            memcpy(x_out + k * link.n, link.x + k * link.n + first, n * sizeof(double))
    if link.rows == NULL:
        softmax_link(x_out, link.n_classes, link.n, n, work)
    else:
        link.rows(x_out, link.slope, n)


def apply(
    int kind, const double[:, ::1] scores, double slope, int n_threads,
    double[:, ::1] predictions_out,
):
    """From raw scores to predictions.

    - ``kind``: a value of ``LINKS``.
    - ``scores``, (K, n).
    - ``slope``: multiplies the scores of 'logistic'.
    - ``predictions_out``, (K, n): may be ``scores``.
    """
    cdef:
        bint by_row = kind == SOFTMAX
        int64_t n_classes = scores.shape[0] if by_row else 1
        int64_t n = scores.shape[1] if by_row else scores.shape[0] * scores.shape[1]
        int64_t size = softmax_block(n_classes) if by_row else BLOCK
        Link link
    if n == 0:
        return
    link.rows = NULL if by_row else LINK_KERNELS[kind]
    link.x, link.x_out = &scores[0, 0], &predictions_out[0, 0]
    link.slope, link.n_classes, link.n = slope, n_classes, n
    if n * n_classes < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    run_shares(link_block, &link, n, size, n_threads, n * n_classes)


cdef struct Pairs:
    const double* positive
    double* both


cdef void pair_block(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef Pairs* pairs = <Pairs*>context
    cdef Py_ssize_t i
    for i in range(first, end):
        pairs.both[2 * i] = 1.0 - pairs.positive[i]
        pairs.both[2 * i + 1] = pairs.positive[i]


def both_classes(const double[::1] positive, int n_threads, double[:, ::1] both_out):
    """The probabilities of two classes, (n, 2), from those of the second one, (n,)."""
    cdef Py_ssize_t n = positive.shape[0]
    cdef Pairs pairs
    if n == 0:
        return
    pairs = Pairs(&positive[0], &both_out[0, 0])
    run_shares(pair_block, &pairs, n, BLOCK, n_threads if n >= MIN_ROWS_FOR_TEAM else 1, n)
