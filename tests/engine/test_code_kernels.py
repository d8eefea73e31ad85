"""Integers that stand for something, against NumPy's loops."""

from __future__ import annotations

import numpy as np
import pytest

from skgoss._engine.columns import code_kernels

# Enough for several threads.
N = 200_000


def some_codes(dtype: str, n: int) -> np.ndarray:
    """Codes from -9 on, most of them from -1 to 40."""
    random = np.random.default_rng(0)
    codes = np.where(random.random(n) < 0.9, random.integers(-1, 40, n), 90)
    return np.where(random.random(n) < 0.01, -9, codes).astype(dtype)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("low", [-9, 0, 3])
@pytest.mark.parametrize("n", [0, 1, 1500, N])
@pytest.mark.parametrize("step", [1, -2])
def test_passes_are_numpys(dtype, low, n, step):
    codes, n_codes = some_codes(dtype, n)[::step], 25
    entry = codes.astype(int) - low
    entry[(entry < 0) | (entry >= n_codes)] = n_codes
    is_there = np.isin(np.arange(n_codes + 1), entry)
    table = np.append(np.random.default_rng(1).random(n_codes), np.nan)
    for n_threads in (1, 3):
        found = code_kernels.occurring(codes, low, n_codes, n_threads)
        np.testing.assert_array_equal(found, is_there)
        for of_type in (table, table.astype(np.float32)):
            found = code_kernels.translated(codes, low, of_type, n_threads)
            assert found.dtype == of_type.dtype
            np.testing.assert_array_equal(found, of_type[entry])
        if n:
            whole = np.ascontiguousarray(codes)
            ends = code_kernels.code_range(whole, n_threads)
            assert ends == (whole.min(), whole.max())


@pytest.mark.parametrize("dtype", ["int8", "int64"])
def test_codes_far_apart(dtype):
    limits = np.iinfo(dtype)
    codes = np.array([limits.max, limits.min, 5], dtype=dtype)
    assert code_kernels.code_range(codes) == (limits.min, limits.max)
    table = np.array([7.0, 8.0, -1.0])
    for low, expected in ((limits.min, [-1, 7, -1]), (limits.max - 1, [8, -1, -1])):
        found = code_kernels.translated(codes, low, table)
        assert found.tolist() == expected
