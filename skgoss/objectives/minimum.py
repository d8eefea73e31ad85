"""The minimum of a smooth function of few numbers, the same on every machine.

SciPy's methods take dot products, whose order depends on the processor.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# It ends where no slope is steeper, or after this number of steps.
_FLAT = 1e-6
_MOST_STEPS = 200
# A step must reduce the function by this fraction of what its slope promises; it is
# halved at most this number of times.
_LEAST_FALL = 1e-4
_HALVINGS = 30


def minimum(
    function: Callable[[Floats], tuple[float, Floats]], start: Floats
) -> Floats:
    """Where a function, which returns its value and slopes, is smallest.

    These are the steps of Broyden, Fletcher, Goldfarb and Shanno (J. Nocedal and S.
    Wright, "Numerical Optimization", 2006, section 6.1), halved until they help.
    """
    x, inverse = start, np.eye(len(start))  # the inverse of the second derivatives
    value, slope = function(x)
    for _ in range(_MOST_STEPS):
        if not np.abs(slope).max() > _FLAT:
            break
        step = -(inverse * slope).sum(axis=1)
        fall = _LEAST_FALL * (slope * step).sum()
        for _ in range(_HALVINGS):
            new_value, new_slope = function(x + step)
            if new_value <= value + fall:
                break
            step, fall = 0.5 * step, 0.5 * fall
        else:
            break
        inverse = _updated(inverse, step, new_slope - slope)
        x, value, slope = x + step, new_value, new_slope
    return x


def _updated(inverse: Floats, step: Floats, turn: Floats) -> Floats:
    """The inverse matrix after a step that has turned the slope.

    It stays positive, as the function need not be convex on the way.
    """
    curvature = (step * turn).sum()
    if not curvature > 0:
        return inverse
    expected, outer = (inverse * turn).sum(axis=1), np.multiply.outer
    share = (1.0 + (turn * expected).sum() / curvature) / curvature
    mixed = outer(expected, step) / curvature
    return inverse + share * outer(step, step) - (mixed + mixed.T)
