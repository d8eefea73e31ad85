"""The binned training set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine import binning as kernels
from skgoss.binning import BinMapper, BinningSettings, find_bin_mappers, team
from skgoss.frames import Columns

# A row is read as whole 64-bit words.
ROW_ALIGNMENT = 8

Binned = NDArray[np.uint8] | NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """The binned training set, once by rows and once by columns.

    Columns whose values all fall into one bin are left out: no split can part them.

    Attributes
    ----------
    n_rows : int
    n_features : int
        The number of columns of the input.
    mappers : list of BinMapper
        The bins of each column of the input.
    feature : ndarray of shape (n_used,), int32
        The input column of each used one.
    n_bins : ndarray of shape (n_used,), int32
    missing_bin : ndarray of shape (n_used,), int32
        The bin of missing values, -1 where nothing is missing.
    missing_type : ndarray of shape (n_used,), uint8
        0: nothing is missing, 1: zero and NaN are, 2: NaN is.
    upper_bounds : list of ndarray of float64
        ``upper_bounds[j][b]`` is the threshold of a split after bin b of used column j.
    rows : ndarray of shape (n_rows, row_stride), uint8 or uint16
        The bins, row-major; each row is filled up with zeros to a multiple of 8 bytes.
    columns : ndarray of shape (n_used, n_rows), uint8 or uint16
        The bins, column-major.
    """

    n_rows: int
    n_features: int
    mappers: list[BinMapper]
    feature: NDArray[np.int32]
    n_bins: NDArray[np.int32]
    missing_bin: NDArray[np.int32]
    missing_type: NDArray[np.uint8]
    upper_bounds: list[NDArray[np.float64]]
    rows: Binned
    columns: Binned

    @classmethod
    def build(
        cls,
        columns: Columns,
        settings: BinningSettings,
        *,
        weight: NDArray[np.float64] | None = None,
        rows: NDArray[np.int64] | None = None,
        n_threads: int = 1,
    ) -> Dataset:
        """Find the bins of the columns and put the values into them.

        Parameters
        ----------
        columns : Columns
            The data, from `skgoss.frames.columns`.
        settings : object
            Has `max_bin`, `min_data_in_bin`, `subsample_for_bin`, `use_missing`,
            `zero_as_missing` and `data_random_seed`.
        weight : ndarray of shape (columns.n_rows,), default=None
            The mass of each row where bins of equal mass are sought.
        rows : ndarray of int64, default=None
            The rows to keep; others do not exist. None keeps all.
        n_threads : int, default=1
            The result is the same for any number.

        Returns
        -------
        Dataset
        """
        mappers = find_bin_mappers(
            columns, settings, weight=weight, rows=rows, n_threads=n_threads
        )
        used = [j for j, mapper in enumerate(mappers) if not mapper.is_trivial]
        feature = np.array(used, dtype=np.int32)
        used_mappers = [mappers[j] for j in used]
        by_rows, by_columns = _bin(columns, feature, used_mappers, rows, n_threads)
        return cls(
            n_rows=len(by_rows),
            n_features=columns.n_features,
            mappers=mappers,
            feature=feature,
            n_bins=np.array([m.n_bins for m in used_mappers], dtype=np.int32),
            missing_bin=np.array([m.missing_bin for m in used_mappers], dtype=np.int32),
            missing_type=np.array([m.missing_type for m in used_mappers], np.uint8),
            upper_bounds=[m.upper_bounds for m in used_mappers],
            rows=by_rows,
            columns=by_columns,
        )

    def bin_matrix(
        self,
        columns: Columns,
        *,
        rows: NDArray[np.int64] | None = None,
        n_threads: int = 1,
    ) -> tuple[Binned, Binned]:
        """Put other data into the same bins.

        Parameters
        ----------
        columns : Columns
            Data with the columns of the training set.
        rows : ndarray of int64, default=None
            The rows to keep; None keeps all.
        n_threads : int, default=1

        Returns
        -------
        rows : ndarray of shape (n_rows, row_stride)
        columns : ndarray of shape (n_used, n_rows)
            As the attributes of the same names.

        Raises
        ------
        ValueError
            If the number of columns differs from that of the training set.
        """
        if columns.n_features != self.n_features:
            raise ValueError(
                f"columns has {columns.n_features} features, but the training set has "
                f"{self.n_features}; pass the same features in the same order."
            )
        used_mappers = [self.mappers[j] for j in self.feature]
        return _bin(columns, self.feature, used_mappers, rows, n_threads)


def _bin(
    columns: Columns,
    feature: NDArray[np.int32],
    mappers: list[BinMapper],
    rows: NDArray[np.int64] | None,
    n_threads: int,
) -> tuple[Binned, Binned]:
    n_rows = columns.n_rows if rows is None else len(rows)
    dtype = _storage([mapper.n_bins for mapper in mappers])
    per_word = ROW_ALIGNMENT // dtype.itemsize
    row_stride = -(-len(mappers) // per_word) * per_word
    by_rows = np.empty((n_rows, row_stride), dtype=dtype)
    by_columns = np.empty((len(mappers), n_rows), dtype=dtype)
    if mappers:
        bounds, bounds_start, n_steps = _search_table(mappers)
        kernels.bin_columns(
            columns.address[feature],
            columns.stride[feature],
            columns.kind[feature],
            rows,
            bounds,
            bounds_start,
            n_steps,
            np.array([mapper.nan_bin for mapper in mappers], dtype=np.int32),
            team(n_rows * len(mappers), n_threads),
            by_rows,
            by_columns,
        )
    return by_rows, by_columns


def _storage(n_bins: list[int]) -> np.dtype[Any]:
    return np.dtype(np.uint8 if max(n_bins, default=1) <= 256 else np.uint16)


def _search_table(
    mappers: list[BinMapper],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int32]]:
    """Bounds of all columns, each filled up to the length of a binary search."""
    n_inner = [len(mapper.upper_bounds) - 1 for mapper in mappers]
    n_steps = np.array([n.bit_length() for n in n_inner], dtype=np.int32)
    length = (1 << n_steps.astype(np.int64)) - 1
    end = np.cumsum(length)
    start = end - length
    bounds = np.full(max(1, int(end[-1])), np.inf)
    for mapper, first, n in zip(mappers, start.tolist(), n_inner, strict=True):
        bounds[first : first + n] = mapper.upper_bounds[:-1]
    return bounds, start, n_steps
