"""What kernels without the GIL ask the peers of a fit: sums and maxima of all rows.

A process alone has no `Peers`: the pointer to it is NULL, and what it sums is all there is.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

import numpy as np

from skgoss._engine.training.layout cimport Encoding, Histogram
from skgoss._engine.training.workspace cimport (
    NO_MEMORY, PEERS_FAILED, Leaf, Shared, Workspace, encoding_of)


cdef class Peers:
    """The way to the peers, and what went wrong on it.

    Parameters
    ----------
    exchange : skgoss.data.shares.Exchange

    Attributes
    ----------
    error : BaseException or None
        What the exchange has raised.
    """

    def __cinit__(self, exchange):
        self.exchange = exchange

    cdef int _add_up(self, int64_t* values, Py_ssize_t n) noexcept:
        try:
            self.exchange.sum(np.asarray(<int64_t[:n]>values))
        except BaseException as error:
            self.error = error
            return PEERS_FAILED
        return 0

    cdef int _merge(
        self, double* values, Py_ssize_t n_sums, Py_ssize_t n_most,
    ) noexcept:
        try:
            out = np.asarray(<double[:n_sums + n_most]>values)
            gathered = np.array(self.exchange.gather(out.copy()))
            out[:n_sums] = gathered[:, :n_sums].sum(axis=0)
            out[n_sums:] = gathered[:, n_sums:].max(axis=0)
        except BaseException as error:
            self.error = error
            return PEERS_FAILED
        return 0


cdef int add_up(void* peers, int64_t* values_inout, Py_ssize_t n) noexcept nogil:
    """Replace integers by the sums of those of all peers; 0 or PEERS_FAILED."""
    if peers == NULL or n == 0:
        return 0
    with gil:
        return (<Peers>peers)._add_up(values_inout, n)


cdef int merge(
    void* peers, double* values_inout, Py_ssize_t n_sums, Py_ssize_t n_most,
) noexcept nogil:
    """The same for whole numbers that are sums, and numbers of which the maxima are wanted."""
    if peers == NULL:
        return 0
    with gil:
        return (<Peers>peers)._merge(values_inout, n_sums, n_most)


# ------------------------------------------------------------------ histograms

cdef Py_ssize_t copy_sums(
    const Encoding* code, int64_t first, int64_t last, bint back, Histogram* histogram,
    int64_t* values,
) noexcept nogil:
    """Copy some places of a histogram to integers, or back; returns how many integers."""
    cdef size_t n = last - first
    cdef Py_ssize_t i
    if back:
        memcpy(histogram.gradient + first, values, n * sizeof(int64_t))
    else:
        memcpy(values, histogram.gradient + first, n * sizeof(int64_t))
    if code.compact:
        return n
    if back:
        memcpy(histogram.hessian + first, values + n, n * sizeof(int64_t))
        for i in range(n):
            histogram.count[first + i] = <int32_t>values[2 * n + i]
    else:
        memcpy(values + n, histogram.hessian + first, n * sizeof(int64_t))
        for i in range(n):
            values[2 * n + i] = histogram.count[first + i]
    return 3 * n


cdef Py_ssize_t copy_features(
    Workspace* ws, const Leaf* leaf, bint back, int64_t* values,
) noexcept nogil:
    """The same for the places of all features that the tree sums."""
    cdef const Encoding* code = encoding_of(ws, leaf)
    cdef Py_ssize_t n = 0
    cdef int at = 0
    cdef int last
    while at < ws.n_summed:
        last = at
        while last + 1 < ws.n_summed and ws.summed[last + 1] == ws.summed[last] + 1:
            last = last + 1
        n += copy_sums(
            code, ws.data.offset[ws.summed[at]], ws.data.offset[ws.summed[last] + 1], back,
            &ws.slots[leaf.slot], values + n)
        at = last + 1
    return n


cdef int share_sums(
    Shared* shared, Workspace* ws, Leaf** leaves, int n_leaves, int64_t* others, int n_others,
) noexcept nogil:
    """Add up the histograms of leaves, and some other integers, in one exchange."""
    cdef Py_ssize_t room = n_others + 3 * ws.data.n_places * n_leaves
    cdef Py_ssize_t n = n_others
    cdef void* larger
    cdef int status, i
    if ws.message_room < room:
        larger = realloc(ws.message, room * sizeof(int64_t))
        if larger == NULL:
            return NO_MEMORY
        ws.message = <int64_t*>larger
        ws.message_room = room
    for i in range(n_others):
        ws.message[i] = others[i]
    for i in range(n_leaves):
        n += copy_features(ws, leaves[i], False, ws.message + n)
    status = add_up(shared.peers, ws.message, n)
    if status < 0:
        return status
    for i in range(n_others):
        others[i] = ws.message[i]
    n = n_others
    for i in range(n_leaves):
        n += copy_features(ws, leaves[i], True, ws.message + n)
    return 0
