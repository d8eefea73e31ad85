/* The vectorised loops of the histogram room: statistics and fixed-point encoding of a
   round's gradients, and the spilling of packed accumulators. */
#ifndef SKGOSS_HISTOGRAM_H
#define SKGOSS_HISTOGRAM_H

#include <math.h>
#include <string.h>

#include "fixed.h"
#include "layout.h"
#include "simd.h"

#define STAT_LANES 8

/* Levels that roots of quanta are counted in. */
#define ROOT_LEVELS 256.0f

#define PREFETCH_AHEAD 16
#define CACHE_LINE 64
#define ROW_BLOCK 256   /* rows that stay in the first cache while lanes take turns */
#define LANES_A_TURN 64 /* lanes whose accumulators stay near */

/* An accumulator of a wide round is gradient, hessian, count and 0: one vector. */
#define WIDE_PARTS 4

typedef struct {
    int64_t part[WIDE_PARTS];
} WideSums;

/* Extremes of some rows' weighted gradients and hessians, each row taken once. */
typedef struct {
    double gradient_max;
    double hessian_max;
    double hessian_min;
    double zero; /* NaN where a number is not finite */
} GradientStats;

/* Sums over all copies of the square roots of their integers' magnitudes. Integers, so
   that they are the same however many copies are one row. */
typedef struct {
    int64_t gradient;
    int64_t hessian;
    int64_t n;
} Roots;

/* Room for what rows that are meant have, one after the other. */
typedef struct {
    float *gradient;
    float *hessian;
    double *weight;
    uint32_t *copies;
} Gathered;

