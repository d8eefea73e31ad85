"""Binned data sets for tests."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
from sklearn.base import BaseEstimator

from skgoss.data.dataset import BinnedDataset
from skgoss.data.frames import columns


def build(X, *, weight=None, rows=None, n_threads=1, **changes) -> BinnedDataset:
    data = columns(BaseEstimator(), X, reset=True)
    settings = {
        "max_bin": 255,
        "max_bin_by_feature": None,
        "min_data_in_bin": 3,
        "min_child_samples": 0,
        "subsample_for_bin": 200_000,
        "use_missing": True,
        "zero_as_missing": False,
        "data_random_seed": 1,
        "enable_bundle": True,
        "is_enable_sparse": True,
        "max_conflict_rate": 0.0,
    }
    return BinnedDataset.build(
        data,
        SimpleNamespace(**(settings | changes)),
        weight=weight,
        rows=rows,
        n_threads=n_threads,
    )


def bins(data: BinnedDataset) -> np.ndarray:
    """The bins of all rows, one used column each."""
    found = [data.bins(j) for j in range(len(data.feature))]
    return np.array(found, dtype=np.uint16).reshape(len(found), data.n_rows)


def table(n_rows: int, seed: int = 3) -> np.ndarray:
    """Columns to keep, to share lanes, to bundle and to list."""
    rng = np.random.default_rng(seed)
    n_values = [2, 300, 3, 2, 17, 2, 16, 1, 15, 5, 2]
    few = np.column_stack([rng.integers(0, n, n_rows) for n in n_values]).astype(float)
    few[rng.random(few.shape) < 0.05] = np.nan
    blocks = [
        np.eye(n)[rng.integers(0, n, n_rows)] * np.arange(1, n + 1)
        for n in (3, 40, 300)
    ]
    counts = rng.poisson(0.05, (n_rows, 20)).astype(float)
    signed = np.where(rng.random((n_rows, 5)) < 0.02, rng.normal(size=(n_rows, 5)), 0)
    wide = rng.normal(size=(n_rows, 1))
    return np.column_stack([few, *blocks, counts, signed, wide])


def places_of_rows(data: BinnedDataset) -> list[set[int]]:
    """The places that a row's lanes and entries name, row by row."""
    held = data.storage
    found: list[set[int]] = [set() for _ in range(data.n_rows)]
    codes = held.rows[:, held.lane] // held.radix % held.n_codes
    for group, column in enumerate(codes.T):
        for row, place in enumerate(held.place_of_code[group, column]):
            if place >= 0:
                found[row].add(int(place))
    if held.entry_start is not None:
        for row, (first, last) in enumerate(itertools.pairwise(held.entry_start)):
            found[row].update(held.entries[first:last].tolist())
    return found


def expected_places(data: BinnedDataset) -> list[set[int]]:
    """The places of a row's bins; none for the implied ones."""
    held, found = data.storage, [set() for _ in range(data.n_rows)]
    for j, column in enumerate(bins(data).astype(int)):
        implied = held.implied[j]
        place = held.offset[j] + column - ((implied >= 0) & (column > implied))
        for row in np.flatnonzero(column != implied):
            found[row].add(int(place[row]))
    return found


def count_conflicts(start, rows, n_rows, bundle) -> np.ndarray:
    """The conflicts of each bundle: entries less rows that have one."""
    of_entry = np.repeat(bundle, np.diff(start)).astype(np.int64)
    of_row = np.unique(of_entry * n_rows + rows) // n_rows
    n_bundles = bundle.max(initial=-1) + 1
    return np.bincount(of_entry, minlength=n_bundles) - np.bincount(
        of_row, minlength=n_bundles
    )
