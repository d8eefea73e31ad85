"""Which values options may have, and what they are converted to."""

from __future__ import annotations

from types import NoneType

import numpy as np
import pytest

from skgoss import LGBMClassifier, LGBMRegressor, parameters
from skgoss.parameters.table import OPTIONS

CANDIDATES = (3, 0.5, 1.5, "gain", "gbrt", "balanced", "advanced", [1])
BAD = [
    ("boosting_type", "darts", r"a str among \{'gbdt', 'gbrt', .*\}. Got 'darts'"),
    ("num_leaves", 1, r"an int in the range \[2, 131072\]. Got 1 instead."),
    ("num_leaves", 31.0, "an int"),
    ("num_leaves", True, "an int"),
    ("num_leaves", "many", "an int"),
    ("max_depth", [], "an int"),
    ("learning_rate", 0, r"a float in the range \(0, inf\)"),
    ("learning_rate", np.nan, "a float"),
    ("learning_rate", np.inf, "a float"),
    ("learning_rate", "0.1x", "a float"),
    ("learning_rate", np.True_, "a float"),
    ("n_estimators", 0, r"an int in the range \[1, inf\). Got 0 instead."),
    ("n_estimators", [], "an int"),
    ("objective", 3, "a str, a callable or None"),
    ("class_weight", "balance", "'balanced' or None"),
    ("subsample", 1.5, r"\(0, 1\]"),
    ("subsample", 0, r"\(0, 1\]"),
    ("reg_lambda", -1, r"\[0, inf\)"),
    ("max_bin", 65536, r"\[2, 65535\]"),
    ("use_missing", 1, "a bool"),
    ("use_missing", "yes", "a bool"),
    ("max_conflict_rate", 1.0, r"\[0, 1\)"),
    ("categorical_feature", "color", "'auto', None or a list of column names"),
    ("categorical_feature", ["a", 1.0], "column numbers >= 0"),
    ("categorical_feature", [-1], "column numbers >= 0"),
    ("categorical_feature", [True], "column numbers >= 0"),
    ("categorical_feature", 3.5, "a list"),
    ("importance_type", "gini", "'split', 'gain', 'cover'"),
    ("random_state", -1, "NumPy Generator or None"),
    ("random_state", "zero", "NumPy RandomState"),
    ("n_jobs", 1.0, "an int or None"),
    ("tweedie_variance_power", 2, r"\[1, 2\)"),
    ("label_gain", "1,inf", "a list of floats >= 0"),
    ("feature_contri", "1,nan", "a list of floats >= 0"),
    ("eval_at", "1,inf", "a list of ints >= 1"),
    ("extra_seed", -1, "or None"),
]


@pytest.mark.parametrize(("name", "value", "expected"), BAD)
def test_bad_value_is_refused_at_fit(name, value, expected):
    model = LGBMClassifier(**{name: value})
    before = set(vars(model))
    match = f"The '{name}' parameter of LGBMClassifier must be .*{expected}"
    with pytest.raises(ValueError, match=match):
        model.fit([[0.0], [1.0]], [0, 1])
    assert set(vars(model)) == before


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16])
def test_numpy_numbers_become_python_s(dtype):
    model = LGBMRegressor(num_leaves=dtype(7), reg_alpha=dtype(2), max_depth=dtype(0))
    settings = parameters.make_settings(model.get_params(), "LGBMRegressor")
    assert (type(settings.num_leaves), type(settings.reg_alpha)) == (int, float)
    assert settings == parameters.make_settings(
        {"num_leaves": 7, "reg_alpha": 2.0, "max_depth": 0}, "LGBMRegressor"
    )


def test_flags_as_words_and_capitals():
    given = {"boost_from_average": "false", "extra_trees": "True"}
    settings = parameters.make_settings({"boosting_type": "GBDT", **given}, "train")
    assert settings.boosting_type == "gbdt"
    assert (settings.boost_from_average, settings.extra_trees) == (False, True)


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        (("a", 1), ["a", 1]),
        (np.array([2, 0]), [2, 0]),
        ([np.int8(3), np.str_("b")], [3, "b"]),
        ((), []),
        (None, None),
        ("auto", "auto"),
        (0, [0]),
        ("0", [0]),
        ("0,2", [0, 2]),
        ("name:a,b", ["a", "b"]),
        ("", "auto"),
    ],
)
def test_columns_of_categories_become_a_list(passed, expected):
    values = {"categorical_feature": passed}
    assert parameters.make_settings(values, "train").categorical_feature == expected


# What the values of settings are, except functions and sources of random numbers.
PLAIN = {bool, int, float, str, tuple, list, dict, NoneType}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_settings_hold_plain_values(option):
    arrays = (np.array([1, 0]), np.array([0.5, 2.0]), np.array(["a", "b"]))
    scalars = (np.int8(3), np.float64(0.5), np.True_)
    others = ((1, 1), ["a", 2], {"a": 1}, {"a": np.int64(1)}, ())
    for value in (option.default, *CANDIDATES, *others, *scalars, *arrays):
        converted = option.domain.convert(value)
        if converted is NotImplemented:
            continue
        assert type(converted) in PLAIN
        assert option.domain.convert(converted) == converted
        if isinstance(converted, list | tuple):
            assert {*map(type, converted)} <= PLAIN


@pytest.mark.parametrize("value", [10**400, -(10**400)])
@pytest.mark.parametrize("name", ["learning_rate", "early_stopping_min_delta"])
def test_ints_too_large_for_a_float_are_out_of_range(name, value):
    model = LGBMRegressor(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        model.fit([[0.0], [1.0]], [0.0, 1.0])
