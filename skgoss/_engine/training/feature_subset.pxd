"""Lanes, shorts and entries of the features that are sampled for a tree."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from skgoss._engine.binning.store cimport BinColumn
from skgoss._engine.training.layout cimport Binned, Gradients, Piece

cdef struct SubsetSource:
    # Where the bins of the features come from.
    int max_features              # that a tree may have; 0: all trees read all lanes
    int lane_codes                # that groups may share a lane for; 0: they share none
    const BinColumn* columns      # by feature
    const int32_t* group          # by feature; read of those in lanes
    const int32_t* in_lanes       # these features, by lane, group and code
    int n_in_lanes
    const int32_t* by_hist_bin       # the others
    int n_by_hist_bin
    const int32_t* in_shorts      # of these, in the order of a row's shorts
    int64_t most_entries          # that all rows can have

cdef struct SubsetBuffers:
    # Memory for rows that have a tree's features alone: arrays of a `Binned`, then work space.
    uint8_t* rows
    int64_t* offset
    int32_t* feature_of_hist_bin
    int32_t* lane_start
    int32_t* lane_groups
    int32_t* radix
    int32_t* n_codes
    int64_t* piece_start
    Piece* pieces
    int32_t* hist_bin_of_code
    uint16_t* shorts
    int64_t* short_hist_bin
    int64_t* entry_start
    uint32_t* entries
    Piece* hist_bin_pieces
    uint8_t* chosen               # by feature; zero between trees
    const uint8_t** codes         # of each group, by row
    int32_t* n_source_codes       # of each group, among all features
    uint8_t* digit                # LANE_CODES for each group: what a source code counts in its lane
    int32_t* short_number         # of each short among all of them
    int32_t* hist_bin             # by histogram bin of all features; -1: not one of the tree's
    int64_t* block_entries

cdef enum:
    ENTRY_BLOCK = 4096            # rows whose entries a thread takes at a time


cdef int64_t feature_visits(const Binned* data, int feature) noexcept nogil

cdef int64_t count_visits(const Binned* data) noexcept nogil

cdef Binned subset_rows(
    const Binned* all_rows, const SubsetSource* source, const int32_t* features, int n,
    const Gradients* sampled, int n_threads, SubsetBuffers* buffers,
) noexcept nogil
