/* SHAP values of a block of rows: one pass down and up a tree, in vectors over rows.
 *
 * Let each feature be known with probability s, independently of the others. Then a node has the
 * weight P(s), a product over the features j on its path:
 *     P = prod_j (s o_j + (1 - s) z_j),
 *     o_j = 1 if the row takes the path at all nodes of j above, else 0: "on the path" of j,
 *     z_j = the share of the training rows that do.
 * G(s) is the value that is expected below a node of weight 1. The derivative of the expected
 * value of the tree along one feature, integrated over s from 0 to 1, is the SHAP value of the
 * feature (Owen, "Multilinear extensions of games", Management Science 18, 1972). It is a
 * polynomial in s, so Gauss-Legendre points make the integral exact.
 *
 * At a node that tests feature j, with z before its test, the near child's share p of the node's
 * rows, and z' = z p:
 *     P_near = a P,   P_far = P - P_near,   G = G_far + a (G_near - G_far),
 *     SHAP value of j: + f * integral of e P (G_near - G_far) ds,
 *     c = s + (1 - s) z,   e = 1 / c^2,
 *     rows on the path that go near:  a = (s + (1 - s) z') / c,   f = z - z',
 *     rows on the path that go far:   a = (1 - s) z' / c,         f = -z',
 *     rows off the path:              a = p,                      f = 0.
 * For rows on the path, the weight of the node has the factor c of feature j, and that of the near
 * child s o' + (1 - s) z' instead: their ratio is a, and f e is the derivative of a by s.
 * At the first node of j on the path, z = 1, c = 1 and all rows are on the path.
 *
 * Of the two children, `near` is the first: an inner node if there is one.
 *
 * A linear leaf expects the mean of each of its columns that is not known. So its value is
 *     G = b + sum_j v_j s o_j / c_j,
 * with b the value at the means, v_j what the term of column j adds to it, and c_j that of the
 * leaf. In addition to what its weight does, term j adds v_j o_j z_j P / c_j^2 to the derivative
 * along j. Only columns with o_j = 1 count for bounds and missing values. Where the value leaves
 * the bounds, all v_j are made smaller by one factor. Where columns are missing, they share the
 * difference between the value without terms and b, and the others add nothing. */
#ifndef SKGOSS_CONTRIBUTION_KERNELS_H
#define SKGOSS_CONTRIBUTION_KERNELS_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "simd.h"
#include "tree_steps.h"

/* The constants of a node at each point: a (of a fork, G) of rows on the path that go near, and
 * that go far; e; and for pairs (1 - z') / c' of rows that go along, near and far. */
enum { SHAP_NEAR, SHAP_FAR, SHAP_SQUARE, SHAP_ALONG, SHAP_WIDTH = SHAP_ALONG + 2 };
#define SHAP_CONSTANTS (SHAP_WIDTH * SHAP_POINTS)

/* The constants of all nodes of a tree at the points of a pass: rows share them, so divisions
 * are made once a node and not once a row. */
SIMD_KERNEL(shap_fill, (const shap_node *nodes, int64_t n_nodes, const double *known,
             const double *unknown, int with_pairs, double *table_out),
            (nodes, n_nodes, known, unknown, with_pairs, table_out))
{
    for (int64_t i = 0; i < n_nodes; i++, table_out += SHAP_CONSTANTS) {
        const shap_node *node = nodes + i;
        const double z = node->share_above, near = z * node->near_share, far = z - near;
        const double base = node->is_fork ? node->far_value : 0.0;
        const double scale = node->is_fork ? node->difference : 1.0;
        for (int q = 0; q < SHAP_POINTS; q++) {
            const double inverse = node->is_first ? 1.0 : 1.0 / (known[q] + unknown[q] * z);
            const double a = unknown[q] * near * inverse;
            table_out[SHAP_NEAR * SHAP_POINTS + q] = base + scale * (a + known[q] * inverse);
            table_out[SHAP_FAR * SHAP_POINTS + q] = base + scale * a;
            table_out[SHAP_SQUARE * SHAP_POINTS + q] = inverse * inverse;
        }
        for (int q = 0; with_pairs && q < SHAP_POINTS; q++) {
            table_out[SHAP_ALONG * SHAP_POINTS + q]
                = (1.0 - near) / (known[q] + unknown[q] * near);
            table_out[(SHAP_ALONG + 1) * SHAP_POINTS + q]
                = (1.0 - far) / (known[q] + unknown[q] * far);
        }
    }
}

