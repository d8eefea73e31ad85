"""Searches of skgoss, compared with scikit-learn's on the same data."""

from __future__ import annotations

import threading
import warnings
from inspect import signature

import numpy as np
import pytest
from scipy.stats import randint, uniform
from sklearn import model_selection
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import skgoss.model_selection
from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.model_selection import GridSearchCV, RandomizedSearchCV

CLASSES = load_iris(return_X_y=True)
X, y = load_diabetes(return_X_y=True)
X, y = X[:150], y[:150]
TWO = X, (y > 120).astype(int)
rng = np.random.default_rng(0)
WEIGHT = rng.integers(0, 4, len(y)).astype(float)
GROUPS = np.repeat(np.arange(15), 10)
GRID = {"n_estimators": [2, 4], "num_leaves": [3, 5]}


def scores(search):
    """The results without times."""
    results = search.cv_results_
    return {k: v for k, v in results.items() if not k.endswith("_time")}


def check_same(estimator, grid, data, fit_params=None, **options):
    """Compare a search with scikit-learn's; returns ours."""
    ours = GridSearchCV(estimator, grid, **{"cv": 2, **options})
    # With more jobs it would start processes.
    peer = model_selection.GridSearchCV(
        estimator, grid, **{"cv": 2, **options, "n_jobs": 1}
    )
    for search in (ours, peer):
        search.fit(*data, **(fit_params or {}))
    first, second = scores(ours), scores(peer)
    assert list(ours.cv_results_) == list(peer.cv_results_)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    if ours.refit is not False:
        assert ours.best_params_ == peer.best_params_
        np.testing.assert_array_equal(ours.predict(data[0]), peer.predict(data[0]))
        assert vars(ours).keys() - vars(peer).keys() == {"strategy", "time_limit"}
    return ours


def with_set(metric):
    return {"eval_set": [(X[:40], TWO[1][:40])], "eval_metric": metric}


