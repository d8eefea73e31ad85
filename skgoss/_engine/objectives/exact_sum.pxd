from libc.stdint cimport int64_t

cdef extern from "exact_sum.h" nogil:
    enum:
        EXACT_BLOCK           # the maximum number of terms of a block
        EXACT_SIZE            # the number of elements of a sum
    void add_exact(double* term, const double* weight, int64_t n, int64_t* sum_inout)
    void add_products(double* term, const double* weight, int64_t n, int64_t* sum_inout)
