"""Objectives: the losses that models minimise.

An objective consists of a loss with its gradients and hessians, the mean or quantile
that scores start from, a link from raw scores to predictions, a rule for renewed leaf
values, and the targets that it accepts. ``OBJECTIVES`` is the table of objectives;
``make`` joins one of them with the data.

Gradients and hessians are not multiplied by sample weights. The engine does this in
double precision when it sums them, so that weights mean copies. The exception is
'cross_entropy_lambda', whose loss depends on the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training import exact_sum, losses
from skgoss.data.collectives import Collectives
from skgoss.data.queries import Queries
from skgoss.data.row_partition import RowPartition
from skgoss.data.state import entries
from skgoss.training import gradients, ranking
from skgoss.training.distributed_percentiles import Groups, distributed_percentile
from skgoss.training.percentiles import are_copies, percentile, weighted_mean
from skgoss.utils.messages import hint

if TYPE_CHECKING:
    from skgoss.parameters.settings import Settings

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
# Residuals of rows, their weights and units.
_Residuals = tuple[Floats, Floats | None, Floats | None]

# The options that objectives read, besides their name.
OPTIONS = (
    *("boost_from_average", "is_unbalance", "scale_pos_weight", "sigmoid", "alpha"),
    *("fair_c", "poisson_max_delta_step", "tweedie_variance_power", "reg_sqrt"),
    *("lambdarank_truncation_level", "lambdarank_norm", "label_gain"),
    "objective_seed",
)

# The maximum number of rows. Weights with a larger sum are not treated as copies.
MAX_COPIES = 2**31 - 1

# The minimum distance of a prior from 0 and 1, where its log-odds would be infinite.
TINY_PRIOR = 1e-15


# --- Links ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Link:
    """The function from raw scores to predictions.

    Attributes
    ----------
    kind : str
        'identity', 'exp', 'logistic', 'log1p_exp' (log(1 + exp)), 'signed_square' or
        'softmax' (over the scores of each row).
    slope : float
        The factor of the scores in 'logistic'.
    """

    kind: str = "identity"
    slope: float = 1.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind, slope = entries(state, {"kind": str, "slope": float}, "the link")
        if kind not in losses.LINKS:
            raise ValueError(
                f"the link must be one of {list(losses.LINKS)}, got {kind!r}"
            )
        self.__init__(kind, slope)

    def __call__(self, raw: Floats, n_threads: int = 1) -> Floats:
        """The predictions for raw scores of shape (n, K) or (n,), in the same shape.

        'identity' may return ``raw`` itself.
        """
        if self.kind == "softmax":
            predictions = transform(self, np.ascontiguousarray(raw.T), n_threads)
            return np.ascontiguousarray(predictions.T)
        values = np.ascontiguousarray(raw).reshape(1, -1)
        return transform(self, values, n_threads).reshape(raw.shape)


def transform(
    link: Link, raw: Floats, n_threads: int = 1, out: Floats | None = None
) -> Floats:
    """Turn raw scores into predictions, in arrays with one row for each score.

    Parameters
    ----------
    link : Link
    raw : (K, n) float64, C-contiguous
    n_threads : int
        The results are the same bits for any number.
    out : (K, n) float64, C-contiguous, or None
        The array to write to; it may be ``raw``. None: a new array, or ``raw`` itself
        for 'identity'.

    Returns
    -------
    (K, n) float64
    """
    if out is None and link.kind == "identity":
        return raw
    out = np.empty_like(raw) if out is None else out
    losses.link(losses.LINKS[link.kind], raw, link.slope, n_threads, out)
    return out


# --- Start scores ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """The targets and weights of the rows to learn from, and whose rows these are."""

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
        return distributed_percentile(self.y, level, self.weight, unit, self.partition)

    def range(self) -> tuple[float, float]:
        """The smallest and the largest target of all processes."""
        low, high = self.y.min(initial=np.inf), self.y.max(initial=-np.inf)
        lows, highs = zip(*self.collectives.all_gather((low, high)), strict=True)
        return min(lows), max(highs)

    def are(self, condition: NDArray[np.bool_]) -> bool:
        """Whether a condition holds for the rows of all processes."""
        return all(self.collectives.all_gather(bool(condition.all())))

    def copies(self) -> NDArray[np.uint32] | None:
        """The number of copies of each row; None if a process has other weights."""
        if self.weight is None:
            return None
        known = (are_copies(self.weight), float(self.weight.sum()))
        whole, sums = zip(*self.collectives.all_gather(known), strict=True)
        is_number = all(whole) and sum(sums) <= MAX_COPIES
        return self.weight.astype(np.uint32) if is_number else None

    def weight_of(self, chosen: NDArray[np.bool_]) -> float:
        """The weight of some rows of all processes."""
        return exact_sum.weighted_sum(chosen * 1.0, self.weight, self.collectives)


def _mean(rows: _TrainingRows, settings: Settings) -> float:
    return rows.mean()


def _log(x: float) -> float:
    """The logarithm; NumPy's has other last bits on processors with AVX-512."""
    return math.log(x) if x > 0.0 else -math.inf


