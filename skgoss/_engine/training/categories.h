/* The search for the best split of a categorical feature in one node: some categories
   against the others.

   Bin 0 holds missing, rare and unknown categories and never goes left. Of few bins each
   category is tried against the rest. Of many, the categories are put in order of
   G / (H + cat_smooth), as the best set of them is then a first or last part of the order
   (Fisher, "On grouping for maximum homogeneity", JASA 53, 1958); parts of at most
   max_cat_threshold categories are tried from both ends, the low one first, with
   leaf outputs that cat_l2 holds back. The rules are LightGBM's, but that a limit on rows is
   one on their exact number and on their curvature, where LightGBM knows the latter alone.

   A Split of such a feature holds in `bin` the category (few bins), or how many are taken,
   and in `missing_left` whether from the low end. */
#ifndef SKGOSS_CATEGORIES_H
#define SKGOSS_CATEGORIES_H

#include <stdlib.h>
#include <string.h>

#include "gains.h"

/* Bytes that a search takes, aligned as doubles; no more than the cuts of search_feature. */
#define CATEGORY_SCRATCH(n_bins) (2 * (size_t)(n_bins) * sizeof(Category))

/* So many categories are sorted; of more, those at the ends are selected. */
#define SORTED_CATEGORIES 64

/* Bins that are skipped together where none has enough rows. */
#define CATEGORY_BLOCK 32

typedef struct {
    double rank;
    int32_t bin; /* at the high end rank and bin are negative, so that lowest is first */
} Category;

/* The categories at one end: a heap with the last of them on top, at last a sorted list. The
   high end of a list that is sorted as a whole begins at its end, and its step is -1. */
typedef struct {
    Category *list;
    int n;
    int room;
    int step;
} CategoryEnd;

static inline int comes_before(Category a, Category b)
{
    return a.rank < b.rank || (a.rank == b.rank && a.bin < b.bin);
}

