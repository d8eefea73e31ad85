"""Growing trees leaf-wise, without the GIL.

The root is searched. Then the leaf with the largest gain is split, again and again: its rows are
moved to its two children, which are searched. In the end, the values of the leaves are computed.

Splits are also speculative: together with the best leaf, those that will probably be split are
divided, in one batch. Leaves still become inner nodes in the order of their gains, and speculative
splits that are not needed are dropped. Threads do so because a batch of leaves keeps more of them
busy than one leaf, and processes because a collective operation takes time. All trees of a round
add leaves to a batch.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport llabs, realloc
from libc.string cimport memset

from skgoss._engine.atomics cimport spin_lock, spin_unlock
from skgoss._engine.random cimport TREE_FEATURES, key
from skgoss._engine.signals cimport is_stopped
from skgoss._engine.training.children cimport (
    list_children, reduce_batch, search_children, search_roots)
from skgoss._engine.training.constraint_kernels cimport (
    bound_children, bound_leaves, next_stale, order_children)
from skgoss._engine.training.encoding cimport RootRows, gather_stats, set_leaf_scales
from skgoss._engine.training.feature_subset cimport subset_rows
from skgoss._engine.training.histogram cimport MIN_SUM_WORK, sum_batch
from skgoss._engine.training.kernel_collectives cimport exchange_splits
from skgoss._engine.training.layout cimport Binned, Sums
from skgoss._engine.training.leaf_values cimport fill_leaves, fill_nodes
from skgoss._engine.training.partition cimport (
    MIN_CHUNK, choose_left, index_root, list_rows, restore_left, return_rows, rows_to_children,
    write_set)
from skgoss._engine.training.sampling_kernels cimport sample_features
from skgoss._engine.training.search cimport (
    MIN_VISITS, choose_summed, list_siblings, search_again, search_batch)
from skgoss._engine.training.split cimport NONE_MISSING, Split, SplitRules, node_stats
from skgoss._engine.training.tasks cimport (
    MIN_WORK_PER_THREAD, Batch, Division, Task, add_deferred, add_task, item_at, lock_tasks,
    publish_tasks, run_tasks, set_continuation, start_list, task_work)
from skgoss._engine.training.workspace cimport (
    INTERMEDIATE, INTERRUPTED, NO_MEMORY, NO_PRIORITY, ROOT_BUFFER, Leaf, Node, Pool, Round,
    Scratch, Shared, Workspace, free_slot, free_slots, heap_pop, heap_push, heap_remove)

cdef enum:
    # The maximum work of a batch for each thread, in updates and visits of bins.
    WORK_PER_THREAD = 400000
    # A leaf of less work is divided by one thread.
    MIN_SHARED_WORK = 60000
    # The minimum number of visits in the estimate for a small leaf, of which only the bins that
    # contain rows are visited.
    MIN_SMALL_LEAF_VISITS = 20000

# The smaller child of a leaf has about this fraction of its work.
cdef double SMALLER_CHILD_WORK = 0.3


cdef void start_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Start a tree of one leaf, and sample its features.

    ``ws``: the tree's memory; ``round``: its gradients and rows.
    """
    cdef Leaf* root = &ws.leaves[0]
    cdef int buffer = ROOT_BUFFER if shared.has_sparse else 0
    ws.rules = shared.rules
    ws.rules.l2 += ws.extra_l2
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
    free_slots(ws.pool, ws.free_slots)
    ws.pool.n_masks = 0
    ws.pool.n_set_words = 0
    ws.is_speculative = False
    ws.n_features = sample_features(
        shared.all_features, shared.data.n_features, shared.settings.tree_fraction,
        key(shared.settings.feature_seed, TREE_FEATURES, ws.tree_index), ws.features)
    ws.data = shared.data
    choose_summed(shared, ws)
    if shared.subset_source.max_features > 0:
        ws.data = subset_rows(
            &shared.data, &shared.subset_source, ws.summed, ws.n_summed, &round.gradients,
            ws.n_threads, &ws.subset)


