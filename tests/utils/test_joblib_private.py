"""The threads of searches, which end together."""

from __future__ import annotations

import threading

import pytest
from sklearn.datasets import load_diabetes

from skgoss import LGBMClassifier
from skgoss.model_selection import GridSearchCV

X, y = load_diabetes(return_X_y=True)
X, y = X[:150], y[:150]
TWO = X, (y > 120).astype(int)
GRID = {"n_estimators": [2, 4], "num_leaves": [3, 5]}


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
    with pytest.raises((RuntimeError, AttributeError), match=r"(thread|'terminate')"):
        search.fit(*TWO)
    monkeypatch.undo()
    assert search.fit(*TWO).best_score_ > 0.5
