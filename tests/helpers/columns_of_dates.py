"""The numbers that models make of dates, from Python's own datetimes."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

PARTS = {
    "month": lambda d: d.month,
    "day": lambda d: d.day,
    "day_of_week": lambda d: d.weekday(),
    "day_of_year": lambda d: d.timetuple().tm_yday,
    "hour": lambda d: d.hour,
    "minute": lambda d: d.minute,
    "second": lambda d: d.second,
}


def days(moments: list[datetime | None]) -> np.ndarray:
    """The days since 1970 of datetimes without a time zone."""
    first, day = datetime(1970, 1, 1), timedelta(days=1)
    found = [np.nan if m is None else (m - first) / day for m in moments]
    return np.array(found)


def parts(moments: list[datetime | None], names: list[str]) -> np.ndarray:
    """Parts of datetimes, (n_parts, n_rows)."""
    return np.array(
        [
            [np.nan if m is None else float(PARTS[name](m)) for m in moments]
            for name in names
        ]
    ).reshape(len(names), len(moments))
