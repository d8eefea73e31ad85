"""Lanes, shorts and entries of the features that are sampled for a tree (colsample_bytree).

A histogram over rows that hold other features, too, would read bytes in vain. So the rows are
laid out as ``layout.h`` describes it, anew for each tree. Rows and features keep their numbers;
of rows that are not sampled, shorts and entries are not filled. Features that are not sampled
have no histogram bins and no codes; the features of a bundle get new codes.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from skgoss._engine.binning.stored_columns cimport first_from
from skgoss._engine.binning.store cimport BinColumn
from skgoss._engine.threads cimport parallel_shares
from skgoss._engine.training.layout cimport LANE_CODES, Binned, Gradients, Piece

cdef extern from "feature_subset.h" nogil:
    enum:
        SUBSET_BLOCK
    void interleave(
        const uint8_t** lanes, Py_ssize_t n, Py_ssize_t stride, uint8_t* out)
    void add_digits(const uint8_t* codes, Py_ssize_t n, int radix, uint8_t* lane)

cdef enum:
    # The time of a search for a category, relative to that for a bin of numbers.
    CATEGORY_VISITS = 10
    # Below this number of bytes of rows, or entries, a team costs more than it gives.
    MIN_BYTES_FOR_TEAM = 200000
    MIN_ENTRIES_FOR_TEAM = 20000


# ------------------------------------------------------------------ histogram bins, groups, lanes

cdef int64_t feature_visits(const Binned* data, int feature) noexcept nogil:
    """Visits of bins that a search takes the time of: categories are ranked, too."""
    return (data.offset[feature + 1] - data.offset[feature]) * (
        CATEGORY_VISITS if data.categorical[feature] else 1)


cdef int64_t count_visits(const Binned* data) noexcept nogil:
    """Visits of the bins of all features."""
    cdef int64_t n_visits = 0
    cdef int feature
    for feature in range(data.n_features):
        n_visits += feature_visits(data, feature)
    return n_visits


cdef void number_hist_bins(
    const Binned* all_rows, SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """Number the histogram bins of the chosen features, in the features' order."""
    cdef int64_t at = 0
    cdef int64_t end
    cdef int feature
    for feature in range(out.n_features):
        buffers.offset[feature] = at
        if buffers.chosen[feature]:
            end = at + all_rows.offset[feature + 1] - all_rows.offset[feature]
            while at < end:
                buffers.feature_of_hist_bin[at] = feature
                at += 1
    buffers.offset[out.n_features] = at
    out.n_hist_bins = at
    out.offset = buffers.offset
    out.n_visits = count_visits(out)
    out.feature_of_hist_bin = buffers.feature_of_hist_bin


cdef int add_piece(Piece* pieces, int n, int first, Piece piece) noexcept nogil:
    """Add a piece to those from ``first`` on, or lengthen the last; returns how many."""
    if n > first and pieces[n - 1].hist_bin + pieces[n - 1].length == piece.hist_bin:
        pieces[n - 1].length += piece.length
        return n
    pieces[n] = piece
    return n + 1


