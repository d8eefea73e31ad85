"""The bins of one column."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.one_column import ZERO, mapper


def test_all_types_of_missing():
    values = np.r_[np.arange(-50.0, 50.0), np.nan]
    nan = mapper(values, min_data_in_bin=1)
    assert (nan.missing_type, nan.missing_bin, nan.nan_bin) == (2, 100, 100)
    assert nan.n_bins == 101
    zero = mapper(values, min_data_in_bin=1, zero_as_missing=True)
    assert (zero.missing_type, zero.missing_bin, zero.nan_bin) == (1, 50, 50)
    none = mapper(values, min_data_in_bin=1, use_missing=False)
    assert (none.missing_type, none.missing_bin, none.nan_bin) == (0, -1, 50)
    unseen = mapper(values[:-1], min_data_in_bin=1)
    assert (unseen.missing_type, unseen.missing_bin, unseen.nan_bin) == (3, -1, 50)
    assert unseen.n_bins == 100
    for seen in unseen.with_nan(), nan:
        assert (seen.missing_type, seen.missing_bin, seen.nan_bin) == (2, 100, 100)
        assert seen.n_bins == 101
    assert none.with_nan() is none


def test_zero_has_a_bin_of_its_own():
    bounds = mapper(np.r_[np.zeros(10), np.full(10, -1e-30), np.full(10, 1e-30)])
    assert bounds.upper_bounds.tolist() == [-ZERO, ZERO, np.inf]
    assert mapper(np.arange(1.0, 9.0)).upper_bounds[0] == ZERO


@pytest.mark.parametrize(
    ("values", "trivial"),
    [
        (np.zeros(9), True),
        (np.full(9, 5.0), True),
        (np.full(9, -5.0), True),
        (np.full(9, np.nan), True),
        (np.full(9, np.inf), True),
        (np.r_[np.zeros(9), 5.0], False),
        (np.r_[np.full(9, 5.0), np.nan], False),
        (np.r_[np.full(9, -5.0), np.full(9, 5.0)], False),
        (np.r_[1.0, 2.0], True),
        (np.arange(9.0), False),
    ],
)
def test_a_column_in_one_bin_is_trivial(values, trivial):
    assert mapper(values).is_trivial == trivial
