"""What fits of a search share is made once."""

from __future__ import annotations

import threading
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn.model_selection
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgoss import LGBMRegressor
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.fit.arguments import FitArguments
from skgoss.model_selection import GridSearchCV
from skgoss.model_selection.shared_fits import (
    SharedFits,
    are_rounds_alike,
    digest,
    last_steps,
)
from skgoss.parameters import make_settings
from skgoss.training.boosting import Boosting
from skgoss.utils.cancellation import Cancelled

X, y = load_diabetes(return_X_y=True)


def counted(monkeypatch, owner, name):
    """A list that gets an element at each call of a method."""
    calls, method = [], getattr(owner, name)

    def counting(*args, **kwargs):
        calls.append(args)
        return method(*args, **kwargs)

    monkeypatch.setattr(owner, name, counting)
    return calls


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bins_steps_and_rounds_are_made_once(monkeypatch, n_jobs):
    bins = counted(monkeypatch, BinnedDataset, "build")
    rounds = counted(monkeypatch, Boosting, "boost")
    scalers = counted(monkeypatch, StandardScaler, "fit")
    grid = {
        "standardscaler__with_mean": [False, True],
        "lgbmregressor__n_estimators": [2, 5, 3],
        "lgbmregressor__num_leaves": [3, 4],
        "lgbmregressor__max_bin": [15, 31],
    }
    pipeline = make_pipeline(StandardScaler(), LGBMRegressor())
    GridSearchCV(pipeline, grid, cv=3, n_jobs=n_jobs, refit=False).fit(X, y)
    assert len(scalers) == 3 * 2
    assert len(bins) == 3 * 2 * 2
    assert len(rounds) == 3 * 2 * 2 * 2 * 5


def test_leaves_of_other_sizes_have_the_same_bins(monkeypatch):
    bins = counted(monkeypatch, BinnedDataset, "build")
    grid = {"min_child_samples": [5, 30, 20]}
    GridSearchCV(LGBMRegressor(n_estimators=2), grid, cv=3, refit=False).fit(X, y)
    assert len(bins) == 3


@pytest.mark.parametrize("kind", ["number", "missing", "category"])
@pytest.mark.parametrize("n_rare", [4, 5, 6])
def test_columns_with_just_enough_rows_are_not_lost(kind, n_rare):
    """Bins of leaves of 30 rows leave a column out that leaves of 5 rows need."""
    rare = (np.arange(300) % 200 < n_rare).astype(float)
    target = 99 * rare + np.arange(300) % 7
    if kind == "missing":
        rare[rare > 0] = np.nan
    columns = np.column_stack([rare, np.arange(300.0) % 7])
    categories = [0] if kind == "category" else None
    options = {"n_estimators": 3, "num_leaves": 3, "learning_rate": 1.0}
    model = LGBMRegressor(**options, categorical_feature=categories)
    grid = {"min_child_samples": [5, 30]}
    # All rows of the column are learned from.
    splits = [(np.arange(200), np.arange(200, 300))]
    search, peer = (
        search(model, grid, cv=splits, refit=False).fit(columns, target)
        for search in (GridSearchCV, sklearn.model_selection.GridSearchCV)
    )
    found = search.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(found, peer.cv_results_["mean_test_score"])
    assert found[1] < 0.5
    assert (found[0] > 0.5) == (n_rare >= 5)


FIRST = LGBMRegressor(n_estimators=2).fit(X, y)
EVALUATED = {"eval_set": [(X[::2], y[::2])]}
OTHERS = {
    "plain": ({}, {}),
    "weights": ({}, {"sample_weight": np.arange(len(y)) % 3}),
    "evaluated": ({"metric": ["l1", "l2"]}, EVALUATED),
    "training set": ({}, {"eval_X": X, "eval_y": y}),
    "stopped": ({"early_stopping_round": 1, "learning_rate": 2.0}, EVALUATED),
    "goes on": ({}, {"init_model": FIRST}),
    "callbacks": ({}, {"callbacks": ["a function"]}),
    "folds": ({"folds": 2}, {}),
    "preset": ({"preset": "accurate"}, {}),
    "dropout": ({"boosting_type": "dart", "drop_rate": 0.9}, {}),
    "forest": ({"boosting_type": "rf", "colsample_bytree": 0.5}, {}),
    "goss": ({"data_sample_strategy": "goss", "learning_rate": 0.5}, {}),
}


