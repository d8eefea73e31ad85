"""Functions that users pass as objectives and metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The parameters that get weights or sizes of queries even if they have a default, with
# the numbers of these arguments.
_BY_NAME = {"weight": 2, "weights": 2, "sample_weight": 2, "group": 3, "groups": 3}


class UserFunction:
    """A function of targets and predictions, which is an objective or a metric.

    It is ``f(y_true, y_pred)``, ``f(y_true, y_pred, weight)`` or ``f(y_true, y_pred,
    weight, group)``. Further parameters keep their defaults, unless they are named
    'weight' or 'group'. Other numbers of arguments raise TypeError, with ``role`` as
    the word for the function.
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
        self._n_positional, self._by_name = _arguments(function)
        n_arguments = self._n_positional + len(self._by_name)
        if not 2 <= n_arguments <= 4:
            raise TypeError(
                f"Self-defined {role} function should have 2, 3 or 4 arguments, got "
                f"{n_arguments}"
            )
        numbers = self._by_name.values()
        self.takes_weight = self._n_positional > 2 or 2 in numbers
        self.takes_group = self._n_positional > 3 or 3 in numbers

    def __call__(
        self,
        y: NDArray[np.float64],
        scores: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        sizes: NDArray[np.int64] | None,
    ) -> Any:
        """Call the function with the arguments that it takes: see `predictions`.

        ``sizes`` are those of the queries.
        """
        arguments = (y, predictions(scores), weight, sizes)
        named = {name: arguments[number] for name, number in self._by_name.items()}
        return self.function(*arguments[: self._n_positional], **named)


def _arguments(function: Callable[..., Any]) -> tuple[int, dict[str, int]]:
    """How many arguments a function takes by position, and which by name.

    Functions without a signature, as in some extension modules, take two.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 2, {}
    # The signature of functools.partial has what it has bound as defaults.
    bound = function.keywords if isinstance(function, partial) else {}
    n_positional, by_name = 0, {}
    for parameter in parameters:
        kind, name = parameter.kind, parameter.name
        is_optional = parameter.default is not parameter.empty
        is_named = kind == parameter.KEYWORD_ONLY or (is_optional and n_positional > 1)
        if not (is_named or kind == parameter.VAR_KEYWORD):
            n_positional += 1
        elif name in _BY_NAME and not (
            name in bound or kind == parameter.POSITIONAL_ONLY
        ):
            by_name[name] = _BY_NAME[name]
    return n_positional, by_name


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
