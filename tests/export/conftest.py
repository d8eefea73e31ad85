import numpy as np
import pytest


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)).round(2)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.15] = 0
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=400)
    return X, y
