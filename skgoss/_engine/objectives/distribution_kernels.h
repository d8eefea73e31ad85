/* Distributions of a target, whose parameters are the scores of a row.
 *
 * A function of the name of each returns the negative log-likelihood of a target, which may be
 * two bounds; for each score its derivative; and its Fisher information, the mean of the second
 * derivative over targets of this distribution: it is positive where the second derivative is
 * not. DISTRIBUTIONS lists them. What a kernel does not store, the compiler leaves out. A score
 * that is a logarithm is clipped to +- LOG_LIMIT.
 */
#ifndef SKGOSS_DISTRIBUTIONS_H
#define SKGOSS_DISTRIBUTIONS_H

#include <stdint.h>

#include "elementary.h"
#include "gamma_functions.h"
#include "loss_kernels.h"

#define MOST_SCORES 3
#define LOG_LIMIT 300.0
/* Shapes are less extreme, so that differences of functions of them keep some digits. */
#define SHAPE_LIMIT 25.0
#define COUNT_LIMIT 16.0
#define TINIEST_SHAPE 1e-100
/* Where a parameter has little effect, steps by its information would be long. */
#define LEAST_INFORMATION 0.05
#define PI 3.14159265358979323846

typedef struct {
    double nll;
    gradient_pair by[MOST_SCORES];
} likelihood;

static SIMD_INLINE double limited(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* ------------------------------------------------------------------ normal, lognormal */

/* Scores: the mean, and the logarithm of the standard deviation. Both derivatives by the mean are
 * multiplied by the variance: its steps are those of the squared error, which were more accurate
 * on real tables than rows weighted by 1 / variance. */
static SIMD_INLINE likelihood normal(const double *f, double y)
{
    double scale = limited(f[1], -LOG_LIMIT, LOG_LIMIT);
    double z = (y - f[0]) * exponential(-scale);
    likelihood of = {HALF_LOG_2_PI + scale + 0.5 * z * z, {{f[0] - y, 1.0}, {1.0 - z * z, 2.0}}};
    return of;
}

/* The scores are those of the logarithm of the target. */
static SIMD_INLINE likelihood lognormal(const double *f, double y)
{
    double x = logarithm(y);
    likelihood of = normal(f, x);
    of.nll += x;
    return of;
}

/* --------------------------------------------------------------------------- student */

/* Scores: the location, and the logarithms of scale and degrees of freedom. Derivatives by the
 * location are multiplied by the squared scale, as those of the normal distribution. Its second
 * one is the weight of the row in least squares, not the information, which the same weight has
 * near the location and far from it. K. L. Lange, R. J. A. Little and J. M. G. Taylor, "Robust
 * Statistical Modeling Using the t Distribution", Journal of the American Statistical Association
 * 84, 1989. */
static SIMD_INLINE likelihood student(const double *f, double y)
{
    double scale = limited(f[1], -LOG_LIMIT, LOG_LIMIT);
    double v = exponential(limited(f[2], -SHAPE_LIMIT, SHAPE_LIMIT));
    double z = (y - f[0]) * exponential(-scale);
    double square = z * z, share = square / (v + square), weight = (v + 1.0) / (v + square);
    double nll = log_gamma(0.5 * v) - log_gamma(0.5 * (v + 1.0)) + 0.5 * logarithm(v * PI) + scale
                 + 0.5 * (v + 1.0) * logarithm_1p(square / v);
    double freedom = digamma(0.5 * v) - digamma(0.5 * (v + 1.0)) + 1.0 / v
                     + logarithm_1p(square / v) - (v + 1.0) / v * share;
    double information = 0.25 * (trigamma(0.5 * v) - trigamma(0.5 * (v + 1.0)))
                         - (v + 5.0) / (2.0 * v * (v + 1.0) * (v + 3.0));
    likelihood of = {nll,
                     {{weight * (f[0] - y), weight},
                      {1.0 - (v + 1.0) * share, 2.0 * v / (v + 3.0)},
                      {0.5 * v * freedom, at_least(v * v * information, LEAST_INFORMATION)}}};
    return of;
}

/* ----------------------------------------------------------------------------- gamma */

/* Scores: the logarithms of mean and shape. Derivatives by the first one are divided by the
 * shape. */
static SIMD_INLINE likelihood gamma_distribution(const double *f, double y)
{
    double mean = limited(f[0], -LOG_LIMIT, LOG_LIMIT), ratio = y * exponential(-mean);
    double shape = limited(f[1], -SHAPE_LIMIT, SHAPE_LIMIT), k = exponential(shape);
    double nll = log_gamma(k) - k * shape + k * (ratio - (logarithm(y) - mean)) + logarithm(y);
    double deviance = ratio - 1.0 - logarithm(ratio);
    /* Its limits are those of small and of large shapes. */
    double information = limited(k * (k * trigamma(k) - 1.0), 0.5, 1.0);
    likelihood of = {nll,
                     {{1.0 - ratio, 1.0},
                      {k * (digamma(k) - logarithm(k) + deviance), information}}};
    return of;
}

/* ---------------------------------------------------------------- negative binomial */

/* Scores: the logarithms of the mean m and of the dispersion a; the variance is m + a m**2. The
 * Fisher information of the dispersion has no short formula: this one is right for a m -> 0 and
 * for a m -> infinity, up to 28 % too large between them for a <= 1, and more above. */
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
    likelihood of = {nll,
                     {{(m - y) / (1.0 + v), m / (1.0 + v)},
                      {-r * slope, at_least(information, LEAST_INFORMATION)}}};
    return of;
}

