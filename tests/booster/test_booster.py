"""Booster: tables, single leaves, importances, refit; the same as LightGBM's."""

from __future__ import annotations

import inspect
import itertools
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import skgoss
from skgoss import Booster, LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.columns.categories import Categories, Vocabulary
from skgoss.columns.schema import ColumnSchema
from skgoss.model.category_sets import CategorySets
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header
from skgoss.model.fitted import FittedModel
from skgoss.model.linear import LinearLeaves
from skgoss.model.trees import Tree
from skgoss.objectives.objectives import OBJECTIVES, make_link

lightgbm = pytest.importorskip("lightgbm")

METHODS = (
    *("dump_model", "trees_to_dataframe", "feature_importance", "get_leaf_output"),
    *("set_leaf_output", "shuffle_models", "lower_bound", "upper_bound"),
    *("get_split_value_histogram", "refit", "num_feature", "feature_name", "num_trees"),
    *("current_iteration", "num_model_per_iteration"),
)
MISSING = {"None": 0, "Zero": 1, "NaN": 2}
SMALL = {"num_leaves": 7, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1}


# --- LightGBM's models as ours --------------------------------------------------------


def nodes_and_leaves(structure):
    """All nodes and leaves of a dumped tree, by number."""
    nodes, leaves, rest = {}, {}, [structure]
    while rest:
        item = rest.pop()
        if "split_index" in item:
            nodes[item["split_index"]] = item
            rest += [item["left_child"], item["right_child"]]
        else:
            leaves[item.get("leaf_index", 0)] = item
    return [nodes[i] for i in range(len(nodes))], [
        leaves[i] for i in range(len(leaves))
    ]


def child(item):
    return item["split_index"] if "split_index" in item else ~item["leaf_index"]


def tree_of(structure, sets):
    """A dumped tree; the sets of its categorical nodes are added to a list."""
    nodes, leaves = nodes_and_leaves(structure)
    threshold, decision = [], []
    for node in nodes:
        cut, categorical = node["threshold"], node["decision_type"] == "=="
        if categorical:
            sets.append([int(word) for word in cut.split("||")])
            cut = len(sets) - 1
        threshold.append(cut)
        decision.append(
            categorical | node["default_left"] << 1 | MISSING[node["missing_type"]] << 2
        )
    columns = {
        "threshold": threshold,
        "decision_type": decision,
        "left_child": [child(node["left_child"]) for node in nodes],
        "right_child": [child(node["right_child"]) for node in nodes],
        "leaf_weight": [leaf.get("leaf_weight", 0) for leaf in leaves],
    }
    given = {}
    for name, kind in Tree.__annotations__.items():
        items = leaves if name.startswith("leaf") else nodes
        values = columns.get(name) or [item[name] for item in items]
        given[name] = np.array(values, dtype=kind.split("[np.")[1][:-1])
    return Tree(**given)


