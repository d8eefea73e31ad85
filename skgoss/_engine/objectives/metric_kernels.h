/* Loops over scores for the areas under curves. */
#ifndef SKGOSS_METRICS_H
#define SKGOSS_METRICS_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "elementary.h"
#include "simd.h"

/* The number of partial results of a loop: row i counts in number i % METRIC_WIDTH, and the
 * compiler turns them into a vector. Minima, maxima and counts do not depend on the order of the
 * rows. */
#define METRIC_WIDTH 8

/* The smallest and the largest of n > 0 scores. */
SIMD_KERNEL(range_of_scores, (const double *restrict score, int64_t n,
             double *restrict smallest_out, double *restrict largest_out),
            (score, n, smallest_out, largest_out))
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
    *smallest_out = low[0];
    *largest_out = high[0];
}

/* Write the counter of each of n rows: 2 bucket for positive rows (y > 0), 2 bucket + 1 for
 * negative ones. The bucket is (best - score) * scale, rounded down: it increases as scores
 * decrease, from 0 for the largest score, `best`. Bucket 0 also gets the rows where the
 * difference of infinite scores is NaN. */
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

/* Twice the number of pairs of a positive and a negative score whose positive score is larger;
 * equal scores count one half, which is 1 of twice. NaN makes no pair. */
SIMD_KERNEL(count_pairs, (const double *restrict positive, int64_t n_positive,
             const double *restrict negative, int64_t n_negative, int64_t *restrict pairs_out),
            (positive, n_positive, negative, n_negative, pairs_out))
{
    int64_t pairs[METRIC_WIDTH] = {0};
    for (int64_t start = 0; start < n_negative; start += METRIC_WIDTH) {
        double padded[METRIC_WIDTH];
        for (int l = 0; l < METRIC_WIDTH; l++)
            padded[l] = start + l < n_negative ? negative[start + l] : NAN;
        for (int64_t i = 0; i < n_positive; i++)
            for (int l = 0; l < METRIC_WIDTH; l++)
                pairs[l] += (int64_t)(positive[i] > padded[l]) + (positive[i] >= padded[l]);
    }
    *pairs_out = 0;
    for (int l = 0; l < METRIC_WIDTH; l++)
        *pairs_out += pairs[l];
}

/* An integer from the bits of a number; the integers are ordered as the numbers are. */
static inline uint64_t ordered_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ ((uint64_t)((int64_t)bits >> 63) | 0x8000000000000000u);
}

#endif
