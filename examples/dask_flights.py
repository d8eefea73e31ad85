"""Distributed training with Dask on Parquet files
===============================================

Train on Parquet files with several processes, and get the model of one process.

The script writes the table of `examples/flight_delays.py` to one Parquet file per
month, like data that is too large for one machine. Each worker of a Dask cluster reads
some of the files and bins its rows. Together the workers fit one model. It is the model
that one process would fit on all rows, to the last bit.

Here the cluster is this machine: `Client(n_workers=2)`. For a real cluster, pass the
address of its scheduler, `Client("tcp://...")`. Nothing else changes.

Run `python examples/dask_flights.py`. With `--rows 5000` it takes a few seconds. It
needs `python -m pip install ".[dask,examples]"` and pyarrow.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import dask.dataframe as dd
import matplotlib.pyplot as plt
import pandas as pd
from distributed import Client
from sklearn.metrics import roc_auc_score

from skgoss import LGBMClassifier
from skgoss.dask import DaskLGBMClassifier

FLIGHTS = runpy.run_path(str(Path(sys.argv[0]).with_name("flight_delays.py")))
COLUMNS = FLIGHTS["CATEGORIES"] + FLIGHTS["TIMETABLE"] + FLIGHTS["WEATHER"]
OPTIONS = {"n_estimators": 100, "num_leaves": 31, "cat_smooth": 30, "cat_l2": 1000}


def write(table: pd.DataFrame, folder: Path) -> tuple[str, str]:
    """Write a file for each month; return the paths of past and future ones."""
    for month, rows in table.groupby("month"):
        when = "past" if month < FLIGHTS["FIRST_TEST_MONTH"] else "future"
        rows.to_parquet(folder / f"{when}-{month:02}.parquet")
    return str(folder / "past-*.parquet"), str(folder / "future-*.parquet")


def main() -> None:
    """Write files, start a cluster, fit, compare with a fit in this process."""
    line = argparse.ArgumentParser(description="Train on Parquet files with Dask.")
    line.add_argument("--rows", type=int, help="number of flights to use")
    table = FLIGHTS["flights"](line.parse_args().rows)
    with (
        TemporaryDirectory() as folder,
        Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"),
    ):
        past, future = map(dd.read_parquet, write(table, Path(folder)))
        print(
            f"{past.npartitions} files for training, {future.npartitions} for testing"
        )
        start = time.perf_counter()
        model = DaskLGBMClassifier(**OPTIONS).fit(past[COLUMNS], past["late"])
        print(f"fitted by two workers in {time.perf_counter() - start:.1f} s")
        # Predictions are lazy: each worker predicts its own rows.
        late = model.predict_proba(future[COLUMNS])[:, 1]
        print(f"AUC {roc_auc_score(future['late'].compute(), late.compute()):.4f}")

        local = LGBMClassifier(**OPTIONS).fit(past[COLUMNS].compute(), past["late"])
        texts = [each.booster_.model_to_string() for each in (model, local)]
        print(f"the same model in one process, to the last bit: {texts[0] == texts[1]}")
        draw(future[["origin", "late"]].compute().assign(predicted=late.compute()))


def draw(flights: pd.DataFrame) -> None:
    """Show the late flights of each airport, observed and predicted."""
    ax = flights.groupby("origin").mean().plot.bar(rot=0)
    ax.set(xlabel="", ylabel="share of late flights in November and December")
    plt.show()


if __name__ == "__main__":
    main()
