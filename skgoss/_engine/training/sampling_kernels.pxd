from libc.stdint cimport int32_t, uint64_t


cdef int sample_features(
    const int32_t* candidates, int n_candidates, double fraction, uint64_t node_key,
    int32_t* sample_out,
) noexcept nogil
