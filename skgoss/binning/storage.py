"""How binned columns lie in memory.

They lie column by column, for the partition of rows, and row by row, for histograms. A
row consists of *lanes*, bytes with the codes of feature groups; of *shorts*, bins of
two bytes; and of *entries*, bins of a histogram. ``_engine/training/layout.h``
describes them.

Sparse columns that are rarely stored in the same rows share the codes of one column:
exclusive feature bundling (EFB), G. Ke et al., "LightGBM: A Highly Efficient Gradient
Boosting Decision Tree", NeurIPS 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning.bundling import find_bundles, merge_bundles
from skgoss._engine.binning.packing import PIECE, pack_entries, pack_rows
from skgoss._engine.binning.store import BinStore
from skgoss.binning.bin_values import (
    LANE_CODES,
    Bins,
    SparseColumns,
    StorageSettings,
    Values,
    binned,
    storage_source,
)
from skgoss.binning.find_bins import BinMapper, team
from skgoss.columns.columns import Columns
from skgoss.columns.stacked import StackedColumns
from skgoss.sources.memory import IN_MEMORY, Memory

_Code = TypeVar("_Code", np.uint8, np.uint16)

# Groups of few codes share a lane if the product of their numbers of codes is at most
# LANE_CODES. To separate the sums of each group from those of the lane pays off from
# this number of rows on.
MIN_ROWS_TO_SHARE = 4096

# Measured, as numbers of lanes that cost as much: a short, an entry, and for each row,
# the loop over its entries, if rows have any.
LANES_PER_SHORT = 2.0
LANES_PER_ENTRY = 6.0
ENTRIES_OVERHEAD = 10.0

# Rows are read as 64-bit integers.
ROW_ALIGNMENT = 8
CACHE_LINE = 64

# Measured, relative to the histograms of a lane in a tree: to pack a column for the
# tree, to pack a bundle, whose codes change, and to test whether an entry is that of a
# feature of the tree.
PACKED_WORK = 0.25
RECODED_WORK = 0.7
FILTERED_WORK = 0.2

# Measured: the number of bins that are gathered in the time of finding the bin of one
# value. A thread needs this many times more of them.
GATHERED_PER_VALUE = 64


class PackedRows(NamedTuple):
    """Bins row by row."""

    # The lanes, (n_rows, row_bytes). Rows are padded to a multiple of 8 bytes.
    rows: NDArray[np.uint8]
    # The bins of columns of more than LANE_CODES bins, (n_rows, n_shorts).
    shorts: NDArray[np.uint16]
    # Where the entries of each row begin, and the end; None: no row has any.
    entry_start: NDArray[np.int64] | None
    entries: NDArray[np.uint32]  # the histogram bins of the entries of all rows


@dataclass(frozen=True, eq=False)
class Storage:
    """A binned training set.

    Lanes, shorts and entries are made when they are first used: rows to which trees are
    only applied need none.
    """

    store: BinStore  # the bins column by column, for the partition and for scores
    # (n_used,): the bin of a sparse column that is not stored, and is not in a
    # histogram; -1: all bins are.
    default_bin: NDArray[np.int32]
    # (n_used + 1,): the first histogram bin of each used column.
    offset: NDArray[np.int64]
    # (n_used,): the number of consecutive columns, from this one on, that have one
    # possible split each (two bins) and the same default bin.
    singles: NDArray[np.int32]
    feature_at: NDArray[np.int32]  # (n_hist_bins,): the used column of each
    # (n_groups,): the codes of a group are digits of the numbers in ``rows[:, lane]``:
    # ``rows[:, lane] // radix % n_codes``.
    lane: NDArray[np.int32]
    radix: NDArray[np.int32]
    n_codes: NDArray[np.int32]
    # Runs of codes whose histogram bins are consecutive; those of group g begin at
    # ``piece_start[g]``.
    pieces: NDArray[Any]
    piece_start: NDArray[np.int64]  # (n_groups + 1,)
    hist_bin_of_code: NDArray[np.int32]  # (n_groups, LANE_CODES)
    # Runs of histogram bins of the columns that are shorts or have entries.
    hist_bin_pieces: NDArray[Any]
    n_threads: int
    memory: Memory = IN_MEMORY  # where lanes, shorts and entries are made

    @property
    def _empty(self) -> Callable[..., NDArray[Any]]:
        """Makes an array of a shape and dtype."""
        return np.empty if self.memory is IN_MEMORY else self.memory.empty

    def pack(self) -> PackedRows:
        """The bins row by row, which are made in the first call.

        Threads that call it at the same time may each make them.
        """
        packed: PackedRows | None = vars(self).get("_packed")
        return (
            vars(self).setdefault("_packed", self._pack()) if packed is None else packed
        )

    @property
    def rows(self) -> NDArray[np.uint8]:
        """The lanes: see `PackedRows`."""
        return self.pack().rows

    @property
    def shorts(self) -> NDArray[np.uint16]:
        """The bins of columns of more than LANE_CODES bins: see `PackedRows`."""
        return self.pack().shorts

    @property
    def entry_start(self) -> NDArray[np.int64] | None:
        """Where the entries of each row begin: see `PackedRows`."""
        return self.pack().entry_start

    @property
    def entries(self) -> NDArray[np.uint32]:
        """The histogram bins of the entries of all rows."""
        return self.pack().entries

    def _pack(self) -> PackedRows:
        """Make the bins row by row."""
        arrays = self.store.arrays
        n_lanes = int(self.lane.max(initial=-1)) + 1
        row_bytes = -(-n_lanes // ROW_ALIGNMENT) * ROW_ALIGNMENT
        short = np.arange(len(arrays.shorts), dtype=np.int32)
        one = np.ones_like(short)
        n_threads = team(arrays.bytes.size + arrays.shorts.size, self.n_threads)
        return PackedRows(
            self._row_major(arrays.bytes, self.lane, self.radix, row_bytes, n_threads),
            self._row_major(arrays.shorts, short, one, len(short), n_threads),
            *self._entries(),
        )

    def _row_major(
        self,
        codes: NDArray[_Code],
        lane: NDArray[np.int32],
        radix: NDArray[np.int32],
        n_numbers: int,
        n_threads: int,
    ) -> NDArray[_Code]:
        """The lanes or shorts of all rows, (n_rows, n_numbers).

        ``codes`` are those of groups, (n_groups, n_rows), or the bins of wide columns.
        The number of row i in a lane is the sum of ``codes[g, i] * radix[g]`` over the
        groups g with this ``lane``.
        """
        # Aligned to cache lines, so that fewer rows extend over two of them.
        shape = (self.store.n_rows, n_numbers)
        room = self._empty((math.prod(shape) + CACHE_LINE,), codes.dtype)
        address = room.__array_interface__["data"][0]
        first = -address % CACHE_LINE // codes.itemsize
        rows = room[first : first + math.prod(shape)].reshape(shape)
        pack_rows(codes, lane, radix, n_threads, rows)
        return rows

    @property
    def in_shorts(self) -> NDArray[np.int64]:
        """The used columns that are shorts, in their order in a row."""
        arrays = self.store.arrays
        return np.flatnonzero(arrays.column >= len(arrays.bytes))

    def _entries(self) -> tuple[NDArray[np.int64] | None, NDArray[np.uint32]]:
        """Where the entries of each row begin, and their histogram bins.

        An entry is a histogram bin that a row stores itself, of a sparse column that
        is in no lane. None: there are no such columns.
        """
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

    @property
    def row_updates(self) -> float:
        """The mean number of histogram bins that a row is added to."""
        store = self.store
        n_dense = len(self.lane) + len(store.arrays.shorts)
        if not store.has_sparse:
            return float(n_dense)
        return n_dense + len(self.entries) / max(store.n_rows, 1)

    @property
    def group(self) -> NDArray[np.int32]:
        """The group of each used column; -1: it is a short, or has entries."""
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
        """The time of a tree that packs its feature subset, relative to one without.

        A tree with the fraction ``share`` of the features can copy their bins into
        rows of their own first, or sum the histograms of all features. Copying costs a
        pass over all rows; the histograms then sum only what is needed, for the
        fraction ``sampled`` of the rows. It pays off if the result is below 1. All
        times are in units of summing one lane of the sampled rows; the constants are
        measured.
        """
        group = self.group
        n_members = np.bincount(group[group >= 0], minlength=len(self.lane))
        # A group is packed if the tree has one of its columns, with the codes of these
        # columns. (n_groups,): the probability of that, and the expected codes then.
        is_packed = 1 - (1 - share) ** n_members
        n_codes = 1 + (self.n_codes - 1) * share / is_packed
        n_lanes = len(np.unique(self.lane))
        # Groups that share a lane need a part of it: codes multiply.
        lane_part = np.log(n_codes) / np.log(LANE_CODES)
        lanes = is_packed * (lane_part if n_lanes < len(self.lane) else 1)
        packing = is_packed * np.where(n_members > 1, RECODED_WORK, PACKED_WORK)
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

        Whatever does not depend on the rows is shared.
        """
        arrays = self.store.arrays
        n_columns = len(arrays.bytes) + len(arrays.shorts)
        n_values = len(rows) * n_columns + len(arrays.sparse_rows)
        empty = self._empty
        n_threads_used = team(n_values // GATHERED_PER_VALUE, n_threads)
        store = self.store.take(rows, n_threads_used, empty)
        return replace(self, store=store, n_threads=n_threads)


def build_batches(
    batches: Iterable[Columns],
    n_rows: int,
    mappers: list[BinMapper],
    settings: StorageSettings,
    n_threads: int,
    memory: Memory = IN_MEMORY,
) -> Storage:
    """`lay_out` of used columns whose ``n_rows`` rows are read in batches.

    ``memory`` is where the large arrays are made: on the heap or in a file.
    """
    values = (
        Values(columns, mappers, settings, None, n_threads, n_rows)
        for columns in batches
    )
    bins = binned(values, n_rows, mappers, settings, n_rows, memory)
    return replace(lay_out(bins, mappers, settings, n_threads), memory=memory)


def store(
    columns: Columns | StackedColumns,
    mappers: list[BinMapper],
    settings: StorageSettings,
    rows: NDArray[np.int64] | None,
    n_threads: int,
) -> BinStore:
    """Store bins column by column only, for rows to which trees are applied.

    ``rows`` are the numbers of the rows to store, None: all. No bin may be lost, so
    columns of a bundle must not be stored in the same row: the caller passes settings
    whose ``max_conflict_rate`` is 0.
    """
    source = storage_source(columns, mappers, settings, rows, n_threads)
    bin_store, _ = _store(source, mappers, settings, n_threads)
    return bin_store


def lay_out(
    source: Bins | Values,
    mappers: list[BinMapper],
    settings: StorageSettings,
    n_threads: int,
) -> Storage:
    """Store the bins of used columns, column by column and row by row.

    ``mappers`` are those of the used columns. The histogram bins depend on them and on
    the number of rows of all processes, from which the ``source`` was made. So they
    are the same in all processes, which add up their histograms.
    """
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
        hist_bin_of_code=_bins_of_codes(groups, offset),
        hist_bin_pieces=_joined_pieces(np.flatnonzero(~in_lanes), offset)[0],
        n_threads=n_threads,
    )


