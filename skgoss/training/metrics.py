"""Metrics of evaluation sets, with LightGBM's names and definitions.

``METRICS`` is the table of metrics. ``make`` turns names into `Metric` objects, which
compute values from targets and scores.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training import exact_sum, metrics
from skgoss._engine.training.ranking import average_precision
from skgoss.data.collectives import ALONE, Collectives
from skgoss.data.row_partition import RowPartition
from skgoss.data.sparse import INT32_MAX
from skgoss.training import objectives, ranking
from skgoss.training.objectives import Link
from skgoss.training.user_functions import UserFunction, name_of, predictions
from skgoss.utils.messages import UnusedParameterWarning, hint, warn

if TYPE_CHECKING:
    from skgoss.parameters.settings import Settings

Floats = NDArray[np.float64]

# The largest k of NDCG@k and MAP@k.
MOST_DOCUMENTS = INT32_MAX

# Of fewer rows of all processes, the first process computes the area under the ROC
# curve.
FEW_PAIRED = 50000

# How many scores of each process tell in which ranges they lie, about.
TRIED_SCORES = 1024


class Result(NamedTuple):
    """One value of a metric."""

    name: str
    value: float
    maximize: bool


class Sample(NamedTuple):
    """The data that a metric is computed from.

    Attributes
    ----------
    y : ndarray of shape (n,), float64
        The target: numbers, codes of classes, or grades.
    scores : ndarray of shape (n_scores, n), float64
        Raw scores or predictions: see `MetricKind`.
    weight : ndarray of shape (n,), float64, or None
    boundaries : ndarray of shape (n_queries + 1,), int64, or None
        The first row of each query, and the number of rows; rows are sorted by query.
    n_threads : int
    source : object
        What functions of users get in place of targets: see `Rows`.
    kept : dict or None
        What `once` found for the same targets and weights; None: nothing is kept.
    partition : RowPartition or None
        Which of the rows of all processes these are; None: all.
    queries : RowPartition or None
        Which of the queries of all processes these are; None: all.
    """

    y: Floats
    scores: Floats
    weight: Floats | None
    boundaries: NDArray[np.int64] | None
    n_threads: int
    source: Any = None
    kept: dict[Any, Any] | None = None
    partition: RowPartition | None = None
    queries: RowPartition | None = None

    @property
    def collectives(self) -> Collectives:
        """The collective operations of the processes that hold the rows."""
        return ALONE if self.partition is None else self.partition.collectives

    def of_all(self, measure: Callable[[Sample], Any]) -> Any:
        """What a function finds for the rows of all processes, in order.

        The first process alone gets them and calls the function.
        """
        if self.partition is None or self.partition.is_alone:
            return measure(self)
        known = self.once("all rows", self._on_first)
        scores = self.partition.gather_on_first(self.scores)
        return self.collectives.broadcast(
            lambda: measure(known._replace(scores=scores))
        )

    def _on_first(self) -> Sample:
        """The sample of all rows, but for its scores; of use on the first process."""
        partition, boundaries = self.partition, self.boundaries
        if boundaries is not None:
            sizes = self.queries.gather_on_first(np.diff(boundaries))
            boundaries = np.append(0, np.cumsum(sizes))
        return self._replace(
            y=partition.gather_on_first(self.y),
            weight=None
            if self.weight is None
            else partition.gather_on_first(self.weight),
            boundaries=boundaries,
            kept=None if self.kept is None else {},
            partition=None,
            queries=None,
        )

    def of_all_queries(self, values: Floats) -> Floats:
        """The values of the queries of all processes, along the last axis, in order."""
        return values if self.queries is None else self.queries.all_gather(values)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` returns, which must depend on targets and weights alone."""
        if self.kept is None:
            return make()
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    @property
    def mass(self) -> float:
        """The sum of the weights.

        Raises
        ------
        ValueError
            If all weights are 0.
        """
        mass = self.once(("mass", self.weight is None), self._sum_of_weights)
        if not mass > 0:
            raise ValueError(
                "An evaluation set has no row of positive weight. Pass other weights or"
                " leave the set out."
            )
        return mass

    def _sum_of_weights(self) -> float:
        if self.weight is None:
            return float(self.collectives.total(len(self.y)))
        return exact_sum.weighted_sum(self.weight, collectives=self.collectives)


# --- Values of metrics ----------------------------------------------------------------


