"""Rows that are left out, and weights of rows, in bins."""

from __future__ import annotations

import numpy as np

from helpers.binned import build
from helpers.mixed_columns import mixed, same


def test_filtered_rows_tell_which_leaves_the_bins_are_for():
    """Smaller leaves may use the bins too, as long as no column is missing for them."""
    rng = np.random.default_rng(0)
    X = np.zeros((300, 8))
    for j, n_rows in enumerate((0, 3, 7, 19, 20, 40, 300)):
        X[rng.choice(300, n_rows, replace=False), j] = rng.standard_normal(n_rows)
    X[:, 7] = 5.0
    data = build(X, min_child_samples=20, weight=rng.choice([1.0, 2.0], 300))
    assert data.filtered_rows == 19
    assert build(X, min_child_samples=19).filtered_rows == 7
    assert build(X, min_child_samples=3).filtered_rows == 0
    assert build(X[:, 4:], min_child_samples=20).filtered_rows == 0
    rows = np.flatnonzero(rng.random(300) < 0.5)
    n_others = np.count_nonzero(X[rows, :7], axis=0)
    some = build(X, min_child_samples=20, rows=rows)
    assert some.filtered_rows == n_others[n_others < 20].max()
    assert data.take(rows).filtered_rows == 19
    for least in (1, 4, 8, 20, 21, 50):
        filtered = build(X, min_child_samples=least)
        for later in range(1, least):
            fresh = build(X, min_child_samples=later)
            assert same(filtered, fresh) == (later > filtered.filtered_rows)


def test_rows_left_out_do_not_exist():
    X = mixed()
    rows = np.flatnonzero(np.random.default_rng(2).random(len(X)) < 0.4)
    assert same(build(X[rows]), build(X, rows=rows))
    weight = np.random.default_rng(3).exponential(size=len(X))
    assert same(build(X[rows], weight=weight[rows]), build(X, weight=weight, rows=rows))


def test_equal_weights_are_none():
    X = mixed()
    assert same(build(X), build(X, weight=np.full(len(X), 0.37)))
