"""How binned columns lie in memory: bundles, lanes, lists and entries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.data.bundling import find_bundles, merge_bundles
from skgoss._engine.data.packing import (
    PIECE,
    count_places,
    pack_entries,
    pack_rows,
)
from skgoss._engine.data.store import BinStore
from skgoss.data.binning import BinMapper, bin_categories, bin_columns, bin_lists, team
from skgoss.data.columns import Columns

# A row is read as whole 64-bit words.
ROW_ALIGNMENT = 8

# What the codes of a lane fit in. Columns of few codes share a lane as long as the
# product of their numbers does. The sums of single columns have to be folded out of
# shared ones then, which pays for sets of more rows than these.
LANE_CODES = 256
MIN_ROWS_TO_SHARE = 4096

# From this share of zeros on a column becomes a list of its other rows. For few rows
# and columns that costs more than it saves.
LISTED_SHARE = 0.5
MIN_COLUMNS_TO_LIST = 256

# Measured: an entry costs as much as so many lanes.
LANES_PER_ENTRY = 6.0

# Measured, beside a lane in the histograms of a tree: a column that is packed for
# the tree, a bundle whose codes change then, and an entry that is looked at.
PACKED_WORK = 0.25
RECODED_WORK = 0.7
FILTERED_WORK = 0.2

# Measured: so many bins are gathered in the time that puts one value into its bin, so a
# further thread pays for so many times more of them.
GATHERED_PER_VALUE = 64

NO_LISTS = (
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.uint32),
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.uint16),
)


class StorageSettings(Protocol):
    """What storage needs to know of an estimator's parameters."""

    @property
    def enable_bundle(self) -> bool: ...
    @property
    def is_enable_sparse(self) -> bool: ...
    @property
    def max_conflict_rate(self) -> float: ...


