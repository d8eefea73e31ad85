"""Growing one tree leaf-wise, in one nogil routine.

Search the root; then split the best leaf, partition its rows and search its children, again
and again; at the end, the leaves' values.

Leaves are also divided ahead of their turn: with the best leaf those that will probably be
split. Then leaves are split in the same order as ever, and what has been divided in vain is
dropped. Processes do so because a collective operation takes time, and threads because a batch of
leaves keeps more of them busy than one leaf does. The trees of a round share a batch: each adds
leaves to it.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport llabs, realloc
from libc.string cimport memset

from skgoss._engine.atomics cimport spin_lock, spin_unlock
from skgoss._engine.random cimport TREE_FEATURES, key
from skgoss._engine.signals cimport is_stopped
from skgoss._engine.training.children cimport (
    list_children, search_children, search_roots, share_batch)
from skgoss._engine.training.constraint_kernels cimport (
    bound_children, bound_leaves, next_stale, order_children)
from skgoss._engine.training.encoding cimport RootRows, read_rounds, set_fine_scales
from skgoss._engine.training.feature_subset cimport subset_rows
from skgoss._engine.training.histogram cimport MIN_SUM_WORK, sum_together
from skgoss._engine.training.kernel_collectives cimport share_splits
from skgoss._engine.training.layout cimport Binned, Sums
from skgoss._engine.training.leaf_values cimport fill_leaves, fill_nodes
from skgoss._engine.training.partition cimport (
    MIN_CHUNK, choose_left, index_root, list_rows, recall_left, return_rows, rows_to_children,
    write_set)
from skgoss._engine.training.sampling_kernels cimport sample_features
from skgoss._engine.training.search cimport (
    MIN_VISITS, choose_summed, list_siblings, search_again, search_together)
from skgoss._engine.training.split cimport NONE_MISSING, Split, SplitRules, node_stats
from skgoss._engine.training.tasks cimport (
    MIN_WORK_PER_THREAD, Batch, Division, Task, add_late, add_task, item_at, begin_adding,
    end_adding, let_follow, run_tasks, start_list, task_work)
from skgoss._engine.training.workspace cimport (
    INTERMEDIATE, INTERRUPTED, NO_MEMORY, NO_PRIORITY, ROOT_BUFFER, Leaf, Node, Pool, Round,
    Scratch, Shared, Workspace, free_slot, free_slots, heap_pop, heap_push, heap_remove)

cdef enum:
    # The maximum number of updates and visits of bins that a thread gets at a time.
    WORK_PER_THREAD = 400000
    # A leaf of less work is divided by one thread.
    MIN_SHARED_WORK = 60000
    # At least so much is the split of a leaf that has many bins, but so few rows that only
    # their bins are visited.
    WORK_OF_FEW_ROWS = 20000

# The smaller child of a leaf has about this share of its work.
cdef double SHARE_OF_SMALLER = 0.3


cdef void start_tree(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """A tree of one leaf, for which features are sampled."""
    cdef Leaf* root = &ws.leaves[0]
    cdef int buffer = ROOT_BUFFER if shared.has_sparse else 0
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
    free_slots(ws.pool, ws.free_slots)
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


cdef void enqueue(Workspace* ws, int index) noexcept nogil:
    """Let a leaf wait to be split if it has a split."""
    if ws.leaves[index].best.gain > 0:
        heap_push(ws, index)


cdef bint missing_goes_left(
    const Shared* shared, const Split* split, Sums left, Sums right,
) noexcept nogil:
    """Where missing values go at a node that has none: with the larger child.

    The sums of hessians tell which is larger: they count a weight as copies. Bounds that depend
    on neighbors know missing values on the left, if the column has any; if not, these go where
    the middle bin does, so that they have the bounds of numbers.
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
    """Fill in all of a child but its rows. It has its bounds already."""
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


cdef int describe_children(Shared* shared, Workspace* ws, Division* division) noexcept nogil:
    """Divide a leaf by its best split: its node, and all of its children but their rows."""
    cdef Leaf* parent = &division.parent
    cdef Leaf* left = division.left
    cdef Leaf* right = division.right
    cdef int node = division.node
    cdef Sums left_sums, right_sums
    cdef double l2
    if ws.shares_columns:
        l2 = recall_left(ws, parent, &left_sums)
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

