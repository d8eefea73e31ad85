"""Models in files, which predict the same."""

from __future__ import annotations

import lightgbm_models as peers
import mutations
import numpy as np
import pytest

from skgoss import LGBMClassifier

SMALL = {"n_estimators": 4, "num_leaves": 7, "min_child_samples": 5}
SMALL |= {"min_data_per_group": 5, "cat_smooth": 1.0}


def assert_same_bits(again, model, X):
    for options in ({}, {"raw_score": True}, {"pred_leaf": True}):
        np.testing.assert_array_equal(
            again.predict(X, **options), model.predict(X, **options), strict=True
        )
    if isinstance(model, LGBMClassifier):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(
        again.booster_.predict(X), model.booster_.predict(X), strict=True
    )


def boosters():
    return [model.booster_ for model, _ in mutations.models()]


def lightgbm_frames():
    """A booster of LightGBM that was trained on a data frame, and data frames."""
    lgb, pandas = peers.lightgbm(), pytest.importorskip("pandas")
    rng, n = np.random.default_rng(0), 400
    pick = rng.integers(0, 6, n)
    X = pandas.DataFrame({"x 1": rng.normal(size=n), "whole": rng.integers(0, 20, n)})
    X["word"] = pandas.Categorical.from_codes(pick, list("fedcba"))
    X["size"] = pandas.Categorical.from_codes(pick % 3, list("SML"), ordered=True)
    X["code"] = pandas.Categorical.from_codes(pick, [9, 7, 8, 1, 3, 2])
    X["share"] = pandas.Categorical.from_codes(pick % 2, [0.5, 1.0])
    y = X["x 1"] + (pick % 2) + rng.integers(0, 2, n) + X["whole"] % 2
    X.loc[::7, ["word", "size"]] = None
    given = ["word", "code", "share", "whole"]
    train = lgb.Dataset(X, y, categorical_feature=given)
    peer = lgb.train(peers.SMALL, train, 5)
    new = X[::2].copy()
    new["word"] = new["word"].cat.rename_categories({"a": "new"})
    new["word"] = new["word"].cat.remove_unused_categories()
    new["size"] = new["size"].astype(str).astype("category")
    new["code"] = new["code"].astype(float).astype("category")
    return peer, X, new, y
