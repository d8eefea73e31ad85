/* Functions that are applied to each element of an array, in place. */
#ifndef SKGOSS_FUNCTIONS_H
#define SKGOSS_FUNCTIONS_H

#include <stdint.h>

#include "elementary.h"
#include "gamma_functions.h"
#include "simd.h"

/* `exponential`, but 0 or infinite beyond its limits. */
static SIMD_INLINE double unlimited_exponential(double x)
{
    double result = exponential(x);
    result = x < -EXP_LIMIT ? 0.0 : result;
    return x > EXP_LIMIT ? INFINITY : result;
}

/* A kernel `<name>_of_each`, which applies a function to n numbers, in place. */
#define FUNCTION(name, function)                                      \
    SIMD_KERNEL(name##_of_each, (double *x, int64_t n), (x, n))       \
    {                                                                 \
        for (int64_t i = 0; i < n; i++)                               \
            x[i] = function(x[i]);                                    \
    }

/* The name of the array function, and the function of one number. */
#define FUNCTIONS(X)                                                  \
    X(exp, unlimited_exponential) X(log, logarithm)                   \
    X(log1p, logarithm_1p) X(log_gamma, log_gamma)                    \
    X(digamma, digamma) X(trigamma, trigamma)

FUNCTIONS(FUNCTION)

#endif
