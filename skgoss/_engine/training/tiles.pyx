"""Tiles: lanes so few that the sums of all their places stay in the nearest cache.

The rows of a small leaf are summed, and its splits searched, one tile after the other. Leaves
of very few rows never have a whole histogram, which would cost more than summing them again.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from skgoss._engine.training.histogram cimport accumulate
from skgoss._engine.training.layout cimport Binned, Histogram, Piece
from skgoss._engine.training.workspace cimport (
    NO_MEMORY, PLACE_BYTES, Leaf, Shared, Tile, TileSums, Workspace, encoding_of, histogram_in)

cdef enum:
    # Accumulators of a tile, which has whole eights of lanes.
    SUMS_PER_TILE = 16 * 264


cdef void list_piece(Workspace* ws, const Piece* piece, Tile* tile) noexcept nogil:
    """Add the features of a piece that are summed to the newest tile."""
    cdef const Binned* data = &ws.data
    cdef int64_t at = piece.at
    cdef int32_t feature
    tile.first_place = min(tile.first_place, at)
    tile.end_place = max(tile.end_place, at + piece.length)
    while at < piece.at + piece.length:
        feature = data.feature_at[at]
        at = data.offset[feature + 1]
        if ws.is_summed[feature]:
            if tile.n_features > 0 and tile.features[tile.n_features - 1] != feature - 1:
                tile.consecutive = False
            tile.features[tile.n_features] = feature
            tile.n_features += 1
            ws.tile_of[feature] = ws.n_tiles


cdef void list_tile(
    Workspace* ws, int first_lane, int n_lanes, int32_t* features, Tile* tile,
) noexcept nogil:
    """Describe a tile: its lanes, and the features and places that are in them."""
    cdef const Binned* data = &ws.data
    cdef int lane, i, group
    cdef int64_t p
    tile.first_lane = first_lane
    tile.n_lanes = min(n_lanes, data.n_lanes - first_lane)
    tile.features = features
    tile.n_features = 0
    tile.first_place = data.n_places
    tile.end_place = 0
    tile.consecutive = True
    for lane in range(first_lane, first_lane + tile.n_lanes):
        for i in range(data.lane_start[lane], data.lane_start[lane + 1]):
            group = data.lane_groups[i]
            for p in range(data.piece_start[group], data.piece_start[group + 1]):
                list_piece(ws, &data.pieces[p], tile)


cdef int start_tiles(Shared* shared, Workspace* ws) noexcept nogil:
    """Cut the lanes that a tree reads into tiles, unless rows have more than lanes."""
    cdef const Binned* data = &ws.data
    cdef int32_t* features = ws.tile_features
    cdef int64_t room = 0
    cdef int n_lanes = <int>(SUMS_PER_TILE // data.lane_stride) // 8 * 8
    cdef int lane = 0
    cdef int thread
    cdef Tile* tile
    ws.n_tiles = 0
    if data.n_place_pieces > 0:
        return 0
    while lane < data.n_lanes:
        tile = &ws.tiles[ws.n_tiles]
        list_tile(ws, lane, n_lanes, features, tile)
        if tile.n_features > 0:
            ws.n_tiles += 1
            features = features + tile.n_features
            room = max(room, tile.end_place - tile.first_place)
        lane += n_lanes
    for thread in range(ws.thread, ws.thread + ws.n_threads):
        if make_room(&shared.tile_sums[thread], room) < 0:
            return NO_MEMORY
    return 0


cdef int make_room(TileSums* sums, int64_t room) noexcept nogil:
    """Let a thread have so many places for the sums of a tile."""
    if room <= sums.room:
        return 0
    free(sums.values)
    sums.room = 0
    sums.values = <int64_t*>malloc(PLACE_BYTES * room)
    if sums.values == NULL:
        return NO_MEMORY
    sums.room = room
    return 0


cdef Binned lanes_of(const Binned* data, int first_lane, int n_lanes) noexcept nogil:
    """The rows as if they had some neighboring lanes only."""
    cdef Binned part = data[0]
    part.rows = data.rows + first_lane
    part.lane_start = data.lane_start + first_lane
    part.n_lanes = n_lanes
    return part


cdef Histogram sums_of(const TileSums* sums, int64_t first_place) noexcept nogil:
    """A thread's sums as a histogram that has places from ``first_place`` on."""
    cdef Histogram out = histogram_in(sums.values, sums.room)
    out.gradient -= first_place
    out.hessian -= first_place
    out.count -= first_place
    return out


cdef Histogram sum_tile(
    const Shared* shared, const Workspace* ws, const Tile* tile, const Leaf* leaf, int thread,
) noexcept nogil:
    """The sums of a leaf's rows: in its slot, or with the thread until its next call."""
    cdef Binned part = lanes_of(&ws.data, tile.first_lane, tile.n_lanes)
    cdef Histogram out = sums_of(&shared.tile_sums[thread], tile.first_place)
    if leaf.slot >= 0:
        out = ws.slots[leaf.slot]
    accumulate(
        &part, encoding_of(ws, leaf), ws.records[leaf.buffer] + leaf.begin,
        leaf.end - leaf.begin, ws.pairs, shared.accumulators[thread], &out)
    return out
