"""Races of candidates in a search: what the results say."""

from __future__ import annotations

import signal
import warnings
from functools import cache, partial
from types import SimpleNamespace
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgoss
from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.fit import time_limit
from skgoss.model_selection import GridSearchCV, RandomizedSearchCV
from skgoss.model_selection.candidates import OwnFold
from skgoss.several_fits import race as fit_race
from skgoss.training.boosting import Boosting

X, y = load_diabetes(return_X_y=True)
X, y = X[:200], y[:200]
GRID = {
    "n_estimators": [10, 60],
    "num_leaves": [3, 8],
    "reg_lambda": [0, 1e6],
    "learning_rate": [0.1, 0.3],
}
FOLDS = KFold(4, shuffle=True, random_state=0)


def race(estimator=None, grid=GRID, **options):
    estimator = LGBMRegressor() if estimator is None else estimator
    return GridSearchCV(estimator, grid, strategy="race", cv=FOLDS, **options)


def test_scores_are_those_of_fits_with_the_rounds_found():
    search = race(n_jobs=2).fit(X, y)
    results = search.cv_results_
    assert len(results["params"]) == 8
    for params, score in zip(
        results["params"], results["mean_test_score"], strict=True
    ):
        scores = cross_val_score(LGBMRegressor(**params), X, y, cv=FOLDS)
        assert scores.mean() == score
    n_rounds = results["n_rounds"]
    assert (n_rounds >= [p["n_estimators"] for p in results["params"]]).all()
    assert n_rounds.max() <= 60
    assert search.best_estimator_.n_estimators_ == search.best_params_["n_estimators"]
    assert list(results["rank_test_score"]).index(1) == search.best_index_
    # A penalty that lets no model learn never catches up.
    is_poor = np.array([params["reg_lambda"] > 0 for params in results["params"]])
    assert n_rounds[is_poor].max() < n_rounds[~is_poor].max()


def screen(monkeypatch, least):
    """Let three candidates be many, which are screened until a few are left."""
    monkeypatch.setattr("skgoss.several_fits.race._MAX_UNSCREENED", 2)
    monkeypatch.setattr("skgoss.several_fits.race._LEFT_AFTER_SCREENING", least)


def counted(monkeypatch, name):
    """A list that gets an element at each call of a method of `Boosting`."""
    calls, method = [], getattr(Boosting, name)
    monkeypatch.setattr(Boosting, name, lambda *args: calls.append(1) or method(*args))
    return calls


def test_rounds_are_grown_once(monkeypatch):
    rounds, released = (
        counted(monkeypatch, name) for name in ("boost", "release_buffers")
    )
    for n_jobs in (1, 2):
        rounds.clear()
        released.clear()
        results = race(n_jobs=n_jobs, refit=False).fit(X, y).cv_results_
        assert len(rounds) == 4 * results["n_rounds"].sum()
        # Those that wait hold no histograms.
        assert len(released) == 4 * sum(map(len, results["scores_by_rounds"]))


def test_threads_do_not_change_a_race():
    one, two = (race(n_jobs=n).fit(X, y).cv_results_ for n in (1, 2))
    for name in one:
        if not name.endswith("_time"):
            np.testing.assert_array_equal(one[name], two[name])


def test_pipelines_and_metrics(monkeypatch):
    pipeline = make_pipeline(StandardScaler(), LGBMRegressor(n_estimators=20))
    model = TransformedTargetRegressor(pipeline, func=np.log, inverse_func=np.exp)
    grid = {"regressor__lgbmregressor__num_leaves": [3, 6]}
    scoring = ["r2", "neg_mean_absolute_error"]
    search = race(model, grid, scoring=scoring, refit="r2").fit(X, y)
    path = "regressor__lgbmregressor__n_estimators"
    assert 1 <= search.best_params_[path] <= 20
    # Without other options, candidates are one.
    grid_of_rounds = {"lgbmregressor__n_estimators": [3, 6]}
    assert len(race(pipeline, grid_of_rounds).fit(X, y).cv_results_["params"]) == 1
    rounds = counted(monkeypatch, "boost")
    for refit in (False, lambda results: 0):
        with pytest.raises(ValueError, match="set refit to one of"):
            race(model, grid, scoring=scoring, refit=refit).fit(X, y)
    assert rounds == []


