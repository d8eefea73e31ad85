"""Trees over binned rows: every row gets the value of its leaf."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss._engine.binning.store import BinStore
from skgoss._engine.training.forest import NODE
from skgoss._engine.training.score import add_tree, add_trees
from skgoss.estimators.classifier import LGBMClassifier
from skgoss.fit.arguments import FitArguments, input_sets
from skgoss.training.binned import BinnedTrees

N_BINS = [12, 700, 2, 5, 9, 40, 3]
CATEGORICAL = (0, 1, 5)


def lists(bins, default_bin):
    """The rows outside the default bin, and their stored bins, as a list."""
    rows = np.flatnonzero(bins != default_bin)
    stored = bins[rows] - (bins[rows] > default_bin)
    return rows.astype(np.uint32), stored.astype(np.uint16)


def a_store(rng, n):
    """Features alone in bytes and shorts, two in a bundle, three as lists."""
    bins = np.array([rng.integers(0, size, n) for size in N_BINS])
    bins[3, bins[2] != 0] = 1
    default_bin = np.array([-1, -1, 0, 1, 2, 0, 2], np.int32)
    for j in (4, 5, 6):
        bins[j, rng.random(n) < 0.9] = default_bin[j]
    shared = np.zeros(n, np.uint8)
    shared[bins[2] == 1] = 1
    others = bins[3] != 1
    shared[others] = 2 + bins[3, others] - (bins[3, others] > 1)
    listed = [lists(bins[j], default_bin[j]) for j in (4, 5, 6)]
    start = np.cumsum([0, 0, 0, 0, 0, *(len(rows) for rows, _ in listed)])
    store = BinStore(
        np.array(N_BINS, np.int32),
        default_bin,
        np.array([0, 2, 1, 1, -1, -1, -1], np.int32),
        np.array([0, 0, 1, 2, 0, 0, 0], np.int32),
        np.array([bins[0], shared], np.uint8),
        bins[1:2].astype(np.uint16),
        start,
        np.concatenate([rows for rows, _ in listed]),
        start,
        np.concatenate([stored for _, stored in listed]),
    )
    return store, bins


def a_tree(rng, n_leaves, missing_bin):
    """Nodes in order of creation, a random leaf being split each time."""
    nodes = np.zeros(n_leaves - 1, NODE)
    words, where = [], {0: None}
    for i, node in enumerate(nodes):
        leaf = int(rng.integers(i + 1))
        if where[leaf] is not None:
            parent, side = where[leaf]
            nodes[parent][side] = i
        node["left"], node["right"] = ~leaf, ~(i + 1)
        where[leaf], where[i + 1] = (i, "left"), (i, "right")
        j = node["feature"] = rng.integers(len(N_BINS))
        node["bin"] = rng.integers(0, N_BINS[j] - 1)
        node["missing_left"] = missing_bin[j] >= 0 and rng.integers(2)
        node["first_word"] = len(words)
        if j in CATEGORICAL and rng.random() < 0.7:
            chosen = np.zeros(-(-N_BINS[j] // 32) * 32, np.uint8)
            chosen[: N_BINS[j]] = rng.random(N_BINS[j]) < 0.4
            words += np.packbits(chosen, bitorder="little").view(np.uint32).tolist()
        node["last_word"] = len(words)
    return nodes, np.array(words, np.uint32)


def goes_left(node, words, missing_bin, b):
    if node["last_word"] > node["first_word"]:
        return words[node["first_word"] + b // 32] >> (b % 32) & 1
    if b == missing_bin[node["feature"]]:
        return node["missing_left"]
    return b <= node["bin"]


def leaf_of(nodes, words, missing_bin, row):
    at = 0 if len(nodes) else -1
    while at >= 0:
        node = nodes[at]
        left = goes_left(node, words, missing_bin, int(row[node["feature"]]))
        at = node["left"] if left else node["right"]
    return ~at


@pytest.mark.parametrize("n_leaves", [1, 2, 4, 5, 9, 31, 256, 257, 1500])
@pytest.mark.parametrize(("n", "missing"), [(1, -1), (3000, -1), (900, 5), (900, 11)])
def test_rows_get_the_values_of_their_leaves(n_leaves, n, missing):
    rng = np.random.default_rng(n_leaves)
    store, bins = a_store(rng, n)
    for j, expected in enumerate(bins):
        np.testing.assert_array_equal(store.bins(j), expected)
    missing_bin = np.array([missing, 699, -1, 1, 4, -1, 0], np.int32)
    nodes, words = a_tree(rng, n_leaves, missing_bin)
    value = rng.normal(size=n_leaves)
    before = rng.normal(size=n)
    scores = []
    for n_threads in (1, 3):
        score = before.copy()
        add_tree(store, nodes, missing_bin, words, value, n_threads, score)
        scores.append(score)
    np.testing.assert_array_equal(*scores)
    numbers = np.flatnonzero(rng.random(n) < 0.7).astype(np.uint32)
    some = before[numbers]
    add_tree(store, nodes, missing_bin, words, value, 2, some, numbers)
    np.testing.assert_array_equal(some, scores[0][numbers])
    leaves = [leaf_of(nodes, words, missing_bin, row) for row in bins.T[:400]]
    np.testing.assert_array_equal(scores[0][:400], before[:400] + value[leaves])


def test_trees_of_a_forest_give_the_bits_of_their_arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    X[:, 1], X[rng.random(400) < 0.2, 2] = rng.integers(0, 30, 400), np.nan
    labels = rng.integers(0, 3, 400)
    model = LGBMClassifier(n_estimators=2, min_child_samples=5, verbosity=-1)
    given = FitArguments(eval_set=[(X[:50], labels[:50])], categorical_feature=[1])
    settings = model._settings(X, given)
    sets = input_sets(X, labels, given, settings)
    state = model._prepare(sets, given, settings).rounds
    for _ in range(3):
        state.boost()
    (rows,) = (evaluated.binned for evaluated in state.sets)
    forest = state.grower.forest
    for first in (6, 0):  # the last round, and all of them
        found, expected = np.zeros((2, 3, rows.n_rows))
        add_trees(forest, first, rows.store, rows.missing_bin, 2, found)
        for trees in BinnedTrees(*forest.copy(first).arrays()).by_round(3, []):
            trees.add(rows, 1.0, 1, expected)
            assert len(trees.words)
        assert found.any()
        np.testing.assert_array_equal(found, expected)
        before = rng.normal(size=found.shape)
        from_before, expected = np.full_like(found, 7.0), before.copy()
        where = rows.store, rows.missing_bin, 2
        add_trees(forest, first, *where, from_before, base_scores=before)
        add_trees(forest, first, *where, expected)
        np.testing.assert_array_equal(from_before, expected)
