"""Regressors and what they predict."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.columns import names


def small(cls, **options):
    return cls(n_estimators=5, num_leaves=6, **options)


def test_regressor_outputs(diabetes):
    X, y = diabetes
    model = small(LGBMRegressor).fit(X, y)
    prediction = model.predict(X)
    assert (prediction.shape, prediction.dtype) == ((442,), np.float64)
    assert model.score(X, y) > 0.2
    np.testing.assert_array_equal(model.predict(X, raw_score=True), prediction)
    leaves = model.predict(X, pred_leaf=True)
    assert (leaves.shape, leaves.dtype) == ((442, 5), np.int32)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "decision_function")


def test_predictions_of_arrays_list_no_names(diabetes, monkeypatch):
    """Of wide data, that would take longer than to predict a row."""
    X, y = diabetes
    model = small(LGBMRegressor).fit(X, y)
    expected = model.predict(X[:1])
    monkeypatch.delattr(names, "default")
    assert model.predict(X[:1]) == expected


def test_raw_scores_of_a_forest_are_means(diabetes, two_classes):
    options = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
    model = small(LGBMRegressor, **options).fit(*diabetes)
    raw = model.predict(diabetes[0], raw_score=True)
    np.testing.assert_array_equal(raw, model.predict(diabetes[0]))
    X, y = two_classes
    model = small(LGBMClassifier, **options).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(expit(model.decision_function(X)), p)
    np.testing.assert_allclose(expit(model.predict(X, raw_score=True)), p)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie"])
def test_positive_objectives_predict_the_mean(diabetes, name):
    X, y = diabetes
    model = small(LGBMRegressor, objective=name).fit(X, y)
    raw = model.predict(X, raw_score=True)
    np.testing.assert_allclose(model.predict(X), np.exp(raw), rtol=1e-12)
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.05)


def squares(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_true)


def test_custom_regression(diabetes):
    X, y = diabetes
    model = small(LGBMRegressor, objective=squares).fit(X, y)
    named = small(LGBMRegressor, boost_from_average=False).fit(X, y)
    np.testing.assert_allclose(model.predict(X), named.predict(X), rtol=1e-6)
    assert model.objective_ is squares
