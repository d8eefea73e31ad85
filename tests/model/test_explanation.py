"""SHAP values in predictions, and in the types of the package shap."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from skgoss import (
    Booster,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    UnusedParameterWarning,
)

N, F = 300, 4
rng = np.random.default_rng(0)
X = rng.normal(size=(N, F))
Y = X[:, 0] * X[:, 1] + X[:, 2]
MANY = np.digitize(Y, [-1, 1])
QUERIES = np.repeat(np.arange(30), 10)
OPTIONS = {"n_estimators": 8, "num_leaves": 7}


def models():
    return [
        LGBMRegressor(**OPTIONS).fit(X, Y),
        LGBMRegressor(boosting_type="dart", **OPTIONS).fit(X, Y),
        LGBMRegressor(
            boosting_type="rf", subsample=0.5, subsample_freq=1, **OPTIONS
        ).fit(X, Y),
        LGBMClassifier(**OPTIONS).fit(X, Y > 0),
        LGBMClassifier(**OPTIONS).fit(X, MANY),
        LGBMClassifier(objective="multiclassova", **OPTIONS).fit(X, MANY),
        LGBMRanker(**OPTIONS).fit(X, MANY, qid=QUERIES),
    ]


LINEAR = [
    LGBMRegressor(linear_tree=True, **OPTIONS).fit(X, Y),
    LGBMClassifier(linear_tree=True, **OPTIONS).fit(X, MANY),
]


@pytest.mark.parametrize("model", models() + LINEAR, ids=str)
def test_values_add_up_to_raw_scores(model):
    values = model.predict(X, pred_contrib=True)
    raw = model.predict(X, raw_score=True)
    n_scores = 1 if raw.ndim == 1 else raw.shape[1]
    assert values.shape == (N, n_scores * (F + 1))
    by_score = values.reshape(N, n_scores, F + 1)
    scale = np.abs(raw).max()
    np.testing.assert_allclose(
        by_score.sum(axis=2), raw.reshape(N, n_scores), rtol=0, atol=1e-10 * scale
    )
    with pytest.warns(UnusedParameterWarning, match="pred_leaf and raw_score: no eff"):
        found = model.booster_.predict(
            X, pred_contrib=True, pred_leaf=True, raw_score=True
        )
    np.testing.assert_array_equal(values, found)
    with pytest.warns(UnusedParameterWarning, match="effect with pred_interactions"):
        pairs = model.predict(X, pred_interactions=True, pred_contrib=True)
    shape = (N, F + 1, F + 1) if n_scores == 1 else (N, n_scores, F + 1, F + 1)
    assert pairs.shape == shape
    np.testing.assert_allclose(
        pairs.reshape(N, n_scores, F + 1, F + 1).sum(axis=3),
        by_score,
        rtol=0,
        atol=1e-10 * scale,
    )
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X, pred_contrib=True), values)


def test_rounds_and_threads():
    model = models()[0]
    first = model.predict(X, pred_contrib=True, num_iteration=3)
    rest = model.predict(X, pred_contrib=True, start_iteration=3, n_jobs=1)
    whole = model.predict(X, pred_contrib=True, n_jobs=2)
    np.testing.assert_allclose(first + rest, whole)


@pytest.mark.parametrize("target", [Y > 0, MANY])
def test_sparse_rows_give_sparse_values(target):
    zeros = np.where(np.abs(X) < 0.5, 0.0, X)
    model = LGBMClassifier(**OPTIONS).fit(zeros, target)
    dense = model.predict(zeros, pred_contrib=True)
    found = model.predict(sparse.csr_array(zeros), pred_contrib=True)
    parts = found if isinstance(found, list) else [found]
    assert all(part.format == "csr" and part.shape == (N, F + 1) for part in parts)
    np.testing.assert_array_equal(np.hstack([p.toarray() for p in parts]), dense)


@pytest.mark.parametrize("model", models(), ids=str)
def test_values_are_those_of_lightgbm(model, lightgbm):
    theirs = lightgbm.Booster(model_str=model.booster_.model_to_string())
    # LightGBM's raw scores of forests are sums and not means.
    scale = model.n_iter_ if model.boosting_type == "rf" else 1
    np.testing.assert_allclose(
        scale * model.predict(X, pred_contrib=True),
        theirs.predict(X, pred_contrib=True),
        atol=1e-10,
    )


def test_values_of_linear_leaves_add_up_whatever_was_done_with_them():
    options = OPTIONS | {"linear_tree": True}
    booster = LGBMRegressor(**options).fit(X, Y).booster_
    constant = LGBMRegressor(**OPTIONS).fit(X, Y)
    rows = np.concatenate([X[:20], 3 * X[:20]])
    rows[::7, 1] = np.nan
    for other in (
        booster.refit(X[:100], -Y[:100], decay_rate=0.3),
        LGBMRegressor(**options).fit(X, Y, init_model=constant),
        LGBMRegressor(folds=3, **options).fit(X, Y),
    ):
        values = other.predict(rows, pred_contrib=True)
        raw = other.predict(rows, raw_score=True)
        np.testing.assert_allclose(values.sum(axis=1), raw, rtol=0, atol=1e-12)
    values = booster.predict(rows, pred_contrib=True)
    for same in (
        Booster(model_str=booster.model_to_string()),
        pickle.loads(pickle.dumps(booster)),
    ):
        np.testing.assert_array_equal(same.predict(rows, pred_contrib=True), values)


def test_linear_leaves_of_lightgbm_have_no_values(lightgbm):
    model = LGBMRegressor(linear_tree=True, **OPTIONS).fit(X, Y)
    theirs = lightgbm.Booster(model_str=model.booster_.model_to_string())
    again = Booster(model_str=theirs.model_to_string())
    for argument in ("pred_contrib", "pred_interactions"):
        with pytest.raises(ValueError, match="does not hold the means"):
            again.predict(X, **{argument: True})


def test_explanation(shap):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["town"] = np.where(Y > 0, "Rome", "Oslo")
    model = LGBMClassifier(**OPTIONS).fit(frame, Y > 0)
    explained = model.explain(frame)
    assert isinstance(explained, shap.Explanation)
    values = model.predict(frame, pred_contrib=True)
    np.testing.assert_array_equal(explained.values, values[:, :-1])
    np.testing.assert_array_equal(explained.base_values, values[:, -1])
    assert explained.feature_names == ["a", "b", "c", "d", "town"]
    np.testing.assert_array_equal(explained.data[:, :4], X)
    assert set(explained.display_data[:, 4]) == {"Oslo", "Rome"}
    np.testing.assert_array_equal(
        explained.data[:, 4], explained.display_data[:, 4] == "Rome"
    )
    of_booster = model.booster_.explain(frame)
    np.testing.assert_array_equal(of_booster.values, explained.values)
    part = model.explain(frame, num_iteration=3, n_jobs=1).values
    np.testing.assert_array_equal(
        part, model.predict(frame, pred_contrib=True, num_iteration=3)[:, :-1]
    )


@pytest.mark.parametrize("interactions", [False, True])
def test_explanation_of_classes(interactions):
    pytest.importorskip("shap")
    model = LGBMClassifier(**OPTIONS).fit(X, np.array(["x", "y", "z"])[MANY])
    explained = model.explain(X[:20], interactions=interactions)
    raw = model.decision_function(X[:20])
    assert explained.output_names == ["x", "y", "z"]
    assert explained.shape == ((20, F, F, 3) if interactions else (20, F, 3))
    sums = explained.values.sum(axis=(1, 2) if interactions else 1)
    np.testing.assert_allclose(sums + explained.base_values, raw)
    of_class = explained[..., 1] if interactions else explained[:, :, "y"]
    np.testing.assert_array_equal(of_class.values, explained.values[..., 1])
    np.testing.assert_array_equal(of_class.base_values, explained.base_values[:, 1])


def test_explanation_without_shap(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        models()[0].explain(X)


@pytest.mark.parametrize("model", models(), ids=str)
def test_trees_for_shap(model, shap):
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    booster = model.booster_
    trees = booster.trees_for_shap()
    found = shap.TreeExplainer(trees).shap_values(holes[:20])
    raw = booster.predict(holes[:20], raw_score=True)
    expected = booster.predict(holes[:20], pred_contrib=True).reshape(20, -1, F + 1)
    np.testing.assert_allclose(
        found.reshape(20, F, -1), np.moveaxis(expected[:, :, :-1], 1, 2), atol=1e-10
    )
    explainer = shap.TreeExplainer(trees, data=X[:50])
    sums = explainer.shap_values(holes[:20]).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(sums, raw, atol=1e-5)


def test_what_shap_does_not_know(shap):
    with pytest.raises(Exception, match="not yet supported by TreeExplainer") as caught:
        shap.TreeExplainer(LGBMRegressor(**OPTIONS).fit(X, Y))
    # The message is shap's, so a page says what to do.
    page = Path(__file__).parents[2] / "docs" / "explain.md"
    assert str(caught.value).partition(":")[0] in " ".join(page.read_text().split())
    category = LGBMRegressor(categorical_feature=[0], **OPTIONS)
    category.fit(np.digitize(X, [-1, 0, 1]), X[:, 0])
    with pytest.raises(ValueError, match="splits on categories"):
        category.booster_.trees_for_shap()
    zeros = np.where(np.abs(X) < 0.5, 0.0, X)
    zero = LGBMRegressor(zero_as_missing=True, **OPTIONS).fit(zeros, Y)
    with pytest.raises(ValueError, match="zeros as missing"):
        zero.booster_.trees_for_shap()
    linear = LGBMRegressor(linear_tree=True, **OPTIONS).fit(X, Y)
    with pytest.raises(ValueError, match="linear leaves"):
        linear.booster_.trees_for_shap()


def test_estimators_of_lightgbm_s_models_explain_data_frames(pandas, lightgbm):
    pytest.importorskip("shap")
    peer = lightgbm.train({"verbosity": -1}, lightgbm.Dataset(X, Y), 3)
    booster = Booster(model_str=peer.model_to_string())
    model = LGBMRegressor.from_booster(booster)
    rows = pandas.DataFrame(X).rename(columns="c{}".format)
    explained = model.explain(rows)  # the names of the columns are not compared
    np.testing.assert_array_equal(
        explained.values, model.predict(rows, pred_contrib=True)[:, :-1]
    )
