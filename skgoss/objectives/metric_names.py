"""The names of metrics, including LightGBM's, and the metrics that they mean.

`make` makes `Metric` objects from names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sklearn.metrics import get_scorer_names

from skgoss.objectives.link import Link
from skgoss.objectives.metrics import METRICS, CustomMetric, Metric
from skgoss.objectives.objectives import NOT_BUILT_IN, OBJECTIVES
from skgoss.parameters import other_libraries
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import (
    closest,
    did_you_mean,
    refuse,
    warn_unused,
)
from skgoss.utils.plain_values import INT32_MAX

# The largest k of NDCG@k and MAP@k.
MAX_LEVEL = INT32_MAX

# The name in ``METRICS`` for each name or alias. The names of an objective mean its
# default metric, unless they are names of a metric themselves.
_CANONICAL_NAMES = {
    alias: spec.metric or name
    for name, spec in OBJECTIVES.items()
    for alias in (name, *spec.aliases)
} | {alias: name for name, spec in METRICS.items() for alias in (name, *spec.aliases)}

# What names mean in a classifier: with two classes, and with more than two.
_CLASS_SYNONYMS = (
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
        "cross_entropy": "multi_logloss",
    },
)


def names_and_functions(
    passed: Iterable[Any],
) -> tuple[list[str], list[Callable[..., Any]]]:
    """Separate the names and the functions in the user's metrics, keeping their order.

    Metrics are names, functions, None, or lists of these. A str may hold several names
    separated by commas. Repeated and empty names are left out.
    """
    names: list[str] = []
    callables: list[Callable[..., Any]] = []
    for metric in passed:
        items = list(metric) if isinstance(metric, list | tuple | set) else [metric]
        for item in items:
            if callable(item):
                callables.append(item)
            elif isinstance(item, str):
                # Commas also separate the levels of a name, as in 'ndcg@1,3'.
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

    ``metric`` is the argument of ``fit``, ``option`` the value of the option `metric`,
    and ``objective`` a name, or None for a function, which has no default metric.
    The metrics of the argument ``metric`` come first, then those of the ``option``. If
    the option has none, or neither has a name, the objective's default metric is added,
    unless one of the names is 'None' or a synonym of it.
    """
    names: list[str] = []
    functions: list[Callable[..., Any]] = []
    if not (metric is None and option is None):
        names, functions = names_and_functions([metric, option])
    uses_default = option in (None, "") or not names
    if uses_default and objective is not None and "none" not in map(_plain, names):
        default = _CANONICAL_NAMES.get(objective.lower())
        names += [] if default is None else [default]
    return names, functions


def begins_with_function(metric: Any, option: Any) -> bool:
    """Whether the first metric that the user has passed to a fit is a function.

    Early stopping by the first metric then uses it. ``metric`` is the argument of
    ``fit``, ``option`` the value of the option `metric`. As in LightGBM, metrics that
    the option names come before functions.
    """
    passed = [
        item
        for value in (metric, option)
        for item in (value if isinstance(value, list | tuple | set) else [value])
        if item is not None
    ]
    return bool(passed and callable(passed[0])) and not names_and_functions([option])[0]


def _plain(name: str) -> str:
    """A name in lower case; 'none' for every name that means no metric."""
    return "none" if name.lower() in NOT_BUILT_IN else name.lower()


def canonical(name: str) -> str:
    """The name in ``METRICS`` of a metric, from any of its names in any case."""
    return _CANONICAL_NAMES.get(name.lower(), name)


def is_quantile_metric(name: str) -> bool:
    """Whether a name or alias is that of a metric of several quantiles."""
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
    refuses_unknown: bool = False,
    scorer_of: Callable[[str], CustomMetric | None] | None = None,
) -> list[Metric | CustomMetric]:
    """Make metrics from names or aliases.

    'ndcg@1,3' means NDCG@1 and NDCG@3, and 'None' no metric. An unknown name is left
    out with an UnusedParameterWarning, or raises ValueError if ``refuses_unknown``. A
    metric that does not fit the task raises ValueError. If the task ``classifies``,
    the names of a metric for two classes and for more classes are interchangeable.
    ``ranks``: whether there are queries. ``link`` is the function from raw scores to
    predictions; None: metrics get raw scores. ``scorer_of`` returns the metric that
    other names stand for, or None.
    """
    made: list[Metric | CustomMetric] = []
    synonyms = _CLASS_SYNONYMS[n_scores > 1] if classifies else {}
    tasks = _tasks(settings, n_scores, ranks)
    # The levels that each metric already has from earlier names; {None}: no levels.
    done: dict[str, set[int | None]] = {}
    for passed in names:
        lower = passed.lower()
        if lower in NOT_BUILT_IN:
            continue
        name, levels = _name_and_levels(lower, synonyms)
        task = None if name is None else METRICS[name].task
        is_foreign = lower in other_libraries.ACCEPTED_METRICS
        scorer = scorer_of(passed) if name is None and scorer_of else None
        if scorer is not None:
            made.append(scorer)
            continue
        if name is None or (is_foreign and task not in tasks):
            advice = _advice(passed, tasks, scorer_of)
            _report_unknown(passed, advice, refuses_unknown=refuses_unknown)
            continue
        if task not in tasks:
            fitting = [other for other, spec in METRICS.items() if spec.task in tasks]
            raise ValueError(
                f"metric {name!r} cannot be computed for this task; use one of"
                f" {', '.join(fitting)}, or a function."
            )
        before = done.setdefault(name, set())
        if task == "ranking":
            distinct = dict.fromkeys(levels or settings.eval_at)
            added = tuple(k for k in distinct if k not in before)
            before.update(added)
            if added:
                made.append(Metric(name, _with_levels(settings, added), link))
        elif not before:
            before.add(None)
            made.append(Metric(name, settings, link))
    return made


