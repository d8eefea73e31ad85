/* The search for the best split of one feature in one node.

   One sweep over the bins adds up the sums on the left of each cut, and lists only cuts behind
   bins that hold rows; a second one computes the gains, in vectors. The gain formula has several
   forms (ridge, elastic net, clipped outputs, monotone bounds), each compiled by itself, so that
   the usual one has no branch. Missing values are tried on both sides (XGBoost, KDD 2016,
   algorithm 3). */
#ifndef SKGOSS_SPLIT_H
#define SKGOSS_SPLIT_H

#include <string.h>

#include "categories.h"
#include "fixed_point.h"
#include "gains.h"
#include "layout.h"
#include "simd.h"

/* Cuts come in vectors of so many; those that fill up the last one have a count that no rows
   of missing values make acceptable. */
#define SPLIT_WIDTH 8
#define NO_CUT INT32_MIN
#define SINGLES_BLOCK 256

/* Numbers of the bins in [first, last) that hold rows. */
static SIMD_INLINE int occupied(const int32_t *count, int first, int last, int32_t *bin_out)
{
    int n = 0;
    for (int b = first; b < last; b++) {
        bin_out[n] = b;
        n += count[b] != 0;
    }
    return n;
}

/* Numbers of the bins in [first, last) that hold rows, and the packed sums up to each,
   on top of *sum_inout. */
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
#include <immintrin.h>

/* The last of eight integers, everywhere. */
SIMD_FOR_AVX512 static inline __m512i last_long(__m512i x)
{
    return _mm512_permutexvar_epi64(_mm512_set1_epi64(7), x);
}

SIMD_FOR_AVX512 static inline int64_t first_long(__m512i x)
{
    return _mm_cvtsi128_si64(_mm512_castsi512_si128(x));
}

/* The sums up to each of eight integers. */
SIMD_FOR_AVX512 static inline __m512i longs_up_to(__m512i x)
{
    const __m512i up1 = _mm512_setr_epi64(0, 0, 1, 2, 3, 4, 5, 6);
    const __m512i up2 = _mm512_setr_epi64(0, 0, 0, 1, 2, 3, 4, 5);
    const __m512i up4 = _mm512_setr_epi64(0, 0, 0, 0, 0, 1, 2, 3);
    x = _mm512_add_epi64(x, _mm512_maskz_permutexvar_epi64(0xfe, up1, x));
    x = _mm512_add_epi64(x, _mm512_maskz_permutexvar_epi64(0xfc, up2, x));
    return _mm512_add_epi64(x, _mm512_maskz_permutexvar_epi64(0xf0, up4, x));
}

/* The same on top of *before, which is the last one everywhere then. */
SIMD_FOR_AVX512 static inline __m512i longs_on_top(__m512i x, __m512i *before)
{
    x = longs_up_to(x);
    __m512i sum = _mm512_add_epi64(x, *before);
    *before = _mm512_add_epi64(last_long(x), *before);
    return sum;
}

/* The same as scan_plain; stores up to a vector more than it returns. */
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
        x = longs_on_top(x, &carry);
        _mm512_storeu_si512(sum_out + n, _mm512_maskz_compress_epi64(holds, x));
        _mm256_storeu_si256(
            (__m256i *)(bin_out + n),
            _mm256_maskz_compress_epi32(holds, _mm256_add_epi32(steps, _mm256_set1_epi32(b))));
        n += __builtin_popcount(holds);
    }
    *sum_inout = first_long(carry);
    return n;
}
#endif

static SIMD_INLINE int scan(const int64_t *packed, int first, int last, int64_t *sum_inout,
                            int64_t *sum_out, int32_t *bin_out)
{
#ifdef SIMD_FOR_AVX512
    if (simd_level == SIMD_AVX512)
        return scan_avx512(packed, first, last, sum_inout, sum_out, bin_out);
#endif
    return scan_plain(packed, first, last, sum_inout, sum_out, bin_out);
}

static SIMD_INLINE int list_occupied(const Bins *bins, int first, int last, int32_t *bin_out)
{
    if (bins->held)
        return held_bins(bins, first, last, bin_out);
    return occupied(bins->count, first, last, bin_out);
}

