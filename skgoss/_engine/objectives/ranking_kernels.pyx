"""Gradients, hessians and metrics of ranking: the documents of queries, ordered by score.

Rows are documents, sorted by query. Threads take whole queries, so that results do not depend on
their number.
"""

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint64_t

from skgoss._engine.random cimport XENDCG, draw, key
from skgoss._engine.signals cimport Watch, end_watch, is_stopped, start_watch
from skgoss._engine.threads cimport parallel_for

import numpy as np

cdef extern from "elementary.h" nogil:
    double logarithm_2(double x) noexcept

cdef extern from "ranking_kernels.h" nogil:
    enum:
        RANK_WIDTH
        RANK_RUN
    void count_before(const double* score, int64_t n, int64_t* before_out) noexcept
    void rank_pairs(
        const double* score, double* gain, const double* discount, int64_t n, int64_t n_top,
        double factor, double offset, double slope, double sigmoid, double* odds,
        double* gradient, double* hessian, double* magnitude_out
    ) noexcept
    void exp_link(double* x, double slope, int64_t n) noexcept

cdef enum:
    # Below this number of documents, starting threads costs more than it saves.
    MIN_ROWS_FOR_TEAM = 20000
    # The number of queries that a thread takes at a time, as they differ in size.
    QUERIES_PER_TASK = 16
    # The maximum number of best documents that are found by insertion, without a full sort.
    MAX_INSERTION_SORT = 16
    # The doubles of work space for each document: two of Ranked and five numbers.
    WORK_PER_DOCUMENT = 9

# The lower limit of 1 - p where it is a divisor.
cdef double TINY = 1e-15


cdef struct Ranked:
    # A document in the order of scores.
    double score
    int64_t row               # its number in its query, from 0


# ---------------------------------------------------------------------------- the order


cdef void sort_runs(const double* score, int64_t n, Ranked* documents_out) noexcept nogil:
    """Sort runs of RANK_RUN documents by descending score, stably.

    ``documents_out``, (n,): each run is sorted by itself, for `merge`.
    """
    cdef int64_t before[RANK_RUN]
    cdef Ranked* run
    cdef int64_t first, i, size
    for first from 0 <= first < n by RANK_RUN:
        size = min(<int64_t>RANK_RUN, n - first)
        count_before(score + first, size, before)
        run = documents_out + first
        for i in range(size):
            run[before[i]].score = score[first + i]
            run[before[i]].row = first + i


cdef void merge(
    const Ranked* documents, int64_t n_left, int64_t n, Ranked* documents_out,
) noexcept nogil:
    """Merge two sorted runs, the first n_left documents and the others of n, stably."""
    cdef int64_t i = 0, j = n_left, k = 0
    cdef bint right
    while i < n_left and j < n:
        right = documents[j].score > documents[i].score
        documents_out[k] = documents[j if right else i]
        j += right
        i += not right
        k += 1
    for i in range(i, n_left):
        documents_out[k] = documents[i]
        k += 1
    for j in range(j, n):
        documents_out[k] = documents[j]
        k += 1


