"""Growing trees leaf-wise on a binned data set.

A tree is grown by one nogil routine, `grow_tree`: build the histogram of the smaller child,
subtract it for the larger, find the best split of both, split the best leaf, partition its
rows. Trees of one round (the classes) are grown side by side when there are enough of them,
else the threads share the work inside a tree; the trees are the same either way.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

from skgoss._engine.histogram cimport (
    GradientStats, accumulate, add_feature, choose_encoding, encode, fine_scale, prefetch,
    remove_rows, round_stats)
from skgoss._engine.layout cimport Binned, Encoding, Histogram, Sums, nearest
from skgoss._engine.partition cimport partition
from skgoss._engine.random cimport (
    NODE_FEATURES, RANDOM_THRESHOLD, TREE_FEATURES, below, draw, key)
from skgoss._engine.sampling cimport sample_features
from skgoss._engine.split cimport (
    HESSIAN_EPSILON, SCRATCH_ROOM, Bins, FeatureSet, NodeStats, Split, SplitRules,
    bin_sums, feature_bins, leaf_output, node_stats, search_features)

cdef enum:
    # Below so many bin updates or bin visits a team of threads costs more than it gives.
    MIN_UPDATES_A_TEAM = 100000
    MIN_VISITS_A_TEAM = 12000
    MIN_ROWS_A_TEAM = 20000
    PREFETCH_AHEAD = 24

    # What growing may end with, besides 0.
    NO_MEMORY = -1
    NOT_FINITE = -2

cdef struct Leaf:
    Py_ssize_t begin          # its rows: words[buffer][begin:end]
    Py_ssize_t end
    int buffer
    int slot                  # of its histogram; -1: none
    int depth
    int node                  # the inner node above it; -1: it is the root
    int is_left
    uint64_t identity         # under which its random numbers are drawn
    NodeStats stats
    Split best

cdef struct Node:
    int32_t feature
    int32_t bin
    int32_t missing_left
    int32_t left
    int32_t right
    double gain
    NodeStats stats

cdef struct Workspace:
    int first_thread          # its accumulators are those of these threads
    int n_threads
    uint64_t* words[2]
    uint8_t* mask
    uint8_t* goes_left
    int64_t* pairs
    int32_t* features         # sampled for the tree
    int n_features
    uint8_t* searched[2]      # features sampled for the two leaves at hand
    int32_t* cut[2]           # and their only cuts, in extremely random trees
    int32_t* sample
    Histogram* slots
    int* free_slots
    int n_slots
    int n_free
    Leaf* leaves
    Node* nodes
    double* leaf_value
    double* leaf_weight
    int* heap
    int n_heap
    int n_leaves
    Encoding code
    SplitRules rules
    double gradient_scale     # of the leaves' own sums, finer than the histograms'
    double hessian_scale
    uint64_t tree_index
    double learning_rate

cdef struct Settings:
    int max_leaves
    int max_depth
    double tree_fraction
    double node_fraction
    uint64_t feature_seed
    uint64_t extra_seed
    int extra_trees
    double learning_rate

cdef struct StoredNode:       # as the dtype NODE
    int32_t feature
    int32_t bin
    int32_t left
    int32_t right
    double gain
    double value
    double weight
    int64_t count
    int64_t missing_left

cdef struct StoredLeaf:       # as the dtype LEAF
    double value
    double weight
    int64_t count

cdef struct Forest:           # all trees, one after the other
    StoredNode* nodes
    StoredLeaf* leaves
    int64_t* leaf_start
    int64_t n_nodes
    int64_t n_leaves
    int64_t n_trees
    int64_t node_room
    int64_t leaf_room
    int64_t tree_room

cdef struct Shared:
    Binned data
    Settings settings
    SplitRules rules
    int64_t** lanes           # of each thread
    Histogram* partial        # of each thread
    double** scratch          # of each thread
    Split* best               # two of each thread
    int32_t* all_features
    int max_bins

cdef struct Round:
    const float* gradient
    const float* hessian      # NULL: ones
    const double* weight      # NULL: ones
    const uint32_t* ids       # NULL: all rows
    Py_ssize_t n
    double* score             # NULL: do not add the tree
    int status                # 0, NO_MEMORY or NOT_FINITE


# ------------------------------------------------------------------ histogram slots

cdef int allocate_histogram(const Binned* data, Histogram* out) noexcept nogil:
    cdef size_t n_bins = data.offset[data.n_features]
    out.gradient = <int64_t*>malloc(n_bins * (2 * sizeof(int64_t) + sizeof(int32_t)) + 1)
    if out.gradient == NULL:
        return -1
    out.hessian = out.gradient + n_bins
    out.count = <int32_t*>(out.hessian + n_bins)
    return 0


cdef int take_slot(const Binned* data, Workspace* ws) noexcept nogil:
    """A free histogram slot; -1 without memory."""
    if ws.n_free > 0:
        ws.n_free -= 1
        return ws.free_slots[ws.n_free]
    if allocate_histogram(data, &ws.slots[ws.n_slots]) < 0:
        return -1
    ws.n_slots += 1
    return ws.n_slots - 1


cdef void free_slot(Workspace* ws, Leaf* leaf) noexcept nogil:
    if leaf.slot >= 0:
        ws.free_slots[ws.n_free] = leaf.slot
        ws.n_free += 1
        leaf.slot = -1


# ------------------------------------------------------------------ the heap of leaves

cdef inline bint better(const Split* a, const Split* b) noexcept nogil:
    return a.gain > b.gain or (a.gain == b.gain and a.feature < b.feature)


cdef bint leaf_before(const Workspace* ws, int a, int b) noexcept nogil:
    """Whether leaf ``a`` is split before leaf ``b``."""
    if better(&ws.leaves[a].best, &ws.leaves[b].best):
        return True
    return a < b and not better(&ws.leaves[b].best, &ws.leaves[a].best)


cdef void heap_push(Workspace* ws, int leaf) noexcept nogil:
    cdef int at = ws.n_heap
    cdef int up
    ws.n_heap += 1
    while at > 0:
        up = (at - 1) // 2
        if not leaf_before(ws, leaf, ws.heap[up]):
            break
        ws.heap[at] = ws.heap[up]
        at = up
    ws.heap[at] = leaf


cdef int heap_pop(Workspace* ws) noexcept nogil:
    cdef int top = ws.heap[0]
    cdef int last, at, down
    ws.n_heap -= 1
    last = ws.heap[ws.n_heap]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= ws.n_heap:
            break
        if down + 1 < ws.n_heap and leaf_before(ws, ws.heap[down + 1], ws.heap[down]):
            down += 1
        if not leaf_before(ws, ws.heap[down], last):
            break
        ws.heap[at] = ws.heap[down]
        at = down
    ws.heap[at] = last
    return top


# ------------------------------------------------------------------ histograms and splits

cdef void build_part(
    Shared* shared, Workspace* ws, const Leaf* leaf, int part, Py_ssize_t size,
) noexcept nogil:
    cdef Binned* data = &shared.data
    cdef int thread = ws.first_thread + part
    cdef Histogram* out = &ws.slots[leaf.slot] if part == 0 else &shared.partial[thread]
    cdef Py_ssize_t first = min(leaf.begin + part * size, leaf.end)
    accumulate(
        data, &ws.code, ws.words[leaf.buffer] + first, min(size, leaf.end - first),
        ws.pairs, shared.lanes[thread], out)


cdef int build(Shared* shared, Workspace* ws, const Leaf* leaf) noexcept nogil:
    """Sum the rows of a leaf into its slot and the partial histograms of more threads.

    Returns the number of threads that took part.
    """
    cdef Py_ssize_t n = leaf.end - leaf.begin
    cdef int n_parts = ws.n_threads if n * shared.data.n_features > MIN_UPDATES_A_TEAM else 1
    cdef int part
    if n_parts == 1:
        build_part(shared, ws, leaf, 0, n)
        return 1
    for part in prange(n_parts, num_threads=n_parts, schedule="static", chunksize=1):
        build_part(shared, ws, leaf, part, (n + n_parts - 1) // n_parts)
    return n_parts


cdef void draw_cuts(Shared* shared, Workspace* ws, const Leaf* leaf, int32_t* cut_out) noexcept nogil:
    """For each feature the one bin after which extremely random trees may cut."""
    cdef uint64_t tree_key = key(
        shared.settings.extra_seed, RANDOM_THRESHOLD, ws.tree_index)
    cdef int feature
    for feature in range(shared.data.n_features):
        cut_out[feature] = <int32_t>below(
            draw(tree_key, leaf.identity * <uint64_t>shared.data.n_features + feature),
            shared.data.n_bins[feature] - 1)


cdef void search_leaf(
    Shared* shared, Workspace* ws, int side, const Leaf* leaf, int first, int n, int thread,
) noexcept nogil:
    """Search n of the tree's features, from ``first`` on, in one of the two leaves at hand."""
    cdef FeatureSet features
    features.features = ws.features + first
    features.n = n
    features.searched = ws.searched[side]
    features.cut = ws.cut[side] if shared.settings.extra_trees else NULL
    search_features(
        &shared.data, &ws.code, &ws.slots[leaf.slot], &features, &leaf.stats, &ws.rules,
        shared.scratch[thread], &shared.best[2 * thread + side])


