/* How the binned rows, a round's gradients and a node's histogram lie in memory.

   A round's gradients and hessians are integers (docs/design.md, section 4), so sums of them do
   not depend on the order, and the histogram of a leaf minus that of a child is exactly that of
   the other child: histogram subtraction. LightGBM's quantized training (Shi et al., NeurIPS
   2022) packs gradient and hessian in the same way, but rounds them at random to few bits.

   A record is the 64-bit integer that stands for a row of a leaf. In a packed round it is

       gradient | hessian | row number        (hessian: no bits if it is constant)

   and becomes, by two shifts, the addend

       gradient | hessian | count

   of one 64-bit addition for each bin. `capacity` addends can be summed before a field may
   overflow into the next one; then the accumulators are spilled into a histogram of separate
   sums. If a round has no more rows than that, it is `compact`: histograms stay packed, in
   `Histogram.gradient`, and a bin costs a third of the work.
   In a wide round a record is the row number alone, and the integers lie in an array of pairs.
   An accumulator has four integers (`width`): gradient, hessian, count and 0.
   Formats depend on the rows of all processes (`n_global` of `n_global_rows`, and their
   frequency weights), so that the sums of processes can be added.
   A row with a frequency weight of f counts as f rows: its integers are f times those of one.
   The fields need more bits then, so the capacity is smaller.

   A histogram has a histogram bin for each stored bin of each feature: all bins but the default
   one, whose sums are those of the node minus those of the other bins. A row reaches its
   histogram bins in three ways:
   - Its lanes are bytes, accumulated by lane. A lane holds one group of features or several,
     as digits of a number: the code of group g is multiplied by `radix[g]`. A group's codes are
     the bins of one feature, or 0 and the stored bins of features that exclude each other (a
     bundle). Pieces say where runs of codes go in a histogram.
   - Its shorts are bins of two bytes, of features with too many bins for one; `short_hist_bin`
     has the histogram bins of their bin 0.
   - Its entries are numbers of histogram bins themselves, of sparse features.
   Shorts and entries are accumulated by histogram bin.
   `occupied` is a bitset of the histogram bins that contain rows, kept only where few of many
   do; NULL: it is not kept. */
#ifndef SKGOSS_LAYOUT_H
#define SKGOSS_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define LANE_CODES 256

/* Integers of an accumulator of a wide round, which is one vector. */
#define WIDE_WIDTH 4

typedef struct {
    int64_t hist_bin;
    int32_t code;
    int32_t length;
} Piece;

typedef struct {
    ptrdiff_t n_rows;
    int n_features;
    const int32_t *n_bins;
    const int32_t *missing_bin;
    const int32_t *default_bin;
    const uint8_t *categorical;
    const int32_t *singles;
    const int64_t *offset;
    const int32_t *feature_of_hist_bin;
    int64_t n_hist_bins;
    int64_t n_visits;
    int64_t hist_bin_capacity;

    const uint8_t *rows;
    ptrdiff_t row_bytes;
    int n_lanes;
    int n_groups;
    ptrdiff_t lane_stride;
    const int32_t *lane_start;
    const int32_t *lane_groups;
    const int32_t *radix;
    const int32_t *n_codes;
    const int64_t *piece_start;
    const Piece *pieces;
    const int32_t *hist_bin_of_code;

    const uint16_t *shorts;
    int n_shorts;
    const int64_t *short_hist_bin;
    const int64_t *entry_start;
    const uint32_t *entries;
    const Piece *hist_bin_pieces;
    int n_hist_bin_pieces;
    int64_t hist_bin_sums;
    ptrdiff_t sums_size;
    double row_updates;
    const uint32_t *position;
} Binned;

typedef struct {
    const float *gradient;
    const float *hessian;
    const double *weight;
    const uint32_t *frequency;
    const uint32_t *ids;
    const uint32_t *sampled;
    ptrdiff_t n;
    ptrdiff_t n_rows;
    int64_t n_global;
    int64_t n_global_rows;
    int64_t total_frequency;
    int64_t max_frequency;
} Gradients;

typedef struct {
    int packed;
    int compact;
    int constant_hessian;
    int width;
    int record_gradient_shift;
    int addend_gradient_shift;
    int record_hessian_shift;
    int count_bits;
    uint64_t hessian_mask;
    uint64_t id_mask;
    ptrdiff_t capacity;
    double gradient_unit;
    double hessian_unit;
} Encoding;

typedef struct {
    int64_t *gradient;
    int64_t *hessian;
    int32_t *count;
    uint64_t *occupied;
} Histogram;

typedef struct {
    int64_t gradient;
    int64_t hessian;
    int64_t count;
} Sums;

#endif
