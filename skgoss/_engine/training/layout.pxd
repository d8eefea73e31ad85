"""How the binned rows, a round's gradients and a node's histogram lie in memory."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "layout.h" nogil:
    enum:
        LANE_CODES
        WIDE_WIDTH                   # integers of an accumulator of a wide round

    ctypedef struct Piece:
        int64_t hist_bin             # of its first code
        int32_t code
        int32_t length

    ctypedef struct Binned:
        Py_ssize_t n_rows
        int n_features
        const int32_t* n_bins
        const int32_t* missing_bin   # -1: the feature has none
        const int32_t* default_bin   # the bin that histograms leave out; -1: none
        const uint8_t* categorical
        const int32_t* singles       # the features from here on with one histogram bin each
        const int64_t* offset        # first histogram bin of each feature; and n_hist_bins
        const int32_t* feature_of_hist_bin
        int64_t n_hist_bins
        int64_t n_visits             # of bins by a search; one of a category counts several
        int64_t hist_bin_capacity    # bins that histograms have memory for

        const uint8_t* rows          # lanes, row-major, row_bytes apart
        Py_ssize_t row_bytes
        int n_lanes
        int n_groups
        Py_ssize_t lane_stride       # between accumulators of lanes: 24, 72 or 264
        const int32_t* lane_start    # of each lane in lane_groups; [n_lanes] is its size
        const int32_t* lane_groups   # by lane, in order of radix
        const int32_t* radix         # of each group in its lane
        const int32_t* n_codes       # of each group
        const int64_t* piece_start   # of each group; [n_groups] is their number
        const Piece* pieces
        const int32_t* hist_bin_of_code  # LANE_CODES for each group; -1: none

        const uint16_t* shorts       # row-major, n_shorts of each row
        int n_shorts
        const int64_t* short_hist_bin  # of bin 0 of each short; [n_shorts]: n_hist_bins
        const int64_t* entry_start   # by row; NULL: there are no entries
        const uint32_t* entries      # histogram bins
        const Piece* hist_bin_pieces   # bins of shorts and entries; without codes
        int n_hist_bin_pieces
        int64_t hist_bin_sums        # where their accumulators begin
        Py_ssize_t sums_size         # of all accumulators, and of the buffer to fold a lane
        double row_updates           # bins that a row is added to, on average
        # Of each row, where its gradient and score are; NULL: at its number.
        const uint32_t* position

    # The rows of a round, with their gradients and hessians.
    ctypedef struct Gradients:
        const float* gradient
        const float* hessian         # NULL: ones
        const double* weight         # multiplies both; NULL: ones
        const uint32_t* frequency    # whole weights: how often each row counts; NULL: once
        const uint32_t* ids          # the selected rows; NULL: all n_rows
        const uint32_t* sampled      # where their gradients are; NULL: one after the other
        Py_ssize_t n                 # of the selected rows
        Py_ssize_t n_rows
        # Of the rows of all processes:
        int64_t n_global
        int64_t n_global_rows
        int64_t total_frequency
        int64_t max_frequency

    # How a round's records, addends and accumulators are written: the shifts of their fields,
    # and the bits of the count.
    ctypedef struct Encoding:
        int packed
        int compact
        int constant_hessian
        int width                    # integers of an accumulator
        int record_gradient_shift
        int addend_gradient_shift
        int record_hessian_shift
        int count_bits               # also the shift of the hessian in an addend
        uint64_t hessian_mask
        uint64_t id_mask
        Py_ssize_t capacity          # rows that an accumulator can sum without overflow
        double gradient_unit
        double hessian_unit

    ctypedef struct Histogram:
        int64_t* gradient
        int64_t* hessian
        int32_t* count
        uint64_t* occupied           # a bitset of the bins that contain rows; NULL: it is not kept

    ctypedef struct Sums:
        int64_t gradient
        int64_t hessian
        int64_t count

cdef extern from "fixed_point.h" nogil:
    int64_t row_integer(
        const float* values, const double* weight, const uint32_t* frequency, Py_ssize_t row,
        double scale)
    Sums unpack(int64_t packed, const Encoding* encoding)