static inline void prefetch(const void *address)
{
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

/* Asks for every cache line that a row's lanes have a part of. */
static inline void prefetch_row(const Binned *data, ptrdiff_t row)
{
    const uint8_t *lanes = data->rows + row * data->row_bytes;
    for (int at = 0; at < data->n_lanes - 1; at += CACHE_LINE)
        prefetch(lanes + at);
    prefetch(lanes + data->n_lanes - 1);
}

#define GATHER(name, value_t)                                                            \
    static SIMD_INLINE void name(const value_t *values, const uint32_t *restrict ids,     \
                                 ptrdiff_t first, ptrdiff_t n, value_t *restrict out)     \
    {                                                                                     \
        if (values)                                                                       \
            for (ptrdiff_t i = first; i < first + n; i++)                                 \
                out[i] = values[ids[i]];                                                  \
    }
GATHER(gather_floats, float)
GATHER(gather_doubles, double)
GATHER(gather_counts, uint32_t)

/* Copies what n of the rows meant have, from `first` on. */
static SIMD_INLINE void gather_slopes_body(const Slopes *rows, ptrdiff_t first, ptrdiff_t n,
                                           const Gathered *out)
{
    gather_floats(rows->gradient, rows->ids, first, n, out->gradient);
    gather_floats(rows->hessian, rows->ids, first, n, out->hessian);
    gather_doubles(rows->weight, rows->ids, first, n, out->weight);
    gather_counts(rows->copies, rows->ids, first, n, out->copies);
}

/* Of n of the rows, from `first` on. */
static SIMD_INLINE void gradient_stats_body(const Slopes *rows, ptrdiff_t first, ptrdiff_t n,
                                            GradientStats *out)
{
    const float *gradient = rows->gradient, *hessian = rows->hessian;
    const double *weight = rows->weight;
    double g_max[STAT_LANES] = {0}, h_max[STAT_LANES] = {0}, h_min[STAT_LANES] = {0};
    double zero[STAT_LANES] = {0};
    for (ptrdiff_t start = first; start < first + n; start += STAT_LANES) {
        double g[STAT_LANES] = {0}, h[STAT_LANES] = {0};
        int m = first + n - start < STAT_LANES ? (int)(first + n - start) : STAT_LANES;
        for (int k = 0; k < m; k++) {
            double w = weight ? weight[start + k] : 1.0;
            g[k] = (double)gradient[start + k] * w;
            h[k] = hessian ? (double)hessian[start + k] * w : w;
        }
        for (int k = 0; k < STAT_LANES; k++) {
            double g_size = g[k] < 0 ? -g[k] : g[k];
            g_max[k] = g_size > g_max[k] ? g_size : g_max[k];
            h_max[k] = h[k] > h_max[k] ? h[k] : h_max[k];
            h_min[k] = h[k] < h_min[k] ? h[k] : h_min[k];
            zero[k] += g[k] * 0.0 + h[k] * 0.0;
        }
    }
    memset(out, 0, sizeof *out);
    for (int k = 0; k < STAT_LANES; k++) {
        out->gradient_max = g_max[k] > out->gradient_max ? g_max[k] : out->gradient_max;
        out->hessian_max = h_max[k] > out->hessian_max ? h_max[k] : out->hessian_max;
        out->hessian_min = h_min[k] < out->hessian_min ? h_min[k] : out->hessian_min;
        out->zero += zero[k];
    }
}

static SIMD_INLINE int64_t root_level(double x)
{
    float size = (float)(x < 0 ? -x : x);
    return nearest((double)(sqrtf(size) * ROOT_LEVELS));
}

static SIMD_INLINE void roots_of_rows(const float *gradient, const float *hessian,
                                      const double *weight, const uint32_t *copies,
                                      ptrdiff_t first, ptrdiff_t n, double gradient_scale,
                                      double hessian_scale, Roots *out)
{
    int64_t g = 0, h = 0, total = 0;
    for (ptrdiff_t i = first; i < first + n; i++) {
        double w = weight ? weight[i] : 1.0;
        int64_t c = copies ? (int64_t)copies[i] : 1;
        g += c * root_level((double)gradient[i] * w * gradient_scale);
        if (hessian || weight)
            h += c
                 * root_level(hessian ? (double)hessian[i] * w * hessian_scale
                                      : w * hessian_scale);
        total += c;
    }
    out->gradient = g;
    out->hessian = h;
    out->n = total;
}

/* Of n of the rows, from `first` on. The hessians' are 0 where all of them are 1. */
static SIMD_INLINE void sum_roots_body(const Slopes *rows, ptrdiff_t first, ptrdiff_t n,
                                       double gradient_scale, double hessian_scale,
                                       Roots *out)
{
    const float *g = rows->gradient, *h = rows->hessian;
    if (rows->weight || rows->copies)
        roots_of_rows(g, h, rows->weight, rows->copies, first, n, gradient_scale,
                      hessian_scale, out);
    else if (h)
        roots_of_rows(g, h, NULL, NULL, first, n, gradient_scale, hessian_scale, out);
    else
        roots_of_rows(g, NULL, NULL, NULL, first, n, gradient_scale, hessian_scale, out);
}

static SIMD_INLINE void encode_rows(const float *gradient, const float *hessian,
                                    const double *weight, const uint32_t *copies,
                                    const uint32_t *ids, ptrdiff_t first, ptrdiff_t n,
                                    double gradient_scale, double hessian_scale,
                                    const Encoding *code, uint64_t *words_out)
{
    const int gradient_down = code->gradient_down, hessian_down = code->hessian_down;
    for (ptrdiff_t i = first; i < first + n; i++) {
        uint64_t g = (uint64_t)row_integer(gradient, weight, copies, i, gradient_scale);
        uint64_t h = (uint64_t)row_integer(hessian, weight, copies, i, hessian_scale);
        uint64_t row = ids ? ids[i] : (uint64_t)i;
        words_out[i] = g << gradient_down | h << hessian_down | row;
    }
}

/* Words of a packed round: of n of the rows, from `first` on. */
static SIMD_INLINE void encode_packed_body(const Slopes *rows, ptrdiff_t first, ptrdiff_t n,
                                           double gradient_scale, double hessian_scale,
                                           const Encoding *code, uint64_t *words_out)
{
    const float *g = rows->gradient, *h = rows->hessian;
    const double *w = rows->weight;
    const uint32_t *copies = rows->copies;
    double hs = code->constant_hessian ? 0.0 : hessian_scale;
    if (rows->ids ? w || copies || !h : w && copies)
        encode_rows(g, h, w, copies, rows->ids, first, n, gradient_scale, hs, code,
                    words_out);
    else if (rows->ids)
        encode_rows(g, h, NULL, NULL, rows->ids, first, n, gradient_scale, hs, code,
                    words_out);
    else if (copies)
        encode_rows(g, h, NULL, copies, NULL, first, n, gradient_scale, hs, code, words_out);
    else if (w)
        encode_rows(g, h, w, NULL, NULL, first, n, gradient_scale, hs, code, words_out);
    else if (h)
        encode_rows(g, h, NULL, NULL, NULL, first, n, gradient_scale, hs, code, words_out);
    else
        encode_rows(g, NULL, NULL, NULL, NULL, first, n, gradient_scale, hs, code,
                    words_out);
}

/* Pairs of integers of a wide round, by row: of n of the rows, from `first` on. */
static SIMD_INLINE void encode_wide_body(const Slopes *rows, ptrdiff_t first, ptrdiff_t n,
                                         double gradient_scale, double hessian_scale,
                                         int64_t *pairs_out)
{
    for (ptrdiff_t i = first; i < first + n; i++) {
        int64_t *pair = pairs_out + 2 * (rows->ids ? (ptrdiff_t)rows->ids[i] : i);
        pair[0] = row_integer(rows->gradient, rows->weight, rows->copies, i, gradient_scale);
        pair[1] = row_integer(rows->hessian, rows->weight, rows->copies, i, hessian_scale);
    }
}

/* Adds packed accumulators to separate sums, or stores them there
   if these are the `first`, and clears the accumulators. */
static SIMD_INLINE void spill_sums_body(int64_t *restrict packed, int n_bins,
                                           const Encoding *code, int first,
                                           int64_t *restrict gradient_out,
                                           int64_t *restrict hessian_out,
                                           int32_t *restrict count_out)
{
    const Encoding local = *code;
    int64_t keep = first ? 0 : -1;
    for (int b = 0; b < n_bins; b++) {
        Sums sums = unpack(packed[b], &local);
        gradient_out[b] = (gradient_out[b] & keep) + sums.gradient;
        hessian_out[b] = (hessian_out[b] & keep) + sums.hessian;
        count_out[b] = (count_out[b] & (int32_t)keep) + (int32_t)sums.count;
        packed[b] = 0;
    }
}

/* The same where histograms are written as accumulators are. */
static SIMD_INLINE void take_sums_body(int64_t *restrict sums, int n_bins, int first,
                                       int64_t *restrict sums_out)
{
    int64_t keep = first ? 0 : -1;
    for (int b = 0; b < n_bins; b++)
        sums_out[b] = (sums_out[b] & keep) + sums[b];
    memset(sums, 0, n_bins * sizeof *sums);
}

/* The same with accumulators of a wide round. */
static SIMD_INLINE void take_wide_body(int64_t *restrict sums, int n_bins, int first,
                                       int64_t *restrict gradient_out,
                                       int64_t *restrict hessian_out,
                                       int32_t *restrict count_out)
{
    int64_t keep = first ? 0 : -1;
    for (int b = 0; b < n_bins; b++) {
        const int64_t *part = sums + WIDE_PARTS * b;
        gradient_out[b] = (gradient_out[b] & keep) + part[0];
        hessian_out[b] = (hessian_out[b] & keep) + part[1];
        count_out[b] = (count_out[b] & (int32_t)keep) + (int32_t)part[2];
    }
    memset(sums, 0, WIDE_PARTS * n_bins * sizeof *sums);
}

static SIMD_INLINE void add_parts(const WideSums *x, WideSums *sums)
{
    for (int k = 0; k < WIDE_PARTS; k++)
        sums->part[k] += x->part[k];
}

static SIMD_INLINE WideSums wide_addend(const int64_t *pair)
{
    WideSums x = {{pair[0], pair[1], 1, 0}};
    return x;
}

/* Adds n rows to the lanes from `first` to `last`, four of them read as one word. */
static SIMD_INLINE void add_wide_tile(const Binned *data, const uint64_t *words, ptrdiff_t n,
                                      const WideSums *addends, int first, int last,
                                      ptrdiff_t stride, WideSums *lanes)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint8_t *row = data->rows + words[i] * data->row_bytes;
        const WideSums x = addends[i];
        for (int lane = first; lane < last; lane += 4) {
            WideSums *at = lanes + lane * stride;
            uint32_t bins;
            memcpy(&bins, row + lane, sizeof bins);
            add_parts(&x, at + (bins & 255));
            add_parts(&x, at + stride + (bins >> 8 & 255));
            add_parts(&x, at + 2 * stride + (bins >> 16 & 255));
            add_parts(&x, at + 3 * stride + (bins >> 24));
        }
    }
}