MODES = [*product([(5, 3, 4), (3, 4)], ["keeps_models", "grows"])]


@pytest.mark.parametrize("case", OTHERS)
def test_fits_that_share_are_those_of_each_alone(case):
    for rounds, mode in MODES:
        check_shared(*OTHERS[case], rounds, mode)


def check_shared(options, arguments, rounds, mode):
    shared, calls = SharedFits(), []
    setattr(shared, mode, True)
    shared.max_recent = 9
    if "callbacks" in arguments:
        arguments = {"callbacks": [calls.append]}
    for n_rounds in rounds:
        calls.clear()
        alone = LGBMRegressor(n_estimators=n_rounds, num_leaves=5, **options)
        alone.fit(X, y, **arguments)
        n_calls = len(calls)
        model = clone(alone)
        shared.attach(model)
        model.fit(X, y, **arguments)
        assert len(calls) == 2 * n_calls
        text, expected = (m.booster_.model_to_string() for m in (model, alone))
        # A fit that continues has begun with the rounds of another.
        begun = expected.replace(f"[num_iterations: {n_rounds}]", "[num_iterations: 3]")
        assert text in (expected, begun if mode == "grows" else expected)
        for name in ("evals_result_", "best_score_", "best_iteration_", "n_iter_"):
            assert getattr(model, name) == getattr(alone, name)


def test_fits_that_go_on_hold_the_same_rows():
    shared = SharedFits()
    shared.grows, shared.max_recent = True, 9
    for n_leaves in (3, 4):
        model = LGBMRegressor(n_estimators=2, num_leaves=n_leaves)
        shared.attach(model)
        model.fit(X.copy(), y)
    one, other = (result.result()[0] for result in shared._growing.values())
    assert one is not other
    assert one.training.X is other.training.X


def test_fits_of_other_data_share_nothing():
    shared = SharedFits()
    shared.keeps_models, shared.max_recent = True, 99
    weight = np.arange(len(y)) % 3
    frame = pd.DataFrame(X).add_prefix("x")
    whole = np.digitize(X, [-0.03, 0.0, 0.03]) * 1.0
    for data, arguments in (
        ((X, y), {}),
        ((X, -y), {}),
        ((X[:, ::-1], y), {}),
        ((X, y), {"sample_weight": weight}),
        ((X, y), {"sample_weight": weight[::-1]}),
        ((X, y), {"init_score": y}),
        ((whole, y), {}),
        ((whole, y), {"categorical_feature": [1]}),
        ((X, y), {"feature_name": [f"y{k}" for k in range(X.shape[1])]}),
        ((frame, y), {}),
    ):
        for options in (
            {},
            {"reg_lambda": 3.0},
            {"max_bin": 9},
            {"early_stopping_round": 1, "validation_fraction": 0.2},
            {"early_stopping_round": 1, "validation_fraction": 0.4},
        ):
            alone = LGBMRegressor(n_estimators=2, min_data_per_group=5, **options)
            alone.fit(*data, **arguments)
            model = clone(alone)
            shared.attach(model)
            model.fit(*data, **arguments)
            text, expected = (m.booster_.model_to_string() for m in (model, alone))
            assert text == expected


def test_models_are_kept_only_for_fits_of_fewer_rounds(monkeypatch):
    rounds = counted(monkeypatch, Boosting, "boost")
    shared = SharedFits()
    shared.max_recent = 9
    for n_boosted in (6, 3):
        shared.keeps_models = n_boosted == 3 or shared.keeps_models
        rounds.clear()
        for _ in range(2):
            model = LGBMRegressor(n_estimators=3)
            shared.attach(model)
            model.fit(X, y)
        assert len(rounds) == n_boosted


CALLS = []


def step(number):
    CALLS.append(number)
    return number


def test_results_used_last_are_kept():
    shared = SharedFits()
    shared.max_recent = 2
    for number in (1, 2, 1, 3, 1, 2):
        assert shared.of_step(step, (), number) == number
    assert CALLS == [1, 2, 3, 2]


def add(*numbers, **more):
    CALLS.append(numbers)
    return sum(numbers) + sum(more.values())


