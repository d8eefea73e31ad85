/* The vectorised loops of one-side sampling. All work row by row. */
#ifndef SKGOSS_SAMPLING_H
#define SKGOSS_SAMPLING_H

#include <math.h>
#include <string.h>

#include "simd.h"

#define SAMPLING_TILE 512

/* Keys that fall as the sum over the scores of a row's |gradient| * weight rises: the bits of
   floats that are not negative are ordered as they are. Scores lie `stride` apart, and so do
   the weights of each, unless `weight_stride` is 0: then they have the same. */
static SIMD_INLINE void rank_rows_body(const float *gradient, ptrdiff_t stride, int n_scores,
                                       const double *weight, ptrdiff_t weight_stride,
                                       ptrdiff_t n, uint32_t *keys_out)
{
    float total[SAMPLING_TILE];
    for (ptrdiff_t start = 0; start < n; start += SAMPLING_TILE) {
        int m = n - start < SAMPLING_TILE ? (int)(n - start) : SAMPLING_TILE;
        for (int i = 0; i < m; i++)
            total[i] = 0;
        for (int k = 0; k < n_scores; k++) {
            const float *slope = gradient + k * stride + start;
            const double *times = weight ? weight + k * weight_stride + start : NULL;
            if (times)
                for (int i = 0; i < m; i++)
                    total[i] += (float)(fabsf(slope[i]) * times[i]);
            else
                for (int i = 0; i < m; i++)
                    total[i] += fabsf(slope[i]);
        }
        for (int i = 0; i < m; i++) {
            uint32_t bits;
            memcpy(&bits, total + i, sizeof bits);
            keys_out[start + i] = 0x7FFFFFFFu - bits;
        }
    }
}
SIMD_KERNEL(rank_rows,
            (const float *gradient, ptrdiff_t stride, int n_scores, const double *weight,
             ptrdiff_t weight_stride, ptrdiff_t n, uint32_t *keys_out),
            (gradient, stride, n_scores, weight, weight_stride, n, keys_out))

/* The finaliser of splitmix64, as in random.pxd. */
static SIMD_INLINE uint64_t mix_bits(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Replaces the keys up to `cut` by 0 and those above it by a number from 1 to 2**31, a hash
   of `row_key` and the row's number. */
static SIMD_INLINE void draw_rest_body(uint64_t row_key, uint32_t cut, ptrdiff_t first,
                                       ptrdiff_t n, uint32_t *keys)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        uint64_t bits = mix_bits(row_key + (uint64_t)(first + i) * 0x9E3779B97F4A7C15u);
        uint32_t drawn = (uint32_t)(bits >> 33) + 1;
        keys[i] = keys[i] <= cut ? 0 : drawn;
    }
}
SIMD_KERNEL(draw_rest,
            (uint64_t row_key, uint32_t cut, ptrdiff_t first, ptrdiff_t n, uint32_t *keys),
            (row_key, cut, first, n, keys))

/* Multiplies what drawn rows have, whose keys are above 0 and at most `cut`, or writes what
   every row counts. */
static SIMD_INLINE void scale_drawn_body(const uint32_t *restrict keys, uint32_t cut,
                                         ptrdiff_t n, float factor, int write,
                                         float *restrict slope)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        float times = keys[i] - 1 < cut ? factor : 1.0f;
        slope[i] = write ? times : times * slope[i];
    }
}
SIMD_KERNEL(scale_drawn,
            (const uint32_t *keys, uint32_t cut, ptrdiff_t n, float factor, int write,
             float *slope),
            (keys, cut, n, factor, write, slope))

/* Lists the rows, from `first` on, whose keys are at most `cut`; returns how many. Writes
   one row more than it returns. */
static inline ptrdiff_t list_rows(const uint32_t *keys, uint32_t cut, ptrdiff_t first,
                                  ptrdiff_t n, uint32_t *rows_out)
{
    ptrdiff_t at = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        rows_out[at] = (uint32_t)(first + i);
        at += keys[i] <= cut;
    }
    return at;
}

/* Lists the keys whose highest digit is `digit`, which are n_wanted. */
static inline void collect_keys(const uint32_t *keys, int low_bits, uint32_t digit,
                                ptrdiff_t n_wanted, uint32_t *keys_out)
{
    ptrdiff_t at = 0;
    for (ptrdiff_t i = 0; at < n_wanted; i++) {
        keys_out[at] = keys[i];
        at += keys[i] >> low_bits == digit;
    }
}

#endif
