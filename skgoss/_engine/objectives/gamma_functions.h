/* The logarithm of the gamma function, and its first two derivatives, for x > 0.
 *
 * They follow by recurrence from their asymptotic series at z = x + 8: M. Abramowitz and I. Stegun,
 * "Handbook of Mathematical Functions", 1964, 6.1.41, 6.3.18 and 6.4.12. The recurrence is
 * log_gamma(x) = log_gamma(x + 1) - log(x) and its derivatives. In the code, w = 1 / z^2, and the
 * constants are the coefficients of the series, nested by Horner's rule.
 */
#ifndef SKGOSS_GAMMA_FUNCTIONS_H
#define SKGOSS_GAMMA_FUNCTIONS_H

#include "elementary.h"

#define HALF_LOG_2_PI 0.91893853320467274178

/* log(gamma(x)). */
static SIMD_INLINE double log_gamma(double x)
{
    double z = x + 8.0, w = 1.0 / (z * z), product = x;
    for (int i = 1; i < 8; i++)
        product *= x + i;
    /* For such large x, z is x itself, and the product could be infinite. */
    product = x < 1e30 ? product : 1.0;
    double series = 1 / 1260.0 - w * (1 / 1680.0 - w * (1 / 1188.0));
    series = (1 / 12.0 - w * (1 / 360.0 - w * series)) / z;
    return (z - 0.5) * logarithm(z) - z + HALF_LOG_2_PI + series - logarithm(product);
}

/* The first derivative of log_gamma. */
static SIMD_INLINE double digamma(double x)
{
    double z = x + 8.0, w = 1.0 / (z * z), sum = 0.0;
    for (int i = 0; i < 8; i++)
        sum += 1.0 / (x + i);
    double series = 1 / 252.0 - w * (1 / 240.0 - w * (1 / 132.0 - w * (691 / 32760.0)));
    series = w * (1 / 12.0 - w * (1 / 120.0 - w * series));
    return logarithm(z) - 0.5 / z - series - sum;
}

/* The second derivative of log_gamma. */
static SIMD_INLINE double trigamma(double x)
{
    double z = x + 8.0, w = 1.0 / (z * z), sum = 0.0;
    for (int i = 0; i < 8; i++)
        sum += 1.0 / ((x + i) * (x + i));
    double series = 1 / 30.0 - w * (5 / 66.0 - w * (691 / 2730.0 - w * (7 / 6.0)));
    series = 1 / 6.0 - w * (1 / 30.0 - w * (1 / 42.0 - w * series));
    return (1.0 + 0.5 / z + w * series) / z + sum;
}

#endif
