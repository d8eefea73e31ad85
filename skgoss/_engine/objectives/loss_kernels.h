/* Every loss: its derivatives by the score, for objectives, and its value, for metrics.
 *
 * A loss is a function of one row. `<loss>_row` returns the derivatives at the score f for the
 * target y and the loss's parameters a and b; they are computed in double and stored as float32.
 * `<loss>_of` returns the value for the prediction p and the parameter a. LOSSES and VALUES list
 * these functions: Python finds a listed function by its name.
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

/* LightGBM's lower limits of the arguments of logarithms. */
#define TINY 1e-15
#define TINY_PROBABILITY 1e-12
#define TINY_MEAN 1e-10

/* The first and the second derivative of a row's loss by its score, or what is used in its place.
 * */
typedef struct {
    double gradient, hessian;
} gradient_pair;

/* ---------------------------------------------------- losses whose hessian is 1 */

/* Half the squared error: the gradient. */
static SIMD_INLINE double regression_row(double f, double y, double a, double b)
{
    return f - y;
}

/* The squared error. */
static SIMD_INLINE double l2_of(double y, double p, double a)
{
    double x = y - p;
    return x * x;
}

/* The absolute error: the sign of f - y, 0 if they are equal. */
static SIMD_INLINE double regression_l1_row(double f, double y, double a, double b)
{
    return (f > y ? 1.0 : 0.0) - (f < y ? 1.0 : 0.0);
}

static SIMD_INLINE double l1_of(double y, double p, double a) { return fabs(y - p); }

/* Huber's loss. a: the error at which it turns from a parabola into a line. The gradient is the
 * error, clipped to +- a. */
static SIMD_INLINE double huber_row(double f, double y, double a, double b)
{
    double x = f - y;
    x = x < -a ? -a : x;
    return x > a ? a : x;
}

/* a: as above. */
static SIMD_INLINE double huber_of(double y, double p, double a)
{
    double x = fabs(y - p);
    return x <= a ? 0.5 * x * x : a * (x - 0.5 * a);
}

/* The absolute error divided by the size of the target, or by 1 if that is larger. */
static SIMD_INLINE double mape_row(double f, double y, double a, double b)
{
    double size = fabs(y);
    return regression_l1_row(f, y, a, b) / (size > 1.0 ? size : 1.0);
}

/* The same, as a value. */
static SIMD_INLINE double mape_of(double y, double p, double a)
{
    return fabs(y - p) / at_least(fabs(y), 1.0);
}

/* The pinball loss of a quantile. a: its level, between 0 and 1. */
static SIMD_INLINE double quantile_row(double f, double y, double a, double b)
{
    return f >= y ? 1.0 - a : -a;
}

/* a: the level. */
static SIMD_INLINE double quantile_of(double y, double p, double a)
{
    double x = y - p;
    return x * (x >= 0.0 ? a : a - 1.0);
}

/* ------------------------------------------------------- losses with a hessian */

/* The asymmetric squared error of an expectile. a: its level, b: the smallest hessian. */
static SIMD_INLINE gradient_pair expectile_row(double f, double y, double a, double b)
{
    double weight = 2.0 * (f > y ? 1.0 - a : a);
    gradient_pair pair = {weight * (f - y), at_least(weight, b)};
    return pair;
}

/* a: the level. */
static SIMD_INLINE double expectile_of(double y, double p, double a)
{
    double x = y - p;
    return x * x * (x >= 0.0 ? a : 1.0 - a);
}

/* The loss of R. C. Fair: see `fair_of`. a: its scale c, about where it turns from a parabola into
 * a line. */
static SIMD_INLINE gradient_pair fair_row(double f, double y, double a, double b)
{
    double x = f - y;
    double weight = a / (fabs(x) + a);
    gradient_pair pair = {x * weight, weight * weight};
    return pair;
}

/* c |x| - c^2 log(1 + |x| / c) of the error x. a: the scale c. */
static SIMD_INLINE double fair_of(double y, double p, double a)
{
    double x = fabs(y - p);
    return a * x - a * a * logarithm_1p(x / a);
}

/* The negative log-likelihood of a Poisson distribution with the mean exp(f). a:
 * exp(poisson_max_delta_step), LightGBM's factor of the hessian, which shortens the steps. */
static SIMD_INLINE gradient_pair poisson_row(double f, double y, double a, double b)
{
    double mean = exponential(f);
    gradient_pair pair = {within_float(mean - y), within_float(mean * a)};
    return pair;
}