class Layout(NamedTuple):
    """Settings of storage that lose no bins."""

    enable_bundle: bool = True
    is_enable_sparse: bool = True
    max_conflict_rate: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Columns that are zero in most rows, as lists of the others.

    Attributes
    ----------
    member : ndarray of shape (n_lists,), int32
        The used columns that they are.
    start : ndarray of shape (n_lists + 1,), int64
    rows : ndarray of uint32
        Row numbers, ascending within a list.
    bin_start : ndarray of shape (n_lists + 1,), int64
        Where the bins of each list begin. Columns of two bins have none: all are 0.
    bins : ndarray of uint16
        The rows' stored bins: numbered without the bin of zero.
    """

    member: NDArray[np.int32]
    start: NDArray[np.int64]
    rows: NDArray[np.uint32]
    bin_start: NDArray[np.int64]
    bins: NDArray[np.uint16]

    def by_column(self, n_used: int) -> tuple[NDArray[Any], ...]:
        """The lists of all used columns, of which most may be empty."""
        start, bin_start = (
            _starts_by_column(self.member, start, n_used)
            for start in (self.start, self.bin_start)
        )
        return start, self.rows, bin_start, self.bins

    def every_bin(self) -> NDArray[np.uint16]:
        """The stored bin of each row, list by list."""
        length = np.diff(self.start)
        if len(self.bins) == len(self.rows):
            return self.bins
        bins = np.zeros(len(self.rows), dtype=np.uint16)
        bins[np.repeat(np.diff(self.bin_start) > 0, length)] = self.bins
        return bins

    @classmethod
    def of_every_bin(
        cls,
        member: NDArray[np.int32],
        start: NDArray[np.int64],
        rows: NDArray[np.uint32],
        bins: NDArray[np.uint16],
        n_bins: NDArray[np.int32],
    ) -> Lists:
        """The lists of columns of so many bins, from the stored bin of each row."""
        length, has_bins = np.diff(start), n_bins > 2
        bin_start = np.concatenate([[0], np.cumsum(np.where(has_bins, length, 0))])
        if not has_bins.all():
            bins = bins[np.repeat(has_bins, length)]
        return cls(member, start, rows, bin_start, bins)


@dataclass(frozen=True, eq=False)
class Storage:
    """The binned training set as ``_engine/training/layout.h`` describes it.

    Lanes and entries are laid out when they are first asked for: rows that trees are
    only applied to need neither.

    Attributes
    ----------
    store : BinStore
        The bins column by column, for the partition and for scores.
    implied : ndarray of shape (n_used,), int32
        The bin that has no place in a histogram, -1: all have one.
    offset : ndarray of shape (n_used + 1,), int64
        The first place of each used column.
    singles : ndarray of shape (n_used,), int32
        How many columns from here on have two bins each, and the same one implied.
    feature_at : ndarray of shape (n_places,), int32
        Whose place it is.
    lane, radix, n_codes : ndarray of shape (n_groups,), int32
        A group's codes are digits, worth ``radix``, of the numbers in
        ``rows[:, lane]``.
    pieces : structured ndarray
        Where runs of codes go in a histogram; those of group g begin at
        ``piece_start[g]``.
    piece_start : ndarray of shape (n_groups + 1,), int64
    place_of_code : ndarray of shape (n_groups, LANE_CODES), int32
    entry_pieces : structured ndarray
        The places that entries may name.
    n_threads : int
        Those that lay out.
    """

    store: BinStore
    implied: NDArray[np.int32]
    offset: NDArray[np.int64]
    singles: NDArray[np.int32]
    feature_at: NDArray[np.int32]
    lane: NDArray[np.int32]
    radix: NDArray[np.int32]
    n_codes: NDArray[np.int32]
    pieces: NDArray[Any]
    piece_start: NDArray[np.int64]
    place_of_code: NDArray[np.int32]
    entry_pieces: NDArray[Any]
    n_threads: int

    @cached_property
    def rows(self) -> NDArray[np.uint8]:
        """The lanes, of shape (n_rows, row_bytes).

        Each row is filled up with zeros to a multiple of 8 bytes.
        """
        n_lanes = int(self.lane.max(initial=-1)) + 1
        row_bytes = -(-n_lanes // ROW_ALIGNMENT) * ROW_ALIGNMENT
        rows = np.empty((self.store.n_rows, row_bytes), dtype=np.uint8)
        bytes_ = self.store.arrays[4]
        n_threads = team(bytes_.size, self.n_threads)
        pack_rows(bytes_, self.lane, self.radix, n_threads, rows)
        return rows

    @property
    def entry_start(self) -> NDArray[np.int64] | None:
        """Where the entries of each row begin, and the end; None: there are none."""
        return self._packed[0]

    @property
    def entries(self) -> NDArray[np.uint32]:
        """Places that rows name themselves."""
        return self._packed[1]

    @cached_property
    def _packed(self) -> tuple[NDArray[np.int64] | None, NDArray[np.uint32]]:
        if len(self.entry_pieces) == 0:
            return None, np.empty(0, dtype=np.uint32)
        _, _, column, _, bytes_, shorts, start, *lists = self.store.arrays
        wide, listed = np.flatnonzero(column >= len(bytes_)), np.flatnonzero(column < 0)
        entry_start = np.empty(self.store.n_rows + 1, dtype=np.int64)
        n_listed = np.diff(start)[listed].sum()
        entries = np.empty(n_listed + shorts.size, dtype=np.uint32)
        pack_entries(
            *(start, *lists, listed, self.offset[listed]),
            *(shorts, self.offset[wide], entry_start, entries),
        )
        return entry_start, entries

    @property
    def row_updates(self) -> float:
        """How many places a row reaches, on average."""
        return len(self.lane) + len(self.entries) / max(len(self.rows), 1)

    @property
    def group(self) -> NDArray[np.int32]:
        """The group of each used column; -1: its places are entries."""
        column = self.store.arrays[2]
        return np.where(column < len(self.lane), column, -1)

    @property
    def in_lanes(self) -> NDArray[np.int32]:
        """The used columns that have a group, by lane, group and code."""
        group, first_code = self.group, self.store.arrays[3]
        member = np.flatnonzero(group >= 0).astype(np.int32)
        group = group[member]
        return member[np.lexsort((first_code[member], group, self.lane[group]))]

    @property
    def entry_lengths(self) -> NDArray[np.int64]:
        """How many entries each used column has in all rows."""
        column, list_start = self.store.arrays[2], self.store.arrays[6]
        length = np.where(column < 0, np.diff(list_start), self.store.n_rows)
        return np.where(self.group < 0, length, 0)

    def subset_work(self, share: float, sampled: float) -> float:
        """The cost of a tree that packs its drawn columns; 1: that of reading all.

        Parameters
        ----------
        share : float
            The share of the columns that a tree draws.
        sampled : float
            The share of the rows that a tree samples; all rows are packed.

        Returns
        -------
        float
            About the time of packing, and of the histograms of what is packed, over
            that of the histograms of all lanes and entries.
        """
        group = self.group
        n_members = np.bincount(group[group >= 0], minlength=len(self.lane))
        # A group is there if one of its columns is, with the codes of those drawn.
        chance = 1 - (1 - share) ** n_members
        n_codes = 1 + (self.n_codes - 1) * share / chance
        n_lanes = len(np.unique(self.lane))
        weight = np.log(n_codes) / np.log(LANE_CODES)
        lanes = chance * (weight if n_lanes < len(self.lane) else 1)
        packing = chance * np.where(n_members > 1, RECODED_WORK, PACKED_WORK)
        entries = LANES_PER_ENTRY * len(self.entries) / max(len(self.rows), 1)
        drawn = (
            lanes.sum()
            + packing.sum() / max(sampled, 0.01)
            + (share + FILTERED_WORK) * entries
        )
        return float(drawn / (n_lanes + entries))

    def take(self, rows: NDArray[np.int64], n_threads: int) -> Storage:
        """The storage of some rows, ascending and distinct; all else is shared."""
        *_, bytes_, shorts, _, list_rows, _, _ = self.store.arrays
        n_values = len(rows) * (len(bytes_) + len(shorts)) + len(list_rows)
        store = self.store.take(rows, team(n_values // GATHERED_PER_VALUE, n_threads))
        return replace(self, store=store, n_threads=n_threads)

    def heavy(self, n_rows: int) -> NDArray[np.uint32]:
        """The places that more than ``n_rows`` rows name themselves."""
        if len(self.entries) <= n_rows:
            return np.empty(0, dtype=np.uint32)
        counts = count_places(self.entries, int(self.offset[-1]))
        return np.flatnonzero(counts > n_rows).astype(np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Which used columns share a column of codes.

    Attributes
    ----------
    group : ndarray of shape (n_used,), int32
        -1: the column is a list, or has too many bins for a byte.
    first_code : ndarray of shape (n_used,), int32
        The code of a column's stored bin 0.
    n_codes : ndarray of shape (n_groups,), int32
    """

    group: NDArray[np.int32]
    first_code: NDArray[np.int32]
    n_codes: NDArray[np.int32]