cdef double work_of(const Workspace* ws, int index) noexcept nogil:
    """Updates and visits of bins that a split of a leaf takes at most."""
    cdef const Leaf* leaf = &ws.leaves[index]
    cdef double updates = leaf.stats.sums.count * ws.data.row_updates
    cdef double visits = 2.0 * ws.data.n_hist_bins
    if leaf.slot < 0:
        visits = min(visits, max(2.0 * updates, <double>WORK_OF_FEW_ROWS))
    return updates + visits


cdef Workspace* helper_of(Batch* batch, Workspace* ws) noexcept nogil:
    """A copy of a tree's workspace as it is now, with scratch memory for one leaf."""
    cdef Workspace* out = &batch.helpers[batch.n_divisions]
    cdef Scratch scratch = out.scratch
    out[0] = ws[0]
    out.scratch = scratch
    return out


cdef void add_division(Batch* batch, Workspace* ws, int index, bint ahead) noexcept nogil:
    """Let a leaf be divided with the batch: at once, or ahead of its turn."""
    cdef Division* division = &batch.divisions[batch.n_divisions]
    cdef const Leaf* leaf
    division.tree = division.ws = ws
    if ahead:
        division.ws = helper_of(batch, ws)
        division.ws.scratch.mask = ws.scratch.mask + ws.mask_used
        leaf = &ws.leaves[index]
        ws.mask_used += (leaf.end - leaf.begin - leaf.n_left_behind) // 8 + 8
    division.index = index
    division.ahead = ahead
    division.parent = ws.leaves[index]
    division.work = work_of(ws, index)
    batch.work += division.work
    batch.n_divisions += 1


