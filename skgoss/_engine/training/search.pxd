from skgoss._engine.training.layout cimport Encoding
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace

cdef struct Siblings:
    # Two new leaves, or one: the root or a leaf that is searched again. Histogram subtraction
    # (Ke et al., LightGBM, NeurIPS 2017, section 2): only the rows of the smaller sibling are
    # summed, and the larger one's histogram is what is left of the parent's.
    Leaf* smaller
    Leaf* larger              # its slot has the parent's histogram until then; NULL: none
    const Encoding* parent_encoding
    bint search_smaller       # whether its best split is looked for
    bint search_larger
    int n_parts               # threads that have summed the rows; 0: tiles are summed instead


cdef void choose_summed(const Shared* shared, Workspace* ws) noexcept nogil

cdef void search_siblings(Shared* shared, Workspace* ws, const Siblings* siblings) noexcept nogil

cdef void search_single(Shared* shared, Workspace* ws, Leaf* leaf, int n_parts) noexcept nogil

cdef void search_few(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil

cdef void search_again(Shared* shared, Workspace* ws, Leaf* leaf) noexcept nogil
