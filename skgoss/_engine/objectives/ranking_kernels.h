/* The documents of one query: their order, and the gradients of their pairs. */
#ifndef SKGOSS_RANKING_H
#define SKGOSS_RANKING_H

#include <math.h>
#include <stdint.h>

#include "elementary.h"
#include "link_kernels.h"
#include "simd.h"

/* The number of documents of a step. Sums over documents have as many partial sums, whatever the
 * width of the processor's vectors, so that all instruction sets add in the same order. */
#define RANK_WIDTH 8

/* The maximum number of documents that are ranked by counting, a multiple of RANK_WIDTH. */
#define RANK_RUN 64

/* The number of documents that rank before each of n <= RANK_RUN documents: those with higher
 * scores, and earlier ones with equal scores. NaN is the lowest score. */
SIMD_KERNEL(count_before, (const double *restrict score, int64_t n,
             int64_t *restrict before_out), (score, n, before_out))
{
    double key[RANK_RUN];
    for (int64_t i = 0; i < n; i++)
        key[i] = score[i] == score[i] ? score[i] : -INFINITY;
    for (int64_t i = n; i % RANK_WIDTH; i++)
        key[i] = -INFINITY;
    for (int64_t start = 0; start < n; start += RANK_WIDTH) {
        const double *own = key + start;
        int64_t end = start + RANK_WIDTH;
        int64_t before[RANK_WIDTH] = {0};
        for (int64_t j = 0; j < start; j++)
            for (int64_t k = 0; k < RANK_WIDTH; k++)
                before[k] += key[j] >= own[k];
        for (int64_t j = start; j < end; j++)
            for (int64_t k = 0; k < RANK_WIDTH; k++)
                before[k] += (key[j] > own[k])
                                | ((key[j] == own[k]) & (j < start + k));
        for (int64_t j = end; j < n; j++)
            for (int64_t k = 0; k < RANK_WIDTH; k++)
                before[k] += key[j] > own[k];
        for (int64_t k = 0; k < RANK_WIDTH; k++)
            before_out[start + k] = before[k];
    }
}

/* The sum of RANK_WIDTH partial sums, always in the same order. */
static SIMD_INLINE double sum_of_partials(const double *partial)
{
    return ((partial[0] + partial[1]) + (partial[2] + partial[3]))
           + ((partial[4] + partial[5]) + (partial[6] + partial[7]));
}

/* The largest difference, times sigmoid, of a score from the reference of its exponential. */
#define RANK_REACH 300.0

/* LambdaRank (Burges, MSR-TR-2010-82): the gradients and hessians of all pairs of documents of
 * a query, one of them among the first n_top.
 *
 * The documents are in descending order of scores. n is a multiple of RANK_WIDTH; documents that
 * only pad the query have the gain NaN. discount[r] is the discount of rank r. The loss of a pair
 * has the weight
 *
 *     |gain - gain'| |discount - discount'| factor / (offset + slope |score - score'|).
 *
 * factor: 1 / (largest DCG of the query), which makes the weight a change of NDCG. sigmoid: the
 * steepness of the logistic loss. The gradient of the better document of a pair is -lambda, with
 * lambda = weight * sigmoid * (odds of the worse document) / (sum of both odds), and that of the
 * worse one is +lambda.
 *
 * The gains of the first n_top documents are overwritten. odds: work space of n doubles. The
 * results are added to gradient and hessian; *magnitude_out is the sum over pairs of |gradient|.
 *
 * The sigmoid of a pair is odds / (odds + odds'), where odds = exp(sigmoid (score - reference)) is
 * computed once for each document. The reference is the best score; from a document whose score
 * is RANK_REACH below it, its own score becomes the reference. The sigmoids of pairs of far later
 * documents with earlier ones are 0 with either reference.
 *
 * The gain NaN marks a document that must not make a pair, or no further pair: it is neither better
 * nor worse than any other, so that the gradient of the pair is 0, without a branch. */
static SIMD_INLINE void add_pairs(const double *restrict score, double *restrict gain,
                                  const double *restrict discount, int64_t n, int64_t n_top,
                                  double factor, double offset, double slope, double sigmoid,
                                  double *restrict odds, double *restrict gradient,
                                  double *restrict hessian, double *restrict magnitude_out)
{
    double magnitude[RANK_WIDTH] = {0.0};
    double reference = INFINITY;
    for (int64_t i = 0; i < n_top; i++) {
        int64_t first = i / RANK_WIDTH * RANK_WIDTH;
        if (sigmoid * (reference - score[i]) > RANK_REACH) {
            reference = score[i];
            for (int64_t j = first; j < n; j++)
                odds[j] = exponential(sigmoid * (score[j] - reference));
        }
        double own_score = score[i], own_gain = gain[i], own_discount = discount[i];
        double own_odds = odds[i];
        double own_gradient[RANK_WIDTH] = {0.0}, own_hessian[RANK_WIDTH] = {0.0};
        gain[i] = NAN;
        for (int64_t start = first; start < n; start += RANK_WIDTH)
            for (int64_t k = 0; k < RANK_WIDTH; k++) {
                int64_t j = start + k;
                double more = gain[j] - own_gain;
                double distance = offset + slope * fabs(own_score - score[j]);
                double inverse = 1.0 / (distance * (own_odds + odds[j]));
                double wrong = more > 0.0 ? own_odds : odds[j];
                double right = more > 0.0 ? odds[j] : own_odds;
                double weight = more * (own_discount - discount[j]) * factor * sigmoid;
                double lambda = more != 0.0 && more == more ? weight * (wrong * inverse) : 0.0;
                double curvature = fabs(lambda) * sigmoid * (right * (inverse * distance));
                gradient[j] -= lambda;
                hessian[j] += curvature;
                own_gradient[k] += lambda;
                own_hessian[k] += curvature;
                magnitude[k] += fabs(lambda);
            }
        gradient[i] += sum_of_partials(own_gradient);
        hessian[i] += sum_of_partials(own_hessian);
    }
    *magnitude_out = sum_of_partials(magnitude);
}

/* `add_pairs`, compiled twice: with the default options, two factors are the constant 1. */
SIMD_KERNEL(rank_pairs, (const double *restrict score, double *restrict gain,
             const double *restrict discount, int64_t n, int64_t n_top, double factor,
             double offset, double slope, double sigmoid, double *restrict odds,
             double *restrict gradient, double *restrict hessian,
             double *restrict magnitude_out),
            (score, gain, discount, n, n_top, factor, offset, slope, sigmoid, odds, gradient,
             hessian, magnitude_out))
{
    if (slope == 1.0 && sigmoid == 1.0)
        add_pairs(score, gain, discount, n, n_top, factor, offset, 1.0, 1.0, odds, gradient,
                  hessian, magnitude_out);
    else
        add_pairs(score, gain, discount, n, n_top, factor, offset, slope, sigmoid, odds,
                  gradient, hessian, magnitude_out);
}

#endif
