"""Trained trees as dicts, rows of a table and lists of thresholds, as LightGBM's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns.categories import Categories
from skgoss.model.category_sets import CategorySets
from skgoss.model.ensemble import LARGEST, Ensemble
from skgoss.model.file_header import Header
from skgoss.model.linear import LinearLeaves
from skgoss.model.trees import CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT, Tree

Floats = NDArray[np.float64]

# From here on, whole numbers stay floats, as LightGBM writes them with an exponent.
LARGEST_WHOLE = 1e17

# The first words of objectives whose scores start from 0.
_STARTS_AT_ZERO = ("", "lambdarank", "rank_xendcg")

_MISSING = ("None", "Zero", "NaN")

# --- The dump -------------------------------------------------------------------------


def dump(
    ensemble: Ensemble,
    header: Header,
    categories: Categories,
    factors: Floats,
    *,
    start_round: int = 0,
    stop_round: int | None = None,
    importance: str = "split",
) -> dict[str, Any]:
    """Describe a model by dicts, lists, numbers and strings, which JSON can hold.

    It has the keys of LightGBM's ``dump_model``. Whole floats are ints. NaN becomes 0,
    and numbers beyond 1e300 in magnitude become 1e300 with their sign.

    The sets of the ensemble hold numbers of the ``categories``. ``factors`` are as from
    `shrinkage`. The rounds are those from ``start_round`` to ``stop_round - 1``; None:
    to the last. Importances are cut to whole numbers.
    """
    stop = ensemble.n_rounds if stop_round is None else stop_round
    rounds = np.arange(min(start_round, stop), stop)
    values = categories.values(needs_encoding=False)
    names = header.feature_names
    shares = ensemble.chosen(rounds).importances(importance).astype(np.int64).tolist()
    first, last = rounds.size and rounds[0], rounds.size and rounds[-1] + 1
    return {
        "name": "tree",
        "version": "v4",
        "num_class": ensemble.n_scores,
        "num_tree_per_iteration": ensemble.n_scores,
        "label_index": 0,
        "max_feature_idx": ensemble.n_features - 1,
        **({"objective": header.objective} if header.objective else {}),
        "average_output": ensemble.average,
        "feature_names": list(names),
        "monotone_constraints": list(header.monotone_constraints),
        "feature_infos": {
            names[column]: _info(info, values.get(column))
            for column, info in enumerate(header.feature_infos)
            if info != "none"
        },
        "tree_info": [
            _tree_info(ensemble, index, float(factors[index]), values)
            for index in range(first * ensemble.n_scores, last * ensemble.n_scores)
        ],
        "feature_importances": {
            name: share for name, share in zip(names, shares, strict=True) if share > 0
        },
        "pandas_categorical": jsonable(pandas_categorical(header, categories)),
    }


def jsonable(words: list[list[Any]] | None) -> list[list[Any]] | None:
    """The categories of each column; those that JSON cannot hold become strings."""
    if words is None:
        return None
    return [
        [v if isinstance(v, str | int | float) else str(v) for v in w] for w in words
    ]


def _number(value: float) -> float:
    """A number that JSON can hold; an int if it is whole."""
    if value != value:
        return 0
    value = min(max(value, -LARGEST), LARGEST)
    is_whole = value == int(value) and abs(value) < LARGEST_WHOLE
    return int(value) if is_whole else value


def _numbers(values: NDArray[Any]) -> list[float]:
    return list(map(_number, values.tolist()))


def _info(info: str, values: list[Any] | None) -> dict[str, Any]:
    """The entry of ``feature_infos`` for a column: its range, or its categories.

    ``info`` is that of `Header.feature_infos`: '[low:high]', or numbers of categories
    with -1 for missing values. ``values`` are the categories by number; None: they have
    no other values than the numbers.
    """
    if info.startswith("["):
        low, high = (_number(float(word)) for word in info[1:-1].split(":"))
        return {"min_value": low, "max_value": high, "values": []}
    numbers = [int(word) for word in info.split(":")]
    categories = [number for number in numbers if number < 0]
    categories += _named([number for number in numbers if number >= 0], values)
    return {
        "min_value": min(categories),
        "max_value": max(categories),
        "values": categories,
    }


def _tree_info(
    ensemble: Ensemble, index: int, factor: float, values: Mapping[int, list[Any]]
) -> dict[str, Any]:
    """The entry of ``tree_info`` for a tree: nested dicts of nodes and leaves.

    ``factor`` is that of `shrinkage`, and ``values`` are the categories by column.
    """
    tree = ensemble.tree(index)
    categorical = tree.decision_type & CATEGORICAL != 0
    linear = ensemble.linear
    if linear is not None:
        linear = linear.leaves(*ensemble.leaf_start[index : index + 2].tolist())
    leaves = _leaves(tree, linear)
    nodes = _nodes(tree, _thresholds(tree, categorical, ensemble.sets, values))
    # Children come after their parents, so the last node has leaves only.
    for node, left, right in zip(
        nodes[::-1],
        tree.left_child[::-1].tolist(),
        tree.right_child[::-1].tolist(),
        strict=True,
    ):
        node["left_child"] = leaves[~left] if left < 0 else nodes[left]
        node["right_child"] = leaves[~right] if right < 0 else nodes[right]
    return {
        "tree_index": index,
        "num_leaves": tree.n_leaves,
        "num_cat": int(categorical.sum()),
        "shrinkage": _number(factor),
        "tree_structure": nodes[0] if nodes else leaves[0],
    }


def _nodes(tree: Tree, thresholds: list[float | str]) -> list[dict[str, Any]]:
    """The inner nodes of a tree, in its order, without their children.

    ``thresholds`` are numbers, or texts of categories: see `_thresholds`.
    """
    decision = tree.decision_type
    columns = {
        "split_index": range(len(decision)),
        "split_feature": tree.split_feature.tolist(),
        "split_gain": _numbers(tree.split_gain),
        "threshold": thresholds,
        "decision_type": ["==" if isinstance(t, str) else "<=" for t in thresholds],
        "default_left": (decision & DEFAULT_LEFT != 0).tolist(),
        "missing_type": [_MISSING[kind] for kind in decision >> MISSING_SHIFT],
        "internal_value": _numbers(tree.internal_value),
        "internal_weight": _numbers(tree.internal_weight),
        "internal_count": tree.internal_count.tolist(),
    }
    return _dicts(columns)


def _leaves(tree: Tree, linear: LinearLeaves | None) -> list[dict[str, Any]]:
    """The dict of each leaf in ``dump_model``; ``linear`` are the tree's linear leaves.

    As in LightGBM, the only leaf of a tree without splits has no index and no weight.
    """
    columns = {
        "leaf_index": range(tree.n_leaves),
        "leaf_value": _numbers(tree.leaf_value),
        "leaf_weight": _numbers(tree.leaf_weight),
        "leaf_count": tree.leaf_count.tolist(),
    }
    if tree.n_leaves == 1:
        del columns["leaf_index"], columns["leaf_weight"]
    if linear is not None:
        bounds = linear.start[1:-1]
        columns |= {
            "leaf_const": _numbers(linear.constant),
            "leaf_features": [j.tolist() for j in np.split(linear.feature, bounds)],
            "leaf_coeff": list(map(_numbers, np.split(linear.coefficient, bounds))),
        }
        if not np.isnan(linear.lower).any():
            ends = {"leaf_lower": linear.lower, "leaf_upper": linear.upper}
            columns |= {name: _numbers(values) for name, values in ends.items()}
    return _dicts(columns)


def _dicts(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table, as dicts, from its ``columns`` by name."""
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


