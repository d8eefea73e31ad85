"""The names of metrics, those of LightGBM among them, and the metrics that they mean.

`make` makes `Metric` objects of names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from skgoss.objectives.link import Link
from skgoss.objectives.metrics import METRICS, Metric
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
MOST_DOCUMENTS = INT32_MAX

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


def begins_with_function(metric: Any, option: Any) -> bool:
    """Whether the first metric that the user has passed to a fit is a function.

    As in LightGBM, those that the ``option`` names come before functions.
    """
    passed = [
        item
        for value in (metric, option)
        for item in (value if isinstance(value, list | tuple | set) else [value])
        if item is not None
    ]
    return bool(passed and callable(passed[0])) and not names_and_functions([option])[0]


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
    refuses_unknown: bool = False,
) -> list[Metric]:
    """Make metrics from names or aliases.

    'ndcg@1,3' means NDCG@1 and NDCG@3, and 'None' no metric. A name that is unknown is
    left out with an UnusedParameterWarning, unless the call ``refuses_unknown`` names.
    One that does not fit the task raises ValueError. In a task that ``classifies``,
    names of metrics of two and of more classes stand for each other; ``ranks`` tells
    whether there are queries.
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
            advice = (
                f"{_advice(passed, tasks)} Use one of {', '.join(METRICS)},"
                " or a function."
            )
            unknown = f"metric {passed!r} is not known"
            if refuses_unknown:
                message = f"{unknown}, so early stopping would use other metrics."
                refuse(ValueError(message + advice), "It has no effect.")
            else:
                warn_unused(f"{unknown} and has no effect.{advice}")
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
