"""The table of options: names, defaults, domains and meanings."""

from __future__ import annotations

from typing import Any

from skgoss.parameters.domains import (
    ALPHA,
    ANY_INT,
    AUC_MU_WEIGHTS,
    BOOL,
    CATEGORICAL_FEATURE,
    CLASS_WEIGHT,
    EVAL_AT,
    FEATURE_CONTRI,
    FILE_COLUMN,
    FILE_COLUMNS,
    FOLDS,
    FORCED_BINS,
    FORCED_SPLITS,
    FRACTION,
    INTERACTION_CONSTRAINTS,
    LABEL_GAIN,
    MAX_BIN_BY_FEATURE,
    METRIC,
    MIN_DELTA,
    MONOTONE_CONSTRAINTS,
    NOT_NEGATIVE,
    OBJECTIVE,
    POSITIVE,
    POSITIVE_FRACTION,
    RANDOM_STATE,
    SEED,
    Domain,
    Option,
    choice,
    integer,
    optional,
    real,
)


def _option(
    name: str,
    default: Any,
    domain: Domain,
    meaning: str,
    lightgbm: str | None = None,
    aliases: str = "",
) -> Option:
    """One row: ``lightgbm`` is None if it is ``name``, ``aliases`` are the others."""
    names = tuple(aliases.split())
    if lightgbm is not None:
        names = lightgbm, *names
    return Option(name, default, domain, meaning, lightgbm or name, names)


