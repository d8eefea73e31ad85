from libc.stdint cimport uint64_t

from skgoss._engine.data.store cimport BinColumn
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace


cdef void list_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil

cdef void rows_to_children(
    Shared* shared, Workspace* ws, Leaf* parent, const BinColumn* column, Leaf* left,
    Leaf* right,
) noexcept nogil

cdef void return_rows(Workspace* ws, const Leaf* parent, const Leaf* child) noexcept nogil


cdef inline Py_ssize_t gallop_words(
    const uint64_t* words, Py_ssize_t first, Py_ssize_t n, uint64_t id_mask, uint64_t row,
) noexcept nogil:
    """The first word from ``first`` on, among ascending ones, whose row is not below."""
    cdef Py_ssize_t step = 1
    cdef Py_ssize_t low = first
    cdef Py_ssize_t high, middle
    while low + step < n and (words[low + step] & id_mask) < row:
        low = low + step
        step = 2 * step
    high = min(low + step, n)
    while low < high:
        middle = (low + high) // 2
        if (words[middle] & id_mask) < row:
            low = middle + 1
        else:
            high = middle
    return low
