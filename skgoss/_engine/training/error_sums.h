/* What changes of scores explain of the errors of rows. */
#ifndef SKGOSS_ERROR_SUMS_H
#define SKGOSS_ERROR_SUMS_H

#include <stdint.h>

#include "exact_sum.h"
#include "simd.h"

/* The terms that `error_terms` writes. They begin at different places of memory pages, so that the
 * cache holds all of them. */
enum {
    TERM_STRIDE = EXACT_BLOCK + 40,
    SQUARE = 0,
    VISIBLE_SQUARE,
    REMAINING_SQUARE,
    SCALED_SQUARE,
    CHANGE_SQUARE,
    PROJECTION,
    N_ERROR_SUMS
};

SIMD_KERNEL(error_terms, (const double *restrict slope, const double *restrict curve,
             const double *restrict visible, const double *restrict change, int64_t n,
             double *restrict term_out), (slope, curve, visible, change, n, term_out))
{
    for (int64_t i = 0; i < n; i++) {
        double square = slope[i] * slope[i], moved = curve[i] * change[i];
        double after = visible[i] + moved, scaled = square / curve[i];
        term_out[SQUARE * TERM_STRIDE + i] = square;
        term_out[VISIBLE_SQUARE * TERM_STRIDE + i] = visible[i] * visible[i];
        term_out[REMAINING_SQUARE * TERM_STRIDE + i] = after * after;
        term_out[SCALED_SQUARE * TERM_STRIDE + i] = curve[i] > 0.0 ? scaled : 0.0;
        term_out[CHANGE_SQUARE * TERM_STRIDE + i] = moved * change[i];
        term_out[PROJECTION * TERM_STRIDE + i] = visible[i] * change[i];
    }
}

#endif
