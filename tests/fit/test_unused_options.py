"""Options without effect are named in one warning; others are not."""

import warnings

import numpy as np
import pytest

from skgoss import (
    Dataset,
    LGBMClassifier,
    LGBMRegressor,
    UnusedParameterWarning,
    cv,
    train,
)
from skgoss.fit.unused_options import NEEDS
from skgoss.parameters import DEFAULTS

X = np.random.default_rng(0).standard_normal((60, 3))
Y = np.abs(X[:, 0])
SMALL = {"n_estimators": 2, "n_jobs": 1}

# A value that is not the default, and what gives it an effect.
OPTIONS = {
    "alpha": (0.3, {"objective": "quantile"}),
    "fair_c": (2.0, {"objective": "fair"}),
    "tweedie_variance_power": (1.2, {"objective": "tweedie"}),
    "subsample": (0.5, {"subsample_freq": 1}),
    "top_rate": (0.3, {"data_sample_strategy": "goss"}),
    "other_rate": (0.3, {"data_sample_strategy": "goss"}),
    "drop_rate": (0.3, {"boosting_type": "dart"}),
    "max_drop": (3, {"boosting_type": "dart"}),
    "skip_drop": (0.3, {"boosting_type": "dart"}),
    "linear_lambda": (1.0, {"linear_tree": True}),
    "monotone_penalty": (1.0, {"monotone_constraints": [1, 0, 0]}),
    "monotone_constraints_method": ("advanced", {"monotone_constraints": [1, 0, 0]}),
    "validation_fraction": (0.3, {"early_stopping_round": 5}),
}


def test_each_option_has_a_case():
    assert OPTIONS.keys() == NEEDS.keys()


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_without_effect_is_named(name):
    value, needed = OPTIONS[name]
    with pytest.warns(
        UnusedParameterWarning, match=f"{name} needs {NEEDS[name].words}"
    ):
        alone = LGBMRegressor(**SMALL, **{name: value}).fit(X, Y)
    np.testing.assert_array_equal(
        alone.predict(X), LGBMRegressor(**SMALL).fit(X, Y).predict(X)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedParameterWarning)
        LGBMRegressor(**SMALL, **{name: DEFAULTS[name]}).fit(X, Y)
        attribute = LGBMRegressor(**SMALL)
        setattr(attribute, name, value)  # as scikit-learn's checks do
        attribute.fit(X, Y)
        LGBMRegressor(**SMALL, **{name: value}, **needed).fit(X, Y)


def test_there_is_one_warning_of_all():
    options = {"bagging_fraction": 0.5, "drop_rate": 0.2, "learning_rate": 0.05}
    for fit in (
        lambda: LGBMRegressor(**SMALL, **options).fit(X, Y),
        lambda: train({**options, "verbosity": -1}, Dataset(X, Y), 2),
        lambda: cv({**options, "verbosity": -1}, Dataset(X, Y), 2, nfold=2),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            fit()
        (warning,) = [w for w in caught if w.category is UnusedParameterWarning]
        assert str(warning.message) == (
            "Options without effect: subsample needs subsample_freq=1; drop_rate needs"
            " boosting_type='dart'."
        )
        assert warning.filename == __file__


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 0.3, "metric": "quantile"},
        {"alpha": 0.3, "objective": lambda y, p: (p - y, np.ones_like(y))},
        {"validation_fraction": 0.3, "preset": "accurate", "learning_rate": 0.3},
    ],
)
def test_options_that_may_have_an_effect(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedParameterWarning)
        LGBMRegressor(**SMALL, **options).fit(X, Y)


def test_classifiers_warn_too():
    with pytest.warns(UnusedParameterWarning, match="alpha needs objective='huber'"):
        LGBMClassifier(**SMALL, alpha=0.2).fit(X, Y > 0.5)
