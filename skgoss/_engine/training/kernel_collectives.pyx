"""Collective operations that kernels without the GIL call: see `skgoss.distributed.collectives`.

In a process that holds all rows, the pointer to `KernelCollectives` is NULL.
"""

from cpython.buffer cimport PyBUF_WRITE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

from skgoss._engine.training.layout cimport Encoding, Histogram
from skgoss._engine.training.partition cimport choose_left, write_set
from skgoss._engine.training.split cimport Split
from skgoss._engine.training.tasks cimport Siblings
from skgoss._engine.training.workspace cimport (
    COLLECTIVE_FAILED, NO_MEMORY, Leaf, Shared, SharedSplit, Workspace, encoding_of, free_slot,
    is_better)


cdef object as_array(const void* values, Py_ssize_t n, dtype):
    """n values of eight bytes as an array, without a copy."""
    return np.ndarray(
        n, dtype, PyMemoryView_FromMemory(<char*>values, 8 * n, PyBUF_WRITE))


cdef class KernelCollectives:
    """The `Collectives` of a fit, and the error that one of their operations has raised."""

    def __cinit__(self, collectives):
        self.wrapped = collectives

    def __enter__(self):
        self.error = None

    def __exit__(self, kind, error, trace):
        # Kernels without the GIL cannot raise the error: `TreeGrower.grow` does.
        self.error = error
        return True

    cdef int _status(self) noexcept:
        """0, or COLLECTIVE_FAILED if the last operation has raised an error."""
        return 0 if self.error is None else COLLECTIVE_FAILED

    cdef int _all_reduce(self, int64_t* values, Py_ssize_t n) noexcept:
        """The function `all_reduce`, with the GIL."""
        with self:
            self.wrapped.all_reduce(as_array(values, n, np.int64))
        return self._status()

    cdef int _reduce_scatter(
        self, int64_t* values, const Py_ssize_t* ends, Py_ssize_t n_pieces,
    ) noexcept:
        """The function `reduce_scatter`, with the GIL."""
        cdef Py_ssize_t piece
        with self:
            array = as_array(values, ends[n_pieces - 1], np.int64)
            self.wrapped.reduce_scatter(
                np.split(array, [ends[piece] for piece in range(n_pieces - 1)]))
        return self._status()

    cdef int _all_gather(self, const int64_t* values, Py_ssize_t n, int64_t* out) noexcept:
        """The function `all_gather`, with the GIL."""
        with self:
            sent = as_array(values, n, np.int64)
            np.concatenate(
                self.wrapped.all_gather(sent.copy()),
                out=as_array(out, n * self.wrapped.n_ranks, np.int64))
        return self._status()

    cdef int _all_reduce_doubles(
        self, double* values, Py_ssize_t n_sums, Py_ssize_t n_maxima,
    ) noexcept:
        """The function `all_reduce_doubles`, with the GIL."""
        with self:
            out = as_array(values, n_sums + n_maxima, np.float64)
            gathered = np.array(self.wrapped.all_gather(out.copy()))
            out[:n_sums] = gathered[:, :n_sums].sum(axis=0)
            out[n_sums:] = gathered[:, n_sums:].max(axis=0)
        return self._status()


cdef int all_reduce(void* collectives, int64_t* values_inout, Py_ssize_t n) noexcept nogil:
    """Replace integers by the sums of those of all processes; 0 or COLLECTIVE_FAILED."""
    if collectives == NULL or n == 0:
        return 0
    with gil:
        return (<KernelCollectives>collectives)._all_reduce(values_inout, n)


cdef int all_reduce_doubles(
    void* collectives, double* values_inout, Py_ssize_t n_sums, Py_ssize_t n_maxima,
) noexcept nogil:
    """Replace the first n_sums numbers, which are whole, by their sums over all processes.

    The n_maxima numbers behind them are replaced by their maxima. Returns 0 or COLLECTIVE_FAILED.
    """
    if collectives == NULL:
        return 0
    with gil:
        return (<KernelCollectives>collectives)._all_reduce_doubles(values_inout, n_sums, n_maxima)


cdef int reduce_scatter(
    void* collectives, int64_t* values_inout, const Py_ssize_t* ends, Py_ssize_t n_pieces,
) noexcept nogil:
    """Replace the integers of this rank's piece by the sums of those of all processes.

    Piece number r ends before ``ends[r]``, where the next one begins. Returns 0 or
    COLLECTIVE_FAILED.
    """
    if ends[n_pieces - 1] == 0:
        return 0
    with gil:
        return (<KernelCollectives>collectives)._reduce_scatter(values_inout, ends, n_pieces)


cdef int all_gather(
    void* collectives, const int64_t* values, Py_ssize_t n, int64_t* values_out,
) noexcept nogil:
    """Write the n integers of each process, in the order of ranks; 0 or COLLECTIVE_FAILED."""
    if n == 0:
        return 0
    with gil:
        return (<KernelCollectives>collectives)._all_gather(values, n, values_out)


# ------------------------------------------------------------------ columns

