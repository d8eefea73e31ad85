"""Arrow data sets and Parquet files: their columns, partitions and damages."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss import Dataset, LGBMRegressor

pyarrow = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
parquet = pytest.importorskip("pyarrow.parquet")
from helpers import streams  # noqa: E402
from helpers.streams import TABLE, VALUES, N, X, as_text  # noqa: E402

batch_values = streams.batch_values
folder = streams.folder


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


@pytest.mark.parametrize("at", [1, 2, 3])
def test_what_interrupts_a_reader_is_raised(at):
    """At the count of the rows, which the user's thread makes, and in each pass."""
    opened = []

    def batches(number):
        yield from TABLE.to_batches(max_chunksize=N // 2)[:1]
        if number == at:
            raise KeyboardInterrupt
        yield from TABLE.to_batches(max_chunksize=N // 2)[1:]

    def reader():
        opened.append(1)
        return pyarrow.RecordBatchReader.from_batches(
            TABLE.schema, batches(len(opened) - 1)
        )

    with pytest.raises(KeyboardInterrupt):
        LGBMRegressor(n_estimators=2).fit(reader, "y")
    assert len(opened) == at + 1


def test_unknown_columns(folder):
    for fields, message in (
        ({"label": "z"}, "data has no column 'z'"),
        ({"label": "y", "weight": "ww"}, "data has no column 'ww'"),
        ({"label": "y", "group": "flag"}, "those of column 'flag' are not"),
    ):
        with pytest.raises(ValueError, match=message):
            Dataset(folder, **fields).construct()


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
