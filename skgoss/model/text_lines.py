"""Split LightGBM's text format into lines and fields.

Nothing is trusted: what contradicts the format is a ValueError that names the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from skgoss.data.values import entries
from skgoss.model.text_keys import (
    END_OF_TREES,
    INTERNAL_LINES,
    LEAF_LINES,
    NODE_LINES,
    PANDAS_CATEGORICAL,
    PARAMETERS,
    SKGOSS_KEY,
    SKGOSS_LINE,
)
from skgoss.utils.limits import INT32_MAX

# Lines that follow the trees; files of LightGBM before 2.3 have no END_OF_TREES.
_AFTER_TREES = {
    *(END_OF_TREES.encode(), b"feature_importances:", b"feature importances:"),
    PARAMETERS[0].encode(),
}

# The keys of most lines: a known one need not be decoded.
_NAMES = {
    name.encode(): name
    for name in (
        *("num_leaves", "num_cat", "is_linear", "shrinkage"),
        *(*NODE_LINES, *LEAF_LINES, *INTERNAL_LINES),
    )
}

# The greatest depth of nested lists and dicts of JSON.
_MAX_DEPTH = 50

_PARAMETER = re.compile(r"\[([^:]+): (.*)\]")

Ints = NDArray[np.int64]


class Line(NamedTuple):
    """The value of a field, and where it stands.

    Attributes
    ----------
    number : int
        The number of the line, from 1.
    text : bytes
        What follows the '=': items with one space between them.
    """

    number: int
    text: bytes

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.text.count(b" ") + 1 if self.text else 0

    def decoded(self) -> str:
        """The text as a string."""
        with on_line(self.number):
            return self.text.decode()


NO_LINE = Line(0, b"")


class Section(NamedTuple):
    """The header, or a tree: the number of its first line, and its fields by key."""

    number: int
    fields: dict[str, Line]


@dataclass(frozen=True)
class SkgossLine:
    """The content of the line that only skgoss writes.

    Attributes
    ----------
    number : int
        The number of the line; 0 if there is none.
    model : dict
        ``Header.own``.
    names : dict from int to str
        The names of the columns that LightGBM would refuse.
    values : dict from int to ndarray of int64
        The categories, ascending, of the columns whose sets hold values.
    """

    number: int = 0
    model: dict[str, Any] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    values: dict[int, Ints] = field(default_factory=dict)


class Footer(NamedTuple):
    """What follows the trees."""

    parameters: dict[str, str]
    skgoss_line: SkgossLine
    pandas_categorical: list[list[Any]] | None


class Sections(NamedTuple):
    """The parts of a model file."""

    header: Section
    trees: list[Section]
    footer: Footer


def split(text: str | bytes) -> Sections:
    """Split a model file into its parts.

    Parameters
    ----------
    text : str or bytes
        Bytes are UTF-8.

    Raises
    ------
    ValueError
        If a part is missing, or a line has the wrong form.
    """
    lines = _lines(text)
    header, position = _header(lines)
    _check_line_ends(lines)
    trees, position = _trees(lines, position)
    footer = _footer(lines, position, is_own=SKGOSS_KEY in header.fields)
    return Sections(header, trees, footer)


def refuse(number: int, message: str) -> NoReturn:
    """Raise the error of a line."""
    raise ValueError(f"line {number}: {message}")


@contextmanager
def on_line(number: int) -> Iterator[None]:
    """Let errors of the block tell the number of a line."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error


def _lines(text: str | bytes) -> list[bytes]:
    if isinstance(text, str):
        # Characters that UTF-8 does not have are refused where they matter.
        text = text.encode(errors="surrogatepass")
    text = text.removeprefix(b"\xef\xbb\xbf")
    return [line.rstrip() for line in text.split(b"\n")]


def _check_line_ends(lines: list[bytes]) -> None:
    for number, line in enumerate(lines, 1):
        if b"\r" in line:
            refuse(number, "a carriage return must stand at the end of a line")


def _add(fields: dict[str, Line], number: int, line: bytes) -> None:
    key, _, text = line.partition(b"=")
    name = _NAMES.get(key) or key.decode(errors="replace")
    if name in fields:
        refuse(number, f"{name!r} comes twice; it is on line {fields[name].number}")
    text = b" ".join(text.split()) if b"  " in text else text.strip()
    fields[name] = Line(number, text)


