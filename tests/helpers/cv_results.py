"""Results of `cv`, and those of LightGBM."""

import numpy as np

import skgoss
from skgoss import Dataset

ROUNDS = 8
BINARY = {"objective": "binary", "num_leaves": 7, "verbosity": -1}


def rows(n=300, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] + random.normal(size=n) > 0).astype(float)


def ranked(n_queries=30, seed=0):
    random = np.random.default_rng(seed)
    sizes = random.integers(3, 12, n_queries)
    X = random.normal(size=(sizes.sum(), 3))
    return X, random.integers(0, 3, len(X)).astype(float) + (X[:, 0] > 1), sizes


def cv(params=BINARY, data=None, rounds=ROUNDS, **arguments):
    X, y = rows() if data is None else data
    return skgoss.cv(params, Dataset(X, y), rounds, **arguments)


def same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
