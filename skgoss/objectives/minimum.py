"""The minimum of a smooth function of a few variables, the same on every machine.

SciPy's methods use dot products, whose order of summation depends on the processor.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# `minimum` stops where no derivative is larger than ``_SLOPE_TOLERANCE``, or after
# ``_MAX_STEPS`` steps.
_SLOPE_TOLERANCE = 1e-6
_MAX_STEPS = 200
# A step must reduce the function by at least this fraction of the linear prediction
# (Armijo's condition). It is halved at most ``_HALVINGS`` times.
_MIN_DECREASE = 1e-4
_HALVINGS = 30


def minimum(
    function: Callable[[Floats], tuple[float, Floats]], start: Floats
) -> Floats:
    """Where a function, which returns its value and gradient, has a minimum.

    This is the BFGS method of Broyden, Fletcher, Goldfarb and Shanno (J. Nocedal and S.
    Wright, "Numerical Optimization", 2006, section 6.1), with halved steps as line
    search.
    """
    x, inverse = start, np.eye(len(start))  # approximates the inverse Hessian
    value, slope = function(x)
    for _ in range(_MAX_STEPS):
        if not np.abs(slope).max() > _SLOPE_TOLERANCE:
            break
        step = -(inverse * slope).sum(axis=1)
        change = _MIN_DECREASE * (slope * step).sum()
        for _ in range(_HALVINGS):
            new_value, new_slope = function(x + step)
            if new_value <= value + change:
                break
            step, change = 0.5 * step, 0.5 * change
        else:
            break
        inverse = _updated(inverse, step, new_slope - slope)
        x, value, slope = x + step, new_value, new_slope
    return x


def _updated(inverse: Floats, step: Floats, slope_change: Floats) -> Floats:
    """The approximation of the inverse Hessian after a step, the BFGS update.

    For the inverse Hessian H, the step s and the change y of the gradient, it is

        H + (1 + y'Hy / s'y) ss' / s'y - (Hys' + sy'H) / s'y.

    It does not change where s'y <= 0, so that it stays positive definite even if the
    function is not convex there.
    """
    curvature = (step * slope_change).sum()
    if not curvature > 0:
        return inverse
    product, outer = (inverse * slope_change).sum(axis=1), np.multiply.outer
    factor = (1.0 + (slope_change * product).sum() / curvature) / curvature
    mixed = outer(product, step) / curvature
    return inverse + factor * outer(step, step) - (mixed + mixed.T)
