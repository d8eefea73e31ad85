"""The arguments of `fit`, from the estimator to the fit."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris

from skgoss import LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor
from skgoss.fit.arguments import FitArguments


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def two_classes(iris):
    X, y = iris
    return X[y > 0], y[y > 0]


def small(cls, **options):
    return cls(n_estimators=5, num_leaves=6, **options)


@pytest.mark.parametrize("cls", [LGBMModel, LGBMRegressor, LGBMClassifier, LGBMRanker])
def test_every_argument_of_fit_arrives(cls, monkeypatch):
    taken = {}

    def keep(self, X, y, given):
        taken.update(vars(given), X=X, y=y)
        return self

    monkeypatch.setattr(cls, "_fit", keep)
    names = list(inspect.signature(cls.fit).parameters)[1:]
    given = {name: object() for name in names} | {"callbacks": [print], "verbose": 7}
    cls().fit(**given)
    assert taken["early_stopping_messages"]
    first, log = taken.pop("callbacks")
    assert (first, log.period) == (given.pop("callbacks")[0], given.pop("verbose"))
    taken["early_stopping_rounds"] = taken.pop("early_stopping_round")
    assert all(taken[name] is value for name, value in given.items())


@pytest.mark.parametrize("cls", [LGBMModel, LGBMRegressor, LGBMClassifier, LGBMRanker])
def test_arguments_of_fit_are_in_lightgbm_s_order(cls):
    lightgbm = pytest.importorskip("lightgbm")
    ours, theirs = (
        [
            name
            for name, parameter in inspect.signature(its.fit).parameters.items()
            if parameter.kind == parameter.POSITIONAL_OR_KEYWORD
        ]
        for its in (cls, getattr(lightgbm, cls.__name__))
    )
    assert ours == theirs


def test_an_argument_of_fit_cannot_be_lost():
    with pytest.raises(TypeError, match="unexpected keyword argument 'eval_weight'"):
        FitArguments.from_locals({"self": None, "X": 1, "y": 2, "eval_weight": 3})


def test_ones_are_no_weights(two_classes):
    X, y = two_classes
    expected = small(LGBMClassifier).fit(X, y).predict_proba(X)
    for weight in (np.ones(100), [1] * 100, 1, np.ones(100, dtype=np.float32)):
        model = small(LGBMClassifier).fit(X, y, weight)
        np.testing.assert_array_equal(model.predict_proba(X), expected)
