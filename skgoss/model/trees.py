"""The arrays of trees, in LightGBM's conventions, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Values that are closer to 0 count as 0.
from skgoss._engine.binning.bin_bounds import ZERO_BOUND as ZERO_BOUND
from skgoss.model.category_sets import CategorySets
from skgoss.model.linear import LinearLeaves
from skgoss.utils.plain_values import INT32_MAX, check_lengths, check_start

NODE_TYPES: dict[str, type[np.generic]] = {
    "split_feature": np.int32,
    "threshold": np.float64,
    "decision_type": np.uint8,
    "left_child": np.int32,
    "right_child": np.int32,
    "split_gain": np.float64,
    "internal_value": np.float64,
    "internal_weight": np.float64,
    "internal_count": np.int64,
}
LEAF_TYPES: dict[str, type[np.generic]] = {
    "leaf_value": np.float64,
    "leaf_weight": np.float64,
    "leaf_count": np.int64,
}

# Bits of decision_type. The two from MISSING_SHIFT on tell which values are missing.
CATEGORICAL = 1
DEFAULT_LEFT = 2
MISSING_SHIFT = 2

# Which values are missing.
NOTHING, ZERO, NAN = 0, 1, 2

# Nodes and leaves of all trees together are numbered by int32.
MAX_LEAVES = 1 << 30

# Counts are smaller: files hold whole numbers of 18 digits.
MAX_COUNT = 10**18


def zero_is_missing(decision_type: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each node takes zeros for missing values: see `Tree.decision_type`."""
    is_numeric = decision_type & CATEGORICAL == 0
    return is_numeric & (decision_type >> MISSING_SHIFT == ZERO)


