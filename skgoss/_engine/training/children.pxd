from skgoss._engine.training.layout cimport Encoding, Sums
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace

cdef struct Look:
    # One or two leaves whose best splits are looked for.
    Leaf* built               # its rows are summed
    Leaf* other               # has its parent's histogram until then; NULL: there is none
    const Encoding* before    # of that
    bint search_built
    bint search_other
    int n_parts               # threads that have summed the rows; 0: nothing is summed yet


cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil

cdef int search_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil

cdef int search_children(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
) noexcept nogil

cdef int build_look(
    Shared* shared, Workspace* ws, const Leaf* parent, Leaf* left, Leaf* right,
    Look* look_out,
) noexcept nogil

cdef int finish_looks(Shared* shared, Workspace* ws, Look* looks, int n) noexcept nogil

cdef void search_again(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil

cdef double choose_left(
    Shared* shared, Workspace* ws, Leaf* leaf, Sums* left_out,
) noexcept nogil
