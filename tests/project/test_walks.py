"""How many functions of the package, in how many files, a reader of a call meets."""

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
from skgoss import LGBMRegressor

PACKAGE = str(Path(skgoss.__file__).parent)
X = np.random.default_rng(0).normal(size=(500, 5))
Y = X[:, 0]


def files_of_calls(call: Callable[[], Any]) -> list[str]:
    """The file of each Python function of the package that is called."""
    files = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            files.append(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return files


# By method: the most calls, files, and changes from one file to another.
WALKS = {"fit": ((X, Y), 340, 40, 120), "predict": ((X,), 45, 10, 20)}


@pytest.mark.parametrize("method", WALKS)
def test_walks_are_short(method):
    arguments, *most = WALKS[method]
    model = LGBMRegressor(n_estimators=1, n_jobs=1)
    model.fit(X, Y).predict(X)  # what is imported and cached once does not count
    model.fit(X, Y)
    files = files_of_calls(lambda: getattr(model, method)(*arguments))
    n_changes = sum(one != other for one, other in pairwise(files))
    counts = len(files), len(set(files)), n_changes
    assert all(0 < n <= bound for n, bound in zip(counts, most, strict=True)), counts
