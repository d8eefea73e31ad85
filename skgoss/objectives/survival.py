"""Survival: Cox's partial likelihood, and the baseline hazard of its models.

Targets are rows of bounds of event times and an optional stratum: see
`skgoss.columns.lifetimes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum, link_kernels
from skgoss._engine.objectives.function_kernels import (
    digamma,
    exp,
    log,
    log1p,
    log_gamma,
    trigamma,
)
from skgoss.columns.floats import as_floats
from skgoss.objectives.percentiles import are_frequencies
from skgoss.utils import correct_rounding
from skgoss.utils.plain_values import entries, vector

Floats = NDArray[np.float64]

# Cox's objectives, and whether they treat ties as Efron does; else as Breslow does.
COX = {"cox": False, "cox_efron": True}

# Smaller risks than exp(-60) times the largest one are replaced by this product: the
# integers in which risks are summed have about 92 bits.
_SCORE_RANGE = 60.0

# The largest score whose exponential is used: larger ones, times a hazard, could
# overflow. Scores are so large if a column separates the events from other rows.
_MAX_SCORE = 700.0


class PartialLikelihood:
    """Cox's negative log partial likelihood of rows, and its derivatives.

    The risk of a row is exp(score). A moment is a distinct time of a stratum; a row is
    at risk at all moments of its stratum up to its own time. Risks are summed as
    integers, so that the sums are exact and whole weights are frequency weights.

    Rows are sorted by stratum and time (``order``). For the times 2, 3, 3, 5 of one
    stratum, with an event at 2 and at 5:

        row     0 1 2 3        moment   0  1  2
        moment  0 1 1 2        first    0  1  3    (row at which its risk set begins)
        event   1 0 0 1        end      4  4  4    (row at which its risk set ends)
                               start    0  0  0    (first moment of its stratum)
                               n_events 1  0  1

    References
    ----------
    D. R. Cox, "Regression Models and Life-Tables", Journal of the Royal Statistical
    Society B 34, 1972. N. Breslow, "Covariance Analysis of Censored Survival Data",
    Biometrics 30, 1974. B. Efron, "The Efficiency of Cox's Likelihood Function for
    Censored Data", Journal of the American Statistical Association 72, 1977.
    """

    def __init__(self, bounds: Floats, weight: Floats | None, *, efron: bool) -> None:
        n = len(bounds)
        stratum = bounds[:, 2] if bounds.shape[1] > 2 else np.zeros(n)
        self.efron = efron
        self.order = order = np.lexsort((bounds[:, 0], stratum))
        time, stratum = bounds[order, 0], stratum[order]
        self.event = np.isfinite(bounds[order, 1])
        self.weight = np.ones(n) if weight is None else weight[order]
        begins = np.append(True, stratum[1:] != stratum[:-1])
        is_first = begins | np.append(True, time[1:] != time[:-1])
        moment = np.cumsum(is_first) - 1
        self.first = np.flatnonzero(is_first)
        starts = np.flatnonzero(begins)
        number = np.cumsum(begins)[self.first] - 1
        # Of each moment: the end of the rows of its stratum, and the stratum's first
        # moment. One number each if there is one stratum.
        self.end: Any = np.append(starts[1:], n)[number] if len(starts) > 1 else n
        self.start: Any = moment[starts][number] if len(starts) > 1 else 0
        # The moment of each row. If all times are distinct, row i has the moment i.
        self.moment: Any = slice(0, n) if is_first.all() else moment
        self.before = self.moment if is_first.all() else self.first
        self.time, self.stratum = time[self.first], stratum[self.first]
        self.n_events = np.add.reduceat(self.weight * self.event, self.first)
        is_whole = are_frequencies(self.weight)
        # weight = frequency * relative_weight * unit
        self.frequency = self.weight.astype(np.int64) if is_whole else np.int64(1)
        self.relative_weight = 1.0 if is_whole else self.weight / self.weight.max()
        self.unit = 1.0 if is_whole else self.weight.max()
        # Rows with frequency weights are that number of ties. With other weights each
        # row is one tie, of the mean weight of the ties.
        dies = (self.weight > 0) & self.event
        n_rows = np.add.reduceat(dies.astype(np.float64), self.first)
        self.n_ties = self.n_events if is_whole else n_rows
        # The factor of risk^2 in the hessian: the weight that moves with a score, which
        # is 1 with frequency weights, or that of the row (but at most 1).
        self.own: Any = 1.0 if is_whole else np.minimum(self.weight, 1.0)
        self.n_bits = 62 - int(max(n, self.weight.sum())).bit_length()

    def _risks(self, scores: Floats, n_threads: int) -> tuple[Floats, float]:
        """The risks, divided by the largest one, and the largest score.

        Risks are in the order of `order`, at least exp(-60); ``scores`` are (1, n).
        """
        score = scores[:, self.order]
        largest = float(score.max())
        score -= largest
        np.maximum(score, -_SCORE_RANGE, out=score)
        link_kernels.apply(link_kernels.LINKS["exp"], score, 1.0, n_threads, score)
        return score[0], largest

    def _sums(self, risk: Floats) -> tuple[Floats, Floats]:
        """The weighted risk of the rows at risk at each moment, and of its events.

        Both are (n_moments,), from the ``risk`` of each row. The latter is computed for
        Efron's ties only, else 0. Each risk is a sum of two integers times units,
        2**-n_bits and 2**-(2 n_bits), whose cumulative sums are exact.
        """
        at_risk, dying = np.zeros((2, len(self.first)))
        remainder, unit = risk * self.relative_weight, 1.0
        factor = math.ldexp(1.0, self.n_bits)
        total = np.zeros(len(risk) + 1, dtype=np.int64)
        for _ in range(2):
            remainder *= factor
            unit /= factor
            counts = remainder.astype(np.int64)
            remainder -= counts
            counts *= self.frequency
            np.cumsum(counts, out=total[1:])
            at_risk += (total[self.end] - total[self.before]) * unit
            if self.efron:
                dying += np.add.reduceat(counts * self.event, self.first) * unit
        return at_risk * self.unit, dying * self.unit

    def _efron_terms(self, at_risk: Floats, dying: Floats) -> tuple[Any, ...]:
        """The terms of Efron's likelihood for the moments with events.

        Returns these moments, the number of their events d, x, and the mean risk e of
        an event. Efron divides the l-th event, l = 0 ... d - 1, by the risk

            at_risk - (l / d) dying = (x - l) e,  with e = dying / d, x = at_risk / e.

        Sums of its powers over l are differences of polygamma functions of x + 1 and
        x - d + 1.
        """
        ties = np.flatnonzero(self.n_events)
        d = self.n_ties[ties]
        mean_risk = dying[ties] / d
        return ties, d, np.maximum(at_risk[ties] / mean_risk, d), mean_risk

    def _hazards(self, at_risk: Floats, dying: Floats) -> Floats:
        """The sums over the events of each moment of 1 / risk and of 1 / risk^2.

        ``at_risk`` and ``dying``, (n_moments,), are those of `_sums`; the result is
        (2, n_moments). With Efron's ties, two more sums are those for the rows whose
        event is at this moment: of (1 - l / d) / risk and of ((1 - l / d) / risk)^2.
        """
        if not self.efron:
            # The weights of all rows at risk may be 0.
            at_risk = np.maximum(at_risk, np.finfo(float).tiny)
            hazard = self.n_events / at_risk
            return np.array([hazard, hazard / at_risk])
        sums = np.zeros((4, len(self.first)))
        ties, d, x, mean_risk = self._efron_terms(at_risk, dying)
        hazard = (digamma(x + 1) - digamma(x - d + 1)) / mean_risk
        square = (trigamma(x - d + 1) - trigamma(x + 1)) / mean_risk**2
        # (1 - l / d) / risk = a / risk + b with a = 1 - x / d and b = 1 / (d e)
        a, b = 1.0 - x / d, 1.0 / (d * mean_risk)
        tied = a * hazard + d * b
        tied_square = a**2 * square + 2.0 * a * b * hazard + d * b**2
        sums[:, ties] = hazard, square, tied, tied_square
        sums[:, ties] *= self.n_events[ties] / d
        return sums

    def _cumulative(self, values: Floats) -> Floats:
        """The cumulative sums of ``values``, (n_moments,), in each stratum."""
        total = np.append(0.0, np.cumsum(values))
        return total[1:] - total[self.start]

    def __call__(
        self,
        scores: Floats,
        gradient_out: NDArray[np.float32],
        hessian_out: NDArray[np.float32] | None,
        n_threads: int,
    ) -> None:
        """Write the derivatives of the negative log-likelihood by each row's score.

        They are those of a row of weight 1. For the risk r of a row, and the risk R of
        all rows at risk at each event, up to the time of the row, they are

            gradient = r sum(1 / R) - event,  hessian = r sum(1 / R) - r^2 sum(1 / R^2),

        with the factor ``own`` for r^2, and other sums for Efron's ties: `_hazards`.
        """
        assert hessian_out is not None
        risk, _ = self._risks(scores, n_threads)
        hazards = self._hazards(*self._sums(risk))
        sums = []
        for k, values in enumerate(hazards[:2]):
            cumulative = self._cumulative(values)
            sums.append(cumulative[self.moment])
            if self.efron:
                for_events = (cumulative - values + hazards[k + 2])[self.moment]
                sums[-1] = np.where(self.event, for_events, sums[-1])
        slope, risk = risk * sums[0], risk * risk * self.own
        risk *= sums[1]
        gradient_out[0, self.order] = slope - self.event
        slope -= risk
        hessian_out[0, self.order] = np.maximum(slope, 0.0, out=slope)

    def value(self, scores: Floats, n_threads: int = 1) -> float:
        """The negative log-likelihood per weight of the events; NaN without events.

        ``scores``, (1, n), are the logarithms of the risks, in the order of the rows.
        """
        if not self.event.any():
            return np.nan
        risk, largest = self._risks(scores, n_threads)
        at_risk, dying = self._sums(risk)
        seen = self.n_events > 0
        d, log_risk = self.n_events[seen], log(at_risk[seen])
        if self.efron:
            _, n, x, mean_risk = self._efron_terms(at_risk, dying)
            gammas = log_gamma(x + 1) - log_gamma(x - n + 1)
            log_risk = log(mean_risk) + gammas / n
        event_scores = scores[0][self.order][self.event] - largest
        weight = self.weight[self.event]
        events = exact_sum.weighted_sum(event_scores, weight)
        return (exact_sum.weighted_sum(log_risk, d) - events) / float(weight.sum())

    def baseline(self, scores: Floats, n_threads: int = 1) -> Baseline:
        """Breslow's estimate of the cumulative hazard of a row whose score is 0.

        ``scores``, (1, n), are those of the rows. It has a step at each time of an
        event, in each stratum.
        """
        risk, largest = self._risks(scores, n_threads)
        hazards = self._hazards(*self._sums(risk))
        cumulative = self._cumulative(hazards[0]) * correct_rounding.exp(-largest)
        seen = self.n_events > 0
        return Baseline(self.stratum[seen], self.time[seen], cumulative[seen])


@dataclass(frozen=True, eq=False)
class Baseline:
    """The cumulative hazard of rows whose score is 0, in each stratum.

    The arrays are sorted by stratum and time. ``hazard`` is the cumulative hazard up to
    and including ``time``.
    """

    stratum: Floats
    time: Floats
    hazard: Floats

    def state(self) -> dict[str, Any]:
        """The arrays by name, for model files and pickles."""
        return dict(vars(self))

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Restore the baseline from its `state`; ValueError if that is damaged."""
        types = dict.fromkeys(("stratum", "time", "hazard"), np.ndarray)
        arrays = entries(state, types, "the baseline hazard")
        columns = [vector(v, np.float64, k) for k, v in zip(types, arrays, strict=True)]
        if len({len(column) for column in columns} - {0}) != 1:
            raise ValueError("the baseline hazard must have arrays of one length")
        return cls(*columns)

    def _by_stratum(self, strata: Any, n_rows: int) -> list[tuple[Any, Floats, Floats]]:
        """For each stratum in ``strata``: its rows, and its times and hazards.

        ``strata`` has the stratum of each row; None: there is only one.
        """
        labels = np.unique(self.stratum)
        if strata is None and len(labels) == 1:
            return [(slice(None), self.time, self.hazard)]
        number = as_floats(strata, "strata")
        if number.shape != (n_rows,) or not np.isin(number, labels).all():
            raise ValueError(
                f"strata must have one number for each of the {n_rows} rows, one of"
                f" {labels.tolist()}, which are the strata in y whose events were seen."
            )
        chosen = [(label, self.stratum == label) for label in np.unique(number)]
        return [(number == k, self.time[own], self.hazard[own]) for k, own in chosen]

    def survival(self, score: Floats, times: Floats, strata: Any = None) -> Floats:
        """The probability that the event is after each time: (n_rows, n_times).

        S(t) = exp(-exp(score) H(t)), with the cumulative baseline hazard H. ``strata``
        has the stratum of each row; None: there is only one.
        """
        out = np.empty((len(score), len(times)))
        score = np.minimum(score, _MAX_SCORE)
        for rows, time, hazard in self._by_stratum(strata, len(score)):
            n_before = np.searchsorted(time, times, side="right")
            cumulative = np.append(0.0, hazard)[n_before]
            with np.errstate(over="ignore"):
                out[rows] = exp(-exp(score[rows])[:, None] * cumulative)
        return out

    def quantiles(self, score: Floats, levels: Floats, strata: Any = None) -> Floats:
        """The first times by which the probability of the event reaches the levels.

        (n_rows, n_levels); infinite for levels that are not reached. ``strata`` as in
        `survival`.
        """
        out = np.empty((len(score), len(levels)))
        score = np.maximum(score, -_MAX_SCORE)
        for rows, time, hazard in self._by_stratum(strata, len(score)):
            needed = -log1p(-levels) * exp(-score[rows])[:, None]
            out[rows] = np.append(time, np.inf)[np.searchsorted(hazard, needed)]
        return out
