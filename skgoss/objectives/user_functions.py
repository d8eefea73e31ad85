"""Functions that users pass as objectives and metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class UserFunction:
    """A function of targets and predictions, which is an objective or a metric.

    It is ``f(y_true, y_pred)``, ``f(y_true, y_pred, weight)`` or ``f(y_true, y_pred,
    weight, group)``. Other numbers of arguments raise TypeError, with ``role`` as the
    word for the function.
    """

    def __init__(self, function: Callable[..., Any], role: str) -> None:
        self.function = function
        self.name = name_of(function)
        if hasattr(function, "_score_func"):
            raise TypeError(
                f"Self-defined {role} function is a scorer of scikit-learn, whose"
                " arguments are an estimator and rows: pass its function of targets and"
                " predictions."
            )
        # Keyword-only parameters include those that functools.partial has bound.
        self.n_arguments = sum(
            parameter.kind not in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
            for parameter in inspect.signature(function).parameters.values()
        )
        if not 2 <= self.n_arguments <= 4:
            raise TypeError(
                f"Self-defined {role} function should have 2, 3 or 4 arguments, got "
                f"{self.n_arguments}"
            )

    def __call__(
        self,
        y: NDArray[np.float64],
        scores: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        sizes: NDArray[np.int64] | None,
    ) -> Any:
        """Call the function with as many arguments as it takes: see `predictions`.

        ``sizes`` are those of the queries.
        """
        arguments = (y, predictions(scores), weight, sizes)
        return self.function(*arguments[: self.n_arguments])


class OfDataset:
    """An objective ``f(predictions, dataset)``, called as one of three arguments.

    The function finds the weights in the data set, so its gradients must not be
    multiplied by them. An objective that takes the weights says just this.
    """

    def __init__(self, function: Callable[..., Any], dataset: Any) -> None:
        self.function = function
        self.dataset = dataset
        self.__name__ = name_of(function)

    def __call__(
        self,
        y: NDArray[np.float64],
        predicted: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
    ) -> Any:
        return self.function(predicted, self.dataset)


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or that of an object's type."""
    return getattr(function, "__name__", type(function).__name__)


def predictions(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A copy of scores, (n_scores, n), of shape (n,), or (n, n_scores) for several."""
    return scores[0].copy() if len(scores) == 1 else scores.T.copy()
