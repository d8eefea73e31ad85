"""Names in LightGBM, XGBoost, CatBoost and scikit-learn that do not exist here.

Each table is for one kind of names: options, values of options, arguments, methods. It
says what to use instead, or why a name has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping

from skgoss.utils.messages import by_name

# --- Options --------------------------------------------------------------------------

# Options of estimators and `train`. Names that are close to ours need no row.
_FIT_NAMES = {
    "folds": "cv kfold k_fold n_splits num_bag_folds",
    "n_estimators": "iterations n_trees n_tree ntree n_rounds epochs",
    "early_stopping_round": "od_type od_wait patience use_best_model",
    "early_stopping_min_delta": "od_pval tol",
    "learning_rate": "lr",
    "max_depth": "depth",
    "max_bin": "border_count n_bins",
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
    "alpha": "delta huber_delta huber_slope quantile_alpha",
    "alpha, which may be a list, with objective='quantile'": "q quantile quantiles",
    "time_limit": "max_time timeout",
    "preset='accurate', or a search of skgoss.model_selection": "n_trials tune tuning",
    "the arguments of predict_interval": "confidence_level conformity_score method",
    "the argument categorical_feature of fit or Dataset": "cat_features",
    "the argument eval_metric of fit": "eval_metric",
    "the argument callbacks of fit or train": "callbacks",
    "Dataset(path, label=..., columns=[...]) as X": "columns",
    "the argument init_score of fit or Dataset": "base_score offset",
    "the argument sample_weight of fit, or weight of Dataset": "weights",
    "y / exposure as the target, and exposure as the weight of rows": "exposure",
    "the argument y of fit, or label of Dataset": "label labels target",
    "reset_parameter(learning_rate=...) in callbacks": (
        "decay learning_rate_decay scheduler"
    ),
    "oof_score_ of a model with folds": "oob_score",
}
_PREDICTION_NAMES = {
    "pred_contrib=True": "contributions shap shap_values",
    "pred_interactions=True": "shap_interactions shap_interaction_values",
    "raw_score=True": "output_margin raw",
    "num_iteration": "iteration_range ntree_end ntree_limit tree_limit",
    "predict_proba of a classifier": "pred_proba prediction_type proba return_proba",
    "predict_interval(X, coverage=0.9)": "interval return_std",
    "the argument method of predict_interval": "ensemble",
    "raw_score=True, and add the start scores": "base_margin init_score offset",
    "predict(X) * exposure, after a fit to y / exposure": "exposure",
    "n_jobs": "thread_count",
    "scikit-learn's FixedThresholdClassifier": "cutoff decision_threshold threshold",
}
_REFIT_NAMES = {
    "data and label": "X y",
    "decay_rate": "decay",
    "group": "groups qid query",
    "weight": "sample_weight sample_weights weights",
}
# Options whose purpose is met without an option.
_ALWAYS = {
    "Fits run on CPUs.": "devices gpu gpu_id n_gpus use_gpu",
    "Trees are grown leaf-wise on histograms; num_leaves and max_depth limit their"
    " size.": "grow_policy tree_method",
    "Missing values don't need an option; see use_missing and zero_as_missing.": (
        "missing nan_mode"
    ),
    "Columns with dtype category are treated as categorical automatically.": (
        "enable_categorical feature_types"
    ),
    "Unpack the dict: write **params instead of params=params.": "params",
    "Leaf values are one Newton step.": "leaf_estimation_iterations",
    "Convert text to numbers first, for example with TfidfVectorizer.": "text_features",
}


def _sentences(names: Mapping[str, str], sentence: str) -> dict[str, str]:
    """The sentence for each name of other libraries.

    The keys of ``names`` are what to use here, which replaces "{}" in ``sentence``. The
    values are the names, separated by spaces.
    """
    return {name: sentence.format(instead) for name, instead in by_name(names).items()}


FIT_HINTS = _sentences(_FIT_NAMES, " Use {}.") | _sentences(_ALWAYS, " {}")
PREDICTION_HINTS = _sentences(_PREDICTION_NAMES, " Use {}.")
REFIT_HINTS = _sentences(_REFIT_NAMES, " Use {}.")


# Names of other libraries for the coverage, or for 1 minus it.
COVERAGE_HINTS = by_name(
    {
        "Pass coverage=0.95.": "confidence confidence_level conf_level level",
        "Pass coverage=0.8 for the quantiles 0.1 and 0.9.": "quantile quantiles",
        "Pass 1 minus it as coverage, as in coverage=0.95 for 0.05.": (
            "alpha significance significance_level"
        ),
    }
)


def _by_reason(table: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The names of options that do nothing, by the reason.

    In ``table``, they are separated by spaces.
    """
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
    "Used only by `train` and `cv`. Estimators count the labels in `y`.": (
        "num_class num_classes"
    ),
    "Only for LightGBM's file reader.": (
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
    "Only applies to `Booster.refit`.": "refit_decay_rate",
    "Nothing is printed by default (an option of LightGBM before 3.3).": "silent",
}
WITHOUT_EFFECT = _by_reason(_NAMES_WITHOUT_EFFECT)

