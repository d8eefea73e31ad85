/* The search for the best split of one feature in a packed histogram, by AVX-512.

   All bins but the last are cuts: to list only those that hold rows would take longer than to
   visit the others. A gain is a fraction less what a split must gain, and two passes find the
   largest one without a division for each cut. The first compares sixteen fractions with the
   best one so far, in floats, and passes over those that are clearly smaller. The second one has
   the operations of `cut_gain`, on eight cuts at a time. */
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

/* What the gains of cuts need of the node, the number format and the rules. */
typedef struct {
    int form;
    int64_t fewest, most; /* rows on the left */
    int64_t count_mask;
    int64_t hessian_mask;
    int hessian_at, gradient_at; /* their lowest bits */
    double gradient_unit, hessian_unit;
    double gradient, hessian;
    double min_child_hessian, l1, l2;
    double needed; /* what a split must gain, ... */
    double noise;  /* ... and by how much more */
    /* The same in floats: sums are the 32 highest bits, and gains in units of theirs. */
    int has_floats;
    int high_at; /* the lowest bit of gradients */
    int32_t high_gradient, all_hessian, all_hessian_mask;
    float lost; /* by a gradient whose lower bits are left out, at most */
    float regularization;
    double units_per_gain;
} NodeCuts;

/* Rounding moves a gain by less than this share of it, and one that is computed in floats. */
#define ROUNDING_SHARE 1e-14
#define FLOAT_SHARE 1e-5

/* Whether products of floats of about this size and of integers neither overflow nor vanish. */
static inline int is_of_floats(double x)
{
    return x > 1e-18 && x < 1e18;
}

