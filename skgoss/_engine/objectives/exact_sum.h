/* Exact sums of doubles, which do not depend on the order of the terms.
 *
 * Kahan's and Neumaier's compensated sums are more accurate than plain ones, but still depend on
 * the order. So a sum is a fixed-point number here, as in Kulisch's accumulator: a multiple of the
 * smallest positive double, stored in limbs of 32 bits,
 *
 *     sum = 2**-1074 (limb[0] + 2**32 limb[1] + 2**64 limb[2] + ...).
 *
 * Limbs are 64-bit integers without carries: the upper bits have room for 2**30 blocks of terms, so
 * sums are added limb by limb.
 *
 * The terms of a block are cut at fixed bits. Adding a large number to a term rounds it to a
 * multiple of a power of two, the unit. The multiples are whole numbers, which are added. The
 * remainders of the terms are cut by a smaller unit, until they are 0 (Rump, Ogita and Oishi,
 * "Accurate floating-point summation part I", SIAM J. Sci. Comput. 31, 2008, call this error-free
 * extraction).
 */
#ifndef SKGOSS_EXACT_SUM_H
#define SKGOSS_EXACT_SUM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "simd.h"

/* The maximum number of terms of a block. */
#define EXACT_BLOCK 1024

/* The number of partial sums of a plain sum, which is the same for all instruction sets, so that
 * the sum is, too. */
#define EXACT_WIDTH 8

/* The elements of a sum: limbs, and counts of the terms that are not finite. */
enum {
    EXACT_LIMBS = 68,
    EXACT_INFINITE = EXACT_LIMBS,
    EXACT_MINUS_INFINITE,
    EXACT_NAN,
    EXACT_SIZE
};

#define MIN_EXPONENT (-1074)

/* Multiply n terms by their weights, unless these are NULL, in place. *size_out: the sum of their
 * absolute values, rounded, from which the units of `add_terms` follow. */
SIMD_KERNEL(weigh_terms, (double *restrict term_inout, const double *restrict weight, int64_t n,
             double *restrict size_out), (term_inout, weight, n, size_out))
{
    double partial[EXACT_WIDTH] = {0.0};
    int64_t i = 0;
    if (weight)
        for (int64_t j = 0; j < n; j++)
            term_inout[j] *= weight[j];
    for (; i + EXACT_WIDTH <= n; i += EXACT_WIDTH)
        for (int l = 0; l < EXACT_WIDTH; l++)
            partial[l] += fabs(term_inout[i + l]);
    for (; i < n; i++)
        partial[0] += fabs(term_inout[i]);
    *size_out = 0.0;
    for (int l = 0; l < EXACT_WIDTH; l++)
        *size_out += partial[l];
}

/* The bits of a double. */
static SIMD_INLINE uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Subtract multiples of two units, the high and the low one, from each term. Returns the sums of
 * the multiples, and whether any term is not 0 afterwards. `shift` is 1.5 * 2**52 units, so that
 * the last bits of the sum with a term are the multiple:
 *
 *     bits(x + shift) - bits(shift) = round(x / unit)
 */
SIMD_KERNEL(cut_terms, (double *restrict term_inout, int64_t n, const double *restrict shift,
             int64_t *restrict whole_out, uint64_t *restrict left_out),
            (term_inout, n, shift, whole_out, left_out))
{
    const double shift_high = shift[0], shift_low = shift[1];
    uint64_t high = 0, low = 0, left = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = term_inout[i], shifted = x + shift_high;
        high += bits_of(shifted);
        x -= shifted - shift_high;
        shifted = x + shift_low;
        low += bits_of(shifted);
        x -= shifted - shift_low;
        left |= bits_of(fabs(x));
        term_inout[i] = x;
    }
    whole_out[0] = (int64_t)(high - (uint64_t)n * bits_of(shift_high));
    whole_out[1] = (int64_t)(low - (uint64_t)n * bits_of(shift_low));
    *left_out = left;
}

