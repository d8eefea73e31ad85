"""Histograms of integer gradients, and how the rows of a leaf are summed in them.

The histogram of a node is the exact sum of its rows by feature and bin (`accumulate`), and the
difference of the histograms of a node and a child is exact (`subtract_bins`), as the numbers are
integers: see `encoding`. The formats are described in ``layout.h``.

This is where training spends most of its time. Rows are read row by row, all lanes of a row at
once, as LightGBM does with `force_row_wise`; then their shorts, and the entries that sparse
features have in a row.

Large leaves are summed at once, by one thread or several. Small ones are summed, and searched,
tile by tile: lanes so few that the sums of all their bins stay in the nearest cache. Leaves of
very few rows never have a whole histogram, which would cost more than summing them again.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from skgoss._engine.atomics cimport spin_lock, spin_unlock
from skgoss._engine.training.layout cimport (
    LANE_CODES, WIDE_WIDTH, Binned, Encoding, Histogram, Piece, Sums, unpack)
from skgoss._engine.training.tasks cimport (
    N_TURNS, Batch, Siblings, LaneRange, Task, TaskBody, Turn, add_lane_range, add_task, item_at,
    begin_adding, end_adding, let_follow, run_tasks, start_list, task_work)
from skgoss._engine.training.workspace cimport (
    NO_MEMORY, HIST_BIN_BYTES, FewRows, Leaf, Shared, Tile, TileSums, Workspace, encoding_of,
    histogram_in)

cdef extern from "histogram.h" nogil:
    void spill_piece(
        const Encoding* encoding, bint first, int64_t* sums, const Piece* piece,
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
    # Accumulators of a tile, which has whole eights of lanes.
    SUMS_PER_TILE = 16 * 264
    # Up to this number of rows, tiles stay in the cache while one thread sums them; with more
    # rows, tiles are used if there are too many lanes to sum all of them at once.
    MAX_TILED_ROWS = 8192
    MIN_TILED_LANES = 512
    MIN_TILES = 4
    # The number of updates of a task for each histogram bin that its sums are moved to.
    UPDATES_PER_BIN = 20
    LANES_AT_ONCE = 8         # by which rows are read

# ------------------------------------------------------------------ row by row

cdef inline void change_bin(
    const Encoding* encoding, int64_t x, Sums sums, int64_t at, Histogram* out,
) noexcept nogil:
    """Add a row's sums to one bin of a histogram; ``x``: the same sums, packed."""
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
    """Note that a histogram bin, and so a feature, is touched."""
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

    Lists the features whose bins were touched in ``touched`` unless ``seen``, a byte of
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
                at = data.hist_bin_of_code[group * LANE_CODES + digit]
                if at >= 0:
                    change_bin(encoding, x, sums, at, out)
                    touch(data, at, seen, touched, n_touched)
        for k in range(data.n_shorts):
            at = <int>data.short_hist_bin[k] + data.shorts[row * data.n_shorts + k]
            change_bin(encoding, x, sums, at, out)
            touch(data, at, seen, touched, n_touched)
        if data.entries != NULL:
            for e in range(data.entry_start[row], data.entry_start[row + 1]):
                change_bin(encoding, x, sums, data.entries[e], out)
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


# ------------------------------------------------------------------ all rows at once