def _log_mean(rows: _TrainingRows, settings: Settings) -> float:
    return _log(rows.mean())


def _log_odds(p: float) -> float:
    p = min(max(p, TINY_PRIOR), 1.0 - TINY_PRIOR)
    return _log(p / (1.0 - p))


def _logit_mean(rows: _TrainingRows, settings: Settings) -> float:
    return _log_odds(rows.mean())


def _log_expm1_mean(rows: _TrainingRows, settings: Settings) -> float:
    return _log(math.expm1(max(rows.mean(), TINY_PRIOR)))


def _median(rows: _TrainingRows, settings: Settings) -> float:
    return rows.percentile(0.5)


def _quantile(settings: Settings) -> float:
    if not 0 < settings.alpha < 1:
        raise ValueError(
            f"alpha must lie between 0 and 1 (exclusive) for objective='quantile', got "
            f"{settings.alpha!r}."
        )
    return settings.alpha


def _alpha_percentile(rows: _TrainingRows, settings: Settings) -> float:
    return rows.percentile(_quantile(settings))


def _relative_weight(y: Floats) -> Floats:
    """The weight of an absolute error in 'mape'."""
    return 1.0 / np.maximum(np.abs(y), 1.0)


def _relative_median(rows: _TrainingRows, settings: Settings) -> float:
    return rows.percentile(0.5, _relative_weight(rows.y))


# --- Targets --------------------------------------------------------------------------


def _any_target(rows: _TrainingRows, name: str) -> None:
    pass


def _counts(rows: _TrainingRows, name: str) -> None:
    low, _ = rows.range()
    if low < 0:
        raise ValueError(f"objective={name!r} needs targets >= 0, got {low:g}.")
    if rows.mean() <= 0:
        raise ValueError(
            f"objective={name!r} needs a positive target (in a row whose weight is not "
            "0), but all are 0."
        )


def _positive(rows: _TrainingRows, name: str) -> None:
    low, _ = rows.range()
    if low <= 0:
        raise ValueError(f"objective={name!r} needs targets > 0, got {low:g}.")


def _probabilities(rows: _TrainingRows, name: str) -> None:
    low, high = rows.range()
    if low < 0 or high > 1:
        raise ValueError(
            f"objective={name!r} needs targets in [0, 1], but they range from "
            f"{low:g} to {high:g}."
        )


