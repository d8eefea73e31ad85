"""The algorithm in plain NumPy: the reference implementation, which the engine matches.

It follows the rules of docs/design.md, one leaf and one feature at a time, with sums
over the rows themselves: no histogram subtraction, no integers, no threads, no
shortcuts. Read it from top to bottom:

1. Rounds: the gradients and hessians of the loss at the current scores grow a tree for
   each score, whose leaf values are added to the scores.
2. Growth: the leaf whose best split has the largest gain is split, again and again.
3. Nodes: a node has rows, and the sums of their gradients and hessians. A split sends
   its rows to the left and to the right child.
4. Leaf values: a Newton step from these sums, with penalties and limits.
5. Gains: by how much the two children lower the loss more than their node as a leaf.
6. Allowed splits: both children need enough rows, and enough curvature.
7. Histograms: all that the splits of a feature depend on are sums by bin.
8. Numbers: the best cut of a numerical feature, with missing values on either side.
9. Categories: the best set of categories of a categorical feature. Tests call this
   step alone; trees are grown on numerical features.
10. The tree, in LightGBM's numbering of nodes and leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from helpers.fits import Fit
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.model.ensemble import Tree

# It is added to hessians, so that no sum of them is 0.
EPSILON = 1e-15
# The relative rounding error of a gain: smaller gains do not count.
NOISE = 1e-12


@dataclass
class Split:
    """A split of a node; ``gain`` includes `min_split_gain`."""

    gain: float
    feature: int
    bin: int
    missing_left: bool


@dataclass
class Node:
    """A leaf that may be split: its rows, their sums, and its value."""

    rows: np.ndarray
    gradient: float
    hessian: float
    output: float
    depth: int
    parent_output: float
    splittable: set[int]  # the features that may still split it
    best: Split | None = None

    @property
    def count(self) -> int:
        return len(self.rows)


# --- 1. Rounds ------------------------------------------------------------------------


def rounds_of(
    fitted: Fit, weight: np.ndarray | None
) -> Iterator[tuple[Tree, np.ndarray, np.ndarray]]:
    """Each tree of a fit with the gradients and hessians that it was grown on."""
    k, n = fitted.objective.n_scores, fitted.data.n_rows
    leaves = fitted.leaves().T
    start = fitted.objective.start
    scores = np.repeat(start[:, None], n, axis=1)
    gradient, hessian = np.ones((2, k, n), dtype=np.float32)
    weight = np.ones(n) if weight is None else weight
    for i, tree in enumerate(fitted.ensemble.trees):
        if i % k == 0:
            fitted.objective.gradients(scores, gradient, hessian, 1)
            if fitted.objective.constant_hessian:
                hessian[:] = 1.0
            now = gradient * weight, hessian * weight
        # The trees of the first round include the start scores.
        bias = start[i % k] if i < k else 0.0
        if bias:
            tree = replace(
                tree,
                leaf_value=tree.leaf_value - bias,
                internal_value=tree.internal_value - bias,
            )
        yield tree, now[0][i % k], now[1][i % k]
        scores[i % k] += tree.leaf_value[leaves[i]]


def grower_of(
    fitted: Fit,
    gradient: np.ndarray,
    hessian: np.ndarray,
    rows: np.ndarray | None = None,
    *,
    weight: np.ndarray | None = None,
) -> ReferenceGrower:
    """The grower of one tree of a fit; ``weight`` is part of both derivatives."""
    plain = hessian / (1.0 if weight is None else weight)
    plain = plain if rows is None else plain[rows]
    return ReferenceGrower(
        fitted.data,
        fitted.settings,
        gradient,
        hessian,
        rows,
        varied=plain.max() > plain.min() * (1 + 1e-9),
        self_concordance=fitted.objective.self_concordance,
    )


# --- Two formulas ---------------------------------------------------------------------


def shrunk(gradient: Any, l1: float) -> Any:
    """T(G): the gradient moved toward zero by l1."""
    if l1 == 0:
        return gradient
    return np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)


def log1p_from_below(x: float) -> float:
    """A lower bound of log(1 + x) for x >= 0, which is close and never falls."""
    if x <= 2.0**-10:
        return x * (1 - 2.0**-11)
    half, exponent = np.frexp(1 + x)
    m = 2 * half
    return (exponent - 1) * np.log(2) + max(2 - 4 / (m + 1), 0.69314718 * (m - 1))


class ReferenceGrower:
    """Grows one tree.

    Parameters
    ----------
    data : BinnedDataset
    settings : object
        The options of the engine.
    gradient, hessian : (n,) float64
        Weights included.
    rows : (m,) int, default=None
        The sampled rows; None: all rows.
    varied : bool, default=True
        Whether hessians, apart from weights, differ from row to row.
    self_concordance : float, default=0.0
        Of the loss: it limits steps. 0: they are not limited.
    """

    def __init__(
        self,
        data,
        settings,
        gradient,
        hessian,
        rows=None,
        *,
        varied=True,
        self_concordance=0.0,
    ) -> None:
        self.data: BinnedDataset = data
        self.settings = settings
        self.gradient = np.asarray(gradient, dtype=np.float64)
        self.hessian = np.asarray(hessian, dtype=np.float64)
        self.rows = np.arange(data.n_rows) if rows is None else rows
        self.min_count = max(settings.min_child_samples, 1)
        self.varied, self.self_concordance = varied, self_concordance

    # --- 2. Growth

    def grow(self) -> Tree:
        """Split the leaf with the largest gain until no split has any."""
        leaves = [self.search(self.root())]
        record = Record(self)
        while len(leaves) < self.max_leaves:
            open_ = [i for i, leaf in enumerate(leaves) if leaf.best]
            if not open_:
                break
            p = min(
                open_, key=lambda i: (-leaves[i].best.gain, leaves[i].best.feature, i)
            )
            left, right = self.children(leaves[p], leaves[p].best)
            record.add(p, leaves[p], self.missing_left(leaves[p], left, right))
            leaves[p] = self.search(left)
            leaves.append(self.search(right))
        return record.tree(leaves)

    @property
    def max_leaves(self) -> int:
        return min(self.settings.num_leaves, self.data.n_rows // self.min_count)

    def search(self, node: Node) -> Node:
        """Store the node's best split: of equal ones, that of the first feature."""
        if self.may_split(node):
            for feature in sorted(node.splittable):
                split = self.search_feature(node, feature)
                if split is None:
                    node.splittable.remove(feature)
                elif node.best is None or split.gain > node.best.gain:
                    node.best = split
        return node

    def may_split(self, node: Node) -> bool:
        s = self.settings
        return s.max_depth <= 0 or node.depth < s.max_depth

    # --- 3. Nodes

    def node(self, rows, depth, parent_output, splittable) -> Node:
        gradient, hessian = self.gradient[rows].sum(), self.hessian[rows].sum()
        output = self.output(gradient, hessian, len(rows), parent_output)
        return Node(
            rows, gradient, hessian, output, depth, parent_output, set(splittable)
        )

    def root(self) -> Node:
        """All rows. The value is not smoothed, as no node is above it."""
        root = self.node(self.rows, 0, 0.0, range(len(self.data.feature)))
        root.output = self.unsmoothed(root.gradient, root.hessian)
        return root

    def goes_left(self, node: Node, split: Split) -> np.ndarray:
        bins = self.data.bins(split.feature)[node.rows]
        missing = bins == self.data.missing_bin[split.feature]
        return np.where(missing, split.missing_left, bins <= split.bin)

    def children(self, node: Node, split: Split) -> tuple[Node, Node]:
        left = self.goes_left(node, split)
        return tuple(
            self.node(node.rows[side], node.depth + 1, node.output, node.splittable)
            for side in (left, ~left)
        )

    def missing_left(self, node: Node, left: Node, right: Node) -> bool:
        """Where missing values go: to the larger child if the node has none."""
        feature = node.best.feature
        bins = self.data.bins(feature)[node.rows]
        if (bins == self.data.missing_bin[feature]).any():
            return node.best.missing_left
        if self.data.missing_type[feature] == 0:
            return True
        if left.hessian != right.hessian:
            return left.hessian > right.hessian
        return abs(left.gradient) <= abs(right.gradient)

    # --- 4. Leaf values

    def unsmoothed(self, gradient, hessian):
        """The value of a leaf as if there were no node above it."""
        s = self.settings
        w = -shrunk(gradient, s.reg_alpha) / (hessian + EPSILON + s.reg_lambda)
        limit = s.max_delta_step or np.inf
        return np.clip(w, -limit, limit)

    def output(self, gradient, hessian, count, parent_output):
        """The value of a leaf, without the learning rate."""
        w = self.unsmoothed(gradient, hessian)
        if self.settings.path_smooth > 0:
            share = count / self.settings.path_smooth
            w = w * (share / (share + 1)) + parent_output / (share + 1)
        return w

    def step(self, output):
        """What a leaf of this value adds to the scores."""
        step, c = self.settings.learning_rate * output, self.self_concordance
        if c == 0:
            return step
        most = log1p_from_below(c * abs(output)) / c
        return step if abs(step) <= most else np.copysign(most, output)

    # --- 5. Gains

    def gain(self, gradient, hessian, output):
        """By how much a leaf with this value lowers the loss, times two."""
        s = self.settings
        return -(
            2 * shrunk(gradient, s.reg_alpha) * output
            + (hessian + EPSILON + s.reg_lambda) * output * output
        )

    def gain_of_two(self, left, right, parent_output):
        """The gain of two leaves, each (gradient, hessian, count)."""
        s = self.settings
        if s.max_delta_step > 0 or s.path_smooth > 0:
            return sum(
                self.gain(g, h, self.output(g, h, n, parent_output))
                for g, h, n in (left, right)
            )
        (tl, dl), (tr, dr) = (
            (shrunk(g, s.reg_alpha), h + s.reg_lambda + EPSILON)
            for g, h, _ in (left, right)
        )
        # T**2 / D of both as one fraction: what is equal stays equal when rounded.
        return (tl * tl * dr + tr * tr * dl) / (dl * dr)

    def gain_above(self, node: Node, left):
        """The gain of a left child of (gradient, hessian, count), and of the rest."""
        g, h, n = left
        right = (node.gradient - g, node.hessian - h, node.count - n)
        with np.errstate(all="ignore"):
            gain = self.gain_of_two(left, right, node.output)
        own = self.gain(node.gradient, node.hessian, node.output)
        return gain - (own + self.settings.min_split_gain)

    def noise(self, node: Node) -> float:
        """The rounding error of the gain of a split."""
        return NOISE * abs(self.gain(node.gradient, node.hessian, node.output))

    def improvement(self, node: Node, left):
        """Gain above the node and `min_split_gain`; -1 where a split is not allowed."""
        gain = self.gain_above(node, left)
        allowed = self.allowed(node, left) & (gain > self.noise(node))
        return np.where(allowed, gain, -1.0)

    # --- 6. Allowed splits

    def allowed(self, node: Node, left):
        """Whether both children are large enough."""
        return self.large_enough(node, *left[1:]) & self.large_enough(
            node, node.hessian - left[1], node.count - left[2]
        )

    def large_enough(self, node: Node, hessian, count):
        own = (node.gradient, node.hessian, node.count)
        least = self.least_hessian(self.min_count, own)
        convex = hessian + self.settings.reg_lambda > -EPSILON
        return (count >= self.min_count) & (hessian >= least) & convex

    def least_hessian(self, rows: float, node: Any) -> float:
        """The least hessian of a child that must have a number of rows.

        node: (gradient, hessian, count).
        """
        return max(self.curvature(rows, node), self.settings.min_child_weight)

    def curvature(self, rows: float, node: Any) -> float:
        """The hessian of ``rows`` - 1/2 average rows of a node; 0: no limit."""
        if rows <= 1 or not self.varied:
            return 0.0
        return (rows - 0.5) * (node[1] / node[2])

    # --- 7. Histograms

    def histogram(self, node: Node, feature: int) -> np.ndarray:
        """Gradients, hessians and counts by bin, (3, n_bins)."""
        bins = self.data.bins(feature)[node.rows]
        size = self.data.n_bins[feature]
        return np.array(
            [
                np.bincount(bins, self.gradient[node.rows], minlength=size),
                np.bincount(bins, self.hessian[node.rows], minlength=size),
                np.bincount(bins, minlength=size),
            ]
        )

    # --- 8. Numbers

    def search_feature(self, node: Node, feature: int) -> Split | None:
        """The best cut: missing left before right, there the larger bin of equals."""
        best = None
        for missing_left, gains in self.candidates(node, feature):
            top = gains.max(initial=-1.0)
            gain = top + self.settings.min_split_gain
            if top <= 0 or (best is not None and gain <= best.gain):
                continue
            equal = np.flatnonzero(gains == top)
            bin = int(equal[-1] if missing_left else equal[0])
            best = Split(float(gain), feature, bin, missing_left)
        return best

    def candidates(self, node: Node, feature: int):
        """Improvements of all cuts by bin, with missing values left, then right."""
        histogram = self.histogram(node, feature)
        missing_bin = self.data.missing_bin[feature]
        missing = np.zeros(3)
        if missing_bin >= 0:
            missing = histogram[:, missing_bin].copy()
            histogram[:, missing_bin] = 0
        below = histogram.cumsum(axis=1)[:, :-1]
        yield True, self.improvement(node, below + missing[:, None])
        if missing[2] > 0:
            yield False, self.improvement(node, below)

    # --- 9. Categories

    def search_categories(self, node: Node, histogram: np.ndarray):
        """The best split of a categorical feature: (gain, the bins that go left).

        Of equal gains, that of the first set that is tried; (0.0, None) if there is
        none. Bin 0 never goes left.
        """
        own = self.gain(node.gradient, node.hessian, node.output)
        needed = own + self.settings.min_split_gain
        of_children = self.with_cat_l2(histogram)
        best, chosen = 0.0, None
        for bins in self.category_sets(histogram):
            left = histogram[:, bins].sum(axis=1)
            right = (node.gradient, node.hessian, node.count) - left
            if not self.allowed(node, left):
                continue
            gain = of_children.gain_of_two(left, right, node.output) - needed
            if gain <= self.noise(node):
                continue
            if gain + self.settings.min_split_gain > best:
                best, chosen = gain + self.settings.min_split_gain, bins
        return best, chosen

    def category_sets(self, histogram: np.ndarray) -> Iterator[np.ndarray]:
        """The sets of categories that may go left, in the order of LightGBM.

        Few categories are tried alone. Of many, those with enough rows are ranked by
        their gradients and hessians, and the sets are the first and the last ones.
        """
        gradient, hessian, count = histogram
        s, bins = self.settings, np.arange(1, len(count))
        if self.one_against_rest(histogram):
            yield from bins[:, None]
            return
        enough = hessian >= self.curvature(s.cat_smooth, histogram.sum(axis=1))
        bins = bins[(count[bins] >= s.cat_smooth) & (count[bins] > 0) & enough[bins]]
        with np.errstate(all="ignore"):
            rank = gradient[bins] / (hessian[bins] + s.cat_smooth)
        ranked = bins[np.argsort(np.where(gradient[bins] == 0, 0, rank), kind="stable")]
        most = min(s.max_cat_threshold, (len(ranked) + 1) // 2)
        for end in (ranked, ranked[::-1]):
            yield from self.grouped_sets(end[:most], histogram)

    def one_against_rest(self, histogram: np.ndarray) -> bool:
        return histogram.shape[1] <= self.settings.max_cat_to_onehot

    def grouped_sets(
        self, end: np.ndarray, histogram: np.ndarray
    ) -> Iterator[np.ndarray]:
        """The first categories of ``end``, where both sides have enough rows.

        A set has `min_data_per_group` rows more than the one before.
        """
        s, total = self.settings, histogram.sum(axis=1)
        least_right = max(self.min_count, s.min_data_per_group)
        tried = 0
        for n in range(1, len(end) + 1):
            left = histogram[:, end[:n]].sum(axis=1)
            right = total - left
            if left[2] < self.min_count:
                continue
            if left[1] < self.least_hessian(self.min_count, total):
                continue
            limit = self.least_hessian(least_right, total)
            if right[2] < least_right or right[1] < limit:
                break
            if left[2] - tried >= s.min_data_per_group:
                tried = left[2]
                yield end[:n]

    def with_cat_l2(self, histogram: np.ndarray) -> ReferenceGrower:
        """The grower with the penalty of children: with `cat_l2`, unless one-hot."""
        other, s = copy(self), self.settings
        if not self.one_against_rest(histogram):
            other.settings = replace(s, reg_lambda=s.reg_lambda + s.cat_l2)
        return other


# --- 10. The tree ---------------------------------------------------------------------


class Record:
    """The tree so far: nodes have the order of their splits.

    The left child of a leaf that is split keeps its number, and the right child is the
    next leaf.
    """

    def __init__(self, grower: ReferenceGrower) -> None:
        self.grower = grower
        self.nodes: list[tuple] = []
        self.children: list[list[int]] = []
        self.place: dict[int, tuple[int, int]] = {}

    def add(self, p: int, leaf: Node, missing_left: bool) -> None:
        """Leaf ``p`` becomes the next inner node."""
        data, split = self.grower.data, leaf.best
        index = len(self.nodes)
        if p in self.place:
            node, side = self.place[p]
            self.children[node][side] = index
        self.children.append([~p, ~(index + 1)])
        self.place[p] = (index, 0)
        self.place[index + 1] = (index, 1)
        self.nodes.append(
            (
                data.feature[split.feature],
                data.upper_bounds[split.feature][split.bin],
                2 * missing_left + 4 * int(data.missing_type[split.feature]),
                split.gain,
                self.grower.step(leaf.output),
                leaf.hessian,
                leaf.count,
            )
        )

    def tree(self, leaves: list[Node]) -> Tree:
        names = (
            "split_feature threshold decision_type split_gain internal_value"
            " internal_weight internal_count"
        )
        columns = zip(*self.nodes, strict=True) if self.nodes else [()] * 7
        by_name = dict(zip(names.split(), map(np.array, columns), strict=True))
        sides = np.array(self.children, dtype=int).reshape(-1, 2).T
        alone = len(leaves) == 1
        return Tree(
            **by_name,
            left_child=sides[0],
            right_child=sides[1],
            leaf_value=np.array(
                [0.0 if alone else self.grower.step(x.output) for x in leaves]
            ),
            leaf_weight=np.array([leaf.hessian for leaf in leaves]),
            leaf_count=np.array([leaf.count for leaf in leaves]),
        )
