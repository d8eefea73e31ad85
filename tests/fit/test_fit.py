"""One fit: warnings, the options that it uses, and the file of its model."""

import warnings

import numpy as np
import pytest

import skgoss
from skgoss import (
    Dataset,
    LGBMClassifier,
    LGBMRegressor,
    train,
)
from skgoss.fit.arguments import FitArguments, input_sets
from skgoss.fit.fit import Fit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = X[:, 0]


def told(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    assert all(warning.filename == __file__ for warning in found)
    return [str(warning.message) for warning in found]


@pytest.mark.parametrize(
    ("objective", "option"), [("huber", "alpha"), ("fair", "fair_c")]
)
@pytest.mark.parametrize("options", [{}, {"folds": 3}, {"boost_from_average": False}])
def test_losses_that_are_linear_for_nearly_all_errors(objective, option, options):
    target = 1e6 * Y
    model = LGBMRegressor(objective=objective, n_estimators=20, **options)
    message, *more = told(lambda: model.fit(X, target))
    assert all("min_child_weight" in other for other in more)
    assert f"{option}=" in message
    advice = float(message.rpartition("=")[2].rstrip("."))
    start = 0 if "boost_from_average" in options else target.mean()
    assert advice == pytest.approx(np.quantile(abs(target - start), 0.9), rel=0.1)
    model.set_params(**{option: advice})
    assert told(lambda: model.fit(X, target)) == []
    assert model.score(X, target) > 0.8
    model.set_params(**{option: 1.0})
    assert told(lambda: model.fit(X, Y)) == []


def test_scales_of_several_targets_and_of_start_scores():
    model = LGBMRegressor(objective="huber", n_estimators=2)
    [message] = told(lambda: model.fit(X, np.column_stack([Y, 1e6 * Y])))
    assert "alpha=0.9" in message
    assert told(lambda: model.fit(X, 1e6 * Y, init_score=1e6 * Y + 0.1 * Y)) == []


def test_rounds_that_end_when_all_is_learned():
    features = np.repeat([[0.0], [1.0]], 50, axis=0)
    model = LGBMRegressor(n_estimators=3, learning_rate=1.0)
    assert told(lambda: model.fit(features, features[:, 0])) == []
    assert model.n_estimators_ < 3


# --- Options --------------------------------------------------------------------------


def test_early_stopping_asks_for_the_least_improvement():
    options = {"n_estimators": 30, "early_stopping_round": 2}
    given = {"eval_set": [(X, Y), (X[:50], Y[:50])]}
    model = LGBMRegressor(early_stopping_min_delta=1e9, **options).fit(X, Y, **given)
    assert (model.best_iteration_, len(model.evals_result_["valid_1"]["l2"])) == (1, 3)
    assert LGBMRegressor(**options).fit(X, Y, **given).best_iteration_ > 3


def test_evaluation_sets_without_the_start_scores_that_the_training_set_has():
    scores, options = np.full(len(Y), 9.0), {"n_estimators": 3}
    model = LGBMRegressor(**options)
    [message] = told(
        lambda: model.fit(X, Y, init_score=scores, eval_set=[(X, Y), (X[:50], Y[:50])])
    )
    assert "evaluation set 'valid_1' has none" in message
    assert message.endswith("Pass eval_init_score.")
    data = Dataset(X, Y, init_score=scores)
    sets = [data.create_valid(X[:50], Y[:50])]
    [message] = told(lambda: train({}, data, 3, valid_sets=sets))
    assert message.endswith("Pass the init_score of its Dataset.")
    given = {"eval_set": [(X[:50], Y[:50])], "eval_init_score": [scores[:50]]}
    assert told(lambda: model.fit(X, Y, init_score=scores, **given)) == []
    assert told(lambda: model.fit(X, Y, eval_set=given["eval_set"])) == []


def test_a_refit_of_one_round_has_one_tree():
    options = {"early_stopping_round": 2, "early_stopping_min_delta": 1e9}
    model = LGBMRegressor(**options, refit=True).fit(X, Y)
    assert model.booster_.num_trees() == 1
    again = LGBMRegressor(n_estimators=1).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize(("n_rounds", "is_reached"), [(1, False), (2, True)])
def test_the_last_round_ends_without_a_limit(n_rounds, is_reached):
    model = LGBMRegressor(n_estimators=n_rounds, time_limit=1e-9)
    messages = told(lambda: model.fit(X, Y))
    assert (len(messages), model.time_limit_reached_) == (is_reached, is_reached)
    assert model.n_iter_ == 1


def test_models_in_training_are_made_once_for_each_state():
    booster = skgoss.Booster({"num_leaves": 4}, skgoss.Dataset(X, Y))
    fit = booster._fit
    models = []
    for change in (booster.update, lambda: booster.reset_parameter({"num_leaves": 3})):
        change()
        models += [fit.model_so_far(), fit.model_so_far()]
    assert models[0] is models[1] is not models[2] is models[3]
    assert models[0].trees is models[2].trees


def test_a_fit_uses_what_a_preset_has_chosen():
    model, given = LGBMRegressor(), FitArguments()
    settings = model._settings(X, given)
    plain = model._prepare(input_sets(X, Y, given, settings), given, settings)
    chosen = {"num_leaves": 5, "early_stopping_round": 3}
    fit = Fit.begin(plain.prepared.with_chosen(chosen), [])
    assert plain.settings.num_leaves == 31
    assert fit.settings.num_leaves == 5
    assert fit.data.preset_params == chosen
    assert [call.stopping_rounds for call in fit.callbacks] == [3]


def test_options_change_between_rounds():
    booster = skgoss.Booster({"num_leaves": 4}, skgoss.Dataset(X, Y))
    booster.update()
    booster.reset_parameter({"num_leaves": 3, "learning_rate": 0.5})
    booster.update()
    booster.reset_parameter({"num_leaves": 2})
    booster.update()
    trees = booster.trees_to_dataframe()
    is_leaf = trees["split_feature"].isna()
    assert is_leaf.groupby(trees["tree_index"]).sum().tolist() == [4, 3, 2]
    assert booster.params["num_leaves"] == 2


# --- Files ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "targets", "words"),
    [
        ("l2", np.column_stack([Y, -Y]), "regression"),
        ("poisson", np.column_stack([np.exp(Y), np.exp(-Y)]), None),
        ("binary", np.column_stack([Y > 0, X[:, 1] > 0]), "multiclassova num_class:2 "),
    ],
)
def test_files_name_an_objective_whose_links_lightgbm_has(objective, targets, words):
    kind = LGBMClassifier if objective == "binary" else LGBMRegressor
    model = kind(objective=objective, n_estimators=2).fit(X, targets)
    lines = model.booster_.model_to_string().splitlines()
    found = [line for line in lines if line.startswith("objective=")]
    expected = [] if words is None else [f"objective={words}"]
    assert len(found) == len(expected)
    assert all(line.startswith(w) for line, w in zip(found, expected, strict=True))


def test_a_refit_after_an_earlier_model_has_the_rounds_of_the_fit():
    target = Y + RNG.normal(size=200)
    first = LGBMRegressor(n_estimators=7).fit(X, target)
    options = {"n_estimators": 100, "early_stopping_round": 3, "learning_rate": 0.3}
    fitted, again = (
        LGBMRegressor(**options, refit=refit).fit(X, target, init_model=first)
        for refit in (False, True)
    )
    assert 7 < fitted.n_iter_ == again.n_iter_ < 107
