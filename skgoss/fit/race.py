"""A race: candidates get rounds step by step, and those that fall behind leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from skgoss.parameters.settings import Settings

# The rounds of the first stage at a learning rate of 0.1 and with 31 leaves. Others are
# compared after as many rounds as take steps of the same sum, and small trees, which
# learn less in a round but take less time, after more. docs/tuning.md has measurements.
_FIRST_ROUNDS = 8
USUAL_RATE = 0.1
_USUAL_LEAVES = 31
_POWER_OF_LEAVES = 0.3

# Each stage has so many times the rounds of the one before.
GROWTH = 1.25

# From this stage on, a candidate leaves if a one-sided test on the folds says that it
# is worse than the best one was a stage before. One with smaller steps or fewer columns
# is behind for long, but not by a stage.
_FIRST_TEST = 5
_LEVEL = 0.2

# Of more candidates, the worse half leaves, too.
_MANY = 20

# Without a better score for so many stages, a candidate has found its rounds.
_PATIENCE = 2


@dataclass(eq=False)
class Racer:
    """A candidate of a race.

    Attributes
    ----------
    params : dict
        The parameters besides the number of rounds.
    path : str or None
        The name of the parameter that is the number of rounds; None: the candidate is
        evaluated once, as it is.
    most_rounds : int
    rate : float
        The learning rate.
    n_leaves : int
        The most leaves of a tree.
    rounds : list of int
        The numbers of rounds so far, one for each stage.
    scores : list of ndarray of shape (n_folds,)
        The scores after them.
    results : list
        All else that was evaluated then.
    left : bool
        Whether it fell behind.
    """

    params: dict[str, Any]
    path: str | None
    most_rounds: int
    rate: float
    n_leaves: int
    rounds: list[int] = field(default_factory=list)
    scores: list[NDArray[np.float64]] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    left: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The candidate with these options, whose rounds are the most."""
        s = settings
        return cls({}, "n_estimators", s.n_estimators, s.learning_rate, s.num_leaves)

    def rounds_of_stage(self, stage: int) -> int:
        """The number of rounds after a stage."""
        usual = _FIRST_ROUNDS * GROWTH**stage
        usual *= (_USUAL_LEAVES / self.n_leaves) ** _POWER_OF_LEAVES
        wanted = max(1, round(usual * USUAL_RATE / self.rate))
        return self.most_rounds if self.path is None else min(wanted, self.most_rounds)

    def candidate(self, n_rounds: int) -> dict[str, Any]:
        """The parameters with a number of rounds."""
        return (
            self.params if self.path is None else {**self.params, self.path: n_rounds}
        )

    def cost(self, stage: int) -> float:
        """An estimate of the time of a fit up to a stage."""
        return self.rounds_of_stage(stage) * self.n_leaves

    def note(self, scores: NDArray[np.float64], results: Any) -> None:
        """Keep what was evaluated after a stage."""
        self.rounds.append(self.rounds_of_stage(len(self.rounds)))
        self.scores.append(scores)
        self.results.append(results)

    @property
    def best(self) -> int:
        """The stage with the best mean score; the first of equal ones."""
        return int(np.argmax([mean(scores) for scores in self.scores]))

    @property
    def goes_on(self) -> bool:
        """Whether it takes part in the next stage."""
        if not self.rounds:
            return True
        is_over = self.rounds[-1] == self.most_rounds
        has_stalled = len(self.rounds) - 1 - self.best >= _PATIENCE
        return not (self.left or is_over or has_stalled)


def mean(scores: NDArray[np.float64]) -> float:
    """The mean of the scores of the folds; NaN is worst."""
    return float(np.nan_to_num(scores.mean(), nan=-np.inf))


def leave(racers: Sequence[Racer], stage: int) -> None:
    """Let those leave that have fallen behind after a stage.

    References
    ----------
    M. Birattari et al., "A Racing Algorithm for Configuring Metaheuristics", GECCO
    2002: candidates leave by tests on blocks, which are folds here. C. Nadeau and Y.
    Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003: the
    variance of the differences. K. Jamieson and A. Talwalkar, "Non-stochastic Best Arm
    Identification and Hyperparameter Optimization", AISTATS 2016: halving.
    """
    best = max(racers, key=lambda racer: mean(racer.scores[racer.best]))
    running = [racer for racer in racers if racer.goes_on and racer is not best]
    for racer in running:
        failed = not np.isfinite(racer.scores[-1]).all()
        racer.left = failed or (stage >= _FIRST_TEST and _is_behind(racer, best))
    running = [racer for racer in running if not racer.left]
    if stage >= _FIRST_TEST and len(running) > _MANY:
        running.sort(key=lambda racer: -mean(racer.scores[-1]))
        for racer in running[max(_MANY, len(running) // 2) :]:
            racer.left = True


def _is_behind(racer: Racer, best: Racer) -> bool:
    """Whether a candidate is worse than the best one was a stage before."""
    stage = len(racer.scores) - 1
    ahead = best.scores[stage - 1 if stage < len(best.scores) else best.best]
    gap = ahead - racer.scores[-1]
    n_folds = len(gap)
    if n_folds < 2 or not gap.mean() > 0:
        return False
    # The rows that folds learn from overlap.
    error = gap.std(ddof=1) * np.sqrt(1 / n_folds + 1 / (n_folds - 1))
    return bool(gap.mean() > student.ppf(1 - _LEVEL, n_folds - 1) * error)