def _report_unknown(name: str, advice: str, *, refuses_unknown: bool) -> None:
    """Warn of an unknown name, or refuse it; see `make`."""
    advice = f"{advice} Use one of {', '.join(METRICS)}, or a function."
    unknown = f"metric {name!r} is not known"
    if refuses_unknown:
        message = f"{unknown}, so early stopping would use other metrics."
        refuse(ValueError(message + advice), "It has no effect.")
    else:
        warn_unused(f"{unknown} and has no effect.{advice}")


def _advice(
    unknown: str,
    tasks: Sequence[str],
    scorer_of: Callable[[str], CustomMetric | None] | None,
) -> str:
    """What to use instead of an unknown metric, or "" if no name is close.

    Names of other libraries have an answer, too. ``tasks`` are those whose metrics the
    fit can compute. ``scorer_of`` returns the metric by a scorer of scikit-learn, or
    None; without it, the fit cannot have scorers.
    """
    names = [
        name
        for name in _CANONICAL_NAMES
        if METRICS[_CANONICAL_NAMES[name]].task in tasks
    ]
    word = unknown.lower().removeprefix("neg_").removesuffix("_deviance")
    instead, scorers = other_libraries.METRICS, other_libraries.SCORERS
    known = [*names, *instead, *scorers]
    scorer_names = [] if scorer_of is None else get_scorer_names()
    near = (
        closest(word, [*known, *scorer_names], likeness=1.0)
        or closest(word, known)
        or closest(word.removeprefix("mean_"), known)
    )
    name = near[0] if near else ""
    if name in names:
        return did_you_mean(near)
    if name in instead:
        return f" For {name!r}, use {instead[name]}."
    if scorer_of is None and unknown in get_scorer_names():
        return (
            f" scikit-learn's scorer {unknown!r} needs an estimator with one target and"
            " one prediction per row."
        )
    if not name:
        return ""
    scorer = scorers.get(name, name)
    if scorer_of is not None and scorer_of(scorer) is not None:
        return f" Did you mean {scorer!r}, a scorer of scikit-learn?"
    return f" For {name!r}, use a function of labels and predictions."


def _name_and_levels(
    passed: str, synonyms: Mapping[str, str]
) -> tuple[str | None, tuple[int, ...] | None]:
    """The canonical name and the levels: 'ndcg' and (1, 3) for 'ndcg@1,3'.

    ``synonyms`` are names that mean another metric in a classifier, such as 'logloss'.
    The name is None if it is unknown; the levels are None if the name has none.
    """
    stem, at, tail = passed.partition("@")
    stem = other_libraries.ACCEPTED_METRICS.get(stem, stem)
    stem = synonyms.get(_CANONICAL_NAMES.get(stem, stem), stem)
    if stem not in _CANONICAL_NAMES:
        return None, None
    name = _CANONICAL_NAMES[stem]
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
    """Settings whose ``eval_at`` are these levels; ValueError if one is invalid."""
    if not 1 <= min(levels) <= max(levels) <= MAX_LEVEL:
        raise ValueError(
            f"The levels of 'ndcg' and 'map' must be from 1 to {MAX_LEVEL}, got"
            f" {', '.join(map(str, levels))}."
        )
    return settings.replaced(eval_at=levels)


def _tasks(settings: Settings, n_scores: int, ranks: bool) -> Sequence[str]:
    """The tasks whose metrics a fit can compute: see `MetricSpec.task`.

    They depend on the objective, the number of scores of a row, and on whether there
    are queries (``ranks``).
    """
    spec = OBJECTIVES.get(str(settings.objective))
    if spec is not None and spec.task == "survival":
        return "survival", "cox" if spec.distribution is None else "likelihood"
    if spec is not None and spec.distribution is not None:
        return "regression", "likelihood", "distribution"
    if n_scores > 1:
        return ("multiclass",)
    return ("regression", "binary", "ranking") if ranks else ("regression", "binary")
