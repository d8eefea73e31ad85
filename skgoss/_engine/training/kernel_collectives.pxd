from libc.stdint cimport int64_t

from skgoss._engine.training.tasks cimport Siblings
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace


cdef enum:
    # With fewer histogram bins, it is faster if every process adds up and searches all of them.
    MIN_SHARED_HIST_BINS = 5000


cdef class KernelCollectives:
    cdef object wrapped
    cdef readonly object error

    cdef int _status(self) noexcept
    cdef int _all_reduce(self, int64_t* values, Py_ssize_t n) noexcept
    cdef int _reduce_scatter(
        self, int64_t* values, const Py_ssize_t* ends, Py_ssize_t n_pieces) noexcept
    cdef int _all_gather(self, const int64_t* values, Py_ssize_t n, int64_t* out) noexcept
    cdef int _all_reduce_doubles(
        self, double* values, Py_ssize_t n_sums, Py_ssize_t n_maxima) noexcept

cdef int all_reduce(void* collectives, int64_t* values_inout, Py_ssize_t n) noexcept nogil

cdef int all_reduce_doubles(
    void* collectives, double* values_inout, Py_ssize_t n_sums, Py_ssize_t n_maxima,
) noexcept nogil

cdef void choose_columns(const Shared* shared, Workspace* ws) noexcept nogil

cdef int reduce_histograms(
    Shared* shared, Workspace* ws, Leaf** leaves, int n_leaves, int64_t* extra, int n_extra,
) noexcept nogil

cdef int exchange_splits(Shared* shared, Workspace* ws, Siblings* siblings, int n) noexcept nogil
