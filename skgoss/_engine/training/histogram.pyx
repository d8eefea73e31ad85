"""Histograms of integer gradients.

A round's gradients and hessians become fixed-point numbers once (`encode`); a node's
histogram is their exact sum by feature and bin (`accumulate`), so it depends neither on the
order of the rows nor on the number of threads, and the difference of the histograms of a node
and a child is exact (`take_places`). The formats are described in ``layout.h``.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY, frexp, isfinite, ldexp, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skgoss._engine.training.layout cimport (
    LANE_CODES, Binned, Encoding, Histogram, Piece, Gradients, Sums, unpack)
from skgoss._engine.training.collectives cimport all_reduce_doubles
from skgoss._engine.training.workspace cimport NO_MEMORY, NOT_FINITE, Shared, Workspace

cdef extern from "histogram.h" nogil:
    const double ROOT_LEVELS

    ctypedef struct Sizes:
        int64_t sum
        int64_t largest

    enum:
        PAIR_PARTS
        PREFETCH_AHEAD
        ROW_BLOCK
        LANES_PER_TURN

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
    void spill_sums(
        int64_t* packed, int n_bins, const Encoding* encoding, int first,
        int64_t* gradient_out, int64_t* hessian_out, int32_t* count_out)
    void take_sums(int64_t* sums, int n_bins, int first, int64_t* sums_out)
    void take_wide(
        int64_t* sums, int n_bins, const Encoding* encoding, int first, int64_t* gradient_out,
        int64_t* hessian_out, int32_t* count_out)
    void add_wide_bytes(
        const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
        const int64_t* pairs, int64_t* sums, Py_ssize_t* n_out)
    void add_wide_entries(
        const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
        const int64_t* pairs, int64_t* sums)
    void sum_sizes(
        const uint64_t* records, Py_ssize_t n, const int64_t* pairs, Sizes* gradient_out,
        Sizes* hessian_out)
    void prefetch_row(const Binned* data, Py_ssize_t row)
    void sum_packed(const uint64_t* records, Py_ssize_t n, const Encoding* encoding, Sums* out)
    void fold_digit(int64_t* sums, int radix, int n, int parts, int64_t* digit_out)
    void pack_sums(
        int n, const Encoding* encoding, int64_t* gradient_inout, const int64_t* hessian,
        const int32_t* count)
    void take_packed(
        int n, const Encoding* encoding, const int64_t* packed, int64_t* gradient_inout,
        int64_t* hessian_inout, int32_t* count_inout)
    void add_longs(int n, int sign, const int64_t* values, int64_t* sums_inout)
    void add_ints(int n, int sign, const int32_t* values, int32_t* sums_inout)

cdef enum:
    STAT_BLOCK = 16384
    ENCODE_BLOCK = 16384    # so few stay near between the two sweeps over them
    MAX_COUNT_BITS_CONSTANT = 20
    MIN_PAIR_BITS = 10      # of counts; accumulators of four cost less than smaller blocks
    MIN_TYPICAL_UNITS = 16  # packed numbers that are typically fewer units are too coarse
    MAX_WIDE_BITS = 50      # `nearest` rounds up to 51
    MAX_PACKED_BITS = 38    # sums of a block stay below 2**51, exact as doubles
    MAX_EXPONENT = 1000     # its power of two and the reciprocal are normal numbers


cdef int gather_sampled(Workspace* ws, Gradients* gradients_inout) noexcept nogil:
    """Gather the gradients of the sampled rows, one after the other; 0 or NO_MEMORY.

    Several sweeps read them, and this is the only one that jumps.
    """
    cdef Gradients* gradients = gradients_inout
    cdef Gradients sampled = gradients[0]
    cdef Gathered out
    cdef Py_ssize_t block
    if sampled.ids == NULL:
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
    for block in prange(
        (sampled.n + STAT_BLOCK - 1) // STAT_BLOCK, num_threads=ws.n_threads,
        use_threads_if=ws.n_threads > 1 and sampled.n > STAT_BLOCK,
    ):
        gather_gradients(
            &sampled, block * STAT_BLOCK,
            min(<Py_ssize_t>STAT_BLOCK, sampled.n - block * STAT_BLOCK), &out)
    gradients.gradient = out.gradient
    gradients.hessian = out.hessian if sampled.hessian != NULL else NULL
    gradients.weight = out.weight if sampled.weight != NULL else NULL
    gradients.copies = out.copies if sampled.copies != NULL else NULL
    return 0


cdef void merge_stats(const GradientStats* part, GradientStats* total) noexcept nogil:
    total.gradient_max = max(total.gradient_max, part.gradient_max)
    total.hessian_max = max(total.hessian_max, part.hessian_max)
    total.hessian_min = min(total.hessian_min, part.hessian_min)
    total.zero += part.zero


cdef GradientStats round_stats(const Gradients* rows, int n_threads) noexcept nogil:
    """Extremes of a round's weighted gradients and hessians."""
    cdef Py_ssize_t n_blocks = (rows.n + STAT_BLOCK - 1) // STAT_BLOCK
    cdef GradientStats total, part
    cdef GradientStats* parts = NULL
    cdef Py_ssize_t block
    memset(&total, 0, sizeof(GradientStats))
    if n_threads > 1 and n_blocks > 1:
        parts = <GradientStats*>malloc(n_blocks * sizeof(GradientStats))
    if parts == NULL:
        gradient_stats(rows, 0, rows.n, &part)
        merge_stats(&part, &total)
        return total
    for block in prange(n_blocks, num_threads=n_threads):
        gradient_stats(
            rows, block * STAT_BLOCK,
            min(<Py_ssize_t>STAT_BLOCK, rows.n - block * STAT_BLOCK), &parts[block])
    for block in range(n_blocks):
        merge_stats(&parts[block], &total)
    free(parts)
    return total


