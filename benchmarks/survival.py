"""How good are predicted event times, and how long does a fit take?

Tables of the package SurvSet, and those that scikit-survival ships, at most 2000 rows
of each, random splits into three quarters for training and a quarter for testing, one
thread. C is Harrell's concordance index; IBS is the integrated Brier score of
scikit-survival between the deciles of the event times, with the censoring of the
training rows. Tables are counted on which a variant is at least as good as a rival on
average over the splits, and in brackets those where it is so within a standard error of
the mean difference. XGBoost's Cox model gets Breslow's baseline hazard of its training
rows. Seconds are those of the processor, for the fit. `--time` fits 50,000 rows x 20.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from measure import digits, parser, report, table
from variants import by_variant, on_tables

MOST_ROWS = 2000
# Of a table in the comparison: rows, and columns without one-hot ones.
SIZES = (200, 20000), 200
OF_SCIKIT_SURVIVAL = ("veterans_lung_cancer", "breast_cancer")
RIVALS = ("xgboost, cox", "xgboost, aft", "scikit-survival")


class Lifetimes(NamedTuple):
    """Rows, whether their event was seen, and when."""

    X: Any
    event: np.ndarray
    time: np.ndarray

    def take(self, rows: np.ndarray) -> Lifetimes:
        return Lifetimes(self.X.iloc[rows], self.event[rows], self.time[rows])

    @property
    def y(self) -> np.ndarray:
        """The structured array of scikit-survival."""
        dtype = [("event", bool), ("time", float)]
        return np.array(list(zip(self.event, self.time, strict=True)), dtype=dtype)


class Predicted(NamedTuple):
    """Risks, and the probabilities to live longer than each time."""

    risk: np.ndarray
    survival: np.ndarray


# Of new rows and times.
Predict = Callable[[Any, np.ndarray], Predicted]


# --- Tables ---------------------------------------------------------------------------


def tables() -> list[str]:
    """The names of the tables, which need the package SurvSet."""
    from SurvSet.data import SurvLoader

    found = SurvLoader().df_ds
    (least, most), columns = SIZES
    kept = (found.n >= least) & (found.n <= most) & ~found.is_td
    kept &= found.n_num + found.n_fac <= columns
    return [*sorted(found.ds[kept]), *OF_SCIKIT_SURVIVAL]


@cache
def problem(name: str) -> Lifetimes:
    """The rows of a table."""
    import pandas as pd

    if name in OF_SCIKIT_SURVIVAL:
        from sksurv import datasets

        X, y = getattr(datasets, f"load_{name}")()
        event, times = (np.asarray(y[field]) for field in y.dtype.names)
    else:
        from SurvSet.data import SurvLoader

        frame = SurvLoader().load_dataset(name)["df"]
        event, times = frame["event"].to_numpy(), frame["time"].to_numpy()
        X = frame.drop(columns=["pid", "event", "time"])
    words = X.select_dtypes(exclude=["number", "bool"])
    texts = {k: X[k].map(str, na_action="ignore") for k in words}
    X = X.assign(**{k: text.astype("category") for k, text in texts.items()})
    kept = np.isfinite(times) & (times > 0)
    X = pd.DataFrame(X).reset_index(drop=True)
    return Lifetimes(X, event == 1, np.asarray(times, float)).take(np.flatnonzero(kept))


def one_hot(X: Any) -> np.ndarray:
    """Columns of numbers without missing values."""
    import pandas as pd

    dense = pd.get_dummies(X, dummy_na=False).astype(float)
    return dense.fillna(dense.median()).fillna(0.0).to_numpy()


# --- Adapters -------------------------------------------------------------------------


def _skgoss(objective: str, **options: Any) -> Callable[..., Predict]:
    def fit(train: Lifetimes, seed: int, n_threads: int = 1) -> Predict:
        from skgoss import LGBMRegressor

        model = LGBMRegressor(
            objective=objective, n_jobs=n_threads, random_state=seed, **options
        ).fit(train.X, train.y)
        return lambda X, times: Predicted(
            model.predict(X), model.predict_survival_function(X, times)
        )

    return fit


def breslow(train: Lifetimes, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The event times, and the cumulative baseline hazard."""
    times = np.unique(train.time[train.event])
    order = np.argsort(train.time)
    at_risk = np.cumsum(np.exp(score[order])[::-1])[::-1]
    first = np.searchsorted(train.time[order], times)
    number = [(train.event & (train.time == t)).sum() for t in times]
    return times, np.cumsum(np.array(number) / at_risk[first])


