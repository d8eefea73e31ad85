"""Scores and leaves against a naive walk and against LightGBM."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace

import numpy as np
import pytest

from helpers.trees import TINY, frame, make, parse_lightgbm, random_data, random_tree
from skgoss.model.category_sets import CategorySets
from skgoss.model.ensemble import Ensemble
from skgoss.objectives.link import IDENTITY, Link, row_link

ZERO, NAN = 1, 2


def goes_left(tree, node, value):
    """Where a number goes at a numeric node."""
    missing = tree.decision_type[node] >> 2
    if np.isnan(value) and missing != NAN:
        value = 0.0
    if (missing == ZERO and abs(value) <= TINY) or np.isnan(value):
        return bool(tree.decision_type[node] & 2)
    return value <= tree.threshold[node]


def walk(tree, row):
    """One row through one tree, by the definition."""
    node = 0 if tree.n_leaves > 1 else -1
    while node >= 0:
        left = goes_left(tree, node, float(row[tree.split_feature[node]]))
        node = (tree.left_child if left else tree.right_child)[node]
    return ~node


def check(trees, ensemble, X, n_threads=1):
    expected = np.array([[walk(tree, row) for tree in trees] for row in X])
    leaves = ensemble.leaves(frame(X), n_threads=n_threads)
    assert leaves.dtype == np.int32
    np.testing.assert_array_equal(leaves, expected)
    scores = np.zeros((len(X), ensemble.n_scores))
    for t, tree in enumerate(trees):
        scores[:, t % ensemble.n_scores] += tree.leaf_value[expected[:, t]]
    np.testing.assert_array_equal(
        ensemble.raw_scores(frame(X), n_threads=n_threads), scores
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 3, 64, 65, 256, 300])
def test_scores_equal_the_naive_walk(n_rows, dtype):
    trees, ensemble = make(0, [2, 1, 7, 8, 9, 31, 32, 33, 64, 65, 100, 127, 128])
    check(trees, ensemble, random_data(np.random.default_rng(1), n_rows, 5, dtype))


@pytest.mark.parametrize(
    "sizes", [[255, 256, 257], [300, 5, 129, 31], [520, 1023, 2000], [1], [1, 1, 1], []]
)
def test_trees_of_all_sizes(sizes):
    trees, ensemble = make(2, sizes)
    check(trees, ensemble, random_data(np.random.default_rng(3), 80, 5))


def in_set(words, value):
    """Whether a value is a category in a set, by LightGBM's rules."""
    if np.isnan(value) or not -1 < value < 2**31:
        return False
    category = int(value)
    return category // 32 < len(words) and words[category // 32] >> category % 32 & 1


def with_sets(n_rows):
    """Sets of categories, trees that have them, their ensemble, and rows."""
    rng = np.random.default_rng(22)
    words = [
        rng.integers(2**32, size=rng.integers(5), dtype=np.uint32) for _ in range(150)
    ]
    trees, _ = make(23, [31, 300, 100])
    start = np.cumsum([0, *map(len, words)])
    for tree in trees:
        chosen = rng.random(tree.n_leaves - 1) < 0.7
        tree.decision_type[chosen] = 1
        tree.threshold[chosen] = rng.integers(len(words), size=chosen.sum())
    ensemble = Ensemble.from_trees(
        trees, 1, 5, sets=CategorySets(start, np.concatenate(words))
    )
    X = np.where(
        rng.random((n_rows, 5)) < 0.7,
        rng.integers(-2, 140, size=(n_rows, 5)) + rng.choice([0, 0.5], (n_rows, 5)),
        random_data(rng, n_rows, 5),
    )
    return words, trees, ensemble, X


@pytest.mark.parametrize("n_rows", [3, 300])
def test_sets_of_categories(n_rows):
    words, trees, ensemble, X = with_sets(n_rows)

    def walk_with_sets(tree, row):
        node = 0
        while node >= 0:
            value = row[tree.split_feature[node]]
            if tree.decision_type[node] & 1:
                left = in_set(words[int(tree.threshold[node])], value)
            else:
                left = goes_left(tree, node, value)
            node = (tree.left_child if left else tree.right_child)[node]
        return ~node

    expected = [[walk_with_sets(tree, row) for tree in trees] for row in X]
    np.testing.assert_array_equal(ensemble.leaves(frame(X)), expected)


