"""Callbacks, with LightGBM's names and signatures.

A callback is a callable with one argument, a `CallbackEnv`. It is called after each
round, or before each round if its attribute ``before_iteration`` is true. Callbacks are
called in ascending order of their attribute ``order``. A callback that raises
`EarlyStopException` ends the fit.
"""

from __future__ import annotations

import copy
import logging
import numbers
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Self

import numpy as np

from skgoss import parameters
from skgoss.parameters import signatures
from skgoss.sources.source import READ_PROGRESS
from skgoss.training.best_round import BestRound, Watch
from skgoss.training.callback_api import Callback
from skgoss.training.callback_api import CallbackEnv as CallbackEnv
from skgoss.training.callback_api import EarlyStopException as EarlyStopException
from skgoss.training.evaluation import EvalResult as EvalResult
from skgoss.training.loop import Listener as Listener
from skgoss.training.loop import Recorder as Recorder
from skgoss.utils.messages import LISTENER, check_takes, type_name, warn
from skgoss.utils.public import set_module

LOGGER = logging.getLogger("skgoss")

# Fits that are shorter than this number of seconds show no progress bar.
SHORT_FIT = 2.0


def say(message: str) -> None:
    """Log a message if the logger ``skgoss`` shows messages, else print it."""
    listener = LISTENER.get()
    if listener is not None:
        listener(message, None)
    elif LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers():
        LOGGER.info(message)
    else:
        print(message)


@set_module("skgoss")
def register_logger(
    logger: Any, info_method_name: str = "info", warning_method_name: str = "warning"
) -> None:
    """Send messages to a logger instead of printing them.

    The messages go through the logger ``skgoss``, whose level this function sets to
    INFO. Problems are still reported as warnings.

    Parameters
    ----------
    logger : object
        A logger, or any object with these two methods.
    info_method_name, warning_method_name : str, default='info', 'warning'
        The names of the methods for messages and warnings.

    Raises
    ------
    TypeError
        If the object does not have these methods.

    See Also
    --------
    log_evaluation : The metrics of each round.

    Examples
    --------
    >>> import logging
    >>> import skgoss
    >>> skgoss.register_logger(logging.getLogger("my program"))
    """
    by_level: dict[int, Any] = {
        logging.WARNING: getattr(logger, warning_method_name, None),
        logging.INFO: getattr(logger, info_method_name, None),
    }
    if not all(map(callable, by_level.values())):
        raise TypeError(
            f"logger must have the methods {info_method_name!r} and"
            f" {warning_method_name!r}, which take a message."
        )
    for handler in LOGGER.handlers[:]:
        if isinstance(handler, _Forwarding):
            LOGGER.removeHandler(handler)
    LOGGER.addHandler(_Forwarding(by_level))
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


class _Forwarding(logging.Handler):
    """Passes messages on to the methods of another logger, by level."""

    def __init__(self, by_level: dict[int, Callable[[str], Any]]) -> None:
        super().__init__()
        self.by_level = by_level

    def emit(self, record: logging.LogRecord) -> None:
        """Pass the message on."""
        is_warning = record.levelno >= logging.WARNING
        self.by_level[logging.WARNING if is_warning else logging.INFO](
            record.getMessage()
        )


def show(results: Sequence[EvalResult], show_stdv: bool = True) -> str:
    """The metrics of a round in one line, with their deviations over folds if asked."""
    return "\t".join(
        f"{result.dataset_name}'s {result.metric_name}: {result.metric_value:g}"
        + (f" + {result[4]:g}" if show_stdv and result.is_cv_result() else "")
        for result in results
    )


