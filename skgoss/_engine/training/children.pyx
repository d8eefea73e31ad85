"""Histograms and best splits of new leaves.

Build the histogram of the smaller child, subtract it for the larger, find the best split of
both.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from skgoss._engine.training.constraints cimport (
    allowed_features, prepare_constraints, start_constraints)
from skgoss._engine.training.histogram cimport (
    GradientStats, Roots, accumulate, add_places, encode_round, is_fine, move_rows, read_round,
    sum_words, take_places)
from skgoss._engine.training.layout cimport Binned, Encoding, Histogram, Slopes, Sums
from skgoss._engine.random cimport NODE_FEATURES, RANDOM_THRESHOLD, below, draw, key
from skgoss._engine.training.peers cimport (
    choose_columns, gather_all, reserve_message, share_sums)
from skgoss._engine.training.sampling cimport sample_features
from skgoss._engine.training.split cimport (
    SCRATCH_CUTS, SCRATCH_ROOM, Bins, FeatureSet, Split, SplitRules, bin_sums,
    categories_l2, category_set, feature_bins, held_bins, node_stats, search_features)
from skgoss._engine.training.tiles cimport start_tiles, sum_tile
from skgoss._engine.training.workspace cimport (
    INTERMEDIATE, NO_MEMORY, NO_TURN, ForcedSplit, Known, Leaf, Round, Shared, Tile, Workspace,
    better, encoding_of, free_slot, gather, take_slot)

cdef extern from "team.h" nogil:
    int64_t take_next(int64_t* next)

cdef enum:
    # Threads take rows and features in chunks; those of rows have so many updates a place
    # of the histogram or more.
    CHUNKS_A_THREAD = 8
    UPDATES_A_PLACE = 8
    # Below so many bin updates or bin visits a team of threads costs more than it gives.
    MIN_UPDATES_A_TEAM = 100000
    MIN_VISITS_A_TEAM = 24000
    # The tiles of so many rows are near while the threads share them out, and those of more
    # rows if there are too many lanes to sum all of them at once.
    MAX_TILED_ROWS = 8192
    MIN_TILED_LANES = 512
    TILES_A_THREAD = 4
    # A leaf gets a histogram unless it has so many more places than updates: where rows are
    # summed in tiles, and where they are put into an empty histogram one by one.
    PLACES_A_TILED = 2
    PLACES_AN_UPDATE = 8

# ------------------------------------------------------------------ histograms and splits

cdef Py_ssize_t chunk_size(
    const Binned* data, const Encoding* code, Py_ssize_t n, int n_parts,
) noexcept nogil:
    """How many of n rows a thread takes at a time.

    Few, so that a thread that is held up does not hold up the others; many enough to pay
    for the places that each chunk's sums go to.
    """
    cdef Py_ssize_t size = max(
        n // (n_parts * CHUNKS_A_THREAD),
        <Py_ssize_t>(UPDATES_A_PLACE * data.n_places / data.row_updates))
    if size > code.block_rows:
        size += code.block_rows - size % code.block_rows
    return min(size, (n + n_parts - 1) // n_parts)


cdef void build_part(
    Shared* shared, Workspace* ws, const Leaf* leaf, int part, Py_ssize_t size,
) noexcept nogil:
    """Sum the chunk of rows that has the number of the part, and others that are left."""
    cdef int thread = ws.first_thread + part
    cdef Histogram* out = &ws.slots[leaf.slot] if part == 0 else &shared.partial[thread]
    cdef Py_ssize_t first = min(leaf.begin + part * size, leaf.end)
    cdef bint fresh = True
    while fresh or first < leaf.end:
        accumulate(
            &ws.data, encoding_of(ws, leaf), ws.words[leaf.buffer] + first,
            min(size, leaf.end - first), ws.pairs, fresh, shared.sums[thread], out)
        fresh = False
        first = leaf.begin + take_next(&ws.next_chunk) * size


cdef int build(Shared* shared, Workspace* ws, const Leaf* leaf) noexcept nogil:
    """Sum the rows of a leaf into its slot and the partial histograms of more threads.

    Returns the number of threads that took part; 0: tiles are better.
    """
    cdef Py_ssize_t n = leaf.end - leaf.begin
    cdef bint many = n * ws.data.row_updates > MIN_UPDATES_A_TEAM
    cdef int n_parts = ws.n_threads if many else 1
    cdef Py_ssize_t size
    cdef int part
    if (ws.n_tiles >= TILES_A_THREAD * n_parts
            and (n <= MAX_TILED_ROWS or ws.data.n_lanes >= MIN_TILED_LANES)):
        return 0
    ws.next_chunk = n_parts
    if n_parts == 1:
        build_part(shared, ws, leaf, 0, n)
        return 1
    size = chunk_size(&ws.data, encoding_of(ws, leaf), n, n_parts)
    for part in prange(n_parts, num_threads=n_parts, schedule="static", chunksize=1):
        build_part(shared, ws, leaf, part, size)
    return n_parts


cdef void draw_cuts(
    const Shared* shared, const Workspace* ws, const Leaf* leaf, int32_t* cut_out,
) noexcept nogil:
    """For each feature the one bin after which extremely random trees may cut."""
    cdef uint64_t tree_key = key(
        shared.settings.extra_seed, RANDOM_THRESHOLD, ws.tree_index)
    cdef int feature
    for feature in range(ws.data.n_features):
        cut_out[feature] = <int32_t>below(
            draw(tree_key, leaf.identity * <uint64_t>ws.data.n_features + feature),
            ws.data.n_bins[feature] - 1)


cdef FeatureSet feature_set(
    const Shared* shared, const Workspace* ws, int side, const Leaf* leaf,
    const int32_t* features, int n, bint consecutive,
) noexcept nogil:
    """Features to search in one of the two leaves at hand."""
    cdef FeatureSet out
    out.features = features
    out.n = n
    out.searched = ws.searched[side]
    # Of extremely random trees one cut is tried, which says nothing of the others.
    out.cut = ws.cut[side] if shared.settings.extra_trees else NULL
    # Neither do bounds that the neighbours of a leaf may loosen.
    out.splittable_out = ws.splittable[leaf.mask]
    if out.cut != NULL or shared.constraints.bounding >= INTERMEDIATE:
        out.splittable_out = NULL
    out.factor = ws.factor[side]
    out.order = &ws.order[side]
    out.consecutive = consecutive
    return out


cdef void search_leaf(
    Shared* shared, Workspace* ws, int side, const Leaf* leaf, const Histogram* histogram,
    const int32_t* features, int n, bint consecutive, int thread,
) noexcept nogil:
    """Search n features in one of the two leaves at hand."""
    cdef FeatureSet searched = feature_set(shared, ws, side, leaf, features, n, consecutive)
    search_features(
        &ws.data, encoding_of(ws, leaf), histogram, &searched, &leaf.stats, &ws.rules,
        shared.scratch[thread], &shared.best[2 * thread + side])


cdef void complete(
    Shared* shared, Workspace* ws, const Look* look, Histogram* built,
    int64_t first_place, int64_t last_place,
) noexcept nogil:
    """Some places of both leaves: merge what threads have summed, subtract."""
    cdef int part
    for part in range(1, look.n_parts):
        add_places(
            encoding_of(ws, look.built), first_place, last_place, 1,
            &shared.partial[ws.first_thread + part], built)
    if look.other != NULL:
        take_places(
            encoding_of(ws, look.built), look.before, encoding_of(ws, look.other),
            first_place, last_place, built, &ws.slots[look.other.slot])


cdef void finish_features(
    Shared* shared, Workspace* ws, const Look* look, Histogram* built,
    const int32_t* features, int n, bint consecutive, int thread,
) noexcept nogil:
    """Some features of the leaves: complete their sums and search them."""
    cdef int last
    cdef int at = 0
    while at < n:
        last = at
        while last + 1 < n and (
                ws.data.offset[features[last + 1]] == ws.data.offset[features[last] + 1]):
            last = last + 1
        complete(
            shared, ws, look, built, ws.data.offset[features[at]],
            ws.data.offset[features[last] + 1])
        at = last + 1
    if look.search_built:
        search_leaf(
            shared, ws, 0, look.built, built, features, n, consecutive, thread)
    if look.search_other:
        search_leaf(
            shared, ws, 1, look.other, &ws.slots[look.other.slot], features, n, consecutive,
            thread)


cdef void finish_chunk(
    Shared* shared, Workspace* ws, const Look* look, int64_t chunk, int64_t n_chunks,
    int thread,
) noexcept nogil:
    """A tile, or as large a part of the features as each chunk has."""
    cdef int64_t n = ws.n_searched
    cdef int64_t first = chunk * n // n_chunks
    cdef const Tile* tile
    cdef Histogram sums
    if look.n_parts > 0:
        finish_features(
            shared, ws, look, &ws.slots[look.built.slot], ws.summed + ws.first_searched + first,
            <int>((chunk + 1) * n // n_chunks - first), n == ws.data.n_features, thread)
        return
    tile = &ws.tiles[chunk]
    sums = sum_tile(shared, ws, tile, look.built, thread)
    finish_features(
        shared, ws, look, &sums, tile.features, tile.n_features, tile.consecutive, thread)


cdef void finish_chunks(
    Shared* shared, Workspace* ws, const Look* look, int64_t n_chunks, int thread,
) noexcept nogil:
    """Finish the chunk that has the thread's number, and others that are left."""
    cdef int64_t chunk = thread - ws.first_thread
    shared.best[2 * thread].gain = 0
    shared.best[2 * thread + 1].gain = 0
    while chunk < n_chunks:
        finish_chunk(shared, ws, look, chunk, n_chunks, thread)
        chunk = take_next(&ws.next_chunk)


