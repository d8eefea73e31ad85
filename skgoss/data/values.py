"""Python values as JSON that keeps their types.

None, booleans, whole numbers, strings and finite floats are themselves, lists are
lists, dicts with keys of strings are objects. Anything else is an object with the entry
``"type"``. What is read may come from anyone: no name in it is imported or called.
"""

from __future__ import annotations

import datetime
import decimal
import math
import pathlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.utils import compat

# The greatest depth of nested lists and dicts; readers of JSON allow a little more.
MAX_DEPTH = 40

# The largest array of strings to be read, in bytes: all strings have the length of the
# longest, so that a small file could ask for any amount of memory.
MAX_STRINGS = 1 << 26

_PLAIN = (type(None), bool, int, str)
_DTYPE = re.compile(
    r"[<>|=]?(?:b1|[iu][1248]|f[248]|U\d{1,9}|O"
    r"|[mM]8\[(?:Y|M|W|D|h|m|s|ms|us|ns)\])"
)
_ZONE = re.compile(r"[\w+:-]+(?:/[\w+:-]+)*")


def encode(value: Any) -> Any:
    """Turn a value into JSON's types.

    Parameters
    ----------
    value : object
        None, bool, int, float, str, bytes, a list, tuple, set, frozenset, dict, range,
        a date or datetime, Decimal or Path, NumPy's scalars and arrays, a Timestamp or
        Interval of pandas.

    Returns
    -------
    None, bool, int, float, str, list or dict

    Raises
    ------
    TypeError
        If the value is, or holds, anything else.
    """
    return _encoded(value, 0)


def _encoded(value: Any, depth: int) -> Any:
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
    if isinstance(value, np.generic):
        name = "numpy.generic"
    name = _OTHER_NAMES.get(name, name)
    if name not in _FORMS:
        raise TypeError(f"values of type {kind.__name__} cannot be written as JSON")
    parts = _FORMS[name].parts(value)
    return {
        "type": name,
        **{key: _encoded(part, depth + 1) for key, part in parts.items()},
    }


def decode(value: Any, owner: str) -> Any:
    """Turn what `encode` returned back into the value.

    Parameters
    ----------
    value : object
        Of JSON's types. It may have been changed.
    owner : str
        For messages.

    Raises
    ------
    ValueError
        If `encode` returns no such thing.
    ImportError
        If pandas is needed, and not installed.
    """
    try:
        return _decoded(value, 0)
    except (
        *(TypeError, ValueError, KeyError, AttributeError, ArithmeticError),
        MemoryError,
    ) as error:
        raise ValueError(
            f"{owner} holds a value that cannot be read: {error}"
        ) from error


