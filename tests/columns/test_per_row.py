"""What has one value for each row: its forms, and errors that name it and the row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skgoss.columns import per_row

NUMBERS = [3, 1, 3, 2]


@pytest.mark.parametrize(
    "make",
    [
        np.array,
        list,
        pd.Series,
        pl.Series,
        pa.array,
        np.ma.array,
        lambda v: np.array(v)[:, None],
        lambda v: pd.DataFrame({"a": v}),
        lambda v: pl.DataFrame({"a": v}),
        lambda v: pd.Series(v, dtype="Int64"),
        lambda v: np.array(v, dtype=object),
    ],
)
def test_forms(make):
    for function in (per_row.values, per_row.sortable, per_row.weights):
        for n_rows in (4, None):
            found = function(make(NUMBERS), n_rows, "group")
            np.testing.assert_array_equal(found, NUMBERS)
    assert per_row.weights(make(NUMBERS), 4, "").flags.c_contiguous


MASKED = np.ma.array(NUMBERS, mask=[0, 0, 1, 0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("abc", "each of the 4 rows, got the str 'abc': pass the column"),
        (7, r"each of the 4 rows, got an array of shape \(\). Or else"),
        ([1, 2, 3], r"each of the 4 rows, got an array of shape \(3,\)"),
        (np.ones((4, 2)), r"each of the 4 rows, got an array of shape \(4, 2\)"),
        (MASKED, "masked values"),
        ([1, 2, None, 4], "missing, got None in row 2"),
        ([1, 2, np.nan, 4], "missing, got nan in row 2"),
        (pd.Series([1, 2, pd.NA, 4]), "missing, got <NA> in row 2"),
        (pl.Series([1, 2, None, 4]), "missing, got nan in row 2"),
        (np.array(["2026-01-01", "NaT"] * 2, "M8[D]"), "missing, got NaT in row 1"),
        (np.array([1, "a", 2, 3], dtype=object), "values that can be sorted"),
    ],
)
def test_errors_of_values(given, words):
    with pytest.raises(ValueError, match=f"^day .*{words}"):
        per_row.sortable(given, 4, "day", " Or else")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, 2, -3, 4], "finite numbers >= 0, got -3 in row 2"),
        ([1, 2, np.inf, 4], "finite numbers >= 0, got inf in row 2"),
        ([1, 2, None, 4], "finite numbers >= 0, got nan in row 2"),
        (MASKED, "masked values"),
        (["a"] * 4, "must hold numbers"),
        (np.ones((4, 2)), r"each of the 4 rows, got an array of shape \(4, 2\)"),
    ],
)
def test_errors_of_weights(given, words):
    with pytest.raises(ValueError, match=f"^mass .*{words}"):
        per_row.weights(given, 4, "mass")
