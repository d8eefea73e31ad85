"""Predictions after each round are those of ``num_iteration``."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor

OPTIONS = {"n_estimators": 6, "num_leaves": 9, "min_child_samples": 5, "n_jobs": 1}


def a_set(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(400, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] + X[:, 1] ** 2) + rng.normal(size=400)
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return X, y


def check(stages, predict, n_rounds):
    stages = list(stages)
    assert len(stages) == n_rounds
    for i, found in enumerate(stages):
        np.testing.assert_array_equal(found, predict(num_iteration=i + 1))


@pytest.mark.parametrize("n_rows", [1, 300])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_and_probabilities(n_classes, n_rows):
    X, y = a_set(n_classes)
    labels = np.array(["a", "b", "c"])[y]
    model = LGBMClassifier(**OPTIONS).fit(X, labels)
    asked = X[:n_rows]

    def classes(**span):
        return model.predict(asked, **span)

    def probabilities(**span):
        return model.predict_proba(asked, **span)

    check(model.staged_predict(asked), classes, 6)
    check(model.staged_predict_proba(asked), probabilities, 6)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"objective": "poisson"},
        {"linear_tree": True},
        {"boosting_type": "dart"},
        {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
    ],
)
def test_values(more):
    X, y = a_set(0)
    model = LGBMRegressor(**OPTIONS | more).fit(X, np.abs(y))
    check(model.staged_predict(X), lambda **span: model.predict(X, **span), 6)


def test_ranks():
    X, y = a_set(4)
    model = LGBMRanker(**OPTIONS).fit(X, y, group=[40] * 10)
    check(model.staged_predict(X), lambda **span: model.predict(X, **span), 6)


def test_containers_categories_and_threads():
    X, y = a_set(2)
    table = pd.DataFrame(X, columns=list("abcde"))
    table["c"] = pd.Categorical(np.where(X[:, 2] > 0, "x", "y"))
    model = LGBMClassifier(**OPTIONS | {"n_jobs": 2}).fit(table, y)

    def probabilities(**span):
        return model.predict_proba(table, **span)

    check(model.staged_predict_proba(table), probabilities, 6)
    filled = np.nan_to_num(X)
    model.fit(filled, y)
    rows = sparse.csr_array(filled)
    for found, expected in zip(
        model.staged_predict_proba(rows),
        model.staged_predict_proba(filled),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


def test_stages_end_at_the_best_round():
    X, y = a_set(2)
    model = LGBMClassifier(**OPTIONS | {"n_estimators": 50, "learning_rate": 0.5})
    model.set_params(early_stopping_round=2)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])])
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_array_equal(last, model.predict_proba(X))


def test_errors_come_at_the_call():
    X, y = a_set(2)
    with pytest.raises(NotFittedError):
        LGBMClassifier().staged_predict(X)
    with pytest.raises(NotFittedError):
        LGBMRegressor().staged_predict(X)
    model = LGBMClassifier(**OPTIONS).fit(X, y)
    with pytest.raises(ValueError, match="5 features"):
        model.staged_predict_proba(X[:, :3])


def test_a_stage_does_not_change_later():
    X, y = a_set(0)
    model = LGBMRegressor(**OPTIONS).fit(X, y)
    stages = model.staged_predict(X)
    first = next(stages)
    kept = first.copy()
    first[:] = 0
    next(stages)
    np.testing.assert_array_equal(kept, model.predict(X, num_iteration=1))
