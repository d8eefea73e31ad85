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

/* The sums of the non-empty bins up to each cut; returns the number of cuts. */
static SIMD_INLINE int cumulate(const int64_t *gradient, const int64_t *hessian,
                                const int32_t *count, int n_bins, int missing_bin,
                                double *gradient_out, double *hessian_out,
                                double *count_out, int32_t *bin_out)
{
    int64_t g = 0, h = 0, c = 0;
    int n = 0;
    for (int b = 0; b < n_bins - 1; b++) {
        int64_t present = b != missing_bin;
        g += -present & gradient[b];
        h += -present & hessian[b];
        c += -present & count[b];
        gradient_out[n] = (double)g;
        hessian_out[n] = (double)h;
        count_out[n] = (double)c;
        bin_out[n] = b;
        n += present & (count[b] != 0);
    }
    bin_out[n] = n_bins - 1;
    return n;
}

/* Gains above `needed` of all cuts when `extra` rows join the left side; -1: no split. */
static SIMD_INLINE void cut_gains(const double *gradient, const double *hessian,
                                  const double *count, int n, Sums extra, Sums total,
                                  double needed, double parent_output, int plain,
                                  const SplitRules *rules, double *gain_out)
{
    const double gu = rules->gradient_unit, hu = rules->hessian_unit;
    const double extra_g = (double)extra.gradient, extra_h = (double)extra.hessian;
    const double extra_c = (double)extra.count, min_count = (double)rules->min_count;
    const double total_g = (double)total.gradient, total_h = (double)total.hessian;
    const double total_c = (double)total.count, min_hessian = rules->min_hessian;
    const double l1 = rules->l1, l2 = rules->l2;
    for (int i = 0; i < n; i++) {
        double cl = count[i] + extra_c, cr = total_c - cl;
        double gl = (gradient[i] + extra_g), gr = (total_g - gl) * gu;
        double hl = (hessian[i] + extra_h), hr = (total_h - hl) * hu;
        double gain;
        gl *= gu;
        hl *= hu;
        if (plain) {
            double tl = soft_threshold(gl, l1), tr = soft_threshold(gr, l1);
            double dl = hl + l2 + HESSIAN_EPSILON, dr = hr + l2 + HESSIAN_EPSILON;
            gain = (tl * tl * dr + tr * tr * dl) / (dl * dr) - needed;
        } else {
            double wl = leaf_output(gl, hl + HESSIAN_EPSILON, cl, parent_output, rules);
            double wr = leaf_output(gr, hr + HESSIAN_EPSILON, cr, parent_output, rules);
            gain = output_gain(gl, hl + HESSIAN_EPSILON, wl, rules)
                   + output_gain(gr, hr + HESSIAN_EPSILON, wr, rules) - needed;
        }
        int allowed = (cl >= min_count) & (cr >= min_count) & (hl >= min_hessian)
                      & (hr >= min_hessian) & (hl + l2 > -HESSIAN_EPSILON)
                      & (hr + l2 > -HESSIAN_EPSILON) & (gain > 0);
        gain_out[i] = allowed ? gain : -1.0;
    }
}

/* Positive doubles are ordered as their bits are, and integers have a vector maximum. */
static SIMD_INLINE double largest(const double *gain, int n)
{
    int64_t best = 0;
    double value;
    for (int i = 0; i < n; i++) {
        int64_t bits;
        memcpy(&bits, gain + i, sizeof bits);
        best = bits > best ? bits : best;
    }
    memcpy(&value, &best, sizeof value);
    return value;
}

/* Improves *best_out by the best cut of one feature. Equal gains: missing values left
   first, then the larger threshold there and the smaller one otherwise (LightGBM's order).
   `cut`: -1, or the only bin after which to cut. `scratch`: 5 n_bins doubles. */
static SIMD_INLINE void search_feature_body(const int64_t *gradient, const int64_t *hessian,
                                            const int32_t *count, int n_bins,
                                            int missing_bin, int feature, int cut,
                                            const NodeStats *node, const SplitRules *rules,
                                            double *scratch, Split *best_out)
{
    double *g = scratch, *h = g + n_bins, *c = h + n_bins, *gain = c + n_bins;
    int32_t *bin = (int32_t *)(gain + n_bins);
    Sums none = {0, 0, 0}, missing = none;
    double needed = node->gain + rules->min_gain;
    int plain = plain_output(rules), first = 0;
    int n = cumulate(gradient, hessian, count, n_bins, missing_bin, g, h, c, bin);
    if (missing_bin >= 0) {
        missing.gradient = gradient[missing_bin];
        missing.hessian = hessian[missing_bin];
        missing.count = count[missing_bin];
    }
    if (cut >= 0) {
        while (first < n && bin[first] <= cut)
            first++;
        n = first;
        first = n > 0 ? n - 1 : 0;
    }
    for (int left = 1; left >= (missing.count ? 0 : 1); left--) {
        Sums extra = left ? missing : none;
        if (plain)
            cut_gains(g, h, c, n, extra, node->sums, needed, node->output, 1, rules, gain);
        else
            cut_gains(g, h, c, n, extra, node->sums, needed, node->output, 0, rules, gain);
        double top = largest(gain + first, n - first);
        if (top <= 0 || top + rules->min_gain <= best_out->gain)
            continue;
        int i = left ? n - 1 : first;
        while (gain[i] != top)
            i += left ? -1 : 1;
        best_out->gain = top + rules->min_gain;
        best_out->feature = feature;
        best_out->bin = cut >= 0 ? cut : left ? bin[i + 1] - 1 : bin[i];
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
