"""Searches of skgoss, compared with scikit-learn's on the same data."""

from __future__ import annotations

import pickle
import threading
import warnings
from inspect import signature

import numpy as np
import pytest
from scipy.stats import randint, uniform
from sklearn import config_context, model_selection
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import skgoss.model_selection
from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.fit import splits
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


def test_a_thread_that_cannot_be_started_ends_a_search(monkeypatch):
    start, started = threading.Thread.start, []

    def failing(thread):
        started.append(thread)
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", failing)
    search = GridSearchCV(LGBMClassifier(), GRID, cv=2, n_jobs=2)
    # Some versions of Python fail to end the first thread.
    with pytest.raises((RuntimeError, AttributeError), match=r"thread|terminate"):
        search.fit(*TWO)
    monkeypatch.undo()
    assert search.fit(*TWO).best_score_ > 0.5


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


def test_the_user_keeps_estimator_and_search():
    estimator = LGBMClassifier(n_estimators=2)
    search = GridSearchCV(estimator, GRID, cv=2)
    before = pickle.dumps(search)
    search.fit(*TWO)
    assert search.estimator is estimator
    assert not hasattr(estimator, "fitted_")
    assert pickle.dumps(clone(search)) == before
    loaded = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    assert "_shared" not in vars(search.best_estimator_)
    assert search.n_jobs is None


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


def test_what_cannot_be_searched():
    with pytest.raises(TypeError, match=r"Use sklearn\.model_selection\.GridSearchCV"):
        GridSearchCV(HistGradientBoostingClassifier(), {}).fit(*TWO)
    fits = []

    class Counting(LGBMClassifier):
        def fit(self, X, y):
            fits.append(1)
            return super().fit(X, y)

    for strategy in ("all", "race"):
        options = {"strategy": strategy}
        grids = [{"num_leaves": [3]}, {"leafs": [3]}]
        with pytest.raises(ValueError, match="Invalid parameter 'leafs'"):
            GridSearchCV(Counting(), grids, **options).fit(*TWO)
        assert fits == []
        with pytest.raises(ValueError, match="No fits were performed"):
            GridSearchCV(LGBMClassifier(), [], **options).fit(*TWO)
        with pytest.raises(ValueError, match="non-empty sequence"):
            GridSearchCV(LGBMClassifier(), {"num_leaves": []}, **options).fit(*TWO)
    with pytest.raises(ValueError, match="n_jobs"):
        GridSearchCV(LGBMClassifier(), {}, n_jobs="two").fit(*TWO)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("gbm__num_leafs", " Did you mean 'gbm__num_leaves'?"),
        ("num_leaves", " Did you mean 'gbm__num_leaves'?"),
        ("gmb__num_leavs", " Did you mean 'gbm__num_leaves'?"),
        ("gbm__lr", " Use learning_rate."),
        ("scale__lr", ""),
    ],
)
def test_unknown_parameters_of_pipelines(name, advice):
    pipeline = Pipeline([("scale", StandardScaler()), ("gbm", LGBMClassifier())])
    with pytest.raises(ValueError) as raised:
        GridSearchCV(pipeline, {name: [1]}).fit(*TWO)
    words = f"Invalid parameter {name!r} for the estimator of the search.{advice}"
    assert str(raised.value) == words


# --- Times and groups -----------------------------------------------------------------

TIME = np.random.default_rng(5).permutation(len(y)) // 2
LATER = splits.by_time(3, TIME, None, "cv")
MODELS = {
    "plain": LGBMRegressor(),
    "pipeline": make_pipeline(StandardScaler(), LGBMRegressor()),
}


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("strategy", ["all", "race"])
@pytest.mark.parametrize("wrap", MODELS)
def test_a_number_of_folds_with_times_and_groups(wrap, strategy, routing):
    model, path = MODELS[wrap], {"plain": "", "pipeline": "lgbmregressor__"}[wrap]
    grid = {f"{path}num_leaves": [3, 5], f"{path}n_estimators": [9]}
    options = {"strategy": strategy, "refit": False}
    by_groups = list(GroupKFold(3).split(X, groups=GROUPS))
    cases = [
        ({"time": TIME}, LATER),
        ({"groups": GROUPS}, by_groups),
        ({"time": TIME, "groups": GROUPS}, splits.by_time(3, TIME, GROUPS, "cv")),
    ]
    for passed, pairs in cases:
        found = GridSearchCV(model, grid, cv=3, **options)
        with config_context(enable_metadata_routing=routing):
            found.fit(X, y, **passed)
        expected = GridSearchCV(model, grid, cv=pairs, **options).fit(X, y)
        results, same = scores(found), scores(expected)
        for name in results:
            np.testing.assert_array_equal(results[name], same[name], err_msg=name)


def test_fits_that_choose_get_the_times_too():
    grid = {"early_stopping_round": [None, 2], "n_estimators": [60]}
    search = GridSearchCV(LGBMRegressor(), grid, cv=3)
    with pytest.warns(UserWarning, match="time needs the option folds or preset"):
        search.fit(X, y, time=TIME)
    scored = search.cv_results_
    for number, (train, test) in enumerate(LATER):
        model = LGBMRegressor(n_estimators=60, early_stopping_round=2)
        model.fit(X[train], y[train], time=TIME[train])
        assert scored[f"split{number}_test_score"][1] == model.score(X[test], y[test])


CHOOSING = {
    "early_stopping_round": {"early_stopping_round": 2},
    "folds": {"folds": 2, "early_stopping_round": 2},
    "preset": {"preset": "accurate", "learning_rate": 0.3},
}


@pytest.mark.parametrize("is_varied", [False, True])
@pytest.mark.parametrize("name", CHOOSING)
def test_whatever_chooses_inside_a_search_chooses_by_time(name, is_varied):
    """If the estimator has the option, or the grid."""
    fixed = dict(CHOOSING[name])
    grid = {name: [fixed.pop(name)]} if is_varied else {"num_leaves": [4]}
    model = LGBMRegressor(num_leaves=4, **fixed)
    search = GridSearchCV(model, grid, cv=2).fit(X, y, time=TIME)
    alone = clone(model).set_params(**search.best_params_)
    differ = []
    for number, (train, test) in enumerate(splits.by_time(2, TIME, None, "cv")):
        found = search.cv_results_[f"split{number}_test_score"][0]
        alone.fit(X[train], y[train], time=TIME[train])
        assert found == alone.score(X[test], y[test])
        differ.append(found != alone.fit(X[train], y[train]).score(X[test], y[test]))
    assert any(differ)
    alone.fit(X, y, time=TIME)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))


def test_wrong_times_of_a_search():
    search = GridSearchCV(LGBMRegressor(), GRID, cv=3)
    with pytest.raises(ValueError, match=r"time must have one value for .* 150 rows"):
        search.fit(X, y, time=TIME[:-1])
    with pytest.raises(ValueError, match=r"cv=3 needs at least 4 different times"):
        search.fit(X, y, time=TIME // 40)
    with pytest.raises(ValueError, match=r"groups must not be missing"):
        search.fit(X, y, time=TIME, groups=np.full(len(y), np.nan))
