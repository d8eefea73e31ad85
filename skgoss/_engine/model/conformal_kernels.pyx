"""Weighted quantiles of conformity scores around the predictions of several models."""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from skgoss._engine.threads cimport parallel_shares

cdef enum:
    # Below this number of searches, starting a thread team costs more than it saves.
    MIN_FOR_TEAM = 2000
    ROWS_PER_TASK = 64


# Sorted scores in groups.
cdef struct Groups:
    int64_t n
    const int64_t* start
    const double* score
    const double* weight      # the sum up to each score of its group


# The positions in a group that the quantile may still have.
cdef struct Span:
    int64_t first
    int64_t stop
    int64_t reached           # the first position above the value that is tried


# A row: what the scores of each group are scaled by and added to.
cdef struct ScoredRow:
    const double* center
    const double* scale


cdef inline double value(
    const Groups* groups, ScoredRow row, int64_t group, int64_t at,
) noexcept nogil:
    return row.center[group] + groups.score[at] * row.scale[group]


cdef inline double reach(
    const Groups* groups, ScoredRow row, double tried, Span* spans_inout,
) noexcept nogil:
    """Find the first position above a value in each group; return the weight below it."""
    cdef double weight = 0.0
    cdef int64_t group, first, stop, middle
    for group in range(groups.n):
        first, stop = spans_inout[group].first, spans_inout[group].stop
        while first < stop:
            middle = (first + stop) // 2
            if value(groups, row, group, middle) <= tried:
                first = middle + 1
            else:
                stop = middle
        spans_inout[group].reached = first
        if first > groups.start[group]:
            weight += groups.weight[first - 1]
    return weight


cdef inline int64_t widest(const Groups* groups, const Span* spans) noexcept nogil:
    """The group with the most positions left; -1 if none has one."""
    cdef int64_t group, found = -1, most = 0
    for group in range(groups.n):
        if spans[group].stop - spans[group].first > most:
            most = spans[group].stop - spans[group].first
            found = group
    return found


cdef double quantile(
    const Groups* groups, const double* center, const double* scale, double needed,
    Span* spans_out,
) noexcept nogil:
    """The smallest value up to which there is the weight ``needed``.

    The middle value of the group with the most positions left is tried, again and again.
    """
    cdef ScoredRow row = ScoredRow(center, scale)
    cdef double tried, found = INFINITY
    cdef int64_t group, middle, k
    for k in range(groups.n):
        spans_out[k].first, spans_out[k].stop = groups.start[k], groups.start[k + 1]
    group = widest(groups, spans_out)
    while group >= 0:
        middle = (spans_out[group].first + spans_out[group].stop) // 2
        tried = value(groups, row, group, middle)
        if reach(groups, row, tried, spans_out) >= needed:
            found = tried
            for k in range(groups.n):
                spans_out[k].stop = spans_out[k].reached
            spans_out[group].stop = middle
        else:
            for k in range(groups.n):
                spans_out[k].first = spans_out[k].reached
        group = widest(groups, spans_out)
    return found


cdef struct QuantileLoop:
    Groups groups
    const double* center      # of each row, one for each group
    const double* scale
    const double* needed
    int64_t n_needed
    Span* spans               # of each thread, one for each group
    double* quantiles         # of each row, `n_needed`


cdef void quantile_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
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
    """The smallest values up to which there is enough weight.

    The values of a row are ``center + score * scale``, with the center and the scale of
    the score's group.

    - ``score``, (n,): rises within each group.
    - ``weight``, (n,): the sum of the weights of the group up to each score.
    - ``start``, (n_groups + 1,): where the scores of each group begin.
    - ``center``, ``scale``, (n_rows, n_groups): scales must not be negative.
    - ``needed``, (n_needed,): the weights that are enough.
    - ``quantiles_out``, (n_rows, n_needed): infinity if the weight of all scores is not enough.
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
