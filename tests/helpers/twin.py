"""A naive twin of the engine: leaf-wise trees in plain NumPy.

It does what docs/design.md and the comments of ``gains.h`` and ``split.h`` in
``_engine/training`` say, one leaf and one feature at a time, from sums over the rows
themselves: no subtraction of histograms, no integers, no threads, no shortcuts. Below
it: how tests train without an estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from helpers.reading import columns as read_columns
from skgoss import LGBMRegressor, parameters
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.columns.columns import Columns
from skgoss.model.ensemble import Ensemble, Tree
from skgoss.objectives.training_objective import Objective, make_objective
from skgoss.training import boosting, loop

EPSILON = 1e-15
NOISE = 1e-12
STRUCTURE = (
    "split_feature",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
    "internal_count",
    "leaf_count",
)


def log1p_from_below(x: float) -> float:
    """A bound of log(1 + x), x >= 0, by one of log m between two powers of two."""
    if x <= 2.0**-10:
        return x * (1 - 2.0**-11)
    half, exponent = np.frexp(1 + x)
    m = 2 * half
    return (exponent - 1) * np.log(2) + max(2 - 4 / (m + 1), 0.69314718 * (m - 1))


def shrunk(gradient: Any, l1: float) -> Any:
    """T(G): the gradient moved toward zero by l1."""
    if l1 == 0:
        return gradient
    return np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)


@dataclass
class Split:
    """A split of a node; ``gain`` is what it gains above the node as a leaf."""

    gain: float
    feature: int
    bin: int
    missing_left: bool


def curvature(rows: float, node: Any, varied: bool) -> float:
    """The hessian that so many rows must have; node: (gradient, hessian, count)."""
    if rows <= 1 or not varied:
        return 0.0
    return (rows - 0.5) * (node[1] / node[2])


def least_hessian(rows: float, node: Any, settings: Any, varied: bool) -> float:
    """What a child must have of which so many rows are asked."""
    return max(curvature(rows, node, varied), settings.min_child_weight)


def category_sets(
    histogram: np.ndarray, settings: Any, varied: bool = True
) -> Iterator[np.ndarray]:
    """The sets of categories that LightGBM's rules allow to go left, as they are tried.

    Parameters
    ----------
    histogram : (3, n_bins) float64
        Gradients, hessians and counts; bin 0 never goes left.
    settings : object
        The options of the engine.
    varied : bool, default=True
        Whether hessians differ from row to row.
    """
    gradient, hessian, count = histogram
    bins = np.arange(1, len(count))
    if one_against_rest(histogram, settings):
        yield from bins[:, None]
        return
    enough = hessian >= curvature(settings.cat_smooth, histogram.sum(axis=1), varied)
    bins = bins[(count[bins] >= settings.cat_smooth) & (count[bins] > 0) & enough[bins]]
    with np.errstate(all="ignore"):
        rank = gradient[bins] / (hessian[bins] + settings.cat_smooth)
    ranked = bins[np.argsort(np.where(gradient[bins] == 0, 0, rank), kind="stable")]
    most = min(settings.max_cat_threshold, (len(ranked) + 1) // 2)
    for end in (ranked, ranked[::-1]):
        yield from grouped_sets(end[:most], histogram, settings, varied)


def one_against_rest(histogram: np.ndarray, settings: Any) -> bool:
    return histogram.shape[1] <= settings.max_cat_to_onehot


def grouped_sets(
    end: np.ndarray, histogram: np.ndarray, s: Any, varied: bool
) -> Iterator[np.ndarray]:
    """The first categories of ``end``, so many that both sides have enough rows."""
    total = histogram.sum(axis=1)
    least = max(s.min_child_samples, 1)
    least_right = max(least, s.min_data_per_group)
    tried = 0
    for n in range(1, len(end) + 1):
        left = histogram[:, end[:n]].sum(axis=1)
        right = total - left
        if left[2] < least or left[1] < least_hessian(least, total, s, varied):
            continue
        limit = least_hessian(least_right, total, s, varied)
        if right[2] < least_right or right[1] < limit:
            break
        if left[2] - tried >= s.min_data_per_group:
            tried = left[2]
            yield end[:n]


@dataclass
class Node:
    """A node that is still a leaf: its rows, sums and value."""

    rows: np.ndarray
    gradient: float
    hessian: float
    output: float
    depth: int
    parent_output: float
    splittable: set[int]
    best: Split | None = None

    @property
    def count(self) -> int:
        return len(self.rows)


class Twin:
    """Grows one tree.

    Parameters
    ----------
    data : BinnedDataset
    settings : object
        The options of the engine.
    gradient, hessian : (n,) float64
        Weights included.
    rows : (m,) int, default=None
        The bag; None for all rows.
    varied : bool, default=True
        Whether hessians, apart from weights, differ from row to row.
    self_concordance : float, default=0.0
        Of the loss.
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

    # --- Values and gains

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

    def gain(self, gradient, hessian, output):
        """What a leaf with this value takes off the loss, times two."""
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

    def node(self, rows, depth, parent_output, splittable) -> Node:
        gradient, hessian = self.gradient[rows].sum(), self.hessian[rows].sum()
        output = self.output(gradient, hessian, len(rows), parent_output)
        return Node(
            rows, gradient, hessian, output, depth, parent_output, set(splittable)
        )

    def root(self) -> Node:
        """All rows; with nothing above it the value is not smoothed."""
        root = self.node(self.rows, 0, 0.0, range(len(self.data.feature)))
        root.output = self.unsmoothed(root.gradient, root.hessian)
        return root

    # --- Splits

    def gain_above(self, node: Node, left):
        """What the node gains by a left child of (gradient, hessian, count)."""
        g, h, n = left
        right = (node.gradient - g, node.hessian - h, node.count - n)
        with np.errstate(all="ignore"):
            gain = self.gain_of_two(left, right, node.output)
        own = self.gain(node.gradient, node.hessian, node.output)
        return gain - (own + self.settings.min_split_gain)

    def allowed(self, node: Node, left):
        """Whether both children are large enough."""
        return self.large_enough(node, *left[1:]) & self.large_enough(
            node, node.hessian - left[1], node.count - left[2]
        )

    def large_enough(self, node: Node, hessian, count):
        s = self.settings
        own = (node.gradient, node.hessian, node.count)
        least = least_hessian(self.min_count, own, s, self.varied)
        convex = hessian + s.reg_lambda > -EPSILON
        return (count >= self.min_count) & (hessian >= least) & convex

    def noise(self, node: Node) -> float:
        """What rounding may leave of no gain."""
        return NOISE * abs(self.gain(node.gradient, node.hessian, node.output))

    def improvement(self, node: Node, left):
        """Gain above the node and `min_split_gain`; -1 where a split is not allowed."""
        gain = self.gain_above(node, left)
        allowed = self.allowed(node, left) & (gain > self.noise(node))
        return np.where(allowed, gain, -1.0)

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

    def candidates(self, node: Node, feature: int):
        """Improvements of all cuts, missing values left and right; by bin."""
        histogram = self.histogram(node, feature)
        missing_bin = self.data.missing_bin[feature]
        missing = np.zeros(3)
        if missing_bin >= 0:
            missing = histogram[:, missing_bin].copy()
            histogram[:, missing_bin] = 0
        below = histogram.cumsum(axis=1)[:, :-1]
        yield True, self.improvement(node, below + missing[:, None])
        if missing[2] > 0:
            right = self.improvement(node, below)
            yield False, right

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

    def with_cat_l2(self, histogram: np.ndarray) -> Twin:
        """The twin whose outputs are those of children split by this histogram."""
        twin, s = copy(self), self.settings
        if not one_against_rest(histogram, s):
            twin.settings = replace(s, reg_lambda=s.reg_lambda + s.cat_l2)
        return twin

    def search_categories(self, node: Node, histogram: np.ndarray):
        """The best split of a categorical feature: (gain, the bins that go left).

        Of equal gains the first that is tried; (0.0, None) if none gains anything.
        """
        own = self.gain(node.gradient, node.hessian, node.output)
        needed = own + self.settings.min_split_gain
        child_twin = self.with_cat_l2(histogram)
        best, chosen = 0.0, None
        for bins in category_sets(histogram, self.settings, self.varied):
            left = histogram[:, bins].sum(axis=1)
            right = (node.gradient, node.hessian, node.count) - left
            if not self.allowed(node, left):
                continue
            gain = child_twin.gain_of_two(left, right, node.output) - needed
            if gain <= self.noise(node):
                continue
            if gain + self.settings.min_split_gain > best:
                best, chosen = gain + self.settings.min_split_gain, bins
        return best, chosen

    def may_split(self, node: Node) -> bool:
        s = self.settings
        return s.max_depth <= 0 or node.depth < s.max_depth

    def search(self, node: Node) -> Node:
        """Store the node's best split: of equals, that of the first feature."""
        if self.may_split(node):
            for feature in sorted(node.splittable):
                split = self.search_feature(node, feature)
                if split is None:
                    node.splittable.remove(feature)
                elif node.best is None or split.gain > node.best.gain:
                    node.best = split
        return node

    def goes_left(self, node: Node, split: Split) -> np.ndarray:
        bins = self.data.bins(split.feature)[node.rows]
        missing = bins == self.data.missing_bin[split.feature]
        return np.where(missing, split.missing_left, bins <= split.bin)

    def missing_left(self, node: Node, left: Node, right: Node) -> bool:
        """Where missing values go: with the larger child if the node has none."""
        feature = node.best.feature
        bins = self.data.bins(feature)[node.rows]
        if (bins == self.data.missing_bin[feature]).any():
            return node.best.missing_left
        if self.data.missing_type[feature] == 0:
            return True
        if left.hessian != right.hessian:
            return left.hessian > right.hessian
        return abs(left.gradient) <= abs(right.gradient)

    def children(self, node: Node, split: Split) -> tuple[Node, Node]:
        left = self.goes_left(node, split)
        return tuple(
            self.node(node.rows[side], node.depth + 1, node.output, node.splittable)
            for side in (left, ~left)
        )

    # --- Trees

    def replay(self, tree: Tree, slack: float) -> list[Node]:
        """Grow the tree that was grown, and check that each step was a best one.

        For gradients that the engine's integers round: among splits whose gains differ
        by less than the rounding any may be chosen. So the gain of each chosen split,
        in exact terms, must be that of the best one but for the fraction ``slack``. If
        the tree ended early no leaf may gain more than ``slack`` of the first split.

        Returns
        -------
        list of Node
            The leaves.
        """
        leaves = [self.search(self.root())]
        least = slack * (leaves[0].best.gain if leaves[0].best else 0.0)
        leaf_of_place = {}
        for i in range(len(tree.split_feature)):
            p = leaf_of_place.pop(i, 0)
            split = self.as_split(tree, i)
            gain = self.gain_of(leaves[p], split)
            best = max((leaf.best.gain for leaf in leaves if leaf.best), default=0.0)
            assert gain >= best * (1 - slack) - least, (i, gain, best)
            left, right = self.children(leaves[p], split)
            leaves[p] = self.search(left)
            leaves.append(self.search(right))
            for child, leaf in ((tree.left_child[i], p), (tree.right_child[i], i + 1)):
                assert child > i or child == ~leaf
                leaf_of_place[child] = leaf
        if len(leaves) < self.max_leaves:
            assert all(leaf.best.gain <= least for leaf in leaves if leaf.best)
        return leaves

    def as_split(self, tree: Tree, i: int) -> Split:
        feature = int(np.searchsorted(self.data.feature, tree.split_feature[i]))
        bins = np.flatnonzero(self.data.upper_bounds[feature] == tree.threshold[i])
        assert len(bins) == 1
        missing_left = bool(tree.decision_type[i] & 2)
        return Split(0.0, feature, int(bins[0]), missing_left)

    def gain_of(self, node: Node, split: Split) -> float:
        """The gain of a split of this node; it must be allowed."""
        rows = node.rows[self.goes_left(node, split)]
        left = (self.gradient[rows].sum(), self.hessian[rows].sum(), len(rows))
        assert self.allowed(node, left), split
        return float(self.gain_above(node, left)) + self.settings.min_split_gain

    @property
    def max_leaves(self) -> int:
        return min(self.settings.num_leaves, self.data.n_rows // self.min_count)

    def grow(self) -> Tree:
        """Split the leaf that gains most until nothing is gained."""
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


class Record:
    """The tree so far, in LightGBM's numbering."""

    def __init__(self, twin: Twin) -> None:
        self.twin = twin
        self.nodes: list[tuple] = []
        self.children: list[list[int]] = []
        self.place: dict[int, tuple[int, int]] = {}

    def add(self, p: int, leaf: Node, missing_left: bool) -> None:
        """Leaf ``p`` becomes the next inner node."""
        data, split = self.twin.data, leaf.best
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
                self.twin.step(leaf.output),
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
                [0.0 if alone else self.twin.step(x.output) for x in leaves]
            ),
            leaf_weight=np.array([leaf.hessian for leaf in leaves]),
            leaf_count=np.array([leaf.count for leaf in leaves]),
        )


def assert_same_structure(tree: Tree, expected: Tree) -> None:
    """Every split, direction and count of two trees is the same."""
    for name in STRUCTURE:
        np.testing.assert_array_equal(
            getattr(tree, name), getattr(expected, name), err_msg=name
        )


def assert_same_tree(tree: Tree, expected: Tree, rtol: float) -> None:
    """The structure is the same, and so are the values but for rounding."""
    assert_same_structure(tree, expected)
    for field in fields(Tree):
        if field.name not in STRUCTURE:
            np.testing.assert_allclose(
                getattr(tree, field.name),
                getattr(expected, field.name),
                rtol=rtol,
                atol=rtol * 1e-3,
                err_msg=field.name,
            )


# --- Training -------------------------------------------------------------------------


@dataclass
class Fit:
    """What went into a training, and what came out."""

    columns: Columns
    data: BinnedDataset
    objective: Objective
    settings: Any
    ensemble: Ensemble

    def raw(self, stop: int | None = None) -> np.ndarray:
        stop = self.ensemble.n_rounds if stop is None else stop
        return self.ensemble.raw_scores(self.columns, 0, stop, 1)

    def leaves(self) -> np.ndarray:
        return self.ensemble.leaves(self.columns, 0, self.ensemble.n_rounds, 1)


def fit(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    n_classes: int | None = None,
    n_threads: int = 1,
    after_round: Callable[..., bool] | None = None,
    objective: Any = "regression",
    **options: Any,
) -> Fit:
    estimator = LGBMRegressor(objective=objective, **options)
    settings = parameters.make_settings(estimator.get_params(), "LGBMRegressor")
    columns = read_columns(estimator, X, reset=True)
    data = BinnedDataset.build(columns, settings, n_threads=n_threads)
    n_scores = n_classes if n_classes is not None and n_classes > 2 else 1
    made = make_objective(settings, y, weight, n_scores)
    state = boosting.Boosting(data, made, settings, n_threads)
    trained = loop.train(state, after_round=after_round)
    return Fit(columns, data, made, settings, trained.ensemble)


def table(n: int, n_features: int, seed: int = 0) -> np.ndarray:
    """Columns of all sorts: numbers, ties, signs, NaN, zeros, a constant."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features))
    for j in range(n_features):
        kind = j % 7
        if kind == 1:
            X[:, j] = rng.integers(-3, 4, n)
        elif kind == 2:
            X[:, j] = X[:, j] > 0.7
        elif kind == 3:
            X[rng.random(n) < 0.6, j] = 0.0
        elif kind == 4:
            X[:, j] = np.abs(X[:, j]) ** 3
        elif kind == 5 and j > 7:
            X[:, j] = 2.0
        if kind in (0, 3, 6):
            X[rng.random(n) < 0.2, j] = np.nan
    return X


def smooth_target(X: np.ndarray, seed: int = 0) -> np.ndarray:
    """A target whose gains are well apart: it depends on several columns."""
    rng = np.random.default_rng(seed)
    Z = np.nan_to_num(X, nan=-1.0)
    slopes = 1.0 / np.arange(1, X.shape[1] + 1)
    return np.tanh(Z) @ slopes + 0.3 * rng.standard_normal(len(X))


def rounds_of(fitted: Fit, weight: np.ndarray | None) -> Iterator[tuple]:
    """Each tree with the gradients and hessians that it was grown on."""
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
        bias = start[i % k] if i < k else 0.0
        if bias:
            tree = replace(
                tree,
                leaf_value=tree.leaf_value - bias,
                internal_value=tree.internal_value - bias,
            )
        yield tree, now[0][i % k], now[1][i % k]
        scores[i % k] += tree.leaf_value[leaves[i]]


def of_round(fitted: Fit, gradient, hessian, rows=None, *, weight=None) -> Twin:
    """The twin for one tree of a fit; `weight`: what the rows' slopes hold of it."""
    objective = fitted.objective
    plain = hessian / (1.0 if weight is None else weight)
    plain = plain if rows is None else plain[rows]
    return Twin(
        fitted.data,
        fitted.settings,
        gradient,
        hessian,
        rows,
        varied=plain.max() > plain.min() * (1 + 1e-9),
        self_concordance=objective.self_concordance,
    )


def assert_values(tree, leaves, gradient, hessian, grower) -> None:
    """Leaf values are those of float64 sums, but for the rounding of the sums.

    Every addend of a leaf's sums is rounded to a multiple of ``2**-49`` of the largest.
    """
    grain_g, grain_h = (np.abs(x).max() * 2.0**-49 for x in (gradient, hessian))
    for i, leaf in enumerate(leaves):
        assert tree.leaf_count[i] == leaf.count
        np.testing.assert_allclose(
            tree.leaf_weight[i], leaf.hessian, rtol=1e-9, atol=leaf.count * grain_h
        )
        value = grower.step(leaf.output)
        slip = leaf.count * (grain_g + abs(leaf.output) * grain_h)
        slip /= leaf.hessian + grower.settings.reg_lambda
        assert abs(tree.leaf_value[i] - value) <= 1e-9 * abs(value) + slip + 1e-12
