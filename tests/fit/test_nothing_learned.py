"""Warnings of fits that have learned nothing, with the reasons."""

import warnings

import numpy as np
import pytest

import skgoss
from skgoss import (
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = X[:, 0]
MESSAGE = "No tree of the fit has a split, so it has learned nothing: "
FEW = "both sides of a split need min_child_samples=20 rows, and there are"


def told(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    assert all(warning.filename == __file__ for warning in found)
    return [str(warning.message) for warning in found]


NO_GAIN = {"min_split_gain": 1e9}
ROOT = "the root is not split because of"
NO_SPLIT = (
    "no split of the 200 rows reduces the loss. Options that limit splits:"
    " min_child_samples=20, min_child_weight=0.001, min_split_gain=1000000000.0,"
    " reg_alpha=1000000000.0."
)


@pytest.mark.parametrize(
    ("options", "features", "y", "reason"),
    [
        ({}, X[:39], Y[:39], f"{FEW} 39 rows. Set min_child_samples to a lower number"),
        ({}, 0.0 * X, Y, "every column is constant, or fewer than min_child_samples=2"),
        ({}, X, 0.0 * Y, "all targets are equal."),
        (NO_GAIN | {"min_child_samples": 5}, X, Y, f"{ROOT} min_split_gain=1000000000"),
        (NO_GAIN | {"reg_alpha": 1e9}, X, Y, NO_SPLIT),
        (
            {"interaction_constraints": [[1]]},
            X * [1, 0],
            Y,
            f"{ROOT} interaction_const",
        ),
    ],
)
def test_the_reason(options, features, y, reason):
    model = LGBMRegressor(n_estimators=3, **options)
    [*others, message] = told(lambda: model.fit(features, y))
    assert message.startswith(MESSAGE + reason)
    assert all("in no group" in other for other in others)


@pytest.mark.parametrize("objective", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("folds", [None, 3])
def test_the_limit_that_binds_is_named(objective, folds):
    model = LGBMRegressor(objective=objective, n_estimators=3, folds=folds)
    small = np.exp(Y) * 1e-12
    messages = told(lambda: model.fit(X, small))
    if objective == "gamma":  # its hessians do not depend on the scale
        assert messages == []
        return
    [message] = messages
    assert message.endswith("the root is not split because of min_child_weight=0.001.")
    assert told(lambda: model.set_params(min_child_weight=0.0).fit(X, small)) == []


def test_the_limit_of_an_output_is_not_that_of_a_later_one():
    targets = np.column_stack([np.exp(Y) * 1e-9, np.exp(Y)])
    model = LGBMRegressor(objective="poisson", n_estimators=3)
    [message] = told(lambda: model.fit(X, targets))
    assert "column 0 of y" in message
    assert "the root is not split because of min_child_weight=0.001" in message


def test_the_limit_of_an_output_is_named():
    targets = np.column_stack([np.exp(Y), np.exp(Y) * 1e-9])
    model = LGBMRegressor(objective="poisson", n_estimators=3)
    [message] = told(lambda: model.fit(X, targets))
    assert "column 1 of y" in message
    assert "the root is not split because of min_child_weight=0.001" in message


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: LGBMClassifier(n_estimators=3).fit(X, np.arange(len(y)) % 3),
        lambda X, y: LGBMRanker(n_estimators=3).fit(X, np.arange(len(y)) % 3),
        lambda X, y: LGBMRegressor(n_estimators=3, boosting_type="dart").fit(X, y),
        lambda X, y: LGBMRegressor(early_stopping_round=1, refit=True).fit(X, y),
        lambda X, y: LGBMRegressor(n_estimators=3, folds=3).fit(X, y),
        lambda X, y: skgoss.train({}, skgoss.Dataset(X, y), 3),
        lambda X, y: skgoss.cv({}, skgoss.Dataset(X, y), 3, stratified=False),
    ],
)
def test_one_warning_for_each_fit(fit):
    [message] = told(lambda: fit(X[:15], Y[:15]))
    assert message.startswith(MESSAGE + FEW)
    assert told(lambda: fit(X, Y)) == []


def test_twice_min_child_samples_are_enough_rows():
    rows = np.repeat([0.0, 1.0], 20)
    assert told(lambda: LGBMRegressor(n_estimators=1).fit(rows[:, None], rows)) == []


def test_later_rounds():
    model = LGBMRegressor(n_estimators=3).fit(X, Y)
    later = LGBMRegressor(n_estimators=2)
    [message] = told(lambda: later.fit(X[:15], Y[:15], init_model=model))
    assert message.startswith(MESSAGE)
    stump = LGBMRegressor(n_estimators=2).fit(X[:15], Y[:15])
    assert told(lambda: later.fit(X, Y, init_model=stump)) == []
