from libc.stdint cimport uint64_t

from skgoss._engine.data.store cimport BinColumn
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace


cdef void index_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil

cdef void rows_to_children(
    Shared* shared, Workspace* ws, Leaf* parent, const BinColumn* column, Leaf* left,
    Leaf* right,
) noexcept nogil

cdef void return_rows(Workspace* ws, const Leaf* parent, const Leaf* child) noexcept nogil


cdef inline Py_ssize_t gallop_records(
    const uint64_t* records, Py_ssize_t first, Py_ssize_t n, uint64_t id_mask, uint64_t row,
) noexcept nogil:
    """The first record from ``first`` on, among ascending ones, whose row is not below."""
    cdef Py_ssize_t step = 1
    cdef Py_ssize_t low = first
    cdef Py_ssize_t high, middle
    while low + step < n and (records[low + step] & id_mask) < row:
        low = low + step
        step = 2 * step
    high = min(low + step, n)
    while low < high:
        middle = (low + high) // 2
        if (records[middle] & id_mask) < row:
            low = middle + 1
        else:
            high = middle
    return low