/* Restores the heap below place i. */
static inline void sift(Category *heap, int i, int n)
{
    Category moved = heap[i];
    for (int child = 2 * i + 1; child < n; child = 2 * i + 1) {
        child += child + 1 < n && comes_before(heap[child], heap[child + 1]);
        if (!comes_before(moved, heap[child]))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

static inline void make_heap(CategoryEnd *end)
{
    for (int i = end->n / 2 - 1; i >= 0; i--)
        sift(end->list, i, end->n);
}

/* Keeps the category if it is among the first `room` so far. */
static inline void offer(Category category, CategoryEnd *end)
{
    if (end->n < end->room) {
        end->list[end->n++] = category;
        if (end->n == end->room)
            make_heap(end);
    } else if (comes_before(category, end->list[0])) {
        end->list[0] = category;
        sift(end->list, 0, end->n);
    }
}

static inline void sort_end(CategoryEnd *end)
{
    make_heap(end);
    for (int last = end->n - 1; last > 0; last--) {
        Category top = end->list[0];
        end->list[0] = end->list[last];
        end->list[last] = top;
        sift(end->list, 0, last);
    }
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

static inline void sort_few(Category *list, int n)
{
    for (int i = 1; i < n; i++) {
        Category moved = list[i];
        int j = i;
        for (; j > 0 && comes_before(moved, list[j - 1]); j--)
            list[j] = list[j - 1];
        list[j] = moved;
    }
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
                                  Category *list_out)
{
    const double smooth = rules->cat_smooth < INT32_MAX ? rules->cat_smooth : INT32_MAX;
    const int32_t least = smooth > 1 ? (int32_t)ceil(smooth) : 1;
    double least_sum = curvature(rules->cat_smooth, node->sums, rules);
    int used = 0;
    for (int first = 1; first < bins->n_bins; first += CATEGORY_BLOCK) {
        int last = first + CATEGORY_BLOCK < bins->n_bins ? first + CATEGORY_BLOCK : bins->n_bins;
        if (are_rare(bins, encoding, first, last, least))
            continue;
        for (int b = first; b < last; b++) {
            Sums sums = bin_sums(bins, b, encoding);
            double gradient = (double)sums.gradient * rules->gradient_unit;
            double hessian = (double)sums.hessian * rules->hessian_unit;
            if (sums.count < least || hessian < least_sum)
                continue;
            list_out[used].rank = sums.gradient ? gradient / (hessian + rules->cat_smooth) : 0;
            list_out[used++].bin = b;
        }
    }
    return used;
}

/* The first categories of a list at each end, sorted, in memory of their own. */
static inline void select_ends(const Category *list, int used, int room, Category *memory,
                               CategoryEnd *ends_out)
{
    for (int low = 0; low < 2; low++) {
        CategoryEnd end = {memory + low * room, 0, room, 1};
        for (int i = 0; i < used; i++) {
            Category category = list[i];
            if (!low) {
                category.rank = -category.rank;
                category.bin = -category.bin;
            }
            offer(category, &end);
        }
        sort_end(&end);
        ends_out[low] = end;
    }
}

/* Sorts the categories as far as the search may go from the low end (ends_out[1]) and from the
   high one (ends_out[0]). */
static inline void rank_categories(const Bins *bins, const Encoding *encoding,
                                   const NodeStats *node, const SplitRules *rules,
                                   void *scratch, CategoryEnd *ends_out)
{
    Category *list = (Category *)scratch;
    int used = list_categories(bins, encoding, node, rules, list);
    int room = bins->n_bins / 2;
    room = room < rules->max_cat_threshold ? room : rules->max_cat_threshold;
    if (used <= SORTED_CATEGORIES) {
        CategoryEnd low = {list, used, room, 1}, high = {list + used - (used > 0), used, room, -1};
        sort_few(list, used);
        ends_out[0] = high;
        ends_out[1] = low;
    } else {
        select_ends(list, used, room, list + bins->n_bins, ends_out);
    }
    for (int low = 0; low < 2; low++) {
        int most = (used + 1) / 2 < room ? (used + 1) / 2 : room;
        ends_out[low].n = ends_out[low].n < most ? ends_out[low].n : most;
    }
}

/* The bin of the i-th category from an end. */
static inline int bin_at(const CategoryEnd *end, int i)
{
    return abs(end->list[i * end->step].bin);
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
    double hessian_right = least_hessian((double)least_right, node->sums, rules);
    Sums left = {0, 0, 0};
    int64_t tried = 0; /* rows on the left when last a number was tried */
    double top = 0;
    for (int i = 0; i < end->n; i++) {
        left = add_sums(left, bin_sums(bins, bin_at(end, i), encoding));
        if (!holds_enough(left.count, left.hessian, rules->min_count, node->least_hessian,
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
                                    const SplitRules *rules, void *scratch,
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
    rank_categories(bins, encoding, node, rules, scratch, ends);
    for (int low = 1; low >= 0; low--) {
        int taken = 0;
        double gain =
            search_end(&ends[low], bins, encoding, node, needed, &child_rules, &taken);
        gains |= gain > 0;
        improve(factor * gain, feature, taken, low, rules, best_out);
    }
    return gains;
}

/* Which bins go left by a split that search_categories found on the same bins. */
static inline void category_set(const Bins *bins, const Encoding *encoding,
                                const NodeStats *node, const SplitRules *rules,
                                const Split *split, void *scratch,
                                uint8_t *goes_left_out)
{
    CategoryEnd ends[2];
    memset(goes_left_out, 0, (size_t)bins->n_bins);
    if (one_against_rest(bins->n_bins, rules)) {
        goes_left_out[split->bin] = 1;
        return;
    }
    rank_categories(bins, encoding, node, rules, scratch, ends);
    for (int i = 0; i < split->bin; i++)
        goes_left_out[bin_at(&ends[split->missing_left], i)] = 1;
}

#endif
