"""The best split of a leaf, or of two siblings.

The features that are searched, the tasks that search them, and the split that is kept.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from skgoss._engine.atomics cimport spin_lock, spin_unlock
from skgoss._engine.random cimport NODE_FEATURES, RANDOM_THRESHOLD, bounded, draw, key
from skgoss._engine.training.constraint_kernels cimport (
    list_allowed, mark_allowed, prepare_constraints)
from skgoss._engine.training.feature_subset cimport feature_visits
from skgoss._engine.training.histogram cimport (
    MIN_SUM_WORK, clear_small_histogram, count_batch_updates, count_updates, fill_small_histogram,
    histogram_with, list_sums, subtract_bins, sum_tile)
from skgoss._engine.training.layout cimport Histogram
from skgoss._engine.training.partition cimport gather
from skgoss._engine.training.sampling_kernels cimport sample_features
from skgoss._engine.training.split cimport FeatureSet, Split, search_features
from skgoss._engine.training.tasks cimport (
    BOTH_SIDES, LARGER_SIDE, SMALLER_SIDE, Batch, Siblings, Task, add_task, lock_tasks,
    publish_tasks, run_tasks, set_continuation, start_list, task_work)
from skgoss._engine.training.workspace cimport (
    INTERMEDIATE, NO_PRIORITY, ForcedSplit, Leaf, Shared, SmallLeafBuffers, Tile, Workspace,
    encoding_of, free_slot, is_better)

cdef enum:
    WORK_PER_VISIT = 3        # in updates, as all work is

# ------------------------------------------------------------------ features

cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil:
    """List the features sampled for the tree and those of forced splits, in their order.

    They are the features whose histograms are summed: ``ws.summed``, and as a mask
    ``ws.is_summed``. A forced split is one that the user passes.
    """
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
    """Choose the features that are searched in a leaf: allowed, sampled, and still splittable.

    A feature is splittable if it had a gain in the node above. ``searched_out``: a mask by feature.
    """
    cdef const uint8_t* splittable = ws.splittable[leaf.mask]
    cdef const int32_t* candidates = ws.features
    cdef uint64_t node_key
    cdef int i
    cdef int n = ws.n_features
    if (n == ws.data.n_features and shared.settings.node_fraction >= 1.0
            and shared.constraints.n_sets == 0):
        memcpy(searched_out, splittable, n)
        return
    if shared.constraints.n_sets > 0:
        mark_allowed(shared, ws, leaf)
        n = list_allowed(ws)
        candidates = ws.scratch.allowed
    node_key = draw(
        key(shared.settings.feature_seed, NODE_FEATURES, ws.tree_index), leaf.identity)
    n = sample_features(candidates, n, shared.settings.node_fraction, node_key, ws.scratch.sample)
    memset(searched_out, 0, ws.data.n_features)
    for i in range(n):
        searched_out[ws.scratch.sample[i]] = splittable[ws.scratch.sample[i]]


cdef void draw_cuts(
    const Shared* shared, const Workspace* ws, const Leaf* leaf, int32_t* cut_out,
) noexcept nogil:
    """Draw, for each feature, the only bin after which an extremely random tree may cut.

    Random numbers are hashes of seed, tree, leaf and feature: ``leaf.identity`` is the number of
    the leaf in a full binary tree, whatever the order in which leaves are split.
    """
    cdef uint64_t tree_key = key(
        shared.settings.extra_seed, RANDOM_THRESHOLD, ws.tree_index)
    cdef int feature
    for feature in range(ws.data.n_features):
        cut_out[feature] = <int32_t>bounded(
            draw(tree_key, leaf.identity * <uint64_t>ws.data.n_features + feature),
            ws.data.n_bins[feature] - 1)


cdef FeatureSet feature_set(
    const Shared* shared, const Workspace* ws, int side, const Leaf* leaf,
    const int32_t* features, int n, bint consecutive,
) noexcept nogil:
    """The features to search in one of two siblings, with their masks, cuts and bounds there.

    - ``side``: the scratch arrays of the sibling: 0 or 1.
    - ``features``, ``n``: numbers of features.
    - ``consecutive``: whether they follow one another.
    """
    cdef FeatureSet out
    out.features = features
    out.n = n
    out.searched = ws.scratch.searched[side]
    out.cut = ws.scratch.cut[side] if shared.settings.extra_trees else NULL
    # A feature without a gain may get one later if only one cut was tried, or if its bounds depend
    # on neighbors.
    out.splittable_out = ws.splittable[leaf.mask]
    if out.cut != NULL or shared.constraints.bounding >= INTERMEDIATE:
        out.splittable_out = NULL
    out.factor = ws.scratch.factor[side]
    out.monotone = &ws.monotone[side]
    out.consecutive = consecutive
    return out


cdef void search_leaf(
    Shared* shared, Workspace* ws, int side, const Leaf* leaf, const Histogram* histogram,
    const int32_t* features, int n, bint consecutive, int thread, Split* best_inout,
) noexcept nogil:
    """Search n features in one of two siblings; a better split replaces ``best_inout``.

    ``side``, ``consecutive``: see `feature_set`. ``thread``: whose work space is used.
    """
    cdef FeatureSet searched = feature_set(shared, ws, side, leaf, features, n, consecutive)
    search_features(
        &ws.data, encoding_of(ws, leaf), histogram, &searched, &leaf.stats, &ws.rules,
        shared.scratch[thread], best_inout)


# ------------------------------------------------------------------ siblings

cdef void start_search(Shared* shared, Siblings* siblings) noexcept nogil:
    """Choose the features of those siblings that are searched, and prepare their constraints."""
    cdef Workspace* ws = siblings.ws
    cdef int i, side
    cdef Leaf* leaf
    for i in range(2):
        side = siblings.first_side + i
        siblings.best[i].gain = 0
        if siblings.search_larger if i else siblings.search_smaller:
            leaf = siblings.larger if i else siblings.smaller
            choose_features(shared, ws, leaf, ws.scratch.searched[side])
            prepare_constraints(shared, ws, leaf, side)
            if shared.settings.extra_trees:
                draw_cuts(shared, ws, leaf, ws.scratch.cut[side])


cdef void subtract_features(
    const Siblings* siblings, const Histogram* smaller, const int32_t* features, int n,
) noexcept nogil:
    """Subtract the smaller sibling's sums of some features from those of the parent.

    These are in the larger sibling's slot, and become its sums. Neighboring features are subtracted
    at once.
    """
    cdef Workspace* ws = siblings.ws
    cdef int last
    cdef int first = 0
    while first < n:
        last = first
        while last + 1 < n and (
                ws.data.offset[features[last + 1]] == ws.data.offset[features[last] + 1]):
            last = last + 1
        subtract_bins(
            encoding_of(ws, siblings.smaller), siblings.parent_encoding,
            encoding_of(ws, siblings.larger), ws.data.offset[features[first]],
            ws.data.offset[features[last] + 1], smaller, &ws.slots[siblings.larger.slot])
        first = last + 1


cdef void finish_features(
    Shared* shared, Siblings* siblings, int kind, const Histogram* smaller,
    const int32_t* features, int n, bint consecutive, int thread,
) noexcept nogil:
    """Complete the sums of some features of both siblings, or of one, and search them.

    - ``kind``: BOTH_SIDES, SMALLER_SIDE or LARGER_SIDE.
    - ``smaller``: the sums of the smaller sibling.
    - ``features``, ``n``, ``consecutive``: see `feature_set`.

    Several threads may search features of the same siblings. The best split does not depend on
    their order: of equal gains, the first feature wins.
    """
    cdef Workspace* ws = siblings.ws
    cdef Split best[2]
    cdef int side
    best[0].gain = best[1].gain = 0
    if siblings.larger != NULL and kind != SMALLER_SIDE:
        subtract_features(siblings, smaller, features, n)
    if siblings.search_smaller and kind != LARGER_SIDE:
        search_leaf(
            shared, ws, siblings.first_side, siblings.smaller, smaller, features, n, consecutive,
            thread, &best[0])
    if siblings.search_larger and kind != SMALLER_SIDE:
        search_leaf(
            shared, ws, siblings.first_side + 1, siblings.larger,
            &ws.slots[siblings.larger.slot], features, n, consecutive, thread, &best[1])
    spin_lock(&siblings.lock)
    for side in range(2):
        if best[side].gain > 0 and is_better(&best[side], &siblings.best[side]):
            siblings.best[side] = best[side]
    spin_unlock(&siblings.lock)


cdef void finish_tile(
    Shared* shared, Siblings* siblings, int64_t number, int thread,
) noexcept nogil:
    """Sum the smaller sibling's rows in tile ``number``, complete the sums and search them."""
    cdef const Tile* tile = &siblings.ws.tiles[number]
    cdef Histogram sums = sum_tile(shared, siblings.ws, tile, siblings.smaller, thread)
    finish_features(
        shared, siblings, BOTH_SIDES, &sums, tile.features, tile.n_features, tile.consecutive,
        thread)


