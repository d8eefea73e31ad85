"""Every option changes a fit, is refused or has a warning, for every objective."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from helpers.families import CATEGORIES, FAMILIES, N_ROWS, X, by_kind
from skgoss import (
    Dataset,
    LGBMClassifier,
    LGBMRegressor,
    UnusedParameterWarning,
    cv,
    train,
)
from skgoss.fit.unused_options import NAMES
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.objectives.survival import COX
from skgoss.parameters import DEFAULTS

SMALL = {"n_estimators": 6, "num_leaves": 10, "min_child_samples": 4, "n_jobs": 1}
SMALL |= {"learning_rate": 0.3, "min_data_in_bin": 1}


def better(y, predicted):
    """A metric that improves after each round."""
    better.value += 1
    return "better", better.value, True


def worse(y, predicted):
    return "worse", better.value, False


better.value = 0

# Contexts: options, and arguments of fit. Evaluation sets are a part of the rows.
BAGGING = {"subsample": 0.5, "subsample_freq": 1}
GOSS = {"data_sample_strategy": "goss", "learning_rate": 1.0}
DART = {"boosting_type": "dart", "drop_rate": 0.7, "skip_drop": 0.0}
SETS = {"eval_X": X[:36], "eval_y": slice(36), "eval_qid": slice(36)}
STOPPING = {"early_stopping_round": 1}
ALONE = {**SETS, "metric": "None"}
WORSE = ALONE | {"eval_metric": [better, worse]}
SORTED = {"categorical_feature": [CATEGORIES], "min_data_per_group": 1, "cat_l2": 0.0}
SORTED |= {"cat_smooth": 1.0, "min_child_samples": 1}
MONOTONE = {"monotone_constraints": [1, 1, 1, -1, 0, 1]}
# A value that is not the default of each option, and what it needs.
OPTIONS = {
    "boosting_type": ("dart", DART),
    "num_leaves": (3, {}),
    "max_depth": (1, {}),
    "learning_rate": (0.5, {}),
    "n_estimators": (2, {}),
    "subsample_for_bin": (20, {}),
    "class_weight": ({0: 3.0, 1: 1.0}, {}),
    "min_split_gain": (1e6, {}),
    "min_child_weight": (1e6, {}),
    "min_child_samples": (40, {}),
    "subsample": (0.5, {"subsample_freq": 1}),
    "subsample_freq": (1, {"subsample": 0.5}),
    "pos_bagging_fraction": (0.5, {"subsample_freq": 1}),
    "neg_bagging_fraction": (0.5, {"subsample_freq": 1}),
    "bagging_by_query": (True, BAGGING),
    "data_sample_strategy": ("goss", {"learning_rate": 1.0}),
    "top_rate": (0.4, GOSS),
    "other_rate": (0.4, GOSS),
    "drop_rate": (0.2, DART),
    "max_drop": (1, DART | {"drop_rate": 1.0}),
    "skip_drop": (1.0, {"boosting_type": "dart", "drop_rate": 1.0}),
    "uniform_drop": (True, DART | {"n_estimators": 12, "drop_rate": 0.3}),
    "xgboost_dart_mode": (True, DART),
    "colsample_bytree": (0.5, {}),
    "reg_alpha": (1.0, {}),
    "reg_lambda": (10.0, {}),
    "random_state": (7, {"colsample_bytree": 0.5}),
    "max_bin": (7, {}),
    "max_bin_by_feature": ([5] * 6, {}),
    "forcedbins_filename": ({0: [0.7], 1: [0.5], 3: [0.2], 5: [0.1]}, {"max_bin": 4}),
    "min_data_in_bin": (20, {}),
    "use_missing": (False, {"min_child_samples": 1}),
    "zero_as_missing": (True, {}),
    "categorical_feature": ([CATEGORIES], SORTED),
    "max_cat_to_onehot": (50, SORTED),
    "max_cat_threshold": (1, SORTED),
    "cat_smooth": (0.0, SORTED),
    "cat_l2": (0.0, SORTED),
    "min_data_per_group": (1, SORTED),
    "max_delta_step": (0.001, {}),
    "linear_tree": (True, {}),
    "linear_lambda": (10.0, {"linear_tree": True}),
    "path_smooth": (10.0, {}),
    "extra_trees": (True, {}),
    "multi_strategy": ("multi_output_tree", {}),
    "feature_fraction_bynode": (0.5, {}),
    "feature_contri": ([0.001, 1, 1, 1, 1, 1], {}),
    "monotone_constraints": ([-1, -1, -1, 1, 0, 0], {}),
    "monotone_constraints_method": ("advanced", MONOTONE),
    "monotone_penalty": (2.0, MONOTONE),
    "interaction_constraints": ([[0], [1, 2, 3, 4]], {}),
    "forcedsplits_filename": ({"feature": 5, "threshold": 0.2}, {}),
    "boost_from_average": (False, {}),
    "reg_sqrt": (True, {}),
    "is_unbalance": (True, {}),
    "scale_pos_weight": (3.0, {}),
    "sigmoid": (2.0, {}),
    "alpha": (0.3, {}),
    "fair_c": (2.0, {}),
    "poisson_max_delta_step": (0.1, {}),
    "tweedie_variance_power": (1.2, {}),
    "lambdarank_truncation_level": (1, {}),
    "lambdarank_norm": (False, {}),
    "lambdarank_position_bias_regularization": (30.0, {"position": N_ROWS}),
    "label_gain": ([0.0, 1.0, 2.0, 3.0], SETS),
    "metric": ("None", SETS),
    "multi_error_top_k": (2, {**SETS, "metric": "multi_error"}),
    "auc_mu_weights": ([0, 1, 2, 1, 0, 1, 1, 3, 0], {**SETS, "metric": "auc_mu"}),
    "eval_at": ([2], SETS),
    "early_stopping_round": (1, WORSE),
    "first_metric_only": (True, WORSE | STOPPING),
    "early_stopping_min_delta": (1e9, ALONE | STOPPING | {"eval_metric": [better]}),
    "validation_fraction": (0.4, STOPPING),
    "refit": (True, STOPPING),
    "folds": (2, {}),
    "preset": ("accurate", {}),
    "pair_features": ("sums", {}),
    "time_limit": (1e-9, {}),
    "data_random_seed": (9, {"subsample_for_bin": 20}),
    "bagging_seed": (9, BAGGING),
    "feature_fraction_seed": (9, {"colsample_bytree": 0.5}),
    "extra_seed": (9, {"extra_trees": True}),
    "objective_seed": (9, {"objective": "rank_xendcg"}),
    "drop_seed": (9, DART | {"n_estimators": 12}),
}
# Options that by their nature change no model.
WITHOUT_CHANGE = {
    "n_jobs": (2, "models do not depend on threads"),
    "importance_type": ("gain", "it is asked after a fit"),
    "feature_pre_filter": (False, "columns that cannot be split have no effect"),
    "enable_bundle": (False, "bundles without conflicts lose nothing"),
    "max_conflict_rate": (0.9, "columns of few rows are not bundled"),
    "is_enable_sparse": (False, "it says how values are stored"),
    "date_features": ([], "only columns of dates have parts"),
    "memory_limit": (1e12, "it refuses fits that need more"),
    "verbosity": (0, "it says what is printed"),
    "warm_start": (True, "a first fit has nothing to continue from"),
    "deterministic": (True, "every fit is"),
    "force_col_wise": (True, "it says how values are stored"),
    "force_row_wise": (True, "it says how values are stored"),
}
# They have an effect only if something is drawn; scripts set all of them.
SEEDS = {name for name in DEFAULTS if name.endswith("_seed")} | {"random_state"}


def test_the_table_has_every_option():
    assert OPTIONS.keys() | WITHOUT_CHANGE.keys() == DEFAULTS.keys() - {"objective"}
    assert not OPTIONS.keys() & WITHOUT_CHANGE.keys()
    assert {name for spec in OBJECTIVES.values() for name in spec.options} < NAMES


def fit_of(family, **context):
    """Fit the estimator of a family: scores, and the metrics of evaluation sets."""
    fit, options = dict(family.fit), {**SMALL, **family.options, **context}
    for name in ("eval_X", "eval_y", "eval_qid", "eval_metric", "position"):
        if name in options:
            fit[name] = options.pop(name)
    rows, y = X, family.y
    if "eval_y" in fit:
        fit["eval_y"] = y[fit["eval_y"]]
        chosen = fit.pop("eval_qid")
        if "qid" in fit:
            fit["eval_qid"] = [fit["qid"][chosen]]
    if fit.pop("position", None) and "qid" in fit:
        sizes, position = np.unique(fit.pop("qid"), return_counts=True)[1], y % 3
        rows, y = Dataset(X, label=y, group=sizes, position=position), None
    better.value = 0
    model = family.estimator(**options).fit(rows, y, **fit)
    return model._model.trees.raw_scores(
        model._reader(model._model, 1).columns(X), 0, model.n_iter_, 1
    ), model.evals_result_


def alike(one, other):
    return all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


class Outcomes:
    """What the options do to fits of a family."""

    def __init__(self, name):
        self.name, self.family, self.usual = name, FAMILIES[name], {}

    def of(self, option, context):
        """'error', 'warning', 'change', 'nothing', or what is wrong."""
        context = {k: v for k, v in context.items() if k != option}
        key = repr(context)
        if key not in self.usual:
            self.usual[key] = self._outcome(None, context)
        usual = self.usual[key]
        if isinstance(usual, str):
            return "error"  # the context is not for this objective
        changed = context | {option: OPTIONS[option][0]}
        found = self._outcome(option, changed)
        if not isinstance(found, str):
            return "nothing" if alike(found, usual) else "change"
        kind = found.partition(":")[0]
        if kind == "warning" and not alike(self._outcome(None, changed), usual):
            return f"a change in spite of a {found}"
        return kind if any(name in found for name in (option, *context)) else found

    def _outcome(self, option, context):
        """The result of a fit, or its error, or its warning about an option."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if option is not None:
                warnings.filterwarnings("error", rf".*\b{option} needs")
            try:
                return fit_of(self.family, **context)
            except UnusedParameterWarning as warning:
                return f"warning: {warning}"
            except (TypeError, ValueError) as error:
                return f"error: {error}"

    def said_anyway(self):
        """The options whose value only says what is so: these fits start from 0."""
        spec = OBJECTIVES.get(self.name)
        starts_from_0 = callable(self.family.options.get("objective")) or (
            spec is not None and (spec.task == "ranking" or self.name in COX)
        )
        return {"boost_from_average"} if starts_from_0 else set()

    def is_read(self, option):
        """Whether the objective reads an option that others do not."""
        spec = OBJECTIVES.get(self.name)
        return spec is not None and option in spec.options


