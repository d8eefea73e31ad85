"""Bin mappers: where the boundaries of a column lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.data import binning as kernels
from skgoss._engine.data import categories as category_kernels
from skgoss.data import distributed_sample
from skgoss.data.columns import Columns
from skgoss.data.row_partition import RowPartition, joined

# So many part most bounds from each other, and their table fits the first cache.
BUCKETS_PER_BOUND = 8
MAX_BUCKETS = 2048

# Fewer values than this for a thread are done sooner without it.
VALUES_PER_THREAD = 1 << 16

# Bins are 16-bit numbers. Categories that are left without one are the rarest.
MAX_CATEGORY_BINS = 65535

# The share of the rows whose categories get bins, in LightGBM's precision.
COMMON_SHARE = np.float32(0.99)


class BinningSettings(Protocol):
    """What binning needs to know of an estimator's parameters."""

    @property
    def max_bin(self) -> int: ...
    @property
    def max_bin_by_feature(self) -> Sequence[int | None] | None: ...
    @property
    def min_data_in_bin(self) -> int: ...
    @property
    def min_child_samples(self) -> int: ...
    @property
    def subsample_for_bin(self) -> int: ...
    @property
    def use_missing(self) -> bool: ...
    @property
    def zero_as_missing(self) -> bool: ...
    @property
    def data_random_seed(self) -> int: ...


class BinMapper(NamedTuple):
    """The bins of one column.

    Attributes
    ----------
    upper_bounds : ndarray of float64
        Upper bounds of the bins of numbers: a value belongs to the first bin whose
        bound is not below it. The last one is infinite, all others are finite. Empty
        for categories.
    n_bins : int
        The number of bins, that of missing values included.
    missing_type : int
        0: nothing is missing and NaN counts as zero; 1: zero and NaN are missing;
        2: NaN is missing. Of categories, 2 says that bin 0 held rows or may, and 0
        that all categories have bins and none was missing.
    missing_bin : int
        The bin of missing values, -1 where nothing is missing. Always -1 for
        categories: their bin 0 also holds rare ones, and is never asked for.
    nan_bin : int
        The bin of NaN.
    minimum, maximum : float
        The range of the numbers seen, be they those of categories; zero where there
        were none.
    is_trivial : bool
        Whether no split can part the rows: all values seen fell into one bin, or too
        few rows for a leaf are not zero. One bin stands for all values of these.
    zero_bin : int
        The bin of 0.0, in a column of numbers.
    zero_share : float
        The share of rows that are zero, or count as zero.
    categories : ndarray of shape (n_bins,), int32, or None
        The category of each bin. The first is -1: its bin holds the missing, the
        unknown and the rare ones. None for a column of numbers.
    filtered_rows : int
        In a column in which too few rows for a leaf are not zero, the number of these;
        0 in others.
    """

    upper_bounds: NDArray[np.float64]
    n_bins: int
    missing_type: int
    missing_bin: int
    nan_bin: int
    minimum: float
    maximum: float
    is_trivial: bool
    zero_bin: int = 0
    zero_share: float = 0.0
    categories: NDArray[np.int32] | None = None
    filtered_rows: int = 0


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


