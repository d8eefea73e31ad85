"""How binned columns lie in memory.

They lie column by column, for the partition of rows, and row by row, for histograms. A
row consists of *lanes*, bytes with the codes of feature groups; of *shorts*, bins of
two bytes; and of *entries*, places in a histogram. ``_engine/training/layout.h``
describes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning.bundling import merge_bundles
from skgoss._engine.binning.packing import PIECE, pack_entries, pack_rows
from skgoss._engine.binning.store import BinStore
from skgoss.binning.bin_mapper import BinMapper, bin_categories, bin_columns, team
from skgoss.binning.feature_groups import (
    LANE_CODES,
    LANES_PER_ENTRY,
    LANES_PER_SHORT,
    NO_ROWS,
    FeatureGroups,
    SparseColumns,
    StorageSettings,
    find,
    make_groups,
    sparse_numbers,
    without_conflicts,
)
from skgoss.columns.columns import Columns
from skgoss.columns.stacked import StackedColumns, pieces
from skgoss.sources.memory import IN_MEMORY, Memory
from skgoss.utils.locks import cached_property

_Code = TypeVar("_Code", np.uint8, np.uint16)

# Rows are read as 64-bit integers.
ROW_ALIGNMENT = 8
CACHE_LINE = 64

# Measured, relative to a lane in the histograms of a tree: a column that is packed for
# the tree, a bundle whose codes change then, and an entry that is tested.
PACKED_WORK = 0.25
RECODED_WORK = 0.7
FILTERED_WORK = 0.2

# Measured: so many bins are gathered in the time that puts one value into its bin, so a
# further thread pays for so many times more of them.
GATHERED_PER_VALUE = 64


@dataclass(frozen=True, eq=False)
class Storage:
    """A binned training set.

    Lanes, shorts and entries are made when they are first used: rows that trees are
    only applied to need none.
    """

    store: BinStore  # the bins column by column, for the partition and for scores
    # (n_used,): the bin of a sparse column that is not stored, and has no place in a
    # histogram; -1: all bins have one.
    default_bin: NDArray[np.int32]
    offset: NDArray[np.int64]  # (n_used + 1,): the first place of each used column
    # (n_used,): the length of the run of columns from this one on that have two bins
    # each, and the same default bin.
    singles: NDArray[np.int32]
    feature_at: NDArray[np.int32]  # (n_places,): the used column of each place
    # (n_groups,): a group's codes are digits, worth ``radix``, of the numbers in
    # ``rows[:, lane]``.
    lane: NDArray[np.int32]
    radix: NDArray[np.int32]
    n_codes: NDArray[np.int32]
    # Where runs of codes go in a histogram; those of group g begin at
    # ``piece_start[g]``.
    pieces: NDArray[Any]
    piece_start: NDArray[np.int64]  # (n_groups + 1,)
    place_of_code: NDArray[np.int32]  # (n_groups, LANE_CODES)
    # The places of the columns that are shorts or have entries.
    place_pieces: NDArray[Any]
    n_threads: int
    memory: Memory = IN_MEMORY  # where lanes, shorts and entries are made

    @property
    def _empty(self) -> Callable[..., NDArray[Any]]:
        """Makes an array of a shape and dtype."""
        return np.empty if self.memory is IN_MEMORY else self.memory.empty

    @cached_property
    def rows(self) -> NDArray[np.uint8]:
        """The lanes, (n_rows, row_bytes): rows are padded to a multiple of 8 bytes."""
        n_lanes = int(self.lane.max(initial=-1)) + 1
        row_bytes = -(-n_lanes // ROW_ALIGNMENT) * ROW_ALIGNMENT
        codes = self.store.arrays.bytes
        return self._row_major(codes, self.lane, self.radix, row_bytes)

    @cached_property
    def shorts(self) -> NDArray[np.uint16]:
        """The bins of columns of more than LANE_CODES bins, (n_rows, n_shorts)."""
        codes = self.store.arrays.shorts
        number = np.arange(len(codes), dtype=np.int32)
        return self._row_major(codes, number, np.ones_like(number), len(codes))

    def _row_major(
        self,
        codes: NDArray[_Code],
        lane: NDArray[np.int32],
        radix: NDArray[np.int32],
        n_numbers: int,
    ) -> NDArray[_Code]:
        # From the start of a cache line, so that few rows are in two.
        shape = (self.store.n_rows, n_numbers)
        room = self._empty((math.prod(shape) + CACHE_LINE,), codes.dtype)
        address = room.__array_interface__["data"][0]
        first = -address % CACHE_LINE // codes.itemsize
        rows = room[first : first + math.prod(shape)].reshape(shape)
        pack_rows(codes, lane, radix, team(codes.size, self.n_threads), rows)
        return rows

    @property
    def in_shorts(self) -> NDArray[np.int64]:
        """The used columns that are shorts, in the order that they have in a row."""
        arrays = self.store.arrays
        return np.flatnonzero(arrays.column >= len(arrays.bytes))

    @property
    def entry_start(self) -> NDArray[np.int64] | None:
        """Where the entries of each row begin, and the end; None: no row has any."""
        return self._packed[0]

    @property
    def entries(self) -> NDArray[np.uint32]:
        """The places of the entries of all rows."""
        return self._packed[1]

    @cached_property
    def _packed(self) -> tuple[NDArray[np.int64] | None, NDArray[np.uint32]]:
        arrays = self.store.arrays
        sparse = np.flatnonzero(arrays.column < 0)
        if len(sparse) == 0:
            return None, np.empty(0, dtype=np.uint32)
        entry_start = np.empty(self.store.n_rows + 1, dtype=np.int64)
        n_stored = np.diff(arrays.sparse_start)[sparse].sum()
        entries = self._empty((n_stored,), np.uint32)
        pack_entries(
            arrays.sparse_start,
            arrays.sparse_rows,
            arrays.bin_start,
            arrays.sparse_bins,
            sparse,
            self.offset[sparse],
            entry_start,
            entries,
        )
        return entry_start, entries

    def pack(self) -> None:
        """Make all of it now: threads that make it together make several."""
        _ = self.rows, self.shorts, self._packed

    @property
    def row_updates(self) -> float:
        """The mean number of places that a row is added to."""
        store = self.store
        n_dense = len(self.lane) + len(store.arrays.shorts)
        if not store.has_sparse:
            return float(n_dense)
        return n_dense + len(self._packed[1]) / max(store.n_rows, 1)

    @property
    def group(self) -> NDArray[np.int32]:
        """The group of each used column; -1: it is accumulated by place."""
        column = self.store.arrays.column
        return np.where(column < len(self.lane), column, -1)

    @property
    def in_lanes(self) -> NDArray[np.int32]:
        """The used columns that have a group, by lane, group and code."""
        group, first_code = self.group, self.store.arrays.first_code
        member = np.flatnonzero(group >= 0).astype(np.int32)
        group = group[member]
        return member[np.lexsort((first_code[member], group, self.lane[group]))]

    @property
    def entry_lengths(self) -> NDArray[np.int64]:
        """The number of entries of each used column."""
        arrays = self.store.arrays
        return np.where(arrays.column < 0, np.diff(arrays.sparse_start), 0)

    def subset_work(self, share: float, sampled: float) -> float:
        """The time of a tree that packs its feature subset; 1: that without packing.

        The tree has the fraction ``share`` of the features, which it packs for all
        rows, and sums the fraction ``sampled`` of the rows.
        """
        group = self.group
        n_members = np.bincount(group[group >= 0], minlength=len(self.lane))
        # A group is packed if one of its columns is used, with the codes of those.
        chance = 1 - (1 - share) ** n_members  # (n_groups,): probabilities
        n_codes = 1 + (self.n_codes - 1) * share / chance
        n_lanes = len(np.unique(self.lane))
        weight = np.log(n_codes) / np.log(LANE_CODES)
        lanes = chance * (weight if n_lanes < len(self.lane) else 1)
        packing = chance * np.where(n_members > 1, RECODED_WORK, PACKED_WORK)
        shorts = LANES_PER_SHORT * len(self.store.arrays.shorts)
        entries = LANES_PER_ENTRY * len(self.entries) / max(self.store.n_rows, 1)
        packed = (
            lanes.sum()
            + (packing.sum() + PACKED_WORK * share * shorts) / max(sampled, 0.01)
            + share * shorts
            + (share + FILTERED_WORK) * entries
        )
        return float(packed / (n_lanes + shorts + entries))

    def take(self, rows: NDArray[np.int64], n_threads: int) -> Storage:
        """The storage of some rows, ascending and distinct, in the same `Memory`.

        All else is shared.
        """
        arrays = self.store.arrays
        n_columns = len(arrays.bytes) + len(arrays.shorts)
        n_values = len(rows) * n_columns + len(arrays.sparse_rows)
        n_threads_used = team(n_values // GATHERED_PER_VALUE, n_threads)
        store = self.store.take(rows, n_threads_used, self._empty)
        return replace(self, store=store, n_threads=n_threads)


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """The bins of used columns."""

    sparse: SparseColumns
    # (n_narrow, n_rows): the bins of each dense column of at most 256 bins.
    bytes: NDArray[np.uint8]
    shorts: NDArray[np.uint16]  # (n_wide, n_rows): the bins of each other dense column
    # Where larger arrays lie, if these may become those of a store because nothing else
    # uses them. None: they are copied.
    memory: Memory | None = None

    @classmethod
    def from_store(cls, store: BinStore) -> Bins:
        """The bins that a store holds; no array of the size of the data is copied."""
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
        """The bins of dense columns: those of at most 256 bins, and the others.

        ``narrow`` and ``wide`` are the numbers of these columns among the used ones.
        The first array has ``n_groups`` rows, of which the last ones are free.
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
        """The columns of these bins, which are ``n_used``, and of others."""
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


