"""Ctrl-C, errors and time limits end whatever is nested in whatever, within a round."""

from __future__ import annotations

import _thread
import threading
import time
from functools import partial
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
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
# They would take minutes.
ENDLESS = {"n_estimators": 10**6, "learning_rate": 1e-4, "min_child_samples": 1}
FOLDS = {**ENDLESS, "folds": 3, "early_stopping_round": 0}
LEVELS = {**ENDLESS, "objective": "quantile", "alpha": (0.2, 0.8)}
ACCURATE, BEST = {"preset": "accurate"}, {"preset": "best"}
SCALED, SELECTED = "behind a scaler", "behind a choice of columns"


def fit(options, target=y):
    """Fits an estimator with these options, and others."""

    def fitted(more, **passed):
        return LGBMRegressor(**options, **more).fit(X, target, **passed)

    return fitted


def train(function, options=ENDLESS):
    def trained(more, **passed):
        params = {"verbosity": -1, **options, **more}
        return function(params, Dataset(X, y), **passed)

    return trained


def search(options, target=y, step=None, kind=GridSearchCV, **options_of_search):
    """Fits a search, whose number of threads is that of all fits together."""

    def searched(more, **passed):
        model, path = LGBMRegressor(**options, **more), ""
        if step is not None:
            path = "lgbmregressor__"
            passed = {path + name: value for name, value in passed.items()}
        if step == SCALED:
            model = make_pipeline(StandardScaler(), model)
        if step == SELECTED:
            model = make_pipeline(SelectFromModel(model), LGBMRegressor(num_leaves=2))
        found = kind(
            model,
            {f"{path}num_leaves": [7, 15]},
            cv=2,
            error_score="raise",
            n_jobs=more.get("n_jobs"),
            **options_of_search,
        )
        return found.fit(X, target, **passed)

    return searched


FITS = {
    "fit": fit(ENDLESS),
    "folds": fit(FOLDS),
    "accurate": fit(ACCURATE),
    "best": fit(BEST),
    "outputs": fit(ENDLESS, TWO),
    "quantiles": fit(LEVELS),
    "folds of outputs": fit(FOLDS, TWO),
    "train": train(skgoss.train),
    "train on folds": train(skgoss.train, FOLDS),
    "cv": train(skgoss.cv),
}
SEARCHES = {
    "search": search(ENDLESS),
    "random search": search(ENDLESS, kind=RandomizedSearchCV, n_iter=2),
    "search of folds": search(FOLDS),
    "search of presets": search(BEST),
    "search of folds of outputs": search(FOLDS, TWO),
    "search of pipelines": search(ENDLESS, step=SCALED),
    "search beyond a step of skgoss": search(FOLDS, step=SELECTED),
}
# Stages of the first are our own, of others jobs of scikit-learn. Folds have no stages.
race = partial(search, strategy="race", scoring="neg_median_absolute_error")
RACES = {
    "race": search(ENDLESS, strategy="race"),
    "race by jobs": race(ENDLESS),
    "race of folds": race(FOLDS),
    "race of outputs": race(ENDLESS, TWO),
    "race of pipelines": race(ENDLESS, step=SCALED),
    "race beyond a step of skgoss": race(FOLDS, step=SELECTED),
}
NESTINGS = FITS | SEARCHES | RACES


class Rounds:
    """Counts rounds, and makes something happen when one begins."""

    def __init__(self, monkeypatch, number, happens):
        self.n, self.lock, boost = 0, threading.Lock(), Boosting.boost

        def counted(state, begin=None):
            with self.lock:
                self.n += 1
                is_now = self.n == number
            if is_now:
                happens()
            return boost(state, begin)

        monkeypatch.setattr(Boosting, "boost", counted)


@pytest.fixture
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def fail(*_):
    raise ZeroDivisionError


EVENTS = {
    "Ctrl-C": (_thread.interrupt_main, KeyboardInterrupt),
    "error": (fail, ZeroDivisionError),
}
# What fails once in a stage of our own, scikit-learn does again.
ENDS = [case for case in product(NESTINGS, EVENTS) if case != ("race", "error")]


@pytest.mark.usefixtures("interruptible", "no_thread_is_left")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("end", ENDS)
def test_all_ends_within_a_round(monkeypatch, end, n_jobs):
    nesting, event = end
    happens, error = EVENTS[event]
    rounds, begin = Rounds(monkeypatch, 15, happens), time.monotonic()
    with pytest.raises(error):
        NESTINGS[nesting]({"n_jobs": n_jobs})
    assert time.monotonic() - begin < 10
    # Nothing else boosts during the next fit, which is as before.
    n_rounds = rounds.n
    found = LGBMRegressor(n_estimators=5, n_jobs=n_jobs).fit(X, y)
    assert rounds.n == n_rounds + 5
    np.testing.assert_array_equal(found.predict(X), FIVE_ROUNDS)