def digest() -> str:
    """Of leaves and scores in trees of many sizes, thresholds and sets."""
    cases = [with_sets(300)[2:]]
    for dtype, given in itertools.product(
        (np.float32, np.float64),
        (
            {"sizes": [1, 2, 7, 9, 32, 33, 64, 65, 128, 257, 300, 1023]},
            {"sizes": [120] * 30, "n_thresholds": 3000},
            {"sizes": [120] * 300, "n_features": 1, "n_thresholds": 10**6},
        ),
    ):
        _, ensemble = make(2, **given)
        rng = np.random.default_rng(3)
        cases.append((ensemble, random_data(rng, 300, ensemble.n_features, dtype)))
    values = [
        function(frame(X)).tobytes()
        for ensemble, X in cases
        for function in (ensemble.leaves, ensemble.raw_scores)
    ]
    return hashlib.sha256(b"".join(values)).hexdigest()


@pytest.mark.parametrize("n_leaves", [128, 1500])
def test_chains(n_leaves):
    trees, ensemble = make(4, [n_leaves], chain=True)
    check(trees, ensemble, random_data(np.random.default_rng(5), 80, 5))


def test_more_thresholds_than_bytes_hold():
    trees, ensemble = make(6, [120] * 30, n_features=2, n_thresholds=3000)
    X = random_data(np.random.default_rng(7), 80, 2)
    X[:20] = np.resize(trees[0].threshold, (20, 2))
    check(trees, ensemble, X)


def test_more_thresholds_than_two_bytes_hold():
    trees, ensemble = make(8, [120] * 600, n_features=1, n_thresholds=10**6)
    X = random_data(np.random.default_rng(9), 80, 1)
    walked = np.array([[walk(tree, row) for tree in trees[:3]] for row in X])
    np.testing.assert_array_equal(ensemble.leaves(frame(X))[:, :3], walked)


def test_a_tree_of_the_largest_size():
    rng = np.random.default_rng(10)
    tree = random_tree(rng, 131072, 3, rng.normal(size=1000))
    check([tree], Ensemble.from_trees([tree], 1, 3), random_data(rng, 80, 3))


@pytest.mark.parametrize(
    "view",
    [
        np.asfortranarray,
        lambda X: X[:, ::-1],
        lambda X: X[::-1],
        lambda X: np.repeat(X, 3, axis=0)[::3],
        lambda X: np.broadcast_to(X[:1], X.shape),
    ],
    ids=["F", "columns reversed", "rows reversed", "strided", "one row repeated"],
)
@pytest.mark.parametrize("n_rows", [5, 70])
def test_any_memory_layout(view, n_rows):
    trees, ensemble = make(11, [31] * 4)
    check(trees, ensemble, view(random_data(np.random.default_rng(12), n_rows, 5)))


