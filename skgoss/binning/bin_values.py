"""The bins of values: of all rows in dense columns, of the stored rows in sparse ones.

Sparse columns are zero in most rows. Their *default bin* is that of zero, and their
*stored rows* are not in it. Their *stored bins* are numbered without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning import bin_search, category_kernels, listed_rows
from skgoss._engine.binning.store import BinStore
from skgoss.binning.find_bins import BinMapper, n_values_of, team
from skgoss.columns.columns import Columns, changed, row_positions
from skgoss.columns.stacked import StackedColumns, pieces
from skgoss.sources.memory import IN_MEMORY, Memory

# Enough buckets to separate most bounds. Their table fits into the nearest cache.
BUCKETS_PER_BOUND = 8
MAX_BUCKETS = 2048

# A column is sparse if at least this proportion of its values is zero. With fewer rows
# and fewer columns than these, sparse columns cost more than they save.
MIN_ZERO_SHARE = 0.5
MIN_ROWS = 4096
MIN_COLUMNS = 256

# The number of codes of a byte. Columns of more bins take two bytes in each row.
LANE_CODES = 256

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
        """The options of settings, with a conflict rate of 0."""
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
        """The stored bin of each entry of ``rows``, column by column.

        ``bins`` leaves out columns of two bins, whose only stored bin is 0; here they
        are filled in.
        """
        length = np.diff(self.start)
        if len(self.bins) == len(self.rows):
            return self.bins
        bins = np.zeros(len(self.rows), dtype=np.uint16)
        bins[np.repeat(np.diff(self.bin_start) > 0, length)] = self.bins
        return bins

    @classmethod
    def stacked(
        cls, number: NDArray[Any], pieces: list[tuple[int, SparseColumns]]
    ) -> SparseColumns:
        """Join batches of rows, one below the other.

        ``number`` has the numbers of the sparse columns among the used ones.
        ``pieces`` are in order: the number of the first row of each batch, and its
        sparse columns. The list is emptied, which frees memory.
        """
        lengths = np.zeros((2, len(number) + 1), dtype=np.int64)
        for _, piece in pieces:
            lengths[:, 1:] += np.diff([piece.start, piece.bin_start])
        start, bin_start = np.cumsum(lengths, axis=1)
        rows = np.empty(start[-1], dtype=np.uint32)
        bins = np.empty(bin_start[-1], dtype=np.uint16)
        # By column: where its next stored row, and its next stored bin, is written.
        next_row, next_bin = start[:-1].copy(), bin_start[:-1].copy()
        while pieces:
            first, piece = pieces.pop(0)
            rows[_targets(next_row, piece.start)] = piece.rows + np.uint32(first)
            bins[_targets(next_bin, piece.bin_start)] = piece.bins
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
        """Sparse columns, from the stored bin of each stored row.

        ``n_bins``, (n_sparse,), counts the bins of each column with its default bin.
        ``bins`` has one value for each of ``rows``; those of columns of two bins are
        dropped, because they are all 0. For the rest see the attributes.
        """
        length, has_bins = np.diff(start), n_bins > 2
        bin_start = np.concatenate([[0], np.cumsum(np.where(has_bins, length, 0))])
        if not has_bins.all():
            bins = bins[np.repeat(has_bins, length)]
        return cls(number, start, rows, bin_start, bins)


def _targets(
    next_inout: NDArray[np.int64], start: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The positions to which the values of several lists are appended.

    The lists lie one after the other; list i begins at ``start[i]``. ``next_inout[i]``
    is the position of its first value, and is moved behind its last one.
    """
    length = np.diff(start)
    target = np.repeat(next_inout - start[:-1], length) + np.arange(start[-1])
    next_inout += length
    return target


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """The bins of used columns."""

    sparse: SparseColumns
    # (n_narrow, n_rows): the bins of each dense column of at most 256 bins.
    bytes: NDArray[np.uint8]
    shorts: NDArray[np.uint16]  # (n_wide, n_rows): the bins of each other dense column
    # If nothing else uses the arrays, so that a store may take them over: where larger
    # ones are made. None: they are copied.
    memory: Memory | None = None

    @classmethod
    def from_store(cls, store: BinStore) -> Bins:
        """The bins in a store; no array of the size of the data is copied."""
        arrays = store.arrays
        is_sparse = arrays.default_bin >= 0
        number = np.flatnonzero(is_sparse)
        edges = np.append(number, len(is_sparse))
        sparse = SparseColumns(
            number.astype(np.int32),
            arrays.sparse_start[edges],
            arrays.sparse_rows,
            arrays.bin_start[edges],
            arrays.sparse_bins,
        )
        n_narrow = int((~is_sparse & (arrays.column < len(arrays.bytes))).sum())
        return cls(sparse, arrays.bytes[:n_narrow], arrays.shorts)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.bytes.shape[1]

    def dense(
        self, narrow: NDArray[np.int64], wide: NDArray[np.int64], n_groups: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """The bins of dense columns: those of at most 256 bins, and those of more.

        ``narrow`` and ``wide`` are the numbers of these columns among the used ones.
        The arrays have a line for each column, and one number for each row. The first
        one has ``n_groups`` lines: those after the narrow columns are not set, and the
        caller writes the codes of bundles there.
        """
        memory = self.memory
        if memory is not None and n_groups == len(self.bytes):
            return self.bytes, self.shorts
        if memory is not None and self.bytes.flags.owndata:
            # Large memory is moved by its pages, without a copy.
            self.bytes.resize((n_groups, self.n_rows), refcheck=False)
            return self.bytes, self.shorts
        bytes_ = (memory or IN_MEMORY).empty((n_groups, self.n_rows), np.uint8)
        bytes_[: len(narrow)] = self.bytes
        return bytes_, self.shorts.copy() if memory is None else self.shorts

    def joined(self, other: Bins, n_used: int) -> Bins:
        """The columns of these bins, and then those of ``other``, of the same rows.

        ``n_used`` is the number of columns of these bins, dense and sparse.
        """
        one, two = self.sparse, other.sparse
        sparse = SparseColumns(
            np.concatenate([one.number, n_used + two.number]).astype(np.int32),
            np.concatenate([one.start, one.start[-1] + two.start[1:]]),
            np.concatenate([one.rows, two.rows]),
            np.concatenate([one.bin_start, one.bin_start[-1] + two.bin_start[1:]]),
            np.concatenate([one.bins, two.bins]),
        )
        return Bins(
            sparse,
            np.concatenate([self.bytes, other.bytes]),
            np.concatenate([self.shorts, other.shorts]),
        )


class Values:
    """Values of used columns, with the interface of `Bins`.

    Dense columns are put into bins when `dense` or `fill` is called, straight into the
    array that stores them; sparse columns at once. ``rows`` are the numbers of the rows
    to use, ascending; None: all. ``n_global`` is the number of rows of all processes
    of a distributed fit, or of all batches; None: there are no others. It decides
    which columns are sparse, so that all processes and batches agree.
    """

    def __init__(
        self,
        columns: Columns,
        mappers: list[BinMapper],
        settings: StorageSettings,
        rows: NDArray[np.int64] | None,
        n_threads: int,
        n_global: int | None = None,
    ) -> None:
        self.columns = columns
        self.mappers = mappers
        self.rows = rows
        self.n_threads = n_threads
        self.n_rows = n_rows = columns.n_rows if rows is None else len(rows)
        number = sparse_numbers(
            mappers, settings, n_rows if n_global is None else n_global
        )
        self.sparse = SparseColumns(number, *NO_ROWS)
        if len(number):
            self.sparse = find_sparse(columns, mappers, number, rows, n_threads)

    def dense(
        self, narrow: NDArray[np.int64], wide: NDArray[np.int64], n_groups: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """The bins of dense columns, made from the values: see `Bins.dense`."""
        bytes_ = np.empty((n_groups, self.n_rows), dtype=np.uint8)
        shorts = np.empty((len(wide), self.n_rows), dtype=np.uint16)
        for members, out in ((narrow, bytes_[: len(narrow)]), (wide, shorts)):
            if len(members):
                self.fill(members, out)
        return bytes_, shorts

    def fill(self, members: NDArray[np.int64], out: NDArray[Any]) -> None:
        """Write the bins of the used columns ``members``, which are dense.

        ``out`` has the shape (len(members), n_rows).
        """
        if self.n_rows == 0:
            return
        is_category = [self.mappers[j].categories is not None for j in members]
        categorical = np.array(is_category, bool)
        numeric = members[~categorical]
        if len(numeric):
            # Kernels write neighboring columns, but there may be categories between.
            into = np.empty_like(out[~categorical]) if categorical.any() else out
            bin_columns(
                self.columns, self.mappers, numeric, self.rows, self.n_threads, into
            )
            if into is not out:
                out[~categorical] = into
        if categorical.any():
            chosen = members[categorical]
            out[categorical] = bin_categories(
                self.columns.take(chosen),
                [self.mappers[j] for j in chosen],
                rows=self.rows,
                n_threads=self.n_threads,
            )


def storage_source(
    columns: Columns | StackedColumns,
    mappers: list[BinMapper],
    settings: StorageSettings,
    rows: NDArray[np.int64] | None,
    n_threads: int,
    n_global: int | None = None,
) -> Bins | Values:
    """The values to store; if the columns consist of several pieces of rows, the bins.

    ``columns`` and ``mappers`` are those of the used columns, ``rows`` the numbers of
    the rows to store, None: all. ``n_global`` is the number of rows of all processes
    of a distributed fit; None: this process has them all.
    """
    if not isinstance(columns, StackedColumns):
        return Values(columns, mappers, settings, rows, n_threads, n_global)
    n_rows = columns.n_rows if rows is None else len(rows)
    n_global = n_rows if n_global is None else n_global
    values = (
        Values(piece, mappers, settings, used, n_threads, n_global)
        for piece, used in pieces(columns, rows)
    )
    return binned(values, n_rows, mappers, settings, n_global, IN_MEMORY)


def binned(
    batches: Iterable[Values],
    n_rows: int,
    mappers: list[BinMapper],
    settings: StorageSettings,
    n_global: int,
    memory: Memory,
) -> Bins:
    """The bins of values that come in batches, which have ``n_rows`` rows altogether.

    ``mappers`` are those of the used columns. ``n_global`` is the number of rows of all
    processes, from which the batches were made. The new arrays lie in ``memory``.
    """
    is_narrow = np.array([m.n_bins for m in mappers], np.int32) <= LANE_CODES
    is_sparse = np.zeros(len(mappers), dtype=bool)
    is_sparse[sparse_numbers(mappers, settings, n_global)] = True
    members = [
        np.flatnonzero(~is_sparse & chosen) for chosen in (is_narrow, ~is_narrow)
    ]
    bytes_, shorts = (
        memory.empty((len(chosen), n_rows), dtype)
        for chosen, dtype in zip(members, (np.uint8, np.uint16), strict=True)
    )
    lists: list[tuple[int, SparseColumns]] = []
    start = 0
    for values in batches:
        stop = start + values.n_rows
        for chosen, out in zip(members, (bytes_, shorts), strict=True):
            if len(chosen):
                values.fill(chosen, out[:, start:stop])
        lists.append((start, values.sparse))
        start = stop
    sparse = SparseColumns.stacked(np.flatnonzero(is_sparse), lists)
    return Bins(sparse, bytes_, shorts, memory)


def find_sparse(
    columns: Columns,
    mappers: list[BinMapper],
    number: NDArray[np.int32],
    rows: NDArray[np.int64] | None,
    n_threads: int,
) -> SparseColumns:
    """The stored rows and bins of the sparse columns.

    ``number`` has their numbers among ``columns``, at least one. ``rows`` are the rows
    to use, None: all; the result numbers them from 0.
    """
    n_rows = columns.n_rows if rows is None else len(rows)
    if n_rows == 0:
        start = np.zeros(len(number) + 1, dtype=np.int64)
        return SparseColumns(number, start, NO_ROWS[1], start, NO_ROWS[3])
    lists = bin_sparse_columns(columns, mappers, number, rows=rows, n_threads=n_threads)
    return SparseColumns(number, *lists)


def sparse_numbers(
    mappers: list[BinMapper], settings: StorageSettings, n_rows: int
) -> NDArray[np.int32]:
    """The numbers of the sparse columns among the used ones, ascending.

    ``mappers`` are those of the used columns. The result is empty if there are few rows
    and columns, or if the options allow neither of the uses: bundles, and entries,
    which are histogram bins that a row stores itself. ``n_rows`` counts the rows of all
    processes.
    """
    is_small = n_rows < MIN_ROWS and len(mappers) < MIN_COLUMNS
    if is_small or not (settings.enable_bundle or settings.is_enable_sparse):
        return np.empty(0, np.int32)
    share = np.array([m.zero_share for m in mappers])
    return np.flatnonzero(share >= MIN_ZERO_SHARE).astype(np.int32)


def category_table(
    mappers: list[BinMapper],
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """A table from categories to bins, in the form that kernels read.

    Returns the bins, one column after the other, and where those of each column begin,
    (n_columns + 1,). Category c of column j has the bin ``bins[start[j] + 1 + c]``.
    The entry before category 0 is bin 0: that of missing values and of categories
    beyond the last entry. Categories between without a bin of their own have 0, too.
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

    Their type is uint16 if any column has more than 256 bins, else uint8. ``rows`` are
    the numbers of the rows to bin; None: all. ``mappers`` are those of the columns.
    """
    n_rows = columns.n_rows if rows is None else len(rows)
    is_wide = max(mapper.n_bins for mapper in mappers) > LANE_CODES
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
    """Write the bins of some columns of numbers into ``bins_out``.

    ``features`` are the numbers of the columns in ``columns`` and ``mappers``, and
    ``rows`` the rows to use, None: all. ``bins_out`` is (len(features), n_rows).
    """
    if len(features) < columns.n_features:
        columns = columns.take(features)
    for span, own in columns.by_span(n_threads):
        chosen = [mappers[j] for j in features[span]]
        bin_search.bin_columns(
            own,
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

    ``features`` are the numbers of the columns in ``columns`` and ``mappers``. Returns
    the attributes ``start``, ``rows``, ``bin_start`` and ``bins`` of `SparseColumns`.
    A first pass counts the rows of each column, a second one writes them. ValueError
    if another thread changes the data between the passes.
    """
    n_rows = columns.n_rows if rows is None else len(rows)
    positions = row_positions(columns, rows)
    start = np.zeros(len(features) + 1, dtype=np.int64)
    bin_start = np.zeros(len(features) + 1, dtype=np.int64)
    has_bins = np.array([mappers[j].n_bins > 2 for j in features])
    taken = columns.take(features)
    # An upper limit: the system provides memory only where it is written.
    list_rows = np.empty(taken.n_stored(n_threads), dtype=np.uint32)
    binned = taken.take(np.flatnonzero(has_bins))
    list_bins = np.empty(binned.n_stored(n_threads), dtype=np.uint16)
    for span, own in taken.by_span(n_threads):
        chosen = [mappers[j] for j in features[span]]
        edges = slice(span.start, span.stop + 1)
        arguments = (
            own,
            rows,
            positions,
            n_rows,
            _bin_search(chosen),
            team(int(n_values_of(own, n_rows).sum()), n_threads),
            start[edges],
        )
        listed_rows.list_columns(*arguments, None, None, None)
        # Columns of two bins have one stored bin, which is not listed.
        length = np.where(has_bins[span], np.diff(start[edges]), 0)
        bin_start[edges][1:] = bin_start[span.start] + np.cumsum(length)
        list_rows = _grown(list_rows, start[span.stop])
        list_bins = _grown(list_bins, bin_start[span.stop])
        if not listed_rows.list_columns(
            *arguments, bin_start[edges], list_rows, list_bins
        ):
            raise changed()
    list_rows.resize(start[-1], refcheck=False)
    list_bins.resize(bin_start[-1], refcheck=False)
    return start, list_rows, bin_start, list_bins


def _grown(values: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with room for at least ``size`` values, resized in place if possible.

    The estimate of its size may have been too low. An empty array owns no memory.
    """
    if size <= len(values):
        return values
    if not len(values):
        return np.empty(size, dtype=values.dtype)
    values.resize(size, refcheck=False)
    return values


def _bin_search(mappers: list[BinMapper]) -> bin_search.BinSearch:
    """The bounds of at least one column of numbers, in the form that kernels search.

    The bounds of a column with n finite ones take 2n + 1 places: the finite bounds,
    then infinities. ``first_start`` says where the buckets of each column begin: a
    table by value that tells the kernel where to begin its search.
    """
    fields = BinMapper._make(zip(*mappers, strict=True))
    upper_bounds = fields.upper_bounds
    lengths = np.array(list(map(len, upper_bounds)), dtype=np.int64)
    n_bounds = lengths - 1
    length = 2 * n_bounds + 1
    start = length.cumsum() - length
    # Even a search that starts at the last bound reads infinities behind it.
    bounds = np.full(length.sum(), np.inf)
    shift = np.repeat(start - (lengths.cumsum() - lengths), lengths)
    bounds[shift + np.arange(len(shift))] = np.concatenate(upper_bounds)
    first_start = np.zeros(len(mappers) + 1, dtype=np.int64)
    n_buckets = np.minimum(BUCKETS_PER_BOUND * n_bounds, MAX_BUCKETS)
    np.maximum(n_buckets, 1).cumsum(out=first_start[1:])
    return bin_search.BinSearch(
        bounds,
        start,
        n_bounds,
        first_start,
        np.array(fields.nan_bin, dtype=np.int32),
        np.array(fields.zero_bin, dtype=np.int32),
    )
