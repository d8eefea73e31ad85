"""Rounds that grow at once, and are published one by one.

`Boosting.grows_in_engine` says whether the engine grows the rounds of a fit, or each of
them needs Python. Rounds that have grown before they are asked for are the difference
of ``grown.n`` and ``finished.n``.
"""

from __future__ import annotations

import numpy as np
import pytest

import skgoss
from helpers.fits import smooth_target, table
from skgoss import Booster, Dataset
from skgoss.utils.cancellation import Cancelled, CancelScope

# --- The two ways to grow rounds ------------------------------------------------------


def absolute(predicted, data):
    return np.sign(predicted - data.get_label()), np.ones(len(predicted))


@pytest.mark.parametrize(
    ("params", "in_engine"),
    [
        ({}, True),
        ({"objective": "multiclass", "num_class": 3}, True),
        ({"objective": "lambdarank"}, True),
        ({"linear_tree": True}, True),
        ({"bagging_fraction": 0.5, "bagging_freq": 1}, True),
        ({"data_sample_strategy": "goss"}, True),
        ({"objective": absolute}, False),
        ({"objective": "l1"}, False),
        ({"objective": "normal"}, False),
        ({"boosting": "dart"}, False),
        ({"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}, False),
        ({"min_split_gain": 1e9}, True),  # no tree has a split
        ({"min_child_samples": 999}, False),  # no column can be split
    ],
)
def test_rounds_that_need_no_python_grow_in_the_engine(params, in_engine):
    y = np.arange(400) % 3
    data = Dataset(table(400, 4, 5), y, group=[100] * 4)
    rounds = Booster({"verbose": -1, **params}, data)._fit.rounds
    assert rounds.grows_in_engine == in_engine
    with rounds.expecting(9, is_evaluated=False, may_end=False):
        has_split = rounds.boost() and rounds.boost()
        assert (rounds.grown.n > rounds.finished.n) == (in_engine and has_split)
    assert rounds.finished.n == 1 + has_split


# --- Rounds without callbacks ---------------------------------------------------------
# Many grow at once; `update` asks for them one by one.


def grown(params, y, n_rounds, *, is_evaluated):
    """The trees of a fit, or the error that ended it, and the number of rounds."""
    data = Dataset(table(400, 4, 5), y, weight=np.linspace(0.5, 2.0, 400))
    params = {"verbose": -1, "num_leaves": 7, "seed": 3, **params}
    booster = Booster(params, data) if is_evaluated else None
    try:
        if booster is None:
            booster = skgoss.train(params, data, n_rounds)
        else:
            assert booster._fit.rounds.grows_in_engine
            for _ in range(n_rounds):
                if booster.update():
                    break
    except ValueError as error:
        return str(error)
    return booster.model_to_string().split("\nparameters")[0]


LABELS = np.arange(400) % 3
AMOUNTS = np.abs(smooth_target(table(400, 4, 5), 5)) + 0.1


@pytest.mark.parametrize(
    ("params", "y"),
    [
        ({"objective": "binary"}, LABELS > 0),
        ({"objective": "binary", "is_unbalance": True, "sigmoid": 2.0}, LABELS > 0),
        ({"objective": "multiclass", "num_class": 3, "num_threads": 2}, LABELS),
        ({"objective": "multiclassova", "num_class": 3}, LABELS),
        ({"objective": "regression", "feature_fraction": 0.5}, AMOUNTS),
        ({"objective": "regression", "linear_tree": True}, AMOUNTS),
        ({"objective": "multiclass", "num_class": 3, "linear_tree": True}, LABELS),
        ({"objective": "huber", "extra_trees": True}, AMOUNTS),
        ({"objective": "tweedie", "enable_bundle": False}, AMOUNTS),
        ({"objective": "cross_entropy_lambda"}, AMOUNTS / AMOUNTS.max()),
        ({"objective": "regression", "min_split_gain": 3.0}, AMOUNTS),  # ends early
        # A loss that overflows after a few rounds: the error names the round.
        ({"objective": "regression", "learning_rate": 1e9}, AMOUNTS),
    ],
)
@pytest.mark.filterwarnings("ignore:learning_rate=1e.09 is above 2")
def test_rounds_without_callbacks_are_those_of_updates(params, y):
    prefetched = grown(params, y, 30, is_evaluated=False)
    assert prefetched == grown(params, y, 30, is_evaluated=True)
    assert ("in round" in prefetched) == (params.get("learning_rate") == 1e9)
    if "min_split_gain" in params:
        assert 0 < prefetched.count("\nTree=") < 30


def lagging(env):
    """A callback that does not need the model, and could end the fit."""


lagging.may_lag = True


class Sizes:
    """A callback that sees how many rounds grew at once, and is not waited for."""

    may_lag = only_watches = True

    def __init__(self):
        self.found, self.n_grown = [], 0

    def __call__(self, env):
        grown = env.model._fit.rounds.grown
        if grown.n > self.n_grown:
            self.found.append(grown.n - self.n_grown)
            self.n_grown = grown.n


STOP = skgoss.early_stopping(50, verbose=False)


@pytest.mark.parametrize(
    ("n_sets", "calls", "sizes"),
    [
        (0, [], [1, 32, 8]),
        (1, [], [1, 32, 8]),
        (1, [skgoss.record_evaluation({}), skgoss.log_evaluation(0)], [1, 32, 8]),
        (1, [STOP], [1] + [8] * 5),
        (0, [lagging], [1] + [8] * 5),
        (1, [lambda env: None], [1] * 41),
    ],
)
def test_rounds_that_nothing_can_end_grow_together(n_sets, calls, sizes):
    seen = Sizes()
    data = Dataset(table(400, 4, 5), AMOUNTS)
    others = data.create_valid(table(50, 4, 6), AMOUNTS[:50])
    params = {"verbose": -1, "num_leaves": 4}
    skgoss.train(params, data, 41, [others] * n_sets, callbacks=[*calls, seen])
    assert seen.found == sizes


def test_prefetched_rounds_end_with_their_scope():
    asked = []
    scope = CancelScope(lambda: len(asked) == 5 or asked.append(None))
    with scope.entered(), pytest.raises(Cancelled):
        skgoss.train({"verbose": -1}, Dataset(table(400, 4, 5), AMOUNTS), 30)
    assert len(asked) == 5


def watched(params, y, *, may_lag):
    """The trees and metrics of a fit that evaluates sets of rows, or its error."""
    X, sizes = table(400, 4, 5), [100, 100, 100, 100]
    params = {"verbose": -1, "num_leaves": 7, "seed": 3, **params}
    weight, group = np.linspace(0.5, 2.0, 400), None
    if "rank" in params.get("objective", ""):
        weight, group = None, sizes
    data = Dataset(X, y, weight=weight, group=group)
    others = Dataset(X[:200] + 0.1, y[:200], group=group and sizes[:2], reference=data)
    history = {}
    calls = [skgoss.record_evaluation(history)]
    try:
        booster = skgoss.train(
            params,
            data,
            30,
            valid_sets=[others, data],
            callbacks=calls if may_lag else [*calls, lambda env: None],
            keep_training_booster=True,
        )
    except ValueError as error:
        return str(error), history
    trees = [booster.model_to_string().split("\nparameters")[0]]
    values = [booster.eval_train(), booster.eval_valid()]
    booster.update()
    return *trees, booster.num_trees(), values, history


BAGS = {"bagging_fraction": 0.5, "bagging_freq": 2}
CLASSES = {"objective": "multiclass", "num_class": 3}


@pytest.mark.parametrize(
    ("params", "y"),
    [
        ({"objective": "regression"}, AMOUNTS),
        ({**BAGS, "num_threads": 2}, AMOUNTS),
        ({"objective": "binary", **BAGS, "pos_bagging_fraction": 0.6}, LABELS > 0),
        ({"data_sample_strategy": "goss", "learning_rate": 0.3}, AMOUNTS),
        ({"data_sample_strategy": "goss", **CLASSES}, LABELS),
        ({"objective": "lambdarank", **BAGS, "bagging_by_query": True}, LABELS),
        ({"objective": "rank_xendcg"}, LABELS),
        ({"feature_fraction": 0.5, "extra_trees": True}, AMOUNTS),
        ({"linear_tree": True}, AMOUNTS),
        ({"linear_tree": True, **BAGS}, AMOUNTS),
        ({"early_stopping_round": 3, "learning_rate": 0.8}, AMOUNTS),
        ({"min_split_gain": 3.0}, AMOUNTS),
        ({"objective": "l1"}, AMOUNTS),
        ({"boosting": "dart"}, AMOUNTS),
        ({"learning_rate": 1e9}, AMOUNTS),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:learning_rate=1e.09 is above 2")
def test_rounds_that_are_watched_may_grow_before_they_are_asked_for(params, y):
    """A callback that need not lag sees the same as one that must not."""
    lagging = watched(params, y, may_lag=True)
    assert lagging == watched(params, y, may_lag=False)
    n_rounds = len(next(iter(lagging[-1]["valid_0"].values())))
    if params.keys() & {"early_stopping_round", "min_split_gain", "learning_rate"}:
        assert 1 < n_rounds <= 30
