"""The labels of trees, and trees as text."""

import pytest
from tree_nodes import BAD, NAMES, grown, labels, leaf, node

from skgoss.plotting.tree_labels import INFO
from skgoss.plotting.tree_text import TreeText
from skgoss.utils.messages import one_line


def condition(**changes):
    options = {
        name: changes.pop(name)
        for name in ("categories", "precision", "max_category_values")
        if name in changes
    }
    return labels(**options).nodes(node(leaf(0), leaf(1), **changes))[0].title


# --- What is told ---------------------------------------------------------------------


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


# --- Text -----------------------------------------------------------------------------


def drawn(tree, leaf=None, **options):
    return TreeText("Tree 0: <15> leaves", labels(**options).nodes(tree, leaf))


def test_text():
    tree = node(
        node(leaf(0), leaf(2), split_index=1, split_feature=3, missing_type="NaN"),
        leaf(1, -2),
    )
    text = drawn(tree, show_info=["leaf_count"])
    assert str(text) == repr(text) == text.to_text()
    assert str(text).splitlines() == [
        "Tree 0: <15> leaves",
        "age <= 0.500",
        "|-- yes: x <= 0.500",
        "|   |-- yes: leaf 0: 0.125  (count 40)",
        "|   `-- no, missing: leaf 2: 0.125  (count 40)",
        "`-- no: leaf 1: -2.000  (count 40)",
    ]
    assert str(drawn(tree, leaf=2)).splitlines()[1:] == [
        "* age <= 0.500",
        "* |-- yes: x <= 0.500",
        "  |   |-- yes: leaf 0: 0.125",
        "* |   `-- no, missing: leaf 2: 0.125",
        "  `-- no: leaf 1: -2.000",
    ]


def test_a_tree_of_one_leaf():
    text = drawn({"leaf_value": 2.5}, leaf=0)
    assert str(text).splitlines()[1:] == ["* leaf 0: 2.500"]


def test_deep_trees():
    tree = leaf(0)
    for number in range(2000):
        tree = node(tree, leaf(number + 1), split_index=number)
    assert str(drawn(tree)).count("\n") == 4001


@pytest.mark.parametrize("name", BAD)
def test_names_and_categories_are_one_line(name):
    changes = {"split_feature": 2, "threshold": "0", "decision_type": "=="}
    tree = node(leaf(0), leaf(1), **changes)
    names = [*NAMES[:2], name, *NAMES[3:]]
    text = drawn(tree, names=names, categories={2: [name]})
    assert str(text).splitlines()[1] == f"{one_line(name)} = {one_line(name)}"
