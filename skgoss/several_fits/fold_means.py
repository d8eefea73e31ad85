"""Constants that give the model of folds the mean prediction of the folds' models.

The prediction of the mean of raw scores is not the mean of predictions if a link is
curved. It is the geometric mean for 'exp', and nearly so for small probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from skgoss.binning.rows import Rows
from skgoss.fit import splits
from skgoss.objectives.link import CURVED, Link, transform
from skgoss.objectives.objectives import TrainingRows

Floats = NDArray[np.float64]

# Newton's method stops after a step shorter than ``_LAST_STEP``, or after
# ``_MAX_STEPS`` steps, none of which is longer than ``_LONGEST_STEP``.
_LAST_STEP = 1e-10
_MAX_STEPS = 50
_LONGEST_STEP = 1.0


def compared_rows(n_rows: int) -> NDArray[np.int64]:
    """The rows on which predictions are compared, among those of all processes."""
    return np.linspace(0, n_rows - 1, min(n_rows, splits.MAX_COMPARED)).astype(np.int64)


def constants(
    members: Sequence[Floats], link: Link, rows: Rows, n_threads: int = 1
) -> Floats:
    """What the mean of raw scores lacks to predict as its members do on average.

    ``members`` are the raw scores of each model, (n_scores, n), for the `compared_rows`
    of ``rows``, the rows of all processes. With the constants, (n_scores,), added to
    the mean of these scores, the weighted mean of its predictions is the mean of those
    of the members. They are 0 if predictions are not means of the target, or are the
    scores themselves.
    """
    n_scores, at = len(members[0]), compared_rows(len(rows))
    added, first = np.zeros(n_scores), 0
    for number, (part, n) in enumerate(link.to_means(n_scores)):
        span = slice(first, first + n)
        first += n
        if part.kind in CURVED:
            weight = rows.weight
            if rows.output_weight is not None:
                weight = rows.output_weight[:, number]
            weight = None if weight is None else np.ascontiguousarray(weight[at])
            of_part = [np.ascontiguousarray(member[span]) for member in members]
            added[span] = _Means(part, weight, n_threads).constants(of_part)
    return added


class _Means:
    """Weighted means of predictions over rows, rounded once each."""

    def __init__(self, link: Link, weight: Floats | None, n_threads: int) -> None:
        self.link, self.weight, self.n_threads = link, weight, n_threads

    def constants(self, members: Sequence[Floats]) -> Floats:
        """The constants for one link, (n_scores,), by Newton's method.

        Those of 'softmax' sum to 0. All are 0 if predictions overflow.
        """
        goals = [self._means(self._predictions(member)) for member in members]
        goal = sum(goals) / len(members)
        scores, added = sum(members) / len(members), np.zeros(len(members[0]))
        for _ in range(_MAX_STEPS):
            moved = scores + added[:, None]
            predictions = self._predictions(moved)
            lacking = goal - self._means(predictions)
            if not np.isfinite(lacking).all():
                return np.zeros(len(added))
            if self.link.kind == "softmax":
                step = self._joint_step(predictions, lacking)
            else:
                slope = self._means(self._slopes(moved, predictions))
                step = np.divide(lacking, slope, out=0.0 * slope, where=slope > 0)
            step = np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
            added += step
            if np.abs(step).max() < _LAST_STEP:
                break
        if self.link.kind == "softmax":
            added -= math.fsum(added) / len(added)
        return added

    def _predictions(self, scores: Floats) -> Floats:
        return transform(self.link, scores, self.n_threads, np.empty_like(scores))

    def _mean(self, values: Floats) -> float:
        return TrainingRows.from_one_process(values, self.weight).mean()

    def _means(self, values: Floats) -> Floats:
        return np.array([*map(self._mean, values)])

    def _slopes(self, scores: Floats, predictions: Floats) -> Floats:
        """The derivatives of predictions by their scores."""
        if self.link.kind == "exp":
            return predictions
        if self.link.kind == "logistic":
            return self.link.slope * predictions * (1.0 - predictions)
        return transform(
            Link("logistic"), scores, self.n_threads, np.empty_like(scores)
        )

    def _joint_step(self, predictions: Floats, lacking: Floats) -> Floats:
        """Newton's step for probabilities of classes, each of which has all scores.

        The score of the most frequent class stays.
        """
        n = len(predictions)
        slopes = np.zeros((n, n))
        for i, j in _pairs(n):
            product = self._mean(predictions[i] * predictions[j])
            slopes[i, j] = slopes[j, i] = -product
        # Differences would lose the digits of rare classes.
        slopes[range(n), range(n)] = [-math.fsum(row) for row in slopes]
        rest = np.delete(np.arange(n), self._means(predictions).argmax())
        step = np.zeros(n)
        step[rest] = _solution(slopes[np.ix_(rest, rest)], lacking[rest])
        return step


def _pairs(n: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(n) for j in range(i))


def _solution(matrix: Floats, right: Floats) -> Floats:
    """The solution x of ``matrix @ x = right``, for a positive definite matrix.

    By elimination: LAPACK's numbers depend on the processor. A row without a pivot has
    the solution 0.
    """
    table = np.column_stack([matrix, right])
    for k in range(len(right)):
        pivot = table[k, k]
        table[k] = table[k] / pivot if pivot > 0 else 0.0
        factors = table[:, k].copy()
        factors[k] = 0.0
        table -= np.multiply.outer(factors, table[k])
    return table[:, -1].copy()
