"""Is one commit slower than another, on ten shapes that matter?

It ends with status 1 if any shape takes a twentieth longer, beyond the noise of the
turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from adapters import EQUAL
from data import SHAPES, SMALL, dense_binary
from measure import alternate, digits, table

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(tempfile.gettempdir()) / "skgoss-commits"

# --- What is measured -----------------------------------------------------------------


def fit(name: str, scale: float, **options: Any) -> Callable[[], Any]:
    """A fit of one shape on one thread."""
    import skgoss

    problem = SMALL[name]() if name in SMALL else SHAPES[name](scale)
    X, y = problem.train if problem.n_train else (problem.X, problem.y)
    parameters = {**(EQUAL if name in SHAPES else {}), "n_jobs": 1, **options}
    is_number = problem.task in ("regression", "ranking")
    kind = skgoss.LGBMRegressor if is_number else skgoss.LGBMClassifier
    return lambda: kind(**parameters).fit(X, y)


def stopped_early() -> Callable[[], Any]:
    """Ten fits on a few hundred rows, with an evaluation set."""
    import skgoss

    problem = SMALL["breast_cancer"]()
    X, y = problem.X, problem.y
    data = {"eval_set": [(X[400:], y[400:])], "eval_metric": "auc"}

    def run() -> None:
        for number in range(10):
            model = skgoss.LGBMClassifier(n_jobs=1, num_leaves=4 + number)
            stop = skgoss.early_stopping(10, verbose=False)
            model.fit(X[:400], y[:400], **data, callbacks=[stop])

    return run


def of_model(use: str) -> Callable[[], Any]:
    """A use of a model of 100 trees."""
    import skgoss

    problem = dense_binary(0.02)
    X, y = problem.X, problem.y
    model = skgoss.LGBMClassifier(n_jobs=1).fit(X, y)
    booster = model.booster_
    text = booster.model_to_string()
    return {
        "predict": lambda: model.predict_proba(X),
        "SHAP": lambda: model.predict(X[:2000], pred_contrib=True),
        "file": lambda: skgoss.Booster(model_str=text).model_to_string(),
    }[use]


SHAPES_THAT_MATTER: Mapping[str, Callable[[], Callable[[], Any]]] = {
    "dense": partial(fit, "binary", 0.05, n_estimators=20),
    "missing values": partial(fit, "regression", 0.05, n_estimators=20),
    "seven classes": partial(fit, "multiclass", 0.1, n_estimators=5),
    "one-hot": partial(fit, "one-hot", 0.05, n_estimators=20),
    "ranking": partial(fit, "ranking", 0.1, n_estimators=10),
    "1023 leaves": partial(fit, "binary", 0.05, n_estimators=4, num_leaves=1023),
    "breast_cancer": partial(fit, "breast_cancer", 1.0),
    "early stopping": stopped_early,
    **{use: partial(of_model, use) for use in ("predict", "SHAP", "file")},
}

# --- How it is measured ---------------------------------------------------------------


def burst(name: str, budget: float) -> float:
    """The least processor time of a call, in seconds; runs in its own process."""
    # An editable installation would come before the folder of the commit.
    sys.meta_path[:] = [
        finder
        for finder in sys.meta_path
        if "editable" not in getattr(finder, "__module__", type(finder).__module__)
    ]
    call = SHAPES_THAT_MATTER[name]()
    call()
    times: list[float] = []
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(times) < 3:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def counts_instructions() -> bool:
    """Whether the processor counts instructions here; virtual machines may hide it."""
    if shutil.which("perf") is None:
        return False
    command = ["perf", "stat", "-x,", "-e", "instructions:u", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stderr.split(",")[0].isdigit()


def measured(name: str, place: Path, budget: float, *, counts: bool) -> float:
    """Time or count one shape in a new process that imports the package of a folder."""
    command = [sys.executable, __file__, "--turn", name, "--budget", str(budget)]
    if counts:
        # A fixed number of calls, whatever their time.
        command = ["perf", "stat", "-x,", "-e", "instructions:u", *command[:-1], "0"]
    environment = {**os.environ, "PYTHONPATH": str(place), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    if counts:
        return float(done.stderr.strip().splitlines()[-1].split(",")[0])
    return float(json.loads(done.stdout))


def built(commit: str) -> Path:
    """The folder of the package of a commit, which is built if it is not there."""
    number = _git("rev-parse", "--short=12", f"{commit}^{{commit}}")
    place = CACHE / number
    if place.exists():
        return place
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        _git("worktree", "add", "--detach", str(source), number)
        try:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            subprocess.run(
                [*command, "--no-build-isolation", "--target", str(target), "."],
                cwd=source,
                check=True,
            )
        finally:
            _git("worktree", "remove", "--force", str(source))
        target.rename(place)
    return place


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


# --- What it says ---------------------------------------------------------------------


def noise(turns: Sequence[float]) -> float:
    """How far the better turns of one commit lie apart, as a share of the best."""
    return median(turns) / min(turns) - 1


def verdict(old: Sequence[float], new: Sequence[float], limit: float) -> str:
    """'slower' or 'faster' by more than the limit and the noise; else empty."""
    ratio = min(new) / min(old)
    beyond = 1 + max(limit, noise(old), noise(new))
    if ratio > beyond:
        return "slower"
    return "faster" if ratio < 1 / beyond else ""


def main() -> None:
    """Read the command line, measure, print."""
    line = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    line.add_argument("old", nargs="?", default="HEAD~1")
    line.add_argument("new", nargs="?", default="HEAD")
    line.add_argument("--shapes", nargs="+", choices=SHAPES_THAT_MATTER)
    line.add_argument("--turns", type=int, default=5)
    line.add_argument("--budget", type=float, default=0.5, help="seconds a turn")
    line.add_argument("--limit", type=float, default=0.05, help="the loss that fails")
    line.add_argument("--turn", help=argparse.SUPPRESS)
    asked = line.parse_args()
    if asked.turn:
        print(json.dumps(burst(asked.turn, asked.budget)))
        return
    places = {commit: built(commit) for commit in (asked.old, asked.new)}
    counts = counts_instructions()
    what = "million instructions" if counts else "ms of the processor"
    header = ["shape", f"{asked.old}, {what}", asked.new, "new / old", "noise", ""]
    print(table(header, []), flush=True)
    fails = False
    for name in asked.shapes or SHAPES_THAT_MATTER:
        jobs = {
            commit: partial(measured, name, place, asked.budget, counts=counts)
            for commit, place in places.items()
        }
        turns = alternate(jobs, 1 if counts else asked.turns)
        old, new = turns[asked.old], turns[asked.new]
        said = verdict(old, new, asked.limit)
        fails |= said == "slower"
        unit = 1e6 if counts else 1e-3
        cells = [min(old) / unit, min(new) / unit, min(new) / min(old)]
        spread = f"{100 * max(noise(old), noise(new)):.1f} %"
        row = [name, *map(digits, cells), spread, said]
        print(table(row, []).splitlines()[0], flush=True)
    sys.exit(1 if fails else 0)


if __name__ == "__main__":
    main()