cdef void choose_features(
    Shared* shared, Workspace* ws, const Leaf* leaf, uint8_t* searched_out,
) noexcept nogil:
    """Which features are searched in a leaf: allowed, drawn, and splittable above it."""
    cdef const uint8_t* splittable = ws.splittable[leaf.mask]
    cdef const int32_t* pool = ws.features
    cdef uint64_t node_key
    cdef int i
    cdef int n = ws.n_features
    if (n == ws.data.n_features and shared.settings.node_fraction >= 1.0
            and shared.constraints.n_sets == 0):
        memcpy(searched_out, splittable, n)
        return
    if shared.constraints.n_sets > 0:
        n = allowed_features(shared, ws, leaf, ws.allowed)
        pool = ws.allowed
    node_key = draw(
        key(shared.settings.feature_seed, NODE_FEATURES, ws.tree_index), leaf.identity)
    n = sample_features(pool, n, shared.settings.node_fraction, node_key, ws.sample)
    memset(searched_out, 0, ws.data.n_features)
    for i in range(n):
        searched_out[ws.sample[i]] = splittable[ws.sample[i]]


cdef void prepare_search(
    Shared* shared, Workspace* ws, const Leaf* leaf, int side,
) noexcept nogil:
    choose_features(shared, ws, leaf, ws.searched[side])
    prepare_constraints(shared, ws, leaf, side)
    if shared.settings.extra_trees:
        draw_cuts(shared, ws, leaf, ws.cut[side])


