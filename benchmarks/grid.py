"""How do fits share a machine: in a grid search, and two large fits at once?"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from adapters import EQUAL, LIBRARIES, make
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
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor
    from sklearn.model_selection import GridSearchCV

    problem = SMALL["breast_cancer"]()
    words = LIBRARIES[library].words
    grid = {words.get(name, name): values for name, values in GRID.items()}
    model = make(library, "binary", {})
    # All fits are in workers, which start and import before the clock does.
    points = GridSearchCV(model, grid, n_jobs=2, refit=False)
    Parallel(n_jobs=2)(delayed(model.fit)(problem.X, problem.y) for _ in range(4))
    time_taken = seconds(lambda: points.fit(problem.X, problem.y))
    get_reusable_executor().shutdown()
    return time_taken


def crowd(library: str, scale: float, fits: int) -> float:
    """Time several large fits at once, in threads, each with n_jobs=2."""
    problem = dense_binary(scale)
    X, y = problem.train
    models = [make(library, "binary", {**EQUAL, "n_jobs": 2}) for _ in range(fits)]
    models[0].fit(X[:500], y[:500])
    with ThreadPoolExecutor(fits) as pool:
        return seconds(lambda: list(pool.map(lambda model: model.fit(X, y), models)))


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__)
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    asked = line.parse_args()
    libraries = asked.libraries
    searches = alternate(
        {library: partial(search, library) for library in libraries}, asked.repeats
    )
    grid_rows = [
        [library, summary(searches[library]), relative(searches, library)]
        for library in libraries
    ]
    crowds = alternate(
        {
            (library, fits): partial(
                fresh, crowd, library, asked.scale, fits, threads=2
            )
            for library in libraries
            for fits in (1, 2)
        },
        asked.repeats,
    )
    crowd_rows = []
    for library in libraries:
        one, two = (min(crowds[library, fits]) for fits in (1, 2))
        crowd_rows.append([library, digits(one), digits(two), digits(two / one)])
    report(
        "Grid search and crowds",
        libraries,
        "GridSearchCV(n_jobs=2), 6 points x 5 folds on breast_cancer:",
        table(["library", "seconds: best (median)", "lightgbm / it"], grid_rows),
        f"Two fits of {int(1_000_000 * asked.scale):,} x 28 at once, n_jobs=2 each:",
        table(["library", "one, s", "two, s", "two / one"], crowd_rows),
    )


if __name__ == "__main__":
    main()
