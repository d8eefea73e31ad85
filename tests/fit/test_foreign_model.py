"""Training that continues from models of LightGBM."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import lightgbm_models as peers
from helpers.model_files_alike import SMALL, assert_same, lightgbm_frames
from skgoss import Booster, LGBMClassifier, LGBMRegressor


@pytest.mark.parametrize("objective", ["regression", "binary", "multiclass"])
def test_earlier_models_of_lightgbm(objective):
    X, y = peers.data()
    y = peers.target(y, objective)
    peer = peers.booster(*peers.data(), objective=objective)
    kind = LGBMRegressor if objective == "regression" else LGBMClassifier
    y = y if objective == "regression" else np.array(["a", "b", "c"])[y]
    model = kind(categorical_feature=[peers.CATEGORY], **SMALL)
    model.fit(X, y, init_model=Booster(model_str=peer.model_to_string()))
    assert model.n_estimators_ == 8
    np.testing.assert_array_equal(
        model.predict(X, raw_score=True, num_iteration=4),
        peer.predict(X, raw_score=True),
    )
    numbers = model._model.categories.vocabularies[peers.CATEGORY].values
    assert numbers == np.unique(X[:, peers.CATEGORY])[:-1].tolist()
    assert model.score(X, y) > kind.from_booster(
        Booster(model_str=peer.model_to_string()),
        **({} if objective == "regression" else {"classes": model.classes_}),
    ).score(X, y)
    again = kind.from_booster(Booster(model_str=model.booster_.model_to_string()))
    assert_same(again, model, X)
    after = peers.lightgbm().Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_array_equal(
        after.predict(X, raw_score=True), model.predict(X, raw_score=True)
    )


def test_earlier_models_of_lightgbm_and_data_frames():
    peer, X, new, y = lightgbm_frames()
    booster = Booster(model_str=peer.model_to_string())
    model = LGBMRegressor(**SMALL).fit(X, y, init_model=booster)
    np.testing.assert_array_equal(
        model.predict(new, num_iteration=5), peer.predict(new)
    )
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    words = model._model.categories.vocabularies
    assert {j: v.is_ordered for j, v in words.items()} == {
        **{1: False, 2: False, 3: True, 4: False, 5: False}
    }
    assert words[2].values == list("fedcba")
    assert_same(
        LGBMRegressor.from_booster(Booster(model_str=model.booster_.model_to_string())),
        model,
        X,
    )
    with pytest.raises(ValueError, match="columns of strings or categories"):
        LGBMRegressor(**SMALL).fit(X.assign(code=1), y, init_model=booster)
    numbers = np.column_stack([X["x 1"], *np.arange(5 * len(X)).reshape(5, -1) % 3])
    assert LGBMRegressor(**SMALL).fit(numbers, y, init_model=booster).n_iter_ == 9


def test_earlier_models_of_lightgbm_with_other_classes():
    X, y = peers.data()
    peer = peers.booster(X, y, objective="multiclass")
    booster = Booster(model_str=peer.model_to_string())
    with pytest.raises(ValueError, match="init_model has 3 trees per round, but 1"):
        LGBMClassifier(**SMALL).fit(X, y > 1, init_model=booster)
    labels = np.array(["b", "a", "c"])[peers.target(y, "multiclass")]
    model = LGBMClassifier.from_booster(booster, classes=["b", "a", "c"])
    before = model.score(X, labels)
    again = LGBMClassifier(n_estimators=20, **{"num_leaves": 7})
    again.fit(X, labels, init_model=model)
    assert again.classes_.tolist() == ["b", "a", "c"]
    assert again.score(X, labels) > before > 0.4
    np.testing.assert_array_equal(
        again.predict_proba(X, num_iteration=4), model.predict_proba(X)
    )


def test_a_classifier_does_not_continue_a_regression_of_lightgbm(lightgbm):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    peer = lightgbm.LGBMRegressor(n_estimators=3, verbosity=-1).fit(X, X[:, 0])
    booster = Booster(model_str=peer.booster_.model_to_string())
    with pytest.raises(TypeError, match="got a model with objective='regression'"):
        LGBMClassifier(n_estimators=2).fit(X, X[:, 0] > 0, init_model=booster)
    LGBMRegressor(n_estimators=2).fit(X, X[:, 0], init_model=booster)
