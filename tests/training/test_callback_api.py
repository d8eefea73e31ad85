"""What callbacks are told, and which options they may change."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.rounds import SETS, X, Y, fit
from skgoss import LGBMRegressor, reset_parameter


def test_what_a_callback_is_told():
    seen = []
    model = fit(seen.append)
    assert [env.iteration for env in seen] == list(range(6))
    last = seen[-1]
    assert (last.begin_iteration, last.end_iteration) == (0, 6)
    assert last.params["learning_rate"] == 0.1
    assert [r.dataset_name for r in last.evaluation_result_list] == [
        "training",
        "valid_1",
    ]
    name, metric, value, maximize = last.evaluation_result_list[0]
    assert (name, metric, maximize) == ("training", "l2", False)
    assert value == model.evals_result_["training"]["l2"][-1]
    assert last.model.current_iteration() == 6


@pytest.mark.parametrize("boosting_type", ["gbdt", "dart", "rf"])
@pytest.mark.parametrize("sets", [SETS, {"eval_set": [(X[:100], Y[:100])]}])
def test_the_model_that_a_callback_is_told(boosting_type, sets):
    found = []

    def follow(env):
        model = env.model
        assert model.current_iteration() == model.num_trees() == env.iteration + 1
        assert model.num_model_per_iteration() == 1
        found.append([model.eval_train(), model.eval_valid()])

    options = {"subsample": 0.5, "subsample_freq": 1, "boosting_type": boosting_type}
    model = fit(follow, sets=sets, **options)
    whole = fit(n_estimators=6, **options).evals_result_
    for round_index, ((train,), (valid,)) in enumerate(found):
        assert train[:2] == ("training", "l2")
        np.testing.assert_allclose(train[2], whole["training"]["l2"][round_index])
        history = model.evals_result_[valid.dataset_name]["l2"]
        assert valid.metric_value == history[round_index]


def test_the_model_continues_from_another():
    seen = []
    fit(lambda env: seen.append(env.model.current_iteration()))
    LGBMRegressor(n_estimators=2).fit(
        X,
        Y,
        init_model=LGBMRegressor(n_estimators=6).fit(X, Y),
        callbacks=[lambda env: seen.append(env.model.current_iteration())],
    )
    assert seen == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_callback_may_change_options():
    def slow_down(env):
        assert env.model.reset_parameter({"eta": 0.5 / (env.iteration + 1)})

    slow_down.before_iteration = True
    rates = [0.5 / (i + 1) for i in range(6)]
    expected = fit(reset_parameter(learning_rate=rates)).predict(X)
    np.testing.assert_array_equal(fit(slow_down).predict(X), expected)


def test_changed_options_are_those_of_lightgbm(lightgbm):
    schedule = {
        "learning_rate": [0.1, 0.2, 0.3, 0.1, 0.05, 0.2],
        "num_leaves": lambda i: 4 + 10 * i,
    }
    model = fit(reset_parameter(**schedule))
    theirs = lightgbm.LGBMRegressor(n_estimators=6, verbosity=-1).fit(
        X, Y, callbacks=[lightgbm.reset_parameter(**schedule)]
    )
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-6)


def test_a_value_that_stays_is_the_option():
    schedule = {"lambda_l2": lambda i: 5.0, "min_child_samples": [30] * 6}
    changed = fit(reset_parameter(**schedule))
    plain = fit(reg_lambda=5.0, min_child_samples=30)
    np.testing.assert_array_equal(changed.predict(X), plain.predict(X))


def test_changing_samples():
    sizes = []

    def watch(env):
        rows = env.model._fit.rounds.sampler.rows
        sizes.append(len(rows) / len(X))

    change = reset_parameter(subsample=lambda i: 0.2 + 0.1 * i)
    fit(change, watch, subsample=0.9, subsample_freq=1)
    np.testing.assert_allclose(sizes, 0.2 + 0.1 * np.arange(6), atol=0.08)


@pytest.mark.parametrize(
    "options",
    [
        {"subsample": 0.5, "subsample_freq": 4},
        {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
    ],
)
def test_bags_and_forests_do_not_mind_a_changing_rate(options):
    rates = np.where(np.arange(6) % 2, 0.1, 0.1 + 1e-12)
    changed = fit(reset_parameter(eta=rates), **options)
    np.testing.assert_allclose(changed.predict(X), fit(**options).predict(X), rtol=1e-9)
    if options.get("boosting_type") == "rf":
        changed = fit(reset_parameter(learning_rate=lambda i: 0.01), **options)
        np.testing.assert_array_equal(changed.predict(X), fit(**options).predict(X))


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({"learning_rate": [0.1]}, "'learning_rate' has 1 values for 6 rounds"),
        ({"learning_rate": 0.1}, "'learning_rate' must be a list of values or a func"),
        ({"learning_rate": [0.0] * 6}, "'learning_rate' parameter of reset_parameter"),
        ({"max_bin": [10] * 6}, "cannot change 'max_bin' during a fit"),
        ({"learning_rat": [10] * 6}, "cannot change 'learning_rat' during a fit"),
    ],
)
def test_bad_schedules(schedule, message):
    with pytest.raises(ValueError, match=message):
        fit(reset_parameter(**schedule))


def test_changed_options_do_not_contradict_each_other():
    with pytest.raises(ValueError, match=r"The sum of .* must be at most 1"):
        fit(reset_parameter(top_rate=[0.95] * 6), data_sample_strategy="goss")


def test_a_refit_follows_the_schedule():
    options = {"early_stopping_round": 50, "refit": True, "sets": {}}
    model = fit(reset_parameter(learning_rate=[0.01] * 6), **options)
    plain = fit(n_estimators=model.best_iteration_, learning_rate=0.01, sets={})
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
