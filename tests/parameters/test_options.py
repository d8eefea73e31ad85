"""Options of a prediction."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

from skgoss import Booster, LGBMClassifier, LGBMRegressor, UnusedParameterWarning


def test_predictions_take_the_options_of_lightgbm():
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    model = LGBMClassifier(n_estimators=3).fit(X, y)
    expected = model.predict_proba(X)
    # None of them changes a prediction of LightGBM's estimators.
    for name in ("num_leaves", "learning_rate", "predict_raw_score", "n_jobs"):
        np.testing.assert_array_equal(model.predict_proba(X, **{name: 1}), expected)
    for name in ("num_iterations", "n_estimators"):
        with pytest.warns(UnusedParameterWarning, match="mean 'num_iteration'"):
            found = model.predict_proba(X, **{name: 1})
        np.testing.assert_array_equal(found, expected)
    with pytest.warns(UnusedParameterWarning, match="no argument 'ntree_limit': it"):
        np.testing.assert_array_equal(model.predict_proba(X, ntree_limit=1), expected)
    with pytest.warns(UnusedParameterWarning, match="n_jobs=1 is used"):
        model.predict(X, n_jobs=1, num_threads=64_000)
    with pytest.raises(ValueError, match="The 'n_jobs' parameter of LGBMClassifier"):
        model.predict(X, num_threads="all")


BELONGS = {
    ("predict_interval", "num_iteration"): "calibrated for all rounds of the model",
    ("predict_interval", "n_estimators"): "calibrated for all rounds of the model",
    ("predict_interval", "raw_score"): "It belongs to predict",
    ("predict_interval", "level"): "Pass coverage=0.95",
    ("predict_interval", "alpha"): "Pass 1 minus it as coverage",
    ("predict", "coverage"): "Use predict_interval",
    ("predict", "strata"): "predict_quantile and predict_survival_function",
    ("predict_distribution", "pred_leaf"): "It belongs to predict",
    ("predict_quantile", "to_parquet"): "It belongs to predict",
    ("explain", "pred_contrib"): "It belongs to predict",
}


@pytest.mark.parametrize(("method", "argument"), BELONGS)
def test_an_argument_of_another_method_is_an_error(method, argument):
    X, y = np.arange(60.0)[:, None], np.arange(60.0)
    model = LGBMRegressor(objective="normal", n_estimators=2, folds=2).fit(X, y)
    message = f"LGBMRegressor.{method} has no argument '{argument}'"
    with pytest.raises(TypeError, match=message) as error:
        getattr(model, method)(X, **{argument: 1})
    assert re.search(BELONGS[method, argument], str(error.value))


def test_a_refit_speaks_of_itself():
    X, y = np.arange(60.0)[:, None], np.arange(60.0)
    booster = LGBMRegressor(n_estimators=3).fit(X, y).booster_
    for name, advice in (
        ("sample_weight", "Use weight"),
        ("qid", "Use group"),
        ("decay", "Use decay_rate"),
        ("decay_rat", "Did you mean 'decay_rate'"),
        ("num_trees", "To add trees, use init_model of train"),
    ):
        expected = f"Booster.refit has no argument '{name}': it has no effect. {advice}"
        with pytest.warns(UnusedParameterWarning, match=expected):
            booster.refit(X, y, **{name: 1})


PREDICTIONS = {
    LGBMClassifier: ("predict", "predict_proba", "decision_function", "predict_set"),
    LGBMRegressor: (
        *("predict", "predict_interval", "predict_distribution", "predict_quantile"),
    ),
    Booster: ("predict",),
}


@pytest.mark.parametrize("kind", PREDICTIONS, ids=lambda kind: kind.__name__)
def test_a_method_may_be_replaced_by_one_with_bound_arguments(kind):
    # mlforecast binds the number of threads to `predict`.
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    objective = "binary" if kind is LGBMClassifier else "normal"
    estimator = LGBMClassifier if kind is LGBMClassifier else LGBMRegressor
    model = estimator(objective=objective, n_estimators=2, folds=2).fit(X, y)
    if kind is Booster:
        model = model.booster_
    for name in PREDICTIONS[kind]:
        args = (X, 0.5) if name == "predict_quantile" else (X,)
        method = getattr(model, name)
        expected = method(*args)
        setattr(model, name, functools.partial(method, num_threads=1))
        found = getattr(model, name)(*args)
        if name == "predict_distribution":
            found, expected = found.mean(), expected.mean()
        np.testing.assert_array_equal(found, expected)
        with pytest.warns(UnusedParameterWarning, match=f"{name} has no argument 'q"):
            getattr(model, name)(*args, queue=1)
