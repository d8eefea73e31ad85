"""The table of options: names, domains, seeds and documentation."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import re
import runpy
import warnings
from pathlib import Path
from types import NoneType

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgoss import (
    LGBMClassifier,
    LGBMModel,
    LGBMRanker,
    LGBMRegressor,
    UnusedParameterWarning,
    parameters,
)
from skgoss.fit.arguments import FitArguments
from skgoss.parameters.table import DEFAULT_SEEDS, OPTIONS, WITHOUT_EFFECT
from skgoss.utils import threads

ESTIMATORS = [LGBMModel, LGBMClassifier, LGBMRanker, LGBMRegressor]
ALIASES = [(alias, option) for option in OPTIONS for alias in option.aliases]
DOCS = Path(__file__).parents[2] / "docs"


class Subclass(LGBMClassifier):
    """What users write."""

    def __init__(self, *, offset=0.0, **kwargs):
        super().__init__(**kwargs)
        self.offset = offset


CANDIDATES = (3, 0.5, 1.5, "gain", "gbrt", "balanced", "advanced", [1])


def valid_value(option):
    """A value that is inside the option's domain and not its default."""
    return next(
        value
        for value in [not option.default, *CANDIDATES]
        if value != option.default
        and option.domain.convert(value) is not NotImplemented
    )


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_constructor_is_the_table(cls):
    signature = dict(inspect.signature(cls).parameters)
    assert signature.pop("kwargs").kind == inspect.Parameter.VAR_KEYWORD
    assert {name: p.default for name, p in signature.items()} == {
        option.name: option.default for option in OPTIONS
    }
    assert {p.kind for p in signature.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert cls().get_params() == {o.name: o.default for o in OPTIONS}


def test_defaults_and_names_are_lightgbm_s():
    lightgbm = pytest.importorskip("lightgbm")
    ours = {option.name: option.default for option in OPTIONS}
    for cls in ESTIMATORS:
        theirs = inspect.signature(getattr(lightgbm, cls.__name__)).parameters
        for name, parameter in theirs.items():
            if name != "kwargs":
                assert ours[name] == parameter.default
                assert parameter.kind == parameter.KEYWORD_ONLY


def test_names_are_lightgbm_s():
    lightgbm = pytest.importorskip("lightgbm")
    theirs = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    not_theirs = {
        *("class_weight", "importance_type", "max_conflict_rate"),
        *("validation_fraction", "refit", "folds", "preset"),
    }
    for option in OPTIONS:
        if option.name not in not_theirs:
            assert {*option.names} == {*theirs[option.lightgbm], option.lightgbm}


def test_no_name_is_used_twice():
    names = [name for option in OPTIONS for name in option.names]
    assert len(names) == len(set(names))


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


def test_options_without_effect_are_left_out():
    names = [name for names in WITHOUT_EFFECT.values() for name in names]
    assert len(names) == len(set(names))
    assert {name for o in OPTIONS for name in o.names}.isdisjoint(names)
    model = LGBMClassifier(**dict.fromkeys(names, 1)).set_params(device_type="gpu")
    assert model.get_params() == LGBMClassifier().get_params()
    assert repr(model) == "LGBMClassifier()"


def test_options_without_effect_are_lightgbm_s():
    lightgbm = pytest.importorskip("lightgbm")
    theirs = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    lightgbm_names = {n for main, names in theirs.items() for n in (main, *names)}
    names = {name for names in WITHOUT_EFFECT.values() for name in names}
    assert names - lightgbm_names == {"silent"}


def test_same_value_twice_is_no_conflict():
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


def test_precedence_is_lightgbm_s():
    lightgbm = pytest.importorskip("lightgbm")
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
def test_the_smallest_number_of_threads_is_used(passed, used, monkeypatch):
    # The same on machines of one core, and under OMP_NUM_THREADS.
    monkeypatch.setattr(threads.runtime, "max_threads", lambda: 4)
    monkeypatch.setattr(threads, "_cores", lambda only_physical: 4)
    with pytest.warns(UnusedParameterWarning, match="different values"):
        model = LGBMClassifier(**passed)
    assert model.n_jobs == used


def test_a_subclass_with_a_default_of_its_own_takes_aliases():
    class Fast(LGBMRegressor):
        def __init__(self, *, learning_rate=0.5, **kw):
            super().__init__(learning_rate=learning_rate, **kw)

    assert Fast().learning_rate == 0.5
    assert Fast(eta=0.3).learning_rate == clone(Fast(eta=0.3)).learning_rate == 0.3
    assert Fast(eta=0.1).learning_rate == clone(Fast(eta=0.1)).learning_rate == 0.1
    with pytest.warns(UnusedParameterWarning, match=r"learning_rate=0\.7 is used"):
        assert Fast(learning_rate=0.7, eta=0.3).learning_rate == 0.7


def test_attributes_of_a_subclass_are_not_overwritten():
    class Penalized(LGBMRegressor):
        def __init__(self, alpha=0.5, **kw):
            self.alpha = alpha
            self.fair_c = "of mine"
            super().__init__(**kw)

    model = Penalized(num_leaves=4)
    assert (model.alpha, model.fair_c, model.num_leaves) == (0.5, "of mine", 4)
    assert clone(Penalized(alpha=2.0)).alpha == 2.0
    again = LGBMRegressor(num_leaves=4)
    again.__init__(max_depth=3)
    assert repr(again) == "LGBMRegressor(max_depth=3)"


def test_alias_overrides_what_was_set_before():
    assert LGBMClassifier(learning_rate=0.2).set_params(eta=0.3).learning_rate == 0.3


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("num_leafs", r"no effect\. Did you mean 'num_leaves'\?$"),
        ("bagging_frequency", r"Did you mean 'bagging_freq'\?$"),
        ("verbose_eval", r"Did you mean 'verbose'\?$"),
        ("eval_metric", r"no effect\. It is an argument of fit\.$"),
        ("use_best_model", r": it has no effect\.$"),
    ],
)
def test_unknown_name_is_kept_with_a_warning(name, hint):
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    with pytest.warns(UnusedParameterWarning, match=f"'{name}'.*{hint}") as caught:
        model = LGBMClassifier(num_leaves=4, **{name: [3]})
    assert [warning.filename for warning in caught] == [__file__]
    # From here on nothing warns.
    assert model.get_params()[name] == [3]
    assert f"{name}=[3]" in repr(model)
    expected = LGBMClassifier(num_leaves=4).fit(X, y).predict_proba(X)
    for copied in (model, clone(model), pickle.loads(pickle.dumps(model))):
        assert copied.get_params() == model.get_params()
        np.testing.assert_array_equal(copied.fit(X, y).predict_proba(X), expected)
    assert clone(model).get_params()[name] is not model.get_params()[name]
    assert model._repr_html_()