cdef void enqueue(Workspace* ws, int index) noexcept nogil:
    """Push the leaf onto the heap if it can be split."""
    if ws.leaves[index].best.gain > 0:
        heap_push(ws, index)


cdef bint missing_goes_left(
    const Shared* shared, const Split* split, Sums left, Sums right,
) noexcept nogil:
    """Whether missing values go left at a node that has none: with the larger child.

    That is the child with the larger sum of hessians, in which whole weights count as repeated
    rows. Bounds that depend on neighbors treat missing values as on the left, if the column has
    any. If not, these go with the middle bin, so that they have the bounds of numbers.
    """
    cdef bint has_missing = shared.data.missing_bin[split.feature] >= 0
    if shared.settings.missing_left_if_none:
        return True
    if shared.constraints.bounding >= INTERMEDIATE:
        return has_missing or (shared.data.n_bins[split.feature] - 1) // 2 <= split.bin
    if left.hessian != right.hessian:
        return left.hessian > right.hessian
    return llabs(left.gradient) <= llabs(right.gradient)


cdef void fill_node(const Leaf* leaf, Node* node) noexcept nogil:
    """Describe the inner node that replaces a leaf."""
    node.parent = leaf.node
    node.is_left = leaf.is_left
    node.feature = leaf.best.feature
    node.bin = leaf.best.bin
    node.missing_left = leaf.best.missing_left
    node.gain = leaf.best.gain
    node.stats = leaf.stats
    node.first_word = node.last_word = 0


cdef void link_node(Workspace* ws, int leaf_index) noexcept nogil:
    """Replace a leaf by the newest node in the tree.

    The node is number ``ws.n_leaves - 1``, as each split makes a node and a leaf. Its left child
    keeps the number of the leaf, and the right one is number ``ws.n_leaves``; ``~`` marks leaves.
    """
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
    """Add a set of bins, as bits of 32-bit words, to those of the tree; 0 or NO_MEMORY.

    ``goes_left``, (n_bins,): 1 for the bins of the set. ``node``: gets the place of the words.
    """
    cdef Py_ssize_t capacity
    cdef void* larger
    node.first_word = pool.n_set_words
    node.last_word = pool.n_set_words = node.first_word + (n_bins + 31) // 32
    if node.last_word > pool.set_capacity:
        capacity = 2 * node.last_word
        larger = realloc(pool.set_words, capacity * sizeof(uint32_t))
        if larger == NULL:
            return NO_MEMORY
        pool.set_words = <uint32_t*>larger
        pool.set_capacity = capacity
    memset(
        pool.set_words + node.first_word, 0,
        (node.last_word - node.first_word) * sizeof(uint32_t))
    write_set(goes_left, n_bins, pool.set_words + node.first_word)
    return 0


cdef int add_set(const Binned* data, Workspace* ws, Node* node) noexcept nogil:
    """Keep the set of bins that go left at a categorical node; 0 or NO_MEMORY."""
    cdef int status
    spin_lock(&ws.pool.lock)
    status = add_words(ws.pool, data.n_bins[node.feature], ws.scratch.goes_left, node)
    spin_unlock(&ws.pool.lock)
    return status


cdef void make_child(
    Workspace* ws, const Leaf* parent, int node, bint is_left, Sums sums, double l2,
    Leaf* child_out,
) noexcept nogil:
    """Describe a child, whose bounds are known, except for its rows.

    - ``node``: the number of the inner node that replaces its parent.
    - ``sums``: of its rows. ``l2``: the ridge penalty of its output; its gain has that of the tree.
    - ``child_out``: ``stats.lower`` and ``stats.upper`` are arguments, too.
    """
    cdef SplitRules rules = ws.rules
    cdef double lower = child_out.stats.lower
    cdef double upper = child_out.stats.upper
    child_out.n_removed = 0
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


