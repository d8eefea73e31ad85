"""Survival: Cox's partial likelihood, and the baseline hazard of its models.

Targets are bounds of event times, which `skgoss.columns.lifetimes` checks.
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
from skgoss.objectives.percentiles import are_copies
from skgoss.utils import correct_rounding
from skgoss.utils.plain_values import entries, vector

Floats = NDArray[np.float64]

# Cox's objectives, and whether ties are Efron's; else they are Breslow's.
COX = {"cox": False, "cox_efron": True}

# Risks are no smaller than exp(-60) of the largest one, as their sums have 92 bits.
_SCORE_RANGE = 60.0

# Exponentials of larger numbers, times a hazard or the like, are not finite. Data that
# a column separates have such scores.
_LARGEST = 700.0


class PartialLikelihood:
    """Cox's negative log partial likelihood of rows, and its derivatives.

    A moment is a distinct time of a stratum. Sums of risks are those of integers, so
    that they are exact: whole weights are copies.

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
        # The end of the rows, and the first moment, of the stratum of each moment.
        self.end: Any = np.append(starts[1:], n)[number] if len(starts) > 1 else n
        self.start: Any = moment[starts][number] if len(starts) > 1 else 0
        # Of each row; rows with distinct times are their own moments.
        self.moment: Any = slice(0, n) if is_first.all() else moment
        self.before = self.moment if is_first.all() else self.first
        self.time, self.stratum = time[self.first], stratum[self.first]
        self.n_events = np.add.reduceat(self.weight * self.event, self.first)
        is_whole = are_copies(self.weight)
        self.copies = self.weight.astype(np.int64) if is_whole else np.int64(1)
        self.share = 1.0 if is_whole else self.weight / self.weight.max()
        self.unit = 1.0 if is_whole else self.weight.max()
        # Ties are copies, or else rows, each of which has the mean weight of them.
        dies = (self.weight > 0) & self.event
        n_rows = np.add.reduceat(dies.astype(np.float64), self.first)
        self.n_ties = self.n_events if is_whole else n_rows
        # The part of a row's weight that moves with its score: one copy, or all of it.
        self.own: Any = 1.0 if is_whole else np.minimum(self.weight, 1.0)
        self.n_bits = 62 - int(max(n, self.weight.sum())).bit_length()

    def _risks(self, scores: Floats, n_threads: int) -> tuple[Floats, float]:
        """The risk of each row in order, and the logarithm of their unit."""
        score = scores[:, self.order]
        largest = float(score.max())
        score -= largest
        np.maximum(score, -_SCORE_RANGE, out=score)
        link_kernels.apply(link_kernels.LINKS["exp"], score, 1.0, n_threads, score)
        return score[0], largest

    def _sums(self, risk: Floats) -> tuple[Floats, Floats]:
        """The risks of all rows that live at each moment, and of its events.

        The latter are of use for Efron's ties only.
        """
        at_risk, dying = np.zeros((2, len(self.first)))
        rest, unit = risk * self.share, 1.0
        factor = math.ldexp(1.0, self.n_bits)
        total = np.zeros(len(risk) + 1, dtype=np.int64)
        for _ in range(2):
            rest *= factor
            unit /= factor
            counts = rest.astype(np.int64)
            rest -= counts
            counts *= self.copies
            np.cumsum(counts, out=total[1:])
            at_risk += (total[self.end] - total[self.before]) * unit
            if self.efron:
                dying += np.add.reduceat(counts * self.event, self.first) * unit
        return at_risk * self.unit, dying * self.unit

    def _efron_terms(self, at_risk: Floats, dying: Floats) -> tuple[Any, ...]:
        """The events that are ties: which they are, how many, x and the risk of one.

        Of d events, event l meets the risk (x - l) e: a sum of its powers over l is a
        difference of polygamma functions of x + 1 and x - d + 1.
        """
        ties = np.flatnonzero(self.n_events)
        d = self.n_ties[ties]
        one = dying[ties] / d
        return ties, d, np.maximum(at_risk[ties] / one, d), one

    def _hazards(self, at_risk: Floats, dying: Floats) -> Floats:
        """Of each moment: sums over its events of 1 / risk, and of the squares.

        Then those for the rows whose event it is, if these are others.
        """
        if not self.efron:
            # No row of any weight may live at a moment.
            at_risk = np.maximum(at_risk, np.finfo(float).tiny)
            hazard = self.n_events / at_risk
            return np.array([hazard, hazard / at_risk])
        of_all = np.zeros((4, len(self.first)))
        ties, d, x, one = self._efron_terms(at_risk, dying)
        hazard = (digamma(x + 1) - digamma(x - d + 1)) / one
        square = (trigamma(x - d + 1) - trigamma(x + 1)) / one**2
        # A row that is one of d events counts 1 - l / d at the l-th of them.
        rest, share = 1.0 - x / d, 1.0 / (d * one)
        own = rest * hazard + d * share
        own_square = rest**2 * square + 2.0 * rest * share * hazard + d * share**2
        of_all[:, ties] = hazard, square, own, own_square
        of_all[:, ties] *= self.n_events[ties] / d
        return of_all

    def _cumulative(self, values: Floats) -> Floats:
        """The sum of the values of each moment and of those before in its stratum."""
        total = np.append(0.0, np.cumsum(values))
        return total[1:] - total[self.start]

    def __call__(
        self,
        scores: Floats,
        gradient_out: NDArray[np.float32],
        hessian_out: NDArray[np.float32] | None,
        n_threads: int,
    ) -> None:
        """Derivatives of the negative logarithm by the score of each row."""
        assert hessian_out is not None
        risk, _ = self._risks(scores, n_threads)
        hazards = self._hazards(*self._sums(risk))
        sums = []
        for k, of_all in enumerate(hazards[:2]):
            before = self._cumulative(of_all)
            sums.append(before[self.moment])
            if self.efron:
                for_events = (before - of_all + hazards[k + 2])[self.moment]
                sums[-1] = np.where(self.event, for_events, sums[-1])
        slope, risk = risk * sums[0], risk * risk * self.own
        risk *= sums[1]
        gradient_out[0, self.order] = slope - self.event
        slope -= risk
        hessian_out[0, self.order] = np.maximum(slope, 0.0, out=slope)

    def value(self, scores: Floats, n_threads: int = 1) -> float:
        """The negative logarithm, divided by the weight of the events; NaN without."""
        if not self.event.any():
            return np.nan
        risk, unit = self._risks(scores, n_threads)
        at_risk, dying = self._sums(risk)
        seen = self.n_events > 0
        d, total = self.n_events[seen], log(at_risk[seen])
        if self.efron:
            _, n, x, one = self._efron_terms(at_risk, dying)
            total = log(one) + (log_gamma(x + 1) - log_gamma(x - n + 1)) / n
        own = scores[0][self.order][self.event] - unit
        weight = self.weight[self.event]
        of_rows = exact_sum.weighted_sum(own, weight)
        return (exact_sum.weighted_sum(total, d) - of_rows) / float(weight.sum())

    def baseline(self, scores: Floats, n_threads: int = 1) -> Baseline:
        """Breslow's estimate of the hazard of a row whose score is 0."""
        risk, unit = self._risks(scores, n_threads)
        hazards = self._hazards(*self._sums(risk))
        cumulative = self._cumulative(hazards[0]) * correct_rounding.exp(-unit)
        seen = self.n_events > 0
        return Baseline(self.stratum[seen], self.time[seen], cumulative[seen])


