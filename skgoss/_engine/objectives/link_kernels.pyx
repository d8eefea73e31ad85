"""The links: functions from raw scores to predictions."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from skgoss._engine.threads cimport run_shares

cdef extern from "link_kernels.h" nogil:
    const link_rows* LINK_KERNELS
    const char* const* LINK_NAMES
    void softmax_link(
        double* x, int64_t n_classes, int64_t stride, int64_t n, double* work
    ) noexcept

cdef enum:
    # The doubles of a block of softmax, which fit into the level 2 cache.
    WORK = 32768
    # The maximum number of rows that are transposed at a time; they fit into the level 1 cache.
    TRANSPOSED_ROWS = 256


cdef dict numbers_of(const char* const* names):
    """The number of each name in a table of names that ends with NULL."""
    cdef int number = 0
    numbers = {}
    while names[number] != NULL:
        numbers[names[number].decode()] = number
        number += 1
    return numbers


# The numbers of links: those of single scores, then softmax, which needs all scores of a row.
LINKS: dict[str, int] = numbers_of(LINK_NAMES)
cdef int SOFTMAX = len(LINKS)
LINKS["softmax"] = SOFTMAX
cdef int IDENTITY = LINKS["identity"]


cdef int64_t softmax_block(int64_t n_classes) noexcept nogil:
    """The number of rows of a block of softmax, which needs n_classes + 2 doubles for each."""
    return max(<int64_t> 16, min(<int64_t> BLOCK, <int64_t> WORK // (n_classes + 2)))


cdef struct LinkLoop:
    link_rows link_of_rows    # the kernel of a link of single scores; NULL: softmax
    const double* x           # (n_classes, n): scores
    double* x_out             # the same shape: predictions; may be `x`
    double slope              # the factor of the scores in 'logistic'
    int64_t n_classes         # 1 for links of single scores, whose scores are one long row
    int64_t n


cdef void link_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Write the predictions of rows ``first`` to ``end``.

    Kernels work in place, so the scores are copied first.
    """
    cdef:
        LinkLoop* loop = <LinkLoop*>context
        double* x_out = loop.x_out + first
        int64_t n = end - first, k
        double[2 * BLOCK] work
    if loop.x_out != loop.x:
        for k in range(loop.n_classes):
            memcpy(x_out + k * loop.n, loop.x + k * loop.n + first, n * sizeof(double))
    if loop.link_of_rows == NULL:
        softmax_link(x_out, loop.n_classes, loop.n, n, work)
    else:
        loop.link_of_rows(x_out, loop.slope, n)


def apply(
    int kind, const double[:, ::1] scores, double slope, int n_threads,
    double[:, ::1] predictions_out,
):
    """Write the predictions for raw scores.

    - ``kind``: a value of ``LINKS``.
    - ``scores``, (K, n).
    - ``slope``: the factor of the scores in 'logistic'.
    - ``predictions_out``, (K, n): may be ``scores``.
    """
    cdef:
        bint per_row = kind == SOFTMAX
        int64_t n_classes = scores.shape[0] if per_row else 1
        int64_t n = scores.shape[1] if per_row else scores.shape[0] * scores.shape[1]
        int64_t size = softmax_block(n_classes) if per_row else BLOCK
        LinkLoop loop
    if n == 0:
        return
    loop.link_of_rows = NULL if per_row else LINK_KERNELS[kind]
    loop.x, loop.x_out = &scores[0, 0], &predictions_out[0, 0]
    loop.slope, loop.n_classes, loop.n = slope, n_classes, n
    if n * n_classes < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    run_shares(link_body, &loop, n, size, n_threads, n * n_classes)


# ------------------------------------------------------------------ links of whole rows


cdef int64_t mixed_rows(int64_t n_scores) noexcept nogil:
    """The number of rows, of n_scores scores each, that `mix_scores` transposes at a time."""
    return min(<int64_t> TRANSPOSED_ROWS, softmax_block(n_scores))


cdef void mix_scores(
    const Finish* finish, int64_t n, double* scores_inout, double* work,
) noexcept nogil:
    """Apply links that differ between scores, or need all scores of a row.

    Kernels need the scores class by class, so n rows are transposed in ``work`` and back.

    - ``finish``: its parts are the links of consecutive scores.
    - ``scores_inout``, (n, n_scores).
    - ``work``: (n_scores + 2) * n doubles.
    """
    cdef int64_t n_scores = finish.n_scores
    cdef double* at = work
    cdef const LinkPart* part
    cdef int64_t i, j, p
    for j in range(n_scores):
        for i in range(n):
            work[j * n + i] = scores_inout[i * n_scores + j]
    for p in range(finish.n_parts):
        part = finish.parts + p
        if part.link_of_rows == NULL:
            softmax_link(at, part.n_scores, n, n, work + n_scores * n)
        else:
            part.link_of_rows(at, part.slope, part.n_scores * n)
        at += part.n_scores * n
    for j in range(n_scores):
        for i in range(n):
            scores_inout[i * n_scores + j] = work[j * n + i]


cdef void write_both(int64_t n, double* both_inout) noexcept nogil:
    """Write 1 - p and p for each p in the second half of the array.

    [..., ..., p0, p1] becomes [1 - p0, p0, 1 - p1, p1].
    """
    cdef double[TRANSPOSED_ROWS] positive
    cdef int64_t first, size, i
    for first from 0 <= first < n by TRANSPOSED_ROWS:
        size = min(<int64_t> TRANSPOSED_ROWS, n - first)
        memcpy(positive, both_inout + n + first, size * sizeof(double))
        for i in range(size):
            both_inout[2 * (first + i)] = 1.0 - positive[i]
            both_inout[2 * (first + i) + 1] = positive[i]


