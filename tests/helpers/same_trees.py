"""Comparisons of trees: with each other, and with the reference implementation."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from helpers.reference import Node, ReferenceGrower, Split
from skgoss.model.ensemble import Tree

STRUCTURE = (
    "split_feature",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
    "internal_count",
    "leaf_count",
)


def assert_same_tree(tree: Tree, expected: Tree, rtol: float) -> None:
    """Every split, direction and count is the same, and values but for rounding."""
    for field in fields(Tree):
        one, other = getattr(tree, field.name), getattr(expected, field.name)
        if field.name in STRUCTURE:
            np.testing.assert_array_equal(one, other, err_msg=field.name)
        else:
            np.testing.assert_allclose(
                one, other, rtol=rtol, atol=rtol * 1e-3, err_msg=field.name
            )


# --- Trees of rounded gradients -------------------------------------------------------


def replay(grower: ReferenceGrower, tree: Tree, slack: float) -> list[Node]:
    """Repeat the splits of a tree of the engine, each of which must be a best one.

    The engine rounds gradients to integers. Among splits whose gains differ by less
    than the rounding it may choose any. So the exact gain of each chosen split must be
    that of the best one but for the fraction ``slack``. If the tree ended early, no
    leaf may gain more than ``slack`` of the first split.

    Returns
    -------
    list of Node
        The leaves.
    """
    leaves = [grower.search(grower.root())]
    least = slack * (leaves[0].best.gain if leaves[0].best else 0.0)
    leaf_of_place = {}
    for i in range(len(tree.split_feature)):
        p = leaf_of_place.pop(i, 0)
        split = split_of(grower, tree, i)
        gain = gain_of(grower, leaves[p], split)
        best = max((leaf.best.gain for leaf in leaves if leaf.best), default=0.0)
        assert gain >= best * (1 - slack) - least, (i, gain, best)
        left, right = grower.children(leaves[p], split)
        leaves[p] = grower.search(left)
        leaves.append(grower.search(right))
        for child, leaf in ((tree.left_child[i], p), (tree.right_child[i], i + 1)):
            assert child > i or child == ~leaf
            leaf_of_place[child] = leaf
    if len(leaves) < grower.max_leaves:
        assert all(leaf.best.gain <= least for leaf in leaves if leaf.best)
    return leaves


def split_of(grower: ReferenceGrower, tree: Tree, i: int) -> Split:
    """The split of a node of a tree, in bins."""
    data = grower.data
    feature = int(np.searchsorted(data.feature, tree.split_feature[i]))
    bins = np.flatnonzero(data.upper_bounds[feature] == tree.threshold[i])
    assert len(bins) == 1
    missing_left = bool(tree.decision_type[i] & 2)
    return Split(0.0, feature, int(bins[0]), missing_left)


def gain_of(grower: ReferenceGrower, node: Node, split: Split) -> float:
    """The gain of a split of this node; it must be allowed."""
    rows = node.rows[grower.goes_left(node, split)]
    left = (grower.gradient[rows].sum(), grower.hessian[rows].sum(), len(rows))
    assert grower.allowed(node, left), split
    return float(grower.gain_above(node, left)) + grower.settings.min_split_gain


def assert_values(tree: Tree, leaves: list[Node], grower: ReferenceGrower) -> None:
    """Leaf values are those of float64 sums, but for the rounding of the sums.

    Every addend of a leaf's sums is rounded to a multiple of ``2**-49`` of the largest.
    """
    grain_g, grain_h = (
        np.abs(x).max() * 2.0**-49 for x in (grower.gradient, grower.hessian)
    )
    for i, leaf in enumerate(leaves):
        assert tree.leaf_count[i] == leaf.count
        np.testing.assert_allclose(
            tree.leaf_weight[i], leaf.hessian, rtol=1e-9, atol=leaf.count * grain_h
        )
        value = grower.step(leaf.output)
        slip = leaf.count * (grain_g + abs(leaf.output) * grain_h)
        slip /= leaf.hessian + grower.settings.reg_lambda
        assert abs(tree.leaf_value[i] - value) <= 1e-9 * abs(value) + slip + 1e-12
