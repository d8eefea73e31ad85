"""Callbacks of the rounds, with LightGBM's names and signatures.

A callback is a callable with one argument, a `CallbackEnv`. It is called after each
round, or before it where it has a true attribute ``before_iteration``; callbacks with a
smaller attribute ``order`` come first. Raising `EarlyStopException` ends the fit.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from skgoss.training.rounds import (
    Callback,
    CallbackEnv,
    EarlyStopException,
    EvalResult,
    Listener,
    Recorder,
)

LOGGER = logging.getLogger("skgoss")

# A fit of so many seconds needs no bar.
SHORT_FIT = 2.0


def say(message: str) -> None:
    """Tell what the user asked for: by the logger if it is set up, else printed."""
    if LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers():
        LOGGER.info(message)
    else:
        print(message)


def show(results: Sequence[EvalResult]) -> str:
    """The metrics of a round in one line."""
    return "\t".join(
        f"{result.dataset_name}'s {result.metric_name}: {result.metric_value:g}"
        for result in results
    )


def log_evaluation(period: int = 1, show_stdv: bool = True) -> Callback:
    """Tell the metrics of every round, or of every so many.

    Messages go to the logger ``skgoss`` if it is set up for the level INFO, else they
    are printed.

    Parameters
    ----------
    period : int, default=1
        Rounds between two messages; <= 0: none.
    show_stdv : bool, default=True
        Accepted for scripts that carry it.

    Returns
    -------
    callable
    """
    return _LogEvaluation(period)


class _LogEvaluation:
    order = 10
    before_iteration = False

    def __init__(self, period: int) -> None:
        self.period = period

    def __call__(self, env: CallbackEnv) -> None:
        number = env.iteration + 1
        if self.period > 0 and env.evaluation_result_list and not number % self.period:
            say(f"[{number}]\t{show(env.evaluation_result_list)}")


def record_evaluation(eval_result: dict[str, dict[str, list[float]]]) -> Callback:
    """Keep the metrics of all rounds in a dictionary.

    Parameters
    ----------
    eval_result : dict
        It is emptied first; then ``eval_result[set][metric]`` is a list of one value a
        round.

    Returns
    -------
    callable

    Raises
    ------
    TypeError
        If it is no dictionary.
    """
    if not isinstance(eval_result, dict):
        raise TypeError(
            f"eval_result must be a dict, got {type(eval_result).__name__}."
        )
    return Recorder(eval_result)


def reset_parameter(**kwargs: Sequence[Any] | Callable[[int], Any]) -> Callback:
    """Change options from round to round.

    Parameters
    ----------
    **kwargs : sequence or callable
        By option: its value in each round, or a function from the number of the round,
        from 0, to its value. Options of single trees can be changed: ``learning_rate``,
        ``num_leaves``, ``max_depth``, ``min_child_samples``, ``min_child_weight``,
        ``min_split_gain``, ``reg_alpha``, ``reg_lambda``, ``colsample_bytree``, ...,
        by any of their names.

    Returns
    -------
    callable
    """
    return _ResetParameter(kwargs)


class _ResetParameter:
    order = 10
    before_iteration = True

    def __init__(self, schedule: dict[str, Any]) -> None:
        self.schedule = schedule

    def __call__(self, env: CallbackEnv) -> None:
        index = env.iteration - env.begin_iteration
        n_rounds = env.end_iteration - env.begin_iteration
        values = {
            name: self._value(name, values, index, n_rounds)
            for name, values in self.schedule.items()
        }
        env.model.reset_parameter(values)

    @staticmethod
    def _value(name: str, values: Any, index: int, n_rounds: int) -> Any:
        if callable(values):
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


def early_stopping(
    stopping_rounds: int,
    first_metric_only: bool = False,
    verbose: bool = True,
    min_delta: float | list[float] = 0.0,
) -> Callback:
    """Stop when a metric of an evaluation set has not improved for some rounds.

    Metrics of the training set are not looked at. The fit keeps the rounds up to the
    best one, also if it ends before it is stopped.

    Parameters
    ----------
    stopping_rounds : int
        How many rounds to wait; <= 0: for ever.
    first_metric_only : bool, default=False
        Whether the first metric alone decides; else any of them may stop the fit.
    verbose : bool, default=True
        Whether to tell about it, as `log_evaluation` does.
    min_delta : float or list of float, default=0.0
        By how much a metric must improve; a list has one number for each metric.

    Returns
    -------
    callable

    Raises
    ------
    TypeError
        If ``stopping_rounds`` is no int.
    ValueError
        If ``min_delta`` is negative.
    """
    return _EarlyStopping(stopping_rounds, first_metric_only, verbose, min_delta)


class _Watch:
    """The best value so far of one metric of one set."""

    def __init__(self, result: EvalResult, min_delta: float) -> None:
        self.dataset, self.metric = result.dataset_name, result.metric_name
        self.sign = 1.0 if result.maximize else -1.0
        self.min_delta = min_delta
        self.iteration = -1
        self.value = 0.0
        self.results: list[EvalResult] = []

    def see(self, iteration: int, value: float, results: list[EvalResult]) -> None:
        better = self.sign * (value - self.value) > self.min_delta
        if self.iteration < 0 or better:
            self.iteration, self.value, self.results = iteration, value, results


class _EarlyStopping(Listener):
    order = 30

    def __init__(
        self,
        stopping_rounds: int,
        first_metric_only: bool,
        verbose: bool,
        min_delta: float | list[float],
    ) -> None:
        if not isinstance(stopping_rounds, int) or isinstance(stopping_rounds, bool):
            raise TypeError(
                "early_stopping: stopping_rounds must be an int, got"
                f" {type(stopping_rounds).__name__}."
            )
        deltas = min_delta if isinstance(min_delta, list) else [min_delta]
        if any(delta < 0 for delta in deltas):
            raise ValueError("early_stopping: min_delta must not be negative.")
        self.stopping_rounds = stopping_rounds
        self.first_metric_only = first_metric_only
        self.verbose = verbose
        self.min_delta = min_delta
        self.watches: dict[tuple[str, str], _Watch] = {}

    def __call__(self, env: CallbackEnv) -> None:
        if self.stopping_rounds <= 0:
            return
        if env.iteration == env.begin_iteration:
            self._begin(env)
        results = env.evaluation_result_list
        watched = [
            (self.watches[key], result.metric_value)
            for result in results
            if (key := result[:2]) in self.watches
        ]
        for watch, value in watched:
            watch.see(env.iteration, value, results)
        for watch, _ in watched:
            if env.iteration - watch.iteration >= self.stopping_rounds:
                self._stop("Early stopping, best iteration is:", watch)

    def at_end(self) -> None:
        """The fit ends, but not because of this callback: keep the best round."""
        if self.watches:
            first = next(iter(self.watches.values()))
            self._stop("Did not meet early stopping. Best iteration is:", first)

    def _begin(self, env: CallbackEnv) -> None:
        self.watches = self._watched(env)
        if self.watches and self.verbose:
            say(
                "Training until validation scores don't improve for"
                f" {self.stopping_rounds} rounds"
            )

    def _watched(self, env: CallbackEnv) -> dict[tuple[str, str], _Watch]:
        """The metrics that may stop the fit, by set and name."""
        if env.params.get("boosting_type") == "dart":
            warnings.warn(
                "Early stopping is not available in dart mode, as later rounds change"
                " earlier trees: all rounds are kept.",
                UserWarning,
                stacklevel=2,
            )
            return {}
        results = env.evaluation_result_list
        if not results:
            raise ValueError(
                "For early stopping, at least one dataset and eval metric is required"
                " for evaluation: pass eval_X and eval_y, or set early_stopping_round,"
                " which holds out rows; and name a metric if the objective has none."
            )
        training = env.model.training_names
        others = [result for result in results if result.dataset_name not in training]
        if not others:
            warnings.warn(
                "Only the training set is evaluated: early stopping is off. Pass other"
                " rows as eval_X and eval_y, or pass no evaluation set and set"
                " early_stopping_round, which holds out rows.",
                UserWarning,
                stacklevel=2,
            )
        if self.first_metric_only:
            others = [r for r in others if r.metric_name == results[0].metric_name]
        deltas = self._deltas([result.metric_name for result in results])
        return {
            result[:2]: _Watch(result, deltas[result.metric_name]) for result in others
        }

    def _deltas(self, metrics: list[str]) -> dict[str, float]:
        """How much each metric must improve."""
        names = list(dict.fromkeys(metrics))
        given = self.min_delta if isinstance(self.min_delta, list) else [self.min_delta]
        if len(given) <= 1:
            return dict.fromkeys(names, given[0] if given else 0.0)
        if len(given) != len(names):
            raise ValueError(
                f"early_stopping: min_delta has {len(given)} values for the"
                f" {len(names)} metrics {', '.join(names)}; pass one for each."
            )
        return dict(zip(names, given, strict=True))

    def _stop(self, why: str, watch: _Watch) -> None:
        if self.verbose:
            say(f"{why}\n[{watch.iteration + 1}]\t{show(watch.results)}")
            if self.first_metric_only:
                say(f"Evaluated only: {watch.metric}")
        raise EarlyStopException(watch.iteration, watch.results)


class ProgressBar(Listener):
    """A bar of the rounds, with the last metric, for fits that take a while.

    It needs rich; without it there is no bar.
    """

    order = 5

    def __init__(self) -> None:
        self.bar: Any = None
        self.begin = 0.0

    def __call__(self, env: CallbackEnv) -> None:
        now = time.perf_counter()
        if env.iteration == env.begin_iteration:
            self.begin = now
        if self.bar is None and now - self.begin > SHORT_FIT and find_spec("rich"):
            self._open(env.end_iteration - env.begin_iteration)
        if self.bar is not None:
            self.bar.update(
                self.task,
                completed=env.iteration + 1 - env.begin_iteration,
                description=show(env.evaluation_result_list[-1:]) or "rounds",
            )

    def _open(self, n_rounds: int) -> None:
        from rich.console import Console
        from rich.progress import Progress

        # Not the console that all share: that one may know another terminal.
        self.bar = Progress(console=Console(), transient=True)
        self.task = self.bar.add_task("rounds", total=n_rounds)
        self.bar.start()

    def close(self) -> None:
        """The fit has ended, in any way."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def checked(callbacks: Any) -> list[Callback]:
    """The user's callbacks as a list.

    Raises
    ------
    TypeError
        If they are no list, or one cannot be called.
    """
    if not isinstance(callbacks, list | tuple | set):
        raise TypeError(
            "callbacks must be a list of callables, got a single"
            f" {type(callbacks).__name__}."
        )
    for callback in callbacks:
        if not callable(callback):
            raise TypeError(
                f"callbacks must hold callables, got {type(callback).__name__}."
            )
    return list(callbacks)
