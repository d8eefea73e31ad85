"""How fast are the settings that Kaggle's solutions published?

Each setting is that of a published script: its parameters, a data frame of the
competition's shape, an evaluation set, the metric of the training data if the script
computes it, and early stopping. Only rows and rounds are fewer.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import kaggle_data
import numpy as np
from adapters import LIBRARIES
from data import Problem
from measure import (
    alternate,
    attempt,
    digits,
    failures,
    parser,
    peak_extra,
    relative,
    report,
    summary,
    table,
)


@dataclass(frozen=True)
class Setting:
    """What a script does.

    Parameters
    ----------
    source : str
        Where the parameters were published.
    data : callable
        Given a number of training rows, the problem.
    rows, rounds : int
        Training rows at scale 1, and the limit of rounds.
    stopping : int
        Rounds without gain after which training stops.
    metric : str
        Name of the metric that is reported.
    parameters : mapping
        As published, without seeds and threads.
    watch_training : bool, default=True
        Whether the metrics of the training data are wanted each round, too.
    categorical : tuple of str, default=()
        Names of integer columns that are categories.
    feval : callable, optional
        The script's own metric.
    estimator : bool, default=False
        Whether the script uses LGBMClassifier rather than train.
    """

    source: str
    data: Callable[[int], Problem]
    rows: int
    rounds: int
    stopping: int
    metric: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    watch_training: bool = True
    categorical: tuple[str, ...] = ()
    feval: Callable[..., tuple[str, float, bool]] | None = None
    estimator: bool = False


def gini(predicted: np.ndarray, data: Any) -> tuple[str, float, bool]:
    """Return Porto Seguro's metric: 2 AUC - 1, ties in the order of the rows."""
    positive = data.get_label()[np.argsort(predicted, kind="stable")]
    # No product of vectors: a thread of BLAS would wait busily through the next round.
    below = (np.flatnonzero(positive) + 1).sum()
    n = positive.sum()
    auc = (below - n * (n + 1) / 2) / (n * (len(positive) - n))
    return "gini", 2 * auc - 1, True


def rmspe(predicted: np.ndarray, data: Any) -> tuple[str, float, bool]:
    """Return Optiver's metric, the root of the mean squared percentage error."""
    truth = data.get_label()
    return "RMSPE", np.sqrt(np.mean(((truth - predicted) / truth) ** 2)), False