def _starts_by_column(
    member: NDArray[np.int32], start: NDArray[np.int64], n_used: int
) -> NDArray[np.int64]:
    length = np.zeros(n_used, dtype=np.int64)
    length[member] = np.diff(start)
    return np.concatenate([[0], np.cumsum(length)])


class Source(Protocol):
    """Where the bins of used columns come from.

    Attributes
    ----------
    n_rows : int
    lists : Lists
        The columns that are zero in most rows, if anything is done with them.
    """

    @property
    def n_rows(self) -> int: ...

    @property
    def lists(self) -> Lists: ...

    def fill(self, members: NDArray[np.int64], out: NDArray[Any]) -> None:
        """Write the bins of the other columns: those of at most 256 bins, or the rest.

        Parameters
        ----------
        members : ndarray of int64
            The used columns that they are.
        out : ndarray of shape (len(members), n_rows), uint8 or uint16
        """


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of used columns that are known: a `Source`.

    Attributes
    ----------
    lists : Lists
        Columns that are zero in most rows.
    bytes : ndarray of shape (n_plain, n_rows), uint8
        The bins of each other column of at most 256 bins.
    shorts : ndarray of shape (n_wide, n_rows), uint16
        The bins of each wider one.
    """

    lists: Lists
    bytes: NDArray[np.uint8]
    shorts: NDArray[np.uint16]

    @classmethod
    def of(cls, store: BinStore) -> Bins:
        """The bins that a store holds; no array of the size of the data is copied."""
        _, implied, column, _, bytes_, shorts, *lists = store.arrays
        start, rows, bin_start, bins = lists
        member = np.flatnonzero(implied >= 0)
        n_plain = int(((implied < 0) & (column < len(bytes_))).sum())
        edges = np.append(member, len(implied))
        lists = Lists(
            member.astype(np.int32), start[edges], rows, bin_start[edges], bins
        )
        return cls(lists, bytes_[:n_plain], shorts)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.bytes.shape[1]

    def fill(self, members: NDArray[np.int64], out: NDArray[Any]) -> None:
        """Write the bytes, or the shorts: see `Source`."""
        out[:] = self.bytes if out.dtype == np.uint8 else self.shorts

    def joined(self, other: Bins, n_used: int) -> Bins:
        """The columns of these bins, of which ``n_used`` are used, and of others."""
        one, two = self.lists, other.lists
        lists = Lists(
            np.concatenate([one.member, n_used + two.member]).astype(np.int32),
            np.concatenate([one.start, one.start[-1] + two.start[1:]]),
            np.concatenate([one.rows, two.rows]),
            np.concatenate([one.bin_start, one.bin_start[-1] + two.bin_start[1:]]),
            np.concatenate([one.bins, two.bins]),
        )
        return Bins(
            lists,
            np.concatenate([self.bytes, other.bytes]),
            np.concatenate([self.shorts, other.shorts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """Values of used columns, which are put into their bins: a `Source`."""

    columns: Columns
    mappers: list[BinMapper]
    rows: NDArray[np.int64] | None
    n_threads: int
    lists: Lists

    @classmethod
    def of(
        cls,
        columns: Columns,
        mappers: list[BinMapper],
        settings: StorageSettings,
        rows: NDArray[np.int64] | None,
        n_threads: int,
        n_global: int | None = None,
    ) -> _Values:
        lists = _lists(columns, mappers, settings, rows, n_threads, n_global)
        return cls(columns, mappers, rows, n_threads, lists)

    @property
    def n_rows(self) -> int:
        return self.columns.n_rows if self.rows is None else len(self.rows)

    def fill(self, members: NDArray[np.int64], out: NDArray[Any]) -> None:
        if self.n_rows == 0:
            return
        is_category = [self.mappers[j].categories is not None for j in members]
        categorical = np.array(is_category, bool)
        numeric = members[~categorical]
        if len(numeric):
            is_all = len(numeric) == len(members)
            into = out if is_all else np.empty_like(out[~categorical])
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
    columns: Columns,
    mappers: list[BinMapper],
    settings: StorageSettings,
    rows: NDArray[np.int64] | None,
    n_threads: int,
    n_global: int | None = None,
) -> Storage:
    """Put the values of used columns into their bins, and the bins where they belong.

    Parameters
    ----------
    columns : Columns
        The used ones.
    mappers : list of BinMapper
        Theirs.
    settings : StorageSettings
    rows : ndarray of int64 or None
        The rows to keep; None keeps all.
    n_threads : int
    n_global : int, default=None
        The number of rows of all processes; None: that of the rows to keep. The places
        of histograms depend on it and on the mappers alone, so all processes have the
        same.

    Returns
    -------
    Storage
    """
    values = _Values.of(columns, mappers, settings, rows, n_threads, n_global)
    return lay_out(values, mappers, settings, n_threads)


def store(
    columns: Columns,
    mappers: list[BinMapper],
    settings: StorageSettings,
    rows: NDArray[np.int64] | None,
    n_threads: int,
) -> BinStore:
    """Bins column by column alone, of rows that trees are applied to.

    See `build` for the parameters. Columns of a bundle must not conflict here:
    ``settings.max_conflict_rate`` is 0.
    """
    values = _Values.of(columns, mappers, settings, rows, n_threads)
    bin_store, _ = _by_column(values, mappers, settings, n_threads)
    return bin_store


def lay_out(
    source: Source, mappers: list[BinMapper], settings: StorageSettings, n_threads: int
) -> Storage:
    """Put bins where they belong.

    Parameters
    ----------
    source : Source
    mappers : list of BinMapper
        Those of the used columns.
    settings : StorageSettings
    n_threads : int

    Returns
    -------
    Storage
    """
    bin_store, groups = _by_column(source, mappers, settings, n_threads)
    n_bins, implied, column, _, bytes_, *_ = bin_store.arrays
    n_rows = source.n_rows if settings.enable_bundle else 0
    lane, radix = share_lanes(groups.n_codes, n_rows)
    offset = np.zeros(len(mappers) + 1, dtype=np.int64)
    np.cumsum(n_bins - (implied >= 0), out=offset[1:])
    pieces, piece_start = _pieces(groups, offset)
    in_entries = np.flatnonzero((column < 0) | (column >= len(bytes_)))
    return Storage(
        store=bin_store,
        implied=implied,
        offset=offset,
        singles=_singles(mappers, n_bins, implied),
        feature_at=np.repeat(np.arange(len(mappers), dtype=np.int32), np.diff(offset)),
        lane=lane,
        radix=radix,
        n_codes=groups.n_codes,
        pieces=pieces,
        piece_start=piece_start,
        place_of_code=_places(pieces, piece_start),
        entry_pieces=_entry_pieces(in_entries, offset),
        n_threads=n_threads,
    )


def _by_column(
    source: Source, mappers: list[BinMapper], settings: StorageSettings, n_threads: int
) -> tuple[BinStore, Groups]:
    """Bins column by column, and which columns share one."""
    n_bins, all_lists = _n_bins(mappers), source.lists
    is_list = np.zeros(len(mappers), dtype=bool)
    is_list[all_lists.member] = True
    groups = _group(all_lists, is_list, n_bins, settings, source.n_rows)
    implied = np.full(len(mappers), -1, dtype=np.int32)
    implied[is_list] = [mappers[j].zero_bin for j in np.flatnonzero(is_list)]
    bytes_, shorts, column = _codes(source, groups, is_list, n_threads)
    if settings.max_conflict_rate > 0:
        all_lists = _without_conflicts(all_lists, groups, bytes_, n_bins)
    bin_store = BinStore(
        n_bins,
        implied,
        column,
        groups.first_code,
        bytes_,
        shorts,
        *all_lists.by_column(len(mappers)),
    )
    return bin_store, groups


def _without_conflicts(
    lists: Lists,
    groups: Groups,
    bytes_: NDArray[np.uint8],
    n_bins: NDArray[np.int32],
) -> Lists:
    """The lists, without rows whose code in a bundle is another column's."""
    length = np.diff(lists.start)
    group, first_code = (
        np.repeat(values[lists.member], length)
        for values in (groups.group, groups.first_code)
    )
    kept, bundled = np.ones(len(group), dtype=bool), group >= 0
    code = bytes_[group[bundled], lists.rows[bundled]]
    bins = lists.every_bin()
    kept[bundled] = code == first_code[bundled] + bins[bundled]
    start = np.concatenate([[0], np.cumsum(kept)])[lists.start]
    return Lists.of_every_bin(
        lists.member, start, lists.rows[kept], bins[kept], n_bins[lists.member]
    )


