"""The loop over boosting rounds, with callbacks and early stopping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from skgoss.model.ensemble import Ensemble
from skgoss.model.out_of_fold import OutOfFold
from skgoss.training.callback_api import (
    Callback,
    CallbackEnv,
    CallbackList,
    EarlyStopException,
    History,
    Recorder,
    may_lag,
)
from skgoss.training.distributed_callbacks import DistributedCallbacks
from skgoss.training.evaluation import by_name
from skgoss.training.lockstep import Lockstep
from skgoss.training.rounds import Rounds
from skgoss.utils.messages import warn

# Of the index of a round and the ensemble so far: whether the fit is over.
AfterRound = Callable[[int, Callable[[], Ensemble]], bool]

# A fit says that it has ended before so many rounds or more that the user asked for.
_MANY_ROUNDS = 500


@dataclass(frozen=True)
class Trained:
    """The result of a fit."""

    ensemble: Ensemble  # the trees, up to the best round if a callback ended the fit
    # The number of rounds that early stopping kept; 0 without it.
    best_iteration: int = 0
    # Metrics by evaluation set and name: those of the best round after early stopping,
    # else of the last round.
    best_score: dict[str, dict[str, float]] = field(default_factory=dict)
    # Metrics of all rounds: a list for each evaluation set and name.
    history: History = field(default_factory=dict)
    # The predictions for the test rows of folds; None without folds.
    out_of_fold: OutOfFold | None = None


def train(
    boosting: Rounds,
    model: Any = None,
    *,
    history: History | None = None,
    callbacks: Sequence[Callback] = (),
    after_round: AfterRound | None = None,
    n_rounds: int | None = None,
) -> Trained:
    """Boost round by round, at most ``n_rounds`` or ``settings.n_estimators`` times.

    ``model`` is what callbacks get as the model, and ``history`` gets the metrics of
    all rounds. After each round, ``after_round(round_index, ensemble)`` is called,
    where ``ensemble()`` returns the trees so far. Boosting stops if it returns True.
    ValueError if a gradient or hessian is NaN or infinite, or a callback ends the fit
    before the first round.
    """
    history = {} if history is None else history
    is_watched = boosting.sets or after_round is not None
    if boosting.grows_ahead and not is_watched and may_lag(callbacks):
        boosting.expect(n_rounds or boosting.settings.n_estimators)
    try:
        stop = run(
            boosting,
            model,
            history=history,
            callbacks=callbacks,
            after_round=after_round
            and (lambda index: after_round(index, boosting.ensemble)),
            n_rounds=n_rounds,
        )
    finally:
        if boosting.grows_ahead:
            boosting.expect(0)
    return result(boosting, stop, history)


def run(
    boosting: Rounds | Lockstep,
    model: Any,
    *,
    history: History,
    callbacks: Sequence[Callback] = (),
    after_round: Callable[[int], bool] | None = None,
    n_rounds: int | None = None,
) -> EarlyStopException | None:
    """Boost round by round, and call the callbacks.

    If no tree of a round can be split, neither can those of later rounds. Callbacks are
    still told of these, with the same metrics: reports may be needed in each round.

    Returns what a callback ended the rounds with; None if none did.
    """
    first, n_planned = boosting.first_round, boosting.settings.n_estimators
    collectives = boosting.partition.collectives
    recorder = Recorder(history)
    caller: CallbackList
    if collectives.n_ranks == 1:
        caller = CallbackList([*callbacks, recorder], after_round)
    else:
        caller = DistributedCallbacks(boosting, callbacks, recorder, after_round)
    params = dict(vars(boosting.settings)) if callbacks else {}
    env_of = partial(
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
            empty = partial(env_of, iteration=first + index, evaluation_result_list=[])
            if caller.before_round(empty):
                break
            if n_grown is None and not boosting.boost():
                n_grown = index
            is_new = n_grown is None or index == 0
            if is_new:
                results = boosting.evaluate() if boosting.sets else []
                env = env_of(iteration=first + index, evaluation_result_list=results)
            elif not caller.has_watchers:
                break
            assert env is not None
            shown = env._replace(iteration=first + index)
            if caller.after_round(shown, index, is_new=is_new):
                break
        caller.at_end()
    except Exception as error:
        stop = caller.stop_from(error)
        if stop is None:
            raise
        recorder.complete(env or env_of(iteration=first, evaluation_result_list=[]))
        return stop
    finally:
        caller.close()
    _warn_of_fewer_rounds(boosting, n_grown, n_rounds)
    return None


def _warn_of_fewer_rounds(
    boosting: Rounds | Lockstep, n_grown: int | None, n_rounds: int | None
) -> None:
    """Warn that rounds end before the number that the user has asked for.

    Who asks for few rounds does not miss the others. ``n_rounds`` of a search are
    stages, of which nobody has asked for any.
    """
    settings, is_first = boosting.settings, boosting.partition.collectives.rank == 0
    is_asked = n_rounds is None and "n_estimators" in settings.passed
    is_missed = n_grown and settings.n_estimators >= _MANY_ROUNDS
    if is_missed and is_asked and is_first:
        warn(
            f"The fit ended after {n_grown} of {settings.n_estimators} rounds: no leaf"
            " can be split any further. Most often the model then fits the training"
            f" data perfectly, or min_child_samples={settings.min_child_samples} and"
            f" min_child_weight={settings.min_child_weight:g} allow no split."
        )


def result(
    boosting: Rounds, stop: EarlyStopException | None, history: History
) -> Trained:
    """The model after the rounds that `run` has run."""
    if stop is not None:
        return _stopped_early(boosting, stop, history)
    last = {
        name: {metric: values[-1] for metric, values in by_metric.items()}
        for name, by_metric in history.items()
    }
    return Trained(boosting.ensemble(), best_score=last, history=history)


def _stopped_early(
    boosting: Rounds, stop: EarlyStopException, history: History
) -> Trained:
    """The model up to the best round, as the exception tells it."""
    ensemble = boosting.ensemble()
    if ensemble.n_rounds == 0:
        raise ValueError(
            "EarlyStopException was raised before the first round: there is no model."
            " Raise it after a round."
        ) from stop
    kept = min(stop.best_iteration + 1, ensemble.n_rounds)
    best_score = by_name(stop.best_score or [])
    return Trained(
        ensemble.truncated(kept),
        best_iteration=kept,
        best_score=best_score or _recorded(history, kept - 1 - boosting.first_round),
        history=history,
    )


def _recorded(history: History, index: int) -> dict[str, dict[str, float]]:
    """The metrics that were recorded after the round of this index."""
    return {
        name: {
            metric: values[index]
            for metric, values in by_metric.items()
            if 0 <= index < len(values)
        }
        for name, by_metric in history.items()
    }
