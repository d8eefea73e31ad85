/* The search for the best split of one feature in one node.

   A first pass over the bins adds up the sums on the left of each cut, and lists only cuts behind
   bins that contain rows; a second one computes the gains, in vectors. The gain formula has
   several forms (ridge, elastic net, clipped outputs, monotone bounds), each with a loop of its
   own, so that the usual one has no branch. Missing values are tried on both sides (XGBoost, KDD
   2016, algorithm 3). */
#ifndef SKGOSS_SPLIT_H
#define SKGOSS_SPLIT_H

#include <string.h>

#include "category_splits.h"
#include "fixed_point.h"
#include "gains.h"
#include "layout.h"
#include "simd.h"
#include "split_avx512.h"

/* The count of cuts that fill up the last vector: it is too small even if rows with missing values
   are added. */
#define NO_CUT INT32_MIN
#define SINGLES_BLOCK 256

/* Lists the bins in [first, last) that contain rows; returns how many. */
static SIMD_INLINE int list_nonempty(const int32_t *count, int first, int last, int32_t *bin_out)
{
    int n = 0;
    for (int b = first; b < last; b++) {
        bin_out[n] = b;
        n += count[b] != 0;
    }
    return n;
}

/* Lists the bins in [first, last) that contain rows, and the packed sums up to each, starting from
   *sum_inout, which becomes the last one; returns how many bins. */
static SIMD_INLINE int scan_plain(const int64_t *packed, int first, int last,
                                  int64_t *sum_inout, int64_t *sum_out, int32_t *bin_out)
{
    int64_t sum = *sum_inout;
    int n = 0;
    for (int b = first; b < last; b++) {
        sum += packed[b];
        sum_out[n] = sum;
        bin_out[n] = b;
        n += packed[b] != 0;
    }
    *sum_inout = sum;
    return n;
}

#ifdef SIMD_FOR_AVX512
/* As scan_plain; stores up to a vector more than it returns. */
SIMD_FOR_AVX512 static int scan_avx512(const int64_t *packed, int first, int last,
                                       int64_t *sum_inout, int64_t *sum_out,
                                       int32_t *bin_out)
{
    const __m256i steps = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i carry = _mm512_set1_epi64(*sum_inout);
    int n = 0;
    for (int b = first; b < last; b += 8) {
        __mmask8 inside = (__mmask8)(last - b < 8 ? (1u << (last - b)) - 1 : 0xff);
        __m512i x = _mm512_maskz_loadu_epi64(inside, packed + b);
        __mmask8 holds = _mm512_test_epi64_mask(x, x);
        x = prefix_sums(x, &carry);
        _mm512_storeu_si512(sum_out + n, _mm512_maskz_compress_epi64(holds, x));
        _mm256_storeu_si256(
            (__m256i *)(bin_out + n),
            _mm256_maskz_compress_epi32(holds, _mm256_add_epi32(steps, _mm256_set1_epi32(b))));
        n += __builtin_popcount(holds);
    }
    *sum_inout = first_element(carry);
    return n;
}
#endif

/* As scan_plain, with the best instructions. */
static SIMD_INLINE int scan(const int64_t *packed, int first, int last, int64_t *sum_inout,
                            int64_t *sum_out, int32_t *bin_out)
{
#ifdef SIMD_FOR_AVX512
    if (simd_level == SIMD_AVX512)
        return scan_avx512(packed, first, last, sum_inout, sum_out, bin_out);
#endif
    return scan_plain(packed, first, last, sum_inout, sum_out, bin_out);
}

/* Lists the bins in [first, last) that contain rows, with or without a bitset; returns how many.
   */
static SIMD_INLINE int list_occupied(const Bins *bins, int first, int last, int32_t *bin_out)
{
    if (bins->occupied)
        return bins_in_set(bins, first, last, bin_out);
    return list_nonempty(bins->count, first, last, bin_out);
}

/* The same in a compact round, with the packed sums up to each bin: see scan_plain. */
static SIMD_INLINE int scan_bins(const Bins *bins, int first, int last, int64_t *sum_inout,
                                 int64_t *sum_out, int32_t *bin_out)
{
    if (!bins->occupied)
        return scan(bins->gradient, first, last, sum_inout, sum_out, bin_out);
    int n = bins_in_set(bins, first, last, bin_out);
    for (int i = 0; i < n; i++)
        sum_out[i] = *sum_inout += bins->gradient[bin_out[i]];
    return n;
}