cdef void choose_leaves(
    Shared* shared, Batch* batch, Workspace* ws, int first, double most_work, int most,
) noexcept nogil:
    """Add a leaf to the batch, with those of its tree whose turn will probably come.

    At most as many leaves as are still split have their turn. Of the best ones, half as many
    nearly all have: more of them would save little, and be divided in vain more often. Threads
    take only as many as keep them busy, but only a quarter of the above once there is one for
    each thread.
    """
    cdef bint alone = shared.collectives == NULL
    cdef int n_left = shared.settings.max_leaves - ws.n_leaves
    cdef int n_most = min(ws.n_heap, n_left // 2)
    cdef int n_waiting = 0
    cdef int n = 1
    cdef int i
    ws.mask_used = 0
    add_division(batch, ws, first, True)
    if alone and work_of(ws, first) * (ws.n_heap + 1) <= MIN_WORK_PER_THREAD:
        return
    while (n_waiting < n_most and batch.n_divisions < most
            and not (alone and batch.work > most_work)):
        i = ws.waiting[n_waiting] = heap_pop(ws)
        n_waiting += 1
        if not ws.leaves[i].is_divided:
            add_division(batch, ws, i, True)
            n += 1
        if alone and n >= batch.n_threads:
            n_most = min(n_most, n_left // 8)
    for i in range(n_waiting):
        heap_push(ws, ws.waiting[i])


cdef int begin_division(Shared* shared, Division* division) noexcept nogil:
    """The children of a leaf, but for their rows and their splits."""
    cdef Workspace* tree = division.tree
    cdef Workspace* ws = division.ws
    cdef int status
    if division.ahead:
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
    if not division.ahead:
        link_node(tree, division.index)
        tree.n_leaves += 1
    order_children(
        shared, ws, division.index, &division.parent, division.left, division.right)
    return 0


cdef void begin_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Begin to divide a leaf whose work threads share out."""
    cdef Division* division = &batch.divisions[task.index]
    cdef int thread_before = division.ws.thread
    division.ws.thread = thread
    division.status = begin_division(shared, division)
    division.ws.thread = thread_before


cdef int divide_alone(Shared* shared, Division* division) noexcept nogil:
    """Divide a leaf and search its children, by one thread."""
    if begin_division(shared, division) < 0:
        return NO_MEMORY
    rows_to_children(
        shared, division.ws, &division.parent, division.column, division.left, division.right)
    return search_children(
        shared, division.ws, &division.parent, division.left, division.right)


cdef void whole_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Divide a leaf that needs no other threads."""
    cdef Division* division = &batch.divisions[task.index]
    if division.ahead:
        division.ws.thread = thread
        division.ws.n_threads = 1
    division.status = divide_alone(shared, division)


cdef void list_alone(Batch* batch) noexcept nogil:
    """List the leaves that are divided by one thread, the largest first."""
    cdef Task* before
    cdef Task* last
    cdef int i, k
    for i in range(batch.n_divisions):
        if not batch.divisions[i].alone or add_late(batch, whole_task, i) == NULL:
            continue
        for k in range(batch.late.n - 1, 0, -1):
            before, last = <Task*>item_at(&batch.late, k - 1), <Task*>item_at(&batch.late, k)
            if (batch.divisions[before.index].work >= batch.divisions[last.index].work):
                break
            before.index, last.index = last.index, before.index


cdef int list_shared(Shared* shared, Batch* batch) noexcept nogil:
    """List the siblings of the leaves whose work threads share out."""
    cdef Division* division
    cdef int i, n
    batch.n_siblings = 0
    for i in range(batch.n_divisions):
        division = &batch.divisions[i]
        if division.alone:
            continue
        n = list_children(
            shared, division.ws, &division.parent, division.left, division.right,
            batch.siblings + batch.n_siblings)
        if n < 0:
            return n
        batch.n_siblings += n
    return 0


cdef void choose_alone(Shared* shared, Batch* batch) noexcept nogil:
    """Which leaves are divided by one thread: none that takes longer than a thread's share."""
    cdef Division* division
    cdef double work = batch.work
    cdef bint is_done = False
    cdef int i
    for i in range(batch.n_divisions):
        batch.divisions[i].status = 0
        batch.divisions[i].alone = shared.collectives == NULL
    while not is_done and batch.n_threads > 1:
        is_done = True
        for i in range(batch.n_divisions):
            division = &batch.divisions[i]
            if division.alone and division.work > max(
                    work / batch.n_threads, <double>MIN_SHARED_WORK):
                division.alone = is_done = False
                work -= division.work


cdef void choose_sizes(Batch* batch) noexcept nogil:
    """How much each task has of what threads share out."""
    cdef const Division* division
    cdef double rows = 0
    cdef double updates = 0
    cdef double n_visits = 0
    cdef int i
    for i in range(batch.n_divisions):
        division = &batch.divisions[i]
        if not division.alone:
            rows += division.parent.end - division.parent.begin
            updates += SHARE_OF_SMALLER * division.work
            n_visits += 2.0 * division.ws.data.n_visits
    # Chunks begin with a byte of the mask. They are short: nothing is merged after them.
    batch.chunk_size = <Py_ssize_t>task_work(batch, rows / 2, MIN_CHUNK) // 8 * 8 + 8
    batch.sum_size = task_work(batch, updates, MIN_SUM_WORK)
    batch.search_size = task_work(batch, n_visits, MIN_VISITS)


cdef void list_moved(Shared* shared, Batch* batch, int index, int thread) noexcept nogil:
    """List what sums and searches the children of a leaf, whose rows have moved."""
    cdef Division* division = &batch.divisions[index]
    cdef Workspace* ws = division.ws
    cdef int thread_before = ws.thread
    cdef int n_threads_before = ws.n_threads
    cdef int i, n
    ws.thread, ws.n_threads = thread, 1
    n = list_children(
        shared, ws, &division.parent, division.left, division.right, batch.siblings + 2 * index)
    ws.thread, ws.n_threads = thread_before, n_threads_before
    division.status = min(n, 0)
    begin_adding(batch)
    for i in range(2 * index, 2 * index + n):
        list_siblings(shared, batch, i)
    end_adding(batch)


cdef void after_move(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    if shared.collectives == NULL:
        list_moved(shared, batch, task.index, thread)


cdef void after_begin(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    if batch.divisions[task.index].status == 0:
        list_rows(shared, batch, task, thread)


cdef void list_divisions(Shared* shared, Batch* batch) noexcept nogil:
    """List the first task of each leaf whose work threads share out, and the other leaves."""
    cdef int i
    start_list(shared, batch)
    choose_sizes(batch)
    batch.after_move = after_move
    begin_adding(batch)
    for i in range(batch.n_divisions):
        if not batch.divisions[i].alone:
            add_task(batch, begin_task, i, 0, 0, 0)
            let_follow(batch, batch.tasks.n - 1, &batch.divisions[i].n_open, after_begin)
    list_alone(batch)
    end_adding(batch)


cdef int search_among_processes(Shared* shared, Batch* batch) noexcept nogil:
    """Sum the rows of the batch's siblings and search them, with other processes."""
    cdef Workspace* ws = batch.divisions[0].tree
    cdef int status = list_shared(shared, batch)
    if status == 0:
        status = sum_together(shared, batch)
    if status == 0:
        status = share_batch(shared, ws, batch)
    if status == 0:
        status = search_together(shared, batch)
    if status == 0 and ws.shares_columns:
        status = share_splits(shared, ws, batch.siblings, batch.n_siblings)
    return status


cdef int divide_batch(Shared* shared, Batch* batch) noexcept nogil:
    """Divide the leaves of the batch, and search their children."""
    cdef int status = 0
    cdef int i
    choose_alone(shared, batch)
    list_divisions(shared, batch)
    run_tasks(batch, batch.work)
    for i in range(batch.n_divisions):
        status = min(status, batch.divisions[i].status)
    status = min(status, batch.status)
    if status == 0 and shared.collectives != NULL:
        status = search_among_processes(shared, batch)
    return status


cdef void keep_divided(Batch* batch) noexcept nogil:
    """Note which leaves are divided. Their histograms are their children's now."""
    cdef Division* division
    cdef int i
    for i in range(batch.n_divisions):
        division = &batch.divisions[i]
        if division.ahead:
            # Rows may have been brought together.
            division.parent.slot = -1
            division.parent.is_divided = True
            division.tree.leaves[division.index] = division.parent


# ------------------------------------------------------------------ splits

cdef void take_children(Shared* shared, Workspace* ws, int index) noexcept nogil:
    """Split a leaf that has been divided ahead of its turn."""
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
    """Split a leaf, and search its children."""
    cdef int status
    batch.n_divisions = 0
    batch.work = 0
    add_division(batch, ws, index, False)
    status = divide_batch(shared, batch)
    enqueue(ws, index)
    enqueue(ws, ws.n_leaves - 1)
    return status


cdef int split_divided(Shared* shared, Workspace* ws) noexcept nogil:
    """Split the leaves that have been divided, as long as it is their turn.

    Returns the first leaf whose turn it is that has not been divided; -1: the tree is grown.
    """
    cdef int leaf
    while ws.n_heap > 0 and ws.n_leaves < shared.settings.max_leaves:
        leaf = heap_pop(ws)
        if not ws.leaves[leaf].is_divided:
            return leaf
        take_children(shared, ws, leaf)
    return -1


cdef void stay_leaf(Workspace* ws, int index) noexcept nogil:
    """Release the histograms of a leaf that is not split after all, and take its rows back."""
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
    """Search the leaves that the newest split, of leaf ``index``, bounds anew."""
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
    """Grow a tree leaf by leaf."""
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
    """Grow trees whose leaves are divided ahead of their turn."""
    cdef double most_work = WORK_PER_THREAD * <double>batch.n_threads
    cdef int status = 0
    cdef int i, leaf
    while status == 0:
        batch.n_divisions = 0
        batch.work = 0
        for i in range(n_trees):
            leaf = split_divided(shared, &trees[i])
            if leaf >= 0:
                choose_leaves(
                    shared, batch, &trees[i], leaf, (i + 1) * most_work / n_trees,
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
    """Grow the trees of a round, or some of them; 0, or what growing may end with."""
    cdef bint ahead = batch.helpers != NULL
    cdef int status = 0
    cdef int i
    batch.status = 0
    for i in range(n_trees):
        start_tree(shared, &trees[i], &rounds[i])
    status = search_roots(shared, batch, trees, rounds, n_trees)
    for i in range(n_trees):
        trees[i].divides_ahead = ahead
        if status == 0:
            enqueue(&trees[i], 0)
    if status == 0 and ahead:
        status = split_in_batches(shared, batch, trees, n_trees)
    elif status == 0:
        status = split_one_by_one(shared, batch, trees)
    for i in range(n_trees):
        bound_leaves(shared, &trees[i])
        while trees[i].n_heap > 0:
            stay_leaf(&trees[i], heap_pop(&trees[i]))
    return fill_leaves(shared, trees, rounds, n_trees) if status == 0 else status


cdef int fill_score(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """The values of one score in a tree of several, of its leaves and of its nodes."""
    cdef RootRows root
    cdef int status
    root.ws, root.gradients = ws, round.gradients
    # A bound of all rows holds for the sampled ones.
    root.gradients.sampled = root.gradients.ids = NULL
    root.gradients.n = root.gradients.n_rows
    status = read_rounds(shared, &root, 1)
    if status == 0:
        set_fine_scales(&root)
        status = fill_leaves(shared, ws, round, 1)
    if status == 0:
        fill_nodes(ws)
    return status
