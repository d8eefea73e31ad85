"""Leaf values of many rows, visited in windows, by one thread and by several."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.reading import columns as read_columns
from skgoss import LGBMRegressor, parameters
from skgoss._engine.training.grower import TreeGrower
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.training.binned import BinnedTrees

# More than two windows of rows, and enough for a team of threads.
N_ROWS = 70_000


def rows(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4))
    if sparse:
        X = np.where(rng.random(X.shape) < 0.2, X, 0.0)
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=N_ROWS)
    return X, y.astype(np.float32).astype(float), rng.random(N_ROWS)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("num_leaves", [5, 700])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_leaf_values_are_means_of_what_is_left(sparse, weighted, num_leaves, n_jobs):
    X, y, weight = rows(sparse)
    weight = weight if weighted else np.ones(N_ROWS)
    model = LGBMRegressor(
        n_estimators=3, num_leaves=num_leaves, learning_rate=0.3, n_jobs=n_jobs
    ).fit(X, y, sample_weight=weight if weighted else None)
    leaves = model.predict(X, pred_leaf=True)
    score = np.full(N_ROWS, np.average(y, weights=weight))
    for tree in range(3):
        # Gradients are floats.
        gradient = (score - y).astype(np.float32) * weight
        sums = np.bincount(leaves[:, tree], gradient)
        values = -0.3 * sums / np.bincount(leaves[:, tree], weight)
        score += values[leaves[:, tree]]
    np.testing.assert_allclose(model.predict(X), score, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_each_score_may_have_more_regularization(n_threads):
    X, y, _ = (of_rows[:3000] for of_rows in rows(False))
    gradient = np.array([y, 2.0 * X[:, 1] - y], dtype=np.float32)
    hessian = np.ones_like(gradient)

    def grown(reg_lambda, *more):
        options = {"reg_lambda": reg_lambda, "num_leaves": 9}
        settings = parameters.make_settings(options, "LGBMRegressor")
        columns = read_columns(LGBMRegressor(), X, reset=True)
        dataset = BinnedDataset.build(columns, settings)
        grower = TreeGrower(dataset, settings, 2, n_threads)
        grower.grow(gradient, hessian, None, None, None, 0, *more)
        return BinnedTrees(*grower.forest.arrays())

    several = grown(1.5, np.array([0.0, 40.0]))
    for k, reg_lambda in enumerate((1.5, 41.5)):
        of_one = zip(several.tree(k), grown(reg_lambda).tree(k), strict=True)
        for own, expected in of_one:
            np.testing.assert_array_equal(own, expected)
