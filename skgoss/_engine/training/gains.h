/* The formulas of all split searches: outputs of leaves, gains and limits.

   Gains and leaf outputs follow LightGBM (and Chen and Guestrin, XGBoost, KDD 2016, eq. 7):

       T(G) = sign(G) max(0, |G| - l1)
       output of a leaf: w = -T(G) / (H + l2), clipped and smoothed if the options say so
       gain of a leaf: T(G)^2 / (H + l2), or -(2 T(G) w + (H + l2) w^2) for another w */
#ifndef SKGOSS_GAINS_H
#define SKGOSS_GAINS_H

#include <math.h>

#include "bits.h"
#include "fixed_point.h"
#include "layout.h"
#include "simd.h"

#define HESSIAN_EPSILON 1e-15

/* A gain that is smaller, relative to the node's own, may be a rounding error. */
#define MIN_RELATIVE_GAIN 1e-12

/* The scratch memory of a search: arrays of n_bins + SCRATCH_PADDING doubles. The first ones, up
   to SCRATCH_CUTS, are for cuts, the next ones, up to SCRATCH_ARRAYS, for the bins of a feature
   with a default bin. Bounded outputs need four more, SCRATCH_BOUNDED in all. */
#define SCRATCH_PADDING 16
#define SCRATCH_CUTS 4
#define SCRATCH_ARRAYS 7
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
    int limits_hessians; /* of children: see hessian_of_rows */
    double cat_smooth; /* added to the hessians of categories when they are ranked */
    double cat_l2;
    int max_cat_threshold;
    int max_cat_to_onehot;
    int64_t min_data_per_group;
    int bounded; /* whether outputs have bounds, by MonotoneBounds */
} SplitRules;

/* The `missing_left` of a numeric split whose node has no missing values: where they go is decided
   when the node is divided. */
#define NONE_MISSING 2

typedef struct {
    double gain; /* minus the parent's; 0: no split */
    int32_t feature;
    int32_t bin;          /* bins up to this one go left */
    int32_t missing_left; /* 0, 1 or NONE_MISSING */
} Split;

/* The statistics of a node that the search of a feature uses. */
typedef struct {
    Sums sums;
    double output;
    double gain;
    double lower; /* bounds of the output, and of those of all nodes below */
    double upper;
    double min_child_hessian;
} NodeStats;

/* The bins of a feature that a leaf and a neighbor of it share; see MonotoneBounds. */
typedef struct {
    int32_t first;
    int32_t last;
    int32_t missing;
} BinRange;

/* A neighbor that bounds only the children that share bins with it. */
typedef struct {
    BinRange shared;
    int32_t is_above; /* whether it bounds from above */
    double value;
} PartialBound;

/* The bounds of the children of a node if one feature is split. */
typedef struct {
    double lower; /* at any cut */
    double upper;
    PartialBound *partial;
    int n;
} FeatureBounds;

/* Monotone features, and the neighbors that bound the outputs of one node. */
typedef struct {
    const int8_t *sign;    /* by feature: 1 rising, -1 falling, 0 free */
    /* By feature: its index in `bounds`; -1, or NULL: the node's bounds hold for its children. */
    const int32_t *bounds_index;
    FeatureBounds *bounds;
} MonotoneBounds;

/* The features of one node's search. */
typedef struct {
    const int32_t *features;
    const uint8_t *searched; /* a mask by feature */
    uint8_t *splittable_out; /* a mask by feature: is set to 0 if no cut has a gain; or NULL */
    const int32_t *cut;      /* by feature: the only bin to cut after; NULL: all cuts */
    const double *factor;    /* by feature: of the gains; NULL: ones */
    const MonotoneBounds *monotone; /* in FORM_BOUNDED */
    int n;
    int consecutive; /* whether the features are consecutive numbers */
} FeatureSet;

/* The factor of the gains of a feature. */
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
   path_smooth; before it is multiplied by the learning rate. */
static SIMD_INLINE double leaf_output(double gradient, double hessian, double count,
                                      double parent_output, const SplitRules *rules)
{
    double w = -soft_threshold(gradient, rules->l1) / (hessian + rules->l2);
    w = w > rules->max_delta_step ? rules->max_delta_step : w;
    w = w < -rules->max_delta_step ? -rules->max_delta_step : w;
    if (rules->path_smooth > 0) {
        double ratio = count / rules->path_smooth;
        w = w * (ratio / (ratio + 1)) + parent_output / (ratio + 1);
    }
    return w;
}

