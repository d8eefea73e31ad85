"""Split LightGBM's text format into lines and fields.

Nothing is trusted: text that contradicts the format gives a ValueError that names the
line.
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

from skgoss._engine.model_files import lines as engine
from skgoss.utils.plain_values import INT32_MAX, entries

# The key of the line that only skgoss reads, the last of the parameters. JSON follows
# it. For LightGBM, it is a parameter without a value, which it skips without a warning,
# and keeps when it saves the model again.
SKGOSS_LINE = "[skgoss: ]:"
# A key of the header that announces this line: if the line is missing, the file is
# truncated. LightGBM drops the key when it saves the model again.
SKGOSS_KEY = "skgoss"
# A key of the header for the lower bounds of all linear leaves, and then their upper
# bounds. LightGBM ignores it, and drops it when it saves the model again.
BOUNDS_KEY = "leaf_bounds"
# Likewise for the means of the columns of linear leaves, one for each coefficient.
MEANS_KEY = "leaf_means"
PANDAS_CATEGORICAL = "pandas_categorical:"
PARAMETERS = "parameters:", "end of parameters"
END_OF_TREES = "end of trees"

# The arrays of a tree, in the order of their lines.
NODE_LINES = (
    "split_feature",
    "split_gain",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
)
LEAF_LINES = ("leaf_value", "leaf_weight", "leaf_count")
INTERNAL_LINES = ("internal_value", "internal_weight", "internal_count")
SET_LINES = ("cat_boundaries", "cat_threshold")
LINEAR_LINES = ("leaf_const", "num_features", "leaf_features", "leaf_coeff")

# The keys of the lines of a tree, in their order.
TREE_LINES = (
    "Tree",
    "num_leaves",
    "num_cat",
    *NODE_LINES,
    *LEAF_LINES,
    *INTERNAL_LINES,
    *SET_LINES,
    "is_linear",
    *LINEAR_LINES,
    "shrinkage",
)

# Lines that follow the trees; files of LightGBM before 2.3 have no END_OF_TREES.
_AFTER_TREES = {
    END_OF_TREES.encode(),
    b"feature_importances:",
    b"feature importances:",
    PARAMETERS[0].encode(),
}

# Files that are not models of this format: their first bytes, a text in their first
# `_HEAD` bytes, and what they are.
_HEAD = 1 << 16
_UNREADABLE = "which cannot be read: fit a model again"
_OTHER_FORMATS = (
    (b"{", b"learner", f"a model of XGBoost, {_UNREADABLE}"),
    (b"{", b"oblivious_trees", f"a model of CatBoost, {_UNREADABLE}"),
    (b"CBM1", b"", f"a model of CatBoost, {_UNREADABLE}"),
    (b"{", b"tree_info", "what dump_model returned: write the model by save_model"),
    (b"\x80", b"", "a pickle: load it by pickle.load or joblib.load"),
    (
        b"PK\3\4",
        b"",
        "an archive: load a file of skops by skops.io.load, and that of"
        " a Dataset by Dataset(path)",
    ),
)

# The greatest depth of nested lists and dicts of JSON.
_MAX_DEPTH = 50

_KEYS = [key.encode() for key in TREE_LINES]

_PARAMETER = re.compile(r"\[([^:]+): (.*)\]")

Ints = NDArray[np.int64]


class Line(NamedTuple):
    """The value of a field, and its line."""

    number: int  # the number of the line, from 1
    text: bytes  # the text after '=': items with one space between them

    def decoded(self) -> str:
        """The text as a string."""
        with on_line(self.number):
            return self.text.decode()


ABSENT_LINE = Line(0, b"")


class Section(NamedTuple):
    """The header: the number of its first line, and its fields by key."""

    number: int
    fields: dict[str, Line]


class Lines(NamedTuple):
    """All lines of a text, without white space at their ends.

    The arrays have an entry for each line, and one more, of an empty line, at the end.
    """

    text: bytes
    # Where each line begins and ends.
    start: Ints
    stop: Ints
    key: Ints  # the index of its key in ``TREE_LINES``; -1: it has another one, or none
    value: Ints  # where the value of the key begins
    n_items: Ints  # the number of items in the value

    @property
    def n_lines(self) -> int:
        """The number of lines."""
        return len(self.start) - 1

    def line(self, at: int) -> bytes:
        """The text of the line with the index ``at``, from 0."""
        return self.text[self.start[at] : self.stop[at]]

    def is_blank(self) -> NDArray[np.bool_]:
        """For each line, whether it is empty."""
        return (self.start == self.stop)[:-1]


class FieldLines(NamedTuple):
    """The lines of some trees that have the same key."""

    # (n_trees,): the number of the line, from 1; 0: the tree has no such line.
    number: Ints
    # (n_trees,): where its value begins and ends.
    start: Ints
    stop: Ints
    # (n_trees,): the number of items in the value, with spaces between them.
    n_items: Ints

    def take(self, trees: NDArray[Any]) -> FieldLines:
        """The lines of some of the trees."""
        return FieldLines(*(values[trees] for values in self))


class TreeSections(NamedTuple):
    """The lines of trees."""

    lines: Lines
    number: Ints  # (n_trees,): the number of the first line of each tree
    # (n_trees, n_keys): for each tree and key of ``TREE_LINES``, which line has it; -1:
    # none.
    table: Ints

    def take(self, trees: NDArray[Any]) -> TreeSections:
        """Some of the trees."""
        return self._replace(number=self.number[trees], table=self.table[trees])

    def field(self, key: str) -> FieldLines:
        """The lines with a key."""
        at, lines = self.table[:, TREE_LINES.index(key)], self.lines
        return FieldLines(at + 1, lines.value[at], lines.stop[at], lines.n_items[at])


@dataclass(frozen=True)
class SkgossLine:
    """The content of the line that only skgoss writes."""

    number: int = 0  # the number of the line; 0 if there is none
    model: dict[str, Any] = field(default_factory=dict)  # ``Header.own``
    # The names of columns that LightGBM would not accept.
    names: dict[int, str] = field(default_factory=dict)
    # The categories, ascending, of the columns whose sets hold values.
    values: dict[int, Ints] = field(default_factory=dict)


class Footer(NamedTuple):
    """The part of a file after the trees."""

    parameters: dict[str, str]
    skgoss_line: SkgossLine
    pandas_categorical: list[list[Any]] | None


def split(text: str | bytes) -> tuple[Section, TreeSections, Footer]:
    """Split a model file into its sections.

    ValueError if a section is missing, or a line has the wrong form.
    """
    lines, first_return = _lines(text)
    header, position = _header(lines)
    if first_return >= 0:
        refuse(first_return + 1, "a carriage return must stand at the end of a line")
    trees, position = _trees(lines, position)
    footer = _footer(lines, position, is_ours=SKGOSS_KEY in header.fields)
    return header, trees, footer


def refuse(number: int, message: str) -> NoReturn:
    """Raise the error of a line."""
    raise ValueError(f"line {number}: {message}")


@contextmanager
def on_line(number: int) -> Iterator[None]:
    """Begin errors of the `with` body with the number of a line."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error


