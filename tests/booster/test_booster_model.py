"""Predictions of a Booster, its parameters and its repr."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skgoss
from skgoss import Booster, LGBMClassifier, LGBMRegressor

lightgbm = pytest.importorskip("lightgbm")
from helpers.lightgbm_boosters import data, from_lightgbm, trained  # noqa: E402


def test_frames_are_checked_by_name_and_arrays_read_by_place():
    X, y = data()
    model = LGBMRegressor(n_estimators=2).fit(X, y)
    booster, expected = model.booster_, model.predict(X)
    other = X.rename(columns={"c": "C", "d": "D"})
    for frame in (X, X.to_numpy(dtype=object)):
        np.testing.assert_array_equal(booster.predict(frame), expected)
    np.testing.assert_array_equal(booster.predict(X, validate_features=True), expected)
    for wrong in (other, X[X.columns[::-1]]):
        with pytest.raises(ValueError, match="feature names should match"):
            booster.predict(wrong)
        with pytest.raises(ValueError, match="feature names should match"):
            booster.refit(wrong, y)
    with pytest.raises(ValueError, match="Column 2 of data has the name 'C', but 'c'"):
        booster.predict(other, validate_features=True)
    with pytest.raises(ValueError, match="Column 2 of data has the name 'C', but 'c'"):
        booster.refit(other, y, validate_features=True)


def test_names_that_only_one_side_has_are_not_checked():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 3)), columns=[*"abc"])
    options = {"num_leaves": 4, "num_threads": 1}
    named, numbered = (
        skgoss.train(options, skgoss.Dataset(X.to_numpy(), X["a"], **names), 2)
        for names in ({"feature_name": [*"abc"]}, {})
    )
    expected, turned = named.predict(X.to_numpy()), X[[*"bac"]]
    for booster, frame in ((named, X), (named, X.rename(columns={"a": "z"}))):
        np.testing.assert_array_equal(booster.predict(frame), expected)
    np.testing.assert_array_equal(numbered.predict(X), expected)
    # The names that the user gave, in another order, are a mistake.
    with pytest.raises(ValueError, match="Column 0 of data has the name 'b', but 'a'"):
        named.predict(turned)


def test_names_of_a_model_of_lightgbm_are_checked_if_asked():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 3)), columns=[*"abc"])
    theirs = lightgbm.train({"verbosity": -1}, lightgbm.Dataset(X, X["a"]), 2)
    booster = Booster(model_str=theirs.model_to_string())
    turned = X[[*"bac"]]
    expected = booster.predict(turned.to_numpy())
    np.testing.assert_array_equal(booster.predict(turned), expected)
    with pytest.raises(ValueError, match="Column 0 of data has the name 'b', but 'a'"):
        booster.predict(turned, validate_features=True)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_frames_are_checked_by_name_as_well(library):
    module = pytest.importorskip(library)
    X, y = data()
    X = X[["a", "b"]]
    booster = LGBMRegressor(n_estimators=2).fit(X, y).booster_
    values = {name: X[name].to_numpy() for name in X}
    make = module.DataFrame if library == "polars" else module.table
    for check in (False, True):
        found = booster.predict(make(values), validate_features=check)
        np.testing.assert_array_equal(found, booster.predict(X))
    other = make({"a": values["a"], "B": values["b"]})
    with pytest.raises(ValueError, match="unseen at fit time:\n- B"):
        booster.predict(other)
    with pytest.raises(ValueError, match="Column 1 of data has the name 'B', but 'b'"):
        booster.predict(other, validate_features=True)


def test_wrong_numbers_of_columns():
    X, y = data()
    booster = LGBMRegressor(n_estimators=2).fit(X, y).booster_
    for given in ({}, {"validate_features": True}):
        with pytest.raises(ValueError, match="yet now missing:\n- f"):
            booster.predict(X.drop(columns="f"), **given)
    with pytest.raises(ValueError, match="X has 5 features, but Booster is expecti"):
        booster.predict(X.drop(columns="f").to_numpy(dtype=object))


def test_params_of_a_header():
    theirs = trained()
    ours = from_lightgbm(
        theirs,
        feature_fraction=0.5,
        metric="l2,auc",
        interaction_constraints="[0,1],[2]",
    )
    assert ours.params["num_leaves"] == 7
    assert ours.params["feature_fraction"] == 0.5
    assert ours.params["metric"] == ["l2", "auc"]
    assert ours.params["interaction_constraints"] == [[0, 1], [2]]
    assert from_lightgbm(theirs, linear_tree=False).params["linear_tree"] is False
    ours.params["lambda_l2"] = 3
    assert ours.params["lambda_l2"] == 3


def test_repr_is_short():
    X, y = data()
    booster = LGBMClassifier(n_estimators=2).fit(X, y > 1).booster_
    assert repr(booster) == "<Booster: 2 trees, 6 columns, objective binary>"