cdef void start_group(
    const Binned* all_rows, const SubsetSource* source, int feature, int n_pieces,
    SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """Begin a group. A bundle has one code already: that of rows with default bins alone."""
    cdef int group = out.n_groups
    cdef const BinColumn* column = &source.columns[feature]
    buffers.lane_groups[group] = group
    buffers.piece_start[group] = n_pieces
    buffers.codes[group] = <const uint8_t*>column.codes
    buffers.n_source_codes[group] = all_rows.n_codes[source.group[feature]]
    buffers.n_codes[group] = column.default_bin >= 0
    buffers.hist_bin_of_code[group * LANE_CODES] = -1
    memset(buffers.digit + group * LANE_CODES, 0, LANE_CODES)
    out.n_groups += 1


cdef int add_codes(
    const BinColumn* column, int64_t at, int n_stored, int n_pieces, SubsetBuffers* buffers,
    int group,
) noexcept nogil:
    """Give a feature's stored bins codes in a group; returns the number of pieces."""
    cdef int32_t first = buffers.n_codes[group]
    cdef int32_t* hist_bin_of_code = buffers.hist_bin_of_code + group * LANE_CODES + first
    cdef uint8_t* digit = buffers.digit + group * LANE_CODES + column.first_code
    cdef Piece piece
    cdef int i
    for i in range(n_stored):
        hist_bin_of_code[i] = <int32_t>(at + i)
        digit[i] = <uint8_t>(first + i)
    piece.hist_bin = at
    piece.code = first
    piece.length = n_stored
    buffers.n_codes[group] += n_stored
    return add_piece(buffers.pieces, n_pieces, buffers.piece_start[group], piece)


cdef void list_groups(
    const Binned* all_rows, const SubsetSource* source, SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """The groups of the chosen features, with new codes without those of others."""
    cdef int group = -1
    cdef int n_pieces = 0
    cdef int feature, i
    out.n_groups = 0
    for i in range(source.n_in_lanes):
        feature = source.in_lanes[i]
        if not buffers.chosen[feature]:
            continue
        if source.group[feature] != group:
            group = source.group[feature]
            start_group(all_rows, source, feature, n_pieces, buffers, out)
        n_pieces = add_codes(
            &source.columns[feature], out.offset[feature],
            <int>(out.offset[feature + 1] - out.offset[feature]), n_pieces, buffers,
            out.n_groups - 1)
    buffers.piece_start[out.n_groups] = n_pieces
    out.n_codes = buffers.n_codes
    out.piece_start = buffers.piece_start
    out.pieces = buffers.pieces
    out.hist_bin_of_code = buffers.hist_bin_of_code


cdef bint is_plain(const SubsetBuffers* buffers, int group) noexcept nogil:
    """Whether the codes of a group are those among all features."""
    return buffers.n_codes[group] == buffers.n_source_codes[group]


cdef void share_lanes(
    const SubsetSource* source, SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """Put groups together in lanes, in their order."""
    cdef int size = 1
    cdef int group, i
    out.n_lanes = 0
    for group in range(out.n_groups):
        if out.n_lanes == 0 or size * buffers.n_codes[group] > source.lane_codes:
            buffers.lane_start[out.n_lanes] = group
            out.n_lanes += 1
            size = 1
        buffers.radix[group] = size
        if not is_plain(buffers, group):
            for i in range(LANE_CODES):
                buffers.digit[group * LANE_CODES + i] *= size
        size *= buffers.n_codes[group]
    buffers.lane_start[out.n_lanes] = out.n_groups
    out.lane_start = buffers.lane_start
    out.lane_groups = buffers.lane_groups
    out.radix = buffers.radix
    out.row_bytes = (out.n_lanes + 7) // 8 * 8
    out.rows = buffers.rows


# ------------------------------------------------------------------ lanes of rows

cdef const uint8_t* lane_values(
    const Binned* data, const SubsetBuffers* buffers, int lane, Py_ssize_t first, Py_ssize_t n,
    uint8_t* values,
) noexcept nogil:
    """A lane of n rows, from ``first`` on: a column as it is, or put into ``values``."""
    cdef int group = data.lane_start[lane] if lane < data.n_lanes else 0
    cdef int end = data.lane_start[lane + 1] if lane < data.n_lanes else 0
    cdef const uint8_t* codes
    cdef const uint8_t* digit
    cdef Py_ssize_t i
    if end == group + 1 and is_plain(buffers, group):
        return buffers.codes[group] + first
    memset(values, 0, n)
    while group < end:
        codes = buffers.codes[group] + first
        if is_plain(buffers, group):
            add_digits(codes, n, data.radix[group], values)
        else:
            digit = buffers.digit + group * LANE_CODES
            for i in range(n):
                values[i] += digit[codes[i]]
        group += 1
    return values


cdef void pack_block(
    const Binned* data, const SubsetBuffers* buffers, Py_ssize_t first,
) noexcept nogil:
    """The lanes of the rows of a block, sampled or not."""
    cdef const uint8_t* lanes[8]
    cdef uint8_t[8 * SUBSET_BLOCK] values
    cdef Py_ssize_t n = min(<Py_ssize_t>SUBSET_BLOCK, data.n_rows - first)
    cdef uint8_t* out = buffers.rows + first * data.row_bytes
    cdef int lane, k
    for lane in range(0, <int>data.row_bytes, 8):
        for k in range(8):
            lanes[k] = lane_values(
                data, buffers, lane + k, first, n, values + k * SUBSET_BLOCK)
        interleave(lanes, n, data.row_bytes, out + lane)


cdef struct Packing:
    const Binned* data
    const SubsetBuffers* buffers


cdef void pack_some(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef Packing* packing = <Packing*>context
    pack_block(packing.data, packing.buffers, first)


cdef void pack_rows(
    const Binned* data, const SubsetBuffers* buffers, int n_threads,
) noexcept nogil:
    """Write the lanes of all rows; threads share the rows out."""
    cdef Packing packing = Packing(data, buffers)
    if data.n_rows * data.row_bytes <= MIN_BYTES_FOR_TEAM:
        n_threads = 1
    parallel_shares(pack_some, &packing, data.n_rows, SUBSET_BLOCK, n_threads)


# ------------------------------------------------------------------ shorts and entries

cdef int renumber_hist_bins(
    const Binned* all_rows, const SubsetSource* source, SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """Number the histogram bins of shorts and entries anew; returns how many features have such."""
    cdef Piece piece
    cdef int n_chosen = 0
    cdef int feature, i
    cdef int64_t at, to
    piece.code = 0
    out.n_hist_bin_pieces = 0
    for i in range(source.n_by_hist_bin):
        feature = source.by_hist_bin[i]
        to = out.offset[feature]
        for at in range(all_rows.offset[feature], all_rows.offset[feature + 1]):
            buffers.hist_bin[at] = <int32_t>to if buffers.chosen[feature] else -1
            to += 1
        if buffers.chosen[feature]:
            n_chosen += 1
            piece.hist_bin = out.offset[feature]
            piece.length = <int32_t>(out.offset[feature + 1] - out.offset[feature])
            out.n_hist_bin_pieces = add_piece(
                buffers.hist_bin_pieces, out.n_hist_bin_pieces, 0, piece)
    out.hist_bin_pieces = buffers.hist_bin_pieces
    return n_chosen


cdef struct ShortsLoop:
    const Binned* all_rows
    const Binned* out
    const SubsetBuffers* buffers
    const uint32_t* ids


cdef void copy_shorts(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef ShortsLoop* loop = <ShortsLoop*>context
    cdef int n_shorts = loop.out.n_shorts
    cdef Py_ssize_t i, row
    cdef int k
    for i in range(first, end):
        row = i if loop.ids == NULL else loop.ids[i]
        for k in range(n_shorts):
            loop.buffers.shorts[row * n_shorts + k] = loop.all_rows.shorts[
                row * loop.all_rows.n_shorts + loop.buffers.short_number[k]]


cdef void pack_shorts(
    const Binned* all_rows, const SubsetSource* source, const Gradients* sampled, int n_threads,
    SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """The shorts of the sampled rows that are bins of the tree's features."""
    cdef Py_ssize_t n = all_rows.n_rows if sampled.ids == NULL else sampled.n
    cdef ShortsLoop loop = ShortsLoop(all_rows, out, buffers, sampled.ids)
    cdef int k
    out.n_shorts = 0
    for k in range(all_rows.n_shorts):
        if buffers.chosen[source.in_shorts[k]]:
            buffers.short_hist_bin[out.n_shorts] = out.offset[source.in_shorts[k]]
            buffers.short_number[out.n_shorts] = k
            out.n_shorts += 1
    if out.n_shorts == 0:
        return
    buffers.short_hist_bin[out.n_shorts] = out.n_hist_bins
    if n * out.n_shorts <= MIN_ENTRIES_FOR_TEAM:
        n_threads = 1
    parallel_shares(copy_shorts, &loop, n, ENTRY_BLOCK, n_threads)
    out.shorts = buffers.shorts
    out.short_hist_bin = buffers.short_hist_bin


cdef int64_t count_block(
    const Binned* all_rows, const Gradients* sampled, Py_ssize_t first, Py_ssize_t last,
    SubsetBuffers* buffers,
) noexcept nogil:
    """Where the entries of each row of a block end; how many all of them have."""
    cdef Py_ssize_t at = (
        first_from(sampled.ids, sampled.n, first) if sampled.ids != NULL else 0)
    cdef int64_t n = 0
    cdef int64_t e
    cdef Py_ssize_t row
    for row in range(first, last):
        if sampled.ids == NULL or (at < sampled.n and sampled.ids[at] == row):
            at += 1
            for e in range(all_rows.entry_start[row], all_rows.entry_start[row + 1]):
                n += buffers.hist_bin[all_rows.entries[e]] >= 0
        buffers.entry_start[row + 1] = n
    return n


cdef void fill_block(
    const Binned* all_rows, int64_t begin, Py_ssize_t first, Py_ssize_t last,
    SubsetBuffers* buffers,
) noexcept nogil:
    """The entries of a block's rows, from ``begin`` on."""
    cdef int64_t n = begin
    cdef int64_t e, end
    cdef int32_t hist_bin
    cdef Py_ssize_t row
    for row in range(first, last):
        end = begin + buffers.entry_start[row + 1]
        buffers.entry_start[row + 1] = end
        e = all_rows.entry_start[row]
        while n < end:
            hist_bin = buffers.hist_bin[all_rows.entries[e]]
            buffers.entries[n] = <uint32_t>hist_bin
            n += hist_bin >= 0
            e += 1


cdef struct EntriesLoop:
    const Binned* all_rows
    const Gradients* sampled
    SubsetBuffers* buffers


cdef void count_some(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef EntriesLoop* loop = <EntriesLoop*>context
    loop.buffers.block_entries[first // ENTRY_BLOCK] = count_block(
        loop.all_rows, loop.sampled, first, end, loop.buffers)


cdef void fill_some(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef EntriesLoop* loop = <EntriesLoop*>context
    fill_block(
        loop.all_rows, loop.buffers.block_entries[first // ENTRY_BLOCK], first, end,
        loop.buffers)


cdef int64_t filter_entries(
    const Binned* all_rows, const Gradients* sampled, int n_threads, SubsetBuffers* buffers,
    Binned* out,
) noexcept nogil:
    """The entries of the sampled rows that name the tree's features; returns how many."""
    cdef Py_ssize_t n_rows = all_rows.n_rows
    cdef Py_ssize_t n_blocks = (n_rows + ENTRY_BLOCK - 1) // ENTRY_BLOCK
    cdef Py_ssize_t block
    cdef int64_t n = 0
    cdef int64_t n_here
    cdef EntriesLoop loop = EntriesLoop(all_rows, sampled, buffers)
    if all_rows.entry_start[n_rows] <= MIN_ENTRIES_FOR_TEAM:
        n_threads = 1
    parallel_shares(count_some, &loop, n_rows, ENTRY_BLOCK, n_threads)
    for block in range(n_blocks):
        n_here = buffers.block_entries[block]
        buffers.block_entries[block] = n
        n += n_here
    buffers.entry_start[0] = 0
    parallel_shares(fill_some, &loop, n_rows, ENTRY_BLOCK, n_threads)
    out.entry_start = buffers.entry_start
    out.entries = buffers.entries
    return n


# ------------------------------------------------------------------ all of it

cdef Binned subset_rows(
    const Binned* all_rows, const SubsetSource* source, const int32_t* features, int n,
    const Gradients* sampled, int n_threads, SubsetBuffers* buffers,
) noexcept nogil:
    """The sampled rows, with the histogram bins of n ``features`` alone, in ascending order.

    They are valid until ``buffers`` is used for the next tree.
    """
    cdef Binned out = all_rows[0]
    cdef int i, n_by_hist_bin
    for i in range(n):
        buffers.chosen[features[i]] = True
    number_hist_bins(all_rows, buffers, &out)
    list_groups(all_rows, source, buffers, &out)
    share_lanes(source, buffers, &out)
    pack_rows(&out, buffers, n_threads)
    out.hist_bin_sums = out.n_lanes * out.lane_stride
    n_by_hist_bin = renumber_hist_bins(all_rows, source, buffers, &out)
    pack_shorts(all_rows, source, sampled, n_threads, buffers, &out)
    out.row_updates = out.n_groups + out.n_shorts
    out.entry_start = NULL
    out.entries = NULL
    if n_by_hist_bin > out.n_shorts:
        out.row_updates += filter_entries(
            all_rows, sampled, n_threads, buffers, &out) / <double>max(sampled.n, 1)
    for i in range(n):
        buffers.chosen[features[i]] = False
    return out
