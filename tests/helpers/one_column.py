"""The bins of one column."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from reading import columns
from sklearn.base import BaseEstimator

from skgoss.binning.bin_mapper import BinMapper
from skgoss.binning.find_bins import find_bin_mappers

ZERO = float(np.float32(1e-35))


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


def mapper(values, *, weight=None, rows=None, **changes) -> BinMapper:
    data = columns(BaseEstimator(), np.asarray(values)[:, None], reset=True)
    return find_bin_mappers(data, settings(**changes), weight=weight, rows=rows)[0]
