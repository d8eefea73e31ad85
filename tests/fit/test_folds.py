"""Folds of `cv`: who draws them, and what they keep together."""

import numpy as np
import pytest
from cv_results import cv, ranked, rows, same
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

import skgoss
from skgoss import Dataset


def seen_folds(data, **arguments):
    """The labels that each fold tests on; labels are row numbers."""
    tested = []

    def feval(predictions, dataset):
        tested.append(dataset.get_label().tolist())
        return "none", 0.0, True

    skgoss.cv({"objective": "l2", "metric": "None"}, data, 1, feval=feval, **arguments)
    return tested


@pytest.mark.parametrize(
    "splitter",
    [
        KFold(3),
        ShuffleSplit(2, random_state=0),
        TimeSeriesSplit(3),
        list(KFold(4).split(np.zeros(50))),
        [(np.arange(50) < 30, np.arange(50) >= 30)],
        [(list(range(30)), [49, 40, 45])],
    ],
)
def test_folds_of_splitters_and_pairs(splitter):
    X, y = rows(50)[0], np.arange(50.0)
    if hasattr(splitter, "split"):
        expected = [test for _, test in splitter.split(X)]
    else:
        splitter = list(splitter)
        expected = [np.arange(50)[test] for _, test in splitter]
    tested = seen_folds(
        Dataset(X, y), folds=iter(splitter) if isinstance(splitter, list) else splitter
    )
    assert tested == [sorted(test) for test in expected]


def test_queries_stay_together():
    X, _, sizes = ranked()
    number = np.repeat(np.arange(len(sizes)), sizes)
    data = Dataset(X, np.arange(float(len(X))), group=sizes)
    expected = [list(test) for _, test in GroupKFold(5).split(X, groups=number)]
    assert seen_folds(data) == expected
    assert seen_folds(data, folds=GroupKFold(5)) == expected


@pytest.mark.parametrize("objective", ["binary", "regression", None])
def test_classes_are_stratified(objective):
    X, y = rows(100)
    y = (np.arange(100) < 20).astype(float)
    shares = []

    def feval(predictions, dataset):
        shares.append(dataset.get_label().mean())
        return "none", 0.0, True

    params = {"objective": objective, "metric": "None", "min_child_samples": 1}
    cv(params, (X, y), 1, feval=feval)
    assert shares == [0.2] * 5
    shares.clear()
    cv(params, (X, y), 1, feval=feval, stratified=False)
    assert len(set(shares)) > 1


def test_folds_are_the_same_for_a_seed():
    same(cv(seed=1), cv(seed=1))
    first, other = cv(seed=1), cv(seed=2)
    assert first["valid binary_logloss-mean"] != other["valid binary_logloss-mean"]
