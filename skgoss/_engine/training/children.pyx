"""Histograms and best splits of new leaves.

Build the histogram of the smaller child, subtract it for the larger, find the best split of
both.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy, memset

from skgoss._engine.training.constraints cimport (
    allowed_features, prepare_constraints, start_constraints)
from skgoss._engine.training.histogram cimport (
    accumulate, add_places, move_rows, sum_words)
from skgoss._engine.training.layout cimport Binned, Encoding, Histogram, Sums
from skgoss._engine.random cimport NODE_FEATURES, RANDOM_THRESHOLD, below, draw, key
from skgoss._engine.training.sampling cimport sample_features
from skgoss._engine.training.split cimport (
    SCRATCH_CUTS, SCRATCH_ROOM, Bins, FeatureSet, Split, SplitRules, bin_sums,
    categories_l2, category_set, feature_bins, held_bins, node_stats, search_features)
from skgoss._engine.training.workspace cimport (
    INTERMEDIATE, NO_MEMORY, NO_TURN, ForcedSplit, Leaf, Round, Shared, Workspace, better,
    free_slot, gather, heap_push, take_slot)

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
    # A histogram of a leaf's rows alone is worth it for so many fewer updates than places.
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
            &ws.data, &ws.code, ws.words[leaf.buffer] + first,
            min(size, leaf.end - first), ws.pairs, fresh, shared.sums[thread], out)
        fresh = False
        first = leaf.begin + take_next(&ws.next_chunk) * size


cdef int build(Shared* shared, Workspace* ws, const Leaf* leaf) noexcept nogil:
    """Sum the rows of a leaf into its slot and the partial histograms of more threads.

    Returns the number of threads that took part.
    """
    cdef Py_ssize_t n = leaf.end - leaf.begin
    cdef int n_parts = ws.n_threads if n * ws.data.row_updates > MIN_UPDATES_A_TEAM else 1
    cdef Py_ssize_t size
    cdef int part
    ws.next_chunk = n_parts
    if n_parts == 1:
        build_part(shared, ws, leaf, 0, n)
        return 1
    size = chunk_size(&ws.data, &ws.code, n, n_parts)
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
    const int32_t* features, int n,
) noexcept nogil:
    """Features to search in one of the two leaves at hand."""
    cdef FeatureSet out
    out.features = features
    out.n = n
    out.searched = ws.searched[side]
    # Of extremely random trees one cut is tried, which says nothing of the others.
    out.cut = ws.cut[side] if shared.settings.extra_trees else NULL
    # Neither do bounds that the neighbours of a leaf may loosen.
    out.splittable_out = ws.splittable[leaf - ws.leaves]
    if out.cut != NULL or shared.constraints.bounding >= INTERMEDIATE:
        out.splittable_out = NULL
    out.factor = ws.factor[side]
    out.order = &ws.order[side]
    out.consecutive = (
        ws.n_summed == ws.data.n_features and features >= ws.summed
        and features < ws.summed + ws.n_summed)
    return out


cdef void search_leaf(
    Shared* shared, Workspace* ws, int side, const Leaf* leaf, int first, int n, int thread,
) noexcept nogil:
    """Search n of the tree's features, from ``first`` on, in one of the two leaves at hand."""
    cdef FeatureSet features = feature_set(
        shared, ws, side, leaf, ws.summed + first, n)
    search_features(
        &ws.data, &ws.code, &ws.slots[leaf.slot], &features, &leaf.stats, &ws.rules,
        shared.scratch[thread], &shared.best[2 * thread + side])


cdef void finish_features(
    Shared* shared, Workspace* ws, int first, int n, int n_parts, const Leaf* built,
    const Leaf* other, bint search_built, bint search_other, int thread,
) noexcept nogil:
    """Some features of the two children: merge, subtract, search."""
    cdef int last, part
    cdef int at = first
    cdef int end = first + n
    cdef int64_t first_place, last_place
    while at < end:
        last = at
        while last + 1 < end and (
                ws.data.offset[ws.summed[last + 1]] == ws.data.offset[ws.summed[last] + 1]):
            last = last + 1
        first_place = ws.data.offset[ws.summed[at]]
        last_place = ws.data.offset[ws.summed[last] + 1]
        for part in range(1, n_parts):
            add_places(
                &ws.code, first_place, last_place, 1,
                &shared.partial[ws.first_thread + part], &ws.slots[built.slot])
        if other != NULL:
            add_places(
                &ws.code, first_place, last_place, -1, &ws.slots[built.slot],
                &ws.slots[other.slot])
        at = last + 1
    if search_built:
        search_leaf(shared, ws, 0, built, first, n, thread)
    if search_other:
        search_leaf(shared, ws, 1, other, first, n, thread)


