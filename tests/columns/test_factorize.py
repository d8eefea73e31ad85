"""Values of columns become numbers of their categories."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from helpers.category_columns import NAN, fit, read
from helpers.reading import columns


def test_equal_values_are_one_whatever_their_type(pandas):
    mixed = [1, 1.0, np.int8(1), True, "1", 2.5, None, NAN, pandas.NA, "a", (3,)]
    codes = [0, 0, 0, 0, 2, 1, NAN, NAN, NAN, 3, 4]
    for repeats in (1, 9):
        X = pandas.DataFrame({"a": pandas.Series(mixed * repeats, dtype=object)})
        estimator, data = fit(X)
        np.testing.assert_array_equal(read(data)[:, 0], codes * repeats)
        assert data.n_categories.tolist() == [5]
    for column in ([1, 3], [True, False], [1.0, 7.5]):
        data = columns(estimator, pandas.DataFrame({"a": column}), reset=False)
        np.testing.assert_array_equal(read(data)[:, 0], [0, NAN])


def test_categories_may_be_anything_hashable(pandas):
    days = pandas.to_datetime(["2020-01-02", "2020-01-01", None, "2020-01-02"])
    estimator, data = fit(pandas.DataFrame({"day": pandas.Categorical(days)}))
    np.testing.assert_array_equal(read(data)[:, 0], [1, 0, NAN, 1])
    new = pandas.DataFrame({"day": pandas.Categorical(days[1:])})
    np.testing.assert_array_equal(
        read(columns(estimator, new, reset=False))[:, 0], [0, NAN, 1]
    )
    unhashable = pandas.DataFrame({"a": ["x", ["y"]]})
    for repeats in (1, 20):
        X = pandas.concat([unhashable] * repeats)
        with pytest.raises(ValueError, match="Column 'a' holds values that cannot be"):
            fit(X)


BIG = 1 << 60
BIG_IDS = [BIG, BIG + 1, None, BIG + 2, BIG, 2**53 + 1, 2**53]


def big_containers(values) -> dict:
    """One column of integers that float64 does not tell apart."""
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    arrow = pyarrow.array(values)
    integers = pyarrow.table({"id": arrow})
    frames = {
        "Int64": pandas.DataFrame({"id": pandas.array(values, "Int64")}),
        "pandas on Arrow": integers.to_pandas(types_mapper=pandas.ArrowDtype),
        "pandas objects": pandas.DataFrame({"id": pandas.Series(values, dtype=object)}),
        "pandas category": pandas.DataFrame(
            {"id": pandas.array(values, "Int64")}, dtype="category"
        ),
        "pyarrow": integers,
        "Arrow dictionary": pyarrow.table({"id": arrow.dictionary_encode()}),
        "polars": polars.DataFrame({"id": values}),
        "polars objects": polars.DataFrame(
            {"id": polars.Series(values, dtype=polars.Object)}
        ),
        "polars Int128": polars.DataFrame(
            {"id": polars.Series(values, dtype=polars.Int128)}
        ),
        "objects": np.array([[v] for v in values], dtype=object),
    }
    if None not in values:
        frames["ndarray"] = np.array([[v] for v in values])
        frames["strides"] = np.array([[v] for v in values[::-1]])[::-1]
        frames["pandas"] = pandas.DataFrame(frames["ndarray"], columns=["id"])
        frames["beside floats"] = frames["pandas"].assign(x=0.5)[["id", "x"]]
        frames["masked"] = np.ma.array(frames["ndarray"])
        frames["list"] = [[v] for v in values]
    else:
        zeros = [[v or 0] for v in values]
        frames["masked"] = np.ma.array(zeros, mask=np.array(zeros) == 0)
    return frames


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
@pytest.mark.parametrize("values", [BIG_IDS, [v for v in BIG_IDS if v]])
def test_integers_that_float64_does_not_tell_apart(values):
    number_of = {2**53: 0, 2**53 + 1: 1, BIG: 2, BIG + 1: 3, BIG + 2: 4}
    expected = [number_of.get(value, NAN) for value in values]
    containers = big_containers(values)
    rows = [big_containers([value, value]) for value in values]
    for number, (name, X) in enumerate(containers.items()):
        estimator, data = fit(X, [0])
        np.testing.assert_array_equal(read(data)[:, 0], expected, name)
        if name == "beside floats":
            continue
        for other, X_other in containers.items():
            if other != "beside floats":
                data = columns(estimator, X_other, reset=False)
                np.testing.assert_array_equal(read(data)[:, 0], expected, other)
        # One of the values alone, each in two of the containers at least.
        i = number % len(values)
        for other, row in rows[i].items():
            if values[i] is not None and other != "beside floats":
                data = columns(estimator, row, reset=False)
                np.testing.assert_array_equal(
                    read(data)[:, 0], [expected[i]] * 2, other
                )


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("wrapped", ["table", "chunks", "pandas"])
@pytest.mark.parametrize(
    ("entries", "codes", "in_order"),
    [
        (["b", None, "a", None], [1, NAN, 0, NAN], [0, NAN, 1, NAN]),
        (["b", "a", "b", None], [1, 0, 1, NAN], [0, 1, 0, NAN]),
        ([2.5, NAN, 1.5, NAN], [1, NAN, 0, NAN], [0, NAN, 1, NAN]),
        ([0.0, -0.0, 1.5, None], [0, 0, 1, NAN], [0, 0, 1, NAN]),
    ],
)
def test_dictionaries_with_missing_and_repeated_entries(
    entries, codes, in_order, wrapped, ordered
):
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    places = [0, 1, None, 2, 3, 0, 2]
    array = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(places, pyarrow.int8()), pyarrow.array(entries), ordered=ordered
    )
    if wrapped == "chunks":
        array = pyarrow.chunked_array([array.slice(0, 3), array.slice(3)])
    X = pyarrow.table({"a": array})
    if wrapped == "pandas":
        X = X.to_pandas(types_mapper=pandas.ArrowDtype)
    estimator, data = fit(X)
    has_order = ordered and wrapped != "pandas"
    codes = in_order if has_order else codes
    expected = [NAN if place is None else codes[place] for place in places]
    np.testing.assert_array_equal(read(data)[:, 0], expected)
    assert (data.n_categories is None) == has_order
    if not has_order:
        assert data.n_categories.tolist() == [2]
    for i in range(len(places)):
        some = columns(estimator, X[i : i + 1], reset=False)
        np.testing.assert_array_equal(read(some)[:, 0], expected[i : i + 1])


def test_chunks_with_more_categories_than_their_indices_can_count(pyarrow):
    chunks = [
        pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(range(100), pyarrow.int8()),
            pyarrow.array([f"{i:03}" for i in range(first, first + 100)]),
        )
        for first in (0, 90, 180)
    ]
    X = pyarrow.table({"a": pyarrow.chunked_array(chunks)})
    data = fit(X)[1]
    expected = np.concatenate([np.arange(f, f + 100) for f in (0, 90, 180)])
    np.testing.assert_array_equal(read(data)[:, 0], expected)
    assert data.n_categories.tolist() == [280]


def test_strings_among_objects_of_polars(polars):
    values = ["b", None, 1, "a", 1.0, (2,)]
    X = polars.DataFrame({"a": polars.Series(values, dtype=polars.Object)})
    np.testing.assert_array_equal(read(fit(X)[1])[:, 0], [2, NAN, 0, 1, 0, 3])


def test_objects_whose_first_ones_are_missing(pandas):
    head = [None] * 200
    X = pandas.DataFrame({"a": [*head, 2.5], "b": [*head, "x"]}, dtype=object)
    data = fit(X)[1]
    np.testing.assert_array_equal(read(data)[199:], [[NAN, NAN], [2.5, 0]])
    assert data.n_categories.tolist() == [0, 1]


def test_dates_among_strings(pandas):
    X = pandas.DataFrame({"a": ["x", datetime.date(2020, 1, 1), "w"]})
    np.testing.assert_array_equal(read(fit(X)[1])[:, 0], [1, 2, 0])