def words_of(sets):
    words = [np.zeros(max(members) // 32 + 1, np.uint32) for members in sets]
    for word, members in zip(words, sets, strict=True):
        for c in members:
            word[c // 32] |= np.uint32(1 << c % 32)
    start = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return CategorySets(start, np.concatenate([np.empty(0, np.uint32), *words]))


def linear_of(trees):
    leaves = [leaf for tree in trees for leaf in nodes_and_leaves(tree)[1]]
    if not any("leaf_const" in leaf for leaf in leaves):
        return None
    sizes = [len(leaf["leaf_coeff"]) for leaf in leaves]
    return LinearLeaves(
        np.array([leaf["leaf_const"] for leaf in leaves], dtype=float),
        np.cumsum([0, *sizes], dtype=np.int64),
        np.concatenate([leaf["leaf_features"] for leaf in leaves]).astype(np.int32),
        np.concatenate([leaf["leaf_coeff"] for leaf in leaves]).astype(float),
    )


def info(known):
    if known is None:
        return "none"
    if known["values"]:
        return ":".join(map(str, known["values"]))
    return f"[{known['min_value']!r}:{known['max_value']!r}]"


def from_lightgbm(theirs, **parameters):
    """A Booster with the trees of LightGBM's.

    From its dump, because its text rounds gains and inner nodes to six digits.
    """
    dumped, sets = theirs.dump_model(), []
    structures = [tree["tree_structure"] for tree in dumped["tree_info"]]
    trees = [tree_of(structure, sets) for structure in structures]
    names, text = dumped["feature_names"], dumped["objective"]
    parameters = {**theirs.params, **parameters}
    name = text.split()[0]
    ensemble = Ensemble.from_trees(
        trees,
        dumped["num_tree_per_iteration"],
        len(names),
        sets=words_of(sets),
        average=dumped["average_output"],
        linear=linear_of(structures),
    )
    header = Header(
        feature_names=names,
        feature_infos=[info(dumped["feature_infos"].get(name)) for name in names],
        objective=text,
        monotone_constraints=dumped["monotone_constraints"],
        parameters={
            key: str(int(value) if isinstance(value, bool) else value)
            for key, value in parameters.items()
        },
        pandas_categorical=dumped["pandas_categorical"],
    )
    schema = ColumnSchema(len(names), None, Categories(None))
    link = make_link(name, parameters.get("sigmoid", 1.0), "sqrt" in text)
    return Booster._from_model(
        FittedModel(ensemble, schema, name, link, lambda: header)
    )


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["d"] = rng.integers(0, 5, n)
    X["e"] = 1.0
    X["f"] = pd.Categorical(rng.choice(list("xyz"), n))
    X.loc[X["b"] > 1, "b"] = np.nan
    X.loc[0, "c"] = np.inf
    f = X["f"].cat.codes.to_numpy()
    y = X["a"] + (X["d"] > 2) + f * f + 0.1 * rng.normal(size=n)
    return X, y.to_numpy()


def trained(n_rounds=4, X=None, y=None, group=None, weight=None, **params):
    if X is None:
        X, y = data()
    params = {"objective": "regression", "min_data_per_group": 5, **SMALL, **params}
    params |= {"cat_smooth": 1}
    dataset = lightgbm.Dataset(X, y, group=group, weight=weight)
    return lightgbm.train(params, dataset, n_rounds)


KINDS = {
    "regression": {},
    "monotone": {"monotone_constraints": [1, 0, 0, 0, 0, 0], "learning_rate": 0.3},
    "zero as missing": {"zero_as_missing": True},
    "rf": {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1},
    "one leaf": {"min_data_in_leaf": 1000},
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request):
    """A model of LightGBM, and the same model as a Booster of ours."""
    theirs = trained(**KINDS[request.param])
    return theirs, from_lightgbm(theirs)


@pytest.fixture(scope="module")
def many():
    """The same with three classes."""
    X, y = data()
    theirs = trained(X=X, y=np.digitize(y, [1, 3]), objective="multiclass", num_class=3)
    return theirs, from_lightgbm(theirs)


def linear_pair():
    X, y = data()
    theirs = trained(X=X[["a", "d", "b"]], y=y, linear_tree=True)
    return theirs, from_lightgbm(theirs)


# --- Signatures -----------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_signatures_are_those_of_lightgbm(name):
    theirs, ours = (
        {
            argument: (parameter.default, parameter.kind)
            for argument, parameter in inspect.signature(
                getattr(cls, name)
            ).parameters.items()
        }
        for cls in (lightgbm.Booster, Booster)
    )
    assert list(ours.items()) == list(theirs.items())


def test_arguments_of_predict_are_those_of_lightgbm_and_in_their_order():
    theirs, ours = (
        inspect.signature(cls.predict).parameters for cls in (lightgbm.Booster, Booster)
    )
    own = {"pred_interactions", "to_parquet"}
    assert [*theirs] == [name for name in ours if name not in own]
    assert all(theirs[name].default == ours[name].default for name in theirs)


# --- dump_model -----------------------------------------------------------------------


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


def test_importances_in_a_dump_are_those_of_its_rounds(many):
    _, ours = many
    dumped = ours.dump_model(1, 2)
    nodes = [
        node
        for tree in dumped["tree_info"]
        for node in nodes_and_leaves(tree["tree_structure"])[0]
    ]
    assert sum(dumped["feature_importances"].values()) == len(nodes)


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


# --- trees_to_dataframe ---------------------------------------------------------------


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


# --- Importances ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["split", "gain"])
@pytest.mark.parametrize("iteration", [None, -1, 0, 1, 2, 99])
def test_importances_are_those_of_lightgbm(many, kind, iteration):
    theirs, ours = (booster.feature_importance(kind, iteration) for booster in many)
    np.testing.assert_allclose(ours, theirs, rtol=1e-15)
    assert ours.dtype == theirs.dtype


def test_cover_is_the_sum_of_the_counts_of_splits(many):
    _, ours = many
    table = ours.trees_to_dataframe().dropna(subset="split_feature")
    expected = table.groupby("split_feature")["count"].sum()
    cover = ours.feature_importance("cover")
    assert cover.dtype == np.float64
    names = ours.feature_name()
    np.testing.assert_array_equal(cover, expected.reindex(names, fill_value=0))


def test_importances_up_to_the_best_round(many):
    ours = from_lightgbm(many[0])
    ours.best_iteration = 2
    np.testing.assert_array_equal(
        ours.feature_importance(), many[0].feature_importance(iteration=2)
    )


def test_cover_of_an_estimator():
    X, y = data()
    model = LGBMRegressor(n_estimators=3, importance_type="cover").fit(X, y)
    expected = model.booster_.feature_importance("cover")
    np.testing.assert_array_equal(model.feature_importances_, expected)


def test_unknown_importances(many):
    with pytest.raises(ValueError, match="'importance_type' parameter of Booster"):
        many[1].feature_importance("gini")
    with pytest.raises(ValueError, match="'split', 'gain', 'cover'"):
        many[1].dump_model(importance_type="gini")


# --- Leaves, bounds, shuffles ---------------------------------------------------------


def test_leaf_outputs_are_those_of_lightgbm(many):
    theirs, ours = many
    for tree, leaf in itertools.product(range(12), range(5)):
        assert ours.get_leaf_output(tree, leaf) == theirs.get_leaf_output(tree, leaf)


def test_changed_leaves_change_predictions_of_the_estimator():
    X, y = data()
    model = LGBMRegressor(n_estimators=3, num_leaves=4).fit(X, y)
    booster = model.booster_
    assert booster is model.booster_
    before, leaf = model.predict(X), booster.predict(X, pred_leaf=True)[:, 1]
    old = booster.get_leaf_output(1, 2)
    assert booster.set_leaf_output(1, 2, 7) is booster
    assert booster.get_leaf_output(1, 2) == 7.0
    np.testing.assert_allclose(model.predict(X), before + (leaf == 2) * (7 - old))
    np.testing.assert_array_equal(booster.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((4, 0), ValueError, "tree_id must be a number of the 4 trees, got 4"),
        ((-1, 0), ValueError, "tree_id must be"),
        ((0, 7), ValueError, "leaf_id must be a number of the 7 leaves of the tree"),
        ((0, -1), ValueError, "leaf_id must be"),
        ((0.0, 0), TypeError, "tree_id must be an int"),
    ],
)
def test_unknown_leaves(arguments, error, match):
    ours = from_lightgbm(trained())
    with pytest.raises(error, match=match):
        ours.get_leaf_output(*arguments)
    with pytest.raises(error, match=match):
        ours.set_leaf_output(*arguments, 1.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, "1", None])
def test_leaf_values_are_finite_numbers(value):
    ours = from_lightgbm(trained())
    with pytest.raises(ValueError, match="value must be a finite number"):
        ours.set_leaf_output(0, 0, value)


def test_bounds_are_those_of_lightgbm(pair, many):
    for theirs, ours in (pair, many, linear_pair()):
        assert ours.lower_bound() == pytest.approx(theirs.lower_bound(), rel=1e-14)
        assert ours.upper_bound() == pytest.approx(theirs.upper_bound(), rel=1e-14)


def test_raw_scores_lie_between_the_bounds():
    X, y = data()
    booster = LGBMClassifier(n_estimators=5).fit(X, y > 1).booster_
    raw = booster.predict(X, raw_score=True)
    assert booster.lower_bound() <= raw.min() < raw.max() <= booster.upper_bound()


@pytest.mark.parametrize(
    "span", [(), (1,), (2, 7), (0, 1), (5, 2), (-3, 99), (0, 0), (3, 0)]
)
def test_shuffled_rounds_have_the_order_of_lightgbm(span):
    X, y = data()
    many = {"objective": "multiclass", "num_class": 3}
    theirs = trained(9, X=X, y=np.digitize(y, [1, 3]), **many)
    ours = from_lightgbm(theirs)
    assert theirs.shuffle_models(*span) is theirs
    assert ours.shuffle_models(*span) is ours
    values = [[b.get_leaf_output(i, 0) for i in range(27)] for b in (theirs, ours)]
    assert values[0] == values[1]


@pytest.mark.parametrize("options", [{}, {"linear_tree": True}])
def test_shuffled_rounds_keep_sums(options):
    X, y = data()
    X = X[["a", "b", "d"]]
    model = LGBMRegressor(n_estimators=9, num_leaves=5, **options).fit(X, y)
    before, first = model.predict(X), model.predict(X, num_iteration=3)
    model.booster_.shuffle_models()
    np.testing.assert_allclose(model.predict(X), before, rtol=1e-12)
    assert np.abs(model.predict(X, num_iteration=3) - first).max() > 0.1


# --- Histograms of split values -------------------------------------------------------


@pytest.mark.parametrize("feature", ["a", "b", 0, 3, "e"])
@pytest.mark.parametrize("bins", [None, 3, 100, "auto"])
@pytest.mark.parametrize("xgboost_style", [False, True])
def test_histograms_are_those_of_lightgbm(many, feature, bins, xgboost_style):
    theirs, ours = (
        booster.get_split_value_histogram(feature, bins, xgboost_style)
        for booster in many
    )
    assert type(ours) is type(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
    if xgboost_style:
        pd.testing.assert_frame_equal(ours, theirs)


@pytest.mark.parametrize(
    ("feature", "match"),
    [
        ("f", "holds categories"),
        (5, "holds categories"),
        ("g", "feature='g' is not the name of a column"),
        (6, "feature must be a number of the 6 columns, got 6"),
    ],
)
def test_histograms_need_a_column_of_numbers(many, feature, match):
    with pytest.raises(ValueError, match=match):
        many[1].get_split_value_histogram(feature)


def test_histogram_without_pandas(many, monkeypatch):
    _, ours = many
    table = ours.get_split_value_histogram("a", xgboost_style=True)
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    array = ours.get_split_value_histogram("a", xgboost_style=True)
    assert isinstance(array, np.ndarray)
    np.testing.assert_array_equal(array, table)
    with pytest.raises(ImportError, match="pip install pandas"):
        ours.trees_to_dataframe()


# --- refit ----------------------------------------------------------------------------


def codes(X):
    """A frame as numbers, as LightGBM's trees know it."""
    return X.assign(f=X["f"].cat.codes.astype(float)).to_numpy(dtype=float)


def targets_of(objective, y):
    return {
        "binary": y > 1,
        "cross_entropy": 1 / (1 + np.exp(-y)),
        "multiclass": np.digitize(y, [1, 3]),
        "multiclassova": np.digitize(y, [1, 3]),
        "lambdarank": np.digitize(y, [0, 1, 3]),
    }.get(objective, y - y.min() + 0.5) * 1.0


REFITS = {
    "regression": {},
    "sqrt": {"reg_sqrt": True},
    "penalties": {"lambda_l1": 3.0, "lambda_l2": 7.0, "max_delta_step": 0.5},
    "no average": {"boost_from_average": False, "learning_rate": 0.3},
    "regression_l1": {},
    "huber": {"alpha": 0.5},
    "fair": {"fair_c": 2.0},
    "quantile": {"alpha": 0.3},
    "mape": {},
    "poisson": {"poisson_max_delta_step": 0.4},
    "gamma": {},
    "tweedie": {"tweedie_variance_power": 1.2},
    "cross_entropy": {},
    "binary": {"scale_pos_weight": 2.0, "sigmoid": 0.7},
    "multiclass": {"num_class": 3},
    "multiclassova": {"num_class": 3, "sigmoid": 1.5},
    "lambdarank": {"learning_rate": 0.2, "lambdarank_truncation_level": 7},
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", REFITS)
def test_refitted_leaves_are_those_of_lightgbm(kind, weighted):
    objective = kind if kind in OBJECTIVES else "regression"
    groups = {"group": [40] * 10} if kind == "lambdarank" else {}
    others = {"group": [20] * 10} if kind == "lambdarank" else {}
    X, y = data()
    theirs = trained(
        X=X, y=targets_of(objective, y), objective=objective, **REFITS[kind], **groups
    )
    if kind == "mape" and weighted:
        others["decay_rate"] = 0.0
    ours = from_lightgbm(theirs)
    X, y = data(200, seed=1)
    label = targets_of(objective, y)
    if weighted:
        others["weight"] = np.random.default_rng(2).uniform(0.5, 2, len(y))
    expected = theirs.refit(X, label, **others)
    found = ours.refit(codes(X), label, **others)
    np.testing.assert_allclose(
        leaf_values(found), leaf_values(expected), rtol=1e-5, atol=1e-6
    )
    assert np.abs(leaf_values(found) - leaf_values(ours)).max() > 1e-3


def leaf_values(booster):
    return np.array(
        [
            leaf["leaf_value"]
            for tree in booster.dump_model()["tree_info"]
            for leaf in nodes_and_leaves(tree["tree_structure"])[1]
        ]
    )


def test_refit_changes_nothing_but_leaf_values():
    theirs = trained()
    ours = from_lightgbm(theirs)
    before = ours.dump_model()
    X, y = data(200, seed=1)
    found = ours.refit(codes(X), y, 0.4)
    assert ours.dump_model() == before
    old, new = ours._model.trees.arrays, found._model.trees.arrays
    for name in old:
        assert np.array_equal(old[name], new[name]) == (name != "leaf_value")
    assert found.params == {**ours.params, "refit_decay_rate": 0.4}
    assert "refit_decay_rate" not in ours.params
    assert type(found) is Booster


def test_leaves_without_rows_lose_their_share_as_in_lightgbm():
    theirs = trained()
    ours = from_lightgbm(theirs)
    X, y = data(200, seed=1)
    X, y = X[X["f"] == "x"], y[X["f"] == "x"]
    reached = np.unique(ours.predict(codes(X), pred_leaf=True)[:, 0])
    found, expected = ours.refit(codes(X), y), theirs.refit(X, y)
    np.testing.assert_allclose(leaf_values(found), leaf_values(expected), rtol=1e-6)
    empty = np.setdiff1d(np.arange(7), reached)
    assert len(empty)
    for leaf in empty.tolist():
        old = ours.get_leaf_output(0, leaf)
        assert found.get_leaf_output(0, leaf) == pytest.approx(0.9 * old)


def test_refit_starts_from_init_score():
    theirs = trained()
    ours = from_lightgbm(theirs)
    X, y = data(200, seed=1)
    start = np.random.default_rng(3).normal(size=len(y))
    found = ours.refit(codes(X), y, init_score=start)
    expected = theirs.refit(X, y, init_score=start)
    np.testing.assert_allclose(leaf_values(found), leaf_values(expected), rtol=1e-6)


def test_refitted_linear_leaves_are_those_of_lightgbm():
    theirs, ours = linear_pair()
    X, y = data(1000, seed=1)
    X = X[["a", "d", "b"]].dropna()
    y = y[X.index]
    found, expected = ours.refit(X.to_numpy(), y), theirs.refit(X, y)
    np.testing.assert_allclose(
        found.predict(X), expected.predict(X), rtol=1e-6, atol=1e-6
    )
    assert np.abs(found.predict(X) - ours.predict(X)).max() > 1e-3


def test_refitted_forests_keep_their_mean():
    X, y = data()
    options = {"subsample": 0.5, "subsample_freq": 1, "num_leaves": 5}
    model = LGBMRegressor(boosting_type="rf", **options).fit(X, y)
    found = model.booster_.refit(X, y + 100, decay_rate=0.0).predict(X)
    assert found.mean() == pytest.approx((y + 100).mean(), rel=0.01)
    assert ((found - y - 100) ** 2).mean() < 1.1 * ((model.predict(X) - y) ** 2).mean()


@pytest.mark.parametrize("objective", ["regression", "poisson"])
def test_refitted_estimators_are_those_of_lightgbm(objective):
    X, y = data()
    X, y = X.drop(columns=["c", "f"]), targets_of(objective, y)
    options = {"n_estimators": 5, "learning_rate": 0.4, "reg_lambda": 2.0}
    options |= {"objective": objective, "num_leaves": 5, "poisson_max_delta_step": 0.2}
    ours = LGBMRegressor(**options).fit(X, y)
    theirs = lightgbm.LGBMRegressor(**options, verbose=-1).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    assert ours.booster_.params["learning_rate"] == 0.4
    X, y = data(200, seed=1)
    X, y = X.drop(columns=["c", "f"]), targets_of(objective, y)
    found = ours.booster_.refit(X, y).predict(X)
    expected = theirs.booster_.refit(X, y).predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_refit_on_the_same_rows_keeps_the_model():
    X, y = data()
    options = {"n_estimators": 5, "learning_rate": 0.7, "boost_from_average": False}
    model = LGBMRegressor(**options).fit(X, y)
    found = model.booster_.refit(X, y, decay_rate=0.0)
    np.testing.assert_allclose(found.predict(X), model.predict(X), rtol=1e-5)


def test_refit_leaves_out_rows_of_weight_zero():
    X, y = data()
    booster = LGBMRegressor(n_estimators=5).fit(X, y).booster_
    X, y = data(200, seed=1)
    kept = np.arange(200) % 3 > 0
    found = booster.refit(X, y, weight=kept * 1.0)
    expected = booster.refit(X[kept], y[kept])
    np.testing.assert_array_equal(leaf_values(found), leaf_values(expected))


def test_refit_with_an_objective_of_the_user():
    def squared(y, p):
        return p - y, np.ones(len(y))

    X, y = data()
    options = {"n_estimators": 5, "boost_from_average": False}
    own = LGBMRegressor(objective=squared, **options).fit(X, y).booster_
    usual = LGBMRegressor(**options).fit(X, y).booster_
    X, y = data(200, seed=1)
    np.testing.assert_allclose(
        own.refit(X, y).predict(X), usual.refit(X, y).predict(X), rtol=1e-5
    )


def test_refit_of_a_ranker():
    X, y = data()
    grades = np.digitize(y, [0, 1, 3])
    model = LGBMRanker(n_estimators=3).fit(X, grades, group=[40] * 10)
    found = model.booster_.refit(X, grades.max() - grades, 0.0, group=[40] * 10)
    assert model.score(X, grades, group=[40] * 10) > 0.9
    order = np.corrcoef(found.predict(X), model.predict(X))[0, 1]
    assert order < -0.5


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"decay_rate": 1.5}, r"decay_rate must lie in \[0, 1\]"),
        ({"decay_rate": "x"}, r"decay_rate must lie in \[0, 1\]"),
        ({"label": [1.0, 2.0]}, "inconsistent numbers of samples"),
        ({"label": np.full(400, 7)}, "label must hold the numbers 0 to 2"),
        ({"weight": np.full(400, -1.0)}, "[Nn]egative"),
        ({"init_score": np.zeros(400)}, r"init_score must have the shape \(400, 3\)"),
        ({"categorical_feature": ["a"]}, "hold categories in the model"),
        ({"data": np.zeros((400, 2))}, "2 features, but Booster is expecting 6"),
    ],
)
def test_bad_arguments_of_refit(arguments, match):
    X, y = data()
    label = np.digitize(y, [1, 3])
    booster = LGBMClassifier(n_estimators=2).fit(X, label).booster_
    with pytest.raises(ValueError, match=match):
        booster.refit(**{"data": X, "label": label, **arguments})


