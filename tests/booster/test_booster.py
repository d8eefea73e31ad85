"""Booster: its signatures, histograms of split values, predictions and models."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import skgoss
from skgoss import Booster, LGBMClassifier, LGBMRegressor

lightgbm = pytest.importorskip("lightgbm")
import lightgbm_boosters  # noqa: E402
from lightgbm_boosters import data, from_lightgbm, trained  # noqa: E402

many = lightgbm_boosters.many

METHODS = (
    *("dump_model", "trees_to_dataframe", "feature_importance", "get_leaf_output"),
    *("set_leaf_output", "shuffle_models", "lower_bound", "upper_bound"),
    *("get_split_value_histogram", "refit", "num_feature", "feature_name", "num_trees"),
    *("current_iteration", "num_model_per_iteration"),
)


# --- LightGBM's models as ours --------------------------------------------------------


# --- Signatures -----------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_signatures_are_those_of_lightgbm(name):
    theirs, ours = (
        {
            argument: (parameter.default, parameter.kind)
            for argument, parameter in inspect.signature(
                getattr(cls, name)
            ).parameters.items()
        }
        for cls in (lightgbm.Booster, Booster)
    )
    assert list(ours.items()) == list(theirs.items())


def test_arguments_of_predict_are_those_of_lightgbm_and_in_their_order():
    theirs, ours = (
        inspect.signature(cls.predict).parameters for cls in (lightgbm.Booster, Booster)
    )
    own = {"pred_interactions", "to_parquet"}
    assert [*theirs] == [name for name in ours if name not in own]
    assert all(theirs[name].default == ours[name].default for name in theirs)


# --- Histograms of split values -------------------------------------------------------


@pytest.mark.parametrize("feature", ["a", "b", 0, 3, "e"])
@pytest.mark.parametrize("bins", [None, 3, 100, "auto"])
@pytest.mark.parametrize("xgboost_style", [False, True])
def test_histograms_are_those_of_lightgbm(many, feature, bins, xgboost_style):
    theirs, ours = (
        booster.get_split_value_histogram(feature, bins, xgboost_style)
        for booster in many
    )
    assert type(ours) is type(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
    if xgboost_style:
        pd.testing.assert_frame_equal(ours, theirs)


@pytest.mark.parametrize(
    ("feature", "match"),
    [
        ("f", "holds categories"),
        (5, "holds categories"),
        ("g", "feature='g' is not the name of a column"),
        (6, "feature must be a number of the 6 columns, got 6"),
    ],
)
def test_histograms_need_a_column_of_numbers(many, feature, match):
    with pytest.raises(ValueError, match=match):
        many[1].get_split_value_histogram(feature)


def test_histogram_without_pandas(many, monkeypatch):
    _, ours = many
    table = ours.get_split_value_histogram("a", xgboost_style=True)
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    array = ours.get_split_value_histogram("a", xgboost_style=True)
    assert isinstance(array, np.ndarray)
    np.testing.assert_array_equal(array, table)
    with pytest.raises(ImportError, match="pip install pandas"):
        ours.trees_to_dataframe()


# --- predict, params, repr ------------------------------------------------------------


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


# --- env.model ------------------------------------------------------------------------


def test_callbacks_have_a_model_of_the_trees_so_far():
    X, y = data()
    seen = []

    def look(env):
        model = env.model
        seen.append(
            SimpleNamespace(
                importance=model.feature_importance(),
                names=model.feature_name(),
                predicted=model.predict(X),
                dumped=model.dump_model(),
                n_trees=model.num_trees(),
            )
        )

    model = LGBMRegressor(n_estimators=4, num_leaves=5).fit(X, y, callbacks=[look])
    for i, found in enumerate(seen, start=1):
        assert found.n_trees == len(found.dumped["tree_info"]) == i
        assert found.names == list(X.columns)
        np.testing.assert_array_equal(
            found.predicted, model.predict(X, num_iteration=i)
        )
        expected = model.booster_.feature_importance(iteration=i)
        np.testing.assert_array_equal(found.importance, expected)


def test_callbacks_before_the_first_round_have_a_model_without_trees():
    X, y = data()
    seen = []

    def look(env):
        seen.append(env.model.predict(X).max())
        with pytest.raises(AttributeError, match="no attribute 'unknown'"):
            _ = env.model.unknown
        with pytest.raises(AttributeError, match="no attribute '_unknown'"):
            _ = env.model._unknown

    look.before_iteration = True
    LGBMRegressor(n_estimators=2).fit(X, y, callbacks=[look])
    assert seen[0] == 0.0 < seen[1]


def test_callbacks_have_a_model_when_all_rows_are_fitted_again():
    X, y = data()
    seen = []

    def look(env):
        seen.append(env.model.feature_importance().sum())

    look.before_iteration = True
    options = {"n_estimators": 9, "early_stopping_round": 2, "learning_rate": 0.9}
    model = LGBMRegressor(refit=True, **options).fit(X, y, callbacks=[look])
    assert len(seen) > model.n_estimators_
    assert seen[-model.n_estimators_] == 0 < seen[-1]


def test_callbacks_cannot_shuffle_the_trees():
    X, y = data()

    def change(env):
        env.model.shuffle_models()

    with pytest.raises(ValueError, match="in training cannot be changed"):
        LGBMRegressor(n_estimators=3).fit(X, y, callbacks=[change])


def test_booster_is_public():
    assert skgoss.Booster is Booster


@pytest.mark.parametrize("n", [0, 2])
def test_a_booster_is_made_of_one_thing(n):
    given = {"train_set": skgoss.Dataset([[1.0]], [1.0]), "model_str": "tree"}
    with pytest.raises(TypeError, match=f"Booster needs one of .* got {n}"):
        Booster(**dict(list(given.items())[:n]))
