"""Metrics of evaluation sets, with LightGBM's names and definitions.

``METRICS`` is the table of metrics. ``make`` makes `Metric` objects from names. They
compute values from targets and scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.objectives import metric_functions as functions
from skgoss.objectives import ranking
from skgoss.objectives.link import Link
from skgoss.objectives.metric_functions import EvalData
from skgoss.objectives.objectives import (
    ANY,
    NOT_BUILT_IN,
    OBJECTIVES,
    POSITIVE,
    PROBABILITIES,
    TargetRange,
)
from skgoss.objectives.user_functions import UserFunction, name_of, predictions
from skgoss.parameters import other_libraries
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import (
    closest,
    did_you_mean,
    warn_unused,
)
from skgoss.utils.plain_values import INT32_MAX

Floats = NDArray[np.float64]

# The largest k of NDCG@k and MAP@k.
MOST_DOCUMENTS = INT32_MAX


class Result(NamedTuple):
    """One value of a metric."""

    name: str
    value: float
    maximize: bool


# --- The table ------------------------------------------------------------------------


@dataclass(frozen=True)
class MetricSpec:
    """One row of the table of metrics."""

    # Metrics of rankings return an array of shape (n_levels, n_queries).
    compute: Callable[[EvalData, Settings], Any]
    # Other names, besides those of the objectives whose metric it is.
    aliases: tuple[str, ...] = ()
    maximize: bool = False  # whether higher is better
    # Whether it is computed from raw scores and not from predictions, because only
    # their order matters.
    uses_raw_scores: bool = False
    # 'regression' or 'binary': one score per row; 'multiclass': more than two classes;
    # 'ranking'; 'quantiles': several quantiles of one target; 'likelihood' or
    # 'distribution'; 'survival' or 'cox'.
    task: str = "regression"
    targets: TargetRange = ANY  # the targets that it is defined for
    options: tuple[str, ...] = ()  # those that it reads


def _of_ranking(
    compute: Callable[..., Floats], *aliases: str, options: tuple[str, ...]
) -> MetricSpec:
    return MetricSpec(
        compute,
        aliases,
        maximize=True,
        uses_raw_scores=True,
        task="ranking",
        options=options,
    )


_OF_NDCG = "eval_at", "label_gain"


METRICS: dict[str, MetricSpec] = {
    "l2": MetricSpec(functions.mean_of("l2")),
    "rmse": MetricSpec(functions.rmse, ("root_mean_squared_error", "l2_root")),
    "l1": MetricSpec(functions.mean_of("l1")),
    # The mean loss of an objective is a metric of its name.
    **{
        name: MetricSpec(
            functions.mean_of(name, spec.option),
            targets=spec.targets,
            options=() if spec.option is None else (spec.option,),
        )
        for name, spec in OBJECTIVES.items()
        if spec.metric is None
    },
    "interval_coverage": MetricSpec(
        functions.interval_coverage,
        maximize=True,
        task="quantiles",
        options=("alpha",),
    ),
    "interval_width": MetricSpec(
        functions.interval_width, task="quantiles", options=("alpha",)
    ),
    "poisson": MetricSpec(functions.mean_of("poisson")),
    "tweedie": MetricSpec(functions.tweedie, options=("tweedie_variance_power",)),
    "gamma_deviance": MetricSpec(functions.gamma_deviance, targets=POSITIVE),
    "r2": MetricSpec(functions.r2, maximize=True),
    "binary_logloss": MetricSpec(functions.mean_of("binary_logloss"), task="binary"),
    "binary_error": MetricSpec(functions.mean_of("binary_error"), task="binary"),
    "auc": MetricSpec(
        functions.auc, maximize=True, uses_raw_scores=True, task="binary"
    ),
    "average_precision": MetricSpec(
        functions.average_precision, maximize=True, uses_raw_scores=True, task="binary"
    ),
    "cross_entropy_lambda": MetricSpec(
        functions.cross_entropy_lambda, task="binary", targets=PROBABILITIES
    ),
    "kullback_leibler": MetricSpec(
        functions.kullback_leibler, ("kldiv",), task="binary", targets=PROBABILITIES
    ),
    "nll": MetricSpec(functions.nll, uses_raw_scores=True, task="likelihood"),
    "crps": MetricSpec(functions.crps, uses_raw_scores=True, task="distribution"),
    "cox_nll": MetricSpec(functions.cox_nll, uses_raw_scores=True, task="cox"),
    "concordance": MetricSpec(
        functions.concordance,
        ("c_index", "cindex", "concordance_index"),
        maximize=True,
        uses_raw_scores=True,
        task="survival",
    ),
    "brier": MetricSpec(
        functions.brier, ("integrated_brier",), uses_raw_scores=True, task="survival"
    ),
    "multi_logloss": MetricSpec(functions.multi_logloss, task="multiclass"),
    "multi_error": MetricSpec(
        functions.multi_error, task="multiclass", options=("multi_error_top_k",)
    ),
    "auc_mu": MetricSpec(
        functions.auc_mu,
        maximize=True,
        uses_raw_scores=True,
        task="multiclass",
        options=("auc_mu_weights",),
    ),
    "ndcg": _of_ranking(functions.ndcg, options=_OF_NDCG),
    "map": _of_ranking(
        functions.mean_average_precision,
        "mean_average_precision",
        options=("eval_at",),
    ),
    # As LightGBM, which ranks documents of equal scores in the order of their rows.
    "ndcg_lightgbm": _of_ranking(
        partial(functions.ndcg, averages_ties=False), options=_OF_NDCG
    ),
    "map_lightgbm": _of_ranking(
        partial(functions.mean_average_precision, averages_ties=False),
        options=("eval_at",),
    ),
}

# Names of an objective stand for its default metric, unless they are those of another.
_NAME_OF = {
    alias: spec.metric or name
    for name, spec in OBJECTIVES.items()
    for alias in (name, *spec.aliases)
} | {alias: name for name, spec in METRICS.items() for alias in (name, *spec.aliases)}

# The names of a classifier's metrics for two classes, and for more than two.
_NAMES_BY_CLASSES = (
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

    ``link`` is the function from raw scores to ``EvalData.scores``; None: these are
    raw scores.
    """

    def __init__(self, name: str, settings: Settings, link: Link | None = None) -> None:
        self.name = name
        self.spec = METRICS[name]
        self.settings = settings
        self.link = None if self.spec.uses_raw_scores else link
        top_k = settings.multi_error_top_k
        # The name in results. Rankings and quantiles have one for each level.
        self._title = name
        if name == "multi_error" and top_k > 1:
            self._title += f"@{top_k}"

    def __call__(self, data: EvalData) -> list[Result]:
        """The values, one for each level of a ranking.

        ValueError if the metric is not defined for the targets, or all weights are 0.
        """
        if self.spec.targets is not ANY:
            data.cached(("targets", self.name), partial(self._check_targets, data))
        values, maximize = self.spec.compute(data, self.settings), self.spec.maximize
        if self.spec.task not in ("ranking", "quantiles"):
            return [Result(self._title, float(values), maximize)]
        return [
            Result(name, float(value), maximize)
            for name, value in self._by_level(values, data)
        ]

    def _check_targets(self, data: EvalData) -> None:
        targets = self.spec.targets
        outside = targets.outside(data.y, data.collectives)
        if outside is not None:
            low, high = outside
            raise ValueError(
                f"metric {self.name!r} needs y {targets.description}, but y of an"
                f" evaluation set ranges from {low:g} to {high:g}."
            )

    def _by_level(self, values: Any, data: EvalData) -> Iterable[tuple[str, float]]:
        if self.spec.task == "ranking":
            weight = data.cached("query weights", data.query_weights)
            values = data.of_all_queries(values)
            means = ranking.means_over_queries(values, weight)
            names = [f"{self.name}@{k}" for k in self.settings.eval_at]
            return zip(names, means, strict=True)
        pairs = functions.intervals(self.settings.alpha)
        names = [f"{self.name}@{share:g}" for _, _, share in pairs]
        return zip(names, values, strict=True)