def _n_bins(mappers: list[BinMapper]) -> NDArray[np.int32]:
    return np.array([mapper.n_bins for mapper in mappers], dtype=np.int32)


def _lists(
    columns: Columns,
    mappers: list[BinMapper],
    settings: StorageSettings,
    rows: NDArray[np.int64] | None,
    n_threads: int,
    n_global: int | None,
) -> Lists:
    """The columns of mostly zeros, if anything is done with them."""
    n_rows = columns.n_rows if rows is None else len(rows)
    n_all = n_rows if n_global is None else n_global
    is_small = n_all < MIN_ROWS_TO_SHARE and len(mappers) < MIN_COLUMNS_TO_LIST
    if is_small or not (settings.enable_bundle or settings.is_enable_sparse):
        return Lists(np.empty(0, np.int32), *NO_LISTS)
    share = np.array([m.zero_share for m in mappers])
    member = np.flatnonzero(share >= LISTED_SHARE).astype(np.int32)
    if len(member) == 0:
        return Lists(member, *NO_LISTS)
    if n_rows == 0:
        start = np.zeros(len(member) + 1, dtype=np.int64)
        return Lists(member, start, NO_LISTS[1], start, NO_LISTS[3])
    found = bin_lists(columns, mappers, member, rows=rows, n_threads=n_threads)
    return Lists(member, *found)


