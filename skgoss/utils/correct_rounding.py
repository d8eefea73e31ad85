"""Elementary functions of one number, rounded correctly: the same on every machine.

Those of `math` and NumPy differ in the last bit between processors, C libraries and
compilers. These are computed with more digits by `decimal`, whose results depend on no
processor. A call takes about ten microseconds, and a power a hundred. Kernels and
arrays use functions of the engine instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from functools import lru_cache

# Twice the digits of a float. Numbers that are too large become infinite.
_DIGITS = Context(prec=40, traps=[])
# Twice the bits of a float, for the fractional part of a root.
_ROOT_BITS = 106
_UNIT = 1 << _ROOT_BITS
# Races ask for the same powers again and again.
_remembered = lru_cache(maxsize=4096)
# Below it, x**2 / 2 is less than half of the last digit of x.
_LINEAR = 1e-17


def exp(x: float) -> float:
    """The exponential."""
    return float(_DIGITS.exp(Decimal(x)))


def expm1(x: float) -> float:
    """exp(x) - 1, without cancellation if x is small."""
    if abs(x) < _LINEAR:
        return x
    return float(_DIGITS.subtract(_DIGITS.exp(Decimal(x)), 1))


def log(x: float) -> float:
    """The natural logarithm; that of 0 is minus infinity."""
    return float(_DIGITS.ln(Decimal(x)))


def log1p(x: float) -> float:
    """log(1 + x), without cancellation if x is small."""
    if abs(x) < _LINEAR:
        return x
    return float(_DIGITS.ln(_DIGITS.add(1, Decimal(x))))


@_remembered
def power(base: float, exponent: float) -> float:
    """A power of a positive number."""
    return float(_DIGITS.power(Decimal(base), Decimal(exponent)))


def geometric_mean(numbers: Sequence[int]) -> float:
    """The geometric mean of positive whole numbers."""
    return _root(math.prod(numbers) << _ROOT_BITS * len(numbers), len(numbers)) / _UNIT


def _root(number: int, n: int) -> int:
    """The whole part of the n-th root of a positive number, by Newton's method.

    Decimals would take a hundred microseconds.
    """
    last, root = 0, 1 << -(-number.bit_length() // n)
    while root != last:
        last, root = root, min(root, ((n - 1) * root + number // root ** (n - 1)) // n)
    return root
