"""The callbacks of a fit in several processes, which one of them calls for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from skgoss.model.ensemble import Ensemble
from skgoss.training.callback_api import (
    Callback,
    CallbackEnv,
    CallbackList,
    EarlyStopException,
    EvalResult,
    Recorder,
    as_stop,
)
from skgoss.training.concurrent_fits import ConcurrentFits
from skgoss.training.rounds import Rounds

# Gets the index of a round and the ensemble so far; returns whether the fit is over.
AfterRound = Callable[[int, Callable[[], Ensemble]], bool]

# The error of callbacks that call what all processes of a fit would have to call.
_ONE_OF_SEVERAL = (
    "Callbacks run in one of the processes that fit this model: they can predict and"
    " call reset_parameter, but not train, roll back or evaluate the model. Its metrics"
    " are in env.evaluation_result_list."
)


class Outcome(NamedTuple):
    """What the callbacks of rank 0 have done to the fit.

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


class DistributedCallbacks:
    """The callbacks of a fit, which may run in several processes.

    Rank 0 calls the callbacks. It broadcasts what they have done to the fit before the
    next round and after the last one. If they can only watch, or stop by the metrics,
    nothing is sent: all ranks know the metrics, and stop by themselves.

    A callback has the attribute ``only_watches`` if it never changes a fit, and the
    method ``on_other_ranks`` if it decides by the metrics alone: it returns a callback
    that decides the same, and prints nothing.

    Parameters
    ----------
    boosting : Rounds or ConcurrentFits
    callbacks : sequence of callable
        Those of this rank. Other ranks than 0 need not have them.
    recorder : Recorder
        Called on all ranks.
    after_round : callable, default=None
        Called on rank 0: see `loop.train`.
    """

    def __init__(
        self,
        boosting: Rounds | ConcurrentFits,
        callbacks: Sequence[Callback],
        recorder: Recorder,
        after_round: AfterRound | None = None,
    ) -> None:
        self.boosting = boosting
        self.collectives = boosting.partition.collectives
        self._is_first = self.collectives.rank == 0
        deciding = [c for c in callbacks if not getattr(c, "only_watches", False)]
        by_metrics = [c for c in deciding if hasattr(c, "on_other_ranks")]
        is_local = after_round is not None or len(by_metrics) < len(deciding)
        facts = self.collectives.all_gather((is_local, len(by_metrics)))
        self._broadcasts = len(facts) > 1 and (
            facts[0][0] or len({n for _, n in facts}) > 1
        )
        if not self._is_first:
            callbacks = (
                [] if self._broadcasts else [c.on_other_ranks() for c in by_metrics]
            )
        self._calls = CallbackList([*callbacks, recorder])
        self._after_round = after_round if self._is_first else None
        self._settings = boosting.settings
        self._is_over = False
        # Whether an exception comes from a callback, which may end the fit by it.
        self._in_callbacks = False

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Callbacks are called on one rank: they cannot reach the others."""
        self._in_callbacks = True
        if self.collectives.n_ranks == 1:
            result = function(*arguments)
        else:
            with self.collectives.forbidden(_ONE_OF_SEVERAL):
                result = function(*arguments)
        self._in_callbacks = False
        return result

    def before_round(self, make_env: Callable[[], CallbackEnv]) -> bool:
        """A round begins; returns whether it must not, as the fit is over."""
        if self._calls.before:
            self._call(self._calls.before_round, make_env())
        return self._synchronize()

    def after_round(self, env: CallbackEnv, index: int) -> bool:
        """A round has ended; returns whether the fit is over for this rank."""
        self._call(self._calls.after_round, env)
        if self._after_round is not None:
            ensemble = self.boosting.ensemble
            self._is_over = self._call(self._after_round, index, ensemble)
        return self._is_over

    def at_end(self) -> None:
        """The last round is over, and no callback has ended the fit."""
        has_heard = self._is_over and not self._is_first
        self._call(self._calls.at_end)
        if not has_heard:
            self._is_over = True
            self._synchronize()

    def stop_of(self, error: Exception) -> EarlyStopException | None:
        """What ends the rounds on all ranks after an error; None if it is a failure."""
        stop = as_stop(error)
        if stop is None or self.collectives.n_ranks == 1:
            return stop
        if not self._in_callbacks:
            return None
        if self._is_first:
            self._synchronize(stop)
        return stop

    def close(self) -> None:
        """The fit has ended, perhaps by an error."""
        self._calls.close()

    def _synchronize(self, stop: EarlyStopException | None = None) -> bool:
        """Do on all ranks what the callbacks of rank 0 have done there.

        Returns whether the fit is over.
        """
        if not self._broadcasts:
            return False
        outcome = self.collectives.broadcast(lambda: self._outcome(stop))
        if self._is_first:
            return False
        if outcome.stop is not None:
            self._in_callbacks = True
            raise EarlyStopException(*outcome.stop)
        if outcome.changed:
            settings = self.boosting.settings
            self.boosting.settings = settings.replaced(**outcome.changed)
        self._is_over = outcome.is_over
        return outcome.is_over

    def _outcome(self, stop: EarlyStopException | None) -> Outcome:
        before, now = vars(self._settings), vars(self.boosting.settings)
        self._settings = self.boosting.settings
        return Outcome(
            stop and (stop.best_iteration, stop.best_score),
            self._is_over,
            {name: now[name] for name in now if now[name] != before[name]},
        )
