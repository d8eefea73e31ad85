"""Boosters of LightGBM as ours."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from skgoss import Booster
from skgoss.columns.categories import Categories
from skgoss.columns.schema import ColumnSchema
from skgoss.model.category_sets import CategorySets
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header
from skgoss.model.fitted import FittedModel
from skgoss.model.linear import LinearLeaves
from skgoss.model.trees import Tree
from skgoss.objectives.objectives import make_link

lightgbm = pytest.importorskip("lightgbm")
MISSING = {"None": 0, "Zero": 1, "NaN": 2}
SMALL = {"num_leaves": 7, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1}


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
    features = np.concatenate([leaf["leaf_features"] for leaf in leaves])
    coefficients = np.concatenate([leaf["leaf_coeff"] for leaf in leaves])
    return LinearLeaves.unbounded(
        np.array([leaf["leaf_const"] for leaf in leaves], dtype=float),
        start=np.cumsum([0, *sizes], dtype=np.int64),
        feature=features.astype(np.int32),
        coefficient=coefficients.astype(float),
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


def linear_pair():
    X, y = data()
    theirs = trained(X=X[["a", "d", "b"]], y=y, linear_tree=True)
    return theirs, from_lightgbm(theirs)


@pytest.fixture(scope="module", params=KINDS)
def pair(request):
    """A model of LightGBM, and the same model as a Booster of skgoss."""
    theirs = trained(**KINDS[request.param])
    return theirs, from_lightgbm(theirs)


@pytest.fixture(scope="module")
def many():
    """The same with three classes."""
    X, y = data()
    theirs = trained(X=X, y=np.digitize(y, [1, 3]), objective="multiclass", num_class=3)
    return theirs, from_lightgbm(theirs)
