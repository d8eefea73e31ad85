"""Columns that models compute from pairs of columns: values, names and states."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from skgoss.columns import containers, pair_columns
from skgoss.columns.columns import numbers
from skgoss.columns.pair_columns import PairColumns

SCALES = {1: 2.0, 3: 1.0, 4: 4.0}


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3000, 6)).round(1)
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


def naive(X, pairs):
    """The columns of the pairs, in plain NumPy."""
    found = []
    for left, symbol, factor, right in pairs.state():
        a, b = X[:, left], factor * X[:, right]
        if symbol == "/":
            found.append(np.where(b == 0, np.nan, a / np.where(b == 0, 1.0, b)))
        else:
            found.append({"-": a - b, "+": a + b, "*": a * b}[symbol])
    return np.column_stack(found)


def single(X):
    return X.astype(np.float32)


@pytest.mark.parametrize(
    ("container", "read"),
    [
        (np.asarray, np.asarray),
        (np.asfortranarray, np.asarray),
        (single, single),
        (pd.DataFrame, np.asarray),
        (lambda X: pl.DataFrame(X, schema=list("abcdef")), np.asarray),
        (lambda X: sp.csr_array(np.nan_to_num(X)), np.nan_to_num),
        (lambda X: sp.csc_array(np.nan_to_num(X)), np.nan_to_num),
    ],
)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_values_are_those_of_numpy(X, container, read, n_threads):
    pairs = PairColumns.of(SCALES, "-+*/")
    data, values = container(X), read(X).astype(np.float64)
    _, schema = containers.learned(data, owner="test")
    schema = replace(schema, pairs=pairs)
    columns = containers.columns(data, schema, owner="test", n_jobs=n_threads)
    assert columns.n_features == schema.n_all_features == 6 + 12
    expected = np.hstack([values, naive(values, pairs)])
    np.testing.assert_array_equal(numbers(columns), expected)


def test_sums_and_differences_are_of_equal_scales():
    pairs = PairColumns.of(SCALES, "-*")
    assert pairs.state() == [
        [1, "-", 2.0, 3],
        [1, "*", 1.0, 3],
        [1, "-", 0.5, 4],
        [1, "*", 1.0, 4],
        [3, "-", 0.25, 4],
        [3, "*", 1.0, 4],
    ]
    names = ["a", "b", "c", "d", "e", "b - 2 d"]
    assert pairs.names(names)[:3] == ["b - 2 d (pair)", "b * d", "b - 0.5 e"]


def test_factors_do_not_depend_on_the_last_digits_of_scales():
    scales = {0: 0.3, 1: 0.7}
    factors = PairColumns.of(scales, "+").factor
    nearby = PairColumns.of({0: np.nextafter(0.3, 1), 1: 0.7}, "+").factor
    larger = PairColumns.of({0: 0.3 * 1024, 1: 0.7}, "+").factor
    assert factors == nearby == larger / 1024
    assert factors == pytest.approx(3 / 7, rel=1 / 256)


@pytest.mark.parametrize("n_rows", [0, 1, 1023, 1024, 1025])
def test_blocks_of_rows(X, n_rows):
    pairs = PairColumns.of(SCALES, "/-")
    if n_rows == 0:
        columns = containers.Columns.without_rows(6)
    else:
        columns, _ = containers.learned(X[:n_rows], owner="test")
    values = pairs.values(columns, n_threads=4)
    np.testing.assert_array_equal(values.T, naive(X[:n_rows], pairs))


def test_states():
    pairs = PairColumns.of(SCALES, "-/")
    again = PairColumns.from_state(pairs.state())
    assert again.state() == pairs.state()
    assert pair_columns.is_state(pairs.state(), 5)
    assert not pair_columns.is_state(pairs.state(), 4)
    assert pair_columns.joined([pairs, again]).state() == 2 * pairs.state()
    for damaged in (
        [[0, "-", 1.0]],
        [[0, "?", 1.0, 1]],
        [[0, "-", np.inf, 1]],
        [[0.0, "-", 1.0, 1]],
        [[0, "-", 1.0, -1]],
        {"a": 1},
    ):
        assert not pair_columns.is_state(damaged, 5)


def test_numbers_of_pairs_are_shared_out():
    pairs = PairColumns.from_state([[0, "-", 1.0, 2], [1, "+", 0.5, 2]])
    values = np.array([[1.0, 2.0, 3.0, 10.0, 20.0, 7.0]])
    shared = pairs.shared_out(values, 3, -1, 0.5)
    assert shared.tolist() == [[6.0, 12.0, 18.0, 7.0]]
    counts = pairs.shared_out(np.array([1, 2, 3, 10, 20]), 3, 0, 1)
    assert counts.tolist() == [11, 22, 33]
    assert counts.dtype.kind == "i"
