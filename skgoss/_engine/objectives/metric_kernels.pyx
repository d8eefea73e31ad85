"""Areas under the ROC and precision-recall curves, and concordant pairs of event times.

Areas are sums of parts that do not depend on the number of threads.

Rows are put in the order of descending scores in two steps: a counting sort into buckets, which are
equal ranges of scores, and a sort of each bucket. For the counting sort, the rows are divided into
shares, one for each thread. Each share counts its rows by bucket. From the counts follows the place
of the first row of each share in each bucket, so that all shares can write at once, and the order
does not depend on their number.
"""

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from skgoss._engine.threads cimport LoopBody, parallel_for, parallel_shares

import numpy as np

cdef extern from "metric_kernels.h" nogil:
    void range_of_scores(
        const double* score, int64_t n, double* smallest_out, double* largest_out
    ) noexcept
    void find_counters(
        const double* y, const double* score, int64_t n, double best, double scale,
        int64_t n_buckets, uint32_t* counter_out
    ) noexcept
    void count_pairs(
        const double* positive, int64_t n_positive, const double* negative,
        int64_t n_negative, int64_t* pairs_out
    ) noexcept
    uint64_t ordered_bits(double x) noexcept

# ------------------------------------------------------------------------ rows by score

cdef enum:
    # The maximum number of buckets into which rows are distributed by score, and the average
    # number of rows per bucket below this maximum.
    MAX_BUCKETS = 2048
    ROWS_PER_BUCKET = 16
    # The maximum number of rows that are sorted by insertion.
    MAX_INSERTION_SORT = 40
    # Fewer rows are ranked in less time than it takes to start threads.
    MIN_RANKED_FOR_TEAM = 200000
    # The same limit, and the maximum number of buckets, for rows without weights, whose pairs are
    # counted.
    MIN_PAIRED_FOR_TEAM = 50000
    MAX_PAIR_BUCKETS = 16384
    # If a bucket has at most this number of pairs per row, it compares all pairs.
    MAX_PAIRS_PER_ROW = 64
    # The number of buckets that a thread takes at a time, as they differ in size.
    BUCKETS_PER_TASK = 16
    # The doubles of work space for each row of the largest bucket: a RankedRow and a count.
    WORK_PER_ROW = 3


cdef struct RankedRow:
    # Minus the score: the best row has the smallest number.
    double negated
    # Minus the weight, for negative rows.
    double weight


# The area under a section of a curve: n sorted rows, and the total weights of the positive and of
# the negative rows before them.
ctypedef double (*curve)(const RankedRow*, int64_t, double, double) noexcept nogil


cdef inline int64_t bucket_of(double score, double best, double scale, int64_t n) noexcept nogil:
    """The bucket of a score, 0 to n - 1; it increases as scores decrease.

    ``best``: the largest score. ``scale``: buckets per unit of the score.
    """
    cdef double at = (best - score) * scale
    # Also False for NaN, a difference of infinite scores.
    if not at > 0:
        return 0
    return <int64_t>at if at < n - 1 else n - 1


cdef void sort_by_insertion(RankedRow* rows, int64_t n) noexcept nogil:
    """Insertion sort, stable, ascending by ``negated``: the best rows come first."""
    cdef int64_t i, j
    cdef RankedRow row
    for i in range(1, n):
        row = rows[i]
        j = i
        while j > 0 and row.negated < rows[j - 1].negated:
            rows[j] = rows[j - 1]
            j -= 1
        rows[j] = row


