"""The instruction sets of the machine, and how the kernels were compiled."""

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


def simd() -> str:
    """The instructions that loops with more than one version use."""
    return ("plain", "AVX2", "AVX-512")[simd_level]


def compiler() -> str:
    """The compiler of the kernels, and its version."""
    return SKGOSS_COMPILER.decode("utf-8").strip()


def is_checked() -> bool:
    """Whether bounds are checked at each access by a memoryview."""
    return SKGOSS_CHECKED