# --- The table ------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A built-in objective.

    Attributes
    ----------
    aliases : tuple of str
        LightGBM's other names of it.
    link : str
        The kind of its ``Link``.
    has_slope : bool
        Whether the option ``sigmoid`` is the slope of the link.
    learns_roots : bool
        Whether ``reg_sqrt`` makes it learn the square root of the target.
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
    ranks : type, or None
        Computes the gradients of an objective of rankings; None for other objectives.
    renewal_unit : callable (y) -> (n,) float64, or None
        Weights of the residuals in this percentile, in addition to those of the rows.
    weighs_rows : bool
        Whether the loss depends on sample weights other than by a factor.
    concordance : callable (settings) -> float
        The constant of generalised self-concordance: see ``Objective``.
    """

    aliases: tuple[str, ...] = ()
    link: str = "identity"
    has_slope: bool = False
    learns_roots: bool = False
    start: Callable[[_TrainingRows, Settings], float] | None = _mean
    parameters: Callable[[Settings], tuple[float, float]] = lambda s: (0.0, 0.0)
    check: Callable[[_TrainingRows, str], None] = _any_target
    constant_hessian: bool = False
    renewal_level: Callable[[Settings], float] | None = None
    ranks: type[ranking.LambdaRank] | type[ranking.RankXENDCG] | None = None
    renewal_unit: Callable[[Floats], Floats] | None = None
    weighs_rows: bool = False
    concordance: Callable[[Any], float] = lambda s: 0.0


OBJECTIVES: dict[str, Kind] = {
    "regression": Kind(
        aliases=(
            "regression_l2",
            "l2",
            "mean_squared_error",
            "mse",
            "l2_root",
            "root_mean_squared_error",
            "rmse",
        ),
        learns_roots=True,
        constant_hessian=True,
    ),
    "regression_l1": Kind(
        aliases=("l1", "mean_absolute_error", "mae"),
        learns_roots=True,
        start=_median,
        constant_hessian=True,
        renewal_level=lambda s: 0.5,
    ),
    "huber": Kind(parameters=lambda s: (s.alpha, 0.0), constant_hessian=True),
    "fair": Kind(
        learns_roots=True,
        parameters=lambda s: (s.fair_c, 0.0),
        concordance=lambda s: 2.0 / s.fair_c,
    ),
    "quantile": Kind(
        learns_roots=True,
        start=_alpha_percentile,
        parameters=lambda s: (_quantile(s), 0.0),
        constant_hessian=True,
        renewal_level=_quantile,
    ),
    "mape": Kind(
        aliases=("mean_absolute_percentage_error",),
        learns_roots=True,
        start=_relative_median,
        constant_hessian=True,
        renewal_level=lambda s: 0.5,
        renewal_unit=_relative_weight,
    ),
    "poisson": Kind(
        link="exp",
        start=_log_mean,
        parameters=lambda s: (float(np.exp(s.poisson_max_delta_step)), 0.0),
        check=_counts,
        concordance=lambda s: 1.0,
    ),
    "gamma": Kind(
        link="exp", start=_log_mean, check=_positive, concordance=lambda s: 1.0
    ),
    "tweedie": Kind(
        link="exp",
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
    "cross_entropy": Kind(
        aliases=("xentropy",),
        link="logistic",
        start=_logit_mean,
        check=_probabilities,
        concordance=lambda s: 1.0,
    ),
    "cross_entropy_lambda": Kind(
        aliases=("xentlambda",),
        link="log1p_exp",
        start=_log_expm1_mean,
        check=_probabilities,
        weighs_rows=True,
        concordance=lambda s: 1.0,
    ),
    "binary": Kind(
        link="logistic", has_slope=True, start=None, concordance=lambda s: s.sigmoid
    ),
    # Two scores of a row may change in opposite directions, each by the longest step.
    "multiclass": Kind(
        aliases=("softmax",), link="softmax", start=None, concordance=lambda s: 2.0
    ),
    "multiclassova": Kind(
        aliases=("multiclass_ova", "ova", "ovr"),
        link="logistic",
        has_slope=True,
        start=None,
        concordance=lambda s: s.sigmoid,
    ),
    "lambdarank": Kind(ranks=ranking.LambdaRank, concordance=lambda s: 2.0 * s.sigmoid),
    "rank_xendcg": Kind(
        aliases=("xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart"),
        ranks=ranking.RankXENDCG,
        concordance=lambda s: 2.0,
    ),
}

ALIASES: dict[str, str] = {
    alias: name for name, kind in OBJECTIVES.items() for alias in (name, *kind.aliases)
}

# LightGBM's words for an objective that is not built in, and for no metric.
NOT_BUILT_IN = ("none", "null", "custom", "na")


def canonical_name(objective: str) -> str:
    """The name in ``OBJECTIVES`` of an objective, given by name or alias in any case.

    Raises
    ------
    ValueError
        If the name is unknown.
    """
    if isinstance(objective, str) and objective.lower() in NOT_BUILT_IN:
        raise ValueError(
            f"objective={objective!r} means a custom objective: pass a function that "
            "returns the gradient and the hessian."
        )
    if not isinstance(objective, str) or objective.lower() not in ALIASES:
        raise ValueError(
            f"objective={objective!r} is not known.{hint(str(objective), ALIASES)} Use"
            f" a function or one of {', '.join(OBJECTIVES)}."
        )
    return ALIASES[objective.lower()]


def make_link(
    objective: str | Callable[..., Any], sigmoid: float = 1.0, reg_sqrt: bool = False
) -> Link:
    """Make the link of an objective.

    Parameters
    ----------
    objective : str or callable
        For a callable, predictions are raw scores.
    sigmoid, reg_sqrt
        The options of these names.

    Returns
    -------
    Link
        It gives means, quantiles, or the probabilities of the K classes (for 'binary',
        of the second class).
    """
    if callable(objective):
        return Link()
    kind = OBJECTIVES[canonical_name(objective)]
    if reg_sqrt and kind.learns_roots:
        return Link("signed_square")
    return Link(kind.link, sigmoid if kind.has_slope else 1.0)


def text(name: str, sigmoid: float, reg_sqrt: bool, n_scores: int) -> str:
    """The objective and its constants, as LightGBM's model files say them.

    Parameters
    ----------
    name : str
        The canonical name.
    sigmoid, reg_sqrt
        The options of these names.
    n_scores : int
        The number of trees of a round.
    """
    kind, words = OBJECTIVES[name], [name]
    if kind.link == "softmax" or name == "multiclassova":
        words.append(f"num_class:{n_scores}")
    if kind.has_slope:
        words.append(f"sigmoid:{sigmoid:g}")
    if reg_sqrt and kind.learns_roots:
        words.append("sqrt")
    return " ".join(words)


# --- The objective --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss joined with the targets and weights of a training set.

    Attributes
    ----------
    name : str
        The canonical name; a callable's own name.
    n_scores : int
        K: raw scores of a row, trees of a round.
    average : (K,) float64
        The best constant scores, or an estimate of them; 0 for callables.
    trained : (K,) bool
        False for a class that all rows or no rows belong to. Its gradients are 0 and
        its hessians 1, so its score stays at ``average``.
    row_weight : (n,) float64 or None
        Sample weights times class weights. None means 1.
    copies : (n,) uint32 or None
        The number of copies of each row. None means 1, or weights that are not whole.
    label_weight : (n,) or (K, n) float64, or None
        The weights that ``is_unbalance`` or ``scale_pos_weight`` give to rows, for each
        class if there are several scores. None means 1.
    constant_hessian : bool
        Whether the hessian is 1 for every row.
    concordance : float
        c such that |L'''| <= c L'' for the loss L of a row along a step of its scores
        (generalised self-concordance). It limits the steps, because longer steps could
        increase the loss. 0: no limit, as for quadratic losses, or no known bound.
    queries : Queries or None
        The queries of the rows, for objectives of rankings.
    link : Link
        The function from raw scores to predictions.
    partition : RowPartition
        Which of the rows of all processes these are.
    renewal_level, renewal_unit : float and (n,) float64, or None
        See ``renewed_leaves``.
    """

    name: str
    y: Floats = field(repr=False)
    derivatives: gradients.Derivatives = field(repr=False)
    link: Link = field(repr=False)
    average: Floats
    trained: NDArray[np.bool_]
    row_weight: Floats | None = field(repr=False)
    boost_from_average: bool
    partition: RowPartition = field(repr=False)
    copies: NDArray[np.uint32] | None = field(repr=False)
    label_weight: Floats | None = field(default=None, repr=False)
    constant_hessian: bool = False
    concordance: float = 0.0
    renewal_level: float | None = None
    queries: Queries | None = field(default=None, repr=False)
    renewal_unit: Floats | None = field(default=None, repr=False)

    @property
    def n_scores(self) -> int:
        return len(self.average)

    @property
    def weight(self) -> Floats | None:
        """The weights of gradients and hessians, (n,) or (K, n). None means 1."""
        if self.label_weight is None or self.row_weight is None:
            return self.row_weight if self.label_weight is None else self.label_weight
        return self.label_weight * self.row_weight

    @property
    def copy_weight(self) -> Floats | None:
        """The weight of each copy, (n,) or (K, n). None means 1."""
        return self.weight if self.copies is None else self.label_weight

    @property
    def renews_leaves(self) -> bool:
        """Whether ``renewed_leaves`` replaces the value of each grown leaf."""
        return self.renewal_level is not None

    def size(self) -> tuple[int, float]:
        """The number of the rows of all processes, and their weight."""
        weight, n_rows = self.weight, self.partition.n_rows
        if weight is None:
            return n_rows, float(n_rows)
        collectives = self.partition.collectives
        return n_rows, exact_sum.weighted_sum(weight.ravel(), collectives=collectives)

    @cached_property
    def _untrained(self) -> list[int]:
        """The scores that are not ``trained``."""
        return np.flatnonzero(~self.trained).tolist()

    def start_scores(self) -> Floats:
        """The (K,) scores before the first tree.

        They are ``average``, or 0 without ``boost_from_average``. Classes that are not
        trained always start from ``average``.
        """
        if self.boost_from_average:
            return self.average.copy()
        return np.where(self.trained, 0.0, self.average)

    def begin_round(self, index: int) -> None:
        """Set the number of the round, for losses that draw random numbers."""
        if isinstance(self.derivatives, ranking.RankXENDCG):
            self.derivatives.round = index

    def gradients(
        self,
        scores: Floats,
        gradient_out: Singles,
        hessian_out: Singles | None,
        n_threads: int = 1,
    ) -> None:
        """First and second derivatives of the loss by each score, without weights.

        Parameters
        ----------
        scores : (K, n) float64, C-contiguous
        gradient_out : (K, n) float32, C-contiguous
        hessian_out : (K, n) float32, C-contiguous, or None
            Not written, and may be None, if ``constant_hessian``.
        n_threads : int
            The results are the same bits for any number.

        Raises
        ------
        ValueError
            If a user's function returns something other than finite numbers of the
            right shape.
        """
        self.derivatives(scores, gradient_out, hessian_out, n_threads)
        for k in self._untrained:
            gradient_out[k] = 0.0
            hessian_out[k] = 1.0

    def renewed_leaves(
        self,
        score: Floats,
        groups: Sequence[Sequence[NDArray[np.integer]]],
        weight: Floats | None,
    ) -> Floats:
        """The new values of leaves: percentiles of their residuals.

        Parameters
        ----------
        score : (n,) float64
            The scores before the tree.
        groups : sequence of sequences of (m,) int
            For each value, the rows of one leaf or of several.
        weight : (n,) float64 or None
            The rows' weights in this round.

        Returns
        -------
        (n_groups,) float64
        """

        def residuals(rows: NDArray[np.integer]) -> _Residuals:
            return (
                self.y[rows] - score[rows],
                None if weight is None else weight[rows],
                None if self.renewal_unit is None else self.renewal_unit[rows],
            )

        level = self.renewal_level
        if not self.partition.is_alone:
            return Groups.of(self.partition, groups, residuals).percentiles(level)
        new = []
        for leaves in groups:
            values, weights, units = residuals(np.concatenate(leaves))
            new.append(percentile(values, level, weights, units))
        return np.array(new)


