"""How long do searches on one data set, with GridSearchCV, and a race take?"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from adapters import LIBRARIES, make
from data import SMALL, Problem, dense_binary, flights_categories, rows_of
from measure import (
    Failed,
    alternate,
    attempt,
    digits,
    failures,
    parser,
    relative,
    report,
    seconds,
    summary,
    table,
)

PROBLEMS: Mapping[str, Callable[[float], Problem]] = {
    "small": lambda scale: SMALL["breast_cancer"](),
    "200k x 28": lambda scale: dense_binary(scale, 200_000),
    "categories": flights_categories,
}

# LightGBM must not drop columns for one limit of rows if another one comes later.
ALWAYS = {"objective": "binary", "metric": "auc", "feature_pre_filter": False}


def points(n: int) -> list[dict[str, Any]]:
    """Draw the points of a random search."""
    rng = np.random.default_rng(0)
    return [
        {
            "num_leaves": int(rng.integers(7, 64)),
            "learning_rate": float(10 ** rng.uniform(-2, -0.5)),
            "min_child_samples": int(rng.integers(5, 100)),
            "colsample_bytree": float(rng.uniform(0.5, 1.0)),
            "reg_lambda": float(10 ** rng.uniform(-3, 1)),
        }
        for _ in range(n)
    ]


def halves(name: str, scale: float) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return four fifths of the rows, and the others."""
    problem = PROBLEMS[name](scale)
    rows = np.random.default_rng(0).permutation(len(problem.y))
    first, others = np.split(rows, [4 * len(rows) // 5])
    return tuple((rows_of(problem.X, at), problem.y[at]) for at in (first, others))


def one_data_set(library: str, name: str, scale: float, rounds: int, fits: int) -> Any:
    """Time a search in which all fits have the same data set."""
    module, always = import_module(LIBRARIES[library].module), LIBRARIES[library].always
    train, test = halves(name, scale)

    def search() -> None:
        data = module.Dataset(*train, params={**always, **ALWAYS})
        valid = data.create_valid(*test)
        for point in points(fits):
            module.train(
                {**always, **ALWAYS, **point}, data, rounds, valid_sets=[valid]
            )

    return seconds(search)


def estimators(library: str, name: str, scale: float, rounds: int, fits: int) -> Any:
    """Time a search in which each fit reads the arrays again."""
    train, test = halves(name, scale)

    def search() -> None:
        for point in points(fits):
            model = make(library, "binary", {"n_estimators": rounds, **point})
            model.fit(*train, eval_X=test[0], eval_y=test[1], eval_metric="auc")

    return seconds(search)


def cross_validation(
    library: str, name: str, scale: float, rounds: int, fits: int
) -> Any:
    """Time the cross-validation of one point on 5 folds."""
    module, always = import_module(LIBRARIES[library].module), LIBRARIES[library].always
    train, _ = halves(name, scale)

    def search() -> None:
        module.cv({**always, **ALWAYS}, module.Dataset(*train), rounds, nfold=5)

    return seconds(search)


WAYS: Mapping[str, Callable[..., Any]] = {
    "one fit": partial(one_data_set, fits=1),
    "search, one data set": one_data_set,
    "search, estimators": estimators,
    "cv, 5 folds": cross_validation,
}


def timed(way: str, library: str, name: str, asked: Any) -> float:
    """Time one way, after a short fit that starts threads and imports."""
    given = {"scale": asked.scale, "rounds": asked.rounds, "fits": asked.fits}
    given |= getattr(WAYS[way], "keywords", {})
    WAYS[way](library, "small", **{**given, "rounds": 2, "fits": 1})
    return WAYS[way](library, name, **given)


# The processor time is that of the process, so of one process only.
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}

# The data of --grid.
GRIDS: Mapping[str, Callable[[float], Problem]] = {
    "20k x 28": lambda scale: dense_binary(scale, 20_000),
    "breast_cancer": lambda scale: SMALL["breast_cancer"](),
    "digits": lambda scale: SMALL["digits"](),
}


def grid(rounds: int) -> dict[str, list[Any]]:
    """Return a grid of 54 points."""
    return {
        "n_estimators": [rounds // 4, rounds // 2, rounds],
        "learning_rate": [0.03, 0.1],
        "num_leaves": [15, 31, 63],
        "colsample_bytree": [0.5, 0.8, 1.0],
    }


def grid_search(
    library: str, way: str, jobs: int, name: str, asked: Any
) -> tuple[float, float]:
    """Return seconds of GridSearchCV, and the loss of its best model on held-out rows.

    ``way`` is "scikit-learn", or the strategy of skgoss. ``jobs`` of scikit-learn are
    processes, which start before the clock does; fits have the other threads.
    """
    from sklearn import model_selection
    from sklearn.metrics import log_loss

    from skgoss.model_selection import GridSearchCV

    problem = GRIDS[name](asked.scale)
    X, X_test, y, y_test = model_selection.train_test_split(
        problem.X, problem.y, test_size=0.2, stratify=problem.y, random_state=0
    )
    threads = asked.threads // jobs if way == "scikit-learn" else asked.threads
    model = make(library, problem.task, {"n_jobs": threads})
    options = {"scoring": "neg_log_loss", "cv": asked.folds}
    if way == "scikit-learn":
        make_search = partial(model_selection.GridSearchCV, n_jobs=jobs, **options)
    else:
        make_search = partial(GridSearchCV, strategy=way, **options)
    make_search(model, {"n_estimators": [2], "num_leaves": [2, 3]}).fit(X, y)
    search = make_search(model, grid(asked.rounds))
    clock = CLOCKS[asked.clock]
    begin = clock()
    search.fit(X, y)
    return clock() - begin, log_loss(y_test, search.predict_proba(X_test))


def random_race(asked: Any) -> tuple[float, float]:
    """Return seconds of a race of many points, and how many default fits they are."""
    from skgoss.model_selection import GridSearchCV

    X, y = dense_binary(asked.scale, 5_000).train
    X = X[:, :20]
    model = make("skgoss", "binary", {"n_jobs": asked.threads})
    candidates = [{k: [v] for k, v in point.items()} for point in points(asked.fits)]
    race = GridSearchCV(model, candidates, strategy="race", scoring="neg_log_loss")
    model.fit(X, y)
    clock = CLOCKS[asked.clock]
    times = []
    for job, n in ((model, 10), (race, 1), (model, 10)):
        begin = clock()
        for _ in range(n):
            job.fit(X, y)
        times.append((clock() - begin) / n)
    before, time_taken, after = times
    return time_taken, 2 * time_taken / (before + after)


# Of --grid: names, libraries, strategies and processes.
SEARCHES: Mapping[str, tuple[str, str, int]] = {
    "lightgbm, 1 process": ("lightgbm", "scikit-learn", 1),
    "lightgbm, processes": ("lightgbm", "scikit-learn", 2),
    "skgoss, 1 process": ("skgoss", "scikit-learn", 1),
    "skgoss, processes": ("skgoss", "scikit-learn", 2),
    "skgoss, all": ("skgoss", "all", 1),
    "skgoss, race": ("skgoss", "race", 1),
}


def grids(asked: Any) -> None:
    """Measure and print what --grid asks for."""
    asked.threads = asked.threads or 2
    rows = []
    for name in asked.grids:
        jobs = {
            way: partial(attempt, grid_search, *SEARCHES[way], name, asked)
            for way in asked.searches
        }
        results = alternate(jobs, asked.repeats)
        for way, reason in failures(results).items():
            print(f"{name}, {way}: {reason}", flush=True)
        for way, runs in results.items():
            times = [run[0] for run in runs if not isinstance(run, Failed)]
            if times:
                rows.append([name, way, summary(times), f"{runs[0][1]:.4f}"])
                print(rows[-1], flush=True)
    header = ["data", "search", "seconds: best (median)", "loss on held-out rows"]
    tables = [table(header, rows)]
    if asked.fits:
        time_taken, n_fits = attempt(random_race, asked)
        row = [asked.fits, digits(time_taken), digits(n_fits)]
        tables.append(
            table(["candidates, 5,000 x 20", "race, seconds", "default fits"], [row])
        )
    title = (
        f"Searches over 54 points, up to {asked.rounds} rounds, {asked.folds} folds,"
        f" {asked.threads} threads, {asked.clock} time"
    )
    report(title, ("skgoss", "lightgbm"), *tables)


def main() -> None:
    """Read the command line, measure, print."""
    libraries = ("skgoss", "lightgbm")
    line = parser(__doc__, libraries, libraries)
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    line.add_argument("--rounds", type=int, default=100)
    line.add_argument("--fits", type=int, default=30, help="fits of a search")
    line.add_argument("--threads", type=int, help="all cores if not given")
    line.add_argument("--shapes", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    line.add_argument("--grid", action="store_true", help="GridSearchCV and races")
    line.add_argument("--folds", type=int, default=5, help="of --grid")
    line.add_argument("--clock", choices=CLOCKS, default="wall", help="of --grid")
    line.add_argument("--grids", nargs="*", choices=GRIDS, default=list(GRIDS))
    line.add_argument("--searches", nargs="+", choices=SEARCHES, default=list(SEARCHES))
    asked = line.parse_args()
    if asked.grid:
        grids(asked)
        return
    rows = []
    for name in asked.shapes:
        jobs = {
            (way, library): partial(
                attempt, timed, way, library, name, asked, threads=asked.threads
            )
            for way in WAYS
            for library in asked.libraries
        }
        results = alternate(jobs, asked.repeats)
        for (way, library), reason in failures(results).items():
            print(f"{name}, {way}, {library}: {reason}", flush=True)
        for way in WAYS:
            times = {
                library: results[way, library]
                for library in asked.libraries
                if not any(isinstance(run, Failed) for run in results[way, library])
            }
            rows += [
                [name, way, library, summary(times[library]), relative(times, library)]
                for library in times
            ]
    header = ["data", "what", "library", "seconds: best (median)", "lightgbm / it"]
    report(
        f"A search of {asked.fits} fits and cross-validation, {asked.rounds} rounds",
        asked.libraries,
        table(header, rows),
    )


if __name__ == "__main__":
    main()
