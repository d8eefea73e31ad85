/* The values of a tile become bytes: ranks among thresholds. The compiler vectorizes the loops,
 * which only compare numbers, so that results do not depend on the instruction set. */
#ifndef SKGOSS_PREDICT_H
#define SKGOSS_PREDICT_H

#include "leaves.h"
#include "simd.h"

#include <math.h>

/* Numbers up to this size count as zero if zeros are missing: float32's 1e-35, as in LightGBM. */
#define ZERO 1.0000000180025095e-35
/* The first integer above int32, and a category that is in no set. */
#define INT32_END 2147483648.0
#define NO_CATEGORY 0x7FFFFFFF

/* The number of thresholds of one column of bytes. */
#define RANKS_PER_BYTE 255

/* The meanings of "missing": none, where NaN counts as 0; zeros and NaN; and else NaN. */
enum { MISSING_NONE = 0, MISSING_ZERO = 1 };

/* The number of n > 0 ascending thresholds that are below each of LEAF_TILE values: a binary
 * search, of which all rows of a tile take each step together. */
SIMD_KERNEL(rank_values, (const double *restrict threshold, int64_t n,
             const double *restrict value, int64_t *restrict rank_out),
            (threshold, n, value, rank_out))
{
    for (int r = 0; r < LEAF_TILE; r++)
        rank_out[r] = 0;
    for (int64_t remaining = n; remaining > 1; remaining -= remaining >> 1) {
        const int64_t half = remaining >> 1;
        for (int r = 0; r < LEAF_TILE; r++)
            rank_out[r] += threshold[rank_out[r] + half - 1] < value[r] ? half : 0;
    }
    for (int r = 0; r < LEAF_TILE; r++)
        rank_out[r] += threshold[rank_out[r]] < value[r];
}

/* Write 0xFF for missing values of a tile, else 0, and 0xFF into *any_out if there is a missing
 * value. missing: what counts as missing (see above); zero: the largest size that counts as zero.
 * NaN becomes 0 if no value can be missing. */
SIMD_KERNEL(find_missing, (int missing, double zero, double *restrict value_inout,
             uint8_t *restrict missing_out, uint8_t *restrict any_out),
            (missing, zero, value_inout, missing_out, any_out))
{
    uint8_t any = 0;
    if (missing == MISSING_NONE)
        for (int r = 0; r < LEAF_TILE; r++) {
            value_inout[r] = value_inout[r] == value_inout[r] ? value_inout[r] : 0.0;
            missing_out[r] = 0;
        }
    else if (missing == MISSING_ZERO)
        for (int r = 0; r < LEAF_TILE; r++)
            missing_out[r] = fabs(value_inout[r]) > zero ? 0 : 0xFF;
    else
        for (int r = 0; r < LEAF_TILE; r++)
            missing_out[r] = value_inout[r] == value_inout[r] ? 0 : 0xFF;
    for (int r = 0; r < LEAF_TILE; r++)
        any |= missing_out[r];
    *any_out = any;
}

/* Write the ranks among the thresholds first, ..., first + 254: 0 below all of them, 255 above.
 * Missing values get the rank `missing_rank`. */
SIMD_KERNEL(ranks_to_bytes, (const int64_t *restrict rank, int64_t first,
             const uint8_t *restrict missing, uint8_t missing_rank, uint8_t *restrict byte_out),
            (rank, first, missing, missing_rank, byte_out))
{
    for (int r = 0; r < LEAF_TILE; r++) {
        const int64_t above = rank[r] - first;
        const int64_t low = above > 0 ? above : 0;
        const uint8_t byte = (uint8_t)(low < RANKS_PER_BYTE ? low : RANKS_PER_BYTE);
        byte_out[r] = (byte & ~missing[r]) | (missing_rank & missing[r]);
    }
}

/* Write one of the eight bytes of each word of a tile: the one that begins at bit `shift`. */
SIMD_KERNEL(words_to_bytes, (const uint64_t *restrict word, int shift,
             uint8_t *restrict byte_out), (word, shift, byte_out))
{
    for (int r = 0; r < LEAF_TILE; r++)
        byte_out[r] = (uint8_t)(word[r] >> shift);
}

#endif
