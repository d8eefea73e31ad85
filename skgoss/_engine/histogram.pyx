"""Histograms of integer gradients.

A round's gradients and hessians become fixed-point numbers once (`encode`); a node's
histogram is their exact sum by feature and bin (`accumulate`), so it depends neither on the
order of the rows nor on the number of threads. The formats are described in ``layout.h``.
"""

from cython.parallel cimport prange
from libc.math cimport frexp, ldexp, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from skgoss._engine.layout cimport Binned, Encoding, Histogram, Sums, unpack

cdef extern from "histogram.h" nogil:
    void gradient_stats(
        const float* gradient, const float* hessian, const double* weight, Py_ssize_t n,
        GradientStats* out)
    void encode_packed(
        const float* gradient, const float* hessian, const double* weight,
        const uint32_t* ids, Py_ssize_t first, Py_ssize_t n, double gradient_scale,
        double hessian_scale, const Encoding* code, uint64_t* words_out)
    void encode_wide(
        const float* gradient, const float* hessian, const double* weight,
        Py_ssize_t first, Py_ssize_t n, double gradient_scale, double hessian_scale,
        int64_t* pairs_out)
    void spill_feature(
        int64_t* packed, int n_bins, const Encoding* code, int first,
        int64_t* gradient_out, int64_t* hessian_out, int32_t* count_out)
    void take_feature(int64_t* packed, int n_bins, int64_t* packed_out)
    void take_counts(int64_t* sums, int n_bins, int32_t* count_out)
    void fold_digit(int64_t* sums, int radix, int n, int64_t* digit_out)
    void add_longs(int n, int sign, const int64_t* values, int64_t* sums_inout)
    void add_ints(int n, int sign, const int32_t* values, int32_t* sums_inout)

cdef enum:
    STAT_BLOCK = 16384      # rows a partial sum: fixed, so that sums do not depend on threads
    ENCODE_BLOCK = 16384
    ROW_BLOCK = 256         # rows that stay in the first cache while groups take turns
    OCTETS_A_TILE = 8       # eights of lanes whose accumulators stay near
    PREFETCH_AHEAD = 16
    MAX_COUNT_BITS = 12     # of a packed round with hessians: blocks of 4095 rows
    MAX_COUNT_BITS_CONSTANT = 20
    MIN_TYPICAL_LEVELS = 16  # packed numbers that are typically fewer quanta are too coarse
    MAX_WIDE_BITS = 50      # `nearest` rounds up to 51
    MAX_PACKED_BITS = 38    # sums of a block stay below 2**51, exact as doubles
    MAX_EXPONENT = 1000     # its power of two and the reciprocal are normal numbers


cdef void block_stats(
    const float* gradient, const float* hessian, const double* weight,
    Py_ssize_t n_rows, Py_ssize_t block, GradientStats* out,
) noexcept nogil:
    cdef Py_ssize_t first = block * STAT_BLOCK
    gradient_stats(
        gradient + first,
        hessian + first if hessian != NULL else NULL,
        weight + first if weight != NULL else NULL,
        min(<Py_ssize_t>STAT_BLOCK, n_rows - first), out)


cdef void merge_stats(const GradientStats* part, GradientStats* total) noexcept nogil:
    total.gradient_max = max(total.gradient_max, part.gradient_max)
    total.gradient_roots += part.gradient_roots
    total.hessian_max = max(total.hessian_max, part.hessian_max)
    total.hessian_min = min(total.hessian_min, part.hessian_min)
    total.hessian_roots += part.hessian_roots


cdef GradientStats round_stats(
    const float* gradient, const float* hessian, const double* weight,
    Py_ssize_t n_rows, int n_threads,
) noexcept nogil:
    """Statistics of a round's weighted gradients and hessians.

    ``hessian`` and ``weight`` may be NULL for ones. Blocks are merged in order, whoever
    computed them.
    """
    cdef Py_ssize_t n_blocks = (n_rows + STAT_BLOCK - 1) // STAT_BLOCK
    cdef GradientStats total, part
    cdef GradientStats* parts = NULL
    cdef Py_ssize_t block
    memset(&total, 0, sizeof(GradientStats))
    if n_threads > 1 and n_blocks > 1:
        parts = <GradientStats*>malloc(n_blocks * sizeof(GradientStats))
    if parts == NULL:
        for block in range(n_blocks):
            block_stats(gradient, hessian, weight, n_rows, block, &part)
            merge_stats(&part, &total)
        return total
    for block in prange(n_blocks, num_threads=n_threads):
        block_stats(gradient, hessian, weight, n_rows, block, &parts[block])
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