cdef void finish_features(
    Shared* shared, Workspace* ws, int first, int n, int n_parts, const Leaf* built,
    const Leaf* other, bint search_built, bint search_other, int thread,
) noexcept nogil:
    """Some features of the two children: merge, subtract, search."""
    cdef Binned* data = &shared.data
    cdef int i, part
    shared.best[2 * thread].gain = 0
    shared.best[2 * thread + 1].gain = 0
    for i in range(first, first + n):
        for part in range(1, n_parts):
            add_feature(
                data, &ws.code, ws.features[i], 1,
                &shared.partial[ws.first_thread + part], &ws.slots[built.slot])
        if other != NULL:
            add_feature(
                data, &ws.code, ws.features[i], -1, &ws.slots[built.slot],
                &ws.slots[other.slot])
    if search_built:
        search_leaf(shared, ws, 0, built, first, n, thread)
    if search_other:
        search_leaf(shared, ws, 1, other, first, n, thread)


cdef void sample_node_features(
    Shared* shared, Workspace* ws, const Leaf* leaf, uint8_t* searched_out,
) noexcept nogil:
    cdef uint64_t node_key
    cdef int i, n
    if shared.settings.node_fraction >= 1.0:
        memset(searched_out, 1, shared.data.n_features)
        return
    node_key = draw(
        key(shared.settings.feature_seed, NODE_FEATURES, ws.tree_index), leaf.identity)
    n = sample_features(
        ws.features, ws.n_features, shared.settings.node_fraction, node_key, ws.sample)
    memset(searched_out, 0, shared.data.n_features)
    for i in range(n):
        searched_out[ws.sample[i]] = 1


