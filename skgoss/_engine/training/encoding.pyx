"""The number format of a round, and its gradients and hessians as integers.

Fixed-point integers have sums that depend neither on the order of the rows nor on the number of
threads. The formats are described in ``layout.h``, and how they are chosen in docs/design.md,
section 4.
"""

from libc.math cimport INFINITY, frexp, isfinite, ldexp, rint
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skgoss._engine.atomics cimport fetch_add
from skgoss._engine.bits cimport bit_length
from skgoss._engine.threads cimport parallel_shares
from skgoss._engine.training.kernel_collectives cimport all_reduce_doubles
from skgoss._engine.training.histogram cimport sum_records
from skgoss._engine.training.layout cimport (
    WIDE_WIDTH, Encoding, Gradients, Sums)
from skgoss._engine.training.workspace cimport NO_MEMORY, NOT_FINITE, Shared, Workspace

cdef extern from "encoding.h" nogil:
    const double ROOT_LEVELS

    ctypedef struct Gathered:
        float* gradient
        float* hessian
        double* weight
        uint32_t* copies

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
    STAT_BLOCK = 16384
    ENCODE_BLOCK = 16384    # so few stay near between the sweeps over them
    MAX_COUNT_BITS_CONSTANT = 20
    MIN_TYPICAL_UNITS = 16  # packed numbers that are typically fewer units are too coarse
    MAX_WIDE_BITS = 50      # `nearest` rounds up to 51
    MAX_PACKED_BITS = 38    # sums of as many rows as fit stay below 2**51, exact as doubles
    MAX_EXPONENT = 1000     # its power of two and the reciprocal are normal numbers


cdef struct Gathering:
    Gradients sampled
    Gathered out


