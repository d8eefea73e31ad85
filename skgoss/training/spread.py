"""The spread of a distribution, which follows the errors of its mean on new rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skgoss.objectives.gradients import Likelihood
from skgoss.objectives.objectives import TrainingRows
from skgoss.objectives.training_objective import Objective
from skgoss.training.noise import NOISE_TREES, EqualRows, Errors, Keys, Noise

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# How much more of what a tree of the first score explains may be more than noise than
# its share says, where nothing has been learned yet; and the most of a tree that counts
# as noise.
_DOUBT = 0.7
_MOST_SHRINKAGE = 0.9

# The maximum number of Newton steps for a level; a short step ends them.
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

    @property
    def kept(self) -> Floats:
        """What a model keeps, so that another fit goes on: see `Ensemble.spread`."""
        return np.array([self.optimism, self.unexplained, *self.shrinkage, *self.l2])

    @classmethod
    def from_kept(cls, kept: Floats) -> Self:
        """The round whose ``kept`` values a model has; its level is in its leaves."""
        shrinkage, l2 = kept[2:].reshape(2, -1)
        return cls(np.zeros(len(l2)), float(kept[0]), float(kept[1]), shrinkage, l2)


class Spread:
    """What the parameters of a distribution need besides their trees.

    **Levels**: after each round, the scores of all rows move to the most likely level.
    So the spread follows the errors of the mean even where its trees have no split.

    **Optimism**: errors of learned rows shrink with each round, in part because their
    noise is learned. Only the other part is true of new rows. How much of noise a tree
    explains is measured once, by trees that are grown on errors with random signs, of
    which there is nothing to learn (Rademacher complexity: V. Koltchinskii, "Rademacher
    Penalties and Structural Risk Minimization", IEEE Transactions on Information Theory
    47, 2001). Signs are hashes of the bins of a row. Rows with the same bins are in the
    same leaf of every tree, which sees only the sum of their errors: see
    `Errors.as_noise`. So the signs depend neither on the unit, the sign or the level of
    the target nor on the order of the rows, and many equal rows have little noise. A
    tree of the mean that explains no more has learned noise alone. The more another one
    explains, the less its splits depend on noise, but its leaves do.

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
        self.copies, n_rows = objective.copies, objective.partition.n_rows
        ones = np.ones(len(objective.y))
        self.n_rows = float(n_rows) if self.copies is None else self.rows.sum_of(ones)
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

    def continue_from(
        self, scores: Floats, kept: Floats | None, n_threads: int
    ) -> None:
        """Continue from the scores of an earlier model and what it has kept.

        If these scores have their most likely spread on these rows, the model has
        learned from them, and this is another round of its fit. Else its spread is
        taken for that of new rows: the fit begins with the optimism that makes it most
        likely.
        """
        error_shifts = np.array(self.likelihood.error_shifts)
        k = int(np.argmax(np.abs(error_shifts[1:]))) + 1

        def step() -> float:
            self._tell()
            return float(self._level_step(scores, n_threads)[k] / error_shifts[k])

        fresh = self.start
        if kept is not None and not np.isnan(kept).any():
            self.start = RoundOfSpread.from_kept(kept)
            if abs(step()) < _SHORT_STEP:
                return
        self.start = fresh
        for _ in range(_TRUST_STEPS):
            before = self.start.optimism
            self.start = fresh._replace(optimism=max(0.0, before + step()))
            if abs(self.start.optimism - before) < 0.1 * _SHORT_STEP:
                break
        self._tell()

    def begin(self, gradient: Singles, hessian: Singles) -> None:
        """Keep the derivatives of a round, which samples of rows change in place."""
        slopes, curves = gradient.astype(np.float64), hessian.astype(np.float64)
        slopes /= 1.0 - self.likelihood.shrinkage[:, None]
        self.errors = self.errors_of(slopes, curves)

    def errors_of(self, slopes: Floats, curves: Floats) -> list[Errors]:
        """The errors with these derivatives by each score."""
        both = zip(slopes, curves, strict=True)
        return [Errors.of(self.rows, slope, curve) for slope, curve in both]

    def fresh_gradients(
        self, scores: Floats, gradient: Singles, hessian: Singles, n_threads: int
    ) -> None:
        """Write the derivatives of a first round."""
        likelihood = self.likelihood
        fresh = Likelihood(likelihood.name, likelihood.y, len(scores))
        fresh(scores, gradient, hessian, n_threads)

    def measure_noise(
        self,
        gradient: Singles,
        hessian: Singles,
        grown: Callable[[int, Singles], tuple[Floats, float]],
        keys: Keys,
        learning_rate: float,
    ) -> None:
        """Measure what trees explain of noise.

        ``grown(k, gradients)`` returns the values for all rows of a tree of score k for
        each of the gradients, and the mean number of leaves. Rows of equal ``keys`` are
        in the same leaf of every tree.
        """
        equal = EqualRows(keys, self.rows, self.copies)
        bits = np.arange(20, 20 + NOISE_TREES, dtype=np.uint64)[:, None]
        signs = 1.0 - 2.0 * (keys >> bits & np.uint64(1)).astype(np.float64)
        explained, shares = 0.0, []
        derivatives = gradient.astype(np.float64), hessian.astype(np.float64)
        for k, errors in enumerate(self.errors_of(*derivatives)):
            noises = errors.as_noise(signs, equal)
            slopes = np.array([noise.seen for noise in noises], dtype=np.float32)
            changes, n_leaves = grown(k, slopes)
            shares.append(sum(map(Errors.share, noises, changes)) / NOISE_TREES)
            if k == 0:
                # Leaves learn no less, even if rows outside a sample seem to say so.
                explained = sum(map(Errors.explained, noises, changes)) / NOISE_TREES
                explained = max(explained / learning_rate, n_leaves / self.n_rows)
        self.noise = Noise(explained, shares)

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
        unexplained = unexplained_after(last.unexplained, explained, noise)
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
            for values in self.likelihood.spread_derivatives(scores, n_threads)
        )
        step = np.append(0.0, -slopes / information)
        return step / (1.0 + 0.5 * self.bound * np.abs(step))


def unexplained_after(before: float, explained: float, noise: float) -> float:
    """The share of squared errors that is left after a tree, at most 1.

    What the tree has ``explained``, from -1 to 1, is about the logarithm of the ratio
    of errors before and after it; a part of this is ``noise``. It is -1 if the errors
    before the tree are negligible beside those after it.
    """
    scale = 1.0 + explained - noise
    ratio = (1.0 - explained + noise) / scale if scale > 0 else math.inf
    return min(1.0, ratio * before)
