"""Model files of other libraries: the state of the model by their objective."""

from __future__ import annotations

from typing import Any

import numpy as np

from skgoss.model.file_header import Header
from skgoss.objectives.link import Link
from skgoss.objectives.objectives import ALIASES, make_link
from skgoss.utils.messages import warn


def state_without_trees(header: Header, n_scores: int) -> dict[str, Any]:
    """The `FittedModel.state_without_trees` of a file of another library.

    ValueError if the objective does not fit the number of scores, or its constants are
    wrong. Warns if the objective is unknown: predictions are then raw scores.
    """
    objective, link = _objective(header.objective, n_scores)
    return {
        "categories": {
            "declared": [],
            "vocabularies": {},
            "unplaced": header.pandas_categorical,
        },
        "objective": objective,
        "link": link.__getstate__(),
        "best_iteration": 0,
        "best_score": {},
        "origin": None,
        "preset_params": {},
        "out_of_fold": None,
    }


def _objective(text: str, n_scores: int) -> tuple[str | None, Link]:
    """The name and link of an objective, from its text in a file.

    The name is None, and predictions are raw scores, if the objective is unknown or a
    function (an empty text). ``n_scores`` is the number of trees of a round.
    """
    name, constants = split_objective(text)
    if not name:
        return None, Link()
    if name not in ALIASES:
        warn(f"The objective {text!r} is not known: predictions are raw scores.")
        return None, Link()
    if constants.get("num_class", n_scores) != n_scores:
        raise ValueError(
            f"the objective is {text!r}, but there are {n_scores} trees a round"
        )
    slope = constants.get("sigmoid", 1.0)
    if not 0.0 < slope < np.inf:
        raise ValueError(f"the objective is {text!r}: sigmoid must be above 0")
    return ALIASES[name], make_link(ALIASES[name], slope, "sqrt" in constants)


def split_objective(text: str) -> tuple[str, dict[str, float]]:
    """Split an objective such as ``binary sigmoid:1`` into its name and constants.

    A constant without a number, such as ``sqrt``, has the value 1. ValueError if one is
    not a number.
    """
    name, *items = text.split() or [""]
    constants = {}
    for item in items:
        key, colon, value = item.partition(":")
        try:
            constants[key] = float(value) if colon else 1.0
        except ValueError:
            raise ValueError(
                f"the objective {text!r} must consist of a name and numbers such as"
                f" 'sigmoid:1', got {item!r}"
            ) from None
    return name, constants