/* The same for the mean p, without the terms that do not depend on p. */
static SIMD_INLINE double poisson_of(double y, double p, double a)
{
    p = at_least(p, TINY_MEAN);
    return p - y * logarithm(p);
}

/* The negative log-likelihood of a gamma distribution with the mean exp(f), y exp(-f) + f. */
static SIMD_INLINE gradient_pair gamma_row(double f, double y, double a, double b)
{
    double ratio = y * exponential(-f);
    gradient_pair pair = {within_float(1.0 - ratio), within_float(ratio)};
    return pair;
}

/* The same for the mean p, without the terms that do not depend on p; the shape is 1. */
static SIMD_INLINE double gamma_of(double y, double p, double a)
{
    p = at_least(p, DBL_MIN);
    return y / p + logarithm(p);
}

/* The unit deviance of the gamma distribution; as in LightGBM, 1e-9 is added to p. */
static SIMD_INLINE double gamma_deviance_of(double y, double p, double a)
{
    double ratio = y / (p + 1e-9);
    return 2.0 * (ratio - logarithm(ratio) - 1.0);
}

/* The Tweedie loss exp(b f) / b - y exp(a f) / a of the mean exp(f). a: 1 - variance power, b: 2 -
 * variance power. */
static SIMD_INLINE gradient_pair tweedie_row(double f, double y, double a, double b)
{
    double u = y * exponential(a * f);
    double v = exponential(b * f);
    gradient_pair pair = {within_float(v - u), within_float(b * v - a * u)};
    return pair;
}

/* The Tweedie loss of the mean p: p^(2 - a) / (2 - a) - y p^(1 - a) / (1 - a). a: the variance
 * power, above 1. */
static SIMD_INLINE double tweedie_of(double y, double p, double a)
{
    p = at_least(p, TINY_MEAN);
    double power = exponential((1.0 - a) * logarithm(p));
    return p * power / (2.0 - a) - y * power / (1.0 - a);
}

/* Losses that are functions of sigmoid(margin). Their rows get the odds of the margin's size
 * (elementary.h): `large` is sigmoid(|margin|), `small` is sigmoid(-|margin|) = 1 - large. */

/* The margin of a row: positive if the score is on the side of its class. a: the steepness of the
 * sigmoid, b: the code of the positive class in y. */
static SIMD_INLINE double binary_margin(double f, double y, double a, double b)
{
    return (y == b ? a : -a) * f;
}

/* The log loss log(1 + exp(-margin)) of a class; p: the odds of the margin. */
static SIMD_INLINE gradient_pair binary_row(double f, double y, double a, double b, odds p)
{
    double signed_a = y == b ? a : -a;
    double wrong = binary_margin(f, y, a, b) >= 0.0 ? p.small : p.large;
    gradient_pair pair = {-signed_a * wrong, a * a * (p.large * p.small)};
    return pair;
}

/* The log loss; p: the probability of the positive class, which rows with y > 0 have. */
static SIMD_INLINE double binary_logloss_of(double y, double p, double a)
{
    return -logarithm(at_least(y > 0.0 ? p : 1.0 - p, TINY));
}

/* 1 if the more probable class is wrong, else 0; at p = 0.5, the negative class is predicted. */
static SIMD_INLINE double binary_error_of(double y, double p, double a)
{
    return (p > 0.5 ? 1.0 : 0.0) == (y > 0.0 ? 1.0 : 0.0) ? 0.0 : 1.0;
}

/* The cross entropy of a probability y and sigmoid(f): its margin is the score. */
static SIMD_INLINE double cross_entropy_margin(double f, double y, double a, double b)
{
    return f;
}

/* The gradient is sigmoid(f) - y, written so that no digits cancel; p: the odds of f. */
static SIMD_INLINE gradient_pair cross_entropy_row(double f, double y, double a, double b, odds p)
{
    double yes = f >= 0.0 ? p.large : p.small;
    double no = f >= 0.0 ? p.small : p.large;
    gradient_pair pair = {(1.0 - y) * yes - y * no, p.large * p.small};
    return pair;
}

/* The cross entropy of the probabilities y and p. */
static SIMD_INLINE double cross_entropy_of(double y, double p, double a)
{
    return -(y * logarithm(at_least(p, TINY_PROBABILITY))
             + (1.0 - y) * logarithm(at_least(1.0 - p, TINY_PROBABILITY)));
}

