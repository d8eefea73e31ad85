"""Models of folds learn from views of the same bins, and have the bits of copies."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.binning.rows import Rows
from skgoss.binning.storage import Storage

N = 240
SMALL = {"n_estimators": 6, "num_leaves": 7, "min_child_samples": 5, "folds": KFold(4)}
RANDOM = np.random.default_rng(0)
DENSE = RANDOM.standard_normal((N, 6))
DENSE[::9, 1] = np.nan
DENSE[:, 2] = RANDOM.integers(0, 9, N)
NUMBER = np.nan_to_num(DENSE).sum(axis=1)
LABEL = np.digitize(NUMBER, [-1.0, 1.0])
WEIGHT = RANDOM.integers(0, 4, N).astype(float)
BAGS = {"subsample": 0.7, "subsample_freq": 1}

CASES = {
    "plain": {},
    "categories": {"categorical_feature": [2]},
    "bagging": BAGS,
    "goss": {"data_sample_strategy": "goss", "learning_rate": 0.5},
    "few columns": {"colsample_bytree": 0.3, "feature_fraction_bynode": 0.5},
    "many bins": {"max_bin": 1000, "min_data_in_bin": 1},
    "medians": {"objective": "l1", **BAGS},
    "linear": {"linear_tree": True, **BAGS},
    "dart": {"boosting_type": "dart", "drop_rate": 0.5},
    "forest": {"boosting_type": "rf", **BAGS},
    "monotone": {
        "monotone_constraints": [1, 0, 0, -1, 0, 0],
        "monotone_constraints_method": "advanced",
    },
    "random thresholds": {"extra_trees": True, "early_stopping_round": 2},
    "counts": {"objective": "poisson"},
}


def copied(monkeypatch, fit):
    """The model of a fit whose folds learn from copies of the bins."""
    with monkeypatch.context() as patch:
        take = Rows.take
        patch.setattr(Rows, "take", lambda rows, at, **_: take(rows, at))
        return fit()


def check_same(monkeypatch, fit):
    model, again = fit(), copied(monkeypatch, fit)
    one, other = (m.booster_._model.trees.arrays for m in (model, again))
    for name, values in one.items():
        assert np.asarray(values).tobytes() == np.asarray(other[name]).tobytes(), name
    np.testing.assert_array_equal(model.oof_prediction_, again.oof_prediction_)
    assert len(one["split_feature"]) > 15


@pytest.mark.filterwarnings("ignore:Early stopping is not available")
@pytest.mark.parametrize("case", CASES)
def test_parts_and_copies_give_identical_models(monkeypatch, case):
    options = SMALL | CASES[case]
    y = np.exp(NUMBER / 3) if case == "counts" else NUMBER
    check_same(monkeypatch, lambda: LGBMRegressor(**options).fit(DENSE, y))


@pytest.mark.parametrize("case", ["plain", "bagging", "linear"])
def test_classes(monkeypatch, case):
    options = SMALL | CASES[case]
    check_same(monkeypatch, lambda: LGBMClassifier(**options).fit(DENSE, LABEL))


@pytest.mark.parametrize("weight", [WEIGHT, WEIGHT / 2])
def test_weights(monkeypatch, weight):
    def fit():
        return LGBMClassifier(**SMALL, **BAGS).fit(DENSE, LABEL, sample_weight=weight)

    check_same(monkeypatch, fit)


def test_queries(monkeypatch):
    group = np.full(N // 8, 8)
    options = SMALL | {"folds": 3}
    check_same(
        monkeypatch, lambda: LGBMRanker(**options).fit(DENSE, LABEL, group=group)
    )


def test_several_quantiles(monkeypatch):
    options = SMALL | {"objective": "quantile", "alpha": [0.2, 0.8]}
    check_same(monkeypatch, lambda: LGBMRegressor(**options).fit(DENSE, NUMBER))


def test_only_the_rows_that_are_tested_are_copied(monkeypatch):
    sizes, take = [], Storage.take

    def counted(self, rows, n_threads):
        sizes.append(len(rows))
        return take(self, rows, n_threads)

    monkeypatch.setattr(Storage, "take", counted)
    LGBMRegressor(preset="accurate", folds=4, n_estimators=5).fit(DENSE, NUMBER)
    assert set(sizes) == {N // 4}
    sizes.clear()
    rows = np.arange(N)
    LGBMRegressor(**SMALL | {"folds": [(rows[:90], rows[90:])]}).fit(DENSE, NUMBER)
    assert set(sizes) == {90, N - 90}
