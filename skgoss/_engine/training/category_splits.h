/* The search for the best split of a categorical feature in one node: some categories
   against the others.

   Bin 0 holds missing, rare and unknown categories and never goes left. Of few bins each
   category is tried against the rest. Of many, the categories are put in order of
   G / (H + cat_smooth), as the best set of them is then a prefix or suffix of the order
   (Fisher, "On grouping for maximum homogeneity", JASA 53, 1958); those of at most
   max_cat_threshold categories are tried from both ends, the low one first, with
   leaf outputs that cat_l2 holds back. The rules are LightGBM's, but that a limit on rows is
   one on their exact number and on their curvature, where LightGBM knows the latter alone.

   A Split of such a feature holds in `bin` the category (few bins), or how many are taken,
   and in `missing_left` whether from the low end. */
#ifndef SKGOSS_CATEGORIES_H
#define SKGOSS_CATEGORIES_H

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gains.h"

/* Doubles that a search takes, for two lists of ranks and bins; no more than the cuts of
   search_feature. */
#define CATEGORY_SCRATCH(n_bins) (4 * (size_t)(n_bins))

/* Up to this number of categories, sorting is by insertion. */
#define FEW_CATEGORIES 24

/* The ends of a list that is this many times as long are found by a sample. */
#define TIMES_AS_LONG 16
#define SAMPLED_RANKS 32

/* Bins that are skipped together where none has enough rows. */
#define CATEGORY_BLOCK 32

/* Ranks and bins, in arrays of their own: they are swapped faster than pairs. */
typedef struct {
    double *rank;
    int32_t *bin;
} Categories;

/* The bins of the categories at one end: they follow the first one in steps of 1 or -1. */
typedef struct {
    const int32_t *bin;
    int n;
    int step;
} CategoryEnd;

static inline int comes_before(double rank, int32_t bin, double other_rank, int32_t other_bin)
{
    return (rank < other_rank) | ((rank == other_rank) & (bin < other_bin));
}

static inline void move_category(Categories list, int from, int to)
{
    list.rank[to] = list.rank[from];
    list.bin[to] = list.bin[from];
}

static inline void put_category(double rank, int32_t bin, Categories list, int at)
{
    list.rank[at] = rank;
    list.bin[at] = bin;
}

static inline void sort_few(Categories list, int n)
{
    for (int i = 1; i < n; i++) {
        double rank = list.rank[i];
        int32_t bin = list.bin[i];
        int j = i;
        for (; j > 0 && comes_before(rank, bin, list.rank[j - 1], list.bin[j - 1]); j--)
            move_category(list, j - 1, j);
        put_category(rank, bin, list, j);
    }
}

/* Moves what comes before a pivot to the front, and the pivot behind it; returns its position.
   Without branches, as half of them would be mispredicted. */
static inline int partition_categories(Categories list, int n)
{
    /* Ranks may follow the bins, so the position of the pivot is as good as random. */
    int at = (int)((n * 2654435769u >> 8) % (uint32_t)n), front = 0;
    double pivot = list.rank[at];
    int32_t pivot_bin = list.bin[at];
    move_category(list, n - 1, at);
    for (int i = 0; i < n - 1; i++) {
        double rank = list.rank[i];
        int32_t bin = list.bin[i];
        move_category(list, front, i);
        put_category(rank, bin, list, front);
        front += comes_before(rank, bin, pivot, pivot_bin);
    }
    move_category(list, front, n - 1);
    put_category(pivot, pivot_bin, list, front);
    return front;
}

/* Puts the first `n_low` and the last `n_high` categories of a list where they belong, sorted:
   quicksort that leaves ranges alone of which none is asked. */
static inline void sort_ends(Categories list, int n, int n_low, int n_high)
{
    while (n > FEW_CATEGORIES && (n_low > 0 || n_high > 0)) {
        int before = partition_categories(list, n), after = n - before - 1;
        Categories rest = {list.rank + before + 1, list.bin + before + 1};
        if (before < after) { /* the shorter range is done first, so the stack stays short */
            sort_ends(list, before, n_low, n_high - after - 1);
            list = rest;
            n = after;
            n_low -= before + 1;
        } else {
            sort_ends(rest, after, n_low - before - 1, n_high);
            n = before;
            n_high -= after + 1;
        }
    }
    if (n_low > 0 || n_high > 0)
        sort_few(list, n);
}

/* Keeps those categories of a list that may be among its first `most`, and lists those that may
   be among the last: up to a rank, and from one on, that a sample says. Returns 0 if these are
   fewer than `most`. */
