"""The histograms of a workspace, the rows of its leaves, and its heap of leaves."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport malloc

from skgoss._engine.atomics cimport spin_lock, spin_unlock
from skgoss._engine.threads cimport parallel_shares
from skgoss._engine.training.layout cimport Binned, Encoding, Histogram
from skgoss._engine.training.split cimport Split

cdef enum:
    MAX_PARTS = 64            # of a leaf whose rows several threads bring together

# ------------------------------------------------------------------ histogram slots

cdef Histogram histogram_in(void* memory, int64_t n_places) noexcept nogil:
    """A histogram in PLACE_BYTES for each place."""
    cdef Histogram out
    out.gradient = <int64_t*>memory
    out.hessian = out.gradient + n_places
    out.count = <int32_t*>(out.hessian + n_places)
    out.held = NULL
    return out


cdef int take_slot(const Binned* data, Workspace* ws) noexcept nogil:
    """A free histogram slot; -1 without memory."""
    cdef Pool* pool = ws.pool
    cdef int slot = -1
    cdef void* memory
    spin_lock(&pool.lock)
    if pool.n_free > 0:
        pool.n_free -= 1
        slot = ws.free_slots[pool.n_free]
    else:
        memory = malloc(PLACE_BYTES * data.room + 1)
        if memory != NULL:
            slot = pool.n_slots
            pool.n_slots += 1
            ws.slots[slot] = histogram_in(memory, data.room)
    spin_unlock(&pool.lock)
    return slot


cdef void free_slot(Workspace* ws, Leaf* leaf) noexcept nogil:
    cdef Pool* pool = ws.pool
    if leaf.slot >= 0:
        spin_lock(&pool.lock)
        ws.free_slots[pool.n_free] = leaf.slot
        pool.n_free += 1
        spin_unlock(&pool.lock)
        leaf.slot = -1


cdef const Encoding* encoding_of(const Workspace* ws, const Leaf* leaf) noexcept nogil:
    """How the sums of a leaf's histogram are written: packed if its rows fit in a block."""
    if ws.encoding.packed and leaf.stats.sums.count <= ws.encoding.block_rows:
        return &ws.block_encoding
    return &ws.encoding


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


cdef struct Gathering:
    # A leaf whose rows threads bring together, each a part of them.
    const Workspace* ws
    const uint64_t* records
    uint64_t* out
    Py_ssize_t size           # of a part
    Py_ssize_t[MAX_PARTS] n_staying


cdef void count_part(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef Gathering* leaf = <Gathering*>context
    cdef Py_ssize_t n = 0
    cdef Py_ssize_t i
    for i in range(first, end):
        n += leaf.ws.stays[leaf.records[i] & leaf.ws.encoding.id_mask]
    leaf.n_staying[first // leaf.size] = n


cdef void gather_part(void* context, Py_ssize_t first, Py_ssize_t end, int thread) noexcept nogil:
    cdef Gathering* leaf = <Gathering*>context
    cdef Py_ssize_t part = first // leaf.size
    cdef Py_ssize_t n_before = 0
    cdef Py_ssize_t i
    for i in range(part):
        n_before += leaf.n_staying[i]
    copy_staying(
        leaf.ws, leaf.records + first, end - first, leaf.n_staying[part], leaf.out + n_before)


cdef void gather(Workspace* ws, Leaf* leaf, int n_threads) noexcept nogil:
    """Bring the rows of a leaf together, where stored rows of sparse columns have left it.

    Those others fill the first part of its range in the next buffer.
    """
    cdef int buffer = next_buffer(leaf)
    cdef Py_ssize_t n = leaf.end - leaf.begin
    cdef Gathering rows
    if leaf.n_left_behind == 0:
        return
    rows.ws = ws
    rows.records = ws.records[leaf.buffer] + leaf.begin
    rows.out = ws.records[buffer] + leaf.begin + leaf.n_left_behind
    n_threads = min(n_threads, <int>MAX_PARTS)
    if n_threads == 1 or n < MIN_ROWS_FOR_TEAM:
        copy_staying(ws, rows.records, n, n - leaf.n_left_behind, rows.out)
    else:
        rows.size = (n + n_threads - 1) // n_threads
        parallel_shares(count_part, &rows, n, rows.size, n_threads)
        parallel_shares(gather_part, &rows, n, rows.size, n_threads)
    leaf.begin += leaf.n_left_behind
    leaf.buffer = buffer
    leaf.n_left_behind = 0


# ------------------------------------------------------------------ the heap of leaves

cdef bint better(const Split* a, const Split* b) noexcept nogil:
    return a.gain > b.gain or (a.gain == b.gain and a.feature < b.feature)


cdef bint leaf_before(const Workspace* ws, int a, int b) noexcept nogil:
    """Whether leaf ``a`` is split before leaf ``b``."""
    if ws.leaves[a].priority != ws.leaves[b].priority:
        return ws.leaves[a].priority < ws.leaves[b].priority
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


cdef void heap_remove(Workspace* ws, int leaf) noexcept nogil:
    """Take out a leaf that is in the heap, wherever it is."""
    cdef int n = ws.n_heap
    cdef int i
    ws.n_heap = 0
    for i in range(n):
        if ws.heap[i] != leaf:
            heap_push(ws, ws.heap[i])
