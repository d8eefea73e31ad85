"""What ends fits early: the option ``time_limit``, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

from skgoss.utils.cancellation import CURRENT_SCOPE
from skgoss.utils.locks import CertainEnd
from skgoss.utils.messages import warn
from skgoss.utils.public import set_module


class Interruption(CertainEnd):
    """The event that Ctrl-C sets in a `with keep_on_interrupt` body.

    The bodies need not end in the order in which they begin, the last one first: the
    handler that one of them has replaced is left to the next one.
    """

    def __init__(self) -> None:
        self.event = Event()

    def _begin(self) -> None:
        """Replace the handler of Ctrl-C; if that is interrupted, restore it."""
        try:
            self._usual = signal.getsignal(signal.SIGINT)
            INTERRUPTIONS.append(self)
            signal.signal(signal.SIGINT, self._interrupt)
        except BaseException:
            self._end()
            raise

    def _end(self, *error: Any) -> None:
        """Restore the handler that was replaced, or leave it to the next body.

        ``error`` is what has ended the body; it may already have ended.
        """
        if self not in INTERRUPTIONS:
            return
        later = INTERRUPTIONS[INTERRUPTIONS.index(self) + 1 :]
        if later:
            later[0]._usual = self._usual
        else:
            signal.signal(signal.SIGINT, self._usual)
        INTERRUPTIONS.remove(self)

    def _interrupt(self, *_: Any) -> None:
        if self.event.is_set():
            raise KeyboardInterrupt
        self.event.set()


# Those of all bodies that have begun.
INTERRUPTIONS: list[Interruption] = []


@set_module("skgoss")
@contextmanager
def keep_on_interrupt() -> Iterator[None]:
    """Let Ctrl-C end fits early and keep the model, as ``time_limit`` does.

    In the `with` body, which the main thread enters, Ctrl-C (SIGINT) ends a fit after
    the current round. A preset ends its search with the best candidates so far, and
    its last fit continues until the next Ctrl-C. So does a race of
    `skgoss.model_selection`, where candidates without scores of all folds get NaN. With
    the option ``folds``, the models that are complete are kept. Warnings say what was
    ended. Fits that begin afterwards raise KeyboardInterrupt, as does Ctrl-C if nothing
    has reacted to the one before. Searches with ``strategy='all'`` raise it, too: they
    compare all candidates or none.

    Yields
    ------
    None

    Raises
    ------
    RuntimeError
        In another thread than the main one, which alone gets Ctrl-C.

    See Also
    --------
    LGBMRegressor : Its option ``time_limit`` ends fits in the same way.

    Examples
    --------
    >>> import skgoss
    >>> X, y = [[1.0], [2.0]] * 20, [1.0, 2.0] * 20
    >>> with skgoss.keep_on_interrupt():
    ...     model = skgoss.LGBMRegressor(n_estimators=10).fit(X, y)
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            "keep_on_interrupt() must be called by the main thread: no other one gets"
            " Ctrl-C."
        )
    with Interruption():
        yield


class TimeLimit:
    """A number of seconds from now on, and an event that Ctrl-C may set."""

    def __init__(self, seconds: float | None, interrupted: Event | None = None) -> None:
        self.seconds = seconds
        self.option = seconds  # the limit of the whole fit, if this is that of a stage
        self.interrupted = interrupted or Event()
        self.has_end = seconds is not None or interrupted is not None
        # Whether it has ended anything: `is_over` or that of a stage has said so.
        self.is_reached = False
        self._end = float("inf") if seconds is None else time.monotonic() + seconds

    @classmethod
    def from_now(cls, seconds: float | None) -> TimeLimit:
        """The limit of a fit or a search that begins now.

        In a `with keep_on_interrupt` body, Ctrl-C ends it, unless it is inside of a
        search. KeyboardInterrupt if Ctrl-C has come before.
        """
        is_kept = INTERRUPTIONS and CURRENT_SCOPE.get() is None
        interrupted = INTERRUPTIONS[-1].event if is_kept else None
        if interrupted is not None and interrupted.is_set():
            raise KeyboardInterrupt
        return cls(seconds, interrupted)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._end - time.monotonic())

    def is_over(self, seconds: float = 0.0) -> bool:
        """Whether less than ``seconds`` are left."""
        is_over = self.left <= seconds or self.interrupted.is_set()
        self.is_reached |= is_over
        return is_over

    def warn_interrupted(self, what: str, *, continues: bool) -> None:
        """Warn if Ctrl-C has ended something.

        If the fit ``continues``, the next Ctrl-C ends the rest of it.
        """
        if not self.interrupted.is_set():
            return
        self.is_reached = True
        warn(f"Ctrl-C ended {what}.")
        if continues:
            self.interrupted.clear()

    def after_round(self, n_planned: int) -> Callable[..., bool] | None:
        """What ``loop.train`` calls after each of some rounds; None without a limit."""

        def ends(index: int, *_: Any) -> bool:
            return index + 1 < n_planned and self.is_over()

        return ends if self.has_end else None

    def results(self) -> dict[str, bool]:
        """What a model keeps of it."""
        return {"is_limit_reached": self.is_reached} if self.has_end else {}

    def of_share(self, share: float) -> TimeLimit:
        """The limit of a stage of the fit, which takes a fraction of the time left."""
        if not self.has_end:
            return self
        seconds = None if self.seconds is None else share * self.left
        limit = TimeLimit(seconds, self.interrupted)
        limit.option = self.option
        return limit


NO_LIMIT = TimeLimit(None)
