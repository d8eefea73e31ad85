"""How long does a fit of several outputs take, and how good are trees that they share?

Fits of several targets or quantiles grow the trees of a fit for each, and shared trees
(``multi_strategy="multi_output_tree"``) have one tree a round. Seconds are those of the
processor, with one thread, so that other programs on the machine count little.
``--tables`` compares the losses on held-out rows instead, on real tables of at most
8000 rows: the best of all rounds, and that of round 100. Several targets are the
numeric columns of a table, every second one, up to five, divided by their standard
deviation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from data import Problem, small_table, small_tables
from measure import alternate, digits, parser, report, table

SHARED = {"multi_strategy": "multi_output_tree"}
THREE = (0.05, 0.5, 0.95)
NINE = tuple(k / 10 for k in range(1, 10))

# Rows, columns, rounds; levels of quantiles, or the number of targets, or a
# distribution.
SHAPES: dict[str, tuple[int, int, int, Any]] = {
    "three quantiles": (20_000, 20, 30, THREE),
    "five targets, few rows": (500, 10, 50, 5),
    "five targets": (20_000, 20, 30, 5),
    "a hundred targets": (2_000, 10, 20, 100),
    "nine quantiles": (100_000, 28, 100, NINE),
    "ten targets": (100_000, 28, 100, 10),
    "'normal'": (100_000, 28, 100, "normal"),
}
MOST_ROWS, ROUNDS = 8000, 300
KINDS = ("targets", "quantiles", "normal")


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__, ("skgoss",))
    line.set_defaults(repeats=5)
    line.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    line.add_argument("--tables", action="store_true")
    line.add_argument("--peers", action="store_true", help="XGBoost and CatBoost, too")
    asked = line.parse_args()
    if asked.tables:
        for kind in KINDS:
            _report_losses(kind)
        return
    rows = [_times(name, asked.repeats, peers=asked.peers) for name in asked.shapes]
    head = ["outputs", "rows x columns", "one output, ms", "a fit for each, ms"]
    head += ["one fit, ms", "shared trees, ms", "/ one output"]
    if asked.peers:
        head += ["XGBoost, ms", "CatBoost, ms"]
    report("one fit of several outputs", ["skgoss"], table(head, rows))


# --- Times ----------------------------------------------------------------------------


def _times(name: str, repeats: int, *, peers: bool) -> list[str]:
    """A row of the table of times."""
    n_rows, n_columns, rounds, of = SHAPES[name]
    jobs = _fits(n_rows, n_columns, rounds, of)
    if peers:
        jobs |= _peers(n_rows, n_columns, rounds, of)
    times = alternate({key: partial(_seconds, jobs[key]) for key in jobs}, repeats)
    best = {str(key): min(values) for key, values in times.items()}
    cells = [digits(1e3 * best[key]) if key in best else "" for key in jobs]
    ratio = digits(best["shared"] / best["one"])
    ours, others = cells[:4], cells[4:]
    return [name, f"{n_rows:,} x {n_columns}", *ours, ratio, *others]


def _data(n_rows: int, n_columns: int, n_targets: int | None) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    if n_targets is None:
        return X, X[:, 0] + np.abs(X[:, 1]) * rng.standard_normal(n_rows)
    weight = rng.standard_normal((n_columns, n_targets))
    Y = X @ (weight * (rng.random(weight.shape) < 0.3))
    return X, Y + rng.standard_normal(Y.shape)


def _fits(
    n_rows: int, n_columns: int, rounds: int, of: Any
) -> dict[str, Callable[[], Any]]:
    """Fits of one output, of each, of all, and with shared trees."""
    from skgoss import LGBMRegressor

    model = partial(LGBMRegressor, n_estimators=rounds, n_jobs=1)
    X, Y = _data(n_rows, n_columns, of if isinstance(of, int) else None)
    if isinstance(of, int):
        alone = [partial(model().fit, X, y) for y in Y.T]
        options: dict[str, Any] = {}
    elif isinstance(of, str):
        alone, options = [partial(model().fit, X, Y)], {"objective": of}
    else:
        quantile = partial(model, objective="quantile")
        alone = [partial(quantile(alpha=level).fit, X, Y) for level in of]
        options = {"objective": "quantile", "alpha": of}
    return {
        "one": alone[0],
        "each": lambda: [fit() for fit in alone],
        "all": partial(model(**options).fit, X, Y),
        "shared": partial(model(**options, **SHARED).fit, X, Y),
    }


def _peers(
    n_rows: int, n_columns: int, rounds: int, of: Any
) -> dict[str, Callable[[], Any]]:
    """Fits of XGBoost with vector leaves, and of CatBoost; none of distributions."""
    if isinstance(of, str):
        return {}
    import xgboost
    from catboost import CatBoostRegressor

    X, Y = _data(n_rows, n_columns, of if isinstance(of, int) else None)
    theirs: dict[str, Any] = {}
    loss = "MultiRMSE"
    if not isinstance(of, int):
        theirs = {"objective": "reg:quantileerror", "quantile_alpha": np.array(of)}
        loss = "MultiQuantile:alpha=" + ",".join(map(str, of))
    vectors = xgboost.XGBRegressor(
        n_estimators=rounds,
        learning_rate=0.1,
        max_leaves=31,
        max_depth=0,
        grow_policy="lossguide",
        tree_method="hist",
        n_jobs=1,
        **SHARED,
        **theirs,
    )
    # Trees of depth 5 have 32 leaves.
    symmetric = CatBoostRegressor(
        iterations=rounds,
        learning_rate=0.1,
        depth=5,
        loss_function=loss,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )
    return {
        "xgboost": partial(vectors.fit, X, Y),
        "catboost": partial(symmetric.fit, X, Y),
    }


def _seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


# --- Losses ---------------------------------------------------------------------------


def _report_losses(kind: str) -> None:
    """Print the losses of shared trees, compared with those of separate trees."""
    rows, ratios = [], []
    for name in small_tables():
        for X, y in _problems(small_table(name), kind):
            separate, shared = (_curve(kind, X, y, o) for o in ({}, SHARED))
            both = [curve.min() for curve in (separate, shared)]
            at = [curve[99] for curve in (separate, shared)]
            # Differences of log-likelihoods are compared, and ratios of other losses.
            pairs = [both, at]
            compare = np.subtract if kind == "normal" else np.divide
            found = [float(compare(new, old)) for old, new in pairs]
            ratios.append(found)
            rounds = [int(curve.argmin()) + 1 for curve in (separate, shared)]
            cells = [*map(digits, both), *map(str, rounds)]
            rows.append([name, f"{len(y):,}", *cells, *(f"{x:.3f}" for x in found)])
    mean = np.mean if kind == "normal" else _geometric_mean
    means = [f"{mean([pair[k] for pair in ratios]):.4f}" for k in (0, 1)]
    rows.append(["mean", "", "", "", "", "", *means])
    head = ["table", "rows", "separate", "shared", "its best round", "that of shared"]
    head += ["shared, compared", "after 100 rounds"]
    report(f"shared trees: {kind}", ["skgoss"], table(head, rows))


def _geometric_mean(ratios: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def _problems(problem: Problem, kind: str) -> Iterator[tuple[Any, np.ndarray]]:
    """The columns and targets of a table, if it has such targets."""
    import pandas as pd

    X = pd.DataFrame(problem.X)[:MOST_ROWS]
    y = np.asarray(problem.y, dtype=np.float64)[:MOST_ROWS]
    is_number = problem.task == "regression"
    if kind != "targets":
        if is_number:
            yield X, y
        return
    numbers = X.select_dtypes("number")
    wide = numbers.columns[(numbers.nunique() >= 20) & (numbers.notna().mean() > 0.9)]
    chosen = list(wide[::2][: 5 - is_number])
    Y = X[chosen].to_numpy(np.float64)
    Y = np.column_stack([y, Y]) if is_number else Y
    if Y.shape[1] > 1:
        yield X.drop(columns=chosen), Y / np.nanstd(Y, axis=0)


def _curve(kind: str, X: Any, y: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
    """The loss of every third row after each round."""
    from skgoss import LGBMRegressor

    metric = {"targets": "rmse", "quantiles": "quantile", "normal": "nll"}[kind]
    chosen: dict[str, Any] = {
        "targets": {},
        "quantiles": {"objective": "quantile", "alpha": NINE},
        "normal": {"objective": "normal"},
    }[kind]
    held = np.arange(len(y)) % 3 == 0
    model = LGBMRegressor(n_estimators=ROUNDS, n_jobs=1, **chosen, **options)
    model.fit(X[~held], y[~held], eval_set=[(X[held], y[held])], eval_metric=metric)
    return np.array(model.evals_result_["valid_0"][metric])


if __name__ == "__main__":
    main()
