"""The table of options against LightGBM's."""

from __future__ import annotations

import inspect

import pytest

from skgoss import LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor
from skgoss._engine.columns import computed_kernels
from skgoss.parameters.domains import DATE_PARTS
from skgoss.parameters.other_libraries import WITHOUT_EFFECT
from skgoss.parameters.table import OPTIONS

ESTIMATORS = [LGBMModel, LGBMClassifier, LGBMRanker, LGBMRegressor]


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_defaults_and_names_are_lightgbm_s(cls, lightgbm):
    ours = {option.name: option.default for option in OPTIONS}
    theirs = inspect.signature(getattr(lightgbm, cls.__name__)).parameters
    for name, parameter in theirs.items():
        if name != "kwargs":
            assert ours[name] == parameter.default
            assert parameter.kind == parameter.KEYWORD_ONLY


def test_parts_of_dates_are_those_of_the_engine():
    assert list(DATE_PARTS) == list(computed_kernels.DATE_PARTS)


def test_names_are_lightgbm_s(lightgbm):
    theirs = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    not_theirs = {
        *("class_weight", "importance_type", "max_conflict_rate"),
        *("validation_fraction", "refit", "folds", "preset"),
        *("multi_strategy", "pair_features", "date_features", "time_limit"),
        *("warm_start", "memory_limit"),
    }
    for option in OPTIONS:
        if option.name not in not_theirs:
            assert {*option.names} == {*theirs[option.lightgbm], option.lightgbm}


def test_no_name_is_used_twice():
    names = [name for option in OPTIONS for name in option.names]
    assert len(names) == len(set(names))


def test_options_without_effect_are_lightgbm_s(lightgbm):
    theirs = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    lightgbm_names = {n for main, names in theirs.items() for n in (main, *names)}
    names = {name for names in WITHOUT_EFFECT.values() for name in names}
    assert names - lightgbm_names == {"silent"}