cdef void prepare_search(Shared* shared, Workspace* ws, const Leaf* leaf, int side) noexcept nogil:
    sample_node_features(shared, ws, leaf, ws.searched[side])
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
        shared.data.offset[shared.data.n_features], <int64_t>1 << 24) * (
            search_built + search_other)
    cdef int n_threads = ws.n_threads if n_visits > MIN_VISITS_A_TEAM else 1
    if search_built:
        prepare_search(shared, ws, built, 0)
    if search_other:
        prepare_search(shared, ws, other, 1)
    if n_threads == 1:
        finish_features(
            shared, ws, 0, ws.n_features, n_parts, built, other, search_built,
            search_other, ws.first_thread)
    else:
        for i in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
            finish_features(
                shared, ws, i * ws.n_features // n_threads,
                (i + 1) * ws.n_features // n_threads - i * ws.n_features // n_threads,
                n_parts, built, other, search_built, search_other, ws.first_thread + i)
    for side in range(2):
        for thread in range(ws.first_thread + 1, ws.first_thread + n_threads):
            if better(&shared.best[2 * thread + side],
                      &shared.best[2 * ws.first_thread + side]):
                shared.best[2 * ws.first_thread + side] = shared.best[2 * thread + side]
    settle(ws, built, &shared.best[2 * ws.first_thread])
    if other != NULL:
        settle(ws, other, &shared.best[2 * ws.first_thread + 1])


cdef void settle(Workspace* ws, Leaf* leaf, const Split* best) noexcept nogil:
    """Queue a leaf that has a split; give back the histogram of one that has none."""
    leaf.best = best[0]
    if best.gain > 0:
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


cdef Sums feature_sums(
    const Binned* data, const Encoding* code, const Histogram* histogram, int feature,
    const uint8_t* included,
) noexcept nogil:
    """Sums over the bins of a feature, or over those that are ``included``."""
    cdef Bins bins = feature_bins(data, histogram, feature)
    cdef Sums sums, part
    cdef int b
    memset(&sums, 0, sizeof(Sums))
    for b in range(bins.n_bins):
        if included == NULL or included[b]:
            part = bin_sums(&bins, b, code)
            sums.gradient += part.gradient
            sums.hessian += part.hessian
            sums.count += part.count
    return sums


cdef int start_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Encode the round, sample the tree's features, search the root."""
    cdef Binned* data = &shared.data
    cdef GradientStats stats = round_stats(
        round.gradient, round.hessian, round.weight, data.n_rows, ws.n_threads)
    cdef bint constant = round.hessian == NULL and round.weight == NULL
    cdef Leaf* root = &ws.leaves[0]
    cdef Sums sums, part_sums
    cdef int n_parts, part

    if not (isfinite(stats.gradient_sum) and isfinite(stats.hessian_sum)):
        return NOT_FINITE
    ws.code = choose_encoding(&stats, data.n_rows, constant)
    ws.rules = shared.rules
    ws.rules.gradient_unit = ws.code.gradient_unit
    ws.rules.hessian_unit = ws.code.hessian_unit
    if not ws.code.packed and ws.pairs == NULL:
        ws.pairs = <int64_t*>malloc(2 * data.n_rows * sizeof(int64_t))
        if ws.pairs == NULL:
            return NO_MEMORY
    ws.gradient_scale = fine_scale(stats.gradient_max, data.n_rows)
    ws.hessian_scale = fine_scale(
        max(stats.hessian_max, -stats.hessian_min), data.n_rows)
    encode(
        round.gradient, round.hessian, round.weight, round.ids, round.n, data.n_rows,
        &ws.code, ws.n_threads, ws.words[0], ws.pairs)

    memset(root, 0, sizeof(Leaf))
    root.end = round.n
    root.node = -1
    ws.n_leaves = 1
    ws.n_heap = 0
    ws.n_features = sample_features(
        shared.all_features, data.n_features, shared.settings.tree_fraction,
        key(shared.settings.feature_seed, TREE_FEATURES, ws.tree_index), ws.features)
    root.slot = take_slot(data, ws)
    if root.slot < 0:
        return NO_MEMORY
    n_parts = build(shared, ws, root)
    sums = feature_sums(data, &ws.code, &ws.slots[root.slot], 0, NULL)
    for part in range(1, n_parts):
        part_sums = feature_sums(
            data, &ws.code, &shared.partial[ws.first_thread + part], 0, NULL)
        sums.gradient += part_sums.gradient
        sums.hessian += part_sums.hessian
        sums.count += part_sums.count
    root.stats = node_stats(sums, 0.0, &ws.rules)
    finish(shared, ws, n_parts, root, NULL, may_split(shared, ws, root), False)
    return 0


