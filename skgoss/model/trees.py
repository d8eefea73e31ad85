"""The arrays of trees, in LightGBM's conventions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NODE_TYPES = {
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
LEAF_TYPES = {
    "leaf_value": np.float64,
    "leaf_weight": np.float64,
    "leaf_count": np.int64,
}
SET_TYPES = {"start": np.int64, "words": np.uint32}

# Bits of decision_type. The two from MISSING_SHIFT on tell which values are missing.
CATEGORICAL = 1
DEFAULT_LEFT = 2
MISSING_SHIFT = 2

# Which values are missing.
NOTHING, ZERO = 0, 1


def zero_is_missing(decision_type: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether nodes take zeros for missing values."""
    is_numeric = decision_type & CATEGORICAL == 0
    return is_numeric & (decision_type >> MISSING_SHIFT == ZERO)


def nan_goes_left(
    decision_type: NDArray[np.uint8], threshold: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether NaN goes left in nodes; it counts as zero where nothing is missing."""
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

    Attributes
    ----------
    split_feature : (L - 1,) int32
        Input column.
    threshold : (L - 1,) float64
        Values up to the threshold go left. In a categorical node, the threshold is the
        number of a set in ``Ensemble.sets``: categories in the set go left, all else
        goes right.
    decision_type : (L - 1,) uint8
        Bit 0: the node is categorical. Bit 1: missing values go left. Bits 2-3: which
        values are missing (0: none, and NaN counts as zero; 1: NaN, and numbers up to
        1e-35 in magnitude; 2: NaN).
    left_child, right_child : (L - 1,) int32
        A later node, or ``~leaf`` (negative).
    split_gain, internal_value, internal_weight : (L - 1,) float64
        Gain of the split; value and sum of hessians of the node before it was split.
    internal_count : (L - 1,) int64
    leaf_value, leaf_weight : (L,) float64
        Output, shrinkage included; sum of hessians.
    leaf_count : (L,) int64
    """

    split_feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    decision_type: NDArray[np.uint8]
    left_child: NDArray[np.int32]
    right_child: NDArray[np.int32]
    split_gain: NDArray[np.float64]
    internal_value: NDArray[np.float64]
    internal_weight: NDArray[np.float64]
    internal_count: NDArray[np.int64]
    leaf_value: NDArray[np.float64]
    leaf_weight: NDArray[np.float64]
    leaf_count: NDArray[np.int64]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_value)


def zero_tree() -> Tree:
    """A tree of one leaf, whose value is 0."""
    nodes = {name: np.empty(0, dtype) for name, dtype in NODE_TYPES.items()}
    leaves = {name: np.zeros(1, dtype) for name, dtype in LEAF_TYPES.items()}
    return Tree(**nodes, **leaves)


class CategorySets(NamedTuple):
    """Sets of categories, as strings of bits.

    Attributes
    ----------
    start : (n_sets + 1,) int64
        Where the words of each set begin.
    words : (start[-1],) uint32
        Category c is in the set when bit c % 32 of its word c // 32 is set.
    """

    start: NDArray[np.int64]
    words: NDArray[np.uint32]


NO_SETS = CategorySets(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint32))
