"""Metrics of survival: partial likelihood, concordance and Brier score."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import function_kernels, loss_kernels, metric_kernels
from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.survival import COX, PartialLikelihood
from skgoss.parameters.settings import Settings

Floats = NDArray[np.float64]


def _partial_likelihood(data: EvalData, settings: Settings) -> PartialLikelihood:
    efron = COX.get(str(settings.objective), False)
    return data.cached(
        ("partial likelihood", efron),
        lambda: PartialLikelihood(data.y, data.weight, efron=efron),
    )


def cox_nll(data: EvalData, settings: Settings) -> float:
    return _partial_likelihood(data, settings).value(data.scores, data.n_threads)


def concordance(data: EvalData, settings: Settings | None = None) -> float:
    """Harrell's C: the share of pairs whose order of events is that of their risks.

    Both rows of a pair are in the same stratum.

    F. E. Harrell et al., "Evaluating the Yield of Medical Tests", JAMA 247, 1982.
    """
    rows, asks, begins, stratum = data.cached("pairs", lambda: _in_order(data.y))
    score = data.scores[0]
    if settings is not None and settings.objective not in COX:
        score = -score
    risk = np.unique(score, return_inverse=True)[1]
    if stratum.any():
        # Those of strata that come first are the largest.
        risk = np.unique(risk - stratum * len(risk), return_inverse=True)[1]
    weight = np.ones(len(risk)) if data.weight is None else data.weight
    right, equal, total = metric_kernels.pairs_in_order(
        rows, asks, begins, risk, weight
    )
    return (right + 0.5 * equal) / total if total else nan


def _in_order(bounds: Floats) -> tuple[NDArray[Any], ...]:
    """Rows in the order in which a row, that asks, meets all that live longer.

    Going back in time in each stratum, rows come in at the lower bound of their time,
    and ask at the upper one. At one time, those who are known to die then come in last.

    Returns the rows, which of them ask and which are the first of a stratum, and the
    number of each row's stratum.
    """
    n, (lower, upper) = len(bounds), bounds.T[:2]
    strata = bounds[:, 2] if bounds.shape[1] > 2 else np.zeros(n)
    stratum = np.unique(strata, return_inverse=True)[1]
    seen = np.flatnonzero(np.isfinite(upper))
    time = np.concatenate([lower, upper[seen]])
    turn = np.concatenate([np.where(lower == upper, 2, 0), np.ones(len(seen))])
    rows = np.concatenate([np.arange(n), seen])
    order = np.lexsort((turn, -time, stratum[rows]))
    begins = np.diff(stratum[rows[order]], prepend=-1) > 0
    asks = (order >= n).astype(np.uint8)
    return rows[order], asks, begins.astype(np.uint8), stratum


# The levels of the event times at which Brier scores are computed.
_BRIER_LEVELS = np.linspace(0.1, 0.9, 17)


def brier(data: EvalData, settings: Settings) -> float:
    """The integrated Brier score between the deciles of the event times.

    Rows have the inverse weights of their chance not to be censored. The baseline
    hazard of Cox's model is that of these rows. E. Graf et al., "Assessment and
    Comparison of Prognostic Classification Schemes for Survival Data", Statistics in
    Medicine 18, 1999.
    """
    times, weights, is_over = data.cached("censoring", lambda: _censoring(data))
    if settings.objective in COX:
        baseline = _partial_likelihood(data, settings).baseline(data.scores)
        strata = data.y[:, 2] if data.y.shape[1] > 2 else None
        survival = baseline.survival(data.scores[0], times, strata)
    else:
        survival = _survival(str(settings.objective), data.scores, times)
    errors = weights * (survival - 1.0 + is_over) ** 2
    scores = np.array([data.mean(column.copy()) for column in errors.T])
    if len(times) < 2:
        return float(scores[0])
    areas = np.diff(times) * (scores[1:] + scores[:-1])
    return float(areas.sum() / 2 / np.ptp(times))


def _survival(name: str, scores: Floats, times: Floats) -> Floats:
    """The probability that each row lives longer, for a distribution of times.

    That is the likelihood of a row that lives until then.
    """
    kind, n_rows = loss_kernels.DISTRIBUTIONS[name], scores.shape[1]
    losses = np.empty((len(times), n_rows))
    for time, of_time in zip(times, losses, strict=True):
        bounds = np.repeat([time, np.inf], n_rows)
        loss_kernels.likelihoods(kind, bounds, scores, of_time)
    return function_kernels.exp(-losses).T


def _censoring(data: EvalData) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Times, and for each row and time its weight, and whether its event was before."""
    lower, upper = data.y.T[:2]
    weight = np.ones(len(lower)) if data.weight is None else data.weight
    seen = upper == lower
    if not (seen | np.isinf(upper)).all() or not seen.any():
        raise ValueError(
            "metric 'brier' needs an evaluation set with events, whose times are known"
            " or right-censored. Use 'concordance'."
        )
    moments, number = np.unique(lower, return_inverse=True)
    dying, leaving = (np.bincount(number, weight * w) for w in (seen, ~seen))
    staying = np.cumsum((dying + leaving)[::-1])[::-1] - dying
    share = np.divide(leaving, staying, out=np.zeros(len(moments)), where=staying > 0)
    chance = np.cumprod(1.0 - share)
    events = np.cumsum(dying)
    times = moments[np.unique(np.searchsorted(events, _BRIER_LEVELS * events[-1]))]
    of_times = chance[np.searchsorted(moments, times, side="right") - 1]
    is_over = lower[:, None] <= times
    inverse = np.where(is_over, seen[:, None] / _above_0(chance[number])[:, None], 0.0)
    return times, np.where(is_over, inverse, 1.0 / _above_0(of_times)), is_over


def _above_0(values: NDArray[Any]) -> Floats:
    return np.where(values > 0, values, np.inf)