CASES = {
    "two classes": (LGBMClassifier(), GRID, TWO, {}),
    "classes": (LGBMClassifier(class_weight="balanced"), GRID, CLASSES, {}),
    "numbers": (LGBMRegressor(), {"n_estimators": [4, 2, 3]}, (X, y), {}),
    "weights": (LGBMRegressor(), GRID, (X, y), {"sample_weight": WEIGHT}),
    "sampling": (
        LGBMRegressor(subsample=0.5, subsample_freq=2, random_state=1),
        {**GRID, "colsample_bytree": [0.5, 1.0]},
        (X, y),
        {},
    ),
    "goss": (LGBMRegressor(data_sample_strategy="goss"), GRID, (X, y), {}),
    "bins": (LGBMRegressor(), {**GRID, "max_bin": [7, 15]}, (X, y), {}),
    "leaves of few rows": (
        LGBMRegressor(colsample_bytree=0.5),
        {"min_child_samples": [5, 20, 50]},
        (np.column_stack([X, np.arange(len(y)) % 10 == 0, np.arange(len(y)) < 40]), y),
        {},
    ),
    "dropout": (LGBMRegressor(boosting_type="dart"), GRID, (X, y), {}),
    "lines": (LGBMRegressor(linear_tree=True), GRID, (X, y), {}),
    "forests": (
        LGBMRegressor(boosting_type="rf", subsample=0.5, subsample_freq=1),
        GRID,
        (X, y),
        {},
    ),
    "held-out rows": (LGBMClassifier(early_stopping_round=1), GRID, TWO, {}),
    "evaluation set": (
        LGBMClassifier(),
        {**GRID, "early_stopping_round": [None, 1]},
        TWO,
        with_set("auc"),
    ),
    "folds": (LGBMRegressor(folds=2), GRID, (X, y), {}),
    "preset": (
        LGBMRegressor(preset="accurate"),
        {"n_estimators": [3, 6]},
        (X, y),
        {},
    ),
    "quantiles": (
        LGBMRegressor(objective="quantile", alpha=0.3),
        GRID,
        (X, y),
        {},
    ),
    "functions": (
        LGBMRegressor(objective=lambda y, p: (p - y, np.ones(len(y)))),
        GRID,
        (X, y),
        {},
    ),
    "several targets": (LGBMRegressor(), GRID, (X, np.column_stack([y, -y])), {}),
    "few rows": (LGBMRegressor(min_child_samples=40), GRID, (X[:60], y[:60]), {}),
    "groups": (LGBMRegressor(), GRID, (X, y), {"groups": GROUPS}),
    "nothing to vary": (LGBMRegressor(n_estimators=2), {}, (X, y), {}),
    "several grids": (
        LGBMRegressor(),
        [{"n_estimators": [2, 4]}, {"max_depth": [1], "n_estimators": [4, 5]}],
        (X, y),
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:.*has no effect")
@pytest.mark.filterwarnings("ignore:No tree of the fit")
def test_scores_are_those_of_scikit_learn(case):
    estimator, grid, data, fit_params = CASES[case]
    options = {"cv": GroupKFold(3)} if case == "groups" else {}
    check_same(estimator, grid, data, fit_params, return_train_score=True, **options)


def test_pipelines_and_transformed_targets():
    grid = {
        "selectkbest__k": [2, 4],
        "lgbmregressor__n_estimators": [3, 6],
        "lgbmregressor__num_leaves": [3, 5],
    }
    pipeline = make_pipeline(
        StandardScaler(), SelectKBest(f_regression), LGBMRegressor()
    )
    search = check_same(pipeline, grid, (X, y), n_jobs=2)
    assert search.best_estimator_.memory is None
    transformed = TransformedTargetRegressor(pipeline, func=np.log, inverse_func=np.exp)
    of_target = {f"regressor__{name}": values for name, values in grid.items()}
    check_same(transformed, of_target, (X, y))
    # Fits to the same rows, whose targets differ.
    of_target = {
        "transformer": [MinMaxScaler(), StandardScaler(), None],
        "regressor__n_estimators": [3, 6],
        "regressor__objective": ["huber"],
        "regressor__alpha": [100.0],
    }
    check_same(TransformedTargetRegressor(LGBMRegressor()), of_target, (X, y))
    replaced = make_pipeline(StandardScaler(), LGBMRegressor(n_estimators=2))
    others = [LGBMRegressor(n_estimators=4), LGBMRegressor(n_estimators=1)]
    check_same(replaced, {"lgbmregressor": others}, (X, y), refit=False)


def test_ranker():
    grades = np.digitize(y, [100, 150])
    ranker = LGBMRanker()
    check_same(
        ranker,
        GRID,
        (X, grades),
        {"qid": GROUPS, "groups": GROUPS},
        cv=GroupKFold(3),
        scoring=lambda m, X, y: float(np.corrcoef(m.predict(X), y)[0, 1]),
    )


def test_several_metrics_and_refit():
    scoring = ["accuracy", "neg_log_loss"]
    check_same(LGBMClassifier(), GRID, TWO, scoring=scoring, refit="neg_log_loss")

    def simplest(results):
        return int(np.argmin(results["mean_fit_time"] * 0))

    check_same(LGBMClassifier(), GRID, TWO, refit=simplest)
    own = {"accuracy": "accuracy", "size": lambda model, X, y: model.n_estimators_}
    check_same(LGBMClassifier(), GRID, TWO, scoring=own, refit=False)


def model_text_length(model, X, y):
    """What else a scorer can see of a model: its file, its metrics."""
    text = model.booster_.model_to_string()
    return len(text) + sum(map(ord, text[-2000:])) + len(str(model.evals_result_))


def test_models_of_fewer_rounds_are_those_of_own_fits():
    check_same(
        LGBMClassifier(),
        GRID,
        TWO,
        with_set("auc"),
        scoring=model_text_length,
        n_jobs=1,
    )


def test_data_frames_and_missing_values():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :3]).rename(columns=str).astype({"1": "category"})
    frame.loc[::7, "0"] = None
    check_same(LGBMRegressor(), GRID, (frame, pd.Series(y)), n_jobs=2)


