"""What goes in comes out, without a copy where it is numbers already."""

from __future__ import annotations

import datetime
import decimal
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.validation import validate_data

from helpers.reading import Estimator, columns, n_calls, read, shares
from skgoss import LGBMRegressor
from skgoss._engine.columns import column_kernels as kernels
from skgoss.columns.columns import Columns

KINDS = kernels.KINDS


def fit_columns(X) -> Columns:
    return columns(Estimator(), X, reset=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f8", np.int64, bool])
def test_arrays_predict_as_lists_which_scikit_learn_validates(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 4)).astype(np.float64)
    model = LGBMRegressor(n_estimators=3, min_child_samples=1).fit(X, X @ [1, 2, 4, 8])
    expected = model.predict(X.tolist())
    packed = np.zeros(60, dtype=[("first", "u1"), ("values", dtype, 4)])
    packed["values"] = X
    rows = X.astype(dtype)
    for array in (rows, np.asfortranarray(rows), rows[::-1][::-1], packed["values"]):
        np.testing.assert_array_equal(model.predict(array), expected)
    for wrong, message in (
        (rows[:, :3], "X has 3 features, .* expecting 4"),
        (rows[0], "Expected 2D array, got 1D"),
        (rows[:0], r"with 0 sample\(s\)"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(wrong)


def test_nan_and_infinity_pass():
    X = np.array([[np.nan, np.inf], [-np.inf, 0.0]])
    np.testing.assert_array_equal(read(fit_columns(X)), X)


def test_lists():
    np.testing.assert_array_equal(read(fit_columns([[1, 2], [3, 4]])), [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (np.empty((0, 3)), ValueError, r"Found array with 0 sample\(s\)"),
        (np.empty((3, 0)), ValueError, r"Found array with 0 feature\(s\)"),
        (np.ones(3), ValueError, "Expected 2D array, got 1D array instead"),
        (np.ones((2, 2, 2)), ValueError, "dim 3"),
        (np.ones((2, 2), complex), ValueError, "Complex data not supported"),
        (sparse.csr_matrix(np.empty((0, 3))), ValueError, r"Found array with 0 sample"),
        (sparse.coo_array(np.eye(3, dtype=complex)), ValueError, "Complex data"),
        ([["a", "b"]], ValueError, r"could not convert .* categorical_feature=\[0\]"),
        (np.array([[{}]]), TypeError, "argument must be .* string.* number"),
        (np.array([["x"]], object), ValueError, "could not convert .* data frame"),
        (
            np.array([["2020-01-01"]], "M8[D]"),
            ValueError,
            r"X holds dates \(datetime64",
        ),
    ],
)
def test_bad_arrays_are_refused_in_scikit_learns_words(X, error, words):
    with pytest.raises(error, match=words):
        fit_columns(X)


NUMBERS = {
    "f64": np.array([1.5, -2.0, np.nan]),
    "f32": np.array([1.5, np.inf, 0.0], dtype=np.float32),
    "i64": np.array([1, -2, 3]),
    "i8": np.array([1, -2, 3], dtype=np.int8),
    "u16": np.array([1, 2, 65535], dtype=np.uint16),
    "u64": np.array([1, 2, 3], dtype=np.uint64),
}
FLAGS = np.array([True, False, True])
EXPECTED = np.column_stack([*NUMBERS.values(), FLAGS]).astype(float)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_numbers(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    X = make({**NUMBERS, "flag": FLAGS})
    estimator = Estimator()
    data = columns(estimator, X, reset=True)
    np.testing.assert_array_equal(read(data), EXPECTED)
    assert estimator.feature_names_in_.tolist() == [*NUMBERS, "flag"]
    assert data.kind.tolist() == [
        KINDS[a.dtype.name] for a in (*NUMBERS.values(), FLAGS)
    ]
    if library != "pandas":
        for position, name in enumerate(NUMBERS):
            column = X[name].chunk(0) if library == "pyarrow" else X[name]
            assert shares(data, position, column.to_numpy())


@pytest.mark.parametrize("n_rows", [3, 50_000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_a_pandas_block_is_not_copied(dtype, n_rows, pandas):
    X = pandas.DataFrame(np.ones((n_rows, 4), dtype=dtype))
    data = fit_columns(X)
    for position in range(4):
        assert shares(data, position, X.iloc[:, position].to_numpy())


def test_separate_pandas_columns_are_not_copied(pandas):
    X = pandas.DataFrame({name: np.arange(40_000.0) for name in "abc"})
    X["d"] = np.float64(3.0)
    data = fit_columns(X)
    for position in range(4):
        assert shares(data, position, X.iloc[:, position].to_numpy())
    np.testing.assert_array_equal(read(data), X.to_numpy())


def null_frames():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    table = {"integer": [1, None], "float": [None, 2.5], "flag": [True, None]}
    table |= {"price": [decimal.Decimal("1.5"), None]}
    arrow = pyarrow.table({**table, "none": pyarrow.nulls(2)})
    return {
        "polars": polars.DataFrame({**table, "none": [None, None]}),
        "pyarrow": arrow,
        "chunks": pyarrow.concat_tables([arrow.slice(0, 1), arrow.slice(1, 1)]),
        "pandas": pandas.DataFrame(
            {
                "integer": pandas.array([1, None], "Int64"),
                "float": pandas.array([None, 2.5], "Float32"),
                "flag": pandas.array([True, None], "boolean"),
                "price": pandas.Series([1.5, pandas.NA], dtype=object),
                "none": pandas.Series([None, None], dtype=object),
            }
        ),
        "pandas on Arrow": arrow.to_pandas(types_mapper=pandas.ArrowDtype),
        "one pandas dtype": pandas.DataFrame(
            [[1, pandas.NA, 1, 1.5, pandas.NA], [pandas.NA, 2.5, pandas.NA, None, None]]
        ).astype("Float64"),
    }


@pytest.mark.parametrize("name", null_frames())
def test_nulls_are_nan(name):
    nan = np.nan
    expected = [[1, nan, 1, 1.5, nan], [nan, 2.5, nan, nan, nan]]
    np.testing.assert_array_equal(read(fit_columns(null_frames()[name])), expected)


def test_pandas_oddities(pandas):
    X = pandas.DataFrame(
        {
            "numbers": np.array([1, 2.5, True], dtype=object),
            "sparse": pandas.arrays.SparseArray([0.0, 0.0, 3.0]),
            "half": np.array([1, 2, 3], dtype=np.float16),
        },
        index=[5, 5, 7],
    )
    np.testing.assert_array_equal(
        read(fit_columns(X)), [[1, 0, 1], [2.5, 0, 2], [1, 3, 3]]
    )
    by_number = pandas.DataFrame([[1, 2.5]], columns=[7, 3])
    np.testing.assert_array_equal(read(fit_columns(by_number)), [[1, 2.5]])


def unusable_columns():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    codes, one = pyarrow.array([0, 1], pyarrow.int8()), pyarrow.array([1])
    words = pyarrow.array(["x"])
    arrow = {
        "dates": pyarrow.array(days),
        "list": pyarrow.array([[1], [2]]),
        "list view": pyarrow.array([[1], [2]], pyarrow.list_view(pyarrow.int64())),
        "struct": pyarrow.array([{"a": 1}, {"a": 2}]),
        "dense union": pyarrow.UnionArray.from_dense(
            codes, pyarrow.array([0, 0], pyarrow.int32()), [one, words]
        ),
        "sparse union": pyarrow.UnionArray.from_sparse(
            codes, [pyarrow.array([1, 1]), pyarrow.array(["x", "x"])]
        ),
        "binary": pyarrow.array([b"1", b"2"]),
        "fixed binary": pyarrow.array([b"1", b"2"], pyarrow.binary(1)),
        "interval": pyarrow.array([(1, 2, 3)] * 2, pyarrow.month_day_nano_interval()),
    }
    tables = {name: pyarrow.table({"bad": array}) for name, array in arrow.items()}
    on_arrow = {
        f"pandas on Arrow, {name}": table.to_pandas(types_mapper=pandas.ArrowDtype)
        for name, table in tables.items()
    }
    return {
        **{f"arrow {name}": table for name, table in tables.items()},
        **on_arrow,
        "pandas interval": pandas.DataFrame({"bad": pandas.interval_range(0, 2)}),
        "pandas durations": pandas.DataFrame({"bad": pandas.to_timedelta([1, 2])}),
        "pandas objects of durations": pandas.DataFrame(
            {"bad": np.array([*np.array([1, 2], "m8[ns]")], object)}
        ),
        "polars objects": polars.DataFrame(
            {"bad": polars.Series([object(), object()], dtype=polars.Object)}
        ),
        "polars struct": polars.DataFrame({"bad": [{"a": 1}, {"a": 2}]}),
        "polars binary": polars.DataFrame({"bad": [b"1", b"2"]}),
        "pandas objects": pandas.DataFrame({"bad": np.array([{}, []], object)}),
        "pandas bytes": pandas.DataFrame({"bad": np.array([b"x", b"y"], object)}),
        "pandas dates": pandas.DataFrame({"bad": pandas.to_datetime(days)}),
        "pandas complex": pandas.DataFrame({"bad": [1j, 2]}),
        "polars dates": polars.DataFrame({"bad": days}),
        "polars list": polars.DataFrame({"bad": [[1], [2]]}),
    }


@pytest.mark.parametrize("categorical_feature", ["auto", ["bad"]])
@pytest.mark.parametrize("name", unusable_columns())
def test_columns_of_other_things_are_refused_by_name(name, categorical_feature):
    X = unusable_columns()[name]
    with pytest.raises(ValueError, match="Column 'bad'"):
        columns(Estimator(), X, reset=True, categorical_feature=categorical_feature)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("library", ["pandas", "pandas on Arrow", "polars", "pyarrow"])
def test_nulls_beside_integers_that_no_float_holds(library, dtype, pyarrow):
    values = pyarrow.array([2**53 + 1, None, 3], getattr(pyarrow, dtype)())
    X = pyarrow.table({"a": values})
    if library == "polars":
        X = pytest.importorskip("polars").from_arrow(X)
    elif library != "pyarrow":
        pandas = pytest.importorskip("pandas")
        X = X.to_pandas(types_mapper=pandas.ArrowDtype)
        if library == "pandas":
            X = X.convert_dtypes(dtype_backend="numpy_nullable")
    np.testing.assert_array_equal(
        read(fit_columns(X))[:, 0], [float(2**53), np.nan, 3.0]
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_empty_frames_are_refused_in_scikit_learns_words(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 1\)\).*Estim"):
        fit_columns(make({"a": np.empty(0)}))
    if library == "pandas":
        with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(2, 0\)\)"):
            fit_columns(make(index=[0, 1]))


@pytest.mark.parametrize("n_columns", [1, 30, 3000])
def test_one_row_costs_little_more_than_its_validation(n_columns):
    X = np.ones((1, n_columns))
    estimator = Estimator()
    columns(estimator, X, reset=True)

    def ours() -> None:
        columns(estimator, X, reset=False)

    def theirs() -> None:
        validate_data(
            estimator, X, reset=False, dtype="numeric", ensure_all_finite=False
        )

    assert n_calls(ours) < n_calls(theirs) + 40


def test_nothing_is_warned_about(pandas):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_columns(pandas.DataFrame({"a": [1.0], "b": [True], "c": [None]}))


def decimals():
    rng = np.random.default_rng(0)
    return [
        decimal.Decimal(int(value)).scaleb(-6)
        for value in rng.integers(-(10**12), 10**12, 300)
    ]


@pytest.mark.parametrize("kind", ["arrow", "polars", "arrow in pandas"])
def test_decimals_become_the_nearest_numbers(kind, pandas, pyarrow):
    values = decimals()
    X = pyarrow.table({"a": pyarrow.array([*values, None], pyarrow.decimal128(20, 6))})
    if kind == "polars":
        X = pytest.importorskip("polars").from_arrow(X)
    elif kind == "arrow in pandas":
        X = X.to_pandas(types_mapper=pandas.ArrowDtype)
    expected = np.array([*map(float, values), np.nan])[:, None]
    np.testing.assert_array_equal(read(columns(Estimator(), X, reset=True)), expected)
