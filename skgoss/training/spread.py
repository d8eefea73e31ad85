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
from skgoss.training.noise import (
    NOISE_TREES,
    EqualRows,
    Errors,
    ErrorSums,
    Keys,
    Noise,
)

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# The factor of the noise of trees of the first score, the mean, in the first round:
# their leaves are shrunk less, because trees that explain little may learn much.
_MEAN_NOISE_FACTOR = 0.7
_MAX_SHRINKAGE = 0.9

# In the splits of shared trees, the mean counts more than the spread, which makes half
# steps, by this factor: the spread depends on the mean, and is smoother.
_MEAN_FACTOR = 2.0

# The maximum number of Newton steps to the most likely level, and the length of a step
# that is the last one.
_MAX_LEVEL_STEPS = 5
_SHORT_STEP = 0.02
_MAX_CALIBRATION_STEPS = 20


class SpreadRound(NamedTuple):
    """The state of the spread after a round."""

    level: Floats  # (n_scores,): is added to the scores of all rows
    optimism: float  # the logarithm of the ratio of new errors and training errors
    unexplained: float  # the fraction of the squared errors of new rows that remains
    shrinkage: Floats  # (n_scores,): of average leaves of the next trees
    l2: Floats  # (n_scores,): the penalty that shrinks them

    @property
    def state(self) -> Floats:
        """The values that a model keeps to continue training: see `Ensemble.spread`."""
        return np.array([self.optimism, self.unexplained, *self.shrinkage, *self.l2])

    @classmethod
    def from_state(cls, state: Floats) -> Self:
        """The round from its ``state`` in a model, whose leaves contain its level."""
        shrinkage, l2 = state[2:].reshape(2, -1)
        return cls(np.zeros(len(l2)), float(state[0]), float(state[1]), shrinkage, l2)


