"""What a model file tells beside the trees."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import NoneType
from typing import Any

from skgoss.data.state import entries


@dataclass(frozen=True, eq=False)
class Header:
    """What a model file tells beside the trees, in LightGBM's words.

    Attributes
    ----------
    feature_names : list of str
        The names of the columns; any strings, all different.
    feature_infos : list of str
        For each column ``[minimum:maximum]`` of the training data, or the numbers of
        its categories as ``-1:0:1:2``, or ``none`` if no split can use the column.
    objective : str
        The objective with its constants, such as ``binary sigmoid:1``. Empty if it is a
        function.
    monotone_constraints : list of int
        A sign for each column; empty without constraints.
    parameters : dict of str to str
        The options of the fit by LightGBM's names, as text.
    pandas_categorical : list of list, or None
        The categories of each categorical column of the training data frame.
    own : dict
        What only skgoss reads, of JSON's types; empty in files of other libraries.
    """

    feature_names: list[str]
    feature_infos: list[str]
    objective: str = ""
    monotone_constraints: list[int] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    pandas_categorical: list[list[Any]] | None = None
    own: dict[str, Any] = field(default_factory=dict)

    def __setstate__(self, state: dict[str, Any]) -> None:
        types = {
            "feature_names": list,
            "feature_infos": list,
            "objective": str,
            "monotone_constraints": list,
            "parameters": dict,
            "pandas_categorical": (list, NoneType),
            "own": dict,
        }
        self.__init__(*entries(state, types, "the header"))


def default_names(n_features: int) -> list[str]:
    """Names of columns that have none."""
    return [f"Column_{j}" for j in range(n_features)]


def check(header: Header, n_features: int) -> None:
    """Check that a header describes the columns of an ensemble.

    Raises
    ------
    ValueError
        If it does not.
    """
    for name in ("feature_names", "feature_infos"):
        values = getattr(header, name)
        if len(values) != n_features or not all(isinstance(v, str) for v in values):
            raise ValueError(f"{name} must be {n_features} strings")
    signs = header.monotone_constraints
    if signs and (len(signs) != n_features or not set(signs) <= {-1, 0, 1}):
        raise ValueError(
            f"monotone_constraints must be {n_features} numbers -1, 0 or 1"
        )
