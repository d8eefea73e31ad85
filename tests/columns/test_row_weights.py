"""The weights of rows and classes: they are multiplied, and count as copies."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from helpers.parts_of_rows import read
from helpers.ranks import run
from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.columns import row_weights
from skgoss.distributed.row_partition import Parts
from skgoss.fit.arguments import FitArguments


def small(cls, **options):
    return cls(n_estimators=5, num_leaves=6, **options)


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
    weights = row_weights.class_weights
    weighted = weights("balanced", y, weight, labels)
    copies = weights("balanced", np.repeat(y, weight), np.ones(7), labels)
    np.testing.assert_array_equal(weighted, copies)


def test_balanced_multiplies_sample_weight(two_classes):
    X, y = two_classes[0], two_classes[1] - 1
    weight = np.where(y == 0, 4.0, 1.0)
    model = small(LGBMClassifier, class_weight="balanced")
    model.fit(X, y, sample_weight=weight)
    balance = weight.sum() / 2 / np.bincount(y, weight)
    same = small(LGBMClassifier).fit(X, y, sample_weight=balance[y] * weight)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X))


def test_weights_of_all_rows_must_not_be_zero():
    def work(collectives, weights):
        parts = Parts(collectives, {collectives.rank: 2})
        given = FitArguments(sample_weight=weights[collectives.rank])
        read(LGBMRegressor(), np.ones((2, 1)), np.ones(2), given, parts)

    with pytest.raises(ValueError, match="sample_weight and class_weight are all zero"):
        run(2, lambda e: work(e, [[0, 0], [0, 0]]))
    with pytest.raises(ValueError, match="too large: their sum overflows"):
        run(2, lambda e: work(e, [[1e308, 0], [1e308, 0]]))
    with pytest.raises(ValueError, match="The arguments other than X must be the same"):
        run(2, lambda e: work(e, [None, [1, 1]]))
