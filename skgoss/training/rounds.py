"""The interface between the rounds of a fit and callbacks."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from skgoss.model.ensemble import Ensemble
    from skgoss.training.boosting import Boosting
    from skgoss.training.folds import Folds


class EvalResult(tuple):
    """One metric of one evaluation set in one round.

    It has four items, as in LightGBM: ``name, metric, value, maximize = result``. In
    results of cross-validation, ``metric_std_dev`` is the fifth item.

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
        """Make a tuple of four items, or of five with ``metric_std_dev``."""
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
        """Whether the result comes from cross-validation."""
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
    """The argument of a callback.

    Attributes
    ----------
    model : Booster
        The model in training.
    params : dict
        The options of the fit.
    iteration : int
        The number of the round; the first is ``begin_iteration``.
    begin_iteration, end_iteration : int
        The number of the first round, and the number of the last round plus 1.
    evaluation_result_list : list of EvalResult
        The metrics of the round; empty for callbacks that run before a round.
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
        The index of the last round to keep, from 0. If there are fewer rounds, all are
        kept.
    best_score : list of EvalResult or tuple, or None
        The metrics of that round; None: those that were recorded after it.

    Raises
    ------
    TypeError
        If ``best_iteration`` is not an int, or ``best_score`` not a list of results.
    ValueError
        If ``best_iteration`` is negative.
    """

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


def _are_results(given: object) -> bool:
    return isinstance(given, list | tuple) and all(
        isinstance(result, list | tuple) and len(result) >= 3 for result in given
    )


def as_stop(error: Exception) -> EarlyStopException | None:
    """The error as an `EarlyStopException`; None if it does not ask to end the fit.

    lightgbm's exception of the same name asks to end the fit, too. The result is a
    new exception: the traceback of ``error`` would keep the rows of the fit alive.
    """
    names = [base.__name__ for base in type(error).__mro__]
    if EarlyStopException.__name__ not in names or not hasattr(error, "best_score"):
        return None
    return EarlyStopException(error.best_iteration, error.best_score)


Callback = Callable[[CallbackEnv], None]
AfterRound = Callable[[int, Callable[[], "Ensemble"]], bool]
History = dict[str, dict[str, list[float]]]


# For callbacks that ask for something that all processes of a fit would compute.
_ONE_OF_SEVERAL = (
    "Callbacks run in one of the processes that fit this model: they can predict and"
    " call reset_parameter, but not train, roll back or evaluate the model. Its metrics"
    " are in env.evaluation_result_list."
)


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
        record(self.eval_result, env.evaluation_result_list)

    def complete(self, env: CallbackEnv) -> None:
        """Record the last round if another callback ended the fit before this one."""
        if env.iteration > self.iteration:
            self(env)