# LightGBM's options that do not exist here, with the reason. In LightGBM, they have no
# effect if they are 0 or empty, and ``cegb_tradeoff`` has none without the others.
_NAMES_NOT_AVAILABLE = {
    "Feature costs (CEGB) are not supported. To make a column less likely to be used,"
    " set `feature_contri`.": (
        "cegb_tradeoff cegb_penalty_split cegb_penalty_feature_lazy"
        " cegb_penalty_feature_coupled"
    ),
    "Text files are CSV, TSV or LibSVM. Read other formats yourself and pass the"
    " rows.": ("parser_config_file"),
}
NOT_AVAILABLE = _by_reason(_NAMES_NOT_AVAILABLE)

# Those that are an error here, because the rows would be different without them.
REFUSED = ("parser_config_file",)

# --- Values of options ----------------------------------------------------------------

# Names of objectives in other libraries, by the objective to use.
OBJECTIVES = by_name(
    {
        "regression": "reg:squarederror squared_error",
        "normal": "gaussiannll rmsewithuncertainty",
        "regression_l1": "reg:absoluteerror absolute_error",
        "huber": "reg:pseudohubererror",
        "quantile": "reg:quantileerror",
        "poisson": "count:poisson",
        "gamma": "reg:gamma",
        "tweedie": "reg:tweedie",
        "cross_entropy": "reg:logistic",
        "cox": "survival:cox coxph cox_ph",
        "aft_normal": "survival:aft",
        "aft_logistic": "loglogistic log_logistic",
        # The logarithm of a Weibull time has an extreme value distribution.
        "aft_extreme": "aft_weibull weibull weibull_aft",
        "binary": "binary:logistic log_loss logloss",
        "multiclass": "multi:softmax multi:softprob",
        "lambdarank": "ndcg rank:map rank:ndcg rank:pairwise yetirank",
    }
)

# Names of metrics in other libraries that are accepted, by the names here.
ACCEPTED_METRICS = {
    "roc_auc": "auc",
    "r2_score": "r2",
    "log_loss": "logloss",
    "mlogloss": "logloss",
    "merror": "error",
}

# What to use instead of metrics that do not exist here.
METRICS = by_name(
    {
        "'auc'": "roc roc_auc roc_auc_score",
        "'r2'": "explained_variance",
        "'average_precision'": "aucpr auprc pr_auc prauc",
        "'binary_error' or 'multi_error', which is 1 - accuracy": "acc accuracy",
    }
)

# The scorers of scikit-learn, which estimators have as metrics, for other metrics that
# do not exist here; "" if there is none. Without scorers, they need a function.
SCORERS = by_name(
    {
        "balanced_accuracy": "balanced_accuracy balanced_accuracy_score",
        "f1": "f1 f1_score",
        "matthews_corrcoef": "mcc",
        "max_error": "max_error",
        "neg_brier_score": "brier_score brier_score_loss",
        "neg_mean_squared_log_error": "msle",
        "neg_root_mean_squared_log_error": "rmsle",
        "precision": "precision precision_score",
        "recall": "recall recall_score",
        "": "gini smape",
    }
)

# The scorers for the names of metrics, in searches.
SEARCH_SCORERS = by_name(
    {
        "'accuracy'": "acc accuracy_score binary_error error multi_error",
        "'average_precision'": "aucpr auprc average_precision_score pr_auc prauc",
        "'balanced_accuracy'": "balanced_accuracy_score",
        "'f1' for two classes, 'f1_macro' for more": "f1_score",
        "'matthews_corrcoef'": "mcc",
        "'neg_brier_score'": "brier brier_score brier_score_loss",
        "'neg_log_loss'": (
            "binary_logloss cross_entropy crossentropy log_loss logloss mlogloss"
            " multi_logloss"
        ),
        "'neg_max_error'": "max_error",
        "'neg_mean_absolute_error'": "l1 mae mean_absolute_error",
        "'neg_mean_absolute_percentage_error'": "mape mean_absolute_percentage_error",
        "'neg_mean_gamma_deviance'": "gamma gamma_deviance mean_gamma_deviance",
        "'neg_mean_poisson_deviance'": "mean_poisson_deviance poisson",
        "'neg_mean_squared_error'": "l2 mean_squared_error mse",
        "'neg_mean_squared_log_error'": "mean_squared_log_error msle",
        "'neg_median_absolute_error'": "median_absolute_error",
        "'neg_root_mean_squared_error'": "rmse root_mean_squared_error",
        "'neg_root_mean_squared_log_error'": "rmsle",
        "'precision'": "precision_score",
        "'r2'": "r2_score",
        "'recall'": "recall_score",
        "'roc_auc' for two classes, 'roc_auc_ovr' for more": (
            "auc roc roc_auc_score rocauc"
        ),
        "skgoss.ndcg_scorer": "lambdarank ndcg ndcg_score",
    }
)

