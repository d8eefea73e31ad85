"""Pages about LightGBM, line by line: which tests check each line, by subpackage."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGES = [TESTS.parent / "docs" / f"{name}.md" for name in ("migrating", "differences")]

# Rows of the pages and their tests, each in the folder of the previous one or its own.
ROWS = """\
modules: project/modules_of_lightgbm_s_names modules_of_functions_and_data
Dataset, train and cv: booster/the_training_set_among_the_sets functions_as_metrics
    objectives_of_ones_own results_are_lightgbms names_of_earlier_versions
arguments before version 4: booster/early_stopping_rounds learning_rates fobj
    evals_result verbose_eval names_and_categories_of_columns
    estimators/old_script_of_a_search_with_early_stopping
    training/every_way_to_ask_for_it_is_the_same fit/verbose_of_fit
training round by round: booster/rounds_by_hand_are_those_of_train
    a_round_that_is_rolled_back_leaves_no_trace evaluation_sets_may_come_at_any_time
    options_of_later_rounds what_is_refused_changes_nothing
    users/leaves_change_in_training sets_of_a_booster_in_training
messages: project/nothing_is_printed parameters/bad_value_is_refused_at_fit
    fit/messages_go_to_a_registered_logger print_evaluation_is_log_evaluation
callbacks: fit/messages_are_printed record_evaluation early_stopping_tells_about_itself
    early_stopping_of_lightgbm messages_and_records_of_lightgbm
    changed_options_by_lightgbm results_are_lightgbm_s
    training/changed_options_are_those_of_lightgbm what_a_callback_is_told
    order_and_before_rounds ending_a_fit the_best_score_may_be_plain_tuples
    the_model_that_a_callback_is_told a_callback_may_change_options
    booster/callbacks_have_a_model_of_the_trees_so_far
names and defaults: parameters/defaults_and_names_are_lightgbm_s names_are_lightgbm_s
    alias_resolves_at_once grid_over_an_alias
    fit/arguments_of_fit_are_in_lightgbm_s_order
two names of one option: parameters/conflicts_are_decided_as_by_lightgbm
    the_smallest_number_of_threads_is_used users/two_names_in_a_grid_give_a_warning
values: users/none_is_not_given empty_lists_are_not_given numbers_may_be_strings
    categorical_columns_as_a_number_or_a_str objectives/aliases
    capitals_as_lightgbm_allows_them parameters/flags_as_words_and_capitals
attributes: users/params_of_a_booster_are_those_that_were_passed
    params_can_be_used_again reset_parameter_takes_all_parameters
    options_by_the_names_that_were_used attributes_that_callbacks_set_stay
    sets_of_a_booster_in_training names_of_a_constructed_dataset
    dataset_version_counts_fields fields_can_be_written_to
models: training/predicts_like_lightgbm
predictions: estimators/regressor_outputs binary_outputs multiclass_outputs
    spans_of_rounds model/values_are_those_of_lightgbm sparse_rows_give_sparse_values
    users/shap_values_have_the_format_of_the_rows
fitted attributes: training/history_is_that_of_predictions_after_each_round
    functions_see_predictions_and_are_recorded_last stops_at_the_best_round_and_keeps_it
    estimators/attributes importances_follow_the_option
custom objectives and metrics: estimators/custom_regression
    custom_classification_returns_raw_scores custom_objective_gets_the_sizes
    objectives/custom_objective_may_take_weights
    training/functions_of_two_three_and_four_arguments
positions of documents: objectives/models_and_metrics_are_those_of_lightgbm
    positions_beside_a_text_file
files and `init_model`: training/a_model_continues_from_another
    model_files/earlier_models_of_all_kinds lightgbm_reads_our_files
    predictions_of_every_objective strings_and_files arguments_of_the_constructor
boosting and trees: training/scores_are_followed_in_every_kind_of_boosting
    all_constraints_together model/piecewise_lines_are_learned_sooner
bin boundaries: binning/boundaries_are_lightgbms models_are_those_of_lightgbm bad_values
Booster and booster_: model/dump_is_that_of_lightgbm table_is_that_of_lightgbm
    importances_are_those_of_lightgbm fit/refitted_leaves_are_those_of_lightgbm
unseen and missing categories: fit/values_count_and_not_their_container
    unseen_categories_go_right_as_in_lightgbm
tiny and infinite numbers: fit/tiny_numbers_and_weights_are_those_of_lightgbm
    users/infinite_and_missing_values_are_values
random_state=None: parameters/seeds
prediction options: parameters/predictions_take_the_options_of_lightgbm
plots and tools: plotting/signatures importance metric split_value_histogram
    ./tools_take_our_models