static inline int keep_ends(Categories list, int n, int most, int *n_low_out, Categories high,
                            int *n_high_out)
{
    double sample[SAMPLED_RANKS];
    const int at = 2 + 2 * SAMPLED_RANKS * most / n;
    int n_low = 0, n_high = 0;
    for (int i = 0; i < SAMPLED_RANKS; i++) {
        double rank = list.rank[(ptrdiff_t)i * n / SAMPLED_RANKS];
        int j = i;
        for (; j > 0 && rank < sample[j - 1]; j--)
            sample[j] = sample[j - 1];
        sample[j] = rank;
    }
    const double lowest = sample[at], highest = sample[SAMPLED_RANKS - 1 - at];
    for (int i = 0; i < n; i++) {
        double rank = list.rank[i];
        int32_t bin = list.bin[i];
        put_category(rank, bin, list, n_low);
        put_category(rank, bin, high, n_high);
        n_low += rank <= lowest;
        n_high += rank >= highest;
    }
    *n_low_out = n_low;
    *n_high_out = n_high;
    return n_low >= most && n_high >= most;
}

static inline int one_against_rest(int n_bins, const SplitRules *rules)
{
    return n_bins <= rules->max_cat_to_onehot;
}

/* The l2 of the children's outputs. */
static inline double categories_l2(int n_bins, const SplitRules *rules)
{
    return one_against_rest(n_bins, rules) ? rules->l2 : rules->l2 + rules->cat_l2;
}

/* Whether no bin in [first, last) has `least` rows: no difference is without a sign. */
static inline int are_rare(const Bins *bins, const Encoding *encoding, int first, int last,
                           int32_t least)
{
    if (encoding->compact) {
        const int64_t mask = ((int64_t)1 << encoding->count_bits) - 1;
        int64_t signs = -1;
        for (int b = first; b < last; b++)
            signs &= (bins->gradient[b] & mask) - least;
        return signs < 0;
    }
    int32_t signs = -1;
    for (int b = first; b < last; b++)
        signs &= bins->count[b] - least;
    return signs < 0;
}

/* Lists the categories with cat_smooth rows and their curvature, with their ranks, in the
   order of the bins. Returns how many there are. */
static inline int list_categories(const Bins *bins, const Encoding *encoding,
                                  const NodeStats *node, const SplitRules *rules,
                                  Categories list)
{
    const double smooth = rules->cat_smooth < INT32_MAX ? rules->cat_smooth : INT32_MAX;
    const int32_t least = smooth > 1 ? (int32_t)ceil(smooth) : 1;
    double least_sum = hessian_of_rows(rules->cat_smooth, node->sums, rules);
    int used = 0;
    for (int first = 1; first < bins->n_bins; first += CATEGORY_BLOCK) {
        int last = first + CATEGORY_BLOCK < bins->n_bins ? first + CATEGORY_BLOCK : bins->n_bins;
        if (are_rare(bins, encoding, first, last, least))
            continue;
        for (int b = first; b < last; b++) {
            Sums sums = bin_sums(bins, b, encoding);
            double gradient = (double)sums.gradient * rules->gradient_unit;
            double hessian = (double)sums.hessian * rules->hessian_unit;
            double rank = sums.gradient ? gradient / (hessian + rules->cat_smooth) : 0;
            put_category(rank, b, list, used);
            used += (sums.count >= least) & (hessian >= least_sum);
        }
    }
    return used;
}

/* Sorts the categories as far as the search may go from the low end (ends_out[1]) and from the
   high one (ends_out[0]), and no more than `n_low` and `n_high` of them. */
static inline void rank_categories(const Bins *bins, const Encoding *encoding,
                                   const NodeStats *node, const SplitRules *rules, int n_low,
                                   int n_high, double *scratch, CategoryEnd *ends_out)
{
    double *second = scratch + CATEGORY_SCRATCH(bins->n_bins) / 2;
    Categories low = {scratch, (int32_t *)(scratch + bins->n_bins)};
    Categories high = {second, (int32_t *)(second + bins->n_bins)};
    int used = list_categories(bins, encoding, node, rules, low), low_used, high_used;
    int most = bins->n_bins / 2;
    most = most < rules->max_cat_threshold ? most : rules->max_cat_threshold;
    most = most < (used + 1) / 2 ? most : (used + 1) / 2;
    n_low = n_low < most ? n_low : most;
    n_high = n_high < most ? n_high : most;
    int is_long = used > TIMES_AS_LONG * FEW_CATEGORIES && used > TIMES_AS_LONG * most;
    if (is_long && !keep_ends(low, used, most, &low_used, high, &high_used)) {
        is_long = 0;
        list_categories(bins, encoding, node, rules, low);
    }
    if (is_long) {
        sort_ends(low, low_used, n_low, 0);
        sort_ends(high, high_used, 0, n_high);
    } else {
        high = low;
        high_used = used;
        sort_ends(low, used, n_low, n_high);
    }
    ends_out[0] = (CategoryEnd){high.bin + high_used - (high_used > 0), n_high, -1};
    ends_out[1] = (CategoryEnd){low.bin, n_low, 1};
}