/* The same in a compact round, with the packed sums up to each, on top of *sum_inout. */
static SIMD_INLINE int scan_bins(const Bins *bins, int first, int last, int64_t *sum_inout,
                                 int64_t *sum_out, int32_t *bin_out)
{
    if (!bins->held)
        return scan(bins->gradient, first, last, sum_inout, sum_out, bin_out);
    int n = held_bins(bins, first, last, bin_out);
    for (int i = 0; i < n; i++)
        sum_out[i] = *sum_inout += bins->gradient[bin_out[i]];
    return n;
}

/* The cuts of a feature: bins and the sums up to each, from `first` to n. */
typedef struct {
    double *gradient;
    double *hessian;
    int32_t *count;
    int32_t *bin;
    int first;
    int n;
} Cuts;

/* The last bin on the left of a cut: of equal cuts the larger threshold if missing values go
   left and the smaller one otherwise (LightGBM's order). */
static SIMD_INLINE int cut_bin(const Cuts *cuts, int i, int missing_left)
{
    return missing_left ? cuts->bin[i + 1] - 1 : cuts->bin[i];
}

/* Whether the first cut lies behind an empty side: missing values alone go left of it. */
static SIMD_INLINE int starts_empty(const Bins *bins, const Encoding *encoding)
{
    return bins->missing_bin == 0
           || (bins->missing_bin > 0
               && (encoding->compact ? bins->gradient[0] == 0 : bins->count[0] == 0));
}

/* How many of n counts, which ascend, are below `limit`. */
static SIMD_INLINE int fewer_than(const int32_t *count, int n, int64_t limit)
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

/* Adds the bins in [first, last) that hold rows to the cuts, with the sums up to each on top
   of *sums_inout. */
static SIMD_INLINE void scan_sums_plain(const Bins *bins, int first, int last,
                                        Sums *sums_inout, Cuts *cuts)
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

#ifdef SIMD_FOR_AVX512
/* The same as scan_sums_plain; stores up to a vector more. */
SIMD_FOR_AVX512 static void scan_sums_avx512(const Bins *bins, int first, int last,
                                             Sums *sums_inout, Cuts *cuts)
{
    const __m256i steps = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i g_before = _mm512_set1_epi64(sums_inout->gradient);
    __m512i h_before = _mm512_set1_epi64(sums_inout->hessian);
    __m512i c_before = _mm512_set1_epi64(sums_inout->count);
    int n = cuts->n;
    for (int b = first; b < last; b += 8) {
        __mmask8 inside = (__mmask8)(last - b < 8 ? (1u << (last - b)) - 1 : 0xff);
        __m256i count = _mm256_maskz_loadu_epi32(inside, bins->count + b);
        __mmask8 holds = _mm256_test_epi32_mask(count, count);
        __m512i g = _mm512_maskz_loadu_epi64(inside, bins->gradient + b);
        __m512i h = _mm512_maskz_loadu_epi64(inside, bins->hessian + b);
        __m512i c = _mm512_cvtepi32_epi64(count);
        g = longs_on_top(g, &g_before);
        h = longs_on_top(h, &h_before);
        c = longs_on_top(c, &c_before);
        _mm512_storeu_pd(cuts->gradient + n,
                         _mm512_maskz_compress_pd(holds, _mm512_cvtepi64_pd(g)));
        _mm512_storeu_pd(cuts->hessian + n,
                         _mm512_maskz_compress_pd(holds, _mm512_cvtepi64_pd(h)));
        _mm256_storeu_si256(
            (__m256i *)(cuts->count + n),
            _mm256_maskz_compress_epi32(holds, _mm512_cvtepi64_epi32(c)));
        _mm256_storeu_si256(
            (__m256i *)(cuts->bin + n),
            _mm256_maskz_compress_epi32(holds, _mm256_add_epi32(steps, _mm256_set1_epi32(b))));
        n += __builtin_popcount(holds);
    }
    sums_inout->gradient = first_long(g_before);
    sums_inout->hessian = first_long(h_before);
    sums_inout->count = first_long(c_before);
    cuts->n = n;
}
#endif

