"""Is the last commit faster or slower than the one before it?

Revisions are built from a clean checkout, with the build tools that are installed (see
CONTRIBUTING.md). A folder is taken as a place where skgoss is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from data import (
    SMALL,
    Problem,
    dense_binary,
    dense_multiclass,
    dense_regression,
    onehot,
)
from measure import alternate, best_of, digits, summary, table

# Problems, and the options of the estimators that learn them.
JOBS: dict[str, tuple[Callable[[], Problem], dict[str, Any]]] = {
    "breast_cancer": (SMALL["breast_cancer"], {}),
    "digits": (SMALL["digits"], {}),
    "binary": (partial(dense_binary, 0.2), {"n_estimators": 30}),
    "regression": (partial(dense_regression, 0.2), {"n_estimators": 30}),
    "multiclass": (partial(dense_multiclass, 0.2), {"n_estimators": 10}),
    "one-hot": (partial(onehot, 0.1), {"n_estimators": 20}),
}


def measure(name: str, budget: float, threads: int) -> dict[str, float]:
    """Time the fit and the predictions of a problem, in this process."""
    from adapters import make

    problem, options = JOBS[name][0](), JOBS[name][1]
    X, y = problem.X[: problem.n_train or None], problem.y[: problem.n_train or None]
    model = make("skgoss", problem.task, {**options, "n_jobs": threads})
    return {
        "fit": best_of(lambda: model.fit(X, y), budget),
        "predict": best_of(lambda: model.predict(X), budget / 4),
    }


def ask(place: Path, name: str, budget: float, threads: int) -> dict[str, float]:
    """Let a new process, which imports skgoss from `place`, measure."""
    run = subprocess.run(
        [
            *(sys.executable, __file__, "--measure", name),
            *("--budget", str(budget), "--threads", str(threads)),
        ],
        env={**os.environ, "PYTHONPATH": str(place), "OMP_NUM_THREADS": str(threads)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def installed(revision: str, open_until_end: Callable[..., Any]) -> Path:
    """The folder of a build: `revision` itself, or one of that revision made now."""
    if Path(revision).is_dir():
        return Path(revision)
    folder: AbstractContextManager[str] = tempfile.TemporaryDirectory()
    sources = Path(open_until_end(folder))
    archive = subprocess.run(
        ["git", "archive", revision],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
    )
    subprocess.run(["tar", "x", "-C", sources], input=archive.stdout, check=True)
    place = sources / "installed"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--target", place, sources),
        ],
        check=True,
    )
    return place


def compare(places: dict[str, Path], asked: argparse.Namespace) -> list[list[str]]:
    """Measure all jobs of all places; rows of the table."""
    rows = []
    for name in asked.jobs:
        found = alternate(
            {
                label: partial(ask, place, name, asked.budget, asked.threads)
                for label, place in places.items()
            },
            asked.repeats,
        )
        for what in found["before"][0]:
            before, after = (
                [times[what] for times in found[label]] for label in places
            )
            ratio = median(before) / median(after)
            rows.append(
                [name, what, summary(before, 1e-3), summary(after, 1e-3), digits(ratio)]
            )
    return rows


def main() -> None:
    """Read the command line, measure, print."""
    line = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    line.add_argument("before", nargs="?", default="HEAD~1", help="revision or folder")
    line.add_argument("after", nargs="?", default="HEAD", help="revision or folder")
    line.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    line.add_argument("--repeats", type=int, default=5)
    line.add_argument("--budget", type=float, default=1.0, help="seconds a fit a turn")
    line.add_argument("--threads", type=int, default=2)
    line.add_argument("--measure", choices=list(JOBS), help=argparse.SUPPRESS)
    asked = line.parse_args()
    if asked.measure:
        json.dump(measure(asked.measure, asked.budget, asked.threads), sys.stdout)
        return
    with ExitStack() as stack:
        places = {
            "before": installed(asked.before, stack.enter_context),
            "after": installed(asked.after, stack.enter_context),
        }
        header = ["data", "time of", asked.before, asked.after, "before / after"]
        print("Milliseconds: best (median of turns)\n")
        print(table(header, compare(places, asked)))


if __name__ == "__main__":
    main()