cdef void finish_summed(
    Shared* shared, Siblings* siblings, int kind, int64_t first, int64_t end, int thread,
) noexcept nogil:
    """Complete the sums of some features of siblings whose rows are summed, and search them.

    ``first``, ``end``: of the features that this process searches. ``kind``: see `finish_features`.
    """
    cdef Workspace* ws = siblings.ws
    finish_features(
        shared, siblings, kind, &ws.slots[siblings.smaller.slot],
        ws.summed + ws.first_searched + first, <int>(end - first),
        ws.n_searched == ws.data.n_features, thread)


cdef void keep_splits(Shared* shared, Siblings* siblings) noexcept nogil:
    """Keep the best splits of siblings that are searched."""
    keep_split(shared, siblings, 0, siblings.smaller, siblings.search_smaller)
    if siblings.larger != NULL:
        keep_split(shared, siblings, 1, siblings.larger, siblings.search_larger)


cdef void search_siblings(Shared* shared, Siblings* siblings) noexcept nogil:
    """Complete the sums of siblings and find their best splits, by one thread.

    The sums of the larger sibling are those of the parent minus those of the smaller one. Rows that
    are not summed yet are summed tile by tile, and each tile is searched while it is in the cache.
    """
    cdef Workspace* ws = siblings.ws
    cdef int tile
    start_search(shared, siblings)
    if siblings.is_summed:
        finish_summed(shared, siblings, BOTH_SIDES, 0, ws.n_searched, ws.thread)
    else:
        for tile in range(ws.n_tiles):
            finish_tile(shared, siblings, tile, ws.thread)
    keep_splits(shared, siblings)


