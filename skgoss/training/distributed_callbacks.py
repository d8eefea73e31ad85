"""The callbacks of a fit, which one of several processes calls for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from skgoss.model.ensemble import Ensemble
from skgoss.training.boosting import Boosting
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

# Of the number of a round and the ensemble so far: whether the fit ends after it.
AfterRound = Callable[[int, Callable[[], Ensemble]], bool]

# For callbacks that ask for something that all processes of a fit would compute.
_ONE_OF_SEVERAL = (
    "Callbacks run in one of the processes that fit this model: they can predict and"
    " call reset_parameter, but not train, roll back or evaluate the model. Its metrics"
    " are in env.evaluation_result_list."
)


class Said(NamedTuple):
    """What the callbacks of the first process have done to the fit.

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
    """The callbacks of a fit, which several processes may share.

    The first of these processes calls the callbacks. What they have done to the fit
    reaches the others before the next round and after the last one, in one collective.
    If they can only watch, or stop by the metrics, nothing is sent: all processes know
    the metrics and stop by themselves.

    A callback has the attribute ``only_watches`` if it never changes a fit, and the
    method ``on_other_peers`` if it decides by the metrics alone: it returns a callback
    that decides the same, and prints nothing.

    Parameters
    ----------
    state : Boosting or ConcurrentFits
    given : sequence of callable
    recorder : Recorder
        Called on all processes.
    after_round : callable, default=None
        Called by the first process: see `loop.train`.
    """

    def __init__(
        self,
        state: Boosting | ConcurrentFits,
        given: Sequence[Callback],
        recorder: Recorder,
        after_round: AfterRound | None = None,
    ) -> None:
        self.state = state
        self.collectives = state.partition.collectives
        self._is_first = self.collectives.rank == 0
        deciding = [c for c in given if not getattr(c, "only_watches", False)]
        alike = [c for c in deciding if hasattr(c, "on_other_ranks")]
        asks = after_round is not None or len(alike) < len(deciding)
        known = self.collectives.all_gather((asks, len(alike)))
        # Other processes need not have been given the callbacks of the first one.
        self._tells = len(known) > 1 and (known[0][0] or len({n for _, n in known}) > 1)
        if not self._is_first:
            given = [] if self._tells else [c.on_other_ranks() for c in alike]
        self._calls = CallbackList([*given, recorder])
        self._after_round = after_round if self._is_first else None
        self._settings = state.settings
        self._is_over = False
        # Whether an exception may end the fit of several processes as a result.
        self._may_stop = False

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """Callbacks are called; they cannot reach other processes."""
        self._may_stop = True
        if self.collectives.n_ranks == 1:
            yield
        else:
            with self.collectives.forbidden(_ONE_OF_SEVERAL):
                yield
        self._may_stop = False

    def before_round(self, env: CallbackEnv) -> bool:
        """A round begins; returns whether it must not, as the fit is over."""
        with self._calling():
            self._calls.before_round(env)
        return self._agree()

    def after_round(self, env: CallbackEnv, index: int) -> bool:
        """A round has ended; returns whether the fit is over for this process."""
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
        """What ends the rounds on all ranks after an error; None if it is a failure."""
        stop = as_stop(error)
        if stop is None or self.collectives.n_ranks == 1:
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
        """Let what the first process's callbacks have done be done on all processes.

        Returns whether the fit is over.
        """
        if not self._tells:
            return False
        said = self.collectives.broadcast(lambda: self._said(stop))
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