def make(
    settings: Settings,
    y: Floats,
    weight: Floats | None,
    n_scores: int = 1,
    queries: Queries | None = None,
    partition: RowPartition | None = None,
) -> Objective:
    """Join an objective with the data that it is trained on.

    Parameters
    ----------
    settings : object
        It has the attributes ``objective`` (a name, an alias or a callable), and
        those in ``OPTIONS``; ``objective_seed`` is an int.

        A callable takes ``(y_true, y_pred)``, ``(y_true, y_pred, weight)`` or
        ``(y_true, y_pred, weight, group)`` and returns the gradient and the hessian,
        in the shape of ``y_pred``: (n,), or (n, K) for several scores, which may also
        be flattened in Fortran order. If it does not take weights, its gradients and
        hessians are multiplied by them.
    y : (n,) float64
        Finite; the codes 0..K-1 for classes.
    weight : (n,) float64 or None
        Finite and >= 0, class weights included. None means 1.
    n_scores : int, default=1
        The number of trees of a round: that of classes for 'multiclass' and
        'multiclassova', else 1 unless the objective is a callable.
    queries : Queries or None
        None if there are no queries.
    partition : RowPartition, default=None
        Which of the rows of all processes these are; None: all. A callable is called
        with the rows of this process.

    Raises
    ------
    ValueError
        If the objective is unknown or not defined for ``y``, or if parameters
        contradict each other.
    TypeError
        If a callable does not take 2, 3 or 4 arguments.
    """
    y = np.ascontiguousarray(y, dtype=np.float64)
    if weight is not None:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
    rows = _TrainingRows(y, weight, partition or RowPartition.alone(len(y)))
    if callable(settings.objective):
        return _custom(settings, rows, n_scores, queries)
    name = canonical_name(settings.objective)
    kind = OBJECTIVES[name]
    kind.check(rows, name)
    if kind.start is None:
        return _classes(name, settings, rows, n_scores)
    if kind.ranks is not None:
        return _ranking(name, kind, settings, rows, queries)
    return _numbers(name, settings, rows)


