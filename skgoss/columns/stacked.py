"""Rows in memory in several pieces, one below the other, such as a list of arrays.

They are read piece by piece, so no copy of all of them is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from skgoss.columns.columns import Columns
from skgoss.utils.messages import each_warning_once, errors_at

T = TypeVar("T")


@dataclass(frozen=True)
class Stack:
    """Data in pieces of at least one row: containers, and their names in messages."""

    pieces: Sequence[Any]
    locations: Sequence[str]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all rows; () if the pieces have none."""
        shapes: list[tuple[int, ...]] = [
            getattr(piece, "shape", ()) for piece in self.pieces
        ]
        if not all(shapes):
            return ()
        return sum(shape[0] for shape in shapes), *shapes[0][1:]

    def read(self, reader: Callable[[Any], T]) -> list[T]:
        """The results of a function for each piece; errors name the piece."""
        results = []
        with each_warning_once():
            for piece, location in zip(self.pieces, self.locations, strict=True):
                with errors_at(location):
                    results.append(reader(piece))
        return results


@dataclass(frozen=True, slots=True, eq=False)
class StackedColumns:
    """The columns of a `Stack`."""

    pieces: tuple[Columns, ...]

    @property
    def n_rows(self) -> int:
        """The number of rows of all pieces."""
        return sum(piece.n_rows for piece in self.pieces)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.pieces[0].n_features

    @property
    def n_categories(self) -> NDArray[np.int32] | None:
        """The number of categories of each column, 0 for numbers; None: all are 0."""
        return self.pieces[0].n_categories

    def take(self, features: NDArray[Any]) -> StackedColumns:
        """Some of the columns."""
        return StackedColumns(tuple(piece.take(features) for piece in self.pieces))


def pieces(
    columns: Columns | StackedColumns, *rows: NDArray[np.int64] | None
) -> Iterator[tuple[Any, ...]]:
    """The pieces of columns, each with its part of one or several lists of rows.

    Rows ascend, and are counted from the first row of the piece; None: all.
    """
    if not isinstance(columns, StackedColumns):
        yield columns, *rows
        return
    start = 0
    for piece in columns.pieces:
        yield piece, *(within(some, start, piece.n_rows) for some in rows)
        start += piece.n_rows


def within(
    rows: NDArray[np.int64] | None, start: int, n: int
) -> NDArray[np.int64] | None:
    """The rows from ``start`` to ``start + n``, counted from there; None: all."""
    if rows is None:
        return None
    first, last = np.searchsorted(rows, [start, start + n])
    return rows[first:last] - start
