"""Bits of 64-bit integers."""

from libc.stdint cimport uint64_t

cdef extern from "bits.h" nogil:
    int lowest_bit(uint64_t x)
    int bits_set(uint64_t x)
    int bit_length(uint64_t x)
