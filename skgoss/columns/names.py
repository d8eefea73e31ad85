"""Names of columns: those of the user, and columns that options name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skgoss.utils.locks import cached_property
from skgoss.utils.messages import hint


def checked(feature_name: Any) -> list[str] | None:
    """Check ``feature_name``; return its list of str, or None for 'auto'."""
    if isinstance(feature_name, str) and feature_name == "auto":
        return None
    names = None if isinstance(feature_name, str) else list(feature_name)
    if names is None or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"feature_name must be 'auto' or a list of str, got {feature_name!r}."
        )
    return list(map(str, names))


def default(n_features: int) -> list[str]:
    """Names of columns that have none."""
    return [f"Column_{j}" for j in range(n_features)]


def check(names: Sequence[str], n_features: int) -> None:
    """Check that each column has a name, and that all names differ."""
    if len(names) != n_features or len(set(names)) < len(names):
        raise ValueError(
            f"feature_name must have a name for each of the {n_features} columns, all"
            f" different. Got {len(names)} names, {len(set(names))} of them different."
        )


def unknown_column(
    option: str, word: Any, names: Iterable[Any] | None, n_features: int
) -> ValueError:
    """The error for a name or number that no column has."""
    if not isinstance(word, str):
        there = f"the {n_features} columns of X are numbered 0 to {n_features - 1}."
    elif names is None:
        there = "the columns of X have no names, so use their numbers."
    else:
        shown = list(map(str, names))
        there = f"the columns of X are {', '.join(map(repr, shown[:20]))}"
        there += (", ..." if n_features > 20 else ".") + hint(word, shown)
    return ValueError(f"{option} names the column {word!r}, but {there}")


def numbered(categorical_feature: Any, names: Sequence[str] | None) -> Any:
    """``categorical_feature`` with the numbers of columns that the user has named."""
    if names is None or not isinstance(categorical_feature, list):
        return categorical_feature
    number = {name: j for j, name in enumerate(names)}
    return [number.get(name, name) for name in categorical_feature]


@dataclass(frozen=True)
class ColumnFinder:
    """Finds columns by name or number."""

    n_features: int
    names: Sequence[Any] | None

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        return {} if self.names is None else {n: j for j, n in enumerate(self.names)}

    def name(self, column: int) -> Any:
        """The name of a column; its number if columns have no names."""
        return column if self.names is None else self.names[column]

    def number(self, column: Any, option: str) -> int:
        """The number of the column that an option lists by name or number."""
        is_name = isinstance(column, str)
        number = self._numbers.get(column, -1) if is_name else int(column)
        if not 0 <= number < self.n_features or not (is_name or number == column):
            raise unknown_column(option, column, self.names, self.n_features)
        return number

    def values(self, passed: Any, option: str, default: Any) -> list[Any] | None:
        """The value of an option for each column; None if all are the default.

        ``passed`` is a dict by name or number, a list or None. Columns that a dict does
        not name get the default.
        """
        if passed is None:
            return None
        if isinstance(passed, Mapping):
            values = [default] * self.n_features
            for column, value in passed.items():
                values[self.number(column, option)] = value
        else:
            values = list(passed)
        if len(values) != self.n_features:
            raise ValueError(
                f"{option} must have one entry for each of the {self.n_features}"
                f" columns, or be a dict by column. Got {len(values)} entries."
            )
        return None if all(value == default for value in values) else values
