"""How much faster are more threads? And what would 16 threads take, by Amdahl's law?"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from adapters import EQUAL, LIBRARIES, make
from data import SHAPES, SMALL, Problem, dense_binary
from explain import EXPLAINERS
from measure import (
    Failed,
    alternate,
    attempt,
    best_of,
    digits,
    failures,
    parser,
    report,
    table,
)


def _fit(
    library: str, problem: Problem, threads: int, **options: Any
) -> Callable[[], Any]:
    X, y = problem.train if problem.n_train else (problem.X, problem.y)
    parameters = {**EQUAL, "n_jobs": threads, **options}
    return lambda: make(library, problem.task, parameters).fit(X, y)


def _of_shape(
    shape: str, library: str, scale: float, threads: int, **options: Any
) -> Callable[[], Any]:
    return _fit(library, SHAPES[shape](scale), threads, **options)


def _small(library: str, scale: float, threads: int) -> Callable[[], Any]:
    return _fit(library, SMALL["breast_cancer"](), threads)


def _binning(library: str, scale: float, threads: int) -> Callable[[], Any]:
    """A fit of one stump: nearly all of it is binning."""
    options = {"n_estimators": 1, "num_leaves": 2}
    return _fit(library, dense_binary(scale), threads, **options)


def _predict(library: str, scale: float, threads: int) -> Callable[[], Any]:
    problem = dense_binary(0.2 * scale)
    return partial(_fit(library, problem, threads)().predict_proba, problem.X)


def _explain(library: str, scale: float, threads: int) -> Callable[[], Any]:
    problem = dense_binary(0.05 * scale)
    model = _fit(library, problem, threads)()
    explain = EXPLAINERS[library](model, "values", threads)
    return partial(explain, problem.X[:2000].astype(np.float64))


WORKLOADS: Mapping[str, Callable[..., Callable[[], Any]]] = {
    "dense": partial(_of_shape, "binary"),
    "wide": partial(_of_shape, "ranking"),
    "sparse": partial(_of_shape, "one-hot"),
    "many leaves": partial(_of_shape, "binary", num_leaves=1023, n_estimators=20),
    "small": _small,
    "predict": _predict,
    "SHAP": _explain,
    "binning": _binning,
}


def burst(
    workload: str, library: str, scale: float, threads: int, budget: float
) -> float:
    """The shortest time of a call, in seconds."""
    return best_of(WORKLOADS[workload](library, scale, threads), budget, least=2)


def serial_share(seconds: Mapping[int, float]) -> float:
    """The fraction of one thread's time that is serial (G. Amdahl, 1967).

    On n threads a call takes s + (1 - s) / n of that time; s is that of the most
    threads measured, at least 0 and at most 1.
    """
    n = max(seconds)
    if n == 1:
        return float("nan")
    share = (n * seconds[n] / seconds[1] - 1) / (n - 1)
    return float(np.clip(share, 0.0, 1.0))


def predicted(seconds: Mapping[int, float], threads: int) -> float:
    """The time on a number of threads by Amdahl's law."""
    share = serial_share(seconds)
    return seconds[1] * (share + (1 - share) / threads)


def _line(
    workload: str, library: str, seconds: Mapping[int, float], asked: Sequence[int]
) -> list[str]:
    known = [digits(seconds[n]) if n in seconds else "" for n in asked]
    share = serial_share(seconds)
    most = max(asked)
    guess = "" if most in seconds else digits(predicted(seconds, most))
    return [workload, library, *known, f"{100 * share:.0f} %", guess]


def main() -> None:
    """Read the command line, measure, print."""
    libraries = ("skgoss", "lightgbm", "xgboost")
    line = parser(__doc__, libraries, libraries)
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    line.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    line.add_argument("--budget", type=float, default=1.0, help="seconds a turn")
    line.add_argument(
        "--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS)
    )
    asked = line.parse_args()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    here = [n for n in asked.threads if n <= (cores or os.cpu_count() or 1)]
    rows = []
    for workload in asked.workloads:
        jobs = {
            (library, n): partial(
                attempt,
                burst,
                workload,
                library,
                asked.scale,
                n,
                asked.budget,
                threads=n,
            )
            for library in asked.libraries
            for n in here
        }
        results = alternate(jobs, asked.repeats)
        for (library, n), reason in failures(results).items():
            print(f"{workload}, {library}, {n} threads: {reason}", flush=True)
        for library in asked.libraries:
            seconds = {
                n: min(results[library, n])
                for n in here
                if not any(isinstance(run, Failed) for run in results[library, n])
            }
            if 1 in seconds:
                rows.append(_line(workload, library, seconds, asked.threads))
    header = [
        "workload",
        "library",
        *(f"{n} threads, s" if n > 1 else "1 thread, s" for n in asked.threads),
        "serial share",
        f"predicted on {max(asked.threads)}",
    ]
    report(
        "More threads",
        [name for name in asked.libraries if name in LIBRARIES],
        table(header, rows),
    )


if __name__ == "__main__":
    main()
