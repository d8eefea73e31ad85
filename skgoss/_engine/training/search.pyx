"""The best split of a leaf, or of two siblings.

Which features are searched, by how many threads, and what becomes of the split that is found.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from skgoss._engine.atomics cimport fetch_increment
from skgoss._engine.random cimport NODE_FEATURES, RANDOM_THRESHOLD, below, draw, key
from skgoss._engine.training.constraint_kernels cimport allowed_features, prepare_constraints
from skgoss._engine.training.histogram cimport subtract_places
from skgoss._engine.training.layout cimport Histogram
from skgoss._engine.training.sampling_kernels cimport sample_features
from skgoss._engine.training.split cimport FeatureSet, Split, search_features
from skgoss._engine.training.sums cimport (
    add_parts, clear_rows_histogram, fill_rows_histogram, sums_with)
from skgoss._engine.training.tiles cimport sum_tile
from skgoss._engine.training.workspace cimport (
    CHUNKS_PER_THREAD, INTERMEDIATE, MIN_WORK_FOR_TEAM, NO_PRIORITY, ForcedSplit, Leaf, Scratch,
    Shared, Tile, Workspace, better, encoding_of, free_slot, gather)

# ------------------------------------------------------------------ features

cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil:
    """The features sampled for the tree, and those that forced splits need, in order."""
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


cdef void choose_features(
    Shared* shared, Workspace* ws, const Leaf* leaf, uint8_t* searched_out,
) noexcept nogil:
    """Which features are searched in a leaf: allowed, sampled, and splittable above it."""
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
        n = allowed_features(shared, ws, leaf, ws.scratch.allowed)
        pool = ws.scratch.allowed
    node_key = draw(
        key(shared.settings.feature_seed, NODE_FEATURES, ws.tree_index), leaf.identity)
    n = sample_features(pool, n, shared.settings.node_fraction, node_key, ws.scratch.sample)
    memset(searched_out, 0, ws.data.n_features)
    for i in range(n):
        searched_out[ws.scratch.sample[i]] = splittable[ws.scratch.sample[i]]


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
    out.searched = ws.scratch.searched[side]
    # Of extremely random trees one cut is tried, which says nothing of the others.
    out.cut = ws.scratch.cut[side] if shared.settings.extra_trees else NULL
    # Neither do bounds that the neighbors of a leaf may loosen.
    out.splittable_out = ws.splittable[leaf.mask]
    if out.cut != NULL or shared.constraints.bounding >= INTERMEDIATE:
        out.splittable_out = NULL
    out.factor = ws.scratch.factor[side]
    out.monotone = &ws.monotone[side]
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

# ------------------------------------------------------------------ leaves

cdef void subtract_histograms(
    Shared* shared, Workspace* ws, const Siblings* siblings, Histogram* smaller,
    int64_t first_place, int64_t last_place,
) noexcept nogil:
    """Some places of both siblings: merge what threads have summed, subtract it from the parent."""
    add_parts(shared, ws, siblings.smaller, siblings.n_parts, first_place, last_place, smaller)
    if siblings.larger != NULL:
        subtract_places(
            encoding_of(ws, siblings.smaller), siblings.parent_encoding,
            encoding_of(ws, siblings.larger), first_place, last_place, smaller,
            &ws.slots[siblings.larger.slot])


cdef void finish_features(
    Shared* shared, Workspace* ws, const Siblings* siblings, Histogram* smaller,
    const int32_t* features, int n, bint consecutive, int thread,
) noexcept nogil:
    """Some features of both siblings: complete their sums and search them."""
    cdef int last
    cdef int at = 0
    while at < n:
        last = at
        while last + 1 < n and (
                ws.data.offset[features[last + 1]] == ws.data.offset[features[last] + 1]):
            last = last + 1
        subtract_histograms(
            shared, ws, siblings, smaller, ws.data.offset[features[at]],
            ws.data.offset[features[last] + 1])
        at = last + 1
    if siblings.search_smaller:
        search_leaf(
            shared, ws, 0, siblings.smaller, smaller, features, n, consecutive, thread)
    if siblings.search_larger:
        search_leaf(
            shared, ws, 1, siblings.larger, &ws.slots[siblings.larger.slot], features, n,
            consecutive, thread)


cdef void finish_chunk(
    Shared* shared, Workspace* ws, const Siblings* siblings, int64_t chunk, int64_t n_chunks,
    int thread,
) noexcept nogil:
    """A tile, or as large a part of the features as each chunk has."""
    cdef int64_t n = ws.n_searched
    cdef int64_t first = chunk * n // n_chunks
    cdef const Tile* tile
    cdef Histogram sums
    if siblings.n_parts > 0:
        finish_features(
            shared, ws, siblings, &ws.slots[siblings.smaller.slot],
            ws.summed + ws.first_searched + first,
            <int>((chunk + 1) * n // n_chunks - first), n == ws.data.n_features, thread)
        return
    tile = &ws.tiles[chunk]
    sums = sum_tile(shared, ws, tile, siblings.smaller, thread)
    finish_features(
        shared, ws, siblings, &sums, tile.features, tile.n_features, tile.consecutive, thread)


cdef void finish_chunks(
    Shared* shared, Workspace* ws, const Siblings* siblings, int64_t n_chunks, int thread,
) noexcept nogil:
    """Finish the chunk that has the thread's number, and others that are left."""
    cdef int64_t chunk = thread - ws.first_thread
    shared.best[2 * thread].gain = 0
    shared.best[2 * thread + 1].gain = 0
    while chunk < n_chunks:
        finish_chunk(shared, ws, siblings, chunk, n_chunks, thread)
        chunk = fetch_increment(&ws.next_chunk)


