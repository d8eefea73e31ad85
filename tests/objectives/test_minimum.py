"""The minimum of a smooth function, against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from skgoss.objectives.minimum import minimum


def saddle(x):
    """Not convex at the start."""
    return float((x**4 - 2 * x**2).sum() + 0.3 * x[0]), 4 * x**3 - 4 * x + [0.3, 0.0]


def wall(x):
    """Beyond a wall, where the first step leads, it is not a number."""
    if x[0] <= -1:
        return np.nan, np.full(2, np.nan)
    value = 50 * (x[0] - 2 * np.log1p(x[0])) + x[1] ** 2
    return float(value), np.array([50 * (1 - 2 / (1 + x[0])), 2 * x[1]])


@pytest.mark.parametrize(
    ("function", "start"),
    [
        (lambda x: (rosen(x), rosen_der(x)), [-1.2, 1.0]),
        (lambda x: (rosen(x), rosen_der(x)), [0.5, 0.5, 0.5, 0.5]),
        (saddle, [0.1, 0.05]),
        (wall, [5.0, 1.0]),
    ],
)
def test_it_is_that_of_scipy(function, start):
    found = minimum(function, np.array(start))
    with np.errstate(invalid="ignore"):
        expected = minimize(function, start, jac=True, options={"gtol": 1e-9})
    assert found == pytest.approx(expected.x, abs=1e-5)
    assert np.abs(function(found)[1]).max() < 1e-5


def test_a_minimum_at_the_start_stays():
    assert minimum(lambda x: (0.0, np.zeros(2)), np.ones(2)).tolist() == [1.0, 1.0]
