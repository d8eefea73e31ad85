"""Docstrings and the page of options hold the table."""

from __future__ import annotations

import pydoc
import re
import runpy
from pathlib import Path

import pytest

from skgoss import (
    Booster,
    CVBooster,
    Dataset,
    LGBMClassifier,
    LGBMModel,
    LGBMRanker,
    LGBMRegressor,
)
from skgoss.model_selection import GridSearchCV
from skgoss.parameters.table import OPTIONS

ESTIMATORS = [LGBMModel, LGBMClassifier, LGBMRanker, LGBMRegressor]
DOCS = Path(__file__).parents[2] / "docs"


def test_docs_are_current():
    page = (DOCS / "parameters.md").read_text(encoding="utf-8")
    assert runpy.run_path(str(DOCS / "parameters.py"))["markdown"]() == page


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_docstring_holds_the_table(cls):
    described = re.findall(r"^(\w+) : .*, default=", cls.__doc__, re.M)
    named = re.findall(r"^([\w, ]+) : see `LGBMModel`$", cls.__doc__, re.M)
    named = [name for line in named for name in line.split(", ")]
    names = [option.name for option in OPTIONS]
    assert described + named == names
    n_described = len(names) if cls is LGBMModel else 12
    assert described == names[:n_described]
    for option in OPTIONS[:n_described]:
        assert f"\n{option.name} : {option.domain.type}, default=" in cls.__doc__
    assert "\n..." not in cls.__doc__  # no mark is left


@pytest.mark.parametrize("cls", [LGBMClassifier, LGBMRanker, LGBMRegressor])
def test_help_of_a_class_is_short(cls):
    assert len(cls.__doc__.splitlines()) <= 180
    lines = pydoc.plain(pydoc.render_doc(cls)).splitlines()
    assert len(lines) <= 860
    # In a terminal of 80 columns; types in signatures would take pages.
    assert sum(1 + len(line) // 80 for line in lines) <= 1130
    routing = cls.set_fit_request.__doc__
    assert "arguments of ``fit``" in routing
    assert len(routing.splitlines()) <= 5


def test_other_predictions_refer_to_predict():
    refers = re.compile(r"^raw_score, .*, \*\*kwargs : see `predict`$", re.M)
    assert refers.search(LGBMClassifier.predict_proba.__doc__)
    assert not refers.search(LGBMClassifier.predict.__doc__)
    assert "\nraw_score : bool" in LGBMClassifier.predict.__doc__


@pytest.mark.parametrize("cls", [*ESTIMATORS, Dataset, Booster, GridSearchCV])
def test_pages_are_named_by_their_addresses(cls):
    docs = [cls.__doc__, *(method.__doc__ or "" for method in vars(cls).values())]
    text = "\n".join(docs)
    assert "docs/" not in text
    for page in re.findall(r"skgoss\.github\.io/skgoss/([\w/.-]+)\.html", text):
        assert (DOCS / f"{page}.md").exists(), page


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_docstring_holds_all_attributes(cls):
    ends_in_underscore = {
        name for name in dir(cls) if name.endswith("_") and not name.startswith("_")
    }
    listed = set(re.findall(r"^(\w+_) : ", cls.__doc__, re.M))
    assert listed == ends_in_underscore | {"n_features_in_", "feature_names_in_"}


def test_methods_that_return_their_object_say_so():
    for cls, what in ((Booster, "model"), (Dataset, "data set"), (CVBooster, "models")):
        doc = cls.save_binary.__doc__ if cls is Dataset else cls.save_model.__doc__
        assert f"\nReturns\n-------\nself\n    The {what}.\n" in f"{doc}\n"
    assert "\nself\n    A new model" not in Booster.refit.__doc__
    assert Booster.reset_parameter.__doc__.index("Returns") < (
        Booster.reset_parameter.__doc__.index("Raises")
    )