def _lines(text: str | bytes) -> tuple[Lines, int]:
    """The lines of a text, and the first with a carriage return inside; -1: none."""
    if isinstance(text, str):
        # Fields that are decoded raise an error if UTF-8 lacks a character.
        text = text.encode(errors="surrogatepass")
    text = text.removeprefix(b"\xef\xbb\xbf")
    arrays = np.zeros((5, text.count(b"\n") + 2), dtype=np.int64)
    first_return = engine.find(text, _KEYS, *arrays[:, :-1])
    return Lines(text, *arrays), first_return


def _other_format(head: bytes) -> str:
    """The end of an error: the format of a file, by its first bytes; '' if unknown."""
    found = (
        what
        for start, part, what in _OTHER_FORMATS
        if head.startswith(start) and part in head
    )
    what = next(found, None)
    return "" if what is None else f". This is {what}"


def _header(lines: Lines) -> tuple[Section, int]:
    """The header, and the index of the line after it, where the first tree begins."""
    full = np.flatnonzero(~lines.is_blank()).tolist()
    first = full[0] if full else 0
    if lines.line(first) != b"tree":
        what = "a model file of LightGBM must begin with the line 'tree'"
        what += "" if full else ", but it is empty"
        refuse(first + 1, f"{what}{_other_format(lines.text[:_HEAD])}")
    header = Section(first + 1, {})
    for at in full[1:]:
        line = lines.line(at)
        if line.startswith(b"Tree=") or line in _AFTER_TREES:
            return header, at
        _add(header.fields, at + 1, line)
    refuse(lines.n_lines, "the file ends before its trees")