def _thresholds(
    tree: Tree,
    categorical: NDArray[np.bool_],
    sets: CategorySets,
    values: Mapping[int, list[Any]],
) -> list[float | str]:
    """The threshold of each node, or the categories that go left as "a||b||c".

    ``categorical`` says which nodes split categories, ``sets`` has the sets whose
    numbers are their thresholds, and ``values`` the categories by column and number.
    """
    thresholds: list[Any] = _numbers(tree.threshold)
    for node in np.flatnonzero(categorical).tolist():
        members = sets.categories(int(tree.threshold[node])).tolist()
        names = _named(members, values.get(int(tree.split_feature[node])))
        thresholds[node] = "||".join(map(str, names))
    return thresholds


def _named(numbers: list[int], values: list[Any] | None) -> list[Any]:
    """The values of categories with these numbers; the numbers if ``values`` is None.

    ValueError if a number is too large.
    """
    if values is None:
        return numbers
    if max(numbers, default=0) >= len(values):
        raise ValueError(
            f"category {max(numbers)} is none of the {len(values)} of its column"
        )
    return [values[number] for number in numbers]


def pandas_categorical(
    header: Header, categories: Categories
) -> list[list[Any]] | None:
    """The categories of the columns of strings and categories; None if there are none.

    Those of a file of another library are kept as they were read.
    """
    if header.pandas_categorical is not None:
        return [list(values) for values in header.pandas_categorical]
    return list(map(list, categories.values(needs_encoding=True).values())) or None


