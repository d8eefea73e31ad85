"""How good are predicted distributions, and how long do they take?

Real tables of numbers, at most 3000 rows of each, random splits into three quarters for
training and a quarter for testing, one thread. NLL is the mean negative log-likelihood
of the test rows, and CRPS is twice the mean pinball loss of 19 quantiles. Coverage is
the share of test rows between the quantiles 0.1 and 0.9. Seconds are those of the
processor, for the fit. Targets are divided by their standard deviation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from data import rows_of
from intervals import MOST_ROWS, problem, tables
from measure import digits, parser, report, table
from variants import by_variant, on_tables

LEVELS = np.arange(1, 20) / 20
# Whose CRPS and whose NLL others are compared with.
RIVALS = ("catboost, quantiles", "ngboost")
POSITIVE = ("lognormal", "gamma_distribution")
ACCURATE = {"preset": "accurate", "folds": 5}

# The distribution of new rows: SciPy's, or their quantiles.
Predict = Callable[[Any], Any]


def _skgoss(*objectives: str, **options: Any) -> Callable[..., Predict]:
    """Of the objectives that suit the targets, the one with the best folds."""

    def fit(X: Any, y: np.ndarray, seed: int) -> Predict:
        from skgoss import LGBMRegressor

        if objectives == ("regression",):
            LGBMRegressor(n_jobs=1, random_state=seed, **options).fit(X, y)
            return lambda X_new: None
        models = [
            LGBMRegressor(objective=name, n_jobs=1, random_state=seed, **options)
            for name in objectives
            if name not in POSITIVE or y.min() > 0
        ]
        models = [model.fit(X, y) for model in models]
        if len(objectives) > 1:
            models.sort(key=lambda model: model.oof_score_["nll"])
        return models[0].predict_distribution

    return fit


def _numeric(X: Any) -> np.ndarray:
    """Columns of numbers; categories by their codes, and missing ones as -1."""
    if not hasattr(X, "columns"):
        return np.nan_to_num(X, nan=-1.0)
    codes = X.apply(lambda x: x.cat.codes if x.dtype == "category" else x)
    return codes.fillna(-1).to_numpy(np.float64)


def _ngboost(**options: Any) -> Callable[..., Predict]:
    def fit(X: Any, y: np.ndarray, seed: int) -> Predict:
        from ngboost import NGBRegressor

        model = NGBRegressor(verbose=False, random_state=seed, **options)
        model.fit(_numeric(X), y)
        return lambda X_new: model.pred_dist(_numeric(X_new)).dist

    return fit


def _words(X: Any) -> Any:
    if not hasattr(X, "columns"):
        return X
    words = X.select_dtypes("category").astype(object)
    return X.assign(**words.where(words.notna(), "missing").astype(str))


def _catboost(loss: str) -> Callable[..., Predict]:
    def fit(X: Any, y: np.ndarray, seed: int) -> Predict:
        from catboost import CatBoostRegressor
        from scipy import stats

        words = list(X.select_dtypes("category")) if hasattr(X, "columns") else None
        model = CatBoostRegressor(
            loss_function=loss,
            thread_count=1,
            random_seed=seed,
            verbose=False,
            allow_writing_files=False,
            cat_features=words,
        )
        model.fit(_words(X), y)
        if loss.startswith("Multi"):
            return lambda X_new: np.sort(model.predict(_words(X_new)), axis=1)

        def normal(X_new: Any) -> Any:
            mean, variance = model.predict(_words(X_new)).T
            return stats.norm(mean, np.sqrt(variance))

        return normal

    return fit


VARIANTS: Mapping[str, Callable[..., Predict]] = {
    "point": _skgoss("regression"),
    "skgoss": _skgoss("normal"),
    "student": _skgoss("student"),
    "folds": _skgoss("normal", folds=5),
    "student, folds": _skgoss("student", folds=5),
    "student, accurate": _skgoss("student", preset="accurate"),
    "student, accurate, folds": _skgoss("student", **ACCURATE),
    "best of three": _skgoss("student", *POSITIVE, **ACCURATE),
    "catboost, quantiles": _catboost(
        "MultiQuantile:alpha=" + ",".join(f"{level:g}" for level in LEVELS)
    ),
    "catboost": _catboost("RMSEWithUncertainty"),
    "ngboost": _ngboost(),
}


# --- Measurement ----------------------------------------------------------------------


def measured(name: str, variant: str, seed: int) -> tuple[float, float, float, float]:
    """CRPS, NLL, coverage and seconds of one split."""
    whole = problem(name)
    order = np.random.default_rng(seed).permutation(len(whole.y))[:MOST_ROWS]
    train, test = np.split(order, [len(order) * 3 // 4])
    y = whole.y / whole.y[train].std()
    X, X_new = rows_of(whole.X, train), rows_of(whole.X, test)
    start = time.process_time()
    predict = VARIANTS[variant](X, y[train], seed)
    seconds = time.process_time() - start
    predicted, target = predict(X_new), y[test]
    if predicted is None:
        return np.nan, np.nan, np.nan, seconds
    nll = np.nan
    if not isinstance(predicted, np.ndarray):
        nll = -predicted.logpdf(target).mean()
        predicted = np.array([predicted.ppf(level) for level in LEVELS]).T
    error = target[:, None] - predicted
    crps = 2 * np.maximum(LEVELS * error, (LEVELS - 1) * error).mean()
    inside = (predicted[:, 1] <= target) & (target <= predicted[:, -2])
    return crps, nll, inside.mean(), seconds


def summary(
    runs: Mapping[str, Mapping[str, np.ndarray]], variants: Sequence[str]
) -> Iterator[list[str]]:
    """Rows of the table of variants: means of tables, and how many are won."""
    for variant, own in by_variant(runs, variants):
        means = np.array([values.mean(axis=0) for values in own.values()])
        wins = []
        for measure, rival in enumerate(RIVALS):
            ends = [
                (own[name][:, measure].mean(), runs[name][rival][:, measure].mean())
                for name in own
                if rival in runs[name]
            ]
            wins.append(f"{sum(a <= b for a, b in ends)} of {len(ends)}")
        close = int((np.abs(means[:, 2] - 0.8) <= 0.02).sum())
        cells = map(digits, [*means[:, :2].mean(axis=0), 100 * means[:, 2].mean()])
        seconds = digits(means[:, 3].sum())
        yield [variant, f"{len(own)}", *cells, *wins, f"{close}", seconds]


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], ["skgoss"])
    names = tables()
    line.set_defaults(repeats=5)
    line.add_argument(
        "--tables", nargs="+", choices=names, default=names, metavar="NAME"
    )
    line.add_argument(
        "--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS)
    )
    asked = line.parse_args()
    runs = on_tables(measured, asked.tables, asked.variants, asked.repeats)
    header = ["variant", "tables", "CRPS", "NLL", "coverage of 80 %"]
    header += ["CRPS at most CatBoost's", "NLL at most NGBoost's"]
    header += ["coverage within 2 points", "seconds"]
    report(
        f"Distributions, {asked.repeats} splits",
        asked.libraries,
        table(header, summary(runs, asked.variants)),
    )


if __name__ == "__main__":
    main()
