"""Frames are read where they lie, with the answer of the long way by narwhals."""

from __future__ import annotations

import gc
import threading
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from helpers.reading import Estimator, columns, n_calls, read, shares
from skgoss import LGBMRegressor
from skgoss._engine.columns import arrow
from skgoss.columns import dataframes
from skgoss.columns.categories import Vocabulary
from skgoss.utils import optional

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

N_ROWS = 30
DTYPES = ["float64", "float32", "bool", "int8", "int16", "int32", "int64"]
DTYPES += ["uint8", "uint16", "uint32", "uint64"]


def typed() -> dict[str, np.ndarray]:
    """Two columns of each dtype."""
    rng = np.random.default_rng(0)
    columns = {}
    for name in [f"{dtype} {i}" for dtype in DTYPES for i in "ab"]:
        numbers = rng.normal(size=N_ROWS)
        if "int" in name:
            numbers = rng.integers(0, 99, N_ROWS)
        columns[name] = (numbers > 0 if "bool" in name else numbers).astype(
            name.split()[0]
        )
    return columns


def pandas_frames():
    mixed = pandas.DataFrame(typed())
    words = pandas.Categorical(np.resize(["b", "a", None], N_ROWS))
    grown = mixed.copy()
    grown["word"] = words
    grown.insert(3, "half", np.arange(N_ROWS, dtype=np.float16))
    grown["last"] = 1.5
    swapped = pandas.DataFrame(np.arange(60.0).astype(">f8").reshape(N_ROWS, 2))
    return {
        "mixed": mixed,
        "not consolidated": pandas.DataFrame(typed(), copy=False),
        "rows backwards": mixed[::-3],
        "some columns": mixed[list(mixed)[1::3]],
        "transposed": pandas.DataFrame(np.arange(60.0).reshape(2, N_ROWS)).T,
        "square": pandas.DataFrame(np.arange(9.0).reshape(3, 3)),
        "grown": grown,
        "without some": grown.drop(columns=["float64 a", "half"]),
        "other numbers": swapped.astype({0: np.longdouble}),
        "words": pandas.DataFrame({"w": words, "v": words.as_ordered(), "n": 1}),
        "one row": grown[5:6],
    }


def arrow_tables():
    table = pyarrow.table(typed())
    holes = np.arange(N_ROWS) % 4 == 0
    nulls = pyarrow.table(
        {name: pyarrow.array(v, mask=holes) for name, v in typed().items()}
    )
    late = pyarrow.concat_tables([table[:9], nulls[9:]])
    field = pyarrow.field("a", pyarrow.int64(), metadata={"PARQUET:field_id": "1"})
    words = pyarrow.array(["b", None, "a"] * 10)
    return {
        "numbers": table,
        "a slice": table[5:21],
        "nulls": nulls,
        "a slice of nulls": nulls[5:21],
        "chunks": pyarrow.concat_tables([table[:9], table[9:9], table[9:]]),
        "chunks with nulls": pyarrow.concat_tables([nulls[3:9], nulls[10:]]),
        "nulls in the second chunk": late,
        "chunks of several lengths": table.append_column("late", late.column(0)),
        "metadata": pyarrow.table([np.arange(N_ROWS)], pyarrow.schema([field])),
        "words": table.append_column("w", words)
        .append_column("d", words.dictionary_encode())
        .append_column("half", pyarrow.array(np.ones(N_ROWS, dtype=np.float16))),
    }


def frames():
    return {
        **{f"pandas, {name}": X for name, X in pandas_frames().items()},
        **{f"pyarrow, {name}": X for name, X in arrow_tables().items()},
        **{
            f"polars, {name}": polars.from_arrow(X, rechunk=False)
            for name, X in arrow_tables().items()
        },
        "polars, chunks": polars.concat([polars.DataFrame(typed())] * 2, rechunk=False),
        "polars, 128 bits": polars.DataFrame(
            {"a": polars.Series([1, 2], dtype=polars.Int128), "b": [1, None]}
        ),
    }


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.tobytes() == other.tobytes()


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("name", frames())
def test_the_short_way_has_the_answer_of_the_long_way(name, declared, monkeypatch):
    X = frames()[name]
    names = map(str, X.column_names if "pyarrow" in name else X.columns)
    whole = [j for j, name in enumerate(names) if "int" in name or name in "ab"]
    options = {"categorical_feature": whole if declared and whole else "auto"}
    answers = []
    for short in (True, False):
        if not short:
            monkeypatch.setattr(dataframes, "_CLASSES", {})
        estimator = Estimator()
        fitted = columns(estimator, X, reset=True, **options)
        vocabularies = {
            column: words.values
            for column, words in estimator._categories.vocabularies.items()
        }
        later = columns(estimator, X[3:] if len(X) > 3 else X, reset=False)
        answers.append((fitted, later, vocabularies))
    for short, long in zip(*answers, strict=True):
        if isinstance(short, dict):
            assert short == long
        else:
            assert same(read(short), read(long))
            np.testing.assert_array_equal(short.n_categories, long.n_categories)