def test_refit_checks_its_options():
    X, y = data()
    booster = LGBMRegressor(n_estimators=2).fit(X, y).booster_
    booster.params["lambda_l2"] = -1
    with pytest.raises(ValueError, match="'reg_lambda' parameter of refit"):
        booster.refit(X, y)


def test_refit_accepts_the_categorical_columns_of_the_model():
    X, y = data()
    booster = LGBMRegressor(n_estimators=2).fit(X, y).booster_
    found = booster.refit(X, y, categorical_feature=["f"], reference=object())
    np.testing.assert_array_equal(found.predict(X), booster.refit(X, y).predict(X))


# --- predict, params, repr ------------------------------------------------------------


def test_frames_are_read_by_place_and_checked_by_name_on_request():
    X, y = data()
    model = LGBMRegressor(n_estimators=2).fit(X, y)
    booster, expected = model.booster_, model.predict(X)
    other = X.rename(columns={"c": "C", "d": "D"})
    for frame in (X, other, X.to_numpy(dtype=object)):
        np.testing.assert_array_equal(booster.predict(frame), expected)
    np.testing.assert_array_equal(booster.predict(X, validate_features=True), expected)
    with pytest.raises(ValueError, match="Column 2 of data has the name 'C', but 'c'"):
        booster.predict(other, validate_features=True)
    with pytest.raises(ValueError, match="Column 2 of data has the name 'C', but 'c'"):
        booster.refit(other, y, validate_features=True)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_frames_are_checked_by_name_as_well(library):
    module = pytest.importorskip(library)
    X, y = data()
    X = X[["a", "b"]]
    booster = LGBMRegressor(n_estimators=2).fit(X, y).booster_
    values = {name: X[name].to_numpy() for name in X}
    make = module.DataFrame if library == "polars" else module.table
    for check in (False, True):
        found = booster.predict(make(values), validate_features=check)
        np.testing.assert_array_equal(found, booster.predict(X))
    other = make({"a": values["a"], "B": values["b"]})
    np.testing.assert_array_equal(booster.predict(other), booster.predict(X))
    with pytest.raises(ValueError, match="Column 1 of data has the name 'B', but 'b'"):
        booster.predict(other, validate_features=True)