cdef void decide_bins(const Binned* data, const Split* split, uint8_t* goes_left_out) noexcept nogil:
    cdef int b
    for b in range(data.n_bins[split.feature]):
        goes_left_out[b] = b <= split.bin
    if data.missing_bin[split.feature] >= 0:
        goes_left_out[data.missing_bin[split.feature]] = split.missing_left


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
    node.feature = leaf.best.feature
    node.bin = leaf.best.bin
    node.missing_left = leaf.best.missing_left
    node.gain = leaf.best.gain
    node.stats = leaf.stats
    node.left = ~leaf_index
    node.right = ~ws.n_leaves


cdef void make_child(
    Workspace* ws, const Leaf* parent, int node, bint is_left, Py_ssize_t begin,
    Sums sums, Leaf* child_out,
) noexcept nogil:
    cdef NodeStats stats = node_stats(sums, parent.stats.output, &ws.rules)
    child_out.begin = begin
    child_out.end = begin + sums.count
    child_out.buffer = 1 - parent.buffer
    child_out.depth = parent.depth + 1
    child_out.node = node
    child_out.is_left = is_left
    child_out.identity = 2 * <uint64_t>node + 2 - is_left
    child_out.slot = -1
    child_out.stats = stats
    child_out.best.gain = 0


cdef int split_leaf(Shared* shared, Workspace* ws, int index) noexcept nogil:
    """Split the leaf by its best split and search its children."""
    cdef Binned* data = &shared.data
    cdef Leaf parent = ws.leaves[index]
    cdef Leaf* left = &ws.leaves[index]
    cdef Leaf* right = &ws.leaves[ws.n_leaves]
    cdef Sums left_sums, right_sums
    cdef int n_parts
    cdef Py_ssize_t n = parent.end - parent.begin

    decide_bins(data, &parent.best, ws.goes_left)
    left_sums = feature_sums(
        data, &ws.code, &ws.slots[parent.slot], parent.best.feature, ws.goes_left)
    right_sums.gradient = parent.stats.sums.gradient - left_sums.gradient
    right_sums.hessian = parent.stats.sums.hessian - left_sums.hessian
    right_sums.count = parent.stats.sums.count - left_sums.count
    partition(
        data, ws.words[parent.buffer] + parent.begin, n, ws.code.id_mask,
        parent.best.feature, ws.goes_left, left_sums.count,
        ws.n_threads if n > MIN_ROWS_A_TEAM else 1, ws.mask,
        ws.words[1 - parent.buffer] + parent.begin)
    add_node(ws, index)
    make_child(ws, &parent, ws.n_leaves - 1, True, parent.begin, left_sums, left)
    make_child(
        ws, &parent, ws.n_leaves - 1, False, parent.begin + left_sums.count, right_sums,
        right)
    ws.n_leaves += 1
    return search_children(shared, ws, parent.slot, left, right)


cdef int search_children(
    Shared* shared, Workspace* ws, int parent_slot, Leaf* left, Leaf* right,
) noexcept nogil:
    cdef Leaf* small = left
    cdef Leaf* large = right
    cdef bint search_small, search_large
    cdef Py_ssize_t n_small
    if right.stats.sums.count < left.stats.sums.count:
        small = right
        large = left
    n_small = small.end - small.begin
    search_small = may_split(shared, ws, small)
    search_large = may_split(shared, ws, large)
    large.slot = parent_slot
    if not (search_small or search_large):
        free_slot(ws, large)
        return 0
    if not search_small and n_small * shared.data.n_features < shared.data.offset[
            shared.data.n_features]:
        remove_rows(
            &shared.data, &ws.code, ws.words[small.buffer] + small.begin, n_small, ws.pairs,
            &ws.slots[large.slot])
        finish(shared, ws, 1, large, NULL, True, False)
        return 0
    small.slot = take_slot(&shared.data, ws)
    if small.slot < 0:
        return NO_MEMORY
    finish(
        shared, ws, build(shared, ws, small), small, large, search_small, search_large)
    return 0


