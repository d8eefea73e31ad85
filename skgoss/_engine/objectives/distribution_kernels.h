/* Distributions of a target, whose parameters are the scores of a row.
 *
 * The function of each distribution, which has its name, returns the negative log-likelihood of a
 * target, which may be two bounds of a time, and for each score the derivative and the Fisher
 * information: the mean of the second derivative over targets of this distribution, which is
 * positive even where the second derivative is not. DISTRIBUTIONS lists the functions. The
 * compiler removes the code for results that a kernel does not store. Scores that are logarithms
 * are clipped to +- LOG_LIMIT.
 */
#ifndef SKGOSS_DISTRIBUTIONS_H
#define SKGOSS_DISTRIBUTIONS_H

#include <stdint.h>

#include "elementary.h"
#include "gamma_functions.h"
#include "loss_kernels.h"

#define MAX_SCORES 3
#define LOG_LIMIT 300.0
/* Shapes have smaller limits, so that differences of functions of them keep some digits. */
#define SHAPE_LIMIT 25.0
#define COUNT_LIMIT 16.0
#define MIN_SHAPE 1e-100
/* A lower limit of the information, without which the steps of parameters that have little effect
 * would be long. */
#define MIN_INFORMATION 0.05
#define PI 3.14159265358979323846

typedef struct {
    double nll;
    gradient_pair derivatives[MAX_SCORES];  /* by each score */
} likelihood;