/* The cuts of a feature behind each of the bins first:n, with the sums up to the cut. `bin` also
   has the bin after the last one. */
typedef struct {
    double *gradient;
    double *hessian;
    int32_t *count;
    int32_t *bin;
    int first;
    int n;
} Cuts;

/* The last bin on the left of a cut. Empty bins behind it make equal cuts: the larger threshold is
   taken if missing values go left, the smaller one otherwise (LightGBM's order). */
static SIMD_INLINE int cut_bin(const Cuts *cuts, int i, int missing_left)
{
    return missing_left ? cuts->bin[i + 1] - 1 : cuts->bin[i];
}

/* Whether the first cut lies behind an empty bin 0: only missing values go left of it. */
static SIMD_INLINE int starts_empty(const Bins *bins, const Encoding *encoding)
{
    return bins->missing_bin == 0
           || (bins->missing_bin > 0
               && (encoding->compact ? bins->gradient[0] == 0 : bins->count[0] == 0));
}

/* The number of counts below `limit`, of n ascending ones. */
static SIMD_INLINE int count_below(const int32_t *count, int n, int64_t limit)
{
    int first = 0;
    while (n > 0) {
        int half = n / 2;
        int below = count[first + half] < limit;
        first += below ? half + 1 : 0;
        n = below ? n - half - 1 : half;
    }
    return first;
}

/* Appends cuts behind the bins in [first, last) that contain rows, with the sums up to each,
   starting from *sums_inout. */
static SIMD_INLINE void scan_sums(const Bins *bins, int first, int last, Sums *sums_inout,
                                  Cuts *cuts)
{
    int end = cuts->n + list_occupied(bins, first, last, cuts->bin + cuts->n);
    for (; cuts->n < end; cuts->n++) {
        int b = cuts->bin[cuts->n];
        sums_inout->gradient += bins->gradient[b];
        sums_inout->hessian += bins->hessian[b];
        sums_inout->count += bins->count[b];
        cuts->gradient[cuts->n] = (double)sums_inout->gradient;
        cuts->hessian[cuts->n] = (double)sums_inout->hessian;
        cuts->count[cuts->n] = (int32_t)sums_inout->count;
    }
}

/* Lists the cuts of a feature with at least `min_count` and at most `max_count` rows on the left,
   missing values not counted. They lie behind bins that contain rows, except the missing bin and
   the last one. The first may be one behind an empty bin 0: see starts_empty. */
static SIMD_INLINE void list_cuts(const Bins *bins, const Encoding *encoding, int64_t min_count,
                                  int64_t max_count, Cuts *cuts)
{
    int last = bins->n_bins - 1;
    int middle = bins->missing_bin >= 0 ? bins->missing_bin : last;
    Sums sums = {0, 0, 0};
    cuts->n = starts_empty(bins, encoding);
    cuts->gradient[0] = cuts->hessian[0] = cuts->count[0] = cuts->bin[0] = 0;
    scan_sums(bins, 0, middle, &sums, cuts);
    scan_sums(bins, middle + 1, last, &sums, cuts);
    cuts->bin[cuts->n] = last;
    cuts->n = count_below(cuts->count, cuts->n, max_count + 1);
    cuts->first = count_below(cuts->count, cuts->n, min_count);
}

/* The number of packed sums with a count below `limit`, of n with ascending counts. */
static SIMD_INLINE int count_packed_below(const int64_t *sum, int n, int64_t count_mask,
                                          int64_t limit)
{
    int first = 0;
    if (n == 0)
        return 0;
    while (n > 1) {
        int half = n / 2;
        first += (sum[first + half - 1] & count_mask) < limit ? half : 0;
        n -= half;
    }
    return first + ((sum[first] & count_mask) < limit);
}

