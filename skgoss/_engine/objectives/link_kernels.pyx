# cython: language_level=3
"""Links: from raw scores to predictions."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memcpy

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
    """The names of a table, which ends with NULL, and their places."""
    cdef int place = 0
    numbers = {}
    while names[place] != NULL:
        numbers[names[place].decode()] = place
        place += 1
    return numbers


# The links of single scores; that of all the scores of a row comes last.
LINKS = numbers_of(LINK_NAMES)
cdef int SOFTMAX = len(LINKS)
LINKS["softmax"] = SOFTMAX


cdef int64_t softmax_block(int64_t n_classes) noexcept nogil:
    """The rows of a block of softmax, which needs n_classes + 2 doubles for each."""
    return max(<int64_t> 16, min(<int64_t> BLOCK, <int64_t> WORK // (n_classes + 2)))


cdef void _link_values(
    link_rows rows, const double* x, double slope, int64_t n, double* x_out
) noexcept nogil:
    if x_out != x:
        memcpy(x_out, x, n * sizeof(double))
    rows(x_out, slope, n)


cdef void _link_softmax(
    const double* x, int64_t n_classes, int64_t stride, int64_t n, double* x_out
) noexcept nogil:
    cdef:
        double[2 * BLOCK] work
        int64_t k
    if x_out != x:
        for k in range(n_classes):
            memcpy(x_out + k * stride, x + k * stride, n * sizeof(double))
    softmax_link(x_out, n_classes, stride, n, work)


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
        int64_t n_blocks = (n + size - 1) // size
        int64_t block, start
        const double* x = &scores[0, 0] if scores.size else NULL
        double* x_out = &predictions_out[0, 0] if scores.size else NULL
        link_rows rows = NULL if by_row else LINK_KERNELS[kind]
    if n * n_classes < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    for block in prange(n_blocks, nogil=True, schedule="static", num_threads=n_threads):
        start = block * size
        if by_row:
            _link_softmax(x + start, n_classes, n, min(n - start, size), x_out + start)
        else:
            _link_values(rows, x + start, slope, min(n - start, size), x_out + start)
