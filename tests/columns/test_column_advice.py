"""Text that is not a category is warned of; what messages tell to write is run."""

from __future__ import annotations

import datetime
import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import skgoss
import skgoss.model_selection
from skgoss import Dataset, LGBMRegressor

N = 240
RNG = np.random.default_rng(0)
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(N)]
FIRST_DAYS = [datetime.date(2001 + i // 12, i % 12 + 1, 1) for i in range(N)]
MOMENTS = [
    datetime.datetime(2020, 1, 1, 3) + datetime.timedelta(hours=31 * i, minutes=i)
    for i in range(N)
]
PRICES = np.append(RNG.uniform(1, 10_000, N - 2).round(2), [-1011.64, 1234567.5])
WEIGHTS = np.arange(N) / 8 + 0.5
COUNTS = RNG.integers(1, 30_000, N)
THOUSANDS = 1000 + 37 * np.arange(N)
MINUTES = np.arange(N) * 6 + 5
LONG = np.arange(N) * 61 + 5
Y = RNG.normal(size=N)
NAMESPACE = {"pandas": pd, "polars": pl, "pyarrow": pa, "numpy": np}


def texts(fit, *arguments, **options):
    """What a fit warns of, except that it learns nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*arguments, **options)
    found = [str(warning.message) for warning in caught]
    return [text for text in found if "categorical_feature" in text]


def fit(X, **options):
    options = {"n_estimators": 1, "n_jobs": 1, "date_features": False, **options}
    return LGBMRegressor(**options).fit(X, Y)


def message(X):
    """The warning or the error of a fit."""
    try:
        found = texts(fit, X)
    except ValueError as error:
        return str(error)
    (text,) = found
    return text


def codes(text):
    """The code that a message tells to run, by the condition under which it holds."""
    text = re.sub(r"(\. Then pass|\. To keep them as|, or leave the) .*", "", text)
    example = text.partition(", for example ")[2]
    if example:
        return {"": example}
    return dict(re.findall(r"If ([^:]*): (.*?)(?=\. If |$)", text))


def run(code, X, **names):
    """The values that code makes of the columns of X, as they stand."""
    scope = {**NAMESPACE, "X": X, **names}
    if code.startswith("d = "):
        first, _, code = code.partition(", then ")
        exec(first, scope)
    parts = re.split(r"(?:, | and )(?=d\.|X\[|pyarrow\.)", code)
    found = [eval(part, scope) for part in parts]
    if len(found) == 1 and (dates := as_dates(found[0])) is not None:
        return meaning(dates)
    return [np.asarray(values, dtype=float) for values in found]


def as_dates(values):
    """Dates as a series of pandas; None if the values are numbers."""
    values = values.to_pandas() if isinstance(values, pl.Series) else values
    is_date = pd.api.types.is_datetime64_any_dtype(getattr(values, "dtype", None))
    return values if is_date else None


def meaning(dates):
    """The numbers that dates stand for: of times of day, the minutes."""
    # What is left of the date is what a fit reads.
    fitted = LGBMRegressor(n_estimators=1, n_jobs=1).fit(pd.DataFrame({"d": dates}), Y)
    assert fitted.date_features_ is not None
    hour, minute = dates.dt.hour, dates.dt.minute + dates.dt.second / 60
    if set(dates.dropna().dt.year) == {1900}:
        return [(60 * hour + minute).to_numpy()]
    parts = [dates.dt.year, dates.dt.month, dates.dt.day_of_week]
    parts += [hour] if hour.any() else []
    return [part.to_numpy(dtype=float) for part in parts]


def english(number):
    return f"{number:,}"


def german(number):
    return english(number).translate(str.maketrans(",.", ".,"))


def french(number):
    return english(number).translate(str.maketrans(",.", "\u202f,"))


def day_parts(days):
    return [[getattr(d, part) for d in days] for part in ("year", "month")] + [
        [day.weekday() for day in days]
    ]


def hour_parts(moments):
    return [*day_parts(moments), [moment.hour for moment in moments]]


BERLIN = [f"{m:%Y-%m-%dT%H:%M:%S}+01:00" for m in MOMENTS]
IN_UTC = [moment - datetime.timedelta(hours=1) for moment in MOMENTS]
NAMES = ["January 1, 2020", "Jan 2, 2020"]
# What is written, and what it means, by the condition if the text cannot tell.
WRITTEN = {
    "ISO dates": ([f"{d}" for d in DAYS], day_parts(DAYS)),
    "ISO dates, slashes": ([f"{d:%Y/%m/%d}" for d in DAYS], day_parts(DAYS)),
    "compact dates": ([f"{d:%Y%m%d}" for d in DAYS], day_parts(DAYS)),
    "months": (
        [f"{d:%Y-%m}" for d in FIRST_DAYS],
        day_parts(FIRST_DAYS),
    ),
    "day and month with points": ([f"{d:%d.%m.%Y}" for d in DAYS], day_parts(DAYS)),
    "first days with points": (
        [f"{d:%d.%m.%Y}" for d in FIRST_DAYS],
        day_parts(FIRST_DAYS),
    ),
    "without zeros": ([f"{d.day}.{d.month}.{d.year}" for d in DAYS], day_parts(DAYS)),
    "day first": ([f"{d:%d/%m/%Y}" for d in DAYS], day_parts(DAYS)),
    "month first": ([f"{d:%m/%d/%Y}" for d in DAYS], day_parts(DAYS)),
    "month first, dashes": ([f"{d:%m-%d-%Y}" for d in DAYS], day_parts(DAYS)),
    "short years": ([f"{d:%d.%m.%y}" for d in DAYS], day_parts(DAYS)),
    "day or month first": (
        [f"{d:%m/%d/%Y}" for d in FIRST_DAYS],
        {
            "the month comes first": day_parts(FIRST_DAYS),
            "the day comes first": day_parts(
                [datetime.date(d.year, 1, d.month) for d in FIRST_DAYS]
            ),
        },
    ),
    "names of months": ([f"{d:%d-%b-%Y}" for d in DAYS], day_parts(DAYS)),
    "long names": ([f"{d:%B} {d.day}, {d.year}" for d in DAYS], day_parts(DAYS)),
    "date-times": ([f"{m:%Y-%m-%d %H:%M}" for m in MOMENTS], hour_parts(MOMENTS)),
    "date-times, seconds": ([f"{m}" for m in MOMENTS], hour_parts(MOMENTS)),
    "date-times, fractions": ([f"{m}.25" for m in MOMENTS], hour_parts(MOMENTS)),
    "date-times, points": (
        [f"{m:%d.%m.%Y %H:%M}" for m in MOMENTS],
        hour_parts(MOMENTS),
    ),
    "date-times, am and pm": (
        [f"{m:%m/%d/%Y %I:%M %p}" for m in MOMENTS],
        hour_parts(MOMENTS),
    ),
    "date-times in UTC": (
        [f"{m:%Y-%m-%dT%H:%M:%SZ}" for m in MOMENTS],
        hour_parts(MOMENTS),
    ),
    "date-times with a zone": (BERLIN, hour_parts(IN_UTC)),
    "times": ([f"{m // 60:02}:{m % 60:02}" for m in MINUTES], [MINUTES]),
    "times, seconds": (
        [f"{m // 60:02}:{m % 60:02}:30" for m in MINUTES],
        [MINUTES + 0.5],
    ),
    "times, am and pm": (
        [f"{datetime.time(m // 60, m % 60):%I:%M %p}" for m in MINUTES],
        [MINUTES],
    ),
    "durations": ([f"{m // 60}:{m % 60:02}" for m in LONG], [LONG]),
    "durations, seconds": ([f"{m // 60}:{m % 60:02}:30" for m in LONG], [LONG + 0.5]),
    "durations, days": (
        [f"{m // 1440} days {m // 60 % 24:02}:{m % 60:02}:00" for m in LONG],
        [LONG],
    ),
    "numbers": ([f"{p}" for p in PRICES], [PRICES]),
    "exponents": ([f"{p:.8e}" for p in PRICES], [PRICES]),
    "counts": ([f"{c}" for c in COUNTS], [COUNTS]),
    "spaces around": ([f" {p} " for p in PRICES], [PRICES]),
    "signs": ([f"{p:+}" for p in PRICES], [PRICES]),
    "typographic minus": ([f"{p}".replace("-", "\u2212") for p in PRICES], [PRICES]),
    "decimal commas": ([f"{p}".replace(".", ",") for p in PRICES], [PRICES]),
    "decimal commas, points": ([german(p) for p in PRICES], [PRICES]),
    "decimal commas, spaces": ([french(p) for p in PRICES], [PRICES]),
    "thousands commas": ([english(p) for p in PRICES], [PRICES]),
    "apostrophes": ([english(p).replace(",", "'") for p in PRICES], [PRICES]),
    "commas": (
        [english(t) for t in THOUSANDS],
        {
            "the comma separates thousands": [THOUSANDS],
            "the comma is a decimal comma": [THOUSANDS / 1000],
        },
    ),
    "points": (
        [german(t) for t in THOUSANDS],
        {
            "the point separates thousands": [THOUSANDS],
            "the point is a decimal point": [THOUSANDS / 1000],
        },
    ),
    "millions": ([english(t * 1000) for t in THOUSANDS], [THOUSANDS * 1000]),
    "dollars": ([f"${english(p)}".replace("$-", "-$") for p in PRICES], [PRICES]),
    "euros": ([f"{german(p)}\xa0€" for p in PRICES], [PRICES]),
    "currencies by letters": ([f"USD {english(p)}" for p in PRICES], [PRICES]),
    "percent": ([f"{w} %" for w in WEIGHTS], [WEIGHTS]),
    "percent, commas": ([f"{w}%".replace(".", ",") for w in WEIGHTS], [WEIGHTS]),
    "units": ([f"{w} kg" for w in WEIGHTS], [WEIGHTS]),
    "units with signs": ([f"{w} km/h" for w in WEIGHTS], [WEIGHTS]),
    "units with digits": ([f"{w} m²" for w in WEIGHTS], [WEIGHTS]),
}
LIBRARIES = {
    "pandas": pd.DataFrame,
    "pandas objects": lambda data: pd.DataFrame(data, dtype=object),
    "pandas on Arrow": lambda data: pd.DataFrame(
        data, dtype=pd.ArrowDtype(pa.string())
    ),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
MISSING = 7


def with_missing(values, word):
    """The values, some of which are missing, in one row by a word."""
    values = [*values]
    values[MISSING] = None
    if word is not None:
        values[MISSING + 1] = word
    return values


def check_values(found, wanted, library, is_missing):
    assert len(found) == len(wanted)
    for position, (values, truth) in enumerate(zip(found, wanted, strict=True)):
        expected = np.array(truth, dtype=float)
        if position == 2 and library == "polars":  # weekdays, Monday is 1
            expected += 1
        np.testing.assert_allclose(
            values, np.where(is_missing, np.nan, expected), rtol=1e-12
        )


@pytest.mark.parametrize("word", [None, "?", "n/a", "-"])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", WRITTEN)
def test_code_for_text_gives_what_the_text_means(name, library, word):
    column, wanted = WRITTEN[name]
    X = LIBRARIES[library]({"written so": with_missing(column, word)})
    text = message(X)
    found = codes(text)
    if library == "polars" and name == "durations, days":
        assert found == {}
        return
    wanted = wanted if isinstance(wanted, dict) else {"": wanted}
    assert found.keys() == wanted.keys(), text
    is_missing = np.zeros(N, dtype=bool)
    is_missing[MISSING : MISSING + 1 + (word is not None)] = True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for condition, code in found.items():
            check_values(run(code, X), wanted[condition], "", is_missing)


# No code is right for these: what the user must decide.
UNDECIDED = {
    "several forms": [f"{d}" if d.day % 2 else f"{d:%d.%m.%Y}" for d in DAYS],
    "century": [f"{d:%d.%m}.{d.day + 50}" for d in DAYS],
    "their years": [f"{d:%d.%m}.{d.day + 20}" for d in DAYS],  # before 2040, or not
    "written in several forms": [
        f"{p}".replace(".", ".,"[i % 2]) for i, p in enumerate(WEIGHTS)
    ],
    "in several forms": [
        f"({p})" if i % 50 == 0 else f"{p}" for i, p in enumerate(WEIGHTS)
    ],
    "units differ": [f"{'$€'[i % 2]}{p}" for i, p in enumerate(WEIGHTS)],
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("problem", UNDECIDED)
def test_no_code_is_better_than_wrong_code(problem, library):
    text = message(LIBRARIES[library]({"a": UNDECIDED[problem]}))
    assert codes(text) == {}
    assert problem in text


SPREAD = RNG.permutation(100_000)[:N]
CODES = {
    "ZIP": [f"{code:05d}" for code in SPREAD % 99_999],
    "ZIP without zeros": [f"{code}" for code in 10_000 + SPREAD % 90_000],
    "ZIP, a missing word": ["?", *(f"{code}" for code in 10_000 + SPREAD[1:] % 90_000)],
    "NAICS": [f"{code}" for code in 111_110 + SPREAD * 8],
    "two lengths": [f"{code}" for code in 9_000 + SPREAD % 20_000],
    "sort codes": [
        f"{c % 100:02d}-{c // 7 % 100:02d}-{c // 11 % 100:02d}" for c in SPREAD
    ],
    "phone numbers": [f"+1555{code:07d}" for code in SPREAD],
    "phone numbers, spaces": [
        f"555 {c % 900 + 100} {c // 90 % 900 + 100}" for c in SPREAD
    ],
    "units that differ": [f"{c % 500} {('g', 'kg')[c % 2]}" for c in SPREAD],
    "house numbers": [f"{c % 200 + 1}{'ab'[c % 2]}" for c in SPREAD],
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CODES)
def test_codes_stay_categories(name, library):
    """Not unless they differ in most rows, and then nothing says they are numbers."""
    often = [value for value in CODES[name][:60] for _ in range(4)]
    assert texts(fit, LIBRARIES[library]({"code": often})) == []
    found = texts(fit, LIBRARIES[library]({"code": CODES[name]}))
    assert all(text.startswith("Text that differs") for text in found)


def test_whole_numbers_may_be_codes():
    text = message(pd.DataFrame({"a": [f"{c}" for c in COUNTS]}))
    assert "Convert them if they are quantities, not codes" in text
    text = message(
        pd.DataFrame({"a": ["?", *(f"{60 + i % 90}" for i in range(N - 1))]})
    )
    assert "not codes" in text


TEXT = {
    "Dates": [
        [f"{day:%Y-%m-%d}" for day in DAYS],
        [None, *(f"{day:%Y-%m-%d}" for day in DAYS[1:])],
    ],
    "Times": [[f"{m // 60:02}:{m % 60:02}" for m in MINUTES]],
    "Numbers": [
        [str(price) for price in PRICES],
        ["?", *PRICES[1:].tolist()],
        ["1e-3", "-.5", *(f"{price:e}" for price in PRICES[2:])],
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
    found = texts(fit, X)
    assert len(found) == expected
    assert all(text.startswith(kind) and "column 'odd'." in text for text in found)
    # Who says that they are categories knows it.
    assert texts(fit, X.astype({"odd": "category"})) == []
    assert texts(fit, X, categorical_feature=["odd"]) == []


def test_numbers_among_text():
    """Objects of both types have no string methods that keep the numbers."""
    mixed = ["1,5", "?", *PRICES[2:].tolist()]
    X = pd.DataFrame({"a": mixed})
    (values,) = run(codes(message(X))[""], X)
    np.testing.assert_array_equal(values, [1.5, np.nan, *PRICES[2:]])


def test_columns_with_the_same_code_are_one_warning():
    days = [f"{day}" for day in DAYS]
    X = pd.DataFrame({f"d{i}": days for i in range(7)} | {0: PRICES}).rename(
        columns=str
    )
    (text,) = texts(fit, X)
    assert "columns 'd0', 'd1', 'd2', 'd3', 'd4', ...." in text
    assert "'d5'" not in text
    (text,) = texts(fit, X.drop(columns=["d0", "d1"]))
    assert "columns 'd2', 'd3', 'd4', 'd5', 'd6'." in text
    X["d3"] = [f"{day:%d.%m.%Y}" for day in DAYS]
    first, second = texts(fit, X)
    assert "'d0', 'd1', 'd2', 'd4', 'd5'" in first
    assert "column 'd3'." in second
    for text, name in ((first, "d0"), (second, "d3")):
        assert f"X['{name}']" in text
        check_values(run(codes(text)[""], X), day_parts(DAYS), "pandas", False)


@pytest.mark.parametrize("columns", [[0, 1], [7, "a"], ["it's", 'a "b"']])
def test_columns_are_found_by_their_code(columns):
    X = pd.DataFrame({"x": PRICES, "day": [f"{day}" for day in DAYS]})
    X.columns = columns
    if {type(column) for column in columns} == {int, str}:
        with pytest.raises(TypeError):  # as scikit-learn does
            fit(X)
        return
    check_values(run(codes(message(X))[""], X), day_parts(DAYS), "pandas", False)


def test_other_names_for_columns():
    X = pd.DataFrame({"x": PRICES, "day": [f"{day}" for day in DAYS]})
    for data in (X, X.set_axis([3, 9], axis=1)):
        (text,) = texts(
            LGBMRegressor(n_estimators=1).fit, data, Y, feature_name=["p", "q"]
        )
        assert "column 'q'." in text
        check_values(run(codes(text)[""], data), day_parts(DAYS), "pandas", False)


def test_every_way_to_fit_warns(tmp_path):
    X = pd.DataFrame({"day": [f"{day}" for day in DAYS], "x": PRICES})
    (expected,) = texts(fit, X)
    path = tmp_path / "days.parquet"
    X.assign(y=Y).to_parquet(path)
    params = {"objective": "l2", "num_threads": 1}
    for way in (
        lambda: fit(X, folds=2),
        lambda: skgoss.train(params, Dataset(X, Y), 1),
    ):
        assert texts(way) == [expected]
    # Files are read as tables of Arrow.
    table = pa.table(X)
    (of_tables,) = texts(fit, table)
    for way in (
        lambda: skgoss.train(params, Dataset(table, Y), 1),
        lambda: skgoss.train(params, Dataset(path, label="y"), 1),
        lambda: LGBMRegressor(n_estimators=1, n_jobs=1).fit(path, "y"),
    ):
        assert texts(way) == [of_tables]
    frame = pl.from_pandas(X)
    (of_polars,) = texts(fit, frame)
    assert texts(lambda: skgoss.train(params, Dataset(frame, Y), 1)) == [of_polars]
    for text, data in ((of_tables, table), (of_polars, frame)):
        check_values(run(codes(text)[""], data), day_parts(DAYS), "", False)
    # Whoever continues from a model has been warned.
    model = LGBMRegressor(n_estimators=1, n_jobs=1, date_features=False)
    assert texts(model.fit, X, Y) == [expected]
    assert texts(model.fit, X, Y, init_model=model.booster_) == []


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d %H:%M", "%H:%M"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_fits_that_take_no_dates_say_what_follows(library, form):
    X = LIBRARIES[library]({"at": [f"{m:{form}}" for m in MOMENTS]})
    (text,) = texts(fit, X, date_features="auto")
    assert "DateFeatures" not in text
    code = codes(text)[""]
    values = eval(code, {**NAMESPACE, "X": X})
    converted = (
        X.assign(at=values) if library == "pandas" else X.with_columns(at=values)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(converted, date_features="auto")
    params = {"objective": "l2", "num_threads": 1}
    (text,) = texts(lambda: skgoss.train(params, Dataset(X, Y), 1))
    assert codes(text)[""] == code
    is_date = "to_datetime" in code or "to_date(" in code
    then = re.search(r"Then pass (.*), because", text)
    assert (then is not None) == is_date
    if then is not None:
        converted = eval(then[1], {"skgoss": skgoss, "X": converted})
    skgoss.train(params, Dataset(converted, Y), 1)


SEARCHED = pd.DataFrame(
    {
        "day": [f"{day}" for day in DAYS],
        "price": [f"{price}" for price in PRICES],
        "name": [f"{i}, Mr. Smith" for i in range(N)],
    }
)
GRID = {"num_leaves": [3, 7]}
SEARCHES = {
    "cross_val_score": lambda model: cross_val_score(model, SEARCHED, Y, cv=3),
    "scikit-learn": lambda model: GridSearchCV(model, GRID, cv=3).fit(SEARCHED, Y),
    **{
        f"{strategy}, {n_jobs} threads": lambda model, s=strategy, n=n_jobs: (
            skgoss.model_selection.GridSearchCV(
                model, GRID, cv=3, strategy=s, n_jobs=n
            ).fit(SEARCHED, Y)
        )
        for strategy in ("all", "race")
        for n_jobs in (1, 2)
    },
}


def test_each_fit_in_a_thread_warns():
    """A pool of the user is not a search, although its threads stay."""
    with ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model = LGBMRegressor(n_estimators=1, n_jobs=1)
                pool.submit(model.fit, SEARCHED, Y).result()
            assert sum("Dates" in str(warning.message) for warning in caught) == 1


@pytest.mark.parametrize("action", ["default", "always"])
@pytest.mark.parametrize("search", SEARCHES)
def test_one_warning_in_a_search(search, action):
    model = LGBMRegressor(n_estimators=2, n_jobs=1)
    for _ in range(2):  # the next search warns again
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)
            SEARCHES[search](model)
        found = [str(warning.message) for warning in caught]
        for word in ("Dates", "Numbers", "Text that differs"):
            assert sum(text.startswith(word) for text in found) == 1


STAMPS = pd.Series(pd.to_datetime(MOMENTS))
SPANS = [datetime.timedelta(milliseconds=750 * i) for i in range(N)]
CLOCK = [datetime.time(m // 60, m % 60) for m in MINUTES]
SECONDS, DATE_PARTS = [np.arange(N) * 0.75], day_parts(MOMENTS)
ON_ARROW = {"dtype": pd.ArrowDtype(pa.time64("us"))}
DATE_OBJECTS = [moment.date() for moment in MOMENTS]
# Columns of types that are not numeric: the library, the values, and what they mean.
TYPED = {
    "dates": ("pandas", STAMPS, DATE_PARTS),
    "dates with a zone": ("pandas", STAMPS.dt.tz_localize("UTC"), DATE_PARTS),
    "dates on Arrow": (
        "pandas",
        pd.Series(DATE_OBJECTS, dtype=pd.ArrowDtype(pa.date32())),
        DATE_PARTS,
    ),
    "periods": ("pandas", STAMPS.dt.to_period("D"), DATE_PARTS),
    "date objects": ("pandas", pd.Series(DATE_OBJECTS, dtype=object), DATE_PARTS),
    "durations": ("pandas", pd.Series(SPANS), SECONDS),
    "duration objects": (
        "pandas",
        pd.Series(SPANS, dtype=object),
        SECONDS,
    ),
    "times": ("pandas", pd.Series(CLOCK, dtype=object), [MINUTES]),
    "times on Arrow": ("pandas", pd.Series(CLOCK, **ON_ARROW), [MINUTES]),
    "polars dates": ("polars", pl.Series(DATE_OBJECTS), DATE_PARTS),
    "polars date-times": ("polars", pl.Series(MOMENTS), DATE_PARTS),
    "polars durations": ("polars", pl.Series(SPANS), SECONDS),
    "polars times": ("polars", pl.Series(CLOCK), [MINUTES]),
    "Arrow dates": ("pyarrow", pa.array(DATE_OBJECTS), DATE_PARTS),
    "Arrow date-times": ("pyarrow", pa.array(MOMENTS), DATE_PARTS),
    "Arrow times": ("pyarrow", pa.array(CLOCK), [MINUTES]),
    "Arrow times in seconds": (
        "pyarrow",
        pa.array(CLOCK).cast(pa.time32("s")),
        [MINUTES],
    ),
}


@pytest.mark.parametrize("name", TYPED)
def test_code_for_types_gives_what_the_values_mean(name):
    library, column, wanted = TYPED[name]
    if library == "pandas":
        column = column.where(column.index != MISSING)
        X = pd.DataFrame({"a": column})
    else:
        index = pa.array([i if i != MISSING else None for i in range(N)], pa.int32())
        column = (
            column.take(index)
            if library == "pyarrow"
            else pl.Series([v if i != MISSING else None for i, v in enumerate(column)])
        )
        X = {"polars": pl.DataFrame, "pyarrow": pa.table}[library]({"a": column})
    text = message(X)
    assert text.startswith("Column 'a' holds")
    is_missing = np.arange(N) == MISSING
    check_values(run(codes(text)[""], X), wanted, library, is_missing)


def test_arrays_of_dates_and_durations():
    spans = np.array([[36], [-12], ["NaT"]], dtype="m8[h]")
    moments = spans + np.datetime64("1970-01-01", "h")
    months = np.array([[3], [1], ["NaT"]], dtype="m8[M]")
    cases = [
        (spans, "X holds durations", [1.5, -0.5, np.nan]),
        (moments, "X holds dates", [1.5, -0.5, np.nan]),
        (months, "X holds durations", [3, 1, np.nan]),
    ]
    for X, words, wanted in cases:
        with pytest.raises(ValueError, match=words) as caught:
            LGBMRegressor(date_features=False).fit(X, [1, 2, 3])
        code = re.search(r"(?:days|months) with (.*)\.$", str(caught.value))[1]
        found = eval(code, {"X": X, "numpy": np})
        np.testing.assert_array_equal(found[:, 0], wanted)


LISTS = {
    "list": list,
    "array": np.array,
    "pandas": pd.Series,
    "polars": pl.Series,
    "pyarrow": pa.array,
}


@pytest.mark.parametrize("kind", LISTS)
def test_code_for_times_of_rows(kind):
    """Times of rows that are text are refused: their order would be that of letters."""
    X = np.arange(N, dtype=float)[:, None]
    cases = {
        "points": [f"{d:%d.%m.%Y}" for d in DAYS],
        "undecided": [f"{d:%m/%d/%Y}" for d in FIRST_DAYS],
        "numbers": [str(1011.5 * i).replace(".", ",") for i in range(N)],
    }
    for name, text in cases.items():
        time = LISTS[kind](text)
        model = LGBMRegressor(n_estimators=1, folds=2)
        with pytest.raises(
            TypeError, match="time must hold numbers or dates"
        ) as caught:
            model.fit(X, Y, time=time)
        found = codes(str(caught.value).rstrip("."))
        assert len(found) == (2 if name == "undecided" else 1)
        code = found.get("the month comes first") or found.get("")
        converted = eval(code, {**NAMESPACE, "time": time})
        assert (np.diff(np.asarray(converted).astype(float)) > 0).all()
        model.fit(X, Y, time=converted)