def problems(outcomes, options, changes=()):
    """The options that do nothing, or not what they must."""
    found = {}
    for option in options:
        context = OPTIONS[option][1]
        must_change = option in changes or outcomes.is_read(option)
        allowed = {"change"} if must_change else {"change", "error", "warning"}
        with_context = outcomes.of(option, context)
        # Nothing is said of metrics if there is no evaluation set.
        has_needs = option in NAMES and not context.keys() <= SETS.keys()
        alone = outcomes.of(option, {}) if has_needs else "warning"
        if with_context not in allowed and option not in outcomes.said_anyway():
            found[option] = with_context
        if alone not in ("change", "error", "warning"):
            found[option, "alone"] = alone
    return found


OF_OBJECTIVES = sorted({name for spec in OBJECTIVES.values() for name in spec.options})
EVERY_DAY = [parameter.values[0] for parameter in by_kind() if not parameter.marks]
# Other options need only one of the families, but classes, queries and seeds their own.
ELSEWHERE = {
    "class_weight": "binary",
    "multi_strategy": "multiclass",
    "multi_error_top_k": "multiclass",
    "auc_mu_weights": "multiclass",
    "bagging_by_query": "lambdarank",
    "eval_at": "rank_xendcg",
    "objective_seed": "rank_xendcg",
}