cdef int describe_children(Shared* shared, Workspace* ws, Division* division) noexcept nogil:
    """Make the node and the children of a divided leaf, except for their rows; 0 or NO_MEMORY."""
    cdef Leaf* parent = &division.parent
    cdef Leaf* left = division.left
    cdef Leaf* right = division.right
    cdef int node = division.node
    cdef Sums left_sums, right_sums
    cdef double l2
    if ws.shares_columns:
        l2 = restore_left(ws, parent, &left_sums)
    else:
        l2 = choose_left(shared, ws, parent, &left_sums)
    right_sums.gradient = parent.stats.sums.gradient - left_sums.gradient
    right_sums.hessian = parent.stats.sums.hessian - left_sums.hessian
    right_sums.count = parent.stats.sums.count - left_sums.count
    if parent.best.missing_left == NONE_MISSING:
        parent.best.missing_left = missing_goes_left(
            shared, &parent.best, left_sums, right_sums)
    fill_node(parent, &ws.nodes[node])
    if (shared.data.categorical[parent.best.feature]
            and add_set(&shared.data, ws, &ws.nodes[node]) < 0):
        return NO_MEMORY
    bound_children(shared, ws, division.index, parent, left, right)
    make_child(ws, parent, node, True, left_sums, l2, left)
    make_child(ws, parent, node, False, right_sums, l2, right)
    if parent.priority != NO_PRIORITY:
        left.forced = shared.constraints.forced[parent.priority].left
        right.forced = shared.constraints.forced[parent.priority].right
    return 0


# ------------------------------------------------------------------ batches

cdef double division_work(const Workspace* ws, int index) noexcept nogil:
    """The maximum number of updates and visits of bins that dividing leaf ``index`` takes.

    An update adds a row to a bin; a visit reads a bin in the search for a split.
    """
    cdef const Leaf* leaf = &ws.leaves[index]
    cdef double updates = leaf.stats.sums.count * ws.data.row_updates
    cdef double visits = 2.0 * ws.data.n_hist_bins
    if leaf.slot < 0:
        visits = min(visits, max(2.0 * updates, <double>MIN_SMALL_LEAF_VISITS))
    return updates + visits


cdef Workspace* make_helper(Batch* batch, Workspace* ws) noexcept nogil:
    """Copy a tree's workspace as it is now, with scratch memory for the next division."""
    cdef Workspace* out = &batch.helpers[batch.n_divisions]
    cdef Scratch scratch = out.scratch
    out[0] = ws[0]
    out.scratch = scratch
    return out


cdef void add_division(
    Batch* batch, Workspace* ws, int index, bint is_speculative,
) noexcept nogil:
    """Add leaf ``index`` of a tree to the leaves that the batch divides.

    A speculative division works on a copy of the workspace, and its own part of the mask of rows,
    so that leaves can be divided at once.
    """
    cdef Division* division = &batch.divisions[batch.n_divisions]
    cdef const Leaf* leaf
    division.tree = division.ws = ws
    if is_speculative:
        division.ws = make_helper(batch, ws)
        division.ws.scratch.mask = ws.scratch.mask + ws.mask_used
        leaf = &ws.leaves[index]
        ws.mask_used += (leaf.end - leaf.begin - leaf.n_removed) // 8 + 8
    division.index = index
    division.is_speculative = is_speculative
    division.parent = ws.leaves[index]
    division.work = division_work(ws, index)
    batch.work += division.work
    batch.n_divisions += 1


