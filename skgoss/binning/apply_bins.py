"""Put the values of columns into their bins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning import bin_kernels as kernels
from skgoss._engine.binning import category_kernels
from skgoss.binning.bin_mapper import BinMapper
from skgoss.columns.columns import Columns, changed

# So many buckets separate most bounds, and their table fits the first cache.
BUCKETS_PER_BOUND = 8
MAX_BUCKETS = 2048

# Fewer values than this for a thread are done sooner without it.
VALUES_PER_THREAD = 1 << 16


def team(n_values: int, n_threads: int) -> int:
    """The number of threads worth starting for work on ``n_values`` values."""
    return max(1, min(n_threads, n_values // VALUES_PER_THREAD))


def n_values_of(columns: Columns, n_rows: int) -> NDArray[np.int64]:
    """The most values that are stored of each column in ``n_rows`` rows."""
    n_values = np.full(columns.n_features, n_rows, dtype=np.int64)
    if columns.index is not None and columns.length is not None:
        is_sparse = columns.index > 0
        n_values[is_sparse] = np.minimum(columns.length[is_sparse], n_rows)
    return n_values


def row_places(
    columns: Columns, rows: NDArray[np.int64] | None
) -> NDArray[np.int32] | None:
    """Where each row of the data is among ``rows``, -1 if it is not.

    None if all rows are read, or if no column is sparse, which alone needs it.
    """
    if rows is None or not columns.is_sparse:
        return None
    place = np.full(columns.n_rows, -1, dtype=np.int32)
    place[rows] = np.arange(len(rows))
    return place


def category_table(
    mappers: list[BinMapper],
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """The bins of the categories of some columns, and where those of each column begin.

    The first bin of each column, 0, is that of missing values and of categories beyond
    the last entry.
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
    """The bins of columns of categories, (columns.n_features, n_rows).

    They have 16 bits if any column has more than 256 bins.
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
    """Put some columns of numbers into their bins, (len(features), n_rows)."""
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
    """List the rows of some columns of numbers that are not in the bin of zero.

    Returns the attributes ``start``, ``rows``, ``bin_start`` and ``bins`` of
    `SparseColumns`.
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
