"""Rows that are read several times must be the same each time."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from skgoss import Dataset, train

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
from helpers import streams  # noqa: E402
from helpers.sequences import Rows  # noqa: E402
from helpers.streams import TABLE, as_text  # noqa: E402

batch_values = streams.batch_values
folder = streams.folder


def test_a_file_that_changes_is_an_error(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(TABLE.select(["a", "c", "y"]), path)
    rows = Dataset(path, label="y")
    rows.num_data()
    parquet.write_table(TABLE.select(["a", "c", "y"]).slice(1), path)
    with pytest.raises(ValueError, match=r"rows\.parquet: the file has changed"):
        rows.construct()


def test_a_batch_that_fails_is_named_and_the_set_can_be_used_again():
    values = np.random.default_rng(0).normal(size=(500, 3))

    class Failing(Rows):
        fails = True

        def __getitem__(self, index):
            if isinstance(index, slice) and index.start == 300 and self.fails:
                raise KeyError("the network is down")
            return super().__getitem__(index)

    data = Failing(values, 100)
    rows = Dataset(data, label=values[:, 0])
    with pytest.raises(KeyError) as caught:
        rows.construct()
    assert caught.value.__notes__ == ["while reading Chunk 0 of data, rows 300 to 399"]
    data.fails = False
    assert rows.construct().num_data() == 500


def test_bins_are_read_again_for_other_options(folder):
    rows = Dataset(folder, label="y", free_raw_data=False)
    first = as_text(rows, {"max_bin": 15})
    assert as_text(rows, {"max_bin": 31}) != first
    copied = pickle.loads(pickle.dumps(rows))
    assert as_text(copied, {"max_bin": 15}) == first
    assert as_text(rows.subset(np.arange(3000))) != first


def test_reads_are_shown_if_asked(folder, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("skgoss.fit.callbacks.SHORT_FIT", -1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    train({"verbose": 1}, Dataset(folder, label="y"), 1)
    assert "rows read" in capsys.readouterr().out
    train({"verbose": -1}, Dataset(folder, label="y"), 1)
    assert capsys.readouterr().out == ""
