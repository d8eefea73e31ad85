"""Scorers of searches are checked before the first fit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import f1_score, make_scorer

from skgoss import LGBMClassifier
from skgoss.model_selection import GridSearchCV, RandomizedSearchCV

X = np.random.default_rng(0).normal(size=(60, 4))
y = (X[:, 0] > 0).astype(int)
TEXT = np.where(y, "m", "f")
SIX = np.array(list("abcdef") * 10)


def scored(scoring, target, kind=GridSearchCV):
    model = LGBMClassifier(n_estimators=2, n_jobs=1)
    search = kind(model, {"num_leaves": [3, 7]}, scoring=scoring, n_jobs=1)
    return search.fit(X, target).best_score_


SCORERS = {
    "f1": y,
    "precision": y == 1,
    "recall": 1 - 2 * y,
    "roc_auc": TEXT,
    "average_precision": SIX,
    "neg_brier_score": y + 3,
    "f1_macro": SIX,
}


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_that_can_score_the_labels_do(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The probabilities|Recall|Precision")
        assert np.isfinite(scored(name, SCORERS[name]))


@pytest.mark.parametrize("strategy", ["all", "race"])
def test_what_is_advised_for_text_labels_works(strategy):
    assert 0 < scored(make_scorer(f1_score, pos_label="m"), TEXT) <= 1
    model = LGBMClassifier(n_estimators=2, n_jobs=1)
    search = GridSearchCV(model, {"num_leaves": [3]}, scoring="f1", strategy=strategy)
    with pytest.raises(ValueError, match="needs the positive label 1"):
        search.fit(X, TEXT)


def test_candidates_that_are_drawn():
    def drawn(*args, **kwargs):
        return RandomizedSearchCV(*args, n_iter=2, random_state=0, **kwargs)

    assert 0 < scored("f1", y, drawn) <= 1
    with pytest.raises(ValueError, match="Use 'neg_log_loss'"):
        scored("logloss", y, drawn)