def test_wrong_numbers_of_columns():
    X, y = data()
    booster = LGBMRegressor(n_estimators=2).fit(X, y).booster_
    for given in ({}, {"validate_features": True}):
        with pytest.raises(
            ValueError, match="X has 5 features, but Booster is expecti"
        ):
            booster.predict(X.drop(columns="f"), **given)


def test_params_of_a_header():
    theirs = trained()
    ours = from_lightgbm(
        theirs,
        feature_fraction=0.5,
        metric="l2,auc",
        interaction_constraints="[0,1],[2]",
    )
    assert ours.params["num_leaves"] == 7
    assert ours.params["feature_fraction"] == 0.5
    assert ours.params["metric"] == ["l2", "auc"]
    assert ours.params["interaction_constraints"] == [[0, 1], [2]]
    assert from_lightgbm(theirs, linear_tree=False).params["linear_tree"] is False
    ours.params["lambda_l2"] = 3
    assert ours.params["lambda_l2"] == 3


def test_repr_is_short():
    X, y = data()
    booster = LGBMClassifier(n_estimators=2).fit(X, y > 1).booster_
    assert repr(booster) == "<Booster: 2 trees, 6 columns, objective binary>"


# --- env.model ------------------------------------------------------------------------


def test_callbacks_have_a_model_of_the_trees_so_far():
    X, y = data()
    seen = []

    def look(env):
        model = env.model
        seen.append(
            SimpleNamespace(
                importance=model.feature_importance(),
                names=model.feature_name(),
                predicted=model.predict(X),
                dumped=model.dump_model(),
                n_trees=model.num_trees(),
            )
        )

    model = LGBMRegressor(n_estimators=4, num_leaves=5).fit(X, y, callbacks=[look])
    for i, found in enumerate(seen, start=1):
        assert found.n_trees == len(found.dumped["tree_info"]) == i
        assert found.names == list(X.columns)
        np.testing.assert_array_equal(
            found.predicted, model.predict(X, num_iteration=i)
        )
        expected = model.booster_.feature_importance(iteration=i)
        np.testing.assert_array_equal(found.importance, expected)


