"""Lanes, shorts and entries of the features that are sampled for a tree."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from skgoss._engine.binning.store cimport BinColumn
from skgoss._engine.training.layout cimport Binned, Gradients, Piece

cdef struct SubsetSource:
    # Where the bins of the features come from.
    int max_features              # of a tree; 0: all trees read all lanes
    int lane_codes                # maximum number of codes in a shared lane; 0: none is shared
    const BinColumn* columns      # by feature
    const int32_t* group          # by feature; used for those in lanes
    const int32_t* lane_features  # features in lanes, by lane, group and code
    int n_lane_features
    const int32_t* hist_bin_features  # the others, in shorts and entries
    int n_hist_bin_features
    const int32_t* short_features  # those in shorts, in the order of a row's shorts
    int64_t max_entries           # of all rows

cdef struct SubsetBuffers:
    # Memory for rows that have only a tree's features: arrays of a `Binned`, then scratch memory.
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
    int32_t* n_source_codes       # of each group, with all features
    uint8_t* digit                # LANE_CODES for each group: what a source code adds to its lane
    int32_t* short_number         # of each short among those of all features
    int32_t* hist_bin             # by histogram bin of all features; -1: not one of the tree's
    int64_t* block_entries

cdef enum:
    ENTRY_BLOCK = 4096            # rows of a block whose entries one thread filters


cdef int64_t feature_visits(const Binned* data, int feature) noexcept nogil

cdef int64_t count_visits(const Binned* data) noexcept nogil

cdef Binned subset_rows(
    const Binned* full_data, const SubsetSource* source, const int32_t* features, int n,
    const Gradients* sampled, int n_threads, SubsetBuffers* buffers,
) noexcept nogil
