"""The user's functions: objectives and metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.utils.messages import check_takes, warn

# Parameters with these names get the weights or the sizes of queries even if they have
# a default. The numbers are the places of both among the four possible arguments.
_ARGUMENT_NUMBERS = {
    "weight": 2,
    "weights": 2,
    "sample_weight": 2,
    "group": 3,
    "groups": 3,
}


# The names of arguments that tell which is which, without underscores.
_PREDICTIONS = frozenset(
    {
        *("p", "pred", "predicted", "prediction", "predictions", "preds", "predt"),
        *("rawscores", "scores", "yhat", "ypred", "yscore"),
    }
)
_TARGETS = frozenset(
    {"actual", "label", "labels", "target", "targets", "true", "y", "ytest", "ytrue"}
)

_ORDER = "f(y_true, y_pred)"
_CALL = f"{_ORDER} by estimators. For f(predictions, dataset), use skgoss.train"
_CALL_OF_TRAIN = "f(predictions, dataset), where the targets are dataset.get_label()"


class UserFunction:
    """A function of targets and predictions, which is an objective or a metric.

    It is ``f(y_true, y_pred)``, ``f(y_true, y_pred, weight)`` or ``f(y_true, y_pred,
    weight, group)``. Further parameters keep their defaults, except those in
    ``_ARGUMENT_NUMBERS``. Other numbers of arguments raise TypeError, whose message
    calls the function an "objective" or "eval" function: its ``role``.
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
        kind = "objective" if role == "objective" else "metric"
        self._what = f"{kind} function {self.name!r}"
        self._n_positional, self._by_name = _arguments(function)
        n_arguments = self._n_positional + len(self._by_name)
        if not 2 <= n_arguments <= 4:
            raise TypeError(
                f"Self-defined {role} function should have 2, 3 or 4 arguments, got "
                f"{n_arguments}"
            )
        self._warn_if_swapped()
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
        """Call the function with those arguments that it takes.

        It gets `predictions` of the scores. ``sizes`` are those of the queries.
        """
        arguments = (y, predictions(scores), weight, sizes)
        named = {name: arguments[number] for name, number in self._by_name.items()}
        positional = arguments[: self._n_positional]
        with _explained(f"the {self._what}", _CALL, np.ndarray):
            return self.function(*positional, **named)

    def _warn_if_swapped(self) -> None:
        """Warn if the names of the arguments tell that predictions come first."""
        try:
            first, second = list(inspect.signature(self.function).parameters)[:2]
        except ValueError:
            return
        plain = [name.replace("_", "").casefold() for name in (first, second)]
        if plain[0] in _PREDICTIONS and plain[1] in _TARGETS:
            warn(
                f"The {self._what} has the arguments ({first}, {second}), but"
                f" estimators call {_ORDER}, so its results are wrong. Define it as"
                f" f({second}, {first})."
            )


@contextmanager
def _explained(what: str, call: str, got: type) -> Iterator[None]:
    """Explain errors of a function that expects other arguments than it gets.

    ``what`` is the function, ``call`` says how it is called, and ``got`` is the type of
    the second argument. The function expects others if arrays have no ``get_label``, or
    a `Dataset` is not an array.
    """
    try:
        yield
    except (AttributeError, TypeError) as error:
        text = str(error)
        of_array = "ndarray" in text and "attribute 'get_" in text
        of_dataset = got is not np.ndarray and f"{got.__name__!r}" in text
        if not (of_array or of_dataset):
            raise
        raise TypeError(f"{text}: {what} is called as {call}.") from error


def _arguments(function: Callable[..., Any]) -> tuple[int, dict[str, int]]:
    """The number of arguments to pass by position, and those to pass by name.

    The latter have their places among the four possible arguments: see
    ``_ARGUMENT_NUMBERS``. ``*args`` counts as one argument. Functions without a
    signature, as in some extension modules, get two arguments.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 2, {}
    # In the signature of a functools.partial, bound arguments look like defaults.
    bound = function.keywords if isinstance(function, partial) else {}
    n_positional, by_name = 0, {}
    for parameter in parameters:
        kind, name = parameter.kind, parameter.name
        is_optional = parameter.default is not parameter.empty
        # The first two, targets and predictions, are passed even if they have defaults.
        is_named = kind == parameter.KEYWORD_ONLY or (is_optional and n_positional > 1)
        if not (is_named or kind == parameter.VAR_KEYWORD):
            n_positional += 1
        elif name in _ARGUMENT_NUMBERS and not (
            name in bound or kind == parameter.POSITIONAL_ONLY
        ):
            by_name[name] = _ARGUMENT_NUMBERS[name]
    return n_positional, by_name


class DatasetObjective:
    """Adapts an objective ``f(predictions, dataset)`` to three arguments.

    The function can read the weights from the data set, so its gradients must not be
    multiplied by them. That holds for objectives that take a weight argument: see
    `make_objective`.
    """

    def __init__(self, function: Callable[..., Any], dataset: Any) -> None:
        check_takes_dataset(function, "objective")
        self.function = function
        self.dataset = dataset
        self.__name__ = name_of(function)

    def __call__(
        self,
        y: NDArray[np.float64],
        predicted: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
    ) -> Any:
        what = f"the objective function {self.__name__!r}"
        return call_with_dataset(self.function, what, predicted, self.dataset)


def call_with_dataset(
    function: Callable[..., Any],
    what: str,
    predicted: NDArray[np.float64],
    dataset: Any,
) -> Any:
    """Call a function of `train`; ``what`` names it in messages."""
    with _explained(what, _CALL_OF_TRAIN, type(dataset)):
        return function(predicted, dataset)


def check_takes_dataset(function: Callable[..., Any], role: str) -> None:
    """Check that a function of `train` takes predictions and a data set; TypeError."""
    what = f"The {role} function {name_of(function)!r} of train"
    check_takes(function, what, ["predictions", "dataset"])


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or the name of the type of another callable."""
    return getattr(function, "__name__", type(function).__name__)


def predictions(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A copy of scores, (n_scores, n), in the user's shape: (n,) or (n, n_scores)."""
    return scores[0].copy() if len(scores) == 1 else scores.T.copy()
