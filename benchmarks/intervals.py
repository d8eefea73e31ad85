"""Do prediction intervals cover what they say, how wide are they, what do they cost?

Real tables of numbers, at most 3000 rows of each, ten random splits into three quarters
for training and a quarter for testing. All variants use the same five folds and one
thread. Coverage is the share of test rows in their intervals, and a width is the mean
of the test rows. Seconds are those of the processor for the fit and the intervals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from data import Problem, flights_delays, of_column, rows_of, small_table, small_tables
from measure import Failed, attempt, digits, parser, report, table

MOST_ROWS = 3000
FOLDS = 5
# The variant whose widths and times others are divided by.
RIVAL = "mapie"

Fit = Callable[[Any, np.ndarray, Any, float, int], np.ndarray]


# --- Adapters: fit on rows, then intervals of others, (n, 2) --------------------------


def _folds(seed: int) -> Any:
    from sklearn.model_selection import KFold

    return KFold(FOLDS, shuffle=True, random_state=seed)


def _skgoss(**options: Any) -> Fit:
    def fit(X: Any, y: np.ndarray, X_new: Any, coverage: float, seed: int) -> Any:
        from skgoss import LGBMRegressor

        model = LGBMRegressor(
            folds=_folds(seed), n_jobs=1, random_state=seed, **options
        )
        return model.fit(X, y).predict_interval(X_new, coverage)

    return fit


def _mapie(**options: Any) -> Fit:
    """MAPIE's CV+ around LightGBM."""

    def fit(X: Any, y: np.ndarray, X_new: Any, coverage: float, seed: int) -> Any:
        from lightgbm import LGBMRegressor
        from mapie.regression import CrossConformalRegressor

        model = LGBMRegressor(n_jobs=1, verbosity=-1, random_state=seed, **options)
        around = CrossConformalRegressor(
            model, confidence_level=coverage, method="plus", cv=_folds(seed)
        )
        around.fit_conformalize(X, y)
        return around.predict_interval(X_new)[1][:, :, 0]

    return fit


def _mapie_of_quantiles(**options: Any) -> Fit:
    """MAPIE's conformalized quantile regression, which keeps a fifth of the rows."""

    def fit(X: Any, y: np.ndarray, X_new: Any, coverage: float, seed: int) -> Any:
        from lightgbm import LGBMRegressor
        from mapie.regression import ConformalizedQuantileRegressor

        model = LGBMRegressor(
            objective="quantile", n_jobs=1, verbosity=-1, random_state=seed, **options
        )
        train, calibration = next(_folds(seed).split(X))
        around = ConformalizedQuantileRegressor(model, confidence_level=coverage)
        around.fit(rows_of(X, train), y[train])
        around.conformalize(rows_of(X, calibration), y[calibration])
        return around.predict_interval(X_new)[1][:, :, 0]

    return fit


QUANTILES = {"objective": "quantile", "alpha": [0.05, 0.95]}
VARIANTS: Mapping[str, Fit] = {
    "skgoss": _skgoss(),
    "skgoss, early stopping": _skgoss(early_stopping_round=10),
    "skgoss, refit": _skgoss(refit=True, early_stopping_round=10),
    "skgoss, accurate": _skgoss(preset="accurate"),
    "skgoss, quantiles": _skgoss(**QUANTILES),
    "skgoss, quantiles, early stopping": _skgoss(**QUANTILES, early_stopping_round=10),
    RIVAL: _mapie(),
    "mapie, quantiles": _mapie_of_quantiles(),
}


# --- Tables ---------------------------------------------------------------------------

# Other tables: the column that is predicted instead of their classes.
COLUMNS = {"attrition": "MonthlyIncome", "hotel_cancel": "average_daily_rate"}


def problem(name: str) -> Problem:
    """Load a table of numbers."""
    if name in COLUMNS:
        return of_column(small_table(name), COLUMNS[name])
    return flights_delays() if name == "flights" else small_table(name)


def tables() -> list[str]:
    """The names of the tables of numbers."""
    names = [name for name in small_tables() if name in COLUMNS or _has_numbers(name)]
    return [*names, "california_housing, categories", "diamonds, categories", "flights"]