SETTINGS: Mapping[str, Setting] = {
    "santander": Setting(
        "Santander Customer Transaction Prediction, 2019: the public kernels at 0.901",
        kaggle_data.santander,
        rows=200_000,
        rounds=300,
        stopping=3000,
        metric="auc",
        parameters={
            "objective": "binary",
            "boost": "gbdt",
            "metric": "auc",
            "learning_rate": 0.0083,
            "num_leaves": 13,
            "max_depth": -1,
            "feature_fraction": 0.041,
            "bagging_fraction": 0.331,
            "bagging_freq": 5,
            "min_data_in_leaf": 80,
            "min_sum_hessian_in_leaf": 10.0,
            "boost_from_average": "false",
            "tree_learner": "serial",
        },
    ),
    "fraud": Setting(
        "IEEE-CIS Fraud Detection, 2019: nroman's single model at 0.9419",
        kaggle_data.fraud,
        rows=150_000,
        rounds=20,
        stopping=500,
        metric="auc",
        parameters={
            "objective": "binary",
            "boosting_type": "gbdt",
            "metric": "auc",
            "learning_rate": 0.006883242363721497,
            "num_leaves": 491,
            "max_depth": -1,
            "feature_fraction": 0.3797454081646243,
            # Without bagging_freq, all rows are used.
            "bagging_fraction": 0.4181193142567742,
            "min_data_in_leaf": 106,
            "min_child_weight": 0.03454472573214212,
            "reg_alpha": 0.3899927210061127,
            "reg_lambda": 0.6485237330340494,
        },
    ),
    "home credit": Setting(
        "Home Credit Default Risk, 2018: parameters by tilii7, kernels by ogrellier and"
        " jsaguiar",
        kaggle_data.home_credit,
        rows=250_000,
        rounds=40,
        stopping=200,
        metric="auc",
        parameters={
            "learning_rate": 0.02,
            "num_leaves": 34,
            "max_depth": 8,
            "colsample_bytree": 0.9497036,
            # Without subsample_freq, all rows are used.
            "subsample": 0.8715623,
            "min_child_weight": 39.3259775,
            "min_split_gain": 0.0222415,
            "reg_alpha": 0.041545473,
            "reg_lambda": 0.0735294,
        },
        estimator=True,
    ),
    "porto seguro": Setting(
        "Porto Seguro's Safe Driver Prediction, 2017: the second place's LightGBM",
        kaggle_data.porto_seguro,
        rows=476_000,
        rounds=100,
        stopping=100,
        metric="gini",
        parameters={
            "objective": "binary",
            "boosting_type": "gbdt",
            "learning_rate": 0.1,
            "num_leaves": 15,
            "max_bin": 256,
            "feature_fraction": 0.6,
            "drop_rate": 0.1,
            "is_unbalance": False,
            "max_drop": 50,
            "min_child_samples": 10,
            "min_child_weight": 150,
            "min_split_gain": 0,
            "subsample": 0.9,
        },
        watch_training=False,
        feval=gini,
    ),
    "porto seguro, dummies": Setting(
        "The same, 2017: the simple stacker at 0.284, which has no evaluation set",
        kaggle_data.porto_seguro_dummies,
        rows=476_000,
        rounds=150,
        stopping=100,
        metric="auc",
        parameters={
            "learning_rate": 0.02,
            "colsample_bytree": 0.3,
            "subsample": 0.7,
            "subsample_freq": 2,
            "num_leaves": 16,
        },
        watch_training=False,
        estimator=True,
    ),
    "m5": Setting(
        "M5 Forecasting, 2020: kyakovlev's three shades, and the first place",
        kaggle_data.m5,
        rows=500_000,
        rounds=40,
        stopping=50,
        metric="rmse",
        parameters={
            "objective": "tweedie",
            "boosting_type": "gbdt",
            "tweedie_variance_power": 1.1,
            "metric": "rmse",
            "subsample": 0.5,
            "subsample_freq": 1,
            "learning_rate": 0.03,
            "num_leaves": 2**11 - 1,
            "min_data_in_leaf": 2**12 - 1,
            "feature_fraction": 0.5,
            "max_bin": 100,
            "boost_from_average": False,
        },
        watch_training=False,
    ),
    "m5, 127 leaves": Setting(
        "M5 Forecasting, 2020: kyakovlev's custom features",
        kaggle_data.m5,
        rows=500_000,
        rounds=60,
        stopping=30,
        metric="rmse",
        parameters={
            "objective": "tweedie",
            "boosting_type": "gbdt",
            "tweedie_variance_power": 1.1,
            "metric": ["rmse"],
            "subsample": 0.8,
            "subsample_freq": 1,
            "learning_rate": 0.05,
            "num_leaves": 2**7 - 1,
            "min_data_in_leaf": 2**8 - 1,
            "feature_fraction": 0.8,
        },
    ),
    "optiver": Setting(
        "Optiver Realized Volatility Prediction, 2021: the first place's LightGBM",
        kaggle_data.optiver,
        rows=150_000,
        rounds=60,
        stopping=40,
        metric="RMSPE",
        parameters={
            "objective": "regression",
            "metric": "",
            "reg_alpha": 5,
            "reg_lambda": 5,
            "min_data_in_leaf": 1000,
            "max_depth": -1,
            "num_leaves": 128,
            "colsample_bytree": 0.3,
            "learning_rate": 0.1,
        },
        watch_training=False,
        feval=rmspe,
    ),
    "optiver, public": Setting(
        "Optiver Realized Volatility Prediction, 2021: a public kernel's second model",
        kaggle_data.optiver,
        rows=150_000,
        rounds=60,
        stopping=50,
        metric="RMSPE",
        parameters={
            "learning_rate": 0.1,
            "lambda_l1": 2,
            "lambda_l2": 7,
            "num_leaves": 800,
            "min_sum_hessian_in_leaf": 20,
            "feature_fraction": 0.8,
            "feature_fraction_bynode": 0.8,
            "bagging_fraction": 0.9,
            "bagging_freq": 42,
            "min_data_in_leaf": 700,
            "max_depth": 4,
        },
        categorical=("stock_id_0",),
        feval=rmspe,
    ),
    "jane street": Setting(
        "Jane Street Market Prediction, 2021: no one script, what regressions of the"
        " return have in common",
        kaggle_data.jane_street,
        rows=400_000,
        rounds=60,
        stopping=50,
        metric="rmse",
        parameters={
            "objective": "regression",
            "metric": "rmse",
            "learning_rate": 0.05,
            "num_leaves": 128,
            "feature_fraction": 0.5,
            "bagging_fraction": 0.7,
            "bagging_freq": 1,
            "min_data_in_leaf": 1000,
            "lambda_l2": 1.0,
        },
        watch_training=False,
    ),
    "elo": Setting(
        "Elo Merchant Category Recommendation, 2019: fabiendaniel's kernels",
        kaggle_data.elo,
        rows=160_000,
        rounds=60,
        stopping=200,
        metric="rmse",
        parameters={
            "objective": "regression",
            "boosting": "gbdt",
            "metric": "rmse",
            "learning_rate": 0.005,
            "num_leaves": 111,
            "max_depth": 9,
            "min_data_in_leaf": 149,
            "feature_fraction": 0.7522,
            "bagging_fraction": 0.7083,
            "bagging_freq": 1,
            "lambda_l1": 0.2634,
        },
        categorical=("feature_1", "feature_2"),
    ),
    "instacart": Setting(
        "Instacart Market Basket Analysis, 2017: the public kernel at 0.38",
        kaggle_data.instacart,
        rows=600_000,
        rounds=100,
        stopping=10,
        metric="binary_logloss",
        parameters={
            "task": "train",
            "objective": "binary",
            "boosting_type": "gbdt",
            "metric": {"binary_logloss"},
            "num_leaves": 96,
            "max_depth": 10,
            "feature_fraction": 0.9,
            "bagging_fraction": 0.95,
            "bagging_freq": 5,
        },
        watch_training=False,
        categorical=("aisle_0", "aisle_1"),
    ),
}


@dataclass(frozen=True)
class Run:
    """What one fit took, and its result.

    The first round is not among those whose mean is `seconds_a_round`: the data is
    prepared in it.
    """

    seconds: float
    seconds_a_round: float
    megabytes: float
    rounds: int
    best_round: int
    seconds_to_best: float
    score: float


class Clock:
    """A callback that notes when each round ended."""

    order = 100

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.ends: list[float] = []

    def __call__(self, env: Any) -> None:
        self.ends.append(time.perf_counter() - self.start)


Part = tuple[Any, np.ndarray, np.ndarray | None]


def parts(setting: Setting, scale: float) -> tuple[Part, Part]:
    """Return features, targets and weights for training, and those held out."""
    problem = setting.data(int(setting.rows * scale))
    at, weight = problem.n_train, problem.weight
    weights = (None, None) if weight is None else (weight[:at], weight[at:])
    return (*problem.train, weights[0]), (*problem.test, weights[1])


def trained(
    module: Any, setting: Setting, options: dict[str, Any], rounds: int, split: Any
) -> tuple[Any, Clock]:
    """Do as the scripts with `train` do."""
    clock = Clock()
    (X, y, weight), (X_valid, y_valid, weight_valid) = split
    given = {"categorical_feature": list(setting.categorical) or "auto"}
    data = module.Dataset(X, y, weight=weight, **given)
    valid = module.Dataset(X_valid, y_valid, weight=weight_valid, reference=data)
    booster = module.train(
        {**setting.parameters, **options},
        data,
        rounds,
        valid_sets=[data, valid] if setting.watch_training else [valid],
        feval=setting.feval,
        callbacks=[module.early_stopping(setting.stopping, verbose=False), clock],
    )
    return booster, clock


def fitted(
    module: Any, setting: Setting, options: dict[str, Any], rounds: int, split: Any
) -> tuple[Any, Clock]:
    """Do as the scripts with an estimator do."""
    clock = Clock()
    (X, y, _), valid = split
    model = module.LGBMClassifier(
        **{**setting.parameters, **options, "n_estimators": rounds}
    )
    model.fit(
        X,
        y,
        eval_set=[(X, y), valid[:2]] if setting.watch_training else [valid[:2]],
        eval_metric=setting.metric,
        callbacks=[module.early_stopping(setting.stopping, verbose=False), clock],
    )
    return model.booster_, clock


def warm_up(module: Any, options: dict[str, Any]) -> None:
    """Pay for imports and for starting threads, as the first fit of a process does."""
    X = np.random.default_rng(0).standard_normal((500, 5))
    module.train({**options, "objective": "regression"}, module.Dataset(X, X[:, 0]), 2)


def once(
    library: str, name: str, scale: float, threads: int, rounds: int | None
) -> Run:
    """Fit one model."""
    warnings.simplefilter("ignore")
    setting, its = SETTINGS[name], LIBRARIES[library]
    module, options = import_module(its.module), {**its.always, "n_jobs": threads}
    split = parts(setting, scale)
    warm_up(module, options)
    fit = fitted if setting.estimator else trained
    found: list[tuple[Any, Clock]] = []
    limit = rounds or setting.rounds
    seconds, megabytes = peak_extra(
        lambda: found.append(fit(module, setting, options, limit, split))
    )
    booster, clock = found[0]
    best = booster.best_iteration
    score = list(booster.best_score.values())[-1][setting.metric]
    ends = clock.ends
    a_round = (ends[-1] - ends[0]) / (len(ends) - 1)
    return Run(seconds, a_round, megabytes, len(ends), best, ends[best - 1], score)


def cells(runs: list[Run]) -> list[str]:
    """Write the runs of one library."""
    fastest = min(runs, key=lambda run: run.seconds)
    return [
        summary([run.seconds for run in runs]),
        digits(1000 * min(run.seconds_a_round for run in runs)),
        f"{fastest.best_round} of {fastest.rounds}",
        digits(fastest.seconds_to_best),
        f"{fastest.score:.5f}",
        digits(max(run.megabytes for run in runs)),
    ]


def compare(name: str, threads: int, asked: Any) -> tuple[list[list[str]], list[str]]:
    """Measure one setting on one number of threads; rows of the table, and failures."""
    jobs = {
        library: partial(
            attempt,
            once,
            library,
            name,
            asked.scale,
            threads,
            asked.rounds,
            threads=threads,
        )
        for library in asked.libraries
    }
    results = alternate(jobs, asked.repeats)
    failed = failures(results)
    runs = {library: runs for library, runs in results.items() if library not in failed}
    whole = {library: [run.seconds for run in runs[library]] for library in runs}
    rounds = {
        library: [run.seconds_a_round for run in runs[library]] for library in runs
    }
    rows = [
        [
            *(name, str(threads), library, *cells(runs[library])),
            *(relative(times, library) for times in (whole, rounds)),
        ]
        for library in runs
    ]
    return rows, [f"{library}, {name}: {why}" for library, why in failed.items()]


def main() -> None:
    """Read the command line, measure, print."""
    libraries = ("skgoss", "lightgbm")
    line = parser(__doc__.splitlines()[0], libraries, libraries)
    line.set_defaults(repeats=1)
    line.add_argument(
        "--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS)
    )
    line.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    line.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    line.add_argument("--rounds", type=int, help="limit; the setting's if not given")
    asked = line.parse_args()
    rows, reasons = [], []
    for name in asked.settings:
        for threads in asked.threads:
            found, failed = compare(name, threads, asked)
            rows += found
            reasons += failed
    header = ["setting", "threads", "library", "seconds: best (median)", "ms a round"]
    header += ["best round", "seconds to it", "metric", "extra MB"]
    header += ["lightgbm / it", "lightgbm / it, a round"]
    tables = [table(header, rows), *dict.fromkeys(reasons)]
    report(f"Kaggle's settings, scale {asked.scale:g}", asked.libraries, *tables)


if __name__ == "__main__":
    main()
