/* Every loss: from scores and targets to gradients and hessians.
 *
 * A loss is a function of one row, `<loss>_row`; LOSS makes its kernel, `<loss>_loss`, of one
 * of three loops over rows. `a` and `b` are the loss's parameters. Results are float32,
 * computed in double.
 */
#ifndef SKGOSS_LOSSES_H
#define SKGOSS_LOSSES_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "elementary.h"
#include "link_kernels.h"
#include "simd.h"

/* ------------------------------------------------- losses whose hessian is 1: f(score) */

static SIMD_INLINE double squared_row(double f, double y, double a, double b)
{
    return f - y;
}

static SIMD_INLINE double absolute_row(double f, double y, double a, double b)
{
    return (f > y ? 1.0 : 0.0) - (f < y ? 1.0 : 0.0);
}

/* a: where the loss turns from a parabola into a line. */
static SIMD_INLINE double huber_row(double f, double y, double a, double b)
{
    double x = f - y;
    x = x < -a ? -a : x;
    return x > a ? a : x;
}

/* The absolute error as a share of the target, or of 1 where that is larger. */
static SIMD_INLINE double relative_row(double f, double y, double a, double b)
{
    double size = fabs(y);
    return absolute_row(f, y, a, b) / (size > 1.0 ? size : 1.0);
}

/* a: the quantile. */
static SIMD_INLINE double quantile_row(double f, double y, double a, double b)
{
    return f >= y ? 1.0 - a : -a;
}

/* ------------------------------------------------------------- losses with a hessian */

typedef struct {
    double gradient, hessian;
} gradient_pair;

/* a: about where the loss turns from a parabola into a line. */
static SIMD_INLINE gradient_pair fair_row(double f, double y, double a, double b)
{
    double x = f - y;
    double share = a / (fabs(x) + a);
    gradient_pair pair = {x * share, share * share};
    return pair;
}

/* a: exp(poisson_max_delta_step). */
static SIMD_INLINE gradient_pair poisson_row(double f, double y, double a, double b)
{
    double mean = exponential(f);
    gradient_pair pair = {within_float(mean - y), within_float(mean * a)};
    return pair;
}

static SIMD_INLINE gradient_pair gamma_row(double f, double y, double a, double b)
{
    double ratio = y * exponential(-f);
    gradient_pair pair = {within_float(1.0 - ratio), within_float(ratio)};
    return pair;
}

/* a: 1 - variance power, b: 2 - variance power. */
static SIMD_INLINE gradient_pair tweedie_row(double f, double y, double a, double b)
{
    double u = y * exponential(a * f);
    double v = exponential(b * f);
    gradient_pair pair = {within_float(v - u), within_float(b * v - a * u)};
    return pair;
}

/* Losses of the odds of a margin. */

/* a: steepness of the sigmoid, b: the class that counts as positive. */
static SIMD_INLINE double binary_margin(double f, double y, double a, double b)
{
    return (y == b ? a : -a) * f;
}

static SIMD_INLINE gradient_pair binary_row(double f, double y, double a, double b, odds p)
{
    double signed_a = y == b ? a : -a;
    double wrong = binary_margin(f, y, a, b) >= 0.0 ? p.small : p.large;
    gradient_pair pair = {-signed_a * wrong, a * a * (p.large * p.small)};
    return pair;
}

static SIMD_INLINE double cross_entropy_margin(double f, double y, double a, double b)
{
    return f;
}

static SIMD_INLINE gradient_pair cross_entropy_row(double f, double y, double a, double b, odds p)
{
    double yes = f >= 0.0 ? p.large : p.small;
    double no = f >= 0.0 ? p.small : p.large;
    gradient_pair pair = {(1.0 - y) * yes - y * no, p.large * p.small};
    return pair;
}

/* The cross entropy of y and z = 1 - exp(-w u), with u = log(1 + exp(f)) and a weight w.
 *
 * With p = sigmoid(f) and q = w p / z, the gradient and the hessian are w p - y q and
 * w p (1 - p) + y q (1 - p) (w (exp(u) - 1) / (exp(w u) - 1) - 1).
 */
static SIMD_INLINE gradient_pair intensity_row(double f, double y, double w)
{
    odds p = logistic(f);
    double yes = f >= 0.0 ? p.large : p.small;
    double no = f >= 0.0 ? p.small : p.large;
    double u = log_1_plus_exponential(f);
    double v = w * u;
    double z = -exponential_minus_1(-v);
    double q = z > 0.0 ? w * yes / z : 1.0;
    double bend = w * exponential_minus_1(u) / exponential_minus_1(v) - 1.0;
    /* Where both are small their difference would be lost, but its series is short. */
    bend = (u > v ? u : v) < 1e-8 ? 0.5 * (u - v) : bend;
    double hessian = no * (w * yes + y * q * bend);
    /* It is never negative, but may round to it. */
    gradient_pair pair = {within_float(w * yes - y * q),
                within_float(hessian > 0.0 ? hessian : 0.0)};
    return pair;
}

/* --------------------------------------------------------------------------- the loops */

/* The hessian is 1 and is not written. */
typedef double (*gradient_row)(double f, double y, double a, double b);

static SIMD_INLINE void gradient_loop(gradient_row row, const double *restrict score,
                                      const double *restrict y, double a, double b, int64_t n,
                                      float *restrict gradient_out,
                                      float *restrict hessian_out)
{
    (void)hessian_out;
    for (int64_t i = 0; i < n; i++)
        gradient_out[i] = (float)row(score[i], y[i], a, b);
}

typedef gradient_pair (*pair_row)(double f, double y, double a, double b);

