"""YDF, which takes a table with its target, as estimators that take X and y."""

from __future__ import annotations

from typing import Any

import numpy as np
import ydf

TARGET = "target"


class _Estimator:
    """Gradient boosted trees of YDF, with the options of its learner."""

    task: ydf.Task

    def __init__(self, max_depth: int | None = None, **options: Any) -> None:
        # A root alone has the depth 1.
        depth = {} if max_depth is None else {"max_depth": max_depth + 1}
        self.options = {**options, **depth}

    def fit(self, X: np.ndarray, y: np.ndarray) -> _Estimator:
        """Fit the columns, by their numbers."""
        learner = ydf.GradientBoostedTreesLearner(
            label=TARGET, task=self.task, **self.options
        )
        self.model = learner.train({**_columns(X), TARGET: y}, verbose=0)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Numbers, or the probabilities of the second class, or of all classes."""
        return self.model.predict(_columns(X))


class YDFRegressor(_Estimator):
    """Numbers."""

    task = ydf.Task.REGRESSION


class YDFClassifier(_Estimator):
    """Classes, which are sorted as those of y."""

    task = ydf.Task.CLASSIFICATION

    def fit(self, X: np.ndarray, y: np.ndarray) -> YDFClassifier:
        """Fit the numbers of the classes."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        super().fit(X, codes)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes."""
        found = super().predict(X)
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _columns(X: np.ndarray) -> dict[str, np.ndarray]:
    X = np.asarray(X, dtype=np.float32)
    return {f"x{number}": X[:, number] for number in range(X.shape[1])}
