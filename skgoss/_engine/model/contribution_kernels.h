/* SHAP values of a block of rows: one pass down and up a tree, in vectors over rows.
 *
 * If each feature is known with probability s, independently of the others, a row reaches a node
 * with the probability P(s), the weight of the node. It is a product over the features j on the
 * path from the root to the node:
 *     P = prod_j (s o_j + (1 - s) z_j),
 *     o_j = 1 if the row follows the path at all nodes above that test j ("on the path"), else 0,
 *     z_j = the product over these nodes of the fractions of training rows that follow the path.
 * G(s) is the expected value below a node of weight 1. The derivative of the expected value of the
 * tree by the probability s of one feature, integrated over s from 0 to 1, is the SHAP value of
 * the feature (Owen, "Multilinear extensions of games", Management Science 18, 1972). It is a
 * polynomial in s, so Gauss-Legendre quadrature is exact.
 *
 * At a node that tests feature j, with z above the node, the fraction p of the node's rows that go
 * to the near child, and z' = z p:
 *     P_near = a P,   P_far = P - P_near,   G = G_far + a (G_near - G_far),
 *     SHAP value of j: + f * integral of e P (G_near - G_far) ds,
 *     c = s + (1 - s) z,   e = 1 / c^2,
 *     rows on the path that go near:  a = (s + (1 - s) z') / c,   f = z - z',
 *     rows on the path that go far:   a = (1 - s) z' / c,         f = -z',
 *     rows off the path:              a = p,                      f = 0.
 * For rows on the path, feature j contributes the factor c to the weight of the node and the factor
 * s o' + (1 - s) z' to that of the near child. Their ratio is a, and f e is the derivative of a
 * by s. At the first node of j on the path, z = 1, c = 1 and all rows are on the path.
 *
 * The near child is the one whose steps come first: an inner node if there is one.
 *
 * In a linear leaf, columns that are not known are replaced by their means. So its value is
 *     G = b + sum_j v_j s o_j / c_j,
 * where b is the value at the means, v_j is the contribution of the term of column j, and c_j is
 * the c of the leaf. In addition to its effect on the weight, feature j then has the derivative
 * v_j o_j z_j P / c_j^2. Bounds and missing values consider only columns with o_j = 1. If the value
 * exceeds a bound, all v_j are multiplied by one factor. If columns are missing, the difference
 * between the leaf's fallback value and b is divided equally among them, and other columns
 * contribute nothing. */
#ifndef SKGOSS_CONTRIBUTION_KERNELS_H
#define SKGOSS_CONTRIBUTION_KERNELS_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "simd.h"
#include "tree_steps.h"

/* The constants of a node at each quadrature point: a (for forks, G) of rows on the path that go
 * near, and of those that go far; e; and for pairs (1 - z') / c' of rows that follow a path to the
 * near child, and to the far one. */
enum { SHAP_NEAR, SHAP_FAR, SHAP_SQUARE, SHAP_ON_PATH, SHAP_WIDTH = SHAP_ON_PATH + 2 };
#define SHAP_CONSTANTS (SHAP_WIDTH * SHAP_POINTS)

/* Write the constants of all nodes of a tree at the points of a pass: known[q] is s, unknown[q] is
 * 1 - s. They are the same for all rows, so that divisions are computed once for each node.
 * table_out: SHAP_CONSTANTS doubles a node, in the order of the steps. */
SIMD_KERNEL(shap_fill, (const shap_node *nodes, int64_t n_nodes, const double *known,
             const double *unknown, int with_pairs, double *table_out),
            (nodes, n_nodes, known, unknown, with_pairs, table_out))
{
    for (int64_t i = 0; i < n_nodes; i++, table_out += SHAP_CONSTANTS) {
        const shap_node *node = nodes + i;
        const double z = node->fraction_above, near = z * node->near_fraction, far = z - near;
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
            table_out[SHAP_ON_PATH * SHAP_POINTS + q]
                = (1.0 - near) / (known[q] + unknown[q] * near);
            table_out[(SHAP_ON_PATH + 1) * SHAP_POINTS + q]
                = (1.0 - far) / (known[q] + unknown[q] * far);
        }
    }
}

/* A tree, a block of rows and `n` quadrature points: the input, the work space and the sums of a
 * run. */
typedef struct {
    const shap_step *steps;
    int64_t n_steps;
    const shap_pair *pairs;
    const shap_leaf_model *leaf_models;
    const shap_term *terms;
    const double *table;    /* the constants of nodes, from shap_fill */
    const double *known;    /* s */
    const double *unknown;  /* 1 - s */
    const double *weight;   /* of the points */
    const double *minus_inverse; /* -1 / (1 - s), which is (o - z) / c for rows off the path */
    const double *values;   /* the values of the block's rows in the columns that nodes test */
    int64_t stride;         /* between columns of values */
    int n;                  /* points of the pass */
    double *P, *G;          /* (places, points, rows) */
    int64_t *goes_near, *followed; /* (depths, rows): masks, see shap_route */
    double *sum, *pair_sum; /* (slots, rows) and (pairs, rows) */
} shap_run;

/* Without the pragma, GCC unrolls the loop before it vectorizes, and then cannot. */
#if defined(__GNUC__)
#define EACH_ROW _Pragma("GCC unroll 1") for (int r = 0; r < SHAP_ROWS; r++)
#else
#define EACH_ROW for (int r = 0; r < SHAP_ROWS; r++)
#endif

/* Write masks, all bits or none, of the rows that go to the near child, and of the rows that have
 * followed the path at all nodes above that test the same feature. */