/* The smallest possible cross entropy, which is that of p = y. */
static SIMD_INLINE double entropy_of(double y, double p, double a)
{
    return cross_entropy_of(y, y, a);
}

/* The cross entropy of y and z = 1 - exp(-w u), with u = log(1 + exp(f)) and a weight w.
 *
 * With p = sigmoid(f) and q = w p / z, the gradient is w p - y q, and the hessian is
 * w p (1 - p) + y q (1 - p) r with r = w (exp(u) - 1) / (exp(w u) - 1) - 1.
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
    double r = w * exponential_minus_1(u) / exponential_minus_1(v) - 1.0;
    /* For small u and v, rounding would cancel r: the first term of its series replaces it. */
    r = (u > v ? u : v) < 1e-8 ? 0.5 * (u - v) : r;
    double hessian = no * (w * yes + y * q * r);
    /* Only rounding makes it negative. */
    gradient_pair pair = {within_float(w * yes - y * q),
                within_float(hessian > 0.0 ? hessian : 0.0)};
    return pair;
}

/* The value of `intensity_row`'s loss. p: log(1 + exp(score)) times the weight. */
static SIMD_INLINE double cross_entropy_lambda_of(double y, double p, double a)
{
    return cross_entropy_of(y, 1.0 - exponential(-p), a);
}

/* --------------------------------------------------------------------------- the loops */

/* A loop over rows whose hessian is 1 and is not written. Each loop inlines the functions of a row
 * that it gets, so that the compiler vectorizes it. */
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

/* A loop over rows that writes gradients and hessians. */
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

/* A loop for losses of sigmoid(margin), whose exponential exp(-|margin|) is computed from the
 * margin alone. A tile of rows has three short loops: the processor could not overlap the rows of
 * one long loop. */
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
            e[i] = (1.0 + part.remainder) * part.scale;
        }
        for (int i = 0; i < m; i++) {
            gradient_pair pair = row(f[i], target[i], a, b, odds_of(e[i]));
            gradient_out[start + i] = (float)pair.gradient;
            hessian_out[start + i] = (float)pair.hessian;
        }
    }
}

/* The kernel of a loss: a loop, and the functions that it calls for each row. */
#define LOSS(name, loop, ...)                                                              \
    SIMD_KERNEL(name##_loss,                                                               \
                (const double *score, const double *y, double a, double b, int64_t n,      \
                 float *gradient_out, float *hessian_out),                                 \
                (score, y, a, b, n, gradient_out, hessian_out))                            \
    {                                                                                      \
        loop(__VA_ARGS__, score, y, a, b, n, gradient_out, hessian_out);                   \
    }

/* The losses of objectives: the name, a loop, and the functions that it calls for each row. */
#define LOSSES(X)                                                                          \
    X(regression, gradient_loop, regression_row)                                           \
    X(regression_l1, gradient_loop, regression_l1_row)                                     \
    X(huber, gradient_loop, huber_row)                                                     \
    X(quantile, gradient_loop, quantile_row)                                               \
    X(mape, gradient_loop, mape_row)                                                       \
    X(expectile, pair_loop, expectile_row)                                                 \
    X(fair, pair_loop, fair_row)                                                           \
    X(poisson, pair_loop, poisson_row)                                                     \
    X(gamma, pair_loop, gamma_row)                                                         \
    X(tweedie, pair_loop, tweedie_row)                                                     \
    X(binary, odds_loop, binary_margin, binary_row)                                        \
    X(cross_entropy, odds_loop, cross_entropy_margin, cross_entropy_row)

LOSSES(LOSS)

#define NAME(name, ...) #name,
#define LOSS_KERNEL(name, ...) name##_loss,

typedef void (*pointwise_loss)(const double *score, const double *y, double a, double b,
                               int64_t n, float *gradient_out, float *hessian_out);

static const char *const LOSS_NAMES[] = {LOSSES(NAME) NULL};
static const pointwise_loss LOSS_KERNELS[] = {LOSSES(LOSS_KERNEL) NULL};

