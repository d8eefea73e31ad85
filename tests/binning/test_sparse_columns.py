"""Sparse columns have the bins of dense ones, and lists are their rows beyond zero."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from reading import columns
from scipy import sparse
from sklearn.base import BaseEstimator

from skgoss.binning import apply_bins, bin_mapper
from skgoss.binning.apply_bins import bin_columns, bin_sparse_columns
from skgoss.binning.bin_mapper import BinMapper
from skgoss.binning.find_bins import find_bin_mappers
from skgoss.columns.columns import Columns

N_ROWS = 3000


def settings(**changes) -> SimpleNamespace:
    defaults = {
        "max_bin": 255,
        "max_bin_by_feature": None,
        "forcedbins_filename": None,
        "min_data_in_bin": 3,
        "min_child_samples": 0,
        "subsample_for_bin": 200_000,
        "use_missing": True,
        "zero_as_missing": False,
        "data_random_seed": 1,
    }
    return SimpleNamespace(**(defaults | changes))


def table(n_rows: int = N_ROWS, seed: int = 0) -> np.ndarray:
    """Columns of all signs and densities, with NaN, infinities and tiny values."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal(n_rows)
    kinds = [
        normal,
        abs(normal),
        -abs(normal),
        rng.integers(-9, 9, n_rows),
        normal * 1e-34,
        np.where(rng.random(n_rows) < 0.3, np.nan, normal),
        np.where(rng.random(n_rows) < 0.3, np.inf, -abs(normal)),
        np.full(n_rows, 7.0),
        np.full(n_rows, np.nan),
    ]
    densities = [0.0, 1 / n_rows, 0.001, 0.05, 0.3, 0.49, 0.51, 1.0]
    return np.column_stack(
        [
            np.where(rng.random(n_rows) < d, kind, 0.0)
            for kind in kinds
            for d in densities
        ]
    )


def both(X: np.ndarray, explicit: bool = False) -> tuple[Columns, Columns]:
    """The columns of a matrix and of its sparse twin, which may store some zeros."""
    matrix = sparse.csr_array(X)
    if explicit:
        stored = (X != 0) | (np.random.default_rng(9).random(X.shape) < 0.2)
        rows, columns_ = np.nonzero(stored)
        matrix = sparse.csr_array((X[stored], (rows, columns_)), shape=X.shape)
        assert matrix.nnz == stored.sum() > np.count_nonzero(X)
    return tuple(columns(BaseEstimator(), x, reset=True) for x in (X, matrix))


def assert_same_mappers(some: list[BinMapper], others: list[BinMapper]) -> None:
    for one, other in zip(some, others, strict=True):
        for field in BinMapper._fields:
            a, b = getattr(one, field), getattr(other, field)
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), field


CHANGES = [
    {},
    {"max_bin": 15},
    {"max_bin": 2},
    {"max_bin": 2000, "min_data_in_bin": 1},
    {"use_missing": False},
    {"zero_as_missing": True},
    {"zero_as_missing": True, "use_missing": False},
    {"subsample_for_bin": 700},
]


def chosen_rows(kind: str) -> np.ndarray | None:
    rng = np.random.default_rng(5)
    return {
        "all": None,
        "half": np.flatnonzero(rng.random(N_ROWS) < 0.5),
        "few": np.array([3, 4, 1700]),
        "last": np.array([N_ROWS - 1]),
    }[kind]


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("rows", ["all", "half", "few", "last"])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_bins_are_those_of_dense_columns(changes, rows, explicit):
    dense, stored = both(table(), explicit)
    rows = chosen_rows(rows)
    assert_same_mappers(
        find_bin_mappers(dense, settings(**changes), rows=rows),
        find_bin_mappers(stored, settings(**changes), rows=rows),
    )


@pytest.mark.parametrize("subsample", [700, N_ROWS])
@pytest.mark.parametrize("rows", ["all", "half"])
@pytest.mark.parametrize("kind", ["any", "with zeros", "wild", "equal"])
def test_weights_move_both_alike(kind, rows, subsample):
    rng = np.random.default_rng(6)
    weight = {
        "any": rng.exponential(size=N_ROWS),
        "with zeros": rng.integers(0, 3, N_ROWS).astype(float),
        "wild": 10.0 ** rng.uniform(-6, 6, N_ROWS),
        "equal": np.full(N_ROWS, 0.1),
    }[kind]
    rows = chosen_rows(rows)
    changes = settings(max_bin=20, subsample_for_bin=subsample)
    some, others = (
        find_bin_mappers(data, changes, weight=weight, rows=rows)
        for data in both(table())
    )
    assert_same_mappers(some, others)
    if kind != "equal":
        plain = find_bin_mappers(both(table())[1], changes, rows=rows)
        assert any(
            a.upper_bounds.tobytes() != b.upper_bounds.tobytes()
            for a, b in zip(others, plain, strict=True)
        )


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("rows", ["all", "half", "few"])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_lists_are_the_rows_beyond_the_bin_of_zero(changes, rows, explicit):
    dense, stored = both(table(), explicit)
    rows = chosen_rows(rows)
    mappers = find_bin_mappers(dense, settings(**changes), rows=rows)
    features = np.random.default_rng(7).permutation(dense.n_features)[:50]
    n_rows = N_ROWS if rows is None else len(rows)
    bins = np.empty((len(features), n_rows), dtype=np.uint16)
    bin_columns(dense, mappers, features, rows, 1, bins)
    for data in (dense, stored):
        start, list_rows, bin_start, list_bins = bin_sparse_columns(
            data, mappers, features, rows=rows
        )
        assert (list_rows.dtype, list_bins.dtype) == (np.uint32, np.uint16)
        assert (len(list_rows), len(list_bins)) == (start[-1], bin_start[-1])
        for at, j in enumerate(features):
            expected = np.flatnonzero(bins[at] != mappers[j].zero_bin)
            listed = slice(start[at], start[at + 1])
            np.testing.assert_array_equal(list_rows[listed], expected)
            stored = list_bins[bin_start[at] : bin_start[at + 1]]
            if mappers[j].n_bins == 2:
                assert len(stored) == 0
                stored = np.zeros(len(expected), np.uint16)
            beyond = stored >= mappers[j].zero_bin
            np.testing.assert_array_equal(stored + beyond, bins[at][expected])


