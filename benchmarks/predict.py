"""How long does it take to predict a million rows, one row, and data frames?"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
from adapters import EQUAL, make
from data import dense_binary
from measure import alternate, best_of, fresh, parser, relative, report, summary, table

# Rows predicted at once, and the unit of time to print.
BATCHES = {"all rows": (None, 1.0, "s"), "one row": (1, 1e-6, "µs")}


# Data frames of 10 trees: what it costs to read them. At most so many values.
FRAMES = ("pandas", "pandas, single columns", "pandas, mixed", "pandas, categories")
FRAMES += ("polars", "polars, nulls", "pyarrow")
FRAME_ROWS = (1, 2_000, 200_000)
FRAME_COLUMNS = (10, 300, 2_000)
MOST_VALUES = 60_000_000


def data_frame(container: str, n_rows: int, n_columns: int) -> Any:
    """Make a frame of random numbers; of four dtypes, or with categories, if asked."""
    rng = np.random.default_rng(n_columns)
    library, _, kind = container.partition(", ")

    def column(j: int) -> Any:
        values = rng.normal(size=n_rows)
        if kind in ("mixed", "categories"):
            dtypes = {1: np.float32, 2: np.int64, 3: np.bool_}
            values = (4 * values).astype(dtypes.get(j % 4, np.float64))
        if kind == "categories" and j % 5 == 0:
            words = [f"word {i}" for i in range(20)]
            return pd.Categorical.from_codes(rng.integers(-1, 20, n_rows), words)
        if kind == "nulls":
            return pl.Series(values).set(pl.Series(values > 1), None)
        return values

    columns = {f"x{j}": column(j) for j in range(n_columns)}
    if library == "pandas":
        return pd.DataFrame(columns, copy=kind != "single columns")
    return pl.DataFrame(columns) if library == "polars" else pyarrow.table(columns)


def frame_burst(
    library: str, container: str, n_rows: int, n_columns: int, budget: float
) -> float:
    """Fit on 1000 rows of a data frame, return the best time of predict."""
    X = data_frame(container, 1000, n_columns)
    y = np.random.default_rng(0).normal(size=len(X))
    model = make(library, "regression", {**EQUAL, "n_estimators": 10, "n_jobs": 1})
    model.fit(X, y)
    asked = data_frame(container, n_rows, n_columns)
    return best_of(lambda: model.predict(asked), budget)


def frame_table(libraries: list[str], repeats: int, budget: float) -> str:
    """Measure data frames of all shapes."""
    rows = []
    for n_columns, n_rows in product(FRAME_COLUMNS, FRAME_ROWS):
        if n_rows * n_columns > MOST_VALUES:
            continue
        for container in FRAMES:
            options = (container, n_rows, n_columns, budget)
            jobs = {
                library: partial(fresh, frame_burst, library, *options, threads=1)
                for library in libraries
            }
            times = alternate(jobs, repeats)
            for library in libraries:
                cost = summary(times[library], 1e-3)
                ratio = relative(times, library)
                rows.append([n_columns, n_rows, container, library, cost, ratio])
    header = ["columns", "rows", "container", "library", "ms: best (median of turns)"]
    return table([*header, "lightgbm / it"], rows)


def burst(
    library: str, batch: str, container: str, scale: float, threads: int, budget: float
) -> float:
    """Fit on a part of the rows, return the best time of predict_proba."""
    problem = dense_binary(scale)
    parameters = {**EQUAL, "n_jobs": threads}
    X = problem.X[: problem.n_train]
    if container == "pandas":
        X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    n_fit = min(len(X), 50_000)
    model = make(library, "binary", parameters).fit(X[:n_fit], problem.y[:n_fit])
    asked = X[: BATCHES[batch][0]]
    return best_of(lambda: model.predict_proba(asked), budget)


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__)
    line.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    line.add_argument("--budget", type=float, default=1.0, help="seconds a turn")
    line.add_argument("--frames", action="store_true", help="data frames only")
    asked = line.parse_args()
    if asked.frames:
        made = frame_table(asked.libraries, asked.repeats, asked.budget)
        report("Predict data frames, 10 trees, 1 thread", asked.libraries, made)
        return
    rows = []
    for batch, (_, unit, name) in BATCHES.items():
        for container in ("ndarray", "pandas"):
            for threads in asked.threads:
                options = (batch, container, asked.scale, threads, asked.budget)
                jobs = {
                    library: partial(fresh, burst, library, *options, threads=threads)
                    for library in asked.libraries
                }
                times = alternate(jobs, asked.repeats)
                for library in asked.libraries:
                    cost = f"{summary(times[library], unit)} {name}"
                    ratio = relative(times, library)
                    rows.append([batch, container, threads, library, cost, ratio])
    header = ["rows", "container", "threads", "library", "best (median of turns)"]
    title = f"Predict {int(1_000_000 * asked.scale):,} x 28, 100 trees"
    report(title, asked.libraries, table([*header, "lightgbm / it"], rows))


if __name__ == "__main__":
    main()
