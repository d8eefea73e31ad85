"""The scorer of rankings is scikit-learn's NDCG."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from skgoss import LGBMRanker, ndcg_scorer

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