/* x, clipped to low and high. */
static SIMD_INLINE double limited(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* ------------------------------------------------------------------ normal, lognormal */

/* Scores: the mean, and the logarithm of the standard deviation. Both derivatives by the mean are
 * multiplied by the variance, so that the mean makes the steps of the squared error: on real data,
 * they were more accurate than steps that weight rows by 1 / variance. */
static SIMD_INLINE likelihood normal(const double *f, double y)
{
    double scale = limited(f[1], -LOG_LIMIT, LOG_LIMIT);
    double z = (y - f[0]) * exponential(-scale);
    likelihood result = {HALF_LOG_2_PI + scale + 0.5 * z * z,
                     {{f[0] - y, 1.0}, {1.0 - z * z, 2.0}}};
    return result;
}

/* Scores: those of the normal distribution of the logarithm of the target. */
static SIMD_INLINE likelihood lognormal(const double *f, double y)
{
    double x = logarithm(y);
    likelihood result = normal(f, x);
    result.nll += x;
    return result;
}

/* --------------------------------------------------------------------------- student */

/* Scores: the location, and the logarithms of scale and degrees of freedom v. Derivatives by the
 * location are multiplied by the squared scale, as those of the normal distribution. The second
 * derivative by the location is replaced by the weight of the row in iteratively reweighted least
 * squares, (v + 1) / (v + z^2), instead of the information, which is the same near the location
 * and far from it. K. L. Lange, R. J. A. Little and J. M. G. Taylor, "Robust Statistical Modeling
 * Using the t Distribution", Journal of the American Statistical Association 84, 1989. */
static SIMD_INLINE likelihood student(const double *f, double y)
{
    double scale = limited(f[1], -LOG_LIMIT, LOG_LIMIT);
    double v = exponential(limited(f[2], -SHAPE_LIMIT, SHAPE_LIMIT));
    double z = (y - f[0]) * exponential(-scale);
    double square = z * z, ratio = square / (v + square), weight = (v + 1.0) / (v + square);
    double nll = log_gamma(0.5 * v) - log_gamma(0.5 * (v + 1.0)) + 0.5 * logarithm(v * PI) + scale
                 + 0.5 * (v + 1.0) * logarithm_1p(square / v);
    double freedom = digamma(0.5 * v) - digamma(0.5 * (v + 1.0)) + 1.0 / v
                     + logarithm_1p(square / v) - (v + 1.0) / v * ratio;
    double information = 0.25 * (trigamma(0.5 * v) - trigamma(0.5 * (v + 1.0)))
                         - (v + 5.0) / (2.0 * v * (v + 1.0) * (v + 3.0));
    likelihood result = {nll,
                     {{weight * (f[0] - y), weight},
                      {1.0 - (v + 1.0) * ratio, 2.0 * v / (v + 3.0)},
                      {0.5 * v * freedom, at_least(v * v * information, MIN_INFORMATION)}}};
    return result;
}

/* ----------------------------------------------------------------------------- gamma */

/* Scores: the logarithms of mean and shape k. Derivatives by the first score are divided by the
 * shape, so that the mean makes the steps of the gamma loss with shape 1. */
static SIMD_INLINE likelihood gamma_distribution(const double *f, double y)
{
    double mean = limited(f[0], -LOG_LIMIT, LOG_LIMIT), ratio = y * exponential(-mean);
    double shape = limited(f[1], -SHAPE_LIMIT, SHAPE_LIMIT), k = exponential(shape);
    double nll = log_gamma(k) - k * shape + k * (ratio - (logarithm(y) - mean)) + logarithm(y);
    double deviance = ratio - 1.0 - logarithm(ratio);
    /* It tends to 1 for small shapes and to 0.5 for large ones. */
    double information = limited(k * (k * trigamma(k) - 1.0), 0.5, 1.0);
    likelihood result = {nll,
                     {{1.0 - ratio, 1.0},
                      {k * (digamma(k) - logarithm(k) + deviance), information}}};
    return result;
}

/* ---------------------------------------------------------------- negative binomial */

/* Scores: the logarithms of the mean m and of the dispersion a; the variance is m + a m**2. The
 * Fisher information of the dispersion has no short formula. This one is exact in the limits
 * a m -> 0 and a m -> infinity; between them, it is up to 28% too large for a <= 1, and more for
 * larger a. In the code, r = 1 / a is the number of failures, and slope is the derivative of the
 * loss by r. */
static SIMD_INLINE likelihood negative_binomial(const double *f, double y)
{
    double log_m = limited(f[0], -LOG_LIMIT, LOG_LIMIT), m = exponential(log_m);
    double log_a = limited(f[1], -COUNT_LIMIT, COUNT_LIMIT), a = exponential(log_a);
    double r = 1.0 / a, v = a * m, log_1_plus_v = logarithm_1p(v);
    double nll = log_gamma(r) - log_gamma(y + r) + log_gamma(y + 1.0) + (y + r) * log_1_plus_v
                 - y * (log_m + log_a);
    double slope = log_1_plus_v + (y - m) / (r + m) + digamma(r) - digamma(y + r);
    double large = limited(r * (r * trigamma(r) - 1.0), 0.5, 1.0);
    double information = 1.0 / ((2.0 * (1.0 + a) / v + 4.0) / v + 1.0 / large);
    likelihood result = {nll,
                     {{(m - y) / (1.0 + v), m / (1.0 + v)},
                      {-r * slope, at_least(information, MIN_INFORMATION)}}};
    return result;
}

/* ------------------------------------------------------------------------------ beta */

/* Scores: the log-odds of the mean, and the logarithm of the precision, which is the sum of both
 * shapes a and b. Derivatives by the first score are divided by the precision. S. Ferrari and F.
 * Cribari-Neto, "Beta Regression for Modeling Rates and Proportions", Journal of Applied Statistics
 * 31, 2004. */
static SIMD_INLINE likelihood beta(const double *f, double y)
{
    odds p = logistic(f[0]);
    double mean = f[0] >= 0.0 ? p.large : p.small, complement = f[0] >= 0.0 ? p.small : p.large;
    double precision = exponential(limited(f[1], -SHAPE_LIMIT, SHAPE_LIMIT));
    double a = at_least(mean * precision, MIN_SHAPE);
    double b = at_least(complement * precision, MIN_SHAPE);
    double log_y = logarithm(y), log_1_minus_y = logarithm(1.0 - y);
    double nll = log_gamma(a) + log_gamma(b) - log_gamma(precision) - (a - 1.0) * log_y
                 - (b - 1.0) * log_1_minus_y;
    /* The derivatives of the loss by the shapes, without the terms digamma(precision), which cancel
     * in the derivative by the mean. `variance` is the derivative of the mean by its log-odds. */
    double by_a = digamma(a) - log_y, by_b = digamma(b) - log_1_minus_y;
    double trigamma_a = trigamma(a), trigamma_b = trigamma(b), variance = mean * complement;
    double spread = a * a * trigamma_a + b * b * trigamma_b
                    - precision * precision * trigamma(precision);
    likelihood result = {nll,
                     {{variance * (by_a - by_b),
                       precision * variance * variance * (trigamma_a + trigamma_b)},
                      {a * by_a + b * by_b - precision * digamma(precision),
                       at_least(spread, MIN_INFORMATION)}}};
    return result;
}

/* ------------------------------------------------------------- accelerated failure times */

/* Scores: the location of the logarithm of a time, and the logarithm of its scale. The target has a
 * lower and an upper bound of the time: they are equal for an event, and the upper one is infinite
 * for a right-censored time. z = (log time - f[0]) / scale has a base distribution. `<base>_tail`
 * returns the logarithm of its survival function S at z, the hazard h = f / S, where f is the
 * density, and the hazard's derivative. A. Barnwal, H. Cho and T. Hocking, "Survival Regression
 * with Accelerated Failure Time Model in XGBoost", Journal of Computational and Graphical
 * Statistics 31, 2022. */
typedef struct {
    double log_survival, hazard, slope;
} tail;

/* z is clipped to +- TAIL_LIMIT, so that densities are above 0. */
#define TAIL_LIMIT 37.0

/* Mills' ratio S / f of the normal distribution for z >= 0: t times a polynomial in 2 t - 1, with
 * t = 5 / (5 + z), which interpolates it at Chebyshev nodes with a relative error of 5e-13. */
static const double MILLS[] = {
    0x1.ee052da8ae390p-24,  0x1.dda3ae2038b58p-24,  -0x1.4a56abf4d7954p-20, -0x1.0043f1b3a0ec0p-19,
    0x1.13ffb5a6bad86p-17,  0x1.a14ae1ec32368p-16,  -0x1.f23a0f2d8c4f7p-16, -0x1.1e66caecfafcdp-12,
    -0x1.a371a537060e5p-12, 0x1.89629b8ce0799p-10,  0x1.559c1bb818d7dp-7,   0x1.1bdc4e5c75ef3p-5,
    0x1.52db95844d8b4p-4,   0x1.41e8bfc6fc767p-3,   0x1.fc89a5299c225p-3,   0x1.55943e8062e68p-2,
    0x1.8adef9c13f89dp-2};

/* For z >= 0, S = f * Mills' ratio keeps its digits far in the tail. For z < 0, S = 1 - `beyond`,
 * the probability beyond |z|. The hazard's derivative is h (h - z). */
static SIMD_INLINE tail normal_tail(double z)
{
    double t = 5.0 / (5.0 + fabs(z)), mills = 0.0, log_density = -0.5 * z * z - HALF_LOG_2_PI;
    for (int i = 0; i < 17; i++)
        mills = mills * (2.0 * t - 1.0) + MILLS[i];
    mills *= t;
    double density = exponential(log_density), beyond = density * mills;
    double above = z >= 0.0 ? log_density + logarithm(mills)
                            : -logarithm_1p(beyond / (1.0 - beyond));
    double hazard = z >= 0.0 ? 1.0 / mills : density / (1.0 - beyond);
    tail result = {above, hazard, hazard * (hazard - z)};
    return result;
}

/* The logistic distribution: S(z) = 1 / (1 + exp(z)), so that h = sigmoid(z). */
static SIMD_INLINE tail logistic_tail(double z)
{
    odds p = logistic(z);
    double hazard = z >= 0.0 ? p.large : p.small;
    tail result = {-log_1_plus_exponential(z), hazard, p.large * p.small};
    return result;
}

/* The extreme value distribution of minima, with which times have a Weibull distribution: S(z) =
 * exp(-exp(z)), so that h = exp(z). */
static SIMD_INLINE tail extreme_tail(double z)
{
    double hazard = exponential(z);
    tail result = {-hazard, hazard, hazard};
    return result;
}

/* Whether both bounds of a time, whose tails are l and u, are equal, or so close that the
 * probability between them would have few correct digits: it follows from the difference of the
 * logarithms of the survival function, which must be more than 1e-8 of their size. Then it is an
 * event. */
static SIMD_INLINE int nearly_equal(tail l, tail u)
{
    return l.log_survival - u.log_survival <= -1e-8 * u.log_survival;
}

/* z = (log time - location) / scale, clipped to +- TAIL_LIMIT, which is also that of time 0. */
static SIMD_INLINE double deviation(double location, double log_scale, double time)
{
    double z = (logarithm(time) - location) * exponential(-log_scale);
    z = time > 0.0 ? z : -TAIL_LIMIT;
    return limited(z, -TAIL_LIMIT, TAIL_LIMIT);
}

/* Both derivatives by the location are multiplied by the squared scale, as those of the normal
 * distribution. The hessians of events are the Fisher information, others the second derivative.
 *
 * For the lower bound z, the upper bound w and P = S(z) - S(w), the derivatives of -log P by the
 * location, in units of the scale, and by the logarithm of the scale are
 *
 *     by_location = high - low   and   by_scale = w high - z low,
 *     where low = f(z) / P and high = f(w) / P.
 *
 * Both curves are derivatives of these, with slope_l = f'(z) / P and slope_u = f'(w) / P. The
 * formulas hold for right-censored times with S(w) = 0. In the code, between = P / S(z), ratio_l =
 * S(z) / P and ratio_u = S(w) / P, and the loss of an event is -log(f(z) / (scale time)). */
#define FAILURE_TIME(name, base, location_information, scale_information)                   \
    static SIMD_INLINE likelihood name(const double *f, double lower, double upper)         \
    {                                                                                       \
        double log_scale = limited(f[1], -LOG_LIMIT, LOG_LIMIT);                            \
        double scale = exponential(log_scale);                                              \
        double z = deviation(f[0], log_scale, lower), w = deviation(f[0], log_scale, upper);\
        tail l = base##_tail(z), u = base##_tail(w);                                        \
        int is_bounded = upper < INFINITY, is_event = is_bounded & nearly_equal(l, u);      \
        double minus_log_slope = l.hazard - l.slope / l.hazard;                             \
        double between = -exponential_minus_1(u.log_survival - l.log_survival);             \
        double nll = is_event ? log_scale + logarithm(lower) - logarithm(l.hazard)          \
                              : is_bounded ? -logarithm(between) : 0.0;                     \
        double ratio_l = is_bounded ? 1.0 / (is_event ? 1.0 : between) : 1.0;               \
        double ratio_u = ratio_l - 1.0;                                                     \
        double low = l.hazard * ratio_l, high = u.hazard * ratio_u;                         \
        double slope_l = (l.slope - l.hazard * l.hazard) * ratio_l;                         \
        double slope_u = (u.slope - u.hazard * u.hazard) * ratio_u;                         \
        double by_location = high - low, by_scale = w * high - z * low;                     \
        double location_curve = by_location * by_location + slope_l - slope_u;              \
        double scale_curve = by_scale * by_scale + z * (low + z * slope_l)                  \
                             - w * (high + w * slope_u);                                    \
        likelihood result = {                                                               \
            nll - l.log_survival,                                                           \
            {{scale * (is_event ? -minus_log_slope : by_location),                          \
              is_event ? location_information : at_least(location_curve, MIN_SHAPE)},       \
             {is_event ? 1.0 - z * minus_log_slope : by_scale,                              \
              is_event ? scale_information : at_least(scale_curve, MIN_INFORMATION)}}};     \
        return result;                                                                      \
    }

FAILURE_TIME(aft_normal, normal, 1.0, 2.0)
FAILURE_TIME(aft_logistic, logistic, 1.0 / 3.0, (3.0 + PI * PI) / 9.0)
/* The information of the scale is pi**2 / 6 + (1 - gamma)**2, with Euler's constant gamma. */
FAILURE_TIME(aft_extreme, extreme, 1.0, 1.8236806608528794)

/* --------------------------------------------------------------------------- the loops */

/* The head of a loop over n rows, whose scores are f. Scores have the shape (n_scores, stride). */
#define EACH_ROW(n_scores)                                                                 \
    double f[n_scores];                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                      \
        for (int k = 0; k < n_scores; k++)                                                 \
            f[k] = score[k * stride + i];

/* Both kernels of a distribution: the derivatives of n rows, of the shape of the scores, and their
 * negative log-likelihoods. The last arguments of the macro are the target of row i. */
#define DISTRIBUTION(name, n_scores, ...)                                                  \
    SIMD_KERNEL(name##_derivatives,                                                        \
                (const double *restrict score, const double *restrict y, int64_t stride,   \
                 int64_t n, float *restrict gradient_out, float *restrict hessian_out),    \
                (score, y, stride, n, gradient_out, hessian_out))                          \
    {                                                                                      \
        EACH_ROW(n_scores)                                                                 \
            likelihood row = name(f, __VA_ARGS__);                                         \
            for (int k = 0; k < n_scores; k++) {                                           \
                gradient_pair pair = row.derivatives[k];                                   \
                gradient_out[k * stride + i] = (float)within_float(pair.gradient);         \
                hessian_out[k * stride + i] = (float)within_float(pair.hessian);           \
            }                                                                              \
        }                                                                                  \
    }                                                                                      \
    SIMD_KERNEL(name##_likelihood,                                                         \
                (const double *restrict score, const double *restrict y, int64_t stride,   \
                 int64_t n, double *restrict loss_out), (score, y, stride, n, loss_out))   \
    {                                                                                      \
        EACH_ROW(n_scores)                                                                 \
            loss_out[i] = name(f, __VA_ARGS__).nll;                                        \
        }                                                                                  \
    }