OPTIONS: tuple[Option, ...] = (
    _option(
        "boosting_type",
        "gbdt",
        choice(
            gbdt="gbdt",
            gbrt="gbdt",
            dart="dart",
            rf="rf",
            random_forest="rf",
            goss="goss",
        ),
        "The boosting algorithm. 'gbdt' (or 'gbrt'): gradient boosted trees. 'dart':"
        " each round leaves out some of the earlier trees at random (dropout; Rashmi"
        " and Gilad-Bachrach, AISTATS 2015). 'rf' (or 'random_forest'): a random"
        " forest. It needs ``subsample`` < 1 with ``subsample_freq`` > 0, or"
        " ``colsample_bytree`` < 1. 'goss': the same as 'gbdt' with"
        " ``data_sample_strategy='goss'``.",
        "boosting",
        "boost",
    ),
    _option(
        "num_leaves",
        31,
        integer(2, 131072),
        "Maximum number of leaves of a tree. It is the main limit on the complexity"
        " of the model: decrease it if the model overfits.",
        aliases="num_leaf max_leaves max_leaf max_leaf_nodes",
    ),
    _option(
        "max_depth",
        -1,
        ANY_INT,
        "Maximum depth of a tree. The root has depth 0. Values <= 0 mean no limit.",
    ),
    _option(
        "learning_rate",
        0.1,
        POSITIVE,
        "Factor that multiplies the leaf values of each tree. Smaller values need"
        " more rounds (``n_estimators``) and often give better predictions.",
        aliases="shrinkage_rate eta",
    ),
    _option(
        "n_estimators",
        100,
        integer(1),
        "Number of boosting rounds. A round grows one tree, or one tree per class if"
        " there are more than two classes. With early stopping it is the maximum.",
        "num_iterations",
        "num_iteration n_iter num_tree num_trees num_round num_rounds nrounds"
        " num_boost_round max_iter",
    ),
    _option(
        "subsample_for_bin",
        200000,
        integer(1),
        "Number of rows that are sampled to find the bin boundaries of the columns.",
        "bin_construct_sample_cnt",
    ),
    _option(
        "objective",
        None,
        OBJECTIVE,
        "The loss to minimize, by name, such as 'regression' (squared error),"
        " 'regression_l1' (absolute error), 'quantile', 'poisson', 'cross_entropy',"
        " 'binary', 'multiclass' or 'lambdarank'; docs/objectives.md describes all. It"
        " may also be a function ``f(y_true, y_pred) -> gradient,"
        " hessian``; a function with a third argument gets the weights. None means"
        " 'regression' for LGBMRegressor, 'binary' or 'multiclass' for LGBMClassifier"
        " and 'lambdarank' for LGBMRanker.",
        aliases="objective_type app application loss",
    ),
    _option(
        "class_weight",
        None,
        CLASS_WEIGHT,
        "Weights of the classes. The weight of a row is multiplied by the weight of"
        " its class. 'balanced' gives all classes the same total weight. Only for"
        " classifiers.",
    ),
    _option(
        "min_split_gain",
        0.0,
        NOT_NEGATIVE,
        "Minimum gain of a split: a leaf is split only if this reduces the loss by"
        " more. Increase it to get smaller trees.",
        "min_gain_to_split",
    ),
    _option(
        "min_child_weight",
        1e-3,
        NOT_NEGATIVE,
        "Minimum sum of hessians (second derivatives of the loss) in a leaf.",
        "min_sum_hessian_in_leaf",
        "min_sum_hessian_per_leaf min_sum_hessian min_hessian",
    ),
    _option(
        "min_child_samples",
        20,
        integer(0),
        "Minimum number of rows in a leaf. Rows are counted exactly. Increase it if"
        " the model overfits; decrease it for small data.",
        "min_data_in_leaf",
        "min_data_per_leaf min_data min_samples_leaf",
    ),
    _option(
        "subsample",
        1.0,
        POSITIVE_FRACTION,
        "Fraction of the rows that are sampled for each tree (bagging). It has no"
        " effect unless ``subsample_freq`` > 0.",
        "bagging_fraction",
        "sub_row bagging",
    ),
    _option(
        "subsample_freq",
        0,
        ANY_INT,
        "Bagging frequency: a new sample of rows is drawn every ``subsample_freq``"
        " rounds. Values <= 0 turn bagging off, and every tree uses all rows.",
        "bagging_freq",
    ),
    _option(
        "pos_bagging_fraction",
        1.0,
        POSITIVE_FRACTION,
        "Fraction of the rows of the positive class that are sampled. It replaces"
        " ``subsample`` for these rows, for example to sample unbalanced classes"
        " differently. It needs ``subsample_freq`` > 0 and the objective 'binary'.",
        aliases="pos_sub_row pos_subsample pos_bagging",
    ),
    _option(
        "neg_bagging_fraction",
        1.0,
        POSITIVE_FRACTION,
        "Fraction of the rows of the negative class that are sampled. It replaces"
        " ``subsample`` for these rows. It needs ``subsample_freq`` > 0 and the"
        " objective 'binary'.",
        aliases="neg_sub_row neg_subsample neg_bagging",
    ),
    _option(
        "bagging_by_query",
        False,
        BOOL,
        "Whether ``subsample`` samples whole queries instead of rows. Only for"
        " rankers.",
    ),
    _option(
        "data_sample_strategy",
        "bagging",
        choice(bagging="bagging", goss="goss"),
        "How rows are sampled. 'bagging': uniformly, see ``subsample``. 'goss':"
        " gradient-based one-side sampling (Ke et al., algorithm 2). It keeps the rows"
        " with the largest gradients, samples some of the other rows and increases"
        " their weights. It starts after 1 / ``learning_rate`` rounds. Use it to train"
        " faster on large data.",
    ),
    _option(
        "top_rate",
        0.2,
        FRACTION,
        "Fraction of the rows that GOSS keeps: those with the largest gradients.",
    ),
    _option(
        "other_rate",
        0.1,
        FRACTION,
        "Fraction of the rows that GOSS samples from the other rows. ``top_rate +"
        " other_rate`` must be at most 1.",
    ),
    _option(
        "drop_rate",
        0.1,
        FRACTION,
        "Fraction of the earlier trees that 'dart' drops in a round.",
        aliases="rate_drop",
    ),
    _option(
        "max_drop",
        50,
        ANY_INT,
        "Maximum number of trees that 'dart' drops in a round. Values <= 0 mean no"
        " limit.",
    ),
    _option(
        "skip_drop",
        0.5,
        FRACTION,
        "Probability that 'dart' drops no tree in a round.",
    ),
    _option(
        "uniform_drop",
        False,
        BOOL,
        "Whether 'dart' drops all trees with the same probability. If False, the"
        " probability of a tree is proportional to its weight.",
    ),
    _option(
        "xgboost_dart_mode",
        False,
        BOOL,
        "Whether 'dart' uses the tree weights of XGBoost: if n trees are dropped, the"
        " new tree has the weight 1 / (n + ``learning_rate``).",
    ),
    _option(
        "colsample_bytree",
        1.0,
        POSITIVE_FRACTION,
        "Fraction of the columns that are sampled for each tree. Values < 1 train"
        " faster and can reduce overfitting.",
        "feature_fraction",
        "sub_feature",
    ),
    _option(
        "reg_alpha",
        0.0,
        NOT_NEGATIVE,
        "L1 regularization of the leaf values.",
        "lambda_l1",
        "l1_regularization",
    ),
    _option(
        "reg_lambda",
        0.0,
        NOT_NEGATIVE,
        "L2 regularization of the leaf values.",
        "lambda_l2",
        "lambda l2_regularization",
    ),
    _option(
        "random_state",
        None,
        RANDOM_STATE,
        "Seed of all random choices. A RandomState or Generator gives each fit"
        " another seed. None is a fixed seed, so repeated fits give the same model.",
        "seed",
        "random_seed",
    ),
    _option(
        "n_jobs",
        None,
        optional(ANY_INT),
        "Number of threads. It does not change the model. None or 0: the value of the"
        " environment variable ``OMP_NUM_THREADS``, or else the number of physical"
        " cores. -1: the number of logical cores. -2: one less, and so on.",
        "num_threads",
        "num_thread nthread nthreads",
    ),
    _option(
        "importance_type",
        "split",
        choice(split="split", gain="gain", cover="cover"),
        "What ``feature_importances_`` measures. 'split': the number of splits that"
        " use a column. 'gain': the sum of the gains of these splits. 'cover': the sum"
        " of the numbers of training rows in the nodes of these splits. It may be"
        " changed after fit.",
    ),
    _option(
        "max_bin",
        255,
        integer(2, 65535),
        "Maximum number of bins of a column, including the bin of missing values."
        " Larger values allow more thresholds, but training takes longer.",
        aliases="max_bins",
    ),
    _option(
        "max_bin_by_feature",
        None,
        MAX_BIN_BY_FEATURE,
        "Maximum number of bins of each column. Columns that a dict does not name use"
        " ``max_bin``.",
    ),
    _option(
        "forcedbins_filename",
        None,
        FORCED_BINS,
        "Upper bounds that bins of columns must have: a list of dicts with the keys"
        " 'feature' (the number or name of a column) and 'bin_upper_bound' (a list of"
        " numbers), a dict from columns to such lists, or the name of a JSON file."
        " The other bins, up to ``max_bin``, lie between these bounds.",
    ),
    _option("min_data_in_bin", 3, integer(1), "Minimum number of rows in a bin."),
    _option(
        "use_missing",
        True,
        BOOL,
        "Whether NaN is a missing value. If False, NaN is treated as 0.",
    ),
    _option(
        "zero_as_missing",
        False,
        BOOL,
        "Whether 0 is a missing value, like NaN.",
    ),
    _option(
        "feature_pre_filter",
        True,
        BOOL,
        "Has no effect: columns that cannot be split never change the model.",
    ),
    _option(
        "enable_bundle",
        True,
        BOOL,
        "Whether to store sparse columns together if no row has non-zero values in"
        " two of them (exclusive feature bundling). It does not change the model if"
        " ``max_conflict_rate`` is 0.",
        aliases="is_enable_bundle bundle",
    ),
    _option(
        "max_conflict_rate",
        0.0,
        real(0, 1, closed="left"),
        "Maximum fraction of the rows in which two columns of a bundle may both be"
        " non-zero. With 0, bundling does not change the model. Larger values can be"
        " faster for very wide data, but some values are lost.",
    ),
    _option(
        "is_enable_sparse",
        True,
        BOOL,
        "Whether to store only the non-zero values of sparse columns. It does not"
        " change the model.",
        aliases="is_sparse enable_sparse sparse",
    ),
    _option(
        "categorical_feature",
        "auto",
        CATEGORICAL_FEATURE,
        "The columns that hold categories. 'auto': the columns of a data frame with"
        " strings or a categorical dtype. A list of column names or numbers: these"
        " columns in addition; negative numbers in them are missing values. None or"
        " []: no column. Categories are identified by their values, in any container."
        " Ordered categories of pandas are treated as numbers unless they are listed.",
        aliases="cat_feature categorical_column cat_column categorical_features",
    ),
    _option(
        "max_cat_to_onehot",
        4,
        integer(1),
        "Maximum number of categories for one-vs-rest splits. Columns with more"
        " categories are split into two sets of categories.",
    ),
    _option(
        "max_cat_threshold",
        32,
        integer(1),
        "Maximum number of categories on the smaller side of a split into two sets of"
        " categories.",
    ),
    _option(
        "cat_smooth",
        10.0,
        NOT_NEGATIVE,
        "Smoothing of the categories' statistics, by which they are sorted before a"
        " split. Categories with fewer rows than this in a node are not separated from"
        " each other. Increase it if many categories are rare.",
    ),
    _option(
        "cat_l2",
        10.0,
        NOT_NEGATIVE,
        "L2 regularization that is added to ``reg_lambda`` in splits into two sets of"
        " categories.",
    ),
    _option(
        "min_data_per_group",
        100,
        integer(1),
        "Minimum number of rows between two candidate cuts of the sorted categories.",
    ),
    _option(
        "max_delta_step",
        0.0,
        real(),
        "Maximum absolute value of a leaf, before the multiplication by"
        " ``learning_rate``. Values <= 0 mean no limit.",
        aliases="max_tree_output max_leaf_output",
    ),
    _option(
        "linear_tree",
        False,
        BOOL,
        "Whether each leaf holds a linear model instead of a constant (Shi et al.,"
        " IJCAI 2019). The model uses the numeric columns that are split on the path"
        " from the root to the leaf. The leaves of the first round are constants. It"
        " cannot be used with ``monotone_constraints``.",
        aliases="linear_trees",
    ),
    _option(
        "linear_lambda",
        0.0,
        NOT_NEGATIVE,
        "L2 regularization of the coefficients of the linear models. Only for"
        " ``linear_tree=True``.",
    ),
    _option(
        "path_smooth",
        0.0,
        NOT_NEGATIVE,
        "Smoothing of leaf values: a leaf's value is averaged with the value of its"
        " parent, which has the weight of this many rows. 0 turns smoothing off."
        " Increase it if leaves of few rows overfit.",
    ),
    _option(
        "extra_trees",
        False,
        BOOL,
        "Whether a split tries only one random threshold per column, as in extremely"
        " randomized trees. It can reduce overfitting.",
        aliases="extra_tree",
    ),
    _option(
        "feature_fraction_bynode",
        1.0,
        POSITIVE_FRACTION,
        "Fraction of the columns that are sampled for each node, from those that"
        " ``colsample_bytree`` has sampled for the tree.",
        aliases="sub_feature_bynode colsample_bynode",
    ),
    _option(
        "feature_contri",
        None,
        FEATURE_CONTRI,
        "Factors that multiply the gains of splits, one for each column. A factor"
        " below 1 makes the column less likely to be used; with 0 it is never used."
        " Columns that a dict does not name have the factor 1.",
        aliases="feature_contrib fc fp feature_penalty",
    ),
    _option(
        "monotone_constraints",
        None,
        MONOTONE_CONSTRAINTS,
        "Monotonic constraint on each column: 1 if raw predictions must not decrease"
        " with the column's value, -1 if they must not increase, 0 for no constraint."
        " Columns that a dict does not name have no constraint. Predictions satisfy"
        " the constraints exactly, for any objective. Missing values are not"
        " constrained. They cannot be used with ``linear_tree=True``.",
        aliases="mc monotone_constraint monotonic_cst",
    ),
    _option(
        "monotone_constraints_method",
        "basic",
        choice(basic="basic", intermediate="intermediate", advanced="advanced"),
        "How monotonic constraints are enforced. 'basic': the outputs on each side of"
        " a split are bounded by the mean of its two children. 'intermediate': a leaf"
        " is bounded by the values of the leaves that it must not pass. 'advanced':"
        " each side of each candidate split has its own bounds. The later methods take"
        " longer and are usually more accurate.",
        aliases="monotone_constraining_method mc_method",
    ),
    _option(
        "monotone_penalty",
        0.0,
        NOT_NEGATIVE,
        "Penalty on the gains of splits on columns with a monotonic constraint. It is"
        " largest near the root.",
        aliases="monotone_splits_penalty ms_penalty mc_penalty",
    ),
    _option(
        "interaction_constraints",
        None,
        INTERACTION_CONSTRAINTS,
        "Sets of columns that may interact: all columns on a path from the root to a"
        " leaf belong to one set. Columns in no set are not used. 'pairwise': each"
        " pair of columns is a set. 'no_interactions': each column is a set.",
    ),
    _option(
        "forcedsplits_filename",
        None,
        FORCED_SPLITS,
        "Splits that each tree starts with: a dict, or the name of a JSON file. A"
        " split has the keys 'feature' (the number or name of a column) and"
        " 'threshold'. The optional keys 'left' and 'right' hold the splits of its"
        " children. Splits without gain or with too few rows are left out, together"
        " with the splits below them.",
        aliases="fs forced_splits_filename forced_splits_file forced_splits",
    ),
    _option(
        "boost_from_average",
        True,
        BOOL,
        "Whether boosting starts from the best constant, such as the mean of the"
        " target. If False, it starts from 0.",
    ),
    _option(
        "reg_sqrt",
        False,
        BOOL,
        "Whether to fit the signed square root of the target, and to square the"
        " predictions. It can help if the target has a large range. For objectives"
        " of regression that are defined for any numbers, except 'huber'.",
    ),
    _option(
        "is_unbalance",
        False,
        BOOL,
        "Whether to increase the weight of the rarer class, so that both classes have"
        " the same total weight. Predicted probabilities of the rarer class increase"
        " too. For the objectives 'binary' and 'multiclassova'.",
        aliases="unbalance unbalanced_sets",
    ),
    _option(
        "scale_pos_weight",
        1.0,
        POSITIVE,
        "Weight of the positive class. Values above 1 increase the predicted"
        " probabilities of this class. For the objectives 'binary' and"
        " 'multiclassova'.",
    ),
    _option(
        "sigmoid",
        1.0,
        POSITIVE,
        "Factor of the raw score in the sigmoid function. For the objectives"
        " 'binary', 'multiclassova' and 'lambdarank'.",
    ),
    _option(
        "alpha",
        0.9,
        ALPHA,
        "For objectives that predict a level, such as 'quantile': the level, between 0"
        " and 1. For 'quantile', it may be a list of several in ascending order."
        " Predictions of several quantiles have the shape (n_samples, n_quantiles) and"
        " never cross. For 'huber': the absolute error above which the loss is linear"
        " instead of quadratic.",
    ),
    _option(
        "fair_c",
        1.0,
        POSITIVE,
        "For the objective 'fair': the scale of the errors. The loss is almost"
        " quadratic for much smaller errors and almost linear for much larger ones.",
    ),
    _option(
        "poisson_max_delta_step",
        0.7,
        POSITIVE,
        "For the objective 'poisson': the hessian is multiplied by exp of this value."
        " Larger values give smaller, safer steps.",
    ),
    _option(
        "tweedie_variance_power",
        1.5,
        real(1, 2, closed="left"),
        "For the objective 'tweedie': the variance of the target is proportional to"
        " the mean raised to this power. 1 is like a Poisson distribution, values near"
        " 2 are like a gamma distribution.",
    ),
    _option(
        "lambdarank_truncation_level",
        30,
        integer(1),
        "For the objective 'lambdarank': the number of top documents of a query that"
        " are compared with all its documents. To optimize NDCG@k, choose a value a"
        " little larger than k.",
    ),
    _option(
        "lambdarank_norm",
        True,
        BOOL,
        "For the objective 'lambdarank': whether the gradients of each query are"
        " normalized.",
    ),
    _option(
        "lambdarank_position_bias_regularization",
        0.0,
        NOT_NEGATIVE,
        "For the objective 'lambdarank' and a `Dataset` with positions: the L2"
        " regularization of the biases of positions. Larger values give smaller"
        " biases.",
    ),
    _option(
        "label_gain",
        None,
        LABEL_GAIN,
        "Gain of each relevance grade in NDCG, starting with grade 0. None means"
        " 2**grade - 1, for the grades 0 to 30.",
    ),
    _option(
        "metric",
        None,
        METRIC,
        "Metrics to compute on the evaluation sets. None: the default metric of the"
        " objective. 'None': no metric.",
        aliases="metrics metric_types",
    ),
    _option(
        "multi_error_top_k",
        1,
        integer(1),
        "For the metric 'multi_error': a prediction is correct if the true class is"
        " among this many classes with the highest scores.",
    ),
    _option(
        "auc_mu_weights",
        None,
        AUC_MU_WEIGHTS,
        "For the metric 'auc_mu': the matrix of misclassification costs as a list of"
        " n_classes * n_classes numbers, row by row. None: all costs are 1.",
    ),
    _option(
        "eval_at",
        (1, 2, 3, 4, 5),
        EVAL_AT,
        "For the metrics 'ndcg' and 'map': the numbers k of top documents, as in"
        " NDCG@k.",
        aliases="ndcg_eval_at ndcg_at map_eval_at map_at",
    ),
    _option(
        "early_stopping_round",
        None,
        optional(ANY_INT),
        "Training stops if one metric of one evaluation set has not improved for this"
        " many rounds. The model keeps the rounds up to the best one. If fit gets no"
        " evaluation set, it holds out rows: see ``validation_fraction``. None or"
        " values <= 0 turn early stopping off.",
        aliases="early_stopping_rounds early_stopping n_iter_no_change",
    ),
    _option(
        "first_metric_only",
        False,
        BOOL,
        "Whether early stopping uses only the first metric.",
    ),
    _option(
        "early_stopping_min_delta",
        0.0,
        MIN_DELTA,
        "Minimum change of a metric that early stopping counts as an improvement: one"
        " number, or a list with one number for each metric.",
    ),
    _option(
        "validation_fraction",
        0.1,
        real(0, 1),
        "Fraction of the rows that fit holds out for early stopping if it gets no"
        " evaluation set. Classifiers hold out this fraction of each class, rankers"
        " this fraction of the queries. ``random_state`` determines the rows.",
    ),
    _option(
        "refit",
        False,
        BOOL,
        "Whether to fit the model again on all rows after early stopping with"
        " held-out rows, for the best number of rounds. Callbacks that are called"
        " before rounds, such as ``reset_parameter``, are called again. With"
        " ``folds``: whether to fit one model on all rows, for the geometric"
        " mean of the best numbers of rounds of the folds, instead of keeping their"
        " models.",
    ),
    _option(
        "folds",
        None,
        FOLDS,
        "Fit one model on each fold's training rows, and keep the mean of these models"
        " as one model. An int is the number of folds: classifiers put the same"
        " fraction of each class into each fold, rankers whole queries, and"
        " ``random_state`` determines the rows. Otherwise a splitter of scikit-learn,"
        " or pairs (train, test) of arrays of row numbers. Each model keeps the rounds"
        " up to the best one on its own test rows, unless ``early_stopping_round`` is"
        " 0. The predictions for the test rows are the attribute ``oof_prediction_``.",
        aliases="n_folds nfold",
    ),
    _option(
        "preset",
        None,
        optional(choice(accurate="accurate")),
        "How the options that you leave at their defaults are chosen. None: they have"
        " their defaults, which are those of LightGBM. 'accurate': for better"
        " predictions in a few times the time. Steps are smaller and trees differ more,"
        " by values that did well on many data sets. The number of rounds, and whether"
        " to use ``extra_trees``, are found by fits on folds of the rows. The attribute"
        " ``preset_params_`` holds what was chosen.",
    ),
    _option(
        "data_random_seed",
        None,
        SEED,
        "Seed for the sample of rows that bins are found from. None: derived from"
        " ``random_state``, or 1 if that is None.",
        aliases="data_seed",
    ),
    _option(
        "bagging_seed",
        None,
        SEED,
        "Seed for the samples of rows. None: derived from ``random_state``, or 3 if"
        " that is None.",
        aliases="bagging_fraction_seed",
    ),
    _option(
        "feature_fraction_seed",
        None,
        SEED,
        "Seed for the samples of columns. None: derived from ``random_state``, or 2"
        " if that is None.",
    ),
    _option(
        "extra_seed",
        None,
        SEED,
        "Seed for the random thresholds of ``extra_trees``. None: derived from"
        " ``random_state``, or 6 if that is None.",
    ),
    _option(
        "objective_seed",
        None,
        SEED,
        "Seed for the random numbers of the objective 'rank_xendcg'. None: derived"
        " from ``random_state``, or 5 if that is None.",
    ),
    _option(
        "drop_seed",
        None,
        SEED,
        "Seed for the trees that 'dart' drops. None: derived from ``random_state``,"
        " or 4 if that is None.",
    ),
    _option(
        "verbosity",
        -1,
        ANY_INT,
        "With 1 or more, early stopping prints messages, and long fits show a"
        " progress bar if the package rich is installed. With smaller values nothing"
        " is printed.",
        aliases="verbose",
    ),
    _option(
        "deterministic",
        False,
        BOOL,
        "Has no effect: every fit is deterministic.",
    ),
    _option(
        "force_col_wise",
        False,
        BOOL,
        "Has no effect: the layout in memory never changes the model.",
    ),
    _option(
        "force_row_wise",
        False,
        BOOL,
        "Has no effect: the layout in memory never changes the model.",
    ),
)