@set_module("skgoss")
@signatures.hint_arguments("log_evaluation")
def log_evaluation(period: int = 1, show_stdv: bool = True) -> Callback:
    """Create a callback that prints the metrics after each round.

    If the logger ``skgoss`` has the level INFO, the messages go to this logger instead.

    Parameters
    ----------
    period : int, default=1
        Metrics are printed every ``period`` rounds. Values <= 0: never.
    show_stdv : bool, default=True
        Whether to print the standard deviations over folds, in cross-validation.

    Returns
    -------
    callable
        A callback: see the argument ``callbacks`` of ``fit`` and `train`.

    See Also
    --------
    record_evaluation : Metrics in a dictionary.
    register_logger : Messages for a logger.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgoss import LGBMClassifier, log_evaluation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LGBMClassifier(n_estimators=4, metric="binary_error")
    >>> model = model.fit(  # doctest: +NORMALIZE_WHITESPACE
    ...     X, y, eval_set=[(X, y)], callbacks=[log_evaluation(2)]
    ... )
    [2] training's binary_error: 0.372583
    [4] training's binary_error: 0.0579965
    """
    period = _whole("log_evaluation", "period", period)
    return _LogEvaluation(period, bool(show_stdv))


# The name that log_evaluation had before LightGBM 3.3.
print_evaluation = log_evaluation


def with_shown_metrics(name: str, value: Any, callbacks: Any) -> dict[str, Any]:
    """The arguments of a fit that also prints metrics, as an argument ``name`` says.

    Its value is a number of rounds, or True for each round. Early stopping prints
    messages, too.
    """
    period = checked_period(name, value)
    if period <= 0:
        return {"callbacks": callbacks}
    return {
        "callbacks": [*checked(callbacks), log_evaluation(period)],
        "early_stopping_messages": True,
    }


def checked_period(name: str, value: Any) -> int:
    """The period of `log_evaluation`; TypeError if the argument is not a number."""
    if not isinstance(value, int | np.bool_ | np.integer | None):
        raise TypeError(f"{name} must be a bool or an int, got {type_name(value)}.")
    return int(value or 0)


class _LogEvaluation:
    order = 10
    before_iteration = False
    may_lag = True
    only_watches = True

    def __init__(self, period: int, show_stdv: bool) -> None:
        self.period = period
        self.show_stdv = show_stdv

    def __call__(self, env: CallbackEnv) -> None:
        number, results = env.iteration + 1, env.evaluation_result_list
        if self.period > 0 and results and not number % self.period:
            say(f"[{number}]\t{show(results, self.show_stdv)}")


@set_module("skgoss")
def record_evaluation(eval_result: dict[str, dict[str, list[float]]]) -> Callback:
    """Create a callback that records the metrics of all rounds.

    Parameters
    ----------
    eval_result : dict
        The dictionary to fill. It is cleared at the start of the fit. Then
        ``eval_result[set][metric]`` is a list with one value per round.

    Returns
    -------
    callable
        A callback: see the argument ``callbacks`` of ``fit`` and `train`.

    Raises
    ------
    TypeError
        If ``eval_result`` is not a dictionary.

    See Also
    --------
    log_evaluation : Metrics on the screen.
    plot_metric : A plot of the recorded metrics.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor, record_evaluation
    >>> X, y = load_diabetes(return_X_y=True)
    >>> history = {}
    >>> model = LGBMRegressor(n_estimators=5)
    >>> model = model.fit(
    ...     X, y, eval_set=[(X, y)], callbacks=[record_evaluation(history)]
    ... )
    >>> len(history["training"]["l2"])
    5
    """
    if not isinstance(eval_result, dict):
        raise TypeError(
            "record_evaluation: eval_result must be a dict, got"
            f" {type(eval_result).__name__}."
        )
    return Recorder(eval_result)


@set_module("skgoss")
def reset_parameter(**kwargs: Sequence[Any] | Callable[[int], Any]) -> Callback:
    """Create a callback that changes parameters from round to round.

    Parameters
    ----------
    **kwargs : sequence or callable
        For each parameter, a list of its values in each round, or a function of the
        round number, which starts at 0. Parameters of single trees can be changed:
        ``learning_rate``, ``num_leaves``, ``max_depth``, ``min_child_samples``,
        ``min_child_weight``, ``min_split_gain``, ``reg_alpha``, ``reg_lambda``,
        ``colsample_bytree``, ..., by any of their names.

    Returns
    -------
    callable
        A callback: see the argument ``callbacks`` of ``fit`` and `train`.

    See Also
    --------
    Booster.reset_parameter : The same for a model that is trained round by round.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor, reset_parameter
    >>> X, y = load_diabetes(return_X_y=True)
    >>> slower = reset_parameter(learning_rate=lambda i: 0.2 * 0.9**i)
    >>> model = LGBMRegressor(n_estimators=20).fit(X, y, callbacks=[slower])
    """
    return _ResetParameter(kwargs)


