"""The table of options: names, defaults, domains, meanings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skgoss.domains import (
    ANY_INT,
    BINS,
    CLASS_WEIGHT,
    COLUMNS,
    COSTS,
    DELTAS,
    FACTORS,
    FILE_COLUMN,
    FILE_COLUMNS,
    FLAG,
    FORCED,
    FRACTION,
    GAINS,
    METRIC,
    NOT_NEGATIVE,
    OBJECTIVE,
    POSITIONS,
    POSITIVE,
    RANDOM_STATE,
    SEED,
    SETS,
    SIGNS,
    UNIT,
    Domain,
    choice,
    integer,
    optional,
    real,
)


@dataclass(frozen=True)
class Option:
    """One row of the table.

    Attributes
    ----------
    name : str
        The name in the estimator's signature.
    default : object
    domain : Domain
    meaning : str
    lightgbm : str
        LightGBM's main name.
    aliases : tuple of str
        Further names.
    """

    name: str
    default: Any
    domain: Domain
    meaning: str
    lightgbm: str
    aliases: tuple[str, ...] = ()

    @property
    def other_names(self) -> tuple[str, ...]:
        """All accepted names except ``name``."""
        main = (self.lightgbm,) if self.lightgbm != self.name else ()
        return main + self.aliases

    @property
    def precedence(self) -> tuple[str, ...]:
        """All names; if several are given different values, the first of them is used.

        This is LightGBM's order: its main name first, then shorter names before longer
        ones.
        """

        def rank(word: str) -> tuple[bool, int, str]:
            return word != self.lightgbm, len(word), word

        return tuple(sorted((self.name, *self.other_names), key=rank))


def _option(
    name: str,
    default: Any,
    domain: Domain,
    meaning: str,
    lightgbm: str | None = None,
    aliases: str = "",
) -> Option:
    return Option(
        name, default, domain, meaning, lightgbm or name, tuple(aliases.split())
    )


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
        " some of the earlier trees are dropped at random while a new one is grown"
        " (Rashmi and Gilad-Bachrach, AISTATS 2015). 'rf' (or 'random_forest'): a"
        " random forest; it needs ``subsample`` with ``subsample_freq``, or"
        " ``colsample_bytree``. 'goss': 'gbdt' with ``data_sample_strategy='goss'``.",
        "boosting",
        "boost",
    ),
    _option(
        "num_leaves",
        31,
        integer(2, 131072),
        "Maximum number of leaves of a tree.",
        aliases="num_leaf max_leaves max_leaf max_leaf_nodes",
    ),
    _option(
        "max_depth",
        -1,
        ANY_INT,
        "Maximum depth of a tree; the root has depth 0. No limit if <= 0.",
    ),
    _option(
        "learning_rate",
        0.1,
        POSITIVE,
        "Factor by which the values of each tree are multiplied.",
        aliases="shrinkage_rate eta",
    ),
    _option(
        "n_estimators",
        100,
        integer(1),
        "Number of boosting rounds. A round grows one tree, or one tree per class if"
        " there are more than two classes.",
        "num_iterations",
        "num_iteration n_iter num_tree num_trees num_round num_rounds nrounds"
        " num_boost_round max_iter",
    ),
    _option(
        "subsample_for_bin",
        200000,
        integer(1),
        "Number of rows that are sampled to find the boundaries of the bins.",
        "bin_construct_sample_cnt",
    ),
    _option(
        "objective",
        None,
        OBJECTIVE,
        "The loss: a name, or a function ``f(y_true, y_pred) -> gradient, hessian``"
        " (with the weights as an optional third argument). None means 'regression'"
        " for LGBMRegressor, 'binary' or 'multiclass' for LGBMClassifier and"
        " 'lambdarank' for LGBMRanker.",
        aliases="objective_type app application loss",
    ),
    _option(
        "class_weight",
        None,
        CLASS_WEIGHT,
        "Weights of the classes, multiplied into ``sample_weight``. 'balanced' gives"
        " each class the same total weight. Classifiers only.",
    ),
    _option(
        "min_split_gain",
        0.0,
        NOT_NEGATIVE,
        "A split must reduce the loss by more than this.",
        "min_gain_to_split",
    ),
    _option(
        "min_child_weight",
        1e-3,
        NOT_NEGATIVE,
        "Minimum sum of hessians in a leaf.",
        "min_sum_hessian_in_leaf",
        "min_sum_hessian_per_leaf min_sum_hessian min_hessian",
    ),
    _option(
        "min_child_samples",
        20,
        integer(0),
        "Minimum number of rows in a leaf. Rows are counted exactly.",
        "min_data_in_leaf",
        "min_data_per_leaf min_data min_samples_leaf",
    ),
    _option(
        "subsample",
        1.0,
        FRACTION,
        "Share of the rows that are drawn for a tree. It has no effect if"
        " ``subsample_freq`` is 0.",
        "bagging_fraction",
        "sub_row bagging",
    ),
    _option(
        "subsample_freq",
        0,
        ANY_INT,
        "Number of rounds after which rows are drawn anew. All rows are used if <= 0.",
        "bagging_freq",
    ),
    _option(
        "pos_bagging_fraction",
        1.0,
        FRACTION,
        "Share of the positive rows that are drawn, instead of ``subsample``. Needs"
        " ``subsample_freq`` and the objective 'binary'.",
        aliases="pos_sub_row pos_subsample pos_bagging",
    ),
    _option(
        "neg_bagging_fraction",
        1.0,
        FRACTION,
        "Share of the negative rows that are drawn, instead of ``subsample``. Needs"
        " ``subsample_freq`` and the objective 'binary'.",
        aliases="neg_sub_row neg_subsample neg_bagging",
    ),
    _option(
        "bagging_by_query",
        False,
        FLAG,
        "Whether ``subsample`` draws whole queries instead of rows. Rankers only.",
    ),
    _option(
        "data_sample_strategy",
        "bagging",
        choice(bagging="bagging", goss="goss"),
        "How rows are sampled. 'bagging': at random, see ``subsample``. 'goss':"
        " gradient-based one-side sampling keeps the rows with the largest gradients,"
        " samples the other rows and increases their weight (Ke et al., algorithm 2)."
        " It starts after 1 / ``learning_rate`` rounds.",
    ),
    _option(
        "top_rate",
        0.2,
        UNIT,
        "Share of the rows that 'goss' keeps because of their large gradients.",
    ),
    _option(
        "other_rate",
        0.1,
        UNIT,
        "Share of the rows that 'goss' samples from the other rows. The sum with"
        " ``top_rate`` must be at most 1.",
    ),
    _option(
        "drop_rate",
        0.1,
        UNIT,
        "Share of the trees that 'dart' drops in a round.",
        aliases="rate_drop",
    ),
    _option(
        "max_drop",
        50,
        ANY_INT,
        "Maximum number of trees that 'dart' drops in a round. No limit if <= 0.",
    ),
    _option(
        "skip_drop",
        0.5,
        UNIT,
        "Probability that 'dart' drops no tree in a round.",
    ),
    _option(
        "uniform_drop",
        False,
        FLAG,
        "Whether 'dart' drops all trees with the same probability, not in proportion"
        " to their weights.",
    ),
    _option(
        "xgboost_dart_mode",
        False,
        FLAG,
        "Whether 'dart' weights trees as XGBoost does: if n trees are dropped, the"
        " new tree has the weight 1 / (n + ``learning_rate``).",
    ),
    _option(
        "colsample_bytree",
        1.0,
        FRACTION,
        "Share of the columns that are drawn for a tree.",
        "feature_fraction",
        "sub_feature",
    ),
    _option(
        "reg_alpha",
        0.0,
        NOT_NEGATIVE,
        "L1 penalty on the values of leaves.",
        "lambda_l1",
        "l1_regularization",
    ),
    _option(
        "reg_lambda",
        0.0,
        NOT_NEGATIVE,
        "L2 penalty on the values of leaves.",
        "lambda_l2",
        "lambda l2_regularization",
    ),
    _option(
        "random_state",
        None,
        RANDOM_STATE,
        "Seed of all random choices, or a generator from which each fit draws a seed."
        " None is a fixed seed: repeated fits give the same model.",
        "seed",
        "random_seed",
    ),
    _option(
        "n_jobs",
        None,
        optional(ANY_INT),
        "Number of threads; the model does not depend on it. None or 0:"
        " ``OMP_NUM_THREADS`` if it is set, else the number of physical cores. -1: the"
        " number of logical cores; -2: one less, and so on.",
        "num_threads",
        "num_thread nthread nthreads",
    ),
    _option(
        "importance_type",
        "split",
        choice(split="split", gain="gain", cover="cover"),
        "The kind of ``feature_importances_``. 'split': how often a column is used in"
        " splits. 'gain': the sum of the gains of these splits. 'cover': the sum of"
        " the numbers of training rows in the nodes that these splits divide. It may"
        " be changed after fit.",
    ),
    _option(
        "max_bin",
        255,
        integer(2, 65535),
        "Maximum number of bins of a column, including the bin of missing values.",
        aliases="max_bins",
    ),
    _option(
        "max_bin_by_feature",
        None,
        BINS,
        "Maximum number of bins of each column. Columns missing from a dict use"
        " ``max_bin``.",
    ),
    _option("min_data_in_bin", 3, integer(1), "Minimum number of rows in a bin."),
    _option(
        "use_missing",
        True,
        FLAG,
        "Whether NaN is a missing value. If False, NaN is 0.",
    ),
    _option(
        "zero_as_missing",
        False,
        FLAG,
        "Whether 0 is a missing value, as NaN is.",
    ),
    _option(
        "feature_pre_filter",
        True,
        FLAG,
        "Has no effect: columns that cannot be split never change the model.",
    ),
    _option(
        "enable_bundle",
        True,
        FLAG,
        "Whether sparse columns that are never non-zero in the same row are stored as"
        " one column (exclusive feature bundling).",
        aliases="is_enable_bundle bundle",
    ),
    _option(
        "max_conflict_rate",
        0.0,
        real(0, 1, closed="left"),
        "Share of rows in which bundled columns may both be non-zero. At 0, bundling"
        " does not change the model.",
    ),
    _option(
        "is_enable_sparse",
        True,
        FLAG,
        "Whether only the non-zero values of sparse columns are stored. It does not"
        " change the model.",
        aliases="is_sparse enable_sparse sparse",
    ),
    _option(
        "categorical_feature",
        "auto",
        COLUMNS,
        "The columns that hold categories. 'auto': the columns of a data frame with"
        " strings or a categorical dtype. A list of names and numbers of columns:"
        " these columns as well; negative numbers in them are missing values. None or"
        " []: no column. Categories are identified by their values, in any container."
        " Ordered categories of pandas are numbers, unless listed.",
        aliases="cat_feature categorical_column cat_column categorical_features",
    ),
    _option(
        "max_cat_to_onehot",
        4,
        integer(1),
        "Columns with at most this many categories are split one category against all"
        " others.",
    ),
    _option(
        "max_cat_threshold",
        32,
        integer(1),
        "Maximum number of categories on the smaller side of a split between two sets"
        " of categories.",
    ),
    _option(
        "cat_smooth",
        10.0,
        NOT_NEGATIVE,
        "Smoothing of the statistics by which categories are sorted. Categories with"
        " fewer rows than this are not separated from each other.",
    ),
    _option(
        "cat_l2",
        10.0,
        NOT_NEGATIVE,
        "L2 penalty that is added to ``reg_lambda`` in splits between two sets of"
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
        "Maximum absolute value of a leaf, before the learning rate is applied. No"
        " limit if <= 0.",
        aliases="max_tree_output max_leaf_output",
    ),
    _option(
        "linear_tree",
        False,
        FLAG,
        "Whether leaves hold linear models of the numeric columns on the path from"
        " the root (Shi et al., IJCAI 2019). The leaves of the first round are"
        " constants.",
        aliases="linear_trees",
    ),
    _option(
        "linear_lambda",
        0.0,
        NOT_NEGATIVE,
        "L2 penalty on the coefficients of the linear models of ``linear_tree``.",
    ),
    _option(
        "path_smooth",
        0.0,
        NOT_NEGATIVE,
        "Smoothing of the value of a leaf towards the value of its parent, which"
        " counts like this many rows.",
    ),
    _option(
        "extra_trees",
        False,
        FLAG,
        "Whether only one random threshold per column is tried in a split.",
        aliases="extra_tree",
    ),
    _option(
        "feature_fraction_bynode",
        1.0,
        FRACTION,
        "Share of the columns of a tree that are drawn for a node.",
        aliases="sub_feature_bynode colsample_bynode",
    ),
    _option(
        "feature_contri",
        None,
        FACTORS,
        "Factors for the gains of splits, one for each column. A column with factor 0"
        " is never split. Columns missing from a dict have the factor 1.",
        aliases="feature_contrib fc fp feature_penalty",
    ),
    _option(
        "monotone_constraints",
        None,
        SIGNS,
        "Direction of each column's effect on the raw predictions: 1 increasing, -1"
        " decreasing, 0 free. Columns missing from a dict are free. Predictions keep"
        " the constraints exactly, for any objective; missing values are free.",
        aliases="mc monotone_constraint monotonic_cst",
    ),
    _option(
        "monotone_constraints_method",
        "basic",
        choice(basic="basic", intermediate="intermediate", advanced="advanced"),
        "How constraints are kept. 'basic': outputs below a split are bounded by the"
        " mean of its two children. 'intermediate': a leaf is bounded by the values of"
        " the leaves that it is compared with. 'advanced': each side of a candidate"
        " split has bounds of its own. Each is slower and usually more accurate than"
        " the one before.",
        aliases="monotone_constraining_method mc_method",
    ),
    _option(
        "monotone_penalty",
        0.0,
        NOT_NEGATIVE,
        "Penalises splits of columns with monotone constraints, most strongly near"
        " the root.",
        aliases="monotone_splits_penalty ms_penalty mc_penalty",
    ),
    _option(
        "interaction_constraints",
        None,
        SETS,
        "Sets of columns that may be used together on a path from the root to a leaf."
        " Columns in no set are not used. 'pairwise': all pairs of columns."
        " 'no_interactions': each column by itself.",
    ),
    _option(
        "forcedsplits_filename",
        None,
        FORCED,
        "Splits at the top of each tree, as a dict or the name of a JSON file. Each"
        " split has 'feature' (a number or a name) and 'threshold', and may have"
        " 'left' and 'right', the splits below it. Splits without gain or with too few"
        " rows are left out, together with the splits below them.",
        aliases="fs forced_splits_filename forced_splits_file forced_splits",
    ),
    _option(
        "boost_from_average",
        True,
        FLAG,
        "Whether boosting starts from the best constant, not from 0.",
    ),
    _option(
        "reg_sqrt",
        False,
        FLAG,
        "Whether to fit the signed square root of the target and to square the"
        " predictions. For the objectives 'regression', 'regression_l1', 'fair',"
        " 'quantile' and 'mape'.",
    ),
    _option(
        "is_unbalance",
        False,
        FLAG,
        "Whether the weight of the rarer class is increased to that of the other"
        " class. For the objectives 'binary' and 'multiclassova'.",
        aliases="unbalance unbalanced_sets",
    ),
    _option(
        "scale_pos_weight",
        1.0,
        POSITIVE,
        "Weight of the positive class. For the objectives 'binary' and"
        " 'multiclassova'.",
    ),
    _option(
        "sigmoid",
        1.0,
        POSITIVE,
        "Slope of the sigmoid function of the objectives 'binary', 'multiclassova'"
        " and 'lambdarank'.",
    ),
    _option(
        "alpha",
        0.9,
        POSITIVE,
        "For the objective 'huber', the size of the error at which the loss becomes"
        " linear; for 'quantile', the quantile.",
    ),
    _option(
        "fair_c",
        1.0,
        POSITIVE,
        "The size of the error at which the loss of 'fair' begins to flatten.",
    ),
    _option(
        "poisson_max_delta_step",
        0.7,
        POSITIVE,
        "Limits the steps of 'poisson': its hessian is multiplied by exp of this"
        " value.",
    ),
    _option(
        "tweedie_variance_power",
        1.5,
        real(1, 2, closed="left"),
        "Power of the mean in the variance of 'tweedie'.",
    ),
    _option(
        "lambdarank_truncation_level",
        30,
        integer(1),
        "Number of top documents of a query that 'lambdarank' compares with all"
        " others. It should be a little larger than the k of the NDCG@k to optimise.",
    ),
    _option(
        "lambdarank_norm",
        True,
        FLAG,
        "Whether 'lambdarank' normalises the gradients of each query.",
    ),
    _option(
        "label_gain",
        None,
        GAINS,
        "Gain of a document by its grade, from grade 0. None: 2**grade - 1, for the"
        " grades 0 to 30.",
    ),
    _option(
        "metric",
        None,
        METRIC,
        "Metrics of the evaluation sets. None: the default metric of the objective."
        " 'None': no metric.",
        aliases="metrics metric_types",
    ),
    _option(
        "multi_error_top_k",
        1,
        integer(1),
        "'multi_error' counts a row as correct if its class is among this many"
        " classes with the highest predictions.",
    ),
    _option(
        "auc_mu_weights",
        None,
        COSTS,
        "Costs of misclassification for 'auc_mu', class by class: n_classes *"
        " n_classes numbers, row by row. None: all are 1.",
    ),
    _option(
        "eval_at",
        (1, 2, 3, 4, 5),
        POSITIONS,
        "Number of top documents that 'ndcg' and 'map' look at.",
        aliases="ndcg_eval_at ndcg_at map_eval_at map_at",
    ),
    _option(
        "early_stopping_round",
        None,
        optional(ANY_INT),
        "Boosting stops when a metric of an evaluation set has not improved for this"
        " many rounds, and the model keeps the rounds up to the best one. If fit gets"
        " no evaluation set, rows are held out: see ``validation_fraction``. None or"
        " <= 0: no early stopping.",
        aliases="early_stopping_rounds early_stopping n_iter_no_change",
    ),
    _option(
        "first_metric_only",
        False,
        FLAG,
        "Whether early stopping looks at the first metric only.",
    ),
    _option(
        "early_stopping_min_delta",
        0.0,
        DELTAS,
        "Minimum improvement of a metric for early stopping. A list has one number"
        " for each metric.",
    ),
    _option(
        "validation_fraction",
        0.1,
        real(0, 1),
        "Share of the rows that are held out for early stopping if fit gets no"
        " evaluation set. Classifiers hold out the same share of each class, rankers"
        " whole queries. ``random_state`` decides which.",
    ),
    _option(
        "refit",
        False,
        FLAG,
        "Whether to boost the best number of rounds again on all rows, if rows were"
        " held out for early stopping. Callbacks that are called before rounds, such"
        " as ``reset_parameter``, are called again.",
    ),
    _option(
        "data_random_seed",
        None,
        SEED,
        "Seed of the sample of rows from which bins are found. None: from"
        " ``random_state``, or 1 if that is None.",
        aliases="data_seed",
    ),
    _option(
        "bagging_seed",
        None,
        SEED,
        "Seed of the samples of rows. None: from ``random_state``, or 3 if that is"
        " None.",
        aliases="bagging_fraction_seed",
    ),
    _option(
        "feature_fraction_seed",
        None,
        SEED,
        "Seed of the samples of columns. None: from ``random_state``, or 2 if that is"
        " None.",
    ),
    _option(
        "extra_seed",
        None,
        SEED,
        "Seed of the thresholds of ``extra_trees``. None: from ``random_state``, or 6"
        " if that is None.",
    ),
    _option(
        "objective_seed",
        None,
        SEED,
        "Seed of the random numbers of 'rank_xendcg'. None: from ``random_state``, or"
        " 5 if that is None.",
    ),
    _option(
        "drop_seed",
        None,
        SEED,
        "Seed of the trees that 'dart' drops. None: from ``random_state``, or 4 if"
        " that is None.",
    ),
    _option(
        "verbosity",
        -1,
        ANY_INT,
        "At 1 or more, early stopping prints messages and long fits show a progress"
        " bar if rich is installed.",
        aliases="verbose",
    ),
    _option(
        "deterministic",
        False,
        FLAG,
        "Has no effect: every fit is deterministic.",
    ),
    _option(
        "force_col_wise",
        False,
        FLAG,
        "Has no effect: the layout in memory never changes the model.",
    ),
    _option(
        "force_row_wise",
        False,
        FLAG,
        "Has no effect: the layout in memory never changes the model.",
    ),
)

FIXED_SEEDS = {
    "data_random_seed": 1,
    "bagging_seed": 3,
    "feature_fraction_seed": 2,
    "extra_seed": 6,
    "objective_seed": 5,
    "drop_seed": 4,
}

# Options that LightGBM does not have.
ONLY_OURS = frozenset(
    {
        *("class_weight", "importance_type", "max_conflict_rate"),
        *("validation_fraction", "refit"),
    }
)

# The options of data files. They belong to data, not to estimators.
FILE_OPTIONS: tuple[Option, ...] = (
    _option(
        "header",
        False,
        FLAG,
        "Whether the first line of the file holds the names of the columns.",
        aliases="has_header",
    ),
    _option(
        "label_column",
        "",
        FILE_COLUMN,
        "The column of the target; by default the first.",
        aliases="label",
    ),
    _option(
        "weight_column",
        "",
        FILE_COLUMN,
        "The column of the weights of rows. Numbers do not count the label.",
        aliases="weight",
    ),
    _option(
        "group_column",
        "",
        FILE_COLUMN,
        "The column of the query of each row; rows of a query stand together. Numbers"
        " do not count the label.",
        aliases="group group_id query_column query query_id",
    ),
    _option(
        "ignore_column",
        "",
        FILE_COLUMNS,
        "Columns that are not used. Numbers do not count the label.",
        aliases="ignore_feature blacklist",
    ),
)

# LightGBM's options that have no effect here, with all of their names, by the reason.
WITHOUT_EFFECT: dict[str, tuple[str, ...]] = {
    "Histograms are exact sums of integers.": (
        *("use_quantized_grad", "num_grad_quant_bins", "quant_train_renew_leaf"),
        "stochastic_rounding",
    ),
    "A fit runs on the CPU of one machine.": (
        *("device_type", "device", "gpu_platform_id", "gpu_device_id"),
        *("gpu_device_id_list", "gpu_use_dp", "num_gpu"),
        *("tree_learner", "tree", "tree_type", "tree_learner_type"),
        *("top_k", "topk", "num_machines", "num_machine", "machines", "workers"),
        *("nodes", "local_listen_port", "local_port", "port", "time_out"),
        *("machine_list_filename", "machine_list_file", "machine_list", "mlist"),
    ),
    "Only the leaves that may still be split have histograms.": (
        *("histogram_pool_size", "hist_pool_size"),
    ),
    "The number of classes is the number of labels in `y`; `train` takes it.": (
        *("num_class", "num_classes"),
    ),
    "Only for data files; `fit` takes arrays and data frames.": (
        *("two_round", "two_round_loading", "use_two_round_loading", "header"),
        *("has_header", "pre_partition", "is_pre_partition", "save_binary"),
        *("is_save_binary", "is_save_binary_file", "precise_float_parser"),
        "parser_config_file",
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
    "Only for positions of documents, which `LGBMRanker.fit` does not take.": (
        "lambdarank_position_bias_regularization",
    ),
    "Nothing is printed by default (an option of LightGBM before 3.3).": ("silent",),
}