cdef int wide_exponent(double largest, Py_ssize_t n_rows) noexcept nogil:
    return fixed_point_exponent(largest, min(62 - bit_length(n_rows), MAX_WIDE_BITS))


cdef double fine_scale(double largest, Py_ssize_t n_rows) noexcept nogil:
    """The scale at which ``n_rows`` integers of up to ``largest`` have a 64-bit sum."""
    return ldexp(1.0, wide_exponent(largest, n_rows))


cdef bint fine_enough(double roots, Py_ssize_t n_rows, int exponent) noexcept nogil:
    """Whether typical magnitudes are many quanta of 2**-exponent.

    The mean of the square roots tells, as a few giants do not move it far.
    """
    cdef double mean_root = roots / n_rows
    return ldexp(mean_root * mean_root, exponent) >= MIN_TYPICAL_LEVELS


cdef Encoding choose_encoding(
    const GradientStats* stats, Py_ssize_t n_rows, bint constant_hessian,
) noexcept nogil:
    """Number format of a round: packed, unless its magnitudes need more range."""
    cdef Encoding code
    cdef int lanes = 2 if constant_hessian else 3
    cdef int count_bits = min(
        bit_length(n_rows), MAX_COUNT_BITS_CONSTANT if constant_hessian else MAX_COUNT_BITS)
    cdef int value_bits = 63 - lanes * count_bits
    cdef int hessian_bits = 0 if constant_hessian else min(value_bits // 2, MAX_PACKED_BITS)
    cdef int gradient_bits = min(value_bits - hessian_bits, MAX_PACKED_BITS)
    cdef int g_exponent = fixed_point_exponent(stats.gradient_max, gradient_bits)
    cdef int h_exponent = fixed_point_exponent(stats.hessian_max, hessian_bits)

    code.constant_hessian = constant_hessian
    code.count_bits = count_bits
    code.block_rows = (<Py_ssize_t>1 << count_bits) - 1
    code.hessian_down = lanes * count_bits
    code.gradient_down = code.hessian_down + hessian_bits
    code.gradient_up = code.count_bits * (lanes - 1) + hessian_bits
    code.hessian_mask = (<uint64_t>1 << hessian_bits) - 1
    code.id_mask = (<uint64_t>1 << code.hessian_down) - 1
    code.packed = (
        fine_enough(stats.gradient_roots, n_rows, g_exponent)
        and (constant_hessian or fine_enough(stats.hessian_roots, n_rows, h_exponent))
        and stats.hessian_min >= 0
    )
    code.compact = code.packed and n_rows <= code.block_rows
    if not code.packed:
        code.id_mask = <uint64_t>-1
        g_exponent = wide_exponent(stats.gradient_max, n_rows)
        h_exponent = wide_exponent(max(stats.hessian_max, -stats.hessian_min), n_rows)
    code.gradient_unit = ldexp(1.0, -g_exponent)
    code.hessian_unit = ldexp(1.0, -h_exponent)
    if constant_hessian and code.packed:
        code.hessian_unit = stats.hessian_max
    return code


cdef void encode(
    const float* gradient, const float* hessian, const double* weight,
    const uint32_t* ids, Py_ssize_t n, Py_ssize_t n_rows, const Encoding* code,
    int n_threads, uint64_t* words_out, int64_t* pairs_out,
) noexcept nogil:
    """Words of the rows ``ids`` (NULL: all), and in a wide round the pairs of all rows."""
    cdef Py_ssize_t block, first, i
    cdef double gradient_scale = 1.0 / code.gradient_unit
    cdef double hessian_scale = 1.0 / code.hessian_unit
    for block in prange(
        (n + ENCODE_BLOCK - 1) // ENCODE_BLOCK,
        num_threads=n_threads, use_threads_if=n_threads > 1,
    ):
        first = block * ENCODE_BLOCK
        if code.packed:
            encode_packed(
                gradient, hessian, weight, ids + first if ids != NULL else NULL, first,
                min(<Py_ssize_t>ENCODE_BLOCK, n - first), gradient_scale, hessian_scale,
                code, words_out + first)
        else:
            for i in range(first, min(first + ENCODE_BLOCK, n)):
                words_out[i] = ids[i] if ids != NULL else <uint64_t>i
    if code.packed:
        return
    for block in prange(
        (n_rows + ENCODE_BLOCK - 1) // ENCODE_BLOCK,
        num_threads=n_threads, use_threads_if=n_threads > 1,
    ):
        first = block * ENCODE_BLOCK
        encode_wide(
            gradient, hessian, weight, first, min(<Py_ssize_t>ENCODE_BLOCK, n_rows - first),
            gradient_scale, hessian_scale, pairs_out)


cdef inline int64_t addend(const Encoding* code, uint64_t word) noexcept nogil:
    return (
        (<int64_t>word >> code.gradient_down << code.gradient_up)
        + <int64_t>((word >> code.hessian_down & code.hessian_mask) << code.count_bits)
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
    const Binned* data, const Encoding* code, const uint64_t* words, Py_ssize_t n,
    Py_ssize_t stride, int64_t* lanes,
) noexcept nogil:
    """Packed sums of rows of one-byte bins, eight bins read as one word."""
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
            tile_end = min(tile + OCTETS_A_TILE, n_octets)
            for i in range(first, last):
                if tile == 0 and i + PREFETCH_AHEAD < n:
                    prefetch(
                        data.rows
                        + (words[i + PREFETCH_AHEAD] & code.id_mask) * data.row_bytes)
                row = <const uint64_t*>(
                    data.rows + (words[i] & code.id_mask) * data.row_bytes)
                x = addend(code, words[i])
                at = lanes + tile * 8 * stride
                for octet in range(tile, tile_end):
                    add_quad(at, <uint32_t>row[octet], x, stride)
                    add_quad(at + 4 * stride, <uint32_t>(row[octet] >> 32), x, stride)
                    at = at + 8 * stride
                if half and tile_end == n_octets:
                    add_quad(at, <uint32_t>row[n_octets], x, stride)
            tile = tile + OCTETS_A_TILE
        first = last


cdef inline int64_t lane_value(const Binned* data, const uint8_t* row, int lane) noexcept nogil:
    return row[lane] if data.bin_bytes == 1 else (<const uint16_t*>row)[lane]


cdef void add_shorts(
    const Binned* data, const Encoding* code, const uint64_t* words, Py_ssize_t n,
    int64_t* lanes,
) noexcept nogil:
    """Packed sums of rows of two-byte bins."""
    cdef Py_ssize_t i
    cdef int lane
    cdef const uint8_t* row
    cdef int64_t x
    for i in range(n):
        row = data.rows + (words[i] & code.id_mask) * data.row_bytes
        x = addend(code, words[i])
        for lane in range(data.n_lanes):
            lanes[data.lane_offset[lane] + lane_value(data, row, lane)] += x


cdef void add_wide(
    const Binned* data, const uint64_t* words, Py_ssize_t n, const int64_t* pairs,
    int64_t* lanes,
) noexcept nogil:
    """Separate sums of rows whose gradients need more than a lane: three accumulators."""
    cdef Py_ssize_t i, at
    cdef int lane
    cdef const uint8_t* row
    for i in range(n):
        if i + PREFETCH_AHEAD < n:
            prefetch(data.rows + words[i + PREFETCH_AHEAD] * data.row_bytes)
            prefetch(pairs + 2 * words[i + PREFETCH_AHEAD])
        row = data.rows + words[i] * data.row_bytes
        for lane in range(data.n_lanes):
            at = data.lane_offset[lane] + lane_value(data, row, lane)
            lanes[at] += pairs[2 * words[i]]
            lanes[data.sums_size + at] += pairs[2 * words[i] + 1]
            lanes[2 * data.sums_size + at] += 1


cdef void remove_rows(
    const Binned* data, const Encoding* code, const uint64_t* words, Py_ssize_t n,
    const int64_t* pairs, Histogram* out,
) noexcept nogil:
    """Take a few rows out of a histogram, where every lane is one feature's.

    For more rows it is quicker to subtract their histogram.
    """
    cdef Py_ssize_t i, row, at
    cdef int feature
    cdef int64_t x = 0
    cdef Sums sums
    for i in range(n):
        row = words[i] & code.id_mask
        if code.packed:
            x = addend(code, words[i])
            sums = unpack(x, code)
        else:
            sums.gradient = pairs[2 * row]
            sums.hessian = pairs[2 * row + 1]
        for feature in range(data.n_features):
            at = data.offset[feature] + lane_value(
                data, data.rows + row * data.row_bytes, feature)
            if code.compact:
                out.gradient[at] -= x
            else:
                out.gradient[at] -= sums.gradient
                out.hessian[at] -= sums.hessian
                out.count[at] -= 1


cdef void deliver(
    const Binned* data, const Encoding* code, bint first, int64_t* sums, int feature,
    Histogram* out,
) noexcept nogil:
    """Move one feature's accumulators into its place in a histogram."""
    cdef int64_t at = data.offset[feature]
    cdef int n_bins = data.n_bins[feature]
    if code.compact:
        take_feature(sums, n_bins, out.gradient + at)
    elif code.packed:
        spill_feature(
            sums, n_bins, code, first, out.gradient + at, out.hessian + at, out.count + at)
    else:
        take_feature(sums, n_bins, out.gradient + at)
        take_feature(sums + data.sums_size, n_bins, out.hessian + at)
        take_counts(sums + 2 * data.sums_size, n_bins, out.count + at)


cdef void spill(
    const Binned* data, const Encoding* code, bint first, int64_t* lanes, Histogram* out,
) noexcept nogil:
    """Move all accumulators into a histogram; a shared lane is folded feature by feature."""
    cdef int64_t* digit = lanes + data.sums_size - FOLD_ROOM
    cdef int64_t* sums
    cdef int lane, i, feature, part
    for lane in range(data.n_lanes):
        sums = lanes + data.lane_offset[lane]
        for i in range(data.lane_start[lane + 1] - 1, data.lane_start[lane], -1):
            feature = data.lane_features[i]
            for part in range(1 if code.packed else 3):
                fold_digit(
                    sums + part * data.sums_size, data.radix[feature],
                    data.n_bins[feature], digit + part * data.sums_size)
            deliver(data, code, first, digit, feature, out)
        deliver(data, code, first, sums, data.lane_features[data.lane_start[lane]], out)


cdef void accumulate(
    const Binned* data, const Encoding* code, const uint64_t* words, Py_ssize_t n,
    const int64_t* pairs, int64_t* lanes, Histogram* out,
) noexcept nogil:
    """Sum the rows of ``words``, on the calling thread.

    ``lanes``: accumulators, 3 * sums_size, zero before and after.
    """
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t m
    if not code.packed or n == 0:
        add_wide(data, words, n, pairs, lanes)
        spill(data, code, True, lanes, out)
        return
    while first < n:
        m = min(code.block_rows, n - first)
        # Constant strides make the addresses part of the instructions.
        if data.bin_bytes == 1 and data.lane_stride == 24:
            add_bytes(data, code, words + first, m, 24, lanes)
        elif data.bin_bytes == 1 and data.lane_stride == 72:
            add_bytes(data, code, words + first, m, 72, lanes)
        elif data.bin_bytes == 1:
            add_bytes(data, code, words + first, m, 264, lanes)
        else:
            add_shorts(data, code, words + first, m, lanes)
        spill(data, code, first == 0, lanes, out)
        first = first + m


cdef void add_feature(
    const Binned* data, const Encoding* code, int feature, int sign, const Histogram* part,
    Histogram* out,
) noexcept nogil:
    """Add one feature's sums to those of another histogram, or subtract them."""
    cdef int64_t at = data.offset[feature]
    cdef int n_bins = data.n_bins[feature]
    add_longs(n_bins, sign, part.gradient + at, out.gradient + at)
    if not code.compact:
        add_longs(n_bins, sign, part.hessian + at, out.hessian + at)
        add_ints(n_bins, sign, part.count + at, out.count + at)