cdef void finish_rows(
    const Finish* finish, int64_t n, double* out, double* work
) noexcept nogil:
    """Turn the scores of n rows into predictions, in place.

    They are divided, links are applied, and one prediction becomes those of both classes if needed.
    ``out``, (n, ``finish.width``): the scores are at its end (`scores_of`). ``work``: at least
    ``finish.n_work`` doubles.
    """
    cdef int64_t n_scores = finish.n_scores
    cdef double* scores = scores_of(finish, n, out)
    cdef int64_t size, i
    if finish.divisor != 1.0:
        for i in range(n * n_scores):
            scores[i] /= finish.divisor
    if finish.n_work > 0:
        size = mixed_rows(n_scores)
        for i from 0 <= i < n by size:
            mix_scores(finish, min(size, n - i), scores + i * n_scores, work)
    elif finish.n_parts > 0:
        finish.parts.link_of_rows(scores, finish.parts.slope, n * n_scores)
    if finish.width > n_scores:
        write_both(n, out)


cdef struct LargestLoop:
    const double* values      # (n, n_classes)
    int64_t* number           # (n,): the result
    int64_t n_classes


cdef void largest_body(
    void* context, Py_ssize_t begin, Py_ssize_t end, int thread,
) noexcept nogil:
    """Find the largest value of each row from ``begin`` to ``end``."""
    cdef LargestLoop* loop = <LargestLoop*>context
    cdef const double* row = loop.values + begin * loop.n_classes
    cdef Py_ssize_t i
    cdef int64_t best, k
    for i in range(begin, end):
        best = 0
        for k in range(1, loop.n_classes):
            # The first NaN counts as the largest value, as in NumPy.
            if row[k] > row[best] or (row[k] != row[k] and row[best] == row[best]):
                best = k
        loop.number[i] = best
        row += loop.n_classes


def largest(const double[:, ::1] values, int n_threads, int64_t[::1] number_out):
    """Write the number of the largest value of each row; of equal values, the first one.

    ``values``, (n, n_classes): such as probabilities; ``number_out``, (n,).
    """
    cdef int64_t n = values.shape[0], n_values = values.shape[0] * values.shape[1]
    cdef LargestLoop loop
    if n_values == 0:
        return
    loop = LargestLoop(&values[0, 0], &number_out[0], values.shape[1])
    if n_values < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    run_shares(largest_body, &loop, n, BLOCK, n_threads, n_values)


cdef struct FinishLoop:
    # The arguments of `RowLink.apply`.
    Finish finish
    const double* scores
    double* out
    double* work              # for each thread, `finish.n_work` doubles


cdef void finish_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Write the predictions of rows ``first`` to ``end``."""
    cdef FinishLoop* loop = <FinishLoop*>context
    cdef int64_t n = end - first
    cdef double* out = loop.out + first * loop.finish.width
    cdef double* scores = scores_of(&loop.finish, n, out)
    cdef const double* source = loop.scores + first * loop.finish.n_scores
    if scores != source:
        memcpy(scores, source, n * loop.finish.n_scores * sizeof(double))
    finish_rows(&loop.finish, n, out, loop.work + thread * loop.finish.n_work)


cdef class RowLink:
    """The links of the scores of a row, for row-major scores.

    - ``parts``: one tuple for each link, in the order of their scores: the kind, which is a value
      of ``LINKS``, the slope, and the number of scores.
    - ``both``: the one prediction p of a row becomes two: 1 - p and p.
    """

    def __cinit__(self, list parts, bint both):
        cdef LinkPart* last = NULL
        cdef LinkPart part
        cdef int kind
        self.parts = <LinkPart*> malloc((len(parts) + 1) * sizeof(LinkPart))
        if self.parts == NULL:
            raise MemoryError
        self.finish = Finish(self.parts, 0, 0, 0, 1.0, 0)
        for kind, slope, n_scores in parts:
            part = LinkPart(NULL, slope, n_scores)
            if kind != SOFTMAX:
                part.link_of_rows = LINK_KERNELS[kind]
            self.finish.n_scores += part.n_scores
            if last != NULL and part.link_of_rows != NULL and (
                part.link_of_rows == last.link_of_rows and part.slope == last.slope
            ):
                last.n_scores += part.n_scores
                continue
            last = self.parts + self.finish.n_parts
            last[0] = part
            self.finish.n_parts += 1
        if self.finish.n_parts > 1 or last.link_of_rows == NULL:
            self.finish.n_work = (self.finish.n_scores + 2) * mixed_rows(self.finish.n_scores)
        elif last.link_of_rows == LINK_KERNELS[IDENTITY]:
            self.finish.n_parts = 0
        self.finish.width = 2 if both else self.finish.n_scores
        self.width = self.finish.width

    def __dealloc__(self):
        free(self.parts)

    def apply(
        self, const double[:, ::1] scores, double divisor, int n_threads, double[:, ::1] out,
    ):
        """Write the predictions of all rows.

        - ``scores``, (n, K).
        - ``divisor``: by which the scores are divided first.
        - ``out``, (n, ``width``): may be ``scores``.
        """
        cdef int64_t n = scores.shape[0], n_values = scores.shape[0] * scores.shape[1]
        cdef FinishLoop loop = FinishLoop(self.finish, NULL, NULL, NULL)
        if n_values == 0:
            return
        if n_values < MIN_ROWS_FOR_TEAM:
            n_threads = 1
        loop.finish.divisor = divisor
        loop.scores, loop.out = &scores[0, 0], &out[0, 0]
        loop.work = <double*> malloc((n_threads * loop.finish.n_work + 1) * sizeof(double))
        if loop.work == NULL:
            raise MemoryError
        run_shares(finish_body, &loop, n, BLOCK, n_threads, n_values)
        free(loop.work)
