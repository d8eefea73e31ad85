"""Rows drawn at random are those that NumPy draws from the same generator."""

import numpy as np
import pytest

from skgoss._engine.binning.drawn_rows import drawn_rows


@pytest.mark.parametrize(
    ("n", "size"),
    [
        (2, 1),
        (100, 30),
        (10_000, 9_999),
        (10_001, 500),
        (10_001, 501),
        (10_001, 10_000),
        (300_000, 200_000),
    ],
)
def test_rows_are_those_of_numpy(n, size):
    for seed in range(3):
        drawn = drawn_rows(np.random.PCG64(seed), n, size)
        random = np.random.default_rng(seed)
        expected = random.choice(n, size, replace=False, shuffle=False)
        assert drawn.dtype == np.int64
        np.testing.assert_array_equal(drawn, np.sort(expected))
