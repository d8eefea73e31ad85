"""What the machine offers: threads and instruction sets. How the kernels were compiled."""

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

cdef extern from "simd.h":
    """
    #if defined(__clang__)
    #define SKGOSS_COMPILER "Clang " __clang_version__
    #elif defined(__GNUC__)
    #define SKGOSS_COMPILER "GCC " __VERSION__
    #else
    #define SKGOSS_COMPILER "another compiler"
    #endif
    """
    const bint SKGOSS_CHECKED
    const char* SKGOSS_COMPILER
    const int simd_level


def has_openmp() -> bool:
    """Whether the kernels were compiled with OpenMP."""
    return SKGOSS_OPENMP


def simd() -> str:
    """The instructions that loops with more than one version use."""
    return ("plain", "AVX2", "AVX-512")[simd_level]


def compiler() -> str:
    """The compiler of the kernels, and its version."""
    return SKGOSS_COMPILER.decode("utf-8").strip()


def is_checked() -> bool:
    """Whether each access to memory by a memoryview is checked."""
    return SKGOSS_CHECKED


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
