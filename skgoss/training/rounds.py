"""What the rounds of a fit tell callbacks, and how callbacks end them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self


class EvalResult(tuple):
    """One metric of one evaluation set in one round.

    It has four items, as in LightGBM: ``name, metric, value, maximize = result``. A
    result of cross-validation has ``metric_std_dev`` as the fifth.

    Parameters
    ----------
    dataset_name, metric_name : str
    metric_value : float
    maximize : bool
        Whether higher is better.
    metric_std_dev : float, default=None
        The standard deviation over folds; None outside cross-validation.
    """

    __slots__ = ()
    _fields = (
        *("dataset_name", "metric_name", "metric_value", "maximize"),
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
        """Make a tuple of four items, or of five."""
        items = (dataset_name, metric_name, metric_value, maximize, metric_std_dev)
        return super().__new__(cls, items[: 4 if metric_std_dev is None else 5])

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
        return self[4] if self.is_cv_result() else None

    def is_cv_result(self) -> bool:
        """Whether the result is one of cross-validation."""
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


class CallbackEnv(NamedTuple):
    """What a callback is told.

    Attributes
    ----------
    model : Boosting
        The state of the fit. As in LightGBM, it has ``current_iteration()``,
        ``num_trees()``, ``num_model_per_iteration()``, ``eval_train()``,
        ``eval_valid()`` and ``reset_parameter(params)``.
    params : dict
        The options of the fit.
    iteration : int
        The number of the round, from ``begin_iteration`` on.
    begin_iteration, end_iteration : int
        The first round, and the one after the last.
    evaluation_result_list : list of EvalResult
        Empty before a round.
    """

    model: Any
    params: dict[str, Any]
    iteration: int
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list[EvalResult]


class EarlyStopException(Exception):
    """Ends boosting.

    Parameters
    ----------
    best_iteration : int
        The number, from 0, of the round to keep as the last.
    best_score : list of EvalResult
        The metrics of that round.
    """

    def __init__(self, best_iteration: int, best_score: list[EvalResult]) -> None:
        super().__init__(best_iteration, best_score)
        self.best_iteration = best_iteration
        self.best_score = best_score


Callback = Callable[[CallbackEnv], None]
History = dict[str, dict[str, list[float]]]


class Listener:
    """A callback that is also told about the end of the rounds."""

    order = 0
    before_iteration = False

    def at_end(self) -> None:
        """No round follows; nobody has ended the fit."""

    def close(self) -> None:
        """The rounds are over, in any way."""


class Recorder:
    """The callback that keeps the metrics of all rounds, by set and name."""

    order = 20
    before_iteration = False

    def __init__(self, eval_result: History) -> None:
        self.eval_result = eval_result

    def __call__(self, env: CallbackEnv) -> None:
        if env.iteration == env.begin_iteration:
            self.eval_result.clear()
        for result in env.evaluation_result_list:
            by_metric = self.eval_result.setdefault(result.dataset_name, {})
            by_metric.setdefault(result.metric_name, []).append(result.metric_value)


class Calls:
    """The callbacks of a fit, in their order.

    Parameters
    ----------
    callbacks : sequence of callable
        Those without an attribute ``order`` come first, as they were given.
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        ordered = sorted(callbacks, key=lambda c: getattr(c, "order", -1))
        self.before = [c for c in ordered if getattr(c, "before_iteration", False)]
        self.after = [c for c in ordered if not getattr(c, "before_iteration", False)]

    def before_round(self, env: CallbackEnv) -> None:
        """A round begins."""
        for callback in self.before:
            callback(env)

    def after_round(self, env: CallbackEnv) -> None:
        """A round has ended."""
        for callback in self.after:
            callback(env)

    def at_end(self) -> None:
        """No round follows; nobody has ended the fit."""
        _tell(self.after, "at_end")

    def close(self) -> None:
        """The rounds are over, in any way."""
        _tell(self.after, "close")


def _tell(callbacks: Sequence[Callback], event: str) -> None:
    """Call a method of our own callbacks that have it; users' objects have others."""
    for callback in callbacks:
        if isinstance(callback, Listener):
            getattr(callback, event)()
