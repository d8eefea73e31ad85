/* Linear leaves: the loops over a block of a leaf's rows, for the sums of the normal equations
 * and for the values of the rows. */
#ifndef SKGOSS_LINEAR_H
#define SKGOSS_LINEAR_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "simd.h"

/* Rows of a block, whose columns are LINEAR_ROWS apart. */
#define LINEAR_ROWS 256
/* The number of lanes of a sum, whatever the instruction set. */
#define LINEAR_WIDTH 8

/* Copy the values of n rows in p columns into a block, column by column, LINEAR_ROWS apart. address
 * and stride: where the first value of each feature's column lies, and the bytes between its
 * values; feature: of each of the p columns. */
static void load_columns(const uint64_t *address, const int64_t *stride, const int32_t *feature,
                         int64_t p, const uint32_t *rows, ptrdiff_t n, double *block_out)
{
    for (int64_t j = 0; j < p; j++) {
        const char *column = (const char *)(uintptr_t)address[feature[j]];
        const int64_t step = stride[feature[j]];
        double *x = block_out + j * LINEAR_ROWS;
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = *(const double *)(column + rows[i] * step);
    }
}

/* The sum of the lanes. */
static SIMD_INLINE double linear_total(const double *lanes)
{
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
           + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/* The sum of n products, n a multiple of the lanes. */
static SIMD_INLINE double linear_dot(const double *restrict a, const double *restrict b,
                                     ptrdiff_t n)
{
    double lanes[LINEAR_WIDTH] = {0.0};
    for (ptrdiff_t i = 0; i < n; i += LINEAR_WIDTH)
        for (int l = 0; l < LINEAR_WIDTH; l++)
            lanes[l] += a[i + l] * b[i + l];
    return linear_total(lanes);
}

/* The sum of n values, n a multiple of the lanes. */
static SIMD_INLINE double linear_sum(const double *restrict x, ptrdiff_t n)
{
    double lanes[LINEAR_WIDTH] = {0.0};
    for (ptrdiff_t i = 0; i < n; i += LINEAR_WIDTH)
        for (int l = 0; l < LINEAR_WIDTH; l++)
            lanes[l] += x[i + l];
    return linear_total(lanes);
}

/* Finds the whole rows among n: those with finite values in all of p columns. Writes a mask for
 * each row, all bits or none, and the number of whole rows. */
SIMD_KERNEL(find_whole, (const double *block, ptrdiff_t n, int64_t p, uint64_t *whole_out,
             int64_t *n_whole_out),
            (block, n, p, whole_out, n_whole_out))
{
    const uint64_t exponent = (uint64_t)0x7FF << 52;
    int64_t n_broken = 0;
    memset(whole_out, 255, n * sizeof *whole_out);
    for (int64_t j = 0; j < p; j++) {
        const double *x = block + j * LINEAR_ROWS;
        for (ptrdiff_t i = 0; i < n; i++) {
            uint64_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            whole_out[i] &= (bits & exponent) == exponent ? 0 : ~(uint64_t)0;
        }
    }
    for (ptrdiff_t i = 0; i < n; i++)
        n_broken += whole_out[i] == 0;
    *n_whole_out = n - n_broken;
}

/* The value where the mask has all bits, else 0. */
static SIMD_INLINE double linear_masked(double value, uint64_t mask)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= mask;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Means of p columns in the whole rows of a block, of which there is at least one: n_whole. They
 * are counted from the value of the first whole row, so that the mean of equal values is exact. */
SIMD_KERNEL(find_centers, (const double *block, const uint64_t *whole, ptrdiff_t n,
             int64_t n_whole, int64_t p, double *center_out),
            (block, whole, n, n_whole, p, center_out))
{
    const ptrdiff_t even = n / LINEAR_WIDTH * LINEAR_WIDTH;
    ptrdiff_t first = 0;
    while (!whole[first])
        first++;
    for (int64_t j = 0; j < p; j++) {
        const double *x = block + j * LINEAR_ROWS, origin = x[first];
        double lanes[LINEAR_WIDTH] = {0.0};
        for (ptrdiff_t i = 0; i < even; i += LINEAR_WIDTH)
            for (int l = 0; l < LINEAR_WIDTH; l++)
                lanes[l] += linear_masked(x[i + l] - origin, whole[i + l]);
        for (ptrdiff_t i = even; i < n; i++)
            lanes[i - even] += linear_masked(x[i] - origin, whole[i]);
        center_out[j] = origin + linear_total(lanes) / n_whole;
    }
}

/* The sums of a leaf: of gradients, of hessians; and of its columns, counted from their
 * centers: of these alone, weighted by hessians, times gradients, and of hessians times the
 * products of two columns, of which there is the lower triangle. */
typedef struct {
    double gradient;
    double hessian;
    double *plain;
    double *weighted;
    double *slope;
    double *moment;
} LeafSums;

/* Add the sums of the whole rows of a block of n rows. source: the block's p columns. block:
 * gradients and hessians behind p columns of work space. Rows that are not whole are set to 0
 * there. center: of each column. */
SIMD_KERNEL(add_products, (const double *source, const uint64_t *whole, double *block,
             ptrdiff_t n, int64_t p, const double *center, LeafSums *sums_inout),
            (source, whole, block, n, p, center, sums_inout))
{
    const ptrdiff_t padded = (n + LINEAR_WIDTH - 1) / LINEAR_WIDTH * LINEAR_WIDTH;
    double *gradient = block + p * LINEAR_ROWS;
    double *hessian = gradient + LINEAR_ROWS;
    double weighted[LINEAR_ROWS];
    for (ptrdiff_t i = 0; i < n; i++) {
        gradient[i] = linear_masked(gradient[i], whole[i]);
        hessian[i] = linear_masked(hessian[i], whole[i]);
    }
    for (ptrdiff_t i = n; i < padded; i++)
        gradient[i] = hessian[i] = 0.0;
    sums_inout->gradient += linear_sum(gradient, padded);
    sums_inout->hessian += linear_sum(hessian, padded);
    for (int64_t j = 0; j < p; j++) {
        double *x = block + j * LINEAR_ROWS;
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = linear_masked(source[j * LINEAR_ROWS + i] - center[j], whole[i]);
        for (ptrdiff_t i = n; i < padded; i++)
            x[i] = 0.0;
        for (ptrdiff_t i = 0; i < padded; i++)
            weighted[i] = hessian[i] * x[i];
        sums_inout->plain[j] += linear_sum(x, padded);
        sums_inout->weighted[j] += linear_sum(weighted, padded);
        sums_inout->slope[j] += linear_dot(gradient, x, padded);
        for (int64_t k = 0; k <= j; k++)
            sums_inout->moment[j * p + k] += linear_dot(weighted, block + k * LINEAR_ROWS, padded);
    }
}

/* The values of n rows of a leaf, constant + sum_j coefficient_j x_j over p columns of a block, NaN
 * where they are not finite. In a model that `is_fitted` here, columns with a coefficient of 0 are
 * not used, so they need not be finite. */
SIMD_KERNEL(model_values, (const double *block, ptrdiff_t n, int64_t p,
             const double *coefficient, double constant, int is_fitted,
             double *restrict value_out),
            (block, n, p, coefficient, constant, is_fitted, value_out))
{
    for (ptrdiff_t i = 0; i < n; i++)
        value_out[i] = constant;
    for (int64_t j = 0; j < p; j++)
        if (coefficient[j] != 0.0 || !is_fitted)
            for (ptrdiff_t i = 0; i < n; i++)
                value_out[i] += coefficient[j] * block[j * LINEAR_ROWS + i];
    for (ptrdiff_t i = 0; i < n; i++)
        value_out[i] = fabs(value_out[i]) <= DBL_MAX ? value_out[i] : NAN;
}

/* The sums of a change of scores: of gradients times changes, and of hessians times their
 * squares; and the number of rows with a value of their own. */
typedef struct {
    double slope;
    double curve;
    int64_t n_values;
} ChangeSums;

/* Adds the sums of n rows whose scores change by these values, or by the fallback where they are
 * NaN. */
SIMD_KERNEL(add_changes, (const double *value, double fallback, const double *gradient,
             const double *hessian, ptrdiff_t n, ChangeSums *sums_inout),
            (value, fallback, gradient, hessian, n, sums_inout))
{
    const ptrdiff_t even = n / LINEAR_WIDTH * LINEAR_WIDTH;
    double slope[LINEAR_WIDTH] = {0.0}, curve[LINEAR_WIDTH] = {0.0};
    int64_t n_values = 0;
    for (ptrdiff_t i = 0; i < even; i += LINEAR_WIDTH)
        for (int l = 0; l < LINEAR_WIDTH; l++) {
            const double v = value[i + l] == value[i + l] ? value[i + l] : fallback;
            slope[l] += gradient[i + l] * v;
            curve[l] += hessian[i + l] * v * v;
        }
    for (ptrdiff_t i = even; i < n; i++) {
        const double v = value[i] == value[i] ? value[i] : fallback;
        slope[i - even] += gradient[i] * v;
        curve[i - even] += hessian[i] * v * v;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        n_values += value[i] == value[i];
    sums_inout->slope += linear_total(slope);
    sums_inout->curve += linear_total(curve);
    sums_inout->n_values += n_values;
}

/* Clips the values of a leaf to its bounds, or replaces them by the fallback if they are NaN.
 * Bounds that are NaN have no effect. */
SIMD_KERNEL(bound_values, (double *value_inout, ptrdiff_t n, double lower, double upper,
             double fallback),
            (value_inout, n, lower, upper, fallback))
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double v = value_inout[i];
        v = v < lower ? lower : v;
        v = v > upper ? upper : v;
        value_inout[i] = v == v ? v : fallback;
    }
}

