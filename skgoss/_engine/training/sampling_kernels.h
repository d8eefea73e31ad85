/* The vectorized loops of samples of rows. All of them treat each row by itself. */
#ifndef SKGOSS_SAMPLING_H
#define SKGOSS_SAMPLING_H

#include <stddef.h>
#include <math.h>
#include <string.h>

#include "simd.h"

/* Rows whose numbers stay in the nearest cache between the loops over them. */
#define SAMPLING_TILE 1024

/* The numbers that `compress` may write beyond those that it returns. */
#define COMPRESS_SPARE 16

/* ---------------------------------------------------------------------------- lists */

/* compress, one element at a time: each is written, and overwritten by the next if not kept. */
static ptrdiff_t compress_plain(const uint8_t *kept, const uint32_t *values, uint32_t first,
                                 ptrdiff_t n, uint32_t *numbers_out)
{
    ptrdiff_t n_listed = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        numbers_out[n_listed] = values ? values[i] : first + (uint32_t)i;
        n_listed += kept[i];
    }
    return n_listed;
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#include <immintrin.h>

/* compress, sixteen elements at a time. */
SIMD_FOR_AVX512 static ptrdiff_t compress_avx512(const uint8_t *kept, const uint32_t *values,
                                                  uint32_t first, ptrdiff_t n,
                                                  uint32_t *numbers_out)
{
    __m512i numbers = _mm512_add_epi32(
        _mm512_set1_epi32((int)first),
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    uint32_t *out = numbers_out;
    ptrdiff_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(kept + i));
        __mmask16 mask = _mm_test_epi8_mask(bytes, bytes);
        __m512i listed = values ? _mm512_loadu_si512(values + i) : numbers;
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(mask, listed));
        out += __builtin_popcount(mask);
        numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(16));
    }
    out += compress_plain(kept + i, values ? values + i : NULL, first + (uint32_t)i, n - i, out);
    return out - numbers_out;
}
#endif

/* Writes those of n values where `kept` is 1 and not 0; if they are NULL, the positions, which
   begin with `first`. Returns their number. numbers_out: room for COMPRESS_SPARE more. */
static inline ptrdiff_t compress(const uint8_t *kept, const uint32_t *values, uint32_t first,
                                  ptrdiff_t n, uint32_t *numbers_out)
{
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
    if (simd_level == SIMD_AVX512)
        return compress_avx512(kept, values, first, n, numbers_out);
#endif
    return compress_plain(kept, values, first, n, numbers_out);
}

/* The number of ones among n values of 0 or 1. */
SIMD_KERNEL(count_kept, (const uint8_t *kept, ptrdiff_t n, int64_t *n_out), (kept, n, n_out))
{
    int64_t total = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        total += kept[i];
    *n_out = total;
}

/* ---------------------------------------------------------------------------- hashes */

/* The finalizer of splitmix64, as in random.pxd. */
static SIMD_INLINE uint64_t mix_bits(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* 64 random bits of a row, as `draw` in random.pxd. */
static SIMD_INLINE uint64_t row_bits(uint64_t row_key, uint64_t row)
{
    return mix_bits(row_key + row * 0x9E3779B97F4A7C15u);
}

/* Keeps those of the n rows from number `first` on whose hashes of 53 bits are below `threshold`.

    */
SIMD_KERNEL(bag_rows, (uint64_t row_key, uint64_t threshold, ptrdiff_t first, ptrdiff_t n,
             uint8_t *kept_out), (row_key, threshold, first, n, kept_out))
{
    for (ptrdiff_t i = 0; i < n; i++)
        kept_out[i] = (row_bits(row_key, (uint64_t)(first + i)) >> 11) < threshold;
}

/* ------------------------------------------------------------------------- one side */

/* Keys that fall as the sum over the scores of a row's |gradient| * weight rises: the bits of
   nonnegative floats have the order of their values, and 0x7FFFFFFF minus them the reverse. n:
   rows, at most SAMPLING_TILE. The gradients of different scores lie
   `stride` apart, their weights `weight_stride`, which is 0 if all have the same. Only every
   `step`-th row has a key. */
static SIMD_INLINE void rank_tile(const float *gradient, ptrdiff_t stride, int n_scores,
                                  const double *weight, ptrdiff_t weight_stride,
                                  ptrdiff_t step, int n, uint32_t *keys_out)
{
    float total[SAMPLING_TILE];
    for (int i = 0; i < n; i++)
        total[i] = 0;
    for (int k = 0; k < n_scores; k++) {
        const float *values = gradient + k * stride;
        const double *weights = weight ? weight + k * weight_stride : NULL;
        if (weights)
            for (int i = 0; i < n; i++)
                total[i] += (float)(fabsf(values[i * step]) * weights[i * step]);
        else
            for (int i = 0; i < n; i++)
                total[i] += fabsf(values[i * step]);
    }
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, total + i, sizeof bits);
        keys_out[i] = 0x7FFFFFFFu - bits;
    }
}

