"""The histograms of a workspace, and its heap of leaves."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport malloc

from skgoss._engine.atomics cimport spin_lock, spin_unlock
from skgoss._engine.training.layout cimport Binned, Encoding, Histogram
from skgoss._engine.training.split cimport Split

# ------------------------------------------------------------------ histogram slots

cdef Histogram histogram_in(void* memory, int64_t n_hist_bins) noexcept nogil:
    """A histogram in memory of HIST_BIN_BYTES for each of ``n_hist_bins`` bins."""
    cdef Histogram out
    out.gradient = <int64_t*>memory
    out.hessian = out.gradient + n_hist_bins
    out.count = <int32_t*>(out.hessian + n_hist_bins)
    out.occupied = NULL
    return out


cdef int take_slot(const Binned* data, Workspace* ws) noexcept nogil:
    """A free histogram slot; -1 without memory.

    Slots of other leaves are used again; a new one is allocated if none is free.
    """
    cdef Pool* pool = ws.pool
    cdef int slot = -1
    cdef void* memory
    spin_lock(&pool.lock)
    if pool.n_free > 0:
        pool.n_free -= 1
        slot = ws.free_slots[pool.n_free]
    else:
        memory = malloc(HIST_BIN_BYTES * data.hist_bin_capacity + 1)
        if memory != NULL:
            slot = pool.n_slots
            pool.n_slots += 1
            ws.slots[slot] = histogram_in(memory, data.hist_bin_capacity)
    spin_unlock(&pool.lock)
    return slot


cdef void free_slot(Workspace* ws, Leaf* leaf) noexcept nogil:
    """Release a leaf's histogram, if it has one."""
    cdef Pool* pool = ws.pool
    if leaf.slot >= 0:
        spin_lock(&pool.lock)
        ws.free_slots[pool.n_free] = leaf.slot
        pool.n_free += 1
        spin_unlock(&pool.lock)
        leaf.slot = -1


cdef void free_slots(Pool* pool, int* free_slots_out) noexcept nogil:
    """Release all histograms: a tree that was not finished may still have some."""
    cdef int slot
    pool.n_free = pool.n_slots
    for slot in range(pool.n_slots):
        free_slots_out[slot] = slot


cdef const Encoding* encoding_of(const Workspace* ws, const Leaf* leaf) noexcept nogil:
    """How the sums of a leaf's histogram are written: packed up to ``capacity`` rows.

    ``capacity`` is the number of rows whose packed sums cannot overflow.
    """
    if ws.encoding.packed and leaf.stats.sums.count <= ws.encoding.capacity:
        return &ws.compact_encoding
    return &ws.encoding


# ------------------------------------------------------------------ the heap of leaves

cdef bint is_better(const Split* a, const Split* b) noexcept nogil:
    """Whether split ``a`` has a larger gain than ``b``; of equal gains the first feature wins."""
    return a.gain > b.gain or (a.gain == b.gain and a.feature < b.feature)


cdef bint comes_before(const Workspace* ws, int a, int b) noexcept nogil:
    """Whether leaf ``a`` is split before leaf ``b``: by priority, gain, feature, and number."""
    if ws.leaves[a].priority != ws.leaves[b].priority:
        return ws.leaves[a].priority < ws.leaves[b].priority
    if is_better(&ws.leaves[a].best, &ws.leaves[b].best):
        return True
    return a < b and not is_better(&ws.leaves[b].best, &ws.leaves[a].best)


cdef void heap_push(Workspace* ws, int leaf) noexcept nogil:
    """Push a leaf onto the heap."""
    cdef int pos = ws.n_heap
    cdef int parent
    ws.n_heap += 1
    while pos > 0:
        parent = (pos - 1) // 2
        if not comes_before(ws, leaf, ws.heap[parent]):
            break
        ws.heap[pos] = ws.heap[parent]
        pos = parent
    ws.heap[pos] = leaf


cdef int heap_pop(Workspace* ws) noexcept nogil:
    """Pop the leaf that is split first; the heap must not be empty."""
    cdef int top = ws.heap[0]
    cdef int last, pos, child
    ws.n_heap -= 1
    last = ws.heap[ws.n_heap]
    pos = 0
    while True:
        child = 2 * pos + 1
        if child >= ws.n_heap:
            break
        if child + 1 < ws.n_heap and comes_before(ws, ws.heap[child + 1], ws.heap[child]):
            child += 1
        if not comes_before(ws, ws.heap[child], last):
            break
        ws.heap[pos] = ws.heap[child]
        pos = child
    ws.heap[pos] = last
    return top


cdef void heap_remove(Workspace* ws, int leaf) noexcept nogil:
    """Remove a leaf from anywhere in the heap."""
    cdef int n = ws.n_heap
    cdef int i
    ws.n_heap = 0
    for i in range(n):
        if ws.heap[i] != leaf:
            heap_push(ws, ws.heap[i])
