"""How long do exact SHAP values and their interactions take?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from adapters import EQUAL, make
from data import dense_binary
from measure import alternate, best_of, digits, fresh, machine, parser, table

# Rows that each library explains in one call.
ROWS = {
    "values": {"skgoss": 5000, "lightgbm": 200, "xgboost": 200, "shap": 200},
    "interactions": {"skgoss": 2000, "xgboost": 2, "shap": 4},
}


def of_skgoss(model: Any, kind: str, threads: int) -> Callable[[Any], Any]:
    """Explain by this package."""
    option = {"values": "pred_contrib", "interactions": "pred_interactions"}[kind]
    return partial(model.predict, n_jobs=threads, **{option: True})


def of_lightgbm(model: Any, kind: str, threads: int) -> Callable[[Any], Any]:
    """Explain by LightGBM, which has no interactions."""
    return partial(model.booster_.predict, pred_contrib=True, num_threads=threads)


def of_xgboost(model: Any, kind: str, threads: int) -> Callable[[Any], Any]:
    """Explain by XGBoost."""
    from xgboost import DMatrix

    booster = model.get_booster()
    booster.set_param({"nthread": threads})
    option = {"values": "pred_contribs", "interactions": "pred_interactions"}[kind]
    return lambda X: booster.predict(DMatrix(X, nthread=threads), **{option: True})


def of_shap(model: Any, kind: str, threads: int) -> Callable[[Any], Any]:
    """Explain a model of LightGBM by shap, which has one thread."""
    from shap import TreeExplainer

    explainer = TreeExplainer(model)
    # Otherwise shap asks LightGBM for the values.
    explainer.model.model_type = "internal"
    if kind == "values":
        return partial(explainer.shap_values, check_additivity=False)
    return explainer.shap_interaction_values


EXPLAINERS = {
    "skgoss": of_skgoss,
    "lightgbm": of_lightgbm,
    "xgboost": of_xgboost,
    "shap": of_shap,
}


def burst(library: str, kind: str, n_leaves: int, threads: int, budget: float) -> float:
    """Fit, and return the best time of a row in microseconds."""
    problem = dense_binary(0.1)
    X, y = problem.X[:50_000].astype(np.float64), problem.y[:50_000]
    parameters = {**EQUAL, "num_leaves": n_leaves, "n_jobs": threads}
    fitted = "lightgbm" if library == "shap" else library
    model = make(fitted, "binary", parameters).fit(X, y)
    rows = X[: ROWS[kind][library]]
    explain = EXPLAINERS[library](model, kind, threads)
    return best_of(lambda: explain(rows), budget) / len(rows) * 1e6


def compare(asked: Any, kind: str, n_leaves: int, threads: int) -> list[list[Any]]:
    """Measure the libraries in turn; rows of the table."""
    libraries = [name for name in asked.libraries if name in ROWS[kind]]
    jobs = {
        name: partial(
            fresh, burst, name, kind, n_leaves, threads, asked.budget, threads=threads
        )
        for name in libraries
    }
    times = {name: min(found) for name, found in alternate(jobs, asked.repeats).items()}
    ours = times.get("skgoss", float("nan"))
    return [
        [kind, n_leaves, threads, name, digits(times[name]), digits(times[name] / ours)]
        for name in libraries
    ]


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__, tuple(EXPLAINERS), tuple(EXPLAINERS))
    line.add_argument("--kinds", nargs="+", choices=list(ROWS), default=list(ROWS))
    line.add_argument("--leaves", nargs="+", type=int, default=[31, 127])
    line.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    line.add_argument("--budget", type=float, default=1.0, help="seconds a turn")
    asked = line.parse_args()
    rows = [
        row
        for kind in asked.kinds
        for n_leaves in asked.leaves
        for threads in asked.threads
        for row in compare(asked, kind, n_leaves, threads)
    ]
    header = ["kind", "leaves", "threads", "library", "µs a row", "it / skgoss"]
    print("## SHAP values of 28 columns, 100 trees\n")
    print(machine(["skgoss", "lightgbm", "xgboost"]), f"shap {version('shap')}.\n")
    print(table(header, rows))


if __name__ == "__main__":
    main()
