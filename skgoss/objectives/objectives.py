"""The table of built-in objectives: everything in Python that depends on the objective.

The gradient and the hessian of a loss, and its value for metrics, are in
`_engine/objectives/loss_kernels.h`, by the name of the objective.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import exact_sum, function_kernels
from skgoss.distributed.collectives import ALONE, Collectives
from skgoss.distributed.row_partition import RowPartition
from skgoss.objectives import ranking
from skgoss.objectives.distributions import DISTRIBUTIONS, Distribution
from skgoss.objectives.link import Link
from skgoss.objectives.percentiles import are_frequencies, percentile
from skgoss.parameters import other_libraries
from skgoss.parameters.settings import Settings
from skgoss.utils import correct_rounding
from skgoss.utils.messages import did_you_mean, hint

Floats = NDArray[np.float64]

# The minimum distance of a probability from 0 and 1, where its log-odds are infinite.
MIN_PRIOR = 1e-15

# The largest sum of frequency weights. Whole weights with a larger sum count as other
# weights do.
MAX_TOTAL_FREQUENCY = 2**31 - 1


@dataclass(frozen=True)
class TargetRange:
    """The targets that an objective or a metric is defined for."""

    description: str  # the range, for messages and documentation
    low: float = -np.inf
    high: float = np.inf
    is_open: bool = False  # whether the limits are excluded
    is_whole: bool = False  # whether targets must be whole numbers

    def contains(self, y: Floats) -> NDArray[np.bool_]:
        """Whether each target is in the range."""
        if self.is_open:
            fits = (self.low < y) & (y < self.high)
        else:
            fits = (self.low <= y) & (y <= self.high)
        return fits & (y == np.floor(y)) if self.is_whole else fits

    def outside(
        self, y: Floats, collectives: Collectives = ALONE
    ) -> tuple[float, float] | None:
        """The smallest and the largest target of all processes, if one is not allowed.

        None if both are in the range. Unlike `contains`, it neither excludes ``high``
        from an open range nor checks whether targets are whole.
        """
        if self is ANY:
            return None
        extremes = float(y.min(initial=np.inf)), float(y.max(initial=-np.inf))
        lows, highs = zip(*collectives.all_gather(extremes), strict=True)
        low, high = min(lows), max(highs)
        fits = self.low < low if self.is_open else self.low <= low
        return None if fits and high <= self.high else (low, high)


ANY = TargetRange("any numbers")
NOT_NEGATIVE = TargetRange(">= 0", low=0.0)
POSITIVE = TargetRange("> 0", low=0.0, is_open=True)
PROBABILITIES = TargetRange("in [0, 1]", low=0.0, high=1.0)
PROPORTIONS = TargetRange("above 0 and below 1", low=0.0, high=1.0, is_open=True)
COUNTS = TargetRange("0, 1, 2 and so on", low=0.0, is_whole=True)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The targets and weights that an objective is trained on.

    The arrays are those of this process's rows; methods return statistics of the rows
    of all processes.
    """

    y: Floats
    weight: Floats | None
    partition: RowPartition

    @classmethod
    def from_one_process(cls, y: Floats, weight: Floats | None) -> Self:
        """Rows all of which are in this process."""
        return cls(y, weight, RowPartition(len(y)))

    @property
    def collectives(self) -> Collectives:
        """The collective operations of the processes that hold the rows."""
        return self.partition.collectives

    @property
    def _collectives_or_none(self) -> Collectives | None:
        """`collectives`; None if one process holds all rows."""
        collectives = self.partition.collectives
        return None if collectives.n_ranks == 1 else collectives

    def mean(self) -> float:
        """The weighted mean of the targets of all processes."""
        total, collectives = float(self.partition.n_rows), self._collectives_or_none
        if self.weight is not None:
            total = exact_sum.weighted_sum(self.weight, collectives=collectives)
        return exact_sum.weighted_sum(self.y, self.weight, collectives) / total

    def percentile(self, level: float, unit: Floats | None = None) -> float:
        """The `percentile` of the targets of all processes."""
        return percentile(self.y, level, self.weight, unit, self.partition)

    def all(self, condition: NDArray[np.bool_]) -> bool:
        """Whether a condition holds for the rows of all processes."""
        holds, collectives = bool(condition.all()), self._collectives_or_none
        return holds if collectives is None else all(collectives.all_gather(holds))

    def frequency(self) -> NDArray[np.uint32] | None:
        """The frequency weight of each row; None if a process has other weights."""
        if self.weight is None:
            return None
        local = (are_frequencies(self.weight), float(self.weight.sum()))
        whole, sums = zip(*self.collectives.all_gather(local), strict=True)
        is_frequency = all(whole) and sum(sums) <= MAX_TOTAL_FREQUENCY
        return self.weight.astype(np.uint32) if is_frequency else None

    def weights_by_class(self, codes: Sequence[int]) -> Floats:
        """The weight of the rows of each class, and of all other rows, (n_codes, 2).

        ``codes`` are the numbers of the classes, as ``y`` holds them. Soft labels
        divide the weight of a row among the classes.
        """
        is_soft, masses = self.y.ndim == 2, []
        is_alone = self.partition.collectives.n_ranks == 1
        if is_alone and self.weight is None and not is_soft:
            n = np.array([np.count_nonzero(self.y == code) for code in codes], float)
            return np.stack([n, len(self.y) - n], axis=1)
        for code in codes:
            is_class = self.y[:, code].copy() if is_soft else 1.0 * (self.y == code)
            masses.append([self.sum_of(is_class), self.sum_of(1.0 - is_class)])
        return np.array(masses)

    def sum_of(self, values: Floats) -> float:
        """The weighted sum of a value of each row over all processes, rounded once."""
        return exact_sum.weighted_sum(values, self.weight, self._collectives_or_none)


