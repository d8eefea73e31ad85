/* Exponentials and logarithms, for losses, links and metrics.
 *
 * Those of C libraries differ in the last bit, so models would depend on the machine. These here
 * have neither branches nor tables, so loops can be vectorized. Adding 1.5 * 2**52 rounds a number
 * to a whole one, which is then in the lowest bits of the sum. Polynomials interpolate at Chebyshev
 * nodes. Constants in two parts, such as that of log(2), have a first part with few digits, so that
 * its products with whole numbers are exact.
 */
#ifndef SKGOSS_ELEMENTARY_H
#define SKGOSS_ELEMENTARY_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "simd.h"

#define EXP_LIMIT 708.0
#define LN2 0x1.62e42fefa39efp-1
#define PER_LN2 0x1.71547652b82fep0

/* 2**k for a whole k held in the low bits of the mantissa of k + 1.5 * 2**52. */
static SIMD_INLINE double power_of_two(double shifted)
{
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 52) + ((uint64_t)1023 << 52);
    memcpy(&shifted, &bits, sizeof bits);
    return shifted;
}

/* exp(x) = scale (1 + remainder), with remainder = exp(r) - 1 for an |r| <= ln(2) / 2. */
typedef struct {
    double remainder, scale;
} scaled_exponential;

/* For |x| <= 708.
 *
 * x = k ln 2 + r; exp(r) = 1 + r + r**2 q(r), where q interpolates at the ten Chebyshev
 * nodes (relative error of the whole 1.6e-17).
 */
static SIMD_INLINE scaled_exponential limited_exponential(double x)
{
    const double shift = 0x1.8p52;
    double shifted = x * PER_LN2 + shift;
    double k = shifted - shift;
    double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    double q = 0x1.af38a9b0ec855p-26;
    q = q * r + 0x1.289185613a3d6p-22;
    q = q * r + 0x1.71de0dae63bb3p-19;
    q = q * r + 0x1.a019b90d2ae7ap-16;
    q = q * r + 0x1.a01a01a7c41d5p-13;
    q = q * r + 0x1.6c16c1788bd90p-10;
    q = q * r + 0x1.11111111109b3p-7;
    q = q * r + 0x1.5555555553d63p-5;
    q = q * r + 0x1.5555555555556p-3;
    q = q * r + 0x1.0000000000001p-1;
    scaled_exponential e = {r + r * r * q, power_of_two(shifted)};
    return e;
}

/* x clipped to +-708, without a branch. */
static SIMD_INLINE scaled_exponential reduced_exponential(double x)
{
    x = x < -EXP_LIMIT ? -EXP_LIMIT : x;
    x = x > EXP_LIMIT ? EXP_LIMIT : x;
    return limited_exponential(x);
}

/* exp(x) within 2 units in the last place, x clipped to +-708. */
static SIMD_INLINE double exponential(double x)
{
    scaled_exponential e = reduced_exponential(x);
    return (1.0 + e.remainder) * e.scale;
}

/* 2**x for x <= 1023, within 2 units in the last place, and no smaller than 2**-1022; exact
 * for whole x. */
static SIMD_INLINE double exponential_2(double x)
{
    const double shift = 0x1.8p52;
    x = x < -1022.0 ? -1022.0 : x;
    double shifted = x + shift, remainder = x - (shifted - shift);
    return (1.0 + limited_exponential(remainder * LN2).remainder) * power_of_two(shifted);
}

/* exp(x) - 1 within 3 units in the last place, even where x is small. */
static SIMD_INLINE double exponential_minus_1(double x)
{
    scaled_exponential e = reduced_exponential(x);
    return e.scale * e.remainder + (e.scale - 1.0);
}

/* log(1 + x) for x in [0, 1], within 2 units in the last place.
 *
 * 2 artanh(t) with t = x / (2 + x) <= 1/3, so 2 t = x - t x; artanh(t) = t + t**3 q(t**2),
 * where q interpolates at the ten Chebyshev nodes (relative error of the whole 5e-18).
 */
