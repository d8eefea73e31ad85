"""Columns of all kinds in bins."""

from __future__ import annotations

import numpy as np

from helpers.binned import bins
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
