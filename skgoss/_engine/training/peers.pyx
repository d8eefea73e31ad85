"""What kernels without the GIL ask the peers of a fit: sums and maxima of all rows.

A process alone has no `Peers`: the pointer to it is NULL, and what it sums is all there is.
"""

from libc.stdint cimport int64_t

import numpy as np

from skgoss._engine.training.workspace cimport PEERS_FAILED


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
