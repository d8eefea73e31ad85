from skgoss._engine.training.tasks cimport Batch, Siblings
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace

cdef enum:
    MIN_VISITS = 500          # the minimum number of bins that a task visits


cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil

cdef Siblings single_leaf(Workspace* ws, Leaf* leaf, bint is_summed) noexcept nogil

cdef void search_siblings(Shared* shared, Siblings* siblings) noexcept nogil

cdef void search_small_leaf(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil

cdef void list_siblings(Shared* shared, Batch* batch, int index) noexcept nogil

cdef int sum_and_search(Shared* shared, Batch* batch) noexcept nogil

cdef int search_batch(Shared* shared, Batch* batch) noexcept nogil

cdef int search_again(Shared* shared, Batch* batch, Workspace* ws, Leaf* leaf) noexcept nogil
