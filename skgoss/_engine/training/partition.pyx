"""Which bins of a leaf's split go left, and how its rows move to its children.

A stable partition sweeps over all rows of the leaf. One thread leaves those of the larger child
in their buffer, and moves the others to another one. A leaf that is divided ahead of its turn, or
by several threads, has all of them moved. If the split column is sparse and few of its stored rows
leave, only these are moved, and the others stay where they are.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from skgoss._engine.binning.store cimport BinColumn, bin_of_code, bin_of_stored
from skgoss._engine.threads cimport parallel_shares
from skgoss._engine.training.histogram cimport (
    clear_rows_histogram, fill_rows_histogram, sums_with)
from skgoss._engine.training.layout cimport LANE_CODES, Binned, Encoding, Histogram, Sums
from skgoss._engine.training.split cimport (
    SCRATCH_CUTS, SCRATCH_ROOM, Bins, Split, add_sums, bin_sums, categories_l2, category_set,
    feature_bins, held_bins)
from skgoss._engine.training.tasks cimport (
    Batch, Division, StoredMove, Task, TaskBody, add_task, item_at, begin_adding, end_adding,
    let_follow)
from skgoss._engine.training.workspace cimport (
    MIN_ROWS_FOR_TEAM, ROOT_BUFFER, Leaf, Round, Shared, Workspace, encoding_of, gallop,
    next_buffer)

cdef extern from "partition.h" nogil:
    Py_ssize_t decide_bytes(
        const uint64_t* records, Py_ssize_t n, uint64_t id_mask, const uint8_t* column,
        const uint8_t* goes_left, uint8_t* mask_out)
    Py_ssize_t decide_shorts(
        const uint64_t* records, Py_ssize_t n, uint64_t id_mask, const uint16_t* column,
        const uint8_t* goes_left, uint8_t* mask_out)
    void move_records(
        const uint64_t* records, Py_ssize_t n, Py_ssize_t n_left, const uint8_t* mask,
        uint64_t* left_out, uint64_t* right_out)
    Py_ssize_t keep_records(
        const uint64_t* records, Py_ssize_t n, const uint8_t* mask, bint keeps_left,
        uint64_t* kept_out, uint64_t* others_out)

cdef enum:
    # Rows whose records are in the nearest cache when they are moved.
    ROW_BLOCK = 1024
    MAX_SHARES = 64           # of rows, one for each thread
    # The cost of finding a stored row, in rows moved from a leaf to its children.
    ROWS_PER_STORED = 4

# ------------------------------------------------------------------ the two sides of a split

cdef Sums sums_up_to(
    const Bins* bins, const Encoding* encoding, const Split* split, int32_t* room,
) noexcept nogil:
    """Sums over the bins that go left of a cut. ``room``: a number for each bin."""
    cdef Sums sums
    cdef int i, b
    cdef int n = min(split.bin + 1, bins.n_bins)
    memset(&sums, 0, sizeof(Sums))
    if split.missing_left and bins.missing_bin > split.bin:
        sums = bin_sums(bins, bins.missing_bin, encoding)
    if bins.held != NULL:
        n = held_bins(bins, 0, n, room)
    for i in range(n):
        b = i if bins.held == NULL else room[i]
        if b != bins.missing_bin or split.missing_left:
            sums = add_sums(sums, bin_sums(bins, b, encoding))
    return sums


cdef void decide_bins(
    const Binned* data, const Split* split, uint8_t* goes_left_out,
) noexcept nogil:
    """Which bins go left of a cut, 1, or right, 0."""
    memset(goes_left_out, 0, data.n_bins[split.feature])
    memset(goes_left_out, 1, min(split.bin + 1, data.n_bins[split.feature]))
    if data.missing_bin[split.feature] >= 0:
        goes_left_out[data.missing_bin[split.feature]] = split.missing_left != 0


cdef void write_set(const uint8_t* goes_left, int n_bins, uint32_t* words_out) noexcept nogil:
    """The bins that go left, as bits of words, which must be 0."""
    cdef int b
    for b in range(n_bins):
        words_out[b // 32] |= <uint32_t>goes_left[b] << (b % 32)


cdef double recall_left(Workspace* ws, const Leaf* leaf, Sums* left_out) noexcept nogil:
    """What `choose_left` finds, of a leaf whose best split another process may have found."""
    cdef const uint32_t* words = ws.left_sets + leaf.mask * ws.set_size
    cdef int b
    if ws.data.categorical[leaf.best.feature]:
        for b in range(ws.data.n_bins[leaf.best.feature]):
            ws.scratch.goes_left[b] = words[b // 32] >> (b % 32) & 1
    else:
        decide_bins(&ws.data, &leaf.best, ws.scratch.goes_left)
    left_out[0] = leaf.shared_split.left
    return leaf.shared_split.l2


cdef double choose_left(
    Shared* shared, Workspace* ws, Leaf* leaf, Sums* left_out,
) noexcept nogil:
    """Which bins of a leaf's split go left, and their sums; the ridge penalty below it."""
    cdef const Binned* data = &ws.data
    cdef const Encoding* encoding = encoding_of(ws, leaf)
    cdef double* scratch = shared.scratch[ws.thread]
    cdef int64_t* room = <int64_t*>(
        scratch + SCRATCH_CUTS * (shared.max_bins + SCRATCH_ROOM))
    cdef double l2 = ws.rules.l2
    cdef bint is_filled = leaf.slot < 0 and ws.n_tiles == 0
    cdef Histogram histogram
    cdef Bins bins
    if leaf.slot < 0:
        gather(ws, leaf, 1)
    if is_filled:
        fill_rows_histogram(shared, ws, leaf, NULL)
    histogram = sums_with(shared, ws, leaf, leaf.best.feature)
    bins = feature_bins(
        data, &histogram, leaf.best.feature, &leaf.stats.sums, encoding, room)
    if data.categorical[leaf.best.feature]:
        left_out[0] = category_set(
            &bins, encoding, &leaf.stats, &ws.rules, &leaf.best, scratch, ws.scratch.goes_left)
        l2 = categories_l2(bins.n_bins, &ws.rules)
    else:
        decide_bins(data, &leaf.best, ws.scratch.goes_left)
        left_out[0] = sums_up_to(&bins, encoding, &leaf.best, <int32_t*>scratch)
    if is_filled:
        clear_rows_histogram(shared, ws, leaf)
    return l2


