"""What columns hold by their dtypes: objects, strings or categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

# The dtypes of strings and categories.
ENCODED = (nw.String, nw.Categorical, nw.Enum)

_OBJECT = nw.Object()


@dataclass(frozen=True, eq=False)
class ArrayColumn:
    """An array as a column, with the methods of a narwhals Series that we use."""

    name: Any
    values: Any
    dtype: nw.dtypes.DType = _OBJECT
    implementation: nw.Implementation | None = None

    def __len__(self) -> int:
        return len(self.values)

    def to_list(self) -> list[Any]:
        """The values."""
        return self.values.tolist()

    def to_native(self) -> Any:
        """The array, of NumPy or pandas."""
        return self.values

    def null_count(self) -> int:
        """The number of missing values."""
        return sum(map(is_missing, self.to_list()))


def are_objects(series: nw.Series[Any] | ArrayColumn) -> bool:
    """Whether a column holds Python objects, whatever dtype narwhals infers."""
    if series.dtype == nw.String:
        return getattr(series.to_native(), "dtype", None) == np.dtype(object)
    return series.dtype == nw.Object


def needs_encoding(series: nw.Series[Any] | ArrayColumn) -> bool:
    """Whether a column holds strings or categories, which cannot be used as numbers."""
    if are_objects(series):
        has_strings = any(isinstance(value, str) for value in series.to_list())
        return has_strings or series.null_count() == len(series)
    return isinstance(series.dtype, ENCODED)


def library(series: nw.Series[Any] | ArrayColumn) -> str:
    """The name of the library of a column; '' for arrays."""
    return "" if series.implementation is None else series.implementation.value


def text_library(series: nw.Series[Any] | ArrayColumn) -> str:
    """The library of a column that `needs_encoding`; '' if its dtype is categorical."""
    is_categorical = isinstance(series.dtype, nw.Categorical | nw.Enum)
    return "" if is_categorical else library(series)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True
