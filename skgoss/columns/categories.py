"""Categorical columns: which they are, and the numbers of their categories."""

from __future__ import annotations

import math
import numbers
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, repeat
from types import NoneType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from skgoss._engine.columns import code_kernels
from skgoss.columns.columns import Columns
from skgoss.columns.dtypes import ArrayColumn, is_missing, needs_encoding, text_library
from skgoss.columns.factorize import factorize, factorize_values, small_categorical
from skgoss.columns.floats import NOT_NUMBERS, as_floats
from skgoss.columns.names import unknown_column
from skgoss.utils.messages import refuse, warn
from skgoss.utils.plain_values import Types, entries

# float32 holds all integers up to this one exactly.
FLOAT32_CODES = 1 << 24

# Up to this number of values, to look up each one is faster than to find the distinct
# ones.
MAX_UNSORTED = 64

# If no value of this number of rows is known, they are probably written differently.
_MIN_ROWS_TO_WARN = 20

# The entries of a vocabulary's state; files say "holds_words" for `needs_encoding`.
_STATE: Types = {"values": list, "is_ordered": bool, "holds_words": bool}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The categories of a column, in the order of their numbers."""

    # Equal values are one category, whatever their type: 1, 1.0 and True.
    values: list[Any]
    # Whether the categories have an order: splits then compare their numbers.
    is_ordered: bool = False
    # Whether the column held strings or categories, and not whole numbers: see
    # `needs_encoding`.
    needs_encoding: bool = False
    # The library of a column of strings, such as 'pandas', if neither its dtype nor the
    # user says that it is categorical; else ''. Not saved with a model.
    text_library: str = ""
    # The number of each value.
    number_of: dict[Any, int] = field(init=False, repr=False)
    # The categories of the last column that `recode` has encoded, and their numbers.
    _recoded: tuple[Any, Any] = field(default=(None, None), init=False, repr=False)

    def __post_init__(self) -> None:
        numbered = {value: number for number, value in enumerate(self.values)}
        object.__setattr__(self, "number_of", numbered)

    @property
    def n_categories(self) -> int:
        """The number of categories; 0 if they are ordered, and used as numbers."""
        return 0 if self.is_ordered else len(self.values)

    def look_up(self, values: Iterable[Any]) -> list[float]:
        """The number of each value, NaN where it is unknown or missing."""
        return list(map(self.number_of.get, values, repeat(math.nan)))

    def encode(
        self, distinct: list[Any], codes: NDArray[Any], name: Any, n_threads: int = 1
    ) -> NDArray[Any]:
        """The numbers of factorized values; NaN where they are unknown or missing.

        ValueError if they are numbers, and the categories of the column are not.
        """
        table = np.array([*self.look_up(distinct), math.nan], dtype=self.dtype)
        if np.isnan(table).all() and (codes >= 0).any():
            self._check_unknown(_occurring(distinct, codes), name, len(codes))
        return code_kernels.translated(codes, 0, table, n_threads)

    def recode(self, values: Any, name: Any, n_threads: int = 1) -> NDArray[Any]:
        """The numbers of the values of a pandas Categorical; NaN where unknown.

        ``values`` is the Categorical, and ``name`` that of its column in messages. The
        last table of numbers by category is kept, and used again for the same
        categories.
        """
        index, table = self._recoded
        if index is not values.categories:
            index = values.categories
            distinct, codes = factorize_values(index.tolist())
            numbers = np.array([*self.look_up(distinct), math.nan], dtype=self.dtype)
            table = np.append(numbers[codes], self.dtype.type(math.nan))
            object.__setattr__(self, "_recoded", (index, table))
        codes = values.codes
        if np.isnan(table).all() and (codes >= 0).any():
            self._check_unknown(index.tolist(), name, len(codes))
        return code_kernels.translated(codes, 0, table, n_threads)

    def _check_unknown(self, values: Iterable[Any], name: Any, n_rows: int) -> None:
        """Check that values, none of which is a category, are not codes.

        With enough rows, warn: the column is probably written in another way.
        """
        values = list(values)
        self.check_not_codes(values, name)
        if n_rows >= _MIN_ROWS_TO_WARN and self.values:
            present = next((value for value in values if not is_missing(value)), None)
            if present is None:
                return
            warn(
                f"No category of column {name!r} occurred in fit, so all rows count as"
                f" missing: it holds values such as {present!r}, and held"
                f" {self.values[0]!r}. Write the categories as in fit."
            )

    def check_not_codes(self, values: Iterable[Any], name: Any) -> None:
        """Raise ValueError if all values are numbers, but no category is one.

        They are probably codes of categories, and would count as missing.
        """
        present = [value for value in values if not is_missing(value)]
        are_numbers = bool(present) and all(map(is_number, present))
        if are_numbers and self.values and not any(map(is_number, self.values)):
            raise ValueError(
                f"Column {name!r} held categories such as {self.values[0]!r} in fit,"
                f" but now holds numbers such as {present[0]!r}. Pass the categories"
                " themselves instead of their codes."
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest float type that has all numbers of categories exactly."""
        return np.dtype(np.float32 if len(self.values) <= FLOAT32_CODES else np.float64)