def _store(
    source: Bins | Values,
    mappers: list[BinMapper],
    settings: StorageSettings,
    n_threads: int,
) -> tuple[BinStore, FeatureGroups]:
    """The bins column by column, and the groups of columns.

    ``source`` has the bins or the values, and ``mappers`` are those of the used
    columns.
    """
    n_bins = np.array([m.n_bins for m in mappers], dtype=np.int32)
    sparse = source.sparse
    is_sparse = np.zeros(len(mappers), dtype=bool)
    is_sparse[sparse.number] = True
    groups = make_groups(sparse, is_sparse, n_bins, settings, source.n_rows, n_threads)
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
        *_sparse_arrays(sparse, len(mappers)),
    )
    return bin_store, groups


def _sparse_arrays(sparse: SparseColumns, n_used: int) -> tuple[NDArray[Any], ...]:
    """The arrays of sparse columns that `BinStore` needs, over all used columns.

    The starts have a place for each of the ``n_used`` columns; dense columns are empty.
    """
    start, bin_start = np.zeros((2, n_used + 1), dtype=np.int64)
    start[sparse.number + 1] = np.diff(sparse.start)
    bin_start[sparse.number + 1] = np.diff(sparse.bin_start)
    return start.cumsum(), sparse.rows, bin_start.cumsum(), sparse.bins


