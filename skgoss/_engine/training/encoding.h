/* The fixed-point encoding of a round: statistics of its gradients, their integers, and the
   records of its rows (layout.h). docs/design.md, section 4, has the formats. */
#ifndef SKGOSS_ENCODING_H
#define SKGOSS_ENCODING_H

#include <math.h>
#include <string.h>

#include "fixed_point.h"
#include "layout.h"
#include "simd.h"

/* Rows of a step; Extremes has an element for each. */
#define STAT_WIDTH 64

/* Square roots are rounded to multiples of 1 / ROOT_LEVELS. */
#define ROOT_LEVELS 256.0f

/* Extremes of some rows' gradients and hessians, times weights but not frequency weights. They
   start from 0: maxima are at least 0, minima at most. */
typedef struct {
    double gradient_max; /* of the absolute values */
    double hessian_max;
    double hessian_min;
    double nan_check; /* the sum of 0 * x over all numbers x: NaN if one is NaN or infinite */
} GradientStats;

/* Sums of the square roots of the integers' magnitudes, times frequency weights. The roots are
   rounded to integers, so that a row of frequency f has exactly the sums of f rows. */
typedef struct {
    int64_t gradient;
    int64_t hessian;
    int64_t n;
} Roots;

/* Memory for the numbers of the selected rows, one after the other. */
typedef struct {
    float *gradient;
    float *hessian;
    double *weight;
    uint32_t *frequency;
} Gathered;

/* Copies the numbers of n of the selected rows, from `first` on. */
#define GATHER(type, field)                                        \
    if (rows->field) {                                             \
        const type *values = rows->field;                          \
        const uint32_t *restrict index = rows->sampled;            \
        type *restrict values_out = out->field;                    \
        for (ptrdiff_t i = first; i < first + n; i++)              \
            values_out[i] = values[index[i]];                      \
    }
SIMD_KERNEL(gather_gradients, (const Gradients *rows, ptrdiff_t first, ptrdiff_t n,
             const Gathered *out), (rows, first, n, out))
{
    GATHER(float, gradient)
    GATHER(float, hessian)
    GATHER(double, weight)
    GATHER(uint32_t, frequency)
}

/* Element k has the extremes of rows k, k + STAT_WIDTH, ...: compilers vectorize a maximum of each
   element, but not one of all elements. */
typedef struct {
    double gradient_max[STAT_WIDTH];
    double hessian_max[STAT_WIDTH];
    double hessian_min[STAT_WIDTH];
    double nan_check[STAT_WIDTH];
} Extremes;

/* Extends extremes by n rows, from `first` on. One loop for each kind of rows: an argument that is
   always NULL costs nothing in it. */
static SIMD_INLINE void find_extremes(const float *gradient, const float *hessian,
                                      const double *weight, ptrdiff_t first, ptrdiff_t n,
                                      Extremes *restrict extremes_inout)
{
    for (ptrdiff_t start = first; start < first + n; start += STAT_WIDTH) {
        ptrdiff_t m = first + n - start < STAT_WIDTH ? first + n - start : STAT_WIDTH;
        for (ptrdiff_t k = 0; k < m; k++) {
            double w = weight ? weight[start + k] : 1.0;
            double g = (double)gradient[start + k] * w;
            double h = hessian ? (double)hessian[start + k] * w : w;
            double size = g < 0 ? -g : g;
            double g_max = extremes_inout->gradient_max[k];
            double h_max = extremes_inout->hessian_max[k], h_min = extremes_inout->hessian_min[k];
            extremes_inout->gradient_max[k] = size > g_max ? size : g_max;
            extremes_inout->hessian_max[k] = h > h_max ? h : h_max;
            extremes_inout->hessian_min[k] = h < h_min ? h : h_min;
            extremes_inout->nan_check[k] += g * 0.0 + h * 0.0;
        }
    }
}

/* The extremes of n of the rows, from `first` on. */
SIMD_KERNEL(gradient_stats, (const Gradients *rows, ptrdiff_t first, ptrdiff_t n,
             GradientStats *out), (rows, first, n, out))
{
    const float *g = rows->gradient, *h = rows->hessian;
    Extremes all;
    memset(&all, 0, sizeof all);
    if (rows->weight)
        find_extremes(g, h, rows->weight, first, n, &all);
    else if (h)
        find_extremes(g, h, NULL, first, n, &all);
    else
        find_extremes(g, NULL, NULL, first, n, &all);
    memset(out, 0, sizeof *out);
    for (int k = 0; k < STAT_WIDTH; k++) {
        double g_max = all.gradient_max[k], h_max = all.hessian_max[k];
        double h_min = all.hessian_min[k];
        out->gradient_max = g_max > out->gradient_max ? g_max : out->gradient_max;
        out->hessian_max = h_max > out->hessian_max ? h_max : out->hessian_max;
        out->hessian_min = h_min < out->hessian_min ? h_min : out->hessian_min;
        out->nan_check += all.nan_check[k];
    }
}

/* The square root of a magnitude, in units of 1 / ROOT_LEVELS. */
static SIMD_INLINE int64_t root_level(double x)
{
    float size = (float)(x < 0 ? -x : x);
    return nearest((double)(sqrtf(size) * ROOT_LEVELS));
}