cdef void prepare_search(
    Shared* shared, Workspace* ws, const Leaf* leaf, int side,
) noexcept nogil:
    choose_features(shared, ws, leaf, ws.scratch.searched[side])
    prepare_constraints(shared, ws, leaf, side)
    if shared.settings.extra_trees:
        draw_cuts(shared, ws, leaf, ws.scratch.cut[side])


cdef void search_siblings(Shared* shared, Workspace* ws, const Siblings* siblings) noexcept nogil:
    """Complete the sums of the siblings and find their best splits."""
    cdef int i, thread, side
    cdef int n_leaves = siblings.search_smaller + siblings.search_larger
    cdef double n_visits = <double>ws.data.n_visits * n_leaves
    cdef int n_threads = ws.n_threads if n_visits > MIN_WORK_FOR_TEAM else 1
    cdef int64_t n_chunks = ws.n_tiles
    if siblings.n_parts > 0:
        n_chunks = n_threads * CHUNKS_PER_THREAD if n_threads > 1 else 1
    if siblings.search_smaller:
        prepare_search(shared, ws, siblings.smaller, 0)
    if siblings.search_larger:
        prepare_search(shared, ws, siblings.larger, 1)
    ws.next_chunk = n_threads
    if n_threads == 1:
        finish_chunks(shared, ws, siblings, n_chunks, ws.first_thread)
    else:
        for i in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
            finish_chunks(shared, ws, siblings, n_chunks, ws.first_thread + i)
    for side in range(2):
        for thread in range(ws.first_thread + 1, ws.first_thread + n_threads):
            if better(&shared.best[2 * thread + side],
                      &shared.best[2 * ws.first_thread + side]):
                shared.best[2 * ws.first_thread + side] = shared.best[2 * thread + side]
    keep_split(shared, ws, 0, siblings.smaller, siblings.search_smaller)
    if siblings.larger != NULL:
        keep_split(shared, ws, 1, siblings.larger, siblings.search_larger)


cdef void search_single(Shared* shared, Workspace* ws, Leaf* leaf, int n_parts) noexcept nogil:
    """Find the best split of a leaf alone."""
    cdef Siblings siblings
    memset(&siblings, 0, sizeof(Siblings))
    siblings.smaller = leaf
    siblings.n_parts = n_parts
    siblings.search_smaller = True
    search_siblings(shared, ws, &siblings)


cdef void search_few(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil:
    """Find the best split of a leaf of few rows, which has no histogram.

    Without tiles only the features that its rows touch are searched. In any other feature
    all of them share the default bin.
    """
    cdef Split* best = &shared.best[2 * ws.first_thread]
    cdef Scratch* scratch = &ws.scratch
    cdef int i
    gather(ws, leaf)
    if ws.n_tiles > 0:
        search_single(shared, ws, leaf, 0)
        return
    prepare_search(shared, ws, leaf, 0)
    fill_rows_histogram(ws, leaf, scratch.seen)
    best.gain = 0
    search_leaf(
        shared, ws, 0, leaf, &scratch.rows_histogram, scratch.touched, scratch.n_touched,
        False, ws.first_thread)
    for i in range(scratch.n_touched):
        scratch.seen[scratch.touched[i]] = 0
    keep_split(shared, ws, 0, leaf, True)
    clear_rows_histogram(ws, leaf)


cdef void search_again(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil:
    """Find the best split of a leaf whose bounds have changed."""
    if leaf.slot < 0:
        search_few(shared, ws, leaf)
    else:
        search_single(shared, ws, leaf, 1)

# ------------------------------------------------------------------ the split that is kept

cdef bint is_allowed(
    const Shared* shared, Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """Whether interactions allow a feature in a leaf, sampled for the tree or not."""
    if shared.constraints.n_sets > 0:
        allowed_features(shared, ws, leaf, ws.scratch.allowed)
        return ws.scratch.may_use[feature]
    return True


cdef void force_split(Shared* shared, Workspace* ws, int side, Leaf* leaf) noexcept nogil:
    """Let a leaf have its forced split, before any other leaf, if that has a gain."""
    cdef const ForcedSplit* wanted = &shared.constraints.forced[leaf.forced]
    cdef Split* best = &shared.best[2 * ws.first_thread + side]
    cdef FeatureSet features = feature_set(
        shared, ws, side, leaf, &wanted.feature, 1, False)
    cdef Histogram histogram
    cdef Split split
    if not is_allowed(shared, ws, leaf, wanted.feature):
        return
    ws.scratch.searched[side][wanted.feature] = True
    ws.scratch.cut[side][wanted.feature] = wanted.bin
    features.cut = ws.scratch.cut[side]
    features.splittable_out = NULL
    features.factor = NULL
    split.gain = 0
    histogram = sums_with(shared, ws, leaf, wanted.feature)
    search_features(
        &ws.data, encoding_of(ws, leaf), &histogram, &features, &leaf.stats, &ws.rules,
        shared.scratch[ws.first_thread], &split)
    if split.gain > 0:
        best[0] = split
        leaf.priority = leaf.forced


cdef void keep_split(
    Shared* shared, Workspace* ws, int side, Leaf* leaf, bint searched,
) noexcept nogil:
    """Keep a leaf's best split; release the histogram of a leaf that has none."""
    leaf.priority = NO_PRIORITY
    if searched and leaf.forced >= 0:
        force_split(shared, ws, side, leaf)
    leaf.best = shared.best[2 * ws.first_thread + side]
    # Another process may have found a split of a leaf that is searched.
    if not (leaf.best.gain > 0 or (searched and ws.shares_columns)):
        free_slot(ws, leaf)
