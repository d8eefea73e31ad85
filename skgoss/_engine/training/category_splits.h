/* The search for the best split of a categorical feature in one node: some categories against the
   others.

   Bin 0 holds missing, rare and unknown categories and never goes left. With few bins, each
   category is tried against all others. With many, the categories are sorted by G / (H +
   cat_smooth), because the best set of them is then a prefix or a suffix (Fisher, "On grouping
   for maximum homogeneity", JASA 53, 1958). Those of at most max_cat_threshold categories are
   tried from both ends, the low one first, with leaf outputs that are shrunk by cat_l2. The rules
   are LightGBM's, except that limits of rows hold for their exact number in addition to the sum
   of their hessians.

   The Split of such a feature has in `bin` the category (few bins) or the number of categories
   that are taken, and in `missing_left` whether they are taken from the low end. */
#ifndef SKGOSS_CATEGORIES_H
#define SKGOSS_CATEGORIES_H

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gains.h"

/* The doubles that a search needs, for two lists of ranks and bins: no more than SCRATCH_CUTS
   arrays. */
#define CATEGORY_SCRATCH(n_bins) (4 * (size_t)(n_bins))

/* Up to this number of categories, sorting is by insertion. */
#define MAX_INSERTION_SORT 24

/* If a list is longer than its ends, and than MAX_INSERTION_SORT, by this factor, the ends are
   found by a sample. */
#define MIN_LENGTH_FACTOR 16
#define SAMPLED_RANKS 32

/* Bins that are skipped together if none has enough rows. */
#define CATEGORY_BLOCK 32

/* Ranks and bins, in separate arrays, whose elements are swapped faster than pairs. */
typedef struct {
    double *rank;
    int32_t *bin;
} Categories;

/* The bins of n categories at one end: bin[0], bin[step], ..., with a step of 1 or -1. */
typedef struct {
    const int32_t *bin;
    int n;
    int step;
} CategoryEnd;

/* The order of categories: by rank, then by bin. */
static inline int comes_before(double rank, int32_t bin, double other_rank, int32_t other_bin)
{
    return (rank < other_rank) | ((rank == other_rank) & (bin < other_bin));
}

/* Copies element `from` of a list to `to`. */
static inline void move_category(Categories list, int from, int to)
{
    list.rank[to] = list.rank[from];
    list.bin[to] = list.bin[from];
}

/* Sets an element of a list. */
static inline void put_category(double rank, int32_t bin, Categories list, int index)
{
    list.rank[index] = rank;
    list.bin[index] = bin;
}

/* Sorts the first n elements of a list. */
static inline void insertion_sort(Categories list, int n)
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

/* Moves the categories before a pivot to the front, and the pivot behind them; returns its
   position. There are no branches, half of which would be mispredicted. */
