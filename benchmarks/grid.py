"""How do fits share a machine: in a grid search, and two large ones at once?"""

from __future__ import annotations

from functools import partial

from adapters import EQUAL, make
from data import SMALL, dense_binary
from measure import (
    alternate,
    digits,
    fresh,
    parser,
    relative,
    report,
    seconds,
    summary,
    table,
)

GRID = {"num_leaves": [7, 15, 31], "learning_rate": [0.05, 0.1]}


def search(library: str) -> float:
    """Time GridSearchCV(n_jobs=2), 6 points x 5 folds, on breast_cancer."""
    from adapters import LIBRARIES
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor
    from sklearn.model_selection import GridSearchCV

    problem = SMALL["breast_cancer"]()
    words = LIBRARIES[library].words
    grid = {words.get(name, name): values for name, values in GRID.items()}
    points = GridSearchCV(make(library, "binary", {}), grid, n_jobs=2)
    # The workers start and import before the clock does.
    warm = delayed(make(library, "binary", {}).fit)
    Parallel(n_jobs=2)(warm(problem.X, problem.y) for _ in range(4))
    time_taken = seconds(lambda: points.fit(problem.X, problem.y))
    # Idle workers would keep this process waiting for minutes.
    get_reusable_executor().shutdown()
    return time_taken


def crowd(library: str, scale: float, backend: str, fits: int) -> float:
    """Time so many large fits at once, each with n_jobs=2."""
    from joblib import Parallel, delayed

    problem = dense_binary(scale)
    parameters = {**EQUAL, "n_jobs": 2}
    run = delayed(_timed_fit)
    # Everyone has the data before the clock starts, which each fit reads for itself.
    times = Parallel(n_jobs=fits, backend=backend)(
        run(library, parameters, *problem.train) for _ in range(fits)
    )
    return max(times)


def _timed_fit(library: str, parameters: dict, X: object, y: object) -> float:
    return seconds(lambda: make(library, "binary", parameters).fit(X, y))


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__)
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    asked = line.parse_args()
    libraries = asked.libraries
    searches = alternate(
        {library: partial(fresh, search, library) for library in libraries},
        asked.repeats,
    )
    grid_rows = [
        [library, summary(searches[library]), relative(searches, library)]
        for library in libraries
    ]
    cases = {"alone": ("threading", 1), "threads": ("threading", 2)}
    cases["processes"] = ("multiprocessing", 2)
    crowds = alternate(
        {
            (library, case): partial(
                fresh, crowd, library, asked.scale, *how, threads=2
            )
            for library in libraries
            for case, how in cases.items()
        },
        asked.repeats,
    )
    crowd_rows = []
    for library in libraries:
        alone, threads, processes = (min(crowds[library, case]) for case in cases)
        crowd_rows.append(
            [library, digits(alone), digits(threads / alone), digits(processes / alone)]
        )
    report(
        "Grid search and crowds",
        libraries,
        "GridSearchCV(n_jobs=2), 6 points x 5 folds on breast_cancer:",
        table(["library", "seconds: best (median)", "lightgbm / it"], grid_rows),
        f"Two fits of {int(1_000_000 * asked.scale):,} x 28 at once, n_jobs=2 each:",
        table(
            ["library", "alone, s", "in threads / alone", "in processes / alone"],
            crowd_rows,
        ),
    )


if __name__ == "__main__":
    main()
