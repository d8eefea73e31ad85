"""Work in several threads that ends together, whatever is nested in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread, current_thread


class Cancelled(KeyboardInterrupt):
    """Ends work that nobody waits for; like Ctrl-C, it is no error of that work."""


class CancelScope:
    """What threads work on together until it is cancelled, or ``is_over`` says so.

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
        """Raise `Cancelled` if nobody needs what this thread does."""
        if self.is_cancelled:
            raise Cancelled

    def cancel(self) -> None:
        """Let all work in it end."""
        self._cancelled.set()

    def adopt_thread(self) -> None:
        """Let all that this thread does from now on be in the scope."""
        self._threads.append(current_thread())
        CURRENT_SCOPE.set(self)

    def join(self) -> None:
        """Wait until all threads that were adopted have ended."""
        for thread in self._threads:
            thread.join()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let what this thread does in the `with` body be in the scope."""
        token = CURRENT_SCOPE.set(self)
        try:
            yield
        finally:
            CURRENT_SCOPE.reset(token)


# The innermost scope that a thread works in.
CURRENT_SCOPE: ContextVar[CancelScope | None] = ContextVar("scope", default=None)
