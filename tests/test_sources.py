"""Rows that are read in batches give the bits of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss import Dataset, LGBMClassifier, Sequence, train
from skgoss.data import sources

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
    monkeypatch.setattr(sources, "BATCH_VALUES", request.param)


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


def test_labels_of_words(folder):
    words = np.array(["no", "yes"])[(VALUES["y"] > 1).astype(int)]
    table = X.append_column("y", pyarrow.array(words))
    model = LGBMClassifier(n_estimators=3).fit(dataset.dataset(table), "y")
    expected = LGBMClassifier(n_estimators=3).fit(X, words)
    assert list(model.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
