"""Fits that advance together, round by round, such as those of a cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skgoss.training.callback_api import History
from skgoss.training.evaluation import EvalResult, EvaluationSet
from skgoss.training.loop import record
from skgoss.training.rounds import MAX_PREFETCHED, Rounds
from skgoss.training.schedule import Schedule
from skgoss.utils.locks import CertainEnd


class Steps:
    """The rounds of a fit, one for each step, and the metrics after each step.

    Callbacks may grow more rounds, or take some back, between two steps.
    """

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self.n_grown = 0  # the steps in which a tree could be split
        self.results: list[list[EvalResult]] = []

    def advance(self) -> bool:
        """Grow a round; returns whether a tree could be split."""
        before = self.rounds.current_iteration()
        has_grown = self.rounds.boost()
        self.n_grown += has_grown
        if self.rounds.current_iteration() != before or not self.results:
            self.results.append(self.rounds.evaluate())
        return has_grown

    def results_of(self, index: int) -> list[EvalResult]:
        """The metrics after a step, or the last ones if the rounds have ended."""
        return self.results[min(index, len(self.results) - 1)]


class Lockstep(CertainEnd):
    """Fits that advance together, and grow in a loop as one fit does: see `Growing`.

    Use it as a context manager: its threads end with the `with` body. ``n_at_once`` of
    the fits advance at the same time, and prefetch at most ``n_prefetched`` rounds. The
    results are the same for any number. ``index`` is that of the last round, -1 before
    the first.
    """

    def __init__(
        self, fits: Sequence[Rounds], n_at_once: int = 1, n_prefetched: int = 0
    ) -> None:
        first = fits[0]
        self.settings = first.settings
        self.first_round = first.first_round
        self.partition = first.partition
        self.index = -1
        self._fits = [Steps(rounds) for rounds in fits]
        self._n_prefetched = n_prefetched
        self._schedule = Schedule([fit.advance for fit in self._fits], n_at_once)

    @property
    def sets(self) -> list[EvaluationSet]:
        """The evaluation sets of the first fit."""
        return self._fits[0].rounds.sets

    def _begin(self) -> None:
        """Start the threads, and allow rounds to be prefetched; undone by an error."""
        try:
            self._expect(self.settings.n_estimators)
            self._schedule.__enter__()
        except BaseException:
            self._expect(0)
            raise

    def _end(self, *error: Any) -> None:
        self._schedule.__exit__(*error)
        self._expect(0)

    def _expect(self, n_rounds: int) -> None:
        """Allow all fits to prefetch ``n_rounds``; 0 ends that: see `Rounds.expect`."""
        for fit in self._fits if self._n_prefetched else ():
            may_end = self._n_prefetched <= MAX_PREFETCHED
            fit.rounds.expect(n_rounds, is_evaluated=True, may_end=may_end)

    def boost(self) -> bool:
        """Grow the trees of one round of every fit.

        Returns False if no fit could. A fit that cannot grow does not change.
        """
        self.index += 1
        left = self.settings.n_estimators - self.index - 1
        self._schedule.reach(self.index + 1, max(0, min(self._n_prefetched, left)))
        return any(fit.n_grown > self.index for fit in self._fits)

    def evaluate(self) -> list[EvalResult]:
        """The means and standard deviations of the metrics over the fits."""
        values: dict[tuple[str, str, bool], list[float]] = {}
        for fit in self._fits:
            for name, metric, value, maximize in fit.results_of(self.index):
                values.setdefault((name, metric, maximize), []).append(value)
        return [
            EvalResult(name, metric, float(np.mean(v)), maximize, float(np.std(v)))
            for (name, metric, maximize), v in values.items()
        ]

    def histories(self) -> list[History]:
        """The metrics of each fit, without those of prefetched rounds."""
        histories: list[History] = [{} for _ in self._fits]
        for history, fit in zip(histories, self._fits, strict=True):
            for index in range(self.index + 1):
                record(history, fit.results_of(index))
        return histories
