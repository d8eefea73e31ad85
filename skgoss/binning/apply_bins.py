"""Put the values of columns into bins that were found before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning import bin_kernels as kernels
from skgoss._engine.binning import category_kernels
from skgoss.binning.bin_mapper import BinMapper
from skgoss.columns.columns import Columns, changed

# So many part most bounds from each other, and their table fits the first cache.
BUCKETS_PER_BOUND = 8
MAX_BUCKETS = 2048

# Fewer values than this for a thread are done sooner without it.
VALUES_PER_THREAD = 1 << 16


def team(n_values: int, n_threads: int) -> int:
    """The number of threads worth starting for work on ``n_values`` values."""
    return max(1, min(n_threads, n_values // VALUES_PER_THREAD))


def n_values_of(columns: Columns, n_rows: int) -> NDArray[np.int64]:
    """How many values stand for each column, in ``n_rows`` rows, at most."""
    n_values = np.full(columns.n_features, n_rows, dtype=np.int64)
    if columns.index is not None and columns.length is not None:
        is_sparse = columns.index > 0
        n_values[is_sparse] = np.minimum(columns.length[is_sparse], n_rows)
    return n_values


def row_places(
    columns: Columns, rows: NDArray[np.int64] | None
) -> NDArray[np.int32] | None:
    """Where each row of the data is among ``rows``, -1 if it is not.

    None where no column is sparse, so that nobody asks, or where all rows are read.
    """
    if rows is None or not columns.is_sparse:
        return None
    place = np.full(columns.n_rows, -1, dtype=np.int32)
    place[rows] = np.arange(len(rows))
    return place


def category_table(
    mappers: list[BinMapper],
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """The bins of the categories of some columns, as one table.

    Parameters
    ----------
    mappers : list of BinMapper
        Of columns of categories.

    Returns
    -------
    bin_of : ndarray of uint16
        For each column the bin of missing values, which is 0, and then that of each
        category; categories beyond the last entry are in bin 0 too.
    first : ndarray of shape (len(mappers) + 1,), int64
        Where the entries of a column begin.
    """
    first = np.zeros(len(mappers) + 1, dtype=np.int64)
    np.cumsum([mapper.codes.max() + 2 for mapper in mappers], out=first[1:])
    bin_of = np.zeros(first[-1], dtype=np.uint16)
    for start, mapper in zip(first.tolist(), mappers, strict=False):
        bin_of[start + 1 + mapper.codes[1:]] = np.arange(1, mapper.n_bins)
    return bin_of, first


def bin_categories(
    columns: Columns,
    mappers: list[BinMapper],
    *,
    rows: NDArray[np.int64] | None = None,
    n_threads: int = 1,
) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Put the categories of columns into their bins.

    Parameters
    ----------
    columns : Columns
        Columns of categories only.
    mappers : list of BinMapper, one a column
    n_threads : int, default=1

    Returns
    -------
    ndarray of shape (columns.n_features, n_rows), uint8 or uint16
        16 bits if any column has more than 256 bins.
    """
    n_rows = columns.n_rows if rows is None else len(rows)
    is_wide = max(mapper.n_bins for mapper in mappers) > 256
    bins = np.empty((len(mappers), n_rows), dtype=np.uint16 if is_wide else np.uint8)
    category_kernels.bin_categories(
        columns, rows, *category_table(mappers), team(bins.size, n_threads), bins
    )
    return bins


def bin_columns(
    columns: Columns,
    mappers: list[BinMapper],
    features: NDArray[Any],
    rows: NDArray[np.int64] | None,
    n_threads: int,
    bins_out: NDArray[np.uint8] | NDArray[np.uint16],
) -> None:
    """Put the values of columns of numbers into their bins.

    Parameters
    ----------
    mappers : list of BinMapper
        Those of the columns.
    features : ndarray of int
        The columns wanted.
    bins_out : ndarray of shape (len(features), n_rows), uint8 or uint16
    """
    if len(features) < columns.n_features:
        columns = columns.take(features)
    for span, block in columns.blocks(n_threads):
        chosen = [mappers[j] for j in features[span]]
        kernels.bin_columns(
            block,
            rows,
            _bin_search(chosen),
            team(bins_out[span].size, n_threads),
            bins_out[span],
        )