/* The next larger double of one that is not negative. */
static inline double next_larger(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits++;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline void add_floats(const Encoding *encoding, const NodeStats *node,
                              const SplitRules *rules, NodeCuts *cuts)
{
    const int n_lost = encoding->addend_gradient_shift < 32 ? 32 - encoding->addend_gradient_shift : 0;
    const double gradient_unit = cuts->gradient_unit * (double)((int64_t)1 << n_lost);
    const double regularization = (rules->l2 + HESSIAN_EPSILON) / cuts->hessian_unit;
    cuts->has_floats = cuts->form == FORM_RIDGE && cuts->hessian_mask <= INT32_MAX
                       && is_of_floats(regularization);
    if (!cuts->has_floats)
        return;
    cuts->high_at = encoding->addend_gradient_shift + n_lost;
    cuts->high_gradient = (int32_t)(node->sums.gradient >> n_lost);
    cuts->all_hessian = (int32_t)node->sums.hessian;
    cuts->all_hessian_mask = (int32_t)cuts->hessian_mask;
    cuts->lost = n_lost > 0;
    cuts->regularization = (float)regularization;
    cuts->units_per_gain = cuts->hessian_unit / (gradient_unit * gradient_unit);
}

static inline NodeCuts node_cuts(const Encoding *encoding, const NodeStats *node,
                                 const SplitRules *rules, int form)
{
    const int bits = encoding->count_bits, up = encoding->addend_gradient_shift;
    const int constant = encoding->constant_hessian;
    NodeCuts cuts = {
        .form = form,
        .fewest = rules->min_count,
        .most = node->sums.count - rules->min_count,
        .count_mask = ((int64_t)1 << bits) - 1,
        .hessian_mask = ((int64_t)1 << (constant ? bits : up - bits)) - 1,
        .hessian_at = constant ? 0 : bits,
        .gradient_at = up,
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

/* Whether search_avx512 may search a node's features, where no bits say which bins hold rows. */
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

/* The packed sums up to each bin in [first, last), on top of `before`, and the last of them in
   the sixteen values behind. Returns that one, everywhere. */
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
    _mm512_storeu_si512(sum_out + last + SPLIT_WIDTH, before);
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

/* Sixteen packed sums from one bit on. */
SIMD_FOR_AVX512 static inline __m512i ints_from(__m512i first, __m512i second, int bit)
{
    const __m512i low_halves =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m128i shift = _mm_cvtsi32_si128(bit);
    return _mm512_permutex2var_epi32(_mm512_sra_epi64(first, shift), low_halves,
                                     _mm512_sra_epi64(second, shift));
}

/* The square of a gradient, or of one that is larger by what it may have lost. */
SIMD_FOR_AVX512 static inline __m512 squared_high(__m512i gradient, const NodeCuts *cuts)
{
    __m512 x = _mm512_add_ps(_mm512_abs_ps(_mm512_cvtepi32_ps(gradient)),
                             _mm512_set1_ps(cuts->lost));
    return _mm512_mul_ps(x, x);
}

SIMD_FOR_AVX512 static inline __m512 regularized(__m512i hessian, const NodeCuts *cuts)
{
    return _mm512_add_ps(_mm512_cvtepi32_ps(hessian), _mm512_set1_ps(cuts->regularization));
}

/* Whether any of sixteen cuts may gain as much as float_limit says: if one does, and seldom if
   none does. `sum`: the packed sums up to each; `missing`: more of them. */
SIMD_FOR_AVX512 static inline int may_gain(const int64_t *sum, __m512i missing,
                                           const NodeCuts *cuts, float limit)
{
    __m512i first = _mm512_add_epi64(_mm512_loadu_si512(sum), missing);
    __m512i second = _mm512_add_epi64(_mm512_loadu_si512(sum + SPLIT_WIDTH), missing);
    __m512i left = ints_from(first, second, cuts->high_at);
    __m512i right = _mm512_sub_epi32(_mm512_set1_epi32(cuts->high_gradient), left);
    __m512 gl = squared_high(left, cuts), gr = squared_high(right, cuts);
    left = _mm512_and_si512(ints_from(first, second, cuts->hessian_at),
                            _mm512_set1_epi32(cuts->all_hessian_mask));
    right = _mm512_sub_epi32(_mm512_set1_epi32(cuts->all_hessian), left);
    __m512 hl = regularized(left, cuts), hr = regularized(right, cuts);
    __m512 numerator = _mm512_fmadd_ps(gl, hr, _mm512_mul_ps(gr, hl));
    __m512 least = _mm512_mul_ps(_mm512_set1_ps(limit), _mm512_mul_ps(hl, hr));
    return _mm512_cmp_ps_mask(numerator, least, _CMP_NLT_UQ) != 0;
}

/* The limit of may_gain for fractions of `least`; NaN, which all reach, if floats cannot say. */
static inline float float_limit(double least, const NodeCuts *cuts)
{
    double limit = least * cuts->units_per_gain * (1 - FLOAT_SHARE);
    return is_of_floats(limit) ? (float)limit : NAN;
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

/* What both children gain, as a fraction, by the packed sums of left ones; which of the lanes
   have enough rows and hessian. The operations are those of cut_gain. */
SIMD_FOR_AVX512 static inline __mmask8 children_gains(__m512i sum, const NodeCuts *cuts,
                                                      __m512d *numerator_out,
                                                      __m512d *denominator_out)
{
    const __m512d gradient_unit = _mm512_set1_pd(cuts->gradient_unit);
    const __m512d hessian_unit = _mm512_set1_pd(cuts->hessian_unit);
    const __m512d min_child_hessian = _mm512_set1_pd(cuts->min_child_hessian);
    const __m512d l2 = _mm512_set1_pd(cuts->l2), epsilon = _mm512_set1_pd(HESSIAN_EPSILON);
    __m512i count = _mm512_and_si512(sum, _mm512_set1_epi64(cuts->count_mask));
    __m512i left = _mm512_and_si512(_mm512_sra_epi64(sum, _mm_cvtsi32_si128(cuts->hessian_at)),
                                    _mm512_set1_epi64(cuts->hessian_mask));
    __m512d hl = _mm512_cvtepi64_pd(left);
    __m512d gl = _mm512_cvtepi64_pd(_mm512_sra_epi64(sum, _mm_cvtsi32_si128(cuts->gradient_at)));
    __m512d gr = _mm512_mul_pd(_mm512_sub_pd(_mm512_set1_pd(cuts->gradient), gl), gradient_unit);
    __m512d hr = _mm512_mul_pd(_mm512_sub_pd(_mm512_set1_pd(cuts->hessian), hl), hessian_unit);
    gl = _mm512_mul_pd(gl, gradient_unit);
    hl = _mm512_mul_pd(hl, hessian_unit);
    __mmask8 lanes = _mm512_cmpge_epi64_mask(count, _mm512_set1_epi64(cuts->fewest));
    lanes = _mm512_mask_cmple_epi64_mask(lanes, count, _mm512_set1_epi64(cuts->most));
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
    double top;   /* its gain; 0: none above `others` */
    double least; /* what a better one gains, at least */
    double limit; /* of the fractions of gains that count */
    float float_limit;
    int cut;
    int gains; /* whether any cut gains something */
} BestCut;

/* Makes cuts count that gain `least`, or more than others do. */
static inline void raise_limit(double least, double others, const NodeCuts *cuts, BestCut *best)
{
    best->least = least;
    best->limit = cuts->needed + (least > others ? least : others);
    best->float_limit = float_limit(best->limit, cuts);
}

/* Improves the best cut by eight cuts, by the packed sums up to each, from number `cut` on. A cut
   behind a bin without rows repeats the one before, so of equal gains the last counts if missing
   values go left, and the first otherwise. */
SIMD_FOR_AVX512 static inline void try_cuts(__m512i sum, int cut, int missing_left,
                                            double others, const NodeCuts *cuts, BestCut *best)
{
    __m512d numerator, denominator;
    __mmask8 lanes = children_gains(sum, cuts, &numerator, &denominator);
    if (!best->gains) {
        __m512d least = _mm512_set1_pd((cuts->needed + cuts->noise) * (1 + ROUNDING_SHARE));
        best->gains = 0 != _mm512_mask_cmp_pd_mask(
            lanes, numerator, _mm512_mul_pd(least, denominator), _CMP_GT_OQ);
    }
    __m512d limit = _mm512_set1_pd(best->limit * (1 - ROUNDING_SHARE));
    lanes = _mm512_mask_cmp_pd_mask(lanes, numerator, _mm512_mul_pd(limit, denominator),
                                    _CMP_NLT_UQ);
    if (!lanes)
        return;
    __m512d gain = _mm512_sub_pd(_mm512_div_pd(numerator, denominator),
                                 _mm512_set1_pd(cuts->needed));
    lanes = _mm512_mask_cmp_pd_mask(lanes, gain, _mm512_set1_pd(best->least), _CMP_GE_OQ);
    if (!lanes)
        return;
    double top = best->top = _mm512_mask_reduce_max_pd(lanes, gain);
    lanes = _mm512_mask_cmp_pd_mask(lanes, gain, _mm512_set1_pd(top), _CMP_EQ_OQ);
    best->cut = cut + (missing_left ? 31 - __builtin_clz(lanes) : lowest_bit(lanes));
    raise_limit(missing_left ? top : next_larger(top), others, cuts, best);
}

/* The best of n cuts, by the packed sums up to each. `extra`: those of missing values if they go
   left; `gains`: whether any cut gained something before. */
SIMD_FOR_AVX512 static BestCut best_cut_avx512(const int64_t *sum, int n, int64_t extra,
                                               int missing_left, double others, int gains,
                                               const NodeCuts *given)
{
    const NodeCuts cuts = *given;
    const __m512i missing = _mm512_set1_epi64(extra);
    BestCut best = {.gains = gains};
    raise_limit(next_larger(cuts.noise), others, &cuts, &best);
    for (int i = 0; i < n; i += 2 * SPLIT_WIDTH) {
        int second = i + SPLIT_WIDTH;
        if (((sum[second + SPLIT_WIDTH - 1] + extra) & cuts.count_mask) < cuts.fewest)
            continue;
        if (((sum[i] + extra) & cuts.count_mask) > cuts.most)
            break;
        if (best.gains && cuts.has_floats && !may_gain(sum + i, missing, &cuts, best.float_limit))
            continue;
        try_cuts(_mm512_add_epi64(_mm512_loadu_si512(sum + i), missing), i, missing_left, others,
                 &cuts, &best);
        if (second < n)
            try_cuts(_mm512_add_epi64(_mm512_loadu_si512(sum + second), missing), second,
                     missing_left, others, &cuts, &best);
    }
    /* What fills up the last vectors repeats the last cut. */
    if (best.cut >= n)
        best.cut = n - 1;
    best.gains |= best.top > 0;
    return best;
}

/* The same as search_feature where suits_avx512 says so. `sum`: room for a sum of each bin and
   SCRATCH_PADDING more. */
SIMD_FOR_AVX512 static int search_avx512(const Bins *bins, const FeatureSet *set, int feature,
                                         const SplitRules *rules, const NodeCuts *cuts,
                                         int has_missing, int64_t *sum, Split *best_out)
{
    int n = bins->n_bins - 1;
    BestCut best = {.gains = 0};
    sum_cuts_avx512(bins, sum);
    for (int left = 1; left >= (has_missing ? 0 : 1); left--) {
        double others = set->factor ? 0 : best_out->gain - rules->min_gain;
        int64_t extra = left && has_missing ? bins->gradient[bins->missing_bin] : 0;
        best = best_cut_avx512(sum, n, extra, left, others, best.gains, cuts);
        if (!best.gains && others > 0) /* it may be passed over if it is nearly none */
            best = best_cut_avx512(sum, n, extra, left, 0, 0, cuts);
        improve(best.top * gain_factor(set, feature), feature, best.cut,
                has_missing ? left : NONE_MISSING, rules, best_out);
    }
    return best.gains;
}
#endif

#endif