def _group(
    lists: Lists,
    is_list: NDArray[np.bool_],
    n_bins: NDArray[np.int32],
    settings: StorageSettings,
    n_rows: int,
) -> Groups:
    """Give every plain column a group, and every bundle that is dense enough."""
    group = np.full(len(n_bins), -1, dtype=np.int32)
    first_code = np.zeros(len(n_bins), dtype=np.int32)
    plain = np.flatnonzero(~is_list & (n_bins <= LANE_CODES))
    group[plain] = np.arange(len(plain))
    n_stored = n_bins[lists.member] - 1
    bundle = (
        find_bundles(
            lists.start,
            lists.rows,
            n_rows,
            n_stored,
            settings.max_conflict_rate,
            LANE_CODES,
        )
        if settings.enable_bundle
        else np.arange(len(lists.member), dtype=np.int32)
    )
    dense, n_codes = _dense_bundles(bundle, n_stored, lists, settings, n_rows)
    number = len(plain) - 1 + np.cumsum(dense)
    in_lane = dense[bundle] if len(bundle) else np.zeros(0, dtype=bool)
    group[lists.member[in_lane]] = number[bundle[in_lane]]
    first_code[lists.member] = _first_codes(bundle, n_stored)
    first_code[lists.member[~in_lane]] = 0
    return Groups(
        group,
        first_code,
        np.concatenate([n_bins[plain], n_codes[dense]]).astype(np.int32),
    )


