"""Metrics of evaluation sets: their functions, their table, and those of a fit.

A metric is a function and a row of the table ``METRICS``. The function takes an
`EvalData` and the settings of a fit. It returns the value for the rows of all
processes; ranking metrics return the value of each query of this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import fsum, isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.objectives import (
    loss_kernels,
    metric_kernels,
)
from skgoss._engine.objectives.ranking_kernels import (
    average_precision as precision_of_queries,
)
from skgoss.objectives import ranking
from skgoss.objectives.distributions import kernel_target
from skgoss.objectives.eval_data import EvalData
from skgoss.objectives.link import Link
from skgoss.objectives.objectives import (
    ANY,
    OBJECTIVES,
    POSITIVE,
    PROBABILITIES,
    TargetRange,
    spec_of,
)
from skgoss.objectives.survival_metrics import brier, concordance, cox_nll
from skgoss.objectives.user_functions import (
    UserFunction,
    call_with_dataset,
    check_takes_dataset,
    name_of,
    predictions,
)
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import warn

Floats = NDArray[np.float64]


# --- Functions ------------------------------------------------------------------------


def _sum(loss: str, data: EvalData, parameter: float = 0.0) -> float:
    """The weighted sum of a loss over the rows of all processes, rounded once.

    ``loss`` is its name in the kernels, and ``parameter`` the number that it takes.
    """
    total = loss_kernels.sum_values(
        loss_kernels.VALUES[loss],
        data.y,
        data.scores[0],
        data.weight,
        parameter,
        data.n_threads,
    )
    return data.summed(total)


def mean_loss(
    loss: str, parameter: str | None = None
) -> Callable[[EvalData, Settings], float]:
    """The metric that is the mean of a loss.

    ``loss`` is its name in the kernels. ``parameter`` is the name of the option whose
    value the loss takes, such as 'alpha'; None: it takes none.
    """

    def compute(data: EvalData, settings: Settings) -> float:
        value = 0.0 if parameter is None else getattr(settings, parameter)
        return _sum(loss, data, value) / data.total_weight

    return compute


def intervals(levels: Sequence[float]) -> list[tuple[int, int, float]]:
    """The intervals between pairs of quantiles, from the widest to the narrowest.

    Returns the numbers of both quantiles, and the nominal coverage: the levels 0.1, 0.5
    and 0.9 have the interval (0, 2, 0.8).
    """
    last = len(levels) - 1
    pairs = [(i, last - i) for i in range(len(levels) // 2)]
    return [(low, high, levels[high] - levels[low]) for low, high in pairs]


def interval_coverage(data: EvalData, settings: Settings) -> list[float]:
    """The proportion of targets inside each of the `intervals`."""
    y, scores, pairs = data.y, data.scores, intervals(settings.alpha)
    return [
        data.mean(((scores[low] <= y) & (y <= scores[high])) * 1.0)
        for low, high, _ in pairs
    ]


def interval_width(data: EvalData, settings: Settings) -> list[float]:
    """The mean width of each of the `intervals`."""
    return [
        data.mean(data.scores[high] - data.scores[low])
        for low, high, _ in intervals(settings.alpha)
    ]


def rmse(data: EvalData, settings: Settings) -> float:
    """The square root of the mean squared error."""
    return float(np.sqrt(_sum("l2", data) / data.total_weight))


def r2(data: EvalData, settings: Settings) -> float:
    """The coefficient of determination.

    If all targets are equal, it is 1 for perfect predictions and 0 for others, as
    scikit-learn's ``r2_score``.
    """

    def sum_of_squares() -> float:
        means = np.full((1, len(data.y)), data.mean(data.y))
        return _sum("l2", data._replace(scores=means))

    residual, total = _sum("l2", data), data.cached("squares", sum_of_squares)
    if total > 0:
        return 1.0 - residual / total
    return 0.0 if residual > 0 else 1.0


def tweedie(data: EvalData, settings: Settings) -> float:
    """The mean Tweedie loss; for a power of 1, the mean Poisson loss."""
    power = settings.tweedie_variance_power
    loss = "tweedie" if power > 1 else "poisson"
    return _sum(loss, data, power) / data.total_weight


def gamma_deviance(data: EvalData, settings: Settings) -> float:
    """The sum of the deviances of the rows, as in LightGBM, not their mean."""
    return _sum("gamma_deviance", data)


def kullback_leibler(data: EvalData, settings: Settings) -> float:
    """The mean divergence: the cross entropy minus the entropy of the targets."""
    entropy = data.cached("entropy", lambda: _sum("entropy", data))
    return (_sum("cross_entropy", data) - entropy) / data.total_weight


def cross_entropy_lambda(data: EvalData, settings: Settings) -> float:
    """The mean log loss of rows whose weight is a number of trials.

    So a weight is a part of the loss, not a factor of it.
    """
    if data.weight is not None:
        data = data._replace(scores=data.scores * data.weight, weight=None)
    return _sum("cross_entropy_lambda", data) / data.total_weight


def nll(data: EvalData, settings: Settings) -> float:
    """The mean negative log-likelihood of the objective's distribution."""
    kind = loss_kernels.DISTRIBUTIONS[settings.objective]
    target = data.cached("kernel target", lambda: kernel_target(data.y))
    total = loss_kernels.sum_by_distribution(
        kind, target, data.scores, data.weight, data.n_threads
    )
    return data.summed(total) / data.total_weight


