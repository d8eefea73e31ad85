"""Sampled rows of several processes: each gets all of them for some columns.

Each process samples its own rows and cuts their columns into blocks, one for each rank.
An all-to-all operation sends each rank the blocks of its columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import sparse
from skgoss.columns.columns import Columns, ColumnsBuilder, row_positions


class SampleBlock(NamedTuple):
    """Some columns of the sampled rows of a process."""

    dense: NDArray[Any]  # (n_dense, n_sampled): the values of columns that are dense
    is_dense: NDArray[np.bool_]  # (n_columns,)
    # (n_columns,): the number of stored values of each sparse column; 0 for dense ones.
    length: NDArray[np.int64]
    # The positions of these among the sampled rows of the process, column by column.
    rows: NDArray[np.int32]
    values: NDArray[Any]  # the stored values


def blocks(
    columns: Columns, rows: NDArray[np.int64], spans: list[slice], n_threads: int
) -> list[SampleBlock]:
    """Some sampled rows, ascending: a block for each span of columns."""
    sampled = _SampledColumns(columns, rows)
    for _, block in columns.blocks(n_threads):
        sampled.add(block)
    return [sampled.block(span) for span in spans]


class _SampledColumns:
    """The columns of sampled rows: those that are dense, or have stored values."""

    def __init__(self, columns: Columns, rows: NDArray[np.int64]) -> None:
        self.rows = rows
        self.position = row_positions(columns, rows)
        self.is_dense = np.empty(0, dtype=bool)
        # The columns with values, and these; with their rows, if they are sparse.
        self.numbers: list[int] = []
        self.values: list[tuple[NDArray[np.int32] | None, NDArray[Any]]] = []

    def add(self, columns: Columns) -> None:
        """Take the sampled rows of the next columns."""
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

    def block(self, span: slice) -> SampleBlock:
        """Some of the columns."""
        first, last = np.searchsorted(self.numbers, [span.start, span.stop])
        pairs, is_dense = self.values[first:last], self.is_dense[span]
        dense = [values for rows, values in pairs if rows is None]
        stored = [(rows, values) for rows, values in pairs if rows is not None]
        at = np.array(self.numbers[first:last], dtype=np.int64) - span.start
        length = np.zeros(len(is_dense), dtype=np.int64)
        length[at[~is_dense[at]]] = [len(rows) for rows, _ in stored]
        empty = np.empty((0, len(self.rows)), np.bool_)
        return SampleBlock(
            np.concatenate([empty, *(values[None] for values in dense)]),
            is_dense,
            length,
            np.concatenate([np.empty(0, np.int32), *(rows for rows, _ in stored)]),
            np.concatenate([np.empty(0, np.bool_), *(values for _, values in stored)]),
        )


def joined(
    blocks: Sequence[SampleBlock], positions: Sequence[NDArray[np.int64]], n_rows: int
) -> Columns:
    """The columns of the sampled rows of all processes.

    Each block has the same columns of some rows, whose ``positions`` are among all
    ``n_rows`` sampled ones.
    """
    is_dense = np.any([block.is_dense for block in blocks], axis=0)
    dense = _dense(blocks, positions, is_dense, n_rows)
    if is_dense.all():
        builder = ColumnsBuilder(n_rows, len(is_dense))
        builder.add([(np.arange(len(is_dense)), dense.T)])
        return builder.columns()
    stored = _sparse(blocks, positions, is_dense, n_rows)
    numbers = np.flatnonzero(is_dense).tolist()
    return stored.with_values(dict(zip(numbers, dense, strict=True)))


def joined_pieces(
    of_ranks: Sequence[Sequence[SampleBlock]],
    positions_of_ranks: Sequence[NDArray[np.int64]],
    n_rows: int,
) -> Columns:
    """Join the blocks of several pieces of the rows of each process to columns."""
    positions: list[NDArray[np.int64]] = []
    for blocks, at in zip(of_ranks, positions_of_ranks, strict=True):
        ends = np.cumsum([block.dense.shape[1] for block in blocks])
        positions += np.split(at, ends[:-1])
    return joined(list(chain.from_iterable(of_ranks)), positions, n_rows)


def _dense(
    blocks: Sequence[SampleBlock],
    positions: Sequence[NDArray[np.int64]],
    is_dense: NDArray[np.bool_],
    n_rows: int,
) -> NDArray[Any]:
    """The values of columns that are dense in any block."""
    place_of = np.cumsum(is_dense) - 1
    dtype = np.result_type(*(a.dtype for b in blocks for a in (b.dense, b.values)))
    out = np.zeros((int(is_dense.sum()), n_rows), dtype=dtype)
    for block, at in zip(blocks, positions, strict=True):
        out[place_of[block.is_dense][:, None], at] = block.dense
        column = np.repeat(np.arange(len(is_dense)), block.length)
        here = is_dense[column]
        out[place_of[column[here]], at[block.rows[here]]] = block.values[here]
    return out


def _sparse(
    blocks: Sequence[SampleBlock],
    positions: Sequence[NDArray[np.int64]],
    is_dense: NDArray[np.bool_],
    n_rows: int,
) -> Columns:
    """The stored values of columns that are sparse in all blocks; others have none."""
    length = np.sum([np.where(is_dense, 0, block.length) for block in blocks], axis=0)
    columns = [np.repeat(np.arange(len(is_dense)), block.length) for block in blocks]
    here = [~is_dense[column] for column in columns]
    rows = np.concatenate(
        [at[b.rows[kept]] for b, at, kept in zip(blocks, positions, here, strict=True)]
    )
    values = np.concatenate(
        [block.values[kept] for block, kept in zip(blocks, here, strict=True)]
    )
    column = np.concatenate([c[kept] for c, kept in zip(columns, here, strict=True)])
    # Each block is in order, so this merges.
    order = np.argsort(column * n_rows + rows, kind="stable")
    start = np.append(0, np.cumsum(length))
    return sparse.stored_columns(
        values[order], rows[order].astype(np.int32), start, n_rows
    )