def _dense_bundles(
    bundle: NDArray[np.int32],
    n_stored: NDArray[np.int32],
    lists: Lists,
    settings: StorageSettings,
    n_rows: int,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which bundles are cheaper as a lane, or a part of it, than as entries."""
    n_bundles = int(bundle.max(initial=-1)) + 1
    n_codes = 1 + np.bincount(bundle, n_stored, n_bundles).astype(np.int64)
    mass = np.bincount(bundle, np.diff(lists.start), n_bundles)
    lanes = np.log(n_codes) / np.log(LANE_CODES) if settings.enable_bundle else 1.0
    cheaper = LANES_PER_ENTRY * mass >= lanes * n_rows
    fits = n_codes <= LANE_CODES
    return fits & (cheaper | (not settings.is_enable_sparse)), n_codes


def _first_codes(
    bundle: NDArray[np.int32], n_stored: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Codes of a bundle's members, in their order, after code 0: none of them."""
    order = np.argsort(bundle, kind="stable")
    end = np.cumsum(n_stored[order])
    start = end - n_stored[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = bundle[order][1:] != bundle[order][:-1]
    base = start[is_first][np.cumsum(is_first) - 1] if len(order) else start
    first_code = np.empty(len(order), dtype=np.int32)
    first_code[order] = 1 + start - base
    return first_code


def _codes(
    source: Source,
    groups: Groups,
    is_list: NDArray[np.bool_],
    n_threads: int,
) -> tuple[NDArray[np.uint8], NDArray[np.uint16], NDArray[np.int32]]:
    """Codes of all groups, bins of the wide columns, and which used column is where."""
    wide = np.flatnonzero(~is_list & (groups.group < 0))
    column = groups.group.copy()
    column[wide] = len(groups.n_codes) + np.arange(len(wide))
    n_plain = int((~is_list).sum()) - len(wide)
    bytes_ = np.empty((len(groups.n_codes), source.n_rows), dtype=np.uint8)
    shorts = np.empty((len(wide), source.n_rows), dtype=np.uint16)
    source.fill(np.flatnonzero(~is_list & (groups.group >= 0)), bytes_[:n_plain])
    source.fill(wide, shorts)
    lists = source.lists
    bundle = groups.group[lists.member] - n_plain
    order = np.argsort(bundle, kind="stable").astype(np.int32)
    merge_bundles(
        lists.start,
        lists.rows,
        lists.bin_start,
        lists.bins,
        np.searchsorted(bundle[order], np.arange(len(bytes_) - n_plain + 1)),
        order,
        groups.first_code[lists.member],
        bytes_[n_plain:],
        n_threads,
    )
    return bytes_, shorts, column


def share_lanes(
    n_codes: NDArray[np.int32], n_rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Put columns of few codes together into lanes of one byte.

    Parameters
    ----------
    n_codes : ndarray of shape (n,), int32
    n_rows : int

    Returns
    -------
    lane, radix : ndarray of shape (n,), int32
        See `Storage`. Within a lane the radix rises with the column's number, from 1.
        Where no lane is shared, each column has the lane of its own number.
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


def _pieces(
    groups: Groups, offset: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Runs of codes whose places are neighbours, too, group by group."""
    member = np.flatnonzero(groups.group >= 0)
    member = member[np.lexsort((groups.first_code[member], groups.group[member]))]
    group = groups.group[member]
    code, at = groups.first_code[member], offset[member]
    length = offset[member + 1] - at
    follows = np.zeros(len(member), dtype=bool)
    follows[1:] = (
        (group[1:] == group[:-1])
        & (code[1:] == code[:-1] + length[:-1])
        & (at[1:] == at[:-1] + length[:-1])
    )
    first = np.flatnonzero(~follows)
    pieces = np.empty(len(first), dtype=PIECE)
    pieces["at"], pieces["code"] = at[first], code[first]
    pieces["length"] = np.add.reduceat(length, first) if len(first) else 0
    piece_start = np.zeros(len(groups.n_codes) + 1, dtype=np.int64)
    np.cumsum(
        np.bincount(group[first], minlength=len(groups.n_codes)), out=piece_start[1:]
    )
    return pieces, piece_start


def _places(pieces: NDArray[Any], piece_start: NDArray[np.int64]) -> NDArray[np.int32]:
    """The place of each code of each group."""
    n_groups = len(piece_start) - 1
    place = np.full((n_groups, LANE_CODES), -1, dtype=np.int32)
    group = np.repeat(np.arange(n_groups), np.diff(piece_start))
    number = np.arange(pieces["length"].sum()) - np.repeat(
        np.cumsum(pieces["length"]) - pieces["length"], pieces["length"]
    )
    row, code, at = (
        np.repeat(values, pieces["length"])
        for values in (group, pieces["code"], pieces["at"])
    )
    place[row, code + number] = at + number
    return place


def _entry_pieces(member: NDArray[np.int64], offset: NDArray[np.int64]) -> NDArray[Any]:
    """The runs of all places of some used columns."""
    pieces = np.zeros(len(member), dtype=PIECE)
    pieces["at"] = offset[member]
    pieces["length"] = offset[member + 1] - offset[member]
    is_first = np.ones(len(member), dtype=bool)
    is_first[1:] = member[1:] != member[:-1] + 1
    first = np.flatnonzero(is_first)
    joined = pieces[first]
    if len(first) > 0:
        joined["length"] = np.add.reduceat(pieces["length"], first)
    return joined


def _singles(
    mappers: list[BinMapper], n_bins: NDArray[np.int32], implied: NDArray[np.int32]
) -> NDArray[np.int32]:
    """How many columns, from each on, can be cut in one place only."""
    single = np.array(
        [
            n_bins[j] == 2
            and implied[j] >= 0
            and mapper.missing_bin < 0
            and mapper.categories is None
            for j, mapper in enumerate(mappers)
        ],
        dtype=bool,
    )
    kind = np.where(single, implied, -1)
    ends = np.flatnonzero(np.diff(kind, append=-2) != 0)
    end = ends[np.searchsorted(ends, np.arange(len(kind)))]
    return np.where(single, end + 1 - np.arange(len(kind)), 0).astype(np.int32)
