"""What a model file tells beside the trees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Header:
    """What a model file tells beside the trees, in LightGBM's words.

    Attributes
    ----------
    feature_names : list of str
        The names of the columns; any strings, all different.
    feature_infos : list of str
        For each column ``[minimum:maximum]`` of the training data, or the numbers of
        its categories as ``-1:0:1:2`` (in files of other libraries, the categories
        themselves), or ``none`` if no split can use the column.
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
        What only skgoss reads, of JSON's types, keys in any order; empty in files of
        other libraries.
    """

    feature_names: list[str]
    feature_infos: list[str]
    objective: str = ""
    monotone_constraints: list[int] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    pandas_categorical: list[list[Any]] | None = None
    own: dict[str, Any] = field(default_factory=dict)
