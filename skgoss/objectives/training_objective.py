"""The objective of a fit: a loss joined with targets, weights and start scores.

Gradients and hessians are not multiplied by sample weights. The engine does this in
double precision when it sums them, so that whole weights are frequency weights. The
exception is 'cross_entropy_lambda', whose loss depends on the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum, function_kernels, loss_kernels
from skgoss.columns.queries import Queries
from skgoss.distributed.row_partition import RowPartition
from skgoss.objectives import gradients, ranking
from skgoss.objectives.distributions import DISTRIBUTIONS, kernel_target
from skgoss.objectives.likelihoods import most_likely
from skgoss.objectives.link import Link
from skgoss.objectives.objectives import (
    ANY,
    MIN_PRIOR,
    OBJECTIVES,
    ObjectiveSpec,
    TrainingRows,
    check_queries,
    log_odds,
    make_link,
)
from skgoss.objectives.percentiles import LeafRows, of_residuals
from skgoss.objectives.survival import COX, PartialLikelihood
from skgoss.parameters.settings import Settings
from skgoss.utils import correct_rounding
from skgoss.utils.messages import STANDS_FOR_LIGHTGBM, warn

# Newton's method for start scores stops after a step shorter than ``_LAST_STEP``,
# relative to scores above 1, or after ``_MAX_STEPS`` steps.
_LAST_STEP = 1e-7
_MAX_STEPS = 100

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# The options that objectives read, in addition to ``objective``.
OPTIONS = (
    "boost_from_average",
    "is_unbalance",
    "scale_pos_weight",
    "sigmoid",
    "alpha",
    "fair_c",
    "poisson_max_delta_step",
    "tweedie_variance_power",
    "reg_sqrt",
    "lambdarank_truncation_level",
    "lambdarank_norm",
    "lambdarank_position_bias_regularization",
    "label_gain",
    "objective_seed",
    "learning_rate",
    "boosting_type",
)


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss joined with the targets and weights of a training set."""

    name: str  # the canonical name, or the name of a callable
    y: Floats = field(repr=False)
    derivatives: gradients.Derivatives = field(repr=False)
    link: Link = field(repr=False)  # the function from raw scores to predictions
    # (K,): the best constant scores, or an estimate of them; 0 for callables.
    average: Floats
    # (K,): False for a class that all rows or no rows belong to. Its gradients are 0
    # and its hessians 1, so its score stays at ``average``.
    trained: NDArray[np.bool_]
    trains_all: bool  # whether all are True
    # The weights of gradients and hessians, those of rows, classes and labels
    # multiplied: (n,), or (n_scores, n) if classes have ``label_weight``. None means 1.
    weight: Floats | None = field(repr=False)
    # (K,): the scores before the first tree: ``average``, or 0 without
    # ``boost_from_average``. Classes that are not trained start from ``average``.
    start: Floats
    # The place of these rows among those of all processes.
    partition: RowPartition = field(repr=False)
    # (n,): the frequency weight of each row: how often it counts. None means 1, or
    # weights that are not whole.
    frequency: NDArray[np.uint32] | None = field(repr=False)
    # (n,) or (K, n): the weights that ``is_unbalance`` or ``scale_pos_weight`` give to
    # rows, for each class if there are several scores. None means 1.
    label_weight: Floats | None = field(default=None, repr=False)
    constant_hessian: bool = False  # whether the hessian is 1 for every row
    # c such that |L'''| <= c L'' for the loss L of a row along a step of its scores:
    # generalized self-concordance, T. Sun and Q. Tran-Dinh, 2019. It limits the steps
    # to those that cannot increase the loss. 0: no limit, as for quadratic losses
    # and where no such c is known. An array has one for each score.
    self_concordance: float | Floats = 0.0
    # (K,): whether hessians are weights that large errors or other scores make small.
    # Steps are then safe even with tiny hessians: the loss is nowhere above the
    # parabola of weighted least squares, or ``self_concordance`` limits the steps.
    reweighted: bool | NDArray[np.bool_] = False
    # The level of the percentile of residuals that replaces the value of a leaf; None:
    # leaf values are not replaced. Of several outputs, that of one of them.
    renewal_level: float | None = None
    # The queries of the rows, for ranking objectives.
    queries: Queries | None = field(default=None, repr=False)
    # (n,): weights of the residuals in ``renewed_leaves``, in addition to those of
    # rows.
    renewal_weight: Floats | None = field(default=None, repr=False)
    # Whether the best constants are added to the user's start scores.
    adds_start: bool = True
    # Whether weights are a part of the loss, and not of ``weight``.
    weighs_rows: bool = False
    # Whether derivatives are computed by a function of the user.
    calls_functions: bool = False
    # `ObjectiveSpec.start_with_offset` of these rows.
    start_with_offset: Callable[[Floats], float | None] = field(
        default=lambda scores: None, repr=False
    )

    @property
    def n_scores(self) -> int:
        """K: the number of raw scores of a row, and of trees of a round."""
        return len(self.average)

    @property
    def has_units(self) -> bool:
        """Whether scores may differ in their units, as those of classes do not.

        Those of a user's function may be anything.
        """
        return self.link.distribution is not None or self.calls_functions

    @property
    def renews_leaves(self) -> bool:
        """Whether ``renewed_leaves`` replaces the values of grown leaves."""
        return self.renewal_level is not None

    def renews(self, number: int) -> bool:
        """Whether it replaces those of a score's tree."""
        return self.renews_leaves

    def size(self) -> tuple[int, float]:
        """The number of the rows of all processes, and their weight."""
        weight, n_rows = self.weight, self.partition.n_rows
        if weight is None:
            return n_rows, float(n_rows)
        collectives = self.partition.collectives
        return n_rows, exact_sum.weighted_sum(weight.ravel(), collectives=collectives)

    def self_concordance_of(self, number: int) -> float:
        """The ``self_concordance`` of the score with this number; 0: no limit."""
        return float(np.broadcast_to(self.self_concordance, self.n_scores)[number])

    def longest_steps(self, optimal: Floats, number: int) -> Floats:
        """The longest steps of a score that cannot increase the loss, like ``optimal``.

        They are log(1 + c |s|) / c, where c is the ``self_concordance`` of the score
        with this ``number``, and the ``optimal`` steps s minimize the second-order
        approximation of the loss. Infinite if there is no limit.
        """
        bound = self.self_concordance_of(number)
        if not bound > 0:
            return np.full_like(optimal, np.inf)
        return function_kernels.log1p(bound * np.abs(optimal)) / bound

    def gradients(
        self,
        scores: Floats,
        gradient_out: Singles,
        hessian_out: Singles | None,
        n_threads: int = 1,
        index: int = 0,
    ) -> None:
        """First and second derivatives of the loss by each score, without weights.

        All arrays are C-contiguous and of shape (n_scores, n_rows). Hessians are not
        written, and may be None, if ``constant_hessian``. ``index`` is the number of
        the round, on which some losses of rankings depend. ValueError if a user's
        function returns something other than finite numbers of the right shape.
        """
        if isinstance(self.derivatives, ranking.QueryGradients):
            self.derivatives.round = index
        self.derivatives(scores, gradient_out, hessian_out, n_threads)
        if not self.trains_all:
            assert hessian_out is not None
            gradient_out[~self.trained] = 0.0
            hessian_out[~self.trained] = 1.0

    def typical_derivatives(self, n_threads: int) -> Floats:
        """(2, n_scores): the typical gradient and hessian at the best constants.

        They are the root of the mean square of gradients, infinite if all are 0, and
        the mean of hessians.
        """
        scores = np.repeat(self.average[:, None], len(self.y), axis=1)
        gradient, hessian = np.ones((2, *scores.shape), dtype=np.float32)
        if isinstance(self.derivatives, gradients.Likelihood):
            gradient, hessian = self.derivatives.exact(scores, n_threads)
        else:
            used_hessian = None if self.constant_hessian else hessian
            self.gradients(scores, gradient, used_hessian, n_threads)
        weights: Any = [None] if self.weight is None else np.atleast_2d(self.weight)
        typical = np.empty((2, self.n_scores))
        for k in range(self.n_scores):
            weighted = TrainingRows(self.y, weights[k % len(weights)], self.partition)
            square = gradient[k].astype(np.float64) ** 2
            sums = map(weighted.sum_of, (square, hessian[k].astype(np.float64)))
            means = np.array([*sums]) / weighted.sum_of(np.ones(len(square)))
            typical[:, k] = math.sqrt(means[0]) or np.inf, means[1] or 1.0
        return typical

    def added_start(self, scores: Floats, n_threads: int) -> Floats:
        """The best constants to add to the start scores of the rows, (n_scores,).

        ``scores``, (n_scores, n), are start scores that the user has passed. All
        processes must call this at the same time.
        """
        if not self.adds_start:
            return np.zeros(self.n_scores)
        if self.renews_leaves:
            n_rows = scores.shape[1]
            all_rows = LeafRows(np.array([0, n_rows]), np.arange(n_rows))
            return self.renewed_leaves(scores[0], all_rows, self.weight)
        start = self.start_with_offset(scores[0])
        if start is None:
            return self._newton_start(scores, n_threads)
        return np.array([start])

    def _newton_start(self, scores: Floats, n_threads: int) -> Floats:
        """`added_start` by Newton's method, with `longest_steps` as in leaves."""
        start, weights = np.zeros(self.n_scores), [None] * self.n_scores
        if self.weight is not None:
            weights = list(np.broadcast_to(self.weight, scores.shape))
        rows = [TrainingRows(self.y, weight, self.partition) for weight in weights]
        gradient, hessian = np.empty((2, *scores.shape), dtype=np.float32)
        for _ in range(_MAX_STEPS):
            moved = np.add(scores, start[:, None], order="C")
            if isinstance(self.derivatives, gradients.Likelihood):
                gradient, hessian = self.derivatives.exact(moved, n_threads)
            else:
                self.gradients(moved, gradient, hessian, n_threads)
            step = np.zeros(self.n_scores)
            for k, weighted in enumerate(rows):
                slope = weighted.sum_of(gradient[k].astype(np.float64))
                curvature = weighted.sum_of(hessian[k].astype(np.float64))
                optimal = np.array([-slope / curvature if curvature > 0 else 0.0])
                longest = self.longest_steps(optimal, k)
                step[k] = np.clip(optimal, -longest, longest)[0]
            start += step
            if np.abs(step / np.maximum(1.0, np.abs(start))).max() < _LAST_STEP:
                break
        return start

    def renewed_leaves(
        self,
        score: Floats,
        leaves: LeafRows,
        weight: Floats | None,
        number: int = 0,
        n_threads: int = 1,
    ) -> Floats:
        """The new values of leaves: percentiles of their residuals.

        ``score`` are the scores of the rows before the tree, those of the given
        ``number``, and ``weight`` the weights of the rows in this round. Each group of
        ``leaves`` gets one value.
        """
        assert self.renewal_level is not None
        return of_residuals(
            self.y,
            score,
            leaves,
            weight,
            self.renewal_weight,
            self.renewal_level,
            self.partition,
            n_threads,
        )


