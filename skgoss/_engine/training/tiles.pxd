from skgoss._engine.training.layout cimport Binned, Histogram
from skgoss._engine.training.workspace cimport Leaf, Shared, Tile, Workspace


cdef int start_tiles(Shared* shared, Workspace* ws) noexcept nogil

cdef Binned lanes_of(const Binned* data, int first_lane, int n_lanes) noexcept nogil

cdef Histogram sum_tile(
    const Shared* shared, const Workspace* ws, const Tile* tile, const Leaf* leaf, int thread,
) noexcept nogil
