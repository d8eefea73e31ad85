"""What the bins of a data set depend on."""

import warnings

import numpy as np
import pytest

import skgoss
from helpers.data_sets import SMALL, N, codes, made, text
from skgoss import Dataset, LGBMRegressor, train


@pytest.mark.parametrize(
    ("word", "value"),
    [("max_bins", 15), ("min_data_in_bin", 40), ("bin_construct_sample_cnt", 50)],
)
def test_options_of_binning(word, value, builds):
    X, y = made()
    expected = text(LGBMRegressor(**{word: value}, **SMALL).fit(X, y))
    data = Dataset(X, y, params={word: value})
    assert text(train(SMALL, data)) == expected
    assert text(LGBMRegressor(**SMALL).fit(data)) == expected
    assert len(builds) == 2
    data = Dataset(X, y, free_raw_data=False)
    assert text(train(SMALL, data)) != expected
    assert text(train({word: value, **SMALL}, data)) == expected
    assert text(train({word: value, **SMALL}, data)) == expected
    assert len(builds) == 4
    data = Dataset(X, y)
    train(SMALL, data)
    with pytest.raises(ValueError, match=rf"change .* to {value}: .* free_raw_data"):
        train({word: value, **SMALL}, data)


def test_options_of_trees_do_not_bin_again(builds):
    data = Dataset(*made())
    for options in (
        {"enable_bundle": False},
        {"is_enable_sparse": False},
        {"seed": 3, "data_random_seed": 5},
        {"num_leaves": 3},
        {"min_data_in_leaf": 1},
        {"min_data_in_leaf": 60},
        {"boosting": "dart"},
        {"data_sample_strategy": "goss"},
        {"objective": "l1"},
    ):
        train(SMALL | options, data, 2)
    assert len(builds) == 1


def test_columns_left_out_for_min_child_samples(builds):
    X, y = made()
    X[10:, 3] = 0
    y[:10] += 5
    few = SMALL | {"min_child_samples": 5}
    expected = text(LGBMRegressor(**few).fit(X, y))
    data = Dataset(X, y, free_raw_data=False)
    train(SMALL, data)
    assert text(train(few, data)) == expected
    assert len(builds) == 3
    data = Dataset(X, y)
    train(SMALL, data)
    train(SMALL | {"min_child_samples": 11}, data)
    with pytest.raises(ValueError, match="change min_child_samples from 20 to 5:"):
        train(few, data)
    data = Dataset(X, y, params={"min_data_in_leaf": 5})
    train(SMALL, data)
    assert text(train(few, data)) == expected


def test_linear_trees_need_values():
    X, y = made()
    linear = SMALL | {"linear_tree": True}
    expected = text(LGBMRegressor(**linear).fit(X, y))
    data = Dataset(X, y)
    train(SMALL, data)
    with pytest.raises(ValueError, match=r"be used with linear_tree: .* freed"):
        train(linear, data)
    data = Dataset(X, y, params={"linear_tree": True}).construct()
    assert text(train(SMALL, data)) == expected
    assert text(train(linear, data)) == expected
    data = Dataset(X, y)
    for _ in range(2):
        assert text(train(linear, data)) == expected
        assert text(train(SMALL, data)) != expected


def test_earlier_models_need_values(builds):
    X, y = made()
    first = train(SMALL, Dataset(X, y))
    both = text(LGBMRegressor(**SMALL).fit(X, y, init_model=first))
    data = Dataset(X, y, free_raw_data=False)
    train(SMALL, data)
    n_builds = len(builds)
    assert text(train(SMALL, data, init_model=first)) == both
    assert len(builds) == n_builds
    with pytest.raises(ValueError, match=r"with init_model: .* freed"):
        train(SMALL, Dataset(X, y).construct(), init_model=first)


