"""Order statistics of rows that several processes hold are those of NumPy."""

from __future__ import annotations

import numpy as np

from helpers.ranks import by_partition
from skgoss.distributed import order_statistics


def test_keys_are_ordered_as_values():
    random = np.random.default_rng(0)
    values = np.concatenate(
        [
            random.normal(size=200),
            random.integers(-2, 3, 200),
            random.choice([0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308], 200),
            np.exp(random.normal(size=200) * 200),
        ]
    )
    keys = order_statistics.ordered_keys(values)
    assert np.array_equal(
        np.argsort(keys, kind="stable"), np.argsort(values, kind="stable")
    )
    assert np.array_equal(np.diff(np.sort(keys)) == 0, np.diff(np.sort(values)) == 0)


def test_the_largest_of_the_smallest_keys(few_rows_gathered):
    random = np.random.default_rng(0)
    for most in (200, 2**32, 2**63):
        keys = (
            random.permutation(most)[:150]
            if most == 200
            else random.integers(0, most, 150)
        )
        keys = keys.astype(np.uint64)
        keys[:2] = 0, 2**64 - 1

        def found(partition, rows, keys=keys):
            return [
                order_statistics.largest_of_smallest(
                    keys[rows], n, partition.collectives
                )
                for n in (1, 2, 77, 149, 150)
            ]

        expected = np.sort(keys)[[0, 1, 76, 148, 149]].tolist()
        assert by_partition(150, 3, 1, found) == [expected] * 3
