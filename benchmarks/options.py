"""Is every objective, way of boosting and constraint as accurate as LightGBM's?

Generated data, the same options in both libraries, repeated 5-fold cross-validation on
the same folds; differences are judged as in `accuracy.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from accuracy import FOLDS, judged
from adapters import EQUAL, make
from data import signal
from measure import digits, parser, report, table
from scipy.special import expit

# Rows of a query; of other targets, rows that stay together in a fold.
DOCUMENTS = 20
N_COLUMNS = 13

Array = np.ndarray


def _probabilities(s: Array, rng: np.random.Generator) -> Array:
    return expit(s + rng.standard_normal(len(s)))


def _claims(s: Array, rng: np.random.Generator) -> Array:
    """Sums of as many amounts as there are claims: most are 0."""
    n_claims = rng.poisson(np.exp(s / 4 - 1))
    return rng.gamma(2.0 * n_claims + 1e-300) * np.exp(s / 4)


def _graded(s: Array, rng: np.random.Generator) -> Array:
    noisy = s + rng.standard_normal(len(s))
    return np.searchsorted(np.quantile(noisy, [0.5, 0.75, 0.9, 0.97]), noisy)


TARGETS: Mapping[str, Callable[[Array, np.random.Generator], Array]] = {
    "numbers": lambda s, rng: s + rng.standard_normal(len(s)),
    "outliers": lambda s, rng: s + rng.standard_t(1.5, len(s)),
    "counts": lambda s, rng: rng.poisson(np.exp(s / 3)).astype(float),
    "amounts": lambda s, rng: rng.gamma(2.0, np.exp(s / 3)),
    "claims": _claims,
    "probabilities": _probabilities,
    "two classes": lambda s, rng: (rng.random(len(s)) < expit(s)).astype(int),
    "five classes": _graded,
    "grades": _graded,
}
TASKS = {"two classes": "binary", "five classes": "multiclass", "grades": "ranking"}


def _cross_entropy(y: Array, p: Array) -> float:
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return -np.mean(y * np.log(p) + (1 - y) * np.log1p(-p))


def _log_loss(y: Array, p: Array) -> float:
    return -np.mean(np.log(np.clip(p[np.arange(len(y)), y], 1e-15, None)))


def _huber(y: Array, p: Array) -> float:
    error = np.abs(y - p)
    return np.mean(np.where(error < 0.9, error**2 / 2, 0.9 * (error - 0.45)))


def _fair(y: Array, p: Array) -> float:
    error = np.abs(y - p)
    return np.mean(error - np.log1p(error))


def _pinball(y: Array, p: Array) -> float:
    return np.mean(np.maximum(0.9 * (y - p), 0.1 * (p - y)))


def _tweedie(y: Array, p: Array) -> float:
    from sklearn.metrics import mean_tweedie_deviance

    return mean_tweedie_deviance(y, p, power=1.5)


def _missing_ndcg(y: Array, p: Array) -> float:
    from sklearn.metrics import ndcg_score

    shape = (-1, DOCUMENTS)
    return 1 - ndcg_score((2.0**y - 1).reshape(shape), p.reshape(shape), k=10)


# Less is better in all of them.
LOSSES: Mapping[str, Callable[[Array, Array], float]] = {
    "squared error": lambda y, p: np.mean((y - p) ** 2),
    "absolute error": lambda y, p: np.mean(np.abs(y - p)),
    "Huber": _huber,
    "Fair": _fair,
    "pinball, 0.9": _pinball,
    "MAPE": lambda y, p: np.mean(np.abs(y - p) / np.maximum(1, np.abs(y))),
    "Poisson": lambda y, p: np.mean(p - y * np.log(p)),
    "gamma": lambda y, p: np.mean(y / p + np.log(p)),
    "Tweedie deviance": _tweedie,
    "cross-entropy": _cross_entropy,
    "cross-entropy of 1 - exp(-p)": lambda y, p: _cross_entropy(y, -np.expm1(-p)),
    "log loss": _log_loss,
    "1 - NDCG@10": _missing_ndcg,
}


@dataclass(frozen=True)
class Case:
    """One line of the table.

    Parameters
    ----------
    target : str
        A key of `TARGETS`.
    loss : str
        A key of `LOSSES`.
    options : mapping
        By LightGBM's names.
    """

    target: str
    loss: str
    options: Mapping[str, Any] = field(default_factory=dict)


def _numbers(**options: Any) -> Case:
    return Case("numbers", "squared error", options)


# The signal increases with columns 4 to 9, whatever the others are.
MONOTONE = [0] * 4 + [1] * 6 + [0] * 3
INTERACTIONS = [[0, 1], [2], [3], [4, 5, 6, 7, 8, 9], [10, 11, 12]]
FORCED = {"feature": 10, "threshold": 0.5, "left": {"feature": 12, "threshold": 0.0}}
BAGGING = {"subsample": 0.7, "subsample_freq": 1}

CASES: Mapping[str, Case] = {
    "objective regression": _numbers(),
    "reg_sqrt": _numbers(reg_sqrt=True),
    "objective regression_l1": Case(
        "outliers", "absolute error", {"objective": "regression_l1"}
    ),
    "objective huber": Case("outliers", "Huber", {"objective": "huber"}),
    "objective fair": Case("outliers", "Fair", {"objective": "fair"}),
    "objective quantile": Case(
        "numbers", "pinball, 0.9", {"objective": "quantile", "alpha": 0.9}
    ),
    "objective mape": Case("amounts", "MAPE", {"objective": "mape"}),
    "objective poisson": Case("counts", "Poisson", {"objective": "poisson"}),
    "objective gamma": Case("amounts", "gamma", {"objective": "gamma"}),
    "objective tweedie": Case("claims", "Tweedie deviance", {"objective": "tweedie"}),
    "objective cross_entropy": Case(
        "probabilities", "cross-entropy", {"objective": "cross_entropy"}
    ),
    "objective cross_entropy_lambda": Case(
        "probabilities",
        "cross-entropy of 1 - exp(-p)",
        {"objective": "cross_entropy_lambda"},
    ),
    "objective binary": Case("two classes", "log loss"),
    "is_unbalance": Case("two classes", "log loss", {"is_unbalance": True}),
    "objective multiclass": Case("five classes", "log loss"),
    "objective multiclassova": Case(
        "five classes", "log loss", {"objective": "multiclassova"}
    ),
    "objective lambdarank": Case("grades", "1 - NDCG@10"),
    "objective rank_xendcg": Case(
        "grades", "1 - NDCG@10", {"objective": "rank_xendcg"}
    ),
    "bagging": _numbers(**BAGGING),
    "goss": _numbers(data_sample_strategy="goss"),
    "dart": _numbers(boosting_type="dart"),
    "rf": _numbers(boosting_type="rf", **BAGGING),
    "bagging by class": Case(
        "two classes",
        "log loss",
        {"pos_bagging_fraction": 0.5, "neg_bagging_fraction": 0.8, "subsample_freq": 1},
    ),
    "monotone, basic": _numbers(
        monotone_constraints=MONOTONE, monotone_constraints_method="basic"
    ),
    "monotone, intermediate": _numbers(
        monotone_constraints=MONOTONE, monotone_constraints_method="intermediate"
    ),
    "monotone, advanced": _numbers(
        monotone_constraints=MONOTONE, monotone_constraints_method="advanced"
    ),
    "monotone_penalty": _numbers(monotone_constraints=MONOTONE, monotone_penalty=1.0),
    "interaction_constraints": _numbers(interaction_constraints=INTERACTIONS),
    "forced splits": _numbers(forcedsplits_filename=FORCED),
    "feature_contri": _numbers(feature_contri=[0.5] * 4 + [1.0] * 9),
    "linear_tree": _numbers(linear_tree=True, linear_lambda=0.1),
    "extra_trees": _numbers(extra_trees=True),
    "path_smooth": _numbers(path_smooth=5.0),
    "max_delta_step": _numbers(max_delta_step=0.3),
    "L1 and L2": _numbers(reg_alpha=1.0, reg_lambda=5.0),
    "features by tree and node": _numbers(
        colsample_bytree=0.7, feature_fraction_bynode=0.7
    ),
}


def generate(target: str, n_rows: int) -> tuple[Array, Array]:
    """Make features and a target, the same ones every time."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, N_COLUMNS))
    return X, TARGETS[target](signal(X), rng)