cdef void fill_leaf(Workspace* ws, const Round* round, int index) noexcept nogil:
    """The leaf's value from its rows' own gradients, summed exactly; add it to the scores."""
    cdef const Leaf* leaf = &ws.leaves[index]
    cdef const uint64_t* words = ws.words[leaf.buffer]
    cdef uint64_t id_mask = ws.code.id_mask
    cdef int64_t gradient = 0
    cdef int64_t hessian = 0
    cdef double weight, value
    cdef Py_ssize_t i, row
    for i in range(leaf.begin, leaf.end):
        if i + PREFETCH_AHEAD < leaf.end:
            row = words[i + PREFETCH_AHEAD] & id_mask
            prefetch(round.gradient + row)
            if round.hessian != NULL:
                prefetch(round.hessian + row)
            if round.score != NULL:
                prefetch(round.score + row)
        row = words[i] & id_mask
        weight = round.weight[row] if round.weight != NULL else 1.0
        gradient += nearest(round.gradient[row] * weight * ws.gradient_scale)
        if round.hessian != NULL:
            weight = round.hessian[row] * weight
        hessian += nearest(weight * ws.hessian_scale)
    ws.leaf_weight[index] = hessian / ws.hessian_scale
    value = leaf_output(
        gradient / ws.gradient_scale, ws.leaf_weight[index] + HESSIAN_EPSILON,
        leaf.end - leaf.begin, ws.nodes[leaf.node].stats.output, &ws.rules)
    value = value * ws.learning_rate
    ws.leaf_value[index] = value
    if round.score != NULL:
        for i in range(leaf.begin, leaf.end):
            round.score[words[i] & id_mask] += value


cdef void fill_leaves(Workspace* ws, const Round* round) noexcept nogil:
    cdef int leaf
    if ws.n_leaves == 1:
        ws.leaf_value[0] = 0.0
        ws.leaf_weight[0] = ws.leaves[0].stats.sums.hessian * ws.rules.hessian_unit
    elif ws.n_threads == 1 or round.n <= MIN_ROWS_A_TEAM:
        for leaf in range(ws.n_leaves):
            fill_leaf(ws, round, leaf)
    else:
        for leaf in prange(
            ws.n_leaves, num_threads=ws.n_threads, schedule="dynamic", chunksize=1,
        ):
            fill_leaf(ws, round, leaf)


