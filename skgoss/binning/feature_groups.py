"""Feature groups: which columns share a column of codes, and a byte of each row.

Sparse columns are zero in most rows. Their *stored rows* are those that are not in
their *default bin*, that of zero. Their *stored bins* are numbered without it. Those
that are rarely stored in the same rows share the codes of one column: exclusive feature
bundling (EFB), G. Ke et al., "LightGBM: A Highly Efficient Gradient Boosting Decision
Tree", NeurIPS 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning.bundling import find_bundles
from skgoss.binning.bin_mapper import BinMapper, bin_sparse_columns
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

# The number of codes of a lane, which is a byte. Groups of few codes share a lane if
# the product of their numbers of codes is not larger. Then the sums of each group must
# be separated from those of the lane, which pays off for at least so many rows.
LANE_CODES = 256
MIN_ROWS_TO_SHARE = 4096

# Measured: a short or an entry costs as much as so many lanes, and a row as much as so
# many more if rows have entries at all.
LANES_PER_SHORT = 2.0
LANES_PER_ENTRY = 6.0
LANES_OF_ENTRIES = 10.0


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
    number: NDArray[np.int32],
    rows: NDArray[np.int64] | None,
    n_threads: int,
) -> SparseColumns:
    """The sparse columns, of which there is one: those with these numbers."""
    n_rows = columns.n_rows if rows is None else len(rows)
    if n_rows == 0:
        start = np.zeros(len(number) + 1, dtype=np.int64)
        return SparseColumns(number, start, NO_ROWS[1], start, NO_ROWS[3])
    found = bin_sparse_columns(columns, mappers, number, rows=rows, n_threads=n_threads)
    return SparseColumns(number, *found)


def sparse_numbers(
    mappers: list[BinMapper], settings: StorageSettings, n_rows: int
) -> NDArray[np.int32]:
    """Which of the used columns of so many rows are sparse.

    None if neither bundles nor entries are made of them.
    """
    is_small = n_rows < MIN_ROWS and len(mappers) < MIN_COLUMNS
    if is_small or not (settings.enable_bundle or settings.is_enable_sparse):
        return np.empty(0, np.int32)
    share = np.array([m.zero_share for m in mappers])
    return np.flatnonzero(share >= MIN_ZERO_SHARE).astype(np.int32)


# --- Groups ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class FeatureGroups:
    """The group of each used column, and its codes in the group."""

    # (n_used,): -1: the column is sparse and in no dense bundle, or has too many bins
    # for a byte.
    group: NDArray[np.int32]
    first_code: NDArray[np.int32]  # (n_used,): the code of a column's stored bin 0
    n_codes: NDArray[np.int32]  # (n_groups,)
    # (n_groups,): see `Storage`.
    lane: NDArray[np.int32]
    radix: NDArray[np.int32]


def make_groups(
    sparse: SparseColumns,
    is_sparse: NDArray[np.bool_],
    n_bins: NDArray[np.int32],
    settings: StorageSettings,
    n_rows: int,
) -> FeatureGroups:
    """Give a group to every dense column, and to every bundle that is dense enough."""
    group = np.full(len(n_bins), -1, dtype=np.int32)
    first_code = np.zeros(len(n_bins), dtype=np.int32)
    dense = np.flatnonzero(~is_sparse & (n_bins <= LANE_CODES))
    group[dense] = np.arange(len(dense))
    if len(sparse.number) == 0:
        return _in_lanes(group, first_code, n_bins[dense], settings, n_rows)
    n_stored = n_bins[sparse.number] - 1
    bundle = (
        find_bundles(
            sparse.start,
            sparse.rows,
            n_rows,
            n_stored,
            settings.max_conflict_rate,
            LANE_CODES,
        )
        if settings.enable_bundle
        else np.arange(len(sparse.number), dtype=np.int32)
    )
    is_dense, n_codes = _dense_bundles(bundle, n_stored, sparse, settings, n_rows)
    number = len(dense) - 1 + np.cumsum(is_dense)
    in_lane = is_dense[bundle] if len(bundle) else np.zeros(0, dtype=bool)
    group[sparse.number[in_lane]] = number[bundle[in_lane]]
    first_code[sparse.number] = _first_codes(bundle, n_stored)
    first_code[sparse.number[~in_lane]] = 0
    n_codes = np.concatenate([n_bins[dense], n_codes[is_dense]])
    return _in_lanes(group, first_code, n_codes, settings, n_rows)


def _in_lanes(
    group: NDArray[np.int32],
    first_code: NDArray[np.int32],
    n_codes: NDArray[Any],
    settings: StorageSettings,
    n_rows: int,
) -> FeatureGroups:
    n_codes = n_codes.astype(np.int32)
    lanes = share_lanes(n_codes, n_rows if settings.enable_bundle else 0)
    return FeatureGroups(group, first_code, n_codes, *lanes)


def _dense_bundles(
    bundle: NDArray[np.int32],
    n_stored: NDArray[np.int32],
    sparse: SparseColumns,
    settings: StorageSettings,
    n_rows: int,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which bundles are cheaper as a lane, or a part of it, than as entries."""
    n_bundles = int(bundle.max(initial=-1)) + 1
    n_codes = 1 + np.bincount(bundle, n_stored, n_bundles).astype(np.int64)
    n_entries = np.bincount(bundle, np.diff(sparse.start), n_bundles)
    lanes = np.log(n_codes) / np.log(LANE_CODES) if settings.enable_bundle else 1.0
    saved = lanes * n_rows - LANES_PER_ENTRY * n_entries
    cheaper = saved <= 0
    fits = n_codes <= LANE_CODES
    if fits.all():
        cheaper |= saved[~cheaper].sum() <= LANES_OF_ENTRIES * n_rows
    return fits & (cheaper | (not settings.is_enable_sparse)), n_codes