@pytest.mark.parametrize(
    "name", ["mixed", "not consolidated", "rows backwards", "without some"]
)
def test_blocks_of_a_mixed_pandas_frame_are_not_copied(name):
    X = pandas_frames()[name]
    data = columns(Estimator(), X, reset=True)
    for j, dtype in enumerate(X.dtypes):
        if isinstance(dtype, np.dtype):
            assert shares(data, j, X.iloc[:, j].to_numpy())


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_slices_of_tables_are_not_copied(library):
    X = pyarrow.table({n: v for n, v in typed().items() if "bool" not in n})[7:20]
    first = [column.chunk(0).to_numpy() for column in X.columns]
    if library == "polars":
        X = polars.from_arrow(X, rechunk=False)
    data = columns(Estimator(), X, reset=True)
    assert all(shares(data, j, array) for j, array in enumerate(first))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_what_is_exported_stays_alive(library):
    X = pyarrow.table({"a": np.arange(1e6), "b": pyarrow.array([1, None] * 500_000)})
    X = polars.from_arrow(X) if library == "polars" else X
    data = columns(Estimator(), X, reset=True)
    del X
    gc.collect()
    junk = [np.zeros(1_000_000) for _ in range(4)]
    assert len(junk) == 4
    expected = np.column_stack([np.arange(1e6), np.tile([1, np.nan], 500_000)])
    assert same(read(data), expected)


def test_numbers_of_extension_types_are_not_numbers():
    class Money(pyarrow.ExtensionType):
        def __init__(self):
            super().__init__(pyarrow.int64(), "test.money")

        def __arrow_ext_serialize__(self):
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage, serialized):
            return cls()

    money = pyarrow.ExtensionArray.from_storage(Money(), pyarrow.array([1, 2]))
    X = pyarrow.table({"money": money, "number": [1, 2]})
    kind = np.full(2, 99, dtype=np.uint8)
    address, stride = np.empty(2, dtype=np.uint64), np.empty(2, dtype=np.int64)
    arrow.export(X).locate((), address, stride, kind)
    assert kind[0] == 99
    assert kind[1] != 99


def broken():
    schema = pyarrow.schema([("a", pyarrow.int64())])
    batch = pyarrow.record_batch([[1, 2]], schema)

    def fails():
        yield batch
        raise OSError("the file ends")

    rows = pyarrow.array([{"a": 1}, None])
    return {
        "an error": pyarrow.RecordBatchReader.from_batches(schema, fails()),
        "no rows": pyarrow.RecordBatchReader.from_batches(schema, []),
        "no frame": pyarrow.chunked_array([[1, 2]]),
        "missing rows": pyarrow.chunked_array([rows]),
        "a part of the rows": pyarrow.chunked_array([rows[:1], rows[1:]]),
        "no stream": batch.column(0).to_numpy(),
    }


@pytest.mark.parametrize("name", broken())
def test_streams_that_are_not_frames_are_left_alone(name):
    assert arrow.export(broken()[name]) is None


def test_pandas_keeps_its_columns_in_blocks():
    X = pandas_frames()["grown"]
    blocks = optional.pandas_blocks(X)
    assert sorted(np.concatenate([at for at, _ in blocks])) == [*range(X.shape[1])]
    for at, values in blocks:
        for i, j in enumerate(at):
            found = values[i] if isinstance(values, np.ndarray) else values
            assert pandas.Series(found, index=X.index).equals(X.iloc[:, j].rename(None))


def test_pandas_may_keep_its_columns_elsewhere(monkeypatch):
    X = pandas_frames()["grown"]
    expected = read(columns(Estimator(), X, reset=True))
    monkeypatch.setattr(optional, "pandas_blocks", lambda frame: [])
    assert same(read(columns(Estimator(), X, reset=True)), expected)