cdef void finish_chunks(
    Shared* shared, Workspace* ws, int n_chunks, int n_parts, const Leaf* built,
    const Leaf* other, bint search_built, bint search_other, int thread,
) noexcept nogil:
    """Finish the chunk of features that has the thread's number, and others that are left."""
    cdef int64_t chunk = thread - ws.first_thread
    cdef int64_t n = ws.n_summed
    cdef int first
    shared.best[2 * thread].gain = 0
    shared.best[2 * thread + 1].gain = 0
    while chunk < n_chunks:
        first = <int>(chunk * n // n_chunks)
        finish_features(
            shared, ws, first, <int>((chunk + 1) * n // n_chunks) - first, n_parts, built,
            other, search_built, search_other, thread)
        chunk = take_next(&ws.next_chunk)


cdef void choose_features(
    Shared* shared, Workspace* ws, const Leaf* leaf, uint8_t* searched_out,
) noexcept nogil:
    """Which features are searched in a leaf: allowed, drawn, and splittable above it."""
    cdef const uint8_t* splittable = ws.splittable[leaf - ws.leaves]
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


cdef void finish(
    Shared* shared, Workspace* ws, int n_parts, Leaf* built, Leaf* other,
    bint search_built, bint search_other,
) noexcept nogil:
    """Complete the histograms of the children and find their best splits.

    ``other`` lies in its parent's slot and still holds the parent's sums. It is NULL where
    ``built`` is complete by itself.
    """
    cdef int i, thread, side
    cdef int n_visits = <int>min(
        ws.data.n_places, <int64_t>1 << 24) * (
            search_built + search_other)
    cdef int n_threads = ws.n_threads if n_visits > MIN_VISITS_A_TEAM else 1
    cdef int n_chunks = n_threads * CHUNKS_A_THREAD
    if search_built:
        prepare_search(shared, ws, built, 0)
    if search_other:
        prepare_search(shared, ws, other, 1)
    ws.next_chunk = n_threads
    if n_threads == 1:
        finish_chunks(
            shared, ws, 1, n_parts, built, other, search_built, search_other,
            ws.first_thread)
    else:
        for i in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
            finish_chunks(
                shared, ws, n_chunks, n_parts, built, other, search_built, search_other,
                ws.first_thread + i)
    for side in range(2):
        for thread in range(ws.first_thread + 1, ws.first_thread + n_threads):
            if better(&shared.best[2 * thread + side],
                      &shared.best[2 * ws.first_thread + side]):
                shared.best[2 * ws.first_thread + side] = shared.best[2 * thread + side]
    settle(shared, ws, 0, built, search_built, &ws.slots[built.slot])
    if other != NULL:
        settle(shared, ws, 1, other, search_other, &ws.slots[other.slot])


cdef bint is_allowed(
    const Shared* shared, Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """Whether interactions allow a feature in a leaf, drawn for the tree or not."""
    if shared.constraints.n_sets > 0:
        allowed_features(shared, ws, leaf, ws.allowed)
        return ws.may_use[feature]
    return True


cdef void force(
    Shared* shared, Workspace* ws, int side, Leaf* leaf, const Histogram* histogram,
) noexcept nogil:
    """Split a leaf as is wanted here, if that gains anything, and before any other."""
    cdef const ForcedSplit* wanted = &shared.constraints.forced[leaf.forced]
    cdef Split* best = &shared.best[2 * ws.first_thread + side]
    cdef FeatureSet features = feature_set(shared, ws, side, leaf, &wanted.feature, 1)
    cdef Split split
    if not is_allowed(shared, ws, leaf, wanted.feature):
        return
    ws.searched[side][wanted.feature] = True
    ws.cut[side][wanted.feature] = wanted.bin
    features.cut = ws.cut[side]
    features.splittable_out = NULL
    features.factor = NULL
    split.gain = 0
    search_features(
        &ws.data, &ws.code, histogram, &features, &leaf.stats, &ws.rules,
        shared.scratch[ws.first_thread], &split)
    if split.gain > 0:
        best[0] = split
        leaf.turn = leaf.forced


cdef void settle(
    Shared* shared, Workspace* ws, int side, Leaf* leaf, bint searched,
    const Histogram* histogram,
) noexcept nogil:
    """Queue a leaf that has a split; give back the histogram of one that has none."""
    leaf.turn = NO_TURN
    if searched and leaf.forced >= 0:
        force(shared, ws, side, leaf, histogram)
    leaf.best = shared.best[2 * ws.first_thread + side]
    if leaf.best.gain > 0:
        heap_push(ws, <int>(leaf - ws.leaves))
    else:
        free_slot(ws, leaf)


cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil:
    """The features drawn for the tree, and those that forced splits need, in order."""
    cdef uint8_t* chosen = ws.seen
    cdef int feature, i
    for i in range(ws.n_features):
        chosen[ws.features[i]] = True
    for i in range(shared.constraints.n_forced):
        chosen[shared.constraints.forced[i].feature] = True
    ws.n_summed = 0
    for feature in range(ws.data.n_features):
        if chosen[feature]:
            ws.summed[ws.n_summed] = feature
            ws.n_summed += 1
            chosen[feature] = False


cdef bint may_split(const Shared* shared, const Workspace* ws, const Leaf* leaf) noexcept nogil:
    cdef double hessian = leaf.stats.sums.hessian * ws.rules.hessian_unit
    return (
        ws.n_leaves < shared.settings.max_leaves
        and (shared.settings.max_depth <= 0 or leaf.depth < shared.settings.max_depth)
        and leaf.stats.sums.count >= 2 * ws.rules.min_count
        and hessian >= 2 * ws.rules.min_hessian
    )


cdef int inherit_splittable(
    const Shared* shared, Workspace* ws, const Leaf* parent, const Leaf* leaf,
) noexcept nogil:
    """Let a leaf know the features that its parent could be split by; NULL: all."""
    cdef Py_ssize_t to = leaf - ws.leaves
    cdef size_t n = ws.data.n_features
    if ws.splittable[to] == NULL:
        ws.splittable[to] = <uint8_t*>malloc(n)
        if ws.splittable[to] == NULL:
            return NO_MEMORY
    if parent == NULL:
        memset(ws.splittable[to], 1, n)
    else:
        memcpy(ws.splittable[to], ws.splittable[parent - ws.leaves], n)
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


cdef double choose_left(
    Shared* shared, Workspace* ws, Leaf* leaf, Sums* left_out,
) noexcept nogil:
    """Which bins of a leaf's split go left, and their sums; the ridge penalty below it."""
    cdef const Binned* data = &ws.data
    cdef const Histogram* histogram = &ws.rows_histogram
    cdef double* scratch = shared.scratch[ws.first_thread]
    cdef int64_t* room = <int64_t*>(
        scratch + SCRATCH_CUTS * (shared.max_bins + SCRATCH_ROOM))
    cdef double l2 = ws.rules.l2
    cdef Bins bins
    if leaf.slot >= 0:
        histogram = &ws.slots[leaf.slot]
    else:
        show_rows(data, ws, leaf, NULL)
    bins = feature_bins(
        data, histogram, leaf.best.feature, &leaf.stats.sums, &ws.code, room)
    if data.categorical[leaf.best.feature]:
        category_set(
            &bins, &ws.code, &leaf.stats, &ws.rules, &leaf.best, scratch, ws.goes_left)
        l2 = categories_l2(bins.n_bins, &ws.rules)
    else:
        decide_bins(data, &leaf.best, ws.goes_left)
    left_out[0] = left_side(&bins, &ws.code, ws.goes_left, <int32_t*>scratch)
    if leaf.slot < 0:
        hide_rows(data, ws, leaf)
    return l2


cdef void show_rows(
    const Binned* data, Workspace* ws, Leaf* leaf, uint8_t* seen,
) noexcept nogil:
    """Put a leaf's few rows into the empty histogram kept for such."""
    gather(ws, leaf)
    ws.n_touched = 0
    move_rows(
        data, &ws.code, ws.words[leaf.buffer] + leaf.begin, leaf.end - leaf.begin,
        ws.pairs, 1, &ws.rows_histogram, seen, ws.touched, &ws.n_touched)


cdef void hide_rows(const Binned* data, Workspace* ws, const Leaf* leaf) noexcept nogil:
    move_rows(
        data, &ws.code, ws.words[leaf.buffer] + leaf.begin, leaf.end - leaf.begin,
        ws.pairs, -1, &ws.rows_histogram, NULL, NULL, NULL)


cdef void search_few(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil:
    """Find the best split of a leaf of few rows among the features they touch.

    In any other feature all of them share the implied bin.
    """
    cdef const Binned* data = &ws.data
    cdef Split* best = &shared.best[2 * ws.first_thread]
    cdef FeatureSet features
    cdef int i
    prepare_search(shared, ws, leaf, 0)
    show_rows(data, ws, leaf, ws.seen)
    features = feature_set(shared, ws, 0, leaf, ws.touched, ws.n_touched)
    best.gain = 0
    search_features(
        data, &ws.code, &ws.rows_histogram, &features, &leaf.stats, &ws.rules,
        shared.scratch[ws.first_thread], best)
    for i in range(ws.n_touched):
        ws.seen[ws.touched[i]] = 0
    settle(shared, ws, 0, leaf, True, &ws.rows_histogram)
    hide_rows(data, ws, leaf)


cdef int search_children(
    Shared* shared, Workspace* ws, int parent_slot, Leaf* left, Leaf* right,
) noexcept nogil:
    """Find the best splits of two new leaves.

    The large one takes over the parent's histogram. Where the small one has so few rows
    that a histogram of its own costs more than they do, it gets none, nor do its children.
    """
    cdef const Binned* data = &ws.data
    cdef Leaf* small = left
    cdef Leaf* large = right
    cdef bint search_small, search_large
    cdef double n_updates
    if right.stats.sums.count < left.stats.sums.count:
        small = right
        large = left
    n_updates = (small.end - small.begin) * data.row_updates
    search_small = may_split(shared, ws, small)
    search_large = may_split(shared, ws, large)
    large.slot = parent_slot
    if not (search_small or search_large):
        free_slot(ws, large)
        return 0
    # The left child has the parent's number, and with it what is known of its features.
    if may_split(shared, ws, right) and inherit_splittable(shared, ws, left, right) < 0:
        return NO_MEMORY
    if parent_slot < 0:
        if search_large:
            search_few(shared, ws, large)
        if search_small:
            search_few(shared, ws, small)
        return 0
    if n_updates * (PLACES_AN_UPDATE if search_small else 1) < data.n_places:
        if search_large:
            move_rows(
                data, &ws.code, ws.words[small.buffer] + small.begin,
                small.end - small.begin, ws.pairs, -1, &ws.slots[large.slot], NULL, NULL,
                NULL)
            finish(shared, ws, 1, large, NULL, True, False)
        else:
            free_slot(ws, large)
        if search_small:
            search_few(shared, ws, small)
        return 0
    small.slot = take_slot(data, ws)
    if small.slot < 0:
        return NO_MEMORY
    finish(
        shared, ws, build(shared, ws, small), small, large, search_small, search_large)
    return 0


cdef int search_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Sum all rows and find the best split of the root."""
    cdef Leaf* root = &ws.leaves[0]
    cdef SplitRules unsmoothed = ws.rules  # nothing is above the root
    cdef Sums sums
    cdef int n_parts
    root.slot = take_slot(&ws.data, ws)
    if root.slot < 0 or inherit_splittable(shared, ws, NULL, root) < 0:
        return NO_MEMORY
    n_parts = build(shared, ws, root)
    sums = sum_words(&ws.code, ws.words[root.buffer], round.slopes.n, ws.pairs)
    unsmoothed.path_smooth = 0
    root.stats = node_stats(sums, 0.0, -INFINITY, INFINITY, &unsmoothed)
    start_constraints(ws)
    finish(shared, ws, n_parts, root, NULL, may_split(shared, ws, root), False)
    return 0


cdef void search_again(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil:
    """Find the best split of a leaf whose bounds have changed."""
    if leaf.slot < 0:
        search_few(shared, ws, leaf)
    else:
        finish(shared, ws, 1, leaf, NULL, True, False)