def _xgboost(objective: str, **options: Any) -> Callable[..., Predict]:
    def fit(train: Lifetimes, seed: int, n_threads: int = 1) -> Predict:
        import xgboost as xgb
        from scipy import stats

        data = xgb.DMatrix(train.X, enable_categorical=True)
        if objective == "survival:cox":
            data.set_label(np.where(train.event, train.time, -train.time))
        else:
            data.set_float_info("label_lower_bound", train.time)
            upper = np.where(train.event, train.time, np.inf)
            data.set_float_info("label_upper_bound", upper)
        params = {"objective": objective, "nthread": n_threads, "seed": seed, **options}
        model = xgb.train(params, data, num_boost_round=100)

        def margin(X: Any) -> np.ndarray:
            rows = xgb.DMatrix(X, enable_categorical=True)
            return model.predict(rows, output_margin=True).astype(np.float64)

        def predict(X: Any, times: np.ndarray) -> Predicted:
            score = margin(X)
            if objective == "survival:aft":
                z = np.log(times) - score[:, None]
                return Predicted(-score, stats.norm.sf(z))
            moments, hazard = breslow(train, margin(train.X))
            at = np.searchsorted(moments, times, side="right")
            total = np.append(0.0, hazard)[at]
            return Predicted(score, np.exp(-np.exp(score)[:, None] * total))

        return predict

    return fit


def _scikit_survival(**options: Any) -> Callable[..., Predict]:
    def fit(train: Lifetimes, seed: int, n_threads: int = 1) -> Predict:
        from sksurv.ensemble import GradientBoostingSurvivalAnalysis

        del n_threads  # it has one
        model = GradientBoostingSurvivalAnalysis(random_state=seed, **options)
        n = len(train.X)

        def together(X: Any) -> np.ndarray:
            import pandas as pd

            return one_hot(pd.concat([train.X, X]))[n:]

        model.fit(together(train.X), train.y)

        def predict(X: Any, times: np.ndarray) -> Predicted:
            rows = together(X)
            functions = model.predict_survival_function(rows, return_array=True)
            at = np.searchsorted(model.unique_times_, times, side="right")
            padded = np.hstack([np.ones((len(rows), 1)), functions])
            return Predicted(model.predict(rows), padded[:, at])

        return predict

    return fit


VARIANTS: Mapping[str, Callable[..., Predict]] = {
    "cox": _skgoss("cox"),
    "cox, folds": _skgoss("cox", folds=5),
    "cox, preset": _skgoss("cox", preset="accurate"),
    "cox, preset, folds": _skgoss("cox", preset="accurate", folds=8),
    "aft, preset": _skgoss("aft_normal", preset="accurate"),
    "aft, preset, folds": _skgoss("aft_normal", preset="accurate", folds=8),
    "weibull, preset": _skgoss("aft_extreme", preset="accurate"),
    "xgboost, cox": _xgboost("survival:cox"),
    "xgboost, aft": _xgboost("survival:aft"),
    "scikit-survival": _scikit_survival(),
}


# --- Measurement ----------------------------------------------------------------------