def make_objective(
    settings: Settings,
    y: Floats,
    weight: Floats | None,
    n_scores: int = 1,
    queries: Queries | None = None,
    partition: RowPartition | None = None,
    position: NDArray[np.int64] | None = None,
) -> Objective:
    """Join an objective with the data that it is trained on.

    ``settings`` have the ``objective``, a canonical name or a callable, and
    ``OPTIONS``. A callable takes ``(y_true, y_pred)``, ``(y_true, y_pred, weight)`` or
    ``(y_true, y_pred, weight, group)`` and returns the gradient and the hessian, in the
    shape of ``y_pred``: (n,), or (n, K) for several scores, which may also be flattened
    in Fortran order. If it does not take weights, its gradients and hessians are
    multiplied by them. It is called with the rows of this process.

    ``y`` is finite: the codes 0..K-1 for classes, or their probabilities, (n, K); or
    bounds for survival (see `lifetimes`). ``weight`` is finite and >= 0, class weights
    included. ``n_scores`` is the number of trees of a round: that of classes for
    'multiclass' and 'multiclassova', else 1 unless the objective is a callable.
    ``position``, for 'lambdarank', numbers the position at which each document was
    shown, from 0.

    ValueError if the objective is not defined for ``y``, or if parameters contradict
    each other. TypeError if a callable does not take 2, 3 or 4 arguments.
    """
    if position is not None and settings.objective != "lambdarank":
        warn("position has no effect: only the objective 'lambdarank' uses it.")
    y = np.ascontiguousarray(y, dtype=np.float64)
    if weight is not None:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
    rows = TrainingRows(y, weight, partition or RowPartition(len(y)))
    if callable(settings.objective):
        return _custom(settings, rows, n_scores, queries)
    name = settings.objective
    spec = OBJECTIVES[name]
    if name == "cross_entropy" and y.ndim == 2:
        # Soft labels of two classes.
        rows = replace(rows, y=np.ascontiguousarray(y[:, 1]))
    if spec.targets is not ANY or spec.needs_positive_mean:
        _check_targets(name, spec, rows)
    if spec.task == "classification":
        return _classification(name, settings, rows, n_scores)
    if spec.task == "ranking":
        return _ranking(name, settings, rows, queries, position)
    if spec.distribution is not None:
        return _distribution(name, settings, rows)
    if spec.task == "survival":
        derivatives = PartialLikelihood(rows.y, rows.weight, efron=COX[name])
        return _joined(name, settings, rows, derivatives)
    return _regression(name, settings, rows)