def bin_sparse_columns(
    columns: Columns,
    mappers: list[BinMapper],
    features: NDArray[Any],
    *,
    rows: NDArray[np.int64] | None = None,
    n_threads: int = 1,
) -> tuple[
    NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint16]
]:
    """List the rows of columns of numbers that are not in the bin of zero.

    Parameters
    ----------
    mappers : list of BinMapper
        Those of the columns.
    features : ndarray of int
        The columns wanted.
    n_threads : int, default=1

    Returns
    -------
    start : ndarray of shape (len(features) + 1,), int64
        Where the list of each column begins in ``list_rows``.
    list_rows : ndarray of uint32
        Numbers of kept rows, ascending within a list.
    bin_start : ndarray of shape (len(features) + 1,), int64
        Where the bins of each list begin in ``list_bins``. Lists of columns of two bins
        have none there.
    list_bins : ndarray of uint16
        The rows' bins, numbered without the one of zero.
    """
    n_rows = columns.n_rows if rows is None else len(rows)
    places = row_places(columns, rows)
    start = np.zeros(len(features) + 1, dtype=np.int64)
    bin_start = np.zeros(len(features) + 1, dtype=np.int64)
    has_bins = np.array([mappers[j].n_bins > 2 for j in features])
    taken = columns.take(features)
    # Memory that is not written is not used.
    list_rows = np.empty(taken.n_stored(n_threads), dtype=np.uint32)
    binned = taken.take(np.flatnonzero(has_bins))
    list_bins = np.empty(binned.n_stored(n_threads), dtype=np.uint16)
    for span, block in taken.blocks(n_threads):
        chosen = [mappers[j] for j in features[span]]
        edges = slice(span.start, span.stop + 1)
        arguments = (
            block,
            rows,
            places,
            n_rows,
            _bin_search(chosen),
            team(n_values_of(block, n_rows).sum(), n_threads),
            start[edges],
        )
        kernels.list_columns(*arguments, None, None, None)
        length = np.where(has_bins[span], np.diff(start[edges]), 0)
        bin_start[edges][1:] = bin_start[span.start] + np.cumsum(length)
        if start[span.stop] > len(list_rows):
            list_rows = np.empty(start[-1], dtype=np.uint32)
            list_bins = np.empty(bin_start[-1], dtype=np.uint16)
        if not kernels.list_columns(*arguments, bin_start[edges], list_rows, list_bins):
            raise changed()
    list_rows.resize(start[-1], refcheck=False)
    list_bins.resize(bin_start[-1], refcheck=False)
    return start, list_rows, bin_start, list_bins


def _bin_search(mappers: list[BinMapper]) -> kernels.BinSearch:
    counts = [len(mapper.upper_bounds) - 1 for mapper in mappers]
    n_bounds = np.array(counts, dtype=np.int64)
    # A search that starts at the last bound must still meet infinity.
    infinite = np.full(max(counts) + 1, np.inf)
    parts = [
        part
        for mapper, count in zip(mappers, counts, strict=True)
        for part in (mapper.upper_bounds[:-1], infinite[: count + 1])
    ]
    length = 2 * n_bounds + 1
    first_start = np.zeros(len(mappers) + 1, dtype=np.int64)
    n_buckets = np.minimum(BUCKETS_PER_BOUND * n_bounds, MAX_BUCKETS)
    np.maximum(n_buckets, 1).cumsum(out=first_start[1:])
    return kernels.BinSearch(
        np.concatenate(parts),
        length.cumsum() - length,
        n_bounds,
        first_start,
        np.array([mapper.nan_bin for mapper in mappers], dtype=np.int32),
        np.array([mapper.zero_bin for mapper in mappers], dtype=np.int32),
    )
