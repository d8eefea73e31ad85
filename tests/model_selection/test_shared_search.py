"""What a search leaves to the user, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skgoss import LGBMClassifier
from skgoss.model_selection import GridSearchCV

X, y = load_diabetes(return_X_y=True)
X, y = X[:150], y[:150]
TWO = X, (y > 120).astype(int)
GRID = {"n_estimators": [2, 4], "num_leaves": [3, 5]}


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
