"""Call paths are short: the functions and files of the package that a call runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import skgoss
from skgoss import LGBMClassifier, LGBMRegressor

PACKAGE = str(Path(skgoss.__file__).parent)
COMPREHENSIONS = {"<listcomp>", "<dictcomp>", "<setcomp>"}  # calls before Python 3.12
X = np.random.default_rng(0).normal(size=(500, 5))
Y = X[:, 0]


def files_of_calls(call: Callable[[], Any]) -> list[str]:
    """The file of each Python function of the package that is called."""
    files = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(PACKAGE)
        if event == "call" and is_ours and code.co_name not in COMPREHENSIONS:
            files.append(code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return files


# One round, or five on each of three folds.
MODELS = {
    "regressor": LGBMRegressor(n_estimators=1, n_jobs=1),
    "classifier": LGBMClassifier(n_estimators=1, n_jobs=1),
    "folds": LGBMRegressor(n_estimators=5, folds=3, n_jobs=1),
}
# The most calls, files, and changes from one file to another.
LIMITS = {
    ("regressor", "fit"): (168, 25, 60),
    ("classifier", "fit"): (176, 26, 63),
    ("folds", "fit"): (925, 42, 305),
    ("regressor", "predict"): (35, 8, 17),
}


@pytest.mark.parametrize(("name", "method"), LIMITS)
def test_call_paths_are_short(name, method):
    model, target = MODELS[name], Y > 0 if name == "classifier" else Y
    arguments = (X, target) if method == "fit" else (X,)
    model.fit(X, target).predict(X)  # what is imported and cached once does not count
    model.fit(X, target)
    files = files_of_calls(lambda: getattr(model, method)(*arguments))
    n_changes = sum(one != other for one, other in pairwise(files))
    counts = len(files), len(set(files)), n_changes
    bounds = zip(counts, LIMITS[name, method], strict=True)
    assert all(0 < n <= bound for n, bound in bounds), counts


@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_a_fit_soon_reads_its_data(name):
    model, target = MODELS[name], Y > 0 if name == "classifier" else Y
    model.fit(X, target)
    files = files_of_calls(lambda: model.fit(X, target))
    assert 0 < next(n for n, file in enumerate(files) if "/columns/" in file) <= 20