# The options of `shrinkage`.
SHRINKAGE = ("learning_rate", "boost_from_average")


def shrinkage(
    ensemble: Ensemble, header: Header, learning_rate: float, boost_from_average: bool
) -> Floats:
    """The factor of each tree between the optimal values of its leaves and its values.

    (n_trees,): the learning rate, or 1 for trees that hold the start score. That is
    what LightGBM's files and tables call shrinkage.
    """
    is_one = holds_start(ensemble, header, boost_from_average)
    return np.where(is_one, 1.0, learning_rate)


def holds_start(
    ensemble: Ensemble, header: Header, boost_from_average: bool
) -> NDArray[np.bool_]:
    """Whether each tree's leaf values include the start score, (n_trees,).

    Trees have no other place for it. Those of the first round do, if the objective has
    a start score and `boost_from_average` is on; in forests, whose scores are means,
    all trees do.
    """
    has_start = header.objective.split(" ")[0] not in _STARTS_AT_ZERO
    n_first = ensemble.n_scores if has_start and boost_from_average else 0
    return (np.arange(ensemble.n_trees) < n_first) | ensemble.average


# --- Rows of a table ------------------------------------------------------------------

# The columns of a row that a leaf may lack, in their order.
_NODE_COLUMNS = (
    "left_child",
    "right_child",
    "parent_index",
    "split_feature",
    "split_gain",
    "threshold",
    "decision_type",
    "missing_direction",
    "missing_type",
)


def rows(dumped: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The nodes and leaves of all trees, from what `dump` returned.

    Parents come before their children, left children before right ones. The columns
    have the order of LightGBM's ``trees_to_dataframe``.
    """
    names = dumped["feature_names"]
    for tree in dumped["tree_info"]:
        index = tree["tree_index"]
        open_nodes: list[tuple[dict[str, Any], int, str | None]]
        open_nodes = [(tree["tree_structure"], 1, None)]
        while open_nodes:
            node, depth, parent = open_nodes.pop()
            name = _node_name(index, node)
            row = {"tree_index": index, "node_depth": depth, "node_index": name}
            row |= dict.fromkeys(_NODE_COLUMNS) | {"parent_index": parent}
            if "split_index" in node:
                yield row | _node_row(index, node, names)
                for side in ("right_child", "left_child"):
                    open_nodes.append((node[side], depth + 1, name))
            else:
                # LightGBM leaves out two columns for trees of one leaf.
                facts = {} if parent is None else node
                yield row | {
                    "value": node["leaf_value"],
                    "weight": facts.get("leaf_weight"),
                    "count": facts.get("leaf_count"),
                }


def _node_name(tree: int, node: Mapping[str, Any]) -> str:
    if "split_index" in node:
        return f"{tree}-S{node['split_index']}"
    return f"{tree}-L{node.get('leaf_index', 0)}"


def _node_row(tree: int, node: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """The row of a split in the table of trees, from its dict in ``dump_model``.

    ``tree`` is the index of the tree, ``names`` are those of all columns.
    """
    return {
        "left_child": _node_name(tree, node["left_child"]),
        "right_child": _node_name(tree, node["right_child"]),
        "split_feature": names[node["split_feature"]],
        "split_gain": node["split_gain"],
        "threshold": node["threshold"],
        "decision_type": node["decision_type"],
        "missing_direction": "left" if node["default_left"] else "right",
        "missing_type": node["missing_type"],
        "value": node["internal_value"],
        "weight": node["internal_weight"],
        "count": node["internal_count"],
    }