def test_set_params_refuses_unknown_names():
    with pytest.raises(ValueError, match="Invalid parameter 'xyzzy' for estimator"):
        LGBMClassifier().set_params(xyzzy=3)
    with pytest.raises(ValueError, match="Invalid parameter 'eta' for estimator"):
        LGBMClassifier().set_params(eta__x=3)
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    with pytest.raises(ValueError, match="Invalid parameter 'num_leafs'"):
        GridSearchCV(LGBMClassifier(), {"num_leafs": [3]}, cv=2).fit(X, y)


class Positional(LGBMRegressor):
    """A subclass with a parameter that has a position."""

    def __init__(self, offset=0.0, **kwargs):
        super().__init__(**kwargs)
        self.offset = offset


def test_constructors_without_positions_say_so():
    words = r"have no order, got 100, 0\.1\. .*LGBMClassifier\(n_estimators=100, "
    with pytest.raises(TypeError, match=words):
        LGBMClassifier(100, 0.1)
    assert Positional(3.0, n_estimators=2).offset == 3.0
    for function in (LGBMClassifier, LGBMClassifier.__init__):
        names = inspect.signature(function).parameters
        assert names["num_leaves"].kind is inspect.Parameter.KEYWORD_ONLY
        assert names["num_leaves"].default == 31


def test_set_params_takes_back_what_get_params_gave():
    with pytest.warns(UnusedParameterWarning, match="'num_leafs'"):
        model = LGBMClassifier(num_leafs=7)
    twin = clone(model)
    twin.set_params(**{**model.get_params(), "num_leafs": 8, "num_leaves": 9})
    assert (twin.get_params()["num_leafs"], twin.num_leaves) == (8, 9)
    assert (model.get_params()["num_leafs"], model.num_leaves) == (7, 31)
    with pytest.raises(ValueError, match="Invalid parameter 'xyzzy'"):
        twin.set_params(num_leafs=1, xyzzy=3)
    assert twin.get_params()["num_leafs"] == 8


def test_warnings_can_be_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=UnusedParameterWarning)
        with pytest.raises(UnusedParameterWarning, match="'num_leafs'"):
            LGBMClassifier(num_leafs=7)
    assert pickle.loads(pickle.dumps(UnusedParameterWarning)) is UnusedParameterWarning