def test_what_cannot_go_on_is_evaluated_once():
    grid = {"boosting_type": ["gbdt", "dart"], "folds": [None, 2]}
    search = race(LGBMRegressor(n_estimators=12), grid).fit(X, y)
    results = search.cv_results_
    assert [len(params) for params in results["params"]] == [3, 2, 2, 2]
    assert results["n_rounds"][0] >= results["params"][0]["n_estimators"]
    for params, score in zip(
        results["params"], results["mean_test_score"], strict=True
    ):
        model = LGBMRegressor(**{"n_estimators": 12, **params})
        assert cross_val_score(model, X, y, cv=FOLDS).mean() == score


@pytest.mark.parametrize(("fit", "score"), [(False, True), (True, False), (True, True)])
def test_weights_go_where_they_are_requested(fit, score):
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    with config_context(enable_metadata_routing=True):
        model = LGBMRegressor(n_estimators=12)
        model.set_fit_request(sample_weight=fit).set_score_request(sample_weight=score)
        search = race(model, {"num_leaves": [3, 8]}, refit=False)
        results = search.fit(X, y, sample_weight=weight).cv_results_
    for params, by_rounds in zip(
        results["params"], results["scores_by_rounds"], strict=True
    ):
        for n_rounds, mean in by_rounds.items():
            model, scores = LGBMRegressor(**params | {"n_estimators": n_rounds}), []
            for train, test in FOLDS.split(X):
                of_fit, of_score = (
                    weight[rows] if requested else None
                    for rows, requested in ((train, fit), (test, score))
                )
                model.fit(X[train], y[train], sample_weight=of_fit)
                scores.append(model.score(X[test], y[test], of_score))
            assert mean == pytest.approx(np.mean(scores), rel=1e-12)


