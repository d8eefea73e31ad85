/* One tree over binned rows, by masks of leaves (QuickScorer; see predict.pyx): the loops
   over a tile of rows. All operations are on integers, so all instruction sets agree. */
#ifndef SKGOSS_SCORE_H
#define SKGOSS_SCORE_H

#include "leaves.h"
#include "simd.h"

#define SCORE_TILE 2048

/* 0xFF for the rows that go right: whose code is one of `span` + 1 from `low` on, counted
   round the circle of bytes. */
static SIMD_INLINE void right_interval_body(const uint8_t *restrict code, ptrdiff_t n,
                                            uint8_t low, uint8_t span,
                                            uint8_t *restrict right_out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        right_out[i] = (uint8_t)(code[i] - low) <= span ? 0xFF : 0;
}
SIMD_KERNEL(right_interval,
            (const uint8_t *code, ptrdiff_t n, uint8_t low, uint8_t span,
             uint8_t *right_out),
            (code, n, low, span, right_out))

/* Of the eight leaves of a plane only those in `mask` remain to rows that go right. */
static SIMD_INLINE void keep_leaves_body(const uint8_t *restrict right, ptrdiff_t n,
                                         uint8_t mask, uint8_t *restrict plane)
{
    for (ptrdiff_t i = 0; i < n; i++)
        plane[i] &= mask | (uint8_t)~right[i];
}
SIMD_KERNEL(keep_leaves, (const uint8_t *right, ptrdiff_t n, uint8_t mask, uint8_t *plane),
            (right, n, mask, plane))

static SIMD_INLINE void first_leaf_body(const uint8_t *planes, int n_planes,
                                        uint8_t *leaf_out)
{
    leftmost_leaf(planes, n_planes, SCORE_TILE, leaf_out);
}
SIMD_KERNEL(first_leaf, (const uint8_t *planes, int n_planes, uint8_t *leaf_out),
            (planes, n_planes, leaf_out))

#endif
