"""Several names of one option: which value is used."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from skgoss import LGBMClassifier, LGBMRegressor, UnusedParameterWarning
from skgoss.parameters.table import OPTIONS

ALIASES = [(alias, option) for option in OPTIONS for alias in option.aliases]
CANDIDATES = (3, 0.5, 1.5, "gain", "gbrt", "balanced", "advanced", [1])


def valid_value(option):
    """A value that is inside the option's domain and not its default."""
    return next(
        value
        for value in [not option.default, *CANDIDATES]
        if value != option.default
        and option.domain.convert(value) is not NotImplemented
    )


@pytest.mark.parametrize(("alias", "option"), ALIASES)
def test_alias_resolves_at_once(alias, option):
    value = valid_value(option)
    for model in (
        LGBMClassifier(**{alias: value}),
        LGBMClassifier().set_params(**{alias: value}),
        clone(LGBMClassifier(**{alias: value})),
    ):
        assert getattr(model, option.name) == value
        assert getattr(model, alias) == value
        assert alias not in vars(model)
        assert alias not in model.get_params()
        assert repr(model) == f"LGBMClassifier({option.name}={value!r})"


def test_same_value_twice_is_not_a_conflict():
    assert LGBMClassifier(learning_rate=0.2, eta=0.2).learning_rate == 0.2


# Different values of one option, and the name whose value LightGBM uses.
CONFLICTS = [
    ({"learning_rate": 0.2, "eta": 0.3}, "learning_rate"),
    ({"eta": 0.3, "shrinkage_rate": 0.2}, "eta"),
    ({"subsample": 0.5, "sub_row": 0.6}, "sub_row"),
    ({"subsample": 0.5, "bagging_fraction": 0.6}, "bagging_fraction"),
    ({"n_estimators": 3, "num_boost_round": 4}, "num_boost_round"),
    ({"objective": "l1", "loss": "huber"}, "loss"),
    ({"lambda": 1.0, "lambda_l2": 2.0}, "lambda_l2"),
    ({"min_data": 3, "min_samples_leaf": 4}, "min_data"),
]


@pytest.mark.parametrize(("passed", "winner"), CONFLICTS)
def test_conflicts_are_decided_as_by_lightgbm(passed, winner):
    first, second = passed
    with pytest.warns(UnusedParameterWarning, match=f"{winner}=.* is used") as caught:
        model = LGBMRegressor(**passed)
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
    assert passed[winner] in model.get_params().values()
    assert f"{first}={passed[first]!r}" in str(caught[0].message)
    assert f"{second}={passed[second]!r}" in str(caught[0].message)
    with pytest.warns(UnusedParameterWarning, match="got different values for one"):
        changed = LGBMRegressor().set_params(**passed)
    assert changed.get_params() == model.get_params()


def test_precedence_is_lightgbm_s(lightgbm):
    X, y = np.arange(60.0)[:, None], np.arange(60) % 7
    checked = 0
    for option in OPTIONS:
        values = {"int": (3, 4), "int or None": (3, 4), "float": (0.5, 0.6)}.get(
            option.domain.type
        )
        if values is None or option.name in ("n_jobs", "verbosity", "n_estimators"):
            continue
        if option.name == "early_stopping_round":  # needs an evaluation set there
            continue
        for pair in itertools.combinations(option.precedence, 2):
            # The second pair of values tells the winner from a default.
            passed = dict(zip(pair, values, strict=True))
            theirs = lightgbm.LGBMRegressor(n_estimators=1, verbose=-1, **passed)
            text = theirs.fit(X, y).booster_.model_to_string()
            used = re.search(rf"\[{option.lightgbm}: (.*)\]", text)[1]
            if used != f"{option.default}":  # where their own default wins: not ours
                assert used == str(passed[pair[0]])
                checked += 1
    assert checked > 50


@pytest.mark.parametrize(
    "passed",
    [
        {"n_jobs": None, "nthread": 1},
        {"subsample": 1.0, "sub_row": 0.5},
        {"learning_rate": 0.1, "eta": 0.3},
    ],
)
def test_a_name_at_its_default_counts_as_not_passed(passed):
    name, alias = passed
    assert getattr(LGBMClassifier(**passed), name) == passed[alias]


@pytest.mark.parametrize(
    ("passed", "used"),
    [
        ({"nthread": 1, "n_jobs": -1}, 1),
        ({"n_jobs": 1, "num_threads": -1}, 1),
        ({"n_jobs": 1, "num_threads": 0}, 1),
        ({"nthread": 64_000, "n_jobs": -1}, -1),
        ({"nthread": 3, "n_jobs": 2, "num_threads": 5}, 2),
        ({"nthread": "1", "n_jobs": 2}, 2),  # no number: the order of names decides
    ],
)
def test_the_smallest_number_of_threads_is_used(passed, used, machine):
    machine(4, n_cores=4)
    with pytest.warns(UnusedParameterWarning, match="different values"):
        model = LGBMClassifier(**passed)
    assert model.n_jobs == used


def test_alias_overrides_what_was_set_before():
    assert LGBMClassifier(learning_rate=0.2).set_params(eta=0.3).learning_rate == 0.3
