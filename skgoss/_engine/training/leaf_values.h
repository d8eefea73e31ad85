/* Loops over the rows of a leaf: their sums, and the addition of the leaf's value to their
   scores. */
#ifndef SKGOSS_LEAF_VALUES_H
#define SKGOSS_LEAF_VALUES_H

#include "fixed_point.h"
#include "layout.h"
#include "simd.h"

/* add_leaf_rows, for one kind of rows: an argument that is always NULL costs nothing in the loop.
   `position`: of each row, where its gradient is; NULL: at its number. */
static SIMD_INLINE void sum_leaf_rows(const Gradients *rows, const float *hessian,
                                      const double *weight, const uint32_t *frequency,
                                      const uint32_t *position, const uint64_t *records,
                                      ptrdiff_t n, uint64_t id_mask, double gradient_scale,
                                      double hessian_scale, Sums *sums_inout)
{
    const float *gradient = rows->gradient;
    int64_t g = 0, h = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t row = (ptrdiff_t)(records[i] & id_mask);
        row = position ? position[row] : row;
        g += row_integer(gradient, weight, frequency, row, gradient_scale);
        h += row_integer(hessian, weight, frequency, row, hessian_scale);
    }
    sums_inout->gradient += g;
    sums_inout->hessian += h;
    sums_inout->count += n;
}

/* Adds the gradients and hessians of n records' rows, as integers at these scales, to the sums of a
   leaf. `rows`: the gradients of the round; `position`: see sum_leaf_rows. */
SIMD_KERNEL(add_leaf_rows, (const Gradients *rows, const uint32_t *position,
             const uint64_t *records, ptrdiff_t n, uint64_t id_mask, double gradient_scale,
             double hessian_scale, Sums *sums_inout),
            (rows, position, records, n, id_mask, gradient_scale, hessian_scale, sums_inout))
{
    const float *h = rows->hessian;
    const double *w = rows->weight;
    const uint32_t *f = rows->frequency;
    if (position || f)
        sum_leaf_rows(rows, h, w, f, position, records, n, id_mask, gradient_scale,
                      hessian_scale, sums_inout);
    else if (w)
        sum_leaf_rows(rows, h, w, NULL, NULL, records, n, id_mask, gradient_scale,
                      hessian_scale, sums_inout);
    else if (h)
        sum_leaf_rows(rows, h, NULL, NULL, NULL, records, n, id_mask, gradient_scale,
                      hessian_scale, sums_inout);
    else
        sum_leaf_rows(rows, NULL, NULL, NULL, NULL, records, n, id_mask, gradient_scale,
                      hessian_scale, sums_inout);
}

/* Adds a leaf's value to the scores of n records' rows. */
static inline void add_leaf_value(double value, const uint32_t *position,
                                  const uint64_t *records, ptrdiff_t n, uint64_t id_mask,
                                  double *score_inout)
{
    if (position)
        for (ptrdiff_t i = 0; i < n; i++)
            score_inout[position[records[i] & id_mask]] += value;
    else
        for (ptrdiff_t i = 0; i < n; i++)
            score_inout[records[i] & id_mask] += value;
}

#endif