/* As list_cuts, in a compact round; `sum` has n_bins + SCRATCH_PADDING integers. */
static SIMD_INLINE void list_cuts_compact(const Bins *bins, const Encoding *encoding,
                                          int64_t min_count, int64_t max_count,
                                          int64_t *restrict sum, Cuts *cuts)
{
    const Encoding local = *encoding;
    double *restrict gradient = cuts->gradient, *restrict hessian = cuts->hessian;
    int32_t *restrict count = cuts->count;
    const int64_t count_mask = ((int64_t)1 << encoding->count_bits) - 1;
    int last = bins->n_bins - 1;
    int middle = bins->missing_bin >= 0 ? bins->missing_bin : last;
    int64_t previous = 0;
    int first, n = starts_empty(bins, encoding);
    sum[0] = cuts->bin[0] = 0;
    n += scan_bins(bins, 0, middle, &previous, sum + n, cuts->bin + n);
    n += scan_bins(bins, middle + 1, last, &previous, sum + n, cuts->bin + n);
    cuts->bin[n] = last;
    n = count_packed_below(sum, n, count_mask, max_count + 1);
    first = count_packed_below(sum, n, count_mask, min_count);
    int padded = first + ((n - first + SPLIT_WIDTH - 1) & -SPLIT_WIDTH);
    for (int i = first; i < padded; i++) {
        Sums sums = unpack(sum[i], &local);
        gradient[i] = exact_double(sums.gradient);
        hessian[i] = exact_double(sums.hessian);
        count[i] = (int32_t)sums.count;
    }
    cuts->first = first;
    cuts->n = n;
}

/* The bounds of both sides of each cut: the arrays of the scratch memory up to SCRATCH_BOUNDED.
   sign: of the feature's monotone constraint: 1 rising, -1 falling, 0 none. */
typedef struct {
    double *left_lower;
    double *left_upper;
    double *right_lower;
    double *right_upper;
    double sign;
} CutLimits;

/* The bounds at the i-th cut; none unless the form of the gain formula is FORM_BOUNDED. */
static SIMD_INLINE Limits limits_at(const CutLimits *limits, int i, int form)
{
    Limits no_limits = {0, 0, 0, 0, 0};
    if (form != FORM_BOUNDED)
        return no_limits;
    Limits found = {limits->left_lower[i], limits->left_upper[i], limits->right_lower[i],
                 limits->right_upper[i], limits->sign};
    return found;
}

/* Tightens a bound of one side of a cut by a neighbor's output, `value`, if the neighbor shares
   bins with this side (`inside`). is_above: it is an upper bound. */
static SIMD_INLINE void tighten(double value, int is_above, int inside, double *lower,
                                double *upper)
{
    *upper = inside & is_above & (value < *upper) ? value : *upper;
    *lower = inside & !is_above & (value > *lower) ? value : *lower;
}

/* Computes the bounds of the outputs at the cuts of a feature, if missing values go left or right.
   They are the bounds of the node, or those by its neighbors for this feature: a neighbor
   that shares only some bins with the node bounds the sides that have such bins. */
static SIMD_INLINE void list_limits(const MonotoneBounds *monotone, int feature,
                                    const NodeStats *node, const Cuts *cuts, int missing_left,
                                    CutLimits *limits)
{
    FeatureBounds bounds = {node->lower, node->upper, NULL, 0};
    if (monotone->bounds_index && monotone->bounds_index[feature] >= 0)
        bounds = monotone->bounds[monotone->bounds_index[feature]];
    for (int i = cuts->first; i < cuts->n; i++) {
        limits->left_lower[i] = limits->right_lower[i] = bounds.lower;
        limits->left_upper[i] = limits->right_upper[i] = bounds.upper;
    }
    for (int s = 0; s < bounds.n; s++) {
        const BinRange shared = bounds.partial[s].shared;
        const double value = bounds.partial[s].value;
        const int is_above = bounds.partial[s].is_above;
        const int left = shared.missing & missing_left;
        const int right = shared.missing & !missing_left;
        for (int i = cuts->first; i < cuts->n; i++) {
            int bin = cut_bin(cuts, i, missing_left);
            tighten(value, is_above, (shared.first <= bin) | left, &limits->left_lower[i],
                    &limits->left_upper[i]);
            tighten(value, is_above, (shared.last > bin) | right, &limits->right_lower[i],
                    &limits->right_upper[i]);
        }
    }
}

/* The largest of n gains; 0 if none is positive. Positive doubles have the order of their bits,
   and integers have a vector maximum. */
static SIMD_INLINE double largest_gain(const double *gain, int n)
{
    int64_t top = 0;
    double value;
    for (int i = 0; i < n; i++) {
        int64_t bits;
        memcpy(&bits, gain + i, sizeof bits);
        top = bits > top ? bits : top;
    }
    memcpy(&value, &top, sizeof value);
    return value;
}

/* Computes the gains of the cuts, minus `needed`; returns the largest, or 0 if none is allowed.
   extra: the sums that also go left: those of missing values, or zeros. gain_out: by cut; written
   in whole vectors. */