def _numbers(name: str, settings: Settings, rows: _TrainingRows) -> Objective:
    kind = OBJECTIVES[name]
    y, weight = rows.y, rows.weight
    if settings.reg_sqrt and kind.learns_roots:
        y = np.copysign(np.sqrt(np.abs(y)), y)
        rows = replace(rows, y=y)
    if kind.weighs_rows:
        derivatives: gradients.Derivatives = gradients.CrossEntropyLambda(y, weight)
    else:
        derivatives = gradients.Pointwise(name, y, (kind.parameters(settings),))
    return Objective(
        name=name,
        y=y,
        derivatives=derivatives,
        link=make_link(name, reg_sqrt=settings.reg_sqrt),
        average=np.array([kind.start(rows, settings)]),
        trained=np.array([True]),
        row_weight=None if kind.weighs_rows else weight,
        boost_from_average=settings.boost_from_average,
        partition=rows.partition,
        copies=None if kind.weighs_rows else rows.copies(),
        constant_hessian=kind.constant_hessian,
        concordance=kind.concordance(settings),
        renewal_level=kind.renewal_level and kind.renewal_level(settings),
        renewal_unit=kind.renewal_unit and kind.renewal_unit(y),
    )


def _ranking(
    name: str,
    kind: Kind,
    settings: Settings,
    rows: _TrainingRows,
    queries: Queries | None,
) -> Objective:
    if queries is None:
        raise ValueError(
            f"objective={name!r} is for ranking and needs queries: pass them, or use "
            "LGBMRanker."
        )
    return Objective(
        name=name,
        y=rows.y,
        derivatives=kind.ranks(settings, rows.y, queries, rows.collectives),
        link=make_link(name),
        average=np.zeros(1),
        trained=np.array([True]),
        row_weight=rows.weight,
        boost_from_average=False,
        partition=rows.partition,
        copies=rows.copies(),
        concordance=kind.concordance(settings),
        queries=queries,
    )


