"""Which bins of a leaf's split go left, and how its rows move to its children.

A stable partition passes over all rows of the leaf. One thread keeps those of the larger child in
their buffer, and moves the others to another one. In a speculative split, or with several threads,
all rows are moved. If the split column is sparse and moves few of its stored rows, only these are
moved, and the others stay in place.

The rows of a leaf are its records, 64-bit integers that contain the row number (``id_mask``), in a
range of one of three buffers. The root has ROOT_BUFFER if there are sparse columns, and rows that
move go to one of the other two (`next_buffer`). Records ascend by row number. If only stored rows
are moved out of a leaf, its range also holds records that are no longer in the leaf; `gather`
copies those that remain.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from skgoss._engine.binning.store cimport BinColumn, bin_of_code, bin_of_stored
from skgoss._engine.threads cimport parallel_shares
from skgoss._engine.training.histogram cimport (
    clear_small_histogram, fill_small_histogram, histogram_with)
from skgoss._engine.training.layout cimport LANE_CODES, Binned, Encoding, Histogram, Sums
from skgoss._engine.training.split cimport (
    SCRATCH_CUTS, SCRATCH_PADDING, Bins, Split, add_sums, bin_sums, bins_in_set, categories_l2,
    category_set, feature_bins)
from skgoss._engine.training.tasks cimport (
    Batch, Division, StoredMove, Task, TaskBody, add_task, item_at, lock_tasks, publish_tasks,
    set_continuation)
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
        uint64_t* kept_out, uint64_t* moved_out)

cdef enum:
    # Rows whose records stay in the nearest cache until they are moved.
    ROW_BLOCK = 1024
    MAX_SHARES = 64           # of rows, one for each thread
    # Finding a stored row takes as long as moving this number of rows to the children.
    ROWS_PER_STORED = 4

# ------------------------------------------------------------------ the two sides of a split

cdef Sums sums_up_to(
    const Bins* bins, const Encoding* encoding, const Split* split, int32_t* buffer,
) noexcept nogil:
    """The sums of the bins that go left of a cut, with the missing bin if it does.

    ``bins``: of the split's feature in the leaf. ``buffer``: work space of a number for each bin.
    """
    cdef Sums sums
    cdef int i, b
    cdef int n = min(split.bin + 1, bins.n_bins)
    memset(&sums, 0, sizeof(Sums))
    if split.missing_left and bins.missing_bin > split.bin:
        sums = bin_sums(bins, bins.missing_bin, encoding)
    if bins.occupied != NULL:
        n = bins_in_set(bins, 0, n, buffer)
    for i in range(n):
        b = i if bins.occupied == NULL else buffer[i]
        if b != bins.missing_bin or split.missing_left:
            sums = add_sums(sums, bin_sums(bins, b, encoding))
    return sums


cdef void decide_bins(
    const Binned* data, const Split* split, uint8_t* goes_left_out,
) noexcept nogil:
    """Write which bins of the split's feature go left of a cut (1) or right (0), by bin."""
    memset(goes_left_out, 0, data.n_bins[split.feature])
    memset(goes_left_out, 1, min(split.bin + 1, data.n_bins[split.feature]))
    if data.missing_bin[split.feature] >= 0:
        goes_left_out[data.missing_bin[split.feature]] = split.missing_left != 0


