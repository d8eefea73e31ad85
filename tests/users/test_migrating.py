"""docs/migrating.md, line by line: which tests check each line, by their rooms."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "migrating.md"

# --- Same -----------------------------------------------------------------------------

CHECKED_BY = {
    "modules": [
        "project/test_modules_of_lightgbm_s_names",
        "project/test_modules_of_functions_and_data",
    ],
    "Dataset and train": [
        "booster/test_the_training_set_among_the_sets",
        "booster/test_functions_as_metrics",
        "booster/test_objectives_of_ones_own",
    ],
    "train before version 4": [
        "booster/test_early_stopping_rounds",
        "booster/test_learning_rates",
        "booster/test_fobj",
        "booster/test_evals_result",
        "booster/test_verbose_eval",
        "booster/test_names_and_categories_of_columns",
    ],
    "cv": [
        "booster/test_results_are_lightgbms",
        "booster/test_names_of_earlier_versions",
    ],
    "a Booster in training": [
        "booster/test_rounds_by_hand_are_those_of_train",
        "booster/test_a_round_that_is_rolled_back_leaves_no_trace",
        "booster/test_evaluation_sets_may_come_at_any_time",
        "booster/test_options_of_later_rounds",
        "booster/test_data_that_were_freed",
    ],
    "register_logger and print_evaluation": [
        "fit/test_messages_go_to_a_registered_logger",
        "fit/test_print_evaluation_is_log_evaluation",
    ],
    "early stopping in a search": [
        "estimators/test_old_script_of_a_search_with_early_stopping",
    ],
    "time series": [
        "fit/test_fits_on_folds_by_time",
        "fit/test_times_are_routed",
    ],
    "early_stopping_rounds and verbose in fit": [
        "training/test_every_way_to_ask_for_it_is_the_same",
        "fit/test_verbose_of_fit",
    ],
    "lists of callbacks": [
        "fit/test_messages_are_printed",
        "fit/test_record_evaluation",
        "fit/test_early_stopping_tells_about_itself",
        "training/test_changed_options_are_those_of_lightgbm",
    ],
    "your own callbacks": [
        "training/test_what_a_callback_is_told",
        "training/test_order_and_before_rounds",
        "training/test_ending_a_fit",
    ],
    "callbacks of lightgbm": [
        "fit/test_early_stopping_of_lightgbm",
        "fit/test_messages_and_records_of_lightgbm",
        "fit/test_changed_options_by_lightgbm",
    ],
    "EarlyStopException": [
        "training/test_the_best_score_may_be_plain_tuples",
    ],
    "results in callbacks": [
        "training/test_what_a_callback_is_told",
        "fit/test_results_are_lightgbm_s",
    ],
    "the model in callbacks": [
        "training/test_the_model_that_a_callback_is_told",
        "training/test_a_callback_may_change_options",
        "booster/test_callbacks_have_a_model_of_the_trees_so_far",
    ],
    "names and defaults": ["parameters/test_defaults_and_names_are_lightgbm_s"],
    "arguments of fit by position": [
        "fit/test_arguments_of_fit_are_in_lightgbm_s_order",
    ],
    "aliases": [
        "parameters/test_names_are_lightgbm_s",
        "parameters/test_alias_resolves_at_once",
        "parameters/test_grid_over_an_alias",
    ],
    "two names of one option": [
        "parameters/test_conflicts_are_decided_as_by_lightgbm",
        "parameters/test_the_smallest_number_of_threads_is_used",
        "users/test_two_names_in_a_grid_give_a_warning",
    ],
    "values": [
        "users/test_none_is_not_given",
        "users/test_empty_lists_are_not_given",
        "users/test_numbers_may_be_strings",
        "users/test_categorical_columns_as_a_number_or_a_str",
    ],
    "parameters of a Booster": [
        "users/test_params_of_a_booster_are_those_that_were_passed",
        "users/test_params_can_be_used_again",
        "users/test_reset_parameter_takes_all_parameters",
    ],
    "attributes": [
        "users/test_options_by_the_names_that_were_used",
        "users/test_attributes_that_callbacks_set_stay",
        "users/test_sets_of_a_booster_in_training",
        "users/test_names_of_a_constructed_dataset",
        "users/test_dataset_version_counts_fields",
        "users/test_fields_can_be_written_to",
    ],
    "methods in training": [
        "users/test_leaves_change_in_training",
        "users/test_sets_of_a_booster_in_training",
    ],
    "data sets of several parts": [
        "users/test_columns_are_added_with_their_data",
        "users/test_linear_trees_of_a_binary_file",
    ],
    "upper case": [
        "objectives/test_aliases",
        "objectives/test_capitals_as_lightgbm_allows_them",
        "parameters/test_flags_as_words_and_capitals",
    ],
    "models": ["training/test_predicts_like_lightgbm"],
    "shapes of predictions": [
        "estimators/test_regressor_outputs",
        "estimators/test_binary_outputs",
        "estimators/test_multiclass_outputs",
    ],
    "spans of rounds": ["estimators/test_spans_of_rounds"],
    "history": [
        "training/test_history_is_that_of_predictions_after_each_round",
        "training/test_functions_see_predictions_and_are_recorded_last",
    ],
    "the best round": [
        "training/test_stops_at_the_best_round_and_keeps_it",
        "estimators/test_attributes",
    ],
    "custom objectives": [
        "estimators/test_custom_regression",
        "estimators/test_custom_classification_returns_raw_scores",
        "objectives/test_custom_objective_may_take_weights",
        "estimators/test_custom_objective_gets_the_sizes",
    ],
    "custom metrics": [
        "training/test_functions_of_two_three_and_four_arguments",
    ],
    "positions of documents": [
        "objectives/test_models_and_metrics_are_those_of_lightgbm",
        "objectives/test_positions_beside_a_text_file",
    ],
    "init_score": ["training/test_start_scores_go_on_from_another_model"],
    "init_model": [
        "training/test_a_model_goes_on_from_another",
        "model_files/test_earlier_models_of_all_kinds",
    ],
    "files of models": [
        "model_files/test_lightgbm_reads_our_files",
        "model_files/test_predictions_of_every_objective",
        "model_files/test_strings_and_files",
        "model_files/test_arguments_of_the_constructor",
    ],
    "kinds of boosting": [
        "training/test_scores_are_followed_in_every_kind_of_boosting",
    ],
    "linear leaves": ["model/test_piecewise_lines_are_learned_sooner"],
    "constraints": ["training/test_all_constraints_together"],
    "bounds of bins": [
        "binning/test_boundaries_are_lightgbms",
        "binning/test_models_are_those_of_lightgbm",
        "binning/test_bad_values",
    ],
    "feature_importances_": [
        "estimators/test_importances_follow_the_option",
    ],
    "Booster and booster_": [
        "model/test_dump_is_that_of_lightgbm",
        "model/test_table_is_that_of_lightgbm",
        "model/test_importances_are_those_of_lightgbm",
        "fit/test_refitted_leaves_are_those_of_lightgbm",
    ],
    "categorical columns of pandas": [
        "fit/test_values_count_and_not_their_container",
    ],
    "infinite values": [
        "users/test_infinite_and_missing_values_are_values",
    ],
    "random_state=None": ["parameters/test_seeds"],
    "flags as words": ["parameters/test_flags_as_words_and_capitals"],
    "options without effect": [
        "parameters/test_options_without_effect_are_left_out",
    ],
    "options of predictions": [
        "parameters/test_predictions_take_the_options_of_lightgbm",
    ],
    "pred_contrib": [
        "model/test_values_are_those_of_lightgbm",
        "model/test_sparse_rows_give_sparse_values",
        "users/test_shap_values_have_the_format_of_the_rows",
    ],
    "plots": [
        "plotting/test_signatures",
        "plotting/test_importance",
        "plotting/test_metric",
        "plotting/test_split_value_histogram",
    ],
    "tools for LightGBM": ["test_tools_take_our_models"],
    "pickle and clone": ["parameters/test_subclass_with_kwargs"],
    "subclasses": [
        "parameters/test_a_subclass_with_a_default_of_its_own_takes_aliases",
        "parameters/test_attributes_of_a_subclass_are_not_overwritten",
    ],
}

# --- Better ---------------------------------------------------------------------------

CHECKED_BY |= {
    "threads": ["project/test_same_bits_on_any_number_of_threads"],
    "min_child_samples": ["project/test_no_leaf_has_fewer_rows"],
    "weights": [
        "project/test_whole_weights_are_copies",
        "project/test_rows_of_weight_zero_are_absent",
    ],
    "silence": ["project/test_nothing_is_printed"],
    "early stopping without an evaluation set": [
        "training/test_rows_are_held_out_where_no_set_is_given",
    ],
    "early stopping in pipelines": [
        "estimators/test_early_stopping_in_a_search_in_a_pipeline",
        "estimators/test_an_evaluation_set_that_the_pipeline_transforms",
    ],
    "queries of single rows": [
        "estimators/test_queries_may_lie_in_any_order",
        "estimators/test_ranker_in_a_search_with_marks_and_groups",
    ],
    "long queries": ["estimators/test_a_query_of_twenty_thousand_documents"],
    "score of a ranker": ["estimators/test_scorer_is_scikit_learn_s_ndcg"],
    "misspelled options": [
        "parameters/test_unknown_name_is_kept_with_a_warning",
        "parameters/test_set_params_refuses_unknown_names",
    ],
    "unknown metrics": [
        "objectives/test_unknown_names_have_no_effect",
        "objectives/test_names_of_other_libraries",
    ],
    "values out of bounds": ["parameters/test_bad_value_is_refused_at_fit"],
    "columns of strings": [
        "columns/test_text_that_is_not_a_category",
        "fit/test_values_count_and_not_their_container",
    ],
    "distributions": ["objectives/test_the_loss_is_that_of_scipy"],
    "survival": [
        "objectives/test_survival_functions_fall_from_1_and_their_quantiles_lie_on_them",
        "objectives/test_train_and_cv",
    ],
    "several quantiles": [
        "fit/test_raw_scores_are_those_of_separate_fits",
        "fit/test_predictions_never_cross",
    ],
    "several targets": [
        "training/test_regressors_are_those_of_each_target",
        "training/test_classifiers_are_those_of_each_target",
        "fit/test_missing_targets",
    ],
    "interactions": ["model/test_values_add_up_to_raw_scores"],
    "plots of shap": ["model/test_explanation"],
    "ONNX": [
        "export/test_values_that_float32_cannot_hold",
        "export/test_pipelines",
    ],
    "plots of trees": ["plotting/test_categories_have_names"],
    "names of columns": ["estimators/test_names_of_columns_come_and_go"],
    "order of columns": ["estimators/test_names_of_columns_come_and_go"],
    "large integers": ["columns/test_large_integers_are_told_apart"],
    "sparse matrices of integers": ["fit/test_same_bits_of_whole_numbers"],
    "failed fits": [
        "estimators/test_failed_fit_leaves_the_estimator_as_it_was",
    ],
    "estimators in files": [
        "model_files/test_models_of_all_kinds_come_back",
        "model_files/test_parameters_come_back",
    ],
    "files that are half written": [
        "utils/test_writing_that_fails_leaves_the_earlier_file",
    ],
    "saved models": [
        "estimators/test_mutations_are_refused_or_serve",
        "model_files/test_mutations_are_refused_or_serve",
        "model/test_bad_trees_are_refused",
    ],
    "Dask": [
        "dask/test_signatures_and_docstrings",
        "dask/test_options",
    ],
}

# --- Eleven bugs ----------------------------------------------------------------------

CHECKED_BY |= {
    "labels in eval_y": [
        "training/test_labels_that_are_not_codes_stop_at_the_right_round",
        "training/test_many_classes_with_labels_of_any_kind",
    ],
    "r2 as a metric": ["fit/test_r2_is_better_when_higher"],
    "raw scores of a forest": [
        "estimators/test_raw_scores_of_a_forest_are_means",
    ],
    "strings in polars and Arrow": [
        "fit/test_values_count_and_not_their_container",
    ],
    "missing targets with a data frame": [
        "users/test_y_must_be_finite",
    ],
    "ignored aliases": ["parameters/test_alias_resolves_at_once"],
    "the list in eval_metric": [
        "objectives/test_words_come_once_in_their_order_and_the_list_is_kept",
    ],
    "history of a model that ends early": [
        "training/test_history_is_as_long_as_the_model",
    ],
    "the training set alone, with two metrics": [
        "training/test_the_training_set_alone_stops_nothing",
    ],
    "weights of queries without relevant documents": [
        "estimators/test_weights_of_queries_without_relevant_documents",
    ],
    "max_drop=0": ["training/test_max_drop_0_is_no_limit"],
}

# --- Different ------------------------------------------------------------------------

CHECKED_BY |= {
    "verbosity": [
        "fit/test_early_stopping_tells_about_itself",
        "fit/test_long_fits_show_a_bar_if_asked",
    ],
    "eval_set": [
        "training/test_labels_that_are_not_codes_stop_at_the_right_round",
    ],
    "a ranker without queries": ["estimators/test_one_query_without_marks"],
    "one class": ["estimators/test_one_class_is_learned"],
    "weights and objectives of two arguments": [
        "training/test_a_users_squared_error_is_the_built_in_one_with_weights",
        "booster/test_objectives_of_ones_own",
    ],
    "class_weight='balanced'": [
        "fit/test_balanced_counts_weights_as_copies",
        "fit/test_balanced_multiplies_sample_weight",
    ],
    "class_weight of a regressor": ["users/test_a_regressor_has_no_classes"],
    "negative weights": ["users/test_weights"],
    "`num_class` of a classifier, if `y` has fewer classes": [
        "estimators/test_num_class_adds_no_classes",
    ],
    "multiclass of two classes": [
        "users/test_objective_and_classes_must_fit",
        "booster/test_two_classes_with_a_tree_for_each",
    ],
    "samples of rows and columns": [
        "training/test_a_bag_has_about_its_share",
        "training/test_a_seed_draws_its_samples",
    ],
    "sampling by goss": ["training/test_rows_are_the_twins"],
    "options that other options or objectives leave without effect": [
        "fit/test_there_is_one_warning_of_all",
        "fit/test_all_options",
    ],
    "metrics of custom objectives": [
        "training/test_custom_objectives_of_classes_are_measured_as_log_odds",
        "booster/test_objectives_of_ones_own",
    ],
    "the same metric name twice": [
        "training/test_a_function_with_the_name_of_a_metric",
    ],
    "AUC of one class": [
        "training/test_a_set_of_one_class_stops_nothing",
        "objectives/test_auc_mu_is_the_mean_of_the_pairs_of_classes_that_there_are",
    ],
    "'ndcg' and 'map' of a set without relevant documents": [
        "training/test_a_set_without_relevant_documents_stops_nothing",
    ],
    "'ndcg' and 'map' of documents with equal scores": [
        "objectives/test_rows_that_are_sorted_by_grade_do_not_raise_a_metric",
        "objectives/test_values_are_lightgbm_s",
    ],
    "`y` in a column": ["users/test_y_as_a_column_is_flattened_with_a_warning"],
    "`get_data()` of a list of arrays or of a `Sequence`": [
        "sources/test_chunks_are_one_array",
    ],
    "`stratified`, `shuffle` and other flags of `cv` and `train`": [
        "booster/test_errors"
    ],
    "percentiles of weighted rows": [
        "objectives/test_whole_weights_of_a_percentile_are_copies",
    ],
    "other numbers in categorical_feature": [
        "columns/test_numbers_that_are_not_whole_are_refused",
    ],
    "fractions in a categorical column of a prediction": [
        "fit/test_fractions_in_a_prediction_are_no_categories",
    ],
    "numbers in categorical_feature that no column has": ["test_modules"],
    "a `Dataset` without label, in `train` and `cv`": ["test_modules"],
    "an array, given to a model of a frame's categories": [
        "users/test_arrays_hold_categories_and_not_codes",
    ],
    "training that cannot split any more": [
        "training/test_a_fit_says_that_it_ended_before_the_rounds_asked_for",
        "training/test_callbacks_hear_of_rounds_in_which_no_tree_can_grow",
    ],
    "`decision_type` 3, 7 and 11 in text files": [
        "users/test_bits_of_nodes_that_are_not_used_are_refused",
    ],
    '`objective="regression sqrt"`, the words of files': [
        "users/test_words_of_files_are_no_objective",
    ],
    "the training set in eval_set, twice": [
        "training/test_the_training_set_more_than_once_with_other_weights",
    ],
    "init_model of an objective whose raw scores are of another kind": [
        "fit/test_scores_of_another_kind_to_go_on_from"
    ],
    "init_score with init_model": [
        "booster/test_init_model_replaces_init_score",
        "training/test_an_earlier_model_replaces_start_scores",
    ],
    "limits of leaves": [
        "project/test_no_leaf_has_fewer_rows",
        "project/test_no_leaf_has_less_curvature",
    ],
    "linear leaves far from their rows": [
        "model/test_far_rows_are_clipped",
        "model/test_lightgbm_knows_no_bounds_and_drops_them",
    ],
    "steps of linear leaves": [
        "model/test_leaves_of_classes_are_those_of_a_twin",
    ],
    "SHAP values of `linear_tree`": [
        "model/test_linear_leaves_by_all_subsets",
    ],
    "monotone_constraints with linear_tree": [
        "model/test_what_linear_leaves_cannot_do",
    ],
    "long steps": [
        "training/test_long_steps_are_the_twins",
        "training/test_steps_of_a_forest_are_not_limited",
    ],
    "private names": ["test_modules"],
    "explainers of shap": [
        "model/test_trees_for_shap",
        "model/test_what_shap_does_not_know",
        "test_tools_take_our_models",
    ],
    "lists in categorical_feature": [
        "users/test_ordered_categories_are_codes",
    ],
    "costs of features": ["users/test_costs_of_features"],
    "parser_config_file": ["users/test_parsers_of_files"],
    "weights of positions": [
        "objectives/test_a_step_is_that_of_the_twin",
        "objectives/test_a_query_of_weight_two_is_two_queries",
    ],
    "feature_name of fit": [
        "training/test_names_of_columns",
        "users/test_names_that_were_given_to_an_array",
    ],
    "labels of 'binary' in train": ["users/test_binary_labels"],
    "'binary_logloss' of several classes": [
        "users/test_metrics_of_two_classes_for_several",
    ],
    "weights that are all 0": ["users/test_weights_of_0"],
    "objective_": ["users/test_names_that_are_shown"],
    "names of other libraries, asked of a class": [
        "users/test_names_that_are_elsewhere_are_not_there",
    ],
    "get_params": ["users/test_names_that_are_shown"],
    "fields of a constructed Dataset": [
        "users/test_fields_keep_their_values",
    ],
    "refit of a Booster": ["users/test_refit_returns_a_model"],
    "refit of 'l1', 'quantile', 'mape', 'huber' and 'fair'": [
        "fit/test_refit_on_the_same_rows_keeps_the_model",
        "fit/test_refit_of_large_targets",
    ],
    "refit of 'poisson', 'gamma' and 'tweedie'": [
        "fit/test_refit_of_logarithms_has_no_scale",
    ],
    "refit of `linear_tree`": [
        "users/test_refitted_leaves_without_slopes_are_those_of_other_trees"
    ],
    "`set_train_data_name` after `free_dataset`": [
        "users/test_the_name_of_a_training_set_that_is_gone"
    ],
    "sigmoids of lambdarank": [
        "objectives/test_lambdarank_twin",
        "objectives/test_lambdarank_is_that_of_lightgbm",
    ],
}


def test_each_line_of_the_page_is_checked():
    rows = re.findall(r"^\| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert [row for row in rows if row != "what"] == list(CHECKED_BY)


def test_the_tests_exist():
    listed = {test for tests in CHECKED_BY.values() for test in tests}
    there = {
        (path.relative_to(TESTS).parent / name).as_posix()
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.M)
    }
    assert sorted(listed - there) == []