def _joined(
    name: str,
    settings: Settings,
    rows: TrainingRows,
    derivatives: gradients.Derivatives,
    average: Floats | None = None,
    *,
    link: Link | None = None,
    weighs_rows: bool = False,
    trained: NDArray[np.bool_] | None = None,
) -> Objective:
    """An objective, with the fields that follow from the settings and the rows.

    ``derivatives`` computes the gradients. ``average``, (n_scores,), are the best
    constant scores; None: only score differences between rows matter, so that every
    constant is equally good. ``link`` is that of a callable; None: that of the built-in
    objective ``name``. ``weighs_rows``: weights are a part of the loss. ``trained`` is
    as in `Objective`; None: all scores are.
    """
    adds_start = average is not None and link is None
    average = np.zeros(1) if average is None else average
    trained = np.ones(len(average), dtype=bool) if trained is None else trained
    is_zero = trained & (not settings.boost_from_average)
    self_concordance: float | Floats = 0.0
    if link is None:
        link = make_link(name, settings.sigmoid, settings.reg_sqrt)
        bound = OBJECTIVES[name].self_concordance
        self_concordance = 0.0 if bound is None else bound(settings)
    # LightGBM adds no constants to the user's scores.
    is_added = settings.boost_from_average and not STANDS_FOR_LIGHTGBM.is_set()
    return Objective(
        name=name,
        y=rows.y,
        derivatives=derivatives,
        link=link,
        average=average,
        trained=trained,
        trains_all=bool(trained.all()),
        weight=None if weighs_rows else rows.weight,
        start=np.where(is_zero, 0.0, average),
        partition=rows.partition,
        frequency=None if weighs_rows else rows.frequency(),
        self_concordance=self_concordance,
        adds_start=adds_start and is_added,
        weighs_rows=weighs_rows,
    )