static SIMD_INLINE double cut_gains(const Cuts *cuts, Sums extra, const NodeStats *node,
                                    double needed, const CutLimits *limits, int form,
                                    const SplitRules *rules, double *restrict gain_out)
{
    const double *gradient = cuts->gradient + cuts->first;
    const double *hessian = cuts->hessian + cuts->first;
    const int32_t *count = cuts->count + cuts->first;
    int n = (cuts->n - cuts->first + SPLIT_WIDTH - 1) & -SPLIT_WIDTH;
    gain_out += cuts->first;
    for (int i = 0; i < n; i++)
        gain_out[i] = cut_gain(gradient[i], hessian[i], (double)count[i], extra, node,
                               needed, limits_at(limits, cuts->first + i, form), form,
                               rules);
    return largest_gain(gain_out, n);
}

/* Keeps only the cut that divides the rows in the same way as a cut after bin `bin`; none if it
   is not listed. */
static SIMD_INLINE void keep_cut(int bin, Cuts *cuts)
{
    int i = cuts->first;
    while (i < cuts->n && cuts->bin[i] <= bin)
        i++;
    if (i == cuts->first || cuts->bin[i] <= bin) {
        cuts->n = cuts->first;
        return;
    }
    cuts->first = i - 1;
    cuts->bin[i - 1] = bin;
    cuts->bin[i] = bin + 1;
    cuts->n = i;
}

/* Replaces *best_out by the best cut of one feature if that is better; returns whether any cut
   has a gain. Of equal gains, cuts with missing values on the left win, and the last of these;
   else the first. bins: the feature's sums in the node. form: of the gain formula. vector_cuts:
   what search_avx512 needs; NULL: it does not suit. `scratch`: see SCRATCH_PADDING. */
static SIMD_INLINE int search_feature(const Bins *bins, const Encoding *encoding,
                                      const FeatureSet *set, int feature,
                                      const NodeStats *node, const SplitRules *rules, int form,
                                      const NodeCuts *vector_cuts, double *scratch,
                                      Split *best_out)
{
    int size = bins->n_bins + SCRATCH_PADDING;
    double *gain = scratch + 2 * size;
    int32_t *numbers = (int32_t *)(gain + size);
    Cuts cuts = {scratch, scratch + size, numbers, numbers + size, 0, 0};
    double *bounds = scratch + SCRATCH_ARRAYS * size;
    CutLimits limits = {bounds, bounds + size, bounds + 2 * size, bounds + 3 * size,
                        form == FORM_BOUNDED ? set->monotone->sign[feature] : 0};
    Sums no_sums = {0, 0, 0}, missing = no_sums;
    double needed = node->gain + rules->min_gain;
    int64_t max_count = node->sums.count - rules->min_count, min_count;
    if (bins->missing_bin >= 0)
        missing = bin_sums(bins, bins->missing_bin, encoding);
#ifdef SIMD_FOR_AVX512
    if (vector_cuts && !bins->occupied)
        return search_avx512(bins, set, feature, rules, vector_cuts, missing.count > 0,
                             (int64_t *)scratch, best_out);
#endif
    min_count = rules->min_count - missing.count;
    if (encoding->compact)
        list_cuts_compact(bins, encoding, min_count, max_count, (int64_t *)gain, &cuts);
    else
        list_cuts(bins, encoding, min_count, max_count, &cuts);
    if (set->cut)
        keep_cut(set->cut[feature], &cuts);
    if (cuts.first >= cuts.n)
        return 0;
    int gains = 0;
    for (int i = cuts.n; i < cuts.n + SPLIT_WIDTH - 1; i++) {
        cuts.gradient[i] = cuts.hessian[i] = 0;
        cuts.count[i] = NO_CUT;
    }
    for (int left = 1; left >= (missing.count ? 0 : 1); left--) {
        if (form == FORM_BOUNDED)
            list_limits(set->monotone, feature, node, &cuts, left, &limits);
        double top = cut_gains(&cuts, left ? missing : no_sums, node, needed, &limits, form,
                               rules, gain);
        double weighted = top * gain_factor(set, feature);
        gains |= top > 0;
        if (weighted <= 0 || !improves(weighted + rules->min_gain, feature, best_out))
            continue;
        int i = left ? cuts.n - 1 : cuts.first;
        while (gain[i] != top)
            i += left ? -1 : 1;
        best_out->gain = weighted + rules->min_gain;
        best_out->feature = feature;
        best_out->bin = cut_bin(&cuts, i, left);
        best_out->missing_left = missing.count ? left : NONE_MISSING;
    }
    return gains;
}

