"""What the trees of a Booster look like, compared with LightGBM's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

lightgbm = pytest.importorskip("lightgbm")
from helpers import lightgbm_boosters  # noqa: E402

many = lightgbm_boosters.many


@pytest.mark.parametrize("feature", ["a", "b", 0, 3, "e"])
@pytest.mark.parametrize("bins", [None, 3, 100, "auto"])
@pytest.mark.parametrize("xgboost_style", [False, True])
def test_histograms_are_those_of_lightgbm(many, feature, bins, xgboost_style):
    theirs, ours = (
        booster.get_split_value_histogram(feature, bins, xgboost_style)
        for booster in many
    )
    assert type(ours) is type(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
    if xgboost_style:
        pd.testing.assert_frame_equal(ours, theirs)


@pytest.mark.parametrize(
    ("feature", "match"),
    [
        ("f", "holds categories"),
        (5, "holds categories"),
        ("g", "feature names the column 'g'"),
        (6, "feature must be a number of the 6 columns, got 6"),
    ],
)
def test_histograms_need_a_column_of_numbers(many, feature, match):
    with pytest.raises(ValueError, match=match):
        many[1].get_split_value_histogram(feature)


def test_histogram_without_pandas(many, monkeypatch):
    _, ours = many
    table = ours.get_split_value_histogram("a", xgboost_style=True)
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    array = ours.get_split_value_histogram("a", xgboost_style=True)
    assert isinstance(array, np.ndarray)
    np.testing.assert_array_equal(array, table)
    with pytest.raises(ImportError, match="pip install pandas"):
        ours.trees_to_dataframe()
