from skgoss._engine.training.tasks cimport Batch, Siblings, Task, TaskBody
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace


cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil

cdef Siblings single(Workspace* ws, Leaf* leaf, bint is_summed) noexcept nogil

cdef void search_siblings(Shared* shared, Siblings* siblings) noexcept nogil

cdef void search_few(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil

cdef void search_task(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil

cdef int search_together(
    Shared* shared, Batch* batch, double work, TaskBody body,
) noexcept nogil

cdef int search_again(Shared* shared, Batch* batch, Workspace* ws, Leaf* leaf) noexcept nogil
