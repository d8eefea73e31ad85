"""Dates, times and numbers that are stored as text, and the code that reads them."""

from __future__ import annotations

import numbers
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

# A sample of this size decides what a column holds, if this fraction of it has one
# form.
_SAMPLE = 50
_MIN_FRACTION = 0.9


class Code(NamedTuple):
    """Code for one library, in which {0} stands for the column."""

    read: str
    gives_dates: bool = False  # and not numbers


class Recipe(NamedTuple):
    """Code that reads a column of text."""

    pandas: Code
    polars: Code | None
    condition: str = ""  # when it is right, if the values do not decide


class Form(NamedTuple):
    """What the text of a column means: dates, numbers and so on."""

    kind: str
    recipes: tuple[Recipe, ...]
    problem: str = ""  # why there are no recipes


_SEVERAL = "They are written in several forms, so read each form by itself"


def find(values: Sequence[Any]) -> Form | None:
    """The form of the distinct values of a column; None: they are only text."""
    sample = _sample(values)
    return _dates(values, sample) or _times(values, sample) or _numbers(values, sample)


def _sample(values: Sequence[Any]) -> list[Any]:
    """At most `_SAMPLE` values, at equal distances."""
    positions = np.linspace(0, len(values) - 1, min(len(values), _SAMPLE)).astype(int)
    return [values[position] for position in positions.tolist()]


def _have_digits(values: Iterable[Any]) -> bool:
    """Whether a value has a digit. Those without are missing values, such as "n/a"."""
    return any(c.isdigit() for value in values for c in str(value))


# --- Dates and times ------------------------------------------------------------------