/* The keys of at most SAMPLING_TILE rows: see rank_tile. */
SIMD_KERNEL(rank_rows, (const float *gradient, ptrdiff_t stride, int n_scores,
             const double *weight, ptrdiff_t weight_stride, ptrdiff_t step, int n,
             uint32_t *keys_out),
            (gradient, stride, n_scores, weight, weight_stride, step, n, keys_out))
{
    if (step == 1)
        rank_tile(gradient, stride, n_scores, weight, weight_stride, 1, n, keys_out);
    else
        rank_tile(gradient, stride, n_scores, weight, weight_stride, step, n, keys_out);
}

/* A number from 1 to 2**31, a hash of `row_key` and the row's number. */
static SIMD_INLINE uint32_t row_draw(uint64_t row_key, uint64_t row)
{
    return (uint32_t)(row_bits(row_key, row) >> 33) + 1;
}

/* Keeps the rows with a key of at most `last_key` or a draw of at most `last_draw`: those of n
   rows, from number `first` on, whose keys these are. */
SIMD_KERNEL(keep_either, (const uint32_t *keys, uint32_t last_key, uint64_t row_key,
             uint32_t last_draw, ptrdiff_t first, ptrdiff_t n, uint8_t *kept_out),
            (keys, last_key, row_key, last_draw, first, n, kept_out))
{
    for (ptrdiff_t i = 0; i < n; i++)
        kept_out[i]
            = (keys[i] <= last_key) | (row_draw(row_key, (uint64_t)(first + i)) <= last_draw);
}

/* The draws of n rows, whose numbers and keys these are; 0 where the key is at most `threshold`. */
SIMD_KERNEL(draw_rows, (uint64_t row_key, const uint32_t *restrict rows,
             const uint32_t *restrict keys, uint32_t threshold, ptrdiff_t n,
             uint32_t *restrict draws_out), (row_key, rows, keys, threshold, n, draws_out))
{
    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t drawn = row_draw(row_key, rows[i]);
        draws_out[i] = keys[i] <= threshold ? 0 : drawn;
    }
}

/* Marks those of n values from `low` to `high`; adds the number of those below to `n_below_inout`.
   Unsigned differences wrap, so one comparison tests both ends. */
SIMD_KERNEL(keep_between, (const uint32_t *values, uint32_t low, uint32_t high, ptrdiff_t n,
             uint8_t *kept_out, int64_t *n_below_inout),
            (values, low, high, n, kept_out, n_below_inout))
{
    uint32_t n_lower = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        kept_out[i] = values[i] - low <= high - low;
        n_lower += values[i] < low;
    }
    *n_below_inout += n_lower;
}

/* Adds 1 to those of n values that equal `threshold`, except for the first `n_left_inout` of them,
 * from
   which the values that stay are subtracted. So only these stay at most the threshold. */
SIMD_KERNEL(raise_equals, (uint32_t threshold, ptrdiff_t n, uint32_t *values_inout,
             int64_t *n_left_inout),
            (threshold, n, values_inout, n_left_inout))
{
    uint32_t n_equal = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        n_equal += values_inout[i] == threshold;
    if (n_equal <= *n_left_inout) {
        *n_left_inout -= n_equal;
        return;
    }
    ptrdiff_t start = 0;
    for (; *n_left_inout > 0; start++)
        *n_left_inout -= values_inout[start] == threshold;
    for (ptrdiff_t i = start; i < n; i++)
        values_inout[i] += values_inout[i] == threshold;
}

/* The smallest and the largest of n values. */
SIMD_KERNEL(find_range, (const uint32_t *values, ptrdiff_t n, uint32_t *low_out,
             uint32_t *high_out), (values, n, low_out, high_out))
{
    uint32_t low = UINT32_MAX, high = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    *low_out = low;
    *high_out = high;
}

/* Multiplies the values of some rows. */
static inline void scale_rows(const uint32_t *rows, ptrdiff_t n, float factor, float *values_inout)
{
    for (ptrdiff_t i = 0; i < n; i++)
        values_inout[rows[i]] *= factor;
}

/* Sets the values of some rows. */
static inline void set_rows(const uint32_t *rows, ptrdiff_t n, float value, float *values_out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        values_out[rows[i]] = value;
}

#endif
