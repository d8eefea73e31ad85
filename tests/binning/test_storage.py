"""Where bins lie: each row reaches exactly the places of its bins."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.binned import bins, build, expected_places, places_of_rows, table
from skgoss.binning.storage import MIN_ROWS_TO_SHARE, share_lanes

SETTINGS = [
    {"enable_bundle": bundle, "is_enable_sparse": sparse, "max_bin": max_bin}
    for bundle in (True, False)
    for sparse in (True, False)
    for max_bin in (255, 1000)
]


@pytest.mark.parametrize("n_rows", [300, 4200])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_rows_reach_the_places_of_their_bins(n_rows, settings):
    data = build(table(n_rows), **settings)
    assert places_of_rows(data) == expected_places(data)
    held = data.storage
    assert held.rows.shape[1] % 8 == 0
    np.testing.assert_array_equal(
        held.feature_at, np.repeat(np.arange(len(data.feature)), np.diff(held.offset))
    )


def test_bins_do_not_depend_on_the_storage():
    X = table(5000)
    first = bins(build(X, **SETTINGS[0]))
    for settings in SETTINGS[2::2]:
        np.testing.assert_array_equal(first, bins(build(X, **settings)))


def test_one_hot_blocks_become_one_lane_each():
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(100)[rng.integers(0, 100, 5000)] for _ in range(3)])
    held = build(X).storage
    assert held.n_codes.tolist() == [101] * 3
    assert held.entry_start is None
    alone = build(X, enable_bundle=False, is_enable_sparse=False).storage
    assert alone.n_codes.tolist() == [2] * 300
    assert alone.lane.tolist() == list(range(300))
    listed = build(X, enable_bundle=False).storage
    assert len(listed.n_codes) == 0
    assert len(listed.entries) == 3 * 5000


@pytest.mark.parametrize(("n_sparse", "has_entries"), [(8, False), (30, True)])
@pytest.mark.parametrize(("max_bin", "n_shorts"), [(255, 0), (1000, 3)])
def test_few_sparse_columns_are_lanes(n_sparse, has_entries, max_bin, n_shorts):
    rng = np.random.default_rng(0)
    stored = rng.random((5000, n_sparse)) < 0.05
    sparse = np.where(stored, rng.normal(size=stored.shape), 0.0)
    X = np.hstack([rng.normal(size=(5000, 3)), sparse])
    held = build(X, enable_bundle=False, max_bin=max_bin).storage
    assert (held.entry_start is not None) == has_entries
    assert held.shorts.shape == (5000, n_shorts)


def test_lists_are_for_large_or_sparse_data():
    rng = np.random.default_rng(0)
    X = np.eye(50)[rng.integers(0, 50, 1000)]
    assert (build(X).storage.default_bin == -1).all()


def test_singles_are_runs_of_columns_with_one_place():
    X = table(5000)
    data = build(X)
    held = data.storage
    single = (data.n_bins == 2) & (held.default_bin >= 0) & (data.missing_bin < 0)
    np.testing.assert_array_equal(held.singles > 0, single)
    for j in np.flatnonzero(single):
        run = slice(j, j + held.singles[j])
        assert single[run].all()
        assert (held.default_bin[run] == held.default_bin[j]).all()
        assert (np.diff(held.offset[j : run.stop + 1]) == 1).all()


@pytest.mark.parametrize("n_rows", [1000, 5000])
def test_columns_of_few_bins_share_lanes_as_digits(n_rows):
    held = build(table(n_rows)[:, :11]).storage
    n_lanes = held.lane.max() + 1
    assert held.rows.shape[1] == -(-n_lanes // 8) * 8
    if n_rows < MIN_ROWS_TO_SHARE:
        np.testing.assert_array_equal(held.lane, np.arange(len(held.n_codes)))
    else:
        assert n_lanes < len(held.n_codes)
        np.testing.assert_array_equal(np.unique(held.lane), np.arange(n_lanes))


def test_share_lanes_keeps_each_lane_in_a_byte():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n_codes = rng.integers(2, rng.choice([3, 20, 257]), 60).astype(np.int32)
        lane, radix = share_lanes(n_codes, 10_000)
        for members in (np.flatnonzero(lane == k) for k in np.unique(lane)):
            assert np.prod(n_codes[members]) <= 256 or len(members) == 1
            expected = np.cumprod(np.concatenate([[1], n_codes[members][:-1]]))
            np.testing.assert_array_equal(radix[members], expected)


def test_columns_that_share_no_lane_keep_their_numbers():
    n_codes = np.array([255, 14, 255, 200], dtype=np.int32)
    lane, radix = share_lanes(n_codes, 10_000)
    np.testing.assert_array_equal(lane, np.arange(4))
    np.testing.assert_array_equal(radix, 1)
