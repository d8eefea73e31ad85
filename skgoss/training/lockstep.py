"""Fits that advance together, round by round, as those of a cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skgoss.training.callback_api import History
from skgoss.training.evaluation import EvalResult, EvaluationSet
from skgoss.training.loop import record
from skgoss.training.rounds import MAX_FOLLOWING, Rounds
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
        """The metrics after a step; if the rounds have ended before, the last ones."""
        return self.results[min(index, len(self.results) - 1)]


class Lockstep(CertainEnd):
    """Fits that advance together, and grow in a loop as one fit does: see `Growing`.

    Use it as a context manager: its threads end with the `with` body. ``n_at_once``
    of the fits advance at the same time, and may be ``ahead`` rounds of the one that
    `boost` was asked for. The results are the same for any number.
    """

    def __init__(
        self, fits: Sequence[Rounds], n_at_once: int = 1, ahead: int = 0
    ) -> None:
        first = fits[0]
        self.settings = first.settings
        self.first_round = first.first_round
        self.partition = first.partition
        self.index = -1
        self._fits = [Steps(rounds) for rounds in fits]
        self._ahead = ahead
        self._schedule = Schedule([fit.advance for fit in self._fits], n_at_once)

    @property
    def sets(self) -> list[EvaluationSet]:
        """The evaluation sets of the first fit."""
        return self._fits[0].rounds.sets

    def _begin(self) -> None:
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
        for fit in self._fits if self._ahead else ():
            may_end = self._ahead <= MAX_FOLLOWING
            fit.rounds.expect(n_rounds, is_watched=True, may_end=may_end)

    def boost(self) -> bool:
        """Let every fit grow the trees of one round.

        Returns False if none could. A fit that cannot grow stays as it is.
        """
        self.index += 1
        left = self.settings.n_estimators - self.index - 1
        self._schedule.reach(self.index + 1, max(0, min(self._ahead, left)))
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
        """The metrics of each fit, in the rounds that `boost` was asked for."""
        histories: list[History] = [{} for _ in self._fits]
        for history, fit in zip(histories, self._fits, strict=True):
            for index in range(self.index + 1):
                record(history, fit.results_of(index))
        return histories
