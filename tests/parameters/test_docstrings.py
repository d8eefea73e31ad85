"""Docstrings and the page of options hold the table."""

from __future__ import annotations

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


def test_help_of_a_class_is_short():
    for cls in (LGBMClassifier, LGBMRanker, LGBMRegressor):
        assert len(cls.__doc__.splitlines()) <= 220


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