subclasses: parameters/subclass_with_kwargs
    a_subclass_with_a_default_of_its_own_takes_aliases
    attributes_of_a_subclass_are_not_overwritten
threads: project/identical_models_on_any_number_of_threads
min_child_samples: project/no_leaf_has_fewer_rows
weights: project/whole_weights_are_copies rows_of_weight_zero_are_absent
early stopping without an evaluation set:
    training/rows_are_held_out_where_no_set_is_given
early stopping in pipelines: estimators/early_stopping_in_a_search_in_a_pipeline
    an_evaluation_set_that_the_pipeline_transforms
query IDs of rows: estimators/queries_may_lie_in_any_order
    ranker_in_a_search_with_marks_and_groups
long queries: estimators/a_query_of_twenty_thousand_documents
only in skgoss: estimators/scorer_is_scikit_learn_s_ndcg
    model/values_add_up_to_raw_scores linear_leaves_by_all_subsets
    fit/it_learns_the_probabilities_not_the_labels two_fits_are_one
    objectives/names_of_scorers_of_classes
misspelled options: parameters/unknown_name_is_kept_with_a_warning
    set_params_refuses_unknown_names
unknown metrics: objectives/unknown_names_have_no_effect names_of_other_libraries
    fit/early_stopping_by_unknown_metrics_is_refused
date columns: fit/it_is_a_fit_of_more_columns
string columns: columns/text_that_is_not_a_category
    fit/values_count_and_not_their_container
distributions: objectives/the_loss_is_that_of_scipy
survival: objectives/survival_functions_fall_from_1_and_their_quantiles_lie_on_them
    train_and_cv
several quantiles: fit/raw_scores_are_those_of_separate_fits predictions_never_cross
several targets: training/regressors_are_those_of_each_target
    classifiers_are_those_of_each_target fit/missing_targets
shap plots: model/explanation
ONNX: export/values_that_float32_cannot_hold pipelines
tree plots: plotting/categories_have_names
column names: estimators/names_of_columns_come_and_go
column order: estimators/names_of_columns_come_and_go
large integers in arrays: columns/large_integers_are_distinguished
failed fits: estimators/failed_fit_leaves_the_estimator_as_it_was
estimators in files: model_files/models_of_all_kinds_come_back parameters_come_back
damaged files: utils/writing_that_fails_leaves_the_earlier_file
    estimators/mutations_are_refused_or_serve model_files/mutations_are_refused_or_serve
    model/bad_trees_are_refused
Dask: dask/signatures_and_docstrings options
labels in eval_y: training/labels_that_are_not_codes_stop_at_the_right_round
    many_classes_with_labels_of_any_kind
r2 as a metric: fit/r2_is_better_when_higher
raw scores of random forests: estimators/raw_scores_of_a_forest_are_means
strings in polars and Arrow: fit/values_count_and_not_their_container
missing targets with a data frame: users/y_must_be_finite
ignored aliases: parameters/alias_resolves_at_once
the list in eval_metric: objectives/words_come_once_in_their_order_and_the_list_is_kept
history of a fit that ends early: training/history_is_as_long_as_the_model
early stopping on the training set alone, with two metrics:
    training/the_training_set_alone_stops_nothing
weights of queries without relevant documents:
    estimators/weights_of_queries_without_relevant_documents
max_drop=0: training/max_drop_0_means_no_limit
verbosity: fit/early_stopping_tells_about_itself long_fits_show_a_bar_if_asked
a ranker without queries: estimators/one_query_without_marks
one class: estimators/one_class_is_learned
weights with two-argument objectives:
    training/a_users_squared_error_is_the_built_in_one_with_weights
    booster/objectives_of_ones_own
function parameters with defaults:
    objectives/parameters_with_defaults_keep_them_unless_they_are_weights
class_weight: columns/balanced_counts_weights_as_copies
    balanced_multiplies_sample_weight users/a_regressor_has_no_classes
weights that are negative or all 0: users/weights weights_of_0
`num_class` of a classifier: estimators/num_class_adds_no_classes
    users/objective_and_classes_must_fit booster/two_classes_with_a_tree_for_each
row and column sampling: training/a_bag_has_about_its_share a_seed_draws_its_samples
GOSS: training/rows_are_those_of_the_reference
options without effect on the model:
    fit/there_is_one_warning_of_all all_options
metrics with custom objectives:
    training/custom_objectives_of_classes_are_measured_as_log_odds
    booster/objectives_of_ones_own
metrics or sets with the same name: training/a_function_with_the_name_of_a_metric
    the_training_set_more_than_once_with_other_weights
`first_metric_only` with functions as metrics:
    fit/the_first_metric_is_the_first_that_was_passed
