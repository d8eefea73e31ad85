"""The callbacks of a fit in several processes, which the first process calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from skgoss.distributed.row_partition import RowPartition
from skgoss.parameters.settings import Settings
from skgoss.training.callback_api import Callback, CallbackEnv, EarlyStopException
from skgoss.training.evaluation import EvalResult

# The error of callbacks that call what all processes of a fit would have to call.
_ONE_OF_SEVERAL = (
    "Callbacks run in one of the processes that fit this model: they can predict and"
    " call reset_parameter, but not train, roll back or evaluate the model. Its metrics"
    " are in env.evaluation_result_list."
)

# Of the index of a round: whether the fit is over.
AfterIndex = Callable[[int], bool]


class Changeable(Protocol):
    """Rounds whose settings callbacks may change."""

    settings: Settings
    partition: RowPartition


class RoundCalls(Protocol):
    """What the loop calls before and after its rounds: see `CallbackList`."""

    may_skip: bool

    def before_round(self, make_env: Callable[[], CallbackEnv]) -> bool: ...

    def after_round(
        self, env: CallbackEnv, index: int, *, is_new: bool = True
    ) -> bool: ...

    def at_end(self) -> EarlyStopException | None: ...

    def stop_from(self, error: Any) -> EarlyStopException | None: ...

    def close(self) -> None: ...


class Outcome(NamedTuple):
    """What the callbacks of rank 0 have done to the fit.

    They ended it by an `EarlyStopException` with the arguments ``stop``, or without one
    if it ``is_over``. Or they have ``changed`` the values of settings.
    """

    stop: tuple[int, list[EvalResult] | None] | None
    is_over: bool
    changed: dict[str, Any]


class DistributedCallbacks:
    """The callbacks of a fit in several processes.

    Rank 0 calls the callbacks. It broadcasts what they have done to the fit before the
    next round and after the last one. If they can only watch, or stop by the metrics,
    nothing is sent: all ranks know the metrics, and stop by themselves.

    A callback has the attribute ``only_watches`` if it never changes a fit, and the
    method ``on_other_ranks`` if it decides by the metrics alone: it returns a callback
    that decides the same, and prints nothing.

    Other ranks than 0 need not have ``callbacks``. ``after_round`` is called on rank 0:
    see `CallbackList`, which ``make_list`` makes of the callbacks of each rank.
    """

    def __init__(
        self,
        boosting: Changeable,
        callbacks: Sequence[Callback],
        after_round: AfterIndex | None,
        make_list: Callable[[Sequence[Callback], AfterIndex | None], RoundCalls],
    ) -> None:
        self.boosting = boosting
        self.collectives = boosting.partition.collectives
        self._is_first = self.collectives.rank == 0
        deciding = [c for c in callbacks if not getattr(c, "only_watches", False)]
        by_metrics = [c for c in deciding if hasattr(c, "on_other_ranks")]
        is_local = after_round is not None or len(by_metrics) < len(deciding)
        fact = (
            is_local,
            len(by_metrics),
            all(getattr(c, "may_skip", False) for c in callbacks),
        )
        facts = self.collectives.all_gather(fact)
        self._broadcasts = facts[0][0] or len({n for _, n, _ in facts}) > 1
        if not self._is_first:
            after_round = None
            callbacks = (
                [] if self._broadcasts else [c.on_other_ranks() for c in by_metrics]
            )
        self._local = make_list(callbacks, after_round)
        self.may_skip = facts[0][2]
        self._settings = boosting.settings
        self._is_over = False
        # Whether an exception comes from a callback, which may end the fit by it.
        self._in_callbacks = False

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """Callbacks are called on one rank: they cannot reach the others."""
        self._in_callbacks = True
        with self.collectives.forbidden(_ONE_OF_SEVERAL):
            yield
        self._in_callbacks = False

    def before_round(self, make_env: Callable[[], CallbackEnv]) -> bool:
        with self._calling():
            self._local.before_round(make_env)
        return self._synchronize()

    def after_round(self, env: CallbackEnv, index: int, *, is_new: bool = True) -> bool:
        with self._calling():
            self._is_over = self._local.after_round(env, index, is_new=is_new)
        return self._is_over

    def at_end(self) -> EarlyStopException | None:
        has_heard = self._is_over and not self._is_first
        with self._calling():
            stop = self._local.at_end()
        if not has_heard:
            self._is_over = True
            self._synchronize(stop)
        return stop

    def stop_from(self, error: Any) -> EarlyStopException | None:
        stop = self._local.stop_from(error)
        if stop is None or not self._in_callbacks:
            return None
        if self._is_first:
            self._synchronize(stop)
        return stop

    def close(self) -> None:
        self._local.close()

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
            None if stop is None else (stop.best_iteration, stop.best_score),
            self._is_over,
            {name: now[name] for name in now if now[name] != before[name]},
        )
