"""Growing one tree leaf-wise, in one nogil routine.

Build the histogram of the smaller child, subtract it for the larger, find the best split of
both, split the best leaf, partition its rows; at the end, the leaves' values.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport malloc, realloc
from libc.string cimport memcpy, memset

from skgoss._engine.training.constraints cimport (
    allowed_features, bound_children, bound_leaves, next_stale, order_children,
    prepare_constraints, start_constraints)
from skgoss._engine.training.histogram cimport (
    GradientStats, accumulate, add_places, choose_encoding, encode, fine_scale, move_rows,
    prefetch, round_stats, sum_words)
from skgoss._engine.training.layout cimport (
    LANE_CODES, Binned, Encoding, Histogram, Slopes, Sums, row_integer)
from skgoss._engine.training.partition cimport gallop_words, partition
from skgoss._engine.random cimport (
    NODE_FEATURES, RANDOM_THRESHOLD, TREE_FEATURES, below, draw, key)
from skgoss._engine.training.sampling cimport sample_features
from skgoss._engine.training.split cimport (
    HESSIAN_EPSILON, SCRATCH_CUTS, SCRATCH_ROOM, Bins, FeatureSet, Split, SplitRules,
    bin_sums, categories_l2, category_set, clamp, feature_bins, held_bins, leaf_output,
    leaf_step, node_stats, search_features)
from skgoss._engine.data.store cimport BinColumn, bin_of_code, bin_of_stored
from skgoss._engine.signals cimport is_stopped
from skgoss._engine.training.workspace cimport (
    INTERMEDIATE, INTERRUPTED, NO_MEMORY, NO_TURN, NOT_FINITE, ForcedSplit, Leaf, Node, Round,
    Shared, Workspace, better, free_slot, heap_pop, heap_push, heap_remove, take_slot)

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
    MIN_ROWS_A_TEAM = 20000
    MIN_LISTED_A_TEAM = 4000
    MAX_SLICES = 64
    PREFETCH_AHEAD = 24
    # Finding a row by a list costs as much as moving so many from a leaf to its children.
    ROWS_A_LISTED = 4
    NO_TAG = -1
    ROOT_BUFFER = 2
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
            &shared.data, &ws.code, ws.words[leaf.buffer] + first,
            min(size, leaf.end - first), ws.pairs, fresh, shared.sums[thread], out)
        fresh = False
        first = leaf.begin + take_next(&ws.next_chunk) * size


cdef int build(Shared* shared, Workspace* ws, const Leaf* leaf) noexcept nogil:
    """Sum the rows of a leaf into its slot and the partial histograms of more threads.

    Returns the number of threads that took part.
    """
    cdef Py_ssize_t n = leaf.end - leaf.begin
    cdef int n_parts = ws.n_threads if n * shared.data.row_updates > MIN_UPDATES_A_TEAM else 1
    cdef Py_ssize_t size
    cdef int part
    ws.next_chunk = n_parts
    if n_parts == 1:
        build_part(shared, ws, leaf, 0, n)
        return 1
    size = chunk_size(&shared.data, &ws.code, n, n_parts)
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
    for feature in range(shared.data.n_features):
        cut_out[feature] = <int32_t>below(
            draw(tree_key, leaf.identity * <uint64_t>shared.data.n_features + feature),
            shared.data.n_bins[feature] - 1)


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
        ws.n_features == shared.data.n_features and features >= ws.features
        and features < ws.features + ws.n_features)
    return out


cdef void search_leaf(
    Shared* shared, Workspace* ws, int side, const Leaf* leaf, int first, int n, int thread,
) noexcept nogil:
    """Search n of the tree's features, from ``first`` on, in one of the two leaves at hand."""
    cdef FeatureSet features = feature_set(
        shared, ws, side, leaf, ws.features + first, n)
    search_features(
        &shared.data, &ws.code, &ws.slots[leaf.slot], &features, &leaf.stats, &ws.rules,
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
        while last + 1 < end and ws.features[last + 1] == ws.features[last] + 1:
            last = last + 1
        first_place = shared.data.offset[ws.features[at]]
        last_place = shared.data.offset[ws.features[last] + 1]
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
    if (n == shared.data.n_features and shared.settings.node_fraction >= 1.0
            and shared.constraints.n_sets == 0):
        memcpy(searched_out, splittable, n)
        return
    if shared.constraints.n_sets > 0:
        n = allowed_features(shared, ws, leaf, ws.allowed)
        pool = ws.allowed
    node_key = draw(
        key(shared.settings.feature_seed, NODE_FEATURES, ws.tree_index), leaf.identity)
    n = sample_features(pool, n, shared.settings.node_fraction, node_key, ws.sample)
    memset(searched_out, 0, shared.data.n_features)
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
        shared.data.n_places, <int64_t>1 << 24) * (
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
        &shared.data, &ws.code, histogram, &features, &leaf.stats, &ws.rules,
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


# ------------------------------------------------------------------ one tree

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
    cdef size_t n = shared.data.n_features
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


cdef void tag_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Tag the sampled rows as the root's."""
    cdef Py_ssize_t i
    ws.n_tags = 1
    if round.slopes.ids == NULL:
        memset(ws.tags, 0, shared.data.n_rows * sizeof(int32_t))
        return
    memset(ws.tags, NO_TAG, shared.data.n_rows * sizeof(int32_t))
    for i in range(round.slopes.n):
        ws.tags[round.slopes.ids[i]] = 0


cdef void tag_rows(Workspace* ws, Leaf* leaf) noexcept nogil:
    """Give the rows of a leaf a tag of their own."""
    cdef const uint64_t* words = ws.words[leaf.buffer]
    cdef Py_ssize_t i
    leaf.tag = ws.n_tags
    ws.n_tags += 1
    for i in range(leaf.begin, leaf.end):
        ws.tags[words[i] & ws.code.id_mask] = leaf.tag


cdef void gather(Workspace* ws, Leaf* leaf) noexcept nogil:
    """Bring the rows of a leaf together, where others have left it by lists.

    Those others fill the first part of its place in the next buffer.
    """
    cdef const uint64_t* words = ws.words[leaf.buffer]
    cdef int buffer = next_buffer(leaf)
    cdef uint64_t* out = ws.words[buffer] + leaf.begin + leaf.n_left_behind
    cdef Py_ssize_t n_staying = leaf.end - leaf.begin - leaf.n_left_behind
    cdef Py_ssize_t n = 0
    cdef Py_ssize_t i
    if leaf.n_left_behind == 0:
        return
    # Every word is stored, and the next one over it if it has left: no branch to mispredict.
    for i in range(leaf.begin, leaf.end):
        if n == n_staying:
            break
        out[n] = words[i]
        n += ws.tags[words[i] & ws.code.id_mask] == leaf.tag
    leaf.begin += leaf.n_left_behind
    leaf.buffer = buffer
    leaf.n_left_behind = 0


cdef inline int next_buffer(const Leaf* leaf) noexcept nogil:
    return 1 if leaf.buffer == 0 else 0


cdef void add_forced_features(const Shared* shared, Workspace* ws) noexcept nogil:
    """Keep the sums of features that forced splits need and that were not drawn."""
    cdef int32_t feature
    cdef int i, j
    ws.n_summed = ws.n_features
    for i in range(shared.constraints.n_forced):
        feature = shared.constraints.forced[i].feature
        for j in range(ws.n_summed):
            if ws.features[j] == feature:
                break
        else:
            ws.features[ws.n_summed] = feature
            ws.n_summed += 1


cdef int encode_round(Workspace* ws, const Slopes* slopes, uint64_t* words_out) noexcept nogil:
    """The words of the root's rows; 0, NO_MEMORY or NOT_FINITE."""
    cdef GradientStats stats = round_stats(slopes, ws.n_threads)
    cdef int64_t n_summed = slopes.n if slopes.copies == NULL else slopes.n_copies
    cdef bint wide
    if not isfinite(stats.zero):
        return NOT_FINITE
    ws.gradient_scale = fine_scale(stats.gradient_max, n_summed)
    ws.hessian_scale = fine_scale(max(stats.hessian_max, -stats.hessian_min), n_summed)
    for wide in range(2):
        ws.code = choose_encoding(&stats, slopes, wide)
        if not ws.code.packed and ws.pairs == NULL:
            ws.pairs = <int64_t*>malloc(2 * slopes.n_rows * sizeof(int64_t))
            if ws.pairs == NULL:
                return NO_MEMORY
        if encode(slopes, &ws.code, ws.n_threads, words_out, ws.pairs):
            break
    return 0


cdef bint hessians_vary(const Slopes* slopes) noexcept nogil:
    """Whether the hessians of the rows differ, apart from their weights."""
    cdef Py_ssize_t i
    cdef float first
    if slopes.hessian == NULL or slopes.n == 0:
        return False
    first = slopes.hessian[slopes.ids[0] if slopes.ids != NULL else 0]
    for i in range(1, slopes.n):
        if slopes.hessian[slopes.ids[i] if slopes.ids != NULL else i] != first:
            return True
    return False


cdef int start_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Encode the round, sample the tree's features, search the root."""
    cdef Binned* data = &shared.data
    cdef Leaf* root = &ws.leaves[0]
    cdef int buffer = ROOT_BUFFER if shared.has_lists else 0
    cdef int status = encode_round(ws, &round.slopes, ws.words[buffer])
    cdef SplitRules unsmoothed  # nothing is above the root
    cdef Sums sums
    cdef int n_parts

    if status < 0:
        return status
    ws.rules = shared.rules
    ws.rules.hessians_vary = hessians_vary(&round.slopes)
    ws.rules.gradient_unit = ws.code.gradient_unit
    ws.rules.hessian_unit = ws.code.hessian_unit
    memset(root, 0, sizeof(Leaf))
    root.buffer = buffer
    if shared.has_lists:
        tag_root(shared, ws, round)
    root.end = round.slopes.n
    root.node = -1
    root.l2 = ws.rules.l2
    root.forced = 0 if shared.constraints.n_forced > 0 else -1
    ws.n_rows = round.slopes.n
    ws.n_leaves = 1
    ws.n_heap = 0
    ws.n_features = sample_features(
        shared.all_features, data.n_features, shared.settings.tree_fraction,
        key(shared.settings.feature_seed, TREE_FEATURES, ws.tree_index), ws.features)
    add_forced_features(shared, ws)
    root.slot = take_slot(data, ws)
    if root.slot < 0 or inherit_splittable(shared, ws, NULL, root) < 0:
        return NO_MEMORY
    n_parts = build(shared, ws, root)
    sums = sum_words(&ws.code, ws.words[root.buffer], round.slopes.n, ws.pairs)
    unsmoothed = ws.rules
    unsmoothed.path_smooth = 0
    root.stats = node_stats(sums, 0.0, -INFINITY, INFINITY, &unsmoothed)
    start_constraints(ws)
    finish(shared, ws, n_parts, root, NULL, may_split(shared, ws, root), False)
    return 0


cdef void decide_bins(
    const Binned* data, const Split* split, uint8_t* goes_left_out,
) noexcept nogil:
    memset(goes_left_out, 0, data.n_bins[split.feature])
    memset(goes_left_out, 1, min(split.bin + 1, data.n_bins[split.feature]))
    if data.missing_bin[split.feature] >= 0:
        goes_left_out[data.missing_bin[split.feature]] = split.missing_left


cdef const uint8_t* by_code(const Workspace* ws, const BinColumn* column) noexcept nogil:
    """Which codes of a column go left; bins where it is a list. Only bytes are shared."""
    cdef int c
    if column.width == 0 or column.implied < 0:
        return ws.goes_left
    for c in range(LANE_CODES):
        ws.code_goes_left[c] = ws.goes_left[bin_of_code(column, c)]
    return ws.code_goes_left


cdef void add_node(Workspace* ws, int leaf_index) noexcept nogil:
    """Put the next inner node in the place of a leaf."""
    cdef const Leaf* leaf = &ws.leaves[leaf_index]
    cdef int index = ws.n_leaves - 1
    cdef Node* node = &ws.nodes[index]
    if leaf.node >= 0:
        if leaf.is_left:
            ws.nodes[leaf.node].left = index
        else:
            ws.nodes[leaf.node].right = index
    node.parent = leaf.node
    node.is_left = leaf.is_left
    node.feature = leaf.best.feature
    node.bin = leaf.best.bin
    node.missing_left = leaf.best.missing_left
    node.gain = leaf.best.gain
    node.stats = leaf.stats
    node.left = ~leaf_index
    node.right = ~ws.n_leaves
    node.first_word = ws.nodes[index - 1].last_word if index > 0 else 0
    node.last_word = node.first_word


cdef int add_set(const Binned* data, Workspace* ws) noexcept nogil:
    """Keep the bins that go left with the last node, which is categorical."""
    cdef Node* node = &ws.nodes[ws.n_leaves - 1]
    cdef int n_bins = data.n_bins[node.feature]
    cdef Py_ssize_t room
    cdef void* larger
    cdef int b
    node.last_word = node.first_word + (n_bins + 31) // 32
    if node.last_word > ws.set_room:
        room = 2 * node.last_word
        larger = realloc(ws.set_words, room * sizeof(uint32_t))
        if larger == NULL:
            return NO_MEMORY
        ws.set_words = <uint32_t*>larger
        ws.set_room = room
    memset(
        ws.set_words + node.first_word, 0,
        (node.last_word - node.first_word) * sizeof(uint32_t))
    for b in range(n_bins):
        ws.set_words[node.first_word + b // 32] |= <uint32_t>ws.goes_left[b] << (b % 32)
    return 0


cdef void make_child(
    Workspace* ws, const Leaf* parent, int node, bint is_left, Sums sums, double l2,
    Leaf* child_out,
) noexcept nogil:
    """All of a child but its rows. It has its bounds already."""
    cdef SplitRules rules = ws.rules
    cdef double lower = child_out.stats.lower
    cdef double upper = child_out.stats.upper
    child_out.n_left_behind = 0
    child_out.depth = parent.depth + 1
    child_out.node = node
    child_out.is_left = is_left
    child_out.identity = 2 * <uint64_t>node + 2 - is_left
    child_out.slot = -1
    child_out.l2 = l2
    child_out.stats = node_stats(sums, parent.stats.output, lower, upper, &rules)
    rules.l2 = l2
    child_out.stats.output = node_stats(
        sums, parent.stats.output, lower, upper, &rules).output
    child_out.best.gain = 0
    child_out.forced = -1


cdef void part_rows(
    Shared* shared, Workspace* ws, Leaf* parent, const BinColumn* column, Leaf* left,
    Leaf* right,
) noexcept nogil:
    """Move the rows of a leaf to its children."""
    cdef Py_ssize_t n_left = left.stats.sums.count
    cdef Leaf* small = left if 2 * n_left <= parent.stats.sums.count else right
    cdef Py_ssize_t n
    gather(ws, parent)
    n = parent.end - parent.begin
    left.begin = parent.begin
    left.end = right.begin = parent.begin + n_left
    right.end = parent.end
    left.buffer = right.buffer = next_buffer(parent)
    left.tag = right.tag = parent.tag
    partition(
        column, ws.words[parent.buffer] + parent.begin, n, ws.code.id_mask,
        by_code(ws, column), n_left, ws.n_threads if n > MIN_ROWS_A_TEAM else 1, ws.mask,
        ws.words[left.buffer] + parent.begin)
    if shared.has_lists:
        tag_rows(ws, small)


cdef bint is_by_list(
    const BinColumn* column, const Leaf* parent, Py_ssize_t n_moved,
) noexcept nogil:
    """Whether few rows leave a leaf, and a list tells which.

    Only where the leaf's words are the root's, which nothing overwrites as long as the rows
    that stay behind are mixed with those that left.
    """
    return (
        column.rows != NULL
        and parent.buffer == ROOT_BUFFER
        and 2 * n_moved < parent.stats.sums.count
        and ROWS_A_LISTED * column.length < parent.end - parent.begin
    )


cdef Py_ssize_t take_slice(
    Workspace* ws, const Leaf* parent, const Leaf* small, const BinColumn* column,
    bint sampled, Py_ssize_t first, Py_ssize_t last, uint64_t* words_out,
) noexcept nogil:
    """Tag the rows that a part of a list names, and copy their words; returns how many."""
    cdef bint others_left = ws.goes_left[column.implied]
    cdef const uint64_t* root = ws.words[ROOT_BUFFER]
    cdef Py_ssize_t found = 0
    cdef Py_ssize_t n = 0
    cdef bint leaves
    cdef uint32_t row
    cdef int64_t i
    # Without branches to mispredict, as in `gather`.
    for i in range(first, last):
        if n == small.stats.sums.count:
            break
        row = column.rows[i]
        leaves = ws.tags[row] == parent.tag and (
            ws.goes_left[bin_of_stored(column, column.stored[i])] != others_left)
        if sampled and leaves:
            # Words and list both ascend.
            found = gallop_words(root, found, ws.n_rows, ws.code.id_mask, row)
        words_out[n] = root[found if sampled else row]
        ws.tags[row] = small.tag if leaves else ws.tags[row]
        n += leaves
    return n


cdef void take_listed(
    Workspace* ws, const Leaf* parent, const BinColumn* column, bint sampled, Leaf* small,
    Leaf* large,
) noexcept nogil:
    """Let the rows that a list names leave for the small child; the others stay.

    Threads fill slices of the other buffer, which has room for the rows that stay.
    """
    cdef Py_ssize_t[MAX_SLICES] taken
    cdef Py_ssize_t size, n_staying
    cdef uint64_t* out
    cdef uint64_t* spare
    cdef int n_slices = min(ws.n_threads, <int>MAX_SLICES)
    cdef int part
    large.begin = parent.begin
    large.end = parent.end
    large.buffer = parent.buffer
    large.tag = parent.tag
    small.buffer = next_buffer(parent)
    small.begin = parent.begin + parent.n_left_behind
    small.end = small.begin + small.stats.sums.count
    small.tag = ws.n_tags
    ws.n_tags += 1
    large.n_left_behind = parent.n_left_behind + small.stats.sums.count
    out = ws.words[small.buffer] + small.begin
    n_staying = parent.end - small.begin
    if n_slices == 1 or column.length < MIN_LISTED_A_TEAM or column.length > n_staying:
        take_slice(ws, parent, small, column, sampled, 0, column.length, out)
        return
    spare = ws.words[next_buffer(small)] + small.begin
    size = (column.length + n_slices - 1) // n_slices
    for part in prange(n_slices, num_threads=n_slices, schedule="static", chunksize=1):
        taken[part] = take_slice(
            ws, parent, small, column, sampled, min(part * size, column.length),
            min((part + 1) * size, column.length), spare + part * size)
    for part in range(n_slices):
        memcpy(out, spare + part * size, taken[part] * sizeof(uint64_t))
        out = out + taken[part]


cdef double choose_left(
    Shared* shared, Workspace* ws, Leaf* leaf, Sums* left_out,
) noexcept nogil:
    """Which bins of a leaf's split go left, and their sums; the ridge penalty below it."""
    cdef Binned* data = &shared.data
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


cdef int split_leaf(Shared* shared, Workspace* ws, int index) noexcept nogil:
    """Split the leaf by its best split and search its children."""
    cdef Leaf parent = ws.leaves[index]
    cdef const BinColumn* column = &shared.columns[parent.best.feature]
    cdef Leaf* left = &ws.leaves[index]
    cdef Leaf* right = &ws.leaves[ws.n_leaves]
    cdef Leaf* moved
    cdef Leaf* staying
    cdef Sums left_sums, right_sums
    cdef double l2 = choose_left(shared, ws, &parent, &left_sums)

    right_sums.gradient = parent.stats.sums.gradient - left_sums.gradient
    right_sums.hessian = parent.stats.sums.hessian - left_sums.hessian
    right_sums.count = parent.stats.sums.count - left_sums.count
    add_node(ws, index)
    if shared.data.categorical[parent.best.feature] and add_set(&shared.data, ws) < 0:
        return NO_MEMORY
    bound_children(shared, ws, index, &parent)
    make_child(ws, &parent, ws.n_leaves - 1, True, left_sums, l2, left)
    make_child(ws, &parent, ws.n_leaves - 1, False, right_sums, l2, right)
    if parent.turn != NO_TURN:
        left.forced = shared.constraints.forced[parent.turn].left
        right.forced = shared.constraints.forced[parent.turn].right
    if column.rows != NULL and ws.goes_left[column.implied]:
        moved, staying = right, left
    else:
        moved, staying = left, right
    if is_by_list(column, &parent, moved.stats.sums.count):
        take_listed(
            ws, &parent, column, ws.n_rows < shared.data.n_rows, moved, staying)
    else:
        part_rows(shared, ws, &parent, column, left, right)
    ws.n_leaves += 1
    order_children(shared, ws, index)
    return search_children(shared, ws, parent.slot, left, right)


cdef void search_again(Shared* shared, Workspace* ws, int index) noexcept nogil:
    """Search the leaves that the newest split, of leaf ``index``, bounds anew."""
    cdef int stale = next_stale(shared, ws, index, 0)
    cdef Leaf* leaf
    while stale >= 0 and not is_stopped(&shared.watch):
        heap_remove(ws, stale)
        leaf = &ws.leaves[stale]
        if leaf.slot < 0:
            search_few(shared, ws, leaf)
        else:
            finish(shared, ws, 1, leaf, NULL, True, False)
        stale = next_stale(shared, ws, index, stale + 1)


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
    cdef Binned* data = &shared.data
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
    cdef Binned* data = &shared.data
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


cdef void fill_leaf(Workspace* ws, const Round* round, int index) noexcept nogil:
    """The leaf's value from its rows' own gradients, summed exactly; add it to the scores."""
    cdef Leaf* leaf = &ws.leaves[index]
    cdef const Slopes* slopes = &round.slopes
    cdef const uint64_t* words
    cdef uint64_t id_mask = ws.code.id_mask
    cdef int64_t gradient = 0
    cdef int64_t hessian = 0
    cdef SplitRules rules = ws.rules
    cdef double value
    cdef Py_ssize_t i, row
    rules.l2 = leaf.l2
    gather(ws, leaf)
    words = ws.words[leaf.buffer]
    for i in range(leaf.begin, leaf.end):
        if i + PREFETCH_AHEAD < leaf.end:
            row = words[i + PREFETCH_AHEAD] & id_mask
            prefetch(slopes.gradient + row)
            if slopes.hessian != NULL:
                prefetch(slopes.hessian + row)
            if round.score != NULL:
                prefetch(round.score + row)
        row = words[i] & id_mask
        gradient += row_integer(
            slopes.gradient, slopes.weight, slopes.copies, row, ws.gradient_scale)
        hessian += row_integer(
            slopes.hessian, slopes.weight, slopes.copies, row, ws.hessian_scale)
    ws.leaf_weight[index] = hessian / ws.hessian_scale
    value = leaf_output(
        gradient / ws.gradient_scale, ws.leaf_weight[index] + HESSIAN_EPSILON,
        leaf.end - leaf.begin, ws.nodes[leaf.node].stats.output, &rules)
    value = leaf_step(
        clamp(value, leaf.stats.lower, leaf.stats.upper), ws.learning_rate, ws.concordance)
    ws.leaf_value[index] = value
    if round.score != NULL:
        for i in range(leaf.begin, leaf.end):
            round.score[words[i] & id_mask] += value


cdef void fill_leaves(Workspace* ws, const Round* round) noexcept nogil:
    cdef int leaf
    if ws.n_leaves == 1:
        ws.leaf_value[0] = 0.0
        ws.leaf_weight[0] = ws.leaves[0].stats.sums.hessian * ws.rules.hessian_unit
    elif ws.n_threads == 1 or round.slopes.n <= MIN_ROWS_A_TEAM:
        for leaf in range(ws.n_leaves):
            fill_leaf(ws, round, leaf)
    else:
        for leaf in prange(
            ws.n_leaves, num_threads=ws.n_threads, schedule="dynamic", chunksize=1,
        ):
            fill_leaf(ws, round, leaf)


cdef int grow_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Grow one tree; 0, NO_MEMORY, NOT_FINITE or INTERRUPTED."""
    cdef int status = start_tree(shared, ws, round)
    cdef int leaf
    while status == 0 and ws.n_heap > 0 and ws.n_leaves < shared.settings.max_leaves:
        leaf = heap_pop(ws)
        status = split_leaf(shared, ws, leaf)
        if status == 0 and shared.constraints.bounding >= INTERMEDIATE:
            search_again(shared, ws, leaf)
        if status == 0 and is_stopped(&shared.watch):
            status = INTERRUPTED
    bound_leaves(shared, ws)
    while ws.n_heap > 0:
        free_slot(ws, &ws.leaves[heap_pop(ws)])
    if status == 0:
        fill_leaves(ws, round)
    return status