@pytest.mark.parametrize("rows", ["all", "half"])
def test_bins_of_sparse_columns_as_columns(rows):
    """The dense storage of sparse columns, too."""
    dense, stored = both(table())
    rows = chosen_rows(rows)
    mappers = find_bin_mappers(dense, settings(), rows=rows)
    features = np.arange(dense.n_features)
    shape = (dense.n_features, N_ROWS if rows is None else len(rows))
    some, others = np.empty(shape, np.uint8), np.empty(shape, np.uint8)
    bin_columns(dense, mappers, features, rows, 1, some)
    bin_columns(stored, mappers, features, rows, 1, others)
    np.testing.assert_array_equal(some, others)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(apply_bins, "VALUES_PER_THREAD", 1)
    weight = np.random.default_rng(8).exponential(size=N_ROWS)
    data, features = both(table())[1], np.arange(72)
    one, two = (
        find_bin_mappers(
            data, settings(subsample_for_bin=900), weight=weight, n_threads=n
        )
        for n in (1, 2)
    )
    assert_same_mappers(one, two)
    for a, b in zip(
        bin_sparse_columns(data, one, features, n_threads=1),
        bin_sparse_columns(data, one, features, n_threads=2),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_zero_share_counts_what_is_not_stored():
    X = np.zeros((10, 5))
    X[:3, 0] = [1.0, 2.0, np.nan]
    X[:2, 1] = 1e-40
    X[:, 2] = np.nan
    X[:, 3] = 5.0
    data = both(X)[1]
    shares = [m.zero_share for m in find_bin_mappers(data, settings())]
    assert shares == [0.7, 1.0, 0.0, 0.0, 1.0]
    shares = [m.zero_share for m in find_bin_mappers(data, settings(use_missing=False))]
    assert shares == [0.8, 1.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize("n_rows", [1, 2, 255, 256, 257])
def test_blocks_of_values_end_anywhere(n_rows):
    X = table(n_rows, seed=n_rows)
    dense, stored = both(X)
    some, others = (
        find_bin_mappers(d, settings(min_data_in_bin=1)) for d in (dense, stored)
    )
    assert_same_mappers(some, others)
    for a, b in zip(
        bin_sparse_columns(dense, some, np.arange(72)),
        bin_sparse_columns(stored, some, np.arange(72)),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rows", ["all", "half", "few"])
@pytest.mark.parametrize(
    "changes",
    [{}, {"use_missing": False}, {"zero_as_missing": True}, {"subsample_for_bin": 700}],
    ids=str,
)
def test_too_few_rows_for_a_leaf_are_no_bins(changes, rows):
    """Counted in all rows that exist, whatever the sample."""
    rng = np.random.default_rng(10)
    rows = chosen_rows(rows)
    X = np.zeros((N_ROWS, 80))
    for j in range(80):
        at = rng.choice(N_ROWS, j, replace=False)
        X[at, j] = rng.choice([1.0, -2.0, 3.0, np.nan, 1e-40, np.inf], j)
    kept = X if rows is None else X[rows]
    nan_counts = changes.get("use_missing", True) and "zero_as_missing" not in changes
    other = np.where(np.isnan(kept), nan_counts, np.abs(kept) > 1e-35).sum(axis=0)
    for data in (*both(X), both(X, explicit=True)[1]):
        found = find_bin_mappers(
            data, settings(min_child_samples=20, **changes), rows=rows
        )
        free = find_bin_mappers(data, settings(**changes), rows=rows)
        for j, mapper in enumerate(found):
            if other[j] < 20:
                assert mapper == bin_mapper.ALL_ZERO._replace(filtered_rows=other[j])
            else:
                assert_same_mappers([mapper], [free[j]])


def test_many_zeros_before_the_others():
    """The count does not stop at the first block."""
    X = np.zeros((N_ROWS, 3))
    X[-20:, 0], X[-19:, 1], X[::100, 2] = 1.0, 1.0, np.arange(1.0, 31.0)
    for data in both(X):
        found = find_bin_mappers(data, settings(min_child_samples=20))
        assert [mapper.is_trivial for mapper in found] == [False, True, False]