cdef void search_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Search some features of siblings, or a tile."""
    cdef Siblings* siblings = &batch.siblings[task.index]
    if siblings.is_summed:
        finish_summed(shared, siblings, task.kind, task.first, task.end, thread)
    else:
        finish_tile(shared, siblings, task.first, thread)


cdef void after_search(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Keep the best splits of siblings of which all features have been searched."""
    cdef Siblings* siblings = &batch.siblings[task.index]
    cdef Workspace* ws = siblings.ws
    cdef int saved_thread
    # Two leaves may have one workspace, and end at the same time.
    lock_tasks(batch)
    saved_thread = ws.thread
    ws.thread = thread
    keep_splits(shared, siblings)
    ws.thread = saved_thread
    publish_tasks(batch)


cdef void list_features(Batch* batch, int index, double size) noexcept nogil:
    """List the tasks that search siblings whose rows are summed, of about ``size`` visits each.

    The two siblings are searched by separate tasks if a feature has many bins.
    """
    cdef const Siblings* siblings = &batch.siblings[index]
    cdef const Workspace* ws = siblings.ws
    cdef int n_leaves = siblings.search_smaller + siblings.search_larger
    cdef int first = 0
    cdef int i
    cdef double n_visits = 0
    for i in range(ws.n_searched):
        n_visits += n_leaves * feature_visits(&ws.data, ws.summed[ws.first_searched + i])
        if n_visits < size and i < ws.n_searched - 1:
            continue
        if n_leaves == 2 and n_visits > 2 * size:
            add_task(batch, search_task, index, LARGER_SIDE, first, i + 1)
            add_task(batch, search_task, index, SMALLER_SIDE, first, i + 1)
        else:
            add_task(batch, search_task, index, BOTH_SIDES, first, i + 1)
        first = i + 1
        n_visits = 0


