"""The columns and categories that are common to all processes of a fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.columns.categories import Categories, Vocabulary, sort_key, with_values
from skgoss.columns.columns import Columns
from skgoss.columns.row_partition import Parts
from skgoss.columns.schema import ColumnSchema
from skgoss.columns.stacked import StackedColumns


def merged(
    columns: Columns | StackedColumns,
    schema: ColumnSchema,
    parts: Parts,
    *,
    learned: bool,
) -> tuple[Columns | StackedColumns, ColumnSchema]:
    """Check that all ranks have the same columns, and merge their categories.

    All ranks call this at the same time.

    Parameters
    ----------
    columns : Columns or StackedColumns
        The rows of this rank.
    schema : ColumnSchema
        The columns of these rows.
    learned : bool
        Whether the categories have been learned from the rows.

    Returns
    -------
    columns : Columns or StackedColumns
        With the label encoding of the categories of all ranks.
    schema : ColumnSchema
        The same on all ranks.

    Raises
    ------
    ValueError
        If numbers or names of columns differ, or if a column holds strings or
        categories in one part and numbers in another. The message names the parts.
    """
    if columns.n_rows != parts.n_rows:
        raise ValueError(
            f"X has {columns.n_rows} rows, but its parts have {parts.n_rows}."
        )
    parts.check_same("The number of columns of X", columns.n_features)
    names = schema.feature_names
    parts.check_same("Whether the columns have names", names is not None)
    if names is not None:
        _check_each(parts, "The name of column {}", names.tolist())
    if not learned:
        return columns, schema
    columns, vocabularies = _with_common_categories(columns, schema.categories, parts)
    categories = Categories(schema.categories.declared)
    categories.vocabularies = vocabularies
    return columns, replace(schema, categories=categories)


def _check_each(parts: Parts, what: str, values: list[Any]) -> None:
    """Check that values of columns are the same on all ranks."""
    everyones = zip(*parts.collectives.all_gather(values), strict=True)
    for number, of_column in enumerate(everyones):
        if any(value != of_column[0] for value in of_column):
            parts.check_same(what.format(number), values[number])


class _ColumnKind(NamedTuple):
    """What a column holds in the rows of one process.

    Attributes
    ----------
    kind : str or None
        In words, for messages; None: all values are missing.
    values : list
        The categories.
    is_ordered, needs_encoding : bool
        See `Vocabulary`.
    """

    kind: str | None
    values: list[Any]
    is_ordered: bool
    needs_encoding: bool

    @classmethod
    def from_vocabulary(cls, words: Vocabulary) -> _ColumnKind:
        kind: str | None = "numbers of categories"
        if words.is_ordered:
            kind = f"the ordered categories {words.values}"
        elif not words.values:
            kind = None
        elif words.needs_encoding:
            kind = "strings or categories"
        return cls(kind, words.values, words.is_ordered, words.needs_encoding)


_NUMBERS = _ColumnKind("numbers", [], False, False)


def _with_common_categories(
    columns: Columns | StackedColumns, categories: Categories, parts: Parts
) -> tuple[Columns | StackedColumns, dict[int, Vocabulary]]:
    """The columns with the label encoding of all ranks' categories, and these."""
    own = categories.vocabularies
    kinds_of_ranks = parts.collectives.all_gather(_column_kinds(own))

    def refuse(column: int, kinds: list[str]) -> None:
        kind = kinds[parts.collectives.rank]
        parts.check_same(f"What column {column} holds", kind)

    if not any(kinds_of_ranks):
        return columns, {}
    merged = _merged_vocabularies(kinds_of_ranks, refuse)
    return _with_categories(columns, own, merged), merged


def of_pieces(
    read: Sequence[tuple[Columns, ColumnSchema]], places: Sequence[str]
) -> tuple[StackedColumns, ColumnSchema]:
    """The columns of rows that were read in pieces, with the categories of all.

    Parameters
    ----------
    read : sequence of (Columns, ColumnSchema)
        What was learned from each piece.
    places : sequence of str
        What messages call the pieces.

    Raises
    ------
    ValueError
        If the pieces have other columns, or one holds categories and numbers. The
        message names two pieces.
    """

    def check_same(what: str, values: Sequence[Any]) -> None:
        for value, place in zip(values, places, strict=True):
            if value != values[0]:
                raise ValueError(
                    f"{what} must be the same in all parts of the data, but is"
                    f" {values[0]!r} in {places[0]} and {value!r} in {place}."
                )

    schemas = [schema for _, schema in read]
    check_same("The number of columns of X", [schema.n_features for schema in schemas])
    names = [schema.feature_names for schema in schemas]
    check_same("Whether the columns have names", [own is not None for own in names])
    if names[0] is not None:
        for number, of_column in enumerate(zip(*names, strict=True)):
            check_same(f"The name of column {number}", of_column)
    vocabularies = [schema.categories.vocabularies for schema in schemas]
    merged = _merged_vocabularies(
        list(map(_column_kinds, vocabularies)),
        lambda column, kinds: check_same(f"What column {column} holds", kinds),
    )
    categories = Categories(schemas[0].categories.declared)
    categories.vocabularies = merged
    pieces = tuple(columns for columns, _ in read)
    if any(vocabularies):
        pieces = tuple(
            _with_categories(columns, own, merged)
            for columns, own in zip(pieces, vocabularies, strict=True)
        )
    return StackedColumns(pieces), replace(schemas[0], categories=categories)