def outcome(check, estimator, X):
    """The error or the warnings of a check."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            check(estimator, X)
        except (TypeError, ValueError) as error:
            return repr(error)
    return [str(warning.message) for warning in caught]


def named(*names):
    return pandas.DataFrame(np.ones((2, len(names))), columns=[*names])


def named_frames():
    frame = named("a", "b")
    text = pandas.Index(np.array([np.str_("a"), np.str_("b")], dtype=object))
    return {
        "same": frame,
        "rows": frame[1:],
        "equal": named("a", "b"),
        "objects": frame.set_axis(pandas.Index(["a", "b"], dtype=object), axis=1),
        "polars": polars.DataFrame({"a": [1.0], "b": [2.0]}),
        "pyarrow": pyarrow.table({"a": [1.0], "b": [2.0]}),
        "other order": named("b", "a"),
        "others": named("a", "c"),
        "polars, others": polars.DataFrame({"a": [1.0], "c": [2.0]}),
        "pyarrow, other order": pyarrow.table({"b": [1.0], "a": [2.0]}),
        "fewer": named("a"),
        "more": named("a", "b", "c"),
        "numbers": named(0, 1),
        "numbers and text": named("a", 1),
        "NumPy's text": frame.set_axis(text, axis=1),
        "pairs": named(("a", 1), ("b", 2)),
        "array": np.ones((2, 2)),
    }


@pytest.mark.parametrize("name", named_frames())
@pytest.mark.parametrize("fitted", ["same", "polars", "numbers", "array"])
def test_names_are_checked_in_scikit_learns_words(fitted, name):
    frames = named_frames()
    ours, theirs = Estimator(), type("Estimator", (BaseEstimator,), {})()
    columns(ours, frames[fitted], reset=True)
    validate_data(theirs, frames[fitted], reset=True, skip_check_array=True)
    expected = outcome(
        lambda e, X: validate_data(e, X, reset=False, skip_check_array=True),
        theirs,
        frames[name],
    )
    answer = outcome(lambda e, X: columns(e, X, reset=False), ours, frames[name])
    has_all_columns = name.endswith(("order", "more")) and fitted in ("same", "polars")
    selected = "X.select({})" if name.startswith("pyarrow") else "X[{}]"
    code = selected.format("model.feature_names_in_")
    advice = rf"Select and order the columns: {code}.\n"
    assert (advice in str(answer)) == has_all_columns
    assert str(answer).replace(advice, "") == str(expected)


def test_the_index_of_an_earlier_fit_is_not_that_of_this_one():
    estimator, X = Estimator(), named("a", "b")
    columns(estimator, X, reset=True)
    columns(estimator, named("a", "c"), reset=True)
    with pytest.raises(ValueError, match="should match"):
        columns(estimator, X, reset=False)
    columns(estimator, np.ones((2, 2)), reset=True)
    with pytest.warns(UserWarning, match="X has feature names, but"):
        columns(estimator, X, reset=False)
    columns(estimator, X, reset=True)
    X.columns = ["b", "a"]
    with pytest.raises(ValueError, match="same order"):
        columns(estimator, X, reset=False)


WIDE = 400


def wide_frames():
    values = np.ones((2, WIDE))
    table = {f"x{j}": values[:, j] for j in range(WIDE)}
    cells = {n: v.astype(bool if "1" in n else float) for n, v in table.items()}
    few = pandas.CategoricalDtype([*"abc"])
    return {
        "pandas, a block": (pandas.DataFrame(table), 0.3),
        "pandas, mixed": (pandas.DataFrame(cells), 0.3),
        "pandas, not consolidated": (pandas.DataFrame(table, copy=False), 9),
        "pandas, categories": (
            pandas.DataFrame({name: ["a", "b"] for name in table}, dtype=few),
            40,
        ),
        "polars": (polars.DataFrame(cells), 0.3),
        "pyarrow": (pyarrow.table(cells), 0.3),
        "polars, nulls": (polars.DataFrame({name: [1, None] for name in table}), 0.3),
    }


@pytest.mark.parametrize("name", wide_frames())
def test_a_column_costs_few_calls(name):
    X, most = wide_frames()[name]
    estimator = Estimator()
    columns(estimator, X, reset=True)
    columns(estimator, X, reset=False)
    assert n_calls(lambda: columns(estimator, X, reset=False)) < 200 + most * WIDE


@pytest.mark.parametrize(
    "categories", [["c", "a", "x"], ["a", "x", "c"], ["c"], [1, "b"]]
)
def test_categories_are_known_by_their_values_whatever_the_index(categories):
    words = Vocabulary(["a", "b", "c"])
    for _ in range(2):  # the second time from the table of the first
        values = pandas.Categorical([*categories, None], categories=categories)
        expected = words.look_up([*categories, None])
        assert same(words.recode(values, "word"), np.array(expected, dtype=np.float32))


def test_threads_may_recode_at_once():
    words = Vocabulary([*"abcdef"])
    indices = [pandas.Index([*"fedcba"]), pandas.Index([*"xaybzc"])]
    wrong = []

    def recode(index: pandas.Index) -> None:
        values = pandas.Categorical.from_codes(range(6), index)
        expected = np.array(words.look_up(index), dtype=np.float32)
        wrong.extend(
            1 for _ in range(300) if not same(words.recode(values, "word"), expected)
        )

    threads = [threading.Thread(target=recode, args=[i]) for i in indices * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_more_categories_than_rows():
    many = pandas.CategoricalDtype([f"w{i}" for i in range(1500)])
    X = pandas.DataFrame({"w": pandas.Series(["w1", "w1400"] * 20, dtype=many)})
    model = LGBMRegressor(n_estimators=2, min_child_samples=1, cat_smooth=1, n_jobs=1)
    expected = model.fit(X, [0.0, 1.0] * 20).predict(X)
    assert len(set(expected)) == 2
    alone = [model.predict(X[i : i + 1])[0] for i in range(2)]
    assert alone == expected[:2].tolist()


ATTRIBUTES = ["format", "dtype", "schema", "data", "indices", "read"]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_columns_that_are_attributes_of_other_containers(name):
    """Pandas makes an attribute of each column."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    frame = pandas.DataFrame(X, columns=[name, "b"])
    model = LGBMRegressor(n_estimators=2).fit(frame, X[:, 0])
    for options in ({}, {"pred_contrib": True}):
        actual = model.predict(frame, **options)
        np.testing.assert_array_equal(actual, model.booster_.predict(X, **options))
