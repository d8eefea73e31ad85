"""Fits that learn several outputs: quantiles, or targets.

Each level of ``alpha``, or each column of ``y``, is learned by trees of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import targets
from skgoss.columns.row_partition import RowPartition
from skgoss.columns.targets import TargetColumns
from skgoss.fit.arguments import InputSet
from skgoss.fit.task import Classification, Objective, Task
from skgoss.objectives import metrics
from skgoss.objectives.link import Link
from skgoss.objectives.objectives import canonical_name, make_link
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import about

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeveralTargets(Task):
    """Learning several targets."""

    takes_several = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the task of each target."""
        return self.tasks[0].name

    @property
    def classes(self) -> list[NDArray[Any]] | None:  # type: ignore[override]
        """The labels of each target; None if they hold numbers."""
        if self.tasks[0].classes is None:
            return None
        return [task.classes for task in self.tasks if task.classes is not None]

    @property
    def n_scores(self) -> int:
        """The number of trees of a round."""
        return sum(task.n_scores for task in self.tasks)

    def encode(
        self, y: NDArray[Any] | TargetColumns, name: str, source: str = "y"
    ) -> Floats:
        """The targets as numbers; NaN where a number is missing."""
        n_columns = len(y.names) if isinstance(y, TargetColumns) else 1
        if n_columns != len(self.tasks):
            raise ValueError(
                f"{name} must have {len(self.tasks)} columns, one for each target, got"
                f" {n_columns}."
            )
        encoded = []
        for task, values, own in zip(self.tasks, y.columns, y.names, strict=True):
            if task.classes is None:
                numbers = targets.numbers(values, task.owner, own, may_be_missing=True)
                encoded.append(numbers)
            else:
                targets.check_complete(values, own)
                encoded.append(task.encode(values, own, source))
        return np.column_stack(encoded)

    def weights(
        self, rows: InputSet, target: Floats, partition: RowPartition | None
    ) -> Floats | None:
        """The weights of the rows, without those of classes."""
        plain = rows._replace(class_weight=None)
        return self.tasks[0].weights(plain, target[:, 0], partition)

    def output_weight(
        self, rows: InputSet, target: Floats, weight: Floats | None
    ) -> Floats | None:
        """The weights of the rows times those of their classes, for each target.

        None if classes have no weights.
        """
        given = rows.class_weight
        if given is None:
            return None
        each = given if isinstance(given, list | tuple) else [given] * len(self.tasks)
        if len(each) != len(self.tasks):
            raise ValueError(
                f"{rows.prefix}class_weight must have one item for each of the"
                f" {len(self.tasks)} targets, got {len(each)}."
            )
        weight = np.ones(len(target)) if weight is None else weight
        weights = []
        for task, codes, of_target, column in zip(
            self.tasks, target.T, each, self.columns, strict=True
        ):
            with about(column):
                own = rows._replace(class_weight=of_target, sample_weight=weight)
                weights.append(np.asarray(task.weights(own, codes, None)))
        return np.column_stack(weights)

    def check_learnable(self, target: Floats, weight: Floats | None) -> None:
        """Check that each target has a value; else ValueError."""
        counts = np.ones(len(target), dtype=bool) if weight is None else weight > 0
        for values, column in zip(target.T, self.columns, strict=True):
            if np.isnan(values[counts]).all():
                raise ValueError(
                    f"All values of {column} are missing, or have the weight 0."
                )


def task_of(task: Task, y: TargetColumns) -> SeveralTargets:
    """The task of several targets: the given one for each column.

    Raises
    ------
    ValueError
        If a column does not fit the task, or if the task has the classes of another
        number of targets.
    """
    known = task.classes
    if known is None:
        tasks = []
        for values, name in zip(y.columns, y.names, strict=True):
            with about(name):
                if isinstance(task, Classification):
                    targets.check_complete(values, name)
                tasks.append(task.of(values))
        return SeveralTargets(task.owner, tasks=tuple(tasks), columns=y.names)
    if not isinstance(known, list) or len(known) != len(y.names):
        n_known = len(known) if isinstance(known, list) else 1
        raise ValueError(
            f"y has {len(y.names)} columns, but init_model has learned {n_known}"
            " targets."
        )
    parts = tuple(replace(task, classes=labels) for labels in known)
    return SeveralTargets(task.owner, tasks=parts, columns=y.names)


@dataclass(frozen=True)
class Output:
    """One of several outputs of a fit.

    Attributes
    ----------
    task : Task
    options : dict
        The options that may differ from those of other outputs.
    given_objective : str or callable
        The objective by the name that the user passed.
    link : Link
        The function from its raw scores to predictions.
    name : str
        What messages call it.
    """

    task: Task
    options: Mapping[str, Any]
    given_objective: Objective
    link: Link
    name: str

    def settings(self, settings: Settings) -> Settings:
        """The options of the output, given those of the fit."""
        return settings.replaced(**self.options)

    def metrics(self, settings: Settings, name: str) -> list[metrics.Metric]:
        """The metric of this name, with the options of the fit."""
        return metrics.make(
            [name],
            self.settings(settings),
            self.task.n_scores,
            classifies=self.task.n_classes is not None,
            link=self.metric_link,
        )

    @property
    def metric_link(self) -> Link:
        """The link of named metrics.

        They treat raw scores of a function as those of the usual objective.
        """
        usual = self.task.default_objective
        if callable(self.given_objective) and usual is not None:
            return make_link(usual)
        return self.link


def of_fit(task: Task, settings: Settings, levels: Sequence[float]) -> list[Output]:
    """The outputs of a fit that learns several quantiles or targets.

    Parameters
    ----------
    task : Task
        With the classes of the training set.
    settings : Settings
    levels : sequence of float
        The levels of several quantiles; empty for several targets.

    Raises
    ------
    ValueError
        If the objective is unknown, or does not fit the task or the levels.
    """
    if levels and task.tasks:
        raise ValueError(
            f"The 'alpha' parameter of {task.owner} must be a number for several"
            f" targets, got {levels}."
        )
    if levels:
        given = settings.objective or task.default_objective
        objective = canonical_name(given) if isinstance(given, str) else given
        if given and (objective != "quantile" or task.classes is not None):
            raise ValueError(
                f"The 'alpha' parameter of {task.owner} must be a number for"
                f" objective={objective!r}. Only objective='quantile' of a regression"
                " learns several quantiles."
            )
        given, objective, link = task.resolved(settings)
        return [
            Output(
                task,
                {"objective": objective, "alpha": level},
                given,
                link,
                f"the quantile {level:g}",
            )
            for level in levels
        ]
    outputs = []
    for part, column in zip(task.tasks, task.columns, strict=True):
        with about(column):
            given, objective, link = part.resolved(settings)
        outputs.append(Output(part, {"objective": objective}, given, link, column))
    return outputs


def joint_objective(outputs: Sequence[Output]) -> Any:
    """The objective of all outputs, or a tuple of theirs if they differ."""
    names = [output.options["objective"] for output in outputs]
    return names[0] if names.count(names[0]) == len(names) else tuple(names)


def joint_link(links: Sequence[Link], task: Task, levels: tuple[float, ...]) -> Link:
    """The function from the raw scores of all outputs to predictions."""
    link = links[0]
    if levels:
        return replace(link, levels=levels)
    if link.kind != "softmax" and len(set(links)) == 1:
        return link
    widths = [part.n_scores for part in task.tasks]
    return Link("joint", parts=tuple(zip(links, widths, strict=True)))
