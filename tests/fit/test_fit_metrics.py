"""The order of the metrics of a fit, and unknown ones."""

import warnings
from functools import partial
from threading import Event

import numpy as np
import pytest

import skgoss
from skgoss import (
    Dataset,
    LGBMRegressor,
    cv,
    early_stopping,
    train,
)
from skgoss.utils import messages

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = X[:, 0]


def worse_from_round_to_round(name="own"):
    """A metric whose best round is the first one."""
    values = iter(range(1000))
    return lambda y, predicted: (name, float(next(values)), False)


BY_FIRST = [
    {"callbacks": [early_stopping(5, first_metric_only=True, verbose=False)]},
    {"first_metric_only": True, "early_stopping_round": 5},
]


@pytest.mark.parametrize("way", BY_FIRST)
@pytest.mark.parametrize(
    ("passed", "metric", "name"),
    [
        ([worse_from_round_to_round], None, "own"),
        ([worse_from_round_to_round, "l1"], None, "own"),
        # A built-in metric may be called like the function.
        ([partial(worse_from_round_to_round, "l2")], None, "l2"),
        (["l1", worse_from_round_to_round], None, None),
        ([worse_from_round_to_round], "l1", None),
        ([worse_from_round_to_round, "l1"], "rmse", None),
    ],
)
def test_the_first_metric_is_the_first_that_was_passed(way, passed, metric, name):
    options, given = dict(way), {}
    if "callbacks" in options:
        given["callbacks"] = options.pop("callbacks")
    functions = [item() if callable(item) else item for item in passed]
    rows = X[:50], X[:50, 0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Several metrics have the same name")
        model = LGBMRegressor(n_estimators=30, metric=metric, **options).fit(
            X, Y, eval_set=[rows], eval_metric=functions, **given
        )
    history = model.evals_result_["valid_0"]
    if name is None:
        assert model.best_iteration_ > 1
    else:
        assert model.best_iteration_ == 1
        assert len(history[name]) == 6


def test_functions_of_train_and_cv_are_first_if_no_metric_is_named():
    calls = [early_stopping(5, first_metric_only=True, verbose=False)]
    data = Dataset(X, Y)
    n_kept = []
    for params in ({}, {"metric": "l2"}):
        values = iter(range(1000))
        function = partial(lambda of, p, d: ("own", float(next(of)), False), values)
        booster = train(
            {"objective": "l2", **params},
            data,
            30,
            valid_sets=[data.create_valid(X[:50], Y[:50])],
            feval=function,
            callbacks=calls,
        )
        of_folds = iter(range(1000))
        function = partial(lambda of, p, d: ("own", float(next(of)), False), of_folds)
        results = cv(params, data, 30, nfold=2, feval=function, callbacks=calls)
        n_kept.append((booster.best_iteration, len(results["valid own-mean"])))
    assert n_kept[0] == (1, 1)
    assert min(n_kept[1]) > 1


def test_early_stopping_by_unknown_metrics_is_refused():
    rows = {"eval_set": [(X[:50], Y[:50])]}
    stopped = {"callbacks": [early_stopping(5)]}
    message = "metric 'f1' is not known, so early stopping would use other metrics"
    for options, given in (
        ({"early_stopping_round": 5}, {"eval_metric": "f1"}),
        ({"early_stopping_round": 5}, {"eval_metric": ["l1", "f1"]}),
        ({"early_stopping_round": 5, "metric": "f1"}, {}),
        ({}, {"eval_metric": "f1"} | stopped),
        ({"objective": "quantile", "alpha": [0.2, 0.5], "metric": "f1"}, stopped),
    ):
        with pytest.raises(ValueError, match=message):
            LGBMRegressor(n_estimators=3, **options).fit(X, Y, **rows, **given)
    for given in ({}, {"callbacks": [early_stopping(0)]}):
        with pytest.warns(skgoss.UnusedParameterWarning, match="has no effect"):
            LGBMRegressor(n_estimators=3).fit(X, Y, **rows, eval_metric="f1", **given)


def test_unknown_metrics_are_tolerated_where_skgoss_stands_for_lightgbm(monkeypatch):
    stands = Event()
    stands.set()
    monkeypatch.setattr(messages, "STANDS_FOR_LIGHTGBM", stands)
    model = LGBMRegressor(n_estimators=3, early_stopping_round=5)
    given = {"eval_set": [(X[:50], Y[:50])], "eval_metric": "f1"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y, **given)
    assert [str(w.message).endswith("It has no effect.") for w in caught] == [True]
    assert list(model.evals_result_["valid_0"]) == ["l2"]
