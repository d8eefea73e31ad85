"""How much memory does a fit need, and how much does `estimate_memory` expect?

Each fit runs in a new process. Its memory is the peak of the resident memory during
`fit` minus that before. Large arrays are returned to the system when they are freed:
otherwise, after reading a file, glibc keeps up to 64 MB of them for later.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from data import SHAPES, Problem, dense_binary
from measure import digits, fresh, parser, peak_extra, report, table
from shapes import FITS, Shape


def _quantiles(scale: float) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((int(200_000 * scale), 20))
    return Problem("regression", X, X[:, 0] + rng.standard_normal(len(X)))


SMALLER: Callable[[float], Problem] = partial(dense_binary, n=200_000)
CASES: Mapping[str, Shape] = {
    **{name: Shape(problem) for name, problem in SHAPES.items()},
    **FITS,
    "5 folds, 200k x 28": Shape(SMALLER, {"folds": 5}),
    "held out, 200k x 28": Shape(SMALLER, {"early_stopping_round": 10}),
    "linear leaves, 200k x 28": Shape(SMALLER, {"linear_tree": True}),
    "1,000 trees, 200k x 28": Shape(SMALLER, {"n_estimators": 1000}),
    "3 quantiles, 200k x 20": Shape(
        _quantiles, {"objective": "quantile", "alpha": (0.1, 0.5, 0.9)}
    ),
    "a distribution, 200k x 20": Shape(_quantiles, {"objective": "normal"}),
}


def measured(name: str, scale: float, threads: int) -> tuple[float, float]:
    """Return the megabytes that a fit needs above its data, and the estimate."""
    from skgoss import LGBMClassifier, LGBMRegressor

    case = CASES[name]
    problem = case.problem(scale)
    n_train = problem.n_train or len(problem.y)
    X, y = problem.X[:n_train], problem.y[:n_train]
    n = int(case.evaluated * n_train)
    said: dict[str, Any] = {"eval_X": X[:n], "eval_y": y[:n]} if n else {}
    made = LGBMRegressor if problem.task == "regression" else LGBMClassifier
    options = {"n_estimators": 20, **case.options, "n_jobs": threads}
    # The first fit of a process pays for imports and for starting threads.
    made(**options | {"n_estimators": 2}).fit(X[:500], y[:500])
    model = made(**options)
    _, peak = peak_extra(lambda: model.fit(X, y, **said))
    expected = model.estimate_memory(X, y, eval_X=said.get("eval_X"))
    return peak, expected / 2**20


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], ("skgoss",), ("skgoss",))
    line.add_argument("--shapes", nargs="+", choices=list(CASES), default=list(CASES))
    line.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    asked = line.parse_args()
    os.environ["MALLOC_MMAP_THRESHOLD_"] = str(128 * 1024)
    rows = []
    for name in asked.shapes:
        for threads in asked.threads:
            peak, expected = fresh(measured, name, asked.scale, threads)
            ratio = digits(expected / peak)
            rows.append([name, threads, digits(peak), digits(expected), ratio])
    header = ["shape", "threads", "peak, MB", "estimate, MB", "estimate / peak"]
    title = f"Memory of fits, scale {asked.scale:g}"
    report(title, asked.libraries, table(header, rows))


if __name__ == "__main__":
    main()
