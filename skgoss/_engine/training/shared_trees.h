/* Adds the values of the leaves of rows to their scores. */
#ifndef SKGOSS_SHARED_TREES_H
#define SKGOSS_SHARED_TREES_H

#include <stddef.h>
#include <stdint.h>

#include "simd.h"

SIMD_KERNEL(add_values_of_leaves, (const int32_t *leaf, const double *value, ptrdiff_t n,
             double *score_inout),
            (leaf, value, n, score_inout))
{
    for (ptrdiff_t i = 0; i < n; i++)
        score_inout[i] += value[leaf[i]];
}

#endif
