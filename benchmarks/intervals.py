"""Do intervals have their nominal coverage, how wide are they, what do they cost?

Real tables of numbers, at most 3000 rows of each, ten random splits into three quarters
for training and a quarter for testing. All variants use the same five folds and one
thread. Coverage is the share of test rows in their intervals, and a width is the mean
of the test rows. Seconds are those of the processor, for the fit and the intervals, and
for the intervals alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from data import Problem, flights_delays, of_column, rows_of, small_table, small_tables
from measure import digits, parser, report, table
from variants import by_variant, on_tables

MOST_ROWS = 3000
FOLDS = 5
# The variant whose widths and times others are divided by.
RIVAL = "mapie"

# Fits on X and y, for a coverage and a seed; returns a function from rows to intervals
# of the shape (n, 2).
Fit = Callable[[Any, np.ndarray, float, int], Callable[[Any], np.ndarray]]


# --- Adapters -------------------------------------------------------------------------


def _folds(seed: int) -> Any:
    from sklearn.model_selection import KFold

    return KFold(FOLDS, shuffle=True, random_state=seed)


def _skgoss(method: str = "cv", **options: Any) -> Fit:
    def fit(X: Any, y: np.ndarray, coverage: float, seed: int) -> Any:
        from skgoss import LGBMRegressor

        model = LGBMRegressor(
            folds=_folds(seed), n_jobs=1, random_state=seed, **options
        )
        model.fit(X, y)
        return lambda X_new: model.predict_interval(X_new, coverage, method=method)

    return fit


def _mapie(**options: Any) -> Fit:
    """MAPIE's CV+ around LightGBM."""

    def fit(X: Any, y: np.ndarray, coverage: float, seed: int) -> Any:
        from lightgbm import LGBMRegressor
        from mapie.regression import CrossConformalRegressor

        model = LGBMRegressor(n_jobs=1, verbosity=-1, random_state=seed, **options)
        around = CrossConformalRegressor(
            model, confidence_level=coverage, method="plus", cv=_folds(seed)
        )
        around.fit_conformalize(X, y)
        return lambda X_new: around.predict_interval(X_new)[1][:, :, 0]

    return fit


def _mapie_of_quantiles(**options: Any) -> Fit:
    """MAPIE's conformalized quantile regression, which keeps a fifth of the rows."""

    def fit(X: Any, y: np.ndarray, coverage: float, seed: int) -> Any:
        from lightgbm import LGBMRegressor
        from mapie.regression import ConformalizedQuantileRegressor

        model = LGBMRegressor(
            objective="quantile",
            alpha=0.5,
            n_jobs=1,
            verbosity=-1,
            random_state=seed,
            **options,
        )
        train, calibration = next(_folds(seed).split(X))
        around = ConformalizedQuantileRegressor(model, confidence_level=coverage)
        around.fit(rows_of(X, train), y[train])
        around.conformalize(rows_of(X, calibration), y[calibration])
        return lambda X_new: around.predict_interval(X_new)[1][:, :, 0]

    return fit


EARLY = {"early_stopping_round": 10}
QUANTILES = {"objective": "quantile", **EARLY}
VARIANTS: Mapping[str, Fit] = {
    "skgoss": _skgoss(),
    "cv+": _skgoss("cv+"),
    "early stopping": _skgoss(**EARLY),
    "refit": _skgoss(refit=True, **EARLY),
    "accurate": _skgoss(preset="accurate"),
    "quantiles 0.05, 0.95": _skgoss(alpha=[0.05, 0.95], **QUANTILES),
    "quantiles 0.1, 0.9": _skgoss(alpha=[0.1, 0.9], **QUANTILES),
    RIVAL: _mapie(),
    "mapie, quantiles": _mapie_of_quantiles(),
}


# --- Tables ---------------------------------------------------------------------------

# Other tables: the column that is predicted instead of their classes.
COLUMNS = {"attrition": "MonthlyIncome", "hotel_cancel": "average_daily_rate"}


@cache
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


def measured(
    name: str, variant: str, seed: int, coverage: float
) -> tuple[float, float, float, float]:
    """Coverage, mean width, all seconds and those of the intervals, of one split."""
    whole = problem(name)
    order = np.random.default_rng(seed).permutation(len(whole.y))[:MOST_ROWS]
    train, test = np.split(order, [len(order) * 3 // 4])
    X, X_new = rows_of(whole.X, train), rows_of(whole.X, test)
    start = time.process_time()
    predict_interval = VARIANTS[variant](X, whole.y[train], coverage, seed)
    fitted = time.process_time()
    lower, upper = np.asarray(predict_interval(X_new)).T
    end = time.process_time()
    inside = (lower <= whole.y[test]) & (whole.y[test] <= upper)
    return inside.mean(), (upper - lower).mean(), end - start, end - fitted


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
    for variant, own in by_variant(runs, variants):
        covered = {name: 100 * values[:, 0].mean() for name, values in own.items()}
        low, high = min(covered, key=covered.__getitem__), max(covered.values())
        base = {n: runs[n][RIVAL].mean(axis=0) for n in own if RIVAL in runs[n]}
        ratios = [own[n].mean(axis=0)[1:] / base[n][1:] for n in base]
        means = np.exp(np.log(ratios).mean(axis=0)) if ratios else np.full(3, np.nan)
        yield [
            variant,
            f"{len(own)}",
            f"{np.mean([*covered.values()]):.1f}",
            f"{low} {covered[low]:.1f}",
            f"{high:.1f}",
            digits(means[0]),
            f"{sum(ratio[0] < 1 for ratio in ratios)} of {len(ratios)}",
            digits(sum(values[:, 2].mean() for values in own.values())),
            *map(digits, means[1:]),
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
    runs = on_tables(
        measured, asked.tables, asked.variants, asked.repeats, asked.coverage
    )
    header = ["variant", "tables", "mean coverage, %", "least", "most"]
    header += ["width / MAPIE's", "narrower", "seconds a split", "time / MAPIE's"]
    header += ["time of the intervals / MAPIE's"]
    widths = [f"width, {variant}" for variant in asked.variants]
    report(
        f"Intervals for {asked.coverage:.0%}, {FOLDS} folds, {asked.repeats} splits",
        asked.libraries,
        table(header, summary(runs, asked.variants)),
        table(["table", *asked.variants, *widths], by_table(runs, asked.variants)),
    )


if __name__ == "__main__":
    main()
