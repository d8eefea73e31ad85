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
    """Drop the values of a fraction of the rows, the same rows in all columns."""
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
    """Generate 200 independent columns of which each explains little, 10% positive.

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
    """Generate 394 float32 columns and 20 categories, 3.5% positive.

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
    return Problem(
        "binary", _beside(_frame(X, "V"), _categories(codes, "M")), y, n_train
    )


def home_credit(n_train: int) -> Problem:
    """Generate 300 float64 columns, 100 of them 0 and 1, 8% positive.

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


# Levels of Porto Seguro's categories: cars, their makes and regions.
PORTO_LEVELS = [4, 2, 7, 12, 2, 2, 9, 2, 17, 2, 5, 2, 104, 10]


def porto_seguro(n_train: int) -> Problem:
    """Generate 57 columns, 3.6% positive, nearly unexplained.

    17 columns of 0 and 1, 14 categories as integers and 16 counts, all int64, then 10
    float64 of which some have few values; -1 where a value is missing.
    """
    rng, n = _start(n_train)
    hidden = _normal(rng, N_HIDDEN, n)
    mixed = _mixed(rng, hidden, 57, 0.8)
    integers, numbers = np.empty((47, n), dtype=np.int64), np.empty((10, n))
    integers[:17] = mixed[:17] > np.linspace(-0.5, 2.5, 17, dtype=np.float32)[:, None]
    log_odds = 0.2 * signal(hidden.T)
    for column, n_levels in zip(integers[17:31], PORTO_LEVELS, strict=True):
        column[:] = _levels(rng, hidden[rng.integers(N_HIDDEN)], n_levels)
        log_odds += rng.normal(0, 0.1, n_levels)[column]
        column[rng.random(n) < rng.uniform(0, 0.1)] = -1
    _count(mixed[31:47], (0.0, 2.0))
    integers[31:] = mixed[31:47]
    numbers[:] = np.round(np.abs(mixed[47:]) + 0.1, 1)
    numbers[:4] += np.round(rng.random((4, n)) / 10, 4)
    numbers[rng.random(numbers.shape, dtype=np.float32) < 0.02] = -1
    y = _binary(rng, log_odds, 0.036)
    X = _beside(_frame(integers, "ps_ind_"), _frame(numbers, "ps_reg_"))
    return Problem("binary", X, y, n_train)


def porto_seguro_dummies(n_train: int) -> Problem:
    """Generate the same rows with a column of 0 and 1 for each category."""
    import pandas as pd

    made = porto_seguro(n_train)
    names = list(made.X.columns[17:31])
    X = pd.get_dummies(made.X, columns=names, dtype=np.uint8)
    return Problem("binary", X, made.y, n_train)


# Levels of M5's categories: item, department, kind, events, days on which food is paid.
M5_LEVELS = [3049, 7, 3, 31, 5, 5, 3, 2, 2, 2]


def m5(n_train: int) -> Problem:
    """Generate sales of a day: 10 categories, 8 int8 and 50 float16, most sales 0.

    Lags are other draws of the same item's sales, and means of such draws.
    """
    rng, n = _start(n_train)
    codes = [_levels(rng, _normal(rng, n), n_levels) for n_levels in M5_LEVELS]
    days = rng.integers(0, [[31], [53], [12], [6], [5], [7], [2], [4]], (8, n))
    item = rng.normal(-0.9, 1.2, M5_LEVELS[0])[codes[0]]
    trend = item + 0.4 * _normal(rng, n)
    log_mean = trend + 0.3 * (days[5] >= 5) + rng.normal(0, 0.2, 31)[codes[3]]
    numbers = _normal(rng, 50, n)
    for lags in (numbers[:15], numbers[15:35]):
        np.exp(trend + 0.3 * lags, out=lags)
    numbers[:15] = rng.poisson(numbers[:15])
    numbers[15:35] *= 1 + 0.3 * _normal(rng, 20, n)
    numbers[35:42] = np.exp(item) * (1 + 0.05 * numbers[35:42])
    price = rng.lognormal(1.2, 0.6, M5_LEVELS[0])[codes[0]]
    reduced = 1 - 0.3 * (rng.random(n) < 0.1)
    numbers[42:] = np.round(price * reduced * (1 + 0.02 * numbers[42:]), 2)
    y = rng.poisson(rng.gamma(2, np.exp(log_mean) / reduced**2 / 2)).astype(np.float64)
    parts = [_categories(codes, "id_"), _frame(days.astype(np.int8), "tm_")]
    X = _beside(*parts, _frame(numbers.astype(np.float16), "lag_"))
    return Problem("regression", X, y, n_train)


def optiver(n_train: int) -> Problem:
    """Generate volatilities of ten minutes: 245 float64 and a stock's number.

    The weights make the squared error that of percentages.
    """
    rng, n = _start(n_train)
    hidden = _normal(rng, N_HIDDEN, n)
    stock = rng.integers(0, 112, n)
    hidden[0] += rng.normal(0, 0.8, 112).astype(np.float32)[stock]
    mixed = _mixed(rng, hidden, 245, 0.4)
    mixed[:60] += hidden[0]
    X = np.exp(0.5 * mixed - 6, dtype=np.float64)
    X[rng.random(X.shape, dtype=np.float32) < 0.01] = np.nan
    size = 0.5 * hidden[0] + 0.06 * signal(hidden.T) + 0.2 * _normal(rng, n)
    y = np.exp(size.astype(np.float64) - 5.8)
    frame = _beside(_frame(X, "book_"), _frame(stock[None], "stock_id_"))
    return Problem("regression", frame, y, n_train, weight=1 / y**2)


def jane_street(n_train: int) -> Problem:
    """Generate returns of trades: 130 float32, a fiftieth of the variance explained."""
    rng, n = _start(n_train)
    hidden = _normal(rng, N_HIDDEN, n)
    X = _mixed(rng, hidden, 130, 0.7)
    X[0] = np.sign(X[0])
    for group in np.array_split(X[1:], 20):
        if rng.random() < 0.5:
            _lose(rng, group, hidden[rng.integers(N_HIDDEN)], rng.uniform(0, 0.15))
    y = 0.003 * signal(hidden.T) + 0.035 * rng.standard_t(4, n) / np.sqrt(2)
    weight = rng.gamma(0.4, 7, n)
    return Problem("regression", _frame(X, "feature_"), y, n_train, weight=weight)


def elo(n_train: int) -> Problem:
    """Generate loyalties of cards: 200 float64 and three int64; 1% are outliers."""
    rng, n = _start(n_train)
    hidden = _normal(rng, N_HIDDEN, n)
    mixed = _mixed(rng, hidden, 200, 1.0)
    _count(mixed[:80], (0.0, 3.0))
    _lose(rng, mixed[120:160], hidden[0], 0.1)
    levels = [_levels(rng, hidden[k], n_levels) for k, n_levels in enumerate((5, 3, 2))]
    outside = _binary(rng, 0.8 * signal(hidden.T), 0.011)
    y = 0.3 * signal(hidden.T) + 1.5 * _normal(rng, n)
    y = np.where(outside, -33.219, y).astype(np.float64)
    integers = np.array(levels, dtype=np.int64)
    X = _beside(_frame(integers, "feature_"), _frame(mixed.astype(np.float64), "hist_"))
    return Problem("regression", X, y, n_train)


def instacart(n_train: int) -> Problem:
    """Generate products of customers: 23 columns, two are categories, 10% bought."""
    rng, n = _start(n_train)
    hidden = _normal(rng, N_HIDDEN, n)
    numbers = _mixed(rng, hidden, 16, 0.3)
    counts = _mixed(rng, hidden, 5, 0.5)
    _count(counts, (0.5, 3.0))
    aisle = _levels(rng, hidden[0], 134)
    ids = np.array([aisle, aisle % 21], dtype=np.int32)
    log_odds = 0.9 * signal(hidden.T) + rng.normal(0, 0.4, 134)[aisle]
    y = _binary(rng, log_odds, 0.1)
    counts = _frame(counts.astype(np.int32), "orders_")
    X = _beside(_frame(ids, "aisle_"), counts, _frame(numbers, "UP_"))
    return Problem("binary", X, y, n_train)
