"""Values are put into the bins of their columns."""

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
from skgoss.binning.bin_values import bin_columns, bin_sparse_columns
from skgoss.binning.find_bins import find_bin_mappers


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
    monkeypatch.setattr(find_bins, "VALUES_PER_THREAD", 1)
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
