"""Random numbers as hashes.

A draw depends only on its seed, its purpose, the round and the index of what is drawn, so the order
of threads does not matter.
"""

from libc.stdint cimport uint64_t

# What random numbers are drawn for. Values must not change: they are part of each model's seed.
cdef enum Purpose:
    BAGGING = 1
    TREE_FEATURES = 2
    NODE_FEATURES = 3
    RANDOM_THRESHOLD = 4
    ONE_SIDE = 5
    XENDCG = 6
    DIRECTION = 7


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """A hash of 64 bits: the finalizer of splitmix64 (Steele, Lea and Flood, 2014)."""
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t key(uint64_t seed, Purpose purpose, uint64_t round) noexcept nogil:
    """The key of the draws of a seed, a purpose and a round: see `draw`."""
    return mix(mix(mix(seed + <uint64_t>0x9E3779B97F4A7C15) + <uint64_t>purpose) + round)


cdef inline uint64_t draw(uint64_t key, uint64_t index) noexcept nogil:
    """64 random bits for one index, such as a row or feature; ``key`` is from the function `key`.

    The i-th number of splitmix64 that begins with this key.
    """
    return mix(key + index * <uint64_t>0x9E3779B97F4A7C15)


cdef inline long bounded(uint64_t bits, uint64_t bound) noexcept nogil:
    """An integer in [0, bound), from 64 random bits and bound < 2**32."""
    return <long>(((bits >> 32) * bound) >> 32)
