from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from skgoss._engine.training.layout cimport Binned, Encoding, Histogram, Sums

cdef extern from "histogram.h" nogil:
    ctypedef struct GradientStats:
        double gradient_max
        double gradient_roots
        double hessian_max
        double hessian_roots
        double hessian_min

    void prefetch(const void* address)


cdef enum:
    FOLD_ROOM = 256         # digits of a shared lane, at the end of the accumulators


cdef GradientStats round_stats(
    const float* gradient, const float* hessian, const double* weight, const uint32_t* ids,
    Py_ssize_t n, int n_threads,
) noexcept nogil

cdef Encoding choose_encoding(
    const GradientStats* stats, Py_ssize_t n_rows, Py_ssize_t n, bint constant_hessian,
) noexcept nogil

cdef double fine_scale(double largest, Py_ssize_t n_rows) noexcept nogil

cdef void encode(
    const float* gradient, const float* hessian, const double* weight,
    const uint32_t* ids, Py_ssize_t n, Py_ssize_t n_rows, const Encoding* code,
    int n_threads, uint64_t* words_out, int64_t* pairs_out,
) noexcept nogil

cdef void accumulate(
    const Binned* data, const Encoding* code, const uint64_t* words, Py_ssize_t n,
    const int64_t* pairs, bint fresh, int64_t* sums, Histogram* out,
) noexcept nogil

cdef void add_places(
    const Encoding* code, int64_t first, int64_t last, int sign, const Histogram* part,
    Histogram* out,
) noexcept nogil

cdef void move_rows(
    const Binned* data, const Encoding* code, const uint64_t* words, Py_ssize_t n,
    const int64_t* pairs, int sign, Histogram* out, uint8_t* seen, int32_t* touched,
    int* n_touched,
) noexcept nogil

cdef Sums sum_words(
    const Encoding* code, const uint64_t* words, Py_ssize_t n, const int64_t* pairs,
) noexcept nogil
