"""Fits by the rounds of boosting alone, without an estimator, and rows for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.reading import columns as read_columns
from skgoss import LGBMRegressor, parameters
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.columns.columns import Columns
from skgoss.model.ensemble import Ensemble
from skgoss.objectives.training_objective import Objective, make_objective
from skgoss.training import boosting, loop


@dataclass
class Fit:
    """The inputs of a fit, and its trees."""

    columns: Columns
    data: BinnedDataset
    objective: Objective
    settings: Any
    ensemble: Ensemble

    def raw(self, stop: int | None = None) -> np.ndarray:
        stop = self.ensemble.n_rounds if stop is None else stop
        return self.ensemble.raw_scores(self.columns, 0, stop, 1)

    def leaves(self) -> np.ndarray:
        return self.ensemble.leaves(self.columns, 0, self.ensemble.n_rounds, 1)


def fit(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    n_classes: int | None = None,
    n_threads: int = 1,
    after_round: Callable[..., bool] | None = None,
    objective: Any = "regression",
    **options: Any,
) -> Fit:
    estimator = LGBMRegressor(objective=objective, **options)
    settings = parameters.make_settings(estimator.get_params(), "LGBMRegressor")
    columns = read_columns(estimator, X, reset=True)
    data = BinnedDataset.build(columns, settings, n_threads=n_threads)
    n_scores = n_classes if n_classes is not None and n_classes > 2 else 1
    made = make_objective(settings, y, weight, n_scores)
    state = boosting.Boosting(data, made, settings, n_threads)
    trained = loop.train(state, after_round=after_round)
    return Fit(columns, data, made, settings, trained.ensemble)


def table(n: int, n_features: int, seed: int = 0) -> np.ndarray:
    """Columns of many distributions: numbers, ties, signs, NaN, zeros, a constant."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features))
    for j in range(n_features):
        kind = j % 7
        if kind == 1:
            X[:, j] = rng.integers(-3, 4, n)
        elif kind == 2:
            X[:, j] = X[:, j] > 0.7
        elif kind == 3:
            X[rng.random(n) < 0.6, j] = 0.0
        elif kind == 4:
            X[:, j] = np.abs(X[:, j]) ** 3
        elif kind == 5 and j > 7:
            X[:, j] = 2.0
        if kind in (0, 3, 6):
            X[rng.random(n) < 0.2, j] = np.nan
    return X


def smooth_target(X: np.ndarray, seed: int = 0) -> np.ndarray:
    """A target that depends on several columns, so that gains differ clearly."""
    rng = np.random.default_rng(seed)
    Z = np.nan_to_num(X, nan=-1.0)
    slopes = 1.0 / np.arange(1, X.shape[1] + 1)
    return np.tanh(Z) @ slopes + 0.3 * rng.standard_normal(len(X))