class CustomMetric:
    """A metric that the user passes as a function: see `UserFunction`.

    The function returns ``(name, value, is_higher_better)`` or a list of such tuples.
    ``y_pred`` has the shape (n,), or (n, n_classes) for more than two classes. Of
    several processes that hold the rows, the first gets all of them and calls it.
    ``link`` is the function from raw scores to ``y_pred``; None: these are raw scores.
    """

    def __init__(self, function: Callable[..., Any], link: Link | None = None) -> None:
        self.function: Callable[..., Any] = UserFunction(function, "eval")
        self.link = link
        self.name = name_of(function)

    def __call__(self, data: EvalData) -> list[Result]:
        """The values that the function returns."""
        return data.on_all_rows(self._results)

    def _results(self, data: EvalData) -> list[Result]:
        returned = self._returned(data)
        results = returned if isinstance(returned, list) else [returned]
        return [self._checked(result) for result in results]

    def _returned(self, data: EvalData) -> Any:
        weight = None if data.weight is None else data.weight.copy()
        sizes = None if data.boundaries is None else np.diff(data.boundaries)
        return self.function(data.y.copy(), data.scores, weight, sizes)

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


class CustomMetricOfDataset(CustomMetric):
    """A metric ``f(predictions, dataset)``: see `CustomMetric`."""

    def __init__(self, function: Callable[..., Any], link: Link | None = None) -> None:
        self.function = function
        self.link = link
        self.name = name_of(function)

    def _returned(self, data: EvalData) -> Any:
        return self.function(predictions(data.scores), data.source)