@pytest.mark.parametrize("n_scores", [1, 3])
def test_rows_do_not_depend_on_batch_or_threads(n_scores):
    _, ensemble = make(13, [31, 300, 8] * 30, n_scores=n_scores)
    X = random_data(np.random.default_rng(14), 3000, 5)
    one = ensemble.raw_scores(frame(X))
    for n_threads in (2, 3, 7):
        np.testing.assert_array_equal(
            ensemble.raw_scores(frame(X), n_threads=n_threads), one
        )
    for stop in (1, 2, 63, 64, 65, 255, 257):
        np.testing.assert_array_equal(ensemble.raw_scores(frame(X[:stop])), one[:stop])


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(
    ("link", "n_scores", "both"),
    [
        (IDENTITY, 2, False),
        (Link("logistic", 0.8), 1, False),
        (Link("logistic", 0.8), 1, True),
        (Link("softmax"), 4, False),
        (Link("joint", links=((Link("exp"), 1), (Link("softmax"), 3))), 4, False),
    ],
)
def test_predictions_are_the_linked_scores(link, n_scores, both, average):
    _, ensemble = make(25, [31, 300, 8, 2] * 6, n_scores=n_scores)
    ensemble = replace(ensemble, average=average)
    X = random_data(np.random.default_rng(26), 3000, 5)
    of_rows = row_link(link, n_scores, both=both)
    whole = link(ensemble.raw_scores(frame(X)))
    whole = np.hstack([1.0 - whole, whole]) if both else whole
    for n_rows, n_threads in (
        (1, 1),
        (30, 1),
        (300, 1),
        (3000, 1),
        (3000, 2),
        (3000, 7),
    ):
        found = ensemble.predictions(frame(X[:n_rows]), of_rows, n_threads=n_threads)
        np.testing.assert_array_equal(found, whole[:n_rows])
    *_, last = ensemble.staged_predictions(frame(X), of_rows)
    np.testing.assert_array_equal(last, whole)
    none = link(np.zeros((50, n_scores)))
    none = np.hstack([1.0 - none, none]) if both else none
    for n_rows in (5, 50):
        found = ensemble.predictions(frame(X[:n_rows]), of_rows, 2, 2)
        np.testing.assert_array_equal(found, none[:n_rows])


def test_only_used_columns_are_read():
    trees, _ = make(15, [31] * 3)
    ensemble = Ensemble.from_trees(trees, 1, 1000)
    X = np.zeros((80, 1000))
    X[:, :5] = random_data(np.random.default_rng(16), 80, 5)
    expected = ensemble.raw_scores(frame(X))
    cut = frame(X)
    cut.address[5:] = 0
    np.testing.assert_array_equal(ensemble.raw_scores(cut), expected)


# ----------------------------------------------------------------------------- LightGBM


def lightgbm_case(name):
    rng = np.random.default_rng(19)
    X = rng.normal(size=(1500, 6))
    X[:, 4] = rng.integers(0, 4, size=1500)
    y = X[:, 0] * X[:, 1] + np.where(X[:, 4] > 1, X[:, 2], 0)
    if name != "plain":
        X[rng.random(X.shape) < 0.2] = np.nan
        X[rng.random(X.shape) < 0.1] = 0
    if name == "multiclass":
        y = np.digitize(y, [-0.5, 0.5])
    return X, y


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("plain", {"objective": "regression"}),
        ("nan", {"objective": "regression", "num_leaves": 63}),
        ("zero", {"objective": "regression", "zero_as_missing": True}),
        ("no missing", {"objective": "regression", "use_missing": False}),
        ("multiclass", {"objective": "multiclass", "num_class": 3}),
        ("wide", {"objective": "regression", "num_leaves": 400, "min_data_in_leaf": 1}),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lightgbm_models_give_lightgbm_scores(name, params, dtype, lightgbm):
    X, y = lightgbm_case(name)
    params = params | {"verbosity": -1, "num_threads": 1, "min_data_in_bin": 1}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y), num_boost_round=15)
    trees = parse_lightgbm(booster.model_to_string())
    n_scores = params.get("num_class", 1)
    ensemble = Ensemble.from_trees(trees, n_scores, X.shape[1])
    holes = np.random.default_rng(20).random(X.shape)
    X = np.where(holes < 0.1, np.nan, np.where(holes < 0.2, 0.0, X)).astype(dtype)
    X[:80] = random_data(np.random.default_rng(21), 80, 6, dtype)
    # The one number that LightGBM bins as negative and predicts as zero.
    X[X == -TINY] = 0
    expected = booster.predict(X, raw_score=True).reshape(len(X), n_scores)
    scores = ensemble.raw_scores(frame(X))
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(
        ensemble.leaves(frame(X)),
        booster.predict(X, pred_leaf=True).reshape(len(X), len(trees)),
    )
    late = booster.predict(X, raw_score=True, start_iteration=4, num_iteration=5)
    np.testing.assert_allclose(
        ensemble.raw_scores(frame(X), 4, 9),
        late.reshape(len(X), n_scores),
        rtol=1e-12,
        atol=1e-12,
    )
