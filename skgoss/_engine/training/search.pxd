from skgoss._engine.training.layout cimport Encoding
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace

cdef struct Look:
    # One or two leaves whose best splits are looked for.
    Leaf* built               # its rows are summed
    Leaf* other               # has its parent's histogram until then; NULL: there is none
    const Encoding* before    # of that
    bint search_built
    bint search_other
    int n_parts               # threads that have summed the rows; 0: nothing is summed yet


cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil

cdef void search_look(Shared* shared, Workspace* ws, const Look* look) noexcept nogil

cdef void search_built(Shared* shared, Workspace* ws, Leaf* leaf, int n_parts) noexcept nogil

cdef void search_few(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil

cdef void search_again(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil
