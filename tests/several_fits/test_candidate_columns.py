"""The columns of candidates, and the models of members with different ones."""

import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from helpers.columns_of_pairs import with_pairs
from skgoss import Booster, LGBMClassifier, LGBMRegressor
from skgoss.several_fits import preset_search

RNG = np.random.default_rng(1)
X = RNG.normal(size=(200, 4))
Y = X[:, 0] * X[:, 1] + 2 * np.abs(X[:, 2] - X[:, 3]) + 0.3 * RNG.normal(size=200)
CLASSES = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
NEW = RNG.normal(size=(30, 4))
NEW[3, 2] = np.nan
KINDS = {
    "mean": (LGBMRegressor(preset="accurate"), Y),
    "classes": (LGBMClassifier(preset="accurate", learning_rate=0.2), CLASSES),
    "folds": (LGBMRegressor(preset="accurate", folds=4, n_estimators=40), Y),
    "folds, classes": (
        LGBMClassifier(preset="accurate", folds=4, n_estimators=25),
        CLASSES,
    ),
}


@cache
def fitted(kind):
    estimator, y = KINDS[kind]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preset_search, "_MAX_SECONDS", 0.0)
        return clone(estimator).fit(X, y)


@pytest.fixture(params=KINDS)
def model(request):
    return fitted(request.param)


def raw(model, data):
    return model.predict(data, raw_score=True)


def test_a_model_has_the_pairs_of_all_its_members(model):
    results = model.search_results_
    kinds = [
        options["pair_features"]
        for options, weight in zip(results["params"], results["weight"], strict=True)
        if weight and options.get("pair_features")
    ]
    assert kinds == ["sums", "products"]
    pairs = model._model.schema.computed.state()
    operations = [[symbol for _, symbol, *_ in pairs[k : k + 12]] for k in (0, 12)]
    assert operations == [["-", "+"] * 6, ["*", "/"] * 6]
    of_sums = clone(model).set_params(pair_features="sums", n_estimators=1)
    alone = of_sums.fit(
        X, KINDS["mean"][1] if model._model.classes is None else CLASSES
    )
    assert alone._model.schema.computed.state() == pairs[:12]
    # The trees use columns of both kinds, and those of X.
    used = set(np.flatnonzero(model._model.trees.importances("split")))
    assert used & {*range(4)}
    assert used & {*range(4, 16)}
    assert used & {*range(16, 28)}
    assert model.n_features_in_ == 4
    assert model.feature_importances_.shape == (4,)


def test_contributions_are_exact(model):
    scores = raw(model, NEW)
    values = model.predict(NEW, pred_contrib=True)
    by_class = values.reshape(*scores.shape, 5)
    np.testing.assert_allclose(by_class.sum(axis=-1), scores, rtol=1e-9, atol=1e-12)
    inner = model.predict(NEW[:5], pred_interactions=True)
    np.testing.assert_allclose(
        inner.reshape(*by_class[:5].shape, 5).sum(axis=-1), by_class[:5], atol=1e-9
    )


def test_pickles_and_files_predict_the_same(model, tmp_path):
    expected = raw(model, NEW)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(raw(again, NEW), expected)
    model.to_file(tmp_path / "model.txt")
    loaded = type(model).from_file(tmp_path / "model.txt")
    np.testing.assert_array_equal(raw(loaded, NEW), expected)
    assert loaded.preset_params_ == model.preset_params_
    booster = Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_array_equal(booster.predict(NEW, raw_score=True), expected)
    assert booster.model_to_string() == model.booster_.model_to_string()


@pytest.mark.parametrize("kind", ["mean", "classes"])
def test_lightgbm_reads_the_trees(kind, tmp_path):
    """Rows outside the range of those of a leaf get other values in LightGBM."""
    model = fitted(kind)
    lightgbm = pytest.importorskip("lightgbm")
    model.to_file(tmp_path / "model.txt")
    theirs = lightgbm.Booster(model_file=tmp_path / "model.txt")
    found = theirs.predict(with_pairs(model, X), raw_score=True)
    np.testing.assert_allclose(found, raw(model, X), rtol=1e-9, atol=1e-12)


def test_onnx(model):
    runtime = pytest.importorskip("onnxruntime")
    from skgoss import to_onnx

    data = NEW.copy()
    data[5, :] = 0.0
    session = runtime.InferenceSession(to_onnx(model, data).SerializeToString())
    values = session.run(None, {session.get_inputs()[0].name: data})[-1]
    predict = getattr(model, "predict_proba", model.predict)
    expected = predict(data).reshape(len(data), -1)
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_later_stages_are_those_of_all_members(model):
    n = model._model.out_of_fold.n_starts
    assert n == np.count_nonzero(model.search_results_["weight"]) * (model.folds or 1)
    stages = list(model.staged_predict(NEW))
    assert len(stages) == model.n_iter_ - n + 1
    np.testing.assert_array_equal(stages[-1], model.predict(NEW))
    with pytest.raises(ValueError, match=f"is the mean of {n} models, whose first"):
        model.predict(NEW, num_iteration=n - 1)
