/* Percentiles of the residuals of groups of rows. */
#ifndef SKGOSS_PERCENTILE_KERNELS_H
#define SKGOSS_PERCENTILE_KERNELS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    /* A percentile of more values is sought among those between two percentiles of a sample. */
    MIN_SAMPLED_VALUES = 1024,
    N_SAMPLED_VALUES = 256,
    MAX_INSERTED_VALUES = 16,
    /* After this number of partitions, the rest is sorted: a few pivots halve the values. */
    MAX_PARTITIONS = 100
};

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median_of_three(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Reorders n values so that the one at `index` is where it would be in ascending order, with no
   larger one before it. */
static void select_value(double *values, ptrdiff_t n, ptrdiff_t index)
{
    ptrdiff_t first = 0, last = n - 1;
    for (int turn = 0; last - first > MAX_INSERTED_VALUES; turn++) {
        if (turn == MAX_PARTITIONS) {
            qsort(values + first, last - first + 1, sizeof(double), compare_values);
            return;
        }
        double pivot = median_of_three(
            values[first], values[first + (last - first) / 2], values[last]);
        ptrdiff_t i = first, j = last;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                double swapped = values[i];
                values[i++] = values[j];
                values[j--] = swapped;
            }
        }
        if (index <= j)
            last = j;
        else if (index >= i)
            first = i;
        else
            return;
    }
    for (ptrdiff_t i = first + 1; i <= last; i++) {
        double value = values[i];
        ptrdiff_t j = i;
        for (; j > first && values[j - 1] > value; j--)
            values[j] = values[j - 1];
        values[j] = value;
    }
}

static inline double residual(const double *y, const double *score, int64_t row)
{
    return y[row] - score[row];
}

/* Bounds between which the value at `index` of n residuals in ascending order probably lies. */
static void find_window(const double *y, const double *score, const int64_t *rows, ptrdiff_t n,
                        ptrdiff_t index, double *low_out, double *high_out)
{
    double sample[N_SAMPLED_VALUES];
    for (ptrdiff_t i = 0; i < N_SAMPLED_VALUES; i++)
        sample[i] = residual(y, score, rows[i * n / N_SAMPLED_VALUES]);
    double fraction = (double)index / (double)n;
    ptrdiff_t at = (ptrdiff_t)(fraction * N_SAMPLED_VALUES);
    ptrdiff_t margin
        = 2 + (ptrdiff_t)(3.0 * sqrt(N_SAMPLED_VALUES * fraction * (1.0 - fraction)));
    *low_out = -INFINITY;
    *high_out = INFINITY;
    if (at + margin < N_SAMPLED_VALUES) {
        select_value(sample, N_SAMPLED_VALUES, at + margin);
        *high_out = sample[at + margin];
    }
    if (at - margin >= 0) {
        select_value(sample, N_SAMPLED_VALUES, at - margin);
        *low_out = sample[at - margin];
    }
}

/* Writes the residuals from `low` to `high`, and counts the smaller ones. */
static ptrdiff_t keep_residuals(const double *y, const double *score, const int64_t *rows,
                                ptrdiff_t n, double low, double high, double *kept_out,
                                ptrdiff_t *n_kept_out)
{
    ptrdiff_t n_below = 0, n_kept = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double value = residual(y, score, rows[i]);
        kept_out[n_kept] = value;
        n_below += value < low;
        n_kept += (value >= low) & (value <= high);
    }
    *n_kept_out = n_kept;
    return n_below;
}

/* The percentile of the residuals of n > 0 rows: the first in ascending order of which more than
   `level` times n are as small or smaller, or the mean of it and the one before if the one before
   has exactly this number. `work_out` has n + 1 items. */
static double residual_percentile(const double *y, const double *score, const int64_t *rows,
                                  ptrdiff_t n, double level, double *work_out)
{
    double rank = level * (double)n, low = -INFINITY, high = INFINITY;
    ptrdiff_t index = (ptrdiff_t)rank, n_kept = 0, n_below;
    if (index > n - 1)
        index = n - 1;
    ptrdiff_t needed = (double)index < rank || index == 0 ? index : index - 1;
    if (n >= MIN_SAMPLED_VALUES)
        find_window(y, score, rows, n, index, &low, &high);
    n_below = keep_residuals(y, score, rows, n, low, high, work_out, &n_kept);
    if (n_below > needed || index >= n_below + n_kept)
        n_below = keep_residuals(y, score, rows, n, -INFINITY, INFINITY, work_out, &n_kept);
    ptrdiff_t at = index - n_below;
    select_value(work_out, n_kept, at);
    double value = work_out[at];
    if (needed < index) {
        double before = work_out[0];
        for (ptrdiff_t i = 1; i < at; i++)
            before = work_out[i] > before ? work_out[i] : before;
        value = 0.5 * (before + value);
    }
    return value + 0.0;
}

#endif
