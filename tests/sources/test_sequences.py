"""Rows that are read in batches, and chunks of rows."""

import numpy as np
import pytest

from helpers.sequences import Rows
from skgoss import Dataset, Sequence, train

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
Y = X[:, 0] + X[:, 1] ** 2


class Batches(Rows):
    """Its batches are not those that are asked for."""

    def __init__(self, change):
        super().__init__(X)
        self.change = change

    def __getitem__(self, index):
        rows = super().__getitem__(index)
        return rows if isinstance(index, int) else self.change(rows)


@pytest.mark.parametrize(
    "data",
    [
        Rows(X),
        Rows(X, 1000),
        [Rows(X[:100], 7), Rows(X[100:])],
        (X[:100], X[100:]),
        [X[:100], Rows(X[100:])],
        [X[:0], X],
    ],
)
def test_chunks_are_one_array(data):
    rows = Dataset(data, label=Y, free_raw_data=False)
    assert rows.num_data() == 300
    model, expected = train({}, rows, 5), train({}, Dataset(X, label=Y), 5)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    np.testing.assert_array_equal(rows.get_data(), X)
    assert rows.get_data().dtype == np.float32


def test_rows_are_read_in_batches_when_they_are_needed():
    rows = Rows(X, 128)
    train_set = Dataset(rows, label=Y)
    assert rows.asked == []
    train_set.construct()
    batches = [slice(0, 128), slice(128, 256), slice(256, 300)]
    assert rows.asked == [0, *batches, *batches]


def test_evaluation_sets_and_subsets():
    train_set = Dataset(Rows(X), label=Y)
    valid_set = Dataset([Rows(X[:50])], label=Y[:50], reference=train_set)
    model = train({}, train_set, 5, valid_sets=[valid_set])
    expected = np.mean((model.predict(X[:50]) - Y[:50]) ** 2)
    assert model.best_score["valid_0"]["l2"] == pytest.approx(expected)
    assert train_set.subset([3, 5]).construct().num_data() == 2


def test_arrays_of_several_dtypes():
    rows = Dataset([X[:5], X[5:9].astype(float)], free_raw_data=False).construct()
    assert rows.get_data().dtype == np.float64


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ([X, X[:, :3]], r"Chunk 1 of data .* \(300, 4\), got \(300, 3\)"),
        (Rows(X, 0), "batch_size of a Sequence must be an int >= 1, got 0"),
        (Rows(X, 2.5), "batch_size of a Sequence must be an int >= 1, got 2.5"),
        (Rows(X[0]), r"a row of shape \(n_features,\) for an int"),
        (Batches(lambda rows: rows[1:]), r"Chunk 0 .* \(64, 4\), got \(63, 4\)"),
        (Batches(lambda rows: rows.astype(float)), "float64 after a row .* float32"),
        ([X[:0], Rows(X[:0])], "all of its chunks are empty"),
    ],
)
def test_bad_chunks(data, match):
    with pytest.raises(ValueError, match=match):
        Dataset(data).construct()


def test_a_subclass_says_how_to_read():
    with pytest.raises(TypeError, match="__getitem__"):
        type("Half", (Sequence,), {"__len__": lambda self: 3})()
