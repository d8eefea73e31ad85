"""Plain values in files and pickles, which are checked when they are read.

The first half checks the entries of a state that was loaded. The second half writes
Python values as JSON that keeps their types: None, booleans, integers, strings and
finite floats are themselves, lists are lists, dicts with keys of strings are objects.
Anything else is an object with the field ``"type"`` and the fields that `_FORMS` lists
for this type:

    np.array([1, 2])  ->  {"type": "numpy.ndarray", "dtype": "<i8", "shape": [2],
                           "value": [1, 2]}

A file may come from anyone: no name in it is imported or called.
"""

from __future__ import annotations

import datetime
import decimal
import math
import pathlib
import re
from collections.abc import Callable, Mapping
from numbers import Real
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from skgoss.utils import optional

Types = Mapping[str, type | tuple[type, ...]]

# The largest integer of the engine's columns, leaves and sets.
INT32_MAX = 2**31 - 1

# An integer of more bits may be too large for a float.
MAX_BITS = 1023

# How deep lists and dicts may be nested. Readers of JSON allow a little more.
MAX_DEPTH = 40

# The largest array of strings, in bytes. All strings take as much memory as the longest
# one, so a small file could claim any amount of memory.
MAX_STRINGS = 1 << 26

# The longest range. Code that reads all numbers of a longer one would hardly end.
MAX_RANGE = 1 << 24

_PLAIN = (NoneType, bool, int, str)
_DTYPE = re.compile(
    r"[<>|=]?(?:b1|[iu][1248]|f[248]|U\d{1,9}|O"
    r"|[mM]8\[(?:Y|M|W|D|h|m|s|ms|us|ns)\])"
)
# The errors that constructors of values raise.
_UNREADABLE = (
    *(TypeError, ValueError, LookupError, AttributeError),
    *(ArithmeticError, MemoryError),
)
# The types of the values of an array in a file, by the kind of its dtype.
_VALUE_TYPES = dict.fromkeys("iumM", int) | {
    "b": bool,
    "f": float,
    "U": str,
    "O": object,
}
_ZONE = re.compile(r"[\w+:-]+(?:/[\w+:-]+)*")


# --- Entries of a state ---------------------------------------------------------------


def entries(state: Any, types: Types, owner: str) -> list[Any]:
    """The entries of a loaded state, in the order of ``types``.

    ValueError if the state is not a dict, or an entry is missing or has another type.
    The message names the ``owner`` of the state.
    """
    if not isinstance(state, dict):
        raise ValueError(f"{owner} must be a dict, got {type(state).__name__}")
    for name, allowed in types.items():
        if name not in state:
            raise ValueError(f"{owner} has no {name!r}")
        if not isinstance(state[name], allowed):
            raise ValueError(
                f"{name!r} of {owner} must not be of type {type(state[name]).__name__}"
            )
    return [state[name] for name in types]


def check_scores(
    scores: dict[Any, Any], name: str, is_score: Callable[[Any], bool]
) -> None:
    """Raise ValueError unless ``is_score`` is true of all metrics.

    ``scores`` has dicts of them, by evaluation set and the name of the metric.
    """
    for metrics in scores.values():
        if not isinstance(metrics, dict) or not all(map(is_score, metrics.values())):
            raise ValueError(f"{name} must hold metrics by evaluation set and name")


def is_number(value: Any) -> bool:
    """Whether a value is a real number that a float can hold."""
    is_large = isinstance(value, int) and value.bit_length() > MAX_BITS
    return isinstance(value, Real) and not is_large


def are_numbers(values: Any) -> bool:
    """Whether values are a list of numbers, as the metrics of all rounds are."""
    return isinstance(values, list) and all(map(is_number, values))


def vector(values: Any, dtype: DTypeLike, name: str) -> NDArray[Any]:
    """A one-dimensional array of a dtype, as kernels read it; ValueError if it is none.

    It is copied only if it is not contiguous, not aligned, or in another byte order.
    """
    is_array = isinstance(values, np.ndarray)
    if is_array and values.ndim == 1 and values.dtype.newbyteorder("=") == dtype:
        return np.require(values, dtype, ["C", "A", "E"])
    got = type(values).__name__
    if is_array:
        got = f"one of {values.dtype} and shape {values.shape}"
    raise ValueError(
        f"{name} must be a one-dimensional array of {np.dtype(dtype)}, got {got}"
    )


def vectors(
    state: Any, dtypes: Mapping[str, DTypeLike], owner: str
) -> dict[str, NDArray[Any]]:
    """The entries of a state that are one-dimensional arrays of these dtypes."""
    arrays = entries(state, dict.fromkeys(dtypes, object), owner)
    return {
        name: vector(values, dtypes[name], f"{name} of {owner}")
        for name, values in zip(dtypes, arrays, strict=True)
    }


