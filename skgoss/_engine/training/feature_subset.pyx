"""Lanes, shorts and entries of the features that are sampled for a tree (colsample_bytree).

Summing rows with all features would also read the bytes of the other features. So the rows are laid
out again for each tree, as ``layout.h`` describes it. Rows and features keep their numbers; of rows
that are not sampled, shorts and entries are not filled. Features that are not sampled have no
histogram bins and no codes; the features of a bundle get new codes.

In all functions, ``full_data`` are the rows with all features and ``out`` those with the features
of the tree, in the memory of ``buffers``. ``source`` says where the bins of the features come from.
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
    # The search visits a category as long as this number of bins of a numeric feature.
    CATEGORY_VISITS = 10
    # With fewer bytes of rows, or entries, one thread is faster than a team.
    MIN_BYTES_FOR_TEAM = 200000
    MIN_ENTRIES_FOR_TEAM = 20000


# ------------------------------------------------------------------ histogram bins, groups, lanes

cdef int64_t feature_visits(const Binned* data, int feature) noexcept nogil:
    """The visits of bins that the search of a feature takes; categories must also be sorted."""
    return (data.offset[feature + 1] - data.offset[feature]) * (
        CATEGORY_VISITS if data.categorical[feature] else 1)


cdef int64_t count_visits(const Binned* data) noexcept nogil:
    """The visits of bins that the search of all features takes."""
    cdef int64_t n_visits = 0
    cdef int feature
    for feature in range(data.n_features):
        n_visits += feature_visits(data, feature)
    return n_visits


cdef void number_hist_bins(
    const Binned* full_data, SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """Number the histogram bins of the chosen features, in the order of the features.

    Writes ``out.offset`` (the first bin of each feature) and ``out.feature_of_hist_bin``.
    """
    cdef int64_t hist_bin = 0
    cdef int64_t end
    cdef int feature
    for feature in range(out.n_features):
        buffers.offset[feature] = hist_bin
        if buffers.chosen[feature]:
            end = hist_bin + full_data.offset[feature + 1] - full_data.offset[feature]
            while hist_bin < end:
                buffers.feature_of_hist_bin[hist_bin] = feature
                hist_bin += 1
    buffers.offset[out.n_features] = hist_bin
    out.n_hist_bins = hist_bin
    out.offset = buffers.offset
    out.n_visits = count_visits(out)
    out.feature_of_hist_bin = buffers.feature_of_hist_bin


cdef int add_piece(Piece* pieces, int n, int first, Piece piece) noexcept nogil:
    """Append a piece (a run of histogram bins) to n pieces, or lengthen the last one.

    Only pieces from number ``first`` on, those of the same group, are lengthened. Returns the
    number of pieces.
    """
    if n > first and pieces[n - 1].hist_bin + pieces[n - 1].length == piece.hist_bin:
        pieces[n - 1].length += piece.length
        return n
    pieces[n] = piece
    return n + 1


cdef void start_group(
    const Binned* full_data, const SubsetSource* source, int feature, int n_pieces,
    SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """Begin a group with its first feature.

    A bundle already has the code 0, for rows with only default bins. ``n_pieces``: where the
    group's pieces begin.
    """
    cdef int group = out.n_groups
    cdef const BinColumn* column = &source.columns[feature]
    buffers.lane_groups[group] = group
    buffers.piece_start[group] = n_pieces
    buffers.codes[group] = <const uint8_t*>column.codes
    buffers.n_source_codes[group] = full_data.n_codes[source.group[feature]]
    buffers.n_codes[group] = column.default_bin >= 0
    buffers.hist_bin_of_code[group * LANE_CODES] = -1
    memset(buffers.digit + group * LANE_CODES, 0, LANE_CODES)
    out.n_groups += 1


cdef int add_codes(
    const BinColumn* column, int64_t hist_bin, int n_stored, int n_pieces, SubsetBuffers* buffers,
    int group,
) noexcept nogil:
    """Give a feature's stored bins codes in a group; returns the number of pieces.

    - ``hist_bin``, ``n_stored``: the feature's first histogram bin, and their number.
    - ``n_pieces``: pieces so far.
    """
    cdef int32_t first = buffers.n_codes[group]
    cdef int32_t* hist_bin_of_code = buffers.hist_bin_of_code + group * LANE_CODES + first
    cdef uint8_t* digit = buffers.digit + group * LANE_CODES + column.first_code
    cdef Piece piece
    cdef int i
    for i in range(n_stored):
        hist_bin_of_code[i] = <int32_t>(hist_bin + i)
        digit[i] = <uint8_t>(first + i)
    piece.hist_bin = hist_bin
    piece.code = first
    piece.length = n_stored
    buffers.n_codes[group] += n_stored
    return add_piece(buffers.pieces, n_pieces, buffers.piece_start[group], piece)


cdef void list_groups(
    const Binned* full_data, const SubsetSource* source, SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """List the groups of the chosen features, with new codes for these features alone.

    A group is a column of codes: of one feature, or of several sparse ones (a bundle). Codes of
    features that are not chosen become 0, so that the others need fewer codes.
    """
    cdef int group = -1
    cdef int n_pieces = 0
    cdef int feature, i
    out.n_groups = 0
    for i in range(source.n_lane_features):
        feature = source.lane_features[i]
        if not buffers.chosen[feature]:
            continue
        if source.group[feature] != group:
            group = source.group[feature]
            start_group(full_data, source, feature, n_pieces, buffers, out)
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
    """Whether a group has the same codes as with all features: then its column needs no table."""
    return buffers.n_codes[group] == buffers.n_source_codes[group]


cdef void share_lanes(
    const SubsetSource* source, SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """Assign groups to lanes (bytes of a row) in their order; each lane takes all that fit.

    The codes of the groups of a lane are digits of a number, whose radices are products of the
    numbers of codes. Tables of new codes (``digit``) are multiplied by the radix of their group.
    """
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
    """A lane of n rows from ``first`` on: a column of codes itself, or computed in ``values``.

    Lanes behind the last one are zeros.
    """
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
    """Write the lanes of the rows of a block, from ``first`` on, sampled or not."""
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


cdef struct PackLoop:
    const Binned* data
    const SubsetBuffers* buffers


cdef void pack_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Write the lanes of one block."""
    cdef PackLoop* loop = <PackLoop*>context
    pack_block(loop.data, loop.buffers, first)


