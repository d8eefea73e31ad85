"""The best round: losses are compared, and NaN is never better."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from skgoss.training.best_round import best_of, is_better


@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ([2.0, 1.0, 1.0, 3.0], 1),  # the first of equal ones
        ([nan, 2.0, nan], 1),
        ([inf, nan, 5.0], 2),
        ([inf, inf], 0),
        ([nan, nan], 0),
        ([-inf, 0.0], 0),
    ],
)
def test_the_best_loss_is_the_first_lowest_number(losses, best):
    assert best_of(losses) == best
    assert best == int(np.argmin(np.nan_to_num(losses, nan=inf, posinf=inf)))


def test_a_better_loss_is_lower_by_more_than_the_least_difference():
    assert is_better(1.0, 1.5, 0.4)
    assert not is_better(1.0, 1.5, 0.5)
    assert is_better(1.0, nan, 0.5)
    assert not is_better(nan, nan)
    assert not is_better(nan, 1.0)
