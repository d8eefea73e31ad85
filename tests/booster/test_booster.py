"""Booster: its signatures, histograms of split values, predictions and models."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import numpy as np
import pytest

import skgoss
from skgoss import Booster, LGBMRegressor

lightgbm = pytest.importorskip("lightgbm")
from helpers.lightgbm_boosters import data  # noqa: E402

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
