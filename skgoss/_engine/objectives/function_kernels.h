/* Functions of each number of an array, in place. */
#ifndef SKGOSS_FUNCTIONS_H
#define SKGOSS_FUNCTIONS_H

#include <stdint.h>

#include "elementary.h"
#include "gamma_functions.h"
#include "simd.h"

/* Beyond the limits of `exponential`, it is 0 or infinite. */
static SIMD_INLINE double unlimited_exponential(double x)
{
    double found = exponential(x);
    found = x < -EXP_LIMIT ? 0.0 : found;
    return x > EXP_LIMIT ? INFINITY : found;
}

#define FUNCTION(name, of)                                            \
    SIMD_KERNEL(name##_of_each, (double *x, int64_t n), (x, n))       \
    {                                                                 \
        for (int64_t i = 0; i < n; i++)                               \
            x[i] = of(x[i]);                                          \
    }

/* The name, and the function of one number. */
#define FUNCTIONS(X)                                                  \
    X(exp, unlimited_exponential) X(log, logarithm)                   \
    X(log1p, logarithm_1p) X(log_gamma, log_gamma)                    \
    X(digamma, digamma) X(trigamma, trigamma)

FUNCTIONS(FUNCTION)

#endif