cdef void choose_leaves(
    Shared* shared, Batch* batch, Workspace* ws, int first, double max_work, int max_divisions,
) noexcept nogil:
    """Add a leaf to the batch, and the leaves of its tree that will probably be split.

    The tree can still be split ``n_left`` times. Of the ``n_left // 2`` best leaves, nearly all
    will be split; more of them would save little, and be dropped more often. Threads divide only
    as many as keep them busy: once there is a leaf for each thread, only the ``n_left // 8`` best.

    - ``first``: the best leaf, which is not in the heap.
    - ``max_work``, ``max_divisions``: limits of the batch, in updates and visits of bins, and in
      leaves.
    """
    cdef bint is_local = shared.collectives == NULL
    cdef int n_left = shared.settings.max_leaves - ws.n_leaves
    cdef int max_popped = min(ws.n_heap, n_left // 2)
    cdef int n_popped = 0
    cdef int n = 1
    cdef int i
    ws.mask_used = 0
    add_division(batch, ws, first, True)
    if is_local and division_work(ws, first) * (ws.n_heap + 1) <= MIN_WORK_PER_THREAD:
        return
    while (n_popped < max_popped and batch.n_divisions < max_divisions
            and not (is_local and batch.work > max_work)):
        i = ws.popped[n_popped] = heap_pop(ws)
        n_popped += 1
        if not ws.leaves[i].is_divided:
            add_division(batch, ws, i, True)
            n += 1
        if is_local and n >= batch.n_threads:
            max_popped = min(max_popped, n_left // 8)
    for i in range(n_popped):
        heap_push(ws, ws.popped[i])


cdef int begin_division(Shared* shared, Division* division) noexcept nogil:
    """Make the children of a leaf, except for their rows and their splits; 0 or NO_MEMORY."""
    cdef Workspace* tree = division.tree
    cdef Workspace* ws = division.ws
    cdef int status
    if division.is_speculative:
        division.left = &ws.children[2 * division.index]
        division.right = &ws.children[2 * division.index + 1]
        division.node = shared.settings.max_leaves + division.index
    else:
        division.left = &ws.leaves[division.index]
        division.right = &ws.leaves[ws.n_leaves]
        division.node = ws.n_leaves - 1
    division.column = &shared.columns[division.parent.best.feature]
    status = describe_children(shared, ws, division)
    if status < 0:
        return status
    if not division.is_speculative:
        link_node(tree, division.index)
        tree.n_leaves += 1
    order_children(
        shared, ws, division.index, &division.parent, division.left, division.right)
    return 0


cdef void begin_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Begin to divide a leaf by several threads."""
    cdef Division* division = &batch.divisions[task.index]
    cdef int saved_thread = division.ws.thread
    division.ws.thread = thread
    division.status = begin_division(shared, division)
    division.ws.thread = saved_thread


cdef int divide_serially(Shared* shared, Division* division) noexcept nogil:
    """Divide a leaf and search its children, by one thread; 0 or NO_MEMORY.

    To divide a leaf is to replace it by a node, and to move its rows to two children.
    """
    if begin_division(shared, division) < 0:
        return NO_MEMORY
    rows_to_children(
        shared, division.ws, &division.parent, division.column, division.left, division.right)
    return search_children(
        shared, division.ws, &division.parent, division.left, division.right)


cdef void serial_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Divide a leaf by one thread."""
    cdef Division* division = &batch.divisions[task.index]
    if division.is_speculative:
        division.ws.thread = thread
        division.ws.n_threads = 1
    division.status = divide_serially(shared, division)


cdef void list_serial(Batch* batch) noexcept nogil:
    """List the leaves that are divided by one thread, the largest first.

    They are deferred tasks: threads take them when no task of a shared leaf is ready.
    """
    cdef Task* previous
    cdef Task* last
    cdef int i, k
    for i in range(batch.n_divisions):
        if not batch.divisions[i].is_serial or add_deferred(batch, serial_task, i) == NULL:
            continue
        for k in range(batch.deferred.n - 1, 0, -1):
            previous = <Task*>item_at(&batch.deferred, k - 1)
            last = <Task*>item_at(&batch.deferred, k)
            if (batch.divisions[previous.index].work >= batch.divisions[last.index].work):
                break
            previous.index, last.index = last.index, previous.index


cdef int list_shared(Shared* shared, Batch* batch) noexcept nogil:
    """List the children of the leaves that several threads divide; 0 or NO_MEMORY.

    Only for several processes, which sum and search all children after the rows have moved.
    """
    cdef Division* division
    cdef int i, n
    batch.n_siblings = 0
    for i in range(batch.n_divisions):
        division = &batch.divisions[i]
        if division.is_serial:
            continue
        n = list_children(
            shared, division.ws, &division.parent, division.left, division.right,
            batch.siblings + batch.n_siblings)
        if n < 0:
            return n
        batch.n_siblings += n
    return 0


cdef void choose_serial(Shared* shared, Batch* batch) noexcept nogil:
    """Choose the leaves that one thread divides: none with more work than a thread's share."""
    cdef Division* division
    cdef double work = batch.work
    cdef bint is_done = False
    cdef int i
    for i in range(batch.n_divisions):
        batch.divisions[i].status = 0
        batch.divisions[i].is_serial = shared.collectives == NULL
    while not is_done and batch.n_threads > 1:
        is_done = True
        for i in range(batch.n_divisions):
            division = &batch.divisions[i]
            if division.is_serial and division.work > max(
                    work / batch.n_threads, <double>MIN_SHARED_WORK):
                division.is_serial = is_done = False
                work -= division.work


cdef void choose_sizes(Batch* batch) noexcept nogil:
    """Choose the sizes of the tasks that divide leaves by several threads.

    Sizes are rows of a chunk that is moved, updates of bins of a sum, and visits of bins of a
    search.
    """
    cdef const Division* division
    cdef double rows = 0
    cdef double updates = 0
    cdef double n_visits = 0
    cdef int i
    for i in range(batch.n_divisions):
        division = &batch.divisions[i]
        if not division.is_serial:
            rows += division.parent.end - division.parent.begin
            updates += SMALLER_CHILD_WORK * division.work
            n_visits += 2.0 * division.ws.data.n_visits
    # Chunks begin with a byte of the mask. They may be short, because nothing is merged after them.
    batch.chunk_size = <Py_ssize_t>task_work(batch, rows / 2, MIN_CHUNK) // 8 * 8 + 8
    batch.sum_size = task_work(batch, updates, MIN_SUM_WORK)
    batch.search_size = task_work(batch, n_visits, MIN_VISITS)


cdef void list_moved_children(Shared* shared, Batch* batch, int index, int thread) noexcept nogil:
    """List the tasks that sum and search the children of a leaf, once its rows have moved.

    ``index``: of the division (a leaf that is divided) in the batch. Small children are searched
    here, with the memory of this thread, so ``ws.thread`` is set meanwhile.
    """
    cdef Division* division = &batch.divisions[index]
    cdef Workspace* ws = division.ws
    cdef int saved_thread = ws.thread
    cdef int saved_n_threads = ws.n_threads
    cdef int i, n
    ws.thread, ws.n_threads = thread, 1
    n = list_children(
        shared, ws, &division.parent, division.left, division.right, batch.siblings + 2 * index)
    ws.thread, ws.n_threads = saved_thread, saved_n_threads
    division.status = min(n, 0)
    lock_tasks(batch)
    for i in range(2 * index, 2 * index + n):
        list_siblings(shared, batch, i)
    publish_tasks(batch)


cdef void after_move(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """After the rows of a leaf are moved: list the tasks of its children; processes do so later."""
    if shared.collectives == NULL:
        list_moved_children(shared, batch, task.index, thread)


cdef void after_begin(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """After the children of a leaf are described: list the tasks that move its rows."""
    if batch.divisions[task.index].status == 0:
        list_rows(shared, batch, task, thread)


cdef void list_divisions(Shared* shared, Batch* batch) noexcept nogil:
    """List the first task of each leaf that several threads divide, and then the other leaves."""
    cdef int i
    start_list(shared, batch)
    choose_sizes(batch)
    batch.after_move = after_move
    lock_tasks(batch)
    for i in range(batch.n_divisions):
        if not batch.divisions[i].is_serial:
            add_task(batch, begin_task, i, 0, 0, 0)
            set_continuation(batch, batch.tasks.n - 1, &batch.divisions[i].n_open, after_begin)
    list_serial(batch)
    publish_tasks(batch)


cdef int search_distributed(Shared* shared, Batch* batch) noexcept nogil:
    """Sum and search the children of all leaves of the batch, together with other processes."""
    cdef Workspace* ws = batch.divisions[0].tree
    cdef int status = list_shared(shared, batch)
    if status == 0:
        status = sum_batch(shared, batch)
    if status == 0:
        status = reduce_batch(shared, ws, batch)
    if status == 0:
        status = search_batch(shared, batch)
    if status == 0 and ws.shares_columns:
        status = exchange_splits(shared, ws, batch.siblings, batch.n_siblings)
    return status


cdef int divide_batch(Shared* shared, Batch* batch) noexcept nogil:
    """Divide the leaves of the batch, and search their children; 0 or an error.

    Large leaves are divided by all threads together, the others by one thread each.
    """
    cdef int status = 0
    cdef int i
    choose_serial(shared, batch)
    list_divisions(shared, batch)
    run_tasks(batch, batch.work)
    for i in range(batch.n_divisions):
        status = min(status, batch.divisions[i].status)
    status = min(status, batch.status)
    if status == 0 and shared.collectives != NULL:
        status = search_distributed(shared, batch)
    return status


cdef void keep_divided(Batch* batch) noexcept nogil:
    """Keep the speculative splits. The histogram of a leaf is now that of its larger child."""
    cdef Division* division
    cdef int i
    for i in range(batch.n_divisions):
        division = &batch.divisions[i]
        if division.is_speculative:
            division.parent.slot = -1
            division.parent.is_divided = True
            # Its range changes if rows were gathered.
            division.tree.leaves[division.index] = division.parent


# ------------------------------------------------------------------ splits

cdef void take_children(Shared* shared, Workspace* ws, int index) noexcept nogil:
    """Make the speculative split of leaf ``index`` part of the tree."""
    cdef int node = ws.n_leaves - 1
    ws.nodes[node] = ws.nodes[shared.settings.max_leaves + index]
    link_node(ws, index)
    ws.leaves[ws.n_leaves] = ws.children[2 * index + 1]
    ws.leaves[index] = ws.children[2 * index]
    ws.leaves[ws.n_leaves].node = ws.leaves[index].node = node
    ws.n_leaves += 1
    enqueue(ws, index)
    enqueue(ws, ws.n_leaves - 1)


cdef int split_leaf(Shared* shared, Batch* batch, Workspace* ws, int index) noexcept nogil:
    """Split a leaf, and search its children; 0 or an error."""
    cdef int status
    batch.n_divisions = 0
    batch.work = 0
    add_division(batch, ws, index, False)
    status = divide_batch(shared, batch)
    enqueue(ws, index)
    enqueue(ws, ws.n_leaves - 1)
    return status


cdef int split_divided(Shared* shared, Workspace* ws) noexcept nogil:
    """Split the best leaf, again and again, as long as it has a speculative split.

    Returns the first best leaf without one, which is popped; -1: the tree is complete.
    """
    cdef int leaf
    while ws.n_heap > 0 and ws.n_leaves < shared.settings.max_leaves:
        leaf = heap_pop(ws)
        if not ws.leaves[leaf].is_divided:
            return leaf
        take_children(shared, ws, leaf)
    return -1


cdef void release_leaf(Workspace* ws, int index) noexcept nogil:
    """Release the histograms of an unsplit leaf, and undo its speculative split if it has one."""
    cdef Leaf* leaf = &ws.leaves[index]
    cdef Leaf* child
    cdef int side
    free_slot(ws, leaf)
    for side in range(2 if leaf.is_divided else 0):
        child = &ws.children[2 * index + side]
        free_slot(ws, child)
        return_rows(ws, leaf, child)


cdef int search_stale(
    Shared* shared, Batch* batch, Workspace* ws, int index,
) noexcept nogil:
    """Search the leaves whose bounds the newest split, of leaf ``index``, has changed.

    Under monotone constraints, the outputs of the new leaves bound those of their neighbors, whose
    best splits may then be others. Returns 0 or an error.
    """
    cdef int stale = next_stale(shared, ws, index, 0)
    cdef int status = 0
    while status == 0 and stale >= 0 and not is_stopped(&shared.watch):
        heap_remove(ws, stale)
        status = search_again(shared, batch, ws, &ws.leaves[stale])
        enqueue(ws, stale)
        stale = next_stale(shared, ws, index, stale + 1)
    return status


# ------------------------------------------------------------------ trees

cdef int split_one_by_one(Shared* shared, Batch* batch, Workspace* ws) noexcept nogil:
    """Grow a tree without speculative splits; 0 or an error."""
    cdef int status = 0
    cdef int leaf
    while status == 0 and ws.n_heap > 0 and ws.n_leaves < shared.settings.max_leaves:
        leaf = heap_pop(ws)
        status = split_leaf(shared, batch, ws, leaf)
        if status == 0 and shared.constraints.bounding >= INTERMEDIATE:
            status = search_stale(shared, batch, ws, leaf)
        if status == 0 and is_stopped(&shared.watch):
            status = INTERRUPTED
    return status


cdef int split_in_batches(
    Shared* shared, Batch* batch, Workspace* trees, int n_trees,
) noexcept nogil:
    """Grow trees with speculative splits; 0 or an error."""
    cdef double max_work = WORK_PER_THREAD * <double>batch.n_threads
    cdef int status = 0
    cdef int i, leaf
    while status == 0:
        batch.n_divisions = 0
        batch.work = 0
        for i in range(n_trees):
            leaf = split_divided(shared, &trees[i])
            if leaf >= 0:
                choose_leaves(
                    shared, batch, &trees[i], leaf, (i + 1) * max_work / n_trees,
                    batch.max_divisions - (n_trees - 1 - i))
                heap_push(&trees[i], leaf)
        if batch.n_divisions == 0:
            break
        status = divide_batch(shared, batch)
        if status == 0:
            keep_divided(batch)
        if status == 0 and is_stopped(&shared.watch):
            status = INTERRUPTED
    return status


cdef int grow_trees(
    Shared* shared, Batch* batch, Workspace* trees, const Round* rounds, int n_trees,
) noexcept nogil:
    """Grow n trees of a round, and add their values to the scores; 0 or an error.

    ``trees``, ``rounds``, (n_trees,): the memory of each tree, and its gradients, rows and scores.
    Without speculative splits, n_trees is 1.
    """
    cdef bint is_speculative = batch.helpers != NULL
    cdef int status = 0
    cdef int i
    batch.status = 0
    for i in range(n_trees):
        start_tree(shared, &trees[i], &rounds[i])
    status = search_roots(shared, batch, trees, rounds, n_trees)
    for i in range(n_trees):
        trees[i].is_speculative = is_speculative
        if status == 0:
            enqueue(&trees[i], 0)
    if status == 0 and is_speculative:
        status = split_in_batches(shared, batch, trees, n_trees)
    elif status == 0:
        status = split_one_by_one(shared, batch, trees)
    for i in range(n_trees):
        bound_leaves(shared, &trees[i])
        while trees[i].n_heap > 0:
            release_leaf(&trees[i], heap_pop(&trees[i]))
    return fill_leaves(shared, trees, rounds, n_trees) if status == 0 else status


cdef int fill_score(
    Shared* shared, Workspace* ws, const Round* round, double extra_l2,
) noexcept nogil:
    """Compute the values of the leaves and nodes of a shared tree for one of its scores.

    A shared tree has the same splits for all scores, and values of its own for each. ``round``: the
    gradients of the score. ``extra_l2`` is added to the penalty of its leaves. Returns 0 or an
    error.
    """
    cdef RootRows root
    cdef int status, leaf
    for leaf in range(ws.n_leaves):
        ws.leaves[leaf].l2 += extra_l2 - ws.extra_l2
    ws.extra_l2 = extra_l2
    root.ws, root.gradients = ws, round.gradients
    # Scales that suit all rows also suit the sampled ones, whose gradients need not be gathered.
    root.gradients.sampled = root.gradients.ids = NULL
    root.gradients.n = root.gradients.n_rows
    status = gather_stats(shared, &root, 1)
    if status == 0:
        set_leaf_scales(&root)
        status = fill_leaves(shared, ws, round, 1)
    if status == 0:
        fill_nodes(ws)
    return status
