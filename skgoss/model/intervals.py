"""Intervals and prediction sets that cover the target with a chosen probability.

This is conformal prediction. Each row that a fold tests has a conformity score: how far
its target is from what the models that have not seen the row predict. The interval of a
new row holds the targets whose score would not be among the largest. It lies around the
prediction of the model; or the models of all folds take part, each with the scores of
its test rows (CV+ and cross-conformal sets).

References
----------
V. Vovk, A. Gammerman and G. Shafer, "Algorithmic Learning in a Random World", Springer
2005.
L. Steinberger and H. Leeb, "Conditional predictive inference for stable algorithms",
Annals of Statistics 51(1), 2023: residuals of cross-validation around one prediction.
R. F. Barber, E. J. Candes, A. Ramdas and R. J. Tibshirani, "Predictive inference with
the jackknife+", Annals of Statistics 49(1), 2021: CV+, section 3.
Y. Romano, E. Patterson and E. J. Candes, "Conformalized Quantile Regression", NeurIPS
2019.
Y. Romano, M. Sesia and E. J. Candes, "Classification with Valid and Adaptive Coverage",
NeurIPS 2020: adaptive prediction sets, section 2.
R. J. Tibshirani, R. F. Barber, E. J. Candes and A. Ramdas, "Conformal Prediction Under
Covariate Shift", NeurIPS 2019: weights, section 2.
V. Chernozhukov, K. Wuethrich and Y. Zhu, "Distributional conformal prediction", PNAS
118(48), 2021: the tails of predicted distributions as scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model.conformal_kernels import quantiles
from skgoss.columns.columns import Columns
from skgoss.model.ensemble import Ensemble
from skgoss.model.out_of_fold import CalibrationRows
from skgoss.model.trees import zero_tree
from skgoss.objectives.distributions import Distribution
from skgoss.objectives.link import Link
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.utils.locks import cached_property

Floats = NDArray[np.float64]

# The numbers of two scores.
Pair = tuple[int, int]

# A needed weight is this much smaller, so that 0.55 * 20 is 11.
_ROUNDING = 1e-12

# Levels of quantiles that differ by no more are the same.
_SAME_LEVEL = 1e-9

# How intervals use the models of folds.
METHODS = ("cv", "cv+")


# --- Coverage -------------------------------------------------------------------------


def checked_coverage(coverage: Any) -> tuple[Floats, bool]:
    """One or several coverages as an array, and whether it is one number.

    TypeError or ValueError if they are not numbers between 0 and 1, at least one.
    """
    values = np.asarray(coverage)
    if values.dtype.kind not in "iuf" or values.ndim > 1:
        raise TypeError(
            "coverage must be a number between 0 and 1 or a list of such numbers, got"
            f" {coverage!r}."
        )
    if values.size == 0:
        raise ValueError("coverage must hold at least one number, got an empty list.")
    wrong = values[~((values > 0) & (values < 1))]
    if wrong.size:
        raise ValueError(
            f"coverage must lie between 0 and 1, got {wrong.flat[0]}. For 90%, pass"
            " 0.9."
        )
    return np.atleast_1d(values).astype(np.float64), values.ndim == 0


def check_method(method: Any) -> None:
    """Check the name of a method of intervals; ValueError if it is unknown."""
    if method not in METHODS:
        raise ValueError(
            "method must be 'cv' (around the prediction) or 'cv+' (around the"
            f" predictions of the folds' models), got {method!r}."
        )


# --- Conformity scores ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ConformityScores:
    """The conformity scores of rows, in groups that the same models have not seen."""

    score: Floats  # (n,): rises within each group
    weight: Floats  # (n,): the sum of the weights of the group up to each score
    start: NDArray[np.int64]  # (n_groups + 1,): where the scores of each group begin
    total: float  # the weight of all scores
    new_weight: float  # of a row that is predicted

    @classmethod
    def from_groups(
        cls,
        score: Floats,
        group: NDArray[np.integer[Any]],
        n_groups: int,
        weight: Floats | None,
    ) -> Self:
        """Sort scores into groups.

        ``score``, ``group`` and ``weight`` (None: ones) have a value for each tested
        row; rows of a group have not been seen by the same models. A row that is
        predicted has the weight 1 or, if that is less, the expected weight of a row
        that is drawn with a probability proportional to its weight (Tibshirani et al.).
        """
        order = np.lexsort((score, group))
        weight = np.ones(len(score)) if weight is None else weight
        start = np.searchsorted(group[order], np.arange(n_groups + 1))
        of_groups = np.split(weight[order], start[1:-1])
        sums = [np.cumsum(own) for own in of_groups]
        total = sum(float(own[-1]) for own in sums if len(own))
        new_weight = min(1.0, float(weight @ weight) / total) if total else 1.0
        return cls(score[order], np.concatenate(sums), start, total, new_weight)

    def needed(self, coverages: Floats) -> Floats:
        """The weight of scores that an interval of each coverage must reach.

        That is coverage * (weight of all scores + weight of the new row), as for the
        quantile ceil(coverage * (n + 1)) of split conformal prediction. ValueError if
        it is more than the weight of all scores: the interval would be infinite.
        """
        needed = coverages * (self.total + self.new_weight) * (1 - _ROUNDING)
        if (needed > self.total).any():
            coverage = float(coverages.max())
            largest = self.total / (self.total + self.new_weight)
            raise ValueError(
                f"coverage={coverage:g} needs at least"
                f" {np.ceil(coverage / (1 - coverage) - _ROUNDING):.0f} rows that folds"
                f" test, but the model has {len(self.score)}: the interval would be"
                f" infinite. Use a coverage of at most {largest:.4g}, or more rows."
            )
        return needed

    def quantiles(
        self, center: Floats, scale: Floats, needed: Floats, n_threads: int
    ) -> Floats:
        """The upper ends of intervals.

        For each new row, every tested row gives a number: ``center + score * scale``,
        with the center and scale of its group. The result is the smallest of these
        numbers up to which their weights sum to each of ``needed``. ``center`` and
        ``scale`` have the shape (n_rows, n_groups), the result (n_rows, n_needed).
        """
        out = np.empty((len(center), len(needed)))
        quantiles(
            self.score, self.weight, self.start, center, scale, needed, n_threads, out
        )
        return out

    def weight_below(self, values: Floats) -> Floats:
        """The weight of the scores below those of new rows, summed over the groups.

        ``values`` has the shape (n_rows, n_groups, n_classes), the result
        (n_rows, n_classes).
        """
        below = np.zeros((len(values), values.shape[2]))
        for group in range(values.shape[1]):
            scores = slice(self.start[group], self.start[group + 1])
            weight = np.concatenate([[0.0], self.weight[scores]])
            below += weight[np.searchsorted(self.score[scores], values[:, group])]
        return below


def mass_before(probabilities: Floats) -> Floats:
    """The probability of all classes that are more probable, for each class.

    This is the smallest tau whose set of the most probable classes contains the class:
    the classes up to the first one at which their probabilities exceed tau. The last
    axis is that of the classes.
    """
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    falling = np.take_along_axis(probabilities, order, -1)
    before = np.zeros_like(falling)
    np.cumsum(falling[..., :-1], axis=-1, out=before[..., 1:])
    out = np.empty_like(before)
    np.put_along_axis(out, order, before, -1)
    return out


# --- Models of folds ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FoldModels:
    """The models of folds, taken out of the ensemble that is their mean."""

    shared: Ensemble  # the rounds of ``init_model``
    # The rounds of all folds side by side: the scores of fold 0, then those of fold 1,
    # and so on. A fold with fewer rounds than others has trees of one leaf.
    by_fold: Ensemble
    # Of the scores of ``by_fold``: the leaf values of the mean are shares.
    factor: float
    # (n_tests, n_folds): the weights of the folds in the average of those that test the
    # same rows.
    mean: Floats
    added: Floats | float  # (n_scores,): constants of the mean that the folds lack

    @classmethod
    def from_mean(cls, trees: Ensemble, rows: CalibrationRows) -> Self:
        """Take the models of folds out of the trees of their mean.

        ``rows`` says which fold each round belongs to, and which folds test which rows.
        """
        mean = rows.tests / rows.tests.sum(axis=1, keepdims=True)
        n_folds, fold = mean.shape[1], rows.fold_of_round
        rounds = [np.flatnonzero(fold == k) for k in range(n_folds)]
        # The round after the last one adds nothing.
        order = np.full((max(map(len, rounds)), n_folds), trees.n_rounds)
        for k, fold_rounds in enumerate(rounds):
            order[: len(fold_rounds), k] = fold_rounds
        nothing = [zero_tree()] * trees.n_scores
        padded = trees.joined(
            Ensemble.from_trees(nothing, trees.n_scores, trees.n_features)
        )
        by_fold = replace(
            padded.chosen(order.ravel()),
            n_scores=n_folds * trees.n_scores,
            average=False,
        )
        factor = n_folds / (trees.n_rounds if trees.average else 1)
        shared = trees.truncated(int((fold < 0).sum()))
        added = 0.0 if rows.added is None else rows.added
        return cls(shared, by_fold, factor, mean, added)

    def raw_scores(self, columns: Columns, n_threads: int) -> Floats:
        """The raw scores of rows by the mean model of each set of folds.

        The shape is (n_rows, n_tests, n_scores).
        """
        by_fold = self.by_fold.raw_scores(columns, n_threads=n_threads)
        by_fold = by_fold.reshape(len(by_fold), self.mean.shape[1], -1)
        shared = self.shared.raw_scores(columns, n_threads=n_threads)
        scores = self.factor * by_fold + (shared - self.added)[:, None]
        return np.einsum("tf,nfs->nts", self.mean, scores)


# --- Intervals and sets ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Conformal:
    """What a model needs to predict intervals or prediction sets."""

    trees: Ensemble
    link: Link  # from raw scores to predictions
    objective: str | None  # None: a function
    n_classes: int | None  # None without classes
    rows: CalibrationRows
    scores: Floats  # (n_rows, n_scores): the out-of-fold raw scores of these rows

    @cached_property
    def around_prediction(self) -> Conformal:
        """The same with one model, the mean of the folds', instead of each of them."""
        return replace(self, rows=self.rows.for_one_model(self.trees.n_rounds))

    @cached_property
    def _models(self) -> FoldModels:
        return FoldModels.from_mean(self.trees, self.rows)

    def _groups(self, score: Floats) -> ConformityScores:
        """Sort conformity scores, (n_rows,), into groups by the folds that test them.

        Rows that no fold tests, or whose weight is 0, are left out.
        """
        rows = self.rows
        used = rows.test_of_row >= 0
        if rows.weight is not None:
            used &= rows.weight > 0
        return ConformityScores.from_groups(
            score[used],
            rows.test_of_row[used],
            len(rows.tests),
            None if rows.weight is None else rows.weight[used],
        )

    # --- Regression -------------------------------------------------------------------

    @property
    def _has_roots(self) -> bool:
        """Whether the model was trained on signed square roots of the target.

        The option `reg_sqrt`. Residuals are then differences of roots.
        """
        return self.link.kind == "signed_square"

    def _predicted(self, scores: Floats, n_threads: int = 1) -> Floats:
        """The predictions from which residuals are measured.

        Those of the link, or roots of the target (see `_has_roots`). The last axis of
        ``scores``, raw scores, and of the result is that of the scores.
        """
        link = replace(self.link, kind="identity") if self._has_roots else self.link
        flat = np.ascontiguousarray(scores.reshape(-1, scores.shape[-1]))
        return link(flat, n_threads).reshape(scores.shape)

    def _scales(self, center: Floats) -> Floats:
        """The standard deviations, up to a factor, in which residuals are measured.

        They are a power of the prediction, ``center``, that the objective has: 0.5 for
        Poisson, 1 for gamma. Ones for other objectives.
        """
        power = OBJECTIVES[self.objective or "regression"].deviation_power
        return center**power if power else np.ones_like(center)

    @cached_property
    def _residuals(self) -> dict[Pair, ConformityScores]:
        """The results of `_residuals_of`, which are kept."""
        return {}

    def _residuals_of(self, pair: Pair) -> ConformityScores:
        """The conformity scores of regression: how far targets are outside of a pair.

        ``pair`` are the numbers of two predictions: two quantiles, or twice the same.
        Scores are negative between them, and in units of `_scales`.
        """
        if pair not in self._residuals:
            target, predicted = self.rows.target, self._predicted(self.scores)
            if self._has_roots:
                target = np.copysign(np.sqrt(np.abs(target)), target)
            low, high = (predicted[:, j] for j in pair)
            outside = np.maximum(low - target, target - high) / self._scales(low)
            self._residuals[pair] = self._groups(outside)
        return self._residuals[pair]

    def intervals(self, columns: Columns, coverages: Floats, n_threads: int) -> Floats:
        """Lower and upper ends for the targets of rows: (n_rows, 2, n_coverages).

        The two predictions around which residuals are calibrated are the same one, or
        two quantiles (conformalized quantile regression). With the models of all folds
        this is CV+.
        """
        pairs = [nearest_pair(self.link.levels, float(c)) for c in coverages]
        needed = [
            self._residuals_of(pair).needed(coverages[j : j + 1])
            for j, pair in enumerate(pairs)
        ]
        scores = self._models.raw_scores(columns, n_threads)
        predicted = self._predicted(scores, n_threads)
        mean = self._predicted(scores.mean(axis=1) + self._models.added, n_threads)
        out = np.empty((len(mean), 2, len(pairs)))
        for j, pair in enumerate(pairs):
            low, high = (np.ascontiguousarray(predicted[..., i]) for i in pair)
            scale, residuals = self._scales(low), self._residuals_of(pair)
            lower = -residuals.quantiles(-low, scale, needed[j], n_threads)[:, 0]
            upper = residuals.quantiles(high, scale, needed[j], n_threads)[:, 0]
            # Small coverages may leave nothing between the ends.
            middle = mean[:, pair].mean(axis=1)
            out[:, 0, j] = np.minimum(lower, middle)
            out[:, 1, j] = np.maximum(upper, middle)
        if self._has_roots:
            out = replace(self.link, levels=())(out, n_threads)
        targets = OBJECTIVES[self.objective or "regression"].targets
        return np.clip(out, targets.low, targets.high, out=out)

    # --- Classification ---------------------------------------------------------------

    def _probabilities(self, scores: Floats, n_threads: int = 1) -> Floats:
        """The probabilities of all classes; the last axis is that of the scores."""
        flat = np.ascontiguousarray(scores.reshape(-1, scores.shape[-1]))
        flat = self.link(flat, n_threads)
        if flat.shape[1] == 1:
            flat = np.hstack([1.0 - flat, flat])
        return flat[:, : self.n_classes].reshape(*scores.shape[:-1], -1)

    @cached_property
    def _masses(self) -> ConformityScores:
        """The conformity scores of classes: `mass_before` of each row's class."""
        mass = mass_before(self._probabilities(self.scores))
        number = self.rows.target.astype(np.intp)
        return self._groups(np.take_along_axis(mass, number[:, None], 1)[:, 0])

    def sets(
        self, columns: Columns, coverages: Floats, n_threads: int
    ) -> NDArray[np.bool_]:
        """Prediction sets of rows: (n_rows, n_classes, n_coverages).

        They are adaptive prediction sets without random numbers. The most probable
        class is always in the set.
        """
        masses = self._masses
        needed = masses.needed(coverages)
        scores = self._models.raw_scores(columns, n_threads)
        probabilities = self._probabilities(scores, n_threads)
        below = masses.weight_below(mass_before(probabilities))
        sets = below[:, :, None] < needed
        mean = scores.mean(axis=1) + self._models.added
        best = self._probabilities(mean).argmax(axis=1)
        sets[np.arange(len(sets)), best] = True
        return sets