def _add(fields: dict[str, Line], number: int, line: bytes) -> None:
    """Add the field in a line of the header, "key=value", to ``fields``.

    ``number`` is that of the line, from 1.
    """
    key, _, text = line.partition(b"=")
    name = key.decode(errors="replace")
    if name in fields:
        _refuse_repeated(number, name, fields[name].number)
    text = b" ".join(text.split()) if b"  " in text else text.strip()
    fields[name] = Line(number, text)


def _refuse_repeated(number: int, name: str, first: int) -> NoReturn:
    """Raise the error of a line whose key is also on the line ``first``."""
    refuse(number, f"{name!r} comes twice; it is on line {first}")


def _trees(lines: Lines, position: int) -> tuple[TreeSections, int]:
    """The trees, and the index of the line after them.

    ``position`` is the index of the line where they begin. Trees begin after an empty
    line and end before one. The first line after an empty one that is not "Tree=i",
    with i the number of the trees so far, ends them.
    """
    is_blank = lines.is_blank()[position:]
    follows_blank = np.append(True, is_blank[:-1])
    begin = position + np.flatnonzero(follows_blank & ~is_blank)
    begins = [lines.line(at) for at in begin.tolist()]
    right = [line == b"Tree=%d" % number for number, line in enumerate(begins)]
    n_trees = [*right, False].index(False)
    first, end = begin[:n_trees], [*begin.tolist(), lines.n_lines][n_trees]
    is_inside = ~is_blank & ~follows_blank
    inside = position + np.flatnonzero(is_inside[: end - position])
    trees = TreeSections(lines, first + 1, _table(lines, first, inside))
    if end == lines.n_lines:
        refuse(end, "the file ends within its trees")
    if begins[n_trees].startswith(b"Tree="):
        refuse(end + 1, f"'Tree={n_trees}' must come here")
    if begins[n_trees] not in _AFTER_TREES:
        refuse(end + 1, "a tree, or the end of the trees, must come here")
    return trees, end


def _table(lines: Lines, first: Ints, inside: Ints) -> Ints:
    """``TreeSections.table``: the line of each key in each tree.

    ``first`` has the indices of the first lines of trees, ``inside`` those of all
    other lines in trees. ValueError if a key is repeated in a tree.
    """
    tree, key = np.searchsorted(first, inside, side="right") - 1, lines.key[inside]
    has_key = key >= 0
    cell = tree[has_key], key[has_key]
    table = np.full((len(first), len(TREE_LINES)), -1, dtype=np.int64)
    table[cell] = inside[has_key]
    if not has_key.all() or (table[cell] != inside[has_key]).any():
        _check_keys_differ(lines, tree, inside)
    return table


