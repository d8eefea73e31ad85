/* The fixed-point encoding of a round: statistics of its gradients, their integers, and the
   records of its rows (layout.h). docs/design.md, section 4, has the formats. */
#ifndef SKGOSS_ENCODING_H
#define SKGOSS_ENCODING_H

#include <math.h>
#include <string.h>

#include "fixed_point.h"
#include "layout.h"
#include "simd.h"

/* Rows of a step; extremes have as many parts. */
#define STAT_WIDTH 64

/* Square roots of magnitudes, in units, are counted in such fractions of 1. */
#define ROOT_LEVELS 256.0f

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

/* Copies what n of the rows meant have, from `first` on. */
#define GATHER(type, field)                                        \
    if (rows->field) {                                             \
        const type *values = rows->field;                          \
        const uint32_t *restrict at = rows->sampled;               \
        type *restrict values_out = out->field;                    \
        for (ptrdiff_t i = first; i < first + n; i++)              \
            values_out[i] = values[at[i]];                         \
    }
SIMD_KERNEL(gather_gradients, (const Gradients *rows, ptrdiff_t first, ptrdiff_t n,
             const Gathered *out), (rows, first, n, out))
{
    GATHER(float, gradient)
    GATHER(float, hessian)
    GATHER(double, weight)
    GATHER(uint32_t, copies)
}

/* Extremes of every STAT_WIDTH-th row. Compilers vectorize a maximum of each element, but not one
   of all elements. */
typedef struct {
    double gradient_max[STAT_WIDTH];
    double hessian_max[STAT_WIDTH];
    double hessian_min[STAT_WIDTH];
    double zero[STAT_WIDTH];
} Extremes;

/* One loop for each kind of rows: an argument that is always NULL costs nothing in it. */
static SIMD_INLINE void extremes_of_rows(const float *gradient, const float *hessian,
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
            extremes_inout->zero[k] += g * 0.0 + h * 0.0;
        }
    }
}

/* Of n of the rows, from `first` on. */
SIMD_KERNEL(gradient_stats, (const Gradients *rows, ptrdiff_t first, ptrdiff_t n,
             GradientStats *out), (rows, first, n, out))
{
    const float *g = rows->gradient, *h = rows->hessian;
    Extremes of;
    memset(&of, 0, sizeof of);
    if (rows->weight)
        extremes_of_rows(g, h, rows->weight, first, n, &of);
    else if (h)
        extremes_of_rows(g, h, NULL, first, n, &of);
    else
        extremes_of_rows(g, NULL, NULL, first, n, &of);
    memset(out, 0, sizeof *out);
    for (int k = 0; k < STAT_WIDTH; k++) {
        double g_max = of.gradient_max[k], h_max = of.hessian_max[k], h_min = of.hessian_min[k];
        out->gradient_max = g_max > out->gradient_max ? g_max : out->gradient_max;
        out->hessian_max = h_max > out->hessian_max ? h_max : out->hessian_max;
        out->hessian_min = h_min < out->hessian_min ? h_min : out->hessian_min;
        out->zero += of.zero[k];
    }
}

/* The square root of a magnitude, in ROOT_LEVELS. */
static SIMD_INLINE int64_t root_level(double x)
{
    float size = (float)(x < 0 ? -x : x);
    return nearest((double)(sqrtf(size) * ROOT_LEVELS));
}

/* One loop for each kind of rows: an argument that is always NULL costs nothing in it. */
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
SIMD_KERNEL(sum_roots, (const Gradients *rows, ptrdiff_t first, ptrdiff_t n,
             double gradient_scale, double hessian_scale, Roots *out),
            (rows, first, n, gradient_scale, hessian_scale, out))
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

/* The same: two products, two roundings and two shifts a row. */
static SIMD_INLINE void encode_rows(const float *gradient, const float *hessian,
                                    const double *weight, const uint32_t *copies,
                                    const uint32_t *ids, ptrdiff_t first, ptrdiff_t n,
                                    double gradient_scale, double hessian_scale,
                                    const Encoding *encoding, uint64_t *records_out)
{
    const int gradient_down = encoding->gradient_down, hessian_down = encoding->hessian_down;
    for (ptrdiff_t i = first; i < first + n; i++) {
        uint64_t g = (uint64_t)row_integer(gradient, weight, copies, i, gradient_scale);
        uint64_t h = (uint64_t)row_integer(hessian, weight, copies, i, hessian_scale);
        uint64_t row = ids ? ids[i] : (uint64_t)i;
        records_out[i] = g << gradient_down | h << hessian_down | row;
    }
}

/* Records of a packed round: of n of the rows, from `first` on. */
SIMD_KERNEL(encode_packed, (const Gradients *rows, ptrdiff_t first, ptrdiff_t n,
             double gradient_scale, double hessian_scale, const Encoding *encoding,
             uint64_t *records_out),
            (rows, first, n, gradient_scale, hessian_scale, encoding, records_out))
{
    const float *g = rows->gradient, *h = rows->hessian;
    const double *w = rows->weight;
    const uint32_t *copies = rows->copies;
    double hs = encoding->constant_hessian ? 0.0 : hessian_scale;
    if (rows->ids ? w || copies || !h : w && copies)
        encode_rows(g, h, w, copies, rows->ids, first, n, gradient_scale, hs, encoding,
                    records_out);
    else if (rows->ids)
        encode_rows(g, h, NULL, NULL, rows->ids, first, n, gradient_scale, hs, encoding,
                    records_out);
    else if (copies)
        encode_rows(g, h, NULL, copies, NULL, first, n, gradient_scale, hs, encoding, records_out);
    else if (w)
        encode_rows(g, h, w, NULL, NULL, first, n, gradient_scale, hs, encoding, records_out);
    else if (h)
        encode_rows(g, h, NULL, NULL, NULL, first, n, gradient_scale, hs, encoding, records_out);
    else
        encode_rows(g, NULL, NULL, NULL, NULL, first, n, gradient_scale, hs, encoding,
                    records_out);
}

/* Pairs of integers of a wide round, by row: of n of the rows, from `first` on. */
SIMD_KERNEL(encode_wide, (const Gradients *rows, ptrdiff_t first, ptrdiff_t n,
             double gradient_scale, double hessian_scale, int64_t *pairs_out),
            (rows, first, n, gradient_scale, hessian_scale, pairs_out))
{
    for (ptrdiff_t i = first; i < first + n; i++) {
        int64_t *pair = pairs_out + 2 * (rows->ids ? (ptrdiff_t)rows->ids[i] : i);
        pair[0] = row_integer(rows->gradient, rows->weight, rows->copies, i, gradient_scale);
        pair[1] = row_integer(rows->hessian, rows->weight, rows->copies, i, hessian_scale);
    }
}

#endif