@pytest.mark.parametrize("name", EVERY_DAY)
def test_options_that_some_objectives_read(name):
    assert problems(Outcomes(name), OF_OBJECTIVES) == {}


@pytest.mark.parametrize("name", ["regression", *dict.fromkeys(ELSEWHERE.values())])
def test_options_of_all_objectives(name):
    general = OPTIONS.keys() - set(OF_OBJECTIVES)
    chosen = [o for o in general if ELSEWHERE.get(o, "regression") == name]
    assert problems(Outcomes(name), chosen, chosen) == {}


@pytest.mark.nightly
@pytest.mark.parametrize("name", FAMILIES)
def test_all_options(name):
    assert problems(Outcomes(name), OPTIONS) == {}


@pytest.mark.parametrize("name", WITHOUT_CHANGE)
def test_options_that_change_no_model(name):
    value, _ = WITHOUT_CHANGE[name]
    family = FAMILIES["regression"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert alike(fit_of(family, **{name: value}), fit_of(family))


# --- The warning ----------------------------------------------------------------------

Y = FAMILIES["regression"].y


def test_there_is_one_warning_of_all():
    options = {"bagging_fraction": 0.5, "drop_rate": 0.2, "learning_rate": 0.05}
    options |= {"reg_sqrt": True, "objective": "normal", "n_jobs": 1}
    params = {**options, "verbosity": -1}
    for fit in (
        lambda: LGBMRegressor(n_estimators=2, **options).fit(X, Y),
        lambda: LGBMRegressor(n_estimators=2, folds=2, **options).fit(X, Y),
        lambda: train(params, Dataset(X, Y), 2),
        lambda: cv(params, Dataset(X, Y), 2, nfold=3),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit()
        (warning,) = [w for w in caught if w.category is UnusedParameterWarning]
        assert str(warning.message) == (
            "Options without effect: subsample needs subsample_freq=1; drop_rate needs"
            " boosting_type='dart'; reg_sqrt needs objective='regression',"
            " 'regression_l1', 'fair', 'quantile', 'expectile' or 'mape'. See"
            " https://skgoss.github.io/skgoss/parameters.html#subsample"
        )
        assert warning.filename == __file__


FEW = {"max_cat_to_onehot": 99, "categorical_feature": [CATEGORIES]}
RF = {"boosting_type": "rf", "colsample_bytree": 0.5}
NO_DROP = {"boosting_type": "dart", "drop_rate": 0.0}
SKIPS = {"boosting_type": "dart", "skip_drop": 1.0}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 0.3, "objective": "l1"}, "alpha needs objective='huber'"),
        ({"alpha": 0.3, "metric": "fair"}, "alpha needs objective='huber'"),
        ({"fair_c": 2.0, "objective": lambda y, p: (p - y, y * 0 + 1)}, "fair_c needs"),
        (
            {"pos_bagging_fraction": 0.5},
            "needs subsample_freq=1 and objective='binary'",
        ),
        ({"bagging_by_query": True}, "needs queries and subsample < 1 and subsample_f"),
        ({"multi_error_top_k": 2}, "multi_error_top_k needs metric='multi_error'"),
        ({"multi_strategy": "multi_output_tree"}, "needs three or more classes"),
        ({"max_cat_to_onehot": 9}, "max_cat_to_onehot needs a categorical column"),
        ({"cat_l2": 1.0}, "cat_l2 needs a column with more categories than max_cat_to"),
        (
            FEW | {"cat_smooth": 1.0},
            "cat_smooth needs a column with more categories than",
        ),
        (RF | {"learning_rate": 0.5}, "needs a boosting_type other than 'rf'"),
        (NO_DROP | {"uniform_drop": True}, "uniform_drop needs drop_rate > 0"),
        (SKIPS | {"xgboost_dart_mode": True}, "xgboost_dart_mode needs skip_drop < 1"),
        ({"refit": True}, "refit needs folds, or early_stopping_round without"),
    ],
)
def test_the_warning_says_what_an_option_needs(options, words):
    with pytest.warns(UnusedParameterWarning, match=words):
        LGBMRegressor(n_estimators=2, n_jobs=1, **options).fit(X, Y)


