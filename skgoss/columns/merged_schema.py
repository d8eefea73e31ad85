"""Checks that parts of the rows have the same columns; merges their categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.columns.categories import (
    Categories,
    Vocabulary,
    in_order,
    with_n_categories,
)
from skgoss.columns.columns import Columns
from skgoss.columns.schema import ColumnSchema
from skgoss.columns.stacked import StackedColumns
from skgoss.distributed.row_partition import Parts, check_equal, names_of_parts


def merged(
    columns: Columns | StackedColumns,
    schema: ColumnSchema,
    parts: Parts,
    *,
    learned: bool,
) -> tuple[Columns | StackedColumns, ColumnSchema]:
    """Check that all ranks have the same columns, and merge their categories.

    All ranks call this at the same time, each with the columns of its rows. If
    ``learned``, the categories of the schema are those of these rows. The columns that
    are returned have the numbers of the categories of all ranks, and the schema is the
    same on all ranks.

    ValueError if numbers or names of columns differ, or if a column holds strings or
    categories in one part and numbers in another. The message names the parts.
    """
    if columns.n_rows != parts.n_rows:
        raise ValueError(
            f"X has {columns.n_rows} rows, but its parts have {parts.n_rows}."
        )
    own = schema.categories.vocabularies if learned else {}
    facts = _ColumnFacts.from_schema(schema, own)
    numbers, rank_facts = zip(*parts.gather_from_ranks_with_rows(facts), strict=True)
    vocabularies = _merged_vocabularies(rank_facts, list(map(names_of_parts, numbers)))
    if not learned:
        return columns, schema
    if vocabularies:
        columns = _with_categories(columns, own, vocabularies)
    return columns, with_vocabularies(schema, vocabularies)


def from_pieces(
    read: Sequence[tuple[Columns, ColumnSchema]], locations: Sequence[str]
) -> tuple[StackedColumns, ColumnSchema]:
    """The columns of rows that were read in pieces, with the categories of all pieces.

    ``read`` has the columns and the schema of each piece, and ``locations`` the names
    of the pieces in messages. ValueError as in `merged`. The message names two pieces.
    """
    learned = [schema.categories.vocabularies for _, schema in read]
    facts = [
        _ColumnFacts.from_schema(schema, vocabularies)
        for (_, schema), vocabularies in zip(read, learned, strict=True)
    ]
    merged = _merged_vocabularies(facts, locations)
    pieces = tuple(columns for columns, _ in read)
    if merged:
        pieces = tuple(
            _with_categories(columns, own, merged)
            for columns, own in zip(pieces, learned, strict=True)
        )
    return StackedColumns(pieces), with_vocabularies(read[0][1], merged)


def with_vocabularies(
    schema: ColumnSchema, vocabularies: dict[int, Vocabulary]
) -> ColumnSchema:
    """The same columns with other categories."""
    categories = Categories(schema.categories.declared)
    categories.vocabularies = vocabularies
    return replace(schema, categories=categories)


class _ColumnKind(NamedTuple):
    """The kind of values that a column holds in some rows."""

    kind: str | None  # its name in messages; None: all values are missing
    # The categories.
    values: list[Any] = []  # noqa: RUF012 - is not changed
    is_ordered: bool = False
    needs_encoding: bool = False
    text_library: str = ""

    @classmethod
    def from_vocabulary(cls, vocabulary: Vocabulary) -> _ColumnKind:
        kind: str | None = "numbers of categories"
        if vocabulary.is_ordered:
            kind = f"the ordered categories {vocabulary.values}"
        elif not vocabulary.values:
            kind = None
        elif vocabulary.needs_encoding:
            kind = "strings or categories"
        return cls(
            kind,
            vocabulary.values,
            vocabulary.is_ordered,
            vocabulary.needs_encoding,
            vocabulary.text_library,
        )

    def vocabulary(self, values: Iterable[Any]) -> Vocabulary:
        """The vocabulary of a column of this kind whose rows hold some values."""
        values = self.values if self.is_ordered else in_order(values)
        return Vocabulary(
            values, self.is_ordered, self.needs_encoding, self.text_library
        )


_NUMBERS = _ColumnKind("numbers")


class _ColumnFacts(NamedTuple):
    """What must be the same in all rows: names of columns, kinds of values."""

    n_features: int
    names: list[str] | None
    kinds: dict[int, _ColumnKind]

    @classmethod
    def from_schema(
        cls, schema: ColumnSchema, vocabularies: dict[int, Vocabulary]
    ) -> _ColumnFacts:
        """The facts of the rows of one part; ``vocabularies`` are by column."""
        names = schema.feature_names
        kinds = {
            column: _ColumnKind.from_vocabulary(vocabulary)
            for column, vocabulary in vocabularies.items()
        }
        return cls(schema.n_features, None if names is None else names.tolist(), kinds)


def _merged_vocabularies(
    facts: Sequence[_ColumnFacts], locations: Sequence[str]
) -> dict[int, Vocabulary]:
    """The categories that one process would learn from all rows, by column.

    ``facts`` are those of each part, and ``locations`` name the parts in messages.
    ValueError if some rows have other columns, or values of another kind.
    """
    n_features = [some.n_features for some in facts]
    check_equal("The number of columns of X", n_features, locations)
    have_names = [some.names is not None for some in facts]
    check_equal("Whether the columns have names", have_names, locations)
    for number, names in enumerate(
        zip(*(some.names or () for some in facts), strict=True)
    ):
        if len(set(names)) > 1:
            check_equal(f"The name of column {number}", names, locations)
    merged = {}
    for column in sorted(set(chain.from_iterable(some.kinds for some in facts))):
        kinds = [some.kinds.get(column, _NUMBERS) for some in facts]
        first = next((kind for kind in kinds if kind.kind is not None), kinds[0])
        present = [kind.kind or first.kind for kind in kinds]
        check_equal(f"What column {column} holds", present, locations)
        if first.kind != _NUMBERS.kind:
            values = dict.fromkeys(chain.from_iterable(kind.values for kind in kinds))
            merged[column] = first.vocabulary(values)
    return merged


def _with_categories(
    columns: Columns | StackedColumns,
    own: dict[int, Vocabulary],
    merged: dict[int, Vocabulary],
) -> Any:
    """The columns with the numbers of the ``merged`` categories, not their own.

    ``own`` and ``merged`` are by the number of the column.
    """
    if isinstance(columns, StackedColumns):
        pieces = (_with_categories(piece, own, merged) for piece in columns.pieces)
        return StackedColumns(tuple(pieces))
    numbered = {}
    for column, vocabulary in merged.items():
        if columns.n_rows and own[column].values != vocabulary.values:
            values = [*vocabulary.look_up(own[column].values), np.nan]
            table = np.array(values, dtype=vocabulary.dtype)
            numbered[column] = looked_up(table, columns.stored(column))
    return with_n_categories(columns.whole.with_values(numbered), merged)


class GrowingVocabulary:
    """The categories of a column whose rows are read in batches.

    Until all are read, categories have numbers in the order of their first occurrence.
    """

    def __init__(self) -> None:
        self._number_of: dict[Any, int] = {}
        self._kind = _ColumnKind(None)

    def add(self, vocabulary: Vocabulary) -> NDArray[np.float64]:
        """Add the categories of a batch; return a table of their numbers, and NaN.

        ValueError if they are of another kind than those before.
        """
        kind = _ColumnKind.from_vocabulary(vocabulary)
        if self._kind.kind is None:
            self._kind = kind
        if kind.kind not in (None, self._kind.kind):
            raise ValueError(
                f"a column holds {kind.kind}, but {self._kind.kind} in rows before."
            )
        number_of = self._number_of
        numbers = [number_of.setdefault(v, len(number_of)) for v in vocabulary.values]
        return np.array([*numbers, np.nan])

    def finished(self) -> tuple[Vocabulary, NDArray[np.float64]]:
        """All categories, and the table from the numbers so far to the final ones."""
        vocabulary = self._kind.vocabulary(self._number_of)
        return vocabulary, np.array([*vocabulary.look_up(self._number_of), np.nan])


def looked_up(
    table: NDArray[np.floating[Any]], numbers: NDArray[Any]
) -> NDArray[np.floating[Any]]:
    """The entries of a table at some indices; its last entry is for NaN."""
    return table[np.where(np.isnan(numbers), -1, numbers).astype(np.intp)]