static SIMD_INLINE void pair_loop(pair_row row, const double *restrict score,
                                  const double *restrict y, double a, double b, int64_t n,
                                  float *restrict gradient_out, float *restrict hessian_out)
{
    for (int64_t i = 0; i < n; i++) {
        gradient_pair pair = row(score[i], y[i], a, b);
        gradient_out[i] = (float)pair.gradient;
        hessian_out[i] = (float)pair.hessian;
    }
}

/* Losses of the odds of a margin: exp is taken of the margin alone. Three loops over a tile, as
 * one would be too long for its rows to overlap. */
#define LOSS_TILE 512

typedef double (*margin_row)(double f, double y, double a, double b);
typedef gradient_pair (*odds_row)(double f, double y, double a, double b, odds p);

static SIMD_INLINE void odds_loop(margin_row margin, odds_row row, const double *restrict score,
                                  const double *restrict y, double a, double b, int64_t n,
                                  float *restrict gradient_out, float *restrict hessian_out)
{
    double e[LOSS_TILE];
    for (int64_t start = 0; start < n; start += LOSS_TILE) {
        int m = n - start < LOSS_TILE ? (int)(n - start) : LOSS_TILE;
        const double *f = score + start, *target = y + start;
        for (int i = 0; i < m; i++) {
            double x = -fabs(margin(f[i], target[i], a, b));
            e[i] = x < -EXP_LIMIT ? -EXP_LIMIT : x;
        }
        for (int i = 0; i < m; i++) {
            scaled_exponential part = limited_exponential(e[i]);
            e[i] = (1.0 + part.rest) * part.scale;
        }
        for (int i = 0; i < m; i++) {
            gradient_pair pair = row(f[i], target[i], a, b, odds_of(e[i]));
            gradient_out[start + i] = (float)pair.gradient;
            hessian_out[start + i] = (float)pair.hessian;
        }
    }
}

/* The kernel of a loss: a loop, with what it calls for each row. */
#define LOSS(name, loop, ...)                                                              \
    static SIMD_INLINE void name##_loss_body(const double *score, const double *y, double a, \
                                             double b, int64_t n, float *gradient_out,     \
                                             float *hessian_out)                           \
    {                                                                                      \
        loop(__VA_ARGS__, score, y, a, b, n, gradient_out, hessian_out);                   \
    }                                                                                      \
    SIMD_KERNEL(name##_loss,                                                               \
                (const double *score, const double *y, double a, double b, int64_t n,      \
                 float *gradient_out, float *hessian_out),                                 \
                (score, y, a, b, n, gradient_out, hessian_out))

LOSS(squared, gradient_loop, squared_row)
LOSS(absolute, gradient_loop, absolute_row)
LOSS(huber, gradient_loop, huber_row)
LOSS(quantile, gradient_loop, quantile_row)
LOSS(relative, gradient_loop, relative_row)
LOSS(fair, pair_loop, fair_row)
LOSS(poisson, pair_loop, poisson_row)
LOSS(gamma, pair_loop, gamma_row)
LOSS(tweedie, pair_loop, tweedie_row)
LOSS(binary, odds_loop, binary_margin, binary_row)
LOSS(cross_entropy, odds_loop, cross_entropy_margin, cross_entropy_row)

typedef void (*pointwise_loss)(const double *score, const double *y, double a, double b,
                               int64_t n, float *gradient_out, float *hessian_out);

/* In the order of losses.pyx's LOSSES. */
static const pointwise_loss POINTWISE[] = {
    squared_loss, absolute_loss, huber_loss, quantile_loss, relative_loss,
    fair_loss, poisson_loss, gamma_loss, tweedie_loss, binary_loss,
    cross_entropy_loss,
};

static SIMD_INLINE void intensity_body(const double *restrict score, const double *restrict y,
                                       const double *restrict weight, int64_t n,
                                       float *restrict gradient_out,
                                       float *restrict hessian_out)
{
    for (int64_t i = 0; i < n; i++) {
        gradient_pair pair = intensity_row(score[i], y[i], weight[i]);
        gradient_out[i] = (float)pair.gradient;
        hessian_out[i] = (float)pair.hessian;
    }
}

SIMD_KERNEL(intensity,
            (const double *score, const double *y, const double *weight, int64_t n,
             float *gradient_out, float *hessian_out),
            (score, y, weight, n, gradient_out, hessian_out))

/* ---------------------------------------------------------------------------- softmax */

/* The gradients and hessians of n rows whose scores and results are class-major, `stride`
 * rows a class: p - 1(y = k) and factor p (1 - p), with p = softmax(scores).
 * work: (n_classes + 2) * n doubles. */
static SIMD_INLINE void softmax_body(const double *restrict score, const double *restrict y,
                                     int64_t n_classes, int64_t stride, double factor,
                                     int64_t n, double *restrict work,
                                     float *restrict gradient_out,
                                     float *restrict hessian_out)
{
    double *probability = work + 2 * n;
    for (int64_t k = 0; k < n_classes; k++)
        memcpy(probability + k * n, score + k * stride, (size_t)n * sizeof *score);
    softmax_link_body(probability, n_classes, n, n, work);
    for (int64_t k = 0; k < n_classes; k++) {
        const double *restrict p = probability + k * n;
        float *restrict gradient = gradient_out + k * stride;
        float *restrict hessian = hessian_out + k * stride;
        for (int64_t i = 0; i < n; i++) {
            gradient[i] = (float)(p[i] - (y[i] == (double)k ? 1.0 : 0.0));
            hessian[i] = (float)(factor * p[i] * (1.0 - p[i]));
        }
    }
}

SIMD_KERNEL(softmax,
            (const double *score, const double *y, int64_t n_classes, int64_t stride,
             double factor, int64_t n, double *work, float *gradient_out,
             float *hessian_out),
            (score, y, n_classes, stride, factor, n, work, gradient_out, hessian_out))

#endif
