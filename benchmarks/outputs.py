"""How long does a fit of several quantiles or targets take, and a fit for each of them?

The trees are the same. Seconds are those of the processor, with one thread, so that
other programs on the machine count little.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from measure import alternate, digits, parser, report, table

LEVELS = (0.05, 0.5, 0.95)

# Rows, columns, targets (None: quantiles), rounds.
SHAPES = {
    "three quantiles": (20_000, 20, None, 30),
    "five targets, few rows": (500, 10, 5, 50),
    "five targets": (20_000, 20, 5, 30),
    "a hundred targets": (2_000, 10, 100, 20),
}


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__, ("skgoss",))
    line.set_defaults(repeats=5)
    line.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    asked = line.parse_args()
    rows = []
    for name in asked.shapes:
        together, alone = _fits(*SHAPES[name])
        jobs = {
            "together": partial(_seconds, together),
            "alone": partial(_seconds, alone),
        }
        times = alternate(jobs, asked.repeats)
        best = {key: min(values) for key, values in times.items()}
        ratio = best["together"] / best["alone"]
        shape = " x ".join(f"{n:,}" for n in SHAPES[name][:2])
        cells = [digits(1e3 * best["together"]), digits(1e3 * best["alone"])]
        rows.append([name, shape, *cells, digits(ratio)])
    head = ["outputs", "rows x columns", "one fit, ms", "a fit for each, ms", "ratio"]
    report("one fit of several outputs", ["skgoss"], table(head, rows))


def _fits(
    n_rows: int, n_columns: int, n_targets: int | None, rounds: int
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    from skgoss import LGBMRegressor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    options: dict[str, Any] = {"n_estimators": rounds, "n_jobs": 1}
    if n_targets is None:
        y = X[:, 0] + np.abs(X[:, 1]) * rng.standard_normal(n_rows)
        options["objective"] = "quantile"
        return (
            lambda: LGBMRegressor(alpha=LEVELS, **options).fit(X, y),
            lambda: [LGBMRegressor(alpha=a, **options).fit(X, y) for a in LEVELS],
        )
    weight = rng.standard_normal((n_columns, n_targets))
    Y = X @ (weight * (rng.random(weight.shape) < 0.3))
    Y += rng.standard_normal(Y.shape)
    return (
        lambda: LGBMRegressor(**options).fit(X, Y),
        lambda: [LGBMRegressor(**options).fit(X, column) for column in Y.T],
    )


def _seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    main()