cdef void sort_by_digits(RankedRow* rows, int64_t n, RankedRow* other) noexcept nogil:
    """Radix sort, stable and in place, ascending by ``negated``: the best rows come first.

    Rows are sorted by each byte, the least significant first. Bytes that all rows share are
    skipped. ``n``: above 0. ``other``: work space of n rows.
    """
    cdef int64_t counts[8][256]
    cdef int64_t i, digit, before, count
    cdef uint64_t bits
    cdef int byte
    cdef RankedRow* source = rows
    cdef RankedRow* target = other
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        bits = ordered_bits(rows[i].negated)
        for byte in range(8):
            counts[byte][(bits >> (8 * byte)) & 255] += 1
    for byte in range(8):
        if counts[byte][(ordered_bits(rows[0].negated) >> (8 * byte)) & 255] == n:
            continue
        before = 0
        for digit in range(256):
            count = counts[byte][digit]
            counts[byte][digit] = before
            before += count
        for i in range(n):
            digit = (ordered_bits(source[i].negated) >> (8 * byte)) & 255
            target[counts[byte][digit]] = source[i]
            counts[byte][digit] += 1
        source, target = target, source
    if source != rows:
        memcpy(rows, source, n * sizeof(RankedRow))


cdef bint are_equal(const RankedRow* rows, int64_t n) noexcept nogil:
    """Whether all rows have the same score."""
    cdef int64_t i
    for i in range(1, n):
        if rows[i].negated != rows[0].negated:
            return False
    return True


cdef void sort_bucket(RankedRow* rows, int64_t n, double* work) noexcept nogil:
    """Bucket sort by score, stable and in place: n rows go into n buckets, which are sorted.

    ``work``: WORK_PER_ROW doubles for each row, and one more. ``last[b]`` is first the number of
    rows of bucket b - 1, then the place of the next row of bucket b, and at the end where bucket b
    ends.
    """
    cdef RankedRow* dealt = <RankedRow*>work
    cdef int32_t* last = <int32_t*>(dealt + n)
    cdef int64_t i, longest, start
    cdef double smallest, largest, scale
    if n <= MAX_INSERTION_SORT:
        sort_by_insertion(rows, n)
        return
    smallest = largest = rows[0].negated
    for i in range(1, n):
        smallest = min(smallest, rows[i].negated)
        largest = max(largest, rows[i].negated)
    if smallest == largest:
        return
    scale = (n - 1) / (largest - smallest)
    memset(last, 0, (n + 1) * sizeof(int32_t))
    for i in range(n):
        last[bucket_of(-rows[i].negated, -smallest, scale, n) + 1] += 1
    longest = 0
    for i in range(n):
        longest = max(longest, <int64_t>last[i + 1])
        last[i + 1] += last[i]
    for i in range(n):
        start = bucket_of(-rows[i].negated, -smallest, scale, n)
        dealt[last[start]] = rows[i]
        last[start] += 1
    memcpy(rows, dealt, n * sizeof(RankedRow))
    # One insertion sort of all rows moves no row beyond its bucket.
    if longest <= MAX_INSERTION_SORT:
        sort_by_insertion(rows, n)
        return
    start = 0
    for i in range(n):
        sort_dealt(rows + start, last[i] - start, dealt)
        start = last[i]


cdef void sort_dealt(RankedRow* rows, int64_t n, RankedRow* other) noexcept nogil:
    """Sort the rows of one bucket of `sort_bucket`; most buckets are short or have equal scores.

    ``other``: work space of n rows.
    """
    if n <= MAX_INSERTION_SORT:
        sort_by_insertion(rows, n)
    elif not are_equal(rows, n):
        sort_by_digits(rows, n, other)


cdef double roc(
    const RankedRow* rows, int64_t n, double positive, double negative
) noexcept nogil:
    """The area under a section of the ROC curve by the trapezoidal rule: ties count one half.

    It is multiplied by the total weights of the positive and of the negative rows: so it is the
    weight of the pairs of a positive row with a negative row of this section that scores lower.

    - ``rows``, (n,): in descending order of scores.
    - ``positive``: the weight of the positive rows with better scores, before this section.
    - ``negative``: not used; see `curve`.
    """
    cdef double area = 0.0, negated, tied_positive, tied_negative
    cdef int64_t i = 0
    while i < n:
        negated = rows[i].negated
        tied_positive = 0.0
        tied_negative = 0.0
        while i < n and not rows[i].negated > negated:
            tied_positive += max(rows[i].weight, 0.0)
            tied_negative += max(-rows[i].weight, 0.0)
            i += 1
        area += tied_negative * (positive + 0.5 * tied_positive)
        positive += tied_positive
    return area


