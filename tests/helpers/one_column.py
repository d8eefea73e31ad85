"""The bins of one column."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from helpers.binned import settings
from helpers.reading import columns
from skgoss.binning.find_bins import BinMapper, find_bin_mappers

ZERO = float(np.float32(1e-35))


def mapper(values, *, weight=None, rows=None, **changes) -> BinMapper:
    data = columns(BaseEstimator(), np.asarray(values)[:, None], reset=True)
    return find_bin_mappers(data, settings(**changes), weight=weight, rows=rows)[0]
