from libc.stdint cimport int32_t, int64_t, uint64_t

from skgoss._engine.training.forest cimport Forest

cdef random_halves(uint64_t seed, uint64_t round_index, int n_scores)

cdef random_direction(uint64_t seed, uint64_t round_index, const double[:, ::1] unit)

cdef directed_sums(
    const float[:, ::1] values, const float[::1] factors, const double[:, ::1] weight,
    int n_threads)

cdef int add_shared_trees(
    Forest forest, int64_t first_tree, const int32_t* leaf, Py_ssize_t n_rows, int n_threads,
    double* scores_inout, int64_t n_scores,
) except -1 nogil