cdef inline int64_t* aligned(int64_t* sums) noexcept nogil:
    """The first accumulator that, as all that follow, lies in one cache line."""
    cdef uintptr_t size = WIDE_WIDTH * sizeof(int64_t)
    return <int64_t*>((<uintptr_t>sums + size - 1) // size * size)


cdef inline void spill_group(
    const Binned* data, const Encoding* encoding, bint first, int64_t* sums, int group,
    Histogram* out,
) noexcept nogil:
    """Move the accumulators of a group's codes to their histogram bins; drop those of none."""
    cdef int width = encoding.width
    cdef int64_t i
    for i in range(data.piece_start[group], data.piece_start[group + 1]):
        spill_piece(encoding, first, sums + width * data.pieces[i].code, &data.pieces[i], out)
    memset(sums, 0, width * sizeof(int64_t))


cdef void spill_lane(
    const Binned* data, const Encoding* encoding, bint first, int64_t* lanes, int lane,
    Histogram* out,
) noexcept nogil:
    """Move a lane's accumulators; a shared lane is folded group by group."""
    cdef int width = encoding.width
    cdef int64_t* digit = lanes + width * (data.sums_size - FOLD_ROOM)
    cdef int64_t* sums = lanes + width * lane * data.lane_stride
    cdef int i, group
    for i in range(data.lane_start[lane + 1] - 1, data.lane_start[lane], -1):
        group = data.lane_groups[i]
        fold_digit(sums, data.radix[group], data.n_codes[group], width, digit)
        spill_group(data, encoding, first, digit, group, out)
    spill_group(data, encoding, first, sums, data.lane_groups[data.lane_start[lane]], out)


cdef inline int cut_at(int n, int part, int n_parts) noexcept nogil:
    """Where a part of n things begins."""
    return n * part // n_parts


cdef void spill_part(
    const Binned* data, const Encoding* encoding, bint first, int64_t* sums, int part,
    int n_parts, Histogram* out,
) noexcept nogil:
    """Move a part of the accumulators to a histogram; ``first``: whatever that has."""
    cdef int64_t* by_hist_bin = sums + encoding.width * data.hist_bin_sums
    cdef int i
    for i in range(
        cut_at(data.n_lanes, part, n_parts), cut_at(data.n_lanes, part + 1, n_parts)
    ):
        spill_lane(data, encoding, first, sums, i, out)
    for i in range(
        cut_at(data.n_hist_bin_pieces, part, n_parts),
        cut_at(data.n_hist_bin_pieces, part + 1, n_parts),
    ):
        spill_piece(
            encoding, first, by_hist_bin + encoding.width * data.hist_bin_pieces[i].at,
            &data.hist_bin_pieces[i], out)


cdef void accumulate(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int64_t* sums, Histogram* out,
) noexcept nogil:
    """Let a histogram be the sums of the rows of ``records``.

    ``sums``: of the calling thread, zero before and after. There are WIDE_WIDTH * (sums_size + 1),
    so that they can be aligned.
    """
    cdef int64_t* accumulators = sums if encoding.packed else aligned(sums)
    cdef bint first = True
    cdef Py_ssize_t n_added
    while first or n > 0:
        # No more rows than the accumulators have room for.
        n_added = min(n, encoding.capacity)
        add_rows(data, encoding, records, n_added, pairs, accumulators)
        spill_part(data, encoding, first, accumulators, 0, 1, out)
        first = False
        records += n_added
        n -= n_added


cdef void accumulate_in_turn(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int64_t* sums, Histogram* partial, Turn* turns, int first_turn,
    Histogram* out,
) noexcept nogil:
    """Add the sums of the rows of ``records`` to a histogram that other threads add to.

    ``partial``: a histogram of the calling thread, for more rows than its accumulators have
    room for.
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
    """Add the sums of some bins to those of another histogram, or subtract them."""
    cdef int n = <int>(last - first)
    add_longs(n, sign, other.gradient + first, out.gradient + first)
    if not encoding.compact:
        add_longs(n, sign, other.hessian + first, out.hessian + first)
        add_ints(n, sign, other.count + first, out.count + first)


cdef void copy_bins(
    const Encoding* encoding, int64_t first, int64_t last, const Histogram* other, Histogram* out,
) noexcept nogil:
    """Copy the sums of some bins."""
    memcpy(out.gradient + first, other.gradient + first, (last - first) * sizeof(int64_t))
    if not encoding.compact:
        memcpy(out.hessian + first, other.hessian + first, (last - first) * sizeof(int64_t))
        memcpy(out.count + first, other.count + first, (last - first) * sizeof(int32_t))


cdef void add_piece(
    const Encoding* encoding, const Piece* piece, bint adds, const Histogram* sums,
    Histogram* out,
) noexcept nogil:
    """Add the sums of a piece's bins to those of another histogram, or copy them."""
    if adds:
        add_bins(encoding, piece.at, piece.at + piece.length, 1, sums, out)
    else:
        copy_bins(encoding, piece.at, piece.at + piece.length, sums, out)


cdef void add_part(
    const Binned* data, const Encoding* encoding, bint adds, const Histogram* sums, int part,
    int n_parts, Histogram* out,
) noexcept nogil:
    """Add the sums of a part of what rows reach to those of another histogram, or copy them."""
    cdef int lane, i, group
    cdef int64_t p
    for lane in range(
        cut_at(data.n_lanes, part, n_parts), cut_at(data.n_lanes, part + 1, n_parts)
    ):
        for i in range(data.lane_start[lane], data.lane_start[lane + 1]):
            group = data.lane_groups[i]
            for p in range(data.piece_start[group], data.piece_start[group + 1]):
                add_piece(encoding, &data.pieces[p], adds, sums, out)
    for i in range(
        cut_at(data.n_hist_bin_pieces, part, n_parts),
        cut_at(data.n_hist_bin_pieces, part + 1, n_parts),
    ):
        add_piece(encoding, &data.hist_bin_pieces[i], adds, sums, out)


cdef void subtract_bins(
    const Encoding* child_encoding, const Encoding* before, const Encoding* after, int64_t first,
    int64_t last, const Histogram* child, Histogram* out,
) noexcept nogil:
    """Subtract the sums of a child, in some bins, from its parent's: the sibling's remain.

    ``before``, ``after``: how the sums are written that were the parent's and are the sibling's.
    They are packed here if need be. ``child`` is NULL to do no more than that.
    """
    cdef int n = <int>(last - first)
    if after.compact and not before.compact:
        pack_sums(n, after, out.gradient + first, out.hessian + first, out.count + first)
    if child == NULL:
        return
    if child_encoding.compact and not after.compact:
        subtract_packed(
            n, child_encoding, child.gradient + first, out.gradient + first, out.hessian + first,
            out.count + first)
    else:
        add_bins(after, first, last, -1, child, out)


# ------------------------------------------------------------------ tiles

cdef void list_piece(Workspace* ws, const Piece* piece, Tile* tile) noexcept nogil:
    """Add the features of a piece that are summed to the newest tile."""
    cdef const Binned* data = &ws.data
    cdef int64_t at = piece.at
    cdef int32_t feature
    tile.first_hist_bin = min(tile.first_hist_bin, at)
    tile.end_hist_bin = max(tile.end_hist_bin, at + piece.length)
    while at < piece.at + piece.length:
        feature = data.feature_at[at]
        at = data.offset[feature + 1]
        if ws.is_summed[feature]:
            if tile.n_features > 0 and tile.features[tile.n_features - 1] != feature - 1:
                tile.consecutive = False
            tile.features[tile.n_features] = feature
            tile.n_features += 1
            ws.tile_of[feature] = ws.n_tiles


cdef void list_tile(
    Workspace* ws, int first_lane, int n_lanes, int32_t* features, Tile* tile,
) noexcept nogil:
    """Describe a tile: its lanes, and the features and histogram bins that are in them."""
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
    """Cut the lanes that a tree reads into tiles, unless rows have more than lanes."""
    cdef const Binned* data = &ws.data
    cdef int32_t* features = ws.tile_features
    cdef int64_t room = 0
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
            room = max(room, tile.end_hist_bin - tile.first_hist_bin)
        lane += n_lanes
    for thread in range(ws.thread, ws.thread + ws.n_threads):
        if make_room(&shared.tile_sums[thread], room) < 0:
            return NO_MEMORY
    return 0


cdef int make_room(TileSums* sums, int64_t room) noexcept nogil:
    """Let a thread have ``room`` histogram bins for the sums of a tile."""
    if room <= sums.room:
        return 0
    free(sums.values)
    sums.room = 0
    sums.values = <int64_t*>malloc(HIST_BIN_BYTES * room)
    if sums.values == NULL:
        return NO_MEMORY
    sums.room = room
    return 0


cdef Binned lanes_of(const Binned* data, int first_lane, int n_lanes) noexcept nogil:
    """The rows as if they had some neighboring lanes only."""
    cdef Binned out = data[0]
    out.rows = data.rows + first_lane
    out.lane_start = data.lane_start + first_lane
    out.n_lanes = n_lanes
    return out


cdef Histogram sums_of(const TileSums* sums, int64_t first_hist_bin) noexcept nogil:
    """A thread's sums as a histogram that has the bins from ``first_hist_bin`` on."""
    cdef Histogram out = histogram_in(sums.values, sums.room)
    out.gradient -= first_hist_bin
    out.hessian -= first_hist_bin
    out.count -= first_hist_bin
    return out


cdef Histogram sum_tile(
    const Shared* shared, const Workspace* ws, const Tile* tile, const Leaf* leaf, int thread,
) noexcept nogil:
    """The sums of a leaf's rows: in its slot, or with the thread until its next call."""
    cdef Binned lanes = lanes_of(&ws.data, tile.first_lane, tile.n_lanes)
    cdef Histogram out = sums_of(&shared.tile_sums[thread], tile.first_hist_bin)
    if leaf.slot >= 0:
        out = ws.slots[leaf.slot]
    accumulate(
        &lanes, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, shared.accumulators[thread], &out)
    return out


# ------------------------------------------------------------------ leaves, by one thread

cdef void sum_rows(Shared* shared, Siblings* siblings) noexcept nogil:
    """Sum the rows of the smaller sibling in its slot, unless tiles are better."""
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

cdef Binned range_of(const Binned* data, const LaneRange* lanes) noexcept nogil:
    """The rows as if they had nothing else."""
    cdef Binned out
    if lanes.n_lanes > 0:
        out = lanes_of(data, lanes.first_lane, lanes.n_lanes)
        out.n_hist_bin_pieces = 0
    else:
        out = data[0]
        out.n_lanes = 0
    return out


cdef void sum_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Sum some lanes of some rows of a leaf.

    Threads that have the same lanes add their sums to the histogram one after the other.
    """
    cdef const Siblings* siblings = &batch.siblings[task.index]
    cdef LaneRange* lanes = <LaneRange*>item_at(&batch.lane_ranges, task.kind)
    cdef Workspace* ws = siblings.ws
    cdef const Leaf* leaf = siblings.smaller
    cdef const Encoding* encoding = encoding_of(ws, leaf)
    cdef Binned data = range_of(&ws.data, lanes)
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
    """List the tasks that sum some lanes of a leaf's rows."""
    cdef int lanes = add_lane_range(batch, first_lane, n_lanes, n_tasks)
    cdef int i
    for i in range(n_tasks if lanes >= 0 else 0):
        add_task(
            batch, sum_task, index, lanes, i * n_rows // n_tasks, (i + 1) * n_rows // n_tasks)


cdef inline int rounded_up(int n, int divisor) noexcept nogil:
    """The multiple of a divisor that is not below n."""
    return (n + divisor - 1) // divisor * divisor


cdef inline int chunks(double n, Py_ssize_t n_rows) noexcept nogil:
    """A whole number of tasks that share out some rows."""
    return <int>max(1.0, min(n + 0.5, <double>n_rows))


cdef void list_ranges(Batch* batch, int index, double size) noexcept nogil:
    """List the tasks that sum a leaf's rows, of about ``size`` updates each.

    The fewer rows a task has, the fewer lanes, so that moving its sums costs little.
    """
    cdef const Siblings* siblings = &batch.siblings[index]
    cdef const Binned* data = &siblings.ws.data
    cdef Py_ssize_t n_rows = siblings.smaller.end - siblings.smaller.begin
    cdef double n_tasks = max(n_rows * data.row_updates / size, 1.0)
    cdef double task_updates = max(n_rows * data.row_updates / n_tasks, 1.0)
    cdef int n_ranges = <int>max(
        1.0, min(n_tasks, UPDATES_PER_BIN * data.n_hist_bins / task_updates))
    cdef int n_lanes = rounded_up(rounded_up(data.n_lanes, n_ranges) // n_ranges, LANES_AT_ONCE)
    cdef int n_lane_ranges = rounded_up(data.n_lanes, max(n_lanes, 1)) // max(n_lanes, 1)
    cdef int lane = 0
    cdef double n_chunks = n_tasks / max(n_lane_ranges + (data.n_hist_bin_pieces > 0), 1)
    if data.n_hist_bin_pieces > 0:
        list_lane_sums(batch, index, 0, 0, n_rows, chunks(n_chunks, n_rows))
    while lane < data.n_lanes:
        n_lanes = min(n_lanes, data.n_lanes - lane)
        list_lane_sums(
            batch, index, lane, n_lanes, n_rows,
            chunks(n_chunks * n_lanes * n_lane_ranges / data.n_lanes, n_rows))
        lane += n_lanes


cdef bint is_to_sum(const Siblings* siblings) noexcept nogil:
    """Whether the smaller sibling has a slot that its rows are not summed in."""
    return siblings.smaller.slot >= 0 and not siblings.is_summed


cdef double updates_of(const Siblings* siblings) noexcept nogil:
    """What summing the smaller sibling takes."""
    return (siblings.smaller.end - siblings.smaller.begin) * siblings.ws.data.row_updates


cdef double updates_of_all(const Batch* batch) noexcept nogil:
    """What summing all smaller siblings of the batch takes."""
    cdef double updates = 0
    cdef int i
    for i in range(batch.n_siblings):
        if is_to_sum(&batch.siblings[i]):
            updates += updates_of(&batch.siblings[i])
    return updates


cdef bint list_sums(Shared* shared, Batch* batch, int index, TaskBody follow) noexcept nogil:
    """List the tasks that sum the rows of the smaller sibling; False if there are none.

    Tiles of few updates are summed as they are searched. Processes add up whole histograms.
    """
    cdef Siblings* siblings = &batch.siblings[index]
    cdef int first = batch.tasks.n
    if not is_to_sum(siblings):
        return False
    if shared.collectives == NULL and batch.n_threads == 1:
        sum_rows(shared, siblings)
        return False
    if (shared.collectives == NULL
            and updates_of(siblings) < batch.sum_size * siblings.ws.n_tiles):
        return False
    siblings.is_summed = True
    list_ranges(batch, index, batch.sum_size)
    let_follow(batch, first, &siblings.n_open, follow)
    return True


cdef int sum_together(Shared* shared, Batch* batch) noexcept nogil:
    """Sum the smaller siblings of the batch that have a slot; 0 or NO_MEMORY."""
    cdef double updates = updates_of_all(batch)
    cdef int i
    start_list(shared, batch)
    batch.sum_size = task_work(batch, updates, MIN_SUM_WORK)
    begin_adding(batch)
    for i in range(batch.n_siblings):
        list_sums(shared, batch, i, NULL)
    end_adding(batch)
    run_tasks(batch, updates)
    return batch.status


# ------------------------------------------------------------------ leaves of few rows

cdef void fill_rows_histogram(
    Shared* shared, const Workspace* ws, const Leaf* leaf, uint8_t* seen,
) noexcept nogil:
    """Put a leaf's few rows into the thread's histogram for them, which is empty."""
    cdef FewRows* few = &shared.few[ws.thread]
    few.n_touched = 0
    add_few_rows(
        &ws.data, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, 1, &few.histogram, seen, few.touched, &few.n_touched)


cdef void clear_rows_histogram(
    Shared* shared, const Workspace* ws, const Leaf* leaf,
) noexcept nogil:
    """Take them out again: sooner than to clear all bins."""
    add_few_rows(
        &ws.data, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, -1, &shared.few[ws.thread].histogram, NULL, NULL, NULL)


cdef Histogram sums_with(
    const Shared* shared, const Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """A histogram that has at least the sums of one feature.

    Without tiles, the rows of a leaf without a slot must be in the histogram for few rows.
    """
    if leaf.slot >= 0:
        return ws.slots[leaf.slot]
    if ws.n_tiles > 0:
        return sum_tile(
            shared, ws, &ws.tiles[ws.tile_of[feature]], leaf, ws.thread)
    return shared.few[ws.thread].histogram
