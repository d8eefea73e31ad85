"""Histograms of integer gradients, and how the rows of a leaf are summed in them.

The histogram of a node is the exact sum of its rows by feature and bin (`accumulate`), and the
difference of the histograms of a node and a child is exact (`subtract_bins`), because the numbers
are integers: see `encoding`. The formats are described in ``layout.h``.

This is where training spends most of its time. Rows are read row by row, all lanes of a row at
once, as LightGBM does with `force_row_wise`; then their shorts, and the entries that sparse
features have in a row.

Large leaves are summed at once, by one thread or several. Smaller ones are summed and searched tile
by tile: a tile has few lanes, so that the sums of all their bins stay in the nearest cache. Small
leaves have no histogram of their own, which would cost more than summing their rows again.

Arguments that many functions here share:

- ``data``, `Binned`: the rows in bins: lanes (bytes), shorts and entries: see ``layout.h``.
- ``encoding``: how gradients and hessians are written as integers in this round.
- ``records``, ``n``: the rows to sum, one 64-bit integer each. In a packed round it has gradient,
  hessian and row number, and in a wide round only the row number.
- ``pairs``: in a wide round, the integers of gradient and hessian of each row, by row number.
- ``sums``: the accumulators of the calling thread: an integer (four in a wide round) for each code
  of each lane, and for each histogram bin of shorts and entries.
- ``is_first``: whether the histogram has no sums yet, so that they replace what is there.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from skgoss._engine.atomics cimport spin_lock, spin_unlock
from skgoss._engine.training.layout cimport (
    LANE_CODES, WIDE_WIDTH, Binned, Encoding, Histogram, Piece, Sums, unpack)
from skgoss._engine.training.tasks cimport (
    N_TURNS, Batch, LaneRange, Siblings, Task, TaskBody, Turn, add_lane_range, add_task, item_at,
    lock_tasks, publish_tasks, run_tasks, set_continuation, start_list, task_work)
from skgoss._engine.training.workspace cimport (
    HIST_BIN_BYTES, NO_MEMORY, Leaf, Shared, SmallLeafBuffers, Tile, TileSums, Workspace,
    encoding_of, histogram_in)

cdef extern from "histogram.h" nogil:
    void spill_piece(
        const Encoding* encoding, bint is_first, int64_t* sums, const Piece* piece,
        const Histogram* out)
    int64_t packed_addend(uint64_t record, const Encoding* encoding)
    void sum_packed(const uint64_t* records, Py_ssize_t n, const Encoding* encoding, Sums* out)
    void add_rows(
        const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
        const int64_t* pairs, int64_t* sums)
    void fold_digit(int64_t* sums, int radix, int n, int width, int64_t* digit_out)
    void pack_sums(
        int n, const Encoding* encoding, int64_t* gradient_inout, const int64_t* hessian,
        const int32_t* count)
    void subtract_packed(
        int n, const Encoding* encoding, const int64_t* packed, int64_t* gradient_inout,
        int64_t* hessian_inout, int32_t* count_inout)
    void add_longs(int n, int sign, const int64_t* values, int64_t* sums_inout)
    void add_ints(int n, int sign, const int32_t* values, int32_t* sums_inout)


cdef enum:
    # Accumulators of a tile, whose number of lanes is a multiple of 8.
    SUMS_PER_TILE = 16 * 264
    # Up to this number of rows, tiles stay in the cache while one thread sums them; with more
    # rows, tiles are used if there are too many lanes to sum all of them at once.
    MAX_TILED_ROWS = 8192
    MIN_TILED_LANES = 512
    MIN_TILES = 4
    # The number of updates of a task for each histogram bin that its sums are moved to.
    UPDATES_PER_BIN = 20
    LANE_GROUP = 8            # lanes of a lane range come in multiples of this

# ------------------------------------------------------------------ row by row

cdef inline void add_to_bin(
    const Encoding* encoding, int64_t x, Sums sums, int64_t hist_bin, Histogram* out,
) noexcept nogil:
    """Add a row's sums to one bin of a histogram.

    ``x``: the same sums, packed into one integer, for histograms that are packed (``compact``).
    """
    cdef uint64_t bit = <uint64_t>1 << (hist_bin % 64)
    cdef uint64_t word
    if out.occupied != NULL:
        # All rows of a histogram are removed, or none: a bin is empty then.
        word = out.occupied[hist_bin // 64]
        out.occupied[hist_bin // 64] = word | bit if sums.count > 0 else word & ~bit
    if encoding.compact:
        out.gradient[hist_bin] += x
    else:
        out.gradient[hist_bin] += sums.gradient
        out.hessian[hist_bin] += sums.hessian
        out.count[hist_bin] += <int32_t>sums.count


cdef inline void touch(
    const Binned* data, int64_t hist_bin, uint8_t* is_touched_inout, int32_t* touched_inout,
    int* n_touched_inout,
) noexcept nogil:
    """Add the feature of a histogram bin to the list ``touched_inout``, once, and count it.

    ``is_touched_inout``: a mask by feature; NULL: nothing is listed.
    """
    cdef int32_t feature
    if is_touched_inout != NULL:
        feature = data.feature_of_hist_bin[hist_bin]
        if not is_touched_inout[feature]:
            is_touched_inout[feature] = 1
            touched_inout[n_touched_inout[0]] = feature
            n_touched_inout[0] += 1


cdef void add_row_by_row(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int sign, Histogram* out, uint8_t* is_touched, int32_t* touched,
    int* n_touched,
) noexcept nogil:
    """Add a few rows to a histogram (``sign`` 1), or subtract them (-1).

    Lists the features whose bins have changed in ``touched``, unless ``is_touched``, a mask by
    feature that is 0 at first, is NULL. Each histogram bin of a row is found by itself, without
    accumulators, which only many rows are worth. ``records``, ``pairs``: see `sum_records`.
    """
    cdef Py_ssize_t i, row
    cdef int64_t e
    cdef int64_t x = 0
    cdef int lane, k, group, value, digit, hist_bin
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
                # The code of a group is a digit of the lane, and the last group has what remains.
                digit = value
                if k + 1 < data.lane_start[lane + 1]:
                    digit = value % data.n_codes[group]
                    value = value // data.n_codes[group]
                hist_bin = data.hist_bin_of_code[group * LANE_CODES + digit]
                if hist_bin >= 0:
                    add_to_bin(encoding, x, sums, hist_bin, out)
                    touch(data, hist_bin, is_touched, touched, n_touched)
        for k in range(data.n_shorts):
            hist_bin = <int>data.short_hist_bin[k] + data.shorts[row * data.n_shorts + k]
            add_to_bin(encoding, x, sums, hist_bin, out)
            touch(data, hist_bin, is_touched, touched, n_touched)
        if data.entries != NULL:
            for e in range(data.entry_start[row], data.entry_start[row + 1]):
                add_to_bin(encoding, x, sums, data.entries[e], out)
                touch(data, data.entries[e], is_touched, touched, n_touched)


cdef Sums sum_records(
    const Encoding* encoding, const uint64_t* records, Py_ssize_t n, const int64_t* pairs,
) noexcept nogil:
    """The sums of the gradients, hessians and counts of n rows, as integers.

    ``records``: of the rows. A record has the gradient and the hessian of its row if
    ``encoding.packed``. Otherwise it is the number of the row, and ``pairs`` has both of each row.
    """
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


# ------------------------------------------------------------------ all rows at once

cdef inline int64_t* aligned(int64_t* sums) noexcept nogil:
    """The first address from ``sums`` on where no accumulator crosses a cache line."""
    cdef uintptr_t size = WIDE_WIDTH * sizeof(int64_t)
    return <int64_t*>((<uintptr_t>sums + size - 1) // size * size)


cdef inline void spill_group(
    const Binned* data, const Encoding* encoding, bint is_first, int64_t* sums, int group,
    Histogram* out,
) noexcept nogil:
    """Move the accumulators of a group's codes to their histogram bins, and clear them.

    ``is_first``: see `spill_part`.
    ``sums``: the accumulator of the group's code 0, which the others follow. The accumulator of
    code 0 of a bundle, which has no histogram bin, is cleared.
    """
    cdef int width = encoding.width
    cdef int64_t i
    for i in range(data.piece_start[group], data.piece_start[group + 1]):
        spill_piece(encoding, is_first, sums + width * data.pieces[i].code, &data.pieces[i], out)
    memset(sums, 0, width * sizeof(int64_t))


cdef void spill_lane(
    const Binned* data, const Encoding* encoding, bint is_first, int64_t* lanes, int lane,
    Histogram* out,
) noexcept nogil:
    """Move a lane's accumulators to the histogram, and clear them.

    A shared lane holds the codes of several groups as digits of a number, so its accumulators count
    combinations of codes. From the highest digit on, these are summed by the code of one group:
    `fold_digit`. ``lanes``: the accumulators of all lanes. ``is_first``: see `spill_part`.
    """
    cdef int width = encoding.width
    cdef int64_t* digit = lanes + width * (data.sums_size - FOLD_SIZE)
    cdef int64_t* sums = lanes + width * lane * data.lane_stride
    cdef int i, group
    for i in range(data.lane_start[lane + 1] - 1, data.lane_start[lane], -1):
        group = data.lane_groups[i]
        fold_digit(sums, data.radix[group], data.n_codes[group], width, digit)
        spill_group(data, encoding, is_first, digit, group, out)
    spill_group(data, encoding, is_first, sums, data.lane_groups[data.lane_start[lane]], out)


cdef inline int part_start(int n, int part, int n_parts) noexcept nogil:
    """Where part number ``part`` of n items begins, if they are cut into ``n_parts`` parts."""
    return n * part // n_parts


cdef void spill_part(
    const Binned* data, const Encoding* encoding, bint is_first, int64_t* sums, int part,
    int n_parts, Histogram* out,
) noexcept nogil:
    """Move part number ``part`` of ``n_parts`` of the accumulators to a histogram, and clear them.

    If they are its first sums (``is_first``), they replace what it has; else they are added.
    """
    cdef int64_t* by_hist_bin = sums + encoding.width * data.hist_bin_sums
    cdef int i
    for i in range(
        part_start(data.n_lanes, part, n_parts), part_start(data.n_lanes, part + 1, n_parts)
    ):
        spill_lane(data, encoding, is_first, sums, i, out)
    for i in range(
        part_start(data.n_hist_bin_pieces, part, n_parts),
        part_start(data.n_hist_bin_pieces, part + 1, n_parts),
    ):
        spill_piece(
            encoding, is_first, by_hist_bin + encoding.width * data.hist_bin_pieces[i].hist_bin,
            &data.hist_bin_pieces[i], out)


cdef void accumulate(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int64_t* sums, Histogram* out,
) noexcept nogil:
    """Write the sums of the rows of ``records`` to a histogram.

    An accumulator overflows with more than ``encoding.capacity`` rows, so they are moved to the
    histogram after each such number of rows.

    ``records``, ``pairs``: see `sum_records`.
    ``sums``: the accumulators of the calling thread, WIDE_WIDTH * (sums_size + 1) integers so that
    they can be aligned. They are zero before and after.
    """
    cdef int64_t* accumulators = sums if encoding.packed else aligned(sums)
    cdef bint is_first = True
    cdef Py_ssize_t n_added
    while is_first or n > 0:
        n_added = min(n, encoding.capacity)
        add_rows(data, encoding, records, n_added, pairs, accumulators)
        spill_part(data, encoding, is_first, accumulators, 0, 1, out)
        is_first = False
        records += n_added
        n -= n_added


cdef void accumulate_in_turn(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int64_t* sums, Histogram* partial, Turn* turns, int first_turn,
    Histogram* out,
) noexcept nogil:
    """Add the sums of the rows of ``records`` to a histogram that other threads add to.

    - ``records``, ``pairs``, ``sums``: see `accumulate`.
    - ``partial``: a histogram of the calling thread, used if there are more rows than its
      accumulators can sum.
    - ``turns``: the histogram is cut into N_TURNS parts, each with a lock.
    - ``first_turn``: the part that this thread adds first.
    """
    cdef int64_t* accumulators = sums if encoding.packed else aligned(sums)
    cdef bint is_spilled = n > encoding.capacity
    cdef Turn* turn
    cdef int part
    if is_spilled:
        accumulate(data, encoding, records, n, pairs, sums, partial)
    else:
        add_rows(data, encoding, records, n, pairs, accumulators)
    # Threads begin at different turns, so that they seldom wait for each other.
    for part in range(first_turn, first_turn + N_TURNS):
        turn = &turns[part % N_TURNS]
        spin_lock(&turn.lock)
        if is_spilled:
            add_part(data, encoding, turn.is_begun, partial, part % N_TURNS, N_TURNS, out)
        else:
            spill_part(
                data, encoding, not turn.is_begun, accumulators, part % N_TURNS, N_TURNS, out)
        turn.is_begun = True
        spin_unlock(&turn.lock)


# ------------------------------------------------------------------ sums of histograms

cdef void add_bins(
    const Encoding* encoding, int64_t first, int64_t last, int sign, const Histogram* other,
    Histogram* out,
) noexcept nogil:
    """Add the sums of the bins [first, last) to those of ``out``; ``sign`` -1: subtract them."""
    cdef int n = <int>(last - first)
    add_longs(n, sign, other.gradient + first, out.gradient + first)
    if not encoding.compact:
        add_longs(n, sign, other.hessian + first, out.hessian + first)
        add_ints(n, sign, other.count + first, out.count + first)


cdef void copy_bins(
    const Encoding* encoding, int64_t first, int64_t last, const Histogram* other, Histogram* out,
) noexcept nogil:
    """Copy the sums of the bins [first, last) of ``other``."""
    memcpy(out.gradient + first, other.gradient + first, (last - first) * sizeof(int64_t))
    if not encoding.compact:
        memcpy(out.hessian + first, other.hessian + first, (last - first) * sizeof(int64_t))
        memcpy(out.count + first, other.count + first, (last - first) * sizeof(int32_t))


cdef void add_piece(
    const Encoding* encoding, const Piece* piece, bint adds, const Histogram* sums,
    Histogram* out,
) noexcept nogil:
    """Add the sums of a piece's bins to those of another histogram, or copy them.

    A piece is a run of consecutive histogram bins. ``adds``: False copies.
    """
    if adds:
        add_bins(encoding, piece.hist_bin, piece.hist_bin + piece.length, 1, sums, out)
    else:
        copy_bins(encoding, piece.hist_bin, piece.hist_bin + piece.length, sums, out)


cdef void add_part(
    const Binned* data, const Encoding* encoding, bint adds, const Histogram* sums, int part,
    int n_parts, Histogram* out,
) noexcept nogil:
    """Add the sums of a part of the lanes, shorts and entries to those of ``out``.

    Without ``adds``, they are copied. ``part``, ``n_parts``: see `spill_part`.
    """
    cdef int lane, i, group
    cdef int64_t p
    for lane in range(
        part_start(data.n_lanes, part, n_parts), part_start(data.n_lanes, part + 1, n_parts)
    ):
        for i in range(data.lane_start[lane], data.lane_start[lane + 1]):
            group = data.lane_groups[i]
            for p in range(data.piece_start[group], data.piece_start[group + 1]):
                add_piece(encoding, &data.pieces[p], adds, sums, out)
    for i in range(
        part_start(data.n_hist_bin_pieces, part, n_parts),
        part_start(data.n_hist_bin_pieces, part + 1, n_parts),
    ):
        add_piece(encoding, &data.hist_bin_pieces[i], adds, sums, out)


cdef void subtract_bins(
    const Encoding* child_encoding, const Encoding* old_encoding, const Encoding* new_encoding,
    int64_t first, int64_t last, const Histogram* child, Histogram* out,
) noexcept nogil:
    """Subtract the sums of a child, in some bins, from its parent's: the sibling's remain.

    - ``first``, ``last``: the range of bins.
    - ``child_encoding``: of the child's sums.
    - ``old_encoding``: of the parent's sums in ``out``; ``new_encoding``: of the sibling's there.
      The sums of few rows are packed into one integer a bin (``compact``), so ``out`` is packed
      first if only the sibling has few.
    - ``child``: NULL: ``out`` is only packed, if it must be.
    """
    cdef int n = <int>(last - first)
    if new_encoding.compact and not old_encoding.compact:
        pack_sums(n, new_encoding, out.gradient + first, out.hessian + first, out.count + first)
    if child == NULL:
        return
    if child_encoding.compact and not new_encoding.compact:
        subtract_packed(
            n, child_encoding, child.gradient + first, out.gradient + first, out.hessian + first,
            out.count + first)
    else:
        add_bins(new_encoding, first, last, -1, child, out)


# ------------------------------------------------------------------ tiles

cdef void list_piece(Workspace* ws, const Piece* piece, Tile* tile) noexcept nogil:
    """Add the features of a piece (a run of histogram bins) that are summed to the newest tile."""
    cdef const Binned* data = &ws.data
    cdef int64_t hist_bin = piece.hist_bin
    cdef int32_t feature
    tile.first_hist_bin = min(tile.first_hist_bin, hist_bin)
    tile.end_hist_bin = max(tile.end_hist_bin, hist_bin + piece.length)
    while hist_bin < piece.hist_bin + piece.length:
        feature = data.feature_of_hist_bin[hist_bin]
        hist_bin = data.offset[feature + 1]
        if ws.is_summed[feature]:
            if tile.n_features > 0 and tile.features[tile.n_features - 1] != feature - 1:
                tile.consecutive = False
            tile.features[tile.n_features] = feature
            tile.n_features += 1
            ws.tile_of[feature] = ws.n_tiles


cdef void list_tile(
    Workspace* ws, int first_lane, int n_lanes, int32_t* features, Tile* tile,
) noexcept nogil:
    """Describe a tile: its lanes, and the features and histogram bins that are in them.

    - ``first_lane``, ``n_lanes``: of the tile, which may have fewer at the end.
    - ``features``: memory for the list of its features.
    """
    cdef const Binned* data = &ws.data
    cdef int lane, i, group
    cdef int64_t p
    tile.first_lane = first_lane
    tile.n_lanes = min(n_lanes, data.n_lanes - first_lane)
    tile.features = features
    tile.n_features = 0
    tile.first_hist_bin = data.n_hist_bins
    tile.end_hist_bin = 0
    tile.consecutive = True
    for lane in range(first_lane, first_lane + tile.n_lanes):
        for i in range(data.lane_start[lane], data.lane_start[lane + 1]):
            group = data.lane_groups[i]
            for p in range(data.piece_start[group], data.piece_start[group + 1]):
                list_piece(ws, &data.pieces[p], tile)


cdef int start_tiles(Shared* shared, Workspace* ws) noexcept nogil:
    """Cut the lanes that a tree reads into tiles; none if rows have shorts or entries.

    Returns 0 or NO_MEMORY.
    """
    cdef const Binned* data = &ws.data
    cdef int32_t* features = ws.tile_features
    cdef int64_t capacity = 0
    cdef int n_lanes = <int>(SUMS_PER_TILE // data.lane_stride) // 8 * 8
    cdef int lane = 0
    cdef int thread
    cdef Tile* tile
    ws.n_tiles = 0
    if data.n_hist_bin_pieces > 0:
        return 0
    while lane < data.n_lanes:
        tile = &ws.tiles[ws.n_tiles]
        list_tile(ws, lane, n_lanes, features, tile)
        if tile.n_features > 0:
            ws.n_tiles += 1
            features = features + tile.n_features
            capacity = max(capacity, tile.end_hist_bin - tile.first_hist_bin)
        lane += n_lanes
    for thread in range(ws.thread, ws.thread + ws.n_threads):
        if reserve_tile(&shared.tile_sums[thread], capacity) < 0:
            return NO_MEMORY
    return 0


cdef int reserve_tile(TileSums* sums, int64_t capacity) noexcept nogil:
    """Reserve a thread's memory for the sums of a tile of ``capacity`` histogram bins.

    Returns 0 or NO_MEMORY.
    """
    if capacity <= sums.capacity:
        return 0
    free(sums.values)
    sums.capacity = 0
    sums.values = <int64_t*>malloc(HIST_BIN_BYTES * capacity)
    if sums.values == NULL:
        return NO_MEMORY
    sums.capacity = capacity
    return 0


cdef Binned slice_lanes(const Binned* data, int first_lane, int n_lanes) noexcept nogil:
    """The same rows with only the ``n_lanes`` lanes from ``first_lane`` on."""
    cdef Binned out = data[0]
    out.rows = data.rows + first_lane
    out.lane_start = data.lane_start + first_lane
    out.n_lanes = n_lanes
    return out


cdef Histogram tile_histogram(const TileSums* sums, int64_t first_hist_bin) noexcept nogil:
    """A thread's sums as a histogram of the bins from ``first_hist_bin`` on.

    Its pointers are moved back, so that bins have their numbers in the whole histogram.
    """
    cdef Histogram out = histogram_in(sums.values, sums.capacity)
    out.gradient -= first_hist_bin
    out.hessian -= first_hist_bin
    out.count -= first_hist_bin
    return out


cdef Histogram sum_tile(
    const Shared* shared, const Workspace* ws, const Tile* tile, const Leaf* leaf, int thread,
) noexcept nogil:
    """The sums of a leaf's rows in a tile, as a histogram with only the tile's bins.

    It is the histogram of the leaf's slot, if it has one, or valid until the thread's next tile.
    """
    cdef Binned lanes = slice_lanes(&ws.data, tile.first_lane, tile.n_lanes)
    cdef Histogram out = tile_histogram(&shared.tile_sums[thread], tile.first_hist_bin)
    if leaf.slot >= 0:
        out = ws.slots[leaf.slot]
    accumulate(
        &lanes, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, shared.accumulators[thread], &out)
    return out


# ------------------------------------------------------------------ leaves, by one thread

cdef void sum_rows(Shared* shared, Siblings* siblings) noexcept nogil:
    """Sum the rows of the smaller sibling in its slot, unless it is searched tile by tile.

    Sets ``siblings.is_summed``: False leaves the sums to the search, which has them in the cache.
    """
    cdef Workspace* ws = siblings.ws
    cdef const Leaf* leaf = siblings.smaller
    cdef Py_ssize_t n = leaf.end - leaf.begin
    siblings.is_summed = ws.n_tiles < MIN_TILES or (
        n > MAX_TILED_ROWS and ws.data.n_lanes < MIN_TILED_LANES)
    if siblings.is_summed:
        accumulate(
            &ws.data, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin, n, ws.pairs,
            shared.accumulators[ws.thread], &ws.slots[leaf.slot])


# ------------------------------------------------------------------ leaves, by several threads

cdef Binned slice_range(const Binned* data, const LaneRange* lanes) noexcept nogil:
    """The same rows with only what a lane range sums: some lanes, or all shorts and entries.

    Shorts and entries are not summed where `n_hist_bin_pieces` is 0, nor lanes where there are 0.
    """
    cdef Binned out
    if lanes.n_lanes > 0:
        out = slice_lanes(data, lanes.first_lane, lanes.n_lanes)
        out.n_hist_bin_pieces = 0
    else:
        out = data[0]
        out.n_lanes = 0
    return out


cdef void sum_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Sum some lanes of some rows of a leaf: a task of `list_lane_sums`.

    ``task.first``, ``task.end``: the rows; ``task.kind``: the number of the lane range. Threads
    that have the same lanes add their sums to the histogram one after the other.
    """
    cdef const Siblings* siblings = &batch.siblings[task.index]
    cdef LaneRange* lanes = <LaneRange*>item_at(&batch.lane_ranges, task.kind)
    cdef Workspace* ws = siblings.ws
    cdef const Leaf* leaf = siblings.smaller
    cdef const Encoding* encoding = encoding_of(ws, leaf)
    cdef Binned data = slice_range(&ws.data, lanes)
    cdef const uint64_t* records = ws.records[leaf.buffer] + leaf.begin + task.first
    cdef Py_ssize_t n = task.end - task.first
    if lanes.n_tasks == 1:
        accumulate(
            &data, encoding, records, n, ws.pairs, shared.accumulators[thread],
            &ws.slots[leaf.slot])
    else:
        accumulate_in_turn(
            &data, encoding, records, n, ws.pairs, shared.accumulators[thread],
            &shared.partial[thread], lanes.turns, thread % N_TURNS, &ws.slots[leaf.slot])


