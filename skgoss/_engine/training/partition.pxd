from libc.stdint cimport uint8_t, uint32_t

from skgoss._engine.binning.store cimport BinColumn
from skgoss._engine.training.layout cimport Sums
from skgoss._engine.training.tasks cimport Batch, Task
from skgoss._engine.training.workspace cimport Leaf, Round, Shared, Workspace

cdef enum:
    MIN_CHUNK = 1024          # the minimum number of rows of a task


cdef double choose_left(
    Shared* shared, Workspace* ws, Leaf* leaf, Sums* left_out,
) noexcept nogil

cdef double restore_left(Workspace* ws, const Leaf* leaf, Sums* left_out) noexcept nogil

cdef void write_set(const uint8_t* goes_left, int n_bins, uint32_t* words_out) noexcept nogil

cdef void gather(Workspace* ws, Leaf* leaf, int n_threads) noexcept nogil

cdef void index_root(Shared* shared, Workspace* ws, const Round* round) noexcept nogil

cdef void rows_to_children(
    Shared* shared, Workspace* ws, Leaf* parent, const BinColumn* column, Leaf* left,
    Leaf* right,
) noexcept nogil

cdef void list_rows(Shared* shared, Batch* batch, Task* task, int thread) noexcept nogil

cdef void return_rows(Workspace* ws, const Leaf* parent, const Leaf* child) noexcept nogil