/* Twice the decrease of the second-order loss G w + (H + l2) w^2 / 2 of a leaf by an output w, with
   the soft threshold T(G) in place of G: gains of splits are in these units. */
static SIMD_INLINE double output_gain(double gradient, double hessian, double output,
                                      const SplitRules *rules)
{
    return -(2 * soft_threshold(gradient, rules->l1) * output
             + (hessian + rules->l2) * output * output);
}

/* x, limited to lower and upper. */
static SIMD_INLINE double clamp(double x, double lower, double upper)
{
    x = x < lower ? lower : x;
    return x > upper ? upper : x;
}

/* A lower bound of log(1 + x), at most 4% too small, for x >= 0. It never decreases as x grows,
   and is identical on every machine, unlike functions of the C library. Between two powers
   of two, log m >= 2 - 4 / (m + 1), and log m is above its chord, which leads to the next power
   without a jump. So rounding errors of x change little, such as those of outputs of -1, which
   leaves have whose counts are all 0. */
static inline double log1p_lower_bound(double x)
{
    const double ln2 = 0.69314718055994529, slope = 0.693147180; /* slope: below ln2 */
    int exponent;
    if (x <= 0x1p-10)
        return x * (1 - 0x1p-11);
    double m = 2 * frexp(1 + x, &exponent);
    double curve = 2 - 4 / (m + 1), chord = slope * (m - 1);
    return (exponent - 1) * ln2 + (curve > chord ? curve : chord);
}

/* The step of a leaf, which is added to scores: its output times the learning rate, shortened so
   that the loss cannot rise. Let |L'''| <= c L'' (generalized self-concordance: F. Bach,
   "Self-concordant analysis for logistic regression", Electronic Journal of Statistics 4, 2010,
   lemma 1). Then a step s changes the loss of a leaf by at most

       G s + H (exp(c |s|) - c |s| - 1) / c^2,

   which falls up to |s| = log(1 + c |G| / H) / c. If c = 0, there is no limit. */
static inline double leaf_step(double output, double learning_rate, double self_concordance)
{
    double step = learning_rate * output;
    if (self_concordance > 0) {
        double limit = log1p_lower_bound(self_concordance * fabs(output)) / self_concordance;
        step = fabs(step) <= limit ? step : copysign(limit, output);
    }
    return step;
}

/* The forms of the gain formula, from the simplest to the most general. Each has its own loop. */
enum { FORM_RIDGE, FORM_ELASTIC, FORM_GENERAL, FORM_BOUNDED };

/* The simplest form that the options allow. */
static inline int gain_form(const SplitRules *rules)
{
    if (rules->bounded)
        return FORM_BOUNDED;
    if (!isinf(rules->max_delta_step) || rules->path_smooth > 0)
        return FORM_GENERAL;
    return rules->l1 > 0 ? FORM_ELASTIC : FORM_RIDGE;
}

/* The sum of hessians of rows - 1/2 average rows of a node. Limits of the number of rows limit the
   sum of hessians, too: leaf values of rows with tiny hessians are unreliable, and training could
   diverge. LightGBM, which estimates counts from hessians, does the same; the 1/2 stands for its
   rounding. There is no limit
   - for one row: whole weights must count as repeated rows,
   - if all hessians are equal, apart from weights,
   - for the hessians of least squares, whose steps are weighted means of errors. */
static inline double hessian_of_rows(double rows, Sums node, const SplitRules *rules)
{
    double average = (double)node.hessian * rules->hessian_unit / (double)node.count;
    return rules->limits_hessians && rows > 1 ? (rows - 0.5) * average : 0;
}

/* The minimum sum of hessians of a child that must have `rows` rows. */
static inline double min_child_hessian(double rows, Sums node, const SplitRules *rules)
{
    double limit = hessian_of_rows(rows, node, rules);
    return limit > rules->min_hessian ? limit : rules->min_hessian;
}

/* The statistics of a node from its sums, which are integers in units of the rules. parent_output:
   for path_smooth; lower, upper: bounds of the output. */
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

/* The bins of one feature in one node. */
typedef struct {
    const int64_t *gradient; /* packed sums in a compact round */
    const int64_t *hessian;
    const int32_t *count;
    int n_bins;
    int missing_bin;
    const uint64_t *occupied; /* see Histogram; bin b has bit number first_bit + b */
    int64_t first_bit;
} Bins;

/* Copies the sums of stored bins, and inserts that of the default bin: `total` minus the others.
   */
