"""Fits that learn several outputs: quantiles, or targets.

Each level of ``alpha``, or each column of ``y``, is learned by separate trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import targets
from skgoss.columns.targets import TargetColumns
from skgoss.distributed.row_partition import RowPartition
from skgoss.fit.arguments import InputSet
from skgoss.fit.task import Classification, Objective, Task
from skgoss.objectives import metric_names
from skgoss.objectives.link import Link
from skgoss.objectives.metrics import Metric
from skgoss.objectives.objectives import canonical_name, make_link
from skgoss.parameters.settings import Settings
from skgoss.utils.messages import about, warn

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
    def n_scores(self) -> int:  # type: ignore[override]
        """The number of trees of a round."""
        return sum(task.n_scores for task in self.tasks)

    def encode(
        self, y: NDArray[Any] | TargetColumns, name: str, source: str = "y"
    ) -> Floats:
        """The targets as numbers; NaN where a number is missing."""
        if not isinstance(y, TargetColumns):
            y = TargetColumns([y], [name])
        if len(y.names) != len(self.tasks):
            raise ValueError(
                f"{name} must have {len(self.tasks)} columns, one for each target, got"
                f" {len(y.names)}."
            )
        encoded = []
        for task, values, column in zip(self.tasks, y.columns, y.names, strict=True):
            if task.classes is None:
                encoded.append(
                    targets.numbers(values, task.owner, column, may_be_missing=True)
                )
            else:
                targets.check_complete(values, column)
                encoded.append(task.encode(values, column, source))
        return np.column_stack(encoded)

    def weights(
        self, rows: InputSet, target: Floats, partition: RowPartition | None
    ) -> tuple[Floats | None, Floats | None]:
        """The weights of the rows, and times those of their classes for each target."""
        plain = rows._replace(class_weight=None)
        weight, _ = self.tasks[0].weights(plain, target[:, 0], partition)
        passed, n_targets = rows.class_weight, len(self.tasks)
        if passed is None:
            return weight, None
        each = passed if isinstance(passed, list | tuple) else [passed] * n_targets
        if len(each) != n_targets:
            raise ValueError(
                f"{rows.prefix}class_weight must have one item for each of the"
                f" {n_targets} targets, got {len(each)}."
            )
        each_row = np.ones(len(target)) if weight is None else weight
        weights = []
        for task, codes, of_target, column in zip(
            self.tasks, target.T, each, self.columns, strict=True
        ):
            with about(column):
                weighted = rows._replace(class_weight=of_target, sample_weight=each_row)
                weights.append(np.asarray(task.weights(weighted, codes, None)[0]))
        return weight, np.column_stack(weights)

    def check_learnable(self, target: Floats, weight: Floats | None) -> None:
        """Check that each target has a value; else ValueError."""
        counts = np.ones(len(target), dtype=bool) if weight is None else weight > 0
        for values, column in zip(target.T, self.columns, strict=True):
            if np.isnan(values[counts]).all():
                raise ValueError(
                    f"All values of {column} are missing, or have the weight 0."
                )


def learned(task: Task, y: TargetColumns) -> SeveralTargets:
    """The task for each column of a training set's target: see `Task.learned`.

    ValueError if a column does not fit the task, or if the task has the classes of
    another number of targets.
    """
    if not isinstance(task, Classification) or task.classes is None:
        if isinstance(task, Classification):
            _warn_of_one_target(y)
        tasks = []
        for values, name in zip(y.columns, y.names, strict=True):
            with about(name):
                if isinstance(task, Classification):
                    targets.check_complete(values, name)
                tasks.append(task.learned(values))
        return SeveralTargets(task.owner, tasks=tuple(tasks), columns=y.names)
    classes = task.classes
    by_target = classes if isinstance(classes, list) else [classes]
    if len(by_target) != len(y.names):
        raise ValueError(
            f"y has {len(y.names)} columns, but init_model has learned {len(by_target)}"
            " targets."
        )
    of_targets = tuple(task.with_classes(labels) for labels in by_target)
    return SeveralTargets(task.owner, tasks=of_targets, columns=y.names)


# With fewer rows, several targets may look like one by chance.
_MIN_ROWS_OF_ONE_TARGET = 10


def _warn_of_one_target(y: TargetColumns) -> None:
    """Warn if each row has a single 1 among the columns, as a one-hot target has."""
    columns, n_rows = y.columns, len(y.columns[0])
    if n_rows < _MIN_ROWS_OF_ONE_TARGET or not all(
        column.dtype.kind in "biuf" and np.isin(column, (0, 1)).all()
        for column in columns
    ):
        return
    marks = np.column_stack(columns).astype(bool)
    if (marks.sum(axis=1) == 1).all() and marks.any(axis=0).all():
        warn(
            f"Each row of y has a single 1 in its {len(columns)} columns, which are"
            f" learned as {len(columns)} targets with the labels 0 and 1. If they are"
            " the classes of one target, pass numpy.argmax(y, axis=1)."
        )


@dataclass(frozen=True)
class Output:
    """One of several outputs of a fit."""

    task: Task
    # The options that may differ from those of other outputs.
    options: Mapping[str, Any]
    passed_objective: Objective  # the objective by the name that the user passed
    link: Link  # the function from its raw scores to predictions
    name: str  # what messages call it

    def settings(self, settings: Settings) -> Settings:
        """The options of the output in place of those of the fit."""
        return settings.replaced(**self.options)

    def metrics(
        self, settings: Settings, name: str, *, refuses_unknown: bool = False
    ) -> list[Metric]:
        """The metric of this name, with the options of the fit."""
        made = metric_names.make(
            [name],
            self.settings(settings),
            self.task.n_scores,
            classifies=self.task.n_classes is not None,
            link=self.metric_link,
            refuses_unknown=refuses_unknown,
        )
        return cast("list[Metric]", made)  # none is a scorer

    @property
    def metric_link(self) -> Link:
        """The link of named metrics.

        They treat raw scores of a function as those of the usual objective.
        """
        usual = self.task.default_objective
        if callable(self.passed_objective) and usual is not None:
            return make_link(usual)
        return self.link


def outputs(task: Task, settings: Settings, levels: Sequence[float]) -> list[Output]:
    """The outputs of a fit that learns several quantiles or targets.

    The task has the classes of the training set. There are no ``levels`` for several
    targets. ValueError if the objective is unknown, or does not fit task or levels.
    """
    if levels and task.tasks:
        raise ValueError(
            f"The 'alpha' parameter of {task.owner} must be a number for several"
            f" targets, got {levels}."
        )
    if levels:
        passed = settings.objective or task.default_objective
        objective = canonical_name(passed) if isinstance(passed, str) else passed
        if passed and (objective != "quantile" or task.classes is not None):
            raise ValueError(
                f"The 'alpha' parameter of {task.owner} must be a number for"
                f" objective={objective!r}. Only objective='quantile' of a regression"
                " learns several quantiles."
            )
        passed, objective, link = task.resolved(settings)
        return [
            Output(
                task,
                {"objective": objective, "alpha": level},
                passed,
                link,
                f"the quantile {level:g}",
            )
            for level in levels
        ]
    by_target = []
    for own, column in zip(task.tasks, task.columns, strict=True):
        with about(column):
            passed, objective, link = own.resolved(settings)
            if link.distribution is not None:
                raise ValueError(
                    f"objective={objective!r} learns the distribution of one target."
                    " Fit a model for each."
                )
        by_target.append(Output(own, {"objective": objective}, passed, link, column))
    return by_target


def joint_objective(outputs: Sequence[Output]) -> Any:
    """The objective of all outputs, or a tuple of theirs if they differ."""
    names = [output.options["objective"] for output in outputs]
    return names[0] if names.count(names[0]) == len(names) else tuple(names)


def joint_link(links: Sequence[Link], task: Task, levels: tuple[float, ...]) -> Link:
    """The function from the raw scores of all outputs to predictions.

    ``links`` are those of the outputs, whose numbers of scores ``task`` has. ``levels``
    are those of quantiles; empty: the outputs are targets.
    """
    link = links[0]
    if levels:
        return replace(link, levels=levels)
    if link.kind != "softmax" and len(set(links)) == 1:
        return link
    widths = [own.n_scores for own in task.tasks]
    return Link("joint", links=tuple(zip(links, widths, strict=True)))