static SIMD_INLINE void scan_sums(const Bins *bins, int first, int last, Sums *sums_inout,
                                  Cuts *cuts)
{
#ifdef SIMD_FOR_AVX512
    if (simd_level == SIMD_AVX512 && !bins->held) {
        scan_sums_avx512(bins, first, last, sums_inout, cuts);
        return;
    }
#endif
    scan_sums_plain(bins, first, last, sums_inout, cuts);
}

/* Lists the bins behind which the node can be cut, those that hold rows but for the
   missing bin, wherever it is, and the last one, with at least `least` and at most `most`
   rows up to them; before them perhaps one behind an empty bin 0. */
static SIMD_INLINE void list_cuts(const Bins *bins, const Encoding *encoding, int64_t least,
                                  int64_t most, Cuts *cuts)
{
    int last = bins->n_bins - 1;
    int middle = bins->missing_bin >= 0 ? bins->missing_bin : last;
    Sums sums = {0, 0, 0};
    cuts->n = starts_empty(bins, encoding);
    cuts->gradient[0] = cuts->hessian[0] = cuts->count[0] = cuts->bin[0] = 0;
    scan_sums(bins, 0, middle, &sums, cuts);
    scan_sums(bins, middle + 1, last, &sums, cuts);
    cuts->bin[cuts->n] = last;
    cuts->n = fewer_than(cuts->count, cuts->n, most + 1);
    cuts->first = fewer_than(cuts->count, cuts->n, least);
}

/* How many of n packed sums, whose counts ascend, have a count below `limit`. */
static SIMD_INLINE int counts_below(const int64_t *sum, int n, int64_t count_mask, int64_t limit)
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

