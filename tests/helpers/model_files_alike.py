"""Models in files, which predict the same."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import lightgbm_models as peers
from helpers import mutations
from skgoss import LGBMClassifier

SMALL = {"n_estimators": 4, "num_leaves": 7, "min_child_samples": 5}
SMALL |= {"min_data_per_group": 5, "cat_smooth": 1.0}


ATTRIBUTES = (
    *("best_iteration_", "best_score_", "evals_result_", "objective_"),
    *("feature_name_", "n_features_in_", "n_estimators_"),
)
# What only some models have, where they have it.
MORE = {
    "predict_interval": lambda model, X: model.predict_interval(X, [0.5, 0.9]),
    "predict_set": lambda model, X: model.predict_set(X, [0.5, 0.9]),
    "predict_distribution": lambda model, X: model.predict_distribution(X).ppf(0.3),
    "predict_survival_function": lambda model, X: model.predict_survival_function(
        X, [0.2, 1.0]
    ),
    "oof_prediction_": lambda model, X: model.oof_prediction_,
    "oof_score_": lambda model, X: model.oof_score_,
    # Their texts tell the type of their values.
    "classes_": lambda model, X: (model.classes_, repr(model.classes_)),
    "feature_names_in_": lambda model, X: repr(model.feature_names_in_),
}


def more_of(model, X):
    """Attributes of a model other than predictions; a missing one is an error."""
    found = {}
    for name, ask in MORE.items():
        try:
            found[name] = ask(model, X)
        except (AttributeError, ValueError) as error:
            found[name] = str(error)
    return found


def assert_same(again, model, X):
    """The estimator, what it has learned and what it predicts."""
    assert type(again) is type(model)
    assert_identical(again, model, X)
    for name in ATTRIBUTES:
        assert getattr(again, name) == getattr(model, name), name
    assert again.get_params() == model.get_params()
    np.testing.assert_equal(more_of(again, X), more_of(model, X))
    state = model._model.categories.__getstate__()
    assert again._model.categories.__getstate__() == state
    assert again.booster_._model.categories.__getstate__() == state


def assert_identical(again, model, X):
    for options in ({}, {"raw_score": True}, {"pred_leaf": True}):
        np.testing.assert_array_equal(
            again.predict(X, **options), model.predict(X, **options), strict=True
        )
    if isinstance(model, LGBMClassifier):
        np.testing.assert_equal(again.predict_proba(X), model.predict_proba(X))
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
