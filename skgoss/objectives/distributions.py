"""Distributions of the target: their parameters are the scores of a row.

The derivatives and values of the negative log-likelihoods are in
`_engine/objectives/distribution_kernels.h`, by the name of the objective.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from skgoss._engine.objectives import (
    function_kernels,
    link_kernels,
    loss_kernels,
)
from skgoss.utils.correct_rounding import log, log1p

Floats = NDArray[np.float64]

# Logarithms of parameters are no farther from 0, as in the kernels: those of scales and
# means, of shapes, and of the dispersion of counts.
LOG_LIMIT = 300.0
SHAPE_LIMIT = 25.0
COUNT_LIMIT = 16.0

# Of counts that spread no more than those of a Poisson distribution.
_LEAST_DISPERSION = 1e-3

# Errors beyond 2.5 standard deviations of a normal distribution: the slope of the
# logarithm of the scale where they begin, and its mean over all of them.
_FAR_FROM_NORMAL = (-5.25, -7.056862)

_CRPS_LEVELS = (np.arange(99) + 0.5) / 99


@dataclass(frozen=True, eq=False)
class Distribution:
    """One row of the table of distributions.

    Functions of parameters get an array for each of them.
    """

    parameters: dict[str, str]  # the name of each, and the link from its score
    scipy: str  # the name of SciPy's distribution
    arguments: Callable[..., dict[str, Floats]]  # those of SciPy, from the parameters
    # About the scores of the distribution of targets with this mean and variance.
    start: Callable[[float, float], tuple[float, ...]]
    self_concordance: tuple[float, ...]  # limits the steps of each score
    # Whether even tiny hessians of the first score are enough for a leaf: they are
    # weights, which other scores decide.
    reweighted: bool = False
    # What the scores after the first one are limited to, as logarithms of parameters.
    limits: tuple[float, ...] = (LOG_LIMIT,)
    # What is added to each score if errors are larger by a factor, by its logarithm.
    by_errors: tuple[float, ...] = (0.0, -1.0)
    # The logarithm of the factor of the scale from which the first score learns.
    widening: float = 0.0
    # Whether it learns from the spread of the learned rows, not that of new ones.
    learns_closely: bool = False
    # Slopes of the scale that are less than the first number are those of far errors,
    # which all have the second one. So an outlier widens the scale of others no more
    # than one of the distribution itself.
    far: tuple[float, float] = (-math.inf, -math.inf)
    # The prediction, from the parameters.
    mean_of: Callable[..., Floats] = lambda *parameters: parameters[0]
    # The CRPS of (y, *parameters), where it has a short formula.
    exact_crps: Callable[..., Floats] | None = None

    def parameters_of(self, scores: Floats, n_threads: int = 1) -> list[Floats]:
        """The parameters of the scores of rows, which have the shape (n_scores, n)."""
        linked = zip(self.parameters.values(), scores, strict=True)
        return [_linked(link, score, n_threads) for link, score in linked]

    def mean(self, scores: Floats, n_threads: int = 1) -> Floats:
        """The mean of the targets of rows with these scores."""
        return self.mean_of(*self.parameters_of(scores, n_threads))

    def frozen(self, scores: Floats) -> Any:
        """SciPy's distribution of the targets of rows with these scores."""
        from scipy import stats

        arguments = self.arguments(*self.parameters_of(scores))
        return getattr(stats, self.scipy)(**arguments)

    def crps(self, y: Floats, scores: Floats) -> Floats:
        """The continuous ranked probability score of each target.

        By quantiles, it is twice the mean of their pinball losses. References: T.
        Gneiting and A. Raftery, "Strictly Proper Scoring Rules, Prediction, and
        Estimation", Journal of the American Statistical Association 102, 2007.
        """
        if self.exact_crps is not None:
            return self.exact_crps(y, *self.parameters_of(scores))
        predicted, total = self.frozen(scores), np.zeros(len(y))
        for level in _CRPS_LEVELS:
            error = y - predicted.ppf(level)
            total += np.maximum(level * error, (level - 1.0) * error)
        return 2.0 / len(_CRPS_LEVELS) * total

    def log_tail(self, y: Floats, scores: Floats) -> Floats:
        """The logarithm of the probability of the smaller tail that has the target."""
        predicted = self.frozen(scores)
        # Both tails of a distribution of whole numbers have the target itself.
        below = y - 1.0 if hasattr(predicted, "pmf") else y
        return np.minimum(predicted.logcdf(y), predicted.logsf(below))