cdef int64_t count_hist_bins(const Workspace* ws, int first, int last) noexcept nogil:
    """The number of histogram bins of the features ``summed[first:last]``."""
    cdef int64_t n = 0
    cdef int i
    for i in range(first, last):
        n += ws.data.offset[ws.summed[i] + 1] - ws.data.offset[ws.summed[i]]
    return n


cdef void choose_columns(const Shared* shared, Workspace* ws) noexcept nogil:
    """Choose which of the features that a tree sums this process adds up and searches.

    If there are many histogram bins, each process gets about the same number of them; else, it gets
    all. Splits that depend on other leaves, or that are forced, need the sums of all features.
    """
    cdef int64_t n_hist_bins = count_hist_bins(ws, 0, ws.n_summed)
    cdef int64_t n_previous = 0
    cdef int rank = 0
    cdef int i
    ws.first_searched = 0
    ws.n_searched = ws.n_summed
    ws.shares_columns = (
        n_hist_bins >= shared.min_shared_hist_bins
        and shared.collectives != NULL
        and ws.children != NULL
        and shared.constraints.n_forced == 0
    )
    if not ws.shares_columns:
        return
    for i in range(ws.n_summed):
        while n_previous * shared.n_ranks >= rank * n_hist_bins and rank < shared.n_ranks:
            ws.column_cuts[rank] = i
            rank += 1
        n_previous += count_hist_bins(ws, i, i + 1)
    for rank in range(rank, shared.n_ranks + 1):
        ws.column_cuts[rank] = ws.n_summed
    ws.first_searched = ws.column_cuts[shared.rank]
    ws.n_searched = ws.column_cuts[shared.rank + 1] - ws.first_searched


# ------------------------------------------------------------------ histograms

cdef Py_ssize_t copy_sums(
    const Encoding* code, int64_t first, int64_t last, bint restores, Histogram* histogram,
    int64_t* values,
) noexcept nogil:
    """Copy the bins [first, last) of a histogram to ``values``; if it ``restores``, from there.

    ``code``: how its sums are written: one integer a bin if they are packed (``compact``), else
    three: all gradients, all hessians, all counts. Returns the number of integers.
    """
    cdef size_t n = last - first
    cdef Py_ssize_t i
    if restores:
        memcpy(histogram.gradient + first, values, n * sizeof(int64_t))
    else:
        memcpy(values, histogram.gradient + first, n * sizeof(int64_t))
    if code.compact:
        return n
    if restores:
        memcpy(histogram.hessian + first, values + n, n * sizeof(int64_t))
        for i in range(n):
            histogram.count[first + i] = <int32_t>values[2 * n + i]
    else:
        memcpy(values + n, histogram.hessian + first, n * sizeof(int64_t))
        for i in range(n):
            values[2 * n + i] = histogram.count[first + i]
    return 3 * n


cdef Py_ssize_t copy_features(
    Workspace* ws, const Leaf* leaf, int first, int end, bint restores, int64_t* values,
) noexcept nogil:
    """As `copy_sums`, the histogram bins of the features ``ws.summed[first:end]`` of a leaf.

    Neighboring features are copied at once.
    """
    cdef const Encoding* code = encoding_of(ws, leaf)
    cdef Py_ssize_t n = 0
    cdef int i = first
    cdef int last
    while i < end:
        last = i
        while last + 1 < end and ws.summed[last + 1] == ws.summed[last] + 1:
            last = last + 1
        n += copy_sums(
            code, ws.data.offset[ws.summed[i]], ws.data.offset[ws.summed[last] + 1], restores,
            &ws.slots[leaf.slot], values + n)
        i = last + 1
    return n


cdef int64_t* reserve_message(Workspace* ws, Py_ssize_t n) noexcept nogil:
    """Memory for a message of n integers; NULL if there is none."""
    cdef void* larger
    if ws.message_capacity < n:
        larger = realloc(ws.message, n * sizeof(int64_t))
        if larger == NULL:
            return NULL
        ws.message = <int64_t*>larger
        ws.message_capacity = n
    return ws.message


cdef Py_ssize_t copy_piece(
    Workspace* ws, Leaf** leaves, int n_leaves, int first, int end, bint restores,
    int64_t* extra, int n_extra, int64_t* values,
) noexcept nogil:
    """Copy the extra integers, and the sums of some features, to a message, or from there.

    - ``leaves``, ``n_leaves``: whose histograms are copied, one after the other.
    - ``first``, ``end``: the features ``ws.summed[first:end]``.
    - ``restores``: copy from the message.
    - ``extra``, ``n_extra``: integers that come first.

    Returns the number of integers.
    """
    cdef Py_ssize_t n = n_extra
    cdef int i
    for i in range(n_extra):
        if restores:
            extra[i] = values[i]
        else:
            values[i] = extra[i]
    for i in range(n_leaves):
        n += copy_features(ws, leaves[i], first, end, restores, values + n)
    return n


