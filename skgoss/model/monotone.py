"""Monotone constraints in words: what they say of predictions, and which are unused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.objectives.link import Link
from skgoss.objectives.objectives import is_survival

_DIRECTIONS = {1: "never decreases", -1: "never increases"}


def constrained(objective: Any, link: Link, classes: Any) -> str:
    """What the constraints of a model limit: the probability of a class, for example.

    ``classes`` are the labels, a list of these for several targets, or None.
    """
    if is_survival(objective):
        return "the risk"
    if isinstance(classes, np.ndarray) and len(classes) == 2:
        return f"the probability of {classes[1]!s}"
    if classes is not None:
        return "the raw score of each class"
    return "each parameter" if link.distribution is not None else "the prediction"


def in_words(
    signs: Sequence[int], names: Sequence[str], quantity: str, used: NDArray[Any]
) -> list[str]:
    """A sentence for each constrained column, which says whether trees split it.

    ``signs`` are 1, -1 or 0, and ``used`` the numbers of splits of each column.
    """
    return [
        f"{quantity} {_DIRECTIONS[sign]} with {names[column]}"
        + ("" if used[column] else " (no tree splits it)")
        for column, sign in enumerate(signs)
        if sign
    ]
