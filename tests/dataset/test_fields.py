"""The fields of a `Dataset` are values: set, completed and taken without a change."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from skgoss import Dataset
from skgoss.dataset.fields import Fields

ROWS = np.array([0, 3])


def test_fields_are_copies_and_counted():
    label = np.arange(4.0)
    before = Fields()
    fields = before.with_array("label", label, 4)
    label[0] = 9
    assert fields.label.tolist() == [0, 1, 2, 3]
    assert (before.label, before.version, fields.version) == (None, 0, 1)
    removed = fields.with_array("label", None, 4)
    assert (removed.label, removed.version) == (None, 1)


def test_what_is_set_has_priority_over_the_data():
    fields = Fields().with_array("label", [1, 2], None)
    completed = fields.completed({"label": [5, 6], "weight": [3, 4]}, 2)
    assert completed.label.tolist() == [1, 2]
    assert completed.weight.tolist() == [3, 4]
    found = completed.added_to(fields)
    assert list(found) == ["weight"]
    assert completed.without(found).weight is None
    changed = completed.with_array("weight", [7, 7], 2)
    assert changed.without(found).weight.tolist() == [7, 7]


@pytest.mark.parametrize("name", ["label", "weight", "group", "init_score", "position"])
def test_fields_of_other_rows_are_refused(name):
    fields = Fields().with_array(name, np.arange(1, 4), None)
    with pytest.raises(ValueError, match=f"{name}"):
        fields.completed({}, 7)


def test_fields_of_some_rows():
    scores = np.arange(8.0)  # of two classes, class by class
    fields = Fields(
        np.arange(4.0), np.ones(4), np.array([1, 3]), scores, np.arange(4), version=5
    )
    taken = fields.take(ROWS, 4)
    assert taken.label.tolist() == taken.position.tolist() == [0, 3]
    assert taken.group.tolist() == [1, 1]
    assert taken.init_score.tolist() == [[0, 4], [3, 7]]


def test_threads_that_set_different_fields_lose_none():
    data = Dataset(np.zeros((3, 2)))
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        """A label that is being checked while another field is set."""

        def __len__(self):
            return 3

        def __array__(self, dtype=None, copy=None):
            begun.set()
            go_on.wait(60)
            return np.arange(3.0)

    def set_label():
        data.label = Slow()

    def set_weight():
        data.weight = np.ones(3)

    first, second = (threading.Thread(target=f) for f in (set_label, set_weight))
    first.start()
    begun.wait(60)
    second.start()
    second.join(0.1)
    go_on.set()
    for thread in (first, second):
        thread.join(60)
    assert data.label.tolist() == [0, 1, 2]
    assert data.weight.tolist() == [1, 1, 1]
