"""Which bins of a leaf's split go left, and the sums of both sides."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from skgoss._engine.training.layout cimport Binned, Encoding, Histogram, Sums
from skgoss._engine.training.split cimport (
    SCRATCH_CUTS, SCRATCH_ROOM, Bins, Split, add_sums, bin_sums, categories_l2, category_set,
    feature_bins, held_bins)
from skgoss._engine.training.sums cimport clear_rows_histogram, fill_rows_histogram, sums_with
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace, encoding_of, gather


cdef Sums sums_up_to(
    const Bins* bins, const Encoding* encoding, const Split* split, int32_t* room,
) noexcept nogil:
    """Sums over the bins that go left of a cut. ``room``: a number for each bin."""
    cdef Sums sums
    cdef int i, b
    cdef int n = min(split.bin + 1, bins.n_bins)
    memset(&sums, 0, sizeof(Sums))
    if split.missing_left and bins.missing_bin > split.bin:
        sums = bin_sums(bins, bins.missing_bin, encoding)
    if bins.held != NULL:
        n = held_bins(bins, 0, n, room)
    for i in range(n):
        b = i if bins.held == NULL else room[i]
        if b != bins.missing_bin or split.missing_left:
            sums = add_sums(sums, bin_sums(bins, b, encoding))
    return sums


cdef void decide_bins(
    const Binned* data, const Split* split, uint8_t* goes_left_out,
) noexcept nogil:
    memset(goes_left_out, 0, data.n_bins[split.feature])
    memset(goes_left_out, 1, min(split.bin + 1, data.n_bins[split.feature]))
    if data.missing_bin[split.feature] >= 0:
        goes_left_out[data.missing_bin[split.feature]] = split.missing_left


cdef void write_set(const uint8_t* goes_left, int n_bins, uint32_t* words_out) noexcept nogil:
    """The bins that go left, as bits of words, which must be 0."""
    cdef int b
    for b in range(n_bins):
        words_out[b // 32] |= <uint32_t>goes_left[b] << (b % 32)


cdef double recall_left(Workspace* ws, const Leaf* leaf, Sums* left_out) noexcept nogil:
    """What `choose_left` finds, of a leaf whose best split another process may have found."""
    cdef const uint32_t* words = ws.left_sets + leaf.mask * ws.set_size
    cdef int b
    if ws.data.categorical[leaf.best.feature]:
        for b in range(ws.data.n_bins[leaf.best.feature]):
            ws.scratch.goes_left[b] = words[b // 32] >> (b % 32) & 1
    else:
        decide_bins(&ws.data, &leaf.best, ws.scratch.goes_left)
    left_out[0] = leaf.shared_split.left
    return leaf.shared_split.l2


cdef double choose_left(
    Shared* shared, Workspace* ws, Leaf* leaf, Sums* left_out,
) noexcept nogil:
    """Which bins of a leaf's split go left, and their sums; the ridge penalty below it."""
    cdef const Binned* data = &ws.data
    cdef const Encoding* encoding = encoding_of(ws, leaf)
    cdef double* scratch = shared.scratch[ws.thread]
    cdef int64_t* room = <int64_t*>(
        scratch + SCRATCH_CUTS * (shared.max_bins + SCRATCH_ROOM))
    cdef double l2 = ws.rules.l2
    cdef bint is_filled = leaf.slot < 0 and ws.n_tiles == 0
    cdef Histogram histogram
    cdef Bins bins
    if leaf.slot < 0:
        gather(ws, leaf, 1)
    if is_filled:
        fill_rows_histogram(shared, ws, leaf, NULL)
    histogram = sums_with(shared, ws, leaf, leaf.best.feature)
    bins = feature_bins(
        data, &histogram, leaf.best.feature, &leaf.stats.sums, encoding, room)
    if data.categorical[leaf.best.feature]:
        left_out[0] = category_set(
            &bins, encoding, &leaf.stats, &ws.rules, &leaf.best, scratch, ws.scratch.goes_left)
        l2 = categories_l2(bins.n_bins, &ws.rules)
    else:
        decide_bins(data, &leaf.best, ws.scratch.goes_left)
        left_out[0] = sums_up_to(&bins, encoding, &leaf.best, <int32_t*>scratch)
    if is_filled:
        clear_rows_histogram(shared, ws, leaf)
    return l2
