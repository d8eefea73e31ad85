/* The formulas of all split searches: outputs of leaves, gains and limits.

   Gains and leaf outputs follow LightGBM (and Chen and Guestrin, XGBoost, KDD 2016, eq. 7):
   T(G) = sign(G) max(0, |G| - l1); w = -T(G) / (H + l2), clipped and smoothed when asked;
   gain of a leaf = T(G)^2 / (H + l2), or -(2 T(G) w + (H + l2) w^2) for another w. */
#ifndef SKGOSS_GAINS_H
#define SKGOSS_GAINS_H

#include <math.h>

#include "bits.h"
#include "fixed_point.h"
#include "layout.h"
#include "simd.h"

#define HESSIAN_EPSILON 1e-15

/* A gain that is a smaller share of the node's own is what rounding leaves of none. */
#define MIN_RELATIVE_GAIN 1e-12

/* Doubles that a search needs for each bin, and SCRATCH_PADDING more: four for the cuts, three
   for the bins where one is the default bin. */
#define SCRATCH_PADDING 16
#define SCRATCH_CUTS 4
#define SCRATCH_ARRAYS 7
/* And four more where outputs are bounded, from SCRATCH_ARRAYS on. */
#define SCRATCH_BOUNDED 11

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
    int limits_hessians; /* of children: see curvature */
    double cat_smooth; /* of categories: added to their hessians when they are ranked */
    double cat_l2;
    int max_cat_threshold;
    int max_cat_to_onehot;
    int64_t min_data_per_group;
    int bounded; /* whether outputs have bounds, by MonotoneBounds */
} SplitRules;

/* `missing_left` of a split of numbers whose node has no missing values: where they go is
   decided when the node is divided. */
#define NONE_MISSING 2

typedef struct {
    double gain; /* above the parent's; 0: no split */
    int32_t feature;
    int32_t bin;          /* bins up to this one go left */
    int32_t missing_left; /* 0, 1 or NONE_MISSING */
} Split;

/* What a feature's search knows of its node. */
typedef struct {
    Sums sums;
    double output;
    double gain;
    double lower; /* bounds of the output, and of those of all nodes below */
    double upper;
    double min_child_hessian; /* of a child */
} NodeStats;

/* The bins of a feature that a leaf and a neighbor of it share; see MonotoneBounds. */
typedef struct {
    int32_t first;
    int32_t last;
    int32_t missing;
} BinRange;

/* A neighbor that bounds one side of some cuts of a feature only: the sides that share
   bins with it. */
typedef struct {
    BinRange shared;
    int32_t is_above; /* whether it bounds from above */
    double value;
} PartialBound;

/* What bounds the children of a node if one feature is split. */
typedef struct {
    double lower; /* whatever the cut */
    double upper;
    PartialBound *partial;
    int n;
} FeatureBounds;

/* Monotone features, and the neighbors that bound the outputs of one node. */
typedef struct {
    const int8_t *sign;    /* by feature: 1 rising, -1 falling, 0 free */
    const int32_t *row_of; /* by feature: its row; -1, or NULL: the node's bounds are those
                              of its children, too */
    FeatureBounds *rows;
} MonotoneBounds;

/* The features of one node's search. */
typedef struct {
    const int32_t *features;
    const uint8_t *searched; /* by feature: whether it is */
    uint8_t *splittable_out; /* by feature: 0 where no cut gains anything; NULL: not asked */
    const int32_t *cut;      /* by feature: the only bin to cut after; NULL: all cuts */
    const double *factor;    /* by feature: of the gains; NULL: ones */
    const MonotoneBounds *monotone; /* in FORM_BOUNDED */
    int n;
    int consecutive; /* whether the next feature in the list is the next one of all */
} FeatureSet;

static SIMD_INLINE double gain_factor(const FeatureSet *set, int feature)
{
    return set->factor ? set->factor[feature] : 1.0;
}