cdef void finish(Shared* shared, Workspace* ws, const Look* look) noexcept nogil:
    """Complete the sums of the leaves and find their best splits."""
    cdef int i, thread, side
    cdef double n_visits = <double>ws.data.n_places * (look.search_built + look.search_other)
    cdef int n_threads = ws.n_threads if n_visits > MIN_VISITS_A_TEAM else 1
    cdef int64_t n_chunks = ws.n_tiles
    if look.n_parts > 0:
        n_chunks = n_threads * CHUNKS_A_THREAD if n_threads > 1 else 1
    if look.search_built:
        prepare_search(shared, ws, look.built, 0)
    if look.search_other:
        prepare_search(shared, ws, look.other, 1)
    ws.next_chunk = n_threads
    if n_threads == 1:
        finish_chunks(shared, ws, look, n_chunks, ws.first_thread)
    else:
        for i in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
            finish_chunks(shared, ws, look, n_chunks, ws.first_thread + i)
    for side in range(2):
        for thread in range(ws.first_thread + 1, ws.first_thread + n_threads):
            if better(&shared.best[2 * thread + side],
                      &shared.best[2 * ws.first_thread + side]):
                shared.best[2 * ws.first_thread + side] = shared.best[2 * thread + side]
    settle(shared, ws, 0, look.built, look.search_built)
    if look.other != NULL:
        settle(shared, ws, 1, look.other, look.search_other)


