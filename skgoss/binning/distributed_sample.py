"""The sampled rows of all processes: each process gets all of them for some columns.

Each process samples its own rows, and cuts their columns into spans, one for each rank.
An all-to-all operation sends each rank its span of all samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import sparse
from skgoss.columns.columns import Columns, ColumnsBuilder, row_positions


class SampledColumns(NamedTuple):
    """Some columns of the sampled rows of a process."""

    dense: NDArray[Any]  # (n_dense, n_sampled): the values of columns that are dense
    is_dense: NDArray[np.bool_]  # (n_columns,)
    # (n_columns,): the number of stored values of each sparse column; 0 for dense ones.
    length: NDArray[np.int64]
    # The positions of the stored values among the sampled rows, column by column.
    rows: NDArray[np.int32]
    values: NDArray[Any]  # the stored values


def cut_in_spans(
    columns: Columns, rows: NDArray[np.int64], spans: list[slice], n_threads: int
) -> list[SampledColumns]:
    """The values of the sampled rows in each span of columns.

    ``rows`` are the numbers of the sampled rows, ascending. Each process sends each of
    the results to another process, which searches the bins of these columns.
    """
    sampled = _SampledColumns(columns, rows)
    for _, own in columns.by_span(n_threads):
        sampled.add(own)
    return [sampled.span(span) for span in spans]


class _SampledColumns:
    """The values of sampled rows in columns that are dense or have stored values."""

    def __init__(self, columns: Columns, rows: NDArray[np.int64]) -> None:
        self.rows = rows
        self.position = row_positions(columns, rows)
        self.is_dense = np.empty(0, dtype=bool)
        # The numbers of the columns with values, and the values of each: in a sparse
        # column with their rows.
        self.numbers: list[int] = []
        self.values: list[tuple[NDArray[np.int32] | None, NDArray[Any]]] = []

    def add(self, columns: Columns) -> None:
        """Add the next columns: their values in the sampled rows."""
        is_dense = np.ones(columns.n_features, dtype=bool)
        if columns.index is not None:
            is_dense = columns.index == 0
        has_values = is_dense if columns.length is None else columns.length > 0
        for column in np.flatnonzero(is_dense | has_values).tolist():
            values = columns.stored(column)
            self.numbers.append(len(self.is_dense) + column)
            if is_dense[column] or self.position is None:
                self.values.append((None, values[self.rows]))
                continue
            position = self.position[columns.stored_rows(column)]
            chosen = position >= 0
            self.values.append((position[chosen], values[chosen]))
        self.is_dense = np.append(self.is_dense, is_dense)

    def span(self, span: slice) -> SampledColumns:
        """Some of the columns."""
        first, last = np.searchsorted(self.numbers, [span.start, span.stop])
        pairs, is_dense = self.values[first:last], self.is_dense[span]
        dense = [values for rows, values in pairs if rows is None]
        stored = [(rows, values) for rows, values in pairs if rows is not None]
        column = np.array(self.numbers[first:last], dtype=np.int64) - span.start
        length = np.zeros(len(is_dense), dtype=np.int64)
        length[column[~is_dense[column]]] = [len(rows) for rows, _ in stored]
        empty = np.empty((0, len(self.rows)), np.bool_)
        return SampledColumns(
            np.concatenate([empty, *(values[None] for values in dense)]),
            is_dense,
            length,
            np.concatenate([np.empty(0, np.int32), *(rows for rows, _ in stored)]),
            np.concatenate([np.empty(0, np.bool_), *(values for _, values in stored)]),
        )


def joined(
    pieces: Sequence[SampledColumns],
    positions: Sequence[NDArray[np.int64]],
    n_rows: int,
) -> Columns:
    """The columns of the sampled rows of all processes.

    Each piece has the same columns of some of the ``n_rows`` sampled rows;
    ``positions`` has, for each piece, the positions of its rows among all of them. A
    column that is dense in one piece becomes dense in all.
    """
    is_dense = np.any([piece.is_dense for piece in pieces], axis=0)
    dense = _dense(pieces, positions, is_dense, n_rows)
    if is_dense.all():
        builder = ColumnsBuilder(n_rows, len(is_dense))
        builder.add([(np.arange(len(is_dense)), dense.T)])
        return builder.columns()
    stored = _sparse(pieces, positions, is_dense, n_rows)
    numbers = np.flatnonzero(is_dense).tolist()
    return stored.with_values(dict(zip(numbers, dense, strict=True)))


def joined_pieces(
    rank_pieces: Sequence[Sequence[SampledColumns]],
    rank_positions: Sequence[NDArray[np.int64]],
    n_rows: int,
) -> Columns:
    """`joined` of several pieces from each process.

    ``rank_positions`` has, for each process, the positions of its rows among all
    sampled rows. The rows of a process are those of its pieces, in this order.
    """
    positions: list[NDArray[np.int64]] = []
    for pieces, own_positions in zip(rank_pieces, rank_positions, strict=True):
        ends = np.cumsum([piece.dense.shape[1] for piece in pieces])
        positions += np.split(own_positions, ends[:-1])
    return joined(list(chain.from_iterable(rank_pieces)), positions, n_rows)


def _dense(
    pieces: Sequence[SampledColumns],
    positions: Sequence[NDArray[np.int64]],
    is_dense: NDArray[np.bool_],
    n_rows: int,
) -> NDArray[Any]:
    """The values of the columns that are dense in any piece, (n_dense, n_rows).

    ``is_dense``, (n_columns,), says which these are. Where a piece has such a column as
    stored values, the rows without one are 0. For the rest see `joined`.
    """
    row_of = np.cumsum(is_dense) - 1
    dtype = np.result_type(*(a.dtype for b in pieces for a in (b.dense, b.values)))
    out = np.zeros((int(is_dense.sum()), n_rows), dtype=dtype)
    for piece, own_rows in zip(pieces, positions, strict=True):
        out[row_of[piece.is_dense][:, None], own_rows] = piece.dense
        column = np.repeat(np.arange(len(is_dense)), piece.length)
        here = is_dense[column]
        out[row_of[column[here]], own_rows[piece.rows[here]]] = piece.values[here]
    return out


def _sparse(
    pieces: Sequence[SampledColumns],
    positions: Sequence[NDArray[np.int64]],
    is_dense: NDArray[np.bool_],
    n_rows: int,
) -> Columns:
    """The stored values of columns that are sparse in all pieces.

    Columns that are dense in a piece have none: ``is_dense``, (n_columns,). For the
    rest see `joined`.
    """
    length = np.sum([np.where(is_dense, 0, piece.length) for piece in pieces], axis=0)
    columns = [np.repeat(np.arange(len(is_dense)), piece.length) for piece in pieces]
    here = [~is_dense[column] for column in columns]
    rows = np.concatenate(
        [at[b.rows[kept]] for b, at, kept in zip(pieces, positions, here, strict=True)]
    )
    values = np.concatenate(
        [piece.values[kept] for piece, kept in zip(pieces, here, strict=True)]
    )
    column = np.concatenate([c[kept] for c, kept in zip(columns, here, strict=True)])
    # Each piece is sorted, so the stable sort merges them.
    order = np.argsort(column * n_rows + rows, kind="stable")
    start = np.append(0, np.cumsum(length))
    return sparse.stored_columns(
        values[order], rows[order].astype(np.int32), start, n_rows
    )
