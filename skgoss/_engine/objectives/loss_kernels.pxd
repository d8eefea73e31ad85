from libc.stdint cimport int64_t

cdef extern from "loss_kernels.h" nogil:
    ctypedef void (*pointwise_loss)(
        const double*, const double*, double, double, int64_t, float*, float*
    ) noexcept nogil

cdef extern from "distribution_kernels.h" nogil:
    ctypedef void (*distribution_derivatives)(
        const double*, const double*, int64_t, int64_t, float*, float*
    ) noexcept nogil


cdef struct DerivativeLoop:
    # The input and the output of kernels; each of them uses only some of the fields.
    pointwise_loss derive_pointwise
    distribution_derivatives derive_distribution
    const double* score       # (K, n), as `gradient` and `hessian`
    const double* y           # targets, by row
    const double* weight      # by row, only for `Intensity`
    int64_t n                 # rows
    int64_t n_scores          # K
    int64_t is_soft           # whether `y` is (K, n), only for `Softmax`
    double a                  # the parameters of the loss: see loss_kernels.h
    double b
    double* work              # for each thread, `work_size` doubles
    int64_t work_size
    float* gradient
    float* hessian            # NULL: not written, as all are 1


cdef class Loss:
    cdef const double[::1] y
    cdef int derive(
        self, const double[:, ::1] scores, float[:, ::1] gradient_out,
        float[:, ::1] hessian_out, int n_threads) except -1
    cdef int _derive(self, DerivativeLoop* loop, int n_threads) except -1
