"""How long do a random search on one data set, and a cross-validation, take?"""

from __future__ import annotations

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
    """Time a search in which each fit reads the arrays anew."""
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


def main() -> None:
    """Read the command line, measure, print."""
    libraries = ("skgoss", "lightgbm")
    line = parser(__doc__, libraries, libraries)
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    line.add_argument("--rounds", type=int, default=100)
    line.add_argument("--fits", type=int, default=30, help="fits of a search")
    line.add_argument("--threads", type=int, help="all cores if not given")
    line.add_argument("--shapes", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    asked = line.parse_args()
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