def _linked(link: str, score: Floats, n_threads: int = 1) -> Floats:
    values = score[None].copy()
    if link == "exp":
        np.clip(values, -LOG_LIMIT, LOG_LIMIT, out=values)
    link_kernels.apply(link_kernels.LINKS[link], values, 1.0, n_threads, values)
    return values[0]


def _normal_crps(y: Floats, loc: Floats, scale: Floats) -> Floats:
    z = (y - loc) / scale
    density = np.exp(-0.5 * z * z) * math.sqrt(2.0 / math.pi)
    return scale * (z * erf(z / math.sqrt(2.0)) + density - 1.0 / math.sqrt(math.pi))


def _half_log(variance: float) -> float:
    return 0.5 * log(variance)


def _log_moments(mean: float, variance: float) -> tuple[float, float]:
    ratio = log1p(variance / (mean * mean))
    return log(mean) - 0.5 * ratio, _half_log(ratio)


def _of_logarithm(mu: Floats, sigma: Floats) -> dict[str, Floats]:
    return {"s": sigma, "scale": _linked("exp", mu)}


def _failure_time(
    scipy: str, arguments: Callable[..., dict[str, Floats]], of_mu: float = 0.0
) -> Distribution:
    """A distribution of times, of which there may be bounds; the risk is -mu."""
    return Distribution(
        {"mu": "identity", "sigma": "exp"},
        scipy,
        arguments,
        lambda mean, variance: (mean, _half_log(variance)),
        self_concordance=(of_mu, 2.0),
        mean_of=lambda mu, sigma: -mu,
    )


def _shape_and_scale(mu: Floats, sigma: Floats) -> dict[str, Floats]:
    return {"c": 1.0 / sigma, "scale": _linked("exp", mu)}


def kernel_target(y: Floats) -> Floats:
    """Targets as kernels read them: of bounds, the lower ones come first."""
    return y if y.ndim == 1 else np.ascontiguousarray(y[:, :2].T).ravel()


def middle(y: Floats) -> Floats:
    """About the logarithm of times between bounds."""
    lower, upper = y.T
    lower = np.where(lower > 0, lower, 0.5 * upper)
    both = lower, np.where(upper < np.inf, upper, lower)
    return 0.5 * function_kernels.log(both).sum(axis=0)


