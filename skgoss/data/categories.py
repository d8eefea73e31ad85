"""Columns of categories: which they are, and the numbers of their values."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from skgoss._engine.data import columns as kernels
from skgoss.data.columns import Columns
from skgoss.data.state import entries

# So few values are sooner read one by one than by the library that holds them.
FEW_ROWS = 16

# float32 holds all integers up to this one.
FLOAT32_CODES = 1 << 24

# The distinct values of a column, some of which may not occur, and for each row which
# of them it holds; -1 where it holds none.
Factorized = tuple[list[Any], NDArray[np.integer[Any]]]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The values of a column of categories, in the order of their numbers.

    Attributes
    ----------
    values : list
        Equal values are one, whatever their type: 1, 1.0 and True.
    is_ordered : bool
        Whether the numbers are used as such, and not as names.
    number_of : dict
        The number of each value.
    """

    values: list[Any]
    is_ordered: bool = False
    number_of: dict[Any, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        numbered = {value: number for number, value in enumerate(self.values)}
        object.__setattr__(self, "number_of", numbered)

    @property
    def n_categories(self) -> int:
        """How many categories split searches see; 0 if the column is one of numbers."""
        return 0 if self.is_ordered else len(self.values)

    def look_up(self, values: Iterable[Any]) -> list[float]:
        """The number of each value, NaN where it is unknown or missing."""
        return [self.number_of.get(value, math.nan) for value in values]

    def encode(self, distinct: list[Any], place: NDArray[Any]) -> NDArray[Any]:
        """The numbers of a column's values, from `factorize`; NaN as in `look_up`."""
        table = np.array([*self.look_up(distinct), math.nan], dtype=self.dtype)
        return table[place]

    @property
    def dtype(self) -> np.dtype[Any]:
        """A float that holds every number exactly."""
        return np.dtype(np.float32 if len(self.values) <= FLOAT32_CODES else np.float64)


@dataclass(frozen=True, eq=False)
class ObjectColumn:
    """A column of an array of objects or strings, in place of a narwhals Series."""

    name: Any
    values: NDArray[Any]
    implementation = None
    dtype = nw.Object()

    def __len__(self) -> int:
        return len(self.values)

    def to_list(self) -> list[Any]:
        """The values."""
        return self.values.tolist()

    def to_native(self) -> NDArray[Any]:
        """The array."""
        return self.values

    def null_count(self) -> int:
        """How many values are missing."""
        return sum(map(is_missing, self.to_list()))


class Categories:
    """What an estimator remembers of its columns of categories.

    Parameters
    ----------
    declared : set of int, or None
        The columns that the user named; None: there shall be no categories.

    Attributes
    ----------
    declared : set of int, or None
    vocabularies : dict from int to Vocabulary
        By column; filled in fit.
    """

    def __init__(self, declared: set[int] | None) -> None:
        self.declared = declared
        self.vocabularies: dict[int, Vocabulary] = {}

    def __getstate__(self) -> dict[str, Any]:
        declared = self.declared
        return {
            "declared": None if declared is None else sorted(map(int, declared)),
            "vocabularies": {
                int(column): {"values": words.values, "is_ordered": words.is_ordered}
                for column, words in self.vocabularies.items()
            },
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        declared, vocabularies = entries(
            state,
            {"declared": (list, NoneType), "vocabularies": dict},
            "the state of categories",
        )
        columns = [*(declared or ()), *vocabularies]
        if not all(isinstance(column, int) and column >= 0 for column in columns):
            raise ValueError("columns of categories must be numbers from 0 on")
        self.declared = None if declared is None else set(declared)
        self.vocabularies = {
            column: _restored(column, words) for column, words in vocabularies.items()
        }

    def uses(self, column: int, *, learn: bool) -> bool:
        """Whether a column was declared (in fit) or learned to hold categories."""
        return column in ((self.declared or ()) if learn else self.vocabularies)

    def encode_words(
        self, column: int, series: nw.Series[Any] | ObjectColumn, *, learn: bool
    ) -> NDArray[Any]:
        """The numbers of a column for which `holds_words` is true.

        Parameters
        ----------
        column : int
        series : narwhals Series
        learn : bool
            True in fit; False looks the values up.

        Returns
        -------
        ndarray of shape (len(series),), float32 or float64
            NaN where the value is missing or unknown.

        Raises
        ------
        ValueError
            If there shall be no categories, or the column held numbers in fit.
        """
        few = not learn and len(series) <= FEW_ROWS
        try:
            distinct, place = (
                factorize_values(series.to_list()) if few else factorize(series)
            )
        except TypeError as error:
            raise ValueError(
                f"Column {series.name!r} holds values that cannot be categories:"
                f" {error}. Turn them into strings or numbers."
            ) from error
        if learn:
            self._learn_words(column, series, distinct, place)
        elif column not in self.vocabularies:
            return _plain_numbers(series.name, distinct, place)
        return self.vocabularies[column].encode(distinct, place)

    def look_up_words(self, column: int, values: list[Any]) -> list[Any]:
        """The numbers of a few values, or the values if some are no plain ones."""
        plain = (str, numbers.Real, type(None))
        if all(isinstance(value, plain) for value in values):
            return self.vocabularies[column].look_up(values)
        return values

    def _learn_words(
        self,
        column: int,
        series: nw.Series[Any] | ObjectColumn,
        distinct: list[Any],
        place: NDArray[Any],
    ) -> None:
        declared = self.declared or set()
        order = None if column in declared else _order_of(series)
        if order is not None:
            self.vocabularies[column] = Vocabulary(order, is_ordered=True)
            return
        values = _occurring(distinct, place)
        if values and self.declared is None:
            raise ValueError(
                f"Column {series.name!r} holds strings or categories, which can only be"
                " used as categories: leave categorical_feature at 'auto', or leave"
                " the column out."
            )
        self.vocabularies[column] = Vocabulary(sorted(values, key=_sort_key))

    def encode_numbers(
        self, columns: Columns, names: Sequence[Any], words: set[int], *, learn: bool
    ) -> Columns:
        """Put the numbers of categories where columns of them hold other numbers.

        Parameters
        ----------
        columns : Columns
        names : sequence
            Of the columns, for messages.
        words : set of int
            The columns that `encode_words` has encoded.
        learn : bool
            True in fit; False looks the values up.

        Returns
        -------
        Columns
            With `n_categories`.

        Raises
        ------
        ValueError
            If a column to learn holds numbers that are not whole.

        Warns
        -----
        UserWarning
            If a column to learn holds negative numbers.
        """
        encoded = (self.declared or set()) if learn else self.vocabularies.keys()
        if not encoded and not self.vocabularies:
            return columns
        numbered = {}
        for column in sorted(encoded - words):
            stored = _stored(columns, column)
            if learn:
                has_rest = len(stored) < columns.n_rows
                values = np.append(stored, 0.0) if has_rest else stored
                self.vocabularies[column] = Vocabulary(
                    _whole_numbers(values, names[column])
                )
            numbered[column] = _numbered(
                columns, column, stored, self.vocabularies[column]
            )
        return self.with_counts(_with_values(columns, numbered))

    def with_counts(self, columns: Columns) -> Columns:
        """The columns, whose categories are numbers by now, with `n_categories`."""
        n_categories = np.zeros(columns.n_features, dtype=np.int32)
        for column, vocabulary in self.vocabularies.items():
            n_categories[column] = vocabulary.n_categories
        return replace(
            columns, n_categories=n_categories if n_categories.any() else None
        )


def _restored(column: int, state: Any) -> Vocabulary:
    owner = f"the categories of column {column}"
    values, is_ordered = entries(state, {"values": list, "is_ordered": bool}, owner)
    try:
        return Vocabulary(values, is_ordered)
    except TypeError as error:
        raise ValueError(f"{owner} must be hashable: {error}") from error


def are_declared(categorical_feature: Any) -> bool:
    """Whether a user's word for the columns of categories names any."""
    is_list = not (categorical_feature is None or isinstance(categorical_feature, str))
    return is_list and len(categorical_feature) > 0


def declare(
    categorical_feature: Any, names: Sequence[Any] | None, n_features: int
) -> Categories:
    """Find the columns that a user declares to hold categories.

    Parameters
    ----------
    categorical_feature : 'auto', None or sequence of str and int
        See the option of this name. An empty sequence is None.
    names : sequence of str, or None
        The names of the columns, if they have any.
    n_features : int

    Returns
    -------
    Categories

    Raises
    ------
    ValueError
        For names and numbers that no column has, and columns that come twice.
    """
    if isinstance(categorical_feature, str):
        return Categories(set())
    if not are_declared(categorical_feature):
        return Categories(None)
    place = {} if names is None else {name: j for j, name in enumerate(names)}
    declared: set[int] = set()
    for word in categorical_feature:
        column = place.get(word, -1) if isinstance(word, str) else word
        if not 0 <= column < n_features:
            raise ValueError(_unknown_column(word, names, n_features))
        if column in declared:
            raise ValueError(
                f"categorical_feature names column {word!r} twice; name it once."
            )
        declared.add(column)
    return Categories(declared)


def _unknown_column(word: Any, names: Sequence[Any] | None, n_features: int) -> str:
    if not isinstance(word, str):
        there = f"the {n_features} columns of X are numbered 0 to {n_features - 1}"
    elif names is None:
        there = "the columns of X have no names, so use their numbers"
    else:
        there = f"the columns of X are {', '.join(map(repr, names[:20]))}"
        there += ", ..." if n_features > 20 else ""
    return f"categorical_feature holds {word!r}, but {there}."


def are_objects(series: nw.Series[Any] | ObjectColumn) -> bool:
    """Whether a column holds Python objects, of which narwhals sees the first ones."""
    if series.dtype == nw.String:
        return getattr(series.to_native(), "dtype", None) == np.dtype(object)
    return series.dtype == nw.Object


def holds_words(series: nw.Series[Any] | ObjectColumn) -> bool:
    """Whether a column can only be used as one of categories."""
    if are_objects(series):
        has_words = any(isinstance(value, str) for value in series.to_list())
        return has_words or series.null_count() == len(series)
    return isinstance(series.dtype, nw.String | nw.Categorical | nw.Enum)


def factorize(series: nw.Series[Any] | ObjectColumn) -> Factorized:
    """Find the distinct values of a column, and which of them each row holds.

    Parameters
    ----------
    series : narwhals Series

    Returns
    -------
    distinct : list
        May hold values that do not occur.
    place : ndarray of shape (len(series),), signed integers
        The place of a row's value in `distinct`; -1: it is missing.
    """
    by_library = _FACTORIZE.get(series.implementation)
    if by_library is None:
        return factorize_values(series.to_list())
    return by_library(series.to_native())


def factorize_values(values: Iterable[Any]) -> Factorized:
    """`factorize` any hashable values."""
    place_of: dict[Any, int] = {}
    place = [place_of.setdefault(value, len(place_of)) for value in values]
    table = np.arange(len(place_of))
    for value, at in place_of.items():
        if is_missing(value):
            table[at] = -1
    return list(place_of), table[place]


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or something that is not even equal to itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True


def _factorize_pandas(series: Any) -> Factorized:
    place, distinct = nw.dependencies.get_pandas().factorize(series)
    return distinct.tolist(), place


def _factorize_polars(series: Any) -> Factorized:
    polars = nw.dependencies.get_polars()
    distinct = series.drop_nulls().unique().cast(polars.String)
    place = series.cast(polars.Enum(distinct)).to_physical().cast(polars.Int32)
    return distinct.to_list(), place.fill_null(-1).to_numpy()


def _factorize_arrow(chunks: Any) -> Factorized:
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow.types.is_string_view(chunks.type):
        chunks = chunks.cast(pyarrow.large_string())
    encoded = _one_dictionary(chunks.dictionary_encode())
    place = encoded.indices.cast(pyarrow.int64()).fill_null(-1)
    distinct = encoded.dictionary.to_pylist()
    place = place.to_numpy(zero_copy_only=False)
    if None in distinct:
        place = np.where(place == distinct.index(None), -1, place)
    return distinct, place


def _one_dictionary(chunks: Any) -> Any:
    """The array of a chunked dictionary array."""
    joined = chunks.unify_dictionaries().combine_chunks()
    return joined if hasattr(joined, "indices") else joined.chunk(0)


_FACTORIZE: dict[nw.Implementation, Callable[[Any], Factorized]] = {
    nw.Implementation.PANDAS: _factorize_pandas,
    nw.Implementation.POLARS: _factorize_polars,
    nw.Implementation.PYARROW: _factorize_arrow,
}


def _plain_numbers(
    name: Any, distinct: list[Any], place: NDArray[Any]
) -> NDArray[np.float64]:
    """The values themselves of a column that held numbers in fit."""
    occurring = _occurring(distinct, place)
    if all(isinstance(value, numbers.Real) for value in occurring):
        number = {value: value for value in occurring}
        table = [number.get(value, math.nan) for value in distinct]
        return np.array([*table, math.nan], dtype=np.float64)[place]
    raise ValueError(
        f"Column {name!r} held numbers in fit, but holds strings or categories now."
        " Turn them into numbers."
    )


def _order_of(series: nw.Series[Any] | ObjectColumn) -> list[Any] | None:
    """All categories of a column whose categories have an order."""
    native = series.to_native()
    if series.implementation is nw.Implementation.PYARROW:
        ordered = getattr(native.type, "ordered", False)
        return _one_dictionary(native).dictionary.to_pylist() if ordered else None
    ordered = getattr(native.dtype, "ordered", False)
    return native.cat.categories.tolist() if ordered else None


def _occurring(distinct: list[Any], place: NDArray[Any]) -> list[Any]:
    occurs = np.zeros(len(distinct) + 1, dtype=bool)
    occurs[place] = True
    return [
        value
        for value, is_there in zip(distinct, occurs[:-1].tolist(), strict=True)
        if is_there
    ]


def _sort_key(value: Any) -> tuple[int, Any]:
    """Numbers first, then strings, then all else by how it is written."""
    if isinstance(value, numbers.Real | np.bool_):
        return 0, value
    if isinstance(value, str):
        return 1, value
    return 2, (type(value).__name__, repr(value))


def _stored(columns: Columns, column: int) -> NDArray[np.float64]:
    """The values of a column; of a sparse one those that are stored."""
    one = columns.take(np.array([column]))
    is_sparse = one.index is not None and one.index[0] != 0
    n_stored = int(one.length[0]) if is_sparse else columns.n_rows
    return _read(replace(one, n_rows=n_stored, index=None, length=None))


def _read(one: Columns) -> NDArray[np.float64]:
    values = np.empty((1, one.n_rows))
    if one.n_rows:
        kernels.to_float64(one, values)
    return values[0]


def _whole_numbers(values: NDArray[np.float64], name: Any) -> list[int]:
    """The distinct numbers of a column to learn, ascending; no negative ones."""
    distinct = np.unique(values)
    distinct = distinct[~np.isnan(distinct)]
    if not (np.isfinite(distinct) & (distinct == np.floor(distinct))).all():
        raise ValueError(
            f"Column {name!r} is to hold categories, but has numbers that are not"
            " whole. Take it out of categorical_feature, or turn it into strings."
        )
    if distinct.size and distinct[0] < 0:
        warnings.warn(
            f"Column {name!r} holds categories: its negative numbers count as missing.",
            stacklevel=2,
        )
    return [int(value) for value in distinct[distinct >= 0].tolist()]


def _numbered(
    columns: Columns,
    column: int,
    stored: NDArray[np.float64],
    vocabulary: Vocabulary,
) -> NDArray[Any]:
    """The numbers of the categories of a column, or of its stored values.

    These will do if a row without a stored value, which reads as 0, has number 0.
    """
    if len(stored) < columns.n_rows and vocabulary.number_of.get(0) != 0:
        stored = _read(columns.take(np.array([column])))
    if len(stored) <= FEW_ROWS:
        return np.array(vocabulary.look_up(stored.tolist()), vocabulary.dtype)
    distinct, place = np.unique(stored, return_inverse=True)
    return vocabulary.encode(distinct.tolist(), place)


def _with_values(columns: Columns, values: dict[int, NDArray[Any]]) -> Columns:
    """The columns with other values in some; a value a row makes a column dense."""
    if not values:
        return columns
    names = ("address", "stride", "kind", "index", "length")
    parts = {name: getattr(columns, name) for name in names}
    parts = {name: None if p is None else p.copy() for name, p in parts.items()}
    for column, array in values.items():
        parts["address"][column] = array.__array_interface__["data"][0]
        parts["stride"][column] = array.itemsize
        parts["kind"][column] = kernels.KINDS[array.dtype.name]
        if parts["index"] is not None and len(array) == columns.n_rows:
            parts["index"][column] = 0
    return replace(columns, owner=(columns.owner, list(values.values())), **parts)