/* The derivatives of `intensity_row` for n rows. */
SIMD_KERNEL(intensity, (const double *restrict score, const double *restrict y,
             const double *restrict weight, int64_t n, float *restrict gradient_out,
             float *restrict hessian_out), (score, y, weight, n, gradient_out, hessian_out))
{
    for (int64_t i = 0; i < n; i++) {
        gradient_pair pair = intensity_row(score[i], y[i], weight[i]);
        gradient_out[i] = (float)pair.gradient;
        hessian_out[i] = (float)pair.hessian;
    }
}

/* ---------------------------------------------------------------------------- softmax */

/* Write the gradients p - 1(y = k) and the hessians factor p (1 - p), with p = softmax(scores).
 * y: the class numbers of the rows. Scores and results have the shape (n_classes, stride), of which
 * the first n rows of each class are used. is_soft: so has y, the probabilities of the classes, and
 * gradients are p - y. work: (n_classes + 2) * n doubles. */
SIMD_KERNEL(softmax, (const double *restrict score, const double *restrict y, int64_t is_soft,
             int64_t n_classes, int64_t stride, double factor, int64_t n,
             double *restrict work, float *restrict gradient_out, float *restrict hessian_out),
            (score, y, is_soft, n_classes, stride, factor, n, work, gradient_out, hessian_out))
{
    double *probability = work + 2 * n;
    for (int64_t k = 0; k < n_classes; k++)
        memcpy(probability + k * n, score + k * stride, (size_t)n * sizeof *score);
    softmax_link_body(probability, n_classes, n, n, work);
    for (int64_t k = 0; k < n_classes; k++) {
        const double *restrict p = probability + k * n;
        float *restrict gradient = gradient_out + k * stride;
        float *restrict hessian = hessian_out + k * stride;
        const double *restrict share = is_soft ? y + k * stride : y;
        for (int64_t i = 0; i < n; i++) {
            double target = is_soft ? share[i] : share[i] == (double)k ? 1.0 : 0.0;
            gradient[i] = (float)(p[i] - target);
            hessian[i] = (float)(factor * p[i] * (1.0 - p[i]));
        }
    }
}

/* ----------------------------------------------------------------------------- values */

/* The kernel of a loss's values: `<loss>_of` for each row. */
#define VALUE(name)                                                                        \
    SIMD_KERNEL(name##_value, (const double *restrict y, const double *restrict p, double a, \
                               int64_t n, double *restrict loss_out), (y, p, a, n, loss_out)) \
    {                                                                                      \
        for (int64_t i = 0; i < n; i++)                                                    \
            loss_out[i] = name##_of(y[i], p[i], a);                                        \
    }

/* The losses of metrics, by the name of the function of a row. */
#define VALUES(X)                                                                          \
    X(l2) X(l1) X(quantile) X(mape) X(huber) X(fair) X(poisson) X(tweedie) X(gamma)        \
    X(gamma_deviance) X(binary_logloss) X(binary_error) X(cross_entropy)                   \
    X(cross_entropy_lambda) X(entropy) X(expectile)

VALUES(VALUE)

#define VALUE_KERNEL(name) name##_value,

typedef void (*loss_values)(const double *y, const double *p, double a, int64_t n,
                            double *loss_out);

static const char *const VALUE_NAMES[] = {VALUES(NAME) NULL};
static const loss_values VALUE_KERNELS[] = {VALUES(VALUE_KERNEL) NULL};

/* The log losses of the predicted probabilities of the correct classes. */
SIMD_KERNEL(log_losses, (const double *restrict correct, int64_t n, double *restrict loss_out),
            (correct, n, loss_out))
{
    for (int64_t i = 0; i < n; i++)
        loss_out[i] = -logarithm(at_least(correct[i], TINY));
}

/* 1 for rows of which more than top_k scores are at least that of the correct class, else 0. The
 * scores have the shape (n_classes, stride). */
SIMD_KERNEL(class_errors, (const double *restrict score, int64_t stride, int64_t n_classes,
             const double *restrict correct, double top_k, int64_t n, double *restrict loss_out),
            (score, stride, n_classes, correct, top_k, n, loss_out))
{
    for (int64_t i = 0; i < n; i++)
        loss_out[i] = 0.0;
    for (int64_t k = 0; k < n_classes; k++) {
        const double *restrict f = score + k * stride;
        for (int64_t i = 0; i < n; i++)
            loss_out[i] += f[i] >= correct[i] ? 1.0 : 0.0;
    }
    for (int64_t i = 0; i < n; i++)
        loss_out[i] = loss_out[i] > top_k ? 1.0 : 0.0;
}

#endif
