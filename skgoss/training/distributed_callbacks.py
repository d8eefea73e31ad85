"""The callbacks of a fit in several processes, which rank 0 calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from skgoss.distributed.row_partition import RowPartition
from skgoss.parameters.settings import Settings
from skgoss.training.callback_api import Callback, CallbackEnv, EarlyStopException
from skgoss.training.evaluation import EvalResult

# The error of callbacks that call a collective operation.
_IN_ONE_PROCESS = (
    "Callbacks run in one of the processes that fit this model: they can predict and"
    " call reset_parameter, but not train, roll back or evaluate the model. Its metrics"
    " are in env.evaluation_result_list."
)

# Called with the index of a round; returns whether the fit is over.
AfterIndex = Callable[[int], bool]


class Changeable(Protocol):
    """Rounds whose settings callbacks may change."""

    settings: Settings
    partition: RowPartition


class RoundCalls(Protocol):
    """The callbacks of a fit, as the loop calls them: see `CallbackList`."""

    may_skip: bool
    calls_before: bool  # whether `before_round` does anything

    def before_round(self, make_env: Callable[[], CallbackEnv]) -> bool: ...

    def after_round(
        self, env: CallbackEnv, index: int, *, is_new: bool = True
    ) -> bool: ...

    def at_end(self) -> EarlyStopException | None: ...

    def early_stop(self, error: Any) -> EarlyStopException | None: ...

    def close(self) -> None: ...


class Outcome(NamedTuple):
    """The effect of the callbacks of rank 0 on the fit.

    They have ended it by an `EarlyStopException` with the arguments ``stop``, or
    without one if it ``is_over``. Or they have ``changed`` the values of settings.
    """

    stop: tuple[int, list[EvalResult] | None] | None
    is_over: bool
    changed: dict[str, Any]


class DistributedCallbacks:
    """The callbacks of a fit in several processes.

    Rank 0 calls the callbacks. It broadcasts their effect on the fit before the next
    round and after the last one. If no callback can change the fit except by the
    metrics, nothing is sent: all ranks have the metrics and stop at the same round.

    A callback has the attribute ``only_watches`` if it never changes a fit, and the
    method ``on_other_ranks`` if it decides by the metrics alone. This method returns a
    callback that makes the same decisions and prints nothing.

    Ranks other than 0 need no ``callbacks``. ``after_round`` is called on rank 0: see
    `CallbackList`, which ``make_list`` makes of the callbacks of each rank.
    """

    calls_before = True

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
        metric_callbacks = [c for c in deciding if hasattr(c, "on_other_ranks")]
        is_local = after_round is not None or len(metric_callbacks) < len(deciding)
        fact = (
            is_local,
            len(metric_callbacks),
            all(getattr(c, "may_skip", False) for c in callbacks),
        )
        facts = self.collectives.all_gather(fact)
        self._broadcasts = facts[0][0] or len({n for _, n, _ in facts}) > 1
        if not self._is_first:
            after_round = None
            callbacks = (
                []
                if self._broadcasts
                else [c.on_other_ranks() for c in metric_callbacks]
            )
        self._local = make_list(callbacks, after_round)
        self.may_skip = facts[0][2]
        self._settings = boosting.settings
        self._is_over = False
        # Whether callbacks are called, so that an exception may end the fit.
        self._in_callbacks = False

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """The `with` body calls callbacks, on one rank: collectives are forbidden."""
        self._in_callbacks = True
        with self.collectives.forbidden(_IN_ONE_PROCESS):
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
        """Call the callbacks after the last round, and tell all ranks the result.

        Rank 0 tells it. Other ranks that the last round has told that the fit is over
        have got it already.
        """
        is_informed = self._is_over and not self._is_first
        with self._calling():
            stop = self._local.at_end()
        if not is_informed:
            self._is_over = True
            self._synchronize(stop)
        return stop

    def early_stop(self, error: Any) -> EarlyStopException | None:
        """The exception that ends the fit early if a callback has raised ``error``.

        Else None: then it is an error of the fit. Rank 0 tells the other ranks.
        """
        stop = self._local.early_stop(error)
        if stop is None or not self._in_callbacks:
            return None
        if self._is_first:
            self._synchronize(stop)
        return stop

    def close(self) -> None:
        self._local.close()

    def _synchronize(self, stop: EarlyStopException | None = None) -> bool:
        """Repeat on all ranks the effect of the callbacks of rank 0.

        Returns whether the fit is over, on the other ranks: rank 0, which ``stop`` is
        from, knows it already. If an exception has ended it, they raise the same one.
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
        """The effect of the callbacks since the last call, on rank 0.

        ``stop`` is the exception by which one has ended the fit; None: none has.
        """
        old, new = vars(self._settings), vars(self.boosting.settings)
        self._settings = self.boosting.settings
        return Outcome(
            None if stop is None else (stop.best_iteration, stop.best_score),
            self._is_over,
            {name: new[name] for name in new if new[name] != old[name]},
        )
