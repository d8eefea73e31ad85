"""Private parts of joblib: its threads, which searches end together."""

from __future__ import annotations

from multiprocessing.pool import ThreadPool

from joblib.parallel import ThreadingBackend

from skgoss.utils.cancellation import CancelScope
from skgoss.utils.messages import GIVEN_WARNINGS, warnings_of_call


class ScopedThreads(ThreadingBackend):
    """The threads of joblib, whose jobs are in a scope.

    If one fails or Ctrl-C comes, the scope is cancelled, and joblib waits for the other
    jobs. Warnings that the user's call has given are not repeated by a thread.
    """

    def __init__(self, scope: CancelScope) -> None:
        super().__init__()
        self._scope = scope
        self._given_warnings = warnings_of_call()

    def _get_pool(self) -> ThreadPool:
        if self._pool is None:
            self._pool: ThreadPool = ThreadPool(self._n_jobs, self._begin_thread)
        return self._pool

    def _begin_thread(self) -> None:
        GIVEN_WARNINGS.set(self._given_warnings)
        self._scope.adopt_thread()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        if not self._scope.is_cancelled:
            self._scope.cancel()
        super().abort_everything(ensure_ready)

    def terminate(self) -> None:
        """End the pool, and wait for its threads if all of them were started."""
        # If threads cannot be started, those of half a pool wait forever.
        is_whole = self._pool is not None
        super().terminate()
        if is_whole:
            self._scope.join()
