"""New leaves: the roots of a round's trees, and the two children of a leaf.

Histogram subtraction: sum the rows of the smaller sibling, subtract its histogram from the
parent's to get the larger one's, and find the best splits of both. Small leaves have no histogram.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from skgoss._engine.atomics cimport fetch_add
from skgoss._engine.training.constraint_kernels cimport start_constraints
from skgoss._engine.training.encoding cimport RootRows, encode_rounds, gather_stats, is_precise
from skgoss._engine.training.histogram cimport (
    add_row_by_row, needs_sum, start_tiles, subtract_bins, sum_batch, sum_rows)
from skgoss._engine.training.kernel_collectives cimport (
    choose_columns, exchange_splits, reduce_histograms)
from skgoss._engine.training.layout cimport Encoding, Histogram
from skgoss._engine.training.partition cimport gather
from skgoss._engine.training.search cimport (
    search_batch, search_siblings, search_small_leaf, single_leaf, sum_and_search)
from skgoss._engine.training.split cimport SplitRules, node_stats
from skgoss._engine.training.tasks cimport Batch, Siblings
from skgoss._engine.training.workspace cimport (
    NO_MEMORY, Leaf, Round, Shared, Workspace, encoding_of, free_slot, take_slot)

cdef enum:
    # A leaf is small if it has more bins per update than this, and gets no histogram: the first
    # limit if rows are summed in tiles, the second if they are added to an empty histogram.
    BINS_PER_TILED_UPDATE = 2
    BINS_PER_UPDATE = 8


cdef bint may_split(const Shared* shared, const Workspace* ws, const Leaf* leaf) noexcept nogil:
    """Whether a leaf may be split, by the limits of leaves, depth, rows and hessians.

    Both children need ``min_count`` rows and ``min_hessian``, so the leaf needs twice as many.
    """
    cdef double hessian = leaf.stats.sums.hessian * ws.rules.hessian_unit
    # A speculative split, which makes two leaves of one, is not counted by ws.n_leaves yet.
    cdef int n_leaves = ws.n_leaves + (1 if ws.is_speculative else 0)
    return (
        n_leaves < shared.settings.max_leaves
        and (shared.settings.max_depth <= 0 or leaf.depth < shared.settings.max_depth)
        and leaf.stats.sums.count >= 2 * ws.rules.min_count
        and hessian >= 2 * ws.rules.min_hessian
    )


cdef int take_mask(Workspace* ws, Leaf* leaf) noexcept nogil:
    """Copy the parent's mask for a leaf, of ones for the root; returns 0 or NO_MEMORY.

    A mask has a byte for each feature: 1 if it is still searched, as it had a gain in the node
    above. ``leaf.mask`` is the number of the parent's mask, and then of the copy.
    """
    cdef size_t n = ws.data.n_features
    cdef int mask = <int>fetch_add(&ws.pool.n_masks, 1)
    if ws.splittable[mask] == NULL:
        ws.splittable[mask] = <uint8_t*>malloc(n)
        if ws.splittable[mask] == NULL:
            return NO_MEMORY
    if mask == 0:
        memset(ws.splittable[mask], 1, n)
    else:
        memcpy(ws.splittable[mask], ws.splittable[leaf.mask], n)
    leaf.mask = mask
    return 0


# ------------------------------------------------------------------ roots

cdef int reduce_root(Shared* shared, RootRows* root) noexcept nogil:
    """All-reduce the histogram and the sums of a root; 0 or an error.

    A root is the first leaf of a tree, with all of its rows. Its sums decide whether packed
    integers are precise enough (``roots``), so they are reduced together with the histogram.
    """
    cdef Workspace* ws = root.ws
    cdef Leaf* leaf = ws.leaves
    cdef int64_t[6] totals
    cdef int status
    totals[0], totals[1], totals[2] = root.sums.gradient, root.sums.hessian, root.sums.count
    totals[3], totals[4], totals[5] = root.roots.gradient, root.roots.hessian, root.roots.n
    status = reduce_histograms(shared, ws, &leaf, 1, totals, 6)
    root.sums.gradient, root.sums.hessian, root.sums.count = totals[0], totals[1], totals[2]
    root.roots.gradient, root.roots.hessian, root.roots.n = totals[3], totals[4], totals[5]
    return status


cdef int sum_root(Shared* shared, Batch* batch, RootRows* root) noexcept nogil:
    """Sum the rows of a root of all processes in its histogram; 0 or an error.

    Only for several processes: the number of rows of all of them decides how its sums are written.
    """
    cdef int status
    root.ws.leaves.stats.sums.count = root.gradients.n_global
    batch.siblings[0] = single_leaf(root.ws, root.ws.leaves, False)
    batch.n_siblings = 1
    status = sum_batch(shared, batch)
    return reduce_root(shared, root) if status == 0 else status


cdef int encode_roots(
    Shared* shared, Batch* batch, RootRows* roots, int n_roots,
) noexcept nogil:
    """Encode the round and sum all rows: packed if that is precise enough, or wide.

    Whether packed integers are large enough is known only after they are summed over all processes,
    so wide ones are a second attempt. Returns 0 or an error.
    """
    cdef bint are_precise = False
    cdef int status = 0
    cdef bint wide
    cdef int k
    for wide in range(2):
        if are_precise:
            break
        status = encode_rounds(roots, n_roots, wide)
        if status == 0 and shared.collectives != NULL:
            status = sum_root(shared, batch, roots)
        if status < 0:
            break
        are_precise = True
        for k in range(n_roots):
            roots[k].is_precise = roots[k].is_precise or is_precise(
                &roots[k].gradients, &roots[k].roots)
            are_precise = are_precise and roots[k].is_precise
    return status


cdef int start_root(Shared* shared, RootRows* root) noexcept nogil:
    """Reserve a mask and a histogram for a root; 0 or NO_MEMORY.

    A mask says which features are searched; a slot is the memory of a histogram. It also cuts the
    lanes of rows into tiles, and divides the columns among processes.
    """
    cdef Workspace* ws = root.ws
    ws.n_tiles = 0
    if shared.collectives == NULL and start_tiles(shared, ws) < 0:
        return NO_MEMORY
    choose_columns(shared, ws)
    ws.leaves.slot = take_slot(&ws.data, ws)
    return NO_MEMORY if ws.leaves.slot < 0 or take_mask(ws, ws.leaves) < 0 else 0


cdef void list_root(Shared* shared, Batch* batch, const RootRows* root) noexcept nogil:
    """List a root with the batch if it may be split.

    ``batch.siblings`` are leaves to be searched, here each a root alone. Otherwise, its histogram
    is released.
    """
    cdef Workspace* ws = root.ws
    cdef SplitRules unsmoothed = ws.rules  # the root has no parent to be smoothed toward
    unsmoothed.path_smooth = 0
    ws.leaves.stats = node_stats(root.sums, 0.0, -INFINITY, INFINITY, &unsmoothed)
    start_constraints(ws)
    if may_split(shared, ws, ws.leaves):
        batch.siblings[batch.n_siblings] = single_leaf(ws, ws.leaves, shared.collectives != NULL)
        batch.n_siblings += 1
    else:
        free_slot(ws, ws.leaves)


cdef int search_listed_roots(Shared* shared, Batch* batch, Workspace* ws) noexcept nogil:
    """Find the best splits of the listed roots; 0 or an error.

    Among processes there is one root, and it is summed already.
    """
    cdef int status
    if batch.n_siblings == 0:
        return 0
    if shared.collectives == NULL:
        return sum_and_search(shared, batch)
    status = search_batch(shared, batch)
    if status == 0 and ws.shares_columns:
        status = exchange_splits(shared, ws, batch.siblings, 1)
    return status


cdef int search_root_rows(
    Shared* shared, Batch* batch, RootRows* roots, int n_roots,
) noexcept nogil:
    """Encode, sum and search roots; 0 or an error.

    ``roots``, (n_roots,): the first leaf of each tree of the round. The order matters: the
    statistics of all gradients are needed for the number format, and the format for the histograms.
    """
    cdef int status = gather_stats(shared, roots, n_roots)
    cdef int k
    for k in range(n_roots):
        if status == 0:
            status = start_root(shared, &roots[k])
    if status == 0:
        status = encode_roots(shared, batch, roots, n_roots)
    if status < 0:
        return status
    batch.n_siblings = 0
    for k in range(n_roots):
        list_root(shared, batch, &roots[k])
    return search_listed_roots(shared, batch, roots.ws)


cdef int search_roots(
    Shared* shared, Batch* batch, Workspace* trees, const Round* rounds, int n_trees,
) noexcept nogil:
    """Sum all rows for each tree, and find the best splits of the roots; 0 or an error.

    ``trees``, ``rounds``, (n_trees,): the memory, and the gradients and rows of each tree.
    """
    cdef RootRows* roots = <RootRows*>calloc(n_trees, sizeof(RootRows))
    cdef int status, k
    if roots == NULL:
        return NO_MEMORY
    for k in range(n_trees):
        roots[k].ws = &trees[k]
        roots[k].gradients = rounds[k].gradients
        roots[k].records = trees[k].records[trees[k].leaves.buffer]
    status = search_root_rows(shared, batch, roots, n_trees)
    free(roots)
    return status


# ------------------------------------------------------------------ children

cdef bint is_small(const Workspace* ws, const Leaf* leaf, int bins_per_update) noexcept nogil:
    """Whether a leaf has so few rows that a histogram would cost more than summing them again.

    ``bins_per_update``: clearing and searching this number of bins takes as long as adding a row to
    one.
    """
    return leaf.stats.sums.count * ws.data.row_updates * bins_per_update < ws.data.n_hist_bins


cdef void subtract_rows(Workspace* ws, const Siblings* siblings) noexcept nogil:
    """Subtract the rows of a smaller sibling without histogram from the parent's, row by row.

    The histogram is in the slot of the larger sibling, and becomes its own. It is written as the
    larger one needs it first: packed if that has few rows.
    """
    cdef const Leaf* smaller = siblings.smaller
    cdef const Encoding* encoding = encoding_of(ws, siblings.larger)
    cdef Histogram* histogram = &ws.slots[siblings.larger.slot]
    subtract_bins(
        encoding_of(ws, smaller), siblings.parent_encoding, encoding, 0, ws.data.n_hist_bins, NULL,
        histogram)
    add_row_by_row(
        &ws.data, encoding, ws.records[smaller.buffer] + smaller.begin,
        smaller.end - smaller.begin, ws.pairs, -1, histogram, NULL, NULL, NULL)


cdef int start_siblings(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
    Siblings* siblings_out,
) noexcept nogil:
    """Decide which of two siblings are searched, and give the parent's histogram to the larger.

    ``parent``: a copy of the divided leaf, whose mask of features the left child keeps. Returns 0
    or NO_MEMORY.
    """
    cdef bint swapped = right.stats.sums.count < left.stats.sums.count
    memset(siblings_out, 0, sizeof(Siblings))
    siblings_out.ws = ws
    siblings_out.smaller = right if swapped else left
    siblings_out.larger = left if swapped else right
    siblings_out.parent_encoding = encoding_of(ws, parent)
    siblings_out.search_smaller = may_split(shared, ws, siblings_out.smaller)
    siblings_out.search_larger = may_split(shared, ws, siblings_out.larger)
    siblings_out.larger.slot = parent.slot
    # The left child keeps the parent's mask.
    if may_split(shared, ws, right) and take_mask(ws, right) < 0:
        return NO_MEMORY
    if not siblings_out.search_larger:
        free_slot(ws, siblings_out.larger)
    return 0


cdef int take_smaller_slot(Workspace* ws, Siblings* siblings) noexcept nogil:
    """Give the smaller sibling a slot, and drop the larger one if it is not searched.

    Returns 0 or NO_MEMORY.
    """
    siblings.smaller.slot = take_slot(&ws.data, ws)
    if not siblings.search_larger:
        siblings.larger = NULL
    return 0 if siblings.smaller.slot >= 0 else NO_MEMORY


cdef int list_small_leaf(
    Shared* shared, Workspace* ws, Leaf* leaf, Siblings* out, int n,
) noexcept nogil:
    """Search a small leaf, or list it as the n-th siblings; returns how many are listed then.

    With tiles, it is listed, so that several threads can search it.
    """
    if ws.n_tiles == 0:
        search_small_leaf(shared, ws, leaf)
        return n
    gather(ws, leaf, 1)
    out[n] = single_leaf(ws, leaf, False)
    out[n].first_side = n
    return n + 1


cdef int list_small_siblings(Shared* shared, Siblings* siblings) noexcept nogil:
    """Search or list two small siblings; returns how many are listed.

    ``siblings``: both, and then those that are listed, each alone. A small leaf has no histogram.
    """
    cdef Siblings pair = siblings[0]
    cdef int n = 0
    if pair.search_larger:
        n = list_small_leaf(shared, pair.ws, pair.larger, siblings, n)
    if pair.search_smaller:
        n = list_small_leaf(shared, pair.ws, pair.smaller, siblings, n)
    return n


cdef int list_larger(Shared* shared, Siblings* siblings) noexcept nogil:
    """Search or list siblings of which only the smaller is small; returns how many are listed.

    With tiles, both are listed as they are. Otherwise, the rows of the smaller one are subtracted
    from the parent's histogram at once, the larger one is listed, and the smaller one is searched
    here.
    """
    cdef Siblings pair = siblings[0]
    if not pair.search_larger:
        return list_small_leaf(shared, pair.ws, pair.smaller, siblings, 0)
    if pair.ws.n_tiles > 0:
        return 1
    subtract_rows(pair.ws, &pair)
    siblings[0] = single_leaf(pair.ws, pair.larger, True)
    if pair.search_smaller:
        search_small_leaf(shared, pair.ws, pair.smaller)
    return 1


cdef int list_children(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right, Siblings* out,
) noexcept nogil:
    """List what remains to be searched of two new leaves: 0, 1 or 2 siblings; or NO_MEMORY.

    Small leaves and their children get no histogram. Among processes, every leaf has one.
    """
    cdef bint tiled = ws.n_tiles > 0
    cdef int bins_per_update = BINS_PER_TILED_UPDATE if tiled else BINS_PER_UPDATE
    if start_siblings(shared, ws, parent, left, right, out) < 0:
        return NO_MEMORY
    if shared.collectives == NULL and tiled and is_small(ws, out.larger, bins_per_update):
        free_slot(ws, out.larger)
    if not (out.search_smaller or out.search_larger):
        return 0
    if shared.collectives == NULL:
        if out.larger.slot < 0 and (parent.slot < 0 or out.search_larger):
            return list_small_siblings(shared, out)
        if is_small(ws, out.smaller, bins_per_update if out.search_smaller else 1):
            return list_larger(shared, out)
    return NO_MEMORY if take_smaller_slot(ws, out) < 0 else 1


cdef int search_children(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
) noexcept nogil:
    """Find the best splits of two new leaves, by one thread; 0 or NO_MEMORY.

    ``parent``: a copy of the leaf that was divided; its histogram, if it has one, is that of the
    larger child after the subtraction.
    """
    cdef Siblings siblings[2]
    cdef int n = list_children(shared, ws, parent, left, right, siblings)
    cdef int i
    for i in range(n):
        if needs_sum(&siblings[i]):
            sum_rows(shared, &siblings[i])
        search_siblings(shared, &siblings[i])
    return min(n, 0)


# ------------------------------------------------------------------ several leaves

cdef int reduce_batch(Shared* shared, Workspace* ws, Batch* batch) noexcept nogil:
    """All-reduce the histograms of the smaller siblings of a batch; 0 or an error.

    The larger siblings get theirs by subtraction.
    """
    cdef Leaf** smaller = <Leaf**>malloc(batch.n_siblings * sizeof(Leaf*))
    cdef int status, i
    if smaller == NULL:
        return NO_MEMORY
    for i in range(batch.n_siblings):
        smaller[i] = batch.siblings[i].smaller
    status = reduce_histograms(shared, ws, smaller, batch.n_siblings, NULL, 0)
    free(smaller)
    return status