def _codes(
    source: Bins | Values,
    groups: FeatureGroups,
    is_sparse: NDArray[np.bool_],
    n_threads: int,
) -> tuple[NDArray[np.uint8], NDArray[np.uint16], NDArray[np.int32]]:
    """The codes of groups, the bins of wide columns, and where each used column is.

    The last array, (n_used,), has the index into the first one; into the second one
    plus the number of groups; or -1 for a sparse column in no group. Wide columns have
    more bins than a byte.
    """
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
    """Write the codes of bundles into ``out``, (n_bundles, n_rows).

    A bundle is a group of sparse columns. The first ``n_narrow`` groups are dense
    columns, so bundle b is the group ``n_narrow + b``.
    """
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
    """Runs of codes whose histogram bins are consecutive, group by group.

    ``offset``, (n_used + 1,), is the first histogram bin of each used column. Returns
    the runs, with the fields of `PIECE`, and the first one of each group. Histograms
    are summed by code, and then copied in these runs to the places of columns.
    """
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
    """Runs of histogram bins of used columns, and the first column of each.

    ``member`` has the columns, by their numbers among the used ones; the second result
    has positions in it. ``offset``, (n_used + 1,), is the first histogram bin of each
    used column. A column continues the run of the one before it in ``member`` if its
    histogram bins are the next ones and ``follows``, (len(member) - 1,), is true;
    True: for all.
    """
    is_first = np.ones(len(member), dtype=bool)
    is_first[1:] = offset[member[1:]] != offset[member[:-1] + 1]
    is_first[1:] |= np.logical_not(follows)
    first = np.flatnonzero(is_first)
    pieces = np.zeros(len(first), dtype=PIECE)
    pieces["hist_bin"] = offset[member[first]]
    last = member[np.append(first[1:], len(member))[: len(first)] - 1]
    pieces["length"] = offset[last + 1] - pieces["hist_bin"]
    return pieces, first