/* The bin of the i-th category from an end. */
static inline int bin_at(const CategoryEnd *end, int i)
{
    return end->bin[i * end->step];
}

static inline Sums add_sums(Sums a, Sums b)
{
    Sums sums = {a.gradient + b.gradient, a.hessian + b.hessian, a.count + b.count};
    return sums;
}

/* The gain above `needed` of a left side with these sums; -1: not allowed. */
static inline double side_gain(Sums left, const NodeStats *node, double needed,
                               const SplitRules *rules)
{
    Sums none = {0, 0, 0};
    Limits limits = {node->lower, node->upper, node->lower, node->upper, 0};
    return cut_gain((double)left.gradient, (double)left.hessian, (double)left.count, none,
                    node, needed, limits, gain_form(rules), rules);
}

static inline int holds_enough(int64_t count, int64_t hessian, int64_t least_count,
                               double least_sum, const SplitRules *rules)
{
    return count >= least_count && (double)hessian * rules->hessian_unit >= least_sum;
}

/* The best number of categories to take from one end, and its gain above `needed`; the
   smaller one of equals. Between two numbers that are tried lie min_data_per_group rows. */
static inline double search_end(const CategoryEnd *end, const Bins *bins,
                                const Encoding *encoding, const NodeStats *node,
                                double needed, const SplitRules *rules, int *taken_out)
{
    int64_t least_right = rules->min_count > rules->min_data_per_group
                              ? rules->min_count
                              : rules->min_data_per_group;
    double hessian_right = min_child_hessian((double)least_right, node->sums, rules);
    Sums left = {0, 0, 0};
    int64_t tried = 0; /* rows on the left when last a number was tried */
    double top = 0;
    for (int i = 0; i < end->n; i++) {
        left = add_sums(left, bin_sums(bins, bin_at(end, i), encoding));
        if (!holds_enough(left.count, left.hessian, rules->min_count, node->min_child_hessian,
                          rules))
            continue;
        if (!holds_enough(node->sums.count - left.count, node->sums.hessian - left.hessian,
                          least_right, hessian_right, rules))
            break;
        if (left.count - tried < rules->min_data_per_group)
            continue;
        tried = left.count;
        double gain = side_gain(left, node, needed, rules);
        if (gain > top) {
            top = gain;
            *taken_out = i + 1;
        }
    }
    return top;
}

/* Improves *best_out by the best split of one categorical feature, whose gains count
   `factor` times; whether any split gains something. `scratch`: see CATEGORY_SCRATCH. */
static inline int search_categories(const Bins *bins, const Encoding *encoding, int feature,
                                    double factor, const NodeStats *node,
                                    const SplitRules *rules, double *scratch,
                                    Split *best_out)
{
    double needed = node->gain + rules->min_gain;
    SplitRules child_rules = *rules;
    CategoryEnd ends[2];
    int gains = 0;
    if (one_against_rest(bins->n_bins, rules)) {
        for (int b = 1; b < bins->n_bins; b++) {
            double gain = side_gain(bin_sums(bins, b, encoding), node, needed, rules);
            gains |= gain > 0;
            improve(factor * gain, feature, b, 0, rules, best_out);
        }
        return gains;
    }
    child_rules.l2 = categories_l2(bins->n_bins, rules);
    rank_categories(bins, encoding, node, rules, INT_MAX, INT_MAX, scratch, ends);
    for (int low = 1; low >= 0; low--) {
        int taken = 0;
        double gain =
            search_end(&ends[low], bins, encoding, node, needed, &child_rules, &taken);
        gains |= gain > 0;
        improve(factor * gain, feature, taken, low, rules, best_out);
    }
    return gains;
}

/* Which bins go left by a split that search_categories found on the same bins, and their sums. */
static inline Sums category_set(const Bins *bins, const Encoding *encoding,
                                const NodeStats *node, const SplitRules *rules,
                                const Split *split, double *scratch, uint8_t *goes_left_out)
{
    const int is_low = split->missing_left;
    CategoryEnd ends[2];
    Sums left = {0, 0, 0};
    memset(goes_left_out, 0, (size_t)bins->n_bins);
    if (one_against_rest(bins->n_bins, rules)) {
        goes_left_out[split->bin] = 1;
        return bin_sums(bins, split->bin, encoding);
    }
    rank_categories(bins, encoding, node, rules, is_low ? split->bin : 0,
                    is_low ? 0 : split->bin, scratch, ends);
    for (int i = 0; i < split->bin; i++) {
        int b = bin_at(&ends[is_low], i);
        goes_left_out[b] = 1;
        left = add_sums(left, bin_sums(bins, b, encoding));
    }
    return left;
}

#endif
