"""Elementary functions of one number give the float nearest to the exact value."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from skgoss.utils import correct_rounding

RNG = np.random.default_rng(5)
POSITIVE = [*np.exp(RNG.uniform(-30, 30, 12)), 1e-300, 0.5, 1.0, 2.0, 1e300]
SMALL = [*RNG.uniform(-0.9, 3, 12), 1e-15, -1e-16, 1e-17, 3e-18, 1e-200]


def exact_exp(x: Fraction) -> Fraction:
    """Far more digits than a float has: the series of a small number, squared often."""
    n_halvings = max(0, math.frexp(float(x))[1]) + 8
    small, term, total = x / 2**n_halvings, Fraction(1), Fraction(1)
    for k in range(1, 24):
        term = rounded(term * small / k)
        total += term
    for _ in range(n_halvings):
        total = rounded(total * total)
    return total


def rounded(x: Fraction) -> Fraction:
    """To 200 bits, so that numbers stay short."""
    shift = 200 - x.numerator.bit_length() + x.denominator.bit_length()
    scale = Fraction(2) ** shift
    return Fraction(round(x * scale)) / scale


def is_nearest_log(found: float, x: Fraction) -> bool:
    """Whether the logarithm of x is between the middles to the next floats."""
    own = Fraction(found)
    low = (own + Fraction(math.nextafter(found, -math.inf))) / 2
    high = (own + Fraction(math.nextafter(found, math.inf))) / 2
    return exact_exp(low) <= x <= exact_exp(high)


@pytest.mark.parametrize("x", POSITIVE)
def test_logarithms_are_the_nearest_floats(x):
    assert is_nearest_log(correct_rounding.log(x), Fraction(x))


@pytest.mark.parametrize("x", SMALL)
def test_those_of_1_and_more_are_the_nearest_floats(x):
    assert correct_rounding.log1p(x) == x or is_nearest_log(
        correct_rounding.log1p(x), 1 + Fraction(x)
    )
    assert correct_rounding.log1p(x) == pytest.approx(math.log1p(x), rel=3e-16)


@pytest.mark.parametrize("x", [*SMALL, -700.0, 40.5, 700.0])
def test_exponentials_are_the_nearest_floats(x):
    found = exact_exp(Fraction(x))
    assert correct_rounding.exp(x) == float(found)
    assert correct_rounding.expm1(x) == (float(found - 1) if abs(x) > 1e-40 else x)


@pytest.mark.parametrize("base", [1e-3, 0.2, 1.25, 7.0])
def test_powers_are_the_nearest_floats(base):
    for n in range(12):
        assert correct_rounding.power(base, n) == float(Fraction(base) ** n)
    root = correct_rounding.power(base, 0.5)
    assert root == math.sqrt(base)


@pytest.mark.parametrize(
    ("numbers", "mean"),
    [([8], 8.0), ([8, 8, 8], 8.0), ([1, 10, 100], 10.0), ([2, 1], 2**0.5)],
)
def test_a_mean_of_equal_numbers_is_that_number(numbers, mean):
    assert correct_rounding.geometric_mean(numbers) == mean


def test_what_has_no_float_is_infinite_or_0():
    assert correct_rounding.log(0.0) == -math.inf
    assert correct_rounding.exp(1e308) == math.inf
    assert correct_rounding.exp(-1e308) == 0.0


def test_contexts_of_users_change_nothing():
    def found():
        return correct_rounding.expm1(0.3), correct_rounding.log1p(0.3)

    expected = found()
    with localcontext(prec=3):
        assert found() == expected
        assert Decimal(1) / 3 == Decimal("0.333")
