from libc.stdint cimport uint64_t

cdef random_direction(uint64_t seed, uint64_t round_index, int n_scores)

cdef signed_sums(const float[:, ::1] values, const float[::1] signs, int n_threads)