def measured(name: str, variant: str, seed: int) -> tuple[float, float, float]:
    """C, IBS and seconds of one split."""
    from sksurv.metrics import concordance_index_censored, integrated_brier_score

    whole = problem(name)
    order = np.random.default_rng(seed).permutation(len(whole.time))[:MOST_ROWS]
    train, test = map(whole.take, np.split(order, [len(order) * 3 // 4]))
    # The weights of censoring are known up to the last training row.
    test = test.take(np.flatnonzero(test.time < train.time.max()))
    start = time.process_time()
    predict = VARIANTS[variant](train, seed)
    seconds = time.process_time() - start
    seen = test.time[test.event]
    times = np.unique(np.quantile(seen, np.linspace(0.1, 0.9, 17)))
    times = times[(times > test.time.min()) & (times < test.time.max())]
    predicted = predict(test.X, times)
    index = concordance_index_censored(test.event, test.time, predicted.risk)[0]
    score = integrated_brier_score(train.y, test.y, predicted.survival, times)
    return index, score, seconds


def timed(variants: Sequence[str], repeats: int) -> dict[str, float]:
    """The median processor time of a fit of 50,000 rows x 20 on two threads."""
    import pandas as pd

    random = np.random.default_rng(0)
    X = random.normal(size=(50_000, 20))
    dies = random.exponential(np.exp(-X[:, 0] - 0.5 * X[:, 1] * X[:, 2]))
    leaves = random.exponential(1.5, len(X))
    rows = Lifetimes(pd.DataFrame(X), dies <= leaves, np.minimum(dies, leaves))
    found = {}
    for variant in variants:
        seconds = []
        for _ in range(repeats):
            start = time.process_time()
            VARIANTS[variant](rows, 0, 2)
            seconds.append(time.process_time() - start)
        found[variant] = float(np.median(seconds))
    return found


def summary(
    runs: Mapping[str, Mapping[str, np.ndarray]], variants: Sequence[str]
) -> Iterator[list[str]]:
    """Rows of the table of variants: means of tables, and how many are won."""
    for variant, own in by_variant(runs, variants):
        wins = [won(own, runs, [rival]) for rival in RIVALS] + [won(own, runs, RIVALS)]
        means = np.array([values.mean(axis=0) for values in own.values()])
        cells = [digits(100 * means[:, 0].mean()), digits(100 * means[:, 1].mean())]
        yield [variant, f"{len(own)}", *cells, *wins, digits(means[:, 2].sum())]


def won(
    own: Mapping[str, np.ndarray],
    runs: Mapping[str, Mapping[str, np.ndarray]],
    rivals: Sequence[str],
) -> str:
    """On how many tables C and IBS are as good as those of the best of some rivals."""
    signs = np.array([1.0, -1.0])
    both = [name for name in own if set(rivals) <= runs[name].keys()]
    won, tied = np.zeros((2, 2), dtype=int)
    for name in both:
        values = np.array([signs * runs[name][rival][:, :2] for rival in rivals])
        best = values.mean(axis=1).argmax(axis=0)
        gain = signs * own[name][:, :2] - values[best, :, [0, 1]].T
        won += gain.mean(axis=0) >= 0
        error = gain.std(axis=0, ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
        tied += gain.mean(axis=0) >= -error
    return f"{won[0]}, {won[1]} ({tied[0]}, {tied[1]}) of {len(both)}"


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], ["skgoss", "xgboost"])
    line.set_defaults(repeats=5)
    line.add_argument("--tables", nargs="+", metavar="NAME")
    line.add_argument("--time", action="store_true", help="only the time of a fit")
    line.add_argument(
        "--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS)
    )
    asked = line.parse_args()
    if asked.time:
        found = timed(asked.variants, asked.repeats)
        rows = [[variant, digits(seconds)] for variant, seconds in found.items()]
        report("50,000 x 20", asked.libraries, table(["variant", "seconds"], rows))
        return
    names = asked.tables or tables()
    runs = on_tables(measured, names, asked.variants, asked.repeats)
    header = ["variant", "tables", "100 C", "100 IBS"]
    header += [f"C, IBS as good as {rival}" for rival in (*RIVALS, "the best of these")]
    report(
        f"Survival, {asked.repeats} splits",
        asked.libraries,
        table([*header, "seconds"], summary(runs, asked.variants)),
    )


if __name__ == "__main__":
    main()
