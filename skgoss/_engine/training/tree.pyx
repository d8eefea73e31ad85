"""Growing one tree leaf-wise, in one nogil routine.

Search the root; then split the best leaf, partition its rows and search its children, again
and again; at the end, the leaves' values.

Leaves are also divided ahead of their turn: with the best leaf those that will probably be
split. Then leaves are split in the same order as ever, and what has been divided in vain is
dropped. Processes do so because a collective operation takes time, and threads where leaves
are so small that each thread had better have its own.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from skgoss._engine.atomics cimport fetch_increment, spin_lock, spin_unlock
from skgoss._engine.binning.store cimport BinColumn
from skgoss._engine.random cimport TREE_FEATURES, key
from skgoss._engine.signals cimport is_stopped
from skgoss._engine.training.children cimport (
    finish_siblings, search_children, search_root, sum_siblings)
from skgoss._engine.training.constraint_kernels cimport (
    bound_children, bound_leaves, next_stale, order_children)
from skgoss._engine.training.encoding cimport GradientStats, read_round, set_fine_scales
from skgoss._engine.training.feature_subset cimport subset_rows
from skgoss._engine.training.layout cimport Binned, Gradients, Sums
from skgoss._engine.training.leaf_values cimport fill_leaves, fill_nodes
from skgoss._engine.training.partition cimport index_root, return_rows, rows_to_children
from skgoss._engine.training.sampling_kernels cimport sample_features
from skgoss._engine.training.search cimport Siblings, choose_summed, search_again
from skgoss._engine.training.split cimport SplitRules, node_stats
from skgoss._engine.training.split_sides cimport choose_left, recall_left, write_set
from skgoss._engine.training.workspace cimport (
    INTERMEDIATE, INTERRUPTED, MIN_ROWS_FOR_TEAM, MIN_WORK_FOR_TEAM, NO_MEMORY, NO_PRIORITY,
    ROOT_BUFFER, Leaf, Node, Pool, Round, Scratch, Shared, Workspace, free_slot, heap_pop,
    heap_push, heap_remove)

cdef enum:
    # The updates and visits of bins that make a leaf large, so that threads share its rows;
    # and those that a thread gets at a time.
    MAX_WORK_ALONE = 600000
    WORK_PER_THREAD = 400000
    # At least so much is the split of a leaf that has many bins, but so few rows that only
    # their bins are visited.
    WORK_OF_FEW_ROWS = 20000


cdef int start_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Sample the tree's features, encode the round, search the root."""
    cdef Leaf* root = &ws.leaves[0]
    cdef int buffer = ROOT_BUFFER if shared.has_sparse else 0
    cdef int status
    ws.rules = shared.rules
    ws.rules.l2 += ws.more_l2
    memset(root, 0, sizeof(Leaf))
    root.buffer = buffer
    if shared.has_sparse:
        index_root(shared, ws, round)
    root.end = round.gradients.n
    root.node = -1
    root.l2 = ws.rules.l2
    root.forced = 0 if shared.constraints.n_forced > 0 else -1
    ws.n_rows = round.gradients.n
    ws.n_leaves = 1
    ws.n_heap = 0
    ws.pool.n_masks = 0
    ws.pool.n_set_words = 0
    ws.divides_ahead = False
    ws.n_features = sample_features(
        shared.all_features, shared.data.n_features, shared.settings.tree_fraction,
        key(shared.settings.feature_seed, TREE_FEATURES, ws.tree_index), ws.features)
    ws.data = shared.data
    choose_summed(shared, ws)
    if shared.subset_source.max_features > 0:
        ws.data = subset_rows(
            &shared.data, &shared.subset_source, ws.summed, ws.n_summed, &round.gradients,
            ws.n_threads, &ws.subset)
    status = search_root(shared, ws, round)
    if status == 0:
        enqueue(ws, 0)
    return status


cdef void enqueue(Workspace* ws, int index) noexcept nogil:
    """Let a leaf wait to be split if it has a split."""
    if ws.leaves[index].best.gain > 0:
        heap_push(ws, index)


cdef void fill_node(const Leaf* leaf, Node* node) noexcept nogil:
    """The inner node that takes the place of a leaf."""
    node.parent = leaf.node
    node.is_left = leaf.is_left
    node.feature = leaf.best.feature
    node.bin = leaf.best.bin
    node.missing_left = leaf.best.missing_left
    node.gain = leaf.best.gain
    node.stats = leaf.stats
    node.first_word = node.last_word = 0