def _first_codes(
    bundle: NDArray[np.int32], n_stored: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The code of stored bin 0 of each column of a bundle; code 0 is none of them."""
    order = np.argsort(bundle, kind="stable")
    end = np.cumsum(n_stored[order])
    start = end - n_stored[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = bundle[order][1:] != bundle[order][:-1]
    base = start[is_first][np.cumsum(is_first) - 1] if len(order) else start
    first_code = np.empty(len(order), dtype=np.int32)
    first_code[order] = 1 + start - base
    return first_code


def share_lanes(
    n_codes: NDArray[np.int32], n_rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Put groups of few codes together into lanes of one byte.

    Returns ``lane`` and ``radix``: see `Storage`. Within a lane the radix rises with
    the group's number, from 1. If no lane is shared, each group has the lane of its own
    number.
    """
    radix = np.ones(len(n_codes), dtype=np.int32)
    alone = np.arange(len(n_codes), dtype=np.int32)
    if n_rows < MIN_ROWS_TO_SHARE:
        return alone, radix
    lane = np.empty_like(alone)
    size, current = LANE_CODES, -1
    for j in np.argsort(n_codes, kind="stable"):
        if size * n_codes[j] > LANE_CODES:
            size, current = 1, current + 1
        lane[j] = current
        size *= n_codes[j]
    if current + 1 == len(n_codes):
        return alone, radix
    for members in np.split(
        np.argsort(lane, kind="stable"), np.cumsum(np.bincount(lane))[:-1]
    ):
        radix[members[1:]] = np.cumprod(n_codes[members[:-1]])
    return lane, radix


def without_conflicts(
    sparse: SparseColumns,
    groups: FeatureGroups,
    bytes_: NDArray[np.uint8],
    n_bins: NDArray[np.int32],
) -> SparseColumns:
    """The columns without the rows whose code in a bundle is that of another column."""
    length = np.diff(sparse.start)
    group, first_code = (
        np.repeat(values[sparse.number], length)
        for values in (groups.group, groups.first_code)
    )
    kept, bundled = np.ones(len(group), dtype=bool), group >= 0
    code = bytes_[group[bundled], sparse.rows[bundled]]
    bins = sparse.stored_bins()
    kept[bundled] = code == first_code[bundled] + bins[bundled]
    start = np.concatenate([[0], np.cumsum(kept)])[sparse.start]
    return SparseColumns.from_stored_bins(
        sparse.number, start, sparse.rows[kept], bins[kept], n_bins[sparse.number]
    )
