"""Columns of dates: days since 1970, time zones, and the parts that vary."""

from __future__ import annotations

import datetime
from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from helpers import columns_of_dates as naive
from skgoss.columns import containers, dates
from skgoss.columns.columns import numbers
from skgoss.columns.computed_columns import ComputedColumns

RNG = np.random.default_rng(0)
MOMENTS = [
    datetime.datetime(1583, 1, 1) + timedelta(seconds=int(s), microseconds=int(u))
    for s, u in zip(
        RNG.integers(0, 800 * 366 * 86_400, 3000),
        RNG.integers(0, 1000, 3000) * 1000,
        strict=True,
    )
]
MOMENTS[5] = None
MOMENTS[6:12] = [
    datetime.datetime(*day)
    for day in (
        (1970, 1, 1),
        (1969, 12, 31, 23, 59, 59, 999_000),
        (2000, 2, 29),
        (2000, 12, 31, 23),
        (1900, 2, 28, 12),
        (1900, 3, 1),
    )
]
DAYS = [None if m is None else m.date() for m in MOMENTS]
MIDNIGHTS = [None if m is None else datetime.datetime(*m.timetuple()[:3]) for m in DAYS]
RECENT = [
    datetime.datetime(2024, 1, 1) + timedelta(minutes=37 * i) if i != 4 else None
    for i in range(30_000)
]


def read(X, **options):
    columns, schema = containers.learned(X, owner="test", reads_dates=True, **options)
    return numbers(columns), schema


def pandas_series(unit):
    return pd.Series(np.array(MOMENTS, dtype="M8[us]").astype(f"M8[{unit}]"))


