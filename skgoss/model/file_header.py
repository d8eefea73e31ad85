"""The content of a model file without the trees."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

from skgoss.utils.plain_values import Types, entries

_BOUND = r"-?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|inf|nan)"
_INFO = re.compile(rf"none|\[{_BOUND}:{_BOUND}\]|-?[0-9]{{1,10}}(?::-?[0-9]{{1,10}})*")

# The entries of a state, and their types.
_STATE: Types = {
    "feature_names": list,
    "feature_infos": list,
    "objective": str,
    "monotone_constraints": list,
    "parameters": dict,
    "pandas_categorical": (list, NoneType),
    "own": dict,
}


@dataclass(frozen=True, eq=False)
class Header:
    """The content of a model file without the trees, in LightGBM's terms."""

    feature_names: list[str]  # the names of the columns; any strings, all different
    # For each column ``[minimum:maximum]`` of the training data, or the numbers of its
    # categories as ``-1:0:1:2`` (in files of other libraries, the categories
    # themselves), or ``none`` if no split can use the column.
    feature_infos: list[str]
    # The objective with its constants, such as ``binary sigmoid:1``. Empty if it is a
    # function.
    objective: str = ""
    # A sign for each column; empty without constraints.
    monotone_constraints: list[int] = field(default_factory=list)
    # The options of the fit by LightGBM's names, as text.
    parameters: dict[str, str] = field(default_factory=dict)
    # The categories of each categorical column of the training data frame.
    pandas_categorical: list[list[Any]] | None = None
    # What only skgoss reads: values of JSON's types, keys in any order. Empty in files
    # of other libraries.
    own: dict[str, Any] = field(default_factory=dict)

    def __setstate__(self, state: dict[str, Any]) -> None:
        values = entries(state, _STATE, "the header")
        vars(self).update(zip(_STATE, values, strict=True))

    def check(self, n_features: int) -> None:
        """Check that it describes columns; ValueError if it does not."""
        for name in ("feature_names", "feature_infos"):
            values = getattr(self, name)
            if len(values) != n_features or not all(isinstance(v, str) for v in values):
                raise ValueError(f"{name} must be {n_features} strings")
        check_infos(self.feature_infos)
        texts = *self.parameters, *self.parameters.values()
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("parameters must be texts by name")
        if not all(isinstance(v, list) for v in self.pandas_categorical or ()):
            raise ValueError("pandas_categorical must hold lists")
        signs = self.monotone_constraints
        if signs and (len(signs) != n_features or not set(signs) <= {-1, 0, 1}):
            raise ValueError(
                f"monotone_constraints must be {n_features} numbers -1, 0 or 1"
            )


def check_infos(infos: Iterable[str]) -> None:
    """Check that entries of ``feature_infos`` are ranges, categories or ``none``."""
    for info in infos:
        if not _INFO.fullmatch(info):
            raise ValueError(
                "feature_infos must hold ranges such as [0:1.5], categories such as"
                f" -1:0:1, or none, got {info[:50]!r}"
            )