def crps(data: EvalData, settings: Settings) -> float:
    """The mean of `Distribution.crps`."""
    distribution = spec_of(str(settings.objective)).distribution
    assert distribution is not None
    return data.mean(distribution.crps(data.y, data.scores))


def multi_logloss(data: EvalData, settings: Settings) -> float:
    """The mean negative logarithm of the probability of the right class."""
    return _mean_class_loss(data, 0)


def multi_error(data: EvalData, settings: Settings) -> float:
    """The proportion of rows whose class is not among the top k predictions."""
    return _mean_class_loss(data, settings.multi_error_top_k)


def _mean_class_loss(data: EvalData, top_k: int) -> float:
    """The mean top-k error, or the mean log loss for ``top_k`` = 0."""
    if data.y.ndim == 1:
        total = loss_kernels.sum_by_class(
            data.y, data.scores, data.weight, top_k, data.n_threads
        )
        return data.summed(total) / data.total_weight
    # Soft labels count as copies of the row, whose weights they are.
    codes, weights = data.cached("class by class", data.copies_by_class)
    totals = [
        loss_kernels.sum_by_class(code, data.scores, weight, top_k, data.n_threads)
        for code, weight in zip(codes, weights, strict=True)
    ]
    return data.summed(np.sum(totals, axis=0)) / data.total_weight


def on_first_process(
    compute: Callable[[EvalData, Settings], float],
) -> Callable[[EvalData, Settings], float]:
    """A metric that the first process computes from the rows of all processes."""
    return lambda data, settings: data.on_all_rows(lambda rows: compute(rows, settings))


@on_first_process
def auc(data: EvalData, settings: Settings) -> float:
    """The area under the ROC curve; NaN if a class has no rows."""
    return metric_kernels.auc(data.y, data.scores[0], data.weight, data.n_threads)


@on_first_process
def average_precision(data: EvalData, settings: Settings) -> float:
    """The area under the precision-recall curve, as a sum of steps."""
    return metric_kernels.average_precision(
        data.y, data.scores[0], data.weight, data.n_threads
    )


@on_first_process
def auc_mu(data: EvalData, settings: Settings) -> float:
    """The mean AUC over all pairs (i, j) of classes that have rows.

    With ``auc_mu_weights`` A and v = A_i - A_j, the rows of both classes are ranked by
    (v_i - v_j) v . scores. R. Kleiman and D. Page, "AUC mu: A Performance Metric for
    Multi-Class Machine Learning Models", ICML 2019, equations 3 to 7.
    """
    n_classes = len(data.scores)
    costs = _auc_mu_costs(settings.auc_mu_weights, n_classes)
    order, ends = data.cached("classes", partial(_rows_by_class, data.y, n_classes))
    scores = np.split(data.scores[:, order], ends, axis=1)
    weights = None if data.weight is None else np.split(data.weight[order], ends)
    areas = []
    for i, j in combinations(range(n_classes), 2):
        direction = costs[i] - costs[j]
        direction *= direction[i] - direction[j]
        is_i = np.repeat([1.0, 0.0], [scores[k].shape[1] for k in (i, j)])
        distance = np.concatenate([_projected(direction, scores[k]) for k in (i, j)])
        weight = None if weights is None else np.concatenate([weights[i], weights[j]])
        area = metric_kernels.auc(is_i, distance, weight, data.n_threads)
        if not isnan(area):
            areas.append(area)
    return fsum(areas) / len(areas) if areas else nan