cdef void link_node(Workspace* ws, int leaf_index) noexcept nogil:
    """Put the newest node in the place of a leaf."""
    cdef int index = ws.n_leaves - 1
    cdef Node* node = &ws.nodes[index]
    if node.parent >= 0:
        if node.is_left:
            ws.nodes[node.parent].left = index
        else:
            ws.nodes[node.parent].right = index
    node.left = ~leaf_index
    node.right = ~ws.n_leaves


cdef int add_words(Pool* pool, int n_bins, const uint8_t* goes_left, Node* node) noexcept nogil:
    """Add a set of bins, as bits of 32-bit words, to those of the tree; 0 or NO_MEMORY."""
    cdef Py_ssize_t room
    cdef void* larger
    node.first_word = pool.n_set_words
    node.last_word = pool.n_set_words = node.first_word + (n_bins + 31) // 32
    if node.last_word > pool.set_room:
        room = 2 * node.last_word
        larger = realloc(pool.set_words, room * sizeof(uint32_t))
        if larger == NULL:
            return NO_MEMORY
        pool.set_words = <uint32_t*>larger
        pool.set_room = room
    memset(
        pool.set_words + node.first_word, 0,
        (node.last_word - node.first_word) * sizeof(uint32_t))
    write_set(goes_left, n_bins, pool.set_words + node.first_word)
    return 0


cdef int add_set(const Binned* data, Workspace* ws, Node* node) noexcept nogil:
    """Keep the bins that go left with a node, which is categorical."""
    cdef int status
    spin_lock(&ws.pool.lock)
    status = add_words(ws.pool, data.n_bins[node.feature], ws.scratch.goes_left, node)
    spin_unlock(&ws.pool.lock)
    return status


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
    child_out.identity = 2 * parent.identity + 2 - is_left
    child_out.slot = -1
    child_out.mask = parent.mask
    child_out.is_divided = False
    child_out.l2 = l2
    child_out.stats = node_stats(sums, parent.stats.output, lower, upper, &rules)
    rules.l2 = l2
    child_out.stats.output = node_stats(
        sums, parent.stats.output, lower, upper, &rules).output
    child_out.best.gain = 0
    child_out.forced = -1


cdef int divide(
    Shared* shared, Workspace* ws, int index, Leaf* parent, int node, Leaf* left, Leaf* right,
) noexcept nogil:
    """Divide a leaf by its best split: its node, and its children with their rows.

    ``parent``: a copy of the leaf.
    """
    cdef const BinColumn* column = &shared.columns[parent.best.feature]
    cdef Sums left_sums, right_sums
    cdef double l2
    if ws.shares_columns:
        l2 = recall_left(ws, parent, &left_sums)
    else:
        l2 = choose_left(shared, ws, parent, &left_sums)
    right_sums.gradient = parent.stats.sums.gradient - left_sums.gradient
    right_sums.hessian = parent.stats.sums.hessian - left_sums.hessian
    right_sums.count = parent.stats.sums.count - left_sums.count
    fill_node(parent, &ws.nodes[node])
    if (shared.data.categorical[parent.best.feature]
            and add_set(&shared.data, ws, &ws.nodes[node]) < 0):
        return NO_MEMORY
    bound_children(shared, ws, index, parent, left, right)
    make_child(ws, parent, node, True, left_sums, l2, left)
    make_child(ws, parent, node, False, right_sums, l2, right)
    if parent.priority != NO_PRIORITY:
        left.forced = shared.constraints.forced[parent.priority].left
        right.forced = shared.constraints.forced[parent.priority].right
    rows_to_children(shared, ws, parent, column, left, right)
    return 0


cdef int split_leaf(Shared* shared, Workspace* ws, int index) noexcept nogil:
    """Split a leaf and search its children."""
    cdef Leaf parent = ws.leaves[index]
    cdef Leaf* left = &ws.leaves[index]
    cdef Leaf* right = &ws.leaves[ws.n_leaves]
    cdef Siblings siblings
    cdef int status = divide(shared, ws, index, &parent, ws.n_leaves - 1, left, right)
    if status < 0:
        return status
    link_node(ws, index)
    ws.n_leaves += 1
    order_children(shared, ws, index, &parent, left, right)
    if shared.collectives == NULL:
        status = search_children(shared, ws, &parent, left, right)
    else:
        status = sum_siblings(shared, ws, &parent, left, right, &siblings)
        if status == 0:
            status = finish_siblings(shared, ws, &siblings, 1)
    enqueue(ws, index)
    enqueue(ws, ws.n_leaves - 1)
    return status


# ------------------------------------------------------------------ ahead of their turn