cdef inline int bit_length(uint64_t x) noexcept nogil:
    cdef int bits = 0
    while x:
        x >>= 1
        bits += 1
    return bits


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
    encoding.block_rows = rows.n_rows_everywhere
    encoding.parts = WIDE_PARTS
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
        encoding.parts = 1
    encoding.compact = encoding.packed and rows.n_everywhere <= encoding.block_rows
    return encoding


cdef bint assign_bits(
    const Gradients* rows, int gradient_bits, int hessian_bits, Encoding* encoding,
) noexcept nogil:
    """Find room for records and for the sums of a block; whether there is any.

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
    cdef int block_bits
    cdef Py_ssize_t block_rows
    while bits >= least_bits and id_bits >= row_bits:
        block_rows = (<Py_ssize_t>1 << bits) - 1
        block_bits = bit_length(min(block_rows * rows.most_copies, rows.n_copies))
        if bits + n_weighed * block_bits <= spare_bits:
            encoding.count_bits = bits
            encoding.block_rows = block_rows
            encoding.gradient_up = bits + (n_weighed - 1) * (block_bits + hessian_bits)
            encoding.hessian_down = id_bits
            encoding.gradient_down = 63 - gradient_bits - copy_bits
            encoding.hessian_mask = (<uint64_t>1 << (encoding.gradient_down - id_bits)) - 1
            encoding.id_mask = (<uint64_t>1 << id_bits) - 1
            return True
        bits -= 1
    return False


cdef void choose_parts(
    const Binned* data, const uint64_t* records, Py_ssize_t n, const int64_t* pairs,
    Encoding* encoding,
) noexcept nogil:
    """Let accumulators of a wide round have two integers if most blocks can have many rows.

    The count joins the smaller sums. The more bits it has, the more rows and the smaller
    magnitudes a block may have: they are chosen so that on average both limits are reached
    together.
    """
    cdef Sizes gradient, hessian, counted
    cdef int most_bits = bit_length(n)
    cdef int bits
    if n == 0 or data.entries != NULL:
        return
    sum_sizes(records, n, pairs, &gradient, &hessian)
    counted = hessian if hessian.sum < gradient.sum else gradient
    bits = min(
        most_bits, (63 - bit_length(counted.sum // n)) // 2, 63 - bit_length(counted.largest))
    if bits < min(most_bits, MIN_PAIR_BITS):
        return
    encoding.parts = PAIR_PARTS
    encoding.count_bits = bits
    if hessian.sum < gradient.sum:
        encoding.hessian_up = bits
    else:
        encoding.gradient_up = bits
    encoding.room = (<int64_t>1 << (63 - bits)) - 1
    encoding.block_rows = (<Py_ssize_t>1 << bits) - 1


cdef bint typical(int64_t roots, int64_t n) noexcept nogil:
    """Whether typical magnitudes are many units.

    The mean of the square roots tells, as a few giants do not move it far.
    """
    cdef double mean_root = roots / (ROOT_LEVELS * n)
    return mean_root * mean_root >= MIN_TYPICAL_UNITS


cdef Roots encode_block(
    const Gradients* rows, Py_ssize_t first, Py_ssize_t n, const Encoding* encoding,
    uint64_t* records_out, int64_t* pairs_out,
) noexcept nogil:
    cdef double gradient_scale = 1.0 / encoding.gradient_unit
    cdef double hessian_scale = 1.0 / encoding.hessian_unit
    cdef Roots roots
    cdef Py_ssize_t i
    sum_roots(rows, first, n, gradient_scale, hessian_scale, &roots)
    if encoding.packed:
        encode_packed(rows, first, n, gradient_scale, hessian_scale, encoding, records_out)
        return roots
    encode_wide(rows, first, n, gradient_scale, hessian_scale, pairs_out)
    for i in range(first, first + n):
        records_out[i] = rows.ids[i] if rows.ids != NULL else <uint64_t>i
    return roots


cdef Roots encode(
    const Gradients* rows, const Encoding* encoding, int n_threads, uint64_t* records_out,
    int64_t* pairs_out,
) noexcept nogil:
    """Words of the rows, and in a wide round their pairs.

    Returns what `is_fine` asks for.
    """
    cdef Py_ssize_t block, first
    cdef int64_t n_copies = 0
    cdef int64_t gradient_roots = 0
    cdef int64_t hessian_roots = 0
    cdef Roots part, total
    for block in prange(
        (rows.n + ENCODE_BLOCK - 1) // ENCODE_BLOCK,
        num_threads=n_threads, use_threads_if=n_threads > 1 and rows.n > ENCODE_BLOCK,
    ):
        first = block * ENCODE_BLOCK
        part = encode_block(
            rows, first, min(<Py_ssize_t>ENCODE_BLOCK, rows.n - first), encoding, records_out,
            pairs_out)
        n_copies += part.n
        gradient_roots += part.gradient
        hessian_roots += part.hessian
    total.gradient = gradient_roots
    total.hessian = hessian_roots
    total.n = n_copies
    return total


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
    ws.rules.hessians_vary = facts[5] > 0 or facts[6] > -facts[7]
    return NOT_FINITE if facts[1] > 0 else 0


cdef int encode_round(
    Workspace* ws, const Gradients* gradients, const GradientStats* stats, bint wide,
    uint64_t* records_out, Roots* roots_out,
) noexcept nogil:
    """The records of the root's rows; 0 or NO_MEMORY. ``roots_out``: what `is_fine` asks for."""
    cdef int64_t n_summed = (
        gradients.n_everywhere if gradients.copies == NULL else gradients.n_copies)
    ws.gradient_scale = fine_scale(stats.gradient_max, n_summed)
    ws.hessian_scale = fine_scale(max(stats.hessian_max, -stats.hessian_min), n_summed)
    ws.encoding = choose_encoding(stats, gradients, wide)
    if not ws.encoding.packed and ws.pairs == NULL:
        ws.pairs = <int64_t*>malloc(2 * gradients.n_rows * sizeof(int64_t))
        if ws.pairs == NULL:
            return NO_MEMORY
    roots_out[0] = encode(gradients, &ws.encoding, ws.n_threads, records_out, ws.pairs)
    if not ws.encoding.packed:
        choose_parts(&ws.data, records_out, gradients.n, ws.pairs, &ws.encoding)
    ws.block_encoding = ws.encoding
    ws.block_encoding.compact = True
    ws.rules.gradient_unit = ws.encoding.gradient_unit
    ws.rules.hessian_unit = ws.encoding.hessian_unit
    return 0


