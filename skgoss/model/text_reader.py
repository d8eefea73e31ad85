"""Read LightGBM's text format: files of LightGBM 2 to 4, and our own.

Nothing that a file says is trusted: numbers are counted before memory is reserved
for them, and what contradicts itself is a ValueError that names the line. The numbers
of all trees are parsed together, one kind of line after the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from skgoss.data.values import entries
from skgoss.model import checks
from skgoss.model.category_sets import renamed
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header, check_infos
from skgoss.model.linear import LinearLeaves
from skgoss.model.text_keys import ANNOUNCEMENT, END_OF_TREES, OWN, PANDAS, PARAMETERS
from skgoss.model.trees import CATEGORICAL, LEAF_TYPES, NO_SETS, NODE_TYPES, Sets
from skgoss.utils.limits import INT32_MAX

# Lines that follow the trees; files of LightGBM before 2.3 have no END_OF_TREES.
_AFTER_TREES = {
    *(END_OF_TREES.encode(), b"feature_importances:", b"feature importances:"),
    PARAMETERS[0].encode(),
}
_VERSIONS = (b"v2", b"v3", b"v4")

# The largest number of scores of a model without trees.
_MAX_EMPTY_SCORES = 1 << 16
# The greatest depth of nested lists and dicts of JSON.
_MAX_DEPTH = 50

# Without possessive quantifiers, which Python 3.11.0 to 3.11.4 mistake.
_FLOAT = rb"-?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf%s)"
_GRAMMAR = {
    "float": _FLOAT % rb"|nan(?:\(ind\))?",
    "threshold": _FLOAT % b"",
    "int": rb"-?\d{1,18}",
}
_NUMBER = {
    kind: re.compile(rb"(?:%s)(?: (?!\Z)|\Z)" % number)
    for kind, number in _GRAMMAR.items()
}
_WORDS = {"float": "numbers", "threshold": "numbers", "int": "whole numbers"}
_PARAMETER = re.compile(r"\[([^:]+): (.*)\]")

# Lines that every tree has; the others were added by later versions.
_NEEDED = ("leaf_value", "split_feature", "threshold", "left_child", "right_child")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class _Line(NamedTuple):
    """The number of a line, from 1, and the words after its '=', a space between."""

    number: int
    text: bytes

    @property
    def n_words(self) -> int:
        """The number of words."""
        return self.text.count(b" ") + 1 if self.text else 0


class _Tree(NamedTuple):
    """The number of a tree's first line; the other lines by what precedes the '='."""

    number: int
    fields: dict[str, _Line]


class _Own(NamedTuple):
    """What our own line tells.

    Attributes
    ----------
    number : int
        The number of the line.
    model : dict
        ``Header.own``.
    names : dict from int to str
        The names of the columns that LightGBM would refuse.
    values : dict from int to ndarray of int64
        The categories, ascending, of the columns whose sets hold values.
    """

    number: int
    model: dict[str, Any]
    names: dict[int, str]
    values: dict[int, Ints]


_NO_LINE = _Line(0, b"")
_FOREIGN = _Own(0, {}, {}, {})


def read(text: str | bytes) -> tuple[Ensemble, Header]:
    """Read a model in LightGBM's text format.

    Parameters
    ----------
    text : str or bytes
        A file of LightGBM 2, 3 or 4, or of `write`. Bytes are UTF-8.

    Returns
    -------
    ensemble : Ensemble
        Its sets hold the categories that the file holds. In files of `write` they hold
        the numbers of categories, as the ensemble that was written.
    header : Header
        ``own`` is empty if the file is of another library.

    Raises
    ------
    ValueError
        If the text is not such a file, or contradicts itself. The message begins with
        the number of a line.
    """
    lines = _lines(text)
    head, at = _head(lines)
    trees, at = _trees(lines, at)
    tail = _tail(lines, at, is_own=ANNOUNCEMENT in head.fields)
    n_scores = _n_scores(head, len(trees))
    header = _header(head, tail)
    n_features = len(header.feature_names)
    average = "average_output" in head.fields
    return _ensemble(trees, n_scores, n_features, tail.own, average), header


# --- Lines ----------------------------------------------------------------------------


def _refuse(number: int, message: str) -> NoReturn:
    raise ValueError(f"line {number}: {message}")