cdef int reduce_histograms(
    Shared* shared, Workspace* ws, Leaf** leaves, int n_leaves, int64_t* extra, int n_extra,
) noexcept nogil:
    """Add up the histograms of leaves, and some extra integers, in one collective operation.

    If processes share columns, each gets only the sums of those that it searches: the message has a
    piece for each process, with its features and the extra integers. Otherwise, it has one piece.
    Returns 0 or an error.
    """
    cdef int n_pieces = shared.n_ranks if ws.shares_columns else 1
    cdef Py_ssize_t size = 3 * ws.data.n_hist_bins * n_leaves + n_pieces * n_extra
    cdef int64_t* values = reserve_message(ws, size + n_pieces)
    cdef Py_ssize_t* ends = <Py_ssize_t*>(values + size)
    cdef Py_ssize_t n = 0
    cdef int piece_here = shared.rank if ws.shares_columns else 0
    cdef int first = 0
    cdef int last = ws.n_summed
    cdef int status, piece
    if values == NULL:
        return NO_MEMORY
    for piece in range(n_pieces):
        if ws.shares_columns:
            first = ws.column_cuts[piece]
            last = ws.column_cuts[piece + 1]
        n += copy_piece(
            ws, leaves, n_leaves, first, last, False, extra, n_extra, values + n)
        ends[piece] = n
    if ws.shares_columns:
        status = reduce_scatter(shared.collectives, values, ends, n_pieces)
    else:
        status = all_reduce(shared.collectives, values, n)
    if status == 0:
        copy_piece(
            ws, leaves, n_leaves, ws.first_searched, ws.first_searched + ws.n_searched, True,
            extra, n_extra, values + (ends[piece_here - 1] if piece_here > 0 else 0))
    return status


# ------------------------------------------------------------------ splits

cdef struct Candidate:
    # A message: the best split that a process has found for a leaf. The set of its bins follows.
    Split split
    SharedSplit shared_split


cdef Py_ssize_t candidate_size(const Workspace* ws) noexcept nogil:
    """The size of a candidate with its set of bins, in integers of 8 bytes."""
    return (sizeof(Candidate) + ws.set_size * sizeof(uint32_t) + 7) // 8


cdef void write_candidate(
    Shared* shared, Workspace* ws, Leaf* leaf, int64_t* out,
) noexcept nogil:
    """Write the best split that this process has found for a leaf, as a message.

    ``out``: a `Candidate`, then, if it is categorical, the set of bins that go left. It also has
    the sums of the left side, which other processes cannot compute without the columns.
    """
    cdef Candidate* candidate = <Candidate*>out
    cdef uint32_t* bins = <uint32_t*>(candidate + 1)
    memset(out, 0, candidate_size(ws) * sizeof(int64_t))
    candidate.split = leaf.best
    if leaf.best.gain > 0:
        candidate.shared_split.l2 = choose_left(shared, ws, leaf, &candidate.shared_split.left)
        if ws.data.categorical[leaf.best.feature]:
            write_set(ws.scratch.goes_left, ws.data.n_bins[leaf.best.feature], bins)


cdef void merge_candidate(Workspace* ws, const int64_t* received, Leaf* leaf) noexcept nogil:
    """Give a leaf the split of a process if it is better, with its left side.

    ``received``: a `Candidate`. The process here also gets its own, whose left side it must take
    over.
    """
    cdef const Candidate* candidate = <const Candidate*>received
    if is_better(&candidate.split, &leaf.best):
        leaf.best = candidate.split
    if candidate.split.feature == leaf.best.feature and candidate.split.gain > 0:
        leaf.shared_split = candidate.shared_split
        memcpy(ws.left_sets + leaf.mask * ws.set_size, candidate + 1,
               ws.set_size * sizeof(uint32_t))


cdef int list_searched(Siblings* siblings, int n, Leaf** leaves_out) noexcept nogil:
    """List the leaves of n siblings that are searched; returns how many.

    ``leaves_out``: room for 2 n.
    """
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


cdef int exchange_splits(Shared* shared, Workspace* ws, Siblings* siblings, int n) noexcept nogil:
    """Gather the best splits that the processes have found in their columns, and keep the best.

    Returns 0 or an error.
    """
    cdef Py_ssize_t size = candidate_size(ws)
    cdef Leaf** leaves = <Leaf**>malloc(2 * n * sizeof(Leaf*))
    cdef int64_t* sent
    cdef int64_t* received
    cdef int status, n_leaves, i, rank
    if leaves == NULL:
        return NO_MEMORY
    n_leaves = list_searched(siblings, n, leaves)
    sent = reserve_message(ws, (shared.n_ranks + 1) * n_leaves * size)
    if sent == NULL:
        free(leaves)
        return NO_MEMORY
    received = sent + n_leaves * size
    for i in range(n_leaves):
        write_candidate(shared, ws, leaves[i], sent + i * size)
    status = all_gather(shared.collectives, sent, n_leaves * size, received)
    for i in range(n_leaves if status == 0 else 0):
        for rank in range(shared.n_ranks):
            merge_candidate(ws, received + (rank * n_leaves + i) * size, leaves[i])
        if not leaves[i].best.gain > 0:
            free_slot(ws, leaves[i])
    free(leaves)
    return status
