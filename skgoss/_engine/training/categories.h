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

/* Bytes that a search takes, aligned as doubles; less than search_feature's. */
#define CATEGORY_SCRATCH(n_bins) ((size_t)(n_bins) * sizeof(Category))

typedef struct {
    double rank;
    int32_t bin; /* at the high end rank and bin are negative, so that lowest is first */
} Category;

/* The categories at one end: a heap with the last of them on top, at last a sorted list. */
typedef struct {
    Category *list;
    int n;
    int room;
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

/* Sorts the categories with cat_smooth rows and their curvature as far as the search may go
   from the low end (ends_out[1]) and from the high one (ends_out[0]). */
static inline void rank_categories(const Bins *bins, const Encoding *encoding,
                                   const NodeStats *node, const SplitRules *rules,
                                   void *scratch, CategoryEnd *ends_out)
{
    double least = curvature(rules->cat_smooth, node->sums, rules);
    int room = bins->n_bins / 2, used = 0;
    room = room < rules->max_cat_threshold ? room : rules->max_cat_threshold;
    for (int low = 0; low < 2; low++) {
        CategoryEnd end = {(Category *)scratch + low * room, 0, room};
        ends_out[low] = end;
    }
    for (int b = 1; b < bins->n_bins; b++) {
        Sums sums = bin_sums(bins, b, encoding);
        if (sums.count == 0 || (double)sums.count < rules->cat_smooth)
            continue;
        double gradient = (double)sums.gradient * rules->gradient_unit;
        double hessian = (double)sums.hessian * rules->hessian_unit;
        if (hessian < least)
            continue;
        double rank = sums.gradient ? gradient / (hessian + rules->cat_smooth) : 0;
        Category low = {rank, b}, high = {-rank, -b};
        offer(low, &ends_out[1]);
        offer(high, &ends_out[0]);
        used++;
    }
    for (int low = 0; low < 2; low++) {
        sort_end(&ends_out[low]);
        if (ends_out[low].n > (used + 1) / 2)
            ends_out[low].n = (used + 1) / 2;
    }
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
        left = add_sums(left, bin_sums(bins, abs(end->list[i].bin), encoding));
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
        goes_left_out[abs(ends[split->missing_left].list[i].bin)] = 1;
}

#endif
