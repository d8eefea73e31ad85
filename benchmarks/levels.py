"""How long do libraries take that grow trees level-wise, or choose their size?

Trees of one depth that may have all its leaves, the same number of them, on one thread.
Perpetual has no such options, and is fitted at its defaults. Seconds are those of the
processor.
"""

from __future__ import annotations

import time
from functools import partial

from adapters import ALL, BY_LEVELS, DEFAULTS_ONLY, LIBRARIES, at_depth, make
from data import dense_binary, scores
from measure import (
    alternate,
    attempt,
    digits,
    failures,
    parser,
    report,
    summary,
    table,
)

SHOWN = [*LIBRARIES, *BY_LEVELS, "perpetual"]


def once(
    library: str, scale: float, depth: int
) -> tuple[float, float, dict[str, float]]:
    """Fit one model; returns seconds of the fit, of predictions, and scores."""
    problem = dense_binary(scale)
    X, y = problem.train
    options = {ALL[library].threads: 1} if library in DEFAULTS_ONLY else at_depth(depth)
    # The first fit of a process pays for imports.
    make(library, "binary", options).fit(X[:500], y[:500])
    start = time.process_time()
    model = make(library, "binary", options).fit(X, y)
    fitted = time.process_time()
    model.predict_proba(X)
    predicted = time.process_time()
    held_out = scores(model, "binary", *problem.test)
    return fitted - start, predicted - fitted, held_out


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], SHOWN, SHOWN)
    line.add_argument("--scale", type=float, default=0.3, help="million rows")
    line.add_argument("--depth", type=int, default=5)
    asked = line.parse_args()
    jobs = {
        library: partial(attempt, once, library, asked.scale, asked.depth, threads=1)
        for library in asked.libraries
    }
    results = alternate(jobs, asked.repeats)
    failed = failures(results)
    times = {
        library: [[run[number] for run in runs] for number in range(2)]
        for library, runs in results.items()
        if library not in failed
    }
    rows = []
    for library, columns in times.items():
        held_out = results[library][0][2].items()
        rows.append([library])
        for number, seconds in enumerate(columns):
            ours = times.get("skgoss", columns)[number]
            rows[-1] += [summary(seconds), digits(min(seconds) / min(ours))]
        rows[-1] += [", ".join(f"{name} {value:.4f}" for name, value in held_out)]
    header = ["library", "fit, s: best (median)", "fit / skgoss's"]
    header += ["prediction, s", "prediction / skgoss's", "held-out"]
    report(
        f"{1e6 * asked.scale:,.0f} x 28, 100 trees of depth {asked.depth}, one thread",
        asked.libraries,
        table(header, rows),
        *(f"{library}: {reason}" for library, reason in failed.items()),
    )


if __name__ == "__main__":
    main()
