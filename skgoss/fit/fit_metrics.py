"""The metrics that a fit evaluates its sets by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, cast

from skgoss.fit.several_outputs import Output, joint_link
from skgoss.fit.task import Task
from skgoss.objectives import (
    metric_names,
    metrics,
    objectives,
    output_metrics,
    scorers,
)
from skgoss.objectives.link import Link
from skgoss.objectives.scorers import warn_of_maximized_loss as warn_of_maximized_loss
from skgoss.parameters.settings import Settings


def by_functions(
    task: Task,
    link: Link,
    functions: Sequence[Callable[..., Any]],
    scorer_link: Link | None = None,
) -> list[metrics.CustomMetric]:
    """The metrics that functions of the user compute, and scorers of scikit-learn.

    The predictions for scorers follow from raw scores by ``scorer_link``; None: the
    fit cannot have any.
    """
    found: list[metrics.CustomMetric] = []
    for function in functions:
        if not scorers.is_scorer(function):
            takes_scorers = scorer_link is not None
            scorers.refuse_function(function, takes_scorers=takes_scorers)
            takes_dataset = task.functions_take_dataset
            kind = metrics.DatasetMetric if takes_dataset else metrics.CustomMetric
            found.append(kind(function, link))
        elif scorer_link is None:
            raise ValueError(
                f"{function!r} is a scorer of scikit-learn, which only estimators of"
                " one target, and one prediction for each row, can have as a metric."
                " Pass a function of targets and predictions."
            )
        else:
            found.append(scorers.ScorerMetric(function, scorer_link, task.classes))
    return found


# What the metrics of a `FitData` depend on. They do not hold the data, which may be
# freed before them.
READ = attrgetter(
    *("task", "settings", "arguments.eval_metric", "objective", "link"),
    *("outputs", "levels", "n_scores", "ranks"),
)


def make(
    task: Task,
    settings: Settings,
    metric: Any,
    objective: str | Callable[..., Any],
    link: Link,
    outputs: Sequence[Output],
    levels: tuple[float, ...],
    n_scores: int,
    ranks: bool,
    stops: bool,
    is_first_decisive: bool,
) -> list[output_metrics.AnyMetric]:
    """The metrics in LightGBM's order.

    First those of fit, then the option's or else the objective's, then functions. If
    early stopping uses the first one only, it is the first that the user has passed:
    the objective's metric does not precede functions. Where metrics ``stop`` a fit,
    unknown names raise ValueError.

    The first arguments are those of `READ`. ``metric`` is the argument `eval_metric` of
    fit, and ``settings`` have the option. ``outputs`` are the targets or quantiles if
    there are several, else empty, and ``levels`` the quantiles among them. ``ranks``:
    the rows are documents of queries.
    """
    usual = task.default_objective
    words, functions = metric_names.chosen(
        metric, settings.metric, usual if callable(objective) else objective
    )
    by_name: Sequence[output_metrics.AnyMetric]
    # Named metrics treat raw scores of a function as those of the usual objective.
    is_usual = callable(objective) and usual is not None
    named_link = objectives.make_link(cast(str, usual)) if is_usual else link
    is_estimator = not (task.functions_take_dataset or outputs)
    may_score = is_estimator and (n_scores == 1 or task.classes is not None)
    scorer_link = named_link if may_score else None
    if outputs:
        by_name = output_metrics.make(
            words,
            settings,
            [
                partial(output.metrics, settings, refuses_unknown=stops)
                for output in outputs
            ],
            [output.task.n_scores for output in outputs],
            joint_link([output.metric_link for output in outputs], task, levels),
        )
    else:
        by_name = metric_names.make(
            words,
            settings,
            n_scores,
            classifies=task.n_classes is not None,
            ranks=ranks,
            link=named_link,
            refuses_unknown=stops,
            scorer_of=None
            if scorer_link is None
            else partial(scorers.named, link=scorer_link, classes=task.classes),
        )
    custom = by_functions(task, link, functions, scorer_link)
    if is_first_decisive and metric_names.begins_with_function(metric, settings.metric):
        return [*custom, *by_name]
    return [*by_name, *custom]