# --- Arguments, by function -----------------------------------------------------------

_ARGUMENTS = {
    "fit": {
        "LGBMRanker, which ranks the rows of queries": "qid",
        (
            "groups, the group of each row, for rows that folds keep together, or"
            " LGBMRanker for the sizes of queries"
        ): "group",
        "X and y": "df train train_data train_set",
        "eval_X and eval_y": "X_val X_valid y_val y_valid",
        "eval_init_score": "base_margin_eval_set",
        "eval_metric": "metrics",
        "eval_names": "valid_names",
        "eval_sample_weight": "sample_weight_eval_set sample_weight_val",
        "eval_set=[(X_valid, y_valid)]": "eval_data valid_sets validation_data",
        "init_score": "base_margin",
        (
            "y / exposure as y and sample_weight=exposure if it is the logarithm of an"
            " exposure; else init_score, and add it to the raw scores of predictions"
        ): "offset",
        "qid, the query of each row, of LGBMRanker": "group_id groups query_id",
        "sample_weight": "weight weights",
        "X, a Dataset(path, label=..., columns=[...])": "columns",
        "y / exposure as y, and sample_weight=exposure": "exposure",
        "the parameter folds of the constructor": "cv num_bag_folds",
        "the parameter preset of the constructor": "presets",
        "verbose": "logging_level silent",
    },
    "train": {
        "Dataset(X, label=y, weight=sample_weight)": "sample_weight weight",
        "callbacks=[log_evaluation()]": "verbose",
        "num_boost_round": "iterations n_estimators num_round",
        "metric in params, or feval": "custom_metric eval_metric metrics",
        "valid_names": "eval_names",
        "valid_sets=[Dataset(X_valid, label=y_valid)]": "eval_set evals",
    },
    "cv": {
        "folds, or nfold for their number": "cv",
        "folds, whose test rows are evaluated": "eval_set evals valid_sets",
        "folds=GroupKFold(5).split(X, groups=groups)": "groups",
        "metrics, or feval for a function": "custom_metric eval_metric scoring",
        "nfold": "fold_count n_folds n_splits",
        "num_boost_round": "iterations n_estimators num_round",
        "seed, that of the folds, or random_state in params": "random_state",
        "verbose_eval": "verbose",
    },
    "Dataset": {
        "data": "X",
        "group, the sizes of the queries": "groups qid",
        "init_score": "base_margin baseline",
        (
            "label=y / exposure and weight=exposure if it is the logarithm of an"
            " exposure; else init_score, and add it to the raw scores of predictions"
        ): "offset",
        "label": "labels target y",
        "label=y / exposure, and weight=exposure": "exposure",
        "weight": "sample_weight sample_weights weights",
    },
    "estimate_memory": {
        "X, which may be a shape, as in estimate_memory((1000, 50))": (
            "n_cols n_columns n_features n_rows n_samples shape"
        ),
    },
    "log_evaluation": {"period": "every n_rounds verbose"},
    "early_stopping": {
        "first_metric_only=True, and pass this metric first": "metric monitor",
        "no such argument: each metric says whether higher is better": (
            "greater_is_better higher_is_better maximize mode"
        ),
        "stopping_rounds": "early_stopping_rounds patience rounds",
    },
}
ARGUMENTS = {function: by_name(names) for function, names in _ARGUMENTS.items()}

# --- Names in the package, methods and attributes -------------------------------------

