"""The interface of callbacks: their argument, their results, their order."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

from skgoss.utils.public import set_module


@set_module("skgoss")
class EvalResult(tuple[Any, ...]):
    """One metric of one evaluation set in one round.

    It is a tuple of four items, as in LightGBM: ``name, metric, value, maximize =
    result``. In cross-validation, ``metric_std_dev`` is the fifth item. ``result[4]``
    is ``metric_std_dev`` in any case.

    Parameters
    ----------
    dataset_name, metric_name : str
        The names of the set and of the metric.
    metric_value : float
        The value.
    maximize : bool
        Whether higher is better.
    metric_std_dev : float, default=None
        The standard deviation over folds; None outside cross-validation.

    See Also
    --------
    callback.CallbackEnv : What callbacks see, with the results of a round.
    Booster.eval : The results of a data set.

    Examples
    --------
    >>> from skgoss import EvalResult
    >>> result = EvalResult("valid_0", "l2", 0.25, False)
    >>> result.metric_value
    0.25
    >>> name, metric, value, maximize = result
    """

    __slots__ = ()
    _fields = (
        "dataset_name",
        "metric_name",
        "metric_value",
        "maximize",
        "metric_std_dev",
    )
    __match_args__ = _fields

    def __new__(
        cls,
        dataset_name: str,
        metric_name: str,
        metric_value: float,
        maximize: bool,
        metric_std_dev: float | None = None,
    ) -> Self:
        """Make a tuple of four items, or of five with ``metric_std_dev``."""
        items = (dataset_name, metric_name, metric_value, maximize, metric_std_dev)
        return super().__new__(cls, items[: 4 if metric_std_dev is None else 5])

    def __getitem__(self, index: Any) -> Any:
        if index == 4 and not self.is_cv_result():
            return None
        return super().__getitem__(index)

    @property
    def dataset_name(self) -> str:
        """The name of the evaluation set."""
        return self[0]

    @property
    def metric_name(self) -> str:
        """The name of the metric."""
        return self[1]

    @property
    def metric_value(self) -> float:
        """The value of the metric."""
        return self[2]

    @property
    def maximize(self) -> bool:
        """Whether higher is better."""
        return self[3]

    @property
    def metric_std_dev(self) -> float | None:
        """The standard deviation over folds; None outside cross-validation."""
        return self[4]

    def is_cv_result(self) -> bool:
        """Whether the result comes from cross-validation.

        Returns
        -------
        bool
            Whether ``metric_std_dev`` is there.
        """
        return len(self) > 4

    def _asdict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields}

    def _replace(self, **changes: Any) -> Self:
        return type(self)(**{**self._asdict(), **changes})

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        items = ", ".join(f"{name}={item!r}" for name, item in self._asdict().items())
        return f"{type(self).__name__}({items})"


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


class Listener:
    """A callback that is also called when the rounds end."""

    order = 0
    before_iteration = False
    may_lag = True

    def at_end(self) -> None:
        """The last round is over, and no callback has ended the fit."""

    def close(self) -> None:
        """The fit has ended, perhaps by an error."""


def record(history: History, results: Sequence[EvalResult]) -> None:
    """Append the metrics of a round.

    A metric of cross-validation has two lists, as in LightGBM: its name with '-mean',
    and with '-stdv'.
    """
    for result in results:
        dataset_name, metric_name, value, _, *deviation = result
        by_metric = history.setdefault(dataset_name, {})
        if deviation:
            by_metric.setdefault(f"{metric_name}-mean", []).append(value)
            by_metric.setdefault(f"{metric_name}-stdv", []).append(*deviation)
        else:
            by_metric.setdefault(metric_name, []).append(value)


class Recorder:
    """The callback that keeps the metrics of all rounds, by evaluation set and name."""

    order = 20
    before_iteration = False
    may_lag = True
    only_watches = True

    def __init__(self, eval_result: History) -> None:
        self.eval_result = eval_result
        self.iteration = -1

    def __call__(self, env: CallbackEnv) -> None:
        self.iteration = env.iteration
        if env.iteration == env.begin_iteration:
            self.eval_result.clear()
        if env.evaluation_result_list:
            record(self.eval_result, env.evaluation_result_list)

    def complete(self, env: CallbackEnv) -> None:
        """Record the last round if another callback ended the fit before this one."""
        if env.iteration > self.iteration:
            self(env)


class CallbackList:
    """The callbacks of a fit that are called before and after each round.

    They are sorted by their attribute ``order``. Those without it come first, in the
    order in which they are passed. After those of a round, ``after_round`` is called
    with the index of the round; if it returns True, the fit is over.
    """

    def __init__(
        self,
        callbacks: Sequence[Callback],
        after_round: Callable[[int], bool] | None = None,
    ) -> None:
        self.before: list[Callback] = []
        self.after: list[Callback] = []
        self._after_round = after_round
        # Whether somebody wants to hear of rounds that add no trees.
        self.has_watchers = False
        for callback in sorted(callbacks, key=lambda c: getattr(c, "order", -1)):
            is_before = getattr(callback, "before_iteration", False)
            (self.before if is_before else self.after).append(callback)
            self.has_watchers |= not isinstance(callback, Recorder)

    def before_round(self, make_env: Callable[[], CallbackEnv]) -> bool:
        """A round begins; returns whether it must not, as the fit is over."""
        for callback in self.before:
            callback(make_env())
        return False

    def after_round(self, env: CallbackEnv, index: int, *, is_new: bool = True) -> bool:
        """A round has ended; returns whether the fit is over.

        Not ``is_new``: no tree could grow, so the metrics are those of the last round,
        and are not recorded again.
        """
        for callback in self.after:
            if is_new or not isinstance(callback, Recorder):
                callback(env)
        return self._after_round is not None and self._after_round(index)

    def at_end(self) -> None:
        """The last round is over, and no callback has ended the fit."""
        for callback in self.after:
            if isinstance(callback, Listener):
                callback.at_end()

    def stop_from(self, error: Any) -> EarlyStopException | None:
        """What ends the rounds after an error; None if it is a failure.

        lightgbm's exception of the same name ends them, too. The result is a new
        exception: the traceback of ``error`` would keep the rows of the fit alive.
        """
        names = [base.__name__ for base in type(error).__mro__]
        if EarlyStopException.__name__ not in names or not hasattr(error, "best_score"):
            return None
        return EarlyStopException(error.best_iteration, error.best_score)

    def close(self) -> None:
        """The fit has ended, perhaps by an error."""
        for callback in self.after:
            if isinstance(callback, Listener):
                callback.close()


def may_lag(callbacks: Sequence[Callback]) -> bool:
    """Whether no callback needs the model of its round.

    Then later rounds may have begun when callbacks are called.
    """
    return all([getattr(callback, "may_lag", False) for callback in callbacks])