static SIMD_INLINE void add_wide_strided(const Binned *data, const uint64_t *words,
                                         ptrdiff_t n, const int64_t *pairs, ptrdiff_t stride,
                                         WideSums *lanes)
{
    WideSums addends[ROW_BLOCK];
    for (ptrdiff_t first = 0; first < n; first += ROW_BLOCK) {
        ptrdiff_t m = n - first < ROW_BLOCK ? n - first : ROW_BLOCK;
        for (ptrdiff_t i = first; i < first + m; i++) {
            if (i + PREFETCH_AHEAD < n)
                prefetch(pairs + 2 * words[i + PREFETCH_AHEAD]);
            addends[i - first] = wide_addend(pairs + 2 * words[i]);
            prefetch_row(data, words[i]);
        }
        for (int lane = 0; lane < data->n_lanes; lane += LANES_A_TURN) {
            int last = lane + LANES_A_TURN < data->n_lanes ? lane + LANES_A_TURN : data->n_lanes;
            add_wide_tile(data, words + first, m, addends, lane, last, stride, lanes);
        }
    }
}

/* Adds rows of one-byte bins to the accumulators of a wide round. */
static SIMD_INLINE void add_wide_bytes_body(const Binned *data, const uint64_t *words,
                                            ptrdiff_t n, const int64_t *pairs, int64_t *sums)
{
    /* Constant strides make the addresses part of the instructions. */
    if (data->lane_stride == 24)
        add_wide_strided(data, words, n, pairs, 24, (WideSums *)sums);
    else if (data->lane_stride == 72)
        add_wide_strided(data, words, n, pairs, 72, (WideSums *)sums);
    else
        add_wide_strided(data, words, n, pairs, 264, (WideSums *)sums);
}

