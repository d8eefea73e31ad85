"""How a task weighs classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.utils.class_weight import compute_sample_weight

from skgoss import LGBMClassifier
from skgoss.columns import targets


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def two_classes(iris):
    X, y = iris
    return X[y > 0], y[y > 0]


def small(cls, **options):
    return cls(n_estimators=5, num_leaves=6, **options)


def test_a_class_without_weight_stays_a_class(iris):
    X, y = iris
    model = small(LGBMClassifier).fit(X, y, sample_weight=y != 1)
    assert model.classes_.tolist() == [0, 1, 2]
    proba = model.predict_proba(X)
    assert proba.shape == (150, 3)
    assert proba[:, 1].max() < 1e-6
    model = small(LGBMClassifier).fit(X[y > 0], y[y > 0], sample_weight=y[y > 0] == 2)
    assert (model.predict(X) == 2).all()


@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.5}, "balanced"])
def test_class_weight_multiplies_sample_weight(iris, class_weight):
    X, y = iris[0][:120], iris[1][:120]
    if class_weight != "balanced":
        class_weight = {0: 3.0, 1: 1.0, 2: 0.5}
    model = small(LGBMClassifier, class_weight=class_weight).fit(X, y)
    weight = compute_sample_weight(class_weight, y)
    same = small(LGBMClassifier).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=1e-9)


def test_class_weight_by_label():
    X, y = np.arange(60.0)[:, None], np.array(["a", "b"] * 30)
    heavy = small(LGBMClassifier, class_weight={"a": 9.0, "b": 1.0}).fit(X, y)
    np.testing.assert_allclose(heavy.predict_proba(X)[:, 0].mean(), 0.9, atol=0.05)
    only = small(LGBMClassifier, class_weight={"a": 0, "b": 1}).fit(X, y)
    assert (only.predict(X) == "b").all()


def test_balanced_counts_weights_as_copies():
    model = small(LGBMClassifier, class_weight="balanced")
    y = np.array([0, 0, 0, 1, 1, 2])
    weight = np.array([1, 2, 0, 1, 0, 3])
    X = np.arange(6.0)[:, None]
    model.fit(X, y, sample_weight=weight)
    labels = model.classes_
    weighted = targets.class_weights("balanced", y, weight, labels)
    copies = targets.class_weights("balanced", np.repeat(y, weight), np.ones(7), labels)
    np.testing.assert_array_equal(weighted, copies)


def test_balanced_multiplies_sample_weight(two_classes):
    X, y = two_classes[0], two_classes[1] - 1
    weight = np.where(y == 0, 4.0, 1.0)
    model = small(LGBMClassifier, class_weight="balanced")
    model.fit(X, y, sample_weight=weight)
    balance = weight.sum() / 2 / np.bincount(y, weight)
    same = small(LGBMClassifier).fit(X, y, sample_weight=balance[y] * weight)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X))