def _rows_by_class(
    y: Floats, n_classes: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows sorted by class, and where each class but the last ends.

    The rows of a pair of classes are then two slices.
    """
    code = y.astype(np.int64)
    order = np.argsort(code.astype(np.min_scalar_type(n_classes)), kind="stable")
    return order, np.cumsum(np.bincount(code, minlength=n_classes))[:-1]


def _projected(direction: Floats, scores: Floats) -> Floats:
    """The dot product of ``direction`` and each row's scores, in a fixed order.

    ``scores`` has the shape (n_scores, n).
    """
    distance = np.zeros(scores.shape[1])
    for k in np.flatnonzero(direction):
        distance += direction[k] * scores[k]
    return distance


def _auc_mu_costs(weights: Sequence[float] | None, n_classes: int) -> Floats:
    """The matrix A of `auc_mu`, with zeros on its diagonal; by default, all 1."""
    if weights is None:
        return 1.0 - np.eye(n_classes)
    if len(weights) != n_classes**2:
        raise ValueError(
            f"auc_mu_weights must have {n_classes**2} numbers for {n_classes} classes"
            f" (a matrix, row by row), got {len(weights)}."
        )
    costs = np.array(weights, dtype=np.float64).reshape(n_classes, n_classes)
    np.fill_diagonal(costs, 0.0)
    return costs


def ndcg(data: EvalData, settings: Settings, *, averages_ties: bool = True) -> Floats:
    """NDCG of each query, (n_levels, n_queries); NaN for queries without gains.

    The levels k of NDCG@k are ``eval_at``. ``averages_ties``: documents with equal
    scores count as the mean over their orders, else in the order of their rows.
    """

    def graded_queries() -> ranking.GradedQueries:
        assert data.boundaries is not None
        gain = ranking.gains(
            data.y, settings.label_gain, name="The target of an evaluation set"
        )
        return ranking.GradedQueries(
            gain, data.boundaries, settings.eval_at, data.n_threads
        )

    queries = data.cached(("ndcg", settings.eval_at), graded_queries)
    return queries.ndcg(
        data.scores[0], averages_ties=averages_ties, n_threads=data.n_threads
    )


def mean_average_precision(
    data: EvalData, settings: Settings, *, averages_ties: bool = True
) -> Floats:
    """Average precision of each query, (n_levels, n_queries).

    Documents with a label above 0.5 are relevant. For the rest see `ndcg`.
    """
    assert data.boundaries is not None
    levels = np.array(settings.eval_at, dtype=np.int64)
    precision = np.empty((len(levels), len(data.boundaries) - 1))
    precision_of_queries(
        data.scores[0],
        data.cached("relevant", lambda: (data.y > 0.5).astype(np.uint8)),
        data.boundaries,
        levels,
        averages_ties,
        data.n_threads,
        precision,
    )
    return precision


# --- The table ------------------------------------------------------------------------


@dataclass(frozen=True)
class MetricSpec:
    """One row of the table of metrics."""

    # Ranking metrics return an array of shape (n_levels, n_queries).
    compute: Callable[[EvalData, Settings], Any]
    # Other names, in addition to those of the objectives whose metric it is.
    aliases: tuple[str, ...] = ()
    maximize: bool = False  # whether higher is better
    # Whether it is computed from raw scores instead of predictions: only their order
    # matters, or they are parameters of a distribution.
    uses_raw_scores: bool = False
    # 'regression' or 'binary': one score per row; 'multiclass': more than two classes;
    # 'ranking'; 'quantiles': several quantiles of one target; 'likelihood' or
    # 'distribution'; 'survival' or 'cox'.
    task: str = "regression"
    targets: TargetRange = ANY  # the targets that it is defined for
    options: tuple[str, ...] = ()  # the options that it reads


def _ranking_metric(
    compute: Callable[..., Floats], *aliases: str, options: tuple[str, ...]
) -> MetricSpec:
    """The row of a ranking metric."""
    return MetricSpec(
        compute,
        aliases,
        maximize=True,
        uses_raw_scores=True,
        task="ranking",
        options=options,
    )


_NDCG_OPTIONS = "eval_at", "label_gain"


METRICS: dict[str, MetricSpec] = {
    "l2": MetricSpec(mean_loss("l2")),
    "rmse": MetricSpec(rmse, ("root_mean_squared_error", "l2_root")),
    "l1": MetricSpec(mean_loss("l1")),
    # The mean loss of an objective without ``metric`` is a metric with its name.
    **{
        name: MetricSpec(
            mean_loss(name, spec.option),
            targets=spec.targets,
            options=() if spec.option is None else (spec.option,),
        )
        for name, spec in OBJECTIVES.items()
        if spec.metric is None
    },
    "interval_coverage": MetricSpec(
        interval_coverage,
        maximize=True,
        task="quantiles",
        options=("alpha",),
    ),
    "interval_width": MetricSpec(interval_width, task="quantiles", options=("alpha",)),
    "poisson": MetricSpec(mean_loss("poisson")),
    "tweedie": MetricSpec(tweedie, options=("tweedie_variance_power",)),
    "gamma_deviance": MetricSpec(gamma_deviance, targets=POSITIVE),
    "r2": MetricSpec(r2, maximize=True),
    "binary_logloss": MetricSpec(mean_loss("binary_logloss"), task="binary"),
    "binary_error": MetricSpec(mean_loss("binary_error"), task="binary"),
    "auc": MetricSpec(auc, maximize=True, uses_raw_scores=True, task="binary"),
    "average_precision": MetricSpec(
        average_precision, maximize=True, uses_raw_scores=True, task="binary"
    ),
    "cross_entropy_lambda": MetricSpec(
        cross_entropy_lambda, task="binary", targets=PROBABILITIES
    ),
    "kullback_leibler": MetricSpec(
        kullback_leibler, ("kldiv",), task="binary", targets=PROBABILITIES
    ),
    "nll": MetricSpec(nll, uses_raw_scores=True, task="likelihood"),
    "crps": MetricSpec(crps, uses_raw_scores=True, task="distribution"),
    "cox_nll": MetricSpec(cox_nll, uses_raw_scores=True, task="cox"),
    "concordance": MetricSpec(
        concordance,
        ("c_index", "cindex", "concordance_index"),
        maximize=True,
        uses_raw_scores=True,
        task="survival",
    ),
    "brier": MetricSpec(
        brier, ("integrated_brier",), uses_raw_scores=True, task="survival"
    ),
    "multi_logloss": MetricSpec(multi_logloss, task="multiclass"),
    "multi_error": MetricSpec(
        multi_error, task="multiclass", options=("multi_error_top_k",)
    ),
    "auc_mu": MetricSpec(
        auc_mu,
        maximize=True,
        uses_raw_scores=True,
        task="multiclass",
        options=("auc_mu_weights",),
    ),
    "ndcg": _ranking_metric(ndcg, options=_NDCG_OPTIONS),
    "map": _ranking_metric(
        mean_average_precision,
        "mean_average_precision",
        options=("eval_at",),
    ),
    # LightGBM ranks documents with equal scores in the order of their rows.
    "ndcg_lightgbm": _ranking_metric(
        partial(ndcg, averages_ties=False), options=_NDCG_OPTIONS
    ),
    "map_lightgbm": _ranking_metric(
        partial(mean_average_precision, averages_ties=False),
        options=("eval_at",),
    ),
}


# The targets that metrics of two classes are for.
_LABELS = TargetRange("in [-1, 1]", -1.0, 1.0)


# --- Metrics of a fit -----------------------------------------------------------------


class Result(NamedTuple):
    """One value of a metric."""

    name: str
    value: float
    maximize: bool


class Metric:
    """A metric of the table, with the options that it depends on.

    ``link`` is the function from raw scores to ``EvalData.scores``; None: the metric
    uses raw scores.
    """

    def __init__(self, name: str, settings: Settings, link: Link | None = None) -> None:
        self.name = name
        self.spec = METRICS[name]
        self.settings = settings
        self.link = None if self.spec.uses_raw_scores else link
        top_k = settings.multi_error_top_k
        # The name in results. Metrics of rankings and quantiles add levels to it.
        self._title = name
        if name == "multi_error" and top_k > 1:
            self._title += f"@{top_k}"

    def __call__(self, data: EvalData) -> list[Result]:
        """The values: one for each ranking level or interval, one for other metrics.

        ValueError if the metric is not defined for the targets, or all weights are 0.
        """
        if data.y.ndim == 2:
            data = self._of_soft_labels(data)
        if self.spec.targets is not ANY:
            data.cached(("targets", self.name), partial(self._check_targets, data))
        elif self.spec.task == "binary":
            data.cached(("labels", self.name), partial(self._check_labels, data))
        values, maximize = self.spec.compute(data, self.settings), self.spec.maximize
        if self.spec.task not in ("ranking", "quantiles"):
            return [Result(self._title, float(values), maximize)]
        return [
            Result(name, float(value), maximize)
            for name, value in self._by_level(values, data)
        ]

    def _of_soft_labels(self, data: EvalData) -> EvalData:
        """The data of a metric, if the target has the probabilities of classes.

        Metrics of labels get copies of the rows, with the classes as labels and the
        probabilities as weights. With two classes, metrics of numbers get the
        probability of the second one. Bounds of event times stay as they are.
        """
        task, by_class = self.spec.task, (multi_logloss, multi_error)
        is_label = task in ("binary", "multiclass") and self.spec.targets is ANY
        if is_label and self.spec.compute not in by_class:
            return data.as_copies()
        if is_label or task not in ("binary", "regression"):
            return data
        y, cache = data.cached("second class", lambda: (data.y[:, 1].copy(), {}))
        return data._replace(y=y, cache=cache)

    def _check_targets(self, data: EvalData) -> None:
        """Check that the metric is defined for the targets; ValueError otherwise."""
        targets = self.spec.targets
        outside = targets.outside(data.y, data.collectives)
        if outside is not None:
            low, high = outside
            raise ValueError(
                f"metric {self.name!r} needs y {targets.description}, but y of an"
                f" evaluation set ranges from {low:g} to {high:g}."
            )

    def _check_labels(self, data: EvalData) -> None:
        """Warn if numbers are not labels, 0 and 1 or -1 and 1, or probabilities."""
        outside = _LABELS.outside(data.y, data.collectives)
        if outside is not None:
            low, high = outside
            warn(
                f"metric {self.name!r} is for two classes, and counts y > 0 as the"
                f" second one, but y of an evaluation set ranges from {low:g} to"
                f" {high:g}. For numbers, use a metric such as 'l2'."
            )

    def _by_level(self, values: Any, data: EvalData) -> Iterable[tuple[str, float]]:
        """The names and values of a metric with levels, such as 'ndcg@5'.

        ``values`` are those of ``spec.compute``: one for each interval, or for each
        level and query, whose mean over the queries is taken.
        """
        if self.spec.task == "ranking":
            weight = data.cached("query weights", data.query_weights)
            values = data.gather_query_values(values)
            means = ranking.means_over_queries(values, weight)
            names = [f"{self.name}@{k}" for k in self.settings.eval_at]
            return zip(names, means, strict=True)
        pairs = intervals(self.settings.alpha)
        names = [f"{self.name}@{coverage:g}" for _, _, coverage in pairs]
        return zip(names, values, strict=True)


class CustomMetric:
    """A metric that the user passes as a function: see `UserFunction`.

    The function returns ``(name, value, is_higher_better)`` or a list of such tuples.
    ``y_pred`` has the shape (n,), or (n, n_classes) for more than two classes. If
    several processes hold the rows, the first one gathers all rows and calls the
    function. ``link`` is the function from raw scores to ``y_pred``; None: ``y_pred``
    are raw scores.
    """

    def __init__(self, function: Callable[..., Any], link: Link | None = None) -> None:
        self.function: Callable[..., Any] = UserFunction(function, "eval")
        self.link = link
        self.name = name_of(function)

    def __call__(self, data: EvalData) -> list[Result]:
        """The values that the function returns."""
        return data.on_all_rows(self._results)

    def _results(self, data: EvalData) -> list[Result]:
        """The checked results of a call with these rows."""
        returned = self._returned(data)
        results = returned if isinstance(returned, list) else [returned]
        return [self._checked(result) for result in results]

    def _returned(self, data: EvalData) -> Any:
        """What the function returns; it gets copies, as it may write to them."""
        weight = None if data.weight is None else data.weight.copy()
        sizes = None if data.boundaries is None else np.diff(data.boundaries)
        return self.function(data.y.copy(), data.scores, weight, sizes)

    def _checked(self, result: Any) -> Result:
        """A result as a `Result`; ValueError if it has the wrong form."""
        if isinstance(result, tuple | list) and len(result) == 3:
            name, value, maximize = result
            # The value may be a number of Python or NumPy, or a 0-dimensional array.
            if (
                isinstance(name, str)
                and np.ndim(value) == 0
                and np.asarray(value).dtype.kind in "biuf"
                and np.asarray(maximize).dtype.kind in "bi"
            ):
                return Result(name, float(value), bool(maximize))
        raise ValueError(
            f"The metric function {self.name!r} must return (name, value,"
            f" is_higher_better) or a list of such tuples, got {result!r}."
        )


class DatasetMetric(CustomMetric):
    """A metric ``f(predictions, dataset)``: see `CustomMetric`."""

    def __init__(self, function: Callable[..., Any], link: Link | None = None) -> None:
        check_takes_dataset(function, "metric")
        self.function = function
        self.link = link
        self.name = name_of(function)

    def _returned(self, data: EvalData) -> Any:
        what = f"the metric function {self.name!r}"
        predicted = predictions(data.scores)
        return call_with_dataset(self.function, what, predicted, data.source)