_MONTHS = "january february march april may june july august september october november"
_NAMES = [*_MONTHS.split(), "december"]
# The pattern of each directive of `strptime`, the longest alternative first.
_DIRECTIVES = {
    "%Y": "[0-9]{4}",
    "%y": "[0-9]{2}",
    "%m": "(?:1[0-2]|0?[1-9])",
    "%d": "(?:3[01]|[12][0-9]|0?[1-9])",
    "%B": f"(?:{'|'.join(_NAMES)})",
    "%b": f"(?:{'|'.join(name[:3] for name in _NAMES)})",
    "%H": "(?:2[0-3]|[01]?[0-9])",
    "%I": "(?:1[0-2]|0?[1-9])",
    "%M": "[0-5][0-9]",
    "%S": "[0-5][0-9]",
    ".%f": r"\.[0-9]{1,9}",
    "%p": "[AP]M",
    "%z": "(?:Z|[-+][0-9]{2}:?[0-9]{2})",
}
# Without separators, few numbers of eight digits are dates.
_COMPACT = "(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
_DATES = [
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d"),
    # Between points, the day comes first unless this is impossible.
    *("%d.%m.%Y", "%d.%m.%y", "%m.%d.%Y"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y"),
    *("%d-%m-%Y", "%m-%d-%Y", "%d-%m-%y", "%m-%d-%y"),
    *("%d-%b-%Y", "%d-%B-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%d %b %y"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%Y-%m"),
]
_TIMES = ["%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p"]
_AFTER_DATES = [
    "",
    *(f"{gap}{time}{zone}" for gap in " T" for time in _TIMES for zone in ("", "%z")),
]
# Libraries disagree on the century of later years.
_LAST_YEAR = 40


@lru_cache(maxsize=200)
def _pattern(form: str) -> re.Pattern[str]:
    """The pattern of texts that `strptime` reads with a format."""
    pattern = re.escape(form).replace(r"\.%f", ".%f")
    for directive, digits in _DIRECTIVES.items():
        pattern = pattern.replace(directive, digits)
    if form.startswith("%Y%m%d"):
        pattern = _COMPACT + _pattern(form.removeprefix("%Y%m%d")).pattern
    return re.compile(pattern, re.IGNORECASE)


def _fits(form: str, value: Any) -> bool:
    return isinstance(value, str) and _pattern(form).fullmatch(value) is not None


def _date_forms(value: Any) -> list[str]:
    """The formats of `strptime` that read a value as a date, with or without a time."""
    if not isinstance(value, str):
        return []
    starts = ((date, _pattern(date).match(value)) for date in _DATES)
    return [
        date + time
        for date, start in starts
        if start is not None
        for time in (_AFTER_DATES if "%d" in date else [""])
        if _pattern(time).fullmatch(value, start.end())
    ]


def _time_forms(value: Any) -> list[str]:
    return [form for form in _TIMES if _fits(form, value)]


def _chosen(found: list[list[str]], values: Sequence[Any]) -> list[str] | None:
    """The forms that fit most values; empty if other values have digits.

    None if too few values of the sample have a form. ``found`` has the forms of each
    value of the sample.
    """
    if sum(map(bool, found)) < _MIN_FRACTION * len(found):
        return None
    forms = list(dict.fromkeys(form for fitting in found for form in fitting))
    counts = {form: sum(_fits(form, v) for v in values) for form in forms}
    best = [form for form in forms if counts[form] == max(counts.values())]
    if counts[best[0]] == len(values):
        return best
    unmatched = (value for value in values if not _fits(best[0], value))
    return [] if _have_digits(unmatched) else best


def _dates(values: Sequence[Any], sample: list[Any]) -> Form | None:
    """The form of values that are dates; None if they are not."""
    forms = _chosen([_date_forms(value) for value in sample], values)
    if forms is None:
        return None
    if not forms:
        return Form("dates", (), _SEVERAL)
    form = forms[0]
    if "%y" in form and max(_short_years(form, values)) > _LAST_YEAR:
        problem = "The century of their years is not written, so add it first"
        return Form("dates", (), problem)
    swapped = form.translate(str.maketrans("dm", "md"))
    if swapped == form or swapped not in forms or "." in form[:3]:
        return Form("dates", (_date_recipe(form),))
    return Form(
        "dates",
        (
            _date_recipe(form, "the day comes first"),
            _date_recipe(swapped, "the month comes first"),
        ),
    )


def _short_years(form: str, values: Sequence[Any]) -> list[int]:
    """The years of two digits in the values that fit a form."""
    pattern = re.compile(_pattern(form.partition("%y")[0]).pattern + "([0-9]{2})", re.I)
    starts = (pattern.match(value) for value in values if _fits(form, value))
    return [int(start[1]) for start in starts if start is not None]


def _date_recipe(form: str, condition: str = "") -> Recipe:
    """Code that reads dates, or dates with times, of a form such as '%Y-%m-%d'.

    ``condition`` is when to use it if other recipes are possible, too: see `Recipe`.
    """
    has_time, utc = "%M" in form, ", utc=True" if "%z" in form else ""
    polars_form = form.replace(".%f", "%.f").replace("%z", "%#z")
    to = "to_datetime" if has_time else "to_date"
    pandas = f"pandas.to_datetime({{0}}, format={form!r}, errors='coerce'{utc})"
    polars = f"{{0}}.str.{to}({polars_form!r}, strict=False)"
    return Recipe(Code(pandas, True), Code(polars, True), condition)


_DURATION = re.compile(r"(?P<days>-?[0-9]+ days? )?[0-9]+(:[0-5][0-9]){1,2}(\.[0-9]+)?")


def _times(values: Sequence[Any], sample: list[Any]) -> Form | None:
    """The form of values that are times of day or durations; None if they are not."""
    forms = _chosen([_time_forms(value) for value in sample], values)
    if forms:
        return Form("times", (_time_recipe(forms[0]),))
    spans = [isinstance(v, str) and _DURATION.fullmatch(v) for v in sample]
    if sum(map(bool, spans)) < _MIN_FRACTION * len(sample):
        return forms if forms is None else Form("times", (), _SEVERAL)
    return _durations(values)


def _time_recipe(form: str) -> Recipe:
    """Code that reads times of day, of a form such as '%H:%M'.

    In pandas they become times of the same day, in polars minutes.
    """
    polars_form = form.replace(".%f", "%.f")
    pandas = f"pandas.to_datetime({{0}}, format={form!r}, errors='coerce')"
    time = f"{{0}}.str.to_time({polars_form!r}, strict=False)"
    return Recipe(Code(pandas, True), Code(f"{time}.cast(polars.Int64) / 6e10"))


def _durations(values: Sequence[Any]) -> Form:
    """The form of values of which most are durations."""
    text = [value for value in values if isinstance(value, str)]
    matches = [_DURATION.fullmatch(value) for value in text]
    spans = [span for span in matches if span is not None]
    unmatched = set(values) - {span[0] for span in spans}
    shapes = {(bool(span["days"]), span[0].count(":")) for span in spans}
    if len(shapes) > 1 or _have_digits(unmatched):
        return Form("durations", (), _SEVERAL)
    ((has_days, n_colons),) = shapes
    seconds = " + ':00'" if n_colons == 1 else ""
    span = "pandas.to_timedelta({0}" + seconds + ", errors='coerce')"
    pandas = Code(f"{span}.dt.total_seconds() / 60")
    if has_days:
        return Form("durations", (Recipe(pandas, None),))
    part = "{{0}}.str.extract('{}', 1).cast(polars.Float64)".format
    terms = [f"60 * {part('^([0-9]+):')}", part("^[0-9]+:([0-9]+)")]
    terms += [f"{part(':[0-9]+:([0-9.]+)')} / 60"] * (n_colons - 1)
    return Form("durations", (Recipe(pandas, Code(" + ".join(terms))),))


# --- Numbers --------------------------------------------------------------------------

_SPACES = " \xa0\u2009\u202f"
_SIGNS = "[-+\u2212]?"
_CURRENCY = "US[$]|USD|EUR|GBP|CHF|[$€£¥₹]"
# Letters after a number are its unit only if all have the same.
_UNIT = "[a-zµ°²³/%$€£¥₹]{1,8}"


def _number_pattern(decimal: str, other: str) -> re.Pattern[str]:
    """The pattern of numbers with a decimal mark.

    The other mark may separate groups of digits. Leading zeros do not match: they are
    those of codes.
    """
    mark, gap = f"[{decimal}]", f"[{other}'’{_SPACES}]"
    whole = f"(?:[1-9][0-9]{{0,2}}(?:{gap}[0-9]{{2,3}})*{gap}[0-9]{{3}}|[0-9]+)"
    core = f"(?:(?!0[0-9]){whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)"
    return re.compile(
        rf"\s*{_SIGNS}\s?(?P<before>{_CURRENCY})?\s?{_SIGNS}{core}"
        rf"(?:e[-+]?[0-9]+)?\s?(?P<after>{_UNIT})?\s*",
        re.IGNORECASE,
    )


# By the decimal mark.
_NUMBER = {".": _number_pattern(".", ","), ",": _number_pattern(",", ".")}
_DIGITS = re.compile(rf"[{_SPACES}]*[+]?[0-9][0-9{_SPACES}]*")
_UNITS = "Their units differ, so convert them to the same unit first"
_CONDITIONS = {
    (",", "."): "the comma separates thousands",
    (",", ","): "the comma is a decimal comma",
    (".", "."): "the point is a decimal point",
    (".", ","): "the point separates thousands",
}


# Texts have the same shape if they differ in digits only. Leading zeros count as such.
_ALL_NINES = str.maketrans("12345678", "9" * 8)
_LATER_ZERO = re.compile("(?<=[0-9])0")


def _shapes(texts: list[str]) -> Counter[str]:
    """The number of texts of each shape. There are far fewer shapes than texts."""
    joined = "\0".join(texts).translate(_ALL_NINES)
    return Counter(_LATER_ZERO.sub("9", joined).split("\0"))


def _matches(mark: str, text: str) -> bool:
    return _NUMBER[mark].fullmatch(text) is not None


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return any(_matches(mark, value) for mark in _NUMBER)
    return isinstance(value, numbers.Real | np.bool_)


def _numbers(values: Sequence[Any], sample: list[Any]) -> Form | None:
    """The form of values that are numbers; None if they are not, or are codes."""
    if sum(map(_is_number, sample)) < _MIN_FRACTION * len(sample):
        return None
    text = [value for value in values if isinstance(value, str)]
    is_mixed = len(text) < len(values)
    shapes = _shapes(text)
    are_whole = not is_mixed and all(
        _DIGITS.fullmatch(shape) for shape in shapes if _have_digits([shape])
    )
    if are_whole and _are_codes(shapes):
        return None
    counts = {
        mark: sum(n for shape, n in shapes.items() if _matches(mark, shape))
        for mark in _NUMBER
    }
    marks = [mark for mark in counts if counts[mark] == max(counts.values())]
    found = [m for shape in shapes if (m := _NUMBER[marks[0]].fullmatch(shape))]
    affixes = {(match["before"] or "", match["after"] or "") for match in found}
    if len(affixes) > 1:
        has_letters = any(c.isalpha() for pair in affixes for c in "".join(pair))
        return None if has_letters else Form("numbers", (), _UNITS)
    if _have_digits(shape for shape in shapes if not _matches(marks[0], shape)):
        return Form("numbers", (), _SEVERAL)
    used = "".join(match[0] for match in found)
    recipes = [
        _number_recipe(used, mark, affix, is_mixed)
        for mark in marks
        for affix in affixes or {("", "")}
    ]
    if len(set(recipes)) > 1:
        unclear = "," if "," in used else "."
        recipes = [
            recipe._replace(condition=_CONDITIONS[unclear, mark])
            for recipe, mark in zip(recipes, marks, strict=True)
        ]
    else:
        recipes = recipes[:1]
    return Form("whole numbers" if are_whole else "numbers", tuple(recipes))


def _are_codes(shapes: Iterable[str]) -> bool:
    """Whether whole numbers are codes: of one width or two, or with leading zeros.

    Two widths do not count if there is a value such as "?": it explains why numbers are
    stored as text.
    """
    digits = [re.sub("[^0-9]", "", shape) for shape in shapes]
    widths = {len(number) for number in digits if number}
    return len(widths) <= (2 if all(digits) else 1) or any(
        len(number) > 1 and number[0] == "0" for number in digits
    )


def _number_recipe(
    used: str, decimal: str, affix: tuple[str, str], is_mixed: bool
) -> Recipe:
    """Code that reads numbers whose characters are those of ``used``.

    If the column ``is_mixed``, some of its values are numbers already. ``decimal`` is
    the decimal sign, and ``affix`` the text before and after each number.
    """
    units = [re.escape(unit) for unit in affix if any(map(str.isalnum, unit))]
    signs = {c for c in used if not c.isalnum() and c not in f"+-\u2212{decimal}"}
    stripped = "|".join([*units, *([f"[{''.join(sorted(signs))}]"] if signs else [])])
    swaps = [(",", ".")] * (decimal == "," and "," in used)
    swaps += [("\u2212", "-")] * ("\u2212" in used)
    pandas = polars = ""
    if stripped:
        pandas += f".str.replace({stripped!r}, '', regex=True)"
        polars += f".str.replace_all({stripped!r}, '')"
    for old, new in swaps:
        pandas += f".str.replace({old!r}, {new!r}, regex=False)"
        polars += f".str.replace({old!r}, {new!r}, literal=True)"
    if is_mixed and pandas:
        pandas = f".astype(str){pandas}"
    return Recipe(
        Code(f"pandas.to_numeric({{0}}{pandas}, errors='coerce')"),
        None if is_mixed else Code(f"{{0}}{polars}.cast(polars.Float64, strict=False)"),
    )