@dataclass(eq=False, repr=False)
class Categories:
    """The categorical columns of an estimator."""

    # Those that `categorical_feature` lists; None: no column is categorical.
    declared: set[int] | None
    # The categories of each column; filled in fit.
    vocabularies: dict[int, Vocabulary] = field(default_factory=dict)
    # Categories of LightGBM's files, which do not name their columns: the first list
    # belongs to the first column of strings or categories. None: all have a column.
    unplaced: list[Vocabulary] | None = None

    def values(self, *, needs_encoding: bool) -> dict[int, list[Any]]:
        """The categories of columns that needed encoding, or of those that did not."""
        return {
            column: vocabulary.values
            for column, vocabulary in sorted(self.vocabularies.items())
            if vocabulary.needs_encoding == needs_encoding
        }

    def __getstate__(self) -> dict[str, Any]:
        declared = self.declared
        return {
            "declared": None if declared is None else sorted(map(int, declared)),
            "vocabularies": {
                int(column): {
                    "values": vocabulary.values,
                    "is_ordered": vocabulary.is_ordered,
                    "holds_words": vocabulary.needs_encoding,
                }
                for column, vocabulary in sorted(self.vocabularies.items())
            },
            "unplaced": self.unplaced
            and [vocabulary.values for vocabulary in self.unplaced],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        types: Types = {
            "declared": (list, NoneType),
            "vocabularies": dict,
            "unplaced": (list, NoneType),
        }
        declared, vocabularies, unplaced = entries(
            state, types, "the state of categories"
        )
        columns = [*(declared or ()), *vocabularies]
        if not all(isinstance(column, int) and column >= 0 for column in columns):
            raise ValueError("columns of categories must be numbers from 0 on")
        self.declared = None if declared is None else set(declared)
        self.vocabularies = {
            column: _restored(vocabulary, f"column {column}")
            for column, vocabulary in vocabularies.items()
        }
        encoded = {"is_ordered": False, "holds_words": True}
        self.unplaced = unplaced and [
            _restored({"values": values, **encoded}, f"list {number}")
            for number, values in enumerate(unplaced)
        ]

    def assign_unplaced(self, columns: Sequence[int]) -> Categories:
        """The categories, with those in `unplaced` assigned to as many columns."""
        if self.unplaced is None:
            return self
        if len(columns) != len(self.unplaced):
            raise ValueError(
                f"X has {len(columns)} columns of strings or categories, but the model"
                f" was trained on {len(self.unplaced)}. Pass a data frame with the same"
                " columns and dtypes, or an array of numbers."
            )
        assigned = Categories(self.declared)
        assigned.vocabularies = dict(zip(columns, self.unplaced, strict=True))
        return assigned

    def joined(self, other: Categories, n_features: int) -> Categories:
        """These categories, and those of other columns after ``n_features`` ones."""
        both = Categories(None)
        both.vocabularies = self.vocabularies | {
            n_features + column: vocabulary
            for column, vocabulary in other.vocabularies.items()
        }
        both.declared = set(both.vocabularies) or None
        return both

    def columns(self, *, learn: bool) -> Container[int]:
        """The declared columns in fit; those with a vocabulary in predict."""
        return (self.declared or ()) if learn else self.vocabularies

    def encode(
        self,
        column: int,
        series: nw.Series[Any] | ArrayColumn,
        n_threads: int = 1,
        *,
        learn: bool,
    ) -> NDArray[Any]:
        """Replace the values of a column by the numbers of its categories.

        The column is one that `needs_encoding`, or a categorical one of numbers. In
        fit, ``learn`` is true, and its values become the categories. Later, values that
        are not among them become NaN, as do missing ones.

        ValueError if values are not hashable. In fit: if strings occur although
        `categorical_feature` is None, or if numbers are not whole. In predict: if
        strings occur in a column that held numbers in fit, or if a column holds numbers
        whose categories are strings.
        """
        vocabulary = None if learn else self.vocabularies.get(column)
        categorical = small_categorical(series.to_native())
        if vocabulary is not None and categorical is not None:
            return vocabulary.recode(categorical, series.name, n_threads)
        try:
            distinct, codes = factorize(series)
        except TypeError as error:
            raise ValueError(
                f"Column {series.name!r} holds values that cannot be categories:"
                f" {error}. Convert them to strings or numbers."
            ) from error
        if learn:
            vocabulary = self._learned(column, series, distinct, codes, n_threads)
            self.vocabularies[column] = vocabulary
        elif vocabulary is None:
            return _plain_numbers(series.name, distinct, codes)
        return vocabulary.encode(distinct, codes, series.name, n_threads)

    def _learned(
        self,
        column: int,
        series: nw.Series[Any] | ArrayColumn,
        distinct: list[Any],
        codes: NDArray[Any],
        n_threads: int,
    ) -> Vocabulary:
        """The categories of a column in fit; errors are those of `encode`.

        ``distinct`` are the values in ``series``, and ``codes`` their numbers by row:
        see `factorize`.
        """
        occurring = _occurring(distinct, codes, n_threads)
        if not needs_encoding(series):
            return Vocabulary(_whole_numbers(occurring, series.name))
        if column not in (self.declared or ()) and _is_ordered(series):
            # Ordered categories keep their numbers, even if some do not occur.
            ordered = [value for value in distinct if not is_missing(value)]
            if series.implementation is nw.Implementation.PANDAS:
                ordered = series.to_native().dtype.categories.tolist()
            return Vocabulary(ordered, True, True)
        if occurring and self.declared is None:
            raise ValueError(
                f"Column {series.name!r} holds strings or categories, but"
                " categorical_feature says that no column is categorical. Set it to"
                " 'auto', drop the column, or give its categories an order: ordered"
                " categories are numbers."
            )
        return Vocabulary(
            in_order(occurring),
            needs_encoding=True,
            text_library=""
            if column in (self.declared or ())
            else text_library(series),
        )

    def encode_numbers(
        self,
        columns: Columns,
        names: Sequence[Any] | NDArray[Any],
        encoded: set[int],
        *,
        learn: bool,
    ) -> Columns:
        """Replace the numbers in categorical columns by those of their categories.

        ``encoded`` are the columns that `encode` has replaced already, and ``names``
        those of columns in messages. In fit (``learn``): ValueError if numbers are not
        whole, and a UserWarning if they are negative. In predict: ValueError if a
        column holds numbers whose categories are strings.
        """
        categorical = (self.declared or set()) if learn else self.vocabularies.keys()
        if not categorical and not self.vocabularies:
            return columns
        columns = columns.whole
        numbered = {
            column: self._encoded(columns, column, names[column], learn)
            for column in sorted(categorical - encoded)
        }
        return with_n_categories(columns.with_values(numbered), self.vocabularies)

    def _encoded(
        self, columns: Columns, column: int, name: Any, learn: bool
    ) -> NDArray[Any]:
        """The numbers of a column's categories.

        Rows that a sparse column does not store have the value 0. If 0 is the category
        with the number 0, only the numbers of the stored values are returned.
        """
        distinct, codes = _distinct(columns.stored(column))
        has_zeros = len(codes) < columns.n_rows
        if learn:
            values = [*distinct, 0] if has_zeros else distinct
            self.vocabularies[column] = Vocabulary(_whole_numbers(values, name))
        vocabulary = self.vocabularies[column]
        encoded = vocabulary.encode(distinct, codes, name)
        number_of_0 = vocabulary.look_up([0])[0]
        if not has_zeros or number_of_0 == 0:
            return encoded
        vocabulary.check_not_codes([*distinct, 0], name)
        dense = np.full(columns.n_rows, number_of_0, dtype=encoded.dtype)
        dense[columns.stored_rows(column)] = encoded
        return dense


def with_n_categories(columns: Columns, vocabularies: dict[int, Vocabulary]) -> Columns:
    """Columns with the number of categories of those that have a vocabulary.

    ``vocabularies`` are by the number of the column.
    """
    n_categories = np.zeros(columns.n_features, dtype=np.int32)
    for column, vocabulary in vocabularies.items():
        n_categories[column] = vocabulary.n_categories
    any_categories = n_categories if n_categories.any() else None
    return replace(columns, n_categories=any_categories)


def _distinct(values: NDArray[Any]) -> tuple[list[Any], NDArray[Any]]:
    """Values, and for each row the index of its value.

    The values are distinct, unless there are few rows: then they are those of the rows.
    """
    if len(values) <= MAX_UNSORTED:
        return values.tolist(), np.arange(len(values))
    distinct, codes = np.unique(values, return_inverse=True)
    return distinct.tolist(), codes


def _restored(state: Any, where: str) -> Vocabulary:
    """The vocabulary in a state; ValueError if it is not one."""
    owner = f"the categories of {where}"
    try:
        vocabulary = Vocabulary(*entries(state, _STATE, owner))
    except TypeError as error:
        raise ValueError(f"{owner} must be hashable: {error}") from error
    if len(vocabulary.number_of) < len(vocabulary.values):
        raise ValueError(f"{owner} must differ")
    values = vocabulary.values
    if not vocabulary.needs_encoding and (
        vocabulary.is_ordered
        or any(type(value) is not int or value < 0 for value in values)
        or values != sorted(values)
    ):
        raise ValueError(f"{owner} must be ascending whole numbers from 0 on")
    return vocabulary


def are_declared(categorical_feature: Any) -> bool:
    """Whether `categorical_feature` lists any columns."""
    is_list = not (categorical_feature is None or isinstance(categorical_feature, str))
    return is_list and len(categorical_feature) > 0


def declare(
    categorical_feature: Any, names: Iterable[Any] | None, n_features: int
) -> Categories:
    """Find the columns that `categorical_feature` lists; an empty list means None.

    ValueError if there is no column of a name or number, or a column is listed twice.
    ``names`` are those of the ``n_features`` columns; None: they have none.
    """
    if not are_declared(categorical_feature):
        return Categories(None)
    number_of = {} if names is None else {name: j for j, name in enumerate(names)}
    declared: set[int] = set()
    for column in categorical_feature:
        number = number_of.get(column, -1) if isinstance(column, str) else column
        if not 0 <= number < n_features:
            error = unknown_column("categorical_feature", column, names, n_features)
            if number < 0:
                raise error
            refuse(error, "It is ignored, as by LightGBM.")
            continue
        if number in declared:
            raise ValueError(
                f"categorical_feature lists column {column!r} twice; list it once."
            )
        declared.add(number)
    return Categories(declared)


def check_same(
    categorical_feature: Any,
    learned: Categories,
    names: Iterable[Any] | None,
    n_features: int,
    source: str,
) -> None:
    """Check that `categorical_feature` lists the categorical columns of a model.

    A string lists no columns. ``source`` is the model's name in messages. ``learned``
    are the categories of the model, and ``names`` those of its ``n_features`` columns,
    or None.
    """
    if isinstance(categorical_feature, str):
        return
    declared = declare(categorical_feature, names, n_features).declared
    if (declared or set()) not in (learned.declared, set(learned.vocabularies)):
        raise ValueError(
            f"categorical_feature={categorical_feature!r} are not the columns that"
            f" hold categories in {source}, which are {sorted(learned.vocabularies)}."
            " Pass these columns, or leave the argument out."
        )


def _plain_numbers(
    name: Any, distinct: list[Any], codes: NDArray[Any]
) -> NDArray[np.float64]:
    """The values of a column of strings or categories that held numbers in fit.

    ``distinct`` and ``codes`` are the values and their numbers by row, as from
    `factorize`; -1 is missing. The result is (n_rows,). ValueError if values are not
    numbers.
    """
    occurring = _occurring(distinct, codes)
    if not all(map(is_number, occurring)):
        raise ValueError(
            f"Column {name!r} held numbers in fit, but now holds strings or categories."
            " Convert them to numbers."
        )
    occurs = set(occurring)
    table = [value if value in occurs else math.nan for value in distinct]
    return as_floats([*table, math.nan], f"Column {name!r}")[codes]


def _is_ordered(series: nw.Series[Any] | ArrayColumn) -> bool:
    """Whether a column holds categories with an order."""
    native = series.to_native()
    is_arrow = series.implementation is nw.Implementation.PYARROW
    dtype = native.type if is_arrow else native.dtype
    return bool(getattr(dtype, "ordered", False))


def _occurring(
    distinct: list[Any], codes: NDArray[Any], n_threads: int = 1
) -> list[Any]:
    """The distinct values that a row has."""
    occurs = code_kernels.occurring(codes, 0, len(distinct), n_threads)
    return list(compress(distinct, occurs[:-1].tolist()))


def in_order(values: Iterable[Any]) -> list[Any]:
    """Numbers first, then strings, then other values in the order of their repr."""
    values = list(values)
    types = set(map(type, values))
    is_plain = types == {str} or types <= {bool, int, float}
    return sorted(values, key=None if is_plain else _sort_key)


def _sort_key(value: Any) -> tuple[int, Any]:
    """A key to sort categories by: numbers come first, then strings, then others."""
    if is_number(value):
        return 0, value
    if isinstance(value, str):
        return 1, value
    return 2, (type(value).__name__, repr(value))


def is_number(value: Any) -> bool:
    """Whether a value is a number, or True or False."""
    return isinstance(value, numbers.Real | np.bool_)


def _whole_numbers(values: Iterable[Any], name: Any) -> list[int]:
    """The distinct numbers >= 0 of a column to learn, ascending.

    ``name`` is that of the column in messages. ValueError if a value is not whole.
    """
    present = [value for value in values if not is_missing(value)]
    for value in present:
        if not _is_whole(value):
            raise ValueError(
                f"Column {name!r} is in categorical_feature, but holds {value!r}, which"
                " is not a whole number. Remove the column from the list, or convert"
                " its values to strings."
            )
    whole = sorted(set(map(int, present)))
    if whole and whole[0] < 0:
        warn(
            f"Column {name!r} holds categories: its negative numbers count as missing."
        )
    return [value for value in whole if value >= 0]


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number."""
    try:
        return not isinstance(value, NOT_NUMBERS) and bool(int(value) == value)
    except (TypeError, ValueError, OverflowError):
        return False
