/* Metrics: from targets and predictions to the losses of rows; and the counts and sums over
 * rows that areas under curves need.
 *
 * A loss is a function of one row, `<loss>_of`; METRIC makes its kernel. `a` is the loss's
 * parameter. The logarithms are ours, as those of mathematical libraries differ in the last
 * bit between processors, and with them the round in which a fit would stop.
 */
#ifndef SKGOSS_METRICS_H
#define SKGOSS_METRICS_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "elementary.h"
#include "simd.h"

/* Extremes and counts over rows have so many parts, which the rows join in turn: the compiler
 * makes a vector of them. */
#define METRIC_WIDTH 8

/* LightGBM's limits: what logarithms are taken of is no smaller. */
#define TINY 1e-15
#define TINY_SHARE 1e-12
#define TINY_MEAN 1e-10

/* log(2) in two parts; products of the first with exponents are exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33

static SIMD_INLINE double at_least(double x, double low) { return x < low ? low : x; }

/* log(x) within 2 units in the last place, x no less than the smallest normal number.
 *
 * x = 2**k m with m between sqrt(1/2) and sqrt(2); for m = 1 + f and s = f / (2 + f), log m
 * = 2 atanh(s) = f - s (f - z r(z)) with z = s * s, where r interpolates at the seven
 * Chebyshev nodes. */
static SIMD_INLINE double logarithm(double x)
{
    const uint64_t one = (uint64_t)1023 << 52, root_of_half = 0x3FE6A09E667F3BCDu;
    double m, k;
    uint64_t bits, exponent;
    x = at_least(x, DBL_MIN);
    memcpy(&bits, &x, sizeof bits);
    bits += one - root_of_half;
    /* A number whose last bits are the exponent: 2**52 + 1023 + k. */
    exponent = (bits >> 52) | 0x4330000000000000u;
    bits = (bits & 0x000FFFFFFFFFFFFFu) + root_of_half;
    memcpy(&m, &bits, sizeof m);
    memcpy(&k, &exponent, sizeof k);
    k -= 4503599627370496.0 + 1023.0;
    double f = m - 1.0, s = f / (1.0 + m), z = s * s;
    double r = 0x1.2b584aae78a57p-3;
    r = r * z + 0x1.39fe606542ddep-3;
    r = r * z + 0x1.7462b4ab2ef6bp-3;
    r = r * z + 0x1.c71c62e5800a1p-3;
    r = r * z + 0x1.2492492df148dp-2;
    r = r * z + 0x1.99999999952e2p-2;
    r = r * z + 0x1.5555555555558p-1;
    double found = k * LN2_HIGH + (f - (s * (f - z * r) - k * LN2_LOW));
    /* Infinity and NaN stay. */
    return x <= DBL_MAX ? found : x;
}

/* log(1 + x) for x >= 0, with what rounding 1 + x loses. */
static SIMD_INLINE double logarithm_1p(double x)
{
    double above = 1.0 + x;
    return logarithm(above) + (x - (above - 1.0)) / above;
}

/* -------------------------------------------------------------------------- the losses */

static SIMD_INLINE double l2_of(double y, double p, double a)
{
    double x = y - p;
    return x * x;
}

static SIMD_INLINE double l1_of(double y, double p, double a) { return fabs(y - p); }

/* a: the quantile. */
static SIMD_INLINE double quantile_of(double y, double p, double a)
{
    double x = y - p;
    return x * (x >= 0.0 ? a : a - 1.0);
}

static SIMD_INLINE double mape_of(double y, double p, double a)
{
    return fabs(y - p) / at_least(fabs(y), 1.0);
}

/* a: where the loss turns from a parabola into a line. */
static SIMD_INLINE double huber_of(double y, double p, double a)
{
    double x = fabs(y - p);
    return x <= a ? 0.5 * x * x : a * (x - 0.5 * a);
}

/* a: the scale, c. */
static SIMD_INLINE double fair_of(double y, double p, double a)
{
    double x = fabs(y - p);
    return a * x - a * a * logarithm_1p(x / a);
}

static SIMD_INLINE double poisson_of(double y, double p, double a)
{
    p = at_least(p, TINY_MEAN);
    return p - y * logarithm(p);
}