AUC of one class, NDCG and MAP without relevant documents:
    training/a_set_of_one_class_stops_nothing
    a_set_without_relevant_documents_stops_nothing
    objectives/auc_mu_is_the_mean_of_the_pairs_of_classes_that_there_are
'ndcg' and 'map' of documents with equal scores:
    objectives/rows_that_are_sorted_by_grade_do_not_raise_a_metric values_are_lightgbm_s
fields of a constructed Dataset: users/fields_keep_their_values
    sources/chunks_are_one_array
percentiles in 'l1', 'quantile' and 'mape':
    objectives/whole_weights_of_a_percentile_are_copies percentile
    where_skgoss_stands_for_lightgbm_percentiles_of_copies_interpolate
    a_percentile_between_equal_weights_is_their_middle
    training/no_round_raises_a_loss_with_kinks
missing values in predict, in a column that had none in training:
    fit/predictions_are_those_of_a_walk_to_larger_children
    models_of_lightgbm_keep_its_rule
missing values in predict, at a node that had none in training:
    fit/predictions_are_those_of_a_walk_to_larger_children
missing values outside the bin sample: fit/missing_values_outside_the_sample_are_learned
`forcedbins_filename` bounds that are values of the column:
    binning/bounds_that_are_values_part_no_others
data frames with whole numbers as column names:
    users/columns_named_by_whole_numbers_have_no_names
fractions in a categorical column: columns/numbers_that_are_not_whole_are_refused
    fit/fractions_in_a_prediction_are_not_categories
nonexistent column numbers in categorical_feature: ./modules
a `Dataset` without labels: ./modules
an array in predict, after a fit on a data frame with categories:
    users/arrays_hold_categories_and_not_codes
training when no split is left:
    training/a_fit_says_that_it_ended_before_the_rounds_asked_for
    callbacks_hear_of_rounds_in_which_no_tree_can_grow
init_score: training/start_scores_continue_from_another_model
    start_scores_alone_are_lightgbm_s_rule
    boosting_starts_from_the_best_constant_beside_start_scores
misused init_score or init_model:
    fit/evaluation_sets_without_the_start_scores_that_the_training_set_has
    scores_of_another_kind_to_continue_from booster/init_model_replaces_init_score
    training/an_earlier_model_replaces_start_scores
leaf size limits: project/no_leaf_has_fewer_rows no_leaf_has_less_curvature
linear leaves far from their rows: model/far_rows_are_clipped
    lightgbm_knows_no_bounds_and_drops_them
linear leaves and missing values:
    model/leaves_of_any_size lines_of_rows_with_gaps_do_not_raise_the_loss
    a_line_has_the_rows_that_it_was_fitted_on
large steps: training/long_steps_are_those_of_the_reference
    steps_of_a_forest_are_not_limited model/leaves_of_classes_agree_with_the_reference
monotone_constraints with linear_tree: model/what_linear_leaves_cannot_do
shap explainers: model/trees_for_shap what_shap_does_not_know ./tools_take_our_models
lists in categorical_feature: users/ordered_categories_are_codes
feature costs: users/costs_of_features
'lambdarank': objectives/steps_agree_with_the_reference
    a_query_of_weight_two_is_two_queries lambdarank_agrees_with_the_reference
    lambdarank_is_that_of_lightgbm
labels for 'binary' in train: users/binary_labels
'binary_logloss' with several classes: users/metrics_of_two_classes_for_several
names in attributes: users/names_that_are_shown
`model.refit(X, y)` of an estimator: users/refit_of_an_estimator_is_an_option
refit of a Booster: users/refit_returns_a_model
refitted leaves: fit/refit_on_the_same_rows_keeps_the_model refit_of_large_targets
    refit_of_logarithms_has_no_scale
refit of `linear_tree`: users/refitted_leaves_without_slopes_are_those_of_other_trees
"""


def checked_by() -> dict[str, list[str]]:
    """The paths of the tests of each row."""
    found: dict[str, list[str]] = {}
    for row in re.split(r"\n(?=\S)", ROWS.strip()):
        name, tests = re.split(r":\s+", row)
        found[name] = []
        for test in tests.split():
            if "/" in test:
                folder, test = test.split("/")
            found[name].append((Path(folder) / f"test_{test}").as_posix())
    return found


CHECKED_BY = checked_by()


def test_each_line_of_the_pages_is_checked():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    rows = re.findall(r"^\| ([^|]+) \|", text, re.M)
    assert sorted(row for row in rows if row != "what") == sorted(CHECKED_BY)


def test_the_tests_exist():
    listed = {test for tests in CHECKED_BY.values() for test in tests}
    there = {
        (path.relative_to(TESTS).parent / name).as_posix()
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.M)
    }
    assert sorted(listed - there) == []