/* The left sides of the only cuts of n features: the sums of their stored bins, or those of the
   node minus these if the default bin is on the left. The sums of the i-th feature are in `g[i]`,
   `h[i]` and `c[i]`. */
static SIMD_INLINE void list_singles(const int64_t *restrict g, const int64_t *restrict h,
                                     const int32_t *restrict c, int n, const Encoding *encoding,
                                     const Sums *node, int default_left, Cuts *cuts)
{
    const Encoding local = *encoding;
    const int64_t total_g = node->gradient, total_h = node->hessian;
    const int32_t total_c = (int32_t)node->count;
    double *restrict gradient = cuts->gradient, *restrict hessian = cuts->hessian;
    int32_t *restrict count = cuts->count;
    if (encoding->compact) {
        for (int i = 0; i < n; i++) {
            Sums sums = unpack(g[i], &local);
            gradient[i] = (double)(default_left ? total_g - sums.gradient : sums.gradient);
            hessian[i] = (double)(default_left ? total_h - sums.hessian : sums.hessian);
            count[i] = (int32_t)(default_left ? total_c - sums.count : sums.count);
        }
    } else if (default_left) {
        for (int i = 0; i < n; i++) {
            gradient[i] = (double)(total_g - g[i]);
            hessian[i] = (double)(total_h - h[i]);
            count[i] = total_c - c[i];
        }
    } else {
        for (int i = 0; i < n; i++) {
            gradient[i] = (double)g[i];
            hessian[i] = (double)h[i];
            count[i] = c[i];
        }
    }
    cuts->n = n;
    for (; n % SPLIT_WIDTH; n++) {
        gradient[n] = hessian[n] = 0;
        count[n] = NO_CUT;
    }
}

/* The same for features that are not consecutive: their sums are gathered first. */
static SIMD_INLINE void gather_singles(const Binned *data, const Histogram *histogram,
                                       const int32_t *features, int n,
                                       const Encoding *encoding, const Sums *node,
                                       int default_left, Cuts *cuts)
{
    int64_t g[SINGLES_BLOCK], h[SINGLES_BLOCK];
    int32_t c[SINGLES_BLOCK];
    for (int i = 0; i < n; i++)
        g[i] = histogram->gradient[data->offset[features[i]]];
    for (int i = 0; i < n && !encoding->compact; i++) {
        h[i] = histogram->hessian[data->offset[features[i]]];
        c[i] = histogram->count[data->offset[features[i]]];
    }
    list_singles(g, h, c, n, encoding, node, default_left, cuts);
}

/* Clears the marks of searched features whose only cut has no gain. */
static SIMD_INLINE void mark_splittable(const int32_t *features, int n, int is_run,
                                        const uint8_t *searched, const double *gain,
                                        uint8_t *splittable_out)
{
    uint8_t *restrict run = splittable_out + features[0];
    if (is_run) {
        for (int j = 0; j < n; j++)
            run[j] &= (uint8_t)(!searched[j] | (gain[j] > 0));
    } else {
        for (int j = 0; j < n; j++)
            splittable_out[features[j]] &= (uint8_t)(!searched[j] | (gain[j] > 0));
    }
}

/* Replaces *best_out by the best of the only cuts of n features if that is better. The features
   have two bins each, one of them the default bin, which is the same one in all of them. */