cdef void pack_rows(
    const Binned* data, const SubsetBuffers* buffers, int n_threads,
) noexcept nogil:
    """Write the lanes of all rows."""
    cdef PackLoop loop = PackLoop(data, buffers)
    if data.n_rows * data.row_bytes <= MIN_BYTES_FOR_TEAM:
        n_threads = 1
    parallel_shares(pack_body, &loop, data.n_rows, SUBSET_BLOCK, n_threads)


# ------------------------------------------------------------------ shorts and entries

cdef int renumber_hist_bins(
    const Binned* full_data, const SubsetSource* source, SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """Map histogram bins of shorts and entries to those of the chosen features.

    Returns the number of these features.
    """
    cdef Piece piece
    cdef int n_chosen = 0
    cdef int feature, i
    cdef int64_t hist_bin, new_hist_bin
    piece.code = 0
    out.n_hist_bin_pieces = 0
    for i in range(source.n_hist_bin_features):
        feature = source.hist_bin_features[i]
        new_hist_bin = out.offset[feature]
        for hist_bin in range(full_data.offset[feature], full_data.offset[feature + 1]):
            buffers.hist_bin[hist_bin] = <int32_t>new_hist_bin if buffers.chosen[feature] else -1
            new_hist_bin += 1
        if buffers.chosen[feature]:
            n_chosen += 1
            piece.hist_bin = out.offset[feature]
            piece.length = <int32_t>(out.offset[feature + 1] - out.offset[feature])
            out.n_hist_bin_pieces = add_piece(
                buffers.hist_bin_pieces, out.n_hist_bin_pieces, 0, piece)
    out.hist_bin_pieces = buffers.hist_bin_pieces
    return n_chosen


cdef struct ShortsLoop:
    # The rows with all features, those with the chosen ones, and the sampled rows; NULL: all.
    const Binned* full_data
    const Binned* out
    const SubsetBuffers* buffers
    const uint32_t* ids


cdef void shorts_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Copy the shorts of the sampled rows ``first`` to ``end``."""
    cdef ShortsLoop* loop = <ShortsLoop*>context
    cdef int n_shorts = loop.out.n_shorts
    cdef Py_ssize_t i, row
    cdef int k
    for i in range(first, end):
        row = i if loop.ids == NULL else loop.ids[i]
        for k in range(n_shorts):
            loop.buffers.shorts[row * n_shorts + k] = loop.full_data.shorts[
                row * loop.full_data.n_shorts + loop.buffers.short_number[k]]


cdef void pack_shorts(
    const Binned* full_data, const SubsetSource* source, const Gradients* sampled, int n_threads,
    SubsetBuffers* buffers, Binned* out,
) noexcept nogil:
    """Copy the shorts of the sampled rows that belong to the chosen features.

    A short is a bin of two bytes, of a feature with too many bins for a byte.
    """
    cdef Py_ssize_t n = full_data.n_rows if sampled.ids == NULL else sampled.n
    cdef ShortsLoop loop = ShortsLoop(full_data, out, buffers, sampled.ids)
    cdef int k
    out.n_shorts = 0
    for k in range(full_data.n_shorts):
        if buffers.chosen[source.short_features[k]]:
            buffers.short_hist_bin[out.n_shorts] = out.offset[source.short_features[k]]
            buffers.short_number[out.n_shorts] = k
            out.n_shorts += 1
    if out.n_shorts == 0:
        return
    buffers.short_hist_bin[out.n_shorts] = out.n_hist_bins
    if n * out.n_shorts <= MIN_ENTRIES_FOR_TEAM:
        n_threads = 1
    parallel_shares(shorts_body, &loop, n, ENTRY_BLOCK, n_threads)
    out.shorts = buffers.shorts
    out.short_hist_bin = buffers.short_hist_bin


cdef int64_t count_block(
    const Binned* full_data, const Gradients* sampled, Py_ssize_t first, Py_ssize_t last,
    SubsetBuffers* buffers,
) noexcept nogil:
    """Find where the entries of each row of a block end within the block; returns their number.

    ``first``, ``last``: the rows of the block. Rows that are not sampled have none. Row i's end is
    written to ``buffers.entry_start[i + 1]``.
    """
    cdef Py_ssize_t k = (
        first_from(sampled.ids, sampled.n, first) if sampled.ids != NULL else 0)
    cdef int64_t n = 0
    cdef int64_t e
    cdef Py_ssize_t row
    for row in range(first, last):
        if sampled.ids == NULL or (k < sampled.n and sampled.ids[k] == row):
            k += 1
            for e in range(full_data.entry_start[row], full_data.entry_start[row + 1]):
                n += buffers.hist_bin[full_data.entries[e]] >= 0
        buffers.entry_start[row + 1] = n
    return n


cdef void fill_block(
    const Binned* full_data, int64_t begin, Py_ssize_t first, Py_ssize_t last,
    SubsetBuffers* buffers,
) noexcept nogil:
    """Write the entries of a block's rows from position ``begin`` on.

    An entry is a histogram bin of a sparse feature that the row has. ``first``, ``last``: the rows.
    ``buffers.entry_start[i + 1]`` is where row i's entries end within the block, and then among
    all.
    """
    cdef int64_t n = begin
    cdef int64_t e, end
    cdef int32_t hist_bin
    cdef Py_ssize_t row
    for row in range(first, last):
        end = begin + buffers.entry_start[row + 1]
        buffers.entry_start[row + 1] = end
        e = full_data.entry_start[row]
        while n < end:
            hist_bin = buffers.hist_bin[full_data.entries[e]]
            buffers.entries[n] = <uint32_t>hist_bin
            n += hist_bin >= 0
            e += 1


cdef struct EntriesLoop:
    const Binned* full_data
    const Gradients* sampled
    SubsetBuffers* buffers


cdef void count_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Count the entries of one block."""
    cdef EntriesLoop* loop = <EntriesLoop*>context
    loop.buffers.block_entries[first // ENTRY_BLOCK] = count_block(
        loop.full_data, loop.sampled, first, end, loop.buffers)


cdef void fill_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Write the entries of one block."""
    cdef EntriesLoop* loop = <EntriesLoop*>context
    fill_block(
        loop.full_data, loop.buffers.block_entries[first // ENTRY_BLOCK], first, end,
        loop.buffers)


cdef int64_t filter_entries(
    const Binned* full_data, const Gradients* sampled, int n_threads, SubsetBuffers* buffers,
    Binned* out,
) noexcept nogil:
    """Copy the entries of the sampled rows that belong to the chosen features.

    Returns their number.
    """
    cdef Py_ssize_t n_rows = full_data.n_rows
    cdef Py_ssize_t n_blocks = (n_rows + ENTRY_BLOCK - 1) // ENTRY_BLOCK
    cdef Py_ssize_t block
    cdef int64_t n = 0
    cdef int64_t block_size
    cdef EntriesLoop loop = EntriesLoop(full_data, sampled, buffers)
    if full_data.entry_start[n_rows] <= MIN_ENTRIES_FOR_TEAM:
        n_threads = 1
    parallel_shares(count_body, &loop, n_rows, ENTRY_BLOCK, n_threads)
    for block in range(n_blocks):
        block_size = buffers.block_entries[block]
        buffers.block_entries[block] = n
        n += block_size
    buffers.entry_start[0] = 0
    parallel_shares(fill_body, &loop, n_rows, ENTRY_BLOCK, n_threads)
    out.entry_start = buffers.entry_start
    out.entries = buffers.entries
    return n


# ------------------------------------------------------------------ all of it

cdef Binned subset_rows(
    const Binned* full_data, const SubsetSource* source, const int32_t* features, int n,
    const Gradients* sampled, int n_threads, SubsetBuffers* buffers,
) noexcept nogil:
    """The rows with only n ``features``, which are ascending.

    They are valid until ``buffers`` is used for the next tree.
    """
    cdef Binned out = full_data[0]
    cdef int i, n_hist_bin_features
    for i in range(n):
        buffers.chosen[features[i]] = True
    number_hist_bins(full_data, buffers, &out)
    list_groups(full_data, source, buffers, &out)
    share_lanes(source, buffers, &out)
    pack_rows(&out, buffers, n_threads)
    out.hist_bin_sums = out.n_lanes * out.lane_stride
    n_hist_bin_features = renumber_hist_bins(full_data, source, buffers, &out)
    pack_shorts(full_data, source, sampled, n_threads, buffers, &out)
    out.row_updates = out.n_groups + out.n_shorts
    out.entry_start = NULL
    out.entries = NULL
    if n_hist_bin_features > out.n_shorts:
        out.row_updates += filter_entries(
            full_data, sampled, n_threads, buffers, &out) / <double>max(sampled.n, 1)
    for i in range(n):
        buffers.chosen[features[i]] = False
    return out
