from skgoss._engine.training.layout cimport Encoding, Histogram
from skgoss._engine.training.workspace cimport Leaf, Shared, Tile, Workspace


cdef const Encoding* encoding_of(const Workspace* ws, const Leaf* leaf) noexcept nogil

cdef int start_tiles(Shared* shared, Workspace* ws) noexcept nogil

cdef Histogram sum_tile(
    const Shared* shared, const Workspace* ws, const Tile* tile, const Leaf* leaf, int thread,
) noexcept nogil
