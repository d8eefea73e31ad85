"""The labels of a tree's nodes and edges, for text, graphviz and matplotlib."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from skgoss.booster.booster import Booster, booster_of
from skgoss.estimators.base import LGBMModel
from skgoss.model.ensemble import LARGEST
from skgoss.model.trees import ZERO_BOUND
from skgoss.plotting.plot_arguments import check, check_name
from skgoss.utils.messages import one_line

# The facts that `show_info` may list, in the order of the lines. A node has some of
# them.
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

# The values that count as missing.
_MISSING = {"None": "", "NaN": "missing", "Zero": "missing or 0"}

# The most characters of a line, and of a name in a line.
_LINE, _NAME = 40, 30

# A node of `dump_model`.
Node = Mapping[str, Any]


@dataclass(frozen=True)
class NodeLabel:
    """The texts of a node or leaf, and its place in the tree."""

    key: str  # ``split3`` or ``leaf0``
    # The condition of a split, or the value of a leaf; in ASCII, apart from names.
    title: str
    heading: list[str]  # the title for pictures: in short lines, with short names
    info: list[str]  # the formula of a linear leaf, and the facts of ``show_info``
    parent: int  # the index of the parent in the list of nodes; -1: none
    edge: str  # the rows that go here from the parent: ``yes`` or ``no, missing``
    on_path: bool  # whether the example reaches the node
    constraint: int  # the monotone constraint of the column: 1, -1 or 0

    @property
    def is_leaf(self) -> bool:
        """Whether it is a leaf."""
        return self.key.startswith("leaf")


@dataclass(frozen=True)
class TreeLabels:
    """The texts of a tree."""

    name: str  # the index of the tree and its number of leaves
    # Parents come before children, the left child before the right.
    nodes: list[NodeLabel]
    has_constraints: bool  # whether columns of the model have monotone constraints


def tree_labels(
    model: Booster | LGBMModel,
    tree_index: int,
    show_info: Sequence[str] | str | None,
    precision: int | None,
    example_case: ArrayLike | None,
    max_category_values: int = 10,
) -> TreeLabels:
    """Label the nodes of a tree. See `draw_tree` for the arguments and errors."""
    check(
        tree_index=tree_index,
        precision=precision,
        max_category_values=max_category_values,
    )
    info = [show_info] if isinstance(show_info, str) else list(show_info or ())
    for name in info:
        check_name(name, INFO, "show_info", "facts of nodes")
    booster = booster_of(model, "booster")
    n_trees = booster.num_trees()
    if not -n_trees <= tree_index < n_trees:
        raise IndexError(
            f"tree_index must be less than {n_trees}, the number of trees, got"
            f" {tree_index}."
        )
    tree_index %= n_trees
    iteration, score = divmod(tree_index, booster.num_model_per_iteration())
    # The first rounds of a model of folds have its start scores, and cannot be
    # separated.
    tested = booster._model.out_of_fold
    n_read = 1 if iteration or tested is None else tested.n_starts
    span: dict[str, Any] = {"start_iteration": iteration, "num_iteration": n_read}
    leaf = None
    if example_case is not None:
        leaf = _leaf_of(booster, example_case, span, score)
    dump = booster.dump_model(**span)
    tree, constraints = dump["tree_info"][score], dump["monotone_constraints"]
    labels = Labels(
        dump["feature_names"],
        booster._model.categories.values(needs_encoding=True),
        constraints,
        info,
        precision,
        max_category_values,
    )
    n_leaves = tree["num_leaves"]
    name = f"Tree {tree_index}: {n_leaves} {'leaf' if n_leaves == 1 else 'leaves'}"
    return TreeLabels(
        name, labels.nodes(tree["tree_structure"], leaf), any(constraints)
    )


def _leaf_of(booster: Booster, example: Any, span: dict[str, Any], score: int) -> int:
    """The number of the leaf that the example, a single row, reaches in a tree.

    The tree is that of the ``score`` in the first round of ``span``, which are the
    arguments of `predict` that select rounds.
    """
    leaves = booster.predict(example, pred_leaf=True, **span)
    if len(leaves) != 1:
        raise ValueError(f"example_case must have a single row, got {len(leaves)}.")
    return int(leaves[0, score])


@dataclass(frozen=True)
class Labels:
    """Writes the labels of nodes."""

    names: Sequence[str]  # names of the columns
    # The categories of columns, in the order of their codes.
    categories: Mapping[int, Sequence[Any]]
    # The monotone constraint of each column; empty without constraints.
    constraints: Sequence[int]
    show_info: Sequence[str]  # names from `INFO`
    precision: int | None  # digits after the decimal point; None: all
    # The most categories that are listed, before "...".
    max_category_values: int

    def nodes(self, root: Node, leaf: int | None = None) -> list[NodeLabel]:
        """Label the nodes of a ``tree_structure`` of ``dump_model``.

        Parents come before children, the left child before the right. ``leaf`` is the
        number of the leaf that the example reaches.
        """
        nodes = list(_preorder(root))
        path = _path(nodes, leaf)
        total = _count(root)
        return [
            self._node(node, total, parent, edge, number in path)
            for number, (node, parent, edge) in enumerate(nodes)
        ]

    def _node(
        self, node: Node, total: int | None, parent: int, edge: str, on_path: bool
    ) -> NodeLabel:
        """The label of one node of `dump_model`.

        ``total`` is the number of rows of the root; None: the model does not have it.
        ``parent``, ``edge`` and ``on_path`` are as in `NodeLabel`.
        """
        is_leaf = _is_leaf(node)
        title = self._value if is_leaf else self._condition
        has_constraint = self.constraints and not is_leaf
        return NodeLabel(
            key=_key(node),
            title=title(node, None),
            heading=_wrapped(title(node, _NAME)),
            info=_wrapped(self._formula(node)) + self._info(node, total),
            parent=parent,
            edge=edge,
            on_path=on_path,
            constraint=self.constraints[node["split_feature"]] if has_constraint else 0,
        )

    def _info(self, node: Node, total: int | None) -> list[str]:
        """The facts of a node that ``show_info`` lists, one a line.

        ``total`` is the number of rows of the root, of which a node has a percentage.
        """
        facts = {
            name: str(node[name]) if name in _COUNTS else self._number(node[name])
            for name in INFO
            if name in node
        }
        count = _count(node)
        if total and count is not None:
            facts["data_percentage"] = f"{100 * count / total:.2f}%"
        return [
            INFO[name].format(fact)
            for name, fact in facts.items()
            if name in self.show_info
        ]

    def _condition(self, node: Node, length: int | None) -> str:
        """The condition under which rows go left, such as "age <= 3".

        Names have at most ``length`` characters, in pictures. None: they are not cut,
        in titles, which are ASCII. A column of ordered categories is compared by their
        numbers, so the threshold is written as a category.
        """
        column, threshold = node["split_feature"], node["threshold"]
        name = one_line(self.names[column], length)
        if node["decision_type"] == "==":
            return f"{name} {self._set(column, threshold.split('||'), length)}"
        if _separates_missing(node):
            return f"{name} is not {_MISSING[node['missing_type']]}"
        limit = self._category(column, threshold, length)
        sign = "<=" if length is None else "≤"
        return f"{name} {sign} {limit or self._number(threshold)}"

    def _set(self, column: int, codes: list[str], length: int | None) -> str:
        """The condition of a categorical split after the name: "in a, b, ...".

        ``codes`` are the numbers of the categories that go left, as texts.
        """
        listed = [
            self._category(column, int(code), length) or code
            for code in codes[: self.max_category_values]
        ]
        if len(listed) < len(codes):
            listed.append("...")
        sign = "=" if len(codes) == 1 else "in"
        return f"{sign} {', '.join(listed)}"

    def _category(self, column: int, code: float, length: int | None) -> str | None:
        """The name of a category; None if it has none."""
        values = self.categories.get(column, ())
        if 0 <= code < len(values):
            return one_line(values[math.floor(code)], length)
        return None

    def _value(self, leaf: Node, length: int | None) -> str:
        """The title of a leaf. ``length`` is unused: it has no names of columns."""
        return f"leaf {_leaf_index(leaf)}: {self._number(leaf['leaf_value'])}"

    def _formula(self, node: Node) -> str:
        """The linear model of a leaf; empty if it has none."""
        if not node.get("leaf_features"):
            return ""
        terms = [f"= {self._number(node['leaf_const'])}"]
        for column, factor in zip(
            node["leaf_features"], node["leaf_coeff"], strict=True
        ):
            sign = "-" if factor < 0 else "+"
            name = one_line(self.names[column], _NAME)
            terms.append(f"{sign} {self._number(abs(factor))} {name}")
        return " ".join(terms)

    def _number(self, value: float) -> str:
        """A number with few digits; "0.00" only if it counts as zero."""
        digits = self.precision
        if digits is None:
            return str(value)
        if abs(value) <= ZERO_BOUND:
            return f"{0.0:.{digits}f}"
        if 0.5 * 10.0**-digits <= abs(value) < 1e9:
            return f"{value:.{digits}f}"
        return f"{value:.{max(digits, 1)}g}"


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _LINE, break_long_words=False, break_on_hyphens=False)


def _is_leaf(node: Node) -> bool:
    return "split_index" not in node


def _leaf_index(leaf: Node) -> int:
    return leaf.get("leaf_index", 0)  # the only leaf of a tree has no index


def _key(node: Node) -> str:
    if _is_leaf(node):
        return f"leaf{_leaf_index(node)}"
    return f"split{node['split_index']}"


def _count(node: Node) -> int | None:
    return next((node[name] for name in _COUNTS if name in node), None)


def _separates_missing(node: Node) -> bool:
    """Whether a split separates missing values from all numbers."""
    return (
        node["decision_type"] != "=="
        and node["missing_type"] != "None"
        and node["threshold"] >= LARGEST
    )


def _edges(node: Node) -> tuple[str, str]:
    """The labels of the edges to the left and right child."""
    missing = _MISSING[node["missing_type"]]
    if not missing or node["decision_type"] == "==" or _separates_missing(node):
        return "yes", "no"
    if node["default_left"]:
        return f"yes, {missing}", "no"
    return "yes", f"no, {missing}"


def _preorder(root: Node) -> Iterator[tuple[Node, int, str]]:
    """Each node, the index of its parent in this order, and the label of its edge."""
    stack = [(root, -1, "")]
    number = 0
    while stack:
        node, parent, edge = stack.pop()
        yield node, parent, edge
        if not _is_leaf(node):
            yes, no = _edges(node)
            stack.append((node["right_child"], number, no))
            stack.append((node["left_child"], number, yes))
        number += 1


def _path(nodes: list[tuple[Node, int, str]], leaf: int | None) -> set[int]:
    """The indices of the nodes from the root to a leaf; empty if ``leaf`` is None.

    ``nodes`` are those of `_preorder`, and ``leaf`` is the number of the leaf.
    """
    path: set[int] = set()
    if leaf is not None:
        number = [_key(node) for node, _, _ in nodes].index(f"leaf{leaf}")
        while number >= 0:
            path.add(number)
            number = nodes[number][1]
    return path