cdef void search_built(Shared* shared, Workspace* ws, Leaf* leaf, int n_parts) noexcept nogil:
    """Find the best split of a leaf alone."""
    cdef Look look
    memset(&look, 0, sizeof(Look))
    look.built = leaf
    look.n_parts = n_parts
    look.search_built = True
    finish(shared, ws, &look)


cdef Histogram sums_with(
    const Shared* shared, Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """A histogram that has at least the sums of one feature.

    Without tiles, the rows of a leaf without a slot must be in ``rows_histogram``.
    """
    if leaf.slot >= 0:
        return ws.slots[leaf.slot]
    if ws.n_tiles > 0:
        return sum_tile(
            shared, ws, &ws.tiles[ws.tile_of[feature]], leaf, ws.first_thread)
    return ws.rows_histogram


cdef bint is_allowed(
    const Shared* shared, Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """Whether interactions allow a feature in a leaf, drawn for the tree or not."""
    if shared.constraints.n_sets > 0:
        allowed_features(shared, ws, leaf, ws.allowed)
        return ws.may_use[feature]
    return True


cdef void force(Shared* shared, Workspace* ws, int side, Leaf* leaf) noexcept nogil:
    """Let a leaf have its forced split, before any other leaf, if that has a gain."""
    cdef const ForcedSplit* wanted = &shared.constraints.forced[leaf.forced]
    cdef Split* best = &shared.best[2 * ws.first_thread + side]
    cdef FeatureSet features = feature_set(
        shared, ws, side, leaf, &wanted.feature, 1, False)
    cdef Histogram histogram
    cdef Split split
    if not is_allowed(shared, ws, leaf, wanted.feature):
        return
    ws.searched[side][wanted.feature] = True
    ws.cut[side][wanted.feature] = wanted.bin
    features.cut = ws.cut[side]
    features.splittable_out = NULL
    features.factor = NULL
    split.gain = 0
    histogram = sums_with(shared, ws, leaf, wanted.feature)
    search_features(
        &ws.data, encoding_of(ws, leaf), &histogram, &features, &leaf.stats, &ws.rules,
        shared.scratch[ws.first_thread], &split)
    if split.gain > 0:
        best[0] = split
        leaf.turn = leaf.forced


cdef void settle(
    Shared* shared, Workspace* ws, int side, Leaf* leaf, bint searched,
) noexcept nogil:
    """Keep a leaf's best split; give back the histogram of a leaf that has none."""
    leaf.turn = NO_TURN
    if searched and leaf.forced >= 0:
        force(shared, ws, side, leaf)
    leaf.best = shared.best[2 * ws.first_thread + side]
    if not (leaf.best.gain > 0 or ws.shares_columns):
        free_slot(ws, leaf)


cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil:
    """The features drawn for the tree, and those that forced splits need, in order."""
    cdef int feature, i
    memset(ws.is_summed, 0, ws.data.n_features)
    for i in range(ws.n_features):
        ws.is_summed[ws.features[i]] = True
    for i in range(shared.constraints.n_forced):
        ws.is_summed[shared.constraints.forced[i].feature] = True
    ws.n_summed = 0
    for feature in range(ws.data.n_features):
        ws.summed[ws.n_summed] = feature
        ws.n_summed += ws.is_summed[feature]


cdef bint may_split(const Shared* shared, const Workspace* ws, const Leaf* leaf) noexcept nogil:
    cdef double hessian = leaf.stats.sums.hessian * ws.rules.hessian_unit
    return (
        ws.n_leaves + ws.divides_ahead < shared.settings.max_leaves
        and (shared.settings.max_depth <= 0 or leaf.depth < shared.settings.max_depth)
        and leaf.stats.sums.count >= 2 * ws.rules.min_count
        and hessian >= 2 * ws.rules.min_hessian
    )


cdef int take_mask(Workspace* ws, Leaf* leaf) noexcept nogil:
    """Give a leaf a mask of its own, with what that of its parent says; the root: all."""
    cdef size_t n = ws.data.n_features
    cdef int to = <int>take_next(&ws.stock.n_masks)
    if ws.splittable[to] == NULL:
        ws.splittable[to] = <uint8_t*>malloc(n)
        if ws.splittable[to] == NULL:
            return NO_MEMORY
    if to == 0:
        memset(ws.splittable[to], 1, n)
    else:
        memcpy(ws.splittable[to], ws.splittable[leaf.mask], n)
    leaf.mask = to
    return 0


cdef Sums left_side(
    const Bins* bins, const Encoding* code, const uint8_t* goes_left, int32_t* room,
) noexcept nogil:
    """Sums over the bins that go left. ``room``: a number for each bin."""
    cdef Sums sums, part
    cdef int i, b
    cdef int n = bins.n_bins
    memset(&sums, 0, sizeof(Sums))
    if bins.held != NULL:
        n = held_bins(bins, 0, bins.n_bins, room)
    for i in range(n):
        b = i if bins.held == NULL else room[i]
        if goes_left[b]:
            part = bin_sums(bins, b, code)
            sums.gradient += part.gradient
            sums.hessian += part.hessian
            sums.count += part.count
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
    """What `choose_left` finds, of a leaf whose best split another peer may have found."""
    cdef const uint32_t* words = ws.left_sets + leaf.mask * ws.set_size
    cdef int b
    if ws.data.categorical[leaf.best.feature]:
        for b in range(ws.data.n_bins[leaf.best.feature]):
            ws.goes_left[b] = words[b // 32] >> (b % 32) & 1
    else:
        decide_bins(&ws.data, &leaf.best, ws.goes_left)
    left_out[0] = leaf.known.left
    return leaf.known.l2


cdef double choose_left(
    Shared* shared, Workspace* ws, Leaf* leaf, Sums* left_out,
) noexcept nogil:
    """Which bins of a leaf's split go left, and their sums; the ridge penalty below it."""
    cdef const Binned* data = &ws.data
    cdef const Encoding* code = encoding_of(ws, leaf)
    cdef double* scratch = shared.scratch[ws.first_thread]
    cdef int64_t* room = <int64_t*>(
        scratch + SCRATCH_CUTS * (shared.max_bins + SCRATCH_ROOM))
    cdef double l2 = ws.rules.l2
    cdef bint is_shown = leaf.slot < 0 and ws.n_tiles == 0
    cdef Histogram histogram
    cdef Bins bins
    if leaf.slot < 0:
        gather(ws, leaf)
    if is_shown:
        show_rows(data, ws, leaf, NULL)
    histogram = sums_with(shared, ws, leaf, leaf.best.feature)
    bins = feature_bins(
        data, &histogram, leaf.best.feature, &leaf.stats.sums, code, room)
    if data.categorical[leaf.best.feature]:
        category_set(
            &bins, code, &leaf.stats, &ws.rules, &leaf.best, scratch, ws.goes_left)
        l2 = categories_l2(bins.n_bins, &ws.rules)
    else:
        decide_bins(data, &leaf.best, ws.goes_left)
    left_out[0] = left_side(&bins, code, ws.goes_left, <int32_t*>scratch)
    if is_shown:
        hide_rows(data, ws, leaf)
    return l2


cdef void show_rows(
    const Binned* data, Workspace* ws, Leaf* leaf, uint8_t* seen,
) noexcept nogil:
    """Put a leaf's few rows into the empty histogram kept for such."""
    ws.n_touched = 0
    move_rows(
        data, encoding_of(ws, leaf), ws.words[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, 1, &ws.rows_histogram, seen, ws.touched,
        &ws.n_touched)


cdef void hide_rows(const Binned* data, Workspace* ws, const Leaf* leaf) noexcept nogil:
    move_rows(
        data, encoding_of(ws, leaf), ws.words[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, -1, &ws.rows_histogram, NULL, NULL, NULL)


cdef void search_few(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil:
    """Find the best split of a leaf of few rows, which has no histogram.

    Without tiles only the features that its rows touch are searched. In any other feature
    all of them share the implied bin.
    """
    cdef const Binned* data = &ws.data
    cdef Split* best = &shared.best[2 * ws.first_thread]
    cdef int i
    gather(ws, leaf)
    if ws.n_tiles > 0:
        search_built(shared, ws, leaf, 0)
        return
    prepare_search(shared, ws, leaf, 0)
    show_rows(data, ws, leaf, ws.seen)
    best.gain = 0
    search_leaf(
        shared, ws, 0, leaf, &ws.rows_histogram, ws.touched, ws.n_touched, False,
        ws.first_thread)
    for i in range(ws.n_touched):
        ws.seen[ws.touched[i]] = 0
    settle(shared, ws, 0, leaf, True)
    hide_rows(data, ws, leaf)


cdef bint has_few(const Workspace* ws, const Leaf* leaf, int places_an_update) noexcept nogil:
    """Whether a leaf has so few rows that a histogram costs more than they do."""
    return leaf.stats.sums.count * ws.data.row_updates * places_an_update < ws.data.n_places


cdef void take_small(Workspace* ws, const Look* look) noexcept nogil:
    """Take the few rows of a leaf out of the histogram of its parent, row by row."""
    cdef const Leaf* small = look.built
    take_places(
        encoding_of(ws, small), look.before, encoding_of(ws, look.other), 0,
        ws.data.n_places, NULL, &ws.slots[look.other.slot])
    move_rows(
        &ws.data, encoding_of(ws, look.other), ws.words[small.buffer] + small.begin,
        small.end - small.begin, ws.pairs, -1, &ws.slots[look.other.slot], NULL, NULL, NULL)


cdef void search_apart(Shared* shared, Workspace* ws, const Look* look) noexcept nogil:
    """Search leaves that have no histograms."""
    if look.search_other:
        search_few(shared, ws, look.other)
    if look.search_built:
        search_few(shared, ws, look.built)


cdef void search_beside(Shared* shared, Workspace* ws, Look* look) noexcept nogil:
    """Search two leaves, of which the small one gets no histogram."""
    if not look.search_other:
        search_few(shared, ws, look.built)
    elif ws.n_tiles > 0:
        look.n_parts = 0
        finish(shared, ws, look)
    else:
        take_small(ws, look)
        search_built(shared, ws, look.other, 1)
        if look.search_built:
            search_few(shared, ws, look.built)


cdef int build_both(Shared* shared, Workspace* ws, Look* look) noexcept nogil:
    """Sum the rows of the small one of two leaves that both get histograms."""
    look.built.slot = take_slot(&ws.data, ws)
    if look.built.slot < 0:
        return NO_MEMORY
    if not look.search_other:
        look.other = NULL
    look.n_parts = build(shared, ws, look.built)
    return 0


cdef int start_look(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
    Look* look_out,
) noexcept nogil:
    """Which of two new leaves are searched. The large one takes over the parent's histogram."""
    cdef bint swapped = right.stats.sums.count < left.stats.sums.count
    look_out.built = right if swapped else left
    look_out.other = left if swapped else right
    look_out.before = encoding_of(ws, parent)
    look_out.search_built = may_split(shared, ws, look_out.built)
    look_out.search_other = may_split(shared, ws, look_out.other)
    look_out.n_parts = 0
    look_out.other.slot = parent.slot
    # The left child keeps the parent's mask.
    if may_split(shared, ws, right) and take_mask(ws, right) < 0:
        return NO_MEMORY
    if not look_out.search_other:
        free_slot(ws, look_out.other)
    return 0


cdef int search_children(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
) noexcept nogil:
    """Find the best splits of two new leaves.

    Leaves of so few rows that a histogram costs more than they do get none, nor do their
    children.
    """
    cdef bint tiled = ws.n_tiles > 0
    cdef int share = PLACES_A_TILED if tiled else PLACES_AN_UPDATE
    cdef Look look
    if start_look(shared, ws, parent, left, right, &look) < 0:
        return NO_MEMORY
    if tiled and has_few(ws, look.other, share):
        free_slot(ws, look.other)
    if not (look.search_built or look.search_other):
        return 0
    if look.other.slot < 0 and (parent.slot < 0 or look.search_other):
        search_apart(shared, ws, &look)
    elif has_few(ws, look.built, share if look.search_built else 1):
        search_beside(shared, ws, &look)
    elif build_both(shared, ws, &look) < 0:
        return NO_MEMORY
    else:
        finish(shared, ws, &look)
    return 0


# ------------------------------------------------------------------ peers

cdef int build_look(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
    Look* look_out,
) noexcept nogil:
    """Sum this peer's rows of two new leaves into one histogram, if either is searched.

    Among peers every leaf has a histogram.
    """
    if start_look(shared, ws, parent, left, right, look_out) < 0:
        return NO_MEMORY
    if not (look_out.search_built or look_out.search_other):
        return 0
    if build_both(shared, ws, look_out) < 0:
        return NO_MEMORY
    merge_parts(shared, ws, look_out)
    return 0


cdef void merge_parts(Shared* shared, Workspace* ws, Look* look) noexcept nogil:
    """Add up what the threads have summed."""
    cdef int part
    for part in range(1, look.n_parts):
        add_places(
            encoding_of(ws, look.built), 0, ws.data.n_places, 1,
            &shared.partial[ws.first_thread + part], &ws.slots[look.built.slot])
    look.n_parts = 1


cdef int finish_looks(Shared* shared, Workspace* ws, Look* looks, int n) noexcept nogil:
    """Find the best splits of leaves whose rows each peer has summed."""
    cdef Leaf** built = <Leaf**>malloc(n * sizeof(Leaf*))
    cdef int n_built = 0
    cdef int status, i
    if built == NULL:
        return NO_MEMORY
    for i in range(n):
        built[n_built] = looks[i].built
        n_built += looks[i].n_parts > 0
    status = share_sums(shared, ws, built, n_built, NULL, 0)
    free(built)
    for i in range(n):
        if status == 0 and looks[i].n_parts > 0:
            finish(shared, ws, &looks[i])
    if status == 0 and ws.shares_columns:
        status = share_splits(shared, ws, looks, n)
    return status


# ------------------------------------------------------------------ shared columns

cdef struct Candidate:
    # The best split of a leaf that a peer has found; the set of its bins follows.
    Split split
    Known known


cdef Py_ssize_t candidate_size(const Workspace* ws) noexcept nogil:
    """In integers of 8 bytes."""
    return (sizeof(Candidate) + ws.set_size * sizeof(uint32_t) + 7) // 8


cdef void write_candidate(
    Shared* shared, Workspace* ws, Leaf* leaf, int64_t* out,
) noexcept nogil:
    cdef Candidate* candidate = <Candidate*>out
    cdef uint32_t* bins = <uint32_t*>(candidate + 1)
    memset(out, 0, candidate_size(ws) * sizeof(int64_t))
    candidate.split = leaf.best
    if leaf.best.gain > 0:
        candidate.known.l2 = choose_left(shared, ws, leaf, &candidate.known.left)
        if ws.data.categorical[leaf.best.feature]:
            write_set(ws.goes_left, ws.data.n_bins[leaf.best.feature], bins)


cdef void take_candidate(Workspace* ws, const int64_t* given, Leaf* leaf) noexcept nogil:
    cdef const Candidate* candidate = <const Candidate*>given
    if better(&candidate.split, &leaf.best):
        leaf.best = candidate.split
    if candidate.split.feature == leaf.best.feature and leaf.best.gain > 0:
        leaf.known = candidate.known
        memcpy(ws.left_sets + leaf.mask * ws.set_size, candidate + 1,
               ws.set_size * sizeof(uint32_t))


cdef int list_searched(Look* looks, int n, Leaf** leaves_out) noexcept nogil:
    cdef int n_leaves = 0
    cdef int i
    for i in range(n):
        if looks[i].n_parts > 0 and looks[i].search_built:
            leaves_out[n_leaves] = looks[i].built
            n_leaves += 1
        if looks[i].n_parts > 0 and looks[i].search_other:
            leaves_out[n_leaves] = looks[i].other
            n_leaves += 1
    return n_leaves


cdef int share_splits(Shared* shared, Workspace* ws, Look* looks, int n) noexcept nogil:
    """The best splits of leaves, of all that the peers have found in their columns."""
    cdef Py_ssize_t size = candidate_size(ws)
    cdef Leaf** leaves = <Leaf**>malloc(2 * n * sizeof(Leaf*))
    cdef int64_t* own
    cdef int64_t* given
    cdef int status, n_leaves, i, peer
    if leaves == NULL:
        return NO_MEMORY
    n_leaves = list_searched(looks, n, leaves)
    own = reserve_message(ws, (shared.n_peers + 1) * n_leaves * size)
    if own == NULL:
        free(leaves)
        return NO_MEMORY
    given = own + n_leaves * size
    for i in range(n_leaves):
        write_candidate(shared, ws, leaves[i], own + i * size)
    status = gather_all(shared.peers, own, n_leaves * size, given)
    for i in range(n_leaves if status == 0 else 0):
        for peer in range(shared.n_peers):
            take_candidate(ws, given + (peer * n_leaves + i) * size, leaves[i])
        if not leaves[i].best.gain > 0:
            free_slot(ws, leaves[i])
    free(leaves)
    return status


# ------------------------------------------------------------------ the root

cdef int share_root(
    Shared* shared, Workspace* ws, Look* look, Sums* sums, Roots* roots,
) noexcept nogil:
    """Add up what the peers know of all rows."""
    cdef int64_t[6] totals
    cdef int status
    if shared.peers == NULL:
        return 0
    merge_parts(shared, ws, look)
    totals[0], totals[1], totals[2] = sums.gradient, sums.hessian, sums.count
    totals[3], totals[4], totals[5] = roots.gradient, roots.hessian, roots.n
    status = share_sums(shared, ws, &look.built, 1, totals, 6)
    sums.gradient, sums.hessian, sums.count = totals[0], totals[1], totals[2]
    roots.gradient, roots.hessian, roots.n = totals[3], totals[4], totals[5]
    return status


cdef int sum_root(
    Shared* shared, Workspace* ws, const Round* round, Look* look, Sums* sums_out,
) noexcept nogil:
    """Encode the round and sum all rows. What is too coarse in packed numbers is wide."""
    cdef uint64_t* words = ws.words[look.built.buffer]
    cdef Slopes slopes = round.slopes
    cdef GradientStats stats
    cdef Roots roots
    cdef bint wide
    cdef int status = read_round(shared, ws, &slopes, &stats)
    look.built.stats.sums.count = slopes.n_everywhere
    for wide in range(2):
        if status == 0:
            status = encode_round(ws, &slopes, &stats, wide, words, &roots)
        if status < 0:
            return status
        if shared.peers == NULL and not wide and not is_fine(&slopes, &roots):
            continue
        look.n_parts = build(shared, ws, look.built)
        sums_out[0] = sum_words(&ws.code, words, slopes.n, ws.pairs)
        status = share_root(shared, ws, look, sums_out, &roots)
        if status == 0 and is_fine(&slopes, &roots):
            break
    return status


cdef int search_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Sum all rows and find the best split of the root."""
    cdef Leaf* root = &ws.leaves[0]
    cdef SplitRules unsmoothed
    cdef Look look
    cdef Sums sums
    cdef int status
    ws.n_tiles = 0
    if shared.peers == NULL and start_tiles(shared, ws) < 0:
        return NO_MEMORY
    choose_columns(shared, ws)
    memset(&look, 0, sizeof(Look))
    look.built = root
    look.search_built = True
    root.slot = take_slot(&ws.data, ws)
    if root.slot < 0 or take_mask(ws, root) < 0:
        return NO_MEMORY
    status = sum_root(shared, ws, round, &look, &sums)
    if status < 0:
        return status
    unsmoothed = ws.rules  # nothing is above the root
    unsmoothed.path_smooth = 0
    root.stats = node_stats(sums, 0.0, -INFINITY, INFINITY, &unsmoothed)
    start_constraints(ws)
    if not may_split(shared, ws, root):
        free_slot(ws, root)
        return 0
    finish(shared, ws, &look)
    return share_splits(shared, ws, &look, 1) if ws.shares_columns else 0


cdef void search_again(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil:
    """Find the best split of a leaf whose bounds have changed."""
    if leaf.slot < 0:
        search_few(shared, ws, leaf)
    else:
        search_built(shared, ws, leaf, 1)
