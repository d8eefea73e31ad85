"""The spread of a distribution, which follows the errors of its mean on new rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.objectives.gradients import Likelihood
from skgoss.objectives.objectives import TrainingRows
from skgoss.objectives.training_objective import Objective

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# So many trees measure the noise.
NOISE_TREES = 4
# Rows are distinguished by their targets and so many columns at most.
_MOST_COLUMNS = 16

# How much more of what a tree of the first score explains may be more than noise than
# its share says, where nothing has been learned yet; and the most of a tree that counts
# as noise.
_DOUBT = 0.7
_MOST_SHRINKAGE = 0.9

# A level is found by so many Newton steps at most, which end with a short one.
_LEVEL_STEPS = 5
_SHORT_STEP = 0.02
_TRUST_STEPS = 20


class RoundOfSpread(NamedTuple):
    """What a round leaves behind."""

    level: Floats  # (n_scores,): is added to the scores of all rows
    optimism: float  # new errors are larger than learned ones by its exponential
    unexplained: float  # the share of the squared errors of new rows that is left
    shrinkage: Floats  # (n_scores,): of average leaves of the next trees
    l2: Floats  # (n_scores,): what shrinks them


class Noise(NamedTuple):
    """What trees explain of noise, as `Errors` tell."""

    explained: float  # by trees of the first score
    shares: Sequence[float]  # by trees of each score


class Spread:
    """What the parameters of a distribution need besides their trees.

    **Levels**: after each round, the scores of all rows move to the most likely level.
    So the spread follows the errors of the mean even where its trees have no split.

    **Optimism**: errors of learned rows shrink with each round, in part because their
    noise is learned. Only the other part is true of new rows. How much of noise a tree
    explains is measured once, by trees that are grown on errors with random signs, of
    which there is nothing to learn (Rademacher complexity: V. Koltchinskii, "Rademacher
    Penalties and Structural Risk Minimization", IEEE Transactions on Information Theory
    47, 2001). A tree of the mean that explains no more has learned noise alone. The
    more another one explains, the less its splits depend on noise, but its leaves do.

    **Shrinkage**: leaves of the next trees are shrunken by the share of what the last
    ones have explained that is noise, as W. James and C. Stein do ("Estimation with
    Quadratic Loss", Berkeley Symposium 1, 1961). A term of L2 regularization does so:
    it shrinks leaves of average size by this share, and those of fewer rows by more. It
    would not shrink the slopes of linear leaves: there, steps are shorter.
    The tree of the mean is shrunken less, the more of the target was explained before:
    there, much can be learned by many trees that explain little each.
    """

    def __init__(self, objective: Objective, *, shrinks_leaves: bool = True) -> None:
        assert isinstance(objective.derivatives, Likelihood)
        self.likelihood = objective.derivatives
        rows = objective.y, objective.weight, objective.partition
        self.rows = TrainingRows(*rows)
        is_whole = objective.copies is not None
        ones = np.ones(len(objective.y))
        n_rows = objective.partition.n_rows
        self.n_rows = self.rows.sum_of(ones) if is_whole else float(n_rows)
        n_scores = objective.n_scores
        self.bound = np.broadcast_to(objective.self_concordance, n_scores)
        self.shrinks_leaves = shrinks_leaves
        zeros = np.zeros(n_scores)
        self.start = RoundOfSpread(zeros, 0.0, 1.0, zeros, zeros)
        self.rounds: list[RoundOfSpread] = []
        self.noise: Noise | None = None
        self._tell()

    @property
    def last(self) -> RoundOfSpread:
        return self.rounds[-1] if self.rounds else self.start

    def _tell(self) -> None:
        """Let the next gradients know of the last round."""
        self.likelihood.optimism = self.last.optimism
        if not self.shrinks_leaves:
            self.likelihood.shrinkage = self.last.shrinkage

    def take(self, other: Spread) -> None:
        """Take over what another fit knew before its first round, and its noise."""
        self.start, self.noise = other.start, other.noise
        self._tell()

    def follow(self, rounds: list[RoundOfSpread]) -> None:
        """Continue from some rounds; the next ones are added to the list."""
        self.rounds = rounds
        if not rounds:
            self.noise = None
        self._tell()

    def trust(self, scores: Floats, n_threads: int) -> None:
        """Begin with the optimism that makes the spread of these scores most likely.

        They are those of an earlier model, whose spread is taken for that of new rows.
        """
        by_errors = np.array(self.likelihood.by_errors)
        k = int(np.argmax(np.abs(by_errors[1:]))) + 1
        for _ in range(_TRUST_STEPS):
            before = self.start.optimism
            step = self._level_step(scores, n_threads)[k] / by_errors[k]
            self.start = self.start._replace(optimism=max(0.0, before + step))
            self._tell()
            if abs(self.start.optimism - before) < 0.1 * _SHORT_STEP:
                break

    def begin(self, gradient: Singles, hessian: Singles) -> None:
        """Keep the derivatives of a round, which samples of rows change in place."""
        slopes, curves = gradient.astype(np.float64), hessian.astype(np.float64)
        slopes /= 1.0 - self.likelihood.shrinkage[:, None]
        self.errors = [
            Errors(self.rows, slope, curve)
            for slope, curve in zip(slopes, curves, strict=True)
        ]

    def measure_noise(
        self,
        changes_by: Callable[[int, Singles], Floats],
        hashes: NDArray[np.uint64],
        learning_rate: float,
    ) -> None:
        """Measure what trees explain of noise.

        ``changes_by(k, gradients)`` returns the values for all rows of a tree of score
        k for each of the gradients, which are those of this score with other signs.
        """
        bits = np.arange(20, 20 + NOISE_TREES, dtype=np.uint64)[:, None]
        signs = 1.0 - 2.0 * (hashes >> bits & np.uint64(1)).astype(np.float64)
        explained, shares = 0.0, []
        for k, errors in enumerate(self.errors):
            changes = changes_by(k, (signs * errors.slope).astype(np.float32)) * signs
            shares.append(sum(map(errors.share, changes)) / NOISE_TREES)
            if k == 0:
                explained = sum(map(errors.explained, changes)) / NOISE_TREES
        self.noise = Noise(explained / learning_rate, shares)

    def end(
        self,
        changes: Floats,
        n_leaves: Sequence[int],
        learning_rate: float,
        scores: Floats,
        n_threads: int,
    ) -> Floats:
        """The level after a round whose trees have made these changes of the scores.

        The tree of each score has ``n_leaves``.
        """
        last = self.last
        explained = self.errors[0].explained(changes[0])
        rate = learning_rate * (1.0 - float(last.shrinkage[0]))
        noise = self._noise_of(explained, rate, n_leaves[0])
        ratio = (1.0 - explained + noise) / (1.0 + explained - noise)
        unexplained = min(1.0, ratio * last.unexplained)
        shrinkage = self._shrinkage(changes, unexplained)
        l2 = np.zeros(len(scores))
        if self.shrinks_leaves:
            size = [errors.rows.sum_of(errors.curve) for errors in self.errors]
            l2 = np.array(size) / n_leaves * shrinkage / (1.0 - shrinkage)
        ended = RoundOfSpread(
            last.level, last.optimism + noise, unexplained, shrinkage, l2
        )
        self.rounds.append(ended)
        self._tell()
        self.rounds[-1] = ended._replace(level=self.level(scores, n_threads))
        return self.rounds[-1].level

    def _noise_of(self, explained: float, learning_rate: float, n_leaves: int) -> float:
        """The part of what a tree explains that is noise.

        If its splits do not depend on noise, its leaves learn a share of it for each of
        their number.
        """
        assert self.noise is not None
        most = self.noise.explained * learning_rate
        if explained <= most:
            return max(explained, 0.0)
        least = min(learning_rate * n_leaves / self.n_rows, most)
        return least + (most - least) * most / explained

    def _shrinkage(self, changes: Floats, unexplained: float) -> Floats:
        assert self.noise is not None
        doubts = [_DOUBT * unexplained] + [1.0] * (len(changes) - 1)
        shares = map(Errors.share, self.errors, changes)
        each = zip(doubts, self.noise.shares, shares, strict=True)
        return np.array(
            [
                min(_MOST_SHRINKAGE, doubt * noise / share if share > 0 else 1.0)
                for doubt, noise, share in each
            ]
        )

    def level(self, scores: Floats, n_threads: int) -> Floats:
        """What makes the spread most likely if it is added to all scores."""
        level = np.zeros(len(scores))
        for _ in range(_LEVEL_STEPS):
            step = self._level_step(scores + level[:, None], n_threads)
            level += step
            if np.abs(step).max() < _SHORT_STEP:
                break
        return level

    def _level_step(self, scores: Floats, n_threads: int) -> Floats:
        slopes, information = (
            np.array([self.rows.sum_of(v.astype(np.float64)) for v in values])
            for values in self.likelihood.of_spread(scores, n_threads)
        )
        step = np.append(0.0, -slopes / information)
        return step / (1.0 + 0.5 * self.bound * np.abs(step))


class Errors(NamedTuple):
    """Derivatives of a loss by one score, as errors: Newton's steps to the targets."""

    rows: TrainingRows
    slope: Floats
    curve: Floats

    def explained(self, change: Floats) -> float:
        """About the logarithm of the ratio of errors before and after a change.

        Those that have little weight in the mean have as little here.
        """
        before, after = (
            self.rows.sum_of(slope * slope)
            for slope in (self.slope, self.slope + self.curve * change)
        )
        return (before - after) / (before + after) if before > 0 else 0.0

    def share(self, change: Floats) -> float:
        """The share of squared errors that the best multiple of a change explains."""
        squares = np.zeros(len(self.slope))
        known = self.curve > 0
        np.divide(self.slope * self.slope, self.curve, out=squares, where=known)
        total = self.rows.sum_of(squares)
        size = self.rows.sum_of(self.curve * change * change)
        if not total * size > 0:
            return 0.0
        along = self.rows.sum_of(self.slope * change)
        return along / total * (along / size)


def row_hashes(dataset: BinnedDataset, y: Floats) -> NDArray[np.uint64]:
    """A number for each row that depends only on its target and its bins.

    So copies of a row have the same one, in any order of the rows.
    """
    last = len(dataset.feature) - 1
    chosen = np.unique(np.linspace(0, last, _MOST_COLUMNS).astype(np.intp)).tolist()
    # -0.0 becomes 0.0.
    bits = (y + 0.0).view(np.uint64)
    hashes = np.zeros(len(y), dtype=np.uint64)
    for column in (bits, *map(dataset.bins, chosen)):
        hashes ^= column
        hashes *= np.uint64(0xBF58476D1CE4E5B9)
        hashes ^= hashes >> np.uint64(31)
    return hashes
