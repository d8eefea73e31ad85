"""How long does a fit take, how much memory, and how good is the model?"""

from __future__ import annotations

from functools import partial

from adapters import EQUAL, make
from data import SHAPES, scores
from measure import (
    alternate,
    attempt,
    digits,
    failures,
    parser,
    peak_extra,
    relative,
    report,
    summary,
    table,
)


def once(
    library: str, shape: str, scale: float, threads: int
) -> tuple[float, float, dict[str, float]]:
    """Fit one model; returns seconds, megabytes above the data, and scores."""
    problem = SHAPES[shape](scale)
    X, y = problem.train
    X_test, y_test = problem.test
    parameters = {**EQUAL, "n_jobs": threads}
    # The first fit of a process pays for imports and for starting threads.
    make(library, problem.task, {**parameters, "n_estimators": 2}).fit(X[:500], y[:500])
    model = make(library, problem.task, parameters)
    time_taken, memory = peak_extra(lambda: model.fit(X, y))
    return time_taken, memory, scores(model, problem.task, X_test, y_test)


def compare(
    libraries: list[str], shape: str, scale: float, threads: int, repeats: int
) -> tuple[list[list[str]], list[str]]:
    """Measure one shape on one number of threads; rows of the table, and failures."""
    jobs = {
        library: partial(attempt, once, library, shape, scale, threads, threads=threads)
        for library in libraries
    }
    results = alternate(jobs, repeats)
    failed = failures(results)
    times = {
        library: [run[0] for run in results[library]]
        for library in libraries
        if library not in failed
    }
    rows = []
    for library in libraries:
        cells = ["-"] * 4
        if library in times:
            held_out = results[library][0][2].items()
            cells = [
                summary(times[library]),
                digits(max(run[1] for run in results[library])),
                ", ".join(f"{name} {value:.5f}" for name, value in held_out),
                relative(times, library),
            ]
        rows.append([shape, str(threads), library, *cells])
    reasons = [f"{library}, {shape}: {reason}" for library, reason in failed.items()]
    return rows, reasons


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__)
    line.add_argument("--shapes", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    line.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    asked = line.parse_args()
    rows, reasons = [], []
    for shape in asked.shapes:
        for threads in asked.threads:
            found, failed = compare(
                asked.libraries, shape, asked.scale, threads, asked.repeats
            )
            rows += found
            reasons += failed
    header = ["shape", "threads", "library", "seconds: best (median)"]
    header += ["extra MB", "held-out", "lightgbm / it"]
    tables = [table(header, rows), *dict.fromkeys(reasons)]
    report(f"Fit, scale {asked.scale:g}", asked.libraries, *tables)


if __name__ == "__main__":
    main()