def check_lengths(arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> None:
    """Raise ValueError unless named arrays have these lengths."""
    for name, size in sizes.items():
        if len(arrays[name]) != size:
            raise ValueError(
                f"{name} must have the length {size}, got {len(arrays[name])}"
            )


def check_start(start: NDArray[np.int64], stop: int, name: str) -> None:
    """Raise ValueError unless offsets never fall, from 0 to ``stop``.

    Offsets are where each of several lists begins in one array, and the end.
    """
    # Neighbors are compared, because their differences may overflow.
    rises = len(start) > 0 and not (start[1:] < start[:-1]).any()
    if not rises or start[0] != 0 or start[-1] != stop:
        raise ValueError(f"{name} must rise from 0 to {stop}")


# --- JSON that keeps types ------------------------------------------------------------


def encode(value: Any) -> Any:
    """The value in JSON's types; TypeError if it is of another type than these.

    None, bool, int, float, str, bytes, a list, tuple, set, frozenset, dict, range, a
    date or datetime, Decimal or Path, NumPy's scalars and arrays, a Timestamp or
    Interval of pandas.
    """
    return _encoded(value, 0)


def _encoded(value: Any, depth: int) -> Any:
    """`encode` of a value in ``depth`` lists or dicts; TypeError if these are many."""
    if depth > MAX_DEPTH:
        raise TypeError(f"lists and dicts are nested more than {MAX_DEPTH} deep")
    kind = type(value)
    if kind in _PLAIN or (kind is float and math.isfinite(value)):
        return value
    if kind is list:
        return [_encoded(entry, depth + 1) for entry in value]
    if kind is dict and "type" not in value and all(type(key) is str for key in value):
        return {key: _encoded(entry, depth + 1) for key, entry in value.items()}
    name = f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"
    name = "numpy.generic" if isinstance(value, np.generic) else _NAMES.get(name, name)
    if name not in _FORMS:
        raise TypeError(f"values of type {kind.__name__} cannot be written as JSON")
    form = _FORMS[name]
    values = [_encoded(entry, depth + 1) for entry in form.fields(value)]
    return {"type": name, **dict(zip(form.types, values, strict=True))}


def decode(value: Any, owner: str) -> Any:
    """The value that `encode` has written.

    ValueError if `encode` writes no such thing; the message names the ``owner``.
    ImportError if pandas is needed, and not installed.
    """
    try:
        return _decoded(value, 0)
    except _UNREADABLE as error:
        message = f"{owner} holds a value that cannot be read: {error}"
        raise ValueError(message) from error


def _decoded(value: Any, depth: int) -> Any:
    """`decode` of a value in ``depth`` lists or dicts, with any error of a type."""
    if depth > MAX_DEPTH:
        raise ValueError(f"lists and objects are nested more than {MAX_DEPTH} deep")
    if isinstance(value, list):
        return [_decoded(entry, depth + 1) for entry in value]
    if not isinstance(value, dict):
        return value
    values = {key: _decoded(entry, depth + 1) for key, entry in value.items()}
    if "type" not in value:
        return values
    name = values.pop("type")
    if not isinstance(name, str) or name not in _FORMS:
        raise ValueError(f"the type {name!r} is not known")
    form = _FORMS[name]
    if values.keys() != form.types.keys():
        raise ValueError(f"{name} has other entries than {', '.join(form.types)}")
    return form.value(*entries(values, form.types, name))


class _Form(NamedTuple):
    """How values of a type are written as a JSON object, and read again."""

    types: Types  # of the object's fields, by name
    fields: Callable[[Any], tuple[Any, ...]]  # of a value, in the order of `types`
    value: Callable[..., Any]  # from the fields; an error if they are not those of one


def _text_form(write: Callable[[Any], str], read: Callable[[str], Any]) -> _Form:
    """The form of values that are written as a string."""
    return _Form({"value": str}, lambda value: (write(value),), read)


def _list_form(read: Callable[[list[Any]], Any]) -> _Form:
    """The form of containers that are written as a list."""
    return _Form({"value": list}, lambda value: (list(value),), read)


def _float(text: str) -> float:
    """A float that JSON cannot hold."""
    if text not in ("nan", "inf", "-inf"):
        raise ValueError(f"{text!r} is not 'nan', 'inf' or '-inf'")
    return float(text)


def _short(numbers: range) -> range:
    """The range itself; TypeError if it is longer than `MAX_RANGE`."""
    if numbers[MAX_RANGE:]:
        raise TypeError(f"a range must not be longer than {MAX_RANGE}")
    return numbers


def _no_signal(value: decimal.Decimal) -> decimal.Decimal:
    """The number itself; TypeError if it is a signaling NaN."""
    if value.is_snan():
        raise TypeError("a signaling NaN cannot be compared")
    return value


def _array_fields(array: NDArray[Any]) -> tuple[str, list[int], list[Any]]:
    """The fields of an array: its dtype, its shape, and its values in C order.

    Dates and durations are the integers that NumPy stores for them.
    """
    dtype = array.dtype
    if not _DTYPE.fullmatch(dtype.str):
        raise TypeError(f"arrays of {dtype} cannot be written as JSON")
    flat = array.ravel()
    flat = flat.view(np.int64) if dtype.kind in "mM" else flat
    return dtype.str, list(array.shape), flat.tolist()


def _array(dtype: str, shape: list[Any], values: list[Any]) -> NDArray[Any]:
    """The array that has these fields: the inverse of `_array_fields`."""
    if not _DTYPE.fullmatch(dtype):
        raise ValueError(f"the dtype {dtype!r} is not known")
    kind = np.dtype(dtype)
    if kind.kind == "U" and kind.itemsize * len(values) > MAX_STRINGS:
        raise ValueError(f"{len(values)} values of {kind} are too many")
    # Numbers of other types may take forever to convert, as Decimal('1e999999999').
    allowed = _VALUE_TYPES[kind.kind]
    if not all(isinstance(value, allowed) for value in values):
        raise TypeError(f"arrays of {kind} must hold other values")
    if not all(type(size) is int for size in shape):
        raise TypeError("the shape must be integers")
    flat = np.empty(len(values), dtype=np.int64 if kind.kind in "mM" else kind)
    with np.errstate(over="raise", invalid="raise"):
        for index, value in enumerate(values):
            flat[index] = value
    return flat.view(kind).reshape(shape)


def _pandas() -> Any:
    return optional.optional("pandas", "A file with dates or intervals of pandas")


def _timestamp(value: str, unit: str, zone: str | None) -> Any:
    """A Timestamp of pandas; the text of an aware one has the offset from UTC."""
    timestamp = _pandas().Timestamp(value).as_unit(unit)
    if zone is None:
        return timestamp
    if not _ZONE.fullmatch(zone):
        raise ValueError(f"the zone {zone!r} is not known")
    return timestamp.tz_convert(zone)


# By the package and the name of a type.
_FORMS = {
    "builtins.float": _text_form(repr, _float),
    "builtins.bytes": _text_form(bytes.hex, bytes.fromhex),
    "builtins.tuple": _list_form(tuple),
    "builtins.set": _list_form(set),
    "builtins.frozenset": _list_form(frozenset),
    "builtins.dict": _Form(
        {"keys": list, "values": list},
        lambda value: (list(value), list(value.values())),
        lambda keys, values: dict(zip(keys, values, strict=True)),
    ),
    "builtins.range": _Form(
        {"value": list},
        lambda value: ([_short(value).start, value.stop, value.step],),
        lambda value: _short(range(*value)),
    ),
    "datetime.date": _text_form(datetime.date.isoformat, datetime.date.fromisoformat),
    "datetime.datetime": _text_form(
        datetime.datetime.isoformat, datetime.datetime.fromisoformat
    ),
    "decimal.Decimal": _text_form(
        lambda value: str(_no_signal(value)),
        lambda text: _no_signal(decimal.Decimal(text)),
    ),
    "pathlib.Path": _text_form(str, pathlib.Path),
    "numpy.ndarray": _Form(
        {"dtype": str, "shape": list, "value": list}, _array_fields, _array
    ),
    "numpy.generic": _Form(
        {"dtype": str, "value": object},
        lambda scalar: (scalar.dtype.str, _array_fields(np.asarray(scalar))[2][0]),
        lambda dtype, value: _array(dtype, [1], [value])[0],
    ),
    "pandas.Timestamp": _Form(
        {"value": str, "unit": str, "zone": (str, NoneType)},
        lambda value: (
            *(value.isoformat(), value.unit),
            None if value.tz is None else str(value.tz),
        ),
        _timestamp,
    ),
    "pandas.Interval": _Form(
        {"left": object, "right": object, "closed": str},
        lambda value: (value.left, value.right, value.closed),
        lambda left, right, closed: _pandas().Interval(left, right, closed=closed),
    ),
}
_NAMES = dict.fromkeys(("pathlib.PosixPath", "pathlib.WindowsPath"), "pathlib.Path")