/* ------------------------------------------------------------------------------ beta */

/* Scores: the log-odds of the mean, and the logarithm of the precision, which is the sum of both
 * shapes a and b. Derivatives by the first one are divided by the precision. S. Ferrari and F.
 * Cribari-Neto, "Beta Regression for Modeling Rates and Proportions", Journal of Applied Statistics
 * 31, 2004. */
static SIMD_INLINE likelihood beta(const double *f, double y)
{
    odds p = logistic(f[0]);
    double mean = f[0] >= 0.0 ? p.large : p.small, rest = f[0] >= 0.0 ? p.small : p.large;
    double precision = exponential(limited(f[1], -SHAPE_LIMIT, SHAPE_LIMIT));
    double a = at_least(mean * precision, TINIEST_SHAPE);
    double b = at_least(rest * precision, TINIEST_SHAPE);
    double log_y = logarithm(y), log_rest = logarithm(1.0 - y);
    double nll = log_gamma(a) + log_gamma(b) - log_gamma(precision) - (a - 1.0) * log_y
                 - (b - 1.0) * log_rest;
    double low = digamma(a) - log_y, high = digamma(b) - log_rest;
    double of_a = trigamma(a), of_b = trigamma(b), variance = mean * rest;
    double spread = a * a * of_a + b * b * of_b - precision * precision * trigamma(precision);
    likelihood of = {nll,
                     {{variance * (low - high), precision * variance * variance * (of_a + of_b)},
                      {a * low + b * high - precision * digamma(precision),
                       at_least(spread, LEAST_INFORMATION)}}};
    return of;
}

/* ------------------------------------------------------------- accelerated failure times */

/* Scores: the location of the logarithm of a time, and the logarithm of its scale. The target is
 * the time, or bounds of it: `upper` is infinite if it is not seen. z = (log time - f[0]) / scale
 * has a distribution of which `<base>_tail` says what is above z: the logarithm of its survival
 * function, the hazard, which is the density divided by it, and the hazard's derivative. A.
 * Barnwal, H. Cho and T. Hocking, "Survival Regression with Accelerated Failure Time Model in
 * XGBoost", Journal of Computational and Graphical Statistics 31, 2022. */
typedef struct {
    double log_survival, hazard, slope;
} tail;

/* z is no farther from 0, so that densities are above 0. */
#define TAIL_LIMIT 37.0

/* The survival function divided by the density is t times a polynomial in 2 t - 1, with t =
 * 5 / (5 + z), that interpolates it at Chebyshev nodes (relative error 5e-13), for z >= 0. */
static const double MILLS[] = {
    0x1.ee052da8ae390p-24,  0x1.dda3ae2038b58p-24,  -0x1.4a56abf4d7954p-20, -0x1.0043f1b3a0ec0p-19,
    0x1.13ffb5a6bad86p-17,  0x1.a14ae1ec32368p-16,  -0x1.f23a0f2d8c4f7p-16, -0x1.1e66caecfafcdp-12,
    -0x1.a371a537060e5p-12, 0x1.89629b8ce0799p-10,  0x1.559c1bb818d7dp-7,   0x1.1bdc4e5c75ef3p-5,
    0x1.52db95844d8b4p-4,   0x1.41e8bfc6fc767p-3,   0x1.fc89a5299c225p-3,   0x1.55943e8062e68p-2,
    0x1.8adef9c13f89dp-2};

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
    tail of = {above, hazard, hazard * (hazard - z)};
    return of;
}

static SIMD_INLINE tail logistic_tail(double z)
{
    odds p = logistic(z);
    double hazard = z >= 0.0 ? p.large : p.small;
    tail of = {-log_1_plus_exponential(z), hazard, p.large * p.small};
    return of;
}

/* That of the smallest of many: times have a Weibull distribution. */
static SIMD_INLINE tail extreme_tail(double z)
{
    double hazard = exponential(z);
    tail of = {-hazard, hazard, hazard};
    return of;
}

