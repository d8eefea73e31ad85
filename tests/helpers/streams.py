"""A table, and sources that stream it."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss import Dataset, train
from skgoss.sources import source

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


# --- Fixtures ------------------------------------------------------------------------


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


# Many batches by day, one batch at night.
few_or_many_batches = pytest.mark.parametrize(
    "batch_values",
    [997 * 24, pytest.param(1 << 21, marks=pytest.mark.nightly)],
    indirect=True,
)
