"""Histograms of integer gradients.

The histogram of a node is the exact sum of its rows by feature and bin (`accumulate`), and the
difference of the histograms of a node and a child is exact (`subtract_places`), as the numbers are
integers: see `encoding`. The formats are described in ``layout.h``.

This is where training spends most of its time. Rows are read row by row, all lanes of a row at
once, as LightGBM does with `force_row_wise`; then their shorts, and the entries that sparse
features have in a row.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.string cimport memset

from skgoss._engine.training.layout cimport (
    LANE_CODES, WIDE_PARTS, Binned, Encoding, Histogram, Piece, Sums, unpack)

cdef extern from "histogram.h" nogil:
    void spill_piece(
        const Encoding* encoding, bint first, int64_t* sums, const Piece* piece,
        const Histogram* out)
    int64_t packed_addend(uint64_t record, const Encoding* encoding)
    void add_block(
        const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
        const int64_t* pairs, int64_t* sums)
    void sum_packed(const uint64_t* records, Py_ssize_t n, const Encoding* encoding, Sums* out)
    void fold_digit(int64_t* sums, int radix, int n, int parts, int64_t* digit_out)
    void pack_sums(
        int n, const Encoding* encoding, int64_t* gradient_inout, const int64_t* hessian,
        const int32_t* count)
    void subtract_packed(
        int n, const Encoding* encoding, const int64_t* packed, int64_t* gradient_inout,
        int64_t* hessian_inout, int32_t* count_inout)
    void add_longs(int n, int sign, const int64_t* values, int64_t* sums_inout)
    void add_ints(int n, int sign, const int32_t* values, int32_t* sums_inout)


cdef inline void change_place(
    const Encoding* encoding, int64_t x, Sums sums, int64_t at, Histogram* out,
) noexcept nogil:
    """Add a row's sums to one place of a histogram; ``x``: the same sums, packed."""
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


cdef void add_few_rows(
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
            x = sign * packed_addend(records[i], encoding)
            sums = unpack(packed_addend(records[i], encoding), encoding)
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
        for k in range(data.n_shorts):
            at = <int>data.short_place[k] + data.shorts[row * data.n_shorts + k]
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


cdef inline void spill_group(
    const Binned* data, const Encoding* encoding, bint first, int64_t* sums, int group,
    Histogram* out,
) noexcept nogil:
    """Move the accumulators of a group's codes to their places; drop those of none."""
    cdef int parts = encoding.parts
    cdef int64_t i
    for i in range(data.piece_start[group], data.piece_start[group + 1]):
        spill_piece(encoding, first, sums + parts * data.pieces[i].code, &data.pieces[i], out)
    memset(sums, 0, parts * sizeof(int64_t))


cdef void spill_lane(
    const Binned* data, const Encoding* encoding, bint first, int64_t* lanes, int lane,
    Histogram* out,
) noexcept nogil:
    """Move a lane's accumulators; a shared lane is folded group by group."""
    cdef int parts = encoding.parts
    cdef int64_t* digit = lanes + parts * (data.sums_size - FOLD_ROOM)
    cdef int64_t* sums = lanes + parts * lane * data.lane_stride
    cdef int i, group
    for i in range(data.lane_start[lane + 1] - 1, data.lane_start[lane], -1):
        group = data.lane_groups[i]
        fold_digit(sums, data.radix[group], data.n_codes[group], parts, digit)
        spill_group(data, encoding, first, digit, group, out)
    spill_group(data, encoding, first, sums, data.lane_groups[data.lane_start[lane]], out)


cdef Unspilled start_sums(
    const Encoding* encoding, int64_t* sums, Histogram* out,
) noexcept nogil:
    """Begin to add rows to accumulators, and them to a histogram, whatever that has.

    ``sums``: of the calling thread, zero before and after. There are WIDE_PARTS * (sums_size + 1),
    so that they can be aligned.
    """
    cdef Unspilled rows
    rows.sums = sums if encoding.packed else aligned(sums)
    rows.histogram = out
    rows.fresh = True
    rows.n_room = encoding.block_rows
    return rows


cdef void spill_all(
    const Binned* data, const Encoding* encoding, Unspilled* rows,
) noexcept nogil:
    """Move the accumulators to the histogram, before more rows could make them overflow."""
    cdef int64_t* places = rows.sums + encoding.parts * data.place_sums
    cdef int i
    for i in range(data.n_lanes):
        spill_lane(data, encoding, rows.fresh, rows.sums, i, rows.histogram)
    for i in range(data.n_place_pieces):
        spill_piece(
            encoding, rows.fresh, places + encoding.parts * data.place_pieces[i].at,
            &data.place_pieces[i], rows.histogram)
    rows.fresh = False
    rows.n_room = encoding.block_rows


cdef void add_rows(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, Unspilled* rows,
) noexcept nogil:
    """Add the rows of ``records`` to accumulators."""
    cdef Py_ssize_t n_added
    while n > 0:
        if rows.n_room == 0:
            spill_all(data, encoding, rows)
        n_added = min(n, rows.n_room)
        add_block(data, encoding, records, n_added, pairs, rows.sums)
        rows.n_room -= n_added
        records += n_added
        n -= n_added


cdef void accumulate(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int64_t* sums, Histogram* out,
) noexcept nogil:
    """Let a histogram be the sums of the rows of ``records``."""
    cdef Unspilled rows = start_sums(encoding, sums, out)
    add_rows(data, encoding, records, n, pairs, &rows)
    spill_all(data, encoding, &rows)


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


cdef void subtract_places(
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
        subtract_packed(
            n, part_code, part.gradient + first, out.gradient + first, out.hessian + first,
            out.count + first)
    else:
        add_places(after, first, last, -1, part, out)
