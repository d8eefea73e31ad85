"""Work in several threads that is cancelled together, with all that is nested in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread, current_thread


class Cancelled(KeyboardInterrupt):
    """Ends work whose result is not needed; like Ctrl-C, it is not an error of it."""


class CancelScope:
    """The work of several threads, until it is cancelled or ``is_over()`` is true.

    A search, for example, in which Ctrl-C or a time limit ends all fits.
    A scope that is made in another one is cancelled with it. A round of a fit begins
    with `check`, so that all fits in a scope end within a round.
    """

    def __init__(self, is_over: Callable[[], bool] = lambda: False) -> None:
        self._threads: list[Thread] = []
        self._outer = CURRENT_SCOPE.get()
        self._cancelled = Event()
        self._is_over = is_over

    @property
    def is_cancelled(self) -> bool:
        """Whether work in it must end."""
        is_cancelled = self._cancelled.is_set() or self._is_over()
        return is_cancelled or (self._outer is not None and self._outer.is_cancelled)

    def check(self) -> None:
        """Raise `Cancelled` if the scope is cancelled."""
        if self.is_cancelled:
            raise Cancelled

    def cancel(self) -> None:
        """Cancel the scope: its work ends at the next `check`."""
        self._cancelled.set()

    def adopt_thread(self) -> None:
        """Make this the scope of the calling thread, which `join` then waits for."""
        self._threads.append(current_thread())
        CURRENT_SCOPE.set(self)

    def join(self) -> None:
        """Wait until all threads that were adopted have ended."""
        for thread in self._threads:
            thread.join()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Make this the scope of the calling thread in the `with` body."""
        token = CURRENT_SCOPE.set(self)
        try:
            yield
        finally:
            CURRENT_SCOPE.reset(token)


# The innermost scope that a thread works in.
CURRENT_SCOPE: ContextVar[CancelScope | None] = ContextVar("scope", default=None)