#define BOUNDS y[i], y[stride + i]

/* The name, the number of scores, and the arguments that are the target. */
#define DISTRIBUTIONS(X)                                                                   \
    X(normal, 2, y[i]) X(lognormal, 2, y[i]) X(student, 3, y[i])                           \
    X(gamma_distribution, 2, y[i]) X(negative_binomial, 2, y[i]) X(beta, 2, y[i])          \
    X(aft_normal, 2, BOUNDS) X(aft_logistic, 2, BOUNDS) X(aft_extreme, 2, BOUNDS)

DISTRIBUTIONS(DISTRIBUTION)

/* Replaces the slopes below a threshold, and sets those to 0 that move scores beyond +- limit. */
SIMD_KERNEL(limited_slopes, (const double *restrict score, double limit, float threshold,
             float replacement, int64_t n, float *restrict slope_inout),
            (score, limit, threshold, replacement, n, slope_inout))
{
    for (int64_t i = 0; i < n; i++) {
        float slope = slope_inout[i] < threshold ? replacement : slope_inout[i];
        double outwards = score[i] > limit ? -1.0 : score[i] < -limit ? 1.0 : 0.0;
        slope_inout[i] = (double)slope * outwards > 0.0 ? 0.0f : slope;
    }
}

#define DERIVATIVES(name, ...) name##_derivatives,
#define LIKELIHOOD(name, ...) name##_likelihood,

typedef void (*distribution_derivatives)(const double *score, const double *y, int64_t stride,
                                         int64_t n, float *gradient_out, float *hessian_out);
typedef void (*distribution_likelihood)(const double *score, const double *y, int64_t stride,
                                        int64_t n, double *loss_out);

static const char *const DISTRIBUTION_NAMES[] = {DISTRIBUTIONS(NAME) NULL};
static const distribution_derivatives DERIVATIVE_KERNELS[] = {DISTRIBUTIONS(DERIVATIVES) NULL};
static const distribution_likelihood LIKELIHOOD_KERNELS[] = {DISTRIBUTIONS(LIKELIHOOD) NULL};

#endif