cdef void write_set(const uint8_t* goes_left, int n_bins, uint32_t* words_out) noexcept nogil:
    """Set the bits of the bins that go left, in words that are 0.

    Bin b has bit b % 32 of word b // 32.
    """
    cdef int b
    for b in range(n_bins):
        words_out[b // 32] |= <uint32_t>goes_left[b] << (b % 32)


cdef double restore_left(Workspace* ws, const Leaf* leaf, Sums* left_out) noexcept nogil:
    """Restore what `choose_left` has written where the split was found, perhaps elsewhere.

    That is ``scratch.goes_left`` and the sums of the left side; returns the ridge penalty of the
    children. The process that found the split has sent them: see `exchange_splits`.
    """
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
    """Write the bins of a leaf's split that go left to ``scratch.goes_left``, and their sums.

    Returns the ridge penalty of the children.
    """
    cdef const Binned* data = &ws.data
    cdef const Encoding* encoding = encoding_of(ws, leaf)
    cdef double* scratch = shared.scratch[ws.thread]
    cdef int64_t* buffer = <int64_t*>(
        scratch + SCRATCH_CUTS * (shared.max_bins + SCRATCH_PADDING))
    cdef double l2 = ws.rules.l2
    cdef bint is_filled = leaf.slot < 0 and ws.n_tiles == 0
    cdef Histogram histogram
    cdef Bins bins
    if leaf.slot < 0:
        gather(ws, leaf, 1)
    if is_filled:
        fill_small_histogram(shared, ws, leaf, NULL)
    histogram = histogram_with(shared, ws, leaf, leaf.best.feature)
    bins = feature_bins(
        data, &histogram, leaf.best.feature, &leaf.stats.sums, encoding, buffer)
    if data.categorical[leaf.best.feature]:
        left_out[0] = category_set(
            &bins, encoding, &leaf.stats, &ws.rules, &leaf.best, scratch, ws.scratch.goes_left)
        l2 = categories_l2(bins.n_bins, &ws.rules)
    else:
        decide_bins(data, &leaf.best, ws.scratch.goes_left)
        left_out[0] = sums_up_to(&bins, encoding, &leaf.best, <int32_t*>scratch)
    if is_filled:
        clear_small_histogram(shared, ws, leaf)
    return l2


# ------------------------------------------------------------------ where each row goes

cdef Py_ssize_t decide_sparse(
    const BinColumn* column, const uint64_t* records, Py_ssize_t n, uint64_t id_mask,
    const uint8_t* goes_left, uint8_t* mask_out,
) noexcept nogil:
    """Decide by a sparse column: all rows go with the default bin, except some of the stored ones.

    The leaf's rows and the stored rows are both ascending, and are merged by galloping.

    - ``goes_left``: by bin.
    - ``mask_out``: a bit for each of the n rows; returns how many go left.
    """
    cdef bint default_left = goes_left[column.default_bin]
    cdef Py_ssize_t n_left = n if default_left else 0
    cdef Py_ssize_t i = 0
    cdef int64_t entry = 0
    memset(mask_out, 255 if default_left else 0, (n + 7) // 8)
    while i < n and entry < column.length:
        entry = gallop(
            column.rows, entry, column.length, <uint32_t>0xFFFFFFFF, records[i] & id_mask)
        if entry == column.length:
            break
        i = gallop(records, i, n, id_mask, column.rows[entry])
        if i < n and (records[i] & id_mask) == column.rows[entry]:
            if goes_left[bin_of_stored(column, column.stored[entry])] != default_left:
                mask_out[i // 8] ^= <uint8_t>(1 << (i % 8))
                n_left += -1 if default_left else 1
            i += 1
            entry += 1
    return n_left


cdef Py_ssize_t decide(
    const BinColumn* column, const uint64_t* records, Py_ssize_t n, uint64_t id_mask,
    const uint8_t* goes_left, uint8_t* mask_out,
) noexcept nogil:
    """Write a bit for each of n rows of a leaf: whether it goes left. Returns how many do.

    ``goes_left``: by code of the column, or by bin if it is sparse only (see `by_code`).
    """
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
    uint64_t* moved_out,
) noexcept nogil:
    """Write the records of one side to ``kept_out``, which may be where they are.

    Those of the other side are written to ``moved_out`` from the number of kept records on, so that
    both sides together take the range of the leaf. Returns this number. ``mask``: work space of a
    byte for eight rows of a block. ``goes_left``: see `decide`.
    """
    cdef Py_ssize_t n_kept = 0
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t m
    while first < n:
        m = min(<Py_ssize_t>ROW_BLOCK, n - first)
        decide(column, records + first, m, id_mask, goes_left, mask)
        n_kept += keep_records(
            records + first, m, mask, keeps_left, kept_out + n_kept,
            moved_out + first - n_kept)
        first += m
    memmove(moved_out + n_kept, moved_out, (n - n_kept) * sizeof(uint64_t))
    return n_kept


# ------------------------------------------------------------------ rows of leaves

cdef Py_ssize_t copy_remaining(
    const Workspace* ws, const uint64_t* records, Py_ssize_t n, Py_ssize_t n_remaining,
    uint64_t* out,
) noexcept nogil:
    """Of some records of a leaf, copy those that no sparse column has moved; returns how many.

    ``out`` holds ``n_remaining`` records, which must be their number.
    """
    cdef Py_ssize_t n_copied = 0
    cdef Py_ssize_t i
    # Every record is stored, and overwritten by the next one if it was moved: there is no branch
    # to mispredict.
    for i in range(n):
        if n_copied == n_remaining:
            break
        out[n_copied] = records[i]
        n_copied += ws.in_root_leaf[records[i] & ws.encoding.id_mask]
    return n_copied


cdef Py_ssize_t count_remaining(
    const Workspace* ws, const uint64_t* records, Py_ssize_t n,
) noexcept nogil:
    """Count the records that `copy_remaining` copies."""
    cdef Py_ssize_t n_remaining = 0
    cdef Py_ssize_t i
    for i in range(n):
        n_remaining += ws.in_root_leaf[records[i] & ws.encoding.id_mask]
    return n_remaining


cdef struct GatherLoop:
    # Each thread gets a range of the rows of a leaf.
    const Workspace* ws
    const uint64_t* records
    uint64_t* out
    Py_ssize_t size           # rows of a thread's range (share)
    Py_ssize_t[MAX_SHARES] n_remaining  # of each share: records that are copied
    Py_ssize_t[MAX_SHARES] n_before     # of each share: those of earlier shares


cdef void count_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Count the remaining records of a share."""
    cdef GatherLoop* loop = <GatherLoop*>context
    loop.n_remaining[first // loop.size] = count_remaining(
        loop.ws, loop.records + first, end - first)


cdef void copy_body(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    """Copy the remaining records of a share behind those of earlier shares."""
    cdef GatherLoop* loop = <GatherLoop*>context
    cdef Py_ssize_t share = first // loop.size
    copy_remaining(
        loop.ws, loop.records + first, end - first, loop.n_remaining[share],
        loop.out + loop.n_before[share])


cdef void gather_shares(GatherLoop* loop, Py_ssize_t n, int n_threads) noexcept nogil:
    """Copy those of n records that remain in a leaf, by several threads.

    First each thread counts those of its share, so that it is known where they go.
    """
    cdef Py_ssize_t n_remaining = 0
    cdef Py_ssize_t i
    loop.size = (n + n_threads - 1) // n_threads
    parallel_shares(count_body, loop, n, loop.size, n_threads)
    for i in range((n + loop.size - 1) // loop.size):
        loop.n_before[i] = n_remaining
        n_remaining += loop.n_remaining[i]
    parallel_shares(copy_body, loop, n, loop.size, n_threads)


cdef uint64_t* gather_target(const Workspace* ws, const Leaf* leaf) noexcept nogil:
    """Where the rows of a leaf are gathered: at the end of its range in the next buffer.

    The beginning of the range holds the rows that were removed from it.
    """
    return ws.records[next_buffer(leaf)] + leaf.begin + leaf.n_removed


cdef void end_gather(Leaf* leaf) noexcept nogil:
    """Update the range of a leaf whose rows have been gathered."""
    leaf.buffer = next_buffer(leaf)
    leaf.begin += leaf.n_removed
    leaf.n_removed = 0


cdef void gather(Workspace* ws, Leaf* leaf, int n_threads) noexcept nogil:
    """Gather the rows of a leaf if splits by sparse columns have removed some of its range.

    Such splits only move the rows out that a child needs, so that the leaf's range still has their
    records. The others are copied, in their order, to the next buffer.
    """
    cdef Py_ssize_t n = leaf.end - leaf.begin
    cdef GatherLoop loop
    if leaf.n_removed == 0:
        return
    loop.ws = ws
    loop.records = ws.records[leaf.buffer] + leaf.begin
    loop.out = gather_target(ws, leaf)
    n_threads = min(n_threads, <int>MAX_SHARES)
    if n_threads == 1 or n < MIN_ROWS_FOR_TEAM:
        copy_remaining(ws, loop.records, n, n - leaf.n_removed, loop.out)
    else:
        gather_shares(&loop, n, n_threads)
    end_gather(leaf)


cdef struct IndexLoop:
    const uint32_t* ids       # the rows of the root, ascending; NULL: all rows
    Py_ssize_t n              # of them
    Py_ssize_t n_rows         # of the store
    uint8_t* in_root_leaf
    uint32_t* position


cdef void index_body(void* context, Py_ssize_t begin, Py_ssize_t end, int thread) noexcept nogil:
    """Mark the root's rows ``ids[begin:end]``, and unmark other rows up to the next one."""
    cdef IndexLoop* loop = <IndexLoop*>context
    cdef Py_ssize_t first, last, i
    if loop.ids == NULL:
        memset(loop.in_root_leaf + begin, True, end - begin)
        return
    first = loop.ids[begin] if begin > 0 else 0
    last = loop.ids[end] if end < loop.n else loop.n_rows
    memset(loop.in_root_leaf + first, False, last - first)
    for i in range(begin, end):
        loop.in_root_leaf[loop.ids[i]] = True
        loop.position[loop.ids[i]] = <uint32_t>i


cdef void index_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil:
    """Mark the rows of the round as those of the root, and index its records by row.

    So `take_stored` finds the record of a row: ``in_root_leaf``, by row, says whether it is still
    in a leaf with the root's records, and ``root_position`` where its record is.
    """
    cdef Py_ssize_t n = round.gradients.n
    cdef IndexLoop loop = IndexLoop(
        round.gradients.ids, n, shared.data.n_rows, ws.in_root_leaf, ws.root_position)
    if n == 0:
        memset(ws.in_root_leaf, False, loop.n_rows)
    parallel_shares(
        index_body, &loop, n, ROW_BLOCK, ws.n_threads if n > MIN_ROWS_FOR_TEAM else 1)


cdef const uint8_t* by_code(const Workspace* ws, const BinColumn* column) noexcept nogil:
    """Which codes of a column go left; for sparse columns, which bins.

    From ``scratch.goes_left``, by bin.
    """
    cdef int c
    # Only codes of one byte may be those of a bundle, and differ from the bins.
    if column.width == 0 or column.default_bin < 0:
        return ws.scratch.goes_left
    for c in range(LANE_CODES):
        ws.scratch.code_goes_left[c] = ws.scratch.goes_left[bin_of_code(column, c)]
    return ws.scratch.code_goes_left


cdef void keep_larger(
    Workspace* ws, const Leaf* parent, const BinColumn* column, Leaf* left, Leaf* right,
) noexcept nogil:
    """Move the rows of a leaf to its children; those of the larger one stay in their buffer.

    Sets the ranges and buffers of ``left`` and ``right``, whose counts are known.
    """
    cdef bint keeps_left = left.stats.sums.count >= right.stats.sums.count
    cdef Leaf* kept = left if keeps_left else right
    cdef Leaf* other = right if keeps_left else left
    # The root's records are not overwritten: `take_stored` finds them by row.
    kept.buffer = 0 if parent.buffer == ROOT_BUFFER else parent.buffer
    other.buffer = next_buffer(kept)
    kept.begin = parent.begin
    kept.end = other.begin = parent.begin + partition_in_place(
        column, ws.records[parent.buffer] + parent.begin, parent.end - parent.begin,
        ws.encoding.id_mask, by_code(ws, column), keeps_left, ws.scratch.mask,
        ws.records[kept.buffer] + parent.begin, ws.records[other.buffer] + parent.begin)
    other.end = parent.end


cdef void start_children(const Leaf* parent, Leaf* left, Leaf* right) noexcept nogil:
    """Give the children the range of their parent's rows, in the next buffer."""
    left.buffer = right.buffer = next_buffer(parent)
    left.begin = left.end = right.begin = parent.begin
    right.end = parent.end


cdef void partition_rows(
    Workspace* ws, Leaf* parent, const BinColumn* column, Leaf* left, Leaf* right,
) noexcept nogil:
    """Move the rows of a leaf to its children.

    A speculative split may be undone, so the records of its leaf are not overwritten.
    """
    cdef const uint64_t* records
    cdef Py_ssize_t n, n_left
    gather(ws, parent, 1)
    if not ws.is_speculative:
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
    """Prepare to move the stored rows of a column to one child, and keep the others in place.

    The child with the default bin (``large``) keeps the range of its parent. The other one
    (``small``) gets the next buffer, behind the places that `gather` needs for rows removed before.
    """
    cdef StoredMove move
    cdef bint default_left = column.rows != NULL and ws.scratch.goes_left[column.default_bin]
    move.column = column
    move.small = right if default_left else left
    move.large = left if default_left else right
    move.sampled = ws.n_rows < shared.data.n_rows
    move.large.begin = parent.begin
    move.large.end = parent.end
    move.large.buffer = parent.buffer
    move.small.buffer = next_buffer(parent)
    move.small.begin = parent.begin + parent.n_removed
    move.max_moved = min(parent.end - move.small.begin, move.small.stats.sums.count)
    move.out = ws.records[move.small.buffer] + move.small.begin
    # This range of the other buffer is not used as long as rows stay in place.
    move.taken = ws.records[next_buffer(move.small)] + move.small.begin
    move.in_parallel = column.length <= parent.end - move.small.begin
    return move


cdef bint moves_stored_rows(const StoredMove* move, const Leaf* parent) noexcept nogil:
    """Whether a split by a sparse column moves few rows of a leaf, and so only these.

    The leaf's records must be the root's: these are never overwritten, so ranges that contain
    removed rows stay valid.
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
    """Copy the records of those of the stored rows [first, last) that move; returns how many.

    A row moves if it is in this leaf, and its bin is not on the side of the default bin. They are
    at most ``max_moved``, the size of ``records_out``.
    """
    cdef const BinColumn* column = move.column
    cdef bint default_left = ws.scratch.goes_left[column.default_bin]
    cdef const uint64_t* root_records = ws.records[ROOT_BUFFER]
    cdef Py_ssize_t n = 0
    cdef bint moves
    cdef uint32_t row
    cdef int64_t i
    # Every record is stored, and overwritten by the next one if it stays: there is no branch to
    # mispredict.
    for i in range(first, last):
        if n == move.max_moved:
            break
        row = column.rows[i]
        moves = ws.in_root_leaf[row] & (
            ws.scratch.goes_left[bin_of_stored(column, column.stored[i])] != default_left)
        records_out[n] = root_records[ws.root_position[row] if move.sampled else row]
        ws.in_root_leaf[row] ^= moves
        n += moves
    return n


cdef void end_stored(
    const StoredMove* move, const Leaf* parent, Py_ssize_t n_taken,
) noexcept nogil:
    """Update the ranges of the children by the number of rows that were moved.

    The larger child keeps the parent's range, in which ``n_removed`` records are no longer its
    rows.
    """
    move.small.end = move.small.begin + n_taken
    move.large.n_removed = parent.n_removed + n_taken


cdef void rows_to_children(
    Shared* shared, Workspace* ws, Leaf* parent, const BinColumn* column, Leaf* left,
    Leaf* right,
) noexcept nogil:
    """Move the rows of a leaf to its children, all of them or only the stored ones.

    ``column``: the bins of the split's feature. ``left``, ``right``: their sums are known; they get
    ranges and buffers. ``scratch.goes_left`` has the bins that go left.
    """
    cdef StoredMove move = start_stored(shared, ws, parent, column, left, right)
    if moves_stored_rows(&move, parent):
        end_stored(&move, parent, take_stored(ws, &move, 0, column.length, move.out))
    else:
        partition_rows(ws, parent, column, left, right)


# ------------------------------------------------------------------ several threads
#
# There are two passes over chunks of the rows of a leaf, or of the stored rows of its column. Tasks
# of the first pass find rows and count them. Then it is known where those of each chunk begin, and
# tasks of the second pass write them there.

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
    """Count those of some records of a leaf that no sparse column has moved."""
    cdef Division* division = &batch.divisions[task.index]
    cdef const Workspace* ws = division.ws
    task.n_found = count_remaining(
        ws, ws.records[division.parent.buffer] + division.parent.begin + task.first,
        task.end - task.first)


cdef void gather_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Gather some rows of a leaf."""
    cdef Division* division = &batch.divisions[task.index]
    cdef Workspace* ws = division.ws
    cdef const Leaf* leaf = &division.parent
    copy_remaining(
        ws, ws.records[leaf.buffer] + leaf.begin + task.first, task.end - task.first,
        task.n_found, gather_target(ws, leaf) + task.n_before)


cdef void take_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Find those of some stored rows of a column that move."""
    cdef Division* division = &batch.divisions[task.index]
    cdef const StoredMove* move = &division.stored
    task.n_found = take_stored(
        division.ws, move, task.first, task.end, move.taken + task.first)


cdef void copy_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """Copy the stored rows that were found in a chunk behind those of earlier chunks."""
    cdef const StoredMove* move = &batch.divisions[task.index].stored
    memcpy(move.out + task.n_before, move.taken + task.first, task.n_found * sizeof(uint64_t))


cdef void list_first_pass(
    Batch* batch, int index, Py_ssize_t n, Py_ssize_t size, TaskBody body, TaskBody continuation,
) noexcept nogil:
    """List the tasks of the first pass, over n rows in chunks of ``size``.

    ``index``: of the division (a leaf that is divided) in the batch. ``continuation`` is called
    after the last task.
    """
    cdef Division* division = &batch.divisions[index]
    cdef Py_ssize_t first = 0
    division.first_chunk = batch.tasks.n
    while first < n:
        add_task(batch, body, index, 0, first, min(first + size, n))
        first += size
    division.end_chunk = batch.tasks.n
    set_continuation(batch, division.first_chunk, &division.n_open, continuation)


cdef void list_second_pass(
    Batch* batch, int index, TaskBody body, TaskBody continuation,
) noexcept nogil:
    """List the tasks of the second pass, which write what the first pass has found.

    There is one for each chunk of the first pass; it knows how many rows earlier chunks have found.
    """
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
    set_continuation(batch, first, &division.n_open, continuation)


cdef void after_take(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """After all chunks of stored rows: list the tasks that copy those that were found."""
    cdef Division* division = &batch.divisions[task.index]
    lock_tasks(batch)
    list_second_pass(batch, task.index, copy_task, batch.after_move)
    end_stored(&division.stored, &division.parent, division.n_found)
    publish_tasks(batch)


cdef void after_count(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """After the remaining rows are counted: list the tasks that gather them."""
    lock_tasks(batch)
    list_second_pass(batch, task.index, gather_task, after_gather)
    publish_tasks(batch)


cdef void after_gather(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """After the rows are gathered: list the tasks that decide where they go."""
    end_gather(&batch.divisions[task.index].parent)
    list_decisions(batch, task.index)


cdef void after_decide(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """After all decisions: list the tasks that move rows, and set the children's ranges."""
    cdef Division* division = &batch.divisions[task.index]
    lock_tasks(batch)
    list_second_pass(batch, task.index, move_task, batch.after_move)
    division.left.end = division.right.begin = division.left.begin + division.n_found
    publish_tasks(batch)


cdef void list_decisions(Batch* batch, int index) noexcept nogil:
    """List the tasks that decide where the rows of a leaf go, once these are gathered.

    ``index``: of the division (a leaf that is divided) in the batch.
    """
    cdef Division* division = &batch.divisions[index]
    start_children(&division.parent, division.left, division.right)
    lock_tasks(batch)
    list_first_pass(
        batch, index, division.parent.end - division.parent.begin, batch.chunk_size, decide_task,
        after_decide)
    publish_tasks(batch)


cdef void list_rows(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil:
    """List the first tasks that move the rows of a leaf to its children."""
    cdef Division* division = &batch.divisions[task.index]
    cdef Workspace* ws = division.ws
    cdef const Leaf* parent = &division.parent
    cdef StoredMove* move = &division.stored
    division.goes_left = by_code(ws, division.column)
    move[0] = start_stored(
        shared, ws, parent, division.column, division.left, division.right)
    if not moves_stored_rows(move, parent):
        if parent.n_removed > 0:
            lock_tasks(batch)
            list_first_pass(
                batch, task.index, parent.end - parent.begin, batch.chunk_size, count_task,
                after_count)
            publish_tasks(batch)
        else:
            list_decisions(batch, task.index)
    elif move.in_parallel and division.column.length > 0:
        lock_tasks(batch)
        list_first_pass(
            batch, task.index, division.column.length, batch.chunk_size // ROWS_PER_STORED,
            take_task, after_take)
        publish_tasks(batch)
    else:
        end_stored(
            move, parent, take_stored(ws, move, 0, division.column.length, move.out))
        batch.after_move(shared, batch, task, thread)


cdef void return_rows(Workspace* ws, const Leaf* parent, const Leaf* child) noexcept nogil:
    """Undo the move of stored rows to a child of a speculative split.

    If the parent's records are those of the root, and the child's are not, its rows were marked as
    moved out. They count as the parent's again. Otherwise, the parent still has its records.
    """
    cdef const uint64_t* records = ws.records[child.buffer]
    cdef Py_ssize_t i
    if parent.buffer == ROOT_BUFFER and child.buffer != ROOT_BUFFER:
        for i in range(child.begin, child.end):
            ws.in_root_leaf[records[i] & ws.encoding.id_mask] = True
