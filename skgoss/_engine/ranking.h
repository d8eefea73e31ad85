/* The pairs of one query: Cython cannot compile a loop for several instruction sets. */
#ifndef SKGOSS_RANKING_H
#define SKGOSS_RANKING_H

#include <math.h>
#include <stdint.h>

#include "losses.h"
#include "simd.h"

/* Documents of a step. Sums over documents are kept in as many lanes, whatever the width
 * of the processor's vectors, so all instruction sets add in the same order. */
#define RANK_LANES 8

static SIMD_INLINE double sum_of_lanes(const double *lane)
{
    return ((lane[0] + lane[1]) + (lane[2] + lane[3]))
           + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/* The slopes of all pairs of a query with one document among the first n_top.
 *
 * The documents are ordered by falling score; n is a multiple of RANK_LANES, and the gain
 * of a document that only fills up is NaN. discount[r]: the discount of rank r. A pair's
 * loss weighs |gain - gain'| |discount - discount'| factor / (offset + slope |score -
 * score'|). The gains of the first n_top are overwritten. Adds to gradient and hessian;
 * returns the sum over pairs of the gradient's magnitude.
 *
 * NaN marks a document that must not make a pair (again): it is neither better nor worse
 * than any other, and the pair weighs nothing, without a branch. */
#define PAIRS                                                                             \
    (const double *restrict score, double *restrict gain, const double *restrict discount, \
     int64_t n, int64_t n_top, double factor, double offset, double slope, double sigmoid, \
     double *restrict gradient, double *restrict hessian, double *restrict magnitude_out)

static SIMD_INLINE void rank_pairs_body PAIRS
{
    double magnitude[RANK_LANES] = {0.0};
    for (int64_t i = 0; i < n_top; i++) {
        double own_score = score[i], own_gain = gain[i], own_discount = discount[i];
        double own_gradient[RANK_LANES] = {0.0}, own_hessian[RANK_LANES] = {0.0};
        gain[i] = NAN;
        for (int64_t start = i / RANK_LANES * RANK_LANES; start < n; start += RANK_LANES)
            for (int64_t lane = 0; lane < RANK_LANES; lane++) {
                int64_t j = start + lane;
                double more = gain[j] - own_gain;
                double ahead = more > 0.0 ? score[j] - own_score : own_score - score[j];
                double weight = fabs(more) * (own_discount - discount[j]) * factor;
                double distance = offset + slope * fabs(ahead);
                double odds = exponential(sigmoid * ahead);
                double share = 1.0 / (distance * (1.0 + odds));
                double pull = more != 0.0 && more == more ? sigmoid * weight * share : 0.0;
                double bend = pull * sigmoid * (odds * (share * distance));
                double push = more > 0.0 ? -pull : pull;
                gradient[j] += push;
                hessian[j] += bend;
                own_gradient[lane] -= push;
                own_hessian[lane] += bend;
                magnitude[lane] += pull;
            }
        gradient[i] += sum_of_lanes(own_gradient);
        hessian[i] += sum_of_lanes(own_hessian);
    }
    *magnitude_out = sum_of_lanes(magnitude);
}

SIMD_KERNEL(rank_pairs, PAIRS,
            (score, gain, discount, n, n_top, factor, offset, slope, sigmoid, gradient,
             hessian, magnitude_out))

#endif
