"""Sources that fail, change or hold odd values: an error, or the model of memory."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import errno
import resource
import sys

import numpy as np
import pytest

from skgoss import Dataset, LGBMRegressor, Sequence, train
from skgoss.sources import input_rows, source

pyarrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

N = 400
PARAMS = {"num_leaves": 7, "min_data_in_leaf": 5, "max_bin": 31, "verbose": -1}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + RNG.normal(size=N) * 0.1
BATCH = 90


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(source, "BATCH_VALUES", 1 << 9)


def as_text(data, label=Y, params=PARAMS):
    return train(params, Dataset(data, label=label), 3).model_to_string()


def in_batches(table):
    return dataset.dataset(table.to_batches(max_chunksize=BATCH))


# --- Odd values -----------------------------------------------------------------------


def cycle(values, kind=None):
    return pyarrow.array([values[i % len(values)] for i in range(N)], kind)


DAY = datetime.date(2024, 2, 29)
COLUMNS = {
    "nan": cycle([np.nan]),
    "some nan": cycle([1.5, np.nan, 2.5]),
    "infinite": cycle([np.inf, -np.inf, 0.5, np.nan]),
    "infinite float32": cycle([np.inf, 1.0, 3.5], pyarrow.float32()),
    "tiny": cycle([5e-324, -5e-324, 0.0, -0.0, 1e-300]),
    "large": cycle([1.7e308, -1.7e308, 1.0]),
    "huge ints": cycle([2**63 - 1, -(2**63), 2**53 + 1, 3]),
    "unsigned": cycle([2**64 - 1, 2**63, 5, None], pyarrow.uint64()),
    "nulls": cycle([None], pyarrow.float64()),
    "type null": pyarrow.nulls(N),
    "late nulls": pyarrow.array([1] * (N - 5) + [None] * 5),
    "constant": cycle([7]),
    "bool": cycle([True, False, None]),
    "float16": pyarrow.array(np.arange(N, dtype=np.float16)),
    "decimal": cycle([decimal.Decimal("1.25"), decimal.Decimal("-3.5"), None]),
    "date": cycle([DAY, None]),
    "timestamp": cycle([datetime.datetime(2024, 2, 29), None]),
    "duration": cycle([datetime.timedelta(1)]),
    "strings": cycle(["", "a", "á\0", None, "a" * 500]),
    "large strings": cycle(["x", "y", None], pyarrow.large_string()),
    "binary": cycle([b"x", b"y"]),
    "list": cycle([[1], []]),
    "struct": cycle([{"a": 1}]),
    "dictionary": cycle(["x", "y", None]).dictionary_encode(),
    "dictionary of ints": cycle([5, 7, 11]).dictionary_encode(),
}


@pytest.mark.filterwarnings("ignore:Column 'odd' holds categories")
@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("categorical_feature", ["auto", ["odd"]])
def test_odd_columns_are_those_of_memory(kind, categorical_feature):
    table = pyarrow.table({"x": X[:, 0], "odd": COLUMNS[kind]})
    params = PARAMS | {"categorical_feature": categorical_feature}
    results = []
    for data in (table, in_batches(table)):
        try:
            results.append(as_text(data, params=params))
        except ValueError as error:
            results.append(f"{error}".partition(": ")[2] or f"{error}")
    assert results[0] == results[1] or results[0] in results[1]


@pytest.mark.parametrize("kind", ["late nulls", "bool", "strings", "timestamp", "nan"])
def test_columns_are_read_as_in_memory(kind):
    table = pyarrow.table({"x": X[:, 0], "odd": COLUMNS[kind]})
    read_twice = input_rows.source(in_batches(table))
    found = read_twice.values(["odd"])
    expected = input_rows.source(dataset.dataset(table)).values(["odd"])["odd"]
    np.testing.assert_array_equal(found["odd"], expected)
    # Each batch is compared with what was read before; one value is another one.
    again = [batch.rows.num_rows for batch in source.read(read_twice.without(found))]
    assert sum(again) == N
    changed = found["odd"].copy()
    changed[N // 2] = changed[N // 2 + 1] if kind != "nan" else 3.0
    if kind == "late nulls":
        changed[N // 2] = 77
    with pytest.raises(ValueError, match="column 'odd' has other values than before"):
        list(source.read(read_twice.without({"odd": changed})))


def test_dictionaries_of_batches_may_differ():
    words = np.array(["v", "w", "x", "y", "z"])[RNG.integers(0, 5, N)]
    schema = pyarrow.schema(
        {
            "x": pyarrow.float64(),
            "word": pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
        }
    )

    def batches():
        for number, start in enumerate(range(0, N, BATCH)):
            own = words[start : start + BATCH]
            known = np.roll(np.unique(own), number)[:: (-1) ** number]
            # A word of the dictionary need not be among the rows.
            known = [*known, f"unused {number}"]
            codes = np.array([known.index(word) for word in own], np.int8)
            column = pyarrow.DictionaryArray.from_arrays(codes, known)
            rows = {"x": pyarrow.array(X[start : start + BATCH, 0]), "word": column}
            yield pyarrow.record_batch(rows, schema)

    def read():
        return pyarrow.RecordBatchReader.from_batches(schema, batches())

    label = (words > "w") + X[:, 0]
    assert as_text(read, label) == as_text(
        read().read_all().unify_dictionaries(), label
    )


def test_empty_batches_and_files(tmp_path):
    table = pyarrow.table({"x": X[:, 0], "z": X[:, 1]})
    empty = table.slice(0, 0)
    expected = as_text(table)
    pieces = [empty, table.slice(0, 1), empty, table.slice(1), empty]
    for number, piece in enumerate(pieces):
        parquet.write_table(piece, tmp_path / f"{number}.parquet")
    assert as_text(tmp_path) == expected
    batches = [b for p in pieces for b in p.to_batches() or [empty.to_batches()]]
    batches = [b for b in batches if not isinstance(b, list)]
    assert as_text(dataset.dataset(batches)) == expected
    assert as_text([dataset.dataset(piece) for piece in pieces]) == expected
    assert as_text(np.split(X, [0, 0, 5, 5])) == as_text(X)
    for data in (
        dataset.dataset(empty),
        polars.from_arrow(empty).lazy(),
        empty.to_reader,
        str(tmp_path / "0.parquet"),
    ):
        for use in (
            lambda data=data: Dataset(data, label=[]).construct(),
            lambda data=data: train(PARAMS, Dataset(X[:, :2], Y), 1).predict(data),
        ):
            with pytest.raises(ValueError, match="data must have a row"):
                use()


def test_names_that_come_twice(tmp_path):
    twice = pyarrow.table([X[:, 0], X[:, 1]], names=["x", "x"])
    parquet.write_table(twice, tmp_path / "twice.parquet")
    for data in (
        tmp_path / "twice.parquet",
        dataset.dataset(twice),
        lambda: twice.to_reader(),
    ):
        with pytest.raises(ValueError, match=r"(different|duplicate field) names"):
            Dataset(data, label=Y).construct()


# --- Sources that change --------------------------------------------------------------


TABLE = pyarrow.table({"x": X[:, 0], "z": X[:, 1], "w": X[:, 2]})
CHANGES = {
    "a column is missing": TABLE.drop(["z"]),
    "another order": TABLE.select(["z", "x", "w"]),
    "a new column": TABLE.append_column("new", TABLE["x"]),
    "another type": TABLE.set_column(0, "x", TABLE["x"].cast(pyarrow.float32())),
    "words": TABLE.set_column(0, "x", cycle(["a", "b"])),
    "fewer rows": TABLE.slice(0, N - 1),
    "more rows": pyarrow.concat_tables([TABLE, TABLE.slice(0, 1)]),
    "no rows": TABLE.slice(0, 0),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("n_before", [1, 2, 3])
def test_readers_that_change_are_an_error(change, n_before):
    """The number of the rows, the first and the second pass read a reader each."""
    opened = []

    def read():
        opened.append(1)
        return (TABLE if len(opened) <= n_before + 1 else CHANGES[change]).to_reader()

    rows = Dataset(read, label=Y)
    if n_before == 3:
        rows.construct()  # each is read as often as that, and no more
        assert len(opened) == 4
        return
    message = "the data have (fewer|more) rows than before"
    if CHANGES[change].schema != TABLE.schema:
        message = "must return readers of the same columns"
    with pytest.raises(ValueError, match=message):
        rows.construct()
    opened[:] = [-1] * -9
    rows.data = TABLE.to_reader  # as if it were there again
    assert rows.construct().num_data() == N


ERRORS = [ValueError, OSError, KeyError, MemoryError, KeyboardInterrupt, SystemExit]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("at", [0, 3, 8])
def test_batches_that_fail_leave_the_set_as_it_was(error, at):
    calls = []

    class Failing(Sequence):
        batch_size = BATCH

        def __len__(self):
            return N

        def __getitem__(self, index):
            calls.append(index)
            if len(calls) == at + 1:
                raise error("now")
            return X[index]

    rows = Dataset(Failing(), label=Y)
    with pytest.raises(error):
        rows.construct()
    assert len(calls) >= at + 1
    assert as_text(X) == train(PARAMS, rows, 3).model_to_string()


def test_values_that_another_thread_changes():
    """Other values in each pass, sparse, missing or of other sizes: never a crash."""
    rng = np.random.default_rng(1)

    class Changing(Sequence):
        batch_size = BATCH

        def __len__(self):
            return N

        def __getitem__(self, index):
            if not isinstance(index, slice):
                return X[index]
            rows = rng.normal(size=(index.stop - index.start, 3)) * rng.choice([1, 1e9])
            rows[rng.random(rows.shape) < rng.random()] = rng.choice([0.0, np.nan, 7.0])
            return rows

    for seed in range(10):
        params = {**PARAMS, "bin_construct_sample_cnt": 100, "seed": seed}
        booster = train(params, Dataset(Changing(), label=Y), 2)
        assert np.isfinite(booster.predict(X)).all()


def test_a_file_that_is_replaced_between_the_passes(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(TABLE, path, row_group_size=50)
    rows = Dataset(path, label=Y)
    rows.num_data()
    for other in (TABLE.drop(["z"]), TABLE.slice(3), CHANGES["words"]):
        parquet.write_table(other, tmp_path / "other", row_group_size=50)
        (tmp_path / "other").replace(path)
        with pytest.raises(ValueError, match=r"rows\.parquet: the file has changed"):
            rows.construct()
        rows = Dataset(path, label=Y[: other.num_rows])
        rows.num_data()
    path.unlink()
    with pytest.raises((ValueError, OSError), match=r"rows\.parquet"):
        rows.construct()
    parquet.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises((ValueError, OSError), match=r"rows\.parquet"):
        Dataset(path, label=Y).construct()


def test_lazy_frames_that_fail():
    calls = []

    def fail(frame):
        calls.append(1)
        if len(calls) > 1:
            raise KeyError("gone")
        return frame

    lazy = polars.from_arrow(TABLE).lazy().map_batches(fail, streamable=True)
    with pytest.raises(Exception, match="gone"):
        Dataset(lazy, label=Y).construct()


def test_parts_with_other_columns():
    words = CHANGES["words"]
    for parts, match in (
        ([TABLE, words], "column 0 holds categories in some of the rows, and numbers"),
        ([words, TABLE], "column 0 holds categories in some of the rows, and numbers"),
        ([TABLE, TABLE.drop(["w"])], "All data of the list must have the same columns"),
    ):
        data = [dataset.dataset(part) for part in parts]
        with pytest.raises(ValueError, match=match):
            Dataset(data, label=np.tile(Y, 2)).construct()


# --- Disks and interruptions ----------------------------------------------------------


@contextlib.contextmanager
def full_disk(n_bytes):
    """Files cannot become larger than this, which is an error of the system, too."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_is_full_leaves_nothing(tmp_path):
    rows = Dataset(dataset.dataset(TABLE), label=Y, memory_map=tmp_path)
    model = LGBMRegressor(n_estimators=2).fit(X, Y)
    out = tmp_path / "out.parquet"
    with full_disk(300):
        for write in (
            rows.construct,
            lambda: model.predict(X, to_parquet=out),
            lambda: Dataset(X, Y).save_binary(out),
        ):
            with pytest.raises(OSError) as caught:
                write()
            assert caught.value.errno in (errno.EFBIG, None)
            assert list(tmp_path.iterdir()) == []
    assert rows.construct().num_data() == N


SLOW = """
import os, signal, threading, time
import numpy as np
from skgoss import Dataset, Sequence

signal.signal(signal.SIGINT, signal.default_int_handler)

class Slow(Sequence):
    batch_size = 10
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        if isinstance(index, slice):
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            time.sleep(1.5)
        return np.ones((10, 3))[0 if isinstance(index, int) else slice(None)]

begun = time.monotonic()
try:
    Dataset(Slow(), label=np.ones(1000)).construct()
except KeyboardInterrupt:
    print(time.monotonic() - begun)
"""
SCRIPTS = {"test_control_c_ends_a_slow_batch": lambda: (SLOW,)}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_control_c_ends_a_slow_batch(done):
    assert done.returncode == 0, done.stderr
    assert 0.2 <= float(done.stdout) < 1.2