/* a: the power of the variance, above 1. */
static SIMD_INLINE double tweedie_of(double y, double p, double a)
{
    p = at_least(p, TINY_MEAN);
    double power = exponential((1.0 - a) * logarithm(p));
    return p * power / (2.0 - a) - y * power / (1.0 - a);
}

static SIMD_INLINE double gamma_of(double y, double p, double a)
{
    p = at_least(p, DBL_MIN);
    return y / p + logarithm(p);
}

static SIMD_INLINE double gamma_deviance_of(double y, double p, double a)
{
    double ratio = y / (p + 1e-9);
    return 2.0 * (ratio - logarithm(ratio) - 1.0);
}

static SIMD_INLINE double binary_logloss_of(double y, double p, double a)
{
    return -logarithm(at_least(y > 0.0 ? p : 1.0 - p, TINY));
}

static SIMD_INLINE double binary_error_of(double y, double p, double a)
{
    return (p > 0.5 ? 1.0 : 0.0) == (y > 0.0 ? 1.0 : 0.0) ? 0.0 : 1.0;
}

static SIMD_INLINE double cross_entropy_of(double y, double p, double a)
{
    return -(y * logarithm(at_least(p, TINY_SHARE))
             + (1.0 - y) * logarithm(at_least(1.0 - p, TINY_SHARE)));
}

/* p: log(1 + exp(score)) times the weight. */
static SIMD_INLINE double cross_entropy_lambda_of(double y, double p, double a)
{
    return cross_entropy_of(y, 1.0 - exponential(-p), a);
}

/* The least that the cross entropy can be. */
static SIMD_INLINE double entropy_of(double y, double p, double a)
{
    return cross_entropy_of(y, y, a);
}

/* --------------------------------------------------------------------------- the loops */

/* The kernel of a metric, `<loss>_of` of each row. */
#define METRIC(name)                                                                       \
    static SIMD_INLINE void name##_metric_body(const double *restrict y,                   \
                                               const double *restrict p, double a,         \
                                               int64_t n, double *restrict loss_out)       \
    {                                                                                      \
        for (int64_t i = 0; i < n; i++)                                                    \
            loss_out[i] = name##_of(y[i], p[i], a);                                        \
    }                                                                                      \
    SIMD_KERNEL(name##_metric,                                                             \
                (const double *y, const double *p, double a, int64_t n, double *loss_out), \
                (y, p, a, n, loss_out))

METRIC(l2)
METRIC(l1)
METRIC(quantile)
METRIC(mape)
METRIC(huber)
METRIC(fair)
METRIC(poisson)
METRIC(tweedie)
METRIC(gamma)
METRIC(gamma_deviance)
METRIC(binary_logloss)
METRIC(binary_error)
METRIC(cross_entropy)
METRIC(cross_entropy_lambda)
METRIC(entropy)

typedef void (*metric_rows)(const double *y, const double *p, double a, int64_t n,
                            double *loss_out);

/* In the order of metrics.pyx's LOSSES. */
static const metric_rows METRIC_LOSSES[] = {
    l2_metric, l1_metric, quantile_metric, mape_metric, huber_metric, fair_metric,
    poisson_metric, tweedie_metric, gamma_metric, gamma_deviance_metric,
    binary_logloss_metric, binary_error_metric, cross_entropy_metric,
    cross_entropy_lambda_metric, entropy_metric,
};

/* The log loss of the probabilities of the rows' own classes. */
static SIMD_INLINE void share_losses_body(const double *restrict own, int64_t n,
                                          double *restrict loss_out)
{
    for (int64_t i = 0; i < n; i++)
        loss_out[i] = -logarithm(at_least(own[i], TINY));
}

SIMD_KERNEL(share_losses, (const double *own, int64_t n, double *loss_out),
            (own, n, loss_out))

/* Whether more than top_k of the class-major scores, `stride` rows a class, are no less
 * than the row's own. */
static SIMD_INLINE void class_errors_body(const double *restrict score, int64_t stride,
                                          int64_t n_classes, const double *restrict own,
                                          double top_k, int64_t n, double *restrict loss_out)
{
    for (int64_t i = 0; i < n; i++)
        loss_out[i] = 0.0;
    for (int64_t k = 0; k < n_classes; k++) {
        const double *restrict f = score + k * stride;
        for (int64_t i = 0; i < n; i++)
            loss_out[i] += f[i] >= own[i] ? 1.0 : 0.0;
    }
    for (int64_t i = 0; i < n; i++)
        loss_out[i] = loss_out[i] > top_k ? 1.0 : 0.0;
}