/* T(G) = sign(G) max(0, |G| - l1): the proximal operator of the lasso. */
static SIMD_INLINE double soft_threshold(double gradient, double l1)
{
    double magnitude = (gradient < 0 ? -gradient : gradient) - l1;
    magnitude = magnitude > 0 ? magnitude : 0;
    return gradient < 0 ? -magnitude : magnitude;
}

/* The Newton step -T(G) / (H + l2), clipped, and pulled toward the parent's output by
   path_smooth. Not yet times the learning rate. */
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

/* Twice what an output takes from the second-order loss of a leaf. */
static SIMD_INLINE double output_gain(double gradient, double hessian, double output,
                                      const SplitRules *rules)
{
    return -(2 * soft_threshold(gradient, rules->l1) * output
             + (hessian + rules->l2) * output * output);
}

static SIMD_INLINE double clamp(double x, double lower, double upper)
{
    x = x < lower ? lower : x;
    return x > upper ? upper : x;
}

/* log(1 + x) from below, within 4 %, for x >= 0. It grows with x to the last bit, and is the
   same on every machine, as functions of the C library are not: between two powers of two
   log m >= 2 - 4 / (m + 1), and log m is above its chord, which leads to the next power
   without a jump. So rounding changes little, such as that of outputs of -1, which leaves have
   whose counts are all 0. */
static inline double log1p_from_below(double x)
{
    const double ln2 = 0.69314718055994529, slope = 0.693147180; /* slope: below ln2 */
    int exponent;
    if (x <= 0x1p-10)
        return x * (1 - 0x1p-11);
    double m = 2 * frexp(1 + x, &exponent);
    double curve = 2 - 4 / (m + 1), chord = slope * (m - 1);
    return (exponent - 1) * ln2 + (curve > chord ? curve : chord);
}

/* What a leaf adds to the scores: its output times the learning rate, but no more than what
   cannot make the loss climb. Let |L'''| <= c L'' (generalized self-concordance: F. Bach,
   "Self-concordant analysis for logistic regression", Electronic Journal of Statistics 4,
   2010, lemma 1). Then a step s changes the loss of a leaf by no more than
   G s + H (exp(c |s|) - c |s| - 1) / c^2, which falls up to |s| = log(1 + c |G| / H) / c.
   c = 0: no limit. */
static inline double leaf_step(double output, double learning_rate, double self_concordance)
{
    double step = learning_rate * output;
    if (self_concordance > 0) {
        double most = log1p_from_below(self_concordance * fabs(output)) / self_concordance;
        step = fabs(step) <= most ? step : copysign(most, output);
    }
    return step;
}

/* How much of the formulas the options need; each form has its own loop. */
enum { FORM_RIDGE, FORM_ELASTIC, FORM_GENERAL, FORM_BOUNDED };

static inline int gain_form(const SplitRules *rules)
{
    if (rules->bounded)
        return FORM_BOUNDED;
    if (!isinf(rules->max_delta_step) || rules->path_smooth > 0)
        return FORM_GENERAL;
    return rules->l1 > 0 ? FORM_ELASTIC : FORM_RIDGE;
}

/* The hessian of ``rows`` average rows of a node, less half a row for rounding. Limits on rows
   are limits on it, too: rows of tiny hessians say little, and leaves of nothing else would
   let training run away. LightGBM's counts, which it estimates by hessians, do the same.
   One row is no limit: then weights mean copies. Nor are hessians that are equal, apart from
   weights, or those of least squares, whose steps are means of errors. */
static inline double hessian_of_rows(double rows, Sums node, const SplitRules *rules)
{
    double average = (double)node.hessian * rules->hessian_unit / (double)node.count;
    return rules->limits_hessians && rows > 1 ? (rows - 0.5) * average : 0;
}

/* The least hessian of a child that must have ``rows`` rows. */
static inline double min_child_hessian(double rows, Sums node, const SplitRules *rules)
{
    double least = hessian_of_rows(rows, node, rules);
    return least > rules->min_hessian ? least : rules->min_hessian;
}

