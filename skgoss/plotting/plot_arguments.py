"""The arguments that plots share: their checks, and the axes."""

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
    """Check arguments by their names.

    Raises
    ------
    ValueError
        If a value is invalid.
    """
    for name, value in arguments.items():
        domain = _DOMAINS[name]
        if domain.convert(value) is NotImplemented:
            raise ValueError(f"{name} must be {domain.description}, got {value!r}.")


def check_name(name: Any, known: Iterable[str], argument: str, kind: str) -> None:
    """Check that a name is among the known ones.

    Parameters
    ----------
    name : object
    known : iterable of str
    argument : str
        The argument that holds the name, for the message.
    kind : str
        What the known names are, for the message.

    Raises
    ------
    ValueError
        If it is not.
    """
    if name not in known:
        raise ValueError(
            f"{argument} must be {kind} ({', '.join(map(repr, known))}), got"
            f" {name!r}.{messages.hint(str(name), known)}"
        )


def optional(module: str) -> ModuleType:
    """Import a module that a plot needs."""
    return packages.optional(module, "This plot")


def axes(ax: Axes | None, figsize: Pair | None, dpi: float | None) -> Axes:
    """Return ``ax``, or the axes of a new figure if it is None.

    Raises
    ------
    TypeError
        If ``ax`` is not None and not an Axes.
    """
    if ax is None:
        return optional("matplotlib.pyplot").subplots(figsize=figsize, dpi=dpi)[1]
    if not isinstance(ax, optional("matplotlib.axes").Axes):
        raise TypeError(
            f"ax must be Axes of matplotlib, got {type(ax).__name__}. Pass other"
            " arguments by name, such as tree_index=0."
        )
    return ax
