"""Sparse columns have the bins of dense ones, and lists are their rows beyond zero."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.binned import settings
from helpers.sparse_and_dense import (
    CHANGES,
    N_ROWS,
    assert_same_mappers,
    both,
    chosen_rows,
    table,
)
from skgoss.binning import find_bins
from skgoss.binning.find_bins import find_bin_mappers


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


@pytest.mark.parametrize("rows", ["all", "half", "few"])
@pytest.mark.parametrize(
    "changes",
    [{}, {"use_missing": False}, {"zero_as_missing": True}, {"subsample_for_bin": 700}],
    ids=str,
)
def test_too_few_rows_for_a_leaf_are_not_bins(changes, rows):
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
                assert mapper == find_bins.ALL_ZERO._replace(filtered_rows=other[j])
            else:
                assert_same_mappers([mapper], [free[j]])


def test_many_zeros_before_the_others():
    """The count does not stop at the first block."""
    X = np.zeros((N_ROWS, 3))
    X[-20:, 0], X[-19:, 1], X[::100, 2] = 1.0, 1.0, np.arange(1.0, 31.0)
    for data in both(X):
        found = find_bin_mappers(data, settings(min_child_samples=20))
        assert [mapper.is_trivial for mapper in found] == [False, True, False]