def _custom(
    settings: Settings, rows: _TrainingRows, n_scores: int, queries: Queries | None
) -> Objective:
    y, weight = rows.y, rows.weight
    derivatives = gradients.Custom(settings.objective, y, weight, queries)
    return Objective(
        name=derivatives.name,
        y=y,
        derivatives=derivatives,
        link=make_link(settings.objective),
        average=np.zeros(n_scores),
        trained=np.ones(n_scores, dtype=bool),
        row_weight=None if derivatives.weighs_rows else weight,
        boost_from_average=settings.boost_from_average,
        partition=rows.partition,
        copies=None if derivatives.weighs_rows else rows.copies(),
        queries=queries,
    )


def _classes(
    name: str, settings: Settings, rows: _TrainingRows, n_scores: int
) -> Objective:
    if name == "binary" and n_scores > 1:
        raise ValueError(
            f"objective='binary' is for two classes, but there are {n_scores}; use "
            "'multiclass' or 'multiclassova'."
        )
    y = _sides(name, rows) if n_scores == 1 else rows.y
    codes = [1] if name == "binary" else list(range(n_scores))
    shares = [(rows.weight_of(y == code), rows.weight_of(y != code)) for code in codes]
    prior = np.array([yes / (yes + no) for yes, no in shares])
    sigmoid = settings.sigmoid
    label_weight = None
    if name == "multiclass":
        derivatives: gradients.Derivatives = gradients.Softmax(y)
        average = np.array([_log(max(share, TINY_PRIOR)) for share in prior])
    else:
        derivatives = gradients.Pointwise(
            "binary", y, tuple((sigmoid, code) for code in codes)
        )
        average = np.array([_log_odds(p) / sigmoid for p in prior])
        label_weight = _label_weight(settings, y, codes, shares)
    return Objective(
        name=name,
        y=y,
        derivatives=derivatives,
        link=make_link(name, sigmoid),
        average=average,
        trained=(prior > TINY_PRIOR) & (prior < 1.0 - TINY_PRIOR),
        row_weight=rows.weight,
        label_weight=label_weight,
        boost_from_average=settings.boost_from_average,
        partition=rows.partition,
        copies=rows.copies(),
        concordance=OBJECTIVES[name].concordance(settings),
    )