class _ResetParameter:
    order = 10
    before_iteration = True

    def __init__(self, kwargs: dict[str, Any]) -> None:
        self.kwargs = kwargs

    def __call__(self, env: CallbackEnv) -> None:
        index = env.iteration - env.begin_iteration
        n_rounds = env.end_iteration - env.begin_iteration
        values = {
            name: self._value(name, values, index, n_rounds)
            for name, values in self.kwargs.items()
        }
        env.model.reset_parameter(values)
        env.params.update(parameters.canonical(values, "reset_parameter"))

    @staticmethod
    def _value(name: str, values: Any, index: int, n_rounds: int) -> Any:
        """The value of a parameter in a round, from a list or a function."""
        if callable(values):
            check_takes(values, f"reset_parameter: the function of {name!r}", ["i"])
            return values(index)
        if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
            raise ValueError(
                f"reset_parameter: {name!r} must be a list of values or a function of"
                f" the round, got {type(values).__name__}."
            )
        if len(values) != n_rounds:
            raise ValueError(
                f"reset_parameter: {name!r} has {len(values)} values for {n_rounds}"
                " rounds; pass one for each."
            )
        return values[index]


@set_module("skgoss")
@signatures.hint_arguments("early_stopping")
def early_stopping(
    stopping_rounds: int,
    first_metric_only: bool = False,
    verbose: bool = True,
    min_delta: float | list[float] = 0.0,
    *,
    eval_names: str | Sequence[str] | None = None,
) -> Callback:
    """Create a callback that stops training if a metric has not improved.

    It uses the metrics of the evaluation sets, except the training set. The model keeps
    the rounds up to the best one, even if training does not stop early. NaN is worse
    than any number, and a metric that is always NaN has no best round.

    Parameters
    ----------
    stopping_rounds : int
        Training stops if a metric has not improved for this many rounds. Values <= 0
        turn early stopping off.
    first_metric_only : bool, default=False
        Whether only the first metric can stop the fit; otherwise any metric can.
    verbose : bool, default=True
        Whether to print messages, as `log_evaluation` does.
    min_delta : float or list of float, default=0.0
        A metric must change by more than this to count as an improvement. A list holds
        one number for each metric.
    eval_names : str or list of str, default=None
        The evaluation sets that can stop the fit, such as 'valid_0'. None: all, except
        the training set.

    Returns
    -------
    callable
        A callback: see the argument ``callbacks`` of ``fit`` and `train`.

    Raises
    ------
    TypeError
        If ``stopping_rounds`` is not an int, or ``min_delta`` not a number or a list of
        numbers.
    ValueError
        If ``min_delta`` is negative; in the first round, if there is no evaluation set
        of one of the names.

    See Also
    --------
    log_evaluation : The metrics of each round.
    EarlyStopException : The exception that ends a fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import LGBMRegressor, early_stopping
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LGBMRegressor(n_estimators=1000)
    >>> model = model.fit(
    ...     X[::2],
    ...     y[::2],
    ...     eval_set=[(X[1::2], y[1::2])],
    ...     callbacks=[early_stopping(10, verbose=False)],
    ... )
    >>> 0 < model.best_iteration_ < 1000
    True
    """
    rounds = _whole("early_stopping", "stopping_rounds", stopping_rounds)
    deltas = min_delta if isinstance(min_delta, list) else [min_delta]
    if not all(isinstance(delta, numbers.Real) for delta in deltas):
        raise TypeError(
            f"early_stopping: min_delta must be a number or a list of numbers, got"
            f" {min_delta!r}."
        )
    if not all(delta >= 0 for delta in deltas):
        raise ValueError(
            f"early_stopping: min_delta must not be negative, got {min_delta!r}."
        )
    if not isinstance(verbose, bool | np.bool_ | numbers.Integral):
        raise TypeError(
            f"early_stopping: verbose must be True or False, got {verbose!r}."
        )
    names = [eval_names] if isinstance(eval_names, str) else eval_names
    return EarlyStopping(rounds, first_metric_only, verbose, list(deltas), names)