@contextmanager
def _on_line(number: int) -> Iterator[None]:
    """Let errors of the block tell the number of a line."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error


def _lines(text: str | bytes) -> list[bytes]:
    if isinstance(text, str):
        # Characters that UTF-8 does not have are refused where they matter.
        text = text.encode(errors="surrogatepass")
    return [line.rstrip() for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n")]


def _add(fields: dict[str, _Line], number: int, line: bytes) -> None:
    key, _, text = line.partition(b"=")
    name = key.decode(errors="replace")
    if name in fields:
        _refuse(number, f"{name!r} comes twice; it is on line {fields[name].number}")
    text = b" ".join(text.split()) if b"  " in text else text.strip()
    fields[name] = _Line(number, text)


def _head(lines: list[bytes]) -> tuple[_Tree, int]:
    """The lines before the first tree, and the place of the next line."""
    first = next((at for at, line in enumerate(lines) if line), 0)
    if lines[first] != b"tree":
        _refuse(first + 1, "a model file of LightGBM must begin with the line 'tree'")
    head = _Tree(first + 1, {})
    for at in range(first + 1, len(lines)):
        line = lines[at]
        if line.startswith(b"Tree=") or line in _AFTER_TREES:
            return head, at
        if line:
            _add(head.fields, at + 1, line)
    _refuse(len(lines), "the file ends before its trees")


def _trees(lines: list[bytes], at: int) -> tuple[list[_Tree], int]:
    """The trees, and the place of the line after them."""
    trees: list[_Tree] = []
    while lines[at].startswith(b"Tree="):
        if lines[at] != b"Tree=%d" % len(trees):
            _refuse(at + 1, f"'Tree={len(trees)}' must come here")
        tree = _Tree(at + 1, {})
        at += 1
        while at < len(lines) and lines[at]:
            _add(tree.fields, at + 1, lines[at])
            at += 1
        trees.append(tree)
        while at < len(lines) and not lines[at]:
            at += 1
        if at == len(lines):
            _refuse(at, "the file ends within its trees")
    if lines[at] not in _AFTER_TREES:
        _refuse(at + 1, "a tree, or the end of the trees, must come here")
    return trees, at


class _Tail(NamedTuple):
    """What follows the trees."""

    parameters: dict[str, str]
    own: _Own
    pandas_categorical: list[list[Any]] | None


def _tail(lines: list[bytes], at: int, *, is_own: bool) -> _Tail:
    parameters: dict[str, str] = {}
    own, pandas, has_pandas = _FOREIGN, None, False
    start, stop = (word.encode() for word in PARAMETERS)
    # LightGBM 2.1 does not tell where the parameters end.
    is_inside = False
    for number, line in enumerate(lines[at:], at + 1):
        if line in (start, stop):
            is_inside = line == start
        elif line.startswith(PANDAS.encode()):
            pandas, has_pandas = _pandas(number, line[len(PANDAS) :]), True
        elif is_inside and line.startswith(OWN.encode()):
            own = _own(number, line[len(OWN) :])
        elif is_inside and line:
            key, value = _parameter(number, line)
            parameters[key] = value
    if is_own and (own is _FOREIGN or not has_pandas):
        _refuse(len(lines), "the file ends too early")
    return _Tail(parameters, own, pandas)


def _parameter(number: int, line: bytes) -> tuple[str, str]:
    # Paths among the values may have the encoding of another system.
    match = _PARAMETER.fullmatch(line.decode(errors="replace"))
    if match is None:
        _refuse(number, "a parameter must have the form '[key: value]'")
    return match[1], match[2]


def _decoded(line: _Line) -> str:
    with _on_line(line.number):
        return line.text.decode()


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
        _refuse(number, f"lists must not be nested deeper than {_MAX_DEPTH} levels")
    return value


def _pandas(number: int, text: bytes) -> list[list[Any]] | None:
    value = _json(number, text)
    is_list = isinstance(value, list) and all(isinstance(part, list) for part in value)
    if not is_list and value is not None:
        _refuse(number, f"{PANDAS!r} must be followed by null or a list of lists")
    return value


def _own(number: int, text: bytes) -> _Own:
    state = _json(number, text)
    with _on_line(number):
        types = {"model": dict, "names": dict, "values": dict}
        model, names, values = entries(state, types, "the line of skgoss")
        if not all(isinstance(name, str) for name in names.values()):
            raise ValueError("the names of columns must be strings")
        return _Own(
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


# --- The head -------------------------------------------------------------------------


def _field(head: _Tree, name: str) -> _Line:
    if name not in head.fields:
        _refuse(head.number, f"the file has no {name!r}")
    return head.fields[name]


def _split(line: _Line) -> list[str]:
    return [word for word in _decoded(line).split(" ") if word]


def _whole(line: _Line, name: str, low: int, high: int) -> int:
    is_number = re.fullmatch(rb"-?[0-9]{1,10}", line.text) is not None
    if not is_number or not low <= int(line.text) <= high:
        _refuse(line.number, f"{name} must be a whole number from {low} to {high}")
    return int(line.text)


def _n_scores(head: _Tree, n_trees: int) -> int:
    most = n_trees or _MAX_EMPTY_SCORES
    numbers = {
        name: _whole(head.fields[name], name, 1, most)
        for name in ("num_class", "num_tree_per_iteration")
        if name in head.fields
    }
    if not numbers:
        _refuse(head.number, "the file has no 'num_class'")
    line, n_scores = _field(head, [*numbers][-1]), [*numbers.values()][-1]
    if len(set(numbers.values())) > 1:
        _refuse(line.number, f"there must be one number of scores, got {numbers}")
    if n_trees % n_scores:
        _refuse(
            line.number,
            f"trees must come in rounds of {n_scores}, but there are {n_trees}",
        )
    if "tree_sizes" in head.fields:
        line = head.fields["tree_sizes"]
        if len(line.text.split()) != n_trees:
            _refuse(line.number, f"tree_sizes must have an entry for {n_trees} trees")
    return n_scores


def _header(head: _Tree, tail: _Tail) -> Header:
    """Check the lines of the head."""
    if "version" in head.fields and _field(head, "version").text not in _VERSIONS:
        _refuse(_field(head, "version").number, "the version must be v2, v3 or v4")
    line, own = _field(head, "feature_names"), tail.own
    names = _split(line)
    last = _field(head, "max_feature_idx")
    if _whole(last, "max_feature_idx", 0, INT32_MAX) != len(names) - 1:
        _refuse(
            last.number,
            f"max_feature_idx must be {len(names) - 1} with {len(names)} feature_names",
        )
    strangers = [j for j in (*own.names, *own.values) if j >= len(names)]
    if strangers:
        _refuse(own.number, f"there is no column {min(strangers)}")
    names = [own.names.get(j, name) for j, name in enumerate(names)]
    if len(set(names)) < len(names):
        _refuse(line.number, "the names of the columns must differ")
    return Header(
        feature_names=names,
        feature_infos=_infos(_field(head, "feature_infos"), len(names), own),
        objective=_decoded(head.fields.get("objective", _NO_LINE)),
        monotone_constraints=_signs(head, len(names)),
        parameters=tail.parameters,
        pandas_categorical=tail.pandas_categorical,
        own=own.model,
    )


def _infos(line: _Line, n_features: int, own: _Own) -> list[str]:
    infos = _split(line)
    if len(infos) != n_features:
        _refuse(line.number, f"feature_infos must have {n_features} entries")
    with _on_line(line.number):
        check_infos(infos)
        for column, known in own.values.items():
            infos[column] = _numbered(infos[column], known)
    return infos


def _numbered(info: str, known: Ints) -> str:
    """An entry of ``feature_infos``, with numbers of categories in place of values."""
    if info.startswith("[") or info == "none":
        return info
    values = np.array(info.split(":"), dtype=np.int64)
    is_known = values >= 0
    values[is_known] = _numbers_of(known, values[is_known])
    return ":".join(map(str, values.tolist()))


def _signs(head: _Tree, n_features: int) -> list[int]:
    if "monotone_constraints" not in head.fields:
        return []
    line = head.fields["monotone_constraints"]
    words = line.text.split()
    if len(words) != n_features or not {*words} <= {b"-1", b"0", b"1"}:
        _refuse(line.number, f"monotone_constraints must be {n_features} of -1, 0, 1")
    return list(map(int, words))


# --- Trees ----------------------------------------------------------------------------


def _numbers(
    trees: Sequence[_Tree], name: str, sizes: Ints, dtype: type, *, needed: bool = False
) -> NDArray[Any]:
    """The numbers of one line of all trees, one tree after the other.

    Parameters
    ----------
    trees : sequence of _Tree
    name : str
        What stands before the '='.
    sizes : ndarray of shape (n_trees,), int64
        How many numbers each tree must have.
    dtype : type
    needed : bool, default=False
        Whether each tree must have the line. If not, its numbers are 0 without it.
    """
    lines: list[_Line] = []
    is_there = np.zeros(len(trees), dtype=bool)
    for i, (tree, size) in enumerate(zip(trees, sizes.tolist(), strict=True)):
        line = tree.fields.get(name, _NO_LINE)
        if line.text:
            if line.n_words != size:
                _refuse(line.number, f"{name} must have {size} numbers")
            lines.append(line)
            is_there[i] = True
        elif needed and size:
            _refuse(tree.number, f"the tree has no {name!r}")
    found = _parsed(lines, name, dtype)
    if is_there.all():
        return found
    values = np.zeros(int(sizes.sum()), dtype=dtype)
    values[np.repeat(is_there, sizes)] = found
    return values


def _are_numbers(text: bytes, kind: str) -> bool:
    """Whether a text has numbers only, one space between them."""
    return text != b"" and _NUMBER[kind].sub(b"", text) == b""


def _parsed(lines: Sequence[_Line], name: str, dtype: type) -> NDArray[Any]:
    if not lines:
        return np.empty(0, dtype=dtype)
    is_float = dtype is np.float64
    kind = "threshold" if name == "threshold" else "float" if is_float else "int"
    text = b" ".join(line.text for line in lines)
    if not _are_numbers(text, kind):
        line = next(line for line in lines if not _are_numbers(line.text, kind))
        _refuse(line.number, f"{name} must have {_WORDS[kind]} only")
    # The grammar has no text that NumPy would read in another way.
    values = np.fromstring(text, dtype=np.float64 if is_float else np.int64, sep=" ")
    narrow = values.astype(dtype)
    if not is_float and (narrow != values).any():
        ends = np.cumsum([line.n_words for line in lines])
        at = int((narrow != values).argmax())
        line = lines[int(np.searchsorted(ends, at, side="right"))]
        _refuse(
            line.number, f"{name} must fit into {np.dtype(dtype)}, got {values[at]}"
        )
    return narrow


def _ensemble(
    trees: Sequence[_Tree], n_scores: int, n_features: int, own: _Own, average: bool
) -> Ensemble:
    one = np.ones(len(trees), dtype=np.int64)
    n_leaves = _numbers(trees, "num_leaves", one, np.int32, needed=True).astype(
        np.int64
    )
    if (n_leaves < 1).any():
        _refuse(trees[int(n_leaves.argmin())].number, "num_leaves must be at least 1")
    # The values of leaves come first: they show that num_leaves is not made up.
    arrays = {
        name: _numbers(trees, name, n_leaves, dtype, needed=name in _NEEDED)
        for name, dtype in LEAF_TYPES.items()
    }
    arrays |= {
        name: _numbers(trees, name, n_leaves - 1, dtype, needed=name in _NEEDED)
        for name, dtype in NODE_TYPES.items()
    }
    sets = _sets(trees, n_leaves - 1, arrays, own)
    linear = _linear(trees, n_leaves, arrays["leaf_value"])
    leaf_start = np.concatenate([[0], np.cumsum(n_leaves)])
    try:
        return Ensemble(
            arrays,
            leaf_start,
            n_scores,
            n_features,
            sets,
            average=average,
            linear=linear,
        )
    except ValueError:
        _refuse_tree(trees, arrays, leaf_start, n_features, sets, linear)
        raise


def _refuse_tree(
    trees: Sequence[_Tree],
    arrays: Mapping[str, NDArray[Any]],
    leaf_start: Ints,
    n_features: int,
    sets: Sets,
    linear: LinearLeaves | None,
) -> None:
    """Raise the error of the first wrong tree.

    The first n trees are checked without the others. They pass if n is small enough.
    """
    passing, failing = 0, len(trees)
    while passing < failing:
        n = (passing + failing + 1) // 2
        n_leaves = int(leaf_start[n])
        stops = dict.fromkeys(LEAF_TYPES, n_leaves)
        stops |= dict.fromkeys(NODE_TYPES, n_leaves - n)
        part = {name: arrays[name][:stop] for name, stop in stops.items()}
        some = linear and linear.leaves(0, n_leaves)
        try:
            checks.check(part, leaf_start[: n + 1], 1, n_features, sets, some)
        except ValueError as error:
            if failing == n:
                _refuse(trees[n - 1].number, str(error))
            failing = n
        else:
            passing = n


# --- Categories -----------------------------------------------------------------------


def _sets(
    trees: Sequence[_Tree],
    n_nodes: Ints,
    arrays: dict[str, NDArray[Any]],
    own: _Own,
) -> Sets:
    """The sets of all trees; thresholds become their numbers."""
    one = np.ones(len(trees), dtype=np.int64)
    n_cat = _numbers(trees, "num_cat", one, np.int32, needed=True)
    chosen = np.flatnonzero(n_cat > 0).tolist()
    n_sets = np.zeros(len(trees), dtype=np.int64)
    sets = NO_SETS
    if chosen:
        some = [trees[i] for i in chosen]
        sets, n_sets[chosen] = _sets_of(some, n_cat[chosen])
    node = np.flatnonzero(arrays["decision_type"] & CATEGORICAL)
    tree = np.repeat(np.arange(len(trees)), n_nodes)[node]
    place = arrays["threshold"][node]
    wrong = (place != np.floor(place)) | (place < 0) | (place >= n_sets[tree])
    if wrong.any():
        _refuse(
            trees[tree[int(wrong.argmax())]].fields["threshold"].number,
            "the threshold of a categorical node must be the number of a set, but"
            f" there are {n_sets[tree[int(wrong.argmax())]]} sets",
        )
    first_set = np.cumsum(n_sets) - n_sets
    number = place.astype(np.int64) + first_set[tree]
    arrays["threshold"][node] = number
    return _numbered_sets(sets, number, arrays["split_feature"][node], own)


def _sets_of(trees: Sequence[_Tree], n_cat: NDArray[np.int32]) -> tuple[Sets, Ints]:
    """The sets of some trees, and how many each has.

    LightGBM 2.0 has files with more sets than ``num_cat``.
    """
    lines = [tree.fields.get("cat_boundaries", _NO_LINE) for tree in trees]
    sizes = np.array([line.n_words for line in lines])
    for tree, line, n in zip(trees, lines, n_cat.tolist(), strict=True):
        if line.n_words <= n:
            _refuse(
                line.number or tree.number,
                f"cat_boundaries must have more than {n} numbers",
            )
    boundary = _numbers(trees, "cat_boundaries", sizes, np.uint32).astype(np.int64)
    last = np.cumsum(sizes) - 1
    first = last - sizes + 1
    rises = np.append(boundary[1:] >= boundary[:-1], True)
    rises[last] = boundary[first] == 0
    if not rises.all():
        at = int(np.searchsorted(last, rises.argmin()))
        _refuse(lines[at].number, "cat_boundaries must rise from 0")
    n_words = boundary[last]
    words = _numbers(trees, "cat_threshold", n_words, np.uint32, needed=True)
    start = boundary + np.repeat(np.cumsum(n_words) - n_words, sizes)
    start = np.append(np.delete(start, last), len(words))
    return Sets(start, words), sizes - 1


def _numbered_sets(
    sets: Sets, number: Ints, column: NDArray[np.int32], own: _Own
) -> Sets:
    """Replace values by numbers in the sets of the columns of `own`."""
    if not own.values:
        return sets
    with _on_line(own.number):
        if len(np.unique(number)) < len(number):
            raise ValueError("each categorical node must have a set of its own")
        column_of = np.full(len(sets.start) - 1, -1, dtype=np.int32)
        column_of[number] = column
        return renamed(
            sets,
            column_of,
            {j: partial(_numbers_of, known) for j, known in own.values.items()},
        )


def _numbers_of(known: Ints, values: Ints) -> Ints:
    number = np.searchsorted(known, values)
    # The last place is for values beyond all known ones.
    missing = np.append(known, -1)[number] != values
    if missing.any():
        raise ValueError(f"the category {values[missing][0]} is not among the values")
    return number


# --- Linear leaves --------------------------------------------------------------------


def _linear(
    trees: Sequence[_Tree], n_leaves: Ints, leaf_value: Floats
) -> LinearLeaves | None:
    one = np.ones(len(trees), dtype=np.int64)
    is_linear = _numbers(trees, "is_linear", one, np.uint8) > 0
    if not is_linear.any():
        return None
    some = [
        tree for tree, linear in zip(trees, is_linear.tolist(), strict=True) if linear
    ]
    sizes, of_leaf = n_leaves[is_linear], np.repeat(is_linear, n_leaves)
    constant = leaf_value.copy()
    constant[of_leaf] = _numbers(some, "leaf_const", sizes, np.float64, needed=True)
    n_terms = np.zeros(len(leaf_value), dtype=np.int64)
    n_terms[of_leaf] = _numbers(some, "num_features", sizes, np.uint32, needed=True)
    start = np.concatenate([[0], np.cumsum(n_terms)])
    ends = np.cumsum(n_leaves)
    n_of_tree = (start[ends] - start[ends - n_leaves])[is_linear]
    feature = _numbers(some, "leaf_features", n_of_tree, np.int32, needed=True)
    coefficient = _numbers(some, "leaf_coeff", n_of_tree, np.float64, needed=True)
    return LinearLeaves(constant, start, feature, coefficient)