cdef void list_lane_sums(
    Batch* batch, int index, int first_lane, int n_lanes, Py_ssize_t n_rows, int n_tasks,
) noexcept nogil:
    """List the ``n_tasks`` tasks that sum some lanes of a leaf's rows.

    ``index``: of the siblings in the batch. ``n_lanes``: 0: the shorts and entries of the rows.
    """
    cdef int lanes = add_lane_range(batch, first_lane, n_lanes, n_tasks)
    cdef int i
    for i in range(n_tasks if lanes >= 0 else 0):
        add_task(
            batch, sum_task, index, lanes, i * n_rows // n_tasks, (i + 1) * n_rows // n_tasks)


cdef inline int round_up(int n, int divisor) noexcept nogil:
    """The smallest multiple of a divisor that is at least n."""
    return (n + divisor - 1) // divisor * divisor


cdef inline int round_tasks(double n, Py_ssize_t n_rows) noexcept nogil:
    """A number of tasks, rounded: at least 1 and at most one for each row."""
    return <int>max(1.0, min(n + 0.5, <double>n_rows))


cdef void list_ranges(Batch* batch, int index, double size) noexcept nogil:
    """List the tasks that sum a leaf's rows, of about ``size`` updates each.

    The rows are cut into chunks, and the lanes into ranges; a task is a chunk of rows in a range of
    lanes. The fewer rows a task has, the fewer lanes it gets, so that moving its sums costs little.
    ``index``: of the siblings in the batch.
    """
    cdef const Siblings* siblings = &batch.siblings[index]
    cdef const Binned* data = &siblings.ws.data
    cdef Py_ssize_t n_rows = siblings.smaller.end - siblings.smaller.begin
    cdef double n_tasks = max(n_rows * data.row_updates / size, 1.0)
    cdef double task_updates = max(n_rows * data.row_updates / n_tasks, 1.0)
    cdef int n_ranges = <int>max(
        1.0, min(n_tasks, UPDATES_PER_BIN * data.n_hist_bins / task_updates))
    cdef int n_lanes = round_up(round_up(data.n_lanes, n_ranges) // n_ranges, LANE_GROUP)
    cdef int n_lane_ranges = round_up(data.n_lanes, max(n_lanes, 1)) // max(n_lanes, 1)
    cdef int lane = 0
    cdef double n_chunks = n_tasks / max(n_lane_ranges + (data.n_hist_bin_pieces > 0), 1)
    if data.n_hist_bin_pieces > 0:
        list_lane_sums(batch, index, 0, 0, n_rows, round_tasks(n_chunks, n_rows))
    while lane < data.n_lanes:
        n_lanes = min(n_lanes, data.n_lanes - lane)
        list_lane_sums(
            batch, index, lane, n_lanes, n_rows,
            round_tasks(n_chunks * n_lanes * n_lane_ranges / data.n_lanes, n_rows))
        lane += n_lanes


cdef bint needs_sum(const Siblings* siblings) noexcept nogil:
    """Whether the smaller sibling has a slot, and its rows are not summed yet.

    A slot is the memory of a histogram; small leaves have none.
    """
    return siblings.smaller.slot >= 0 and not siblings.is_summed


cdef double count_updates(const Siblings* siblings) noexcept nogil:
    """The updates of bins that summing the smaller sibling takes.

    An update adds a row to one bin.
    """
    return (siblings.smaller.end - siblings.smaller.begin) * siblings.ws.data.row_updates


cdef double count_batch_updates(const Batch* batch) noexcept nogil:
    """The updates of bins that summing all smaller siblings of the batch takes."""
    cdef double updates = 0
    cdef int i
    for i in range(batch.n_siblings):
        if needs_sum(&batch.siblings[i]):
            updates += count_updates(&batch.siblings[i])
    return updates


cdef bint list_sums(Shared* shared, Batch* batch, int index, TaskBody continuation) noexcept nogil:
    """List the tasks that sum the rows of the smaller sibling; False if there are none.

    ``index``: of the siblings in the batch. ``continuation``: is called after the last task; NULL:
    nothing. Tiles of few updates are summed when they are searched. Among processes, a histogram is
    always summed as a whole.
    """
    cdef Siblings* siblings = &batch.siblings[index]
    cdef int first = batch.tasks.n
    if not needs_sum(siblings):
        return False
    if shared.collectives == NULL and batch.n_threads == 1:
        sum_rows(shared, siblings)
        return False
    if (shared.collectives == NULL
            and count_updates(siblings) < batch.sum_size * siblings.ws.n_tiles):
        return False
    siblings.is_summed = True
    list_ranges(batch, index, batch.sum_size)
    set_continuation(batch, first, &siblings.n_open, continuation)
    return True


cdef int sum_batch(Shared* shared, Batch* batch) noexcept nogil:
    """Sum the smaller siblings of the batch that have a slot; 0 or NO_MEMORY.

    Siblings are the two children of a leaf that was divided, or a leaf alone. The tasks are run by
    all threads of the batch.
    """
    cdef double updates = count_batch_updates(batch)
    cdef int i
    start_list(shared, batch)
    batch.sum_size = task_work(batch, updates, MIN_SUM_WORK)
    lock_tasks(batch)
    for i in range(batch.n_siblings):
        list_sums(shared, batch, i, NULL)
    publish_tasks(batch)
    run_tasks(batch, updates)
    return batch.status


# ------------------------------------------------------------------ small leaves

cdef void fill_small_histogram(
    Shared* shared, const Workspace* ws, const Leaf* leaf, uint8_t* is_touched,
) noexcept nogil:
    """Add the rows of a small leaf to the thread's histogram for such leaves, which is zero.

    ``is_touched``, a mask by feature: see `add_row_by_row`.
    """
    cdef SmallLeafBuffers* small = &shared.small_leaf[ws.thread]
    small.n_touched = 0
    add_row_by_row(
        &ws.data, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, 1, &small.histogram, is_touched, small.touched,
        &small.n_touched)


cdef void clear_small_histogram(
    Shared* shared, const Workspace* ws, const Leaf* leaf,
) noexcept nogil:
    """Subtract the rows of a small leaf again, which is faster than clearing all bins."""
    cdef SmallLeafBuffers* small = &shared.small_leaf[ws.thread]
    add_row_by_row(
        &ws.data, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, -1, &small.histogram, NULL, NULL, NULL)


cdef Histogram histogram_with(
    const Shared* shared, const Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """A histogram of a leaf with at least the sums of one feature.

    If the leaf has no slot and there are no tiles, `fill_small_histogram` must be called before.
    """
    if leaf.slot >= 0:
        return ws.slots[leaf.slot]
    if ws.n_tiles > 0:
        return sum_tile(
            shared, ws, &ws.tiles[ws.tile_of[feature]], leaf, ws.thread)
    return shared.small_leaf[ws.thread].histogram