cdef void gather_block(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef Gathering* rows = <Gathering*>context
    gather_gradients(&rows.sampled, first, end - first, &rows.out)


cdef int gather_sampled(Workspace* ws, Gradients* gradients_inout) noexcept nogil:
    """Gather the gradients of the sampled rows, one after the other; 0 or NO_MEMORY.

    Several sweeps read them, and this is the only one that jumps.
    """
    cdef Gradients* gradients = gradients_inout
    cdef Gathering rows
    cdef Gathered* out = &rows.out
    if gradients.sampled == NULL:
        return 0
    if ws.gathered == NULL:
        ws.gathered = <double*>malloc(
            gradients.n_rows * (sizeof(double) + 2 * sizeof(float) + sizeof(uint32_t)))
        if ws.gathered == NULL:
            return NO_MEMORY
    out.weight = ws.gathered
    out.gradient = <float*>(out.weight + gradients.n_rows)
    out.hessian = out.gradient + gradients.n_rows
    out.copies = <uint32_t*>(out.hessian + gradients.n_rows)
    rows.sampled = gradients[0]
    parallel_shares(gather_block, &rows, gradients.n, STAT_BLOCK, ws.n_threads)
    gradients.gradient = out.gradient
    gradients.hessian = out.hessian if gradients.hessian != NULL else NULL
    gradients.weight = out.weight if gradients.weight != NULL else NULL
    gradients.copies = out.copies if gradients.copies != NULL else NULL
    return 0


cdef void merge_stats(const GradientStats* stats, GradientStats* total) noexcept nogil:
    """Let extremes of all rows take in those of some."""
    total.gradient_max = max(total.gradient_max, stats.gradient_max)
    total.hessian_max = max(total.hessian_max, stats.hessian_max)
    total.hessian_min = min(total.hessian_min, stats.hessian_min)
    total.zero += stats.zero


cdef struct Statistics:
    const Gradients* rows
    GradientStats* by_block


cdef void block_stats(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef Statistics* all = <Statistics*>context
    gradient_stats(all.rows, first, end - first, &all.by_block[first // STAT_BLOCK])


cdef GradientStats round_stats(const Gradients* rows, int n_threads) noexcept nogil:
    """Extremes of a round's weighted gradients and hessians."""
    cdef Py_ssize_t n_blocks = (rows.n + STAT_BLOCK - 1) // STAT_BLOCK
    cdef GradientStats total, stats
    cdef Statistics all = Statistics(rows, NULL)
    cdef Py_ssize_t block
    memset(&total, 0, sizeof(GradientStats))
    if n_threads > 1 and n_blocks > 1:
        all.by_block = <GradientStats*>malloc(n_blocks * sizeof(GradientStats))
    if all.by_block == NULL:
        gradient_stats(rows, 0, rows.n, &stats)
        merge_stats(&stats, &total)
        return total
    parallel_shares(block_stats, &all, rows.n, STAT_BLOCK, n_threads)
    for block in range(n_blocks):
        merge_stats(&all.by_block[block], &total)
    free(all.by_block)
    return total


cdef int fixed_point_exponent(double largest, int bits) noexcept nogil:
    """The greatest k for which round(largest * 2**k) < 2**bits."""
    cdef int exponent
    if largest <= 0:
        return 0
    frexp(largest, &exponent)
    exponent = min(bits - exponent, MAX_EXPONENT)
    if rint(ldexp(largest, exponent)) >= ldexp(1.0, bits):
        return exponent - 1
    return exponent


cdef int wide_exponent(double largest, int64_t n_copies) noexcept nogil:
    return fixed_point_exponent(largest, min(62 - bit_length(n_copies), MAX_WIDE_BITS))


cdef double fine_scale(double largest, int64_t n_copies) noexcept nogil:
    """The scale at which ``n_copies`` integers of up to ``largest`` have a 64-bit sum."""
    return ldexp(1.0, wide_exponent(largest, n_copies))


cdef inline bint all_ones(const Gradients* rows) noexcept nogil:
    """Whether the hessian of each copy is 1."""
    return rows.hessian == NULL and rows.weight == NULL


cdef Encoding choose_encoding(
    const GradientStats* stats, const Gradients* rows, bint wide,
) noexcept nogil:
    """Number format of a round; ``wide``: its magnitudes need more range than a field has.

    The units are those of a round of the rows' copies.
    """
    cdef Encoding encoding
    cdef bint constant = all_ones(rows)
    cdef int n_fields = 2 if constant else 3
    cdef int count_bits = min(
        bit_length(rows.n_copies), MAX_COUNT_BITS_CONSTANT if constant else MAX_COUNT_BITS)
    cdef int value_bits = 63 - n_fields * count_bits
    cdef int hessian_bits = 0 if constant else min(value_bits // 2, MAX_PACKED_BITS)
    cdef int gradient_bits = min(value_bits - hessian_bits, MAX_PACKED_BITS)
    memset(&encoding, 0, sizeof(Encoding))
    encoding.id_mask = <uint64_t>-1
    encoding.capacity = rows.n_rows_everywhere
    encoding.width = WIDE_WIDTH
    encoding.constant_hessian = constant and rows.copies == NULL
    if wide or stats.hessian_min < 0:
        encoding.gradient_unit = 1.0 / fine_scale(stats.gradient_max, rows.n_copies)
        encoding.hessian_unit = 1.0 / fine_scale(
            max(stats.hessian_max, -stats.hessian_min), rows.n_copies)
    else:
        encoding.gradient_unit = ldexp(
            1.0, -fixed_point_exponent(stats.gradient_max, gradient_bits))
        encoding.hessian_unit = stats.hessian_max if constant else ldexp(
            1.0, -fixed_point_exponent(stats.hessian_max, hessian_bits))
        encoding.packed = assign_bits(rows, gradient_bits, hessian_bits, &encoding)
    if encoding.packed:
        encoding.width = 1
    encoding.compact = encoding.packed and rows.n_everywhere <= encoding.capacity
    return encoding


cdef bint assign_bits(
    const Gradients* rows, int gradient_bits, int hessian_bits, Encoding* encoding,
) noexcept nogil:
    """Find room for records and for sums of many of them; whether there is any.

    ``gradient_bits``, ``hessian_bits``: of a copy's integers; no bits for a hessian of 1,
    which is the number of copies.
    """
    cdef int copy_bits = bit_length(rows.most_copies) if rows.copies != NULL else 0
    cdef int id_bits = 63 - gradient_bits - hessian_bits - 2 * copy_bits
    cdef int spare_bits = 63 - gradient_bits - hessian_bits
    cdef int n_weighed = 1 if encoding.constant_hessian else 2
    cdef int row_bits = bit_length(rows.n_rows_everywhere)
    cdef int bits = min(
        row_bits, MAX_COUNT_BITS_CONSTANT if encoding.constant_hessian else MAX_COUNT_BITS)
    cdef int least_bits = min(bits, MIN_COUNT_BITS)
    cdef int capacity_bits
    cdef Py_ssize_t capacity
    while bits >= least_bits and id_bits >= row_bits:
        capacity = (<Py_ssize_t>1 << bits) - 1
        capacity_bits = bit_length(min(capacity * rows.most_copies, rows.n_copies))
        if bits + n_weighed * capacity_bits <= spare_bits:
            encoding.count_bits = bits
            encoding.capacity = capacity
            encoding.gradient_up = bits + (n_weighed - 1) * (capacity_bits + hessian_bits)
            encoding.hessian_down = id_bits
            encoding.gradient_down = 63 - gradient_bits - copy_bits
            encoding.hessian_mask = (<uint64_t>1 << (encoding.gradient_down - id_bits)) - 1
            encoding.id_mask = (<uint64_t>1 << id_bits) - 1
            return True
        bits -= 1
    return False


cdef bint typical(int64_t roots, int64_t n) noexcept nogil:
    """Whether typical magnitudes are many units.

    The mean of the square roots tells, as a few giants do not move it far.
    """
    cdef double mean_root = roots / (ROOT_LEVELS * n)
    return mean_root * mean_root >= MIN_TYPICAL_UNITS


cdef struct EncodedRows:
    Roots roots               # what `is_fine` asks for
    Sums sums                 # of the integers


cdef EncodedRows encode_block(
    const Gradients* rows, Py_ssize_t first, Py_ssize_t n, const Encoding* encoding,
    uint64_t* records_out, int64_t* pairs_out,
) noexcept nogil:
    """Encode some rows."""
    cdef double gradient_scale = 1.0 / encoding.gradient_unit
    cdef double hessian_scale = 1.0 / encoding.hessian_unit
    cdef EncodedRows found
    cdef Py_ssize_t i
    sum_roots(rows, first, n, gradient_scale, hessian_scale, &found.roots)
    if encoding.packed:
        encode_packed(rows, first, n, gradient_scale, hessian_scale, encoding, records_out)
    else:
        encode_wide(rows, first, n, gradient_scale, hessian_scale, pairs_out)
        for i in range(first, first + n):
            records_out[i] = rows.ids[i] if rows.ids != NULL else <uint64_t>i
    found.sums = sum_records(encoding, records_out + first, n, pairs_out)
    return found


cdef struct EncodeLoop:
    const Gradients* rows
    const Encoding* encoding
    uint64_t* records
    int64_t* pairs
    EncodedRows total         # of integers: the order of the blocks does not matter


cdef void encode_some(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef EncodeLoop* loop = <EncodeLoop*>context
    cdef EncodedRows* total = &loop.total
    cdef EncodedRows found = encode_block(
        loop.rows, first, end - first, loop.encoding, loop.records, loop.pairs)
    fetch_add(&total.roots.n, found.roots.n)
    fetch_add(&total.roots.gradient, found.roots.gradient)
    fetch_add(&total.roots.hessian, found.roots.hessian)
    fetch_add(&total.sums.gradient, found.sums.gradient)
    fetch_add(&total.sums.hessian, found.sums.hessian)


cdef EncodedRows encode(
    const Gradients* rows, const Encoding* encoding, int n_threads, uint64_t* records_out,
    int64_t* pairs_out,
) noexcept nogil:
    """Records of the rows, and in a wide round their pairs."""
    cdef EncodeLoop loop
    loop.rows, loop.encoding = rows, encoding
    loop.records, loop.pairs = records_out, pairs_out
    memset(&loop.total, 0, sizeof(EncodedRows))
    loop.total.sums.count = rows.n
    parallel_shares(encode_some, &loop, rows.n, ENCODE_BLOCK, n_threads)
    return loop.total


cdef bint is_fine(const Gradients* rows, const Roots* roots) noexcept nogil:
    """Whether the integers of a round are typically large enough."""
    return typical(roots.gradient, roots.n) and (
        all_ones(rows) or typical(roots.hessian, roots.n))


cdef bint hessians_vary(const Gradients* gradients, float* first_out) noexcept nogil:
    """Whether the hessians of the rows differ, apart from their weights."""
    cdef Py_ssize_t i
    if gradients.hessian == NULL or gradients.n == 0:
        return False
    first_out[0] = gradients.hessian[0]
    for i in range(1, gradients.n):
        if gradients.hessian[i] != first_out[0]:
            return True
    return False


cdef int read_round(
    Shared* shared, Workspace* ws, Gradients* gradients, GradientStats* stats_out,
) noexcept nogil:
    """What the numbers of a round depend on, of the rows of all processes."""
    cdef double[8] facts
    cdef float first = 0
    cdef bint vary, has_rows
    cdef int status = gather_sampled(ws, gradients)
    if status < 0:
        return status
    vary = hessians_vary(gradients, &first)
    has_rows = gradients.hessian != NULL and gradients.n > 0
    stats_out[0] = round_stats(gradients, ws.n_threads)
    facts[0] = gradients.n
    facts[1] = not isfinite(stats_out.zero)
    facts[2] = stats_out.gradient_max
    facts[3] = stats_out.hessian_max
    facts[4] = -stats_out.hessian_min
    facts[5] = vary
    facts[6] = first if has_rows else -INFINITY
    facts[7] = -first if has_rows else -INFINITY
    status = all_reduce_doubles(shared.collectives, facts, 1, 7)
    if status < 0:
        return status
    gradients.n_everywhere = <int64_t>facts[0]
    stats_out.gradient_max = facts[2]
    stats_out.hessian_max = facts[3]
    stats_out.hessian_min = -facts[4]
    ws.rules.limits_hessians = not ws.reweighted and (facts[5] > 0 or facts[6] > -facts[7])
    return NOT_FINITE if facts[1] > 0 else 0


cdef void set_fine_scales(
    Workspace* ws, const Gradients* gradients, const GradientStats* stats,
) noexcept nogil:
    """The scales of the sums of leaves."""
    cdef int64_t n_summed = (
        gradients.n_everywhere if gradients.copies == NULL else gradients.n_copies)
    ws.gradient_scale = fine_scale(stats.gradient_max, n_summed)
    ws.hessian_scale = fine_scale(max(stats.hessian_max, -stats.hessian_min), n_summed)


cdef int encode_round(
    Workspace* ws, const Gradients* gradients, const GradientStats* stats, bint wide,
    uint64_t* records_out, Sums* sums_out, Roots* roots_out,
) noexcept nogil:
    """The records of the root's rows, and their sums; 0 or NO_MEMORY.

    ``roots_out``: what `is_fine` asks for.
    """
    cdef EncodedRows found
    set_fine_scales(ws, gradients, stats)
    ws.encoding = choose_encoding(stats, gradients, wide)
    if not ws.encoding.packed and ws.pairs == NULL:
        ws.pairs = <int64_t*>malloc(2 * ws.data.n_rows * sizeof(int64_t))
        if ws.pairs == NULL:
            return NO_MEMORY
    found = encode(gradients, &ws.encoding, ws.n_threads, records_out, ws.pairs)
    roots_out[0] = found.roots
    sums_out[0] = found.sums
    ws.compact_encoding = ws.encoding
    ws.compact_encoding.compact = True
    ws.rules.gradient_unit = ws.encoding.gradient_unit
    ws.rules.hessian_unit = ws.encoding.hessian_unit
    return 0
