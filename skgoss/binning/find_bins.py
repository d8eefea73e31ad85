"""The bins of numbers and categories by LightGBM's rules, and how many there may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning import bin_bounds, category_kernels, listed_rows
from skgoss._engine.binning.drawn_rows import drawn_rows
from skgoss.binning import distributed_sample, forced_bins
from skgoss.columns.columns import Columns, row_positions
from skgoss.columns.stacked import StackedColumns, pieces
from skgoss.distributed.row_partition import RowPartition, joined
from skgoss.utils.messages import STANDS_FOR_LIGHTGBM

# Bins are 16-bit numbers. If there are more categories, the rarest have no bin.
MAX_CATEGORY_BINS = 65535

# The fraction of the rows whose categories get bins, in LightGBM's precision.
COMMON_FRACTION = np.float32(0.99)

# The smallest number of values of a thread.
VALUES_PER_THREAD = 1 << 16


class BinMapper(NamedTuple):
    """The bins of one column."""

    # Upper bounds of the bins of numbers: a value belongs to the first bin whose bound
    # is not below it. The last one is infinite, all others are finite. Empty for
    # categories.
    upper_bounds: NDArray[np.float64]
    n_bins: int  # the number of bins, that of missing values included
    # 0: nothing is missing and NaN counts as zero; 1: zero and NaN are missing; 2: NaN
    # is missing; 3: NaN is missing, but no row has it, and it has no bin. For
    # categories, 0 means that all of them have bins and no row is missing; otherwise it
    # is 2. See _engine/binning/bin_bounds.pyx for where missing values go in a node
    # without any.
    missing_type: int
    # The bin of missing values, -1 where there is none. Always -1 for categories, whose
    # bin 0 also holds rare ones.
    missing_bin: int
    # The bin of NaN: ``missing_bin``, or that of zero where NaN counts as zero; 0 for
    # categories.
    nan_bin: int
    # The range of the sampled numbers or numbers of categories; 0 if there were none.
    minimum: float
    maximum: float
    # Whether no split can separate the rows: all sampled values were in one bin, or too
    # few rows for a leaf are not zero. In the latter case there is one bin.
    is_trivial: bool
    zero_bin: int = 0  # the bin of 0.0, in a column of numbers
    zero_share: float = 0.0  # the proportion of rows that are or count as zero
    # (n_bins,): the category of each bin. The first is -1: its bin holds missing
    # values, and unknown and rare categories. None for a column of numbers.
    categories: NDArray[np.int32] | None = None
    # The number of rows that are not zero, if they are too few for a leaf; else 0.
    filtered_rows: int = 0

    @property
    def codes(self) -> NDArray[np.int32]:
        """The category of each bin; empty for a column of numbers."""
        return _NO_CODES if self.categories is None else self.categories

    @property
    def is_unseen(self) -> bool:
        """Whether NaN is missing, but has no bin."""
        return self.missing_type == bin_bounds.NAN_IS_UNSEEN

    def with_nan(self) -> BinMapper:
        """The same bins, with one for NaN if it is missing and has none."""
        if not self.is_unseen:
            return self
        n_bounds = len(self.upper_bounds)
        return self._replace(
            n_bins=n_bounds + 1,
            missing_type=bin_bounds.NAN_IS_MISSING,
            missing_bin=n_bounds,
            nan_bin=n_bounds,
        )


_NO_CODES = np.empty(0, dtype=np.int32)

# The values of ``missing_type`` without a bin of missing values.
_WITHOUT_BIN = (bin_bounds.NO_MISSING, bin_bounds.NAN_IS_UNSEEN)


# A column in which fewer rows than a leaf needs are not zero.
ALL_ZERO = BinMapper(
    upper_bounds=np.array([np.inf]),
    n_bins=1,
    missing_type=bin_bounds.NO_MISSING,
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
    """Mappers of n columns of numbers.

    ``bounds`` are the upper bounds of all columns, the last one of each infinite; those
    of a column begin at its ``start``, (n + 1,). ``value_range``, (n, 2), has the
    minimum and maximum of each column. The others are (n,): see `BinMapper`.
    """
    n_bounds = np.diff(start)
    zero_bin = np.add.reduceat(bounds < 0.0, start[:-1], dtype=np.int64)
    nan_is_missing = missing_type == bin_bounds.NAN_IS_MISSING
    nan_bin = np.where(nan_is_missing, n_bounds, zero_bin)
    fields = (
        n_bounds + nan_is_missing,
        missing_type,
        np.where(np.isin(missing_type, _WITHOUT_BIN), -1, nan_bin),
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
    """The mapper of a column of categories: see the attributes of `BinMapper`.

    ``categories`` has the number of the category of each bin, the first one -1.
    ``value_range`` is the lowest and the highest number that occurs.
    """
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


@dataclass(frozen=True)
class BinningOptions:
    """The options that binned rows depend on, by their names."""

    max_bin: int
    max_bin_by_feature: Sequence[int | None] | None
    forcedbins_filename: forced_bins.ForcedBounds | None
    min_data_in_bin: int
    min_child_samples: int
    subsample_for_bin: int
    use_missing: bool
    zero_as_missing: bool
    data_random_seed: int
    enable_bundle: bool
    is_enable_sparse: bool
    max_conflict_rate: float

    @classmethod
    def from_settings(cls, settings: Any) -> BinningOptions:
        """The options among all settings of a fit, which are attributes."""
        return cls(*_OPTIONS(settings))


_OPTIONS = attrgetter(*(option.name for option in fields(BinningOptions)))


def find_bin_mappers(
    columns: Columns | StackedColumns,
    settings: BinningOptions,
    *,
    weight: NDArray[np.float64] | None = None,
    rows: NDArray[np.int64] | None = None,
    n_threads: int = 1,
    partition: RowPartition | None = None,
) -> list[BinMapper]:
    """Find the bins of every column, from at most ``subsample_for_bin`` rows.

    The rules are LightGBM's. Numbers have bins of equal weight, with zero alone in its
    bin, and a last bin for NaN if there is any. If all rows are read and weights are
    equal, the boundaries are LightGBM's, too. Of categories, the most frequent ones,
    which make up 99% of the rows, have bins of their own, the most frequent first. If
    these are fewer than ``max_bin``, up to ``max_bin`` categories have bins. Categories
    of fewer than ``min_data_in_bin`` rows have none, except for the two most frequent.

    Weights that are whole numbers are frequency weights; others are divided by the
    smallest. `min_data_in_bin` counts rows, whatever their weights. With a
    ``partition`` of several processes, the sample is drawn from the rows of all, and
    each process finds the bins of some columns. None: there is one process.

    ``weight`` has a value for each row of the columns, even for those that are not
    among ``rows``, the numbers of the rows to use (None: all).
    """
    if weight is not None and len(weight) != columns.n_rows:
        raise ValueError(
            f"weight has {len(weight)} values, but there are {columns.n_rows} rows; "
            "pass one for each row of the data, including those left out."
        )
    if isinstance(columns, StackedColumns) or not (
        partition is None or partition.is_alone
    ):
        partition = partition or RowPartition(columns.n_rows)
        return _find_distributed(columns, settings, weight, rows, n_threads, partition)
    sample = sampled_rows(columns.n_rows, settings, rows)
    sampled = used_rows = _RowSubset.from_rows(columns, rows)
    if sample is not rows or weight is not None:
        if weight is not None:
            weight = _scaled(weight if sample is None else weight[sample])
        sampled = _RowSubset.from_rows(columns, sample, weight)
    search = _Search.from_settings(settings, columns.n_features, sampled, n_threads)
    mappers = []
    for span, own in columns.by_span(n_threads):
        n_nonzero = _count_nonzero(own, settings, used_rows, n_threads)
        # NaN needs a bin even if only rows outside the sample have it.
        is_sampled = sample is not rows
        has_nan = find_nan(own, rows, n_threads) if is_sampled else None
        own_search = search.take(span)._replace(has_nan=has_nan)
        mappers += own_search.mappers(own, n_nonzero)
    return mappers


def sampled_rows(
    n_rows: int, settings: BinningOptions, rows: NDArray[np.int64] | None = None
) -> NDArray[np.int64] | None:
    """The rows in which bins are found, ascending; None: all ``n_rows`` rows.

    They are drawn from ``rows`` (None: from all rows), unless these are few enough.
    """
    n_rows, size = n_rows if rows is None else len(rows), settings.subsample_for_bin
    if n_rows <= size:
        return rows
    sample = drawn_rows(np.random.PCG64(settings.data_random_seed), n_rows, size)
    return sample if rows is None else rows[sample]


def find_in_sample(
    sampled: Columns,
    settings: BinningOptions,
    n_nonzero: NDArray[np.int64],
    has_nan: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    n_threads: int,
) -> list[BinMapper]:
    """The bins of columns that consist of the sampled rows, with their weights.

    ``n_nonzero``, (n_features,), is `count_nonzero` of all rows, and ``has_nan``,
    (n_features,), whether a row outside the sample is NaN. ``weight`` is that of each
    sampled row; None: 1.
    """
    sample = _RowSubset(None, None, None if weight is None else _scaled(weight))
    search = _Search.from_settings(settings, sampled.n_features, sample, n_threads)
    return search._replace(has_nan=has_nan).mappers(sampled, n_nonzero)


def find_nan(
    columns: Columns | StackedColumns,
    rows: NDArray[np.int64] | None,
    n_threads: int,
) -> NDArray[np.bool_]:
    """Whether each column has NaN in some of the rows, (n_features,).

    ``rows`` are the numbers of the rows, ascending; None: all rows.
    """
    has_nan = np.zeros(columns.n_features, dtype=bool)
    for piece, used in pieces(columns, rows):
        if not piece.may_have_nan:
            continue
        n_rows = piece.n_rows if used is None else len(used)
        for span, own in piece.by_span(n_threads):
            n_team = team(n_rows * own.n_features, n_threads)
            found_by_thread = np.zeros((n_team, own.n_features), dtype=np.uint8)
            bin_bounds.find_nan(
                own, used, row_positions(own, used), n_rows, n_team, found_by_thread
            )
            has_nan[span] |= found_by_thread.any(axis=0)
    return has_nan


def count_nonzero(
    columns: Columns,
    settings: BinningOptions,
    rows: NDArray[np.int64] | None,
    n_threads: int,
) -> NDArray[np.int64]:
    """The number of nonzero rows of each column, (n_features,).

    Counting stops at the option `min_child_samples`, from which on a column is kept:
    the number is exact if it is below, else at least that. This also holds for the
    sum of the counts of several batches. NaN counts as zero where the options say so.
    """
    used_rows = _RowSubset.from_rows(columns, rows)
    count = np.zeros(columns.n_features, dtype=np.int64)
    if used_rows.size(columns):
        for span, own in columns.by_span(n_threads):
            count[span] = _count_nonzero(own, settings, used_rows, n_threads)
    return count


class _RowSubset(NamedTuple):
    """Some rows of columns, and their weights for bins."""

    rows: NDArray[np.int64] | None  # their numbers, ascending; None: all
    # (columns.n_rows,): the position of each row among these; -1: it is not there.
    # None: no column is sparse, or these are all rows.
    position: NDArray[np.int32] | None
    weight: NDArray[np.float64] | None = None  # None: ones

    @classmethod
    def from_rows(
        cls,
        columns: Columns,
        rows: NDArray[np.int64] | None,
        weight: NDArray[np.float64] | None = None,
    ) -> _RowSubset:
        """Some rows of ``columns``, by ascending numbers; None: all rows."""
        return cls(rows, None if rows is None else row_positions(columns, rows), weight)

    def size(self, columns: Columns) -> int:
        """The number of rows."""
        return columns.n_rows if self.rows is None else len(self.rows)


class _Search(NamedTuple):
    """The search for the bins of some columns in sampled rows."""

    settings: BinningOptions
    # (n_features,): the largest number of bins of each column.
    max_bin: NDArray[np.int64]
    # (n_features,): a tuple of the bounds that the user has set; None: there are none.
    forced: NDArray[Any] | None
    sample: _RowSubset
    n_threads: int
    # (n_features,): whether a column has NaN outside the sample; None: none has.
    has_nan: NDArray[np.bool_] | None = None

    @classmethod
    def from_settings(
        cls,
        settings: BinningOptions,
        n_features: int,
        sample: _RowSubset,
        n_threads: int,
    ) -> _Search:
        """The search with the options of ``settings`` and the rows of ``sample``.

        `max_bin_by_feature` and the forced bounds become arrays with an entry for each
        of the ``n_features`` columns.
        """
        max_bin = np.full(n_features, settings.max_bin, dtype=np.int64)
        for j, own in enumerate(settings.max_bin_by_feature or ()):
            max_bin[j] = settings.max_bin if own is None else own
        forced = settings.forcedbins_filename
        bounds = None if forced is None else forced_bins.as_array(forced, n_features)
        return cls(settings, max_bin, bounds, sample, n_threads)

    def take(self, features: slice | NDArray[np.int64]) -> _Search:
        """The search in some of the columns."""
        forced = None if self.forced is None else self.forced[features]
        has_nan = None if self.has_nan is None else self.has_nan[features]
        return self._replace(
            max_bin=self.max_bin[features], forced=forced, has_nan=has_nan
        )

    def mappers(
        self, columns: Columns, n_nonzero: NDArray[np.int64]
    ) -> list[BinMapper]:
        """The bins of each column.

        ``n_nonzero``, (n_features,), is `count_nonzero` of all rows. Columns with fewer
        such rows than a leaf needs get one bin. The kernels search columns with the
        same ``max_bin`` together, numbers and categories apart.
        """
        is_category = np.zeros(columns.n_features, dtype=bool)
        if columns.n_categories is not None:
            is_category = columns.n_categories > 0
        may_split = n_nonzero >= self.settings.min_child_samples
        all_equal = bool((self.max_bin == self.max_bin[0]).all())
        if may_split.all() and not is_category.any() and all_equal:
            return self._numeric_mappers(columns)
        all_zero = {
            count: ALL_ZERO._replace(filtered_rows=count)
            for count in np.unique(n_nonzero[~may_split]).tolist()
        }
        mappers = [all_zero.get(count, ALL_ZERO) for count in n_nonzero.tolist()]
        for is_chosen, find in (
            (may_split & ~is_category, _Search._numeric_mappers),
            (is_category, _Search._category_mappers),
        ):
            for max_bin in np.unique(self.max_bin[is_chosen]):
                features = np.flatnonzero(is_chosen & (self.max_bin == max_bin))
                own = find(self.take(features), columns.take(features))
                for j, mapper in zip(features.tolist(), own, strict=True):
                    mappers[j] = mapper
        return mappers

    def _numeric_mappers(self, columns: Columns) -> list[BinMapper]:
        """The bins of columns of numbers with the same ``max_bin``.

        The kernel writes the bounds of each column into an array with room for the
        largest possible number, from which they are then copied one after the other.
        """
        max_bin = int(self.max_bin[0])
        n_rows, n_features = self.sample.size(columns), columns.n_features
        n_values = n_values_of(columns, n_rows)
        n_threads = team(int(n_values.sum()), self.n_threads)
        room = int(n_values.max())
        is_weighted = self.sample.weight is not None
        n_scratch = bin_bounds.scratch_size(n_features, n_threads, room, is_weighted)
        scratch = np.empty(n_scratch, dtype=np.uint64)
        # All bins but that of zero and the last ones on both sides have enough rows.
        n_full = n_values // max(self.settings.min_data_in_bin, 1)
        if self.forced is None:
            none = np.empty(0), np.empty(0, dtype=np.int32)
            bound_arrays = np.zeros(n_features + 1, dtype=np.int64), *none
        else:
            bound_arrays = forced_bins.packed(self.forced)
        room_for_bounds = np.where(
            np.diff(bound_arrays[0]), 2 * max_bin, np.minimum(max_bin, n_full + 3)
        )
        bounds_start = np.zeros(n_features + 1, dtype=np.int64)
        np.cumsum(room_for_bounds, out=bounds_start[1:])
        bounds = np.empty(bounds_start[-1])
        n_bounds = np.empty(n_features, dtype=np.int32)
        missing_type = np.empty(n_features, dtype=np.uint8)
        n_occupied = np.empty(n_features, dtype=np.int32)
        value_range = np.empty((n_features, 2))
        zero_share = np.empty(n_features)
        bin_bounds.find_bounds(
            columns,
            *self.sample,
            None if self.has_nan is None else self.has_nan.view(np.uint8),
            n_rows,
            max_bin,
            self.settings.min_data_in_bin,
            self.settings.use_missing,
            self.settings.zero_as_missing,
            *bound_arrays,
            n_threads,
            bounds_start,
            room,
            scratch,
            bounds,
            n_bounds,
            missing_type,
            n_occupied,
            value_range,
            zero_share,
        )
        nan_is_missing = self.settings.use_missing and not self.settings.zero_as_missing
        if nan_is_missing and not STANDS_FOR_LIGHTGBM.is_set():
            # In LightGBM, NaN counts as zero in a column where no row is NaN.
            is_unseen = missing_type == bin_bounds.NO_MISSING
            missing_type[is_unseen] = bin_bounds.NAN_IS_UNSEEN
        start = np.concatenate([[0], np.cumsum(n_bounds)])
        written = np.repeat(bounds_start[:-1] - start[:-1], n_bounds)
        written += np.arange(start[-1])
        return numeric_mappers(
            bounds[written],
            start,
            missing_type,
            n_occupied < 2,
            value_range,
            zero_share,
        )

    def _category_mappers(self, columns: Columns) -> list[BinMapper]:
        """The bins of columns of categories with the same ``max_bin``."""
        if self.forced is not None and any(self.forced):
            raise ValueError(
                f"{forced_bins.OPTION} has bounds for a categorical column: leave it"
                " out."
            )
        sample, n_rows = self.sample, self.sample.size(columns)
        first = np.zeros(columns.n_features + 1, dtype=np.int64)
        np.cumsum(columns.category_counts + 1, out=first[1:])
        count = np.zeros(first[-1], dtype=np.int64)
        total = np.zeros(first[-1])
        category_kernels.count_categories(
            columns,
            sample.rows,
            sample.weight,
            n_rows,
            first,
            team(n_rows * columns.n_features, self.n_threads),
            count,
            total,
        )
        max_bin, ends = int(self.max_bin[0]), first[1:-1]
        return [
            _category_mapper(*counts, max_bin, self.settings)
            for counts in zip(np.split(count, ends), np.split(total, ends), strict=True)
        ]


def _find_distributed(
    columns: Columns | StackedColumns,
    settings: BinningOptions,
    weight: NDArray[np.float64] | None,
    rows: NDArray[np.int64] | None,
    n_threads: int,
    partition: RowPartition,
) -> list[BinMapper]:
    """`find_bin_mappers` of the rows of all processes: each searches some columns.

    Each process sends the sampled rows that it has, cut into spans of columns, to the
    process that searches the span. In the end, all get the bins of all columns.
    """
    collectives = partition.collectives
    sample, positions = _sample_of_process(partition, rows, settings)
    sample_weight = None if weight is None else weight[sample]
    rank_positions, weights = zip(
        *collectives.all_gather((positions, sample_weight)), strict=True
    )
    n_rows = sum(map(len, rank_positions))
    edges = np.linspace(0, columns.n_features, collectives.n_ranks + 1).astype(int)
    spans = list(map(slice, edges[:-1].tolist(), edges[1:].tolist()))
    # Of each column, the number of nonzero rows, and whether some are NaN.
    counts = np.zeros((2, columns.n_features), dtype=np.int64)
    is_sampled = partition.n_rows > settings.subsample_for_bin
    sampled_pieces = []
    for piece, used, chosen in pieces(columns, rows, sample):
        counts[0] += count_nonzero(piece, settings, used, n_threads)
        if is_sampled:
            counts[1] += find_nan(piece, used, n_threads)
        sampled_pieces.append(
            distributed_sample.cut_in_spans(piece, chosen, spans, n_threads)
        )
    collectives.all_reduce(counts)
    n_nonzero, has_nan = counts[0], counts[1] > 0
    own = distributed_sample.joined_pieces(
        collectives.all_to_all(list(zip(*sampled_pieces, strict=True))),
        rank_positions,
        n_rows,
    )
    own_mappers = []
    if own.n_features:
        span = spans[collectives.rank]
        if columns.n_categories is not None:
            own = replace(own, n_categories=columns.n_categories[span])
        if sample_weight is not None:
            sample_weight = _scaled(joined(rank_positions, weights, n_rows))
        subset = _RowSubset(None, None, sample_weight)
        search = _Search.from_settings(settings, columns.n_features, subset, n_threads)
        search = search.take(span)._replace(has_nan=has_nan[span])
        own_mappers = search.mappers(own, n_nonzero[span])
    return list(chain.from_iterable(collectives.all_gather(own_mappers)))


def _sample_of_process(
    partition: RowPartition, rows: NDArray[np.int64] | None, settings: BinningOptions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sampled rows of a process, and their positions in the whole sample.

    ``rows`` are the numbers of the rows of the process in its columns, None: all.
    ``partition.numbers`` has the number of each of them among the rows of all
    processes. All processes draw the same sample, so nothing is sent.
    """
    numbers = partition.numbers
    rows = np.arange(len(numbers)) if rows is None else rows
    sample = sampled_rows(partition.n_rows, settings)
    if sample is None:
        return rows, numbers
    position = np.searchsorted(sample, numbers)
    chosen = np.flatnonzero(sample.take(position, mode="clip") == numbers)
    return rows[chosen], position[chosen]