def folds(n_rows: int, seeds: int) -> Iterator[tuple[Array, Array]]:
    """Yield training and test rows; queries stay whole."""
    from sklearn.model_selection import KFold

    rows = np.arange(n_rows).reshape(-1, DOCUMENTS)
    for seed in range(seeds):
        splitter = KFold(FOLDS, shuffle=True, random_state=seed)
        for train, test in splitter.split(rows):
            yield rows[train].ravel(), rows[test].ravel()


def loss(
    library: str, case: Case, options: Mapping[str, Any], part: tuple[Array, ...]
) -> float:
    """Fit on one part, score on the other."""
    X, y, X_test, y_test = part
    task = TASKS.get(case.target, "regression")
    model = make(library, task, {**EQUAL, **options})
    queries = (
        {"group": [DOCUMENTS] * (len(y) // DOCUMENTS)} if task == "ranking" else {}
    )
    model.fit(X, y, **queries)
    predict = model.predict_proba if task in ("binary", "multiclass") else model.predict
    return float(LOSSES[case.loss](y_test, predict(X_test)))


def compare(name: str, case: Case, asked: Any, folder: Path) -> tuple[list[str], float]:
    """Make a row of the table, and the gain in standard errors."""
    X, y = generate(case.target, asked.rows)
    options = {"n_jobs": asked.threads, "random_state": 0, **case.options}
    if "forcedsplits_filename" in options:
        file = folder / "splits.json"
        file.write_text(json.dumps(options["forcedsplits_filename"]))
        options["forcedsplits_filename"] = str(file)
    found = np.array(
        [
            [
                loss(library, case, options, (X[train], y[train], X[test], y[test]))
                for library in asked.libraries
            ]
            for train, test in folds(asked.rows, asked.repeats)
        ]
    )
    ours, theirs = found.T
    cells, in_errors = judged(theirs - ours)
    means = [f"{ours.mean():.5g}", f"{theirs.mean():.5g}"]
    return [name, case.target, case.loss, *means, *cells], in_errors


def main() -> None:
    """Read the command line, measure, print."""
    line = parser(__doc__.splitlines()[0], ("skgoss", "lightgbm"))
    line.set_defaults(repeats=2)
    line.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    line.add_argument("--rows", type=int, default=4000, help="a multiple of 20")
    line.add_argument("--threads", type=int, default=2)
    asked = line.parse_args()
    if len(asked.libraries) != 2:
        line.error("--libraries needs two: the one to judge and the one to judge it by")
    with TemporaryDirectory() as folder:
        found = [
            compare(name, CASES[name], asked, Path(folder)) for name in asked.cases
        ]
    gains = [gain for _, gain in found]
    header = ["option", "target", "loss", *asked.libraries, "gain", "standard error"]
    report(
        f"Options, {FOLDS}-fold means, {asked.repeats} shuffles, {asked.rows} rows",
        asked.libraries,
        table([*header, "worse beyond noise"], [row for row, _ in found]),
        f"Mean gain in standard errors: {digits(np.mean(gains))}.",
    )


if __name__ == "__main__":
    main()
