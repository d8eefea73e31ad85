"""Sampled rows of several processes: from columns of each to columns of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.data import sparse
from skgoss.data.columns import Columns, ColumnsBuilder


class Piece(NamedTuple):
    """The sampled rows of a process in some columns.

    Attributes
    ----------
    dense : ndarray of shape (n_dense, n_sampled)
        The values of columns that are dense.
    is_dense : ndarray of shape (n_columns,), bool
    length : ndarray of shape (n_columns,), int64
        The number of stored values of each sparse column; 0 for dense ones.
    rows : ndarray of int32
        The places of these among the sampled rows of the process, column by column.
    values : ndarray
        The stored values.
    """

    dense: NDArray[Any]
    is_dense: NDArray[np.bool_]
    length: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: NDArray[Any]

    @classmethod
    def of(
        cls, columns: Sequence[tuple[NDArray[np.int32] | None, NDArray[Any]]], n: int
    ) -> Piece:
        """The piece of columns: places and values of each; no places: it is dense."""
        is_dense = np.array([rows is None for rows, _ in columns], bool)
        dense = [values for rows, values in columns if rows is None]
        stored = [pair for pair in columns if pair[0] is not None]
        length = np.zeros(len(columns), dtype=np.int64)
        length[~is_dense] = [len(rows) for rows, _ in stored]
        return cls(
            np.stack(_of_one_dtype(dense)) if dense else np.empty((0, n), np.bool_),
            is_dense,
            length,
            np.concatenate([np.empty(0, np.int32), *(rows for rows, _ in stored)]),
            np.concatenate([np.empty(0, np.bool_), *(values for _, values in stored)]),
        )


def _of_one_dtype(arrays: list[NDArray[Any]]) -> list[NDArray[Any]]:
    dtype = np.result_type(*{array.dtype for array in arrays})
    return [array.astype(dtype, copy=False) for array in arrays]


class Pieces:
    """The sampled rows of a process, as the pieces that other processes get.

    Parameters
    ----------
    columns : Columns
    rows : ndarray of int64
        The sampled rows, ascending.
    spans : list of slice
        The columns that each process gets.
    """

    def __init__(
        self, columns: Columns, rows: NDArray[np.int64], spans: list[slice]
    ) -> None:
        self.rows = rows
        self.spans = spans
        self.place = None
        if columns.is_sparse:
            self.place = np.full(columns.n_rows, -1, dtype=np.int32)
            self.place[rows] = np.arange(len(rows), dtype=np.int32)
        self._taken: list[tuple[NDArray[np.int32] | None, NDArray[Any]]] = []

    def add(self, block: Columns) -> None:
        """Take the rows of the next columns."""
        self._taken += [self._of(block, j) for j in range(block.n_features)]

    def _of(
        self, block: Columns, column: int
    ) -> tuple[NDArray[np.int32] | None, NDArray[Any]]:
        values = block.stored(column)
        if block.index is None or block.index[column] == 0:
            return None, values[self.rows]
        place = self.place[block.stored_rows(column)]
        chosen = place >= 0
        return place[chosen], values[chosen]

    @property
    def of_ranks(self) -> list[Piece]:
        """The piece that each process gets."""
        return [Piece.of(self._taken[span], len(self.rows)) for span in self.spans]


def in_order(
    values: Sequence[NDArray[np.float64]],
    places: Sequence[NDArray[np.int64]],
    n_rows: int,
) -> NDArray[np.float64]:
    """The values of all sampled rows, from those of each process and their places."""
    out = np.empty(n_rows)
    for of_rank, at in zip(values, places, strict=True):
        out[at] = of_rank
    return out


def joined(
    pieces: Sequence[Piece], places: Sequence[NDArray[np.int64]], n_rows: int
) -> Columns:
    """The columns of the sampled rows of all processes.

    Parameters
    ----------
    pieces : sequence of Piece
        Those of the same columns from all processes.
    places : sequence of ndarray of int64
        The places of each process's rows among all sampled ones.
    n_rows : int
        The number of all.
    """
    is_dense = np.any([piece.is_dense for piece in pieces], axis=0)
    layout = ColumnsBuilder(n_rows, len(is_dense))
    layout.add([(np.flatnonzero(is_dense), _dense(pieces, places, is_dense, n_rows).T)])
    if is_dense.all():
        return layout.columns()
    stored = _sparse(pieces, places, is_dense, n_rows)
    index = np.zeros(len(is_dense), dtype=np.uint64)
    length = np.zeros(len(is_dense), dtype=np.int64)
    for name, values in (
        *(("address", layout.address), ("stride", layout.stride)),
        *(("kind", layout.kind), ("index", index), ("length", length)),
    ):
        values[~is_dense] = getattr(stored, name)
    return replace(
        layout.columns(),
        owner=(layout.owner, stored.owner),
        index=index,
        length=length,
    )


def _dense(
    pieces: Sequence[Piece],
    places: Sequence[NDArray[np.int64]],
    is_dense: NDArray[np.bool_],
    n_rows: int,
) -> NDArray[Any]:
    """The values of columns that are dense in any piece."""
    place_of = np.cumsum(is_dense) - 1
    dtype = np.result_type(*(a.dtype for p in pieces for a in (p.dense, p.values)))
    out = np.zeros((int(is_dense.sum()), n_rows), dtype=dtype)
    for piece, at in zip(pieces, places, strict=True):
        out[place_of[piece.is_dense][:, None], at] = piece.dense
        column = np.repeat(np.arange(len(is_dense)), piece.length)
        here = is_dense[column]
        out[place_of[column[here]], at[piece.rows[here]]] = piece.values[here]
    return out


def _sparse(
    pieces: Sequence[Piece],
    places: Sequence[NDArray[np.int64]],
    is_dense: NDArray[np.bool_],
    n_rows: int,
) -> Columns:
    """The stored values of columns that are sparse in all pieces."""
    length = np.stack([np.where(is_dense, 0, piece.length) for piece in pieces])
    column = [np.repeat(np.arange(len(is_dense)), piece.length) for piece in pieces]
    here = [~is_dense[of_piece] for of_piece in column]
    rows = np.concatenate(
        [at[p.rows[kept]] for p, at, kept in zip(pieces, places, here, strict=True)]
    )
    values = np.concatenate(
        [piece.values[kept] for piece, kept in zip(pieces, here, strict=True)]
    )
    column = np.concatenate([c[kept] for c, kept in zip(column, here, strict=True)])
    # Each piece is in order, so this merges.
    order = np.argsort(column * n_rows + rows, kind="stable")
    start = np.append(0, np.cumsum(length.sum(axis=0)[~is_dense]))
    return sparse.stored_columns(
        values[order], rows[order].astype(np.int32), start, n_rows
    )