CONTAINERS = {
    "pandas": (lambda: pd.DataFrame({"d": pandas_series("us")}), MOMENTS),
    "pandas, ms": (lambda: pd.DataFrame({"d": pandas_series("ms")}), MOMENTS),
    "pandas on Arrow": (
        lambda: pd.DataFrame(
            {"d": pandas_series("us").astype("timestamp[us][pyarrow]")}
        ),
        MOMENTS,
    ),
    "pandas on Arrow, days": (
        lambda: pd.DataFrame({"d": pd.Series(DAYS).astype("date32[pyarrow]")}),
        MIDNIGHTS,
    ),
    "pandas objects": (
        lambda: pd.DataFrame({"d": pd.Series(DAYS, dtype=object)}),
        MIDNIGHTS,
    ),
    "pandas periods": (
        lambda: pd.DataFrame({"d": pandas_series("us").dt.to_period("D")}),
        MIDNIGHTS,
    ),
    "polars": (lambda: pl.DataFrame({"d": MOMENTS}), MOMENTS),
    "polars, lazy": (lambda: pl.LazyFrame({"d": MOMENTS}), MOMENTS),
    "polars, days": (lambda: pl.DataFrame({"d": DAYS}), MIDNIGHTS),
    "pyarrow": (
        lambda: pa.table({"d": pa.array(MOMENTS, pa.timestamp("us"))}),
        MOMENTS,
    ),
    "pyarrow, chunks": (
        lambda: pa.table(
            {
                "d": pa.chunked_array(
                    [pa.array(MOMENTS[:9], pa.timestamp("us")), MOMENTS[9:]]
                )
            }
        ),
        MOMENTS,
    ),
    "pyarrow, date32": (
        lambda: pa.table({"d": pa.array(DAYS, pa.date32())}),
        MIDNIGHTS,
    ),
    "pyarrow, date64": (
        lambda: pa.table({"d": pa.array(DAYS, pa.date64())}),
        MIDNIGHTS,
    ),
    "array": (lambda: np.array(MOMENTS, dtype="M8[us]")[:, None], MOMENTS),
    "array, days": (lambda: np.array(DAYS, dtype="M8[D]")[:, None], MIDNIGHTS),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_dates_are_days_in_all_containers(name):
    make, moments = CONTAINERS[name]
    values, schema = read(make())
    assert schema.dates == {0: None}
    expected = naive.days(moments)
    # timedelta / timedelta is rounded once, days and fractions of them twice.
    np.testing.assert_allclose(values[:, 0], expected, rtol=2.3e-16, atol=2**-53)
    again = numbers(containers.columns(make(), schema, owner="test"))
    np.testing.assert_array_equal(again, values)
    assert_same_parts(values[:, 0], moments)


def assert_same_parts(values, moments):
    names = list(naive.PARTS)
    found = dates.part_values(values, names)
    np.testing.assert_array_equal(found, naive.parts(moments, names))


def test_all_units_give_the_same_days():
    minutes = np.array(RECENT, dtype="M8[m]")
    expected = dates.days_of_array(minutes)
    for unit in ("s", "ms", "us", "ns"):
        found = dates.days_of_array(minutes.astype(f"M8[{unit}]"))
        np.testing.assert_array_equal(found, expected)
    tens = np.arange(-100, 100).view("M8[10m]")
    found = dates.days_of_array(tens)
    np.testing.assert_array_equal(found, dates.days_of_array(tens.astype("M8[m]")))
    near = np.array([-1, 0, 1, 86_399_999], dtype="M8[ms]")
    for unit in ("ps", "fs"):
        found = dates.days_of_array(near[:3].astype(f"M8[{unit}]"))
        np.testing.assert_array_equal(found, dates.days_of_array(near[:3]))
    months = np.array(["2024-01", "1969-12", "NaT"], dtype="M8[M]")
    np.testing.assert_array_equal(dates.days_of_array(months), [19723, -31, np.nan])


def test_seconds_keep_their_order():
    seconds = np.datetime64("2024-02-29T23:59:00", "s") + np.arange(200_000)
    values = dates.days_of_array(seconds)
    assert (np.diff(values) > 0).all()
    micro = np.datetime64("2024-02-29T23:59:59", "us") + np.arange(1_000_000)
    assert (np.diff(dates.days_of_array(micro)) > 0).all()


def test_dates_far_away_have_no_parts():
    values = np.array([3.6e6, -3.6e6, 1e300, -np.inf, np.inf, np.nan, 3_599_999.0])
    found = dates.part_values(values, list(naive.PARTS))
    assert np.isnan(found[:, :6]).all()
    assert np.isfinite(found[:, 6]).all()


def test_parts_are_those_of_the_millisecond():
    noon = dates.days_of_array(np.array(["2024-06-30T11:59:59.9994"], dtype="M8[us]"))
    later = dates.days_of_array(np.array(["2024-06-30T11:59:59.9996"], dtype="M8[us]"))
    assert dates.part_values(noon, ["hour"]) == 11
    assert dates.part_values(later, ["hour"]) == 12


@pytest.mark.parametrize("n_threads", [1, 3])
def test_parts_do_not_depend_on_threads(n_threads):
    columns, _ = containers.learned(
        pl.DataFrame({"d": RECENT}), owner="test", reads_dates=True
    )
    names = list(naive.PARTS)
    made = ComputedColumns.of_dates({0: names}).values(columns, n_threads)
    np.testing.assert_array_equal(made, naive.parts(RECENT, names))


# --- Time zones -----------------------------------------------------------------------

BERLIN = [
    None
    if m is None
    else m.replace(tzinfo=ZoneInfo("UTC")).astimezone(ZoneInfo("Europe/Berlin"))
    for m in RECENT[:9000]
]
WALL = [None if m is None else m.replace(tzinfo=None) for m in BERLIN]
ZONED = {
    "pandas": lambda z: pd.DataFrame({"d": pd.Series(BERLIN).dt.tz_convert(z)}),
    "pandas on Arrow": lambda z: pd.DataFrame(
        {
            "d": pd.Series(BERLIN)
            .dt.tz_convert(z)
            .astype(f"timestamp[ns, tz={z}][pyarrow]")
        }
    ),
    "polars": lambda z: pl.DataFrame(
        {
            "d": pl.Series(RECENT[:9000])
            .dt.replace_time_zone("UTC")
            .dt.convert_time_zone(z)
        }
    ),
    "pyarrow": lambda z: pa.table({"d": pa.array(BERLIN, pa.timestamp("us", z))}),
}


@pytest.mark.parametrize("library", ZONED)
def test_days_are_those_of_the_clock_of_fit(library):
    values, schema = read(ZONED[library]("Europe/Berlin"))
    assert schema.dates == {0: "Europe/Berlin"}
    assert_same_parts(values[:, 0], WALL)
    for other, make in ZONED.items():
        for zone in ("UTC", "America/New_York", "Europe/Berlin"):
            columns = containers.columns(make(zone), schema, owner="test")
            np.testing.assert_array_equal(numbers(columns), values, f"{other} {zone}")


def test_offsets_are_time_zones():
    zone = datetime.timezone(timedelta(hours=-3, minutes=-30))
    X = pd.DataFrame({"d": pd.Series(BERLIN).dt.tz_convert(zone)})
    values, schema = read(X)
    again = containers.columns(ZONED["pandas"]("UTC"), schema, owner="test")
    np.testing.assert_array_equal(numbers(again), values)


@pytest.mark.parametrize("library", ZONED)
def test_times_with_and_without_a_zone_are_not_mixed(library):
    zoned, plain = ZONED[library]("UTC"), pl.DataFrame({"d": RECENT[:9000]})
    for first, second, words in (
        (
            zoned,
            plain,
            r"time zone 'UTC' in fit, .* without one. Add .*tz_localize\('UTC'\)",
        ),
        (plain, zoned, r"without a time zone in fit, .* zone 'UTC'. Remove .*\(None\)"),
    ):
        _, schema = read(first)
        with pytest.raises(ValueError, match=words):
            containers.columns(second, schema, owner="test")


def test_unknown_zones_are_named():
    _, schema = read(pd.DataFrame({"d": pd.Series(BERLIN)}))
    schema.dates[0] = "Mars/Olympus"
    with pytest.raises(ValueError, match=r"Column 'd' .*'Europe/Berlin', .*'Mars/O"):
        containers.columns(ZONED["pandas"]("Europe/Berlin"), schema, owner="test")


def test_objects_with_time_zones_are_refused():
    X = pd.DataFrame({"d": pd.Series(BERLIN, dtype=object)})
    with pytest.raises(
        ValueError, match=r"objects with time zones.*to_datetime.*utc=T"
    ):
        read(X)


# --- Which columns are dates ----------------------------------------------------------


def test_other_columns_are_not_dates():
    X = pd.DataFrame(
        {
            "number": [1.0, 2.0, 3.0],
            "word": pd.Series(["2024-01-01", "2024-01-02", "x"], dtype=object),
            "category": pd.Categorical(pd.to_datetime(["2024-01-01"] * 3)),
            "nothing": pd.Series([None] * 3, dtype=object),
            "date": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "never": pd.Series([pd.NaT] * 3),
        }
    )
    values, schema = read(X)
    assert schema.dates == {4: None, 5: None}
    np.testing.assert_array_equal(values[:, 4], [19723, np.nan, 19725])
    assert np.isnan(values[:, 5]).all()


def test_mixed_objects_are_an_error():
    X = pd.DataFrame({"d": pd.Series([DAYS[0], 3.5], dtype=object)})
    with pytest.raises(ValueError, match=r"'d' holds date objects.*DateFeatures"):
        read(X)


@pytest.mark.parametrize(
    "values",
    [
        pd.arrays.SparseArray([1, 0, 2]),
        pd.arrays.IntervalArray.from_breaks(np.arange(4)),
        pd.array([1, 2, None], dtype=pd.ArrowDtype(pa.decimal128(5))),
        pd.to_timedelta([1, 2, 3], unit="h"),
    ],
)
def test_other_dtypes_are_read_as_without_dates(values):
    X = pd.DataFrame({"a": values})
    found = []
    for reads_dates in (False, True):
        try:
            columns, schema = containers.learned(
                X, owner="test", reads_dates=reads_dates
            )
            found.append((numbers(columns).tolist(), schema.dates))
        except (ValueError, TypeError) as error:
            found.append(str(error))
    assert repr(found[0]) == repr(found[1])


def test_columns_of_dates_are_not_categories():
    X = pd.DataFrame({"d": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    with pytest.raises(ValueError, match="Column 'd' holds dates"):
        read(X, categorical_feature=["d"])


def test_later_columns_may_be_missing_but_not_numbers():
    _, schema = read(pl.DataFrame({"d": DAYS, "x": np.arange(3000.0)}))
    missing = pd.DataFrame({"d": [None, None], "x": [1.0, 2.0]})
    for X in (missing, missing.astype({"d": float}), missing.astype({"d": "M8[s]"})):
        values = numbers(containers.columns(X, schema, owner="test"))
        np.testing.assert_array_equal(values, [[np.nan, 1.0], [np.nan, 2.0]])
    for X in (
        missing.assign(d=[19723, 19724]),
        pl.DataFrame({"d": [1.0], "x": [1.0]}),
        np.ones((2, 2)),
        [[1.0, 2.0]],
    ):
        with pytest.raises(ValueError, match="held dates in fit, but now holds"):
            containers.columns(X, schema, owner="test", by_name=False)
    with pytest.raises(
        ValueError, match=r"held dates in fit.*pandas.to_datetime\(X\['d"
    ):
        containers.columns(missing.assign(d="2024-01-01"), schema, owner="test")


def test_rows_of_objects_are_read_by_a_model():
    _, schema = read(pl.DataFrame({"d": MOMENTS, "x": np.arange(3000.0)}))
    rows = [[pd.Timestamp("2024-01-01 06:00"), 2.0], [None, 3.0]]
    for X in (rows, np.array(rows, dtype=object)):
        columns = containers.columns(X, schema, owner="test", by_name=False)
        np.testing.assert_array_equal(
            numbers(columns), [[19723.25, 2.0], [np.nan, 3.0]]
        )


# --- Which parts vary -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "step", "n", "expected"),
    [
        ("2024-01-01", "1D", 20, ["day", "day_of_week", "day_of_year"]),
        ("2024-01-01", "1D", 40, ["month", "day", "day_of_week", "day_of_year"]),
        ("2024-01-01", "7D", 100, ["month", "day", "day_of_year"]),
        ("2024-01-01", "1h", 24, ["hour"]),
        ("2024-01-01", "1s", 3600, []),
        ("2024-01-01", "1D", 1, []),
        ("2001-07-01", "YS-JUL", 20, ["day_of_week", "day_of_year"]),
    ],
)
def test_parts_that_vary(first, step, n, expected):
    values = dates.days_of_array(pd.date_range(first, periods=n, freq=step).to_numpy())
    values = np.append(values, np.nan)
    assert dates.parts_of(values, "auto") == expected
    assert dates.parts_of(RNG.permutation(values), "auto") == expected
    assert dates.parts_of(values, ["second", "hour"]) == ["second", "hour"]


def test_a_part_that_varies_once_in_many_rows():
    values = np.repeat(np.arange(0, 10.0), 20_000)
    vary = ["day", "day_of_week", "day_of_year"]
    assert dates.parts_of(values, "auto") == vary
    values[150_000] += 0.25
    assert dates.parts_of(values, "auto") == [*vary, "hour"]


def test_without_dates_there_are_no_parts():
    assert dates.parts_of(np.full(3, np.nan), "auto") == []
    assert dates.parts_of(np.full(3, np.nan), ["month"]) == ["month"]
