"""The outputs of a fit: one, or several quantiles or targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skgoss.fit.task import Task
from skgoss.objectives import output_metrics
from skgoss.objectives.link import Link
from skgoss.objectives.objective_names import canonical_name, make_link
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import about

Objective = str | Callable[..., Any]


@dataclass(frozen=True)
class Output:
    """One of the outputs of a fit.

    Attributes
    ----------
    task : Task
    options : dict
        The options that may differ from those of other outputs.
    given_objective : str or callable
        The objective by the name that the user passed.
    link : Link
        The function from its raw scores to predictions.
    name : str, default=""
        What messages call it, if there are several.
    """

    task: Task
    options: Mapping[str, Any]
    given_objective: Objective
    link: Link
    name: str = ""

    def settings(self, settings: Settings) -> Settings:
        """The options of the output, given those of the fit."""
        return settings.replaced(**self.options)

    def of_metrics(self, settings: Settings) -> output_metrics.EvaluatedOutput:
        """What the metrics of the output depend on, given the options of the fit."""
        settings, task = self.settings(settings), self.task
        classifies = task.n_classes is not None
        return output_metrics.EvaluatedOutput(
            settings, task.n_scores, classifies, self.metric_link
        )

    @property
    def metric_link(self) -> Link:
        """The link of named metrics.

        They treat raw scores of a function as those of the usual objective.
        """
        usual = self.task.default_objective
        is_function = callable(self.given_objective) and usual is not None
        return make_link(usual) if is_function else self.link


def of_fit(task: Task, settings: Settings, levels: Sequence[float]) -> list[Output]:
    """The outputs of a fit.

    Parameters
    ----------
    task : Task
        With the classes of the training set.
    settings : Settings
    levels : sequence of float
        The levels of several quantiles; empty if the fit does not learn several.

    Raises
    ------
    ValueError
        If the objective is unknown, or does not fit the task or the levels.
    """
    if not task.tasks:
        output = _output(task, settings, levels)
        return [
            replace(
                output,
                options=output.options | {"alpha": level},
                name=f"the quantile {level:g}",
            )
            for level in levels
        ] or [output]
    if levels:
        raise ValueError(
            f"The 'alpha' parameter of {task.owner} must be a number for several"
            f" targets, got {levels}."
        )
    outputs = []
    for part, column in zip(task.tasks, task.columns, strict=True):
        with about(column):
            outputs.append(replace(_output(part, settings, levels), name=column))
    return outputs


def _output(task: Task, settings: Settings, levels: Sequence[float]) -> Output:
    given = settings.objective or task.default_objective
    if given is None:
        raise ValueError(
            f"The 'objective' parameter of {task.owner} must be given. LGBMClassifier"
            " and LGBMRegressor choose one."
        )
    objective = given if callable(given) else canonical_name(given)
    if levels and (objective != "quantile" or task.classes is not None):
        raise ValueError(
            f"The 'alpha' parameter of {task.owner} must be a number for"
            f" objective={objective!r}. Only objective='quantile' of a regression"
            " learns several quantiles."
        )
    if not callable(objective):
        task.check_objective(objective)
    link = make_link(objective, settings.sigmoid, settings.reg_sqrt)
    return Output(task, {"objective": objective}, given, link)


def joint_objective(outputs: Sequence[Output]) -> Any:
    """The objective of all outputs, or a tuple of theirs if they differ."""
    names = tuple(output.options["objective"] for output in outputs)
    return names[0] if all(name == names[0] for name in names) else names


def joint_link(links: Sequence[Link], task: Task, levels: tuple[float, ...]) -> Link:
    """The function from the raw scores of all outputs to predictions."""
    link = links[0]
    if levels:
        return replace(link, levels=levels)
    if len(links) == 1 or (link.kind != "softmax" and len(set(links)) == 1):
        return link
    widths = [part.n_scores for part in task.tasks]
    return Link("joint", parts=tuple(zip(links, widths, strict=True)))
