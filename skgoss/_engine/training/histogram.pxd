from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from skgoss._engine.training.layout cimport Binned, Encoding, Histogram, Sums
from skgoss._engine.training.tasks cimport Batch, Siblings, TaskBody
from skgoss._engine.training.workspace cimport Leaf, Shared, Tile, Workspace

cdef extern from "histogram.h" nogil:
    void prefetch(const void* address)


cdef enum:
    FOLD_SIZE = 256         # digits of a shared lane, at the end of the accumulators
    MIN_SUM_WORK = 12000    # the least updates of a task


cdef void subtract_bins(
    const Encoding* child_encoding, const Encoding* old_encoding, const Encoding* new_encoding,
    int64_t first, int64_t last, const Histogram* child, Histogram* out,
) noexcept nogil

cdef void add_row_by_row(
    const Binned* data, const Encoding* encoding, const uint64_t* records, Py_ssize_t n,
    const int64_t* pairs, int sign, Histogram* out, uint8_t* is_touched, int32_t* touched,
    int* n_touched,
) noexcept nogil

cdef Sums sum_records(
    const Encoding* encoding, const uint64_t* records, Py_ssize_t n, const int64_t* pairs,
) noexcept nogil

cdef int start_tiles(Shared* shared, Workspace* ws) noexcept nogil

cdef Histogram sum_tile(
    const Shared* shared, const Workspace* ws, const Tile* tile, const Leaf* leaf, int thread,
) noexcept nogil

cdef bint needs_sum(const Siblings* siblings) noexcept nogil

cdef void sum_rows(Shared* shared, Siblings* siblings) noexcept nogil

cdef double count_updates(const Siblings* siblings) noexcept nogil

cdef double count_batch_updates(const Batch* batch) noexcept nogil

cdef bint list_sums(Shared* shared, Batch* batch, int index, TaskBody continuation) noexcept nogil

cdef int sum_batch(Shared* shared, Batch* batch) noexcept nogil

cdef void fill_small_histogram(
    Shared* shared, const Workspace* ws, const Leaf* leaf, uint8_t* is_touched,
) noexcept nogil

cdef void clear_small_histogram(
    Shared* shared, const Workspace* ws, const Leaf* leaf,
) noexcept nogil

cdef Histogram histogram_with(
    const Shared* shared, const Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil
