"""Searches whose folds respect times and groups."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgoss import LGBMRegressor
from skgoss.fit import splits
from skgoss.model_selection import GridSearchCV

X, y = load_diabetes(return_X_y=True)
X, y = X[:150], y[:150]
GROUPS = np.repeat(np.arange(15), 10)
GRID = {"n_estimators": [2, 4], "num_leaves": [3, 5]}
TIME = np.random.default_rng(5).permutation(len(y)) // 2
LATER = splits.by_time(3, TIME, None, "cv")
MODELS = {
    "plain": LGBMRegressor(),
    "pipeline": make_pipeline(StandardScaler(), LGBMRegressor()),
}


def scores(search):
    """The results without times."""
    results = search.cv_results_
    return {k: v for k, v in results.items() if not k.endswith("_time")}


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