def nan_goes_left(
    decision_type: NDArray[np.uint8], threshold: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether NaN goes left in each node.

    Where no value counts as missing, NaN is compared with the threshold as 0. In
    categorical nodes, it goes right.
    """
    left = np.where(
        decision_type >> MISSING_SHIFT == NOTHING,
        threshold >= 0,
        decision_type & DEFAULT_LEFT != 0,
    )
    return left & (decision_type & CATEGORICAL == 0)


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree.

    The L - 1 inner nodes are in order of creation. Splitting leaf p makes the next
    node; its left child is leaf p, and its right child is the next new leaf.
    """

    split_feature: NDArray[np.int32]  # (L - 1,): input column
    # (L - 1,): values up to the threshold go left. In a categorical node, the threshold
    # is the number of a set in ``Ensemble.sets``: categories in the set go left, all
    # else goes right.
    threshold: NDArray[np.float64]
    # (L - 1,): bit 0: the node is categorical. Bit 1: missing values go left. Bits 2-3:
    # which values are missing (0: none, and NaN counts as zero; 1: NaN, and numbers up
    # to 1e-35 in magnitude; 2: NaN).
    decision_type: NDArray[np.uint8]
    # (L - 1,): a later node, or ``~leaf`` (negative).
    left_child: NDArray[np.int32]
    right_child: NDArray[np.int32]
    # (L - 1,): gain of the split; value and sum of hessians of the node before it was
    # split.
    split_gain: NDArray[np.float64]
    internal_value: NDArray[np.float64]
    internal_weight: NDArray[np.float64]
    internal_count: NDArray[np.int64]  # (L - 1,)
    # (L,): output, shrinkage included; sum of hessians.
    leaf_value: NDArray[np.float64]
    leaf_weight: NDArray[np.float64]
    leaf_count: NDArray[np.int64]  # (L,)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_value)


def zero_tree() -> Tree:
    """A tree of one leaf, whose value is 0."""
    nodes = {name: np.empty(0, dtype) for name, dtype in NODE_TYPES.items()}
    leaves = {name: np.zeros(1, dtype) for name, dtype in LEAF_TYPES.items()}
    return Tree(**nodes, **leaves)


# --- Checks ---------------------------------------------------------------------------


def check_trees(
    arrays: Mapping[str, NDArray[Any]],
    leaf_start: NDArray[np.int64],
    n_scores: int,
    n_features: int,
    sets: CategorySets,
    linear: LinearLeaves | None,
) -> None:
    """Check that arrays of the right dtypes make an ensemble; ValueError if not.

    Prediction uses the numbers of children, features, sets and coefficients as indices,
    unchecked. The check takes time linear in the number of nodes.
    """
    _check_sizes(arrays, leaf_start, n_scores, n_features)
    _check_children(arrays["left_child"], arrays["right_child"], leaf_start)
    _check_splits(arrays, n_features)
    _check_counts(arrays)
    _check_sets(arrays, sets)
    if linear is not None:
        _check_linear(linear, len(arrays["leaf_value"]), n_features)


def _check_sizes(
    arrays: Mapping[str, NDArray[Any]],
    leaf_start: NDArray[np.int64],
    n_scores: int,
    n_features: int,
) -> None:
    """Raise ValueError unless all arrays have the lengths of these trees.

    The leaves of tree t are those from ``leaf_start[t]`` to ``leaf_start[t + 1]``.
    """
    for name, number in (("n_scores", n_scores), ("n_features", n_features)):
        if not 1 <= number <= INT32_MAX:
            raise ValueError(f"{name} must be from 1 to {INT32_MAX}, got {number}")
    n_trees, n_leaves = len(leaf_start) - 1, len(arrays["leaf_value"])
    if n_trees % n_scores:
        raise ValueError(
            f"trees must come in rounds of n_scores={n_scores}, got {n_trees} trees"
        )
    if n_leaves > MAX_LEAVES:
        raise ValueError(
            f"trees must have at most {MAX_LEAVES} leaves in all, got {n_leaves}"
        )
    check_start(leaf_start, n_leaves, "leaf_start")
    if (leaf_start[1:] == leaf_start[:-1]).any():
        raise ValueError("every tree must have a leaf")
    sizes = dict.fromkeys(LEAF_TYPES, n_leaves)
    check_lengths(arrays, sizes | dict.fromkeys(NODE_TYPES, n_leaves - n_trees))


def _check_children(
    left: NDArray[np.int32], right: NDArray[np.int32], leaf_start: NDArray[np.int64]
) -> None:
    """Check that children come after their parents, and that each has one parent.

    Then every path from the root ends in a leaf, and there is one path to each leaf.
    ``left`` and ``right`` have the children of the nodes of all trees: the number of a
    node in the tree, or ``~leaf``. Below, all nodes and then all leaves are numbered.
    """
    n_leaves, first_leaf = np.diff(leaf_start), leaf_start[:-1]
    first_node = first_leaf - np.arange(len(n_leaves))
    tree = np.repeat(np.arange(len(n_leaves)), n_leaves - 1)
    node = np.arange(len(left)) - first_node[tree]
    child, leaves = np.stack([left, right]), n_leaves[tree]
    is_leaf = child < 0
    is_there = np.where(
        is_leaf, ~child < leaves, (child > node) & (child < leaves - 1)
    ).all(axis=0)
    if not is_there.all():
        wrong = int(is_there.argmin())
        raise ValueError(
            f"node {node[wrong]} of tree {tree[wrong]} has the children {left[wrong]}"
            f" and {right[wrong]}: a child must be a later node of the tree, or ~leaf"
            f" for one of its {leaves[wrong]} leaves"
        )
    first_leaf = len(left) + first_leaf
    number = np.where(is_leaf, first_leaf[tree] + ~child, first_node[tree] + child)
    n_parents = np.bincount(number.ravel(), minlength=len(left) + int(leaf_start[-1]))
    # Roots have no parent: this makes all numbers 1.
    n_parents[np.where(n_leaves > 1, first_node, first_leaf)] += 1
    if (n_parents != 1).any():
        wrong = int((n_parents != 1).argmax())
        is_node = wrong < len(left)
        kind, first = ("node", first_node) if is_node else ("leaf", first_leaf)
        owner = int(np.searchsorted(first, wrong, side="right")) - 1
        raise ValueError(
            f"{kind} {wrong - first[owner]} of tree {owner} must be the child of one"
            " node; the first node of a tree must be the child of none"
        )


def _check_splits(arrays: Mapping[str, NDArray[Any]], n_features: int) -> None:
    """Check the columns, thresholds and decision types of all nodes; or ValueError."""
    _check_features(arrays["split_feature"], n_features, "split_feature")
    if np.isnan(arrays["threshold"]).any():
        raise ValueError("threshold must not be NaN")
    decision, both = arrays["decision_type"], CATEGORICAL | DEFAULT_LEFT
    if ((decision >> MISSING_SHIFT > NAN) | (decision & both == both)).any():
        raise ValueError(
            "decision_type must have bit 0 (categorical) or bit 1 (default left), or"
            " neither, and bits 2-3 (missing: 0 none, 1 zero, 2 NaN)"
        )


def _check_counts(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check that the numbers of rows of nodes and leaves can be written to files."""
    for name in ("leaf_count", "internal_count"):
        counts = arrays[name]
        if counts.size and not -MAX_COUNT < counts.min() <= counts.max() < MAX_COUNT:
            raise ValueError(f"{name} must be below {MAX_COUNT} in magnitude")


def _check_features(feature: NDArray[np.int32], n_features: int, name: str) -> None:
    """Check that numbers of columns exist; ``name`` is that of the array in errors."""
    if feature.size and not 0 <= feature.min() <= feature.max() < n_features:
        raise ValueError(f"{name} must lie in 0..{n_features - 1}")


def _check_sets(arrays: Mapping[str, NDArray[Any]], sets: CategorySets) -> None:
    """Check that the threshold of each categorical node is the number of a set.

    ``arrays`` have the nodes, and ``sets`` the sets of all trees. ValueError otherwise.
    """
    check_start(sets.start, len(sets.words), "start of the sets")
    number = arrays["threshold"][arrays["decision_type"] & CATEGORICAL != 0]
    n_sets = len(sets.start) - 1
    if number.size and not (
        0 <= number.min() <= number.max() < n_sets
        and (number == np.floor(number)).all()
    ):
        raise ValueError(
            "threshold of categorical nodes must be the number of a set, and there are"
            f" {n_sets} sets"
        )


def _check_linear(linear: LinearLeaves, n_leaves: int, n_features: int) -> None:
    """Check the sizes, columns and bounds of the linear models of all leaves."""
    n_coefficients = len(linear.coefficient)
    sizes = dict.fromkeys(("constant", "lower", "upper"), n_leaves)
    sizes |= {"start": n_leaves + 1}
    sizes |= dict.fromkeys(("feature", "mean"), n_coefficients)
    check_lengths(linear._asdict(), sizes)
    check_start(linear.start, n_coefficients, "start of the linear leaves")
    _check_features(linear.feature, n_features, "feature of the linear leaves")
    if (linear.lower > linear.upper).any():
        raise ValueError("lower of the linear leaves must not be above upper")
