"""Columns that models compute from pairs of columns: values, names and states."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from skgoss.columns import computed_columns, containers, sparse
from skgoss.columns.columns import numbers
from skgoss.columns.computed_columns import ComputedColumns

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
    pairs = ComputedColumns.of_pairs(SCALES, "-+*/")
    data, values = container(X), read(X).astype(np.float64)
    _, schema = containers.learned(data, owner="test")
    schema = replace(schema, computed=pairs)
    columns = containers.columns(data, schema, owner="test", n_jobs=n_threads)
    assert columns.n_features == schema.n_all_features == 6 + 12
    expected = np.hstack([values, naive(values, pairs)])
    np.testing.assert_array_equal(numbers(columns), expected)


CONTAINERS = {
    "array": np.asarray,
    "frame": pd.DataFrame,
    "csr": lambda X: sp.csr_array(np.nan_to_num(X)),
    "csc": lambda X: sp.csc_array(np.nan_to_num(X)),
}


@pytest.fixture(params=CONTAINERS)
def paired(request, X):
    """The columns of a container with pairs, and all their values."""
    pairs = ComputedColumns.of_pairs(SCALES, "-*")
    columns, _ = containers.learned(CONTAINERS[request.param](X), owner="test")
    values = np.nan_to_num(X) if request.param.startswith("cs") else X
    return pairs.appended_to(columns, 2), np.hstack([values, naive(values, pairs)])


@pytest.mark.parametrize("span_bytes", [1, 50_000, 1 << 30])
def test_columns_are_made_in_spans(paired, span_bytes, monkeypatch):
    monkeypatch.setattr(computed_columns, "SPAN_BYTES", span_bytes)
    monkeypatch.setattr(sparse, "SPAN_BYTES", span_bytes)
    columns, expected = paired
    for chosen in (np.arange(12), np.array([3, 6, 9, 11]), np.array([7]), np.arange(4)):
        taken = columns.take(chosen)
        assert taken.n_features == len(chosen)
        stop = 0
        for span, own in taken.by_span(2):
            assert span.start == stop
            stop = span.stop
            np.testing.assert_array_equal(numbers(own), expected[:, chosen[span]])
        assert stop == len(chosen)
    assert "whole" not in vars(columns)


@pytest.mark.parametrize("chosen", [[4, 9, 2], [11, 0], [6, 5]])
def test_columns_in_another_order(paired, chosen):
    columns, expected = paired
    taken = columns.take(np.array(chosen))
    np.testing.assert_array_equal(numbers(taken), expected[:, chosen])


@pytest.mark.parametrize("chosen", [[0, 5, 7, 11], [10], [2, 3], range(12), []])
def test_only_some_columns_can_be_read(paired, chosen):
    columns, expected = paired
    chosen = np.array(chosen, dtype=np.int32)
    made = columns.only(chosen, 2)
    assert made.n_features == 12
    np.testing.assert_array_equal(numbers(made.take(chosen)), expected[:, chosen])


def test_columns_with_categories(X):
    frame = pd.DataFrame(X).assign(word=pd.Categorical(np.where(X[:, 0] > 0, "x", "y")))
    columns, _ = containers.learned(frame.set_axis(list("abcdefg"), axis=1), owner="t")
    columns = ComputedColumns.of_pairs(SCALES, "-").appended_to(columns)
    expected = [0] * 6 + [2] + [0] * 3
    assert columns.n_categories.tolist() == expected
    assert columns.whole.n_categories.tolist() == expected
    assert columns.take(np.array([6, 8])).n_categories.tolist() == [2, 0]
    assert ComputedColumns.of_pairs(SCALES, "").appended_to(columns) is columns


def test_sums_and_differences_are_of_equal_scales():
    pairs = ComputedColumns.of_pairs(SCALES, "-*")
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
    factors = ComputedColumns.of_pairs(scales, "+").factor
    nearby = ComputedColumns.of_pairs({0: np.nextafter(0.3, 1), 1: 0.7}, "+").factor
    larger = ComputedColumns.of_pairs({0: 0.3 * 1024, 1: 0.7}, "+").factor
    assert factors == nearby == larger / 1024
    assert factors == pytest.approx(3 / 7, rel=1 / 256)


@pytest.mark.parametrize("n_rows", [0, 1, 1023, 1024, 1025])
def test_blocks_of_rows(X, n_rows):
    pairs = ComputedColumns.of_pairs(SCALES, "/-")
    if n_rows == 0:
        columns = containers.Columns.without_rows(6)
    else:
        columns, _ = containers.learned(X[:n_rows], owner="test")
    values = pairs.values(columns, n_threads=4)
    np.testing.assert_array_equal(values.T, naive(X[:n_rows], pairs))


def test_states():
    pairs = ComputedColumns.of_pairs(SCALES, "-/")
    again = ComputedColumns.from_state(pairs.state())
    assert again.state() == pairs.state()
    assert computed_columns.is_state(pairs.state(), 5)
    assert not computed_columns.is_state(pairs.state(), 4)
    assert computed_columns.joined([pairs, again]).state() == 2 * pairs.state()
    for damaged in (
        [[0, "-", 1.0]],
        [[0, "?", 1.0, 1]],
        [[0, "-", np.inf, 1]],
        [[0.0, "-", 1.0, 1]],
        [[0, "-", 1.0, -1]],
        {"a": 1},
    ):
        assert not computed_columns.is_state(damaged, 5)


def test_numbers_of_pairs_are_shared_out():
    pairs = ComputedColumns.from_state([[0, "-", 1.0, 2], [1, "+", 0.5, 2]])
    values = np.array([[1.0, 2.0, 3.0, 10.0, 20.0, 7.0]])
    shared = pairs.shared_out(values, 3, -1, 0.5)
    assert shared.tolist() == [[6.0, 12.0, 18.0, 7.0]]
    counts = pairs.shared_out(np.array([1, 2, 3, 10, 20]), 3, 0, 1)
    assert counts.tolist() == [11, 22, 33]
    assert counts.dtype.kind == "i"
