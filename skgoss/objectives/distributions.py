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

# The limits of the absolute values of logarithms of parameters, as in the kernels: of
# scales and means, of shapes, and of the dispersion of counts.
LOG_LIMIT = 300.0
SHAPE_LIMIT = 25.0
COUNT_LIMIT = 16.0

# The dispersion of counts that vary no more than those of a Poisson distribution.
_MIN_DISPERSION = 1e-3

# `Distribution.far` of a normal distribution, whose far errors z are beyond 2.5
# standard deviations. The derivative by the logarithm of the scale is 1 - z^2: -5.25 at
# 2.5, and -7.056862 on average over all far errors.
_FAR_FROM_NORMAL = (-5.25, -7.056862)
# No slope is below this threshold, so none is replaced.
NO_FAR_ERRORS = (-math.inf, -math.inf)

# The levels of the quantiles whose pinball losses give the CRPS without a formula.
_CRPS_LEVELS = (np.arange(99) + 0.5) / 99


@dataclass(frozen=True, eq=False)
class Distribution:
    """One row of the table of distributions.

    A row of data has one score for each parameter. The first one is the mean or another
    place; the others are the *spread*, such as the logarithm of a scale. The functions
    here take one array for each parameter.
    """

    parameters: dict[str, str]  # the name of each, and the link from its score
    scipy: str  # the name of SciPy's distribution
    arguments: Callable[..., dict[str, Floats]]  # of SciPy's, from the parameters
    # Approximate scores of a distribution with this mean and variance, from which
    # Newton's method starts.
    start: Callable[[float, float], tuple[float, ...]]
    self_concordance: tuple[float, ...]  # of each score: see `Objective`
    # Whether hessians of the first score are weights that depend on other scores. Then
    # even tiny hessians are enough for a leaf.
    reweighted: bool = False
    # The limits of the absolute values of the scores after the first one.
    limits: tuple[float, ...] = (LOG_LIMIT,)
    # What each score changes by if the logarithm of all errors grows by 1.
    error_shifts: tuple[float, ...] = (0.0, -1.0)
    # Added to the logarithm of the scale in the gradients of the first score.
    widening: float = 0.0
    # Whether the first score learns with the scale of errors on training rows instead
    # of that on new rows, which is larger.
    uses_training_spread: bool = False
    # (threshold, replacement): derivatives by the logarithm of the scale that are below
    # the threshold, those of far errors, are replaced. So an outlier widens the scale
    # no more than the average far error of the distribution itself.
    far: tuple[float, float] = NO_FAR_ERRORS
    # The prediction, from the parameters.
    prediction: Callable[..., Floats] = lambda *parameters: parameters[0]
    # The CRPS of (y, *parameters), where it has a short formula.
    exact_crps: Callable[..., Floats] | None = None

    def parameters_of(self, scores: Floats, n_threads: int = 1) -> list[Floats]:
        """The parameters for raw scores of the shape (n_scores, n)."""
        linked = zip(self.parameters.values(), scores, strict=True)
        return [_linked(link, score, n_threads) for link, score in linked]

    def mean(self, scores: Floats, n_threads: int = 1) -> Floats:
        """The predictions of rows with these scores, (n,): ``prediction``.

        They are the means of the targets, or risks for event times. ``scores`` has the
        shape (n_scores, n).
        """
        return self.prediction(*self.parameters_of(scores, n_threads))

    def frozen(self, scores: Floats) -> Any:
        """SciPy's distribution of the targets of rows with these scores."""
        from scipy import stats

        arguments = self.arguments(*self.parameters_of(scores))
        return getattr(stats, self.scipy)(**arguments)

    def crps(self, y: Floats, scores: Floats) -> Floats:
        """The continuous ranked probability score of each target.

        Without a formula, it is twice the mean pinball loss of quantiles. Reference: T.
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
        """The logarithm of the smaller tail probability of each target, (n,).

        ``scores``, (n_scores, n), are the raw scores of the rows.
        """
        predicted = self.frozen(scores)
        # Both tails of a discrete distribution include the target itself.
        below = y - 1.0 if hasattr(predicted, "pmf") else y
        return np.minimum(predicted.logcdf(y), predicted.logsf(below))


def _linked(link: str, score: Floats, n_threads: int = 1) -> Floats:
    """The parameter that a link makes of each score, both (n,).

    With the link 'exp', scores are clipped to ``LOG_LIMIT`` first.
    """
    values = score[None].copy()
    if link == "exp":
        np.clip(values, -LOG_LIMIT, LOG_LIMIT, out=values)
    link_kernels.apply(link_kernels.LINKS[link], values, 1.0, n_threads, values)
    return values[0]


def _normal_crps(y: Floats, loc: Floats, scale: Floats) -> Floats:
    """CRPS = s (z erf(z / sqrt 2) + 2 phi(z) - 1 / sqrt pi), with z = (y - m) / s."""
    z = (y - loc) / scale
    density = np.exp(-0.5 * z * z) * math.sqrt(2.0 / math.pi)
    return scale * (z * erf(z / math.sqrt(2.0)) + density - 1.0 / math.sqrt(math.pi))


def _half_log(variance: float) -> float:
    """The logarithm of the standard deviation."""
    return 0.5 * log(variance)


def _log_moments(mean: float, variance: float) -> tuple[float, float]:
    """The scores, mu and log(sigma), of a log-normal distribution with these moments.

    sigma^2 = log(1 + variance / mean^2) and mu = log(mean) - sigma^2 / 2.
    """
    ratio = log1p(variance / (mean * mean))
    return log(mean) - 0.5 * ratio, _half_log(ratio)


def _lognormal_arguments(mu: Floats, sigma: Floats) -> dict[str, Floats]:
    """SciPy's arguments of a log-normal distribution."""
    return {"s": sigma, "scale": _linked("exp", mu)}


