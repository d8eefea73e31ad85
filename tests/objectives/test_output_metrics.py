"""Metrics of several outputs."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from helpers.several_targets import (
    C_VALID,
    LABELS,
    SMALL,
    WEIGHT_VALID,
    X_VALID,
    Y_VALID,
    C,
    X,
    Y,
)
from skgoss import LGBMClassifier, LGBMRegressor


def test_metrics_are_means_over_targets():
    with_gaps = Y_VALID.copy()
    with_gaps[::3, 1] = np.nan
    start = {"init_score": Y * 0.5, "eval_init_score": [Y_VALID * 0.5]}
    model = LGBMRegressor(**SMALL).fit(
        X,
        Y,
        **start,
        eval_set=[(X_VALID, with_gaps)],
        eval_sample_weight=[WEIGHT_VALID],
        eval_metric=["mae", total],
    )
    last = {k: v[-1] for k, v in model.evals_result_["valid_0"].items()}
    error = model.predict(X_VALID) + Y_VALID * 0.5 - with_gaps
    weight = np.where(np.isnan(with_gaps), 0.0, WEIGHT_VALID[:, None])
    error = np.nan_to_num(error)
    expected = {
        "l1": np.mean(np.average(np.abs(error), axis=0, weights=weight)),
        "l2": np.mean(np.average(error**2, axis=0, weights=weight)),
        "total": 3.0,
    }
    assert last == pytest.approx(expected, rel=1e-12)


def total(y_true, y_pred):
    """A metric of the user gets all targets."""
    n_rows = np.count_nonzero(WEIGHT_VALID)
    assert y_true.shape == y_pred.shape == (n_rows, 3)
    assert 0 < np.isnan(y_true[:, 1]).sum() < n_rows
    return "total", 3.0, False


@pytest.mark.parametrize(
    "targets", [Y, np.where(np.arange(300)[:, None] % 7 == 0, [[1, np.nan, 1]], Y)]
)
def test_the_training_set_as_evaluation_set(targets):
    model = LGBMRegressor(**SMALL).fit(X, targets, eval_set=[(X, targets)])
    squared = (model.predict(X) - targets) ** 2
    assert model.evals_result_["training"]["l2"][-1] == pytest.approx(
        np.mean(np.nanmean(squared, axis=0)), rel=1e-12
    )


def test_metrics_of_classes():
    model = LGBMClassifier(**SMALL, class_weight={0: 2.0}).fit(
        X,
        C,
        eval_set=[(X_VALID, C_VALID)],
        eval_class_weight=["balanced"],
        eval_metric="error",
    )
    found = {k: v[-1] for k, v in model.evals_result_["valid_0"].items()}
    losses, errors = [], []
    for k, probability in enumerate(model.predict_proba(X_VALID)):
        truth = C_VALID[:, k]
        labels, counts = np.unique(truth, return_counts=True)
        weight = (len(truth) / len(labels) / counts)[np.searchsorted(labels, truth)]
        losses.append(log_loss(truth, probability, sample_weight=weight))
        predicted = model.classes_[k][probability.argmax(axis=1)]
        errors.append(np.average(predicted != truth, weights=weight))
    assert found == pytest.approx(
        {"error": np.mean(errors), "logloss": np.mean(losses)}, rel=1e-10
    )
    labels = LABELS["multilabel"]
    model = LGBMClassifier(**SMALL).fit(X, labels, eval_set=[(X, labels)])
    assert list(model.evals_result_["training"]) == ["binary_logloss"]


def test_early_stopping_by_the_mean():
    options = {**SMALL, "n_estimators": 150, "learning_rate": 0.3}
    sets = {"eval_set": [(X_VALID, Y_VALID)]}
    full = LGBMRegressor(**options).fit(X, Y, **sets)
    losses = full.evals_result_["valid_0"]["l2"]
    model = LGBMRegressor(**options, early_stopping_round=20).fit(X, Y, **sets)
    assert model.best_iteration_ == model.n_iter_ == np.argmin(losses) + 1 < 130
    np.testing.assert_array_equal(
        model.predict(X), full.predict(X, num_iteration=model.n_iter_)
    )
    held_out = LGBMClassifier(**options, early_stopping_round=3).fit(X, C)
    assert list(held_out.best_score_["validation"]) == ["logloss"]
