"""How the binned rows, a round's gradients and a node's histogram lie in memory."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef extern from "layout.h" nogil:
    ctypedef struct Binned:
        const uint8_t* rows          # row-major bins, row_bytes apart
        const uint8_t* columns       # column-major bins
        Py_ssize_t row_bytes
        Py_ssize_t n_rows
        int n_features
        int bin_bytes                # 1 or 2
        int n_lanes
        Py_ssize_t lane_stride       # between accumulators of one-byte lanes: 24, 72 or 264
        Py_ssize_t sums_size         # of the accumulators of all lanes, and room to fold
        const int32_t* lane_start     # of each lane in lane_features; [n_lanes] is its size
        const int32_t* lane_features  # by lane, in order of radix
        const int32_t* radix          # of each feature in its lane
        const int32_t* n_bins
        const int32_t* missing_bin   # -1: the column has none
        const int64_t* offset        # of each feature in a histogram; [n_features] is its size
        const int64_t* lane_offset   # of each lane in the accumulators

    ctypedef struct Encoding:
        int packed
        int compact
        int constant_hessian
        int gradient_down
        int gradient_up
        int hessian_down
        int count_bits
        uint64_t hessian_mask
        uint64_t id_mask
        Py_ssize_t block_rows
        double gradient_unit
        double hessian_unit

    ctypedef struct Histogram:
        int64_t* gradient
        int64_t* hessian
        int32_t* count

    ctypedef struct Sums:
        int64_t gradient
        int64_t hessian
        int64_t count

cdef extern from "fixed.h" nogil:
    int64_t nearest(double x)
    Sums unpack(int64_t packed, const Encoding* code)