def _check_targets(name: str, spec: ObjectiveSpec, rows: TrainingRows) -> None:
    """Check that the objective is defined for the targets; ValueError otherwise."""
    outside = spec.targets.outside(rows.y, rows.partition.collectives)
    if outside is not None:
        low, high = outside
        raise ValueError(
            f"objective={name!r} needs targets {spec.targets.description}, but they"
            f" range from {low:g} to {high:g}."
        )
    if spec.needs_positive_mean and rows.mean() <= 0:
        raise ValueError(
            f"objective={name!r} needs a positive target (in a row whose weight is not "
            "0), but all are 0."
        )


def _regression(name: str, settings: Settings, rows: TrainingRows) -> Objective:
    """A regression objective with one score, by its row in the table of objectives."""
    spec = OBJECTIVES[name]
    if spec.has_level and not 0 < settings.alpha < 1:
        raise ValueError(
            f"alpha must lie between 0 and 1 (exclusive) for objective={name!r}, got "
            f"{settings.alpha!r}."
        )
    y, weight = rows.y, rows.weight
    if settings.reg_sqrt and spec.learns_roots:
        y = np.copysign(np.sqrt(np.abs(y)), y)
        rows = replace(rows, y=y)
    if spec.weighs_rows:
        exponent = np.ones(len(y)) if weight is None else weight
        derivatives: loss_kernels.Loss = loss_kernels.Intensity(y, exponent)
    else:
        derivatives = loss_kernels.Pointwise(name, y, [spec.constants(settings)])
    average = np.array([spec.start(rows, settings)])
    return replace(
        _joined(
            name, settings, rows, derivatives, average, weighs_rows=spec.weighs_rows
        ),
        start_with_offset=partial(spec.start_with_offset, rows, settings),
        constant_hessian=spec.constant_hessian,
        renewal_level=spec.renewal_level and spec.renewal_level(settings),
        renewal_weight=spec.renewal_weight and spec.renewal_weight(y),
    )


def _distribution(name: str, settings: Settings, rows: TrainingRows) -> Objective:
    """A negative log-likelihood, with a score for each parameter of a distribution."""
    average = most_likely(name, rows)
    derivatives = gradients.Likelihood(name, kernel_target(rows.y), len(average))
    reweighted = np.zeros(len(average), dtype=bool)
    reweighted[0] = DISTRIBUTIONS[name].reweighted
    objective = _joined(name, settings, rows, derivatives, average)
    return replace(objective, reweighted=reweighted)