DEFAULTS = {option.name: option.default for option in OPTIONS}

# The seeds of single random choices if there is no ``random_state``: LightGBM's.
DEFAULT_SEEDS = {
    "data_random_seed": 1,
    "bagging_seed": 3,
    "feature_fraction_seed": 2,
    "extra_seed": 6,
    "objective_seed": 5,
    "drop_seed": 4,
}

# Options that LightGBM does not have.
NOT_IN_LIGHTGBM = frozenset(
    {
        *("class_weight", "importance_type", "max_conflict_rate"),
        *("validation_fraction", "refit", "folds", "preset"),
    }
)

# The options of data files, which a Dataset has and an estimator does not.
FILE_OPTIONS: tuple[Option, ...] = (
    _option(
        "header",
        False,
        BOOL,
        "Whether the first line of the file holds the column names.",
        aliases="has_header",
    ),
    _option(
        "label_column",
        "",
        FILE_COLUMN,
        "The column of the target. The default is the first column.",
        aliases="label",
    ),
    _option(
        "weight_column",
        "",
        FILE_COLUMN,
        "The column of the row weights. Column numbers do not count the label.",
        aliases="weight",
    ),
    _option(
        "group_column",
        "",
        FILE_COLUMN,
        "The column of the query ids. The rows of a query must be consecutive. Column"
        " numbers do not count the label.",
        aliases="group group_id query_column query query_id",
    ),
    _option(
        "ignore_column",
        "",
        FILE_COLUMNS,
        "Columns that are not used. Column numbers do not count the label.",
        aliases="ignore_feature blacklist",
    ),
)