SIMD_KERNEL(class_errors,
            (const double *score, int64_t stride, int64_t n_classes, const double *own,
             double top_k, int64_t n, double *loss_out),
            (score, stride, n_classes, own, top_k, n, loss_out))

/* The least and the largest of n > 0 scores. */
static SIMD_INLINE void range_of_scores_body(const double *restrict score, int64_t n,
                                             double *restrict least_out,
                                             double *restrict largest_out)
{
    double low[METRIC_WIDTH], high[METRIC_WIDTH];
    for (int l = 0; l < METRIC_WIDTH; l++)
        low[l] = high[l] = score[0];
    int64_t i = 0;
    for (; i + METRIC_WIDTH <= n; i += METRIC_WIDTH)
        for (int l = 0; l < METRIC_WIDTH; l++) {
            double x = score[i + l];
            low[l] = x < low[l] ? x : low[l];
            high[l] = x > high[l] ? x : high[l];
        }
    for (; i < n; i++) {
        low[0] = score[i] < low[0] ? score[i] : low[0];
        high[0] = score[i] > high[0] ? score[i] : high[0];
    }
    for (int l = 1; l < METRIC_WIDTH; l++) {
        low[0] = low[l] < low[0] ? low[l] : low[0];
        high[0] = high[l] > high[0] ? high[l] : high[0];
    }
    *least_out = low[0];
    *largest_out = high[0];
}

SIMD_KERNEL(range_of_scores,
            (const double *score, int64_t n, double *least_out, double *largest_out),
            (score, n, least_out, largest_out))

/* The places of rows, by score and class: twice the number of the bucket, which rises as
 * scores fall, and one more for rows that are not positive. Bucket 0 has NaN as well, which
 * differences of infinite ranges are. */
static SIMD_INLINE void find_places_body(const double *restrict y,
                                         const double *restrict score, int64_t n, double best,
                                         double scale, int64_t n_buckets,
                                         uint32_t *restrict place_out)
{
    const double last = (double)(n_buckets - 1);
    for (int64_t i = 0; i < n; i++) {
        double at = (best - score[i]) * scale;
        at = at > 0.0 ? at : 0.0;
        at = at < last ? at : last;
        place_out[i] = 2 * (uint32_t)(int32_t)at + (y[i] > 0.0 ? 0 : 1);
    }
}

SIMD_KERNEL(find_places,
            (const double *y, const double *score, int64_t n, double best, double scale,
             int64_t n_buckets, uint32_t *place_out),
            (y, score, n, best, scale, n_buckets, place_out))

/* Twice the pairs of a positive and a negative score in the right order; equal ones count
 * one half. */
static SIMD_INLINE void count_pairs_body(const double *restrict positive, int64_t n_positive,
                                         const double *restrict negative, int64_t n_negative,
                                         int64_t *restrict pairs_out)
{
    int64_t pairs[METRIC_WIDTH] = {0};
    for (int64_t start = 0; start < n_negative; start += METRIC_WIDTH) {
        double own[METRIC_WIDTH];
        for (int l = 0; l < METRIC_WIDTH; l++)
            own[l] = start + l < n_negative ? negative[start + l] : NAN;
        for (int64_t i = 0; i < n_positive; i++)
            for (int l = 0; l < METRIC_WIDTH; l++)
                pairs[l] += (int64_t)(positive[i] > own[l]) + (positive[i] >= own[l]);
    }
    *pairs_out = 0;
    for (int l = 0; l < METRIC_WIDTH; l++)
        *pairs_out += pairs[l];
}

SIMD_KERNEL(count_pairs,
            (const double *positive, int64_t n_positive, const double *negative,
             int64_t n_negative, int64_t *pairs_out),
            (positive, n_positive, negative, n_negative, pairs_out))

/* Bits of a number, ordered as numbers are. */
static inline uint64_t ordered_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ ((uint64_t)((int64_t)bits >> 63) | 0x8000000000000000u);
}

#endif
