/* The steps by which a block of rows passes through a tree: `tree_steps.pyx` has a picture.
 *
 * The place of a node is 2 * depth, + 1 if it is the far child of its parent. The number of an edge
 * is 2 * depth of its upper node, + 1 if its lower node is the far child. */
#ifndef SKGOSS_TREE_STEPS_H
#define SKGOSS_TREE_STEPS_H

#include <stdint.h>

/* The rows of a block, and the maximum number of quadrature points of a pass. */
#define SHAP_ROWS 16
#define SHAP_POINTS 8

/* The kinds of steps. A fork is a node whose children are leaves: its step is both down and up.
 * Trees with linear leaves have no forks, but steps for leaves. */
enum { SHAP_DOWN, SHAP_UP, SHAP_FORK, SHAP_LEAF };

typedef struct {
    uint8_t kind;
    uint8_t far_is_leaf;
    uint8_t is_first;     /* whether no node above tests the feature */
    int32_t node;         /* the index in the table of constants; of a leaf, that of its model */
    int32_t place;
    int32_t edge_above;   /* the edge of the path at the last node above with the feature */
    int32_t column;       /* of the values */
    int32_t slot;         /* of the sums */
    int32_t n_pairs;
    int64_t first_pair;
    int64_t flip;         /* -1 if the near child is the right one, else 0 */
    double threshold;
    double near_factor;   /* f of rows that go near, and of those that go far; for a fork, times */
    double far_factor;    /* the difference of the values of its leaves */
    double far_value;     /* of the far child, if it is a leaf */
    double off_path;      /* a of rows off the path; of a fork, G */
} shap_step;

/* Another feature on the path of a step. */
typedef struct {
    int32_t node;         /* the last one on the path with the feature */
    int32_t edge;         /* the edge of the path there */
    int64_t pair;         /* of the sums */
} shap_pair;

/* The model of a linear leaf. */
typedef struct {
    int64_t first_term, stop_term;
    double constant;      /* its value at the means of the columns */
    double base;          /* `constant`, clipped to the bounds */
    double lower, upper;
    double fallback;    /* the value of rows that miss a column */
} shap_leaf_model;

/* A term of such a model, coefficient * (value - mean) of one column. */
typedef struct {
    double coefficient, mean;
    double fraction;         /* z of the leaf */
    int32_t column;       /* of the values */
    int32_t slot;
    int32_t edge;         /* the edge of the path at the last node with the feature */
    int32_t n_pairs;
    int64_t first_pair;
} shap_term;

/* The numbers from which `shap_fill` computes the constants of a node. */
typedef struct {
    double fraction_above;   /* z */
    double near_fraction;    /* p */
    double far_value, difference; /* of a fork's leaves */
    int is_first;
    int is_fork;
} shap_node;

#endif