#define FILL_DEFAULT(name, type)                                                         \
    static SIMD_INLINE void name(const type *stored, int n_bins, int default_bin,        \
                                 type total, type *sum_out)                              \
    {                                                                                    \
        for (int b = 0; b < default_bin; b++)                                            \
            total -= sum_out[b] = stored[b];                                             \
        for (int b = default_bin + 1; b < n_bins; b++)                                   \
            total -= sum_out[b] = stored[b - 1];                                         \
        sum_out[default_bin] = total;                                                    \
    }
FILL_DEFAULT(fill_default_longs, int64_t)
FILL_DEFAULT(fill_default_ints, int32_t)

/* The bins of a feature in a node. If histograms leave one of them out, the default bin, all sums
   are written to `buffer`, which has 3 n_bins integers. node: the sums of all rows of the node. */
static SIMD_INLINE Bins feature_bins(const Binned *data, const Histogram *histogram,
                                     int feature, const Sums *node, const Encoding *encoding,
                                     int64_t *buffer)
{
    int64_t first = data->offset[feature];
    int n = data->n_bins[feature], default_bin = data->default_bin[feature];
    Bins bins = {histogram->gradient + first, histogram->hessian + first, histogram->count + first,
                 n, data->missing_bin[feature], histogram->occupied, first};
    if (default_bin < 0)
        return bins;
    fill_default_longs(bins.gradient, n, default_bin,
                       encoding->compact ? pack(*node, encoding) : node->gradient, buffer);
    if (!encoding->compact) {
        fill_default_longs(bins.hessian, n, default_bin, node->hessian, buffer + n);
        fill_default_ints(bins.count, n, default_bin, (int32_t)node->count,
                          (int32_t *)(buffer + 2 * n));
    }
    bins.occupied = NULL;
    bins.gradient = buffer;
    bins.hessian = buffer + n;
    bins.count = (int32_t *)(buffer + 2 * n);
    return bins;
}

/* Lists the bins in [first, last) that contain rows, by the bitset of occupied bins; returns how
   many. */
static SIMD_INLINE int bins_in_set(const Bins *bins, int first, int last, int32_t *bin_out)
{
    int64_t bit = bins->first_bit + first, end = bins->first_bit + last;
    int n = 0;
    while (bit < end) {
        uint64_t bits = bins->occupied[bit / 64] >> (bit % 64);
        if (bits == 0) {
            bit = (bit / 64 + 1) * 64;
            continue;
        }
        bit += lowest_bit(bits);
        if (bit < end)
            bin_out[n++] = (int32_t)(bit - bins->first_bit);
        bit++;
    }
    return n;
}

/* The sums of a bin. */
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
    double sign; /* that the right output minus the left one must have; 0: any */
} Limits;

/* The gain of two sides with bounded outputs, and whether the cut is allowed: the outputs must be
   ordered and differ, because rounding errors of equal outputs could look like a gain. gl, hl, cl:
   the gradient, hessian and count of the left side; gr, hr, cr: of the right one. */
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

/* The gain of a cut minus `needed`, with the `extra` rows on the left side, too; -1: the cut is
   not allowed. gl, hl, cl: the gradient, hessian and count of the left side, whole numbers in units
   of the rules, as `extra` is. `limits` are those of FORM_BOUNDED. With one denominator for both
   sides, T(gl)^2 / dl + T(gr)^2 / dr needs one division. */
static SIMD_INLINE double cut_gain(double gl, double hl, double cl, Sums extra,
                                   const NodeStats *node, double needed, Limits limits,
                                   int form, const SplitRules *rules)
{
    const double gu = rules->gradient_unit, hu = rules->hessian_unit;
    const double l1 = rules->l1, l2 = rules->l2, min_count = (double)rules->min_count;
    const double min_hessian = node->min_child_hessian;
    const double noise = MIN_RELATIVE_GAIN * fabs(node->gain);
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
    int allowed = (cl >= min_count) & (cr >= min_count) & (hl >= min_hessian) & (hr >= min_hessian)
                  & (gain > noise) & in_order;
    return allowed ? gain : -1.0;
}

/* Whether a split of `feature` is better than the best one so far. Of equal gains, the first
   feature wins, and within a feature the split that was found first. */
static SIMD_INLINE int improves(double gain, int feature, const Split *best)
{
    return gain > best->gain || (gain == best->gain && feature < best->feature);
}

/* Replaces the best split if another one is better. `gain` is above what a split must gain, which
   includes min_gain. */
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