cdef inline int64_t addend(const Encoding* encoding, uint64_t record) noexcept nogil:
    cdef uint64_t gradient = <uint64_t>(<int64_t>record >> encoding.gradient_down)
    cdef uint64_t hessian = record >> encoding.hessian_down & encoding.hessian_mask
    return (
        <int64_t>(gradient << encoding.gradient_up)
        + <int64_t>(hessian << encoding.count_bits)
        + 1
    )


cdef inline void add_quad(
    int64_t* lanes, uint32_t bins, int64_t x, Py_ssize_t stride,
) noexcept nogil:
    lanes[bins & 255] += x
    lanes[stride + (bins >> 8 & 255)] += x
    lanes[2 * stride + (bins >> 16 & 255)] += x
    lanes[3 * stride + (bins >> 24)] += x


cdef inline void add_bytes(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    Py_ssize_t stride, int64_t* lanes,
) noexcept nogil:
    """Add rows to packed accumulators, lane by lane: the inner loop of histograms.

    Eight lanes are read as one integer, and a row's addend is made once for all of them. Rows
    are taken in blocks, and lanes in turns, so that both stay in the first cache.
    """
    cdef bint half = 0 < data.n_lanes % 8 <= 4
    cdef int n_octets = data.n_lanes // 8 if half else (data.n_lanes + 7) // 8
    cdef Py_ssize_t first, last, i
    cdef int tile, tile_end, octet
    cdef const uint64_t* row
    cdef int64_t* at
    cdef int64_t x
    first = 0
    while first < n:
        last = min(first + ROW_BLOCK, n)
        tile = 0
        while tile < max(n_octets, 1):
            tile_end = min(tile + LANES_PER_TURN // 8, n_octets)
            for i in range(first, last):
                if tile == 0 and i + PREFETCH_AHEAD < n:
                    prefetch_row(data, records[i + PREFETCH_AHEAD] & encoding.id_mask)
                row = <const uint64_t*>(
                    data.rows + (records[i] & encoding.id_mask) * data.row_bytes)
                x = addend(encoding, records[i])
                at = lanes + tile * 8 * stride
                for octet in range(tile, tile_end):
                    add_quad(at, <uint32_t>row[octet], x, stride)
                    add_quad(at + 4 * stride, <uint32_t>(row[octet] >> 32), x, stride)
                    at = at + 8 * stride
                if half and tile_end == n_octets:
                    add_quad(at, <uint32_t>row[n_octets], x, stride)
            tile = tile + LANES_PER_TURN // 8
        first = last


cdef void add_entries(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    int64_t* sums,
) noexcept nogil:
    """Add rows to the packed accumulators of the places that their entries name."""
    cdef Py_ssize_t i, row
    cdef int64_t e
    cdef int64_t x
    for i in range(n):
        if i + 2 * PREFETCH_AHEAD < n:
            prefetch(data.entry_start + (records[i + 2 * PREFETCH_AHEAD] & encoding.id_mask))
        if i + PREFETCH_AHEAD < n:
            row = records[i + PREFETCH_AHEAD] & encoding.id_mask
            prefetch(data.entries + data.entry_start[row])
            prefetch(data.entries + data.entry_start[row] + 16)
        row = records[i] & encoding.id_mask
        x = addend(encoding, records[i])
        for e in range(data.entry_start[row], data.entry_start[row + 1]):
            sums[data.entries[e]] += x


cdef inline void change_place(
    const Encoding* encoding, int64_t x, Sums sums, int64_t at, Histogram* out,
) noexcept nogil:
    cdef uint64_t bit = <uint64_t>1 << (at % 64)
    if out.held != NULL:
        # Rows are taken out all together.
        out.held[at // 64] = (
            out.held[at // 64] | bit if sums.count > 0 else out.held[at // 64] & ~bit)
    if encoding.compact:
        out.gradient[at] += x
    else:
        out.gradient[at] += sums.gradient
        out.hessian[at] += sums.hessian
        out.count[at] += <int32_t>sums.count


cdef inline void touch(
    const Binned* data, int64_t at, uint8_t* seen, int32_t* touched, int* n_touched,
) noexcept nogil:
    cdef int32_t feature
    if seen != NULL:
        feature = data.feature_at[at]
        if not seen[feature]:
            seen[feature] = 1
            touched[n_touched[0]] = feature
            n_touched[0] += 1


cdef void move_rows(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int sign, Histogram* out, uint8_t* seen, int32_t* touched,
    int* n_touched,
) noexcept nogil:
    """Put a few rows into a histogram, or take them out of it where ``sign`` is -1.

    Lists the features whose places were touched in ``touched`` unless ``seen``, a byte of
    zero by feature, is NULL.
    """
    cdef Py_ssize_t i, row
    cdef int64_t e
    cdef int64_t x = 0
    cdef int lane, k, group, value, digit, at
    cdef Sums sums
    for i in range(n):
        row = records[i] & encoding.id_mask
        if encoding.packed:
            x = sign * addend(encoding, records[i])
            sums = unpack(addend(encoding, records[i]), encoding)
        else:
            sums.gradient = pairs[2 * row]
            sums.hessian = pairs[2 * row + 1]
            sums.count = 1
        sums.gradient *= sign
        sums.hessian *= sign
        sums.count *= sign
        for lane in range(data.n_lanes):
            value = data.rows[row * data.row_bytes + lane]
            for k in range(data.lane_start[lane], data.lane_start[lane + 1]):
                group = data.lane_groups[k]
                digit = value
                if k + 1 < data.lane_start[lane + 1]:
                    digit = value % data.n_codes[group]
                    value = value // data.n_codes[group]
                at = data.place_of_code[group * LANE_CODES + digit]
                if at >= 0:
                    change_place(encoding, x, sums, at, out)
                    touch(data, at, seen, touched, n_touched)
        if data.entries != NULL:
            for e in range(data.entry_start[row], data.entry_start[row + 1]):
                change_place(encoding, x, sums, data.entries[e], out)
                touch(data, data.entries[e], seen, touched, n_touched)


cdef Sums sum_records(
    const Encoding* encoding, const uint64_t* records, Py_ssize_t n, const int64_t* pairs,
) noexcept nogil:
    """The sums of some rows."""
    cdef Sums sums
    cdef Py_ssize_t i
    if encoding.packed:
        sum_packed(records, n, encoding, &sums)
        return sums
    memset(&sums, 0, sizeof(Sums))
    sums.count = n
    for i in range(n):
        sums.gradient += pairs[2 * records[i]]
        sums.hessian += pairs[2 * records[i] + 1]
    return sums


cdef inline int64_t* aligned(int64_t* sums) noexcept nogil:
    """The first accumulator that, as all that follow, lies in one cache line."""
    cdef uintptr_t size = WIDE_PARTS * sizeof(int64_t)
    return <int64_t*>((<uintptr_t>sums + size - 1) // size * size)


cdef inline void deliver(
    const Encoding* encoding, bint first, int64_t* sums, const Piece* piece, Histogram* out,
) noexcept nogil:
    """Move a piece's accumulators to its places in a histogram."""
    cdef int64_t at = piece.at
    cdef int n = piece.length
    if encoding.compact:
        take_sums(sums, n, first, out.gradient + at)
    elif encoding.packed:
        spill_sums(sums, n, encoding, first, out.gradient + at, out.hessian + at, out.count + at)
    else:
        take_wide(sums, n, encoding, first, out.gradient + at, out.hessian + at, out.count + at)


cdef inline void deliver_group(
    const Binned* data, const Encoding* encoding, bint first, int64_t* sums, int group,
    Histogram* out,
) noexcept nogil:
    """Move the accumulators of a group's codes to their places; drop those of none."""
    cdef int parts = encoding.parts
    cdef int64_t i
    for i in range(data.piece_start[group], data.piece_start[group + 1]):
        deliver(encoding, first, sums + parts * data.pieces[i].code, &data.pieces[i], out)
    memset(sums, 0, parts * sizeof(int64_t))


cdef void spill_lanes(
    const Binned* data, const Encoding* encoding, bint first, int64_t* lanes, Histogram* out,
) noexcept nogil:
    """Move the lanes' accumulators; a shared lane is folded group by group."""
    cdef int parts = encoding.parts
    cdef int64_t* digit = lanes + parts * (data.sums_size - FOLD_ROOM)
    cdef int64_t* sums
    cdef int lane, i, group
    for lane in range(data.n_lanes):
        sums = lanes + parts * lane * data.lane_stride
        for i in range(data.lane_start[lane + 1] - 1, data.lane_start[lane], -1):
            group = data.lane_groups[i]
            fold_digit(sums, data.radix[group], data.n_codes[group], parts, digit)
            deliver_group(data, encoding, first, digit, group, out)
        deliver_group(data, encoding, first, sums, data.lane_groups[data.lane_start[lane]], out)
    # Bytes that fill up the rows are added, too.
    for lane in range(data.n_lanes, (data.n_lanes + 7) // 8 * 8):
        memset(lanes + parts * lane * data.lane_stride, 0, parts * sizeof(int64_t))


cdef void spill_entries(
    const Binned* data, const Encoding* encoding, bint first, int64_t* sums, Histogram* out,
) noexcept nogil:
    cdef int i
    for i in range(data.n_entry_pieces):
        deliver(
            encoding, first, sums + encoding.parts * data.entry_pieces[i].at,
            &data.entry_pieces[i], out)


cdef void spill_heavy(
    const Binned* data, const Encoding* encoding, int64_t* sums, Histogram* out,
) noexcept nogil:
    """Add to a histogram the only accumulators that more rows could make overflow."""
    cdef Sums part
    cdef Py_ssize_t i
    cdef int64_t at
    for i in range(data.n_heavy):
        at = data.heavy[i]
        part = unpack(sums[at], encoding)
        out.gradient[at] += part.gradient
        out.hessian[at] += part.hessian
        out.count[at] += <int32_t>part.count
        sums[at] = 0


cdef void clear_entries(const Binned* data, Histogram* out) noexcept nogil:
    cdef const Piece* piece
    cdef int i
    for i in range(data.n_entry_pieces):
        piece = &data.entry_pieces[i]
        memset(out.gradient + piece.at, 0, piece.length * sizeof(int64_t))
        memset(out.hessian + piece.at, 0, piece.length * sizeof(int64_t))
        memset(out.count + piece.at, 0, piece.length * sizeof(int32_t))


cdef Py_ssize_t add_lanes(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int64_t* sums,
) noexcept nogil:
    """Add rows of a block that has n of them at most; returns how many it has room for."""
    cdef Py_ssize_t n_added = n
    # Constant strides make the addresses part of the instructions.
    if not encoding.packed:
        add_wide_bytes(data, encoding, records, n, pairs, sums, &n_added)
    elif data.lane_stride == 24:
        add_bytes(data, encoding, records, n, 24, sums)
    elif data.lane_stride == 72:
        add_bytes(data, encoding, records, n, 72, sums)
    else:
        add_bytes(data, encoding, records, n, 264, sums)
    return n_added


cdef void accumulate_lanes(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, bint fresh, int64_t* sums, Histogram* out,
) noexcept nogil:
    cdef Py_ssize_t first = 0
    while fresh or first < n:
        first += add_lanes(
            data, encoding, records + first, min(encoding.block_rows, n - first), pairs, sums)
        spill_lanes(data, encoding, fresh, sums, out)
        fresh = False


cdef void accumulate_entries(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, bint fresh, int64_t* sums, Histogram* out,
) noexcept nogil:
    cdef Py_ssize_t first = 0
    if n > encoding.block_rows and data.n_heavy > 0:
        if fresh:
            clear_entries(data, out)
            fresh = False
        while n - first > encoding.block_rows:
            add_entries(data, encoding, records + first, encoding.block_rows, sums)
            spill_heavy(data, encoding, sums, out)
            first = first + encoding.block_rows
    if encoding.packed:
        add_entries(data, encoding, records + first, n - first, sums)
    else:
        add_wide_entries(data, encoding, records, n, pairs, sums)
    spill_entries(data, encoding, fresh, sums, out)


cdef void accumulate(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, bint fresh, int64_t* sums, Histogram* out,
) noexcept nogil:
    """Add the rows of ``records`` to a histogram, empty if it is ``fresh``.

    ``sums``: accumulators of the calling thread, zero before and after. There are
    WIDE_PARTS * (sums_size + 1), so that they can be aligned.
    """
    if not encoding.packed:
        sums = aligned(sums)
    if data.n_lanes > 0:
        accumulate_lanes(data, encoding, records, n, pairs, fresh, sums, out)
    if data.entries != NULL:
        accumulate_entries(
            data, encoding, records, n, pairs, fresh, sums + encoding.parts * data.entry_sums, out)


cdef void add_places(
    const Encoding* encoding, int64_t first, int64_t last, int sign, const Histogram* part,
    Histogram* out,
) noexcept nogil:
    """Add the sums of some places to those of another histogram, or subtract them."""
    cdef int n = <int>(last - first)
    add_longs(n, sign, part.gradient + first, out.gradient + first)
    if not encoding.compact:
        add_longs(n, sign, part.hessian + first, out.hessian + first)
        add_ints(n, sign, part.count + first, out.count + first)


cdef void take_places(
    const Encoding* part_code, const Encoding* before, const Encoding* after, int64_t first,
    int64_t last, const Histogram* part, Histogram* out,
) noexcept nogil:
    """Subtract the sums of some places from those of another histogram.

    The other's sums are written as ``before`` says; they are packed if ``after`` is compact.
    ``part``: NULL: none, only pack.
    """
    cdef int n = <int>(last - first)
    if after.compact and not before.compact:
        pack_sums(n, after, out.gradient + first, out.hessian + first, out.count + first)
    if part == NULL:
        return
    if part_code.compact and not after.compact:
        take_packed(
            n, part_code, part.gradient + first, out.gradient + first, out.hessian + first,
            out.count + first)
    else:
        add_places(after, first, last, -1, part, out)