/* Extend a range, *lower_inout to *upper_inout, by n values; NaN is ignored. */
SIMD_KERNEL(find_range, (const double *value, ptrdiff_t n, double *lower_inout,
             double *upper_inout),
            (value, n, lower_inout, upper_inout))
{
    const ptrdiff_t even = n / LINEAR_WIDTH * LINEAR_WIDTH;
    double lower[LINEAR_WIDTH], upper[LINEAR_WIDTH];
    for (int l = 0; l < LINEAR_WIDTH; l++) {
        lower[l] = *lower_inout;
        upper[l] = *upper_inout;
    }
    for (ptrdiff_t i = 0; i < even; i += LINEAR_WIDTH)
        for (int l = 0; l < LINEAR_WIDTH; l++) {
            lower[l] = value[i + l] < lower[l] ? value[i + l] : lower[l];
            upper[l] = value[i + l] > upper[l] ? value[i + l] : upper[l];
        }
    for (ptrdiff_t i = even; i < n; i++) {
        lower[0] = value[i] < lower[0] ? value[i] : lower[0];
        upper[0] = value[i] > upper[0] ? value[i] : upper[0];
    }
    for (int l = 0; l < LINEAR_WIDTH; l++) {
        *lower_inout = lower[l] < *lower_inout ? lower[l] : *lower_inout;
        *upper_inout = upper[l] > *upper_inout ? upper[l] : *upper_inout;
    }
}

#endif