def _check_keys_differ(lines: Lines, tree: Ints, inside: Ints) -> None:
    """Raise the error of the first line whose key is repeated in its tree."""
    first_line: dict[tuple[int, bytes], int] = {}
    for number, at in zip(tree.tolist(), inside.tolist(), strict=True):
        key, _, _ = lines.line(at).partition(b"=")
        first = first_line.setdefault((number, key), at)
        if first != at:
            _refuse_repeated(at + 1, key.decode(errors="replace"), first + 1)


def _footer(lines: Lines, position: int, *, is_ours: bool) -> Footer:
    """The part of a file after the trees, which begins at the line ``position``.

    ``is_ours``: the header says that skgoss wrote the file, so its own line must be
    there; else the file is cut off.
    """
    parameters: dict[str, str] = {}
    skgoss_line, pandas, has_pandas = SkgossLine(), None, False
    start, stop, pandas_key, skgoss_key = (
        key.encode() for key in (*PARAMETERS, PANDAS_CATEGORICAL, SKGOSS_LINE)
    )
    # LightGBM 2.1 does not mark the end of the parameters.
    is_inside = False
    for at in range(position, lines.n_lines):
        number, line = at + 1, lines.line(at)
        if line in (start, stop):
            is_inside = line == start
        elif line.startswith(pandas_key):
            text = line[len(pandas_key) :]
            pandas, has_pandas = _pandas_categorical(number, text), True
        elif is_inside and line.startswith(skgoss_key):
            skgoss_line = _skgoss_line(number, line[len(skgoss_key) :])
        elif is_inside and line:
            key, value = _parameter(number, line)
            parameters[key] = value
    if is_ours and (skgoss_line.number == 0 or not has_pandas):
        refuse(lines.n_lines, "the file ends too early")
    return Footer(parameters, skgoss_line, pandas)


def _parameter(number: int, line: bytes) -> tuple[str, str]:
    """The name and the value in a line "[name: value]"."""
    # Paths among the values may have the encoding of another system.
    match = _PARAMETER.fullmatch(line.decode(errors="replace"))
    if match is None:
        refuse(
            number,
            "a parameter must have the form '[key: value]'. If this is the last line,"
            " the file was cut off: save it again",
        )
    return match[1], match[2]


def _json(number: int, text: bytes) -> Any:
    """The JSON value in the text of line ``number``; refused if nested too deep."""
    try:
        value = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {number}: the JSON cannot be read: {error}") from error
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            item
            for entry in level
            if isinstance(entry, list | dict)
            for item in (entry.values() if isinstance(entry, dict) else entry)
        ]
    if level:
        refuse(number, f"lists must not be nested deeper than {_MAX_DEPTH} levels")
    return value


def _pandas_categorical(number: int, text: bytes) -> list[list[Any]] | None:
    """The categories of each column that held strings or categories; None: no such."""
    value = _json(number, text)
    is_list = isinstance(value, list) and all(isinstance(own, list) for own in value)
    if not is_list and value is not None:
        key = repr(PANDAS_CATEGORICAL)
        refuse(number, f"{key} must be followed by null or a list of lists")
    return value


def _skgoss_line(number: int, text: bytes) -> SkgossLine:
    """The line that only skgoss reads, checked; ``number`` is that of the line."""
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
            {_column(key): _ascending(numbers) for key, numbers in values.items()},
        )


def _column(key: str) -> int:
    """The number of a column, which is a string where it is a key of JSON."""
    if not re.fullmatch(r"[0-9]{1,10}", key):
        raise ValueError(f"the key of a column must be its number, got {key[:20]!r}")
    return int(key)


def _ascending(values: Any) -> Ints:
    """Categories as an array."""
    is_list = isinstance(values, list) and all(type(value) is int for value in values)
    if not is_list or not all(0 <= value <= INT32_MAX for value in values):
        raise ValueError("the values of categories must be a list of numbers from 0 on")
    if any(first >= second for first, second in pairwise(values)):
        raise ValueError("the values of categories must be ascending")
    return np.array(values, dtype=np.int64)
