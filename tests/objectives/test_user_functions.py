"""Which arguments functions of users get."""

from __future__ import annotations

from functools import partial, wraps

import numpy as np
import pytest

from skgoss import LGBMRanker, LGBMRegressor
from skgoss.objectives.user_functions import UserFunction

Y, SCORES = np.array([1.0, 2.0]), np.array([[3.0, 4.0]])
WEIGHT, SIZES = np.array([5.0, 6.0]), np.array([2])


class Metric:
    """Callables with ``self``."""

    def __call__(self, y_true, y_pred, power=2.0):
        return {"power": power}

    def of_weights(self, y_true, y_pred, weight=None, *, power=2.0):
        return {"weight": weight, "power": power}


def two(y_true, y_pred):
    return {}


def four(y_true, y_pred, w, g):
    return {"weight": w, "group": g}


def with_default(y_true, y_pred, gamma=2.0):
    return {"gamma": gamma}


def two_with_defaults(y_true=None, y_pred=None, gamma=2.0):
    return {"gamma": gamma}


def with_defaults_first(y_true, y_pred, gamma=2.0, weight=None, group=None):
    return {"gamma": gamma, "weight": weight, "group": group}


def with_group_alone(y_true, y_pred, *, group):
    return {"group": group}


def with_sample_weight(y_true, y_pred, *, power=2.0, sample_weight=None):
    return {"power": power, "weight": sample_weight}


def with_any_keywords(y_true, y_pred, **options):
    return {"options": options}


def with_three(y_true, y_pred, gamma, weight):
    return {"gamma": gamma, "weight": weight}


@wraps(with_default)
def wrapper(*args, **kwargs):
    return with_default(*args, **kwargs)


BOUND = np.array([7.0, 8.0])
PASSED = [
    (two, {}),
    (four, {"weight": WEIGHT, "group": SIZES}),
    (with_default, {"gamma": 2.0}),
    (two_with_defaults, {"gamma": 2.0}),
    (with_defaults_first, {"gamma": 2.0, "weight": WEIGHT, "group": SIZES}),
    (with_group_alone, {"group": SIZES}),
    (with_sample_weight, {"power": 2.0, "weight": WEIGHT}),
    (with_any_keywords, {"options": {}}),
    (wrapper, {"gamma": 2.0}),
    (Metric(), {"power": 2.0}),
    (Metric().of_weights, {"weight": WEIGHT, "power": 2.0}),
    (partial(with_default, gamma=3.0), {"gamma": 3.0}),
    (partial(with_three, gamma=3.0), {"gamma": 3.0, "weight": WEIGHT}),
    (partial(with_sample_weight, sample_weight=BOUND), {"power": 2.0, "weight": BOUND}),
    (
        partial(partial(with_defaults_first, gamma=3.0), weight=BOUND),
        {"gamma": 3.0, "weight": BOUND, "group": SIZES},
    ),
]


@pytest.mark.parametrize(("function", "expected"), PASSED)
def test_parameters_with_defaults_keep_them_unless_they_are_weights(function, expected):
    user = UserFunction(function, "eval")
    np.testing.assert_equal(user(Y, SCORES, WEIGHT, SIZES), expected)
    passed = list(map(id, expected.values()))
    assert user.takes_weight == (id(WEIGHT) in passed)
    assert user.takes_group == (id(SIZES) in passed)


def test_functions_without_a_signature_take_targets_and_predictions():
    class Extension:
        @property
        def __signature__(self):
            raise ValueError("no signature found")

        def __call__(self, *arguments):
            return arguments

    y, predicted = UserFunction(Extension(), "eval")(Y, SCORES, WEIGHT, SIZES)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(predicted, SCORES[0])


def test_a_loss_and_a_metric_with_parameters_are_those_with_their_defaults():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y, weight = X[:, 0] + rng.normal(size=200), rng.integers(1, 4, 200).astype(float)

    def loss(y_true, y_pred, scale=2.0):
        return scale * (y_pred - y_true), np.full(len(y_true), scale)

    def metric(y_true, y_pred, power=2.0):
        return "error", float(np.mean(np.abs(y_true - y_pred) ** power)), False

    fits = [
        LGBMRegressor(objective=objective, n_estimators=5).fit(
            X, y, weight, eval_set=[(X, y)], eval_metric=measured
        )
        for objective, measured in (
            (loss, metric),
            (lambda y, p: loss(y, p), lambda y, p: metric(y, p)),
        )
    ]
    with_defaults, plain = (fit.predict(X) for fit in fits)
    np.testing.assert_array_equal(with_defaults, plain)
    assert np.ptp(plain) > 0
    assert fits[0].evals_result_ == fits[1].evals_result_


def test_objectives_get_groups_by_name_with_rows_in_the_order_of_queries():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    qid = rng.permutation(np.repeat(np.arange(3), 20))
    by_query = np.argsort(qid, kind="stable")

    def loss(y_true, y_pred, scale=1.0, group=None):
        np.testing.assert_array_equal(group, [20, 20, 20])
        np.testing.assert_array_equal(y_true, y[by_query])
        return scale * (y_pred - y_true), np.ones(60)

    LGBMRanker(objective=loss, n_estimators=2).fit(X, y, qid=qid)


def test_objectives_of_users_start_from_start_scores_alone():
    X = np.random.default_rng(0).normal(size=(100, 2))
    y, calls = X[:, 0] + 5.0, []

    def squared(y_true, y_pred):
        calls.append(y_pred)
        return y_pred - y_true, np.ones(len(y_true))

    model = LGBMRegressor(objective=squared, n_estimators=3)
    expected = model.fit(X, y).predict(X)
    start = np.full(100, 2.0)
    found = model.fit(X, y + 2.0, init_score=start).predict(X)
    np.testing.assert_allclose(found, expected)
    assert len(calls) == 6
    np.testing.assert_array_equal(calls[3], start)
