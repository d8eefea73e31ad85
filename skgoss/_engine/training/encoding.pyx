"""The number format of a round, and its gradients and hessians as integers.

The trees of a round that grow side by side are encoded together.

Fixed-point integers have sums that depend neither on the order of the rows nor on the number of
threads. The formats are described in ``layout.h``, and how they are chosen in docs/design.md,
section 4.

The integer of a number x is round(x * scale), where the scale is a power of two and the unit is its
inverse. In a packed round, gradient and hessian of a row and its number share 64 bits; in a wide
round, each has an integer of its own.
"""

from libc.math cimport INFINITY, frexp, isfinite, ldexp, rint
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skgoss._engine.atomics cimport fetch_add
from skgoss._engine.bits cimport bit_length
from skgoss._engine.threads cimport LoopBody, parallel_shares
from skgoss._engine.training.kernel_collectives cimport all_reduce_doubles
from skgoss._engine.training.histogram cimport sum_records
from skgoss._engine.training.layout cimport WIDE_WIDTH, Encoding, Gradients, Sums
from skgoss._engine.training.workspace cimport NOT_FINITE, NO_MEMORY, Shared, Workspace

cdef extern from "encoding.h" nogil:
    const double ROOT_LEVELS

    void gather_gradients(
        const Gradients* rows, Py_ssize_t first, Py_ssize_t n, const Gathered* out)
    void gradient_stats(
        const Gradients* rows, Py_ssize_t first, Py_ssize_t n, GradientStats* out)
    void sum_roots(
        const Gradients* rows, Py_ssize_t first, Py_ssize_t n, double gradient_scale,
        double hessian_scale, Roots* out)
    void encode_packed(
        const Gradients* rows, Py_ssize_t first, Py_ssize_t n, double gradient_scale,
        double hessian_scale, const Encoding* encoding, uint64_t* records_out)
    void encode_wide(
        const Gradients* rows, Py_ssize_t first, Py_ssize_t n, double gradient_scale,
        double hessian_scale, int64_t* pairs_out)

cdef enum:
    ROW_BLOCK = 4096        # stays in the cache between the passes over its rows
    MAX_COUNT_BITS_CONSTANT = 20
    MIN_TYPICAL_UNITS = 16  # packed integers are too coarse if they are typically smaller
    MAX_WIDE_BITS = 50      # `nearest` rounds up to 51
    MAX_PACKED_BITS = 38    # sums of `capacity` rows stay below 2**51, exact as doubles
    MAX_EXPONENT = 1000     # 2**1000 and 2**-1000 are normal numbers

cdef enum:
    # What `reduce_stats` reduces over all processes: the sum of the first number and the maxima of
    # the others. A minimum is reduced as a maximum: min(x) = -max(-x).
    N_SELECTED
    HAS_NAN
    MAX_GRADIENT
    MAX_HESSIAN
    MINUS_MIN_HESSIAN
    HESSIANS_VARY
    MAX_FIRST_HESSIAN
    MINUS_MIN_FIRST_HESSIAN
    N_REDUCED


# ------------------------------------------------------------------ blocks of rows

cdef struct RootLoop:
    # The rows of several roots, which have the same number of rows, in blocks. Iteration i is
    # block i // n_roots of root i % n_roots.
    RootRows* roots
    int n_roots
    Py_ssize_t n_rows
    GradientStats* by_block   # of each iteration


cdef inline Py_ssize_t count_blocks(Py_ssize_t n_rows) noexcept nogil:
    """The number of blocks of the rows of a root."""
    return (n_rows + ROW_BLOCK - 1) // ROW_BLOCK


cdef RootLoop root_loop(RootRows* roots, int n_roots) noexcept nogil:
    """A loop over the rows of all roots; ``by_block`` is NULL."""
    return RootLoop(roots, n_roots, roots.gradients.n, NULL)


cdef void run_blocks(LoopBody body, RootLoop* loop) noexcept nogil:
    """Run a loop over the blocks of all roots: each thread gets the same rows of all roots."""
    parallel_shares(
        body, loop, loop.n_roots * count_blocks(loop.n_rows), loop.n_roots,
        loop.roots.ws.n_threads)


cdef inline Py_ssize_t first_row(const RootLoop* loop, Py_ssize_t i) noexcept nogil:
    """The first row of iteration i."""
    return i // loop.n_roots * ROW_BLOCK


