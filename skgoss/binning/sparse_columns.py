"""Binned columns that are zero in most rows: the other rows, and their bins.

The *stored rows* of a sparse column are those that are not in its *default bin*, that
of zero. Their *stored bins* are numbered without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.apply_bins import bin_sparse_columns
from skgoss.binning.bin_mapper import BinMapper
from skgoss.columns.columns import Columns

# A column is sparse if at least this share of its values is zero. For fewer rows and
# columns than these, sparse columns cost more than they save.
MIN_ZERO_SHARE = 0.5
MIN_ROWS = 4096
MIN_COLUMNS = 256

NO_ROWS = (
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.uint32),
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.uint16),
)


class StorageSettings(Protocol):
    """The options that storage depends on."""

    @property
    def enable_bundle(self) -> bool: ...
    @property
    def is_enable_sparse(self) -> bool: ...
    @property
    def max_conflict_rate(self) -> float: ...


class LosslessSettings(NamedTuple):
    """Options of storage with which no bin is lost."""

    enable_bundle: bool = True
    is_enable_sparse: bool = True
    max_conflict_rate: float = 0.0

    @classmethod
    def from_settings(cls, settings: StorageSettings) -> LosslessSettings:
        """The other options of settings."""
        return cls(settings.enable_bundle, settings.is_enable_sparse)


@dataclass(frozen=True, slots=True, eq=False)
class SparseColumns:
    """The stored rows of sparse columns."""

    number: NDArray[np.int32]  # (n_sparse,): which of the used columns these are
    # (n_sparse + 1,): where the stored rows of each column begin.
    start: NDArray[np.int64]
    rows: NDArray[np.uint32]  # the stored rows, ascending in each column
    # (n_sparse + 1,): where the stored bins of each column begin. Columns of two bins
    # have none: all are 0.
    bin_start: NDArray[np.int64]
    bins: NDArray[np.uint16]  # the stored bins

    def of_all_columns(self, n_used: int) -> tuple[NDArray[Any], ...]:
        """The arrays with an entry for each used column; dense ones have no rows."""
        start, bin_start = np.zeros((2, n_used + 1), dtype=np.int64)
        start[self.number + 1] = np.diff(self.start)
        bin_start[self.number + 1] = np.diff(self.bin_start)
        return start.cumsum(), self.rows, bin_start.cumsum(), self.bins

    def stored_bins(self) -> NDArray[np.uint16]:
        """The stored bin of each stored row, also in columns of two bins."""
        length = np.diff(self.start)
        if len(self.bins) == len(self.rows):
            return self.bins
        bins = np.zeros(len(self.rows), dtype=np.uint16)
        bins[np.repeat(np.diff(self.bin_start) > 0, length)] = self.bins
        return bins

    @classmethod
    def stacked(
        cls, number: NDArray[Any], parts: list[tuple[int, SparseColumns]]
    ) -> SparseColumns:
        """The columns of rows that lie one below the other.

        ``number`` tells which of the used columns are sparse. ``parts`` are ascending:
        the number of the first row of each, and its columns. The list is emptied, so
        that memory is freed.
        """
        lengths = np.zeros((2, len(number) + 1), dtype=np.int64)
        for _, part in parts:
            lengths[:, 1:] += np.diff([part.start, part.bin_start])
        start, bin_start = np.cumsum(lengths, axis=1)
        rows = np.empty(start[-1], dtype=np.uint32)
        bins = np.empty(bin_start[-1], dtype=np.uint16)
        at, bin_at = start[:-1].copy(), bin_start[:-1].copy()
        while parts:
            first, part = parts.pop(0)
            rows[_targets(at, part.start)] = part.rows + np.uint32(first)
            bins[_targets(bin_at, part.bin_start)] = part.bins
        return cls(number.astype(np.int32), start, rows, bin_start, bins)

    @classmethod
    def from_stored_bins(
        cls,
        number: NDArray[np.int32],
        start: NDArray[np.int64],
        rows: NDArray[np.uint32],
        bins: NDArray[np.uint16],
        n_bins: NDArray[np.integer[Any]],
    ) -> SparseColumns:
        """Sparse columns of so many bins, from the stored bin of each stored row."""
        length, has_bins = np.diff(start), n_bins > 2
        bin_start = np.concatenate([[0], np.cumsum(np.where(has_bins, length, 0))])
        if not has_bins.all():
            bins = bins[np.repeat(has_bins, length)]
        return cls(number, start, rows, bin_start, bins)


def _targets(
    at_inout: NDArray[np.int64], start: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Where the values of lists go, of which each has a next free place."""
    length = np.diff(start)
    target = np.repeat(at_inout - start[:-1], length) + np.arange(start[-1])
    at_inout += length
    return target


def find(
    columns: Columns,
    mappers: list[BinMapper],
    settings: StorageSettings,
    rows: NDArray[np.int64] | None,
    n_threads: int,
    n_global: int | None,
) -> SparseColumns:
    """The sparse columns; none if neither bundles nor entries are made of them."""
    n_rows = columns.n_rows if rows is None else len(rows)
    number = sparse_numbers(mappers, settings, n_rows if n_global is None else n_global)
    if len(number) == 0:
        return SparseColumns(number, *NO_ROWS)
    if n_rows == 0:
        start = np.zeros(len(number) + 1, dtype=np.int64)
        return SparseColumns(number, start, NO_ROWS[1], start, NO_ROWS[3])
    found = bin_sparse_columns(columns, mappers, number, rows=rows, n_threads=n_threads)
    return SparseColumns(number, *found)


def sparse_numbers(
    mappers: list[BinMapper], settings: StorageSettings, n_rows: int
) -> NDArray[np.int32]:
    """Which of the used columns of so many rows are sparse."""
    is_small = n_rows < MIN_ROWS and len(mappers) < MIN_COLUMNS
    if is_small or not (settings.enable_bundle or settings.is_enable_sparse):
        return np.empty(0, np.int32)
    share = np.array([m.zero_share for m in mappers])
    return np.flatnonzero(share >= MIN_ZERO_SHARE).astype(np.int32)
