"""Binned data sets for tests."""

from __future__ import annotations

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
