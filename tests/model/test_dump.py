"""Dumps and tables of trees."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from skgoss import LGBMRegressor
from skgoss.columns.categories import Vocabulary
from skgoss.model.ensemble import Ensemble
from skgoss.model.trees import Tree

lightgbm = pytest.importorskip("lightgbm")
from helpers import lightgbm_boosters  # noqa: E402
from helpers.lightgbm_boosters import (  # noqa: E402
    data,
    from_lightgbm,
    linear_pair,
    nodes_and_leaves,
    trained,
)

pair, many = lightgbm_boosters.pair, lightgbm_boosters.many


def test_dump_is_that_of_lightgbm(pair):
    theirs, ours = pair
    assert json.dumps(ours.dump_model()) == json.dumps(theirs.dump_model())


def test_dump_of_classes_and_of_linear_leaves(many):
    for theirs, ours in (many, linear_pair()):
        assert json.dumps(ours.dump_model()) == json.dumps(theirs.dump_model())


@pytest.mark.parametrize(
    "span", [(2, 0), (0, 0), (-1, 0), (None, 1), (2, 1), (99, 2), (1, 9), (2, -3)]
)
def test_dump_of_some_rounds(many, span):
    theirs, ours = (booster.dump_model(*span) for booster in many)
    assert json.dumps(ours["tree_info"]) == json.dumps(theirs["tree_info"])


def test_dump_ends_with_the_best_round(many):
    ours = from_lightgbm(many[0])
    ours.best_iteration = 2
    assert len(ours.dump_model()["tree_info"]) == 6
    assert ours.trees_to_dataframe()["tree_index"].max() == 5
    assert len(ours.dump_model(-1)["tree_info"]) == 12


@pytest.mark.parametrize("kind", ["split", "gain"])
def test_importances_in_a_dump(many, kind):
    theirs, ours = (b.dump_model(2, importance_type=kind) for b in many)
    assert ours["feature_importances"] == theirs["feature_importances"]
    assert list(ours["feature_importances"]) == list(theirs["feature_importances"])


def test_object_hook_sees_the_dicts_in_the_same_order(many):
    seen = []
    for booster in many:
        seen.append([])
        hooked = booster.dump_model(
            2, object_hook=lambda node, to=seen[-1]: to.append(sorted(node)) or node
        )
        assert hooked == booster.dump_model(2)
    assert seen[0] == seen[1]


def test_object_hook_replaces_dicts(many):
    _, ours = many
    hooked = ours.dump_model(object_hook=lambda node: {"n": len(node)})
    assert hooked == {"n": 13, "pandas_categorical": [["x", "y", "z"]]}


def test_our_trees_have_a_dump_as_lightgbm_has_of_its_own():
    X, y = data()
    X = X.drop(columns="f").fillna(0.0).to_numpy()
    options = {"n_estimators": 5, "num_leaves": 7, "min_child_samples": 5}
    options["use_missing"] = False  # missing values go elsewhere in LightGBM
    ours = LGBMRegressor(**options).fit(X, y).booster_.dump_model()
    theirs = lightgbm.LGBMRegressor(**options, verbose=-1).fit(X, y)
    theirs = theirs.booster_.dump_model()
    assert_alike(ours, theirs)


def assert_alike(ours, theirs):
    """The same keys in the same order, structures and words; the same numbers."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_alike(one, other)
    elif isinstance(theirs, float):
        # LightGBM has read its text, where gains and inner values have six digits.
        assert ours == pytest.approx(theirs, rel=2e-5, abs=1e-6)
    elif theirs == 0:
        assert ours == pytest.approx(0, abs=1e-7)
    else:
        assert (ours, type(ours)) == (theirs, type(theirs))