cdef int divide_ahead(
    Shared* shared, Workspace* ws, int index, Siblings* siblings_out,
) noexcept nogil:
    """Divide a leaf that may be split later.

    Among processes, sum the rows of its children; ``siblings_out``: NULL: search these.
    """
    cdef Leaf parent = ws.leaves[index]
    cdef Leaf* left = &ws.children[2 * index]
    cdef Leaf* right = &ws.children[2 * index + 1]
    cdef int node = shared.settings.max_leaves + index
    cdef int status = divide(shared, ws, index, &parent, node, left, right)
    if status < 0:
        return status
    order_children(shared, ws, index, &parent, left, right)
    if siblings_out != NULL:
        status = sum_siblings(shared, ws, &parent, left, right, siblings_out)
    else:
        status = search_children(shared, ws, &parent, left, right)
    # The histogram is a child's now, and rows may have been brought together.
    parent.slot = -1
    parent.is_divided = True
    ws.leaves[index] = parent
    return status


cdef double work_of(const Workspace* ws, int index) noexcept nogil:
    """Updates and visits of bins that a split of a leaf takes at most."""
    cdef const Leaf* leaf = &ws.leaves[index]
    cdef double updates = leaf.stats.sums.count * ws.data.row_updates
    cdef double visits = 2.0 * ws.data.n_places
    if leaf.slot < 0:
        visits = min(visits, max(2.0 * updates, <double>WORK_OF_FEW_ROWS))
    return updates + visits


cdef bint is_small(const Workspace* ws, int index) noexcept nogil:
    """Whether a leaf is divided by one thread, while others divide other leaves.

    Where sparse columns tell which rows leave, leaves share the root's records.
    """
    cdef const Leaf* leaf = &ws.leaves[index]
    return (
        leaf.stats.sums.count <= MIN_ROWS_FOR_TEAM
        and leaf.stats.sums.count * ws.data.row_updates <= MAX_WORK_ALONE
        and leaf.buffer != ROOT_BUFFER
    )


cdef void put_by_rows(Workspace* ws, int leaf, int n) noexcept nogil:
    """Put a leaf into the batch of ``n`` leaves, behind those with as many rows or more."""
    cdef int64_t count = ws.leaves[leaf].stats.sums.count
    while n > 0 and ws.leaves[ws.batch[n - 1]].stats.sums.count < count:
        ws.batch[n] = ws.batch[n - 1]
        n -= 1
    ws.batch[n] = leaf


