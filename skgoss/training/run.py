"""A run: a fit that advances by some rounds at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from math import inf, isnan
from threading import Lock

from skgoss.training.best_round import best_of
from skgoss.training.callback_api import History
from skgoss.training.evaluation import EvalResult, loss_of
from skgoss.training.loop import record
from skgoss.training.rounds import Rounds


def never() -> bool:
    """A limit that never ends a run."""
    return False


class Run:
    """The rounds of a fit, which `advance` grows.

    The evaluation sets are evaluated after each round, or, if not ``evaluates_all``,
    after 1, 2, 4, 8, ... rounds and after the last round of each `advance`. If it
    ``releases_buffers``, it has no histograms between two calls of `advance`. Threads
    that share a run hold its ``lock`` while they use it.
    """

    def __init__(
        self,
        rounds: Rounds,
        *,
        evaluates_all: bool = True,
        releases_buffers: bool = False,
    ) -> None:
        self.rounds = rounds
        self.lock = Lock()
        self.n_grown = 0  # the rounds in which a tree could be split
        self.has_ended = False  # whether no more rounds will follow
        self.seconds = 0.0  # the time of all rounds
        # The metrics by the number of rounds after which they were computed.
        self.results: dict[int, list[EvalResult]] = {}
        # The first of these metrics, as a loss; not NaN.
        self.losses: dict[int, float] = {}
        self._evaluates_all = evaluates_all
        self._releases_buffers = releases_buffers

    @property
    def n_rounds(self) -> int:
        """The number of new rounds."""
        return self.rounds.current_iteration() - self.rounds.first_round

    def advance(self, n_rounds: int, is_over: Callable[[], bool] = never) -> None:
        """Boost until there are ``n_rounds`` rounds; fewer if no tree can be split.

        ``is_over()`` returns, after each round, whether the run ends with it.
        """
        n = self.n_rounds
        if self.has_ended or n >= n_rounds:
            return
        begin = time.perf_counter()
        expecting: AbstractContextManager[None] = nullcontext()
        if n_rounds - n > 1:
            expecting = self.rounds.expecting(
                n_rounds - n, is_evaluated=True, may_end=is_over is not never
            )
        with expecting:
            while not self.has_ended and n < n_rounds:
                has_grown = self.rounds.boost()
                self.n_grown += has_grown
                self.has_ended = is_over() or not has_grown
                n = self.n_rounds
                is_last = self.has_ended or n == n_rounds
                is_due = self._evaluates_all or is_last or n.bit_count() == 1
                if is_due and n not in self.results:
                    self._evaluate(n)
        if self._releases_buffers:
            self.rounds.release_buffers()
        self.seconds += time.perf_counter() - begin

    def _evaluate(self, n_rounds: int) -> None:
        """Keep the metrics after ``n_rounds`` rounds; NaN is the worst loss."""
        results = self.results[n_rounds] = self.rounds.evaluate()
        if results:
            loss = loss_of(results[0])
            self.losses[n_rounds] = inf if isnan(loss) else loss

    @property
    def history(self) -> History:
        """The metrics of the evaluated rounds."""
        history: History = {}
        for results in self.results.values():
            record(history, results)
        return history

    @property
    def best_round(self) -> int:
        """The number of rounds with the lowest loss."""
        return list(self.losses)[best_of(list(self.losses.values()))]

    def end(self) -> None:
        """End the run, and keep only the metrics."""
        del self.rounds
