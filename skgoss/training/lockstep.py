"""Runs that advance together, round by round, as those of a cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from skgoss.training.callback_api import History
from skgoss.training.evaluation import EvalResult, EvaluationSet
from skgoss.training.loop import record
from skgoss.training.rounds import AHEAD
from skgoss.training.run import Run
from skgoss.training.schedule import Schedule
from skgoss.utils.locks import CertainEnd


class Lockstep(CertainEnd):
    """Runs that advance together, and grow in a loop as one fit does: see `Growing`.

    Use it as a context manager: its threads end with the `with` body. ``n_at_once``
    of the runs advance at the same time, and may be ``ahead`` rounds of the one that
    `boost` was asked for. The results are the same for any number.
    """

    def __init__(self, runs: Sequence[Run], n_at_once: int = 1, ahead: int = 0) -> None:
        first = runs[0].rounds
        self.settings = first.settings
        self.first_round = first.first_round
        self.partition = first.partition
        self.index = -1
        self._runs = runs
        self._ahead = ahead
        self._schedule = Schedule([partial(_one_round, r) for r in runs], n_at_once)

    @property
    def sets(self) -> list[EvaluationSet]:
        """The evaluation sets of the first run."""
        return self._runs[0].rounds.sets

    def _begin(self) -> None:
        self._expect(self.settings.n_estimators)
        self._schedule._begin()

    def _end(self, *error: Any) -> None:
        self._schedule._end(*error)
        self._expect(0)

    def _expect(self, n_rounds: int) -> None:
        for run in self._runs if self._ahead else ():
            run.rounds.expect(n_rounds, is_watched=True, may_end=self._ahead <= AHEAD)

    def boost(self) -> bool:
        """Let every run grow the trees of one round.

        Returns False if none could. A run that cannot grow stays as it is.
        """
        self.index += 1
        left = self.settings.n_estimators - self.index - 1
        self._schedule.reach(self.index + 1, max(0, min(self._ahead, left)))
        return any(run.n_grown > self.index for run in self._runs)

    def evaluate(self) -> list[EvalResult]:
        """The means and standard deviations of the metrics over the runs."""
        values: dict[tuple[str, str, bool], list[float]] = {}
        for run in self._runs:
            for name, metric, value, maximize in run.results_after(self.index + 1):
                values.setdefault((name, metric, maximize), []).append(value)
        return [
            EvalResult(name, metric, float(np.mean(v)), maximize, float(np.std(v)))
            for (name, metric, maximize), v in values.items()
        ]

    def histories(self) -> list[History]:
        """The metrics of each run, in the rounds that `boost` was asked for."""
        histories: list[History] = [{} for _ in self._runs]
        for history, run in zip(histories, self._runs, strict=True):
            for n_rounds in range(1, self.index + 2):
                record(history, run.results_after(n_rounds))
        return histories


def _one_round(run: Run) -> bool:
    """Let a run advance by a round; returns whether it goes on."""
    run.advance(run.n_rounds + 1)
    return not run.has_ended
