"""Ctrl-C, errors and time limits end whatever is nested in whatever, within a round."""

from __future__ import annotations

import _thread
import threading
import time
import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgoss
from skgoss import Dataset, LGBMRegressor
from skgoss.model_selection import GridSearchCV, RandomizedSearchCV
from skgoss.training.boosting import Boosting

X, y = load_diabetes(return_X_y=True)
X, y = X[:120], y[:120]
TWO = np.column_stack([y, -y])
# It would take minutes.
ENDLESS = {"n_estimators": 10**6, "learning_rate": 1e-4, "min_child_samples": 1}
LEVELS = {"objective": "quantile", "alpha": (0.2, 0.8)}
FOLDS = {"folds": 3, "early_stopping_round": 0}


def model(**options):
    return LGBMRegressor(**ENDLESS | options)


def search(estimator, path="", kind=GridSearchCV, **options):
    grid = {f"{path}num_leaves": [7, 15]}
    return kind(estimator, grid, cv=2, error_score="raise", **options)


def last(*steps):
    """A pipeline and the path to the parameters of its last step."""
    return make_pipeline(*steps), "lgbmregressor__"


def of_train(function, **options):
    def fit(n_jobs, **passed):
        params = ENDLESS | {"verbosity": -1, "n_jobs": n_jobs} | options
        return function(params, Dataset(X, y), **passed)

    return fit


def of(make, target=y):
    """Fits the estimator that a function makes of a number of threads."""

    def fit(n_jobs, **passed):
        return make(n_jobs).fit(X, target, **passed)

    return fit


def searched(estimator, path="", target=y, **options):
    """Fits a search, whose number of threads is that of all fits together."""
    return of(lambda n_jobs: search(estimator, path, n_jobs=n_jobs, **options), target)


# Its stages are jobs of scikit-learn.
RACE = {"strategy": "race", "scoring": "neg_max_error"}
FITS = {
    "fit": of(lambda n: model(n_jobs=n)),
    "folds": of(lambda n: model(**FOLDS, n_jobs=n)),
    "accurate": of(lambda n: LGBMRegressor(preset="accurate", n_jobs=n)),
    "best": of(lambda n: LGBMRegressor(preset="best", n_jobs=n)),
    "outputs": of(lambda n: model(n_jobs=n), TWO),
    "quantiles": of(lambda n: model(**LEVELS, n_jobs=n)),
    "folds of outputs": of(lambda n: model(**FOLDS, n_jobs=n), TWO),
    "train": of_train(skgoss.train),
    "train on folds": of_train(skgoss.train, **FOLDS),
    "cv": of_train(skgoss.cv),
}
SEARCHES = {
    "search": searched(model()),
    "race": searched(model(), **RACE),
    "race of our own": searched(model(), strategy="race"),
    "random": searched(model(), kind=RandomizedSearchCV, n_iter=2),
    "search of folds": searched(model(**FOLDS)),
    "search of presets": searched(LGBMRegressor(preset="best")),
    "race of folds": searched(model(**FOLDS), **RACE),
    "race of outputs": searched(model(), target=TWO, **RACE),
    "search of outputs": searched(model(**FOLDS), target=TWO),
    "search of pipelines": searched(*last(StandardScaler(), model())),
    "race of pipelines": searched(*last(StandardScaler(), model()), **RACE),
    "search with a step that is ours": searched(
        *last(SelectFromModel(model(**FOLDS)), LGBMRegressor(n_estimators=1))
    ),
    "race with a step that is ours": searched(
        *last(SelectFromModel(model(**FOLDS)), LGBMRegressor(n_estimators=1)), **RACE
    ),
}
NESTINGS = FITS | SEARCHES


class Rounds:
    """Counts rounds, and makes something happen at the beginning of one."""

    def __init__(self, number, happens):
        self.n, self.number, self.happens = 0, number, happens
        self.boost, self.lock = Boosting.boost, threading.Lock()

    def patched(self):
        def boost(state, begin=None):
            with self.lock:
                self.n += 1
                is_now = self.n == self.number
            if is_now:
                self.happens()
            return self.boost(state, begin)

        return boost


def fails():
    raise ZeroDivisionError("a round")


EVENTS = {
    "Ctrl-C": (_thread.interrupt_main, KeyboardInterrupt),
    "error": (fails, ZeroDivisionError),
}
# What fails in a stage of our own is tried again by scikit-learn, and succeeds here.
CASES = [c for c in product(NESTINGS, EVENTS) if c != ("race of our own", "error")]


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("nesting", "event"), CASES)
def test_all_threads_end_within_a_round(monkeypatch, nesting, event, n_jobs):
    happens, error = EVENTS[event]
    rounds, before = Rounds(15, happens), set(threading.enumerate())
    monkeypatch.setattr(Boosting, "boost", rounds.patched())
    begin = time.monotonic()
    with pytest.raises(error):
        NESTINGS[nesting](n_jobs)
    assert time.monotonic() - begin < 10
    assert set(threading.enumerate()) <= before
    # Nobody boosts beside the next fit, which is as ever.
    n_rounds = rounds.n
    found = LGBMRegressor(n_estimators=5, n_jobs=n_jobs).fit(X, y)
    assert rounds.n == n_rounds + 5
    np.testing.assert_array_equal(found.predict(X), FIVE_ROUNDS)


FIVE_ROUNDS = LGBMRegressor(n_estimators=5).fit(X, y).predict(X)
