/* How the binned rows, a round's gradients and a node's histogram lie in memory.

   A round's gradients and hessians are integers (docs/design.md, section 4). Rows of a node
   are 64-bit words. In a packed round a word is

       gradient | hessian | row id            (hessian: no bits when it is constant)

   and becomes, by two shifts, the addend

       gradient lane | hessian lane | count lane

   of one 64-bit addition a bin. `block_rows` words can be added before a lane may overflow
   into its neighbour; then the accumulators are spilled into a histogram of separate sums.
   Where all rows fit in one block the round is `compact`: histograms stay packed, in
   `Histogram.gradient`, and a bin costs a third of the work.
   A row's bins lie in lanes. Features of few bins share one, as digits of a number: feature
   f's bin counts `radix[f]`. Accumulators are kept by lane, and the features' sums folded
   out of them.

   In a wide round a word is the row id alone and the integers lie in an array of pairs. */
#ifndef SKGOSS_LAYOUT_H
#define SKGOSS_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *rows;
    const uint8_t *columns;
    ptrdiff_t row_bytes;
    ptrdiff_t n_rows;
    int n_features;
    int bin_bytes;
    int n_lanes;
    ptrdiff_t lane_stride;
    ptrdiff_t sums_size;
    const int32_t *lane_start;
    const int32_t *lane_features;
    const int32_t *radix;
    const int32_t *n_bins;
    const int32_t *missing_bin;
    const int64_t *offset;
    const int64_t *lane_offset;
} Binned;

typedef struct {
    int packed;
    int compact;
    int constant_hessian;
    int gradient_down;
    int gradient_up;
    int hessian_down;
    int count_bits;
    uint64_t hessian_mask;
    uint64_t id_mask;
    ptrdiff_t block_rows;
    double gradient_unit;
    double hessian_unit;
} Encoding;

typedef struct {
    int64_t *gradient;
    int64_t *hessian;
    int32_t *count;
} Histogram;

typedef struct {
    int64_t gradient;
    int64_t hessian;
    int64_t count;
} Sums;

#endif