/* Adds to them the places that rows name themselves. */
static SIMD_INLINE void add_wide_entries_body(const Binned *data, const uint64_t *words,
                                              ptrdiff_t n, const int64_t *pairs, int64_t *sums)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        if (i + 2 * PREFETCH_AHEAD < n)
            prefetch(data->entry_start + words[i + 2 * PREFETCH_AHEAD]);
        if (i + PREFETCH_AHEAD < n) {
            prefetch(pairs + 2 * words[i + PREFETCH_AHEAD]);
            prefetch(data->entries + data->entry_start[words[i + PREFETCH_AHEAD]]);
        }
        const WideSums x = wide_addend(pairs + 2 * words[i]);
        for (int64_t e = data->entry_start[words[i]]; e < data->entry_start[words[i] + 1]; e++)
            add_parts(&x, (WideSums *)sums + data->entries[e]);
    }
}

/* Sums of the words of a packed round. */
static SIMD_INLINE void sum_packed_body(const uint64_t *words, ptrdiff_t n,
                                        const Encoding *code, Sums *out)
{
    const int down = code->gradient_down, hessian_down = code->hessian_down;
    const uint64_t mask = code->hessian_mask;
    int64_t gradient = 0;
    uint64_t hessian = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        gradient += (int64_t)words[i] >> down;
        hessian += words[i] >> hessian_down & mask;
    }
    out->gradient = gradient;
    out->hessian = code->constant_hessian ? n : (int64_t)hessian;
    out->count = n;
}

static SIMD_INLINE void fold_parts(int64_t *sums, int radix, int n, const int parts,
                                   int64_t *restrict digit_out)
{
    const ptrdiff_t size = (ptrdiff_t)radix * parts;
    for (int d = 0; d < n; d++) {
        int64_t *block = sums + d * size;
        int64_t total[WIDE_PARTS] = {0};
        for (ptrdiff_t j = 0; j < size; j += parts)
            for (int k = 0; k < parts; k++)
                total[k] += block[j + k];
        memcpy(digit_out + d * parts, total, parts * sizeof *total);
        if (d == 0)
            continue;
        for (ptrdiff_t j = 0; j < size; j++) {
            sums[j] += block[j];
            block[j] = 0;
        }
    }
}

/* Splits the sums by a number's digits into those of its highest digit, of n values worth
   `radix` each, and those of the rest, which stay first. */
static SIMD_INLINE void fold_digit_body(int64_t *sums, int radix, int n, int parts,
                                        int64_t *digit_out)
{
    if (parts == 1)
        fold_parts(sums, radix, n, 1, digit_out);
    else
        fold_parts(sums, radix, n, WIDE_PARTS, digit_out);
}

/* Adds values to sums, or subtracts them where sign is negative. */
#define ADD_SUMS(name, value_t)                                                         \
    static SIMD_INLINE void name##_body(int n, int sign, const value_t *restrict values, \
                                        value_t *restrict sums_inout)                   \
    {                                                                                   \
        if (sign > 0)                                                                   \
            for (int b = 0; b < n; b++)                                                 \
                sums_inout[b] += values[b];                                             \
        else                                                                            \
            for (int b = 0; b < n; b++)                                                 \
                sums_inout[b] -= values[b];                                             \
    }                                                                                   \
    SIMD_KERNEL(name, (int n, int sign, const value_t *values, value_t *sums_inout),    \
                (n, sign, values, sums_inout))
