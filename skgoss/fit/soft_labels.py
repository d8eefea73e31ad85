"""Soft labels: a target of several columns, the probabilities of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import targets
from skgoss.columns.targets import TargetColumns
from skgoss.distributed.row_partition import RowPartition
from skgoss.fit.arguments import InputSet
from skgoss.fit.task import Classification, Objective
from skgoss.objectives.link import Link
from skgoss.objectives.objectives import OBJECTIVES, ObjectiveSpec
from skgoss.parameters.settings import Settings

Floats = NDArray[np.float64]

# How much the sum of a row may differ from 1, as rounding to four decimals does.
_MAX_ERROR = 0.001


@dataclass(frozen=True, eq=False)
class SoftLabels(Classification):
    """Learning classes from their probabilities, by 'cross_entropy'.

    The target of the training set has the shape (n_rows, n_classes). An evaluation set
    has either such a target or labels.
    """

    is_soft = True

    def resolved(self, settings: Settings) -> tuple[Objective, Objective, Link]:
        """The cross entropy of two classes, or that of more, which is 'multiclass'."""
        if self.n_classes > 2:
            settings = settings.replaced(objective="multiclass")
        return super().resolved(settings)

    def encode(
        self, y: NDArray[Any] | TargetColumns, name: str, source: str = "y"
    ) -> Floats:
        """The probabilities, whose rows sum to 1, or the numbers of labels."""
        if not isinstance(y, TargetColumns):
            return super().encode(y, name, source)
        _check_columns(y, np.asarray(self.classes), name)
        columns = zip(y.columns, y.names, strict=True)
        return _probabilities(
            np.column_stack([targets.numbers(v, self.owner, c) for v, c in columns]),
            name,
        )

    def weights(
        self, rows: InputSet, target: Floats, partition: RowPartition | None
    ) -> tuple[Floats | None, Floats | None]:
        """The weights of the rows; ValueError if classes have weights."""
        if rows.class_weight is not None:
            raise ValueError(
                f"{rows.prefix}class_weight cannot be used with soft labels, because a"
                f" row has several classes. Use {rows.prefix}sample_weight."
            )
        return super().weights(rows, target, partition)


def are_probabilities(spec: ObjectiveSpec | None, y: TargetColumns) -> bool:
    """Whether several columns are soft labels: numbers of floats for 'cross_entropy'.

    Columns of other types are several targets, and so are those for other objectives.
    """
    are_floats = all(column.dtype.kind == "f" for column in y.columns)
    return spec is OBJECTIVES["cross_entropy"] and are_floats


def learned(task: Classification, y: TargetColumns) -> SoftLabels:
    """The task whose classes are the columns, or those of an earlier model."""
    classes: Any = targets.as_labels(y.keys) if task.classes is None else task.classes
    if isinstance(classes, list):
        raise ValueError(
            f"y has soft labels, but init_model has learned {len(classes)} targets."
        )
    return SoftLabels(task.owner).with_classes(classes)


def _check_columns(y: TargetColumns, classes: NDArray[Any], name: str) -> None:
    """Check that there is a column for each class, in their order; else ValueError."""
    if len(y.keys) != len(classes):
        raise ValueError(
            f"{name} must have a column for each of the {len(classes)} classes, got"
            f" {len(y.keys)}."
        )
    are_named = all(isinstance(key, str) for key in y.keys)
    if are_named and y.keys != classes.tolist():
        raise ValueError(
            f"The columns of {name} must be the classes, in this order:"
            f" {classes.tolist()}. Got {y.keys}."
        )


def _probabilities(values: Floats, name: str) -> Floats:
    """The probabilities, divided by their sums; ValueError names a wrong row."""
    is_negative = (values < 0).any(axis=1)
    if is_negative.any():
        row = int(is_negative.argmax())
        raise ValueError(
            f"Soft labels must not be negative, but row {row} of {name} is"
            f" {values[row].tolist()}."
        )
    total = values.sum(axis=1)
    is_wrong = ~(np.abs(total - 1.0) <= _MAX_ERROR)
    if is_wrong.any():
        row = int(is_wrong.argmax())
        raise ValueError(
            f"The soft labels of a row must sum to 1, but those of row {row} of {name}"
            f" sum to {total[row]:g}. Divide each row by its sum. If {name} has several"
            " labels for each row instead, convert it to int."
        )
    return values / total[:, None]