def team(n_values: int, n_threads: int) -> int:
    """The number of threads worth starting for work on ``n_values`` values."""
    return max(1, min(n_threads, n_values // VALUES_PER_THREAD))


def find_bin_mappers(
    columns: Columns,
    settings: BinningSettings,
    *,
    weight: NDArray[np.float64] | None = None,
    rows: NDArray[np.int64] | None = None,
    n_threads: int = 1,
    partition: RowPartition | None = None,
) -> list[BinMapper]:
    """Find the bins of every column, from at most ``subsample_for_bin`` rows.

    The rules are LightGBM's. Numbers: bins of equal mass, zero alone in its bin, a last
    bin for NaN where there are any; with all rows read and equal weights the boundaries
    are LightGBM's too. Categories: the commonest ones that make up 99 % of the rows
    have bins of their own, by falling mass; if they are few, up to ``max_bin``. Those
    of fewer than ``min_data_in_bin`` rows have none, but for the two commonest.

    Parameters
    ----------
    columns : Columns
        The data.
    settings : BinningSettings
    weight : ndarray of shape (columns.n_rows,), default=None
        The mass of each row: whole numbers are numbers of copies, of others the least
        one is a row's. `min_data_in_bin` counts rows whatever their weight.
    rows : ndarray of int64, default=None
        The rows that exist; None means all.
    n_threads : int, default=1
    partition : RowPartition, default=None
        Which of the rows of all processes those that exist are; None: all. Then the
        sample is drawn among all rows, and each process finds the bins of some columns
        for all.

    Returns
    -------
    list of BinMapper, one a column

    Raises
    ------
    ValueError
        If `weight` has another length than the data.
    """
    if weight is not None and len(weight) != columns.n_rows:
        raise ValueError(
            f"weight has {len(weight)} values, but there are {columns.n_rows} rows; "
            "pass one for each row of the data, also for those left out."
        )
    if partition is not None and not partition.is_alone:
        return _find_together(columns, settings, weight, rows, n_threads, partition)
    sample = _sample(columns.n_rows if rows is None else len(rows), settings)
    if rows is not None:
        sample = rows if sample is None else rows[sample]
    if weight is not None and sample is not None:
        weight = weight[sample]
    max_bin = _max_bins(settings, columns.n_features)
    mass = _mass(weight)
    if mass is None:
        drawn, there = (columns.counted(these, n_threads) for these in (sample, rows))
        if drawn is not None and there is not None:
            n_others = _count_others(there, settings, _EVERY_ROW, n_threads)
            return _find(drawn, settings, max_bin, n_others, _EVERY_ROW, n_threads)
    seen = _Sample(sample, places(columns, sample), mass)
    kept = _Sample(rows, places(columns, rows))
    mappers = []
    for span, block in columns.blocks(n_threads):
        n_others = _count_others(block, settings, kept, n_threads)
        mappers += _find(block, settings, max_bin[span], n_others, seen, n_threads)
    return mappers


class _Sample(NamedTuple):
    """Some rows.

    Attributes
    ----------
    rows : ndarray of int64, or None
        Their numbers, ascending; None: all.
    place : ndarray of int32, or None
        See `places`.
    mass : ndarray of float64, or None
        What each of them weighs; None: 1.
    """

    rows: NDArray[np.int64] | None
    place: NDArray[np.int32] | None
    mass: NDArray[np.float64] | None = None

    def size(self, columns: Columns) -> int:
        """How many rows of the columns these are."""
        return columns.n_rows if self.rows is None else len(self.rows)


_EVERY_ROW = _Sample(None, None)


def _find_together(
    columns: Columns,
    settings: BinningSettings,
    weight: NDArray[np.float64] | None,
    rows: NDArray[np.int64] | None,
    n_threads: int,
    partition: RowPartition,
) -> list[BinMapper]:
    """The bins of the rows of all processes: each finds those of some columns."""
    collectives = partition.collectives
    sample, at = _own_sample(partition, rows, settings)
    mass = None if weight is None else weight[sample]
    places_of_ranks, masses = zip(*collectives.all_gather((at, mass)), strict=True)
    n_rows = sum(map(len, places_of_ranks))
    edges = np.linspace(0, columns.n_features, collectives.n_ranks + 1).astype(int)
    spans = list(map(slice, edges[:-1].tolist(), edges[1:].tolist()))
    kept = _Sample(rows, places(columns, rows))
    n_others = np.zeros(columns.n_features, dtype=np.int64)
    sampled = distributed_sample.SampledColumns(columns, sample, spans)
    for span, block in columns.blocks(n_threads):
        if kept.size(columns):
            n_others[span] = _count_others(block, settings, kept, n_threads)
        sampled.add(block)
    collectives.all_reduce(n_others)
    got = distributed_sample.joined(
        collectives.all_to_all(sampled.blocks), places_of_ranks, n_rows
    )
    found = []
    if got.n_features:
        span = spans[collectives.rank]
        if columns.n_categories is not None:
            got = replace(got, n_categories=columns.n_categories[span])
        if mass is not None:
            mass = joined(places_of_ranks, masses, n_rows)
        max_bin = _max_bins(settings, columns.n_features)[span]
        seen = _Sample(None, None, _mass(mass))
        found = _find(got, settings, max_bin, n_others[span], seen, n_threads)
    return list(chain.from_iterable(collectives.all_gather(found)))


def _own_sample(
    partition: RowPartition, rows: NDArray[np.int64] | None, settings: BinningSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sampled rows of a process, and their places among those of all processes."""
    numbers = partition.numbers
    own = np.arange(len(numbers)) if rows is None else rows
    sample = _sample(partition.n_rows, settings)
    if sample is None:
        return own, numbers
    at = np.searchsorted(sample, numbers)
    chosen = np.flatnonzero(sample.take(at, mode="clip") == numbers)
    return own[chosen], at[chosen]


def _find(
    columns: Columns,
    settings: BinningSettings,
    max_bin: NDArray[np.int64],
    n_others: NDArray[np.int64],
    sample: _Sample,
    n_threads: int,
) -> list[BinMapper]:
    """The bins of columns in which so many rows are not zero."""
    is_category = np.zeros(columns.n_features, dtype=bool)
    if columns.n_categories is not None:
        is_category = columns.n_categories > 0
    may_split = n_others >= settings.min_child_samples
    all_equal = bool((max_bin == max_bin[0]).all())
    if may_split.all() and not is_category.any() and all_equal:
        return _find_numeric(columns, settings, max_bin[0], sample, n_threads)
    all_zero = {
        count: ALL_ZERO._replace(filtered_rows=count)
        for count in np.unique(n_others[~may_split]).tolist()
    }
    mappers = [all_zero.get(count, ALL_ZERO) for count in n_others.tolist()]
    for find, chosen in (
        (_find_numeric, may_split & ~is_category),
        (_find_categories, is_category),
    ):
        for most in np.unique(max_bin[chosen]):
            features = np.flatnonzero(chosen & (max_bin == most))
            found = find(columns.take(features), settings, most, sample, n_threads)
            for j, mapper in zip(features.tolist(), found, strict=True):
                mappers[j] = mapper
    return mappers


def _max_bins(settings: BinningSettings, n_features: int) -> NDArray[np.int64]:
    """The largest number of bins of each column."""
    given = settings.max_bin_by_feature
    if given is None:
        return np.full(n_features, settings.max_bin)
    return np.array([settings.max_bin if most is None else most for most in given])


def _count_others(
    columns: Columns,
    settings: BinningSettings,
    kept: _Sample,
    n_threads: int,
) -> NDArray[np.int64]:
    """How many rows are not zero in each column; exact if too few for a leaf."""
    count = np.empty(columns.n_features, dtype=np.int64)
    kernels.count_others(
        columns,
        kept.rows,
        kept.place,
        kept.size(columns),
        settings.min_child_samples,
        not settings.use_missing or settings.zero_as_missing,
        team(_n_values(columns, columns.n_rows).sum(), n_threads),
        count,
    )
    return count


def _n_values(columns: Columns, n_rows: int) -> NDArray[np.int64]:
    """How many values stand for each column, in ``n_rows`` rows, at most."""
    n_values = np.full(columns.n_features, n_rows, dtype=np.int64)
    if columns.index is not None:
        is_sparse = columns.index > 0
        n_values[is_sparse] = np.minimum(columns.length[is_sparse], n_rows)
    return n_values


def _find_numeric(
    columns: Columns,
    settings: BinningSettings,
    max_bin: int,
    sample: _Sample,
    n_threads: int,
) -> list[BinMapper]:
    n_rows, n_features = sample.size(columns), columns.n_features
    n_values = _n_values(columns, n_rows)
    n_threads = team(n_values.sum(), n_threads)
    n_scratch = kernels.scratch_per_value(n_features, n_threads)
    scratch = np.empty((n_threads, n_scratch * n_values.max()), dtype=np.uint64)
    # Bins hold enough rows, but for that of zero and the last ones below and above it.
    n_full = n_values // max(settings.min_data_in_bin, 1)
    bounds_start = np.zeros(n_features + 1, dtype=np.int64)
    np.cumsum(np.minimum(max_bin, n_full + 3), out=bounds_start[1:])
    bounds = np.empty(bounds_start[-1])
    n_bounds = np.empty(n_features, dtype=np.int32)
    missing_type = np.empty(n_features, dtype=np.uint8)
    n_occupied = np.empty(n_features, dtype=np.int32)
    value_range = np.empty((n_features, 2))
    zero_share = np.empty(n_features)
    kernels.find_bounds(
        columns,
        *sample,
        n_rows,
        max_bin,
        settings.min_data_in_bin,
        settings.use_missing,
        settings.zero_as_missing,
        n_threads,
        bounds_start,
        scratch,
        bounds,
        n_bounds,
        missing_type,
        n_occupied,
        value_range,
        zero_share,
    )
    start = np.concatenate([[0], np.cumsum(n_bounds)])
    place = np.repeat(bounds_start[:-1] - start[:-1], n_bounds) + np.arange(start[-1])
    return numeric_mappers(
        bounds[place], start, missing_type, n_occupied < 2, value_range, zero_share
    )


def places(
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


def numeric_mappers(
    bounds: NDArray[np.float64],
    start: NDArray[np.int64],
    missing_type: NDArray[np.uint8],
    is_trivial: NDArray[np.bool_],
    value_range: NDArray[np.float64],
    zero_share: NDArray[np.float64],
) -> list[BinMapper]:
    """Mappers of columns of numbers.

    Parameters
    ----------
    bounds : ndarray of float64
        The upper bounds of all columns; the last one of each is infinite.
    start : ndarray of shape (n + 1,), int64
        Where those of each column begin.
    missing_type, is_trivial, zero_share : ndarray of shape (n,)
        See `BinMapper`.
    value_range : ndarray of shape (n, 2), float64
        The minimum and maximum of each column.

    Returns
    -------
    list of BinMapper
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
    upper_bounds = map(
        bounds.__getitem__, map(slice, start[:-1].tolist(), start[1:].tolist())
    )
    rows = zip(upper_bounds, *(field.tolist() for field in fields), strict=True)
    return [BinMapper(*row) for row in rows]


def _find_categories(
    columns: Columns,
    settings: BinningSettings,
    max_bin: int,
    sample: _Sample,
    n_threads: int,
) -> list[BinMapper]:
    n_rows, n_categories = sample.size(columns), columns.n_categories
    first = np.zeros(columns.n_features + 1, dtype=np.int64)
    np.cumsum(n_categories + 1, out=first[1:])
    count = np.zeros(first[-1], dtype=np.int64)
    total = np.zeros(first[-1])
    category_kernels.count_categories(
        columns,
        sample.rows,
        sample.mass,
        n_rows,
        first,
        team(n_rows * columns.n_features, n_threads),
        count,
        total,
    )
    return [
        _category_mapper(count[start:stop], total[start:stop], max_bin, settings)
        for start, stop in zip(first[:-1].tolist(), first[1:].tolist(), strict=True)
    ]


def _category_mapper(
    count: NDArray[np.int64],
    mass: NDArray[np.float64],
    max_bin: int,
    settings: BinningSettings,
) -> BinMapper:
    """The bins of a column, from the rows of missing values and of each category."""
    n_missing, n_rows = int(count[0]), int(count.sum())
    count, mass = count[1:], mass[1:]
    present = np.flatnonzero(count)
    by_mass = present[np.argsort(-mass[present], kind="stable")]
    n_kept = _n_kept(count[by_mass], mass[by_mass], n_missing > 0, max_bin, settings)
    kept = by_mass[:n_kept]
    is_complete = n_kept == len(present) and n_missing == 0
    n_occupied = n_kept + (count[kept].sum() < n_rows)
    return category_mapper(
        np.append(-1, kept).astype(np.int32),
        kernels.NO_MISSING if is_complete else kernels.NAN_IS_MISSING,
        bool(n_occupied < 2),
        (float(present[0]), float(present[-1])) if len(present) else (0.0, 0.0),
    )


def category_mapper(
    categories: NDArray[np.int32],
    missing_type: int,
    is_trivial: bool,
    value_range: tuple[float, float],
) -> BinMapper:
    """The mapper of a column of categories: see `BinMapper` for the parameters."""
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


def _n_kept(
    count: NDArray[np.int64],
    mass: NDArray[np.float64],
    has_missing: bool,
    max_bin: int,
    settings: BinningSettings,
) -> int:
    """How many of the categories, by falling mass, get bins of their own."""
    n_few = min(len(count) + has_missing, max_bin) - 1
    share = np.floor(float(np.float32(mass.sum()) * COMMON_SHARE) + 0.5)
    n_common = int(np.searchsorted(np.cumsum(mass), share)) + 1
    n_kept = min(len(count), max(n_common, n_few), MAX_CATEGORY_BINS - 1)
    rare = np.flatnonzero(count[:n_kept] < settings.min_data_in_bin)
    return int(min(rare[rare > 1], default=n_kept))


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
    np.cumsum([mapper.categories.max() + 2 for mapper in mappers], out=first[1:])
    bin_of = np.zeros(first[-1], dtype=np.uint16)
    for start, mapper in zip(first.tolist(), mappers, strict=False):
        bin_of[start + 1 + mapper.categories[1:]] = np.arange(1, mapper.n_bins)
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
    rows : ndarray of int64, default=None
        The rows to read, ascending; None reads all.
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


def _sample(n_rows: int, settings: BinningSettings) -> NDArray[np.int64] | None:
    """Positions of the rows to look at, ascending; None means all."""
    size = settings.subsample_for_bin
    if n_rows <= size:
        return None
    generator = np.random.default_rng(settings.data_random_seed)
    chosen = generator.choice(n_rows, size, replace=False, shuffle=False)
    chosen.sort()
    return chosen


def _mass(mass: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """What the sampled rows weigh, in copies or in the least weight; None: all 1."""
    if mass is None:
        return None
    if (mass % 1.0).any():
        mass = mass / mass.min(where=mass > 0, initial=mass.max())
    return None if (mass == 1.0).all() else np.ascontiguousarray(mass, np.float64)


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
    columns : Columns
    mappers : list of BinMapper
        Those of the columns.
    features : ndarray of int
        The columns wanted.
    rows : ndarray of int64 or None
        The rows to keep; None keeps all.
    n_threads : int
    bins_out : ndarray of shape (len(features), n_rows), uint8 or uint16
    """
    for span, block in columns.take(features).blocks(n_threads):
        chosen = [mappers[j] for j in features[span]]
        kernels.bin_columns(
            block,
            rows,
            *_plan_search(chosen),
            np.array([mapper.nan_bin for mapper in chosen], dtype=np.int32),
            team(bins_out[span].size, n_threads),
            bins_out[span],
        )


def bin_lists(
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
    columns : Columns
    mappers : list of BinMapper
        Those of the columns.
    features : ndarray of int
        The columns wanted.
    rows : ndarray of int64, default=None
        The rows to keep, ascending; None keeps all.
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
    row_places = places(columns, rows)
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
            row_places,
            n_rows,
            *_plan_search(chosen),
            np.array([mapper.nan_bin for mapper in chosen], dtype=np.int32),
            np.array([mapper.zero_bin for mapper in chosen], dtype=np.int32),
            team(_n_values(block, n_rows).sum(), n_threads),
            start[edges],
        )
        kernels.list_columns(*arguments, None, None, None)
        length = np.where(has_bins[span], np.diff(start[edges]), 0)
        bin_start[edges][1:] = bin_start[span.start] + np.cumsum(length)
        if start[span.stop] > len(list_rows):
            list_rows = np.empty(start[-1], dtype=np.uint32)
            list_bins = np.empty(bin_start[-1], dtype=np.uint16)
        kernels.list_columns(*arguments, bin_start[edges], list_rows, list_bins)
    list_rows.resize(start[-1], refcheck=False)
    list_bins.resize(bin_start[-1], refcheck=False)
    return start, list_rows, bin_start, list_bins


def _plan_search(
    mappers: list[BinMapper],
) -> tuple[
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.uint16],
]:
    """Bounds of all columns, and the grids that find the place to search among them."""
    inner = [mapper.upper_bounds[:-1] for mapper in mappers]
    n_bounds = np.array([len(bounds) for bounds in inner], dtype=np.int64)
    # A search that starts at the last bound must still meet infinity.
    end = np.cumsum(2 * n_bounds + 1)
    start = end - (2 * n_bounds + 1)
    bounds = np.full(int(end[-1]), np.inf)
    place = np.repeat(start - np.cumsum(n_bounds) + n_bounds, n_bounds)
    bounds[place + np.arange(len(place))] = np.concatenate(inner)
    grid = np.empty((len(mappers), kernels.GRID_FIELDS))
    first_start = np.zeros(len(mappers) + 1, dtype=np.int64)
    np.cumsum(
        np.clip(BUCKETS_PER_BOUND * n_bounds, 1, MAX_BUCKETS), out=first_start[1:]
    )
    first = np.empty(first_start[-1], dtype=np.uint16)
    kernels.plan_search(bounds, start, n_bounds, first_start, grid, first)
    return bounds, start, grid, first_start, first
