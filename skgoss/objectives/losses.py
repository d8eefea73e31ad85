"""The losses of the built-in objectives: a table, and the functions that it names.

A loss consists of its parameters, the best constant score, the targets that it is
defined for, and a rule for the values of leaves. Its gradients are in
`skgoss.objectives.gradients`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum
from skgoss.columns.collectives import Collectives
from skgoss.columns.row_partition import RowPartition
from skgoss.objectives import ranking
from skgoss.objectives.percentiles import are_copies, percentile, weighted_mean
from skgoss.parameters.settings import Settings

Floats = NDArray[np.float64]

# The maximum number of rows. Weights with a larger sum are not treated as copies.
MAX_COPIES = 2**31 - 1

# The minimum distance of a probability from 0 and 1, where its log-odds are infinite.
MIN_PRIOR = 1e-15


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The targets and weights of this process's rows, and statistics of all rows."""

    y: Floats
    weight: Floats | None
    partition: RowPartition

    @property
    def collectives(self) -> Collectives:
        return self.partition.collectives

    def mean(self) -> float:
        """The weighted mean of the targets of all processes."""
        return weighted_mean(self.y, self.weight, self.collectives)

    def percentile(self, level: float, unit: Floats | None = None) -> float:
        """The `percentile` of the targets of all processes."""
        return percentile(self.y, level, self.weight, unit, self.partition)

    def range(self) -> tuple[float, float]:
        """The smallest and the largest target of all processes."""
        low, high = self.y.min(initial=np.inf), self.y.max(initial=-np.inf)
        lows, highs = zip(*self.collectives.all_gather((low, high)), strict=True)
        return min(lows), max(highs)

    def all(self, condition: NDArray[np.bool_]) -> bool:
        """Whether a condition holds for the rows of all processes."""
        return all(self.collectives.all_gather(bool(condition.all())))

    def copies(self) -> NDArray[np.uint32] | None:
        """The number of copies of each row; None if a process has other weights."""
        if self.weight is None:
            return None
        found = (are_copies(self.weight), float(self.weight.sum()))
        whole, sums = zip(*self.collectives.all_gather(found), strict=True)
        all_copies = all(whole) and sum(sums) <= MAX_COPIES
        return self.weight.astype(np.uint32) if all_copies else None

    def weight_of(self, chosen: NDArray[np.bool_]) -> float:
        """The weight of some rows of all processes."""
        return exact_sum.weighted_sum(chosen * 1.0, self.weight, self.collectives)


# --- Start scores ---------------------------------------------------------------------


def _mean(rows: TrainingRows, settings: Settings) -> float:
    return rows.mean()


def log(x: float) -> float:
    """The logarithm; NumPy's has other last bits on processors with AVX-512."""
    return math.log(x) if x > 0.0 else -math.inf


def _log_mean(rows: TrainingRows, settings: Settings) -> float:
    return log(rows.mean())


def log_odds(p: float) -> float:
    """log(p / (1 - p)), finite for 0 and 1."""
    p = min(max(p, MIN_PRIOR), 1.0 - MIN_PRIOR)
    return log(p / (1.0 - p))


def _logit_mean(rows: TrainingRows, settings: Settings) -> float:
    return log_odds(rows.mean())


def _log_expm1_mean(rows: TrainingRows, settings: Settings) -> float:
    return log(math.expm1(max(rows.mean(), MIN_PRIOR)))


def _median(rows: TrainingRows, settings: Settings) -> float:
    return rows.percentile(0.5)


def _alpha(settings: Settings) -> float:
    if not 0 < settings.alpha < 1:
        raise ValueError(
            f"alpha must lie between 0 and 1 (exclusive) for objective='quantile', got "
            f"{settings.alpha!r}."
        )
    return settings.alpha


def _alpha_quantile(rows: TrainingRows, settings: Settings) -> float:
    return rows.percentile(_alpha(settings))


def _relative_weight(y: Floats) -> Floats:
    """The weight of an absolute error in 'mape'."""
    return 1.0 / np.maximum(np.abs(y), 1.0)


def _relative_median(rows: TrainingRows, settings: Settings) -> float:
    return rows.percentile(0.5, _relative_weight(rows.y))


# --- Targets --------------------------------------------------------------------------


def _any_target(rows: TrainingRows, name: str) -> None:
    pass


def _counts(rows: TrainingRows, name: str) -> None:
    low, _ = rows.range()
    if low < 0:
        raise ValueError(f"objective={name!r} needs targets >= 0, got {low:g}.")
    if rows.mean() <= 0:
        raise ValueError(
            f"objective={name!r} needs a positive target (in a row whose weight is not "
            "0), but all are 0."
        )