def _has_numbers(name: str) -> bool:
    return small_table(name).task == "regression"


# --- Measurement ----------------------------------------------------------------------


def run(name: str, variant: str, coverage: float, repeats: int) -> np.ndarray:
    """Coverage, mean width and seconds of each split."""
    whole, fit = problem(name), VARIANTS[variant]
    found = []
    for split in range(-1, repeats):
        # The first one is not counted: it imports, and compiles what needs it.
        order = np.random.default_rng(max(split, 0)).permutation(len(whole.y))
        train, test = np.split(order[:MOST_ROWS], [len(order[:MOST_ROWS]) * 3 // 4])
        rows = [rows_of(whole.X, part) for part in (train, test)]
        start = time.process_time()
        ends = fit(rows[0], whole.y[train], rows[1], coverage, max(split, 0))
        seconds = time.process_time() - start
        y, (lower, upper) = whole.y[test], np.asarray(ends).T
        inside = (lower <= y) & (y <= upper)
        found.append((inside.mean(), (upper - lower).mean(), seconds))
    return np.array(found[1:])


def by_table(
    runs: Mapping[str, Mapping[str, np.ndarray]], variants: Sequence[str]
) -> Iterator[list[str]]:
    """Rows of the table of tables."""
    for name, found in runs.items():
        base = found.get(RIVAL)
        yield [
            name,
            *(
                f"{100 * found[v][:, 0].mean():.1f}" if v in found else "-"
                for v in variants
            ),
            *(
                digits(found[v][:, 1].mean() / base[:, 1].mean())
                if v in found and base is not None
                else "-"
                for v in variants
            ),
        ]


def summary(
    runs: Mapping[str, Mapping[str, np.ndarray]], variants: Sequence[str]
) -> Iterator[list[str]]:
    """Rows of the table of variants."""
    for variant in variants:
        own = {name: found[variant] for name, found in runs.items() if variant in found}
        if not own:
            continue
        covered = {name: 100 * values[:, 0].mean() for name, values in own.items()}
        low, high = min(covered, key=covered.__getitem__), max(covered.values())
        base = {n: runs[n][RIVAL].mean(axis=0) for n in own if RIVAL in runs[n]}
        ratios = np.array([own[n].mean(axis=0)[1:] / base[n][1:] for n in base])
        means = np.exp(np.log(ratios).mean(axis=0)) if len(ratios) else (np.nan, np.nan)
        narrower = (ratios[:, 0] < 1).sum() if len(ratios) else 0
        seconds = sum(values[:, 2].mean() for values in own.values())
        yield [
            variant,
            f"{len(own)}",
            f"{np.mean([*covered.values()]):.1f}",
            f"{low} {covered[low]:.1f}",
            f"{high:.1f}",
            digits(means[0]),
            f"{narrower} of {len(ratios)}",
            digits(seconds),
            digits(means[1]),
        ]


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], ["skgoss", "lightgbm"])
    names = tables()
    line.set_defaults(repeats=10)
    line.add_argument(
        "--tables", nargs="+", choices=names, default=names, metavar="NAME"
    )
    line.add_argument(
        "--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS)
    )
    line.add_argument("--coverage", type=float, default=0.9)
    asked = line.parse_args()
    runs: dict[str, dict[str, np.ndarray]] = {name: {} for name in asked.tables}
    for name in asked.tables:
        for variant in asked.variants:
            found = attempt(
                run, name, variant, asked.coverage, asked.repeats, threads=1
            )
            if isinstance(found, Failed):
                print(f"{name}, {variant}: {found.reason}", flush=True)
            else:
                runs[name][variant] = found
    header = ["variant", "tables", "mean coverage, %", "least", "most"]
    header += ["width / MAPIE's", "narrower", "seconds a split", "time / MAPIE's"]
    widths = [f"width, {variant}" for variant in asked.variants]
    report(
        f"Intervals for {asked.coverage:.0%}, {FOLDS} folds, {asked.repeats} splits",
        asked.libraries,
        table(header, summary(runs, asked.variants)),
        table(["table", *asked.variants, *widths], by_table(runs, asked.variants)),
    )


if __name__ == "__main__":
    main()