static SIMD_INLINE double log_1_plus(double x)
{
    double t = x / (2.0 + x);
    double square = t * t;
    double q = 0x1.4b0a26c5f2af0p-4;
    q = q * square + 0x1.687a6e7c95176p-5;
    q = q * square + 0x1.eb905e8575054p-5;
    q = q * square + 0x1.10ac75dc602b1p-4;
    q = q * square + 0x1.3b18b294bebf9p-4;
    q = q * square + 0x1.745cf0b0e03bdp-4;
    q = q * square + 0x1.c71c727143318p-4;
    q = q * square + 0x1.24924923d44c6p-3;
    q = q * square + 0x1.999999999a3ddp-3;
    q = q * square + 0x1.5555555555555p-2;
    return x - t * (x - 2.0 * square * q);
}

/* log(1 + exp(x)). */
static SIMD_INLINE double log_1_plus_exponential(double x)
{
    return (x > 0.0 ? x : 0.0) + log_1_plus(exponential(-fabs(x)));
}

/* x clipped to the range of floats. */
static SIMD_INLINE double within_float(double x)
{
    x = x < -FLT_MAX ? -FLT_MAX : x;
    return x > FLT_MAX ? FLT_MAX : x;
}

/* sigmoid(x) and 1 - sigmoid(x): sigmoid(|x|) is `large`, sigmoid(-|x|) is `small`. Neither is
 * found by subtraction, so both have full precision at any x. */
typedef struct {
    double large, small;
} odds;

/* The odds from e = exp(-|x|). */
static SIMD_INLINE odds odds_of(double e)
{
    odds p;
    p.large = 1.0 / (1.0 + e);
    p.small = e * p.large;
    return p;
}

/* The odds of x. */
static SIMD_INLINE odds logistic(double x)
{
    return odds_of(exponential(-fabs(x)));
}

/* log(2) in two parts; products of the first with exponents are exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 0x1.a39ef35793c76p-33

/* The maximum of x and a lower bound; NaN stays. */
static SIMD_INLINE double at_least(double x, double low) { return x < low ? low : x; }

/* log(x) = k log(2) + f - remainder. */
typedef struct {
    double k, f, remainder;
} logarithm_parts;

/* x = 2**k m with m between sqrt(1/2) and sqrt(2); for m = 1 + f and s = f / (2 + f), log m
 * = 2 atanh(s) = f - s (f - z r(z)) with z = s * s, where r interpolates at the seven
 * Chebyshev nodes. */
static SIMD_INLINE logarithm_parts parts_of_logarithm(double x)
{
    const uint64_t one = (uint64_t)1023 << 52, root_of_half = 0x3FE6A09E667F3BCDu;
    double m, k;
    uint64_t bits, exponent;
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
    logarithm_parts parts = {k, f, s * (f - z * r)};
    return parts;
}

/* log(x) within 2 units in the last place, x no less than the smallest normal number. */
static SIMD_INLINE double logarithm(double x)
{
    x = at_least(x, DBL_MIN);
    logarithm_parts l = parts_of_logarithm(x);
    double found = l.k * LN2_HIGH + (l.f - (l.remainder - l.k * LN2_LOW));
    /* Infinity and NaN stay. */
    return x <= DBL_MAX ? found : x;
}

/* The same to base 2; exact for powers of two. */
static SIMD_INLINE double logarithm_2(double x)
{
    logarithm_parts l = parts_of_logarithm(x);
    return l.k + (l.f - l.remainder) * PER_LN2;
}

/* log(1 + x) for x > -1, with a correction for the rounding error of 1 + x. */
static SIMD_INLINE double logarithm_1p(double x)
{
    double sum = 1.0 + x;
    return logarithm(sum) + (x - (sum - 1.0)) / sum;
}

#endif