def _failure_time(
    scipy: str, arguments: Callable[..., dict[str, Floats]], mu_concordance: float = 0.0
) -> Distribution:
    """A distribution of event times, possibly interval-censored; the risk is -mu.

    ``scipy`` and ``arguments`` are as in `Distribution`, and ``mu_concordance`` is the
    self-concordance of the first score. The logarithm of the time is mu + sigma e, with
    errors e of a fixed distribution (accelerated failure time).
    """
    return Distribution(
        {"mu": "identity", "sigma": "exp"},
        scipy,
        arguments,
        lambda mean, variance: (mean, _half_log(variance)),
        self_concordance=(mu_concordance, 2.0),
        prediction=lambda mu, sigma: -mu,
    )


def _shape_and_scale(mu: Floats, sigma: Floats) -> dict[str, Floats]:
    """SciPy's arguments of a log-logistic or Weibull distribution."""
    return {"c": 1.0 / sigma, "scale": _linked("exp", mu)}


def kernel_target(y: Floats) -> Floats:
    """Targets as kernels read them.

    Numbers, (n,), stay as they are. Of event times, (n, 2) or (n, 3), all lower bounds
    come first, and then all upper ones, (2 n,).
    """
    return y if y.ndim == 1 else np.ascontiguousarray(y[:, :2].T).ravel()


