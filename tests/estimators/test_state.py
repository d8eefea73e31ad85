"""Models that are saved and loaded are identical, and whatever is loaded is checked."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skgoss
from helpers import mutations
from helpers.model_files_alike import assert_same
from helpers.mutations import drop, put
from helpers.saving import WAYS, skops_io
from skgoss import LGBMClassifier, LGBMModel, LGBMRegressor
from skgoss.model.ensemble import Ensemble
from skgoss.utils import optional

KINDS = range(len(mutations.models()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_loaded_is_the_same_model(way, kind):
    model, X = mutations.models()[kind]
    again = WAYS[way](model)
    assert_same(again, model, X)
    assert pickle.dumps(again._model.trees) == pickle.dumps(model._model.trees)


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_skops_name_the_estimator_alone(kind):
    model, _ = mutations.models()[kind]
    skops = skops_io()
    trusted = skops.get_untrusted_types(data=skops.dumps(model))
    assert trusted == [f"{type(model).__module__}.{type(model).__name__}"]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_checks(way):
    model = copy.deepcopy(mutations.models()[0][0])
    model._model.trees.arrays["left_child"][0] = 1000
    with pytest.raises(ValueError, match="node 0 of tree 0 has the children 1000"):
        WAYS[way](model)


VERSIONS = {"0.1.0": False, "0.1.1.dev3": True, "0.2rc1": True, "10": True, "1e9": True}
VERSIONS |= {"0.0.9": False, "0.1": False, "": False, "one": False, "9" * 5000: True}


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version[:9])
def test_a_model_of_a_later_version_gives_a_warning(version, monkeypatch, tmp_path):
    monkeypatch.setattr(optional, "cached_version", lambda: "0.1.0")
    model = LGBMRegressor(n_estimators=2).fit(np.eye(60), np.arange(60.0))
    path = tmp_path / "m.txt"
    with monkeypatch.context() as later:
        later.setattr(optional, "cached_version", lambda: version)
        pickles = pickle.dumps(model), pickle.dumps(model.booster_)
        model.to_file(path)
    for read in (
        *(lambda: pickle.loads(pickles[0]), lambda: pickle.loads(pickles[1])),
        lambda: LGBMRegressor.from_file(path),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            again = read()
        said = [str(w.message) for w in caught]
        assert len(said) == VERSIONS[version], said
        assert all("than this version, 0.1.0." in text for text in said)
        assert_array_equal(again.predict(np.eye(60)), model.predict(np.eye(60)))


def test_models_have_the_version_that_saved_them():
    model = LGBMRegressor(n_estimators=2).fit(np.eye(60), np.arange(60.0))
    assert optional.version() == skgoss.__version__
    state = model.__getstate__()
    assert state["_booster"].pop("skgoss_version") == skgoss.__version__
    assert f'"skgoss_version": "{skgoss.__version__}"' in (
        model.booster_.model_to_string()
    )
    # States of earlier versions do not have it.
    again = LGBMRegressor()
    again.__setstate__(state)
    assert_array_equal(again.predict(np.eye(60)), model.predict(np.eye(60)))


SCRIPTS = {
    "test_mutations_are_refused_or_serve": lambda: mutations.script("estimator", 0, 60)
}


def test_mutations_are_refused_or_serve(done):
    # Some serve, some do not: the script does both.
    assert 15 < mutations.n_refused(done) < 60


NUMERIC, CATEGORICAL, LINEAR, CLASSES = 0, 2, 3, 5


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        (NUMERIC, "trees.left_child.0", 0, "a child must be a later node"),
        (NUMERIC, "trees.left_child.0", -(2**31), "a child must be a later node"),
        (NUMERIC, "trees.right_child.0", 8, "a child must be a later node"),
        (NUMERIC, "trees.right_child.7", -1, "leaf 0 of tree 0 must be the child"),
        (NUMERIC, "trees.split_feature.3", 5, r"split_feature must lie in 0\.\.4"),
        (NUMERIC, "trees.split_feature.3", -1, r"split_feature must lie in 0\.\.4"),
        (NUMERIC, "trees.threshold.3", np.nan, "threshold must not be NaN"),
        (NUMERIC, "trees.decision_type.3", 12, "decision_type must have bit 0"),
        (NUMERIC, "trees.leaf_value", np.zeros(3), "leaf_start must rise from 0 to 3"),
        (NUMERIC, "trees.leaf_count", np.zeros(3, int), "leaf_count must have the len"),
        (NUMERIC, "trees.leaf_value", [1.0], "one-dimensional array of float64, got"),
        (NUMERIC, "trees.leaf_value", np.zeros(27, "f4"), "got one of float32"),
        (NUMERIC, "ensemble.leaf_start.1", -1, "leaf_start must rise"),
        (NUMERIC, "ensemble.leaf_start.1", 0, "every tree must have a leaf"),
        (NUMERIC, "ensemble.n_scores", 0, "n_scores must be from 1 to"),
        (NUMERIC, "ensemble.n_scores", 2, "rounds of n_scores=2"),
        (NUMERIC, "link.levels", [0.1, 0.9], "the link is made for 2 scores"),
        (NUMERIC, "link.levels", [0.9, 0.1], "the levels of the link must be"),
        (NUMERIC, "ensemble.n_features", 2**40, "n_features must be from 1 to"),
        (NUMERIC, "ensemble.average", 1, "'average' of the ensemble must not"),
        (NUMERIC, "ensemble", None, "the ensemble must be a dict, got NoneType"),
        (NUMERIC, "trees", {}, "the trees has no 'split_feature'"),
        (CATEGORICAL, "ensemble.sets.start.1", 99, "start of the sets must"),
        (
            CATEGORICAL,
            "ensemble.sets",
            {"start": np.zeros(1, int), "words": np.empty(0, np.uint32)},
            "must be the number of a set, and there are 0 sets",
        ),
        (LINEAR, "ensemble.linear.feature.0", 5, "feature of the linear"),
        (LINEAR, "ensemble.linear.start.5", -1, "start of the linear"),
        (LINEAR, "ensemble.linear.constant", np.zeros(1), "constant must"),
        (NUMERIC, "ensemble.n_features", 6, "feature_names must be 6 strings"),
        (NUMERIC, "origin.feature_names", np.array(["a"]), "an array of 5 names"),
        (NUMERIC, "header.feature_names", ["a"], "must be 5 strings"),
        (NUMERIC, "header.parameters", {"num_leaves": 31}, "parameters must be texts"),
        (
            NUMERIC,
            "header.pandas_categorical",
            [3],
            "pandas_categorical must hold lists",
        ),
        (NUMERIC, "best_iteration", -1, "best_iteration must be at least 0"),
        (NUMERIC, "best_iteration", "1", "'best_iteration' of the Booster must not"),
        (NUMERIC, "objective", "none such", "the objective 'none such' is not"),
        (NUMERIC, "link.kind", "none", "the link must be one of"),
        (NUMERIC, "origin.history", None, "'history' of the state of the estimator"),
        (CLASSES, "origin.classes", np.arange(3), "n_scores must be 3, got 4"),
        (CLASSES, "origin.classes", np.zeros((4, 1)), "array of labels"),
        (CLASSES, "origin.classes", np.array([]), "array of labels"),
        (
            CATEGORICAL,
            "categories.vocabularies",
            {5: {"values": [], "is_ordered": False, "holds_words": False}},
            "column 5 has categories, but there are only 5 columns",
        ),
        (
            CATEGORICAL,
            "categories.vocabularies.3.values",
            [[]],
            "the categories of column 3 must be hashable",
        ),
        (CATEGORICAL, "categories.declared", [-1], "must be numbers from 0 on"),
    ],
)
def test_messages(kind, path, value, message):
    model = mutations.models()[kind][0]
    state = copy.deepcopy(model.__getstate__())
    path = path.replace("trees", "ensemble.arrays")
    keys = [int(key) if key.isdigit() else key for key in path.split(".")]
    put("_booster", *keys)(state, value)
    loaded = type(model).__new__(type(model))
    with pytest.raises(ValueError, match=message):
        loaded.__setstate__(state)


@pytest.mark.parametrize("path", [("_booster",), ("_booster", "origin")])
def test_everything_that_fit_learns_must_be_there(path):
    model = mutations.models()[CLASSES][0]
    # Models of earlier versions do not have their version.
    for name in mutations.at(model.__getstate__(), path).keys() - {"skgoss_version"}:
        state = copy.deepcopy(model.__getstate__())
        drop(*path, name)(state, None)
        with pytest.raises(ValueError, match=f" has no '{name}'"):
            LGBMClassifier.__new__(LGBMClassifier).__setstate__(state)


def test_a_state_must_be_a_dict():
    with pytest.raises(ValueError, match="LGBMClassifier must be a dict, got list"):
        LGBMClassifier.__new__(LGBMClassifier).__setstate__([])


def test_what_an_estimator_remembers_is_checked():
    model = LGBMRegressor(num_leaves=7).fit(np.arange(60.0)[:, None], np.arange(60.0))
    booster = model.__getstate__()["_booster"]
    for change, message in (
        ({"_passed": None}, "'_passed' .* not be of type NoneType"),
        ({"_passed": 1.5}, "'_passed' .* not be of type float"),
        ({"_passed": "num_leaves"}, "'_passed' .* not be of type str"),
        ({"_passed": ("num_leaves", "unknown")}, "has no 'unknown', which was passed"),
        ({"_passed": ([],)}, r"has no \[\], which was passed"),
        ({"_unused_params": None}, "'_unused_params' .* not be of type NoneType"),
        ({"_unused_params": ["x"]}, "'_unused_params' .* not be of type list"),
        ({"_booster": booster | {"out_of_fold": {}}}, "out-of-fold .* has no 'scores'"),
    ):
        with pytest.raises(ValueError, match=message):
            LGBMRegressor.__new__(LGBMRegressor).__setstate__(
                model.__getstate__() | change
            )


def test_starts_that_wrap_around_are_seen():
    """Each step is positive only if it overflows."""
    model = mutations.models()[NUMERIC][0]
    state = copy.deepcopy(model.__getstate__())
    start = np.array([0, 2**62, 2**63 - 1, -(2**63), -(2**62), 0, 27], dtype=np.int64)
    assert (np.diff(start) >= 0).all()
    state["_booster"]["ensemble"]["leaf_start"] = start
    with pytest.raises(ValueError, match="leaf_start must rise from 0 to 27"):
        type(model).__new__(type(model)).__setstate__(state)


def test_arrays_of_other_machines_and_layouts_are_read():
    model, X = mutations.models()[LINEAR]
    swapped = model._model.trees.__getstate__()
    spread = copy.deepcopy(swapped)
    for state, change in (
        (swapped, lambda values: values.astype(values.dtype.newbyteorder())),
        (spread, lambda values: np.repeat(values, 2)[::2]),
    ):
        for name in ("arrays", "sets", "linear"):
            state[name] = {key: change(value) for key, value in state[name].items()}
        state["leaf_start"] = change(state["leaf_start"])
        again = copy.copy(model)
        again._model.trees.__setstate__(state)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_mask_of_an_array_hides_nothing():
    state = copy.deepcopy(mutations.models()[NUMERIC][0]._model.trees.__getstate__())
    left = state["arrays"]["left_child"]
    left[0] = 1000
    state["arrays"]["left_child"] = np.ma.masked_array(left, left == 1000)
    with pytest.raises(ValueError, match="has the children 1000"):
        Ensemble.__new__(Ensemble).__setstate__(state)


@pytest.mark.parametrize("kind", [LGBMModel, LGBMClassifier, LGBMRegressor])
def test_models_without_a_fit_are_saved_too(kind):
    model = kind(num_leaves=5)
    for way in WAYS.values():
        again = way(model)
        assert again.get_params() == model.get_params()
        assert not hasattr(again, "fitted_")


def test_callbacks_may_copy_a_model_that_is_fitted_again():
    X, y = mutations.data()
    model = LGBMRegressor(n_estimators=2).fit(X, y)
    before, copies = model.predict(X), []
    model.fit(X[:, :2], y, callbacks=[lambda env: copies.append(copy.copy(model))])
    assert len(copies) == 2
    for other in copies:
        np.testing.assert_array_equal(other.predict(X), before)
    assert model.predict(X[:, :2]).shape == y.shape
    again = model.predict(X[:, :2])
    with pytest.raises(ValueError, match="X has"):
        model.fit(X, y, init_model=model)
    np.testing.assert_array_equal(model.predict(X[:, :2]), again)
    model.fit(X[:, :2], y, init_model=model)
    assert model.n_iter_ == 4


def test_attributes_may_be_changed_by_their_readers():
    model, _ = mutations.models()[NUMERIC]
    expected, names = model.feature_importances_, model.feature_name_
    model.feature_importances_[:] = 0
    model.feature_name_[0] = "x"
    np.testing.assert_array_equal(model.feature_importances_, expected)
    assert model.feature_name_ == names
    assert expected.sum() > 0


def test_booster_that_becomes_another_model():
    (model, X), (other, _) = mutations.models()[NUMERIC], mutations.models()[CLASSES]
    model = copy.deepcopy(model)
    model.booster_.model_from_string(other.booster_.model_to_string())
    message = "booster_ was replaced by another model"
    for use in (model.predict, model.explain, lambda X: pickle.dumps(model)):
        with pytest.raises(ValueError, match=message):
            use(X)
    again = type(other).from_booster(model.booster_)
    X = mutations.models()[CLASSES][1]
    np.testing.assert_array_equal(again.predict(X), other.predict(X))


def test_counts_that_no_file_can_hold():
    state = copy.deepcopy(mutations.models()[NUMERIC][0]._model.trees.__getstate__())
    state["arrays"]["leaf_count"][0] = -(2**63)
    with pytest.raises(ValueError, match="leaf_count must be below"):
        Ensemble.__new__(Ensemble).__setstate__(state)
