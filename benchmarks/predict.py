"""How long does it take to predict a million rows, and one row?"""

from __future__ import annotations

from functools import partial

from adapters import EQUAL, make
from data import dense_binary
from measure import alternate, best_of, fresh, parser, relative, report, summary, table

# Rows predicted at once, and the unit of time to print.
BATCHES = {"all rows": (None, 1.0, "s"), "one row": (1, 1e-6, "µs")}


def burst(
    library: str, batch: str, container: str, scale: float, threads: int, budget: float
) -> float:
    """Fit on a part of the rows, return the best time of predict_proba."""
    problem = dense_binary(scale)
    parameters = {**EQUAL, "n_jobs": threads}
    X = problem.X[: problem.n_train]
    if container == "pandas":
        import pandas as pd

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
    asked = line.parse_args()
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