def middle(y: Floats) -> Floats:
    """The logarithm of a time between the bounds of each event time, (n,).

    ``y`` is (n, 2): lower and upper bounds. The result is the mean of their logarithms.
    It is finite: half the upper bound replaces a lower bound of 0, and the lower bound
    replaces an infinite upper one.
    """
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
        _lognormal_arguments,
        _log_moments,
        self_concordance=(0.0, 2.0),
        far=_FAR_FROM_NORMAL,
        prediction=lambda mu, sigma: _linked("exp", mu + 0.5 * sigma * sigma),
    ),
    "student": Distribution(
        {"loc": "identity", "scale": "exp", "df": "exp"},
        "t",
        lambda loc, scale, df: {"df": df, "loc": loc, "scale": scale},
        lambda mean, variance: (mean, _half_log(0.8 * variance), log(10.0)),
        self_concordance=(0.0, 2.0, 1.0),
        reweighted=True,
        limits=(LOG_LIMIT, SHAPE_LIMIT),
        error_shifts=(0.0, -1.0, 0.0),
        # In early rounds, many errors are large that are not outliers.
        widening=log(3.0),
    ),
    "gamma_distribution": Distribution(
        {"mean": "exp", "shape": "exp"},
        "gamma",
        lambda mean, shape: {"a": shape, "scale": mean / shape},
        lambda mean, variance: (log(mean), log(mean * mean / variance)),
        self_concordance=(1.0, 1.0),
        limits=(SHAPE_LIMIT,),
        error_shifts=(0.0, 2.0),
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
            log(max((variance - mean) / (mean * mean), _MIN_DISPERSION)),
        ),
        self_concordance=(1.0, 1.0),
        # Rows with a large dispersion have small hessians.
        reweighted=True,
        limits=(COUNT_LIMIT,),
        error_shifts=(1.0, -1.0),
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
        error_shifts=(0.0, 2.0),
        # With a small precision, the most likely mean is close to 0.5, not to the
        # target.
        uses_training_spread=True,
    ),
    "aft_normal": replace(
        _failure_time("lognorm", _lognormal_arguments), far=_FAR_FROM_NORMAL
    ),
    "aft_logistic": _failure_time("fisk", _shape_and_scale),
    "aft_extreme": _failure_time("weibull_min", _shape_and_scale, 1.0),
}


def derivatives(
    name: str, target: Floats, scores: Floats, n_threads: int = 1, out: Any = None
) -> Any:
    """The derivatives of the negative log-likelihood, and the Fisher information.

    ``name`` is that of the objective, ``scores`` are (n_scores, n), and ``target`` is a
    `kernel_target`. The result, (2, n_scores, n), has both, in float32; it is written
    to the pair of arrays ``out`` if they are passed.
    """
    out = np.empty((2, *scores.shape), dtype=np.float32) if out is None else out
    kind = loss_kernels.DISTRIBUTIONS[name]
    loss_kernels.distribution(kind, scores, target, n_threads, *out)
    return out


def learning_scores(name: str, scores: Floats, optimism: float) -> Floats:
    """The scores at which the derivatives by the first score are taken.

    They are the scores, (n_scores, n), except for the logarithm of the scale in some
    distributions: a wider scale lets outliers pull less (``widening``), and the scale
    of errors on training rows is smaller than that on new rows
    (``uses_training_spread``). Errors of new rows are larger than those of training
    rows by exp(``optimism``).
    """
    distribution = DISTRIBUTIONS[name]
    added = distribution.widening
    if distribution.uses_training_spread:
        added += optimism * distribution.error_shifts[1]
    if added == 0.0:
        return scores
    moved = scores.copy()
    moved[1] += added
    return moved


def with_errors(
    name: str, target: Floats, scores: Floats, log_ratio: float, n_threads: int
) -> Floats:
    """Scores with which the errors of rows are larger by exp(``log_ratio``).

    Errors on new rows are larger than on training rows. The spread learns as if the
    training errors were as large, which moved scores achieve without new targets: a
    smaller scale makes errors larger, relative to it. ``error_shifts`` are added to the
    scores, times ``log_ratio``. For counts, the mean determines a part of the spread.
    So the mean moves away from the target, too: with the Newton step s to the target,
    its logarithm changes by -sign(s) log(1 + (ratio - 1) |s| / (1 + |s| / 2)).
    """
    error_shifts = np.array(DISTRIBUTIONS[name].error_shifts)
    moved = scores + log_ratio * np.append(0.0, error_shifts[1:])[:, None]
    if error_shifts[0] > 0 and log_ratio > 0:
        slopes, information = derivatives(name, target, scores, n_threads)
        slope, hessian = slopes[0].astype(np.float64), information[0].astype(np.float64)
        step = np.divide(slope, hessian, out=np.zeros(len(slope)), where=hessian > 0)
        ratio = _linked("exp", np.array([error_shifts[0] * log_ratio]))[0]
        size = np.abs(step)
        away = function_kernels.log1p((ratio - 1.0) * size / (1.0 + 0.5 * size))
        moved[0] += np.copysign(away, step)
    return moved
