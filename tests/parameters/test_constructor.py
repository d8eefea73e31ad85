"""Constructors of estimators and of users' subclasses, get_params and set_params."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pytest
from sklearn import config_context
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
)
from skgoss.parameters.other_libraries import WITHOUT_EFFECT
from skgoss.parameters.table import OPTIONS

ESTIMATORS = [LGBMModel, LGBMClassifier, LGBMRanker, LGBMRegressor]


class Subclass(LGBMClassifier):
    """What users write."""

    def __init__(self, *, offset=0.0, **kwargs):
        super().__init__(**kwargs)
        self.offset = offset


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_constructor_is_the_table(cls):
    signature = dict(inspect.signature(cls).parameters)
    assert signature.pop("kwargs").kind == inspect.Parameter.VAR_KEYWORD
    assert {name: p.default for name, p in signature.items()} == {
        option.name: option.default for option in OPTIONS
    }
    assert {p.kind for p in signature.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert cls().get_params() == {o.name: o.default for o in OPTIONS}


def test_options_without_effect_are_left_out():
    names = [name for names in WITHOUT_EFFECT.values() for name in names]
    assert len(names) == len(set(names))
    assert {name for o in OPTIONS for name in o.names}.isdisjoint(names)
    model = LGBMClassifier(**dict.fromkeys(names, 1)).set_params(device_type="cpu")
    assert model.get_params() == LGBMClassifier().get_params()
    assert repr(model) == "LGBMClassifier()"


def test_displays_show_what_a_preset_leaves_alone():
    for cls in (LGBMRegressor, Subclass):
        model = cls(num_leaves=31, max_depth=4, preset="accurate")
        text = f"{cls.__name__}(max_depth=4, num_leaves=31, preset='accurate')"
        for shown in (model, clone(model), pickle.loads(pickle.dumps(model))):
            assert repr(shown) == text
            assert shown.get_params() == model.get_params()
        assert text in " ".join(repr(make_pipeline(model)).split())
        assert repr(cls(max_depth=-1).set_params(preset="accurate", num_leaves=31)) == (
            f"{cls.__name__}(max_depth=-1, num_leaves=31, preset='accurate')"
        )
        # Without a preset, it makes no difference what was passed.
        assert repr(model.set_params(preset=None)) == f"{cls.__name__}(max_depth=4)"
        model.set_params(preset="accurate")
        with config_context(print_changed_only=False):
            assert "(alpha=0.9, auc_mu_weights=None" in repr(model)
            assert repr(model) == repr(cls(max_depth=4, preset="accurate"))
    if hasattr(model, "_get_params_html"):  # scikit-learn >= 1.8
        assert model._get_params_html().non_default == (
            *("preset", "num_leaves", "max_depth"),
        )


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


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("num_leafs", r"no effect\. Did you mean 'num_leaves'\?$"),
        ("bagging_frequency", r"Did you mean 'bagging_freq'\?$"),
        ("verbose_eval", r"Did you mean 'verbose'\?$"),
        ("eval_metric", r"argument of fit\. Early stopping.* the parameter metric"),
        ("has_time", r": it has no effect\.$"),
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


@pytest.mark.parametrize("name", ["device", "device_type", "task_type"])
def test_set_params_warns_as_the_constructor_does(name):
    model = LGBMClassifier()
    for pass_option in (LGBMClassifier, model.set_params):
        with pytest.warns(UnusedParameterWarning, match=f"{name}='gpu' of LGBMClassif"):
            pass_option(**{name: "gpu"})
        pass_option(**{name: "cpu"}, cegb_tradeoff=1.0, cegb_penalty_split=0.0)


class Positional(LGBMRegressor):
    """A subclass with a parameter that has a position."""

    def __init__(self, offset=0.0, **kwargs):
        super().__init__(**kwargs)
        self.offset = offset


def test_constructors_without_positions_say_so():
    words = r"are keyword-only, got 100, 0\.1\. .*LGBMClassifier\(n_estimators=100, "
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
    other = clone(model)
    other.set_params(**{**model.get_params(), "num_leafs": 8, "num_leaves": 9})
    assert (other.get_params()["num_leafs"], other.num_leaves) == (8, 9)
    assert (model.get_params()["num_leafs"], model.num_leaves) == (7, 31)
    with pytest.raises(ValueError, match="Invalid parameter 'xyzzy'"):
        other.set_params(num_leafs=1, xyzzy=3)
    assert other.get_params()["num_leafs"] == 8


def test_warnings_can_be_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=UnusedParameterWarning)
        with pytest.raises(UnusedParameterWarning, match="'num_leafs'"):
            LGBMClassifier(num_leafs=7)
    assert pickle.loads(pickle.dumps(UnusedParameterWarning)) is UnusedParameterWarning


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