/* What searches ask of a node. */
static inline NodeStats node_stats(Sums sums, double parent_output, double lower,
                                   double upper, const SplitRules *rules)
{
    NodeStats node;
    double g = (double)sums.gradient * rules->gradient_unit;
    double h = (double)sums.hessian * rules->hessian_unit + HESSIAN_EPSILON;
    node.sums = sums;
    node.lower = lower;
    node.upper = upper;
    node.output = clamp(leaf_output(g, h, (double)sums.count, parent_output, rules), lower,
                        upper);
    node.gain = output_gain(g, h, node.output, rules);
    node.min_child_hessian = min_child_hessian((double)rules->min_count, sums, rules);
    return node;
}

/* Where the bins of one feature in one node lie. */
typedef struct {
    const int64_t *gradient; /* packed sums in a compact round */
    const int64_t *hessian;
    const int32_t *count;
    int n_bins;
    int missing_bin;
    const uint64_t *occupied; /* see Histogram; bin b is at bit first_bit + b */
    int64_t first_bit;
} Bins;

/* Copies the sums of stored bins and puts what they leave of `total` where the default bin
   belongs. */
#define WITH_DEFAULT(name, type)                                                         \
    static SIMD_INLINE void name(const type *stored, int n_bins, int default_bin,        \
                                 type total, type *sum_out)                              \
    {                                                                                    \
        for (int b = 0; b < default_bin; b++)                                            \
            total -= sum_out[b] = stored[b];                                             \
        for (int b = default_bin + 1; b < n_bins; b++)                                   \
            total -= sum_out[b] = stored[b - 1];                                         \
        sum_out[default_bin] = total;                                                    \
    }
WITH_DEFAULT(longs_with_default, int64_t)
WITH_DEFAULT(ints_with_default, int32_t)

/* The bins of a feature. `buffer`: 3 n_bins integers, where the sums are put if one bin has
   no sums of its own in a histogram and is what the others leave of `node`. */
static SIMD_INLINE Bins feature_bins(const Binned *data, const Histogram *histogram,
                                     int feature, const Sums *node, const Encoding *encoding,
                                     int64_t *buffer)
{
    int64_t at = data->offset[feature];
    int n = data->n_bins[feature], default_bin = data->default_bin[feature];
    Bins bins = {histogram->gradient + at, histogram->hessian + at, histogram->count + at,
                 n, data->missing_bin[feature], histogram->occupied, at};
    if (default_bin < 0)
        return bins;
    longs_with_default(bins.gradient, n, default_bin,
                       encoding->compact ? pack(*node, encoding) : node->gradient, buffer);
    if (!encoding->compact) {
        longs_with_default(bins.hessian, n, default_bin, node->hessian, buffer + n);
        ints_with_default(bins.count, n, default_bin, (int32_t)node->count,
                          (int32_t *)(buffer + 2 * n));
    }
    bins.occupied = NULL;
    bins.gradient = buffer;
    bins.hessian = buffer + n;
    bins.count = (int32_t *)(buffer + 2 * n);
    return bins;
}

/* Numbers of the bins in [first, last) that hold rows, 64 bins at a time. */
static SIMD_INLINE int bins_in_set(const Bins *bins, int first, int last, int32_t *bin_out)
{
    int64_t at = bins->first_bit + first, end = bins->first_bit + last;
    int n = 0;
    while (at < end) {
        uint64_t bits = bins->occupied[at / 64] >> (at % 64);
        if (bits == 0) {
            at = (at / 64 + 1) * 64;
            continue;
        }
        at += lowest_bit(bits);
        if (at < end)
            bin_out[n++] = (int32_t)(at - bins->first_bit);
        at++;
    }
    return n;
}

static SIMD_INLINE Sums bin_sums(const Bins *bins, int b, const Encoding *encoding)
{
    if (encoding->compact)
        return unpack(bins->gradient[b], encoding);
    Sums sums = {bins->gradient[b], bins->hessian[b], bins->count[b]};
    return sums;
}

