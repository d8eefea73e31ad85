"""Classifiers: labels, probabilities and raw scores."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.multioutput import MultiOutputClassifier

from skgoss import LGBMClassifier


def small(cls, **options):
    return cls(n_estimators=5, num_leaves=6, **options)


def test_binary_outputs(two_classes):
    X, y = two_classes
    labels = np.array(["no", "yes"])[y - 1]
    model = small(LGBMClassifier).fit(X, labels)
    proba, raw = model.predict_proba(X), model.predict(X, raw_score=True)
    assert (proba.shape, raw.shape) == ((100, 2), (100,))
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-raw)), rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_array_equal(model.decision_function(X), raw)
    np.testing.assert_array_equal(model.predict_proba(X, raw_score=True), raw)
    prediction = model.predict(X)
    assert prediction.dtype == labels.dtype
    np.testing.assert_array_equal(prediction == "yes", raw > 0)
    assert model.predict_proba(X, pred_leaf=True).shape == (100, 5)
    assert model.score(X, labels) > 0.9


def test_multiclass_outputs(iris):
    X, y = iris
    model = small(LGBMClassifier).fit(X, y - 1.0)
    proba, raw = model.predict_proba(X), model.decision_function(X)
    assert proba.shape == raw.shape == (150, 3)
    power = np.exp(raw - raw.max(axis=1, keepdims=True))
    expected = power / power.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(proba, expected, rtol=1e-12)
    assert model.predict(X, pred_leaf=True).shape == (150, 15)
    np.testing.assert_array_equal(model.predict(X), proba.argmax(axis=1) - 1.0)
    assert model.score(X, y - 1.0) > 0.9
    assert (model.n_classes_, model.objective_) == (3, "multiclass")


def test_num_class_adds_no_classes(iris):
    X, y = iris
    given = LGBMClassifier(n_estimators=2, num_class=5).fit(X, y)
    plain = LGBMClassifier(n_estimators=2).fit(X, y)
    np.testing.assert_array_equal(given.predict_proba(X), plain.predict_proba(X))
    one_class = LGBMClassifier(objective="multiclass", num_class=3)
    with pytest.raises(ValueError, match="cannot be used for 1 classes"):
        one_class.fit(X[y == 0], y[y == 0])


def test_one_versus_all_is_not_normalised(iris):
    X, y = iris
    model = small(LGBMClassifier, objective="ovr").fit(X, y)
    assert model.objective_ == "multiclassova"
    raw = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-raw)))


@pytest.mark.parametrize("label", ["only", 3, 2.0, True])
def test_one_class_is_learned(label):
    X, y = np.arange(10.0)[:, None], np.full(10, label)
    model = small(LGBMClassifier).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_allclose(model.predict_proba(X), np.ones((10, 1)), rtol=1e-12)
    assert model.decision_function(X).shape == (10,)


@pytest.mark.parametrize("kind", [list, tuple, "i2", "U4", "f4", "?"])
def test_labels_of_any_kind(two_classes, kind):
    X, y = two_classes
    y = y - 1
    labels = y.astype(kind) if isinstance(kind, str) else kind(y.tolist())
    model = small(LGBMClassifier).fit(X, labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    assert model.score(X, labels) > 0.9


def logistic(y_true, y_pred):
    p = 1 / (1 + np.exp(-y_pred))
    return p - y_true, p * (1 - p)


def softmax(y_true, y_pred):
    power = np.exp(y_pred - y_pred.max(axis=1, keepdims=True))
    p = power / power.sum(axis=1, keepdims=True)
    return p - np.eye(y_pred.shape[1])[y_true.astype(int)], 1.5 * p * (1 - p)


@pytest.mark.parametrize(
    ("function", "n_classes", "shape"), [(logistic, 2, (150,)), (softmax, 3, (150, 3))]
)
def test_custom_classification_returns_raw_scores(iris, function, n_classes, shape):
    X, y = iris[0], np.minimum(iris[1], n_classes - 1)
    model = small(LGBMClassifier, objective=function).fit(X, y)
    raw = model.decision_function(X)
    assert raw.shape == shape
    for method in (model.predict, model.predict_proba):
        with pytest.warns(UserWarning, match="Cannot compute class probabilities"):
            output = method(X)
        np.testing.assert_array_equal(output, raw)
        np.testing.assert_array_equal(method(X, raw_score=True), raw)
    named = small(LGBMClassifier, boost_from_average=False).fit(X, y)
    np.testing.assert_allclose(raw, named.decision_function(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("weight", [None, np.arange(150) % 3 + 0.5])
@pytest.mark.parametrize("words", [False, True])
def test_the_score_of_several_targets_counts_rows_that_are_right(weight, words):
    X, y = load_iris(return_X_y=True)
    both = np.column_stack([y, np.random.default_rng(0).permutation(y)])
    if words:
        both = np.array(["a", "b", "c"])[both]
    model = LGBMClassifier(n_estimators=5).fit(X, both)
    each = MultiOutputClassifier(LGBMClassifier(n_estimators=5)).fit(X, both)
    assert 0.5 < model.score(X, both) == each.score(X, both) < 1
    right = (model.predict(X) == both).all(axis=1)
    expected = np.average(right, weights=weight)
    assert model.score(X, both, sample_weight=weight) == expected
    assert cross_val_score(model, X, both).shape == (5,)
