"""Sums of more rows than a block of packed accumulators has, against NumPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from skgoss import LGBMClassifier, LGBMRegressor

N = 20_000  # rows; a block of a binary target has 4,095
ALL_SPLITS = {"min_child_samples": 1, "min_child_weight": 0.0, "min_data_in_bin": 1}


def columns(n_values: int, n_columns: int, common: float) -> np.ndarray:
    """Whole numbers, one of which has the proportion ``common`` of rows."""
    rng = np.random.default_rng(n_values)
    values = rng.integers(0, n_values, (N, n_columns))
    return np.where(rng.random(values.shape) < common, n_values // 2, values)


def one_hot(n_values: int, n_variables: int, common: float) -> np.ndarray:
    variables = columns(n_values, n_variables, common).T
    return np.hstack([np.eye(n_values)[variable] for variable in variables])


def few(n_columns: int, share: float) -> np.ndarray:
    """Columns that are zero in most rows, not in the same."""
    rng = np.random.default_rng(n_columns)
    values = rng.integers(1, 4, (N, n_columns))
    return np.where(rng.random(values.shape) < share, values, 0)


TABLES: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
    "no value is heavy": (columns(200, 6, 0.0), {}),
    "some are": (columns(200, 6, 0.5), {}),
    "all are": (columns(3, 6, 0.0), {}),
    "shared lanes": (np.hstack([columns(4, 9, 0.5), columns(200, 3, 0.5)]), {}),
    "bundles": (np.hstack([one_hot(30, 2, 0.6), columns(150, 4, 0.3)]), {}),
    "shorts": (columns(600, 5, 0.4), {"max_bin": 1000}),
    "few entries": (np.hstack([few(40, 0.02), columns(90, 2, 0.4)]), {}),
    "many lanes": (few(40, 0.3), {"enable_bundle": False}),
    "lists": (few(300, 0.01), {"enable_bundle": False}),
}


@cache
def bins_of(table: str) -> list[np.ndarray]:
    """The number of each value among those of its column, column by column."""
    X, _ = TABLES[table]
    return [np.unique(column, return_inverse=True)[1] for column in X.T]


def best_gain(
    table: str,
    gradient: np.ndarray,
    hessian: np.ndarray,
    rows: np.ndarray | slice = slice(None),
) -> float:
    """The largest gain of one split of some rows between neighboring values."""
    gradient, hessian = gradient[rows], hessian[rows]
    largest = 0.0
    for bins in bins_of(table):
        left = np.cumsum(np.bincount(bins[rows], gradient))[:-1]
        below = np.cumsum(np.bincount(bins[rows], hessian))[:-1]
        right, above = gradient.sum() - left, hessian.sum() - below
        # Without those of a side that has no rows.
        cuts = (below > 0) & (above > 1e-9)
        gain = left[cuts] ** 2 / below[cuts] + right[cuts] ** 2 / above[cuts]
        largest = max(largest, gain.max(initial=0.0))
    return float(largest - gradient.sum() ** 2 / hessian.sum())


def rows_of(table: str, weights: int) -> tuple[np.ndarray, ...]:
    X, _ = TABLES[table]
    rng = np.random.default_rng(1)
    y = rng.random(N) < expit(np.sin(X[:, 0]) + (X[:, -1] > np.median(X[:, -1])))
    return X, y, rng.integers(1, weights + 1, N)


def fit(table: str, weights: int, **options: Any) -> LGBMClassifier:
    X, y, weight = rows_of(table, weights)
    model = LGBMClassifier(**ALL_SPLITS, **TABLES[table][1], **options)
    return model.fit(X, y, sample_weight=weight if weights > 1 else None)


@pytest.mark.parametrize("weights", [1, 3])
@pytest.mark.parametrize("table", TABLES)
def test_siblings_have_what_the_other_leaves_of_their_parent(table, weights):
    """The gain, count and hessian of every node of a tree whose hessians vary."""
    X, y, weight = rows_of(table, weights)
    model = fit(table, weights, n_jobs=2, n_estimators=2, num_leaves=12)
    p = model.predict_proba(X, num_iteration=1)[:, 1]
    gradient, hessian = weight * (p - y), weight * p * (1 - p)
    tree = model._model.trees.tree(1)
    leaf = model.predict(X, pred_leaf=True)[:, 1]
    below = {~k: leaf == k for k in range(12)}
    assert tree.leaf_count.tolist() == np.bincount(leaf).tolist()
    for node in reversed(range(11)):
        rows = below[node] = (
            below[tree.left_child[node]] | below[tree.right_child[node]]
        )
        assert tree.internal_count[node] == rows.sum()
        mass, slip = hessian[rows].sum(), 1e-4 * hessian.sum()
        assert tree.internal_weight[node] == pytest.approx(mass, abs=slip)
        slip = 1e-3 * tree.split_gain.max()
        found = best_gain(table, gradient, hessian, rows)
        assert tree.split_gain[node] == pytest.approx(found, rel=1e-3, abs=slip)


@pytest.mark.parametrize("table", ["lists", "shorts", "bundles"])
def test_sums_do_not_depend_on_rounds_before(table):
    """Sums of a giant are wide, and lie where others of the round before were."""
    X, _ = TABLES[table]
    usual = np.random.default_rng(2).integers(-6, 7, N).astype(float)
    giant = np.where(np.arange(N) == 7, 2.0**30, usual)

    def trees(rounds: list[np.ndarray]) -> Any:
        left = iter(rounds)
        options = ALL_SPLITS | TABLES[table][1] | {"num_leaves": 250, "n_jobs": 1}
        model = LGBMRegressor(
            n_estimators=len(rounds),
            objective=lambda y_true, y_pred: (next(left), np.ones(N)),
            **options,
        )
        return model.fit(X, usual)._model.trees

    last, alone = trees([usual, giant]).tree(1), trees([giant]).tree(0)
    for name in ("split_feature", "split_gain", "internal_count", "leaf_value"):
        assert getattr(last, name).tolist() == getattr(alone, name).tolist()