class Calls:
    """The callbacks of a fit, in the order in which they are called.

    Parameters
    ----------
    callbacks : sequence of callable
        They are sorted by their attribute ``order``. Those without it come first, in
        the order in which they are given.

    Attributes
    ----------
    before, after : list of callable
        Those that are called before and after a round.
    may_lag : bool
        Whether none of them needs the model of its round, so that later rounds may have
        begun when they are called.
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        ordered = sorted(callbacks, key=lambda c: getattr(c, "order", -1))
        self.before = [c for c in ordered if getattr(c, "before_iteration", False)]
        self.after = [c for c in ordered if not getattr(c, "before_iteration", False)]
        self.may_lag = all(getattr(c, "may_lag", False) for c in ordered)

    def before_round(self, env: CallbackEnv) -> None:
        """A round begins."""
        for callback in self.before:
            callback(env)

    def after_round(self, env: CallbackEnv) -> None:
        """A round has ended."""
        for callback in self.after:
            callback(env)

    def at_end(self) -> None:
        """The last round is over, and no callback has ended the fit."""
        _tell(self.after, "at_end")

    def close(self) -> None:
        """The fit has ended, perhaps by an error."""
        _tell(self.after, "close")


class Said(NamedTuple):
    """What the callbacks of the first peer have done to the fit.

    Attributes
    ----------
    stop : tuple or None
        The arguments of the `EarlyStopException` that ended it.
    is_over : bool
        Whether it ended without one.
    changed : dict
        Settings with new values.
    """

    stop: tuple[int, list[EvalResult] | None] | None
    is_over: bool
    changed: dict[str, Any]


class SharedCalls:
    """The callbacks of a fit, which several processes may share.

    The first of these peers calls the callbacks. What they have done to the fit reaches
    the others before the next round and after the last one, in one exchange. If they
    can only watch, or stop by the metrics, nothing is exchanged: all peers know the
    metrics and stop by themselves.

    A callback has the attribute ``only_watches`` if it never changes a fit, and the
    method ``on_other_peers`` if it decides by the metrics alone: it returns a callback
    that decides the same, and prints nothing.

    Parameters
    ----------
    state : Boosting or Folds
    given : sequence of callable
    recorder : Recorder
        Called on all peers.
    after_round : callable, default=None
        Called by the first peer: see `loop.train`.
    """

    def __init__(
        self,
        state: Boosting | Folds,
        given: Sequence[Callback],
        recorder: Recorder,
        after_round: AfterRound | None = None,
    ) -> None:
        self.state = state
        self.exchange = state.share.exchange
        self._is_first = self.exchange.peer == 0
        deciding = [c for c in given if not getattr(c, "only_watches", False)]
        alike = [c for c in deciding if hasattr(c, "on_other_peers")]
        asks = after_round is not None or len(alike) < len(deciding)
        known = self.exchange.gather((asks, len(alike)))
        # Other peers need not have been given the callbacks of the first one.
        self._tells = len(known) > 1 and (known[0][0] or len({n for _, n in known}) > 1)
        if not self._is_first:
            given = [] if self._tells else [c.on_other_peers() for c in alike]
        self._calls = Calls([*given, recorder])
        self._after_round = after_round if self._is_first else None
        self._settings = state.settings
        self._is_over = False
        # Whether an exception may end the fit of several processes as a result.
        self._may_stop = False

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """Callbacks are called; they cannot reach other peers."""
        self._may_stop = True
        if self.exchange.n_peers == 1:
            yield
        else:
            with self.exchange.refused(_ONE_OF_SEVERAL):
                yield
        self._may_stop = False

    def before_round(self, env: CallbackEnv) -> bool:
        """A round begins; returns whether it must not, as the fit is over."""
        with self._calling():
            self._calls.before_round(env)
        return self._agree()

    def after_round(self, env: CallbackEnv, index: int) -> bool:
        """A round has ended; returns whether the fit is over for this peer."""
        with self._calling():
            self._calls.after_round(env)
            if self._after_round is not None:
                self._is_over = self._after_round(index, self.state.ensemble)
        return self._is_over

    def at_end(self) -> None:
        """The last round is over, and no callback has ended the fit."""
        is_told = self._is_over and not self._is_first
        with self._calling():
            self._calls.at_end()
        if not is_told:
            self._is_over = True
            self._agree()

    def stop_of(self, error: Exception) -> EarlyStopException | None:
        """What ends the rounds of all peers after an error; None if it is a failure."""
        stop = as_stop(error)
        if stop is None or self.exchange.n_peers == 1:
            return stop
        if not self._may_stop:
            return None
        if self._is_first:
            self._agree(stop)
        return stop

    def close(self) -> None:
        """The fit has ended, perhaps by an error."""
        self._calls.close()

    def _agree(self, stop: EarlyStopException | None = None) -> bool:
        """Let what the first peer's callbacks have done be done on all peers.

        Returns whether the fit is over.
        """
        if not self._tells:
            return False
        said = self.exchange.of_first(lambda: self._said(stop))
        if self._is_first:
            return False
        if said.stop is not None:
            self._may_stop = True
            raise EarlyStopException(*said.stop)
        self.state.settings = replace(self.state.settings, **said.changed)
        self._is_over = said.is_over
        return said.is_over

    def _said(self, stop: EarlyStopException | None) -> Said:
        before, now = vars(self._settings), vars(self.state.settings)
        self._settings = self.state.settings
        return Said(
            stop and (stop.best_iteration, stop.best_score),
            self._is_over,
            {name: now[name] for name in now if now[name] != before[name]},
        )


def _tell(callbacks: Sequence[Callback], event: str) -> None:
    """Call a method of the listeners among the callbacks."""
    for callback in callbacks:
        if isinstance(callback, Listener):
            getattr(callback, event)()