class Spread:
    """What the parameters of a distribution need in addition to their trees.

    **Levels**: after each round, the scores of all rows move to the most likely level.
    So the spread follows the errors of the mean even where its trees have no split.

    **Optimism**: training errors shrink with each round, in part because their noise is
    learned. The errors of new rows shrink only by the other part. How much of noise a
    tree explains is measured once, by trees that are grown on errors with random signs,
    from which nothing can be learned (Rademacher complexity: V. Koltchinskii,
    "Rademacher Penalties and Structural Risk Minimization", IEEE Transactions on
    Information Theory 47, 2001). Signs are hashes of the bins of a row. Rows with the
    same bins are in the same leaf of every tree, whose value depends only on the sum of
    their errors: see `Errors.with_random_signs`. So the signs depend neither on the
    unit, the sign or the level of the target nor on the order of the rows, and many
    equal rows have little noise. A tree of the mean that explains no more has learned
    only noise. The more another tree explains, the less its splits depend on noise, but
    its leaves still do.

    **Shrinkage**: the leaves of the next trees are shrunk by the fraction of noise in
    what the last ones have explained, as W. James and C. Stein do ("Estimation with
    Quadratic Loss", Berkeley Symposium 1, 1961). L2 regularization does so: it shrinks
    leaves of average size by this fraction, and those of fewer rows by more. It would
    not shrink the slopes of linear leaves, which get shorter steps instead. The more of
    the target was explained before, the less the tree of the mean is shrunk: many trees
    that explain little each can learn much then.
    """

    def __init__(self, objective: Objective, *, shrinks_leaves: bool = True) -> None:
        assert isinstance(objective.derivatives, Likelihood)
        self.likelihood = objective.derivatives
        rows = objective.y, objective.weight, objective.partition
        self.rows = TrainingRows(*rows)
        self.frequency, n_rows = objective.frequency, objective.partition.n_rows
        ones = np.ones(len(objective.y))
        has_frequency = self.frequency is not None
        self.n_rows = self.rows.sum_of(ones) if has_frequency else float(n_rows)
        n_scores = objective.n_scores
        self.bound = np.broadcast_to(objective.self_concordance, n_scores)
        self.shrinks_leaves = shrinks_leaves
        zeros = np.zeros(n_scores)
        self.start = SpreadRound(zeros, 0.0, 1.0, zeros, zeros)
        self.rounds: list[SpreadRound] = []
        self.noise: Noise | None = None
        self._update_likelihood()

    @property
    def last(self) -> SpreadRound:
        return self.rounds[-1] if self.rounds else self.start

    def _update_likelihood(self) -> None:
        """Update the likelihood, whose gradients depend on the last round."""
        self.likelihood.optimism = self.last.optimism
        if not self.shrinks_leaves:
            self.likelihood.shrinkage = self.last.shrinkage

    def inherit(self, other: Spread) -> None:
        """Copy the start and the noise of another fit."""
        self.start, self.noise = other.start, other.noise
        self._update_likelihood()

    def restore(self, rounds: list[SpreadRound]) -> None:
        """Continue from some rounds; new ones are appended to the list."""
        self.rounds = rounds
        if not rounds:
            self.noise = None
        self._update_likelihood()

    def continue_from(
        self, scores: Floats, state: Floats | None, n_threads: int
    ) -> None:
        """Continue from the scores of an earlier model and the ``state`` of its spread.

        If these scores have their most likely spread on these rows, the model was
        trained on them, and this is another round of its fit. Otherwise the spread is
        calibrated from these rows: the fit begins with the most likely optimism.
        """
        error_shifts = np.array(self.likelihood.error_shifts)
        k = int(np.argmax(np.abs(error_shifts[1:]))) + 1

        def step() -> float:
            """The Newton step of the optimism to its most likely value."""
            self._update_likelihood()
            return float(self._level_step(scores, n_threads)[k] / error_shifts[k])

        start_round = self.start
        if state is not None and not np.isnan(state).any():
            self.start = SpreadRound.from_state(state)
            if abs(step()) < _SHORT_STEP:
                return
        self.start = start_round
        for _ in range(_MAX_CALIBRATION_STEPS):
            before = self.start.optimism
            self.start = start_round._replace(optimism=max(0.0, before + step()))
            if abs(self.start.optimism - before) < 0.1 * _SHORT_STEP:
                break
        self._update_likelihood()

    def score_unit(self, typical: Floats) -> Floats:
        """The derivatives that count alike in the direction of shared trees.

        ``typical``, (2, n_scores), are those before the first round. Since then, the
        errors of the mean have become smaller, and their spread has followed them.
        """
        unit = typical.copy()
        unit[0, 0] *= math.sqrt(self.last.unexplained)
        unit[0, 1:] *= _MEAN_FACTOR
        return unit

    def begin(self, gradient: Singles, hessian: Singles) -> None:
        """Keep copies of the derivatives of a round, which samples of rows change."""
        slopes, curves = gradient.astype(np.float64), hessian.astype(np.float64)
        slopes /= 1.0 - self.likelihood.shrinkage[:, None]
        self.errors = self.errors_of(slopes, curves)

    def errors_of(self, slopes: Floats, curves: Floats) -> list[Errors]:
        """The errors with these derivatives, one for each score.

        Both arrays are (n_scores, n_rows): the first and the second derivatives.
        """
        pairs = zip(slopes, curves, strict=True)
        return [
            Errors.from_derivatives(self.rows, slope, curve) for slope, curve in pairs
        ]

    def fresh_gradients(
        self, scores: Floats, gradient: Singles, hessian: Singles, n_threads: int
    ) -> None:
        """Write the derivatives of a first round, without optimism and shrinkage.

        All arrays are (n_scores, n_rows).
        """
        likelihood = self.likelihood
        first = Likelihood(likelihood.name, likelihood.y, len(scores))
        first(scores, gradient, hessian, n_threads)

    def measure_noise(
        self,
        gradient: Singles,
        hessian: Singles,
        grow: Callable[[int, Singles], tuple[Floats, float]],
        keys: Keys,
        learning_rate: float,
    ) -> None:
        """Measure how much of noise trees explain.

        ``gradient`` and ``hessian``, (n_scores, n_rows), are those of a first round.
        ``grow(k, gradients)`` grows a tree of score k for each of the gradients. It
        returns their values for all rows, (n_trees, n_rows), and their mean number of
        leaves. ``keys``, (n_rows,): rows with the same key are in the same leaf of each
        tree.
        """
        equal = EqualRows(keys, self.rows, self.frequency)
        shifts = np.arange(20, 20 + NOISE_TREES, dtype=np.uint64)[:, None]
        signs = 1.0 - 2.0 * (keys >> shifts & np.uint64(1)).astype(np.float64)
        explained, fractions = 0.0, []
        derivatives = gradient.astype(np.float64), hessian.astype(np.float64)
        for k, errors in enumerate(self.errors_of(*derivatives)):
            noises = errors.with_random_signs(signs, equal)
            slopes = np.array([noise.visible for noise in noises], dtype=np.float32)
            changes, n_leaves = grow(k, slopes)
            sums = list(map(Errors.sums, noises, changes))
            fractions.append(sum(one.explained_fraction for one in sums) / NOISE_TREES)
            if k == 0:
                # Leaves explain at least this, even if rows outside a sample show less.
                explained = sum(one.explained for one in sums) / NOISE_TREES
                explained = max(explained / learning_rate, n_leaves / self.n_rows)
        self.noise = Noise(explained, fractions)

    def end(
        self,
        changes: Floats,
        n_leaves: Sequence[int],
        learning_rate: float,
        scores: Floats,
        n_threads: int,
    ) -> Floats:
        """The level, (n_scores,), after a round, whose state is appended to `rounds`.

        ``changes``, (n_scores, n_rows), is what the new trees have added to the scores,
        and ``n_leaves`` is the number of leaves of each. ``scores`` include them.
        """
        last = self.last
        sums = list(map(Errors.sums, self.errors, changes))
        explained = sums[0].explained
        rate = learning_rate * (1.0 - float(last.shrinkage[0]))
        noise = self._learned_noise(explained, rate, n_leaves[0])
        unexplained = unexplained_after(last.unexplained, explained, noise)
        shrinkage = self._shrinkage(sums, unexplained)
        l2 = np.zeros(len(scores))
        if self.shrinks_leaves:
            size = [errors.rows.sum_of(errors.curve) for errors in self.errors]
            l2 = np.array(size) / n_leaves * shrinkage / (1.0 - shrinkage)
        ended = SpreadRound(
            last.level, last.optimism + noise, unexplained, shrinkage, l2
        )
        self.rounds.append(ended)
        self._update_likelihood()
        self.rounds[-1] = ended._replace(level=self.level(scores, n_threads))
        return self.rounds[-1].level

    def _learned_noise(
        self, explained: float, learning_rate: float, n_leaves: int
    ) -> float:
        """The part of what a tree of the mean explains that is noise.

        A tree that explains no more than one grown on noise has learned only noise. If
        its splits do not depend on noise, each leaf still explains 1 / n_rows of it.
        The more it explains, the closer its noise is to this minimum.

        ``explained`` is that of the tree: see `Errors.explained`. ``learning_rate`` is
        that of the round, after shrinkage: `Noise.explained` is for a rate of 1, and
        proportional to the rate.
        """
        assert self.noise is not None
        max_noise = self.noise.explained * learning_rate
        if explained <= max_noise:
            return max(explained, 0.0)
        min_noise = min(learning_rate * n_leaves / self.n_rows, max_noise)
        # Between both limits: the weight of the upper one falls as more is explained.
        return min_noise + (max_noise - min_noise) * max_noise / explained

    def _shrinkage(self, sums: Sequence[ErrorSums], unexplained: float) -> Floats:
        """The fraction of noise in what the trees of each score explain, (n_scores,).

        The fraction that trees of pure noise explain, over that which the new trees
        explain, of whose changes these are the ``sums``. The mean's is multiplied by
        ``unexplained``, the fraction of the squared errors that remains.
        """
        assert self.noise is not None
        factors = [_MEAN_NOISE_FACTOR * unexplained] + [1.0] * (len(sums) - 1)
        fractions = [of_score.explained_fraction for of_score in sums]
        by_score = zip(factors, self.noise.fractions, fractions, strict=True)
        return np.array(
            [
                min(_MAX_SHRINKAGE, factor * noise / fraction if fraction > 0 else 1.0)
                for factor, noise, fraction in by_score
            ]
        )

    def level(self, scores: Floats, n_threads: int) -> Floats:
        """The constants, (n_scores,), to add to all scores for the most likely spread.

        The first, of the mean, is 0. A few Newton steps find them.
        """
        level = np.zeros(len(scores))
        for _ in range(_MAX_LEVEL_STEPS):
            moved = scores + level[:, None] if level.any() else scores
            step = self._level_step(moved, n_threads)
            level += step
            if np.abs(step).max() < _SHORT_STEP:
                break
        return level

    def _level_step(self, scores: Floats, n_threads: int) -> Floats:
        """A Newton step of the level, shortened if the loss is not quadratic.

        ``scores``, (n_scores, n_rows), contain the level so far. The step is
        (n_scores,), and 0 for the mean.
        """
        slopes, information = (
            np.array([self.rows.sum_of(v.astype(np.float64)) for v in values])
            for values in self.likelihood.spread_derivatives(scores, n_threads)
        )
        step = np.append(0.0, -slopes / information)
        return step / (1.0 + 0.5 * self.bound * np.abs(step))


def unexplained_after(before: float, explained: float, noise: float) -> float:
    """The fraction of squared errors that remains after a tree, at most 1.

    ``explained``, from -1 to 1, is about the logarithm of the ratio of errors before
    and after the tree, and ``noise`` a part of it. It is -1 if the errors before the
    tree are negligible compared with those after it.
    """
    scale = 1.0 + explained - noise
    ratio = (1.0 - explained + noise) / scale if scale > 0 else math.inf
    return min(1.0, ratio * before)
