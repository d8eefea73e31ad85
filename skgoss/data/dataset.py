"""The binned training set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.data.store import BinStore
from skgoss.data import storage
from skgoss.data.binning import BinMapper, BinningSettings, find_bin_mappers
from skgoss.data.columns import Columns
from skgoss.data.rows import Rows
from skgoss.data.storage import Storage, StorageSettings


class DatasetSettings(BinningSettings, StorageSettings, Protocol):
    """The options that a data set depends on."""


@dataclass(frozen=True)
class DatasetOptions:
    """The values of these options, by their names."""

    max_bin: int
    max_bin_by_feature: Sequence[int | None] | None
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
    def of(cls, settings: DatasetSettings) -> DatasetOptions:
        """The options among settings."""
        return cls(**{f.name: getattr(settings, f.name) for f in fields(cls)})

    def lossless(self) -> DatasetOptions:
        """The same without conflicts in bundles."""
        return replace(self, max_conflict_rate=0.0)


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
        feature = np.array(
            [j for j, mapper in enumerate(mappers) if not mapper.is_trivial], np.int32
        )
        used = [mappers[j] for j in feature]
        return cls(
            n_rows=columns.n_rows if rows is None else len(rows),
            n_features=columns.n_features,
            mappers=mappers,
            feature=feature,
            n_bins=np.array([m.n_bins for m in used], dtype=np.int32),
            missing_bin=np.array([m.missing_bin for m in used], dtype=np.int32),
            missing_type=np.array([m.missing_type for m in used], dtype=np.uint8),
            categorical=np.array([m.categories is not None for m in used], bool),
            upper_bounds=[m.upper_bounds for m in used],
            storage=storage.build(
                columns.take(feature), used, settings, rows, n_threads
            ),
        )

    def of_same_bins(
        self,
        columns: Columns,
        settings: DatasetSettings,
        *,
        rows: NDArray[np.int64] | None = None,
        n_threads: int = 1,
    ) -> BinnedDataset:
        """Put other rows of the same columns into the bins of this data set."""
        return replace(
            self,
            n_rows=columns.n_rows if rows is None else len(rows),
            storage=storage.build(
                columns.take(self.feature),
                self.used_mappers,
                DatasetOptions.of(settings).lossless(),
                rows,
                n_threads,
            ),
        )

    def has_bins_of(self, other: BinnedDataset) -> bool:
        """Whether the bins of both data sets are the same."""
        return self.mappers is other.mappers

    def store(self, rows: Rows, settings: DatasetSettings, n_threads: int) -> BinStore:
        """Put other rows into the bins of this data set."""
        return storage.store(
            rows.columns.take(self.feature),
            self.used_mappers,
            DatasetOptions.of(settings).lossless(),
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


def _info(mapper: BinMapper) -> str:
    if mapper.is_trivial:
        return "none"
    if mapper.categories is not None:
        return ":".join(map(str, mapper.categories.tolist()))
    return f"[{mapper.minimum!r}:{mapper.maximum!r}]"