class _Values:
    """Values of used columns, with the interface of `Bins`."""

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
            self.sparse = find(columns, mappers, number, rows, n_threads)

    def dense(
        self, narrow: NDArray[np.int64], wide: NDArray[np.int64], n_groups: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        bytes_ = np.empty((n_groups, self.n_rows), dtype=np.uint8)
        shorts = np.empty((len(wide), self.n_rows), dtype=np.uint16)
        for members, out in ((narrow, bytes_[: len(narrow)]), (wide, shorts)):
            if len(members):
                self.fill(members, out)
        return bytes_, shorts

    def fill(self, members: NDArray[np.int64], out: NDArray[Any]) -> None:
        """Write the bins of dense columns."""
        if self.n_rows == 0:
            return
        is_category = [self.mappers[j].categories is not None for j in members]
        categorical = np.array(is_category, bool)
        numeric = members[~categorical]
        if len(numeric):
            # Categories stand between them.
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


def build(
    columns: Columns | StackedColumns,
    mappers: list[BinMapper],
    settings: StorageSettings,
    rows: NDArray[np.int64] | None,
    n_threads: int,
    n_global: int | None = None,
) -> Storage:
    """Bin the values of used columns, and store the bins.

    ``n_global`` is the number of rows of all processes, if these are not all. The
    places of histograms depend on it and on the mappers alone, so all processes have
    the same.
    """
    source = _source(columns, mappers, settings, rows, n_threads, n_global)
    return lay_out(source, mappers, settings, n_threads)


def _source(
    columns: Columns | StackedColumns,
    mappers: list[BinMapper],
    settings: StorageSettings,
    rows: NDArray[np.int64] | None,
    n_threads: int,
    n_global: int | None = None,
) -> Bins | _Values:
    """The values to store, or their bins if they are in several pieces."""
    if not isinstance(columns, StackedColumns):
        return _Values(columns, mappers, settings, rows, n_threads, n_global)
    n_rows = columns.n_rows if rows is None else len(rows)
    n_global = n_rows if n_global is None else n_global
    values = (
        _Values(piece, mappers, settings, used, n_threads, n_global)
        for piece, used in pieces(columns, rows)
    )
    return _binned(values, n_rows, mappers, settings, n_global, IN_MEMORY)


def build_batches(
    batches: Iterable[Columns],
    n_rows: int,
    mappers: list[BinMapper],
    settings: StorageSettings,
    n_threads: int,
    memory: Memory = IN_MEMORY,
) -> Storage:
    """Bin columns whose ``n_rows`` rows come in batches: see `build`."""
    values = (
        _Values(columns, mappers, settings, None, n_threads, n_rows)
        for columns in batches
    )
    bins = _binned(values, n_rows, mappers, settings, n_rows, memory)
    return replace(lay_out(bins, mappers, settings, n_threads), memory=memory)


def _binned(
    batches: Iterable[_Values],
    n_rows: int,
    mappers: list[BinMapper],
    settings: StorageSettings,
    n_global: int,
    memory: Memory,
) -> Bins:
    """The bins of values that come in batches, of so many rows altogether."""
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


def store(
    columns: Columns | StackedColumns,
    mappers: list[BinMapper],
    settings: StorageSettings,
    rows: NDArray[np.int64] | None,
    n_threads: int,
) -> BinStore:
    """Store bins column by column only, for rows that trees are applied to.

    Columns of a bundle must not conflict here: ``settings.max_conflict_rate`` is 0.
    """
    source = _source(columns, mappers, settings, rows, n_threads)
    bin_store, _ = _store(source, mappers, settings, n_threads)
    return bin_store


def lay_out(
    source: Bins | _Values,
    mappers: list[BinMapper],
    settings: StorageSettings,
    n_threads: int,
) -> Storage:
    """Store the bins of used columns, column by column and row by row."""
    bin_store, groups = _store(source, mappers, settings, n_threads)
    arrays = bin_store.arrays
    n_bins, default_bin = arrays.n_bins, arrays.default_bin
    offset = np.append(0, np.cumsum(n_bins - (default_bin >= 0), dtype=np.int64))
    pieces, piece_start = _pieces(groups, offset)
    in_lanes = (arrays.column >= 0) & (arrays.column < len(arrays.bytes))
    return Storage(
        store=bin_store,
        default_bin=default_bin,
        offset=offset,
        singles=_singles(mappers, n_bins, default_bin),
        feature_at=np.repeat(np.arange(len(mappers), dtype=np.int32), np.diff(offset)),
        lane=groups.lane,
        radix=groups.radix,
        n_codes=groups.n_codes,
        pieces=pieces,
        piece_start=piece_start,
        place_of_code=_places(groups, offset),
        place_pieces=_joined_pieces(np.flatnonzero(~in_lanes), offset)[0],
        n_threads=n_threads,
    )


def _store(
    source: Bins | _Values,
    mappers: list[BinMapper],
    settings: StorageSettings,
    n_threads: int,
) -> tuple[BinStore, FeatureGroups]:
    """Bins column by column, and the groups of columns."""
    n_bins = np.array([m.n_bins for m in mappers], dtype=np.int32)
    sparse = source.sparse
    is_sparse = np.zeros(len(mappers), dtype=bool)
    is_sparse[sparse.number] = True
    groups = make_groups(sparse, is_sparse, n_bins, settings, source.n_rows)
    default_bin = np.full(len(mappers), -1, dtype=np.int32)
    if len(sparse.number):
        zero_bins = [mappers[j].zero_bin for j in np.flatnonzero(is_sparse)]
        default_bin[is_sparse] = zero_bins
    bytes_, shorts, column = _codes(source, groups, is_sparse, n_threads)
    if settings.max_conflict_rate > 0:
        sparse = without_conflicts(sparse, groups, bytes_, n_bins)
    bin_store = BinStore(
        n_bins,
        default_bin,
        column,
        groups.first_code,
        bytes_,
        shorts,
        *_of_all_columns(sparse, len(mappers)),
    )
    return bin_store, groups


def _of_all_columns(sparse: SparseColumns, n_used: int) -> tuple[NDArray[Any], ...]:
    """The arrays with an entry for each used column; dense ones have no rows."""
    start, bin_start = np.zeros((2, n_used + 1), dtype=np.int64)
    start[sparse.number + 1] = np.diff(sparse.start)
    bin_start[sparse.number + 1] = np.diff(sparse.bin_start)
    return start.cumsum(), sparse.rows, bin_start.cumsum(), sparse.bins


def _codes(
    source: Bins | _Values,
    groups: FeatureGroups,
    is_sparse: NDArray[np.bool_],
    n_threads: int,
) -> tuple[NDArray[np.uint8], NDArray[np.uint16], NDArray[np.int32]]:
    """Codes of groups, bins of wide columns, and which row of these each column is."""
    wide = np.flatnonzero(~is_sparse & (groups.group < 0))
    column = groups.group.copy()
    column[wide] = len(groups.n_codes) + np.arange(len(wide))
    n_narrow = int((~is_sparse).sum()) - len(wide)
    narrow = np.flatnonzero(~is_sparse & (groups.group >= 0))
    bytes_, shorts = source.dense(narrow, wide, len(groups.n_codes))
    if n_narrow < len(bytes_):
        _fill_bundles(source.sparse, groups, n_narrow, n_threads, bytes_[n_narrow:])
    return bytes_, shorts, column


def _fill_bundles(
    sparse: SparseColumns,
    groups: FeatureGroups,
    n_narrow: int,
    n_threads: int,
    out: NDArray[np.uint8],
) -> None:
    """Write the codes of bundles, whose groups come after ``n_narrow`` others."""
    bundle = groups.group[sparse.number] - n_narrow
    order = np.argsort(bundle, kind="stable").astype(np.int32)
    merge_bundles(
        sparse.start,
        sparse.rows,
        sparse.bin_start,
        sparse.bins,
        np.searchsorted(bundle[order], np.arange(len(out) + 1)),
        order,
        groups.first_code[sparse.number],
        out,
        n_threads,
    )


def _pieces(
    groups: FeatureGroups, offset: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Runs of codes whose places are consecutive, group by group."""
    member = np.flatnonzero(groups.group >= 0)
    member = member[np.lexsort((groups.first_code[member], groups.group[member]))]
    group, code = groups.group[member], groups.first_code[member]
    length = offset[member + 1] - offset[member]
    follows = (group[1:] == group[:-1]) & (code[1:] == code[:-1] + length[:-1])
    pieces, first = _joined_pieces(member, offset, follows)
    pieces["code"] = code[first]
    n_pieces = np.bincount(group[first], minlength=len(groups.n_codes))
    return pieces, np.append(0, np.cumsum(n_pieces, dtype=np.int64))


def _joined_pieces(
    member: NDArray[np.int64],
    offset: NDArray[np.int64],
    follows: NDArray[np.bool_] | bool = True,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The places of used columns, and the first column of each piece.

    A column is in the piece of the one before it if it ``follows``, and its places
    come next.
    """
    is_first = np.ones(len(member), dtype=bool)
    is_first[1:] = offset[member[1:]] != offset[member[:-1] + 1]
    is_first[1:] |= np.logical_not(follows)
    first = np.flatnonzero(is_first)
    pieces = np.zeros(len(first), dtype=PIECE)
    pieces["at"] = offset[member[first]]
    last = member[np.append(first[1:], len(member))[: len(first)] - 1]
    pieces["length"] = offset[last + 1] - pieces["at"]
    return pieces, first


def _places(groups: FeatureGroups, offset: NDArray[np.int64]) -> NDArray[np.int32]:
    """The place of each code of each group."""
    places = np.full((len(groups.n_codes), LANE_CODES), -1, dtype=np.int32)
    column = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    place = np.flatnonzero(groups.group[column] >= 0)
    column = column[place]
    code = groups.first_code[column] + place - offset[column]
    places[groups.group[column], code] = place
    return places


def _singles(
    mappers: list[BinMapper], n_bins: NDArray[np.int32], default_bin: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The length of the run of columns, from each on, that have one possible split."""
    if not (default_bin >= 0).any():
        return np.zeros(len(mappers), dtype=np.int32)
    is_plain = [m.missing_bin < 0 and m.categories is None for m in mappers]
    single = np.array(is_plain, dtype=bool) & (n_bins == 2) & (default_bin >= 0)
    kind, number = np.where(single, default_bin, -1), np.arange(len(mappers))
    ends = np.flatnonzero(np.diff(kind, append=-2)) + 1
    end = ends[np.searchsorted(ends, number, side="right")]
    return np.where(single, end - number, 0).astype(np.int32)
