/* The search for the best split of one feature in one node.

   Gains and leaf outputs follow LightGBM (and Chen and Guestrin, XGBoost, KDD 2016, eq. 7):
   T(G) = sign(G) max(0, |G| - l1); w = -T(G) / (H + l2), clipped and smoothed when asked;
   gain of a leaf = T(G)^2 / (H + l2), or -(2 T(G) w + (H + l2) w^2) for another w. */
#ifndef SKGOSS_SPLIT_H
#define SKGOSS_SPLIT_H

#include <math.h>
#include <string.h>

#include "layout.h"
#include "simd.h"

#define HESSIAN_EPSILON 1e-15

/* Cuts come in whole vectors; those that fill up the last one have a count that no rows
   of missing values make acceptable. */
#define SPLIT_LANES 8
#define SCRATCH_ROOM 16
#define NO_CUT INT32_MIN

typedef struct {
    double gradient_unit;
    double hessian_unit;
    double l1;
    double l2;
    double max_delta_step; /* infinite: no limit */
    double path_smooth;    /* 0: none */
    double min_hessian;
    double min_gain;
    int64_t min_count;
} SplitRules;

typedef struct {
    double gain; /* above the parent's; 0: no split */
    int32_t feature;
    int32_t bin; /* bins up to this one go left */
    int32_t missing_left;
} Split;

/* What a feature's search knows of its node. */
typedef struct {
    Sums sums;
    double output;
    double gain;
} NodeStats;

static SIMD_INLINE double soft_threshold(double gradient, double l1)
{
    double magnitude = (gradient < 0 ? -gradient : gradient) - l1;
    magnitude = magnitude > 0 ? magnitude : 0;
    return gradient < 0 ? -magnitude : magnitude;
}

static SIMD_INLINE double leaf_output(double gradient, double hessian, double count,
                                      double parent_output, const SplitRules *rules)
{
    double w = -soft_threshold(gradient, rules->l1) / (hessian + rules->l2);
    w = w > rules->max_delta_step ? rules->max_delta_step : w;
    w = w < -rules->max_delta_step ? -rules->max_delta_step : w;
    if (rules->path_smooth > 0) {
        double share = count / rules->path_smooth;
        w = w * (share / (share + 1)) + parent_output / (share + 1);
    }
    return w;
}

static SIMD_INLINE double output_gain(double gradient, double hessian, double output,
                                      const SplitRules *rules)
{
    return -(2 * soft_threshold(gradient, rules->l1) * output
             + (hessian + rules->l2) * output * output);
}

static SIMD_INLINE int plain_output(const SplitRules *rules)
{
    return isinf(rules->max_delta_step) && rules->path_smooth == 0;
}

static inline NodeStats node_stats(Sums sums, double parent_output, const SplitRules *rules)
{
    NodeStats node;
    double g = (double)sums.gradient * rules->gradient_unit;
    double h = (double)sums.hessian * rules->hessian_unit + HESSIAN_EPSILON;
    node.sums = sums;
    node.output = leaf_output(g, h, (double)sums.count, parent_output, rules);
    node.gain = output_gain(g, h, node.output, rules);
    return node;
}

static inline int occupied_plain(const int32_t *count, int first, int last,
                                 int32_t *bin_out)
{
    int n = 0;
    for (int b = first; b < last; b++) {
        bin_out[n] = b;
        n += count[b] != 0;
    }
    return n;
}

#ifdef SIMD_FOR_AVX512
#include <immintrin.h>

