/* The search for the best split of one feature in a packed histogram, by AVX-512.

   All bins but the last are cuts: to list only those that contain rows would take longer than to
   visit the others. A gain is a fraction minus what a split must gain, and two passes find the
   largest one without a division for each cut. The first compares sixteen fractions with the best
   one so far, in floats, and skips those that are clearly smaller. The second one has the
   operations of `cut_gain`, on eight cuts at a time. */
#ifndef SKGOSS_SPLIT_AVX512_H
#define SKGOSS_SPLIT_AVX512_H

#include <math.h>
#include <string.h>

#include "bits.h"
#include "gains.h"
#include "layout.h"
#include "simd.h"

/* Doubles of a vector. */
#define SPLIT_WIDTH 8

/* The node, the number format and the rules, as the gains of cuts use them. */
typedef struct {
    int form;
    int64_t min_count, max_count; /* rows on the left */
    int64_t count_mask;
    int64_t hessian_mask;
    int hessian_shift, gradient_shift;
    double gradient_unit, hessian_unit;
    double gradient, hessian;
    double min_child_hessian, l1, l2;
    double needed; /* the gain of the children must be larger than this ... */
    double noise;  /* ... by more than this */
    /* For the first pass, in floats: gradients are the highest 32 bits of their sums, and gains
       are in units of these numbers. */
    int has_floats;
    int high_shift; /* of gradients */
    int32_t high_gradient, total_hessian, low_hessian_mask;
    float max_lost; /* by the lower bits of a gradient, in units of the highest 32 */
    float regularization;
    double units_per_gain;
} NodeCuts;

/* Upper bounds of the relative rounding errors of gains, in doubles and in floats. */
#define ROUNDING_ERROR 1e-14
#define FLOAT_ERROR 1e-5

/* Whether products of integers and floats of about this size neither overflow nor underflow. */
static inline int fits_float(double x)
{
    return x > 1e-18 && x < 1e18;
}

