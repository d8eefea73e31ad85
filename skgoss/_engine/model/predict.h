/* Which leaves the rows of a tile reach, by bit masks: loops that the compiler makes vector
 * code. Every operation is on integers, so all instruction sets agree. */
#ifndef SKGOSS_PREDICT_H
#define SKGOSS_PREDICT_H

#include "leaves.h"
#include "simd.h"

/* Rows are scored in tiles of this many. */
#define SKGOSS_TILE 256

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
        leftmost_leaf(planes, n_planes, SKGOSS_TILE, leaf_out);                       \
    }                                                                                 \
    SIMD_KERNEL(NAME, MASK_ROWS(RANK), (ops, n_ops, n_planes, ranks, planes, leaf_out))

MASK_KERNEL(skgoss_masked_leaves_u8, uint8_t)
MASK_KERNEL(skgoss_masked_leaves_u16, uint16_t)

#endif
