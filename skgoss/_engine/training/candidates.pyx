"""Best splits of leaves whose columns several processes have searched, each some of them."""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from skgoss._engine.training.kernel_collectives cimport all_gather, reserve_message
from skgoss._engine.training.split cimport Split
from skgoss._engine.training.split_sides cimport choose_left, write_set
from skgoss._engine.training.tasks cimport Siblings
from skgoss._engine.training.workspace cimport (
    NO_MEMORY, Leaf, Shared, SharedSplit, Workspace, better, free_slot)

cdef struct Candidate:
    # The best split of a leaf that a process has found; the set of its bins follows.
    Split split
    SharedSplit shared_split


cdef Py_ssize_t candidate_size(const Workspace* ws) noexcept nogil:
    """In integers of 8 bytes."""
    return (sizeof(Candidate) + ws.set_size * sizeof(uint32_t) + 7) // 8


cdef void write_candidate(
    Shared* shared, Workspace* ws, Leaf* leaf, int64_t* out,
) noexcept nogil:
    cdef Candidate* candidate = <Candidate*>out
    cdef uint32_t* bins = <uint32_t*>(candidate + 1)
    memset(out, 0, candidate_size(ws) * sizeof(int64_t))
    candidate.split = leaf.best
    if leaf.best.gain > 0:
        candidate.shared_split.l2 = choose_left(shared, ws, leaf, &candidate.shared_split.left)
        if ws.data.categorical[leaf.best.feature]:
            write_set(ws.scratch.goes_left, ws.data.n_bins[leaf.best.feature], bins)


cdef void take_candidate(Workspace* ws, const int64_t* received, Leaf* leaf) noexcept nogil:
    cdef const Candidate* candidate = <const Candidate*>received
    if better(&candidate.split, &leaf.best):
        leaf.best = candidate.split
    if candidate.split.feature == leaf.best.feature and candidate.split.gain > 0:
        leaf.shared_split = candidate.shared_split
        memcpy(ws.left_sets + leaf.mask * ws.set_size, candidate + 1,
               ws.set_size * sizeof(uint32_t))


cdef int list_searched(Siblings* siblings, int n, Leaf** leaves_out) noexcept nogil:
    cdef int n_leaves = 0
    cdef int i
    for i in range(n):
        if siblings[i].search_smaller:
            leaves_out[n_leaves] = siblings[i].smaller
            n_leaves += 1
        if siblings[i].search_larger:
            leaves_out[n_leaves] = siblings[i].larger
            n_leaves += 1
    return n_leaves


cdef int share_splits(Shared* shared, Workspace* ws, Siblings* siblings, int n) noexcept nogil:
    """The best splits of leaves, of all that the processes have found in their columns."""
    cdef Py_ssize_t size = candidate_size(ws)
    cdef Leaf** leaves = <Leaf**>malloc(2 * n * sizeof(Leaf*))
    cdef int64_t* own
    cdef int64_t* received
    cdef int status, n_leaves, i, rank
    if leaves == NULL:
        return NO_MEMORY
    n_leaves = list_searched(siblings, n, leaves)
    own = reserve_message(ws, (shared.n_ranks + 1) * n_leaves * size)
    if own == NULL:
        free(leaves)
        return NO_MEMORY
    received = own + n_leaves * size
    for i in range(n_leaves):
        write_candidate(shared, ws, leaves[i], own + i * size)
    status = all_gather(shared.collectives, own, n_leaves * size, received)
    for i in range(n_leaves if status == 0 else 0):
        for rank in range(shared.n_ranks):
            take_candidate(ws, received + (rank * n_leaves + i) * size, leaves[i])
        if not leaves[i].best.gain > 0:
            free_slot(ws, leaves[i])
    free(leaves)
    return status