def _header(lines: list[bytes]) -> tuple[Section, int]:
    """The header, and the index of the line after it."""
    first = next((at for at, line in enumerate(lines) if line), 0)
    if lines[first] != b"tree":
        refuse(first + 1, "a model file of LightGBM must begin with the line 'tree'")
    header = Section(first + 1, {})
    for at in range(first + 1, len(lines)):
        line = lines[at]
        if line.startswith(b"Tree=") or line in _AFTER_TREES:
            return header, at
        if line:
            _add(header.fields, at + 1, line)
    refuse(len(lines), "the file ends before its trees")


def _trees(lines: list[bytes], position: int) -> tuple[list[Section], int]:
    """The trees, and the index of the line after them."""
    trees: list[Section] = []
    while lines[position].startswith(b"Tree="):
        if lines[position] != b"Tree=%d" % len(trees):
            refuse(position + 1, f"'Tree={len(trees)}' must come here")
        tree = Section(position + 1, {})
        position += 1
        while position < len(lines) and lines[position]:
            _add(tree.fields, position + 1, lines[position])
            position += 1
        trees.append(tree)
        while position < len(lines) and not lines[position]:
            position += 1
        if position == len(lines):
            refuse(position, "the file ends within its trees")
    if lines[position] not in _AFTER_TREES:
        refuse(position + 1, "a tree, or the end of the trees, must come here")
    return trees, position


def _footer(lines: list[bytes], position: int, *, is_own: bool) -> Footer:
    parameters: dict[str, str] = {}
    skgoss_line, pandas, has_pandas = SkgossLine(), None, False
    start, stop = (key.encode() for key in PARAMETERS)
    # LightGBM 2.1 does not tell where the parameters end.
    is_inside = False
    for number, line in enumerate(lines[position:], position + 1):
        if line in (start, stop):
            is_inside = line == start
        elif line.startswith(PANDAS_CATEGORICAL.encode()):
            text = line[len(PANDAS_CATEGORICAL) :]
            pandas, has_pandas = _pandas_categorical(number, text), True
        elif is_inside and line.startswith(SKGOSS_LINE.encode()):
            skgoss_line = _skgoss_line(number, line[len(SKGOSS_LINE) :])
        elif is_inside and line:
            key, value = _parameter(number, line)
            parameters[key] = value
    if is_own and (skgoss_line.number == 0 or not has_pandas):
        refuse(len(lines), "the file ends too early")
    return Footer(parameters, skgoss_line, pandas)


def _parameter(number: int, line: bytes) -> tuple[str, str]:
    # Paths among the values may have the encoding of another system.
    match = _PARAMETER.fullmatch(line.decode(errors="replace"))
    if match is None:
        refuse(number, "a parameter must have the form '[key: value]'")
    return match[1], match[2]


def _json(number: int, text: bytes) -> Any:
    try:
        value = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {number}: the JSON cannot be read: {error}") from error
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            item
            for part in level
            if isinstance(part, list | dict)
            for item in (part.values() if isinstance(part, dict) else part)
        ]
    if level:
        refuse(number, f"lists must not be nested deeper than {_MAX_DEPTH} levels")
    return value


def _pandas_categorical(number: int, text: bytes) -> list[list[Any]] | None:
    value = _json(number, text)
    is_list = isinstance(value, list) and all(isinstance(part, list) for part in value)
    if not is_list and value is not None:
        key = repr(PANDAS_CATEGORICAL)
        refuse(number, f"{key} must be followed by null or a list of lists")
    return value


def _skgoss_line(number: int, text: bytes) -> SkgossLine:
    state = _json(number, text)
    with on_line(number):
        types = {"model": dict, "names": dict, "values": dict}
        model, names, values = entries(state, types, "the line of skgoss")
        if not all(isinstance(name, str) for name in names.values()):
            raise ValueError("the names of columns must be strings")
        return SkgossLine(
            number,
            model,
            {_column(key): name for key, name in names.items()},
            {_column(key): _ascending(known) for key, known in values.items()},
        )


def _column(key: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", key):
        raise ValueError(f"a column must be a number, got {key[:20]!r}")
    return int(key)


def _ascending(values: Any) -> Ints:
    """Categories as an array."""
    is_list = isinstance(values, list) and all(type(value) is int for value in values)
    if not is_list or not all(0 <= value <= INT32_MAX for value in values):
        raise ValueError("the values of categories must be a list of numbers from 0 on")
    if any(first >= second for first, second in pairwise(values)):
        raise ValueError("the values of categories must be ascending")
    return np.array(values, dtype=np.int64)