ADD_SUMS(add_longs, int64_t)
ADD_SUMS(add_ints, int32_t)

/* Writes separate sums as packed ones, over the first of them. */
static SIMD_INLINE void pack_sums_body(int n, const Encoding *code, int64_t *gradient_inout,
                                       const int64_t *restrict hessian,
                                       const int32_t *restrict count)
{
    const Encoding local = *code;
    for (int b = 0; b < n; b++) {
        Sums sums = {gradient_inout[b], hessian[b], count[b]};
        gradient_inout[b] = pack(sums, &local);
    }
}

/* Subtracts packed sums from separate ones. */
static SIMD_INLINE void take_packed_body(int n, const Encoding *code,
                                         const int64_t *restrict packed,
                                         int64_t *restrict gradient_inout,
                                         int64_t *restrict hessian_inout,
                                         int32_t *restrict count_inout)
{
    const Encoding local = *code;
    for (int b = 0; b < n; b++) {
        Sums sums = unpack(packed[b], &local);
        gradient_inout[b] -= sums.gradient;
        hessian_inout[b] -= sums.hessian;
        count_inout[b] -= (int32_t)sums.count;
    }
}

SIMD_KERNEL(pack_sums,
            (int n, const Encoding *code, int64_t *gradient_inout, const int64_t *hessian,
             const int32_t *count),
            (n, code, gradient_inout, hessian, count))
SIMD_KERNEL(take_packed,
            (int n, const Encoding *code, const int64_t *packed, int64_t *gradient_inout,
             int64_t *hessian_inout, int32_t *count_inout),
            (n, code, packed, gradient_inout, hessian_inout, count_inout))
SIMD_KERNEL(gather_slopes,
            (const Slopes *rows, ptrdiff_t first, ptrdiff_t n, const Gathered *out),
            (rows, first, n, out))
SIMD_KERNEL(gradient_stats,
            (const Slopes *rows, ptrdiff_t first, ptrdiff_t n, GradientStats *out),
            (rows, first, n, out))
SIMD_KERNEL(sum_roots,
            (const Slopes *rows, ptrdiff_t first, ptrdiff_t n, double gradient_scale,
             double hessian_scale, Roots *out),
            (rows, first, n, gradient_scale, hessian_scale, out))
SIMD_KERNEL(encode_packed,
            (const Slopes *rows, ptrdiff_t first, ptrdiff_t n, double gradient_scale,
             double hessian_scale, const Encoding *code, uint64_t *words_out),
            (rows, first, n, gradient_scale, hessian_scale, code, words_out))
SIMD_KERNEL(encode_wide,
            (const Slopes *rows, ptrdiff_t first, ptrdiff_t n, double gradient_scale,
             double hessian_scale, int64_t *pairs_out),
            (rows, first, n, gradient_scale, hessian_scale, pairs_out))
SIMD_KERNEL(spill_sums,
            (int64_t *packed, int n_bins, const Encoding *code, int first,
             int64_t *gradient_out, int64_t *hessian_out, int32_t *count_out),
            (packed, n_bins, code, first, gradient_out, hessian_out, count_out))
SIMD_KERNEL(sum_packed,
            (const uint64_t *words, ptrdiff_t n, const Encoding *code, Sums *out),
            (words, n, code, out))
SIMD_KERNEL(fold_digit, (int64_t *sums, int radix, int n, int parts, int64_t *digit_out),
            (sums, radix, n, parts, digit_out))
SIMD_KERNEL(take_sums, (int64_t *sums, int n_bins, int first, int64_t *sums_out),
            (sums, n_bins, first, sums_out))
SIMD_KERNEL(take_wide,
            (int64_t *sums, int n_bins, int first, int64_t *gradient_out,
             int64_t *hessian_out, int32_t *count_out),
            (sums, n_bins, first, gradient_out, hessian_out, count_out))
SIMD_KERNEL(add_wide_bytes,
            (const Binned *data, const uint64_t *words, ptrdiff_t n, const int64_t *pairs,
             int64_t *sums),
            (data, words, n, pairs, sums))
SIMD_KERNEL(add_wide_entries,
            (const Binned *data, const uint64_t *words, ptrdiff_t n, const int64_t *pairs,
             int64_t *sums),
            (data, words, n, pairs, sums))

#endif
