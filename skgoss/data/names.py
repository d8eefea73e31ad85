"""Names of columns that users give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skgoss.utils.messages import hint


def given(feature_name: Any) -> list[str] | None:
    """Check the argument ``feature_name``.

    Returns
    -------
    list of str, or None
        None for 'auto': the names are those of the data.

    Raises
    ------
    TypeError
        If it is neither 'auto' nor a list of str.
    """
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
    """Check that there is a name for each column.

    Raises
    ------
    ValueError
        If there are more or fewer names than columns, or equal ones.
    """
    if len(names) != n_features or len(set(names)) < len(names):
        raise ValueError(
            f"feature_name must have a name for each of the {n_features} columns, all"
            f" different. Got {len(names)} names, {len(set(names))} of them different."
        )


def unknown_column(
    option: str, word: Any, names: Sequence[Any] | None, n_features: int
) -> ValueError:
    """The error for a column that an option names by a wrong name or number."""
    if not isinstance(word, str):
        there = f"the {n_features} columns of X are numbered 0 to {n_features - 1}."
    elif names is None:
        there = "the columns of X have no names, so use their numbers."
    else:
        known = list(map(str, names))
        there = f"the columns of X are {', '.join(map(repr, known[:20]))}"
        there += (", ..." if n_features > 20 else ".") + hint(word, known)
    return ValueError(f"{option} names the column {word!r}, but {there}")


def numbered(categorical_feature: Any, names: Sequence[str] | None) -> Any:
    """Categorical columns, with numbers in place of the names that users gave."""
    if names is None or not isinstance(categorical_feature, list):
        return categorical_feature
    number = {name: j for j, name in enumerate(names)}
    return [number.get(name, name) for name in categorical_feature]
