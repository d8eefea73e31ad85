"""Rows that are held out: a fraction of each class, whole queries, and never all."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.binning.rows import Rows
from skgoss.columns.columns import RELEASED
from skgoss.columns.queries import Queries
from skgoss.fit import held_out

X, Y = load_breast_cancer(return_X_y=True)


def test_held_out_rows_are_stratified_whole_queries_and_existing():
    y = np.repeat([0.0, 1, 2], [100, 50, 10])
    chosen = held_out.draw(Rows(RELEASED, y), 0.2, 0, labels=y)
    assert np.bincount(y[chosen].astype(int)).tolist() == [20, 10, 2]
    chosen = held_out.draw(Rows(RELEASED, y), 0.99, 0, labels=y)
    assert set(y[~chosen]) == {0, 1, 2}
    qid = np.repeat(np.arange(40), 4)
    rows = Rows(RELEASED, y, queries=Queries.from_ids(qid))
    chosen = held_out.draw(rows, 0.25, 0)
    assert chosen.sum() == 40
    assert set(qid[chosen]).isdisjoint(qid[~chosen])
    one = Rows(RELEASED, y, queries=Queries.from_ids(np.zeros(160, np.int64)))
    with pytest.raises(ValueError, match="there is only one query"):
        held_out.draw(one, 0.1, 0)


def test_rows_of_weight_0_are_not_held_out():
    weight = np.random.default_rng(8).integers(0, 2, size=len(Y))
    options = {"n_estimators": 50, "early_stopping_round": 5}
    some = LGBMClassifier(**options).fit(X, Y, sample_weight=weight)
    kept = LGBMClassifier(**options).fit(X[weight > 0], Y[weight > 0])
    np.testing.assert_array_equal(some.predict_proba(X), kept.predict_proba(X))


def test_a_class_is_never_held_out_whole():
    model = LGBMClassifier(early_stopping_round=1)
    with pytest.raises(ValueError, match="no class has two rows"):
        model.fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="there is only one row"):
        LGBMRegressor(early_stopping_round=1).fit([[0.0]], [1.0])
    rare = np.array(["a", "b", "b", "c"])
    codes = np.unique(rare, return_inverse=True)[1].astype(float)
    for seed in range(20):
        chosen = held_out.draw(Rows(RELEASED, codes), 0.1, seed, labels=codes)
        assert chosen.sum() == 1
        assert (rare[chosen] == "b").all()
    model.fit(np.arange(4.0)[:, None], rare)
    assert model.classes_.tolist() == ["a", "b", "c"]
