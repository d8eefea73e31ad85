/* Transposes columns of codes to the lanes of rows, a block of rows at a time and eight columns at
   once: storing single bytes would be slower. */
#ifndef SKGOSS_FEATURE_SUBSET_H
#define SKGOSS_FEATURE_SUBSET_H

#include <stddef.h>
#include <string.h>

#include "simd.h"

/* Rows whose lanes stay in the nearest cache while columns are transposed. */
#define SUBSET_BLOCK 512

/* Eight lanes of up to SUBSET_BLOCK rows: out[stride * i + j] = lanes[j][i]. */
SIMD_KERNEL(interleave, (const uint8_t *const *lanes, ptrdiff_t n, ptrdiff_t stride,
             uint8_t *out), (lanes, n, stride, out))
{
    const uint8_t *restrict a = lanes[0], *restrict b = lanes[1], *restrict c = lanes[2],
                  *restrict d = lanes[3], *restrict e = lanes[4], *restrict f = lanes[5],
                  *restrict g = lanes[6], *restrict h = lanes[7];
    uint8_t octets[8 * SUBSET_BLOCK];
    uint8_t *restrict bytes = octets;
    for (ptrdiff_t i = 0; i < n; i++) {
        bytes[8 * i] = a[i];
        bytes[8 * i + 1] = b[i];
        bytes[8 * i + 2] = c[i];
        bytes[8 * i + 3] = d[i];
        bytes[8 * i + 4] = e[i];
        bytes[8 * i + 5] = f[i];
        bytes[8 * i + 6] = g[i];
        bytes[8 * i + 7] = h[i];
    }
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(out + stride * i, octets + 8 * i, 8);
}

/* Adds the codes of n rows, times the radix of their group, to a lane. */
SIMD_KERNEL(add_digits, (const uint8_t *restrict codes, ptrdiff_t n, int radix,
             uint8_t *restrict lane_inout), (codes, n, radix, lane_inout))
{
    for (ptrdiff_t i = 0; i < n; i++)
        lane_inout[i] += (uint8_t)(codes[i] * radix);
}

#endif