/* The bounds of both outputs of a cut. */
typedef struct {
    double left_lower;
    double left_upper;
    double right_lower;
    double right_upper;
    double sign; /* of the difference that the outputs may have, right minus left */
} Limits;

/* The gain of two sides with bounded outputs; whether they may be separated: in the right
   order, and not equal, which rounding could make look like a gain. */
static SIMD_INLINE double bounded_gain(double gl, double hl, double cl, double gr, double hr,
                                       double cr, double parent_output, Limits limits,
                                       const SplitRules *rules, int *allowed_out)
{
    double wl = clamp(leaf_output(gl, hl, cl, parent_output, rules), limits.left_lower,
                      limits.left_upper);
    double wr = clamp(leaf_output(gr, hr, cr, parent_output, rules), limits.right_lower,
                      limits.right_upper);
    *allowed_out = (limits.sign * (wr - wl) >= 0) & (wl != wr);
    return output_gain(gl, hl, wl, rules) + output_gain(gr, hr, wr, rules);
}

/* A cut's gain above `needed` when `extra` rows join the left side; -1: not allowed.
   `limits` are those of FORM_BOUNDED. */
static SIMD_INLINE double cut_gain(double gl, double hl, double cl, Sums extra,
                                   const NodeStats *node, double needed, Limits limits,
                                   int form, const SplitRules *rules)
{
    const double gu = rules->gradient_unit, hu = rules->hessian_unit;
    const double l1 = rules->l1, l2 = rules->l2, min_count = (double)rules->min_count;
    const double least = node->min_child_hessian, noise = MIN_RELATIVE_GAIN * fabs(node->gain);
    double gain, gr, hr, cr;
    int in_order = 1;
    gl += (double)extra.gradient;
    hl += (double)extra.hessian;
    cl += (double)extra.count;
    gr = ((double)node->sums.gradient - gl) * gu;
    hr = ((double)node->sums.hessian - hl) * hu;
    cr = (double)node->sums.count - cl;
    gl *= gu;
    hl *= hu;
    if (form == FORM_RIDGE || form == FORM_ELASTIC) {
        double tl = form == FORM_RIDGE ? gl : soft_threshold(gl, l1);
        double tr = form == FORM_RIDGE ? gr : soft_threshold(gr, l1);
        double dl = hl + l2 + HESSIAN_EPSILON, dr = hr + l2 + HESSIAN_EPSILON;
        gain = (tl * tl * dr + tr * tr * dl) / (dl * dr);
    } else if (form == FORM_BOUNDED) {
        gain = bounded_gain(gl, hl + HESSIAN_EPSILON, cl, gr, hr + HESSIAN_EPSILON, cr,
                            node->output, limits, rules, &in_order);
    } else {
        double wl = leaf_output(gl, hl + HESSIAN_EPSILON, cl, node->output, rules);
        double wr = leaf_output(gr, hr + HESSIAN_EPSILON, cr, node->output, rules);
        gain = output_gain(gl, hl + HESSIAN_EPSILON, wl, rules)
               + output_gain(gr, hr + HESSIAN_EPSILON, wr, rules);
    }
    gain -= needed;
    int allowed = (cl >= min_count) & (cr >= min_count) & (hl >= least) & (hr >= least)
                  & (gain > noise) & in_order;
    return allowed ? gain : -1.0;
}

/* Whether a split of `feature` comes before the best one so far: of equals the first
   feature's does, and of one feature's the one that was found first. */
static SIMD_INLINE int improves(double gain, int feature, const Split *best)
{
    return gain > best->gain || (gain == best->gain && feature < best->feature);
}

static SIMD_INLINE void improve(double gain, int feature, int bin, int missing_left,
                                const SplitRules *rules, Split *best_out)
{
    if (gain <= 0 || !improves(gain + rules->min_gain, feature, best_out))
        return;
    best_out->gain = gain + rules->min_gain;
    best_out->feature = feature;
    best_out->bin = bin;
    best_out->missing_left = missing_left;
}

#endif