# --- Names ----------------------------------------------------------------------------


def names_and_functions(
    passed: Iterable[Any],
) -> tuple[list[str], list[Callable[..., Any]]]:
    """Separate names and functions in the user's metrics, in the order of the user.

    These are names, functions, None, or lists of these. A str may hold several names
    with commas between them. Names that are repeated or empty are left out.
    """
    names: list[str] = []
    callables: list[Callable[..., Any]] = []
    for metric in passed:
        items = list(metric) if isinstance(metric, list | tuple | set) else [metric]
        for item in items:
            if callable(item):
                callables.append(item)
            elif isinstance(item, str):
                # Commas also stand between the levels of a name, as in 'ndcg@1,3'.
                names += [name.strip() for name in re.split(r",(?!\s*\d)", item)]
            elif item is not None:
                raise TypeError(
                    "eval_metric must be a str, a callable or a list of them, got"
                    f" {type(item).__name__}."
                )
    return list(dict.fromkeys(filter(None, names))), callables


def chosen(
    metric: Any, option: Any, objective: str | None
) -> tuple[list[str], list[Callable[..., Any]]]:
    """The names and functions of a fit's metrics: see `names_and_functions`.

    First those of its argument, then those of the option or, if there are none and
    'None' is not among them, the objective's default: LightGBM's for any of its names.
    """
    names: list[str] = []
    functions: list[Callable[..., Any]] = []
    if not (metric is None and option is None):
        names, functions = names_and_functions([metric, option])
    is_open = option in (None, "") or not names
    if is_open and objective is not None and "none" not in map(_plain, names):
        default = _NAME_OF.get(objective.lower())
        names += [] if default is None else [default]
    return names, functions


def _plain(name: str) -> str:
    """A name in lower case; 'none' for all of LightGBM's names for no metric."""
    return "none" if name.lower() in NOT_BUILT_IN else name.lower()


def canonical(name: str) -> str:
    """The name in ``METRICS`` of a metric, from any of its names in any case."""
    return _NAME_OF.get(name.lower(), name)


def is_of_quantiles(name: str) -> bool:
    """Whether any name of a metric is that of one of several quantiles."""
    spec = METRICS.get(canonical(name))
    return spec is not None and spec.task == "quantiles"