# --- Start scores ---------------------------------------------------------------------


def log_odds(p: float) -> float:
    """log(p / (1 - p)), finite for 0 and 1."""
    p = min(max(p, MIN_PRIOR), 1.0 - MIN_PRIOR)
    return correct_rounding.log(p / (1.0 - p))


def _mean(rows: TrainingRows, settings: Settings) -> float:
    return rows.mean()


def _log_mean(rows: TrainingRows, settings: Settings) -> float:
    return correct_rounding.log(rows.mean())


def _expectile(rows: TrainingRows, settings: Settings) -> float:
    """The expectile ``alpha`` of the targets, by Newton's method.

    Each step from a center leads to the weighted mean of the targets, with the weight
    ``alpha`` above the center and 1 - ``alpha`` below. It stops at a repeated center.
    """
    level, center, centers = settings.alpha, rows.mean(), set()
    while math.isfinite(center) and center not in centers:
        centers.add(center)
        total = total_weight = 0.0
        above = rows.y > center
        for weight, side in ((level, above), (1.0 - level, ~above)):
            total += weight * rows.sum_of(np.where(side, rows.y, 0.0))
            total_weight += weight * rows.sum_of(side.astype(np.float64))
        center = total / total_weight
    return center


def _expectile_parameters(settings: Settings) -> tuple[float, float]:
    """The two parameters of the expectile loss: the level a, and the smallest hessian.

    If a step crosses the target, the second derivative changes from 2 (1 - a) to 2 a,
    or the reverse, so a step could increase the loss. If hessians are at least the
    learning rate times the larger of both, the loss is nowhere above the parabola with
    the curvature hessian / rate, which a step times the rate minimizes. Forests average
    whole steps, so they have no such limit.
    """
    level, rate = settings.alpha, min(settings.learning_rate, 1.0)
    if settings.boosting_type == "rf":
        rate = 0.0
    return level, rate * 2.0 * max(level, 1.0 - level)


def _relative_weight(y: Floats) -> Floats:
    """The weight of an absolute error in 'mape'."""
    return 1.0 / np.maximum(np.abs(y), 1.0)