/* Add whole * 2**exponent to the limbs. It is cut into three parts of 32 bits for three neighboring
 * limbs; `exponent` is at least MIN_EXPONENT. */
static inline void add_limbs(int64_t whole, int exponent, int64_t *sum_inout)
{
    int shift = (exponent - MIN_EXPONENT) & 31;
    int64_t *limb = sum_inout + ((exponent - MIN_EXPONENT) >> 5);
    uint64_t low = (uint64_t)(whole & 0xFFFFFFFF) << shift;
    int64_t high = (whole >> 32) * ((int64_t)1 << shift);
    limb[0] += (int64_t)(low & 0xFFFFFFFF);
    limb[1] += (int64_t)(low >> 32) + (high & 0xFFFFFFFF);
    limb[2] += high >> 32;
}

/* Add n terms times 2**exponent to a sum; the terms are overwritten. `size`: the sum of their
 * absolute values, below 2**1020, so that no term is larger than 2**top. */
static void add_terms(double *term, int64_t n, double size, int exponent,
                      int64_t *sum_inout)
{
    int top;
    uint64_t left = size > 0.0;
    frexp(size, &top);
    while (left) {
        double shift[2];
        int unit[2];
        int64_t whole[2];
        /* Terms are between -2**top and 2**top, which is 2**51 units, so that their sums with
         * 1.5 * 2**52 units are between 2**52 and 2**53 units. Remainders are up to half a unit. */
        for (int k = 0; k < 2; k++) {
            unit[k] = top - 51 > MIN_EXPONENT ? top - 51 : MIN_EXPONENT;
            shift[k] = ldexp(1.5, 52 + unit[k]);
            top = unit[k] - 1;
        }
        cut_terms(term, n, shift, whole, &left);
        for (int k = 0; k < 2; k++)
            add_limbs(whole[k], unit[k] + exponent, sum_inout);
    }
}

/* Add terms that may be infinite, NaN or huge: huge terms are scaled by 2**-64. */
static void add_any_terms(double *term, int64_t n, int64_t *sum_inout)
{
    const double huge = 0x1p960;
    double smaller[EXACT_BLOCK], size;
    for (int64_t i = 0; i < n; i++) {
        smaller[i] = 0.0;
        if (isnan(term[i]))
            sum_inout[EXACT_NAN]++;
        else if (isinf(term[i]))
            sum_inout[term[i] > 0.0 ? EXACT_INFINITE : EXACT_MINUS_INFINITE]++;
        else if (fabs(term[i]) >= huge)
            smaller[i] = term[i] * 0x1p-64;
        else
            continue;
        term[i] = 0.0;
    }
    weigh_terms(term, 0, n, &size);
    add_terms(term, n, size, 0, sum_inout);
    weigh_terms(smaller, 0, n, &size);
    add_terms(smaller, n, size, 64, sum_inout);
}

/* Add n <= EXACT_BLOCK terms times their weights (NULL: 1); the terms are overwritten. */
static void add_exact(double *term, const double *weight, int64_t n, int64_t *sum_inout)
{
    double size;
    weigh_terms(term, weight, n, &size);
    if (size < 0x1p1020)
        add_terms(term, n, size, 0, sum_inout);
    else
        add_any_terms(term, n, sum_inout);
}

/* Add the exact products of n <= EXACT_BLOCK terms and their weights (NULL: 1); the terms are
 * overwritten. A product is its rounded value plus the rounding error, which is a double. */
static void add_products(double *term, const double *weight, int64_t n, int64_t *sum_inout)
{
    double error[EXACT_BLOCK];
    if (weight) {
        for (int64_t i = 0; i < n; i++) {
            double product = term[i] * weight[i];
            error[i] = isfinite(product) ? fma(term[i], weight[i], -product) : 0.0;
            term[i] = product;
        }
        add_exact(error, 0, n, sum_inout);
    }
    add_exact(term, 0, n, sum_inout);
}

#endif
