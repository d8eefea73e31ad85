"""The weights of rows: sample weights times the weights of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss.columns import per_row
from skgoss.columns.floats import as_floats
from skgoss.distributed.collectives import ALONE
from skgoss.distributed.row_partition import RowPartition

Floats = NDArray[np.float64]


def checked(
    sample_weight: ArrayLike | None,
    class_weight: Any,
    target: Floats,
    labels: NDArray[Any] | None,
    prefix: str = "",
    partition: RowPartition | None = None,
) -> Floats | None:
    """The weights of rows times those of their classes; None: all are 1.

    ``target`` has the encoded labels, if there are classes, whose ``labels`` are the
    keys of ``class_weight``. ``prefix`` is that of the names of the arguments in
    messages. ValueError if a weight is not a number, negative or not finite, if all
    weights are zero, or if their sum overflows. ``partition`` says which of the rows of
    all processes these are; None: all.
    """
    if sample_weight is None and class_weight is None:
        return None
    name, weight = f"{prefix}sample_weight", np.ones(len(target))
    if sample_weight is not None:
        if isinstance(sample_weight, str) and sample_weight == "balanced":
            advice = "There are no classes: pass a number for each row."
            if labels is not None:
                advice = (
                    f"To weight classes equally, pass {prefix}class_weight='balanced'"
                    f" to {'fit' if prefix else 'the constructor'}."
                )
            raise ValueError(
                f"{name} must be an array, got the str 'balanced'. {advice}"
            )
        given = as_floats(sample_weight, name)
        given = given if given.ndim else np.full(len(target), given)
        weight = per_row.weights(given, len(target), name)
    with np.errstate(over="ignore"):
        if class_weight is not None and labels is not None:
            number = target.astype(np.intp)
            by_class = class_weights(
                class_weight, number, weight, labels, f"{prefix}class_weight", partition
            )
            weight = weight * by_class[number]
        collectives = ALONE if partition is None else partition.collectives
        total = np.sum(collectives.all_gather(weight.sum()))
    if not 0.0 < total < np.inf:
        what = "are all zero" if total == 0.0 else "are too large: their sum overflows"
        raise ValueError(f"The weights by {name} and {prefix}class_weight {what}.")
    return weight


def class_weights(
    class_weight: Any,
    number: NDArray[np.intp],
    weight: Floats,
    labels: NDArray[Any],
    name: str = "class_weight",
    partition: RowPartition | None = None,
) -> Floats:
    """The weight of each class, (n_classes,). 'balanced' counts rows by their weights.

    ``number``, (n_rows,), is the class of each row, and ``weight`` its sample weight.
    ``labels``, (n_classes,), are the keys of a dict ``class_weight``. ``partition``
    says which of the rows of all processes these are; None: all. ValueError if a weight
    is negative or not finite, or labels are unknown.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        if partition is not None:
            # Sums of floats depend on the order of the rows.
            number, weight = partition.all_gather(number), partition.all_gather(weight)
        mass = np.bincount(number, weight, minlength=len(labels))
        present = mass > 0
        wanted = mass.sum() / max(int(present.sum()), 1)
        return np.divide(wanted, mass, out=np.zeros_like(mass), where=present)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"The {name!r} parameter of LGBMClassifier must be 'balanced', a dict from"
            f" labels to weights, or None. Got {class_weight!r} instead."
        )
    return _weights_by_label(class_weight, labels, name)


def _weights_by_label(
    class_weight: Mapping[Any, Any], labels: NDArray[Any], name: str
) -> Floats:
    """The weight of each of the ``labels``; 1 for classes that the dict leaves out.

    ValueError if the dict has other keys instead, or a weight is negative or not
    finite. ``name`` is that of the argument in messages.
    """
    # scikit-learn's function takes the label '1' for the number 1.
    absent = [label for label in labels.tolist() if label not in class_weight]
    if absent and len(labels) - len(absent) < len(class_weight):
        raise ValueError(
            f"The classes {absent} are not in {name}, which has other keys:"
            f" {list(class_weight)}."
        )
    values = [class_weight.get(label, 1.0) for label in labels.tolist()]
    try:
        by_class = np.array([float(value) for value in values])
    except (TypeError, ValueError, OverflowError):
        by_class = np.full(len(labels), np.nan)
    if not (np.isfinite(by_class) & (by_class >= 0)).all():
        raise ValueError(
            f"The {name!r} parameter of LGBMClassifier must hold finite weights >= 0."
            f" Got {class_weight!r} instead."
        )
    return by_class