cdef double precision_and_recall(
    const RankedRow* rows, int64_t n, double positive, double negative
) noexcept nogil:
    """The sum of the precisions at the scores of a section, times the positive weight at each.

    - ``rows``, (n,): in descending order of scores.
    - ``positive``, ``negative``: the weights of the positive and negative rows before this section.
    """
    cdef double area = 0.0, negated, tied
    cdef int64_t i = 0
    while i < n:
        negated = rows[i].negated
        tied = 0.0
        while i < n and not rows[i].negated > negated:
            tied += max(rows[i].weight, 0.0)
            negative += max(-rows[i].weight, 0.0)
            i += 1
        positive += tied
        if tied > 0:
            area += tied * (positive / (positive + negative))
    return area


cdef void count_buckets(
    const double* score, int64_t n, double best, double scale, int64_t n_counters,
    int64_t* counts_out,
) noexcept nogil:
    """Add the number of rows of each bucket to its counter.

    ``best``, ``scale``: see `bucket_of`. ``counts_out``, (n_counters,): zeros at first.
    """
    cdef int64_t i
    for i in range(n):
        counts_out[bucket_of(score[i], best, scale, n_counters)] += 1


cdef void counts_to_rows(
    int64_t* next_row_inout, int64_t n_shares, int64_t n_buckets, int64_t* start_out
) noexcept nogil:
    """Turn the counts of a counting sort into the place of the next row of each counter.

    In each bucket, the rows of the first share (the rows of one thread) come first.

    - ``next_row_inout``, (n_shares, n_buckets): numbers of rows; then the place of each one's first
      row in the sorted array.
    - ``start_out``, (n_buckets + 1,): the first row of each bucket, and the end.
    """
    cdef int64_t bucket, share, count
    cdef int64_t at = 0
    for bucket in range(n_buckets):
        start_out[bucket] = at
        for share in range(n_shares):
            count = next_row_inout[share * n_buckets + bucket]
            next_row_inout[share * n_buckets + bucket] = at
            at += count
    start_out[n_buckets] = at


cdef int64_t longest_bucket(const int64_t[::1] start) noexcept nogil:
    """The number of rows of the largest bucket; ``start``: the first row of each, and the end."""
    cdef int64_t bucket
    cdef int64_t longest = 0
    for bucket in range(start.shape[0] - 1):
        longest = max(longest, start[bucket + 1] - start[bucket])
    return longest


cdef void deal(
    const double* y, const double* score, const double* weight, int64_t n, double best,
    double scale, int64_t n_counters, int64_t* next_row_inout, RankedRow* rows_out,
) noexcept nogil:
    """Write the rows of a share into their buckets, in the order of rows.

    - ``y``, ``score``, ``weight``, (n,): ``y`` is above 0 for positive rows; NULL weights are 1.
    - ``best``, ``scale``: see `bucket_of`.
    - ``next_row_inout``, (n_counters,): the place of the next row of each bucket; moved on.
    - ``rows_out``: the sorted array of all shares.
    """
    cdef int64_t i, at, row
    cdef double w = 1.0
    for i in range(n):
        at = bucket_of(score[i], best, scale, n_counters)
        row = next_row_inout[at]
        next_row_inout[at] = row + 1
        if weight != NULL:
            w = weight[i]
        # 0.0 for both zeros, as the radix sort compares bits.
        rows_out[row].negated = 0.0 - score[i]
        rows_out[row].weight = w if y[i] > 0 else -w


