"""Columns of dates: their values as days, and their parts that vary."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from skgoss.columns.columns import ColumnsBuilder
from skgoss.columns.computed_columns import ComputedColumns
from skgoss.columns.dtypes import ArrayColumn, are_objects, is_missing

Floats = NDArray[np.float64]
Series = nw.Series[Any] | ArrayColumn

# The units of NumPy that are fractions of days, per day.
_PER_DAY = {
    "D": 1,
    "h": 24,
    "m": 1440,
    "s": 86_400,
    "ms": 86_400 * 10**3,
    "us": 86_400 * 10**6,
    "ns": 86_400 * 10**9,
}
# The parts that the option 'auto' stands for. Minutes are mostly noise.
_AUTO = ("month", "day", "day_of_week", "day_of_year", "hour")
# The number of dates whose parts are compared at a time.
_BLOCK = 1 << 14


def are_dates(series: Series) -> bool:
    """Whether a column holds dates, which may be missing.

    They are of a dtype of dates, periods of pandas, or Python objects.
    """
    dtype = series.dtype
    if isinstance(dtype, nw.Date | nw.Datetime) or _native_kind(series) == "M":
        return True
    if _are_periods(series):
        return True
    if are_objects(series):
        present = [value for value in series.to_list() if not is_missing(value)]
        return bool(present) and all(map(_is_date, present))
    if dtype != nw.Unknown or isinstance(series, ArrayColumn):
        return False
    return series.to_numpy().dtype.kind == "M"


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date | np.datetime64)


def _are_periods(series: Series) -> bool:
    """Whether a column holds periods of pandas, whose dtypes narwhals does not know."""
    dtype = getattr(series.to_native(), "dtype", None)
    return str(getattr(dtype, "name", "")).startswith("period[")


def _native_kind(series: Series) -> str:
    """The kind of a dtype of pandas: narwhals does not know all of its time zones."""
    return getattr(getattr(series.to_native(), "dtype", None), "kind", "")


def zone(series: Series) -> str | None:
    """The time zone of a column; None if it has none."""
    found = getattr(series.dtype, "time_zone", None)
    is_known = isinstance(series.dtype, nw.Date | nw.Datetime)
    if not is_known and _native_kind(series) == "M":
        found = series.to_native().dt.tz
    return None if found is None else str(found)


def days(series: Series, fitted: str | None) -> Floats:
    """The days since 1970, with fractions, on the clock of the ``fitted`` time zone.

    Days and fractions are computed apart, so dates that are equal are so in all units.
    Missing dates become NaN. ValueError if the column does not hold dates, if only one
    of the column and the training set has a time zone, or if it cannot be converted.
    """
    if not are_dates(series):
        if series.null_count() == len(series):
            return np.full(len(series), np.nan)
        raise not_dates(series.name, "values of another type")
    own = zone(series)
    if (own is None) != (fitted is None):
        raise _other_zone(series.name, own, fitted)
    if own is not None:
        series = _local(series, own, str(fitted))
    return days_of_array(_array(series))


def not_dates(name: Any, what: str) -> ValueError:
    """The error for other values than dates in a column that held dates in fit."""
    return ValueError(
        f"Column {name!r} held dates in fit, but now holds {what}. Pass dates: text"
        f" becomes dates, in pandas, with pandas.to_datetime(X[{name!r}]). In an array"
        " of objects, pass datetime.datetime or numpy.datetime64 objects."
    )


def _local(series: Series, own: str, fitted: str) -> Series:
    """Dates of a time zone as those of the fitted one, without a time zone."""
    assert isinstance(series, nw.Series)
    native = series.to_native()
    try:
        if _native_kind(series) == "M":
            local = native.dt.tz_convert(fitted).dt.tz_localize(None)
            return nw.from_native(local, series_only=True)
        if own != fitted:
            series = series.dt.convert_time_zone(fitted)
        return series.dt.replace_time_zone(None)
    except Exception as error:  # of each library another one
        raise ValueError(
            f"Column {series.name!r} has dates of the time zone {own!r}, which cannot"
            f" be converted to that of fit, {fitted!r}: {error}."
        ) from error


def _other_zone(name: Any, own: str | None, fitted: str | None) -> ValueError:
    """The error for dates with a time zone in only one of two data sets."""
    if own is None:
        held, holds = f"of the time zone {fitted!r}", "without one"
        advice = f"Add it, in pandas with X[{name!r}].dt.tz_localize({fitted!r})."
    else:
        held, holds = "without a time zone", f"of the time zone {own!r}"
        advice = f"Remove it, in pandas with X[{name!r}].dt.tz_localize(None)."
    return ValueError(
        f"Column {name!r} held dates {held} in fit, but now holds dates {holds}."
        f" {advice}"
    )


def _array(series: Series) -> NDArray[Any]:
    """The values of a column without a time zone as an array of dates."""
    if _are_periods(series):
        return series.to_native().dt.to_timestamp().to_numpy()
    if isinstance(series, nw.Series):
        array: NDArray[Any] = series.to_numpy()
        if array.dtype.kind != "O":
            return array
    values = [None if is_missing(value) else value for value in series.to_list()]
    if any(getattr(value, "tzinfo", None) is not None for value in values):
        raise ValueError(
            f"Column {series.name!r} holds objects with time zones. Convert them to one"
            f" time zone, in pandas with pandas.to_datetime(X[{series.name!r}],"
            " utc=True)."
        )
    return np.array(values, dtype="datetime64[us]")


def days_of_array(array: NDArray[Any]) -> Floats:
    """The days since 1970, with fractions, of an array of dates; NaN for NaT."""
    unit, _ = np.datetime_data(array.dtype)
    if unit not in _PER_DAY:
        unit = "D" if unit in "YMW" else "ns"
    array = array.astype(f"datetime64[{unit}]", copy=False)
    whole, rest = np.divmod(array.view(np.int64), _PER_DAY[unit])
    values = whole + rest / _PER_DAY[unit]
    values[np.isnat(array)] = np.nan
    return values


def parts_of(values: Floats, asked: Any) -> list[str]:
    """The parts of a date that a model computes.

    ``values`` are the days of the training rows, and ``asked`` the option: a list of
    parts, or 'auto' for those of `_AUTO` that are not the same in all rows.
    """
    if asked != "auto":
        return list(asked)
    values = values[np.isfinite(values)]
    same, first = list(_AUTO), part_values(values[:1], _AUTO)
    for start in range(0, len(values), _BLOCK):
        found = part_values(values[start : start + _BLOCK], same)
        of_first = first[[_AUTO.index(part) for part in same]]
        varies = (found != of_first).any(axis=1).tolist()
        same = [part for part, v in zip(same, varies, strict=True) if not v]
        if not same:
            break
    return [part for part in _AUTO if part not in same] if len(values) else []


def part_values(values: Floats, parts: Sequence[str]) -> Floats:
    """Parts of dates in days, (n_parts, n_rows)."""
    builder = ColumnsBuilder(len(values), 1)
    builder.add([(np.arange(1), values[:, None])])
    return ComputedColumns.of_dates({0: parts}).values(builder.columns())


def check_zones(zones: Mapping[Any, Any], n_features: int, owner: str) -> None:
    """Check the dates of a restored model; ValueError if they are not columns."""
    if not all(
        type(column) is int
        and 0 <= column < n_features
        and isinstance(name, str | None)
        for column, name in zones.items()
    ):
        raise ValueError(f"the dates of {owner} must be columns with their time zones")