FIVE_ROUNDS = LGBMRegressor(n_estimators=5).fit(X, y).predict(X)


# --- Errors of users' functions -------------------------------------------------------


def fails_later(value):
    """A function of a user that fails when it is called for the ninth time."""
    calls = []

    def function(first, second=None):
        calls.append(1)
        return value(first, second) if len(calls) < 9 else fail()

    return function


def nothing(*_):
    pass


def derivatives(first, second):
    return np.linspace(-1, 1, len(y))[: len(first)], np.ones(len(first))


def metric(first, second):
    return "one", 1.0, True


# By the kind of a function: options and arguments, and the fits that have such a one.
ALONE = "fit", "train", "cv", "search", "search of pipelines", "race by jobs"
ON_FOLDS = "folds", "search of folds", "race of folds"
FUNCTIONS = {
    "callback": (
        lambda: ({}, {"callbacks": [fails_later(nothing)]}),
        (*ALONE[:-1], *ON_FOLDS[:-1], "outputs", "quantiles", "folds of outputs"),
    ),
    "objective": (
        lambda: ({"objective": fails_later(derivatives)}, {}),
        (*ALONE, *ON_FOLDS, "train on folds"),
    ),
    "metric": (lambda: ({}, {"eval_metric": fails_later(metric)}), ON_FOLDS),
}


@pytest.mark.usefixtures("no_thread_is_left")
@pytest.mark.parametrize(
    ("kind", "nesting"),
    [(kind, nesting) for kind, (_, names) in FUNCTIONS.items() for nesting in names],
)
def test_errors_of_functions_end_all(monkeypatch, kind, nesting):
    options, passed = FUNCTIONS[kind][0]()
    rounds = Rounds(monkeypatch, 0, fail)
    with pytest.raises(ZeroDivisionError):
        NESTINGS[nesting]({"n_jobs": 2, **options}, **passed)
    assert rounds.n < 1000


@pytest.mark.usefixtures("no_thread_is_left")
@pytest.mark.parametrize("strategy", ["all", "race"])
@pytest.mark.parametrize("options", [{"boosting_type": "dart"}, {"folds": 2}])
def test_an_error_of_a_scorer_ends_all(monkeypatch, options, strategy):
    rounds = Rounds(monkeypatch, 0, fail)
    model, scoring = LGBMRegressor(**ENDLESS | options), fail
    grid = [{"n_estimators": [1]}, {"num_leaves": [7]}]  # one has no end
    found = {"n_jobs": 2, "error_score": "raise", "strategy": strategy}
    found["cv"] = [(np.arange(99), np.arange(99, 120))]
    with pytest.raises(ZeroDivisionError):
        GridSearchCV(model, grid, scoring=scoring, **found).fit(X, y)
    assert 1 < rounds.n < 10_000


# --- Time limits ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:time_limit")
@pytest.mark.usefixtures("no_thread_is_left")
@pytest.mark.parametrize("nesting", NESTINGS)
def test_time_limits_end_all(nesting):
    begin = time.monotonic()
    found = NESTINGS[nesting]({"n_jobs": 2, "time_limit": 0.02})
    assert time.monotonic() - begin < 10
    found = getattr(found, "best_estimator_", found)
    if nesting in ("search beyond a step of skgoss", "race beyond a step of skgoss"):
        found = found[0].estimator_
    elif nesting.endswith("pipelines"):
        found = found[-1]
    if isinstance(found, LGBMRegressor):
        assert found.time_limit_reached_


# --- What was there before ------------------------------------------------------------

FITTED = {
    "folds": LGBMRegressor(n_estimators=3, folds=3),
    "outputs": LGBMRegressor(n_estimators=3),
    "search": GridSearchCV(LGBMRegressor(n_estimators=3), {"num_leaves": [7, 15]}),
    "race": GridSearchCV(
        LGBMRegressor(n_estimators=3), {"num_leaves": [7, 15]}, strategy="race"
    ),
}


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("kind", FITTED)
def test_the_model_of_an_earlier_fit_stays(monkeypatch, kind, event):
    happens, error = EVENTS[event]
    target = TWO if kind == "outputs" else y
    found = clone(FITTED[kind]).set_params(n_jobs=2).fit(X, target)
    before = found.predict(X), getattr(found, "cv_results_", None)
    if isinstance(found, GridSearchCV):
        found.set_params(scoring="neg_max_error", error_score="raise")
        found.estimator.set_params(**ENDLESS)
    else:
        found.set_params(**ENDLESS)
    Rounds(monkeypatch, 15, happens)
    with pytest.raises(error):
        found.fit(X, -target)
    np.testing.assert_array_equal(found.predict(X), before[0])
    assert getattr(found, "cv_results_", None) is before[1]
