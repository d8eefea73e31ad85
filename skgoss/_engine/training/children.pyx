"""New leaves: the root, and the two children of a leaf.

Sum the rows of the smaller child, subtract them from the parent's for the larger, and find the
best splits of both. Leaves of few rows need no histogram.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from skgoss._engine.training.candidates cimport share_splits
from skgoss._engine.training.constraints cimport start_constraints
from skgoss._engine.training.histogram cimport (
    GradientStats, Roots, encode_round, is_fine, move_rows, read_round, sum_words, take_places)
from skgoss._engine.training.layout cimport Slopes, Sums
from skgoss._engine.training.collectives cimport choose_columns, reduce_histograms
from skgoss._engine.training.search cimport Look, search_built, search_few, search_look
from skgoss._engine.training.split cimport SplitRules, node_stats
from skgoss._engine.training.sums cimport add_parts, sum_rows
from skgoss._engine.training.tiles cimport start_tiles
from skgoss._engine.training.workspace cimport (
    NO_MEMORY, Leaf, Round, Shared, Workspace, encoding_of, free_slot, take_slot)

cdef extern from "team.h" nogil:
    int64_t take_next(int64_t* next)


cdef enum:
    # A leaf gets a histogram unless it has so many more places than updates: where rows are
    # summed in tiles, and where they are put into an empty histogram one by one.
    PLACES_A_TILED = 2
    PLACES_AN_UPDATE = 8


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


cdef void merge_parts(Shared* shared, Workspace* ws, Look* look) noexcept nogil:
    """Add up what the threads have summed."""
    add_parts(
        shared, ws, look.built, look.n_parts, 0, ws.data.n_places,
        &ws.slots[look.built.slot])
    look.n_parts = 1

# ------------------------------------------------------------------ the root

cdef int share_root(
    Shared* shared, Workspace* ws, Look* look, Sums* sums, Roots* roots,
) noexcept nogil:
    """Add up what the processes know of all rows."""
    cdef int64_t[6] totals
    cdef int status
    if shared.collectives == NULL:
        return 0
    merge_parts(shared, ws, look)
    totals[0], totals[1], totals[2] = sums.gradient, sums.hessian, sums.count
    totals[3], totals[4], totals[5] = roots.gradient, roots.hessian, roots.n
    status = reduce_histograms(shared, ws, &look.built, 1, totals, 6)
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
        if shared.collectives == NULL and not wide and not is_fine(&slopes, &roots):
            continue
        look.n_parts = sum_rows(shared, ws, look.built)
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
    if shared.collectives == NULL and start_tiles(shared, ws) < 0:
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
    search_look(shared, ws, &look)
    return share_splits(shared, ws, &look, 1) if ws.shares_columns else 0

# ------------------------------------------------------------------ children

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
        search_look(shared, ws, look)
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
    look.n_parts = sum_rows(shared, ws, look.built)
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
        search_look(shared, ws, &look)
    return 0

# ------------------------------------------------------------------ processes

cdef int build_look(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
    Look* look_out,
) noexcept nogil:
    """Sum this process's rows of two new leaves into one histogram, if either is searched.

    Among processes every leaf has a histogram.
    """
    if start_look(shared, ws, parent, left, right, look_out) < 0:
        return NO_MEMORY
    if not (look_out.search_built or look_out.search_other):
        return 0
    if build_both(shared, ws, look_out) < 0:
        return NO_MEMORY
    merge_parts(shared, ws, look_out)
    return 0


cdef int finish_looks(Shared* shared, Workspace* ws, Look* looks, int n) noexcept nogil:
    """Find the best splits of leaves whose rows each process has summed."""
    cdef Leaf** built = <Leaf**>malloc(n * sizeof(Leaf*))
    cdef int n_built = 0
    cdef int status, i
    if built == NULL:
        return NO_MEMORY
    for i in range(n):
        built[n_built] = looks[i].built
        n_built += looks[i].n_parts > 0
    status = reduce_histograms(shared, ws, built, n_built, NULL, 0)
    free(built)
    for i in range(n):
        if status == 0 and looks[i].n_parts > 0:
            search_look(shared, ws, &looks[i])
    if status == 0 and ws.shares_columns:
        status = share_splits(shared, ws, looks, n)
    return status