def test_categorical_columns(builds):
    X, y = made()
    X[:, 3] = np.arange(N) % 4
    model = LGBMRegressor(**SMALL, categorical_feature=[3])
    expected = text(model.fit(X, y))
    named = text(model.fit(X, y, feature_name=list("abcd")))
    numbers = text(LGBMRegressor(**SMALL).fit(X, y))
    assert expected != numbers
    builds.clear()
    names = list("abcd")
    data = Dataset(X, y, feature_name=names, categorical_feature=["d"])
    assert text(train(SMALL, data)) == named
    train(SMALL | {"categorical_feature": [3]}, data)
    data.set_categorical_feature(["d"])
    train(SMALL, data)
    assert len(builds) == 1
    with pytest.raises(ValueError, match=r"from \['d'\] to \['a'\]: its data were"):
        data.set_categorical_feature(["a"])
    with pytest.raises(ValueError, match=r"from \['d'\] to \[0\]: its data were"):
        train(SMALL | {"categorical_feature": [0]}, data)
    data = Dataset(X, y, free_raw_data=False)
    assert text(train(SMALL, data)) == numbers
    assert text(train(SMALL, data.set_categorical_feature([3]))) == expected
    data.set_categorical_feature("auto")
    assert text(train(SMALL | {"categorical_feature": [3]}, data)) == expected


@pytest.mark.parametrize("moment", [1, 2])
def test_other_bins_in_the_middle_of_a_fit(monkeypatch, moment):
    """What another thread may do: a fit keeps the bins and categories it has got."""
    X = np.random.default_rng(0).integers(3, 11, size=(N, 2)) * 1000.0
    y = np.isin(X[:, 0], [4000, 6000, 9000]) + X[:, 1] / 1e5
    data = None

    def fitted():
        nonlocal data
        history, data = {}, Dataset(X, label=y, free_raw_data=False)
        model = train(
            SMALL | {"categorical_feature": [0]},
            data,
            valid_sets=data.create_valid(X[:50], label=y[:50]),
            evals_result=history,
        )
        return text(model), history, model.predict(X).tolist()

    expected, prepare, n_calls = fitted(), Dataset._prepare, 0

    def prepared(self, *args, **kwargs):
        nonlocal n_calls
        result = prepare(self, *args, **kwargs)
        n_calls += 1
        if n_calls == moment:
            train(SMALL | {"max_bin": 4, "categorical_feature": []}, data)
        return result

    monkeypatch.setattr(Dataset, "_prepare", prepared)
    assert fitted() == expected
    assert n_calls > moment


def test_the_seed_of_a_data_set_draws_the_rows_of_its_bins():
    X, y = np.random.default_rng(3).normal(size=(1500, 2)), np.arange(1500) % 7
    few = {"subsample_for_bin": 50, "verbose": -1, "num_leaves": 5}

    def fitted(params, given, *, first=False):
        data = Dataset(X, label=y, params=given)
        return train(params, data.construct() if first else data, 3).predict(X)

    expected = fitted(few | {"seed": 31}, {})
    assert (expected != fitted(few, {})).any()
    for given in ({"seed": 31}, {"random_state": 31}):
        for first in (False, True):
            params = few | given
            np.testing.assert_array_equal(fitted(params, params, first=first), expected)
            bins = fitted({"verbose": -1, "num_leaves": 5}, params, first=first)
            np.testing.assert_array_equal(bins, expected)


NAMES_OF_CATEGORIES = (
    "categorical_feature",
    "cat_feature",
    "categorical_column",
    "cat_column",
    "categorical_features",
)


@pytest.mark.parametrize("constructed", [False, True])
@pytest.mark.parametrize("name", NAMES_OF_CATEGORIES)
def test_categories_in_params(name, constructed):
    X, y = codes()
    expected = skgoss.train({}, Dataset(X, y, categorical_feature=[0]), 2)
    data = Dataset(X, y, params={name: [0]})
    if constructed:
        data.construct()
    for params in ({}, {"cat_feature": [0]}):
        assert skgoss.train(params, data, 2).dump_model() == expected.dump_model()


@pytest.mark.parametrize("name", NAMES_OF_CATEGORIES)
def test_categories_of_argument_and_params(name):
    X, y = codes()
    X[:, 1] = np.arange(1000) % 3
    with pytest.warns(UserWarning, match=r"categorical_feature=\[1\].*\[0\].*argument"):
        data = Dataset(X, y, categorical_feature=[1], params={name: [0]})
    assert data.categorical_feature == [1]
    with pytest.warns(UserWarning, match=r"categorical_feature=\[1\].*\[0\].*the fit"):
        skgoss.train({name: [0]}, data, 1)
    assert data.categorical_feature == [0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Dataset(X, y, categorical_feature=[1], params={name: [1]}).construct()
        Dataset(X, y, params={name: "auto"}).construct()