def _positive(rows: TrainingRows, name: str) -> None:
    low, _ = rows.range()
    if low <= 0:
        raise ValueError(f"objective={name!r} needs targets > 0, got {low:g}.")


def _probabilities(rows: TrainingRows, name: str) -> None:
    low, high = rows.range()
    if low < 0 or high > 1:
        raise ValueError(
            f"objective={name!r} needs targets in [0, 1], but they range from "
            f"{low:g} to {high:g}."
        )


# --- The table ------------------------------------------------------------------------


@dataclass(frozen=True)
class Loss:
    """The loss of a built-in objective.

    Attributes
    ----------
    start : callable (rows, settings) -> float, or None
        The best constant raw score, or an estimate of it; None for classes.
    parameters : callable (settings) -> (a, b)
        The two parameters of the loss.
    check : callable (rows, name)
        Raises ValueError if the objective is not defined for the targets.
    constant_hessian : bool
        Whether the hessian is 1 everywhere.
    renewal_level : callable (settings) -> float, or None
        The level of the percentile of residuals that replaces the value of a leaf;
        None: leaf values are not replaced.
    renewal_weight : callable (y) -> (n,) float64, or None
        Weights of the residuals in this percentile, in addition to those of the rows.
    ranks : type, or None
        Computes the gradients of an objective of rankings; None for other objectives.
    weighs_rows : bool
        Whether the loss depends on sample weights other than by a factor.
    concordance : callable (settings) -> float
        The constant of generalized self-concordance: see ``Objective``.
    """

    start: Callable[[TrainingRows, Settings], float] | None = _mean
    parameters: Callable[[Settings], tuple[float, float]] = lambda s: (0.0, 0.0)
    check: Callable[[TrainingRows, str], None] = _any_target
    constant_hessian: bool = False
    renewal_level: Callable[[Settings], float] | None = None
    renewal_weight: Callable[[Floats], Floats] | None = None
    ranks: type[ranking.LambdaRank] | type[ranking.RankXENDCG] | None = None
    weighs_rows: bool = False
    concordance: Callable[[Any], float] = lambda s: 0.0


LOSSES: dict[str, Loss] = {
    "regression": Loss(constant_hessian=True),
    "regression_l1": Loss(
        start=_median, constant_hessian=True, renewal_level=lambda s: 0.5
    ),
    # P. J. Huber, "Robust Estimation of a Location Parameter", 1964.
    "huber": Loss(parameters=lambda s: (s.alpha, 0.0), constant_hessian=True),
    # R. C. Fair, "On the Robust Estimation of Econometric Models", 1974.
    "fair": Loss(
        parameters=lambda s: (s.fair_c, 0.0), concordance=lambda s: 2.0 / s.fair_c
    ),
    "quantile": Loss(
        start=_alpha_quantile,
        parameters=lambda s: (_alpha(s), 0.0),
        constant_hessian=True,
        renewal_level=_alpha,
    ),
    "mape": Loss(
        start=_relative_median,
        constant_hessian=True,
        renewal_level=lambda s: 0.5,
        renewal_weight=_relative_weight,
    ),
    "poisson": Loss(
        start=_log_mean,
        parameters=lambda s: (float(np.exp(s.poisson_max_delta_step)), 0.0),
        check=_counts,
        concordance=lambda s: 1.0,
    ),
    "gamma": Loss(start=_log_mean, check=_positive, concordance=lambda s: 1.0),
    "tweedie": Loss(
        start=_log_mean,
        parameters=lambda s: (
            1.0 - s.tweedie_variance_power,
            2.0 - s.tweedie_variance_power,
        ),
        check=_counts,
        concordance=lambda s: max(
            s.tweedie_variance_power - 1.0, 2.0 - s.tweedie_variance_power
        ),
    ),
    "cross_entropy": Loss(
        start=_logit_mean, check=_probabilities, concordance=lambda s: 1.0
    ),
    "cross_entropy_lambda": Loss(
        start=_log_expm1_mean,
        check=_probabilities,
        weighs_rows=True,
        concordance=lambda s: 1.0,
    ),
    "binary": Loss(start=None, concordance=lambda s: s.sigmoid),
    # Two scores of a row may change in opposite directions, each by the longest step.
    "multiclass": Loss(start=None, concordance=lambda s: 2.0),
    "multiclassova": Loss(start=None, concordance=lambda s: s.sigmoid),
    "lambdarank": Loss(ranks=ranking.LambdaRank, concordance=lambda s: 2.0 * s.sigmoid),
    "rank_xendcg": Loss(ranks=ranking.RankXENDCG, concordance=lambda s: 2.0),
}
