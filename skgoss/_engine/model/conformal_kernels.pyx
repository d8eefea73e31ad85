"""Weighted quantiles of conformity scores around the predictions of several models."""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from skgoss._engine.threads cimport parallel_shares

cdef enum:
    # Below this number of searches, starting threads costs more than it saves.
    MIN_FOR_TEAM = 2000
    ROWS_PER_TASK = 64


# Conformity scores in groups, sorted in each group.
cdef struct Groups:
    int64_t n                 # groups
    const int64_t* start      # (n + 1,): the first score of each group, and the end
    const double* score
    const double* weight      # the cumulative weight up to each score of a group


# The positions of a group where the quantile may be, in the arrays of all scores.
cdef struct Span:
    int64_t first
    int64_t stop
    int64_t above             # the first position whose value is above the candidate


# A row: the values of each group are center + score * scale.
cdef struct ScoredRow:
    const double* center
    const double* scale


cdef inline double value(
    const Groups* groups, ScoredRow row, int64_t group, int64_t at,
) noexcept nogil:
    """The value of score number ``at``, which is in this group, for a row."""
    return row.center[group] + groups.score[at] * row.scale[group]


cdef inline double weight_up_to(
    const Groups* groups, ScoredRow row, double candidate, Span* spans_inout,
) noexcept nogil:
    """The weight of the values of all groups up to a candidate; sets ``above`` of each span.

    ``groups``: the scores of each are sorted, and their weights cumulative from the first of the
    group, so the weight up to a position is one number. ``row`` turns scores into values.
    ``spans_inout``, (n_groups,): only the positions in it are searched. Values of earlier positions
    are at most the candidate, those of later ones are above it.
    """
    cdef double weight = 0.0
    cdef int64_t group, first, stop, middle
    for group in range(groups.n):
        first, stop = spans_inout[group].first, spans_inout[group].stop
        while first < stop:
            middle = (first + stop) // 2
            if value(groups, row, group, middle) <= candidate:
                first = middle + 1
            else:
                stop = middle
        spans_inout[group].above = first
        if first > groups.start[group]:
            weight += groups.weight[first - 1]
    return weight


cdef inline int64_t widest(const Groups* groups, const Span* spans) noexcept nogil:
    """The group with the most positions in its span; -1 if no positions remain."""
    cdef int64_t group, found = -1, n = 0
    for group in range(groups.n):
        if spans[group].stop - spans[group].first > n:
            n = spans[group].stop - spans[group].first
            found = group
    return found


cdef double quantile(
    const Groups* groups, const double* center, const double* scale, double needed,
    Span* spans_out,
) noexcept nogil:
    """The smallest value whose cumulative weight over all groups is at least ``needed``.

    This is a binary search in several sorted groups at once. In each step, the candidate is the
    middle value of the group with the most positions. If it has enough weight, later positions are
    removed from all spans, and otherwise earlier ones.

    ``center``, ``scale``, (n_groups,): of the row. ``spans_out``, (n_groups,): work space. Infinity
    if the total weight is smaller than ``needed``.
    """
    cdef ScoredRow row = ScoredRow(center, scale)
    cdef double candidate, found = INFINITY
    cdef int64_t group, middle, k
    for k in range(groups.n):
        spans_out[k].first, spans_out[k].stop = groups.start[k], groups.start[k + 1]
    group = widest(groups, spans_out)
    while group >= 0:
        middle = (spans_out[group].first + spans_out[group].stop) // 2
        candidate = value(groups, row, group, middle)
        if weight_up_to(groups, row, candidate, spans_out) >= needed:
            found = candidate
            for k in range(groups.n):
                spans_out[k].stop = spans_out[k].above
            spans_out[group].stop = middle
        else:
            for k in range(groups.n):
                spans_out[k].first = spans_out[k].above
        group = widest(groups, spans_out)
    return found


cdef struct QuantileLoop:
    Groups groups
    const double* center      # (n_rows, n_groups)
    const double* scale       # (n_rows, n_groups)
    const double* needed      # (n_needed,): weights
    int64_t n_needed
    Span* spans               # (n_threads, n_groups)
    double* quantiles         # (n_rows, n_needed)


cdef void quantile_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Compute the quantiles of the rows ``first`` to ``end``."""
    cdef QuantileLoop* loop = <QuantileLoop*>context
    cdef int64_t n_groups = loop.groups.n, row, k
    for row in range(first, end):
        for k in range(loop.n_needed):
            loop.quantiles[row * loop.n_needed + k] = quantile(
                &loop.groups, loop.center + row * n_groups, loop.scale + row * n_groups,
                loop.needed[k], loop.spans + thread * n_groups)


def quantiles(
    const double[::1] score, const double[::1] weight, const int64_t[::1] start,
    const double[:, ::1] center, const double[:, ::1] scale, const double[::1] needed,
    int n_threads, double[:, ::1] quantiles_out,
):
    """Write the smallest values whose cumulative weights are at least ``needed``.

    The values of a row are ``center + score * scale``, with the center and the scale of
    the score's group.

    - ``score``, (n,): ascending in each group.
    - ``weight``, (n,): the cumulative weight of the group up to each score.
    - ``start``, (n_groups + 1,): the first score of each group, and n.
    - ``center``, ``scale``, (n_rows, n_groups): scales must not be negative.
    - ``needed``, (n_needed,): weights.
    - ``quantiles_out``, (n_rows, n_needed): infinity if ``needed`` is above the total weight.
    """
    cdef int64_t n_rows = center.shape[0], n_groups = center.shape[1]
    cdef QuantileLoop loop
    if n_rows * needed.shape[0] == 0:
        return
    if n_rows * needed.shape[0] < MIN_FOR_TEAM:
        n_threads = 1
    loop.groups.n, loop.groups.start = n_groups, &start[0]
    loop.groups.score = &score[0] if score.shape[0] else NULL
    loop.groups.weight = &weight[0] if weight.shape[0] else NULL
    loop.center, loop.scale, loop.quantiles = &center[0, 0], &scale[0, 0], &quantiles_out[0, 0]
    loop.needed, loop.n_needed = &needed[0], needed.shape[0]
    loop.spans = <Span*> malloc(n_threads * n_groups * sizeof(Span))
    if loop.spans == NULL:
        raise MemoryError
    with nogil:
        parallel_shares(quantile_body, &loop, n_rows, ROWS_PER_TASK, n_threads)
    free(loop.spans)