def _sides(name: str, rows: _TrainingRows) -> Floats:
    """The codes 0 and 1 of two classes that are given as numbers."""
    pairs = ((0.0, 1.0), (-1.0, 1.0))
    sides = [rows.are(np.isin(rows.y, pair)) for pair in pairs]
    if name != "binary" or not any(sides):
        raise ValueError(
            f"objective={name!r} is for classification. Use LGBMClassifier. Other "
            "estimators accept only 'binary', with 0 and 1 (or -1 and 1) in y."
        )
    return (rows.y > 0) * 1.0


def _label_weight(
    settings: Settings, y: Floats, codes: list[int], shares: list[tuple[float, float]]
) -> Floats | None:
    """The weights that ``is_unbalance`` or ``scale_pos_weight`` give to rows.

    With ``is_unbalance``, positive and negative rows have the same total weight: the
    weight of the rarer ones is raised.
    """
    scale = settings.scale_pos_weight
    if settings.is_unbalance and scale != 1:
        raise ValueError(
            "Use is_unbalance=True or scale_pos_weight, not both: each sets the weight "
            "of positive rows."
        )
    if not settings.is_unbalance and scale == 1:
        return None
    per_class = []
    for code, (yes, no) in zip(codes, shares, strict=True):
        positive, negative = scale, 1.0
        if settings.is_unbalance and yes > 0 and no > 0:
            positive, negative = max(no / yes, 1.0), max(yes / no, 1.0)
        per_class.append(np.where(y == code, positive, negative))
    return np.array(per_class) if len(codes) > 1 else per_class[0]