cdef int choose_ahead(Shared* shared, Workspace* ws, int first) noexcept nogil:
    """The leaves to divide with the ``first`` one: those whose turn will probably come.

    At most as many leaves as are still split have their turn. Of the best ones, half as many
    nearly all have: more of them would save little, and be divided in vain more often. Threads
    take only small leaves, as many as keep them busy, but only a quarter of the above once
    there is one for each thread. They are put into ``ws.batch``, the largest first; returns
    how many.
    """
    cdef bint alone = shared.collectives == NULL
    cdef double most = WORK_PER_THREAD * <double>ws.n_threads
    cdef double work = work_of(ws, first)
    cdef int* waiting = ws.batch + shared.settings.max_leaves
    cdef int n_left = shared.settings.max_leaves - ws.n_leaves
    cdef int n_most = min(ws.n_heap, n_left // 2)
    cdef int n_waiting = 0
    cdef int n = 1
    cdef int i
    ws.batch[0] = first
    if alone and not is_small(ws, first):
        return 1
    while n_waiting < n_most and not (alone and work > most):
        i = waiting[n_waiting] = heap_pop(ws)
        n_waiting += 1
        if not (ws.leaves[i].is_divided or (alone and not is_small(ws, i))):
            put_by_rows(ws, i, n)
            n += 1
            work += work_of(ws, i)
        if alone and n >= ws.n_threads:
            n_most = min(n_most, n_left // 8)
    for i in range(n_waiting):
        heap_push(ws, waiting[i])
    return n if not alone or work > MIN_WORK_FOR_TEAM else 1


cdef int divide_distributed(Shared* shared, Workspace* ws, int n) noexcept nogil:
    """Divide the leaves of the batch with one collective operation for all.

    Trees of processes would else wait for each other at every split.
    """
    cdef Siblings* siblings = <Siblings*>malloc(n * sizeof(Siblings))
    cdef int status = 0
    cdef int i
    if siblings == NULL:
        return NO_MEMORY
    for i in range(n):
        if status == 0:
            status = divide_ahead(shared, ws, ws.batch[i], &siblings[i])
    if status == 0:
        status = finish_siblings(shared, ws, siblings, n)
    free(siblings)
    return status


cdef void prepare_helpers(Workspace* ws, int n_threads) noexcept nogil:
    """Set the workspaces of the threads to the tree of ``ws`` as it is now."""
    cdef Workspace* out
    cdef Scratch scratch
    cdef int part
    for part in range(n_threads):
        out = &ws.helpers[part]
        scratch = out.scratch
        out[0] = ws[0]
        out.first_thread = ws.first_thread + part
        out.n_threads = 1
        out.divides_ahead = True
        out.scratch = scratch


cdef int divide_some(Shared* shared, Workspace* ws, int n, int part) noexcept nogil:
    """Divide leaves of the batch until none is left, and search their children."""
    cdef int status = 0
    cdef int64_t i = fetch_increment(&ws.next_chunk)
    while i < n and status == 0:
        status = divide_ahead(shared, &ws.helpers[part], ws.batch[i], NULL)
        i = fetch_increment(&ws.next_chunk)
    return status


cdef int divide_side_by_side(Shared* shared, Workspace* ws, int n) noexcept nogil:
    """Divide the leaves of the batch, each by one thread."""
    cdef int n_threads = min(ws.n_threads, n)
    cdef int n_failed = 0
    cdef int part
    prepare_helpers(ws, n_threads)
    ws.next_chunk = 0
    for part in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        n_failed += divide_some(shared, ws, n, part) < 0
    return NO_MEMORY if n_failed > 0 else 0


cdef int split_next(Shared* shared, Workspace* ws, int index) noexcept nogil:
    """Split a leaf: at once, or divided ahead of its turn with others."""
    cdef int node = ws.n_leaves - 1
    cdef int status, n
    if not ws.leaves[index].is_divided:
        n = choose_ahead(shared, ws, index)
        if shared.collectives != NULL:
            status = divide_distributed(shared, ws, n)
        elif n == 1:
            return split_leaf(shared, ws, index)
        else:
            status = divide_side_by_side(shared, ws, n)
        if status < 0:
            return status
    ws.nodes[node] = ws.nodes[shared.settings.max_leaves + index]
    link_node(ws, index)
    ws.leaves[ws.n_leaves] = ws.children[2 * index + 1]
    ws.leaves[index] = ws.children[2 * index]
    ws.leaves[ws.n_leaves].node = ws.leaves[index].node = node
    ws.n_leaves += 1
    enqueue(ws, index)
    enqueue(ws, ws.n_leaves - 1)
    return 0


cdef void stay_leaf(Workspace* ws, int index) noexcept nogil:
    """Give back what a leaf has that is not split after all."""
    cdef Leaf* leaf = &ws.leaves[index]
    cdef Leaf* child
    cdef int side
    free_slot(ws, leaf)
    for side in range(2 if leaf.is_divided else 0):
        child = &ws.children[2 * index + side]
        free_slot(ws, child)
        return_rows(ws, leaf, child)


cdef void search_stale(Shared* shared, Workspace* ws, int index) noexcept nogil:
    """Search the leaves that the newest split, of leaf ``index``, bounds anew."""
    cdef int stale = next_stale(shared, ws, index, 0)
    cdef Leaf* leaf
    while stale >= 0 and not is_stopped(&shared.watch):
        heap_remove(ws, stale)
        leaf = &ws.leaves[stale]
        search_again(shared, ws, leaf)
        enqueue(ws, stale)
        stale = next_stale(shared, ws, index, stale + 1)


cdef int grow_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Grow one tree; 0, or what growing may end with."""
    cdef int status = start_tree(shared, ws, round)
    cdef int leaf
    ws.divides_ahead = shared.collectives != NULL and ws.children != NULL
    while status == 0 and ws.n_heap > 0 and ws.n_leaves < shared.settings.max_leaves:
        leaf = heap_pop(ws)
        if ws.divides_ahead or (ws.n_threads > 1 and ws.helpers != NULL):
            status = split_next(shared, ws, leaf)
        else:
            status = split_leaf(shared, ws, leaf)
        if status == 0 and shared.constraints.bounding >= INTERMEDIATE:
            search_stale(shared, ws, leaf)
        if status == 0 and is_stopped(&shared.watch):
            status = INTERRUPTED
    bound_leaves(shared, ws)
    while ws.n_heap > 0:
        stay_leaf(ws, heap_pop(ws))
    if status == 0:
        status = fill_leaves(shared, ws, round)
    return status


cdef int fill_score(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """The values of one score in a tree of several, of its leaves and of its nodes."""
    cdef Gradients rows = round.gradients
    cdef GradientStats stats
    cdef int status
    # A bound of all rows holds for the sampled ones.
    rows.sampled = rows.ids = NULL
    rows.n = rows.n_rows
    status = read_round(shared, ws, &rows, &stats)
    if status == 0:
        set_fine_scales(ws, &rows, &stats)
        status = fill_leaves(shared, ws, round)
    if status == 0:
        fill_nodes(ws)
    return status
