"""Survival metrics: partial likelihood, concordance and Brier score."""

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
    """The partial likelihood of an evaluation set, with the ties of the objective."""
    efron = COX.get(str(settings.objective), False)
    return data.cached(
        ("partial likelihood", efron),
        lambda: PartialLikelihood(data.y, data.weight, efron=efron),
    )


def cox_nll(data: EvalData, settings: Settings) -> float:
    """The negative log partial likelihood per weight of the events."""
    return _partial_likelihood(data, settings).value(data.scores, data.n_threads)


def concordance(data: EvalData, settings: Settings | None = None) -> float:
    """Harrell's C: the proportion of comparable pairs that the risks order correctly.

    A pair is comparable if both rows are in the same stratum and one is known to have
    its event first. Pairs of equal risks count as half.

    F. E. Harrell et al., "Evaluating the Yield of Medical Tests", JAMA 247, 1982.
    """
    rows, is_query, begins, stratum = data.cached("pairs", lambda: _scan_order(data.y))
    score = data.scores[0]
    if settings is not None and settings.objective not in COX:
        score = -score
    risk = np.unique(score, return_inverse=True)[1]
    if stratum.any():
        # Ranks that are lower in later strata, so that strata don't mix.
        risk = np.unique(risk - stratum * len(risk), return_inverse=True)[1]
    weight = np.ones(len(risk)) if data.weight is None else data.weight
    right, equal, total = metric_kernels.concordant_weights(
        rows, is_query, begins, risk, weight
    )
    return (right + 0.5 * equal) / total if total else nan


def _scan_order(bounds: Floats) -> tuple[NDArray[Any], ...]:
    """The order of a scan that finds all comparable pairs of rows.

    The scan goes back in time in each stratum. It inserts each row at the lower bound
    of its event time. At a finite upper bound, it queries: all rows that have been
    inserted have their event later than this row. At equal times, rows of censored or
    uncertain times are inserted first, then come queries, then rows with an event at
    just this time, which are not pairs of each other. For the times 2, 3 (censored)
    and 3 of rows 0, 1 and 2:

        insert 1, query 2 (finds 1), insert 2, query 0 (finds 1 and 2), insert 0

    Returns the rows in this order, which of them are queries and which are the first of
    a stratum, and the number of each row's stratum.
    """
    n, (lower, upper) = len(bounds), bounds.T[:2]
    strata = bounds[:, 2] if bounds.shape[1] > 2 else np.zeros(n)
    stratum = np.unique(strata, return_inverse=True)[1]
    seen = np.flatnonzero(np.isfinite(upper))
    time = np.concatenate([lower, upper[seen]])
    step = np.concatenate([np.where(lower == upper, 2, 0), np.ones(len(seen))])
    rows = np.concatenate([np.arange(n), seen])
    order = np.lexsort((step, -time, stratum[rows]))
    begins = np.diff(stratum[rows[order]], prepend=-1) > 0
    is_query = (order >= n).astype(np.uint8)
    return rows[order], is_query, begins.astype(np.uint8), stratum


# The levels of the event times at which Brier scores are computed.
_BRIER_LEVELS = np.linspace(0.1, 0.9, 17)


def brier(data: EvalData, settings: Settings) -> float:
    """The integrated Brier score between the first and the ninth decile of event times.

    Rows are weighted by the inverse probability of not being censored. The baseline
    hazard of a Cox model is estimated from the rows of the evaluation set. E. Graf et
    al., "Assessment and Comparison of Prognostic Classification Schemes for Survival
    Data", Statistics in Medicine 18, 1999.
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
    """The probability that the event is after each time, for a distribution of times.

    It equals the likelihood of a row that is censored at that time. ``name`` is that
    of the objective, ``scores`` are (n_scores, n_rows); the result is
    (n_rows, n_times).
    """
    kind, n_rows = loss_kernels.DISTRIBUTIONS[name], scores.shape[1]
    losses = np.empty((len(times), n_rows))
    for time, out in zip(times, losses, strict=True):
        bounds = np.repeat([time, np.inf], n_rows)
        loss_kernels.likelihoods(kind, bounds, scores, out)
    return function_kernels.exp(-losses).T


def _censoring(data: EvalData) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The times of the Brier score, and the weights of the rows at these times.

    Returns the times, (n_times,), and two arrays of shape (n_rows, n_times): the
    inverse probability of censoring weights from the Kaplan-Meier estimate of the
    censoring times, and whether the time of the row, event or censored, has passed.
    """
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
    hazard = np.divide(leaving, staying, out=np.zeros(len(moments)), where=staying > 0)
    uncensored = np.cumprod(1.0 - hazard)
    events = np.cumsum(dying)
    times = moments[np.unique(np.searchsorted(events, _BRIER_LEVELS * events[-1]))]
    at_times = uncensored[np.searchsorted(moments, times, side="right") - 1]
    is_over = lower[:, None] <= times
    event_weight = seen[:, None] / _infinite_if_0(uncensored[number])[:, None]
    past = np.where(is_over, event_weight, 0.0)
    return times, np.where(is_over, past, 1.0 / _infinite_if_0(at_times)), is_over


def _infinite_if_0(values: NDArray[Any]) -> Floats:
    """Divisors with which zero weights follow from a probability of 0."""
    return np.where(values > 0, values, np.inf)
