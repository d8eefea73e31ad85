"""Settings: checked options that never change, and their seeds."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

from skgoss import LGBMModel, LGBMRegressor, parameters
from skgoss.fit.arguments import FitArguments
from skgoss.parameters.settings import DEFAULT_SEEDS
from skgoss.parameters.table import OPTIONS


def test_columns_of_categories_passed_to_fit_come_first():
    model = LGBMRegressor(categorical_feature=["a"])
    for passed, expected in (("auto", ["a"]), ([1], [1]), (None, None)):
        settings = model._settings(None, FitArguments(categorical_feature=passed))
        assert settings.categorical_feature == expected
    with pytest.raises(
        ValueError, match="The 'categorical_feature' parameter of LGBMR"
    ):
        model._settings(None, FitArguments(categorical_feature="a"))


def test_signature_settings_and_table_agree():
    names = [option.name for option in OPTIONS]
    assert [*inspect.signature(LGBMModel).parameters] == [*names, "kwargs"]
    settings = parameters.make_settings({}, "train")
    assert [*vars(settings)] == names
    resolved = {*DEFAULT_SEEDS, "random_state"}
    for option in OPTIONS:
        if option.name not in resolved:
            assert getattr(settings, option.name) is option.default


def test_settings_are_frozen():
    settings = parameters.make_settings({"boosting_type": "gbrt"}, "train")
    assert settings.boosting_type == "gbdt"
    assert type(settings.replaced(num_leaves=3)) is parameters.Settings
    assert repr(settings).startswith("Settings(objective=None, preset=None,")
    assert "boosting_type='gbdt', max_depth=-1," in repr(settings)
    for copied in (pickle.loads(pickle.dumps(settings)), copy.copy(settings)):
        assert type(copied) is parameters.Settings
        assert copied == settings != settings.replaced(num_leaves=3)
    with pytest.raises(AttributeError):
        settings.num_leaves = 3


def seeds(**options):
    settings = parameters.make_settings(options, "LGBMRegressor")
    return [getattr(settings, name) for name in DEFAULT_SEEDS]


def test_seeds():
    assert seeds() == [1, 3, 2, 6, 5, 4]
    assert seeds(random_state=0) == seeds(random_state=0) != seeds()
    assert seeds(random_state=0) != seeds(random_state=1)
    assert len(set(seeds(random_state=0))) == 6
    assert seeds(random_state=0, bagging_seed=9)[1] == 9
    assert seeds(bagging_seed=9) == [1, 9, 2, 6, 5, 4]
    everything = [s for i in range(50) for s in seeds(random_state=i)]
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in everything)


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_generators_are_drawn_from_at_each_fit_and_kept(make):
    generator = make(0)
    model = LGBMRegressor(random_state=generator)
    first, second = (
        parameters.make_settings(model.get_params(), "LGBMRegressor") for _ in range(2)
    )
    assert first.random_state != second.random_state
    assert model.random_state is generator
    again = parameters.make_settings({"random_state": make(0)}, "LGBMRegressor")
    assert again == first