static SIMD_INLINE void search_singles(const Binned *data, const Encoding *encoding,
                                       const Histogram *histogram, const FeatureSet *set,
                                       const int32_t *features, int n, const NodeStats *node,
                                       const SplitRules *rules, int form, Split *best_out)
{
    const int first = features[0], is_run = features[n - 1] - first == n - 1;
    const int default_left = data->default_bin[first] == 0;
    const int64_t offset = data->offset[first];
    double gradient[SINGLES_BLOCK], hessian[SINGLES_BLOCK], gain[SINGLES_BLOCK];
    int32_t count[SINGLES_BLOCK];
    uint8_t chosen[SINGLES_BLOCK];
    const uint8_t *searched = is_run ? set->searched + first : chosen;
    Cuts cuts = {gradient, hessian, count, NULL, 0, n};
    const Sums no_sums = {0, 0, 0};
    for (int j = 0; j < n && !is_run; j++)
        chosen[j] = set->searched[features[j]];
    if (!memchr(searched, 1, (size_t)n))
        return;
    if (is_run)
        list_singles(histogram->gradient + offset, histogram->hessian + offset,
                     histogram->count + offset, n, encoding, &node->sums, default_left, &cuts);
    else
        gather_singles(data, histogram, features, n, encoding, &node->sums, default_left, &cuts);
    cut_gains(&cuts, no_sums, node, node->gain + rules->min_gain, NULL, form, rules, gain);
    if (set->splittable_out)
        mark_splittable(features, n, is_run, searched, gain, set->splittable_out);
    for (int j = 0; j < n; j++)
        gain[j] = searched[j] ? gain[j] : -1.0;
    double top = largest_gain(gain, n);
    int i = 0;
    if (top <= 0 || top + rules->min_gain < best_out->gain)
        return;
    while (gain[i] != top)
        i++;
    if (!improves(top + rules->min_gain, features[i], best_out))
        return;
    best_out->gain = top + rules->min_gain;
    best_out->feature = features[i];
    best_out->bin = 0;
    best_out->missing_left = NONE_MISSING;
}

/* The number of features, from the i-th on, that one call of search_singles may search; 0: none.
   */
static SIMD_INLINE int count_singles(const Binned *data, const FeatureSet *set, int i,
                                     int form)
{
    int allowed = !set->cut && !set->factor && form != FORM_BOUNDED;
    int run = allowed ? data->singles[set->features[i]] : 0;
    int most = run < set->n - i ? run : set->n - i;
    int n = 0;
    most = most < SINGLES_BLOCK ? most : SINGLES_BLOCK;
    if (set->consecutive)
        return most;
    while (n < most && set->features[i + n] - set->features[i] < run
           && (n == 0 || set->features[i + n] > set->features[i + n - 1]))
        n++;
    return n;
}

/* Searches all features of a set with one form of the gain formula. */
static SIMD_INLINE void search_form(const Binned *data, const Encoding *encoding,
                                    const Histogram *histogram, const FeatureSet *set,
                                    const NodeStats *node, const SplitRules *rules, int form,
                                    double *scratch, Split *best_out)
{
    const Encoding local_encoding = *encoding;
    const SplitRules local_rules = *rules;
    const int suits = suits_avx512(encoding, set, form);
    NodeCuts cuts;
    if (suits)
        cuts = node_cuts(encoding, node, rules, form);
    for (int i = 0, n; i < set->n; i += n) {
        int feature = set->features[i];
        int singles = count_singles(data, set, i, form);
        n = singles > 1 ? singles : 1;
        if (singles) {
            search_singles(data, &local_encoding, histogram, set, set->features + i, singles,
                           node, &local_rules, form, best_out);
            continue;
        }
        if (!set->searched[feature])
            continue;
        int size = data->n_bins[feature] + SCRATCH_PADDING;
        Bins bins = feature_bins(data, histogram, feature, &node->sums, &local_encoding,
                                 (int64_t *)(scratch + SCRATCH_CUTS * size));
        int gains =
            data->categorical[feature]
                ? search_categories(&bins, &local_encoding, feature, gain_factor(set, feature),
                                    node, &local_rules, scratch, best_out)
                : search_feature(&bins, &local_encoding, set, feature, node, &local_rules, form,
                                 suits ? &cuts : NULL, scratch, best_out);
        if (!gains && set->splittable_out)
            set->splittable_out[feature] = 0;
    }
}

/* Replaces *best_out by the best split of a set of features if that is better; of equal gains, the
   first feature wins. */
SIMD_KERNEL(search_features, (const Binned *data, const Encoding *encoding,
             const Histogram *histogram, const FeatureSet *set, const NodeStats *node,
             const SplitRules *rules, double *scratch, Split *best_out),
            (data, encoding, histogram, set, node, rules, scratch, best_out))
{
    switch (gain_form(rules)) {
    case FORM_RIDGE:
        search_form(data, encoding, histogram, set, node, rules, FORM_RIDGE, scratch, best_out);
        break;
    case FORM_ELASTIC:
        search_form(data, encoding, histogram, set, node, rules, FORM_ELASTIC, scratch,
                    best_out);
        break;
    case FORM_GENERAL:
        search_form(data, encoding, histogram, set, node, rules, FORM_GENERAL, scratch,
                    best_out);
        break;
    default:
        search_form(data, encoding, histogram, set, node, rules, FORM_BOUNDED, scratch,
                    best_out);
    }
}

#endif
