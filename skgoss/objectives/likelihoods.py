"""Maximum likelihood fits of a distribution, and of a calibration of its scores."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum, loss_kernels
from skgoss.objectives.distributions import (
    DISTRIBUTIONS,
    derivatives,
    kernel_target,
    middle,
)
from skgoss.objectives.minimum import minimum
from skgoss.objectives.objectives import TrainingRows
from skgoss.utils.correct_rounding import log1p

Floats = NDArray[np.float64]

# `most_likely` stops before a step shorter than ``_LAST_STEP``, relative to scores
# above 1, or after ``_MAX_STEPS`` steps.
_LAST_STEP = 1e-7
_MAX_STEPS = 100

# The precision of the normal prior of `calibrated`, whose mean changes nothing: factors
# of 1, and constants of 0. It weighs as much as this number of rows.
_PRIOR = 4.0


def most_likely(name: str, rows: TrainingRows) -> Floats:
    """The constant scores that maximize the likelihood of all targets, (n_scores,).

    This is Newton's method with the Fisher information (Fisher scoring). Its steps are
    limited as those of leaves are: see `Objective.longest_steps`. ``name`` is that of
    the distribution in `DISTRIBUTIONS`. ValueError if the squares of targets overflow.
    """
    distribution, target = DISTRIBUTIONS[name], kernel_target(rows.y)
    y = rows.y if rows.y.ndim == 1 else middle(rows.y)
    rows = replace(rows, y=y)
    mean = rows.mean()
    with np.errstate(over="ignore"):
        variance = rows.sum_of((y - mean) ** 2) / rows.sum_of(np.ones(len(y)))
    if not math.isfinite(variance + mean * mean):
        raise ValueError(
            f"The targets are too large for objective={name!r}: their squares are"
            " infinite. Divide them by a number."
        )
    # If all targets are equal, the likelihood grows without limit as the scale shrinks.
    min_variance = (1e-8 * max(abs(mean), 1e-100)) ** 2
    scores = np.array(distribution.start(mean, max(variance, min_variance)))
    bound = np.array(distribution.self_concordance)
    for _ in range(_MAX_STEPS if variance > min_variance else 0):
        row_scores = np.repeat(scores[:, None], len(y), axis=1)
        total, information = (
            np.array([rows.sum_of(v.astype(np.float64)) for v in values])
            for values in derivatives(name, target, row_scores)
        )
        step = -total / information
        limited = np.array([log1p(each) for each in bound * np.abs(step)])
        limited /= np.where(bound > 0, bound, 1.0)
        step = np.where(bound > 0, np.copysign(limited, step), step)
        if np.abs(step / np.maximum(1.0, np.abs(scores))).max() < _LAST_STEP:
            break
        scores += step
    return scores


def newton_step(
    y: Floats, scores: Floats, name: str, n_threads: int
) -> tuple[Floats, Floats]:
    """The Newton step of the first score of each row, and its Fisher information.

    Both are (n,). ``y`` are the targets, ``scores`` (n_scores, n). The step is 0 where
    there is no information.
    """
    slopes, information = derivatives(name, kernel_target(y), scores, n_threads)
    first = information[0].astype(np.float64)
    return np.divide(-slopes[0], first, out=np.zeros(len(y)), where=first > 0), first


def calibrated(
    rows: TrainingRows, scores: Floats, name: str, n_threads: int
) -> tuple[Floats, Floats]:
    """Calibrate the spread: the most likely factors of scores, and constants to add.

    Calibrated scores are ``factors * scores + constants``. The first score does not
    change. ``scores``, (n_scores, n), must be out-of-fold: of models that were not
    trained on the rows. J. Brophy and D. Lowd, "Instance-Based Uncertainty Estimation
    for Gradient-Boosted Regression Trees", NeurIPS 2022, calibrate one factor.
    """
    kind, n_spreads = loss_kernels.DISTRIBUTIONS[name], len(scores) - 1
    n_rows, target = rows.sum_of(np.ones(len(rows.y))), kernel_target(rows.y)
    center = np.array([rows.sum_of(score) / n_rows for score in scores[1:]])

    def mapping(change: Floats) -> tuple[Floats, Floats]:
        """The factors and constants, (n_scores,), that a vector of changes stands for.

        Its first half is what factors differ from 1 by, its second half what the mean
        scores change by.
        """
        factors = 1.0 + change[:n_spreads]
        added = center * (1.0 - factors) + change[n_spreads:]
        return np.append(1.0, factors), np.append(0.0, added)

    def loss(change: Floats) -> tuple[float, Floats]:
        """The mean loss of a row with the prior, and its derivatives by the changes."""
        factors, added = mapping(change)
        moved, y = factors[:, None] * scores + added[:, None], target
        slopes, _ = derivatives(name, y, moved, n_threads)
        total = loss_kernels.sum_by_distribution(kind, y, moved, rows.weight, n_threads)
        slope = slopes[1:].astype(np.float64)
        by_change = *(slope * (scores[1:] - center[:, None])), *slope
        slope = _PRIOR * change + [rows.sum_of(values) for values in by_change]
        penalty = 0.5 * _PRIOR * (change * change).sum()
        return float(exact_sum.rounded(total) + penalty) / n_rows, slope / n_rows

    return mapping(minimum(loss, np.zeros(2 * n_spreads)))
