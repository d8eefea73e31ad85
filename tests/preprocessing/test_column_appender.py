"""What `PairFeatures` and `DateFeatures` have in common."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from skgoss import DateFeatures, PairFeatures
from skgoss.preprocessing.column_appender import ColumnAppender

NUMBERS = np.random.default_rng(0).normal(size=(30, 2))
DAYS = np.array(["2024-01-01", "2024-02-29"], dtype="datetime64[D]").reshape(2, 1)
# A transformer, an array, and the names of the columns that are computed from a and b.
CASES = {
    "pairs": (
        PairFeatures("products", columns=[0, 1]),
        NUMBERS,
        ["a * b", "a / b"],
    ),
    "dates": (DateFeatures(["month", "day"]), DAYS, ["a[month]", "a[day]"]),
}


@pytest.mark.parametrize("case", CASES)
def test_computed_columns_follow_those_of_the_rows(case):
    transformer, X, computed = CASES[case]
    transformer = clone(transformer)
    names = ["a", "b"][: X.shape[1]]
    with pytest.raises(NotFittedError):
        transformer.get_feature_names_out(names)
    transformer.fit(X)
    assert transformer.get_feature_names_out(names).tolist() == names + computed
    assert transformer.transform(X).shape[1] == len(names + computed)


@pytest.mark.parametrize("case", CASES)
def test_a_fit_to_an_array_forgets_the_names_of_a_frame(case):
    transformer, X, _ = CASES[case]
    transformer = clone(transformer)
    names = ["u", "v"][: X.shape[1]]
    transformer.fit(pd.DataFrame(X, columns=names))
    assert transformer.feature_names_in_.tolist() == names
    transformer.fit(X)
    assert not hasattr(transformer, "feature_names_in_")
    assert transformer.n_features_in_ == len(names)


@pytest.mark.parametrize("case", CASES)
def test_missing_values_and_sparse_matrices_are_accepted(case):
    tags = get_tags(CASES[case][0]).input_tags
    assert tags.allow_nan
    assert tags.sparse


def test_the_base_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        ColumnAppender()