# ------------------------------------------------------------------ where each row goes

cdef Py_ssize_t decide_sparse(
    const BinColumn* column, const uint64_t* records, Py_ssize_t n, uint64_t id_mask,
    const uint8_t* goes_left, uint8_t* mask_out,
) noexcept nogil:
    """Decide by a sparse column: all rows go with the default bin but some of the stored ones.

    The leaf's rows and the stored ones are both ascending: whichever is behind jumps ahead.
    """
    cdef bint others_left = goes_left[column.default_bin]
    cdef Py_ssize_t n_left = n if others_left else 0
    cdef Py_ssize_t i = 0
    cdef int64_t at = 0
    memset(mask_out, 255 if others_left else 0, (n + 7) // 8)
    while i < n and at < column.length:
        at = gallop(
            column.rows, at, column.length, <uint32_t>0xFFFFFFFF, records[i] & id_mask)
        if at == column.length:
            break
        i = gallop(records, i, n, id_mask, column.rows[at])
        if i < n and (records[i] & id_mask) == column.rows[at]:
            if goes_left[bin_of_stored(column, column.stored[at])] != others_left:
                mask_out[i // 8] ^= <uint8_t>(1 << (i % 8))
                n_left += -1 if others_left else 1
            i += 1
            at += 1
    return n_left


cdef Py_ssize_t decide(
    const BinColumn* column, const uint64_t* records, Py_ssize_t n, uint64_t id_mask,
    const uint8_t* goes_left, uint8_t* mask_out,
) noexcept nogil:
    """Write a bit for each row of a leaf, whether it goes left; returns how many do."""
    if column.width == 1:
        return decide_bytes(
            records, n, id_mask, <const uint8_t*>column.codes, goes_left, mask_out)
    if column.width == 2:
        return decide_shorts(
            records, n, id_mask, <const uint16_t*>column.codes, goes_left, mask_out)
    return decide_sparse(column, records, n, id_mask, goes_left, mask_out)


cdef Py_ssize_t partition_in_place(
    const BinColumn* column, const uint64_t* records, Py_ssize_t n, uint64_t id_mask,
    const uint8_t* goes_left, bint keeps_left, uint8_t* mask, uint64_t* kept_out,
    uint64_t* others_out,
) noexcept nogil:
    """Write the records of one side to ``kept_out``, which may be where they are.

    Those of the other side follow in ``others_out``, behind room for as many. Returns how many
    are kept. ``mask``: a byte for eight rows of a block.
    """
    cdef Py_ssize_t n_kept = 0
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t m
    while first < n:
        m = min(<Py_ssize_t>ROW_BLOCK, n - first)
        decide(column, records + first, m, id_mask, goes_left, mask)
        n_kept += keep_records(
            records + first, m, mask, keeps_left, kept_out + n_kept,
            others_out + first - n_kept)
        first += m
    memmove(others_out + n_kept, others_out, (n - n_kept) * sizeof(uint64_t))
    return n_kept


# ------------------------------------------------------------------ rows of leaves

cdef Py_ssize_t copy_staying(
    const Workspace* ws, const uint64_t* records, Py_ssize_t n, Py_ssize_t n_staying,
    uint64_t* out,
) noexcept nogil:
    """Of some records of a leaf, copy those that no sparse column has moved; returns how many.

    They are at most ``n_staying``, for which there is room.
    """
    cdef Py_ssize_t n_copied = 0
    cdef Py_ssize_t i
    # Every record is stored, and the next one over it if it has left: no branch to mispredict.
    for i in range(n):
        if n_copied == n_staying:
            break
        out[n_copied] = records[i]
        n_copied += ws.stays[records[i] & ws.encoding.id_mask]
    return n_copied


cdef Py_ssize_t count_staying(
    const Workspace* ws, const uint64_t* records, Py_ssize_t n,
) noexcept nogil:
    """Count the records that `copy_staying` copies."""
    cdef Py_ssize_t n_staying = 0
    cdef Py_ssize_t i
    for i in range(n):
        n_staying += ws.stays[records[i] & ws.encoding.id_mask]
    return n_staying


cdef struct Gathering:
    # Each thread has a share of the rows of a leaf.
    const Workspace* ws
    const uint64_t* records
    uint64_t* out
    Py_ssize_t size           # of a share
    Py_ssize_t[MAX_SHARES] n_staying
    Py_ssize_t[MAX_SHARES] n_before


cdef void count_share(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef Gathering* all = <Gathering*>context
    all.n_staying[first // all.size] = count_staying(all.ws, all.records + first, end - first)


cdef void copy_share(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef Gathering* all = <Gathering*>context
    cdef Py_ssize_t share = first // all.size
    copy_staying(
        all.ws, all.records + first, end - first, all.n_staying[share],
        all.out + all.n_before[share])


cdef void gather_shares(Gathering* all, Py_ssize_t n, int n_threads) noexcept nogil:
    """Copy the staying ones of n records, by several threads."""
    cdef Py_ssize_t n_staying = 0
    cdef Py_ssize_t i
    all.size = (n + n_threads - 1) // n_threads
    parallel_shares(count_share, all, n, all.size, n_threads)
    for i in range((n + all.size - 1) // all.size):
        all.n_before[i] = n_staying
        n_staying += all.n_staying[i]
    parallel_shares(copy_share, all, n, all.size, n_threads)


cdef uint64_t* gathered(const Workspace* ws, const Leaf* leaf) noexcept nogil:
    """Where the rows of a leaf are brought together: at the end of its range in the next buffer.

    Those that have left it fill the first part.
    """
    return ws.records[next_buffer(leaf)] + leaf.begin + leaf.n_left_behind


cdef void end_gather(Leaf* leaf) noexcept nogil:
    """Note that the rows of a leaf are together."""
    leaf.buffer = next_buffer(leaf)
    leaf.begin += leaf.n_left_behind
    leaf.n_left_behind = 0


cdef void gather(Workspace* ws, Leaf* leaf, int n_threads) noexcept nogil:
    """Bring the rows of a leaf together, where stored rows of sparse columns have left it."""
    cdef Py_ssize_t n = leaf.end - leaf.begin
    cdef Gathering all
    if leaf.n_left_behind == 0:
        return
    all.ws = ws
    all.records = ws.records[leaf.buffer] + leaf.begin
    all.out = gathered(ws, leaf)
    n_threads = min(n_threads, <int>MAX_SHARES)
    if n_threads == 1 or n < MIN_ROWS_FOR_TEAM:
        copy_staying(ws, all.records, n, n - leaf.n_left_behind, all.out)
    else:
        gather_shares(&all, n, n_threads)
    end_gather(leaf)


cdef struct RootIndex:
    const uint32_t* ids       # ascending; NULL: all rows
    Py_ssize_t n
    Py_ssize_t n_rows         # of the store
    uint8_t* stays
    uint32_t* position


cdef void index_block(void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil:
    cdef RootIndex* root = <RootIndex*>context
    cdef Py_ssize_t first, last, i
    if root.ids == NULL:
        memset(root.stays + begin, True, end - begin)
        return
    first = root.ids[begin] if begin > 0 else 0
    last = root.ids[end] if end < root.n else root.n_rows
    memset(root.stays + first, False, last - first)
    for i in range(begin, end):
        root.stays[root.ids[i]] = True
        root.position[root.ids[i]] = <uint32_t>i


cdef void index_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Let all rows of the round stay with the root's records, and note where there they are."""
    cdef Py_ssize_t n = round.gradients.n
    cdef RootIndex root = RootIndex(
        round.gradients.ids, n, shared.data.n_rows, ws.stays, ws.root_position)
    if n == 0:
        memset(ws.stays, False, root.n_rows)
    parallel_shares(
        index_block, &root, n, ROW_BLOCK, ws.n_threads if n > MIN_ROWS_FOR_TEAM else 1)


cdef const uint8_t* by_code(const Workspace* ws, const BinColumn* column) noexcept nogil:
    """Which codes of a column go left; bins where it is sparse. Only bytes are shared."""
    cdef int c
    if column.width == 0 or column.default_bin < 0:
        return ws.scratch.goes_left
    for c in range(LANE_CODES):
        ws.scratch.code_goes_left[c] = ws.scratch.goes_left[bin_of_code(column, c)]
    return ws.scratch.code_goes_left


cdef void keep_larger(
    Workspace* ws, const Leaf* parent, const BinColumn* column, Leaf* left, Leaf* right,
) noexcept nogil:
    """Move the rows of a leaf to its children, but let those of the larger one stay."""
    cdef bint keeps_left = left.stats.sums.count >= right.stats.sums.count
    cdef Leaf* kept = left if keeps_left else right
    cdef Leaf* other = right if keeps_left else left
    # The root's records, which sparse columns know by row, are left as they are.
    kept.buffer = 0 if parent.buffer == ROOT_BUFFER else parent.buffer
    other.buffer = next_buffer(kept)
    kept.begin = parent.begin
    kept.end = other.begin = parent.begin + partition_in_place(
        column, ws.records[parent.buffer] + parent.begin, parent.end - parent.begin,
        ws.encoding.id_mask, by_code(ws, column), keeps_left, ws.scratch.mask,
        ws.records[kept.buffer] + parent.begin, ws.records[other.buffer] + parent.begin)
    other.end = parent.end


cdef void start_children(const Leaf* parent, Leaf* left, Leaf* right) noexcept nogil:
    """Let the children have the range of their parent's rows, in the other buffer."""
    left.buffer = right.buffer = next_buffer(parent)
    left.begin = left.end = right.begin = parent.begin
    right.end = parent.end


cdef void partition_rows(
    Workspace* ws, Leaf* parent, const BinColumn* column, Leaf* left, Leaf* right,
) noexcept nogil:
    """Move the rows of a leaf to its children.

    A leaf that is divided ahead of its turn may get its rows back, so its records stay whole.
    """
    cdef const uint64_t* records
    cdef Py_ssize_t n, n_left
    gather(ws, parent, 1)
    if not ws.divides_ahead:
        keep_larger(ws, parent, column, left, right)
        return
    start_children(parent, left, right)
    n = parent.end - parent.begin
    records = ws.records[parent.buffer] + parent.begin
    n_left = decide(
        column, records, n, ws.encoding.id_mask, by_code(ws, column), ws.scratch.mask)
    move_records(
        records, n, n_left, ws.scratch.mask, ws.records[left.buffer] + left.begin,
        ws.records[left.buffer] + left.begin + n_left)
    left.end = right.begin = left.begin + n_left


# ------------------------------------------------------------------ stored rows

cdef StoredMove start_stored(
    const Shared* shared, const Workspace* ws, const Leaf* parent, const BinColumn* column,
    Leaf* left, Leaf* right,
) noexcept nogil:
    """Let the stored rows of a column leave for one child, and the others stay for the other."""
    cdef StoredMove move
    cdef bint others_left = column.rows != NULL and ws.scratch.goes_left[column.default_bin]
    move.column = column
    move.small = right if others_left else left
    move.large = left if others_left else right
    move.sampled = ws.n_rows < shared.data.n_rows
    move.large.begin = parent.begin
    move.large.end = parent.end
    move.large.buffer = parent.buffer
    move.small.buffer = next_buffer(parent)
    move.small.begin = parent.begin + parent.n_left_behind
    move.n_most = min(parent.end - move.small.begin, move.small.stats.sums.count)
    move.out = ws.records[move.small.buffer] + move.small.begin
    # The other buffer has room for the rows that stay.
    move.taken = ws.records[next_buffer(move.small)] + move.small.begin
    move.is_shared = column.length <= parent.end - move.small.begin
    return move


cdef bint moves_stored_rows(const StoredMove* move, const Leaf* parent) noexcept nogil:
    """Whether few rows leave a leaf, and a sparse column tells which.

    Only where the leaf's records are the root's, which nothing overwrites as long as the rows
    that stay behind are mixed with those that left.
    """
    return (
        move.column.rows != NULL
        and parent.buffer == ROOT_BUFFER
        and 2 * move.small.stats.sums.count < parent.stats.sums.count
        and ROWS_PER_STORED * move.column.length < parent.end - parent.begin
    )


cdef Py_ssize_t take_stored(
    Workspace* ws, const StoredMove* move, Py_ssize_t first, Py_ssize_t last,
    uint64_t* records_out,
) noexcept nogil:
    """Of some stored rows, copy the records of those that leave; returns how many.

    They are at most ``n_most``, for which there is room.
    """
    cdef const BinColumn* column = move.column
    cdef bint others_left = ws.scratch.goes_left[column.default_bin]
    cdef const uint64_t* root = ws.records[ROOT_BUFFER]
    cdef Py_ssize_t n = 0
    cdef bint leaves
    cdef uint32_t row
    cdef int64_t i
    # Every record is stored, and the next one over it if it stays: no branch to mispredict.
    for i in range(first, last):
        if n == move.n_most:
            break
        row = column.rows[i]
        leaves = ws.stays[row] & (
            ws.scratch.goes_left[bin_of_stored(column, column.stored[i])] != others_left)
        records_out[n] = root[ws.root_position[row] if move.sampled else row]
        ws.stays[row] ^= leaves
        n += leaves
    return n


cdef void end_stored(
    const StoredMove* move, const Leaf* parent, Py_ssize_t n_taken,
) noexcept nogil:
    """Note how many rows leave."""
    move.small.end = move.small.begin + n_taken
    move.large.n_left_behind = parent.n_left_behind + n_taken


cdef void rows_to_children(
    Shared* shared, Workspace* ws, Leaf* parent, const BinColumn* column, Leaf* left,
    Leaf* right,
) noexcept nogil:
    """Move the rows of a leaf to its children, all of them or only the stored ones."""
    cdef StoredMove move = start_stored(shared, ws, parent, column, left, right)
    if moves_stored_rows(&move, parent):
        end_stored(&move, parent, take_stored(ws, &move, 0, column.length, move.out))
    else:
        partition_rows(ws, parent, column, left, right)


# ------------------------------------------------------------------ several threads
#
# The rows of a leaf, or the stored rows of its column, are looked through in chunks. What is found
# of each is counted; then a second list of tasks writes it to where those before it end.

cdef void decide_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Decide which of some rows of a leaf go left."""
    cdef Division* division = &batch.divisions[task.index]
    cdef Workspace* ws = division.ws
    task.n_found = decide(
        division.column, ws.records[division.parent.buffer] + division.parent.begin + task.first,
        task.end - task.first, ws.encoding.id_mask, division.goes_left,
        ws.scratch.mask + task.first // 8)


cdef void move_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Move some rows of a leaf to its children."""
    cdef Division* division = &batch.divisions[task.index]
    cdef Workspace* ws = division.ws
    cdef uint64_t* out = ws.records[division.left.buffer] + division.parent.begin
    move_records(
        ws.records[division.parent.buffer] + division.parent.begin + task.first,
        task.end - task.first, task.n_found, ws.scratch.mask + task.first // 8,
        out + task.n_before, out + division.n_found + task.first - task.n_before)


cdef void count_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Count which of some records of a leaf no sparse column has moved."""
    cdef Division* division = &batch.divisions[task.index]
    cdef const Workspace* ws = division.ws
    task.n_found = count_staying(
        ws, ws.records[division.parent.buffer] + division.parent.begin + task.first,
        task.end - task.first)


cdef void gather_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Bring some rows of a leaf together with the others."""
    cdef Division* division = &batch.divisions[task.index]
    cdef Workspace* ws = division.ws
    cdef const Leaf* leaf = &division.parent
    copy_staying(
        ws, ws.records[leaf.buffer] + leaf.begin + task.first, task.end - task.first,
        task.n_found, gathered(ws, leaf) + task.n_before)


cdef void take_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Take some stored rows of a column out of a leaf."""
    cdef Division* division = &batch.divisions[task.index]
    cdef const StoredMove* move = &division.stored
    task.n_found = take_stored(
        division.ws, move, task.first, task.end, move.taken + task.first)


cdef void copy_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Bring the stored rows that were taken out together."""
    cdef const StoredMove* move = &batch.divisions[task.index].stored
    memcpy(move.out + task.n_before, move.taken + task.first, task.n_found * sizeof(uint64_t))


cdef void list_first(
    Batch* batch, int index, Py_ssize_t n, Py_ssize_t size, TaskBody body, TaskBody follow,
) noexcept nogil:
    """List the tasks that look through n rows in chunks."""
    cdef Division* division = &batch.divisions[index]
    cdef Py_ssize_t first = 0
    division.first_chunk = batch.tasks.n
    while first < n:
        add_task(batch, body, index, 0, first, min(first + size, n))
        first += size
    division.end_chunk = batch.tasks.n
    let_follow(batch, division.first_chunk, &division.n_open, follow)


cdef void list_second(Batch* batch, int index, TaskBody body, TaskBody follow) noexcept nogil:
    """List the tasks that write what is found in each chunk, after what those before it have."""
    cdef Division* division = &batch.divisions[index]
    cdef const Task* found
    cdef Task* task
    cdef int first = batch.tasks.n
    cdef int i
    division.n_found = 0
    for i in range(division.first_chunk, division.end_chunk):
        found = <Task*>item_at(&batch.tasks, i)
        task = add_task(batch, body, index, 0, found.first, found.end)
        if task == NULL:
            return
        task.n_found = found.n_found
        task.n_before = division.n_found
        division.n_found += task.n_found
    let_follow(batch, first, &division.n_open, follow)


cdef void after_take(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    cdef Division* division = &batch.divisions[task.index]
    begin_adding(batch)
    list_second(batch, task.index, copy_task, batch.after_move)
    end_stored(&division.stored, &division.parent, division.n_found)
    end_adding(batch)


cdef void after_count(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    begin_adding(batch)
    list_second(batch, task.index, gather_task, after_gather)
    end_adding(batch)


cdef void after_gather(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    end_gather(&batch.divisions[task.index].parent)
    list_decisions(batch, task.index)


cdef void after_decide(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    cdef Division* division = &batch.divisions[task.index]
    begin_adding(batch)
    list_second(batch, task.index, move_task, batch.after_move)
    division.left.end = division.right.begin = division.left.begin + division.n_found
    end_adding(batch)


cdef void list_decisions(Batch* batch, int index) noexcept nogil:
    """List the tasks that decide where the rows of a leaf go, which are together."""
    cdef Division* division = &batch.divisions[index]
    start_children(&division.parent, division.left, division.right)
    begin_adding(batch)
    list_first(
        batch, index, division.parent.end - division.parent.begin, batch.chunk_size, decide_task,
        after_decide)
    end_adding(batch)


cdef void list_rows(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """List the first tasks of those that move the rows of a leaf to its children."""
    cdef Division* division = &batch.divisions[task.index]
    cdef Workspace* ws = division.ws
    cdef const Leaf* parent = &division.parent
    cdef StoredMove* move = &division.stored
    division.goes_left = by_code(ws, division.column)
    move[0] = start_stored(
        shared, ws, parent, division.column, division.left, division.right)
    if not moves_stored_rows(move, parent):
        if parent.n_left_behind > 0:
            begin_adding(batch)
            list_first(
                batch, task.index, parent.end - parent.begin, batch.chunk_size, count_task,
                after_count)
            end_adding(batch)
        else:
            list_decisions(batch, task.index)
    elif move.is_shared and division.column.length > 0:
        begin_adding(batch)
        list_first(
            batch, task.index, division.column.length, batch.chunk_size // ROWS_PER_STORED,
            take_task, after_take)
        end_adding(batch)
    else:
        end_stored(
            move, parent, take_stored(ws, move, 0, division.column.length, move.out))
        batch.after_move(shared, batch, task, thread)


cdef void return_rows(Workspace* ws, const Leaf* parent, const Leaf* child) noexcept nogil:
    """Let the rows of a child be its parent's again."""
    cdef const uint64_t* records = ws.records[child.buffer]
    cdef Py_ssize_t i
    if parent.buffer == ROOT_BUFFER and child.buffer != ROOT_BUFFER:
        for i in range(child.begin, child.end):
            ws.stays[records[i] & ws.encoding.id_mask] = True