cdef inline Py_ssize_t count_rows(const RootLoop* loop, Py_ssize_t i) noexcept nogil:
    """The number of rows of iteration i."""
    return min(<Py_ssize_t>ROW_BLOCK, loop.n_rows - first_row(loop, i))


# ------------------------------------------------------------------ statistics of gradients

cdef void gather_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Gather the gradients of the iterations ``first`` to ``end``."""
    cdef RootLoop* loop = <RootLoop*>context
    cdef const RootRows* root
    cdef Py_ssize_t i
    for i in range(first, end):
        root = &loop.roots[i % loop.n_roots]
        gather_gradients(
            &root.gradients, first_row(loop, i), count_rows(loop, i), &root.gathered)


cdef int start_gather(RootRows* root) noexcept nogil:
    """Point to memory for the gradients of the sampled rows of a root; 0 or NO_MEMORY."""
    cdef Workspace* ws = root.ws
    cdef Py_ssize_t n_rows = root.gradients.n_rows
    if ws.gathered == NULL:
        ws.gathered = <double*>malloc(
            n_rows * (sizeof(double) + 2 * sizeof(float) + sizeof(uint32_t)))
        if ws.gathered == NULL:
            return NO_MEMORY
    root.gathered.weight = ws.gathered
    root.gathered.gradient = <float*>(ws.gathered + n_rows)
    root.gathered.hessian = root.gathered.gradient + n_rows
    root.gathered.frequency = <uint32_t*>(root.gathered.hessian + n_rows)
    return 0


cdef void end_gather(RootRows* root) noexcept nogil:
    """Point to the gathered gradients of a root in place of those of all rows.

    From here on, gradients are read by position in the sample, and not by row.
    """
    cdef Gradients* gradients = &root.gradients
    gradients.gradient = root.gathered.gradient
    gradients.hessian = root.gathered.hessian if gradients.hessian != NULL else NULL
    gradients.weight = root.gathered.weight if gradients.weight != NULL else NULL
    gradients.frequency = root.gathered.frequency if gradients.frequency != NULL else NULL


cdef int gather_sampled(RootRows* roots, int n_roots) noexcept nogil:
    """Gather the gradients of the sampled rows, one after the other; 0 or NO_MEMORY.

    Several passes read them, and only this one has scattered reads.
    """
    cdef RootLoop loop = root_loop(roots, n_roots)
    cdef int k
    if roots.gradients.sampled == NULL:
        return 0
    for k in range(n_roots):
        if start_gather(&roots[k]) < 0:
            return NO_MEMORY
    run_blocks(gather_body, &loop)
    for k in range(n_roots):
        end_gather(&roots[k])
    return 0


cdef void merge_stats(const GradientStats* stats, GradientStats* total) noexcept nogil:
    """Merge the statistics of a block into the total."""
    total.gradient_max = max(total.gradient_max, stats.gradient_max)
    total.hessian_max = max(total.hessian_max, stats.hessian_max)
    total.hessian_min = min(total.hessian_min, stats.hessian_min)
    total.nan_check += stats.nan_check


cdef void stats_body(
    void* context, Py_ssize_t first, Py_ssize_t end, int thread,
) noexcept nogil:
    """Find the extremes of the iterations ``first`` to ``end``."""
    cdef RootLoop* loop = <RootLoop*>context
    cdef Py_ssize_t i
    for i in range(first, end):
        gradient_stats(
            &loop.roots[i % loop.n_roots].gradients, first_row(loop, i), count_rows(loop, i),
            &loop.by_block[i])


cdef int find_extremes(RootRows* roots, int n_roots) noexcept nogil:
    """Extremes of the weighted gradients and hessians of each root; 0 or NO_MEMORY."""
    cdef RootLoop loop = root_loop(roots, n_roots)
    cdef Py_ssize_t n = n_roots * count_blocks(loop.n_rows)
    cdef Py_ssize_t i
    for i in range(n_roots):
        memset(&roots[i].stats, 0, sizeof(GradientStats))
    loop.by_block = <GradientStats*>malloc((n + 1) * sizeof(GradientStats))
    if loop.by_block == NULL:
        return NO_MEMORY
    run_blocks(stats_body, &loop)
    for i in range(n):
        merge_stats(&loop.by_block[i], &roots[i % n_roots].stats)
    free(loop.by_block)
    return 0


cdef bint hessians_vary(const Gradients* gradients, float* first_out) noexcept nogil:
    """Whether the hessians of the rows differ, apart from their weights.

    ``first_out``: the first one; not set if hessians are all 1, or there are no rows.
    """
    cdef Py_ssize_t i
    if gradients.hessian == NULL or gradients.n == 0:
        return False
    first_out[0] = gradients.hessian[0]
    for i in range(1, gradients.n):
        if gradients.hessian[i] != first_out[0]:
            return True
    return False


cdef int reduce_stats(Shared* shared, RootRows* root) noexcept nogil:
    """All-reduce the gradient statistics of a root.

    Returns 0, NOT_FINITE if a number of any process is NaN or infinite, or another error.
    Hessians vary if they do within a process, or if the first ones of the processes differ.
    """
    cdef Gradients* gradients = &root.gradients
    cdef GradientStats* stats = &root.stats
    cdef double[N_REDUCED] values
    cdef float first = 0
    cdef bint vary = hessians_vary(gradients, &first)
    cdef bint has_rows = gradients.hessian != NULL and gradients.n > 0
    cdef int status
    values[N_SELECTED] = gradients.n
    values[HAS_NAN] = not isfinite(stats.nan_check)
    values[MAX_GRADIENT] = stats.gradient_max
    values[MAX_HESSIAN] = stats.hessian_max
    values[MINUS_MIN_HESSIAN] = -stats.hessian_min
    values[HESSIANS_VARY] = vary
    values[MAX_FIRST_HESSIAN] = first if has_rows else -INFINITY
    values[MINUS_MIN_FIRST_HESSIAN] = -first if has_rows else -INFINITY
    status = all_reduce_doubles(shared.collectives, values, 1, N_REDUCED - 1)
    if status < 0:
        return status
    gradients.n_global = <int64_t>values[N_SELECTED]
    stats.gradient_max = values[MAX_GRADIENT]
    stats.hessian_max = values[MAX_HESSIAN]
    stats.hessian_min = -values[MINUS_MIN_HESSIAN]
    root.ws.rules.limits_hessians = not root.ws.reweighted and (
        values[HESSIANS_VARY] > 0
        or values[MAX_FIRST_HESSIAN] > -values[MINUS_MIN_FIRST_HESSIAN])
    return NOT_FINITE if values[HAS_NAN] > 0 else 0


cdef int gather_stats(Shared* shared, RootRows* roots, int n_roots) noexcept nogil:
    """Gather the gradients of the roots, and find the statistics of those of all processes.

    Returns 0, NOT_FINITE or another error.
    """
    cdef int status = gather_sampled(roots, n_roots)
    cdef int k
    if status == 0:
        status = find_extremes(roots, n_roots)
    for k in range(n_roots):
        if status == 0:
            status = reduce_stats(shared, &roots[k])
    return status


# ------------------------------------------------------------------ the format

cdef int fixed_point_exponent(double largest, int bits) noexcept nogil:
    """The greatest k with round(largest * 2**k) < 2**bits, at most MAX_EXPONENT.

    0 if ``largest`` is 0.
    """
    cdef int exponent
    if largest <= 0:
        return 0
    frexp(largest, &exponent)
    exponent = min(bits - exponent, MAX_EXPONENT)
    if rint(ldexp(largest, exponent)) >= ldexp(1.0, bits):
        return exponent - 1
    return exponent


cdef double wide_scale(double largest, int64_t total_frequency) noexcept nogil:
    """The scale at which ``total_frequency`` integers of up to ``largest`` have a 64-bit sum.

    n integers below 2**b have a sum below 2**(b + bit_length(n)), which leaves a bit for the sign
    and one to spare.
    """
    cdef int bits = min(62 - bit_length(total_frequency), MAX_WIDE_BITS)
    return ldexp(1.0, fixed_point_exponent(largest, bits))


cdef inline bint all_ones(const Gradients* rows) noexcept nogil:
    """Whether all hessians are 1, apart from frequency weights."""
    return rows.hessian == NULL and rows.weight == NULL


cdef Encoding choose_encoding(
    const GradientStats* stats, const Gradients* rows, bint wide,
) noexcept nogil:
    """The number format of a round; ``wide``: packed integers would be too coarse.

    The units are those of a round in which each row is repeated ``frequency`` times.

    A packed addend has three fields: gradient, hessian and count (two if hessians are all 1, as the
    count is the sum of hessians). A field needs ``count_bits`` more bits than its integers to sum
    the rows that an accumulator holds, so 63 - n_fields * count_bits bits remain for the integers
    of a row. Hessians get half of them.
    """
    cdef Encoding encoding
    cdef bint constant = all_ones(rows)
    cdef int n_fields = 2 if constant else 3
    cdef int count_bits = min(
        bit_length(rows.total_frequency), MAX_COUNT_BITS_CONSTANT if constant else MAX_COUNT_BITS)
    cdef int value_bits = 63 - n_fields * count_bits
    cdef int hessian_bits = 0 if constant else min(value_bits // 2, MAX_PACKED_BITS)
    cdef int gradient_bits = min(value_bits - hessian_bits, MAX_PACKED_BITS)
    memset(&encoding, 0, sizeof(Encoding))
    encoding.id_mask = <uint64_t>-1
    encoding.capacity = rows.n_global_rows
    encoding.width = WIDE_WIDTH
    encoding.constant_hessian = constant and rows.frequency == NULL
    if wide or stats.hessian_min < 0:
        encoding.gradient_unit = 1.0 / wide_scale(stats.gradient_max, rows.total_frequency)
        encoding.hessian_unit = 1.0 / wide_scale(
            max(stats.hessian_max, -stats.hessian_min), rows.total_frequency)
    else:
        encoding.gradient_unit = ldexp(
            1.0, -fixed_point_exponent(stats.gradient_max, gradient_bits))
        encoding.hessian_unit = stats.hessian_max if constant else ldexp(
            1.0, -fixed_point_exponent(stats.hessian_max, hessian_bits))
        encoding.packed = assign_bits(rows, gradient_bits, hessian_bits, &encoding)
    if encoding.packed:
        encoding.width = 1
    encoding.compact = encoding.packed and rows.n_global <= encoding.capacity
    return encoding


cdef bint assign_bits(
    const Gradients* rows, int gradient_bits, int hessian_bits, Encoding* encoding,
) noexcept nogil:
    """Assign bits to the fields of records and addends; False if 64 bits are too few.

    ``gradient_bits``, ``hessian_bits``: of the integers of a row of frequency 1; a hessian of 1
    has no bits, because it is the frequency.

    A record has gradient, hessian (each longer by the bits of the frequency) and row number, an
    addend gradient, hessian and count. The larger the capacity (the rows that an accumulator can
    sum), the less often accumulators are moved to histograms: so the count begins with the most
    bits that can be useful, and gets fewer until the fields of an addend fit.
    """
    cdef int frequency_bits = bit_length(rows.max_frequency) if rows.frequency != NULL else 0
    cdef int id_bits = 63 - gradient_bits - hessian_bits - 2 * frequency_bits
    cdef int spare_bits = 63 - gradient_bits - hessian_bits
    cdef int n_fields = 1 if encoding.constant_hessian else 2
    cdef int row_bits = bit_length(rows.n_global_rows)
    cdef int bits = min(
        row_bits, MAX_COUNT_BITS_CONSTANT if encoding.constant_hessian else MAX_COUNT_BITS)
    cdef int min_bits = min(bits, MIN_COUNT_BITS)
    cdef int sum_bits         # by which a sum of `capacity` rows is longer than one integer
    cdef Py_ssize_t capacity
    while bits >= min_bits and id_bits >= row_bits:
        capacity = (<Py_ssize_t>1 << bits) - 1
        sum_bits = bit_length(min(capacity * rows.max_frequency, rows.total_frequency))
        if bits + n_fields * sum_bits <= spare_bits:
            encoding.count_bits = bits
            encoding.capacity = capacity
            encoding.addend_gradient_shift = bits + (n_fields - 1) * (sum_bits + hessian_bits)
            encoding.record_hessian_shift = id_bits
            encoding.record_gradient_shift = 63 - gradient_bits - frequency_bits
            encoding.hessian_mask = (<uint64_t>1 << (encoding.record_gradient_shift - id_bits)) - 1
            encoding.id_mask = (<uint64_t>1 << id_bits) - 1
            return True
        bits -= 1
    return False


cdef bint is_large_enough(int64_t roots, int64_t n) noexcept nogil:
    """Whether integers are typically large enough, by the sum of the roots of their magnitudes.

    ``roots``: of n rows, in units of 1 / ROOT_LEVELS: see `Roots`. The squared mean of square roots
    must be at least MIN_TYPICAL_UNITS. It is robust: a few outliers change it little.
    """
    cdef double mean_root = roots / (ROOT_LEVELS * n)
    return mean_root * mean_root >= MIN_TYPICAL_UNITS


# ------------------------------------------------------------------ integers

cdef void encode_block(RootRows* root, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
    """Encode n rows of a root, from ``first`` on, and add them to its sums, exact in any order."""
    cdef const Gradients* rows = &root.gradients
    cdef const Encoding* encoding = &root.ws.encoding
    cdef double gradient_scale = 1.0 / encoding.gradient_unit
    cdef double hessian_scale = 1.0 / encoding.hessian_unit
    cdef Roots roots
    cdef Sums sums
    cdef Py_ssize_t i
    sum_roots(rows, first, n, gradient_scale, hessian_scale, &roots)
    if encoding.packed:
        encode_packed(rows, first, n, gradient_scale, hessian_scale, encoding, root.records)
    else:
        encode_wide(rows, first, n, gradient_scale, hessian_scale, root.ws.pairs)
        for i in range(first, first + n):
            root.records[i] = rows.ids[i] if rows.ids != NULL else <uint64_t>i
    sums = sum_records(encoding, root.records + first, n, root.ws.pairs)
    fetch_add(&root.roots.n, roots.n)
    fetch_add(&root.roots.gradient, roots.gradient)
    fetch_add(&root.roots.hessian, roots.hessian)
    fetch_add(&root.sums.gradient, sums.gradient)
    fetch_add(&root.sums.hessian, sums.hessian)


cdef void encode_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Encode the iterations ``first`` to ``end``, unless the format of their root is final."""
    cdef RootLoop* loop = <RootLoop*>context
    cdef RootRows* root
    cdef Py_ssize_t i
    for i in range(first, end):
        root = &loop.roots[i % loop.n_roots]
        if not root.is_precise:
            encode_block(root, first_row(loop, i), count_rows(loop, i))


