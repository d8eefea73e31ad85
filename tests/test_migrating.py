"""docs/migrating.md, line by line: which tests check each line of its tables."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "migrating.md"

# --- Same -----------------------------------------------------------------------------

CHECKED_BY = {
    "modules": [
        "test_package.py::test_modules_of_lightgbm_s_names",
        "test_package.py::test_modules_of_functions_and_data",
    ],
    "Dataset and train": [
        "test_train.py::test_the_training_set_among_the_sets",
        "test_train.py::test_functions_as_metrics",
        "test_train.py::test_objectives_of_ones_own",
    ],
    "train before version 4": [
        "test_train.py::test_early_stopping_rounds",
        "test_train.py::test_learning_rates",
        "test_train.py::test_fobj",
        "test_train.py::test_evals_result_and_verbose_eval",
        "test_train.py::test_names_and_categories_of_columns",
    ],
    "cv": [
        "test_cv.py::test_results_are_lightgbms",
        "test_cv.py::test_names_of_earlier_versions",
    ],
    "a Booster in training": [
        "test_training_booster.py::test_rounds_by_hand_are_those_of_train",
        "test_training_booster.py::test_a_round_that_is_rolled_back_leaves_no_trace",
        "test_training_booster.py::test_evaluation_sets_may_come_at_any_time",
        "test_training_booster.py::test_options_of_later_rounds",
        "test_training_booster.py::test_data_that_were_freed",
    ],
    "register_logger and print_evaluation": [
        "test_callbacks.py::test_messages_go_to_a_registered_logger",
        "test_callbacks.py::test_print_evaluation_is_log_evaluation",
    ],
    "scripts with early stopping in a search": [
        "test_scikit_learn.py::test_old_script_of_a_search_with_early_stopping",
    ],
    "early_stopping_rounds and verbose in fit": [
        "test_evaluation.py::test_every_way_to_ask_for_it_is_the_same",
        "test_callbacks.py::test_verbose_of_fit",
    ],
    "lists of callbacks": [
        "test_callbacks.py::test_messages_are_printed",
        "test_callbacks.py::test_record_evaluation",
        "test_callbacks.py::test_early_stopping_tells_about_itself",
        "test_callbacks.py::test_changed_options_are_those_of_lightgbm",
    ],
    "callbacks of your own": [
        "test_callbacks.py::test_what_a_callback_is_told",
        "test_callbacks.py::test_order_and_before_rounds",
        "test_callbacks.py::test_ending_a_fit",
    ],
    "callbacks of lightgbm": [
        "test_callbacks.py::test_early_stopping_of_lightgbm",
        "test_callbacks.py::test_messages_and_records_of_lightgbm",
        "test_callbacks.py::test_changed_options_by_lightgbm",
    ],
    "EarlyStopException": [
        "test_callbacks.py::test_the_best_score_may_be_plain_tuples",
    ],
    "results in callbacks": [
        "test_callbacks.py::test_what_a_callback_is_told",
        "test_callbacks.py::test_results_are_lightgbm_s",
    ],
    "the model in callbacks": [
        "test_callbacks.py::test_the_model_that_a_callback_is_told",
        "test_callbacks.py::test_a_callback_may_change_options",
        "test_booster.py::test_callbacks_have_a_model_of_the_trees_so_far",
    ],
    "names and defaults": [
        "test_parameters.py::test_defaults_and_names_are_lightgbm_s"
    ],
    "arguments of fit by position": [
        "test_estimators.py::test_arguments_of_fit_are_in_lightgbm_s_order",
    ],
    "aliases": [
        "test_parameters.py::test_names_are_lightgbm_s",
        "test_parameters.py::test_alias_resolves_at_once",
        "test_parameters.py::test_grid_over_an_alias",
    ],
    "two names of one option": [
        "test_parameters.py::test_conflicts_are_decided_as_by_lightgbm",
        "test_parameters.py::test_the_smallest_number_of_threads_is_used",
        "test_lightgbm_habits.py::test_two_names_in_a_grid_give_a_warning",
    ],
    "values": [
        "test_lightgbm_habits.py::test_none_is_not_given",
        "test_lightgbm_habits.py::test_empty_lists_are_not_given",
        "test_lightgbm_habits.py::test_numbers_may_be_strings",
        "test_lightgbm_habits.py::test_categorical_columns_as_a_number_or_a_str",
    ],
    "parameters of a Booster": [
        "test_lightgbm_habits.py::test_params_of_a_booster_are_those_that_were_passed",
        "test_lightgbm_habits.py::test_params_can_be_used_again",
        "test_lightgbm_habits.py::test_reset_parameter_takes_all_parameters",
    ],
    "attributes": [
        "test_lightgbm_habits.py::test_options_by_the_names_that_were_used",
        "test_lightgbm_habits.py::test_attributes_that_callbacks_set_stay",
        "test_lightgbm_habits.py::test_sets_of_a_booster_in_training",
        "test_lightgbm_habits.py::test_names_of_a_constructed_dataset",
        "test_lightgbm_habits.py::test_dataset_version_counts_fields",
        "test_lightgbm_habits.py::test_fields_can_be_written_to",
    ],
    "methods in training": [
        "test_lightgbm_habits.py::test_leaves_change_in_training",
        "test_lightgbm_habits.py::test_sets_of_a_booster_in_training",
    ],
    "data sets of several parts": [
        "test_lightgbm_habits.py::test_columns_are_added_with_their_data",
        "test_lightgbm_habits.py::test_linear_trees_of_a_binary_file",
    ],
    "upper case": [
        "test_objectives.py::test_aliases",
        "test_metrics.py::test_capitals_as_lightgbm_allows_them",
        "test_parameters.py::test_flags_as_words_and_capitals",
    ],
    "models": ["test_boosting.py::test_predicts_like_lightgbm"],
    "shapes of predictions": [
        "test_estimators.py::test_regressor_outputs",
        "test_estimators.py::test_binary_outputs",
        "test_estimators.py::test_multiclass_outputs",
    ],
    "spans of rounds": ["test_estimators.py::test_spans_of_rounds"],
    "history": [
        "test_evaluation.py::test_history_is_that_of_predictions_after_each_round",
        "test_evaluation.py::test_functions_see_predictions_and_are_recorded_last",
    ],
    "the best round": [
        "test_evaluation.py::test_stops_at_the_best_round_and_keeps_it",
        "test_estimators.py::test_attributes",
    ],
    "objectives of your own": [
        "test_estimators.py::test_custom_regression",
        "test_estimators.py::test_custom_classification_returns_raw_scores",
        "test_objectives.py::test_custom_objective_may_take_weights",
        "test_ranker.py::test_custom_objective_gets_the_sizes",
    ],
    "metrics of your own": [
        "test_evaluation.py::test_functions_of_two_three_and_four_arguments",
    ],
    "positions of documents": [
        "test_positions.py::test_models_and_metrics_are_those_of_lightgbm",
        "test_positions.py::test_positions_beside_a_text_file",
    ],
    "init_score": ["test_evaluation.py::test_start_scores_go_on_from_another_model"],
    "init_model": [
        "test_evaluation.py::test_a_model_goes_on_from_another",
        "test_files.py::test_earlier_models_of_all_kinds",
    ],
    "files of models": [
        "test_text.py::test_lightgbm_reads_our_files",
        "test_files.py::test_predictions_of_every_objective",
        "test_files.py::test_strings_and_files",
        "test_files.py::test_arguments_of_the_constructor",
    ],
    "kinds of boosting": [
        "test_evaluation.py::test_scores_are_followed_in_every_kind_of_boosting",
    ],
    "linear leaves": ["test_linear.py::test_piecewise_lines_are_learned_sooner"],
    "constraints": ["test_constraints.py::test_all_constraints_together"],
    "bounds of bins": [
        "test_binning.py::test_boundaries_are_lightgbms",
        "test_forced_bins.py::test_models_are_those_of_lightgbm",
        "test_forced_bins.py::test_bad_values",
    ],
    "feature_importances_": [
        "test_estimators.py::test_importances_follow_the_option",
    ],
    "Booster and booster_": [
        "test_booster.py::test_dump_is_that_of_lightgbm",
        "test_booster.py::test_table_is_that_of_lightgbm",
        "test_booster.py::test_importances_are_those_of_lightgbm",
        "test_booster.py::test_refitted_leaves_are_those_of_lightgbm",
    ],
    "categorical columns of pandas": [
        "test_categories_fit.py::test_values_count_and_not_their_container",
    ],
    "infinite values": [
        "test_bad_input.py::test_infinite_and_missing_values_are_values",
    ],
    "random_state=None": ["test_parameters.py::test_seeds"],
    "flags as words": ["test_parameters.py::test_flags_as_words_and_capitals"],
    "options without effect": [
        "test_parameters.py::test_options_without_effect_are_left_out",
    ],
    "options of predictions": [
        "test_parameters.py::test_predictions_take_the_options_of_lightgbm",
    ],
    "pred_contrib": [
        "test_explain.py::test_values_are_those_of_lightgbm",
        "test_explain.py::test_sparse_rows_give_sparse_values",
        "test_lightgbm_habits.py::test_shap_values_have_the_format_of_the_rows",
    ],
    "plots": [
        "test_plotting.py::test_signatures",
        "test_plotting.py::test_importance",
        "test_plotting.py::test_metric",
        "test_plotting.py::test_split_value_histogram",
    ],
    "tools for LightGBM": ["test_as_lightgbm.py::test_tools_take_our_models"],
    "pickle and clone": ["test_parameters.py::test_subclass_with_kwargs"],
    "subclasses": [
        "test_parameters.py::test_a_subclass_with_a_default_of_its_own_takes_aliases",
        "test_parameters.py::test_attributes_of_a_subclass_are_not_overwritten",
    ],
}

# --- Better ---------------------------------------------------------------------------

CHECKED_BY |= {
    "threads": ["test_promises.py::test_same_bits_on_any_number_of_threads"],
    "min_child_samples": ["test_promises.py::test_no_leaf_has_fewer_rows"],
    "weights": [
        "test_promises.py::test_whole_weights_are_copies",
        "test_promises.py::test_rows_of_weight_zero_are_absent",
    ],
    "silence": ["test_promises.py::test_nothing_is_printed"],
    "early stopping without an evaluation set": [
        "test_evaluation.py::test_rows_are_held_out_where_no_set_is_given",
    ],
    "early stopping in pipelines": [
        "test_scikit_learn.py::test_early_stopping_in_a_search_in_a_pipeline",
        "test_scikit_learn.py::test_an_evaluation_set_that_the_pipeline_transforms",
    ],
    "queries of single rows": [
        "test_ranker.py::test_queries_may_lie_in_any_order",
        "test_scikit_learn.py::test_ranker_in_a_search_with_marks_and_groups",
    ],
    "long queries": ["test_ranker.py::test_a_query_of_twenty_thousand_documents"],
    "score of a ranker": ["test_ranker.py::test_scorer_is_scikit_learn_s_ndcg"],
    "misspelt options": [
        "test_parameters.py::test_unknown_name_is_kept_with_a_warning",
        "test_parameters.py::test_set_params_refuses_unknown_names",
    ],
    "unknown metrics": [
        "test_metrics.py::test_unknown_names_have_no_effect",
        "test_metrics.py::test_names_of_other_libraries",
    ],
    "values out of bounds": ["test_parameters.py::test_bad_value_is_refused_at_fit"],
    "columns of words": [
        "test_categories_fit.py::test_values_count_and_not_their_container",
    ],
    "several quantiles": [
        "test_quantiles.py::test_raw_scores_are_those_of_separate_fits",
        "test_quantiles.py::test_predictions_never_cross",
    ],
    "several targets": [
        "test_multi_output.py::test_regressors_are_those_of_each_target",
        "test_multi_output.py::test_classifiers_are_those_of_each_target",
        "test_multi_output.py::test_missing_targets",
    ],
    "interactions": ["test_explain.py::test_values_add_up_to_raw_scores"],
    "plots of shap": ["test_explain.py::test_explanation"],
    "ONNX": [
        "test_onnx.py::test_values_that_float32_cannot_hold",
        "test_onnx.py::test_pipelines",
    ],
    "plots of trees": ["test_plotting.py::test_categories_have_names"],
    "names of columns": ["test_estimators.py::test_names_of_columns_come_and_go"],
    "order of columns": ["test_estimators.py::test_names_of_columns_come_and_go"],
    "large integers": ["test_frames.py::test_large_integers_are_told_apart"],
    "sparse matrices of integers": ["test_sparse.py::test_same_bits_of_whole_numbers"],
    "failed fits": [
        "test_estimators.py::test_failed_fit_leaves_the_estimator_as_it_was",
    ],
    "estimators in files": [
        "test_files.py::test_models_of_all_kinds_come_back",
        "test_files.py::test_parameters_come_back",
    ],
    "files that are half written": [
        "test_files.py::test_writing_that_fails_leaves_the_earlier_file",
    ],
    "saved models": [
        "test_state.py::test_mutations_are_refused_or_serve",
        "test_files.py::test_mutations_are_refused_or_serve",
        "test_ensemble.py::test_bad_trees_are_refused",
    ],
    "Dask": [
        "test_dask.py::test_signatures_and_docstrings",
        "test_dask.py::test_options",
    ],
}

# --- Eleven bugs ----------------------------------------------------------------------

CHECKED_BY |= {
    "labels in eval_y": [
        "test_evaluation.py::test_labels_that_are_not_codes_stop_at_the_right_round",
        "test_evaluation.py::test_many_classes_with_labels_of_any_kind",
    ],
    "r2 as a metric": ["test_callbacks.py::test_r2_is_better_when_higher"],
    "raw scores of a forest": [
        "test_estimators.py::test_raw_scores_of_a_forest_are_means",
    ],
    "words in polars and Arrow": [
        "test_categories_fit.py::test_values_count_and_not_their_container",
    ],
    "missing targets beside a data frame": [
        "test_bad_input.py::test_y_must_be_finite",
    ],
    "ignored aliases": ["test_parameters.py::test_alias_resolves_at_once"],
    "the list in eval_metric": [
        "test_metrics.py::test_words_come_once_in_their_order_and_the_list_is_kept",
    ],
    "history of a model that ends early": [
        "test_evaluation.py::test_history_is_as_long_as_the_model",
    ],
    "the training set alone, with two metrics": [
        "test_evaluation.py::test_the_training_set_alone_stops_nothing",
    ],
    "weights of queries without relevant documents": [
        "test_ranker.py::test_weights_of_queries_without_relevant_documents",
    ],
    "max_drop=0": ["test_sampling.py::test_max_drop_0_is_no_limit"],
}

# --- Different ------------------------------------------------------------------------

CHECKED_BY |= {
    "verbosity": [
        "test_callbacks.py::test_early_stopping_tells_about_itself",
        "test_callbacks.py::test_long_fits_show_a_bar_if_asked",
    ],
    "eval_set": [
        "test_evaluation.py::test_labels_that_are_not_codes_stop_at_the_right_round",
    ],
    "a ranker without queries": ["test_ranker.py::test_one_query_without_marks"],
    "one class": ["test_estimators.py::test_one_class_is_learned"],
    "weights and objectives of two arguments": [
        "test_steps.py::test_a_users_squared_error_is_the_built_in_one_with_weights",
        "test_train.py::test_objectives_of_ones_own",
    ],
    "class_weight='balanced'": [
        "test_estimators.py::test_balanced_counts_weights_as_copies",
        "test_estimators.py::test_balanced_multiplies_sample_weight",
    ],
    "class_weight of a regressor": [
        "test_bad_input.py::test_a_regressor_has_no_classes"
    ],
    "negative weights": ["test_bad_input.py::test_weights"],
    "multiclass of two classes": [
        "test_bad_input.py::test_objective_and_classes_must_fit",
        "test_train.py::test_two_classes_with_a_tree_for_each",
    ],
    "samples of rows and columns": [
        "test_sampling.py::test_a_bag_has_about_its_share",
        "test_sampling.py::test_a_seed_draws_its_samples",
    ],
    "sampling by goss": ["test_goss.py::test_rows_are_the_twins"],
    "metrics of custom objectives": [
        "test_evaluation.py::test_custom_objectives_of_classes_are_measured_as_log_odds",
        "test_train.py::test_objectives_of_ones_own",
    ],
    "the same metric name twice": [
        "test_evaluation.py::test_a_function_with_the_name_of_a_metric",
    ],
    "limits of leaves": [
        "test_promises.py::test_no_leaf_has_fewer_rows",
        "test_promises.py::test_no_leaf_has_less_curvature",
    ],
    "monotone_constraints with linear_tree": [
        "test_linear.py::test_what_linear_leaves_cannot_do",
    ],
    "long steps": [
        "test_steps.py::test_long_steps_are_the_twins",
        "test_steps.py::test_steps_of_a_forest_are_not_limited",
    ],
    "explainers of shap": [
        "test_explain.py::test_trees_for_shap",
        "test_explain.py::test_what_shap_does_not_know",
        "test_as_lightgbm.py::test_tools_take_our_models",
    ],
    "lists in categorical_feature": [
        "test_lightgbm_habits.py::test_ordered_categories_are_codes",
    ],
    "costs of features": ["test_lightgbm_habits.py::test_costs_of_features"],
    "parser_config_file": ["test_lightgbm_habits.py::test_parsers_of_files"],
    "weights of positions": [
        "test_positions.py::test_a_step_is_that_of_the_twin",
        "test_positions.py::test_a_query_of_weight_two_is_two_queries",
    ],
    "feature_name of fit": [
        "test_evaluation.py::test_names_of_columns",
        "test_lightgbm_habits.py::test_names_that_were_given_to_an_array",
    ],
    "labels of 'binary' in train": ["test_lightgbm_habits.py::test_binary_labels"],
    "'binary_logloss' of several classes": [
        "test_lightgbm_habits.py::test_metrics_of_two_classes_for_several",
    ],
    "weights that are all 0": ["test_lightgbm_habits.py::test_weights_of_0"],
    "objective_": ["test_lightgbm_habits.py::test_names_that_are_shown"],
    "get_params": ["test_lightgbm_habits.py::test_names_that_are_shown"],
    "fields of a constructed Dataset": [
        "test_lightgbm_habits.py::test_fields_keep_their_values",
    ],
    "refit of a Booster": ["test_lightgbm_habits.py::test_refit_returns_a_model"],
    "refit of `linear_tree`": [
        "test_lightgbm_habits.py::"
        "test_refitted_leaves_without_slopes_are_those_of_other_trees"
    ],
    "`set_train_data_name` after `free_dataset`": [
        "test_lightgbm_habits.py::test_the_name_of_a_training_set_that_is_gone"
    ],
    "sigmoids of lambdarank": [
        "test_ranking.py::test_lambdarank_twin",
        "test_ranking.py::test_lambdarank_is_that_of_lightgbm",
    ],
}


def test_each_line_of_the_page_is_checked():
    rows = re.findall(r"^\| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert [row for row in rows if row != "what"] == list(CHECKED_BY)


def test_the_tests_exist():
    listed = {test for tests in CHECKED_BY.values() for test in tests}
    texts = {path.name: path.read_text(encoding="utf-8") for path in TESTS.glob("*.py")}
    there = {
        f"{module}::{name}"
        for module, text in texts.items()
        for name in re.findall(r"^def (test_\w+)\(", text, re.M)
    }
    assert listed <= there
