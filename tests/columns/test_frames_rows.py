"""A row is the same row alone, among a few and in the whole frame."""

from __future__ import annotations

import decimal

import numpy as np
import pytest

from skgoss import LGBMRegressor

N_ROWS = 40
BIG = 1 << 60

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")


def values_of(rng: np.random.Generator) -> dict[str, list]:
    """Values of each kind; about one in five is missing."""
    choices = {
        "bool": [True, False],
        "numpy bool": [np.bool_(True), np.bool_(False)],
        "string": ["a", "b", "", "nan", "True", "1"],
        "tuple": [(1, 2), (1,), (2, "x")],
        "small": [0, 1, 2, 3],
        "big": [BIG, BIG + 1, BIG + 2, 2**53, 2**53 + 1, -3],
        "float": [0.5, -0.0, 0.0, 1e300, 3.0],
        "mixed": [1, 1.0, True, "1", 2.5, (3,), decimal.Decimal(2)],
        "numbers": [1, 2.5, np.bool_(True), decimal.Decimal("3.5")],
    }
    values = {}
    for name, some in choices.items():
        drawn = [some[i] for i in rng.integers(0, len(some), N_ROWS)]
        values[name] = [None if rng.random() < 0.2 else value for value in drawn]
    return values


def full(values: list) -> list:
    """The values with the first of them in place of missing ones."""
    first = next(value for value in values if value is not None)
    return [first if value is None else value for value in values]


def objects(values: list):
    return pandas.Series(np.fromiter(values, object, len(values)), dtype=object)


def category(values: list, rng: np.random.Generator, *, ordered: bool):
    distinct = list(dict.fromkeys(v for v in values if v is not None))
    categories = [distinct[i] for i in rng.permutation(len(distinct))]
    index = pandas.Index(
        np.fromiter(categories, object, len(distinct)), tupleize_cols=False
    )
    codes = [-1 if v is None else categories.index(v) for v in values]
    return pandas.Categorical.from_codes(codes, index, ordered=ordered)


def pandas_columns(rng: np.random.Generator) -> dict:
    values = values_of(rng)
    small = full(values["small"])
    columns = {
        **{f"{k}, objects": objects(v) for k, v in values.items() if k != "tuple"},
        "numpy bools, full": objects(full(values["numpy bool"])),
        "bool": np.array(full(values["bool"])),
        "boolean": pandas.array(values["bool"], "boolean"),
        "string": pandas.array(values["string"], "string"),
        "str": pandas.array(values["string"], "str"),
        "int64": np.array(full(values["big"])),
        "uint64": np.abs(np.array(full(values["big"]))).astype(np.uint64),
        "Int64": pandas.array(values["big"], "Int64"),
        "int8": np.array(small, dtype=np.int8),
        "float32": rng.normal(size=N_ROWS).astype(np.float32),
        "float16": rng.normal(size=N_ROWS).astype(np.float16),
        "float64": np.array(values["float"], dtype=float),
        "Float64": pandas.array(values["float"], "Float64"),
        "sparse": pandas.arrays.SparseArray(small),
        "Arrow int": pandas.array(values["big"], pandas.ArrowDtype(pyarrow.int64())),
        "Arrow bool": pandas.array(values["bool"], pandas.ArrowDtype(pyarrow.bool_())),
    }
    for kind in ("bool", "numpy bool", "string", "tuple", "small", "big", "float"):
        for ordered in (False, True):
            name = f"{kind}, {'ordered' if ordered else 'category'}"
            columns[name] = category(values[kind], rng, ordered=ordered)
    return columns


def arrow_columns(rng: np.random.Generator) -> dict:
    values = values_of(rng)
    some = {kind: pyarrow.array(values[kind]) for kind in ("bool", "big", "float")}
    some["string"] = pyarrow.array(values["string"])
    some["view"] = some["string"].cast(pyarrow.string_view())
    some["half"] = pyarrow.array(
        np.array(values["float"], dtype=float).clip(-9, 9).astype(np.float16)
    )
    entries = {
        "two nulls": pyarrow.array(["x", None, "y", None, "x"]),
        "floats": pyarrow.array([1.5, float("nan"), 0.0, float("nan"), -0.0]),
        "integers": pyarrow.array([BIG, BIG + 1, None, BIG, 3]),
    }
    for name, dictionary in entries.items():
        for ordered in (False, True):
            some[f"{name}, {ordered}"] = pyarrow.DictionaryArray.from_arrays(
                pyarrow.array(rng.integers(0, 5, N_ROWS), pyarrow.int8()),
                dictionary,
                ordered=ordered,
            )
    return some


def polars_columns(rng: np.random.Generator) -> dict:
    values = values_of(rng)
    words = sorted({value for value in values["string"] if value is not None})
    return {
        **{kind: polars.Series(values[kind]) for kind in ("bool", "big", "float")},
        "string": polars.Series(values["string"]),
        "categorical": polars.Series(values["string"], dtype=polars.Categorical),
        "enum": polars.Series(values["string"], dtype=polars.Enum(words[::-1])),
        "object": polars.Series(values["mixed"], dtype=polars.Object),
        "decimal": polars.Series([decimal.Decimal(i % 4) for i in range(N_ROWS)]),
        "int128": polars.Series(values["big"], dtype=polars.Int128),
        "uint8": polars.Series(full(values["small"]), dtype=polars.UInt8),
    }


LIBRARIES = {
    "pandas": (pandas_columns, pandas.DataFrame),
    "pyarrow": (arrow_columns, pyarrow.table),
    "polars": (polars_columns, polars.DataFrame),
}
# Columns of numbers that may be categories.
WHOLE = {"int64", "uint64", "Int64", "int8", "sparse", "Arrow int", "bool", "boolean"}
WHOLE |= {"big", "uint8", "int128", "big, objects", "numpy bool, objects", "decimal"}


@pytest.mark.filterwarnings("ignore:.*its negative numbers count as missing")
@pytest.mark.parametrize("seed", [0, 2, 1, 3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_alone_and_in_blocks_predict_as_in_the_whole_frame(library, seed):
    rng = np.random.default_rng(seed)
    make_columns, make_frame = LIBRARIES[library]
    columns = make_columns(rng)
    # One column in some frames, many of several dtypes side by side in others.
    n_columns = 1 + seed * 4
    names = rng.permutation(list(columns)).tolist()
    for start in range(0, len(names), n_columns):
        chosen = names[start : start + n_columns]
        X = make_frame({name: columns[name] for name in chosen})
        declared = [name for name in chosen if name in WHOLE and rng.random() < 0.5]
        model = LGBMRegressor(
            n_estimators=4, min_child_samples=1, cat_smooth=1, n_jobs=1
        )
        model.fit(X, rng.normal(size=N_ROWS), categorical_feature=declared or "auto")
        expected = model.predict(X)
        for size in (1, 7, 9):
            for first in range(0, N_ROWS, size):
                some = X[first : first + size]
                np.testing.assert_array_equal(
                    model.predict(some), expected[first : first + size], str(chosen)
                )
