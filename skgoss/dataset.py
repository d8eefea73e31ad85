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

# Columns of few bins share a byte as long as the product of their bins fits in it. The
# sums of single columns have to be folded out of shared ones then, which pays for sets
# of more rows than these.
LANE_BINS = 256
MIN_ROWS_TO_SHARE = 4096

# So many part most bounds from each other, and their table fits the first cache.
BUCKETS_PER_BOUND = 8
MAX_BUCKETS = 2048

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
    lane, radix : ndarray of shape (n_used,), int32
        A used column's bins are digits, worth ``radix``, of the numbers in
        ``rows[:, lane]``. Columns of few bins share a lane.
    rows : ndarray of shape (n_rows, row_stride), uint8 or uint16
        The lanes, row-major; each row is filled up with zeros to a multiple of 8 bytes.
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
    lane: NDArray[np.int32]
    radix: NDArray[np.int32]
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
        n_rows = columns.n_rows if rows is None else len(rows)
        n_bins = np.array([m.n_bins for m in used_mappers], dtype=np.int32)
        lane, radix = share_lanes(n_bins, n_rows)
        by_rows, by_columns = _bin(
            columns, feature, used_mappers, lane, radix, rows, n_threads
        )
        return cls(
            n_rows=n_rows,
            n_features=columns.n_features,
            mappers=mappers,
            feature=feature,
            n_bins=n_bins,
            missing_bin=np.array([m.missing_bin for m in used_mappers], dtype=np.int32),
            missing_type=np.array([m.missing_type for m in used_mappers], np.uint8),
            upper_bounds=[m.upper_bounds for m in used_mappers],
            lane=lane,
            radix=radix,
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
        return _bin(
            columns, self.feature, used_mappers, self.lane, self.radix, rows, n_threads
        )


def share_lanes(
    n_bins: NDArray[np.int32], n_rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Put columns of few bins together into lanes of one byte.

    Parameters
    ----------
    n_bins : ndarray of shape (n_used,), int32
    n_rows : int

    Returns
    -------
    lane, radix : ndarray of shape (n_used,), int32
        See `Dataset`. Within a lane the radix rises with the column's number, from 1.
        Where no lane is shared, each column has the lane of its own number.
    """
    radix = np.ones(len(n_bins), dtype=np.int32)
    alone = np.arange(len(n_bins), dtype=np.int32)
    if n_rows < MIN_ROWS_TO_SHARE or n_bins.max(initial=0) > LANE_BINS:
        return alone, radix
    lane = np.empty_like(alone)
    size, current = LANE_BINS, -1
    for j in np.argsort(n_bins, kind="stable"):
        if size * n_bins[j] > LANE_BINS:
            size, current = 1, current + 1
        lane[j] = current
        size *= n_bins[j]
    if current + 1 == len(n_bins):
        return alone, radix
    for members in np.split(
        np.argsort(lane, kind="stable"), np.cumsum(np.bincount(lane))[:-1]
    ):
        radix[members[1:]] = np.cumprod(n_bins[members[:-1]])
    return lane, radix


def _bin(
    columns: Columns,
    feature: NDArray[np.int32],
    mappers: list[BinMapper],
    lane: NDArray[np.int32],
    radix: NDArray[np.int32],
    rows: NDArray[np.int64] | None,
    n_threads: int,
) -> tuple[Binned, Binned]:
    n_rows = columns.n_rows if rows is None else len(rows)
    dtype = _storage([mapper.n_bins for mapper in mappers])
    per_word = ROW_ALIGNMENT // dtype.itemsize
    row_stride = -(-(lane.max(initial=-1) + 1) // per_word) * per_word
    by_rows = np.empty((n_rows, row_stride), dtype=dtype)
    by_columns = np.empty((len(mappers), n_rows), dtype=dtype)
    if mappers:
        bounds, bounds_start, grid, first = _plan_search(mappers)
        kernels.bin_columns(
            columns.take(feature),
            rows,
            bounds,
            bounds_start,
            grid,
            first,
            np.array([mapper.nan_bin for mapper in mappers], dtype=np.int32),
            lane,
            radix,
            team(n_rows * len(mappers), n_threads),
            by_rows,
            by_columns,
        )
    return by_rows, by_columns


def _storage(n_bins: list[int]) -> np.dtype[Any]:
    return np.dtype(np.uint8 if max(n_bins, default=1) <= 256 else np.uint16)


def _plan_search(
    mappers: list[BinMapper],
) -> tuple[
    NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.uint16]
]:
    """Bounds of all columns, and the grids that find the place to search among them."""
    n_bounds = np.array([len(m.upper_bounds) - 1 for m in mappers], dtype=np.int64)
    # A search that starts at the last bound must still meet infinity.
    end = np.cumsum(2 * n_bounds + 1)
    start = end - (2 * n_bounds + 1)
    bounds = np.full(int(end[-1]), np.inf)
    for mapper, first_bound in zip(mappers, start.tolist(), strict=True):
        n_inner = len(mapper.upper_bounds) - 1
        bounds[first_bound : first_bound + n_inner] = mapper.upper_bounds[:-1]
    grid = np.empty((len(mappers), kernels.GRID_WORDS))
    n_buckets = min(MAX_BUCKETS, BUCKETS_PER_BOUND * int(n_bounds.max()))
    first = np.empty((len(mappers), n_buckets), dtype=np.uint16)
    kernels.plan_search(bounds, start, n_bounds, grid, first)
    return bounds, start, grid, first
