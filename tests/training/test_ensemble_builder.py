"""Start scores, constant trees and the end of rounds."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.fits import fit, smooth_target, table
from skgoss.model.trees import DEFAULT_LEFT


def small(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    X = table(n, 4, seed=9)
    return X, smooth_target(X)


def test_start_score():
    X, y = small()
    y = y + 5.0
    with_start = fit(X, y, n_estimators=1, learning_rate=0.1)
    without = fit(X, y, n_estimators=1, learning_rate=0.1, boost_from_average=False)
    np.testing.assert_allclose(with_start.raw().mean(), y.mean())
    np.testing.assert_allclose(without.raw().mean(), 0.1 * y.mean())


def test_learning_rate_scales_the_first_tree():
    X, y = small()
    steps = [
        fit(X, y, n_estimators=1, learning_rate=rate).raw() - y.mean()
        for rate in (0.1, 0.4)
    ]
    np.testing.assert_allclose(4 * steps[0], steps[1], atol=1e-12)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("objective", ["regression", "regression_l1", "poisson"])
def test_constant_target_gives_one_constant_tree(objective, average):
    X, _ = small()
    y = np.full(len(X), 3.0)
    fitted = fit(X, y, objective=objective, boost_from_average=average, n_estimators=10)
    if average or objective != "regression":
        assert fitted.ensemble.n_rounds <= 10
    if average:
        assert fitted.ensemble.n_rounds == 1
        np.testing.assert_allclose(fitted.objective.link(fitted.raw()), 3.0)


def test_no_feature_can_be_split():
    y = np.arange(50.0)
    fitted = fit(np.ones((50, 2)), y)
    assert fitted.ensemble.n_rounds == 1
    assert fitted.ensemble.tree(0).leaf_count == [50]
    np.testing.assert_allclose(fitted.raw(), y.mean())


def test_too_few_rows_for_two_leaves():
    X, y = small(39)
    fitted = fit(X, y, min_child_samples=20)
    assert fitted.ensemble.n_rounds == 1
    np.testing.assert_allclose(fitted.raw(), y.mean())


def test_one_class_that_cannot_be_split_keeps_its_average():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = (X[:, 0] > 0).astype(float)
    y[:3] = 2.0
    fitted = fit(
        X,
        y,
        objective="multiclassova",
        n_classes=3,
        n_estimators=3,
        min_child_weight=2.0,
    )
    assert [tree.n_leaves > 1 for tree in fitted.ensemble.trees][:3] == [1, 1, 0]
    np.testing.assert_allclose(fitted.raw(1)[:, 2], np.log(3 / 397))


def test_rounds_end_when_nothing_is_gained():
    X = np.repeat([0.0, 1.0], 20)[:, None]
    fitted = fit(X, X[:, 0], learning_rate=1.0, n_estimators=50)
    assert fitted.ensemble.n_rounds == 1
    np.testing.assert_allclose(fitted.raw(), X, atol=1e-12)


def test_after_round_sees_every_round_and_stops():
    X, y = small()
    whole = fit(X, y, n_estimators=6)
    seen = []

    def after_round(index, ensemble_so_far):
        ensemble = ensemble_so_far()
        seen.append((index, ensemble.n_rounds))
        np.testing.assert_array_equal(
            ensemble.raw_scores(whole.columns, 0, index + 1, 1), whole.raw(index + 1)
        )
        return index == 3

    stopped = fit(X, y, n_estimators=6, after_round=after_round)
    assert seen == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert stopped.ensemble.n_rounds == 4
    np.testing.assert_array_equal(stopped.raw(), whole.raw(4))


def test_where_nothing_is_missing_the_default_is_left():
    X, y = small()
    X += np.array([0.0, 5.0, -5.0, 0.0])
    trees = fit(X, y, n_estimators=5, use_missing=False).ensemble.arrays
    assert len(np.unique(trees["split_feature"])) > 1
    assert (trees["decision_type"] == DEFAULT_LEFT).all()
