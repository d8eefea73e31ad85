"""Histograms of integer gradients.

The histogram of a node is the exact sum of its rows by feature and bin (`accumulate`), and the
difference of the histograms of a node and a child is exact (`subtract_places`), as the numbers are
integers: see `encoding`. The formats are described in ``layout.h``.

This is where training spends most of its time. Rows are read row by row, all lanes of a row at
once, as LightGBM does with `force_row_wise`; then their shorts, and the entries that sparse
features have in a row.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

from skgoss._engine.atomics cimport spin_lock, spin_unlock
from skgoss._engine.training.layout cimport (
    LANE_CODES, WIDE_PARTS, Binned, Encoding, Histogram, Piece, Sums, unpack)

cdef extern from "histogram.h" nogil:
    void spill_piece(
        const Encoding* encoding, bint first, int64_t* sums, const Piece* piece,
        const Histogram* out)
    int64_t packed_addend(uint64_t record, const Encoding* encoding)
    void sum_packed(const uint64_t* records, Py_ssize_t n, const Encoding* encoding, Sums* out)
    void add_block(
        const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
        const int64_t* pairs, int64_t* sums)
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


cdef void spill_all(
    const Binned* data, const Encoding* encoding, bint first, int64_t* sums, Histogram* out,
) noexcept nogil:
    """Move all accumulators to a histogram; ``first``: whatever that has."""
    cdef int64_t* places = sums + encoding.parts * data.place_sums
    cdef int i
    for i in range(data.n_lanes):
        spill_lane(data, encoding, first, sums, i, out)
    for i in range(data.n_place_pieces):
        spill_piece(
            encoding, first, places + encoding.parts * data.place_pieces[i].at,
            &data.place_pieces[i], out)


cdef void accumulate(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int64_t* sums, Histogram* out,
) noexcept nogil:
    """Let a histogram be the sums of the rows of ``records``.

    ``sums``: of the calling thread, zero before and after. There are WIDE_PARTS * (sums_size + 1),
    so that they can be aligned.
    """
    cdef int64_t* accumulators = sums if encoding.packed else aligned(sums)
    cdef bint first = True
    cdef Py_ssize_t n_added
    while first or n > 0:
        # No more rows than the accumulators have room for.
        n_added = min(n, encoding.block_rows)
        add_block(data, encoding, records, n_added, pairs, accumulators)
        spill_all(data, encoding, first, accumulators, out)
        first = False
        records += n_added
        n -= n_added


cdef void accumulate_in_turn(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int64_t* sums, Histogram* own, Turn* turn, Histogram* out,
) noexcept nogil:
    """Add the sums of the rows of ``records`` to a histogram that other threads add to.

    ``own``: a histogram of the calling thread, for more than one block of rows.
    """
    cdef int64_t* accumulators = sums if encoding.packed else aligned(sums)
    cdef bint in_blocks = n > encoding.block_rows
    if in_blocks:
        accumulate(data, encoding, records, n, pairs, sums, own)
    else:
        add_block(data, encoding, records, n, pairs, accumulators)
    spin_lock(&turn.lock)
    if in_blocks:
        add_pieces(data, encoding, turn.is_begun, own, out)
    else:
        spill_all(data, encoding, not turn.is_begun, accumulators, out)
    turn.is_begun = True
    spin_unlock(&turn.lock)


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


cdef void copy_places(
    const Encoding* encoding, int64_t first, int64_t last, const Histogram* part, Histogram* out,
) noexcept nogil:
    """Copy the sums of some places."""
    memcpy(out.gradient + first, part.gradient + first, (last - first) * sizeof(int64_t))
    if not encoding.compact:
        memcpy(out.hessian + first, part.hessian + first, (last - first) * sizeof(int64_t))
        memcpy(out.count + first, part.count + first, (last - first) * sizeof(int32_t))


cdef void add_piece(
    const Encoding* encoding, const Piece* piece, bint adds, const Histogram* sums,
    Histogram* out,
) noexcept nogil:
    """Add the sums of a piece's places to those of another histogram, or copy them."""
    if adds:
        add_places(encoding, piece.at, piece.at + piece.length, 1, sums, out)
    else:
        copy_places(encoding, piece.at, piece.at + piece.length, sums, out)


cdef void add_pieces(
    const Binned* data, const Encoding* encoding, bint adds, const Histogram* sums,
    Histogram* out,
) noexcept nogil:
    """Add the sums of all places that rows reach to those of another histogram, or copy them."""
    cdef int lane, i, group
    cdef int64_t p
    for lane in range(data.n_lanes):
        for i in range(data.lane_start[lane], data.lane_start[lane + 1]):
            group = data.lane_groups[i]
            for p in range(data.piece_start[group], data.piece_start[group + 1]):
                add_piece(encoding, &data.pieces[p], adds, sums, out)
    for i in range(data.n_place_pieces):
        add_piece(encoding, &data.place_pieces[i], adds, sums, out)


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
