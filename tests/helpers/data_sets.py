"""Data sets, and how often they were binned."""

import numpy as np

N = 300
SMALL = {"n_estimators": 5, "num_leaves": 7}


def made(n=N, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    return X, X[:, 0] - X[:, 1] * X[:, 2] + 0.1 * random.normal(size=n)


def text(model):
    """The trees of a Booster or an estimator."""
    booster = getattr(model, "booster_", model)
    return booster.model_to_string().split("\nparameters:")[0]


def codes():
    """A column of categories whose targets have no order, and a column of numbers."""
    rng = np.random.default_rng(0)
    codes = np.arange(1000) % 20
    return np.c_[codes, rng.random(1000)], rng.permutation(20)[codes].astype(float)
