"""Data frames that transformers take and return."""

from __future__ import annotations

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from skgoss import DateFeatures
from skgoss.columns.categories import Categories, Vocabulary
from skgoss.columns.schema import ColumnSchema
from skgoss.parameters.domains import integer
from skgoss.preprocessing import frames

FRAME = pd.DataFrame({"a": [1, 2], "b": [3, 4]})


@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas]
)
def test_frames_whose_columns_have_names(library):
    frame = library(FRAME)
    found = frames.named_frame(frame)
    assert found is not None
    assert found.native is frame


@pytest.mark.parametrize(
    "X", [np.eye(2), [[1.0]], sp.eye_array(2), FRAME.set_axis([0, 1], axis=1)]
)
def test_other_data_have_no_names(X):
    assert frames.named_frame(X) is None


@pytest.mark.parametrize(
    ("container", "kind"),
    [(None, pa.Table), ("pandas", pd.DataFrame), ("polars", pl.DataFrame)],
)
def test_the_user_chooses_the_container(container, kind):
    table = nw.from_native(pa.Table.from_pandas(FRAME), eager_only=True)
    transformer = DateFeatures().set_output(transform=container)
    assert isinstance(frames.in_container(transformer, table), kind)


def test_categories_are_only_in_named_frames():
    categories = Categories(None)
    categories.vocabularies = {1: Vocabulary(["x"], needs_encoding=True)}
    frames.check_readable(ColumnSchema(2, np.array(["a", "b"], object), categories))
    frames.check_readable(ColumnSchema(2, None, Categories(None)))
    with pytest.raises(ValueError, match=r"Column 1 of X .*rename the columns"):
        frames.check_readable(ColumnSchema(2, None, categories))


def test_values_of_parameters_are_checked():
    assert frames.checked("size", 3, integer(2), "Owner") == 3
    with pytest.raises(
        ValueError, match=r"'size' parameter of Owner must be .*Got 1 in"
    ):
        frames.checked("size", 1, integer(2), "Owner")