@dataclass(frozen=True, eq=False)
class Baseline:
    """The cumulative hazard of rows whose score is 0, in each stratum.

    All are sorted by stratum and time. The hazard is that up to and including the time.
    """

    stratum: Floats
    time: Floats
    hazard: Floats

    def state(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """The object of what `state` returned; ValueError if it is damaged."""
        types = dict.fromkeys(("stratum", "time", "hazard"), np.ndarray)
        arrays = entries(state, types, "the baseline hazard")
        columns = [vector(v, np.float64, k) for k, v in zip(types, arrays, strict=True)]
        if len({len(column) for column in columns} - {0}) != 1:
            raise ValueError("the baseline hazard must have arrays of one length")
        return cls(*columns)

    def _of(self, strata: Any, n_rows: int) -> list[tuple[Any, Floats, Floats]]:
        """Of each stratum: which rows are in it, its times and hazards."""
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
        return [(number == k, self.time[at], self.hazard[at]) for k, at in chosen]

    def survival(self, score: Floats, times: Floats, strata: Any = None) -> Floats:
        """The probability that each row lives longer: (n_rows, n_times)."""
        out = np.empty((len(score), len(times)))
        score = np.minimum(score, _LARGEST)
        for rows, time, hazard in self._of(strata, len(score)):
            at = np.searchsorted(time, times, side="right")
            cumulative = np.append(0.0, hazard)[at]
            with np.errstate(over="ignore"):
                out[rows] = exp(-exp(score[rows])[:, None] * cumulative)
        return out

    def quantiles(self, score: Floats, levels: Floats, strata: Any = None) -> Floats:
        """The first time up to which the event has these probabilities, or infinity."""
        out = np.empty((len(score), len(levels)))
        score = np.maximum(score, -_LARGEST)
        for rows, time, hazard in self._of(strata, len(score)):
            needed = -log1p(-levels) * exp(-score[rows])[:, None]
            out[rows] = np.append(time, np.inf)[np.searchsorted(hazard, needed)]
        return out
