"""Models of LightGBM for each objective and kind, and files of its old versions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

FILES = Path(__file__).parents[1] / "files"


def lightgbm():
    return pytest.importorskip("lightgbm")


CATEGORY = 3


def data(seed=0, n=400):
    """Normal columns, some sparse, a column of categories; NaN in all of them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 2)
    X[:, 2][rng.random(n) < 0.5] = 0
    X[:, CATEGORY] = rng.integers(0, 40, n)
    y = X[:, 0] * X[:, 1] + X[:, 2] + (X[:, CATEGORY] % 3)
    X[rng.random(X.shape) < 0.08] = np.nan
    return X, y


SMALL = {
    **{
        "num_leaves": 7,
        "min_data_in_leaf": 5,
        "min_data_per_group": 5,
        "verbosity": -1,
    },
    **{"num_threads": 1, "cat_smooth": 1.0, "seed": 3},
}


OBJECTIVES = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile"), None),
    **dict.fromkeys(("mape", "poisson", "gamma", "tweedie"), None),
    "binary": 1,
    **dict.fromkeys(("cross_entropy", "cross_entropy_lambda"), 1),
    **dict.fromkeys(("multiclass", "multiclassova"), 2),
    **dict.fromkeys(("lambdarank", "rank_xendcg"), 2),
}


BAGS = {"bagging_fraction": 0.6, "bagging_freq": 1}


KINDS = {
    "gbdt": {},
    "dart": {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0},
    "rf": {"boosting": "rf", **BAGS},
    "goss": {"data_sample_strategy": "goss"},
    "no missing": {"use_missing": False},
    "zero missing": {"zero_as_missing": True},
    "linear": {"linear_tree": True},
    "monotone": {"monotone_constraints": [1, -1, 0, 0, 0]},
    "large": {"num_leaves": 200, "min_data_in_leaf": 1},
    "one leaf": {"min_data_in_leaf": 300},
    "sqrt": {"reg_sqrt": True},
    "no categories": {"categorical_feature": ""},
    "multiclass rf": {"boosting": "rf", "objective": "multiclass", **BAGS},
    "multiclass linear": {"linear_tree": True, "objective": "multiclass"},
}


def target(y, objective):
    n_labels = OBJECTIVES[objective]
    if n_labels is None:
        return np.exp(y / 4)
    return np.digitize(y, np.quantile(y, np.arange(1, n_labels + 1) / (n_labels + 1)))


def booster(X, y, **options):
    """A booster of LightGBM."""
    lgb = lightgbm()
    given = {"objective": "regression", "categorical_feature": [CATEGORY]}
    given |= SMALL | options
    objective, columns = given["objective"], given.pop("categorical_feature")
    if objective.startswith("multiclass"):
        given["num_class"] = 3
    group = [40] * 10 if OBJECTIVES[objective] == 2 and "rank" in objective else None
    train = lgb.Dataset(
        X, target(y, objective), group=group, categorical_feature=columns or []
    )
    return lgb.train(given, train, 4)
