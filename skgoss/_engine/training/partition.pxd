from skgoss._engine.binning.store cimport BinColumn
from skgoss._engine.training.tasks cimport Batch
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace


cdef void index_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil

cdef void rows_to_children(
    Shared* shared, Workspace* ws, Leaf* parent, const BinColumn* column, Leaf* left,
    Leaf* right,
) noexcept nogil

cdef void move_together(Shared* shared, Batch* batch) noexcept nogil

cdef void return_rows(Workspace* ws, const Leaf* parent, const Leaf* child) noexcept nogil