# --- The table ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ObjectiveSpec:
    """One row of the table of objectives."""

    description: str  # the loss, for the table of docs/objectives.md
    task: str = "regression"  # 'regression', 'classification', 'ranking' or 'survival'
    aliases: tuple[str, ...] = ()  # other names of it
    # The objective in text files: one of LightGBM with the same link; None: LightGBM
    # has an objective of the same name.
    lightgbm: str | None = None
    targets: TargetRange = ANY  # the targets that it is defined for
    # The targets that it suits, for the table of docs/objectives.md. Empty: all that it
    # is defined for.
    suits: str = ""
    needs_positive_mean: bool = False  # whether a target must be above 0
    option: str | None = None  # the option that is the first parameter of the loss
    # The multiple of the option above which the loss is nearly linear; 0: none.
    linear_above: float = 0.0
    # Whether ``alpha`` is the level, between 0 and 1, of a quantile or an expectile.
    has_level: bool = False
    # The two parameters of the loss; None: the value of ``option``, and 0.
    parameters: Callable[[Settings], tuple[float, float]] | None = None
    # The default metric; None: the mean of its loss, a metric of its name.
    metric: str | None = None
    link: str = "identity"  # the kind of its ``Link``
    has_slope: bool = False  # whether the option ``sigmoid`` is the slope of the link
    # Whether ``reg_sqrt`` makes it learn the square root of the target.
    learns_roots: bool = False
    reads: str = ""  # other options that only some objectives read, separated by spaces
    # The best constant raw score, or an estimate of it, for regression.
    start: Callable[[TrainingRows, Settings], float] = _mean
    constant_hessian: bool = False  # whether the hessian is 1 everywhere
    # c such that |L'''| <= c L'', which limits the steps of leaves; None: no limit.
    self_concordance: Callable[[Settings], float | Floats] | None = None
    # The level of the percentile of residuals that replaces the value of a leaf; None:
    # leaf values are not replaced.
    renewal_level: Callable[[Settings], float] | None = None
    # Weights of the residuals in this percentile, in addition to those of the rows.
    renewal_weight: Callable[[Floats], Floats] | None = None
    # The class that computes the gradients of a ranking objective; None for others.
    ranks: type[ranking.LambdaRank] | type[ranking.RankXENDCG] | None = None
    # Whether the loss depends on sample weights other than by a factor.
    weighs_rows: bool = False
    # The power of the mean that the standard deviation of the target grows with.
    deviation_power: float = 0.0
    # The power of the mean in the variance of a deviance whose link is exp.
    variance_power: Callable[[Settings], float] | None = None
    # The distribution of the target whose parameters are the scores. The loss is the
    # negative log-likelihood.
    distribution: Distribution | None = None

    def start_with_offset(
        self, rows: TrainingRows, settings: Settings, scores: Floats
    ) -> float | None:
        """The best constant to add to start scores that the user passes.

        ``scores``, (n,), are these start scores, which GLMs call an offset. None if
        there is no formula for the constant. With the link exp, the derivative of the
        deviance by the constant c is 0 where

            exp(c) = sum(w exp((1 - power) s) y) / sum(w exp((2 - power) s)),

        which is the weighted mean of y exp(-s), for the weights w exp((2 - power) s).
        """
        if self.link == "identity":
            return self.start(replace(rows, y=rows.y - scores), settings)
        if self.variance_power is None:
            return None
        power, center = self.variance_power(settings), replace(rows, y=scores).mean()
        weight = function_kernels.exp((2.0 - power) * (scores - center))
        weight *= 1.0 if rows.weight is None else rows.weight
        relative = rows.y * function_kernels.exp(center - scores)
        constant = _log_mean(replace(rows, y=relative, weight=weight), settings)
        return constant - center

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that this objective reads, but not all objectives.

        The documentation lists them with the objective.
        """
        flags = {
            self.option: self.option is not None,
            "reg_sqrt": self.learns_roots,
            "sigmoid": self.has_slope,
        }
        return (*(str(name) for name in flags if flags[name]), *self.reads.split())

    @property
    def exists_in_lightgbm(self) -> bool:
        """Whether LightGBM has an objective of this name."""
        is_ours = self.distribution is not None or self.task == "survival"
        return self.lightgbm is None and not is_ours

    def constants(self, settings: Settings) -> tuple[float, float]:
        """The two parameters of the loss."""
        if self.parameters is not None:
            return self.parameters(settings)
        return 0.0 if self.option is None else getattr(settings, self.option), 0.0


def _distribution(name: str, **options: Any) -> ObjectiveSpec:
    """The row of a distribution's negative log-likelihood in the table.

    ``name`` is its name in `DISTRIBUTIONS`, and ``options`` are other attributes.
    """
    *others, last = DISTRIBUTIONS[name].parameters
    kind = "AFT log-likelihood" if "task" in options else "log-likelihood"
    return ObjectiveSpec(
        f"negative {kind}; learns {', '.join(others)} and {last}",
        metric="nll",
        link=name,
        self_concordance=lambda settings: np.array(
            DISTRIBUTIONS[name].self_concordance
        ),
        distribution=DISTRIBUTIONS[name],
        **options,
    )


OBJECTIVES: dict[str, ObjectiveSpec] = {
    "regression": ObjectiveSpec(
        "squared error; predicts the mean",
        aliases=(
            "regression_l2",
            "l2",
            "mean_squared_error",
            "mse",
            "l2_root",
            "root_mean_squared_error",
            "rmse",
        ),
        metric="l2",
        learns_roots=True,
        constant_hessian=True,
    ),
    "regression_l1": ObjectiveSpec(
        "absolute error; predicts the median",
        aliases=("l1", "mean_absolute_error", "mae"),
        metric="l1",
        learns_roots=True,
        start=lambda rows, settings: rows.percentile(0.5),
        constant_hessian=True,
        renewal_level=lambda settings: 0.5,
    ),
    # P. J. Huber, "Robust Estimation of a Location Parameter", 1964.
    "huber": ObjectiveSpec(
        "quadratic for errors up to `alpha`, linear for larger ones",
        suits="any numbers, with outliers",
        option="alpha",
        constant_hessian=True,
        linear_above=1.0,
    ),
    # R. C. Fair, "On the Robust Estimation of Econometric Models", 1974.
    "fair": ObjectiveSpec(
        "nearly quadratic for errors far below `fair_c`, nearly linear for far larger"
        " ones",
        suits="any numbers, with outliers",
        option="fair_c",
        linear_above=20.0,
        learns_roots=True,
        self_concordance=lambda settings: 2.0 / settings.fair_c,
    ),
    "quantile": ObjectiveSpec(
        "pinball loss; predicts the quantile `alpha`",
        option="alpha",
        has_level=True,
        learns_roots=True,
        start=lambda rows, settings: rows.percentile(settings.alpha),
        constant_hessian=True,
        renewal_level=lambda settings: settings.alpha,
    ),
    # W. K. Newey and J. L. Powell, "Asymmetric Least Squares Estimation and Testing",
    # Econometrica 55, 1987. At the level 0.5, it is 'regression'.
    "expectile": ObjectiveSpec(
        "squared error, multiplied by `alpha` if the prediction is too low and by 1 -"
        " `alpha` if it is too high; predicts the expectile `alpha`",
        lightgbm="regression",
        option="alpha",
        has_level=True,
        parameters=_expectile_parameters,
        learns_roots=True,
        start=_expectile,
    ),
    "mape": ObjectiveSpec(
        "absolute error, divided by the size of the target (at least by 1)",
        aliases=("mean_absolute_percentage_error",),
        learns_roots=True,
        start=lambda rows, settings: rows.percentile(0.5, _relative_weight(rows.y)),
        constant_hessian=True,
        renewal_level=lambda settings: 0.5,
        renewal_weight=_relative_weight,
    ),
    "poisson": ObjectiveSpec(
        "Poisson deviance; `poisson_max_delta_step` limits the steps",
        targets=NOT_NEGATIVE,
        suits=">= 0, such as counts",
        needs_positive_mean=True,
        parameters=lambda settings: (
            correct_rounding.exp(settings.poisson_max_delta_step),
            0.0,
        ),
        reads="poisson_max_delta_step",
        metric="poisson",
        link="exp",
        start=_log_mean,
        self_concordance=lambda settings: 1.0,
        deviation_power=0.5,
        variance_power=lambda settings: 1.0,
    ),
    "gamma": ObjectiveSpec(
        "gamma deviance",
        targets=POSITIVE,
        suits="> 0, such as amounts",
        link="exp",
        start=_log_mean,
        self_concordance=lambda settings: 1.0,
        deviation_power=1.0,
        variance_power=lambda settings: 2.0,
    ),
    "tweedie": ObjectiveSpec(
        "Tweedie deviance with the power `tweedie_variance_power`",
        targets=NOT_NEGATIVE,
        suits=">= 0, often 0, such as insurance claims",
        needs_positive_mean=True,
        parameters=lambda settings: (
            1.0 - settings.tweedie_variance_power,
            2.0 - settings.tweedie_variance_power,
        ),
        reads="tweedie_variance_power",
        metric="tweedie",
        link="exp",
        start=_log_mean,
        self_concordance=lambda settings: max(
            settings.tweedie_variance_power - 1.0, 2.0 - settings.tweedie_variance_power
        ),
        deviation_power=0.75,
        variance_power=lambda settings: settings.tweedie_variance_power,
    ),
    "cross_entropy": ObjectiveSpec(
        "log loss; predicts a probability",
        aliases=("xentropy",),
        targets=PROBABILITIES,
        suits="in [0, 1], such as rates",
        link="logistic",
        start=lambda rows, settings: log_odds(rows.mean()),
        self_concordance=lambda settings: 1.0,
    ),
    "cross_entropy_lambda": ObjectiveSpec(
        "log loss; predicts an intensity v: a row with weight w has the probability"
        " 1 - exp(-w v)",
        aliases=("xentlambda",),
        targets=PROBABILITIES,
        metric="cross_entropy_lambda",
        link="log1p_exp",
        start=lambda rows, settings: correct_rounding.log(
            correct_rounding.expm1(max(rows.mean(), MIN_PRIOR))
        ),
        weighs_rows=True,
        self_concordance=lambda settings: 1.0,
    ),
    "normal": _distribution("normal", aliases=("gaussian", "norm")),
    "lognormal": _distribution("lognormal", aliases=("lognorm",), targets=POSITIVE),
    "student": _distribution(
        "student", aliases=("student_t", "t"), suits="any numbers, with outliers"
    ),
    "gamma_distribution": _distribution(
        "gamma_distribution", targets=POSITIVE, suits="> 0, such as amounts"
    ),
    "negative_binomial": _distribution(
        "negative_binomial",
        aliases=("nbinom",),
        targets=COUNTS,
        needs_positive_mean=True,
    ),
    "beta": _distribution("beta", targets=PROPORTIONS),
    "cox": ObjectiveSpec(
        "Cox's partial likelihood; predicts the logarithm of a relative hazard",
        "survival",
        suits="event times, some of them censored",
        metric="cox_nll",
        self_concordance=lambda settings: 1.0,
    ),
    "cox_efron": ObjectiveSpec(
        "'cox' with Efron's likelihood for tied event times",
        "survival",
        suits="as for 'cox', with many equal times",
        metric="cox_nll",
        self_concordance=lambda settings: 1.0,
    ),
    **{
        f"aft_{base}": _distribution(
            f"aft_{base}",
            task="survival",
            aliases=("aft",) if base == "normal" else (),
            suits="as for 'cox', or interval-censored times",
        )
        for base in ("normal", "logistic", "extreme")
    },
    "binary": ObjectiveSpec(
        "log loss",
        "classification",
        suits="2 classes",
        metric="binary_logloss",
        link="logistic",
        has_slope=True,
        reads="is_unbalance scale_pos_weight pos_bagging_fraction neg_bagging_fraction",
        self_concordance=lambda settings: settings.sigmoid,
    ),
    "multiclass": ObjectiveSpec(
        "multinomial log loss (softmax)",
        "classification",
        aliases=("softmax",),
        suits="3 or more classes",
        metric="multi_logloss",
        link="softmax",
        # Two scores of a row may change in opposite directions, each by the longest
        # step.
        self_concordance=lambda settings: 2.0,
    ),
    "multiclassova": ObjectiveSpec(
        "log loss of each class against all others",
        "classification",
        aliases=("multiclass_ova", "ova", "ovr"),
        suits="3 or more classes",
        metric="multi_logloss",
        link="logistic",
        has_slope=True,
        reads="is_unbalance scale_pos_weight",
        self_concordance=lambda settings: settings.sigmoid,
    ),
    "lambdarank": ObjectiveSpec(
        "pairwise loss, weighted by how much swapping two documents changes NDCG",
        "ranking",
        suits="grades of documents",
        metric="ndcg",
        ranks=ranking.LambdaRank,
        reads="sigmoid lambdarank_truncation_level lambdarank_norm"
        " lambdarank_position_bias_regularization label_gain",
        self_concordance=lambda settings: 2.0 * settings.sigmoid,
    ),
    "rank_xendcg": ObjectiveSpec(
        "cross-entropy loss that bounds NDCG",
        "ranking",
        suits="grades of documents",
        aliases=("xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart"),
        metric="ndcg",
        ranks=ranking.RankXENDCG,
        self_concordance=lambda settings: 2.0,
    ),
}

# --- Names and links ------------------------------------------------------------------

ALIASES: dict[str, str] = {
    alias: name for name, spec in OBJECTIVES.items() for alias in (name, *spec.aliases)
}

# LightGBM's names for an objective that is not built in, and for no metric.
NOT_BUILT_IN = ("none", "null", "custom", "na")


def canonical_name(objective: str) -> str:
    """The name in ``OBJECTIVES`` of a name or alias in any case; else ValueError."""
    lower = objective.lower() if isinstance(objective, str) else None
    if lower in NOT_BUILT_IN:
        raise ValueError(
            f"objective={objective!r} means a custom objective: pass a function that "
            "returns the gradient and the hessian."
        )
    if lower not in ALIASES:
        instead = did_you_mean(other_libraries.OBJECTIVES.get(str(lower), "").split())
        # CatBoost's names have parameters after a colon, as in 'Quantile:alpha=0.9'.
        advice = instead or hint(str(lower).partition(":")[0], ALIASES)
        raise ValueError(
            f"objective={objective!r} is not known.{advice} Use a function or one of"
            f" {', '.join(OBJECTIVES)}."
        )
    return ALIASES[lower]


def check_queries(name: str, has_queries: bool) -> None:
    """Check that a ranking objective has queries; ValueError otherwise."""
    if OBJECTIVES[name].task == "ranking" and not has_queries:
        raise ValueError(
            f"objective={name!r} is for ranking and needs queries: pass them, or use "
            "LGBMRanker."
        )


def make_link(
    objective: str | Callable[..., Any], sigmoid: float = 1.0, reg_sqrt: bool = False
) -> Link:
    """Make the link of an objective, which is a canonical name or a function.

    The link returns means, quantiles, or the probabilities of the K classes (for
    'binary', of the second class). For a function, predictions are raw scores.
    ``sigmoid`` and ``reg_sqrt`` are the options of these names.
    """
    if callable(objective):
        return Link()
    spec = OBJECTIVES[objective]
    if reg_sqrt and spec.learns_roots:
        return Link("signed_square")
    return Link(spec.link, sigmoid if spec.has_slope else 1.0)


def spec_of(objective: str) -> ObjectiveSpec:
    """The row of the table of an objective of any name."""
    return OBJECTIVES[canonical_name(objective)]


def is_survival(objective: Any) -> bool:
    """Whether the targets of an objective of any name are event times."""
    return isinstance(objective, str) and spec_of(objective).task == "survival"


def lightgbm_text(name: str, sigmoid: float, reg_sqrt: bool, n_scores: int) -> str:
    """The objective and its constants in LightGBM's text files: 'binary sigmoid:1'.

    ``name`` is the canonical name, ``sigmoid`` and ``reg_sqrt`` are options, and
    ``n_scores`` is the number of scores of a row. Empty for distributions and survival,
    so that LightGBM predicts the scores.
    """
    spec = OBJECTIVES[name]
    if spec.distribution is not None or spec.task == "survival":
        return ""
    words = [spec.lightgbm or name]
    if name in ("multiclass", "multiclassova"):
        words.append(f"num_class:{n_scores}")
    if spec.has_slope:
        words.append(f"sigmoid:{sigmoid:g}")
    if reg_sqrt and spec.learns_roots:
        words.append("sqrt")
    return " ".join(words)


def readable_for_lightgbm(objective: Any, link: Link) -> str | None:
    """The objective in a text file with which LightGBM predicts several outputs.

    LightGBM applies the links of most objectives to the first score alone. So it needs
    one that has no link, or one that has the same link for each score. None if there is
    no such objective: then LightGBM predicts raw scores. ``objective`` is a tuple if
    those of the outputs differ.
    """
    if link.kind == "logistic" and objective == "binary":
        return "multiclassova"
    return objective if link.kind == "identity" and isinstance(objective, str) else None