def _decoded(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError(f"lists and objects are nested more than {MAX_DEPTH} deep")
    if isinstance(value, list):
        return [_decoded(entry, depth + 1) for entry in value]
    if not isinstance(value, dict):
        return value
    parts = {key: _decoded(entry, depth + 1) for key, entry in value.items()}
    if "type" not in value:
        return parts
    name = parts.pop("type")
    if not isinstance(name, str) or name not in _FORMS:
        raise ValueError(f"the type {name!r} is not known")
    return _FORMS[name].value(**parts)


class _Form(NamedTuple):
    """How values of a type are written.

    Attributes
    ----------
    parts : callable
        From a value to a dict of other values.
    value : callable
        From these, as keyword arguments, to the value.
    """

    parts: Callable[[Any], dict[str, Any]]
    value: Callable[..., Any]


def _dict_parts(value: dict[Any, Any]) -> dict[str, Any]:
    return {"keys": list(value), "values": list(value.values())}


def _dict(keys: Any, values: Any) -> dict[Any, Any]:
    return dict(zip(_list(keys), _list(values), strict=True))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a list is needed, got {type(value).__name__}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a string is needed, got {type(value).__name__}")
    return value


def _float(value: Any) -> float:
    if value not in ("nan", "inf", "-inf"):
        raise ValueError(f"{value!r} is not 'nan', 'inf' or '-inf'")
    return float(value)


def _quiet(value: decimal.Decimal) -> decimal.Decimal:
    """A number that can be compared."""
    if value.is_snan():
        raise TypeError("a signaling NaN cannot be compared")
    return value


# --- NumPy ----------------------------------------------------------------------------


def _array_parts(value: NDArray[Any]) -> dict[str, Any]:
    dtype = value.dtype
    if not _DTYPE.fullmatch(dtype.str):
        raise TypeError(f"arrays of {dtype} cannot be written as JSON")
    flat = value.ravel()
    flat = flat.view(np.int64) if dtype.kind in "mM" else flat
    return {"dtype": dtype.str, "shape": list(value.shape), "value": flat.tolist()}


def _array(dtype: Any, shape: Any, value: Any) -> NDArray[Any]:
    if not _DTYPE.fullmatch(_text(dtype)):
        raise ValueError(f"the dtype {dtype!r} is not known")
    kind, value = np.dtype(dtype), _list(value)
    if kind.kind == "U" and kind.itemsize * len(value) > MAX_STRINGS:
        raise ValueError(f"{len(value)} values of {kind} are too many")
    flat = np.empty(len(value), dtype=np.int64 if kind.kind in "mM" else kind)
    with np.errstate(over="raise", invalid="raise"):
        for place, entry in enumerate(value):
            flat[place] = entry
    return flat.view(kind).reshape([int(size) for size in _list(shape)])


def _scalar_parts(value: np.generic) -> dict[str, Any]:
    parts = _array_parts(np.asarray(value))
    return {"dtype": parts["dtype"], "value": parts["value"][0]}


def _scalar(dtype: Any, value: Any) -> np.generic:
    return _array(dtype, [1], [value])[0]


# --- pandas ---------------------------------------------------------------------------


def _pandas() -> Any:
    return compat.optional("pandas", "A file with dates or intervals of pandas")


def _timestamp_parts(value: Any) -> dict[str, Any]:
    zone = None if value.tz is None else str(value.tz)
    return {"value": value.isoformat(), "unit": value.unit, "zone": zone}


def _timestamp(value: Any, unit: Any, zone: Any) -> Any:
    timestamp = _pandas().Timestamp(_text(value)).as_unit(_text(unit))
    if zone is None:
        return timestamp
    if not _ZONE.fullmatch(_text(zone)):
        raise ValueError(f"the zone {zone!r} is not known")
    return timestamp.tz_convert(zone)


def _interval_parts(value: Any) -> dict[str, Any]:
    return {"left": value.left, "right": value.right, "closed": value.closed}


def _interval(left: Any, right: Any, closed: Any) -> Any:
    return _pandas().Interval(left, right, closed=_text(closed))


# --- The table ------------------------------------------------------------------------


def _in_text(
    write: Callable[[Any], str], read: Callable[[str], Any]
) -> tuple[Callable[[Any], dict[str, Any]], Callable[..., Any]]:
    return (
        lambda value: {"value": write(value)},
        lambda value: read(_text(value)),
    )


def _in_list(
    make: Callable[[list[Any]], Any],
) -> tuple[Callable[[Any], dict[str, Any]], Callable[..., Any]]:
    return lambda value: {"value": list(value)}, lambda value: make(_list(value))


# By the package and the name of a type.
_FORMS: dict[str, _Form] = {
    "builtins.float": _Form(
        lambda value: {"value": repr(value)}, lambda value: _float(value)
    ),
    "builtins.bytes": _Form(*_in_text(bytes.hex, bytes.fromhex)),
    "builtins.tuple": _Form(*_in_list(tuple)),
    "builtins.set": _Form(*_in_list(set)),
    "builtins.frozenset": _Form(*_in_list(frozenset)),
    "builtins.dict": _Form(_dict_parts, _dict),
    "builtins.range": _Form(
        lambda value: {"value": [value.start, value.stop, value.step]},
        lambda value: range(*_list(value)),
    ),
    "datetime.date": _Form(
        *_in_text(datetime.date.isoformat, datetime.date.fromisoformat)
    ),
    "datetime.datetime": _Form(
        *_in_text(datetime.datetime.isoformat, datetime.datetime.fromisoformat)
    ),
    "decimal.Decimal": _Form(
        *_in_text(
            lambda value: str(_quiet(value)),
            lambda text: _quiet(decimal.Decimal(text)),
        )
    ),
    "pathlib.Path": _Form(*_in_text(str, pathlib.Path)),
    "numpy.ndarray": _Form(_array_parts, _array),
    "numpy.generic": _Form(_scalar_parts, _scalar),
    "pandas.Timestamp": _Form(_timestamp_parts, _timestamp),
    "pandas.Interval": _Form(_interval_parts, _interval),
}
_OTHER_NAMES = dict.fromkeys(
    ("pathlib.PosixPath", "pathlib.WindowsPath"), "pathlib.Path"
)
