"""Trees of a subset of the features: the same models from rows of these alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import random as random_sparse

from skgoss import LGBMClassifier, LGBMRegressor
from skgoss._engine.training import grower_inputs

N = 5000
NEVER, ALWAYS = 0.0, np.inf
FEW = {"n_estimators": 4, "num_leaves": 15, "min_child_samples": 5}


def tables() -> dict[str, Any]:
    """Plain columns, digits, bundles, entries, shorts, both, and few rows."""
    rng = np.random.default_rng(7)
    plain = rng.normal(size=(N, 30))
    plain[rng.random(plain.shape) < 0.1] = np.nan
    digits = plain.copy()
    digits[:, :20] = rng.integers(0, 2, (N, 20))
    digits[:, 20:24] = rng.integers(0, 12, (N, 4))
    bundles = np.zeros((N, 65))
    for k in range(3):
        bundles[np.arange(N), 20 * k + rng.integers(0, 20, N)] = rng.integers(1, 4, N)
    bundles[:, 60:] = plain[:, :5]
    listed = random_sparse(N, 300, 0.03, format="csr", random_state=1)
    shorts = np.round(plain, 3)
    # More rows of a value than a block of packed accumulators may have.
    common = np.where(rng.random(shorts.shape) < 0.9, 0.5, shorts)
    return {
        "plain": plain,
        "common": common,
        "digits": digits,
        "common digits": np.where(rng.random(shorts.shape) < 0.9, 1.0, digits),
        "bundles": bundles,
        "entries": listed,
        "shorts": shorts,
        "shorts and entries": np.hstack([common[:, :10], listed.toarray()]),
        "small": plain[:400],
    }


TABLES = tables()
MANY = {"max_bin": 1000, "min_data_in_bin": 1}
BINS = {"shorts": MANY, "shorts and entries": MANY}
FORCED = {"feature": 9, "threshold": 0.1, "right": {"feature": 11, "threshold": 0.2}}
OPTIONS: dict[str, dict[str, Any]] = {
    "half": {"colsample_bytree": 0.5},
    "bag": {"colsample_bytree": 0.3, "subsample": 0.5, "subsample_freq": 1},
    "rare": {"colsample_bytree": 0.3, "subsample": 0.05, "subsample_freq": 1},
    "goss": {"data_sample_strategy": "goss", "learning_rate": 0.5},
    "apart": {"enable_bundle": False, "is_enable_sparse": False},
    "leaves": {"num_leaves": 150, "min_child_samples": 2},
    "nodes": {"feature_fraction_bynode": 0.5},
    "extra": {"extra_trees": True},
    "forced": {"colsample_bytree": 0.1, "forced_splits": FORCED},
    "sets": {"interaction_constraints": [list(range(12)), list(range(10, 30))]},
}


def bits(monkeypatch, most_work, model, X, y, **given) -> bytes:
    """All predictions of a fit that packs sampled features always, or never."""
    monkeypatch.setattr(grower_inputs, "MAX_RELATIVE_WORK", most_work)
    return model.fit(X, y, **given).predict(X, raw_score=True).tobytes()


def both(monkeypatch, estimator, options, X, y, **given) -> None:
    """Fits with and without packing, on one thread and two, are identical."""
    options = FEW | {"colsample_bytree": 0.4} | options
    models = [
        bits(monkeypatch, most_work, estimator(n_jobs=n, **options), X, y, **given)
        for most_work, n in ((NEVER, 1), (ALWAYS, 1), (ALWAYS, 2))
    ]
    assert models[0] == models[1] == models[2]


def labels(X: Any, n_classes: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    first = X[:, :4].toarray() if hasattr(X, "toarray") else X[:, -4:]
    score = np.nan_to_num(first).sum(axis=1) + rng.normal(size=X.shape[0])
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("options", OPTIONS)
def test_packing_sampled_features_changes_no_model(monkeypatch, table, options):
    X = TABLES[table]
    options = OPTIONS[options] | BINS.get(table, {})
    both(monkeypatch, LGBMClassifier, options, X, labels(X, 2))


@pytest.mark.parametrize("table", TABLES)
def test_trees_side_by_side_have_rows_of_their_own(monkeypatch, table):
    X = TABLES[table]
    options = {"n_estimators": 2, "subsample": 0.6, "subsample_freq": 1}
    both(monkeypatch, LGBMClassifier, options | BINS.get(table, {}), X, labels(X, 3))


@pytest.mark.parametrize("table", TABLES)
def test_wide_rounds_are_packed_as_well(monkeypatch, table):
    X = TABLES[table]
    rng = np.random.default_rng(5)
    weight = np.exp(4 * rng.normal(size=X.shape[0]))
    y = np.exp(6 * rng.normal(size=X.shape[0]))
    both(monkeypatch, LGBMRegressor, BINS.get(table, {}), X, y, sample_weight=weight)


def test_categories_are_packed_as_well(monkeypatch):
    X = TABLES["plain"].copy()
    X[:, :6] = np.random.default_rng(2).integers(0, 30, (N, 6))
    both(monkeypatch, LGBMClassifier, {}, X, labels(X, 2), categorical_feature=range(6))


def one_hot_table() -> np.ndarray:
    """One-hot columns of 0 and 1, then of -1 and 0, with numbers between them."""
    rng = np.random.default_rng(11)
    one_hot = np.zeros((N, 700))
    for k in range(7):
        levels = np.minimum(rng.geometric(0.04, N) - 1, 99)
        one_hot[np.arange(N), 100 * k + levels] = 1.0 if k < 5 else -1.0
    one_hot[:, ::150] = rng.normal(size=(N, 5))
    return one_hot


@pytest.mark.parametrize("fraction", [0.02, 0.4, 0.97])
@pytest.mark.parametrize("options", ["half", "bag", "nodes", "sets"])
def test_sampled_one_hot_columns_are_searched_like_others(options, fraction):
    """Vectors of columns with one cut find the split of a search column by column."""
    X = one_hot_table()
    y = labels(X[:, :400], 2)
    options = FEW | OPTIONS[options] | {"colsample_bytree": fraction}
    # As dense columns, all bins are in the histogram, so no vectors are searched.
    plain = {"enable_bundle": False, "is_enable_sparse": False}
    models = [
        LGBMClassifier(n_jobs=n, **options | changes).fit(X, y)
        for changes, n in (({}, 1), ({}, 2), (plain, 1))
    ]
    assert models[0].booster_.num_trees() == FEW["n_estimators"]
    raw = [model.predict(X, raw_score=True).tobytes() for model in models]
    assert raw[0] == raw[1] == raw[2]