/* The same in a compact round; `sum`: room for n_bins + SCRATCH_ROOM integers. */
static SIMD_INLINE void list_cuts_compact(const Bins *bins, const Encoding *encoding,
                                          int64_t least, int64_t most, int64_t *restrict sum,
                                          Cuts *cuts)
{
    const Encoding local = *encoding;
    double *restrict gradient = cuts->gradient, *restrict hessian = cuts->hessian;
    int32_t *restrict count = cuts->count;
    const int64_t count_mask = ((int64_t)1 << encoding->count_bits) - 1;
    int last = bins->n_bins - 1;
    int middle = bins->missing_bin >= 0 ? bins->missing_bin : last;
    int64_t before = 0;
    int first, n = starts_empty(bins, encoding);
    sum[0] = cuts->bin[0] = 0;
    n += scan_bins(bins, 0, middle, &before, sum + n, cuts->bin + n);
    n += scan_bins(bins, middle + 1, last, &before, sum + n, cuts->bin + n);
    cuts->bin[n] = last;
    n = counts_below(sum, n, count_mask, most + 1);
    first = counts_below(sum, n, count_mask, least);
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

/* The bounds of each cut's sides: arrays as long as the cuts', in SCRATCH_BOUNDED. */
typedef struct {
    double *left_lower;
    double *left_upper;
    double *right_lower;
    double *right_upper;
    double sign;
} CutLimits;

static SIMD_INLINE Limits limits_at(const CutLimits *limits, int i, int form)
{
    Limits none = {0, 0, 0, 0, 0};
    if (form != FORM_BOUNDED)
        return none;
    Limits at = {limits->left_lower[i], limits->left_upper[i], limits->right_lower[i],
                 limits->right_upper[i], limits->sign};
    return at;
}

/* Tightens one bound of the cuts that let a neighbour's bins into a side. */
static SIMD_INLINE void tighten(double value, int is_above, int inside, double *lower,
                                double *upper)
{
    *upper = inside & is_above & (value < *upper) ? value : *upper;
    *lower = inside & !is_above & (value > *lower) ? value : *lower;
}

/* The bounds of the cuts of a feature. `missing_left`: where missing values go; see
   cut_bin. */
static SIMD_INLINE void list_limits(const MonotoneBounds *monotone, int feature,
                                    const NodeStats *node, const Cuts *cuts, int missing_left,
                                    CutLimits *limits)
{
    FeatureBounds row = {node->lower, node->upper, NULL, 0};
    if (monotone->row_of && monotone->row_of[feature] >= 0)
        row = monotone->rows[monotone->row_of[feature]];
    for (int i = cuts->first; i < cuts->n; i++) {
        limits->left_lower[i] = limits->right_lower[i] = row.lower;
        limits->left_upper[i] = limits->right_upper[i] = row.upper;
    }
    for (int s = 0; s < row.n; s++) {
        const BinRange shared = row.partial[s].shared;
        const double value = row.partial[s].value;
        const int is_above = row.partial[s].is_above;
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

/* The largest of n gains, 0 if none is positive. Positive doubles are ordered as their bits
   are, and integers have a vector maximum. */
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

/* The gains of the cuts; returns the largest, 0 if none is allowed. */
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

/* Leaves of the cuts the one that parts the rows as a cut after bin `bin` does. */
static SIMD_INLINE void keep_cut(int bin, Cuts *cuts)
{
    int i = cuts->first;
    while (i < cuts->n && cuts->bin[i] <= bin)
        i++;
    if (i == cuts->first || cuts->bin[i] <= bin) { /* the cut is none of those listed */
        cuts->n = cuts->first;
        return;
    }
    cuts->first = i - 1;
    cuts->bin[i - 1] = bin;
    cuts->bin[i] = bin + 1;
    cuts->n = i;
}

static SIMD_INLINE double gain_factor(const FeatureSet *set, int feature)
{
    return set->factor ? set->factor[feature] : 1.0;
}

#ifdef SIMD_FOR_AVX512
/* Rounding moves a gain by less than this share of it. */
#define ROUNDING_SHARE 1e-14

/* Whether search_avx512 may search a feature. */
static SIMD_INLINE int suits_avx512(const Bins *bins, const Encoding *encoding,
                                    const FeatureSet *set, int form)
{
    return simd_level == SIMD_AVX512 && encoding->compact && !bins->held && !set->cut
           && (form == FORM_RIDGE || form == FORM_ELASTIC);
}

/* The next larger double of one that is not negative. */
static SIMD_INLINE double next_larger(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits++;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The packed sums up to each bin in [first, last), on top of `before`, and the last of them in
   the eight places behind. Returns that one, everywhere. */
SIMD_FOR_AVX512 static __m512i sum_bins_avx512(const int64_t *packed, int first, int last,
                                               __m512i before, int64_t *sum_out)
{
    int b = first;
    for (; b + SPLIT_WIDTH <= last; b += SPLIT_WIDTH) {
        __m512i x = _mm512_loadu_si512(packed + b);
        _mm512_storeu_si512(sum_out + b, longs_on_top(x, &before));
    }
    if (b < last) {
        __mmask8 inside = (__mmask8)((1u << (last - b)) - 1);
        __m512i x = _mm512_maskz_loadu_epi64(inside, packed + b);
        _mm512_storeu_si512(sum_out + b, longs_on_top(x, &before));
    }
    _mm512_storeu_si512(sum_out + last, before);
    return before;
}

/* The packed sums up to each bin but the last, as if the missing bin were empty. */
SIMD_FOR_AVX512 static void sum_cuts_avx512(const Bins *bins, int64_t *sum_out)
{
    int last = bins->n_bins - 1;
    int middle = bins->missing_bin >= 0 ? bins->missing_bin : last;
    __m512i before = _mm512_setzero_si512();
    before = sum_bins_avx512(bins->gradient, 0, middle, before, sum_out);
    if (middle + 1 < last)
        sum_bins_avx512(bins->gradient, middle + 1, last, before, sum_out);
}

/* What the gains of eight cuts need of the encoding, the node and the rules, the same in all
   lanes of a vector. */
typedef struct {
    __m512i fewest, most; /* rows on the left */
    __m512i count_mask, hessian_mask;
    __m128i hessian_at, gradient_at; /* their lowest bits */
    __m512d gradient_unit, hessian_unit;
    __m512d gradient, hessian; /* of the node */
    __m512d least_hessian, l1, l2, epsilon;
} CutLanes;

SIMD_FOR_AVX512 static inline CutLanes cut_lanes(const Encoding *encoding,
                                                 const NodeStats *node,
                                                 const SplitRules *rules)
{
    const int bits = encoding->count_bits, up = encoding->gradient_up;
    const int64_t count_mask = ((int64_t)1 << bits) - 1;
    const int64_t hessian_mask = ((int64_t)1 << (up - bits)) - 1;
    const int constant = encoding->constant_hessian;
    CutLanes lanes = {
        _mm512_set1_epi64(rules->min_count),
        _mm512_set1_epi64(node->sums.count - rules->min_count),
        _mm512_set1_epi64(count_mask),
        _mm512_set1_epi64(constant ? count_mask : hessian_mask),
        _mm_cvtsi32_si128(constant ? 0 : bits),
        _mm_cvtsi32_si128(up),
        _mm512_set1_pd(rules->gradient_unit),
        _mm512_set1_pd(rules->hessian_unit),
        _mm512_set1_pd((double)node->sums.gradient),
        _mm512_set1_pd((double)node->sums.hessian),
        _mm512_set1_pd(node->least_hessian),
        _mm512_set1_pd(rules->l1),
        _mm512_set1_pd(rules->l2),
        _mm512_set1_pd(HESSIAN_EPSILON),
    };
    return lanes;
}

/* T(G)^2 */
SIMD_FOR_AVX512 static inline __m512d squared_gradient(__m512d gradient, __m512d l1, int form)
{
    if (form == FORM_ELASTIC) {
        gradient = _mm512_sub_pd(_mm512_abs_pd(gradient), l1);
        gradient = _mm512_max_pd(gradient, _mm512_setzero_pd());
    }
    return _mm512_mul_pd(gradient, gradient);
}

/* What both children gain, as a fraction, by the packed sums of left ones; which of `lanes`
   have enough hessian. The operations are those of cut_gain. */
SIMD_FOR_AVX512 static inline __mmask8 children_gains(__m512i sum, const CutLanes *cuts,
                                                      int form, __mmask8 lanes,
                                                      __m512d *numerator_out,
                                                      __m512d *denominator_out)
{
    __m512i left = _mm512_and_si512(_mm512_sra_epi64(sum, cuts->hessian_at),
                                    cuts->hessian_mask);
    __m512d hl = _mm512_cvtepi64_pd(left);
    __m512d gl = _mm512_cvtepi64_pd(_mm512_sra_epi64(sum, cuts->gradient_at));
    __m512d gr = _mm512_mul_pd(_mm512_sub_pd(cuts->gradient, gl), cuts->gradient_unit);
    __m512d hr = _mm512_mul_pd(_mm512_sub_pd(cuts->hessian, hl), cuts->hessian_unit);
    gl = _mm512_mul_pd(gl, cuts->gradient_unit);
    hl = _mm512_mul_pd(hl, cuts->hessian_unit);
    lanes = _mm512_mask_cmp_pd_mask(lanes, hl, cuts->least_hessian, _CMP_GE_OQ);
    lanes = _mm512_mask_cmp_pd_mask(lanes, hr, cuts->least_hessian, _CMP_GE_OQ);
    hl = _mm512_add_pd(_mm512_add_pd(hl, cuts->l2), cuts->epsilon);
    hr = _mm512_add_pd(_mm512_add_pd(hr, cuts->l2), cuts->epsilon);
    gl = _mm512_mul_pd(squared_gradient(gl, cuts->l1, form), hr);
    gr = _mm512_mul_pd(squared_gradient(gr, cuts->l1, form), hl);
    *numerator_out = _mm512_add_pd(gl, gr);
    *denominator_out = _mm512_mul_pd(hl, hr);
    return lanes;
}

/* The largest gain of n cuts, by the packed sums up to each, and its number; 0: there is none
   above `others`. *gains_inout: whether any cut gains something. `extra`: the packed sums of
   missing values if they go left. A cut behind a bin without rows repeats the one before, so of
   equal gains the last counts if missing values go left, and the first otherwise.

   A gain is a fraction less `needed`. Only those are divided whose numerators are as large as
   those of gains that count. */
SIMD_FOR_AVX512 static double largest_gain_avx512(
    const int64_t *sum, int n, const Encoding *encoding, const NodeStats *node,
    const SplitRules *rules, int form, int64_t extra, int missing_left, double others,
    int *cut_out, int *gains_inout)
{
    const CutLanes cuts = cut_lanes(encoding, node, rules);
    const __m512i missing = _mm512_set1_epi64(extra);
    const double needed = node->gain + rules->min_gain;
    const double noise = MIN_RELATIVE_GAIN * fabs(node->gain);
    const __m512d above_noise = _mm512_set1_pd((needed + noise) * (1 + ROUNDING_SHARE));
    double top = 0, least = next_larger(noise);
    int gains = *gains_inout, best = 0;
    __m512d ratio = _mm512_set1_pd(
        (needed + (least > others ? least : others)) * (1 - ROUNDING_SHARE));
    for (int i = 0; i < n; i += SPLIT_WIDTH) {
        __m512d numerator, denominator;
        __m512i x = _mm512_add_epi64(_mm512_loadu_si512(sum + i), missing);
        __m512i count = _mm512_and_si512(x, cuts.count_mask);
        __mmask8 enough = _mm512_cmpge_epi64_mask(count, cuts.fewest);
        __mmask8 lanes = _mm512_mask_cmple_epi64_mask(enough, count, cuts.most);
        if (enough && !lanes)
            break;
        if (!lanes)
            continue;
        lanes = children_gains(x, &cuts, form, lanes, &numerator, &denominator);
        if (!gains)
            gains = 0 != _mm512_mask_cmp_pd_mask(
                lanes, numerator, _mm512_mul_pd(above_noise, denominator), _CMP_GT_OQ);
        lanes = _mm512_mask_cmp_pd_mask(
            lanes, numerator, _mm512_mul_pd(ratio, denominator), _CMP_NLT_UQ);
        if (!lanes)
            continue;
        __m512d gain = _mm512_sub_pd(_mm512_div_pd(numerator, denominator),
                                     _mm512_set1_pd(needed));
        lanes = _mm512_mask_cmp_pd_mask(lanes, gain, _mm512_set1_pd(least), _CMP_GE_OQ);
        if (!lanes)
            continue;
        top = _mm512_mask_reduce_max_pd(lanes, gain);
        lanes = _mm512_mask_cmp_pd_mask(lanes, gain, _mm512_set1_pd(top), _CMP_EQ_OQ);
        best = i + (missing_left ? 31 - __builtin_clz(lanes) : lowest_bit(lanes));
        least = missing_left ? top : next_larger(top);
        ratio = _mm512_set1_pd(
            (needed + (top > others ? top : others)) * (1 - ROUNDING_SHARE));
    }
    /* What fills up the last vector repeats the last cut. */
    *cut_out = best < n ? best : n - 1;
    *gains_inout = gains | (top > 0);
    return top;
}

/* The same as search_feature where suits_avx512 says so. All bins but the last are cuts: to list
   only those that hold rows would take longer than to visit the others. `sum`: room for a sum of
   each bin and SCRATCH_ROOM more. */
SIMD_FOR_AVX512 static int search_avx512(const Bins *bins, const Encoding *encoding,
                                         const FeatureSet *set, int feature,
                                         const NodeStats *node, const SplitRules *rules,
                                         int form, Sums missing, int64_t *sum, Split *best_out)
{
    int gains = 0, bin = 0, n = bins->n_bins - 1;
    sum_cuts_avx512(bins, sum);
    for (int left = 1; left >= (missing.count ? 0 : 1); left--) {
        double others = set->factor ? 0 : best_out->gain - rules->min_gain;
        int64_t extra = left && missing.count ? bins->gradient[bins->missing_bin] : 0;
        double top = largest_gain_avx512(sum, n, encoding, node, rules, form, extra, left,
                                         others, &bin, &gains);
        if (!gains && others > 0) /* it may be passed over if it is nearly none */
            top = largest_gain_avx512(sum, n, encoding, node, rules, form, extra, left, 0, &bin,
                                      &gains);
        improve(top * gain_factor(set, feature), feature, bin, left, rules, best_out);
    }
    return gains;
}
#endif

/* Improves *best_out by the best cut of one feature; whether any cut gains something. Equal
   gains: missing values left first, then as cut_bin says. `scratch`: as many shares as
   SCRATCH_CUTS says, or SCRATCH_BOUNDED. */
static SIMD_INLINE int search_feature(const Bins *bins, const Encoding *encoding,
                                      const FeatureSet *set, int feature,
                                      const NodeStats *node, const SplitRules *rules, int form,
                                      double *scratch, Split *best_out)
{
    int size = bins->n_bins + SCRATCH_ROOM;
    double *gain = scratch + 2 * size;
    int32_t *numbers = (int32_t *)(gain + size);
    Cuts cuts = {scratch, scratch + size, numbers, numbers + size, 0, 0};
    double *bounds = scratch + SCRATCH_SHARES * size;
    CutLimits limits = {bounds, bounds + size, bounds + 2 * size, bounds + 3 * size,
                        form == FORM_BOUNDED ? set->monotone->sign[feature] : 0};
    Sums none = {0, 0, 0}, missing = none;
    double needed = node->gain + rules->min_gain;
    int64_t most = node->sums.count - rules->min_count, least;
    if (bins->missing_bin >= 0)
        missing = bin_sums(bins, bins->missing_bin, encoding);
#ifdef SIMD_FOR_AVX512
    if (suits_avx512(bins, encoding, set, form))
        return search_avx512(bins, encoding, set, feature, node, rules, form, missing,
                             (int64_t *)scratch, best_out);
#endif
    least = rules->min_count - missing.count;
    if (encoding->compact)
        list_cuts_compact(bins, encoding, least, most, (int64_t *)gain, &cuts);
    else
        list_cuts(bins, encoding, least, most, &cuts);
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
        double top = cut_gains(&cuts, left ? missing : none, node, needed, &limits, form,
                               rules, gain);
        double weighed = top * gain_factor(set, feature);
        gains |= top > 0;
        if (weighed <= 0 || !improves(weighed + rules->min_gain, feature, best_out))
            continue;
        int i = left ? cuts.n - 1 : cuts.first;
        while (gain[i] != top)
            i += left ? -1 : 1;
        best_out->gain = weighed + rules->min_gain;
        best_out->feature = feature;
        best_out->bin = cut_bin(&cuts, i, left);
        best_out->missing_left = left;
    }
    return gains;
}

/* The left sides of the only cuts of n features: their stored bins, or what those leave of
   the node. */
static SIMD_INLINE void list_singles(const Histogram *histogram, int64_t at, int n,
                                     const Encoding *encoding, const Sums *node,
                                     int implied_left, Cuts *cuts)
{
    const Encoding local = *encoding;
    const int64_t *restrict g = histogram->gradient + at;
    const int64_t *restrict h = histogram->hessian + at;
    const int32_t *restrict c = histogram->count + at;
    const int64_t total_g = node->gradient, total_h = node->hessian;
    const int32_t total_c = (int32_t)node->count;
    double *restrict gradient = cuts->gradient, *restrict hessian = cuts->hessian;
    int32_t *restrict count = cuts->count;
    if (encoding->compact) {
        for (int i = 0; i < n; i++) {
            Sums part = unpack(g[i], &local);
            gradient[i] = (double)(implied_left ? total_g - part.gradient : part.gradient);
            hessian[i] = (double)(implied_left ? total_h - part.hessian : part.hessian);
            count[i] = (int32_t)(implied_left ? total_c - part.count : part.count);
        }
    } else if (implied_left) {
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

/* Improves *best_out by the only cuts of n features, from `feature` on, which have two bins
   each, one of them implied. */
static SIMD_INLINE void search_singles(const Binned *data, const Encoding *encoding,
                                       const Histogram *histogram, const FeatureSet *set,
                                       int feature, int n, const NodeStats *node,
                                       const SplitRules *rules, int form, Split *best_out)
{
    const uint8_t *searched = set->searched + feature;
    double gradient[SINGLES_BLOCK], hessian[SINGLES_BLOCK], gain[SINGLES_BLOCK];
    int32_t count[SINGLES_BLOCK];
    Cuts cuts = {gradient, hessian, count, NULL, 0, n};
    const Sums none = {0, 0, 0};
    if (!memchr(searched, 1, (size_t)n))
        return;
    list_singles(histogram, data->offset[feature], n, encoding, &node->sums,
                 data->implied[feature] == 0, &cuts);
    cut_gains(&cuts, none, node, node->gain + rules->min_gain, NULL, form, rules, gain);
    if (set->splittable_out) {
        uint8_t *restrict splittable = set->splittable_out + feature;
        for (int j = 0; j < n; j++)
            splittable[j] &= (uint8_t)(!searched[j] | (gain[j] > 0));
    }
    for (int j = 0; j < n; j++)
        gain[j] = searched[j] ? gain[j] : -1.0;
    double top = largest_gain(gain, n);
    int i = 0;
    if (top <= 0 || top + rules->min_gain < best_out->gain)
        return;
    while (gain[i] != top)
        i++;
    if (!improves(top + rules->min_gain, feature + i, best_out))
        return;
    best_out->gain = top + rules->min_gain;
    best_out->feature = feature + i;
    best_out->bin = 0;
    best_out->missing_left = 1;
}

/* How many features, from the i-th on, one call of search_singles may take; 0: none. */
static SIMD_INLINE int singles_ahead(const Binned *data, const FeatureSet *set, int i,
                                     int form)
{
    int together = !set->cut && !set->factor && form != FORM_BOUNDED;
    int n = together ? data->singles[set->features[i]] : 0;
    if (n > 1 && !set->consecutive)
        n = 1;
    n = n < set->n - i ? n : set->n - i;
    return n < SINGLES_BLOCK ? n : SINGLES_BLOCK;
}

/* Searches all features of a set with one form of the gain formula. */
static SIMD_INLINE void search_form(const Binned *data, const Encoding *encoding,
                                    const Histogram *histogram, const FeatureSet *set,
                                    const NodeStats *node, const SplitRules *rules, int form,
                                    double *scratch, Split *best_out)
{
    const Encoding local_encoding = *encoding;
    const SplitRules local_rules = *rules;
    for (int i = 0, n; i < set->n; i += n) {
        int feature = set->features[i];
        int singles = singles_ahead(data, set, i, form);
        n = singles > 1 ? singles : 1;
        if (singles) {
            search_singles(data, &local_encoding, histogram, set, feature, singles, node,
                           &local_rules, form, best_out);
            continue;
        }
        if (!set->searched[feature])
            continue;
        int size = data->n_bins[feature] + SCRATCH_ROOM;
        Bins bins = feature_bins(data, histogram, feature, &node->sums, &local_encoding,
                                 (int64_t *)(scratch + SCRATCH_CUTS * size));
        int gains =
            data->categorical[feature]
                ? search_categories(&bins, &local_encoding, feature, gain_factor(set, feature),
                                    node, &local_rules, scratch, best_out)
                : search_feature(&bins, &local_encoding, set, feature, node, &local_rules, form,
                                 scratch, best_out);
        if (!gains && set->splittable_out)
            set->splittable_out[feature] = 0;
    }
}

/* Improves *best_out by the best split of a set of features; ties go to the first. */
static SIMD_INLINE void search_features_body(const Binned *data, const Encoding *encoding,
                                             const Histogram *histogram, const FeatureSet *set,
                                             const NodeStats *node, const SplitRules *rules,
                                             double *scratch, Split *best_out)
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

SIMD_KERNEL(search_features,
            (const Binned *data, const Encoding *encoding, const Histogram *histogram,
             const FeatureSet *set, const NodeStats *node, const SplitRules *rules,
             double *scratch, Split *best_out),
            (data, encoding, histogram, set, node, rules, scratch, best_out))

#endif
