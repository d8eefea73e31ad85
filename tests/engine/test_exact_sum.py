"""Exact sums against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from skgoss._engine.objectives import exact_sum, loss_kernels

RNG = np.random.default_rng(7)
LEAST = Fraction(1, 2**1074)


def fraction_sum(terms):
    """The sum of fractions or floats, rounded once."""
    special = {str(term) for term in terms if term * 0 != 0}
    if special:
        return special.pop() if len(special) == 1 else "nan"
    total = sum(map(Fraction, terms), Fraction(0))
    try:
        return str(float(total))
    except OverflowError:
        return "inf" if total > 0 else "-inf"


def summed(values, weight=None):
    return str(exact_sum.weighted_sum(values, weight))


VALUES = {
    "normal": lambda r, n: r.standard_normal(n),
    "wide": lambda r, n: np.exp(r.uniform(-745, 709, n)),
    "signed": lambda r, n: np.exp(r.uniform(-60, 60, n)) * r.choice([-1.0, 1.0], n),
    "least": lambda r, n: np.full(n, 5e-324),
    "denormal": lambda r, n: np.exp(r.uniform(-745, -700, n)),
    "most": lambda r, n: np.full(n, 1.7e308) * r.choice([-1.0, 1.0], n),
    "huge and tiny": lambda r, n: np.where(r.random(n) < 0.5, 1e300, 1e-300),
    "zeros": lambda r, n: np.zeros(n),
    "infinite": lambda r, n: np.append(r.standard_normal(n - 1), np.inf),
    "minus infinite": lambda r, n: np.append(-np.inf, r.standard_normal(n - 1)),
    "both": lambda r, n: np.where(np.arange(n) % 2, np.inf, -np.inf),
    "NaN": lambda r, n: np.append(r.standard_normal(n - 1), np.nan),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("n", [0, 1, 9, 1024, 2500])
def test_sums_are_exact(values, n):
    random = np.random.default_rng(n)
    given = values(random, max(n, 1))[:n]
    assert summed(given) == fraction_sum(given.tolist())


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_products_are_exact(values):
    """Down to the least double, of which all terms are multiples."""
    random = np.random.default_rng(0)
    given, weight = values(random, 1500), random.random(1500)
    terms = [
        round(Fraction(v) * Fraction(w) / LEAST) * LEAST if math.isfinite(v) else v
        for v, w in zip(given.tolist(), weight.tolist(), strict=True)
    ]
    assert summed(given, weight) == fraction_sum(terms)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_sums_do_not_depend_on_order_or_parts(values):
    given = values(np.random.default_rng(0), 3000)
    expected = summed(given)
    order = np.random.default_rng(1).permutation(3000)
    assert summed(given[order]) == expected
    parts = np.split(given[order], [5, 5, 1300])
    assert str(exact_sum.rounded(sum(map(exact_sum.exact_sum, parts)))) == expected


def test_sums_of_terms_that_cancel():
    """All digits but the last ones do."""
    values = RNG.normal(size=500) * 10.0 ** RNG.integers(-300, 300, size=500)
    values = np.concatenate([values, -values, [1.0, 2.0**-60]])
    for _ in range(20):
        assert exact_sum.weighted_sum(RNG.permutation(values)) == 1.0


def test_whole_weights_are_copies():
    values = RNG.normal(size=1000) * 10.0 ** RNG.integers(-8, 8, size=1000)
    copies = RNG.integers(0, 5, size=1000)
    repeated = exact_sum.weighted_sum(np.repeat(values, copies))
    assert exact_sum.weighted_sum(values, copies.astype(float)) == repeated


# --- Losses ---------------------------------------------------------------------------


def losses(y, weight=None, n_threads=1):
    """The exact sum of |y|, as a loss."""
    code = loss_kernels.VALUES["l1"]
    return exact_sum.rounded(
        loss_kernels.sum_values(code, y, np.zeros(len(y)), weight, 0.0, n_threads)
    )


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_losses_are_summed_exactly(values):
    """Products with weights are rounded."""
    random = np.random.default_rng(3)
    given, weight = values(random, 2500), random.random(2500)
    for weights in (None, weight):
        terms = np.abs(given) if weights is None else np.abs(given) * weights
        assert str(losses(given, weights)) == fraction_sum(terms.tolist())


def test_sums_do_not_depend_on_threads():
    given = np.random.default_rng(0).standard_normal(600_000)
    assert losses(given) == losses(given, n_threads=3) == math.fsum(np.abs(given))
