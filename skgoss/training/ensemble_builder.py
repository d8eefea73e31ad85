"""From trees in terms of bins to an ensemble in terms of columns and thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.training.forest import Forest, categories_of_bins
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.model.category_sets import NO_SETS, CategorySets
from skgoss.model.ensemble import Ensemble
from skgoss.model.linear import LinearLeaves
from skgoss.model.trees import (
    CATEGORICAL,
    DEFAULT_LEFT,
    MISSING_SHIFT,
    NODE_TYPES,
    NOTHING,
    Tree,
)

Floats = NDArray[np.float64]

_NO_BOUND = np.zeros(1)


def ensemble(
    forest: Forest,
    dataset: BinnedDataset,
    starts: Floats,
    factors: Floats | None = None,
    linear: Sequence[LinearLeaves] = (),
    *,
    average: bool = False,
    n_threads: int = 1,
) -> Ensemble:
    """Make an ensemble of the trees of a forest that was grown on a data set.

    The values of each round's trees are multiplied by its ``factors``, (n_rounds,).
    Then ``starts``, (n_rounds, n_scores), are added, one for each tree. ``linear`` has
    the linear models of the leaves, by round; it is empty if leaves are constant.
    ``average`` means that predictions are means over rounds, and not sums.
    """
    nodes, leaves, leaf_start, words = forest.arrays()
    feature = nodes["feature"]
    sets, set_index = _sets(words, dataset, nodes, n_threads)
    # Categorical columns have no bounds; they get a dummy.
    bounds = [b if len(b) else _NO_BOUND for b in dataset.upper_bounds]
    bound_start = np.cumsum([0, *map(len, bounds)])
    categorical, missing = dataset.categorical[feature], dataset.missing_type[feature]
    # For columns without missing values, LightGBM writes "left".
    missing_left = nodes["missing_left"] | (missing == NOTHING)
    cut = np.concatenate(bounds)[
        bound_start[feature] + np.where(categorical, 0, nodes["bin"])
    ]
    n_leaves = np.diff(leaf_start)
    arrays = {
        "split_feature": dataset.feature[feature],
        "threshold": np.where(categorical, set_index, cut),
        "decision_type": (
            np.where(categorical, CATEGORICAL, missing_left * DEFAULT_LEFT)
            | missing << MISSING_SHIFT
        ).astype(np.uint8),
        "left_child": nodes["left"].copy(),
        "right_child": nodes["right"].copy(),
        "split_gain": nodes["gain"].copy(),
        "internal_value": _values(nodes, n_leaves - 1, starts, factors),
        "internal_weight": nodes["weight"].copy(),
        "internal_count": nodes["count"].copy(),
        "leaf_value": _values(leaves, n_leaves, starts, factors),
        "leaf_weight": leaves["weight"].copy(),
        "leaf_count": leaves["count"].copy(),
    }
    return Ensemble(
        arrays=arrays,
        leaf_start=leaf_start,
        n_scores=starts.shape[1],
        n_features=dataset.n_features,
        sets=sets,
        average=average,
        linear=_linear(linear, n_leaves, starts, factors) if linear else None,
    )


def _linear(
    linear: Sequence[LinearLeaves],
    n_leaves: NDArray[np.int64],
    starts: Floats,
    factors: Floats | None,
) -> LinearLeaves:
    """The linear models of all leaves, multiplied by factors, with the starts added.

    ``n_leaves``, (n_trees,), is the number of leaves of each tree. For the rest see
    `ensemble`.
    """
    if factors is not None:
        linear = [
            leaves.scaled(factor, 0.0)
            for leaves, factor in zip(linear, factors, strict=True)
        ]
    leaf_starts = np.repeat(starts.ravel(), n_leaves)
    return LinearLeaves.joined(linear).scaled(1.0, leaf_starts)


def _values(
    items: NDArray[Any],
    tree_size: NDArray[np.int64],
    starts: Floats,
    factors: Floats | None,
) -> Floats:
    """The values of nodes or leaves, multiplied by factors, with the starts added.

    ``items`` are the nodes or the leaves of all trees, and ``tree_size``, (n_trees,),
    is the number of each tree's. For the rest see `ensemble`.
    """
    values = items["value"].copy()
    if factors is not None:
        values *= np.repeat(np.repeat(factors, starts.shape[1]), tree_size)
    # Adding 0.0 would change -0.0, so trees without a constant are left out.
    added = np.flatnonzero(starts.ravel())
    stop = np.cumsum(tree_size)
    for tree in added:
        values[stop[tree] - tree_size[tree] : stop[tree]] += starts.flat[tree]
    return values


def _sets(
    words: NDArray[np.uint32],
    dataset: BinnedDataset,
    nodes: NDArray[Any],
    n_threads: int,
) -> tuple[CategorySets, NDArray[np.int64]]:
    """The categories that go left at categorical nodes, and the number of each node's.

    The engine has sets of bins: the bits ``words[first_word:last_word]`` of a node. The
    sets of the result have a bit for each code of a category, in words of 32 bits. The
    number of a numeric node, whose set of bins is empty, means nothing.

    ``nodes`` are those of all trees, and ``dataset`` has the categories of the bins.
    """
    is_chosen = nodes["last_word"] > nodes["first_word"]
    set_index = np.cumsum(is_chosen) - 1
    if not is_chosen.any():
        return NO_SETS, set_index
    chosen = nodes[is_chosen]
    categories = [mapper.codes for mapper in dataset.used_mappers]
    n_bins = np.array([*map(len, categories)])
    size = np.array([codes.max(initial=-32) // 32 + 1 for codes in categories])
    feature = chosen["feature"]
    start = np.append(0, np.cumsum(size[feature]))
    words_out = np.zeros(start[-1], dtype=np.uint32)
    categories_of_bins(
        words,
        chosen["first_word"].copy(),
        chosen["last_word"].copy(),
        np.concatenate(categories),
        (np.cumsum(n_bins) - n_bins)[feature],
        n_bins[feature],
        start,
        n_threads,
        words_out,
    )
    return CategorySets(start, words_out), set_index


def constant(values: Floats, n_features: int, n_rows: int, mass: float) -> Ensemble:
    """One round of trees with one leaf, for data that no column can split.

    ``values``, (n_scores,), are those of the leaves. There are ``n_rows`` rows of the
    total weight ``mass``.
    """
    tree = {
        field.name: np.empty(0, NODE_TYPES.get(field.name)) for field in fields(Tree)
    }
    trees = [
        Tree(
            **tree
            | {
                "leaf_value": np.array([value]),
                "leaf_weight": np.array([mass]),
                "leaf_count": np.array([n_rows]),
            }
        )
        for value in values
    ]
    return Ensemble.from_trees(trees, len(values), n_features)
