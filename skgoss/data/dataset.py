"""The binned training set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.data.store import BinStore
from skgoss.data import storage
from skgoss.data.binning import BinMapper, BinningSettings, find_bin_mappers
from skgoss.data.columns import Columns
from skgoss.data.rows import Rows
from skgoss.data.storage import Bins, Layout, Storage, StorageSettings


class DatasetSettings(BinningSettings, StorageSettings, Protocol):
    """The options that a data set depends on."""


@dataclass(frozen=True, slots=True, eq=False)
class BinnedDataset:
    """The binned training set.

    Columns whose values all fall into one bin are left out: they cannot be split.

    Attributes
    ----------
    n_rows : int
    n_features : int
        The number of columns of the input.
    mappers : list of BinMapper
        The bins of each column of the input.
    feature : ndarray of shape (n_used,), int32
        The input column of each used column.
    n_bins : ndarray of shape (n_used,), int32
    missing_bin : ndarray of shape (n_used,), int32
        The bin of missing values, -1 where nothing is missing.
    missing_type : ndarray of shape (n_used,), uint8
        Which values are missing: 0: none, 1: zero and NaN, 2: NaN.
    categorical : ndarray of shape (n_used,), bool
    upper_bounds : list of ndarray of float64
        ``upper_bounds[j][b]`` is the threshold of a split after bin b of used column j.
    storage : Storage
        The bins themselves.
    """

    n_rows: int
    n_features: int
    mappers: list[BinMapper]
    feature: NDArray[np.int32]
    n_bins: NDArray[np.int32]
    missing_bin: NDArray[np.int32]
    missing_type: NDArray[np.uint8]
    categorical: NDArray[np.bool_]
    upper_bounds: list[NDArray[np.float64]]
    storage: Storage

    @classmethod
    def build(
        cls,
        columns: Columns,
        settings: DatasetSettings,
        *,
        weight: NDArray[np.float64] | None = None,
        rows: NDArray[np.int64] | None = None,
        n_threads: int = 1,
    ) -> BinnedDataset:
        """Find the bins of the columns and put the values into them.

        Parameters
        ----------
        columns : Columns
            The data, from `skgoss.data.frames.columns`.
        settings : DatasetSettings
        weight : ndarray of shape (columns.n_rows,), default=None
            Weights of the rows, for bins of equal weight.
        rows : ndarray of int64, default=None
            The rows to use; None: all.
        n_threads : int, default=1
            The result is the same for any number.

        Returns
        -------
        BinnedDataset
        """
        mappers = find_bin_mappers(
            columns, settings, weight=weight, rows=rows, n_threads=n_threads
        )
        feature = used_features(mappers)
        used = [mappers[j] for j in feature]
        return cls.of(
            mappers,
            storage.build(columns.take(feature), used, settings, rows, n_threads),
        )

    @classmethod
    def of(cls, mappers: list[BinMapper], laid_out: Storage) -> BinnedDataset:
        """The data set of known bins: the mappers of all columns, and the used ones."""
        feature = used_features(mappers)
        used = [mappers[j] for j in feature]
        return cls(
            n_rows=laid_out.store.n_rows,
            n_features=len(mappers),
            mappers=mappers,
            feature=feature,
            n_bins=np.array([m.n_bins for m in used], dtype=np.int32),
            missing_bin=np.array([m.missing_bin for m in used], dtype=np.int32),
            missing_type=np.array([m.missing_type for m in used], dtype=np.uint8),
            categorical=np.array([m.categories is not None for m in used], bool),
            upper_bounds=[m.upper_bounds for m in used],
            storage=laid_out,
        )

    def joined(
        self, other: BinnedDataset, settings: StorageSettings, n_threads: int = 1
    ) -> BinnedDataset:
        """The columns of this data set, and then those of another with the same rows.

        Parameters
        ----------
        other : BinnedDataset
        settings : StorageSettings
            `max_conflict_rate` is not used: no bin is lost.
        n_threads : int, default=1
            The result is the same for any number.

        Returns
        -------
        BinnedDataset

        Raises
        ------
        ValueError
            If the other data set has another number of rows.
        """
        if other.n_rows != self.n_rows:
            raise ValueError(
                f"The data sets must have the same rows: the first has {self.n_rows},"
                f" the other {other.n_rows}."
            )
        bins, others = (Bins.of(data.storage.store) for data in (self, other))
        mappers = self.mappers + other.mappers
        laid_out = storage.lay_out(
            bins.joined(others, len(self.feature)),
            self.used_mappers + other.used_mappers,
            Layout(settings.enable_bundle, settings.is_enable_sparse),
            n_threads,
        )
        return BinnedDataset.of(mappers, laid_out)

    def store(self, rows: Rows, settings: DatasetSettings, n_threads: int) -> BinStore:
        """Put other rows into the bins of this data set."""
        return storage.store(
            rows.columns.take(self.feature),
            self.used_mappers,
            replace(settings, max_conflict_rate=0.0),
            rows.numbers,
            n_threads,
        )

    @property
    def used_mappers(self) -> list[BinMapper]:
        """The bins of each used column."""
        return [self.mappers[j] for j in self.feature]

    def feature_infos(self) -> list[str]:
        """What LightGBM's model files say of each input column."""
        return [_info(mapper) for mapper in self.mappers]

    def bins(self, column: int) -> NDArray[np.uint16]:
        """The bins of all rows in a used column, (n_rows,)."""
        return self.storage.store.bins(column)


def used_features(mappers: list[BinMapper]) -> NDArray[np.int32]:
    """The columns that can be split."""
    return np.array([j for j, m in enumerate(mappers) if not m.is_trivial], np.int32)


def _info(mapper: BinMapper) -> str:
    if mapper.is_trivial:
        return "none"
    if mapper.categories is not None:
        return ":".join(map(str, mapper.categories.tolist()))
    return f"[{mapper.minimum!r}:{mapper.maximum!r}]"