def _bins_of_codes(
    groups: FeatureGroups, offset: NDArray[np.int64]
) -> NDArray[np.int32]:
    """The histogram bin of each code of each group, (n_groups, LANE_CODES).

    -1: no column has the code. ``offset``, (n_used + 1,), is the first histogram bin of
    each used column.
    """
    hist_bins = np.full((len(groups.n_codes), LANE_CODES), -1, dtype=np.int32)
    column = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    hist_bin = np.flatnonzero(groups.group[column] >= 0)
    column = column[hist_bin]
    code = groups.first_code[column] + hist_bin - offset[column]
    hist_bins[groups.group[column], code] = hist_bin
    return hist_bins


def _singles(
    mappers: list[BinMapper], n_bins: NDArray[np.int32], default_bin: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The number of consecutive columns, from each one on, with one possible split.

    These are sparse columns of two bins with the same default bin, such as indicators
    of categories; a kernel searches their splits in one loop. 0 for other columns.
    """
    if not (default_bin >= 0).any():
        return np.zeros(len(mappers), dtype=np.int32)
    is_plain = [m.missing_bin < 0 and m.categories is None for m in mappers]
    single = np.array(is_plain, dtype=bool) & (n_bins == 2) & (default_bin >= 0)
    kind, number = np.where(single, default_bin, -1), np.arange(len(mappers))
    ends = np.flatnonzero(np.diff(kind, append=-2)) + 1
    end = ends[np.searchsorted(ends, number, side="right")]
    return np.where(single, end - number, 0).astype(np.int32)


# --- Groups of columns ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class FeatureGroups:
    """The group of each used column, and its codes in the group."""

    # (n_used,): -1: the column is sparse and in no dense bundle, or has too many bins
    # for a byte.
    group: NDArray[np.int32]
    first_code: NDArray[np.int32]  # (n_used,): the code of a column's stored bin 0
    n_codes: NDArray[np.int32]  # (n_groups,)
    lane: NDArray[np.int32]  # (n_groups,): the byte of a row that has its code
    radix: NDArray[np.int32]


def make_groups(
    sparse: SparseColumns,
    is_sparse: NDArray[np.bool_],
    n_bins: NDArray[np.int32],
    settings: StorageSettings,
    n_rows: int,
    n_threads: int,
) -> FeatureGroups:
    """Make groups of the used columns that share one column of codes of a byte.

    A dense column is a group by itself, and so is a bundle of sparse columns if it is
    stored in enough rows. ``n_bins`` and ``is_sparse`` are (n_used,). Columns of more
    than LANE_CODES bins are in no group, nor are bundles of which rows store entries.
    """
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
            n_threads=n_threads,
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
    """The groups, with their places in lanes.

    ``group`` and ``first_code``, (n_used,), are fields of `FeatureGroups`. ``n_codes``,
    (n_groups,), are the codes of each group.
    """
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
    """Whether each bundle is a group, and the number of its codes.

    A lane, or a part of one, costs the same in every row; entries cost
    LANES_PER_ENTRY each, plus ENTRIES_OVERHEAD in every row as soon as there are any.
    So a bundle is a group if that is cheaper, and all are if they do not save that
    overhead together. ``bundle`` has the bundle of each sparse column, ``n_stored``
    the number of its stored bins.
    """
    n_bundles = int(bundle.max(initial=-1)) + 1
    n_codes = 1 + np.bincount(bundle, n_stored, n_bundles).astype(np.int64)
    n_entries = np.bincount(bundle, np.diff(sparse.start), n_bundles)
    lanes = np.log(n_codes) / np.log(LANE_CODES) if settings.enable_bundle else 1.0
    saved = lanes * n_rows - LANES_PER_ENTRY * n_entries
    cheaper = saved <= 0
    fits = n_codes <= LANE_CODES
    if fits.all():
        cheaper |= saved[~cheaper].sum() <= ENTRIES_OVERHEAD * n_rows
    return fits & (cheaper | (not settings.is_enable_sparse)), n_codes


def _first_codes(
    bundle: NDArray[np.int32], n_stored: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The code of stored bin 0 of each sparse column in its bundle.

    The columns of a bundle follow each other. Code 0 means that no column of the
    bundle is stored in a row. For the arguments see `_dense_bundles`.
    """
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

    The codes of several groups are the digits of one number. Returns ``lane`` and
    ``radix``, (n_groups,): see `Storage`. Within a lane, the radix rises with the
    number of the group, from 1. If no lane is shared, as with few ``n_rows``, the lane
    of a group is its number. Groups fill lanes by rising ``n_codes``.
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
    """The sparse columns without the rows that lost a conflict.

    In a conflict, two columns of a bundle are stored in the same row, and its code in
    ``bytes_``, (n_groups, n_rows), is that of the other column. The row then counts as
    one of the default bin, as in histograms.
    """
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
