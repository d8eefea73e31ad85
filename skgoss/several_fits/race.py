"""Races of searches and presets: rounds of each stage, and which candidates remain."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from skgoss.training.best_round import best_of
from skgoss.utils.correct_rounding import power

# The rounds of the first stage at a learning rate of 0.1 and with 31 leaves. Others are
# compared after as many rounds as take steps of the same sum, and small trees, which
# learn less in a round but take less time, after more. docs/tuning.md has measurements.
_FIRST_ROUNDS = 8
USUAL_RATE = 0.1
_USUAL_LEAVES = 31
_POWER_OF_LEAVES = 0.3

# The growth factor of the rounds between stages.
GROWTH = 1.25

# A candidate is dropped if a one-sided test on the folds, of this level, says that it
# cannot catch up.
LEVEL = 0.4
# The gain of a doubling of rounds is at most this fraction of that of the last one.
_LARGEST_SHRINKAGE = 0.9

# More candidates than these are screened on one fold first, in the last of these
# stages, until the least number is left. Each stage keeps a fifth, or fewer if there
# are not enough stages.
_MAX_UNSCREENED = 20
_SCREENINGS = (-10, -4, 0)
_LEFT_AFTER_SCREENING = 10
_SURVIVORS = 5

# After this number of steps without a better score, a candidate has found its rounds.
_PATIENCE = 2
# Steps of a preset are shorter, because it pays for each round after the best one.
STEP_OF_PRESETS = 0.6


def screenings(n_racers: int) -> list[tuple[int, int]]:
    """The stages that screen many candidates, and the number that survives each.

    Empty if there are few. The number of candidates falls by the same factor in each.
    """
    if n_racers <= _MAX_UNSCREENED:
        return []
    ratio = _LEFT_AFTER_SCREENING / n_racers
    n = 1
    while n < len(_SCREENINGS) and n_racers > _LEFT_AFTER_SCREENING * _SURVIVORS**n:
        n += 1
    left = [round(n_racers * power(ratio, k / n)) for k in range(1, n + 1)]
    return list(zip(_SCREENINGS[-n:], left, strict=True))


@cache
def _usual_rounds(stage: float, n_leaves: int) -> float:
    """The rounds after a stage of trees of ``n_leaves`` leaves, at the usual rate."""
    of_stage = _FIRST_ROUNDS * power(GROWTH, stage)
    return of_stage * power(_USUAL_LEAVES / n_leaves, _POWER_OF_LEAVES)


AnyRacer = TypeVar("AnyRacer", bound="Racer")


@dataclass(eq=False)
class Racer:
    """A candidate of a race."""

    params: dict[str, Any]  # without the number of rounds
    # The name of the number of rounds; None: the candidate is evaluated once, as it is.
    path: str | None
    max_rounds: int  # where its race ends
    rate: float  # the learning rate
    n_leaves: int  # the most leaves of a tree
    step: float = 1.0  # how far it goes at once, in stages
    stage: float = 0  # the number of the next stage
    estimator: Any = None  # of searches: one with the parameters
    # Of each stage so far: the number of rounds, the scores of folds and their mean.
    rounds: list[int] = field(default_factory=list)
    scores: list[NDArray[np.float64]] = field(default_factory=list)
    means: list[float] = field(default_factory=list)
    is_dropped: bool = False  # whether it fell behind

    @property
    def next_rounds(self) -> int:
        """The number of rounds after the next stage."""
        usual = _usual_rounds(self.stage, self.n_leaves)
        return min(max(1, round(usual * USUAL_RATE / self.rate)), self.max_rounds)

    def candidate(self, n_rounds: int) -> dict[str, Any]:
        """The parameters with a number of rounds."""
        return (
            self.params if self.path is None else {**self.params, self.path: n_rounds}
        )

    @property
    def cost(self) -> float:
        """An estimate of the time of a fit up to the next stage."""
        return self.next_rounds * self.n_leaves

    def note(self, scores: NDArray[np.float64]) -> None:
        """Keep the scores of the stage that has ended, (n_folds,): more is better."""
        self.rounds.append(self.next_rounds)
        self.scores.append(scores)
        self.means.append(mean(scores))
        self.stage += self.step

    @property
    def best(self) -> int:
        """The stage with the best mean score; the first of equal ones."""
        return best_of([-mean for mean in self.means])

    @property
    def best_rounds(self) -> int:
        """The number of rounds with the best mean score."""
        return self.rounds[self.best] if self.rounds else self.next_rounds

    @property
    def scores_by_rounds(self) -> dict[int, float]:
        """The mean scores by numbers of rounds."""
        return dict(zip(self.rounds, self.means, strict=True))

    def best_until(self, n_rounds: float) -> float:
        """The best mean score of the first ``n_rounds`` rounds.

        It is interpolated between stages. For example:

            rounds        50   100        200
            mean score   0.7   0.6        0.9
            best         0.7   0.7  (0.8) 0.9    best_until(150) = 0.8
        """
        best = -np.inf
        for before, after, score in zip(
            (0, *self.rounds), self.rounds, self.means, strict=False
        ):
            last, best = best, max(best, score)
            if after >= n_rounds:
                share = (n_rounds - before) / (after - before)
                return best if before == 0 else last + share * (best - last)
        return best

    @property
    def goes_on(self) -> bool:
        """Whether it takes part in the next stage."""
        if not self.rounds:
            return True
        is_over = self.rounds[-1] == self.max_rounds
        has_stalled = len(self.rounds) - 1 - self.best >= _PATIENCE
        return not (self.is_dropped or is_over or has_stalled)


def mean(scores: Any) -> float:
    """The mean over the folds; NaN becomes minus infinity, the worst score."""
    return float(np.nan_to_num(np.mean(scores), nan=-np.inf))


class Race:
    """A race, which a subclass tells how candidates grow and when there is no time.

    ``references`` have raced before, and are only compared with. See `drop` for the
    ``level``.
    """

    def __init__(
        self,
        racers: Sequence[Racer],
        references: Sequence[Racer] = (),
        level: float = LEVEL,
    ) -> None:
        self.racers = racers
        self.references = references
        self.level = level

    def grow(self, running: Sequence[Any]) -> None:
        """Grow candidates to their next stage, and note the scores of those.

        Those without scores of any stage are dropped.
        """
        raise NotImplementedError

    def is_over(self, seconds: float) -> bool:
        """Whether there is no time for a stage of this many seconds.

        It is called after each stage, and may end single candidates.
        """
        raise NotImplementedError

    def run(self) -> None:
        """Grow the candidates, stage by stage, until all have ended or are dropped."""
        running = list(self.racers)
        while running:
            begin = time.monotonic()
            self.grow(running)
            drop([r for r in (*self.references, *self.racers) if r.rounds], self.level)
            # The next stage takes longer than this one, unless candidates are dropped.
            is_over = self.is_over(GROWTH * (time.monotonic() - begin))
            running = [racer for racer in running if racer.rounds and racer.goes_on]
            if is_over:
                return


def drop(racers: Sequence[Racer], level: float = LEVEL) -> None:
    """Drop the candidates that cannot catch up with the best one.

    A one-sided test of this ``level`` compares their scores on the folds, with the gain
    added that a candidate can still expect. Candidates that failed are dropped, too.

    References
    ----------
    M. Birattari et al., "A Racing Algorithm for Configuring Metaheuristics", GECCO
    2002: candidates are dropped by tests on blocks, which are folds here. C. Nadeau and
    Y. Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003: the
    variance of the differences.
    """
    best = max(racers, key=_best_mean)
    running = [racer for racer in racers if racer.goes_on and racer is not best]
    for racer in running:
        failed = not np.isfinite(racer.scores[-1]).all()
        racer.is_dropped = failed or _is_behind(racer, best, level)


def winner(racers: Sequence[AnyRacer]) -> AnyRacer:
    """The best candidate; without scores, it is the first."""
    raced = [racer for racer in racers if racer.rounds]
    return max(raced, key=_best_mean, default=racers[0])


def survivors(racers: Sequence[Racer], n_left: int) -> list[Racer]:
    """The ``n_left`` best candidates of a screening; the others are dropped.

    The best ones begin again: their scores, of one fold, are removed.

    References
    ----------
    K. Jamieson and A. Talwalkar, "Non-stochastic Best Arm Identification and
    Hyperparameter Optimization", AISTATS 2016: successive halving.
    """
    ranked = sorted(racers, key=lambda racer: -racer.means[-1])
    for racer in ranked[n_left:]:
        racer.is_dropped = True
    for racer in ranked[:n_left]:
        racer.stage, racer.rounds, racer.scores, racer.means = 0, [], [], []
    return ranked[:n_left]


def _is_behind(racer: Racer, best: Racer, level: float) -> bool:
    """Whether a candidate would stay worse than the best one is now.

    Each is judged by what it may become: trees that learn slowly and end with a lower
    loss are behind in the beginning, as those are that will never win. ``scores`` are
    those of the folds at the best stage of each, and ``level`` that of `_is_real`.
    """
    gap = best.scores[best.best] - racer.scores[racer.best] - _gain_to_come(racer)
    return _is_real(gap, level)


def _is_real(gap: NDArray[np.float64], level: float) -> bool:
    """Whether the mean of ``gap``, (n_folds,), is above 0 by a one-sided t test.

    The standard error is that of Nadeau and Bengio, for folds whose training rows
    overlap: see `drop`. ``level`` is that of the test: the chance that a gap counts
    whose true mean is 0. False for a single fold.
    """
    n_folds = len(gap)
    if n_folds < 2 or not gap.mean() > 0:
        return False
    error = gap.std(ddof=1) * np.sqrt(1 / n_folds + 1 / (n_folds - 1))
    return bool(gap.mean() > _quantile(1 - level, n_folds - 1) * error)


def _gain_to_come(racer: Racer) -> float:
    """What rounds up to the limit gain if the gain of doublings shrinks as it did.

    It shrinks by the same factor in each doubling if the loss falls as a power of the
    number of rounds, and faster if it falls exponentially. Of few rounds it is not
    known how it shrinks, so that nearly all of it stays.
    """
    n_rounds = racer.rounds[-1]
    if n_rounds < 2 * racer.rounds[0]:
        return np.inf
    before, halfway, now = (racer.best_until(n_rounds / k) for k in (4, 2, 1))
    gain, shrinks = now - halfway, _LARGEST_SHRINKAGE
    if halfway > before:
        shrinks = min(shrinks, gain / (halfway - before))
    total = 0.0
    while n_rounds < racer.max_rounds:
        gain *= shrinks
        total += gain
        n_rounds *= 2
    return total


def _best_mean(racer: Racer) -> float:
    return racer.means[racer.best]


def _quantile(level: float, n: int) -> float:
    """The quantile of Student's distribution with ``n`` degrees of freedom.

    It is rounded, because its last digits depend on the machine.
    """
    return round(float(student.ppf(level, n)), 6)