cdef bint is_precise(const Gradients* rows, const Roots* roots) noexcept nogil:
    """Whether the integers of a round are typically large enough.

    ``roots``: sums of the square roots of the integers' sizes. If they are too small, rounding
    gradients to integers would lose too much, and the round is encoded again with wide integers.
    """
    return is_large_enough(roots.gradient, roots.n) and (
        all_ones(rows) or is_large_enough(roots.hessian, roots.n))


cdef void set_leaf_scales(RootRows* root) noexcept nogil:
    """Choose the scales of the sums of leaves, which are finer than those of histograms.

    The value of a leaf is computed from a sum of its own over the rows, with up to 62 bits for all
    rows together. A scale is what a gradient or hessian is multiplied by before it is rounded.
    """
    cdef Workspace* ws = root.ws
    cdef const GradientStats* stats = &root.stats
    cdef int64_t n_summed = (
        root.gradients.n_global if root.gradients.frequency == NULL
        else root.gradients.total_frequency)
    ws.gradient_scale = wide_scale(stats.gradient_max, n_summed)
    ws.hessian_scale = wide_scale(max(stats.hessian_max, -stats.hessian_min), n_summed)


cdef int choose_format(RootRows* root, bint wide) noexcept nogil:
    """Choose how the rows of a root are written; 0 or NO_MEMORY.

    ``wide``: with an integer each for gradient and hessian, as packed ones are too coarse. Sums of
    the root become 0.
    """
    cdef Workspace* ws = root.ws
    set_leaf_scales(root)
    ws.encoding = choose_encoding(&root.stats, &root.gradients, wide)
    ws.compact_encoding = ws.encoding
    ws.compact_encoding.compact = True
    ws.rules.gradient_unit = ws.encoding.gradient_unit
    ws.rules.hessian_unit = ws.encoding.hessian_unit
    memset(&root.roots, 0, sizeof(Roots))
    memset(&root.sums, 0, sizeof(Sums))
    root.sums.count = root.gradients.n
    if not ws.encoding.packed and ws.pairs == NULL:
        ws.pairs = <int64_t*>malloc(2 * ws.data.n_rows * sizeof(int64_t))
        if ws.pairs == NULL:
            return NO_MEMORY
    return 0


cdef int encode_rounds(RootRows* roots, int n_roots, bint wide) noexcept nogil:
    """Write the records and sums of the roots that are not precise yet; 0 or NO_MEMORY.

    They are packed if possible, or ``wide``.
    """
    cdef RootLoop loop = root_loop(roots, n_roots)
    cdef int k
    for k in range(n_roots):
        if not roots[k].is_precise and choose_format(&roots[k], wide) < 0:
            return NO_MEMORY
    run_blocks(encode_body, &loop)
    return 0
