"""The forms of text are found, and read as the standard library reads them."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skgoss.columns import text_forms

# Days above 12, all parts of the day, and years that have one meaning in two digits.
MOMENTS = [
    datetime.datetime(2011 + i // 2, i % 12 + 1, i % 28 + 1, i % 24, i % 60, 7 * i % 60)
    for i in range(57)
]
FORMS = ["%Y-%m"]
FORMS += [d + t for d in text_forms._DATES[:-1] for t in text_forms._AFTER_DATES]
SCOPE = {"pandas": pd, "polars": pl}


def written(form):
    zone = datetime.UTC if "%z" in form else None
    return [f"{moment.replace(tzinfo=zone):{form}}" for moment in MOMENTS]


@pytest.mark.parametrize("form", FORMS[:: len(text_forms._AFTER_DATES) - 2])
def test_dates_are_read_as_by_strptime(form):
    text = written(form)
    wanted = [datetime.datetime.strptime(value, form) for value in text]
    found = text_forms.find(sorted(text))
    assert found.kind == "dates"
    (recipe,) = found.recipes
    of_pandas = eval(recipe.pandas.read.format("X"), {**SCOPE, "X": pd.Series(text)})
    of_polars = eval(recipe.polars.read.format("X"), {**SCOPE, "X": pl.Series(text)})
    assert of_pandas.tolist() == [pd.Timestamp(moment) for moment in wanted]
    if "%M" not in form:
        wanted = [moment.date() for moment in wanted]
    assert of_polars.to_list() == wanted


def test_every_form_of_dates_is_found():
    for form in FORMS:
        text = sorted(written(form))
        (recipe,) = text_forms.find(text).recipes
        assert repr(form) in recipe.pandas.read
        # A value of another form is neither guessed nor lost.
        (*_, problem) = text_forms.find([*text, "1st of May 2020"])
        assert "several forms" in problem


def test_days_that_could_be_months():
    text = ["01/02/2020", "03/04/2020", "05/06/2020"]
    first, second = text_forms.find(text).recipes
    assert (first.condition, second.condition) == (
        "the day comes first",
        "the month comes first",
    )
    (recipe,) = text_forms.find([*text, "13/01/2020"]).recipes
    assert "%d/%m/%Y" in recipe.pandas.read
    (recipe,) = text_forms.find([*text, "01/13/2020"]).recipes
    assert "%m/%d/%Y" in recipe.pandas.read
    (recipe,) = text_forms.find([*text[:1], *["01.13.2020"] * 20]).recipes or [None]
    assert recipe is None


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("gap", ["", ".", ",", " ", "\xa0", "\u202f", "'"])
@pytest.mark.parametrize("affix", ["{}", "${}", "{} €", "{}%", "{} kg", " {} "])
def test_numbers_are_read_as_they_were_written(decimal, gap, affix):
    if gap == decimal:
        return
    numbers = np.append(np.arange(57) * 1234.56, [-7.5, 0.25])
    table = str.maketrans({",": gap, ".": decimal})
    text = [affix.format(f"{number:,}".translate(table)) for number in numbers]
    text = [value.replace("$-", "-$") for value in text]
    (recipe,) = text_forms.find(text).recipes
    for code, library in ((recipe.pandas, pd), (recipe.polars, pl)):
        found = eval(code.read.format("X"), {**SCOPE, "X": library.Series(text)})
        np.testing.assert_allclose(found.to_numpy(), numbers)


@pytest.mark.parametrize(
    "values",
    [
        ["12345", "12346", "54321"],
        ["01234", "12345", "123456"],
        ["123", "1234"],
        ["250-01", "250-02"],
        ["12-34-56", "99-88-77"],
        ["192.168.0.1", "10.0.0.1"],
        ["1.2.3", "2.0.1"],
        ["1a", "2b", "3c"],
        ["Q1", "Q2"],
        ["customer 1", "customer 22", "customer 333"],
        ["20201301", "20209999"],
        ["a", "b"],
    ],
)
def test_other_text_has_no_form(values):
    assert text_forms.find(values) is None
