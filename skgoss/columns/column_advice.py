"""What to do with columns that are not categories or numbers, such as dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from skgoss.columns.categories import Vocabulary, is_number
from skgoss.utils.messages import warn

_PARSED = "d = pandas.to_datetime({0}), then d.dt.year, d.dt.month and d.dt.day_of_week"
# What to write for a column ``{0}``, such as X['sold'], by its kind and library.
_RECIPES = {
    "dates": {
        "pandas": "{0}.dt.year, {0}.dt.month and {0}.dt.day_of_week",
        "polars": "{0}.dt.year(), {0}.dt.month() and {0}.dt.weekday()",
        "pyarrow": "pyarrow.compute.year({0}), .month({0}) and .day_of_week({0})",
    },
    "durations": {
        "pandas": "pandas.to_timedelta({0}).dt.total_seconds()",
        "polars": "{0}.dt.total_seconds()",
    },
    "times of day": {
        "pandas": "{0}.map(lambda t: t.hour)",
        "polars": "{0}.dt.hour()",
        "pyarrow": "pyarrow.compute.hour({0})",
    },
    "date objects": {"pandas": _PARSED},
    "text that is a date": {
        "pandas": _PARSED,
        "polars": "d = {0}.str.to_datetime(), then d.dt.year(), d.dt.month() and"
        " d.dt.weekday()",
    },
    "text that is a number": {
        "pandas": "pandas.to_numeric({0}, errors='coerce')",
        "polars": "{0}.cast(polars.Float64, strict=False)",
    },
    "text that is a number with signs": {
        "pandas": "pandas.to_numeric({0}.str.replace('[^0-9.-]', '', regex=True))",
        "polars": "{0}.str.replace_all('[^0-9.-]', '').cast(polars.Float64)",
    },
}
_KIND_OF_TYPE = {
    **dict.fromkeys(("Date", "Datetime", "Period"), "dates"),
    **dict.fromkeys(("Timestamp", "date", "datetime", "datetime64"), "date objects"),
    **dict.fromkeys(("Duration", "timedelta", "timedelta64", "Timedelta"), "durations"),
    **dict.fromkeys(("Time", "time"), "times of day"),
    **dict.fromkeys(("Array", "List", "list", "ndarray", "tuple"), "lists"),
    **dict.fromkeys(("Struct", "dict"), "records"),
}


def unusable(name: Any, type_: str, library: str) -> str:
    """The error for a column of values of a type that are not numbers."""
    kind = _KIND_OF_TYPE.get(type_, f"values of type {type_}")
    if kind in ("lists", "records"):
        advice = "Make a column for each of their values"
    else:
        advice = f"Convert them to numbers{_example(kind, name, library)}"
    return f"Column {name!r} holds {kind}. {advice}, or leave the column out."


def known_type(values: Sequence[Any]) -> str | None:
    """The type of the first value of a type that there is advice for."""
    types = (type(value).__name__ for value in values)
    return next((name for name in types if name in _KIND_OF_TYPE), None)


def unusable_array(dtype: np.dtype[Any]) -> str:
    """The error for an array of dates or durations."""
    if dtype.kind == "M":
        return (
            f"X holds dates ({dtype}). Convert them to numbers, for example days with"
            " X.astype('datetime64[D]').astype(float)."
        )
    return (
        f"X holds durations ({dtype}). Convert them to numbers, for example days with"
        " X / numpy.timedelta64(1, 'D')."
    )


def _example(kind: str, name: Any, library: str) -> str:
    recipe = _RECIPES.get(kind, {}).get(library)
    return "" if recipe is None else f", for example {recipe.format(f'X[{name!r}]')}"


# Fewer values may be codes or groups, even if they look like numbers or dates.
_FEW = 10
# So many values show what a column holds, if this fraction of them looks alike.
_SAMPLE = 50
_MOST = 0.9
# More values than this are names, if so many of the rows have their own.
_MANY = 100
_NEARLY_ALL = 0.75

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"(?:\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}|\d{{1,2}}([-/])\d{{1,2}}\2\d{{2}}(?:\d\d)?"
    rf"|\d{{1,2}}\.\d{{1,2}}\.\d{{4}}|\d{{4}}-(?:0\d|1[0-2])"
    rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"(?:[T ].*)?|\d{1,2}:\d\d(?::\d\d.*)?",
    re.IGNORECASE,
)
# Also with signs of money and percentages, but without the leading zeros of codes.
_NUMBER = re.compile(
    r"\s*[-+$€£]{0,2}\s?(?!0\d)(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?\s?[%$€£]?\s*",
    re.IGNORECASE,
)


class _Trap(NamedTuple):
    """A kind of text that is not a category."""

    kind: str
    problem: str
    advice: str


_DATES = _Trap(
    "text that is a date",
    "Dates stored as text become unordered categories, and later dates are unknown",
    "Convert them to numbers",
)
_NUMBERS = _Trap(
    "text that is a number",
    "Numbers stored as text become unordered categories",
    "Convert them",
)
_SIGNS = _NUMBERS._replace(kind="text that is a number with signs")
_NAMES = _Trap(
    "names",
    "Text that differs in most rows gives categories of one row, from which a model"
    " learns nothing",
    "Drop it, or extract categories or numbers from it",
)


def warn_of_text(
    vocabularies: Mapping[int, Vocabulary],
    names: Sequence[Any] | None,
    n_rows: int,
    library: str,
) -> None:
    """Warn of columns of text that are dates, numbers, or different in most rows.

    Columns that the user says are categorical, by dtype or option, are not looked at.
    """
    found: dict[_Trap, list[tuple[Any, str]]] = {}
    for column, words in sorted(vocabularies.items()):
        if words.is_text and len(words.values) > _FEW:
            for trap, example in _traps(words.values, n_rows):
                name = column if names is None else str(names[column])
                found.setdefault(trap, []).append((name, example))
    for trap, columns in found.items():
        listed = ", ".join(f"{name!r} ({example})" for name, example in columns[:5])
        listed += ", ..." if len(columns) > 5 else ""
        warn(
            f"{trap.problem}: column{'s' if len(columns) > 1 else ''} {listed}."
            f" {trap.advice}{_example(trap.kind, columns[0][0], library)}. To keep"
            " them as categories, list them in categorical_feature."
        )


def _traps(values: list[Any], n_rows: int) -> Iterator[tuple[_Trap, str]]:
    """What a column's different values are, if they are no categories; an example."""
    positions = np.linspace(0, len(values) - 1, min(len(values), _SAMPLE)).astype(int)
    sample = [values[position] for position in positions.tolist()]
    dates = [v for v in sample if isinstance(v, str) and _DATE.fullmatch(v)]
    numbers = list(filter(_stands_for_number, sample))
    if len(dates) >= _MOST * len(sample):
        yield _DATES, repr(dates[0])
    elif len(numbers) >= _MOST * len(sample):
        others = [value for value in values if not _stands_for_number(value)]
        example = f"{others[0]!r} among numbers" if others else repr(numbers[0])
        yield (_NUMBERS if all(map(_is_float, numbers)) else _SIGNS), example
    elif len(values) > max(_MANY, _NEARLY_ALL * n_rows):
        yield _NAMES, repr(values[0])


def _stands_for_number(value: Any) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return is_number(value)


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
