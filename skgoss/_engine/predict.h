/* Which leaves the rows of a tile reach, by bit masks: loops that the compiler makes vector
 * code. Every operation is on integers, so all instruction sets agree. */
#ifndef SKGOSS_PREDICT_H
#define SKGOSS_PREDICT_H

#include "simd.h"

/* Rows are scored in tiles of this many, in groups of 64: one cache line of bytes. */
#define SKGOSS_TILE 256
#define SKGOSS_GROUP 64

/* Of the leaves that `plane` holds (8 * plane .. 8 * plane + 7, counted from the left),
 * only those in `mask` remain to a row whose value has a rank above `rank`. */
typedef struct {
    int32_t column;
    uint16_t rank;
    uint8_t plane;
    uint8_t mask;
} skgoss_mask_op;

/* How many of the n > 0 ascending thresholds lie below each value: a binary search whose
 * steps the whole tile takes together. */
#define RANK_ROWS(RANK)                                                               \
    (const double *restrict threshold, int64_t n, const double *restrict value,       \
     RANK *restrict rank_out)

#define RANK_KERNEL(NAME, RANK)                                                       \
    static SIMD_INLINE void NAME##_body RANK_ROWS(RANK)                               \
    {                                                                                 \
        int64_t below[SKGOSS_TILE];                                                   \
        for (int r = 0; r < SKGOSS_TILE; r++)                                         \
            below[r] = 0;                                                             \
        for (int64_t remaining = n; remaining > 1; remaining -= remaining >> 1) {     \
            const int64_t half = remaining >> 1;                                      \
            for (int r = 0; r < SKGOSS_TILE; r++)                                     \
                below[r] += threshold[below[r] + half - 1] < value[r] ? half : 0;     \
        }                                                                             \
        for (int r = 0; r < SKGOSS_TILE; r++)                                         \
            rank_out[r] = (RANK)(below[r] + (threshold[below[r]] < value[r]));        \
    }                                                                                 \
    SIMD_KERNEL(NAME, RANK_ROWS(RANK), (threshold, n, value, rank_out))

RANK_KERNEL(skgoss_ranks_u8, uint8_t)
RANK_KERNEL(skgoss_ranks_u16, uint16_t)

/* The leftmost leaf that remains of each row; a tile of bytes for each plane. */
static SIMD_INLINE void leftmost_leaf(const uint8_t *planes, int n_planes, uint8_t *leaf_out)
{
    for (int r = 0; r < SKGOSS_TILE; r += SKGOSS_GROUP) {
        uint8_t bits[SKGOSS_GROUP], first[SKGOSS_GROUP];
        for (int j = 0; j < SKGOSS_GROUP; j++)
            bits[j] = first[j] = 0;
        for (int p = n_planes - 1; p >= 0; p--) {
            const uint8_t *plane = planes + p * SKGOSS_TILE + r;
            for (int j = 0; j < SKGOSS_GROUP; j++) {
                bits[j] = plane[j] ? plane[j] : bits[j];
                first[j] = plane[j] ? (uint8_t)(8 * p) : first[j];
            }
        }
        for (int j = 0; j < SKGOSS_GROUP; j++) {
            const uint8_t low = bits[j] & (uint8_t)-bits[j];
            leaf_out[r + j] = (uint8_t)(first[j] + (low & 0xAA ? 1 : 0)
                                        + (low & 0xCC ? 2 : 0) + (low & 0xF0 ? 4 : 0));
        }
    }
}

#define MASK_ROWS(RANK)                                                              \
    (const skgoss_mask_op *ops, int64_t n_ops, int n_planes, const RANK *ranks,       \
     uint8_t *planes, uint8_t *leaf_out)

#define MASK_KERNEL(NAME, RANK)                                                      \
    static SIMD_INLINE void NAME##_body MASK_ROWS(RANK)                               \
    {                                                                                 \
        for (int i = 0; i < n_planes * SKGOSS_TILE; i++)                              \
            planes[i] = 0xFF;                                                         \
        for (int64_t i = 0; i < n_ops; i++) {                                         \
            const RANK *restrict value = ranks + (int64_t)ops[i].column * SKGOSS_TILE; \
            uint8_t *restrict plane = planes + ops[i].plane * SKGOSS_TILE;            \
            const RANK rank = (RANK)ops[i].rank;                                      \
            const uint8_t mask = ops[i].mask;                                         \
            for (int r = 0; r < SKGOSS_TILE; r++)                                     \
                plane[r] &= value[r] > rank ? mask : 0xFF;                            \
        }                                                                             \
        leftmost_leaf(planes, n_planes, leaf_out);                                    \
    }                                                                                 \
    SIMD_KERNEL(NAME, MASK_ROWS(RANK), (ops, n_ops, n_planes, ranks, planes, leaf_out))

MASK_KERNEL(skgoss_masked_leaves_u8, uint8_t)
MASK_KERNEL(skgoss_masked_leaves_u16, uint16_t)

#endif
