"""How long do predictions take: a million rows, one row, data frames, large trees?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
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


# Data frames of 10 trees: the time to read them, for at most this number of values.
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


# Raw scores of models of 100 trees on 28 columns: what trees and values cost.
TREE_LIBRARIES = ("skgoss", "lightgbm")
TREE_KINDS = ("numbers", "missing", "categories")
TREE_ROWS = (1, 2_000, 200_000)
N_COLUMNS, N_CATEGORICAL = 28, 8


def tree_rows(kind: str, n_rows: int) -> tuple[Any, Any]:
    """Random rows; a fifth of the values missing, some columns categories, if asked."""
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2 + rng.normal(size=n_rows)
    if kind != "numbers":
        X[rng.random(X.shape) < 0.2] = np.nan
    if kind == "categories":
        X[:, :N_CATEGORICAL] = rng.zipf(1.5, size=(n_rows, N_CATEGORICAL)).clip(max=200)
    return X, y


def tree_burst(
    library: str, kind: str, n_leaves: int, rows: Sequence[int], budget: float
) -> list[float]:
    """Fit once, return the best time of raw scores for each number of rows."""
    X, y = tree_rows(kind, 100_000)
    options = {**EQUAL, "num_leaves": n_leaves, "n_jobs": 1}
    fitted = "lightgbm" if library == "lleaves" else library
    categorical = list(range(N_CATEGORICAL)) if kind == "categories" else "auto"
    model = make(fitted, "regression", options)
    model.fit(X, y, categorical_feature=categorical)
    if library == "lleaves":
        predict = compiled(model.booster_)
    else:
        predict = partial(model.predict, raw_score=True)
    asked, _ = tree_rows(kind, max(rows))
    return [best_of(partial(predict, asked[:n]), budget) for n in rows]


def compiled(booster: Any) -> Callable[[Any], Any]:
    """Compile a model of LightGBM; this takes minutes."""
    import lleaves

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.txt"
        booster.save_model(path)
        model = lleaves.Model(str(path))
        model.compile(raw_score=True)
    return partial(model.predict, n_jobs=1)


def tree_table(
    libraries: list[str],
    leaves: list[int],
    rows: list[int],
    repeats: int,
    budget: float,
) -> str:
    """Measure raw scores for all kinds of values and sizes of trees."""
    lines = []
    for kind, n_leaves in product(TREE_KINDS, leaves):
        options = (kind, n_leaves, rows, budget)
        jobs = {
            library: partial(fresh, tree_burst, library, *options, threads=1)
            for library in libraries
        }
        found = alternate(jobs, repeats)
        for i, n_rows in enumerate(rows):
            times = {name: [turn[i] for turn in turns] for name, turns in found.items()}
            for library in libraries:
                cost = summary(times[library], 1e-3)
                ratio = relative(times, library)
                lines.append([kind, n_leaves, n_rows, library, cost, ratio])
    header = ["values", "leaves", "rows", "library", "ms: best (median of turns)"]
    return table([*header, "lightgbm / it"], lines)


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
    line.add_argument("--trees", action="store_true", help="sizes of trees only")
    line.add_argument(
        "--leaves", nargs="+", type=int, default=[31, 255], help="of a tree"
    )
    line.add_argument("--rows", nargs="+", type=int, default=TREE_ROWS, help="at once")
    line.add_argument("--lleaves", action="store_true", help="compiled, for minutes")
    asked = line.parse_args()
    if asked.trees:
        asked.libraries = [name for name in TREE_LIBRARIES if name in asked.libraries]
        libraries = [*asked.libraries, *["lleaves"] * asked.lleaves]
        made = tree_table(
            libraries, asked.leaves, asked.rows, asked.repeats, asked.budget
        )
        report("Raw scores, 100 trees, 28 columns, 1 thread", asked.libraries, made)
        return
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
