/* The loops over rows of every link, from raw scores to predictions. */
#ifndef SKGOSS_LINKS_H
#define SKGOSS_LINKS_H

#include <math.h>
#include <stdint.h>

#include "elementary.h"
#include "simd.h"

/* ---------------------------------------------------------------------------- softmax */

/* From scores to probabilities in place: n rows, class-major, `stride` rows a class.
 * work: 2 n doubles. */
#define SOFTMAX_LINK                                                                  \
    (double *restrict x, int64_t n_classes, int64_t stride, int64_t n,                \
     double *restrict work)

static SIMD_INLINE void softmax_link_body SOFTMAX_LINK
{
    double *restrict top = work;
    double *restrict total = work + n;
    for (int64_t i = 0; i < n; i++) {
        top[i] = x[i];
        total[i] = 0.0;
    }
    for (int64_t k = 1; k < n_classes; k++) {
        const double *restrict f = x + k * stride;
        for (int64_t i = 0; i < n; i++)
            top[i] = f[i] > top[i] ? f[i] : top[i];
    }
    for (int64_t k = 0; k < n_classes; k++) {
        double *restrict e = x + k * stride;
        for (int64_t i = 0; i < n; i++) {
            e[i] = exponential(e[i] - top[i]);
            total[i] += e[i];
        }
    }
    for (int64_t i = 0; i < n; i++)
        total[i] = 1.0 / total[i];
    for (int64_t k = 0; k < n_classes; k++) {
        double *restrict p = x + k * stride;
        for (int64_t i = 0; i < n; i++)
            p[i] *= total[i];
    }
}

SIMD_KERNEL(softmax_link, SOFTMAX_LINK, (x, n_classes, stride, n, work))

/* ------------------------------------------------- links of single scores, in place */

#define LINK_ROWS (double *restrict x, double slope, int64_t n)

#define LINK(name, prediction)                                                        \
    static SIMD_INLINE void name##_link_body LINK_ROWS                                \
    {                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                             \
            double f = x[i];                                                          \
            x[i] = prediction;                                                        \
        }                                                                             \
    }                                                                                 \
    SIMD_KERNEL(name##_link, LINK_ROWS, (x, slope, n))

static void identity_link LINK_ROWS {}
LINK(exp, exponential(f))
/* Right to the last bits in both tails, and it never falls, as each step is rounded. */
LINK(logistic, 1.0 / (1.0 + exponential(-slope * f)))
LINK(log1p_exp, log_1_plus_exponential(f))
LINK(signed_square, f * fabs(f))

typedef void(*link_rows) LINK_ROWS;

/* In the order of LINKS in links.pyx. */
static const link_rows LINKS[] = {
    identity_link, exp_link, logistic_link, log1p_exp_link, signed_square_link,
};

#endif
