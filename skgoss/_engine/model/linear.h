/* Sums for the normal equations of linear leaves: the loops over a block of a leaf's rows. */
#ifndef SKGOSS_LINEAR_H
#define SKGOSS_LINEAR_H

#include <stddef.h>
#include <stdint.h>

#include "simd.h"

/* Rows of a block; its columns lie one after the other, so far apart. */
#define LINEAR_ROWS 256
/* Sums have so many parts, whatever the instruction set. */
#define LINEAR_LANES 8

/* The sum of n products, n a multiple of the lanes. */
static SIMD_INLINE double linear_dot(const double *restrict a, const double *restrict b,
                                     ptrdiff_t n)
{
    double lane[LINEAR_LANES] = {0.0};
    for (ptrdiff_t i = 0; i < n; i += LINEAR_LANES)
        for (int l = 0; l < LINEAR_LANES; l++)
            lane[l] += a[i + l] * b[i + l];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3]))
           + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/* Count p columns from their centers, and add their sums weighted by hessians, their
 * products with gradients, and hessians times the products of two of them. Columns p and
 * p + 1 are gradients and hessians; the block has room for whole lanes. */
static SIMD_INLINE void add_products_body(double *block, ptrdiff_t n, int64_t p,
                                          const double *center, double *sum_inout,
                                          double *slope_inout, double *moment_inout)
{
    const ptrdiff_t padded = (n + LINEAR_LANES - 1) / LINEAR_LANES * LINEAR_LANES;
    double *gradient = block + p * LINEAR_ROWS;
    double *hessian = gradient + LINEAR_ROWS;
    double weighted[LINEAR_ROWS];
    for (ptrdiff_t i = n; i < padded; i++)
        gradient[i] = hessian[i] = 0.0;
    for (int64_t j = 0; j < p; j++) {
        double *x = block + j * LINEAR_ROWS;
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] -= center[j];
        for (ptrdiff_t i = n; i < padded; i++)
            x[i] = 0.0;
        for (ptrdiff_t i = 0; i < padded; i++)
            weighted[i] = hessian[i] * x[i];
        sum_inout[j] += linear_dot(hessian, x, padded);
        slope_inout[j] += linear_dot(gradient, x, padded);
        for (int64_t k = 0; k <= j; k++)
            moment_inout[j * p + k] += linear_dot(weighted, block + k * LINEAR_ROWS, padded);
    }
}
SIMD_KERNEL(add_products,
            (double *block, ptrdiff_t n, int64_t p, const double *center,
             double *sum_inout, double *slope_inout, double *moment_inout),
            (block, n, p, center, sum_inout, slope_inout, moment_inout))

#endif
