"""Do fits with `time` predict later rows as well as splits by hand?

Tables with dates. The rows before three cuts are learned from, in random order, and the
sixth of the rows after a cut is predicted. By hand, rows are sorted by time: the last
fifth is an evaluation set, or scikit-learn's TimeSeriesSplit makes the folds. A loss is
the squared error, or the log loss, divided by that of the evaluation set made by hand.
Coverage is the fraction of later rows in their 90% intervals or prediction sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from data import DATED, Problem, rows_of
from measure import Failed, attempt, digits, parser, report, table

CUTS = (0.6, 0.75, 0.9)
COVERAGE = 0.9
ROUNDS = {"n_estimators": 400, "learning_rate": 0.05}
EARLY = {"early_stopping_round": 30, **ROUNDS}

# The variant whose losses others are divided by.
BY_HAND = "evaluation set by hand"

# A fit on rows, targets and times.
Fit = Callable[[Any, Any, np.ndarray, np.ndarray], Any]


def _with_times(**options: Any) -> Fit:
    return lambda kind, X, y, time: kind(**options).fit(X, y, time=time)


def _without_times(**options: Any) -> Fit:
    return lambda kind, X, y, time: kind(**options).fit(X, y)


def _sorted_folds(kind: Any, X: Any, y: np.ndarray, time: np.ndarray) -> Any:
    from sklearn.model_selection import TimeSeriesSplit

    order = np.argsort(time, kind="stable")
    model = kind(folds=TimeSeriesSplit(5), refit=True, **EARLY)
    return model.fit(rows_of(X, order), y[order])


def _evaluation_set(kind: Any, X: Any, y: np.ndarray, time: np.ndarray) -> Any:
    order = np.argsort(time, kind="stable")
    early, late = np.split(order, [len(order) * 4 // 5])
    stopped = kind(**EARLY).fit(
        rows_of(X, early), y[early], eval_set=[(rows_of(X, late), y[late])]
    )
    return kind(**ROUNDS | {"n_estimators": stopped.n_estimators_}).fit(X, y)


VARIANTS: Mapping[str, Fit] = {
    BY_HAND: _evaluation_set,
    "TimeSeriesSplit by hand": _sorted_folds,
    "time, held out": _with_times(refit=True, validation_fraction=0.2, **EARLY),
    "time, folds": _with_times(folds=5, refit=True, **EARLY),
    "time, folds, mean": _with_times(folds=5, **EARLY),
    "time, accurate": _with_times(preset="accurate"),
    "random folds": _without_times(folds=5, refit=True, **EARLY),
    "random, accurate": _without_times(preset="accurate"),
}


def run(name: str, variants: Sequence[str]) -> dict[str, np.ndarray]:
    """The loss and the coverage of each variant after each cut."""
    whole, times = DATED[name]()
    order = np.argsort(times, kind="stable")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for cut in CUTS:
        n = int(cut * len(order))
        # No day is on both sides.
        known = np.flatnonzero(times < times[order[n]])
        later = np.setdiff1d(order[n : n + len(order) // 6], known)
        known = np.random.default_rng(0).permutation(known)
        for variant in variants:
            score = _scored(whole, times, known, later, VARIANTS[variant])
            found[variant].append(score)
    return {variant: np.array(scores) for variant, scores in found.items()}


def _scored(
    whole: Problem, times: np.ndarray, known: np.ndarray, later: np.ndarray, fit: Fit
) -> tuple[float, float]:
    from sklearn.metrics import log_loss, mean_squared_error

    from skgoss import LGBMClassifier, LGBMRegressor

    def kind(**options: Any) -> Any:
        numbers = whole.task == "regression"
        estimator = LGBMRegressor if numbers else LGBMClassifier
        return estimator(n_jobs=1, random_state=0, **options)

    model = fit(kind, rows_of(whole.X, known), whole.y[known], times[known])
    X, y = rows_of(whole.X, later), whole.y[later]
    has_folds = model.folds is not None
    if whole.task == "regression":
        loss = mean_squared_error(y, model.predict(X))
        if not has_folds:
            return loss, np.nan
        low, high = model.predict_interval(X, COVERAGE).T
        return loss, float(np.mean((low <= y) & (y <= high)))
    loss = log_loss(y, model.predict_proba(X), labels=model.classes_)
    if not has_folds:
        return loss, np.nan
    sets = model.predict_set(X, COVERAGE)
    return loss, float(
        sets[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()
    )


def by_variant(
    runs: Mapping[str, Mapping[str, np.ndarray]], variants: Sequence[str]
) -> Iterator[list[str]]:
    """Rows of the table: losses relative to those by hand, then coverages."""
    for variant in variants:
        loss, covered = [], []
        for found in runs.values():
            ratio = found[variant][:, 0] / found[BY_HAND][:, 0]
            loss.append(float(np.exp(np.log(ratio).mean())))
            covered.append(100 * float(found[variant][:, 1].mean()))
        mean = float(np.exp(np.log(loss).mean()))
        shares = ["-" if np.isnan(c) else f"{c:.1f}" for c in covered]
        yield [variant, digits(mean), *map(digits, loss), *shares]


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], ["skgoss"])
    names = list(DATED)
    line.add_argument("--tables", nargs="+", choices=names, default=names)
    asked = line.parse_args()
    runs = {}
    for name in asked.tables:
        found = attempt(run, name, list(VARIANTS), threads=1)
        if isinstance(found, Failed):
            print(f"{name}: {found.reason}", flush=True)
        else:
            runs[name] = found
    header = ["variant", "mean loss", *(f"loss, {name}" for name in runs)]
    header += [f"coverage, {name}, %" for name in runs]
    report(
        "Later rows",
        asked.libraries,
        table(header, by_variant(runs, list(VARIANTS))),
    )


if __name__ == "__main__":
    main()