def test_callbacks_before_the_first_round_have_a_model_without_trees():
    X, y = data()
    seen = []

    def look(env):
        seen.append(env.model.predict(X).max())
        with pytest.raises(AttributeError, match="no attribute 'unknown'"):
            _ = env.model.unknown
        with pytest.raises(AttributeError, match="no attribute '_unknown'"):
            _ = env.model._unknown

    look.before_iteration = True
    LGBMRegressor(n_estimators=2).fit(X, y, callbacks=[look])
    assert seen[0] == 0.0 < seen[1]


def test_callbacks_have_a_model_when_all_rows_are_fitted_again():
    X, y = data()
    seen = []

    def look(env):
        seen.append(env.model.feature_importance().sum())

    look.before_iteration = True
    options = {"n_estimators": 9, "early_stopping_round": 2, "learning_rate": 0.9}
    model = LGBMRegressor(refit=True, **options).fit(X, y, callbacks=[look])
    assert len(seen) > model.n_estimators_
    assert seen[-model.n_estimators_] == 0 < seen[-1]


def test_callbacks_cannot_shuffle_the_trees():
    X, y = data()

    def change(env):
        env.model.shuffle_models()

    with pytest.raises(ValueError, match="in training cannot be changed"):
        LGBMRegressor(n_estimators=3).fit(X, y, callbacks=[change])


def test_booster_is_public():
    assert skgoss.Booster is Booster


@pytest.mark.parametrize("n", [0, 2])
def test_a_booster_is_made_of_one_thing(n):
    given = {"train_set": skgoss.Dataset([[1.0]], [1.0]), "model_str": "tree"}
    with pytest.raises(TypeError, match=f"Booster needs one of .* got {n}"):
        Booster(**dict(list(given.items())[:n]))


@pytest.mark.parametrize("kind", ["split", "gain"])
@pytest.mark.parametrize("gain", [0.0, -1.0])
def test_splits_without_gain_count_in_no_importance(kind, gain):
    X, y = data()
    text = trained(3, X=X, y=y).model_to_string()
    lines = re.sub(
        "(?<=split_gain=).*", lambda m: re.sub(r"\S+", str(gain), m[0]), text
    )
    booster = Booster(model_str=lines)
    assert not booster.feature_importance(kind).any()
    theirs = lightgbm.Booster(model_str=re.sub(r"tree_sizes=.*\n", "", lines))
    np.testing.assert_array_equal(
        booster.feature_importance(kind), theirs.feature_importance(kind)
    )
