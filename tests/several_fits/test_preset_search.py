"""Searches of presets: who ends because the preset would take too long."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_regression

from skgoss import (
    LGBMRegressor,
    UnusedParameterWarning,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)

X, Y = make_regression(90, 5, noise=10.0, random_state=0)
AT = np.arange(90)


@pytest.mark.parametrize("refit", [False, True])
def test_a_blend_has_the_options_of_its_best_configuration(refit):
    """It is not the first one of those that are compared."""
    rng = np.random.default_rng(2 if refit else 0)
    features = rng.normal(size=(80, 3))
    y = features[:, 0] * 2 + np.abs(features[:, 1]) + rng.normal(size=80) * 0.3
    options = {"max_bin": 15, "refit": refit, "n_estimators": 40 if refit else 20}
    model = LGBMRegressor(preset="best", **options).fit(features, y)
    results = model.search_results_
    best = int(np.argmax(results["weight"]))
    assert best > 0
    chosen = model.preset_params_
    assert chosen | results["params"][best] == chosen
    # The metrics of the rounds are those of its models, too.
    losses = [min(history["l2"]) for history in model.evals_result_.values()]
    assert np.mean(losses) == pytest.approx(results["mean_test_loss"][best])
    if refit:
        n_rounds = round(results["n_rounds"][best])
        of_fit = {k: v for k, v in chosen.items() if k in model.get_params()}
        of_fit |= {"n_estimators": n_rounds, "max_bin": 15}
        of_fit |= {"folds": None, "early_stopping_round": None}
        same = LGBMRegressor(**of_fit).fit(features, y)
        np.testing.assert_array_equal(model.predict(features), same.predict(features))
    else:
        assert np.count_nonzero(results["weight"]) > 1


@pytest.mark.parametrize("options", [{}, {"n_estimators": 5}])
def test_the_training_set_among_evaluation_sets_decides_nothing(options):
    """Without a number of rounds, the other sets decide between configurations."""
    rows, others = (X[::2], Y[::2]), (X[1::2], Y[1::2])
    model = LGBMRegressor(preset="best", num_leaves=7, max_bin=15, **options)
    fits = [
        clone(model).fit(*rows, eval_set=sets)
        for sets in ([others], [rows, others], [others, rows])
    ]
    alone, *with_training = fits
    for fit in with_training:
        assert fit.preset_params_ == alone.preset_params_
        np.testing.assert_array_equal(fit.predict(X), alone.predict(X))
        for name in ("mean_test_loss", "n_rounds"):
            found, expected = (m.search_results_.get(name, []) for m in (fit, alone))
            np.testing.assert_array_equal(found, expected)
        assert "training" in fit.evals_result_
    assert ("params" in alone.search_results_) == (not options)


@pytest.mark.parametrize("refit", [False, True])
def test_callbacks_that_a_preset_does_not_call_are_told(refit):
    options = {"preset": "accurate", "folds": 2, "n_estimators": 2, "refit": refit}
    model = LGBMRegressor(**options)
    seen, history = [], {}
    message = "callbacks are not called with preset="
    for call in (seen.append, early_stopping(3), log_evaluation()):
        with pytest.warns(UnusedParameterWarning, match=message):
            model.fit(X, Y, callbacks=[call])
    assert seen == []
    model.fit(X, Y, callbacks=[record_evaluation(history)], eval_metric="l1")
    assert history == model.evals_result_
    assert history.keys() >= {"fold_0", "fold_1"}
    assert list(model.oof_score_) == ["l1", "l2"]
    rates = reset_parameter(learning_rate=lambda index: 0.5)
    if model.refit:  # on all rows, where it is called
        slow = model.predict(X)
        assert (model.fit(X, Y, callbacks=[rates]).predict(X) != slow).any()
    else:
        with pytest.warns(UnusedParameterWarning, match=message):
            model.fit(X, Y, callbacks=[rates])


def test_presets_of_one_fit_call_callbacks():
    seen = []
    LGBMRegressor(preset="accurate", n_estimators=4).fit(X, Y, callbacks=[seen.append])
    assert [env.iteration for env in seen] == [0, 1, 2, 3]


def test_folds_that_end_by_themselves_keep_the_rounds_that_they_have():
    # The first fold learns that all targets are equal, in one round.
    pairs = [(AT[:30], AT[30:35]), (AT[30:60], AT[60:]), (AT[60:], AT[35:60])]
    y = np.where(AT < 30, 1.0, X[:, 0] + 0.1 * X[:, 1])
    options = {"folds": pairs, "min_child_samples": 2, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LGBMRegressor(preset="accurate", **options).fit(X, y)
    assert max(model.search_results_["n_rounds"]) > 2
    found = [np.mean((model.oof_prediction_ - y)[test] ** 2) for _, test in pairs]
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(np.mean((y - 1.0)[30:35] ** 2))


def test_start_scores_of_a_blend_are_those_of_its_members():
    model = LGBMRegressor(preset="accurate", folds=3, n_jobs=1).fit(X, Y)
    weights = model.search_results_["weight"]
    n_starts = 3 * np.count_nonzero(weights)
    assert n_starts < 3 * len(weights)
    model.predict(X, num_iteration=n_starts)
    with pytest.raises(ValueError, match=f"the mean of {n_starts} models of folds"):
        model.predict(X, num_iteration=n_starts - 1)
