"""Functions that users pass as objectives and metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class UserFunction:
    """A function of targets and predictions.

    Parameters
    ----------
    function : callable
        ``f(y_true, y_pred)``, ``f(y_true, y_pred, weight)`` or ``f(y_true, y_pred,
        weight, group)``.
    role : str
        The role of the function in messages.

    Attributes
    ----------
    name : str
    n_arguments : int

    Raises
    ------
    TypeError
        If the function does not take 2, 3 or 4 arguments.
    """

    def __init__(self, function: Callable[..., Any], role: str) -> None:
        self.function = function
        self.name = name_of(function)
        self.n_arguments = _count_arguments(function)
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
        """Call the function with as many of the arguments as it takes.

        Parameters
        ----------
        y : ndarray of shape (n,)
        scores : ndarray of shape (n_scores, n)
            The function gets a copy of shape (n,), or (n, n_scores) for several scores.
        weight : ndarray of shape (n,), or None
        sizes : ndarray of shape (n_queries,), or None
        """
        given = (y, predictions(scores), weight, sizes)
        return self.function(*given[: self.n_arguments])


class OfDataset:
    """An objective ``f(predictions, dataset)`` as one of targets, scores and weights.

    It is called with the weights, because the function has them in the data set: its
    gradients are not multiplied by them.
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
        """Call the function."""
        return self.function(predicted, self.dataset)


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or that of an object's type."""
    return getattr(function, "__name__", type(function).__name__)


def predictions(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A copy of scores, (n_scores, n), of shape (n,), or (n, n_scores) for several."""
    return scores[0].copy() if len(scores) == 1 else scores.T.copy()


def _count_arguments(function: Callable[..., Any]) -> int:
    # Keyword-only parameters include those that functools.partial has bound.
    return sum(
        parameter.kind not in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
        for parameter in inspect.signature(function).parameters.values()
    )