def _whole(callback: str, name: str, value: Any) -> int:
    """The argument ``name`` of a ``callback`` as an int; TypeError if it is not one."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(
            f"{callback}: {name} must be an int, got {type(value).__name__}."
        )
    return int(value)


class EarlyStopping(BestRound):
    """The callback of `early_stopping`, with checked arguments."""

    may_end = True

    def __init__(
        self,
        stopping_rounds: int,
        first_metric_only: bool,
        verbose: bool,
        min_delta: float | list[float],
        eval_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(min_delta, first_metric_only)
        self.eval_names = eval_names
        self.stopping_rounds = stopping_rounds
        self.verbose = verbose

    @property
    def enabled(self) -> bool:
        """Whether the callback can stop a fit."""
        return self.stopping_rounds > 0

    def on_other_ranks(self) -> Self:
        """The callback of other ranks, which decides the same and prints nothing."""
        other = super().on_other_ranks()
        other.verbose = False
        return other

    def __call__(self, env: CallbackEnv) -> None:
        if not self.enabled:
            return
        super().__call__(env)
        is_first = env.iteration == env.begin_iteration
        if is_first and self.watches and self.verbose:
            say(
                "Training until validation scores don't improve for"
                f" {self.stopping_rounds} rounds"
            )
        for watch in self.watches.values():
            waited = env.iteration - watch.iteration
            if watch.results and waited >= self.stopping_rounds:
                raise self._stop(watch, "Early stopping, best iteration is:")

    def _watched(self, env: CallbackEnv) -> list[EvalResult]:
        """The metrics of the first round that can stop the fit."""
        if env.params.get("boosting_type") == "dart":
            warn(
                "Early stopping is not available in dart mode, because later rounds"
                " change earlier trees: all rounds are kept."
            )
            return []
        results = super()._watched(env)
        if not results:
            raise ValueError(
                "For early stopping, at least one dataset and eval metric is required"
                " for evaluation: pass an evaluation set, or set early_stopping_round,"
                " which holds out rows. Pass a metric if the objective has no default."
            )
        training = env.model._training_names
        names = [name for name, *_ in results]
        named = list(zip(results, names, strict=True))
        others = [result for result, name in named if name not in training]
        if self.eval_names is not None:
            others = [result for result, name in named if name in self.eval_names]
            missing = set(self.eval_names).difference(names)
            if missing:
                known = ", ".join(dict.fromkeys(names))
                raise ValueError(
                    f"early_stopping: eval_names has {min(missing)!r}, but the"
                    f" evaluation sets are {known}."
                )
        if not others:
            warn(
                "Only the training set is evaluated: early stopping is off. Pass"
                " an evaluation set of other rows. Or pass no evaluation set and set"
                " early_stopping_round, which holds out rows."
            )
        return others

    def _stop(
        self,
        watch: Watch,
        why: str = "Did not meet early stopping. Best iteration is:",
    ) -> EarlyStopException:
        """The exception that ends the fit, whose best round is printed if `verbose`.

        ``watch`` has the metric, and ``why`` begins the message.
        """
        if self.verbose:
            say(f"{why}\n[{watch.iteration + 1}]\t{show(watch.results)}")
            if self.first_metric_only:
                say(f"Evaluated only: {watch.metric}")
        return super()._stop(watch)


class _Bar:
    """A progress bar that appears if what it shows takes long; it requires rich."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._has_listener = LISTENER.get() is not None
        self._shown: Any = None

    def show(self, completed: int, total: int, description: str) -> None:
        """Show how much has been done."""
        is_due = (
            time.perf_counter() - self._begin > SHORT_FIT and not self._has_listener
        )
        if self._shown is None and is_due and find_spec("rich"):
            self._open(total)
        if self._shown is not None:
            self._shown.update(
                self._task, completed=completed, total=total, description=description
            )

    def _open(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import Progress

        # rich's shared console may write to another terminal.
        self._shown = Progress(console=Console(), transient=True)
        self._task = self._shown.add_task("", total=total)
        self._shown.start()

    def close(self) -> None:
        """Remove the bar."""
        if self._shown is not None:
            self._shown.stop()
            self._shown = None


class ProgressBar(Listener):
    """A progress bar with the last metric, for long fits; it requires rich."""

    order = 5
    may_skip = True
    only_watches = True

    def __init__(self) -> None:
        self.bar = _Bar()

    def __call__(self, env: CallbackEnv) -> None:
        if env.iteration == env.begin_iteration:
            self.bar = _Bar()
        self.bar.show(
            env.iteration + 1 - env.begin_iteration,
            env.end_iteration - env.begin_iteration,
            show(env.evaluation_result_list[-1:]) or "rounds",
        )

    def close(self) -> None:
        """The fit has ended, perhaps by an error."""
        self.bar.close()


@contextmanager
def read_progress(verbosity: int) -> Iterator[None]:
    """Show a progress bar while data are read in batches, from verbosity 1 on."""
    if verbosity < 1:
        yield
        return
    bar = _Bar()
    token = READ_PROGRESS.set(bar.show)
    try:
        yield
    finally:
        READ_PROGRESS.reset(token)
        bar.close()


# The functions that create callbacks, here and in lightgbm, and how to call them.
_CALLS = {
    "early_stopping": "early_stopping(10)",
    "log_evaluation": "log_evaluation()",
    "record_evaluation": "record_evaluation({})",
    "reset_parameter": "reset_parameter(learning_rate=...)",
}
_MODULES = ("skgoss", "lightgbm.callback")

# Callbacks of lightgbm need its Booster; ours replace them, with the same settings.
_COUNTERPARTS: dict[str, Callable[[Any], Callback]] = {
    "_EarlyStoppingCallback": lambda call: early_stopping(
        call.stopping_rounds, call.first_metric_only, call.verbose, call.min_delta
    ),
    "_LogEvaluationCallback": lambda call: log_evaluation(call.period, call.show_stdv),
    "_RecordEvaluationCallback": lambda call: record_evaluation(call.eval_result),
    "_ResetParameterCallback": lambda call: reset_parameter(**call.kwargs),
}


def own_copies(callbacks: Any) -> list[Callback]:
    """The callbacks of one fit; those of lightgbm are replaced by ours.

    Callbacks of skgoss are copied, because their state belongs to one fit.
    """
    own = checked(callbacks)
    for i, callback in enumerate(own):
        kind = type(callback)
        if isinstance(callback, Listener | Recorder):
            own[i] = copy.copy(callback)
        elif kind.__module__ == "lightgbm.callback" and kind.__name__ in _COUNTERPARTS:
            own[i] = _COUNTERPARTS[kind.__name__](callback)
    return own


def without_recorders(callbacks: Any) -> list[Callback]:
    """The callbacks of one fit, except those that only record or show the metrics."""
    return [
        callback
        for callback in own_copies(callbacks)
        if isinstance(callback, EarlyStopping)
        or not isinstance(callback, Listener | Recorder)
    ]


def checked(callbacks: Any) -> list[Callback]:
    """The argument ``callbacks`` as a list of callables; else TypeError."""
    if callbacks is None:
        return []
    if not isinstance(callbacks, list | tuple | set):
        raise TypeError(
            "callbacks must be a list of callables, as in [early_stopping(10)], got a"
            f" single {type(callbacks).__name__.lstrip('_')}."
        )
    for callback in callbacks:
        if not callable(callback):
            raise TypeError(
                "callbacks must hold callables, as in [early_stopping(10)], got"
                f" {type(callback).__name__}."
            )
        name = getattr(callback, "__name__", "")
        if name in _CALLS and callback.__module__ in _MODULES:
            raise TypeError(
                f"callbacks holds the function {name}, which creates a callback: write"
                f" {_CALLS[name]}."
            )
        if not isinstance(callback, Listener | Recorder | _LogEvaluation):
            words = getattr(callback, "__name__", type(callback).__name__)
            check_takes(callback, f"The callback {words!r}", ["env"])
    return list(callbacks)
