"""What a drawing tells about the nodes and leaves of a tree."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What `show_info` may list, in the order of the lines. A node has some of them.
INFO = {
    "split_gain": "gain {}",
    "internal_value": "value {}",
    "internal_weight": "weight {}",
    "leaf_weight": "weight {}",
    "internal_count": "count {}",
    "leaf_count": "count {}",
    "data_percentage": "{} of data",
}

_COUNTS = ("internal_count", "leaf_count")

# Numbers up to this one in magnitude are zeros to a tree.
_ZERO = 1.0000000180025095e-35

# A threshold from here on separates missing values from all numbers.
_ENDLESS = 1e300

# The values that count as missing.
_MISSING = {"None": "", "NaN": "missing", "Zero": "missing or 0"}

# Characters of a line, and of a name in a line.
_LINE, _NAME = 40, 30

# A node of `dump_model`.
Node = Mapping[str, Any]


@dataclass(frozen=True)
class Box:
    """What a drawing tells about a node or leaf.

    Attributes
    ----------
    key : str
        ``split3`` or ``leaf0``.
    title : str
        The question of a node, or the value of a leaf; in ASCII, apart from names.
    heading : list of str
        The title for pictures: in short lines, with short names.
    info : list of str
        The lines that ``show_info`` asks for.
    details : list of str
        All that is known.
    parent : int
        The place of the parent in the list of boxes; -1: none.
    edge : str
        Which rows come from the parent, such as ``yes`` or ``no, missing``.
    on_path : bool
        Whether the example comes here.
    sign : int
        The monotone constraint of the column: 1, -1 or 0.
    """

    key: str
    title: str
    heading: list[str]
    info: list[str]
    details: list[str]
    parent: int
    edge: str
    on_path: bool
    sign: int

    @property
    def is_leaf(self) -> bool:
        """Whether it is a leaf."""
        return self.key.startswith("leaf")


@dataclass(frozen=True)
class Labels:
    """The labels of the nodes of a tree.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    categories : mapping from int to sequence
        The categories of columns, in the order of their numbers.
    signs : sequence of int
        The monotone constraint of each column; empty without constraints.
    show_info : sequence of str
        Names from `INFO`.
    precision : int or None
        Digits after the decimal point; None: all.
    max_category_values : int
        Number of categories that are listed; "..." stands for the others.
    """

    names: Sequence[str]
    categories: Mapping[int, Sequence[Any]]
    signs: Sequence[int]
    show_info: Sequence[str]
    precision: int | None
    max_category_values: int

    def boxes(self, root: Node, leaf: int | None = None) -> list[Box]:
        """Describe the nodes and leaves of a tree.

        Parameters
        ----------
        root : dict
            A ``tree_structure`` of ``dump_model``.
        leaf : int, default=None
            The number of the leaf that the example reaches.

        Returns
        -------
        list of Box
            Parents come before children, the left child before the right.
        """
        places = list(_places(root))
        path = _path(places, leaf)
        total = _count(root)
        return [
            self._box(node, total, parent, edge, number in path)
            for number, (node, parent, edge) in enumerate(places)
        ]

    def _box(
        self, node: Node, total: int | None, parent: int, edge: str, on_path: bool
    ) -> Box:
        lines = self._lines(node, total)
        asked = [line for name, line in lines.items() if name in self.show_info]
        title = self._leaf if _is_leaf(node) else self._question
        return Box(
            key=_key(node),
            title=title(node, None),
            heading=_wrapped(title(node, _NAME)),
            info=_wrapped(self._formula(node, _NAME)) + asked,
            details=[*filter(None, [self._formula(node, None)]), *lines.values()],
            parent=parent,
            edge=edge,
            on_path=on_path,
            sign=self.signs[node["split_feature"]]
            if self.signs and not _is_leaf(node)
            else 0,
        )

    def _lines(self, node: Node, total: int | None) -> dict[str, str]:
        """All that can be told beside the title."""
        facts = {
            name: str(node[name]) if name in _COUNTS else self._number(node[name])
            for name in INFO
            if name in node
        }
        if total:
            facts["data_percentage"] = f"{100 * _count(node) / total:.2f}%"
        return {name: INFO[name].format(fact) for name, fact in facts.items()}

    def _question(self, node: Node, length: int | None) -> str:
        """The question to which the rows on the left say yes."""
        column, threshold = node["split_feature"], node["threshold"]
        name = one_line(self.names[column], length)
        if node["decision_type"] == "==":
            return f"{name} {self._set(column, threshold.split('||'), length)}"
        if _asks_for_missing(node):
            return f"{name} is not {_MISSING[node['missing_type']]}"
        limit = self._category(column, threshold, length)
        sign = "<=" if length is None else "≤"
        return f"{name} {sign} {limit or self._number(threshold)}"

    def _set(self, column: int, members: list[str], length: int | None) -> str:
        listed = [
            self._category(column, int(member), length) or member
            for member in members[: self.max_category_values]
        ]
        if len(listed) < len(members):
            listed.append("...")
        sign = "=" if len(members) == 1 else "in"
        return f"{sign} {', '.join(listed)}"

    def _category(self, column: int, number: float, length: int | None) -> str | None:
        """The name of a category; None if it has none."""
        values = self.categories.get(column, ())
        if 0 <= number < len(values):
            return one_line(values[math.floor(number)], length)
        return None

    def _leaf(self, leaf: Node, length: int | None) -> str:
        return f"leaf {leaf.get('leaf_index', 0)}: {self._number(leaf['leaf_value'])}"

    def _formula(self, node: Node, length: int | None) -> str:
        """The linear model of a leaf; empty if it has none."""
        if not node.get("leaf_features"):
            return ""
        terms = [f"= {self._number(node['leaf_const'])}"]
        factors = zip(node["leaf_features"], node["leaf_coeff"], strict=True)
        for column, factor in factors:
            sign = "-" if factor < 0 else "+"
            name = one_line(self.names[column], length)
            terms.append(f"{sign} {self._number(abs(factor))} {name}")
        return " ".join(terms)

    def _number(self, value: float) -> str:
        """A number, short, but not as zero if it is not."""
        digits = self.precision
        if digits is None:
            return str(value)
        if abs(value) <= _ZERO:
            return f"{0.0:.{digits}f}"
        if 0.5 * 10.0**-digits <= abs(value) < 1e9:
            return f"{value:.{digits}f}"
        return f"{value:.{max(digits, 1)}g}"


def one_line(value: Any, length: int | None = None) -> str:
    """A name in one line, its middle left out if it is longer than ``length``.

    Characters that cannot be seen, such as line breaks, become escape sequences.
    """
    text = "".join(
        c if c.isprintable() else " " if c == "\xa0" else ascii(c)[1:-1]
        for c in str(value)
    )
    if length is None or len(text) <= length:
        return text
    tail = length // 2
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _LINE, break_long_words=False, break_on_hyphens=False)


def _is_leaf(node: Node) -> bool:
    return "split_index" not in node


def _number_of_leaf(leaf: Node) -> int:
    return leaf.get("leaf_index", 0)  # the only leaf of a tree has no number


def _key(node: Node) -> str:
    if _is_leaf(node):
        return f"leaf{_number_of_leaf(node)}"
    return f"split{node['split_index']}"


def _count(node: Node) -> int | None:
    return next((node[name] for name in _COUNTS if name in node), None)


def _asks_for_missing(node: Node) -> bool:
    return (
        node["decision_type"] != "=="
        and node["missing_type"] != "None"
        and node["threshold"] >= _ENDLESS
    )


def _edges(node: Node) -> tuple[str, str]:
    """Which rows go left and right."""
    missing = _MISSING[node["missing_type"]]
    if not missing or node["decision_type"] == "==" or _asks_for_missing(node):
        return "yes", "no"
    if node["default_left"]:
        return f"yes, {missing}", "no"
    return "yes", f"no, {missing}"


def _places(root: Node) -> Iterator[tuple[Node, int, str]]:
    """Each node with the number of its parent and the label of its edge."""
    waiting = [(root, -1, "")]
    number = 0
    while waiting:
        node, parent, edge = waiting.pop()
        yield node, parent, edge
        if not _is_leaf(node):
            yes, no = _edges(node)
            waiting.append((node["right_child"], number, no))
            waiting.append((node["left_child"], number, yes))
        number += 1


def _path(places: list[tuple[Node, int, str]], leaf: int | None) -> set[int]:
    """The numbers of the nodes from the root to a leaf."""
    path: set[int] = set()
    if leaf is not None:
        key = f"leaf{leaf}"
        at = [_key(node) for node, _, _ in places].index(key)
        while at >= 0:
            path.add(at)
            at = places[at][1]
    return path