def _count_nonzero(
    columns: Columns, settings: BinningOptions, used_rows: _RowSubset, n_threads: int
) -> NDArray[np.int64]:
    """`count_nonzero` of columns that kernels can read."""
    count = np.empty(columns.n_features, dtype=np.int64)
    listed_rows.count_nonzero(
        columns,
        used_rows.rows,
        used_rows.position,
        used_rows.size(columns),
        settings.min_child_samples,
        not settings.use_missing or settings.zero_as_missing,
        team(int(n_values_of(columns, columns.n_rows).sum()), n_threads),
        count,
    )
    return count


def _category_mapper(
    count: NDArray[np.int64],
    weight: NDArray[np.float64],
    max_bin: int,
    settings: BinningOptions,
) -> BinMapper:
    """The bins of a column of categories.

    ``count`` and ``weight``, (1 + n_categories,), are the number of rows and the sum
    of their weights: first of missing values, then of each category.
    """
    n_missing, n_rows = int(count[0]), int(count.sum())
    count, weight = count[1:], weight[1:]
    present = np.flatnonzero(count)
    ranked = present[np.argsort(-weight[present], kind="stable")]
    n_kept = _n_kept(count[ranked], weight[ranked], n_missing > 0, max_bin, settings)
    kept = ranked[:n_kept]
    is_complete = n_kept == len(present) and n_missing == 0
    n_occupied = n_kept + (count[kept].sum() < n_rows)
    return category_mapper(
        np.append(-1, kept).astype(np.int32),
        bin_bounds.NO_MISSING if is_complete else bin_bounds.NAN_IS_MISSING,
        bool(n_occupied < 2),
        (float(present[0]), float(present[-1])) if len(present) else (0.0, 0.0),
    )


