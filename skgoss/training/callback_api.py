"""The interface of callbacks: their argument and their results."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

from skgoss.training.evaluation import EvalResult
from skgoss.utils.public import set_module


@set_module("skgoss.callback")
class CallbackEnv(NamedTuple):
    """The argument of a callback.

    Parameters
    ----------
    model : Booster
        The model in training.
    params : dict
        The parameters of the fit.
    iteration : int
        The index of the round. The first round has the index ``begin_iteration``.
    begin_iteration, end_iteration : int
        The index of the first round, and the index of the last round plus 1.
    evaluation_result_list : list of EvalResult
        The metrics of the round. Empty for callbacks that run before the round.

    See Also
    --------
    skgoss.EvalResult : A metric of a round.
    skgoss.EarlyStopException : What a callback raises to end the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> rounds = []
    >>> def note(env):
    ...     rounds.append(env.iteration)
    >>> model = LGBMRegressor(n_estimators=3).fit(X, y, callbacks=[note])
    >>> rounds
    [0, 1, 2]
    """

    model: Any
    params: dict[str, Any]
    iteration: int
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list[EvalResult]


@set_module("skgoss")
class EarlyStopException(Exception):
    """Ends the training when a callback raises it.

    Parameters
    ----------
    best_iteration : int
        The index of the last round to keep, starting at 0. If there are fewer rounds,
        all are kept.
    best_score : list of EvalResult or tuple, or None
        The metrics of that round. None: the recorded metrics of that round.

    Raises
    ------
    TypeError
        If ``best_iteration`` is not an int, or ``best_score`` is not a list of results.
    ValueError
        If ``best_iteration`` is negative.

    See Also
    --------
    early_stopping : A callback that raises it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import EarlyStopException, LGBMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> def stop(env):
    ...     if env.iteration == 4:
    ...         raise EarlyStopException(env.iteration)
    >>> LGBMRegressor(n_estimators=100).fit(X, y, callbacks=[stop]).n_iter_
    5
    """

    best_iteration: int
    best_score: list[EvalResult] | None

    def __init__(
        self, best_iteration: int, best_score: list[EvalResult] | None = None
    ) -> None:
        super().__init__(best_iteration, best_score)
        if not isinstance(best_iteration, numbers.Integral):
            raise TypeError(
                "EarlyStopException: best_iteration must be an int, got"
                f" {best_iteration!r}."
            )
        if best_iteration < 0:
            raise ValueError(
                "EarlyStopException: best_iteration must be at least 0, the first"
                f" round; got {best_iteration}."
            )
        if best_score is not None and not _are_results(best_score):
            raise TypeError(
                "EarlyStopException: best_score must be a list of results (dataset"
                " name, metric name, value, is higher better), such as"
                f" env.evaluation_result_list, or None; got {best_score!r}."
            )
        self.best_iteration = int(best_iteration)
        self.best_score = best_score


def _are_results(value: object) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(result, list | tuple) and len(result) >= 3 for result in value
    )


Callback = Callable[[CallbackEnv], None]
History = dict[str, dict[str, list[float]]]