# LightGBM's options without effect: the reason, and all names.
WITHOUT_EFFECT: dict[str, tuple[str, ...]] = {
    "Histograms are exact sums of integers.": (
        *("use_quantized_grad", "num_grad_quant_bins", "quant_train_renew_leaf"),
        "stochastic_rounding",
    ),
    "Fits run on CPUs. For a cluster, use `skgoss.dask`.": (
        *("device_type", "device", "gpu_platform_id", "gpu_device_id"),
        *("gpu_device_id_list", "gpu_use_dp", "num_gpu"),
        *("tree_learner", "tree", "tree_type", "tree_learner_type"),
        *("top_k", "topk", "num_machines", "num_machine", "machines", "workers"),
        *("nodes", "local_listen_port", "local_port", "port", "time_out"),
        *("machine_list_filename", "machine_list_file", "machine_list", "mlist"),
    ),
    "Histograms are kept only for leaves that may still be split.": (
        *("histogram_pool_size", "hist_pool_size"),
    ),
    "Estimators count the labels in `y`. Only `train` and `cv` use it.": (
        *("num_class", "num_classes"),
    ),
    "Only for data files. `fit` takes arrays and data frames.": (
        *("two_round", "two_round_loading", "use_two_round_loading", "header"),
        *("has_header", "pre_partition", "is_pre_partition", "save_binary"),
        *("is_save_binary", "is_save_binary_file", "precise_float_parser"),
    ),
    "Only for LightGBM's command line.": (
        *("task", "task_type", "config", "config_file", "metric_freq", "output_freq"),
        *("is_provide_training_metric", "is_training_metric", "train_metric"),
        *("training_metric", "input_model", "model_in", "model_input"),
        *("output_model", "model_out", "model_output", "snapshot_freq", "save_period"),
        *("saved_feature_importance_type", "convert_model", "convert_model_file"),
        *("convert_model_language", "output_result", "name_pred", "pred_name"),
        *("predict_name", "predict_result", "prediction_name", "prediction_result"),
    ),
    "Use the arguments of `predict` instead.": (
        *("predict_raw_score", "is_predict_raw_score", "predict_rawscore"),
        *("raw_score", "predict_leaf_index", "is_predict_leaf_index", "leaf_index"),
        *("predict_contrib", "is_predict_contrib", "contrib"),
        *("num_iteration_predict", "start_iteration_predict"),
    ),
    "Predictions use all trees, and `X` is always checked.": (
        *("pred_early_stop", "pred_early_stop_freq", "pred_early_stop_margin"),
        "predict_disable_shape_check",
    ),
    "Only for `Booster.refit`.": ("refit_decay_rate",),
    "Nothing is printed by default (an option of LightGBM before 3.3).": ("silent",),
}

# LightGBM's options that do not exist here, with the reason. They have no effect there,
# either, if they are 0 or empty, or if they are ``cegb_tradeoff`` alone.
NOT_AVAILABLE: dict[str, tuple[str, ...]] = {
    "Costs of features (CEGB) are not implemented: public code hardly uses them. Set"
    " `feature_contri` to make a column less likely to be used.": (
        *("cegb_tradeoff", "cegb_penalty_split"),
        *("cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled"),
    ),
    "Files are CSV, TSV or LibSVM. Read other files yourself, and pass their rows.": (
        "parser_config_file",
    ),
}

# Those of them that are an error, because without them the rows would be others.
REFUSED = ("parser_config_file",)