/* A tree as a block of rows meets it; `n` points of the quadrature. */
typedef struct {
    const shap_step *steps;
    int64_t n_steps;
    const shap_pair *pairs;
    const shap_leaf_model *leaf_models;
    const shap_term *terms;
    const double *table;
    const double *known;    /* s */
    const double *unknown;  /* 1 - s */
    const double *weight;
    const double *minus_inverse; /* -1 / (1 - s): (o - z) / c of rows off a path */
    const double *values;
    int64_t stride;         /* between columns of values */
    int n;
    double *P, *G;          /* by place, point and row */
    int64_t *goes_near, *followed; /* by depth and row: see shap_decide */
    double *sum, *pair_sum; /* by slot or pair, and row */
} shap_run;

/* GCC would unroll the loop before it makes vectors of it, and then could not. */
#if defined(__GNUC__)
#define EACH_ROW _Pragma("GCC unroll 1") for (int r = 0; r < SHAP_ROWS; r++)
#else
#define EACH_ROW for (int r = 0; r < SHAP_ROWS; r++)
#endif

/* Which rows go to the near child, and which have followed the path at all nodes above that
 * test the same feature. */
static SIMD_INLINE void shap_decide(const shap_run *run, const shap_step *step,
                                    int64_t *restrict near_out, int64_t *restrict followed_out)
{
    const double *value = run->values + step->column * run->stride;
    const double threshold = step->threshold;
    const int64_t flip = step->flip;
    EACH_ROW near_out[r] = -(int64_t)(value[r] <= threshold) ^ flip;
    if (step->is_first) {
        EACH_ROW followed_out[r] = -1;
    } else {
        const int64_t *near = run->goes_near + (step->edge_above >> 1) * SHAP_ROWS;
        const int64_t *followed = run->followed + (step->edge_above >> 1) * SHAP_ROWS;
        const int64_t far = -(int64_t)(step->edge_above & 1);
        EACH_ROW followed_out[r] = followed[r] & (near[r] ^ far);
    }
}

/* The first number where all bits of the mask are set, the second where none is: in plain bit
 * operations, as SSE2 has no other choice of 64 bits. */
static SIMD_INLINE double shap_choice(int64_t mask, double first, double second)
{
    union { double number; int64_t bits; } one = {first}, other = {second};
    one.bits = (one.bits & mask) | (other.bits & ~mask);
    return one.number;
}

/* The constant of a row: the first if it goes near, the second if it goes far, both of rows
 * that have followed the feature's path, and the third of all others. */
static SIMD_INLINE double shap_chosen(const int is_first, int64_t near, int64_t followed,
                                      double first, double second, double off_path)
{
    const double chosen = shap_choice(near, first, second);
    return is_first ? chosen : shap_choice(followed, chosen, off_path);
}

/* From a node to its children: P_near = a P, P_far = P - P_near. */
static SIMD_INLINE void shap_down(const shap_run *run, const shap_step *step, int n,
                                  const int is_first, const int far_is_leaf)
{
    const int64_t size = n * SHAP_ROWS;
    int64_t *near_out = run->goes_near + (step->place >> 1) * SHAP_ROWS;
    int64_t *followed_out = run->followed + (step->place >> 1) * SHAP_ROWS;
    const double *table = run->table + (int64_t)step->node * SHAP_CONSTANTS;
    const double *restrict P = run->P + step->place * size;
    double *restrict P_near = run->P + ((step->place | 1) + 1) * size;
    double *restrict P_far = P_near + size;
    const double off_path = step->off_path;
    int64_t near[SHAP_ROWS], followed[SHAP_ROWS];
    shap_decide(run, step, near, followed);
    EACH_ROW near_out[r] = near[r];
    EACH_ROW followed_out[r] = followed[r];
    for (int q = 0; q < n; q++) {
        const double first = table[SHAP_NEAR * SHAP_POINTS + q];
        const double second = table[SHAP_FAR * SHAP_POINTS + q];
        EACH_ROW {
            const double p = P[q * SHAP_ROWS + r];
            const double part
                = p * shap_chosen(is_first, near[r], followed[r], first, second, off_path);
            P_near[q * SHAP_ROWS + r] = part;
            if (!far_is_leaf)
                P_far[q * SHAP_ROWS + r] = p - part;
        }
    }
}

/* Add to the sums of the pairs what a node's derivative has in common with those of the other
 * features on its path. */
