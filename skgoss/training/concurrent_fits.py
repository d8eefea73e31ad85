"""Fits that advance together, as those of the folds of a cross-validation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Self, TypeVar

import numpy as np

from skgoss.training.callback_api import EvalResult, History, record
from skgoss.training.evaluation import EvaluationSet
from skgoss.training.rounds import Rounds
from skgoss.utils.cancellation import CancelScope

Result = TypeVar("Result")

# An estimate: n threads make one fit faster by n to this power.
_EFFICIENCY = 0.8

# Rounds that fits may be ahead of the callbacks: enough that no thread waits for a slow
# round of another. They are lost if a callback stops. Not tuned.
AHEAD = 8

# Seconds between two checks for signals, which only the main thread gets. On Windows, a
# thread that waits gets none.
_SIGNAL_INTERVAL = 0.1


def at_once(n_fits: int, n_threads: int) -> tuple[int, int]:
    """How many fits run at once, and how many of the threads each of them has."""
    best = max(
        range(1, min(n_fits, n_threads) + 1),
        key=lambda n: (n * (n_threads // n) ** _EFFICIENCY, n),
    )
    return best, n_threads // best


def call_side_by_side(
    functions: Sequence[Callable[[], Result]], n_at_once: int
) -> list[Result]:
    """Call functions, several at once, and return their results.

    If ``n_at_once`` is 1, they are called one after the other in this thread. If one
    raises, the others are cancelled, and the first error, in the order of the
    functions, is raised once they have ended.
    """
    if n_at_once == 1 or len(functions) == 1:
        return [function() for function in functions]
    scope = CancelScope()
    pending: list[Future[Result]] = []
    with ThreadPoolExecutor(n_at_once, "skgoss-fit", scope.adopt_thread) as pool:
        try:
            pending += map(pool.submit, functions)
            while not all(future.done() for future in pending):
                wait(pending, _SIGNAL_INTERVAL, "FIRST_EXCEPTION")
                failed = [f for f in pending if f.done() and f.exception()]
                if failed:
                    failed[0].result()
        except BaseException:
            scope.cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            # The pool does not know of a thread that Ctrl-C has kept it from noting.
            scope.join()
            raise
        return [future.result() for future in pending]


class ConcurrentFits:
    """Fits that advance together, with the interface of `Rounds` for the loop.

    Use it as a context manager: its threads end with the block. ``n_at_once`` of the
    fits advance at the same time; if it is 1, in the thread that calls. A fit may be
    ``ahead`` rounds of the one that `boost` was asked for. The results are the same for
    any number.
    """

    def __init__(
        self, fits: Sequence[Rounds], n_at_once: int = 1, ahead: int = 0
    ) -> None:
        self.settings = fits[0].settings
        self.first_round = fits[0].first_round
        self.partition = fits[0].partition
        self.index = -1
        self._fits = [_Fit(boosting) for boosting in fits]
        self._ahead = ahead
        self._limit = 0
        self._closed = False
        self._scope = CancelScope()
        lock = threading.Lock()
        self._work_available = threading.Condition(lock)
        self._round_done = threading.Condition(lock)
        self._threads = [
            threading.Thread(target=self._work, name="skgoss-fold", daemon=True)
            for _ in range(n_at_once if n_at_once > 1 else 0)
        ]

    @property
    def sets(self) -> list[EvaluationSet]:
        """The evaluation sets of the first fit."""
        return self._fits[0].boosting.sets

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._work_available:
            self._closed = True
            self._work_available.notify_all()
        for thread in self._threads:
            thread.join()

    def boost(self) -> bool:
        """Let every fit grow the trees of one round.

        Returns False if no fit could. A fit that cannot grow stays as it is.
        """
        self.index += 1
        n_rounds = self.index + 1
        max_rounds = self.settings.n_estimators
        if self._threads:
            with self._work_available:
                self._limit = max(n_rounds, min(n_rounds + self._ahead, max_rounds))
                self._work_available.notify_all()
                while any(len(fit.results) < n_rounds for fit in self._fits):
                    self._round_done.wait(_SIGNAL_INTERVAL)
        for fit in self._fits:
            if not self._threads:
                fit.advance()
            if fit.error is not None and len(fit.results) == n_rounds:
                raise fit.error
        return any(fit.n_grown > self.index for fit in self._fits)

    def evaluate(self) -> list[EvalResult]:
        """The means and standard deviations of the metrics over the fits."""
        values: dict[tuple[str, str, bool], list[float]] = {}
        for fit in self._fits:
            for name, metric, value, maximize in fit.results[self.index]:
                values.setdefault((name, metric, maximize), []).append(value)
        return [
            EvalResult(name, metric, float(np.mean(v)), maximize, float(np.std(v)))
            for (name, metric, maximize), v in values.items()
        ]

    def histories(self) -> list[History]:
        """The metrics of each fit, in the rounds that `boost` was asked for."""
        histories: list[History] = []
        for fit in self._fits:
            histories.append({})
            for results in fit.results[: self.index + 1]:
                record(histories[-1], results)
        return histories

    def _work(self) -> None:
        """Advance fits until `__exit__` is called."""
        self._scope.adopt_thread()
        while (fit := self._next_fit()) is not None:
            fit.advance()
            with self._work_available:
                fit.is_busy = False
                if all(len(other.results) > self.index for other in self._fits):
                    self._round_done.notify()

    def _next_fit(self) -> _Fit | None:
        """The fit that has fallen behind most; None if there is nothing left to do."""
        with self._work_available:
            while not self._closed:
                waiting = [fit for fit in self._fits if fit.can_advance(self._limit)]
                if waiting:
                    fit = min(waiting, key=lambda fit: len(fit.results))
                    fit.is_busy = True
                    return fit
                self._work_available.wait()
            return None


class _Fit:
    """One of the fits."""

    def __init__(self, boosting: Rounds) -> None:
        self.boosting = boosting
        # The metrics after each round.
        self.results: list[list[EvalResult]] = []
        # The number of rounds whose trees have grown.
        self.n_grown = 0
        # What the last round raised.
        self.error: BaseException | None = None
        # Whether a thread advances it.
        self.is_busy = False

    def can_advance(self, limit: int) -> bool:
        return not self.is_busy and self.error is None and len(self.results) < limit

    def advance(self) -> None:
        """Boost one round, unless an earlier round could not grow."""
        results: list[EvalResult] = []
        try:
            results = self._boost()
        except BaseException as error:
            self.error = error
        self.results.append(results)

    def _boost(self) -> list[EvalResult]:
        n_rounds = len(self.results)
        if self.n_grown < n_rounds:
            return self.results[-1]
        grew = self.boosting.boost()
        self.n_grown += grew
        return self.boosting.evaluate() if grew or n_rounds == 0 else self.results[-1]