cdef Ranked* rank(const double* score, int64_t n, Ranked* work) noexcept nogil:
    """The documents by descending score, with ties in the order of rows: a merge sort of runs.

    ``work`` has space for 2 n documents; the result is one of its halves.
    """
    cdef Ranked* documents = work
    cdef Ranked* other = work + n
    cdef int64_t i, start, length = RANK_RUN
    sort_runs(score, n, documents)
    while length < n:
        for i in range((n + 2 * length - 1) // (2 * length)):
            start = 2 * length * i
            merge(
                documents + start, min(length, n - start), min(2 * length, n - start),
                other + start)
        documents, other = other, documents
        length *= 2
    return documents


cdef Ranked* best(const double* score, int64_t n, int64_t k, Ranked* work) noexcept nogil:
    """The k documents with the largest scores, in descending order; ties in the order of rows.

    ``work`` has space for 2 n documents; the result is in it. A few are found by insertion, which
    leaves the other documents out.
    """
    cdef int64_t i, j
    if k > MAX_INSERTION_SORT or k >= n:
        return rank(score, n, work)
    for i in range(n):
        if i >= k and not score[i] > work[k - 1].score:
            continue
        j = min(i, k - 1)
        while j > 0 and work[j - 1].score < score[i]:
            work[j] = work[j - 1]
            j -= 1
        work[j].score = score[i]
        work[j].row = i
    return work


cdef int64_t longest_query(const int64_t[::1] boundaries) noexcept:
    """The number of documents of the longest query.

    ``boundaries``, (n_queries + 1,): the first document of each query, and n.
    """
    cdef int64_t longest = 0, query
    for query in range(boundaries.shape[0] - 1):
        longest = max(longest, boundaries[query + 1] - boundaries[query])
    return longest


cdef int64_t padded(int64_t n) noexcept nogil:
    """n, rounded up to a multiple of RANK_WIDTH."""
    return (n + RANK_WIDTH - 1) // RANK_WIDTH * RANK_WIDTH


def _work(const int64_t[::1] boundaries, int n_threads):
    """Work space for the longest query, for each thread: WORK_PER_DOCUMENT doubles a document."""
    return np.empty((n_threads, WORK_PER_DOCUMENT * max(1, padded(longest_query(boundaries)))))


cdef struct QueryTask:
    # The input and the output of the kernels of queries; each of them uses only some fields.
    const double* scores      # of all documents, query by query
    const double* gain        # of all documents: their value in DCG
    const uint8_t* relevant   # of all documents: 0 or 1
    const double* discount    # of each rank, from `discounts`
    const double* max_dcg     # of each query
    const int64_t* at         # (n_at,): the levels k of a metric at k
    int64_t n_at
    int64_t n_top             # the largest level
    bint averages             # over the orders of tied documents
    double sigmoid            # these three: see `lambdarank`
    int64_t truncation
    bint norm
    uint64_t row_key          # of the random numbers of `rank_xendcg`
    const int64_t* first      # of each query: see `rank_xendcg`
    float* gradient           # results, of all documents
    float* hessian
    double* values            # (n_at, n_queries)
    int64_t n_queries


# The computation for a query, whose n rows begin at `start`, with work space for the longest query.
ctypedef void (*QueryKernel)(
    const QueryTask* task, int64_t query, int64_t start, int64_t n, double* work) noexcept nogil


cdef struct QueryLoop:
    QueryKernel kernel
    const QueryTask* task
    const int64_t* boundaries
    double* work              # for each thread, `work_size` doubles
    Py_ssize_t work_size
    Watch watch


cdef void query_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Run the kernel for the queries ``first`` to ``end``."""
    cdef QueryLoop* loop = <QueryLoop*>context
    cdef int64_t start
    cdef Py_ssize_t query
    for query in range(first, end):
        if is_stopped(&loop.watch):
            break
        start = loop.boundaries[query]
        loop.kernel(
            loop.task, query, start, loop.boundaries[query + 1] - start,
            loop.work + thread * loop.work_size)


cdef void visit_queries(
    QueryKernel kernel, const QueryTask* task, const int64_t[::1] boundaries, int n_threads,
):
    """Run a kernel for every query, on several threads; ``boundaries``: of `lambdarank`."""
    cdef double[:, ::1] work = _work(boundaries, n_threads)
    cdef int64_t n_queries = boundaries.shape[0] - 1
    cdef QueryLoop loop = QueryLoop(
        kernel, task, &boundaries[0], &work[0, 0], work.shape[1], start_watch())
    if boundaries[n_queries] < MIN_ROWS_FOR_TEAM:
        n_threads = 1
    with nogil:
        parallel_for(query_body, &loop, n_queries, QUERIES_PER_TASK, n_threads)
    end_watch(&loop.watch)


def discounts(const int64_t[::1] boundaries) -> NDArray[np.float64]:
    """1 / log2(2 + rank) for ranks from 0, up to the longest query's: the weights of gains in DCG.

    ``boundaries``, (n_queries + 1,): the first document of each query, and n.
    """
    cdef double[::1] discount_out
    cdef int64_t rank
    discount = np.empty(padded(longest_query(boundaries)) + 1)
    discount_out = discount
    for rank in range(discount_out.shape[0]):
        discount_out[rank] = 1 / logarithm_2(2.0 + rank)
    return discount


# ---------------------------------------------------------------------------- the losses


cdef void lambdarank_query(
    const QueryTask* task, int64_t query, int64_t start, int64_t n, double* work,
) noexcept nogil:
    """The gradients and hessians of LambdaRank for the documents of one query.

    ``start``, ``n``: its first document among all, and their number. `lambdarank` has the loss.
    Arrays of sorted documents are padded to ``room`` with documents of the gain NaN, which make no
    pairs.
    """
    cdef double max_dcg = task.max_dcg[query]
    cdef int64_t room = padded(n)
    cdef double* sorted_score = work
    cdef double* sorted_gain = sorted_score + room
    cdef double* odds = sorted_gain + room
    cdef double* gradient = odds + room
    cdef double* hessian = gradient + room
    cdef Ranked* documents = rank(task.scores + start, n, <Ranked*>(hessian + room))
    cdef double offset = 1.0, slope = 0.0, factor = 1.0, magnitude = 0.0
    cdef int64_t i
    if n == 0:
        return
    for i in range(room):
        sorted_score[i] = documents[i].score if i < n else 0.0
        sorted_gain[i] = task.gain[start + documents[i].row] if i < n else NAN
        gradient[i] = 0.0
        hessian[i] = 0.0
    if task.norm and sorted_score[0] != sorted_score[n - 1]:
        offset = 0.01
        slope = 1.0
    rank_pairs(
        sorted_score, sorted_gain, task.discount, room, min(n - 1, task.truncation),
        1 / max_dcg if max_dcg > 0 else 0.0, offset, slope, task.sigmoid, odds, gradient,
        hessian, &magnitude)
    if task.norm and magnitude > 0:
        factor = logarithm_2(1 + 2 * magnitude) / (2 * magnitude)
    for i in range(n):
        task.gradient[start + documents[i].row] = <float>(gradient[i] * factor)
        task.hessian[start + documents[i].row] = <float>(hessian[i] * factor)


def lambdarank(
    const double[::1] scores, const double[::1] gain, const int64_t[::1] boundaries,
    const double[::1] max_dcg, const double[::1] discount, double sigmoid,
    int64_t truncation, bint norm, int n_threads,
    float[::1] gradient_out, float[::1] hessian_out,
):
    """The first and second derivatives of LambdaRank's loss by the scores.

    The loss of a pair of documents with different gains, one of them among the first
    ``truncation``, is the logistic loss of the difference of their scores. Its weight is the change
    of NDCG if they swapped places.

    - ``scores``, (n,).
    - ``gain``, (n,): of the documents, by default 2**grade - 1.
    - ``boundaries``, (n_queries + 1,): the first row of each query, and n.
    - ``max_dcg``, (n_queries,): the largest DCG of each query at ``truncation``, which is the
      `dcg` with gains as scores. The derivatives of a query where it is 0 are 0.
    - ``discount``, (at least the longest query + 1,): by rank, from `discounts`.
    - ``sigmoid``: the steepness of the logistic loss; positive.
    - ``truncation``: at least 1.
    - ``norm``: whether the weight of a pair is divided by 0.01 + |difference of scores|, unless all
      scores are equal, and the derivatives of a query are multiplied by log2(1 + s) / s, where s
      is the sum over pairs of the sizes of both gradients.
    - ``gradient_out``, ``hessian_out``, (n,).

    C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82. ``norm`` is
    LightGBM's.
    """
    cdef QueryTask task
    task.scores, task.gain, task.discount = &scores[0], &gain[0], &discount[0]
    task.max_dcg = &max_dcg[0]
    task.sigmoid, task.truncation, task.norm = sigmoid, truncation, norm
    task.gradient, task.hessian = &gradient_out[0], &hessian_out[0]
    visit_queries(lambdarank_query, &task, boundaries, n_threads)


cdef void softmax_query(const double* score, int64_t n, double* p_out) noexcept nogil:
    """The probabilities of a query's n > 0 documents by the softmax of their scores."""
    cdef double top = score[0], total = 0.0
    cdef int64_t i
    for i in range(n):
        top = max(top, score[i])
    for i in range(n):
        p_out[i] = score[i] - top
    exp_link(p_out, 1.0, n)
    for i in range(n):
        total += p_out[i]
    for i in range(n):
        p_out[i] /= total


cdef void xendcg_query(
    const QueryTask* task, int64_t query, int64_t start, int64_t n, double* work,
) noexcept nogil:
    """The gradients and hessians of XE-NDCG for the documents of one query.

    ``start``, ``n``: its first document among all, and their number. With the target rho, the
    gradient is the sum of three terms (`rank_xendcg` has the source):

        t1 = p - rho,
        t2 = p (sum of t1 / (1 - p) over the other documents),
        t3 = p (sum of t2 / (1 - p) over the other documents).
    """
    cdef const double* gain = task.gain + start
    cdef float* gradient_out = task.gradient + start
    cdef float* hessian_out = task.hessian + start
    cdef double* p = work
    cdef double* ratio = work + n
    cdef double* gradient = work + 2 * n
    cdef double term, total = 0.0, sum_1 = 0.0, sum_2 = 0.0
    cdef uint64_t drawn
    cdef int64_t i
    if n == 1:
        gradient_out[0] = hessian_out[0] = 0
    if n < 2:
        return
    softmax_query(task.scores + start, n, p)
    for i in range(n):
        drawn = draw(task.row_key, task.first[query] + i)
        ratio[i] = gain[i] + 1 - <double>(drawn >> 11) * 2.0 ** -53
        total += ratio[i]
    for i in range(n):
        gradient[i] = p[i] - ratio[i] / total
        ratio[i] = gradient[i] / max(1 - p[i], TINY)
        sum_1 += ratio[i]
    for i in range(n):
        term = p[i] * (sum_1 - ratio[i])
        gradient[i] += term
        ratio[i] = term / max(1 - p[i], TINY)
        sum_2 += ratio[i]
    for i in range(n):
        gradient_out[i] = <float>(gradient[i] + p[i] * (sum_2 - ratio[i]))
        hessian_out[i] = <float>(p[i] * (1 - p[i]))


def rank_xendcg(
    const double[::1] scores, const double[::1] gain, const int64_t[::1] boundaries,
    const int64_t[::1] first, uint64_t seed, uint64_t round, int n_threads,
    float[::1] gradient_out, float[::1] hessian_out,
):
    """The first and second derivatives, by the scores, of a cross entropy that bounds NDCG.

    The target of a document is proportional to its gain plus a random number in (0, 1], a hash of
    (seed, round, row). Gradients are the first three terms of a series. The derivatives of a query
    with one document are 0.

    - ``scores``, ``gain``, (n,): of the documents, query by query.
    - ``boundaries``, (n_queries + 1,): the first document of each query, and n.
    - ``first``, (n_queries,): the row number, for hashes, of the first document of each query.
    - ``gradient_out``, ``hessian_out``, (n,).

    S. Bruch, "An alternative cross entropy loss for learning-to-rank", WWW 2021.
    """
    cdef QueryTask task
    task.scores, task.gain, task.first = &scores[0], &gain[0], &first[0]
    task.row_key = key(seed, XENDCG, round)
    task.gradient, task.hessian = &gradient_out[0], &hessian_out[0]
    visit_queries(xendcg_query, &task, boundaries, n_threads)


# --------------------------------------------------------------------------- the metrics


cdef int64_t tie_end(
    const QueryTask* task, const Ranked* documents, int64_t first, int64_t n,
) noexcept nogil:
    """The end of the documents, of n sorted ones, that are tied with number ``first``.

    It is the next document if ties are not averaged: then each document counts alone.
    """
    cdef int64_t end = first + 1
    while task.averages and end < n and documents[end].score == documents[first].score:
        end += 1
    return end


cdef int64_t tie_size(
    const QueryTask* task, const double* score, int64_t n, double tied, int64_t n_found,
) noexcept nogil:
    """The number of all documents in a tie, of which n_found are among the best documents.

    ``score``, (n,): of all documents of the query. ``tied``: the score of the tie.
    """
    cdef int64_t i, size = 0
    if not task.averages:
        return n_found
    for i in range(n):
        size += score[i] == tied
    return max(size, n_found)  # a NaN equals no score


cdef void dcg_query(
    const QueryTask* task, int64_t query, int64_t start, int64_t n, double* work,
) noexcept nogil:
    """The DCG of one query at all levels; tied documents have the mean gain of the tie.

    ``start``, ``n``: its first document among all, and their number. Only the best ``n_top``
    documents are sorted. If a tie continues behind them, its mean is that of all of its documents.
    """
    cdef double* sums = work  # of the first 1, 2, ... documents
    cdef int64_t n_top = min(n, task.n_top)
    cdef const double* score = task.scores + start
    cdef const double* gain = task.gain + start
    cdef Ranked* documents = best(score, n, n_top, <Ranked*>(work + n))
    cdef double total = 0.0, mean
    cdef int64_t i, k, first = 0, end, size
    while first < n_top:
        end = tie_end(task, documents, first, n_top)
        size = end - first
        mean = gain[documents[first].row]
        for i in range(first + 1, end):
            mean += gain[documents[i].row]
        if end == n_top < n:
            size = tie_size(task, score, n, documents[first].score, size)
        if size > end - first:
            mean = 0.0
            for i in range(n):
                mean += gain[i] if score[i] == documents[first].score else 0.0
        mean /= size
        for i in range(first, end):
            total += mean * task.discount[i]
            sums[i] = total
        first = end
    for k in range(task.n_at):
        task.values[k * task.n_queries + query] = (
            sums[min(task.at[k], n) - 1] if n > 0 else 0.0)


cdef void set_metric_task(
    const int64_t[::1] at, bint averages, double[:, ::1] values_out, QueryTask* task_out,
) noexcept:
    """Set the fields of a task that metrics use: levels and results.

    For the arguments, read `dcg`.
    """
    cdef int64_t k
    task_out.averages = averages
    task_out.n_top = 1
    for k in range(at.shape[0]):
        task_out.n_top = max(task_out.n_top, at[k])
    task_out.at, task_out.n_at = &at[0], at.shape[0]
    task_out.values, task_out.n_queries = &values_out[0, 0], values_out.shape[1]


def dcg(
    const double[::1] scores, const double[::1] gain, const int64_t[::1] boundaries,
    const double[::1] discount, const int64_t[::1] at, bint averages, int n_threads,
    double[:, ::1] dcg_out,
):
    """The discounted cumulative gain of the best documents of each query.

    It is the sum of gain / log2(2 + rank), where the best document has rank 0. NDCG is this divided
    by ``dcg(gain, gain, ...)``, or 1 if that is 0.

    - ``scores``, ``gain``, (n,): of the documents, query by query.
    - ``boundaries``, (n_queries + 1,): the first document of each query, and n.
    - ``discount``: of the ranks, from `discounts`.
    - ``at``, (n_at,): the levels k of DCG@k, at least 1.
    - ``averages``: whether ties count as the mean over all their orders, in which each document has
      the mean gain of its tie. Otherwise, documents of a tie have the order of rows.
    - ``dcg_out``, (n_at, n_queries): 0 for queries without documents.

    K. Järvelin and J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM
    Transactions on Information Systems 20 (2002). F. McSherry and M. Najork, "Computing
    Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores",
    ECIR 2008.
    """
    cdef QueryTask task
    task.scores, task.gain, task.discount = &scores[0], &gain[0], &discount[0]
    set_metric_task(at, averages, dcg_out, &task)
    visit_queries(dcg_query, &task, boundaries, n_threads)


cdef void precision_query(
    const QueryTask* task, int64_t query, int64_t start, int64_t n, double* work,
) noexcept nogil:
    """The average precision of one query at all levels.

    ``start``, ``n``: its first document among all, and their number. In a tie, the relevant
    documents are equally likely to be at any of its places: so place i counts with the probability
    that its document is relevant, times the expected precision there, given that. A document is hit
    if it is relevant; ``n_ranked`` hits are before the tie.
    """
    cdef double* sums = work  # of the first 1, 2, ... documents
    cdef int64_t n_top = min(n, task.n_top)
    cdef const double* score = task.scores + start
    cdef const uint8_t* relevant = task.relevant + start
    cdef Ranked* documents = best(score, n, n_top, <Ranked*>(work + n))
    cdef double total = 0.0, p_relevant, p_before
    cdef int64_t i, k, n_ranked = 0, n_relevant = 0, first = 0, end, size, hits
    for i in range(n):
        n_relevant += relevant[i]
    while first < n_top:
        end = tie_end(task, documents, first, n_top)
        size, hits = end - first, 0
        for i in range(first, end):
            hits += relevant[documents[i].row]
        if end == n_top < n:
            size = tie_size(task, score, n, documents[first].score, size)
        if size > end - first:
            hits = 0
            for i in range(n):
                hits += relevant[i] if score[i] == documents[first].score else 0
        # The probability that a document of the tie is relevant, and the probability that another
        # one is, given that.
        p_relevant = hits / <double>size
        p_before = (hits - 1) / <double>max(size - 1, 1)
        for i in range(first, end):
            total += p_relevant * (n_ranked + 1 + (i - first) * p_before) / (i + 1)
            sums[i] = total
        n_ranked += hits
        first = end
    for k in range(task.n_at):
        task.values[k * task.n_queries + query] = (
            sums[min(task.at[k], n) - 1] / min(task.at[k], n_relevant)
            if n_relevant > 0 else NAN)


def average_precision(
    const double[::1] scores, const uint8_t[::1] relevant, const int64_t[::1] boundaries,
    const int64_t[::1] at, bint averages, int n_threads, double[:, ::1] precision_out,
):
    """The average precision of the best documents of each query.

    It is the sum of the precisions at all relevant documents among the first k, divided by the
    largest possible number of these: min(k, number of relevant documents).

    - ``scores``, (n,): of the documents, query by query.
    - ``boundaries``, (n_queries + 1,): the first document of each query, and n.
    - ``relevant``, (n,): 0 or 1.
    - ``at``, (n_at,): the levels k, at least 1.
    - ``averages``: whether ties count as the mean over all their orders. Otherwise, documents of a
      tie have the order of rows.
    - ``precision_out``, (n_at, n_queries): NaN for queries without a relevant document.
    """
    cdef QueryTask task
    task.scores, task.relevant = &scores[0], &relevant[0]
    set_metric_task(at, averages, precision_out, &task)
    visit_queries(precision_query, &task, boundaries, n_threads)