static SIMD_INLINE void shap_add_pairs(const shap_run *run, int64_t first_pair,
                                       int32_t n_pairs, int n, const double *restrict part,
                                       const double *restrict factor)
{
    const shap_pair *pair = run->pairs + first_pair;
    for (int32_t i = 0; i < n_pairs; i++, pair++) {
        const int64_t *near = run->goes_near + (pair->edge >> 1) * SHAP_ROWS;
        const int64_t *followed = run->followed + (pair->edge >> 1) * SHAP_ROWS;
        const int64_t far = -(int64_t)(pair->edge & 1);
        const double *along = run->table + (int64_t)pair->node * SHAP_CONSTANTS
                              + (SHAP_ALONG + (pair->edge & 1)) * SHAP_POINTS;
        double *restrict sum = run->pair_sum + pair->pair * SHAP_ROWS;
        double total[SHAP_ROWS] = {0.0};
        int64_t on_path[SHAP_ROWS];
        EACH_ROW on_path[r] = followed[r] & (near[r] ^ far);
        for (int q = 0; q < n; q++) {
            const double on = along[q], off = run->minus_inverse[q];
            EACH_ROW total[r] += part[q * SHAP_ROWS + r] * shap_choice(on_path[r], on, off);
        }
        EACH_ROW sum[r] += factor[r] * total[r];
    }
}

/* From the children back to a node: G = G_far + a (G_near - G_far), and f times the integral of
 * e P (G_near - G_far) is added to the SHAP value of its feature. */
static SIMD_INLINE void shap_up(const shap_run *run, const shap_step *step, int n,
                                const int is_first, const int far_is_leaf, const int is_fork,
                                const int with_pairs)
{
    const int64_t size = n * SHAP_ROWS;
    const double *table = run->table + (int64_t)step->node * SHAP_CONSTANTS;
    const double *restrict P = run->P + step->place * size;
    double *restrict G = run->G + step->place * size;
    const double *restrict G_near = run->G + ((step->place | 1) + 1) * size;
    const double *restrict G_far = G_near + size;
    double *restrict sum = run->sum + (int64_t)step->slot * SHAP_ROWS;
    const double off_path = step->off_path, near_factor = step->near_factor,
                 far_factor = step->far_factor;
    const double far_value = step->far_value;
    int64_t near[SHAP_ROWS], followed[SHAP_ROWS];
    double total[SHAP_ROWS] = {0.0}, factor[SHAP_ROWS];
    double parts[SHAP_POINTS * SHAP_ROWS];
    if (is_fork) {
        shap_decide(run, step, near, followed);
    } else {
        EACH_ROW near[r] = run->goes_near[(step->place >> 1) * SHAP_ROWS + r];
        EACH_ROW followed[r] = run->followed[(step->place >> 1) * SHAP_ROWS + r];
    }
    for (int q = 0; q < n; q++) {
        const double first = table[SHAP_NEAR * SHAP_POINTS + q];
        const double second = table[SHAP_FAR * SHAP_POINTS + q];
        const double square = table[SHAP_SQUARE * SHAP_POINTS + q];
        EACH_ROW {
            const double chosen
                = shap_chosen(is_first, near[r], followed[r], first, second, off_path);
            double part = P[q * SHAP_ROWS + r];
            if (is_fork) {
                G[q * SHAP_ROWS + r] = chosen;
            } else {
                const double far = far_is_leaf ? far_value : G_far[q * SHAP_ROWS + r];
                const double difference = G_near[q * SHAP_ROWS + r] - far;
                G[q * SHAP_ROWS + r] = far + chosen * difference;
                part *= difference;
            }
            if (!is_first)
                part *= square;
            total[r] += part;
            if (with_pairs)
                parts[q * SHAP_ROWS + r] = part;
        }
    }
    EACH_ROW factor[r] = shap_chosen(is_first, near[r], followed[r], near_factor, far_factor, 0.0);
    EACH_ROW sum[r] += factor[r] * total[r];
    if (with_pairs)
        shap_add_pairs(run, step->first_pair, step->n_pairs, n, parts, factor);
}

/* Which rows have followed the path at all nodes that test a term's column, and what the term
 * adds to the value of those. */
static SIMD_INLINE void shap_term_values(const shap_run *run, const shap_term *term,
                                         int64_t *restrict on_path_out,
                                         double *restrict added_out)
{
    const double *value = run->values + term->column * run->stride;
    const int64_t *near = run->goes_near + (term->edge >> 1) * SHAP_ROWS;
    const int64_t *followed = run->followed + (term->edge >> 1) * SHAP_ROWS;
    const int64_t far = -(int64_t)(term->edge & 1);
    EACH_ROW on_path_out[r] = followed[r] & (near[r] ^ far);
    EACH_ROW added_out[r] = shap_choice(
        on_path_out[r], term->coefficient * (value[r] - term->mean), 0.0);
}

