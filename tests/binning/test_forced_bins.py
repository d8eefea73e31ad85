"""The option forcedbins_filename in fits; test_find_bins.py tests its rules."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import skgoss
from skgoss import Dataset, LGBMClassifier, LGBMRegressor, train

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1000, 3))
X[RNG.random(X.shape) < 0.3] = 0.0
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=1000)
FORCED = {0: [0.31, 0.35, 0.41], 2: [-0.15]}
CONTENTS = [{"feature": j, "bin_upper_bound": b} for j, b in FORCED.items()]
FEW = {"max_bin": 8, "verbosity": -1}


def thresholds(model, column=0):
    table = getattr(model, "booster_", model).trees_to_dataframe()
    names = getattr(model, "booster_", model).feature_name()
    of_column = table[table["split_feature"] == names[column]]
    return set(of_column["threshold"])


def regressor(**options):
    return LGBMRegressor(n_estimators=20, **{**FEW, **options})


def test_models_are_those_of_lightgbm(tmp_path, lightgbm):
    path = tmp_path / "bins.json"
    path.write_text(json.dumps(CONTENTS))
    params = {**FEW, "forcedbins_filename": str(path), "num_threads": 1}
    theirs, ours = (
        module.train(params, module.Dataset(X, Y, params=params), 20)
        for module in (lightgbm, skgoss)
    )
    assert thresholds(ours) == thresholds(theirs)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)
    infos = [b.dump_model()["feature_infos"] for b in (theirs, ours)]
    assert infos[0] == infos[1]


def test_joined_columns_keep_their_bins():
    """With the numbers that they have among all columns."""
    forced = [{"feature": 0, "bin_upper_bound": [-0.5, 0.5]}]
    joined = Dataset(X[:, :2], Y).construct()
    other = Dataset(X[:, 2:], params={"forcedbins_filename": forced})
    joined.add_features_from(other.construct())
    same = {"forcedbins_filename": {2: [-0.5, 0.5]}, "verbosity": -1}
    assert train(same, joined, 2).num_feature() == 3
    with pytest.raises(ValueError, match="cannot change forcedbins_filename"):
        train(same | {"forcedbins_filename": forced}, joined, 2)


def test_all_ways_to_give_them(tmp_path):
    path = tmp_path / "bins.json"
    path.write_text(json.dumps(CONTENTS))
    expected = regressor(forcedbins_filename=FORCED).fit(X, Y)
    assert {0.31, 0.35, 0.41} <= thresholds(expected)
    assert not {0.31, 0.35, 0.41} & thresholds(regressor().fit(X, Y))
    for given in (path, str(path), CONTENTS):
        found = regressor(forcedbins_filename=given).fit(X, Y)
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    by_name = {"a": FORCED[0], "c": FORCED[2]}
    named = regressor(forcedbins_filename=by_name).fit(frame, Y)
    np.testing.assert_array_equal(named.predict(frame), expected.predict(X))
    # Bounds of a column may come in several items and in any order, and twice.
    several = [{"feature": 0, "bin_upper_bound": [b, 0.41]} for b in (0.35, 0.31)]
    found = regressor(forcedbins_filename=[*several, CONTENTS[1]]).fit(X, Y)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_a_dataset_keeps_them(tmp_path):
    params = {"forcedbins_filename": FORCED, "max_bin": 8}
    expected = regressor(**params).fit(X, Y).predict(X)
    data = Dataset(X, Y, params=params).construct()
    data.save_binary(tmp_path / "rows.bin")
    restored = pickle.loads(pickle.dumps(data))
    for rows in (data, restored, Dataset(tmp_path / "rows.bin")):
        np.testing.assert_array_equal(train(FEW, rows, 20).predict(X), expected)
        with pytest.raises(ValueError, match="cannot change forcedbins_filename"):
            train({**FEW, "forcedbins_filename": {1: [0.5]}}, rows, 20)
    both = Dataset(X[:, :1], Y, params={"forcedbins_filename": {0: FORCED[0]}, **FEW})
    third = {"forcedbins_filename": {1: FORCED[2]}, **FEW}
    both.add_features_from(Dataset(X[:, 1:], Y, params=third))
    np.testing.assert_array_equal(train(FEW, both, 20).predict(X), expected)


def test_a_model_keeps_what_was_given(tmp_path):
    model = regressor(forcedbins_filename=FORCED).fit(X, Y)
    again = LGBMRegressor.from_file(
        model.to_file(tmp_path / "model.txt") and tmp_path / "model.txt"
    )
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert pickle.loads(pickle.dumps(model)).forcedbins_filename == FORCED


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("/no/such/file.json", "forcedbins_filename: '/no/such/file.json' cannot be"),
        ([{"feature": 0}], "forcedbins_filename must hold a list of objects with"),
        ([0.5], "forcedbins_filename must hold a list of objects with"),
        ({0: [np.nan]}, "forcedbins_filename must hold lists of finite numbers"),
        ({0: [np.inf]}, "forcedbins_filename must hold lists of finite numbers"),
        ({0: 0.5}, "forcedbins_filename must hold lists of finite numbers"),
        ({0: ["x"]}, "bin_upper_bound of 0 in forcedbins_filename must hold numbers"),
        ({3: [0.5]}, "forcedbins_filename names the column 3, but the 3 columns"),
        ({"a": [0.5]}, "forcedbins_filename names the column 'a', but the columns of"),
        (7, "The 'forcedbins_filename' parameter of LGBMRegressor must be None, the"),
    ],
)
def test_bad_values(given, message):
    with pytest.raises(ValueError, match=message):
        regressor(forcedbins_filename=given).fit(X, Y)


def test_columns_of_categories_have_no_bounds():
    options = {"categorical_feature": [0], "forcedbins_filename": {0: [0.5]}}
    with pytest.raises(ValueError, match="for a categorical column"):
        LGBMClassifier(**options).fit(np.arange(60)[:, None] % 5, np.arange(60) % 2)


@pytest.mark.parametrize("bounds", [[3.0], [-4.0, -3.0, 0.0, 2.0, 3.0], [0.0, 9.0]])
def test_bounds_that_are_values_part_no_others(bounds):
    """Each value keeps its bin: a bound is the largest value of its own."""
    draw = np.random.default_rng(1)
    values = draw.integers(-6, 7, size=(600, 1)).astype(float)
    y = draw.permutation(13)[values[:, 0].astype(int) + 6] + 0.0
    options = {"min_child_samples": 1, "min_data_in_bin": 1, "learning_rate": 1.0}
    forced = regressor(**options | {"max_bin": 63}, forcedbins_filename={0: bounds})
    usual = regressor(**options | {"max_bin": 63})
    expected = usual.fit(values, y).predict(values)
    np.testing.assert_allclose(forced.fit(values, y).predict(values), expected)
    np.testing.assert_allclose(expected, y)
    assert thresholds(forced) >= {bound for bound in bounds if bound and bound < 6}


@pytest.mark.parametrize("bounds", [[], [0.31], [0.0, 3.0]])
def test_infinity_is_parted_from_the_greatest_number(bounds):
    values = np.r_[np.full(40, np.inf), np.full(40, 7.0), np.full(40, -np.inf)]
    y = np.repeat([1.0, 5.0, 2.0], 40)
    model = regressor(learning_rate=1.0, forcedbins_filename={0: bounds})
    np.testing.assert_allclose(
        model.fit(values[:, None], y).predict(values[:, None]), y
    )
