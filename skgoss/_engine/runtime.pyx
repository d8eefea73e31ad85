"""What the machine offers: threads and instruction sets."""

from cython.parallel cimport parallel

cdef extern from *:
    """
    #ifdef _OPENMP
    #define SKGOSS_OPENMP 1
    #else
    #define SKGOSS_OPENMP 0
    #endif
    """
    const bint SKGOSS_OPENMP


def has_openmp() -> bool:
    """Whether the kernels were compiled with OpenMP."""
    return SKGOSS_OPENMP


def max_threads() -> int:
    """The number of threads OpenMP would use by itself."""
    return omp_get_max_threads()


def team_size(int n_threads) -> int:
    """The number of threads that really run when ``n_threads`` are asked for."""
    cdef int size = 0
    cdef int* size_out = &size
    with nogil, parallel(num_threads=n_threads):
        if omp_get_thread_num() == 0:
            size_out[0] = omp_get_num_threads()
    return size
