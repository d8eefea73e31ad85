"""Names of options that are not here: of LightGBM, XGBoost, CatBoost and scikit-learn.

With what to use instead, or why they have no effect.
"""

from __future__ import annotations

from collections.abc import Mapping

from skgoss.utils.messages import by_name

# Of estimators and `train`. Names that are close to ours need no row.
_OF_FIT = {
    "folds": "cv kfold k_fold n_splits num_bag_folds",
    "n_estimators": "iterations n_trees n_tree ntree n_rounds epochs",
    "early_stopping_round": "od_type od_wait patience use_best_model",
    "early_stopping_min_delta": "od_pval tol",
    "learning_rate": "lr",
    "max_depth": "depth",
    "max_bin": "border_count",
    "min_child_samples": "min_samples_split",
    "min_child_weight": "min_weight_fraction_leaf",
    "min_split_gain": "ccp_alpha gamma min_impurity_decrease",
    "reg_alpha": "l1",
    "reg_lambda": "l2 l2_leaf_reg",
    "subsample": "bagging_temperature max_samples",
    "data_sample_strategy": "bootstrap_type sampling_method",
    "colsample_bytree": "rsm",
    "colsample_bynode": "colsample_bylevel max_features",
    "max_cat_to_onehot": "one_hot_max_size",
    "extra_trees": "random_strength",
    "boosting_type": "booster",
    "boosting_type='rf'": "bootstrap num_parallel_tree",
    "objective": "criterion loss_function",
    "metric": "custom_metric scoring",
    "class_weight": "auto_class_weights class_weights",
    "n_jobs": "thread_count",
    "verbose": "logging_level",
    "alpha": "quantile_alpha",
    "alpha, which may be a list, with objective='quantile'": "quantile quantiles",
    "time_limit": "max_time timeout",
    "preset='accurate', or a search of skgoss.model_selection": "n_trials tune tuning",
    "the arguments of predict_interval": "confidence_level conformity_score method",
    "the argument categorical_feature of fit or Dataset": "cat_features",
    "the argument eval_metric of fit": "eval_metric",
    "the argument callbacks of fit or train": "callbacks",
    "the argument init_model of fit or train": "warm_start",
    "the argument init_score of fit or Dataset": "base_score",
    "the argument sample_weight of fit, or weight of Dataset": "weights",
    "the argument y of fit, or label of Dataset": "label target",
    "reset_parameter(learning_rate=...) in callbacks": (
        "decay learning_rate_decay scheduler"
    ),
    "oof_score_ of a model with folds": "oob_score",
}
_OF_PREDICTIONS = {
    "pred_contrib=True": "contributions shap shap_values",
    "pred_interactions=True": "shap_interactions shap_interaction_values",
    "raw_score=True": "output_margin raw",
    "num_iteration": "iteration_range ntree_end ntree_limit tree_limit",
    "predict_proba of a classifier": "pred_proba prediction_type proba return_proba",
    "predict_interval(X, coverage=0.9)": "interval return_std",
    "the argument method of predict_interval": "ensemble",
    "raw_score=True, and add the start scores": "base_margin init_score",
    "n_jobs": "thread_count",
    "scikit-learn's FixedThresholdClassifier": "cutoff decision_threshold threshold",
}
_OF_REFIT = {
    "data and label": "X y",
    "decay_rate": "decay",
    "group": "groups qid query",
    "weight": "sample_weight sample_weights weights",
}
# What is so without an option.
_ALWAYS = {
    "Fits run on CPUs.": "devices gpu gpu_id n_gpus use_gpu",
    "Trees are grown leaf-wise on histograms; num_leaves and max_depth limit them.": (
        "grow_policy tree_method"
    ),
    "Missing values need no option; see use_missing and zero_as_missing.": (
        "missing nan_mode"
    ),
    "Columns of dtype category are categorical without an option.": (
        "enable_categorical feature_types"
    ),
    "Leaf values are one Newton step.": "leaf_estimation_iterations",
    "Convert text to numbers first, for example with TfidfVectorizer.": "text_features",
}


def _sentences(names: Mapping[str, str], sentence: str) -> dict[str, str]:
    """The sentence for each name of other libraries."""
    return {name: sentence.format(instead) for name, instead in by_name(names).items()}


OF_FIT = _sentences(_OF_FIT, " Use {}.") | _sentences(_ALWAYS, " {}")
OF_PREDICTIONS = _sentences(_OF_PREDICTIONS, " Use {}.")
OF_REFIT = _sentences(_OF_REFIT, " Use {}.")


def _by_reason(table: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The names of options that do nothing, by the reason."""
    return {reason: tuple(names.split()) for reason, names in table.items()}


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
    "Feature costs (CEGB) are not supported, because they are hardly ever used. Set"
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