cdef double list_searches(Shared* shared, Batch* batch, int index) noexcept nogil:
    """List the tasks that search siblings; returns about their updates and visits of bins.

    ``index``: of the siblings in the batch. Without tasks, their best splits are kept at once.
    """
    cdef Siblings* siblings = &batch.siblings[index]
    cdef int first = batch.tasks.n
    cdef int tile
    cdef double work = WORK_PER_VISIT * <double>siblings.ws.data.n_visits * (
        siblings.search_smaller + siblings.search_larger)
    start_search(shared, siblings)
    if siblings.is_summed:
        list_features(batch, index, batch.search_size)
    else:
        work += count_updates(siblings)
        for tile in range(siblings.ws.n_tiles):
            add_task(batch, search_task, index, BOTH_SIDES, tile, tile + 1)
    if batch.tasks.n == first:
        keep_splits(shared, siblings)
    set_continuation(batch, first, &siblings.n_open, after_search)
    return work


cdef void after_sum(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """After the rows of the smaller sibling are summed: list the tasks that search both."""
    lock_tasks(batch)
    list_searches(shared, batch, task.index)
    publish_tasks(batch)


cdef void list_siblings(Shared* shared, Batch* batch, int index) noexcept nogil:
    """List the tasks that sum the rows of the smaller sibling, and then search both.

    ``index``: of the siblings in the batch. Without a sum to wait for, the searches are listed at
    once.
    """
    if not list_sums(shared, batch, index, after_sum):
        list_searches(shared, batch, index)


cdef double count_batch_visits(const Batch* batch) noexcept nogil:
    """The visits of bins that a search of all siblings of the batch takes."""
    cdef double n_visits = 0
    cdef int i
    for i in range(batch.n_siblings):
        n_visits += 2.0 * batch.siblings[i].ws.data.n_visits
    return n_visits


cdef int sum_and_search(Shared* shared, Batch* batch) noexcept nogil:
    """Sum the rows of the batch's siblings, and find their best splits; 0 or NO_MEMORY.

    Siblings are the two children of a leaf, or a leaf alone. Their search begins as soon as their
    rows are summed, while others are still summed.
    """
    cdef double updates = count_batch_updates(batch)
    cdef double n_visits = count_batch_visits(batch)
    cdef int i
    start_list(shared, batch)
    batch.sum_size = task_work(batch, updates, MIN_SUM_WORK)
    batch.search_size = task_work(batch, n_visits, MIN_VISITS)
    lock_tasks(batch)
    for i in range(batch.n_siblings):
        list_siblings(shared, batch, i)
    publish_tasks(batch)
    run_tasks(batch, updates + WORK_PER_VISIT * n_visits)
    return batch.status


cdef int search_batch(Shared* shared, Batch* batch) noexcept nogil:
    """Find the best splits of all siblings of the batch, whose rows are summed; 0 or NO_MEMORY."""
    cdef double work = 0
    cdef int i
    start_list(shared, batch)
    batch.search_size = task_work(batch, count_batch_visits(batch), MIN_VISITS)
    lock_tasks(batch)
    for i in range(batch.n_siblings):
        work += list_searches(shared, batch, i)
    publish_tasks(batch)
    run_tasks(batch, work)
    return batch.status


# ------------------------------------------------------------------ one leaf

cdef Siblings single_leaf(Workspace* ws, Leaf* leaf, bint is_summed) noexcept nogil:
    """Siblings of one leaf alone: the root, or a leaf that is searched again.

    ``is_summed``: whether its slot has the sums of its rows.
    """
    cdef Siblings siblings
    memset(&siblings, 0, sizeof(Siblings))
    siblings.ws = ws
    siblings.smaller = leaf
    siblings.search_smaller = True
    siblings.is_summed = is_summed
    return siblings


cdef void search_small_leaf(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil:
    """Find the best split of a small leaf.

    Without tiles, only the features of which its rows have stored bins are searched: in any other
    feature, all of its rows are in the default bin.
    """
    cdef Siblings siblings = single_leaf(ws, leaf, False)
    cdef SmallLeafBuffers* small = &shared.small_leaf[ws.thread]
    cdef int i
    gather(ws, leaf, 1)
    if ws.n_tiles > 0:
        search_siblings(shared, &siblings)
        return
    start_search(shared, &siblings)
    fill_small_histogram(shared, ws, leaf, small.is_touched)
    search_leaf(
        shared, ws, 0, leaf, &small.histogram, small.touched, small.n_touched, False, ws.thread,
        &siblings.best[0])
    for i in range(small.n_touched):
        small.is_touched[small.touched[i]] = 0
    keep_splits(shared, &siblings)
    clear_small_histogram(shared, ws, leaf)


cdef int search_again(Shared* shared, Batch* batch, Workspace* ws, Leaf* leaf) noexcept nogil:
    """Find the best split of a leaf whose bounds have changed; 0 or NO_MEMORY.

    Bounds are those of outputs, by monotone constraints; other sums have not changed.
    """
    if leaf.slot < 0:
        search_small_leaf(shared, ws, leaf)
        return 0
    batch.siblings[0] = single_leaf(ws, leaf, True)
    batch.n_siblings = 1
    return search_batch(shared, batch)

# ------------------------------------------------------------------ the split that is kept

cdef bint is_feature_allowed(
    const Shared* shared, Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """Whether interactions allow a feature in a leaf, sampled for the tree or not."""
    if shared.constraints.n_sets > 0:
        mark_allowed(shared, ws, leaf)
        return ws.scratch.is_allowed[feature]
    return True


cdef void force_split(Shared* shared, Siblings* siblings, int side, Leaf* leaf) noexcept nogil:
    """Give a leaf its forced split, with a priority over all other leaves, if it has a gain.

    A forced split is one that the user passes. ``side``: 0: the smaller of the siblings, 1: the
    larger.
    """
    cdef Workspace* ws = siblings.ws
    cdef const ForcedSplit* forced = &shared.constraints.forced[leaf.forced]
    cdef int scratch_side = siblings.first_side + side
    cdef FeatureSet features = feature_set(
        shared, ws, scratch_side, leaf, &forced.feature, 1, False)
    cdef Histogram histogram
    cdef Split split
    if not is_feature_allowed(shared, ws, leaf, forced.feature):
        return
    ws.scratch.searched[scratch_side][forced.feature] = True
    ws.scratch.cut[scratch_side][forced.feature] = forced.bin
    features.cut = ws.scratch.cut[scratch_side]
    features.splittable_out = NULL
    features.factor = NULL
    split.gain = 0
    histogram = histogram_with(shared, ws, leaf, forced.feature)
    search_features(
        &ws.data, encoding_of(ws, leaf), &histogram, &features, &leaf.stats, &ws.rules,
        shared.scratch[ws.thread], &split)
    if split.gain > 0:
        siblings.best[side] = split
        leaf.priority = leaf.forced


cdef void keep_split(
    Shared* shared, Siblings* siblings, int side, Leaf* leaf, bint searched,
) noexcept nogil:
    """Keep a leaf's best split; release its histogram if it has none.

    ``side``: 0: the smaller of the siblings, 1: the larger. ``searched``: whether it was searched.
    """
    leaf.priority = NO_PRIORITY
    if searched and leaf.forced >= 0:
        force_split(shared, siblings, side, leaf)
    leaf.best = siblings.best[side]
    # Another process may still have found a split of a leaf that is searched.
    if not (leaf.best.gain > 0 or (searched and siblings.ws.shares_columns)):
        free_slot(siblings.ws, leaf)
