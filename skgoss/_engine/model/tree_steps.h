/* The steps in which a block of rows passes a tree: `tree_steps.pyx` has a picture.
 *
 * The place of a node is 2 * depth, + 1 if it is the far child of its parent. An edge is
 * 2 * depth of the node that it leaves, + 1 if it leads to the far child. */
#ifndef SKGOSS_TREE_STEPS_H
#define SKGOSS_TREE_STEPS_H

#include <stdint.h>

/* Rows of a block, and the most points that are passed at once. */
#define SHAP_ROWS 16
#define SHAP_POINTS 8

/* The children of a fork are leaves: it is both down and up. Trees with linear leaves have no
 * forks, but steps for leaves. */
enum { SHAP_DOWN, SHAP_UP, SHAP_FORK, SHAP_LEAF };

typedef struct {
    uint8_t kind;
    uint8_t far_is_leaf;
    uint8_t is_first;     /* no node above tests the feature */
    int32_t node;         /* its index in the table of constants; of a leaf, its model */
    int32_t place;
    int32_t edge_above;   /* which the path takes at the last node above with the feature */
    int32_t column;       /* of the values */
    int32_t slot;         /* of the sums */
    int32_t n_pairs;
    int64_t first_pair;
    int64_t flip;         /* -1: the near child is the right one */
    double threshold;
    double near_factor;   /* f of rows that go near, and of those that go far; of a fork, times */
    double far_factor;    /* the difference of its leaves */
    double far_value;     /* of a leaf */
    double off_path;      /* a of rows off the path; of a fork, G */
} shap_step;

/* Another feature on the path of a step. */
typedef struct {
    int32_t node;         /* the last one with the feature */
    int32_t edge;         /* which the path takes there */
    int64_t pair;         /* of the sums */
} shap_pair;

/* The model of a linear leaf. */
typedef struct {
    int64_t first_term, stop_term;
    double constant;      /* its value at the means of the columns */
    double base;          /* the same within the bounds */
    double lower, upper;
    double if_missing;    /* the value of rows that miss a column */
} shap_leaf_model;

/* A column of such a model. */
typedef struct {
    double coefficient, mean;
    double share;         /* z of the leaf */
    int32_t column;       /* of the values */
    int32_t slot;
    int32_t edge;         /* which the path takes at the last node with the feature */
    int32_t n_pairs;
    int64_t first_pair;
} shap_term;

/* What the constants of a node are computed from. */
typedef struct {
    double share_above;   /* z */
    double near_share;    /* p */
    double far_value, difference; /* of a fork's leaves */
    int is_first;
    int is_fork;
} shap_node;

#endif