static inline int partition_categories(Categories list, int n)
{
    /* Ranks may follow the bins, so the position of the pivot is as good as random. */
    int index = (int)((n * 2654435769u >> 8) % (uint32_t)n), front = 0;
    double pivot = list.rank[index];
    int32_t pivot_bin = list.bin[index];
    move_category(list, n - 1, index);
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

/* Sorts the first `n_low` and the last `n_high` categories of a list: quicksort that skips ranges
   outside of both. */
static inline void sort_ends(Categories list, int n, int n_low, int n_high)
{
    while (n > MAX_INSERTION_SORT && (n_low > 0 || n_high > 0)) {
        int n_lower = partition_categories(list, n), n_upper = n - n_lower - 1;
        Categories upper = {list.rank + n_lower + 1, list.bin + n_lower + 1};
        if (n_lower < n_upper) { /* recursion into the shorter range keeps the stack short */
            sort_ends(list, n_lower, n_low, n_high - n_upper - 1);
            list = upper;
            n = n_upper;
            n_low -= n_lower + 1;
        } else {
            sort_ends(upper, n_upper, n_low - n_lower - 1, n_high);
            n = n_lower;
            n_high -= n_upper + 1;
        }
    }
    if (n_low > 0 || n_high > 0)
        insertion_sort(list, n);
}

/* Keeps the categories of a list up to a rank that is estimated from a sample, so that they
   probably contain the first `n_ends`, and lists in `high` those that probably contain the last
   `n_ends`. Returns 0 if fewer are kept or listed than that. n: the length of the list. The
   rank is about twice as far from the end, in the sorted sample, as n_ends / n asks for. */
static inline int keep_ends(Categories list, int n, int n_ends, int *n_low_out, Categories high,
                            int *n_high_out)
{
    double sample[SAMPLED_RANKS];
    const int index = 2 + 2 * SAMPLED_RANKS * n_ends / n;
    int n_low = 0, n_high = 0;
    for (int i = 0; i < SAMPLED_RANKS; i++) {
        double rank = list.rank[(ptrdiff_t)i * n / SAMPLED_RANKS];
        int j = i;
        for (; j > 0 && rank < sample[j - 1]; j--)
            sample[j] = sample[j - 1];
        sample[j] = rank;
    }
    const double lowest = sample[index], highest = sample[SAMPLED_RANKS - 1 - index];
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
    return n_low >= n_ends && n_high >= n_ends;
}

/* Whether each category is tried against all others. */
static inline int is_one_hot(int n_bins, const SplitRules *rules)
{
    return n_bins <= rules->max_cat_to_onehot;
}

/* The l2 of the children's outputs. */
static inline double categories_l2(int n_bins, const SplitRules *rules)
{
    return is_one_hot(n_bins, rules) ? rules->l2 : rules->l2 + rules->cat_l2;
}

/* Whether all bins in [first, last) have fewer than `min_count` rows: all differences are
   negative, so their signs remain in a bitwise and. */
static inline int are_rare(const Bins *bins, const Encoding *encoding, int first, int last,
                           int32_t min_count)
{
    if (encoding->compact) {
        const int64_t mask = ((int64_t)1 << encoding->count_bits) - 1;
        int64_t signs = -1;
        for (int b = first; b < last; b++)
            signs &= (bins->gradient[b] & mask) - min_count;
        return signs < 0;
    }
    int32_t signs = -1;
    for (int b = first; b < last; b++)
        signs &= bins->count[b] - min_count;
    return signs < 0;
}

/* Lists the categories with at least cat_smooth rows and the sum of hessians of as many rows, with
   their ranks, in the order of the bins. Returns their number. */
static inline int list_categories(const Bins *bins, const Encoding *encoding,
                                  const NodeStats *node, const SplitRules *rules,
                                  Categories list)
{
    const double smooth = rules->cat_smooth < INT32_MAX ? rules->cat_smooth : INT32_MAX;
    const int32_t min_count = smooth > 1 ? (int32_t)ceil(smooth) : 1;
    double min_hessian = hessian_of_rows(rules->cat_smooth, node->sums, rules);
    int used = 0;
    for (int first = 1; first < bins->n_bins; first += CATEGORY_BLOCK) {
        int last = first + CATEGORY_BLOCK < bins->n_bins ? first + CATEGORY_BLOCK : bins->n_bins;
        if (are_rare(bins, encoding, first, last, min_count))
            continue;
        for (int b = first; b < last; b++) {
            Sums sums = bin_sums(bins, b, encoding);
            double gradient = (double)sums.gradient * rules->gradient_unit;
            double hessian = (double)sums.hessian * rules->hessian_unit;
            double rank = sums.gradient ? gradient / (hessian + rules->cat_smooth) : 0;
            put_category(rank, b, list, used);
            used += (sums.count >= min_count) & (hessian >= min_hessian);
        }
    }
    return used;
}

/* Sorts the categories as far as the search may take them from the low end (ends_out[1]) and from
   the high end (ends_out[0]), but at most `n_low` and `n_high` of them. */
static inline void rank_categories(const Bins *bins, const Encoding *encoding,
                                   const NodeStats *node, const SplitRules *rules, int n_low,
                                   int n_high, double *scratch, CategoryEnd *ends_out)
{
    double *second = scratch + CATEGORY_SCRATCH(bins->n_bins) / 2;
    Categories low = {scratch, (int32_t *)(scratch + bins->n_bins)};
    Categories high = {second, (int32_t *)(second + bins->n_bins)};
    int used = list_categories(bins, encoding, node, rules, low), low_used, high_used;
    int max_taken = bins->n_bins / 2;
    max_taken = max_taken < rules->max_cat_threshold ? max_taken : rules->max_cat_threshold;
    max_taken = max_taken < (used + 1) / 2 ? max_taken : (used + 1) / 2;
    n_low = n_low < max_taken ? n_low : max_taken;
    n_high = n_high < max_taken ? n_high : max_taken;
    int is_long = used > MIN_LENGTH_FACTOR * MAX_INSERTION_SORT
                  && used > MIN_LENGTH_FACTOR * max_taken;
    if (is_long && !keep_ends(low, used, max_taken, &low_used, high, &high_used)) {
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
static inline int end_bin(const CategoryEnd *end, int i)
{
    return end->bin[i * end->step];
}

/* The sums of two sets of rows. */
static inline Sums add_sums(Sums a, Sums b)
{
    Sums sums = {a.gradient + b.gradient, a.hessian + b.hessian, a.count + b.count};
    return sums;
}

/* The gain minus `needed` (of the node as a leaf, and min_gain) of a left side with these sums; -1:
   it is not allowed. */
static inline double side_gain(Sums left, const NodeStats *node, double needed,
                               const SplitRules *rules)
{
    Sums none = {0, 0, 0};
    Limits limits = {node->lower, node->upper, node->lower, node->upper, 0};
    return cut_gain((double)left.gradient, (double)left.hessian, (double)left.count, none,
                    node, needed, limits, gain_form(rules), rules);
}

/* Whether a side has enough rows and hessians. hessian: an integer, in units of the rules;
   min_hessian: a number. */
static inline int holds_enough(int64_t count, int64_t hessian, int64_t min_count,
                               double min_hessian, const SplitRules *rules)
{
    return count >= min_count && (double)hessian * rules->hessian_unit >= min_hessian;
}

/* Finds the best number of categories to take from one end, of equal ones the smallest; returns
   its gain minus `needed`. Two numbers that are tried differ by at least min_data_per_group rows.
   */
static inline double search_end(const CategoryEnd *end, const Bins *bins,
                                const Encoding *encoding, const NodeStats *node,
                                double needed, const SplitRules *rules, int *taken_out)
{
    int64_t min_count_right = rules->min_count > rules->min_data_per_group
                              ? rules->min_count
                              : rules->min_data_per_group;
    double min_hessian_right = min_child_hessian((double)min_count_right, node->sums, rules);
    Sums left = {0, 0, 0};
    int64_t n_tried = 0; /* rows on the left when the last number was tried */
    double top = 0;
    for (int i = 0; i < end->n; i++) {
        left = add_sums(left, bin_sums(bins, end_bin(end, i), encoding));
        if (!holds_enough(left.count, left.hessian, rules->min_count, node->min_child_hessian,
                          rules))
            continue;
        if (!holds_enough(node->sums.count - left.count, node->sums.hessian - left.hessian,
                          min_count_right, min_hessian_right, rules))
            break;
        if (left.count - n_tried < rules->min_data_per_group)
            continue;
        n_tried = left.count;
        double gain = side_gain(left, node, needed, rules);
        if (gain > top) {
            top = gain;
            *taken_out = i + 1;
        }
    }
    return top;
}

/* Replaces *best_out by the best split of one categorical feature if that is better; gains are
   multiplied by `factor`. Returns whether any split has a gain. `scratch`: see CATEGORY_SCRATCH.
   */
static inline int search_categories(const Bins *bins, const Encoding *encoding, int feature,
                                    double factor, const NodeStats *node,
                                    const SplitRules *rules, double *scratch,
                                    Split *best_out)
{
    double needed = node->gain + rules->min_gain;
    SplitRules child_rules = *rules;
    CategoryEnd ends[2];
    int gains = 0;
    if (is_one_hot(bins->n_bins, rules)) {
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

/* Writes which bins go left by a split that search_categories has found in the same bins; returns
   their sums. */
static inline Sums category_set(const Bins *bins, const Encoding *encoding,
                                const NodeStats *node, const SplitRules *rules,
                                const Split *split, double *scratch, uint8_t *goes_left_out)
{
    const int is_low = split->missing_left;
    CategoryEnd ends[2];
    Sums left = {0, 0, 0};
    memset(goes_left_out, 0, (size_t)bins->n_bins);
    if (is_one_hot(bins->n_bins, rules)) {
        goes_left_out[split->bin] = 1;
        return bin_sums(bins, split->bin, encoding);
    }
    rank_categories(bins, encoding, node, rules, is_low ? split->bin : 0,
                    is_low ? 0 : split->bin, scratch, ends);
    for (int i = 0; i < split->bin; i++) {
        int b = end_bin(&ends[is_low], i);
        goes_left_out[b] = 1;
        left = add_sums(left, bin_sums(bins, b, encoding));
    }
    return left;
}

#endif
