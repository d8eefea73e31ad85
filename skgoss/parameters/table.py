"""The table of options: names, defaults, domains, and what they need.

Their meanings are in `descriptions.MEANINGS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skgoss.parameters.descriptions import MEANINGS
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
    Need,
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
    lightgbm: str | None = None,
    aliases: str = "",
    needs: tuple[Need, ...] = (),
) -> Option:
    """One row: ``lightgbm`` is None if it is ``name``, ``aliases`` are the others."""
    names = tuple(aliases.split())
    if lightgbm is not None:
        names = lightgbm, *names
    meaning = MEANINGS.get(name, "")
    return Option(name, default, domain, meaning, lightgbm or name, names, needs)


def _by_reason(table: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """The names of options that do nothing, by the reason."""
    return {reason: tuple(names.split()) for reason, names in table.items()}


# --- What options need ----------------------------------------------------------------


def _samples_rows(options: Mapping[str, Any]) -> bool:
    names = "subsample", "pos_bagging_fraction", "neg_bagging_fraction"
    return min(options[name] for name in names) < 1


def _stops_early(options: Mapping[str, Any]) -> bool:
    return (options["early_stopping_round"] or 0) > 0 or options["folds"] is not None


_BAGGING = (Need("subsample_freq=1", lambda options: options["subsample_freq"] > 0),)
_SAMPLES = (Need("subsample < 1", _samples_rows),)
_DART = (Need("boosting_type='dart'", lambda o: o["boosting_type"] == "dart"),)
_GOSS = (
    Need("data_sample_strategy='goss'", lambda o: o["data_sample_strategy"] == "goss"),
)
_BUNDLES = (Need("enable_bundle=True", lambda options: options["enable_bundle"]),)
_LINEAR = (Need("linear_tree=True", lambda options: options["linear_tree"]),)
_MONOTONE = (Need("monotone_constraints", lambda o: bool(o["monotone_constraints"])),)
_EARLY_STOPPING = (Need("early_stopping_round, or folds", _stops_early),)
_HELD_OUT = (
    Need(
        "early_stopping_round without an evaluation set",
        lambda known: known["holds rows out"],
    ),
)
_REFIT = (
    Need(
        "folds, or early_stopping_round without an evaluation set",
        lambda known: known["folds"] is not None or known["holds rows out"],
    ),
)
_CATEGORIES = (Need("a column of categories", lambda known: known["categories"]),)
_POSITIONS = (Need("a Dataset with positions", lambda known: known["positions"]),)
_QUERIES = (Need("queries", lambda known: known["queries"]),)
# The fit has replaced an option that has no effect.
_CLASSES = (
    Need(
        "three classes or more",
        lambda options: options["multi_strategy"] == "multi_output_tree",
    ),
)

# --- The table ------------------------------------------------------------------------

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
        "boosting",
        "boost",
    ),
    _option(
        "num_leaves",
        31,
        integer(2, 131072),
        aliases="num_leaf max_leaves max_leaf max_leaf_nodes",
    ),
    _option("max_depth", -1, ANY_INT),
    _option("learning_rate", 0.1, POSITIVE, aliases="shrinkage_rate eta"),
    _option(
        "n_estimators",
        100,
        integer(1),
        "num_iterations",
        "num_iteration n_iter num_tree num_trees num_round num_rounds nrounds"
        " num_boost_round max_iter",
    ),
    _option("subsample_for_bin", 200000, integer(1), "bin_construct_sample_cnt"),
    _option(
        "objective", None, OBJECTIVE, aliases="objective_type app application loss"
    ),
    _option("class_weight", None, CLASS_WEIGHT),
    _option("min_split_gain", 0.0, NOT_NEGATIVE, "min_gain_to_split"),
    _option(
        "min_child_weight",
        1e-3,
        NOT_NEGATIVE,
        "min_sum_hessian_in_leaf",
        "min_sum_hessian_per_leaf min_sum_hessian min_hessian",
    ),
    _option(
        "min_child_samples",
        20,
        integer(0),
        "min_data_in_leaf",
        "min_data_per_leaf min_data min_samples_leaf",
    ),
    _option(
        "subsample",
        1.0,
        POSITIVE_FRACTION,
        "bagging_fraction",
        "sub_row bagging",
        _BAGGING,
    ),
    _option("subsample_freq", 0, ANY_INT, "bagging_freq", needs=_SAMPLES),
    _option(
        "pos_bagging_fraction",
        1.0,
        POSITIVE_FRACTION,
        aliases="pos_sub_row pos_subsample pos_bagging",
        needs=_BAGGING,
    ),
    _option(
        "neg_bagging_fraction",
        1.0,
        POSITIVE_FRACTION,
        aliases="neg_sub_row neg_subsample neg_bagging",
        needs=_BAGGING,
    ),
    _option("bagging_by_query", False, BOOL, needs=(*_QUERIES, *_SAMPLES, *_BAGGING)),
    _option("data_sample_strategy", "bagging", choice("bagging", "goss")),
    _option("top_rate", 0.2, FRACTION, needs=_GOSS),
    _option("other_rate", 0.1, FRACTION, needs=_GOSS),
    _option("drop_rate", 0.1, FRACTION, aliases="rate_drop", needs=_DART),
    _option("max_drop", 50, ANY_INT, needs=_DART),
    _option("skip_drop", 0.5, FRACTION, needs=_DART),
    _option("uniform_drop", False, BOOL, needs=_DART),
    _option("xgboost_dart_mode", False, BOOL, needs=_DART),
    _option(
        "colsample_bytree", 1.0, POSITIVE_FRACTION, "feature_fraction", "sub_feature"
    ),
    _option("reg_alpha", 0.0, NOT_NEGATIVE, "lambda_l1", "l1_regularization"),
    _option("reg_lambda", 0.0, NOT_NEGATIVE, "lambda_l2", "lambda l2_regularization"),
    _option("random_state", None, RANDOM_STATE, "seed", "random_seed"),
    _option(
        "n_jobs", None, optional(ANY_INT), "num_threads", "num_thread nthread nthreads"
    ),
    _option("importance_type", "split", choice("split", "gain", "cover")),
    _option("max_bin", 255, integer(2, 65535), aliases="max_bins"),
    _option("max_bin_by_feature", None, MAX_BIN_BY_FEATURE),
    _option("forcedbins_filename", None, FORCED_BINS),
    _option("min_data_in_bin", 3, integer(1)),
    _option("use_missing", True, BOOL),
    _option("zero_as_missing", False, BOOL),
    _option("feature_pre_filter", True, BOOL),
    _option("enable_bundle", True, BOOL, aliases="is_enable_bundle bundle"),
    _option("max_conflict_rate", 0.0, real(0, 1, closed="left"), needs=_BUNDLES),
    _option("is_enable_sparse", True, BOOL, aliases="is_sparse enable_sparse sparse"),
    _option(
        "categorical_feature",
        "auto",
        CATEGORICAL_FEATURE,
        aliases="cat_feature categorical_column cat_column categorical_features",
    ),
    _option("max_cat_to_onehot", 4, integer(1), needs=_CATEGORIES),
    _option("max_cat_threshold", 32, integer(1), needs=_CATEGORIES),
    _option("cat_smooth", 10.0, NOT_NEGATIVE, needs=_CATEGORIES),
    _option("cat_l2", 10.0, NOT_NEGATIVE, needs=_CATEGORIES),
    _option("min_data_per_group", 100, integer(1), needs=_CATEGORIES),
    _option("max_delta_step", 0.0, real(), aliases="max_tree_output max_leaf_output"),
    _option("linear_tree", False, BOOL, aliases="linear_trees"),
    _option("linear_lambda", 0.0, NOT_NEGATIVE, needs=_LINEAR),
    _option("path_smooth", 0.0, NOT_NEGATIVE),
    _option("extra_trees", False, BOOL, aliases="extra_tree"),
    _option(
        "multi_strategy",
        "one_output_per_tree",
        choice("one_output_per_tree", "multi_output_tree"),
        needs=_CLASSES,
    ),
    _option(
        "feature_fraction_bynode",
        1.0,
        POSITIVE_FRACTION,
        aliases="sub_feature_bynode colsample_bynode",
    ),
    _option(
        "feature_contri",
        None,
        FEATURE_CONTRI,
        aliases="feature_contrib fc fp feature_penalty",
    ),
    _option(
        "monotone_constraints",
        None,
        MONOTONE_CONSTRAINTS,
        aliases="mc monotone_constraint monotonic_cst",
    ),
    _option(
        "monotone_constraints_method",
        "basic",
        choice("basic", "intermediate", "advanced"),
        aliases="monotone_constraining_method mc_method",
        needs=_MONOTONE,
    ),
    _option(
        "monotone_penalty",
        0.0,
        NOT_NEGATIVE,
        aliases="monotone_splits_penalty ms_penalty mc_penalty",
        needs=_MONOTONE,
    ),
    _option("interaction_constraints", None, INTERACTION_CONSTRAINTS),
    _option(
        "forcedsplits_filename",
        None,
        FORCED_SPLITS,
        aliases="fs forced_splits_filename forced_splits_file forced_splits",
    ),
    _option("boost_from_average", True, BOOL),
    _option("reg_sqrt", False, BOOL),
    _option("is_unbalance", False, BOOL, aliases="unbalance unbalanced_sets"),
    _option("scale_pos_weight", 1.0, POSITIVE),
    _option("sigmoid", 1.0, POSITIVE),
    _option("alpha", 0.9, ALPHA),
    _option("fair_c", 1.0, POSITIVE),
    _option("poisson_max_delta_step", 0.7, POSITIVE),
    _option("tweedie_variance_power", 1.5, real(1, 2, closed="left")),
    _option("lambdarank_truncation_level", 30, integer(1)),
    _option("lambdarank_norm", True, BOOL),
    _option(
        "lambdarank_position_bias_regularization", 0.0, NOT_NEGATIVE, needs=_POSITIONS
    ),
    _option("label_gain", None, LABEL_GAIN),
    _option("metric", None, METRIC, aliases="metrics metric_types"),
    _option("multi_error_top_k", 1, integer(1)),
    _option("auc_mu_weights", None, AUC_MU_WEIGHTS),
    _option(
        "eval_at",
        (1, 2, 3, 4, 5),
        EVAL_AT,
        aliases="ndcg_eval_at ndcg_at map_eval_at map_at",
    ),
    _option(
        "early_stopping_round",
        None,
        optional(ANY_INT),
        aliases="early_stopping_rounds early_stopping n_iter_no_change",
    ),
    _option("first_metric_only", False, BOOL, needs=_EARLY_STOPPING),
    _option("early_stopping_min_delta", 0.0, MIN_DELTA, needs=_EARLY_STOPPING),
    _option("validation_fraction", 0.1, real(0, 1), needs=_HELD_OUT),
    _option("refit", False, BOOL, needs=_REFIT),
    _option("folds", None, FOLDS, aliases="n_folds nfold"),
    _option("preset", None, optional(choice("accurate", "best"))),
    _option("time_limit", None, optional(POSITIVE)),
    _option("data_random_seed", None, SEED, aliases="data_seed"),
    _option("bagging_seed", None, SEED, aliases="bagging_fraction_seed"),
    _option("feature_fraction_seed", None, SEED),
    _option("extra_seed", None, SEED),
    _option("objective_seed", None, SEED),
    _option("drop_seed", None, SEED),
    _option("verbosity", -1, ANY_INT, aliases="verbose"),
    _option("deterministic", False, BOOL),
    _option("force_col_wise", False, BOOL),
    _option("force_row_wise", False, BOOL),
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
_ADDED = "class_weight importance_type max_conflict_rate validation_fraction refit"
_ADDED += " folds multi_strategy preset time_limit"
NOT_IN_LIGHTGBM = frozenset(_ADDED.split())

# The options of data files, which a Dataset has and an estimator does not. Numbers of
# columns do not count the label, apart from that of the label itself.
FILE_OPTIONS: tuple[Option, ...] = (
    _option("header", False, BOOL, aliases="has_header"),
    _option("label_column", "", FILE_COLUMN, aliases="label"),
    _option("weight_column", "", FILE_COLUMN, aliases="weight"),
    _option(
        "group_column",
        "",
        FILE_COLUMN,
        aliases="group group_id query_column query query_id",
    ),
    _option("ignore_column", "", FILE_COLUMNS, aliases="ignore_feature blacklist"),
)

# LightGBM's options without effect: the reason, and all names.
_NAMES_WITHOUT_EFFECT = {
    "Histograms are exact sums of integers.": (
        "use_quantized_grad num_grad_quant_bins quant_train_renew_leaf"
        " stochastic_rounding"
    ),
    "Fits run on CPUs. For a cluster, use `skgoss.dask`.": (
        "device_type device gpu_platform_id gpu_device_id gpu_device_id_list"
        " gpu_use_dp num_gpu tree_learner tree tree_type tree_learner_type top_k topk"
        " num_machines num_machine machines workers nodes local_listen_port"
        " local_port port time_out machine_list_filename machine_list_file"
        " machine_list mlist"
    ),
    "Histograms are kept only for leaves that may still be split.": (
        "histogram_pool_size hist_pool_size"
    ),
    "Estimators count the labels in `y`. Only `train` and `cv` use it.": (
        "num_class num_classes"
    ),
    "Only for data files. `fit` takes arrays and data frames.": (
        "two_round two_round_loading use_two_round_loading header has_header"
        " pre_partition is_pre_partition save_binary is_save_binary"
        " is_save_binary_file precise_float_parser"
    ),
    "Only for LightGBM's command line.": (
        "task task_type config config_file metric_freq output_freq"
        " is_provide_training_metric is_training_metric train_metric training_metric"
        " input_model model_in model_input output_model model_out model_output"
        " snapshot_freq save_period saved_feature_importance_type convert_model"
        " convert_model_file convert_model_language output_result name_pred pred_name"
        " predict_name predict_result prediction_name prediction_result"
    ),
    "Use the arguments of `predict` instead.": (
        "predict_raw_score is_predict_raw_score predict_rawscore raw_score"
        " predict_leaf_index is_predict_leaf_index leaf_index predict_contrib"
        " is_predict_contrib contrib num_iteration_predict start_iteration_predict"
    ),
    "Predictions use all trees, and `X` is always checked.": (
        "pred_early_stop pred_early_stop_freq pred_early_stop_margin"
        " predict_disable_shape_check"
    ),
    "Only for `Booster.refit`.": "refit_decay_rate",
    "Nothing is printed by default (an option of LightGBM before 3.3).": "silent",
}
WITHOUT_EFFECT = _by_reason(_NAMES_WITHOUT_EFFECT)

# LightGBM's options that do not exist here, with the reason. They have no effect there,
# either, if they are 0 or empty, or if they are ``cegb_tradeoff`` alone.
_NAMES_NOT_AVAILABLE = {
    "Costs of features (CEGB) are not implemented: public code hardly uses them. Set"
    " `feature_contri` to make a column less likely to be used.": (
        "cegb_tradeoff cegb_penalty_split cegb_penalty_feature_lazy"
        " cegb_penalty_feature_coupled"
    ),
    "Files are CSV, TSV or LibSVM. Read other files yourself, and pass their rows.": (
        "parser_config_file"
    ),
}
NOT_AVAILABLE = _by_reason(_NAMES_NOT_AVAILABLE)

# Those of them that are an error, because without them the rows would be others.
REFUSED = ("parser_config_file",)