def test_predictions_take_the_options_of_lightgbm():
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    model = LGBMClassifier(n_estimators=3).fit(X, y)
    expected = model.predict_proba(X)
    # None of them changes a prediction of LightGBM's estimators.
    for name in ("num_leaves", "learning_rate", "predict_raw_score", "n_jobs"):
        np.testing.assert_array_equal(model.predict_proba(X, **{name: 1}), expected)
    for name in ("num_iterations", "n_estimators"):
        with pytest.warns(UnusedParameterWarning, match="mean 'num_iteration'"):
            found = model.predict_proba(X, **{name: 1})
        np.testing.assert_array_equal(found, expected)
    with pytest.warns(UnusedParameterWarning, match="no argument 'ntree_limit': it"):
        np.testing.assert_array_equal(model.predict_proba(X, ntree_limit=1), expected)
    with pytest.warns(UnusedParameterWarning, match="n_jobs=1 is used"):
        model.predict(X, n_jobs=1, num_threads=64_000)
    with pytest.raises(ValueError, match="The 'n_jobs' parameter of LGBMClassifier"):
        model.predict(X, num_threads="all")


def test_subclass_with_kwargs():
    model = Subclass(offset=1.0, eta=0.3)
    assert model.learning_rate == 0.3
    assert set(model.get_params()) == {"offset", *LGBMModel().get_params()}
    for copied in (clone(model), pickle.loads(pickle.dumps(model))):
        assert copied.get_params() == model.get_params()
    assert repr(model.set_params(max_leaves=4)) == (
        "Subclass(learning_rate=0.3, num_leaves=4, offset=1.0)"
    )
    with pytest.warns(UnusedParameterWarning, match="Subclass .* 'nonsense'"):
        odd = Subclass(nonsense=1)
    assert clone(odd).get_params() == {**Subclass().get_params(), "nonsense": 1}


def test_names_that_a_subclass_has_taken():
    class Tagged(LGBMRegressor):
        def __init__(self, *, task="a", eta="b", **kwargs):
            super().__init__(**kwargs)
            self.task = task
            self.eta = eta

    model = Tagged(learning_rate=0.2).set_params(task="c", eta="d", num_trees=3)
    for copied in (model, clone(model)):
        assert (copied.task, copied.eta) == ("c", "d")
        assert (copied.learning_rate, copied.n_estimators) == (0.2, 3)


def test_grid_over_an_alias():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 2
    model = make_pipeline(StandardScaler(), LGBMClassifier(num_trees=2))
    grid = {"lgbmclassifier__eta": [0.1, 0.2], "lgbmclassifier__max_leaf_nodes": [3]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, y)
    best = search.best_estimator_[-1]
    assert (best.num_leaves, best.n_estimators) == (3, 2)


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
    ("random_state", -1, "numpy RandomState or Generator or None"),
    ("random_state", "zero", "numpy RandomState"),
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
    assert repr(settings).startswith("Settings(boosting_type='gbdt', num_leaves=31,")
    for copied in (pickle.loads(pickle.dumps(settings)), copy.copy(settings)):
        assert type(copied) is parameters.Settings
        assert copied == settings != settings.replaced(num_leaves=3)
    with pytest.raises(AttributeError):
        settings.num_leaves = 3


# What the values of settings are, besides functions and sources of random numbers.
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


def test_docs_are_current():
    page = (DOCS / "parameters.md").read_text(encoding="utf-8")
    assert runpy.run_path(str(DOCS / "parameters.py"))["markdown"]() == page


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_docstring_holds_the_table(cls):
    for option in OPTIONS:
        assert f"\n{option.name} : {option.domain.type}, default=" in cls.__doc__
    assert "{" not in cls.__doc__.replace("{'", "")  # no mark is left


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_docstring_holds_all_attributes(cls):
    ends_in_underscore = {
        name for name in dir(cls) if name.endswith("_") and not name.startswith("_")
    }
    listed = set(re.findall(r"^(\w+_) : ", cls.__doc__, re.M))
    assert listed == ends_in_underscore | {"n_features_in_", "feature_names_in_"}


@pytest.mark.parametrize("value", [10**400, -(10**400)])
@pytest.mark.parametrize("name", ["learning_rate", "early_stopping_min_delta"])
def test_ints_too_large_for_a_float_are_out_of_range(name, value):
    model = LGBMRegressor(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        model.fit([[0.0], [1.0]], [0.0, 1.0])
