"""Public scripts as tests: the decorator that runs them, and the data they read.

A script is a function of a module. The same code runs with `lightgbm` and with
`skgoss`, and returns scores of rows that were held out, by name.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
import warnings
from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

# Where the rules are the same, so are the trees: scores differ by the last bits of sums
# and by labels, which LightGBM keeps in float32.
NEAR = 1e-6

# Where hessians differ from row to row, LightGBM estimates from them how many rows a
# leaf has; skgoss counts. The rules are the same if one row is enough, and the sum of
# hessians in a leaf is limited instead.
LEAVES = {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 5.0}


def script(*, noise=(), above=(), below=(), adapter=None):
    """Make a test of a script, which takes the module `lgb` and returns scores.

    Parameters
    ----------
    noise : dict of str to float
        How far scores of both packages may lie apart, relative to a score or to 1,
        where they depend on random numbers, which differ, or on rules that are
        documented as different.
    above, below : dict of str to float or str
        What a score must surpass, in both packages: a number or the name of the score
        of a naive model.
    adapter : callable, optional
        Makes of the module `lightgbm` one that has the arguments of old versions.
    """

    def decorate(function):
        @functools.cache
        def scores(package):
            lgb = import_module(package)
            if adapter is not None and package == "lightgbm":
                lgb = adapter(lgb)
            with (
                threadpool_limits(1, user_api="openmp"),
                tempfile.TemporaryDirectory() as folder,
                contextlib.chdir(folder),
            ):
                return function(lgb)

        @pytest.mark.parametrize("package", ["lightgbm", "skgoss"])
        def test(package):
            pytest.importorskip("lightgbm")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = scores(package)
            check_bounds(found, dict(above), dict(below))
            if package == "skgoss":
                assert [str(warning.message) for warning in caught] == []
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    check_near(found, scores("lightgbm"), dict(noise))

        test.__doc__ = function.__doc__
        return test

    return decorate


def check_bounds(scores, above, below):
    for name, bound in above.items():
        assert scores[name] > scores.get(bound, bound), (name, scores)
    for name, bound in below.items():
        assert scores[name] < scores.get(bound, bound), (name, scores)


def check_near(ours, theirs, noise):
    assert ours.keys() == theirs.keys()
    limits = {name: noise.get(name, NEAR) for name in ours}
    apart = {
        name: (ours[name], theirs[name], limit)
        for name, limit in limits.items()
        if ours[name] != pytest.approx(theirs[name], rel=limit, abs=limit)
    }
    assert not apart


# --- Data -----------------------------------------------------------------------------


def halves(*arrays, seed=0, stratify=None):
    """Split the rows of arrays into three quarters to train and a quarter held out."""
    return train_test_split(*arrays, random_state=seed, stratify=stratify)


@functools.cache
def diabetes():
    """A number: 331 and 111 rows, 10 columns."""
    return halves(*load_diabetes(return_X_y=True))


@functools.cache
def curve(n=1200, seed=0):
    """A number: 900 and 300 rows, 8 columns of which 5 matter."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 8))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=n)
    return halves(X, y, seed=seed)


@functools.cache
def fraud(n=3000, seed=1):
    """Two classes, one of them in 5 rows of 100: 2250 and 750 rows, 12 columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12))
    score = 1.5 * X[:, 0] + 2 * X[:, 1] * X[:, 2] + 2 * np.abs(X[:, 3])
    score += rng.normal(size=n)
    y = (score > np.quantile(score, 0.95)).astype(int)
    return halves(X, y, seed=seed, stratify=y)


@functools.cache
def sales(n=1500, seed=2):
    """Sales of which many are zero, with the days of each row."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 12, n), rng.uniform(size=(n, 4))]).astype(
        float
    )
    days = rng.integers(1, 30, n)
    rate = np.exp(0.8 * np.sin(X[:, 0] / 2) + 2 * X[:, 1] - 1.5 * X[:, 2] - 2)
    items = rng.poisson(rate * days)
    price = rng.gamma(2.0, 5.0, size=n)
    return halves(X, items, days, items * price, seed=seed)


@functools.cache
def clients(n=1500, seed=3):
    """A data frame with categories, numbers and missing values, and two classes."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    jobs = ["clerk", "driver", "nurse", "teacher", "cook", "farmer"]
    job, town = rng.integers(0, 6, n), rng.integers(0, 15, n)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": rng.lognormal(3, 0.5, n),
            "job": pd.Categorical.from_codes(job, jobs),
            "town": pd.Series(town).map("town {}".format).astype("category"),
            "married": rng.integers(0, 2, n).astype(bool),
        }
    )
    score = rng.normal(size=6)[job] + rng.normal(size=15)[town] + frame["income"] / 20
    y = pd.Series((score + rng.normal(size=n) > 1).astype(int), name="bought")
    frame.loc[rng.uniform(size=n) < 0.1, "income"] = np.nan
    return halves(frame, y, seed=seed, stratify=y)


@functools.cache
def searches(n_queries=120, seed=4):
    """Documents of queries in order, their grades 0 to 4, and the sizes of queries."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(8, 20, n_queries)
    X = rng.normal(size=(sizes.sum(), 8))
    grade = X[:, 0] + 0.7 * X[:, 1] * (X[:, 2] > 0) + 0.7 * rng.normal(size=len(X))
    y = np.digitize(grade, np.quantile(grade, [0.5, 0.75, 0.9, 0.97]))
    cut = sizes[:90].sum()
    return X[:cut], X[cut:], y[:cut], y[cut:], sizes[:90], sizes[90:]
