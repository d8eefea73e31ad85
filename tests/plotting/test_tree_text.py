"""Trees as text."""

import pytest

from helpers.tree_nodes import BAD, NAMES, labels, leaf, node
from skgoss.plotting.tree_text import TreeText
from skgoss.utils.messages import one_line

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
