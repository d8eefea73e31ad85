"""Text that is not a category is warned of, and dates are answered by a recipe."""

from __future__ import annotations

import datetime
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pytest

import skgoss
from skgoss import Dataset, LGBMRegressor

N = 240
RNG = np.random.default_rng(0)
DAYS = pd.Series(pd.date_range("2020-01-01", periods=N))
PRICES = RNG.uniform(10, 10_000, N).round(2)
Y = RNG.normal(size=N)
NAMESPACE = {"pandas": pd, "polars": pl, "pyarrow": pa}


def messages(fit, *arguments, **options):
    """What a fit warns of, except that it learns nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*arguments, **options)
    texts = [str(warning.message) for warning in caught]
    return [text for text in texts if "categorical_feature" in text]


def fit(X, **options):
    return LGBMRegressor(n_estimators=1, n_jobs=1, **options).fit(X, Y)


TEXT = {
    "Dates": [
        [f"{day:%Y-%m-%d}" for day in DAYS],
        [f"{day:%d/%m/%y}" for day in DAYS],
        [f"{day:%d.%m.%Y}" for day in DAYS],
        [f"{day:%Y-%m-%dT%H:%M:%SZ}" for day in DAYS],
        [f"{day:%B} {day.day}, {day.year}" for day in DAYS],
        [f"{day:%d-%b-%Y}" for day in DAYS],
        [f"{hour:02d}:{minute:02d}" for hour in range(12) for minute in range(20)],
        [None, *(f"{day:%Y-%m-%d}" for day in DAYS[1:])],
    ],
    "Numbers": [
        [str(price) for price in PRICES],
        ["n/a", *(str(price) for price in PRICES[1:])],
        ["?", *PRICES[1:].tolist()],
        [f"{number}" for number in range(100, 100 + N)],
        ["1e-3", "-.5", *(f"{price:e}" for price in PRICES[2:])],
        [f"${price:,}" for price in PRICES],
        [f"{price} €" for price in PRICES],
    ],
    "Text that differs": [
        [f"{i}, Mr. Smith" for i in range(N)],
        [f"{i:05d}" for i in range(N)],
        [f"{i}.{i % 7}.{i % 5}" for i in range(N)],
    ],
    "": [
        [f"{i % 100:05d}" for i in range(N)],
        [str(i % 10) for i in range(N)],
        [f"town {i % 100}" for i in range(N)],
        [f"customer {i % 170}" for i in range(N)],
        [f"{day:%Y-%m}" for day in DAYS],
        [("1.5", "x")[i % 2] if i < 50 else f"a{i % 60}" for i in range(N)],
    ],
}
CASES = [(kind, column) for kind, columns in TEXT.items() for column in columns]


@pytest.mark.parametrize(("kind", "column"), CASES)
def test_text_that_is_not_a_category(kind, column):
    X = pd.DataFrame({"town": ["a", "b"] * (N // 2), "odd": column})
    expected = bool(kind)
    found = messages(fit, X)
    assert len(found) == expected
    assert all(text.startswith(kind) and "column 'odd' (" in text for text in found)
    # Who says that they are categories knows it.
    assert messages(fit, X.astype({"odd": "category"})) == []
    assert messages(fit, X, categorical_feature=["odd"]) == []


def test_several_columns_are_one_warning():
    days = [f"{day:%Y-%m-%d}" for day in DAYS]
    X = pd.DataFrame({f"d{i}": days for i in range(7)} | {0: PRICES}).rename(
        columns=str
    )
    (text,) = messages(fit, X)
    assert "columns 'd0' ('2020-01-01'), 'd1' (" in text
    assert "'d4' ('2020-01-01'), ..." in text
    assert "'d5'" not in text


def test_every_way_to_fit_warns(tmp_path):
    X = pd.DataFrame({"day": [f"{day:%Y-%m-%d}" for day in DAYS], "x": PRICES})
    (expected,) = messages(fit, X)
    path = tmp_path / "days.parquet"
    X.assign(y=Y).to_parquet(path)
    params = {"objective": "l2", "num_threads": 1}
    ways = [
        lambda: fit(X, folds=2),
        lambda: fit(pa.table(X)),
        lambda: skgoss.train(params, Dataset(X, Y), 1),
        lambda: skgoss.train(params, Dataset(path, label="y"), 1),
        lambda: LGBMRegressor(n_estimators=1, n_jobs=1).fit(path, "y"),
    ]
    for way in ways:
        assert messages(way) == [expected]
    (polars,) = messages(fit, pl.from_pandas(X))
    assert "X['day'].str.to_datetime()" in polars
    # Who goes on with a model has been warned.
    model = LGBMRegressor(n_estimators=1, n_jobs=1)
    assert messages(model.fit, X, Y) == [expected]
    assert messages(model.fit, X, Y, init_model=model.booster_) == []


DATES = pd.DataFrame({"d": DAYS, "o": DAYS.dt.date, "s": DAYS.dt.strftime("%Y-%m-%d")})
FRAMES = {
    "pandas": DATES,
    "pandas, zones": DATES[["d"]].apply(lambda days: days.dt.tz_localize("UTC")),
    "pandas, periods": DATES[["d"]].apply(lambda days: days.dt.to_period("M")),
    "pandas, durations": DATES[["d"]] - DAYS[0],
    "pandas, times": pd.DataFrame({"d": [datetime.time(i % 24) for i in range(N)]}),
    "pandas, numbers": pd.DataFrame({"d": PRICES.astype(str)}),
    "pandas, money": pd.DataFrame({"d": [f"${price:,}" for price in PRICES]}),
    "polars": pl.from_pandas(DATES),
    "polars, durations": pl.from_pandas(DATES[["d"]] - DAYS[0]),
    "polars, times": pl.DataFrame({"d": [datetime.time(i % 24) for i in range(N)]}),
    "polars, numbers": pl.DataFrame({"d": PRICES.astype(str)}),
    "polars, money": pl.DataFrame({"d": [f"${price:,}" for price in PRICES]}),
    "pyarrow": pa.table(DATES[["d", "o"]]),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_recipes_run(kind):
    frame = FRAMES[kind]
    names = getattr(frame, "column_names", None) or list(frame.columns)
    for name in names:
        X = frame.select([name]) if hasattr(frame, "select") else frame[[name]]
        try:
            (text,) = messages(fit, X)
        except ValueError as error:
            text = str(error)
        assert f"'{name}'" in text
        code = text.partition("for example ")[2]
        code = re.split(r", or leave|\. To keep", code)[0]
        assert code
        scope = {**NAMESPACE, "X": X}
        if code.startswith("d = "):
            first, _, code = code.partition(", then ")
            exec(first, scope)
        code = code.replace(" .", " pyarrow.compute.")
        for recipe in re.split(r", (?=\w+[.\[])| and ", code):
            values = np.asarray(eval(recipe, scope), dtype=float)
            assert values.shape == (N,)
            assert np.ptp(values) > 0 or "year" in recipe
            fit(pd.DataFrame({"a": values}))


def test_durations_in_arrays():
    X = np.full((N, 1), np.timedelta64(36, "h"))
    with pytest.raises(ValueError, match="X holds durations") as caught:
        fit(X)
    recipe = re.search(r"X / .*\)", str(caught.value))[0]
    assert eval(recipe, {"X": X, "numpy": np})[0, 0] == 1.5
    days = X + np.datetime64("1970-01-01", "h")
    with pytest.raises(ValueError, match="X holds dates") as caught:
        fit(days)
    recipe = re.search(r"X\.as.*\(float\)", str(caught.value))[0]
    assert eval(recipe, {"X": days})[0, 0] == 1.0