def _sum(loss: str, sample: Sample, parameter: float = 0.0) -> float:
    """The weighted sum of a loss over the rows of all processes, rounded once."""
    own = metrics.pointwise(
        metrics.LOSSES[loss],
        sample.y,
        sample.scores[0],
        sample.weight,
        parameter,
        sample.n_threads,
    )
    return exact_sum.rounded(sample.collectives.all_reduce(own))


def _mean_of(
    loss: str, parameter: str | None = None
) -> Callable[[Sample, Settings], float]:
    def measure(sample: Sample, settings: Settings) -> float:
        value = 0.0 if parameter is None else getattr(settings, parameter)
        return _sum(loss, sample, value) / sample.mass

    return measure


def _rmse(sample: Sample, settings: Settings) -> float:
    return float(np.sqrt(_sum("l2", sample) / sample.mass))


def _r2(sample: Sample, settings: Settings) -> float:

    def about_mean() -> float:
        total = exact_sum.weighted_sum(sample.y, sample.weight, sample.collectives)
        mean = total / sample.mass
        return _sum("l2", sample._replace(scores=np.full((1, len(sample.y)), mean)))

    rest, total = _sum("l2", sample), sample.once("squares", about_mean)
    if total > 0:
        return 1.0 - rest / total
    return 0.0 if rest > 0 else 1.0


def _tweedie(sample: Sample, settings: Settings) -> float:
    power = settings.tweedie_variance_power
    loss = "tweedie" if power > 1 else "poisson"
    return _sum(loss, sample, power) / sample.mass


def _gamma_deviance(sample: Sample, settings: Settings) -> float:
    return _sum("gamma_deviance", sample)


def _kullback_leibler(sample: Sample, settings: Settings) -> float:
    entropy = sample.once("entropy", lambda: _sum("entropy", sample))
    return (_sum("cross_entropy", sample) - entropy) / sample.mass


def _cross_entropy_lambda(sample: Sample, settings: Settings) -> float:
    """Weights are part of the loss: they are numbers of trials."""
    if sample.weight is not None:
        sample = sample._replace(scores=sample.scores * sample.weight, weight=None)
    return _sum("cross_entropy_lambda", sample) / sample.mass


def _multi_logloss(sample: Sample, settings: Settings) -> float:
    return _by_class(sample, 0)


def _multi_error(sample: Sample, settings: Settings) -> float:
    return _by_class(sample, settings.multi_error_top_k)


def _by_class(sample: Sample, top_k: int) -> float:
    y, scores, weight, _, n_threads, *_ = sample
    own = metrics.by_class(y, scores, weight, top_k, n_threads)
    return exact_sum.rounded(sample.collectives.all_reduce(own)) / sample.mass


def _of_all(
    measure: Callable[[Sample, Settings], float],
) -> Callable[[Sample, Settings], float]:
    """A metric that is measured on the rows of all processes at once."""
    return lambda sample, settings: sample.of_all(partial(measure, settings=settings))


def _auc(sample: Sample, settings: Settings) -> float:
    partition = sample.partition
    if partition is None or partition.is_alone:
        return _auc_of_one(sample)
    if sample.weight is not None or partition.n_rows < FEW_PAIRED:
        return sample.of_all(_auc_of_one)
    return _distributed_auc(sample)


def _auc_of_one(sample: Sample) -> float:
    y, scores, weight, _, n_threads, *_ = sample
    return metrics.auc(y, scores[0], weight, n_threads)


