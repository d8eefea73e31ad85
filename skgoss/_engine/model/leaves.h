/* Which leaf a row reaches, by what remains of a mask of leaves. */
#ifndef SKGOSS_LEAVES_H
#define SKGOSS_LEAVES_H

#include "simd.h"

/* Rows whose bytes make one cache line. */
#define LEAF_GROUP 64

/* The leftmost leaf that remains of each row; a plane of `tile` bytes holds eight leaves. */
static SIMD_INLINE void leftmost_leaf(const uint8_t *planes, int n_planes, int tile,
                                      uint8_t *leaf_out)
{
    for (int r = 0; r < tile; r += LEAF_GROUP) {
        uint8_t bits[LEAF_GROUP], first[LEAF_GROUP];
        for (int j = 0; j < LEAF_GROUP; j++)
            bits[j] = first[j] = 0;
        for (int p = n_planes - 1; p >= 0; p--) {
            const uint8_t *plane = planes + p * tile + r;
            for (int j = 0; j < LEAF_GROUP; j++) {
                bits[j] = plane[j] ? plane[j] : bits[j];
                first[j] = plane[j] ? (uint8_t)(8 * p) : first[j];
            }
        }
        for (int j = 0; j < LEAF_GROUP; j++) {
            const uint8_t low = bits[j] & (uint8_t)-bits[j];
            leaf_out[r + j] = (uint8_t)(first[j] + (low & 0xAA ? 1 : 0)
                                        + (low & 0xCC ? 2 : 0) + (low & 0xF0 ? 4 : 0));
        }
    }
}

#endif