# --- Quantiles ------------------------------------------------------------------------


def nearest_pair(levels: Sequence[float], coverage: float) -> Pair:
    """The numbers of the quantiles that come closest to the ends of an interval.

    ``levels`` are those of the model's quantiles. Empty: the model predicts one number,
    which stands for both ends. ValueError if no quantile is below the median, or none
    above.
    """
    if not levels:
        return 0, 0
    distances = np.abs(np.array(levels)[:, None] - _ends(coverage))
    distances[np.array(levels) >= 0.5, 0] = np.inf
    distances[np.array(levels) <= 0.5, 1] = np.inf
    if np.isinf(distances.min(axis=0)).any():
        raise _no_pair(levels, coverage)
    low, high = distances.argmin(axis=0)
    return int(low), int(high)


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Two quantiles as an interval, without a guarantee."""

    trees: Ensemble
    link: Link  # with the levels of the quantiles

    def intervals(self, columns: Columns, coverages: Floats, n_threads: int) -> Floats:
        """Intervals for the targets of rows: see `Conformal.intervals`."""
        pairs = np.array([self._pair(float(coverage)) for coverage in coverages])
        scores = self.trees.raw_scores(columns, n_threads=n_threads)
        return self.link(scores, n_threads)[:, pairs.T]

    def _pair(self, coverage: float) -> Pair:
        """The numbers of the quantiles that are the ends of an interval."""
        levels = self.link.levels
        low, high = nearest_pair(levels, coverage)
        distances = np.abs([levels[low], levels[high]] - _ends(coverage))
        if distances.max() > _SAME_LEVEL:
            raise _no_pair(levels, coverage)
        return low, high


@dataclass(frozen=True, eq=False)
class OfDistributions:
    """Two quantiles of predicted distributions, calibrated if there were folds."""

    trees: Ensemble
    distribution: Distribution
    conformal: Conformal | None  # the out-of-fold rows, for one model

    @cached_property
    def _surprise(self) -> ConformityScores:
        """How far in a tail of their distributions the out-of-fold targets are."""
        tested = self.conformal
        assert tested is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = self.distribution.log_tail(tested.rows.target, tested.scores.T)
        return tested._groups(-tail)

    def intervals(self, columns: Columns, coverages: Floats, n_threads: int) -> Floats:
        """Intervals for the targets of rows: see `Conformal.intervals`."""
        tail = (1.0 - coverages) / 2
        if self.conformal is not None:
            needed = self._surprise.needed(coverages)
            unit = np.ones((1, 1))
            tail = np.exp(-self._surprise.quantiles(0.0 * unit, unit, needed, 1)[0])
        scores = self.trees.raw_scores(columns, n_threads=n_threads)
        predicted = self.distribution.frozen(scores.T)
        # Of whole numbers, both tails may have more than half.
        tail = np.minimum(tail, 0.5)[:, None]
        return np.stack([predicted.ppf(tail).T, predicted.isf(tail).T], axis=1)


def _ends(coverage: float) -> Floats:
    """The levels of the quantiles between which the proportion ``coverage`` lies."""
    return np.array([1.0 - coverage, 1.0 + coverage]) / 2


def _no_pair(levels: Sequence[float], coverage: float) -> ValueError:
    """The error if no two quantiles at ``levels`` are the ends of an interval."""
    low, high = _ends(coverage)
    return ValueError(
        f"coverage={coverage:g} needs two quantiles, but the model has"
        f" alpha={list(levels)}. Fit it with alpha=[{low:.6g}, {high:.6g}], and with"
        " folds=5 for intervals that are calibrated: then any level below and any"
        " above the median can be used."
    )