def test_failed_fits_get_the_error_score():
    grid = {"num_leaves": [5, 1], "n_estimators": [2, 3]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_same(LGBMClassifier(), grid, TWO, error_score=-1.0)
    failures = [str(w.message) for w in caught if "fits failed" in str(w.message)]
    assert len(failures) == 2
    assert all("4 fits failed" in words for words in failures)
    model = LGBMClassifier(min_child_samples=1, n_estimators=100_000)
    grid, before = {"learning_rate": [0.1, -1, 0.2]}, set(threading.enumerate())
    filters = warnings.filters
    options = {"error_score": "raise", "n_jobs": 2, "cv": [(np.arange(99), [99])]}
    with pytest.raises(ValueError, match="learning_rate"):
        GridSearchCV(model, grid, **options).fit(*TWO)
    # Threads that outlive the error would change the filters of the next warnings.
    assert set(threading.enumerate()) <= before
    assert warnings.filters is filters


def test_scorers_that_fail_score_nothing():
    def scorer(model, X, y):
        if model.num_leaves == 5:
            raise ZeroDivisionError("no score")
        return model.score(X, y)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_same(LGBMClassifier(), GRID, TWO, scoring=scorer, n_jobs=1)
    assert sum("Scoring failed" in str(w.message) for w in caught) == 2 * 4
    options = {"scoring": scorer, "error_score": "raise", "n_jobs": 1}
    with pytest.raises(ZeroDivisionError):
        GridSearchCV(LGBMClassifier(), GRID, **options).fit(*TWO)


@pytest.mark.filterwarnings("ignore:No tree of the fit")
@pytest.mark.filterwarnings("ignore:Scoring failed")
@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_folds_without_a_class():
    order = np.argsort(TWO[1], kind="stable")
    data = X[order], TWO[1][order]
    options = {"cv": KFold(2), "scoring": "neg_log_loss", "refit": False}
    check_same(LGBMClassifier(), GRID, data, **options)


@pytest.mark.parametrize("name", ["GridSearchCV", "RandomizedSearchCV"])
def test_arguments_are_those_of_scikit_learn_and_two_more(name):
    ours, theirs = (
        getattr(module, name) for module in (skgoss.model_selection, model_selection)
    )
    known, found = (signature(cls).parameters for cls in (theirs, ours))
    more = {name: found[name].default for name in found.keys() - known.keys()}
    assert more == {"strategy": "all", "time_limit": None}
    for argument in known:  # NaN is in a tuple, but is not equal
        assert found[argument].default in (known[argument].default,)
    passed = {argument: object() for argument in found}
    assert ours(**passed).get_params(deep=False) == passed


def test_random_search():
    ranges = {"num_leaves": randint(2, 8), "colsample_bytree": uniform(0.3, 0.7)}
    options = {"n_iter": 4, "random_state": 3, "cv": ShuffleSplit(2, random_state=0)}
    estimator = LGBMClassifier(n_estimators=3)
    ours = RandomizedSearchCV(estimator, ranges, **options).fit(*TWO)
    peer = model_selection.RandomizedSearchCV(estimator, ranges, **options).fit(*TWO)
    first, second = scores(ours), scores(peer)
    for name in second:
        np.testing.assert_array_equal(first[name], second[name])


def test_inside_of_other_estimators():
    search = GridSearchCV(LGBMClassifier(), GRID, cv=2)
    peer = model_selection.GridSearchCV(LGBMClassifier(), GRID, cv=2)
    expected = cross_val_score(peer, *TWO, cv=2)
    np.testing.assert_array_equal(cross_val_score(search, *TWO, cv=2), expected)
    CalibratedClassifierCV(search, cv=2).fit(*TWO)


@pytest.mark.nightly
def test_check_estimator():
    search = GridSearchCV(
        LGBMClassifier(n_estimators=2), {"num_leaves": [3, 5]}, cv=2, error_score=0
    )
    peer = model_selection.GridSearchCV(
        LGBMClassifier(n_estimators=2), {"num_leaves": [3, 5]}, cv=2, error_score=0
    )
    failed = {
        kind: {
            result["check_name"]
            for result in check_estimator(searched, on_fail=None, on_skip=None)
            if result["status"] == "failed"
        }
        for kind, searched in (("ours", search), ("peer", peer))
    }
    assert failed["ours"] == failed["peer"]
