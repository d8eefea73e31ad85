"""Data in the shapes of well-known Kaggle competitions, generated from a fixed seed.

Columns lie one after the other in memory, as those of a data frame whose rows were
taken by a cross-validation do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from data import Problem, signal
from scipy.optimize import brentq
from scipy.special import expit, ndtr

if TYPE_CHECKING:
    import pandas as pd

# A fifth of the rows is held out, as in the scripts' five folds.
FOLDS = 5
# Enough for `data.signal`.
N_HIDDEN = 16

Array = np.ndarray
Generator = np.random.Generator


def _start(n_train: int) -> tuple[Generator, int]:
    """Return the generator of the numbers, and the rows with those held out."""
    return np.random.default_rng(0), n_train * FOLDS // (FOLDS - 1)


def _normal(rng: Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def _mixed(rng: Generator, hidden: Array, n_columns: int, noise: float) -> Array:
    """Make columns of which each shows about two of the hidden ones through noise."""
    weights = _normal(rng, n_columns, len(hidden))
    weights *= rng.random(weights.shape) < 2 / len(hidden)
    columns = _normal(rng, n_columns, hidden.shape[1])
    columns *= np.float32(noise)
    columns += weights @ hidden
    return columns


def _count(columns: Array, levels: tuple[float, float]) -> None:
    """Turn columns into counts in place, the first ones rarer than the last."""
    columns += np.linspace(*levels, len(columns), dtype=np.float32)[:, None]
    np.floor(np.exp(columns, out=columns), out=columns)


def _lose(rng: Generator, columns: Array, cause: Array, share: float) -> None:
    """Drop the values of a share of the rows, the same rows in all the columns."""
    noisy = cause + _normal(rng, len(cause))
    columns[:, noisy > np.quantile(noisy, 1 - share)] = np.nan


def _levels(rng: Generator, cause: Array, n_levels: int) -> Array:
    """Make a category that a hidden column explains in part, few of its levels common.

    The share of the k-th level is in proportion to 1 / k.
    """
    until = np.cumsum(1 / np.arange(1, n_levels + 1))
    rank = ndtr((cause + _normal(rng, len(cause))) / np.sqrt(2)) * until[-1]
    order = np.minimum(np.searchsorted(until, rank), n_levels - 1)
    return rng.permutation(n_levels).astype(np.int32)[order]


def _binary(rng: Generator, log_odds: Array, share: float) -> Array:
    """Draw labels of which a share is positive."""
    shift = brentq(lambda by: expit(log_odds + by).mean() - share, -60, 60, xtol=1e-6)
    return (rng.random(len(log_odds)) < expit(log_odds + shift)).astype(np.int64)


def _frame(columns: Array, prefix: str) -> pd.DataFrame:
    """Wrap columns; nothing is copied."""
    import pandas as pd

    names = [f"{prefix}{i}" for i in range(len(columns))]
    return pd.DataFrame(columns.T, columns=names, copy=False)


def _categories(codes: list[Array], prefix: str) -> pd.DataFrame:
    """Make columns of categories; of negative codes the category is missing."""
    import pandas as pd

    return pd.DataFrame(
        {
            f"{prefix}{i}": pd.Categorical.from_codes(
                code, [f"level {level}" for level in range(code.max() + 1)]
            )
            for i, code in enumerate(codes)
        }
    )


def _beside(*frames: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return pd.concat(frames, axis=1)


def santander(n_train: int) -> Problem:
    """Generate 200 independent columns of which each says little, 10 % positive.

    Rounding leaves some columns few values, as in the competition.
    """
    rng, n = _start(n_train)
    X = np.empty((200, n))
    log_odds = np.zeros(n)
    for column in X:
        x = _normal(rng, n)
        bump = np.exp(-8 * (x - rng.uniform(-1.5, 1.5)) ** 2)
        log_odds += rng.normal(0, 0.13) * x + rng.normal(0, 0.25) * bump
        np.multiply(x, rng.uniform(0.3, 9), out=column)
        column += rng.uniform(-10, 20)
        np.round(column, rng.integers(2, 5), out=column)
    y = _binary(rng, log_odds, 0.1)
    return Problem("binary", _frame(X, "var_"), y, n_train)


# Levels of the categories of the fraud data: product, cards, mail, matches, devices.
FRAUD_LEVELS = [5, 4, 4, 60, 60, 2, 2, 2, 3, 2, 2, 2, 2, 2, 2, 1700, 75, 130, 260, 4]


def fraud(n_train: int) -> Problem:
    """Generate 394 float32 columns and 20 categories, 3.5 % positive.

    Fifteen groups of columns are missing together, most of them are counts.
    """
    rng, n = _start(n_train)
    hidden = _normal(rng, N_HIDDEN, n)
    X = _mixed(rng, hidden, 394, 1.2)
    for group in np.array_split(X[:340], 15):
        _count(group[: 2 * len(group) // 3], (-1.5, 2.0))
        _lose(rng, group, hidden[rng.integers(N_HIDDEN)], rng.uniform(0, 0.85))
    _count(X[340:360], (0.0, 3.0))
    log_odds = 1.2 * signal(hidden.T)
    codes = []
    for n_levels in FRAUD_LEVELS:
        code = _levels(rng, hidden[rng.integers(N_HIDDEN)], n_levels)
        log_odds += rng.normal(0, 0.35, n_levels)[code]
        code[rng.random(n) < rng.uniform(0, 0.7)] = -1
        codes.append(code)
    y = _binary(rng, log_odds, 0.035)
    return Problem("binary", _beside(_frame(X, "V"), _categories(codes, "M")), y, n_train)


def home_credit(n_train: int) -> Problem:
    """Generate 300 float64 columns, 100 of them 0 and 1, 8 % positive.

    Six groups of columns come from tables in which a part of the applicants is missing.
    """
    rng, n = _start(n_train)
    hidden = _normal(rng, N_HIDDEN, n)
    X = np.empty((300, n))
    mixed = _mixed(rng, hidden, 300, 1.5)
    mixed[:100] = mixed[:100] > np.linspace(-0.5, 4, 100, dtype=np.float32)[:, None]
    _count(mixed[100:140], (0.0, 2.5))
    for group in np.array_split(mixed[140:], 6):
        _lose(rng, group, hidden[rng.integers(N_HIDDEN)], rng.uniform(0.05, 0.7))
    X[:] = mixed
    y = _binary(rng, 0.6 * signal(hidden.T), 0.08)
    return Problem("binary", _frame(X, "feature_"), y, n_train)
