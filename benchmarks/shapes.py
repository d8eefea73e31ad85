"""How much faster than LightGBM's are fits with other options, and fits with GOSS?

A shape is a problem with the options that make it different. Times are those of whole
fits; with ``--processor`` those of the processor, which other programs disturb less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from adapters import EQUAL, goss, make
from data import SHAPES, Problem, dense_binary, signal
from measure import alternate, digits, fresh, parser, report, summary, table


def regression(n: int, n_columns: int, n_values: int, scale: float) -> Problem:
    """Generate float64 columns of `n_values` values (0: any number), and a target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((int(n * scale), n_columns))
    y = signal(X) + rng.standard_normal(len(X))
    if n_values:
        X = np.clip(np.floor(X * n_values / 5 + n_values / 2), 0, n_values - 1)
    return Problem("regression", X, y)


def tall(scale: float) -> Problem:
    """Generate 3M x 10 float32 and two classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((int(3_000_000 * scale), 10), dtype=np.float32)
    pull = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3:].sum(axis=1) / 2
    y = rng.random(len(X)) < 1 / (1 + np.exp(-pull))
    return Problem("binary", X, y.astype(np.int64))


@dataclass(frozen=True)
class Shape:
    """A problem by its scale, its options, and the fraction of rows evaluated."""

    problem: Callable[[float], Problem]
    options: Mapping[str, Any] = field(default_factory=dict)
    evaluated: float = 0.0


BINARY = partial(dense_binary, n=300_000)
MONOTONE = partial(regression, 300_000, 20, 0)
SHALLOW = {"max_depth": 6, "num_leaves": 64, "reg_alpha": 1.0}
FITS: Mapping[str, Shape] = {
    "monotone, 300k x 20": Shape(MONOTONE, {"monotone_constraints": [1] * 20}),
    "12 values, 500k x 40": Shape(partial(regression, 500_000, 40, 12)),
    "30 values, 500k x 40": Shape(partial(regression, 500_000, 40, 30)),
    "3M x 10": Shape(tall),
    "depth 6, l1, 300k x 28": Shape(BINARY, SHALLOW),
    "1,023 bins, 300k x 28": Shape(BINARY, {"max_bin": 1023}),
    "evaluated, 300k x 28": Shape(BINARY, {}, 0.25),
    "255 leaves, 300k x 28": Shape(BINARY, {"num_leaves": 255}),
}
SAMPLED = ("binary", "one-hot", "ranking")


def once(
    library: str, shape: Shape, scale: float, rounds: int, threads: int, clock: str
) -> float:
    """Fit one model; returns its seconds."""
    problem = shape.problem(scale)
    n_train = problem.n_train or len(problem.y)
    X, y = problem.X[:n_train], problem.y[:n_train]
    options = {**EQUAL, **shape.options, "n_jobs": threads}
    n = int(shape.evaluated * n_train)
    said = {"eval_set": [(X[:n], y[:n])]} if n else {}
    # The first fit of a process pays for imports and for starting threads.
    make(library, problem.task, {**options, "n_estimators": 2}).fit(X[:5000], y[:5000])
    model = make(library, problem.task, {**options, "n_estimators": rounds})
    now = getattr(time, clock)
    start = now()
    model.fit(X, y, **said)
    return now() - start


def ratios(
    jobs: Mapping[str, Mapping[Any, tuple[str, Shape]]], asked: Any
) -> Iterator[list[str]]:
    """Time two fits of each name in turn; yield times and the first by the second."""
    clock = "process_time" if asked.processor else "perf_counter"
    for name, pair in jobs.items():
        for threads in asked.threads:
            sizes = (asked.scale, asked.rounds, threads, clock)
            fits = {
                key: partial(fresh, once, *job, *sizes, threads=threads)
                for key, job in pair.items()
            }
            first, second = alternate(fits, asked.repeats).values()
            ratio = digits(min(first) / min(second))
            yield [name, str(threads), summary(first), summary(second), ratio]


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], ("skgoss", "lightgbm"))
    line.add_argument("--shapes", nargs="+", default=[*FITS, *SAMPLED])
    line.add_argument("--threads", nargs="+", type=int, default=[2])
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    line.add_argument("--rounds", type=int, default=100)
    line.add_argument("--processor", action="store_true", help="not the wall's time")
    asked = line.parse_args()
    fits = {
        name: {library: (library, FITS[name]) for library in ("lightgbm", "skgoss")}
        for name in asked.shapes
        if name in FITS
    }
    sampled = {
        name: {
            how: ("skgoss", Shape(SHAPES[name], options))
            for how, options in {"all": {}, "goss": goss()}.items()
        }
        for name in asked.shapes
        if name in SAMPLED
    }
    report(
        "Fits with other options, and with GOSS",
        asked.libraries,
        table(["shape", "threads", "LightGBM", "skgoss", "ratio"], ratios(fits, asked)),
        table(["shape", "threads", "all", "GOSS", "ratio"], ratios(sampled, asked)),
    )


if __name__ == "__main__":
    main()
