"""How long does it take to bin Parquet files, and how much memory, in batches?"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import (
    Failed,
    alternate,
    attempt,
    parser,
    peak_extra,
    report,
    seconds,
    table,
)

# Rows of a file, which are also those of its row group.
FILE_ROWS = 1_000_000


def write(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write a folder of Parquet files of float32 values with a label."""
    import pyarrow
    from pyarrow import parquet

    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        rng = np.random.default_rng(number)
        size = (min(FILE_ROWS, n_rows - start), n_columns)
        values = rng.standard_normal(size, dtype=np.float32)
        label = values[:, 0] + values[:, 1] * values[:, 2]
        columns = {f"x{j}": values[:, j] for j in range(n_columns)}
        rows = pyarrow.table(columns | {"label": label})
        parquet.write_table(rows, folder / f"{number:04}.parquet")


def in_memory(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read all values into one array."""
    from pyarrow import dataset

    rows = dataset.dataset(folder, format="parquet")
    names = rows.schema.names[:-1]
    values = np.empty((rows.count_rows(), len(names)), dtype=np.float32)
    label, start = np.empty(len(values), dtype=np.float32), 0
    for batch in rows.to_batches(batch_readahead=1, fragment_readahead=1):
        stop = start + batch.num_rows
        for j, name in enumerate(names):
            values[start:stop, j] = batch.column(name).to_numpy()
        label[start:stop] = batch.column("label").to_numpy()
        start = stop
    return values, label


def skgoss_streamed(folder: Path, threads: int) -> Any:
    """Bins of skgoss, straight from the files."""
    from skgoss import Dataset

    return Dataset(folder, label="label", params={"n_jobs": threads}).construct()


def skgoss_memory(folder: Path, threads: int) -> Any:
    """Bins of skgoss, from an array."""
    from skgoss import Dataset

    values, label = in_memory(folder)
    return Dataset(values, label=label, params={"n_jobs": threads}).construct()


def lightgbm_sequence(folder: Path, threads: int) -> Any:
    """Bins of LightGBM, from a `lightgbm.Sequence` for each file."""
    import lightgbm
    from pyarrow import parquet

    class Rows(lightgbm.Sequence):
        batch_size = 65536

        def __init__(self, path: Path) -> None:
            self.file = parquet.ParquetFile(path)
            self.values: np.ndarray | None = None

        def __len__(self) -> int:
            return self.file.metadata.num_rows

        def __getitem__(self, index: Any) -> np.ndarray:
            # A row cannot be read alone, so the file that is in use is kept.
            global _in_use  # noqa: PLW0603
            if _in_use is not self:
                if _in_use is not None:
                    _in_use.values = None
                rows = self.file.read()
                columns = [c.to_numpy() for c in rows.columns[:-1]]
                # LightGBM takes no other type.
                self.values = np.stack(columns, axis=1).astype(np.float64)
                _in_use = self
            return self.values[index]

    paths = sorted(folder.iterdir())
    label = np.concatenate(
        [
            parquet.read_table(path, columns=["label"])["label"].to_numpy()
            for path in paths
        ]
    )
    params = {"num_threads": threads, "verbose": -1}
    return lightgbm.Dataset([*map(Rows, paths)], label, params=params).construct()


_in_use: Any = None


def lightgbm_memory(folder: Path, threads: int) -> Any:
    """Bins of LightGBM, from an array."""
    import lightgbm

    values, label = in_memory(folder)
    params = {"num_threads": threads, "verbose": -1}
    return lightgbm.Dataset(values, label, params=params).construct()


def xgboost_external(folder: Path, threads: int) -> Any:
    """Bins of XGBoost, from an iterator of files, on disk."""
    import xgboost
    from pyarrow import parquet

    class Files(xgboost.DataIter):
        def __init__(self) -> None:
            self.paths: Iterator[Path] = iter(())
            super().__init__(cache_prefix=str(Path(tempfile.mkdtemp()) / "cache"))

        def reset(self) -> None:
            self.paths = iter(sorted(folder.iterdir()))

        def next(self, input_data: Callable[..., Any]) -> bool:
            path = next(self.paths, None)
            if path is None:
                return False
            rows = parquet.read_table(path)
            values = np.stack([c.to_numpy() for c in rows.columns[:-1]], axis=1)
            input_data(data=values, label=rows["label"].to_numpy())
            return True

    return xgboost.ExtMemQuantileDMatrix(Files(), nthread=threads, max_bin=255)


KINDS = {
    "skgoss, in batches": skgoss_streamed,
    "skgoss, from memory": skgoss_memory,
    "lightgbm, Sequence": lightgbm_sequence,
    "lightgbm, from memory": lightgbm_memory,
    "xgboost, external memory": xgboost_external,
}


def measure(kind: str, folder: Path, threads: int, n_rounds: int) -> tuple[float, ...]:
    """Return seconds, of processors too, and MB of binning; and seconds of a round."""
    rows: list[Any] = []
    module = kind.partition(",")[0]
    __import__(module)
    __import__("pyarrow.dataset")
    start = time.process_time()
    wall, memory = peak_extra(lambda: rows.append(KINDS[kind](folder, threads)))
    used = time.process_time() - start
    return wall, used, memory, _round(module, rows[0], threads, n_rounds)


def _round(module: str, rows: Any, threads: int, n_rounds: int) -> float:
    """Return the seconds of a round: what more rounds take, after a first one."""
    if n_rounds == 0:
        return float("nan")
    if module == "xgboost":
        import xgboost

        train: Callable[..., Any] = xgboost.train
        params: dict[str, Any] = {"nthread": threads, "max_bin": 255}
        params |= {"max_leaves": 31, "grow_policy": "lossguide"}
    else:
        train = __import__(module).train
        params = {"num_leaves": 31, "num_threads": threads, "verbose": -1}
    # The first fit also packs the bins.
    train(params, rows, 1)
    first = seconds(lambda: train(params, rows, 1))
    return (seconds(lambda: train(params, rows, 1 + n_rounds)) - first) / n_rounds


def main() -> None:
    """Read the command line, write the files, measure, print."""
    libraries = ("skgoss", "lightgbm", "xgboost")
    line = parser(__doc__, libraries, libraries)
    line.add_argument("--rows", type=int, default=20_000_000)
    line.add_argument("--columns", type=int, default=28)
    line.add_argument("--jobs", type=int, default=2, help="threads")
    line.add_argument("--rounds", type=int, default=10, help="rounds that are timed")
    line.add_argument("--folder", type=Path, help="where such files are already")
    line.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    asked = line.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = asked.folder or Path(name)
        if asked.folder is None:
            write(folder, asked.rows, asked.columns)
        jobs = {
            kind: partial(attempt, measure, kind, folder, asked.jobs, asked.rounds)
            for kind in asked.kinds
            if kind.partition(",")[0] in asked.libraries
        }
        found = alternate(jobs, asked.repeats)
    rows = []
    for kind, runs in found.items():
        done = [run for run in runs if not isinstance(run, Failed)]
        if not done:
            rows.append([kind, runs[0].reason, "", "", ""])
            continue
        wall, used, memory, of_round = np.min(done, axis=0)
        times = [f"{wall:.1f}", f"{used:.1f}"]
        rows.append([kind, *times, f"{memory:.0f}", f"{of_round:.2f}"])
    size = asked.rows * asked.columns / 1e6
    title = (
        f"{asked.rows} x {asked.columns}: values {4 * size:.0f} MB, bins {size:.0f} MB"
    )
    header = ["", "s to bins", "s of processors", "peak in MB", "s a round"]
    report(title, asked.libraries, table(header, rows))


if __name__ == "__main__":
    main()
