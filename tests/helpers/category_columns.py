"""Categories in containers of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.reading import Estimator, columns
from skgoss._engine.columns import column_kernels as kernels
from skgoss.columns.columns import Columns

NAN = np.nan


def read(data: Columns) -> np.ndarray:
    values = np.empty((data.n_features, data.n_rows))
    kernels.to_float64(data, values)
    return values.T


def fit(X, categorical_feature="auto") -> tuple[Estimator, Columns]:
    estimator = Estimator()
    data = columns(estimator, X, reset=True, categorical_feature=categorical_feature)
    return estimator, data


def containers(values) -> dict:
    """One column of words, of any kind of data frame."""
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    words = sorted({v for v in values if v is not None}, reverse=True)
    arrow = pyarrow.array(values)
    half = len(values) // 2
    halves = [arrow.slice(0, half), arrow.slice(half)]
    with_null = pyarrow.DictionaryArray.from_arrays(
        [len(words) if v is None else words.index(v) for v in values], [*words, None]
    )
    series = {
        "object": pandas.Series(values, dtype=object),
        "object, NaN": pandas.Series(values, dtype=object).fillna(NAN),
        "str": pandas.Series(values, dtype="str"),
        "string": pandas.Series(values, dtype="string"),
        "string[python]": pandas.Series(values, dtype="string[python]"),
        "Arrow string": pandas.Series(
            values, dtype=pandas.ArrowDtype(pyarrow.string())
        ),
        "category": pandas.Series(pandas.Categorical(values)),
        "other order": pandas.Series(
            pandas.Categorical(values, categories=["unused", *words, "more"])
        ),
        "Arrow dictionary": pandas.Series(arrow.dictionary_encode()).astype(
            pandas.ArrowDtype(pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))
        ),
    }
    return {
        **{f"pandas {kind}": s.to_frame("color") for kind, s in series.items()},
        "polars String": polars.DataFrame({"color": values}),
        "polars Categorical": polars.DataFrame(
            {"color": polars.Series(values, dtype=polars.Categorical)}
        ),
        "polars Enum": polars.DataFrame(
            {"color": polars.Series(values, dtype=polars.Enum(["unused", *words]))}
        ),
        "arrow string": pyarrow.table({"color": arrow}),
        "arrow chunks": pyarrow.table({"color": pyarrow.chunked_array(halves)}),
        "arrow large": pyarrow.table({"color": arrow.cast(pyarrow.large_string())}),
        "arrow view": pyarrow.table({"color": arrow.cast(pyarrow.string_view())}),
        "arrow dictionary": pyarrow.table({"color": arrow.dictionary_encode()}),
        "arrow dictionaries": pyarrow.table(
            {"color": pyarrow.chunked_array([h.dictionary_encode() for h in halves])}
        ),
        "arrow null in dictionary": pyarrow.table({"color": with_null}),
    }
