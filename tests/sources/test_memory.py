"""Bins in memory and on disk."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from skgoss import Dataset, cv, train
from skgoss.sources import memory

pyarrow = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")
from helpers import streams  # noqa: E402
from helpers.streams import PARAMS, TABLE, VALUES, N, as_text  # noqa: E402

batch_values = streams.batch_values
folder = streams.folder


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
        told = [w for w in caught if "by the speed of the disk" in str(w.message)]
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
