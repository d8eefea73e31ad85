"""Percentiles of rows that several processes hold are those of one process."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from helpers.ranks import by_partition
from skgoss.distributed import order_statistics
from skgoss.distributed.row_partition import RowPartition
from skgoss.objectives.percentiles import (
    GroupedRows,
    LeafRows,
    of_residuals,
    percentile,
    percentiles,
)


def columns(n, seed):
    """Values with and without ties, and weights of all kinds."""
    random = np.random.default_rng(seed)
    values = [
        random.normal(size=n),
        random.integers(-2, 3, n) * 1.0,
        random.choice([0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308], n),
        np.full(n, 3.25),
        np.exp(random.normal(size=n) * 200),
    ]
    weights = [
        None,
        random.integers(0, 4, n) * 1.0,
        random.gamma(1.0, size=n) * random.integers(0, 2, n),
        random.choice([1e-18, 1.0, 2.5], n),
        random.choice([1.0, 2.0**40], n),
        random.choice([1.0, 2.0**55], n),
        np.full(n, 1e-310),
    ]
    units = [None, random.gamma(1.0, size=n), random.choice([0.0, 0.5, 1.0], n)]
    return values, weights, units


def of_rows(column, rows):
    return None if column is None else column[rows]


@cache
def expected_percentiles(n):
    """The groups of n rows, and columns of them with percentiles, level by level."""
    values, weights, units = columns(n, n)
    random = np.random.default_rng(1)
    cases = [(v, w, u) for v in values for w in weights for u in units]
    # Zero units of all rows have no percentile.
    cases = [(v, w, u) for v, w, u in cases if u is None or u.any()]
    group = random.integers(0, 3, n) * 2
    # Each case at one level, of few rows a third: all take four times as long.
    random.shuffle(cases)
    levels = []
    for turn, level in enumerate((0.5, 0.9, 0.013, 1.0)):
        some = cases[turn :: 4 if n > 2 else 12]
        expected = [
            [
                percentile(v, level, w, u)
                for v, w, u in (
                    [of_rows(column, group == g) for column in case] for g in range(6)
                )
            ]
            for case in some
        ]
        levels.append((level, some, np.array(expected)))
    return group, levels


@pytest.mark.parametrize(("n_ranks", "n"), [(1, 60), (2, 1), (3, 2), (3, 60)])
def test_percentiles_of_partitions(n, n_ranks, few_rows_gathered):
    group, levels = expected_percentiles(n)
    for level, cases, expected in levels:

        def found(partition, rows, level=level, cases=cases):
            order = np.argsort(group[rows], kind="stable")
            start = np.searchsorted(group[rows][order], np.arange(7))
            return [
                percentiles(
                    GroupedRows(
                        start, order, *(of_rows(column, rows[order]) for column in case)
                    ),
                    level,
                    partition,
                )
                for case in cases
            ]

        for got in by_partition(n, n_ranks, n, found):
            assert np.array(got).tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", ["sorted", "few values", "one value", "far"])
def test_percentiles_take_few_collectives(kind, monkeypatch):
    monkeypatch.setattr(order_statistics, "MAX_GATHERED_ROWS", 200)
    random = np.random.default_rng(3)
    n = 20_000
    values = {
        "sorted": np.sort(random.normal(size=n)),
        "few values": random.integers(0, 5, n) * 0.1,
        "one value": np.full(n, -3.5),
        "far": np.where(random.random(n) < 1e-3, 1e300, random.normal(size=n)),
    }[kind]
    levels = [0.0, 1e-4, 0.5, 1.0]

    def check(partition, rows):
        meeting = partition.collectives.meeting
        before = meeting.n_collectives
        got = [
            percentile(values[rows], level, None, None, partition) for level in levels
        ]
        assert got == [percentile(values, level) for level in levels]
        return meeting.n_collectives - before

    # Totals and rows; and for each digit of the keys, their range and counts.
    n_digits = {"one value": 0}.get(kind, 2)
    assert max(by_partition(n, 3, 1, check)) <= len(levels) * (3 + 2 * n_digits)


@pytest.mark.parametrize("other", [[0.5, 2.25], [2.0**55, 1.0]])
def test_weights_of_one_group_do_not_matter_to_another(other):
    values = np.array([5.0, 1.0, 3.0, 0.0, 7.0])
    weight = np.array([1.0, 2.0, 1.0, *other])
    groups = GroupedRows(np.array([0, 3, 5]), np.arange(5), values, weight, None)
    found = percentiles(groups, 0.4, RowPartition(5))
    copies = [5.0, 1.0, 1.0, 3.0]
    alone = percentile(values[3:], 0.4, weight[3:])
    np.testing.assert_array_equal(found, [percentile(np.array(copies), 0.4), alone])
    assert found[0] == 1.0  # three of four copies are not below it


@pytest.mark.parametrize("n", [1, 2, 5, 1023, 1024, 5000])
@pytest.mark.parametrize("kind", ["distinct", "equal", "rising", "falling", "ties"])
def test_percentiles_of_residuals_are_those_of_numpy(n, kind):
    rng = np.random.default_rng(n)
    y = {
        "distinct": rng.normal(size=n),
        "equal": np.ones(n),
        "rising": np.arange(n) + 0.0,
        "falling": -np.arange(n) - 0.0,
        "ties": rng.integers(0, 4, n) - 0.0,
    }[kind]
    score = np.round(rng.normal(size=n), 1) if kind == "distinct" else np.zeros(n)
    ends = np.unique([0, n // 3, n // 2, n])
    leaves = LeafRows(np.append(ends, n), rng.permutation(n))
    for level in (1e-9, 0.1, 0.25, 0.5, 0.9, 1 - 1e-9):
        expected = [
            np.quantile((y - score)[rows], level, method="averaged_inverted_cdf")
            for rows in leaves.leaves()[:-1]
        ]
        for n_threads in (1, 3):
            found = of_residuals(
                y, score, leaves, None, None, level, RowPartition(n), n_threads
            )
            np.testing.assert_array_equal(found, [*expected, 0.0])
