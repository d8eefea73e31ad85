/* Fixed-point numbers: rounding to integers, packed sums and their fields. */
#ifndef SKGOSS_FIXED_POINT_H
#define SKGOSS_FIXED_POINT_H

#include <string.h>

#include "layout.h"
#include "simd.h"

/* Adding 1.5 * 2^52 leaves a double's nearest integer in the low bits of its mantissa. */
#define MANTISSA_SHIFT 6755399441055744.0

/* Rounds to even, for |x| < 2^51, on every instruction set. */
static SIMD_INLINE int64_t nearest(double x)
{
    const double shift = MANTISSA_SHIFT;
    double shifted = x + shift;
    int64_t bits, zero;
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&zero, &shift, sizeof zero);
    return bits - zero;
}

/* A row's integer: frequency * round(value * weight * scale), with `weight` and `frequency` as in
   Gradients. `values` may be NULL for ones. */
static SIMD_INLINE int64_t row_integer(const float *values, const double *weight,
                                       const uint32_t *frequency, ptrdiff_t row, double scale)
{
    double w = weight ? weight[row] : 1.0;
    int64_t q = nearest(values ? (double)values[row] * w * scale : w * scale);
    return frequency ? (int64_t)frequency[row] * q : q;
}

/* The inverse of nearest, exact for |x| < 2^51. */
static SIMD_INLINE double exact_double(int64_t x)
{
    const double shift = MANTISSA_SHIFT;
    int64_t zero;
    double shifted;
    memcpy(&zero, &shift, sizeof zero);
    x += zero;
    memcpy(&shifted, &x, sizeof shifted);
    return shifted - shift;
}

/* The fields of a sum of packed addends. */
static SIMD_INLINE Sums unpack(int64_t packed, const Encoding *encoding)
{
    int count_bits = encoding->count_bits, gradient_shift = encoding->addend_gradient_shift;
    int64_t hessian_mask = ((int64_t)1 << (gradient_shift - count_bits)) - 1;
    Sums sums;
    sums.count = packed & (((int64_t)1 << count_bits) - 1);
    sums.hessian =
        encoding->constant_hessian ? sums.count : (packed >> count_bits) & hessian_mask;
    sums.gradient = packed >> gradient_shift;
    return sums;
}

/* The sum of packed addends that has these fields. */
static SIMD_INLINE int64_t pack(Sums sums, const Encoding *encoding)
{
    uint64_t hessian = encoding->constant_hessian ? 0 : (uint64_t)sums.hessian;
    return (int64_t)(((uint64_t)sums.gradient << encoding->addend_gradient_shift)
                     + (hessian << encoding->count_bits) + (uint64_t)sums.count);
}

#endif
