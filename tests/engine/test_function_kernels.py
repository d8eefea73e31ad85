"""Functions of arrays, against SciPy's."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import special

from skgoss._engine.objectives import function_kernels

RNG = np.random.default_rng(7)
POSITIVE = np.ldexp(RNG.uniform(1, 2, 400), RNG.integers(-30, 30, 400))
FROM_1 = 1.0 + np.ldexp(RNG.uniform(1, 2, 400), RNG.integers(-8, 17, 400))

# The function, SciPy's or NumPy's, arguments, and the error relative to 1 + |value|.
FUNCTIONS = {
    "exp": (np.exp, RNG.uniform(-700, 700, 400), 4e-16),
    "log": (np.log, POSITIVE, 4e-16),
    "log1p": (np.log1p, [*POSITIVE, *RNG.uniform(-0.99, 0.5, 100), 1e-300, 0], 4e-16),
    "log_gamma": (special.gammaln, FROM_1, 1e-13),
    "digamma": (special.digamma, FROM_1, 4e-15),
    "trigamma": (lambda x: special.polygamma(1, x), FROM_1, 2e-15),
}


def values(name):
    return getattr(function_kernels, name)(FUNCTIONS[name][1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_right(name):
    function, x, most = FUNCTIONS[name]
    expected = function(np.asarray(x))
    scale = np.abs(expected) if name in ("exp", "log1p") else 1.0 + np.abs(expected)
    assert (np.abs(values(name) - expected) <= most * scale).all()


def digest():
    """That of the values of all functions."""
    found = b"".join(values(name).tobytes() for name in FUNCTIONS)
    return hashlib.sha256(found).hexdigest()


def test_limits_and_shapes():
    assert function_kernels.exp([-1e9, 1e9, 0.0]).tolist() == [0.0, np.inf, 1.0]
    assert np.isnan(function_kernels.exp([np.nan])).all()
    assert function_kernels.log([1.0, np.inf]).tolist() == [0.0, np.inf]
    assert function_kernels.log(np.ones((2, 3)).T).shape == (3, 2)
    assert function_kernels.log1p([]).shape == (0,)
    kept = np.array([1.0, 2.0])
    function_kernels.exp(kept)
    assert kept.tolist() == [1.0, 2.0]