def _column_kinds(vocabularies: dict[int, Vocabulary]) -> dict[int, _ColumnKind]:
    return {
        column: _ColumnKind.from_vocabulary(words)
        for column, words in vocabularies.items()
    }


def _merged_vocabularies(
    kinds_of_ranks: Sequence[dict[int, _ColumnKind]],
    refuse: Callable[[int, list[str]], None],
) -> dict[int, Vocabulary]:
    """The categories of all rows, from those of the rows of each rank.

    ``refuse`` gets a column that not all hold the same kind of values in, and what it
    holds in the rows of each.
    """
    merged = {}
    for column in sorted(set(chain.from_iterable(kinds_of_ranks))):
        found = [kinds.get(column, _NUMBERS) for kinds in kinds_of_ranks]
        first = next((one for one in found if one.kind is not None), found[0])
        kinds = [one.kind or first.kind or "" for one in found]
        if len(set(kinds)) > 1:
            refuse(column, kinds)
        if first.kind != _NUMBERS.kind:
            merged[column] = _merged(first, found)
    return merged


def _with_categories(
    columns: Columns | StackedColumns,
    own: dict[int, Vocabulary],
    merged: dict[int, Vocabulary],
) -> Any:
    """The columns with the numbers of other categories."""
    if isinstance(columns, StackedColumns):
        pieces = (_with_categories(piece, own, merged) for piece in columns.pieces)
        return StackedColumns(tuple(pieces))
    numbered = {
        column: _recoded(columns.stored(column), own[column], words)
        for column, words in merged.items()
        if own[column].values != words.values
    }
    n_categories = np.zeros(columns.n_features, dtype=np.int32)
    for column, words in merged.items():
        n_categories[column] = words.n_categories
    return replace(
        with_values(columns.whole, numbered),
        n_categories=n_categories if n_categories.any() else None,
    )


class GrowingVocabulary:
    """The categories of a column whose rows come in batches.

    While it grows, categories have the numbers in which they were first met.
    """

    def __init__(self) -> None:
        self._number_of: dict[Any, int] = {}
        self._first: _ColumnKind | None = None

    def add(self, words: Vocabulary) -> NDArray[np.float64]:
        """Add the categories of a batch; return their numbers, and NaN.

        Raises
        ------
        ValueError
            If they are of another kind than those before.
        """
        found = _ColumnKind.from_vocabulary(words)
        if self._first is None or self._first.kind is None:
            self._first = found
        if found.kind not in (None, self._first.kind):
            raise ValueError(
                f"a column holds {found.kind}, but {self._first.kind} in rows before."
            )
        number_of = self._number_of
        numbers = [number_of.setdefault(v, len(number_of)) for v in words.values]
        return np.array([*numbers, np.nan])

    def finished(self) -> tuple[Vocabulary, NDArray[np.float64]]:
        """All categories, and the final numbers of those that were added, and NaN."""
        first = self._first
        values = list(self._number_of)
        if not first.is_ordered:
            values = sorted(values, key=sort_key)
        words = Vocabulary(values, first.is_ordered, first.needs_encoding)
        return words, np.array([*words.look_up(self._number_of), np.nan])


def _merged(first: _ColumnKind, found: Sequence[_ColumnKind]) -> Vocabulary:
    """The categories that one process would learn from the rows of all processes."""
    values = first.values
    if not first.is_ordered:
        distinct = dict.fromkeys(chain.from_iterable(one.values for one in found))
        values = sorted(distinct, key=sort_key)
    return Vocabulary(values, first.is_ordered, first.needs_encoding)


def _recoded(
    numbers: NDArray[Any], own: Vocabulary, words: Vocabulary
) -> NDArray[np.floating[Any]]:
    """The numbers of categories in another vocabulary; NaN stays."""
    table = np.array([*words.look_up(own.values), np.nan], dtype=words.dtype)
    return looked_up(table, numbers)


def looked_up(
    table: NDArray[np.floating[Any]], numbers: NDArray[Any]
) -> NDArray[np.floating[Any]]:
    """The entries of a table, whose last one is for NaN."""
    return table[np.where(np.isnan(numbers), -1, numbers).astype(np.intp)]
