from skgoss._engine.training.layout cimport Encoding
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace

cdef struct Siblings:
    # One or two leaves whose best splits are looked for.
    Leaf* smaller               # its rows are summed
    Leaf* larger               # has its parent's histogram until then; NULL: there is none
    const Encoding* parent_encoding    # of that
    bint search_smaller
    bint search_larger
    int n_parts               # threads that have summed the rows; 0: nothing is summed yet


cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil

cdef void search_siblings(Shared* shared, Workspace* ws, const Siblings* siblings) noexcept nogil

cdef void search_single(Shared* shared, Workspace* ws, Leaf* leaf, int n_parts) noexcept nogil

cdef void search_few(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil

cdef void search_again(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil
