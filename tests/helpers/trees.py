"""Trees that no fit has grown, and the rows that they score."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from skgoss._engine.columns import column_kernels
from skgoss.columns.columns import Columns
from skgoss.model.ensemble import Ensemble, Tree

TINY = float(np.float32(1e-35))
LARGEST = np.finfo(np.float64).max
TINIES = [1e-35, TINY, 1e-36, 5e-324, 1e-40]
SPECIAL = np.array([*TINIES, 0.0, 0.1, np.inf, LARGEST])
SPECIAL = np.concatenate([SPECIAL, -SPECIAL, [np.nan]])


def frame(X):
    base = X.__array_interface__["data"][0]
    n_features = X.shape[1]
    return Columns(
        n_rows=X.shape[0],
        n_features=n_features,
        address=(base + np.arange(n_features) * X.strides[1]).astype(np.uint64),
        stride=np.full(n_features, X.strides[0], dtype=np.int64),
        kind=np.full(n_features, column_kernels.KINDS[X.dtype.name], dtype=np.uint8),
        owner=X,
    )


def stump(feature, threshold, left, right, gain=1.0):
    return Tree(
        split_feature=np.array([feature], dtype=np.int32),
        threshold=np.array([threshold]),
        decision_type=np.array([2], dtype=np.uint8),
        left_child=np.array([-1], dtype=np.int32),
        right_child=np.array([-2], dtype=np.int32),
        split_gain=np.array([gain]),
        internal_value=np.zeros(1),
        internal_weight=np.ones(1),
        internal_count=np.array([2]),
        leaf_value=np.array([left, right], dtype=np.float64),
        leaf_weight=np.ones(2),
        leaf_count=np.ones(2, dtype=np.int64),
    )


def random_tree(rng, n_leaves, n_features, thresholds, chain=False):
    left = np.empty(n_leaves - 1, dtype=np.int32)
    right = np.empty(n_leaves - 1, dtype=np.int32)
    where = {0: None}
    for node in range(n_leaves - 1):
        leaf = node if chain else int(rng.integers(node + 1))
        if where[leaf] is not None:
            children, parent = where[leaf]
            children[parent] = node
        left[node], right[node] = ~leaf, ~(node + 1)
        where[leaf], where[node + 1] = (left, node), (right, node)
    n = n_leaves - 1
    return Tree(
        split_feature=rng.integers(n_features, size=n).astype(np.int32),
        threshold=rng.choice(thresholds, size=n),
        decision_type=rng.choice([0, 2, 4, 6, 8, 10], size=n).astype(np.uint8),
        left_child=left,
        right_child=right,
        split_gain=rng.exponential(size=n),
        internal_value=rng.normal(size=n),
        internal_weight=rng.exponential(size=n),
        internal_count=rng.integers(1, 100, size=n),
        leaf_value=rng.normal(size=n_leaves),
        leaf_weight=rng.exponential(size=n_leaves),
        leaf_count=rng.integers(1, 100, size=n_leaves),
    )


def random_data(rng, n, n_features, dtype=np.float64):
    X = np.round(rng.normal(size=(n, n_features)), 1)
    special = rng.random(X.shape) < 0.3
    X[special] = rng.choice(SPECIAL, size=special.sum())
    with np.errstate(over="ignore", under="ignore"):
        return X.astype(dtype)


def make(seed, sizes, n_features=5, n_scores=1, n_thresholds=40, **options):
    rng = np.random.default_rng(seed)
    drawn = np.round(rng.normal(size=n_thresholds), 1 if n_thresholds < 50 else 6)
    thresholds = np.concatenate([drawn, SPECIAL[~np.isnan(SPECIAL)]])
    trees = [random_tree(rng, n, n_features, thresholds, **options) for n in sizes]
    return trees, Ensemble.from_trees(trees, n_scores, n_features)


def parse_lightgbm(text):
    """Trees of a LightGBM model file."""
    types = {name: kind for name, kind in Tree.__annotations__.items()}
    trees = []
    for block in text.split("\nTree=")[1:]:
        lines = block.split("\n\n")[0].splitlines()[1:]
        given = dict(line.split("=", 1) for line in lines)
        arrays = {}
        for name, kind in types.items():
            dtype = np.dtype(kind.split("[np.")[1][:-1])
            words = given.get(name, "").split()
            if name == "leaf_weight" and not words:
                words = ["0"]
            arrays[name] = np.array([float(word) for word in words]).astype(dtype)
            if dtype == np.float64:
                arrays[name] = np.array(words, dtype=np.float64)
        trees.append(Tree(**arrays))
    return trees


def arrays(model: Any) -> dict[str, np.ndarray]:
    """Every number of every tree."""
    trees = list(model._model.trees.trees)
    names = [field.name for field in dataclasses.fields(Tree)]
    return {name: np.concatenate([getattr(t, name) for t in trees]) for name in names}


def assert_identical(one: Any, other: Any) -> None:
    assert one._model.trees.n_trees == other._model.trees.n_trees
    assert len(arrays(one)["split_feature"])
    for (name, a), b in zip(arrays(one).items(), arrays(other).values(), strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), name