def _n_kept(
    count: NDArray[np.int64],
    weight: NDArray[np.float64],
    has_missing: bool,
    max_bin: int,
    settings: BinningOptions,
) -> int:
    """The number of categories that get bins of their own, by LightGBM's rule.

    ``count`` and ``weight`` have the number of rows and the sum of weights of each
    category that occurs, by falling weight. These are kept: as many as make up 99% of
    the weight, and at least as many as ``max_bin`` allows next to the bin of the
    others. The third one and all after it need `min_data_in_bin` rows. ``has_missing``:
    whether a row has no category.
    """
    n_few = min(len(count) + has_missing, max_bin) - 1
    common_weight = np.floor(float(np.float32(weight.sum()) * COMMON_FRACTION) + 0.5)
    n_common = int(np.searchsorted(np.cumsum(weight), common_weight)) + 1
    n_kept = min(len(count), max(n_common, n_few), MAX_CATEGORY_BINS - 1)
    rare = np.flatnonzero(count[:n_kept] < settings.min_data_in_bin)
    return int(min(rare[rare > 1], default=n_kept))


def _scaled(weight: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The weights by which bins are found; None: all are 1.

    Whole numbers stay as they are, because they are frequency weights. Others are
    divided by the smallest positive one, so that their unit does not matter.
    """
    if (weight % 1.0).any():
        weight = weight / weight.min(where=weight > 0, initial=weight.max())
    return None if (weight == 1.0).all() else np.ascontiguousarray(weight, np.float64)


def used_features(mappers: list[BinMapper]) -> NDArray[np.int32]:
    """The numbers of the columns that can be split, ascending: the used columns."""
    return np.array([j for j, m in enumerate(mappers) if not m.is_trivial], np.int32)


def team(n_values: int, n_threads: int) -> int:
    """The number of threads worth starting for work on ``n_values`` values."""
    return max(1, min(n_threads, n_values // VALUES_PER_THREAD))


def n_values_of(columns: Columns, n_rows: int) -> NDArray[np.int64]:
    """An upper limit of the number of stored values of each column in some rows."""
    n_values = np.full(columns.n_features, n_rows, dtype=np.int64)
    if columns.index is not None and columns.length is not None:
        is_sparse = columns.index > 0
        n_values[is_sparse] = np.minimum(columns.length[is_sparse], n_rows)
    return n_values
