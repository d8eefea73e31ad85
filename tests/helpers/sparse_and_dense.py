"""Sparse columns and dense ones in bins."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from helpers.reading import columns
from skgoss.binning.find_bins import BinMapper
from skgoss.columns.columns import Columns

N_ROWS = 3000


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
    """The columns of a matrix, dense and sparse; the latter may store some zeros."""
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