def test_wrong_numbers_of_rounds_fail_alone():
    grid = {"n_estimators": [9, -3, np.int64(12), "many"], "num_leaves": [4]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = race(grid=grid, n_jobs=1).fit(X, y).cv_results_
    assert any("8 fits failed" in str(warning.message) for warning in caught)
    assert [p["n_estimators"] for p in results["params"]][1:] == [-3, "many"]
    assert results["n_rounds"][0] == 12
    failed = np.isnan(results["mean_test_score"])
    assert list(failed) == [False, True, True]


def failing_scorer(model, X, y):
    if model.num_leaves == 8:
        raise ZeroDivisionError("no score")
    return model.score(X, y)


FAILURES = {
    "fits": ([4, 1], None, "4 fits failed"),
    "scores": ([3, 8], failing_scorer, "Scoring failed"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_candidates_that_fail_leave(failure):
    leaves, scoring, words = FAILURES[failure]
    grid = {"num_leaves": leaves, "n_estimators": [30]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = race(grid=grid, scoring=scoring, n_jobs=1).fit(X, y)
    assert any(words in str(warning.message) for warning in caught)
    results = search.cv_results_
    assert np.isnan(results["mean_test_score"][1])
    assert len(results["scores_by_rounds"][1]) == 1
    assert search.best_params_["num_leaves"] == leaves[0]


@pytest.mark.parametrize("scoring", [None, ["r2", "neg_mean_absolute_error"]])
def test_many_candidates_are_screened_on_one_fold(monkeypatch, scoring):
    screen(monkeypatch, least=2)
    ranges = {"num_leaves": list(range(2, 40)), "learning_rate": [0.05, 0.1]}
    options = {"n_iter": 8, "cv": FOLDS, "random_state": 0, "strategy": "race"}
    options |= {
        "n_jobs": 1,
        "scoring": scoring,
        "refit": scoring[0] if scoring else True,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = RandomizedSearchCV(LGBMRegressor(n_estimators=20), ranges, **options)
        results = search.fit(X, y, sample_weight=np.ones(len(y))).cv_results_
    metric = options["refit"] if scoring else "score"
    is_out = np.isnan(results[f"mean_test_{metric}"])
    assert is_out.sum() == 8 - 2
    (train, test), *_ = FOLDS.split(X)
    for i, params in enumerate(results["params"]):
        n_rounds, scores = results["n_rounds"][i], results["scores_by_rounds"][i]
        assert max(scores) == n_rounds
        model = LGBMRegressor(**params).fit(X[train], y[train])
        score = model.score(X[test], y[test])
        assert results[f"split0_test_{metric}"][i] == score
        if is_out[i]:
            assert scores == {n_rounds: score}
            assert np.isnan(results[f"split3_test_{metric}"][i])
        else:
            assert scores[params["n_estimators"]] == max(scores.values())
    assert not is_out[search.best_index_]


def test_optuna_proposes_candidates():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ranges = {"num_leaves": optuna.distributions.IntDistribution(2, 40)}
    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for _ in range(2):
        trials = [study.ask(ranges) for _ in range(3)]
        points = [{name: [v] for name, v in t.params.items()} for t in trials]
        results = race(grid=points, scoring="r2", n_jobs=1).fit(X, y).cv_results_
        assert [p["num_leaves"] for p in results["params"]] == [
            t.params["num_leaves"] for t in trials
        ]
        for trial, score in zip(trials, results["mean_test_score"], strict=True):
            study.tell(trial, score)
    assert len(study.trials) == 6


def test_many_candidates_that_fail(monkeypatch):
    screen(monkeypatch, least=2)
    grid = {"num_leaves": [4, 5, 1, 6], "n_estimators": [20]}

    def scoring(model, X, y):
        return {"r2": model.score(X, y)}

    with pytest.warns(match="1 fits failed out of a total of 4"):
        search = race(grid=grid, scoring=scoring, refit="r2", n_jobs=1).fit(X, y)
    assert np.isnan(search.cv_results_["split0_test_r2"][2])
    with pytest.raises(ValueError, match="num_leaves"):
        race(grid=grid, error_score="raise", n_jobs=1).fit(X, y)


def test_callbacks_need_fits_that_end():
    with pytest.raises(ValueError, match="callbacks need strategy='all'"):
        race().fit(X, y, callbacks=[print])
    pipeline = make_pipeline(StandardScaler(), LGBMRegressor())
    with pytest.raises(ValueError, match="callbacks need strategy='all'"):
        race(pipeline, {}).fit(X, y, lgbmregressor__callbacks=[print])


# --- What ends a race -----------------------------------------------------------------


def rounds_before(monkeypatch, number, happens):
    """A list with an element for each round; before one of them something happens."""
    rounds, boost = [], Boosting.boost

    def counting(self, begin=None):
        rounds.append(1)
        if len(rounds) == number:
            happens()
        return boost(self, begin)

    monkeypatch.setattr(Boosting, "boost", counting)
    return rounds


def ended(monkeypatch, number, grid, warns=r"Ctrl-C ended the race\. .*", **options):
    """A race that Ctrl-C ends before a round, in `keep_on_interrupt`."""
    press = partial(signal.raise_signal, signal.SIGINT)
    rounds_before(monkeypatch, number, press)
    with skgoss.keep_on_interrupt(), pytest.warns(match=warns):
        return race(grid=grid, **options).fit(X, y)


# Numbers of rounds of the whole race: 4 folds of each candidate.
PRESSED = {"first stage": 60, "second stage": 150, "later": 300}
RACED = {"num_leaves": [3, 6], "learning_rate": [0.1, 0.3], "n_estimators": [40]}


@cache
def whole_race():
    return race(grid=RACED, n_jobs=1, refit=False).fit(X, y).cv_results_


@pytest.mark.parametrize(
    ("when", "n_jobs"), [*((when, 1) for when in PRESSED), ("second stage", 2)]
)
def test_ctrl_c_ends_a_race_with_the_scores_so_far(monkeypatch, when, n_jobs):
    whole = whole_race()
    search = ended(monkeypatch, PRESSED[when], RACED, n_jobs=n_jobs)
    results = search.cv_results_
    is_scored = results["n_rounds"] > 0
    assert 0 < is_scored.sum() < 4 or when != "first stage"
    assert results["n_rounds"].sum() < whole["n_rounds"].sum()
    best = -np.inf
    for i, by_rounds in enumerate(results["scores_by_rounds"]):
        # Stages that have ended are those of the whole race.
        stages = list(whole["scores_by_rounds"][i].items())[: len(by_rounds)]
        assert by_rounds == pytest.approx(dict(stages), rel=1e-12)
        score, n_rounds = results["mean_test_score"][i], results["n_rounds"][i]
        if not by_rounds:
            assert np.isnan(score)
            assert n_rounds == 0
            continue
        assert n_rounds == max(by_rounds)
        assert score == max(by_rounds.values())
        assert results["params"][i]["n_estimators"] in by_rounds
        best = max(best, score)
    assert search.best_score_ == best
    same = LGBMRegressor(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), same.predict(X))


def test_ctrl_c_before_the_first_scores_ends_a_race(monkeypatch):
    rounds = rounds_before(monkeypatch, 9, partial(signal.raise_signal, signal.SIGINT))
    search = race(grid=RACED, n_jobs=1)
    with skgoss.keep_on_interrupt(), pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert len(rounds) == 9
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_what_is_evaluated_once(monkeypatch, n_jobs):
    # 30 rounds of 4 folds in stages, and then those of the other candidates.
    grid = {"boosting_type": ["gbdt", "dart", "rf"], "n_estimators": [30]}
    grid |= {"subsample_freq": [1], "subsample": [0.5]}
    search = ended(monkeypatch, 150, grid, n_jobs=n_jobs)
    results = search.cv_results_
    assert list(np.isfinite(results["mean_test_score"])) == [True, False, False]
    assert list(results["n_rounds"]) == [30, 0, 0]
    assert search.best_params_["boosting_type"] == "gbdt"
    assert search.best_estimator_.n_estimators_ == search.best_params_["n_estimators"]


@pytest.mark.parametrize(("pressed", "n_screened"), [(30, 5), (70, 7), (200, 9)])
def test_ctrl_c_ends_a_screening_with_its_best(monkeypatch, pressed, n_screened):
    screen(monkeypatch, least=1)
    grid = {"num_leaves": range(2, 11), "n_estimators": [40]}
    search = ended(monkeypatch, pressed, grid, n_jobs=1)
    results = search.cv_results_
    (best,) = np.flatnonzero(np.isfinite(results["mean_test_score"]))
    assert best == search.best_index_
    scores = cross_val_score(LGBMRegressor(**search.best_params_), X, y, cv=FOLDS)
    assert scores.mean() == search.best_score_
    first, (train, test) = results["split0_test_score"], next(FOLDS.split(X))
    assert np.isfinite(first).sum() == np.count_nonzero(results["n_rounds"])
    assert np.isfinite(first).sum() == n_screened
    for params, score in zip(results["params"], first, strict=True):
        if np.isfinite(score):
            model = LGBMRegressor(**params).fit(X[train], y[train])
            assert score == pytest.approx(model.score(X[test], y[test]), rel=1e-12)
        else:
            assert params["n_estimators"] == 40


def test_time_limit():
    ranges = {"num_leaves": [3, 4, 5, 6]}
    search = RandomizedSearchCV(
        LGBMRegressor(n_estimators=400),
        ranges,
        n_iter=3,
        cv=3,
        strategy="race",
        time_limit=1e-6,
    ).fit(X, y)
    assert search.cv_results_["n_rounds"].max() < 30
    for options, words in (
        ({"strategy": "all", "time_limit": 1}, "needs strategy='race'"),
        ({"strategy": "race", "time_limit": 0}, "time_limit must be"),
        ({"strategy": "some"}, "strategy must be"),
    ):
        with pytest.raises(ValueError, match=words):
            GridSearchCV(LGBMClassifier(), {}, **options).fit(X, y > 100)


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_type_checkers_know_the_strategies(search):
    hint = get_type_hints(search.__init__)["strategy"]
    for strategy in get_args(hint):
        limit = 1e9 if strategy == "race" else None
        options = {"strategy": strategy, "time_limit": limit, "cv": 2}
        grid = {"num_leaves": list(range(3, 13))}
        search(LGBMRegressor(n_estimators=1), grid, **options).fit(X, y)
    assert set(get_args(hint)) == {"all", "race"}


@pytest.mark.parametrize(
    ("limit", "n_stages"), [(0.5, 1), (2.2, 1), (2.3, 2), (3.2, 2), (4.3, 4)]
)
def test_no_stage_begins_that_would_end_too_late(monkeypatch, limit, n_stages):
    """Each takes a second, and the next one would take a quarter more."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    grow = GridSearchCV._grow

    def grown(search, *arguments):
        clock.now += 1.0
        return grow(search, *arguments)

    for module in (fit_race, time_limit):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(GridSearchCV, "_grow", grown)
    grid = {"learning_rate": [0.02], "n_estimators": [500]}
    results = race(grid=grid, time_limit=limit, refit=False).fit(X, y).cv_results_
    assert [*map(len, results["scores_by_rounds"])] == [n_stages]


NIGHTLY = pytest.mark.nightly
RATES = {"learning_rate": [0.1, 0.3], "min_child_samples": [5, 40], "num_leaves": [4]}
OWN = {
    "numbers": (LGBMRegressor(), "neg_root_mean_squared_error", y),
    "positive numbers": (LGBMRegressor(objective="poisson"), None, y),
    "two classes": (LGBMClassifier(is_unbalance=True), "neg_log_loss", y > 100),
    "classes": (
        LGBMClassifier(class_weight="balanced"),
        None,
        np.digitize(y, [80, 150]),
    ),
    "areas": (LGBMClassifier(scale_pos_weight=3.0), "roc_auc", y > 100),
}


@pytest.mark.parametrize(
    "case",
    [c if c in ("numbers", "classes") else pytest.param(c, marks=NIGHTLY) for c in OWN],
)
def test_stages_of_our_own_are_those_of_scikit_learn(monkeypatch, case):
    model, scoring, target = OWN[case]
    model = clone(model).set_params(n_estimators=25)
    splitter = FOLDS if isinstance(model, LGBMRegressor) else 3
    found, evaluated = [], counted(monkeypatch, "evaluate_sets")
    for n_jobs in (2, None):
        if n_jobs is None:
            monkeypatch.setattr(GridSearchCV, "_make_own_folds", lambda self: None)
            n_own = len(evaluated)
        options = {"scoring": scoring, "strategy": "race", "n_jobs": n_jobs or 1}
        search = GridSearchCV(model, RATES, cv=splitter, refit=False, **options)
        found.append(search.fit(X, target).cv_results_)
    n_stages = sum(map(len, found[0]["scores_by_rounds"]))
    assert len(evaluated) == n_own == search.n_splits_ * n_stages
    *_, theirs = found
    by_rounds = theirs.pop("scores_by_rounds")
    for scores, expected in zip(found[0]["scores_by_rounds"], by_rounds, strict=True):
        assert scores == pytest.approx(expected, rel=1e-12)
    for name in theirs:
        if not name.endswith("_time"):
            np.testing.assert_array_equal(found[0][name], theirs[name], err_msg=name)


@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_what_scikit_learn_must_evaluate(monkeypatch):
    evaluated = counted(monkeypatch, "evaluate_sets")
    labels = (y > 100).astype(int)
    unsorted = [(np.arange(100), np.flatnonzero(labels)[-20:])]
    for model, grid, data, options in (
        (LGBMRegressor(), {"max_bin": [15, 31]}, y, {}),
        (LGBMRegressor(random_state=np.random.RandomState(0)), RATES, y, {}),
        (LGBMRegressor(), RATES, y, {"scoring": "neg_max_error"}),
        (LGBMRegressor(), RATES, y, {"return_train_score": True}),
        (LGBMRegressor(), RATES, np.column_stack([y, -y]), {}),
        (LGBMClassifier(), RATES, labels, {"cv": unsorted}),
        (LGBMClassifier(), RATES, pd.DataFrame({"y": labels}), {"cv": unsorted}),
        (LGBMRegressor(), RATES, y, {"cv": [(np.arange(100), [150, 150])]}),
    ):
        model = clone(model).set_params(n_estimators=9)
        options = {"cv": 2, "strategy": "race", "refit": False, **options}
        results = GridSearchCV(model, grid, **options).fit(X, data).cv_results_
        assert np.isfinite(results["mean_test_score"]).all()
    assert evaluated == []


def test_scores_of_stages_need_not_be_exact(monkeypatch):
    # What counts is which rounds were chosen, although scores are then others.
    evaluated = OwnFold.evaluated

    def inexact(fold, racer):
        result = evaluated(fold, racer)
        return result | {"test_scores": result["test_scores"] + 0.05}

    monkeypatch.setattr(OwnFold, "evaluated", inexact)
    grid = {"num_leaves": [3], "n_estimators": [30]}
    search = race(grid=grid).fit(X, y)
    scores = cross_val_score(LGBMRegressor(**search.best_params_), X, y, cv=FOLDS)
    assert scores.mean() == search.best_score_


def test_no_folds():
    with pytest.raises(ValueError, match="Was the CV iterator empty"):
        GridSearchCV(LGBMRegressor(), {}, strategy="race", cv=iter([])).fit(X, y)


def test_screenings_of_our_own(monkeypatch):
    screen(monkeypatch, least=2)
    grid = {"num_leaves": [4, 5, 1, 6, 9], "n_estimators": [20]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = race(grid=grid, n_jobs=1).fit(X, y)
    assert any("1 fits failed out of a total of 5" in str(w.message) for w in caught)
    results, (train, test) = search.cv_results_, next(FOLDS.split(X))
    assert np.isnan(results["mean_test_score"]).sum() == 3
    for params, score in zip(
        results["params"], results["split0_test_score"], strict=True
    ):
        if params["num_leaves"] > 1:
            model = LGBMRegressor(**params).fit(X[train], y[train])
            assert score == pytest.approx(model.score(X[test], y[test]), rel=1e-12)
