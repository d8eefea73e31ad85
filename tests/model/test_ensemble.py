"""The structure of arrays: views, pickles, importances, bad trees."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from helpers.trees import frame, stump
from skgoss.model.ensemble import Ensemble, Tree, side_by_side


@pytest.fixture
def trees():
    return [
        stump(0, 0.5, -1, 1, gain=2.0),
        stump(2, 0.0, -10, 10, gain=3.0),
        stump(0, 1.5, -2, 2, gain=0.5),
        stump(2, 9.0, -20, 20, gain=-1.0),
    ]


@pytest.fixture
def X():
    return np.array([[0.0, 5, -1], [1.0, 5, 1], [2.0, 5, 10]])


def test_scores_by_round(trees, X):
    ensemble = Ensemble.from_trees(trees, 2, 3)
    assert (ensemble.n_rounds, ensemble.n_trees) == (2, 4)
    every = [[-3.0, -30], [-1, -10], [3, 30]]
    np.testing.assert_array_equal(ensemble.raw_scores(frame(X)), every)
    np.testing.assert_array_equal(ensemble.raw_scores(frame(X), 0, 100), every)
    late = [[-2.0, -20], [-2, -20], [2, 20]]
    np.testing.assert_array_equal(ensemble.raw_scores(frame(X), 1), late)
    np.testing.assert_array_equal(
        ensemble.leaves(frame(X), 1), [[0, 0], [0, 0], [1, 1]]
    )
    np.testing.assert_array_equal(ensemble.raw_scores(frame(X), 2), np.zeros((3, 2)))
    assert ensemble.leaves(frame(X), 5, 1).shape == (3, 0)
    assert ensemble.raw_scores(frame(X[:0])).shape == (0, 2)


def test_average_divides_by_the_rounds_used(trees, X):
    mean = Ensemble.from_trees(trees, 2, 3, average=True)
    total = Ensemble.from_trees(trees, 2, 3).raw_scores(frame(X))
    np.testing.assert_array_equal(mean.raw_scores(frame(X)), total / 2)
    np.testing.assert_array_equal(
        mean.raw_scores(frame(X), 0, 1),
        Ensemble.from_trees(trees[:2], 2, 3).raw_scores(frame(X)),
    )


def test_trees_are_views_of_what_was_given(trees):
    ensemble = Ensemble.from_trees(trees, 1, 3)
    assert len(ensemble.trees) == 4
    for given, kept in zip(trees, ensemble.trees, strict=True):
        for field in fields(Tree):
            one, other = getattr(given, field.name), getattr(kept, field.name)
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
            assert not other.flags.owndata
    assert ensemble.trees[-1].threshold == [9.0]
    assert [tree.n_leaves for tree in ensemble.trees[1:3]] == [2, 2]
    with pytest.raises(IndexError):
        ensemble.trees[4]


def test_importances(trees):
    ensemble = Ensemble.from_trees(trees, 1, 4)
    splits, gains = ensemble.importances("split"), ensemble.importances("gain")
    np.testing.assert_array_equal(splits, [2, 0, 1, 0])
    np.testing.assert_array_equal(gains, [2.5, 0, 3.0, 0])
    assert np.issubdtype(splits.dtype, np.integer)
    assert gains.dtype == np.float64
    gains /= gains.sum()
    np.testing.assert_array_equal(ensemble.importances("gain"), [2.5, 0, 3.0, 0])
    with pytest.raises(ValueError, match="must be 'split' or 'gain' or 'cover'"):
        ensemble.importances("gini")


@pytest.mark.parametrize("order", [[2, 0], [1], [0, 0, 2, 1], []])
def test_chosen_rounds(trees, X, order):
    ensemble = Ensemble.from_trees(trees[:3], 1, 3)
    chosen = ensemble.chosen(np.array(order, dtype=np.int64))
    expected = ensemble.leaves(frame(X))[:, order]
    np.testing.assert_array_equal(chosen.leaves(frame(X)), expected)


def test_truncated_is_the_first_rounds(trees, X):
    short = Ensemble.from_trees(trees, 2, 3).truncated(1)
    assert (short.n_rounds, short.n_trees, len(short.trees)) == (1, 2, 2)
    expected = Ensemble.from_trees(trees[:2], 2, 3)
    for one in (short, pickle.loads(pickle.dumps(short))):
        np.testing.assert_array_equal(
            one.raw_scores(frame(X)), expected.raw_scores(frame(X))
        )
        np.testing.assert_array_equal(one.importances(), expected.importances())
    assert Ensemble.from_trees(trees, 2, 3).truncated(7).n_rounds == 2
    assert Ensemble.from_trees(trees, 2, 3).truncated(0).n_trees == 0


def test_pickles_as_plain_arrays(trees, X):
    ensemble = Ensemble.from_trees(trees, 2, 3, average=True)
    for value in ensemble.__getstate__()["arrays"].values():
        assert type(value) is np.ndarray
    copy = pickle.loads(pickle.dumps(ensemble))
    assert copy.average
    np.testing.assert_array_equal(
        copy.raw_scores(frame(X)), ensemble.raw_scores(frame(X))
    )


def test_read_only_memory_maps(trees, X, tmp_path):
    joblib = pytest.importorskip("joblib")
    ensemble = Ensemble.from_trees(trees, 2, 3)
    joblib.dump((ensemble, X), tmp_path / "model")
    mapped, X_mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert isinstance(mapped.arrays["leaf_value"].base, np.memmap)
    assert not mapped.trees[0].leaf_value.flags.writeable
    np.testing.assert_array_equal(
        mapped.raw_scores(frame(X_mapped)), ensemble.raw_scores(frame(X))
    )


def three_leaves(**changes):
    tree = Tree(
        split_feature=np.zeros(2, dtype=np.int32),
        threshold=np.zeros(2),
        decision_type=np.full(2, 2, dtype=np.uint8),
        left_child=np.array([1, -1], dtype=np.int32),
        right_child=np.array([-2, -3], dtype=np.int32),
        split_gain=np.ones(2),
        internal_value=np.zeros(2),
        internal_weight=np.ones(2),
        internal_count=np.full(2, 2),
        leaf_value=np.arange(3.0),
        leaf_weight=np.ones(3),
        leaf_count=np.ones(3, dtype=np.int64),
    )
    return replace(tree, **{name: np.array(value) for name, value in changes.items()})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threshold": [0.0]}, "threshold of tree 0, which has 3 leaves"),
        ({"leaf_value": []}, "of tree 0"),
        ({"threshold": [0.0, np.nan]}, "threshold must not be NaN"),
        ({"split_feature": [0, 3]}, r"split_feature must lie in 0\.\.2"),
        ({"split_feature": [-1, 0]}, r"split_feature must lie in 0\.\.2"),
        ({"decision_type": np.array([1, 0], np.uint8)}, "the number of a set"),
        ({"decision_type": np.array([16, 0], np.uint8)}, "decision_type must have"),
        ({"decision_type": np.array([14, 0], np.uint8)}, "decision_type must have"),
        ({"left_child": [0, -1]}, "must be a later node"),
        ({"left_child": [2, -1]}, "must be a later node"),
        ({"left_child": [-4, -1]}, "one of its 3 leaves"),
        ({"left_child": [-1, -1]}, "node 1 of tree 0 must be the child of one"),
        ({"right_child": [1, -3]}, "node 1 of tree 0 must be the child of one"),
        ({"right_child": [-1, -3]}, "leaf 0 of tree 0 must be the child of one"),
    ],
)
def test_bad_trees_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Ensemble.from_trees([three_leaves(**changes)], 1, 3)


def test_bad_rounds_are_refused(trees, X):
    with pytest.raises(ValueError, match="n_scores must be from 1 to"):
        Ensemble.from_trees(trees, 0, 3)
    with pytest.raises(ValueError, match="n_scores=3, got 4 trees"):
        Ensemble.from_trees(trees, 3, 3)
    ensemble = Ensemble.from_trees(trees, 1, 3)
    with pytest.raises(ValueError, match="start_round must be at least 0"):
        ensemble.raw_scores(frame(X), -1)
    with pytest.raises(ValueError, match="stop_round must be at least 0"):
        ensemble.raw_scores(frame(X), 0, -1)
    with pytest.raises(ValueError, match="columns has 2 features"):
        ensemble.leaves(frame(X[:, :2]))


@pytest.mark.parametrize("average", [False, True])
def test_scores_side_by_side(trees, X, average):
    """Ensembles with several numbers of rounds and scores."""
    spans = [(trees[:3], 1), (trees[2:], 2), ([*trees, *trees[:2]], 2)]
    parts = [Ensemble.from_trees(own, n, 3, average=average) for own, n in spans]
    joint = side_by_side(parts)
    assert (joint.n_rounds, joint.n_scores) == (3, 5)
    columns = frame(X)
    expected = np.column_stack([part.raw_scores(columns) for part in parts])
    np.testing.assert_allclose(joint.raw_scores(columns), expected, rtol=1e-15)
    for (first, stop), part in zip([(0, 1), (1, 3), (3, 5)], parts, strict=True):
        own = joint.of_scores(first, stop).raw_scores(columns)
        np.testing.assert_allclose(own, part.raw_scores(columns), rtol=1e-15)
    assert joint.tree(6).n_leaves == joint.tree(12).n_leaves == 1


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_scores", [1, 2])
def test_scores_that_are_mapped(trees, X, average, n_scores):
    ensemble = Ensemble.from_trees(trees, n_scores, 3, average=average)
    factors, added = np.array([1.0, -0.5])[:n_scores], np.array([0.0, 3.0])[:n_scores]
    mapped, columns = ensemble.mapped(factors, added), frame(X)
    expected = factors * ensemble.raw_scores(columns) + added
    np.testing.assert_allclose(mapped.raw_scores(columns), expected, rtol=1e-15)
    # The first rounds have the constant, too.
    expected = factors * ensemble.raw_scores(columns, 0, 1) + added
    np.testing.assert_allclose(mapped.raw_scores(columns, 0, 1), expected, rtol=1e-15)
    inner, before = mapped.arrays["internal_value"], ensemble.arrays["internal_value"]
    assert inner[n_scores - 1] == factors[-1] * before[n_scores - 1] + added[-1]