def test_dump_names_categories_by_value_and_words_by_number():
    X = pd.DataFrame({"n": [3, 70, 500] * 40, "w": ["x", "y", "y", "z"] * 30})
    y = (X["n"] == 70) + 2.0 * (X["w"] == "y")
    options = {"min_data_per_group": 1, "cat_smooth": 0, "max_cat_to_onehot": 9}
    model = LGBMRegressor(categorical_feature=["n", "w"], **options).fit(X, y)
    dumped = model.booster_.dump_model()
    assert dumped["feature_infos"]["n"]["max_value"] == 500
    assert sorted(dumped["feature_infos"]["n"]["values"]) == [-1, 3, 70, 500]
    assert sorted(dumped["feature_infos"]["w"]["values"]) == [-1, 0, 1, 2]
    assert dumped["pandas_categorical"] == [["x", "y", "z"]]
    cuts = {
        (node["split_feature"], node["threshold"], node["decision_type"])
        for tree in dumped["tree_info"]
        for node in nodes_and_leaves(tree["tree_structure"])[0]
    }
    assert cuts == {(0, "70", "=="), (1, "1", "==")}


def test_dump_refuses_categories_that_no_column_has():
    X = pd.DataFrame({"n": [3, 70, 500] * 40})
    options = {"min_data_per_group": 1, "cat_smooth": 0, "n_estimators": 1}
    model = LGBMRegressor(categorical_feature=["n"], **options).fit(X, X["n"] == 500)
    booster = model.booster_
    booster._model.categories.vocabularies[0] = Vocabulary([3, 70])
    with pytest.raises(ValueError, match="category 2 is none of the 2 of its column"):
        booster.dump_model()


def test_dump_of_categories_that_json_lacks():
    day = pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"] * 60)).astype(
        "category"
    )
    options = {"min_data_per_group": 1, "cat_smooth": 0, "n_estimators": 1}
    booster = LGBMRegressor(**options).fit(day.to_frame("day"), day.cat.codes).booster_
    known = json.loads(json.dumps(booster.dump_model()))["pandas_categorical"]
    assert known == [["2024-01-01 00:00:00", "2024-01-02 00:00:00"]]


def test_dump_has_no_objective_for_a_function():
    X, y = data()

    def squared(y, p):
        return p - y, np.ones(len(y))

    booster = LGBMRegressor(objective=squared, n_estimators=2).fit(X, y).booster_
    assert "objective" not in booster.dump_model()
    assert "of the user" in repr(booster)


def test_dump_holds_no_numbers_that_json_lacks():
    ours = from_lightgbm(trained())
    arrays = dict(ours._model.trees.arrays)
    arrays["leaf_weight"] = np.full(len(arrays["leaf_weight"]), np.nan)
    arrays["split_gain"] = np.full(len(arrays["split_gain"]), -np.inf)
    state = ours._model.trees.__getstate__() | {"arrays": arrays}
    ours._model.trees.__setstate__(state)
    tree = ours.dump_model()["tree_info"][0]["tree_structure"]
    assert tree["split_gain"] == -1e300
    assert nodes_and_leaves(tree)[1][0]["leaf_weight"] == 0
    json.dumps(ours.dump_model(), allow_nan=False)


def test_dump_of_a_deep_tree():
    n, ours = 3000, from_lightgbm(trained())
    node = np.arange(n)
    values = {
        "split_feature": np.zeros(n),
        "threshold": -1.0 * node,
        "decision_type": np.zeros(n),
        "left_child": np.append(node[1:], ~n),
        "right_child": ~node,
    }
    tree = {
        name: values.get(name, np.ones(n + name.startswith("leaf"))).astype(
            kind.split("[np.")[1][:-1]
        )
        for name, kind in Tree.__annotations__.items()
    }
    ours._change_trees(lambda model: Ensemble.from_trees([Tree(**tree)], 1, 6))
    table = ours.trees_to_dataframe()
    assert len(table) == 2 * n + 1
    assert table["node_depth"].max() == n + 1


def test_table_is_that_of_lightgbm(pair):
    theirs, ours = (booster.trees_to_dataframe() for booster in pair)
    pd.testing.assert_frame_equal(ours, theirs, check_exact=True)


def test_table_of_classes(many):
    theirs, ours = (booster.trees_to_dataframe() for booster in many)
    pd.testing.assert_frame_equal(ours, theirs, check_exact=True)


def test_table_needs_trees():
    ours = from_lightgbm(trained())
    ours._change_trees(lambda trees: trees.truncated(0))
    with pytest.raises(ValueError, match="needs a model with trees"):
        ours.trees_to_dataframe()
    assert ours.lower_bound() == ours.upper_bound() == 0.0
    assert ours.dump_model()["tree_info"] == []