/* The next larger double, of one that is not negative. */
static inline double next_larger(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits++;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Adds what the first pass needs, if floats can represent it. Gradients lose their lowest n_lost
   bits, so that the highest 32 bits of an addend hold them. */
static inline void add_floats(const Encoding *encoding, const NodeStats *node,
                              const SplitRules *rules, NodeCuts *cuts)
{
    const int shift = encoding->addend_gradient_shift, n_lost = shift < 32 ? 32 - shift : 0;
    const double gradient_unit = cuts->gradient_unit * (double)((int64_t)1 << n_lost);
    const double regularization = (rules->l2 + HESSIAN_EPSILON) / cuts->hessian_unit;
    cuts->has_floats = cuts->form == FORM_RIDGE && cuts->hessian_mask <= INT32_MAX
                       && fits_float(regularization);
    if (!cuts->has_floats)
        return;
    cuts->high_shift = shift + n_lost;
    cuts->high_gradient = (int32_t)(node->sums.gradient >> n_lost);
    cuts->total_hessian = (int32_t)node->sums.hessian;
    cuts->low_hessian_mask = (int32_t)cuts->hessian_mask;
    cuts->max_lost = n_lost > 0;
    cuts->regularization = (float)regularization;
    cuts->units_per_gain = cuts->hessian_unit / (gradient_unit * gradient_unit);
}

/* The node, the number format and the rules of the cuts of a node's features. */
static inline NodeCuts node_cuts(const Encoding *encoding, const NodeStats *node,
                                 const SplitRules *rules, int form)
{
    const int bits = encoding->count_bits, up = encoding->addend_gradient_shift;
    const int constant = encoding->constant_hessian;
    NodeCuts cuts = {
        .form = form,
        .min_count = rules->min_count,
        .max_count = node->sums.count - rules->min_count,
        .count_mask = ((int64_t)1 << bits) - 1,
        .hessian_mask = ((int64_t)1 << (constant ? bits : up - bits)) - 1,
        .hessian_shift = constant ? 0 : bits,
        .gradient_shift = up,
        .gradient_unit = rules->gradient_unit,
        .hessian_unit = rules->hessian_unit,
        .gradient = (double)node->sums.gradient,
        .hessian = (double)node->sums.hessian,
        .min_child_hessian = node->min_child_hessian,
        .l1 = rules->l1,
        .l2 = rules->l2,
        .needed = node->gain + rules->min_gain,
        .noise = MIN_RELATIVE_GAIN * fabs(node->gain),
    };
    add_floats(encoding, node, rules, &cuts);
    return cuts;
}

/* Whether search_avx512 may search those of a node's features that have no bitset of occupied
   bins. */
static inline int suits_avx512(const Encoding *encoding, const FeatureSet *set, int form)
{
#ifdef SIMD_FOR_AVX512
    return simd_level == SIMD_AVX512 && encoding->compact && !set->cut
           && (form == FORM_RIDGE || form == FORM_ELASTIC);
#else
    return 0;
#endif
}

#ifdef SIMD_FOR_AVX512
#include <immintrin.h>

/* The last of eight integers, in all elements. */
SIMD_FOR_AVX512 static inline __m512i broadcast_last(__m512i x)
{
    return _mm512_permutexvar_epi64(_mm512_set1_epi64(7), x);
}

/* The first of eight integers. */
SIMD_FOR_AVX512 static inline int64_t first_element(__m512i x)
{
    return _mm_cvtsi128_si64(_mm512_castsi512_si128(x));
}

/* The prefix sums of eight integers. */
SIMD_FOR_AVX512 static inline __m512i prefix_sums_of_vector(__m512i x)
{
    const __m512i up1 = _mm512_setr_epi64(0, 0, 1, 2, 3, 4, 5, 6);
    const __m512i up2 = _mm512_setr_epi64(0, 0, 0, 1, 2, 3, 4, 5);
    const __m512i up4 = _mm512_setr_epi64(0, 0, 0, 0, 0, 1, 2, 3);
    x = _mm512_add_epi64(x, _mm512_maskz_permutexvar_epi64(0xfe, up1, x));
    x = _mm512_add_epi64(x, _mm512_maskz_permutexvar_epi64(0xfc, up2, x));
    return _mm512_add_epi64(x, _mm512_maskz_permutexvar_epi64(0xf0, up4, x));
}

/* The prefix sums of eight integers plus *carry, which becomes the last one in all elements. */
SIMD_FOR_AVX512 static inline __m512i prefix_sums(__m512i x, __m512i *carry)
{
    x = prefix_sums_of_vector(x);
    __m512i sum = _mm512_add_epi64(x, *carry);
    *carry = _mm512_add_epi64(broadcast_last(x), *carry);
    return sum;
}

/* The packed sums up to each bin in [first, last), plus `carry`, and sixteen times the last of
   them. Returns that one, in all elements. */
SIMD_FOR_AVX512 static __m512i sum_bins_avx512(const int64_t *packed, int first, int last,
                                               __m512i carry, int64_t *sum_out)
{
    int b = first;
    for (; b + SPLIT_WIDTH <= last; b += SPLIT_WIDTH) {
        __m512i x = _mm512_loadu_si512(packed + b);
        _mm512_storeu_si512(sum_out + b, prefix_sums(x, &carry));
    }
    if (b < last) {
        __mmask8 inside = (__mmask8)((1u << (last - b)) - 1);
        __m512i x = _mm512_maskz_loadu_epi64(inside, packed + b);
        _mm512_storeu_si512(sum_out + b, prefix_sums(x, &carry));
    }
    _mm512_storeu_si512(sum_out + last, carry);
    _mm512_storeu_si512(sum_out + last + SPLIT_WIDTH, carry);
    return carry;
}

/* The packed sums up to each bin but the last. The missing bin counts as empty: its rows are added
   to the left sides later. */
SIMD_FOR_AVX512 static void sum_cuts_avx512(const Bins *bins, int64_t *sum_out)
{
    int last = bins->n_bins - 1;
    int middle = bins->missing_bin >= 0 ? bins->missing_bin : last;
    __m512i carry = _mm512_setzero_si512();
    carry = sum_bins_avx512(bins->gradient, 0, middle, carry, sum_out);
    if (middle + 1 < last)
        sum_bins_avx512(bins->gradient, middle + 1, last, carry, sum_out);
}

/* The 32 bits of sixteen packed sums from bit number `bit` on. */
SIMD_FOR_AVX512 static inline __m512i bits_from(__m512i first, __m512i second, int bit)
{
    const __m512i low_halves =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m128i shift = _mm_cvtsi32_si128(bit);
    return _mm512_permutex2var_epi32(_mm512_sra_epi64(first, shift), low_halves,
                                     _mm512_sra_epi64(second, shift));
}

/* An upper bound of the squares of sixteen gradients, from their highest 32 bits: the lost bits can
   add at most max_lost to a gradient's size. */
SIMD_FOR_AVX512 static inline __m512 squared_high(__m512i gradient, const NodeCuts *cuts)
{
    __m512 x = _mm512_add_ps(_mm512_abs_ps(_mm512_cvtepi32_ps(gradient)),
                             _mm512_set1_ps(cuts->max_lost));
    return _mm512_mul_ps(x, x);
}

/* Sixteen hessians plus the regularization (l2), in floats and in units of the hessians. */
SIMD_FOR_AVX512 static inline __m512 regularized(__m512i hessian, const NodeCuts *cuts)
{
    return _mm512_add_ps(_mm512_cvtepi32_ps(hessian), _mm512_set1_ps(cuts->regularization));
}

/* Whether any of sixteen cuts may reach the limit of float_limit: always if one does, and seldom
   otherwise. `sum`: the packed sums up to each cut, to which `missing` is added. */
SIMD_FOR_AVX512 static inline int may_gain(const int64_t *sum, __m512i missing,
                                           const NodeCuts *cuts, float limit)
{
    __m512i first = _mm512_add_epi64(_mm512_loadu_si512(sum), missing);
    __m512i second = _mm512_add_epi64(_mm512_loadu_si512(sum + SPLIT_WIDTH), missing);
    __m512i left = bits_from(first, second, cuts->high_shift);
    __m512i right = _mm512_sub_epi32(_mm512_set1_epi32(cuts->high_gradient), left);
    __m512 gl = squared_high(left, cuts), gr = squared_high(right, cuts);
    left = _mm512_and_si512(bits_from(first, second, cuts->hessian_shift),
                            _mm512_set1_epi32(cuts->low_hessian_mask));
    right = _mm512_sub_epi32(_mm512_set1_epi32(cuts->total_hessian), left);
    __m512 hl = regularized(left, cuts), hr = regularized(right, cuts);
    __m512 numerator = _mm512_fmadd_ps(gl, hr, _mm512_mul_ps(gr, hl));
    __m512 required = _mm512_mul_ps(_mm512_set1_ps(limit), _mm512_mul_ps(hl, hr));
    return _mm512_cmp_ps_mask(numerator, required, _CMP_NLT_UQ) != 0;
}

/* The limit of may_gain for fractions of at least `min_gain`; NaN, which all cuts reach, if a
   float cannot represent it. */
static inline float float_limit(double min_gain, const NodeCuts *cuts)
{
    double limit = min_gain * cuts->units_per_gain * (1 - FLOAT_ERROR);
    return fits_float(limit) ? (float)limit : NAN;
}

/* T(G)^2 */
SIMD_FOR_AVX512 static inline __m512d squared_gradient(__m512d gradient, const NodeCuts *cuts)
{
    if (cuts->form == FORM_ELASTIC) {
        gradient = _mm512_sub_pd(_mm512_abs_pd(gradient), _mm512_set1_pd(cuts->l1));
        gradient = _mm512_max_pd(gradient, _mm512_setzero_pd());
    }
    return _mm512_mul_pd(gradient, gradient);
}

/* The gains of both children of eight cuts as fractions, from the packed sums of the left ones.
   Returns a mask of the cuts with enough rows and hessians. The operations are those of cut_gain.
   */
SIMD_FOR_AVX512 static inline __mmask8 children_gains(__m512i sum, const NodeCuts *cuts,
                                                      __m512d *numerator_out,
                                                      __m512d *denominator_out)
{
    const __m512d gradient_unit = _mm512_set1_pd(cuts->gradient_unit);
    const __m512d hessian_unit = _mm512_set1_pd(cuts->hessian_unit);
    const __m512d min_child_hessian = _mm512_set1_pd(cuts->min_child_hessian);
    const __m512d l2 = _mm512_set1_pd(cuts->l2), epsilon = _mm512_set1_pd(HESSIAN_EPSILON);
    __m512i count = _mm512_and_si512(sum, _mm512_set1_epi64(cuts->count_mask));
    __m512i left = _mm512_and_si512(_mm512_sra_epi64(sum, _mm_cvtsi32_si128(cuts->hessian_shift)),
                                    _mm512_set1_epi64(cuts->hessian_mask));
    __m512d hl = _mm512_cvtepi64_pd(left);
    const __m128i gradient_shift = _mm_cvtsi32_si128(cuts->gradient_shift);
    __m512d gl = _mm512_cvtepi64_pd(_mm512_sra_epi64(sum, gradient_shift));
    __m512d gr = _mm512_mul_pd(_mm512_sub_pd(_mm512_set1_pd(cuts->gradient), gl), gradient_unit);
    __m512d hr = _mm512_mul_pd(_mm512_sub_pd(_mm512_set1_pd(cuts->hessian), hl), hessian_unit);
    gl = _mm512_mul_pd(gl, gradient_unit);
    hl = _mm512_mul_pd(hl, hessian_unit);
    __mmask8 lanes = _mm512_cmpge_epi64_mask(count, _mm512_set1_epi64(cuts->min_count));
    lanes = _mm512_mask_cmple_epi64_mask(lanes, count, _mm512_set1_epi64(cuts->max_count));
    lanes = _mm512_mask_cmp_pd_mask(lanes, hl, min_child_hessian, _CMP_GE_OQ);
    lanes = _mm512_mask_cmp_pd_mask(lanes, hr, min_child_hessian, _CMP_GE_OQ);
    hl = _mm512_add_pd(_mm512_add_pd(hl, l2), epsilon);
    hr = _mm512_add_pd(_mm512_add_pd(hr, l2), epsilon);
    gl = _mm512_mul_pd(squared_gradient(gl, cuts), hr);
    gr = _mm512_mul_pd(squared_gradient(gr, cuts), hl);
    *numerator_out = _mm512_add_pd(gl, gr);
    *denominator_out = _mm512_mul_pd(hl, hr);
    return lanes;
}

/* The best cut so far of a feature. */
typedef struct {
    double top;      /* its gain; 0: none is larger than that of other features */
    double min_gain; /* of a better cut */
    double limit;    /* of the fraction of a better cut */
    float float_limit;
    int cut;
    int gains; /* whether any cut has a gain */
} BestCut;

/* Sets the limits for cuts that gain at least `min_gain`, and as much as another feature. */
static inline void raise_limit(double min_gain, double other_gain, const NodeCuts *cuts,
                               BestCut *best)
{
    best->min_gain = min_gain;
    best->limit = cuts->needed + (min_gain > other_gain ? min_gain : other_gain);
    best->float_limit = float_limit(best->limit, cuts);
}

/* Compares eight cuts, from number `cut` on, with the best one, by the packed sums up to each. A
   cut behind an empty bin repeats the one before it. So of equal gains, the last one wins if
   missing values go left, and the first one otherwise: see cut_bin. */
SIMD_FOR_AVX512 static inline void try_cuts(__m512i sum, int cut, int missing_left,
                                            double other_gain, const NodeCuts *cuts, BestCut *best)
{
    __m512d numerator, denominator;
    __mmask8 lanes = children_gains(sum, cuts, &numerator, &denominator);
    if (!best->gains) {
        __m512d min_gain = _mm512_set1_pd((cuts->needed + cuts->noise) * (1 + ROUNDING_ERROR));
        best->gains = 0 != _mm512_mask_cmp_pd_mask(
            lanes, numerator, _mm512_mul_pd(min_gain, denominator), _CMP_GT_OQ);
    }
    __m512d limit = _mm512_set1_pd(best->limit * (1 - ROUNDING_ERROR));
    lanes = _mm512_mask_cmp_pd_mask(lanes, numerator, _mm512_mul_pd(limit, denominator),
                                    _CMP_NLT_UQ);
    if (!lanes)
        return;
    __m512d gain = _mm512_sub_pd(_mm512_div_pd(numerator, denominator),
                                 _mm512_set1_pd(cuts->needed));
    lanes = _mm512_mask_cmp_pd_mask(lanes, gain, _mm512_set1_pd(best->min_gain), _CMP_GE_OQ);
    if (!lanes)
        return;
    double top = best->top = _mm512_mask_reduce_max_pd(lanes, gain);
    lanes = _mm512_mask_cmp_pd_mask(lanes, gain, _mm512_set1_pd(top), _CMP_EQ_OQ);
    best->cut = cut + (missing_left ? 31 - __builtin_clz(lanes) : lowest_bit(lanes));
    raise_limit(missing_left ? top : next_larger(top), other_gain, cuts, best);
}

/* The best of n cuts, by the packed sums up to each. `extra`: the packed sums of missing values if
   they go left; `gains`: whether a cut has had a gain before. */
SIMD_FOR_AVX512 static BestCut best_cut_avx512(const int64_t *sum, int n, int64_t extra,
                                               int missing_left, double other_gain, int gains,
                                               const NodeCuts *cuts_in)
{
    const NodeCuts cuts = *cuts_in;
    const __m512i missing = _mm512_set1_epi64(extra);
    BestCut best = {.gains = gains};
    raise_limit(next_larger(cuts.noise), other_gain, &cuts, &best);
    for (int i = 0; i < n; i += 2 * SPLIT_WIDTH) {
        int second = i + SPLIT_WIDTH;
        if (((sum[second + SPLIT_WIDTH - 1] + extra) & cuts.count_mask) < cuts.min_count)
            continue;
        if (((sum[i] + extra) & cuts.count_mask) > cuts.max_count)
            break;
        if (best.gains && cuts.has_floats && !may_gain(sum + i, missing, &cuts, best.float_limit))
            continue;
        try_cuts(_mm512_add_epi64(_mm512_loadu_si512(sum + i), missing), i, missing_left,
                 other_gain, &cuts, &best);
        if (second < n)
            try_cuts(_mm512_add_epi64(_mm512_loadu_si512(sum + second), missing), second,
                     missing_left, other_gain, &cuts, &best);
    }
    /* The elements that fill up the last vectors repeat the last cut. */
    if (best.cut >= n)
        best.cut = n - 1;
    best.gains |= best.top > 0;
    return best;
}

/* As search_feature, if suits_avx512. `sum` has n_bins + SCRATCH_PADDING integers. */
SIMD_FOR_AVX512 static int search_avx512(const Bins *bins, const FeatureSet *set, int feature,
                                         const SplitRules *rules, const NodeCuts *cuts,
                                         int has_missing, int64_t *sum, Split *best_out)
{
    int n = bins->n_bins - 1;
    BestCut best = {.gains = 0};
    sum_cuts_avx512(bins, sum);
    for (int left = 1; left >= (has_missing ? 0 : 1); left--) {
        double other_gain = set->factor ? 0 : best_out->gain - rules->min_gain;
        int64_t extra = left && has_missing ? bins->gradient[bins->missing_bin] : 0;
        best = best_cut_avx512(sum, n, extra, left, other_gain, best.gains, cuts);
        if (!best.gains && other_gain > 0) /* the limit may have hidden a gain that is tiny */
            best = best_cut_avx512(sum, n, extra, left, 0, 0, cuts);
        improve(best.top * gain_factor(set, feature), feature, best.cut,
                has_missing ? left : NONE_MISSING, rules, best_out);
    }
    return best.gains;
}
#endif

#endif
