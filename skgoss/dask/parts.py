"""Dask collections, cut into parts, and assembled from the parts of a worker."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask.array as da
import narwhals.stable.v2 as nw
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from scipy import sparse

from skgoss.columns.stacked import Stack
from skgoss.distributed.collectives import Collectives
from skgoss.distributed.row_partition import Parts
from skgoss.fit.arguments import OF_ROWS, InputSet
from skgoss.sources import input_rows
from skgoss.utils.messages import type_name

# --- Collections into parts -----------------------------------------------------------


def is_lazy(data: Any) -> bool:
    """Whether data is a Dask collection, or a list of delayed parts."""
    if isinstance(data, list | tuple):
        return len(data) > 0 and all(isinstance(part, Delayed) for part in data)
    return is_dask_collection(data)


def partitions(data: Any) -> list[Delayed]:
    """The partitions of a Dask collection, each with all columns of its rows."""
    if isinstance(data, list | tuple):
        return list(data)
    if isinstance(data, Delayed):
        return [data]
    if isinstance(data, da.Array):
        whole = data.rechunk({axis: -1 for axis in range(1, data.ndim)})
        return whole.to_delayed().ravel().tolist()
    if hasattr(data, "simplify"):
        # So that only the columns that are used are read. A full optimization would
        # also merge files of few columns, and y would have fewer partitions than X.
        return data.simplify().to_delayed(optimize_graph=False)
    return data.to_delayed()


def lengths(data: Any) -> tuple[int, ...] | None:
    """The number of rows of each partition; None if it is unknown."""
    if not isinstance(data, da.Array) or np.isnan(data.chunks[0]).any():
        return None
    return data.chunks[0]


@dataclass(frozen=True)
class Column:
    """Stands in for a collection, whose pieces are in each `Part` of a table.

    A table is a set of rows, whose number is ``table``. ``number`` is that of the
    collection in the table.
    """

    table: int
    number: int


@dataclass(frozen=True)
class Part:
    """Some rows of a table: a piece of each of its collections, by their numbers."""

    pieces: dict[int, Any]
    n_rows: int


PartKey = tuple[int, int]


def cut(sets: Sequence[InputSet]) -> tuple[list[InputSet], dict[PartKey, Delayed]]:
    """Cut the rows of a fit into parts: the partitions of each ``X``.

    Returns the sets with a `Column` in place of each collection, and a `Part` for each
    partition, by the numbers of the set and the partition. The training set comes
    first, and evaluation sets that are the training set share its columns. TypeError
    if data are not lazy, ValueError if collections of a set have different partitions.
    """
    tables: dict[int, _Table] = {}
    without_rows = []
    for number, rows in enumerate(sets):
        number = 0 if rows.is_training else number
        table = tables.setdefault(number, _Table(number, rows.X))
        columns: dict[str, Any] = {
            field: table.column(f"{rows.prefix}{field}", getattr(rows, field))
            for field in ("X", "y", *OF_ROWS)
            if getattr(rows, field) is not None
        }
        without_rows.append(rows._replace(**columns))
    parts = {
        (table.number, i): part
        for table in tables.values()
        for i, part in enumerate(table.parts())
    }
    return without_rows, parts


class _Table:
    """The collections of a set of rows, which have the partitions of ``X``."""

    def __init__(self, number: int, X: Any) -> None:
        self.number = number
        self.X = X
        self.columns: dict[int, Column] = {}
        self.names: list[str] = []
        self.pieces: list[list[Delayed]] = []

    def column(self, name: str, data: Any) -> Column:
        """Add a collection unless it is there already; return what stands in for it.

        ``name`` is the name of the argument, for errors. An object that is passed twice
        is sent once.
        """
        if id(data) not in self.columns:
            self.pieces.append(self._pieces(name, data))
            self.columns[id(data)] = Column(self.number, len(self.names))
            self.names.append(name)
        return self.columns[id(data)]

    def _pieces(self, name: str, data: Any) -> list[Delayed]:
        """The partitions of a collection; ValueError if they are not those of ``X``."""
        if not is_lazy(data):
            raise TypeError(
                f"{name} must be a Dask collection or a list of delayed parts, got"
                f" {type_name(data)}. Convert it, for example with"
                f" dask.array.from_array({name}, chunks=...), or use the estimator of"
                " the same name without 'Dask'."
            )
        pieces = partitions(self._aligned(name, data))
        n_partitions = len(self.pieces[0]) if self.pieces else len(pieces)
        if len(pieces) != n_partitions:
            raise ValueError(
                f"{name} has {len(pieces)} partitions, but {self.names[0]} has"
                f" {n_partitions}. They must have the same partitions: repartition or"
                f" rechunk {name}."
            )
        return pieces

    def _aligned(self, name: str, data: Any) -> Any:
        """The collection in the partitions of ``X`` if the lengths of both are known.

        Otherwise it is returned as it is, and the workers compare lengths.
        """
        rows, wanted = lengths(data), lengths(self.X)
        if _holds_sizes(name) or rows is None or wanted in (None, rows):
            return data
        if sum(rows) != sum(wanted):
            raise ValueError(
                f"{name} has {sum(rows)} rows, but {self.names[0]} has {sum(wanted)}."
            )
        return data.rechunk({0: wanted})

    def parts(self) -> list[Delayed]:
        """A `Part` for each partition."""
        join = delayed(partial(_part, self.names), name="part", pure=False)
        return [
            join(i, list(pieces))
            for i, pieces in enumerate(zip(*self.pieces, strict=True))
        ]


def _holds_sizes(name: str) -> bool:
    """Whether a collection has a value for each query and not for each row."""
    return name.endswith("group")


def _part(names: Sequence[str], number: int, values: Sequence[Any]) -> Part:
    """The part of a partition; ValueError if its pieces have different lengths.

    ``names`` are those of the collections of the table, ``number`` is that of the
    partition, and ``values`` are the pieces of the collections in it.
    """
    n_rows = n_rows_of(values[0])
    for name, value in zip(names, values, strict=True):
        n = np.sum(np.asarray(value)) if _holds_sizes(name) else n_rows_of(value)
        if n != n_rows:
            what = "sizes that sum to" if _holds_sizes(name) else "rows:"
            raise ValueError(
                f"Partition {number} of {names[0]} has {n_rows} rows, but that of"
                f" {name} has {what} {n}. They must have the same partitions."
            )
    return Part(dict(enumerate(values)), n_rows)


def n_rows_of(value: Any) -> int:
    """The number of rows of data in memory."""
    shape = getattr(value, "shape", None)
    return shape[0] if shape else len(value)


# --- Collections from parts -----------------------------------------------------------


def assemble(
    collectives: Collectives,
    sets: Sequence[InputSet],
    held: dict[PartKey, Part],
    *,
    is_stacked: bool,
) -> list[InputSet]:
    """Assemble the rows of each set from the parts of a process.

    ``sets`` have columns instead of rows: see `cut`. The sets that are returned have
    the rows of the process, in the order of its parts. A process without rows gets one
    row of another process. The parts are emptied, so that nothing refers to the pieces.
    If ``is_stacked``, each ``X`` of several pieces becomes a `Stack`, instead of a copy
    of all its rows. Other collections are concatenated.
    """
    columns = {value for rows in sets for value in rows if isinstance(value, Column)}
    stacked = {rows.X for rows in sets} if is_stacked else set()
    values: dict[Column, Any] = {}
    parts: dict[int, Parts] = {}
    for table in sorted({column.table for column in columns}):
        local = {i: held[t, i] for t, i in sorted(held) if t == table}
        parts[table] = Parts(collectives, {i: part.n_rows for i, part in local.items()})
        part_pieces = _pieces(collectives, list(local.values()), sets[table].name)
        locations = [f"part {i}" for i, part in local.items() if part.n_rows > 0]
        for column in columns:
            if column.table == table:
                pieces = [pieces.pop(column.number) for pieces in part_pieces]
                whole = (
                    Stack(pieces, locations)
                    if column in stacked and len(pieces) > 1
                    else joined(pieces)
                )
                values[column] = _distinct(whole, values.values())
    return [
        rows._replace(
            **{
                field: values[value]
                for field, value in rows._asdict().items()
                if isinstance(value, Column)
            },
            parts=parts[rows.X.table],
        )
        for rows in sets
    ]


def _pieces(
    collectives: Collectives, parts: Sequence[Part], name: str
) -> list[dict[int, Any]]:
    """The pieces of the parts that have rows, by the numbers of their collections.

    A process without rows gets one row of another process, which shows the columns and
    dtypes; its weight does not count there. ValueError if no process has rows.
    """
    part_pieces = [part.pieces for part in parts if part.n_rows > 0]
    if all(collectives.all_gather(len(part_pieces) > 0)):
        return part_pieces
    row, first = None, np.zeros(1, dtype=np.int64)
    if part_pieces:
        row = {k: input_rows.take(v, first) for k, v in part_pieces[0].items()}
    rows = [row for row in collectives.all_gather(row) if row is not None]
    if not rows:
        raise ValueError(f"The set {name!r} has no rows.")
    return part_pieces or rows[:1]


def _distinct(value: Any, earlier: Collection[Any]) -> Any:
    """The value, or a copy if it is the same object as an earlier one.

    A fit treats one object in two arguments as the same data. Dask may merge equal
    values into one object, which would only matter in processes of a single part.
    """
    return copy.copy(value) if any(value is other for other in earlier) else value


def joined(pieces: Sequence[Any]) -> Any:
    """The rows of all pieces, concatenated."""
    if len(pieces) == 1:
        return pieces[0]
    if any(map(sparse.issparse, pieces)):
        return sparse.vstack(pieces, format="csr")
    if hasattr(pieces[0], "iloc"):
        return _joined_pandas(pieces)
    frames = [
        nw.from_native(piece, pass_through=True, eager_only=True) for piece in pieces
    ]
    if isinstance(frames[0], nw.DataFrame):
        return nw.concat(frames).to_native()
    concatenate = np.ma.concatenate if any(map(np.ma.isMA, pieces)) else np.concatenate
    return concatenate(
        [piece if np.ma.isMA(piece) else np.asarray(piece) for piece in pieces]
    )


def _joined_pandas(pieces: Sequence[Any]) -> Any:
    """Concatenated series or frames of pandas, with the categories of all pieces."""
    import pandas as pd

    if not isinstance(pieces[0], pd.DataFrame):
        return pd.concat(_with_all_categories(pieces))
    pieces = [piece.copy(deep=False) for piece in pieces]
    for column in range(pieces[0].shape[1]):
        series = [piece.iloc[:, column] for piece in pieces]
        merged = _with_all_categories(series)
        if merged is not series:
            for piece, values in zip(pieces, merged, strict=True):
                piece.isetitem(column, values)
    return pd.concat(pieces)


def _with_all_categories(series: Sequence[Any]) -> Sequence[Any]:
    """Series of pandas with the categories of all of them, if these differ."""
    from pandas.api.types import union_categoricals

    dtypes = [piece.dtype for piece in series]
    if any(dtype.name != "category" for dtype in dtypes) or len(set(dtypes)) == 1:
        return series
    values = [piece for piece in series if len(piece.cat.categories) > 0]
    union = union_categoricals(values, ignore_order=True).categories
    return [piece.cat.set_categories(union) for piece in series]