def _ranking(
    name: str,
    settings: Settings,
    rows: TrainingRows,
    queries: Queries | None,
    position: NDArray[np.int64] | None,
) -> Objective:
    """A ranking objective."""
    check_queries(name, queries is not None)
    spec = OBJECTIVES[name]
    assert queries is not None
    assert spec.ranks is not None
    derivatives = spec.ranks(settings, rows.y, queries, rows.collectives)
    if position is not None and isinstance(derivatives, ranking.LambdaRank):
        derivatives.bias = ranking.PositionBias(settings, position, rows.weight)
    return replace(_joined(name, settings, rows, derivatives), queries=queries)


def _custom(
    settings: Settings, rows: TrainingRows, n_scores: int, queries: Queries | None
) -> Objective:
    """An objective that is a function of the user, with start scores of 0."""
    function = gradients.Custom(settings.objective, rows.y, rows.weight, queries)
    objective = _joined(
        function.name,
        settings,
        rows,
        function,
        np.zeros(n_scores),
        link=Link(),
        weighs_rows=function.weighs_rows,
    )
    return replace(objective, queries=queries, calls_functions=True)


def _classification(
    name: str, settings: Settings, rows: TrainingRows, n_scores: int
) -> Objective:
    """A classification objective, whose start scores follow from the class priors.

    Classes that (almost) no rows or all rows have are not trained. 'multiclassova' is a
    binary objective for each class.
    """
    if name == "binary" and n_scores > 1:
        raise ValueError(
            f"objective='binary' is for two classes, but there are {n_scores}; use "
            "'multiclass' or 'multiclassova'."
        )
    y = _binary_codes(name, rows) if n_scores == 1 else rows.y
    codes = [1] if name == "binary" else list(range(n_scores))
    rows = replace(rows, y=y)
    weights = rows.weights_by_class(codes)
    prior = weights[:, 0] / weights.sum(axis=1)
    sigmoid = settings.sigmoid
    label_weight, weight = None, rows.weight
    derivatives: loss_kernels.Loss
    if name == "multiclass":
        of_classes = y if y.ndim == 1 else np.ascontiguousarray(y.T)
        derivatives = loss_kernels.Softmax(of_classes)
        average = np.array([correct_rounding.log(max(p, MIN_PRIOR)) for p in prior])
    else:
        parameters = [(sigmoid, code) for code in codes]
        derivatives = loss_kernels.Pointwise("binary", y, parameters)
        average = np.array(list(map(log_odds, prior.tolist()))) / sigmoid
        if settings.is_unbalance or settings.scale_pos_weight != 1:
            label_weight = _label_weight(settings, y, codes, weights)
            weight = label_weight if weight is None else label_weight * weight
    trained = (prior > MIN_PRIOR) & (prior < 1.0 - MIN_PRIOR)
    return replace(
        _joined(name, settings, rows, derivatives, average, trained=trained),
        weight=weight,
        label_weight=label_weight,
    )


def _binary_codes(name: str, rows: TrainingRows) -> Floats:
    """The codes 0 and 1 of two classes whose labels are 0 and 1, or -1 and 1.

    ValueError for other labels, or if the objective is for more classes.
    """
    are_1 = rows.y == 1.0
    if name == "binary" and rows.all(are_1 | (rows.y == 0.0)):
        return rows.y
    if name != "binary" or not rows.all(are_1 | (rows.y == -1.0)):
        raise ValueError(
            f"objective={name!r} is for classification. Use LGBMClassifier. Other "
            "estimators accept only 'binary', with 0 and 1 (or -1 and 1) in y."
        )
    return (rows.y > 0).astype(np.float64)


def _label_weight(
    settings: Settings, y: Floats, codes: list[int], weights: Floats
) -> Floats:
    """The weights of rows by ``is_unbalance`` or ``scale_pos_weight``.

    (n,), or (n_classes, n) if each class is trained against all others: positive rows
    are those of the class. ``weights``, (n_codes, 2), are the weights of the rows of
    each class of ``codes``, and of all other rows. With ``is_unbalance``, positive and
    negative rows get the same total weight: the weight of the less frequent ones is
    increased.
    """
    scale = settings.scale_pos_weight
    if settings.is_unbalance and scale != 1:
        raise ValueError(
            "Use is_unbalance=True or scale_pos_weight, not both: each sets the weight "
            "of positive rows."
        )
    per_class = []
    for code, (total, other_total) in zip(codes, weights.tolist(), strict=True):
        positive, negative = scale, 1.0
        if settings.is_unbalance and total > 0 and other_total > 0:
            positive = max(other_total / total, 1.0)
            negative = max(total / other_total, 1.0)
        per_class.append(np.where(y == code, positive, negative))
    label_weight = np.array(per_class, dtype=np.float64)
    return label_weight if len(codes) > 1 else label_weight[0]