/* Whether both are of one time, or so close that little is known of what is between. */
static SIMD_INLINE int same(tail l, tail u)
{
    return l.log_survival - u.log_survival <= -1e-8 * u.log_survival;
}

/* z, of a logarithm of the scale. */
static SIMD_INLINE double deviation(double location, double log_scale, double time)
{
    double z = (logarithm(time) - location) * exponential(-log_scale);
    z = time > 0.0 ? z : -TAIL_LIMIT;
    return limited(z, -TAIL_LIMIT, TAIL_LIMIT);
}

/* Both derivatives by the location are multiplied by the squared scale, as those of the normal
 * distribution. Those of times that are seen have the Fisher information, others the second
 * derivative. Of bounds, `low` and `high` are the hazards times the survival function, divided
 * by the probability between them. */
#define FAILURE_TIME(name, base, of_location, of_scale)                                      \
    static SIMD_INLINE likelihood name(const double *f, double lower, double upper)          \
    {                                                                                        \
        double log_scale = limited(f[1], -LOG_LIMIT, LOG_LIMIT);                             \
        double scale = exponential(log_scale);                                               \
        double z = deviation(f[0], log_scale, lower), w = deviation(f[0], log_scale, upper); \
        tail l = base##_tail(z), u = base##_tail(w);                                         \
        int is_bounded = upper < INFINITY, seen = is_bounded & same(l, u);                   \
        double own = l.hazard - l.slope / l.hazard;                                          \
        double share = -exponential_minus_1(u.log_survival - l.log_survival);                \
        double nll = seen ? log_scale + logarithm(lower) - logarithm(l.hazard)               \
                          : is_bounded ? -logarithm(share) : 0.0;                            \
        double of_l = is_bounded ? 1.0 / (seen ? 1.0 : share) : 1.0, of_u = of_l - 1.0;      \
        double low = l.hazard * of_l, high = u.hazard * of_u;                                \
        double curve_l = (l.slope - l.hazard * l.hazard) * of_l;                             \
        double curve_u = (u.slope - u.hazard * u.hazard) * of_u;                             \
        double step = high - low, of_step = w * high - z * low;                              \
        double curve = step * step + curve_l - curve_u;                                      \
        double of_curve = of_step * of_step + z * (low + z * curve_l)                        \
                          - w * (high + w * curve_u);                                        \
        likelihood of = {nll - l.log_survival,                                               \
                         {{scale * (seen ? -own : step),                                     \
                           seen ? of_location : at_least(curve, TINIEST_SHAPE)},             \
                          {seen ? 1.0 - z * own : of_step,                                   \
                           seen ? of_scale : at_least(of_curve, LEAST_INFORMATION)}}};       \
        return of;                                                                           \
    }

FAILURE_TIME(aft_normal, normal, 1.0, 2.0)
FAILURE_TIME(aft_logistic, logistic, 1.0 / 3.0, (3.0 + PI * PI) / 9.0)
/* Of the scale: pi**2 / 6 + (1 - gamma)**2, with Euler's constant gamma. */
FAILURE_TIME(aft_extreme, extreme, 1.0, 1.8236806608528794)

/* --------------------------------------------------------------------------- the loops */

/* The loop over rows, whose scores are f. */
#define EACH_ROW(n_scores)                                                                 \
    double f[n_scores];                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                      \
        for (int k = 0; k < n_scores; k++)                                                 \
            f[k] = score[k * stride + i];

#define DISTRIBUTION(name, n_scores, ...)                                                     \
    SIMD_KERNEL(name##_derivatives,                                                        \
                (const double *restrict score, const double *restrict y, int64_t stride,   \
                 int64_t n, float *restrict gradient_out, float *restrict hessian_out),    \
                (score, y, stride, n, gradient_out, hessian_out))                          \
    {                                                                                      \
        EACH_ROW(n_scores)                                                                 \
            likelihood of = name(f, __VA_ARGS__);                                          \
            for (int k = 0; k < n_scores; k++) {                                           \
                gradient_out[k * stride + i] = (float)within_float(of.by[k].gradient);     \
                hessian_out[k * stride + i] = (float)within_float(of.by[k].hessian);       \
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

/* The name, the number of scores, and the target. */
#define DISTRIBUTIONS(X)                                                                   \
    X(normal, 2, y[i]) X(lognormal, 2, y[i]) X(student, 3, y[i])                           \
    X(gamma_distribution, 2, y[i]) X(negative_binomial, 2, y[i]) X(beta, 2, y[i])          \
    X(aft_normal, 2, BOUNDS) X(aft_logistic, 2, BOUNDS) X(aft_extreme, 2, BOUNDS)

DISTRIBUTIONS(DISTRIBUTION)

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
