/* Bits of 64-bit integers. */
#ifndef SKGOSS_BITS_H
#define SKGOSS_BITS_H

#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define lowest_bit(x) __builtin_ctzll(x)
#define bits_set(x) __builtin_popcountll(x)
#else
static inline int bits_set(uint64_t x)
{
    int n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}
static inline int lowest_bit(uint64_t x) { return bits_set((x & (~x + 1)) - 1); }
#endif

/* The number of bits of a number, without leading zeros. */
static inline int bit_length(uint64_t x)
{
    int n = 0;
    for (; x; x >>= 1)
        n++;
    return n;
}

#endif
