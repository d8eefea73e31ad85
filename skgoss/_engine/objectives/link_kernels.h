/* The links: functions from raw scores to predictions. */
#ifndef SKGOSS_LINKS_H
#define SKGOSS_LINKS_H

#include <math.h>
#include <stdint.h>

#include "elementary.h"
#include "simd.h"

/* ---------------------------------------------------------------------------- softmax */

/* Turn scores into probabilities, in place. x_inout has the shape (n_classes, stride), of which the
 * first n rows of each class are used. The largest score of each row is subtracted first, so that
 * no exponential is infinite. work: 2 n doubles. */
SIMD_KERNEL(softmax_link, (double *restrict x_inout, int64_t n_classes, int64_t stride, int64_t n,
             double *restrict work), (x_inout, n_classes, stride, n, work))
{
    double *restrict top = work;
    double *restrict total = work + n;
    for (int64_t i = 0; i < n; i++) {
        top[i] = x_inout[i];
        total[i] = 0.0;
    }
    for (int64_t k = 1; k < n_classes; k++) {
        const double *restrict f = x_inout + k * stride;
        for (int64_t i = 0; i < n; i++)
            top[i] = f[i] > top[i] ? f[i] : top[i];
    }
    for (int64_t k = 0; k < n_classes; k++) {
        double *restrict e = x_inout + k * stride;
        for (int64_t i = 0; i < n; i++) {
            e[i] = exponential(e[i] - top[i]);
            total[i] += e[i];
        }
    }
    for (int64_t i = 0; i < n; i++)
        total[i] = 1.0 / total[i];
    for (int64_t k = 0; k < n_classes; k++) {
        double *restrict p = x_inout + k * stride;
        for (int64_t i = 0; i < n; i++)
            p[i] *= total[i];
    }
}

/* ------------------------------------------------- links of single scores, in place */

/* Functions of a score f; `slope` is the factor of the score in logistic_of. */
static SIMD_INLINE double identity_of(double f, double slope)
{
    (void)slope;
    return f;
}

static SIMD_INLINE double exp_of(double f, double slope)
{
    (void)slope;
    return exponential(f);
}

/* 1 / (1 + exp(-slope f)). It is accurate in both tails, and monotonic: each of its steps is, and
 * so is rounding. */
static SIMD_INLINE double logistic_of(double f, double slope)
{
    return 1.0 / (1.0 + exponential(-slope * f));
}

/* log(1 + exp(f)), the mean intensity of 'cross_entropy_lambda'. */
static SIMD_INLINE double log1p_exp_of(double f, double slope)
{
    (void)slope;
    return log_1_plus_exponential(f);
}

/* The inverse of the signed square root, with which `reg_sqrt` transforms targets. */
static SIMD_INLINE double signed_square_of(double f, double slope)
{
    (void)slope;
    return f * fabs(f);
}

/* The kernel of a link: `<link>_of` for each score. */
#define LINK(name)                                                                         \
    SIMD_KERNEL(name##_link, (double *x, double slope, int64_t n), (x, slope, n))          \
    {                                                                                      \
        for (int64_t i = 0; i < n; i++)                                                    \
            x[i] = name##_of(x[i], slope);                                                 \
    }

#define LINKS(X) X(identity) X(exp) X(logistic) X(log1p_exp) X(signed_square)

LINKS(LINK)

#define LINK_KERNEL(name) name##_link,
#define LINK_NAME(name) #name,

typedef void (*link_rows)(double *x, double slope, int64_t n);

static const char *const LINK_NAMES[] = {LINKS(LINK_NAME) NULL};
static const link_rows LINK_KERNELS[] = {LINKS(LINK_KERNEL) NULL};

#endif
