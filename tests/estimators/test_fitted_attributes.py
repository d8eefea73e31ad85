"""The attributes of fitted estimators, which do not exist before a fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skgoss import Booster, LGBMClassifier, LGBMModel, LGBMRegressor

FITTED = [
    "best_iteration_",
    "best_score_",
    "categories_",
    "evals_result_",
    "feature_importances_",
    "feature_name_",
    "n_estimators_",
    "n_features_",
    "n_iter_",
    "objective_",
]


def small(cls, **options):
    return cls(n_estimators=5, num_leaves=6, **options)


def test_attributes(iris):
    X, y = iris
    model = small(LGBMClassifier).fit(X, y)
    assert (model.n_features_, model.n_features_in_) == (4, 4)
    assert model.n_estimators_ == model.n_iter_ == 5
    assert (model.best_iteration_, model.best_score_, model.evals_result_) == (
        0,
        {},
        {},
    )
    assert model.feature_name_ == [f"Column_{i}" for i in range(4)]
    assert not hasattr(model, "feature_names_in_")
    assert model.fitted_
    assert model.classes_.tolist() == [0, 1, 2]


def test_importances_follow_the_option(iris):
    model = small(LGBMClassifier).fit(*iris)
    split = model.feature_importances_
    assert split.shape == (4,)
    assert np.issubdtype(split.dtype, np.integer)
    gain = model.set_params(importance_type="gain").feature_importances_
    assert (gain.shape, gain.dtype) == ((4,), np.float64)
    cover = model.set_params(importance_type="cover").feature_importances_
    assert (cover > 20).tolist() == (split > 0).tolist()
    model.set_params(importance_type="gini")
    with pytest.raises(ValueError, match="'importance_type' parameter"):
        _ = model.feature_importances_


@pytest.mark.parametrize("cls", [LGBMModel, LGBMClassifier, LGBMRegressor])
def test_before_fit(cls):
    model = cls()
    names = FITTED + (["classes_", "n_classes_"] if cls is LGBMClassifier else [])
    for name in names:
        with pytest.raises(NotFittedError):
            getattr(model, name)
        assert not hasattr(model, name)
    # Tools take an estimator that has such an attribute for a fitted one.
    public = [name for name in dir(model) if not name.startswith("_")]
    assert [name for name in public if name[-1] == "_" and hasattr(model, name)] == []
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError):
                getattr(model, method)([[1.0]])


def test_categories(tmp_path):
    pd = pytest.importorskip("pandas")
    y = np.arange(60) % 2
    data = pd.DataFrame(
        {
            "size": pd.Categorical(["m", "l"] * 30, ["s", "m", "l"], ordered=True),
            "city": ["Rome", "Oslo", None] * 20,
            "kg": np.arange(60.0),
            "code": [7, 3, 3] * 20,
        }
    )
    model = small(LGBMClassifier, categorical_feature=["code", "city"], folds=2)
    model.fit(data, y)
    known = {"size": ["s", "m", "l"], "city": ["Oslo", "Rome"], "code": [3, 7]}
    assert model.categories_ == known
    model.categories_["city"].clear()  # a copy
    model.to_file(tmp_path / "model.txt")
    assert LGBMClassifier.from_file(tmp_path / "model.txt").categories_ == known
    assert small(LGBMClassifier).fit(data[["kg"]], y).categories_ == {}


def test_categories_of_another_library(lightgbm):
    pd = pytest.importorskip("pandas")
    data = pd.DataFrame({"city": pd.Categorical(["Rome", "Oslo"] * 30)})
    theirs = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1, min_child_samples=1)
    text = theirs.fit(data, np.arange(60.0) % 2).booster_.model_to_string()
    model = LGBMRegressor.from_booster(Booster(model_str=text))
    with pytest.raises(AttributeError, match=r"booster_\.pandas_categorical"):
        _ = model.categories_
