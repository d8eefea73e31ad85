"""Checks of the arguments that plots share, and their axes."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skgoss.parameters import domains
from skgoss.utils import messages
from skgoss.utils import optional as packages

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pair = tuple[float, float]
Orientation = Literal["horizontal", "vertical"]

ORIENTATIONS = ("horizontal", "vertical")


def _is_pair(value: Any) -> bool:
    return np.shape(value) == (2,) and np.asarray(value).dtype.kind in "iuf"


_PAIR = domains.optional(domains.instance("tuple", "a pair of numbers", _is_pair))
_DOMAINS = {
    "figsize": _PAIR,
    "xlim": _PAIR,
    "ylim": _PAIR,
    "precision": domains.optional(domains.integer(0)),
    "max_num_features": domains.optional(domains.ANY_INT),
    "max_category_values": domains.integer(1),
    "tree_index": domains.ANY_INT,
    "orientation": domains.instance(
        "str", "'horizontal' or 'vertical'", lambda value: value in ORIENTATIONS
    ),
}


def check(**arguments: Any) -> None:
    """Check arguments by their names; ValueError if a value is invalid."""
    for name, value in arguments.items():
        domain = _DOMAINS[name]
        if domain.convert(value) is NotImplemented:
            raise ValueError(f"{name} must be {domain.description}, got {value!r}.")


def check_name(name: Any, names: Iterable[str], argument: str, kind: str) -> None:
    """Check that an argument is one of some names; else ValueError.

    ``kind`` is what the names are, in the message: "names of evaluation sets".
    """
    if name not in names:
        raise ValueError(
            f"{argument} must be {kind} ({', '.join(map(repr, names))}), got"
            f" {name!r}.{messages.hint(str(name), names)}"
        )


def optional(module: str) -> ModuleType:
    """Import a module that a plot needs."""
    return packages.optional(module, "This plot")


def axes(
    ax: Axes | None, figsize: Pair | None, dpi: float | None
) -> tuple[Axes, Figure | None]:
    """``ax``, checked, and None; if ``ax`` is None, new axes and their new figure."""
    if ax is None:
        figure, ax = optional("matplotlib.pyplot").subplots(figsize=figsize, dpi=dpi)
        return ax, figure
    if not isinstance(ax, optional("matplotlib.axes").Axes):
        raise TypeError(
            f"ax must be Axes of matplotlib, got {type(ax).__name__}. Pass other"
            " arguments by name, such as tree_index=0."
        )
    return ax, None
