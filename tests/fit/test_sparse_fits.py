"""Whole fits on sparse matrices: models identical to those of dense ones."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from helpers.trees import arrays, assert_identical
from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.binning import find_bins

Model = LGBMClassifier | LGBMRegressor


@cache
def table(n_rows: int, seed: int = 0) -> np.ndarray:
    """One-hot blocks, counts, signed values and NaN among zeros, and a dense column."""
    rng = np.random.default_rng(seed)
    blocks = [np.eye(n)[rng.integers(0, n, n_rows)] for n in (3, 10, 60)]
    counts = rng.poisson(0.3, (n_rows, 4))
    signed = rng.standard_normal((n_rows, 5)) * (rng.random((n_rows, 5)) < 0.2)
    signed[rng.random(signed.shape) < 0.05] = np.nan
    rare = rng.integers(-3, 9, (n_rows, 20)) * (rng.random((n_rows, 20)) < 0.02)
    half = rng.integers(0, 300, (n_rows, 1)) * (rng.random((n_rows, 1)) < 0.5)
    full = rng.standard_normal((n_rows, 1))
    X = np.column_stack([*blocks, counts, signed, rare, half, full])
    # Exact in float32, so that all dtypes hold the same numbers.
    return X.astype(np.float32).astype(np.float64)


def target(X: np.ndarray, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    effect = rng.standard_normal(X.shape[1]) * 2
    return np.nan_to_num(X, nan=3.0) @ effect + rng.standard_normal(len(X))


def classes(X: np.ndarray, n: int) -> np.ndarray:
    y = target(X)
    return np.digitize(y, np.quantile(y, np.arange(1, n) / n))


def indexed(X: Any, dtype: str) -> Any:
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    return X


def containers(X: np.ndarray) -> dict[str, Any]:
    explicit = sparse.coo_array(np.ones_like(X))
    explicit.data[:] = X[explicit.row, explicit.col]
    return {
        "csr_array": sparse.csr_array(X),
        "csr_matrix": sparse.csr_matrix(X),
        "csc_array": sparse.csc_array(X),
        "csc_matrix": sparse.csc_matrix(X),
        "csr int64": indexed(sparse.csr_array(X), "int64"),
        "csc int64": indexed(sparse.csc_array(X), "int64"),
        "csr float32": sparse.csr_array(X.astype(np.float32)),
        "csc float32": sparse.csc_array(X.astype(np.float32)),
        "coo": sparse.coo_array(X),
        "all stored": explicit.tocsr(),
    }


MODELS: dict[str, tuple[type[Model], int]] = {
    "regressor": (LGBMRegressor, 0),
    "classifier": (LGBMClassifier, 2),
    "multiclass": (LGBMClassifier, 3),
}

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bagging": {"subsample": 0.6, "subsample_freq": 1},
    "GOSS": {"data_sample_strategy": "goss", "learning_rate": 0.3},
    "extra trees": {"extra_trees": True},
    "columns": {"colsample_bytree": 0.5, "feature_fraction_bynode": 0.7},
    "zero as missing": {"zero_as_missing": True},
    "few bins": {"max_bin": 15},
    "many bins": {"max_bin": 1000, "min_data_in_bin": 1},
    "forced bins": {"forcedbins_filename": {0: [0.5], 2: [-0.2, 0.3]}, "max_bin": 9},
    "sampled bins": {"subsample_for_bin": 40},
    "no bundles": {"enable_bundle": False},
    "no lists": {"enable_bundle": False, "is_enable_sparse": False},
    "conflicts": {"max_conflict_rate": 0.02},
    "smooth": {"path_smooth": 1.0, "max_delta_step": 0.5},
}


def labels(X: np.ndarray, n_classes: int) -> np.ndarray:
    return classes(X, n_classes) if n_classes else target(X)


def fit(kind: str, X: Any, y: np.ndarray, weight=None, **options) -> Model:
    cls, _ = MODELS[kind]
    options = {"n_estimators": 6, "n_jobs": 1, "min_child_samples": 5, **options}
    return cls(**options).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n_rows", [50, 6000])
@pytest.mark.parametrize("kind", MODELS)
def test_identical_models_in_any_container(kind, n_rows):
    X = table(n_rows)
    y = labels(X, MODELS[kind][1])
    dense = fit(kind, X, y)
    expected = dense.predict(X)
    for name, matrix in containers(X).items():
        model = fit(kind, matrix, y)
        assert_identical(model, dense)
        assert model.predict(matrix).tobytes() == expected.tobytes(), name
        assert dense.predict(matrix).tobytes() == expected.tobytes(), name


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "int64", "bool", "float16"]
)
def test_identical_models_of_whole_numbers(dtype):
    X = np.nan_to_num(table(3000)[:, :77]).clip(0).round().astype(dtype)
    y = target(X.astype(float))
    dense = fit("regressor", X, y)
    for format_ in ("csr", "csc"):
        matrix = getattr(sparse, f"{format_}_array")(sparse.coo_array(X.astype(float)))
        matrix.data = matrix.data.astype(dtype)
        assert_identical(fit("regressor", matrix, y), dense)


# Few rows of a dense matrix are not bundled, so that they have no conflicts.
@pytest.mark.parametrize("n_rows", [50, 6000])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["regressor", "multiclass"])
@pytest.mark.parametrize("options", OPTIONS)
def test_identical_models_with_any_option(kind, options, weighted, n_rows):
    if options == "conflicts":
        n_rows = 6000
    X = table(n_rows)
    y = labels(X, MODELS[kind][1])
    weight = None
    if weighted:
        weight = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 3.0], n_rows)
    models = [
        fit(kind, matrix, y, weight, **OPTIONS[options])
        for matrix in (X, sparse.csr_array(X))
    ]
    assert_identical(*models)


@pytest.mark.parametrize("n_rows", [50, 300, 6000])
@pytest.mark.parametrize("kind", MODELS)
def test_storage_changes_nothing(kind, n_rows):
    X = sparse.csr_array(table(n_rows))
    y = labels(table(n_rows), MODELS[kind][1])
    models = [
        fit(kind, X, y, enable_bundle=bundle, is_enable_sparse=lists)
        for bundle in (True, False)
        for lists in (True, False)
    ]
    for model in models[1:]:
        assert_identical(models[0], model)


@pytest.mark.parametrize("least", [1, 20, 150])
@pytest.mark.parametrize("options", ["plain", "bagging", "extra trees", "no bundles"])
def test_no_leaf_has_fewer_rows(options, least):
    X = table(3000)
    y = target(X) > np.quantile(target(X), 0.97)
    changes = {"min_child_samples": least, "min_child_weight": 0.0, "n_estimators": 10}
    model = fit("classifier", sparse.csr_array(X), y, **OPTIONS[options] | changes)
    assert arrays(model)["leaf_count"].min() >= least
    if options != "bagging":
        leaves = model.predict(sparse.csr_array(X), pred_leaf=True)
        for tree, leaf_of in zip(model._model.trees.trees, leaves.T, strict=True):
            np.testing.assert_array_equal(np.bincount(leaf_of), tree.leaf_count)


@pytest.mark.parametrize("options", ["plain", "GOSS", "columns", "extra trees"])
@pytest.mark.parametrize(("n_rows", "least"), [(50, 8), (6000, 120)])
def test_columns_that_cannot_be_split_change_nothing(options, n_rows, least):
    """Nor do they take part in the drawing of columns."""
    X, y = table(n_rows), target(table(n_rows))
    n = np.where(np.isnan(X), 1, X != 0).sum(axis=0)
    assert 0 < (n < least).sum() < X.shape[1]
    changes = OPTIONS[options] | {"min_child_samples": least}
    model = fit("regressor", sparse.csr_array(X), y, **changes)
    without = fit(
        "regressor", sparse.csr_array(np.where(n < least, 0, X)), y, **changes
    )
    assert_identical(model, without)


@pytest.mark.parametrize("options", ["plain", "GOSS", "bagging", "no bundles"])
@pytest.mark.parametrize("least", [0, 20, 100])
def test_leaving_columns_out_changes_nothing(options, least, monkeypatch):
    X, y = sparse.csr_array(table(3000)), classes(table(3000), 3)
    changes = OPTIONS[options] | {"min_child_samples": least}
    model = fit("multiclass", X, y, **changes)
    monkeypatch.setattr(
        find_bins,
        "_count_nonzero",
        lambda data, *_: np.full(data.n_features, data.n_rows),
    )
    assert_identical(model, fit("multiclass", X, y, **changes))


def test_eval_sets_and_kinds_of_prediction():
    X, y = table(2000), classes(table(2000), 3)
    model = fit("multiclass", sparse.csr_array(X), y)
    for options in ({"raw_score": True}, {"pred_leaf": True}, {"num_iteration": 2}):
        expected = model.predict(X, **options)
        for matrix in (sparse.csr_array(X), sparse.csc_matrix(X)):
            np.testing.assert_array_equal(model.predict(matrix, **options), expected)
    np.testing.assert_array_equal(
        model.predict_proba(sparse.csr_array(X[:1])), model.predict_proba(X[:1])
    )


def test_categories_in_sparse_columns():
    rng = np.random.default_rng(4)
    X = table(3000).copy()
    X[:, 0] = rng.integers(0, 12, 3000) * (rng.random(3000) < 0.4)
    X[:, 5] = rng.integers(1, 5, 3000)
    y = target(X) + np.isin(X[:, 0], [3, 7, 8]) * 9
    models = [
        fit("regressor", matrix, y, categorical_feature=[0, 5])
        for matrix in (X, sparse.csr_array(X), sparse.csc_array(X))
    ]
    for model in models[1:]:
        assert_identical(models[0], model)
        np.testing.assert_array_equal(
            model.predict(sparse.csr_array(X)), models[0].predict(X)
        )


def test_nothing_but_zeros():
    X, y = sparse.csr_array((100, 7)), np.arange(100.0)
    np.testing.assert_array_equal(fit("regressor", X, y).predict(X), np.full(100, 49.5))


def test_conflicts_cost_little_accuracy():
    X, y = make_classification(
        7000, 40, n_informative=20, n_redundant=0, random_state=0, class_sep=0.7
    )
    X *= np.random.default_rng(8).random(X.shape) < 0.08
    train, test = sparse.csr_array(X[:5000]), sparse.csr_array(X[5000:])
    losses = {}
    for rate in (0.0, 0.01):
        model = fit(
            "classifier",
            train,
            y[:5000],
            n_estimators=30,
            max_bin=15,
            max_conflict_rate=rate,
        )
        losses[rate] = log_loss(y[5000:], model.predict_proba(test))
    assert losses[0.01] < losses[0.0] + 0.01
    assert losses[0.01] != losses[0.0]


@pytest.mark.parametrize(
    "options",
    [{"enable_bundle": False}, {"is_enable_sparse": False}, {"n_jobs": 2}],
    ids=str,
)
@pytest.mark.parametrize("shape", [(5000, 60), (2000, 15_000)], ids=str)
def test_columns_that_a_node_did_not_draw_stay_open_below_it(shape, options):
    """Neighboring one-hot columns are searched together, whichever were drawn."""
    rng = np.random.default_rng(0)
    X = sparse.random(*shape, density=10 / shape[1], format="csr", random_state=rng)
    X.data[:] = 1.0
    y = X @ rng.standard_normal(shape[1]) + 0.1 * rng.standard_normal(shape[0])
    chosen = {"colsample_bynode": 0.3, "n_estimators": 5, "min_child_samples": 5}
    one = LGBMRegressor(n_jobs=1, **chosen).fit(X, y)
    other = LGBMRegressor(**{"n_jobs": 1, **options}, **chosen).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