cdef void weigh(
    const RankedRow* rows, int64_t n, double* positive_out, double* negative_out,
) noexcept nogil:
    """The total weights of the positive and of the negative rows, whose weights are negated."""
    cdef double positive = 0.0, negative = 0.0
    cdef int64_t i
    for i in range(n):
        positive += max(rows[i].weight, 0.0)
        negative += max(-rows[i].weight, 0.0)
    positive_out[0] = positive
    negative_out[0] = negative


cdef struct DealLoop:
    # A counting sort into buckets: each thread counts and writes one part ("share").
    int64_t n
    int64_t size              # rows of a share; the last one may have fewer
    int n_shares
    const double* y
    const double* score
    const double* weight      # or NULL
    int64_t n_buckets
    double best               # the largest score; the bucket of another one is
    double scale              # (best - score) * scale, rounded down
    double* ends              # (n_shares, 2): the smallest and the largest score of each share
    int64_t* next_row         # (n_shares, n_counters): numbers of rows, then places of next rows
    int64_t n_counters        # n_buckets, or 2 n_buckets for positive and negative rows
    uint32_t* counter         # (n,): the counter of each row
    RankedRow* rows           # (n,): the result, rows or
    double* scores            # scores


cdef DealLoop new_loop(
    const double[::1] y, const double[::1] score, int n_threads,
) noexcept:
    """The loop of a counting sort of at least one row, with a range of rows for each thread.

    The caller sets the other fields: the buckets, and where the results go.
    """
    cdef DealLoop loop
    loop.n = y.shape[0]
    loop.size = (loop.n + n_threads - 1) // n_threads
    loop.n_shares = <int>((loop.n + loop.size - 1) // loop.size)
    loop.y, loop.score, loop.weight = &y[0], &score[0], NULL
    return loop


cdef void for_each_share(LoopBody body, DealLoop* loop) noexcept nogil:
    """Run the body for each share; its number is the first row divided by ``loop.size``."""
    parallel_shares(body, loop, loop.n, loop.size, loop.n_shares)


cdef void range_body(
    void* context, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    """Find the smallest and the largest score of a share."""
    cdef DealLoop* loop = <DealLoop*>context
    cdef double* ends = loop.ends + 2 * (first // loop.size)
    range_of_scores(loop.score + first, end - first, &ends[0], &ends[1])


cdef void count_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Count the rows of a share by bucket."""
    cdef DealLoop* loop = <DealLoop*>context
    count_buckets(
        loop.score + first, end - first, loop.best, loop.scale, loop.n_buckets,
        loop.next_row + first // loop.size * loop.n_counters)


cdef void deal_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Write the rows of a share into their buckets."""
    cdef DealLoop* loop = <DealLoop*>context
    deal(
        loop.y + first, loop.score + first, loop.weight + first if loop.weight != NULL else NULL,
        end - first, loop.best, loop.scale, loop.n_buckets,
        loop.next_row + first // loop.size * loop.n_counters, loop.rows)


cdef void count_rows_body(
    void* context, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    """Find the counter of each row of a share, and count the share's rows by counter.

    A counter stands for the positive or the negative rows of a bucket. The counts are written to
    `next_row`, where they turn into places of rows later.
    """
    cdef DealLoop* loop = <DealLoop*>context
    find_counters(
        loop.y + first, loop.score + first, end - first, loop.best, loop.scale, loop.n_buckets,
        loop.counter + first)
    count_rows(
        loop.counter + first, end - first, loop.next_row + first // loop.size * loop.n_counters)


cdef void deal_scores_body(
    void* context, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    """Write the scores of a share into the places of their counters."""
    cdef DealLoop* loop = <DealLoop*>context
    deal_scores(
        loop.score + first, loop.counter + first, end - first,
        loop.next_row + first // loop.size * loop.n_counters, loop.scores)


cdef find_scale(DealLoop* loop):
    """Set ``best`` and ``scale`` of `bucket_of` from the range of all scores.

    ``loop.n_buckets`` must be set. If all scores are equal, all rows are in bucket 0.
    """
    cdef double[:, ::1] ends = np.empty((loop.n_shares, 2))
    cdef double best, worst
    cdef int share
    loop.ends = &ends[0, 0]
    with nogil:
        for_each_share(range_body, loop)
    worst, best = ends[0, 0], ends[0, 1]
    for share in range(1, loop.n_shares):
        worst = min(worst, ends[share, 0])
        best = max(best, ends[share, 1])
    loop.best = best
    loop.scale = (loop.n_buckets - 1) / (best - worst) if best > worst else 0.0


cdef struct BucketLoop:
    # A loop over buckets, for `Ranking` (rows and areas) or `count_all_pairs` (scores and pairs).
    RankedRow* rows
    const double* scores
    const int64_t* start      # the first row of each bucket, and the end
    double* work              # for each thread, `work_size` doubles
    int64_t work_size
    double* positive          # element b + 1: the weights of bucket b, summed later, so that
    double* negative          # element b has the total weight of the rows before bucket b
    curve area_under
    double* areas             # of each bucket: the result of `area_under`
    int64_t* pairs            # of each bucket: see `pairs_of_bucket`


cdef void sort_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Sort the buckets ``first`` to ``end``, and sum the weights of each."""
    cdef BucketLoop* loop = <BucketLoop*>context
    cdef RankedRow* rows
    cdef int64_t bucket, n
    for bucket in range(first, end):
        rows = loop.rows + loop.start[bucket]
        n = loop.start[bucket + 1] - loop.start[bucket]
        sort_bucket(rows, n, loop.work + thread * loop.work_size)
        weigh(rows, n, &loop.positive[bucket + 1], &loop.negative[bucket + 1])


cdef void area_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Compute the areas under the curve of the buckets ``first`` to ``end``."""
    cdef BucketLoop* loop = <BucketLoop*>context
    cdef const int64_t* start = loop.start
    cdef int64_t bucket
    for bucket in range(first, end):
        loop.areas[bucket] = loop.area_under(
            loop.rows + start[bucket], start[bucket + 1] - start[bucket],
            loop.positive[bucket], loop.negative[bucket])


cdef void pair_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Count the pairs in some buckets, in which positive rows come first."""
    cdef BucketLoop* loop = <BucketLoop*>context
    cdef const int64_t* start
    cdef int64_t bucket
    for bucket in range(first, end):
        start = loop.start + 2 * bucket
        loop.pairs[bucket] = pairs_of_bucket(
            loop.scores + start[0], start[1] - start[0], start[2] - start[1],
            loop.work + thread * loop.work_size)


cdef class Ranking:
    """Rows by descending score: distributed into buckets by score, and sorted in each bucket.

    The area of each bucket is computed separately, so that areas do not depend on threads.
    """

    cdef:
        int n_threads
        int64_t n_buckets
        RankedRow* rows
        object memory
        # The first row of each bucket, and the end.
        int64_t[::1] start
        # (2, n_buckets + 1): the total weights of the positive and of the negative rows before each
        # bucket, and of all rows.
        double[:, ::1] before

    def __init__(self, y, score, weight, int n_threads):
        cdef int64_t n = y.shape[0]
        self.n_threads = n_threads if n >= MIN_RANKED_FOR_TEAM else 1
        self.n_buckets = max(1, min(<int64_t>MAX_BUCKETS, n // ROWS_PER_BUCKET))
        self.memory = np.empty((n, 2))
        cdef double[:, ::1] memory = self.memory
        self.rows = <RankedRow*>&memory[0, 0] if n else NULL
        self._deal(y, score, weight)
        self._sort()

    cdef _deal(
        self, const double[::1] y, const double[::1] score, const double[::1] weight
    ):
        """Distribute the rows into buckets by score: a counting sort."""
        cdef int64_t[:, ::1] next_row
        cdef DealLoop loop
        self.start = np.zeros(self.n_buckets + 1, dtype=np.int64)
        if y.shape[0] == 0:
            return
        loop = new_loop(y, score, self.n_threads)
        loop.n_buckets = loop.n_counters = self.n_buckets
        next_row = np.zeros((loop.n_shares, loop.n_counters), dtype=np.int64)
        loop.next_row, loop.rows = &next_row[0, 0], self.rows
        if weight is not None:
            loop.weight = &weight[0]
        find_scale(&loop)
        with nogil:
            for_each_share(count_body, &loop)
            counts_to_rows(loop.next_row, loop.n_shares, loop.n_counters, &self.start[0])
            for_each_share(deal_body, &loop)

    cdef _sort(self):
        """Sort the buckets, and sum the weights before each of them."""
        cdef:
            int64_t longest = longest_bucket(self.start)
            double[:, ::1] work = np.empty((self.n_threads, WORK_PER_ROW * longest + 2))
            double[:, ::1] weights = np.zeros((2, self.n_buckets + 1))
            BucketLoop loop
            int64_t bucket
        loop.rows, loop.start = self.rows, &self.start[0]
        loop.work, loop.work_size = &work[0, 0], work.shape[1]
        loop.positive, loop.negative = &weights[0, 0], &weights[1, 0]
        with nogil:
            parallel_for(
                sort_body, &loop, self.n_buckets, BUCKETS_PER_TASK, self.n_threads)
        for bucket in range(self.n_buckets):
            weights[0, bucket + 1] += weights[0, bucket]
            weights[1, bucket + 1] += weights[1, bucket]
        self.before = weights

    cdef double area(self, curve area_under):
        """The area under a curve, summed bucket by bucket."""
        cdef:
            double[::1] areas = np.empty(self.n_buckets)
            double total = 0.0
            BucketLoop loop
            int64_t bucket
        loop.rows, loop.start = self.rows, &self.start[0]
        loop.positive, loop.negative = &self.before[0, 0], &self.before[1, 0]
        loop.area_under, loop.areas = area_under, &areas[0]
        with nogil:
            parallel_for(
                area_body, &loop, self.n_buckets, BUCKETS_PER_TASK, self.n_threads)
        for bucket in range(self.n_buckets):
            total += areas[bucket]
        return total

    cdef (double, double) total_weights(self):
        """The total weights of the positive and of the negative rows."""
        return self.before[0, self.n_buckets], self.before[1, self.n_buckets]


# ----------------------------------------------------------- pairs of rows without weights


cdef void count_rows(const uint32_t* counter, int64_t n, int64_t* counts_inout) noexcept nogil:
    """Add the number of rows of each counter to it; ``counter``, (n,): the counter of each row."""
    cdef int64_t i
    for i in range(n):
        counts_inout[counter[i]] += 1


cdef void deal_scores(
    const double* score, const uint32_t* counter, int64_t n, int64_t* next_row_inout,
    double* scores_out,
) noexcept nogil:
    """Write scores into the places of their counters, in the order of rows.

    - ``counter``, (n,): 2 * bucket for positive rows, 2 * bucket + 1 for negative ones.
    - ``next_row_inout``: by counter, the place of its next row in ``scores_out``; moved on.
    """
    cdef int64_t i
    for i in range(n):
        scores_out[next_row_inout[counter[i]]] = score[i]
        next_row_inout[counter[i]] += 1


cdef int64_t pairs_of_bucket(
    const double* score, int64_t n_positive, int64_t n_negative, double* work,
) noexcept nogil:
    """Twice the pairs in the right order in a bucket; pairs with equal scores count one half.

    A pair is a positive and a negative row, in the right order if the positive one has the larger
    score. Twice their number is a whole number, so no sum of pairs is rounded.

    - ``score``: those of the positive rows, then those of the negative ones.
    - ``work``: 2 + WORK_PER_ROW doubles for each row.
    """
    cdef int64_t n = n_positive + n_negative, pairs = 0, i
    cdef double smallest, largest
    cdef RankedRow* rows = <RankedRow*>work
    if n_positive * n_negative <= MAX_PAIRS_PER_ROW * n:
        count_pairs(score, n_positive, score + n_positive, n_negative, &pairs)
        return pairs
    range_of_scores(score, n, &smallest, &largest)
    if smallest == largest:
        return n_positive * n_negative
    for i in range(n):
        rows[i].negated = 0.0 - score[i]
        rows[i].weight = 1.0 if i < n_positive else -1.0
    sort_bucket(rows, n, work + 2 * n)
    return <int64_t>(2 * roc(rows, n, 0.0, 0.0))


cdef int64_t count_all_pairs(
    const double* scores, const int64_t[::1] start, int n_threads,
):
    """Twice the pairs in the right order: those in each bucket, and between buckets.

    - ``scores``: by bucket; in each, those of the positive rows come first.
    - ``start``, (2 * n_buckets + 1,): where the positive and the negative rows of each bucket
      begin.

    Scores of earlier buckets are larger: a negative row makes a right pair with each positive row
    of the buckets before its own.
    """
    cdef:
        int64_t n_buckets = start.shape[0] // 2
        double[:, ::1] work = np.empty(
            (n_threads, (2 + WORK_PER_ROW) * longest_bucket(start[::2].copy()) + 2))
        int64_t[::1] pairs = np.empty(n_buckets, dtype=np.int64)
        int64_t total = 0, positive = 0, bucket
        BucketLoop loop
    loop.scores, loop.start, loop.pairs = scores, &start[0], &pairs[0]
    loop.work, loop.work_size = &work[0, 0], work.shape[1]
    with nogil:
        parallel_for(pair_body, &loop, n_buckets, BUCKETS_PER_TASK, n_threads)
    for bucket in range(n_buckets):
        total += pairs[bucket] + (
            2 * positive * (start[2 * bucket + 2] - start[2 * bucket + 1]))
        positive += start[2 * bucket + 1] - start[2 * bucket]
    return total


cdef double area_of_pairs(const double[::1] y, const double[::1] score, int n_threads):
    """The area under the ROC curve of rows without weights, from counts of pairs.

    It is the fraction of all pairs of a positive and a negative row that are in the right order:
    D. Bamber, "The area above the ordinal dominance graph and the area below the receiver operating
    characteristic graph", Journal of Mathematical Psychology 12, 1975. NaN if there is no pair.
    """
    cdef:
        int64_t n = y.shape[0]
        int64_t n_buckets = max(1, min(<int64_t>MAX_PAIR_BUCKETS, n // ROWS_PER_BUCKET))
        uint32_t[::1] counter = np.empty(n, dtype=np.uint32)
        double[::1] dealt = np.empty(n)
        int64_t[:, ::1] next_row
        int64_t[::1] start = np.zeros(2 * n_buckets + 1, dtype=np.int64)
        int64_t positive = 0, pairs, bucket
        DealLoop loop
    if n == 0:
        return NAN
    loop = new_loop(y, score, n_threads)
    loop.n_buckets, loop.n_counters = n_buckets, 2 * n_buckets
    next_row = np.zeros((loop.n_shares, loop.n_counters), dtype=np.int64)
    loop.next_row, loop.counter, loop.scores = &next_row[0, 0], &counter[0], &dealt[0]
    find_scale(&loop)
    with nogil:
        for_each_share(count_rows_body, &loop)
        counts_to_rows(loop.next_row, loop.n_shares, loop.n_counters, &start[0])
        for_each_share(deal_scores_body, &loop)
    for bucket in range(n_buckets):
        positive += start[2 * bucket + 1] - start[2 * bucket]
    if positive == 0 or positive == n:
        return NAN
    pairs = count_all_pairs(&dealt[0], start, n_threads)
    return 0.5 * pairs / (<double>positive * <double>(n - positive))


def auc(
    y: NDArray[np.float64], score: NDArray[np.float64], weight: NDArray[np.float64] | None,
    n_threads: int,
) -> float:
    """The area under the ROC curve, or NaN if all rows have one class.

    Rows whose ``y`` is above 0 are positive. Pairs with equal scores count one half.

    - ``y``, ``score``, (n,).
    - ``weight``, (n,) or None: None means 1.
    """
    if weight is None:
        return area_of_pairs(y, score, n_threads if len(y) >= MIN_PAIRED_FOR_TEAM else 1)
    cdef Ranking ranking = Ranking(y, score, weight, n_threads)
    positive, negative = ranking.total_weights()
    if not (positive > 0 and negative > 0):
        return NAN
    return ranking.area(roc) / (positive * negative)


def average_precision(
    y: NDArray[np.float64], score: NDArray[np.float64], weight: NDArray[np.float64] | None,
    n_threads: int,
) -> float:
    """The mean precision over all thresholds, weighted by the increase in recall.

    It is NaN if all rows have one class. Rows whose ``y`` is above 0 are positive. The arguments
    are those of `auc`.
    """
    cdef Ranking ranking = Ranking(y, score, weight, n_threads)
    positive, negative = ranking.total_weights()
    if not (positive > 0 and negative > 0):
        return NAN
    return ranking.area(precision_and_recall) / positive


def concordant_weights(
    const int64_t[::1] rows, const uint8_t[::1] is_query, const uint8_t[::1] begins,
    const int64_t[::1] rank, const double[::1] weight,
) -> tuple[float, float, float]:
    """The weights of pairs of rows: of each query with the rows inserted before in its stratum.

    It counts the pairs of a concordance index: a query is an event, and the rows inserted before it
    are those of the stratum (a group with its own baseline hazard) that have lived longer. The
    weight of a pair is the product of the weights of its rows.

    - ``rows``, (n,): the rows in the order of their insertions and queries; a row may occur twice.
    - ``is_query``, (n,): 1 for a query, 0 for an insertion.
    - ``begins``, (n,): 1 at the first element of each stratum.
    - ``rank``, (n_rows,): of the predicted value of each row, 0 to n_rows - 1, equal for ties. The
      ranks of a stratum are below those of the strata before, so no insertion must be removed.
    - ``weight``, (n_rows,).

    Returns the weight of the pairs in which the query has the larger rank, of those with equal
    ranks, and of all pairs. A Fenwick tree has the cumulative weights by rank: P. M. Fenwick, "A
    New Data Structure for Cumulative Frequency Tables", Software: Practice and Experience 24, 1994.
    """
    cdef:
        int64_t n = rows.shape[0], n_rows = rank.shape[0], i, at
        double larger = 0.0, equal = 0.0, total = 0.0, inserted = 0.0, below, row_weight
        double[::1] tree = np.zeros(n_rows + 1)
        double[::1] rank_weight = np.zeros(n_rows)
    with nogil:
        for i in range(n):
            row_weight = weight[rows[i]]
            at = rank[rows[i]]
            if begins[i]:
                inserted = 0.0
            if is_query[i]:
                equal += row_weight * rank_weight[at]
                total += row_weight * inserted
                below = 0.0
                # The sum of the ranks below `at`: each node of the tree has 2**k ranks, where k is
                # the number of zeros at the end of its number.
                while at > 0:
                    below += tree[at]
                    at &= at - 1
                larger += row_weight * below
                continue
            inserted += row_weight
            rank_weight[at] += row_weight
            at += 1
            while at <= n_rows:
                tree[at] += row_weight
                at += at & -at
    return larger, equal, total