cdef int grow_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Grow one tree; 0, NO_MEMORY or NOT_FINITE."""
    cdef int status = start_tree(shared, ws, round)
    while status == 0 and ws.n_heap > 0 and ws.n_leaves < shared.settings.max_leaves:
        status = split_leaf(shared, ws, heap_pop(ws))
    while ws.n_heap > 0:
        free_slot(ws, &ws.leaves[heap_pop(ws)])
    if status == 0:
        fill_leaves(ws, round)
    return status


# ------------------------------------------------------------------ the forest

NODE = np.dtype([
    ("feature", np.int32), ("bin", np.int32), ("left", np.int32), ("right", np.int32),
    ("gain", np.float64), ("value", np.float64), ("weight", np.float64),
    ("count", np.int64), ("missing_left", np.int64)])
LEAF = np.dtype([("value", np.float64), ("weight", np.float64), ("count", np.int64)])


cdef int reserve(void** memory, int64_t n, int64_t* capacity, size_t size) noexcept nogil:
    """Make room for ``n`` items, at least doubling what there is."""
    cdef void* larger
    cdef int64_t room = max(n, 2 * capacity[0])
    if n <= capacity[0]:
        return 0
    larger = realloc(memory[0], room * size)
    if larger == NULL:
        return NO_MEMORY
    memory[0] = larger
    capacity[0] = room
    return 0


cdef int store_tree(const Workspace* ws, Forest* forest) noexcept nogil:
    """Append the tree of a workspace to the forest."""
    cdef const Node* node
    cdef StoredNode* node_out
    cdef StoredLeaf* leaf_out
    cdef int i
    if (
        reserve(<void**>&forest.nodes, forest.n_nodes + ws.n_leaves, &forest.node_room,
                sizeof(StoredNode)) < 0
        or reserve(<void**>&forest.leaves, forest.n_leaves + ws.n_leaves,
                   &forest.leaf_room, sizeof(StoredLeaf)) < 0
        or reserve(<void**>&forest.leaf_start, forest.n_trees + 2, &forest.tree_room,
                   sizeof(int64_t)) < 0
    ):
        return NO_MEMORY
    node_out = forest.nodes + forest.n_nodes
    leaf_out = forest.leaves + forest.n_leaves
    for i in range(ws.n_leaves - 1):
        node = &ws.nodes[i]
        node_out[i].feature = node.feature
        node_out[i].bin = node.bin
        node_out[i].missing_left = node.missing_left
        node_out[i].left = node.left
        node_out[i].right = node.right
        node_out[i].gain = node.gain
        node_out[i].value = node.stats.output * ws.learning_rate
        node_out[i].weight = node.stats.sums.hessian * ws.rules.hessian_unit
        node_out[i].count = node.stats.sums.count
    for i in range(ws.n_leaves):
        leaf_out[i].value = ws.leaf_value[i]
        leaf_out[i].weight = ws.leaf_weight[i]
        leaf_out[i].count = ws.leaves[i].stats.sums.count
    forest.n_nodes += ws.n_leaves - 1
    forest.n_leaves += ws.n_leaves
    forest.n_trees += 1
    forest.leaf_start[0] = 0
    forest.leaf_start[forest.n_trees] = forest.n_leaves
    return 0


cdef raise_status(int status):
    if status == NO_MEMORY:
        raise MemoryError("could not allocate memory for growing trees")
    if status == NOT_FINITE:
        raise FloatingPointError("gradients or hessians are NaN or infinite")


# ------------------------------------------------------------------ memory

cdef void* allocate(size_t size) except NULL:
    cdef void* memory = calloc(size + 64, 1)
    if memory == NULL:
        raise MemoryError(f"could not allocate {size} bytes for growing trees")
    return memory


cdef class TreeGrower:
    """Grows the trees of a fit on one binned data set.

    Parameters
    ----------
    dataset : skgoss.dataset.Dataset
        Rows, columns and bins; at least one feature.
    settings : object
        Resolved options (`skgoss.parameters.Settings`).
    n_scores : int
        Trees a round.
    n_threads : int
        Size of the thread team.
    """

    cdef Shared shared
    cdef Forest forest
    cdef Workspace* workspaces
    cdef int n_workspaces
    cdef int n_threads
    cdef object dataset
    cdef object arrays        # keeps what `shared.data` points to

    def __cinit__(self, dataset, settings, int n_scores, int n_threads):
        cdef int i
        self.dataset = dataset
        self.n_threads = max(n_threads, 1)
        self.n_workspaces = min(self.n_threads, n_scores)
        self._read_dataset(dataset)
        self._read_settings(settings)
        self._allocate_threads()
        self.workspaces = <Workspace*>allocate(self.n_workspaces * sizeof(Workspace))
        for i in range(self.n_workspaces):
            self._allocate_workspace(&self.workspaces[i], i)

    cdef _read_dataset(self, dataset):
        cdef Binned* data = &self.shared.data
        rows = dataset.rows
        n_bins = np.ascontiguousarray(dataset.n_bins, dtype=np.int32)
        missing_bin = np.ascontiguousarray(dataset.missing_bin, dtype=np.int32)
        offset = np.zeros(len(n_bins) + 1, dtype=np.int64)
        np.cumsum(n_bins, out=offset[1:])
        bin_bytes = rows.dtype.itemsize
        # Strides that are no power of two keep the features apart in the cache.
        data.lane_stride = next(
            stride for stride in (24, 72, 264, 65536) if n_bins.max() <= stride)
        lane_offset = (
            np.arange(len(n_bins), dtype=np.int64) * data.lane_stride if bin_bytes == 1
            else offset)
        row_bytes = rows.view(np.uint8).reshape(rows.shape[0], -1)
        columns = dataset.columns.view(np.uint8).reshape(len(n_bins), -1)
        self.arrays = (row_bytes, columns, n_bins, missing_bin, offset, lane_offset)
        cdef const uint8_t[:, ::1] rows_view = row_bytes
        cdef const uint8_t[:, ::1] columns_view = columns
        cdef const int32_t[::1] n_bins_view = n_bins
        cdef const int32_t[::1] missing_view = missing_bin
        cdef const int64_t[::1] offset_view = offset
        cdef const int64_t[::1] lane_view = lane_offset
        data.rows = &rows_view[0, 0]
        data.columns = &columns_view[0, 0]
        data.row_bytes = rows_view.shape[1]
        data.n_rows = rows_view.shape[0]
        data.n_features = len(n_bins)
        data.bin_bytes = bin_bytes
        data.n_lanes = (
            (data.n_features + 7) // 8 * 8 * data.lane_stride if bin_bytes == 1
            else offset_view[data.n_features])
        data.n_bins = &n_bins_view[0]
        data.missing_bin = &missing_view[0]
        data.offset = &offset_view[0]
        data.lane_offset = &lane_view[0]
        self.shared.max_bins = n_bins.max()

    cdef _read_settings(self, settings):
        cdef Settings* out = &self.shared.settings
        cdef SplitRules* rules = &self.shared.rules
        rules.min_count = max(settings.min_child_samples, 1)
        # A leaf holds min_count rows at least, which bounds the leaves there can be.
        out.max_leaves = max(
            1, min(settings.num_leaves, self.shared.data.n_rows // rules.min_count))
        out.max_depth = settings.max_depth
        out.tree_fraction = settings.colsample_bytree
        out.node_fraction = settings.feature_fraction_bynode
        out.feature_seed = settings.feature_fraction_seed
        out.extra_seed = settings.extra_seed
        out.extra_trees = settings.extra_trees
        out.learning_rate = settings.learning_rate
        rules.l1 = settings.reg_alpha
        rules.l2 = settings.reg_lambda
        rules.max_delta_step = settings.max_delta_step or INFINITY
        rules.path_smooth = settings.path_smooth
        rules.min_hessian = settings.min_child_weight
        rules.min_gain = settings.min_split_gain

    cdef _allocate_threads(self):
        cdef Shared* shared = &self.shared
        cdef int n = self.n_threads
        cdef int i
        shared.lanes = <int64_t**>allocate(n * sizeof(int64_t*))
        shared.scratch = <double**>allocate(n * sizeof(double*))
        shared.partial = <Histogram*>allocate(n * sizeof(Histogram))
        shared.best = <Split*>allocate(2 * n * sizeof(Split))
        shared.all_features = <int32_t*>allocate(shared.data.n_features * sizeof(int32_t))
        for i in range(shared.data.n_features):
            shared.all_features[i] = i
        for i in range(n):
            shared.lanes[i] = <int64_t*>allocate(shared.data.n_lanes * sizeof(int64_t))
            shared.scratch[i] = <double*>allocate(4 * (shared.max_bins + SCRATCH_ROOM) * sizeof(double))
            if i > 0 and allocate_histogram(&shared.data, &shared.partial[i]) < 0:
                raise MemoryError("could not allocate histograms")

    cdef _allocate_workspace(self, Workspace* ws, int index):
        cdef Py_ssize_t n_rows = self.shared.data.n_rows
        cdef size_t max_leaves = self.shared.settings.max_leaves
        cdef size_t n_features = self.shared.data.n_features
        ws.first_thread = index
        ws.n_threads = 1
        ws.words[0] = <uint64_t*>allocate(n_rows * sizeof(uint64_t))
        ws.words[1] = <uint64_t*>allocate(n_rows * sizeof(uint64_t))
        ws.mask = <uint8_t*>allocate(n_rows // 8 + 8 * self.n_threads)
        ws.goes_left = <uint8_t*>allocate(self.shared.max_bins)
        ws.features = <int32_t*>allocate(n_features * sizeof(int32_t))
        ws.sample = <int32_t*>allocate(n_features * sizeof(int32_t))
        ws.searched[0] = <uint8_t*>allocate(n_features)
        ws.searched[1] = <uint8_t*>allocate(n_features)
        ws.cut[0] = <int32_t*>allocate(n_features * sizeof(int32_t))
        ws.cut[1] = <int32_t*>allocate(n_features * sizeof(int32_t))
        ws.slots = <Histogram*>allocate((max_leaves + 1) * sizeof(Histogram))
        ws.free_slots = <int*>allocate((max_leaves + 1) * sizeof(int))
        ws.leaves = <Leaf*>allocate(max_leaves * sizeof(Leaf))
        ws.nodes = <Node*>allocate(max_leaves * sizeof(Node))
        ws.heap = <int*>allocate(max_leaves * sizeof(int))
        ws.leaf_value = <double*>allocate(max_leaves * sizeof(double))
        ws.leaf_weight = <double*>allocate(max_leaves * sizeof(double))
        ws.learning_rate = self.shared.settings.learning_rate

    def __dealloc__(self):
        cdef Shared* shared = &self.shared
        cdef int i
        if self.workspaces != NULL:
            for i in range(self.n_workspaces):
                free_workspace(&self.workspaces[i])
            free(self.workspaces)
        for i in range(self.n_threads):
            if shared.lanes != NULL:
                free(shared.lanes[i])
            if shared.scratch != NULL:
                free(shared.scratch[i])
            if shared.partial != NULL:
                free(shared.partial[i].gradient)
        free(self.forest.nodes)
        free(self.forest.leaves)
        free(self.forest.leaf_start)
        free(shared.lanes)
        free(shared.scratch)
        free(shared.partial)
        free(shared.best)
        free(shared.all_features)

    def grow(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, double[:, ::1] scores,
        uint64_t round_index,
    ):
        """Grow one tree for each score and add them to the forest.

        Parameters
        ----------
        gradient : ndarray of float32, shape (n_scores, n_rows)
        hessian : ndarray of float32, shape (n_scores, n_rows), or None for ones
        weight : ndarray of float64, shape (1 or n_scores, n_rows), or None for ones
            Multiplies gradients and hessians.
        rows : ndarray of uint32 or None
            The sampled rows; None for all.
        scores : ndarray of float64, shape (n_scores, n_rows), or None
            The trees' values are added for the sampled rows, unless None.
        round_index : int
            Part of the keys of the random numbers.

        Returns
        -------
        bool
            Whether any of the trees has a split. If none has, and the forest has
            trees already, none is added.
        """
        cdef int n_scores = gradient.shape[0]
        cdef int first = 0
        cdef int64_t n_nodes = self.forest.n_nodes
        cdef int64_t n_leaves = self.forest.n_leaves
        cdef int64_t n_trees = self.forest.n_trees
        cdef int wave, i
        while first < n_scores:
            wave = self.n_workspaces if n_scores - first >= self.n_threads else 1
            raise_status(self._grow_wave(
                gradient, hessian, weight, rows, scores, round_index, first, wave))
            for i in range(wave):
                raise_status(store_tree(&self.workspaces[i], &self.forest))
            first += wave
        if self.forest.n_nodes == n_nodes and n_trees > 0:
            self.forest.n_trees = n_trees
            self.forest.n_leaves = n_leaves
        return self.forest.n_nodes > n_nodes

    cdef int _grow_wave(
        self, const float[:, ::1] gradient, const float[:, ::1] hessian,
        const double[:, ::1] weight, const uint32_t[::1] rows, double[:, ::1] scores,
        uint64_t round_index, int first, int wave,
    ) noexcept:
        """Trees ``first`` to ``first + wave``: one a thread, or one with all threads."""
        cdef Round* rounds = <Round*>calloc(wave, sizeof(Round))
        cdef Shared* shared = &self.shared
        cdef Workspace* workspaces = self.workspaces
        cdef int n_scores = gradient.shape[0]
        cdef int status = 0
        cdef int i, k
        if rounds == NULL:
            return -1
        for i in range(wave):
            k = first + i
            workspaces[i].n_threads = self.n_threads if wave == 1 else 1
            workspaces[i].tree_index = round_index * n_scores + k
            rounds[i].gradient = &gradient[k, 0]
            rounds[i].hessian = &hessian[k, 0] if hessian is not None else NULL
            if weight is not None:
                rounds[i].weight = &weight[k if weight.shape[0] > 1 else 0, 0]
            rounds[i].ids = &rows[0] if rows is not None else NULL
            rounds[i].n = rows.shape[0] if rows is not None else shared.data.n_rows
            rounds[i].score = &scores[k, 0] if scores is not None else NULL
        with nogil:
            if wave == 1:
                rounds[0].status = grow_tree(shared, &workspaces[0], &rounds[0])
            else:
                for i in prange(wave, num_threads=wave, schedule="static", chunksize=1):
                    rounds[i].status = grow_tree(shared, &workspaces[i], &rounds[i])
        for i in range(wave):
            status = min(status, rounds[i].status)
        free(rounds)
        return status

    def forest_arrays(self, int64_t first_tree=0):
        """Copies of the forest's arrays, from one tree on.

        Returns
        -------
        nodes : structured ndarray
            ``feature`` (index among the used ones), ``bin``, ``missing_left``, ``left``,
            ``right``, ``gain``, ``value``, ``weight``, ``count``.
        leaves : structured ndarray
            ``value``, ``weight``, ``count``.
        leaf_start : ndarray of int64
            Where the leaves of each tree begin, and the end of the last.
        """
        cdef Forest* forest = &self.forest
        cdef int64_t first_leaf = forest.leaf_start[first_tree]
        cdef int64_t first_node = first_leaf - first_tree
        nodes = np.empty(forest.n_nodes - first_node, dtype=NODE)
        leaves = np.empty(forest.n_leaves - first_leaf, dtype=LEAF)
        leaf_start = np.empty(forest.n_trees - first_tree + 1, dtype=np.int64)
        cdef char[::1] node_bytes = nodes.view(np.byte)
        cdef char[::1] leaf_bytes = leaves.view(np.byte)
        cdef int64_t[::1] starts = leaf_start
        cdef Py_ssize_t i
        if len(nodes):
            memcpy(&node_bytes[0], forest.nodes + first_node, node_bytes.shape[0])
        memcpy(&leaf_bytes[0], forest.leaves + first_leaf, leaf_bytes.shape[0])
        for i in range(starts.shape[0]):
            starts[i] = forest.leaf_start[first_tree + i] - first_leaf
        return nodes, leaves, leaf_start

    def set_leaf_values(self, const double[::1] value):
        """Replace the leaf values of the last tree."""
        cdef Forest* forest = &self.forest
        cdef int64_t first = forest.leaf_start[forest.n_trees - 1]
        cdef Py_ssize_t i
        for i in range(value.shape[0]):
            forest.leaves[first + i].value = value[i]

    @property
    def n_trees(self):
        """Number of trees in the forest."""
        return self.forest.n_trees

    def leaf_rows(self, int leaf):
        """Row numbers, ascending, of a leaf of the last tree (one score only)."""
        cdef const Workspace* ws = &self.workspaces[0]
        cdef const Leaf* at = &ws.leaves[leaf]
        cdef Py_ssize_t n = at.end - at.begin
        cdef Py_ssize_t i
        rows = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] rows_out = rows
        for i in range(n):
            rows_out[i] = ws.words[at.buffer][at.begin + i] & ws.code.id_mask
        return rows


cdef void free_workspace(Workspace* ws) noexcept:
    cdef int i
    for i in range(ws.n_slots):
        free(ws.slots[i].gradient)
    free(ws.words[0])
    free(ws.words[1])
    free(ws.mask)
    free(ws.goes_left)
    free(ws.pairs)
    free(ws.features)
    free(ws.sample)
    free(ws.searched[0])
    free(ws.searched[1])
    free(ws.cut[0])
    free(ws.cut[1])
    free(ws.slots)
    free(ws.free_slots)
    free(ws.leaves)
    free(ws.nodes)
    free(ws.heap)
    free(ws.leaf_value)
    free(ws.leaf_weight)
