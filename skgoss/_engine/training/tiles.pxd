from skgoss._engine.training.layout cimport Histogram
from skgoss._engine.training.workspace cimport Leaf, Shared, Tile, Workspace


cdef int start_tiles(Shared* shared, Workspace* ws) noexcept nogil

cdef Histogram sum_tile(
    const Shared* shared, const Workspace* ws, const Tile* tile, const Leaf* leaf, int thread,
) noexcept nogil
