"""The loop over boosting rounds, with callbacks and early stopping."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from skgoss.distributed.row_partition import RowPartition
from skgoss.model.ensemble import Ensemble
from skgoss.model.out_of_fold import OutOfFold
from skgoss.parameters.settings import Settings
from skgoss.training.callback_api import (
    Callback,
    CallbackEnv,
    EarlyStopException,
    History,
)
from skgoss.training.distributed_callbacks import DistributedCallbacks, RoundCalls
from skgoss.training.evaluation import EvalResult, EvaluationSet
from skgoss.training.rounds import Rounds
from skgoss.utils.messages import warn

# Called with the index of a round and a function that returns the ensemble so far;
# returns whether the fit is over.
AfterRound = Callable[[int, Callable[[], Ensemble]], bool]

# A fit that ends early warns if the user asked for at least this number of rounds.
_MIN_ROUNDS_TO_WARN = 500


@dataclass(frozen=True)
class Trained:
    """The result of a fit."""

    ensemble: Ensemble  # the trees, up to the best round if a callback ended the fit
    # The number of rounds that early stopping kept; 0 without it.
    best_iteration: int = 0
    # Metrics by evaluation set and name: those of the best round after early stopping,
    # otherwise those of the last round.
    best_score: dict[str, dict[str, float]] = field(default_factory=dict)
    # Metrics of all rounds: a list for each evaluation set and name.
    history: History = field(default_factory=dict)
    # The out-of-fold predictions; None without folds.
    out_of_fold: OutOfFold | None = None


def train(
    boosting: Rounds,
    model: Any = None,
    *,
    history: History | None = None,
    earlier: History | None = None,
    callbacks: Sequence[Callback] = (),
    after_round: AfterRound | None = None,
    n_rounds: int | None = None,
) -> Trained:
    """Boost round by round, at most ``n_rounds`` or ``settings.n_estimators`` times.

    ``model`` is passed to callbacks as the model. The metrics of all rounds are added
    to ``history``, after those of ``earlier`` rounds, from which the fit continues.
    After each round, ``after_round(round_index, ensemble)`` is called, where
    ``ensemble()`` returns the trees so far. Boosting stops if it returns True.
    ValueError if a gradient or hessian is NaN or infinite, or if a callback ends the
    fit before the first round.
    """
    history, earlier = {} if history is None else history, earlier or {}
    for callback in callbacks:
        if isinstance(callback, Recorder | Listener):
            callback.earlier = earlier
    n_expected = n_rounds or boosting.settings.n_estimators
    expecting: AbstractContextManager[None] = nullcontext()
    if n_expected > 1 and may_lag(callbacks):
        ends = after_round is not None or may_end(callbacks)
        expecting = boosting.expecting(
            n_expected, is_evaluated=bool(boosting.sets) or ends, may_end=ends
        )
    with expecting:
        stop = run(
            boosting,
            model,
            history=history,
            earlier=earlier,
            callbacks=callbacks,
            after_round=after_round
            and (lambda index: after_round(index, boosting.ensemble)),
            n_rounds=n_rounds,
        )
    return result(boosting, stop, history, 0 if earlier else None)


class Growing(Protocol):
    """The rounds that grow in a loop: those of one fit, or of several in lockstep."""

    settings: Settings
    first_round: int
    partition: RowPartition

    @property
    def sets(self) -> Sequence[EvaluationSet]:
        """The evaluation sets."""

    def boost(self) -> bool:
        """Grow the trees of a round; returns whether one of them could be split."""

    def evaluate(self) -> list[EvalResult]:
        """The metrics after the last round."""


def run(
    boosting: Growing,
    model: Any,
    *,
    history: History,
    earlier: History | None = None,
    callbacks: Sequence[Callback] = (),
    after_round: Callable[[int], bool] | None = None,
    n_rounds: int | None = None,
) -> EarlyStopException | None:
    """Boost round by round, and call the callbacks.

    ``model`` is what callbacks get as the model. The metrics of all rounds are added to
    ``history``. ``after_round`` is called with the index of each round, and ends the
    rounds if it returns True. ``n_rounds`` is the largest number of rounds; None: that
    of the settings.

    If no tree of a round can be split, no tree of later rounds can. Callbacks of users
    are still called for these rounds, with the same metrics, as in LightGBM.

    Returns the exception by which a callback ended the rounds; None if none did.
    """
    first, n_planned = boosting.first_round, boosting.settings.n_estimators
    collectives = boosting.partition.collectives
    recorder = Recorder(history, earlier)
    caller: RoundCalls
    if collectives.n_ranks == 1:
        caller = CallbackList([*callbacks, recorder], after_round)
    else:
        caller = DistributedCallbacks(
            boosting,
            callbacks,
            after_round,
            lambda called, callbacks_after: CallbackList(
                [*called, recorder], callbacks_after
            ),
        )
    params = dict(vars(boosting.settings)) if callbacks else {}
    new_env = partial(
        CallbackEnv,
        model,
        params,
        begin_iteration=first,
        end_iteration=first + n_planned,
    )
    env: CallbackEnv | None = None
    n_grown: int | None = None  # the rounds before one in which no tree can be split
    try:
        for index in range(n_rounds or n_planned):
            make_env = partial(
                new_env, iteration=first + index, evaluation_result_list=[]
            )
            if caller.calls_before and caller.before_round(make_env):
                break
            if n_grown is None and not boosting.boost():
                n_grown = index
            is_new = n_grown is None or index == 0
            if is_new:
                results = boosting.evaluate() if boosting.sets else []
                env = new_env(iteration=first + index, evaluation_result_list=results)
            elif caller.may_skip:
                break
            assert env is not None
            current_env = env if is_new else env._replace(iteration=first + index)
            if caller.after_round(current_env, index, is_new=is_new):
                break
        stop = caller.at_end()
    except Exception as error:
        stop = caller.early_stop(error)
        if stop is None:
            raise
        recorder.complete(env or new_env(iteration=first, evaluation_result_list=[]))
    finally:
        caller.close()
    _warn_of_fewer_rounds(boosting, None if stop else n_grown, n_rounds)
    return stop


def _warn_of_fewer_rounds(
    boosting: Growing, n_grown: int | None, n_rounds: int | None
) -> None:
    """Warn that the fit has fewer rounds than the user has set.

    ``n_grown`` rounds could grow; None: all could, or a callback has ended them. There
    is no warning if the user has set few rounds, nor for the stages of a search, which
    pass ``n_rounds``.
    """
    settings, is_first = boosting.settings, boosting.partition.collectives.rank == 0
    is_explicit = n_rounds is None and "n_estimators" in settings.explicit
    is_shorter = n_grown and settings.n_estimators >= _MIN_ROUNDS_TO_WARN
    if is_shorter and is_explicit and is_first:
        warn(
            f"The fit ended after {n_grown} of {settings.n_estimators} rounds: no leaf"
            " can be split any further. Usually the model then fits the training data"
            f" perfectly, or min_child_samples={settings.min_child_samples} and"
            f" min_child_weight={settings.min_child_weight:g} allow no split."
        )


def result(
    boosting: Rounds,
    stop: EarlyStopException | None,
    history: History,
    first: int | None = None,
) -> Trained:
    """The model after the rounds that `run` has run.

    ``stop`` is what `run` has returned, and ``history`` has the metrics of all rounds.
    ``first`` is the index of the first round in ``history``; None: of the first one
    that has been run.
    """
    if stop is not None:
        first = boosting.first_round if first is None else first
        return _stopped_early(boosting, stop, history, first)
    last = {
        name: {metric: values[-1] for metric, values in by_metric.items()}
        for name, by_metric in history.items()
    }
    return Trained(boosting.ensemble(), best_score=last, history=history)


def _stopped_early(
    boosting: Rounds, stop: EarlyStopException, history: History, first: int
) -> Trained:
    """The model up to the best round, which the exception contains."""
    best_score = by_name(stop.best_score or [])
    ensemble = boosting.ensemble()
    if ensemble.n_rounds == 0:
        raise ValueError(
            "EarlyStopException was raised before the first round: there is no model."
            " Raise it after a round."
        ) from stop
    kept = min(stop.best_iteration + 1, ensemble.n_rounds)
    return Trained(
        ensemble.truncated(kept),
        best_iteration=kept,
        best_score=best_score or _recorded(history, kept - 1 - first),
        history=history,
    )


def _recorded(history: History, index: int) -> dict[str, dict[str, float]]:
    """The metrics that were recorded after the round of this index, from 0.

    Metrics that were not recorded then are left out.
    """
    return {
        name: {
            metric: values[index]
            for metric, values in by_metric.items()
            if 0 <= index < len(values)
        }
        for name, by_metric in history.items()
    }


# --- The callbacks of a fit ----------------------------------------------------------


class Listener:
    """A callback that is also called when the rounds end."""

    order = 0
    before_iteration = False
    may_lag = True
    # The metrics of the rounds before the first one, from which the fit continues.
    earlier: History | None = None

    def at_end(self) -> EarlyStopException | None:
        """Called after the last round; may return an exception to keep fewer rounds."""
        return None

    def close(self) -> None:
        """Called when the fit has ended, even by an error."""


def may_lag(callbacks: Sequence[Callback]) -> bool:
    """Whether no callback needs the model of its round.

    If so, later rounds may have begun when callbacks are called.
    """
    return all([getattr(callback, "may_lag", False) for callback in callbacks])


def may_end(callbacks: Sequence[Callback]) -> bool:
    """Whether a callback may end the fit before its last round.

    A callback without the attribute ``may_end`` may, unless it has ``only_watches``.
    """
    return any(
        [
            getattr(callback, "may_end", not getattr(callback, "only_watches", False))
            for callback in callbacks
        ]
    )


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


def by_name(results: Sequence[EvalResult]) -> dict[str, dict[str, float]]:
    """The metrics of one round, by evaluation set and name."""
    scores: dict[str, dict[str, float]] = {}
    for result in results:
        dataset_name, metric_name, value = tuple(result)[:3]
        scores.setdefault(dataset_name, {})[metric_name] = value
    return scores


class Recorder:
    """The callback that keeps the metrics of all rounds, by evaluation set and name."""

    order = 20
    before_iteration = False
    may_lag = True
    may_skip = True
    only_watches = True

    def __init__(self, eval_result: History, earlier: History | None = None) -> None:
        self.eval_result = eval_result
        self.earlier = earlier or {}  # the metrics of the rounds before the first one
        self.iteration = -1

    def __call__(self, env: CallbackEnv) -> None:
        self.iteration = env.iteration
        if env.iteration == env.begin_iteration:
            self.eval_result.clear()
            self.eval_result.update(copy.deepcopy(self.earlier))
        if env.evaluation_result_list:
            record(self.eval_result, env.evaluation_result_list)

    def complete(self, env: CallbackEnv) -> None:
        """Record the last round if another callback ended the fit before this one."""
        if env.iteration > self.iteration:
            self(env)


class CallbackList:
    """The callbacks of a fit that are called before and after each round.

    They are sorted by their attribute ``order``. Those without it come first, in the
    order in which they are passed. After the callbacks of a round, ``after_round`` is
    called with the index of the round; if it returns True, the fit is over.
    """

    def __init__(
        self,
        callbacks: Sequence[Callback],
        after_round: Callable[[int], bool] | None = None,
    ) -> None:
        self.callbacks_before: list[Callback] = []
        self.callbacks_after: list[Callback] = []
        self._after_round = after_round
        # Whether no callback must be called for rounds that add no trees, whose metrics
        # are those of the round before.
        self.may_skip = True
        for callback in sorted(callbacks, key=lambda c: getattr(c, "order", -1)):
            is_before = getattr(callback, "before_iteration", False)
            (self.callbacks_before if is_before else self.callbacks_after).append(
                callback
            )
            self.may_skip &= getattr(callback, "may_skip", False)
        self.calls_before = bool(self.callbacks_before)

    def before_round(self, make_env: Callable[[], CallbackEnv]) -> bool:
        """Call the callbacks before a round; returns whether the fit is over."""
        for callback in self.callbacks_before:
            callback(make_env())
        return False

    def after_round(self, env: CallbackEnv, index: int, *, is_new: bool = True) -> bool:
        """Call the callbacks after a round; returns whether the fit is over.

        If the round is not ``is_new``, no tree could grow. Then the metrics are those
        of the round before, and are not recorded again.
        """
        for callback in self.callbacks_after:
            if is_new or not isinstance(callback, Recorder):
                callback(env)
        return self._after_round is not None and self._after_round(index)

    def at_end(self) -> EarlyStopException | None:
        """Called after the last round; may return an exception to keep fewer rounds."""
        for callback in self.callbacks_after:
            stop = callback.at_end() if isinstance(callback, Listener) else None
            if stop is not None:
                return stop
        return None

    def early_stop(self, error: Any) -> EarlyStopException | None:
        """The exception by which a callback has ended the fit; None for other errors.

        lightgbm's exception of the same name also ends it. The result is a new
        exception, because the traceback of ``error`` would keep the rows of the fit
        alive.
        """
        names = [base.__name__ for base in type(error).__mro__]
        if EarlyStopException.__name__ not in names or not hasattr(error, "best_score"):
            return None
        return EarlyStopException(error.best_iteration, error.best_score)

    def close(self) -> None:
        """Called when the fit has ended, even by an error."""
        for callback in self.callbacks_after:
            if isinstance(callback, Listener):
                callback.close()
