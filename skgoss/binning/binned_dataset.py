"""Rows in bins: how bins are found, shared and joined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning.bin_bounds import NAN_IS_MISSING, NAN_IS_UNSEEN
from skgoss._engine.binning.store import BinStore
from skgoss.binning import storage
from skgoss.binning.bin_values import (
    Bins,
    LosslessSettings,
    StorageSettings,
    storage_source,
)
from skgoss.binning.find_bins import (
    BinMapper,
    BinningOptions,
    find_bin_mappers,
    find_nan,
    used_features,
)
from skgoss.binning.storage import Storage
from skgoss.columns.columns import Columns
from skgoss.distributed.collectives import ALONE, Collectives
from skgoss.distributed.row_partition import RowPartition

# The smallest and the largest number of a column, or its categories; None if it cannot
# be split.
Range = tuple[float, float] | NDArray[np.int32] | None


@dataclass(frozen=True, slots=True, eq=False)
class BinnedDataset:
    """Rows in bins.

    Columns whose values all fall into one bin are left out: they cannot be split.
    """

    n_rows: int
    n_features: int  # the number of columns of the input
    mappers: list[BinMapper]  # the bins of each column of the input
    feature: NDArray[np.int32]  # (n_used,): the input column of each used column
    n_bins: NDArray[np.int32]  # (n_used,)
    # (n_used,): the bin of missing values, -1 where there is none.
    missing_bin: NDArray[np.int32]
    # (n_used,): which values are missing: 0: none, 1: zero and NaN, 2: NaN.
    missing_type: NDArray[np.uint8]
    categorical: NDArray[np.bool_]  # (n_used,)
    # ``upper_bounds[j][b]`` is the threshold of a split after bin b of used column j.
    upper_bounds: list[NDArray[np.float64]]
    storage: Storage  # the bins themselves
    # (n_rows,): the rows of the storage that these are, ascending; None: all.
    numbers: NDArray[np.uint32] | None = None

    @classmethod
    def build(
        cls,
        columns: Columns,
        settings: BinningOptions,
        *,
        weight: NDArray[np.float64] | None = None,
        rows: NDArray[np.int64] | None = None,
        n_threads: int = 1,
        partition: RowPartition | None = None,
    ) -> BinnedDataset:
        """Find the bins of the columns, and put the values into them.

        ``rows`` are the numbers of the rows to use, ascending; None: all. With a
        ``weight``, (columns.n_rows,), bins have equal weight. With a
        ``partition``, the bins are those of the rows of all processes, and each process
        puts its own rows into them.
        """
        mappers = find_bin_mappers(
            columns,
            settings,
            weight=weight,
            rows=rows,
            n_threads=n_threads,
            partition=partition,
        )
        feature = used_features(mappers)
        used = [mappers[j] for j in feature]
        if len(feature) < len(mappers):
            columns = columns.take(feature)
        n_global = None if partition is None else partition.n_rows
        source = storage_source(columns, used, settings, rows, n_threads, n_global)
        stored = storage.lay_out(source, used, settings, n_threads)
        return cls.from_storage(mappers, feature, stored)

    @classmethod
    def from_storage(
        cls, mappers: list[BinMapper], feature: NDArray[np.int32], stored: Storage
    ) -> BinnedDataset:
        """A data set of the mappers of all columns and the bins of the used ones.

        ``feature``, (n_used,), has the column of the input of each column of
        ``stored``.
        """
        used = [mappers[j] for j in feature]
        missing_type = np.array([*map(attrgetter("missing_type"), used)], np.uint8)
        # Rows that trees are applied to may have NaN where training rows have none.
        missing_type[missing_type == NAN_IS_UNSEEN] = NAN_IS_MISSING
        return cls(
            n_rows=stored.store.n_rows,
            n_features=len(mappers),
            mappers=mappers,
            feature=feature,
            n_bins=np.array([*map(attrgetter("n_bins"), used)], np.int32),
            missing_bin=np.array([*map(attrgetter("missing_bin"), used)], np.int32),
            missing_type=missing_type,
            categorical=np.array([m.categories is not None for m in used], bool),
            upper_bounds=[*map(attrgetter("upper_bounds"), used)],
            storage=stored,
        )

    def with_rows(
        self,
        columns: Columns,
        settings: StorageSettings,
        *,
        rows: NDArray[np.int64] | None = None,
        n_threads: int = 1,
        n_global: int | None = None,
        collectives: Collectives = ALONE,
    ) -> BinnedDataset:
        """Put other rows, with the same columns, into the bins of this data set.

        The list of mappers is shared, unless some of the rows are NaN in a column
        without a bin for it, which then gets one. Of the settings, those of bins and
        `max_conflict_rate` are not used: no bin of the other rows is lost. For
        ``n_global`` see `storage_source`. The processes of ``collectives`` have the
        same bins.
        """
        settings = LosslessSettings.from_settings(settings)
        mappers = self._mappers_of(columns, rows, n_threads, collectives)
        used = [mappers[j] for j in self.feature]
        columns = columns.take(self.feature)
        source = storage_source(columns, used, settings, rows, n_threads, n_global)
        stored = storage.lay_out(source, used, settings, n_threads)
        return BinnedDataset.from_storage(mappers, self.feature, stored)

    def _mappers_of(
        self,
        columns: Columns,
        rows: NDArray[np.int64] | None,
        n_threads: int,
        collectives: Collectives = ALONE,
    ) -> list[BinMapper]:
        """The mappers of all columns, with a bin for NaN wherever ``rows`` need one.

        A column without NaN in the data set has no bin for it; it gets one if a row of
        ``rows`` is NaN there, in any process. None: all rows of ``columns``.
        """
        unseen = self.feature[[mapper.is_unseen for mapper in self.used_mappers]]
        if len(unseen) == 0:
            return self.mappers
        found = find_nan(columns.take(unseen), rows, n_threads).astype(np.int64)
        is_new = collectives.all_reduce(found) > 0
        if not is_new.any():
            return self.mappers
        mappers = self.mappers.copy()
        for j in unseen[is_new].tolist():
            mappers[j] = mappers[j].with_nan()
        return mappers

    def has_bins_of(self, other: BinnedDataset) -> bool:
        """Whether the bins of both data sets are the same, apart from those of NaN.

        A column without NaN has no bin for it.
        """
        if self.mappers is other.mappers:
            return True
        same_number = len(self.mappers) == len(other.mappers)
        return same_number and all(map(_are_same, self.mappers, other.mappers))

    def joined(
        self, other: BinnedDataset, settings: StorageSettings, n_threads: int = 1
    ) -> BinnedDataset:
        """The columns of this data set, and then those of another with the same rows.

        ``settings`` say how the bins are stored, but `max_conflict_rate` is not used:
        no bin is lost. ValueError if the other data set has another number of rows.
        """
        if other.n_rows != self.n_rows:
            raise ValueError(
                f"The data sets must have the same rows: the first has {self.n_rows},"
                f" the other {other.n_rows}."
            )
        own, added = (Bins.from_store(data.storage.store) for data in (self, other))
        mappers = self.mappers + other.mappers
        stored = storage.lay_out(
            own.joined(added, len(self.feature)),
            self.used_mappers + other.used_mappers,
            LosslessSettings.from_settings(settings),
            n_threads,
        )
        return BinnedDataset.from_storage(mappers, used_features(mappers), stored)

    def store(
        self,
        columns: Columns,
        settings: StorageSettings,
        *,
        rows: NDArray[np.int64] | None = None,
        n_threads: int = 1,
    ) -> tuple[BinStore, NDArray[np.int32]]:
        """The store of `with_rows`, and the bin of missing values of each used column.

        To apply trees to rows, nothing else is needed. The bins of missing values are
        (n_used,), -1 where there is none; they may be new, as in `with_rows`.
        """
        mappers = self._mappers_of(columns, rows, n_threads)
        used = [mappers[j] for j in self.feature]
        columns = columns.take(self.feature)
        lossless = LosslessSettings.from_settings(settings)
        stored = storage.store(columns, used, lossless, rows, n_threads)
        return stored, np.array([*map(attrgetter("missing_bin"), used)], np.int32)

    def take(self, rows: NDArray[np.int64], n_threads: int = 1) -> BinnedDataset:
        """Some of the rows, at least one, without binning again.

        The bins have the same layout in memory. Whatever does not depend on the rows,
        such as the list of mappers, is shared. ValueError if the rows are not ascending
        and distinct, or do not exist.
        """
        if len(rows) == 0:
            raise ValueError("rows must have at least one number.")
        return self.view(rows).alone(n_threads)

    def view(self, rows: NDArray[np.int64]) -> BinnedDataset:
        """Some of the rows, or none, without a copy of their bins: see `take`.

        The view keeps the storage of this data set alive, and has the ``numbers`` of
        its rows there.
        """
        if len(rows) > 0 and (rows[0] < 0 or rows[-1] >= self.n_rows):
            raise ValueError(f"rows must be numbers from 0 to {self.n_rows - 1}.")
        if not (rows[1:] > rows[:-1]).all():
            raise ValueError("rows must be ascending and distinct.")
        if len(rows) == self.n_rows:
            return self
        numbers = rows.astype(np.uint32)
        if self.numbers is not None:
            numbers = self.numbers[rows]
        return replace(self, n_rows=len(rows), numbers=numbers)

    def alone(self, n_threads: int = 1) -> BinnedDataset:
        """The same rows, with a copy of their bins if this is a view."""
        if self.numbers is None:
            return self
        taken = self.storage.take(self.numbers.astype(np.int64), n_threads)
        return replace(self, storage=taken, numbers=None)

    @property
    def used_mappers(self) -> list[BinMapper]:
        """The bins of each used column."""
        return [self.mappers[j] for j in self.feature]

    @property
    def filtered_rows(self) -> int:
        """The largest number of nonzero rows of a column that was left out.

        Such a column has fewer of them than ``min_child_samples``: with a value of at
        most this, it could be split. 0: no column was left out for this reason. The
        rows are those that the bins were found in.
        """
        return max((mapper.filtered_rows for mapper in self.mappers), default=0)

    def ranges(self) -> list[Range]:
        """The range or the categories of each input column: see `Range`."""
        ranges: list[Range] = []
        for mapper in self.mappers:
            if mapper.is_trivial:
                ranges.append(None)
            elif mapper.categories is not None:
                ranges.append(mapper.categories)
            else:
                ranges.append((mapper.minimum, mapper.maximum))
        return ranges

    def bins(self, column: int) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """The bins of all rows in a used column, (n_rows,)."""
        bins = self.storage.store.bins(column)
        return bins if self.numbers is None else bins[self.numbers]


def feature_infos(ranges: Iterable[Range]) -> list[str]:
    """The entry ``feature_infos`` of LightGBM's model files for each input column."""
    infos = []
    for values in ranges:
        if values is None:
            infos.append("none")
        elif isinstance(values, tuple):
            infos.append("[{!r}:{!r}]".format(*values))
        else:
            infos.append(":".join(map(str, values.tolist())))
    return infos


def _missing_type(mapper: BinMapper) -> int:
    """The ``missing_type`` that the mapper would have if a row were NaN.

    3, "NaN is missing, but no row has it", becomes 2, "NaN is missing".
    """
    return NAN_IS_MISSING if mapper.is_unseen else mapper.missing_type


def _are_same(first: BinMapper, second: BinMapper) -> bool:
    """Whether two mappers put all values but NaN into the same bins."""
    return (
        first.is_trivial == second.is_trivial
        and _missing_type(first) == _missing_type(second)
        and np.array_equal(first.upper_bounds, second.upper_bounds)
        and np.array_equal(first.codes, second.codes)
    )
