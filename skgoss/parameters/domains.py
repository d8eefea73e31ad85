"""The values that options may take, and how they are converted."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np

from skgoss.data.columns import INT32_MAX

UINT32_MAX = 2**32 - 1


class Domain(NamedTuple):
    """The values that an option may take.

    Attributes
    ----------
    type : str
        The type in docstrings.
    words : str
        Completes the sentence "must be ...".
    convert : callable
        Returns a value as a plain Python object, or ``NotImplemented`` if it is outside
        the domain.
    """

    type: str
    words: str
    convert: Callable[[Any], Any]


def integer(low: int, high: int = INT32_MAX) -> Domain:
    """Integers from ``low`` to ``high``, both included; bools are no integers."""

    def convert(value: Any) -> Any:
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            return NotImplemented
        number = int(value)
        return number if low <= number <= high else NotImplemented

    limit = "inf)" if high == INT32_MAX else f"{high}]"
    words = f"an int in the range [{low}, {limit}" if low > -INT32_MAX else "an int"
    return Domain("int", words, convert)


def real(
    low: float = -math.inf, high: float = math.inf, *, closed: str = "neither"
) -> Domain:
    """Finite numbers from ``low`` to ``high``; ``closed`` tells which ends belong."""
    left, right = closed in {"left", "both"}, closed in {"right", "both"}

    def convert(value: Any) -> Any:
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            return NotImplemented
        try:
            number = float(value)
        except OverflowError:
            return NotImplemented
        edge = (left and number == low) or (right and number == high)
        return number if edge or low < number < high else NotImplemented

    bounds = f"{'[' if left else '('}{low}, {high}{']' if right else ')'}"
    return Domain("float", f"a float in the range {bounds}", convert)


def choice(**names: str) -> Domain:
    """Words, in upper or lower case. Keywords are the words, values their meanings."""

    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return NotImplemented
        return names.get(value.lower(), NotImplemented)

    words = ", ".join(repr(name) for name in names)
    return Domain(f"{{{words}}}", f"a str among {{{words}}}", convert)


def optional(domain: Domain) -> Domain:
    """The values of ``domain``, and None."""

    def convert(value: Any) -> Any:
        return None if value is None else domain.convert(value)

    return Domain(f"{domain.type} or None", f"{domain.words} or None", convert)


def instance(type_: str, words: str, accepts: Callable[[Any], bool]) -> Domain:
    """Objects for which ``accepts`` is true; they are not converted."""

    def convert(value: Any) -> Any:
        return value if accepts(value) else NotImplemented

    return Domain(type_, words, convert)


def _convert_flag(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if not isinstance(value, str):
        return NotImplemented
    # Scripts have the words of LightGBM's parameter files.
    return {"true": True, "false": False}.get(value.lower(), NotImplemented)


def _convert_random_state(value: Any) -> Any:
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return value
    return integer(0, UINT32_MAX).convert(value)


ANY_INT = integer(-INT32_MAX - 1)
FLAG = Domain("bool", "a bool", _convert_flag)
FRACTION = real(0, 1, closed="right")
UNIT = real(0, 1, closed="both")
POSITIVE = real(0)
NOT_NEGATIVE = real(0, closed="left")
SEED = optional(integer(0))
OBJECTIVE = instance(
    "str, callable or None",
    "a str, a callable or None",
    lambda value: value is None or isinstance(value, str) or callable(value),
)
CLASS_WEIGHT = instance(
    "dict, 'balanced' or None",
    "a dict from labels to weights, 'balanced' or None",
    lambda value: (
        value is None
        or isinstance(value, Mapping)
        or (isinstance(value, str) and value == "balanced")
    ),
)
RANDOM_STATE = optional(
    Domain(
        "int, RandomState, Generator",
        f"an int in the range [0, {UINT32_MAX}], a numpy RandomState or Generator",
        _convert_random_state,
    )
)


def _is_collection(value: Any) -> bool:
    """Whether values can be taken from an object again and again."""
    return isinstance(value, Iterable) and not isinstance(value, Mapping | Iterator)


def _convert_columns(value: Any) -> Any:
    """Convert to a list of names and numbers of columns."""
    if isinstance(value, str) or not _is_collection(value):
        return NotImplemented
    words = [ANY_COLUMN.convert(word) for word in value]
    return NotImplemented if any(word is NotImplemented for word in words) else words


def _convert_column(value: Any) -> Any:
    return str(value) if isinstance(value, str) else integer(0).convert(value)


ANY_COLUMN = Domain("str or int", "a str or an int", _convert_column)
COLUMNS = Domain(
    "'auto', None or list of str and int",
    "'auto', None or a list of column names and column numbers >= 0",
    lambda value: (
        value
        if value is None or (isinstance(value, str) and value == "auto")
        else _convert_columns(value)
    ),
)


def _columns_of_file(many: bool) -> Callable[[Any], Any]:
    """Converts a number, 'name:...' or a str of numbers to a tuple of columns."""

    def convert(value: Any) -> Any:
        words = value if many and isinstance(value, list | tuple) else [value]
        if any(ANY_COLUMN.convert(word) is NotImplemented for word in words):
            return NotImplemented
        text = ",".join(map(str, words))
        if text.startswith("name:"):
            names = text.split(",") if many else [text]
            return tuple(name.removeprefix("name:") for name in names)
        numbers_ = [word.strip() for word in text.split(",")] if text else []
        known = all(re.fullmatch("[0-9]{1,9}", word) for word in numbers_)
        known = known and (many or len(numbers_) <= 1)
        return tuple(map(int, numbers_)) if known else NotImplemented

    return convert


_BY_NAME = "'name:' and the name"
FILE_COLUMN = Domain(
    "int or str",
    f"the number of a column of the file (an int >= 0), or {_BY_NAME} of one",
    _columns_of_file(many=False),
)
FILE_COLUMNS = Domain(
    "int, str or list",
    f"numbers of columns of the file (a list, or a str like '0,1'), or {_BY_NAME}s of"
    " some (like 'name:a,b')",
    _columns_of_file(many=True),
)


def _convert_metric(value: Any) -> Any:
    """Convert to None, a name, a function, or a list of names and functions."""
    if value is None or isinstance(value, str) or callable(value):
        return value
    if not isinstance(value, list | tuple | set):
        return NotImplemented
    words = list(value)
    known = all(
        word is None or isinstance(word, str) or callable(word) for word in words
    )
    return words if known else NotImplemented


def _numbers_of(domain: Domain) -> Callable[[Any], Any]:
    """Converts a number, a list of numbers or a str like '1,3,5' to a tuple."""

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = [float(word) for word in value.split(",")]
            except ValueError:
                return NotImplemented
            value = [
                int(v) if v == int(v) and domain.type == "int" else v for v in value
            ]
        if isinstance(value, numbers.Real):
            value = [value]
        if not _is_collection(value):
            return NotImplemented
        converted = tuple(domain.convert(number) for number in value)
        known = converted and NotImplemented not in converted
        return converted if known else NotImplemented

    return convert


def _by_column(domain: Domain, type_: str, words: str) -> Domain:
    """One value per column: a sequence, a str like '1,0,-1', or a dict by column."""

    def convert(value: Any) -> Any:
        if value is None or (isinstance(value, str | list | tuple) and not value):
            return None
        if not isinstance(value, Mapping):
            return _numbers_of(domain)(value)
        converted = {
            ANY_COLUMN.convert(column): domain.convert(entry)
            for column, entry in value.items()
        }
        known = NotImplemented not in (*converted, *converted.values())
        return converted if known else NotImplemented

    return Domain(
        f"list of {type_}, dict, str or None",
        f"None, a list of {words} with one item for each column (or a str like '1,0'),"
        f" or a dict from column names or numbers to {words}",
        convert,
    )


def _convert_sets(value: Any) -> Any:
    """Convert to None, 'pairwise', 'no_interactions' or a list of lists of columns."""
    if isinstance(value, str):
        if value in {"pairwise", "no_interactions"}:
            return value
        try:
            value = json.loads(f"[{value}]")
        except ValueError:
            return NotImplemented
    if value is None or not _is_collection(value):
        return None if value is None else NotImplemented
    sets = [_convert_columns(columns) for columns in value]
    known = all(columns is not NotImplemented and columns for columns in sets)
    return (sets or None) if known else NotImplemented


def _convert_file(value: Any) -> Any:
    """Convert to None, the name of a file, or a dict with the contents of the file."""
    if isinstance(value, PathLike):
        return fspath(value)
    known = value is None or isinstance(value, str | Mapping)
    return (value or None) if known else NotImplemented


SIGNS = _by_column(integer(-1, 1), "int", "the values -1, 0 or 1")
FACTORS = _by_column(NOT_NEGATIVE, "float", "floats >= 0")
BINS = _by_column(integer(2, 65535), "int", "ints from 2 to 65535")
SETS = Domain(
    "list of lists of str and int, str or None",
    "None, 'pairwise', 'no_interactions', or a list of non-empty lists of column"
    " names and numbers (or a str like '[0,1],[2]')",
    _convert_sets,
)
FORCED = Domain(
    "dict, str, path or None",
    "None, the name of a JSON file, or a dict",
    _convert_file,
)
METRIC = Domain(
    "str, callable, list of them or None",
    "None, a str, a callable or a list of them",
    _convert_metric,
)
POSITIONS = Domain(
    "int or list of int",
    "an int >= 1 or a list of ints >= 1",
    _numbers_of(integer(1)),
)
GAINS = optional(
    Domain("list of float", "a list of floats >= 0", _numbers_of(NOT_NEGATIVE))
)
COSTS = optional(Domain("list of float", "a list of floats", _numbers_of(real())))
DELTAS = Domain(
    "float or list of float",
    "a float >= 0 or a list of floats >= 0",
    lambda value: (
        NOT_NEGATIVE.convert(value)
        if isinstance(value, numbers.Real)
        else _list_of_deltas(value)
    ),
)


def _list_of_deltas(value: Any) -> Any:
    converted = _numbers_of(NOT_NEGATIVE)(value)
    return converted if converted is NotImplemented else list(converted)
