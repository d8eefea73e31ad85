"""What stands at nodes and edges."""

import pytest

from helpers.tree_nodes import NAMES, grown, labels, leaf, node
from skgoss import LGBMClassifier
from skgoss.plotting.tree_labels import INFO, tree_labels
from skgoss.utils.messages import one_line


def condition(**changes):
    options = {
        name: changes.pop(name)
        for name in ("categories", "precision", "max_category_values")
        if name in changes
    }
    return labels(**options).nodes(node(leaf(0), leaf(1), **changes))[0].title


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({}, "age <= 0.500"),
        ({"threshold": 3}, "age <= 3.000"),
        ({"precision": 0, "threshold": 2.0}, "age <= 2"),
        ({"precision": None, "threshold": 0.1234567}, "age <= 0.1234567"),
        ({"threshold": 1e-35}, "age <= 0.000"),
        ({"threshold": -0.00012}, "age <= -0.00012"),
        ({"threshold": 1.5e12}, "age <= 1.5e+12"),
        ({"threshold": 1e300, "missing_type": "NaN"}, "age is not missing"),
        ({"threshold": 1e300, "missing_type": "Zero"}, "age is not missing or 0"),
        ({"categories": {0: ["S", "M", "L"]}, "threshold": 1.5}, "age <= M"),
        ({"categories": {0: ["S", "M", "L"]}, "threshold": 9.5}, "age <= 9.500"),
        ({"categories": {1: ["S", "M", "L"]}, "threshold": 1.5}, "age <= 1.500"),
    ],
)
def test_conditions_of_numbers(changes, title):
    assert condition(**changes) == title


@pytest.mark.parametrize(
    ("threshold", "most", "title"),
    [
        ("1", 10, "city = Rome"),
        ("0||2", 10, "city in Oslo, <b>"),
        ("0||1||2", 2, "city in Oslo, Rome, ..."),
        ("7", 10, "city = 7"),
    ],
)
def test_conditions_of_categories(threshold, most, title):
    changes = {"split_feature": 2, "threshold": threshold, "decision_type": "=="}
    known = {2: ["Oslo", "Rome", "<b>"]}
    assert title == condition(
        **changes, categories=known, max_category_values=most, missing_type="NaN"
    )


@pytest.mark.parametrize(
    ("changes", "edges"),
    [
        ({}, ["yes", "no"]),
        ({"default_left": True}, ["yes", "no"]),
        ({"missing_type": "NaN"}, ["yes", "no, missing"]),
        ({"missing_type": "NaN", "default_left": True}, ["yes, missing", "no"]),
        ({"missing_type": "Zero"}, ["yes", "no, missing or 0"]),
        ({"missing_type": "NaN", "threshold": 1e300}, ["yes", "no"]),
        (
            {"missing_type": "NaN", "threshold": "0", "decision_type": "=="},
            ["yes", "no"],
        ),
    ],
)
def test_edges_tell_where_missing_values_go(changes, edges):
    nodes = labels().nodes(node(leaf(0), leaf(1), **changes))
    assert [node.edge for node in nodes] == ["", *edges]


def test_info_has_one_order_and_shares_of_the_root():
    tree = node(leaf(0), leaf(1))
    root, left, _ = labels(show_info=list(INFO)[::-1]).nodes(tree)
    assert root.info == [
        "gain 12.250",
        "value 0.250",
        "weight 3.000",
        "count 100",
        "100.00% of data",
    ]
    assert left.info == ["weight 2.500", "count 40", "40.00% of data"]
    root, left, _ = labels(show_info=["leaf_count"]).nodes(tree)
    assert (root.info, left.info) == ([], ["count 40"])


def test_linear_leaves_show_their_formula():
    model = {"leaf_const": 1, "leaf_features": [0, 3], "leaf_coeff": [-0.5, 2]}
    tree = node(
        leaf(0, **model), leaf(1, leaf_const=2, leaf_features=[], leaf_coeff=[])
    )
    _, left, right = labels().nodes(tree)
    assert left.info == ["= 1.000 - 0.500 age + 2.000 x"]
    assert right.info == []


def test_every_tree_of_folds_is_labeled(two_classes):
    X, y = two_classes
    model = LGBMClassifier(n_estimators=2, folds=3, n_jobs=1).fit(X, y)
    trees = model.booster_.dump_model()["tree_info"]
    assert len(trees) == 6
    for index, tree in enumerate(trees):
        labeled = tree_labels(model, index, None, 3, X[:1])
        assert labeled.name == f"Tree {index}: {tree['num_leaves']} leaves"
        reached = model.booster_.predict(X[:1], pred_leaf=True)[0, index]
        (end,) = [node for node in labeled.nodes if node.is_leaf and node.on_path]
        assert end.key == f"leaf{reached}"


def test_names_are_one_line():
    assert one_line("a\nb\x00\u202e\ud800 é\xa0") == "a\\nb\\x00\\u202e\\ud800 é "
    assert one_line("abcdefghij", 5) == "ab…ij"


def test_long_names_are_shortened_in_pictures_only():
    tree = node(leaf(0), leaf(1), split_feature=1)
    shown = labels().nodes(tree)[0]
    assert shown.title == f"{NAMES[1]} <= 0.500"
    assert all(len(line) <= 40 for line in shown.heading)
    heading = " ".join(shown.heading)
    assert "…" in heading
    assert heading.endswith(" ≤ 0.500")


def test_the_path_leads_to_the_leaf():
    tree = grown(31)
    for number in range(31):
        nodes = labels().nodes(tree, number)
        path = {place for place, node in enumerate(nodes) if node.on_path}
        (end,) = [place for place in path if nodes[place].is_leaf]
        assert nodes[end].key == f"leaf{number}"
        assert path == {end, *ancestors(nodes, end)}


def ancestors(nodes, place):
    while nodes[place].parent >= 0:
        place = nodes[place].parent
        yield place
