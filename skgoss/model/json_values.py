"""Values that JSON has no word for: tuples, dates, bytes."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

_PLAIN = (str, int, float, NoneType)


class _Kind(NamedTuple):
    """A type that JSON does not have, and how its values become JSON and come back."""

    type: type
    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


_KINDS = {
    "tuple": _Kind(
        tuple,
        lambda value: [packed(part) for part in value],
        lambda parts: tuple(unpacked(part) for part in parts),
    ),
    "bytes": _Kind(bytes, bytes.hex, bytes.fromhex),
    # A datetime is a date as well, so it comes first.
    "datetime": _Kind(
        datetime.datetime,
        lambda value: value.isoformat(),
        datetime.datetime.fromisoformat,
    ),
    "date": _Kind(datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "time": _Kind(datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
}


def packed(value: Any) -> Any:
    """A value as JSON: numbers and strings as they are, others with their type.

    Raises
    ------
    ValueError
        If JSON would not give an equal value back.
    """
    value = value.item() if isinstance(value, np.number | np.bool_) else value
    if isinstance(value, _PLAIN):
        return value
    for name, kind in _KINDS.items():
        if isinstance(value, kind.type):
            state = {name: kind.pack(value)}
            if unpacked(state) == value:
                return state
    raise ValueError(f"a {type(value).__name__} cannot be written as JSON: {value!r}")


def unpacked(state: Any) -> Any:
    """The value that `packed` has made JSON of.

    Raises
    ------
    ValueError
        If the JSON is not of `packed`.
    """
    if isinstance(state, _PLAIN):
        return state
    if isinstance(state, dict) and len(state) == 1:
        ((name, parts),) = state.items()
        if name in _KINDS and isinstance(parts, list if name == "tuple" else str):
            return _KINDS[name].unpack(parts)
    raise ValueError("a value must be a number, a string, or one with its type")