static SIMD_INLINE void shap_route(const shap_run *run, const shap_step *step,
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

/* The first number if all bits of the mask are set, the second if none is. It is computed with bit
 * operations, as SSE2 has no blend of 64-bit numbers. */
static SIMD_INLINE double shap_select(int64_t mask, double first, double second)
{
    union { double number; int64_t bits; } one = {first}, other = {second};
    one.bits = (one.bits & mask) | (other.bits & ~mask);
    return one.number;
}

/* The constant of a row: `first` if it goes near, `second` if it goes far, or `off_path` if it has
 * not followed the path at the nodes above with the same feature. */
static SIMD_INLINE double shap_select_constant(const int is_first, int64_t near, int64_t followed,
                                      double first, double second, double off_path)
{
    const double chosen = shap_select(near, first, second);
    return is_first ? chosen : shap_select(followed, chosen, off_path);
}

/* The step from a node down to its children: P_near = a P, P_far = P - P_near, at n quadrature
 * points. It also stores the masks of `shap_route` for the step up. is_first: no node above tests
 * the feature; far_is_leaf: the far child needs no P. */
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
    shap_route(run, step, near, followed);
    EACH_ROW near_out[r] = near[r];
    EACH_ROW followed_out[r] = followed[r];
    for (int q = 0; q < n; q++) {
        const double first = table[SHAP_NEAR * SHAP_POINTS + q];
        const double second = table[SHAP_FAR * SHAP_POINTS + q];
        EACH_ROW {
            const double p = P[q * SHAP_ROWS + r];
            const double part
                = p * shap_select_constant(is_first, near[r], followed[r], first, second, off_path);
            P_near[q * SHAP_ROWS + r] = part;
            if (!far_is_leaf)
                P_far[q * SHAP_ROWS + r] = p - part;
        }
    }
}

/* Add the interactions of a node's feature with the other features on its path. Each is the
 * derivative of the node's derivative by the probability s of the other feature, whose factor
 * s o + (1 - s) z = c has the derivative o - z: so `part` is multiplied by (o - z) / c.
 * part: (n points, rows), the terms of the node's integral; factor: f of each row. */
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
                              + (SHAP_ON_PATH + (pair->edge & 1)) * SHAP_POINTS;
        double *restrict sum = run->pair_sum + pair->pair * SHAP_ROWS;
        double total[SHAP_ROWS] = {0.0};
        int64_t on_path[SHAP_ROWS];
        EACH_ROW on_path[r] = followed[r] & (near[r] ^ far);
        for (int q = 0; q < n; q++) {
            const double on = along[q], off = run->minus_inverse[q];
            EACH_ROW total[r] += part[q * SHAP_ROWS + r] * shap_select(on_path[r], on, off);
        }
        EACH_ROW sum[r] += factor[r] * total[r];
    }
}

/* The step from the children up to a node: G = G_far + a (G_near - G_far), and f times the integral
 * of e P (G_near - G_far) is added to the SHAP value of its feature: a sum over the n points of a
 * pass, whose weights are factors of P since the root. is_fork: both children are leaves, so the
 * constants of the table are G. */
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
        shap_route(run, step, near, followed);
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
                = shap_select_constant(is_first, near[r], followed[r], first, second, off_path);
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
    EACH_ROW factor[r]
        = shap_select_constant(is_first, near[r], followed[r], near_factor, far_factor, 0.0);
    EACH_ROW sum[r] += factor[r] * total[r];
    if (with_pairs)
        shap_add_pairs(run, step->first_pair, step->n_pairs, n, parts, factor);
}

/* Write the mask of the rows that have followed the path at all nodes that test a term's column,
 * and the contributions of the term to their values. */
static SIMD_INLINE void shap_term_values(const shap_run *run, const shap_term *term,
                                         int64_t *restrict on_path_out,
                                         double *restrict added_out)
{
    const double *value = run->values + term->column * run->stride;
    const int64_t *near = run->goes_near + (term->edge >> 1) * SHAP_ROWS;
    const int64_t *followed = run->followed + (term->edge >> 1) * SHAP_ROWS;
    const int64_t far = -(int64_t)(term->edge & 1);
    EACH_ROW on_path_out[r] = followed[r] & (near[r] ^ far);
    EACH_ROW added_out[r] = shap_select(
        on_path_out[r], term->coefficient * (value[r] - term->mean), 0.0);
}

/* Write the factor of the terms' contributions in each row, which makes the value of a row stay
 * within the bounds, and the contribution of each missing column: see the last paragraph at the
 * top. */
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
            = n_missing[r] > 0.0 ? (model->fallback - model->base) / n_missing[r] : 0.0;
    }
}

/* The step of a linear leaf: write G, and add the contributions of its terms to the SHAP values. */
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
            const double inverse = 1.0 / (run->known[q] + run->unknown[q] * term->fraction);
            const double along = run->known[q] * inverse;
            const double slope = term->fraction * inverse * inverse;
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

/* A step of a node. The constant arguments make the compiler specialize the loops for each kind of
 * step. */
static SIMD_INLINE void shap_dispatch(const shap_run *run, const shap_step *step, int n,
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

/* All steps of a tree, in their order. */
static SIMD_INLINE void shap_steps(const shap_run *run, int n, const int with_pairs)
{
    for (int64_t i = 0; i < run->n_steps; i++) {
        const shap_step *step = run->steps + i;
        if (step->kind == SHAP_LEAF)
            shap_leaf(run, step, n, with_pairs);
        else if (step->is_first)
            shap_dispatch(run, step, n, 1, with_pairs);
        else
            shap_dispatch(run, step, n, 0, with_pairs);
    }
}

/* Add the contributions of one tree to the sums of a block of rows. */
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
