"""Bin mappers: the bins of a column, and the values of columns in their bins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning import bin_kernels as kernels
from skgoss._engine.binning import category_kernels
from skgoss.columns.columns import Columns, changed

# So many buckets separate most bounds, and their table fits the first cache.
BUCKETS_PER_BOUND = 8
MAX_BUCKETS = 2048

# Fewer values than this for a thread are done sooner without it.
VALUES_PER_THREAD = 1 << 16


class BinMapper(NamedTuple):
    """The bins of one column."""

    # Upper bounds of the bins of numbers: a value belongs to the first bin whose bound
    # is not below it. The last one is infinite, all others are finite. Empty for
    # categories.
    upper_bounds: NDArray[np.float64]
    n_bins: int  # the number of bins, that of missing values included
    # 0: nothing is missing and NaN counts as zero; 1: zero and NaN are missing; 2: NaN
    # is missing. For categories, 0 means that all of them have bins and none was
    # missing; otherwise it is 2.
    missing_type: int
    # The bin of missing values, -1 where nothing is missing. Always -1 for categories,
    # whose bin 0 also holds rare ones.
    missing_bin: int
    nan_bin: int
    # The range of the sampled numbers or numbers of categories; 0 if there were none.
    minimum: float
    maximum: float
    # Whether no split can separate the rows: all sampled values were in one bin, or too
    # few rows for a leaf are not zero. In the latter case there is one bin.
    is_trivial: bool
    zero_bin: int = 0  # the bin of 0.0, in a column of numbers
    zero_share: float = 0.0  # the share of rows that are zero, or count as zero
    # (n_bins,): the category of each bin. The first is -1: its bin holds missing,
    # unknown and rare ones. None for a column of numbers.
    categories: NDArray[np.int32] | None = None
    # The number of rows that are not zero, if they are too few for a leaf; else 0.
    filtered_rows: int = 0

    @property
    def codes(self) -> NDArray[np.int32]:
        """The category of each bin; empty for a column of numbers."""
        return _NO_CODES if self.categories is None else self.categories


_NO_CODES = np.empty(0, dtype=np.int32)

# A column in which no row is not zero, or too few for a leaf.
ALL_ZERO = BinMapper(
    upper_bounds=np.array([np.inf]),
    n_bins=1,
    missing_type=kernels.NO_MISSING,
    missing_bin=-1,
    nan_bin=0,
    minimum=0.0,
    maximum=0.0,
    is_trivial=True,
    zero_share=1.0,
)


def numeric_mappers(
    bounds: NDArray[np.float64],
    start: NDArray[np.int64],
    missing_type: NDArray[np.uint8],
    is_trivial: NDArray[np.bool_],
    value_range: NDArray[np.float64],
    zero_share: NDArray[np.float64],
) -> list[BinMapper]:
    """Mappers of columns of numbers.

    ``bounds`` are the upper bounds of all columns, the last one of each infinite; those
    of a column begin at its ``start``, (n + 1,). ``value_range``, (n, 2), has the
    minimum and maximum of each column. For the rest see `BinMapper`.
    """
    n_bounds = np.diff(start)
    zero_bin = np.add.reduceat(bounds < 0.0, start[:-1], dtype=np.int64)
    nan_is_missing = missing_type == kernels.NAN_IS_MISSING
    nan_bin = np.where(nan_is_missing, n_bounds, zero_bin)
    fields = (
        n_bounds + nan_is_missing,
        missing_type,
        np.where(missing_type == kernels.NO_MISSING, -1, nan_bin),
        nan_bin,
        value_range[:, 0],
        value_range[:, 1],
        is_trivial,
        zero_bin,
        zero_share,
    )
    spans = map(slice, start[:-1].tolist(), start[1:].tolist())
    lists = [field.tolist() for field in fields]
    return list(map(BinMapper, map(bounds.__getitem__, spans), *lists))


def category_mapper(
    categories: NDArray[np.int32],
    missing_type: int,
    is_trivial: bool,
    value_range: tuple[float, float],
) -> BinMapper:
    """The mapper of a column of categories."""
    return BinMapper(
        upper_bounds=np.empty(0),
        n_bins=len(categories),
        missing_type=missing_type,
        missing_bin=-1,
        nan_bin=0,
        minimum=value_range[0],
        maximum=value_range[1],
        is_trivial=is_trivial,
        categories=categories,
    )


# --- Values in their bins -------------------------------------------------------------


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


def row_positions(
    columns: Columns, rows: NDArray[np.int64] | None
) -> NDArray[np.int32] | None:
    """Where each row of the data is among ``rows``, -1 if it is not.

    None if all rows are read, or if no column is sparse, which alone needs it.
    """
    if rows is None or not columns.is_sparse:
        return None
    position = np.full(columns.n_rows, -1, dtype=np.int32)
    position[rows] = np.arange(len(rows))
    return position


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
    positions = row_positions(columns, rows)
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
            positions,
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
    """The bounds of columns of numbers, at least one, for a search in buckets."""
    fields: dict[str, Any] = dict(
        zip(BinMapper._fields, zip(*mappers, strict=True), strict=True)
    )
    upper_bounds = fields["upper_bounds"]
    n_of_each = np.array(list(map(len, upper_bounds)), dtype=np.int64)
    n_bounds = n_of_each - 1
    length = 2 * n_bounds + 1
    start = length.cumsum() - length
    # A search that starts at the last bound must still meet infinity.
    bounds = np.full(length.sum(), np.inf)
    shift = np.repeat(start - (n_of_each.cumsum() - n_of_each), n_of_each)
    bounds[shift + np.arange(len(shift))] = np.concatenate(upper_bounds)
    first_start = np.zeros(len(mappers) + 1, dtype=np.int64)
    n_buckets = np.minimum(BUCKETS_PER_BOUND * n_bounds, MAX_BUCKETS)
    np.maximum(n_buckets, 1).cumsum(out=first_start[1:])
    return kernels.BinSearch(
        bounds,
        start,
        n_bounds,
        first_start,
        np.array(fields["nan_bin"], dtype=np.int32),
        np.array(fields["zero_bin"], dtype=np.int32),
    )