/* Stores whole vectors: up to 15 numbers more than it returns. */
SIMD_FOR_AVX512 static int occupied_avx512(const int32_t *count, int first, int last,
                                           int32_t *bin_out)
{
    __m512i bin = _mm512_add_epi32(
        _mm512_set1_epi32(first),
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    int n = 0;
    for (int b = first; b < last; b += 16) {
        __mmask16 inside = last - b < 16 ? (__mmask16)((1u << (last - b)) - 1) : 0xffff;
        __m512i c = _mm512_maskz_loadu_epi32(inside, count + b);
        __mmask16 holds = _mm512_test_epi32_mask(c, c);
        _mm512_storeu_si512(bin_out + n, _mm512_maskz_compress_epi32(holds, bin));
        bin = _mm512_add_epi32(bin, _mm512_set1_epi32(16));
        n += __builtin_popcount(holds);
    }
    return n;
}
#endif

/* Numbers of the bins in [first, last) that hold rows. */
static inline int occupied(const int32_t *count, int first, int last, int32_t *bin_out)
{
#ifdef SIMD_FOR_AVX512
    if (simd_level == SIMD_AVX512)
        return occupied_avx512(count, first, last, bin_out);
#endif
    return occupied_plain(count, first, last, bin_out);
}

/* Sums up to each cut, which lies behind a bin that holds rows; the number of cuts.
   The missing bin, wherever it is, and the last bin end no cut. */
static SIMD_INLINE int cumulate(const int64_t *gradient, const int64_t *hessian,
                                const int32_t *count, int n_bins, int missing_bin,
                                double *gradient_out, double *hessian_out,
                                int32_t *count_out, int32_t *bin_out)
{
    int64_t g = 0, h = 0;
    int32_t c = 0;
    int middle = missing_bin >= 0 ? missing_bin : n_bins - 1;
    int n = occupied(count, 0, middle, bin_out);
    n += occupied(count, middle + 1, n_bins - 1, bin_out + n);
    for (int i = 0; i < n; i++) {
        int b = bin_out[i];
        g += gradient[b];
        h += hessian[b];
        c += count[b];
        gradient_out[i] = (double)g;
        hessian_out[i] = (double)h;
        count_out[i] = c;
    }
    bin_out[n] = n_bins - 1;
    for (int i = n; i < n + SPLIT_LANES - 1; i++) {
        gradient_out[i] = hessian_out[i] = 0;
        count_out[i] = NO_CUT;
    }
    return n;
}

/* A cut's gain above `needed` when `extra` rows join the left side; -1: not allowed. */
static SIMD_INLINE double cut_gain(double gl, double hl, double cl, Sums extra,
                                   const NodeStats *node, double needed, int plain,
                                   const SplitRules *rules)
{
    const double gu = rules->gradient_unit, hu = rules->hessian_unit;
    const double l1 = rules->l1, l2 = rules->l2, min_count = (double)rules->min_count;
    double gain, gr, hr, cr;
    gl += (double)extra.gradient;
    hl += (double)extra.hessian;
    cl += (double)extra.count;
    gr = ((double)node->sums.gradient - gl) * gu;
    hr = ((double)node->sums.hessian - hl) * hu;
    cr = (double)node->sums.count - cl;
    gl *= gu;
    hl *= hu;
    if (plain) {
        double tl = soft_threshold(gl, l1), tr = soft_threshold(gr, l1);
        double dl = hl + l2 + HESSIAN_EPSILON, dr = hr + l2 + HESSIAN_EPSILON;
        gain = (tl * tl * dr + tr * tr * dl) / (dl * dr);
    } else {
        double wl = leaf_output(gl, hl + HESSIAN_EPSILON, cl, node->output, rules);
        double wr = leaf_output(gr, hr + HESSIAN_EPSILON, cr, node->output, rules);
        gain = output_gain(gl, hl + HESSIAN_EPSILON, wl, rules)
               + output_gain(gr, hr + HESSIAN_EPSILON, wr, rules);
    }
    gain -= needed;
    int allowed = (cl >= min_count) & (cr >= min_count) & (hl >= rules->min_hessian)
                  & (hr >= rules->min_hessian) & (hl + l2 > -HESSIAN_EPSILON)
                  & (hr + l2 > -HESSIAN_EPSILON) & (gain > 0);
    return allowed ? gain : -1.0;
}

/* The gains of all cuts; returns the largest, 0 if none is allowed. Positive doubles are
   ordered as their bits are, and integers have a vector maximum. */
static SIMD_INLINE double cut_gains(const double *gradient, const double *hessian,
                                    const int32_t *count, int n, Sums extra,
                                    const NodeStats *node, double needed, int plain,
                                    const SplitRules *rules, double *restrict gain_out)
{
    int64_t top = 0;
    double value;
    n = (n + SPLIT_LANES - 1) & -SPLIT_LANES;
    for (int i = 0; i < n; i++)
        gain_out[i] = cut_gain(gradient[i], hessian[i], (double)count[i], extra, node,
                               needed, plain, rules);
    for (int i = 0; i < n; i++) {
        int64_t bits;
        memcpy(&bits, gain_out + i, sizeof bits);
        top = bits > top ? bits : top;
    }
    memcpy(&value, &top, sizeof value);
    return value;
}

/* Leaves of n cuts the one that parts the rows as a cut after bin `cut` does. */
static inline int keep_cut(int cut, int n, double *gradient, double *hessian,
                           int32_t *count, int32_t *bin)
{
    int i = 0;
    while (i < n && bin[i] <= cut)
        i++;
    if (i == 0)
        return 0;
    gradient[0] = gradient[i - 1];
    hessian[0] = hessian[i - 1];
    count[0] = count[i - 1];
    bin[0] = cut;
    bin[1] = cut + 1;
    for (int k = 1; k < SPLIT_LANES; k++)
        count[k] = NO_CUT;
    return 1;
}

/* Improves *best_out by the best cut of one feature. Equal gains: missing values left
   first, then the larger threshold there and the smaller one otherwise (LightGBM's order).
   `cut`: -1, or the only bin after which to cut. `scratch`: 4 (n_bins + SCRATCH_ROOM) doubles. */
static SIMD_INLINE void search_feature_body(const int64_t *gradient, const int64_t *hessian,
                                            const int32_t *count, int n_bins,
                                            int missing_bin, int feature, int cut,
                                            const NodeStats *node, const SplitRules *rules,
                                            double *scratch, Split *best_out)
{
    int size = n_bins + SCRATCH_ROOM;
    double *g = scratch, *h = g + size, *gain = h + size;
    int32_t *bin = (int32_t *)(gain + size), *c = bin + size;
    Sums none = {0, 0, 0}, missing = none;
    SplitRules local = *rules;
    double needed = node->gain + local.min_gain;
    int plain = plain_output(rules);
    int n = cumulate(gradient, hessian, count, n_bins, missing_bin, g, h, c, bin);
    if (missing_bin >= 0) {
        missing.gradient = gradient[missing_bin];
        missing.hessian = hessian[missing_bin];
        missing.count = count[missing_bin];
    }
    if (cut >= 0)
        n = keep_cut(cut, n, g, h, c, bin);
    for (int left = 1; left >= (missing.count ? 0 : 1); left--) {
        Sums extra = left ? missing : none;
        double top = plain ? cut_gains(g, h, c, n, extra, node, needed, 1, &local, gain)
                           : cut_gains(g, h, c, n, extra, node, needed, 0, &local, gain);
        if (top <= 0 || top + local.min_gain <= best_out->gain)
            continue;
        int i = left ? n - 1 : 0;
        while (gain[i] != top)
            i += left ? -1 : 1;
        best_out->gain = top + local.min_gain;
        best_out->feature = feature;
        best_out->bin = left ? bin[i + 1] - 1 : bin[i];
        best_out->missing_left = left;
    }
}
SIMD_KERNEL(search_feature,
            (const int64_t *gradient, const int64_t *hessian, const int32_t *count,
             int n_bins, int missing_bin, int feature, int cut, const NodeStats *node,
             const SplitRules *rules, double *scratch, Split *best_out),
            (gradient, hessian, count, n_bins, missing_bin, feature, cut, node, rules,
             scratch, best_out))

#endif