def _distributed_auc(sample: Sample) -> float:
    """The area of the rows of all processes, each of which gets a range of scores."""
    collectives, y, score = sample.collectives, sample.y, sample.scores[0]
    n_ranks = collectives.n_ranks
    step = -(-sample.partition.n_rows // (n_ranks * TRIED_SCORES))
    tried = np.sort(np.concatenate(collectives.all_gather(score[::step].copy())))
    splitters = tried[len(tried) * np.arange(1, n_ranks) // n_ranks]
    # Equal scores are in the same range.
    scores, start = metrics.scores_by_range(y, score, splitters)
    parts = np.split(scores, start[1:-1])
    given = collectives.all_to_all(list(zip(parts[::2], parts[1::2], strict=True)))
    scores = [part for parts in given for part in parts]
    is_positive = np.repeat([1.0, 0.0] * n_ranks, [len(part) for part in scores])
    counts = metrics.ordered_pairs(
        is_positive, np.concatenate(scores), sample.n_threads
    )
    total = n_positive = n_negative = 0
    for pairs, own_positive, own_negative in collectives.all_gather(counts):
        total += pairs + 2 * own_positive * n_negative
        n_positive += own_positive
        n_negative += own_negative
    return metrics.share_of_pairs(total, n_positive, n_negative)


def _average_precision(sample: Sample, settings: Settings) -> float:
    y, scores, weight, _, n_threads, *_ = sample
    return metrics.average_precision(y, scores[0], weight, n_threads)


def _auc_mu(sample: Sample, settings: Settings) -> float:
    """Kleiman and Page, "AUC mu", ICML 2019, equations 3 to 7."""
    n_classes = len(sample.scores)
    costs = _costs(settings.auc_mu_weights, n_classes)
    order, ends = sample.once("classes", partial(_by_own_class, sample.y, n_classes))
    scores = np.split(sample.scores[:, order], ends, axis=1)
    weights = None if sample.weight is None else np.split(sample.weight[order], ends)
    pairs = list(combinations(range(n_classes), 2))
    total = 0.0
    for i, j in pairs:
        direction = costs[i] - costs[j]
        direction *= direction[i] - direction[j]
        of_i = np.repeat([1.0, 0.0], [scores[k].shape[1] for k in (i, j)])
        distance = np.concatenate([_along(direction, scores[k]) for k in (i, j)])
        weight = weights and np.concatenate([weights[i], weights[j]])
        total += metrics.auc(of_i, distance, weight, sample.n_threads)
    return total / len(pairs)


def _by_own_class(
    y: Floats, n_classes: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows sorted by class, and where each class but the last ends.

    With them pairs of classes are copied, not gathered.
    """
    code = y.astype(np.int64)
    order = np.argsort(code.astype(np.min_scalar_type(n_classes)), kind="stable")
    return order, np.cumsum(np.bincount(code, minlength=n_classes))[:-1]


def _along(direction: Floats, scores: Floats) -> Floats:
    """The product with ``scores``, (n_scores, n), summed in a fixed order."""
    distance = np.zeros(scores.shape[1])
    for k in np.flatnonzero(direction):
        distance += direction[k] * scores[k]
    return distance


def _costs(weights: Sequence[float] | None, n_classes: int) -> Floats:
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


def _ndcg(sample: Sample, settings: Settings) -> Floats:
    """NDCG of each query, (n_levels, n_queries)."""

    def graded() -> ranking.GradedQueries:
        gain = ranking.gains(
            sample.y, settings.label_gain, name="The target of an evaluation set"
        )
        return ranking.GradedQueries(
            gain, sample.boundaries, settings.eval_at, sample.n_threads
        )

    known = sample.once(("ndcg", settings.eval_at), graded)
    return known.ndcg(sample.scores[0], sample.n_threads)


def _map(sample: Sample, settings: Settings) -> Floats:
    """Average precision of each query, (n_levels, n_queries)."""
    at = np.array(settings.eval_at, dtype=np.int64)
    precision = np.empty((len(at), len(sample.boundaries) - 1))
    average_precision(
        sample.scores[0],
        sample.once("relevant", lambda: (sample.y > 0.5).astype(np.uint8)),
        sample.boundaries,
        at,
        sample.n_threads,
        precision,
    )
    return precision


# --- The table ------------------------------------------------------------------------


class Targets(NamedTuple):
    """The targets that a metric is defined for, from ``least`` to ``most``.

    ``words`` completes the sentence "needs ...".
    """

    words: str
    least: float = -np.inf
    most: float = np.inf

    def check(self, y: Floats, name: str, collectives: Collectives = ALONE) -> None:
        """Raise ValueError unless all of the processes' ``y``, (n,), are in it."""
        own = float(y.min(initial=np.inf)), float(y.max(initial=-np.inf))
        low, high = zip(*collectives.all_gather(own), strict=True)
        least, largest = min(low), max(high)
        if not (self.least <= least and largest <= self.most):
            raise ValueError(
                f"metric {name!r} needs {self.words}, but y of an evaluation set"
                f" ranges from {least:g} to {largest:g}."
            )


ANY = Targets("numbers")
POSITIVE = Targets("y > 0", least=float(np.nextafter(0.0, 1.0)))
SHARES = Targets("y in [0, 1]", least=0.0, most=1.0)


@dataclass(frozen=True)
class MetricKind:
    """One row of the table of metrics.

    Attributes
    ----------
    measure : callable (sample, settings) -> float or array
        Computes the value. Metrics of rankings return an array of shape (n_levels,
        n_queries).
    aliases : tuple of str
        Other names, including names of objectives.
    maximize : bool
        Whether higher is better.
    on_raw : bool
        Whether it is computed from raw scores and not from predictions, because only
        their order matters.
    task : str
        'one': one score a row; 'many': more than two classes; 'rank': rankings.
    domain : Targets
        The targets that it is defined for.
    """

    measure: Callable[[Sample, Settings], Any]
    aliases: tuple[str, ...] = ()
    maximize: bool = False
    on_raw: bool = False
    task: str = "one"
    domain: Targets = ANY


METRICS: dict[str, MetricKind] = {
    "l2": MetricKind(
        _mean_of("l2"), ("mean_squared_error", "mse", "regression", "regression_l2")
    ),
    "rmse": MetricKind(_rmse, ("root_mean_squared_error", "l2_root")),
    "l1": MetricKind(_mean_of("l1"), ("mean_absolute_error", "mae", "regression_l1")),
    "quantile": MetricKind(_mean_of("quantile", "alpha")),
    "mape": MetricKind(_mean_of("mape"), ("mean_absolute_percentage_error",)),
    "huber": MetricKind(_mean_of("huber", "alpha")),
    "fair": MetricKind(_mean_of("fair", "fair_c")),
    "poisson": MetricKind(_mean_of("poisson")),
    "tweedie": MetricKind(_tweedie),
    "gamma": MetricKind(_mean_of("gamma"), domain=POSITIVE),
    "gamma_deviance": MetricKind(_gamma_deviance, domain=POSITIVE),
    "r2": MetricKind(_r2, maximize=True),
    "binary_logloss": MetricKind(_mean_of("binary_logloss"), ("binary",)),
    "binary_error": MetricKind(_mean_of("binary_error")),
    "auc": MetricKind(_auc, maximize=True, on_raw=True),
    "average_precision": MetricKind(
        _of_all(_average_precision), maximize=True, on_raw=True
    ),
    "cross_entropy": MetricKind(
        _mean_of("cross_entropy"), ("xentropy",), domain=SHARES
    ),
    "cross_entropy_lambda": MetricKind(
        _cross_entropy_lambda, ("xentlambda",), domain=SHARES
    ),
    "kullback_leibler": MetricKind(_kullback_leibler, ("kldiv",), domain=SHARES),
    "multi_logloss": MetricKind(
        _multi_logloss,
        ("multiclass", "softmax", "multiclassova", "multiclass_ova", "ova", "ovr"),
        task="many",
    ),
    "multi_error": MetricKind(_multi_error, task="many"),
    "auc_mu": MetricKind(_of_all(_auc_mu), maximize=True, on_raw=True, task="many"),
    "ndcg": MetricKind(
        _ndcg,
        (
            "lambdarank",
            "rank_xendcg",
            "xendcg",
            "xe_ndcg",
            "xe_ndcg_mart",
            "xendcg_mart",
        ),
        maximize=True,
        on_raw=True,
        task="rank",
    ),
    "map": MetricKind(
        _map, ("mean_average_precision",), maximize=True, on_raw=True, task="rank"
    ),
}

_NAME_OF = {
    word: name for name, kind in METRICS.items() for word in (name, *kind.aliases)
}

# Names of other libraries for the same metrics.
_OF_OTHERS = {
    "roc_auc": "auc",
    "r2_score": "r2",
    "log_loss": "logloss",
    "mlogloss": "logloss",
    "merror": "error",
}

# The names of a classifier's metrics for two classes, and for more than two.
_BY_CLASSES = (
    {
        "logloss": "binary_logloss",
        "multi_logloss": "binary_logloss",
        "error": "binary_error",
        "multi_error": "binary_error",
    },
    {
        "logloss": "multi_logloss",
        "binary_logloss": "multi_logloss",
        "error": "multi_error",
        "binary_error": "multi_error",
    },
)


class Metric:
    """A metric of the table, with the options that it depends on.

    Parameters
    ----------
    name : str
        A key of ``METRICS``.
    settings : Settings
    link : Link, default=None
        The function from raw scores to predictions.

    Attributes
    ----------
    link : Link or None
        The function from raw scores to ``Sample.scores``; None: ``Sample.scores`` are
        raw scores.
    """

    def __init__(self, name: str, settings: Settings, link: Link | None = None) -> None:
        self.name = name
        self.kind = METRICS[name]
        self.settings = settings
        self.link = None if self.kind.on_raw else link

    def __call__(self, sample: Sample) -> list[Result]:
        """The values, one for each level of a ranking.

        Raises
        ------
        ValueError
            If the metric is not defined for the targets, or all weights are 0.
        """
        if self.kind.domain is not ANY:
            check = partial(
                self.kind.domain.check, sample.y, self.name, sample.collectives
            )
            sample.once(("domain", self.name), check)
        measured = self.kind.measure(sample, self.settings)
        return [
            Result(name, float(value), self.kind.maximize)
            for name, value in self._named(measured, sample)
        ]

    def _named(self, measured: Any, sample: Sample) -> Iterable[tuple[str, float]]:
        if self.kind.task == "rank":
            weight = sample.once("query weights", partial(_query_weights, sample))
            values = sample.of_all_queries(measured)
            means = np.average(values, axis=1, weights=weight)
            names = [f"{self.name}@{k}" for k in self.settings.eval_at]
            return zip(names, means, strict=True)
        top_k = self.settings.multi_error_top_k
        suffix = f"@{top_k}" if self.name == "multi_error" and top_k > 1 else ""
        return [(self.name + suffix, measured)]


def _query_weights(sample: Sample) -> Floats | None:
    """The weights of the queries of all processes; None: ones."""
    own = ranking.query_weights(sample.weight, sample.boundaries)
    return None if own is None else sample.of_all_queries(own)


class Custom:
    """A metric that the user passes as a function.

    Of several processes that hold the rows, the first gets all of them and calls it.

    Parameters
    ----------
    function : callable
        ``f(y_true, y_pred)``, ``f(y_true, y_pred, weight)`` or ``f(y_true, y_pred,
        weight, group)``, which returns ``(name, value, is_higher_better)`` or a list of
        such tuples. ``y_pred`` has the shape (n,), or (n, n_classes) for more than two
        classes.
    link : Link, default=None
        The function from raw scores to ``y_pred``; None: ``y_pred`` are raw scores.

    Raises
    ------
    TypeError
        If the function does not take 2, 3 or 4 arguments.
    """

    def __init__(self, function: Callable[..., Any], link: Link | None = None) -> None:
        self.function = UserFunction(function, "eval")
        self.link = link
        self.name = self.function.name

    def __call__(self, sample: Sample) -> list[Result]:
        """The values that the function returns."""
        return sample.of_all(self._results)

    def _results(self, sample: Sample) -> list[Result]:
        returned = self._returned(sample)
        results = returned if isinstance(returned, list) else [returned]
        return [self._checked(result) for result in results]

    def _returned(self, sample: Sample) -> Any:
        weight = None if sample.weight is None else sample.weight.copy()
        sizes = None if sample.boundaries is None else np.diff(sample.boundaries)
        return self.function(sample.y.copy(), sample.scores, weight, sizes)

    def _checked(self, result: Any) -> Result:
        if isinstance(result, tuple | list) and len(result) == 3:
            name, value, maximize = result
            # Numbers of Python and NumPy, and arrays with no dimension.
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


class CustomOfDataset(Custom):
    """A metric ``f(predictions, dataset)``: see `Custom`."""

    def __init__(self, function: Callable[..., Any], link: Link | None = None) -> None:
        self.function = function
        self.link = link
        self.name = name_of(function)

    def _returned(self, sample: Sample) -> Any:
        return self.function(predictions(sample.scores), sample.source)


# --- Names ----------------------------------------------------------------------------


def sorted_words(
    given: Iterable[Any],
) -> tuple[list[str], list[Callable[..., Any]]]:
    """Separate names and functions in the user's metrics.

    Parameters
    ----------
    given : iterable
        Names, functions, None, or lists of these. A str may hold several names with
        commas between them.

    Returns
    -------
    words, functions : list
        In the order in which they are given. Names that are repeated or empty are left
        out.
    """
    words: list[str] = []
    functions: list[Callable[..., Any]] = []
    for metric in given:
        items = list(metric) if isinstance(metric, list | tuple | set) else [metric]
        for item in items:
            if callable(item):
                functions.append(item)
            elif isinstance(item, str):
                words += [word.strip() for word in _split_at_commas(item)]
            elif item is not None:
                raise TypeError(
                    "eval_metric must be a str, a callable or a list of them, got"
                    f" {type(item).__name__}."
                )
    return list(dict.fromkeys(filter(None, words))), functions


def _means_none(word: str) -> bool:
    return word.lower() in objectives.NOT_BUILT_IN


def any_means_none(words: Iterable[str]) -> bool:
    """Whether a name stands for no metric: 'None', or LightGBM's words for it."""
    return any(map(_means_none, words))


def _split_at_commas(words: str) -> list[str]:
    """Split names at commas, but not before the levels of a name, as in 'ndcg@1,3'."""
    return re.split(r",(?!\s*\d)", words)


def default_name(objective: str) -> str | None:
    """LightGBM's default metric for an objective, given by any of its names."""
    return _NAME_OF.get(objective.lower())


def make(
    words: Iterable[str],
    settings: Settings,
    n_scores: int = 1,
    *,
    classifies: bool = False,
    ranks: bool = False,
    link: Link | None = None,
) -> list[Metric]:
    """Make metrics from their names.

    Parameters
    ----------
    words : iterable of str
        Names or aliases. 'ndcg@1,3' means NDCG@1 and NDCG@3; 'None' means no metric.
    settings : Settings
    n_scores : int, default=1
        The number of scores of a row.
    classifies : bool, default=False
        Whether names of metrics of two and of more classes stand for each other.
    ranks : bool, default=False
        Whether there are queries.
    link : Link, default=None
        The function from raw scores to predictions.

    Raises
    ------
    ValueError
        If the metric does not fit the task.

    Warns
    -----
    UnusedParameterWarning
        If a name is unknown; the metric is left out.
    """
    chosen: list[Metric] = []
    by_classes = _BY_CLASSES[n_scores > 1] if classifies else {}
    seen: set[tuple[str, int | None]] = set()
    for word in words:
        if _means_none(word):
            continue
        name, levels = _name_and_levels(word.lower(), by_classes)
        of_others = word.lower() in _OF_OTHERS
        if name is None or (of_others and not _fits(name, n_scores, ranks)):
            warn(
                f"metric {word!r} is not known and has no effect."
                f"{hint(word, _NAME_OF)} Use one of {', '.join(METRICS)}, or a"
                " function.",
                UnusedParameterWarning,
            )
            continue
        _check_task(name, n_scores, ranks)
        of_ranks = METRICS[name].task == "rank"
        wanted = (levels or settings.eval_at) if of_ranks else (None,)
        # Levels that an earlier name has asked for are not computed again.
        fresh = tuple(k for k in dict.fromkeys(wanted) if (name, k) not in seen)
        seen.update((name, k) for k in fresh)
        if fresh:
            options = _with_levels(settings, fresh) if of_ranks else settings
            chosen.append(Metric(name, options, link))
    return chosen


def _name_and_levels(
    word: str, by_classes: Mapping[str, str]
) -> tuple[str | None, tuple[int, ...] | None]:
    stem, at, tail = word.partition("@")
    stem = _OF_OTHERS.get(stem, stem)
    stem = by_classes.get(_NAME_OF.get(stem, stem), stem)
    if stem not in _NAME_OF:
        return None, None
    name = _NAME_OF[stem]
    if not at:
        return name, None
    levels = [level.strip() for level in tail.split(",")]
    if METRICS[name].task != "rank" or not all(map(str.isdecimal, levels)):
        raise ValueError(
            f"metric {word!r} is not known: only 'ndcg' and 'map' have levels, as in"
            " 'ndcg@10'."
        )
    return name, tuple(map(int, levels))


def _with_levels(settings: Settings, levels: tuple[int, ...]) -> Settings:
    if not 1 <= min(levels) <= max(levels) <= MOST_DOCUMENTS:
        raise ValueError(
            f"The levels of 'ndcg' and 'map' must be from 1 to {MOST_DOCUMENTS}, got"
            f" {', '.join(map(str, levels))}."
        )
    return dataclasses.replace(settings, eval_at=levels)


def _fits(name: str, n_scores: int, ranks: bool) -> bool:
    """Whether the metric is for this task."""
    tasks = ["many"] if n_scores > 1 else ["one", "rank"] if ranks else ["one"]
    return METRICS[name].task in tasks


def _check_task(name: str, n_scores: int, ranks: bool) -> None:
    if _fits(name, n_scores, ranks):
        return
    fitting = [word for word in METRICS if _fits(word, n_scores, ranks)]
    raise ValueError(
        f"metric {name!r} cannot be computed for this task; use one of"
        f" {', '.join(fitting)}, or a function."
    )
