"""Advice on columns that are neither categories nor numbers, such as dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import text_forms
from skgoss.columns.categories import Vocabulary
from skgoss.utils.messages import type_name, warn

_PARTS = "d.dt.year, d.dt.month and d.dt.day_of_week"
# Code that makes numbers of a column ``{0}``, such as X['sold'], by kind and library.
_RECIPES = {
    "dates": {
        "pandas": "{0}.dt.year, {0}.dt.month and {0}.dt.day_of_week",
        "polars": "{0}.dt.year(), {0}.dt.month() and {0}.dt.weekday()",
        "pyarrow": "pyarrow.compute.year({0}), pyarrow.compute.month({0}) and"
        " pyarrow.compute.day_of_week({0})",
    },
    "durations": {
        "pandas": "pandas.to_timedelta({0}).dt.total_seconds()",
        "polars": "{0}.dt.total_microseconds() / 1e6",
    },
    "times of day": {
        "pandas": "{0}.map(lambda t: 60 * t.hour + t.minute, na_action='ignore')",
        "polars": "{0}.cast(polars.Int64) / 6e10",
        "pyarrow": "pyarrow.compute.divide({0}.cast(pyarrow.time64('ns'))"
        ".cast('int64').cast('float64'), 6e10)",
    },
    "date objects": {"pandas": f"d = pandas.to_datetime({{0}}), then {_PARTS}"},
    # The parts of a missing period are -1.
    "periods": {"pandas": f"d = {{0}}.dt.to_timestamp(), then {_PARTS}"},
}
# The kinds of values that `dates` reads.
_DATES = "dates", "date objects", "periods"
_READ_BY = "skgoss.DateFeatures().fit_transform(X) converts the dates of a data frame."
# The end of a sentence about dates, for a fit that refuses them.
_TO_NUMBERS = (
    ". Then pass skgoss.DateFeatures().fit_transform(X), because this fit takes no"
    " dates"
)
_KIND_OF_TYPE = {
    **dict.fromkeys(("Date", "Datetime"), "dates"),
    "Period": "periods",
    **dict.fromkeys(("Timestamp", "date", "datetime", "datetime64"), "date objects"),
    **dict.fromkeys(("Duration", "timedelta", "timedelta64", "Timedelta"), "durations"),
    **dict.fromkeys(("Time", "time"), "times of day"),
    **dict.fromkeys(("Array", "List", "list", "ndarray", "tuple"), "lists"),
    **dict.fromkeys(("Struct", "dict"), "records"),
}


def unusable(name: Any, type_: str, library: str) -> str:
    """The text of the error for a column of values that are not numbers.

    ``type_`` is the name of the type of the values, and ``library`` that of the data
    frame, in whose code the advice is.
    """
    kind = _KIND_OF_TYPE.get(type_, f"values of type {type_}")
    if kind in ("lists", "records"):
        advice = "Make a column for each of their values"
    else:
        advice = f"Convert them to numbers{_example(kind, name, library)}"
    error = f"Column {name!r} holds {kind}. {advice}, or leave the column out."
    return f"{error} {_READ_BY}" if kind in _DATES else error


def known_type(values: Sequence[Any]) -> str | None:
    """The first type among the values that there is advice for."""
    types = (type(value).__name__ for value in values)
    return next((name for name in types if name in _KIND_OF_TYPE), None)


def unusable_array(dtype: np.dtype[Any]) -> str:
    """The error for an array of dates or durations."""
    if dtype.kind == "M":
        return (
            f"X holds dates ({dtype}). Convert them to numbers, for example days with"
            " (X - numpy.datetime64(0, 'D')) / numpy.timedelta64(1, 'D')."
        )
    # Months have no fixed number of days.
    are_long = np.datetime_data(dtype)[0] in "YM"
    unit, name = ("M", "months") if are_long else ("D", "days")
    return (
        f"X holds durations ({dtype}). Convert them to numbers, for example {name} with"
        f" X / numpy.timedelta64(1, '{unit}')."
    )


def _example(kind: str, name: Any, library: str) -> str:
    """The end of a sentence: code that converts a column; '' if there is none."""
    recipe = _RECIPES.get(kind, {}).get(library)
    return "" if recipe is None else f", for example {recipe.format(f'X[{name!r}]')}"


# Up to this number of values may be codes or groups, even if they look like dates.
_MAX_GROUPS = 10
# Values are categories if they are at most this many, or at most this fraction of rows.
# Otherwise they are names.
_MAX_CATEGORIES = 100
_MAX_CATEGORY_FRACTION = 0.75

# The problem and what to do, by the kind of text. No example of a value is shown: it
# would differ between the folds of a search, and repeat the warning.
_NAMES = text_forms.Form("names", ())
_ADVICE = {
    "dates": (
        "Dates stored as text become unordered categories, and later dates are unknown",
        "Convert them to dates",
    ),
    "times": (
        "Times stored as text become unordered categories",
        "Convert them",
    ),
    "durations": (
        "Durations stored as text become unordered categories",
        "Convert them to minutes",
    ),
    "numbers": (
        "Numbers stored as text become unordered categories",
        "Convert them",
    ),
    "whole numbers": (
        "Numbers stored as text become unordered categories",
        "Convert them if they are quantities, not codes",
    ),
    "names": (
        "Text that differs in most rows gives categories of one row, from which a model"
        " learns nothing",
        "Drop it, or extract categories or numbers from it",
    ),
}


def warn_of_text(
    vocabularies: Mapping[int, Vocabulary],
    names: Sequence[Any] | None,
    names_in_data: Sequence[Any] | NDArray[Any] | None,
    n_rows: int,
    *,
    reads_dates: bool,
) -> None:
    """Warn of columns of text that are dates, numbers, or different in most rows.

    Columns that are categorical by their dtype or by an option are skipped. ``names``
    are those that the user gave the columns, and ``names_in_data`` those of the data
    frame. If the fit ``reads_dates``, text that becomes dates is enough.
    """
    found: dict[tuple[text_forms.Form, str], list[int]] = {}
    for column, vocabulary in sorted(vocabularies.items()):
        if vocabulary.text_library and len(vocabulary.values) > _MAX_GROUPS:
            form = text_forms.find(vocabulary.values)
            if form is None and len(vocabulary.values) > max(
                _MAX_CATEGORIES, _MAX_CATEGORY_FRACTION * n_rows
            ):
                form = _NAMES
            if form is not None:
                found.setdefault((form, vocabulary.text_library), []).append(column)
    for (form, library), columns in found.items():
        listed = ", ".join(
            repr(j if names is None else str(names[j])) for j in columns[:5]
        )
        listed += ", ..." if len(columns) > 5 else ""
        problem, advice = _ADVICE[form.kind]
        how = _how_to_read(form, _code_of_column(columns[0], names_in_data), library)
        how += "" if reads_dates or not _gives_dates(form, library) else _TO_NUMBERS
        warn(
            f"{problem}: column{'s' if len(columns) > 1 else ''} {listed}."
            f" {advice}{how}. To keep them as categories, list them in"
            " categorical_feature."
        )


def _gives_dates(form: text_forms.Form, library: str) -> bool:
    """Whether the code that reads text in a data frame makes dates of it."""
    recipes = [_code_of(recipe, library) for recipe in form.recipes]
    return any(code is not None and code.gives_dates for code in recipes)


def _code_of(recipe: text_forms.Recipe, library: str) -> text_forms.Code | None:
    """The code for a library; tables of pyarrow are read by that for pandas."""
    return recipe.polars if library == "polars" else recipe.pandas


def _code_of_column(column: int, names: Sequence[Any] | NDArray[Any] | None) -> str:
    return f"X.iloc[:, {column}]" if names is None else f"X[{str(names[column])!r}]"


def how_to_convert(given: Any, name: str, values: Sequence[Any]) -> str:
    """The end of a sentence about an argument that holds text: code that reads it.

    ``values`` are the strings in the argument ``given``, which may be an array, a list
    or a column of a data frame.
    """
    form = text_forms.find(list(dict.fromkeys(values)))
    if form is None:
        return ""
    library = type_name(given).partition(".")[0]
    if library not in ("polars", "pyarrow"):
        name, library = f"pandas.Series({name})", "pandas"
    return _how_to_read(form, name, library)


def _how_to_read(form: text_forms.Form, column: str, library: str) -> str:
    """The end of a sentence, without its stop: the code that reads text.

    ``column`` is the code of the column. If several recipes are possible, the text
    names the condition of each. ``library`` is that of the data frame, 'pandas',
    'polars' or 'pyarrow'.
    """
    if library == "pyarrow":
        column = f"{column}.to_pandas()"
    found = [_code_of(recipe, library) for recipe in form.recipes]
    codes = [code for code in found if code is not None]
    if len(codes) < len(found):
        return ""
    texts = [code.read.format(column) for code in codes]
    if len(texts) == 1:
        return f", for example {texts[0]}"
    conditions = [recipe.condition for recipe in form.recipes]
    cases = [f"If {c}: {text}" for c, text in zip(conditions, texts, strict=True)]
    return "".join(f". {case}" for case in cases or filter(None, [form.problem]))
