/* The counts of rows that areas under curves need. */
#ifndef SKGOSS_METRICS_H
#define SKGOSS_METRICS_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "elementary.h"
#include "simd.h"

/* The number of lanes of extremes and counts over rows, which the rows join in turn: the compiler
 * makes a vector of them. */
#define METRIC_WIDTH 8

/* The least and the largest of n > 0 scores. */
SIMD_KERNEL(range_of_scores, (const double *restrict score, int64_t n,
             double *restrict least_out, double *restrict largest_out),
            (score, n, least_out, largest_out))
{
    double low[METRIC_WIDTH], high[METRIC_WIDTH];
    for (int l = 0; l < METRIC_WIDTH; l++)
        low[l] = high[l] = score[0];
    int64_t i = 0;
    for (; i + METRIC_WIDTH <= n; i += METRIC_WIDTH)
        for (int l = 0; l < METRIC_WIDTH; l++) {
            double x = score[i + l];
            low[l] = x < low[l] ? x : low[l];
            high[l] = x > high[l] ? x : high[l];
        }
    for (; i < n; i++) {
        low[0] = score[i] < low[0] ? score[i] : low[0];
        high[0] = score[i] > high[0] ? score[i] : high[0];
    }
    for (int l = 1; l < METRIC_WIDTH; l++) {
        low[0] = low[l] < low[0] ? low[l] : low[0];
        high[0] = high[l] > high[0] ? high[l] : high[0];
    }
    *least_out = low[0];
    *largest_out = high[0];
}

/* The counter of each row, by score and class: twice the number of its bucket, which rises as
 * scores fall, and one more for rows that are not positive. Bucket 0 has NaN as well, which
 * differences of infinite ranges are. */
SIMD_KERNEL(find_counters, (const double *restrict y, const double *restrict score, int64_t n,
             double best, double scale, int64_t n_buckets, uint32_t *restrict counter_out),
            (y, score, n, best, scale, n_buckets, counter_out))
{
    const double last = (double)(n_buckets - 1);
    for (int64_t i = 0; i < n; i++) {
        double at = (best - score[i]) * scale;
        at = at > 0.0 ? at : 0.0;
        at = at < last ? at : last;
        counter_out[i] = 2 * (uint32_t)(int32_t)at + (y[i] > 0.0 ? 0 : 1);
    }
}

/* Twice the pairs of a positive and a negative score in the right order; equal ones count
 * one half. */
SIMD_KERNEL(count_pairs, (const double *restrict positive, int64_t n_positive,
             const double *restrict negative, int64_t n_negative, int64_t *restrict pairs_out),
            (positive, n_positive, negative, n_negative, pairs_out))
{
    int64_t pairs[METRIC_WIDTH] = {0};
    for (int64_t start = 0; start < n_negative; start += METRIC_WIDTH) {
        double others[METRIC_WIDTH];
        for (int l = 0; l < METRIC_WIDTH; l++)
            others[l] = start + l < n_negative ? negative[start + l] : NAN;
        for (int64_t i = 0; i < n_positive; i++)
            for (int l = 0; l < METRIC_WIDTH; l++)
                pairs[l] += (int64_t)(positive[i] > others[l]) + (positive[i] >= others[l]);
    }
    *pairs_out = 0;
    for (int l = 0; l < METRIC_WIDTH; l++)
        *pairs_out += pairs[l];
}

/* Bits of a number, ordered as numbers are. */
static inline uint64_t ordered_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ ((uint64_t)((int64_t)bits >> 63) | 0x8000000000000000u);
}

#endif