def test_steps_differ_in_all_that_is_not_ignored():
    shared = SharedFits()
    shared.max_recent = 9
    results = [
        shared.of_step(add, ["loud"], first, other=other, loud=loud)
        for first, other, loud in [(1, 2, 4), (1, 2, 8), (1, 3, 8), (2, 2, 4)]
    ]
    assert results == [7, 7, 12, 8]


def test_an_error_is_that_of_all_who_wait():
    shared = SharedFits()
    shared.max_recent = 1
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            shared.of_step(divmod, (), 1, 0)


def cancelled_once(number):
    CALLS.append(number)
    if CALLS.count(number) == 1:
        raise Cancelled
    return number


def test_what_was_cancelled_is_made_again():
    shared = SharedFits()
    shared.max_recent = 1
    with pytest.raises(Cancelled):
        shared.of_step(cancelled_once, (), 7)
    assert [shared.of_step(cancelled_once, (), 7) for _ in range(2)] == [7, 7]
    assert CALLS.count(7) == 2


def test_digest():
    assert digest(X, "a") == digest(X.copy(), "a") != digest(X + 1, "a")
    assert digest(X) != digest(X.astype(np.float32))
    assert digest(lambda: 1) is None


def key(X=X, y=y, options=None, **arguments):
    """What fits that share their rounds have in common."""
    settings = make_settings(options or {}, "LGBMRegressor")
    return SharedFits().key(X, y, FitArguments(**arguments), settings)


OF_BINS = {"X": X + 1.0, "feature_name": list("abcdefghij")}
OF_FITS = OF_BINS | {
    "y": y + 1.0,
    "sample_weight": np.ones(len(y)),
    "init_score": y,
    "groups": y,
    "time": y,
    "options": {"num_leaves": 9},
}


@pytest.mark.parametrize("changed", OF_FITS)
def test_fits_that_differ_share_nothing_that_differs(changed):
    other = key(**{changed: OF_FITS[changed]})
    assert other != key()
    assert (other[0] != key()[0]) == (changed in OF_BINS)
    assert key(options={"categorical_feature": [0]})[0] != key()[0]
    assert key(X.copy(), y.copy(), {"n_estimators": 9, "n_jobs": 3}) == key()
    sets = [key(options={"interaction_constraints": [[0, k]]}) for k in (1, 1, 2)]
    assert sets[0] == sets[1] != sets[2]
    assert None not in sets[0]


@pytest.mark.parametrize(
    ("options", "are_alike"),
    [
        ({"num_leaves": 5}, True),
        ({"boosting_type": "goss"}, True),
        ({"boosting_type": "dart"}, False),
        ({"boosting_type": "rf"}, False),
        ({"folds": 2}, False),
        ({"preset": "accurate"}, False),
        ({"time_limit": 9.0}, False),
        ({"early_stopping_round": 3}, False),
    ],
)
def test_rounds_that_do_not_depend_on_later_ones(options, are_alike):
    assert are_rounds_alike(LGBMRegressor(**options)) is are_alike


def test_clones_share_until_the_end():
    shared = SharedFits()
    model = LGBMRegressor()
    whole = TransformedTargetRegressor(make_pipeline(StandardScaler(), model))
    assert list(last_steps(whole)) == [whole, whole.regressor, model]
    shared.attach(whole)
    copied = clone(whole).regressor
    assert copied[-1]._shared is copied.memory._shared is shared
    shared.close(whole)
    for estimator in (whole, clone(whole)):
        assert estimator.regressor.memory is None
        assert estimator.regressor[-1]._shared is None
    assert copied[-1].fit(X, y).n_estimators_ == 100  # nor does it end with the search


@pytest.mark.parametrize("options", [{"early_stopping_round": 2}, {"folds": 2}])
def test_only_functions_of_users_are_called_one_by_one(monkeypatch, options):
    meet, boost = threading.Barrier(2, timeout=20), Boosting.boost
    fits, lock = set(), threading.Lock()

    def meeting(self, begin=None):
        with lock:
            is_first = len(fits) < 2 and self not in fits
            fits.add(self)
        if is_first:
            meet.wait()
        return boost(self, begin)

    monkeypatch.setattr(Boosting, "boost", meeting)
    model = LGBMRegressor(n_estimators=5, **options)
    GridSearchCV(model, {}, cv=2, n_jobs=2, refit=False).fit(X, y)