/* The factor of what the terms of a leaf add, and what each missing one adds instead. */
static SIMD_INLINE void shap_bound_terms(const shap_run *run, const shap_leaf_model *model,
                                        double *restrict factor_out,
                                        double *restrict missing_out)
{
    double total[SHAP_ROWS] = {0.0}, n_missing[SHAP_ROWS] = {0.0}, added[SHAP_ROWS];
    int64_t on_path[SHAP_ROWS];
    for (int64_t i = model->first_term; i < model->stop_term; i++) {
        shap_term_values(run, run->terms + i, on_path, added);
        EACH_ROW n_missing[r] += fabs(added[r]) <= DBL_MAX ? 0.0 : 1.0;
        EACH_ROW total[r] += fabs(added[r]) <= DBL_MAX ? added[r] : 0.0;
    }
    EACH_ROW {
        const double value = model->constant + total[r];
        double bounded = value < model->lower ? model->lower : value;
        bounded = bounded > model->upper ? model->upper : bounded;
        const int is_free = bounded == value && model->base == model->constant;
        const double part = total[r] != 0.0 ? (bounded - model->base) / total[r] : 0.0;
        factor_out[r] = n_missing[r] > 0.0 ? 0.0 : is_free ? 1.0 : part;
        missing_out[r]
            = n_missing[r] > 0.0 ? (model->if_missing - model->base) / n_missing[r] : 0.0;
    }
}

/* G of a linear leaf, and what its terms add to the SHAP values. */
static SIMD_INLINE void shap_leaf(const shap_run *run, const shap_step *step, int n,
                                  const int with_pairs)
{
    const int64_t size = n * SHAP_ROWS;
    const shap_leaf_model *model = run->leaf_models + step->node;
    const double *restrict P = run->P + step->place * size;
    double *restrict G = run->G + step->place * size;
    double factor[SHAP_ROWS], missing[SHAP_ROWS], added[SHAP_ROWS];
    double parts[SHAP_POINTS * SHAP_ROWS];
    int64_t on_path[SHAP_ROWS];
    for (int q = 0; q < n; q++)
        EACH_ROW G[q * SHAP_ROWS + r] = model->base;
    if (model->first_term < model->stop_term)
        shap_bound_terms(run, model, factor, missing);
    for (int64_t i = model->first_term; i < model->stop_term; i++) {
        const shap_term *term = run->terms + i;
        double *restrict sum = run->sum + (int64_t)term->slot * SHAP_ROWS;
        double total[SHAP_ROWS] = {0.0};
        shap_term_values(run, term, on_path, added);
        EACH_ROW added[r]
            = fabs(added[r]) <= DBL_MAX ? factor[r] * added[r] : missing[r];
        for (int q = 0; q < n; q++) {
            const double inverse = 1.0 / (run->known[q] + run->unknown[q] * term->share);
            const double along = run->known[q] * inverse;
            const double slope = term->share * inverse * inverse;
            EACH_ROW {
                const double part = P[q * SHAP_ROWS + r] * slope;
                G[q * SHAP_ROWS + r] += added[r] * along;
                total[r] += part;
                if (with_pairs)
                    parts[q * SHAP_ROWS + r] = part;
            }
        }
        EACH_ROW sum[r] += added[r] * total[r];
        if (with_pairs)
            shap_add_pairs(run, term->first_pair, term->n_pairs, n, parts, added);
    }
}

/* The compiler makes a version of each loop for each kind of node. */
static SIMD_INLINE void shap_take(const shap_run *run, const shap_step *step, int n,
                                  const int is_first, const int with_pairs)
{
    if (step->kind == SHAP_FORK)
        shap_up(run, step, n, is_first, 1, 1, with_pairs);
    else if (step->kind == SHAP_DOWN && step->far_is_leaf)
        shap_down(run, step, n, is_first, 1);
    else if (step->kind == SHAP_DOWN)
        shap_down(run, step, n, is_first, 0);
    else if (step->far_is_leaf)
        shap_up(run, step, n, is_first, 1, 0, with_pairs);
    else
        shap_up(run, step, n, is_first, 0, 0, with_pairs);
}

static SIMD_INLINE void shap_steps(const shap_run *run, int n, const int with_pairs)
{
    for (int64_t i = 0; i < run->n_steps; i++) {
        const shap_step *step = run->steps + i;
        if (step->kind == SHAP_LEAF)
            shap_leaf(run, step, n, with_pairs);
        else if (step->is_first)
            shap_take(run, step, n, 1, with_pairs);
        else
            shap_take(run, step, n, 0, with_pairs);
    }
}

/* The contributions of one tree to a block of rows. */
SIMD_KERNEL(shap_block, (const shap_run *run, int with_pairs), (run, with_pairs))
{
    for (int q = 0; q < run->n; q++)
        EACH_ROW run->P[q * SHAP_ROWS + r] = run->weight[q];
    if (with_pairs)
        shap_steps(run, run->n, 1);
    else
        shap_steps(run, run->n, 0);
}

#endif
