"""Which columns hold strings or categories, and where they come from."""

from __future__ import annotations

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skgoss.columns import dtypes
from skgoss.columns.dtypes import ArrayColumn

# A column, whether it needs encoding, whether it holds objects, and the library of its
# text.
COLUMNS = {
    "pandas numbers": (pd.Series([1.0, 2.0]), False, False, "pandas"),
    "pandas objects": (pd.Series([1, "a"], dtype=object), True, True, "pandas"),
    "objects of numbers": (pd.Series([1, 2.5], dtype=object), False, True, "pandas"),
    "missing objects": (pd.Series([None, None], dtype=object), True, True, "pandas"),
    "pandas strings": (pd.Series(["a"], dtype="string"), True, False, "pandas"),
    "pandas categories": (pd.Series([1], dtype="category"), True, False, ""),
    "polars numbers": (pl.Series([1, 2]), False, False, "polars"),
    "polars strings": (pl.Series(["a", None]), True, False, "polars"),
    "polars enum": (pl.Series(["a"], dtype=pl.Enum(["a"])), True, False, ""),
    "arrow strings": (pa.chunked_array([["a", "b"]]), True, False, "pyarrow"),
    "arrow flags": (pa.chunked_array([[True, None]]), False, False, "pyarrow"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_libraries(kind):
    native, is_encoded, are_objects, library = COLUMNS[kind]
    series = nw.from_native(native, series_only=True)
    assert dtypes.needs_encoding(series) == is_encoded
    assert dtypes.are_objects(series) == are_objects
    assert dtypes.text_library(series) == library


def test_arrays_of_objects():
    column = ArrayColumn(0, np.array(["a", None, np.nan], dtype=object))
    assert dtypes.needs_encoding(column)
    assert dtypes.are_objects(column)
    assert dtypes.library(column) == dtypes.text_library(column) == ""
    assert (len(column), column.null_count()) == (3, 2)
    assert not dtypes.needs_encoding(ArrayColumn(0, np.array([1, None], dtype=object)))


def test_what_is_missing():
    for value in (None, np.nan, float("nan"), np.datetime64("NaT", "s"), pd.NA, pd.NaT):
        assert dtypes.is_missing(value)
    for value in (0, "", "nan", False, (), np.inf):
        assert not dtypes.is_missing(value)