def test_an_evaluation_set_leaves_nothing_to_hold_out():
    options = {"early_stopping_round": 5, "validation_fraction": 0.3, "n_estimators": 2}
    with pytest.warns(UnusedParameterWarning, match="validation_fraction needs early_"):
        LGBMRegressor(**options).fit(X, Y, eval_X=X[:9], eval_y=Y[:9])


@pytest.mark.parametrize(
    "options",
    [
        {"drop_rate": DEFAULTS["drop_rate"], "label_gain": None},
        {"alpha": 0.3, "metric": "quantile"},
        # A preset samples rows, and keeps the folds that 'refit' needs.
        {"preset": "accurate", "subsample": 0.5},
        {"preset": "best", "refit": True, "time_limit": 0.01},
        dict.fromkeys(SEEDS, 7),
    ],
)
def test_options_that_may_have_an_effect(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedParameterWarning)
        warnings.filterwarnings("ignore", "time_limit")
        LGBMRegressor(n_jobs=1, **options).fit(X, Y)


def test_attributes_need_no_warning():
    model = LGBMRegressor(n_estimators=2)
    model.alpha = 0.01  # as scikit-learn's checks do
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y)


def test_categories_of_a_frame_are_found():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(X[:, CATEGORIES])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LGBMClassifier(n_estimators=2, cat_l2=1.0, n_jobs=1).fit(frame, Y > 0)


def test_alpha_of_xgboost():
    model = LGBMRegressor(alpha=0.5, **SMALL)
    with pytest.warns(UnusedParameterWarning, match=r"alpha in XGBoost, is reg_alpha"):
        model.fit(X, X[:, 0])
