/* The steps of a tree for its SHAP values, and what they are made of. */
#ifndef SKGOSS_TREE_STEPS_H
#define SKGOSS_TREE_STEPS_H

#include <stdint.h>

/* Rows of a block, and the most points that are passed at once. */
#define SHAP_ROWS 16
#define SHAP_POINTS 8

enum { SHAP_DOWN, SHAP_UP, SHAP_FORK, SHAP_LEAF };

/* A step of the pass. The children of a fork are leaves: it is both down and up. Trees with
 * linear leaves have no forks, but steps for leaves. */
typedef struct {
    uint8_t kind;
    uint8_t far_is_leaf;
    uint8_t is_new;       /* no node above has the feature */
    int32_t node;         /* its index in the table of constants; of a leaf, its line */
    int32_t at;           /* 2 * depth, + 1 if it is the far child of its parent */
    int32_t above;        /* of the last node above with the feature: 2 * depth, + 1 if the path
                             goes on at its far child */
    int32_t column;       /* of the values */
    int32_t slot;         /* of the sums */
    int32_t n_pairs;
    int64_t first_pair;
    int64_t flip;         /* -1: the near child is the right one */
    double threshold;
    double with, without; /* o' - z', times the difference of a fork's leaves */
    double far_value;     /* of a leaf */
    double cold;          /* a of rows that left the feature's path; a fork's value of them */
} shap_step;

/* Another feature on the path of a step. */
typedef struct {
    int32_t node;
    int32_t above;        /* the last node with the feature, above this one */
    int64_t pair;         /* of the sums */
} shap_pair;

/* The line of a leaf. */
typedef struct {
    int64_t first_term, stop_term;
    double constant;      /* its value at the means of the columns */
    double base;          /* the same within the bounds */
    double lower, upper;
    double otherwise;     /* without a line: of rows that miss a column */
} shap_line;

/* A column of a line. */
typedef struct {
    double coefficient, mean;
    double share;         /* z of the leaf */
    int32_t column;       /* of the values */
    int32_t slot;
    int32_t above;        /* the last node with the feature, above this one */
    int32_t n_pairs;
    int64_t first_pair;
} shap_term;

/* What the constants of a node are computed from. */
typedef struct {
    double before;        /* z */
    double share;         /* z' / z */
    double far_value, difference;
    int is_new;
    int is_fork;
} shap_node;

#endif