PACKAGE_HINTS = by_name(
    {
        "Dataset": "DMatrix DeviceQuantileDMatrix Pool QuantileDMatrix",
        "LGBMClassifier or LGBMRegressor": "LightGBM TabularPredictor",
        "LGBMClassifier.from_file(path), or Booster(model_file=path)": (
            "load load_model"
        ),
        "create_tree_digraph": "to_graphviz",
        "model.predict(X)": "predict predict_proba",
        "the statement import skgoss.dask": "dask",
        "model.explain(X)": "Explainer explain plot_shap shap_values",
        "model.explain(X), or shap after import skgoss.as_lightgbm": "TreeExplainer",
        "model.to_file(path), or booster.save_model(path)": "save save_model",
        "preset='accurate', or a search of skgoss.model_selection": (
            "LightGBMTuner tune"
        ),
        "sklearn.inspection": "permutation_importance plot_partial_dependence",
        "skgoss.model_selection": "GridSearchCV RandomizedSearchCV",
        "sklearn.model_selection": "cross_val_score cross_validate KFold",
    }
)
ESTIMATOR_HINTS = by_name(
    {
        "LGBMClassifier, whose predictions are of classes": "predict_proba",
        "LGBMClassifier, whose predictions are of classes; predict_interval of"
        " LGBMRegressor has intervals": "predict_set",
        "LGBMRegressor, whose predictions are numbers; predict_set of LGBMClassifier"
        " has prediction sets": "predict_interval",
        "alpha, which may be a list, with objective='quantile'": "predict_quantiles",
        "best_iteration_": "best_iteration get_best_iteration",
        "best_score_": "best_score get_best_score",
        "booster_": "booster get_booster",
        "booster_, which holds all trees": "boosters_ estimators_ tree_",
        "booster_.dump_model()": "dump_model get_dump to_json",
        "booster_.model_to_string()": "model_to_string",
        "booster_.num_trees()": "num_trees",
        "classes_": "classes",
        "evals_result_": (
            "evals_result get_evals_result train_score_ validation_score_"
        ),
        "evals_result_, oof_score_ and oof_score_error_": "cv_results_ leaderboard",
        "explain(X), or predict(X, pred_contrib=True)": "shap shap_values",
        "feature_importances_": (
            "feature_importance feature_importance_ feature_importances"
            " get_feature_importance"
        ),
        "feature_name_": "feature_name feature_names feature_names_",
        "feature_importances_, because trees have no coefficients": "coef_ intercept_",
        "fit(X, y, init_model=model), which adds rounds": "partial_fit update",
        "fit(X, y).predict(X)": "fit_predict",
        "hasattr(model, 'fitted_')": "is_fitted",
        "from_file(path), a method of the class": "load load_model",
        "get_params()": "get_all_params get_param get_xgb_params params",
        "n_classes_": "n_classes",
        "n_estimators_": "get_num_boosting_rounds n_trees_ tree_count_",
        "numpy.log(predict_proba(X))": "predict_log_proba",
        "oof_prediction_": "oob_prediction_ oof_pred oof_predictions_",
        "oof_score_": "oof_scores_",
        "oof_score_ of a model with folds": "oob_score_",
        "predict(X), or predict(X, pred_leaf=True) for leaves": "transform",
        "predict(X, pred_leaf=True)": "apply calc_leaf_indexes",
        "predict_survival_function(X, times) of LGBMRegressor": (
            "predict_cumulative_hazard predict_cumulative_hazard_function"
            " predict_survival"
        ),
        "predict(X, raw_score=True, num_iteration=n)": "staged_decision_function",
        "preset_params_": "preset_params",
        "preset_params_, what a preset has chosen, or get_params()": "best_params_",
        "score(X, y)": "eval eval_metrics evaluate",
        "skgoss.plot_importance(model)": "plot_importance",
        "skgoss.plot_tree(model)": "plot_tree",
        "skgoss.to_onnx(model)": "to_onnx",
        "to_file(path), which from_file reads": "dump save save_model",
    }
)
BOOSTER_HINTS = by_name(
    {
        "Booster(model_file=path)": "from_file load load_model",
        "LGBMClassifier.from_booster(booster), which has labels": "classes_",
        "LGBMClassifier.from_booster(booster).predict_set(X)": "predict_set",
        "LGBMRegressor.from_booster(booster).predict_interval(X)": "predict_interval",
        "best_iteration": "best_iteration_",
        "best_score": "best_score_",
        "current_iteration()": "n_estimators n_estimators_ num_boosted_rounds",
        "dump_model()": "get_dump to_json",
        "explain(X), or predict(X, pred_contrib=True)": "shap_values",
        "feature_importance()": "feature_importances_ get_fscore get_score",
        "feature_name()": "feature_name_ feature_names",
        "num_feature()": "n_features_",
        "params": "get_params params_ save_config",
        "predict(X), whose results are probabilities": "predict_proba",
        "record_evaluation(results) in callbacks of train": (
            "evals_result evals_result_"
        ),
        "save_model(path)": "save to_file",
        "skgoss.train, or update for one round": "fit",
        "the Booster itself": "booster_",
    }
)
SEARCH_HINTS = by_name(
    {
        "RandomizedSearchCV(..., strategy='race')": (
            "BayesSearchCV HalvingGridSearchCV HalvingRandomSearchCV OptunaSearchCV"
            " TuneSearchCV"
        ),
        "sklearn.model_selection": (
            "GroupKFold KFold StratifiedKFold TimeSeriesSplit cross_val_predict"
            " cross_val_score cross_validate train_test_split"
        ),
    }
)
DATASET_HINTS = by_name(
    {
        "data": "X",
        "label": "labels target y",
        "num_data()": "n_samples num_row shape",
        "num_feature()": "n_features num_col",
    }
)
