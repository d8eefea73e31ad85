"""Fits that advance together, as those of the folds of a cross-validation."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np

from skgoss.training.boosting import Boosting
from skgoss.training.callback_api import EvalResult, History, record

# An estimate: n threads make one fit faster by n to this power.
_EFFICIENCY = 0.8

# Rounds that fits may be ahead of the callbacks: enough that no thread waits for a slow
# round of another. They are lost if a callback stops. Not tuned.
AHEAD = 8

# Seconds between two looks for signals: Windows shows none to a thread that waits.
_PATIENCE = 0.1


def at_once(n_fits: int, n_threads: int) -> tuple[int, int]:
    """How many fits run at once, and how many threads each of them has.

    Parameters
    ----------
    n_fits, n_threads : int

    Returns
    -------
    n_at_once, n_threads_each : int
        Their product is at most ``n_threads``.
    """
    best = max(
        range(1, min(n_fits, n_threads) + 1),
        key=lambda n: (n * (n_threads // n) ** _EFFICIENCY, n),
    )
    return best, n_threads // best


class Folds:
    """Fits that advance together, with the interface of `Boosting` for rounds.

    Use it as a context manager: its threads end with the block.

    Parameters
    ----------
    states : sequence of Boosting
    n_at_once : int, default=1
        How many of them advance at the same time; 1: in the thread that calls.
    ahead : int, default=0
        How many rounds a fit may be ahead of the one that `boost` was asked for. The
        results are the same for any number.

    Attributes
    ----------
    index : int
        The number of calls of `boost`, less 1.
    """

    def __init__(
        self, states: Sequence[Boosting], n_at_once: int = 1, ahead: int = 0
    ) -> None:
        self.settings = states[0].settings
        self.first_round = states[0].first_round
        self.partition = states[0].partition
        self.index = -1
        self._fits = [_Fit(state) for state in states]
        self._ahead = ahead
        self._limit = 0
        self._closed = False
        lock = threading.Lock()
        self._wanted = threading.Condition(lock)
        self._advanced = threading.Condition(lock)
        self._threads = [
            threading.Thread(target=self._work, name="skgoss-fold", daemon=True)
            for _ in range(n_at_once if n_at_once > 1 else 0)
        ]

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
        with self._wanted:
            self._closed = True
            self._wanted.notify_all()
        for thread in self._threads:
            thread.join()

    def boost(self) -> bool:
        """Let every fit grow the trees of one round.

        Returns False if no fit could. A fit that cannot grow stays as it is.
        """
        self.index += 1
        n_rounds = self.index + 1
        most = self.settings.n_estimators
        if self._threads:
            with self._wanted:
                self._limit = max(n_rounds, min(n_rounds + self._ahead, most))
                self._wanted.notify_all()
                while any(len(fit.results) < n_rounds for fit in self._fits):
                    self._advanced.wait(_PATIENCE)
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
            EvalResult(
                name, metric, float(np.mean(seen)), maximize, float(np.std(seen))
            )
            for (name, metric, maximize), seen in values.items()
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
        """Advance fits until the folds are closed."""
        while (fit := self._next()) is not None:
            fit.advance()
            with self._wanted:
                fit.is_busy = False
                if all(len(other.results) > self.index for other in self._fits):
                    self._advanced.notify()

    def _next(self) -> _Fit | None:
        """The fit that has fallen behind most; None if there is nothing left to do."""
        with self._wanted:
            while not self._closed:
                waiting = [fit for fit in self._fits if fit.can_advance(self._limit)]
                if waiting:
                    fit = min(waiting, key=lambda fit: len(fit.results))
                    fit.is_busy = True
                    return fit
                self._wanted.wait()
            return None


class _Fit:
    """One of the fits.

    Attributes
    ----------
    results : list of list of EvalResult
        The metrics after each round.
    n_grown : int
        The number of rounds whose trees have grown.
    error : BaseException or None
        What the last round raised.
    is_busy : bool
        Whether a thread advances it.
    """

    def __init__(self, state: Boosting) -> None:
        self.state = state
        self.results: list[list[EvalResult]] = []
        self.n_grown = 0
        self.error: BaseException | None = None
        self.is_busy = False

    def can_advance(self, limit: int) -> bool:
        return not self.is_busy and self.error is None and len(self.results) < limit

    def advance(self) -> None:
        """Boost one round, unless an earlier round could not grow."""
        results: list[EvalResult] = []
        try:
            results = self._boosted()
        except BaseException as error:
            self.error = error
        self.results.append(results)

    def _boosted(self) -> list[EvalResult]:
        n_rounds = len(self.results)
        if self.n_grown < n_rounds:
            return self.results[-1]
        grew = self.state.boost()
        self.n_grown += grew
        return self.state.evaluate() if grew or n_rounds == 0 else self.results[-1]
