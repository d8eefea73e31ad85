"""The scorer of rankings is scikit-learn's NDCG."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline

from skgoss import LGBMRanker, ndcg_scorer
from skgoss.model_selection import GridSearchCV

RNG = np.random.default_rng(3)
SIZES = RNG.integers(1, 40, size=60)
QID = np.repeat(np.arange(len(SIZES)), SIZES)
N = len(QID)
X = RNG.normal(size=(N, 4))
Y = np.clip(np.rint(X[:, 0] + 0.5 * X[:, 1] + 0.5 * RNG.normal(size=N) + 1), 0, 4)


def ranker(**options):
    return LGBMRanker(**{"n_estimators": 15, "min_child_samples": 5} | options)


class First:
    """Predicts the first column, which has no ties."""

    def predict(self, X):
        return X[:, 0]


@pytest.mark.parametrize("k", [3, None])
def test_scorer_is_scikit_learn_s_ndcg(k):
    expected = []
    for query in np.split(np.arange(N), np.cumsum(SIZES)[:-1]):
        is_trivial = len(query) == 1 or not Y[query].any()
        gain, scores = [2 ** Y[query] - 1], [X[query, 0]]
        expected.append(1.0 if is_trivial else ndcg_score(gain, scores, k=k))
    found = ndcg_scorer(k)(First(), X, Y, qid=QID)
    assert found == pytest.approx(np.mean(expected), rel=1e-12)


def test_score_is_that_of_the_scorer():
    model = ranker().fit(X, Y, qid=QID)
    assert model.score(X, Y, qid=QID) == ndcg_scorer(None)(model, X, Y, group=SIZES)


@pytest.mark.parametrize("k", [0, -1, 2.5, "3"])
def test_bad_levels_of_the_scorer(k):
    with pytest.raises(ValueError, match="k must be an int >= 1 or None"):
        ndcg_scorer(k)


# --- Queries that do not reach the scorer ---------------------------------------------


@pytest.mark.parametrize("scoring", [None, ndcg_scorer(3)])
@pytest.mark.parametrize("make", [ranker, lambda: make_pipeline(None, ranker())])
def test_folds_are_not_scored_as_one_query(scoring, make):
    """Without metadata routing, scikit-learn passes ``qid`` to ``fit`` alone."""
    model, params = make(), {"qid": QID}
    if isinstance(model, Pipeline):
        params = {"lgbmranker__qid": QID}
    cv = list(GroupKFold(3).split(X, Y, QID))
    for search in (cross_val_score, in_search):
        with pytest.raises(ValueError, match=r"Neither qid nor group .*_routing"):
            search(model, X, Y, params=params, cv=cv, scoring=scoring, **RAISE)
    with config_context(enable_metadata_routing=True):
        ready = ranker().set_fit_request(qid=True).set_score_request(qid=True)
        options = {"params": {"qid": QID}, "cv": cv, "scoring": scoring}
        assert (cross_val_score(ready, X, Y, **options) > 0.6).all()


RAISE = {"error_score": "raise"}


def in_search(model, X, Y, params, **options):
    name = "num_leaves" if isinstance(model, LGBMRanker) else "lgbmranker__num_leaves"
    search = GridSearchCV(model, {name: [3, 5]}, **options)
    search.fit(X, Y, **params)


@pytest.mark.filterwarnings("ignore:Neither qid nor group is given")
def test_rows_of_one_query_may_lack_it():
    whole = ranker().fit(X, Y, qid=QID)
    first, last = np.argsort(SIZES)[[0, -1]]
    largest, more = np.isin(QID, [last]), np.isin(QID, [first, last])
    assert whole.score(X[largest], Y[largest]) > 0
    n_rows = more.sum()
    with pytest.raises(ValueError, match=rf"group=\[{n_rows}\] if the rows are one"):
        whole.score(X[more], Y[more])
    assert whole.score(X[more], Y[more], group=[n_rows]) > 0
    # Here, all rows were one query.
    assert ranker().fit(X[:300], Y[:300]).score(X, Y) > 0
    assert ndcg_scorer()(First(), X, Y) > 0