DISTRIBUTIONS: dict[str, Distribution] = {
    "normal": Distribution(
        {"loc": "identity", "scale": "exp"},
        "norm",
        lambda loc, scale: {"loc": loc, "scale": scale},
        lambda mean, variance: (mean, _half_log(variance)),
        self_concordance=(0.0, 2.0),
        far=_FAR_FROM_NORMAL,
        exact_crps=_normal_crps,
    ),
    "lognormal": Distribution(
        {"mu": "identity", "sigma": "exp"},
        "lognorm",
        _of_logarithm,
        _log_moments,
        self_concordance=(0.0, 2.0),
        far=_FAR_FROM_NORMAL,
        mean_of=lambda mu, sigma: _linked("exp", mu + 0.5 * sigma * sigma),
    ),
    "student": Distribution(
        {"loc": "identity", "scale": "exp", "df": "exp"},
        "t",
        lambda loc, scale, df: {"df": df, "loc": loc, "scale": scale},
        lambda mean, variance: (mean, _half_log(0.8 * variance), log(10.0)),
        self_concordance=(0.0, 2.0, 1.0),
        reweighted=True,
        limits=(LOG_LIMIT, SHAPE_LIMIT),
        by_errors=(0.0, -1.0, 0.0),
        # Far errors of early rounds are not those of outliers.
        widening=log(3.0),
    ),
    "gamma_distribution": Distribution(
        {"mean": "exp", "shape": "exp"},
        "gamma",
        lambda mean, shape: {"a": shape, "scale": mean / shape},
        lambda mean, variance: (log(mean), log(mean * mean / variance)),
        self_concordance=(1.0, 1.0),
        limits=(SHAPE_LIMIT,),
        by_errors=(0.0, 2.0),
    ),
    "negative_binomial": Distribution(
        {"mean": "exp", "dispersion": "exp"},
        "nbinom",
        lambda mean, dispersion: {
            "n": 1.0 / dispersion,
            "p": 1.0 / (1.0 + dispersion * mean),
        },
        lambda mean, variance: (
            log(mean),
            log(max((variance - mean) / (mean * mean), _LEAST_DISPERSION)),
        ),
        self_concordance=(1.0, 1.0),
        # Rows of a large dispersion have little weight beside others.
        reweighted=True,
        limits=(COUNT_LIMIT,),
        by_errors=(1.0, -1.0),
    ),
    "beta": Distribution(
        {"mean": "logistic", "precision": "exp"},
        "beta",
        lambda mean, precision: {"a": mean * precision, "b": (1 - mean) * precision},
        lambda mean, variance: (
            log(mean / (1.0 - mean)),
            log(max(mean * (1.0 - mean) / variance - 1.0, 1e-3)),
        ),
        self_concordance=(1.0, 1.0),
        limits=(SHAPE_LIMIT,),
        by_errors=(0.0, 2.0),
        # The likeliest mean of a small precision is close to 0.5, not to the target.
        learns_closely=True,
    ),
    "aft_normal": replace(
        _failure_time("lognorm", _of_logarithm), far=_FAR_FROM_NORMAL
    ),
    "aft_logistic": _failure_time("fisk", _shape_and_scale),
    "aft_extreme": _failure_time("weibull_min", _shape_and_scale, 1.0),
}


def derivatives(
    name: str, target: Floats, scores: Floats, n_threads: int = 1, out: Any = None
) -> Any:
    """The slopes of the negative log-likelihood by each score, and their information.

    For the target see `kernel_target`. The information is Fisher's. Both have the shape
    of the scores, and are float32.
    """
    out = np.empty((2, *scores.shape), dtype=np.float32) if out is None else out
    kind = loss_kernels.DISTRIBUTIONS[name]
    loss_kernels.distribution(kind, scores, target, n_threads, *out)
    return out


def of_learning(name: str, scores: Floats, optimism: float) -> Floats:
    """The scores from which the first one learns.

    ``optimism`` is the logarithm by which errors of new rows are larger.
    """
    distribution = DISTRIBUTIONS[name]
    added = distribution.widening
    if distribution.learns_closely:
        added += optimism * distribution.by_errors[1]
    if added == 0.0:
        return scores
    moved = scores.copy()
    moved[1] += added
    return moved


def with_errors(
    name: str, target: Floats, scores: Floats, log_ratio: float, n_threads: int
) -> Floats:
    """The scores at which errors count as errors that are larger by a ratio.

    ``by_errors`` has what is added to each score for a logarithm of 1: errors are
    larger on a smaller scale. For counts, a part of the spread belongs to the mean. So
    the mean moves away from the target, too, by the logarithm of a multiple of a Newton
    step, which is limited.
    """
    by_errors = np.array(DISTRIBUTIONS[name].by_errors)
    moved = scores + log_ratio * np.append(0.0, by_errors[1:])[:, None]
    if by_errors[0] > 0 and log_ratio > 0:
        slopes, information = derivatives(name, target, scores, n_threads)
        slope, known = slopes[0].astype(np.float64), information[0].astype(np.float64)
        step = np.divide(slope, known, out=np.zeros(len(slope)), where=known > 0)
        ratio = _linked("exp", np.array([by_errors[0] * log_ratio]))[0]
        size = np.abs(step)
        away = function_kernels.log1p((ratio - 1.0) * size / (1.0 + 0.5 * size))
        moved[0] += np.copysign(away, step)
    return moved
