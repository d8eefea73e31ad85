"""Rows with several targets of numbers or classes."""

import numpy as np
import pytest

from skgoss import LGBMClassifier, LGBMRegressor

SMALL = {"n_estimators": 8, "num_leaves": 7, "min_child_samples": 5, "random_state": 3}


def make_data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(2)
    X[::7, 1] = np.nan
    X[:, 4] = rng.integers(0, 6, n)
    noise = rng.normal(size=(n, 3))
    Y = np.column_stack([X[:, 0], np.exp(X[:, 2]), 2 * (X[:, 4] == 1) + X[:, 3]])
    return X, Y + 0.3 * np.abs(noise), rng.integers(0, 4, n)


X, Y, WEIGHT = make_data()
X_VALID, Y_VALID, WEIGHT_VALID = make_data(150, 1)


def classes(Y):
    """Two, four and two classes."""
    return np.column_stack(
        [Y[:, 0] > 0.3, np.digitize(Y[:, 1], [0.8, 1.3, 2.0]), 2 * (Y[:, 2] > 0.5)]
    )


C, C_VALID = classes(Y), classes(Y_VALID)
LABELS = {
    "mixed": C,
    "multilabel": (C[:, [0, 2]] > 0) * 1,
    "many classes": C[:, [1, 1]],
    "words": np.array(["a", "b", "c", "d"])[C],
    "one class": np.column_stack([C, np.zeros(len(C), dtype=int)]),
}
quiet = pytest.mark.filterwarnings("ignore:No tree of")


@pytest.fixture(scope="module")
def regressor():
    return LGBMRegressor(**SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def classifier():
    return LGBMClassifier(**SMALL).fit(X, C)
