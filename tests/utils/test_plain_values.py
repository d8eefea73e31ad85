"""Python values as JSON: they come back with their types, and nothing else does."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import json
import math
import pathlib
import sys
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

from skgoss.utils import plain_values

BERLIN = datetime.timezone(datetime.timedelta(hours=1))
PLAIN = [
    *(None, True, 0, -1, 10**40, 0.1, -0.0, 5e-324, "", "ü\n🦊\0", "\ud800"),
    *(math.inf, -math.inf, b"\0\xff", (), (1, (2.0,)), [[], [1]], {1}),
    *(frozenset({b"x"}), {}, {"a": [1]}, {"type": "a"}, {1: {2: 3}, None: (4,)}),
    *(range(3, 9, 2), datetime.date(2020, 2, 29), datetime.datetime(2020, 1, 1, 1)),
    *(datetime.datetime(2020, 1, 1, tzinfo=BERLIN), decimal.Decimal("1.10")),
    *(pathlib.Path("a/b"), np.float32(0.1), np.int8(-3), np.bool_(True)),
    *(np.str_("ü"), np.datetime64("2020-01-01T00:00:01", "us"), np.float64(0.1)),
    *(np.timedelta64(3, "D"), np.uint64(2**64 - 1)),
]
ARRAYS = [
    np.arange(6, dtype=np.int16).reshape(2, 3).T,
    np.array([0.1, np.inf, -0.0], dtype=np.float32),
    np.array(["a", "longer"]),
    np.array(["a", 1, None, (2, 3)], dtype=object),
    np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
    np.array([], dtype=bool),
    np.array(3.5),
    np.zeros((0, 3)),
]


def again(value):
    return plain_values.decode(json.loads(json.dumps(plain_values.encode(value))), "it")


def same_types(one, two):
    assert type(one) is type(two)
    if isinstance(one, dict):
        one, two = [*one, *one.values()], [*two, *two.values()]
    if isinstance(one, list | tuple):
        for a, b in zip(one, two, strict=True):
            same_types(a, b)


@pytest.mark.parametrize("value", PLAIN, ids=ascii)
def test_values_come_back(value):
    assert again(value) == value
    assert repr(again(value)) == repr(value)
    same_types(again(value), value)


@pytest.mark.parametrize("value", ARRAYS, ids=str)
def test_arrays_come_back(value):
    np.testing.assert_array_equal(again(value), value, strict=True)


def test_nan_comes_back():
    assert math.isnan(again(math.nan))
    assert np.isnan(again([np.float32("nan")])[0])


def test_pandas_comes_back(pandas):
    for value in (
        pandas.Timestamp("2020-01-01T00:00:00.123456789"),
        pandas.Timestamp("2020-07-01", tz="Europe/Berlin"),
        pandas.Timestamp("2020-10-25T02:30:00+01:00").tz_convert("Europe/Berlin"),
        pandas.Timestamp("2020-07-01", tz=BERLIN).as_unit("s"),
        pandas.Interval(0, 1.5, closed="left"),
        pandas.Interval(pandas.Timestamp("2020-01-01"), pandas.Timestamp("2021-01-01")),
    ):
        assert again(value) == value
        assert repr(again(value)) == repr(value)
        assert hash(again(value)) == hash(value)


def test_pandas_that_is_not_there(monkeypatch, pandas):
    written = plain_values.encode(pandas.Timestamp("2020-01-01"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        plain_values.decode(written, "it")


class Color(enum.IntEnum):
    RED = 1


Point = namedtuple("Point", "x y")
ENDLESS: list = []
ENDLESS.append(ENDLESS)


UNKNOWN = [
    *(object(), print, Color.RED, Point(1, 2), OrderedDict(a=1), 1j, np.random),
    *(
        fractions.Fraction(1, 3),
        np.array([1j]),
        np.zeros(2, "i4,f8"),
        np.void(b"a"),
    ),
    *([1, (2, {3: object()})], np.array([object()]), np.longdouble(1)),
    *(np.ma.masked_array([1]), datetime.timedelta(1), np.array([b"a"])),
]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((value, "cannot be written as JSON") for value in UNKNOWN),
        (ENDLESS, "nested more than 40 deep"),
        (range(10**9), "a range must not be longer than"),
        (range(10**30), "a range must not be longer than"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_a_type_error(value, message):
    with pytest.raises(TypeError, match=message):
        plain_values.encode(value)


# It has too many digits to be turned into an integer.
HUGE = {"type": "decimal.Decimal", "value": "1e999999999"}


def nested(depth):
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        {"type": "object"},
        {"type": None},
        {"type": ["builtins.tuple"]},
        {"type": "builtins.tuple"},
        {"type": "builtins.tuple", "value": "abc"},
        {"type": "builtins.tuple", "value": [], "more": 1},
        {"type": "builtins.set", "value": [[]]},
        {"type": "builtins.dict", "keys": [1], "values": []},
        {"type": "builtins.dict", "keys": [[]], "values": [1]},
        {"type": "builtins.float", "value": "1.5"},
        {"type": "builtins.bytes", "value": "0g"},
        {"type": "builtins.range", "value": [0, 1, 0]},
        {"type": "builtins.range", "value": [0, 10**9, 1]},
        {"type": "builtins.range", "value": [0, -(10**30), -1]},
        {"type": "datetime.date", "value": "yesterday"},
        {"type": "decimal.Decimal", "value": "x"},
        {"type": "decimal.Decimal", "value": "sNaN"},
        {"type": "numpy.generic", "dtype": "O8", "value": 1, "shape": []},
        {"type": "numpy.generic", "dtype": "<f4", "value": 1e300},
        {"type": "numpy.generic", "dtype": "i1", "value": 300},
        {"type": "numpy.generic", "dtype": "V8", "value": 1},
        {"type": "numpy.generic", "dtype": "M8", "value": 1},
        {"type": "numpy.ndarray", "dtype": "<i8", "shape": [2], "value": [1]},
        {"type": "numpy.ndarray", "dtype": "<i8", "shape": [-1], "value": [1, [2]]},
        {"type": "numpy.ndarray", "dtype": "U99999999", "shape": [1], "value": ["a"]},
        {"type": "numpy.ndarray", "dtype": "i8", "shape": [0, 10**30], "value": []},
        {"type": "numpy.ndarray", "dtype": "<i8", "shape": [1], "value": [HUGE]},
        {"type": "numpy.ndarray", "dtype": "<f8", "shape": [1], "value": [HUGE]},
        {"type": "numpy.ndarray", "dtype": "<i8", "shape": [HUGE], "value": [1]},
        {"type": "numpy.generic", "dtype": "<i8", "value": HUGE},
        {"type": "pandas.Timestamp", "value": "now?", "unit": "ns", "zone": None},
        {"type": "pandas.Timestamp", "value": "2020-01-01", "unit": "x", "zone": None},
        {
            **{"type": "pandas.Timestamp", "value": "2020-01-01T00:00Z", "unit": "ns"},
            "zone": "../../etc/passwd",
        },
        {"type": "pandas.Interval", "left": 2, "right": 1, "closed": "left"},
        nested(60),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_a_value_error(value):
    pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"^it holds a value that cannot be read: "):
        plain_values.decode(value, "it")
