"""Predictions and scores of rows by the models that have not seen them."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import KFold, ShuffleSplit

from helpers.folds import FOLDS, SMALL, classes, fit, numbers
from skgoss import LGBMRegressor
from skgoss.model.out_of_fold import CalibrationRows


def test_scores_are_means_over_folds_with_their_error():
    model = fit("binary", metric=["binary_logloss", "auc"])
    _, y = classes()
    pairs = list(KFold(FOLDS).split(y))
    for name, score in {"binary_logloss": log_loss, "auc": roc_auc_score}.items():
        values = [score(y[t], model.oof_prediction_[t, 1]) for _, t in pairs]
        assert model.oof_score_[name] == pytest.approx(np.mean(values))
        error = np.std(values, ddof=1) / np.sqrt(FOLDS)
        assert model.oof_score_error_[name] == pytest.approx(error)
    assert [*model.evals_result_] == [f"fold_{i}" for i in range(FOLDS)]
    for name, scores in model.best_score_.items():
        assert scores["auc"] in model.evals_result_[name]["auc"]


def test_rows_of_weight_zero_are_predicted_and_not_learned():
    X, y = numbers()
    weight = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    other = np.where(weight == 0, 1e6, y)
    model, same = (
        LGBMRegressor(**SMALL, folds=KFold(FOLDS)).fit(X, v, sample_weight=weight)
        for v in (y, other)
    )
    np.testing.assert_array_equal(model.oof_prediction_, same.oof_prediction_)
    assert np.isfinite(model.oof_prediction_).all()


def test_rows_that_are_tested_never_or_twice():
    X, y = numbers()
    splitter = ShuffleSplit(3, test_size=0.3, random_state=0)
    model = LGBMRegressor(**SMALL, folds=splitter).fit(X, y)
    pairs = list(splitter.split(X))
    counts = np.bincount(np.concatenate([t for _, t in pairs]), minlength=len(y))
    assert (np.isnan(model.oof_prediction_) == (counts == 0)).all()
    alone = [LGBMRegressor(**SMALL, folds=[pair]).fit(X, y) for pair in pairs]
    total = np.nansum([one.oof_prediction_ for one in alone], axis=0)
    tested = counts > 0
    np.testing.assert_allclose(
        model.oof_prediction_[tested], total[tested] / counts[tested], rtol=1e-12
    )
    assert np.isnan(alone[0].oof_score_error_["l2"])


TESTED = {
    "once": [[0, 2], [1, 3, 4]],
    "some never": [[4], [0]],
    "one fold": [[1, 2]],
    "twice": [[0, 1], [2, 3, 4], [0, 3], [1, 2, 4]],
    "twice or never": [[0, 1], [0, 1, 3], [3]],
    "all by all": [[0, 1, 2, 3, 4]] * 2,
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", TESTED)
def test_rows_know_the_folds_that_test_them(kind, weighted):
    tested = [np.array(rows) for rows in TESTED[kind]]
    target, weight = np.arange(5.0), np.arange(5.0) + 1 if weighted else None
    rounds = np.arange(len(tested), dtype=np.int32)
    rows = CalibrationRows.from_folds(target, weight, tested, rounds)
    assert rows.tests.any(axis=1).all()
    for row in range(5):
        folds = [fold for fold, test in enumerate(tested) if row in test]
        found = rows.test_of_row[row]
        assert (found == -1) == (not folds)
        if folds:
            assert np.flatnonzero(rows.tests[found]).tolist() == folds
    # What users change afterwards changes nothing.
    target[:] = -1
    np.testing.assert_array_equal(rows.target, np.arange(5.0))
    if weighted:
        weight[:] = -1
        np.testing.assert_array_equal(rows.weight, np.arange(5.0) + 1)
    alone = rows.for_one_model(7)
    assert alone.tests.tolist() == [[True]]
    np.testing.assert_array_equal(alone.test_of_row, np.minimum(rows.test_of_row, 0))
    np.testing.assert_array_equal(alone.fold_of_round, np.zeros(7))
    again = CalibrationRows.from_state(rows.state(), 5)
    np.testing.assert_array_equal(again.test_of_row, rows.test_of_row)


def test_attributes_need_folds():
    model = LGBMRegressor(**SMALL).fit(*numbers())
    for name in ("oof_prediction_", "oof_score_", "oof_score_error_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=r"without the option folds"):
            getattr(model, name)
