"""Rows that are read in batches give the bits of the same rows in memory."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from skgoss import (
    Dataset,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    Sequence,
    cv,
    train,
)
from skgoss.sources import arrow_sources, memory, source

pyarrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")

N = 6000
PARAMS = {"num_leaves": 15, "subsample_for_bin": 2000, "max_bin": 63, "verbose": -1}


def make_table(n=N, seed=0):
    """Numbers of several types, missing values, sparse columns, strings."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    x[rng.random(n) < 0.1, 1] = np.nan
    words = np.array([f"w{i}" for i in range(40)])
    # New words come up late.
    word = words[(rng.random(n) * np.linspace(2, 40, n)).astype(int)]
    one_hot = rng.integers(0, 12, n)
    columns = {
        "a": x[:, 0],
        "b": x[:, 1],
        "c": x[:, 2].astype(np.float64),
        "count": rng.integers(0, 300, n),
        "flag": rng.random(n) < 0.3,
        "word": pyarrow.array(word, mask=rng.random(n) < 0.05),
        "nulls": pyarrow.array(rng.integers(0, 9, n), mask=rng.random(n) < 0.2),
        "rare": np.where(np.arange(n) == n - 1, 1.0, 0.0),
        **{f"hot{k}": (one_hot == k).astype(np.float32) for k in range(12)},
        **{f"sparse{k}": rng.normal(size=n) * (rng.random(n) < 0.05) for k in range(4)},
    }
    y = x[:, 0] + (word > "w2") + one_hot % 3 + rng.normal(size=n)
    w = rng.integers(0, 3, n).astype(float)
    query = np.repeat(np.arange(n // 20), 20)
    return pyarrow.table(columns | {"y": y, "w": w, "q": query, "start": y * 0.1})


TABLE = make_table()
FEATURES = [name for name in TABLE.schema.names if name not in ("y", "w", "q", "start")]
X = TABLE.select(FEATURES)
VALUES = {name: TABLE[name].to_numpy() for name in ("y", "w", "q", "start")}


@pytest.fixture(autouse=True, params=[997 * 24, 1 << 21])
def batch_values(request, monkeypatch):
    monkeypatch.setattr(source, "BATCH_VALUES", request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    for number, start in enumerate([0, 1000, 1500, 4000]):
        stop = [1000, 1500, 4000, N][number]
        parquet.write_table(
            TABLE.slice(start, stop - start),
            path / f"{number}.parquet",
            row_group_size=700,
        )
    return path


class Rows(Sequence):
    batch_size = 100

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def as_text(data, params=PARAMS, **fields):
    rows = data if isinstance(data, Dataset) else Dataset(data, **fields)
    return train(params, rows, 5).model_to_string()


SOURCES = {
    "folder": lambda path: path,
    "str": str,
    "pattern": lambda path: f"{path}/*.parquet",
    "files": lambda path: sorted(path.iterdir()),
    "dataset": lambda path: dataset.dataset(path),
    "datasets": lambda path: [dataset.dataset(file) for file in sorted(path.iterdir())],
    "memory": lambda path: dataset.dataset(TABLE),
    "lazy": lambda path: polars.scan_parquet(path / "*.parquet"),
    "reader": lambda path: lambda: TABLE.to_reader(max_chunksize=800),
    "filtered": lambda path: dataset.dataset(path).filter(dataset.field("a") < 100),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_sources_have_the_bits_of_memory(folder, kind):
    fields = {"label": "y", "weight": "w", "init_score": "start"}
    streamed = Dataset(SOURCES[kind](folder), **fields)
    names = [*FEATURES, "q"]
    in_memory = Dataset(
        TABLE.select(names), **{field: VALUES[name] for field, name in fields.items()}
    )
    assert as_text(streamed) == as_text(in_memory)
    assert streamed.num_data() == N
    assert streamed.get_feature_name() == names
    np.testing.assert_array_equal(streamed.get_label(), VALUES["y"])


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"n_jobs": 2},
        {"enable_bundle": False},
        {"is_enable_sparse": False},
        {"max_conflict_rate": 0.1},
        {"zero_as_missing": True},
        {"use_missing": False},
        {"data_sample_strategy": "goss"},
        {"subsample_for_bin": N},
        {"max_bin": 1000, "min_data_in_bin": 1},
        {"min_data_in_leaf": 1, "max_bin_by_feature": [20] * len(FEATURES)},
        {"categorical_feature": ["count", "nulls", "word"]},
    ],
)
def test_options_have_the_bits_of_memory(params):
    options = PARAMS | params
    source = dataset.dataset(X.to_batches(max_chunksize=450))
    streamed = Dataset(source, label=VALUES["y"], weight=VALUES["w"])
    in_memory = Dataset(X, label=VALUES["y"], weight=VALUES["w"])
    assert as_text(streamed, options) == as_text(in_memory, options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
def test_arrays_and_memory_maps(tmp_path, dtype):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(N, 6)) * (rng.random((N, 6)) < [1, 1, 1, 0.1, 0.1, 0.1])
    rows = (rows * (100 if dtype is np.int64 else 1)).astype(dtype)
    path = tmp_path / "rows.npy"
    np.save(path, rows)
    y = rows.sum(axis=1) + rng.normal(size=N)
    expected = as_text(rows, label=y)
    for data in (
        np.load(path, mmap_mode="r"),
        Rows(rows),
        [Rows(rows[:100]), rows[100:1000], Rows(rows[1000:])],
        np.asfortranarray(rows)[:0:-1][::-1] if False else [rows[:3], rows[3:]],
    ):
        assert as_text(data, label=y) == expected


def test_queries_by_name(folder):
    params = PARAMS | {"objective": "lambdarank"}
    labels = np.clip(np.rint(VALUES["y"]), 0, 4)
    table = X.append_column("q", TABLE["q"]).append_column("y", pyarrow.array(labels))
    streamed = Dataset(dataset.dataset(table), label="y", group="q")
    in_memory = Dataset(X, label=labels, group=np.full(N // 20, 20))
    assert as_text(streamed, params) == as_text(in_memory, params)
    np.testing.assert_array_equal(streamed.get_group(), np.full(N // 20, 20))


def test_evaluation_sets(folder):
    valid = make_table(900, seed=1)
    streamed = Dataset(folder, label="y", weight="w")
    results = []
    for train_set, valid_set in (
        (streamed, Dataset(dataset.dataset(valid), label="y", weight="w")),
        (
            Dataset(TABLE.drop(["y", "w"]), label=VALUES["y"], weight=VALUES["w"]),
            Dataset(
                valid.drop(["y", "w"]),
                label=valid["y"].to_numpy(),
                weight=valid["w"].to_numpy(),
            ),
        ),
    ):
        evals = {}
        from skgoss import record_evaluation

        train(
            PARAMS,
            train_set,
            5,
            valid_sets=[valid_set],
            callbacks=[record_evaluation(evals)],
        )
        results.append(evals)
    assert results[0] == results[1]


def test_partitions_are_columns(tmp_path):
    table = X.append_column("y", TABLE["y"])
    keys = pyarrow.array(np.resize(["x", "y", "z"], N))
    table = table.append_column("region", keys)
    parquet.write_to_dataset(table, tmp_path, partition_cols=["region"])
    whole = dataset.dataset(tmp_path, partitioning="hive").to_table()
    expected = as_text(whole.drop(["y"]), label=whole["y"].to_numpy())
    assert as_text(str(tmp_path), label="y") == expected


def test_readers_that_can_be_read_only_once_are_refused():
    model = LGBMRegressor(n_estimators=2).fit(X, VALUES["y"])
    reader = TABLE.to_reader()
    for use in (
        lambda: Dataset(reader, label="y").construct(),
        lambda: LGBMRegressor().fit(reader, "y"),
        lambda: LGBMRegressor().fit(reader, VALUES["y"]),
        lambda: model.predict(reader),
    ):
        with pytest.raises(ValueError, match="Pass a function without arguments that"):
            use()
    assert reader.read_all().num_rows == N  # nothing was read


def test_labels_of_words(folder):
    words = np.array(["no", "yes"])[(VALUES["y"] > 1).astype(int)]
    table = X.append_column("y", pyarrow.array(words))
    model = LGBMClassifier(n_estimators=3).fit(dataset.dataset(table), "y")
    expected = LGBMClassifier(n_estimators=3).fit(X, words)
    assert list(model.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("missing", [slice(0, 90), slice(60, 150), slice(0, 200)])
def test_a_column_may_be_missing_in_some_batches(tmp_path, monkeypatch, missing):
    """Its categories are those of the other batches, if there are any."""
    monkeypatch.setattr(source, "BATCH_VALUES", 2 * 30)
    word = np.array(["a", "b", "c"], dtype=object)[np.arange(200) * 7 % 3]
    y = np.arange(200) % 11 + 5.0 * (word == "b")
    word[missing] = None
    data = {"x": np.arange(200.0) % 11, "word": pyarrow.array(word, pyarrow.string())}
    table = pyarrow.table(data)
    for first in (0, 100):
        parquet.write_table(table.slice(first, 100), tmp_path / f"{first:03}.parquet")
    streamed = Dataset(tmp_path, label=y)
    assert as_text(streamed) == as_text(table, label=y)


@pytest.mark.parametrize("kind", SOURCES)
def test_predictions_in_batches(folder, tmp_path, kind):
    model = LGBMRegressor(n_estimators=3).fit(X, VALUES["y"])
    rows = SOURCES[kind](folder)
    for options in ({}, {"pred_contrib": True}, {"pred_leaf": True}):
        expected = model.predict(X, **options)
        np.testing.assert_array_equal(model.predict(rows, **options), expected)
        booster = model.booster_
        np.testing.assert_array_equal(booster.predict(rows, **options), expected)
    path = tmp_path / "predictions.parquet"
    assert model.predict(rows, to_parquet=path) is None
    found = parquet.read_table(path)["prediction"].to_numpy()
    np.testing.assert_array_equal(found, model.predict(X))


def test_classes_are_predicted_in_batches(folder, tmp_path):
    labels = np.array(["low", "high", "top"])[np.digitize(VALUES["y"], [0, 2])]
    model = LGBMClassifier(n_estimators=3).fit(X, labels)
    path = tmp_path / "classes.parquet"
    for method in ("predict", "predict_proba", "decision_function"):
        predict = getattr(model, method)
        np.testing.assert_array_equal(predict(folder), predict(X))
    model.predict(X, to_parquet=path)
    assert (
        parquet.read_table(path)["prediction"].to_pylist() == model.predict(X).tolist()
    )
    model.predict_proba(folder, to_parquet=path)
    names = [f"prediction_{j}" for j in range(3)]
    assert parquet.read_table(path).column_names == names


def test_estimators_take_columns_by_name(folder):
    valid = dataset.dataset(make_table(900, seed=1))
    model = LGBMRegressor(n_estimators=3)
    model.fit(folder, "y", sample_weight="w", eval_set=[(valid, "y")])
    expected = LGBMRegressor(n_estimators=3)
    rows = Dataset(TABLE.drop(["y", "w"]), label=VALUES["y"], weight=VALUES["w"])
    expected.fit(rows)
    assert model.n_features_in_ == len(FEATURES) + 2
    np.testing.assert_array_equal(model.predict(valid), expected.predict(valid))
    assert "l2" in model.evals_result_["valid_0"]
    ranker = LGBMRanker(n_estimators=2, label_gain=list(range(99)))
    labels = pyarrow.array(np.clip(np.rint(VALUES["y"]), 0, 4).astype(int))
    table = X.append_column("q", TABLE["q"]).append_column("y", labels)
    ranker.fit(dataset.dataset(table), "y", qid="q")
    again = LGBMRanker(n_estimators=2, label_gain=list(range(99)))
    again.fit(X, labels.to_numpy(), qid=VALUES["q"])
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))


# --- What goes wrong ------------------------------------------------------------------


def test_unknown_columns(folder):
    for fields in ({"label": "z"}, {"label": "y", "weight": "ww"}):
        with pytest.raises(ValueError, match=r"data has no column 'z|'ww'"):
            Dataset(folder, **fields).construct()
    with pytest.raises(ValueError, match=r"column 'q' +are not|'flag'"):
        Dataset(folder, label="y", group="flag").construct()


def test_files_with_other_columns(folder, tmp_path):
    parquet.write_table(TABLE, tmp_path / "0.parquet")
    for other, match in (
        (TABLE.drop(["c"]), "1.parquet: the column 'c' is missing in this file"),
        (
            TABLE.set_column(0, "a", TABLE["a"].cast(pyarrow.float64())),
            "the column 'a' is of type double in this file, but of type float",
        ),
        (TABLE.append_column("new", TABLE["a"]), "the column 'new' is of type float"),
    ):
        parquet.write_table(other, tmp_path / "1.parquet")
        with pytest.raises(ValueError, match=match):
            Dataset(tmp_path, label="y").construct()
    assert Dataset(dataset.dataset(tmp_path), label="y").construct().num_data() == 2 * N


def test_a_damaged_file_is_named_with_its_row_group(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(TABLE.select(["a", "c", "y"]), path, row_group_size=1000)
    good = path.read_bytes()
    group = parquet.ParquetFile(path).metadata.row_group(2).column(1)
    start = group.dictionary_page_offset or group.data_page_offset
    damaged = bytearray(good)
    damaged[start : start + 40] = bytes(40)
    path.write_bytes(damaged)
    rows = Dataset(path, label="y")
    with pytest.raises((ValueError, OSError), match=r"rows\.parquet, row group 2: "):
        rows.construct()
    path.write_bytes(good)
    assert rows.construct().num_data() == N


def test_a_file_that_changes_is_an_error(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(TABLE.select(["a", "c", "y"]), path)
    rows = Dataset(path, label="y")
    rows.num_data()
    parquet.write_table(TABLE.select(["a", "c", "y"]).slice(1), path)
    with pytest.raises(ValueError, match=r"rows\.parquet: the file has changed"):
        rows.construct()


def test_rows_that_change_are_an_error():
    orders = iter([TABLE, TABLE, TABLE, TABLE.take(np.arange(N)[::-1])])
    rows = Dataset(lambda: next(orders).to_reader(), label="y")
    with pytest.raises(ValueError, match="column 'y' has other values than before"):
        rows.construct()
    lengths = iter([N, N, 50])
    rows = Dataset(lambda: X.slice(0, next(lengths)).to_reader(), label=VALUES["y"])
    with pytest.raises(
        ValueError, match="fewer rows than before: 6000 were counted, 50"
    ):
        rows.construct()


def test_a_batch_that_fails_is_named_and_the_set_can_be_used_again():
    values = np.random.default_rng(0).normal(size=(500, 3))

    class Failing(Rows):
        fails = True

        def __getitem__(self, index):
            if isinstance(index, slice) and index.start == 300 and self.fails:
                raise KeyError("the network is down")
            return super().__getitem__(index)

    data = Failing(values)
    rows = Dataset(data, label=values[:, 0])
    with pytest.raises(KeyError) as caught:
        rows.construct()
    assert caught.value.__notes__ == ["while reading Chunk 0 of data, rows 300 to 399"]
    data.fails = False
    assert rows.construct().num_data() == 500


def test_values_in_memory_are_not_there(folder):
    with pytest.raises(ValueError, match=r"linear_tree needs the values of all rows"):
        train({"linear_tree": True, "verbose": -1}, Dataset(folder, label="y"), 2)
    with pytest.raises(ValueError, match=r"data are read in batches"):
        train({"linear_tree": True}, Dataset(folder, label=VALUES["y"]), 2)
    model = train(PARAMS, Dataset(folder, label="y"), 2)
    with pytest.raises(ValueError, match="init_model needs the values"):
        train(PARAMS, Dataset(folder, label="y"), 2, init_model=model)
    estimator = LGBMRegressor(n_estimators=2).fit(folder, "y")
    for method in (
        *(estimator.staged_predict, estimator.explain, model.explain),
        lambda path: model.refit(path, VALUES["y"]),
    ):
        with pytest.raises(ValueError, match="data are read in batches"):
            method(folder)
    with pytest.raises(ValueError, match="data must have a row"):
        Dataset(dataset.dataset(TABLE.slice(0, 0)), label="y").construct()
    with pytest.raises(FileNotFoundError, match=r"no-file\.parquet"):
        Dataset("no-file.parquet").construct()


def test_columns_are_added(folder):
    kept = {"free_raw_data": False}
    one = Dataset(dataset.dataset(TABLE.select(["a", "y"])), label="y", **kept)
    one.add_features_from(Dataset(dataset.dataset(TABLE.select(["b", "c"])), **kept))
    columns = TABLE.select(["a", "b", "c"])
    both = train({}, Dataset(columns, label=VALUES["y"]), 3)
    np.testing.assert_array_equal(
        train({}, one, 3).predict(columns), both.predict(columns)
    )


def test_bins_are_read_again_for_other_options(folder):
    rows = Dataset(folder, label="y", free_raw_data=False)
    first = as_text(rows, {"max_bin": 15})
    assert as_text(rows, {"max_bin": 31}) != first
    copied = pickle.loads(pickle.dumps(rows))
    assert as_text(copied, {"max_bin": 15}) == first
    assert as_text(rows.subset(np.arange(3000))) != first


# --- Bins on disk ---------------------------------------------------------------------


def test_bins_on_disk_have_the_bits_of_memory(folder, tmp_path):
    for params in (PARAMS, PARAMS | {"max_bin": 1000, "min_data_in_bin": 1}):
        on_disk = Dataset(folder, label="y", memory_map=tmp_path)
        in_memory = Dataset(folder, label="y")
        assert as_text(on_disk, params) == as_text(in_memory, params)
    assert isinstance(on_disk._binned.storage.rows, np.memmap)
    assert list(tmp_path.iterdir()) == []


def test_subsets_and_folds_of_bins_on_disk_lie_there(folder, tmp_path, monkeypatch):
    rows = np.arange(0, N, 3)
    on_disk = Dataset(folder, label="y", memory_map=tmp_path)
    in_memory = Dataset(folder, label="y")
    part = on_disk.subset(rows)
    train(PARAMS, on_disk, 1)
    made, reserve = [], memory._reserve
    monkeypatch.setattr(
        memory, "_reserve", lambda *args: made.append(args[1]) or reserve(*args)
    )
    assert as_text(part) == as_text(in_memory.subset(rows))
    arrays = part._binned.storage.store.arrays
    assert {arrays.bytes.nbytes, arrays.shorts.nbytes} - {0} <= {*made}
    assert isinstance(part._binned.storage.rows, np.memmap)
    results = [cv(PARAMS, data, 2, nfold=2) for data in (on_disk, in_memory)]
    assert results[0] == results[1]


def test_bins_larger_than_memory_are_told(folder, tmp_path, monkeypatch):
    assert memory.memory_limit() > 1 << 27
    group, none = tmp_path / "memory.max", tmp_path / "none"
    for content, is_limit in (("max\n", False), ("12345\n", True)):
        group.write_text(content)
        with monkeypatch.context() as patch:
            patch.setattr(memory, "_limit_files", lambda: [str(none), str(group)])
            assert (memory.memory_limit() == 12345) == is_limit
    for limit, is_told in ((N, True), (1 << 40, False), (None, False)):
        monkeypatch.setattr(memory, "memory_limit", lambda limit=limit: limit)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            train(PARAMS, Dataset(folder, label="y", memory_map=tmp_path), 1)
        told = [w for w in caught if "at the speed of the disk" in str(w.message)]
        assert len(told) == is_told


def test_saved_bins_are_opened_in_their_file(folder, tmp_path):
    dense = ["a", "b", "c", "count", "y"]
    data = dataset.dataset(TABLE.select(dense))
    path = tmp_path / "bins"
    of_bins = {"max_bin": 63, "subsample_for_bin": 2000}
    Dataset(data, label="y", params=of_bins).save_binary(path)
    opened = Dataset(path, memory_map=tmp_path)
    assert (
        as_text(opened) == as_text(Dataset(path)) == as_text(Dataset(data, label="y"))
    )
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(path) in maps.read_text()
    sparse = Dataset(folder, label="y", params=of_bins).save_binary(path)
    assert as_text(Dataset(path, memory_map=tmp_path)) == as_text(sparse)


def test_a_mapped_file_that_is_cut_is_an_error(folder, tmp_path):
    path = tmp_path / "bins"
    data = dataset.dataset(TABLE.select(["a", "b", "c", "y"]))
    Dataset(data, label="y", params={"max_bin": 63}).save_binary(path)
    opened = Dataset(path, memory_map=tmp_path)
    kept = as_text(opened, {"verbose": -1})
    content = path.read_bytes()
    path.rename(tmp_path / "moved")  # the map remains
    path.write_bytes(content[:99])
    assert as_text(opened, {"verbose": -1}) == kept
    os.truncate(tmp_path / "moved", 4096)
    (tmp_path / "moved").replace(path)
    with pytest.raises(ValueError, match=r"bins: the file has changed since it was"):
        as_text(opened, {"verbose": -1})
    with pytest.raises(ValueError, match="bins: the file has changed since"):
        as_text(opened.subset(np.arange(100)), {"verbose": -1})
    rows = tmp_path / "rows.npy"
    np.save(rows, np.random.default_rng(0).normal(size=(N, 4)))
    cut = Dataset(np.load(rows, mmap_mode="r"), label=VALUES["y"])
    assert cut.num_data() == N
    os.truncate(rows, 4096)
    with pytest.raises(ValueError, match=r"rows\.npy: the file has changed since"):
        cut.construct()


def test_text_in_batches(tmp_path):
    path = tmp_path / "rows.csv"
    polars.from_arrow(TABLE.select(["a", "c", "count", "y"])).write_csv(path)
    whole = polars.read_csv(path)
    expected = as_text(whole.drop("y"), label=whole["y"].to_numpy())
    assert as_text(polars.scan_csv(path), label="y") == expected
    assert as_text(dataset.dataset(path, format="csv"), label="y") == expected


def test_a_full_disk_is_an_error(folder, tmp_path, monkeypatch):
    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    rows = Dataset(folder, label="y", memory_map=tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(memory, "_reserve", fail)
        with pytest.raises(OSError, match="No space left"):
            rows.construct()
    assert rows.construct().num_data() == N
    with pytest.raises(FileNotFoundError, match="memory_map must be a folder"):
        Dataset(folder, memory_map=tmp_path / "none")
    with pytest.raises(ValueError, match="memory_map is for data that are read in"):
        Dataset(np.eye(3), label=[1, 2, 3], memory_map=tmp_path).construct()


# --- Progress and interruption --------------------------------------------------------


def test_reads_are_shown_if_asked(folder, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("skgoss.fit.callbacks.SHORT_FIT", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    train({"verbose": 1}, Dataset(folder, label="y"), 1)
    assert "rows read" in capsys.readouterr().out
    train({"verbose": -1}, Dataset(folder, label="y"), 1)
    assert capsys.readouterr().out == ""


def test_control_c_ends_a_read():
    class Slow(Rows):
        batch_size = 10

        def __getitem__(self, index):
            time.sleep(0.05)
            return super().__getitem__(index)

    rows = Dataset(Slow(np.eye(3)[np.resize([0, 1, 2], 3000)]))
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            rows.construct()
    finally:
        signal.signal(signal.SIGINT, previous)
    assert time.perf_counter() - start < 1.5


def test_wide_files_are_read_in_linear_time():
    """A batch of 8 times as many columns takes about 8 times as long, and not 64."""

    def seconds(n_columns):
        names = [f"x{j}" for j in range(n_columns)]
        batch = pyarrow.record_batch([pyarrow.array([1.0])] * n_columns, names=names)
        times = []
        for _ in range(5):
            start = time.process_time()
            arrow_sources._conformed(batch, batch.schema, {})
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(8000) < 24 * seconds(1000)