/* sum_roots, for one kind of rows: an argument that is always NULL costs nothing in the loop. */
static SIMD_INLINE void roots_of_rows(const float *gradient, const float *hessian,
                                      const double *weight, const uint32_t *frequency,
                                      ptrdiff_t first, ptrdiff_t n, double gradient_scale,
                                      double hessian_scale, Roots *out)
{
    int64_t g = 0, h = 0, total = 0;
    for (ptrdiff_t i = first; i < first + n; i++) {
        double w = weight ? weight[i] : 1.0;
        int64_t f = frequency ? (int64_t)frequency[i] : 1;
        g += f * root_level((double)gradient[i] * w * gradient_scale);
        if (hessian || weight)
            h += f
                 * root_level(hessian ? (double)hessian[i] * w * hessian_scale
                                      : w * hessian_scale);
        total += f;
    }
    out->gradient = g;
    out->hessian = h;
    out->n = total;
}

/* The sums of roots of n of the rows, from `first` on; 0 for hessians that are all 1. */
SIMD_KERNEL(sum_roots, (const Gradients *rows, ptrdiff_t first, ptrdiff_t n,
             double gradient_scale, double hessian_scale, Roots *out),
            (rows, first, n, gradient_scale, hessian_scale, out))
{
    const float *g = rows->gradient, *h = rows->hessian;
    if (rows->weight || rows->frequency)
        roots_of_rows(g, h, rows->weight, rows->frequency, first, n, gradient_scale,
                      hessian_scale, out);
    else if (h)
        roots_of_rows(g, h, NULL, NULL, first, n, gradient_scale, hessian_scale, out);
    else
        roots_of_rows(g, NULL, NULL, NULL, first, n, gradient_scale, hessian_scale, out);
}

/* encode_packed, for one kind of rows: two products, two roundings and two shifts for each row. The
   gradient is signed: its lowest bits are shifted to the highest field. */
static SIMD_INLINE void encode_rows(const float *gradient, const float *hessian,
                                    const double *weight, const uint32_t *frequency,
                                    const uint32_t *ids, ptrdiff_t first, ptrdiff_t n,
                                    double gradient_scale, double hessian_scale,
                                    const Encoding *encoding, uint64_t *records_out)
{
    const int gradient_shift = encoding->record_gradient_shift;
    const int hessian_shift = encoding->record_hessian_shift;
    for (ptrdiff_t i = first; i < first + n; i++) {
        uint64_t g = (uint64_t)row_integer(gradient, weight, frequency, i, gradient_scale);
        uint64_t h = (uint64_t)row_integer(hessian, weight, frequency, i, hessian_scale);
        uint64_t row = ids ? ids[i] : (uint64_t)i;
        records_out[i] = g << gradient_shift | h << hessian_shift | row;
    }
}

/* Writes the records, in a packed round, of n of the rows, from `first` on, by position. The scales
   are inverse units. Arguments are NULL where the loop need not read them. */
SIMD_KERNEL(encode_packed, (const Gradients *rows, ptrdiff_t first, ptrdiff_t n,
             double gradient_scale, double hessian_scale, const Encoding *encoding,
             uint64_t *records_out),
            (rows, first, n, gradient_scale, hessian_scale, encoding, records_out))
{
    const float *g = rows->gradient, *h = rows->hessian;
    const double *w = rows->weight;
    const uint32_t *f = rows->frequency;
    double hs = encoding->constant_hessian ? 0.0 : hessian_scale;
    if (rows->ids ? w || f || !h : w && f)
        encode_rows(g, h, w, f, rows->ids, first, n, gradient_scale, hs, encoding, records_out);
    else if (rows->ids)
        encode_rows(g, h, NULL, NULL, rows->ids, first, n, gradient_scale, hs, encoding,
                    records_out);
    else if (f)
        encode_rows(g, h, NULL, f, NULL, first, n, gradient_scale, hs, encoding, records_out);
    else if (w)
        encode_rows(g, h, w, NULL, NULL, first, n, gradient_scale, hs, encoding, records_out);
    else if (h)
        encode_rows(g, h, NULL, NULL, NULL, first, n, gradient_scale, hs, encoding, records_out);
    else
        encode_rows(g, NULL, NULL, NULL, NULL, first, n, gradient_scale, hs, encoding,
                    records_out);
}

/* The pairs of integers, in a wide round and by row number, of n of the rows, from `first` on. */
SIMD_KERNEL(encode_wide, (const Gradients *rows, ptrdiff_t first, ptrdiff_t n,
             double gradient_scale, double hessian_scale, int64_t *pairs_out),
            (rows, first, n, gradient_scale, hessian_scale, pairs_out))
{
    for (ptrdiff_t i = first; i < first + n; i++) {
        int64_t *pair = pairs_out + 2 * (rows->ids ? (ptrdiff_t)rows->ids[i] : i);
        pair[0] = row_integer(rows->gradient, rows->weight, rows->frequency, i, gradient_scale);
        pair[1] = row_integer(rows->hessian, rows->weight, rows->frequency, i, hessian_scale);
    }
}

#endif