def make(
    names: Iterable[str],
    settings: Settings,
    n_scores: int = 1,
    *,
    classifies: bool = False,
    ranks: bool = False,
    link: Link | None = None,
) -> list[Metric]:
    """Make metrics from names or aliases.

    'ndcg@1,3' means NDCG@1 and NDCG@3, and 'None' no metric. A name that is unknown is
    left out with an UnusedParameterWarning, and one that does not fit the task raises
    ValueError. In a task that ``classifies``, names of metrics of two and of more
    classes stand for each other; ``ranks`` tells whether there are queries.
    """
    made: list[Metric] = []
    synonyms = _NAMES_BY_CLASSES[n_scores > 1] if classifies else {}
    tasks = _tasks(settings, n_scores, ranks)
    # The levels of each metric that an earlier name has asked for.
    done: dict[str, set[int | None]] = {}
    for passed in names:
        word = passed.lower()
        if word in NOT_BUILT_IN:
            continue
        name, levels = _name_and_levels(word, synonyms)
        task = None if name is None else METRICS[name].task
        is_foreign = word in other_libraries.ACCEPTED_METRICS
        if name is None or (is_foreign and task not in tasks):
            warn_unused(
                f"metric {passed!r} is not known and has no effect."
                f"{_advice(passed, tasks)} Use one of {', '.join(METRICS)},"
                " or a function."
            )
            continue
        if task not in tasks:
            fitting = [other for other, spec in METRICS.items() if spec.task in tasks]
            raise ValueError(
                f"metric {name!r} cannot be computed for this task; use one of"
                f" {', '.join(fitting)}, or a function."
            )
        before = done.setdefault(name, set())
        if task == "ranking":
            wanted = dict.fromkeys(levels or settings.eval_at)
            fresh = tuple(k for k in wanted if k not in before)
            before.update(fresh)
            if fresh:
                made.append(Metric(name, _with_levels(settings, fresh), link))
        elif not before:
            before.add(None)
            made.append(Metric(name, settings, link))
    return made


def _advice(unknown: str, tasks: Sequence[str]) -> str:
    """What to use instead of an unknown metric, or "" if nothing is close."""
    names = [name for name in _NAME_OF if METRICS[_NAME_OF[name]].task in tasks]
    word = unknown.lower().removeprefix("neg_").removesuffix("_deviance")
    instead = other_libraries.METRICS
    near = closest(word, [*names, *instead]) or closest(
        word.removeprefix("mean_"), [*names, *instead]
    )
    if near and near[0] in instead:
        return f" For {near[0]!r}, use {instead[near[0]]}."
    return did_you_mean(near)


def _name_and_levels(
    passed: str, synonyms: Mapping[str, str]
) -> tuple[str | None, tuple[int, ...] | None]:
    stem, at, tail = passed.partition("@")
    stem = other_libraries.ACCEPTED_METRICS.get(stem, stem)
    stem = synonyms.get(_NAME_OF.get(stem, stem), stem)
    if stem not in _NAME_OF:
        return None, None
    name = _NAME_OF[stem]
    if not at:
        return name, None
    levels = [level.strip() for level in tail.split(",")]
    if METRICS[name].task != "ranking" or not all(map(str.isdecimal, levels)):
        raise ValueError(
            f"metric {passed!r} is not known: only 'ndcg' and 'map' have levels, as in"
            " 'ndcg@10'."
        )
    return name, tuple(map(int, levels))


def _with_levels(settings: Settings, levels: tuple[int, ...]) -> Settings:
    if not 1 <= min(levels) <= max(levels) <= MOST_DOCUMENTS:
        raise ValueError(
            f"The levels of 'ndcg' and 'map' must be from 1 to {MOST_DOCUMENTS}, got"
            f" {', '.join(map(str, levels))}."
        )
    return settings.replaced(eval_at=levels)


def _tasks(settings: Settings, n_scores: int, ranks: bool) -> Sequence[str]:
    """The tasks whose metrics a fit can compute."""
    spec = OBJECTIVES.get(str(settings.objective))
    if spec is not None and spec.task == "survival":
        return "survival", "cox" if spec.distribution is None else "likelihood"
    if spec is not None and spec.distribution is not None:
        return "regression", "likelihood", "distribution"
    if n_scores > 1:
        return ("multiclass",)
    return ("regression", "binary", "ranking") if ranks else ("regression", "binary")
